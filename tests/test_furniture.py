import numpy as np
import pytest
from scene_checks import check_pieces

from worldenv.worlds.reference import (
    cabinetry,
    fixtures,
    gear,
    machines,
    objects,
    props,
    seats,
    storage,
)
from worldenv.worlds.reference.events import POT_SIZE
from worldenv.worlds.reference.furniture import MAKERS, make

assert cabinetry and fixtures and objects and props and seats
assert gear and machines and storage

SIZES = {
    "chair": (0.48, 0.95, 0.52),
    "stool": (0.42, 0.5, 0.4),
    "armchair": (0.9, 0.85, 0.88),
    "sofa": (2.1, 0.85, 0.92),
    "bed": (1.6, 1.1, 1.9),
    "table": (1.3, 0.75, 1.2),
    "desk": (1.5, 0.74, 0.7),
    "cabinet": (1.2, 0.9, 0.45),
    "bookshelf": (1.2, 2.0, 0.34),
    "piano": (1.4, 1.2, 0.62),
    "refrigerator": (0.7, 1.8, 0.68),
    "lamp": (0.45, 1.6, 0.45),
    "plant": (0.8, 1.3, 0.8),
    "vase": (0.24, 0.5, 0.24),
    "television": (1.2, 0.75, 0.25),
    "monitor": (0.6, 0.5, 0.2),
    "barrel": (0.58, 0.88, 0.58),
    "crate": (0.6, 0.5, 0.5),
    "rug": (2.4, 0.012, 1.7),
    "ball": (0.6, 0.6, 0.6),
    "painting": (0.9, 0.7, 0.035),
    "clock": (0.4, 0.4, 0.05),
    "window": (1.7, 1.5, 0.16),
    "doorway": (1.04, 2.12, 0.1),
    "door": (0.86, 2.02, 0.04),
    "radiator": (1.0, 0.6, 0.14),
    "shelf": (0.9, 0.46, 0.22),
    "pot": POT_SIZE,
    "anvil": (0.75, 0.85, 0.5),
    "band saw": (0.8, 1.8, 0.7),
    "compressor": (1.25, 0.95, 0.55),
    "cone": (0.36, 0.5, 0.36),
    "drill press": (0.46, 1.65, 0.72),
    "extinguisher": (0.24, 0.62, 0.26),
    "fan": (0.8, 0.95, 0.5),
    "forklift": (1.1, 2.0, 2.3),
    "gas bottle": (0.6, 1.45, 0.5),
    "hand truck": (0.56, 1.2, 0.6),
    "ladder": (0.6, 1.7, 0.85),
    "lathe": (1.9, 1.25, 0.75),
    "locker": (1.45, 1.8, 0.48),
    "pallet": (1.2, 0.7, 0.8),
    "rack": (1.75, 2.1, 0.55),
    "sawhorse": (1.9, 0.86, 0.8),
    "tool board": (1.7, 0.85, 0.07),
    "tool chest": (0.8, 1.0, 0.5),
    "tyres": (0.66, 0.66, 0.66),
    "workbench": (1.9, 0.9, 0.7),
}


def test_there_are_at_least_fourteen_kinds():
    assert len(MAKERS) >= 14 and set(MAKERS) == set(SIZES)


@pytest.mark.parametrize("category", sorted(SIZES))
def test_pieces_keep_to_their_size_and_vary(category):
    # Handles, papers and brims may stand out a little.
    check_pieces(
        lambda seed: make(category, seed, SIZES[category]),
        SIZES[category],
        seeds=8,
        most_faces=4600,
        slack=0.22 if category == "workbench" else 0.115,
    )


def test_equal_seeds_make_equal_pieces():
    one, two = make("plant", 5, SIZES["plant"]), make("plant", 5, SIZES["plant"])
    assert np.array_equal(one.mesh.vertices, two.mesh.vertices)
    assert one.mesh.materials == two.mesh.materials and one.variant == two.variant

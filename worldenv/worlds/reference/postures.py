"""People who do something other than stand: mid-stride, as a figure poses them."""

from __future__ import annotations

import numpy as np

from worldenv.worlds.reference.furniture import Piece
from worldenv.worlds.reference.people import make_person
from worldenv.worlds.reference.walking import stride, walker

POSTURES = ("standing", "walking")
"""What people do, by name."""


def make_posed(seed: int, posture: str) -> Piece:
    """Return a person in a posture; the variant names both.

    Args:
        seed: Equal seeds give equal people. A walker may be the next one who can.
        posture: One of ``POSTURES``.

    Raises:
        ValueError: unknown posture.
    """
    if posture == "standing":
        return make_person(seed)
    if posture != "walking":
        raise ValueError(f"unknown posture {posture!r}; expected one of {', '.join(POSTURES)}")
    piece, figure = walker(seed)
    share = float(np.random.default_rng([seed, 29]).uniform(0.25, 0.75))
    mesh = piece.mesh._replace(vertices=stride(figure, 3 + share, 8))
    return piece._replace(mesh=mesh, variant=f"walking/{piece.variant}")

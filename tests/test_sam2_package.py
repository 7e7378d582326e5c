"""The authors' package in place of the port: tracks by overlap, and the package where it is."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest
import torch
from stamped import stamped

from worldenv.evaluators.backbones.detections import boxed
from worldenv.evaluators.backbones.regions import region
from worldenv.evaluators.backbones.sam2_package import Sam2Package, linked
from worldenv.evaluators.plan import Ask, Thing, pixels
from worldenv.weights import DamagedWeights

FRAME = np.zeros((40, 60, 3), np.uint8)


def square(left, top, side, track=0):
    mask = np.zeros((40, 60), bool)
    mask[top : top + side, left : left + side] = True
    return region(track, "cup", mask)


def test_regions_keep_the_track_of_what_they_cover():
    before = (square(0, 0, 10, 7), square(30, 10, 20, 9))
    found = linked([square(1, 0, 10), square(31, 10, 20), square(50, 30, 5)], before, 3000)
    assert [(r.track, r.area) for r in found] == [
        (9, 400 / 2400),
        (7, 100 / 2400),
        (3001, 25 / 2400),
    ]
    # One track is given once, to what covers it best.
    twice = linked([square(0, 0, 10), square(1, 0, 10)], before[:1], 0)
    assert sorted(r.track for r in twice) == [1, 7]
    assert linked([], before) == ()


class Predictor:
    """Plays the package's predictor: the mask is the box."""

    def __init__(self, network):
        self.network = network

    def set_image(self, image):
        self.size = image.shape[:2]

    def predict(self, box, multimask_output):
        assert not multimask_output
        masks = np.zeros((len(box), 1, *self.size), np.float32)
        for k, (x0, y0, x1, y1) in enumerate(box.astype(int)):
            masks[k, 0, y0:y1, x0:x1] = 1
        return masks[0] if len(box) == 1 else masks, None, None


@pytest.fixture
def package(monkeypatch):
    build, predictor = ModuleType("sam2.build_sam"), ModuleType("sam2.sam2_image_predictor")
    build.build_sam2 = lambda config, path, device, hydra_overrides_extra: torch.nn.Linear(2, 2)
    predictor.SAM2ImagePredictor = Predictor
    for module in (ModuleType("sam2"), build, predictor):
        monkeypatch.setitem(sys.modules, module.__name__, module)


def save(folder):
    state = torch.nn.Linear(2, 2).state_dict()
    torch.save({"model": state}, folder / "sam2.1_hiera_large.pt")


def test_boxes_become_masks_and_a_window_is_linked(package, tmp_path):
    backbone = Sam2Package(stamped(tmp_path, "sam2.1-hiera-large-package", save))
    thing = Thing("cup", (3, 5))
    boxes = np.array([[0, 0, 10, 10], [30, 10, 50, 30]], np.float32)
    found = boxed(boxes, np.array([0.9, 0.8], np.float32), ["cup"] * 2, (40, 60))
    assert backbone.needs(Ask("segment", (4,), thing)) == (
        pixels(4),
        Ask("detect", (4,), Thing("cup")),
    )
    later = Ask("segment", (5,), thing)
    assert backbone.needs(later)[2] == Ask("segment", (3,), thing)
    (first,) = backbone.compute([Ask("segment", (3,), thing)], [(FRAME, found)])
    assert [(r.track, r.score) for r in first] == [
        (3001, pytest.approx(0.8)),
        (3002, pytest.approx(0.9)),
    ]
    moved = boxed(boxes[1:] + 1, np.ones(1, np.float32), ["cup"], (40, 60))
    (second,) = backbone.compute([later], [(FRAME, moved, first)])
    assert [r.track for r in second] == [3001]
    (alone,) = backbone.compute([Ask("segment", (5,), Thing("cup"))], [(FRAME, found)])
    assert [r.track for r in alone] == [1, 2]
    assert backbone.compute([Ask("segment", (5,), Thing("cup"))], [(FRAME, ())]) == [()]


def test_another_checkpoint_is_refused(package, tmp_path):
    def other(folder):
        torch.save({"model": {"x": torch.zeros(1)}}, folder / "sam2.1_hiera_large.pt")

    with pytest.raises(DamagedWeights, match="missing weight"):
        Sam2Package(stamped(tmp_path, "sam2.1-hiera-large-package", other))

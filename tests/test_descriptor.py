"""The classic descriptor: unit length, exact for equals, and able to tell things apart."""

import cv2
import numpy as np
import pytest
from boxes_world import texture

from worldenv.evaluators.backbones.cutout import Cutout, Facing
from worldenv.evaluators.backbones.descriptor import describe, describe_regions
from worldenv.evaluators.backbones.local import DisFlow, Sift
from worldenv.evaluators.backbones.regions import region
from worldenv.evaluators.backbones.truth import find_regions
from worldenv.evaluators.metrics import cosine
from worldenv.evaluators.plan import Ask


def scene(variant, shift=0, scale=1.0):
    """A textured disc on grey, its mask, moved and scaled."""
    frame = np.full((160, 160, 3), 110, np.uint8)
    mask = np.zeros((160, 160), np.uint8)
    side = round(60 * scale)
    cv2.circle(mask, (70 + shift, 80), side // 2, 1, -1)
    pattern = cv2.resize(texture(variant), (side + 3, side + 3), interpolation=cv2.INTER_AREA)
    top, left = 80 - side // 2 - 1, 70 + shift - side // 2 - 1
    canvas = frame.copy()
    canvas[top : top + side + 3, left : left + side + 3] = pattern
    return np.where(mask[..., None] > 0, canvas, frame), mask > 0


def test_a_thing_is_known_again_and_another_is_not():
    start = describe(*scene(1))
    assert np.linalg.norm(start) == pytest.approx(1, abs=1e-5)
    assert np.array_equal(start, describe(*scene(1)))
    same = [
        cosine(start, describe(*scene(1, shift, scale))) for shift, scale in ((30, 1), (5, 1.3))
    ]
    other = [cosine(start, describe(*scene(variant))) for variant in range(2, 12)]
    assert min(same) > 0.95
    assert max(other) < min(same) - 0.15 and np.mean(other) < 0.6


def test_what_lies_around_a_thing_does_not_matter_much():
    frame, mask = scene(1)
    noise = np.random.default_rng(0).integers(0, 256, frame.shape, dtype=np.uint8)
    assert (
        cosine(describe(frame, mask), describe(np.where(mask[..., None], frame, noise), mask)) == 1
    )


def test_flat_frames_have_a_vector_too():
    flat = np.full((40, 40, 3), 90, np.uint8)
    assert np.isfinite(describe(flat)).all() and cosine(describe(flat), describe(flat)) == 1.0
    assert cosine(describe(flat), describe(flat + 100)) < 1


def test_small_regions_are_not_described():
    frame, mask = scene(1)
    dot = np.zeros_like(mask)
    dot[0, 0] = True
    found = describe_regions(frame, [region(4, "disc", mask), region(5, "dot", dot)])
    assert list(found) == [4] and found[4][0].mask.size == 0


def test_regions_are_measured():
    mask = np.zeros((20, 20), bool)
    mask[0:10, 5:15] = True
    found = region(1, "box", mask)
    assert found.area == 0.25
    # 10 of the 36 outline pixels lie on the border.
    assert found.cut == pytest.approx(10 / 36)


def test_the_detector_plays_by_category():
    ids = np.array([[1, 1, 2], [3, 3, 3], [0, 4, 4]], np.uint16)
    instances = {
        1: {"category": "chair"},
        2: {"category": "chair"},
        3: {"category": "wall"},
        4: {"category": "lamp"},
        9: {"category": "chair"},
    }
    assert [r.track for r in find_regions(ids, instances, "chair")] == [1, 2]
    assert [r.track for r in find_regions(ids, instances, "*")] == [1, 4, 2]
    assert find_regions(ids, instances, "sofa") == ()


def test_facing_the_start_undoes_a_turn_and_drops_far_frames():
    K = np.array([[100.0, 0, 80], [0, 100.0, 80], [0, 0, 1]])
    frame, mask = scene(1)
    angle = np.radians(6)
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    half = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1.0]])
    lens = np.linalg.inv(half) @ K
    H = lens @ turn.T @ np.linalg.inv(lens)
    seen = cv2.warpPerspective(frame, H, (160, 160))
    shown = cv2.warpPerspective(mask.astype(np.uint8), H, (160, 160)) > 0
    ask = Ask("cutout", (3,), Facing("disc", 15.0, tuple(turn.ravel())))
    ((image, (found,)),) = Cutout(K).compute([ask], [(seen, (region(1, "disc", shown),))])
    assert (found.mask ^ mask).sum() < 0.02 * mask.sum()
    assert cosine(describe(frame, mask), describe(image, found.mask)) > 0.95
    far = Ask("cutout", (3,), Facing("disc", 5.0, tuple(turn.ravel())))
    ((_, regions),) = Cutout(K).compute([far], [(seen, (region(1, "disc", shown),))])
    assert regions == ()


def test_keypoints_of_a_flat_frame_are_none_and_flow_measures_a_shift():
    flat = np.full((64, 64, 3), 90, np.uint8)
    (none,) = Sift().compute([Ask("match", (0,))], [(flat,)])
    assert none.points.shape == (0, 2) and none.descriptors.shape == (0, 128)
    image = cv2.resize(texture(5), (320, 320), interpolation=cv2.INTER_CUBIC)
    (moved,) = DisFlow().compute([Ask("flow", (0, 1))], [(image, np.roll(image, 4, axis=1))])
    assert moved == pytest.approx(4, abs=0.6)

"""What the public metrics refuse: one line that says what was wrong, and no NaN."""

import math

import numpy as np
import pytest

from worldenv.camera import (
    CameraPath,
    InvalidPath,
    WorldEnvError,
    geodesic_deg,
    integrate,
    twists,
    walk,
)
from worldenv.evaluators import mbench, metrics, r2m, worldmembench
from worldenv.evaluators.metrics.checks import InvalidInput, numbers
from worldenv.world import UnknownName

NAN = math.nan
POSES = walk(np.zeros((40, 3)), np.arange(40.0), np.zeros(40))
NAN_POSES = np.full((40, 4, 4), NAN)
DEPTH = np.ones((8, 8), np.float32)
FRAME = np.zeros((8, 8, 3), np.uint8)
EMPTY = np.zeros((0, 0, 3), np.uint8)
K = np.array([[8.0, 0, 4], [0, 8, 4], [0, 0, 1]])
LIGHT = np.array([[50.0, 0, 0]])
KEYS = metrics.Keypoints(np.zeros((3, 2), np.float32), np.zeros((3, 4), np.float32))

REFUSED = {
    "psnr of nothing": lambda: metrics.psnr(EMPTY, EMPTY),
    "psnr of lists": lambda: metrics.psnr([[1]], [[1]]),
    "ssim of nothing": lambda: metrics.ssim(EMPTY, EMPTY),
    "silhouette of a row": lambda: metrics.silhouette_iou(np.ones(5, bool), np.ones(5, bool)),
    "silhouette of nothing": lambda: metrics.silhouette_iou(DEPTH > 2, DEPTH > 0),
    "canvas of no pixel": lambda: metrics.silhouette_iou(DEPTH > 0, DEPTH > 0, canvas=0),
    "order of nothing": lambda: metrics.depth_spearman(DEPTH[:0, :0], DEPTH[:0, :0]),
    "order on no grid": lambda: metrics.depth_spearman(DEPTH, DEPTH, grid=0),
    "surfaces of two sizes": lambda: metrics.spherical_reconstruction(
        DEPTH, np.eye(4), DEPTH[:4], np.eye(4), K
    ),
    "surfaces at NaN": lambda: metrics.spherical_reconstruction(
        DEPTH, np.eye(4), DEPTH, np.eye(4) * NAN, K
    ),
    "surfaces without K": lambda: metrics.spherical_reconstruction(
        DEPTH, np.eye(4), DEPTH, np.eye(4), np.zeros((3, 3))
    ),
    "surfaces in no bins": lambda: metrics.spherical_reconstruction(
        DEPTH, np.eye(4), DEPTH, np.eye(4), K, bin_degrees=0
    ),
    "centroid of NaN": lambda: metrics.centroid_consistency(np.array([[NAN, 1.0]])),
    "centroid of nothing": lambda: metrics.centroid_consistency(np.zeros((0, 4))),
    "centroid of text": lambda: metrics.centroid_consistency([["a"]]),
    "centroid beyond range": lambda: metrics.centroid_consistency([[1e300, 1.0]]),
    "cosine of NaN": lambda: metrics.cosine([NAN], [1.0]),
    "cosine of two lengths": lambda: metrics.cosine([1.0, 2.0], [1.0]),
    "light of NaN": lambda: metrics.lighting_consistency([(LIGHT, LIGHT * NAN)]),
    "light of an empty segment": lambda: metrics.lighting_consistency([(LIGHT, LIGHT[:0])]),
    "light at tau 0": lambda: metrics.lighting_consistency([(LIGHT, LIGHT)], tau=0),
    "light at tau NaN": lambda: metrics.lighting_consistency([(LIGHT, LIGHT)], tau=NAN),
    "light of three": lambda: metrics.lighting_consistency([(LIGHT, LIGHT, LIGHT)]),
    "twists of NaN": lambda: metrics.twist_alignment(np.full((2, 6), NAN), np.ones((2, 6))),
    "twists at depth NaN": lambda: metrics.twist_alignment(
        np.ones((2, 6)), np.ones((2, 6)), depth=NAN
    ),
    "epipolar of NaN": lambda: metrics.epipolar_consistency([NAN]),
    "epipolar below 0": lambda: metrics.epipolar_consistency([-1.0]),
    "points without descriptors": lambda: metrics.correspondence(
        KEYS, metrics.Keypoints(KEYS.points, KEYS.descriptors[:2])
    ),
    "points at NaN": lambda: metrics.correspondence(
        KEYS, metrics.Keypoints(KEYS.points * NAN, KEYS.descriptors)
    ),
    "rotation of NaN": lambda: worldmembench.rotation_rpe(POSES, NAN_POSES),
    "rotation at stride 0": lambda: worldmembench.rotation_rpe(POSES, POSES, stride=0),
    "translation of NaN": lambda: worldmembench.translation_rpe(POSES, NAN_POSES),
    "translation of text": lambda: worldmembench.translation_rpe("a", POSES),
    "aggregate of NaN": lambda: worldmembench.aggregate([[NAN, 1]]),
    "aggregate of unequal rows": lambda: worldmembench.aggregate([[1], [1, 2]]),
    "aggregate of nothing": lambda: worldmembench.aggregate([]),
    "answers of 2": lambda: worldmembench.gate(True, [2] * 8),
    "answers of NaN": lambda: worldmembench.gate(True, [NAN] * 8),
    "seven answers": lambda: worldmembench.gate(True, [1] * 7),
    "an event that half starts": lambda: worldmembench.gate(0.5, [1] * 8),
    "three returns": lambda: worldmembench.delta_axis([1, 2, 3], [1, 2, 3]),
    "a return of NaN": lambda: worldmembench.delta_axis([1, NAN], [1, 2]),
    "gain of NaN": lambda: r2m.memory_gain(NAN, 1.0),
    "ratio of NaN": lambda: r2m.normalized_memory_ratio(1.0, NAN),
    "overall of NaN": lambda: r2m.overall_nmr(dict.fromkeys(r2m.METRICS, NAN)),
    "families of NaN": lambda: mbench.aggregate({"geometry": NAN}),
    "a revisit outside": lambda: r2m.baseline_pairs(POSES, [[0, 40]]),
    "a revisit before the path": lambda: r2m.baseline_pairs(POSES, [[-1, 20]], rule="code"),
    "a revisit backwards": lambda: r2m.baseline_pairs(POSES, [[20, 3]]),
    "a seed below 0": lambda: r2m.baseline_pairs(POSES, [[3, 20]], seed=-1),
    "half a pair": lambda: r2m.short_pairs(POSES, 1.5),
}


@pytest.mark.parametrize("case", REFUSED)
def test_metrics_refuse_in_one_line(case):
    with pytest.raises(InvalidInput) as caught:
        REFUSED[case]()
    assert isinstance(caught.value, WorldEnvError) and "\n" not in str(caught.value)


def test_unknown_metrics_name_the_nearest():
    with pytest.raises(UnknownName, match="'psnr'"):
        r2m.overall_nmr({"psrn": 1.0})
    with pytest.raises(UnknownName, match="'texture'"):
        mbench.aggregate({"textures": 1.0})


def test_missing_scores_count_as_zero_and_nothing_else_does():
    assert worldmembench.aggregate([[None, 1]]) == 0.5
    assert worldmembench.aggregate([[None]]) == 0.0
    assert worldmembench.aggregate(np.ones((2, 3), np.float32)) == 1.0


@pytest.mark.parametrize("good", [[True] * 8, np.ones(8, np.uint8), [1.0] * 8])
def test_answers_may_be_bool_or_number(good):
    assert worldmembench.gate(np.bool_(True), good)["dynamic_overall"] == 1.0


def test_numbers_name_what_is_wrong():
    with pytest.raises(InvalidInput, match=r"poses must have shape \(n, 4, 4\), got \(3,\)"):
        numbers("poses", [1, 2, 3], "n", 4, 4)
    with pytest.raises(InvalidInput, match="x must be finite"):
        numbers("x", math.inf)


def test_poses_are_mined_like_their_path():
    there = np.concatenate([np.arange(20), np.arange(20, -1, -1)]).astype(float)
    poses = walk(np.zeros((41, 3)), there, np.zeros(41))
    path = CameraPath(poses)
    for rule in r2m.RULES:
        found = r2m.mine_revisits(poses, rule)
        assert len(found) and np.array_equal(found, r2m.mine_revisits(path, rule))
    with pytest.raises(InvalidPath, match="not finite"):
        r2m.mine_revisits(NAN_POSES)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: CameraPath([[1], [2, 3]]), "poses must be numbers"),
        (lambda: CameraPath("x"), "poses must be numbers"),
        (lambda: CameraPath(POSES, fps="x"), "fps must be a positive number, got 'x'"),
        (lambda: CameraPath(POSES, fps=None), "fps must be a positive number"),
        (lambda: CameraPath(POSES, fps=NAN), "fps must be a positive number"),
        (lambda: CameraPath(POSES, phases=5), "phases must be a list"),
        (lambda: CameraPath(POSES, phases="V" * 40), "phases must be a list"),
        (lambda: CameraPath(POSES, phases=[1] * 40), "unknown phase 1"),
        (lambda: CameraPath(POSES, phases=[["V"]] * 40), "unknown phase"),
        (lambda: CameraPath(POSES, phases=["R²"] * 40), "unknown phase"),
        (lambda: CameraPath(POSES, phases=["R" + "9" * 5000] * 40), "unknown phase"),
        (lambda: geodesic_deg(NAN, NAN), "shape"),
        (lambda: geodesic_deg(np.full((3, 3), NAN), np.eye(3)), "finite"),
        (lambda: geodesic_deg(np.eye(4), np.eye(4)), r"shape \(\.\.\., 3, 3\)"),
        (lambda: geodesic_deg(np.zeros((2, 3, 3)), np.zeros((4, 3, 3))), "rotations"),
        (lambda: twists(NAN_POSES), "finite"),
        (lambda: integrate("x"), "twists must be numbers"),
        (lambda: integrate([[0, 0, 0, 1.7e308, 0, 0]] * 3), "beyond what a number can hold"),
        (lambda: twists("x"), "poses must be numbers"),
    ],
)
def test_paths_and_rotations_refuse_in_one_line(build, message):
    with pytest.raises(InvalidPath, match=message) as caught:
        build()
    assert "\n" not in str(caught.value)

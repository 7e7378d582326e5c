"""Metrics against independent implementations and cases worked by hand."""

import doctest
import importlib
import math

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import spearmanr
from skimage.color import rgb2lab
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from worldenv.camera import integrate, intrinsics, walk
from worldenv.evaluators import metrics
from worldenv.evaluators.metrics import motion
from worldenv.evaluators.metrics.depth import spherical_agreement, spherical_field
from worldenv.evaluators.metrics.match import Keypoints, matched, verified
from worldenv.evaluators.metrics.shape import silhouette
from worldenv.evaluators.metrics.warp import masked_ssim, warp_by_depth

images = arrays(np.uint8, (12, 15, 3))


MODULES = "appearance depth identity image match motion objects shape style".split()


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    module = importlib.import_module(f"worldenv.evaluators.metrics.{name}")
    result = doctest.testmod(module)
    assert result.attempted and not result.failed


@given(images, images)
@settings(max_examples=50, deadline=None)
def test_psnr_and_ssim_agree_with_skimage(a, b):
    assert metrics.ssim(a, b) == pytest.approx(
        structural_similarity(a, b, channel_axis=2, data_range=255), abs=1e-9
    )
    if (a != b).any():
        expected = min(peak_signal_noise_ratio(a, b, data_range=255), 58.9226160691)
        assert metrics.psnr(a, b) == pytest.approx(expected, abs=1e-8)


@given(images)
@settings(max_examples=20, deadline=None)
def test_a_frame_equals_itself(a):
    assert metrics.ssim(a, a) == 1.0
    assert metrics.psnr(a, a) == pytest.approx(10 * math.log10(255**2 * 12))


@pytest.mark.parametrize("bad", [np.zeros((9, 9, 3)), np.zeros((9, 9), np.uint8)])
def test_images_of_another_kind_are_refused(bad):
    with pytest.raises(ValueError, match="uint8 of shape"):
        metrics.psnr(bad, bad)
    with pytest.raises(ValueError, match="one shape"):
        metrics.ssim(np.zeros((9, 9, 3), np.uint8), np.zeros((9, 8, 3), np.uint8))


def test_a_silhouette_forgets_place_and_scale_but_not_shape():
    disc = np.zeros((200, 200), np.uint8)
    cv2.circle(disc, (60, 70), 30, 1, -1)
    large = np.zeros((200, 200), np.uint8)
    cv2.circle(large, (110, 120), 60, 1, -1)
    square = np.zeros((200, 200), bool)
    square[20:80, 100:160] = True
    assert metrics.silhouette_iou(disc > 0, large > 0) > 0.97
    # A disc in its square covers pi / 4 of it.
    assert metrics.silhouette_iou(disc > 0, square) == pytest.approx(math.pi / 4, abs=0.03)
    tall = np.zeros((200, 200), bool)
    tall[0:120, 0:30] = True
    assert metrics.silhouette_iou(tall, square) == pytest.approx(0.25, abs=0.01)
    assert silhouette(tall).shape == (128, 128)
    with pytest.raises(ValueError, match="empty"):
        silhouette(np.zeros((4, 4), bool))


@given(
    arrays(np.float32, (32, 32), elements=st.integers(1, 9).map(float), fill=st.just(5.0)),
    arrays(np.float32, (32, 32), elements=st.integers(1, 9).map(float), fill=st.just(5.0)),
)
@settings(max_examples=10, deadline=None)
def test_depth_order_agrees_with_scipy(a, b):
    found = metrics.depth_spearman(a, b)
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        assert found is None
    else:
        assert found == pytest.approx(spearmanr(a.ravel(), b.ravel()).statistic, abs=1e-9)
        assert metrics.depth_spearman(a, a * 7) == 1.0


def test_sky_ranks_farthest():
    near_sky = np.arange(1, 1025, dtype=np.float32).reshape(32, 32)
    holes = near_sky.copy()
    holes[-1] = 0
    far = near_sky.copy()
    far[-1] = 5000
    assert metrics.depth_spearman(holes, far) == 1.0


def _sphere(radius, size=64):
    """Planar depth of a sphere around the camera."""
    K = intrinsics((size, size), 75)
    u, v = np.meshgrid(np.arange(size) + 0.5, np.arange(size) + 0.5)
    x, y = (u - K[0, 2]) / K[0, 0], (v - K[1, 2]) / K[1, 1]
    return (radius / np.sqrt(1 + x**2 + y**2)).astype(np.float32), K


def test_spherical_reconstruction_by_hand():
    depth, K = _sphere(3.0)
    other, _ = _sphere(6.0)
    here = np.eye(4)
    assert metrics.spherical_reconstruction(depth, here, depth, here, K) == 1.0
    # A global scale is removed.
    same = metrics.spherical_reconstruction(depth, here, other, here, K)
    assert same == pytest.approx(1.0, abs=1e-5)
    # Half of the surface at twice the range: the median residual is 0 or log 2, so half cost 1/2.
    mixed = depth.copy()
    mixed[:31] *= 2
    value = metrics.spherical_reconstruction(depth, here, mixed, here, K)
    assert value == pytest.approx(0.75, abs=0.03)
    # Turned by half the view: only the overlap counts.
    turned = walk(np.zeros((1, 3)), np.array([37.5]), np.zeros(1))[0]
    value, common, union = spherical_agreement(depth, here, depth, turned, K)
    assert value == pytest.approx(common / union, abs=1e-4) and 0.2 < value < 0.6
    away = walk(np.zeros((1, 3)), np.array([180.0]), np.zeros(1))[0]
    assert metrics.spherical_reconstruction(depth, here, depth, away, K) is None
    bins, ranges = spherical_field(np.zeros((8, 8), np.float32), here, K)
    assert not len(bins) and not len(ranges)


@given(arrays(np.float64, (6, 4), elements=st.floats(-3, 3)))
@settings(max_examples=30, deadline=None)
def test_centroid_consistency_by_definition(features):
    center = features.mean(axis=0)
    norms = np.linalg.norm(features, axis=1) * np.linalg.norm(center)
    if norms.min() > 1e-6:
        expected = float(np.mean(features @ center / norms))
        assert metrics.centroid_consistency(features) == pytest.approx(expected, abs=1e-9)


def test_cosine_has_no_nan_and_is_exact_for_equals():
    v = np.random.default_rng(0).normal(size=50)
    assert metrics.cosine(v, v) == 1.0
    assert metrics.cosine(v, 0 * v) == 0.0 == metrics.cosine(0 * v, 0 * v)
    assert metrics.cosine(v, -v) == -1.0


def test_lab_agrees_with_skimage_and_lighting_with_its_formula():
    frame = np.random.default_rng(1).integers(0, 256, (20, 20, 3), dtype=np.uint8)
    expected = rgb2lab(frame).reshape(-1, 3).mean(axis=0)
    assert np.allclose(metrics.lab_mean(frame), expected, atol=0.3)
    one = np.array([[50.0, 0, 0], [52.0, 0, 0]])
    two = np.array([[56.0, 3.0, 4.0]])
    assert metrics.lighting_consistency([(one, two)]) == pytest.approx(math.exp(-1.0))
    with pytest.raises(ValueError, match="at least one"):
        metrics.lighting_consistency([])


def test_twist_alignment_by_hand():
    turn = np.array([[0, 1.0, 0, 0, 0, 0]])
    step = np.array([[0, 0, 0, 0, 0, 0.03]])
    hold = np.zeros((1, 6))
    assert metrics.twist_alignment(hold, hold) is None
    # A hold is left out, a still estimate scores 0, a right angle scores 0.
    commanded = np.concatenate([turn, hold, turn, turn])
    estimated = np.concatenate([turn, step, hold, step])
    assert metrics.twist_alignment(estimated, commanded) == pytest.approx(1 / 3)
    both = turn + step * (math.pi / 180) / 0.03
    assert metrics.twist_alignment(both, turn) == pytest.approx(math.sqrt(0.5))
    # At twice the depth the translation weighs half.
    expected = 1 / math.sqrt(1 + 0.25)
    assert metrics.twist_alignment(both, turn, depth=2.0) == pytest.approx(expected)
    with pytest.raises(ValueError, match="one shape"):
        metrics.twist_alignment(turn, np.zeros((2, 6)))


def _two_views(seed=0, n=40):
    rng = np.random.default_rng(seed)
    K = intrinsics((320, 240), 70)
    points = rng.uniform([-2, -1, 3], [2, 1, 9], (n, 3))
    poses = integrate(np.array([[1.0, 4.0, 0.5, 0.3, 0.05, 0.1]]))
    seen = []
    for pose in poses:
        camera = (points - pose[:3, 3]) @ pose[:3, :3]
        pixel = camera @ K.T
        seen.append(pixel[:, :2] / pixel[:, 2:])
    return K, poses, seen


def test_epipolar_and_reprojection_errors_of_exact_matches_vanish():
    K, poses, (a, b) = _two_views()
    F = motion.fundamental(poses[0], poses[1], K)
    assert motion.epipolar_error(a, b, F) < 1e-8
    assert motion.reprojection_error(a, b, poses[0], poses[1], K) < 1e-6
    # Moving b by d across its line costs at most d there.
    moved = motion.epipolar_error(a, np.add(b, [0, 1.0]), F)
    assert 0.3 < moved <= 1.01
    assert 0.1 < motion.reprojection_error(a, np.add(b, [0, 1.0]), poses[0], poses[1], K) < 1.01
    assert metrics.epipolar_consistency([0.5, 1.5]) == pytest.approx(math.exp(-1))
    assert metrics.epipolar_consistency([]) is None


def test_epipolar_distance_agrees_with_opencv():
    K, poses, (a, b) = _two_views(3)
    F = motion.fundamental(poses[0], poses[1], K)
    b = b + np.random.default_rng(0).normal(0, 1, b.shape)
    lines = cv2.computeCorrespondEpilines(a.reshape(-1, 1, 2), 1, F).reshape(-1, 3)
    back = cv2.computeCorrespondEpilines(b.reshape(-1, 1, 2), 2, F).reshape(-1, 3)
    to_b = np.abs(np.sum(lines[:, :2] * b, axis=1) + lines[:, 2])
    to_a = np.abs(np.sum(back[:, :2] * a, axis=1) + back[:, 2])
    assert motion.epipolar_error(a, b, F) == pytest.approx(
        float((to_a + to_b).mean() / 2), rel=1e-6
    )


def test_a_pure_rotation_transfers_exactly():
    K = intrinsics((320, 240), 70)
    turn = walk(np.zeros((1, 3)), np.array([5.0]), np.array([2.0]))[0]
    a = np.random.default_rng(0).uniform([60, 60], [260, 180], (30, 2))
    rays = np.hstack([a, np.ones((30, 1))]) @ np.linalg.inv(K).T
    seen = rays @ turn[:3, :3] @ K.T
    b = seen[:, :2] / seen[:, 2:]
    assert motion.transfer_error(a, b, turn[:3, :3].T, K) < 1e-9
    assert motion.transfer_error(a, np.add(b, [3, 4]), turn[:3, :3].T, K) == pytest.approx(5.0)


def test_correspondence_counts_what_was_planted():
    rng = np.random.default_rng(0)
    _, _, (a, b) = _two_views(1, 60)
    descriptors = rng.normal(size=(60, 128)).astype(np.float32)
    first = Keypoints(a.astype(np.float32), descriptors)
    # 40 true matches, 20 strangers.
    other = descriptors.copy()
    other[40:] = rng.normal(size=(20, 128))
    second = Keypoints(b.astype(np.float32), other)
    found = metrics.correspondence(first, second)
    assert found.matches == 40 and found.match_ratio == pytest.approx(40 / 60)
    assert found.inlier_ratio == 1.0
    # A quarter of the matches leads elsewhere.
    wrong = b.copy()
    wrong[:10] += rng.uniform(30, 80, (10, 2))
    found = metrics.correspondence(first, Keypoints(wrong.astype(np.float32), other))
    assert 0.7 <= found.inlier_ratio <= 0.85


def test_correspondence_never_exceeds_one_and_survives_poor_input():
    one = np.ones((5, 128), np.float32)
    points = np.arange(10, dtype=np.float32).reshape(5, 2)
    crowd = Keypoints(points, one + np.random.default_rng(0).normal(0, 1e-3, (5, 128)).astype("f4"))
    single = Keypoints(points[:2], np.stack([one[0], -one[0]]))
    # All five claim the same point: one match.
    assert len(matched(crowd, single)) == 1
    assert metrics.correspondence(crowd, single).match_ratio <= 1.0
    assert not verified(points, points).any()
    collinear = np.stack([np.arange(20.0), np.zeros(20)], axis=1).astype(np.float32)
    assert verified(collinear, collinear).shape == (20,)


def test_warping_by_depth_undoes_a_turn():
    K = intrinsics((64, 64), 75)
    depth = np.full((64, 64), 4.0, np.float32)
    image = cv2.GaussianBlur(
        np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8), (0, 0), 3
    )
    here = np.eye(4)
    same, valid = warp_by_depth(image, depth, here, here, K)
    assert valid.all() and np.array_equal(same, image)
    # A plane seen from 0.5 m to the right: every pixel moves by f b / z.
    right = walk(np.array([[0.5, 0, 0]]), np.zeros(1), np.zeros(1))[0]
    shift = K[0, 0] * 0.5 / 4
    moved, valid = warp_by_depth(image, depth, here, right, K)
    expected = cv2.warpAffine(
        image, np.float32([[1, 0, shift], [0, 1, 0]]), (64, 64), flags=cv2.INTER_LINEAR
    )
    inside = valid & (np.arange(64) > shift + 1)
    assert np.abs(moved[inside].astype(int) - expected[inside]).max() <= 6
    assert masked_ssim(image, image, np.zeros((64, 64), bool)) is None
    assert masked_ssim(image, image, valid) == 1.0


grams = st.lists(arrays(np.float64, (3, 3), elements=st.floats(0, 1)), min_size=1, max_size=3)


@given(grams, st.data())
@settings(max_examples=30, deadline=None)
def test_gram_distance_is_a_mean_of_frobenius_norms(a, data):
    b = [data.draw(arrays(np.float64, (3, 3), elements=st.floats(0, 1))) for _ in a]
    expected = np.mean(
        [
            math.sqrt(sum((x - y) ** 2 for x, y in zip(p.flat, q.flat, strict=True)))
            for p, q in zip(a, b, strict=True)
        ]
    )
    assert metrics.gram_distance(a, b) == pytest.approx(expected) == metrics.gram_distance(b, a)
    assert metrics.gram_distance(a, a) == 0
    assert metrics.style_consistency([expected]) == pytest.approx(math.exp(-expected))


def test_grams_that_do_not_fit_are_refused():
    for other in ([], [np.eye(2)], [np.full((3, 3), np.nan)]):
        with pytest.raises(metrics.InvalidInput):
            metrics.gram_distance([np.eye(3)], other)
    for distances, tau in (([], 1.0), ([-1.0], 1.0), ([1.0], 0.0)):
        with pytest.raises(metrics.InvalidInput):
            metrics.style_consistency(distances, tau)

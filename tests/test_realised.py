"""Camera errors by estimated poses: one estimator or two, with depth or without, in any unit."""

import numpy as np
import pytest

from worldenv.camera import CameraPath, intrinsics
from worldenv.evaluators import realised
from worldenv.evaluators.engine import Engine
from worldenv.evaluators.folds import folds
from worldenv.evaluators.mbench_geometry import action, two_views
from worldenv.evaluators.metrics.match import Matches
from worldenv.evaluators.plan import Context, pixels
from worldenv.evaluators.profile import Profile
from worldenv.policies import mbench, worldmembench
from worldenv.world import Chunk

K = intrinsics((64, 64), 75)


class Estimator:
    """Answers with poses that it was given."""

    revision, checksum, batch = "1", "", 1

    def __init__(self, poses, name="estimator", scale_free=False):
        self.poses, self.name, self.scale_free = poses, name, scale_free

    def needs(self, ask):
        return (pixels(ask.frames[0]),)

    def compute(self, asks, inputs):
        return [self.poses[ask.frames[0]] for ask in asks]


class TrueMatches:
    """Answers ``matches`` by projecting points of space into both views."""

    name, revision, checksum, batch = "true-matches", "1", "", 1

    def __init__(self, poses):
        rng = np.random.default_rng(0)
        self.points = np.column_stack([rng.uniform(-2, 2, (60, 2)), rng.uniform(2, 8, 60)])
        self.poses = poses

    def needs(self, ask):
        return (pixels(ask.frames[0]),)

    def compute(self, asks, inputs):
        found = []
        for ask in asks:
            views = []
            for frame in ask.frames:
                pose = self.poses[frame]
                camera = (self.points - pose[:3, 3]) @ pose[:3, :3]
                seen = camera[:, :2] / camera[:, 2:] * K[[0, 1], [0, 1]] + K[:2, 2] - 0.5
                views.append(seen.astype(np.float32))
            found.append(Matches(views[0], views[1], (60, 60)))
        return found


class Depth(Estimator):
    def compute(self, asks, inputs):
        return [np.full((64, 64), 4.0, np.float32) for _ in asks]


def scored(path, measurements_of, **backbones):
    profile = Profile("test", {role: lambda b=b: b for role, b in backbones.items()})
    context = Context(path, profile, K=K)
    engine = Engine(measurements_of(context), context)
    engine.observe(Chunk(np.zeros((len(path), 16, 16, 3), np.uint8), path.poses))
    return {(s.metric, s.variant): s for s in engine.finish().scores}


def scaled(poses, by):
    out = poses.copy()
    out[:, :3, 3] *= by
    return out


def test_translation_is_the_mean_over_the_estimators_at_hand():
    path = worldmembench.square().path()
    still = np.tile(np.eye(4), (len(path), 1, 1))
    perfect, frozen = Estimator(scaled(path.poses, 0.3), "one"), Estimator(still, "two")
    one = scored(path, realised.rpe, pose=perfect)["translation_rpe", ""]
    assert one.value == pytest.approx(0, abs=1e-9) and (one.n_valid, one.n_expected) == (1, 2)
    both = scored(path, realised.rpe, pose=perfect, second_pose=frozen)["translation_rpe", ""]
    assert both.value == pytest.approx(0.5) and both.n_valid == 2
    assert both.detail["estimators"] == {"one": pytest.approx(0, abs=1e-9), "two": 1.0}
    assert both.detail["backbone"] == "one + two"


def test_rotation_rests_on_the_first_estimator_and_says_its_noise():
    path = worldmembench.lrlr().path()
    rng = np.random.default_rng(0)
    shaky = path.poses.copy()
    for pose in shaky:
        angle = rng.normal(0, np.radians(0.3))
        c, s = np.cos(angle), np.sin(angle)
        pose[:3, :3] = pose[:3, :3] @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    found = scored(path, realised.rpe, pose=Estimator(shaky), second_pose=Estimator(path.poses))
    turned = found["rotation_rpe", ""]
    assert 0.2 < turned.value < 0.7 and 0.2 < turned.detail["noise_floor"] < 0.5
    assert found["rotation_rpe", "stride10"].value < turned.value / 4
    assert set(turned.detail["cycles"]) == {"R1", "R2"}
    assert found["translation_rpe", ""].status == "not_applicable"


def test_without_an_estimator_it_is_unavailable():
    found = scored(worldmembench.lrlr().path(), realised.rpe)
    assert {score.status for score in found.values()} == {"unavailable"}


@pytest.mark.parametrize("motion", ["yaw", "strafe", "dolly"])
@pytest.mark.parametrize("unit", [1.0, 0.07])
def test_action_of_a_perfect_camera_is_one_in_any_unit(motion, unit):
    path = mbench.exit_reenter(motion, distance=2.0).path()
    fold = folds(path)
    camera = Estimator(scaled(path.poses, unit), scale_free=True)
    found = scored(path, lambda context: [action(context, fold)], pose=camera)["action", ""]
    assert found.value == pytest.approx(1.0)
    assert "scaled to the target path" in found.detail["units"]
    if motion != "yaw":
        assert found.detail["scale"] == pytest.approx(1 / unit)


def test_raw_units_are_kept_where_the_estimator_has_units():
    path = mbench.exit_reenter("strafe", distance=2.0).path()
    fold = folds(path)
    bent = path.poses.copy()
    bent[:, 2, 3] = bent[:, 0, 3]
    plain = scored(path, lambda context: [action(context, fold)], pose=Estimator(bent))
    assert plain["action", ""].value == pytest.approx(np.sqrt(0.5))
    assert plain["action", ""].detail["units"] == "radians and metres"
    deep = scored(
        path, lambda context: [action(context, fold)], pose=Estimator(bent), depth=Depth(None)
    )
    assert "median depth of 4.000 m" in deep["action", ""].detail["units"]


@pytest.mark.parametrize("motion", ["yaw", "strafe"])
@pytest.mark.parametrize("with_depth", [True, False])
def test_two_views_of_a_perfect_camera_agree_with_depth_and_without(motion, with_depth):
    path = mbench.exit_reenter(motion, distance=2.0).path()
    fold = folds(path)
    backbones = {
        "pose": Estimator(path.poses),
        "match": Estimator(path.poses),
        "matches": TrueMatches(path.poses),
    }
    if with_depth:
        backbones["depth"] = Depth(None)
    found = scored(path, lambda context: two_views(context, fold), **backbones)
    epipolar, reprojection = found["epipolar", ""], found["reprojection", ""]
    # The turn of a pair with next to no baseline leaves out its parallax.
    assert epipolar.value > (0.999 if motion == "yaw" else 0.8)
    if motion == "yaw":
        assert epipolar.detail["kind"] == ["rotation"]
        assert reprojection.status == "not_applicable"
    else:
        assert "fundamental" in epipolar.detail["kind"]
        assert reprojection.value == pytest.approx(1.0, abs=1e-3)
    wanted = "share of the median depth" if with_depth else "from the target path"
    assert epipolar.detail["baseline"] == wanted


def test_a_camera_that_did_not_move_has_no_baseline():
    path = mbench.exit_reenter("strafe", distance=2.0).path()
    still = np.tile(np.eye(4), (len(path), 1, 1))
    found = scored(
        path,
        lambda context: two_views(context, folds(path)),
        pose=Estimator(still, scale_free=True),
        match=Estimator(still),
        matches=TrueMatches(still),
    )
    assert found["epipolar", ""].detail["kind"] == ["rotation"]
    assert found["reprojection", ""].status == "not_applicable"


def test_the_scale_of_a_camera_without_units_is_the_target_paths():
    path = worldmembench.square().path()
    poses = dict(enumerate(scaled(path.poses, 0.25)))
    free = Profile("test", {"pose": lambda: Estimator(None, scale_free=True)})
    metric = Profile("test", {"pose": lambda: Estimator(None)})
    assert realised.scale_of(Context(path, free), poses) == pytest.approx(4.0)
    assert realised.scale_of(Context(path, metric), poses) == 1.0
    assert realised.scale_of(Context(path, free), {0: np.eye(4), 1: np.eye(4)}) == 1.0
    turning = CameraPath(worldmembench.lrlr().path().poses)
    assert realised.scale_of(Context(turning, free), poses) == 1.0

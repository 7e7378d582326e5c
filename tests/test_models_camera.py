"""Models driven by cameras and keys: a path becomes their own control, and back, nearly."""

import importlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldenv.camera import CameraPath, fov_of, geodesic_deg, integrate, walk
from worldenv.case import load_script
from worldenv.world import Start, Unsupported, WeightsNotFound
from worldenv.worlds.models import lingbot_world, worldplay
from worldenv.worlds.models.control import chunk_lengths, inverse

NAMES = (
    "worldplay",
    "worldplay_wan",
    "matrix_game2",
    "matrix_game3",
    "matrix_game35",
    "lingbot_world",
    "lingbot_world_fast",
    "lingbot_world2",
    "sana_wm",
    "sana_wm_streaming",
    "lyra2",
    "dreamx_world",
    "dreamx_world_cam",
    "dreamx_world_memo",
)
MODULES = [importlib.import_module(f"worldenv.worlds.models.{name}") for name in NAMES]
STREAMS = [module for module in MODULES if module.MODEL.spec.drive == "stream"]

SCRIPTS = (
    "worldmembench:lrlr",
    "worldmembench:lrlrlr",
    "worldmembench:lrud",
    "worldmembench:square",
    "worldmembench:dynamic",
    "mbench:exit_reenter",
    "mbench:exit_reenter(motion=strafe,distance=1.5)",
    "mbench:exit_reenter(motion=dolly,distance=1.5)",
    "mbench:continuation",
    "r2m:out_and_back",
    "r2m:translation_rotation",
    "r2m:closed_loop",
)


def ids(module):
    return module.MODEL.id


def turned(frames, degrees, axis):
    """Return a path that turns evenly: yaw right (axis 0) or pitch up (axis 1)."""
    angles = np.zeros((2, frames))
    angles[axis] = np.arange(frames) * degrees
    return CameraPath(walk(np.zeros((frames, 3)), *angles))


def moved(frames, metres, axis):
    """Return a path that moves evenly: right (axis 0) or forward (axis 2)."""
    position = np.zeros((frames, 3))
    position[:, axis] = np.arange(frames) * metres
    return CameraPath(walk(position, np.zeros(frames), np.zeros(frames)))


def random_path(model, seed, frames):
    """Return a path within the model's own primitives and max_twist."""
    draw = np.random.default_rng(seed)
    if model.control == "keys":
        # Keys turn about one axis at a time, so the sum of both is what they can follow.
        rate = 0.45 * np.array(model.spec.max_twist)
        yaw = np.cumsum(draw.uniform(-1, 1, frames)) * rate[1]
        pitch = np.cumsum(draw.uniform(-1, 1, frames)) * rate[0]
        place = np.cumsum(draw.uniform(-1, 1, (frames, 3)) * rate[3:], axis=0)
        return CameraPath.rebased(walk(place - place[0], yaw - yaw[0], pitch - pitch[0]))
    rows = draw.uniform(-1, 1, (frames - 1, 6)) * model.spec.max_twist
    # Half of the paths hold each motion for a while, as scripts do.
    if seed % 2:
        rows = rows[np.arange(frames - 1) // 13]
    return CameraPath(integrate(rows))


def misses(path, decoded):
    assert len(path) == len(decoded)
    return (
        float(geodesic_deg(path.poses[:, :3, :3], decoded.poses[:, :3, :3]).max()),
        float(np.linalg.norm(path.poses[:, :3, 3] - decoded.poses[:, :3, 3], axis=1).max()),
    )


def check_round_trip(module, path):
    native = module.compile(path)
    assert native["frames"] == len(path)
    decoded = module.decode(native)
    assert decoded.fps == module.MODEL.spec.fps
    degrees, metres = misses(path, decoded)
    bound = module.MODEL.quantum.bound(path)
    assert degrees <= bound[0]
    assert metres <= bound[1]
    return decoded


@pytest.mark.parametrize("module", MODULES, ids=ids)
@pytest.mark.parametrize("script", SCRIPTS)
def test_benchmark_scripts_make_the_round_trip(module, script):
    # Every world here can do every script: none lacks a primitive or stops before 60 degrees.
    path = load_script(script).path(module.MODEL.spec)
    decoded = check_round_trip(module, path)
    # A return that ends in a hold ends where it began.
    if script.startswith("worldmembench"):
        assert geodesic_deg(decoded.poses[-1, :3, :3], np.eye(3)) < 1e-5
        assert np.linalg.norm(decoded.poses[-1, :3, 3]) < 1e-6


@pytest.mark.parametrize("module", MODULES, ids=ids)
@settings(max_examples=1000, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), frames=st.integers(1, 120))
def test_random_paths_make_the_round_trip(module, seed, frames):
    # Keys are chosen frame by frame, which takes its time.
    shorter = 1 + frames // 2 if module.MODEL.control == "keys" else frames
    check_round_trip(module, random_path(module.MODEL, seed, shorter))


@pytest.mark.parametrize("module", STREAMS, ids=ids)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_a_chunk_is_asked_for_without_knowing_the_next(module, seed):
    spec = module.MODEL.spec
    path = random_path(module.MODEL, seed, 1 + spec.first_chunk + 2 * spec.chunk)
    whole = module.decode(module.compile(path)).poses
    end = spec.reset_frames
    for length in chunk_lengths(len(path), spec):
        end += length
        part = module.decode(module.compile(path[:end])).poses
        assert abs(part - whole[:end]).max() < 1e-9


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("worldplay", lambda n: np.arange(0, n, 4)),
        ("worldplay_wan", lambda n: np.arange(0, n, 4)),
        ("lingbot_world", lambda n: np.arange(0, n, 4)),
        ("lingbot_world_fast", lambda n: np.arange(0, n, 4)),
        ("lingbot_world2", lambda n: np.arange(0, n, 4)),
        ("dreamx_world_cam", lambda n: np.arange(0, n, 4)),
        ("dreamx_world", lambda n: np.concatenate([[0], np.arange(1, n, 4)])),
        ("matrix_game35", np.arange),
        ("sana_wm", np.arange),
        ("sana_wm_streaming", np.arange),
        ("lyra2", np.arange),
    ],
)
def test_frames_with_a_pose_of_their_own_are_exact(name, asked):
    module = MODULES[NAMES.index(name)]
    path = random_path(module.MODEL, 6, 61)
    at = asked(61)
    poses = module.decode(module.compile(path)).poses
    assert abs(poses[at] - path.poses[at]).max() < 1e-9


@pytest.mark.parametrize("module", MODULES, ids=ids)
def test_specs_are_described(module):
    model = module.MODEL
    spec = model.spec
    assert spec.licence and spec.citation and spec.image_start
    assert spec.size[0] % 8 == 0 and spec.size[1] % 8 == 0
    assert spec.K_exactness != "exact" and 25 < fov_of(spec.intrinsics(), spec.size[0]) < 120
    assert set(spec.quantum) == set(spec.primitives) - {"STAY"}
    assert spec.state == "whole" or spec.drive == "stream" or spec.chunk >= 12
    for primitive, amount in spec.quantum.items():
        limit = spec.max_twist[:3] if "YAW" in primitive or "PITCH" in primitive else None
        assert amount <= max(limit or spec.max_twist[3:]) + 1e-9


@pytest.mark.parametrize("module", MODULES, ids=ids)
def test_a_still_path_asks_for_nothing(module):
    path = CameraPath(np.eye(4)[None].repeat(30, 0))
    assert misses(path, module.decode(module.compile(path))) == (0, 0)
    one = path[:1]
    assert misses(one, module.decode(module.compile(one))) == (0, 0)


# HY-WorldPlay: rot_x, rot_y and generate_camera_trajectory_local of
# hyvideo/generate_custom_trajectory.py, pose_to_input of hyvideo/generate.py.
def test_worldplay_turns_right_up_and_walks_as_the_official_code():
    sine, cosine = math.sin(math.radians(3)), math.cos(math.radians(3))
    w2c = worldplay.compile(turned(5, 0.75, 0))["w2c"][1]
    rot_y = np.array([[cosine, 0, sine], [0, 1, 0], [-sine, 0, cosine]])
    assert abs(w2c[:3, :3] - rot_y.T).max() < 1e-12
    w2c = worldplay.compile(turned(5, 0.75, 1))["w2c"][1]
    rot_x = np.array([[1, 0, 0], [0, cosine, -sine], [0, sine, cosine]])
    assert abs(w2c[:3, :3] - rot_x.T).max() < 1e-12
    assert worldplay.compile(moved(5, 0.02, 2))["w2c"][1][:3, 3] == pytest.approx([0, 0, -0.08])
    assert worldplay.compile(moved(5, 0.02, 0))["w2c"][1][:3, 3] == pytest.approx([-0.08, 0, 0])


def test_worldplay_intrinsics_are_shares_of_the_image():
    native = worldplay.compile(turned(13, 1, 0))
    assert native["K"][[0, 1, 0, 1], [0, 1, 2, 2]] == pytest.approx(
        [0.50505, 0.89787, 0.5, 0.5], 1e-4
    )
    assert len(native["w2c"]) == 4
    assert len(worldplay.compile(turned(14, 1, 0))["w2c"]) == 8


# one_hot_to_one_dimension and the angles of pose_to_input in hyvideo/generate.py: w 9, s 18, d 27,
# a 36; right 1, left 2, up 3, down 4; pairs 5 to 8; 9 x movement + turn.
@pytest.mark.parametrize(
    ("right", "forward", "yaw", "pitch", "label"),
    [
        (0, 0, 0, 0, 0),
        (0, 0.08, 0, 0, 9),
        (0, -0.08, 0, 0, 18),
        (0.08, 0, 0, 0, 27),
        (-0.08, 0, 0, 0, 36),
        (0.08, 0.08, 0, 0, 45),
        (-0.08, 0.08, 0, 0, 54),
        (0.08, -0.08, 0, 0, 63),
        (-0.08, -0.08, 0, 0, 72),
        (0, 0, 3, 0, 1),
        (0, 0, -3, 0, 2),
        (0, 0, 0, 3, 3),
        (0, 0, 0, -3, 4),
        (0, 0, 3, 3, 5),
        (0, 0, 3, -3, 6),
        (0, 0, -3, 3, 7),
        (0, 0, -3, -3, 8),
        (0, 0.08, 3, 0, 10),
        (-0.08, -0.08, -3, -3, 80),
        # 50 and 70 degrees off the axis.
        (math.sin(math.radians(20)), math.cos(math.radians(20)), 0, 0, 9),
        (math.sin(math.radians(50)), math.cos(math.radians(50)), 0, 0, 45),
        (math.sin(math.radians(70)), math.cos(math.radians(70)), 0, 0, 27),
        # Below the thresholds.
        (0, 0.00009, 0.04, -0.04, 0),
        (0, 0.00011, 0.06, 0, 10),
    ],
)
def test_worldplay_labels(right, forward, yaw, pitch, label):
    c2w = walk(np.array([[0, 0, 0], [right, 0, forward]]), [0, yaw], [0, pitch])
    assert worldplay.action_labels(c2w).tolist() == [0, label]


def test_worldplay_labels_are_about_the_camera_before_the_turn():
    c2w = walk(np.array([[0, 0, 0], [0, 0, 0], [0.08, 0, 0]]), [0, 90, 90], [0, 0, 0])
    assert worldplay.action_labels(c2w).tolist() == [0, 1, 9]


# Matrix-Game 2: CAMERA_VALUE_MAP and KEYBOARD_IDX of pipeline/causal_inference.py:
# I up [0.1, 0], L right [0, 0.1]; W, S, A, D.
# Matrix-Game 3: the same with two more keys, in pipeline/inference_interactive_pipeline.py.
@pytest.mark.parametrize("name", ["matrix_game2", "matrix_game3"])
def test_matrix_game_keys(name):
    module = MODULES[NAMES.index(name)]
    width = 4 if name == "matrix_game2" else 6
    row = 1 if name == "matrix_game2" else 0
    metres = module.METRES

    def first(path):
        native = module.compile(path)
        assert native["keyboard"].shape == (len(path), width)
        return native["keyboard"][row].tolist(), native["mouse"][row].tolist()

    none = [0] * (width - 4)
    assert first(turned(3, 1.5, 0)) == ([0, 0, 0, 0, *none], [0, 0.1])
    assert first(turned(3, -1.5, 0)) == ([0, 0, 0, 0, *none], [0, -0.1])
    assert first(turned(3, 1.5, 1)) == ([0, 0, 0, 0, *none], [0.1, 0])
    assert first(turned(3, -1.5, 1)) == ([0, 0, 0, 0, *none], [-0.1, 0])
    assert first(moved(3, metres, 2)) == ([1, 0, 0, 0, *none], [0, 0])
    assert first(moved(3, -metres, 2)) == ([0, 1, 0, 0, *none], [0, 0])
    assert first(moved(3, -metres, 0)) == ([0, 0, 1, 0, *none], [0, 0])
    assert first(moved(3, metres, 0)) == ([0, 0, 0, 1, *none], [0, 0])


def test_matrix_game2_holds_the_keys_of_frame_1_in_frame_0():
    module = MODULES[NAMES.index("matrix_game2")]
    native = module.compile(turned(9, 1.5, 0))
    assert (native["mouse"] == [0, 0.1]).all()


# compute_next_pose_from_action of Matrix-Game-3/utils/utils.py: X forward, Y right, in centimetres,
# 15 degrees a unit of mouse, moved along the mean of both headings.
@pytest.mark.parametrize("seed", range(5))
def test_matrix_game3_decodes_as_the_official_code_integrates(seed):
    module = MODULES[NAMES.index("matrix_game3")]
    native = module.compile(random_path(module.MODEL, seed, 120))
    x = y = yaw = 0.0
    for i, pose in enumerate(module.decode(native).poses):
        assert pose[[0, 2], 3] == pytest.approx([y / 100, x / 100], abs=1e-9)
        assert math.degrees(math.atan2(pose[0, 2], pose[2, 2])) == pytest.approx(
            (yaw + 180) % 360 - 180, abs=1e-6
        )
        w, s, a, d = native["keyboard"][i, :4]
        ahead, right = 12.35 * (w - s), 12.35 * (d - a)
        if ahead and right:
            ahead, right = 8.73 * np.sign(ahead), 8.73 * np.sign(right)
        after = yaw + 15 * native["mouse"][i, 1]
        mean = math.radians((yaw + after) / 2)
        x += math.cos(mean) * ahead - math.sin(mean) * right
        y += math.sin(mean) * ahead + math.cos(mean) * right
        yaw = after


def test_matrix_game3_repeats_the_keys_of_a_clip_in_its_last_row():
    module = MODULES[NAMES.index("matrix_game3")]
    # The turn ends with the first clip, whose last row has already been given.
    yaw = np.minimum(np.arange(97), 56) * 1.5
    path = CameraPath(walk(np.zeros((97, 3)), yaw, np.zeros(97)))
    mouse = module.compile(path)["mouse"][:, 1]
    assert mouse[:57].tolist() == [0.1] * 57
    assert mouse[57] == -0.1
    assert not mouse[58:].any()


def test_keys_refuse_what_is_too_fast_for_them():
    for name in ("matrix_game2", "matrix_game3"):
        with pytest.raises(Unsupported, match="faster than the keys"):
            MODULES[NAMES.index(name)].compile(turned(40, 3, 0))


# load_camera and pad_poses of Matrix-Game 3.5's infer.py: (N, 4, 4) camera-to-world, 1 + 84 blocks.
def test_matrix_game35_takes_camera_to_world_poses_in_blocks():
    module = MODULES[NAMES.index("matrix_game35")]
    native = module.compile(moved(86, 0.05, 2))
    assert native["extrinsics_c2w"].shape == (169, 4, 4)
    assert native["intrinsics"].shape == (169, 4)
    assert native["extrinsics_c2w"][1, :3, 3].tolist() == [0, 0, 0.05]
    assert (native["extrinsics_c2w"][85:] == native["extrinsics_c2w"][85]).all()
    assert module.compile(moved(85, 0.05, 2))["extrinsics_c2w"].shape == (85, 4, 4)
    assert module.compile(turned(2, 90, 0))["extrinsics_c2w"][1, :3, 2] == pytest.approx([1, 0, 0])


# compute_relative_poses of wan/utils/cam_utils.py, framewise, with the longest step made 1.
def test_lingbot_is_told_steps_over_the_longest_of_them():
    half = np.minimum(np.arange(25), 12) * 0.1 + np.maximum(np.arange(25) - 12, 0) * 0.05
    position = np.stack([0 * half, 0 * half, half], axis=1)
    native = lingbot_world.compile(CameraPath(walk(position, np.zeros(25), np.zeros(25))))
    steps = lingbot_world.conditioning(native)
    assert steps[1:4, :3, 3] == pytest.approx(np.array([[0, 0, 1.0]] * 3))
    assert steps[4:, :3, 3] == pytest.approx(np.array([[0, 0, 0.5]] * 3))
    assert native["metres"] == pytest.approx(0.4)
    # The same path at twice the speed is the same control.
    twice = lingbot_world.compile(CameraPath(walk(2 * position, np.zeros(25), np.zeros(25))))
    assert abs(lingbot_world.conditioning(twice) - steps).max() < 1e-12
    assert twice["metres"] == pytest.approx(0.8)


def test_lingbot_does_not_blow_up_rounding_where_nothing_moves():
    poses = np.array(turned(25, 1, 0).poses)
    poses[1:, 0, 3] = 1e-9
    native = lingbot_world.compile(CameraPath(poses))
    assert not lingbot_world.conditioning(native)[:, :3, 3].any()


def test_lingbot_turns_and_poses_are_camera_to_world():
    native = lingbot_world.compile(turned(5, 0.5, 0))
    assert native["poses"][4, :3, 2] == pytest.approx(
        [math.sin(math.radians(2)), 0, math.cos(math.radians(2))]
    )
    native = lingbot_world.compile(turned(5, 0.5, 1))
    assert native["poses"][4, :3, 2] == pytest.approx(
        [0, -math.sin(math.radians(2)), math.cos(math.radians(2))]
    )


def test_lingbot_intrinsics_come_out_square_after_the_official_scaling():
    # get_Ks_transformed takes them as of 832 x 480, whatever the image is.
    fx, fy, cx, cy = lingbot_world.compile(turned(5, 0, 0))["intrinsics"][0]
    assert fx == pytest.approx(fy * 464 / 480)
    assert (cx, cy) == pytest.approx((416, 240))


def test_lingbot_keeps_the_size_that_the_official_rounding_makes():
    width, height = lingbot_world.SIZE
    for w, h in ((width, height), (832, 480)):
        rows = round(np.sqrt(480 * 832 * (h / w)) // 8 // 2 * 2) * 8
        columns = round(np.sqrt(480 * 832 / (h / w)) // 8 // 2 * 2) * 8
        assert (columns, rows) == (width, height)


@pytest.mark.parametrize(("name", "frames"), [("lingbot_world_fast", 9), ("lingbot_world2", 13)])
def test_lingbot_chunks_are_whole(name, frames):
    module = MODULES[NAMES.index(name)]
    for asked in (2, frames, frames + 1, frames + 30):
        latents = (len(module.compile(turned(asked, 1, 0))["poses"]) - 1) // 4 + 1
        assert latents % module.CHUNK == 0


# prepare_camera of inference_video_scripts/wm/inference_sana_wm.py: camera-to-world, fx fy cx cy.
@pytest.mark.parametrize(("name", "stride"), [("sana_wm", 8), ("sana_wm_streaming", 24)])
def test_sana_takes_camera_to_world_poses_of_every_frame(name, stride):
    module = MODULES[NAMES.index(name)]
    native = module.compile(moved(10, 0.05, 0))
    assert len(native["c2w"]) % stride == 1 == len(native["intrinsics"]) % stride
    assert native["c2w"][9, :3, 3] == pytest.approx([0.45, 0, 0])
    assert native["c2w"][-1, :3, 3] == pytest.approx([0.45, 0, 0])
    assert module.compile(turned(2, 90, 1))["c2w"][1, :3, 2] == pytest.approx([0, -1, 0])


# inference_on_cameras of gui/api/lyra_persistent.py: world-to-camera, K in pixels, one a frame.
def test_lyra_takes_world_to_camera_poses_of_every_frame():
    module = MODULES[NAMES.index("lyra2")]
    native = module.compile(moved(81, 0.05, 2))
    assert native["w2c"].shape == (81, 4, 4)
    assert native["intrinsics"].shape == (81, 3, 3)
    assert native["w2c"][1, :3, 3] == pytest.approx([0, 0, -0.05])
    # Seen by a camera that turned right, what was ahead lies left.
    turn = module.compile(turned(2, 30, 0))["w2c"][1]
    assert (turn @ [0, 0, 1, 1])[0] == pytest.approx(-0.5)
    # Seen by a camera that turned up, what was ahead lies below.
    turn = module.compile(turned(2, 30, 1))["w2c"][1]
    assert (turn @ [0, 0, 1, 1])[1] == pytest.approx(0.5)


# cam_params_to_prope_dict of inference_ar_forcing.py with chunk_relative.
def test_dreamx_asks_for_the_first_frame_of_each_latent_relative_to_the_block_before():
    module = MODULES[NAMES.index("dreamx_world")]
    native = module.compile(moved(21, 0.075, 2))
    views = native["viewmats"]
    assert views.shape == (6, 4, 4)
    assert -views[:3, 2, 3] == pytest.approx([0, 0.075, 5 * 0.075])
    assert -views[3:, 2, 3] == pytest.approx([4 * 0.075, 8 * 0.075, 12 * 0.075])
    turn = module.compile(turned(2, 30, 0))["viewmats"][1]
    assert (turn @ [0, 0, 1, 1])[0] == pytest.approx(-0.5)
    turn = module.compile(turned(2, 30, 1))["viewmats"][1]
    assert (turn @ [0, 0, 1, 1])[1] == pytest.approx(0.5)
    assert -module.compile(moved(2, 0.5, 0))["viewmats"][1][0, 3] == pytest.approx(0.5)


def test_dreamx_blocks_hold_for_any_turned_path():
    module = MODULES[NAMES.index("dreamx_world")]
    path = random_path(module.MODEL, 4, 45)
    native = module.compile(path)
    at = [0, *range(1, 45, 4)]
    for i, frame in enumerate(at):
        reference = path.poses[at[i // 3 * 3 - 1]] if i >= 3 else np.eye(4)
        expected = np.linalg.inv(path.poses[frame]) @ reference
        assert abs(native["viewmats"][i] - expected).max() < 1e-9


# GetPoseEmbedsFromPosesPrope of utils/inference_utils.py.
def test_dreamx_cam_asks_for_every_fourth_frame_with_its_own_principal_point():
    module = MODULES[NAMES.index("dreamx_world_cam")]
    native = module.compile(moved(9, 0.1, 2))
    assert -native["viewmats"][:, 2, 3] == pytest.approx([0, 0.4, 0.8])
    assert native["K"][:2, 2].tolist() == [0, 0]


def test_dreamx_memo_says_that_nothing_is_published():
    module = MODULES[NAMES.index("dreamx_world_memo")]
    world = module.make()
    with pytest.raises(WeightsNotFound, match="neither its code nor its weights are published"):
        world.reset(Start(), seed=0, plan=None)
    world.close()
    assert abs(inverse(module.compile(moved(2, 1, 2))["viewmats"])[1, 2, 3] - 1) < 1e-12


@pytest.mark.parametrize("module", MODULES, ids=ids)
def test_stand_ins_walk_the_decoded_control(module):
    """A few steps at postage-stamp size: chunk lengths, poses and marks are the model's own."""
    world = module.make(stand_in=True, size=(32, 24))
    spec = world.spec
    assert spec.stand_in and spec.drive == module.MODEL.spec.drive
    frames = 1 + spec.first_chunk + (spec.chunk if spec.chunk < 30 else 0)
    path = load_script("worldmembench:lrlr(hold=2,leg=16)").path(spec)
    path = CameraPath(path.poses[:frames], fps=spec.fps)
    plan = path if spec.drive == "plan" else None
    chunk = world.reset(Start(scene={"family": "plain", "seed": 0}), seed=0, plan=plan)
    assert chunk.frames.shape == (1, 24, 32, 3)
    done = 1
    for length in chunk_lengths(len(path), spec):
        chunk = world.step(path.poses[done : done + length])
        done += length
        assert chunk.frames.shape == (length, 24, 32, 3)
        expected = module.decode(module.compile(path[:done] if plan is None else path)).poses
        assert abs(chunk.poses - expected[done - length : done]).max() < 1e-9
        assert abs(chunk.truth["pose"] - chunk.poses).max() < 1e-6
    world.close()

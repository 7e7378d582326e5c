"""Models asked in words, ids, view matrices or poses: what a path becomes, and what it was."""

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldenv.camera import PRIMITIVES, CameraPath, geodesic_deg, integrate, walk
from worldenv.case import load_script
from worldenv.recipe import load_recipe
from worldenv.world import Start, UnknownName, Unsupported, WeightsNotFound, fit_path
from worldenv.worlds.models.control import Keys

CAPTIONED = (
    "causal_forcing",
    "cosmos_predict25",
    "helios",
    "longcat_video",
    "longlive",
    "longlive2",
    "memflow",
    "self_forcing",
    "skyreels_v2",
    "yume",
    "yume15",
)
NUMERIC = ("evoke", "infinite_world", "wonder_world")
NAMES = (*CAPTIONED, *NUMERIC)
SCRIPTS = (
    "worldmembench:lrlr",
    "worldmembench:lrlrlr",
    "worldmembench:lrud",
    "worldmembench:square",
    "worldmembench:dynamic",
    "mbench:exit_reenter",
    "mbench:exit_reenter(motion=strafe,distance=2.5)",
    "mbench:exit_reenter(motion=dolly,distance=2.5)",
    "mbench:continuation",
    "r2m:out_and_back",
    "r2m:translation_rotation",
    "r2m:closed_loop",
)


def load(name):
    return importlib.import_module(f"worldenv.worlds.models.{name}")


def asked(module, script):
    spec = module.MODEL.spec
    return fit_path(load_script(script).path(spec), spec)


def misses(module, path):
    decoded = module.decode(module.compile(path))
    assert len(decoded) == len(path)
    assert decoded.fps == module.MODEL.spec.fps
    turned = geodesic_deg(decoded.poses[:, :3, :3], path.poses[:, :3, :3]).max()
    return turned, np.linalg.norm(decoded.poses[:, :3, 3] - path.poses[:, :3, 3], axis=1).max()


def level(rows, fps):
    """Return a path from per-frame (right, forward, yaw, pitch), each along the heading."""
    rows = np.asarray(rows, dtype=np.float64)
    state = np.concatenate([np.zeros((1, 4)), np.cumsum(rows, axis=0)])
    heading = np.radians(state[:-1, 2])
    right, forward = rows[:, 0], rows[:, 1]
    place = np.zeros((len(state), 3))
    place[1:, 0] = np.cumsum(right * np.cos(heading) + forward * np.sin(heading))
    place[1:, 2] = np.cumsum(forward * np.cos(heading) - right * np.sin(heading))
    return CameraPath(walk(place, state[:, 2], state[:, 3]), fps=fps)


def held(module, chosen):
    """Return the path of one primitive a chunk, at the model's nominal speed."""
    spec = module.MODEL.spec
    columns = {"RIGHT": 0, "LEFT": 0, "FORWARD": 1, "BACKWARD": 1}
    columns.update({"YAW_RIGHT": 2, "YAW_LEFT": 2, "PITCH_UP": 3, "PITCH_DOWN": 3})
    rows = np.zeros((spec.reset_frames - 1, 4))
    for step, name in enumerate(chosen):
        part = np.zeros((spec.chunk_at(step), 4))
        if name != "STAY":
            sign = -1 if name in ("LEFT", "BACKWARD", "YAW_LEFT", "PITCH_DOWN") else 1
            part[:, columns[name]] = sign * spec.quantum[name]
        rows = np.concatenate([rows, part])
    return level(rows, spec.fps)


@pytest.mark.parametrize("name", NAMES)
def test_every_script_comes_back(name):
    module = load(name)
    for script in SCRIPTS:
        path = asked(module, script)
        turned, moved = misses(module, path)
        degrees, metres = module.MODEL.quantum.bound(path)
        assert turned <= degrees, script
        assert moved <= metres, script
        if module.MODEL.spec.held and script != "mbench:continuation":
            # Legs of whole chunks can be said exactly.
            assert turned < 1e-9, script
            assert moved < 1e-9, script


@pytest.mark.parametrize("name", CAPTIONED)
@given(st.integers(0, 2**32 - 1))
@settings(max_examples=1000, deadline=None, database=None)
def test_random_captions_come_back(name, seed):
    module = load(name)
    spec = module.MODEL.spec
    draw = np.random.default_rng(seed)
    chosen = [str(p) for p in draw.choice(spec.primitives, size=int(draw.integers(1, 4)))]
    # Beyond the zenith a camera is no longer level, and words refuse it.
    chosen = chosen[:2] + [p for p in chosen[2:] if not p.startswith("PITCH")]
    path = held(module, chosen)
    native = module.compile(path)
    assert abs(module.decode(native).poses - path.poses).max() < 1e-9
    assert len(native["captions"]) == len(chosen)


@pytest.mark.parametrize("name", CAPTIONED)
@given(st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None, database=None)
def test_slower_motion_is_said_now_and_then(name, seed):
    module = load(name)
    spec = module.MODEL.spec
    draw = np.random.default_rng(seed)
    rows = np.zeros((spec.reset_frames - 1 + spec.first_chunk + 5 * spec.chunk, 4))
    column = int(draw.integers(0, 4))
    size = spec.quantum["FORWARD" if column < 2 else "YAW_RIGHT"]
    size *= 0.4 if column == 3 else 1.0
    rows[spec.reset_frames - 1 :, column] = size * draw.uniform(-1, 1)
    path = level(rows, spec.fps)
    turned, moved = misses(module, path)
    degrees, metres = module.MODEL.quantum.bound(path)
    assert turned <= degrees
    assert moved <= metres


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=1000, deadline=None, database=None)
def test_random_ids_come_back(seed):
    module = load("infinite_world")
    spec = module.MODEL.spec
    draw = np.random.default_rng(seed)
    frames = int(draw.integers(1, 60))
    speed = draw.uniform(-1, 1, (1, 4)) * [1 / 60, 1 / 60, 0.5, 0.3]
    rows = speed + draw.uniform(-0.2, 0.2, (frames, 4)) * [1 / 60, 1 / 60, 0.5, 0.3]
    # Eight directions at one speed: between two of them a camera keeps up with 92 % of it.
    for columns, speed in (((0, 1), 1 / 60), ((2, 3), 0.5)):
        length = np.linalg.norm(rows[:, columns], axis=1)
        rows[:, columns] *= np.minimum(1, 0.92 * speed / length)[:, None]
    path = level(rows, spec.fps)
    turned, moved = misses(module, path)
    degrees, metres = module.MODEL.quantum.bound(path)
    assert turned <= degrees
    assert moved <= metres


@pytest.mark.parametrize("name", ["evoke", "wonder_world"])
@given(st.integers(0, 2**32 - 1))
@settings(max_examples=1000, deadline=None, database=None)
def test_random_poses_come_back(name, seed):
    module = load(name)
    spec = module.MODEL.spec
    draw = np.random.default_rng(seed)
    rows = draw.uniform(-1, 1, (int(draw.integers(0, 40)), 6)) * spec.max_twist
    path = CameraPath(integrate(rows), fps=spec.fps)
    turned, moved = misses(module, path)
    degrees, metres = module.MODEL.quantum.bound(path)
    assert turned <= degrees
    assert moved <= metres


@pytest.mark.parametrize("name", NAMES)
def test_a_longer_path_keeps_what_was_asked_before(name):
    module = load(name)
    spec = module.MODEL.spec
    path = asked(module, "mbench:continuation")
    whole = module.decode(module.compile(path)).poses
    end = spec.reset_frames + spec.first_chunk
    while end <= len(path):
        part = module.decode(module.compile(path[:end])).poses
        assert np.array_equal(part, whole[:end])
        end += spec.chunk


@pytest.mark.parametrize("name", NAMES)
def test_no_motion_is_asked_before_the_first_step(name):
    module = load(name)
    spec = module.MODEL.spec
    still = CameraPath(np.eye(4)[None].repeat(spec.reset_frames, 0), fps=spec.fps)
    native = module.compile(still)
    assert native["frames"] == spec.reset_frames
    assert np.array_equal(module.decode(native).poses, still.poses)


@pytest.mark.parametrize("name", [n for n in CAPTIONED if load(n).MODEL.spec.reset_frames > 1])
def test_a_text_world_cannot_move_in_its_first_chunk(name):
    module = load(name)
    spec = module.MODEL.spec
    rows = np.zeros((spec.reset_frames + 20, 4))
    rows[:, 2] = spec.quantum["YAW_RIGHT"]
    with pytest.raises(Unsupported, match="at rest"):
        module.compile(level(rows, spec.fps))


@pytest.mark.parametrize("name", CAPTIONED)
def test_words_refuse_what_no_word_says(name):
    module = load(name)
    spec = module.MODEL.spec
    frames = spec.reset_frames + spec.first_chunk
    rows = np.zeros((frames - 1, 6))
    rows[-spec.first_chunk :, 2] = 1.0
    with pytest.raises(Unsupported, match="level walk"):
        module.compile(CameraPath(integrate(rows), fps=spec.fps))


ORDER = tuple(p.name for p in PRIMITIVES)


@pytest.mark.parametrize("name", [n for n in CAPTIONED if n not in ("yume", "yume15")])
def test_captions_of_text_models_say_the_primitives(name):
    module = load(name)
    captions = module.compile(held(module, ORDER))["captions"]
    words = ("still", " forward", " backward", "to the left", "to the right")
    words += ("pans slowly to the left", "pans slowly to the right", "upward", "downward")
    for word, caption in zip(words, captions, strict=True):
        assert word in caption
    assert len(set(captions)) == 9


def test_yume_says_its_own_words():
    # fastvideo/sample/sample.py, vocab_k and vocab_c.
    captions = load("yume").compile(held(load("yume"), ORDER))["captions"]
    prefix = "This video depicts a city walk scene with a first-person view (FPV)."
    assert [c.removeprefix(prefix) for c in captions] == [
        "Person stands still (·).Camera remains still (·).",
        "Person moves forward (W).Camera remains still (·).",
        "Person moves backward (S).Camera remains still (·).",
        "Person moves left (A).Camera remains still (·).",
        "Person moves right (D).Camera remains still (·).",
        "Person stands still (·).Camera turns left (←).",
        "Person stands still (·).Camera turns right (→).",
        "Person stands still (·).Camera tilts up (↑).",
        "Person stands still (·).Camera tilts down (↓).",
    ]


def test_yume15_says_its_own_words():
    # webapp_single_gpu.py, vocab1 and vocab2; the frame around them is caption_re.txt's.
    module = load("yume15")
    still = "The rotation direction of the camera remains stationary (·)."
    stand = "The camera's movement direction remains stationary (·). "
    captions = module.compile(held(module, ORDER))["captions"]
    assert [c.removeprefix("First-person perspective. ") for c in captions] == [
        stand + still,
        "The camera pushes forward (W). " + still,
        "The camera pulls back (S). " + still,
        "The camera moves to the left (A). " + still,
        "The camera moves to the right (D). " + still,
        stand + "The camera pans to the left (←).",
        stand + "The camera pans to the right (→).",
        stand + "The camera tilts up (↑).",
        stand + "The camera tilts down (↓).",
    ]


@pytest.mark.parametrize(
    ("right", "forward", "yaw", "pitch", "words"),
    [
        (-1, 1, -1, 0, "Person moves forward and left (W+A).Camera turns left (←)."),
        (1, 1, 1, 0, "Person moves forward and right (W+D).Camera turns right (→)."),
        (-1, -1, 0, 0, "Person moves backward and left (S+A).Camera remains still (·)."),
        (1, -1, 0, 1, "Person moves backward and right (S+D).Camera tilts up (↑)."),
        (0, 0, 1, 1, "Person stands still (·).Camera tilts up and turns right (↑→)."),
        (0, 0, -1, 1, "Person stands still (·).Camera tilts up and turns left (↑←)."),
        (0, 0, 1, -1, "Person stands still (·).Camera tilts down and turns right (↓→)."),
        (0, 1, -1, -1, "Person moves forward (W).Camera tilts down and turns left (↓←)."),
    ],
)
def test_yume_moves_and_turns_at_once(right, forward, yaw, pitch, words):
    module = load("yume")
    spec = module.MODEL.spec
    move = spec.quantum["FORWARD"] / np.hypot(right, forward) if right or forward else 0
    turn = spec.quantum["YAW_RIGHT"] / np.hypot(yaw, pitch) if yaw or pitch else 0
    path = level([[right * move, forward * move, yaw * turn, pitch * turn]] * 32, spec.fps)
    native = module.compile(path)
    assert [c.split("(FPV).")[1] for c in native["captions"]] == [words]
    assert abs(module.decode(native).poses - path.poses).max() < 1e-9


def test_infinite_world_ids():
    # scripts/infworld_inference.py, MOVE_ACTION_MAP and VIEW_ACTION_MAP.
    module = load("infinite_world")
    expected = {
        (0, 0, 0, 0): (0, 0),
        (0, 1, 0, 0): (1, 0),
        (0, -1, 0, 0): (2, 0),
        (-1, 0, 0, 0): (3, 0),
        (1, 0, 0, 0): (4, 0),
        (-1, 1, 0, 0): (5, 0),
        (1, 1, 0, 0): (6, 0),
        (-1, -1, 0, 0): (7, 0),
        (1, -1, 0, 0): (8, 0),
        (0, 0, 0, 1): (0, 1),
        (0, 0, 0, -1): (0, 2),
        (0, 0, -1, 0): (0, 3),
        (0, 0, 1, 0): (0, 4),
        (0, 0, -1, 1): (0, 5),
        (0, 0, 1, 1): (0, 6),
        (0, 0, -1, -1): (0, 7),
        (0, 0, 1, -1): (0, 8),
        (0, 1, 1, 0): (1, 4),
    }
    for (right, forward, yaw, pitch), ids in expected.items():
        move = 1 / 60 / (np.hypot(right, forward) or 1)
        turn = 0.5 / (np.hypot(yaw, pitch) or 1)
        row = [right * move, forward * move, yaw * turn, pitch * turn]
        native = module.compile(level([row] * 80, 30.0))
        assert native["move"].tolist() == [ids[0]] * 81
        assert native["view"].tolist() == [ids[1]] * 81


def test_wonderworld_view_matrices():
    # run.py: the view at the origin, and models/models.py, get_camera_by_js_view_matrix.
    module = load("wonder_world")
    native = module.compile(CameraPath(np.eye(4)[None]))
    assert native["view_matrix"][0].tolist() == [-1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
    ahead = walk(np.array([[0, 0, 0], [0.5, 0, 2.0]]), np.zeros(2), np.zeros(2))
    # One metre is one unit; the world moves the other way.
    assert module.compile(CameraPath(ahead))["view_matrix"][1, 12:].tolist() == [-0.5, 0, -2, 1]
    for yaw, pitch in ((30.0, 0.0), (0.0, 30.0)):
        view = module.compile(CameraPath(walk(np.zeros((2, 3)), [0, yaw], [0, pitch])))
        matrix = view["view_matrix"][1].reshape(4, 4)
        # The point 30 degrees to the right, or up, of the world's z (x left, y up) is now ahead.
        angle = np.radians(30)
        point = [-np.sin(angle) if yaw else 0, np.sin(angle) if pitch else 0, np.cos(angle), 1]
        assert np.allclose(point @ matrix, [0, 0, 1, 1])


def test_evoke_takes_camera_to_world_matrices():
    # evoke/utils/ev_validation.py, load_pose_for_v2v: cam_c2w in OpenCV axes, K at the pose's size.
    module = load("evoke")
    poses = walk(np.array([[0, 0, 0], [0.25, 0, 0.5]]), [0, 90.0], [0, 0])
    native = module.compile(CameraPath(poses, fps=24))
    assert native["cam_c2w"].dtype == np.float32
    assert np.allclose(native["cam_c2w"][1, :3, 3], [0.25, 0, 0.5])
    assert np.allclose(native["cam_c2w"][1, :3, 2], [1, 0, 0], atol=1e-6)
    assert native["intrinsics"].shape == (2, 3, 3)


@pytest.mark.parametrize("name", NAMES)
def test_each_model_says_what_it_is(name):
    model = load(name).MODEL
    spec = model.spec
    assert spec.licence
    assert spec.citation
    assert model.title
    assert spec.K_exactness in ("exact", "nominal")
    # Their metre is a unit of a depth that they estimate; words and ids promise nothing.
    scaled = name in ("evoke", "wonder_world")
    assert spec.pose_exactness == ("calibrated" if scaled else "nominal")
    if name in ("longlive2", "evoke"):
        assert (spec.drive, spec.prompt) == ("plan", "episode")
    else:
        assert (spec.drive, spec.prompt) == ("stream", "chunk")
    for policy, switches in model.context.items():
        assert policy in ("full", "sliding", "fov", "none")
        assert set(switches) <= set(model.options)


@pytest.mark.parametrize(
    ("name", "frames"),
    [
        ("causal_forcing", (1, 4, 4)),
        ("cosmos_predict25", (1, 92, 88)),
        ("evoke", (1, 35, 36)),
        ("helios", (1, 33, 33)),
        ("infinite_world", (1, 80, 80)),
        ("longcat_video", (1, 92, 80)),
        ("longlive", (9, 12, 12)),
        ("longlive2", (29, 32, 32)),
        ("memflow", (9, 12, 12)),
        ("self_forcing", (9, 12, 12)),
        ("skyreels_v2", (1, 96, 80)),
        ("wonder_world", (1, 1, 1)),
        ("yume", (1, 32, 32)),
        ("yume15", (1, 29, 29)),
    ],
)
def test_chunks_count_new_frames(name, frames):
    spec = load(name).MODEL.spec
    assert (spec.reset_frames, spec.first_chunk, spec.chunk) == frames


@pytest.mark.parametrize("name", NAMES)
def test_stand_in_walks_the_decoded_path(name):
    module = load(name)
    for policy in module.MODEL.context:
        module.make(stand_in=True, size=(32, 24), context=policy).close()
    world = module.make(stand_in=True, size=(32, 24))
    assert world.spec.stand_in
    plan = asked(module, "worldmembench:lrlr")
    plan = plan[: world.spec.reset_frames + world.spec.first_chunk]
    chunk = world.reset(Start(scene={"family": "plain", "seed": 0}), seed=0, plan=plan)
    assert len(chunk.frames) == world.spec.reset_frames
    chunk = world.step(plan.poses[len(chunk.frames) :])
    assert len(chunk.frames) == world.spec.first_chunk
    decoded = module.decode(module.compile(plan)).poses
    assert abs(chunk.poses - decoded[-len(chunk.frames) :]).max() < 1e-12
    world.close()


@pytest.mark.parametrize("name", NAMES)
def test_options_are_named(name):
    module = load(name)
    with pytest.raises(UnknownName, match="option of"):
        module.make(no_such_option=1)
    with pytest.raises(Unsupported, match="context policy"):
        module.make(context="elephant", stand_in=True)


@pytest.mark.parametrize("name", [n for n in NAMES if not load(n).MODEL.local])
def test_without_weights_reset_says_so(name):
    module = load(name)
    plan = CameraPath(np.eye(4)[None].repeat(200, 0), fps=module.MODEL.spec.fps)
    with pytest.raises(WeightsNotFound):
        module.make().reset(Start(), seed=0, plan=plan)


def test_keys_of_yume_are_as_fast_along_a_diagonal():
    keys = load("yume")._CONTROL.keys()
    assert isinstance(keys, Keys)
    for ways in (keys.moves, keys.turns):
        assert np.allclose(np.linalg.norm(ways[1:], axis=1), np.linalg.norm(ways[1]))


@pytest.mark.parametrize("name", NAMES)
def test_each_model_has_a_recipe_for_its_adapter(name):
    module = load(name)
    recipe = load_recipe(module.MODEL.id)
    expected = module.MODEL.local or f"worldenv.worlds.models.{name}:official"
    assert recipe.adapter == expected
    assert recipe.weights
    assert bool(recipe.repo) != bool(module.MODEL.local)

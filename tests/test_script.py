"""Every script against the published table, and every policy against its script."""

import dataclasses

import numpy as np
import pytest
import toy_world
from hypothesis import given, settings
from hypothesis import strategies as st

from worldenv.camera import yaw_pitch
from worldenv.case import Case, load_script, script_names
from worldenv.env import WorldEnv
from worldenv.policies import mbench, r2m, worldmembench
from worldenv.world import UnknownName, Unsupported, fit_path

DISTANCE = Case(id="mbench/object/001", options={"distance": 2.5})


def _sides(path):
    return {p: len(path.frames_of(p)) for p in dict.fromkeys(path.phases)}


@pytest.mark.parametrize(
    ("name", "sides", "revisits"),
    [
        ("worldmembench:lrlr", {"V": 61, "D1": 60, "R1": 60, "D2": 60, "R2": 60, "H": 60}, 2),
        ("worldmembench:lrlr(frames=481)", {"V": 61, "D1": 60, "R1": 60, "D2": 60, "R2": 60,
                                           "H": 180}, 2),
        ("worldmembench:lrlrlr", {"V": 61, "D1": 60, "R1": 60, "D2": 60, "R2": 60, "D3": 60,
                                  "R3": 60, "H": 60}, 3),
        ("worldmembench:lrud", {"V": 61, "D1": 60, "R1": 60, "D2": 60, "R2": 60, "H": 60}, 2),
        ("worldmembench:square", {"V": 61, "D1": 180, "R1": 60, "H": 60}, 1),
        ("worldmembench:dynamic", {"V": 61, "D1": 240, "R1": 120, "H": 60}, 1),
        ("mbench:exit_reenter", {"V": 31, "D1": 120, "R1": 60, "H": 30}, 1),
        ("r2m:out_and_back", {"V": 1, "D1": 240, "R1": 240}, 1),
        ("r2m:translation_rotation", {"V": 1, "D1": 69, "R1": 68, "D2": 69, "R2": 68, "D3": 69,
                                      "R3": 68, "D4": 69}, 3),
        ("r2m:closed_loop", {"V": 1, "D1": 360, "R1": 117, "H": 3}, 1),
    ],
)  # fmt: skip
def test_the_table(name, sides, revisits):
    path = load_script(name).path()
    assert _sides(path) == sides
    assert path.revisits == revisits
    assert path.fps == 16
    assert load_script(load_script(name).name).path() == path, "a script's name rebuilds it"


def test_what_the_legs_reach():
    def furthest(path):
        return abs(path.poses[:, :3, 3]).max(axis=0), abs(yaw_pitch(path.poses)).max(axis=0)

    moved, turned = furthest(worldmembench.lrud().path())
    assert moved.tolist() == [0, 0, 0] and turned == pytest.approx([60, 60])
    assert furthest(worldmembench.square().path())[0].tolist() == [2, 0, 2]
    assert furthest(r2m.closed_loop().path())[0].tolist() == [4, 0, 4]
    assert furthest(r2m.out_and_back().path())[0].tolist() == [7.2, 0, 0]
    assert furthest(mbench.exit_reenter().path())[1] == pytest.approx([90, 0])
    first = worldmembench.lrlr().path()
    assert yaw_pitch(first.poses[61:62])[0] == pytest.approx([-1, 0]), "left, 1 degree a frame"
    assert np.allclose(r2m.out_and_back().path().poses[1, :3, 3], [0.03, 0, 0])
    ends = yaw_pitch(r2m.translation_rotation().path().poses)
    assert ends[[137, 206, 274, 343, 411, 480], 0] == pytest.approx([0, -48, 0, 48, 0, -48])
    assert r2m.translation_rotation().path().poses[69, 2, 3] == 2.4


RETURNING = (
    "worldmembench:lrlr",
    "worldmembench:lrlrlr",
    "worldmembench:lrud",
    "worldmembench:dynamic",
    "mbench:exit_reenter",
    "mbench:exit_reenter(motion=dolly)",
    "mbench:exit_reenter(motion=strafe)",
    "r2m:out_and_back",
)


@pytest.mark.parametrize("name", RETURNING)
def test_returns_are_bit_equal(name):
    path = load_script(name).path(case=DISTANCE)
    for k in range(1, path.revisits + 1):
        out, back = path.frames_of(f"D{k}"), path.frames_of(f"R{k}")
        before = out[0] - 1
        outgoing = np.concatenate([[before], out])[: len(back)]
        assert path.poses[back[::-1]].tobytes() == path.poses[outgoing].tobytes()
        assert path.poses[back[-1]].tobytes() == path.poses[0].tobytes()


@given(st.floats(0.1, 179), st.integers(1, 90), st.integers(0, 20))
def test_returns_are_bit_equal_at_any_angle(angle, leg, hold):
    path = worldmembench.lrlr(hold=hold, leg=leg, angle=angle).path()
    out, back = path.poses[hold : hold + leg + 1], path.poses[hold + leg : hold + 2 * leg + 1]
    assert out.tobytes() == back[::-1].tobytes()


def test_short_versions_and_lengths():
    path = worldmembench.lrlr(hold=16, leg=16).path()
    assert len(path) == 97
    assert yaw_pitch(path.poses[17:18])[0, 0] == pytest.approx(-3.75)
    with pytest.raises(Unsupported, match="cannot be cut"):
        worldmembench.lrlr(frames=100)
    with pytest.raises(Unsupported, match="frames"):
        worldmembench.lrlr(leg=0)


def test_distances_come_from_the_case():
    strafe = mbench.exit_reenter(motion="strafe")
    assert strafe.path(case=DISTANCE).poses[90, 0, 3] == 2.5
    assert mbench.exit_reenter("dolly", distance=3).path(case=DISTANCE).poses[90, 2, 3] == 3
    with pytest.raises(Unsupported, match="distance"):
        strafe.path()
    with pytest.raises(Unsupported, match="motion"):
        mbench.exit_reenter(motion="zoom")


def test_script_names_are_checked():
    with pytest.raises(UnknownName, match="worldmembench:lrlr"):
        load_script("worldmembench:lrl")
    with pytest.raises(UnknownName, match="hold"):
        load_script("worldmembench:lrlr(holt=3)")
    with pytest.raises(Unsupported, match="hold must be a whole number"):
        load_script("worldmembench:lrlr(hold=long)")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: worldmembench.lrlr(hold="x"), "hold must be a whole number from 0"),
        (lambda: worldmembench.lrlr(hold=True), "hold must be a whole number"),
        (lambda: worldmembench.lrlr(hold=-1), "hold must be a whole number"),
        (lambda: worldmembench.lrud(leg=3.5), "leg must be a whole number"),
        (lambda: worldmembench.lrlrlr(angle="x"), "angle must be a number"),
        (lambda: worldmembench.lrud(angle=120), "pitch to 120 degrees"),
        (lambda: worldmembench.square(side=np.inf), "side must be a number"),
        (lambda: worldmembench.dynamic(frames="x"), "frames must be a whole number"),
        (lambda: worldmembench.dynamic(leg=60_000), "at most 100000"),
        (lambda: load_script("worldmembench:lrlr(angle=nan)"), "angle must be a number"),
        (lambda: load_script("worldmembench:lrlr(hold=99999999)"), "hold must be a whole number"),
        (lambda: load_script("worldmembench:lrlr(frames=99999999)"), "frames must be a whole"),
        (lambda: r2m.out_and_back(distance="x"), "distance must be a number"),
        (lambda: r2m.translation_rotation(frames="x"), "frames must be a whole number"),
        (lambda: r2m.closed_loop(leg=40_000), "at most 100000"),
        (lambda: mbench.exit_reenter("strafe", distance=-1), "distance must be a number from"),
        (lambda: mbench.exit_reenter("dolly", distance=0), "distance must be a number from"),
        (lambda: mbench.exit_reenter(leg="x"), "leg must be a whole number"),
        (lambda: mbench.exit_reenter("strafe", wait=99_999), "at most 100000"),
        (
            lambda: mbench.exit_reenter("strafe").path(
                case=Case(id="mbench/object/002", options={"distance": "far"})
            ),
            "distance must be a number from",
        ),
        (lambda: mbench.continuation(segments=0), "at least 1 segment"),
        (lambda: mbench.continuation(seconds=-1), "seconds must be a number"),
        (lambda: mbench.continuation(segments=1000, seconds=1000).path(), "at most 100000"),
    ],
)
def test_numbers_without_sense_are_refused(build, message):
    with pytest.raises(Unsupported, match=message) as caught:
        build()
    assert "\n" not in str(caught.value)


def test_numpy_numbers_are_numbers():
    script = worldmembench.lrlr(hold=np.int64(4), leg=np.int32(3), angle=np.float32(6))
    assert script.name == "worldmembench:lrlr(hold=4,leg=3,angle=6.0)"
    assert load_script(script.name).path() == script.path()


def test_continuation_gives_a_prompt_a_segment():
    script = mbench.continuation(seconds=1)
    spec = toy_world.make(fps=10).spec
    assert len(script.path(spec)) == 51
    case = Case(id="mbench/text/001", prompts=tuple("abcde"))
    prompts = script.prompts(spec, case)
    assert [frame for frame, _ in prompts] == [0, 11, 21, 31, 41]
    assert [text[-1] for _, text in prompts] == list("abcde")
    with pytest.raises(Unsupported, match="5 prompts"):
        script.prompts(spec, Case(id="mbench/text/002", prompts=("a", "b")))
    world = toy_world.make(size=(8, 8), chunk=5, prompt="chunk", fps=10)
    env = WorldEnv(world, control="plan", script=script, case=case)
    env.reset(seed=0)
    for _ in range(10):
        env.step(0)
    assert [p[-1] for p in world.prompts] == list("aabbccddee")


def _walk_with_policy(env, policy):
    """Return the commanded poses (n, 4, 4) of an episode, the first of them on reset."""
    observation, _ = env.reset(seed=1)
    poses, state, truncated = [env.chunk.poses], None, False
    while not truncated:
        action, state = policy.predict(observation, state)
        assert env.action_space.contains(action) or env.control in ("plan", "primitive")
        observation, _, _, truncated, _ = env.step(action)
        poses.append(env.chunk.poses)
    return np.concatenate(poses)


SHORT = {
    "worldmembench:lrlr": {"hold": 6, "leg": 12, "angle": 24.0},
    "worldmembench:lrlrlr": {"hold": 6, "leg": 12, "angle": 24.0},
    "worldmembench:lrud": {"hold": 6, "leg": 12, "angle": 24.0},
    "worldmembench:square": {"hold": 6, "leg": 12, "side": 0.9},
    "worldmembench:dynamic": {"hold": 6, "leg": 10, "away": 8, "angle": 20.0},
    "mbench:exit_reenter": {"hold": 5, "leg": 12, "wait": 7, "angle": 30.0},
    "mbench:continuation": {"seconds": 1.5},
    "r2m:out_and_back": {"leg": 16, "distance": 1.0},
    "r2m:translation_rotation": {"frames": 71, "distance": 0.5, "angle": 20.0},
    "r2m:closed_loop": {"leg": 12, "side": 1.0},
}


@pytest.mark.parametrize("name", script_names())
@pytest.mark.parametrize("chunks", [(1, 1), (4, 3), (2, 5)])
@pytest.mark.parametrize("control", ["plan", "primitive", "twist", "path"])
def test_policies_walk_their_script(name, chunks, control):
    script = load_script(name, **SHORT[name])
    chunk, first = chunks
    world = toy_world.make(size=(8, 8), chunk=chunk, first_chunk=first)
    if control == "primitive" and "continuation" in name:
        with pytest.raises(Unsupported, match="text"):
            script.policy(world.spec, control)
        return
    env = WorldEnv(world, control=control, script=script)
    walked = _walk_with_policy(env, script.policy(world.spec, control))
    target = env.path.poses
    assert len(walked) == len(target)
    if control == "plan":
        assert walked.tobytes() == target.tobytes()
    elif control == "twist" and chunk > 1:
        ends = [0, *range(first, len(target), chunk)]
        assert np.allclose(walked[ends], target[ends], atol=1e-6)
    else:
        # Primitive targets are made of whole chunks of quanta, so they too are met on each frame.
        assert np.allclose(walked, target, atol=1e-6 if control != "primitive" else 1e-9)


@settings(max_examples=15, deadline=None)
@given(
    chunk=st.integers(1, 6),
    first=st.integers(1, 6),
    given_frames=st.integers(1, 9),
    quantum=st.sampled_from([0.5, 1.0, 1.7, 3.0]),
)
def test_primitive_scripts_land_within_a_quantum(chunk, first, given_frames, quantum):
    turns = {n: quantum for n in ("YAW_LEFT", "YAW_RIGHT", "PITCH_UP", "PITCH_DOWN")}
    world = toy_world.make(
        size=(4, 4), chunk=chunk, first_chunk=first, reset_frames=given_frames, quantum=turns
    )
    script = worldmembench.lrud()
    env = WorldEnv(world, control="primitive", script=script, max_frames=10_000)
    walked = _walk_with_policy(env, script.policy(world.spec, "primitive"))
    assert np.allclose(walked[: len(env.path)], env.path.poses, atol=1e-9)
    furthest = abs(yaw_pitch(walked)).max(axis=0)
    assert abs(furthest - 60).max() <= quantum * chunk / 2 + 1e-9
    assert env.path.poses[env.path.frames_of("R2")[-1]].tobytes() == np.eye(4).tobytes()
    exact = abs(60 / quantum / chunk - round(60 / quantum / chunk)) < 1e-9
    assert exact or any("degrees from" in note for note in env.path.notes)


def test_discrete_worlds_get_their_own_number_of_frames():
    spec = toy_world.make(discrete=True, quantum={"YAW_LEFT": 7.0, "YAW_RIGHT": 7.0}).spec
    path = worldmembench.lrlr().path(spec)
    assert len(path.frames_of("D1")) == 9
    assert yaw_pitch(path.poses)[:, 0].min() == pytest.approx(-63)
    assert "3 degrees from -60" in path.notes[0]
    assert worldmembench.lrlr().path(toy_world.make().spec).notes == ()
    lacking = dataclasses.replace(spec, primitives=("STAY", "FORWARD"))
    with pytest.raises(Unsupported, match="YAW_LEFT"):
        worldmembench.lrlr().path(lacking)


def test_limits_are_refused_with_a_reason():
    with pytest.raises(Unsupported, match="stops at 45"):
        worldmembench.lrud().path(toy_world.make(pitch_limit=45.0).spec)
    fast = worldmembench.lrlr(hold=16, leg=16)
    with pytest.raises(Unsupported, match=r"3\.75 degrees a frame"):
        fast.policy(toy_world.make().spec, "twist")
    with pytest.raises(Unsupported, match="prompt"):
        fast.policy(toy_world.make().spec, "prompt")


def test_vectorised_policies_keep_a_count_for_each():
    spec = toy_world.make().spec
    policy = worldmembench.lrlr(hold=0, leg=3, angle=3).policy(spec, "primitive")
    batch = np.zeros((2, 24, 32, 3), np.uint8)
    left, right = (spec.primitives.index(n) for n in ("YAW_LEFT", "YAW_RIGHT"))
    state, played = None, []
    for start in ([True, True], [False, False], [False, True], [False, False]):
        action, state = policy.predict(batch, state, np.array(start))
        played.append(action.tolist())
    assert played == [[left, left], [left, left], [left, left], [right, left]]
    single, state = policy.predict(batch[0], None)
    assert single.shape == () and state == 1
    late, _ = policy.predict(batch[0], 1000)
    assert late == spec.primitives.index("STAY")


def test_paths_are_fitted_to_whole_chunks():
    spec = toy_world.make(chunk=16, first_chunk=12, reset_frames=9).spec
    target = r2m.out_and_back().path(spec)
    path = fit_path(target, spec)
    assert path.phases[:8] == (None,) * 8 and path.phases[8] == "V"
    assert np.array_equal(path.poses[:9], np.tile(np.eye(4), (9, 1, 1)))
    assert (len(path) - 9 - 12) % 16 == 0
    assert path.phases[8 + 481 :] == (None,) * (len(path) - 489)
    assert fit_path(path, spec, 9) is path
    held = worldmembench.lrlr().path(spec)
    assert fit_path(held, spec).phases[0] == "V", "a hold that is long enough needs no prefix"

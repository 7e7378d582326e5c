"""WorldEnv: spaces, control modes, chunking, seeding, rendering, and Gymnasium's own checks."""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
import toy_world
from gymnasium.utils.env_checker import check_env, data_equivalence

import worldenv
from worldenv.camera import CameraPath, Primitive, walk, yaw_pitch
from worldenv.case import Case
from worldenv.env import InvalidAction, InvalidOption, ResetNeeded, WorldEnv, make_world_env
from worldenv.policies import worldmembench
from worldenv.viewer import why_not
from worldenv.world import Chunk, GenerationFailed, PlanRequired, UnknownName, Unsupported

SHORT = worldmembench.lrlr(hold=4, leg=6, angle=12)
NAME = "worldmembench:lrlr(hold=4,leg=6,angle=12)"

gym.register(
    "Toy-v0", entry_point="worldenv.env:make_world_env", kwargs={"world": "toy_world:make"}
)


@pytest.fixture
def env():
    made = WorldEnv(toy_world.make())
    yield made
    made.close()


@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize("control", ["plan", "primitive", "twist", "path", "prompt"])
def test_gymnasium_accepts_it(control):
    options = {"prompt": "chunk"} if control == "prompt" else {}
    env = gym.make(
        "Toy-v0", control=control, script=NAME, chunk=2, first_chunk=3, render_mode="rgb_array",
        **options,
    )  # fmt: skip
    check_env(env.unwrapped)


@pytest.mark.parametrize("control", ["plan", "primitive", "twist"])
def test_stable_baselines_accepts_it(control):
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(make_world_env("toy_world:make", control=control, script=NAME, size=(48, 40)))


def test_first_frames_and_info(env):
    observation, info = env.reset(seed=3)
    assert observation.shape == (24, 32, 3) and observation.dtype == np.uint8
    assert info["t"] == 0 and info["n"] == 1 and info["phase"] is None
    assert np.array_equal(info["pose"], np.eye(4))
    assert isinstance(info["chunk"], Chunk)
    observation, reward, terminated, truncated, info = env.step(Primitive.YAW_RIGHT)
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert type(terminated) is bool and type(truncated) is bool
    assert info["t"] == env.t == 1
    assert yaw_pitch(info["pose"][None])[0] == pytest.approx([1, 0])
    assert np.array_equal(observation, info["chunk"].frames[-1])
    lean = WorldEnv(toy_world.make(), chunk_in_info=False)
    assert set(lean.reset(seed=0)[1]) == {"t", "n", "phase", "pose"}


def test_equal_seeds_give_equal_episodes():
    def episode(seed):
        env = WorldEnv(toy_world.make(chunk=3))
        out = [env.reset(seed=seed)] + [env.step(a)[::4] for a in (1, 5, 7)]
        return [(o, i) for o, i in out], env

    first, env = episode(5)
    assert data_equivalence(first, episode(5)[0])
    assert not data_equivalence(first, episode(6)[0])
    assert env.episode_seed == 5
    env.reset()
    second = env.episode_seed
    env.reset(seed=5)
    env.reset()
    assert env.episode_seed == second != 5, "unseeded resets go on from the last seed"


def test_chunks_and_padding():
    world = toy_world.make(chunk=4, first_chunk=3)
    env = WorldEnv(world, control="plan", script=SHORT)
    _, info = env.reset(seed=0)
    sizes, phases, poses = [info["n"]], [info["phase"]], [info["chunk"].poses]
    truncated = False
    while not truncated:
        _, _, terminated, truncated, info = env.step(0)
        assert terminated is False
        sizes.append(info["n"])
        phases.append(info["phase"])
        poses.append(info["chunk"].poses)
    assert sizes == [1, 3, *[4] * 8]
    assert phases[0] == "V" and phases[-1] is None, "padding has no phase"
    assert env.script == NAME and env.t == 35
    target = SHORT.path(world.spec)
    walked = np.concatenate(poses)
    assert walked[:33].tobytes() == target.poses.tobytes()
    assert np.array_equal(walked[33:], target.poses[-1:].repeat(3, 0))
    assert env.path.phases[33:] == (None,) * 3
    assert world.plan is env.path
    with pytest.raises(ResetNeeded, match="reset"):
        env.step(0)


def test_text_worlds_are_held_until_their_frames_are_given():
    world = toy_world.make(chunk=4, reset_frames=9)
    env = WorldEnv(world, control="plan", script=SHORT)
    _, info = env.reset(seed=0)
    assert info["n"] == 9 and info["phase"] == "V" and env.path.phases[:4] == (None,) * 4
    env.step(0)
    assert yaw_pitch(env.chunk.poses)[:, 0] == pytest.approx([-2, -4, -6, -8])


def test_a_reset_of_unforeseen_length():
    class Longer(toy_world.ToyWorld):
        def reset(self, start, *, seed, plan):
            super().reset(start, seed=seed, plan=plan)
            return self._render(np.tile(np.eye(4), (7, 1, 1)))

    env = WorldEnv(Longer(toy_world.make().spec), control="plan", script=SHORT)
    env.reset(seed=0)
    assert env.path.phases[:3] == (None, None, "V") and env.t == 6
    env = WorldEnv(Longer(toy_world.make(drive="plan").spec), script=SHORT)
    with pytest.raises(GenerationFailed, match="reset_frames"):
        env.reset(seed=0)


def test_plan_worlds_need_a_plan():
    env = WorldEnv(toy_world.make(drive="plan"))
    assert env.control == "plan" and env.action_space == gym.spaces.Discrete(1)
    with pytest.raises(PlanRequired, match="script="):
        env.reset(seed=0)
    with pytest.raises(ResetNeeded):
        env.step(0)
    env.reset(seed=0, options={"script": NAME})
    assert env.world.plan == env.path
    with pytest.raises(Unsupported, match="control='plan'"):
        WorldEnv(toy_world.make(drive="plan"), control="twist")


def test_plans_come_in_several_forms(env):
    poses = walk(np.zeros((5, 3)), np.arange(5.0), np.zeros(5))
    plan = CameraPath(poses, fps=16)
    seen = []
    for form in (plan, poses, plan.to_dict()):
        env = WorldEnv(toy_world.make(), control="plan", plan=form)
        env.reset(seed=0)
        while not env.step(0)[3]:
            pass
        seen.append((env.t, env.script, env.path))
    assert seen[0] == seen[1] == seen[2] == (4, None, plan)
    other = WorldEnv(toy_world.make(fps=8), control="plan", plan=plan)
    other.reset(seed=0)
    assert other.path.fps == 8 and "16 frames a second" in other.path.notes[0]


def test_a_script_in_other_controls_gives_target_and_phases_only():
    env = WorldEnv(toy_world.make(), control="twist", script=SHORT)
    env.reset(seed=0)
    assert env.world.plan is None, "the actions decide the motion"
    _, _, _, _, info = env.step(np.array([0, 1, 0, 0, 0, 0], np.float32))
    assert info["phase"] == "V"
    assert yaw_pitch(info["pose"][None])[0, 0] == pytest.approx(3)
    steps = 1
    while not env.step(np.zeros(6, np.float32))[3]:
        steps += 1
    assert steps + 2 == len(SHORT.path())


def test_truncation_after_max_frames():
    with pytest.warns(UserWarning, match="raise max_frames"):
        WorldEnv(toy_world.make(), script=NAME, max_frames=10).reset(seed=0)
    env = WorldEnv(toy_world.make(chunk=4), max_frames=10)
    env.reset(seed=0)
    assert [env.step(0)[3] for _ in range(3)] == [False, False, True]
    assert env.t == 12, "the last chunk is whole"
    endless = WorldEnv(toy_world.make(chunk=200), max_frames=None)
    endless.reset(seed=0)
    assert not any(endless.step(0)[3] for _ in range(4))
    text = WorldEnv(toy_world.make(reset_frames=9), control="plan", script=SHORT, max_frames=33)
    text.reset(seed=0)
    while not text.step(0)[3]:
        pass
    assert text.t == 36, "held frames do not shorten the plan"


def test_primitives_hold_for_the_chunk_and_walk_level():
    env = WorldEnv(toy_world.make(chunk=5, pitch_limit=12.0))
    env.reset(seed=0)
    env.step(Primitive.PITCH_UP)
    assert yaw_pitch(env.chunk.poses)[:, 1] == pytest.approx([1, 2, 3, 4, 5])
    for _ in range(2):
        env.step(Primitive.PITCH_UP)
    assert yaw_pitch(env.chunk.poses)[:, 1] == pytest.approx([11, 12, 12, 12, 12])
    for _ in range(18):
        env.step(Primitive.YAW_RIGHT)
    env.step(Primitive.FORWARD)
    assert env.chunk.poses[-1, :3, 3] == pytest.approx([5 / 30, 0, 0], abs=1e-9)
    env.step(Primitive.RIGHT)
    assert env.chunk.poses[-1, :3, 3] == pytest.approx([5 / 30, 0, -5 / 30], abs=1e-9)
    assert yaw_pitch(env.chunk.poses[-1:])[0] == pytest.approx([90, 12])


def test_fewer_primitives_make_a_smaller_space():
    env = WorldEnv(toy_world.make(primitives=("STAY", "FORWARD", "YAW_RIGHT")))
    assert env.action_space.n == 3
    env.reset(seed=0)
    env.step(2)
    assert yaw_pitch(env.chunk.poses)[0, 0] == pytest.approx(1)


def test_twists_and_paths_compose():
    world = toy_world.make(chunk=2, first_chunk=3, max_twist=(2, 4, 2, 0.1, 0.1, 0.2))
    env = WorldEnv(world, control="path")
    assert env.action_space.shape == (3, 6)
    env.reset(seed=0)
    rows = np.zeros((3, 6), np.float32)
    rows[:, 1], rows[:, 5] = 0.5, 1
    env.step(rows)
    assert yaw_pitch(env.chunk.poses)[:, 0] == pytest.approx([2, 4, 6], abs=1e-5)
    assert env.chunk.poses[0, :3, 3] == pytest.approx([0, 0, 0.2])
    env.step(rows)
    assert len(env.chunk.poses) == 2, "a shorter chunk uses the first rows"
    twist = WorldEnv(toy_world.make(chunk=4, pitch_limit=5.0), control="twist")
    twist.reset(seed=0)
    twist.step(np.array([1, 0, 0, 0, 0, 0], np.float32))
    assert yaw_pitch(twist.chunk.poses)[:, 1] == pytest.approx([3, 3, 3, 3])


def test_prompts_go_to_the_world():
    world = toy_world.make(chunk=2, prompt="chunk")
    env = WorldEnv(world, control="prompt")
    env.reset(seed=0)
    env.step("a ball rolls in")
    assert world.prompts == ["a ball rolls in"]
    assert np.array_equal(world.asked[0], np.tile(np.eye(4), (2, 1, 1)))
    with pytest.raises(InvalidAction, match="text"):
        env.step(3)
    with pytest.raises(Unsupported, match="prompt"):
        WorldEnv(toy_world.make(), control="prompt")


@pytest.mark.parametrize("action", [9, -1, 1.5, "left", None, [1, 2]])
def test_wrong_primitives_are_refused(env, action):
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match="whole number from 0 to 8"):
        env.step(action)
    assert env.t == 0 and not env.step(np.int64(1))[3], "the episode goes on"


@pytest.mark.parametrize("action", [np.zeros(5), np.full(6, 1.1), np.full(6, np.nan), 3, "x", None])
def test_wrong_twists_are_refused(action):
    env = WorldEnv(toy_world.make(), control="twist")
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match="expected"):
        env.step(action)


def test_wrong_keywords_are_refused(env):
    def refuse(error, match, **keywords):
        with pytest.raises(error, match=match):
            WorldEnv(toy_world.make(), **keywords)

    refuse(UnknownName, "primitive", control="primitives")
    refuse(UnknownName, "rgb_array", render_mode="rgb")
    refuse(UnknownName, "lrlr", script="worldmembench:lrrl")
    refuse(InvalidOption, "max_frames", max_frames=0)
    refuse(InvalidOption, "cases", cases=[])
    refuse(InvalidOption, "not both", script=NAME, plan=np.eye(4)[None])
    refuse(InvalidOption, "not both", case=Case(id="a/b/c"), cases=[Case(id="a/b/c")])
    refuse(InvalidOption, "plan must be", plan=7)
    refuse(InvalidOption, "Case", case=7)
    refuse(UnknownName, "control '5'", control=5)
    refuse(InvalidOption, "cases must be a list", cases=5)
    refuse(InvalidOption, "cases must be a list", cases={"a": 1})
    refuse(InvalidOption, "expected a Case", cases=[5])
    refuse(InvalidOption, "chunk_in_info", chunk_in_info="no")
    refuse(Unsupported, "angle", script="worldmembench:lrlr(angle=nan)")
    refuse(Unsupported, "hold", script="worldmembench:lrlr(hold=99999999)")
    with pytest.raises(UnknownName, match="script"):
        env.reset(options={"scirpt": NAME})
    with pytest.raises(InvalidOption, match="not both"):
        env.reset(options={"script": NAME, "plan": np.eye(4)[None]})
    with pytest.raises(ResetNeeded):
        _ = env.chunk


@pytest.mark.parametrize("seed", [-1, "x", 1.5, True, [1]])
def test_wrong_seeds_are_refused(env, seed):
    with pytest.raises(InvalidOption, match="seed must be None or a whole number"):
        env.reset(seed=seed)
    with pytest.raises(ResetNeeded):
        env.step(0)


def test_seeds_of_numpy_are_seeds(env):
    env.reset(seed=np.int64(7))
    first = env.np_random.integers(1000)
    env.reset(seed=7)
    assert first == env.np_random.integers(1000)
    assert env.episode_seed == 7 and type(env.episode_seed) is int


@pytest.mark.parametrize("options", [5, "x", [], ["script"]])
def test_reset_options_are_a_dict(env, options):
    with pytest.raises(InvalidOption, match="options must be None or a dict"):
        env.reset(options=options)


def test_cases_are_drawn_by_the_seed():
    cases = [Case(id=f"toy/object/{i:03d}") for i in range(20)]
    env = WorldEnv(toy_world.make(), cases=cases)

    def drawn(seed):
        env.reset(seed=seed)
        ids = [env.case.id]
        for _ in range(4):
            env.reset()
            ids.append(env.case.id)
        return ids

    assert drawn(1) == drawn(1) != drawn(2)
    assert len(set(drawn(1) + drawn(2))) > 3
    env.reset(options={"case": cases[7], "script": NAME})
    assert env.case is cases[7] and env.script == NAME
    env.reset(seed=1)
    assert env.script is None, "reset options hold for one episode"


def test_states_that_a_world_hands_out_again_are_copied():
    class Sharing(toy_world.ToyWorld):
        state = ({"instances": {1: {"pose": np.eye(4).tolist()}}, "event": None},)

        def _render(self, poses):
            chunk = super()._render(poses)
            return chunk._replace(truth={**chunk.truth, "state": self.state * len(poses)})

    env = WorldEnv(Sharing(toy_world.make(chunk=2).spec))
    check_env(env)
    env.reset(seed=0)
    env.step(0)
    states = env.chunk.truth["state"]
    assert states == Sharing.state * 2 and states[0] is not Sharing.state[0]


def test_bad_chunks_are_refused():
    class Broken(toy_world.ToyWorld):
        def step(self, poses, prompt=None):
            chunk = super().step(poses, prompt)
            return chunk._replace(frames=chunk.frames.astype(np.float32))

    env = WorldEnv(Broken(toy_world.make().spec))
    env.reset(seed=0)
    with pytest.raises(GenerationFailed, match="float32"):
        env.step(0)


def test_rendering(monkeypatch):
    env = WorldEnv(toy_world.make(), render_mode="rgb_array")
    observation, _ = env.reset(seed=0)
    assert np.array_equal(env.render(), observation)
    assert env.metadata["render_fps"] == 16
    monkeypatch.delenv("DISPLAY", raising=False)
    assert "display" in why_not()
    assert WorldEnv(toy_world.make()).metadata["render_modes"] == ["rgb_array"]
    with pytest.raises(Unsupported, match="rgb_array"):
        WorldEnv(toy_world.make(), render_mode="human")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(Unsupported, match=r"pip install 'worldenv\[view\]'"):
        WorldEnv(toy_world.make(), render_mode="human")


@pytest.mark.skipif(why_not() is not None, reason="needs tkinter, Pillow and a display")
def test_a_window_opens():
    env = gym.make("Toy-v0", render_mode="human", fps=100, chunk=3)
    assert "human" in env.unwrapped.metadata["render_modes"]
    env.reset(seed=0)
    env.step(1)
    assert env.render() is None
    check_env(env.unwrapped)
    env.close()
    env.close()


def test_close_twice(env):
    env.close()
    env.close()
    assert env.world.closed == 2


def test_wrappers_of_gymnasium():
    from gymnasium import wrappers

    env = gym.make("Toy-v0", chunk=3)
    env = wrappers.TimeLimit(env, 5)
    env = wrappers.RecordEpisodeStatistics(env)
    env = wrappers.ResizeObservation(env, (16, 16))
    env = wrappers.FrameStackObservation(env, 4)
    env.reset(seed=0)
    for _ in range(5):
        observation, _, _, truncated, info = env.step(env.action_space.sample())
    assert observation.shape == (4, 16, 16, 3)
    assert truncated and info["episode"]["l"] == 5 and info["t"] == 15
    assert env.get_wrapper_attr("chunk").frames.shape == (3, 24, 32, 3)
    assert env.get_wrapper_attr("path") is None
    env.close()


@pytest.mark.parametrize("mode", ["sync", "fork", "spawn"])
def test_vector_environments(mode):
    kwargs = {} if mode == "sync" else {"context": mode}
    envs = gym.make_vec(
        "Toy-v0", num_envs=2, vectorization_mode="sync" if mode == "sync" else "async",
        vector_kwargs=kwargs, chunk=2, max_frames=60, script=NAME,
    )  # fmt: skip
    observations, info = envs.reset(seed=[1, 2])
    assert observations.shape == (2, 24, 32, 3)
    assert info["phase"].tolist() == ["V", "V"]
    assert [isinstance(c, Chunk) for c in info["chunk"]] == [True, True]
    assert not np.array_equal(*observations)
    for _ in range(4):
        observations, _, _, _, info = envs.step(np.array([1, 5]))
    assert info["t"].shape == (2,)
    envs.close()


def test_ids_and_names():
    assert "Reference-v0" in gym.registry
    with pytest.raises(gym.error.NameNotFound, match="Reference"):
        gym.make("worldenv:Referense-v0")
    with pytest.raises(UnknownName, match="Did you mean 'Reference-v0'"):
        worldenv.load_world("Referense-v0")
    with pytest.raises(UnknownName, match="Reference-v0"):
        worldenv.load_world("Reference-v7")
    with pytest.raises(worldenv.InvalidWorld, match="no module"):
        worldenv.load_world("nowhere.at_all:make")
    with pytest.raises(UnknownName, match="make"):
        worldenv.load_world("toy_world:made")
    with pytest.raises(worldenv.InvalidWorld, match="expected a World"):
        worldenv.load_world("collections:OrderedDict")


def test_worlds_from_files(tmp_path):
    file = tmp_path / "my model.py"
    file.write_text(
        "import toy_world\ndef make(chunk=2):\n    return toy_world.make(chunk=chunk)\n"
    )
    assert worldenv.load_world(f"{file}:make").spec.chunk == 2
    assert make_world_env(str(file), chunk=5, control="twist").world_spec.chunk == 5
    with pytest.raises(UnknownName, match="chunk"):
        make_world_env(f"{file}:make", chunks=5)
    with pytest.raises(worldenv.InvalidWorld, match="no file"):
        worldenv.load_world(f"{tmp_path}/other.py:make")
    broken = tmp_path / "broken.py"
    broken.write_text("1 / 0")
    with pytest.raises(worldenv.InvalidWorld, match="ZeroDivisionError"):
        worldenv.load_world(f"{broken}:make")


def test_the_id_form_imports_the_package():
    code = "import gymnasium as gym; gym.make('worldenv:Reference-v0', world='toy_world:make')"
    subprocess.run([sys.executable, "-c", code], check=True, cwd="tests")


@pytest.mark.slow
def test_the_reference_world_passes():
    scene = Case(id="env/interior/000", scene={"family": "interior", "seed": 0})
    env = gym.make("Reference-v0", size=(64, 64), case=scene, max_frames=20)
    check_env(env.unwrapped)
    observation, info = env.reset(seed=0)
    assert observation.shape == (64, 64, 3) and info["chunk"].truth["depth"].dtype == np.float32
    env.close()

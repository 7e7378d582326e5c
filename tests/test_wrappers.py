"""RecordRollout and ScoreMemory: what they add, what they leave, and offline = online."""

import pickle

import gymnasium as gym
import numpy as np
import pytest
import toy_world

from worldenv.case import Case, Target
from worldenv.env import InvalidOption, ResetNeeded, WorldEnv
from worldenv.evaluators.engine import build_engine
from worldenv.evaluators.score import Score
from worldenv.policies import mbench, r2m, worldmembench
from worldenv.rollout import Rollout, StorageError
from worldenv.world import PlanRequired, UnknownName
from worldenv.wrappers import RecordRollout, ScoreMemory

LOOP = r2m.out_and_back(distance=1.0, leg=40)
CASE = Case(id="toy/object/001", category="object", targets=(Target("wall", "wall", 1),))


def _env(script=LOOP, case=None, **options):
    world = toy_world.make(size=(64, 64), **options)
    return WorldEnv(world, control="plan", script=script, case=case)


def _finish(env, seed=3):
    """Walk to the end and return (all Scores that came on the way, the last info)."""
    _, info = env.reset(seed=seed)
    scores, truncated = list(info.get("memory", ())), False
    while not truncated:
        _, _, _, truncated, info = env.step(0)
        assert "memory" not in info or (info["memory"] and type(info["memory"]) is tuple)
        scores += info.get("memory", ())
    return scores, info


def test_scores_come_while_the_episode_runs():
    env = ScoreMemory(_env(chunk=4))
    with pytest.raises(ResetNeeded):
        _ = env.engine
    scores, info = _finish(env)
    summary = info["memory_summary"]
    assert scores and all(isinstance(s, Score) for s in scores)
    assert {s.benchmark for s in summary.scores} == {"r2m"}
    assert [s for s in summary.scores if s in scores]
    assert not summary.aborted and pickle.loads(pickle.dumps(summary)) == summary
    with pytest.raises(AttributeError):
        summary.scores = ()


@pytest.mark.parametrize(
    ("script", "case", "chunk"),
    [
        (LOOP, None, 1),
        (worldmembench.lrlr(hold=8, leg=8, angle=40), CASE, 5),
        (mbench.continuation(segments=3, seconds=1.0), CASE, 6),
    ],
)
def test_offline_equals_online(tmp_path, script, case, chunk):
    env = RecordRollout(ScoreMemory(_env(script, case, chunk=chunk)), tmp_path / "walk")
    online, info = _finish(env)
    rollout = Rollout.load(info["rollout"])
    options = {script.name.split(":")[0]: {}}
    engine = build_engine(
        rollout.target, benchmarks=options, case=rollout.case, spec=rollout.spec,
        K=rollout.K, K_exactness=rollout.K_exactness, seed=rollout.seed, truth=rollout.truth.keys,
        script=rollout.script,
    )  # fmt: skip
    offline = [score for chunk in rollout.chunks() for score in engine.observe(chunk)]
    assert offline == online and len(online) > 0
    assert engine.finish() == info["memory_summary"]
    kept = {k: set(np.flatnonzero(rollout.truth.recorded(k))) for k in ("depth", "ids")}
    assert kept == {k: set(engine.wanted_truth.get(k, ())) for k in kept}


def test_free_walks_and_unknown_names_are_refused():
    with pytest.raises(PlanRequired, match="ProbeReward"):
        ScoreMemory(WorldEnv(toy_world.make())).reset(seed=0)
    with pytest.raises(UnknownName, match="r2m"):
        ScoreMemory(_env(), benchmarks=["r3m"]).reset(seed=0)
    with pytest.raises(UnknownName, match="classic"):
        ScoreMemory(_env(), profile="classical").reset(seed=0)
    for wrapper in (ScoreMemory, lambda env: RecordRollout(env, "never")):
        with pytest.raises(InvalidOption, match="WorldEnv"):
            wrapper(gym.make("CartPole-v1"))


def test_recording_keeps_everything_without_a_scorer(tmp_path):
    env = RecordRollout(_env(worldmembench.lrlr(hold=2, leg=3, angle=3)), tmp_path / "walk")
    frames = [env.reset(seed=0)[0]]
    while True:
        observation, _, _, truncated, info = env.step(0)
        frames.append(observation)
        if truncated:
            break
    assert info["rollout"] == str(tmp_path / "walk") and env.rollout == tmp_path / "walk"
    rollout = Rollout.load(env.rollout)
    assert np.array_equal(rollout.frames(), np.stack(frames))
    assert rollout.truth.recorded("depth").all() and rollout.seed == 0
    assert len(rollout.wall_times) == len(frames)
    _finish(env)
    assert Rollout.load(tmp_path / "walk-1").digest != rollout.digest
    with pytest.raises(StorageError, match="exists already"):
        RecordRollout(_env(), tmp_path / "walk")


def test_an_unfinished_episode_leaves_nothing(tmp_path):
    env = RecordRollout(_env(), tmp_path / "walk")
    for _ in range(2):
        env.reset(seed=0)
        env.step(0)
    env.close()
    env.close()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidOption, match="truth_frames"):
        RecordRollout(_env(), tmp_path / "walk", truth_frames="some")


def test_through_gym_make(tmp_path):
    name = "worldmembench:lrlr(hold=2,leg=4,angle=8)"
    env = gym.make(
        "worldenv:Reference-v0", world="toy_world:make", control="plan", script=name, size=(64, 64)
    )
    env = RecordRollout(ScoreMemory(env), tmp_path / "walk")
    _, info = _finish(env)
    rollout = Rollout.load(info["rollout"])
    assert rollout.options == {"size": [64, 64]} and rollout.script == name
    assert info["memory_summary"].scores


def test_a_limit_from_outside_ends_the_record_too(tmp_path):
    env = gym.wrappers.TimeLimit(_env(), 5)
    env = RecordRollout(ScoreMemory(env), tmp_path / "walk")
    _, info = _finish(env)
    rollout = Rollout.load(info["rollout"])
    assert len(rollout) == 6 and len(rollout.target) == 82 - 1
    assert info["memory_summary"].aborted


def test_vector_environments_keep_tuples():
    envs = gym.vector.SyncVectorEnv([lambda: ScoreMemory(_env(chunk=8))] * 2)
    envs.reset(seed=[0, 1])
    seen = []
    for _ in range(12):
        info = envs.step(np.zeros(2, int))[4]
        seen += [m for m in info.get("memory", ()) if m is not None]
    assert seen and all(type(m) is tuple and isinstance(m[0], Score) for m in seen)
    envs.close()

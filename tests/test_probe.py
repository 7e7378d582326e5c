"""ProbeReward pays for forgetting alone, once an absence, and can be learned from."""

import gymnasium as gym
import numpy as np
import pytest
import toy_world

from worldenv.camera import Primitive
from worldenv.env import InvalidOption, WorldEnv
from worldenv.policies import worldmembench
from worldenv.policies.explore import PoseObservation, RandomWalk, Repeat, explore, train
from worldenv.world import Unsupported
from worldenv.wrappers import ProbeReward

LEFT, RIGHT, STAY = Primitive.YAW_LEFT, Primitive.YAW_RIGHT, Primitive.STAY
LOOP = [LEFT] * 25 + [RIGHT] * 25


def _env(forget=True, max_frames=241, **options):
    world = toy_world.make(size=(16, 16), chunk=4, forget=forget, **options)
    return ProbeReward(WorldEnv(world, max_frames=max_frames), size=16)


def _play(env, actions, seed=0):
    env.reset(seed=seed)
    steps = [env.step(action) for action in actions]
    rewards = [reward for _, reward, *_ in steps]
    probes = [info["probe"] for *_, info in steps]
    return rewards, probes


def test_a_world_that_remembers_earns_exactly_nothing():
    rewards, probes = _play(_env(forget=False), LOOP)
    assert sum(p["revisits"] for p in probes) > 50
    assert set(rewards) == {0.0}


def test_forgetting_is_paid_where_it_is_seen():
    rewards, probes = _play(_env(), LOOP)
    assert sum(rewards[:25]) == 0, "nothing is a revisit on the way out"
    assert sum(rewards[25:]) > 1
    assert all(0 <= r <= 1 for r in rewards)
    for reward, probe in zip(rewards, probes, strict=True):
        assert reward == pytest.approx(probe["inconsistency"] / 4)
        assert probe["inconsistency"] <= probe["revisits"] <= 4


def test_short_absences_and_waiting_earn_nothing():
    _, probes = _play(_env(), [LEFT] * 7 + [RIGHT] * 7 + [STAY] * 20)
    assert sum(p["revisits"] for p in probes) == 0
    _, probes = _play(_env(), LOOP + [STAY] * 5)
    assert [p["revisits"] for p in probes[-5:]] == [0] * 5


def test_each_place_pays_once_an_absence():
    _, once = _play(_env(), LOOP)
    _, twice = _play(_env(max_frames=481), LOOP + LOOP)
    first = sum(p["revisits"] for p in once)
    # On the second way out the places near the turning point are revisits as well.
    assert sum(p["revisits"] for p in twice[:50]) == first
    assert first <= sum(p["revisits"] for p in twice[50:]) <= 2 * first + 8
    _, back_and_forth = _play(_env(), LOOP + [LEFT, RIGHT] * 5)
    assert sum(p["revisits"] for p in back_and_forth[50:]) == 0


def test_leaving_by_distance_counts_too():
    away = [Primitive.FORWARD] * 12 + [Primitive.BACKWARD] * 12
    _, probes = _play(_env(), away)
    assert probes[-1]["revisits"] > 0
    with pytest.raises(InvalidOption, match="positive"):
        ProbeReward(WorldEnv(toy_world.make()), away_frames=0)
    with pytest.raises(InvalidOption, match="WorldEnv"):
        ProbeReward(gym.make("CartPole-v1"))


def test_vector_environments():
    envs = gym.vector.SyncVectorEnv([_env, lambda: _env(forget=False)])
    envs.reset(seed=[0, 0])
    earned = sum(envs.step(np.full(2, action))[1] for action in LOOP)
    assert earned[0] > 1 and earned[1] == 0
    envs.close()


def test_where_the_camera_is():
    env = PoseObservation(_env(), budget=241)
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    assert observation[:5].tolist() == [0, 0, 0, 0, 1]
    assert observation[8:].tolist() == [0, 0, 0]
    for _ in range(25):
        observation = env.step(RIGHT)[0]
    assert observation[6] == pytest.approx(np.tanh(100 / 360))
    assert observation[7] == pytest.approx(101 / 241)
    assert observation[8:] == pytest.approx([np.tanh(4 / 30), 0, 0])
    assert env.step(LEFT)[0][8] == pytest.approx(-np.tanh(4 / 30))
    # Ahead is where the camera looks, not the first frame's axis.
    assert env.step(Primitive.FORWARD)[0][8:] == pytest.approx([0, 0, np.tanh(4 / 30)])
    assert env.step(Primitive.LEFT)[0][8:] == pytest.approx([0, -np.tanh(4 / 30), 0])


def test_exploring_is_repeatable():
    def found(seed):
        env = _env()
        return explore(RandomWalk(env.action_space, seed), _env, [5, 6])

    first = found(1)
    assert first == found(1)
    assert [w.seed for w in first] == [5, 6] and first[0].frames == 241
    script = worldmembench.lrlr(hold=4, leg=40, angle=40)
    walked = explore(script.policy(_env().unwrapped.world_spec, "primitive"), _env, [5])
    assert walked[0].per_frame > 0
    assert explore(Repeat(STAY), _env, [5])[0].revisits == 0
    with pytest.raises(Unsupported, match="primitive"):
        RandomWalk(gym.spaces.Box(-1, 1, (6,)), 0)


@pytest.mark.slow
def test_training_beats_a_random_walk():
    pytest.importorskip("stable_baselines3")

    turns = {"YAW_LEFT": 4.0, "YAW_RIGHT": 4.0}

    def make():
        return PoseObservation(_env(primitives=tuple(turns), quantum=turns), budget=241)

    walk = RandomWalk(make().action_space, seed=0)
    learned = explore(train(make, 2_048, seed=0), make, range(100, 105))
    random = explore(walk, make, range(100, 105))
    mean = [np.mean([w.per_frame for w in walks]) for walks in (learned, random)]
    assert mean[0] > 5 * mean[1] > 0


@pytest.mark.slow
def test_copies_train_in_processes_of_their_own():
    pytest.importorskip("stable_baselines3")

    def learned():
        return explore(train(_watched, 128, seed=3, envs=2), _watched, [5])

    assert learned() == learned(), "the same seed gives the same agent"


def _watched():
    return PoseObservation(_env(), budget=241)

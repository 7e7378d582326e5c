"""What the controls must score: the perfect world, and the frozen one, in Reference-v0."""

import math

import pytest

from worldenv.case import load_case
from worldenv.env import WorldEnv
from worldenv.evaluators.worldmembench import delta_axis
from worldenv.worlds import load_world
from worldenv.wrappers import ScoreMemory

pytestmark = pytest.mark.slow

MEMORY = (
    "human_appearance",
    "object_appearance",
    "object_geometry",
    "environment_visible",
    "environment_depth",
    "environment_reconstruction",
)


def scores(script, case, faults=None, benchmarks=None):
    world = load_world("Reference-v0", size=(160, 160), faults=faults)
    env = WorldEnv(world, control="plan", case=load_case(case), script=script)
    env = ScoreMemory(env, benchmarks)
    env.reset(seed=0)
    truncated = False
    while not truncated:
        *_, truncated, info = env.step(0)
    env.close()
    return info["memory_summary"].scores


@pytest.fixture(scope="module", params=["human", "object"])
def perfect(request):
    return scores("worldmembench:lrlrlr(hold=8,leg=20)", f"worldmembench/{request.param}/001")


@pytest.fixture(scope="module")
def frozen():
    case = "worldmembench/object/001"
    return scores("worldmembench:lrlr(hold=8,leg=20)", case, {"frozen": 1.0})


def test_every_revisit_of_the_perfect_world_scores_the_same_bits(perfect):
    curves = {}
    for score in perfect:
        if score.revisit is not None and score.metric in MEMORY:
            key = (score.metric, score.variant, score.target)
            curves.setdefault(key, []).append(score.value)
    assert len(curves) >= 5
    for key, curve in curves.items():
        assert len(curve) == 3 and curve[0] is not None, key
        assert curve[0] == curve[1] == curve[2], key


def test_the_perfect_world_keeps_views_and_things(perfect):
    values = {(s.metric, s.variant): s.value for s in perfect if s.revisit is None}
    for metric in ("environment_visible", "environment_depth", "environment_reconstruction"):
        assert values[metric, ""] >= 0.99
    for metric in ("human_appearance", "object_appearance", "object_geometry"):
        if (metric, "core") in values:
            assert values[metric, "core"] >= 0.9
    assert values["rotation_rpe", ""] < 0.001


def test_the_perfect_world_costs_no_axis_more():
    case = load_case("worldmembench/object/001").id
    drops = []
    curves = []
    for script in ("lrlr", "lrud"):
        found = scores(f"worldmembench:{script}(hold=8,leg=20)", case)
        curve = {}
        for score in found:
            if score.revisit is not None and score.variant == "core":
                curve.setdefault((score.metric, score.target), []).append(score.value)
        curves.append(curve)
    for key in curves[0]:
        drops.append(delta_axis(curves[0][key], curves[1][key]))
    assert drops and abs(sum(drops) / len(drops)) <= 0.02


def test_a_frozen_rollout_gives_itself_away(frozen):
    values = {(s.metric, s.variant): s.value for s in frozen if s.revisit is None}
    assert values["rotation_rpe", ""] == 1.0
    for score in frozen:
        if score.metric in MEMORY and score.revisit is not None:
            assert score.detail["departed"] is False, "a still camera qualifies for nothing"


def test_relative_memory_of_the_perfect_and_the_frozen_world():
    script, case = "r2m:out_and_back(leg=40)", "r2m/indoor/001"
    found = {(s.metric, s.variant): s for s in scores(script, case)}
    for metric in ("psnr", "ssim", "dino", "feature_correspondence", "geometric_inlier", "state"):
        assert found[metric, "nmr"].value > 1, metric
    pairs = found["psnr", "raw"].detail["pairs"]
    mirrored = {k: v for k, v in pairs.items() if sum(map(int, k.split("-"))) == 80}
    cap = 10 * math.log10(255**2 * 12)
    assert mirrored and all(value == pytest.approx(cap) for value in mirrored.values())
    still = {(s.metric, s.variant): s for s in scores(script, case, {"frozen": 1.0})}
    for metric in ("psnr", "ssim", "dino", "feature_correspondence", "geometric_inlier", "state"):
        assert still[metric, "mg"].value == 0, metric
        assert still[metric, "nmr"].status == "unreliable", metric

"""R2M-Bench: golden numbers, and what a perfect, a frozen and a forgetful world score."""

from types import SimpleNamespace

import numpy as np
import pytest
from boxes_world import THINGS, Box, ToyWorld, out_and_back, play

from worldenv.evaluators.engine import build_engine
from worldenv.evaluators.metrics import psnr, ssim
from worldenv.evaluators.pairs import mine_revisits
from worldenv.evaluators.r2m import (
    FAMILIES,
    conclude,
    diagnose,
    memory_gain,
    normalized_memory_ratio,
    overall_nmr,
    tabulate,
)

TRUTH = ("pose", "depth", "ids", "state")

# Published NMR by model in the order of FAMILIES' metrics, and the published Overall.
PUBLISHED = {
    "WonderWorld": (
        [3.253, 3.076, 1.868, 1.110, 1.249, 1.096, 1.221, 1.319, 1.166, 1.132, 1.247],
        1.510,
    ),
    "LingBot-World-Fast": (
        [0.047, 0.083, 0.030, 0.073, 0.080, 0.103, 0.126, 0.245, 0.098, 0.043, 0.103],
        0.100,
    ),
    "LingBot-World-2-Fast": (
        [0.198, 0.144, 0.045, 0.097, 0.040, 0.115, 0.112, 0.311, 0.040, 0.092, 0.216],
        0.141,
    ),
    "Matrix-Game 3.0": (
        [0.257, 0.192, 0.251, 0.449, 0.400, 0.470, 0.572, 0.896, 0.385, 0.226, 0.300],
        0.403,
    ),
    "HY-WorldPlay": (
        [0.446, 0.308, 0.488, 0.734, 0.589, 0.626, 0.602, 0.752, 0.488, 0.243, 0.318],
        0.485,
    ),
    "SANA-WM": (
        [0.094, 0.071, 0.051, 0.002, 0.012, -0.049, 0.016, -0.007, 0.002, 0.020, 0.006],
        0.016,
    ),
    "Lyra-2": (
        [0.284, 0.286, 0.306, 0.457, 0.330, 0.435, 0.337, 0.442, 0.236, 0.180, 0.255],
        0.310,
    ),
    "DreamX-World-Memo": (
        [1.034, 1.093, 0.981, 0.700, 0.692, 0.662, 0.641, 0.782, 0.533, 0.355, 0.654],
        0.706,
    ),
}


@pytest.mark.parametrize("model", PUBLISHED)
def test_overall_of_the_published_rows(model):
    values, overall = PUBLISHED[model]
    metrics = [metric for family in FAMILIES.values() for metric in family]
    found = overall_nmr(dict(zip(metrics, values, strict=True)))
    assert found == pytest.approx(overall, abs=0.0011)


def test_overall_needs_all_five_families():
    row = {"psnr": 1.0, "dino": 1.0, "app_persist": 1.0, "geometric_inlier": 1.0}
    assert overall_nmr(row) is None
    assert overall_nmr({**row, "state": None}) is None
    assert overall_nmr({**row, "state": 2.0}) == pytest.approx(1.2)


def test_gain_and_ratio():
    assert memory_gain(0.9, 0.4) == pytest.approx(0.5)
    assert normalized_memory_ratio(0.5, 0.25) == pytest.approx(2.0)
    assert normalized_memory_ratio(0.0, 0.0) == 0.0
    assert normalized_memory_ratio(1.0, -1e-8) == 0.0


@pytest.mark.parametrize(
    ("mg", "dr", "reading"),
    [
        (0.30, 0.32, "reliable"),
        (0.10, 0.32, "partial"),
        (0.30, 0.01, "caution"),
        (0.01, 0.32, "failure"),
        (0.001, 0.01, "weak"),
        (-0.2, 0.32, "negative"),
        (0.2, -0.1, "invalid"),
        (0.2, 0.0, "invalid"),
        (0.0, 0.0, "weak"),
    ],
)
def test_the_papers_readings(mg, dr, reading):
    assert diagnose("dino", mg, dr) == reading


def scores_of(world, path, frozen=False, rule="paper", **keywords):
    engine = build_engine(
        path, benchmarks={"r2m": {"rule": rule}}, K=world.K, truth=TRUTH, **keywords
    )
    _, summary = play(engine, world, path, frozen=frozen)
    return {(s.metric, s.variant): s for s in summary.scores}


@pytest.fixture(scope="module")
def perfect():
    world, path = ToyWorld(size=(64, 64)), out_and_back(121, 3.6)
    return world, path, scores_of(world, path)


def test_a_perfect_world_gains_at_revisits(perfect):
    _, _, scores = perfect
    for metric in ("psnr", "ssim", "dino", "app_persist", "feature_correspondence"):
        assert scores[metric, "raw"].value > scores[metric, "base"].value
        assert scores[metric, "nmr"].value > 1, metric
        assert scores[metric, "mg"].value == pytest.approx(
            scores[metric, "raw"].value - scores[metric, "base"].value
        )
    assert scores["state", "raw"].value == pytest.approx(5.0)
    overall = scores["overall", "nmr"]
    assert overall.value is not None and overall.n_valid == 5
    assert scores["lpips", "nmr"].status == "unavailable"
    # Truth is sure of every category: what was found again counts whole, what was not counts 0.
    found = scores["sem_persist", "raw"].detail
    assert found["semantic"] == "confidence" and found["matched_only"] == 1.0
    assert scores["sem_persist", "raw"].value > scores["sem_persist", "base"].value


def test_pairs_of_equal_pose_score_exactly_as_a_frame_against_itself(perfect):
    world, path, _ = perfect
    pairs = mine_revisits(path, "paper")
    exact = [(i, j) for i, j in pairs.tolist() if np.array_equal(path.poses[i], path.poses[j])]
    assert len(exact) > 20
    for i, j in exact[::10]:
        a, b = world.frame(i, path.poses[i])[0], world.frame(j, path.poses[j])[0]
        assert psnr(a, b) == psnr(a, a) and ssim(a, b) == 1.0


def test_a_frozen_rollout_gains_nothing():
    world, path = ToyWorld(size=(64, 64)), out_and_back(81)
    scores = scores_of(world, path, frozen=True)
    for metric in ("psnr", "ssim", "dino", "app_persist", "feature_correspondence", "state"):
        assert scores[metric, "mg"].value == 0.0 == scores[metric, "dr"].value
        assert scores[metric, "nmr"].status == "unreliable"
        assert scores[metric, "nmr"].value == 0.0
        assert scores[metric, "nmr"].detail["diagnosis"] == "weak"
    assert scores["overall", "nmr"].status == "unavailable"
    assert "partial (0 of 5" in scores["overall", "nmr"].detail["reason"]


def test_forgetting_lowers_every_family():
    path = out_and_back(81, 3.6)
    swapped = [Box(b.id, b.category, b.low, b.high, b.variant + 50) for b in THINGS]

    def forget(frame):
        return THINGS if frame < 41 else tuple(swapped)

    kept = scores_of(ToyWorld(size=(48, 48)), path)
    lost = scores_of(ToyWorld(size=(48, 48), boxes=forget), path)
    for metric in ("psnr", "ssim", "dino", "app_persist", "feature_correspondence", "state"):
        assert lost[metric, "raw"].value < kept[metric, "raw"].value - 1e-3, metric
        assert lost[metric, "mg"].value < kept[metric, "mg"].value, metric
    # Every instance changed its variant: no co-visible surface is unchanged.
    assert lost["state", "raw"].value == pytest.approx(1.0)


def test_the_default_rule_reports_the_noise_of_its_draw():
    world, path = ToyWorld(size=(32, 32)), out_and_back(61, 2.4)
    scores = scores_of(world, path, rule="se3")
    detail = scores["psnr", "base"].detail
    assert detail["rule"] == "se3" and 0 < detail["base_standard_error"] < 2
    assert detail["n_base"] > 10 * detail["n_rev"]
    code = scores_of(world, path, rule="code")
    assert code["psnr", "raw"].detail["rule"] == "code"


def test_an_early_end_scores_the_pairs_that_were_seen():
    world, path = ToyWorld(size=(48, 48)), out_and_back(81, 2.4)
    engine = build_engine(path, benchmarks={"r2m": {"rule": "paper"}}, profile="classic")
    _, summary = play(engine, world, path, until=70, truth=False)
    raw = next(s for s in summary.scores if (s.metric, s.variant) == ("psnr", "raw"))
    assert summary.aborted and 0 < raw.n_valid < raw.n_expected


def test_a_path_that_never_returns_is_not_applicable():
    path = out_and_back(81)[:40]
    engine = build_engine(path, benchmarks=["r2m"], profile="classic")
    _, summary = play(engine, ToyWorld(size=(48, 48)), path, truth=False)
    assert {s.status for s in summary.scores} == {"not_applicable", "unavailable"}


def row(metric, variant, value, script="r2m:out_and_back", seed=0, episode="e", **more):
    fields = {
        "benchmark": "r2m",
        "target": None,
        "revisit": None,
        "n_valid": 10,
        "n_expected": 10,
        "status": "ok" if value is not None else "unavailable",
        "detail": {},
        "suite": "r2m",
        "case": episode,
        "category": "indoor",
        "control": None,
        **more,
    }
    return SimpleNamespace(
        metric=metric,
        variant=variant,
        value=value,
        script=script,
        seed=seed,
        episode=episode,
        **fields,
    )


def test_tabled_nmr_is_a_ratio_of_means_over_usable_videos():
    rows = []
    for k, (mg, dr) in enumerate([(0.2, 0.4), (0.1, 0.2), (5.0, 0.0)]):
        for variant, value in (("raw", 0.9), ("base", 0.5), ("mg", mg), ("dr", dr), ("nmr", 1.0)):
            rows.append(row("dino", variant, value, episode=f"e{k}"))
    metrics, overall = tabulate(rows)
    cells = dict(zip(metrics.columns, metrics.rows[0], strict=True))
    # The third video has no dynamic range and is dropped from NMR, not from MG.
    assert cells["NMR"] == pytest.approx(0.15 / 0.3, rel=1e-6)
    assert cells["n_nmr"] == 2 and cells["n"] == 3 and cells["coverage"] == 1.0
    assert cells["MG"] == pytest.approx((0.2 + 0.1 + 5.0) / 3)
    total = dict(zip(overall.columns, overall.rows[0], strict=True))
    assert total["overall"] is None and total["coverage"] == "partial (1 of 5)"
    assert tabulate([]) == []


def test_real_rows_can_be_tabled(perfect):
    _, _, scores = perfect
    rows = [
        SimpleNamespace(
            **s.__dict__,
            suite="r2m",
            case="c",
            category="x",
            script="r2m:out_and_back",
            seed=1,
            episode="e",
            control=None,
        )
        for s in scores.values()
    ]
    metrics, overall = tabulate(rows)
    assert len(metrics.rows) == 11 and overall.rows[0][-3] is not None
    assert conclude(list(scores.values()), None)[0].metric == "overall"

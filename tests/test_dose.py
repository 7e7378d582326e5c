"""How a score answers to a dose: against scipy, hand-made cases and planted curves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import linregress, spearmanr

from worldenv.calibration_findings import verdict
from worldenv.evaluators.dose import Observation, curve, monotone, permuted, slope, spearman

DOSES = (0.0, 0.25, 0.5, 0.75, 1.0)


def planted(effect, noise=0.0, cases=6, seeds=2, seed=0):
    """Return rollouts whose score is a level of the case plus ``effect(dose)`` plus noise."""
    rng = np.random.default_rng(seed)
    return [
        Observation(f"c{c}", s, d, c + effect(d) + noise * rng.standard_normal())
        for c in range(cases)
        for s in range(seeds)
        for d in DOSES
    ]


@given(st.lists(st.integers(-3, 3), min_size=3, max_size=12), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_spearman_is_scipys(values, seed):
    other = np.random.default_rng(seed).integers(-2, 3, len(values))
    if len(set(values)) > 1 and len(set(other.tolist())) > 1:
        assert spearman(values, other) == pytest.approx(spearmanr(values, other).statistic)


def test_a_constant_score_is_unrelated_to_the_dose():
    assert spearman([0, 1, 2], [5, 5, 5]) == 0.0
    assert spearman([1], [1]) is None
    with pytest.raises(ValueError, match="3 values beside 2"):
        spearman([1, 2, 3], [1, 2])


def test_slope_of_one_case_is_linear_regression():
    rng = np.random.default_rng(3)
    rows = [Observation("only", s, d, rng.normal()) for s in range(3) for d in DOSES]
    fit = slope(rows)
    known = linregress([r.dose for r in rows], [r.value for r in rows])
    assert fit.value == pytest.approx(known.slope)
    assert (fit.low, fit.high) == (pytest.approx(known.slope), pytest.approx(known.slope))


def test_slope_gives_every_case_a_level_of_its_own():
    # Within each case the score falls by 1; between them it rises by far more.
    rows = [*planted(lambda d: -d, cases=5), Observation("high", 0, 1.0, 50.0)]
    assert slope(rows).value == pytest.approx(-1.0)
    assert slope([Observation("a", 0, 0.5, 1.0)]) is None


def test_permutation_counts_every_order_of_two_doses():
    # One pair: both orders of its doses are equally far out, so p is 1 (nothing can be told).
    assert permuted([Observation("a", 0, 0.0, 0.0), Observation("a", 0, 1.0, 1.0)]) == 1.0
    # Ten pairs: of 2^10 orders two are as far out.
    ten = [Observation(f"c{c}", 0, d, d) for c in range(10) for d in (0.0, 1.0)]
    assert permuted(ten, draws=20_000) == pytest.approx(2 / 1024, abs=0.001)
    assert permuted([Observation("a", 0, 0.0, 1.0)]) is None


def test_permutation_of_noise_is_uniform():
    found = [permuted(planted(lambda d: 0.0, 1.0, seed=s), draws=200) for s in range(60)]
    assert 0.35 < np.mean(found) < 0.65
    assert np.mean(np.array(found) < 0.1) < 0.25


def test_monotone_is_strict_and_has_a_direction():
    assert monotone([3, 2, 1], -1) is True
    assert monotone([3, 2, 2], -1) is False
    assert monotone([3, 2, 1], 1) is False
    assert monotone([1, 2, 3], 0) is True
    assert monotone([1, None, 3], 1) is None
    assert monotone([1], 1) is None


def test_a_planted_fall_is_found_at_every_dose():
    found = curve(planted(lambda d: -d, 0.02), DOSES, graded=True)
    assert found.counts == (12,) * 5
    assert found.slope == pytest.approx(-1, abs=0.05)
    assert found.slope_low <= found.slope <= found.slope_high < 0
    assert found.p < 0.01 and found.rho == -1.0
    assert found.change == pytest.approx(-1, abs=0.05)
    assert found.detects == 0.25 and found.saturates == 1.0
    assert verdict("falls", True, found, monotone(found.means, -1), -1.0) == ("as expected", "")
    wrong, why = verdict("rises", True, found, monotone(found.means, 1), -1.0)
    assert wrong == "not as expected"
    assert all(part in why for part in ("do not rise", "slope's interval", "rho is -1.00"))


def test_a_score_that_saturates_says_where():
    found = curve(planted(lambda d: min(d, 0.5)), DOSES, graded=True)
    assert (found.detects, found.saturates) == (0.25, 0.5)
    assert monotone(found.means, 1) is False


def test_a_flat_score_is_not_as_expected_where_it_must_answer():
    found = curve(planted(lambda d: 0.0, 0.1, seed=5), DOSES, graded=True)
    judged, why = verdict("falls", True, found, monotone(found.means, -1), 0.001)
    assert judged == "not as expected" and "p is" in why and "slope" in why
    assert verdict("ignores", True, found, None, 0.001) == ("as expected", "")


def test_what_must_be_ignored_may_not_move():
    found = curve(planted(lambda d: d), DOSES, graded=True)
    assert verdict("ignores", True, found, True, 0.06)[0] == "not as expected"
    assert verdict("ignores", True, found, True, -0.049)[0] == "as expected"
    assert verdict("open", True, found, True, 0.9)[0] == "open"
    assert verdict("falls", True, found, True, None)[0] == "not measured"


def test_an_exactly_equal_score_detects_nothing():
    found = curve(planted(lambda d: 0.0), DOSES, graded=False)
    assert (found.detects, found.saturates, found.change, found.rho) == (None, None, 0.0, 0.0)
    assert found.p == 1.0


def test_a_dose_is_detected_only_where_all_larger_ones_are_on_the_same_side():
    turn = {0.0: 0.0, 0.25: 0.5, 0.5: -0.2, 0.75: -0.6, 1.0: -1.0}
    assert curve(planted(turn.get), DOSES, graded=True).detects == 0.5
    gap = {0.0: 0.0, 0.25: -0.5, 0.5: 0.0, 0.75: -0.6, 1.0: -1.0}
    assert curve(planted(gap.get), DOSES, graded=True).detects == 0.75


def test_noise_alone_is_hardly_ever_detected():
    # Intervals of three cases are too short: without p they detect in two of three draws.
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rows = [Observation(f"c{c}", 0, d, rng.normal()) for c in range(3) for d in DOSES]
        found.append(curve(rows, DOSES, graded=True).detects)
    assert sum(dose is not None for dose in found) <= 3


def test_rho_of_graded_faults_is_the_median_over_cases():
    # Half of the cases rise, half fall: the means stay, and so does their median.
    rows = [Observation(f"c{c}", 0, d, d if c < 2 else -d) for c in range(5) for d in DOSES]
    assert curve(rows, DOSES, graded=True).rho == -1.0
    # All or nothing: of the means, which fall slightly but without exception.
    assert curve(rows, DOSES, graded=False).rho == -1.0
    noisy = planted(lambda d: -d, 0.6, cases=40, seed=2)
    assert curve(noisy, DOSES, graded=False).rho == -1.0
    assert curve(noisy, DOSES, graded=True).rho > -1.0


def test_only_cases_and_seeds_with_every_dose_count():
    # The case that lacks a dose is the high one: means would rise in the middle, no score does.
    rows = planted(lambda d: -d)
    more = [Observation("high", 0, dose, 10.0 - dose) for dose in DOSES if dose != 0.5]
    found = curve(rows + more, DOSES, graded=False)
    assert found == curve(rows, DOSES, graded=False)
    assert found.counts == (12,) * 5 and found.rho == -1.0 and monotone(found.means, -1)


def test_where_no_case_has_every_dose_the_ends_make_the_curve():
    rows = [o for o in planted(lambda d: -d) if o.dose != 0.5]
    found = curve(rows, DOSES, graded=True)
    assert found.doses == (0.0, 1.0) and found.counts == (12, 12) and found.change == -1.0
    judged, why = verdict("falls", True, found, monotone(found.means, -1), -1.0)
    assert judged == "not measured" and "no case and seed" in why
    assert verdict("ignores", True, found, None, 0.0)[0] == "as expected"


def test_the_change_is_taken_over_pairs():
    # The cases with a value at dose 1 are the high ones: means would rise, every score falls.
    rows = [Observation("low", 0, 0.0, 0.0)]
    rows += [Observation("high", 0, 0.0, 10.0), Observation("high", 0, 1.0, 9.0)]
    found = curve(rows, (0.0, 1.0), graded=True)
    assert found.means == (10.0, 9.0) and found.change == -1.0


def test_too_few_rollouts_judge_nothing():
    rows = [Observation(f"c{c}", 0, d, -d) for c in range(3) for d in (0.0, 1.0)]
    found = curve(rows, (0.0, 1.0), graded=True)
    # Of 2 x 2 x 2 orders two are farthest out.
    assert found.least_p == 0.25
    judged, why = verdict("falls", True, found, True, -1.0)
    assert judged == "not measured" and "p cannot be below 0.25" in why
    # Two cases of five doses are enough for p, 120 x 120 orders, but not for an interval.
    two = curve(planted(lambda d: -d, cases=2, seeds=1), DOSES, graded=True)
    assert two.least_p < 0.01 and two.cases == 2 and two.detects is None
    judged, why = verdict("falls", True, two, True, -1.0)
    assert judged == "not measured" and "2 cases have every dose" in why

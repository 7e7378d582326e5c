"""Statistics against scipy and cases worked by hand."""

import numpy as np
import pytest
from scipy import stats as reference

from worldenv.evaluators.stats import (
    Table,
    bootstrap,
    family_mean,
    fisher_mean,
    paired_permutation,
)


def test_bootstrap_agrees_with_scipy_when_every_value_is_a_cluster():
    values = np.random.default_rng(0).normal(3, 1, 60)
    found = bootstrap(values, range(60), draws=4000, seed=1)
    expected = reference.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=4000, rng=np.random.default_rng(2)
    ).confidence_interval
    assert found.value == pytest.approx(values.mean())
    assert found.low == pytest.approx(expected.low, abs=0.03)
    assert found.high == pytest.approx(expected.high, abs=0.03)


def test_clusters_widen_the_interval_and_seeds_fix_it():
    rng = np.random.default_rng(0)
    centers = np.repeat(rng.normal(0, 1, 10), 20)
    values = centers + rng.normal(0, 0.1, 200)
    alone = bootstrap(values, range(200))
    clustered = bootstrap(values, np.repeat(np.arange(10), 20).tolist())
    assert clustered.high - clustered.low > 3 * (alone.high - alone.low)
    assert bootstrap(values, range(200), seed=4) == bootstrap(values, range(200), seed=4)
    slow = bootstrap(values[:40], range(40), statistic=np.mean, draws=200)
    fast = bootstrap(values[:40], range(40), draws=200)
    assert slow == pytest.approx(fast)
    assert bootstrap([], []) is None
    with pytest.raises(ValueError, match="clusters"):
        bootstrap([1.0], [])


@pytest.mark.parametrize("n", [6, 40])
def test_the_permutation_test_agrees_with_scipy(n):
    rng = np.random.default_rng(n)
    a = rng.normal(0.3, 1, n)
    b = rng.normal(0, 1, n)
    expected = reference.permutation_test(
        (a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=20_000, rng=rng
    ).pvalue
    assert paired_permutation(a, b) == pytest.approx(expected, abs=0.015)
    assert paired_permutation(a, a) == 1.0
    assert paired_permutation([5.0] * 10, [0.0] * 10) == pytest.approx(2 / 2**10)


def test_fisher_means():
    assert fisher_mean([]) is None
    assert fisher_mean([0.0, 0.9]) == pytest.approx(np.tanh(np.arctanh(0.9) / 2))
    assert fisher_mean([1.0]) == pytest.approx(1.0)
    families = {"a": ("x", "y"), "b": ("z",), "c": ("w",)}
    rho = {"x": 0.2, "y": 0.6, "z": -0.1, "w": None}
    inner = np.tanh((np.arctanh(0.2) + np.arctanh(0.6)) / 2)
    expected = np.tanh((np.arctanh(inner) + np.arctanh(-0.1)) / 2)
    assert family_mean(rho, families) == pytest.approx(expected)


def test_a_table_has_as_many_cells_as_columns():
    with pytest.raises(ValueError, match="2 cells under 1"):
        Table("t", ("a",), ((1, 2),))

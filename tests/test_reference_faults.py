import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldenv.worlds.reference.faults import chance


@given(st.integers(0, 2**40), st.integers(0, 60000), st.integers(0, 50))
def test_chances_are_shares_that_depend_on_nothing_else(seed, instance, absence):
    value = chance(seed, instance, absence)
    assert 0 <= value < 1 and value == chance(np.int64(seed), instance, absence)


@pytest.mark.parametrize("dose", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("first", [0, 7, 1000])
def test_of_ten_episodes_as_many_are_struck_as_the_dose_says(dose, first):
    for what in range(50):
        struck = sum(chance(seed, what, 47) < dose for seed in range(first, first + 10))
        assert abs(struck - 10 * dose) < 2


def test_in_one_episode_things_are_struck_one_by_one():
    values = np.sort([chance(3, instance, 0, 47) for instance in range(2000)])
    assert abs(values - (np.arange(2000) + 0.5) / 2000).max() < 0.05
    values = np.array([[chance(s, i, 0, 47) for i in (4, 5)] for s in range(500)])
    assert 0 < np.mean((values < 0.5).all(axis=1)) < 0.5


def test_six_consecutive_seeds_reach_every_quarter():
    for what in range(200):
        reached = {int(4 * chance(seed, what)) for seed in range(6)}
        assert reached == {0, 1, 2, 3}

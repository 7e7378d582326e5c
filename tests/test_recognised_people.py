"""Whether small real networks take the people of Reference-v0 for people, and tell them apart."""

import sys
from pathlib import Path

import pytest

from worldenv.evaluators.profiles import TABLE, Setting

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
REASONS = {
    reason
    for role in ("faces", "identity", "segment")
    if (reason := TABLE["light"][role].lacks(Setting()))
}


@pytest.mark.slow
@pytest.mark.weights
@pytest.mark.skipif(bool(REASONS), reason="; ".join(sorted(REASONS)))
def test_networks_find_people_and_tell_them_apart():
    from people import measure

    figures = measure([0, 3, 5, 8, 12, 15], (("interior", 1),), (0.0, 20.0))
    assert figures.rate(2.0) >= 0.9
    assert figures.rate(3.5) >= 0.6
    assert sorted(figures.overlap)[len(figures.overlap) // 2] > 0.85
    assert figures.auc() > 0.95
    assert max(figures.pairs.values()) < 0.75

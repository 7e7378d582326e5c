"""The table of what every score must do under every fault: complete, readable, and guarded."""

import pytest

from worldenv.evaluators.mbench_tables import FAMILIES
from worldenv.expectations import SIGNS, expectation, keys, read
from worldenv.faults import FAULTS
from worldenv.report.glossary import GLOSSARY
from worldenv.world import UnknownName

MEANS = [f"mbench/{name}" for name in (*FAMILIES, "total")]
MEANS += ["worldmembench/mean", "r2m/mean", "r2m/overall"]


def test_every_metric_has_a_sign_for_every_fault():
    metrics = [f"{benchmark}/{metric}" for benchmark, g in GLOSSARY.items() for metric in g]
    assert sorted(keys()) == sorted([*metrics, *MEANS])
    for key in keys():
        assert {expectation(key, fault).sign for fault in FAULTS} <= set(SIGNS)


def test_something_is_claimed_of_every_fault_and_of_every_score():
    claimed = {(k, f) for k in keys() for f in FAULTS if expectation(k, f).sign != "open"}
    assert {fault for _, fault in claimed} == set(FAULTS)
    assert {key for key, _ in claimed} == set(keys()) - {"mbench/text"}
    # A fault that nothing senses, or that nothing must ignore, calibrates nothing.
    for fault in FAULTS:
        assert any(expectation(k, fault).sign in ("falls", "rises") for k in keys()), fault


def test_a_variant_may_do_otherwise():
    assert expectation("r2m/psnr/raw", "frozen").sign == "rises"
    assert expectation("r2m/psnr/mg", "frozen").sign == "falls"
    assert expectation("r2m/psnr/mg", "forget").sign == "falls"
    assert expectation("worldmembench/object_geometry/core", "restyle").sign == "ignores"
    assert "colours" in expectation("worldmembench/object_geometry/core", "restyle").why


def test_unknown_names_are_told():
    with pytest.raises(UnknownName, match="Unknown fault 'forgot'"):
        expectation("r2m/psnr", "forgot")
    with pytest.raises(UnknownName, match="Unknown score 'r2m/psn'"):
        expectation("r2m/psn", "forget")


def blocks(**signs):
    """Return a table of one score."""
    return {"groups": {"all": " ".join(FAULTS)}, "score": [{"keys": ["a/b"], **signs}]}


def test_a_named_fault_outweighs_its_group():
    scores, _ = read(blocks(falls="forget", ignores="@all"))
    assert scores["a/b"]["forget"].sign == "falls"
    assert scores["a/b"]["blur"].sign == "ignores"


@pytest.mark.parametrize(
    ("signs", "message"),
    [
        ({"falls": "forget"}, "has no sign for vanish"),
        ({"falls": "forget", "rises": "forget", "open": "@all"}, "both falls and rises"),
        ({"falls": "forgets", "open": "@all"}, "no fault 'forgets'"),
        ({"open": "@none"}, "no group 'none'"),
        ({"open": "@all", "why": {"x": "y"}}, "neither fault nor group"),
    ],
)
def test_a_table_that_says_nothing_or_two_things_is_refused(signs, message):
    with pytest.raises(ValueError, match=message):
        read(blocks(**signs))

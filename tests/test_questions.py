"""Questions on events: yes and no in every aspect, and nothing to win for who does not look."""

import sys
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from worldenv.evaluators.events import ASPECTS
from worldenv.evaluators.worldmembench import gate
from worldenv.worlds.reference.cases import build_suite
from worldenv.worlds.reference.questions import QUESTIONS, answers_of

sys.path.insert(0, str(Path(__file__).parents[1] / "assets"))
MEAN, ASPECT = 0.65, 0.75
"""Most that a judge who never looks may score on average, and in one aspect."""
SUITES = ("worldmembench", "mbench")


def all_hold(event):
    """Answer an event's questions as in a world that keeps the event."""
    return answers_of(event, dict.fromkeys((q.statement for q in QUESTIONS[event]), True))


@lru_cache(maxsize=2)
def references(suite):
    """Return the reference answers of all event cases of a suite, shape (cases, 8)."""
    return np.array([c.event.answers for c in build_suite(suite).cases.values() if c.event])


def scores(suite, given):
    """Return metric -> mean over a suite's event cases, for one list of answers to all of them."""
    found, counts = np.unique(references(suite), axis=0, return_counts=True)
    rows = [gate(True, row == np.array(given)) for row in found]
    return {m: float(np.average([r[m] for r in rows], weights=counts)) for m in rows[0]}


def bounded(suite, given):
    found = scores(suite, given)
    return found["dynamic_overall"] <= MEAN and all(found[a] <= ASPECT for a in ASPECTS)


def blind(suite):
    """Return name -> answers of judges who do not look."""
    own = {event: all_hold(event) for event in QUESTIONS}
    usual = tuple((references(suite).mean(axis=0) >= 0.5).tolist())
    return {"always yes": (True,) * 8, "always no": (False,) * 8, "most common": usual, **own}


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize("name", blind("worldmembench"))
def test_who_never_looks_scores_little(suite, name):
    given = blind(suite)[name]
    assert bounded(suite, given), scores(suite, given)
    if name.startswith("always"):
        assert set(scores(suite, given).values()) == {0.5, 1.0}  # The gate is taken as passed.


@pytest.mark.parametrize("suite", SUITES)
def test_no_list_of_answers_at_all_scores_more(suite):
    assert all(bounded(suite, given) for given in product((False, True), repeat=8))


@pytest.mark.parametrize("event", QUESTIONS)
def test_every_aspect_of_an_event_has_a_yes_and_a_no(event):
    answers = all_hold(event)
    assert all(answers[2 * k] != answers[2 * k + 1] for k in range(len(ASPECTS)))


def test_answers_differ_between_events_and_are_even_at_each_place():
    lists = [all_hold(event) for event in QUESTIONS]
    assert len(set(lists)) == len(lists)
    yes = np.sum(lists, axis=0)
    assert (abs(2 * yes - len(lists)) <= 1).all(), yes


def test_a_denial_is_answered_by_the_opposite():
    for event, rows in QUESTIONS.items():
        holds = all_hold(event)
        fails = answers_of(event, dict.fromkeys((q.statement for q in rows), False))
        assert holds == tuple(not q.denies for q in rows) == tuple(not a for a in fails)


def test_questions_alone_can_be_written_anew():
    from cases.make import asked_anew

    row = {
        "id": "a",
        "scene": ["interior", 1, "open", "door_opens"],
        "event": ["door_opens", 7, "y"],
    }
    still = {"id": "b", "scene": ["park", 1, "open", None]}
    data = {
        "version": 2,
        "events": {"door_opens": {"mechanism": "opening", "questions": ["Old?"]}},
        "suites": {"mbench": {"common": {"size": 1}, "cases": [row, still]}},
    }
    answers = all_hold("door_opens")
    found = asked_anew(data, {("interior", "door_opens"): answers})
    wanted = {"mechanism": "opening", "questions": [q.text for q in QUESTIONS["door_opens"]]}
    letters = "".join("y" if a else "n" for a in answers)
    assert found["events"]["door_opens"] == wanted and found["version"] == 2
    assert found["suites"]["mbench"]["common"] == {"size": 1}
    assert found["suites"]["mbench"]["cases"] == [
        {**row, "event": ["door_opens", 7, letters]},
        still,
    ]
    assert row["event"][2] == "y"

"""What explains R2M's scores beside their pairs: failures, votes of judges, objects found again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from worldenv.evaluators.judging.questions import Verdict
from worldenv.evaluators.metrics.objects import ObjectScores
from worldenv.evaluators.plan import Ask, Failure, Features


def failed_pairs(
    ask: Callable[[int, int], Ask],
    pairs: Mapping[str, list[tuple[int, int]]],
    features: Features,
) -> dict[str, Any]:
    """Return how many pairs failed, as what, and why the first did; nothing when none did."""
    every = dict.fromkeys(ask(*pair) for group in pairs.values() for pair in group)
    failures = [f for f in map(features.get, every) if isinstance(f, Failure)]
    if not failures:
        return {}
    # What broke weighs more than what is merely not there yet.
    worst = next((f for f in failures if f.status == "error"), failures[0])
    return {
        "failed": len(failures),
        "asked": len(every),
        "failed_as": worst.status,
        "failure": worst.message,
    }


def judged_pairs(
    ask: Callable[[int, int], Ask], pairs: Sequence[tuple[int, int]], features: Features
) -> dict[str, Any]:
    """Return how far judges agreed on a set, and what they replied; nothing without verdicts."""
    answers = {f"{i}-{j}": features.get(ask(i, j)) for i, j in pairs}
    verdicts = {pair: v for pair, v in answers.items() if isinstance(v, Verdict)}
    if not verdicts:
        return {}
    return {
        "agreement": float(np.mean([v.agreement for v in verdicts.values()])),
        "replies": {pair: [dict(r) for r in v.replies] for pair, v in verdicts.items()},
    }


def matched_objects(
    metric: str,
    ask: Callable[[int, int], Ask],
    pairs: Sequence[tuple[int, int]],
    features: Features,
) -> dict[str, Any]:
    """Return what the objects that were found again score, Eqs. 15 and 16, and their number."""
    answers = [features.get(ask(*pair)) for pair in pairs]
    objects = [answer for answer in answers if isinstance(answer, ObjectScores)]
    if not objects:
        return {}
    looks = metric == "app_persist"
    return {
        "matched_only": float(np.mean([o.appearance if looks else o.semantic for o in objects])),
        "anchors": sum(o.anchors for o in objects),
        "matched": sum(o.matched for o in objects),
    }

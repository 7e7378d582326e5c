"""Tables of a calibration: what each score senses, from which dose on, and what leaves it alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from worldenv.calibration import GAMED, MOVERS, Calibration, Response, Subject, best_share
from worldenv.case import BENCHMARKS
from worldenv.evaluators.stats import Table
from worldenv.faults import FAULTS
from worldenv.report.glossary import entry

__all__ = [
    "NOTE",
    "benchmarks_of",
    "claims",
    "counts",
    "faults_of",
    "percent",
    "responses_of",
    "summary",
    "surprises",
    "title_of",
    "works",
]

NOTE = (
    "noise: standard deviation over seeds within a case; spread: over cases; both without a fault. "
    "senses, ignores: how many faults, of those that it is to; doses are of faults that it senses. "
    "saturated: 95 % of the change to dose 1 has happened. most moved by: of what it is to ignore. "
    "gamed by: which worlds that show less motion and forget nothing score within 2 % of the range "
    "of the perfect world at some dose, or better. (met): the range is what was met."
)
"""What the columns of ``summary`` mean."""

_SENSED = ("falls", "rises")


def benchmarks_of(calibration: Calibration) -> list[str]:
    """Return the benchmarks that have a subject, known ones first."""
    there = {subject.benchmark for subject in calibration.subjects}
    return [*(b for b in BENCHMARKS if b in there), *sorted(there - set(BENCHMARKS))]


def faults_of(calibration: Calibration) -> dict[str, list[str]]:
    """Return group -> names of the faults that were planted, in the order of the fault table."""
    there = {response.fault for response in calibration.responses}
    groups: dict[str, list[str]] = {}
    for name, fault in FAULTS.items():
        if name in there:
            groups.setdefault(fault.group, []).append(name)
    other = sorted(there - set(FAULTS))
    return {**groups, "other": other} if other else groups


def responses_of(calibration: Calibration, subject: Subject) -> list[Response]:
    """Return a subject's responses in the order of the faults."""
    mine = {r.fault: r for r in calibration.responses if r.subject == subject.key}
    order = [name for names in faults_of(calibration).values() for name in names]
    return [mine[name] for name in order if name in mine]


def title_of(subject: Subject) -> str:
    """Return metric and variant as they are shown."""
    return f"{subject.metric} {subject.variant}".strip()


def percent(moved: float | None) -> str:
    """Return a share of a range as signed per cent, a dash where there is none."""
    if moved is None:
        return "–"
    text = f"{100 * moved:+.1f}" if abs(moved) < 0.0995 else f"{100 * moved:+.0f}"
    return ("0" if float(text) == 0 else text.replace("-", "\u2212")) + " %"


def counts(responses: Sequence[Response]) -> Counter[str]:
    """Return verdict -> number of responses."""
    return Counter(response.verdict for response in responses)


def works(responses: Sequence[Response], expected: Sequence[str]) -> str:
    """Return ``n of m`` as expected, of the responses of an expectation that were measured.

    Those that were not are counted behind.
    """
    asked = [r.verdict for r in responses if r.expected in expected]
    missing = asked.count("not measured")
    right = f"{asked.count('as expected')} of {len(asked) - missing}"
    if len(asked) == missing:
        return "–"
    return f"{right} ({missing} not measured)" if missing else right


def summary(calibration: Calibration, benchmark: str) -> Table:
    """Return a line a score: its value without a fault, its noise, and what it senses."""
    rows = []
    for subject in calibration.subjects:
        if subject.benchmark != benchmark:
            continue
        responses = responses_of(calibration, subject)
        sensed = [r for r in responses if r.expected in _SENSED and r.verdict == "as expected"]
        left = [r for r in responses if r.expected == "ignores" and r.moved is not None]
        worst = max(left, key=lambda r: abs(r.moved or 0.0), default=None)
        rows.append(
            (
                title_of(subject),
                subject.perfect,
                subject.noise,
                subject.spread,
                f"{subject.low:.4g} to {subject.high:.4g}{'' if subject.bounded else ' (met)'}",
                works(responses, _SENSED),
                _by_dose(sensed, "detects"),
                _by_dose(sensed, "saturates"),
                works(responses, ("ignores",)),
                "–" if worst is None else f"{worst.fault} {percent(worst.moved)}",
                _gamed(subject, responses),
                subject.backbone,
            )
        )
    columns = (
        "metric",
        "perfect",
        "noise",
        "spread",
        "range",
        "senses",
        "detected from dose",
        "saturated by dose",
        "ignores",
        "most moved by",
        "gamed by",
        "measured by",
    )
    return Table(
        "Each metric",
        columns,
        tuple(rows),
        (NOTE,),
    )


def _gamed(subject: Subject, responses: Sequence[Response]) -> str:
    """Return which worlds that show less motion score as well as the perfect one."""
    found = entry(subject.benchmark, subject.metric)
    games = []
    for response in responses:
        if response.fault in MOVERS:
            best = best_share(subject, response, found.best if found else 1)
            if best is not None and best[1] >= -GAMED:
                games.append(f"{response.fault} ({best[0]:g})")
    return ", ".join(games) or "–"


def surprises(calibration: Calibration) -> Table:
    """Return a line for each response that was not as expected, largest movement first."""
    wrong = [r for r in calibration.responses if r.verdict == "not as expected"]
    wrong.sort(key=lambda r: -abs(r.moved or 0.0))
    return Table(
        "Not as expected",
        ("score", "fault", "expected", "moved", "slope", "low", "high", "p", "why"),
        tuple(
            (
                r.subject,
                r.fault,
                r.expected,
                percent(r.moved),
                r.slope,
                r.slope_low,
                r.slope_high,
                r.p,
                r.reason,
            )
            for r in wrong
        ),
    )


def claims(calibration: Calibration) -> Table:
    """Return a line for each claim beside the curves."""
    words = {True: "yes", False: "no", None: "not measured"}
    return Table(
        "Claims",
        ("claim", "holds", "found"),
        tuple((c.claim, words[c.holds], c.found) for c in calibration.controls),
    )


def _by_dose(responses: Sequence[Response], field: str) -> str:
    """Return how many faults have each dose, as text."""
    found = Counter(getattr(response, field) for response in responses)
    found.pop(None, None)
    return ", ".join(f"{dose:g} in {found[dose]}" for dose in sorted(found)) or "–"

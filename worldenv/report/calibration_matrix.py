"""The matrices of a calibration: a row a score, a column a planted fault."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from worldenv.calibration import Calibration, Response, Subject
from worldenv.faults import FAULTS
from worldenv.report import calibration_tables as tables
from worldenv.report.page import TITLES

__all__ = [
    "GROUPS",
    "SIGNS",
    "VERDICTS",
    "detection",
    "legend",
    "matrix",
    "meaning",
    "place",
    "tip",
]

SIGNS = {"falls": "↓", "rises": "↑", "ignores": "=", "open": "?"}
VERDICTS = {
    "as expected": ("yes", "✓", "did as was expected"),
    "not as expected": ("no", "✗", "did not"),
    "open": ("free", "", "nothing was expected; what it did is recorded"),
    "not measured": ("unknown", "", "no value, or too few"),
}
_EXPECTED = {
    "falls": "the score is to fall",
    "rises": "it is to rise",
    "ignores": "it is to move by less than 5 % of its range",
    "open": "nothing is claimed",
}
GROUPS = {
    "content": "content of the world",
    "event": "event",
    "camera": "camera",
    "time": "time",
    "frames": "frames",
    "other": "other",
}


def legend() -> str:
    """Return what signs, marks and colours mean."""
    signs = "".join(
        f"<span><b class='key free'>{sign}</b> {escape(_EXPECTED[name])}</span>"
        for name, sign in SIGNS.items()
    )
    marks = "".join(
        f"<span><b class='key {kind}'>{mark or '&nbsp;'}</b> {verdict}: {escape(text)}</span>"
        for verdict, (kind, mark, text) in VERDICTS.items()
    )
    return f"<p class='small legend'>{signs}</p><p class='small legend'>{marks}</p>"


def matrix(calibration: Calibration) -> str:
    """Return the matrix of expectations and verdicts; each cell leads to its curve."""
    return _grid(calibration, _verdict, count=True)


def detection(calibration: Calibration) -> str:
    """Return the matrix of the smallest doses detected, of what scores are expected to sense."""
    return _grid(calibration, _dose, count=False)


_Cell = Callable[[Subject, Response, int], str]


def _grid(calibration: Calibration, cell: _Cell, *, count: bool) -> str:
    groups = tables.faults_of(calibration)
    first = {names[0] for names in groups.values()}
    order = [name for names in groups.values() for name in names]
    heads = "".join(
        f"<th class='group' colspan='{len(names)}'>{GROUPS[group] if len(names) > 3 else group}"
        "</th>"
        for group, names in groups.items()
    )
    columns = "".join(
        f"<th class='fault' title='{escape(meaning(name))}'><span>{escape(name)}</span></th>"
        for name in order
    )
    rows = []
    for benchmark in tables.benchmarks_of(calibration):
        rows.append(
            f"<tr><th class='benchmark' colspan='{len(order) + 2}'>"
            f"{escape(TITLES.get(benchmark, benchmark))}</th></tr>"
        )
        for number, subject in enumerate(calibration.subjects):
            if subject.benchmark != benchmark:
                continue
            mine = {r.fault: r for r in calibration.responses if r.subject == subject.key}
            cells = "".join(
                f"<td{' class=first' if name in first else ''}>"
                f"{cell(subject, mine[name], number) if name in mine else ''}</td>"
                for name in order
            )
            asked = tables.works(list(mine.values()), ("falls", "rises", "ignores"))
            last = f"<td class='count'>{asked}</td>" if count else ""
            rows.append(
                f"<tr><th><a href='#s{number}'>{escape(subject.metric)} "
                f"<i>{escape(subject.variant)}</i></a></th>{cells}{last}</tr>"
            )
    return (
        f"<div class='scroll'><table class='matrix'><thead><tr><th></th>{heads}<th></th></tr><tr>"
        f"<th></th>{columns}<th></th></tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _dose(subject: Subject, response: Response, number: int) -> str:
    if response.expected not in ("falls", "rises") or response.verdict == "not measured":
        return ""
    dose = response.detects
    # Steps of lightness, so that they can be told apart in grey too.
    step = "never" if dose is None else f"from{min(4, max(1, -int(-4 * dose // 1)))}"
    text = "–" if dose is None else f"{dose:g}".removeprefix("0")
    return (
        f"<a class='{step}' href='#{place(number, response)}' "
        f"title='{escape(tip(subject, response))}'>{text}</a>"
    )


def _verdict(subject: Subject, response: Response, number: int) -> str:
    kind, mark, _ = VERDICTS[response.verdict]
    sign = "" if response.verdict == "not measured" else SIGNS[response.expected]
    bar = ""
    if response.moved is not None and kind != "unknown":
        bar = f"<i style='width:{min(100.0, 100 * abs(response.moved)):.0f}%'></i>"
    return (
        f"<a class='{kind}' href='#{place(number, response)}' "
        f"title='{escape(tip(subject, response))}'>{sign}{mark}{bar}</a>"
    )


def tip(subject: Subject, response: Response) -> str:
    """Return what a cell says when it is pointed at."""
    parts = [
        f"{tables.title_of(subject)}, {response.fault}: expected {response.expected}, "
        f"{response.verdict}",
        f"moved {tables.percent(response.moved)} of its range",
    ]
    if response.detects is not None:
        parts.append(f"detected from dose {response.detects:g}")
    if response.p is not None:
        parts.append(f"p {response.p:.2g}")
    return "; ".join([*parts, response.reason] if response.reason else parts)


def place(number: int, response: Response) -> str:
    """Return the name of a curve within the page."""
    return f"s{number}-{''.join(c if c.isalnum() else '-' for c in response.fault)}"


def meaning(fault: str) -> str:
    """Return what a fault does at dose 1."""
    return FAULTS[fault].meaning if fault in FAULTS else fault

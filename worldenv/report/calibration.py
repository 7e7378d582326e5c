"""Build the page of a calibration: which score answers to which planted fault, and how."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from worldenv import __version__, store
from worldenv.calibration import Calibration, Response, Subject
from worldenv.faults import FAULTS
from worldenv.report import calibration_tables as tables
from worldenv.report.calibration_plots import dose_plot, limits_of, short
from worldenv.report.glossary import entry
from worldenv.report.html import document, format_value
from worldenv.report.page import TITLES

__all__ = ["build_page", "print_calibration", "write_report"]

_SIGNS = {"falls": "↓", "rises": "↑", "ignores": "=", "open": "?"}
_VERDICTS = {
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
_GROUPS = {
    "content": "content of the world",
    "event": "event",
    "camera": "camera",
    "time": "time",
    "frames": "frames",
    "other": "other",
}


def write_report(calibration: Calibration, path: Path) -> Path:
    """Write the page and return its path.

    Raises:
        StoreError: it cannot be written.
    """
    page = build_page(calibration)
    with store.explain_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.tmp")
        try:
            temporary.write_text(page, encoding="utf-8")
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    return path


def build_page(calibration: Calibration) -> str:
    """Return the page as HTML text; everything that comes from outside is escaped."""
    sections = [
        _head(calibration),
        _tiles(calibration),
        "<h2 id='matrix'>Metrics against faults</h2>",
        "<p class='lead'>A row a score, a column a planted fault. The sign says what was expected "
        "of the score before it was measured, mark and colour whether it did so, and the bar how "
        "far it moved from dose 0 to dose 1, a full bar being its whole range. A cell leads to its "
        "curve.</p>",
        _legend(),
        _matrix(calibration),
        _surprises(calibration),
        _claims(calibration),
        "<h2 id='metrics'>Each metric</h2>",
    ]
    for benchmark in tables.benchmarks_of(calibration):
        sections.append(f"<h3>{escape(TITLES.get(benchmark, benchmark))}</h3>")
        sections.append(_summary(calibration, benchmark))
    sections.append("<h2 id='curves'>Curves</h2>")
    sections.append(
        "<p class='lead'>Mean against dose with its interval over cases; dashed, the world without "
        "a fault. The curves of one score share their scale.</p>"
    )
    sections += [_subject(calibration, n) for n in range(len(calibration.subjects))]
    sections.append(_faults(calibration))
    css = files("worldenv.report").joinpath("calibration.css").read_text(encoding="utf-8")
    return document(f"worldenv: calibration of {calibration.profile}", "\n".join(sections), css)


def print_calibration(calibration: Calibration) -> None:
    """Print what the page says in short: each metric, what was not as expected, the claims."""
    from worldenv.report.console import console, print_table

    found = tables.counts(calibration.responses)
    for benchmark in tables.benchmarks_of(calibration):
        table = tables.summary(calibration, benchmark)
        kept = [table.columns.index(c) for c in _PRINTED]
        title = f"{TITLES.get(benchmark, benchmark)}, {calibration.profile}"
        rows = tuple(tuple(row[i] for i in kept) for row in table.rows)
        print_table(type(table)(title, _PRINTED, rows))
    wrong = tables.surprises(calibration)
    if wrong.rows:
        shown = ("score", "fault", "expected", "moved", "why")
        kept = [wrong.columns.index(c) for c in shown]
        rows = tuple(tuple(row[i] for i in kept) for row in wrong.rows)
        print_table(type(wrong)(wrong.title, shown, rows))
    if calibration.controls:
        print_table(tables.claims(calibration))
    said = ", ".join(f"{found[verdict]} {verdict}" for verdict in _VERDICTS if found[verdict])
    console.print(f"{len(calibration.responses)} curves: {said or 'none'}", highlight=False)


_PRINTED = (
    "metric",
    "perfect",
    "noise",
    "senses",
    "ignores",
    "moved most by what it is to ignore",
)


def _head(calibration: Calibration) -> str:
    facts = {"Profile": calibration.profile, "worldenv": __version__}
    rest: dict[str, str] = {}
    for key, value in calibration.made.items():
        text = _said(value)
        # The faults are the matrix's columns; a list of cases or versions would fill the box.
        short_one = len(text) <= _FACT and not isinstance(value, Mapping)
        (facts if short_one and key != "faults" else rest)[key.replace("_", " ")] = text
    cells = "".join(f"<div><b>{escape(k)}</b>{escape(v)}</div>" for k, v in facts.items())
    lines = "".join(f"<li>{escape(k)}: {escape(v)}</li>" for k, v in rest.items())
    more = f"<details><summary>Settings in full</summary><ul>{lines}</ul></details>" if rest else ""
    links = {
        "matrix": "Matrix",
        "surprises": "Not as expected",
        "claims": "Claims",
        "metrics": "Each metric",
        "curves": "Curves",
        "faults": "Faults",
    }
    nav = "".join(f"<a href='#{name}'>{title}</a>" for name, title in links.items())
    return (
        "<h1>Does the score measure memory?</h1>"
        f"<p class='lead'>Calibration of {escape(calibration.profile)}: faults of known dose were "
        "planted in Reference-v0, and every score was held against the dose.</p>"
        f"<div class='facts'>{cells}</div>{more}<nav>{nav}</nav>"
    )


_FACT = 44


def _said(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} {_said(v)}" for k, v in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(_said(v) for v in value)
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _tiles(calibration: Calibration) -> str:
    found = tables.counts(calibration.responses)
    colours = {"yes": "#1d4ed8", "no": "#c2410c", "free": "#6b7280", "unknown": "#d1d5db"}
    tiles = [
        (found[verdict], f"{mark} {verdict}".strip(), colours[kind])
        for verdict, (kind, mark, _) in _VERDICTS.items()
    ]
    held = [control.holds for control in calibration.controls if control.holds is not None]
    said = f"{sum(held)} of {len(held)}"
    boxes = "".join(
        f"<div class='tile' style='border-left-color:{colour}'><b>{number}</b><span>{text}</span>"
        "</div>"
        for number, text, colour in [*tiles, (said, "claims hold", "#047857")]
    )
    return f"<div class='tiles'>{boxes}</div>"


def _legend() -> str:
    signs = "".join(
        f"<span><b class='key free'>{sign}</b> {escape(_EXPECTED[name])}</span>"
        for name, sign in _SIGNS.items()
    )
    marks = "".join(
        f"<span><b class='key {kind}'>{mark or '&nbsp;'}</b> {verdict}: {escape(text)}</span>"
        for verdict, (kind, mark, text) in _VERDICTS.items()
    )
    return f"<p class='small legend'>{signs}</p><p class='small legend'>{marks}</p>"


def _matrix(calibration: Calibration) -> str:
    groups = tables.faults_of(calibration)
    first = {names[0] for names in groups.values()}
    order = [name for names in groups.values() for name in names]
    heads = "".join(
        f"<th class='group' colspan='{len(names)}'>{_GROUPS[group] if len(names) > 3 else group}"
        "</th>"
        for group, names in groups.items()
    )
    columns = "".join(
        f"<th class='fault' title='{escape(_meaning(name))}'><span>{escape(name)}</span></th>"
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
                f"{_cell(subject, mine[name], number) if name in mine else ''}</td>"
                for name in order
            )
            asked = tables.works(list(mine.values()), ("falls", "rises", "ignores"))
            rows.append(
                f"<tr><th><a href='#s{number}'>{escape(subject.metric)} "
                f"<i>{escape(subject.variant)}</i></a></th>{cells}<td class='count'>{asked}</td>"
                "</tr>"
            )
    return (
        f"<div class='scroll'><table class='matrix'><thead><tr><th></th>{heads}<th></th></tr><tr>"
        f"<th></th>{columns}<th></th></tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _cell(subject: Subject, response: Response, number: int) -> str:
    kind, mark, _ = _VERDICTS[response.verdict]
    sign = "" if response.verdict == "not measured" else _SIGNS[response.expected]
    bar = ""
    if response.moved is not None and kind != "unknown":
        bar = f"<i style='width:{min(100.0, 100 * abs(response.moved)):.0f}%'></i>"
    return (
        f"<a class='{kind}' href='#{_place(number, response)}' "
        f"title='{escape(_tip(subject, response))}'>{sign}{mark}{bar}</a>"
    )


def _tip(subject: Subject, response: Response) -> str:
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


def _place(number: int, response: Response) -> str:
    """Return the name of a curve within the page."""
    return f"s{number}-{''.join(c if c.isalnum() else '-' for c in response.fault)}"


def _meaning(fault: str) -> str:
    return FAULTS[fault].meaning if fault in FAULTS else fault


def _surprises(calibration: Calibration) -> str:
    table = tables.surprises(calibration)
    head = f"<h2 id='surprises'>Not as expected ({len(table.rows)})</h2>"
    if not table.rows:
        return f"{head}<p>Every score that was measured did as was expected.</p>"
    numbers = {subject.key: n for n, subject in enumerate(calibration.subjects)}
    found = {(r.subject, r.fault): r for r in calibration.responses}
    lines = []
    for row in table.rows:
        cell = dict(zip(table.columns, row, strict=True))
        place = _place(numbers[cell["score"]], found[cell["score"], cell["fault"]])
        interval = (
            "–"
            if cell["low"] is None or cell["high"] is None
            else f"{short(cell['low'])} to {short(cell['high'])}"
        )
        lines.append(
            f"<tr><td><a class='to' href='#{place}'>{escape(cell['score'])}</a></td>"
            f"<td>{escape(cell['fault'])}</td><td>{_SIGNS[cell['expected']]} {cell['expected']}"
            f"</td><td class=number>{cell['moved']}</td><td class=number>{interval}</td>"
            f"<td class=number>{_number(cell['p'])}</td><td class=wrap>{escape(cell['why'])}</td>"
            "</tr>"
        )
    return (
        f"{head}<div class='scroll'><table><thead><tr><th>score</th><th>fault</th><th>expected</th>"
        "<th class=number>moved</th><th class=number>slope, interval</th><th class=number>p</th>"
        f"<th>why</th></tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _claims(calibration: Calibration) -> str:
    head = "<h2 id='claims'>Claims beside the curves</h2>"
    if not calibration.controls:
        return f"{head}<p>None was tested.</p>"
    keys = {
        True: "<b class='key yes'>✓</b> yes",
        False: "<b class='key no'>✗</b> no",
        None: "<b class='key unknown'>&nbsp;</b> not measured",
    }
    lines = []
    for control in calibration.controls:
        values = "; ".join(f"{k} {format_value(v)}" for k, v in control.values.items())
        lines.append(
            f"<tr><td class=wrap>{escape(control.claim)}</td><td>{keys[control.holds]}</td>"
            f"<td class=wrap>{escape(control.found)}<div class='small'>{escape(values)}</div></td>"
            "</tr>"
        )
    return (
        f"{head}<div class='scroll'><table><thead><tr><th>claim</th><th>holds</th><th>found</th>"
        f"</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def _summary(calibration: Calibration, benchmark: str) -> str:
    table = tables.summary(calibration, benchmark)
    numbers = {
        tables.title_of(s): n
        for n, s in enumerate(calibration.subjects)
        if s.benchmark == benchmark
    }
    numeric = ("perfect", "noise", "spread")
    wide = ("smallest dose detected", "saturated by")
    head = "".join(
        f"<th{' class=number' if c in numeric else ''}>{escape(c)}</th>" for c in table.columns
    )
    lines = []
    for row in table.rows:
        cells = []
        for column, value in zip(table.columns, row, strict=True):
            if column == "metric":
                cells.append(
                    f"<td><a class='to' href='#s{numbers[value]}'>{escape(value)}</a></td>"
                )
            elif column in numeric:
                cells.append(f"<td class=number>{_number(value)}</td>")
            else:
                kind = " class=wrap" if column in wide else ""
                cells.append(f"<td{kind}>{escape(format_value(value))}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    notes = "".join(f"<p class='note'>{escape(note)}</p>" for note in table.notes)
    return (
        f"<div class='scroll'><table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody>"
        f"</table></div>{notes}"
    )


def _subject(calibration: Calibration, number: int) -> str:
    subject = calibration.subjects[number]
    responses = tables.responses_of(calibration, subject)
    limits = limits_of(subject, responses)
    curves = []
    for response in responses:
        kind, mark, _ = _VERDICTS[response.verdict]
        curves.append(
            f"<figure id='{_place(number, response)}' title='{escape(_tip(subject, response))}'>"
            f"<figcaption><b class='key {kind}'>{_SIGNS[response.expected]}{mark}</b>"
            f"{escape(response.fault)}</figcaption>{dose_plot(response, limits, subject.perfect)}"
            "</figure>"
        )
    found = entry(subject.benchmark, subject.metric)
    meaning = f"<p class='small'>{escape(found.meaning)}</p>" if found else ""
    title = f"{TITLES.get(subject.benchmark, subject.benchmark)}: {tables.title_of(subject)}"
    return (
        f"<section class='subject' id='s{number}'><a class='up' href='#matrix'>↑ matrix</a>"
        f"<h3>{escape(title)}</h3>{meaning}<div class='curves'>{''.join(curves)}</div>"
        f"<details><summary>Numbers</summary>{_numbers(responses)}</details></section>"
    )


def _numbers(responses: list[Response]) -> str:
    """Return everything that was found of a score, a line a fault."""
    heads = (
        "fault",
        "expected",
        "verdict",
        "mean at each dose",
        "rollouts",
        "moved",
        "slope",
        "interval",
        "p",
        "rho",
        "monotone",
        "detected from",
        "saturated by",
        "why",
    )
    lines = []
    for r in responses:
        means = ", ".join(f"{d:g}: {_number(m)}" for d, m in zip(r.doses, r.means, strict=True))
        cells = (
            escape(r.fault),
            r.expected,
            r.verdict,
            means,
            ", ".join(str(n) for n in r.counts),
            tables.percent(r.moved),
            _number(r.slope),
            f"{_number(r.slope_low)} to {_number(r.slope_high)}",
            _number(r.p),
            _number(r.rho),
            "–" if r.monotone is None else ("yes" if r.monotone else "no"),
            _number(r.detects),
            _number(r.saturates),
            escape(r.reason),
        )
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th>{name}</th>" for name in heads)
    return (
        f"<div class='scroll'><table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody>"
        "</table></div>"
    )


def _number(value: float | None) -> str:
    return "–" if value is None else short(value) if abs(value) < 1e-3 else f"{value:.4g}"


def _faults(calibration: Calibration) -> str:
    lines = []
    for group, names in tables.faults_of(calibration).items():
        for name in names:
            fault = FAULTS.get(name)
            kind = "–" if fault is None else ("amount" if fault.graded else "probability")
            lines.append(
                f"<tr><td>{_GROUPS[group]}</td><td><code>{escape(name)}</code></td><td>{kind}</td>"
                f"<td class=wrap>{escape(_meaning(name))}</td></tr>"
            )
    return (
        "<h2 id='faults'>Faults</h2><table><thead><tr><th>group</th><th>fault</th><th>dose is</th>"
        f"<th>at dose 1</th></tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )

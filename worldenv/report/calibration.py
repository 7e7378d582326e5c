"""Build the page of a calibration: which score answers to which planted fault, and how."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from worldenv import store
from worldenv.calibration import Calibration
from worldenv.faults import FAULTS
from worldenv.report import calibration_tables as tables
from worldenv.report.calibration_curves import number, section
from worldenv.report.calibration_matrix import (
    GROUPS,
    SIGNS,
    VERDICTS,
    detection,
    legend,
    matrix,
    meaning,
    place,
)
from worldenv.report.calibration_plots import short
from worldenv.report.html import document, format_value
from worldenv.report.page import TITLES

__all__ = ["build_page", "write_page"]


def write_page(calibration: Calibration, path: Path) -> Path:
    """Write the page and return its path.

    Raises:
        StoreError: it cannot be written.
    """
    page = build_page(calibration)
    with store.explain_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    store.write_text(path, page)
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
        "curve; an empty one says that score and fault do not meet in any case that was walked."
        "</p>",
        legend(),
        matrix(calibration),
        _unmeasured(calibration),
        _surprises(calibration),
        _claims(calibration),
        "<h2 id='metrics'>Each metric</h2>",
    ]
    for benchmark in tables.benchmarks_of(calibration):
        sections.append(f"<h3>{escape(TITLES.get(benchmark, benchmark))}</h3>")
        sections.append(_summary(calibration, benchmark))
    sections.append(f"<p class='note'>{escape(tables.NOTE)}</p>")
    sections += [
        "<h3>Smallest dose detected</h3>",
        "<p class='small'>Of what a score is expected to sense: the least dose from which on every "
        "change from dose 0 has an interval without 0 on the side of the change to dose 1, where "
        "p < 0.01; a dash where there is none.</p>",
        detection(calibration),
        "<h2 id='curves'>Curves</h2>",
    ]
    sections.append(
        "<p class='lead'>Mean against dose with its interval over cases; dashed, the same cases "
        "without a fault. The curves of one score share their scale.</p>"
    )
    sections += [section(calibration, n) for n in range(len(calibration.subjects))]
    sections.append(_faults(calibration))
    css = files("worldenv.report").joinpath("calibration.css").read_text(encoding="utf-8")
    return document(f"worldenv: calibration of {calibration.profile}", "\n".join(sections), css)


def _unmeasured(calibration: Calibration) -> str:
    if not calibration.unmeasured:
        return ""
    named = "; ".join(f"{key} ({status})" for key, status in calibration.unmeasured.items())
    return f"<p class='small'>Without a value in any rollout: {escape(named)}.</p>"


def _head(calibration: Calibration) -> str:
    versions = calibration.made.get("versions")
    facts = {"Profile": calibration.profile}
    if isinstance(versions, Mapping) and "worldenv" in versions:
        facts["worldenv"] = _said(versions["worldenv"])
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
        for verdict, (kind, mark, _) in VERDICTS.items()
    ]
    held = [control.holds for control in calibration.controls if control.holds is not None]
    said = f"{sum(held)} of {len(held)}" if held else "–"
    missing = len(calibration.controls) - len(held)
    about = f"claims hold, {missing} not measured" if missing else "claims hold"
    boxes = "".join(
        f"<div class='tile' style='border-left-color:{colour}'><b>{number}</b><span>{text}</span>"
        "</div>"
        for number, text, colour in [*tiles, (said, about, "#047857")]
    )
    return f"<div class='tiles'>{boxes}</div>"


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
        where = place(numbers[cell["score"]], found[cell["score"], cell["fault"]])
        interval = (
            "–"
            if cell["low"] is None or cell["high"] is None
            else f"{short(cell['low'])} to {short(cell['high'])}"
        )
        lines.append(
            f"<tr><td><a class='to' href='#{where}'>{escape(cell['score'])}</a></td>"
            f"<td>{escape(cell['fault'])}</td><td>{SIGNS[cell['expected']]} {cell['expected']}"
            f"</td><td class=number>{cell['moved']}</td><td class=number>{interval}</td>"
            f"<td class=number>{number(cell['p'])}</td><td class=wrap>{escape(cell['why'])}</td>"
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
        values = "; ".join(
            f"{k} {v if isinstance(v, str) else number(v)}" for k, v in control.values.items()
        )
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
    wide = ("detected from dose", "saturated by dose", "most moved by", "gamed by", "measured by")
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
                cells.append(f"<td class=number>{number(value)}</td>")
            else:
                kind = " class=wrap" if column in wide else ""
                cells.append(f"<td{kind}>{escape(format_value(value))}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return (
        f"<div class='scroll'><table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody>"
        "</table></div>"
    )


def _faults(calibration: Calibration) -> str:
    lines = []
    for group, names in tables.faults_of(calibration).items():
        for name in names:
            fault = FAULTS.get(name)
            kind = "–" if fault is None else ("amount" if fault.graded else "probability")
            lines.append(
                f"<tr><td>{GROUPS[group]}</td><td><code>{escape(name)}</code></td><td>{kind}</td>"
                f"<td class=wrap>{escape(meaning(name))}</td></tr>"
            )
    return (
        "<h2 id='faults'>Faults</h2><table><thead><tr><th>group</th><th>fault</th><th>dose is</th>"
        f"<th>at dose 1</th></tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )

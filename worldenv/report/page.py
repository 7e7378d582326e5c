"""Build ``report.html`` of a run: one file that opens anywhere, with tables, curves and frames."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np

from worldenv import __version__, store
from worldenv.case import BENCHMARKS
from worldenv.controls import CONTROLS
from worldenv.evaluators import mbench, r2m, worldmembench
from worldenv.evaluators.stats import Table
from worldenv.report.episodes import render_episodes
from worldenv.report.glossary import GLOSSARY, STATUS_MEANING, VARIANTS, entry
from worldenv.report.html import document, render_table
from worldenv.report.summary import summarise, told
from worldenv.report.svg import PALETTE, Mark, line_plot, range_plot
from worldenv.run_folder import read_run
from worldenv.schedule import is_perfect_run
from worldenv.store import EpisodeRecord, Row

TITLES = {"worldmembench": "WorldMemBench", "mbench": "MBench", "r2m": "R2M-Bench"}

STAND_IN = (
    "This run is a stand-in: Reference-v0 made the frames along the path that the model would be "
    "asked to follow. It tests conventions, says nothing of what the model remembers, and enters "
    "no comparison."
)
"""What a report says of a run whose frames another world made."""

_TABULATE = {
    "worldmembench": worldmembench.tabulate,
    "mbench": mbench.tabulate,
    "r2m": r2m.tabulate,
}


def write_report(run: Path) -> Path:
    """Write ``report.html`` into a run folder and return its path.

    Raises:
        StoreError: the folder is no run, or cannot be written.
    """
    found = store.records(run)
    rows = store.read_index(run)
    path = run / "report.html"
    store.write_text(path, build_page(run, found, rows))
    return path


def build_page(run: Path, found: Sequence[tuple[str, EpisodeRecord]], rows: Sequence[Row]) -> str:
    """Return the report as HTML text; everything that comes from outside is escaped."""
    perfect = is_perfect_run(read_run(run))
    summary = summarise(rows, perfect=perfect)
    worlds = sorted({r.world for _, r in found if not r.control}) or ["(controls only)"]
    own = [row for row in rows if not row.control]
    sections = [
        _head(worlds, found),
        _stand_in(found),
        _failures(found),
        "<h2 id='summary'>Summary</h2>",
        "<p class='lead'>A line a metric: the mean over episodes, with what the controls score on "
        "their items. A number means little outside the range from floor to ceiling. A frozen "
        "video never leaves, so it scores 1 on every static metric of WorldMemBench and MBench; "
        "its rotation error of 1, its empty qualified tables and its memory gain of 0 give it "
        "away.</p>",
        _controls(rows, perfect),
        _ranges(summary),
        render_table(replace(summary, notes=tuple(n for n in summary.notes if not _named(n)))),
    ]
    for benchmark in BENCHMARKS:
        mine = [row for row in own if row.benchmark == benchmark]
        if not mine:
            continue
        sections.append(f"<h2 id='{benchmark}'>{TITLES[benchmark]}</h2>")
        tables = tabulated(benchmark, mine, rows, perfect)
        sections.append(render_table(tables[0], heading=True))
        if benchmark == "worldmembench":
            sections.append(_decay(rows))
        sections += [
            f"<details><summary>{escape(table.title)}</summary>{render_table(table)}</details>"
            for table in tables[1:]
        ]
    sections += [render_episodes(run, found, rows), _meanings(rows)]
    return document(f"worldenv: {', '.join(worlds)}", "\n".join(sections))


def tabulated(
    benchmark: str, own: Sequence[Row], rows: Sequence[Row], perfect: bool
) -> list[Table]:
    """Return a benchmark's tables of the world under test, with the perfect world as ceiling."""
    ceiling = [row for row in rows if row.benchmark == benchmark and row.control == "perfect"]
    if perfect:
        ceiling = [replace(row, control="perfect") for row in own]
    tables = []
    for table in _TABULATE[benchmark]([*own, *ceiling]):
        at = table.columns.index("control")
        shown = tuple(row for row in table.rows if not row[at])
        tables.append(replace(table, rows=shown))
    return tables


def _head(worlds: Sequence[str], found: Sequence[tuple[str, EpisodeRecord]]) -> str:
    done = [r for _, r in found if r.status == "done"]
    own = [r for r in done if not r.control]
    backbones: dict[str, str] = {}
    for record in done:
        for role, backbone in record.backbones.items():
            backbones[role] = str(backbone.get("name", ""))
    facts = {
        "World": ", ".join(worlds),
        "Profile": ", ".join(sorted({r.profile for r in done})),
        "Episodes": f"{len(own)} + {len(done) - len(own)} controls",
        "Frames": f"{sum(r.frames for r in done):,}",
        "Constants": ", ".join(sorted({r.constants_version for r in done})),
        "worldenv": __version__,
    }
    cells = "".join(f"<div><b>{escape(k)}</b>{escape(v)}</div>" for k, v in facts.items())
    roles = "; ".join(f"{role}: {name}" for role, name in sorted(backbones.items()))
    links = [("summary", "Summary")]
    links += [(b, TITLES[b]) for b in BENCHMARKS if any(r.suite == b for r in own)]
    links += [("episodes", "Episodes"), ("meaning", "What the metrics mean")]
    nav = "".join(f"<a href='#{a}'>{escape(t)}</a>" for a, t in links)
    return (
        f"<h1>What {escape(', '.join(worlds))} remembers</h1>"
        f"<div class='facts'>{cells}</div>"
        f"<p class='small'>Measured by {escape(roles) or 'nothing'}</p><nav>{nav}</nav>"
    )


def _stand_in(found: Sequence[tuple[str, EpisodeRecord]]) -> str:
    if not any(r.stand_in for _, r in found):
        return ""
    return f"<div class='warn'>{STAND_IN}</div>"


def _failures(found: Sequence[tuple[str, EpisodeRecord]]) -> str:
    failed = [(name, r.error or "") for name, r in found if r.status == "failed"]
    if not failed:
        return ""
    items = "".join(f"<li>{escape(n)}: {escape(e)}</li>" for n, e in failed)
    return (
        f"<div class='warn'>{len(failed)} episode(s) failed and are in no table; running the same "
        f"command again tries them again.<ul>{items}</ul></div>"
    )


def _ranges(table: Table) -> str:
    """Return a plot of every metric between its floors and its ceiling."""
    groups: dict[str, list[tuple[str, list[Mark]]]] = {"0 to 1": [], "memory ratio": []}
    for row in table.rows:
        cell = dict(zip(table.columns, row, strict=True))
        kind = "memory ratio" if cell["variant"] == "nmr" else "0 to 1"
        found = entry(cell["benchmark"], cell["metric"])
        inside = cell["benchmark"] != "r2m" and (found is None or found.best > 0)
        if kind == "0 to 1" and not inside:
            continue
        marks = [Mark(cell["mean"], PALETTE[0], "dot", cell["low"], cell["high"])]
        for name, shape, colour in _CONTROL_MARKS:
            if cell[name] is not None:
                marks.append(Mark(cell[name], colour, shape))
        name = f"{TITLES[cell['benchmark']]} {cell['metric']} {cell['variant']}".replace("nmr", "")
        groups[kind].append((name.strip(), marks[::-1]))
    parts = []
    for kind, lines in groups.items():
        if lines:
            top = max(m.value for _, marks in lines for m in marks)
            high = 1.0 if kind == "0 to 1" else max(1.0, 1.05 * top)
            caption = "scores from 0 to 1" if kind == "0 to 1" else "R2M-Bench memory ratio (NMR)"
            parts.append(
                f"<figure><figcaption>{caption}</figcaption>{range_plot(lines, high=high)}</figure>"
            )
    return f"<div class='plots'>{''.join(parts)}</div>" if parts else ""


_CONTROL_MARKS = (
    ("perfect", "bar", "#059669"),
    ("codec", "open bar", "#059669"),
    ("amnesiac", "cross", "#dc2626"),
    ("frozen", "square", "#6b7280"),
    ("slow", "triangle", "#7c3aed"),
    ("drift", "diamond", "#d97706"),
)
_GLYPHS = {
    "bar": "&#9614;",
    "open bar": "&#9647;",
    "cross": "&#10005;",
    "square": "&#9633;",
    "triangle": "&#9651;",
    "diamond": "&#9671;",
}


def _named(note: str) -> bool:
    """Return whether a note of the summary tells of a control, which the page does above it."""
    return note.partition(" (")[0] in CONTROLS


def _controls(rows: Sequence[Row], perfect: bool) -> str:
    """Return a line a control: its mark in the plots, its role, what it is for."""
    marks = {name: (_GLYPHS[shape], colour) for name, shape, colour in _CONTROL_MARKS}
    lines = [
        f"<tr><td style='color:{PALETTE[0]}'>&#9679; this world</td><td></td><td class=wrap></td>"
        "</tr>"
    ]
    for name, role, text in told(rows, perfect=perfect):
        glyph, colour = marks[name]
        lines.append(
            f"<tr><td style='color:{colour}'>{glyph} {name}</td><td>{role}</td>"
            f"<td class=wrap>{escape(text)}</td></tr>"
        )
    return f"<table class='small'><tbody>{''.join(lines)}</tbody></table>"


def _decay(rows: Sequence[Row]) -> str:
    """Return the decay curves: mean over targets and cases at R1, R2, ... a script and world."""
    plots = []
    for metric, series in decay_series(rows).items():
        found = entry("worldmembench", metric)
        deepest = int(max(x for _, values, _ in series for x in values))
        ticks = [(k, f"R{k}") for k in range(1, deepest + 1)]
        plot = line_plot(series, x_label="revisit", y_label="score", ticks=ticks)
        title = found.title if found else metric
        plots.append(f"<figure><figcaption>{escape(title)}</figcaption>{plot}</figure>")
    if not plots:
        return ""
    return (
        "<h3>Decay over revisits</h3><p class='small'>A world that remembers is flat. Masked "
        "metrics are drawn in their core variant; a revisit without an observation counts "
        f"zero.</p><div class='plots'>{''.join(plots)}</div>"
    )


Series = list[tuple[str, list[float], list[float | None]]]
"""(name, x values, y values) of lines."""


def decay_series(rows: Sequence[Row]) -> dict[str, Series]:
    """Return WorldMemBench metric -> a line a script of the world and of each control."""
    wanted = [
        row
        for row in rows
        if row.benchmark == "worldmembench"
        and row.revisit is not None
        and row.variant in ("", "core")
        and row.metric.split("_")[0] in ("human", "object", "environment")
    ]
    found: dict[str, Series] = {}
    for metric in sorted({row.metric for row in wanted}):
        mine = [row for row in wanted if row.metric == metric]
        for control in ("", *CONTROLS):
            for script in sorted({row.script for row in mine}):
                values = _by_revisit(
                    row for row in mine if row.control == control and row.script == script
                )
                if len(values) > 1:
                    name = f"{control or 'this world'}, {script.split(':')[-1]}"
                    line = (name, list(values), list(values.values()))
                    found.setdefault(metric, []).append(line)
    return found


def _by_revisit(rows: Iterable[Row]) -> dict[float, float | None]:
    values: dict[float, list[float]] = defaultdict(list)
    for row in rows:
        assert row.revisit is not None
        if row.value is not None:
            values[row.revisit].append(row.value)
        elif row.status in ("absent", "no_observation"):
            values[row.revisit].append(0.0)
    return {k: float(np.mean(v)) for k, v in sorted(values.items())}


def _meanings(rows: Sequence[Row]) -> str:
    used = {(row.benchmark, row.metric) for row in rows}
    parts = ["<h2 id='meaning'>What the metrics mean</h2>"]
    for benchmark, entries in GLOSSARY.items():
        lines = [
            "<tr>"
            f"<td>{escape(found.title)}<br><code>{escape(metric)}</code></td>"
            f"<td class=wrap>{escape(found.meaning)}</td>"
            f"<td class=wrap><code>{escape(found.formula)}</code></td>"
            f"<td>{escape(found.limits)}</td>"
            f"<td>{'higher' if found.best > 0 else 'lower'}</td>"
            "</tr>"
            for metric, found in entries.items()
            if (benchmark, metric) in used
        ]
        if lines:
            parts.append(
                f"<h3>{TITLES[benchmark]}</h3><div class='scroll'><table><thead><tr><th>metric</th>"
                "<th>asks</th><th>formula</th><th>range</th><th>better</th></tr></thead><tbody>"
                f"{''.join(lines)}</tbody></table></div>"
            )
    for title, words in (("Variants", VARIANTS), ("Statuses", STATUS_MEANING)):
        lines = [
            f"<tr><td><code>{k}</code></td><td>{escape(v)}</td></tr>" for k, v in words.items()
        ]
        parts.append(f"<h3>{title}</h3><table><tbody>{''.join(lines)}</tbody></table>")
    return "\n".join(parts)

"""Build ``report.html`` of a run: one file that opens anywhere, with tables, curves and frames."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv import __version__, store
from worldenv.case import BENCHMARKS
from worldenv.evaluators import mbench, r2m, worldmembench
from worldenv.evaluators.stats import Table
from worldenv.report.glossary import GLOSSARY, STATUS_MEANING, VARIANTS, entry
from worldenv.report.summary import summarise
from worldenv.report.svg import PALETTE, Mark, line_plot, path_plot, range_plot
from worldenv.rollout import InvalidRollout, Rollout
from worldenv.store import EpisodeRecord, Row

TITLES = {"worldmembench": "WorldMemBench", "mbench": "MBench", "r2m": "R2M-Bench"}

SHOWN_EPISODES = 40
"""Episodes shown with frames; a report of hundreds would not open in a browser."""

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
    page = build_page(run, found, rows)
    with store.explain_os_errors(path):
        temporary = run / ".report.html.tmp"
        try:
            temporary.write_text(page, encoding="utf-8")
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    return path


def build_page(run: Path, found: Sequence[tuple[str, EpisodeRecord]], rows: Sequence[Row]) -> str:
    """Return the report as HTML text; everything that comes from outside is escaped."""
    worlds = sorted({r.world for _, r in found if not r.control}) or ["(controls only)"]
    own = [row for row in rows if not row.control]
    sections = [
        _head(worlds, found),
        _failures(found),
        "<h2 id='summary'>Summary</h2>",
        "<p class='lead'>A line a metric: the mean over episodes, with what a perfect, an amnesiac "
        "and a frozen world score on the control items. A number means little outside that "
        "range. A frozen video never leaves, so it scores 1 on every static metric of "
        "WorldMemBench and MBench; its rotation error of 1, its empty qualified tables and its "
        "memory gain of 0 give it away.</p>",
        _ranges(summarise(rows)),
        render_table(summarise(rows)),
    ]
    for benchmark in BENCHMARKS:
        mine = [row for row in own if row.benchmark == benchmark]
        if not mine:
            continue
        sections.append(f"<h2 id='{benchmark}'>{TITLES[benchmark]}</h2>")
        tables = _TABULATE[benchmark](mine)
        sections.append(render_table(tables[0], heading=True))
        if benchmark == "worldmembench":
            sections.append(_decay(rows))
        sections += [
            f"<details><summary>{escape(table.title)}</summary>{render_table(table)}</details>"
            for table in tables[1:]
        ]
    sections += [_episodes(run, found, rows), _meanings(rows)]
    css = files("worldenv.report").joinpath("style.css").read_text(encoding="utf-8")
    title = escape(f"worldenv: {', '.join(worlds)}")
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        # No script and nothing fetched: prompts and names in here are other people's text.
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; "
        "img-src data:; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{css}</style></head><body>"
        + "\n".join(sections)
        + "</body></html>\n"
    )


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


def _failures(found: Sequence[tuple[str, EpisodeRecord]]) -> str:
    failed = [(name, r.error or "") for name, r in found if r.status == "failed"]
    if not failed:
        return ""
    items = "".join(f"<li>{escape(n)}: {escape(e)}</li>" for n, e in failed)
    return (
        f"<div class='warn'>{len(failed)} episode(s) failed and are in no table; running the same "
        f"command again tries them again.<ul>{items}</ul></div>"
    )


def render_table(table: Table, *, heading: bool = False) -> str:
    """Return a Table as HTML: numbers right, missing values as a dash, notes below.

    Columns in which nothing stands (the control column of a table without controls) are left out.
    """
    table = _without_empty_columns(table)
    numeric = [
        all(isinstance(row[i], int | float) or row[i] is None for row in table.rows)
        for i in range(len(table.columns))
    ]
    head = "".join(
        f"<th{' class=number' if numeric[i] else ''}>{escape(str(c)).replace(chr(10), '<br>')}</th>"
        for i, c in enumerate(table.columns)
    )
    body = "".join(
        "<tr>" + "".join(_cell(value, numeric[i]) for i, value in enumerate(row)) + "</tr>"
        for row in table.rows
    )
    notes = "".join(f"<p class='note'>{escape(note)}</p>" for note in table.notes)
    title = f"<h3>{escape(table.title)}</h3>" if heading else ""
    return (
        f"{title}<div class='scroll'><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>{notes}"
    )


def _without_empty_columns(table: Table) -> Table:
    kept = [
        i
        for i in range(len(table.columns))
        if not table.rows or any(row[i] not in (None, "") for row in table.rows)
    ]
    return Table(
        table.title,
        tuple(table.columns[i] for i in kept),
        tuple(tuple(row[i] for i in kept) for row in table.rows),
        table.notes,
    )


def _cell(value: Any, numeric: bool) -> str:
    kind = " class=number" if numeric else ""
    if value is None:
        return f"<td{kind}><span class=none>&ndash;</span></td>"
    return f"<td{kind}>{escape(format_value(value))}</td>"


def format_value(value: Any) -> str:
    """Return a table cell as text: four significant figures, counts whole, None as a dash."""
    if value is None:
        return "–"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 10 else f"{value:.2f}"
    return str(value)


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
            high = 1.0 if kind == "0 to 1" else max(1.0, min(top, 4.0))
            caption = "scores from 0 to 1" if kind == "0 to 1" else "R2M-Bench memory ratio (NMR)"
            parts.append(
                f"<figure><figcaption>{caption}</figcaption>{range_plot(lines, high=high)}</figure>"
            )
    legend = (
        f"<p class='small'><span style='color:{PALETTE[0]}'>&#9679; this world</span> &nbsp; "
        + " &nbsp; ".join(
            f"<span style='color:{colour}'>{_GLYPHS[shape]} {name}</span>"
            for name, shape, colour in _CONTROL_MARKS
        )
        + "</p>"
    )
    return f"{legend}<div class='plots'>{''.join(parts)}</div>" if parts else ""


_CONTROL_MARKS = (
    ("perfect", "bar", "#059669"),
    ("amnesiac", "cross", "#dc2626"),
    ("frozen", "square", "#6b7280"),
)
_GLYPHS = {"bar": "&#9614;", "cross": "&#10005;", "square": "&#9633;"}


def _decay(rows: Sequence[Row]) -> str:
    """Return the decay curves: mean over targets and cases at R1, R2, ... a script and world."""
    wanted = [
        row
        for row in rows
        if row.benchmark == "worldmembench"
        and row.revisit is not None
        and row.variant in ("", "core")
        and row.metric.split("_")[0] in ("human", "object", "environment")
    ]
    plots = []
    for metric in sorted({row.metric for row in wanted}):
        series = []
        mine = [row for row in wanted if row.metric == metric]
        deepest = max((row.revisit or 1) for row in mine)
        for control in ("", "perfect", "amnesiac", "frozen"):
            for script in sorted({row.script for row in mine}):
                values = _by_revisit(
                    row for row in mine if row.control == control and row.script == script
                )
                if len(values) > 1 and any(v is not None for v in values.values()):
                    name = f"{control or 'this world'}, {script.split(':')[-1]}"
                    series.append((name, list(values), list(values.values())))
        if not series:
            continue
        found = entry("worldmembench", metric)
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


def _by_revisit(rows: Iterable[Row]) -> dict[float, float | None]:
    values: dict[float, list[float]] = defaultdict(list)
    for row in rows:
        assert row.revisit is not None
        if row.value is not None:
            values[row.revisit].append(row.value)
        elif row.status in ("absent", "no_observation"):
            values[row.revisit].append(0.0)
    return {k: float(np.mean(v)) for k, v in sorted(values.items())}


def _episodes(run: Path, found: Sequence[tuple[str, EpisodeRecord]], rows: Sequence[Row]) -> str:
    done = [(name, record) for name, record in found if record.status == "done"]
    shown = sorted(done, key=lambda pair: bool(pair[1].control))[:SHOWN_EPISODES]
    by_episode: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_episode[row.episode].append(row)
    parts = ["<h2 id='episodes'>Episodes</h2>"]
    if len(shown) < len(done):
        parts.append(
            f"<p class='small'>{len(shown)} of {len(done)} episodes are shown; the others are in "
            "the episode folders.</p>"
        )
    for name, record in shown:
        parts.append(_episode(run / "episodes" / name, name, record, by_episode[name]))
    return "\n".join(parts)


def _episode(folder: Path, name: str, record: EpisodeRecord, rows: Sequence[Row]) -> str:
    control = f" &middot; control: {escape(record.control)}" if record.control else ""
    heading = (
        f"<h3>{escape(record.case)} &middot; {escape(record.script)} &middot; seed {record.seed}"
        f"{control}</h3>"
    )
    try:
        rollout = Rollout.load(folder)
        picture = f"<div class='strip'>{_strip(rollout)}</div>{_paths(rollout)}"
    except InvalidRollout as error:
        picture = f"<p class='small'>No frames: {escape(str(error))}</p>"
    listed = "".join(
        "<tr>"
        + "".join(
            _cell(value, i in (4, 5))
            for i, value in enumerate(
                (
                    row.metric,
                    row.variant,
                    row.target,
                    None if row.revisit is None else f"R{row.revisit}",
                    row.value,
                    f"{row.n_valid}/{row.n_expected}",
                    row.status,
                    row.id,
                )
            )
        )
        + "</tr>"
        for row in rows
    )
    return (
        f"<div class='episode' id='{escape(name, quote=True)}'>{heading}"
        f"{picture}<details><summary>{len(rows)} scores</summary>"
        "<div class='scroll'><table><thead><tr><th>metric</th><th>variant</th><th>target</th>"
        "<th>revisit</th><th class=number>value</th><th class=number>n</th><th>status</th>"
        f"<th>score id</th></tr></thead><tbody>{listed}</tbody></table></div></details></div>"
    )


def strip_frames(phases: Sequence[str | None] | None, count: int) -> list[tuple[int, str]]:
    """Return (frame, label) of a filmstrip: what every phase leads to, or evenly spread frames.

    V is shown by its first frame; D_k, R_k and H by their last, D_k and R_k also by their middle
    while there are few of them.
    """
    if phases is None or not any(phases):
        return [(int(i), "") for i in np.linspace(0, count - 1, min(7, count))]
    frames: dict[str, list[int]] = {}
    for i, phase in enumerate(phases):
        if phase is not None:
            frames.setdefault(phase, []).append(i)
    shown: list[tuple[int, str]] = []
    for phase, mine in frames.items():
        if phase[0] in "DR" and len(frames) < 5:
            shown.append((mine[len(mine) // 2], phase))
        shown.append((mine[0] if phase == "V" else mine[-1], phase))
    return shown


def thumbnail(frame: NDArray[np.uint8], height: int = 132) -> str:
    """Return a frame as an ``img`` element with its JPEG inside."""
    scale = height / frame.shape[0]
    small = cv2.resize(
        frame, (max(1, round(frame.shape[1] * scale)), height), interpolation=cv2.INTER_AREA
    )
    _, data = cv2.imencode(".jpg", small[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 85])
    text = base64.b64encode(data.tobytes()).decode()
    return (
        f"<img alt='' width={small.shape[1]} height={height} src='data:image/jpeg;base64,{text}'>"
    )


def _strip(rollout: Rollout) -> str:
    parts = []
    for frame, label in strip_frames(rollout.phases, len(rollout)):
        image = thumbnail(rollout.frames(frame, frame + 1)[0])
        parts.append(
            f"<figure>{image}<figcaption><span class='phase'>{escape(label)}</span> {frame}"
            "</figcaption></figure>"
        )
    return "".join(parts)


def _paths(rollout: Rollout) -> str:
    paths = [("target", rollout.target.poses)]
    if rollout.realised is not None:
        paths.append(("realised", rollout.realised))
    plot = path_plot(paths, rollout.phases)
    caption = "camera from above; yaw (thick) and pitch (thin) over time"
    if rollout.realised is not None:
        caption += "; dashed: realised"
    return f"<figure><figcaption>{caption}</figcaption>{plot}</figure>"


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

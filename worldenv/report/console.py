"""What the command line shows: estimates, progress, tables."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table as RichTable

from worldenv.controls import CONTROLS

if TYPE_CHECKING:
    from worldenv.bench import Estimate
    from worldenv.calibration import Calibration
    from worldenv.evaluators.stats import Table

# A pipe has no width; rich would take 80 columns and cut the numbers.
_WIDTH = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 150
console = Console(width=_WIDTH)
errors = Console(stderr=True)


def lasting(seconds: float | None) -> str:
    """Return how long something will take, in words."""
    if seconds is None:
        return "unknown time"
    minutes, rest = divmod(round(seconds), 60)
    return f"about {minutes} min {rest:02d} s" if minutes else f"about {rest} s"


def print_estimate(estimate: Estimate) -> None:
    """Print what a run will take."""
    console.print(
        f"{len(estimate.frames)} episodes, {sum(estimate.frames.values()):,} frames, "
        f"{lasting(estimate.seconds)} "
        f"({estimate.basis}), {estimate.bytes / 1e6:,.0f} MB",
        highlight=False,
    )


@contextlib.contextmanager
def progress_bar(counts: dict[str, int] | None, unit: str = "frames") -> Iterator[Any]:
    """Show progress in frames or another unit; yields the callback that moves it."""
    total = None if counts is None else sum(counts.values())
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn(unit),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=not console.is_terminal,
    )
    with bar:
        task = bar.add_task("", total=total)

        def advance(episode: str, frames: int) -> None:
            bar.update(task, advance=frames, description=escape(episode[-44:]))

        yield advance


def print_summary(table: Table) -> None:
    """Print the summary of a run: benchmarks as sections, intervals and counts in one cell."""
    from worldenv.report.html import format_value

    rich = RichTable(title=table.title, title_justify="left", title_style="bold")
    cells = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    walked = [name for name in CONTROLS if any(cell[name] is not None for cell in cells)]
    rich.add_column("metric", no_wrap=True)
    for column in ("mean", "95 %", "n", *walked):
        rich.add_column(column, justify="right", no_wrap=True)
    rich.add_column("measured by")
    section = ""
    for cell in cells:
        if cell["benchmark"] != section:
            section = cell["benchmark"]
            rich.add_section()
            rich.add_row(f"[bold]{escape(section)}[/]")
        shown = [format_value(cell["mean"]), *(_short(cell[k]) for k in walked)]
        interval = "" if cell["low"] is None else f"{cell['low']:.3f}..{cell['high']:.3f}"
        count = str(cell["n"]) if cell["coverage"] == 1 else f"{cell['n']} ({cell['coverage']:.0%})"
        name = f"{cell['metric']} {cell['variant']}".strip()
        rich.add_row(escape(name), shown[0], interval, count, *shown[1:], escape(cell["backbone"]))
    console.print(rich)
    for note in table.notes:
        console.print(f"  {escape(note)}", style="dim", soft_wrap=True)


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def print_table(table: Table) -> None:
    """Print a Table."""
    from worldenv.report.html import format_value

    rich = RichTable(title=table.title, title_justify="left", title_style="bold")
    for i, column in enumerate(table.columns):
        values = [row[i] for row in table.rows]
        numbers = all(v is None or isinstance(v, int | float) for v in values)
        rich.add_column(escape(str(column)), justify="right" if numbers else "left")
    for row in table.rows:
        rich.add_row(*(escape(format_value(value)) for value in row))
    console.print(rich)
    for note in table.notes:
        console.print(f"  {escape(note)}", style="dim", soft_wrap=True)


def print_calibration(calibration: Calibration) -> None:
    """Print what the page says in short: each metric, what was not as expected, the claims."""
    from worldenv.report import calibration_tables as tables
    from worldenv.report.calibration_matrix import VERDICTS
    from worldenv.report.page import TITLES

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
    measured = tuple(c for c in calibration.controls if c.holds is not None)
    if measured:
        print_table(tables.claims(replace(calibration, controls=measured)))
    if len(measured) < len(calibration.controls):
        missing = len(calibration.controls) - len(measured)
        console.print(f"{missing} further claims need more faults or cases.", highlight=False)
    said = ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS if found[verdict])
    console.print(f"{len(calibration.responses)} curves: {said or 'none'}", highlight=False)


_PRINTED = (
    "metric",
    "perfect",
    "noise",
    "senses",
    "ignores",
    "most moved by",
)

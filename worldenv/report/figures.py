"""Figures of a run for papers and slides, by matplotlib (extra ``report``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from worldenv import store
from worldenv.controls import CONTROLS
from worldenv.report.glossary import entry
from worldenv.report.page import decay_series
from worldenv.report.summary import summarise
from worldenv.run_folder import read_run
from worldenv.schedule import is_perfect_run
from worldenv.world import Unsupported

_MARKS = {
    "perfect": ("|", "#059669"),
    "codec": ("_", "#059669"),
    "amnesiac": ("x", "#dc2626"),
    "frozen": ("s", "#6b7280"),
    "slow": ("^", "#7c3aed"),
    "drift": ("D", "#d97706"),
}


def write_figures(run: Path, folder: Path) -> list[Path]:
    """Write the summary and the decay curves of a run as PDF and PNG; return the files.

    Raises:
        StoreError: ``run`` is no run, or ``folder`` cannot be written.
        Unsupported: matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError as error:
        raise Unsupported("Figures need matplotlib: pip install 'worldenv[report]'.") from error
    matplotlib.use("Agg")
    rows = store.read_index(run)
    table = summarise(rows, perfect=is_perfect_run(read_run(run)))
    cells = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    scores = [cell for cell in cells if cell["benchmark"] != "r2m"]
    ratios = [cell for cell in cells if cell["variant"] == "nmr"]
    figures = {"scores": _summary(scores), "memory_ratio": _summary(ratios)}
    for metric, series in decay_series(rows).items():
        figures[f"decay_{metric}"] = _decay(metric, series)
    written = []
    with store.explain_os_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, figure in figures.items():
            for kind in ("pdf", "png"):
                path = folder / f"{name}.{kind}"
                figure.savefig(path, bbox_inches="tight", dpi=160)
                written.append(path)
    return written


def _summary(cells: list[dict[str, Any]]) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 0.28 * len(cells) + 1))
    axes = figure.add_subplot()
    for y, cell in enumerate(reversed(cells)):
        for name in CONTROLS:
            if cell[name] is not None:
                marker, colour = _MARKS[name]
                axes.plot(cell[name], y, marker, color=colour, ms=7, mfc="none", label=name)
        if cell["low"] is not None:
            axes.plot([cell["low"], cell["high"]], [y, y], color="#2563eb", lw=1.5)
        axes.plot(cell["mean"], y, "o", color="#2563eb", ms=5, label="this world")
    names = [f"{c['benchmark']} {c['metric']} {c['variant']}".strip() for c in reversed(cells)]
    axes.set_yticks(range(len(cells)), names, fontsize=7)
    axes.grid(axis="x", color="#e5e7eb")
    drawn, labels = axes.get_legend_handles_labels()
    shown = dict(zip(labels, drawn, strict=True))
    axes.legend(shown.values(), shown.keys(), fontsize=7)
    return figure


def _decay(metric: str, series: Any) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4, 3))
    axes = figure.add_subplot()
    for name, revisits, values in series:
        axes.plot(revisits, values, "o-", label=name, lw=1.5)
    deepest = int(max(x for _, revisits, _ in series for x in revisits))
    axes.set_xticks(range(1, deepest + 1), [f"R{k}" for k in range(1, deepest + 1)])
    axes.set_ylim(0, 1.03)
    found = entry("worldmembench", metric)
    axes.set_title(found.title if found else metric, fontsize=9)
    axes.legend(fontsize=7)
    axes.grid(color="#e5e7eb")
    return figure

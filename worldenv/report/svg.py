"""Small plots as SVG text: curves, camera paths and ranges, without a plotting library.

The core install has none, and a report must open anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PALETTE = ("#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#be185d", "#4b5563")

PHASE_COLOURS = {"V": "#6b7280", "D": "#d97706", "R": "#2563eb", "H": "#9ca3af"}


def line_plot(
    series: Sequence[tuple[str, Sequence[float], Sequence[float | None]]],
    *,
    x_label: str,
    y_label: str,
    ticks: Sequence[tuple[float, str]],
    low: float = 0.0,
    high: float = 1.0,
    size: tuple[int, int] = (420, 240),
) -> str:
    """Return a plot of lines with points; a None breaks its line.

    Args:
        series: (name, x values, y values) of each line.
        x_label: Text below.
        y_label: Text at the side.
        ticks: (x, label) marks of the x axis.
        low: Smallest y.
        high: Largest y.
        size: (width, height) in pixels, legend included.
    """
    width, height = size
    left, right, top, bottom = 46, 10, 10, 40 + 16 * ((len(series) + 1) // 2)
    xs = [x for _, values, _ in series for x in values] or [0.0]
    x0, x1 = min(xs), max(xs)
    span_x, span_y = (x1 - x0) or 1.0, (high - low) or 1.0

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            left + (x - x0) / span_x * (width - left - right),
            top + (high - min(max(y, low), high)) / span_y * (height - top - bottom),
        )

    parts = [_open(width, height)]
    for fraction in (0, 0.25, 0.5, 0.75, 1):
        value = low + fraction * span_y
        _, y = at(x0, value)
        parts.append(
            f'<line x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>'
            f'<text x="{left - 6}" y="{y + 4:.1f}" class="tick" text-anchor="end">'
            f"{value:.2g}</text>"
        )
    base = height - bottom
    for x, label in ticks:
        px, _ = at(x, low)
        parts.append(
            f'<text x="{px:.1f}" y="{base + 16}" class="tick" text-anchor="middle">'
            f"{escape(label)}</text>"
        )
    parts.append(
        f'<text x="{(left + width - right) / 2:.0f}" y="{base + 32}" class="label" '
        f'text-anchor="middle">{escape(x_label)}</text>'
        f'<text transform="rotate(-90)" x="{-(top + base) / 2:.0f}" y="12" class="label" '
        f'text-anchor="middle">{escape(y_label)}</text>'
    )
    for index, (name, values, heights) in enumerate(series):
        colour = PALETTE[index % len(PALETTE)]
        points: list[str] = []
        for x, height_of in zip(values, heights, strict=True):
            if height_of is None:
                parts.append(_polyline(points, colour))
                points = []
                continue
            px, py = at(x, height_of)
            points.append(f"{px:.1f},{py:.1f}")
            parts.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour}"/>')
        parts.append(_polyline(points, colour))
        lx = left + (index % 2) * (width - left - right) / 2
        ly = base + 46 + 16 * (index // 2)
        parts.append(
            f'<rect x="{lx:.0f}" y="{ly - 8}" width="10" height="10" fill="{colour}"/>'
            f'<text x="{lx + 15:.0f}" y="{ly + 1}" class="tick">{escape(name)}</text>'
        )
    return "".join([*parts, "</svg>"])


def path_plot(
    paths: Sequence[tuple[str, NDArray[np.float64]]],
    phases: Sequence[str | None] | None,
    *,
    size: tuple[int, int] = (640, 132),
) -> str:
    """Return the camera's way seen from above, and beside it yaw and pitch over time.

    Args:
        paths: (name, poses (n, 4, 4)); the first is the target, drawn by phase.
        phases: Phase per frame of the first path.
        size: (width, height) in pixels.
    """
    width, height = size
    parts = [_open(width, height), _map(paths, phases, height)]
    curves = [angles(poses) for _, poses in paths]
    limit = max(10.0, *(float(np.abs(curve).max()) for curve in curves))
    box = (height + 44, 8, width - 8, height - 20)
    parts.append(_bands(phases, box, len(paths[0][1])))
    for number, curve in enumerate(curves):
        for angle, thickness in zip(curve, (1.8, 0.9), strict=True):
            x = np.linspace(box[0], box[2], len(angle))
            y = (box[1] + box[3]) / 2 - angle / limit * (box[3] - box[1]) / 2
            parts.append(_curve(x, y, number, thickness))
    parts += [
        f'<text x="{box[0] - 5}" y="{box[1] + 6}" class="tick" text-anchor="end">'
        f"{limit:.0f}&#176;</text>",
        f'<text x="{box[0] - 5}" y="{box[3] + 2}" class="tick" text-anchor="end">'
        f"&#8722;{limit:.0f}&#176;</text>",
    ]
    return "".join([*parts, "</svg>"])


def angles(poses: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return (yaw, pitch) in degrees over time; yaw goes on past 180."""
    yaw = np.degrees(np.unwrap(np.arctan2(poses[:, 0, 2], poses[:, 2, 2])))
    return yaw, np.degrees(np.arcsin(np.clip(-poses[:, 1, 2], -1, 1)))


def _map(
    paths: Sequence[tuple[str, NDArray[np.float64]]],
    phases: Sequence[str | None] | None,
    side: int,
) -> str:
    """Return positions from above in a square, with the view direction at a few frames."""
    target = paths[0][1]
    everything = np.concatenate([poses[:, :3, 3] for _, poses in paths])
    centre = (everything.max(0) + everything.min(0)) / 2
    extent = max(float((everything.max(0) - everything.min(0))[[0, 2]].max()), 0.5) * 1.5

    def place(at: NDArray[np.float64]) -> NDArray[np.float64]:
        scale = side / extent
        return np.stack(
            [
                side / 2 + (at[:, 0] - centre[0]) * scale,
                side / 2 - (at[:, 2] - centre[2]) * scale,
            ]
        )

    parts = []
    for number, (_, poses) in enumerate(paths):
        x, y = place(poses[:, :3, 3])
        parts.append(_curve(x, y, number, 1.4))
    shown = np.linspace(0, len(target) - 1, 13).astype(int)
    for i, (x, y) in zip(shown, place(target[shown, :3, 3]).T, strict=True):
        phase = (phases[i] if phases is not None else None) or ""
        colour = PHASE_COLOURS.get(phase[:1], "#6b7280")
        dx, dy = target[i, 0, 2] * 14, -target[i, 2, 2] * 14
        parts.append(
            f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x + dx:.1f}" y2="{y + dy:.1f}" '
            f'stroke="{colour}" stroke-width="2"/>'
        )
    x, y = place(target[:1, :3, 3])[:, 0]
    parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#059669"/>')
    parts.append(f'<text x="2" y="{side - 4}" class="tick">{extent:.1f} m across</text>')
    return "".join(parts)


def _bands(phases: Sequence[str | None] | None, box: tuple[int, int, int, int], count: int) -> str:
    """Return coloured bands of the phases with their names below."""
    if phases is None:
        return ""
    left, top, right, bottom = box
    x = np.linspace(left, right, count)
    parts, start = [], 0
    for i in range(1, count + 1):
        if i < count and phases[i] == phases[start]:
            continue
        phase, x0, x1 = phases[start], x[start], x[min(i, count - 1)]
        if phase is not None:
            parts.append(
                f'<rect x="{x0:.1f}" y="{top}" width="{max(x1 - x0, 0.5):.1f}" '
                f'height="{bottom - top}" fill="{PHASE_COLOURS[phase[:1]]}" opacity="0.14"/>'
            )
            if x1 - x0 > 12:
                parts.append(
                    f'<text x="{(x0 + x1) / 2:.1f}" y="{bottom + 15}" class="tick" '
                    f'text-anchor="middle">{escape(phase)}</text>'
                )
        start = i
    return "".join(parts)


def _curve(x: NDArray[np.float64], y: NDArray[np.float64], number: int, thickness: float) -> str:
    """Return the line of the target (number 0) or of a path beside it (dashed)."""
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    stroke, dash = ("#111827", "") if number == 0 else (PALETTE[3], ' stroke-dasharray="4 3"')
    return (
        f'<polyline points="{points}" fill="none" stroke="{stroke}"{dash} '
        f'stroke-width="{thickness}"/>'
    )


class Mark(NamedTuple):
    """A value on a range plot; ``low`` and ``high`` draw an interval."""

    value: float
    colour: str
    shape: str = "dot"
    low: float | None = None
    high: float | None = None


def range_plot(
    lines: Sequence[tuple[str, Sequence[Mark]]], *, high: float = 1.0, width: int = 1120
) -> str:
    """Return a line a metric with its marks on one axis from 0 to ``high``."""
    left, right, step, top = 300, 16, 22, 22
    height = top + step * len(lines) + 6
    parts = [_open(width, height)]

    def at(value: float) -> float:
        return left + min(max(value / high, 0.0), 1.0) * (width - left - right)

    for fraction in (0, 0.25, 0.5, 0.75, 1):
        x = at(fraction * high)
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 6}" y2="{height - 4}" class="grid"/>'
            f'<text x="{x:.1f}" y="12" class="tick" text-anchor="middle">{fraction * high:.2g}'
            "</text>"
        )
    for row, (name, marks) in enumerate(lines):
        y = top + step * row + step / 2
        parts.append(
            f'<text x="{left - 10}" y="{y + 4:.0f}" class="tick" text-anchor="end">'
            f"{escape(name)}</text>"
        )
        parts += [_mark(mark, at, y) for mark in marks]
    return "".join([*parts, "</svg>"])


def _mark(mark: Mark, at: Callable[[float], float], y: float) -> str:
    x = at(mark.value)
    drawn = ""
    if mark.low is not None and mark.high is not None:
        drawn = (
            f'<line x1="{at(mark.low):.1f}" x2="{at(mark.high):.1f}" y1="{y:.1f}" y2="{y:.1f}" '
            f'stroke="{mark.colour}" stroke-width="2"/>'
        )
    if mark.shape == "bar":
        return drawn + (
            f'<rect x="{x - 1.5:.1f}" y="{y - 8:.1f}" width="3" height="16" fill="{mark.colour}"/>'
        )
    if mark.shape == "square":
        return drawn + (
            f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="none" '
            f'stroke="{mark.colour}" stroke-width="1.6"/>'
        )
    if mark.shape == "cross":
        return drawn + (
            f'<path d="M{x - 4:.1f},{y - 4:.1f} l8,8 m0,-8 l-8,8" stroke="{mark.colour}" '
            'stroke-width="1.8"/>'
        )
    outlined = {
        "diamond": f"M{x:.1f},{y - 5.5:.1f} l5.5,5.5 -5.5,5.5 -5.5,-5.5 z",
        "triangle": f"M{x:.1f},{y - 5:.1f} l5,9 -10,0 z",
        "open bar": f"M{x - 2.5:.1f},{y - 7:.1f} h5 v14 h-5 z",
    }
    if mark.shape in outlined:
        return drawn + (
            f'<path d="{outlined[mark.shape]}" fill="none" stroke="{mark.colour}" '
            'stroke-width="1.6"/>'
        )
    return drawn + f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{mark.colour}"/>'


def _open(width: int, height: int) -> str:
    return f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'


def _polyline(points: Sequence[str], colour: str) -> str:
    if len(points) < 2:
        return ""
    return f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="2"/>'

"""Small plots as SVG text: decay curves and camera paths, without a plotting library.

The core install has none, and a report must open anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

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
    size: tuple[int, int] = (300, 240),
) -> str:
    """Return the camera's positions seen from above, with its view direction and yaw over time.

    Args:
        paths: (name, poses (n, 4, 4)); the first is the target, drawn by phase.
        phases: Phase per frame of the first path.
        size: (width, height) in pixels.
    """
    width, height = size
    map_height = height * 0.55
    everything = np.concatenate([poses[:, :3, 3] for _, poses in paths])
    centre = (everything.max(0) + everything.min(0)) / 2
    extent = max(float((everything.max(0) - everything.min(0))[[0, 2]].max()), 0.5) * 1.25
    scale = min(width, map_height) / extent

    def place(position: NDArray[np.float64]) -> tuple[float, float]:
        return (
            width / 2 + (position[0] - centre[0]) * scale,
            map_height / 2 - (position[2] - centre[2]) * scale,
        )

    parts = [_open(width, height)]
    for number, (name, poses) in enumerate(paths):
        stroke = "#111827" if number == 0 else PALETTE[3]
        dash = "" if number == 0 else ' stroke-dasharray="4 3"'
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(place, poses[:, :3, 3]))
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{stroke}"{dash} stroke-width="1.5">'
            f"<title>{escape(name)}</title></polyline>"
        )
        parts.append(_yaw_curve(poses, phases if number == 0 else None, size, map_height, stroke))
    target = paths[0][1]
    for i in np.linspace(0, len(target) - 1, 13).astype(int):
        x, y = place(target[i, :3, 3])
        dx, dy = target[i, 0, 2] * 13, -target[i, 2, 2] * 13
        phase = (phases[i] if phases is not None else None) or ""
        colour = PHASE_COLOURS.get(phase[:1], "#6b7280")
        parts.append(
            f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{x + dx:.1f}" y2="{y + dy:.1f}" '
            f'stroke="{colour}" stroke-width="2"/>'
        )
    x, y = place(target[0, :3, 3])
    parts.append(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#059669"><title>start</title></circle>'
    )
    parts.append(f'<text x="4" y="12" class="tick">from above, {extent:.1f} m across</text>')
    return "".join([*parts, "</svg>"])


def _yaw_curve(
    poses: NDArray[np.float64],
    phases: Sequence[str | None] | None,
    size: tuple[int, int],
    map_height: float,
    stroke: str,
) -> str:
    """Return yaw (solid) and pitch (thin) over time in the lower part of a path plot."""
    width, height = size
    top, bottom = map_height + 14, height - 16
    yaw = np.degrees(np.unwrap(np.arctan2(poses[:, 0, 2], poses[:, 2, 2])))
    pitch = np.degrees(np.arcsin(np.clip(-poses[:, 1, 2], -1, 1)))
    limit = max(10.0, float(np.abs(yaw).max()), float(np.abs(pitch).max()))
    x = np.linspace(28, width - 6, len(poses))

    def y_of(angle: NDArray[np.float64]) -> NDArray[np.float64]:
        return (top + bottom) / 2 - angle / limit * (bottom - top) / 2

    parts = []
    if phases is not None:
        start = 0
        for i in range(1, len(phases) + 1):
            if i == len(phases) or phases[i] != phases[start]:
                phase = phases[start] or ""
                colour = PHASE_COLOURS.get(phase[:1], "#ffffff")
                left, right = x[start], x[min(i, len(phases) - 1)]
                parts.append(
                    f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(right - left, 0.5):.1f}" '
                    f'height="{bottom - top:.1f}" fill="{colour}" opacity="0.13"/>'
                    f'<text x="{(left + right) / 2:.1f}" y="{height - 4}" class="tick" '
                    f'text-anchor="middle">{escape(phase)}</text>'
                )
                start = i
        parts.append(
            f'<text x="24" y="{top + 8:.0f}" class="tick" text-anchor="end">'
            f"{limit:.0f}&#176;</text>"
        )
    for angle, thickness in ((yaw, 1.6), (pitch, 0.8)):
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y_of(angle), strict=True))
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{stroke}" '
            f'stroke-width="{thickness}"/>'
        )
    return "".join(parts)


def _open(width: int, height: int) -> str:
    return f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img">'


def _polyline(points: Sequence[str], colour: str) -> str:
    if len(points) < 2:
        return ""
    return f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="2"/>'

"""Curves of a calibration as SVG: a score against the dose of a fault, with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from worldenv.calibration import Calibration, Response, Subject

__all__ = ["COLOURS", "dose_plot", "forgetting_figure", "limits_of"]

COLOURS = {
    "as expected": "#1d4ed8",
    "not as expected": "#c2410c",
    "open": "#4b5563",
    "not measured": "#9ca3af",
}
"""Verdict -> colour of its curve."""

_LINES = ("#1d4ed8", "#c2410c", "#047857", "#047857")
_PAPER, _INK, _SOFT, _GRID = "#ffffff", "#111827", "#4b5563", "#e5e7eb"


class _Curve(NamedTuple):
    """Points of a curve that has values: dose, mean, and the ends of the interval."""

    doses: tuple[float, ...]
    means: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]


class _Box(NamedTuple):
    """Where a curve is drawn, pixels, and which scores its lower and upper edge stand for."""

    left: float
    top: float
    right: float
    bottom: float
    low: float
    high: float

    def at(self, dose: float, score: float) -> str:
        """Return the place of a point as ``x,y``."""
        inside = min(max(score, self.low), self.high)
        x = self.left + dose * (self.right - self.left)
        y = self.bottom - (inside - self.low) / (self.high - self.low) * (self.bottom - self.top)
        return f"{x:.1f},{y:.1f}"


def limits_of(subject: Subject, responses: Sequence[Response]) -> tuple[float, float]:
    """Return the lowest and highest score that the curves of a subject need to be drawn."""
    seen = [
        value
        for response in responses
        for value in (*response.means, *response.lows, *response.highs)
        if value is not None
    ]
    if not seen:
        return subject.low, max(subject.high, subject.low + 1e-9)
    low, high = min(seen), max(seen)
    # A score that moves by a hundredth of its range is to look as flat as it is.
    least = 0.2 * max(subject.high - subject.low, 1e-9)
    if high - low < least:
        middle = (low + high) / 2
        low, high = middle - least / 2, middle + least / 2
    if subject.bounded:
        low, high = max(low, subject.low), min(high, subject.high)
    return (low, high) if high > low else (low, low + 1e-9)


def dose_plot(
    response: Response,
    limits: tuple[float, float],
    size: tuple[int, int] = (172, 104),
) -> str:
    """Return a small plot of a score against the dose of a fault, dashed where dose 0 is.

    Args:
        response: What is drawn; without any value the plot says so.
        limits: Lowest and highest score.
        size: (width, height) in pixels.
    """
    width, height = size
    box = _Box(34, 6, width - 6, height - 16, *limits)
    parts = [
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{escape(response.fault)}">'
    ]
    parts += _axes(box, [limits[0], limits[1]], [(0.0, "0"), (0.5, "dose"), (1.0, "1")])
    curve = _curve(response)
    if curve is None:
        middle = (box.left + box.right) / 2
        parts.append(
            f'<text x="{middle:.0f}" y="{height / 2:.0f}" text-anchor="middle" class="label">'
            "no value</text>"
        )
    else:
        a, b = (box.at(dose, curve.means[0]).split(",") for dose in (0, 1))
        parts.append(
            f'<line x1="{a[0]}" y1="{a[1]}" x2="{b[0]}" y2="{b[1]}" stroke="{_SOFT}" '
            'stroke-dasharray="3 3"/>'
        )
        parts += _drawn(box, curve, COLOURS[response.verdict])
    return "".join([*parts, "</svg>"])


_AGGREGATES = (
    ("WorldMemBench", ("worldmembench/mean/core", "worldmembench/mean/whole")),
    ("MBench", ("mbench/total", "mbench/environment", "mbench/entity")),
    ("R2M-Bench", ("r2m/overall/nmr", "r2m/mean/nmr")),
    ("R2M-Bench, gain", ("r2m/mean/mg",)),
)
"""Title -> keys of the benchmark's aggregate, the first that was measured being drawn."""

_SAID = {
    "mean/core": "mean of its metrics, core",
    "mean/whole": "mean of its metrics, whole",
    "total": "total",
    "environment": "environment",
    "entity": "entity",
    "overall/nmr": "overall memory ratio",
    "mean/nmr": "memory ratio, mean of its families",
    "mean/mg": "memory gain, mean of its families",
}


def forgetting_figure(calibration: Calibration, fault: str = "forget") -> str:
    """Return a picture of what each benchmark's aggregate score does when a world forgets.

    A panel a benchmark, of R2M-Bench another for the gain beneath its ratio; a scale of its own
    each. The band is the interval over cases. It stands alone as an SVG file.

    Args:
        calibration: What was found.
        fault: What was planted.

    Raises:
        ValueError: no aggregate was measured under that fault.
    """
    panels = []
    for (title, keys), colour in zip(_AGGREGATES, _LINES, strict=True):
        for key in keys:
            found = [r for r in calibration.responses if (r.subject, r.fault) == (key, fault)]
            curve = _curve(found[0]) if found else None
            if curve is not None:
                panels.append((title, calibration.subject(key), curve, colour))
                break
    if not panels:
        raise ValueError(f"the calibration has no aggregate score under the fault {fault!r}")
    side, height, gap = 250, 250, 26
    width = len(panels) * (side + gap) + gap
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img"><title>Scores against planted {escape(fault)}</title>'
        "<style>text{font:11px system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif;fill:"
        f"{_SOFT}}}.title{{font-size:14px;font-weight:600;fill:{_INK}}}.grid{{stroke:{_GRID}}}"
        f'</style><rect width="{width}" height="{height}" fill="{_PAPER}"/>'
    ]
    for number, (title, subject, curve, colour) in enumerate(panels):
        left = gap + number * (side + gap)
        low, high, ticks = _rounded(min(curve.lows), max(curve.highs))
        if subject.bounded:
            low, high = max(low, subject.low), min(high, subject.high)
            ticks = [tick for tick in ticks if low <= tick <= high]
        box = _Box(left + 34, 52, left + side, height - 44, low, high)
        said = _SAID[subject.key.partition("/")[2]]
        parts.append(
            f'<text x="{left}" y="18" class="title">{title}</text>'
            f'<text x="{left}" y="35">{escape(said)}</text>'
        )
        parts += _axes(box, ticks, [(d, f"{d:g}") for d in curve.doses])
        parts += _drawn(box, curve, colour, thickness=2.2)
        parts.append(
            f'<text x="{(box.left + box.right) / 2:.0f}" y="{height - 8}" text-anchor="middle">'
            f"{_DOSES.get(fault, f'planted {escape(fault)}, dose')}</text>"
        )
    return "".join([*parts, "</svg>\n"])


_DOSES = {"forget": "planted forgetting, dose"}


def _curve(response: Response) -> _Curve | None:
    """Return the points that have a value; a missing end of an interval is the mean itself."""
    rows = [
        (dose, mean, mean if low is None else low, mean if high is None else high)
        for dose, mean, low, high in zip(
            response.doses, response.means, response.lows, response.highs, strict=True
        )
        if mean is not None
    ]
    return _Curve(*(tuple(column) for column in zip(*rows, strict=True))) if rows else None


def _axes(box: _Box, scores: Sequence[float], doses: Sequence[tuple[float, str]]) -> list[str]:
    parts = []
    for score in scores:
        y = float(box.at(0, score).split(",")[1])
        parts.append(
            f'<line x1="{box.left:.0f}" x2="{box.right:.0f}" y1="{y:.1f}" y2="{y:.1f}" '
            f'class="grid"/><text x="{box.left - 5:.0f}" y="{y + 4:.1f}" text-anchor="end">'
            f"{short(score)}</text>"
        )
    for dose, label in doses:
        x = box.at(dose, box.low).split(",")[0]
        parts.append(
            f'<text x="{x}" y="{box.bottom + 14:.0f}" text-anchor="middle">{escape(label)}</text>'
        )
    return parts


def _drawn(box: _Box, curve: _Curve, colour: str, thickness: float = 1.6) -> list[str]:
    """Return band, line and points."""
    above = [box.at(d, s) for d, s in zip(curve.doses, curve.highs, strict=True)]
    below = [box.at(d, s) for d, s in zip(curve.doses, curve.lows, strict=True)]
    line = [box.at(d, s) for d, s in zip(curve.doses, curve.means, strict=True)]
    return [
        f'<polygon points="{" ".join(above + below[::-1])}" fill="{colour}" opacity="0.18"/>',
        f'<polyline points="{" ".join(line)}" fill="none" stroke="{colour}" '
        f'stroke-width="{thickness}"/>',
        *(
            f'<circle cx="{x}" cy="{y}" r="{1.4 * thickness:.1f}" fill="{colour}"/>'
            for x, y in (point.split(",") for point in line)
        ),
    ]


def _rounded(low: float, high: float) -> tuple[float, float, list[float]]:
    """Return rounded ends of an axis that holds both values, and its marks."""
    span = max(high - low, 1e-6)
    step = next(
        step
        for exponent in range(-7, 7)
        for step in (10.0**exponent, 2 * 10.0**exponent, 5 * 10.0**exponent)
        if span / step <= 4
    )
    first, last = int(low // step), -int(-high // step)
    return first * step, last * step, [k * step for k in range(first, last + 1)]


def short(value: float) -> str:
    """Return a number in few characters: two decimals or figures, whole from 10 on."""
    size = abs(value)
    if size >= 10:
        return f"{value:.0f}"
    text = f"{value:.2f}" if size >= 0.1 else f"{value:.2g}"
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text

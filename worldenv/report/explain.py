"""Open one score: its frames, masks and matches, and its formula with the numbers put in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv import store
from worldenv.evaluators.backbones.local import Sift
from worldenv.evaluators.metrics.match import matched, verified
from worldenv.evaluators.plan import pixels
from worldenv.report.glossary import STATUS_MEANING, VARIANTS, entry
from worldenv.report.html import document, format_value, thumbnail
from worldenv.rollout import InvalidRollout, Rollout
from worldenv.store import Row
from worldenv.world import UnknownName, WorldEnvError

SHOWN_FRAMES = 12
SHOWN_MATCHES = 60


@dataclass(frozen=True)
class Explanation:
    """A score laid open.

    Attributes:
        text: Plain text: what was asked, the formula, the numbers in it, the result.
        page: HTML file with the same and the frames.
    """

    text: str
    page: Path


def explain_score(run: Path, score_id: str) -> Explanation:
    """Explain the score of a run whose id begins with ``score_id``.

    Raises:
        StoreError: the folder is no run, or cannot be written.
        UnknownName: no score has that id.
        WorldEnvError: several have.
    """
    rows = store.read_index(run)
    matching = [row for row in rows if row.id.startswith(score_id)]
    if not score_id or not matching:
        raise UnknownName("score", score_id, (row.id for row in rows))
    if len(matching) > 1:
        raise WorldEnvError(
            f"{len(matching)} scores begin with {score_id!r}; give more of the id, as report.html "
            "lists it."
        )
    row = matching[0]
    lines = describe(row, rows)
    page = run / f"explain-{row.id}.html"
    pictures = _pictures(run / "episodes" / row.episode, row)
    html = _page(row, lines, pictures)
    with store.explain_os_errors(page):
        page.write_text(html, encoding="utf-8")
    return Explanation("\n".join(lines), page)


def describe(row: Row, rows: Sequence[Row]) -> list[str]:
    """Return the lines of an explanation: question, formula, numbers, result."""
    found = entry(row.benchmark, row.metric)
    head = f"{row.benchmark} {row.metric}"
    if row.variant:
        head += f" ({row.variant})"
    if row.target:
        head += f" of {row.target}"
    if row.revisit is not None:
        head += f" at R{row.revisit}"
    lines = [head, f"  episode  {row.episode}"]
    if found is not None:
        lines += [f"  asks     {found.meaning}", f"  formula  {found.formula}"]
    if row.variant in VARIANTS:
        lines.append(f"  variant  {VARIANTS[row.variant]}")
    lines += [f"  numbers  {line}" for line in _numbers(row, rows)]
    lines.append(
        f"  status   {row.status}: {STATUS_MEANING[row.status]}"
        + (f" ({row.detail['reason']})" if row.detail.get("reason") else "")
    )
    lines.append(f"  rests on {row.n_valid} of {row.n_expected} observations, {_measured_by(row)}")
    value = "none" if row.value is None else format_value(row.value)
    lines.append(f"  value    {value}")
    return lines


def _measured_by(row: Row) -> str:
    what = row.backbone or "arithmetic on the frames"
    return f"measured by {what} (profile {row.profile}, constants {row.constants_version})"


def _numbers(row: Row, rows: Sequence[Row]) -> list[str]:
    """Return the formula with its numbers put in, and every other detail."""
    lines = []
    parts = {"mg": ("raw", "base", "-"), "dr": ("short", "base", "-"), "nmr": ("mg", "dr", "/")}
    if row.variant in parts:
        siblings = {
            other.variant: other.value
            for other in rows
            if (other.episode, other.benchmark, other.metric)
            == (row.episode, row.benchmark, row.metric)
        }
        first, second, sign = parts[row.variant]
        a, b = siblings.get(first), siblings.get(second)
        lines.append(
            f"{row.variant} = {first} {sign} {second} = {format_value(a)} {sign} "
            f"{format_value(b)} = {format_value(row.value)}"
        )
    traces = {key: row.detail[key] for key in _TRACES if isinstance(row.detail.get(key), dict)}
    for key, trace in traces.items():
        values = [value for value in trace.values() if value is not None]
        shown = _short([f"{value:.4g}" for value in values])
        outcome = f" = {format_value(row.value)}" if len(traces) == 1 else ""
        if key in _FALLING:
            lines.append(f"exp(-mean of {shown}){outcome}")
        else:
            lines.append(f"mean of {shown}{outcome}")
    lines += [
        f"{key} = {_short(row.detail[key])}"
        for key in sorted(row.detail)
        if key != "reason" and key not in traces
    ]
    return lines


_FALLING = ("errors", "distances")
_TRACES = ("frames", "pairs", "segments", *_FALLING)
"""Details that hold a value a frame (``"180": 0.9``), pair (``"0-480": 0.9``) or text segment."""


def _short(value: Any) -> str:
    """Return a detail as one line: numbers rounded, long lists cut."""
    if isinstance(value, float):
        return format_value(value)
    if isinstance(value, dict):
        return ", ".join(f"{k}: {_short(v)}" for k, v in list(value.items())[:12])
    if isinstance(value, list | tuple):
        shown = ", ".join(_short(v) for v in value[:12])
        return f"[{shown}{f', ... {len(value)} in all' if len(value) > 12 else ''}]"
    return str(value)


def frames_of(row: Row) -> list[int]:
    """Return the frames that a score rests on, in order, without repeats."""
    trace = row.detail.get("frames", ())
    found = [int(key) for key in trace if str(key).isdigit()]
    single = row.detail.get("frame")
    if isinstance(single, int):
        # Views of the environment are compared with the conditioning frame.
        found += [0, single]
    elif found and row.benchmark == "worldmembench":
        found.append(0)
    return sorted(set(found))


def pairs_of(row: Row) -> list[tuple[int, int]]:
    """Return the frame pairs that a score rests on."""
    traces = (row.detail.get(key) for key in ("pairs", *_FALLING))
    trace = next((found for found in traces if found), ())
    found = [str(key).split("-") for key in trace]
    return [(int(p[0]), int(p[1])) for p in found if len(p) == 2 and all(x.isdigit() for x in p)]


def _pictures(folder: Path, row: Row) -> str:
    try:
        rollout = Rollout.load(folder)
    except InvalidRollout as error:
        return f"<p class='small'>No frames: {escape(str(error))}</p>"
    parts = []
    for frame in _spread(frames_of(row)):
        parts.append(_figure(_with_mask(rollout, frame, row), _label(rollout, frame)))
    for first, second in _spread(pairs_of(row)):
        a, b = rollout.frames(first, first + 1)[0], rollout.frames(second, second + 1)[0]
        picture = np.concatenate([a, b], axis=1)
        if row.metric in ("feature_correspondence", "geometric_inlier", "epipolar", "reprojection"):
            picture = draw_matches(a, b)
        parts.append(_figure(picture, f"{_label(rollout, first)} and {_label(rollout, second)}"))
    if not parts:
        return (
            "<p class='small'>This score is made of other scores; it has no frames of its own.</p>"
        )
    return f"<div class='strip'>{''.join(parts)}</div>"


def _spread(items: Sequence[Any], most: int = SHOWN_FRAMES) -> Iterable[Any]:
    """Return at most ``most`` items, evenly spread."""
    if len(items) <= most:
        return items
    return [items[int(i)] for i in np.linspace(0, len(items) - 1, most)]


def _label(rollout: Rollout, frame: int) -> str:
    phase = rollout.phases[frame] if rollout.phases is not None else None
    return f"{phase or ''} {frame}".strip()


def _figure(picture: NDArray[np.uint8], label: str) -> str:
    return f"<figure>{thumbnail(picture, 200)}<figcaption>{escape(label)}</figcaption></figure>"


def _with_mask(rollout: Rollout, frame: int, row: Row) -> NDArray[np.uint8]:
    """Return a frame with the outline of what truth shows of the target's category."""
    picture: NDArray[np.uint8] = rollout.frames(frame, frame + 1)[0].copy()
    targets = () if rollout.case is None else rollout.case.targets
    nouns = {t.noun for t in targets if row.target in (None, t.name)}
    if rollout.truth is None or not nouns or row.target is None:
        return picture
    truth = rollout.truth.read(frame, frame + 1)
    if not all(truth["recorded"].get(key, [False])[0] for key in ("ids", "state")):
        return picture
    ids, state = truth["ids"][0], truth["state"][0]
    shown = [int(i) for i, thing in state["instances"].items() if thing["category"] in nouns]
    mask = np.isin(ids, shown).astype(np.uint8)
    outline, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(picture, outline, -1, (255, 220, 0), 1)
    return picture


def draw_matches(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return two frames side by side with their matches: inliers green, others red.

    At most ``SHOWN_MATCHES`` are drawn, evenly chosen, so that the frames stay visible.
    """
    ask = pixels(0)
    first, second = Sift().compute([ask, ask], [(a,), (b,)])
    pairs = matched(first, second)
    points, others = first.points[pairs[:, 0]], second.points[pairs[:, 1]]
    picture: NDArray[np.uint8] = np.concatenate([a, b], axis=1)
    inliers = verified(points, others)
    for i in _spread(range(len(points)), SHOWN_MATCHES):
        p, q, inlier = points[i], others[i], inliers[i]
        colour = (40, 200, 80) if inlier else (230, 60, 60)
        start = (round(float(p[0])), round(float(p[1])))
        end = (round(float(q[0])) + a.shape[1], round(float(q[1])))
        cv2.line(picture, start, end, colour, 1, cv2.LINE_AA)
    return picture


def _page(row: Row, lines: Sequence[str], pictures: str) -> str:
    body = (
        f"<h1>{escape(lines[0])}</h1><pre>{escape(chr(10).join(lines[1:]))}</pre>{pictures}"
        f"<p class='note'>Score {escape(row.id)}; yellow outlines are what truth shows of the "
        "target's category.</p>"
    )
    return document(lines[0], body, "pre { white-space: pre-wrap; }")

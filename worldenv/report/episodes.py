"""The episodes of a run as HTML: filmstrip, camera path and every score."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from html import escape
from pathlib import Path

import numpy as np

from worldenv.report.html import cell, thumbnail
from worldenv.report.svg import path_plot
from worldenv.rollout import InvalidRollout, Rollout
from worldenv.store import EpisodeRecord, Row

SHOWN_EPISODES = 40
"""Episodes shown with frames; a report of hundreds would not open in a browser."""


def render_episodes(
    run: Path, found: Sequence[tuple[str, EpisodeRecord]], rows: Sequence[Row]
) -> str:
    """Return the section of episodes, those of the world under test first."""
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
            cell(value, i in (4, 5))
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

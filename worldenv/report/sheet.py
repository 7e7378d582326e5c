"""Contact sheets of suites: the first view of every case with its targets outlined."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from contextlib import closing
from html import escape
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv import store
from worldenv.camera import fov_of
from worldenv.case import Case, Suite
from worldenv.report.html import document, thumbnail
from worldenv.report.svg import PALETTE
from worldenv.world import Start, World
from worldenv.worlds.reference import make

__all__ = ["write_sheet"]

SIDE = 256
"""Pixels along the longer side of a view."""
FOV = 75.0
"""Horizontal field of view of cases that name no intrinsics, degrees."""


def write_sheet(
    suite: Suite,
    path: Path,
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Write the contact sheet of a suite as one HTML file and return its path.

    Args:
        suite: The suite; narrow it first with ``suite.select`` where only some cases are wanted.
        path: Where to, written under a temporary name and renamed.
        progress: Called with the id of each case when its view is drawn.

    Raises:
        StoreError: the file cannot be written, or its name is not that of a page.
        UnknownName: a case names a scene that does not exist.
    """
    # Before anything is drawn: that takes minutes.
    if path.suffix.lower() not in (".html", ".htm"):
        raise store.StoreError(f"A contact sheet is a page: name it .html, not {path.name}.")
    with store.explain_os_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder; name a file", str(path))
    scripts: dict[str, list[str]] = {}
    for item in suite:
        scripts.setdefault(item.case.id, []).append(item.script.partition(":")[2])
    drawn: dict[str, str] = {}
    lenses: dict[tuple[tuple[int, int], float], list[Case]] = {}
    for case in suite.cases.values():
        lenses.setdefault(_lens(case), []).append(case)
    for (size, fov), cases in lenses.items():
        with closing(make(size=size, fov=fov, supersample=2, truth=("ids",))) as world:
            # Cases of one scene come together, for building a scene takes longer than drawing it.
            for case in sorted(cases, key=_place):
                frame, ids = _view(world, case)
                shown = outlined(frame, ids, _marked(case))
                drawn[case.id] = _figure(case, shown, scripts[case.id])
                if progress is not None:
                    progress(case.id)
    figures: dict[str, list[str]] = {}
    for case in suite.cases.values():
        figures.setdefault(case.category, []).append(drawn[case.id])
    body = [f"<h1>{escape(suite.id)}</h1>", f"<p class='lead'>{_counts(suite)}</p>"]
    for category, found in figures.items():
        body.append(f"<h2>{escape(category)} ({len(found)})</h2>")
        body.append(f"<div class='sheet'>{''.join(found)}</div>")
    page = document(f"Suite {suite.id}", "\n".join(body), _STYLE)
    store.write_text(path, page)
    return path


_STYLE = (
    ".sheet{display:grid;grid-template-columns:repeat(auto-fill,minmax(170px,1fr));gap:14px}"
    ".sheet figure{margin:0}"
    ".sheet img{width:100%;height:auto;border-radius:6px;display:block}"
    ".sheet figcaption{font-size:12px;line-height:1.45;padding-top:5px}"
    ".sheet b{display:block;overflow-wrap:anywhere}.sheet i{font-style:normal;font-weight:600}"
)


def _counts(suite: Suite) -> str:
    return (
        f"{len(suite.cases)} cases, {len(suite)} items. What must still be there on return is "
        "outlined; the thing that an event changes is outlined in the last colour."
    )


def _place(case: Case) -> tuple[str, int, str]:
    scene = case.scene or {}
    return str(scene.get("family")), int(scene.get("seed") or 0), str(scene.get("event") or "")


def _lens(case: Case) -> tuple[tuple[int, int], float]:
    """Return size (width, height) and field of view that show what the case was checked for."""
    if case.K is None or case.size is None:
        return (SIDE, SIDE), FOV
    width, height = case.size
    scale = SIDE / max(width, height)
    return (round(width * scale), round(height * scale)), fov_of(np.array(case.K), width)


def _view(world: World, case: Case) -> tuple[NDArray[np.uint8], NDArray[np.uint16]]:
    chunk = world.reset(Start(scene=case.scene), seed=0, plan=None)
    assert chunk.truth is not None
    return chunk.frames[0], chunk.truth["ids"][0]


def _marked(case: Case) -> list[tuple[str, int]]:
    """Return (name, instance) of what a case looks for."""
    marked = [(t.name, t.instance) for t in case.targets if t.instance is not None]
    if case.event is not None and case.event.instance is not None:
        marked.append((case.event.name, case.event.instance))
    return marked


def outlined(
    frame: NDArray[np.uint8], ids: NDArray[np.uint16], marked: Sequence[tuple[str, int]]
) -> NDArray[np.uint8]:
    """Return a frame (height, width, 3) with the outline of each marked instance on it.

    Args:
        frame: The view.
        ids: Its instance ids, shape (height, width).
        marked: (name, instance id), coloured in order.
    """
    shown = frame.copy()
    for k, (_, instance) in enumerate(marked):
        mask = (ids == instance).astype(np.uint8)
        contours, _ = cv2.findContours(mask, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
        cv2.drawContours(shown, contours, -1, _colour(k), 2, cv2.LINE_AA)
    return shown


def _colour(k: int) -> tuple[int, int, int]:
    text = PALETTE[k % len(PALETTE)].lstrip("#")
    return int(text[:2], 16), int(text[2:4], 16), int(text[4:], 16)


def _figure(case: Case, frame: NDArray[np.uint8], scripts: Sequence[str]) -> str:
    names = " ".join(
        f"<i style='color:{PALETTE[k % len(PALETTE)]}'>{escape(name)}</i>"
        for k, (name, _) in enumerate(_marked(case))
    )
    name = escape(case.id.partition("/")[2])
    kind = f"{escape(case.kind)}<br>" if case.kind else ""
    where = case.scene or {}
    place = (
        f"{where.get('family', '')} {where.get('seed', '')}, {where.get('view') or 'first view'}"
    )
    return (
        f"<figure>{thumbnail(frame, SIDE)}<figcaption><b>{name}</b>{kind}{names}<br>"
        f"{escape(place)}<br>{escape(', '.join(scripts))}</figcaption></figure>"
    )

"""Pieces of HTML that report and explanation share: tables, cells, thumbnails."""

from __future__ import annotations

import base64
from html import escape
from importlib.resources import files
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.stats import Table


def document(title: str, body: str, extra_style: str = "") -> str:
    """Return a whole page: no script, nothing fetched, so other people's text can do no harm.

    Args:
        title: Plain text.
        body: HTML.
        extra_style: More CSS.
    """
    css = files("worldenv.report").joinpath("style.css").read_text(encoding="utf-8")
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; "
        "img-src data:; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{css}{extra_style}</style></head><body>"
        f"{body}</body></html>\n"
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
        "<tr>" + "".join(cell(value, numeric[i]) for i, value in enumerate(row)) + "</tr>"
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


def cell(value: Any, numeric: bool) -> str:
    """Return a table cell; None is a dash."""
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

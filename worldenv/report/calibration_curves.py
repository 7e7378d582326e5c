"""The curves of one score: a small plot a fault, and the numbers behind them."""

from __future__ import annotations

from html import escape

from worldenv.calibration import Calibration, Response
from worldenv.report import calibration_tables as tables
from worldenv.report.calibration_matrix import SIGNS, VERDICTS, place, tip
from worldenv.report.calibration_plots import dose_plot, limits_of, short
from worldenv.report.glossary import entry
from worldenv.report.page import TITLES

__all__ = ["number", "section"]


def section(calibration: Calibration, index: int) -> str:
    """Return the curves and all numbers of a subject, by its place in the calibration."""
    subject = calibration.subjects[index]
    responses = tables.responses_of(calibration, subject)
    limits = limits_of(subject, responses)
    curves = []
    for response in responses:
        kind, mark, _ = VERDICTS[response.verdict]
        curves.append(
            f"<figure id='{place(index, response)}' title='{escape(tip(subject, response))}'>"
            f"<figcaption><b class='key {kind}'>{SIGNS[response.expected]}{mark}</b>"
            f"{escape(response.fault)}</figcaption>{dose_plot(response, limits)}"
            "</figure>"
        )
    found = entry(subject.benchmark, subject.metric)
    meaning = f"<p class='small'>{escape(found.meaning)}</p>" if found else ""
    title = f"{TITLES.get(subject.benchmark, subject.benchmark)}: {tables.title_of(subject)}"
    return (
        f"<section class='subject' id='s{index}'><a class='up' href='#matrix'>↑ matrix</a>"
        f"<h3>{escape(title)}</h3>{meaning}<div class='curves'>{''.join(curves)}</div>"
        f"<details><summary>Numbers</summary>{_numbers(responses)}</details></section>"
    )


def _numbers(responses: list[Response]) -> str:
    """Return everything that was found of a score, a line a fault."""
    heads = (
        "fault",
        "expected",
        "verdict",
        "mean at each dose",
        "rollouts",
        "moved",
        "slope",
        "interval",
        "p",
        "rho",
        "monotone",
        "detected from",
        "saturated by",
        "why",
    )
    lines = []
    for r in responses:
        means = ", ".join(f"{d:g}: {number(m)}" for d, m in zip(r.doses, r.means, strict=True))
        cells = (
            escape(r.fault),
            r.expected,
            r.verdict,
            means,
            ", ".join(str(n) for n in r.counts),
            tables.percent(r.moved),
            number(r.slope),
            f"{number(r.slope_low)} to {number(r.slope_high)}",
            number(r.p),
            number(r.rho),
            "–" if r.monotone is None else ("yes" if r.monotone else "no"),
            number(r.detects),
            number(r.saturates),
            escape(r.reason),
        )
        lines.append("<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th>{name}</th>" for name in heads)
    return (
        f"<div class='scroll'><table><thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody>"
        "</table></div>"
    )


def number(value: float | None) -> str:
    """Return a number with four figures, a dash where there is none."""
    return "–" if value is None else short(value) if abs(value) < 1e-3 else f"{value:.4g}"

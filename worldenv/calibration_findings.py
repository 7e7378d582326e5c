"""Turn the rollouts of a calibration into what it found: subjects, responses, verdicts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from worldenv.calibration import Calibration, Expected, Response, Subject, Verdict
from worldenv.calibration_controls import controls
from worldenv.calibration_plan import SCRIPTS, Design
from worldenv.calibration_stage import Finding
from worldenv.evaluators.dose import (
    LARGEST_P,
    LEAST_CASES,
    Curve,
    Observation,
    curve,
    monotone,
)
from worldenv.evaluators.dose_values import MEAN
from worldenv.expectations import expectation
from worldenv.faults import FAULTS
from worldenv.report.glossary import GLOSSARY

__all__ = ["IGNORED", "analyse", "limits", "subjects", "verdict"]

IGNORED = 0.05
"""Share of its range by which a score may move under a fault that it must ignore."""
LEAST_RHO = 0.9
_SIGN: dict[Expected, int] = {"falls": -1, "rises": 1, "ignores": 0, "open": 0}


def analyse(
    findings: Sequence[Finding], design: Design, profile: str, made: dict[str, Any]
) -> Calibration:
    """Return what was found.

    Args:
        findings: Rollouts, those without a fault included.
        design: What was walked.
        profile: Which backbones measured.
        made: What the calibration was made from and with.
    """
    short = [finding for finding in findings if finding.kind not in ("decay", "pace")]
    curves: dict[tuple[str, str], Curve] = {}
    keys = sorted({key for finding in short for key in finding.values}, key=_order)
    zeros = [finding for finding in short if not finding.fault]
    for fault in design.faults:
        planted = [finding for finding in short if finding.fault == fault]
        # People and things are walked alike and share what is walked without a fault.
        places = {(SCRIPTS[f.kind], f.case, f.seed) for f in planted}
        rows = planted + [f for f in zeros if (SCRIPTS[f.kind], f.case, f.seed) in places]
        for key in keys:
            seen = [
                Observation(f.case, f.seed, f.dose, f.values[key]) for f in rows if key in f.values
            ]
            if seen:
                doses, graded = design.doses_of(fault), FAULTS[fault].graded
                curves[key, fault] = curve(seen, doses, graded=graded)
    found = subjects(keys, zeros, curves, short)
    responses = tuple(
        _response(subject, fault, curves[subject.key, fault])
        for subject in found
        for fault in design.faults
        if (subject.key, fault) in curves
    )
    unmeasured = {
        key: status
        for finding in short
        for key, status in finding.statuses.items()
        if key not in keys
    }
    ordered = {key: unmeasured[key] for key in sorted(unmeasured, key=_order)}
    claims = tuple(controls(findings, found, responses))
    return Calibration(profile, made, found, responses, claims, ordered)


def _order(key: str) -> tuple[Any, ...]:
    """Order keys as the glossary does, each benchmark's means last."""
    benchmark, metric, *rest = key.split("/")
    names = list(GLOSSARY.get(benchmark, ()))
    place = names.index(metric) if metric in names else len(names)
    variants = ("whole", "core", "raw", "mg", "nmr")
    variant = variants.index(rest[0]) if rest and rest[0] in variants else len(variants)
    return list(GLOSSARY).index(benchmark), place, metric, variant, rest


def limits(key: str) -> tuple[float, float] | None:
    """Return the range of a score where it is bounded by its own formula, None otherwise."""
    benchmark, metric, *rest = key.split("/")
    if benchmark == "r2m" and rest and rest[0] != "raw":
        return None
    if metric in (MEAN, "overall") and benchmark == "r2m":
        return None
    entry = GLOSSARY[benchmark].get(metric)
    if entry is None:
        # Means of metrics that lie in 0 to 1; MBench's action reaches lower, which widens nothing.
        return 0.0, 1.0
    match = re.match(r"(-?[\d.]+) to (-?[\d.]+)", entry.limits)
    if metric == "lpips" or match is None:
        return None
    return float(match.group(1)), float(match.group(2))


def subjects(
    keys: Sequence[str],
    zeros: Sequence[Finding],
    curves: Mapping[tuple[str, str], Curve],
    findings: Sequence[Finding],
) -> tuple[Subject, ...]:
    """Return the scores: their ranges, and what the world without a fault gives.

    Args:
        keys: Their keys, in order.
        zeros: Rollouts without a fault.
        curves: (key, fault) -> how it answered.
        findings: All rollouts.
    """
    met: dict[str, list[float]] = defaultdict(list)
    for (key, _), found in curves.items():
        met[key] += [mean for mean in found.means if mean is not None]
    out = []
    for key in keys:
        benchmark, metric, *rest = key.split("/")
        by_case: dict[str, list[float]] = defaultdict(list)
        for finding in zeros:
            if key in finding.values:
                by_case[finding.case].append(finding.values[key])
        cases = [float(np.mean(values)) for values in by_case.values()]
        within = [float(np.var(v, ddof=1)) for v in by_case.values() if len(v) > 1]
        own = limits(key)
        span = met[key] or cases or [0.0]
        names = {f.backbones.get(key, "") for f in findings}
        out.append(
            Subject(
                benchmark,
                metric,
                rest[0] if rest else "",
                *(own or (min(span), max(span))),
                own is not None,
                float(np.mean(cases)) if cases else None,
                float(np.sqrt(np.mean(within))) if within else None,
                float(np.std(cases, ddof=1)) if len(cases) > 1 else None,
                ", ".join(sorted(name for name in names if name)),
            )
        )
    return tuple(out)


def _response(subject: Subject, fault: str, found: Curve) -> Response:
    expected = expectation(subject.key, fault).sign
    span = subject.high - subject.low
    moved = None
    if found.change is not None:
        moved = found.change / span if span > 0 else 0.0
    steady = monotone(found.means, _SIGN[expected])
    judged, reason = verdict(expected, FAULTS[fault].graded, found, steady, moved)
    return Response(
        subject=subject.key,
        fault=fault,
        expected=expected,
        doses=found.doses,
        means=found.means,
        lows=found.lows,
        highs=found.highs,
        counts=found.counts,
        cases=found.cases,
        slope=found.slope,
        slope_low=found.slope_low,
        slope_high=found.slope_high,
        p=found.p,
        rho=found.rho,
        monotone=steady,
        detects=found.detects,
        saturates=found.saturates,
        moved=moved,
        verdict=judged,
        reason=reason,
    )


def verdict(
    expected: Expected, graded: bool, found: Curve, steady: bool | None, moved: float | None
) -> tuple[Verdict, str]:
    """Return whether a score did as was expected, and what spoke against it.

    Args:
        expected: Sign written down beforehand.
        graded: Whether the fault is graded within a case.
        found: How the score answered.
        steady: Whether the means are strictly monotone in the expected direction.
        moved: Change from dose 0 to 1 as a share of the range.
    """
    if expected == "open":
        return "open", ""
    if moved is None:
        return "not measured", "no case and seed has a value without and with the fault"
    if found.cases < LEAST_CASES:
        return "not measured", f"{found.cases} cases have every dose, fewer than {LEAST_CASES}"
    if expected == "ignores":
        if abs(moved) < IGNORED:
            return "as expected", ""
        return "not as expected", f"it moved by {moved:+.1%} of its range"
    if not found.whole:
        return "not measured", "no case and seed has a value at every dose"
    if found.least_p >= LARGEST_P:
        few = f"too few rollouts: p cannot be below {found.least_p:.2g}"
        return "not measured", few
    sign, against = _SIGN[expected], []
    if not steady:
        means = ", ".join(f"{mean:.4g}" for mean in found.means if mean is not None)
        against.append(f"the means do not {expected[:-1]} at every dose ({means})")
    if found.slope is None or found.slope_low is None or found.slope_high is None:
        against.append("there is no slope")
    else:
        end = found.slope_high if sign < 0 else found.slope_low
        if end * sign <= 0:
            shown = f"{found.slope_low:.4g} to {found.slope_high:.4g}"
            against.append(f"the slope's interval is {shown}")
    if found.p is None or found.p >= LARGEST_P:
        against.append("no p" if found.p is None else f"p is {found.p:.3g}")
    if found.rho is None or found.rho * sign < LEAST_RHO:
        shown = "none" if found.rho is None else f"{found.rho:+.2f}"
        against.append(f"rho is {shown} ({'median over cases' if graded else 'of the means'})")
    return ("not as expected" if against else "as expected"), "; ".join(against)

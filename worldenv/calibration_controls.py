"""What a calibration tests beside dose and response: frozen and slow worlds, flow, decay, gate."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from worldenv.calibration import GAMED, MOVERS, Control, Response, Subject, best_share
from worldenv.calibration_stage import Finding
from worldenv.evaluators.dose import LEAST_CASES, spearman
from worldenv.evaluators.dose_values import MEAN
from worldenv.evaluators.r2m_ratios import METRICS
from worldenv.evaluators.stats import bootstrap, fisher_mean

__all__ = ["controls"]

HEADLINES = (
    f"worldmembench/{MEAN}/whole",
    f"worldmembench/{MEAN}/core",
    "mbench/total",
    f"r2m/{MEAN}/raw",
    f"r2m/{MEAN}/mg",
    f"r2m/{MEAN}/nmr",
)


def controls(
    findings: Sequence[Finding], subjects: Sequence[Subject], responses: Sequence[Response]
) -> Iterator[Control]:
    """Yield what was found of every claim; one that could not be measured says why."""
    yield frozen_gain(findings)
    yield frozen_ratio(findings)
    yield from gaming(subjects, responses)
    yield flow(findings)
    yield decay(findings)
    yield gate(findings)


def frozen_gain(findings: Sequence[Finding]) -> Control:
    """A frozen video's memory gain is 0 within noise."""
    claim = "frozen: memory gain is 0 within noise"
    frozen = [f for f in findings if f.fault == "frozen"]
    largest: dict[str, float | str | None] = {}
    for metric in METRICS:
        key = f"r2m/{metric}/mg"
        values = [f.values[key] for f in frozen if key in f.values]
        if values:
            largest[metric] = max(values, key=abs)
    if not largest:
        return Control(claim, "no frozen rollout has a memory gain", None, {})
    worst = max(largest, key=lambda m: abs(float(largest[m] or 0.0)))
    among = f"{len(largest)} metrics and {len(frozen)} rollouts"
    found = f"largest of {among}: {worst} {_f(largest[worst])}"
    holds = all(abs(float(v or 0.0)) < 1e-6 for v in largest.values())
    return Control(claim, found, holds, largest)


def frozen_ratio(findings: Sequence[Finding]) -> Control:
    """A frozen video's memory ratios are unreliable."""
    claim = "frozen: the memory ratio is called unreliable"
    frozen = [f for f in findings if f.fault == "frozen"]
    counts: dict[str, float | str | None] = {}
    total = weak = 0
    for metric in METRICS:
        key = f"r2m/{metric}/nmr"
        asked = [f for f in frozen if key in f.backbones]
        flagged = [f for f in asked if f.statuses.get(key) == "unreliable"]
        if asked:
            counts[metric] = len(flagged) / len(asked)
            total, weak = total + len(asked), weak + len(flagged)
    if not total:
        return Control(claim, "no frozen rollout has a memory ratio", None, {})
    return Control(claim, f"{weak} of {total} ratios are", weak == total, counts)


def gaming(subjects: Sequence[Subject], responses: Sequence[Response]) -> Iterator[Control]:
    """Whether a world that shows less motion scores as well as one that remembers all."""
    scores = {subject.key: subject for subject in subjects}
    found = {(response.subject, response.fault): response for response in responses}
    for fault, who in MOVERS.items():
        for key in HEADLINES:
            claim = f"{who} cannot game {key}"
            response = found.get((key, fault))
            # All headlines are better the larger they are.
            best = None if response is None else best_share(scores[key], response, 1)
            if response is None or best is None or response.cases < LEAST_CASES:
                cases = 0 if response is None or best is None else response.cases
                short = f"not measured: {cases} cases have a value at every dose"
                yield Control(claim, short, None, {})
                continue
            # Whoever games a score takes the pace that serves best.
            dose, share = best
            means = dict(zip(response.doses, response.means, strict=True))
            text = (
                f"{_f(means[dose])} at dose {dose:g} against {_f(means[0.0])} in the perfect world "
                f"({share:+.1%} of range, {response.cases} cases)"
            )
            values: dict[str, float | str | None] = {
                "perfect": means[0.0],
                "value": means[dose],
                "dose": dose,
                "share": share,
                "cases": response.cases,
            }
            yield Control(claim, text, share < -GAMED, values)


def flow(findings: Sequence[Finding]) -> Control:
    """Raw similarity follows motion more than gain and ratio do (the paper's Table 4).

    Read from the rollouts of one drifting world at several paces; rho is Spearman's over them all,
    averaged over metrics on Fisher's z, as the paper does within a model. The standard error is
    that of one rho of independent rollouts, 1 / sqrt(n - 1).
    """
    claim = "in a drifting world raw similarity follows flow more than gain and ratio do"
    chosen = [f for f in findings if f.kind == "pace" and f.flow is not None]
    found: dict[str, float | str | None] = {}
    for variant in ("raw", "mg", "nmr"):
        rhos = []
        for metric in METRICS:
            key = f"r2m/{metric}/{variant}"
            rows = [f for f in chosen if key in f.values]
            if len(rows) > 5 and len({f.flow for f in rows}) > 2:
                rho = spearman([float(f.flow or 0) for f in rows], [f.values[key] for f in rows])
                if rho is not None:
                    found[f"{variant} {metric}"] = rho
                    rhos.append(rho)
        if rhos:
            found[variant] = fisher_mean(rhos)
    means = [found.get(variant) for variant in ("raw", "mg", "nmr")]
    if any(mean is None for mean in means):
        return Control(
            claim, "needs the fault drift, and a profile with the role flow", None, found
        )
    raw, mg, nmr = (float(mean or 0) for mean in means)
    error = (len(chosen) - 1) ** -0.5
    found["standard error"] = error
    text = (
        f"mean rho with flow over {len(chosen)} rollouts: raw {raw:+.2f}, MG {mg:+.2f}, "
        f"NMR {nmr:+.2f}; standard error {error:.2f}"
    )
    return Control(claim, text, abs(raw) > max(abs(mg), abs(nmr)), found)


def decay(findings: Sequence[Finding]) -> Control:
    """Scores decay over revisits where every absence may forget, and not in the perfect world."""
    claim = "decay over revisits appears with forgetting and not without"
    rows = [f for f in findings if f.kind == "decay"]
    losses: dict[bool, list[tuple[float, str]]] = defaultdict(list)
    curves: dict[bool, list[list[float]]] = defaultdict(list)
    for finding in rows:
        memory = [c for k, c in finding.curves.items() if len(c) >= 3 and not k.endswith("/core")]
        if memory:
            mean = np.mean(memory, axis=0)
            curves[bool(finding.fault)].append(mean.tolist())
            losses[bool(finding.fault)].append((float(mean[0] - mean[-1]), finding.case))
    if not losses[True] or not losses[False]:
        return Control(claim, "needs rollouts of three returns with the fault forget", None, {})
    lost = bootstrap([v for v, _ in losses[True]], [c for _, c in losses[True]])
    kept = max((v for v, _ in losses[False]), key=abs)
    assert lost is not None
    values: dict[str, float | str | None] = {"lost": lost.value, "low": lost.low, "kept": kept}
    for forgets, name in ((False, "perfect"), (True, "forget")):
        for k, value in enumerate(np.mean(curves[forgets], axis=0), start=1):
            values[f"{name} R{k}"] = float(value)
    text = (
        f"R1 - R3 is {lost.value:.4f} ({lost.low:.4f} to {lost.high:.4f}) with forgetting, at most "
        f"{kept:.4f} without"
    )
    return Control(claim, text, bool(lost.low > abs(kept)), values)


def gate(findings: Sequence[Finding]) -> Control:
    """The gate tells an event that never started from one that started and was forgotten."""
    claim = "the gate separates 'never started' from 'started and forgotten'"

    def mean(
        fault: str, key: str, where: Callable[[Finding], bool] = lambda f: True
    ) -> float | None:
        rows = [f for f in findings if f.fault == fault and f.dose == 1 and key in f.values]
        values = [f.values[key] for f in rows if where(f)]
        return float(np.mean(values)) if values else None

    values: dict[str, float | str | None] = {}
    for fault in ("event_absent", "event_restart"):
        for metric in ("event_start", "dynamic_overall", "dynamic_persistence"):
            values[f"{fault} {metric}"] = mean(fault, f"worldmembench/{metric}")
    never, began = (values[f"{f} event_start"] for f in ("event_absent", "event_restart"))
    if never is None or began is None:
        return Control(claim, "needs the faults event_absent and event_restart", None, {})
    kept = float(values["event_restart dynamic_overall"] or 0.0)
    none = float(values["event_absent dynamic_overall"] or 0.0)
    text = (
        f"event_start {_f(never)} and overall {none:.2f} where it never starts; {_f(began)} and "
        f"{kept:.2f} where it starts and is forgotten"
    )
    return Control(claim, text, never == 0 and none == 0 and began == 1 and kept < 1, values)


def _f(value: float | str | None) -> str:
    return "none" if value is None else value if isinstance(value, str) else f"{value:.4g}"

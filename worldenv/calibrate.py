"""Calibrate a profile: plant every fault at several doses and see how each score answers."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from worldenv import store
from worldenv.calibration import Calibration
from worldenv.calibration_findings import analyse
from worldenv.calibration_plan import Design, plan
from worldenv.calibration_stage import Finding, key_of, perform_all, read_findings
from worldenv.evaluators.profile import load_profile
from worldenv.run_folder import claim, hold, new_folder
from worldenv.stage import check_count, most_workers
from worldenv.store import StoreError

__all__ = ["Design", "Estimate", "Outcome", "estimate", "run"]

RESULT = "calibration.json"
Progress = Callable[[str, int], None]
"""Called with a rollout's name and 1 as it ends."""

_SECONDS = {"classic": 3.3, "light": 14.3}
"""Processor seconds a rollout at 128 x 128, measured on the reference machine of the README."""
_BUILDING = 8.0
"""Processor seconds a case takes once, to build and light its scene."""


@dataclass(frozen=True)
class Estimate:
    """What a calibration will take.

    Attributes:
        rollouts: How many are to be walked.
        held: How many of them the folder holds already.
        seconds: Wall time with the given workers, None where the profile's speed is unknown.
        workers: Processes.
    """

    rollouts: int
    held: int
    seconds: float | None
    workers: int


@dataclass(frozen=True)
class Outcome:
    """What a calibration gave.

    Attributes:
        folder: Where it is kept.
        calibration: What was found.
        made: Rollouts walked in this call; the others were there already.
        failed: Rollout -> error, of those that broke.
    """

    folder: Path
    calibration: Calibration
    made: int
    failed: dict[str, str] = field(default_factory=dict)


def run(
    profile: str = "classic+truth",
    out: str | Path | None = None,
    design: Design | None = None,
    *,
    workers: int | None = None,
    progress: Progress = lambda name, count: None,
) -> Outcome:
    """Walk, score and analyse; rollouts that the folder holds under the same key are kept.

    Args:
        profile: Which backbones measure.
        out: Folder of the calibration; None is a new one under ``./runs``.
        design: How much is walked; None is the full design with every fault of this version.
        workers: Processes; None is every core.
        progress: See ``Progress``.

    Raises:
        WorldEnvError: anything the caller can mend; what is done so far stays and is resumed.
    """
    design = design or Design()
    load_profile(profile)
    workers = check_workers(workers)
    walks = plan(design)
    versions = versions_of(profile)
    folder = Path(out) if out is not None else new_folder()
    began = time.perf_counter()
    with hold(folder):
        claim(folder, {"calibration": profile})
        held = read_findings(folder)
        keys = {key_of(walk, design.size, profile, versions): walk for walk in walks}
        todo = [walk for key, walk in keys.items() if key not in held]
        for key in keys.keys() & held.keys():
            progress(keys[key].name, 1)
        failed: dict[str, str] = {}
        performed = perform_all(
            todo,
            folder,
            size=design.size,
            profile=profile,
            versions=versions,
            workers=min(workers, max(1, len(todo))),
        )
        for finding in performed:
            if finding.error:
                failed[keys[finding.key].name] = finding.error
            else:
                held[finding.key] = finding
            progress(keys[finding.key].name, 1)
        findings = [held[key] for key in keys if key in held]
        made = _made(design, findings, versions, time.perf_counter() - began, len(todo), workers)
        calibration = analyse(findings, design, profile, made)
        store.write_text(folder / RESULT, calibration.to_json())
    return Outcome(folder, calibration, len(todo), failed)


def estimate(
    profile: str, design: Design, out: str | Path | None = None, workers: int | None = None
) -> Estimate:
    """Return what a calibration will take, without walking anything."""
    workers = check_workers(workers)
    walks = plan(design)
    versions = versions_of(profile)
    if out is not None and Path(out).exists() and not Path(out).is_dir():
        raise StoreError(f"Cannot write {out}: it is no folder; choose another one with --out.")
    held = read_findings(Path(out)) if out is not None else {}
    left = [w for w in walks if key_of(w, design.size, profile, versions) not in held]
    each = _SECONDS.get(profile.partition("+")[0])
    at_once = min(workers, os.cpu_count() or 1)
    seconds = None
    if each is not None:
        cases = len({walk.case.id for walk in left})
        seconds = (_BUILDING * cases + len(left) * each * _growth(design.size)) / at_once
    return Estimate(len(walks), len(walks) - len(left), seconds, workers)


def _growth(size: int) -> float:
    """Return how much longer a rollout takes than at 128 pixels: half of it grows with the area."""
    return 0.5 + 0.5 * (size / 128) ** 2


def check_workers(workers: int | None) -> int:
    """Return the number of workers; None is every core, 8 at most.

    Raises:
        WorldEnvError: it is not a whole number from 1.
    """
    if workers is None:
        return most_workers()
    check_count(workers)
    return workers


def versions_of(profile: str) -> dict[str, str]:
    """Return name -> version of what the numbers of a calibration rest on.

    A profile's weights are among them, so that new ones are measured anew.
    """
    import cv2
    import scipy

    from worldenv import __version__, weights
    from worldenv.evaluators.profiles import weights_of
    from worldenv.worlds.reference import REVISION

    found = {"worldenv": __version__, "Reference-v0": str(REVISION)}
    found |= {"numpy": np.__version__, "scipy": scipy.__version__, "opencv": cv2.__version__}
    for name in weights_of(profile.partition("+")[0]):
        located = weights.find(name)
        found[name] = "absent" if located is None else located.checksum
    return found


def _made(
    design: Design,
    findings: Sequence[Finding],
    versions: dict[str, str],
    seconds: float,
    new: int,
    workers: int,
) -> dict[str, Any]:
    return {
        **asdict(design),
        "faults": list(design.faults),
        "doses": list(design.doses),
        "case_ids": list(dict.fromkeys(f.case for f in findings)),
        "rollouts": len(findings),
        "new_rollouts": new,
        "last_call_seconds": round(seconds, 1),
        "processor_seconds": round(sum(f.seconds for f in findings), 1),
        "workers": workers,
        "versions": versions,
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }

"""Walk and score the rollouts of a calibration, in this process or in workers; keep each at once."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from worldenv.calibration_plan import FOV, Walk
from worldenv.env import WorldEnv
from worldenv.evaluators.constants import CONSTANTS_VERSION
from worldenv.evaluators.dose_values import values_of
from worldenv.evaluators.engine import Summary
from worldenv.faults import FRAME_FAULTS
from worldenv.store import digest_of, explain_os_errors
from worldenv.stage import die_with
from worldenv.world import UnknownName, World, WorldEnvError
from worldenv.worlds import load_world
from worldenv.wrappers import ScoreMemory

__all__ = ["Finding", "can_plant", "perform_all", "read_findings"]

BENCHMARKS: dict[str, dict[str, Any]] = {"worldmembench": {}, "mbench": {}, "r2m": {"rule": "paper"}}
RECORD = "rollouts.jsonl"


@dataclass(frozen=True)
class Finding:
    """What one rollout was worth.

    Attributes:
        key: Digest of everything that the numbers rest on.
        kind: See ``Walk``.
        case: Case id.
        seed: Of the episode.
        fault: What was planted, empty for nothing.
        dose: How much of it.
        values: Subject key -> value.
        statuses: Subject key -> status, of those without a value or with an unreliable one.
        backbones: Subject key -> what measured it.
        curves: Subject key -> mean at each revisit, of metrics that have revisits.
        flow: Mean optical flow between neighbours, pixels at 320 px width, None without the role.
        seconds: Wall time.
        error: Why it broke, empty otherwise.
    """

    key: str
    kind: str
    case: str
    seed: int
    fault: str
    dose: float
    values: dict[str, float]
    statuses: dict[str, str]
    backbones: dict[str, str]
    curves: dict[str, list[float]]
    flow: float | None
    seconds: float
    error: str = ""


def can_plant(fault: str) -> bool:
    """Return whether this version can plant a fault of the table."""
    try:
        _world(16, 16.0, fault, 1.0).close()
    except UnknownName:
        return False
    return True


def _world(size: int, fps: float, fault: str, dose: float) -> World:
    planted = {fault: dose} if fault and fault not in FRAME_FAULTS else None
    return load_world(
        "Reference-v0", size=(size, size), fov=FOV, fps=fps, threads=1, faults=planted
    )


def key_of(walk: Walk, size: int, profile: str, versions: Mapping[str, str]) -> str:
    """Return the digest of everything that a rollout's numbers rest on."""
    return digest_of(
        {
            "case": walk.case.to_dict(),
            "script": walk.script,
            "fps": walk.fps,
            "fov": FOV,
            "seed": walk.seed,
            "fault": walk.fault,
            "dose": walk.dose,
            "size": size,
            "profile": profile,
            "benchmarks": BENCHMARKS,
            "constants": CONSTANTS_VERSION,
            "versions": dict(versions),
        }
    )

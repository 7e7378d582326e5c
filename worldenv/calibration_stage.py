"""Walk and score the rollouts of a calibration, here or in workers; keep each as it ends."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from worldenv.calibration_plan import FOV, Kind, Walk
from worldenv.distortion import Distorted
from worldenv.env import WorldEnv
from worldenv.evaluators.constants import CONSTANTS_VERSION
from worldenv.evaluators.dose_values import values_of
from worldenv.evaluators.engine import Summary
from worldenv.evaluators.plan import Ask
from worldenv.evaluators.profile import load_profile
from worldenv.faults import FRAME_FAULTS
from worldenv.stage import WORKER_DIED, become_worker
from worldenv.store import digest_of, explain_os_errors
from worldenv.world import WorldEnvError
from worldenv.worlds import load_world
from worldenv.wrappers import ScoreMemory

__all__ = ["RECORD", "Finding", "key_of", "perform_all", "read_findings"]

BENCHMARKS: dict[str, dict[str, Any]] = {
    "worldmembench": {},
    "mbench": {},
    "r2m": {"rule": "paper"},
}
RECORD = "rollouts.jsonl"
"""File of a calibration's folder: one finding a line, appended as rollouts end."""
VALUES = 3
"""Counts up when what is taken of a rollout, or an aspect's meaning, changes."""
FLOW_STRIDE = 4
"""Flow is measured between a frame and the next, at every so manieth frame."""


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
        seconds: Processor time.
        error: Why it broke, empty otherwise.
    """

    key: str
    kind: Kind
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


def _world(size: int, fps: float) -> Any:
    return load_world("Reference-v0", size=(size, size), fov=FOV, fps=fps, threads=1)


def key_of(walk: Walk, size: int, profile: str, versions: Mapping[str, str]) -> str:
    """Return the digest of everything that a rollout's numbers rest on."""
    beneath = {k: v for k, v in walk.planted.items() if k != walk.fault}
    return digest_of(
        ({"beneath": beneath} if beneath else {})
        | {
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
            "values": VALUES,
            "constants": CONSTANTS_VERSION,
            "versions": dict(versions),
        }
    )


class Stage:
    """Holds the world of the newest case and walks rollouts in it, one at a time."""

    def __init__(self, size: int, profile: str, versions: Mapping[str, str]) -> None:
        self._size, self._profile, self._versions = size, profile, dict(versions)
        self._worlds: dict[float, Any] = {}

    def perform(self, walk: Walk) -> Finding:
        """Walk and score one rollout; one that breaks becomes a finding with its error."""
        began = time.process_time()
        key = key_of(walk, self._size, self._profile, self._versions)
        about = (key, walk.kind, walk.case.id, walk.seed, walk.fault, walk.dose)
        try:
            summary, flow = self._walk(walk)
        except WorldEnvError as error:
            return Finding(*about, {}, {}, {}, {}, None, time.process_time() - began, str(error))
        found = values_of(summary.scores)
        return Finding(*about, *found, flow, time.process_time() - began)

    def _walk(self, walk: Walk) -> tuple[Summary, float | None]:
        planted = walk.planted
        state = {fault: dose for fault, dose in planted.items() if fault not in FRAME_FAULTS}
        if walk.fps not in self._worlds:
            self._worlds[walk.fps] = _world(self._size, walk.fps)
        world = self._worlds[walk.fps]
        world.plant(state)
        frames = {fault: dose for fault, dose in planted.items() if fault in FRAME_FAULTS}
        shown = Distorted(world, frames) if frames else world
        env = ScoreMemory(
            WorldEnv(shown, control="plan", max_frames=None),
            benchmarks=BENCHMARKS,
            profile=self._profile,
        )
        seen = [env.reset(seed=walk.seed, options={"case": walk.case, "script": walk.script})[1]]
        while True:
            _, _, _, truncated, info = env.step(0)
            seen.append(info)
            if truncated:
                return info["memory_summary"], self._flow([i["chunk"].frames for i in seen])

    def _flow(self, chunks: Sequence[Any]) -> float | None:
        """Return the mean flow between every fourth pair of neighbours, None without the role."""
        profile = load_profile(self._profile)
        if profile.lacks("flow") is not None:
            return None
        frames = np.concatenate(chunks)
        pairs = range(0, len(frames) - 1, FLOW_STRIDE)
        backbone = profile.backbone("flow")
        asks = [Ask("flow", (i, i + 1)) for i in pairs]
        found = backbone.compute(asks, [(frames[i], frames[i + 1]) for i in pairs])
        return float(np.mean([float(value) for value in found]))


def perform_all(
    walks: Sequence[Walk],
    folder: Path,
    *,
    size: int,
    profile: str,
    versions: Mapping[str, str],
    workers: int,
) -> Iterator[Finding]:
    """Yield the findings of rollouts as they end; each is in the folder's record by then.

    Args:
        walks: What to do.
        folder: The calibration's folder, held by this process.
        size: Width and height of the frames, pixels.
        profile: Which backbones measure.
        versions: Name -> version of what the numbers rest on.
        workers: Processes; 1 is this one.

    Raises:
        StoreError: the folder cannot be written.
        WorldEnvError: a worker died.
    """
    path = folder / RECORD
    with explain_os_errors(path), path.open("a", encoding="utf-8") as file:
        # A killed run may have left half a line, which would spoil the next.
        if file.tell() and not path.read_bytes().endswith(b"\n"):
            file.write("\n")
        for finding in _findings(walks, Stage(size, profile, versions), workers):
            file.write(json.dumps(asdict(finding), allow_nan=False) + "\n")
            file.flush()
            yield finding


def read_findings(folder: Path) -> dict[str, Finding]:
    """Return key -> finding of what a folder holds; damaged lines and broken rollouts are left out.

    Those are walked again.
    """
    found: dict[str, Finding] = {}
    path = folder / RECORD
    if not path.is_file():
        return found
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            finding = Finding(**json.loads(line))
        except (ValueError, TypeError):
            continue
        if _well_formed(finding) and not finding.error:
            found[finding.key] = finding
    return found


def _well_formed(finding: Finding) -> bool:
    """Return whether every field has its type and every number is finite."""
    values, statuses, backbones = finding.values, finding.statuses, finding.backbones
    curves = finding.curves
    if not all(isinstance(table, dict) for table in (values, statuses, backbones, curves)):
        return False
    if not all(isinstance(curve, list) for curve in curves.values()):
        return False
    texts = [finding.key, finding.kind, finding.case, finding.fault, finding.error]
    texts += [*statuses.values(), *backbones.values()]
    flow = 0.0 if finding.flow is None else finding.flow
    numbers = [finding.dose, flow, finding.seconds, *values.values(), *chain(*curves.values())]
    return (
        type(finding.seed) is int
        and all(isinstance(text, str) for text in texts)
        # Of any size: an int too large for a float is none either.
        and all(type(n) in (int, float) and abs(n) <= sys.float_info.max for n in numbers)
    )


def _findings(walks: Sequence[Walk], stage: Stage, workers: int) -> Iterator[Finding]:
    if workers == 1:
        for walk in walks:
            yield stage.perform(walk)
        return
    # Spawned, not forked: a forked child would inherit the parent's threads and GPU handles.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, _start_worker, (stage, os.getpid()))
    finished = False
    try:
        for future in as_completed([pool.submit(_perform, walk) for walk in walks]):
            yield future.result()
        finished = True
    except BrokenProcessPool:
        raise WorldEnvError(WORKER_DIED) from None
    finally:
        if not finished:
            for process in list((pool._processes or {}).values()):
                process.kill()
        pool.shutdown(wait=finished, cancel_futures=True)


_stage: Stage | None = None


def _start_worker(stage: Stage, parent: int) -> None:
    global _stage
    # Torch, where a profile has it, is not loaded yet.
    os.environ["OMP_NUM_THREADS"] = "1"
    become_worker(parent)
    _stage = stage


def _perform(walk: Walk) -> Finding:
    assert _stage is not None
    return _stage.perform(walk)

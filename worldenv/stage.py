"""Perform episodes: walk, record, score online, keep; in this process or in workers."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from worldenv import store
from worldenv.case import Case
from worldenv.controls import CONTROLS
from worldenv.env import WorldEnv
from worldenv.evaluators.constants import CONSTANTS_VERSION
from worldenv.evaluators.engine import Engine, Summary, build_engine
from worldenv.rollout import InvalidRollout, Rollout, StorageError
from worldenv.schedule import REFERENCE, Episode, Settings
from worldenv.store import EpisodeRecord, StoreError
from worldenv.world import WeightsNotFound, World, WorldEnvError
from worldenv.worlds import load_world
from worldenv.wrappers import RecordRollout, ScoreMemory

Progress = Callable[[str, int], None]
"""Called with an episode's name and the number of frames newly made or scored."""


def silent(episode: str, frames: int) -> None:
    """Report no progress."""


def check_workers(settings: Settings, workers: int) -> None:
    """Refuse a number of workers that cannot be.

    Raises:
        WorldEnvError: it is not a whole number from 1, or a World object would have to be sent.
    """
    check_count(workers)
    if workers > 1 and not isinstance(settings.world, str):
        raise WorldEnvError(
            "A World object cannot be sent to worker processes; name it as 'file.py:factory', or "
            "use workers=1."
        )
    if 0 < settings.servers < workers:
        raise WorldEnvError(
            f"{workers} workers need as many servers, got {settings.servers}; start more and list "
            "them in addresses, or use fewer workers."
        )


MOST = 256
"""Processes: each takes about half a gigabyte."""


def check_count(workers: int) -> None:
    """Raise WorldEnvError where a number of workers is not a whole number from 1 to 256."""
    if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= MOST:
        raise WorldEnvError(f"workers must be a whole number from 1 to {MOST}, got {workers!r}.")


WORKER_DIED = (
    "A worker process died (out of memory?); what it finished is kept: run the same command to "
    "resume, perhaps with fewer --workers."
)


def perform_all(
    stage: Stage, episodes: list[Episode], folder: Path, workers: int, progress: Progress
) -> Iterator[tuple[str, tuple[EpisodeRecord, bool]]]:
    """Yield (episode name, (record, whether it was made now)) as episodes end."""
    if workers == 1:
        for episode in episodes:
            yield episode.name, stage.perform(episode, folder, progress)
        return
    settings = stage.settings
    # Spawned, not forked: a forked child would inherit the parent's threads and GPU handles.
    context = multiprocessing.get_context("spawn")
    reports = context.SimpleQueue()
    watcher = threading.Thread(target=_forward, args=(reports, progress), daemon=True)
    watcher.start()
    pool = ProcessPoolExecutor(workers, context, _start_worker, (settings, reports, os.getpid()))
    finished = False
    try:
        futures = {pool.submit(_perform_in_worker, e, folder): e for e in episodes}
        for future in as_completed(futures):
            yield futures[future].name, future.result()
        finished = True
    except BrokenProcessPool:
        raise WorldEnvError(WORKER_DIED) from None
    finally:
        if finished:
            pool.shutdown()
            reports.put(None)
            watcher.join()
        else:
            # Given up: nobody waits for episodes of minutes. A killed worker may have held the
            # lock of the queue, so the queue is left to the watcher, which ends with the process.
            workers_left = list((pool._processes or {}).values())
            for process in workers_left:
                process.kill()
            for process in workers_left:
                process.join(_LAST_SECONDS)
            pool.shutdown(wait=False, cancel_futures=True)


# How long a killed process may take to be gone.
_LAST_SECONDS = 10


def default_workers(settings: Settings, episodes: int) -> int:
    """Return how many processes a run uses unless told: one a server, else the cores or one.

    A model on a GPU fills it by itself; the reference world leaves other cores idle.
    """
    if settings.servers:
        return max(1, min(settings.servers, episodes))
    if not settings.is_reference:
        return 1
    return max(1, min(most_workers(), episodes))


def most_workers() -> int:
    """Return how many processes this machine has cores for, 8 at most."""
    return max(1, min(len(os.sched_getaffinity(0)), _MOST_WORKERS))


# Each holds a scene and its light, about half a gigabyte.
_MOST_WORKERS = 8


def _forward(reports: Any, progress: Progress) -> None:
    """Hand on what workers report, until None comes."""
    while (report := reports.get()) is not None:
        progress(*report)


_stage: Stage | None = None
_reports: Any = None


def _start_worker(settings: Settings, reports: Any, parent: int) -> None:
    global _stage, _reports
    become_worker(parent)
    _stage, _reports = Stage(settings), reports


def _perform_in_worker(episode: Episode, folder: Path) -> tuple[EpisodeRecord, bool]:
    assert _stage is not None
    return _stage.perform(episode, folder, lambda name, frames: _reports.put((name, frames)))


def become_worker(parent: int) -> None:
    """Have this process end with its parent, leave Ctrl-C to it, and take one core only."""
    die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import cv2

    # The processes share the cores already.
    cv2.setNumThreads(1)


def die_with(parent: int) -> None:
    """Ask the system to kill this process when its parent ends, however that happens."""
    if sys.platform == "linux":
        PR_SET_PDEATHSIG = 1
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        # It ended before we asked.
        os._exit(1)


class Stage:
    """Holds the worlds of a run and performs episodes in them, one at a time."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._worlds: dict[str, World] = {}

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        for name, world in self._worlds.items():
            # A World object that the caller handed in is the caller's to close.
            if name or isinstance(self.settings.world, str):
                world.close()

    def world(self, control: str) -> World:
        """Return the world of a control, loading it at first use."""
        if control not in self._worlds:
            self._worlds[control] = self._load(control)
        return self._worlds[control]

    @property
    def world_name(self) -> str:
        """Name of the world under test, for records.

        It says which a remote one is, that it is a stand-in, and what was done to its frames.
        """
        name, spec = self.settings.world_name, self.world("").spec
        if self.settings.is_remote:
            return f"{name} {spec.name}"
        distortion = getattr(self.world(""), "distortion", "")
        if distortion and isinstance(self.settings.world, str):
            base = self.settings.world_options["base"] if self.settings.is_distorted else name
            name = f"{base} (distorted: {distortion})"
        marked = spec.stand_in and "(stand-in)" not in name
        return f"{name} (stand-in)" if marked else name

    def _load(self, control: str) -> World:
        if control:
            return load_world(REFERENCE, **self.options(control))
        if isinstance(self.settings.world, str):
            return load_world(self.settings.world, **self.settings.world_options)
        return self.settings.world

    def options(self, control: str) -> dict[str, Any]:
        """Return the world options of a control: those of the run, with the control's faults.

        Those of a remote world are its server's.
        """
        if not control and self.settings.is_remote:
            return dict(getattr(self.world(""), "served", {}))
        if not control:
            return self.settings.identity
        shared = dict(self.settings.world_options) if self.settings.is_reference else {}
        # What makes the world under test forget is no part of a control.
        for limit in ("context", "budget"):
            shared.pop(limit, None)
        return {**shared, "faults": CONTROLS[control].faults or None}

    def perform(
        self, episode: Episode, run: Path, progress: Progress
    ) -> tuple[EpisodeRecord, bool]:
        """Walk, record and score an episode, or return what the folder already holds.

        An episode that breaks becomes a record with its error; it is tried again by the next run.
        """
        # A world that cannot be made fails the run, not one episode after the other.
        world = self.world(episode.control)
        try:
            return self._perform(world, episode, run, progress)
        except (StoreError, StorageError, WeightsNotFound):
            # None of the other episodes would fare better.
            raise
        except Exception as error:  # a model may raise anything; the run must go on
            record = self._failure(episode, error)
            folder = episode.folder(run)
            with store.explain_os_errors(folder):
                folder.mkdir(parents=True, exist_ok=True)
            store.write_json(folder / "scores.json", record.model_dump())
            return record, True

    def _perform(
        self, world: World, episode: Episode, run: Path, progress: Progress
    ) -> tuple[EpisodeRecord, bool]:
        folder = episode.folder(run)
        key = store.rollout_key(
            world.spec,
            options=self.options(episode.control),
            case=episode.item.case,
            script=episode.item.script,
            seed=episode.seed,
            control=episode.control,
            device=str(getattr(world, "device", "cpu")),
        )
        held = store.read_record(folder / "scores.json")
        if held is not None and held.status == "done" and held.rollout_key == key:
            with contextlib.suppress(InvalidRollout):
                rollout = Rollout.load(folder)
                engine = rebuild_engine(
                    rollout,
                    benchmarks={episode.benchmark: episode.options},
                    profile=self.settings.profile,
                    case=episode.item.case,
                    truth=() if rollout.spec is None else rollout.spec.truth,
                )
                if held.score_key == score_key(key, rollout.digest, engine, self.settings.profile):
                    progress(episode.name, len(rollout))
                    return held, False
                summary = score_rollout(rollout, engine, lambda n: progress(episode.name, n))
                return self._keep(episode, key, rollout.digest, engine, summary, folder), True
        if folder.exists():
            shutil.rmtree(folder)
        with store.explain_os_errors(folder):
            folder.parent.mkdir(parents=True, exist_ok=True)
        engine, summary = walk(
            world,
            episode,
            folder,
            profile=self.settings.profile,
            options=self.options(episode.control),
            progress=progress,
        )
        digest = Rollout.load(folder).digest
        return self._keep(episode, key, digest, engine, summary, folder), True

    def _keep(
        self,
        episode: Episode,
        key: str,
        digest: str,
        engine: Engine,
        summary: Summary,
        folder: Path,
    ) -> EpisodeRecord:
        record = finished_record(
            self._identity(episode),
            key=key,
            frames=len(engine.path),
            digest=digest,
            engine=engine,
            summary=summary,
        )
        store.write_json(folder / "scores.json", record.model_dump())
        return record

    def _failure(self, episode: Episode, error: Exception) -> EpisodeRecord:
        text = (
            str(error) if isinstance(error, WorldEnvError) else f"{type(error).__name__}: {error}"
        )
        return failed_record(self._identity(episode), text, self.settings.profile)

    def _identity(self, episode: Episode) -> dict[str, Any]:
        return {
            "suite": episode.suite,
            "case": episode.item.case.id,
            "category": episode.item.case.category,
            "script": episode.item.script,
            "seed": episode.seed,
            "control": episode.control,
            "world": REFERENCE if episode.control else self.world_name,
            "stand_in": not episode.control and self.world("").spec.stand_in,
            "profile": self.settings.profile,
        }


def walk(
    world: World,
    episode: Episode,
    folder: Path,
    *,
    profile: str,
    options: Mapping[str, Any],
    progress: Progress,
) -> tuple[Engine, Summary]:
    """Walk an episode in a world, recording to ``folder`` and scoring while it runs."""
    env = ScoreMemory(
        WorldEnv(world, control="plan", max_frames=None),
        benchmarks={episode.benchmark: episode.options},
        profile=profile,
    )
    recorder = RecordRollout(env, folder, options=dict(options))
    try:
        _, info = recorder.reset(
            seed=episode.seed,
            options={"case": episode.item.case, "script": episode.item.script},
        )
        progress(episode.name, info["n"])
        truncated = False
        while not truncated:
            _, _, _, truncated, info = recorder.step(0)
            progress(episode.name, info["n"])
    except BaseException:
        recorder.abort()
        raise
    return env.engine, info["memory_summary"]


def score_key(key: str, digest: str, engine: Engine, profile: str) -> str:
    """Return the key of the scores that an engine gives a rollout; see ``store.score_key``."""
    return store.score_key(
        key,
        digest=digest,
        profile=profile,
        backbones=engine.backbones,
        constants_version=CONSTANTS_VERSION,
    )


def finished_record(
    identity: Mapping[str, Any],
    *,
    key: str,
    frames: int,
    digest: str,
    engine: Engine,
    summary: Summary,
) -> EpisodeRecord:
    """Return the record of a scored episode.

    Args:
        identity: The fields of EpisodeRecord that say which episode it is.
        key: Its rollout key.
        frames: Number of frames.
        digest: Digest of the frames.
        engine: The engine that scored it.
        summary: What the engine gave.
    """
    return EpisodeRecord(
        status="done",
        frames=frames,
        rollout_key=key,
        score_key=score_key(key, digest, engine, str(identity["profile"])),
        digest=digest,
        constants_version=summary.constants_version,
        backbones={role: dict(backbone) for role, backbone in summary.backbones.items()},
        scores=[score.to_dict() for score in summary.scores],
        **identity,
    )


def failed_record(identity: Mapping[str, Any], error: str, profile: str) -> EpisodeRecord:
    """Return the record of an episode that broke.

    Args:
        identity: The fields of EpisodeRecord that say which episode it is.
        error: What broke, in one line.
        profile: Which backbones were to measure.
    """
    blank: dict[str, Any] = {"control": "", "stand_in": False, "profile": profile}
    return EpisodeRecord(
        status="failed",
        error=error,
        frames=0,
        rollout_key="",
        score_key="",
        digest="",
        constants_version="",
        backbones={},
        scores=[],
        **{**blank, **identity},
    )


def rebuild_engine(
    rollout: Rollout,
    *,
    benchmarks: Mapping[str, dict[str, Any]],
    profile: str,
    case: Case | None,
    truth: Collection[str],
) -> Engine:
    """Return the engine that scores a recorded rollout as it was scored online.

    Args:
        rollout: The rollout.
        benchmarks: Names -> options.
        profile: Which backbones measure.
        case: What is looked for.
        truth: Truth keys that the source offers.
    """
    return build_engine(
        rollout.target,
        benchmarks=benchmarks,
        profile=profile,
        case=case,
        spec=rollout.spec,
        K=rollout.K,
        K_exactness=rollout.K_exactness,
        seed=rollout.seed,
        truth=truth,
        script=rollout.script,
    )


def score_rollout(
    rollout: Rollout, engine: Engine, progress: Callable[[int], None] = lambda n: None
) -> Summary:
    """Score a recorded rollout: the same engine, the same chunks, the same numbers."""
    for chunk in rollout.chunks():
        engine.observe(chunk)
        progress(len(chunk.frames))
    return engine.finish()

"""Run a benchmark: items x seeds in a world, recorded, scored online, resumable, in parallel."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from worldenv import store
from worldenv.case import Item, Suite, load_script, load_suite
from worldenv.env import WorldEnv
from worldenv.evaluators.constants import CONSTANTS_VERSION
from worldenv.evaluators.engine import Engine, Summary, build_engine
from worldenv.evaluators.profile import load_profile
from worldenv.evaluators.stats import Table
from worldenv.rollout import InvalidRollout, Rollout, StorageError
from worldenv.store import EpisodeRecord, Row, StoreError
from worldenv.world import World, WorldEnvError
from worldenv.worlds import load_world
from worldenv.wrappers import RecordRollout, ScoreMemory

CONTROLS: dict[str, dict[str, float]] = {
    "perfect": {},
    "amnesiac": {"forget": 1.0},
    "frozen": {"frozen": 1.0},
}
"""Floor and ceiling: what each control plants in Reference-v0."""

REFERENCE = "Reference-v0"

Progress = Callable[[str, int], None]
"""Called with an episode's name and the number of frames newly made or scored."""


@dataclass(frozen=True)
class Episode:
    """One thing to do: walk an item with a seed, in the world or in a control.

    Attributes:
        suite: Id of the suite.
        benchmark: Evaluator that scores it.
        options: Arguments of the evaluator.
        item: Case and script.
        seed: Seed of the world.
        control: Empty for the world under test, else a key of ``CONTROLS``.
    """

    suite: str
    benchmark: str
    options: dict[str, Any]
    item: Item
    seed: int
    control: str = ""

    @property
    def name(self) -> str:
        """Name of the episode within a run."""
        folder = self.folder(Path())
        return f"{folder.parent.name}/{folder.name}"

    def folder(self, run: Path) -> Path:
        """Return the episode's folder within a run."""
        return store.episode_folder(
            run,
            suite=self.suite,
            case=self.item.case.id,
            script=self.item.script,
            seed=self.seed,
            control=self.control,
        )


@dataclass(frozen=True)
class Settings:
    """What all episodes of a run share."""

    world: str | World
    world_options: dict[str, Any] = field(default_factory=dict)
    profile: str = "classic+truth"

    def __post_init__(self) -> None:
        load_profile(self.profile)

    @property
    def is_reference(self) -> bool:
        """Whether the world under test is Reference-v0."""
        return self.world in (REFERENCE, REFERENCE.removesuffix("-v0"))

    @property
    def is_perfect(self) -> bool:
        """Whether the world under test forgets nothing by construction."""
        return self.is_reference and not self.world_options.get("faults")

    @property
    def world_name(self) -> str:
        """Name of the world, for records and headings."""
        return self.world if isinstance(self.world, str) else self.world.spec.name

    def to_dict(self) -> dict[str, Any]:
        """Return what must be equal for two runs to share a folder."""
        return {
            "world": self.world_name,
            "world_options": self.world_options,
            "profile": self.profile,
        }


@dataclass(frozen=True)
class Results:
    """What a run gave.

    Attributes:
        folder: The run folder.
        scores: One row a score, with the fields of Score and of the episode.
        failed: Episode -> error, of episodes that broke.
        made: Episodes walked in this call; the others were there already.
    """

    folder: Path
    scores: tuple[Row, ...]
    failed: dict[str, str] = field(default_factory=dict)
    made: int = 0

    def table(self) -> Table:
        """Return the summary: a line a metric, with coverage and the controls beside it."""
        from worldenv.report.summary import summarise

        return summarise(self.scores)


def run(
    world: str | World = REFERENCE,
    suites: Sequence[str] | None = None,
    cases: int | Sequence[str] | None = None,
    seeds: Sequence[int] = (0,),
    profile: str = "classic+truth",
    out: str | Path | None = None,
    world_options: Mapping[str, Any] | None = None,
    *,
    controls: bool = True,
    workers: int | None = None,
    shard: tuple[int, int] | None = None,
    progress: Progress | None = None,
) -> Results:
    """Walk, record and score; whatever the folder already holds under the same keys is kept.

    Args:
        world: World id, ``module:factory``, ``file.py:factory``, or a World object.
        suites: Suite ids; None is the quick selection over the three built-in suites.
        cases: First n cases of each suite, or case ids; None is all.
        seeds: Seeds of the world.
        profile: Which backbones measure.
        out: Run folder; None is a new one under ``./runs``.
        world_options: Keywords of the world.
        controls: Whether to walk the floor and ceiling controls beside it.
        workers: Processes on this machine; None is every core for Reference-v0, else 1. A World
            object needs 1.
        shard: (i, n): do only every n-th episode, from the i-th, counted from 1.
        progress: See ``Progress``.

    Raises:
        WorldEnvError: anything the caller can mend; what is done so far stays and is resumed.
    """
    settings = Settings(world, dict(world_options or {}), profile)
    episodes = plan(settings, suites, cases, seeds, controls=controls)
    if shard is not None:
        episodes = take_shard(episodes, shard)
    if workers is None:
        workers = default_workers(settings, len(episodes))
    folder = Path(out) if out is not None else new_folder()
    name = "run" if shard is None else f"shard-{shard[0]}-of-{shard[1]}"
    with store.lock(folder, name):
        _claim(folder, settings)
        if shard is not None:
            done = dict(_execute(settings, episodes, folder, workers, progress or _silent))
            rows = []
        else:
            _sweep(folder)
            try:
                done = dict(_execute(settings, episodes, folder, workers, progress or _silent))
            finally:
                _sweep(folder)
            rows = collect(folder)
    failed = {n: r.error or "" for n, (r, _) in done.items() if r.status == "failed"}
    return Results(folder, tuple(rows), failed, sum(new for _, new in done.values()))


def plan(
    settings: Settings,
    suites: Sequence[str] | None = None,
    cases: int | Sequence[str] | None = None,
    seeds: Sequence[int] = (0,),
    *,
    controls: bool = True,
) -> list[Episode]:
    """Return the episodes of a run, in order; see ``run`` for the other arguments.

    Raises:
        UnknownName: a suite or case does not exist.
        WorldEnvError: nothing would be done.
    """
    if not seeds:
        raise WorldEnvError("No seeds were given; expected at least one, e.g. seeds=[0].")
    if isinstance(cases, int) and cases < 1:
        raise WorldEnvError(f"cases must be at least 1, got {cases}.")
    selected = _quick() if suites is None and cases is None else _named(suites, cases)
    episodes = [
        Episode(suite.id, suite.benchmark, dict(suite.options), item, seed)
        for suite in selected
        for item in suite
        for seed in seeds
    ]
    if not episodes:
        raise WorldEnvError("No cases were selected; 'worldenv suites' lists what there is.")
    if not controls:
        return episodes
    return episodes + _control_episodes(episodes, perfect=not settings.is_perfect)


def _quick() -> list[Suite]:
    from worldenv.worlds.reference.cases import QUICK, SUITES

    chosen = []
    for name in SUITES:
        suite = load_suite(name)
        items = tuple(item for item in suite if item.key in QUICK)
        chosen.append(replace(suite, items=items))
    return chosen


def _named(suites: Sequence[str] | None, cases: int | Sequence[str] | None) -> list[Suite]:
    if suites is not None and not suites:
        raise WorldEnvError("No suites were given; 'worldenv suites' lists what there is.")
    if suites is None and cases is not None and not isinstance(cases, int):
        # Case ids name their suite.
        suites = list(dict.fromkeys(case.split("/")[0] for case in cases))
    if suites is None:
        from worldenv.worlds.reference.cases import SUITES

        suites = SUITES
    chosen = []
    for name in suites:
        suite = load_suite(name)
        wanted = cases
        if cases is not None and not isinstance(cases, int) and len(suites) > 1:
            wanted = [case for case in cases if case.split("/")[0] == name]
        chosen.append(suite.select(wanted))
    return chosen


def _control_episodes(episodes: Sequence[Episode], *, perfect: bool) -> list[Episode]:
    """Return the controls of those items that are scenes of Reference-v0.

    The perfect world walks every item, since a score is read beside its ceiling on the same case;
    the floors walk the first static item of each suite.

    Args:
        episodes: Episodes of the world under test.
        perfect: Whether to walk the perfect world; it is its own ceiling.
    """
    scenes = [e for e in episodes if e.item.case.scene is not None]
    found = [replace(e, control="perfect") for e in scenes if perfect and e.seed == scenes[0].seed]
    for suite in dict.fromkeys(e.suite for e in scenes):
        static = [e for e in scenes if e.suite == suite and e.item.case.event is None]
        found += [replace(e, control=floor) for e in static[:1] for floor in ("amnesiac", "frozen")]
    return found


def take_shard(episodes: list[Episode], shard: tuple[int, int]) -> list[Episode]:
    """Return the episodes of shard (i, n), i from 1.

    Raises:
        WorldEnvError: i or n is out of range.
    """
    i, n = shard
    if not 1 <= i <= n:
        raise WorldEnvError(f"Shard {i}/{n} does not exist; expected i/n with 1 <= i <= n.")
    return episodes[i - 1 :: n]


def new_folder() -> Path:
    """Return a new folder under ``./runs``, named by the time."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    folder = Path("runs") / stamp
    for count in range(2, 1000):
        if not folder.exists():
            return folder
        folder = Path("runs") / f"{stamp}-{count}"
    raise StoreError("Cannot find a free folder under ./runs; choose one with --out.")


def _claim(folder: Path, settings: Settings) -> None:
    """Write ``run.json``, or refuse a folder that holds something else."""
    path = folder / "run.json"
    mine = {"schema": store.SCHEMA, **settings.to_dict()}
    theirs = read_run(folder)
    if theirs is None:
        others = [p.name for p in folder.iterdir() if not p.name.startswith(".")]
        if others:
            raise StoreError(
                f"{folder} holds other files ({others[0]}, ...) and no run.json; choose an empty "
                "folder with --out."
            )
        store.write_json(path, mine)
        return
    for key, value in mine.items():
        if theirs.get(key) != value:
            raise StoreError(
                f"{folder} holds a run with {key} = {theirs.get(key)!r}, and this one has "
                f"{value!r}; choose another folder with --out."
            )


def read_run(folder: Path) -> dict[str, Any] | None:
    """Return ``run.json`` of a folder, None where there is none.

    Raises:
        StoreError: the file is damaged.
    """
    import json

    path = folder / "run.json"
    if not path.is_file():
        return None
    try:
        return cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise StoreError(f"Cannot read {path} ({error}); choose another folder.") from error


def _sweep(folder: Path) -> None:
    """Remove what killed processes left half-written; the lock makes sure that none is alive."""
    for pattern in (".*.tmp", "episodes/*/.*.partial", "episodes/*/*/.*.tmp"):
        for path in folder.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _silent(episode: str, frames: int) -> None:
    pass


def _execute(
    settings: Settings,
    episodes: list[Episode],
    folder: Path,
    workers: int,
    progress: Progress,
) -> Iterator[tuple[str, tuple[EpisodeRecord, bool]]]:
    """Yield (episode name, (record, whether it was made now)) as episodes end."""
    if workers < 1:
        raise WorldEnvError(f"workers must be at least 1, got {workers}.")
    if workers == 1:
        with Stage(settings) as stage:
            for episode in episodes:
                yield episode.name, stage.perform(episode, folder, progress)
        return
    if not isinstance(settings.world, str):
        raise WorldEnvError(
            "A World object cannot be sent to worker processes; name it as 'file.py:factory', or "
            "use workers=1."
        )
    # Spawned, not forked: a forked child would inherit the parent's threads and GPU handles.
    context = multiprocessing.get_context("spawn")
    reports = context.SimpleQueue()
    watcher = threading.Thread(target=_forward, args=(reports, progress), daemon=True)
    watcher.start()
    pool = ProcessPoolExecutor(workers, context, _start_worker, (settings, reports, os.getpid()))
    try:
        futures = {pool.submit(_perform_in_worker, e, folder): e for e in episodes}
        for future in as_completed(futures):
            yield futures[future].name, future.result()
    except BrokenProcessPool:
        raise WorldEnvError(
            "A worker process died (out of memory?); what it finished is kept: run the same "
            "command to resume, perhaps with fewer --workers."
        ) from None
    finally:
        # A run that is given up does not wait for episodes of minutes; they leave nothing behind
        # that the next run would not sweep away.
        for process in list(pool._processes.values()) if sys.exc_info()[0] else []:
            process.kill()
        pool.shutdown(cancel_futures=True)
        reports.put(None)
        watcher.join()


def default_workers(settings: Settings, episodes: int) -> int:
    """Return how many processes a run uses unless told: the cores for Reference-v0, else one.

    A model on a GPU fills it by itself; the reference world leaves other cores idle.
    """
    if not settings.is_reference:
        return 1
    return max(1, min(len(os.sched_getaffinity(0)), episodes, _MOST_WORKERS))


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
    die_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import cv2

    # The processes share the cores already.
    cv2.setNumThreads(1)
    _stage, _reports = Stage(settings), reports


def _perform_in_worker(episode: Episode, folder: Path) -> tuple[EpisodeRecord, bool]:
    assert _stage is not None
    return _stage.perform(episode, folder, lambda name, frames: _reports.put((name, frames)))


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

    def _load(self, control: str) -> World:
        if control:
            return load_world(REFERENCE, **self.options(control))
        if isinstance(self.settings.world, str):
            return load_world(self.settings.world, **self.settings.world_options)
        return self.settings.world

    def options(self, control: str) -> dict[str, Any]:
        """Return the world options of a control: those of the run, with the control's faults."""
        if not control:
            return self.settings.world_options
        shared = self.settings.world_options if self.settings.is_reference else {}
        return {**shared, "faults": CONTROLS[control] or None}

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
        except (StoreError, StorageError):
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
                engine = rebuild_engine(rollout, episode, self.settings.profile)
                if held.score_key == self._score_key(key, rollout.digest, engine):
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

    def _score_key(self, key: str, digest: str, engine: Engine) -> str:
        return store.score_key(
            key,
            digest=digest,
            profile=self.settings.profile,
            backbones=engine.backbones,
            constants_version=CONSTANTS_VERSION,
        )

    def _keep(
        self,
        episode: Episode,
        key: str,
        digest: str,
        engine: Engine,
        summary: Summary,
        folder: Path,
    ) -> EpisodeRecord:
        record = EpisodeRecord(
            status="done",
            frames=len(engine.path),
            rollout_key=key,
            score_key=self._score_key(key, digest, engine),
            digest=digest,
            constants_version=summary.constants_version,
            backbones={k: dict(v) for k, v in summary.backbones.items()},
            scores=[score.to_dict() for score in summary.scores],
            **self._identity(episode),
        )
        store.write_json(folder / "scores.json", record.model_dump())
        return record

    def _failure(self, episode: Episode, error: Exception) -> EpisodeRecord:
        text = (
            str(error) if isinstance(error, WorldEnvError) else f"{type(error).__name__}: {error}"
        )
        return EpisodeRecord(
            status="failed",
            error=text,
            frames=0,
            rollout_key="",
            score_key="",
            digest="",
            constants_version="",
            backbones={},
            scores=[],
            **self._identity(episode),
        )

    def _identity(self, episode: Episode) -> dict[str, Any]:
        return {
            "suite": episode.suite,
            "case": episode.item.case.id,
            "category": episode.item.case.category,
            "script": episode.item.script,
            "seed": episode.seed,
            "control": episode.control,
            "world": REFERENCE if episode.control else self.settings.world_name,
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
        WorldEnv(world, control="plan", max_frames=sys.maxsize),
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


def rebuild_engine(rollout: Rollout, episode: Episode, profile: str) -> Engine:
    """Return the engine that scores a recorded rollout as it was scored online."""
    return build_engine(
        rollout.target,
        benchmarks={episode.benchmark: episode.options},
        profile=profile,
        case=episode.item.case,
        spec=rollout.spec,
        K=rollout.K,
        K_exactness=rollout.K_exactness,
        seed=rollout.seed,
        truth=() if rollout.spec is None else rollout.spec.truth,
    )


def score_rollout(
    rollout: Rollout, engine: Engine, progress: Callable[[int], None] = lambda n: None
) -> Summary:
    """Score a recorded rollout: the same engine, the same chunks, the same numbers."""
    for chunk in rollout.chunks():
        engine.observe(chunk)
        progress(len(chunk.frames))
    return engine.finish()


def collect(folder: Path) -> list[Row]:
    """Rebuild ``scores.sqlite`` of a run from its episode folders and return the rows.

    Raises:
        StoreError: the folder is not a run, or cannot be written.
    """
    return store.write_index(folder, store.records(folder))


@dataclass(frozen=True)
class Estimate:
    """What a run will take.

    Attributes:
        episodes: Number of episodes, controls included.
        frames: Number of frames.
        seconds: Wall time with one worker, None where nothing is known of the world's speed.
        bytes: Disk space.
        basis: What the time rests on.
    """

    episodes: int
    frames: int
    seconds: float | None
    bytes: int
    basis: str


# Measured on two shared cores: seconds a frame at 256 x 256 for making, recording and scoring.
_TYPICAL_SECONDS = 0.03
# FFV1 keeps about this share of raw RGB of rendered scenes, truth of scored frames included.
_KEPT_BYTES = 0.6


def estimate(settings: Settings, episodes: Sequence[Episode]) -> Estimate:
    """Return what a run will take, without making a frame."""
    with Stage(settings) as stage:
        frames, pixels = 0, 0
        for episode in episodes:
            spec = stage.world(episode.control).spec
            n = len(load_script(episode.item.script).path(spec, episode.item.case))
            frames += n
            pixels += n * spec.size[0] * spec.size[1]
        known = settings.is_reference or all(e.control for e in episodes)
    seconds = _TYPICAL_SECONDS * pixels / 256**2 if known else None
    basis = (
        "typical of two cores"
        if known
        else "the world's speed is measured during its first episode"
    )
    return Estimate(len(episodes), frames, seconds, int(3 * pixels * _KEPT_BYTES), basis)


def frame_counts(settings: Settings, episodes: Sequence[Episode]) -> dict[str, int]:
    """Return the number of frames of every episode, by name."""
    with Stage(settings) as stage:
        return {
            e.name: len(load_script(e.item.script).path(stage.world(e.control).spec, e.item.case))
            for e in episodes
        }

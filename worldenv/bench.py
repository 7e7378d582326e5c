"""Run a benchmark: items x seeds in a world, recorded, scored online, resumable, in parallel."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from worldenv import store
from worldenv.case import load_script
from worldenv.evaluators.stats import Table
from worldenv.schedule import REFERENCE, Episode, Settings, plan, take_shard
from worldenv.stage import Progress, Stage, default_workers, perform_all, silent
from worldenv.store import Row, StoreError
from worldenv.world import World

__all__ = [
    "Episode",
    "Estimate",
    "Results",
    "Settings",
    "collect",
    "estimate",
    "frame_counts",
    "new_folder",
    "plan",
    "read_run",
    "run",
    "take_shard",
]


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
            done = dict(perform_all(settings, episodes, folder, workers, progress or silent))
            rows = []
        else:
            _sweep(folder)
            try:
                done = dict(perform_all(settings, episodes, folder, workers, progress or silent))
            finally:
                _sweep(folder)
            rows = collect(folder)
    failed = {n: r.error or "" for n, (r, _) in done.items() if r.status == "failed"}
    return Results(folder, tuple(rows), failed, sum(new for _, new in done.values()))


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

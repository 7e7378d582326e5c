"""Run a benchmark: items x seeds in a world, recorded, scored online, resumable, in parallel."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worldenv import store
from worldenv.case import load_script
from worldenv.evaluators.stats import Table
from worldenv.run_folder import claim, hold, new_folder, read_run, sweep
from worldenv.schedule import REFERENCE, Episode, Settings, plan, take_shard
from worldenv.stage import Progress, Stage, check_workers, default_workers, perform_all, silent
from worldenv.store import Row
from worldenv.world import World

__all__ = [
    "Episode",
    "Estimate",
    "Results",
    "Settings",
    "collect",
    "estimate",
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
        perfect: Whether the world is the perfect world, its own ceiling.
    """

    folder: Path
    scores: tuple[Row, ...]
    failed: dict[str, str] = field(default_factory=dict)
    made: int = 0
    perfect: bool = False

    def table(self) -> Table:
        """Return the summary: a line a metric, with coverage and the controls beside it."""
        from worldenv.report.summary import summarise

        return summarise(self.scores, perfect=self.perfect)


def run(
    world: str | World = REFERENCE,
    suites: Sequence[str] | None = None,
    cases: int | Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
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
        seeds: Seeds of the world; None is those of each suite (0, of R2M-Bench 0, 1 and 2), and 0
            in the quick selection.
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
    check_workers(settings, workers)
    folder = Path(out) if out is not None else new_folder()
    rows: list[Row] = []
    with Stage(settings) as stage, contextlib.ExitStack() as held:
        # What cannot be made leaves no folder behind.
        stage.world("")
        held.enter_context(hold(folder, shard))
        claim(folder, {**settings.to_dict(), "world": stage.world_name})
        # Other shards may be at work: only a run that is alone can tell what is abandoned.
        if shard is None:
            sweep(folder)
        try:
            done = dict(perform_all(stage, episodes, folder, workers, progress or silent))
        finally:
            if shard is None:
                sweep(folder)
        if shard is None:
            rows = collect(folder)
    failed = {n: r.error or "" for n, (r, _) in done.items() if r.status == "failed"}
    made = sum(new for _, new in done.values())
    return Results(folder, tuple(rows), failed, made, settings.is_perfect)


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
        frames: Episode -> number of frames; controls included.
        seconds: Wall time with the given workers, None where the world's speed is unknown.
        bytes: Disk space.
        basis: What the time rests on.
    """

    frames: dict[str, int]
    seconds: float | None
    bytes: int
    basis: str


# Measured on the reference machine of the README, for making, recording and scoring: processor
# seconds a frame, and seconds more for each 256 x 256 pixels of it; and bytes kept a byte of raw
# RGB (FFV1, truth of scored frames).
_SECONDS_A_FRAME, _SECONDS_OF_PIXELS = 0.008, 0.037
_KEPT_BYTES = 0.45


def estimate(
    settings: Settings, episodes: Sequence[Episode], workers: int | None = None
) -> Estimate:
    """Return what a run will take, without making a frame.

    The world is made once, for its spec; worlds load their weights at ``reset``.
    """
    if workers is None:
        workers = default_workers(settings, len(episodes))
    check_workers(settings, workers)
    frames: dict[str, int] = {}
    pixels = 0
    with Stage(settings) as stage:
        for episode in episodes:
            spec = stage.world(episode.control).spec
            n = len(load_script(episode.item.script).path(spec, episode.item.case))
            frames[episode.name] = n
            pixels += n * spec.size[0] * spec.size[1]
    seconds = None
    if settings.is_reference:
        total = _SECONDS_A_FRAME * sum(frames.values()) + _SECONDS_OF_PIXELS * pixels / 256**2
        seconds = total / workers
    basis = f"{workers} cores that are idle" if seconds else "the world's speed is not known"
    if seconds and settings.profile.partition("+")[0] != "classic":
        # What networks take depends on the machine; classic's share is in the seconds.
        basis += f", without what the networks of {settings.profile} take"
    return Estimate(frames, seconds, int(3 * pixels * _KEPT_BYTES), basis)

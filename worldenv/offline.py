"""Score what is already on disk: a recorded rollout, or a video with its camera path."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv import store
from worldenv.agreement import MotionMeter, compare
from worldenv.bench import Results
from worldenv.camera import CameraPath
from worldenv.case import BENCHMARKS, Case, load_case, load_suite
from worldenv.conventions import Convention
from worldenv.evaluators.engine import Engine
from worldenv.evaluators.stats import Table
from worldenv.poses import load_path
from worldenv.rollout import Rollout
from worldenv.run_folder import claim, hold
from worldenv.schedule import Settings
from worldenv.stage import (
    Progress,
    finished_record,
    rebuild_engine,
    score_rollout,
    silent,
)
from worldenv.world import UnknownName, WorldEnvError


class PosesDisagree(WorldEnvError):
    """A video moves as another reading of its poses would have it."""


def score(
    source: Path,
    *,
    path: Path | None = None,
    script: str | None = None,
    case: str | None = None,
    benchmarks: Sequence[str] | None = None,
    profile: str | None = None,
    out: Path | None = None,
    progress: Progress | None = None,
    convention: Convention | None = None,
    trust_poses: bool = False,
    notify: Callable[[str], None] = lambda line: None,
) -> Results:
    """Score a rollout folder or a video file with the engine that scores online.

    Args:
        source: Folder that RecordRollout wrote, or a video file.
        path: Pose file of the video; required for a video unless ``script`` gives the path.
        script: Script that the video walked; names the phases that the pose file leaves out.
        case: Case id; brings targets and event.
        benchmarks: Which evaluators; None takes those that the path has revisits for.
        profile: None is ``classic+truth`` for rollouts with truth, else ``classic``.
        out: Folder to keep rollout, scores and index in, like a run of one episode.
        progress: Called with the number of frames scored.
        convention: What the numbers of the pose file mean, None as its format says.
        trust_poses: Score a video although it moves as another reading of its poses would have it.
        notify: Called with lines that the user should see.

    Raises:
        PosesDisagree: the video moves as another reading of its poses would have it.
        WorldEnvError: the source, the pose file or a name is wrong; nothing is written.
    """
    for name in benchmarks or ():
        if name not in BENCHMARKS:
            raise UnknownName("benchmark", name, BENCHMARKS)
    known = load_case(case) if case is not None else None
    rollout = _open(source, path, script, known, convention, trust_poses, notify)
    if known is not None:
        rollout = replace(rollout, case=known)
    chosen = tuple(benchmarks or applicable(rollout.target, rollout.script or script))
    truth = () if rollout.truth is None or rollout.spec is None else rollout.spec.truth
    settings = Settings("recorded", {}, profile or ("classic+truth" if truth else "classic"))
    if out is not None and out.exists():
        # Before minutes of scoring, not after them.
        with hold(out):
            claim(out, settings.to_dict())
    name = source.name
    case_id, category = naming(rollout.case, name)
    identity = {
        "suite": "recorded",
        "case": case_id,
        "category": category,
        "script": rollout.script or script or "",
        "seed": rollout.seed,
        "world": rollout.spec.name if rollout.spec is not None else name,
    }
    record = scored(rollout, chosen, settings, identity, lambda n: (progress or silent)(name, n))
    if out is None:
        return Results(source, tuple(store.rows_of(name, record)), made=1)
    with hold(out):
        claim(out, settings.to_dict())
        folder = _free_folder(out, record)
        keep(rollout, record, folder)
        rows = store.write_index(out, store.records(out))
    return Results(out, tuple(rows), made=1)


def naming(case: Case | None, name: str) -> tuple[str, str]:
    """Return the case id and the category that rows of a recording bear."""
    return (name, "recorded") if case is None else (case.id, case.category)


def keep(rollout: Rollout, record: store.EpisodeRecord, folder: Path) -> None:
    """Write a rollout and its record to an episode folder that is free."""
    with store.explain_os_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
    rollout.copy_to(folder)
    store.write_json(folder / "scores.json", record.model_dump())


def engine_of(
    rollout: Rollout,
    benchmarks: Sequence[str],
    settings: Settings,
    options: Mapping[str, dict[str, Any]],
) -> Engine:
    """Return the engine that scores a rollout; options override those of built-in suites."""
    return rebuild_engine(
        rollout,
        benchmarks={b: options.get(b, dict(load_suite(b).options)) for b in benchmarks},
        profile=settings.profile,
        case=rollout.case,
        truth=() if rollout.truth is None or rollout.spec is None else rollout.spec.truth,
    )


def scored(
    rollout: Rollout,
    benchmarks: Sequence[str],
    settings: Settings,
    identity: Mapping[str, Any],
    progress: Callable[[int], None],
    options: Mapping[str, dict[str, Any]] | None = None,
) -> store.EpisodeRecord:
    """Score a rollout and return its record."""
    engine = engine_of(rollout, benchmarks, settings, options or {})
    summary = score_rollout(rollout, engine, progress)
    stand_in = rollout.spec is not None and rollout.spec.stand_in
    shared = {"control": "", "stand_in": stand_in, "profile": settings.profile}
    return finished_record(
        {**identity, **shared},
        key=rollout.digest[:16],
        frames=len(rollout),
        digest=rollout.digest,
        engine=engine,
        summary=summary,
    )


def _free_folder(out: Path, record: store.EpisodeRecord) -> Path:
    folder = store.episode_folder(
        out,
        suite=record.suite,
        case=record.case,
        script=record.script,
        seed=record.seed,
        control=record.control,
    )
    if folder.exists():
        raise store.StoreError(f"{folder} exists already; choose another folder with --out.")
    return folder


def applicable(path: CameraPath, script: str | None) -> list[str]:
    """Return the benchmarks of a path: by its script, else by its phases; R2M needs no phases."""
    if script is not None and script.split(":")[0] in BENCHMARKS:
        return [script.split(":")[0]]
    return ["worldmembench", "r2m"] if path.revisits else ["r2m"]


def tables(results: Results) -> list[Table]:
    """Return a table of the measured scores of a single rollout, a benchmark each.

    Scores without a value are folded into notes by their reason.
    """
    found = []
    for benchmark in BENCHMARKS:
        mine = [row for row in results.scores if row.benchmark == benchmark]
        if not mine:
            continue
        lost: dict[str, None] = {}
        cells, missing = [], dict[tuple[str, str], dict[str, None]]()
        for row in mine:
            if row.value is None and row.target is None:
                reason = str(row.detail.get("reason", ""))
                missing.setdefault((row.status, reason), {})[row.metric] = None
                continue
            revisit = None if row.revisit is None else f"R{row.revisit}"
            count = f"{row.n_valid}/{row.n_expected}"
            if "failed" in row.detail and row.variant in ("", "raw"):
                some = f"{row.detail['failed']} of {row.detail['asked']} pairs failed"
                lost.setdefault(f"{row.metric}: {some} ({row.detail['failure']}).")
            cells.append(
                (
                    row.metric,
                    row.variant,
                    row.target,
                    revisit,
                    row.value,
                    count,
                    row.status,
                    row.detail.get("backbone"),
                    row.id,
                )
            )
        notes = [
            f"{status}: {', '.join(metrics)} ({reason})."
            for (status, reason), metrics in missing.items()
        ]
        columns = tuple("metric variant target revisit value n status backbone".split())
        columns += ("score id",)
        notes += lost
        found.append(Table(benchmark, columns, tuple(cells), tuple(notes)))
    return found


def _open(
    source: Path,
    path: Path | None,
    script: str | None,
    case: Case | None,
    convention: Convention | None,
    trust_poses: bool,
    notify: Callable[[str], None],
) -> Rollout:
    if source.is_dir():
        rollout = Rollout.load(source)
        if path is not None:
            raise WorldEnvError(
                f"{source} is a recorded rollout and brings its own poses; leave out --path."
            )
        return rollout
    poses, K = load_path(source, path, script, case, convention)
    return read_video(source, poses, K, case, script, trust_poses=trust_poses, notify=notify)


def read_video(
    file: Path,
    path: CameraPath,
    K: NDArray[np.float64] | None,
    case: Case | None,
    script: str | None,
    *,
    trust_poses: bool = False,
    notify: Callable[[str], None] = lambda line: None,
) -> Rollout:
    """Return a video as a rollout, having compared its own motion with its path.

    Raises:
        PosesDisagree: it moves as another reading of the poses would have it.
        InvalidVideo: it cannot be read, or has another number of frames than the path has poses.
    """
    meter = MotionMeter(len(path))
    rollout = Rollout.from_video(file, path, K=K, case=case, script=script, on_frame=meter.add)
    found = compare(meter, path, rollout.size, rollout.K)
    for note in rollout.target.notes:
        if note not in path.notes:
            notify(f"{file.name}: {note}")
    if found.better is not None:
        text = (
            f"{file.name} and its poses disagree: it moves as with {found.better} (agreement "
            f"{found.better_value:.2f}, as given {found.value:.2f})"
        )
        if not trust_poses:
            raise PosesDisagree(
                f"{text}; correct --pose-direction, --pose-axes or the poses, or say --trust-poses "
                "when it is the model that moves so."
            )
        notify(f"{text}; the poses are trusted.")
    elif found.value is not None and found.value < _WEAK:
        notify(f"{file.name} hardly moves as its poses say (agreement {found.value:.2f}).")
    if found.late is not None and found.better is None:
        word = "after" if found.late > 0 else "before"
        notify(
            f"{file.name} seems to move about {abs(found.late)} frames {word} its poses; check "
            "that frame 0 is pose 0."
        )
    elif found.repeated:
        notify(f"{file.name} repeats {found.repeated} frames where the camera should move.")
    return rollout


# Agreement under which the user is told; a model that follows its camera has above 0.9.
_WEAK = 0.5

"""Score many videos that are already on disk: a run folder a model, resumable."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from worldenv import store
from worldenv.bench import Results
from worldenv.case import BENCHMARKS, Suite
from worldenv.offline import applicable, engine_of, keep, naming, read_video, scored
from worldenv.rollout import Rollout, StorageError
from worldenv.run_folder import claim, hold, sweep
from worldenv.schedule import Settings
from worldenv.stage import Progress, failed_record, score_key, silent
from worldenv.trees import Walked
from worldenv.world import UnknownName, Unsupported, WeightsNotFound, WorldEnvError
from worldenv.worlds.recordings import Entry


def score_all(
    walked: Sequence[Walked],
    *,
    out: Path,
    suite: Suite | None = None,
    benchmarks: Sequence[str] | None = None,
    profile: str = "classic",
    trust_poses: bool = False,
    progress: Progress | None = None,
    notify: Callable[[str], None] = lambda line: None,
) -> dict[str, Results]:
    """Score many videos, a run folder a model; what is scored already is kept.

    A video that cannot be scored becomes a failed episode with its reason; the others go on.

    Args:
        walked: The videos.
        out: Folder of the run folders, which are named after the models.
        suite: Suite that was walked; its benchmark and options score it.
        benchmarks: Which evaluators; None takes the suite's, else those that a path has revisits
            for.
        profile: Which backbones measure.
        trust_poses: See ``score``.
        progress: Called with the number of frames scored.
        notify: Called with lines that the user should see.

    Returns:
        Model -> results.

    Raises:
        WorldEnvError: a name is wrong, or nothing can be written.
    """
    for name in benchmarks or ():
        if name not in BENCHMARKS:
            raise UnknownName("benchmark", name, BENCHMARKS)
    settings = Settings("recorded", {}, profile)
    by_world: dict[str, list[Walked]] = {}
    for one in walked:
        by_world.setdefault(one.world, []).append(one)
    results = {}
    for world, mine in by_world.items():
        run = out / store.safe_name(world)
        failed: dict[str, str] = {}
        made = 0
        names = _names(mine)
        with hold(run):
            claim(run, {**settings.to_dict(), "world": world})
            sweep(run)
            for one, name in zip(mine, names, strict=True):
                record, new = _one(
                    one,
                    name,
                    run,
                    settings,
                    suite,
                    benchmarks,
                    trust_poses,
                    progress or silent,
                    notify,
                )
                made += new
                if record.status == "failed":
                    failed[f"{record.case}@{record.script}"] = record.error or ""
            rows = store.write_index(run, store.records(run))
        results[world] = Results(run, tuple(rows), failed, made)
    return results


def _names(walked: Sequence[Walked]) -> list[str]:
    """Return what each recording is called; those that would share a name get a digest of theirs.

    Raises:
        Unsupported: two recordings are of one case, script and seed.
    """
    entries = [one.entry for one in walked]
    seen: dict[tuple[str, str | None, int | None], Path] = {}
    for entry in entries:
        if entry.case is None:
            continue
        key = (entry.case.id, entry.script, entry.seed)
        if key in seen:
            raise Unsupported(
                f"{seen[key]} and {entry.video} are both of {entry.case.id}; leave one out, or "
                "give them different seeds"
            )
        seen[key] = entry.video
    plain = [f"{entry.video.parent.name}/{entry.video.name}" for entry in entries]
    names = []
    for entry, name in zip(entries, plain, strict=True):
        if plain.count(name) > 1:
            whole = f"{entry.video.resolve()}|{entry.path}|{entry.script}"
            name += f"-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"
        names.append(name)
    return names


def _one(
    one: Walked,
    called: str,
    run: Path,
    settings: Settings,
    suite: Suite | None,
    benchmarks: Sequence[str] | None,
    trust_poses: bool,
    progress: Progress,
    notify: Callable[[str], None],
) -> tuple[store.EpisodeRecord, bool]:
    """Score one video into a run folder; return its record and whether it is new.

    Args:
        one: The video.
        called: What it is called where no case is known.
        run: The run folder.
        settings: Of the run.
        suite: Suite that was walked.
        benchmarks: Which evaluators.
        trust_poses: See ``offline.score``.
        progress: Called with the number of frames scored.
        notify: Called with lines that the user should see.
    """
    entry = one.entry
    name = entry.video.name
    case_id, category = naming(entry.case, called)
    identity: dict[str, Any] = {
        "suite": suite.id if suite is not None else "recorded",
        "case": case_id,
        "category": category,
        "script": entry.script or "",
        "seed": entry.seed or 0,
        "world": one.world,
    }
    folder = store.episode_folder(
        run,
        suite=identity["suite"],
        case=case_id,
        script=identity["script"],
        seed=identity["seed"],
        control="",
    )
    held = store.read_record(folder / "scores.json")
    try:
        rollout = _open_entry(entry, trust_poses, notify)
        chosen = benchmarks or (
            [suite.benchmark] if suite is not None else applicable(rollout.target, rollout.script)
        )
        options = {suite.benchmark: dict(suite.options)} if suite is not None else {}
        if held is not None and held.status == "done" and held.digest == rollout.digest:
            engine = engine_of(rollout, chosen, settings, options)
            key = score_key(rollout.digest[:16], rollout.digest, engine, settings.profile)
            if held.score_key == key:
                progress(name, len(rollout))
                return held, False
        record = scored(rollout, chosen, settings, identity, lambda n: progress(name, n), options)
    except (store.StoreError, StorageError, WeightsNotFound):
        raise
    except WorldEnvError as error:
        record = failed_record(identity, str(error), settings.profile)
        with store.explain_os_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        store.write_json(folder / "scores.json", record.model_dump())
        return record, True
    if folder.exists():
        shutil.rmtree(folder)
    keep(rollout, record, folder)
    return record, True


def _open_entry(entry: Entry, trust_poses: bool, notify: Callable[[str], None]) -> Rollout:
    if entry.is_rollout:
        return entry.open()
    path, K = entry.load_path()
    return read_video(
        entry.video, path, K, entry.case, entry.script, trust_poses=trust_poses, notify=notify
    )

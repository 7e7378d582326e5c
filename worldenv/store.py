"""The results of a run: episode folders as the truth, and a SQLite index over them.

A run folder holds ``run.json`` (what was asked), ``episodes/<suite>/<episode>/`` (``rollout.json``,
video, truth, ``scores.json``) and ``scores.sqlite``, which ``collect`` rebuilds from the folders at
any time. Every file is written under a temporary name and renamed, so a killed process leaves
either the old file or the new one.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from worldenv.case import Case
from worldenv.world import WorldEnvError, WorldSpec, to_plain

SCHEMA = 1


class StoreError(WorldEnvError):
    """A run folder cannot be read, written or shared."""


class EpisodeRecord(BaseModel):
    """``scores.json``: everything about one scored episode but its frames.

    ``scores`` holds the fields of Score; ``error`` is set exactly when ``status`` is ``failed``;
    ``stand_in`` says that another world made the frames, so that they tell nothing of this one.
    """

    model_config = ConfigDict(extra="forbid")

    schema_version: int = SCHEMA
    status: Literal["done", "failed"]
    error: str | None = None
    suite: str
    case: str
    category: str
    script: str
    seed: int
    control: str
    world: str
    stand_in: bool = False
    profile: str
    frames: int
    rollout_key: str
    score_key: str
    digest: str
    constants_version: str
    backbones: dict[str, dict[str, Any]]
    scores: list[dict[str, Any]]


@dataclass(frozen=True)
class Row:
    """One score of a run with the episode it belongs to; fields of Score by attribute."""

    id: str
    suite: str
    case: str
    category: str
    script: str
    seed: int
    episode: str
    control: str
    world: str
    stand_in: bool
    profile: str
    backbone: str
    constants_version: str
    rollout_key: str
    score_key: str
    benchmark: str
    metric: str
    variant: str
    target: str | None
    revisit: int | None
    value: float | None
    n_valid: int
    n_expected: int
    status: str
    detail: dict[str, Any]
    final_at: int | None


def digest_of(value: Any) -> str:
    """Return a short stable digest (16 hex digits) of plain values."""
    text = json.dumps(to_plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def rollout_key(
    spec: WorldSpec,
    *,
    options: Mapping[str, Any],
    case: Case,
    script: str,
    seed: int,
    control: str,
    device: str = "cpu",
) -> str:
    """Return the key of everything that decides the frames of an episode."""
    return digest_of(
        {
            "spec": spec.to_dict(),
            "options": dict(options),
            "case": case.to_dict(),
            "script": script,
            "seed": seed,
            "control": control,
            "device": device,
        }
    )


def score_key(
    rollout: str,
    *,
    digest: str,
    profile: str,
    backbones: Mapping[str, Mapping[str, Any]],
    constants_version: str,
) -> str:
    """Return the key of everything that decides the scores of a rollout."""
    return digest_of([rollout, digest, profile, to_plain(dict(backbones)), constants_version])


def safe_name(text: str) -> str:
    """Return a folder name for hostile text: plain characters, bounded, still unique.

    Text that is already plain stays as it is; other text keeps a readable part and a digest.
    """
    plain = re.sub(r"[^A-Za-z0-9._=@+-]+", "_", text).strip("._")[:80]
    same = plain == text and plain not in ("", ".", "..")
    return plain if same else f"{plain or 'x'}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def episode_folder(
    run: Path, *, suite: str, case: str, script: str, seed: int, control: str
) -> Path:
    """Return the folder of an episode within a run."""
    parts = [case.removeprefix(f"{suite}/").replace("/", "-"), script.replace(":", "-"), f"s{seed}"]
    name = "@".join(filter(None, [*parts, control]))
    return run / "episodes" / safe_name(suite) / safe_name(name)


def write_json(path: Path, value: Any) -> None:
    """Write plain values as JSON; as ``write_text``."""
    write_text(path, json.dumps(to_plain(value), allow_nan=False, ensure_ascii=False))


def write_text(path: Path, text: str) -> None:
    """Write a text under a temporary name, then rename.

    Raises:
        StoreError: the folder is read-only or the disk is full; nothing is left behind.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with explain_os_errors(path):
        try:
            with temporary.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def explain_os_errors(path: Path) -> Iterator[None]:
    """Turn the operating system's refusal to write into a StoreError that names the remedy."""
    try:
        yield
    except OSError as error:
        reasons = {
            errno.ENOSPC: "the disk is full; free some space and run the same command to resume",
            errno.EDQUOT: "the disk quota is used up; free some and run the same command to resume",
            errno.EROFS: "the file system is read-only; choose another folder with --out",
            errno.EACCES: "permission denied; choose another folder with --out",
            errno.EPERM: "permission denied; choose another folder with --out",
            errno.ENOTDIR: "a part of the path is a file; choose another folder with --out",
            errno.EEXIST: "a file is in the way; choose another folder with --out",
            errno.ENAMETOOLONG: "the path is too long; choose a shorter folder with --out",
        }
        reason = reasons.get(error.errno or 0, str(error.strerror or error))
        raise StoreError(f"Cannot write {path}: {reason}.") from error


def read_record(path: Path) -> EpisodeRecord | None:
    """Return a ``scores.json``, or None where it is absent, damaged or of another schema."""
    try:
        record = EpisodeRecord.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return record if record.schema_version == SCHEMA else None


def records(run: Path) -> list[tuple[str, EpisodeRecord]]:
    """Return (episode, record) of every finished episode, ordered by episode name.

    Raises:
        StoreError: the folder is not a run.
    """
    if not (run / "episodes").is_dir():
        raise StoreError(
            f"{run} holds no episodes; expected a folder written by 'worldenv bench --out'."
        )
    found = []
    for path in sorted((run / "episodes").glob("*/*/scores.json")):
        record = read_record(path)
        if record is not None:
            found.append((f"{path.parent.parent.name}/{path.parent.name}", record))
    return found


def rows_of(episode: str, record: EpisodeRecord) -> list[Row]:
    """Return the rows of one episode, a score each."""
    rows = []
    for score in record.scores:
        identity = [episode, *(score[k] for k in _IDENTITY)]
        rows.append(
            Row(
                id=digest_of(identity)[:10],
                episode=episode,
                suite=record.suite,
                case=record.case,
                category=record.category,
                script=record.script,
                seed=record.seed,
                control=record.control,
                world=record.world,
                stand_in=record.stand_in,
                profile=record.profile,
                backbone=str(score["detail"].get("backbone", "")),
                constants_version=record.constants_version,
                rollout_key=record.rollout_key,
                score_key=record.score_key,
                **score,
            )
        )
    return rows


_IDENTITY = ("benchmark", "metric", "variant", "target", "revisit")

_COLUMNS = {
    "id": "TEXT PRIMARY KEY",
    "suite": "TEXT NOT NULL",
    "case": "TEXT NOT NULL",
    "category": "TEXT NOT NULL",
    "script": "TEXT NOT NULL",
    "seed": "INTEGER NOT NULL",
    "episode": "TEXT NOT NULL",
    "control": "TEXT NOT NULL",
    "world": "TEXT NOT NULL",
    "stand_in": "INTEGER NOT NULL",
    "profile": "TEXT NOT NULL",
    "backbone": "TEXT NOT NULL",
    "constants_version": "TEXT NOT NULL",
    "rollout_key": "TEXT NOT NULL",
    "score_key": "TEXT NOT NULL",
    "benchmark": "TEXT NOT NULL",
    "metric": "TEXT NOT NULL",
    "variant": "TEXT NOT NULL",
    "target": "TEXT",
    "revisit": "INTEGER",
    "value": "REAL",
    "n_valid": "INTEGER NOT NULL",
    "n_expected": "INTEGER NOT NULL",
    "status": "TEXT NOT NULL",
    "detail": "TEXT NOT NULL",
    "final_at": "INTEGER",
}


def write_index(run: Path, found: list[tuple[str, EpisodeRecord]]) -> list[Row]:
    """Write ``scores.sqlite`` anew from episode records and return its rows.

    Raises:
        StoreError: the folder is read-only or the disk is full.
    """
    path = run / "scores.sqlite"
    temporary = run / f".scores.sqlite.{os.getpid()}.tmp"
    rows: list[Row] = []
    with explain_os_errors(path):
        temporary.unlink(missing_ok=True)
        try:
            with contextlib.closing(sqlite3.connect(temporary)) as database:
                columns = ", ".join(f'"{name}" {kind}' for name, kind in _COLUMNS.items())
                database.execute(f"CREATE TABLE scores ({columns})")
                database.execute(
                    "CREATE TABLE episodes (episode TEXT PRIMARY KEY, suite TEXT, 'case' TEXT, "
                    "category TEXT, script TEXT, seed INTEGER, control TEXT, world TEXT, "
                    "profile TEXT, frames INTEGER, status TEXT, error TEXT, rollout_key TEXT, "
                    "score_key TEXT, digest TEXT)"
                )
                for episode, record in found:
                    values = [episode, record.suite, record.case, record.category, record.script]
                    values += [str(record.seed), record.control, record.world, record.profile]
                    values += [str(record.frames), record.status, record.error or ""]
                    values += [record.rollout_key, record.score_key, record.digest]
                    marks = ", ".join("?" * len(values))
                    database.execute(f"INSERT INTO episodes VALUES ({marks})", values)
                    rows += rows_of(episode, record)
                marks = ", ".join("?" * len(_COLUMNS))
                database.executemany(
                    f"INSERT INTO scores VALUES ({marks})", [_cells(row) for row in rows]
                )
                database.commit()
            temporary.replace(path)
        except sqlite3.OperationalError as error:
            raise StoreError(f"Cannot write {path}: {error}.") from error
        finally:
            temporary.unlink(missing_ok=True)
    return rows


def _cells(row: Row) -> list[Any]:
    values = {name: getattr(row, name) for name in _COLUMNS}
    values["detail"] = json.dumps(to_plain(row.detail), sort_keys=True, allow_nan=False)
    return list(values.values())


def read_index(run: Path) -> list[Row]:
    """Return the rows of ``scores.sqlite``.

    Raises:
        StoreError: there is no readable index; ``worldenv collect`` builds it.
    """
    path = run / "scores.sqlite"
    if not path.is_file():
        raise StoreError(f"{run} has no scores.sqlite; build it with 'worldenv collect {run}'.")
    names = ", ".join(f'"{name}"' for name in _COLUMNS)
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            cells = database.execute(f"SELECT {names} FROM scores ORDER BY rowid").fetchall()
    except sqlite3.DatabaseError as error:
        raise StoreError(
            f"Cannot read {path} ({error}); rebuild it with 'worldenv collect {run}'."
        ) from error
    rows = []
    for cell in cells:
        values = dict(zip(_COLUMNS, cell, strict=True))
        values["detail"] = json.loads(values["detail"])
        values["stand_in"] = bool(values["stand_in"])
        rows.append(Row(**values))
    return rows

"""Suites of others: imported once into a folder of our own, then used by id like built-in ones."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from worldenv.camera import CameraPath, WorldEnvError
from worldenv.case import Case, Item, Policy, Suite, load_script
from worldenv.poses import load_poses
from worldenv.world import UnknownName, Unsupported, WorldSpec

FOLDER = "WORLDENV_SUITES"
"""Environment variable: the folder that suites are imported into."""

RECORD = "suite.json"
SCHEMA = 1
POSES = "suite:"
"""Prefix of scripts that walk a pose file of a suite: ``suite:ID/poses/NAME.json``."""

_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}\Z")


class InvalidSuite(WorldEnvError):
    """A benchmark's files are no suite that can be imported, or an imported suite is damaged."""


@dataclass
class Draft:
    """A suite on its way in.

    Attributes:
        id: Id it will be used by.
        benchmark: Which evaluator scores it.
        source: What it was read from, for the record.
        cases: Cases; their images are paths in ``images``.
        items: (case id, script).
        images: Path within the suite -> where it is read from, or its bytes.
        poses: Path within the suite -> pose file.
        left_out: What was not imported, and why.
        notes: What the user must know.
        options: Arguments of the evaluator.
    """

    id: str
    benchmark: str
    source: dict[str, Any]
    cases: dict[str, Case] = field(default_factory=dict)
    items: list[tuple[str, str]] = field(default_factory=list)
    images: dict[str, Path | bytes] = field(default_factory=dict)
    poses: dict[str, Path] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    options: dict[str, Any] = field(default_factory=dict)


def suites_folder() -> Path:
    """Return the folder of imported suites: ``$WORLDENV_SUITES``, else in the user's cache."""
    chosen = os.environ.get(FOLDER)
    if chosen:
        return Path(chosen).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "worldenv" / "suites"


def imported() -> tuple[str, ...]:
    """Return the ids of the suites that were imported."""
    return tuple(sorted(file.parent.name for file in suites_folder().glob(f"*/{RECORD}")))


def load_imported(name: str) -> Suite:
    """Return an imported suite.

    Raises:
        UnknownName: there is none of that id.
        InvalidSuite: it is damaged.
    """
    if name not in imported():
        raise UnknownName("suite", name, imported())
    folder = suites_folder() / name
    record = _record(folder)
    try:
        cases = {}
        for data in record["cases"]:
            case = Case.from_dict(data)
            image = None if case.image is None else str(folder / case.image)
            cases[case.id] = replace(case, image=image)
        items = tuple(Item(cases[case], str(script)) for case, script in record["items"])
        return Suite(name, str(record["benchmark"]), items, None, dict(record["options"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidSuite(f"{folder / RECORD} is damaged ({error}); import {name} anew.") from None


def _record(folder: Path) -> dict[str, Any]:
    try:
        data = json.loads((folder / RECORD).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidSuite(f"{folder / RECORD} cannot be read: {error}.") from None
    if not isinstance(data, dict) or data.get("schema") != SCHEMA:
        raise InvalidSuite(f"{folder / RECORD} has another schema; import the suite anew.")
    return data


class PoseFile:
    """A script that walks a pose file of an imported suite, frame for frame."""

    def __init__(self, name: str) -> None:
        """Name it.

        Args:
            name: ``suite:ID/poses/NAME.json``.

        Raises:
            UnknownName: the suite has no such file.
        """
        self.name = name
        inside = name.removeprefix(POSES)
        suite, _, rest = inside.partition("/")
        file = (suites_folder() / suite / rest).resolve()
        home = (suites_folder() / suite / "poses").resolve()
        if home not in file.parents or not file.is_file():
            known = [f"{POSES}{suite}/poses/{f.name}" for f in sorted(home.glob("*"))]
            raise UnknownName("script", name, known)
        self._file = file

    def path(
        self, spec: WorldSpec | None = None, case: Case | None = None, control: str = "plan"
    ) -> CameraPath:
        """Return the path of the file; it has no phases.

        Raises:
            Unsupported: control is ``primitive``: the file's motion comes in no quanta.
        """
        if control == "primitive":
            raise Unsupported(f"{self.name} is a pose file; use control 'plan' or 'path'")
        fps = 16.0 if spec is None else spec.fps
        return load_poses(self._file, fps)[0]

    def policy(self, spec: WorldSpec, control: str, case: Case | None = None) -> Policy:
        """Return a policy that plays the plan.

        Raises:
            Unsupported: control is not ``plan``.
        """
        if control != "plan":
            raise Unsupported(f"{self.name} is a pose file; use control 'plan'")
        return _Play()


class _Play:
    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, Any]:
        return np.int64(0), state


def save(draft: Draft, progress: Callable[[int], None] = lambda n: None) -> Path:
    """Copy a draft into the folder of imported suites and return where it lies.

    Everything is written beside it and renamed when whole; an earlier import of that id goes last.

    Args:
        draft: The suite.
        progress: Called with the number of files newly copied.

    Raises:
        InvalidSuite: its id is taken or is none, or it cannot be written.
    """
    from worldenv.worlds.reference.cases import SUITES

    if not _ID.match(draft.id) or draft.id in SUITES:
        raise InvalidSuite(
            f"{draft.id!r} is no id for an imported suite; expected small letters, digits, . _ -, "
            f"and none of {', '.join(SUITES)}"
        )
    home = suites_folder()
    try:
        home.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{draft.id}.", dir=home))
        try:
            _fill_folder(draft, part, progress)
            target = home / draft.id
            old = part.with_name(part.name + ".old")
            if target.exists():
                target.rename(old)
            part.rename(target)
            shutil.rmtree(old, ignore_errors=True)
            return target
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise InvalidSuite(f"{home} cannot be written: {error.strerror or error}.") from None


def _fill_folder(draft: Draft, folder: Path, progress: Callable[[int], None]) -> None:
    hashes = {}
    for inside, source in {**draft.images, **draft.poses}.items():
        data = source if isinstance(source, bytes) else source.read_bytes()
        target = folder / inside
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        hashes[inside] = hashlib.sha256(data).hexdigest()
        progress(1)
    record = {
        "schema": SCHEMA,
        "id": draft.id,
        "benchmark": draft.benchmark,
        "options": draft.options,
        "source": draft.source,
        "notes": draft.notes,
        "left_out": draft.left_out,
        "files": hashes,
        "cases": [case.to_dict() for case in draft.cases.values()],
        "items": [list(item) for item in draft.items],
    }
    (folder / RECORD).write_text(json.dumps(record, indent=1), "utf-8")
    # As mkdtemp made it only its owner could read it.
    folder.chmod(0o755)


def verify(name: str, progress: Callable[[int], None] = lambda n: None) -> list[str]:
    """Return what is wrong with an imported suite, nothing when it is whole.

    Files are hashed anew, images read, and every script's path built.

    Args:
        name: Id of the suite.
        progress: Called with the number of files newly checked.

    Raises:
        UnknownName: there is none of that id.
        InvalidSuite: its record is damaged.
    """
    suite = load_imported(name)
    folder = suites_folder() / name
    wrong = []
    for inside, wanted in _record(folder)["files"].items():
        progress(1)
        try:
            found = hashlib.sha256((folder / inside).read_bytes()).hexdigest()
        except OSError as error:
            wrong.append(f"{inside} cannot be read: {error.strerror}")
            continue
        if found != wanted:
            wrong.append(f"{inside} was changed")
    for case in suite.cases.values():
        try:
            case.start()
        except WorldEnvError as error:
            wrong.append(f"{case.id}: {error}")
    for script in dict.fromkeys(item.script for item in suite):
        try:
            load_script(script).path(None, next(i.case for i in suite if i.script == script))
        except WorldEnvError as error:
            wrong.append(f"{script}: {error}")
    return wrong

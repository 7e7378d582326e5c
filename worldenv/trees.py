"""Finds the videos that a benchmark's own tools left: by its published tree, tasks, or a list."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from worldenv.case import Suite, load_script
from worldenv.suite_import import scripts_of
from worldenv.suites import InvalidSuite
from worldenv.world import UnknownName, Unsupported
from worldenv.worlds.recordings import SUFFIXES, Entry, listed

MAPPINGS = ("worldmembench", "mbench")
"""Mapping files that come with worldenv; their columns are assumed, and they say so."""


@dataclass(frozen=True)
class Walked:
    """A video of a model.

    Attributes:
        entry: The video with what is known of its path.
        world: Name of the model.
    """

    entry: Entry
    world: str


@dataclass
class Found:
    """What a tree holds.

    Attributes:
        walked: Videos that match.
        unmatched: Videos that do not, and why.
        missing: Items of the suite that a model has no video of, as ``model: item``.
    """

    walked: list[Walked] = field(default_factory=list)
    unmatched: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def load_mapping(name: str) -> dict[str, Any]:
    """Return a mapping by file or by the name of one that comes with worldenv.

    Raises:
        UnknownName: it is neither.
        InvalidSuite: it is no TOML.
    """
    try:
        if name in MAPPINGS:
            text = resources.files("worldenv").joinpath(f"mappings/{name}.toml").read_text("utf-8")
        elif Path(name).is_file():
            text = Path(name).read_text("utf-8")
        else:
            raise UnknownName("mapping (or file)", name, MAPPINGS)
        return tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidSuite(f"the mapping {name} cannot be read: {error}") from None


def find_tree(folder: Path, mapping: Mapping[str, Any], suite: Suite | None) -> Found:
    """Return the videos of a tree whose paths a mapping tells.

    The mapping's ``[tree]`` has ``pattern``, e.g.
    ``{category}/{model}/{trajectory}/{case}/video.mp4``, and ``case``, a template of the case's
    id within the suite; ``[scripts]`` says which script a column's value is. Nothing is guessed:
    what does not fit is listed.

    Args:
        folder: The tree.
        mapping: See above.
        suite: The suite whose cases were walked, None where targets are not known.

    Raises:
        InvalidSuite: the mapping has no tree.
        Unsupported: no video fits.
    """
    tree = mapping.get("tree")
    if not isinstance(tree, dict) or not isinstance(tree.get("pattern"), str):
        raise InvalidSuite("the mapping has no [tree] with a pattern")
    if suite is not None and not isinstance(tree.get("case"), str):
        raise InvalidSuite("the mapping's [tree] has no template for the case")
    pattern = _compile(tree["pattern"])
    scripts = scripts_of(mapping)
    found = Found()
    seen: dict[str, set[tuple[str, str]]] = {}
    for video in sorted(folder.rglob("*")):
        if video.suffix.lower() not in SUFFIXES or not video.is_file():
            continue
        where = video.relative_to(folder).as_posix()
        match = pattern.fullmatch(where)
        if match is None:
            found.unmatched.append(f"{where}: another path than {tree['pattern']}")
            continue
        names = match.groupdict()
        value = names.get(str(scripts.get("column", "")), "all")
        chosen = scripts["of"].get(value)
        if chosen is None or len(chosen) != 1:
            found.unmatched.append(f"{where}: no single script is given for {value!r}")
            continue
        case = None
        if suite is not None:
            inside = str(tree["case"])
            for key, text in names.items():
                inside = inside.replace(f"{{{key}}}", text)
            case = suite.cases.get(f"{suite.id}/{inside}")
            if case is None:
                found.unmatched.append(f"{where}: {suite.id} has no case {inside!r}")
                continue
        model = names.get("model", "") or folder.name
        found.walked.append(Walked(Entry(video, None, chosen[0], case), model))
        if case is not None:
            seen.setdefault(model, set()).add((case.id, chosen[0]))
    if suite is not None:
        found.missing = [
            f"{model}: {item.key}"
            for model, have in seen.items()
            for item in suite
            if (item.case.id, item.script) not in have
        ]
    if not found.walked:
        why = f": {found.unmatched[0]}" if found.unmatched else ""
        raise Unsupported(f"no video in {folder} fits{why}")
    return found


def _compile(pattern: str) -> re.Pattern[str]:
    """Return the pattern as an expression; a name stands for one part of a path."""
    parts = re.split(r"(\{\w+\})", pattern)
    names = [part[1:-1] for part in parts if re.fullmatch(r"\{\w+\}", part)]
    if len(names) != len(set(names)):
        raise InvalidSuite(f"the pattern {pattern} names a part twice")
    return re.compile(
        "".join(
            f"(?P<{part[1:-1]}>[^/]+)" if re.fullmatch(r"\{\w+\}", part) else re.escape(part)
            for part in parts
        )
    )


def find_tasks(tasks: Sequence[str]) -> Found:
    """Return the videos of R2M-Bench's tasks, each ``name|video folder|pose file``.

    Every video of a folder walked its task's pose file; the name is the model's.

    Raises:
        Unsupported: a task is of another form, or its folder holds no video.
    """
    found = Found()
    for task in tasks:
        parts = [part.strip() for part in task.split("|")]
        if len(parts) != 3 or not all(parts):
            raise Unsupported(f"the task {task!r} is not 'name|video folder|pose file'")
        folder, poses = Path(parts[1]), Path(parts[2])
        videos = [v for v in sorted(folder.glob("*")) if v.suffix.lower() in SUFFIXES]
        if not videos:
            raise Unsupported(f"{folder} holds no video ({', '.join(SUFFIXES)})")
        if not poses.is_file():
            raise Unsupported(f"{poses} is no pose file")
        found.walked += [Walked(Entry(video, poses), parts[0]) for video in videos]
    return found


def find_listed(file: Path) -> Found:
    """Return the videos of a JSON list: keys of ``Recorded-v0``'s list, and ``world``.

    Raises:
        Unsupported: it is of another form.
        UnknownName: a key, a case or a script is unknown.
    """
    found = Found()
    for world, entry in listed(file):
        if entry.script is not None:
            load_script(entry.script)
        found.walked.append(Walked(entry, world or file.stem))
    return found

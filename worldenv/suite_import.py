"""Reads the published benchmarks, and others by a mapping file, into suites."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from worldenv.case import BENCHMARKS, Case, Event, Target, load_script
from worldenv.evaluators.judging.proposals import load_questions
from worldenv.poses import load_poses
from worldenv.suite_tables import below, fill, plain_name, read_json, read_table, texts_of
from worldenv.suites import POSES, RECORD, Draft, InvalidSuite
from worldenv.world import UnknownName

_R2M_KEYS = ("image", "prompt", "pose_json_path")


def read_r2m(folder: Path, name: str) -> Draft:
    """Read R2M-Bench: JSON lists of ``{image, prompt, pose_json_path}``, a file a trajectory.

    Args:
        folder: The data set, with its metadata, pose files and images anywhere below.
        name: Id to use it by.

    Raises:
        InvalidSuite: there is no such list, or its entries are of another form.
    """
    draft = Draft(name, "r2m", {"layout": "r2m", "folder": folder.name}, options={"rule": "paper"})
    for file in sorted(folder.rglob("*.json")):
        rows = read_json(file)
        if not isinstance(rows, list) or not rows:
            continue
        if not all(isinstance(r, dict) and "pose_json_path" in r for r in rows):
            continue
        for number, row in enumerate(rows):
            where = f"{file.name} entry {number}"
            for key in _R2M_KEYS:
                if not isinstance(row.get(key), str) or not row[key].strip():
                    raise InvalidSuite(f'{where} has no text "{key}"')
            image = below(folder, file, row["image"])
            poses = below(folder, file, row["pose_json_path"])
            if image is None or poses is None:
                missing = row["image"] if image is None else row["pose_json_path"]
                draft.left_out.append(f"{where}: {missing} is not in {folder}")
                continue
            _add_r2m(draft, folder, image, poses, row["prompt"])
    if not draft.items:
        raise InvalidSuite(
            f"{folder} holds no R2M-Bench metadata that can be used; expected JSON lists of "
            f"objects with {', '.join(_R2M_KEYS)}"
            + (f" ({draft.left_out[0]})" if draft.left_out else "")
        )
    return draft


def _add_r2m(draft: Draft, folder: Path, image: Path, poses: Path, prompt: str) -> None:
    name = plain_name(image.stem)
    inside = f"images/{name}{image.suffix.lower()}"
    if draft.images.get(inside, image) != image:
        # Another folder has a picture of that name.
        name = plain_name(image.relative_to(folder.resolve()).with_suffix("").as_posix())
        inside = f"images/{name}{image.suffix.lower()}"
    draft.images[inside] = image
    target = f"poses/{plain_name(poses.stem)}.json"
    if draft.poses.setdefault(target, poses) != poses:
        raise InvalidSuite(f"two pose files are named {poses.name}; give them different names")
    rows, size = _lens(poses)
    case_id = f"{draft.id}/view/{name}"
    case = Case(case_id, "view", image=inside, prompt=prompt, K=rows, size=size)
    known = draft.cases.get(case_id)
    if known is not None and known.prompt != prompt:
        case_id = f"{case_id}-{hashlib.sha256(prompt.encode()).hexdigest()[:6]}"
        case = replace(case, id=case_id)
        known = draft.cases.get(case_id)
    if known is not None and known.K != rows:
        raise InvalidSuite(
            f"{image.name} is walked with two different K ({poses.name} has another); a case has "
            "one camera"
        )
    draft.cases[case_id] = case
    item = (case_id, f"{POSES}{draft.id}/{target}")
    if item not in draft.items:
        draft.items.append(item)


@lru_cache(maxsize=64)
def _lens(poses: Path) -> tuple[tuple[tuple[float, ...], ...] | None, tuple[int, int] | None]:
    """Return the intrinsics of a pose file, and the size that they belong to."""
    _, K = load_poses(poses)
    if K is None:
        return None, None
    # The centre of R2M-Bench's K is the middle of its picture.
    size = (round(2 * float(K[0, 2])), round(2 * float(K[1, 2])))
    return tuple(tuple(float(v) for v in row) for row in K), size


def read_mapped(folder: Path, name: str, mapping: Mapping[str, Any]) -> Draft:
    """Read a benchmark whose schema a mapping tells.

    A mapping has ``benchmark``; ``table`` (a .json, .jsonl, .csv or .parquet below the folder);
    ``[case]`` with templates such as ``id = "{category}/{name}"`` for id, category, prompt, image,
    targets, event, mechanism, questions and answers (or questions_file, a frozen one);
    ``[scripts]`` with ``column`` (or ``all``) and the script of each of its values; optional
    ``note`` and ``[options]``. ``{column}`` stands for the text of a column; lists are JSON or
    parted by ``;``.

    Args:
        folder: The data set.
        name: Id to use it by.
        mapping: What was read from a mapping file.

    Raises:
        InvalidSuite: the mapping or the table is of another form.
        UnknownName: a script is unknown.
    """
    draft = Draft(name, _benchmark(mapping), {"layout": "mapped", "folder": folder.name})
    options = mapping.get("options", {})
    if not isinstance(options, dict):
        raise InvalidSuite("[options] of the mapping must be a table")
    draft.options = dict(options)
    if mapping.get("note"):
        draft.notes.append(str(mapping["note"]))
    scripts = scripts_of(mapping)
    templates = mapping.get("case")
    if not isinstance(templates, dict) or "id" not in templates:
        raise InvalidSuite("the mapping has no [case] with a template for id")
    for key in templates:
        if key not in _FIELDS:
            raise UnknownName("field of [case]", str(key), _FIELDS)
    for number, row in enumerate(read_table(folder, str(mapping.get("table", "")))):
        where = f"row {number}"
        value = str(row.get(str(scripts["column"]), "")) if "column" in scripts else "all"
        chosen = scripts["of"].get(value)
        if chosen is None:
            draft.left_out.append(f"{where}: no script is given for {scripts['column']} {value!r}")
            continue
        case = _case(draft, folder, templates, row, where)
        if case is None:
            continue
        known = draft.cases.setdefault(case.id, case)
        if known != case:
            draft.left_out.append(f"{where}: {case.id} differs from an earlier row of that id")
            continue
        for script in chosen:
            if (case.id, script) not in draft.items:
                draft.items.append((case.id, script))
    if not draft.items:
        why = f": {draft.left_out[0]}" if draft.left_out else ""
        raise InvalidSuite(f"no row of {folder} could be imported{why}")
    return draft


_FIELDS = (
    "id",
    "category",
    "prompt",
    "prompts",
    "image",
    "targets",
    "event",
    "mechanism",
    "questions",
    "answers",
    "questions_file",
)


def _benchmark(mapping: Mapping[str, Any]) -> str:
    found = mapping.get("benchmark")
    if found not in BENCHMARKS:
        raise UnknownName("benchmark of the mapping:", str(found), BENCHMARKS)
    return str(found)


def scripts_of(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a mapping's ``[scripts]`` says: ``of`` (value -> scripts) and ``column``.

    Raises:
        InvalidSuite: it says nothing.
        UnknownName: a script is unknown.
    """
    given = mapping.get("scripts")
    if not isinstance(given, dict) or not ({"all", "column"} & set(given)):
        raise InvalidSuite("the mapping has no [scripts] with 'column' or 'all'")
    of: dict[str, list[str]] = {}
    for value, names in given.items():
        if value == "column":
            continue
        listed = [names] if isinstance(names, str) else names
        if not isinstance(listed, list) or not all(isinstance(n, str) for n in listed):
            raise InvalidSuite(f"[scripts] {value} must be a script or a list of scripts")
        for script in listed:
            load_script(script)
        of[str(value)] = listed
    return {"of": of, **({"column": given["column"]} if "column" in given else {})}


def _case(
    draft: Draft, folder: Path, templates: Mapping[str, Any], row: Mapping[str, Any], where: str
) -> Case | None:
    """Return the case of a row, None when its image is missing."""
    text = {key: fill(str(template), row, where) for key, template in templates.items()}
    case_id = f"{draft.id}/{text['id']}"
    if not re.fullmatch(r"[\w@][\w.@ -]*(/[\w@][\w.@ -]*)*", text["id"]):
        raise InvalidSuite(f"{where} gives the id {text['id']!r}; expected names parted by /")
    image = None
    if text.get("image"):
        image = f"images/{plain_name(text['id'])}"
        column = re.fullmatch(r"\{(\w+)\}", str(templates["image"]))
        stored = row.get(column.group(1)) if column is not None else None
        if isinstance(stored, Mapping):
            stored = stored.get("bytes")
        if isinstance(stored, bytes):
            image += ".png" if stored.startswith(b"\x89PNG") else ".jpg"
            draft.images[image] = stored
        else:
            file = below(folder, folder / "x", text["image"])
            if file is None:
                draft.left_out.append(f"{where}: {text['image']} is not in {folder}")
                return None
            image += file.suffix.lower()
            draft.images[image] = file
    nouns = texts_of(text.get("targets", ""))
    counts: dict[str, int] = {}
    targets = []
    for noun in nouns:
        counts[noun] = counts.get(noun, 0) + 1
        targets.append(Target(f"{noun}-{counts[noun]}", noun))
    event = None
    if text.get("event"):
        questions = tuple(texts_of(text.get("questions", "")))
        answers = tuple(_answer(a, where) for a in texts_of(text.get("answers", "")))
        if text.get("questions_file"):
            file = below(folder, folder / "x", text["questions_file"])
            if file is None:
                draft.left_out.append(f"{where}: {text['questions_file']} is not in {folder}")
                return None
            chosen = load_questions(file)
            if chosen.frozen is None:
                raise InvalidSuite(f"{file} is not frozen; worldenv suites questions freeze it")
            questions, answers = chosen.texts, chosen.answers
        if len(questions) != len(answers):
            raise InvalidSuite(f"{where} has {len(questions)} questions and {len(answers)} answers")
        event = Event(text["event"], text.get("mechanism", ""), questions, answers)
    return Case(
        case_id,
        text.get("category", ""),
        image=image,
        prompt=text.get("prompt") or None,
        prompts=tuple(texts_of(text.get("prompts", ""))),
        targets=tuple(targets),
        event=event,
    )


def _answer(text: str, where: str) -> bool:
    """Return a reference answer; what is neither yes nor no is refused, never taken for a no."""
    known = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
    if text.lower() not in known:
        raise InvalidSuite(f"{where} has the answer {text!r}; expected one of {', '.join(known)}")
    return known[text.lower()]


def describe(draft: Draft) -> Sequence[str]:
    """Return lines that say what an import gave."""
    lines = [
        f"{draft.id}: {len(draft.cases)} cases, {len(draft.items)} items, {len(draft.images)} "
        f"images, {len(draft.poses)} pose files",
        *draft.notes,
    ]
    if draft.left_out:
        lines.append(f"{len(draft.left_out)} entries were left out:")
        lines += [f"  {line}" for line in draft.left_out[:20]]
        if len(draft.left_out) > 20:
            lines.append(f"  and {len(draft.left_out) - 20} more, in its {RECORD}")
    return lines

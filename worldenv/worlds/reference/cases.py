"""The built-in suites of Reference-v0: which scene, from where, looking for what, by which script.

The list was drawn and checked once by ``assets/build_cases.py`` and is read from ``data``.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources
from typing import Any

from worldenv.case import Case, Event, Item, Suite, Target
from worldenv.world import UnknownName, WorldEnvError

SQUARE = "worldmembench-square"
SUITES = ("worldmembench", SQUARE, "mbench", "r2m")
"""Ids of the built-in suites. ``worldmembench-square`` walks a square through 85 of the static
cases of ``worldmembench``, the camera-following subset."""
VERSION = 2
"""Of the layout of ``data/cases.json``."""
OPTIONS: dict[str, dict[str, Any]] = {
    "worldmembench": {},
    SQUARE: {},
    "mbench": {},
    "r2m": {"rule": "paper"},
}


@lru_cache(maxsize=1)
def _stored() -> dict[str, Any]:
    path = resources.files("worldenv.worlds.reference") / "data" / "cases.json"
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if stored["version"] != VERSION:
        raise WorldEnvError(
            f"cases.json has version {stored['version']} instead of {VERSION}; "
            "draw it anew by assets/build_cases.py"
        )
    return stored


@lru_cache(maxsize=4)
def _cases(name: str) -> tuple[tuple[Case, tuple[str, ...], bool], ...]:
    """Return each case of a stored suite, its scripts, and whether it has room for the square."""
    stored = _stored()
    suite = stored["suites"][name]
    common = dict(suite["common"])
    if "K" in common:
        common["K"] = tuple(map(tuple, common["K"]))
        common["size"] = tuple(common["size"])
    found = []
    for row in suite["cases"]:
        family, seed, view, event = row["scene"]
        happens = None
        if event is not None:
            asked = stored["events"][event]
            _, instance, answers = row["event"]
            happens = Event(
                event,
                asked["mechanism"],
                tuple(asked["questions"]),
                tuple(answer == "y" for answer in answers),
                instance,
            )
        case = Case(
            id=row["id"],
            category=row["category"],
            kind=row["kind"],
            scene={"family": family, "seed": seed, "view": view, "event": event}
            | ({"passing": row["passing"]} if "passing" in row else {}),
            prompt=row["prompt"],
            prompts=tuple(row.get("prompts", ())),
            targets=tuple(Target(*target) for target in row["targets"]),
            event=happens,
            options=row.get("options", {}),
            **common,
        )
        found.append((case, tuple(row["scripts"]), bool(row.get("square"))))
    return tuple(found)


@lru_cache(maxsize=8)
def build_suite(name: str) -> Suite:
    """Return a built-in suite.

    Raises:
        UnknownName: there is no such suite.
    """
    if name not in SUITES:
        raise UnknownName("suite", name, SUITES)
    items: tuple[Item, ...]
    if name == SQUARE:
        items = tuple(
            Item(case, "worldmembench:square") for case, _, able in _cases("worldmembench") if able
        )
    else:
        items = tuple(Item(case, script) for case, scripts, _ in _cases(name) for script in scripts)
    benchmark = name.partition("-")[0]
    return Suite(name, benchmark, items, world="Reference-v0", options=dict(OPTIONS[name]))


QUICK: tuple[str, ...] = tuple(_stored()["quick"])
"""Keys of the ten items that ``worldenv bench`` walks when nothing else is asked for."""

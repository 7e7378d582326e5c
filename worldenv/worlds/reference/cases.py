"""The built-in suites of Reference-v0: which scene, from where, looking for what, by which script.

The list was drawn and checked once by ``assets/build_cases.py`` and is read from ``data``.
"""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources
from typing import Any

from worldenv.case import Case, Item, Suite
from worldenv.world import UnknownName

SUITES = ("worldmembench", "mbench", "r2m")
"""Ids of the built-in suites."""

OPTIONS: dict[str, dict[str, Any]] = {"worldmembench": {}, "mbench": {}, "r2m": {"rule": "paper"}}


@lru_cache(maxsize=1)
def _stored() -> dict[str, Any]:
    path = resources.files("worldenv.worlds.reference") / "data" / "cases.json"
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return stored


@lru_cache(maxsize=8)
def build_suite(name: str) -> Suite:
    """Return a built-in suite.

    Raises:
        UnknownName: there is no such suite.
    """
    if name not in SUITES:
        raise UnknownName("suite", name, SUITES)
    stored = _stored()[name]
    cases = {data["id"]: Case.from_dict(data) for data in stored["cases"]}
    items = tuple(Item(cases[case], script) for case, script in stored["items"])
    return Suite(name, name, items, world="Reference-v0", options=dict(OPTIONS[name]))


QUICK: tuple[str, ...] = tuple(_stored()["quick"])
"""Keys of the ten items that ``worldenv bench`` walks when nothing else is asked for."""

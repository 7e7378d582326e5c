"""Draw the cases of Reference-v0's suites and write ``worldenv/worlds/reference/data/cases.json``.

Usage: ``python assets/build_cases.py [--jobs 2] [--out FILE] [--questions]``. It builds scenes of
every family by seed, draws the ids that each view shows, and keeps views whose targets are large,
whole and unhidden at the start and gone at the far end of the script, with a free way between. A
new family in ``worldenv.worlds.reference.families.FAMILIES`` takes part by running it again. With
``--questions`` the cases of the file stay as they are, and only the questions on their events and
the answers are written anew.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from cases.choosing import Offer
from cases.make import (
    DYNAMIC,
    PARTITION,
    PINNED,
    asked_anew,
    place_of,
    r2m_offers,
    stored,
    summary,
)
from cases.survey import Look, probe, reply, survey, watch

from worldenv.worlds.reference.events import EVENTS
from worldenv.worlds.reference.families import FAMILIES

PATH = Path(__file__).parents[1] / "worldenv/worlds/reference/data/cases.json"
SEEDS = 24
"""Seeds of every family that are looked over in any case."""
FEW = 8
"""Seeds of an abstract family, which only R2M shows."""
MORE, MOST = 8, 120
"""Seeds that are added at a time while R2M's partition lacks views, and how many at most."""
TRIES = 40
"""Seeds that are tried for an event at most, for each case wanted."""
Map = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]


def look_over(run: Map, began: float) -> list[Look]:
    """Return the looks of all families, with more seeds where R2M's partition lacks views."""
    looks: list[Look] = []
    for family in FAMILIES:
        found: list[Look] = []
        last = 0
        families = [f for f in FAMILIES if place_of(f) == place_of(family)]
        wanted = PARTITION[place_of(family)] / len(families)
        first = FEW if place_of(family) == "abstract" else SEEDS
        while last < first or (last < MOST and _views(found, family) < 1.1 * wanted):
            step = first if last < first else MORE
            for some in run(survey, [(family, seed) for seed in range(last, last + step)]):
                found += some
            last += step
            _say(
                began,
                f"{family}: {last} seeds, {len(found)} views, {_views(found, family)} for r2m",
            )
            if not found:
                break
        looks += found
    return looks


def _views(looks: Sequence[Look], family: str) -> int:
    offers: list[Offer] = r2m_offers(looks)[place_of(family)]
    return len({o.look.key for o in offers})


def _say(began: float, text: str) -> None:
    print(f"{time.time() - began:6.0f} s  {text}", flush=True)


def find_events(run: Map, began: float) -> dict[str, list[Look]]:
    """Return mechanism -> looks of its events, 60 in all, each family and event in its turn."""
    pairs = [(family, event) for event in EVENTS for family in FAMILIES]
    mechanisms: dict[str, list[tuple[str, str]]] = {}
    for pair, mechanism in zip(pairs, run(probe, pairs), strict=True):
        if mechanism is not None and place_of(pair[0]) != "abstract":
            mechanisms.setdefault(mechanism, []).append(pair)
    pinned = {key[:2] for case, key in PINNED.items() if "/dynamic/" in case}
    found: dict[str, list[Look]] = {}
    for k, (mechanism, sources) in enumerate(mechanisms.items()):
        share, over = divmod(DYNAMIC, len(mechanisms))
        wanted = share + (k < over)
        # Each event begins at another seed, so that the cases show many scenes.
        tasks = [
            (family, 4 * k + seed, event) for seed in range(TRIES) for family, event in sources
        ]
        tasks.sort(key=lambda t: t[:2] not in pinned or mechanism != "moving")
        looks: list[Look] = []
        while tasks and len(looks) < wanted:
            some, tasks = tasks[: wanted - len(looks)], tasks[wanted - len(looks) :]
            looks += [look for look in run(watch, some) if look is not None]
            _say(began, f"{mechanism}: {len(looks)} of {wanted}")
        if len(looks) < wanted:
            raise SystemExit(f"only {len(looks)} of {wanted} {mechanism} cases; add seeds")
        found[mechanism] = looks
    return found


def write(data: dict[str, Any], path: Path) -> None:
    """Write the suites, a case a line."""
    suites = {}
    for name, suite in data["suites"].items():
        lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in suite["cases"])
        common = json.dumps(suite.get("common", {}), separators=(",", ":"))
        suites[name] = f'"{name}":{{"common":{common},"cases":[\n{lines}\n]}}'
    head = {k: v for k, v in data.items() if k != "suites"}
    text = json.dumps(head, separators=(",", ":"))[:-1]
    path.write_text(text + ',\n"suites":{\n' + ",\n".join(suites.values()) + "\n}}\n", "utf-8")


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=1, help="processes that build scenes")
    parser.add_argument("--out", type=Path, default=PATH)
    parser.add_argument("--questions", action="store_true", help="write only questions anew")
    arguments = parser.parse_args()
    began = time.time()
    make = partial(_asked, arguments.out) if arguments.questions else partial(_drawn, began)
    if arguments.jobs > 1:
        with multiprocessing.get_context("fork").Pool(arguments.jobs) as pool:
            data = make(lambda f, tasks: pool.imap(f, tasks))
    else:
        data = make(map)
    write(data, arguments.out)
    print(summary(data))
    _say(began, f"{arguments.out}: {arguments.out.stat().st_size} bytes")


def _drawn(began: float, run: Map) -> dict[str, Any]:
    return stored(look_over(run, began), find_events(run, began))


def _asked(path: Path, run: Map) -> dict[str, Any]:
    """Return the suites of a file with today's questions.

    An event takes the same course in every scene of a family, so one of them answers for all.
    """
    data = json.loads(path.read_text("utf-8"))
    tasks: dict[tuple[str, str], tuple[str, int, str]] = {}
    for suite in data["suites"].values():
        for family, seed, _, event in (case["scene"] for case in suite["cases"]):
            if event is not None:
                tasks.setdefault((family, event), (family, seed, event))
    replies = dict(zip(tasks, run(reply, list(tasks.values())), strict=True))
    return asked_anew(data, replies)


if __name__ == "__main__":
    main()

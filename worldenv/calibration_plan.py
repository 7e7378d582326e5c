"""Which rollouts a calibration walks: cases, scripts, faults, doses and seeds, in order."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from itertools import chain, cycle, islice
from typing import Literal

from worldenv.case import Case, load_suite
from worldenv.faults import FAULTS, check_faults
from worldenv.world import Unsupported, WorldEnvError

__all__ = [
    "DOSES",
    "SCRIPTS",
    "Design",
    "Kind",
    "Walk",
    "decays",
    "paces",
    "pick",
    "plan",
]

LEG = 16
FOV = 50.0
"""Horizontal field of view, degrees: narrow enough that the 60 degrees of a leg leave most of the
first view behind for ``ABSENCE`` frames."""
EVENT_FPS = 5.0
"""Slow enough that the events of dynamic cases (13 to 15 s) rest when 97 frames look again."""
DOSES = (0.0, 0.25, 0.5, 0.75, 1.0)

Kind = Literal["things", "people", "event", "decay", "pace"]

SCRIPTS: dict[Kind, tuple[str, float]] = {
    "things": (f"worldmembench:lrlr(hold={LEG},leg={LEG})", 16.0),
    "people": (f"worldmembench:lrlr(hold={LEG},leg={LEG})", 16.0),
    "event": (f"worldmembench:dynamic(hold={LEG},leg={LEG},away=32)", EVENT_FPS),
    "decay": (f"worldmembench:lrlrlr(hold={LEG},leg={LEG})", 16.0),
    "pace": (f"worldmembench:lrlr(hold={LEG},leg={LEG})", 16.0),
}
"""Kind of case -> script of 97 frames (129 for decay) and frames a second."""
DRIFT = 0.5
"""Dose of drift in the world whose pace is varied: ``pace`` rollouts plant it in all."""


@dataclass(frozen=True)
class Walk:
    """One rollout.

    Attributes:
        kind: Which script is walked; things and people share theirs.
        case: Where.
        seed: Of the episode.
        fault: What is planted; empty for the world without a fault.
        dose: How much of it, in [0, 1].
    """

    kind: Kind
    case: Case
    seed: int
    fault: str = ""
    dose: float = 0.0

    @property
    def planted(self) -> dict[str, float]:
        """All faults that are planted: its own, and the drift beneath a change of pace."""
        beneath = {"drift": DRIFT} if self.kind == "pace" else {}
        return beneath | ({self.fault: self.dose} if self.fault else {})

    @property
    def script(self) -> str:
        """Name of its script."""
        return SCRIPTS[self.kind][0]

    @property
    def fps(self) -> float:
        """Frames a second."""
        return SCRIPTS[self.kind][1]

    @property
    def name(self) -> str:
        """Name that is unique in a calibration."""
        planted = " ".join(f"{fault}={dose:g}" for fault, dose in self.planted.items())
        return f"{self.case.id}@{self.script}#{self.seed} {planted or 'perfect'}"


MOST = 1024
"""Of cases and seeds, and pixels of a side; beyond it a calibration would not end."""


@dataclass(frozen=True)
class Design:
    """How much is walked.

    Attributes:
        cases: Static cases; as many with people (three are known), and as many with an event.
        seeds: Seeds of faults that are all or nothing; graded ones take half, rounded up, as
            their dose is an amount and needs no draw of what it strikes.
        doses: Ascending from 0 to 1.
        faults: Which faults.
        size: Width and height of the frames, pixels.
        decay: Cases of the longer script, for decay over revisits.
        pace: Cases of a drifting world that moves at several paces, for what follows flow.
        bystanders: Cases with an event in which faults are walked that do not befall it.
    """

    cases: int = 5
    seeds: int = 2
    doses: tuple[float, ...] = DOSES
    faults: tuple[str, ...] = tuple(FAULTS)
    size: int = 128
    decay: int = 4
    pace: int = 4
    bystanders: int = 3

    def __post_init__(self) -> None:
        least_of = {"cases": 1, "seeds": 1, "size": 16, "decay": 0, "pace": 0, "bystanders": 0}
        for name, least in least_of.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise Unsupported(f"{name} must be a whole number from {least}, got {value!r}")
            if value > MOST:
                unit = " pixels" if name == "size" else ""
                raise Unsupported(f"{name} must be at most {MOST}{unit}, got {value}")
        check_faults(dict.fromkeys(self.faults, 1.0))
        if not self.faults:
            raise Unsupported("no faults were given; leave them out for all")
        rising = all(a < b for a, b in zip(self.doses, self.doses[1:], strict=False))
        if not rising or self.doses[:1] != (0.0,) or self.doses[-1:] != (1.0,):
            raise Unsupported(f"doses must rise from 0 to 1, got {list(self.doses)}")

    def seeds_of(self, fault: str, kind: Kind | None = None) -> range:
        """Return the seeds that a fault is walked with, counted from the first one of a case."""
        if kind is not None and _stands_by(fault, kind):
            return range(1)
        return range(math.ceil(self.seeds / 2) if FAULTS[fault].graded else self.seeds)

    def doses_of(self, fault: str, kind: Kind | None = None) -> tuple[float, ...]:
        """Return the doses that a fault is walked with, 0 first; in one kind of case or in any.

        Scores of events must ignore what does not befall the event, which dose 1 tells.
        """
        short = fault == "frozen" or (kind is not None and _stands_by(fault, kind))
        return (0.0, 1.0) if short else self.doses


@lru_cache(maxsize=1)
def _stored() -> tuple[tuple[str, tuple[str, ...]], ...]:
    path = resources.files("worldenv.worlds.reference") / "data" / "calibration.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    return tuple((case, tuple(targets)) for case, targets in rows)


def pick(kind: Kind, count: int) -> list[Case]:
    """Return the first cases of a kind, taken in turn from its families (of events: mechanisms).

    No two static cases are of one scene, as intervals take cases for independent. They keep those
    targets that the short path leaves for long enough (see ``assets/pick_calibration.py``). Things
    and people alternate.

    Args:
        kind: ``people`` asks for people among the targets, ``things`` for anything.
        count: How many; fewer where there are not so many.
    """
    suite = load_suite("worldmembench").cases
    groups: dict[str, list[Case]] = {}
    if kind == "event":
        for case in suite.values():
            if case.event is not None:
                groups.setdefault(case.event.mechanism, []).append(case)
        return list(islice(_in_turn(groups), count))
    scenes = set()
    for case_id, names in _stored():
        whole = suite[case_id]
        case = replace(whole, targets=tuple(t for t in whole.targets if t.name in names))
        people = any(t.noun == "person" for t in case.targets)
        family, seed = str((case.scene or {})["family"]), (case.scene or {})["seed"]
        if (kind == "people" and not people) or (family, seed) in scenes:
            continue
        scenes.add((family, seed))
        groups.setdefault(f"{family} {people}", []).append(case)
    order = sorted(groups, key=lambda g: (_FAMILIES.index(g.split()[0]), g))
    # Things and people in turn, so that even two cases hold both.
    quick = [group for group in order if not group.startswith(_SLOWEST)]
    halves = [[g for g in quick if g.endswith(half)] for half in ("True", "False")]
    turns: list[str] = []
    for k in range(max(map(len, halves))):
        turns += [half[(k + n) % len(half)] for n, half in enumerate(halves) if half]
    ordered = {group: groups[group] for group in dict.fromkeys(turns)}
    slow = {group: groups[group] for group in order if group.startswith(_SLOWEST)}
    return list(islice(chain(_in_turn(ordered), _in_turn(slow)), count))


# Those that are quick to build come first.
_FAMILIES = ("interior", "workshop", "park", "street")
# Light on a street of houses is dear to mend: it is walked where the others do not suffice.
_SLOWEST = "street"


def _in_turn(groups: dict[str, list[Case]]) -> Iterator[Case]:
    left = {name: list(cases) for name, cases in groups.items()}
    for name in cycle(groups):
        if left[name]:
            yield left[name].pop(0)
        elif not any(left.values()):
            return


def plan(design: Design) -> list[Walk]:
    """Return the rollouts of a calibration, those of one case together: its scene is built once.

    The world without a fault is walked once for each case and seed and serves all faults as their
    dose 0. A case that is walked for its people and for its things is walked once.

    Raises:
        WorldEnvError: none of the faults can be planted in any case.
    """
    walks: list[Walk] = []
    static: dict[str, int] = {}
    for kind, cases in _cases(design).items():
        among = [fault for fault in design.faults if kind in kinds_of(fault)]
        for place, case in enumerate(cases):
            fits = [f for f in among if place < design.bystanders or not _stands_by(f, kind)]
            # Each case has seeds of its own: what a fault draws for a leg, a frame or an event
            # depends on the seed alone, and would strike all cases alike.
            number = place if kind == "event" else static.setdefault(case.id, len(static))
            first = number * design.seeds
            seeds = sorted({seed for fault in fits for seed in design.seeds_of(fault, kind)})
            walks += [Walk(kind, case, first + seed) for seed in seeds]
            walks += [
                Walk(kind, case, first + seed, fault, dose)
                for fault in fits
                for seed in design.seeds_of(fault, kind)
                for dose in design.doses_of(fault, kind)[1:]
            ]
    if not any(walk.fault for walk in walks):
        raise WorldEnvError(f"{', '.join(design.faults)} can strike nothing in the chosen cases.")
    once: dict[str, Walk] = {}
    for walk in walks + decays(design) + paces(design):
        once.setdefault(walk.name, walk)
    cases_in_order = list(dict.fromkeys(walk.case.id for walk in once.values()))
    return sorted(once.values(), key=lambda walk: cases_in_order.index(walk.case.id))


def paces(design: Design) -> list[Walk]:
    """Return the rollouts of a drifting world at several paces, one drift a case."""
    if "drift" not in design.faults or not design.pace:
        return []
    return [
        Walk("pace", case, place, "camera_gain", dose)
        for place, case in enumerate(pick("things", design.pace))
        for dose in design.doses
    ]


def decays(design: Design) -> list[Walk]:
    """Return the longer rollouts for decay over revisits: without a fault, and forgetting.

    What one absence has taken is seldom given back by the next, so that a rollout tells of one
    step at most: these take twice the seeds.
    """
    if "forget" not in design.faults or not design.decay:
        return []
    seeds = 2 * design.seeds
    return [
        Walk("decay", case, place * seeds + k, fault, dose)
        for place, case in enumerate(pick("things", design.decay))
        for fault, dose in (("", 0.0), ("forget", 0.5))
        for k in range(seeds if fault else 1)
    ]


def _stands_by(fault: str, kind: Kind) -> bool:
    """Return whether a fault does not befall what a kind of case is about: the event."""
    return kind == "event" and FAULTS[fault].group not in ("event", "time")


def kinds_of(fault: str) -> tuple[Kind, ...]:
    """Return the kinds of case in which a fault is walked."""
    group = FAULTS[fault].group
    if fault == "swap_people":
        return ("people",)
    # Whatever else happens, scores of an event must tell of the event alone.
    static: tuple[Kind, ...] = ("things", "people") if fault in _OF_PEOPLE else ("things",)
    return ("event",) if group == "event" else (*static, "event")


_OF_PEOPLE = {"forget", "vanish", "restyle", "relight", "drift", "drift_colour"}
"""What befalls people as it does things: too few of the cases with things have people too."""


def _cases(design: Design) -> dict[Kind, Sequence[Case]]:
    kinds = {kind for fault in design.faults for kind in kinds_of(fault)}
    counts: dict[Kind, int] = {
        "things": design.cases,
        "people": design.cases,
        "event": design.cases,
    }
    return {kind: pick(kind, count) for kind, count in counts.items() if kind in kinds}

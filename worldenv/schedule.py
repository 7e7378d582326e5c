"""What a run does: its settings, and its episodes with their controls, in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from worldenv import store
from worldenv.case import Item, Suite, load_suite
from worldenv.evaluators.profile import load_profile
from worldenv.world import World, WorldEnvError

CONTROLS: dict[str, dict[str, float]] = {
    "perfect": {},
    "amnesiac": {"forget": 1.0},
    "frozen": {"frozen": 1.0},
}
"""Floor and ceiling: what each control plants in Reference-v0."""

REFERENCE = "Reference-v0"


@dataclass(frozen=True)
class Episode:
    """One thing to do: walk an item with a seed, in the world or in a control.

    Attributes:
        suite: Id of the suite.
        benchmark: Evaluator that scores it.
        options: Arguments of the evaluator.
        item: Case and script.
        seed: Seed of the world.
        control: Empty for the world under test, else a key of ``CONTROLS``.
    """

    suite: str
    benchmark: str
    options: dict[str, Any]
    item: Item
    seed: int
    control: str = ""

    @property
    def name(self) -> str:
        """Name of the episode within a run."""
        folder = self.folder(Path())
        return f"{folder.parent.name}/{folder.name}"

    def folder(self, run: Path) -> Path:
        """Return the episode's folder within a run."""
        return store.episode_folder(
            run,
            suite=self.suite,
            case=self.item.case.id,
            script=self.item.script,
            seed=self.seed,
            control=self.control,
        )


@dataclass(frozen=True)
class Settings:
    """What all episodes of a run share."""

    world: str | World
    world_options: dict[str, Any] = field(default_factory=dict)
    profile: str = "classic+truth"

    def __post_init__(self) -> None:
        load_profile(self.profile)

    @property
    def is_reference(self) -> bool:
        """Whether the world under test is Reference-v0."""
        return self.world in (REFERENCE, REFERENCE.removesuffix("-v0"))

    @property
    def is_perfect(self) -> bool:
        """Whether the world under test forgets nothing by construction."""
        return self.is_reference and not self.world_options.get("faults")

    @property
    def world_name(self) -> str:
        """Name of the world, for records and headings."""
        return self.world if isinstance(self.world, str) else self.world.spec.name

    def to_dict(self) -> dict[str, Any]:
        """Return what must be equal for two runs to share a folder."""
        return {
            "world": self.world_name,
            "world_options": self.world_options,
            "profile": self.profile,
        }


def plan(
    settings: Settings,
    suites: Sequence[str] | None = None,
    cases: int | Sequence[str] | None = None,
    seeds: Sequence[int] = (0,),
    *,
    controls: bool = True,
) -> list[Episode]:
    """Return the episodes of a run, in order; see ``run`` for the other arguments.

    Raises:
        UnknownName: a suite or case does not exist.
        WorldEnvError: nothing would be done.
    """
    if not seeds:
        raise WorldEnvError("No seeds were given; expected at least one, e.g. seeds=[0].")
    if isinstance(cases, int) and cases < 1:
        raise WorldEnvError(f"cases must be at least 1, got {cases}.")
    selected = _quick() if suites is None and cases is None else _named(suites, cases)
    episodes = [
        Episode(suite.id, suite.benchmark, dict(suite.options), item, seed)
        for suite in selected
        for item in suite
        for seed in seeds
    ]
    if not episodes:
        raise WorldEnvError("No cases were selected; 'worldenv suites' lists what there is.")
    if not controls:
        return episodes
    return episodes + _control_episodes(episodes, perfect=not settings.is_perfect)


def _quick() -> list[Suite]:
    from worldenv.worlds.reference.cases import QUICK, SUITES

    chosen = []
    for name in SUITES:
        suite = load_suite(name)
        items = tuple(item for item in suite if item.key in QUICK)
        chosen.append(replace(suite, items=items))
    return chosen


def _named(suites: Sequence[str] | None, cases: int | Sequence[str] | None) -> list[Suite]:
    if suites is not None and not suites:
        raise WorldEnvError("No suites were given; 'worldenv suites' lists what there is.")
    if suites is None and cases is not None and not isinstance(cases, int):
        # Case ids name their suite.
        suites = list(dict.fromkeys(case.split("/")[0] for case in cases))
    if suites is None:
        from worldenv.worlds.reference.cases import SUITES

        suites = SUITES
    chosen = []
    for name in suites:
        suite = load_suite(name)
        wanted = cases
        if cases is not None and not isinstance(cases, int) and len(suites) > 1:
            wanted = [case for case in cases if case.split("/")[0] == name]
        chosen.append(suite.select(wanted))
    return chosen


def _control_episodes(episodes: Sequence[Episode], *, perfect: bool) -> list[Episode]:
    """Return the controls of those items that are scenes of Reference-v0.

    The perfect world walks every item, since a score is read beside its ceiling on the same case;
    the floors walk the first static item of each suite.

    Args:
        episodes: Episodes of the world under test.
        perfect: Whether to walk the perfect world; it is its own ceiling.
    """
    scenes = [e for e in episodes if e.item.case.scene is not None]
    found = [replace(e, control="perfect") for e in scenes if perfect and e.seed == scenes[0].seed]
    for suite in dict.fromkeys(e.suite for e in scenes):
        static = [e for e in scenes if e.suite == suite and e.item.case.event is None]
        found += [replace(e, control=floor) for e in static[:1] for floor in ("amnesiac", "frozen")]
    return found


def take_shard(episodes: list[Episode], shard: tuple[int, int]) -> list[Episode]:
    """Return the episodes of shard (i, n), i from 1.

    Raises:
        WorldEnvError: i or n is out of range.
    """
    i, n = shard
    if not 1 <= i <= n:
        raise WorldEnvError(f"Shard {i}/{n} does not exist; expected i/n with 1 <= i <= n.")
    return episodes[i - 1 :: n]

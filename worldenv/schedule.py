"""What a run does: its settings, and its episodes with their controls, in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from worldenv import store
from worldenv.case import Case, Item, Suite, load_suite
from worldenv.controls import FLOORS, PERFECT, PROBES
from worldenv.evaluators.profile import load_profile
from worldenv.world import World, WorldEnvError

REFERENCE = "Reference-v0"

REMOTE = "Remote-v0"

DISTORTED = "Distorted-v0"


@dataclass(frozen=True)
class Episode:
    """One thing to do: walk an item with a seed, in the world or in a control.

    Attributes:
        suite: Id of the suite.
        benchmark: Evaluator that scores it.
        options: Arguments of the evaluator.
        item: Case and script.
        seed: Seed of the world.
        control: Empty for the world under test, else a key of ``controls.CONTROLS``.
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
        if not isinstance(self.world, str) and not hasattr(self.world, "spec"):
            raise WorldEnvError(
                f"world must be an id, 'module:factory', 'file.py:factory' or a World, got "
                f"{type(self.world).__name__}."
            )
        if not isinstance(self.profile, str):
            raise WorldEnvError(f"profile must be a name, got {type(self.profile).__name__}.")
        load_profile(self.profile)

    @property
    def is_reference(self) -> bool:
        """Whether the world under test is Reference-v0."""
        return self.world in (REFERENCE, REFERENCE.removesuffix("-v0"))

    @property
    def is_remote(self) -> bool:
        """Whether the world runs in servers; then its options say where, not what it is."""
        return self.world in (REMOTE, REMOTE.removesuffix("-v0"))

    @property
    def is_distorted(self) -> bool:
        """Whether the world under test is another one, named in its options, with spoilt frames."""
        return self.world in (DISTORTED, DISTORTED.removesuffix("-v0"))

    @property
    def servers(self) -> int:
        """How many servers the world has, 0 where it has none or starts them itself."""
        keys = ("addresses", "address") if self.is_remote else ("server",)
        listed = next((self.world_options[k] for k in keys if self.world_options.get(k)), ())
        if not self.is_remote and not self._is_ours:
            return 0
        return len(listed.split(",") if isinstance(listed, str) else listed)

    @property
    def _is_ours(self) -> bool:
        return isinstance(self.world, str) and ":" not in self.world and ".py" not in self.world

    @property
    def identity(self) -> dict[str, Any]:
        """The options that say what the world is: a server may move, the world stays the same."""
        if self.is_remote:
            return {}
        options = dict(self.world_options)
        if self._is_ours:
            options.pop("server", None)
        return options

    @property
    def is_perfect(self) -> bool:
        """Whether the world under test forgets nothing by construction."""
        return self.is_reference and remembers_all(self.world_options)

    @property
    def world_name(self) -> str:
        """Name of the world, for records and headings."""
        return self.world if isinstance(self.world, str) else self.world.spec.name

    def to_dict(self) -> dict[str, Any]:
        """Return what must be equal for two runs to share a folder."""
        return {
            "world": self.world_name,
            "world_options": self.identity,
            "profile": self.profile,
        }


def plan(
    settings: Settings,
    suites: Sequence[str] | None = None,
    cases: int | Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    *,
    controls: bool = True,
) -> list[Episode]:
    """Return the episodes of a run, in order; see ``run`` for the other arguments.

    Raises:
        UnknownName: a suite or case does not exist.
        WorldEnvError: nothing would be done.
    """
    _check_names("suites", suites)
    if isinstance(cases, bool) or not isinstance(cases, int):
        _check_names("cases", cases)
    quick = suites is None and cases is None
    if seeds is not None or quick:
        seeds = _seeds((0,) if seeds is None else seeds)
    selected = _quick() if quick else _named(suites, cases)
    episodes = [
        Episode(suite.id, suite.benchmark, dict(suite.options), item, seed)
        for suite in selected
        for item in suite
        for seed in (suite.seeds if seeds is None else seeds)
    ]
    if not episodes:
        raise WorldEnvError("No cases were selected; 'worldenv suites' lists what there is.")
    if not controls:
        return episodes
    return episodes + _control_episodes(episodes, perfect=not settings.is_perfect)


def _seeds(seeds: Any) -> list[int]:
    """Return the seeds without repeats.

    Raises:
        WorldEnvError: they are no list of whole numbers from 0, or none.
    """
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        raise WorldEnvError(f"seeds must be a list such as [0], got {seeds!r}.")
    found = list(dict.fromkeys(seeds))
    for seed in found:
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            raise WorldEnvError(f"A seed must be a whole number from 0, got {seed!r}.")
    if not found:
        raise WorldEnvError("No seeds were given; expected at least one, e.g. seeds=[0].")
    return found


def _check_names(what: str, names: Any) -> None:
    if names is None:
        return
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise WorldEnvError(f"{what} must be a list of ids, got {names!r}.")
    for name in names:
        if not isinstance(name, str):
            raise WorldEnvError(f"{what} must be a list of ids, got {name!r} in it.")


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
            # Case ids name their suite, but for those of a suite made from part of another.
            home = name if name in {case.split("/")[0] for case in cases} else None
            wanted = [c for c in cases if c.split("/")[0] == home or c in suite.cases]
        chosen.append(suite.select(wanted))
    return chosen


def _control_episodes(episodes: Sequence[Episode], *, perfect: bool) -> list[Episode]:
    """Return the controls of those items that are scenes of Reference-v0.

    The perfect world walks every item, since a score is read beside its ceiling on the same case.
    The floors walk the first item of a kind in each suite, and the probes one item, of things
    where there is one, in two benchmarks: every metric has a floor, and controls stay cheap.

    Args:
        episodes: Episodes of the world under test.
        perfect: Whether to walk the perfect world; it is its own ceiling.
    """
    scenes = [e for e in episodes if e.item.case.scene is not None]
    found = [replace(e, control=PERFECT) for e in scenes if perfect and e.seed == scenes[0].seed]
    suites: dict[str, dict[str, Episode]] = {}
    for episode in scenes:
        suites.setdefault(episode.suite, {}).setdefault(_kind(episode.item.case), episode)
    for first in suites.values():
        for floor, kinds in FLOORS.items():
            walked = [e for kind, e in first.items() if kind in kinds] or [*first.values()][:1]
            found += [replace(e, control=floor) for e in walked]
    probed: dict[str, Episode] = {}
    for first in suites.values():
        episode = first.get("things") or next(iter(first.values()))
        probed.setdefault(episode.benchmark, episode)
    for probe, benchmarks in PROBES.items():
        walked = [probed[b] for b in benchmarks if b in probed][:2]
        found += [replace(e, control=probe) for e in walked]
    return found


def _kind(case: Case) -> str:
    """Return which metrics a case has: those of an event, of people, or of things."""
    if case.event is not None:
        return "event"
    return "people" if any(target.noun == "person" for target in case.targets) else "things"


def take_shard(episodes: list[Episode], shard: tuple[int, int]) -> list[Episode]:
    """Return the episodes of shard (i, n), i from 1.

    Raises:
        WorldEnvError: i or n is out of range.
    """
    if len(shard) != 2 or not all(isinstance(part, int) for part in shard):
        raise WorldEnvError(f"A shard is (i, n), two whole numbers, got {shard!r}.")
    i, n = shard
    if not 1 <= i <= n:
        raise WorldEnvError(f"Shard {i}/{n} does not exist; expected i/n with 1 <= i <= n.")
    return episodes[i - 1 :: n]


def is_perfect_run(run: Mapping[str, Any] | None) -> bool:
    """Return whether ``run.json`` says that the world under test was the perfect world."""
    if run is None:
        return False
    reference = str(run.get("world", "")) in (REFERENCE, REFERENCE.removesuffix("-v0"))
    return reference and remembers_all(run.get("world_options") or {})


def remembers_all(options: Mapping[str, Any]) -> bool:
    """Return whether Reference-v0 with these options forgets nothing by construction."""
    return not options.get("faults") and options.get("context", "full") == "full"

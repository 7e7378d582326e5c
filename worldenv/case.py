"""Cases, suites and scripts: what is walked, where, and what is looked for."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import CameraPath
from worldenv.world import Start, UnknownName, Unsupported, WorldSpec, check_image, to_plain

BENCHMARKS = ("worldmembench", "mbench", "r2m")


@dataclass(frozen=True)
class Target:
    """Something that must still be there on return.

    Attributes:
        name: Unique within the case, e.g. ``person-1``.
        noun: What a detector is asked for, e.g. ``person``; equals the instance category of truth.
        instance: Id of the instance in the first frame where truth knows it, else None.
    """

    name: str
    noun: str
    instance: int | None = None


@dataclass(frozen=True)
class Event:
    """A change that starts in V and goes on off screen.

    Attributes:
        name: E.g. ``ball_rolls_off``.
        mechanism: One of the seven, e.g. ``moving``.
        questions: Eight binary questions, two an aspect, in the order progress, persistence,
            final state, causal.
        answers: Their reference answers.
        instance: Id of the instance that changes where truth knows it.
    """

    name: str
    mechanism: str
    questions: tuple[str, ...] = ()
    answers: tuple[bool, ...] = ()
    instance: int | None = None


@dataclass(frozen=True)
class Case:
    """One scene to walk: plain data, so that it can be stored, hashed and sent.

    Attributes:
        id: ``suite/category/number``, e.g. ``worldmembench/object/012``.
        category: E.g. ``human``, ``object``, ``environment``, ``dynamic``.
        kind: Which of its category, e.g. ``single person`` or ``seating``; empty where not told.
        scene: Scene of the world's own that the case starts in (``Start.scene``).
        image: Path of a conditioning image.
        prompt: Text of the scene.
        prompts: One prompt a segment for text-continuation scripts.
        targets: What must still be there on return.
        event: The change of a dynamic case.
        K: Intrinsics the case wants, rows of three, pixels at ``size``.
        size: Size that ``K`` belongs to.
        options: Arguments of scripts that depend on the case, e.g. ``{"distance": 2.5}``.
    """

    id: str
    category: str = ""
    scene: dict[str, Any] | None = None
    image: str | None = None
    prompt: str | None = None
    prompts: tuple[str, ...] = ()
    targets: tuple[Target, ...] = ()
    event: Event | None = None
    K: tuple[tuple[float, ...], ...] | None = None
    size: tuple[int, int] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    kind: str = ""

    def start(self, spec: WorldSpec | None = None) -> Start:
        """Return what an episode of this case begins from.

        Args:
            spec: The world that will walk it. One that starts from an image gets the case's own
                image, or the first view of its scene in Reference-v0 at the world's size.

        Raises:
            Unsupported: the case's image cannot be read.
        """
        K = None if self.K is None else np.array(self.K)
        image = None
        if self.image is not None:
            image = read_image(self.image)
        elif spec is not None and spec.image_start and self.scene is not None:
            from worldenv.worlds.reference import first_view

            K = spec.intrinsics()
            image = first_view(self.scene, spec.size, K)
        return Start(image=image, prompt=self.prompt, K=K, scene=self.scene)

    def to_dict(self) -> dict[str, Any]:
        """Return the case as plain JSON values."""
        data: dict[str, Any] = dict(self.__dict__)
        data["targets"] = [dict(t.__dict__) for t in self.targets]
        data["event"] = None if self.event is None else dict(self.event.__dict__)
        plain: dict[str, Any] = to_plain(data)
        return plain

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Case:
        """Read what ``to_dict`` wrote."""
        values = dict(data)
        values["targets"] = tuple(Target(**t) for t in data.get("targets", ()))
        event = data.get("event")
        if event is not None:
            fields: dict[str, Any] = {
                k: tuple(v) if isinstance(v, list) else v for k, v in event.items()
            }
            values["event"] = Event(**fields)
        values["prompts"] = tuple(data.get("prompts", ()))
        if data.get("K") is not None:
            values["K"] = tuple(tuple(row) for row in data["K"])
        if data.get("size") is not None:
            values["size"] = tuple(data["size"])
        return cls(**values)


def read_image(path: str) -> NDArray[np.uint8]:
    """Return a local image as RGB, shape (height, width, 3).

    Raises:
        Unsupported: it cannot be read.
    """
    import cv2

    data = cv2.imread(path, cv2.IMREAD_COLOR)
    if data is None:
        raise Unsupported(f"Cannot read the image {path}; expected a local PNG or JPEG file.")
    return check_image(data[..., ::-1])


class Policy(Protocol):
    """Acts like a stable-baselines3 model."""

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[Any], Any]:
        """Return (action, next state)."""
        ...


class Script(Protocol):
    """A camera path in closed form, and a policy that walks it."""

    @property
    def name(self) -> str:
        """Name that ``load_script`` turns back into this script."""
        ...

    def path(
        self,
        spec: WorldSpec | None = None,
        case: Case | None = None,
        control: str = "plan",
    ) -> CameraPath:
        """Return the target path; None gives the defaults of the published table.

        Where motion comes in quanta (``spec.discrete``, or control ``primitive``) the path has the
        same angles and distances in its own number of frames, and ``notes`` say what was lost.
        """
        ...

    def policy(self, spec: WorldSpec, control: str, case: Case | None = None) -> Policy:
        """Return a policy that walks the script in a world of that spec and control mode."""
        ...


@dataclass(frozen=True)
class Item:
    """A case walked by a script."""

    case: Case
    script: str

    @property
    def key(self) -> str:
        """Name that is unique in a suite, e.g. ``worldmembench/object/012@worldmembench:lrlr``."""
        return f"{self.case.id}@{self.script}"


@dataclass(frozen=True)
class Suite:
    """The items of a benchmark.

    Attributes:
        id: E.g. ``worldmembench``.
        benchmark: Which evaluator scores it: ``worldmembench``, ``mbench`` or ``r2m``.
        items: What is walked, in order.
        world: World id the cases' scenes belong to, None for cases of images and prompts.
        options: Arguments of the evaluator, e.g. ``{"rule": "paper"}``.
    """

    id: str
    benchmark: str
    items: tuple[Item, ...]
    world: str | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def cases(self) -> dict[str, Case]:
        """Case id -> case, in order of first use."""
        return {item.case.id: item.case for item in self.items}

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds that its items are walked with unless others are asked for.

        R2M-Bench walks each item three times.
        """
        return (0, 1, 2) if self.benchmark == "r2m" else (0,)

    def select(self, cases: int | Sequence[str] | None) -> Suite:
        """Return the items of the first n cases, or of the named ones; None keeps all.

        Raises:
            UnknownName: a case id is not in the suite.
            Unsupported: nothing would be left, or it is neither a number nor a list of ids.
        """
        known = self.cases
        if cases is None:
            keep = list(known)
        elif isinstance(cases, int) and not isinstance(cases, bool):
            if cases < 1:
                raise Unsupported(f"cases must be at least 1, got {cases}")
            keep = list(known)[:cases]
        else:
            if isinstance(cases, str) or not isinstance(cases, Sequence) or not cases:
                raise Unsupported(f"cases must be a number or a list of case ids, got {cases!r}")
            for name in cases:
                if name not in known:
                    raise UnknownName("case", name, known)
            keep = list(cases)
        items = tuple(item for item in self.items if item.case.id in set(keep))
        return replace(self, items=items)


# The one late import from text that the dependency test allows: names -> code outside this package.
_SCRIPTS = {
    "worldmembench": ("lrlr", "lrlrlr", "lrud", "square", "dynamic"),
    "mbench": ("exit_reenter", "continuation"),
    "r2m": ("out_and_back", "translation_rotation", "closed_loop"),
}


def script_names() -> tuple[str, ...]:
    """Return every script name that ``load_script`` knows."""
    return tuple(f"{module}:{name}" for module, names in _SCRIPTS.items() for name in names)


def load_script(name: str, **arguments: Any) -> Script:
    """Return the script named ``module:function``, e.g. ``worldmembench:lrlr``.

    Arguments may also stand in the name: ``mbench:exit_reenter(motion=strafe)``.

    Raises:
        UnknownName: there is no such script, or it has no such argument.
        Unsupported: the arguments do not fit.
    """
    if name.startswith("suite:"):
        from worldenv.suites import PoseFile

        return PoseFile(name)
    match = re.fullmatch(r"(\w+:\w+)(?:\((.*)\))?", name)
    plain = match.group(1) if match else name
    if plain not in script_names():
        raise UnknownName("script", name, script_names())
    assert match is not None
    for pair in filter(None, (match.group(2) or "").split(",")):
        key, _, text = pair.partition("=")
        arguments.setdefault(key.strip(), _number(text.strip()))
    module, function = plain.split(":")
    build = getattr(importlib.import_module(f"worldenv.policies.{module}"), function)
    known = inspect.signature(build).parameters
    for key in arguments:
        if key not in known:
            raise UnknownName(f"argument of {plain}", key, known)
    try:
        script: Script = build(**arguments)
    except (TypeError, ValueError) as error:
        raise Unsupported(f"{plain} cannot be built from {arguments}: {error}") from error
    return script


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def load_suite(name: str) -> Suite:
    """Return a suite by id: a built-in one, or one that was imported.

    Raises:
        UnknownName: there is no such suite.
        InvalidSuite: an imported one is damaged.
    """
    from worldenv.suites import imported, load_imported
    from worldenv.worlds.reference.cases import SUITES, build_suite

    if name in SUITES:
        return build_suite(name)
    known = imported()
    if name not in known:
        raise UnknownName("suite", name, (*SUITES, *known))
    return load_imported(name)


def load_case(case_id: str) -> Case:
    """Return a case of a suite by its id.

    Raises:
        UnknownName: the suite or the case does not exist.
    """
    cases = load_suite(case_id.split("/")[0]).cases
    if case_id not in cases:
        raise UnknownName("case", case_id, cases)
    return cases[case_id]

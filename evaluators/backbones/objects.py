"""Roles anchors and objects: R2M-Bench's objects of a frame, found again in a paired frame."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.backbones.base import Backbone
from worldenv.evaluators.backbones.crops import crop
from worldenv.evaluators.backbones.regions import Region
from worldenv.evaluators.backbones.truth import ANYTHING
from worldenv.evaluators.constants import constant, whole
from worldenv.evaluators.metrics.objects import Anchor, Candidate, ObjectScores, object_identity
from worldenv.evaluators.plan import PIXELS, Ask, Thing, pixels


class Inner:
    """Puts asks whose subject is known only when another answer has come.

    The engine lays out its asks before the first frame. What a first frame shows decides what is
    looked for in the second, so that question is put here, over the sources the engine delivers.
    """

    def __init__(self, backbone: Callable[[str], Backbone]) -> None:
        """Make it.

        Args:
            backbone: Role -> its backbone in the profile.
        """
        self._backbone = backbone

    def sources(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the pixels and truth that an ask rests on, each once."""
        if _is_source(ask):
            return (ask,)
        needs = self._backbone(ask.role).needs(ask)
        return tuple(dict.fromkeys(found for need in needs for found in self.sources(need)))

    def answer(self, asks: Sequence[Ask], known: Sequence[Mapping[Ask, Any]]) -> list[Any]:
        """Answer asks of one role.

        Args:
            asks: The asks, none of them known.
            known: For each of them, its sources, and whatever else is known -> their answers.
        """
        if not asks:
            return []
        backbone = self._backbone(asks[0].role)
        inputs = [
            tuple(
                answers[need] if need in answers else self.answer([need], [answers])[0]
                for need in backbone.needs(ask)
            )
            for ask, answers in zip(asks, known, strict=True)
        ]
        out: list[Any] = []
        for first in range(0, len(asks), backbone.batch):
            batch = list(asks[first : first + backbone.batch])
            values = inputs[first : first + backbone.batch]
            # Padded to one size, as the engine does.
            padding = backbone.batch - len(batch)
            found = backbone.compute(batch + batch[-1:] * padding, values + values[-1:] * padding)
            out += found[: len(batch)]
        return out


def _is_source(ask: Ask) -> bool:
    return ask.role == PIXELS or ask.role.startswith("truth:")


def concept_of(phrase: str) -> str:
    """Return what a detected phrase is looked for as again.

    Lower case, without brackets, stray characters and leading articles; ``object`` for nothing.

    Example:
        >>> concept_of("A red chair."), concept_of("##")
        ('red chair', 'object')
    """
    text = re.sub(r"\([^)]*\)|[^a-z0-9 /_-]+", " ", phrase.lower())
    text = re.sub(r"^(?:(?:a|an|the) )+", "", " ".join(text.split()))
    return text or "object"


def _looks(inner: Inner, frame: NDArray[np.uint8], regions: Sequence[Region]) -> list[Any]:
    """Return how every region looks on white, as a frame of its own."""
    # Frame 0 of a video of its own: a crop has no place in the rollout.
    views = [{pixels(0): crop(frame, region.mask, "white")} for region in regions]
    return inner.answer([Ask("embed", (0,))] * len(views), views)


def _over(backbone: Callable[[str], Backbone], *roles: str) -> str:
    """Return what an answer depends on that the engine does not see: the roles asked inside."""
    made = (backbone(role) for role in roles)
    return "1 over " + ", ".join(f"{b.name} {b.revision} {b.checksum}" for b in made)


class Anchors:
    """Answers ``anchors`` with the objects of a frame that are looked for again, best first.

    At most 10 of everything that is segmented, by confidence x area.
    """

    name = "object-anchors"
    checksum = ""
    batch = 1

    def __init__(self, backbone: Callable[[str], Backbone]) -> None:
        """Make it.

        Args:
            backbone: Role -> its backbone in the profile.
        """
        self.revision = _over(backbone, "embed")
        self._inner = Inner(backbone)

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame and everything in it."""
        return pixels(ask.frames[0]), Ask("segment", ask.frames, Thing(ANYTHING))

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Choose and describe the anchors of every frame."""
        return [self._anchors(frame, regions) for frame, regions in inputs]

    def _anchors(self, frame: NDArray[np.uint8], regions: Sequence[Region]) -> tuple[Anchor, ...]:
        large = [r for r in regions if r.area >= constant("r2m.object_area")]
        large.sort(key=lambda r: -r.score * r.area)
        chosen = large[: whole("r2m.anchors")]
        vectors = _looks(self._inner, frame, chosen)
        return tuple(
            Anchor(concept_of(r.category), v) for r, v in zip(chosen, vectors, strict=True)
        )


class Scene:
    """A second frame that concepts are searched in, each once; what was found dies with it."""

    def __init__(self, frame: NDArray[np.uint8], sources: Mapping[Ask, Any]) -> None:
        self.frame = frame
        self.sources = sources
        self.found: dict[str, list[Candidate]] = {}


class Scenes:
    """Answers ``scene`` with the Scene of a frame."""

    name = "object-scene"
    revision = "1"
    checksum = ""
    batch = 1

    def __init__(self, backbone: Callable[[str], Backbone]) -> None:
        """Make it.

        Args:
            backbone: Role -> its backbone in the profile.
        """
        self._inner = Inner(backbone)

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame and whatever else segmenting it rests on."""
        sources = self._inner.sources(Ask("segment", ask.frames, Thing(ANYTHING)))
        return tuple(dict.fromkeys((pixels(ask.frames[0]), *sources)))

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Lay every frame out for searching."""
        return [
            Scene(values[0], dict(zip(self.needs(ask), values, strict=True)))
            for ask, values in zip(asks, inputs, strict=True)
        ]


class Objects:
    """Answers ``objects``, asked as (i, j), with the ObjectScores of a pair of frames.

    Every concept among the anchors of i is detected anew in j; the (at most 5) surest candidates
    are compared on white.
    """

    name = "object-identity"
    checksum = ""
    batch = 1

    def __init__(self, backbone: Callable[[str], Backbone], semantic: bool) -> None:
        """Make it.

        Args:
            backbone: Role -> its backbone in the profile.
            semantic: Whether there is a role text.
        """
        self._inner = Inner(backbone)
        self._semantic = semantic
        # Made now, so that the engine knows from the start what it will have asked.
        self.revision = _over(backbone, "embed", "segment", *(["text"] if semantic else []))

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the anchors of the first frame and the scene of the second."""
        i, j = ask.frames
        return Ask("anchors", (i,)), Ask("scene", (j,))

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Score every pair."""
        return [
            self._score(ask.frames[1], *values) for ask, values in zip(asks, inputs, strict=True)
        ]

    def _score(self, j: int, anchors: Sequence[Anchor], scene: Scene) -> ObjectScores:
        for concept in dict.fromkeys(anchor.concept for anchor in anchors):
            if concept not in scene.found:
                scene.found[concept] = self._candidates(j, concept, scene)
        return object_identity(anchors, scene.found)

    def _candidates(self, j: int, concept: str, scene: Scene) -> list[Candidate]:
        ask = Ask("segment", (j,), Thing(concept))
        (regions,) = self._inner.answer([ask], [scene.sources])
        surest = sorted(regions, key=lambda r: -r.score)[: whole("r2m.candidates")]
        large = [r for r in surest if r.area >= constant("r2m.object_area")]
        # Numbered anew and named as they were asked for: role text answers by track and category.
        named = [r._replace(track=k, category=concept) for k, r in enumerate(large)]
        vectors = _looks(self._inner, scene.frame, named)
        likeness: Mapping[int, float] = {}
        if self._semantic and named:
            words = Ask("text", (j,), Thing(concept))
            cutout = {Ask("cutout", (j,), Thing(concept)): (scene.frame, tuple(named))}
            (likeness,) = self._inner.answer([words], [cutout])
        return [
            Candidate(v, r.score, likeness.get(r.track))
            for r, v in zip(named, vectors, strict=True)
        ]

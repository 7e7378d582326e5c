"""Content faults: what a world shows otherwise after an absence, or as time goes by.

An instance is absent when it has been out of view for some frames. As it comes back, each fault
draws from the episode's seed, the instance and the number of the absence, and from nothing else:
so what a dose does to an absence, a larger dose does too. What is about to come into view is
decided along with what does, because nobody sees the difference and light is then built once for
all of them.

- ``forget``, ``swap_people``: another of its kind, by the scene's family, in the same place.
- ``swap_objects``: a thing of another category in the same place, under the same id; the state
  names the new category. A detector that is asked for the old one finds none there, whoever looks
  at the place finds something else, and whoever follows ids notices nothing.
- ``vanish``: gone, with what stood on it. ``duplicate``: a copy beside it, once, where there is
  room.
- ``deform``, ``layout_shuffle``: bent, or moved, away from how it was built; what stands on it
  follows. Light is built anew.
- ``restyle``: tints and textures move towards others. The light it throws on its surroundings is
  left as it was.
- ``relight``: lamps, and the light from all around, get other strengths and colours when something
  comes back that has been in view since the light last changed.
- ``drift`` and its parts: see ``wander``.

The shell of a place (``standing.SHELL``) is forgotten and restyled, and its colours and textures
drift; nothing else happens to it. What an event moves is left alone, and what carries that stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.altered import (
    PERSON,
    Textures,
    deformed,
    palette,
    restyled,
    swapped,
    warp,
)
from worldenv.worlds.reference.families import SceneName, reimagine
from worldenv.worlds.reference.faults import ABSENCE, Memory
from worldenv.worlds.reference.lit import NEARBY, Lit, refresh, relight
from worldenv.worlds.reference.scene import Instance, Scene
from worldenv.worlds.reference.standing import Standing, stand
from worldenv.worlds.reference.wander import KINDS, Wander

__all__ = ["CONTENT", "Content", "Look", "begin"]

Array = NDArray[np.float64]

CONTENT = (
    "forget",
    "vanish",
    "swap_objects",
    "swap_people",
    "duplicate",
    "deform",
    "layout_shuffle",
    "restyle",
    "relight",
    "drift",
    "drift_colour",
    "drift_texture",
    "drift_shape",
    "drift_position",
)
"""The faults of this module."""
AHEAD = (20.0, 9.0)
"""Degrees beside and above the field of view in which the absent are decided along with who comes
back, and in which changed light is built."""
STRENGTH, HUE = (0.45, 0.85), 0.3
"""Logarithms of how far ``relight`` changes strength and colour at a dose of 1."""


class Look(NamedTuple):
    """A frame as it would be without what comes back in it.

    Attributes:
        frame: Its index.
        ids: Its id image.
        camera: Camera to scene, shape (4, 4).
        fov: Horizontal and vertical field of view in degrees.
    """

    frame: int
    ids: NDArray[np.uint16]
    camera: Array
    fov: tuple[float, float]


class Altered(NamedTuple):
    """What an absence did to an instance, beside making it another.

    Attributes:
        bend: Seed of its deformation, None where it is as it was made.
        move: Displacement (3,) from where it was built.
        paint: Seed of its colours and textures, None for its own.
    """

    bend: int | None = None
    move: tuple[float, float, float] = (0.0, 0.0, 0.0)
    paint: int | None = None


@dataclass(frozen=True)
class Content:
    """What content faults have done in an episode, as an immutable value.

    Attributes:
        name: Of the scene.
        built: The scene as it was built.
        doses: Fault -> dose, of those above 0.
        memory: What has been in view, and the draws.
        spots: Instance id -> displacement (3,) at which a copy of it has room.
        wander: The drift, None without.
        others: Textures that ``restyle`` mixes in.
        made: Instance id -> what it is, where that is not what was built.
        altered: Instance id -> what else is other about it.
        gone: Ids of what has vanished.
        light: How often the light has changed, and the frame since which it has been so.
        lit_from: Camera pose (4, 4) around which stale light was built last.
    """

    name: SceneName
    built: Scene
    doses: Mapping[str, float]
    memory: Memory
    spots: Mapping[int, Array]
    wander: Wander | None
    others: tuple[str, ...]
    made: Mapping[int, Instance] = field(default_factory=dict)
    altered: Mapping[int, Altered] = field(default_factory=dict)
    gone: frozenset[int] = frozenset()
    light: tuple[int, int] = (0, 0)
    lit_from: Array | None = None

    @property
    def standing(self) -> Standing:
        """How things stand in the scene as it was built."""
        return stand(self.built)

    def come_back(self, lit: Lit, look: Look, threads: int) -> tuple[Lit | None, Content]:
        """Decide about what comes back into view, before the frame is shown.

        Args:
            lit: The scene as it is shown.
            look: The frame as it would be.
            threads: How many, to build light.

        Returns:
            The scene as it is to be shown, None where nothing changes; and the content after.
        """
        back = self.memory.returned(look.frame, look.ids)
        if not back:
            fresh, after = self._refreshed(lit, look, threads, False)
            return (None if fresh is lit else fresh), after
        due = sorted({*back, *self._soon(lit, look)})
        after, scene, shaped, painted = self._decided(due, lit.scene, look.frame)
        changed = lit
        if shaped:
            changed = relight(lit, scene, sorted(shaped), threads, later=True)
        elif painted:
            unlit = None if lit.unlit is None else replace(lit.unlit, scene=scene)
            changed = replace(lit, scene=scene, unlit=unlit)
        changed, after = after._refreshed(changed, look, threads, bool(shaped))
        if "relight" in self.doses and any(self.memory.last[i] >= self.light[1] for i in back):
            after = replace(after, light=(self.light[0] + 1, look.frame))
            changed = changed.with_gain(after._gain())
        return (None if changed is lit else changed), after

    def _refreshed(self, lit: Lit, look: Look, threads: int, now: bool) -> tuple[Lit, Content]:
        """Build the stale light around the field of view, where the camera has moved far enough.

        Most light that changes is never looked at, so it is built where it is about to be.
        """
        if not lit.stale:
            return lit, self
        if not now and self.lit_from is not None:
            moved = np.linalg.inv(self.lit_from) @ look.camera
            x, y, z = moved[:3, 2]
            across, up = np.degrees([np.arctan2(x, z), np.arctan2(y, z)])
            rolled = np.degrees(np.arcsin(np.clip(moved[1, 0], -1, 1)))
            if (
                np.linalg.norm(moved[:3, 3]) < NEARBY
                and abs(across) < AHEAD[0] - 1
                and abs(up) < AHEAD[1] - 4
                and abs(rolled) < 2
            ):
                return lit, self
        after = replace(self, lit_from=look.camera)
        return refresh(lit, look.camera, _wide(look.fov), threads), after

    def after(self, frame: int, ids: NDArray[np.uint16]) -> Content:
        """Return the content once a frame with this id image has been shown."""
        return replace(self, memory=self.memory.after(frame, ids))

    def shown(self, scene: Scene, frame: int) -> Scene:
        """Return a scene as a frame shows it."""
        return scene if self.wander is None else self.wander.shown(scene, frame)

    def _soon(self, lit: Lit, look: Look) -> list[int]:
        """Return the absent near the field of view."""
        wide, high = _wide(look.fov)
        back = np.linalg.inv(look.camera)
        near = []
        for i in self.memory.away(look.frame):
            if i not in lit.parts:
                continue
            part, pose = lit.parts[i][0], lit.scene.instance(i).pose
            centre = pose[:3, :3] @ part.centre + pose[:3, 3]
            x, y, z = back[:3, :3] @ centre + back[:3, 3]
            z, r = z + part.radius, part.radius
            if z > 0 and abs(x) <= wide * z + r and abs(y) <= high * z + r:
                near.append(i)
        return near

    def _decided(
        self, due: list[int], scene: Scene, frame: int
    ) -> tuple[Content, Scene, set[int], set[int]]:
        """Return content and scene after absences; which ids change form or place, which paint."""
        known = {i.id: i for i in self.built.instances}
        event = None if self.built.event is None else self.built.event.instance
        content, shaped, painted = self, set[int](), set[int]()
        for i in due:
            instance = known.get(i)
            if instance is None or instance.moves or i == event or i in content.gone:
                continue
            carried = self.standing.carried(i) if i in self.standing.things else []
            # A table does not leave under a vase that is in view.
            alone = all(self.memory.last.get(k, -2) < frame - 1 or k in due for k in carried)
            if i in self.standing.things and alone:
                if self.memory.draw("vanish", i, self.doses) is not None:
                    content = replace(content, gone=content.gone | {i, *carried})
                    shaped |= {i, *carried}
                    continue
                spot = self.spots.get(i)
                if spot is not None and self.memory.draw("duplicate", i, self.doses) is not None:
                    twin = self._twin(scene, i, spot)
                    if twin is not None:
                        scene = scene.with_instance(twin)
                        shaped.add(twin.id)
            content, added = content._made(scene, instance, not carried)
            if added:
                scene = replace(scene, textures={**scene.textures, **added})
            if content.made.get(i) is not self.made.get(i):
                shaped.add(i)
            new = self._alteration(i, alone)
            if new != content.altered.get(i, Altered()):
                if new[:2] != content.altered.get(i, Altered())[:2]:
                    shaped |= {i, *carried}
                painted.add(i)
                content = replace(content, altered={**content.altered, i: new})
        content = replace(content, memory=self.memory.decided(due))
        present = {i.id for i in scene.instances}
        for i in sorted(shaped | painted):
            if i not in known:
                continue
            if i in content.gone:
                scene = scene.without(i) if i in present else scene
            else:
                scene = scene.with_instance(*content._dressed(i, scene))
        return content, scene, shaped, painted - shaped

    def _made(self, scene: Scene, instance: Instance, bare: bool) -> tuple[Content, Textures]:
        """Return the content with an instance made anew, as another or another kind."""
        i, now = instance.id, self.made.get(instance.id, instance)
        person = now.category == PERSON
        new = None
        swap = self.memory.draw("swap_people" if person else "swap_objects", i, self.doses)
        if swap is not None and i in self.standing.things:
            if person:
                new = reimagine(self.name, scene, now, swap)
            elif bare:
                new = swapped(self.name, scene, self.built, self.standing, now, swap)
        forget = self.memory.draw("forget", i, self.doses)
        if new is None and forget is not None:
            try:
                new = reimagine(self.name, scene, now, forget)
            except ValueError:
                # What was swapped in may not come in every make at that size.
                if now.category == instance.category:
                    raise
        if new is None:
            return self, {}
        return replace(self, made={**self.made, i: new[0]}), new[1]

    def _alteration(self, i: int, alone: bool) -> Altered:
        """Return what an absence does to an instance, beside making it another."""
        old = self.altered.get(i, Altered())
        bend, move = old.bend, old.move
        if i in self.standing.things and alone:
            if "deform" in self.doses:
                bend = self.memory.seed_of("deform", i)
            if "layout_shuffle" in self.doses and i not in self.standing.below:
                way = self._way(i, self.memory.seed_of("layout_shuffle", i))
                x, y, z = self.doses["layout_shuffle"] * way
                move = (float(x), float(y), float(z))
        paint = self.memory.seed_of("restyle", i) if "restyle" in self.doses else old.paint
        return Altered(bend, move, paint)

    def _way(self, i: int, seed: int) -> Array:
        """Return the displacement (3,) of a thing at a dose of 1: the freest of the ways it has."""
        ways = self.standing.ways(i) * self.standing.reach(i)
        ways = ways[np.random.default_rng([seed, 73]).permutation(len(ways))]
        taken = self.standing.room(i, ways)
        best = int(np.argmin(taken))
        return np.zeros(3) if np.isinf(taken[best]) else np.asarray(ways[best])

    def _dressed(self, i: int, scene: Scene) -> tuple[Instance, Textures]:
        """Return an instance as it stands in the scene now, and the textures it adds."""
        instance = self.made.get(i) or self.built.instance(i)
        change = self.altered.get(i, Altered())
        place = np.array(instance.pose)
        place[:3, 3] += np.array(change.move) + self._carried_to(i)
        if change.bend is not None:
            bent = warp(instance, change.bend, self.doses["deform"], i in self.standing.hung)
            instance = deformed(instance, bent)
        instance = replace(instance, pose=place)
        if change.paint is None:
            return instance, {}
        return restyled(instance, change.paint, self.doses["restyle"], scene, self.others)

    def _carried_to(self, i: int) -> Array:
        """Return how far (3,) what carries an instance has taken it."""
        below = self.standing.below.get(i)
        if below is None or below in self.gone:
            return np.zeros(3)
        change = self.altered.get(below, Altered())
        way = np.array(change.move) + self._carried_to(below)
        if change.bend is not None:
            support = self.made.get(below) or self.built.instance(below)
            bent = warp(support, change.bend, self.doses["deform"], below in self.standing.hung)
            local = np.linalg.inv(support.pose) @ self.standing.pose(i)[:, 3]
            way = way + support.pose[:3, :3] @ (bent(local[None, :3])[0] - local[:3])
        return way

    def _twin(self, scene: Scene, i: int, spot: Array) -> Instance | None:
        """Return a copy of an instance beside it, None where there is one already."""
        number = max(k.id for k in self.built.instances) + 1 + self.standing.row[i]
        if number > np.iinfo(np.uint16).max or any(k.id == number for k in scene.instances):
            return None
        instance = scene.instance(i)
        pose = instance.pose.copy()
        pose[:3, 3] += spot
        return replace(instance, id=number, name=f"{instance.name}-copy", pose=pose)

    def _gain(self) -> NDArray[np.float32]:
        """Return the factors on the light, see ``Lit``."""
        rng = np.random.default_rng([self.memory.seed, self.light[0], 79])
        strength = float(rng.uniform(*STRENGTH)) * (1 if rng.random() < 0.4 else -1)
        hue = rng.normal(size=3)
        hue = (hue - hue.mean()) * HUE / max(float(np.linalg.norm(hue - hue.mean())), 1e-6)
        share = float(rng.uniform(0.3, 0.8))
        direct, around = strength + hue, share * strength - 0.5 * hue
        return np.exp(self.doses["relight"] * np.stack([direct, around])).astype(np.float32)


def _wide(fov: tuple[float, float]) -> tuple[float, float]:
    """Return tangents of half the angle that is looked after, across and up."""
    across, up = (
        float(np.tan(np.radians(min(f / 2 + more, 85.0))))
        for f, more in zip(fov, AHEAD, strict=True)
    )
    return across, up


def begin(
    name: SceneName, scene: Scene, faults: Mapping[str, float], seed: int, absence: int = ABSENCE
) -> Content | None:
    """Return the content at the start of an episode, None where no fault of it has a dose.

    Args:
        name: Of the scene.
        scene: As it was built.
        faults: Fault -> dose; those of other kinds are passed over.
        seed: Of the episode.
        absence: Frames out of view that count as an absence.
    """
    doses = {k: faults[k] for k in CONTENT if faults.get(k, 0.0) > 0}
    if not doses:
        return None
    # Both together are no more than all of it.
    drift = {k: min(1.0, doses.get("drift", 0.0) + doses.get(f"drift_{k}", 0.0)) for k in KINDS}
    wander = None
    if any(drift.values()):
        event = None if scene.event is None else scene.event.instance
        still = frozenset(i.id for i in scene.instances if i.moves or i.id == event)
        wander = Wander(seed, {k: v for k, v in drift.items() if v > 0}, stand(scene), still)
    return Content(
        name,
        scene,
        doses,
        Memory(seed, absence),
        _spots(stand(scene), seed) if "duplicate" in doses else {},
        wander,
        palette(scene) if "restyle" in doses else (),
    )


def _spots(standing: Standing, seed: int) -> dict[int, Array]:
    """Return where a copy of each thing has room, such that all copies have it at once."""
    spots: dict[int, Array] = {}
    taken: list[Array] = []
    for i in sorted(standing.things):
        rng = np.random.default_rng([seed, i, 83])
        ways = standing.ways(i)
        size = abs(ways) @ standing.extent(i)
        ways = (ways * (size + 0.1)[:, None])[rng.permutation(len(ways))]
        others = np.array(taken).reshape(-1, 2, 3)
        room = standing.room(i, ways, others)
        if (room == 0).any():
            spots[i] = ways[int(np.argmin(room))]
            taken.append(standing.boxes[standing.row[i]] + spots[i])
    return spots

"""A plot that is being laid out with things: what fits where, under the open sky."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.furniture import Piece, Size, size_tags
from worldenv.worlds.reference.people import make_person
from worldenv.worlds.reference.rooms import ways
from worldenv.worlds.reference.scene import Instance, Lamp, Scene
from worldenv.worlds.reference.shapes import placed
from worldenv.worlds.reference.views import FLAT, box_of

GAP = 0.05
"""Least distance between things, in metres."""

Make = Callable[[str, int, Size, str], Piece]
Colour = tuple[float, float, float]


class Plot:
    """A plot being laid out. Positions are those of the unmirrored plan.

    Attributes:
        rng: What decides.
        season: Of its plants.
        mirror: -1.0 where east and west are swapped, else 1.0.
        instances: What stands so far.
        textures: Their textures.
        sizes: Instance id -> the size it was made to.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        season: str,
        mirrored: bool,
        make: Make,
        limits: tuple[float, float, float, float],
    ) -> None:
        """Begin an empty plot.

        Args:
            rng: What decides.
            season: One of ``outdoor_things.SEASONS``.
            mirrored: Whether east and west are swapped.
            make: Category, seed, size, season -> thing; people are known.
            limits: West, north, east and south limit of things, in the scene.
        """
        self.rng, self.season = rng, season
        self.mirror = -1.0 if mirrored else 1.0
        self.instances: list[Instance] = []
        self.textures: dict[str, NDArray[np.uint8]] = {}
        self.sizes: dict[int, Size] = {}
        self._make, self._limits = make, limits
        self._kept: list[tuple[float, float, float, float]] = []
        self._boxes: list[NDArray[np.float64]] = []

    def scene(
        self, tags: Mapping[str, str], light: tuple[tuple[Lamp, ...], Colour], display: float
    ) -> Scene:
        """Return what stands on the plot as a scene without views.

        Args:
            tags: What the scene says of itself besides the sizes of its things.
            light: Lamps, and light from everywhere.
            display: See ``Scene``.
        """
        lamps, ambient = light
        return Scene(
            instances=tuple(self.instances),
            lamps=lamps,
            ambient=ambient,
            background=(0.35, 0.45, 0.55),
            textures=self.textures,
            views=(),
            tags={**tags, **size_tags(self.sizes)},
            display=display,
        )

    def uniform(self, low: float, high: float) -> float:
        """Return a number in [low, high)."""
        return float(self.rng.uniform(low, high))

    def either(self, *names: str) -> str:
        """Return one of the names."""
        return names[int(self.rng.integers(len(names)))]

    def keep(self, x0: float, x1: float, z0: float, z1: float) -> None:
        """Keep a rectangle of the ground free of what is higher than a kerb."""
        low, high = sorted((self.mirror * x0, self.mirror * x1))
        self._kept.append((low, high, z0, z1))

    def keep_ways(self) -> None:
        """Keep the ground free that walks need: ring, strip and square of the plan."""
        for way in ways(0.4):
            self.keep(*way)

    def seed(self) -> int:
        """Return a seed for a thing."""
        return int(self.rng.integers(1 << 16))

    def add(
        self,
        piece: Piece,
        category: str,
        pose: NDArray[np.float64],
        size: Size,
        *,
        name: str | None = None,
        flat: bool = False,
        solid: bool = True,
    ) -> Instance:
        """Add a piece at a scene pose, without any check.

        Args:
            piece: What.
            category: Of the instance.
            pose: Where.
            size: What it was made to.
            name: Of the instance; None numbers it by its category.
            flat: See ``Instance.flat``.
            solid: Whether later things keep clear of it; flat ones never count.
        """
        count = sum(i.category == category for i in self.instances)
        instance = Instance(
            len(self.instances) + 1,
            name or f"{category.replace(' ', '-')}-{count + 1}",
            category,
            piece.variant,
            piece.mesh,
            pose,
            piece.coarse,
            flat,
        )
        self.instances.append(instance)
        self.textures.update(piece.textures)
        self.sizes[instance.id] = size
        if solid and not flat:
            self._boxes.append(box_of(instance))
        return instance

    def made(self, category: str, seed: int, size: Size) -> Piece:
        """Return a thing of this plot, or a person."""
        if category == "person":
            return make_person(seed)
        return self._make(category, seed, size, self.season)

    def put(
        self,
        category: str,
        size: Size,
        x: float,
        z: float,
        turn: float = 0.0,
        *,
        seed: int | None = None,
        y: float = 0.0,
        piece: Piece | None = None,
    ) -> Instance | None:
        """Place a thing, or nothing where it would touch another or stand in the way."""
        pose = placed(self.mirror * x, y, z, self.mirror * turn)
        seed = self.seed() if seed is None else seed
        reach = 0.3 * min(size[0], size[2])
        if not self._free(
            np.array([pose[:3, 3] - [reach, 0, reach], pose[:3, 3] + [reach, size[1], reach]])
        ):
            return None
        piece = self.made(category, seed, size) if piece is None else piece
        trial = Instance(0, "", category, "", piece.mesh, pose)
        if not self._free(box_of(trial)):
            return None
        return self.add(piece, category, pose, size)

    def seat(self, piece: Piece, on: Instance, right: float, out: float) -> Instance | None:
        """Seat a person on a thing, or nobody where the legs would touch something else."""
        pose = on.pose @ placed(right, 0.0, out)
        trial = Instance(0, "", "person", "", piece.mesh, pose)
        if not self._free(box_of(trial), box_of(on)):
            return None
        return self.add(piece, "person", pose, (0.6, 1.3, 0.8))

    def _free(self, box: NDArray[np.float64], but: NDArray[np.float64] | None = None) -> bool:
        west, north, east, south = self._limits
        if box[0, 0] < west or box[1, 0] > east or box[0, 2] < north or box[1, 2] > south:
            return False
        if box[1, 1] > FLAT:
            for x0, x1, z0, z1 in self._kept:
                if box[0, 0] < x1 and box[1, 0] > x0 and box[0, 2] < z1 and box[1, 2] > z0:
                    return False
        others = np.array([b for b in self._boxes if but is None or (b != but).any()])
        if not len(others):
            return True
        apart = (box[0] >= others[:, 1] + GAP) | (box[1] <= others[:, 0] - GAP)
        return bool(apart.any(axis=1).all())


def beside(x: float, z: float, turn: float, right: float, out: float) -> tuple[float, float]:
    """Return the place that lies so far to a station's own right (x) and front (z)."""
    a = np.radians(turn)
    return x + right * np.cos(a) + out * np.sin(a), z - right * np.sin(a) + out * np.cos(a)

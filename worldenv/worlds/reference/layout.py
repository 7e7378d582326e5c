"""Placing things in a room: on the floor, on walls and on each other, with nothing overlapping."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference import cabinetry, fixtures, objects, people, props, seats
from worldenv.worlds.reference.furniture import Piece, Size, make, size_tags
from worldenv.worlds.reference.scene import Instance, Lamp, Scene, SceneEvent
from worldenv.worlds.reference.shapes import placed
from worldenv.worlds.reference.views import FLAT, box_of

# Importing them registers their makers.
assert cabinetry and fixtures and objects and props and seats

GAP = 0.012
"""Least distance between things, in metres."""

WALLS = {"north": 0.0, "east": -90.0, "south": 180.0, "west": 90.0}
"""Wall -> the turn of what hangs on it, so that it faces the room."""


def make_piece(category: str, seed: int, size: Size) -> Piece:
    """Return a piece of furniture, or a person."""
    if category == "person":
        return people.make_person(seed)
    return make(category, seed, size)


class Layout:
    """A room being filled. Positions are those of the unmirrored plan.

    Attributes:
        rng: What decides.
        room: Width (x), height and depth (z) in metres.
        mirror: -1.0 where east and west are swapped, else 1.0.
        instances: What stands so far.
        textures: Their textures.
        sizes: Instance id -> the size it was made to.
        kept: Floor rectangles (2, 2) of the plan that stay free.
        lamps: What shines.
        ambient: Light from everywhere.
        tags: What the scene should say of itself besides.
        exposure: Of the scene.
        watch: Name -> camera pose (4, 4) of views that an event adds.
    """

    def __init__(self, rng: np.random.Generator, room: Size, mirrored: bool) -> None:
        self.rng = rng
        self.room = room
        self.mirror = -1.0 if mirrored else 1.0
        self.instances: list[Instance] = []
        self.textures: dict[str, NDArray[np.uint8]] = {}
        self.sizes: dict[int, Size] = {}
        self.kept: list[NDArray[np.float64]] = []
        self.lamps: list[Lamp] = []
        self.ambient: tuple[float, float, float] = (0.16, 0.165, 0.17)
        self.tags: dict[str, str] = {}
        self.exposure = 1.0
        self.watch: dict[str, NDArray[np.float64]] = {}
        self._boxes: list[NDArray[np.float64]] = []

    def uniform(self, low: float, high: float) -> float:
        """Return a number in [low, high)."""
        return float(self.rng.uniform(low, high))

    def either(self, *names: str) -> str:
        """Return one of the names."""
        return names[int(self.rng.integers(len(names)))]

    def shuffled(self, names: Sequence[str]) -> list[str]:
        """Return the names in another order."""
        return [names[i] for i in self.rng.permutation(len(names))]

    def keep(self, x0: float, x1: float, z0: float, z1: float) -> None:
        """Keep a rectangle of the floor free."""
        self.kept.append(np.array([[x0, z0], [x1, z1]]))

    def name(self, category: str) -> str:
        """Return the next free name of a category."""
        word = category.replace(" ", "-")
        count = sum(i.category == category for i in self.instances)
        return f"{word}-{count + 1}"

    def add(
        self,
        piece: Piece,
        category: str,
        pose: NDArray[np.float64],
        size: Size,
        *,
        name: str | None = None,
        flat: bool = False,
        moves: bool = False,
    ) -> Instance:
        """Add a piece at a scene pose, without any check."""
        instance = Instance(
            len(self.instances) + 1,
            name or self.name(category),
            category,
            piece.variant,
            piece.mesh,
            pose,
            piece.coarse,
            flat,
            moves,
        )
        self.instances.append(instance)
        self.textures.update(piece.textures)
        self.sizes[instance.id] = size
        if not flat:
            self._boxes.append(box_of(instance))
        return instance

    def pose(self, x: float, y: float, z: float, turn: float) -> NDArray[np.float64]:
        """Return the scene pose of a place on the plan."""
        return placed(self.mirror * x, y, z, self.mirror * turn)

    def put(
        self,
        category: str,
        size: Size,
        x: float,
        z: float,
        turn: float = 0.0,
        *,
        y: float = 0.0,
        keep: bool = True,
        seed: int | None = None,
    ) -> Instance | None:
        """Place a piece, or nothing where it would touch something or a kept-free rectangle."""
        seed = int(self.rng.integers(1 << 16)) if seed is None else seed
        pose = self.pose(x, y, z, turn)
        if category != "person" and not self._free(_footprint(size, pose), keep):
            return None
        piece = make_piece(category, seed, size)
        trial = Instance(0, "", category, "", piece.mesh, pose)
        if not self._free(box_of(trial), keep):
            return None
        return self.add(piece, category, pose, size)

    def _free(self, box: NDArray[np.float64], keep: bool) -> bool:
        width, height, depth = self.room
        inside = np.array([width / 2, height, depth / 2])
        if (box[1] > inside).any() or (box[0] < [-inside[0], -1e-6, -inside[2]]).any():
            return False
        if keep and box[1, 1] > FLAT and box[0, 1] < 1.8:
            for rectangle in self.kept:
                x = np.sort(self.mirror * rectangle[:, 0])
                z = rectangle[:, 1]
                if box[0, 0] < x[1] and box[1, 0] > x[0] and box[0, 2] < z[1] and box[1, 2] > z[0]:
                    return False
        if not self._boxes:
            return True
        others = np.array(self._boxes)
        # What stands on something touches it from above; to the sides a gap is kept.
        gap = np.array([GAP, 0.0, GAP]) - 1e-4
        apart = (box[0] >= others[:, 1] + gap) | (box[1] <= others[:, 0] - gap)
        return bool(apart.any(axis=1).all())

    def on(
        self,
        support: Instance,
        category: str,
        size: Size,
        along: float = 0.0,
        depth: float = 0.0,
        turn: float = 0.0,
    ) -> Instance | None:
        """Place a piece on top of another, off its middle by metres along its own axes."""
        top = self.sizes[support.id][1]
        local = placed(self.mirror * along, top + 0.002, depth, self.mirror * turn)
        seed = int(self.rng.integers(1 << 16))
        piece = make_piece(category, seed, size)
        return self.add(piece, category, support.pose @ local, size)

    def scatter(self, sizes: Mapping[str, Size], edge: float, turning: Collection[str]) -> None:
        """Put up to four small things where room is left.

        Args:
            sizes: Category -> size.
            edge: How far their middles stay from the walls, metres.
            turning: Categories that stand askew.
        """
        width, _, depth = self.room
        left = 4
        for _ in range(14):
            if left:
                category = self.either(*sizes)
                x = self.uniform(-width / 2 + edge, width / 2 - edge)
                z = self.uniform(-depth / 2 + edge, depth / 2 - edge)
                turn = self.uniform(-30, 30) if category in turning else 0.0
                left -= self.put(category, sizes[category], x, z, turn) is not None

    def scene(self, family: str, seed: int, event: SceneEvent | None) -> Scene:
        """Return the room as a scene without views.

        Args:
            family: Its scene family.
            seed: What it was built from.
            event: What changes in it.
        """
        tags = {"family": family, "seed": str(seed), "mirrored": str(self.mirror < 0)}
        tags |= self.tags | size_tags(self.sizes)
        return Scene(
            instances=tuple(self.instances),
            lamps=tuple(self.lamps),
            ambient=self.ambient,
            background=(0.02, 0.02, 0.02),
            textures=self.textures,
            views=(),
            event=event,
            tags=tags,
            exposure=self.exposure,
        )

    def wall_place(self, wall: str, along: float, out: float) -> tuple[float, float, float]:
        """Return (x, z, turn) of a place by a wall: metres along it and out into the room.

        ``along`` runs east on the north and south walls and south on the east and west walls.
        """
        width, _, depth = self.room
        turn = WALLS[wall]
        if wall in ("north", "south"):
            side = -1 if wall == "north" else 1
            return along, side * (depth / 2 - out), turn
        side = 1 if wall == "east" else -1
        return side * (width / 2 - out), along, turn

    def by(
        self, wall: str, category: str, size: Size, along: float, *, out: float = 0.03
    ) -> Instance | None:
        """Stand a piece against a wall."""
        x, z, turn = self.wall_place(wall, along, out + size[2] / 2)
        return self.put(category, size, x, z, turn)

    def hang(self, wall: str, category: str, size: Size, along: float, y: float) -> Instance | None:
        """Hang a piece on a wall, its lower edge at height ``y``."""
        x, z, turn = self.wall_place(wall, along, 0.0)
        return self.put(category, size, x, z, turn, y=y, keep=False)


def _footprint(size: Size, pose: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the box of the middle of a piece: what can be refused before it is made."""
    half = np.array([0.35 * size[0], 0.45 * size[1], 0.0])
    centre = pose[:3, 3] + [0, size[1] / 2, 0]
    extent = abs(pose[:3, :3]) @ half
    return np.stack([centre - extent, centre + extent])

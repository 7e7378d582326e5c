"""Mesh building: boxes, turned shapes, tubes and cushions gathered into one mesh."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from worldenv.worlds.reference.scene import Material, Mesh

Vector = Sequence[float]

THIN = 0.032
"""Boxes thinner than this, in metres, get no chamfer."""


def placed(
    x: float = 0.0, y: float = 0.0, z: float = 0.0, turn: float = 0.0, tilt: float = 0.0
) -> NDArray[np.float64]:
    """Return a pose (4, 4): tilted about x, then turned about y (degrees), then moved (metres)."""
    a, b = np.radians([turn, tilt])
    yaw = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    pitch = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    pose = np.eye(4)
    pose[:3, :3] = yaw @ pitch
    pose[:3, 3] = x, y, z
    return pose


def lying(x: float, y: float, z: float) -> NDArray[np.float64]:
    """Return the pose of a lathe part whose axis lies along x, starting at a point."""
    pose = placed(x, y, z)
    pose[:3, :3] = [[0, 1, 0], [-1, 0, 0], [0, 0, 1]]
    return pose


def forth(x: float, y: float, z: float) -> NDArray[np.float64]:
    """Return the pose of a lathe part whose axis points to +z, starting at a point."""
    pose = placed(x, y, z)
    pose[:3, :3] = [[1, 0, 0], [0, 0, -1], [0, 1, 0]]
    return pose


def bounds(mesh: Mesh) -> NDArray[np.float64]:
    """Return the lowest and highest corner (2, 3) of a mesh, in its own frame."""
    points = mesh.vertices.astype(np.float64)
    return np.stack([points.min(axis=0), points.max(axis=0)])


def _carried(
    line: NDArray[np.float64], closed: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the directions (n, 3) of a line and unit sides (n, 3) that turn no more than it does.

    A side chosen anew at each point would flip where the line passes from level to steep, and
    the skin of a tube would cross itself there.
    """
    if closed:
        along = np.gradient(np.concatenate([line[-2:-1], line, line[1:2]]), axis=0)[1:-1]
    else:
        along = np.gradient(line, axis=0)
    along /= np.maximum(np.linalg.norm(along, axis=1, keepdims=True), 1e-12)
    helper = [1.0, 0, 0] if abs(along[0, 1]) > 0.8 else [0, 1.0, 0]
    first = np.cross(helper, along[0])
    sides = [first / np.linalg.norm(first)]
    for before, after in itertools.pairwise(along):
        axis, cosine = np.cross(before, after), float(before @ after)
        old = sides[-1]
        # The least turn that takes one direction to the next (Rodrigues).
        turned = cosine * old + np.cross(axis, old) + axis * (axis @ old) / max(1 + cosine, 1e-9)
        turned -= (turned @ after) * after
        sides.append(turned / np.linalg.norm(turned))
    side = np.array(sides)
    if closed:
        # What the way round has twisted is given back evenly, so that both ends meet.
        twist = np.arctan2(np.cross(side[-1], side[0]) @ along[0], side[-1] @ side[0])
        share = twist * np.linspace(0, 1, len(line))[:, None]
        side = np.cos(share) * side + np.sin(share) * np.cross(along, side)
    return along, side


class Builder:
    """Gathers parts into one mesh; lengths in metres, ``repeat`` is metres a texture repeat.

    A coarse builder leaves out chamfers and inner cells and halves the sides of round parts.
    """

    def __init__(self, coarse: bool = False) -> None:
        self.coarse = coarse
        self._vertices: list[NDArray[np.float64]] = []
        self._uv: list[NDArray[np.float64]] = []
        self._faces: list[NDArray[np.int64]] = []
        self._index: list[NDArray[np.int64]] = []
        self._materials: list[Material] = []
        self._count = 0

    def add(
        self,
        vertices: ArrayLike,
        uv: ArrayLike,
        faces: ArrayLike,
        material: Material,
        pose: NDArray[np.float64] | None = None,
    ) -> None:
        """Add triangles: vertices (n, 3), uv (n, 2), faces (m, 3), after a pose."""
        points = np.asarray(vertices, dtype=np.float64)
        if pose is not None:
            points = points @ pose[:3, :3].T + pose[:3, 3]
        triangles = np.asarray(faces, dtype=np.int64)
        if material not in self._materials:
            self._materials.append(material)
        self._vertices.append(points)
        self._uv.append(np.asarray(uv, dtype=np.float64))
        self._faces.append(triangles + self._count)
        self._index.append(np.full(len(triangles), self._materials.index(material)))
        self._count += len(points)

    def merge(self, mesh: Mesh, pose: NDArray[np.float64] | None = None) -> None:
        """Add a whole mesh, after a pose."""
        for i, material in enumerate(mesh.materials):
            faces = mesh.faces[mesh.face_material == i]
            used, local = np.unique(faces, return_inverse=True)
            self.add(mesh.vertices[used], mesh.uv[used], local.reshape(-1, 3), material, pose)

    def patch(
        self,
        corner: Vector,
        edge_u: Vector,
        edge_v: Vector,
        material: Material,
        *,
        repeat: float | None = None,
        cells: tuple[int, int] = (1, 1),
        pose: NDArray[np.float64] | None = None,
    ) -> None:
        """Add a rectangle from its lower left corner, seen from ``edge_u x edge_v``.

        Without ``repeat`` the texture is fitted once over it.
        """
        o, a, b = (np.asarray(e, dtype=np.float64) for e in (corner, edge_u, edge_v))
        s, t = _unit_grid(*cells).T
        points = o + s[:, None] * a + t[:, None] * b
        size = (1.0, 1.0)
        if repeat is not None:
            size = (float(np.linalg.norm(a)) / repeat, float(np.linalg.norm(b)) / repeat)
        self.add(
            points,
            np.stack([s * size[0], (1 - t) * size[1]], axis=1),
            mesh_grid(*cells),
            material,
            pose,
        )

    def box(
        self,
        low: Vector,
        high: Vector,
        material: Material,
        *,
        bevel: float = 0.004,
        repeat: float = 0.8,
        cell: float = 0.7,
        skip: str = "",
        pose: NDArray[np.float64] | None = None,
    ) -> None:
        """Add a box between two corners with chamfered edges; the grain follows the long sides.

        Args:
            low: Lowest corner.
            high: Highest corner.
            material: Of all faces.
            bevel: Width of the chamfer, 0 for sharp edges.
            repeat: Metres a texture repeat.
            cell: Faces are divided into cells of about this size, for the light.
            skip: Faces left out, of ``xXyYzZ`` (small: low side, large: high side).
            pose: Where the box goes.
        """
        lo, hi = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        size = hi - lo
        # A chamfer costs 44 triangles, and is not seen on laths, handles and boards.
        sharp = self.coarse or float(size.min()) < THIN
        edge = 0.0 if sharp else min(bevel, 0.3 * float(size.min()))
        cell = 1.4 if self.coarse else cell
        shift = lo.sum() * 0.37  # So that equal boxes side by side do not show equal grain.
        points, uvs, faces, count = [], [], [], 0
        for axis in range(3):
            first, second = (axis + 1) % 3, (axis + 2) % 3
            across = max(1, round(float(size[first]) / cell))
            down = max(1, round(float(size[second]) / cell))
            unit, grid = _unit_grid(across, down), mesh_grid(across, down)
            flat = lo[[first, second]] + edge + unit * (size[[first, second]] - 2 * edge)
            uv = flat * [1, -1] / repeat + shift
            if size[second] > size[first]:
                uv = uv[:, ::-1]
            for side in (0, 1):
                if "xyzXYZ"[axis + 3 * side] in skip:
                    continue
                face = np.empty((len(flat), 3))
                face[:, axis] = (lo, hi)[side][axis]
                face[:, first], face[:, second] = flat[:, 0], flat[:, 1]
                points.append(face)
                uvs.append(uv)
                faces.append((grid if side else grid[:, ::-1]) + count)
                count += len(flat)
        self.add(np.concatenate(points), np.concatenate(uvs), np.concatenate(faces), material, pose)
        if edge > 0 and not skip:
            self._chamfer(lo, hi, edge, material, repeat, pose)

    def _chamfer(
        self,
        lo: NDArray[np.float64],
        hi: NDArray[np.float64],
        edge: float,
        material: Material,
        repeat: float,
        pose: NDArray[np.float64] | None,
    ) -> None:
        """Close a box whose faces were drawn in by ``edge``: twelve strips, eight corners."""
        centre, half = (lo + hi) / 2, (hi - lo) / 2
        signs, inset, faces = _chamfer_faces()
        points = (signs[:, None] * (half - edge * inset)).reshape(-1, 3)
        uv = (points[:, :2] + points[:, 2:] + centre[:2]) / repeat
        self.add(points + centre, uv, faces, material, pose)

    def lathe(
        self,
        profile: Sequence[tuple[float, float]],
        material: Material,
        *,
        sides: int = 16,
        repeat: float | None = None,
        pose: NDArray[np.float64] | None = None,
    ) -> None:
        """Turn a profile of (radius, height), bottom to top outside, about the y axis.

        Without ``repeat`` the texture goes once around and once down.
        """
        line = np.asarray(profile, dtype=np.float64)
        sides = max(5, sides // 2) if self.coarse else sides
        angle = np.linspace(0, 2 * np.pi, sides + 1)
        length = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
        radius, height = line[:, 0][:, None], line[:, 1][:, None]
        points = np.stack(
            [
                radius * np.sin(angle),
                np.broadcast_to(height, (len(line), sides + 1)),
                radius * np.cos(angle),
            ],
            axis=-1,
        ).reshape(-1, 3)
        if repeat is None:
            u = np.broadcast_to(angle / (2 * np.pi), (len(line), sides + 1))
            v = np.repeat(1 - length / max(length[-1], 1e-9), sides + 1)
        else:
            turns = max(1, round(2 * np.pi * float(line[:, 0].max()) / repeat))
            u = np.broadcast_to(angle / (2 * np.pi) * turns, (len(line), sides + 1))
            v = np.repeat(-length / repeat, sides + 1)
        faces = mesh_grid(sides, len(line) - 1)
        corner = points[faces]
        area = np.linalg.norm(
            np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1
        )
        self.add(points, np.stack([u.ravel(), v], axis=1), faces[area > 1e-10], material, pose)

    def cylinder(
        self,
        radius: float,
        low: float,
        high: float,
        material: Material,
        *,
        top: float | None = None,
        sides: int = 14,
        repeat: float = 0.6,
        pose: NDArray[np.float64] | None = None,
    ) -> None:
        """Add a cylinder or cone along y, closed, with hard rims."""
        upper = radius if top is None else top
        for profile in (
            [(0.0, low), (radius, low)],
            [(radius, low), (upper, high)],
            [(upper, high), (0.0, high)],
        ):
            self.lathe(profile, material, sides=sides, repeat=repeat, pose=pose)

    def ball(
        self,
        centre: Vector,
        radii: Vector,
        material: Material,
        *,
        sides: int = 16,
        rings: int = 10,
        repeat: float | None = None,
        pose: NDArray[np.float64] | None = None,
    ) -> None:
        """Add an ellipsoid."""
        rings = max(4, rings // 2) if self.coarse else rings
        angle = np.linspace(-np.pi / 2, np.pi / 2, rings + 1)
        frame = np.eye(4)
        frame[:3, :3] = np.diag(np.asarray(radii, dtype=np.float64))
        frame[:3, 3] = centre
        profile = [(max(float(np.cos(a)), 0.0), float(np.sin(a))) for a in angle]
        self.lathe(
            profile,
            material,
            sides=sides,
            repeat=repeat,
            pose=frame if pose is None else pose @ frame,
        )

    def tube(
        self,
        points: ArrayLike,
        radius: float | Sequence[float],
        material: Material,
        *,
        sides: int = 8,
        repeat: float = 0.5,
        pose: NDArray[np.float64] | None = None,
    ) -> None:
        """Add a round bar along a line of points (n, 3), with ends unless the line closes."""
        line = np.asarray(points, dtype=np.float64)
        sides = max(4, sides // 2) if self.coarse else sides
        radii = np.broadcast_to(np.asarray(radius, dtype=np.float64), len(line))
        closed = len(line) > 3 and bool(abs(line[0] - line[-1]).max() < 1e-9)
        along, side = _carried(line, closed)
        up = np.cross(along, side)
        angle = np.linspace(0, 2 * np.pi, sides + 1)
        ring = side[:, None] * np.cos(angle)[:, None] + up[:, None] * np.sin(angle)[:, None]
        skin = (line[:, None] + ring * radii[:, None, None]).reshape(-1, 3)
        length = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
        uv = np.stack(
            [np.repeat(length / repeat, sides + 1), np.tile(angle / (2 * np.pi), len(line))], axis=1
        )
        self.add(skin, uv, mesh_grid(sides, len(line) - 1), material, pose)
        for end, order in () if closed else ((0, -1), (len(line) - 1, 1)):
            rim = skin[end * (sides + 1) : (end + 1) * (sides + 1) - 1]
            fan = np.array([[0, i, i + 1] for i in range(1, sides - 1)])[:, ::order]
            self.add(rim, np.zeros((sides, 2)), fan, material, pose)

    def cushion(
        self,
        low: Vector,
        high: Vector,
        material: Material,
        *,
        radius: float = 0.06,
        puff: float = 0.0,
        repeat: float = 0.4,
        steps: int = 1,
        pose: NDArray[np.float64] | None = None,
    ) -> None:
        """Add a soft box: edges rounded by ``radius``, middles of faces raised by ``puff``."""
        if self.coarse:
            self.box(low, high, material, repeat=repeat, pose=pose)
            return
        lo, hi = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        centre, half = (lo + hi) / 2, (hi - lo) / 2 - puff
        round_ = min(radius, float(half.min()) * 0.95)
        inner = half - round_
        last = 2 * steps + 2
        cube, faces = _cube(last)
        at = np.where(cube <= steps, -1.0, np.where(cube >= last - steps, 1.0, 0.0))
        turned = np.where(
            cube <= steps, cube / steps - 1, np.where(at > 0, (cube - last) / steps + 1, 0.0)
        )
        bend = np.tan(turned * np.pi / 4)
        surface = (cube == 0) | (cube == last)
        direction = np.where(surface, np.sign(cube - 0.5), bend)
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        points = at * inner + direction * round_
        if puff:
            share = 1 - np.clip(abs(points / half), 0, 1) ** 2
            for axis in range(3):
                other = share[:, (axis + 1) % 3] * share[:, (axis + 2) % 3]
                points[:, axis] += np.where(surface[:, axis], direction[:, axis] * puff * other, 0)
        # One linear map for all sides keeps the cloth in one piece; no axis side is degenerate.
        world = points + centre
        uv = np.stack(
            [world[:, 0] + 0.8 * world[:, 2], -world[:, 1] - 0.6 * world[:, 2] + 0.2 * world[:, 0]],
            axis=1,
        )
        self.add(points + centre, uv / repeat, faces, material, pose)

    def mesh(self, two_sided: bool = False) -> Mesh:
        """Return everything added so far."""
        return Mesh(
            np.concatenate(self._vertices).astype(np.float32),
            np.concatenate(self._uv).astype(np.float32),
            np.concatenate(self._faces).astype(np.int32),
            np.concatenate(self._index).astype(np.int32),
            tuple(self._materials),
            two_sided,
        )


@lru_cache(maxsize=1)
def _chamfer_faces() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return corner signs (8, 3), which axes are drawn in (3, 3), and the chamfer's faces (44, 3).

    Point (corner, axis), at index 3 corner + axis, lies on the face of that axis.
    """
    signs = np.array([[x, y, z] for x in (-1.0, 1) for y in (-1.0, 1) for z in (-1.0, 1)])
    faces = []
    for c, sign in enumerate(signs):
        triangle = [3 * c, 3 * c + 1, 3 * c + 2]
        faces.append(triangle if sign.prod() > 0 else triangle[::-1])
        for axis in range(3):
            if sign[axis] > 0:
                continue
            d = c + (4, 2, 1)[axis]
            a, b = (axis + 1) % 3, (axis + 2) % 3
            quad = [3 * c + a, 3 * c + b, 3 * d + b, 3 * d + a]
            if sign[a] * sign[b] < 0:
                quad = quad[::-1]
            faces += [[quad[0], quad[1], quad[2]], [quad[0], quad[2], quad[3]]]
    return signs, 1 - np.eye(3), np.array(faces)


@lru_cache(maxsize=256)
def _unit_grid(across: int, down: int) -> NDArray[np.float64]:
    """Return the points (n, 2) of a grid over the unit square, row by row."""
    s, t = np.meshgrid(np.linspace(0, 1, across + 1), np.linspace(0, 1, down + 1))
    return np.stack([s.ravel(), t.ravel()], axis=1)


@lru_cache(maxsize=256)
def mesh_grid(across: int, down: int) -> NDArray[np.int64]:
    """Return faces of a grid of (across + 1) x (down + 1) points, row by row, counter-clockwise."""
    index = np.arange((across + 1) * (down + 1)).reshape(down + 1, across + 1)
    a, b, c, d = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
    return np.concatenate(
        [np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, c, d], -1).reshape(-1, 3)]
    )


@lru_cache(maxsize=16)
def _cube(cells: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return integer points (n, 3) on a cube's surface, welded, and outward faces (m, 3)."""
    line = np.arange(cells + 1)
    s, t = np.meshgrid(line, line)
    points: list[NDArray[np.int64]] = []
    faces: list[NDArray[np.int64]] = []
    for axis in range(3):
        for side in (0, cells):
            p = np.empty((s.size, 3), dtype=np.int64)
            p[:, axis] = side
            p[:, (axis + 1) % 3], p[:, (axis + 2) % 3] = s.ravel(), t.ravel()
            f = mesh_grid(cells, cells) + len(points) * s.size
            faces.append(f if side else f[:, ::-1])
            points.append(p)
    unique, inverse = np.unique(np.concatenate(points), axis=0, return_inverse=True)
    return unique, np.asarray(inverse.reshape(-1)[np.concatenate(faces)])

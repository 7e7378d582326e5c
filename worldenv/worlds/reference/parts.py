"""Turns instances into arrays: triangles, normals, charts of light maps, light receivers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.world import Unsupported
from worldenv.worlds.reference.compile import kernel
from worldenv.worlds.reference.scene import Instance, Mesh

__all__ = ["Part", "is_rigid", "make_part", "place", "smooth_normals", "turned"]

CHART_SIDE, CHART_AREA = 0.07, 0.09
"""Flat faces get a light map when they reach this short side (metres) and area (square metres)."""
TEXEL, FINE = 0.075, 0.09
"""Side of a light-map texel of large flat surfaces and of other things, in metres."""
SPREAD = 2.5
"""Texels around its faces that a light map holds light for: one to blend, one to filter."""
LONGEST = 256
"""Most texels along one side of a light map."""
SCRAP = 6
"""Separate pieces of a smooth mesh of at most so many vertices (leaves) have one light each."""
LIFT = 0.003
"""How far a receiver is lifted off its surface, in metres."""


class Part(NamedTuple):
    """One level of detail of one instance, n vertices, m faces, c charts, t light-map texels.

    Attributes:
        local: Shape (n, 3) float32, vertices in the instance's own frame.
        vertices: Shape (n, 3) float32, vertices in the scene.
        normals: Shape (n, 3) float32, in the instance's own frame, unit length.
        uv: Shape (n, 2) float32.
        faces: Shape (m, 3) int32.
        face_material: Shape (m,) int32.
        face_chart: Shape (m,) int32, -1 where the light is at the vertices.
        two_sided: Whether backs are drawn.
        chart_frame: Shape (c, 3, 4) float32: rows give (column, row, 0) of a light-map texel as a
            linear function of a scene point.
        chart_layout: Shape (c, 3) int32: first texel, columns, rows.
        texels: Number t of light-map texels.
        points: Shape (k, 3) float32, the receivers of light: used vertices (or scraps), then used
            texels.
        directions: Shape (k, 3) float32, their normals in the scene.
        pattern: Shape (k,) int32, which of the interleaved sample sets a receiver uses.
        lit_vertices: Shape (a,) int32, the vertices that have light of their own.
        lit_from: Shape (a,) int32, the receiver of each of them, of the first k - b.
        lit_texels: Shape (b,) int32, the texel of each of the last b receivers.
        centre: Shape (3,) float64, of the bounding sphere in the instance's own frame.
        radius: Of the bounding sphere, metres.
    """

    local: NDArray[np.float32]
    vertices: NDArray[np.float32]
    normals: NDArray[np.float32]
    uv: NDArray[np.float32]
    faces: NDArray[np.int32]
    face_material: NDArray[np.int32]
    face_chart: NDArray[np.int32]
    two_sided: bool
    chart_frame: NDArray[np.float32]
    chart_layout: NDArray[np.int32]
    texels: int
    points: NDArray[np.float32]
    directions: NDArray[np.float32]
    pattern: NDArray[np.int32]
    lit_vertices: NDArray[np.int32]
    lit_from: NDArray[np.int32]
    lit_texels: NDArray[np.int32]
    centre: NDArray[np.float64]
    radius: float


@kernel
def _flat_groups(plane, edge_key, group):  # type: ignore[no-untyped-def]
    """Join faces that share an edge and a plane: ``group[f]`` becomes the least face joined."""
    for f in range(group.size):
        group[f] = f
    for k in range(1, edge_key.shape[0]):
        a, b = edge_key[k - 1], edge_key[k]
        if a[0] != b[0] or a[1] != b[1]:
            continue
        f, g = a[2], b[2]
        same = abs(plane[f, 3] - plane[g, 3]) < 1e-3
        for c in range(3):
            same = same and abs(plane[f, c] - plane[g, c]) < 1e-3
        if not same:
            continue
        while group[f] != f:
            f = group[f]
        while group[g] != g:
            g = group[g]
        if f < g:
            group[g] = f
        else:
            group[f] = g
    for f in range(group.size):
        g = f
        while group[g] != g:
            g = group[g]
        group[f] = g


@kernel
def _pieces(faces, root):  # type: ignore[no-untyped-def]
    """Join vertices that faces connect: ``root[v]`` becomes the least vertex joined."""
    for v in range(root.size):
        root[v] = v
    for f in range(faces.shape[0]):
        for k in range(1, 3):
            a, b = faces[f, 0], faces[f, k]
            while root[a] != a:
                a = root[a]
            while root[b] != b:
                b = root[b]
            root[max(a, b)] = min(a, b)
    for v in range(root.size):
        root[v] = root[root[v]]


@kernel
def _cover(flat, mask):  # type: ignore[no-untyped-def]
    """Mark texels (rows, columns) whose middle lies within SPREAD of a triangle (m, 3, 2)."""
    rows, columns = mask.shape
    for f in range(flat.shape[0]):
        t = flat[f]
        low_x = min(t[0, 0], min(t[1, 0], t[2, 0])) - SPREAD
        high_x = max(t[0, 0], max(t[1, 0], t[2, 0])) + SPREAD
        low_y = min(t[0, 1], min(t[1, 1], t[2, 1])) - SPREAD
        high_y = max(t[0, 1], max(t[1, 1], t[2, 1])) + SPREAD
        for y in range(max(int(low_y), 0), min(int(high_y) + 1, rows - 1) + 1):
            for x in range(max(int(low_x), 0), min(int(high_x) + 1, columns - 1) + 1):
                if mask[y, x]:
                    continue
                inside, positive, negative = False, 0, 0
                for k in range(3):
                    ax, ay = t[k, 0], t[k, 1]
                    ex, ey = t[(k + 1) % 3, 0] - ax, t[(k + 1) % 3, 1] - ay
                    dx, dy = x - ax, y - ay
                    cross = ex * dy - ey * dx
                    positive += cross >= 0
                    negative += cross <= 0
                    s = min(max((dx * ex + dy * ey) / max(ex * ex + ey * ey, 1e-12), 0.0), 1.0)
                    gx, gy = dx - s * ex, dy - s * ey
                    inside = inside or gx * gx + gy * gy <= SPREAD * SPREAD
                mask[y, x] = inside or positive == 3 or negative == 3


def place(points: NDArray[np.float32], pose: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return ``points`` (n, 3) moved by a pose (4, 4), float32."""
    moved = points.astype(np.float64) @ pose[:3, :3].T + pose[:3, 3]
    return np.ascontiguousarray(moved, dtype=np.float32)


def is_rigid(pose: NDArray[np.float64]) -> bool:
    """Return whether a pose (4, 4) only turns and moves."""
    turn = pose[:3, :3]
    return bool(abs(turn.T @ turn - np.eye(3)).max() < 1e-9)


def turned(normals: NDArray[np.float64], pose: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return unit normals (n, 3) of an instance's own frame in the scene, after a pose (4, 4)."""
    if is_rigid(pose):
        return np.asarray(normals @ pose[:3, :3].T)
    # Normals go by the inverse transpose: a flattened ball faces up more than a round one.
    stretched = normals @ np.linalg.inv(pose[:3, :3])
    return np.asarray(stretched / np.linalg.norm(stretched, axis=1, keepdims=True))


def smooth_normals(vertices: NDArray[np.float32], faces: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return area-weighted unit vertex normals (n, 3) of a mesh."""
    corner = vertices[faces].astype(np.float64)
    cross = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    return _normals(vertices, faces, cross)


def make_part(instance: Instance, mesh: Mesh) -> Part:
    """Return the arrays of one mesh of an instance.

    Raises:
        Unsupported: the mesh is malformed.
    """
    _check(instance, mesh)
    vertices = place(mesh.vertices, instance.pose)
    corner = vertices[mesh.faces].astype(np.float64)
    cross = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    area = np.linalg.norm(cross, axis=1)
    normal = cross / np.maximum(area, 1e-20)[:, None]
    chart = np.full(len(mesh.faces), -1, np.int32)
    if not (instance.moves or mesh.smooth):
        chart = _charts(instance, vertices, mesh.faces, corner, normal, area)
    frames, layouts, points, directions, patterns = [], [], [], [], []
    texels: list[NDArray[np.int64]] = []
    first = kept = 0
    for c in range(int(chart.max(initial=-1)) + 1):
        members = np.flatnonzero(chart == c)
        frame, grid, columns, rows, n = _chart(
            corner[members],
            normal[members],
            area[members],
            mesh.texel or (TEXEL if instance.flat else FINE),
        )
        if not instance.flat and not _worth_a_map(frame, columns, rows):
            chart[members] = -1
            continue
        chart[members] = kept
        kept += 1
        frames.append(frame)
        layouts.append((first, columns, rows))
        mask = np.zeros((rows, columns), np.bool_)
        _cover(corner[members] @ frame[:2, :3].T + frame[:2, 3], mask)
        used_texels = np.flatnonzero(mask)
        points.append(grid[used_texels])
        directions.append(np.tile(n, (len(used_texels), 1)))
        j, i = np.divmod(used_texels, columns)
        patterns.append(j % 2 * 2 + i % 2)
        texels.append(first + used_texels)
        first += rows * columns
    smooth = _normals(vertices, mesh.faces, cross)
    used = np.unique(mesh.faces[chart < 0]) if not instance.moves else np.zeros(0, np.int32)
    at_vertices = _receivers(vertices, mesh.faces, corner, smooth, mesh.smooth)[used]
    facing, lit_from = smooth[used], np.arange(len(used))
    if mesh.smooth:
        at_vertices, facing, lit_from = _scraps(mesh.faces, used, at_vertices, facing)
    local = smooth @ instance.pose[:3, :3]
    if not is_rigid(instance.pose):
        local /= np.linalg.norm(local, axis=1, keepdims=True)
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    centre = (low.astype(np.float64) + high) / 2
    return Part(
        local=np.ascontiguousarray(mesh.vertices, np.float32),
        vertices=vertices,
        normals=np.ascontiguousarray(local, np.float32),
        uv=np.ascontiguousarray(mesh.uv, np.float32),
        faces=np.ascontiguousarray(mesh.faces, np.int32),
        face_material=np.ascontiguousarray(mesh.face_material, np.int32),
        face_chart=chart,
        two_sided=mesh.two_sided,
        chart_frame=np.array(frames, np.float32).reshape(-1, 3, 4),
        chart_layout=np.array(layouts, np.int32).reshape(-1, 3),
        texels=first,
        points=np.concatenate([at_vertices, *points]).astype(np.float32),
        directions=np.concatenate([facing, *directions]).astype(np.float32),
        pattern=np.concatenate([np.zeros(len(at_vertices)), *patterns]).astype(np.int32),
        lit_vertices=used.astype(np.int32),
        lit_from=lit_from.astype(np.int32),
        lit_texels=np.concatenate([np.zeros(0, np.int64), *texels]).astype(np.int32),
        centre=centre,
        radius=float(np.linalg.norm(mesh.vertices - centre, axis=1).max()),
    )


def _scraps(
    faces: NDArray[np.int32],
    used: NDArray[np.int32],
    points: NDArray[np.float64],
    normals: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return receivers (k, 3), their normals, and the receiver of each used vertex.

    A leaf gets one receiver in its middle: its corners would see nearly the same.
    """
    root = np.empty(int(faces.max()) + 1, np.int64)
    _pieces(faces, root)
    root = root[used]
    small = np.bincount(root)[root] <= SCRAP
    key = np.where(small, root, used)
    _, which = np.unique(key, return_inverse=True)
    which = which.reshape(-1)
    count = np.maximum(np.bincount(which), 1)[:, None]
    middle = np.stack([np.bincount(which, points[:, c]) for c in range(3)], axis=1) / count
    facing = np.stack([np.bincount(which, normals[:, c]) for c in range(3)], axis=1)
    length = np.linalg.norm(facing, axis=1)
    facing[length < 1e-9] = (0, 1, 0)
    return middle, facing / np.maximum(np.linalg.norm(facing, axis=1), 1e-9)[:, None], which


def _check(instance: Instance, mesh: Mesh) -> None:
    n, m = len(mesh.vertices), len(mesh.faces)
    wrong = ""
    if n < 3 or m < 1 or mesh.vertices.shape != (n, 3) or not np.isfinite(mesh.vertices).all():
        wrong = "needs finite vertices (n, 3) and at least one face"
    elif mesh.uv.shape != (n, 2) or not np.isfinite(mesh.uv).all():
        wrong = f"needs finite uv of shape ({n}, 2)"
    elif mesh.faces.shape != (m, 3) or mesh.faces.min() < 0 or mesh.faces.max() >= n:
        wrong = f"needs faces (m, 3) with indices below {n}"
    elif mesh.face_material.shape != (m,) or not (
        0 <= mesh.face_material.min() and mesh.face_material.max() < len(mesh.materials)
    ):
        wrong = f"needs one material index below {len(mesh.materials)} a face"
    if wrong:
        raise Unsupported(f"the mesh of instance {instance.name!r} {wrong}")


def _charts(
    instance: Instance,
    vertices: NDArray[np.float32],
    faces: NDArray[np.int32],
    corner: NDArray[np.float64],
    normal: NDArray[np.float64],
    area: NDArray[np.float64],
) -> NDArray[np.int32]:
    """Return the chart of each face, -1 for none, numbered in order of their first faces."""
    _, same = np.unique(vertices, axis=0, return_inverse=True)
    at = same.reshape(-1)[faces]
    ends = np.sort(np.stack([at, np.roll(at, -1, axis=1)], axis=-1), axis=-1).reshape(-1, 2)
    keys = np.column_stack([ends, np.repeat(np.arange(len(faces)), 3)]).astype(np.int64)
    keys = keys[np.lexsort(keys.T[::-1])]
    plane = np.column_stack([normal, (normal * corner[:, 0]).sum(axis=1)])
    group = np.empty(len(faces), np.int64)
    _flat_groups(plane, keys, group)
    # ``area`` is twice the area of each face.
    covered = np.bincount(group, area / 2, len(faces))
    wanted = (covered[group] > (0.0 if instance.flat else CHART_AREA)) & (area > 1e-9)
    chart = np.full(len(faces), -1, np.int32)
    roots = np.unique(group[wanted])
    chart[wanted] = np.searchsorted(roots, group[wanted])
    return chart


def _worth_a_map(frame: NDArray[np.float64], columns: int, rows: int) -> bool:
    wide = columns / float(np.linalg.norm(frame[0, :3]))
    high = rows / float(np.linalg.norm(frame[1, :3]))
    return min(wide, high) >= CHART_SIDE


def _chart(
    corner: NDArray[np.float64],
    normal: NDArray[np.float64],
    area: NDArray[np.float64],
    texel: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], int, int, NDArray[np.float64]]:
    """Return a light map's frame (3, 4), texel centres, columns, rows and normal."""
    largest = int(np.argmax(area))
    n = normal[largest]
    flat = corner.reshape(-1, 3)
    # Along the side that leaves the smallest map, never a rectangle's diagonal: a map that stands
    # askew reaches beyond its faces. A window's jamb would gather the sun behind its own pane.
    u, least = np.zeros(3), np.inf
    for edge in np.roll(corner[largest], -1, axis=0) - corner[largest]:
        axis = edge - n * np.dot(edge, n)
        axis /= np.linalg.norm(axis)
        covered = float(np.ptp(flat @ axis) * np.ptp(flat @ np.cross(n, axis)))
        # Both sides of a rectangle cover the same: rounding must not choose between them.
        if covered < 0.999 * least:
            u, least = axis, covered
    v = np.cross(n, u)
    along, across = flat @ u, flat @ v
    sides, frame = [], np.zeros((3, 4))
    for k, (axis, values) in enumerate(((u, along), (v, across))):
        low, extent = values.min(), max(values.max() - values.min(), 1e-6)
        count = int(np.clip(np.ceil(extent / texel), 2, LONGEST))
        frame[k, :3] = axis * count / extent
        frame[k, 3] = -low * count / extent - 0.5
        sides.append((low + (np.arange(count) + 0.5) * extent / count, count))
    (us, columns), (vs, rows) = sides
    level = float(np.dot(flat[0], n)) + LIFT
    grid = us[None, :, None] * u + vs[:, None, None] * v + level * n
    return frame, grid.reshape(-1, 3), columns, rows, n


def _normals(
    vertices: NDArray[np.float32], faces: NDArray[np.int32], cross: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return area-weighted unit vertex normals (n, 3); up where no face gives one."""
    total = np.zeros((len(vertices), 3))
    for k in range(3):
        for c in range(3):
            total[:, c] += np.bincount(faces[:, k], cross[:, c], len(vertices))
    length = np.linalg.norm(total, axis=1)
    total[length < 1e-12] = (0, 1, 0)
    return np.asarray(total / np.maximum(np.linalg.norm(total, axis=1), 1e-12)[:, None])


def _receivers(
    vertices: NDArray[np.float32],
    faces: NDArray[np.int32],
    corner: NDArray[np.float64],
    normals: NDArray[np.float64],
    round_: bool,
) -> NDArray[np.float64]:
    """Return where each vertex gathers light: lifted, and drawn in towards its own faces.

    A vertex on the floor or in a corner would otherwise lie on the surface of its neighbour. A
    ``round_`` thing of large faces is not drawn in through its own surface.
    """
    middle = corner.mean(axis=1)
    inward = np.zeros((len(vertices), 3))
    count = np.zeros(len(vertices))
    for k in range(3):
        count += np.bincount(faces[:, k], minlength=len(vertices))
        for c in range(3):
            inward[:, c] += np.bincount(faces[:, k], middle[:, c], len(vertices))
    inward = inward / np.maximum(count, 1)[:, None] - vertices
    inward[count == 0] = 0
    if round_:
        deep = np.minimum((inward * normals).sum(axis=1), 0)
        inward -= deep[:, None] * normals
    length = np.linalg.norm(inward, axis=1)[:, None]
    inward *= np.minimum(0.25, 0.01 / np.maximum(length, 1e-9))
    return np.asarray(vertices + inward + normals * LIFT)

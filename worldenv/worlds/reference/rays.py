"""Bounding volume hierarchies and rays: who is hit first, and is anything in the way."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.compile import inner_kernel, kernel

__all__ = ["STACK", "Tree", "blocked", "grow", "join", "nearest"]

STACK = 96
"""Entries that a traversal stack needs."""
_PAD = np.float32(2e-4)
_BINS = 12
_LEAF = 4


class Tree(NamedTuple):
    """Triangles under a hierarchy of boxes; n nodes, m triangles.

    What is hit never depends on the shape of the tree: boxes are padded beyond rounding, and of
    triangles at equal distance the one of the least ``key`` wins.

    Attributes:
        bounds: Shape (n, 6) float32, low then high corner.
        link: Shape (n, 2) int32: (left, right) children, or (first triangle, -count) of a leaf.
        triangles: Shape (m, 9) float32: a corner and two edges.
        colour: Shape (m, 3) float32, linear albedo.
        two_sided: Shape (m,) uint8.
        key: Shape (m,) int64, instance id * 2^32 + face.
    """

    bounds: NDArray[np.float32]
    link: NDArray[np.int32]
    triangles: NDArray[np.float32]
    colour: NDArray[np.float32]
    two_sided: NDArray[np.uint8]
    key: NDArray[np.int64]


@kernel
def _split(boxes, order, leaf, bounds, link):  # type: ignore[no-untyped-def]
    """Build nodes over boxes (m, 6) by binned surface area; return how many there are."""
    todo = np.empty((256, 3), np.int64)
    todo[0, 0], todo[0, 1], todo[0, 2] = 0, 0, order.size
    waiting, nodes = 1, 1
    area = np.empty(_BINS)
    amount = np.empty(_BINS, np.int64)
    low, high = np.empty((_BINS, 3), np.float32), np.empty((_BINS, 3), np.float32)
    box = np.empty(6, np.float32)
    while waiting:
        waiting -= 1
        node, first, end = todo[waiting, 0], todo[waiting, 1], todo[waiting, 2]
        middle_low, middle_high = np.full(3, 1e30), np.full(3, -1e30)
        for c in range(3):
            bounds[node, c], bounds[node, 3 + c] = 1e30, -1e30
        for k in range(first, end):
            o = order[k]
            for c in range(3):
                bounds[node, c] = min(bounds[node, c], boxes[o, c])
                bounds[node, 3 + c] = max(bounds[node, 3 + c], boxes[o, 3 + c])
                m = 0.5 * (boxes[o, c] + boxes[o, 3 + c])
                middle_low[c] = min(middle_low[c], m)
                middle_high[c] = max(middle_high[c], m)
        axis = int(np.argmax(middle_high - middle_low))
        extent = middle_high[axis] - middle_low[axis]
        if end - first <= leaf or (extent <= 1e-9 and end - first <= 16):
            link[node, 0], link[node, 1] = first, first - end
            continue
        cut = (first + end) // 2
        if extent > 1e-9:
            scale = _BINS * 0.999999 / extent
            amount[:] = 0
            low[:], high[:] = 1e30, -1e30
            for k in range(first, end):
                o = order[k]
                b = int((0.5 * (boxes[o, axis] + boxes[o, 3 + axis]) - middle_low[axis]) * scale)
                amount[b] += 1
                for c in range(3):
                    low[b, c] = min(low[b, c], boxes[o, c])
                    high[b, c] = max(high[b, c], boxes[o, 3 + c])
            count = 0
            box[:3], box[3:] = 1e30, -1e30
            for b in range(_BINS - 1):
                count += amount[b]
                for c in range(3):
                    box[c], box[3 + c] = min(box[c], low[b, c]), max(box[3 + c], high[b, c])
                x, y, z = box[3] - box[0], box[4] - box[1], box[5] - box[2]
                area[b] = count * (x * y + y * z + z * x) if count else 1e30
            count, best, cheapest = 0, -1, 1e30
            box[:3], box[3:] = 1e30, -1e30
            for b in range(_BINS - 1, 0, -1):
                count += amount[b]
                for c in range(3):
                    box[c], box[3 + c] = min(box[c], low[b, c]), max(box[3 + c], high[b, c])
                x, y, z = box[3] - box[0], box[4] - box[1], box[5] - box[2]
                if count == 0 or count == end - first:
                    continue
                cost = area[b - 1] + count * (x * y + y * z + z * x)
                if cost < cheapest:
                    cheapest, best = cost, b
            if best > 0:
                left, right = first, end - 1
                while left <= right:
                    o = order[left]
                    m = 0.5 * (boxes[o, axis] + boxes[o, 3 + axis])
                    if int((m - middle_low[axis]) * scale) < best:
                        left += 1
                    else:
                        order[left], order[right] = order[right], order[left]
                        right -= 1
                cut = left
        link[node, 0], link[node, 1] = nodes, nodes + 1
        todo[waiting, 0], todo[waiting, 1], todo[waiting, 2] = nodes, first, cut
        todo[waiting + 1, 0], todo[waiting + 1, 1], todo[waiting + 1, 2] = nodes + 1, cut, end
        waiting += 2
        nodes += 2
    return nodes


def _nodes(
    boxes: NDArray[np.float32], leaf: int
) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.int64]]:
    order = np.arange(len(boxes), dtype=np.int64)
    bounds = np.empty((2 * len(boxes), 6), np.float32)
    link = np.empty((2 * len(boxes), 2), np.int32)
    n = _split(boxes, order, leaf, bounds, link)
    return bounds[:n].copy(), link[:n].copy(), order


def grow(
    corners: NDArray[np.float32],
    colour: NDArray[np.float32],
    two_sided: bool,
    instance: int,
) -> Tree:
    """Return the tree of one instance's triangles, shape (m, 3, 3), m >= 1."""
    boxes = np.concatenate([corners.min(axis=1) - _PAD, corners.max(axis=1) + _PAD], axis=1)
    bounds, link, order = _nodes(boxes.astype(np.float32), _LEAF)
    a, b, c = corners[order, 0], corners[order, 1], corners[order, 2]
    return Tree(
        bounds,
        link,
        np.ascontiguousarray(np.concatenate([a, b - a, c - a], axis=1), np.float32),
        np.ascontiguousarray(colour[order], np.float32),
        np.full(len(order), two_sided, np.uint8),
        (instance << 32) + order,
    )


def join(trees: list[Tree]) -> Tree:
    """Return one tree over the trees of several instances."""
    if not trees:
        nothing = np.zeros((1, 6), np.float32)
        nothing[0, :3], nothing[0, 3:] = 1e30, -1e30
        return Tree(
            nothing,
            np.zeros((1, 2), np.int32),
            np.zeros((1, 9), np.float32),
            np.zeros((1, 3), np.float32),
            np.zeros(1, np.uint8),
            np.zeros(1, np.int64),
        )
    roots = np.array([t.bounds[0] for t in trees])
    top_bounds, top_link, order = _nodes(roots, 1)
    # Leaves of many equal boxes may hold several trees; one tree a leaf is needed below.
    bounds, link = [top_bounds], [top_link.copy()]
    node_at, triangle_at = len(top_bounds), 0
    shifted = []
    for t in trees:
        moved = t.link.copy()
        inner = t.link[:, 1] > 0
        moved[inner] += node_at
        moved[~inner, 0] += triangle_at
        shifted.append((moved[0], t.bounds[0]))
        bounds.append(t.bounds)
        link.append(moved)
        node_at += len(t.bounds)
        triangle_at += len(t.triangles)
    extra_bounds: list[NDArray[np.float32]] = []
    extra_link: list[NDArray[np.int32]] = []
    for node in np.flatnonzero(top_link[:, 1] <= 0):
        first, count = int(top_link[node, 0]), -int(top_link[node, 1])
        members = [int(order[first + k]) for k in range(count)]
        at = int(node)
        while len(members) > 1:
            one = members.pop()
            left = node_at + len(extra_bounds)
            extra_bounds += [shifted[one][1], top_bounds[node]]
            extra_link += [shifted[one][0], np.zeros(2, np.int32)]
            if at < len(top_bounds):
                link[0][at] = (left, left + 1)
            else:
                extra_link[at - node_at] = np.array((left, left + 1), np.int32)
            at = left + 1
        if at < len(top_bounds):
            link[0][at], bounds[0][at] = shifted[members[0]][0], shifted[members[0]][1]
        else:
            extra_link[at - node_at] = shifted[members[0]][0]
            extra_bounds[at - node_at] = shifted[members[0]][1]
    if extra_bounds:
        bounds.append(np.array(extra_bounds, np.float32))
        link.append(np.array(extra_link, np.int32))
    return Tree(
        np.concatenate(bounds),
        np.concatenate(link),
        np.concatenate([t.triangles for t in trees]),
        np.concatenate([t.colour for t in trees]),
        np.concatenate([t.two_sided for t in trees]),
        np.concatenate([t.key for t in trees]),
    )


@inner_kernel
def _entry(bounds, node, ox, oy, oz, ix, iy, iz, limit):  # type: ignore[no-untyped-def]
    """Return where a ray enters a node's box, 1e30 when it misses it before ``limit``."""
    x0, x1 = (bounds[node, 0] - ox) * ix, (bounds[node, 3] - ox) * ix
    y0, y1 = (bounds[node, 1] - oy) * iy, (bounds[node, 4] - oy) * iy
    z0, z1 = (bounds[node, 2] - oz) * iz, (bounds[node, 5] - oz) * iz
    near = max(max(min(x0, x1), min(y0, y1)), max(min(z0, z1), np.float32(0.0)))
    far = min(min(max(x0, x1), max(y0, y1)), min(max(z0, z1), limit))
    return near if near <= far else np.float32(1e30)


@inner_kernel
def _reach(triangles, k, ox, oy, oz, dx, dy, dz):  # type: ignore[no-untyped-def]
    """Return the distance to a triangle along a ray, 1e30 when it is missed (Moller-Trumbore)."""
    e1x, e1y, e1z = triangles[k, 3], triangles[k, 4], triangles[k, 5]
    e2x, e2y, e2z = triangles[k, 6], triangles[k, 7], triangles[k, 8]
    px, py, pz = dy * e2z - dz * e2y, dz * e2x - dx * e2z, dx * e2y - dy * e2x
    det = e1x * px + e1y * py + e1z * pz
    if det == np.float32(0.0):
        return np.float32(1e30)
    inv = np.float32(1.0) / det
    tx, ty, tz = ox - triangles[k, 0], oy - triangles[k, 1], oz - triangles[k, 2]
    u = (tx * px + ty * py + tz * pz) * inv
    if u < np.float32(-1e-5) or u > np.float32(1.00001):
        return np.float32(1e30)
    qx, qy, qz = ty * e1z - tz * e1y, tz * e1x - tx * e1z, tx * e1y - ty * e1x
    v = (dx * qx + dy * qy + dz * qz) * inv
    if v < np.float32(-1e-5) or u + v > np.float32(1.00001):
        return np.float32(1e30)
    t = (e2x * qx + e2y * qy + e2z * qz) * inv
    return t if t > np.float32(5e-4) else np.float32(1e30)


@inner_kernel
def _safe(d):  # type: ignore[no-untyped-def]
    small = np.float32(1e-9)
    if abs(d) < small:
        d = -small if d < np.float32(0.0) else small
    return np.float32(1.0) / d


@inner_kernel
def nearest(tree, ox, oy, oz, dx, dy, dz, limit, stack):  # type: ignore[no-untyped-def]
    """Return (distance, triangle) of the first hit before ``limit``; triangle -1 for none.

    The ray starts at (ox, oy, oz) along the unit vector (dx, dy, dz), all float32; ``stack`` is
    working memory of shape (STACK,) int32.
    """
    bounds, link, triangles, key = tree.bounds, tree.link, tree.triangles, tree.key
    ix, iy, iz = _safe(dx), _safe(dy), _safe(dz)
    best, hit = limit, -1
    if _entry(bounds, 0, ox, oy, oz, ix, iy, iz, best) > limit:
        return best, hit
    node, waiting = 0, 0
    while True:
        a, b = link[node, 0], link[node, 1]
        if b <= 0:
            for k in range(a, a - b):
                t = _reach(triangles, k, ox, oy, oz, dx, dy, dz)
                if t < best or (t == best and hit >= 0 and key[k] < key[hit]):
                    best, hit = t, k
        else:
            ta = _entry(bounds, a, ox, oy, oz, ix, iy, iz, best)
            tb = _entry(bounds, b, ox, oy, oz, ix, iy, iz, best)
            if tb < ta:
                a, b = b, a
                ta, tb = tb, ta
            if ta <= best:
                if tb <= best:
                    stack[waiting] = b
                    waiting += 1
                node = a
                continue
        # Boxes put aside may lie beyond what has been hit since: their children then fail.
        if waiting == 0:
            return best, hit
        waiting -= 1
        node = stack[waiting]


@inner_kernel
def blocked(tree, ox, oy, oz, dx, dy, dz, limit, stack):  # type: ignore[no-untyped-def]
    """Return whether anything is hit before ``limit``; arguments as for ``nearest``."""
    bounds, link, triangles = tree.bounds, tree.link, tree.triangles
    ix, iy, iz = _safe(dx), _safe(dy), _safe(dz)
    if _entry(bounds, 0, ox, oy, oz, ix, iy, iz, limit) > limit:
        return False
    node, waiting = 0, 0
    while True:
        a, b = link[node, 0], link[node, 1]
        if b <= 0:
            for k in range(a, a - b):
                if _reach(triangles, k, ox, oy, oz, dx, dy, dz) < limit:
                    return True
        else:
            first = _entry(bounds, a, ox, oy, oz, ix, iy, iz, limit) <= limit
            second = _entry(bounds, b, ox, oy, oz, ix, iy, iz, limit) <= limit
            if first:
                if second:
                    stack[waiting] = b
                    waiting += 1
                node = a
                continue
            if second:
                node = b
                continue
        if waiting == 0:
            return False
        waiting -= 1
        node = stack[waiting]

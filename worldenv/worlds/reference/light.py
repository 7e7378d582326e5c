"""Built light: what every light-map texel and vertex receives, and what a change alters.

Each receiver's light is a function of its own place and of what its sample segments meet, and of
nothing else. Light is summed in whole numbers, so a sum can be mended: after a change, what the
segments through the old or the new bounds brought is taken off and what they bring now is added,
and the result equals a full build bit for bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.compile import inner_kernel, kernel, share
from worldenv.worlds.reference.parts import LIFT
from worldenv.worlds.reference.rays import STACK, Tree, blocked, nearest
from worldenv.worlds.reference.scene import Lamp

__all__ = [
    "LIGHT_VERSION",
    "UNIT",
    "Lamps",
    "Receivers",
    "affected",
    "gather",
    "make_lamps",
]

LIGHT_VERSION = 1
"""Raised whenever a constant or formula of the built light changes."""
PATTERNS = 4
"""Sample sets that neighbouring texels take in turn; a light map's 3 x 3 filter joins them."""
LAMP_SAMPLES = 48
"""Direct samples over all lamps, at least 4 a lamp."""
RAYS = 48
"""Indirect rays of a receiver."""
REACH = 1.5
"""How far indirect rays look, in metres; beyond it the ambient light is taken."""
BOUNCE = 0.75
"""Share of the unshadowed lamp light that a hit surface throws back."""
SHADE = 0.5
"""Distance in metres at which half of that is thrown back; closer surfaces shade each other."""
UNIT = 2.0**-18
"""Light of one count."""
_COUNTS, _MOST = np.float32(1.0 / UNIT), np.float32(100.0 / UNIT)
_BLOCK = 32
DIRECT, INDIRECT = 1, 2


class Lamps(NamedTuple):
    """Sample points on the lamps; p patterns, s samples, l lamps.

    Attributes:
        points: Shape (p, s, 3) float32.
        lamp: Shape (s,) int32.
        facing: Shape (l, 3) float32, unit directions of the light.
        power: Shape (l, 3) float32, radiance * area / (pi * samples of the lamp).
        samples: Shape (l,) int32, samples of each lamp.
        middle: Shape (l, 3) float32.
        area: Shape (l,) float32, square metres.
        rays: Shape (p, RAYS, 3) float32, unit directions, cosine-weighted about +z.
        ambient: Shape (3,) float32.
        low: Shape (l, 3) float32, least corner around the sample points of each lamp.
        high: Shape (l, 3) float32.
    """

    points: NDArray[np.float32]
    lamp: NDArray[np.int32]
    facing: NDArray[np.float32]
    power: NDArray[np.float32]
    samples: NDArray[np.int32]
    middle: NDArray[np.float32]
    area: NDArray[np.float32]
    rays: NDArray[np.float32]
    ambient: NDArray[np.float32]
    low: NDArray[np.float32]
    high: NDArray[np.float32]


def _sequence(n: int, start: int) -> NDArray[np.float64]:
    """Return n points of the R2 low-discrepancy sequence, shape (n, 2) in [0, 1)."""
    g = 1.32471795724474602596
    k = np.arange(start, start + n, dtype=np.float64)[:, None]
    return np.asarray((0.5 + k * np.array([1 / g, 1 / g**2])) % 1.0)


def make_lamps(lamps: tuple[Lamp, ...], ambient: tuple[float, float, float]) -> Lamps:
    """Return the fixed samples of a scene's lamps and of the hemisphere."""
    each = max(4, LAMP_SAMPLES // max(len(lamps), 1))
    # One sequence cut in four: each set is even by itself, and so is their union.
    unit = np.stack([_sequence(each * PATTERNS, 1)[p::PATTERNS] for p in range(PATTERNS)])
    points = np.zeros((PATTERNS, each * len(lamps), 3))
    facing, power, middle, area = [], [], [], []
    for k, lamp in enumerate(lamps):
        o, u, v = (np.array(a, dtype=np.float64) for a in lamp[:3])
        points[:, k * each : (k + 1) * each] = o + unit[..., :1] * u + unit[..., 1:] * v
        normal = np.cross(u, v)
        size = float(np.linalg.norm(normal))
        facing.append(normal / max(size, 1e-12))
        power.append(np.array(lamp.radiance) * size / (np.pi * each))
        middle.append(o + u / 2 + v / 2)
        area.append(size)
    flat = _sequence(RAYS * PATTERNS, 1)
    rays = np.zeros((PATTERNS, RAYS, 3))
    for p in range(PATTERNS):
        square = flat[p::PATTERNS]
        r, angle = np.sqrt(square[:, 0]), 2 * np.pi * square[:, 1]
        rays[p] = np.stack([r * np.cos(angle), r * np.sin(angle), np.sqrt(1 - r * r)], axis=1)
    by_lamp = points.reshape(PATTERNS, len(lamps), each, 3)
    return Lamps(
        points.astype(np.float32),
        np.repeat(np.arange(len(lamps)), each).astype(np.int32),
        np.array(facing, np.float32).reshape(-1, 3),
        np.array(power, np.float32).reshape(-1, 3),
        np.full(len(lamps), each, np.int32),
        np.array(middle, np.float32).reshape(-1, 3),
        np.array(area, np.float32),
        rays.astype(np.float32),
        np.array(ambient, np.float32),
        by_lamp.min(axis=(0, 2)).astype(np.float32),
        by_lamp.max(axis=(0, 2)).astype(np.float32),
    )


@inner_kernel
def _frame(nx, ny, nz):  # type: ignore[no-untyped-def]
    """Return two unit vectors across a normal (Duff et al. 2017)."""
    one = np.float32(1.0)
    s = one if nz >= np.float32(0.0) else -one
    a = -one / (s + nz)
    b = nx * ny * a
    return one + s * nx * nx * a, s * b, -s * nx, b, s + ny * ny * a, -ny


@inner_kernel
def _meets(px, py, pz, dx, dy, dz, boxes, b):  # type: ignore[no-untyped-def]
    """Return whether the segment p + [0, 1] d meets box ``b`` of (n, 6)."""
    near, far = np.float32(0.0), np.float32(1.0)
    for c in range(3):
        o = px if c == 0 else (py if c == 1 else pz)
        d = dx if c == 0 else (dy if c == 1 else dz)
        if abs(d) < np.float32(1e-7):
            if o < boxes[b, c] or o > boxes[b, 3 + c]:
                return False
            continue
        inv = np.float32(1.0) / d
        u, v = (boxes[b, c] - o) * inv, (boxes[b, 3 + c] - o) * inv
        near = max(near, min(u, v))
        far = min(far, max(u, v))
    return near <= far


@inner_kernel
def _meets_any(px, py, pz, dx, dy, dz, boxes):  # type: ignore[no-untyped-def]
    """Return whether the segment p + [0, 1] d meets any of the boxes (b, 6)."""
    for b in range(boxes.shape[0]):
        if _meets(px, py, pz, dx, dy, dz, boxes, b):
            return True
    return False


@inner_kernel
def _count(light):  # type: ignore[no-untyped-def]
    """Return light in counts."""
    return np.int32(min(light * _COUNTS, _MOST) + np.float32(0.5))


@inner_kernel
def _from_lamps(tree, lamps, pattern, px, py, pz, nx, ny, nz, stack, boxes, sign, out):  # type: ignore[no-untyped-def]
    """Add the direct light at a point to ``out`` (3,)."""
    points, owner, facing, power = lamps.points, lamps.lamp, lamps.facing, lamps.power
    for s in range(points.shape[1]):
        k = owner[s]
        dx = points[pattern, s, 0] - px
        dy = points[pattern, s, 1] - py
        dz = points[pattern, s, 2] - pz
        here = dx * nx + dy * ny + dz * nz
        there = -(dx * facing[k, 0] + dy * facing[k, 1] + dz * facing[k, 2])
        if here <= np.float32(0.0) or there <= np.float32(0.0):
            continue
        if boxes.shape[0] > 0 and not _meets_any(px, py, pz, dx, dy, dz, boxes):
            continue
        square = dx * dx + dy * dy + dz * dz
        length = np.sqrt(square)
        inv = np.float32(1.0) / length
        # The last centimetres are left out: the lamp's own panel is not in its way.
        limit = length - np.float32(0.03)
        if limit > np.float32(0.0) and blocked(
            tree, px, py, pz, dx * inv, dy * inv, dz * inv, limit, stack
        ):
            continue
        floor = lamps.area[k] * np.float32(0.25)
        w = here * there / (square * max(square, floor))
        for c in range(3):
            out[c] += sign * _count(w * power[k, c])


@inner_kernel
def _thrown_back(tree, lamps, hit, t_hit, px, py, pz, dx, dy, dz, out):  # type: ignore[no-untyped-def]
    """Write the light that a hit surface throws back, without shadows, to ``out`` (3,).

    Returns False for the inside of a closed thing, which is dark.
    """
    triangles = tree.triangles
    ux, uy, uz = triangles[hit, 3], triangles[hit, 4], triangles[hit, 5]
    vx, vy, vz = triangles[hit, 6], triangles[hit, 7], triangles[hit, 8]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    inv = np.float32(1.0) / np.sqrt(nx * nx + ny * ny + nz * nz + np.float32(1e-30))
    nx, ny, nz = nx * inv, ny * inv, nz * inv
    out[0] = out[1] = out[2] = np.float32(0.0)
    if nx * dx + ny * dy + nz * dz > np.float32(0.0):
        if not tree.two_sided[hit]:
            return False
        nx, ny, nz = -nx, -ny, -nz
    # Surfaces close by stand in each other's shade; a shadow ray from here would make the light
    # depend on things far away.
    open_ = np.float32(BOUNCE) * t_hit / (t_hit + np.float32(SHADE))
    middle, facing, power, area = lamps.middle, lamps.facing, lamps.power, lamps.area
    for k in range(middle.shape[0]):
        lx, ly, lz = middle[k, 0] - px, middle[k, 1] - py, middle[k, 2] - pz
        here = lx * nx + ly * ny + lz * nz
        there = -(lx * facing[k, 0] + ly * facing[k, 1] + lz * facing[k, 2])
        if here <= np.float32(0.0) or there <= np.float32(0.0):
            continue
        square = lx * lx + ly * ly + lz * lz
        w = here * there / (square * max(square, area[k]))
        w *= np.float32(lamps.samples[k]) * open_
        for c in range(3):
            out[c] += w * power[k, c]
    for c in range(3):
        out[c] = tree.colour[hit, c] * (out[c] + np.float32(0.4) * lamps.ambient[c])
    return True


@inner_kernel
def _from_around(tree, lamps, pattern, px, py, pz, nx, ny, nz, stack, bounced, boxes, sign, out):  # type: ignore[no-untyped-def]
    """Add the indirect light at a point to ``out`` (3,)."""
    tx, ty, tz, bx, by, bz = _frame(nx, ny, nz)
    rays, ambient = lamps.rays, lamps.ambient
    reach, one = np.float32(REACH), np.float32(1.0)
    portion = one / np.float32(rays.shape[1])
    for s in range(rays.shape[1]):
        x, y, z = rays[pattern, s, 0], rays[pattern, s, 1], rays[pattern, s, 2]
        dx, dy, dz = x * tx + y * bx + z * nx, x * ty + y * by + z * ny, x * tz + y * bz + z * nz
        if boxes.shape[0] > 0 and not _meets_any(
            px, py, pz, dx * reach, dy * reach, dz * reach, boxes
        ):
            continue
        t, hit = nearest(tree, px, py, pz, dx, dy, dz, reach, stack)
        if hit < 0:
            for c in range(3):
                out[c] += sign * _count(portion * ambient[c])
            continue
        if not _thrown_back(
            tree, lamps, hit, t, px + t * dx, py + t * dy, pz + t * dz, dx, dy, dz, bounced
        ):
            continue
        w = one - t / reach
        w = w * w * (np.float32(3.0) - np.float32(2.0) * w)
        for c in range(3):
            out[c] += sign * _count(portion * (w * bounced[c] + (one - w) * ambient[c]))


@kernel
def _gather(start, step, tree, lamps, where, boxes, sign, direct, around):  # type: ignore[no-untyped-def]
    """Add the light of every step-th block of receivers."""
    stack = np.empty(STACK, np.int32)
    bounced = np.empty(3, np.float32)
    points, normals = where.points, where.normals
    lift = np.float32(2.0 * LIFT)
    for block in range(start, (len(points) + _BLOCK - 1) // _BLOCK, step):
        first = block * _BLOCK
        for i in range(first, min(first + _BLOCK, len(points))):
            x, y, z = points[i, 0], points[i, 1], points[i, 2]
            u, v, w = normals[i, 0], normals[i, 1], normals[i, 2]
            p = where.pattern[i]
            # Leaves and cloth let light through: they gather on both sides.
            for _side in range(2 if where.both[i] else 1):
                if where.wanted[i] & DIRECT:
                    _from_lamps(tree, lamps, p, x, y, z, u, v, w, stack, boxes, sign, direct[i])
                if where.wanted[i] & INDIRECT:
                    _from_around(
                        tree, lamps, p, x, y, z, u, v, w, stack, bounced, boxes, sign, around[i]
                    )
                x, y, z = x - lift * u, y - lift * v, z - lift * w
                u, v, w = -u, -v, -w


@inner_kernel
def _touched(lamps, points, normals, pattern, both, boxes, i):  # type: ignore[no-untyped-def]
    """Return the flags of one receiver."""
    reach, zero = np.float32(REACH), np.float32(0.0)
    px, py, pz = points[i, 0], points[i, 1], points[i, 2]
    nx, ny, nz = normals[i, 0], normals[i, 1], normals[i, 2]
    samples, rays, set_ = lamps.points, lamps.rays, pattern[i]
    flags = 0
    for b in range(boxes.shape[0]):
        first = 0
        for k in range(lamps.samples.shape[0]):
            end = first + lamps.samples[k]
            apart = flags & DIRECT != 0
            for c in range(3):
                low = min(points[i, c], lamps.low[k, c])
                high = max(points[i, c], lamps.high[k, c])
                apart = apart or high < boxes[b, c] or low > boxes[b, 3 + c]
            if not apart:
                for s in range(first, end):
                    dx, dy, dz = (
                        samples[set_, s, 0] - px,
                        samples[set_, s, 1] - py,
                        samples[set_, s, 2] - pz,
                    )
                    if dx * nx + dy * ny + dz * nz <= zero and not both[i]:
                        continue
                    if _meets(px, py, pz, dx, dy, dz, boxes, b):
                        flags |= DIRECT
                        break
            first = end
        square = zero
        for c in range(3):
            gap = max(max(boxes[b, c] - points[i, c], points[i, c] - boxes[b, 3 + c]), zero)
            square += gap * gap
        if square > reach * reach or flags & INDIRECT:
            continue
        tx, ty, tz, bx, by, bz = _frame(nx, ny, nz)
        ux, uy, uz, vx, vy, vz = _frame(-nx, -ny, -nz)
        for s in range(rays.shape[1]):
            x, y, z = rays[set_, s, 0] * reach, rays[set_, s, 1] * reach, rays[set_, s, 2] * reach
            dx, dy, dz = (
                x * tx + y * bx + z * nx,
                x * ty + y * by + z * ny,
                x * tz + y * bz + z * nz,
            )
            ex, ey, ez = (
                x * ux + y * vx - z * nx,
                x * uy + y * vy - z * ny,
                x * uz + y * vz - z * nz,
            )
            if _meets(px, py, pz, dx, dy, dz, boxes, b) or (
                both[i] and _meets(px, py, pz, ex, ey, ez, boxes, b)
            ):
                flags |= INDIRECT
                break
    return flags


@kernel
def _affected(start, step, lamps, points, normals, pattern, both, boxes, out):  # type: ignore[no-untyped-def]
    for i in range(start, points.shape[0], step):
        out[i] = _touched(lamps, points, normals, pattern, both, boxes, i)


def affected(
    lamps: Lamps,
    points: NDArray[np.float32],
    normals: NDArray[np.float32],
    pattern: NDArray[np.int32],
    both: NDArray[np.uint8],
    boxes: NDArray[np.float32],
    threads: int,
) -> NDArray[np.uint8]:
    """Return which light of each receiver has a sample segment through any of the boxes.

    Args:
        lamps: The samples.
        points: Shape (k, 3).
        normals: Shape (k, 3).
        pattern: Shape (k,).
        both: Shape (k,), 1 where light comes through from behind.
        boxes: Shape (b, 6), low then high corner, padded by more than a receiver's lift.
        threads: How many.

    Returns:
        Shape (k,): sums of DIRECT and INDIRECT.
    """
    out = np.zeros(len(points), np.uint8)

    def work(first: int, step: int) -> None:
        _affected(first, step, lamps, points, normals, pattern, both, boxes, out)

    share(threads, work)
    return out


class Receivers(NamedTuple):
    """Where light is wanted.

    Attributes:
        points: Shape (k, 3) float32, metres.
        normals: Shape (k, 3) float32, unit.
        pattern: Shape (k,) int32, which sample set.
        both: Shape (k,) uint8, 1 where light comes through from behind.
        wanted: Shape (k,) uint8, sums of DIRECT and INDIRECT.
    """

    points: NDArray[np.float32]
    normals: NDArray[np.float32]
    pattern: NDArray[np.int32]
    both: NDArray[np.uint8]
    wanted: NDArray[np.uint8]


def gather(
    tree: Tree,
    lamps: Lamps,
    where: Receivers,
    direct: NDArray[np.int32],
    around: NDArray[np.int32],
    threads: int,
    boxes: NDArray[np.float32] | None = None,
    sign: int = 1,
) -> None:
    """Add direct and indirect light (k, 3), in counts of ``UNIT``, of the receivers.

    Args:
        tree: What stands in the way.
        lamps: The samples.
        where: The receivers.
        direct: Shape (k, 3), changed in place.
        around: Shape (k, 3), changed in place.
        threads: How many.
        boxes: Shape (b, 6); given these, only what segments through them bring is added.
        sign: 1, or -1 to take the light off.
    """
    some = np.zeros((0, 6), np.float32) if boxes is None else boxes

    def work(first: int, step: int) -> None:
        _gather(first, step, tree, lamps, where, some, np.int32(sign), direct, around)

    share(threads, work)

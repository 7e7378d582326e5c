"""The kernels that draw: transform, cull, clip, scan-convert, shade, tone-map, encode."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.compile import inner_kernel, kernel, share

__all__ = [
    "BAND",
    "NEAR",
    "Camera",
    "Geometry",
    "Picture",
    "Scratch",
    "draw",
]

NEAR = 0.03
"""Distance of the near plane, in metres."""
BAND = 16
"""Output rows of a band; threads take bands in turn."""
_TINY = 1e-12
_SHIFT, _SHIFT2 = np.uint64(21), np.uint64(42)
_LANE = np.uint64((1 << 21) - 1)
_FINE = np.float32(1.0 / 512.0)
_COARSEST = np.float32(14.0)
"""Highest level of mipmap that is told apart: past the last of any texture (``texels.LEVELS``)."""
_EDGE_ON = np.float32(12.0)
"""1 / cosine of a view past which textures get no coarser: seen so steeply they would only blur."""
_BLENDED = np.float32(0.02)
"""Share of the next mipmap above which it is looked up; below, a code changes by 5 at most."""
_SHADOW = np.float32(36.0)
"""Square of how many radii of a sphere its contact shadow reaches."""
_DARKEST = np.float32(0.95)
"""Share of the light that a sphere takes from a surface that it touches."""


class Geometry(NamedTuple):
    """Everything that can be seen, as arrays; n vertices, m faces, c light maps, t texels.

    Attributes:
        vertices: Shape (n, 3) float32, metres, scene axes.
        uv: Shape (n, 2) float32.
        light: Shape (n, 3) float32, linear light at the vertices.
        faces: Shape (m, 3) int32.
        texture: Shape (m,) int32.
        tint: Shape (m, 3) float32, the light's factor, or the emission where ``glows``.
        glows: Shape (m,) uint8.
        density: Shape (m,) float32, texels of mipmap 0 a metre.
        chart: Shape (m,) int32, -1 where the light is at the vertices.
        chart_frame: Shape (c, 3, 4) float32, see ``parts.Part``.
        chart_layout: Shape (c, 3) int32.
        light_map: Shape (t, 3) float32.
        texels, texel_offset, texel_side, texel_levels: See ``texels.Texels``.
        linear: Shape (2048,) float32, linear value of sRGB codes in eighths.
        encode: Shape (8192,) uint8, sRGB codes of linear values.
    """

    vertices: NDArray[np.float32]
    uv: NDArray[np.float32]
    light: NDArray[np.float32]
    faces: NDArray[np.int32]
    texture: NDArray[np.int32]
    tint: NDArray[np.float32]
    glows: NDArray[np.uint8]
    density: NDArray[np.float32]
    chart: NDArray[np.int32]
    chart_frame: NDArray[np.float32]
    chart_layout: NDArray[np.int32]
    light_map: NDArray[np.float32]
    texels: NDArray[np.uint32]
    texel_offset: NDArray[np.int64]
    texel_side: NDArray[np.int64]
    texel_levels: NDArray[np.int64]
    linear: NDArray[np.float32]
    encode: NDArray[np.uint8]


class Camera(NamedTuple):
    """A pinhole camera over the sample grid.

    Attributes:
        turn: Shape (3, 3) float64, scene to camera.
        centre: Shape (3,) float64, in the scene.
        focal: In samples.
        cx: Principal point, in samples.
        cy: Principal point, in samples.
        supersample: Samples along each side of an output pixel.
    """

    turn: NDArray[np.float64]
    centre: NDArray[np.float64]
    focal: float
    cx: float
    cy: float
    supersample: int


class Scratch(NamedTuple):
    """Working memory, reused between frames.

    Attributes:
        seen: Shape (n, 3) float32, vertices in camera axes.
        screen: Shape (n, 2) float64, vertices in samples.
        corners: Shape (r, 6) float64, record triangles sorted by y.
        plane: Shape (r, 3) float64: 1 / depth as a linear function of the sample position.
        weights: Shape (r, 6) float32: (b1, b2) / depth as linear functions of the ray.
        face: Shape (r,) int32.
        rows: Shape (r, 2) int32, sample rows of a record.
        inverse: Shape (rows, columns) float32, 1 / depth.
        record: Shape (rows, columns) int32, -1 where nothing was hit.
    """

    seen: NDArray[np.float32]
    screen: NDArray[np.float64]
    corners: NDArray[np.float64]
    plane: NDArray[np.float64]
    weights: NDArray[np.float32]
    face: NDArray[np.int32]
    rows: NDArray[np.int32]
    inverse: NDArray[np.float32]
    record: NDArray[np.int32]


class Picture(NamedTuple):
    """What is drawn.

    Attributes:
        frame: Shape (height, width, 3) uint8.
        depth: Shape (height, width) float32, planar metres, 0 where nothing was hit.
        ids: Shape (height, width) uint16, 0 where nothing was hit.
        face_id: Shape (m,) uint16, the instance of each face.
        shades: Shape (s, 4) float32, spheres (centre, radius) that cast contact shadows.
        shade_id: Shape (s,) uint16, whose spheres they are.
        background: Shape (3,) float32.
    """

    frame: NDArray[np.uint8]
    depth: NDArray[np.float32]
    ids: NDArray[np.uint16]
    face_id: NDArray[np.uint16]
    shades: NDArray[np.float32]
    shade_id: NDArray[np.uint16]
    background: NDArray[np.float32]


@inner_kernel
def _record(k, ax, ay, bx, by, cx, cy, scratch):  # type: ignore[no-untyped-def]
    """Write one screen triangle; return whether it covers any sample centre's row and column."""
    height, width = scratch.inverse.shape
    if by < ay or (by == ay and bx < ax):
        ax, ay, bx, by = bx, by, ax, ay
    if cy < ay or (cy == ay and cx < ax):
        ax, ay, cx, cy = cx, cy, ax, ay
    if cy < by or (cy == by and cx < bx):
        bx, by, cx, cy = cx, cy, bx, by
    top = math.ceil(max(ay, 0.0) - 0.5)
    bottom = math.ceil(min(cy, float(height)) - 0.5)
    if top >= bottom:
        return False
    left = min(ax, min(bx, cx))
    right = max(ax, max(bx, cx))
    if math.ceil(max(left, 0.0) - 0.5) >= math.ceil(min(right, float(width)) - 0.5):
        return False
    out = scratch.corners
    out[k, 0], out[k, 1], out[k, 2] = ax, ay, bx
    out[k, 3], out[k, 4], out[k, 5] = by, cx, cy
    scratch.rows[k, 0] = top
    scratch.rows[k, 1] = bottom
    return True


@kernel
def _set_up(start, step, visible, counts, spans, geometry, camera, scratch):  # type: ignore[no-untyped-def]
    """Transform every step-th instance and write the triangles of it that can be seen."""
    vertices, faces = geometry.vertices, geometry.faces
    view, screen = scratch.seen, scratch.screen
    focal, cx, cy = camera.focal, camera.cx, camera.cy
    turn, centre = camera.turn, camera.centre
    height, width = scratch.inverse.shape
    r00, r01, r02 = turn[0, 0], turn[0, 1], turn[0, 2]
    r10, r11, r12 = turn[1, 0], turn[1, 1], turn[1, 2]
    r20, r21, r22 = turn[2, 0], turn[2, 1], turn[2, 2]
    clipped_x = np.zeros(4)
    clipped_y = np.zeros(4)
    for i in range(start, visible.shape[0], step):
        first, end = visible[i, 2], visible[i, 2] + visible[i, 3]
        for v in range(first, end):
            x = vertices[v, 0] - centre[0]
            y = vertices[v, 1] - centre[1]
            z = vertices[v, 2] - centre[2]
            px = r00 * x + r01 * y + r02 * z
            py = r10 * x + r11 * y + r12 * z
            pz = r20 * x + r21 * y + r22 * z
            view[v, 0] = px
            view[v, 1] = py
            view[v, 2] = pz
            if pz >= NEAR:
                # From the rounded coordinates, so that plane and outline agree.
                scale = focal / np.float64(view[v, 2])
                screen[v, 0] = cx + scale * view[v, 0]
                screen[v, 1] = cy + scale * view[v, 1]
        k = visible[i, 4]
        two_sided = visible[i, 5] != 0
        lowest, highest = height, 0
        for f in range(visible[i, 0], visible[i, 0] + visible[i, 1]):
            a, b, c = faces[f, 0], faces[f, 1], faces[f, 2]
            az, bz, cz = np.float64(view[a, 2]), np.float64(view[b, 2]), np.float64(view[c, 2])
            inside = int(az >= NEAR) + int(bz >= NEAR) + int(cz >= NEAR)
            if inside == 0:
                continue
            if inside == 3:
                x0, x1, x2 = screen[a, 0], screen[b, 0], screen[c, 0]
                if min(x0, min(x1, x2)) >= width or max(x0, max(x1, x2)) <= 0:
                    continue
                y0, y1, y2 = screen[a, 1], screen[b, 1], screen[c, 1]
                if min(y0, min(y1, y2)) >= height or max(y0, max(y1, y2)) <= 0:
                    continue
            ax, ay = np.float64(view[a, 0]), np.float64(view[a, 1])
            bx, by = np.float64(view[b, 0]), np.float64(view[b, 1])
            qx, qy = np.float64(view[c, 0]), np.float64(view[c, 1])
            ux, uy, uz = bx - ax, by - ay, bz - az
            vx, vy, vz = qx - ax, qy - ay, cz - az
            nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
            # n . p is equal for all points of the plane; negative means that it faces the camera.
            distance = nx * ax + ny * ay + nz * az
            if distance == 0.0 or (distance > 0.0 and not two_sided):
                continue
            before = k
            if inside == 3:
                if _record(k, x0, y0, x1, y1, x2, y2, scratch):
                    k += 1
            else:
                n = 0
                for s in range(3):
                    p = faces[f, s]
                    q = faces[f, (s + 1) % 3]
                    pz, qz = np.float64(view[p, 2]), np.float64(view[q, 2])
                    if pz >= NEAR:
                        clipped_x[n] = screen[p, 0]
                        clipped_y[n] = screen[p, 1]
                        n += 1
                    if (pz >= NEAR) != (qz >= NEAR):
                        # From the inner end, so that both faces of an edge cut it alike.
                        if pz < NEAR:
                            p, q = q, p
                            pz, qz = qz, pz
                        t = (pz - NEAR) / (pz - qz)
                        x = view[p, 0] + t * (np.float64(view[q, 0]) - view[p, 0])
                        y = view[p, 1] + t * (np.float64(view[q, 1]) - view[p, 1])
                        clipped_x[n] = cx + focal * x / NEAR
                        clipped_y[n] = cy + focal * y / NEAR
                        n += 1
                for s in range(1, n - 1):
                    if _record(
                        k,
                        clipped_x[0],
                        clipped_y[0],
                        clipped_x[s],
                        clipped_y[s],
                        clipped_x[s + 1],
                        clipped_y[s + 1],
                        scratch,
                    ):
                        k += 1
            if k == before:
                continue
            inverse = 1.0 / distance
            gx, gy = nx * inverse / focal, ny * inverse / focal
            g0 = nz * inverse - gx * cx - gy * cy
            # With M = [a b c], the rows of M^-1 times the ray are (b0, b1, b2) / depth.
            w10, w11, w12 = qy * az - cz * ay, cz * ax - qx * az, qx * ay - qy * ax
            w20, w21, w22 = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
            for r in range(before, k):
                scratch.plane[r, 0] = gx
                scratch.plane[r, 1] = gy
                scratch.plane[r, 2] = g0
                w = scratch.weights
                w[r, 0], w[r, 1], w[r, 2] = w10 * inverse, w11 * inverse, w12 * inverse
                w[r, 3], w[r, 4], w[r, 5] = w20 * inverse, w21 * inverse, w22 * inverse
                scratch.face[r] = f
                lowest = min(lowest, scratch.rows[r, 0])
                highest = max(highest, scratch.rows[r, 1])
        counts[i] = k - visible[i, 4]
        spans[i, 0] = lowest
        spans[i, 1] = highest


@inner_kernel
def _scan_rows(y0, y1, visible, counts, spans, scratch):  # type: ignore[no-untyped-def]
    """Find the nearest surface of each sample in the rows [y0, y1)."""
    inverse, record = scratch.inverse, scratch.record
    rows, corners, plane = scratch.rows, scratch.corners, scratch.plane
    width = inverse.shape[1]
    for y in range(y0, y1):
        for x in range(width):
            inverse[y, x] = 0.0
            record[y, x] = -1
    for i in range(visible.shape[0]):
        if spans[i, 0] >= y1 or spans[i, 1] <= y0:
            continue
        first = visible[i, 4]
        for k in range(first, first + counts[i]):
            top = max(rows[k, 0], y0)
            bottom = min(rows[k, 1], y1)
            if top >= bottom:
                continue
            ax, ay, bx = corners[k, 0], corners[k, 1], corners[k, 2]
            by, cx, cy = corners[k, 3], corners[k, 4], corners[k, 5]
            # An edge is always walked from its upper end, so neighbours agree on every crossing.
            slope_ac = (cx - ax) / (cy - ay)
            slope_ab = (bx - ax) / (by - ay)
            slope_bc = (cx - bx) / (cy - by)
            gx, gy, g0 = plane[k, 0], plane[k, 1], plane[k, 2]
            step = np.float32(gx)
            for y in range(top, bottom):
                yc = y + 0.5
                left = ax + (yc - ay) * slope_ac
                if yc < by:
                    right = ax + (yc - ay) * slope_ab
                else:
                    right = bx + (yc - by) * slope_bc
                if right < left:
                    left, right = right, left
                start = math.ceil(max(left, 0.0) - 0.5)
                stop = math.ceil(min(right, float(width)) - 0.5)
                if start >= stop:
                    continue
                base = np.float32(g0 + gy * yc + gx * (start + 0.5))
                row_inverse = inverse[y]
                row_record = record[y]
                for x in range(start, stop):
                    value = base + step * np.float32(x - start)
                    old = row_inverse[x]
                    nearer = value > old
                    row_inverse[x] = value if nearer else old
                    row_record[x] = k if nearer else row_record[x]


@kernel
def _scan(start, step, rows, visible, counts, spans, scratch):  # type: ignore[no-untyped-def]
    """Find the nearest surface of each sample in every step-th band of so many sample rows."""
    height = scratch.inverse.shape[0]
    for first in range(start * rows, height, step * rows):
        _scan_rows(first, min(first + rows, height), visible, counts, spans, scratch)


@inner_kernel
def _tone(x):  # type: ignore[no-untyped-def]
    """Map linear light to [0, 1] with a soft shoulder and a slight toe (rational, no libm)."""
    y = x * (np.float32(2.51) * x + np.float32(0.03))
    y = y / (x * (np.float32(2.43) * x + np.float32(0.59)) + np.float32(0.14))
    return min(max(y, np.float32(0.0)), np.float32(1.0))


@inner_kernel
def _level_of(footprint):  # type: ignore[no-untyped-def]
    """Return log2 of the root of a squared footprint, 0 to 14, straight between powers of four.

    The bits of a float32 are its logarithm, scaled and shifted, up to 0.09.
    """
    bits = np.float32(max(footprint, np.float32(1.0))).view(np.int32) - 0x3F800000
    return min(np.float32(bits) * np.float32(0.5 / (1 << 23)), _COARSEST)


@inner_kernel
def _spread(t):  # type: ignore[no-untyped-def]
    """Return a packed texel with its channels 21 bits apart."""
    wide = np.uint64(t)
    return (
        (wide & np.uint64(0xFF))
        | ((wide & np.uint64(0xFF00)) << np.uint64(13))
        | ((wide & np.uint64(0xFF0000)) << np.uint64(26))
    )


@inner_kernel
def _filtered(texels, offset, side, tu, tv):  # type: ignore[no-untyped-def]
    """Return the bilinear sRGB code, times 4096, of the three channels in lanes of 21 bits.

    Whole numbers make all channels one multiplication and the result the same on every machine.
    """
    fu = (tu * np.float32(side) + np.float32(0.5)) * np.float32(64.0)
    fv = (tv * np.float32(side) + np.float32(0.5)) * np.float32(64.0)
    iu, iv = np.int64(fu), np.int64(fv)
    iu -= np.int64(fu < np.float32(iu))
    iv -= np.int64(fv < np.float32(iv))
    wu, wv = np.uint64(iu & 63), np.uint64(iv & 63)
    mask = np.uint64(side - 1)
    # The texel to the right and below; the other one is taken from it.
    c1, r1 = np.uint64(iu >> 6) & mask, np.uint64(iv >> 6) & mask
    c0, r0 = (c1 + mask) & mask, (r1 + mask) & mask
    first, wide = np.uint64(offset), np.uint64(side)
    top, bottom = first + r0 * wide, first + r1 * wide
    full = np.uint64(64)
    return (
        _spread(texels[top + c0]) * ((full - wu) * (full - wv))
        + _spread(texels[top + c1]) * (wu * (full - wv))
        + _spread(texels[bottom + c0]) * ((full - wu) * wv)
        + _spread(texels[bottom + c1]) * (wu * wv)
    )


@kernel
def _shade(start, step, geometry, camera, scratch, picture):  # type: ignore[no-untyped-def]
    """Colour every step-th band of rows."""
    ss = camera.supersample
    focal, cx, cy = np.float32(camera.focal), np.float32(camera.cx), np.float32(camera.cy)
    inverse_focal = np.float32(1.0) / focal
    turn, centre = camera.turn, camera.centre
    faces, uv, light = geometry.faces, geometry.uv, geometry.light
    face_texture, tint, glows = geometry.texture, geometry.tint, geometry.glows
    density, face_chart = geometry.density, geometry.chart
    chart_frame, chart_layout = geometry.chart_frame, geometry.chart_layout
    light_map = geometry.light_map
    texel_offset, texel_side = geometry.texel_offset, geometry.texel_side
    texel_levels = geometry.texel_levels
    record, inverse = scratch.record, scratch.inverse
    weights, plane, record_face = scratch.weights, scratch.plane, scratch.face
    frame, shades, shade_id = picture.frame, picture.shades, picture.shade_id
    face_id = picture.face_id
    back_r = _tone(picture.background[0])
    back_g = _tone(picture.background[1])
    back_b = _tone(picture.background[2])
    r00, r01, r02 = np.float32(turn[0, 0]), np.float32(turn[0, 1]), np.float32(turn[0, 2])
    r10, r11, r12 = np.float32(turn[1, 0]), np.float32(turn[1, 1]), np.float32(turn[1, 2])
    r20, r21, r22 = np.float32(turn[2, 0]), np.float32(turn[2, 1]), np.float32(turn[2, 2])
    ox, oy, oz = np.float32(centre[0]), np.float32(centre[1]), np.float32(centre[2])
    texels, linear, encode = geometry.texels, geometry.linear, geometry.encode
    width = picture.frame.shape[1]
    portion = np.float32(1.0) / np.float32(ss * ss)
    top = np.float32(encode.size - 1)
    one, half = np.float32(1.0), np.float32(0.5)
    last = -2
    er = eg = eb = steep = limit = np.float32(0.0)
    gx = gy = g0 = 0.0
    f = a = b = c = texture = np.uint64(0)
    for y in range(frame.shape[0]):
        if (y // BAND) % step != start:
            continue
        for x in range(width):
            total_r = total_g = total_b = np.float32(0.0)
            stale = True
            for sy in range(y * ss, y * ss + ss):
                for sx in range(x * ss, x * ss + ss):
                    hit = record[sy, sx]
                    if hit < 0:
                        total_r += back_r
                        total_g += back_g
                        total_b += back_b
                        continue
                    k = np.uint64(hit)
                    depth = one / inverse[sy, sx]
                    rx = (np.float32(sx) + half - cx) * inverse_focal
                    ry = (np.float32(sy) + half - cy) * inverse_focal
                    b1 = depth * (weights[k, 0] * rx + weights[k, 1] * ry + weights[k, 2])
                    b2 = depth * (weights[k, 3] * rx + weights[k, 4] * ry + weights[k, 5])
                    b1 = min(max(b1, np.float32(0.0)), one)
                    b2 = min(max(b2, np.float32(0.0)), one - b1)
                    b0 = one - b1 - b2
                    if hit != last:
                        last, stale = hit, True
                        f = np.uint64(record_face[k])
                        a, b, c = (
                            np.uint64(faces[f, 0]),
                            np.uint64(faces[f, 1]),
                            np.uint64(faces[f, 2]),
                        )
                        texture = np.uint64(face_texture[f])
                        scale = density[f] * inverse_focal
                        # |n| / |n . p|, the steepness of the plane, from the gradient of 1 / depth.
                        gx, gy, g0 = plane[k, 0], plane[k, 1], plane[k, 2]
                        g0 += gx * camera.cx + gy * camera.cy
                        gx *= camera.focal
                        gy *= camera.focal
                        steep = scale * scale * np.float32(math.sqrt(gx * gx + gy * gy + g0 * g0))
                        limit = scale * scale * _EDGE_ON
                    if stale:
                        # Light is smooth: one look a pixel and surface is enough.
                        stale = False
                        if glows[f]:
                            er, eg, eb = tint[f, 0], tint[f, 1], tint[f, 2]
                        else:
                            chart_of = face_chart[f]
                            chart = np.uint64(chart_of)
                            if chart_of >= 0 or shades.shape[0] > 0:
                                vx, vy, vz = depth * rx, depth * ry, depth
                                px = r00 * vx + r10 * vy + r20 * vz + ox
                                py = r01 * vx + r11 * vy + r21 * vz + oy
                                pz = r02 * vx + r12 * vy + r22 * vz + oz
                            if chart_of >= 0:
                                s = (
                                    chart_frame[chart, 0, 0] * px
                                    + chart_frame[chart, 0, 1] * py
                                    + chart_frame[chart, 0, 2] * pz
                                    + chart_frame[chart, 0, 3]
                                )
                                t = (
                                    chart_frame[chart, 1, 0] * px
                                    + chart_frame[chart, 1, 1] * py
                                    + chart_frame[chart, 1, 2] * pz
                                    + chart_frame[chart, 1, 3]
                                )
                                columns, rows = chart_layout[chart, 1], chart_layout[chart, 2]
                                s = min(max(s, np.float32(0.0)), np.float32(columns - 1))
                                t = min(max(t, np.float32(0.0)), np.float32(rows - 1))
                                i, j = min(int(s), columns - 2), min(int(t), rows - 2)
                                fs, ft = s - np.float32(i), t - np.float32(j)
                                q0 = np.uint64(chart_layout[chart, 0] + j * columns + i)
                                q1 = q0 + np.uint64(columns)
                                f11 = fs * ft
                                f10, f01 = ft - f11, fs - f11
                                f00 = one - fs - f10
                                er = (
                                    light_map[q0, 0] * f00
                                    + light_map[q0 + np.uint64(1), 0] * f01
                                    + light_map[q1, 0] * f10
                                    + light_map[q1 + np.uint64(1), 0] * f11
                                )
                                eg = (
                                    light_map[q0, 1] * f00
                                    + light_map[q0 + np.uint64(1), 1] * f01
                                    + light_map[q1, 1] * f10
                                    + light_map[q1 + np.uint64(1), 1] * f11
                                )
                                eb = (
                                    light_map[q0, 2] * f00
                                    + light_map[q0 + np.uint64(1), 2] * f01
                                    + light_map[q1, 2] * f10
                                    + light_map[q1 + np.uint64(1), 2] * f11
                                )
                            else:
                                er = b0 * light[a, 0] + b1 * light[b, 0] + b2 * light[c, 0]
                                eg = b0 * light[a, 1] + b1 * light[b, 1] + b2 * light[c, 1]
                                eb = b0 * light[a, 2] + b1 * light[b, 2] + b2 * light[c, 2]
                            open_ = one
                            for q in range(shades.shape[0]):
                                if shade_id[q] == face_id[f]:
                                    continue
                                dx = shades[q, 0] - px
                                dy = shades[q, 1] - py
                                dz = shades[q, 2] - pz
                                near = dx * dx + dy * dy + dz * dz
                                size = shades[q, 3] * shades[q, 3]
                                if near > size * _SHADOW:
                                    continue
                                # Occlusion of a sphere: cosine to its centre times its solid angle.
                                nx = turn[0, 0] * gx + turn[1, 0] * gy + turn[2, 0] * g0
                                ny = turn[0, 1] * gx + turn[1, 1] * gy + turn[2, 1] * g0
                                nz = turn[0, 2] * gx + turn[1, 2] * gy + turn[2, 2] * g0
                                cosine = -np.float32(
                                    (nx * dx + ny * dy + nz * dz)
                                    / math.sqrt(near * (nx * nx + ny * ny + nz * nz) + _TINY)
                                )
                                if cosine > np.float32(0.0):
                                    near = max(near, size)
                                    fade = one - near / (size * _SHADOW)
                                    open_ *= one - _DARKEST * cosine * (size / near) * fade
                            er *= tint[f, 0] * open_
                            eg *= tint[f, 1] * open_
                            eb *= tint[f, 2] * open_
                    tu = b0 * uv[a, 0] + b1 * uv[b, 0] + b2 * uv[c, 0]
                    tv = b0 * uv[a, 1] + b1 * uv[b, 1] + b2 * uv[c, 1]
                    square = depth * depth
                    level = _level_of(min(steep * square * depth, limit * square))
                    last_level = texel_levels[texture] - 1
                    l0 = min(int(level), last_level)
                    blend = level - np.float32(l0)
                    if l0 == last_level:
                        blend = np.float32(0.0)
                    side = texel_side[texture] >> l0
                    lanes = _filtered(texels, texel_offset[texture, l0], side, tu, tv)
                    vr = np.float32(lanes & _LANE)
                    vg = np.float32((lanes >> _SHIFT) & _LANE)
                    vb = np.float32(lanes >> _SHIFT2)
                    if blend > _BLENDED:
                        side = texel_side[texture] >> (l0 + 1)
                        lanes = _filtered(texels, texel_offset[texture, l0 + 1], side, tu, tv)
                        vr += blend * (np.float32(lanes & _LANE) - vr)
                        vg += blend * (np.float32((lanes >> _SHIFT) & _LANE) - vg)
                        vb += blend * (np.float32(lanes >> _SHIFT2) - vb)
                    vr = linear[np.uint64(vr * _FINE)]
                    vg = linear[np.uint64(vg * _FINE)]
                    vb = linear[np.uint64(vb * _FINE)]
                    total_r += _tone(vr * er)
                    total_g += _tone(vg * eg)
                    total_b += _tone(vb * eb)
            frame[y, x, 0] = encode[int(total_r * portion * top + half)]
            frame[y, x, 1] = encode[int(total_g * portion * top + half)]
            frame[y, x, 2] = encode[int(total_b * portion * top + half)]


@kernel
def _measure(start, step, camera, scratch, picture):  # type: ignore[no-untyped-def]
    """Write depth and ids of every step-th band of rows.

    The surface is the one seen by sample (s // 2, s // 2) of the s x s samples of a pixel; the
    depth is that of its plane at the middle of the pixel, within the depths of its neighbours.
    """
    ss = camera.supersample
    middle = 0.5 * ss
    off = ss // 2 + 0.5 - middle
    width = picture.frame.shape[1]
    for y in range(picture.frame.shape[0]):
        if (y // BAND) % step != start:
            continue
        for x in range(width):
            sy, sx = y * ss + ss // 2, x * ss + ss // 2
            k = scratch.record[sy, sx]
            if k < 0:
                picture.depth[y, x] = 0.0
                picture.ids[y, x] = 0
                continue
            inverse = scratch.inverse[sy, sx]
            if off != 0.0:
                moved = inverse - off * (scratch.plane[k, 0] + scratch.plane[k, 1])
                # At a silhouette the plane may run away within half a sample.
                inverse = np.float32(min(max(moved, 0.8 * inverse), 1.25 * inverse))
            picture.depth[y, x] = np.float32(1.0) / inverse
            picture.ids[y, x] = picture.face_id[scratch.face[k]]


def draw(
    visible: NDArray[np.int64],
    geometry: Geometry,
    camera: Camera,
    scratch: Scratch,
    picture: Picture,
    threads: int,
) -> None:
    """Draw the visible instances, front to back, into ``picture``.

    Args:
        visible: Shape (n, 6) int64 rows: first face, faces, first vertex, vertices, first record,
            1 if two-sided.
        geometry: What there is.
        camera: From where.
        scratch: Working memory.
        picture: What is written.
        threads: How many.
    """
    counts = np.zeros(len(visible), np.int64)
    spans = np.zeros((len(visible), 2), np.int64)

    def place(first: int, step: int) -> None:
        _set_up(first, step, visible, counts, spans, geometry, camera, scratch)

    def paint(first: int, step: int) -> None:
        _scan(first, step, BAND * camera.supersample, visible, counts, spans, scratch)
        _shade(first, step, geometry, camera, scratch, picture)
        _measure(first, step, camera, scratch, picture)

    share(threads, place)
    share(threads, paint)

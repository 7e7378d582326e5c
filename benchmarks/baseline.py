"""The first prototype of the renderer, kept as the baseline that speed is measured against."""

from __future__ import annotations

import numpy as np
from numba import njit, prange


@njit(cache=True)
def clip_project(Vc, F, f, cx, cy, near, out, oid):
    k = 0
    P = np.empty((4, 3), np.float32)
    for t in range(F.shape[0]):
        a = F[t, 0]
        b = F[t, 1]
        c = F[t, 2]
        za = Vc[a, 2]
        zb = Vc[b, 2]
        zc = Vc[c, 2]
        if za < near and zb < near and zc < near:
            continue
        n = 0
        xa = Vc[a, 0]
        xb = Vc[b, 0]
        xc = Vc[c, 0]
        kx = cx / f
        if (xa > za * kx and xb > zb * kx and xc > zc * kx) or (
            xa < -za * kx and xb < -zb * kx and xc < -zc * kx
        ):
            continue
        corners = (a, b, c)
        for i in range(3):
            p = corners[i]
            q = corners[(i + 1) % 3]
            zp = Vc[p, 2]
            zq = Vc[q, 2]
            if zp >= near:
                P[n, 0] = Vc[p, 0]
                P[n, 1] = Vc[p, 1]
                P[n, 2] = zp
                n += 1
            if (zp >= near) != (zq >= near):
                s = (near - zp) / (zq - zp)
                P[n, 0] = Vc[p, 0] + s * (Vc[q, 0] - Vc[p, 0])
                P[n, 1] = Vc[p, 1] + s * (Vc[q, 1] - Vc[p, 1])
                P[n, 2] = near
                n += 1
        for j in range(1, n - 1):
            for m in range(3):
                r = 0 if m == 0 else (j if m == 1 else j + 1)
                out[k, m, 0] = cx + f * P[r, 0] / P[r, 2]
                out[k, m, 1] = cy + f * P[r, 1] / P[r, 2]
                out[k, m, 2] = np.float32(1.0) / P[r, 2]
            oid[k] = t
            k += 1
    return k


@njit(parallel=True, cache=True)
def raster(T, oid, k, H, W, zb, ib, nband):
    for bd in prange(nband):
        y0b = bd * H // nband
        y1b = (bd + 1) * H // nband
        for y in range(y0b, y1b):
            for x in range(W):
                zb[y, x] = 0.0
                ib[y, x] = -1
        for t in range(k):
            x0 = T[t, 0, 0]
            y0 = T[t, 0, 1]
            x1 = T[t, 1, 0]
            y1 = T[t, 1, 1]
            x2 = T[t, 2, 0]
            y2 = T[t, 2, 1]
            ymin = min(y0, min(y1, y2))
            ymax = max(y0, max(y1, y2))
            if ymax < y0b or ymin > y1b:
                continue
            xmin = min(x0, min(x1, x2))
            xmax = max(x0, max(x1, x2))
            if xmax < 0 or xmin > W:
                continue
            ar = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
            if abs(ar) < 1e-9:
                continue
            ia = 1.0 / ar
            ix0 = max(0, int(np.floor(xmin)))
            ix1 = min(W - 1, int(np.ceil(xmax)))
            iy0 = max(y0b, int(np.floor(ymin)))
            iy1 = min(y1b - 1, int(np.ceil(ymax)))
            w0 = T[t, 0, 2]
            w1 = T[t, 1, 2]
            w2 = T[t, 2, 2]
            dx1 = (y2 - y0) * ia
            dy1 = -(x2 - x0) * ia
            dx2 = -(y1 - y0) * ia
            dy2 = (x1 - x0) * ia
            for y in range(iy0, iy1 + 1):
                py = y + 0.5 - y0
                b1 = (ix0 + 0.5 - x0) * dx1 + py * dy1
                b2 = (ix0 + 0.5 - x0) * dx2 + py * dy2
                for x in range(ix0, ix1 + 1):
                    if b1 >= 0 and b2 >= 0 and b1 + b2 <= 1:
                        z = w0 + b1 * (w1 - w0) + b2 * (w2 - w0)
                        if z > zb[y, x]:
                            zb[y, x] = z
                            ib[y, x] = oid[t]
                    b1 += dx1
                    b2 += dx2


@njit(inline="always")
def samp(tx, off, w, h, u, v, c):
    u = (u - np.floor(u)) * w - 0.5
    v = (v - np.floor(v)) * h - 0.5
    iu = int(np.floor(u))
    iv = int(np.floor(v))
    fu = u - iu
    fv = v - iv
    a = iu % w
    b = (iu + 1) % w
    r = iv % h
    s = (iv + 1) % h
    return (tx[off + (r * w + a) * 3 + c] * (1 - fu) + tx[off + (r * w + b) * 3 + c] * fu) * (
        1 - fv
    ) + (tx[off + (s * w + a) * 3 + c] * (1 - fu) + tx[off + (s * w + b) * 3 + c] * fu) * fv


@njit(parallel=True, cache=True)
def shade(
    ib, zb, Vw, F, UV, E, FT, FE, FI, tx, toff, tsz, tlv, R, cam, f, cx, cy, ball, br, H, W, rgb,
    dep, seg, dens, ballid,
):  # fmt: skip
    for y in prange(H):
        for x in range(W):
            t = ib[y, x]
            if t < 0:
                dep[y, x] = 0.0
                seg[y, x] = 0
                for c in range(3):
                    rgb[y, x, c] = 0.0
                continue
            dep[y, x] = 1.0 / zb[y, x]
            seg[y, x] = FI[t]
            a = F[t, 0]
            b = F[t, 1]
            c3 = F[t, 2]
            rx = (x + 0.5 - cx) / f
            ry = (y + 0.5 - cy) / f
            d0 = R[0, 0] * rx + R[1, 0] * ry + R[2, 0]
            d1 = R[0, 1] * rx + R[1, 1] * ry + R[2, 1]
            d2 = R[0, 2] * rx + R[1, 2] * ry + R[2, 2]
            z = dep[y, x]
            p0 = cam[0] + d0 * z
            p1 = cam[1] + d1 * z
            p2 = cam[2] + d2 * z
            e10 = Vw[b, 0] - Vw[a, 0]
            e11 = Vw[b, 1] - Vw[a, 1]
            e12 = Vw[b, 2] - Vw[a, 2]
            e20 = Vw[c3, 0] - Vw[a, 0]
            e21 = Vw[c3, 1] - Vw[a, 1]
            e22 = Vw[c3, 2] - Vw[a, 2]
            q0 = p0 - Vw[a, 0]
            q1 = p1 - Vw[a, 1]
            q2 = p2 - Vw[a, 2]
            d11 = e10 * e10 + e11 * e11 + e12 * e12
            d12 = e10 * e20 + e11 * e21 + e12 * e22
            d22 = e20 * e20 + e21 * e21 + e22 * e22
            dq1 = q0 * e10 + q1 * e11 + q2 * e12
            dq2 = q0 * e20 + q1 * e21 + q2 * e22
            den = d11 * d22 - d12 * d12
            if den == 0.0:
                den = 1e-20
            v = (d22 * dq1 - d12 * dq2) / den
            w = (d11 * dq2 - d12 * dq1) / den
            v = min(max(v, 0.0), 1.0)
            w = min(max(w, 0.0), 1.0)
            u = 1 - v - w
            tu = u * UV[a, 0] + v * UV[b, 0] + w * UV[c3, 0]
            tv = u * UV[a, 1] + v * UV[b, 1] + w * UV[c3, 1]
            ti = FT[t]
            nx = e11 * e22 - e12 * e21
            ny = e12 * e20 - e10 * e22
            nz = e10 * e21 - e11 * e20
            nl = np.sqrt(nx * nx + ny * ny + nz * nz) + 1e-20
            dl = np.sqrt(d0 * d0 + d1 * d1 + d2 * d2)
            cosv = abs(nx * d0 + ny * d1 + nz * d2) / (nl * dl)
            pix = z * dens[t] / f / np.sqrt(max(cosv, 0.05))
            lod = np.log2(max(pix, 1e-6))
            lv = min(max(lod, 0.0), tlv[ti] - 1.001)
            l0 = int(lv)
            fr = lv - l0
            occ = 1.0
            if FI[t] != ballid and br > 0:
                bx = ball[0] - p0
                by = ball[1] - p1
                bz = ball[2] - p2
                L = np.sqrt(bx * bx + by * by + bz * bz)
                if L > br * 0.99:
                    cs = (bx * nx + by * ny + bz * nz) / (L * nl)
                    occ = 1 - max(cs, 0.0) * (br / L) ** 2
                    occ = 1 - (1 - occ) * 0.95
            for c in range(3):
                w0 = tsz[ti] >> l0
                w1 = tsz[ti] >> (l0 + 1)
                al = (
                    samp(tx, toff[ti, l0], w0, w0, tu, tv, c) * (1 - fr)
                    + samp(tx, toff[ti, l0 + 1], w1, w1, tu, tv, c) * fr
                )
                e = u * E[a, c] + v * E[b, c] + w * E[c3, c]
                rgb[y, x, c] = al * (e * occ + FE[t])


class Baseline:
    """Takes the arrays of a scene; draws RGB, depth and ids as the prototype did."""

    def __init__(self, V, UV, F, FT, FI, FE, E, textures, ball, ball_radius, ball_id):
        self.V, self.UV, self.F, self.FT, self.FI, self.FE, self.E = V, UV, F, FT, FI, FE, E
        self.ball, self.ball_radius, self.ball_id = ball, ball_radius, ball_id
        levels = 13
        self.toff = np.zeros((len(textures), levels), np.int64)
        self.tsz = np.zeros(len(textures), np.int64)
        self.tlv = np.zeros(len(textures))
        parts, at = [], 0
        for i, texture in enumerate(textures):
            image = (texture.astype(np.float32) / 255) ** 2.2
            self.tsz[i] = image.shape[0]
            level = 0
            while True:
                self.toff[i, level] = at
                parts.append(image.ravel())
                at += image.size
                level += 1
                if image.shape[0] == 1:
                    break
                image = (
                    image[::2, ::2] + image[1::2, ::2] + image[::2, 1::2] + image[1::2, 1::2]
                ) / 4
            self.tlv[i] = level
        self.tx = np.concatenate(parts).astype(np.float32)
        p, uv = V[F], UV[F]
        area = np.linalg.norm(np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), axis=1)
        a, b = uv[:, 1] - uv[:, 0], uv[:, 2] - uv[:, 0]
        covered = np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])
        self.dens = (np.sqrt(covered / np.maximum(area, 1e-12)) * self.tsz[FT]).astype(np.float32)
        self.triangles = np.zeros((2 * len(F), 3, 3), np.float32)
        self.origin = np.zeros(2 * len(F), np.int32)
        self.buffers = None

    def draw(self, pose, width, height, fov, ss):
        w, h = width * ss, height * ss
        f = np.float32(0.5 * w / np.tan(np.radians(fov) / 2))
        R = np.ascontiguousarray(pose[:3, :3].T).astype(np.float32)
        cam = pose[:3, 3].astype(np.float32)
        Vc = ((self.V - cam) @ R.T).astype(np.float32)
        if self.buffers is None or self.buffers[0].shape != (h, w):
            self.buffers = (
                np.zeros((h, w), np.float32),
                np.zeros((h, w), np.int32),
                np.zeros((h, w, 3), np.float32),
                np.zeros((h, w), np.float32),
                np.zeros((h, w), np.int32),
            )
        zb, ib, rgb, dep, seg = self.buffers
        cx, cy = np.float32(w / 2), np.float32(h / 2)
        k = clip_project(Vc, self.F, f, cx, cy, np.float32(0.03), self.triangles, self.origin)
        raster(self.triangles, self.origin, k, h, w, zb, ib, 8)
        shade(
            ib, zb, self.V, self.F, self.UV, self.E, self.FT, self.FE, self.FI, self.tx, self.toff,
            self.tsz, self.tlv, R, cam, f, cx, cy, self.ball, np.float32(self.ball_radius), h, w,
            rgb, dep, seg, self.dens, self.ball_id,
        )  # fmt: skip
        o = 1 - np.exp(-1.5 * np.clip(rgb, 0, None))
        if ss > 1:
            o = o.reshape(height, ss, width, ss, 3).mean((1, 3))
        frame = (np.clip(o, 0, 1) ** (1 / 2.2) * 255 + 0.5).astype(np.uint8)
        return (
            frame,
            dep[ss // 2 :: ss, ss // 2 :: ss].copy(),
            seg[ss // 2 :: ss, ss // 2 :: ss].astype(np.uint8),
        )

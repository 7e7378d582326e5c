"""Mesh simplification by half-edge collapse: the vertices that stay keep their places.

Quadric error metric of Garland and Heckbert (1997), with planes through open edges so that borders
hold. Because vertices are only dropped, one simplification serves every shape of a morphed mesh.
"""

from __future__ import annotations

import heapq

import numpy as np


def simplify(
    vertices: np.ndarray, faces: np.ndarray, targets: list[int], care: np.ndarray
) -> list[np.ndarray]:
    """Return faces (m, 3) at each face count of ``targets`` (falling), indices into ``vertices``.

    Args:
        vertices: Shape (n, 3).
        faces: Triangles (m, 3).
        targets: Face counts to stop at.
        care: Factor (n,) on the cost of removing a vertex.
    """
    V = [tuple(map(float, v)) for v in vertices]
    F: dict[int, tuple[int, int, int]] = {i: tuple(map(int, f)) for i, f in enumerate(faces)}
    around: list[set[int]] = [set() for _ in V]
    quadric = np.zeros((len(V), 4, 4))
    edges: dict[tuple[int, int], int] = {}
    for i, f in F.items():
        a, b, c = (np.array(V[v]) for v in f)
        n = np.cross(b - a, c - a)
        area = np.linalg.norm(n)
        if area > 0:
            plane = np.append(n / area, -np.dot(n / area, a))
            for v in f:
                quadric[v] += np.outer(plane, plane) * area
        for k in range(3):
            around[f[k]].add(i)
            e = tuple(sorted((f[k], f[(k + 1) % 3])))
            edges[e] = edges.get(e, 0) + 1
    open_ = {v for e, n in edges.items() if n == 1 for v in e}
    for e, n in edges.items():
        if n != 1:
            continue
        face = next(iter(around[e[0]] & around[e[1]]))
        a, b = np.array(V[e[0]]), np.array(V[e[1]])
        p, q, r = (np.array(V[v]) for v in F[face])
        side = np.cross(np.cross(q - p, r - p), b - a)
        size = np.linalg.norm(side)
        if size > 0:
            plane = np.append(side / size, -np.dot(side / size, a)) * 3
            for v in e:
                quadric[v] += np.outer(plane, plane) * np.dot(b - a, b - a)

    def cost(gone: int, stays: int) -> float:
        p = np.array([*V[stays], 1.0])
        length = sum((s - t) ** 2 for s, t in zip(V[gone], V[stays], strict=True))
        return float((p @ (quadric[gone] + quadric[stays]) @ p + 1e-5 * length) * care[gone])

    version = [0] * len(V)
    heap: list[tuple[float, int, int, int, int]] = []

    def push(a: int, b: int) -> None:
        for gone, stays in ((a, b), (b, a)):
            if gone in open_ and stays not in open_:
                continue
            heapq.heappush(heap, (cost(gone, stays), gone, stays, version[gone], version[stays]))

    for a, b in edges:
        push(a, b)

    def normal(f: tuple[int, int, int]) -> np.ndarray:
        a, b, c = (np.array(V[v]) for v in f)
        return np.cross(b - a, c - a)

    results, pending = [], sorted(targets, reverse=True)
    while heap and pending:
        _, gone, stays, va, vb = heapq.heappop(heap)
        if version[gone] != va or version[stays] != vb or not around[gone] or not around[stays]:
            continue
        shared = around[gone] & around[stays]
        near = {v for f in around[gone] for v in F[f]} - {gone}
        near_b = {v for f in around[stays] for v in F[f]} - {stays}
        if len(shared) not in (1, 2) or len((near & near_b) - {gone, stays}) != len(shared):
            continue
        moved = [(f, tuple(stays if v == gone else v for v in F[f])) for f in around[gone] - shared]
        if any(
            np.dot(normal(F[f]), normal(g))
            < 0.15 * np.linalg.norm(normal(F[f])) * np.linalg.norm(normal(g))
            for f, g in moved
        ):
            continue
        for f in shared:
            for v in F[f]:
                around[v].discard(f)
            del F[f]
        for f, g in moved:
            F[f] = g
            around[stays].add(f)
        around[gone].clear()
        quadric[stays] += quadric[gone]
        version[gone] += 1
        version[stays] += 1
        for v in {v for f in around[stays] for v in F[f]} - {stays}:
            push(stays, v)
        while pending and len(F) <= pending[0]:
            results.append(np.array([F[i] for i in sorted(F)], dtype=np.int32))
            pending.pop(0)
    if pending:
        raise ValueError(f"no more edges to collapse at {len(F)} faces; wanted {pending[0]}")
    return results

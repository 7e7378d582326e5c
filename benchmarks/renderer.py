"""Times the renderer against the first prototype on the same triangles, in one interleaved run.

    python benchmarks/renderer.py [--family interior] [--seed 0] [--rounds 5] [--threads N]

Rounds draw a full turn from the default view; each frame counts with its least time of all rounds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from baseline import Baseline

from worldenv.camera import walk
from worldenv.worlds.reference.compile import cores
from worldenv.worlds.reference.families import SceneName, scene_of
from worldenv.worlds.reference.lit import Lit, build_light
from worldenv.worlds.reference.renderer import Renderer

WALL_CELL = 0.1
Array = np.ndarray


def baseline_of(renderer: Renderer, lit: Lit, tessellate: bool) -> Baseline:
    """Hand the renderer's full-detail triangles to the prototype.

    With ``tessellate``, light-mapped rectangles are cut into cells, which the prototype's light at
    vertices needs to look the same.
    """
    geometry = renderer._geometry
    V, UV, F, FT, FI, FE, E = [], [], [], [], [], [], []
    at = 0
    for instance in lit.scene.instances:
        level = renderer._levels[instance.id][0]
        part = level.part
        faces = slice(level.first_face, level.first_face + len(part.faces))
        vertices = slice(level.first_vertex, level.first_vertex + len(part.vertices))
        v, uv, f = geometry.vertices[vertices], geometry.uv[vertices], part.faces
        texture, tint = geometry.texture[faces], geometry.tint[faces]
        light = np.full((len(v), 3), 0.8, np.float32)
        if tessellate and instance.flat and len(part.faces) <= 12:
            v, uv, f, texture, tint = cut(v, uv, f, texture, tint)
            light = np.full((len(v), 3), 0.8, np.float32)
        V.append(v)
        UV.append(uv)
        F.append(f + at)
        FT.append(texture)
        FI.append(np.full(len(f), instance.id))
        FE.append(np.zeros(len(f)))
        light[f[:, 0]] = np.minimum(tint, 1.5)
        E.append(light)
        at += len(v)
    pool = renderer._pool.number
    images = [lit.scene.textures[n] for n in sorted(pool, key=lambda n: pool[n])]
    moving = [i for i in lit.scene.instances if i.moves]
    ball, radius, number = np.zeros(3, np.float32), 0.0, -1
    if moving:
        part = lit.parts[moving[0].id][0]
        ball = (moving[0].pose[:3, :3] @ part.centre + moving[0].pose[:3, 3]).astype(np.float32)
        radius, number = part.radius / np.sqrt(3), moving[0].id
    return Baseline(
        np.concatenate(V).astype(np.float32),
        np.concatenate(UV).astype(np.float32),
        np.concatenate(F).astype(np.int32),
        np.concatenate(FT).astype(np.int32),
        np.concatenate(FI).astype(np.int32),
        np.concatenate(FE).astype(np.float32),
        np.concatenate(E).astype(np.float32),
        images,
        ball,
        radius,
        number,
    )


def cut(
    v: Array, uv: Array, f: Array, texture: Array, tint: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Cut triangles into four until no edge is longer than a cell."""
    p, q = v[f].astype(np.float64), uv[f].astype(np.float64)
    while np.linalg.norm(p - np.roll(p, 1, axis=1), axis=2).max() > WALL_CELL * 1.5:
        p, q = split(p), split(q)
        texture, tint = np.tile(texture, 4), np.tile(tint, (4, 1))
    corners = np.concatenate([p.reshape(-1, 3), q.reshape(-1, 2)], axis=1).round(6)
    unique, index = np.unique(corners, axis=0, return_inverse=True)
    return (
        unique[:, :3].astype(np.float32),
        unique[:, 3:].astype(np.float32),
        index.reshape(-1, 3).astype(np.int32),
        texture,
        tint,
    )


def split(p: Array) -> Array:
    a, b, c = p[:, 0], p[:, 1], p[:, 2]
    ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
    return np.concatenate(
        [np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--family", default="interior")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=24)
    parser.add_argument("--threads", type=int, default=cores())
    parser.add_argument("--sizes", nargs="*", default=["256x256", "640x360"])
    parser.add_argument(
        "--cpu", action="store_true", help="count processor time, for busy machines; one thread"
    )
    options = parser.parse_args()
    if options.cpu:
        options.threads = 1
    clock = time.process_time if options.cpu else time.perf_counter
    import numba

    numba.set_num_threads(min(options.threads, cores()))
    scene = scene_of(SceneName(options.family, options.seed, "ball_rolls_off"))
    lit = build_light(scene, options.threads)
    n = options.turns
    view = scene.views[0].pose
    poses = view @ walk(np.zeros((n, 3)), 360.0 * np.arange(n) / n, np.zeros(n))
    print(f"{'size':>10} {'ss':>2} {'prototype':>10} {'ours full':>10} {'ours auto':>10}", end="")
    print(f" {'same triangles':>15} {'cut walls':>10} {'auto, cut':>10}   (ms a frame; ratios)")
    for text in options.sizes:
        width, height = (int(n) for n in text.split("x"))
        size = (width, height)
        for ss in (1, 2):
            renderers = {
                detail: Renderer(
                    lit, size=size, supersample=ss, detail=detail, threads=options.threads
                )
                for detail in ("full", "auto")
            }
            same = baseline_of(renderers["full"], lit, False)
            walls = baseline_of(renderers["full"], lit, True)
            frame: dict[str, Any] = {"width": width, "height": height, "fov": 75.0, "ss": ss}
            draws: dict[str, Callable[[Array], object]] = {
                "same": partial(same.draw, **frame),
                "walls": partial(walls.draw, **frame),
                "full": partial(renderers["full"].draw, time=0.5),
                "auto": partial(renderers["auto"].draw, time=0.5),
            }
            best = {name: np.full(n, np.inf) for name in draws}
            for draw in draws.values():
                draw(poses[0])
            for _ in range(options.rounds):
                for name, draw in draws.items():
                    # The prototype's idle threads keep turning for a while and take cores.
                    time.sleep(0.2)
                    draw(poses[-1])
                    for k, pose in enumerate(poses):
                        began = clock()
                        draw(pose)
                        best[name][k] = min(best[name][k], (clock() - began) * 1e3)
            mean = {name: float(values.mean()) for name, values in best.items()}
            print(
                f"{size[0]:>6}x{size[1]} {ss:>2} {mean['same']:10.2f} {mean['full']:10.2f} "
                f"{mean['auto']:10.2f} {mean['same'] / mean['full']:14.2f}x "
                f"{mean['walls'] / mean['full']:9.2f}x {mean['walls'] / mean['auto']:9.2f}x"
                f"   triangles {len(same.F)} / {len(walls.F)}"
            )


if __name__ == "__main__":
    main()

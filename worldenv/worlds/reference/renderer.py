"""Draws a lit scene from any camera: frame, metric depth and instance ids."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import intrinsics
from worldenv.worlds.reference import raster
from worldenv.worlds.reference.changing import (
    Form,
    make_dimmer,
    make_form,
    shades_of,
    sphere_of,
)
from worldenv.worlds.reference.coarse import lend
from worldenv.worlds.reference.costumes import Costumes, Rows
from worldenv.worlds.reference.light import UNIT
from worldenv.worlds.reference.lit import Lit, build_light, exposure, probe, relight
from worldenv.worlds.reference.parts import Part, place, smooth_normals, turned
from worldenv.worlds.reference.scene import Instance, Mesh, Scene
from worldenv.worlds.reference.texels import ENCODE, FINE_LINEAR, LEVELS, Pool
from worldenv.worlds.reference.wander import Guise

__all__ = ["DETAILS", "Drawn", "Renderer"]

DETAILS = ("auto", "full", "coarse")
SMALL = 8.0
"""Below this projected radius, pixels of the frame, the coarse mesh is drawn: so small that it is
not seen when a thing that comes closer changes its mesh."""
UNLIT = 0.05
"""How much of its glow a lamp shade keeps when its lamp is dark: it is seen by other light."""
THROUGH = 0.6
"""Share of the ambient light that leaves are lent, for receivers that are buried in a crown: light
comes from leaf to leaf, and the rays of a receiver follow one bounce. It is added in quadrature to
what they receive: a leaf in the dark gets just this, one that is well lit hardly any more."""
BRIGHTNESS = 0.62
"""Display-linear value of a white surface in the reference light, before the tone curve."""


class Drawn(NamedTuple):
    """One picture.

    Attributes:
        frame: Shape (height, width, 3) uint8.
        depth: Shape (height, width) float32, planar metres, 0 where nothing was hit.
        ids: Shape (height, width) uint16, 0 where nothing was hit.
    """

    frame: NDArray[np.uint8]
    depth: NDArray[np.float32]
    ids: NDArray[np.uint16]


class _Level(NamedTuple):
    """Where one level of detail of an instance lies in the arrays."""

    part: Part
    first_vertex: int
    first_face: int
    first_chart: int


class Renderer:
    """A scene, its light and the working memory to draw it.

    Example:
        >>> from worldenv.worlds.reference import plain
        >>> drawn = Renderer(plain.build(0), size=(32, 32)).draw(plain.build(0).views[0].pose)
        >>> drawn.frame.shape
        (32, 32, 3)
    """

    def __init__(
        self,
        scene: Scene | Lit,
        *,
        size: tuple[int, int] = (256, 256),
        fov: float = 75.0,
        supersample: int = 1,
        detail: str = "auto",
        threads: int = 1,
        cache: bool = True,
    ) -> None:
        self.size, self.fov, self.supersample = size, fov, supersample
        self.detail, self.threads = detail, threads
        self._lit = scene if isinstance(scene, Lit) else build_light(scene, threads, cache)
        self._exposure = self._lit.scene.exposure * exposure(self._lit.scene)
        # A small frame of coarse meshes never shows the finest mipmaps of most textures.
        small = detail == "coarse" and max(size) * supersample <= 128
        self._finest = 1 << (max(size) * supersample).bit_length() if small else 1 << (LEVELS - 1)
        self._pool = Pool(self._finest)
        self._resolved: dict[tuple[int, int, bool], tuple[Any, ...]] = {}
        self._densities: dict[
            tuple[int, int], tuple[Part, NDArray[np.int64], NDArray[np.float32]]
        ] = {}
        width, height = size
        shape = (height * supersample, width * supersample)
        self._inverse = np.zeros(shape, np.float32)
        self._record = np.zeros(shape, np.int32)
        self._probes: dict[tuple[int, bytes], tuple[NDArray[np.float32], ...]] = {}
        self._guise: Callable[[Instance], Guise | None] | None = None
        self._assemble()

    @property
    def scene(self) -> Scene:
        """What is drawn now."""
        return self._lit.scene

    @property
    def lit(self) -> Lit:
        """The scene with its light; hand it to ``show`` to come back to it."""
        return self._lit

    def swap(self, scene: Scene, changed: list[int]) -> None:
        """Draw a scene that differs in some instances only, given by id.

        Lamps, ambient light and event must be the same.
        """
        self.show(relight(self._lit, scene, changed, self.threads))

    def show(self, lit: Lit) -> None:
        """Draw another lit scene from now on."""
        self._lit = lit
        self._exposure = lit.scene.exposure * exposure(lit.scene)
        self._probes.clear()
        self._assemble()

    def wear(self, guise: Callable[[Instance], Guise | None] | None) -> None:
        """Draw instances otherwise than they are in the scene from now on.

        Args:
            guise: Instance -> how it is drawn, None as it is; never asked about what moves. None
                draws all as they are.
        """
        self._guise = guise
        self._chosen = False

    def _assemble(self) -> None:
        """Lay all parts end to end in the arrays that the kernels read."""
        lit = self._lit
        names = sorted(
            {
                material.texture
                for instance in lit.scene.instances
                for mesh in (instance.mesh, instance.coarse)
                if mesh is not None
                for material in mesh.materials
            }
        )
        if len(self._pool.texels.side) > 2 * len(names) + 64:
            self._pool = Pool(self._finest)
        self._pool.add({name: lit.scene.textures[name] for name in names})
        pool = self._pool.texels
        self._levels: dict[int, tuple[_Level, ...]] = {}
        columns: dict[str, list[NDArray[np.generic]]] = {
            k: []
            for k in (
                "vertices uv light faces texture tint glows density chart frame layout map id"
            ).split()
        }
        # Where an event dims lamps, the light without them is laid out beside.
        unlit: tuple[list[NDArray[np.float32]], list[NDArray[np.float32]]] = ([], [])
        vertex = face = chart = texel = 0
        for instance in lit.scene.instances:
            levels = []
            meshes = (instance.mesh, instance.coarse)
            for k, part in enumerate(lit.parts[instance.id]):
                mesh = meshes[k]
                assert mesh is not None
                levels.append(_Level(part, vertex, face, chart))
                light, light_map = self._light_of(lit, instance.id, k)
                if lit.unlit is not None:
                    for column, dark in zip(
                        unlit, self._light_of(lit.unlit, instance.id, k), strict=True
                    ):
                        column.append(dark)
                material = part.face_material
                table = _materials(mesh, self._pool.number, self._exposure, lit.gain)
                texture = table[0][material]
                layout = part.chart_layout.copy()
                layout[:, 0] += texel
                columns["vertices"].append(part.vertices)
                columns["uv"].append(part.uv)
                columns["light"].append(light)
                columns["faces"].append(part.faces + np.int32(vertex))
                columns["texture"].append(texture)
                columns["tint"].append(table[1][material])
                columns["glows"].append(table[2][material])
                columns["density"].append(
                    self._density_of(part, instance.id, k, pool.side[texture])
                )
                columns["chart"].append(
                    np.where(part.face_chart >= 0, part.face_chart + np.int32(chart), np.int32(-1))
                )
                columns["frame"].append(part.chart_frame)
                columns["layout"].append(layout)
                columns["map"].append(light_map)
                columns["id"].append(np.full(len(part.faces), instance.id, np.uint16))
                vertex += len(part.vertices)
                face += len(part.faces)
                chart += len(layout)
                texel += len(light_map)
            self._levels[instance.id] = tuple(levels)
        joined = {k: np.ascontiguousarray(np.concatenate(v)) for k, v in columns.items()}
        self._geometry = raster.Geometry(
            joined["vertices"],
            joined["uv"],
            joined["light"],
            joined["faces"],
            joined["texture"],
            joined["tint"],
            joined["glows"],
            joined["density"],
            joined["chart"],
            joined["frame"],
            joined["layout"],
            joined["map"],
            pool.texels,
            pool.offset,
            pool.side,
            pool.levels,
            FINE_LINEAR,
            ENCODE,
        )
        self._face_id = joined["id"]
        self._dimmer = None
        if lit.unlit is not None:
            self._dimmer = make_dimmer(self._geometry, unlit, self._face_id, lit.scene)
        self._brightness = 1.0
        # A face that the near plane cuts becomes up to two triangles.
        records = 2 * face
        self._scratch = raster.Scratch(
            np.empty((vertex, 3), np.float32),
            np.empty((vertex, 2), np.float64),
            np.empty((records, 6), np.float64),
            np.empty((records, 3), np.float64),
            np.empty((records, 6), np.float32),
            np.empty(records, np.int32),
            np.empty((records, 2), np.int32),
            self._inverse,
            self._record,
        )
        instances = lit.scene.instances
        self._moving = [i for i in instances if i.moves]
        self._row = {instance.id: k for k, instance in enumerate(instances)}
        self._forms: dict[int, Form] = {}
        for instance in self._moving:
            part = lit.parts[instance.id][0]
            self._forms[instance.id] = make_form(part.local, part.normals)
        self._placed: dict[int, tuple[bytes, Form]] = {}
        self._table = np.array(
            [[_row_of(levels[k]) for k in (0, -1)] for levels in self._levels.values()], np.int64
        )
        self._spheres = np.zeros((len(instances), 4))
        for k, instance in enumerate(instances):
            self._spheres[k] = sphere_of(lit.parts[instance.id][0].local, instance.pose)
        rows = {
            i: tuple(
                Rows(
                    x.part,
                    slice(x.first_vertex, x.first_vertex + len(x.part.vertices)),
                    slice(x.first_face, x.first_face + len(x.part.faces)),
                    slice(x.first_chart, x.first_chart + len(x.part.chart_layout)),
                )
                for x in levels
            )
            for i, levels in self._levels.items()
        }
        self._costumes = Costumes(self._geometry, rows, instances, self._spheres)
        self._chosen = self._guise is None

    def _density_of(
        self, part: Part, instance: int, k: int, side: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Return texels of mipmap 0 a metre (m,), kept while part and textures stay."""
        old = self._densities.get((instance, k))
        if old is None or old[0] is not part or not np.array_equal(old[1], side):
            old = (part, side, _density(part, side))
            self._densities[instance, k] = old
        return old[2]

    def _light_of(
        self, lit: Lit, instance: int, k: int
    ) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return a part's light at vertices and texels, kept while what it was made of is."""
        full, part = lit.parts[instance][0], lit.parts[instance][k]
        direct, around = lit.direct[instance], lit.around[instance]
        # A scene whose lamps are dimmed is also looked up without them.
        key = (instance, k, lit is self._lit)
        old = self._resolved.get(key)
        made_of = (part, direct, around, lit.gain)
        if old is None or any(a is not b for a, b in zip(old[:4], made_of, strict=True)):
            light = lit.received(direct, around, UNIT / 2 if full.two_sided else UNIT)
            if full.two_sided:
                light = np.hypot(light, _through(lit))
            old = (*made_of, *_resolve(part, light if k == 0 else lend(full, light, part)))
            self._resolved[key] = old
        return old[4], old[5]

    def draw(self, pose: NDArray[np.float64], time: float = 0.0) -> Drawn:
        """Return the picture from a camera-to-scene pose (4, 4) at a time in seconds.

        Args:
            pose: OpenCV camera axes in scene coordinates.
            time: Of the scene's event.
        """
        width, height = self.size
        K = intrinsics(self.size, self.fov)
        ss = self.supersample
        camera = raster.Camera(
            np.ascontiguousarray(pose[:3, :3].T, np.float64),
            np.ascontiguousarray(pose[:3, 3], np.float64),
            float(K[0, 0]) * ss,
            float(K[0, 2]) * ss,
            float(K[1, 2]) * ss,
            ss,
        )
        self._dim(time)
        shades, shade_id = self._move(time)
        background = np.array(self.scene.background, np.float32)
        picture = raster.Picture(
            np.zeros((height, width, 3), np.uint8),
            np.empty((height, width), np.float32),
            np.empty((height, width), np.uint16),
            self._face_id,
            shades,
            shade_id,
            background,
        )
        if not self._chosen:
            self._costumes.choose(self._guise)
            self._chosen = True
        visible, order, coarse = self._visible(camera, float(K[0, 0]))
        last = [len(self._levels[i.id]) - 1 for i in self.scene.instances]
        self._costumes.put_on(
            (int(k), last[k] if small else 0) for k, small in zip(order, coarse, strict=True)
        )
        raster.draw(visible, self._geometry, camera, self._scratch, picture, self.threads)
        return Drawn(picture.frame, picture.depth, picture.ids)

    def pose_of(self, instance: Instance, time: float) -> NDArray[np.float64]:
        """Return where an instance is at a time, shape (4, 4)."""
        event = self.scene.event
        if event is None or event.instance != instance.id:
            return instance.pose
        return event.pose(time)

    def _dim(self, time: float) -> None:
        """Bring light and glow to the brightness of a time; nothing is done while that stays."""
        event, dimmer = self.scene.event, self._dimmer
        if dimmer is None or event is None or event.brightness is None:
            return
        share = float(event.brightness(time))
        if share == self._brightness:
            return
        self._brightness = share
        for light, dark, added in dimmer.light:
            np.multiply(added, np.float32(share), out=light)
            light += dark
        self._geometry.tint[dimmer.faces] = dimmer.tint * np.float32(UNLIT + (1 - UNLIT) * share)
        # What moves takes its light from probes, and has to take it anew.
        self._placed.clear()

    def _formed(self, instance: Instance, time: float) -> Form:
        """Return the form of a moving instance at a time; the last one is kept."""
        event, old = self.scene.event, self._forms[instance.id]
        if event is None or event.shape is None or event.instance != instance.id:
            return old
        local = np.asarray(event.shape(time), np.float32)
        if local is old.local or np.array_equal(local, old.local):
            return old
        normals = smooth_normals(local, self._levels[instance.id][0].part.faces)
        form = make_form(local, normals.astype(np.float32))
        self._forms[instance.id] = form
        return form

    def _move(self, time: float) -> tuple[NDArray[np.float32], NDArray[np.uint16]]:
        """Put moving things where they are at ``time``; return the spheres of their shadows."""
        shades: list[NDArray[np.float64]] = []
        owners: list[int] = []
        for instance in self._moving:
            pose = self.pose_of(instance, time)
            form = self._formed(instance, time)
            balls = shades_of(form, pose)
            shades.append(balls)
            owners += [instance.id] * len(balls)
            state = (pose.tobytes(), form)
            old = self._placed.get(instance.id)
            if old is not None and old[0] == state[0] and old[1] is form:
                continue
            self._placed[instance.id] = state
            sphere = sphere_of(form.local, pose)
            self._spheres[self._row[instance.id]] = sphere
            key = (instance.id, sphere[:3].tobytes())
            if key not in self._probes:
                if len(self._probes) > 4096:
                    self._probes.clear()
                lit = [self._lit] if self._lit.unlit is None else [self._lit, self._lit.unlit]
                self._probes[key] = tuple(probe(one, sphere[:3]) for one in lit)
            axes, *dark = self._probes[key]
            if dark:
                axes = dark[0] + np.float32(self._brightness) * (axes - dark[0])
            for k, level in enumerate(self._levels[instance.id]):
                part, first = level.part, level.first_vertex
                rows = slice(first, first + len(part.vertices))
                local, flat = (part.local, part.normals) if k else (form.local, form.normals)
                self._geometry.vertices[rows] = place(local, pose)
                normals = turned(flat.astype(np.float64), pose)
                square = normals**2
                side = np.where(normals >= 0, np.arange(3), np.arange(3, 6))
                self._geometry.light[rows] = (square[..., None] * axes[side]).sum(axis=1)
        if not shades:
            return np.zeros((0, 4), np.float32), np.zeros(0, np.uint16)
        return np.concatenate(shades).astype(np.float32), np.array(owners, np.uint16)

    def _visible(
        self, camera: raster.Camera, focal: float
    ) -> tuple[NDArray[np.int64], NDArray[np.intp], NDArray[np.bool_]]:
        """Return what ``raster.draw`` takes of the instances in the frustum, nearest first.

        Also which instances they are, by their order in the scene, and which are drawn coarse.
        """
        width, height = self.size
        spheres = self._spheres
        centre = (spheres[:, :3] - camera.centre) @ camera.turn.T
        radius = spheres[:, 3]
        kx, ky = 0.5 * width / focal, 0.5 * height / focal
        x, y, z = centre.T
        seen = (
            (z > raster.NEAR - radius)
            & (np.abs(x) <= kx * z + radius * math.sqrt(1 + kx * kx))
            & (np.abs(y) <= ky * z + radius * math.sqrt(1 + ky * ky))
        )
        distance = np.sqrt((centre**2).sum(axis=1)) - radius
        size = radius * focal / np.maximum(distance + radius, 1e-6)
        order = np.argsort(distance, kind="stable")
        order = order[seen[order]]
        coarse = (self.detail == "coarse") | ((self.detail == "auto") & (size[order] < SMALL))
        table: NDArray[np.int64] = self._table[order, coarse.astype(np.intp)]
        # Only what reaches the near plane can be cut by it.
        near = z[order] - radius[order] <= raster.NEAR
        records = table[:, 1] * (1 + near)
        table[:, 4] = np.cumsum(records) - records
        return table, order, coarse


def _row_of(level: _Level) -> tuple[int, int, int, int, int, int]:
    """Return what ``raster.draw`` takes of a level, the first record still 0."""
    part = level.part
    return (
        level.first_face,
        len(part.faces),
        level.first_vertex,
        len(part.vertices),
        0,
        int(part.two_sided),
    )


def _through(lit: Lit) -> NDArray[np.float32]:
    """Return the light that leaves are lent (3,), with the gain on light from around.

    It is of the whole scene, so what stands in it or moves alters it nowhere.
    """
    gain = np.float32(1.0) if lit.gain is None else lit.gain[1]
    return np.asarray(lit.lamps.ambient * gain * np.float32(THROUGH), np.float32)


def _resolve(
    part: Part, light: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the light at all vertices (n, 3) and the filtered light maps (t, 3)."""
    n = len(light) - len(part.lit_texels)
    at_vertices = np.zeros((len(part.vertices), 3), np.float32)
    at_vertices[part.lit_vertices] = light[part.lit_from]
    maps = np.zeros((part.texels, 3), np.float32)
    maps[part.lit_texels] = light[n:]
    for first, columns, rows in part.chart_layout:
        block = maps[first : first + columns * rows].reshape(rows, columns, 3)
        # Weights 1 2 1 give even and odd texels equal shares: the four sample sets join evenly.
        wide = np.pad(block, ((1, 1), (1, 1), (0, 0)), mode="reflect")
        rows_done = 0.25 * wide[:-2] + 0.5 * wide[1:-1] + 0.25 * wide[2:]
        block[...] = 0.25 * rows_done[:, :-2] + 0.5 * rows_done[:, 1:-1] + 0.25 * rows_done[:, 2:]
    return at_vertices, maps


def _materials(
    mesh: Mesh, pooled: dict[str, int], factor: float, gain: NDArray[np.float32] | None
) -> tuple[NDArray[np.int32], NDArray[np.float32], NDArray[np.uint8]]:
    texture = np.array([pooled[m.texture] for m in mesh.materials], np.int32)
    tint = np.array(
        [
            np.array(m.tint) * (m.emission if m.emission > 0 else BRIGHTNESS * factor)
            for m in mesh.materials
        ],
        np.float32,
    )
    if gain is not None:
        # Lamps, screens and the sky shine like the light that falls on everything else.
        tint[[m.emission > 0 for m in mesh.materials]] *= gain[0]
    return texture, tint, np.array([m.emission > 0 for m in mesh.materials], np.uint8)


def _density(part: Part, side: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return texels of mipmap 0 a metre, shape (m,)."""
    p = part.local[part.faces].astype(np.float64)
    q = part.uv[part.faces].astype(np.float64)
    area = np.linalg.norm(np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]), axis=1)
    a, b = q[:, 1] - q[:, 0], q[:, 2] - q[:, 0]
    covered = np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0])
    density = np.sqrt(covered / np.maximum(area, 1e-12)) * side
    return np.asarray(density, dtype=np.float32)

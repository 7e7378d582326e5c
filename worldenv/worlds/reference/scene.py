"""What a scene is made of: meshes, materials, instances, lamps, views, an event.

Scene axes are x right, y up, z towards the viewer (right-handed), in metres, floor at y = 0.
Cameras keep OpenCV axes: a view's pose takes camera coordinates (x right, y down, z forward) to
scene coordinates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Material(NamedTuple):
    """How a surface looks.

    Attributes:
        texture: Key into ``Scene.textures``.
        tint: Linear RGB factor on the texture.
        emission: Radiance factor of the tinted texture; above 0 the surface ignores the light.
    """

    texture: str
    tint: tuple[float, float, float] = (1.0, 1.0, 1.0)
    emission: float = 0.0


class Mesh(NamedTuple):
    """Triangles with one material each. Faces wind counter-clockwise seen from outside.

    Attributes:
        vertices: Shape (n, 3) float32.
        uv: Shape (n, 2) float32; 1 is one repeat of the texture, v grows downwards in the image.
        faces: Shape (m, 3) int32.
        face_material: Shape (m,) int32, index into ``materials``.
        materials: What the faces are made of.
        two_sided: Whether backs are drawn (leaves, cloth).
        smooth: Whether all light is kept at the vertices, as suits plants, hills and the sky; else
            large flat faces get light maps.
        texel: Least side of a light-map texel in metres; 0 for the usual one.
        shades: Whether it stands in the way of light; thin layers on the ground need not.
    """

    vertices: NDArray[np.float32]
    uv: NDArray[np.float32]
    faces: NDArray[np.int32]
    face_material: NDArray[np.int32]
    materials: tuple[Material, ...]
    two_sided: bool = False
    smooth: bool = False
    texel: float = 0.0
    shades: bool = True


@dataclass(frozen=True)
class Instance:
    """A thing in the scene.

    Attributes:
        id: Value in the id image, 1 to 65535, unique in the scene.
        name: Unique, e.g. ``chair-2``.
        category: What a detector would call it, e.g. ``chair``, ``person``, ``wall``.
        variant: Which of its kind, e.g. ``chair/oak/17``; another variant looks visibly different.
        mesh: In the instance's own frame: y up, standing on y = 0, facing +z.
        pose: Instance to scene, shape (4, 4) float64; rigid, unless an event stretches the thing.
        coarse: A mesh of about a quarter of the triangles for far or small views.
        flat: Whether it closes the place (walls, ground, sky, houses): no obstacle, no target, and
            light maps on all its faces unless smooth.
        moves: Whether an event moves it; it then takes a contact shadow instead of built light.
    """

    id: int
    name: str
    category: str
    variant: str
    mesh: Mesh
    pose: NDArray[np.float64]
    coarse: Mesh | None = None
    flat: bool = False
    moves: bool = False


class Lamp(NamedTuple):
    """A rectangle that shines one way: origin, two edges (their cross product is the direction)."""

    origin: tuple[float, float, float]
    edge_u: tuple[float, float, float]
    edge_v: tuple[float, float, float]
    radiance: tuple[float, float, float]


class View(NamedTuple):
    """A place to start from.

    Attributes:
        name: E.g. ``desk``.
        pose: Camera to scene, shape (4, 4) float64; level.
        scripts: Names of the scripts that there is free space for, e.g. ``r2m:closed_loop``.
        targets: Names of the instances that are well seen from here, best first.
    """

    name: str
    pose: NDArray[np.float64]
    scripts: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


class SceneEvent(NamedTuple):
    """A change in closed form: the state at any time without stepping.

    Attributes:
        name: E.g. ``ball_rolls_off``.
        mechanism: E.g. ``moving``.
        instance: Id of the instance that changes.
        pose: Time in seconds -> instance pose (4, 4): a turn, a stretch along the instance's own
            axes, a place. A thing that shrinks or grows as a whole does so about its base.
        progress: Time in seconds -> 0 (start) to 1 (final state); never falls.
        duration: Seconds until progress is 1.
        shape: Time in seconds -> vertices (n, 3) float32 in the instance's own frame, for what
            changes its form; None where the mesh stays as it is. Such an instance has no coarse
            mesh.
        lamps: Which of ``Scene.lamps`` the event dims.
        brightness: Time in seconds -> share (0 to 1) of their light that these lamps give; what
            glows of the instance follows. None where the light stays as it is.
    """

    name: str
    mechanism: str
    instance: int
    pose: Callable[[float], NDArray[np.float64]]
    progress: Callable[[float], float]
    duration: float
    shape: Callable[[float], NDArray[np.float32]] | None = None
    lamps: tuple[int, ...] = ()
    brightness: Callable[[float], float] | None = None


@dataclass(frozen=True)
class Scene:
    """Everything that is rendered.

    Attributes:
        instances: The things, by ascending id.
        lamps: What shines.
        ambient: Linear RGB light from everywhere, before occlusion.
        background: Linear RGB where nothing is hit.
        textures: Key -> square uint8 sRGB image (side a power of two).
        views: Places to start from, the default first.
        event: The change, None in a static scene.
        tags: What else is to be known of it, as text.
        exposure: Factor on the exposure that the lamps ask for; below 1 where it is evening.
        display: Factor from light to display range; None takes it from lamps and ambient light,
            which must then hang over the scene.
    """

    instances: tuple[Instance, ...]
    lamps: tuple[Lamp, ...]
    ambient: tuple[float, float, float]
    background: tuple[float, float, float]
    textures: dict[str, NDArray[np.uint8]]
    views: tuple[View, ...]
    event: SceneEvent | None = None
    tags: dict[str, str] = field(default_factory=dict)
    exposure: float = 1.0
    display: float | None = None

    def instance(self, name_or_id: str | int) -> Instance:
        """Return an instance by name or id.

        Raises:
            KeyError: there is none.
        """
        for instance in self.instances:
            if name_or_id in (instance.name, instance.id):
                return instance
        raise KeyError(name_or_id)

    def without(self, name_or_id: str | int) -> Scene:
        """Return the scene as if that instance had never been there."""
        gone = self.instance(name_or_id)
        return replace(self, instances=tuple(i for i in self.instances if i.id != gone.id))

    def with_dimmed(self, share: float) -> Scene:
        """Return the scene with the event's lamps at a share (0 to 1) of their light."""
        dimmed = () if self.event is None else self.event.lamps
        lamps = list(self.lamps)
        for k in dimmed:
            r, g, b = lamps[k].radiance
            lamps[k] = lamps[k]._replace(radiance=(share * r, share * g, share * b))
        return replace(self, lamps=tuple(lamps))

    def with_instance(
        self, instance: Instance, textures: dict[str, NDArray[np.uint8]] | None = None
    ) -> Scene:
        """Return the scene with an instance added, or put in the place of the one of its id."""
        others = [i for i in self.instances if i.id != instance.id]
        return replace(
            self,
            instances=tuple(sorted([*others, instance], key=lambda i: i.id)),
            textures={**self.textures, **(textures or {})},
        )

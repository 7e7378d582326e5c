"""The scene families by name, and how a start names one of their scenes."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.world import UnknownName, Unsupported
from worldenv.worlds.reference.passing import Passing, read_passing, with_passing
from worldenv.worlds.reference.scene import Instance, Scene, View

__all__ = ["FAMILIES", "SceneName", "find_view", "read_start", "reimagine", "scene_of"]

FAMILIES = {
    "abstract": "worldenv.worlds.reference.abstract",
    "interior": "worldenv.worlds.reference.interior",
    "park": "worldenv.worlds.reference.park",
    "street": "worldenv.worlds.reference.street",
    "plain": "worldenv.worlds.reference.plain",
    "workshop": "worldenv.worlds.reference.workshop",
}
KEYS = ("family", "seed", "view", "event", "passing")
"""Keys of ``Start.scene``."""


class SceneName(NamedTuple):
    """Which scene: family, seed and event. A view is where the camera starts in it.

    Attributes:
        family: Key of ``FAMILIES``.
        seed: Of the scene.
        event: Name of its event.
        passing: What passes before the camera, and the view that this is told from.
    """

    family: str
    seed: int
    event: str | None
    passing: tuple[Passing, str | None] | None = None


def read_start(
    scene: dict[str, Any] | None, family: str, seed: int
) -> tuple[SceneName, str | None]:
    """Return the scene that a start names and its view (None: the default one).

    Args:
        scene: ``Start.scene``; None lets ``seed`` pick a scene of ``family``.
        family: The world's default family.
        seed: Of the episode.

    Raises:
        UnknownName: a key or the family is unknown.
        Unsupported: a value has the wrong type.
    """
    if scene is None:
        drawn = int(np.random.default_rng([seed, 17]).integers(1 << 16))
        return SceneName(family, drawn, None), None
    if not isinstance(scene, dict):
        raise Unsupported(f"Start.scene must be a dict or None, got {type(scene).__name__}")
    for key in scene:
        if key not in KEYS:
            raise UnknownName("key of Start.scene", str(key), KEYS)
    name, number = scene.get("family", family), scene.get("seed", 0)
    view, event = scene.get("view"), scene.get("event")
    if not isinstance(name, str) or name not in FAMILIES:
        raise UnknownName("scene family", str(name), FAMILIES)
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 0:
        raise Unsupported(f"the seed of a scene must be an integer >= 0, got {number!r}")
    for label, value in (("view", view), ("event", event)):
        if value is not None and not isinstance(value, str):
            raise Unsupported(f"the {label} of a scene must be a name or None, got {value!r}")
    passing = read_passing(scene.get("passing"))
    passes = None if passing is None else (passing, view)
    return SceneName(name, int(number), event, passes), view


def find_view(scene: Scene, name: str | None) -> View:
    """Return a view by name, the default one for None.

    Raises:
        UnknownName: the scene has no such view.
    """
    if name is None:
        return scene.views[0]
    for view in scene.views:
        if view.name == name:
            return view
    raise UnknownName("view of the scene", name, [v.name for v in scene.views])


@functools.lru_cache(maxsize=1)
def scene_of(name: SceneName) -> Scene:
    """Return the scene of a name; the last one is kept, for its textures alone take 35 MB.

    Raises:
        Unsupported: the family has no such event, or something would pass beside an event.
    """
    build: Callable[..., Scene] = importlib.import_module(FAMILIES[name.family]).build
    if name.passing is not None:
        if name.event is not None:
            raise Unsupported("a scene has an event or something that passes, not both")
        passing, view = name.passing
        scene = scene_of(name._replace(passing=None))
        return with_passing(scene, np.asarray(find_view(scene, view).pose), passing, name.seed)
    try:
        return build(name.seed, event=name.event)
    except (KeyError, ValueError) as error:
        if name.event is None:
            raise
        raise Unsupported(
            f"the scene family {name.family!r} cannot build event {name.event!r}: {error}"
        ) from error


def reimagine(
    name: SceneName, scene: Scene, instance: Instance, seed: int
) -> tuple[Instance, dict[str, NDArray[np.uint8]]]:
    """Return another variant of an instance, by its family, and the textures it needs."""
    function = importlib.import_module(FAMILIES[name.family]).reimagine
    result: tuple[Instance, dict[str, NDArray[np.uint8]]] = function(scene, instance, seed)
    return result

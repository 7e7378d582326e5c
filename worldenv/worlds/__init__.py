"""Worlds: one module or package each, found by name, by module or by file."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from worldenv.world import UnknownName, World, WorldEnvError, WorldSpec

WORLDS: dict[str, str] = {
    "Reference": "worldenv.worlds.reference:make",
    "Panorama": "worldenv.worlds.panorama:make",
    "Recorded": "worldenv.worlds.recorded:make",
    "Remote": "worldenv.worlds.remote:make",
    "Distorted": "worldenv.worlds.distorted:make",
    "WorldPlay": "worldenv.worlds.models.worldplay:make",
    "WorldPlayWan": "worldenv.worlds.models.worldplay_wan:make",
    "MatrixGame2": "worldenv.worlds.models.matrix_game2:make",
    "MatrixGame3": "worldenv.worlds.models.matrix_game3:make",
    "MatrixGame35": "worldenv.worlds.models.matrix_game35:make",
    "SanaWM": "worldenv.worlds.models.sana_wm:make",
    "SanaWMStreaming": "worldenv.worlds.models.sana_wm_streaming:make",
    "Yume": "worldenv.worlds.models.yume:make",
    "Yume15": "worldenv.worlds.models.yume15:make",
    "LingBotWorld": "worldenv.worlds.models.lingbot_world:make",
    "LingBotWorldFast": "worldenv.worlds.models.lingbot_world_fast:make",
    "LingBotWorld2": "worldenv.worlds.models.lingbot_world2:make",
    "Evoke": "worldenv.worlds.models.evoke:make",
    "DreamXWorld": "worldenv.worlds.models.dreamx_world:make",
    "DreamXWorldCam": "worldenv.worlds.models.dreamx_world_cam:make",
    "DreamXWorldMemo": "worldenv.worlds.models.dreamx_world_memo:make",
    "Lyra2": "worldenv.worlds.models.lyra2:make",
    "InfiniteWorld": "worldenv.worlds.models.infinite_world:make",
    "WonderWorld": "worldenv.worlds.models.wonder_world:make",
    "SelfForcing": "worldenv.worlds.models.self_forcing:make",
    "LongLive": "worldenv.worlds.models.longlive:make",
    "LongLive2": "worldenv.worlds.models.longlive2:make",
    "Helios": "worldenv.worlds.models.helios:make",
    "CausalForcing": "worldenv.worlds.models.causal_forcing:make",
    "MemFlow": "worldenv.worlds.models.memflow:make",
    "CosmosPredict25": "worldenv.worlds.models.cosmos_predict25:make",
    "LongCatVideo": "worldenv.worlds.models.longcat_video:make",
    "SkyReelsV2": "worldenv.worlds.models.skyreels_v2:make",
}
"""World name -> ``module:factory``; each is also registered as ``{name}-v0``."""


GROUP = "worldenv.worlds"
"""Entry-point group by which other packages add worlds: name = module:factory."""


class InvalidWorld(WorldEnvError):
    """What a factory returned is no World, or the factory cannot be loaded."""


def load_world(name: str, **options: Any) -> World:
    """Return a new world.

    Args:
        name: An id (``Reference-v0``, ``Reference``), ``module:factory`` or ``file.py:factory``
            (``file.py`` alone means its function ``make``).
        options: Keywords of the factory.

    Raises:
        UnknownName: there is no such world, or its factory has no such option.
        InvalidWorld: the module or file cannot be loaded, or returns something else.
    """
    factory = _factory(name)
    try:
        parameters = list(inspect.signature(factory).parameters.values())
    except ValueError:
        # Some factories written in C tell nothing of their arguments.
        parameters = []
    if parameters and not any(p.kind is p.VAR_KEYWORD for p in parameters):
        known = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        for option in options:
            if option not in known:
                raise UnknownName(f"option of world {name!r}:", option, known)
    try:
        world = factory(**options)
    except WorldEnvError:
        raise
    except Exception as error:
        raise InvalidWorld(f"{name} cannot be made: {type(error).__name__}: {error}") from error
    missing = [method for method in ("reset", "step", "close") if not hasattr(world, method)]
    if missing or not isinstance(getattr(world, "spec", None), WorldSpec):
        raise InvalidWorld(
            f"{name} returned a {type(world).__name__}; expected a World with spec: WorldSpec, "
            "reset, step and close"
        )
    checked: World = world
    return checked


def world_module(name: str) -> Any:
    """Return the module of a built-in world; importing it loads nothing heavy.

    Raises:
        UnknownName: there is no such world.
    """
    plain = re.sub(r"-v\d+$", "", name)
    if plain not in WORLDS:
        raise UnknownName("world", name, [f"{world}-v0" for world in WORLDS])
    return _load_module(WORLDS[plain].partition(":")[0])


def plugins() -> dict[str, str]:
    """Return the worlds that installed packages add: name -> ``module:factory``.

    Nothing of theirs is imported. A name of worldenv's own cannot be taken.
    """
    points: Any = importlib.metadata.entry_points()
    # Python 3.9 returns a dict of lists.
    chosen = points.select(group=GROUP) if hasattr(points, "select") else points.get(GROUP, ())
    return {re.sub(r"-v0$", "", p.name): re.sub(r"\s*\[.*", "", p.value) for p in chosen}


def _factory(name: str) -> Callable[..., Any]:
    place, _, function = name.rpartition(":")
    if name.endswith(".py"):
        place, function = name, "make"
    if not place:
        plain = re.sub(r"-v\d+$", "", name)
        known = WORLDS if plain in WORLDS else {**plugins(), **WORLDS}
        if plain not in known or name not in (plain, f"{plain}-v0"):
            raise UnknownName("world", name, [f"{world}-v0" for world in known])
        place, _, function = known[plain].partition(":")
    module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place)
    factory = getattr(module, function, None)
    if not callable(factory):
        found = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
        raise UnknownName(f"factory in {place}:", function, found)
    made: Callable[..., Any] = factory
    return made


def _load_module(place: str) -> Any:
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError as error:
        # An import that fails inside the module is the module's own trouble.
        if error.name is not None and (place == error.name or place.startswith(error.name + ".")):
            raise InvalidWorld(
                f"There is no module {place!r}; give an id such as Reference-v0, module:factory "
                "or file.py:factory"
            ) from error
        raise InvalidWorld(f"{place} needs a module that is absent: {error}") from error
    except Exception as error:
        raise InvalidWorld(f"{place} broke while loading: {error!r}") from error


def _load_file(file: Path) -> Any:
    if not file.is_file():
        raise InvalidWorld(f"There is no file {str(file)!r} to load a world from")
    # The name is made from the path, so that classes of the file can be found again by pickle.
    name = "worldenv_file_" + re.sub(r"\W", "_", str(file.resolve()))
    if name in sys.modules:
        return sys.modules[name]
    loader = importlib.util.spec_from_file_location(name, file)
    if loader is None or loader.loader is None:
        raise InvalidWorld(f"{file} cannot be loaded as Python")
    module = importlib.util.module_from_spec(loader)
    sys.modules[name] = module
    try:
        loader.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise InvalidWorld(f"{file} broke while loading: {error!r}") from error
    return module


__all__ = ["GROUP", "WORLDS", "InvalidWorld", "load_world", "plugins", "world_module"]

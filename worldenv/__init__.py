"""worldenv: measure what video world models remember.

``import worldenv`` registers the environment ids; ``gym.make("worldenv:Reference-v0")`` does both.
"""

from gymnasium.envs.registration import register, registry

from worldenv.camera import CameraPath, Primitive
from worldenv.world import (
    Chunk,
    GenerationFailed,
    PlanRequired,
    Start,
    UnknownName,
    Unsupported,
    WeightsNotFound,
    World,
    WorldEnvError,
    WorldSpec,
)
from worldenv.worlds import WORLDS, InvalidWorld, load_world

__version__ = "0.1.0"

__all__ = [
    "CameraPath",
    "Chunk",
    "GenerationFailed",
    "InvalidWorld",
    "PlanRequired",
    "Primitive",
    "Start",
    "UnknownName",
    "Unsupported",
    "WeightsNotFound",
    "World",
    "WorldEnvError",
    "WorldSpec",
    "load_world",
]

for _name in WORLDS:
    # A reload stays silent.
    if f"{_name}-v0" not in registry:
        register(f"{_name}-v0", entry_point="worldenv.env:make_world_env", kwargs={"world": _name})

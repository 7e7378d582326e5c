"""worldenv: measure what video world models remember.

``import worldenv`` registers the environment ids; ``gym.make("worldenv:Reference-v0")`` does both.
"""

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

__version__ = "0.1.0"

__all__ = [
    "CameraPath",
    "Chunk",
    "GenerationFailed",
    "PlanRequired",
    "Primitive",
    "Start",
    "UnknownName",
    "Unsupported",
    "WeightsNotFound",
    "World",
    "WorldEnvError",
    "WorldSpec",
]

"""What worlds there are: how each is driven, under which licence, and what it still needs here."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

from worldenv.world import WorldEnvError, WorldSpec
from worldenv.worlds import WORLDS, load_world, world_module
from worldenv.worlds.models.model import Model

__all__ = ["Entry", "entries"]


@dataclass(frozen=True)
class Entry:
    """A world in the list.

    Attributes:
        id: Id, with version.
        title: Name and variant.
        control: ``poses``, ``keys`` or ``captions``: what the model is asked by.
        spec: Its spec, None where only an option makes it known.
        licence: Licence of code and weights.
        readiness: ``ready``, or what is missing on this machine.
        verified: What of the way to the model's frames has been run, empty for our own worlds.
    """

    id: str
    title: str
    control: str
    spec: WorldSpec | None
    licence: str
    readiness: str
    verified: str = ""

    @property
    def frames(self) -> str:
        """New frames of the first and of later steps."""
        if self.spec is None:
            return "-"
        if self.spec.drive == "plan" and self.spec.state == "whole":
            return "whole path"
        first, later = self.spec.first_chunk, self.spec.chunk
        return str(later) if first == later else f"{first}, then {later}"

    @property
    def degrees(self) -> str:
        """Degrees that one step turns at the default speed."""
        spec = self.spec
        if spec is None or spec.state == "whole" or "YAW_RIGHT" not in spec.primitives:
            return "-"
        return f"{spec.quantum.get('YAW_RIGHT', 1.0) * spec.chunk:g}"


def entries() -> list[Entry]:
    """Return every built-in world, ours first."""
    return [_entry(name) for name in WORLDS]


def _entry(name: str) -> Entry:
    module = world_module(name)
    model: Model | None = getattr(module, "MODEL", None)
    if model is not None:
        return Entry(
            f"{name}-v0",
            model.title,
            model.control,
            model.spec,
            model.spec.licence,
            _readiness(model),
            model.verified,
        )
    needs = getattr(module, "NEEDS", "")
    try:
        world = load_world(name)
    except WorldEnvError:
        return Entry(f"{name}-v0", name, "poses", None, "-", f"needs {needs}")
    spec = world.spec
    world.close()
    ready = f"needs {needs}" if needs else "ready"
    return Entry(f"{name}-v0", spec.name, "poses", spec, spec.licence, ready)


def _readiness(model: Model) -> str:
    from worldenv.installed import InvalidSetup, saved
    from worldenv.recipe import recipe_names

    if model.local:
        absent = [m for m in ("torch", "diffusers") if importlib.util.find_spec(m) is None]
        return f"needs {' and '.join(absent)}" if absent else "fetches its weights at first reset"
    try:
        launch = saved(model.id)
    except InvalidSetup:
        # One broken file must not hide the other worlds.
        return f"broken: worldenv setup {model.id}"
    if launch is not None:
        return f"set up: {launch.python}"
    if model.id not in recipe_names():
        return "no public weights"
    return f"worldenv setup {model.id}"

"""A model run by its official code, in an environment and a process of its own."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import CameraPath
from worldenv.world import Chunk, Start, Unsupported, WeightsNotFound
from worldenv.worlds.models.model import Model

if TYPE_CHECKING:
    from worldenv.recipe import Recipe
    from worldenv.worlds.remote import RemoteWorld

__all__ = ["OfficialModel", "what_it_takes"]


class OfficialModel:
    """Speaks to the server of a model: one given by address, or started as set up.

    Nothing is started or connected before the first ``reset``, so a spec can be read anywhere.

    Args:
        model: The model.
        options: Options of the model that differ from its defaults.
        server: Address of a running server, or several of which the first free one is taken; None
            starts the one that was set up. Its token comes from ``WORLDENV_TOKEN``.

    Raises:
        Unsupported: options beside ``server``: a running server has its own; or ``server`` is no
            address.
    """

    def __init__(
        self, model: Model, options: Mapping[str, Any], *, server: str | None = None
    ) -> None:
        if server is not None and options:
            raise Unsupported(
                f"{', '.join(options)} cannot be given beside server=: a running server of "
                f"{model.id} has the options that it was started with"
            )
        if server is not None:
            from worldenv.worlds.remote import read_addresses

            read_addresses(server)
        self.model = model
        self.options = dict(options)
        self.server = server
        self.spec = model.spec_of(options)
        self._world: RemoteWorld | None = None

    @property
    def device(self) -> str:
        """What the model runs on; connects or starts it where that was never done.

        It is part of what a rollout is known by, so it must be the same before and after a reset.
        """
        if self._world is None:
            self._world = self._connect()
        return self._world.device

    def __getattr__(self, name: str) -> Any:
        # Asked only for what is not there: these two exist where the model has them.
        if name in ("snapshot", "restore"):
            world = self.__dict__.get("_world")
            if world is not None:
                return getattr(world, name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def reset(self, start: Start, *, seed: int, plan: CameraPath | None) -> Chunk:
        """Begin an episode, starting the server at first use.

        Raises:
            WeightsNotFound: the model has not been set up here; the message says how.
            ServerLost: the server cannot be reached or started.
        """
        if self._world is None:
            self._world = self._connect()
        return self._world.reset(start, seed=seed, plan=plan)

    def step(self, poses: NDArray[np.float64], prompt: str | None = None) -> Chunk:
        """Make one frame per pose; see ``worldenv.world.World``."""
        if self._world is None:
            raise Unsupported(f"{self.spec.name} has no running episode; reset it first")
        return self._world.step(poses, prompt)

    def close(self) -> None:
        """End the session and the server that was started for it; may be called twice."""
        if self._world is not None:
            self._world.close()
            self._world = None

    def _connect(self) -> RemoteWorld:
        from worldenv.installed import saved
        from worldenv.serve import read_token
        from worldenv.worlds.remote import RemoteWorld

        if self.server is not None:
            return RemoteWorld(self.server, token=read_token(None), spec=self.spec)
        launch = saved(self.model.id)
        if launch is None:
            raise WeightsNotFound(what_it_takes(self.model))
        launch = dataclasses.replace(launch, options={**launch.options, **self.options})
        return RemoteWorld.launched(launch, self.model.id, spec=self.spec)


def what_it_takes(model: Model) -> str:
    """Return in one line how a model is set up, and what it needs: commands, sizes, licence."""
    from worldenv.recipe import load_recipe, recipe_names

    name = model.id
    if name not in recipe_names():
        return (
            f"{model.title} cannot be set up: neither its code nor its weights are published. "
            "stand_in=True walks its control without them."
        )
    recipe = load_recipe(name)
    return (
        f"{model.title} is not set up here. 'worldenv setup {name} --create FOLDER' makes its "
        f"environment ('--plan' lists every step), or 'worldenv setup {name} --python PYTHON "
        f"--repo REPO --weights WEIGHTS' takes one that you have. {_needs(recipe)} "
        "stand_in=True walks its control without weights."
    )


def _needs(recipe: Recipe) -> str:
    size = f"{recipe.gigabytes:.0f} GB at least" if recipe.gigabytes else "size not known"
    hubs = ", ".join(w.hub for w in recipe.weights)
    gpu = f"{recipe.gpus} GPU of {recipe.gpu_gigabytes:.0f} GB" if recipe.gpu_gigabytes else "CPU"
    if recipe.gpus and not recipe.gpu_gigabytes:
        gpu = f"{recipe.gpus} GPU, memory not stated by its authors"
    return f"Weights: {hubs} ({size}). Needs: {gpu}. Licence: {recipe.licence.rstrip('.')}."

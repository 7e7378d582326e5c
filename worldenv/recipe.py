"""How a model's own environment is made: the recipe of a world, read from TOML and checked.

A recipe is data, one file a world: ``worldenv/worlds/recipes/<WorldName>.toml``. ``worldenv setup
WORLD --plan`` prints what it says, ``--create FOLDER`` does it, in this order: a virtual
environment, the repository at its commit, the requirements, the steps, the weights.

=================  ==========================================================================
key                meaning
=================  ==========================================================================
title              what the model is called, with its size: ``HY-WorldPlay, HY-8B``
python             version of Python it needs: ``3.10``
gpu_gigabytes      GPU memory one GPU must have, in GiB; 0 where a CPU is enough
gpus               GPUs it needs at least; 1 unless said
memory_gigabytes   main memory it needs, in GiB; 0 where nothing special is known
licence            licence of code and weights, with what it forbids
notes              what else one must know before starting, one text an item
adapter            ``module:factory`` of the world, run inside the model's environment
nproc              ranks that the server starts by default; 1 unless said
options            table: options that the factory gets besides ``repo`` and ``weights``
environment        table: environment variables that the server gets
requirements       what pip installs, one requirement an item, in one call
requirements_file  file of the repository that pip installs after them
steps              commands after that, run in the repository; see below
[repo]             url and commit (7 to 40 hex digits); absent where pip brings the code
[[weights]]        hub, revision, files (globs; absent: all), gigabytes, licence, gated, folder
=================  ==========================================================================

``steps`` are split as a shell would split them, but no shell runs them: pipes and redirections do
not work. ``{python}``, ``{repo}``, ``{weights}`` and ``{folder}`` stand for the environment's
interpreter, the checkout, the weights' folder and the folder of it all. ``folder`` of weights is
below the weights' folder; absent, the last part of ``hub``.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from worldenv.world import UnknownName, WorldEnvError

__all__ = ["InvalidRecipe", "Recipe", "Repo", "Weights", "load_recipe", "recipe_names"]


class InvalidRecipe(WorldEnvError):
    """A recipe does not keep to its schema; the message names the key at fault."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


_Text = Annotated[str, Field(min_length=1)]
_PLACES = ("python", "repo", "weights", "folder")


class Repo(_Strict):
    """Where the model's own code comes from.

    Attributes:
        url: Address that git can clone, https only.
        commit: The commit that is known to work.
    """

    url: Annotated[str, Field(pattern=r"^https://[^\s]+$")]
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{7,40}$")]


class Weights(_Strict):
    """One repository of weights on the model hub.

    Attributes:
        hub: Its id, ``owner/name``.
        revision: Commit, tag or branch; ``main`` where no commit is known.
        files: Globs of the files wanted; empty means all.
        gigabytes: Size of what is fetched, in GB (10^9 bytes); 0 where it is not known.
        licence: Its licence.
        gated: Whether the hub asks for a licence to be accepted first.
        folder: Where it goes, below the weights' folder; empty means the last part of ``hub``.
    """

    hub: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    revision: _Text = "main"
    files: tuple[_Text, ...] = ()
    gigabytes: Annotated[float, Field(ge=0)] = 0.0
    licence: _Text
    gated: bool = False
    folder: Annotated[str, Field(pattern=r"^([\w-][\w.-]*(/[\w-][\w.-]*)*)?$")] = ""

    @property
    def place(self) -> str:
        """Where it goes, below the weights' folder."""
        return self.folder or self.hub.split("/")[1]


class Recipe(_Strict):
    """How the environment of one world is made; the module says what each key means."""

    title: _Text
    python: Annotated[str, Field(pattern=r"^3\.\d+$")]
    gpu_gigabytes: Annotated[float, Field(ge=0)]
    gpus: Annotated[int, Field(ge=0)] = 1
    memory_gigabytes: Annotated[float, Field(ge=0)] = 0.0
    licence: _Text
    notes: tuple[_Text, ...] = ()
    adapter: Annotated[str, Field(pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$")]
    nproc: Annotated[int, Field(ge=1)] = 1
    options: dict[str, str | int | float | bool] = {}
    environment: dict[str, str] = {}
    requirements: tuple[_Text, ...] = ()
    requirements_file: str = ""
    steps: tuple[_Text, ...] = ()
    repo: Repo | None = None
    weights: tuple[Weights, ...] = ()

    @field_validator("steps")
    @classmethod
    def _check_steps(cls, steps: tuple[str, ...]) -> tuple[str, ...]:
        for step in steps:
            try:
                words = shlex.split(step)
                for word in words:
                    word.format(**dict.fromkeys(_PLACES, ""))
            except (KeyError, IndexError, ValueError) as error:
                raise ValueError(
                    f"step {step!r} cannot be read ({error}); it may hold "
                    f"{', '.join('{' + place + '}' for place in _PLACES)}"
                ) from error
        return steps

    @property
    def gigabytes(self) -> float:
        """Size of all weights in GB."""
        return sum(w.gigabytes for w in self.weights)


def read_recipe(text: str, name: str) -> Recipe:
    """Return the recipe that a TOML text holds.

    Args:
        text: The file's text.
        name: What to call it in errors.

    Raises:
        InvalidRecipe: it is no TOML, or a key is missing, unknown or out of range.
    """
    try:
        return Recipe.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise InvalidRecipe(f"The recipe of {name} is not TOML: {error}") from error
    except ValidationError as error:
        first: Mapping[str, Any] = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidRecipe(
            f"The recipe of {name} is wrong at {where!r}: {first['msg']}"
        ) from error


def recipe_names() -> tuple[str, ...]:
    """Return the names of the worlds that have a recipe, sorted."""
    files = resources.files("worldenv.worlds").joinpath("recipes").iterdir()
    return tuple(sorted(f.name.removesuffix(".toml") for f in files if f.name.endswith(".toml")))


def load_recipe(world: str) -> Recipe:
    """Return the recipe of a world by its name, with or without ``-v0``.

    Raises:
        UnknownName: it has none.
        InvalidRecipe: it does not keep to the schema.
    """
    name = world.removesuffix("-v0")
    known = recipe_names()
    if name not in known:
        raise UnknownName("recipe of a world:", name, known)
    file = resources.files("worldenv.worlds").joinpath("recipes", f"{name}.toml")
    return read_recipe(file.read_text("utf-8"), name)

"""Public world models, one module each: how each is driven, and how a path becomes its control.

A module has ``MODEL`` (a ``Model``), ``compile``, ``decode`` and ``make``. Where the model runs in
an environment of its own it also has ``official``, the factory that a server runs there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from worldenv.world import UnknownName, Unsupported

if TYPE_CHECKING:
    from worldenv.world import World
    from worldenv.worlds.models.model import Model

__all__ = ["open_model", "with_context"]

STAND_IN = ("size", "family", "truth", "supersample", "detail", "threads")
"""Options of a stand-in, handed to Reference-v0."""


def open_model(model: Model, options: Mapping[str, Any]) -> World:
    """Return the world of a model: the model itself, or Reference-v0 standing in for it.

    Args:
        model: The model.
        options: ``stand_in`` (render the decoded control in Reference-v0 instead of running the
            model; with it any of ``STAND_IN``), ``context`` (a context policy of the model),
            ``server`` (address of a running server of this model) and the model's own options.

    Raises:
        UnknownName: there is no such option.
        Unsupported: the model has no such context policy.
    """
    given = dict(options)
    stand_in = given.pop("stand_in", False)
    if not isinstance(stand_in, bool):
        raise Unsupported(f"stand_in must be True or False, got {stand_in!r}")
    policy = given.pop("context", None)
    place = {key: given.pop(key) for key in STAND_IN if key in given} if stand_in else {}
    server = None if stand_in or model.local else given.pop("server", None)
    known = [*model.options, "stand_in", "context", *(STAND_IN if stand_in else ())]
    if not stand_in and not model.local:
        known.append("server")
    for key in given:
        if key not in model.options:
            raise UnknownName(f"option of {model.id}:", key, known)
    given = with_context(model, policy, given)
    if stand_in:
        from worldenv.worlds.standin import StandIn

        stand_in_world: World = StandIn(model, given, context=policy, **place)
        return stand_in_world
    if model.local:
        from worldenv.worlds import load_world

        return load_world(model.local, **given)
    from worldenv.worlds.official import OfficialModel

    official: World = OfficialModel(model, given, server=server)
    return official


def with_context(model: Model, policy: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options with those that make the model keep to a context policy.

    Raises:
        Unsupported: the model has no such policy, or an option contradicts it.
    """
    if policy is None:
        return dict(options)
    if not isinstance(policy, str) or policy not in model.context:
        offered = ", ".join(model.context) or "none of them"
        raise Unsupported(f"{model.id} has no context policy {policy!r}; it offers {offered}")
    switches = model.context[policy]
    for key, value in switches.items():
        if key in options and options[key] != value:
            raise Unsupported(
                f"context={policy!r} of {model.id} sets {key}={value!r}, but {key}="
                f"{options[key]!r} was given; drop one of the two"
            )
    return {**options, **switches}

"""Turns what a caller names (a case, a script, a plan) into what is walked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from worldenv.camera import CameraPath, InvalidPath, WorldEnvError
from worldenv.case import Case, Script, load_case, load_script, load_suite
from worldenv.world import UnknownName, WorldSpec


class InvalidOption(WorldEnvError):
    """A keyword or reset option has a value that cannot be used."""


def check_cases(cases: Any) -> None:
    """Raise InvalidOption unless ``cases`` is None or a list that holds something."""
    if cases is not None and (
        isinstance(cases, str) or not isinstance(cases, Sequence) or len(cases) == 0
    ):
        raise InvalidOption(f"cases must be a list of at least one case, got {cases!r}")


def read_seed(seed: Any) -> int | None:
    """Return a seed as an int.

    Raises:
        InvalidOption: it is neither None nor a whole number from 0.
    """
    if seed is None:
        return None
    if not isinstance(seed, (int, np.integer)) or isinstance(seed, bool) or seed < 0:
        raise InvalidOption(f"seed must be None or a whole number of at least 0, got {seed!r}")
    return int(seed)


def read_options(options: Any) -> Mapping[str, Any]:
    """Return reset options, empty for None.

    Raises:
        InvalidOption: they are no dict.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise InvalidOption(f"options must be None or a dict, got {options!r}")
    return options


def resolve_case(case: Any) -> tuple[Case, Script | None]:
    """Return a case, and the script that stands behind its ``@``."""
    if isinstance(case, Case):
        return case, None
    if not isinstance(case, str):
        raise InvalidOption(f"expected a Case or its id, got {type(case).__name__}")
    name, _, script = case.partition("@")
    return load_case(name), load_script(script) if script else None


def resolve_script(script: Any) -> Script | None:
    """Return a script from itself, its name or None."""
    if script is None or hasattr(script, "path"):
        known: Script | None = script
        return known
    if not isinstance(script, str):
        raise InvalidOption(f"expected a Script or its name, got {type(script).__name__}")
    return load_script(script)


def resolve_plan(plan: Any, spec: WorldSpec) -> CameraPath:
    """Return a path at the world's frame rate from a CameraPath, poses, or ``to_dict``'s dict."""
    if isinstance(plan, CameraPath):
        path = plan
    elif isinstance(plan, Mapping):
        try:
            path = CameraPath.from_dict({"fps": spec.fps, **plan})
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidPath(f"plan is no path: {error!r}") from error
    elif isinstance(plan, (np.ndarray, list, tuple)):
        try:
            path = CameraPath(np.asarray(plan, dtype=np.float64), fps=spec.fps)
        except (TypeError, ValueError) as error:
            raise InvalidPath(f"plan holds something that is no pose: {error}") from error
    else:
        raise InvalidOption(
            f"plan must be a CameraPath or poses (n, 4, 4), got {type(plan).__name__}"
        )
    if path.fps == spec.fps:
        return path
    note = f"given at {path.fps:g} frames a second, walked one pose a frame at {spec.fps:g}"
    return CameraPath(path.poses, fps=spec.fps, phases=path.phases, notes=(*path.notes, note))


def script_of(case: Case | None) -> Script | None:
    """Return the first script that the case's suite walks it with, None when there is none."""
    if case is None:
        return None
    try:
        items = load_suite(case.id.split("/")[0]).items
    except UnknownName:
        return None
    return next((load_script(item.script) for item in items if item.case.id == case.id), None)

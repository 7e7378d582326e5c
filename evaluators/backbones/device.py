"""Where networks run."""

from __future__ import annotations

import os
from importlib.util import find_spec

from worldenv.world import Unsupported

VARIABLE = "WORLDENV_DEVICE"
"""Environment variable: ``cpu``, ``cuda`` or ``cuda:1``; without it a GPU if there is one."""

# Types that hold data; meta, for one, takes every tensor and keeps none.
_TYPES = ("cpu", "cuda", "mps", "xpu")


def device_name() -> str:
    """Return the device that networks run on; imports torch only where it has to be asked.

    Raises:
        Unsupported: the variable names a device that is not there.
    """
    wanted = os.environ.get(VARIABLE, "")
    if wanted == "cpu" or find_spec("torch") is None:
        if wanted not in ("", "cpu"):
            raise Unsupported(f"{VARIABLE}={wanted} needs torch: pip install 'worldenv[models]'.")
        return "cpu"
    import torch

    if not wanted:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        if torch.device(wanted).type not in _TYPES:
            raise RuntimeError("it cannot hold what a network computes")
        torch.empty(1, device=wanted)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise Unsupported(
            f"{VARIABLE}={wanted} is no device of this machine that networks can run on; "
            "use cpu, cuda or cuda:N."
        ) from error
    return wanted

"""Weight files that are pickles: read by an allow-list, kept as safetensors."""

from __future__ import annotations

import errno
import pickle
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.weights import DamagedWeights

# What a pickled numpy array is made of; old files name modules that numpy has moved since.
_ALLOWED = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): None,
    ("numpy._core.multiarray", "_reconstruct"): None,
}


def _reconstruct(kind: type, shape: tuple[int, ...], code: bytes) -> NDArray[Any]:
    """Return the empty array that a pickle then fills; nothing but a plain one is made."""
    if kind is not np.ndarray or shape != (0,) or code not in (b"b", "b"):
        raise pickle.UnpicklingError("an array of an unknown kind")
    return np.ndarray.__new__(np.ndarray, shape, "b")


class _ArraysOnly(pickle.Unpickler):
    """Builds plain containers, numbers, text and numpy arrays, and imports nothing."""

    def find_class(self, module: str, name: str) -> Any:
        """Return one of the few things that arrays are made of."""
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is not allowed")
        return _ALLOWED[module, name] or _reconstruct

    def persistent_load(self, pid: Any) -> Any:
        """Refuse what lies outside the file."""
        raise pickle.UnpicklingError("it refers to something outside the file")


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return name -> array of a pickle of nested dictionaries, e.g. ``Conv_0/kernel``.

    A list of numbers becomes an array too. The file must have been verified before.

    Raises:
        DamagedWeights: it holds anything else than dictionaries, numbers and plain arrays.
    """
    try:
        with path.open("rb") as file:
            found = _ArraysOnly(file).load()
    except Exception as error:
        # A pickle is a program; a bad one fails in whatever way it likes.
        raise DamagedWeights(f"{path} is refused: {error}") from error
    arrays: dict[str, NDArray[Any]] = {}
    pending: list[tuple[str, Any]] = [("", found)]
    while pending:
        name, value = pending.pop()
        if isinstance(value, dict):
            prefix = f"{name}/" if name else ""
            pending += [(f"{prefix}{key}", part) for key, part in value.items()]
            continue
        array = np.asarray(value)
        if not name or array.dtype.kind not in "fiub":
            raise DamagedWeights(f"{path} is refused: {name or 'it'} holds no numbers")
        arrays[name] = np.ascontiguousarray(array)
    return arrays


def convert(path: Path, target: Path) -> None:
    """Write the tensors of a verified pickle as safetensors.

    A file of torch is read by ``torch.load(weights_only=True)``; whatever of it is no tensor
    (a step count, a name) is left out. Any other pickle is read by read_arrays.

    Args:
        path: The pickle.
        target: The file to write.

    Raises:
        DamagedWeights: it holds more than tensors, or cannot be read.
        ImportError: a package that is needed for it is not installed.
        OSError: the file cannot be written.
    """
    with path.open("rb") as file:
        start = file.read(4)
    # torch writes zip archives; before 2020 it wrote pickles, which begin with a magic number.
    if start == b"PK\x03\x04" or path.suffix in (".pt", ".pth", ".bin"):
        from safetensors.torch import save_file

        _save(save_file, _torch_tensors(path), target)
    else:
        from safetensors.numpy import save_file as save_arrays

        _save(save_arrays, read_arrays(path), target)
    # Its writer leaves what only the owner may read.
    shutil.copymode(path, target)


def _save(save: Callable[..., None], tensors: dict[str, Any], target: Path) -> None:
    from safetensors import SafetensorError

    try:
        save(tensors, str(target))
    except SafetensorError as error:
        # It keeps the number of the system's error in its text alone.
        text = " ".join(str(error).split())
        number = re.search(r"os error (\d+)", text)
        code = int(number[1]) if number else errno.EIO
        raise OSError(code, f"cannot be written: {text}", str(target)) from error


def _torch_tensors(path: Path) -> dict[str, Any]:
    import torch

    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise DamagedWeights(f"{path} is refused: {' '.join(str(error).split())}") from error
    tensors: dict[str, Any] = {}
    pending: list[tuple[str, Any]] = [("", found)]
    while pending:
        name, value = pending.pop()
        if isinstance(value, Mapping):
            prefix = f"{name}." if name else ""
            pending += [(f"{prefix}{key}", part) for key, part in value.items()]
        elif torch.is_tensor(value):
            # safetensors takes no two names of one memory.
            tensors[name] = value.detach().clone().contiguous()
    if not tensors:
        raise DamagedWeights(f"{path} is refused: it holds no tensors")
    return tensors

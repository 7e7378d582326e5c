"""Networks of the transformers library: from a local folder, every weight accounted for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from worldenv.weights import DamagedWeights, Located

Item = TypeVar("Item")
Floats = NDArray[np.float32]

_SHOWN = 3


def load_pretrained(kind: str, located: Located, device: str = "cpu", **options: Any) -> Any:
    """Return a network in evaluation mode, float32, without gradients.

    The library fills what a file lacks with random numbers and says so in a log; here that is an
    error. It is never asked for anything that does not lie in the folder.

    Args:
        kind: Class of the transformers library, e.g. ``Dinov2Model``.
        located: Its weights, with ``config.json``.
        device: Where it goes.
        options: Entries of its configuration that the method fixes, e.g. a threshold.

    Raises:
        DamagedWeights: a file is missing, damaged or of another network.
    """
    import torch
    import transformers

    told = transformers.logging.get_verbosity(), transformers.logging.is_progress_bar_enabled()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        network, about = getattr(transformers, kind).from_pretrained(
            located.folder,
            local_files_only=True,
            output_loading_info=True,
            dtype=torch.float32,
            **options,
        )
    except Exception as error:
        # OSError, ValueError, RuntimeError, KeyError and safetensors' own, by what is wrong.
        first = str(error).strip().splitlines()
        reason = f"{type(error).__name__}: {first[0] if first else ''}"
        raise wrong(located, kind, reason) from error
    finally:
        transformers.logging.set_verbosity(told[0])
        if told[1]:
            transformers.logging.enable_progress_bar()
    found = [
        f"{name.removesuffix('_keys')} {_some(about[name])}"
        for name in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs")
        if about.get(name)
    ]
    if found:
        raise wrong(located, kind, "; ".join(found))
    return network.to(device).eval().requires_grad_(False)


def load_tokenizer(located: Located, entries: int, kind: str = "AutoTokenizer") -> Any:
    """Return the tokenizer of a network.

    Args:
        located: Its weights, with the tokenizer's files.
        entries: Size of the vocabulary that the network was made for.
        kind: Class of the transformers library.

    Raises:
        DamagedWeights: a file is missing or damaged, or the vocabulary is of another network.
    """
    import transformers

    try:
        tokenizer = getattr(transformers, kind).from_pretrained(
            located.folder, local_files_only=True
        )
    except Exception as error:
        raise wrong(located, "tokenizer", type(error).__name__) from error
    # A missing vocabulary gives an empty tokenizer, not an error.
    if not 2 < len(tokenizer) <= entries:
        what = f"its vocabulary has {len(tokenizer)} entries, the network has {entries}"
        raise wrong(located, "tokenizer", what)
    return tokenizer


def wrong(located: Located, kind: str, what: str) -> DamagedWeights:
    """Return the error for files that are not what a network needs."""
    return DamagedWeights(
        f"{located.folder} does not hold the {kind} of {located.id}: {what}; fetch it again by: "
        f"worldenv weights fetch {located.id}"
    )


def _some(keys: Any) -> str:
    names = sorted(str(key[0] if isinstance(key, tuple) else key) for key in keys)
    rest = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def in_batches(
    items: Sequence[Item], size: int, function: Callable[[list[Item]], Floats]
) -> list[Floats]:
    """Return one row an item, from batches that are padded to one size.

    A network may round differently at another batch size; padded, a value does not depend on how
    many things were in the frame.

    Args:
        items: What goes in.
        size: Batch size.
        function: ``size`` items -> array of ``size`` rows.
    """
    out: list[Floats] = []
    for first in range(0, len(items), size):
        batch = list(items[first : first + size])
        rows = function(batch + [batch[-1]] * (size - len(batch)))
        out += list(rows[: len(batch)])
    return out


def unit(vector: NDArray[Any]) -> Floats:
    """Return a vector of length 1, float32; a zero vector stays zero."""
    values = np.asarray(vector, np.float32)
    norm = np.linalg.norm(values, axis=-1, keepdims=True)
    return np.asarray(values / np.maximum(norm, np.float32(1e-12)), np.float32)

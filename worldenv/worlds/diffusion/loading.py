"""Loads the parts of a diffusers pipeline so that no weight can be left at random.

Weights come from a folder, or from the hub's cache on this machine: nothing is downloaded behind
the user's back. Only safetensors are read, no code of a repository is run, and a part whose file
lacks a weight, or holds one that the part has no use for, is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worldenv.world import WeightsNotFound

__all__ = ["Weights", "load_pipeline", "locate"]

INDEX = "model_index.json"
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+\Z", re.ASCII)
MOST_NAMES = 3


@dataclass(frozen=True)
class Weights:
    """What a model needs and where it is looked for.

    Attributes:
        title: Name of the model, for messages.
        place: Folder, or id on the hub.
        hub: Id of the released weights on the hub.
        revision: Revision on the hub, None for the default.
        size: What has to be fetched and what it runs on, in a phrase.
        licence: Licence of the weights.
    """

    title: str
    place: str
    hub: str
    revision: str | None
    size: str
    licence: str

    def absent(self, why: str) -> WeightsNotFound:
        """Return the error that says what is wrong and what brings the weights."""
        revision = f" --revision {self.revision}" if self.revision else ""
        place = self.place if _HUB_ID.match(self.place) else self.hub
        return WeightsNotFound(
            f"{self.title} cannot be loaded: {why}; fetch it with 'hf download {place}{revision}' "
            f"({self.size}; licence: {self.licence}), or give weights= the folder of a diffusers "
            "pipeline"
        )


def locate(weights: Weights) -> Path:
    """Return the folder of the weights.

    Raises:
        WeightsNotFound: there is no such folder, and the hub's cache does not hold them.
    """
    folder = Path(weights.place).expanduser()
    if folder.is_dir():
        return folder
    if not _HUB_ID.match(weights.place):
        raise weights.absent(f"there is no folder {weights.place!r}")
    from huggingface_hub import snapshot_download

    try:
        found = snapshot_download(weights.place, revision=weights.revision, local_files_only=True)
    except (OSError, ValueError) as error:
        raise weights.absent("its weights are not on this machine") from error
    return Path(found)


def load_pipeline(
    weights: Weights,
    kind: str,
    parts: Mapping[str, str],
    *,
    dtype: str,
    device: str,
    given: Mapping[str, Any] | None = None,
) -> Any:
    """Return a diffusers pipeline on a device, ready to be called.

    Args:
        weights: Where it is.
        kind: Class of the pipeline; the folder may hold a sibling of the same parts.
        parts: Component -> ``float32`` for one that keeps that precision, else empty. Exactly
            these are loaded.
        dtype: Precision of the others, a name in torch.
        device: Where to run.
        given: Components that come from elsewhere.

    Raises:
        WeightsNotFound: a library or a part is absent, damaged, or not what the pipeline needs.
    """
    try:
        import diffusers
        import torch
        import transformers
    except ImportError as error:
        raise WeightsNotFound(
            f"{weights.title} needs {error.name}; install it with pip install 'worldenv[diffusion]'"
        ) from error
    diffusers.utils.logging.disable_progress_bar()
    transformers.utils.logging.disable_progress_bar()
    precision = getattr(torch, dtype, None)
    if not isinstance(precision, torch.dtype):
        raise weights.absent(f"there is no precision {dtype!r}; expected bfloat16 or float32")
    folder = locate(weights)
    index = _index(weights, folder)
    components: dict[str, Any] = dict(given or {})
    for part, kept in parts.items():
        entry = index.get(part)
        if not (
            isinstance(entry, list) and len(entry) == 2 and all(isinstance(e, str) for e in entry)
        ):
            raise weights.absent(f"{folder / INDEX} names no {part}")
        library = {"diffusers": diffusers, "transformers": transformers}.get(entry[0])
        loader = getattr(library, entry[1], None)
        if not hasattr(loader, "from_pretrained"):
            raise weights.absent(f"its {part} is a {'.'.join(entry)}, which is not known here")
        if not (folder / part).is_dir():
            raise weights.absent(f"{folder} has no {part}")
        components[part] = _part(
            weights, folder / part, loader, torch.float32 if kept == "float32" else precision
        )
    _check_vocabulary(weights, components)
    try:
        pipeline = getattr(diffusers, kind)(**components)
        pipeline.to(device)
    except (ImportError, RuntimeError, TypeError, ValueError, AttributeError) as error:
        raise weights.absent(f"its parts do not fit together: {one_line(error)}") from error
    pipeline.set_progress_bar_config(disable=True)
    return pipeline


def one_line(error: BaseException) -> str:
    """Return the type of an error and the first line of what it says."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:300]}" if lines else type(error).__name__


def _index(weights: Weights, folder: Path) -> dict[str, Any]:
    file = folder / INDEX
    if not file.is_file():
        raise weights.absent(f"{folder} holds no diffusers pipeline (no {INDEX})")
    try:
        index = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise weights.absent(f"{file} cannot be read: {one_line(error)}") from error
    if not isinstance(index, dict):
        raise weights.absent(f"{file} is no index of a pipeline")
    return index


def _part(weights: Weights, folder: Path, loader: Any, precision: Any) -> Any:
    import torch
    from safetensors import SafetensorError

    is_model = isinstance(loader, type) and issubclass(loader, torch.nn.Module)
    options = {"use_safetensors": True, "torch_dtype": precision, "output_loading_info": True}
    try:
        made = loader.from_pretrained(
            str(folder), local_files_only=True, **(options if is_model else {})
        )
    except (
        *(OSError, ValueError, TypeError, KeyError, RuntimeError, AttributeError, ImportError),
        SafetensorError,
    ) as error:
        raise weights.absent(f"{folder} cannot be loaded: {one_line(error)}") from error
    if not is_model:
        return made
    model, info = made
    for key, what in (
        ("missing_keys", "lacks"),
        ("mismatched_keys", "has another shape of"),
        ("unexpected_keys", "has no use for"),
        ("error_msgs", "is damaged:"),
    ):
        names = [str(name) for name in info.get(key) or ()]
        if names:
            shown = ", ".join(sorted(names)[:MOST_NAMES]) + (
                ", ..." if len(names) > MOST_NAMES else ""
            )
            raise weights.absent(f"{folder} {what} {len(names)} weights ({shown})")
    if any(value.is_meta for value in model.parameters()):
        raise weights.absent(f"{folder} left weights empty")
    return model.eval()


def _check_vocabulary(weights: Weights, components: Mapping[str, Any]) -> None:
    """Refuse a tokenizer that is empty, or that says more than the text encoder knows."""
    tokenizer, encoder = components.get("tokenizer"), components.get("text_encoder")
    if tokenizer is None or encoder is None:
        return
    words, known = len(tokenizer), encoder.get_input_embeddings().num_embeddings
    if not 2 < words <= known:
        raise weights.absent(
            f"its tokenizer has {words} tokens and its text encoder {known}, which do not belong "
            "together"
        )

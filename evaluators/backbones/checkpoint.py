"""Checkpoints: every tensor of a file is used, every tensor of a network filled, or an error."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

from worldenv.weights import DamagedWeights, Located

if TYPE_CHECKING:
    import torch

_SHOWN = 3


def load_state(
    module: torch.nn.Module,
    located: Located,
    file: str,
    rename: Callable[[str], str | None] | Mapping[str, str] | None = None,
    unused: Collection[str] = (),
    device: str = "cpu",
    section: str = "",
) -> torch.nn.Module:
    """Fill a network from a checkpoint and return it in evaluation mode, without gradients.

    Nothing is stripped or left at its initial value in silence: after renaming, the names and
    shapes of the file must be those of the network, apart from what ``unused`` names. The network
    keeps its own precision.

    Args:
        module: The network.
        located: Its weights.
        file: File in their folder, ``.safetensors``, or a ``.pth``, ``.pt`` or ``.bin`` that
            ``torch.load(weights_only=True)`` reads.
        rename: Key of the file -> key of the network; None from a function, or as a value, drops
            the tensor on purpose (a training head). A mapping must name every key of the file.
        unused: Keys of the network that no checkpoint fills, such as ``num_batches_tracked``.
        device: Where the network goes.
        section: Key below which the tensors lie, for files such as ``{"state_dict": {...}}``.

    Raises:
        DamagedWeights: the file cannot be read, or is of another network; the message lists the
            first missing, unexpected and misshapen keys.
    """
    state = {}
    for key, tensor in read_tensors(located, file, section).items():
        if isinstance(rename, Mapping):
            if key not in rename:
                raise _wrong(located, file, f"unexpected {key}")
            name: str | None = rename[key]
        else:
            name = key if rename is None else rename(key)
        if name is None:
            continue
        if name in state:
            raise _wrong(located, file, f"two tensors are to fill {name}")
        state[name] = tensor
    fill(module, state, located, file, unused)
    return module.to(device).eval().requires_grad_(False)


def fill(
    module: torch.nn.Module,
    state: Mapping[str, torch.Tensor],
    located: Located,
    file: str,
    unused: Collection[str] = (),
) -> None:
    """Copy tensors into a network whose names and shapes they must match.

    Args:
        module: The network.
        state: Key of the network -> tensor.
        located: Where the tensors come from, for the message.
        file: File in that folder, for the message.
        unused: Keys of the network that may be absent from ``state``.

    Raises:
        DamagedWeights: a tensor is missing, unexpected, of another shape or not finite.
    """
    import torch

    own = module.state_dict()
    optional = {key for key in own if key.rpartition(".")[2] in unused or key in unused}
    problems = {
        "missing": [key for key in own if key not in state and key not in optional],
        "unexpected": [key for key in state if key not in own],
        "of another shape": [
            f"{key} {tuple(state[key].shape)} for {tuple(own[key].shape)}"
            for key in own
            if key in state and state[key].shape != own[key].shape
        ],
        "not finite": [key for key in state if not bool(torch.isfinite(state[key]).all())],
    }
    found = [f"{kind} {_some(keys)}" for kind, keys in problems.items() if keys]
    if found:
        raise _wrong(located, file, "; ".join(found))
    module.load_state_dict(dict(state), strict=not optional)


def read_tensors(located: Located, file: str, section: str = "") -> dict[str, torch.Tensor]:
    """Return name -> tensor of a checkpoint on the CPU; see load_state.

    Raises:
        DamagedWeights: the file cannot be read, or holds something else than tensors.
    """
    import torch

    tensors: Any
    path = located.folder / file
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            tensors = load_file(str(path))
        else:
            tensors = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        # A damaged file makes its reader trip anywhere: there is no list of what it may raise.
        what = f"it cannot be read ({type(error).__name__}: {error})"
        raise _wrong(located, file, what) from error
    if section:
        tensors = tensors.get(section) if isinstance(tensors, Mapping) else None
    if not isinstance(tensors, Mapping) or not all(torch.is_tensor(t) for t in tensors.values()):
        raise _wrong(located, file, "it holds something else than named tensors")
    return dict(tensors)


def _some(keys: list[str]) -> str:
    rest = len(keys) - _SHOWN
    return ", ".join(keys[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _wrong(located: Located, file: str, what: str) -> DamagedWeights:
    return DamagedWeights(
        f"{located.folder / file} is not the checkpoint that {located.id} needs: {what}; "
        f"examine it by: worldenv weights verify {located.id}"
    )

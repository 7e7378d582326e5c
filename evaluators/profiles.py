"""The profiles as data: which backbone answers which role, and what it needs to be made."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv import weights
from worldenv.evaluators.backbones.base import Backbone
from worldenv.weights import Located


@dataclass(frozen=True)
class Setting:
    """What a backbone may be made from.

    Attributes:
        device: ``cpu``, ``cuda`` or ``cuda:1``.
        frames: Number of frames of the path.
        K: Intrinsics in pixels of the frames, shape (3, 3), None when unknown.
    """

    device: str = "cpu"
    frames: int = 0
    K: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class Choice:
    """A backbone for a role.

    It is made as ``Class(*located weights, **uses from the Setting, **options)``.

    Attributes:
        maker: ``module:Class`` below ``worldenv.evaluators.backbones``.
        weights: Ids of ``worldenv.weights`` sets, handed over as ``Located``.
        modules: Modules that must be importable.
        extra: Extra of worldenv that brings them.
        uses: Fields of Setting that the class takes as keywords.
        nouns: The only nouns it can answer for; empty for any.
        options: Further keywords.
        environment: Environment variable that names the python of a program's own environment.
    """

    maker: str
    weights: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    extra: str = ""
    uses: tuple[str, ...] = ()
    nouns: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    environment: str = ""

    def lacks(self, setting: Setting) -> str | None:
        """Return what is missing, with the command that brings it; None when nothing is."""
        absent = [name for name in self.modules if find_spec(name) is None]
        if absent:
            return f"it needs {', '.join(absent)}; install by: pip install 'worldenv[{self.extra}]'"
        for name in self.weights:
            if weights.find(name) is None:
                return weights.missing(name)
        if self.environment and not os.environ.get(self.environment):
            from worldenv.evaluators.backbones.programs import SETUP

            return (
                f"it runs in its own environment; make one by: {SETUP[self.environment]}, and set "
                f"{self.environment} to the path of its python"
            )
        if "K" in self.uses and setting.K is None:
            return "it needs the camera intrinsics K"
        if "frames" in self.uses and not setting.frames:
            return "it needs to know how many frames the path has"
        return None

    def taken(self, setting: Setting) -> dict[str, Any]:
        """Return what the class takes of the setting, arrays as lists."""
        values = {use: getattr(setting, use) for use in self.uses}
        return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in values.items()}

    def make(self, setting: Setting) -> Backbone:
        """Make the backbone; one with weights is loaded once a process.

        Raises:
            WeightsNotFound: its weights are absent, damaged or of another network.
        """
        located = tuple(weights.locate(name) for name in self.weights)
        taken = {use: getattr(setting, use) for use in self.uses}
        if located and not self.environment:
            # Networks know nothing of a rollout: the next episode need not load them again.
            return _loaded(self.maker, located, tuple({**taken, **self.options}.items()))
        return _made(self.maker, located, {**taken, **self.options})


def _made(maker: str, located: tuple[Located, ...], keywords: Mapping[str, Any]) -> Backbone:
    module, _, name = maker.partition(":")
    found = getattr(importlib.import_module(f"worldenv.evaluators.backbones.{module}"), name)
    backbone: Backbone = found(*located, **keywords)
    return backbone


@lru_cache(maxsize=32)
def _loaded(
    maker: str, located: tuple[Located, ...], keywords: tuple[tuple[str, Any], ...]
) -> Backbone:
    return _made(maker, located, dict(keywords))


_CLASSIC = {
    "embed": Choice("descriptor:Descriptor"),
    "match": Choice("local:Sift"),
    "matches": Choice("local:RatioMatcher"),
    "flow": Choice("local:DisFlow"),
    "odometry": Choice("odometry:Odometry", uses=("K",)),
    "pose": Choice("odometry:OdometryPose", uses=("K",)),
}

_TORCH = ("torch", "safetensors")
_LITE = ("ai_edge_litert",)

_LIGHT = {
    "embed": Choice("lite0:Lite0", ("efficientnet-lite0",), _TORCH, "light", ("device",)),
    "perceptual": Choice("lpips:Lpips", ("lpips-alexnet",), _TORCH, "light", ("device",)),
    "detect": Choice("person:PersonDetector", ("blazepose",), _LITE, "light", nouns=("person",)),
    "segment": Choice("person:PersonSegmenter", ("blazepose",), _LITE, "light", nouns=("person",)),
    "faces": Choice("blazeface:BlazeFace", ("blazeface",), _LITE, "light"),
    "identity": Choice("dlib_face:DlibFace", ("dlib-face",), ("dlib", *_LITE), "light"),
    "match": Choice("xfeat:XFeat", ("xfeat",), _TORCH, "light", ("device",)),
    "matches": Choice("xfeat:MutualMatcher", ("xfeat",), _TORCH, "light"),
    "flow": Choice("local:DisFlow"),
    "style": Choice("vgg:VggStyle", ("vgg16",), _TORCH, "light", ("device",)),
    "quality": Choice("brisque:Brisque", ("brisque",), ("safetensors",), "light"),
    "odometry": Choice("odometry:Odometry", uses=("K",)),
    "pose": Choice("odometry:OdometryPose", uses=("K",)),
}

_HUB = ("torch", "transformers", "safetensors")
_DEVICE = ("device",)

_SHARED = {
    "embed": Choice("dinov2:Dinov2", ("dinov2-base",), _HUB, "models", _DEVICE),
    "place": Choice("boq:Boq", ("boq-dinov2",), _HUB, "models", _DEVICE),
    "perceptual": Choice("lpips:Lpips", ("lpips-alexnet",), _TORCH, "models", _DEVICE),
    "detect": Choice(
        "grounding_dino:GroundingDino", ("grounding-dino-tiny",), _HUB, "models", _DEVICE
    ),
    "style": Choice("vgg:VggStyle", ("vgg16",), _TORCH, "models", _DEVICE),
    "aesthetic": Choice(
        "aesthetic:Aesthetic",
        ("clip-vit-large-patch14", "laion-aesthetic"),
        _HUB,
        "models",
        _DEVICE,
    ),
}
"""What open and paper have in common."""

_OPEN: dict[str, Choice] = {
    **_SHARED,
    "second_detect": Choice(
        "owlv2:Owlv2",
        ("owlv2-base",),
        _HUB,
        "models",
        _DEVICE,
        options={"threshold": "detect.second"},
    ),
    "segment": Choice("sam2:Sam2Segmenter", ("sam2.1-hiera-tiny",), _HUB, "models", _DEVICE),
    "follow": Choice("follow:Sam2Follower", ("sam2.1-hiera-tiny",), _HUB, "models", _DEVICE),
    "faces": Choice("blazeface:BlazeFace", ("blazeface",), _LITE, "light"),
    "identity": Choice("dlib_face:DlibFace", ("dlib-face",), ("dlib", *_LITE), "light"),
    "match": Choice("lightglue:SizedXFeat", ("xfeat",), _TORCH, "models", _DEVICE),
    "matches": Choice("lightglue:LighterGlue", ("xfeat-lighterglue",), _TORCH, "models", _DEVICE),
    "depth": Choice(
        "depth_anything:DepthAnything",
        ("depth-anything-v2-metric-indoor-small",),
        _HUB,
        "models",
        _DEVICE,
    ),
    "flow": Choice("local:DisFlow"),
    "odometry": Choice("odometry:Odometry", uses=("K",)),
    "pose": Choice("odometry:OdometryPose", uses=("K",)),
    "text": Choice("clip:Clip", ("openclip-vit-base-patch32",), _HUB, "models", _DEVICE),
    "quality": Choice("brisque:Brisque", ("brisque",), ("safetensors",), "models"),
}

_DA3: dict[str, Any] = {"program": "da3", "length": 32, "overlap": 8, "role": "stretch"}
# ViPE loads its networks for every stretch, so that they had better be long.
_VIPE: dict[str, Any] = {"program": "vipe", "length": 96, "overlap": 16, "role": "second_stretch"}
_PACK = ("insightface-buffalo-l",)


def _da3(maker: str, uses: tuple[str, ...], **options: Any) -> Choice:
    return Choice(
        f"external:{maker}",
        ("depth-anything-3-large",),
        uses=uses,
        options={**_DA3, **options},
        environment="WORLDENV_DA3_PYTHON",
    )


_PAPER: dict[str, Choice] = {
    **_SHARED,
    "mutualvpr": Choice("mutualvpr:MutualVpr", ("mutualvpr",), _HUB, "models", _DEVICE),
    "second_detect": Choice(
        "grounding_dino:GroundingDino",
        ("grounding-dino-tiny",),
        _HUB,
        "models",
        _DEVICE,
        options={"threshold": "detect.second"},
    ),
    "segment": Choice("sam2:Sam2Segmenter", ("sam2.1-hiera-large",), _HUB, "models", _DEVICE),
    "follow": Choice("follow:Sam2Follower", ("sam2.1-hiera-large",), _HUB, "models", _DEVICE),
    "faces": Choice("arcface:Scrfd", _PACK, ("onnxruntime",), "paper", _DEVICE),
    "identity": Choice("arcface:ArcFace", _PACK, ("onnxruntime",), "paper", _DEVICE),
    "match": Choice("superpoint:SuperPoint", ("lightglue-superpoint",), _HUB, "models", _DEVICE),
    "matches": Choice("superpoint:LightGlue", ("lightglue-superpoint",), _HUB, "models", _DEVICE),
    "stretch": _da3("Stretches", ("device", "frames")),
    "pose": _da3("OfStretch", ("frames",), part="pose"),
    "depth": _da3("OfStretch", ("frames",), part="depth"),
    "second_stretch": Choice(
        "external:Stretches",
        uses=("device", "frames"),
        options=_VIPE,
        environment="WORLDENV_VIPE_PYTHON",
    ),
    "second_pose": Choice(
        "external:OfStretch",
        uses=("frames",),
        options={**_VIPE, "part": "pose"},
        environment="WORLDENV_VIPE_PYTHON",
    ),
    "flow": Choice("raft:Raft", ("raft-large",), _TORCH, "models", _DEVICE),
    "text": Choice(
        "clip:ClipPair",
        ("clip-vit-base-patch32", "openclip-vit-base-patch32"),
        _HUB,
        "models",
        _DEVICE,
    ),
    "quality": Choice("musiq:Musiq", ("musiq-spaq",), _TORCH, "models", _DEVICE),
}

if os.environ.get("WORLDENV_SAM2") == "package":
    # The authors' own package needs torchvision, which the port does without.
    _PAPER["segment"] = Choice(
        "sam2_package:Sam2Package",
        ("sam2.1-hiera-large-package",),
        ("torch", "torchvision", "sam2"),
        "models",
        _DEVICE,
    )

TABLE: dict[str, dict[str, Choice]] = {
    "classic": _CLASSIC,
    "light": _LIGHT,
    "open": _OPEN,
    "paper": _PAPER,
}
"""Profile -> role -> choice; a role that is not listed is ``unavailable`` there."""


def wanting(profile: str) -> list[str]:
    """Return what keeps roles of a profile from being answered here, with the commands that help.

    Args:
        profile: Name, with or without ``+truth``; what truth may answer is left out then.
    """
    base, _, suffix = profile.partition("+")
    by_remedy: dict[str, list[str]] = {}
    for role, choice in TABLE[base].items():
        if suffix and role in OF_TRUTH:
            continue
        absent = [name for name in choice.modules if find_spec(name) is None]
        if absent:
            remedy = f"pip install 'worldenv[{choice.extra}]'"
            by_remedy.setdefault(remedy, []).append(role)
        for name in choice.weights:
            if weights.find(name) is None:
                by_remedy.setdefault(weights.command(name, base), []).append(role)
        if choice.environment and not os.environ.get(choice.environment):
            by_remedy.setdefault(f"set {choice.environment}, see docs/backbones.md", []).append(
                role
            )
    return [
        f"{', '.join(dict.fromkeys(roles))}: unavailable; {remedy}"
        for remedy, roles in by_remedy.items()
    ]


OF_TRUTH = ("depth", "pose", "detect", "segment", "judge", "second_detect", "follow", "odometry")
"""Roles that a source which knows its truth answers, or makes needless."""


def weights_of(profile: str) -> tuple[str, ...]:
    """Return the ids of the weights that a profile needs, each once, in order of roles."""
    choices = TABLE[profile].values()
    return tuple(dict.fromkeys(name for choice in choices for name in choice.weights))

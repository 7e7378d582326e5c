"""Profiles: which backbone answers which role, and why a role cannot be answered."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.backbones.base import Backbone, OfPair, Pairwise
from worldenv.evaluators.backbones.device import device_name
from worldenv.evaluators.judging.settings import VARIABLE as JUDGE
from worldenv.evaluators.judging.settings import JudgeSettings, judge_settings
from worldenv.evaluators.plan import PIXELS, Ask, pixels
from worldenv.evaluators.profiles import TABLE, Setting
from worldenv.world import UnknownName

ROLES = (
    "embed",
    "place",
    "mutualvpr",
    "perceptual",
    "detect",
    "second_detect",
    "segment",
    "follow",
    "faces",
    "identity",
    "match",
    "matches",
    "depth",
    "odometry",
    "stretch",
    "pose",
    "second_stretch",
    "second_pose",
    "flow",
    "text",
    "style",
    "quality",
    "aesthetic",
    "judge",
)
PROFILES = tuple(f"{name}{suffix}" for name in TABLE for suffix in ("", "+truth"))

_NEEDS = {
    "depth": ("depth",),
    "pose": ("pose",),
    "detect": ("ids", "state"),
    "segment": ("ids", "state"),
    "judge": ("pose", "depth", "ids", "state"),
    "view": ("pose", "depth", "ids", "state"),
    "event": ("state",),
}
_NEEDS_K = ("judge", "view")


class Profile:
    """Backbones by role, made when first asked for.

    Attributes:
        name: E.g. ``classic+truth``.
        device: Where its networks run.
    """

    def __init__(
        self,
        name: str,
        makers: Mapping[str, Callable[[], Backbone]],
        missing: Mapping[str, str] | None = None,
        nouns: Mapping[str, tuple[str, ...]] | None = None,
        device: str = "cpu",
        made_from: Mapping[str, str] | None = None,
    ) -> None:
        """Collect backbones.

        Args:
            name: Name of the profile.
            makers: Role -> what makes its backbone.
            missing: Role -> why this source cannot have it.
            nouns: Role -> the only nouns that it can answer for.
            device: Where its networks run.
            made_from: Role -> what its backbone was made from, beside its weights.
        """
        self.name = name
        self.device = device
        self._makers = dict(makers)
        self._missing = dict(missing or {})
        self._nouns = dict(nouns or {})
        self._made: dict[str, Backbone] = {}
        self._made_from = dict(made_from or {})

    def lacks(self, role: str, noun: str = "") -> str | None:
        """Return why the role cannot be answered (for a noun), None when it can."""
        if role in self._makers:
            only = self._nouns.get(role, ())
            if not noun or not only or noun in only:
                return None
            wanted = "not every object" if noun == "*" else f"no {noun}"
            return f"role {role!r} of profile {self.name} knows {', '.join(only)} only, {wanted}"
        default = f"profile {self.name} has no backbone for role {role!r}"
        return self._missing.get(role, default)

    def backbone(self, role: str) -> Backbone:
        """Return the backbone of a role or pair function.

        Raises:
            UnknownName: nothing answers it.
        """
        if role not in self._makers:
            raise UnknownName("role", role, self._makers)
        if role not in self._made:
            self._made[role] = self._makers[role]()
        return self._made[role]

    def salt(self, role: str) -> str:
        """Return everything beside its inputs that an answer of the role may depend on."""
        backbone = self.backbone(role)
        kind = type(backbone)
        return repr(
            (
                role,
                f"{kind.__module__}.{kind.__qualname__}",
                backbone.name,
                backbone.revision,
                backbone.checksum,
                backbone.batch,
                self.device,
                self._made_from.get(role, self._made_from.get("", "")),
            )
        )

    def identity(self) -> dict[str, dict[str, str]]:
        """Return role -> name, revision, checksum and device of the backbones that were used."""
        return {
            role: {
                "name": backbone.name,
                "revision": backbone.revision,
                "checksum": backbone.checksum,
                "device": self.device,
            }
            for role, backbone in sorted(self._made.items())
            if role in ROLES
        }


def load_profile(
    name: str,
    truth: Collection[str] = (),
    K: NDArray[np.float64] | None = None,
    frames: int = 0,
) -> Profile:
    """Return a profile by name.

    Args:
        name: ``classic``, ``light``, ``open`` or ``paper``; with ``+truth``, roles that the source
            knows the truth of are answered by it.
        truth: Truth keys that the source offers.
        K: Intrinsics in pixels of the frames, needed where truth is projected.
        frames: Number of frames of the path.

    Raises:
        UnknownName: there is no such profile.
        Unsupported: the chosen device is not there.
        InvalidJudge: the judge that the environment names is none.
    """
    if name not in PROFILES:
        raise UnknownName("profile", name, PROFILES)
    base, _, suffix = name.partition("+")
    choices = TABLE[base]
    networks = any(choice.modules or choice.weights for choice in choices.values())
    setting = Setting(device_name() if networks else "cpu", frames, K)
    intrinsics = "" if K is None else repr(np.asarray(K, np.float64).tolist())
    made_from = {"": intrinsics}
    makers: dict[str, Callable[[], Backbone]] = {}
    missing: dict[str, str] = {}
    nouns: dict[str, tuple[str, ...]] = {}
    for role, choice in choices.items():
        reason = choice.lacks(setting)
        if reason is not None:
            missing[role] = f"role {role!r} of profile {name}: {reason}"
        else:
            makers[role] = partial(choice.make, setting)
            nouns[role] = choice.nouns
            made_from[role] = repr((choice.maker, choice.options, choice.taken(setting)))
    judges = judge_settings()
    if judges is not None:
        makers["judge"] = partial(_vision_judge, judges)
    else:
        missing["judge"] = (
            f"role 'judge' of profile {name}: it needs a judge; name one by --judge or {JUDGE}"
        )
    if suffix:
        truthful, absent = _of_truth(truth, K)
        makers |= truthful
        nouns = {role: only for role, only in nouns.items() if role not in truthful}
        missing = absent | missing
        if "segment" in truthful:
            # Truth misses nothing that a second look could find.
            makers.pop("second_detect", None)
    return assemble(name, makers, missing, nouns, setting.device, K, made_from)


def assemble(
    name: str,
    makers: Mapping[str, Callable[[], Backbone]],
    missing: Mapping[str, str] | None = None,
    nouns: Mapping[str, tuple[str, ...]] | None = None,
    device: str = "cpu",
    K: NDArray[np.float64] | None = None,
    made_from: Mapping[str, str] | None = None,
) -> Profile:
    """Return the profile of some roles together with all that rests on them.

    Args:
        name: Name of the profile.
        makers: Role -> what makes its backbone.
        missing: Role -> why this source cannot have it.
        nouns: Role -> the only nouns that it can answer for.
        device: Where its networks run.
        K: Intrinsics in pixels of the frames, needed where things are turned to face the start.
        made_from: Role -> what its backbone was made from, beside its weights.
    """
    every = _functions() | dict(makers)
    # The backbones of pairs of objects put questions to other roles of the same profile.
    profile: Profile
    made = dict(made_from or {})
    parts = repr([made.get(role, "") for role in ("embed", "segment", "text")])
    made |= dict.fromkeys(("anchors", "objects"), parts)
    if "segment" in every:
        every |= _of_regions(K, lambda role: profile.backbone(role), set(every))
    profile = Profile(name, every, missing, nouns, device, made)
    return profile


# One a process: the budget of judges is that of all its episodes.
@lru_cache(maxsize=8)
def _vision_judge(judges: JudgeSettings) -> Backbone:
    from worldenv.evaluators.backbones.judge import VisionJudge

    return VisionJudge(judges)


def _of_truth(
    truth: Collection[str], K: NDArray[np.float64] | None
) -> tuple[dict[str, Callable[[], Backbone]], dict[str, str]]:
    """Return what the source itself answers, and why it cannot answer the rest."""
    from worldenv.evaluators.backbones import truth as answers
    from worldenv.evaluators.events import TruthEvent

    offered: dict[str, Callable[[], Any]] = {
        "depth": lambda: answers.TruthSource("depth"),
        "pose": lambda: answers.TruthSource("pose"),
        "event": TruthEvent,
        "detect": answers.TruthSegmenter,
        "segment": answers.TruthSegmenter,
    }
    if K is not None:
        intrinsics = np.asarray(K, np.float64)
        offered["judge"] = lambda: answers.TruthJudge(intrinsics)
        offered["view"] = lambda: answers.TruthView(intrinsics)
    makers: dict[str, Callable[[], Backbone]] = {}
    missing: dict[str, str] = {}
    for role, keys in _NEEDS.items():
        absent = [key for key in keys if key not in truth]
        if absent:
            missing[role] = f"role {role!r} needs truth {', '.join(absent)}; the source has " + (
                ", ".join(sorted(truth)) or "none"
            )
        elif role in _NEEDS_K and K is None:
            missing[role] = f"role {role!r} needs the camera intrinsics K"
        else:
            makers[role] = offered[role]
    return makers, missing


def _of_regions(
    K: NDArray[np.float64] | None, ask: Callable[[str], Backbone], known: Collection[str]
) -> dict[str, Callable[[], Backbone]]:
    """Return what can be asked wherever a frame can be segmented."""
    from worldenv.evaluators.backbones import seen
    from worldenv.evaluators.backbones.cutout import Cutout
    from worldenv.evaluators.backbones.objects import Anchors, Objects, Scenes

    semantic = "text" in known
    return {
        "cutout": lambda: Cutout(K),
        "silhouette": seen.Silhouettes,
        "presence": seen.Presence,
        "glance": seen.Glances,
        "portrait": seen.Portraits,
        "anchors": lambda: Anchors(ask),
        "scene": lambda: Scenes(ask),
        "objects": lambda: Objects(ask, semantic),
    }


def _functions() -> dict[str, Callable[[], Backbone]]:
    """Return what every profile answers: functions of pixels, and of two answers."""
    from worldenv.evaluators import metrics
    from worldenv.evaluators.backbones.local import Light
    from worldenv.evaluators.metrics.match import counted

    def frame_of(ask: Ask, frame: int) -> tuple[Ask, ...]:
        return (pixels(frame),)

    def answer_of(ask: Ask, frame: int) -> tuple[Ask, ...]:
        """The subject of a similarity is the role whose vectors are compared."""
        return (Ask(str(ask.subject), (frame,)),)

    def style_of(ask: Ask, frame: int) -> tuple[Ask, ...]:
        return (Ask("style", (frame,)),)

    return {
        "light": Light,
        "psnr": lambda: Pairwise("psnr", frame_of, metrics.psnr),
        "ssim": lambda: Pairwise("ssim", frame_of, metrics.ssim),
        "style_distance": lambda: Pairwise("style_distance", style_of, metrics.gram_distance),
        "similarity": lambda: Pairwise("similarity", answer_of, metrics.cosine),
        "correspondence": lambda: OfPair("correspondence", "matches", counted),
    }


__all__ = ["PIXELS", "PROFILES", "ROLES", "Profile", "load_profile"]

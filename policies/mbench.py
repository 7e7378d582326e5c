"""MBench's two path families: exit and re-enter, and continuation by text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from worldenv.camera import CameraPath
from worldenv.case import Case
from worldenv.policies.script import (
    DEFAULT_FPS,
    Leg,
    ScriptPolicy,
    Walk,
    check_amount,
    fixed,
    script_name,
)
from worldenv.policies.worldmembench import ORIGIN, Waypoint
from worldenv.world import Unsupported, WorldSpec

_NEAREST = 1e-3
MOTIONS = ("yaw", "strafe", "dolly")

PHRASES_VERSION = 1
"""Raised whenever a phrase or its nominal motion changes."""

# The benchmark names the four kinds; wording and nominal motion are ours: (right, forward) in
# metres and (yaw right, pitch up) in degrees, seen from where the segment begins.
CAMERA_PHRASES = {
    "translation": ("The camera moves slowly to the right.", (1.0, 0.0, 0.0, 0.0)),
    "rotation": ("The camera pans slowly to the left.", (0.0, 0.0, -45.0, 0.0)),
    "zoom": ("The camera moves slowly closer.", (0.0, 0.5, 0.0, 0.0)),
    "dynamic occlusion": ("The camera holds still while something passes in front of it.", None),
}


def exit_reenter(
    motion: str = "yaw",
    distance: float | None = None,
    hold: int = 30,
    leg: int = 60,
    wait: int = 60,
    angle: float = 90.0,
) -> Walk:
    """Leave the target, wait out of view, come back the same way: K = 1, 241 frames.

    Args:
        motion: ``yaw`` (to the right), ``strafe`` (to the right) or ``dolly`` (forward, past the
            target).
        distance: Metres of strafe and dolly over the exit; None takes the case's
            ``options["distance"]``.
        hold: Frames of V after frame 0, and of H.
        leg: Frames of the exit and of the return.
        wait: Frames out of view, part of D1.
        angle: Degrees of the yaw.

    Raises:
        Unsupported: ``motion`` is none of the three, or a number has no sense; on ``path``: no
            distance is known.
    """
    name = script_name(exit_reenter, dict(locals()))
    if motion not in MOTIONS:
        raise Unsupported(f"motion must be one of {', '.join(MOTIONS)}, got {motion!r}")
    if distance is not None:
        check_amount("distance", distance, _NEAREST)

    def through(out: Waypoint) -> Sequence[Leg]:
        return [
            Leg("V", hold),
            Leg("D1", leg, out),
            Leg("D1", wait),
            Leg("R1", leg, ORIGIN),
            Leg("H", hold),
        ]

    # Lengths that no case could mend are refused here and not when a path is asked for.
    fixed(name, through((0.0, 0.0, angle, 0.0)))

    def legs(case: Case | None) -> Sequence[Leg]:
        if motion == "yaw":
            return through((0.0, 0.0, angle, 0.0))
        known = distance if case is None or distance else case.options.get("distance")
        if known is None:
            raise Unsupported(
                f"{name} needs to know how far to go: give distance= in metres, or a case "
                'with options {"distance": metres}'
            )
        metres = check_amount("distance", known, _NEAREST)
        return through((metres, 0.0, 0.0, 0.0) if motion == "strafe" else (0.0, metres, 0.0, 0.0))

    return Walk(name, legs)


@dataclass(frozen=True)
class Continuation:
    """Prompt segments, each opened by a camera phrase, over nominal poses without phases.

    Attributes:
        name: Name that ``load_script`` turns back into this script.
        segments: Number of segments.
        seconds: Length of each.
    """

    name: str
    segments: int
    seconds: float

    def _frames(self, spec: WorldSpec | None) -> int:
        fps = DEFAULT_FPS if spec is None else spec.fps
        return max(1, round(self.seconds * fps))

    def path(
        self,
        spec: WorldSpec | None = None,
        case: Case | None = None,
        control: str = "plan",
    ) -> CameraPath:
        """Return the nominal path: text asks for the motion, so no frame has a phase.

        Raises:
            Unsupported: control is ``primitive``, whose actions text does not give.
        """
        if control == "primitive":
            raise Unsupported(f"{self.name} is driven by text; use control 'plan'")
        walk = self._walk(spec)
        path = walk.path(None if spec is None else replace(spec, discrete=False, held=False), case)
        return CameraPath(path.poses, fps=path.fps)

    def policy(self, spec: WorldSpec, control: str, case: Case | None = None) -> ScriptPolicy:
        """Return a policy that walks the nominal path."""
        self.path(spec, case, control)
        return self._walk(spec).policy(replace(spec, discrete=False, held=False), control, case)

    def _walk(self, spec: WorldSpec | None) -> Walk:
        frames = self._frames(spec)
        right = forward = yaw = 0.0
        legs = []
        for i in range(self.segments):
            move = list(CAMERA_PHRASES.values())[i % len(CAMERA_PHRASES)][1]
            if move is None:
                legs.append(Leg("V", frames))
                continue
            sine, cosine = math.sin(math.radians(yaw)), math.cos(math.radians(yaw))
            right += move[0] * cosine + move[1] * sine
            forward += move[1] * cosine - move[0] * sine
            yaw += move[2]
            legs.append(Leg("V", frames, (right, forward, yaw, 0.0)))
        return fixed(self.name, legs)

    def prompts(
        self, spec: WorldSpec | None = None, case: Case | None = None
    ) -> tuple[tuple[int, str], ...]:
        """Return (first frame, text) of each segment.

        Raises:
            Unsupported: the case has another number of prompts.
        """
        texts = case.prompts if case is not None else ()
        if texts and len(texts) != self.segments:
            raise Unsupported(
                f"{self.name} wants {self.segments} prompts, one a segment; the case has "
                f"{len(texts)}"
            )
        if not texts:
            texts = ((case.prompt if case is not None else None) or "",) * self.segments
        frames = self._frames(spec)
        phrases = [phrase for phrase, _ in CAMERA_PHRASES.values()]
        return tuple(
            (0 if i == 0 else 1 + i * frames, f"{phrases[i % len(phrases)]} {text}".strip())
            for i, text in enumerate(texts)
        )


def continuation(segments: int = 5, seconds: float = 5.0) -> Continuation:
    """Continue a scene by text, one prompt a segment.

    Args:
        segments: Number of segments.
        seconds: Length of each segment.

    Raises:
        Unsupported: there is no segment, or it has no length.
    """
    name = script_name(continuation, dict(locals()))
    check_amount("seconds", seconds, _NEAREST)
    if segments < 1:
        raise Unsupported("a continuation needs at least 1 segment")
    return Continuation(name, segments, seconds)

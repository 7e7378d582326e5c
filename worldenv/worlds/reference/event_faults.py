"""When an event is, as a world with faults has it: its clock, and what it turns into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference.faults import ABSENCE, chance
from worldenv.worlds.reference.motion_faults import pace_of
from worldenv.worlds.reference.scene import Instance, Material, Mesh, Scene

__all__ = ["Clock", "broken", "start_clock"]

VISIBLE = 0.25
"""Distance of two mean colours (sRGB, each channel 0 to 1) from which they are another colour."""

_ABSENT, _COLOUR = 71, 73
_GREY = np.array([0.2126, 0.7152, 0.0722])
_HUES = np.array([(9, 2, 1), (9, 6, 0), (1, 7, 2), (0, 6, 8), (2, 2, 10), (8, 1, 8)]) / 10.0


@dataclass(frozen=True)
class Clock:
    """How far an event's time has run, as an immutable value.

    Attributes:
        seed: Of the episode.
        faults: Doses.
        fps: Frames a second.
        whole: Frames that the event takes.
        pace: Frames of the event in a frame.
        elapsed: Frames of the event so far.
        frame: Index of the newest frame.
        seen: Frame in which what changes was last in view, None before it has been.
        left: Whether it has been out of view for so long that faults set in.
        absence: After how many frames out of view they do.
    """

    seed: int
    faults: Mapping[str, float]
    fps: float
    whole: float
    pace: float
    elapsed: float = 0.0
    frame: int = 0
    seen: int | None = None
    left: bool = False
    absence: int = ABSENCE

    @property
    def time(self) -> float:
        """Time of the event in seconds."""
        return self.elapsed / self.fps

    @property
    def in_view(self) -> bool:
        """Whether the newest frame shows what changes."""
        return self.seen == self.frame

    def advanced(self) -> Clock:
        """Return the clock one frame on, before that frame is drawn."""
        left = self.left or self._away >= self.absence
        pace, elapsed = self.pace, self.elapsed
        if not self.in_view:
            pace *= 1 - self.faults.get("event_freeze", 0.0)
        back = self.faults.get("event_reverse", 0.0)
        if left and back > 0:
            # From on, over standing still, to back at full pace.
            pace, elapsed = pace * (1 - 2 * back), min(elapsed, self.whole)
        return replace(self, elapsed=max(elapsed + pace, 0.0), frame=self.frame + 1, left=left)

    def looked_at(self, visible: bool) -> Clock:
        """Return the clock once the newest frame is drawn; the time may have gone back.

        Args:
            visible: Whether the frame shows what changes.
        """
        if not visible:
            return self
        again = self.faults.get("event_restart", 0.0)
        if again > 0 and self.seen is not None and self.frame - self.seen - 1 >= self.absence:
            back = min(self.elapsed, self.whole) * (1 - again)
            return replace(self, elapsed=back, seen=self.frame)
        return replace(self, seen=self.frame)

    @property
    def _away(self) -> int:
        return 0 if self.seen is None else self.frame - self.seen


def start_clock(
    seed: int,
    faults: Mapping[str, float],
    scene: Scene,
    fps: float,
    visible: bool,
    absence: int = ABSENCE,
) -> Clock:
    """Return the clock at frame 0.

    Args:
        seed: Of the episode.
        faults: Doses of all faults of the world.
        scene: With or without an event.
        fps: Frames a second.
        visible: Whether frame 0 shows what changes.
        absence: Frames out of view after which faults set in.
    """
    pace = pace_of(faults)
    absent = faults.get("event_absent", 0.0)
    if absent > 0 and chance(seed, _ABSENT) < absent:
        pace = 0.0
    whole = np.inf if scene.event is None else scene.event.duration * fps
    return Clock(seed, dict(faults), fps, whole, pace, seen=0 if visible else None, absence=absence)


def broken(scene: Scene, dose: float, seed: int) -> tuple[Scene, list[int]]:
    """Return the scene with what changes in another colour, and which ids differ.

    Args:
        scene: With or without an event.
        dose: Share of the way to a colour that seed and thing decide.
        seed: Of the episode.
    """
    if scene.event is None or dose == 0:
        return scene, []
    instance = scene.instance(scene.event.instance)
    draw = np.random.default_rng([seed, instance.id, _COLOUR])
    colours = [_colour(m, scene) for m in instance.mesh.materials]
    mean = np.mean(colours, axis=0)
    hues = sorted(_HUES, key=lambda hue: float(np.linalg.norm(hue - mean)))
    hue = hues[int(draw.integers(len(hues) // 2, len(hues)))]
    textures: dict[str, NDArray[np.uint8]] = {}

    def painted(mesh: Mesh) -> Mesh:
        materials = []
        for material in mesh.materials:
            key = f"{material.texture}+{hue.tolist()}+{dose:g}"
            textures[key] = _blended(scene.textures[material.texture], hue, dose)
            tint = np.array(material.tint)
            tint = (1 - dose) * tint + dose * max(float(_GREY @ tint), 0.5)
            red, green, blue = tint.tolist()
            materials.append(material._replace(texture=key, tint=(red, green, blue)))
        return mesh._replace(materials=tuple(materials))

    changed: Instance = replace(
        instance,
        mesh=painted(instance.mesh),
        coarse=None if instance.coarse is None else painted(instance.coarse),
    )
    shown = scene.with_instance(changed, textures)
    now = np.mean([_colour(m, shown) for m in changed.mesh.materials], axis=0)
    if float(np.linalg.norm(now - mean)) >= VISIBLE:
        changed = replace(changed, variant=f"{instance.variant}/broken")
        shown = scene.with_instance(changed, textures)
    return shown, [instance.id]


def _colour(material: Material, scene: Scene) -> NDArray[np.float64]:
    """Return the mean colour of a material, sRGB, shape (3,), each 0 to 1."""
    texture = scene.textures[material.texture].reshape(-1, 3).mean(axis=0) / 255.0
    light = texture**2.2 * np.array(material.tint)
    return np.asarray(np.clip(light, 0, 1) ** (1 / 2.2))


def _blended(
    texture: NDArray[np.uint8], hue: NDArray[np.float64], dose: float
) -> NDArray[np.uint8]:
    """Return a texture (n, n, 3) on its way to one of the same pattern in a hue."""
    pattern = texture[..., :3].astype(np.float64) @ _GREY
    # A dark thing must take colour as well.
    pattern = 0.35 * 255 + 0.65 * pattern
    mixed = texture.astype(np.float64)
    mixed[..., :3] = (1 - dose) * mixed[..., :3] + dose * pattern[..., None] * hue
    return np.clip(mixed, 0, 255).round().astype(np.uint8)

"""Distorted: any world, its frames spoilt by planted faults, its truth still that of each picture.

The faults act in a fixed order, as a camera, a codec and a player would: blur, exposure, noise,
down_up and compression change each picture; frame_rate, dropped and repeated then choose which
picture stands at which frame. What is known of a picture (pose, depth, ids, state) goes where the
picture goes; ``Chunk.poses`` stays what was commanded. Frame 0 is a frame of the video like every
other, so pictures are spoilt from there on, also where a world starts from an image: the world
itself got the clean one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import CameraPath
from worldenv.codec import H264Stream
from worldenv.faults import FRAME_FAULTS, STATE_FAULTS, check_faults
from worldenv.pixels import blurred, draw, exposed, noisy, scaled
from worldenv.world import Chunk, Start, Unsupported, World, WorldSpec

__all__ = ["Distorted"]

HELD = 3
"""How often the frame rate is halved at dose 1: each picture is held for 8 frames."""
QUANTISER = (18, 51)
"""Of the compression at the least dose and at dose 1, of H.264's 0 to 51."""


class _Item(NamedTuple):
    """A picture, (height, width, 3) uint8, and the truth of it by key."""

    frame: NDArray[np.uint8]
    truth: dict[str, Any] | None


class _Episode(NamedTuple):
    """What faults carry over from frame to frame, as an immutable value.

    Attributes:
        seed: Of the episode.
        made: Frames so far.
        held: What frame_rate shows.
        kept: What dropped shows.
        waiting: What repeated has still to show.
    """

    seed: int
    made: int = 0
    held: _Item | None = None
    kept: _Item | None = None
    waiting: tuple[_Item, ...] = ()


class _Token(NamedTuple):
    world: Any
    episode: _Episode | None
    group: tuple[NDArray[np.uint8], ...]


class Distorted:
    """A world with faults on its frames.

    The world streams: a frame depends on no later one, and chunks of any length give the same
    frames. The truth of each goes with the picture that is shown. Under ``repeated`` pictures wait
    in memory until they are shown, half of the episode at dose 1.

    It offers what the world offers: ``snapshot`` and ``restore`` exist where the world has them.
    With every dose at 0 it hands the world's chunks on untouched.

    Args:
        world: The world; closing this closes it.
        faults: Names of ``FRAME_FAULTS`` -> dose in [0, 1].

    Attributes:
        spec: The world's spec; its name says what was done to the frames.
        faults: The faults with a dose above 0.
        distortion: The same as text, such as ``blur 0.5``; empty where nothing is done.

    Raises:
        UnknownName: there is no such fault.
        Unsupported: a dose lies outside [0, 1], or a fault is one of a world's state.
    """

    spec: WorldSpec

    def __init__(self, world: World, faults: Mapping[str, float] | None) -> None:
        for name in faults if isinstance(faults, Mapping) else ():
            if name in STATE_FAULTS:
                raise Unsupported(
                    f"fault {name!r} changes what happens in a world, not its frames; only "
                    "Reference-v0 offers it, in its own faults="
                )
        doses = check_faults(faults, FRAME_FAULTS)
        self.faults = {name: doses[name] for name in FRAME_FAULTS if doses.get(name, 0.0) > 0}
        self.distortion = ", ".join(f"{name} {dose:g}" for name, dose in self.faults.items())
        self._world: Any = world
        spec: WorldSpec = world.spec
        if self.faults:
            spec = dataclasses.replace(spec, name=f"{spec.name} (distorted: {self.distortion})")
        self.spec = spec
        self._episode: _Episode | None = None
        self._codec: H264Stream | None = None
        if "compression" in self.faults:
            least, most = QUANTISER
            quantiser = round(least + (most - least) * self.faults["compression"])
            self._codec = H264Stream(spec.size, quantiser)

    def __getattr__(self, name: str) -> Any:
        # Only called for what this class lacks. A world may offer more than the protocol.
        if name.startswith("_"):
            raise AttributeError(name)
        if name in ("snapshot", "restore"):
            if hasattr(self._world, "snapshot") and hasattr(self._world, "restore"):
                return self._snapshot if name == "snapshot" else self._restore
            raise AttributeError(f"{self._world.spec.name} has no {name}")
        return getattr(self._world, name)

    @property
    def progress(self) -> Any:
        """The world's callback of progress, where it has one."""
        return self._world.progress

    @progress.setter
    def progress(self, report: Any) -> None:
        self._world.progress = report

    def reset(self, start: Start, *, seed: int, plan: CameraPath | None = None) -> Chunk:
        """Begin an episode in the world; faults draw from the same seed."""
        chunk = self._world.reset(start, seed=seed, plan=plan)
        self._episode = _Episode(int(seed))
        if self._codec is not None:
            self._codec.restart()
        return self._spoil(chunk)

    def step(self, poses: NDArray[np.float64], prompt: str | None = None) -> Chunk:
        """Make the world's next frames and spoil them.

        Raises:
            CodecMissing: ``compression`` is asked for and ffmpeg cannot code H.264.
        """
        chunk = self._world.step(poses) if prompt is None else self._world.step(poses, prompt)
        return self._spoil(chunk)

    def close(self) -> None:
        """Close the world; may be called twice."""
        self._episode = None
        if self._codec is not None:
            self._codec.close()
        self._world.close()

    def _snapshot(self) -> object:
        group = () if self._codec is None else self._codec.group
        return _Token(self._world.snapshot(), self._episode, group)

    def _restore(self, token: object) -> None:
        if not isinstance(token, _Token):
            raise Unsupported("restore needs a token that snapshot of this world returned")
        self._world.restore(token.world)
        self._episode = token.episode
        if self._codec is not None:
            self._codec.restart(token.group)

    def _spoil(self, chunk: Chunk) -> Chunk:
        if not self.faults or self._episode is None:
            return chunk
        episode, shown = self._episode, list[_Item]()
        moves = any(name in self.faults for name in ("frame_rate", "dropped", "repeated"))
        for i, frame in enumerate(chunk.frames):
            picture = self._picture(frame, episode)
            item = _Item(picture, _truth_at(chunk.truth, i) if moves else None)
            item, episode = self._choose(item, episode)
            shown.append(item)
        self._episode = episode
        frames = np.stack([item.frame for item in shown])
        truth = _joined(item.truth for item in shown) if moves else chunk.truth
        return Chunk(frames, chunk.poses, truth)

    def _picture(self, frame: NDArray[np.uint8], episode: _Episode) -> NDArray[np.uint8]:
        """Return one picture (height, width, 3) as the faults leave it."""
        faults, seed, index = self.faults, episode.seed, episode.made
        frame = np.ascontiguousarray(frame)
        if "blur" in faults:
            frame = blurred(frame, faults["blur"])
        if "exposure" in faults:
            frame = exposed(frame, faults["exposure"], seed, index / self.spec.fps)
        if "noise" in faults:
            frame = noisy(frame, faults["noise"], seed, index)
        if "down_up" in faults:
            frame = scaled(frame, faults["down_up"])
        if self._codec is not None:
            frame = self._codec.code(frame)
        return frame

    def _choose(self, item: _Item, episode: _Episode) -> tuple[_Item, _Episode]:
        """Return what is shown in the place of a new picture."""
        faults, seed, index = self.faults, episode.seed, episode.made
        held, kept, waiting = episode.held, episode.kept, episode.waiting
        if "frame_rate" in faults:
            if held is None or _fresh(faults["frame_rate"], seed, index):
                held = item
            item = held
        if "dropped" in faults:
            if kept is None or draw(seed, "dropped", index).random() >= faults["dropped"]:
                kept = item
            item = kept
        if "repeated" in faults:
            twice = draw(seed, "repeated", index).random() < faults["repeated"]
            waiting = (*waiting, item, item) if twice else (*waiting, item)
            item, waiting = waiting[0], waiting[1:]
        return item, _Episode(seed, index + 1, held, kept, waiting)


def _fresh(dose: float, seed: int, index: int) -> bool:
    """Return whether frame_rate shows a new picture at a frame.

    The rate is halved ``HELD`` times ``dose``: at a whole number of halvings the pictures of frames
    0, 2, 4 ... or 0, 4, 8 ... are shown; in between some of the next halving are left out already.
    """
    halvings = HELD * dose
    whole = int(halvings)
    if index % (1 << whole):
        return False
    if index % (2 << whole) == 0:
        return True
    return bool(draw(seed, "frame_rate", index).random() >= halvings - whole)


def _truth_at(truth: Mapping[str, Any] | None, frame: int) -> dict[str, Any] | None:
    """Return the truth of one frame of a chunk; of what is partly known, whether it is."""
    if truth is None:
        return None
    one = {key: value[frame] for key, value in truth.items() if key != "recorded"}
    if "recorded" in truth:
        one["recorded"] = {key: bool(known[frame]) for key, known in truth["recorded"].items()}
    return one


def _joined(truths: Iterable[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Return the truth of a chunk from that of its frames; keys that all of them have."""
    rows = [row for row in truths if row is not None]
    if not rows:
        return None
    keys = [key for key in rows[0] if all(key in row for row in rows)]
    made: dict[str, Any] = {}
    for key in keys:
        values = [row[key] for row in rows]
        if key == "recorded":
            names = [name for name in values[0] if all(name in known for known in values)]
            made[key] = {name: np.array([known[name] for known in values]) for name in names}
        elif isinstance(values[0], np.ndarray):
            made[key] = np.stack(values)
        else:
            made[key] = tuple(values)
    return made

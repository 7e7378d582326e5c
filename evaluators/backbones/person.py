"""Roles segment and detect, light, for people only: BlazePose finds and cuts out each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.backbones.blazeface import squares
from worldenv.evaluators.backbones.litert import (
    Hit,
    LiteNet,
    Patch,
    anchors,
    decoded,
    merged,
    patch,
)
from worldenv.evaluators.backbones.regions import Region, region
from worldenv.evaluators.plan import Ask, Thing, pixels
from worldenv.weights import Located

_SIDE, _STRIDES, _VALUES = 224, ((8, 2), (16, 2), (32, 6)), 12
_MASK_SIDE = 256
_OUTPUTS = (195, 1, _MASK_SIDE**2, 64 * 64 * 39, 117)
_MARGIN = 1.25

_FOUND = 0.5
"""Smallest score of a person, of the detector."""

_SURE = 0.55
"""Smallest score of the network that cuts it out, times the share of the mask that the selfie
network takes for a person too. Photographs of people gave 0.79 and more, of a rocket and a
motorcycle that pass the detector 0.37 and less."""

_SAME_MASK, _SAME_TRACK = 0.7, 0.2
_PIXELS = 64
_TRACKS = 64


class _Person(NamedTuple):
    """How likely each pixel of a frame is to be of one person, shape (height, width) float32."""

    chance: NDArray[np.float32]
    score: float


class PersonSegmenter:
    """Answers ``segment`` for the noun ``person`` with one Region a person, largest first.

    A hit of the pose detector is cut out by the pose network; it counts when that network and the
    selfie network see a person as well, since rockets and cups pass one of them but not all three.
    A pixel that several people claim goes to the likeliest. In a window, a person keeps the track
    of the mask of the frame before that it overlaps most.
    """

    name = "blazepose-person"
    batch = 1

    def __init__(self, located: Located) -> None:
        """Load the networks.

        Raises:
            DamagedWeights: a file is of another network.
        """
        self.revision = f"{located.revision}; whole frame and squares, sure {_SURE:g}; 1"
        self.checksum = located.checksum
        self._centres = anchors(_SIDE, _STRIDES)
        number = len(self._centres)
        self._detector = LiteNet(located, "detection.tflite", _SIDE, (number * _VALUES, number))
        self._cutter = LiteNet(located, "landmarks.tflite", _MASK_SIDE, _OUTPUTS)
        self._selfie = LiteNet(located, "selfie.tflite", _MASK_SIDE, (_MASK_SIDE**2,))

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame and, in a window, the regions of the frame before."""
        frame = ask.frames[0]
        before = ask.subject.before(frame) if isinstance(ask.subject, Thing) else None
        if before is None:
            return (pixels(frame),)
        return pixels(frame), Ask(ask.role, (before,), ask.subject)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Find the people of every frame."""
        return [
            self._regions(ask, values[0], values[1] if len(values) > 1 else ())
            for ask, values in zip(asks, inputs, strict=True)
        ]

    def _regions(
        self, ask: Ask, frame: NDArray[np.uint8], before: Sequence[Region]
    ) -> tuple[Region, ...]:
        noun = ask.subject.noun if isinstance(ask.subject, Thing) else str(ask.subject)
        masks = sorted(self.masks(frame), key=np.count_nonzero, reverse=True)
        tracks = followed(masks, before, ask.frames[0] * _TRACKS)
        return tuple(region(t, noun, m) for t, m in zip(tracks, masks, strict=True))

    def masks(self, frame: NDArray[np.uint8]) -> list[NDArray[np.bool_]]:
        """Return the mask of every person in a frame, shape (height, width) bool each."""
        hits = [hit for square in squares(frame, _SIDE) for hit in self._look(square)]
        people: list[_Person] = []
        for hit in merged(hits)[:_TRACKS]:
            person = self._cut_out(frame, hit)
            if person is None:
                continue
            mine = person.chance > 0.5
            if all(_iou(mine, other.chance > 0.5) < _SAME_MASK for other in people):
                people.append(person)
        if not people:
            return []
        chances = np.stack([person.chance for person in people])
        owner = chances.argmax(axis=0)
        masks = [(owner == k) & (chances[k] > 0.5) for k in range(len(people))]
        return [mask for mask in masks if np.count_nonzero(mask) >= _PIXELS]

    def _look(self, square: Patch) -> list[Hit]:
        raw, logits = self._detector.run(square.image.astype(np.float32) / np.float32(127.5) - 1)
        return [
            Hit(
                square.to_frame(hit.box.reshape(2, 2)).ravel(),
                square.to_frame(hit.points),
                hit.score,
            )
            for hit in decoded(raw, logits, self._centres, _SIDE, _FOUND)
        ]

    def _cut_out(self, frame: NDArray[np.uint8], hit: Hit) -> _Person | None:
        """Return one person, None when the other networks see none."""
        # Points of the detector: middle of the hips, and a point as far away as the body reaches.
        hips, reach = hit.points[0], hit.points[1] - hit.points[0]
        size = 2 * _MARGIN * float(np.linalg.norm(reach))
        if size < 16:
            return None
        upright = float(np.arctan2(reach[1], reach[0])) + np.pi / 2
        seen = patch(frame, (hips + 0.5).tolist(), size, _MASK_SIDE, upright)
        image = seen.image.astype(np.float32) / np.float32(255)
        _, score, logits, *_ = self._cutter.run(image)
        sure = float(score.ravel()[0])
        square = (_MASK_SIDE, _MASK_SIDE)
        soft = (1 / (1 + np.exp(-np.clip(logits.reshape(square), -30, 30)))).astype(np.float32)
        inside = soft > 0.5
        selfie = self._selfie.run(image)[0].reshape(square)
        if not inside.any():
            return None
        sure *= float((selfie[inside] > 0.5).mean())
        if sure < _SURE:
            return None
        height, width = frame.shape[:2]
        chance = cv2.warpAffine(soft, seen.back, (width, height), flags=cv2.INTER_LINEAR)
        return _Person(np.asarray(chance, np.float32), min(hit.score, sure))


class PersonDetector:
    """Answers ``detect`` with what ``segment`` finds."""

    name = "blazepose-person"
    batch = 1

    def __init__(self, located: Located) -> None:
        """Take name and checksum from the weights of the segmenter."""
        self.revision = f"{located.revision}; by segment; 1"
        self.checksum = located.checksum

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the regions of the frame."""
        return (Ask("segment", ask.frames, ask.subject),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Pass them on."""
        return [regions for (regions,) in inputs]


def followed(masks: Sequence[NDArray[np.bool_]], before: Sequence[Region], first: int) -> list[int]:
    """Return the track of every mask: that of the region it overlaps most, else a new one.

    Args:
        masks: Of this frame.
        before: Regions of the frame before.
        first: Number that new tracks count from; above all of the frames before.
    """
    pairs = [(_iou(mask, old.mask), k, old.track) for k, mask in enumerate(masks) for old in before]
    tracks: dict[int, int] = {}
    for share, k, track in sorted(pairs, key=lambda pair: (-pair[0], pair[1:])):
        if share >= _SAME_TRACK and k not in tracks and track not in tracks.values():
            tracks[k] = track
    return [tracks.get(k, first + k) for k in range(len(masks))]


def _iou(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> float:
    union = int(np.count_nonzero(a | b))
    return int(np.count_nonzero(a & b)) / union if union else 0.0

"""Role faces, light: BlazeFace finds faces, the face mesh confirms them and places landmarks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.backbones.faces import Face
from worldenv.evaluators.backbones.inference import once
from worldenv.evaluators.backbones.litert import (
    Hit,
    LiteNet,
    Patch,
    anchors,
    decoded,
    merged,
    overlap,
    patch,
)
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import Located

_SIDE, _STRIDES, _VALUES = 192, ((4, 1),), 16
_LEAST = 0.6
"""Smallest score of a face, of the detector and of the mesh."""
_MESH_SIDE, _MESH_POINTS, _MARGIN = 192, 468, 1.5
# Points of the mesh: corners of the eye on the left of the picture and of the other, tip of the
# nose, corners of the mouth.
_EYES, _NOSE, _MOUTH = ((33, 133), (362, 263)), 1, (61, 291)


class BlazeFace:
    """Answers ``faces`` with the faces of a frame, best first.

    The detector looks at the whole frame and, where that is not square, at overlapping squares
    along its longer side, so that a face of 16 pixels in a 640 x 360 frame is large enough for it.
    Every hit is looked at once more by the face mesh, which gives it a second score (the smaller
    one counts) and exact eyes, nose and corners of the mouth.
    """

    name = "blazeface-full+mesh"
    batch = 1

    def __init__(self, located: Located, least: float = _LEAST) -> None:
        """Load the two networks.

        Raises:
            DamagedWeights: a file is of another network.
        """
        self.revision = f"{located.revision}; least {least:g}, whole frame and squares; 1"
        self.checksum = located.checksum
        self._least = least
        self._centres = anchors(_SIDE, _STRIDES)
        number = len(self._centres)
        self._detector = LiteNet(located, "detection.tflite", _SIDE, (number * _VALUES, number))
        self._mesh = LiteNet(located, "mesh.tflite", _MESH_SIDE, (_MESH_POINTS * 3, 1))

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame."""
        return (pixels(ask.frames[0]),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Find the faces of every frame."""
        return once([ask.frames for ask in asks], lambda k: self.faces(inputs[k][0]))

    def faces(self, frame: NDArray[np.uint8]) -> tuple[Face, ...]:
        """Return the faces of a frame (height, width, 3) uint8, best first."""
        hits = [hit for square in squares(frame, _SIDE) for hit in self._look(frame, square)]
        found = [self._confirmed(frame, hit) for hit in merged(hits)]
        faces = sorted((face for face in found if face is not None), key=lambda f: -f.score)
        kept: list[Face] = []
        for face in faces:
            # Two hits on one face may come apart only where the mesh has looked.
            if all(overlap(face.box, other.box) < 0.5 for other in kept):
                kept.append(face)
        return tuple(kept)

    def _look(self, frame: NDArray[np.uint8], square: Patch) -> list[Hit]:
        raw, logits = self._detector.run(square.image.astype(np.float32) / np.float32(127.5) - 1)
        hits = decoded(raw, logits, self._centres, _SIDE, self._least)
        return [
            Hit(
                square.to_frame(hit.box.reshape(2, 2)).ravel(),
                square.to_frame(hit.points),
                hit.score,
            )
            for hit in hits
            if not _is_cut(hit, square, frame)
        ]

    def _confirmed(self, frame: NDArray[np.uint8], hit: Hit) -> Face | None:
        """Look at one hit with the mesh; None when that sees no face."""
        eyes = hit.points[1] - hit.points[0]
        angle = float(np.arctan2(eyes[1], eyes[0]))
        centre = (hit.box[:2] + hit.box[2:]) / 2 + 0.5
        size = float((hit.box[2:] - hit.box[:2]).max()) * _MARGIN
        if size < 8:
            return None
        seen = patch(frame, centre.tolist(), size, _MESH_SIDE, angle)
        points, logit = self._mesh.run(seen.image.astype(np.float32) / np.float32(255))
        sure = float(1 / (1 + np.exp(-np.clip(float(logit.ravel()[0]), -60, 60))))
        if sure < self._least:
            return None
        mesh = seen.to_frame(points.reshape(-1, 3)[:, :2] / _MESH_SIDE)
        eyes_at = [mesh[list(corners)].mean(axis=0) for corners in _EYES]
        landmarks = np.stack([*eyes_at, mesh[_NOSE], *mesh[list(_MOUTH)]]).astype(np.float32)
        height, width = frame.shape[:2]
        box = np.clip(
            np.concatenate([mesh.min(axis=0), mesh.max(axis=0)]),
            0,
            np.array([width, height] * 2, np.float32) - 1,
        ).astype(np.float32)
        return Face(box, landmarks, min(hit.score, sure))


def squares(frame: NDArray[np.uint8], side: int) -> list[Patch]:
    """Return the whole frame as one square patch, then overlapping squares of its shorter side.

    Two neighbours share at least half of their side; a square frame gives one patch.

    Args:
        frame: Shape (height, width, 3) uint8.
        side: Side of the patches, pixels.
    """
    height, width = frame.shape[:2]
    long, short = max(height, width), min(height, width)
    found = [patch(frame, (width / 2, height / 2), long, side)]
    # A frame that is almost square gains nothing by being looked at again.
    if long < 1.2 * short:
        return found
    number = int(np.ceil((long / short - 1) / 0.5)) + 1
    for start in np.linspace(0, long - short, number).tolist():
        along, across = start + short / 2, short / 2
        centre = (along, across) if width >= height else (across, along)
        found.append(patch(frame, centre, short, side))
    return found


def _is_cut(hit: Hit, square: Patch, frame: NDArray[np.uint8]) -> bool:
    """Return whether a hit leaves its square on a side where the frame goes on."""
    height, width = frame.shape[:2]
    corners = square.to_frame(np.array([[0.0, 0.0], [1.0, 1.0]]))
    for low, high, size, first, last in zip(
        hit.box[:2], hit.box[2:], (width, height), corners[0], corners[1], strict=True
    ):
        if (low < 0 and first > 0.5) or (high > 1 and last < size - 1.5):
            return True
    return False

"""Role identity, light: dlib's face descriptor as vectors whose cosine tells people apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.backbones.faces import Face
from worldenv.evaluators.backbones.inference import once
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import DamagedWeights, Located

SMALLEST = 32
"""Least height of a face in pixels; smaller ones are blown up to mush."""

SIGMA = 0.387
"""Distance scale of the mapping: dlib's own limit between people, 0.6, becomes a cosine of 0.3."""

_DIMENSIONS, _CHIP, _PADDING = 128, 150, 0.25
_BLOCKS = 32
_SEED = 20


class DlibFace:
    """Answers ``identity`` with (Face, unit vector (8192,) float32) of the faces of a frame.

    dlib's descriptor is made to be compared by distance: those of two people point almost the same
    way. Its random Fourier features of a Gaussian kernel (orthogonal, fixed seed) have a cosine of
    exp(-d^2 / (2 sigma^2)) within about 0.01, which can be compared, averaged and thresholded as
    the cosines of other face networks: about 0.8 for one person, under 0.2 for two.
    """

    name = "dlib-resnet-rbf"
    batch = 1

    def __init__(self, located: Located) -> None:
        """Load the network and the finder of its five landmarks.

        Raises:
            DamagedWeights: a file cannot be read or is of another network.
        """
        import dlib

        self._dlib: Any = dlib
        try:
            self._describe = dlib.face_recognition_model_v1(str(located.folder / "resnet.dat"))
            self._landmarks = dlib.shape_predictor(str(located.folder / "landmarks.dat"))
        except RuntimeError as error:
            raise DamagedWeights(
                f"{located.folder} does not hold dlib's face networks: {error}; examine it by: "
                f"worldenv weights verify {located.id}"
            ) from error
        self.revision = f"{located.revision}; faces of {SMALLEST} px, sigma {SIGMA:g}; 1"
        self.checksum = located.checksum
        self._turns = directions()

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame and its faces."""
        return pixels(ask.frames[0]), Ask("faces", ask.frames)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Describe the faces of every frame."""
        return once([ask.frames for ask in asks], lambda k: self._identities(*inputs[k]))

    def _identities(
        self, frame: NDArray[np.uint8], faces: Sequence[Face]
    ) -> tuple[tuple[Face, NDArray[np.float32]], ...]:
        image = np.ascontiguousarray(frame)
        return tuple(
            (face, lifted(self.descriptor(image, face), self._turns))
            for face in faces
            if face.box[3] - face.box[1] >= SMALLEST
        )

    def descriptor(self, frame: NDArray[np.uint8], face: Face) -> NDArray[np.float64]:
        """Return dlib's descriptor of a face, shape (128,); 0.6 apart are two people."""
        shape = self._landmarks(frame, self._dlib.rectangle(*_square(face)))
        chip = self._dlib.get_face_chip(frame, shape, size=_CHIP, padding=_PADDING)
        return np.array(self._describe.compute_face_descriptor(chip), np.float64)


def _square(face: Face) -> tuple[int, int, int, int]:
    """Return the square that dlib's own detector would give: from the brows to the chin."""
    eyes, mouth = face.landmarks[:2].mean(axis=0), face.landmarks[3:].mean(axis=0)
    reach = float(np.linalg.norm(mouth - eyes))
    centre = eyes + 0.45 * (mouth - eyes)
    half = 1.25 * reach
    left, top = (round(float(value) - half) for value in centre)
    right, bottom = (round(float(value) + half) for value in centre)
    return left, top, right, bottom


def directions() -> NDArray[np.float64]:
    """Return the directions of the features, shape (4096, 128), rows drawn from N(0, 1 / sigma^2).

    Blocks of 128 rows are orthogonal, which makes the cosine exact to about a third of what
    independent rows give.
    """
    rng = np.random.default_rng(_SEED)
    blocks = []
    for _ in range(_BLOCKS):
        turn, _ = np.linalg.qr(rng.standard_normal((_DIMENSIONS, _DIMENSIONS)))
        lengths = np.sqrt(rng.chisquare(_DIMENSIONS, _DIMENSIONS))
        blocks.append(turn * lengths[:, None])
    return np.concatenate(blocks) / SIGMA


def lifted(descriptor: NDArray[np.float64], turns: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the unit vector of a descriptor: cosines and sines of its products, (8192,)."""
    angles = turns @ descriptor
    return np.asarray(
        np.concatenate([np.cos(angles), np.sin(angles)]) / np.sqrt(len(angles)), np.float32
    )

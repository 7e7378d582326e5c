"""Roles faces and identity: SCRFD and ArcFace of the InsightFace packs (non-commercial licence)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.backbones.detections import overlaps
from worldenv.evaluators.backbones.faces import Face
from worldenv.evaluators.backbones.pretrained import in_batches, unit, wrong
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import Located
from worldenv.world import Unsupported

Image = NDArray[np.uint8]
Floats = NDArray[np.float32]

DETECTOR, RECOGNISER = "det_10g.onnx", "w600k_r50.onnx"
SIDE, STRIDES, LEAST, OVERLAP = 640, (8, 16, 32), 0.5, 0.4
"""Input of the detector in pixels, its grids, smallest score, overlap of two finds of a face."""
CHIP = 112
TEMPLATE = np.array(
    [
        [38.2946, 51.6963],
        [73.5318, 51.5014],
        [56.0252, 71.7366],
        [41.5493, 92.3655],
        [70.7299, 92.2041],
    ],
    np.float64,
)
"""Where eyes, nose and corners of the mouth lie in what the recogniser sees, pixels."""


def session(located: Located, file: str, device: str) -> Any:
    """Return a session of onnxruntime.

    Raises:
        DamagedWeights: the file cannot be read.
        Unsupported: the device was chosen and this onnxruntime cannot use it.
    """
    import onnxruntime

    wanted = "CPUExecutionProvider" if device == "cpu" else "CUDAExecutionProvider"
    if wanted not in onnxruntime.get_available_providers():
        raise Unsupported(
            f"this onnxruntime cannot run on {device}; install onnxruntime-gpu in its place, or "
            "choose WORLDENV_DEVICE=cpu"
        )
    number = int(device.partition(":")[2] or 0)
    provider: Any = wanted if device == "cpu" else (wanted, {"device_id": number})
    try:
        return onnxruntime.InferenceSession(str(located.folder / file), providers=[provider])
    except Exception as error:
        # It raises classes of its own, by what is wrong with the file.
        raise wrong(located, file, type(error).__name__) from error


class Scrfd:
    """Answers ``faces``, asked as (frame,), with the faces of a frame, best first."""

    batch = 1

    def __init__(self, located: Located, device: str = "cpu") -> None:
        """Load it.

        Args:
            located: An InsightFace pack, e.g. buffalo_l.
            device: Where it runs, in float32.

        Raises:
            DamagedWeights: the file is damaged or of another network.
            Unsupported: onnxruntime cannot use the device.
        """
        self.name = f"{located.id}-scrfd-{SIDE}"
        self._session = session(located, DETECTOR, device)
        self.revision = f"{located.revision}; {self._session.get_providers()[0]}; 1"
        self.checksum = located.checksum
        outputs = len(self._session.get_outputs())
        if outputs != 3 * len(STRIDES):
            raise wrong(located, DETECTOR, f"it gives {outputs} answers, not scores, boxes, points")
        self._input = self._session.get_inputs()[0].name

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame."""
        return (pixels(ask.frames[0]),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Find the faces of every frame."""
        return [self._faces(frame) for (frame,) in inputs]

    def _faces(self, frame: Image) -> tuple[Face, ...]:
        height, width = frame.shape[:2]
        scale = SIDE / max(height, width)
        small = cv2.resize(frame, (max(int(width * scale), 1), max(int(height * scale), 1)))
        square = np.zeros((SIDE, SIDE, 3), np.float32)
        square[: small.shape[0], : small.shape[1]] = small
        values = ((square - 127.5) / 128).transpose(2, 0, 1)[None]
        found = self._session.run(None, {self._input: np.ascontiguousarray(values)})
        scores, boxes, points = decoded(found)
        order = np.argsort(-scores, kind="stable")
        kept: list[int] = []
        for k in order[scores[order] >= LEAST].tolist():
            if not kept or overlaps(boxes[k : k + 1], boxes[kept]).max() <= OVERLAP:
                kept.append(k)
        ratio = np.float32(height / small.shape[0])
        return tuple(Face(boxes[k] * ratio, points[k] * ratio, float(scores[k])) for k in kept)


def decoded(found: Sequence[NDArray[Any]]) -> tuple[Floats, Floats, Floats]:
    """Return scores (n,), boxes (n, 4) and landmarks (n, 5, 2) of the square in pixels.

    Args:
        found: Scores of every grid, then boxes, then landmarks; two a cell, distances from the
            corner of the cell in strides.
    """
    scores, boxes, points = [], [], []
    grids = len(STRIDES)
    for k, stride in enumerate(STRIDES):
        cells = SIDE // stride
        rows, columns = np.mgrid[:cells, :cells]
        corner = np.stack([columns, rows], axis=-1).reshape(-1, 2).repeat(2, axis=0) * stride
        away = np.asarray(found[k + grids], np.float32).reshape(-1, 4) * stride
        scores.append(np.asarray(found[k], np.float32).ravel())
        boxes.append(np.concatenate([corner - away[:, :2], corner + away[:, 2:]], axis=1))
        marks = np.asarray(found[k + 2 * grids], np.float32).reshape(-1, 5, 2) * stride
        points.append(corner[:, None] + marks)
    return (
        np.concatenate(scores),
        np.concatenate(boxes).astype(np.float32),
        np.concatenate(points).astype(np.float32),
    )


class ArcFace:
    """Answers ``identity``, asked as (frame,), with (Face, unit vector (512,)) of every face."""

    batch = 1

    def __init__(self, located: Located, device: str = "cpu", chips: int = 4) -> None:
        """Load it.

        Args:
            located: An InsightFace pack, e.g. buffalo_l.
            device: Where it runs, in float32.
            chips: Faces that go through the network at once.

        Raises:
            DamagedWeights: the file is damaged or of another network.
            Unsupported: onnxruntime cannot use the device.
        """
        self.name = f"{located.id}-arcface"
        self._session = session(located, RECOGNISER, device)
        self.revision = f"{located.revision}; {self._session.get_providers()[0]}; 1"
        self.checksum = located.checksum
        (given,) = self._session.get_inputs()
        outputs = self._session.get_outputs()
        if list(given.shape[1:]) != [3, CHIP, CHIP] or len(outputs) != 1:
            raise wrong(located, RECOGNISER, f"it takes {given.shape}, not faces of {CHIP} pixels")
        self._input = given.name
        self._chips = chips

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame and its faces."""
        return pixels(ask.frames[0]), Ask("faces", ask.frames)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Describe the faces of every frame."""
        return [self._identities(frame, faces) for frame, faces in inputs]

    def _identities(self, frame: Image, faces: Sequence[Face]) -> tuple[tuple[Face, Floats], ...]:
        chips = [aligned(frame, face.landmarks) for face in faces]
        vectors = in_batches(chips, self._chips, self._describe)
        return tuple(zip(faces, vectors, strict=True))

    def _describe(self, chips: list[Image]) -> Floats:
        values = (np.stack(chips).astype(np.float32) - 127.5) / 127.5
        given = np.ascontiguousarray(values.transpose(0, 3, 1, 2))
        (found,) = self._session.run(None, {self._input: given})
        return unit(found)


def aligned(frame: Image, landmarks: Floats) -> Image:
    """Return a face as the recogniser sees it, its landmarks where the template has them."""
    # In the plane, a turn with a scale is the product with one complex number.
    given = landmarks.astype(np.float64) @ np.array([1, 1j])
    wanted = TEMPLATE @ np.array([1, 1j])
    a, b = given - given.mean(), wanted - wanted.mean()
    turn = (a.conj() * b).sum() / max(float((a.conj() * a).real.sum()), 1e-9)
    shift = wanted.mean() - turn * given.mean()
    matrix = np.array([[turn.real, -turn.imag, shift.real], [turn.imag, turn.real, shift.imag]])
    return np.asarray(cv2.warpAffine(frame, matrix, (CHIP, CHIP)), np.uint8)

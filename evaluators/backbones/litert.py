"""Networks in LiteRT's file format, and the decoding of single-shot detectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv.weights import DamagedWeights, Located

Floats = NDArray[np.float32]


class LiteNet:
    """A network of one image in and several arrays out, on one core of the CPU.

    Attributes:
        side: Side of the square image it takes, pixels.
    """

    def __init__(self, located: Located, file: str, side: int, outputs: Sequence[int]) -> None:
        """Load it.

        Args:
            located: Its weights.
            file: File in their folder.
            side: Side of its image.
            outputs: Number of values of each array that comes out.

        Raises:
            DamagedWeights: the file cannot be read or is of another network.
        """
        from ai_edge_litert.interpreter import Interpreter

        path = located.folder / file
        try:
            self._net: Any = Interpreter(model_path=str(path), num_threads=1)
            self._net.allocate_tensors()
        except (ValueError, RuntimeError, OSError) as error:
            raise DamagedWeights(
                f"{path} cannot be read: {error}; examine it by: worldenv weights verify "
                f"{located.id}"
            ) from error
        taken = [tuple(entry["shape"]) for entry in self._net.get_input_details()]
        given = [int(np.prod(entry["shape"])) for entry in self._net.get_output_details()]
        if taken != [(1, side, side, 3)] or given != list(outputs):
            raise DamagedWeights(
                f"{path} is of another network: it takes {taken} and gives {given} values, "
                f"expected (1, {side}, {side}, 3) and {list(outputs)}; examine it by: worldenv "
                f"weights verify {located.id}"
            )
        self.side = side

    def run(self, image: Floats) -> list[Floats]:
        """Return what comes out for an image (side, side, 3) float32, without the batch axis."""
        self._net.set_tensor(self._net.get_input_details()[0]["index"], image[None])
        self._net.invoke()
        return [
            np.array(self._net.get_tensor(entry["index"])[0], np.float32)
            for entry in self._net.get_output_details()
        ]


class Hit(NamedTuple):
    """What a detector found.

    Attributes:
        box: Left, top, right, bottom, shape (4,).
        points: Shape (k, 2).
        score: In [0, 1].
    """

    box: Floats
    points: Floats
    score: float


def anchors(side: int, strides: Sequence[tuple[int, int]]) -> Floats:
    """Return the centres of a detector's anchors, shape (n, 2), in shares of the image.

    Args:
        side: Side of its image, pixels.
        strides: Stride and number of anchors a cell of each of its maps, in order.
    """
    found = []
    for stride, number in strides:
        cells = -(-side // stride)
        centres = (np.arange(cells, dtype=np.float32) + np.float32(0.5)) / np.float32(cells)
        y, x = np.meshgrid(centres, centres, indexing="ij")
        found.append(np.repeat(np.stack([x.ravel(), y.ravel()], axis=1), number, axis=0))
    return np.concatenate(found)


def decoded(raw: Floats, logits: Floats, centres: Floats, side: int, least: float) -> list[Hit]:
    """Return the hits of a detector above a score, best first, in shares of the image.

    Args:
        raw: Shape (n, 4 + 2 k): centre, size and k points, pixels relative to the anchor.
        logits: Shape (n, 1).
        centres: Its anchors, shape (n, 2).
        side: Side of its image, pixels.
        least: Smallest score.
    """
    scores = 1 / (1 + np.exp(-np.clip(logits[:, 0].astype(np.float64), -100, 100)))
    chosen = np.flatnonzero(scores >= least)
    chosen = chosen[np.argsort(-scores[chosen], kind="stable")]
    found = []
    for k in chosen.tolist():
        values = (raw[k] / side).reshape(-1, 2)
        points = values[2:] + centres[k]
        centre, size = values[0] + centres[k], values[1]
        box = np.concatenate([centre - size / 2, centre + size / 2])
        found.append(Hit(box.astype(np.float32), points.astype(np.float32), float(scores[k])))
    return found


def overlap(a: Floats, b: Floats) -> float:
    """Return intersection over union of two boxes."""
    inner = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    shared = float(np.prod(np.maximum(inner, 0)))
    total = float(np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2])) - shared
    return shared / total if total > 0 else 0.0


def merged(hits: Sequence[Hit], least: float = 0.3) -> list[Hit]:
    """Return one hit for every group that overlaps with its best one, best first.

    Box and points are the mean of the group weighted by score, which is steadier from frame to
    frame than the best one alone; the score is that of the best.
    """
    left, found = sorted(hits, key=lambda hit: -hit.score), []
    while left:
        best = left[0]
        group = [hit for hit in left if hit is best or overlap(hit.box, best.box) > least]
        left = [hit for hit in left if all(hit is not other for other in group)]
        weight = np.array([hit.score for hit in group], np.float32)
        weight /= weight.sum()
        box = np.tensordot(weight, np.stack([hit.box for hit in group]), 1)
        points = np.tensordot(weight, np.stack([hit.points for hit in group]), 1)
        found.append(Hit(box.astype(np.float32), points.astype(np.float32), best.score))
    return found


class Patch(NamedTuple):
    """A square of a frame, maybe turned, brought to the size that a network takes.

    Attributes:
        image: Shape (side, side, 3) uint8; black outside the frame.
        back: Patch to frame, shape (2, 3): pixel coordinates, centres at whole numbers.
    """

    image: NDArray[np.uint8]
    back: NDArray[np.float64]

    def to_frame(self, points: NDArray[Any]) -> Floats:
        """Return points (n, 2) given in shares of the patch in pixels of the frame."""
        at = points.astype(np.float64) * len(self.image) - 0.5
        return np.asarray(at @ self.back[:, :2].T + self.back[:, 2], np.float32)


def patch(
    frame: NDArray[np.uint8], centre: Sequence[float], size: float, side: int, angle: float = 0.0
) -> Patch:
    """Cut a square out of a frame.

    Args:
        frame: Shape (height, width, 3) uint8.
        centre: Of the square, pixels (x, y) with corners at whole numbers.
        size: Side of the square, pixels of the frame.
        side: Side of the patch, pixels.
        angle: Direction in the frame of the patch's x axis, radians, clockwise as seen.
    """
    scale = size / side
    c, s = np.cos(angle) * scale, np.sin(angle) * scale
    turn = np.array([[c, -s], [s, c]])
    # The middle of the patch goes to the centre; OpenCV counts from the centres of pixels.
    shift = np.asarray(centre, np.float64) - 0.5 - turn @ np.full(2, side / 2 - 0.5)
    back = np.column_stack([turn, shift])
    source = frame
    if scale > 2:
        # Bilinear sampling alone would skip pixels.
        source = np.asarray(cv2.blur(frame, (int(scale), int(scale))), np.uint8)
    flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
    image = cv2.warpAffine(source, back, (side, side), flags=flags)
    return Patch(np.asarray(image, np.uint8), back)

"""Role quality, light: BRISQUE, how natural local contrast is, by released support vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from worldenv.evaluators.backbones.inference import once
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import DamagedWeights, Located

Floats = NDArray[np.float64]

FEATURES = 36
WORST = 100.0
"""Score that becomes quality 0; a score of 0 or less is quality 1."""

_WINDOW, _SIGMA = 7, 7 / 6
_HEADER = {"svm_type": "epsilon_svr", "kernel_type": "rbf"}


class Vectors(NamedTuple):
    """A support vector regression with a Gaussian kernel.

    Attributes:
        weights: Shape (n,).
        points: Shape (n, 36).
        gamma: Of the kernel.
        offset: Subtracted from the sum.
    """

    weights: Floats
    points: Floats
    gamma: float
    offset: float

    def predict(self, features: Floats) -> float:
        """Return the prediction for features (36,)."""
        distance = np.square(self.points - features).sum(axis=1)
        return float(self.weights @ np.exp(-self.gamma * distance)) - self.offset


class Brisque:
    """Answers ``quality`` with 1 - BRISQUE / 100, clipped to [0, 1]; higher is better.

    BRISQUE was fitted to people's ratings of blur, noise and compression: 0 is a clean photograph,
    100 a ruined one. It says nothing of what a picture shows.
    """

    name = "brisque"
    batch = 1

    def __init__(self, located: Located) -> None:
        """Read the support vectors and the ranges of the features.

        Raises:
            DamagedWeights: a file cannot be read or is of something else.
        """
        self.revision = f"{located.revision}; grey native, 1 - score / {WORST:g}; 1"
        self.checksum = located.checksum
        self._vectors = read_vectors(located.folder / "svm.txt", located)
        self._low, self._high = _read_ranges(located)

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the frame."""
        return (pixels(ask.frames[0]),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Rate every frame."""
        return once([ask.frames for ask in asks], lambda k: self._quality(inputs[k][0]))

    def _quality(self, frame: NDArray[np.uint8]) -> float:
        return min(max(1.0 - self.score(frame) / WORST, 0.0), 1.0)

    def score(self, frame: NDArray[np.uint8]) -> float:
        """Return BRISQUE of a frame (height, width, 3) uint8, lower is better, about 0 to 100."""
        scaled = 2 * (describe(frame) - self._low) / (self._high - self._low) - 1
        return self._vectors.predict(scaled)


def describe(frame: NDArray[np.uint8]) -> Floats:
    """Return the 36 features of a frame: 18 of it, 18 of it at half size.

    Each 18 are two of the local contrast and four of its products with each of four neighbours.
    Source: Mittal, Moorthy and Bovik, "No-Reference Image Quality Assessment in the Spatial
    Domain", IEEE TIP 2012.
    """
    grey = cv2.cvtColor(frame, cv2.COLOR_RGB2GRAY).astype(np.float64)
    found = []
    for image in (grey, _halved(grey)):
        contrast = _contrast(image)
        alpha, _, left, right = fitted(contrast)
        found += [alpha, (left + right) / 2]
        for first, second in (
            (contrast[:, :-1], contrast[:, 1:]),
            (contrast[:-1], contrast[1:]),
            (contrast[:-1, :-1], contrast[1:, 1:]),
            (contrast[1:, :-1], contrast[:-1, 1:]),
        ):
            found += fitted(first * second)
    return np.array(found)


def _contrast(grey: Floats) -> Floats:
    """Return what is left of an image without its local mean, over its local deviation."""
    window = cv2.getGaussianKernel(_WINDOW, _SIGMA, cv2.CV_64F)

    def smooth(image: Floats) -> Floats:
        border = cv2.BORDER_CONSTANT
        return np.asarray(cv2.sepFilter2D(image, cv2.CV_64F, window, window, borderType=border))

    mean = smooth(grey)
    deviation = np.sqrt(np.abs(smooth(grey * grey) - mean * mean))
    return np.asarray((grey - mean) / (deviation + 1))


def _halved(grey: Floats) -> Floats:
    """Return an image at half size: bicubic, widened so that nothing folds back."""
    away = np.abs(np.arange(8) - 3.5) / 2
    near = 1.5 * away**3 - 2.5 * away**2 + 1
    far = -0.5 * away**3 + 2.5 * away**2 - 4 * away + 2
    kernel = np.where(away <= 1, near, far) / 2
    kernel /= kernel.sum()
    padded = cv2.copyMakeBorder(grey, 3, 4, 3, 4, cv2.BORDER_REFLECT)
    smooth = np.asarray(cv2.sepFilter2D(padded, cv2.CV_64F, kernel, kernel, anchor=(0, 0)))
    return np.ascontiguousarray(smooth[: grey.shape[0] : 2, : grey.shape[1] : 2])


_ALPHAS = np.arange(0.2, 10.0005, 0.001)
_RATIOS = np.exp(2 * gammaln(2 / _ALPHAS) - gammaln(1 / _ALPHAS) - gammaln(3 / _ALPHAS))


def fitted(values: Floats) -> tuple[float, float, float, float]:
    """Return shape, mean and the left and right squared deviations of a skewed distribution.

    An asymmetric generalised Gaussian is fitted by moments; its shape is sought in [0.2, 10].
    """
    squares = np.square(values)
    power = float(squares.mean())
    if power == 0:
        return float(_ALPHAS[-1]), 0.0, 0.0, 0.0
    below, above = values < 0, values > 0
    left = float(squares[below].mean()) if below.any() else 0.0
    right = float(squares[above].mean()) if above.any() else 0.0
    # left / right as g; written without division, so that a one-sided distribution is one too.
    a, b = left**0.5, right**0.5
    ratio = float(np.abs(values).mean()) ** 2 / power
    ratio *= (a**3 + b**3) * (a + b) / (a**2 + b**2) ** 2
    alpha = float(np.interp(ratio, _RATIOS, _ALPHAS))
    logs = gammaln(np.array([1, 2, 3]) / alpha)
    mean = (b - a) * float(np.exp(logs[1] - (logs[0] + logs[2]) / 2))
    return alpha, mean, left, right


def read_vectors(path: Path, located: Located) -> Vectors:
    """Read a support vector regression from LIBSVM's text format.

    Raises:
        DamagedWeights: it cannot be read, or is another kind of machine.
    """
    try:
        header, rows, body = {}, [], False
        for line in path.read_text("ascii").splitlines():
            if body:
                rows.append(line.split())
            else:
                key, _, value = line.partition(" ")
                header[key], body = value.strip(), key == "SV"
        if any(header.get(key) != value for key, value in _HEADER.items()):
            raise ValueError("it is another kind of machine")
        points = np.zeros((len(rows), FEATURES))
        for k, (_, *entries) in enumerate(rows):
            for entry in entries:
                column, _, value = entry.partition(":")
                if not 1 <= int(column) <= FEATURES:
                    raise ValueError(f"it has a feature {column}, expected 1 to {FEATURES}")
                points[k, int(column) - 1] = float(value)
        weights = np.array([float(row[0]) for row in rows])
        if len(rows) != int(header["total_sv"]) or not np.isfinite(points).all():
            raise ValueError("its support vectors are not all there")
        return Vectors(weights, points, float(header["gamma"]), float(header["rho"]))
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise DamagedWeights(
            f"{path} holds no support vectors of BRISQUE: {error}; examine it by: worldenv weights "
            f"verify {located.id}"
        ) from error


def _read_ranges(located: Located) -> tuple[Floats, Floats]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = located.folder / "ranges.safetensors"
    try:
        found = load_file(str(path))
        low, high = found["min_"], found["max_"]
        if low.shape != (FEATURES,) or high.shape != (FEATURES,) or not (high > low).all():
            raise ValueError("they are no ranges of 36 features")
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise DamagedWeights(
            f"{path} holds no ranges of BRISQUE: {error}; examine it by: worldenv weights verify "
            f"{located.id}"
        ) from error
    return low.astype(np.float64), high.astype(np.float64)

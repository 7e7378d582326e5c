"""Finds revisits on a path that is not known in advance, pose by pose, in bounded memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import geodesic_deg

Floats = NDArray[np.float64]


class RevisitFinder:
    """Yields (earlier, later) as a camera comes back to a place after having left it.

    A place is the first visit of a pose: a frame within both thresholds of a known place belongs
    to it, any other frame founds a new one. A place counts as left once the camera has been
    further than ``departure`` thresholds away from it; the next frame within the thresholds is
    then a revisit, one a departure.

    Attributes:
        t: Index of the newest frame, -1 before the first.
    """

    def __init__(
        self,
        position: float = 0.1,
        rotation: float = 2.0,
        gap: int = 10,
        departure: float = 3.0,
        most: int = 4096,
    ) -> None:
        """Set what counts as the same place.

        Args:
            position: Threshold in metres, above 0.
            rotation: Threshold in degrees, above 0.
            gap: Fewest frames between the two visits.
            departure: How many thresholds away counts as left, above 1.
            most: Most places kept; places met after that are not remembered.

        Raises:
            ValueError: a value is out of range.
        """
        if position <= 0 or rotation <= 0 or departure <= 1 or gap < 1 or most < 1:
            raise ValueError(
                "position, rotation, gap and most must be positive and departure above 1, got "
                f"{position}, {rotation}, {gap}, {most}, {departure}"
            )
        self._position, self._rotation = position, rotation
        self._gap, self._departure = gap, departure
        self._count = 0
        self._frames = np.zeros(most, np.int64)
        self._places = np.zeros((most, 3))
        self._turns = np.zeros((most, 3, 3))
        self._left = np.zeros(most, np.bool_)
        self.t = -1

    def __len__(self) -> int:
        """Return how many places are kept."""
        return self._count

    @property
    def kept(self) -> frozenset[int]:
        """Frames that a later revisit may refer to."""
        return frozenset(self._frames[: self._count].tolist())

    def observe(self, poses: Floats) -> list[tuple[int, int]]:
        """Take the next commanded poses, shape (n, 4, 4), and return the revisits they make."""
        return [pair for pose in np.asarray(poses, np.float64) for pair in self._step(pose)]

    def _step(self, pose: Floats) -> list[tuple[int, int]]:
        self.t += 1
        where, turn, n = pose[:3, 3], pose[:3, :3], self._count
        distance = np.linalg.norm(self._places[:n] - where, axis=1) / self._position
        angle = geodesic_deg(self._turns[:n], turn) / self._rotation
        self._left[:n] |= (distance > self._departure) | (angle > self._departure)
        close = (distance <= 1) & (angle <= 1)
        if not close.any():
            if n < len(self._frames):
                self._frames[n], self._places[n], self._turns[n] = self.t, where, turn
                self._left[n] = False
                self._count += 1
            return []
        back = close & self._left[:n] & (self.t - self._frames[:n] >= self._gap)
        if not back.any():
            return []
        best = int(np.argmin(np.where(back, distance + angle, np.inf)))
        # Overlapping places are come back to together: one return, one pair.
        self._left[:n][close] = False
        return [(int(self._frames[best]), self.t)]

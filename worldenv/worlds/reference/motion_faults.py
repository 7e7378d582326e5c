"""Where the camera goes when it does not do as it is asked: gain, lag, drift, axis, stuck, slow.

A pose is worked on as a row (x, y, z, yaw, pitch, roll) in metres and degrees, yaw about world-up,
so that a camera that is led astray stays level. A camera that has made no error is where it was
asked to be, bit for bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import rotations, walk

__all__ = ["CAMERA", "Motion", "Track", "level_of", "pace_of", "pose_of", "start_motion"]

CAMERA = ("camera_gain", "camera_lag", "camera_drift", "camera_axis", "camera_stuck")
"""Faults that lead the camera astray; ``slow_motion`` holds it back."""

GAIN = 0.5
"""Share of every motion that is lost at dose 1."""
LAG = 8.0
"""Frames by which a steady motion is late at dose 1."""
SLOWEST = 0.25
"""Pace at dose 1 of ``slow_motion``."""
DRIFT_YAW = (0.12, 0.16)
"""Degrees a frame at dose 1, least and most: about 13 degrees over 97 frames."""
DRIFT_PITCH = 0.04
"""Degrees a frame at most, at dose 1."""
DRIFT_METRES = 0.003
"""Metres a frame over the ground at dose 1: 0.3 m over 97 frames."""
STEEPEST = 60.0
"""Degrees of pitch beyond which an error does not lead."""
LOWEST = 0.3
"""Metres above the floor below which an error does not lead."""

_STILL = 1e-7
_TURNED = 0.8
_AXIS, _STUCK, _BIAS, _ERROR = 53, 59, 61, 67

Row = NDArray[np.float64]


def level_of(pose: NDArray[np.float64]) -> Row:
    """Return a pose (4, 4) as (x, y, z, yaw, pitch, roll): metres, degrees; pitch up to 90."""
    forward = pose[:3, 2]
    yaw = np.arctan2(forward[0], forward[2])
    pitch = np.arctan2(-forward[1], np.hypot(forward[0], forward[2]))
    angles = np.degrees([yaw, pitch])
    level = walk(np.zeros((1, 3)), angles[:1], angles[1:])[0, :3, :3]
    rolled = level.T @ pose[:3, :3]
    roll = np.degrees(np.arctan2(rolled[1, 0], rolled[0, 0]))
    return np.array([*pose[:3, 3], *angles, roll], np.float64)


def pose_of(row: Row) -> NDArray[np.float64]:
    """Return the pose (4, 4) of a row, the inverse of ``level_of``."""
    pose = walk(row[None, :3], row[3:4], row[4:5])[0]
    if row[5]:
        pose[:3, :3] = pose[:3, :3] @ rotations(np.array([[0.0, 0.0, row[5]]]))[0]
    return np.asarray(pose)


def pace_of(faults: Mapping[str, float]) -> float:
    """Return the pace at which camera and event run, 1 without ``slow_motion``."""
    return 1.0 - (1.0 - SLOWEST) * faults.get("slow_motion", 0.0)


@dataclass(frozen=True)
class Track:
    """Rows from some frame on, as an immutable value to which one more costs little.

    Attributes:
        first: Index of the first row that is kept.
        blocks: Rows in full blocks of ``SIDE``.
        newest: The rows after them.
    """

    SIDE = 64

    first: int = 0
    blocks: tuple[tuple[Row, ...], ...] = ()
    newest: tuple[Row, ...] = ()

    def __len__(self) -> int:
        """Return the number of rows there have been."""
        return self.first + self.SIDE * len(self.blocks) + len(self.newest)

    def __getitem__(self, index: int) -> Row:
        """Return a row that is kept."""
        block, place = divmod(index - self.first, self.SIDE)
        return (self.blocks[block] if block < len(self.blocks) else self.newest)[place]

    def followed_by(self, row: Row) -> Track:
        """Return the track with one row more."""
        newest = (*self.newest, row)
        if len(newest) < self.SIDE:
            return replace(self, newest=newest)
        return replace(self, blocks=(*self.blocks, newest), newest=())

    def since(self, index: int) -> Track:
        """Return the track without blocks that end before an index."""
        gone = min((index - self.first) // self.SIDE, len(self.blocks))
        return replace(self, first=self.first + gone * self.SIDE, blocks=self.blocks[gone:])

    def at(self, place: float) -> Row:
        """Return the row at a place between two kept ones, angles along the shorter way."""
        index = int(place)
        share = place - index
        row = self[index]
        return row if share == 0 else row + share * _step(row, self[index + 1])


@dataclass(frozen=True)
class Motion:
    """How a camera has followed what it was asked, as an immutable value.

    Attributes:
        seed: Of the episode.
        faults: Doses.
        eye: Metres of frame 0's camera above the floor.
        track: What was asked, for a camera that is slow.
        asked: Where it should be at its pace; yaw goes on beyond 180 degrees.
        error: Where it is led, less that.
        shown: Where it is.
        direction: Of the current leg, shape (6,), None while the camera is still.
        leg: Index of the current or last leg, from 0; -1 before the first.
        frame: Index of the newest frame.
    """

    seed: int
    faults: Mapping[str, float]
    eye: float
    track: Track
    asked: Row
    error: Row
    shown: Row
    direction: Row | None = None
    leg: int = -1
    frame: int = 0

    def moved(self, pose: NDArray[np.float64]) -> tuple[Motion, NDArray[np.float64]]:
        """Return the motion one frame on, and the realised pose (4, 4) for the asked one."""
        frame, track, wanted = self.frame + 1, self.track, level_of(pose)
        pace = pace_of(self.faults)
        if pace < 1:
            track = track.followed_by(wanted)
            wanted = track.at(pace * frame)
            track = track.since(int(pace * frame))
        step = _step(self.asked, wanted)
        asked = self.asked + step
        leg, direction = self._leg(step)
        error = self._kept(asked, self.error + self._astray(step, leg, frame))
        led = asked + error
        lag = LAG * self.faults.get("camera_lag", 0.0)
        shown = led if lag == 0 else self.shown + (led - self.shown) / (1 + lag)
        moved = replace(
            self,
            track=track,
            asked=asked,
            error=error,
            shown=shown,
            direction=direction,
            leg=leg,
            frame=frame,
        )
        untouched = pace == 1 and np.array_equal(shown, asked)
        return moved, pose.copy() if untouched else pose_of(shown)

    def _leg(self, step: Row) -> tuple[int, Row | None]:
        """Return index and direction of the leg that a step belongs to.

        A leg is a run of frames that move, each nearly the way of the one before.
        """
        way = np.append(step[:3], np.radians(step[3:]))
        length = float(np.linalg.norm(way))
        if length < _STILL:
            return self.leg, None
        way = way / length
        goes_on = self.direction is not None and float(way @ self.direction) > _TURNED
        return (self.leg if goes_on else self.leg + 1), way

    def _astray(self, step: Row, leg: int, frame: int) -> Row:
        """Return what a step adds to the error."""
        wrong, turn = step.copy(), 0.0
        axis = self.faults.get("camera_axis", 0.0)
        if axis > 0:
            draw = np.random.default_rng([self.seed, leg + 1, _AXIS])
            if float(draw.random()) < axis:
                kind, sign = int(draw.integers(2)), float(draw.choice([-1.0, 1.0]))
                yaw, pitch = wrong[3:5]
                wrong[3:5] = (-yaw, -pitch) if kind == 0 else (sign * pitch, sign * yaw)
                turn = 180.0 if kind == 0 else sign * 90.0
        stuck = self.faults.get("camera_stuck", 0.0)
        if (
            stuck > 0
            and float(np.random.default_rng([self.seed, leg + 1, _STUCK]).random()) < stuck
        ):
            wrong[:] = 0.0
        wrong *= 1 - GAIN * self.faults.get("camera_gain", 0.0)
        # Steps over the ground turn with the heading, half of whose change comes before them.
        turn += float(self.error[3] + (wrong[3] - step[3]) / 2)
        wrong[:3] = _turned(wrong[:3], turn)
        drift = self.faults.get("camera_drift", 0.0)
        if drift > 0:
            bias = drift * self._bias(frame)
            bias[:3] = _turned(bias[:3], float(self.asked[3] + self.error[3]))
            wrong += bias
        return np.asarray(wrong - step)

    def _bias(self, frame: int) -> Row:
        """Return by how much the camera wanders in a frame, as it looks: one way, unevenly."""
        draw = np.random.default_rng([self.seed, _BIAS])
        yaw = draw.uniform(*DRIFT_YAW) * draw.choice([-1.0, 1.0])
        pitch, way = DRIFT_PITCH * draw.uniform(-1, 1), draw.uniform(0, 2 * np.pi)
        x, z = DRIFT_METRES * np.sin(way), DRIFT_METRES * np.cos(way)
        uneven = np.random.default_rng([self.seed, frame, _ERROR]).uniform(0.5, 1.5)
        return np.asarray(uneven * np.array([x, 0.0, z, yaw, pitch, 0.0]))

    def _kept(self, asked: Row, error: Row) -> Row:
        """Return an error that leads neither into the floor nor too steeply up or down."""
        if not error.any():
            return error
        kept = error.copy()
        deepest = max(float(asked[1]), self.eye - LOWEST)
        if asked[1] + error[1] > deepest:
            kept[1] = deepest - asked[1]
        steepest = max(abs(float(asked[4])), STEEPEST)
        if abs(asked[4] + error[4]) > steepest:
            kept[4] = np.copysign(steepest, asked[4] + error[4]) - asked[4]
        return kept


def start_motion(seed: int, faults: Mapping[str, float], eye: float) -> Motion | None:
    """Return the motion at frame 0, None where no fault touches it.

    Args:
        seed: Of the episode.
        faults: Doses of all faults of the world.
        eye: Metres of the camera above the floor.
    """
    planted = {name: dose for name, dose in faults.items() if dose > 0}
    if not any(name in planted for name in (*CAMERA, "slow_motion")):
        return None
    still = np.zeros(6)
    return Motion(seed, planted, eye, Track(newest=(still,)), still, still, still)


def _step(before: Row, after: Row) -> Row:
    """Return the way between two rows, angles along the shorter way."""
    step = after - before
    step[3:] = (step[3:] + 180.0) % 360.0 - 180.0 if (abs(step[3:]) > 180).any() else step[3:]
    return np.asarray(step)


def _turned(move: NDArray[np.float64], yaw: float) -> NDArray[np.float64]:
    """Return a move (3,) turned about world-up by degrees to the right; itself for 0."""
    if yaw == 0:
        return move
    c, s = np.cos(np.radians(yaw)), np.sin(np.radians(yaw))
    return np.array([c * move[0] + s * move[2], move[1], c * move[2] - s * move[0]])

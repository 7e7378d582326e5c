"""Panorama-v0: one equirectangular photograph, turned exactly; a camera that stays in its place."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import CameraPath, Primitive, intrinsics
from worldenv.case import read_image
from worldenv.world import Chunk, GenerationFailed, Start, Unsupported, WorldSpec, check_image

__all__ = ["NEEDS", "PanoramaWorld", "make", "project", "shrink"]

NEEDS = "image="
"""What the list of worlds says that it still needs."""

PRIMITIVES = (
    Primitive.STAY,
    Primitive.YAW_LEFT,
    Primitive.YAW_RIGHT,
    Primitive.PITCH_UP,
    Primitive.PITCH_DOWN,
)
STILL = 1e-6
"""Metres from the place of the first frame that count as rounding."""
MOST_PIXELS = 2**28


class PanoramaWorld:
    """Looks around in a photograph; whatever was seen once looks the same on return, bit for bit.

    The photograph's middle column is what the first frame looks at, its upper row is straight up.
    """

    spec: WorldSpec

    def __init__(
        self,
        image: str | os.PathLike[str] | None = None,
        *,
        size: tuple[int, int] = (256, 256),
        fov: float = 75.0,
        fps: float = 16.0,
        chunk: int = 1,
        first_chunk: int | None = None,
        supersample: int = 2,
        threads: int | None = None,
    ) -> None:
        """Check the options; the photograph is read at ``reset``.

        Args:
            image: Path of an equirectangular photograph, twice as wide as high. None: the start
                image of each episode.
            size: (width, height) in pixels.
            fov: Horizontal field of view in degrees, 1 to 170.
            fps: Frames a second.
            chunk: New frames of a step.
            first_chunk: New frames of the first step; as ``chunk`` by default.
            supersample: Samples along each side of a pixel, 1 to 8.
            threads: At most so many; None is all cores, or 1 in a child process.

        Raises:
            Unsupported: a value is out of range.
        """
        if image is not None and not isinstance(image, (str, os.PathLike)):
            raise Unsupported(f"image must be the path of a photograph, got {image!r}")
        self._image = None if image is None else os.fspath(image)
        width, height = _size(size)
        for name, value, low, high in (("fov", fov, 1, 170), ("fps", fps, 1e-3, 1e4)):
            if isinstance(value, bool) or not (
                isinstance(value, (int, float)) and low <= value <= high
            ):
                raise Unsupported(f"{name} must be a number from {low} to {high}, got {value!r}")
        first_chunk = chunk if first_chunk is None else first_chunk
        self._samples = _whole("supersample", supersample, 8)
        self._threads = None if threads is None else _whole("threads", threads, 1 << 10)
        K = intrinsics((width, height), float(fov))
        self.spec = WorldSpec(
            name="Panorama",
            size=(width, height),
            K=tuple((float(row[0]), float(row[1]), float(row[2])) for row in K),
            K_exactness="exact",
            fps=float(fps),
            chunk=_whole("chunk", chunk, 1 << 20),
            first_chunk=_whole("first_chunk", first_chunk, 1 << 20),
            primitives=tuple(p.name for p in PRIMITIVES),
            max_twist=(3.0, 3.0, 3.0, 0.0, 0.0, 0.0),
            # Start.image is welcome where it is a panorama; no view of a case's scene is one.
            image_start=False,
            truth=("pose",),
            backend="panorama",
            licence="that of the photograph",
        )
        self._photograph: NDArray[np.uint8] | None = None
        self._shown = 0

    def reset(self, start: Start, *, seed: int, plan: CameraPath | None) -> Chunk:
        """Show the middle of the photograph; ``start.image`` goes before the option ``image``.

        Raises:
            Unsupported: there is no photograph, it is none of the whole sphere, the case is a scene
                of another world, or the plan leaves the place.
        """
        self._photograph = None
        if start.scene is not None:
            raise Unsupported(
                "Panorama shows one photograph: the case's scene is Reference-v0's and its image a "
                "pinhole view, not a panorama; leave out the case and give script= with image="
            )
        if start.prompt is not None:
            raise Unsupported("Panorama takes no prompt; it shows a photograph as it is")
        if start.image is not None:
            photograph, name = check_image(start.image), "the start image"
        elif self._image is not None:
            photograph, name = read_image(self._image), self._image
        else:
            raise Unsupported(
                "Panorama has no photograph; give image= the path of an equirectangular one, twice "
                "as wide as high"
            )
        height, width = photograph.shape[:2]
        if width != 2 * height or height < 2:
            raise Unsupported(
                f"{name} is {width} x {height} pixels; expected an equirectangular photograph of "
                "the whole sphere, twice as wide as high"
            )
        if width * height > MOST_PIXELS:
            raise Unsupported(f"{name} has {width * height} pixels; the limit is {MOST_PIXELS}")
        if plan is not None:
            _check(plan.poses, first=0)
        # Samples lie furthest apart, in degrees, in the middle of the view.
        focal = max(self.spec.K[0][0], self.spec.K[1][1])
        self._photograph = shrink(photograph, 2 * np.pi * focal * self._samples)
        self._shown = 0
        return self._show(np.eye(4)[None])

    def step(self, poses: NDArray[np.float64], prompt: str | None = None) -> Chunk:
        """Show the photograph turned by each pose.

        Raises:
            Unsupported: a pose leaves the place, or there is a prompt.
        """
        if prompt is not None:
            raise Unsupported("Panorama takes no prompt; it shows a photograph as it is")
        return self._show(np.asarray(poses, dtype=np.float64))

    def snapshot(self) -> Any:
        """Return the state; views depend on nothing else than the photograph."""
        return self._photograph, self._shown

    def restore(self, token: Any) -> None:
        """Return to a state that ``snapshot`` gave."""
        self._photograph, self._shown = token

    def close(self) -> None:
        """Free the photograph; may be called twice."""
        self._photograph = None

    def _show(self, poses: NDArray[np.float64]) -> Chunk:
        from worldenv.worlds.reference.compile import default_threads

        if self._photograph is None:
            raise Unsupported("Panorama has no running episode; reset it first")
        _check(poses, first=self._shown)
        threads = default_threads() if self._threads is None else self._threads
        frames = project(
            self._photograph,
            poses[:, :3, :3],
            self.spec.intrinsics(),
            self.spec.size,
            samples=self._samples,
            threads=threads,
        )
        self._shown += len(poses)
        return Chunk(frames, poses.copy(), {"pose": poses.copy()})


make = PanoramaWorld
"""The factory of ``Panorama-v0``."""


def project(
    photograph: NDArray[np.uint8],
    rotations: NDArray[np.float64],
    K: NDArray[np.float64],
    size: tuple[int, int],
    *,
    samples: int = 2,
    threads: int = 1,
) -> NDArray[np.uint8]:
    """Return pinhole views of an equirectangular photograph.

    A ray (x, y, z), y down, has longitude atan2(x, z), 0 in the middle column, and latitude
    asin(y / length), from -90 degrees in the upper row to 90. Each view depends on its own rotation
    only, so equal rotations give equal bits, whatever the number of threads.

    Args:
        photograph: Shape (height, 2 * height, 3).
        rotations: Camera to photograph, shape (n, 3, 3).
        K: Intrinsics (3, 3) in pixels at ``size``.
        size: (width, height) of a view.
        samples: Bilinear samples along each side of a pixel.
        threads: Threads to draw with.

    Returns:
        Shape (n, height, width, 3).
    """
    from worldenv.worlds.equirect import draw
    from worldenv.worlds.reference.compile import share

    width, height = size
    views = np.empty((len(rotations), height, width, 3), np.uint8)
    lens = np.array([K[0, 0], K[1, 1], K[0, 2], K[1, 2]], dtype=np.float64)
    turns = np.ascontiguousarray(rotations, dtype=np.float64)
    share(threads, lambda first, step: draw(photograph, turns, lens, samples, views, first, step))
    return views


def shrink(photograph: NDArray[np.uint8], around: float) -> NDArray[np.uint8]:
    """Return a photograph without detail that ``around`` samples a full turn would alias.

    Args:
        photograph: Equirectangular, shape (height, 2 * height, 3).
        around: Samples that a full turn along the horizon takes.

    Returns:
        The photograph averaged down to at most that width, and each row averaged along itself over
        what one sample covers there: more columns the nearer to a pole.
    """
    import cv2

    width = photograph.shape[1]
    if width > around:
        height = max(2, round(around / 2))
        small = cv2.resize(photograph, (2 * height, height), interpolation=cv2.INTER_AREA)
        photograph = np.asarray(small, dtype=np.uint8)
    height, width = photograph.shape[:2]
    latitude = np.pi * ((np.arange(height) + 0.5) / height - 0.5)
    spans = np.clip(width / around / np.cos(latitude), 1.0, width)
    out = photograph.copy()
    for row in np.flatnonzero(spans > 1):
        out[row] = _averaged(photograph[row], float(spans[row]))
    return out


def _averaged(row: NDArray[np.uint8], span: float) -> NDArray[np.uint8]:
    """Return a circular row, each pixel the mean of ``span`` pixels around it."""
    width = len(row)
    total = np.concatenate([np.zeros((1, 3)), np.cumsum(row, axis=0, dtype=np.float64)])

    def until(edge: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        turns, place = np.divmod(edge, width)
        whole = np.minimum(place.astype(np.int64), width - 1)
        part = (place - whole)[:, None]
        inside = total[whole] * (1 - part) + total[whole + 1] * part
        return np.asarray(turns[:, None] * total[-1] + inside)

    middle = np.arange(width, dtype=np.float64) + 0.5
    mean = (until(middle + span / 2) - until(middle - span / 2)) / span
    return np.asarray(np.clip(np.rint(mean), 0, 255), dtype=np.uint8)


def _check(poses: NDArray[np.float64], first: int) -> None:
    """Refuse poses that are no turns at the place of the first frame."""
    if poses.ndim != 3 or poses.shape[1:] != (4, 4) or len(poses) < 1:
        raise GenerationFailed(
            f"Panorama was asked for poses of shape {poses.shape}; expected (n, 4, 4), n >= 1"
        )
    turn = poses[:, :3, :3]
    if (
        not np.isfinite(poses).all()
        or abs(np.swapaxes(turn, 1, 2) @ turn - np.eye(3)).max() > 1e-3
        or (np.linalg.det(turn) < 0).any()
    ):
        raise GenerationFailed("Panorama was asked for poses that are not rigid")
    away = np.linalg.norm(poses[:, :3, 3], axis=1)
    if away.max() > STILL:
        frame = int(np.argmax(away > STILL))
        raise Unsupported(
            f"Panorama cannot move: frame {first + frame} lies {away[frame]:.3g} m from the first; "
            "a photograph can only be turned, so choose a script of turns, such as "
            "worldmembench:lrlr"
        )


def _size(size: Any) -> tuple[int, int]:
    try:
        width, height = size
    except (TypeError, ValueError):
        raise Unsupported(
            f"size must be (width, height), as in size=[320,180], got {size!r}"
        ) from None
    return _whole("width", width, 4096), _whole("height", height, 4096)


def _whole(name: str, value: Any, high: int) -> int:
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, np.integer))
        or not 1 <= value <= high
    ):
        raise Unsupported(f"{name} must be a whole number from 1 to {high}, got {value!r}")
    return int(value)

"""Seeing a scene for the checks of cases: camera poses, lenses, and a plain z-buffer of ids."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from worldenv.worlds.reference.scene import Scene
from worldenv.worlds.reference.views import points_of, project

Array = NDArray[np.float64]
NEAR = 0.05
"""What is nearer to the camera, in metres, is not drawn."""


class Lens(NamedTuple):
    """Size of a drawing in pixels and its horizontal field of view in degrees."""

    width: int
    height: int
    fov: float

    @property
    def aspect(self) -> float:
        """Width over height."""
        return self.width / self.height


SQUARE = Lens(96, 96, 75.0)
"""How Reference-v0 looks where nothing else is asked for."""
WIDE = Lens(128, 72, 89.43)
"""How R2M's pose files look: 89.4 x 58.2 degrees."""


def turned(pose: Array, yaw: float = 0.0, pitch: float = 0.0) -> Array:
    """Return a camera pose turned right by yaw and up by pitch, in degrees."""
    a, b = np.radians([yaw, pitch])
    Y = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    P = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    result = pose.copy()
    result[:3, :3] = pose[:3, :3] @ Y @ P
    return result


def moved(pose: Array, right: float = 0.0, forward: float = 0.0) -> Array:
    """Return a camera pose moved by metres."""
    result = pose.copy()
    result[:3, 3] += pose[:3, :3] @ [right, 0, forward]
    return result


def gone(points: Array, pose: Array) -> bool:
    """Return whether none of some points (n, 3) lies in the square frame of a camera."""
    image = project(points, pose, SQUARE.fov, SQUARE.aspect)
    inside = (image[:, 2] > 0.02) & (abs(image[:, :2]) < 1.01).all(axis=1)
    return not bool(inside.any())


def frame_of(points: Array, pose: Array, lens: Lens = SQUARE) -> Array | None:
    """Return the rectangle (2, 2) that points span in the frame, -1..1; None if any is behind."""
    image = project(points, pose, lens.fov, lens.aspect)
    if image[:, 2].min() < NEAR:
        return None
    return np.stack([image[:, :2].min(axis=0), image[:, :2].max(axis=0)])


class Drawing:
    """Draws instance ids of a scene, slowly and simply.

    Attributes:
        points: Instance name -> its vertices (n, 3) in the scene.
    """

    def __init__(self, scene: Scene) -> None:
        """Gather the triangles of a scene."""
        self.points = {}
        self._corners: dict[int, Array] = {}
        for i in scene.instances:
            mesh = i.coarse if i.coarse is not None and i.category != "person" else i.mesh
            self.points[i.name] = points_of(i)
            places = mesh.vertices.astype(np.float64) @ i.pose[:3, :3].T + i.pose[:3, 3]
            self._corners[i.id] = places[mesh.faces]
        boxes = np.array([(c.min(axis=(0, 1)), c.max(axis=(0, 1))) for c in self._corners.values()])
        self._middles = boxes.mean(axis=1)
        self._radii = np.linalg.norm(boxes[:, 1] - boxes[:, 0], axis=1) / 2

    def draw(self, pose: Array, only: int | None = None, lens: Lens = SQUARE) -> NDArray[np.int64]:
        """Return the id image (height, width), 0 where nothing is.

        Args:
            pose: Camera to scene.
            only: Draw this instance alone.
            lens: Size and field of view.
        """
        names = self._near(pose, lens) if only is None else [only]
        corners = np.concatenate([self._corners[n] for n in names])
        ids = np.repeat(names, [len(self._corners[n]) for n in names])
        local = (corners.reshape(-1, 3) - pose[:3, 3]) @ pose[:3, :3]
        local, ids = _clipped(local.reshape(-1, 3, 3), ids)
        focal = 0.5 * lens.width / np.tan(np.radians(lens.fov / 2))
        xy = focal * local[..., :2] / local[..., 2:] + (lens.width / 2, lens.height / 2)
        low, high = xy.min(axis=1), xy.max(axis=1)
        seen = (high > 0).all(axis=1) & (low < (lens.width, lens.height)).all(axis=1)
        image = np.zeros((lens.height, lens.width), np.int64)
        _fill(image, xy[seen], 1 / local[seen, :, 2], ids[seen])
        return image

    def _near(self, pose: Array, lens: Lens) -> list[int]:
        """Return the ids of the instances that may be in the frame."""
        local = (self._middles - pose[:3, 3]) @ pose[:3, :3]
        half = np.radians(lens.fov / 2)
        inside = local[:, 2] > -self._radii
        for axis, tangent in ((0, np.tan(half)), (1, np.tan(half) / lens.aspect)):
            # Distance beyond a side plane of the frame, whose normal has length 1.
            beyond = (abs(local[:, axis]) - tangent * local[:, 2]) / np.hypot(1, tangent)
            inside &= beyond < self._radii
        return [i for i, near in zip(self._corners, inside, strict=True) if near]


def _clipped(local: Array, ids: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
    """Return triangles (n, 3, 3) in camera axes, and their ids, cut off at the near plane."""
    ahead = local[..., 2] > NEAR
    count = ahead.sum(axis=1)
    whole, parts = [local[count == 3]], [ids[count == 3]]
    for many in (1, 2):
        cut, own = local[count == many], ids[count == many]
        if not len(cut):
            continue
        # The odd one out comes first: the only one ahead, or the only one behind.
        first = (ahead[count == many] == (many == 1)).argmax(axis=1)
        order = (first[:, None] + np.arange(3)) % 3
        a, b, c = np.take_along_axis(cut, order[..., None], axis=1).transpose(1, 0, 2)
        ab = a + (b - a) * ((NEAR - a[:, 2]) / (b[:, 2] - a[:, 2]))[:, None]
        ac = a + (c - a) * ((NEAR - a[:, 2]) / (c[:, 2] - a[:, 2]))[:, None]
        pieces = [(a, ab, ac)] if many == 1 else [(ab, b, c), (ab, c, ac)]
        for piece in pieces:
            whole.append(np.stack(piece, axis=1))
            parts.append(own)
    return np.concatenate(whole), np.concatenate(parts)


@njit(cache=False)
def _fill(image, xy, inverse, ids):
    """Draw projected triangles into an id image by a z-buffer."""
    height, width = image.shape
    depth = np.zeros((height, width))
    for k in range(len(ids)):
        ax, ay = xy[k, 0, 0], xy[k, 0, 1]
        bx, by = xy[k, 1, 0], xy[k, 1, 1]
        cx, cy = xy[k, 2, 0], xy[k, 2, 1]
        area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay)
        if abs(area) < 1e-9:
            continue
        x0, x1 = int(max(0.0, min(ax, bx, cx))), int(min(width - 1.0, max(ax, bx, cx))) + 1
        y0, y1 = int(max(0.0, min(ay, by, cy))), int(min(height - 1.0, max(ay, by, cy))) + 1
        for j in range(y0, y1):
            for i in range(x0, x1):
                x, y = i + 0.5 - ax, j + 0.5 - ay
                s = ((cy - ay) * x - (cx - ax) * y) / area
                t = ((bx - ax) * y - (by - ay) * x) / area
                z = (
                    inverse[k, 0]
                    + s * (inverse[k, 1] - inverse[k, 0])
                    + t * (inverse[k, 2] - inverse[k, 0])
                )
                if s >= 0 and t >= 0 and s + t <= 1 and z > depth[j, i]:
                    depth[j, i] = z
                    image[j, i] = ids[k]

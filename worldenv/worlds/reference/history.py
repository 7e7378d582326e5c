"""What an episode has shown, latent by latent, for worlds that may look at part of it only.

Each latent holds the version of every instance that it showed. An instance that comes into view is
shown as the newest accessible latent has it; where none shows it, a new version is imagined. So an
early latent that is looked at again brings back what it showed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from worldenv.context import Budget, accessible, latent_of

__all__ = ["History"]


@dataclass(frozen=True)
class History:
    """The past of an episode under a context policy, as an immutable value.

    Attributes:
        seed: Of the episode.
        policy: One of ``worldenv.context.POLICIES``.
        budget: What the policy may hold.
        fov: Horizontal and vertical field of view in degrees.
        poses: Camera pose of each latent's first frame, the newest last.
        shown: Per latent, instance id -> version; version 0 is the scene as it was built.
        versions: Instance id -> versions imagined so far.
        scene: Instance id -> the version that stands in the scene now, 0 where absent.
    """

    seed: int
    policy: str
    budget: Budget
    fov: tuple[float, float]
    poses: tuple[NDArray[np.float64], ...] = ()
    shown: tuple[Mapping[int, int], ...] = ()
    versions: Mapping[int, int] = field(default_factory=dict)
    scene: Mapping[int, int] = field(default_factory=dict)

    def version(self, instance: int, frame: int, pose: NDArray[np.float64]) -> int:
        """Return the version in which an instance is shown in a frame.

        Args:
            instance: Id of an instance in view.
            frame: Index of the frame in the making.
            pose: Its camera pose, shape (4, 4).
        """
        now = latent_of(frame)
        poses = self.poses if now < len(self.poses) else (*self.poses, pose)
        held = (self.version_in(i, instance) for i in self._accessible(poses, pose))
        newest = next((version for version in held if version is not None), None)
        if newest is not None:
            return newest
        if not any(instance in latent for latent in self.shown):
            # Never seen: this is the first time that it is imagined.
            return self.in_scene(instance)
        return self.versions.get(instance, 0) + 1

    def version_in(self, latent: int, instance: int) -> int | None:
        """Return the version of an instance that a latent shows, None where it shows none."""
        return self.shown[latent].get(instance) if latent < len(self.shown) else None

    def draw(self, instance: int, version: int) -> int:
        """Return the seed that a version of an instance is imagined with."""
        return int(np.random.default_rng([self.seed, instance, version, 43]).integers(1 << 31))

    def with_version(self, instance: int, version: int) -> History:
        """Return the history once a version of an instance stands in the scene."""
        versions = dict(self.versions)
        versions[instance] = max(version, versions.get(instance, 0))
        return replace(self, versions=versions, scene={**self.scene, instance: version})

    def after(self, frame: int, pose: NDArray[np.float64], instances: Iterable[int]) -> History:
        """Return the history once a frame that shows these instances has been made."""
        seen = {i: self.in_scene(i) for i in instances}
        if latent_of(frame) < len(self.shown):
            newest = {**self.shown[-1], **seen}
            return replace(self, shown=(*self.shown[:-1], newest))
        return replace(self, poses=(*self.poses, pose), shown=(*self.shown, seen))

    def in_scene(self, instance: int) -> int:
        """Return the version of an instance that stands in the scene now."""
        return self.scene.get(instance, 0)

    def in_view_before(self, instance: int) -> bool:
        """Return whether the newest latent shows an instance, so that it has not come back."""
        return bool(self.shown) and instance in self.shown[-1]

    def _accessible(
        self, poses: tuple[NDArray[np.float64], ...], pose: NDArray[np.float64]
    ) -> Iterable[int]:
        return reversed(accessible(self.policy, self.budget, poses, pose, self.fov))

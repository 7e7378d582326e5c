"""Recorded-v0: plays back videos and rollout folders along the paths that they were made with."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import CameraPath, geodesic_deg, intrinsics
from worldenv.case import Case, load_script, read_image
from worldenv.rollout import Rollout
from worldenv.world import (
    Chunk,
    GenerationFailed,
    PlanRequired,
    Start,
    UnknownName,
    Unsupported,
    WorldSpec,
)
from worldenv.worlds.recordings import Entry, find_entries

__all__ = ["NEEDS", "RecordedWorld", "make"]

NEEDS = "videos="
"""What the list of worlds says that it still needs."""


class RecordedWorld:
    """Shows what was recorded where it was recorded, and refuses every other path.

    The start (scene, prompt, image), the seed and the plan select the recording. A recording that
    names no case begins only episodes without one; one that names no seed is the same for all.

    Attributes:
        spec: The recorded world's own, where the recordings are rollouts of ours.
    """

    spec: WorldSpec

    def __init__(
        self,
        videos: str | os.PathLike[str] | Sequence[Mapping[str, Any]] | None = None,
        *,
        tolerance: tuple[float, float] = (0.01, 0.001),
        fov: float | None = None,
        chunk: int | None = None,
    ) -> None:
        """Find the recordings and read what they share from the first.

        Args:
            videos: A folder (rollout folders, also of a run, and videos with a pose file of the
                same name beside them), a JSON file with a list of recordings, or that list. A
                recording is a dict with ``video`` (a video, or a rollout folder that brings all
                else) and any of ``path`` (pose file), ``script``, ``case`` (id), ``seed``, ``fps``
                and ``K`` (3x3, pixels).
            tolerance: Degrees and metres that a frame of the plan may lie off the recorded path.
            fov: Horizontal field of view in degrees of videos without K.
            chunk: New frames of a step, for plain videos; 1 unless given. Rollouts keep theirs.

        Raises:
            Unsupported: there is no recording, one does not say its path or field of view, or an
                option is out of range.
            UnknownName: a key of a recording, a case or a script is unknown.
            InvalidVideo: the first video cannot be read.
            InvalidRollout: the first rollout cannot be read.
        """
        if videos is None:
            raise Unsupported(
                "Recorded plays back videos; give videos= a folder, a JSON list, or a list of "
                "{video, path, K, fps, case, script, seed}"
            )
        try:
            degrees, metres = (float(value) for value in tolerance)
        except (TypeError, ValueError):
            raise Unsupported(f"tolerance must be (degrees, metres), got {tolerance!r}") from None
        if not (0 <= degrees < np.inf and 0 <= metres < np.inf):
            raise Unsupported(f"tolerance must be two numbers of at least 0, got {tolerance!r}")
        if fov is not None and not (isinstance(fov, (int, float)) and 1 <= fov <= 170):
            raise Unsupported(f"fov must be a number from 1 to 170, got {fov!r}")
        if chunk is not None and (
            isinstance(chunk, bool) or not isinstance(chunk, int) or not 1 <= chunk <= 1 << 20
        ):
            raise Unsupported(f"chunk must be a whole number from 1, got {chunk!r}")
        self._tolerance = degrees, metres
        self._fov, self._chunk = fov, chunk
        self._entries = find_entries(videos)
        together = "\n".join(sorted(entry.identity for entry in self._entries))
        # Whoever keeps results by the spec must not take old ones for those of new recordings.
        self._revision = hashlib.sha256(together.encode()).hexdigest()[:16]
        self.spec = self._spec(self._entries[0])
        self._rollout: Rollout | None = None
        self._chunks: Iterator[Chunk] | None = None
        self._at = 0

    def reset(self, start: Start, *, seed: int, plan: CameraPath | None) -> Chunk:
        """Find the recording and show its first frames.

        Raises:
            PlanRequired: there is no plan.
            Unsupported: no recording, or more than one, is of that start, seed and plan.
        """
        self.close()
        if plan is None:
            raise PlanRequired(
                "Recorded needs the whole path before its first frame; give script=, case= of a "
                "suite, or plan="
            )
        rollout = self._select(start, seed, plan)
        self._rollout, self._chunks, self._at = rollout, rollout.chunks(), 0
        return self._next(None)

    def step(self, poses: NDArray[np.float64], prompt: str | None = None) -> Chunk:
        """Show the next recorded chunk.

        Raises:
            Unsupported: the poses or the prompt are not those of the recording, or it is over.
        """
        if self._rollout is None:
            raise Unsupported("Recorded has no running episode; reset it first")
        poses = np.asarray(poses, dtype=np.float64)
        if prompt is not None and prompt not in _texts(self._rollout):
            raise Unsupported("Recorded cannot be given another prompt than it was recorded with")
        miss = self._miss(self._rollout, poses, self._at)
        if miss is not None:
            raise Unsupported(f"{miss[1]}; Recorded plays back {self._rollout.source} only")
        return self._next(len(poses))

    def close(self) -> None:
        """Stop reading; may be called twice."""
        # The decoder's process ends with the generator that reads it.
        self._chunks = self._rollout = None

    def _next(self, expected: int | None) -> Chunk:
        assert self._chunks is not None and self._rollout is not None
        chunk = next(self._chunks, None)
        if chunk is None:
            raise Unsupported(
                f"{self._rollout.source} has {len(self._rollout)} frames and they have all been "
                "shown"
            )
        if expected is not None and len(chunk.frames) != expected:
            raise GenerationFailed(
                f"{self._rollout.source} goes on with a chunk of {len(chunk.frames)} frames where "
                f"{expected} were asked for"
            )
        self._at += len(chunk.frames)
        return chunk

    def _spec(self, entry: Entry) -> WorldSpec:
        """Return the spec of a recording, decoding at most one frame."""
        if entry.is_rollout:
            rollout = Rollout.load(entry.video)
            recorded = rollout.spec
            if recorded is not None:
                return dataclasses.replace(
                    recorded,
                    name=f"{recorded.name} (recorded)",
                    drive="plan",
                    image_start=False,
                    context_policies=(),
                    deterministic=True,
                    backend=f"recorded {recorded.backend}",
                    weights_revision=self._revision,
                )
            size, K, fps, exactness = rollout.size, rollout.K, rollout.fps, rollout.K_exactness
            prompts: Any = rollout.case.prompts if rollout.case is not None else ()
        else:
            path, K = entry.load_path()
            size, fps, exactness = entry.size(), path.fps, "nominal"
            prompts = entry.case.prompts if entry.case is not None else ()
        if K is None:
            if self._fov is None:
                raise Unsupported(
                    f"{entry.video} comes without intrinsics; give K (3x3, pixels) with it, or "
                    "fov= for all"
                )
            K = intrinsics(size, self._fov)
        chunk = 1 if self._chunk is None else self._chunk
        return WorldSpec(
            name="Recorded",
            size=size,
            K=tuple((float(row[0]), float(row[1]), float(row[2])) for row in K),
            K_exactness=exactness,
            fps=fps,
            chunk=chunk,
            first_chunk=chunk,
            drive="plan",
            pose_exactness="nominal",
            prompt="chunk" if prompts else "none",
            state="whole",
            backend="recorded",
            weights_revision=self._revision,
            licence="that of the videos",
        )

    def _select(self, start: Start, seed: int, plan: CameraPath) -> Rollout:
        """Return the one recording of a start, a seed and a plan."""
        of_start = [entry for entry in self._entries if _fits(entry.case, start)]
        if not of_start:
            cases = sorted({e.case.id if e.case is not None else "no case" for e in self._entries})
            shown = ", ".join(cases[:8]) + (", ..." if len(cases) > 8 else "")
            raise Unsupported(f"there is no recording of this case; recorded: {shown}")
        of_seed = [entry for entry in of_start if entry.seed in (None, seed)]
        if not of_seed:
            seeds = sorted({e.seed for e in of_start if e.seed is not None})
            raise Unsupported(
                f"there is no recording of this case with seed {seed}; recorded seeds: "
                + ", ".join(str(s) for s in seeds[:12])
            )
        found, nearest = [], (-1, "")
        for entry in of_seed:
            rollout = self._open(entry)
            miss = self._miss(rollout, plan.poses, 0, whole=True)
            if miss is None:
                found.append(rollout)
            else:
                nearest = max(nearest, miss)
        if not found:
            raise Unsupported(
                f"the plan is not the recorded one: {nearest[1]}; tolerance "
                f"{self._tolerance[0]:g} degrees, {self._tolerance[1]:g} m"
            )
        if len(found) > 1:
            names = ", ".join(str(rollout.source) for rollout in found[:4])
            raise Unsupported(
                f"{len(found)} recordings are of this case, seed and plan ({names}); name the one "
                "you mean in videos="
            )
        return found[0]

    def _open(self, entry: Entry) -> Rollout:
        rollout = entry.open()
        spec = self._spec(entry)
        if spec != self.spec:
            differing = [
                field.name
                for field in dataclasses.fields(spec)
                if getattr(spec, field.name) != getattr(self.spec, field.name)
            ]
            raise Unsupported(
                f"{entry.video} was made by another world than {self._entries[0].video}: "
                f"{', '.join(differing)} differ; play them back as two worlds"
            )
        if entry.is_rollout and rollout.spec is not None:
            return rollout
        whole, rest = divmod(len(rollout) - 1, spec.chunk)
        lengths = (1, *(spec.chunk,) * whole, *((rest,) if rest else ()))
        return dataclasses.replace(rollout, chunk_lengths=lengths)

    def _miss(
        self, rollout: Rollout, poses: NDArray[np.float64], at: int, *, whole: bool = False
    ) -> tuple[int, str] | None:
        """Return the first frame that is off the recorded path and what is wrong, or None.

        Args:
            rollout: The recording.
            poses: Poses asked for.
            at: Frame of the first of them.
            whole: Whether they must reach to the end of the recording.
        """
        recorded = asked_poses(rollout)[at : at + len(poses)]
        asked = poses[: len(recorded)]
        turns = geodesic_deg(asked[:, :3, :3], recorded[:, :3, :3])
        moves = np.linalg.norm(asked[:, :3, 3] - recorded[:, :3, 3], axis=-1)
        off = np.flatnonzero((turns > self._tolerance[0]) | (moves > self._tolerance[1]))
        if len(off):
            first = int(off[0])
            return at + first, (
                f"frame {at + first} lies {turns[first]:.3g} degrees and {moves[first]:.3g} m off "
                f"{rollout.source}"
            )
        if len(recorded) < len(poses) or (whole and len(poses) < len(rollout)):
            return at + len(recorded), (
                f"{rollout.source} has {len(rollout)} frames and the plan {at + len(poses)}"
            )
        return None


make = RecordedWorld
"""The factory of ``Recorded-v0``."""


def asked_poses(rollout: Rollout) -> NDArray[np.float64]:
    """Return the poses that the recorded world was asked for, frame by frame, (n, 4, 4).

    A walk along a plan was asked for its plan; in any other mode only what the world made of the
    actions is known.
    """
    if rollout.control == "plan":
        return rollout.target.poses[: len(rollout)]
    return rollout.commanded


def _texts(rollout: Rollout) -> set[str | None]:
    """Return every text that the recorded world can have been given between chunks."""
    case = rollout.case
    texts = set() if case is None else {case.prompt, *case.prompts}
    if rollout.script is not None:
        # A script that is gone, or fits this case no more, said nothing that can be checked.
        with contextlib.suppress(UnknownName, Unsupported):
            prompts = getattr(load_script(rollout.script), "prompts", None)
            if prompts is not None:
                texts |= {text for _, text in prompts(rollout.spec, case)}
    return texts


def _fits(case: Case | None, start: Start) -> bool:
    """Return whether an episode that begins so is of the case."""
    if case is None:
        return start.image is None and start.prompt is None and start.scene is None
    if start.image is None and start.prompt is None and start.scene is None:
        # Whoever names no case means any that has the plan.
        return True
    if (case.scene, case.prompt) != (start.scene, start.prompt):
        return False
    if start.image is None or case.image is None:
        return start.image is None and case.image is None
    return np.array_equal(read_image(case.image), start.image)

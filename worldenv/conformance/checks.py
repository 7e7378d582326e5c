"""The checks of a world: whether it keeps the contract, and does what its spec says."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import CameraPath, Primitive, fov_of, geodesic_deg, yaw_pitch
from worldenv.conformance.subject import TURNS, Finding, Problem, Subject
from worldenv.world import Chunk, PlanRequired, WorldEnvError, WorldSpec, fit_path

__all__ = ["CHECKS"]


def check_spec(subject: Subject) -> Finding:
    """The spec is plain data, equal after a round trip, with a camera that looks at its image."""
    spec = subject.spec
    if WorldSpec.from_dict(json.loads(json.dumps(spec.to_dict()))) != spec:
        raise Problem("the spec is not equal after a round trip through JSON; use plain values")
    (fx, _, cx), (_, fy, cy), _ = spec.K
    width, height = spec.size
    if not (fx > 0 and fy > 0 and 0 < cx < width and 0 < cy < height):
        raise Problem(
            f"K = {spec.K} does not look at an image of {width} x {height}; expected pixels"
        )
    for field in ("licence", "citation"):
        if not getattr(spec, field):
            return Finding("spec", "note", f"spec.{field} is empty; tables and reports print it")
    return Finding("spec", "ok", f"{spec.name}, {width}x{height}, {spec.drive}, state {spec.state}")


def check_reset(subject: Subject) -> Finding:
    """Reset returns ``spec.reset_frames`` frames of a camera at rest."""
    chunk = subject.turned(0)[0]
    if len(chunk.frames) != subject.spec.reset_frames:
        raise Problem(
            f"reset returned {len(chunk.frames)} frames; spec.reset_frames says "
            f"{subject.spec.reset_frames}"
        )
    if abs(chunk.poses - np.eye(4)).max() > 1e-9:
        raise Problem("reset returned poses other than the identity: no camera has moved yet")
    return Finding("reset", "ok", f"{len(chunk.frames)} frame(s)")


def check_steps(subject: Subject) -> Finding:
    """Each step returns as many frames and poses as it was asked for."""
    sizes = [len(chunk.frames) for chunk in subject.turned(0)[1:]]
    return Finding("steps", "ok", f"new frames: {', '.join(map(str, sizes))}")


def check_order(subject: Subject) -> Finding:
    """A plan that is absent where it is needed is PlanRequired; a step before reset, an error."""
    world, spec = subject.renew(), subject.spec
    early = ""
    try:
        world.step(np.eye(4)[None].repeat(spec.first_chunk, 0))
        early = "a step before reset returned frames; better a WorldEnvError"
    except WorldEnvError:
        pass
    except Exception as error:
        early = f"a step before reset raised {type(error).__name__}; better a WorldEnvError"
    if spec.drive == "plan":
        try:
            world.reset(subject.case.start(spec), seed=0, plan=None)
        except PlanRequired:
            pass
        else:
            raise Problem("drive is 'plan' but reset took plan=None; expected PlanRequired")
    world.close()
    subject.renew()
    if early:
        return Finding("order", "note", early)
    return Finding("order", "ok", "typed errors, and close may be called twice")


def check_seeds(subject: Subject) -> Finding:
    """Equal seeds give equal bits, also after another episode in between."""
    first = subject.turned(0)
    other = subject.turned(1)
    again = subject.walk(subject.there_and_back(subject.steps_out), 0)
    same = _equal(first, again)
    if subject.spec.deterministic and not same:
        frame = _first_difference(first, again)
        raise Problem(
            f"seed 0 gave other frames the second time, from frame {frame} on; expected equal "
            "bits, or deterministic=False in the spec (seed the global generators too, and keep "
            "no state across reset)"
        )
    note = "equal seeds give equal bits" if same else "not deterministic, as the spec says"
    if _equal(first, other):
        return Finding("seeds", "note", f"{note}; other seeds change nothing")
    return Finding("seeds", "ok", note)


def check_buffers(subject: Subject) -> Finding:
    """Frames handed out are not written to afterwards, and asked poses are left as they are."""
    spec = subject.spec
    path = subject.there_and_back(subject.steps_out)
    chunk = subject.begin(path)
    kept = chunk.frames.copy()
    at = len(chunk.frames)
    poses = np.array(path.poses[at : at + spec.first_chunk])
    given = poses.copy()
    subject.world.step(poses)
    if not np.array_equal(chunk.frames, kept):
        raise Problem("a later step wrote into frames that reset had returned; return copies")
    if not np.array_equal(poses, given):
        raise Problem("step changed the poses it was given; work on a copy")
    return Finding("buffers", "ok", "frames and poses stay as they were")


def check_path(subject: Subject) -> Finding:
    """The commanded path follows the one asked for, in every primitive, with the right sign."""
    spec = subject.spec
    worst = (0.0, 0.0)
    for name in spec.primitives:
        primitive = Primitive[name]
        if primitive is Primitive.STAY:
            continue
        path = subject.moved(primitive, 2)
        chunks = subject.walk(path, 0)
        got = np.concatenate([chunk.poses for chunk in chunks])
        _check_sign(primitive, path.poses[-1], got[-1])
        turn = float(geodesic_deg(got[:, :3, :3], path.poses[:, :3, :3]).max())
        move = float(np.linalg.norm(got[:, :3, 3] - path.poses[:, :3, 3], axis=1).max())
        worst = (max(worst[0], turn), max(worst[1], move))
        if chunks[0].truth is not None and "pose" in chunks[0].truth:
            realised = np.concatenate([np.asarray((c.truth or {})["pose"]) for c in chunks])
            _check_sign(primitive, got[-1], realised[-1], what="truth")
    note = f"commanded within {worst[0]:.3g} degrees and {worst[1]:.3g} m of asked"
    longest = max(spec.first_chunk, spec.chunk)
    steps = [(p, longest * spec.step_of(Primitive[p])) for p in spec.primitives if p != "STAY"]
    most_turn = max(
        [amount for p, amount in steps if Primitive[p] >= Primitive.YAW_LEFT], default=0
    )
    most_move = max([amount for p, amount in steps if Primitive[p] < Primitive.YAW_LEFT], default=0)
    if worst[0] > most_turn + 1e-6 or worst[1] > most_move + 1e-6:
        raise Problem(
            f"{note}: more than a chunk of its own motion; expected commanded poses that follow "
            "the ones asked for, but for rounding"
        )
    return Finding("path", "ok", f"{note} (pose_exactness {spec.pose_exactness})")


def _check_sign(
    primitive: Primitive,
    wanted: NDArray[np.float64],
    got: NDArray[np.float64],
    what: str = "commanded pose",
) -> None:
    before, after = _state(wanted), _state(got)
    axis = int(abs(before).argmax())
    if before[axis] and after[axis] * before[axis] < 0:
        raise Problem(
            f"{primitive.name} ends with {_AXES[axis]} {after[axis]:.3g} in the {what} where "
            f"{before[axis]:.3g} was asked for: the sign is wrong (x right, y down, z forward; yaw "
            "right and pitch up are positive)"
        )


_AXES = ("right (m)", "forward (m)", "yaw right (degrees)", "pitch up (degrees)")


def _state(pose: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([pose[0, 3], pose[2, 3], *yaw_pitch(pose)])


def check_prompt(subject: Subject) -> Finding:
    """A prompt between chunks is taken exactly by worlds whose spec says so."""
    spec = subject.spec
    path = subject.there_and_back(subject.steps_out)
    chunk = subject.begin(path)
    poses = np.array(path.poses[len(chunk.frames) :][: spec.first_chunk])
    try:
        subject.world.step(poses, "The light turns red.")
        taken = True
    except WorldEnvError:
        taken = False
    if spec.prompt == "chunk" and not taken:
        raise Problem("a prompt in step was refused but spec.prompt is 'chunk'; expected frames")
    if taken and spec.prompt != "chunk":
        return Finding(
            "prompt", "note", f"prompt: {spec.prompt}, yet step ignores one; better Unsupported"
        )
    return Finding("prompt", "ok", f"prompt: {spec.prompt}")


def check_snapshot(subject: Subject) -> Finding:
    """A world with ``snapshot`` goes on from it with equal bits, more than once."""
    world: Any = subject.world
    spec = subject.spec
    if not hasattr(world, "snapshot") or not hasattr(world, "restore"):
        return Finding("snapshot", "note", "not offered (optional)")
    path = subject.there_and_back(subject.steps_out)
    chunk = subject.begin(path)
    at = len(chunk.frames)
    world.step(np.array(path.poses[at : at + spec.first_chunk]))
    at += spec.first_chunk
    token = world.snapshot()
    poses = np.array(path.poses[at : at + spec.chunk])
    first = world.step(poses)
    for _ in range(2):
        world.restore(token)
        if not np.array_equal(world.step(poses).frames, first.frames):
            raise Problem("the step after restore gave other frames than the one after snapshot")
    return Finding("snapshot", "ok", "goes on with equal bits")


def check_speed(subject: Subject) -> Finding:
    """How fast the world is, and whether its memory grows while it walks."""
    path = subject.there_and_back(subject.steps_out)
    subject.walk(path, 0)
    before, start = _resident(), time.perf_counter()
    for seed in (0, 1):
        subject.walk(path, seed)
    seconds = time.perf_counter() - start
    frames = 2 * len(path)
    grown = _resident() - before
    note = f"{frames / seconds:.1f} frames/s, {grown / 1e6:+.0f} MB over {frames} frames"
    # Two more episodes of the same length should need nothing that the first one did not.
    pictures = frames * 3 * subject.spec.size[0] * subject.spec.size[1]
    if grown > max(pictures, 64e6):
        return Finding("speed", "note", f"{note}: more than the frames themselves, a leak?")
    return Finding("speed", "ok", note)


def check_state(subject: Subject) -> Finding:
    """Tells a state that goes on between chunks from one re-anchored on its last frame.

    The world looks away, comes back and looks the same way again; then it is started anew from the
    frame in which it had come back, with the same seed and with another, and looks that way. A
    world that carries its state shows what it had shown there the first time, and what a start
    with another seed does not show; one that restarts each chunk from its last frame shows what
    the start with the same seed shows.
    """
    spec = subject.spec
    claim = f"the spec says state={spec.state!r}"
    there, _ = subject.motions()
    if not spec.image_start or spec.drive == "plan" or there not in TURNS:
        return Finding(
            "state", "note", f"needs an image start, a stream and turns to tell; {claim}"
        )
    angle = 1.2 * fov_of(spec.intrinsics(), max(spec.size))
    steps = math.ceil(angle / spec.step_of(there) / spec.chunk)
    out = subject.new_frames(steps)
    if out > _FURTHEST:
        return Finding("state", "note", f"turns too slowly to leave its view; {claim}")
    start = spec.reset_frames - 1
    once = subject.there_and_back(steps).poses[: start + 1 + 2 * out]
    poses = np.concatenate([once, once[start + 1 : start + 1 + out]])
    path = fit_path(CameraPath(poses, fps=spec.fps), spec)
    frames = np.concatenate([chunk.frames for chunk in subject.walk(path, 0)])
    first, back, second = (frames[start + k * out] for k in (1, 2, 3))
    to_first = _psnr(second, first)
    to_anew, to_other = (
        _psnr(second, _from_frame(subject, back, there, steps, seed)) for seed in (0, 1)
    )
    seen = (
        f"the second look is {to_first:.1f} dB from the first, {to_anew:.1f} dB from a restart and "
        f"{to_other:.1f} dB from one with another seed"
    )
    if to_anew > to_first + _CLEAR:
        found = "reanchored"
    elif to_first > to_other + _CLEAR:
        found = "native"
    else:
        return Finding("state", "note", f"cannot tell: {seen}; {claim}")
    if found != ("native" if spec.state == "whole" else spec.state):
        raise Problem(f"{claim}, but it behaves as {found!r}: {seen}")
    return Finding("state", "ok", f"behaves as {found!r}: {seen}")


_FURTHEST = 512
"""Frames that a look away may take."""
_CLEAR = 3.0
"""Decibels by which one likeness must exceed the other."""


def _from_frame(
    subject: Subject, frame: NDArray[np.uint8], there: Primitive, steps: int, seed: int
) -> NDArray[np.uint8]:
    """Return the last frame of some steps of a motion, begun in an image."""
    spec = subject.spec
    start = subject.case.start(spec)._replace(image=np.ascontiguousarray(frame), scene=None)
    poses = subject.moved(there, steps).poses
    frames = subject.world.reset(start, seed=seed, plan=None).frames
    at = len(frames)
    for step in range(steps):
        n = spec.chunk_at(step)
        frames = subject.world.step(np.array(poses[at : at + n])).frames
        at += n
    return np.array(frames[-1])


def _psnr(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
    error = float(np.mean((a.astype(np.float64) - b) ** 2))
    return 99.0 if error == 0 else float(10 * np.log10(255**2 / error))


def _equal(a: list[Chunk], b: list[Chunk]) -> bool:
    return all(np.array_equal(x.frames, y.frames) for x, y in zip(a, b, strict=True))


def _first_difference(a: list[Chunk], b: list[Chunk]) -> int:
    first = np.concatenate([c.frames for c in a])
    second = np.concatenate([c.frames for c in b])
    return int(np.flatnonzero((first != second).any(axis=(1, 2, 3)))[0])


def _resident() -> int:
    """Return the resident memory of this process in bytes, 0 where the system does not say."""
    if not sys.platform.startswith("linux"):
        return 0
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096


CHECKS: dict[str, Callable[[Subject], Finding]] = {
    "spec": check_spec,
    "reset": check_reset,
    "steps": check_steps,
    "order": check_order,
    "seeds": check_seeds,
    "buffers": check_buffers,
    "path": check_path,
    "prompt": check_prompt,
    "snapshot": check_snapshot,
    "state": check_state,
    "speed": check_speed,
}
"""Every check by name, in the order in which they run."""

"""The conformance kit finds what is wrong with a world, and nothing in a good one."""

import dataclasses
import zlib

import numpy as np
import pytest
from toy_world import make as make_toy

from worldenv.camera import intrinsics, yaw_pitch
from worldenv.conformance import CHECKS, Subject, WorldContract, examine_world, run_check
from worldenv.world import Chunk, PlanRequired, Unsupported, WeightsNotFound, WorldSpec
from worldenv.worlds import load_world

SIZE = (24, 8)


class Ring:
    """An image world on a ring of one-degree columns; every column shows a colour of its own.

    With ``anchored`` it forgets all but its last frame at each step.
    """

    def __init__(self, anchored=False, **fields):
        K = tuple(map(tuple, intrinsics(SIZE, 60).tolist()))
        values = {
            "chunk": 8,
            "first_chunk": 8,
            "image_start": True,
            "primitives": ("STAY", "YAW_LEFT", "YAW_RIGHT"),
            "quantum": {"YAW_LEFT": 2.5, "YAW_RIGHT": 2.5},
            "state": "reanchored" if anchored else "native",
            "licence": "test",
            "citation": "test",
        }
        self.spec = WorldSpec("Ring", SIZE, K, 8, **{**values, **fields})
        self.anchored = anchored
        self.known = None

    def reset(self, start, *, seed, plan):
        if self.spec.drive == "plan" and plan is None:
            raise PlanRequired("the ring needs a plan")
        self.seed, self.last, self.yaw = seed, start.image, 0.0
        self.known = dict(zip(self.columns(0.0), start.image[0], strict=True))
        return Chunk(start.image[None].copy(), np.eye(4)[None])

    def step(self, poses, prompt=None):
        if self.known is None:
            raise Unsupported("reset first")
        if prompt is not None:
            raise Unsupported("no prompts")
        if self.anchored:
            self.known = dict(zip(self.columns(self.yaw), self.last[0], strict=True))
        frames = []
        for yaw in yaw_pitch(poses)[:, 0]:
            self.yaw = yaw
            row = [self.known.setdefault(c, self.imagine(c)) for c in self.columns(yaw)]
            frames.append(np.tile(np.stack(row), (SIZE[1], 1, 1)))
        self.last = frames[-1]
        return Chunk(np.stack(frames), np.array(poses))

    def columns(self, yaw):
        # Whole columns of 2.5 degrees, so that a turn of one quantum shifts by one.
        return [round(yaw / 2.5) + c - SIZE[0] // 2 for c in range(SIZE[0])]

    def imagine(self, column):
        salt = zlib.crc32(self.last.tobytes()) if self.anchored else 0
        return np.random.default_rng([self.seed, column + 1000, salt]).integers(0, 256, 3, np.uint8)

    def close(self):
        self.known = None


def found(world, check, **fields):
    return run_check(check, Subject(lambda: world, **fields))


def test_a_good_world_has_no_problem():
    states = {f.check: f.state for f in examine_world(Ring)}
    assert list(states) == list(CHECKS)
    assert states == {**dict.fromkeys(CHECKS, "ok"), "snapshot": "note"}


def test_reference_has_no_problem():
    findings = list(
        examine_world(lambda: load_world("Reference-v0", size=(32, 24), family="plain"))
    )
    assert not [f for f in findings if f.state == "problem"]
    assert {f.check: f.state for f in findings}["snapshot"] == "ok"


@pytest.mark.parametrize("anchored", [False, True])
def test_the_probe_tells_a_native_state_from_a_restart(anchored):
    finding = found(Ring(anchored), "state")
    assert finding.state == "ok"
    assert ("reanchored" if anchored else "native") in finding.note
    lying = Ring(anchored, state="native" if anchored else "reanchored")
    assert found(lying, "state").state == "problem"


def test_the_probe_says_where_it_cannot_tell():
    for world in (
        make_toy(image_start=False),
        Ring(drive="plan"),
        Ring(quantum={"YAW_RIGHT": 0.1}),
    ):
        assert found(world, "state").state == "note"


class Broken(Ring):
    """A ring with one thing wrong."""

    def __init__(self, fault):
        self.fault = fault
        super().__init__(**FAULTS[fault][1])
        self.count = 0

    def reset(self, start, *, seed, plan):
        if self.fault == "takes no plan for an answer":
            plan = "anything"
        chunk = super().reset(start, seed=seed, plan=plan)
        self.count += 1
        if self.fault == "extra frame":
            return Chunk(chunk.frames.repeat(2, 0), chunk.poses.repeat(2, 0))
        if self.fault == "moved at reset":
            poses = chunk.poses.copy()
            poses[:, 0, 3] = 1
            return Chunk(chunk.frames, poses)
        self.first = chunk.frames
        return chunk

    def step(self, poses, prompt=None):
        if self.fault == "crash before reset" and self.known is None:
            raise AttributeError("known")
        if self.fault == "silent before reset" and self.known is None:
            return Chunk(np.zeros((len(poses), 8, 24, 3), np.uint8), poses)
        if self.fault == "takes prompts":
            prompt = None
        if self.fault == "wrong sign":
            poses = np.linalg.inv(poses)
        given = poses
        chunk = super().step(poses, prompt)
        if self.fault == "too few":
            return Chunk(chunk.frames[1:], chunk.poses[1:])
        if self.fault == "leaks between episodes":
            return chunk._replace(frames=chunk.frames + np.uint8(self.count))
        if self.fault == "writes into frames":
            self.first[:] = chunk.frames[-1]
        if self.fault == "writes into poses":
            given[:] = np.eye(4)
        if self.fault == "goes astray":
            poses = np.array(poses)
            poses[:, 0, 3] += 0.5
            return Chunk(chunk.frames, poses)
        if self.fault == "breaks":
            raise RuntimeError("CUDA error")
        return chunk


FAULTS = {
    "extra frame": ("reset", {}, "spec.reset_frames says 1"),
    "moved at reset": ("reset", {}, "no camera has moved"),
    "too few": ("steps", {}, "7 frames where 8"),
    "crash before reset": ("order", {}, "AttributeError"),
    "silent before reset": ("order", {}, "returned frames"),
    "takes no plan for an answer": ("order", {"drive": "plan"}, "expected PlanRequired"),
    "leaks between episodes": ("seeds", {}, "from frame 1 on"),
    "writes into frames": ("buffers", {}, "return copies"),
    "writes into poses": ("buffers", {}, "work on a copy"),
    "wrong sign": ("path", {}, "YAW_LEFT ends with yaw right"),
    "goes astray": ("path", {}, "0.5 m of asked: more than a chunk of its own motion"),
    "takes prompts": ("prompt", {}, "step ignores one"),
    "refuses prompts": ("prompt", {"prompt": "chunk"}, "was refused but"),
    "breaks": ("steps", {}, "RuntimeError: CUDA error"),
}


# The environment asks for neither, so a short world may leave them out.
HARMLESS = ("crash before reset", "silent before reset", "takes prompts")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_and_named(fault):
    check, _, words = FAULTS[fault]
    finding = found(Broken(fault), check)
    assert finding.state == ("note" if fault in HARMLESS else "problem")
    assert words in finding.note


def test_a_camera_that_looks_beside_its_image_is_found():
    world = Ring()
    K = ((20.0, 0, 500.0), (0, 20.0, 4.0), (0, 0, 1.0))
    world.spec = dataclasses.replace(world.spec, K=K)
    assert "expected pixels" in found(world, "spec").note


def test_a_snapshot_that_forgets_is_found():
    class Forgetful(Ring):
        def snapshot(self):
            return self.yaw

        def restore(self, token):
            self.known = {}

        def imagine(self, column):
            self.draws = getattr(self, "draws", 0) + 1
            return np.full(3, self.draws % 256, np.uint8)

    assert "after restore" in found(Forgetful(), "snapshot").note


def test_absent_weights_are_no_finding():
    class Absent(Ring):
        def reset(self, start, *, seed, plan):
            raise WeightsNotFound("fetch them")

    with pytest.raises(WeightsNotFound, match="fetch them"):
        list(examine_world(Absent))


class TestContract(WorldContract):
    frames = 8

    def make_world(self):
        return Ring()


def test_the_mixin_fails_where_a_check_does():
    class Bad(WorldContract):
        def make_world(self):
            return Broken("wrong sign")

    with pytest.raises(AssertionError, match="sign is wrong"):
        Bad().test_path()
    assert {f"test_{name}" for name in CHECKS} <= set(dir(WorldContract))

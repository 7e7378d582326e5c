"""ReferenceWorld: contract, truth, options, faults, snapshots, processes without GL."""

from __future__ import annotations

import inspect
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from worldenv.camera import intrinsics, walk
from worldenv.world import Chunk, GenerationFailed, Start, UnknownName, Unsupported, check_chunk
from worldenv.worlds.reference import OPTIONS, make
from worldenv.worlds.reference.compile import cores
from worldenv.worlds.reference.faults import ABSENCE, Memory
from worldenv.worlds.reference.world import ReferenceWorld

SMALL: dict[str, Any] = {"size": (48, 36), "family": "plain", "threads": 1}
BALL = Start(scene={"family": "plain", "seed": 3, "view": "middle", "event": "ball_rolls_off"})
STILL = Start(scene={"family": "plain", "seed": 3})


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def reference(**options: Any) -> ReferenceWorld:
    world = make(**{**SMALL, **options})
    assert isinstance(world, ReferenceWorld)
    return world


def yaws(*degrees: float) -> np.ndarray:
    return walk(np.zeros((len(degrees), 3)), np.array(degrees, float), np.zeros(len(degrees)))


def there_and_back(step: float = 4.0) -> np.ndarray:
    out = np.arange(step, 180.0, step)
    return yaws(*out, *out[::-1], 0.0)


def same(a: Chunk, b: Chunk) -> bool:
    truth = zip(a.truth["depth"], b.truth["depth"], strict=True)  # type: ignore[index]
    return np.array_equal(a.frames, b.frames) and all(np.array_equal(x, y) for x, y in truth)


def test_the_contract_is_kept() -> None:
    world = reference(chunk=4, first_chunk=2)
    spec = world.spec
    first = check_chunk(world.reset(BALL, seed=0, plan=None), spec, None)
    assert len(first.frames) == 1 and np.array_equal(first.poses[0], np.eye(4))
    chunk = check_chunk(world.step(yaws(1, 2, 3, 4)), spec, 4)
    assert chunk.truth is not None
    np.testing.assert_array_equal(chunk.truth["pose"], chunk.poses)
    assert chunk.truth["depth"].dtype == np.float32 and chunk.truth["ids"].dtype == np.uint16
    np.testing.assert_array_equal(spec.intrinsics(), intrinsics((48, 36), 75.0))
    assert (spec.name, spec.chunk, spec.first_chunk, spec.fps) == ("Reference", 4, 2, 16.0)
    assert spec.truth == ("pose", "depth", "ids", "state") and spec.deterministic
    world.close()
    world.close()


def test_defaults_are_those_of_the_paper_world() -> None:
    spec = make().spec
    assert (spec.size, spec.fps, spec.chunk, spec.first_chunk) == ((256, 256), 16.0, 1, 1)
    assert spec.quantum["YAW_RIGHT"] == 1.0 and spec.quantum["FORWARD"] == 1 / 30


def test_equal_seeds_and_poses_give_equal_bits() -> None:
    a, b = reference(), reference()
    for start in (BALL, Start()):
        assert same(a.reset(start, seed=5), b.reset(start, seed=5))
        assert same(a.step(there_and_back()[:9]), b.step(there_and_back()[:9]))
    other = b.reset(Start(), seed=6)
    assert not np.array_equal(a.reset(Start(), seed=5).frames, other.frames)


def test_a_static_scene_looks_the_same_on_return() -> None:
    world = reference()
    first = world.reset(STILL, seed=0)
    chunk = world.step(there_and_back())
    np.testing.assert_array_equal(chunk.frames[-1], first.frames[0])
    np.testing.assert_array_equal(chunk.frames[10], chunk.frames[-12])
    assert not np.array_equal(chunk.frames[20], first.frames[0])
    assert chunk.truth is not None and first.truth is not None
    # Nothing changes, so all moments share one state.
    assert all(s is first.truth["state"][0] for s in chunk.truth["state"])


def test_events_are_a_function_of_time_and_of_nothing_else() -> None:
    stepped, jumped = reference(), reference()
    stepped.reset(BALL, seed=0)
    jumped.reset(BALL, seed=0)
    away = stepped.step(np.concatenate([there_and_back(18.0), yaws(0.0)]))
    stayed = jumped.step(yaws(*[0.0] * len(away.frames)))
    assert away.truth is not None and stayed.truth is not None
    np.testing.assert_array_equal(away.frames[-1], stayed.frames[-1])
    assert not np.array_equal(stayed.frames[0], stayed.frames[-1])
    progress = [s["event"]["progress"] for s in stayed.truth["state"]]
    assert progress == sorted(progress) and 0 < progress[0] < progress[-1] < 1
    x = [s["instances"][20]["pose"][0][3] for s in stayed.truth["state"]]
    assert x[0] != x[-1]


def test_truth_can_be_left_out() -> None:
    world = reference(truth=("ids",))
    assert world.spec.truth == ("ids",)
    truth = world.reset(STILL, seed=0).truth
    assert truth is not None and list(truth) == ["ids"]
    assert reference(truth=()).reset(STILL, seed=0).truth is None


def test_each_frame_is_rendered_once() -> None:
    world = reference()
    world.reset(STILL, seed=0)
    world.step(yaws(1, 2, 3))
    assert world.frames_rendered == 4


def test_frozen_repeats_frame_0_and_says_so() -> None:
    world = reference(faults={"frozen": 1.0})
    first = world.reset(BALL, seed=0)
    chunk = world.step(yaws(10, 20, 30))
    for k in range(3):
        np.testing.assert_array_equal(chunk.frames[k], first.frames[0])
    assert chunk.truth is not None
    np.testing.assert_array_equal(chunk.truth["pose"], np.tile(np.eye(4), (3, 1, 1)))
    np.testing.assert_array_equal(chunk.poses, yaws(10, 20, 30))
    assert chunk.truth["state"][2]["event"]["progress"] == 0.0


def shown(world: ReferenceWorld, chunk: Chunk) -> dict[int, str]:
    assert chunk.truth is not None
    return {i: s["variant"] for i, s in chunk.truth["state"][-1]["instances"].items()}


def test_forgetting_shows_something_else_on_return() -> None:
    world = reference(faults={"forget": 1.0})
    first = world.reset(STILL, seed=1)
    before = shown(world, first)
    chunk = world.step(there_and_back())
    after = shown(world, chunk)
    changed = {i for i in before if before[i] != after[i]}
    assert len(changed) >= 3
    assert not np.array_equal(chunk.frames[-1], first.frames[0])
    # Until something has been away long enough, all is as in the perfect world.
    perfect = reference()
    perfect.reset(STILL, seed=1)
    same_way = perfect.step(there_and_back())
    np.testing.assert_array_equal(chunk.frames[:ABSENCE], same_way.frames[:ABSENCE])
    # The frame in which something comes back already shows the other thing.
    assert chunk.truth is not None
    for i in changed:
        ids = chunk.truth["ids"]
        variants = [s["instances"][i]["variant"] for s in chunk.truth["state"]]
        switch = next(k for k, v in enumerate(variants) if v != before[i])
        seen = [(frame == i).any() for frame in ids]
        assert not any(seen[switch - ABSENCE : switch])


def test_forgotten_content_leaves_no_ghost() -> None:
    forgetful, perfect = reference(faults={"forget": 1.0}), reference()
    forgetful.reset(STILL, seed=1)
    forgetful.step(there_and_back())
    perfect.reset(STILL, seed=1)
    renderer = type(forgetful._renderer)(  # type: ignore[misc]
        forgetful.scene, size=(48, 36), cache=False
    )
    again = forgetful.step(yaws(0.0))
    drawn = renderer.draw(forgetful.scene.views[0].pose)
    np.testing.assert_array_equal(drawn.frame, again.frames[0])


def test_a_larger_dose_forgets_a_superset() -> None:
    memory = Memory(4)
    forgotten = []
    for dose in (0.0, 0.3, 0.6, 1.0):
        forgotten.append({i: memory.draw("forget", i, {"forget": dose}) for i in range(1, 200)})
    for less, more in itertools.pairwise(forgotten):
        kept = {i: s for i, s in less.items() if s is not None}
        assert kept.items() <= more.items()
    counts = [sum(s is not None for s in f.values()) for f in forgotten]
    assert counts[0] == 0 and counts[3] == 199 and 30 < counts[1] < 90 < counts[2] < 150


def test_a_fault_of_dose_0_changes_nothing() -> None:
    a, b = reference(faults={"forget": 0.0, "frozen": 0.0}), reference()
    assert same(a.reset(STILL, seed=1), b.reset(STILL, seed=1))
    assert same(a.step(there_and_back()), b.step(there_and_back()))


def test_snapshots_bring_back_every_bit() -> None:
    world = reference(faults={"forget": 1.0})
    world.reset(BALL, seed=2)
    world.step(there_and_back(9.0))
    token = world.snapshot()
    on = world.step(there_and_back(9.0))
    world.restore(token)
    assert same(on, world.step(there_and_back(9.0)))
    world.reset(BALL, seed=2)
    world.restore(token)
    assert same(on, world.step(there_and_back(9.0)))
    with pytest.raises(Unsupported):
        world.restore({"frame": 3})


def test_a_snapshot_from_before_other_faults_were_planted_is_refused() -> None:
    world = reference()
    world.reset(BALL, seed=2)
    token = world.snapshot()
    world.plant({"frozen": 1.0})
    world.reset(BALL, seed=2)
    with pytest.raises(Unsupported, match="planted"):
        world.restore(token)
    with pytest.raises(Unsupported, match="both decide"):
        reference(context="none").plant({"forget": 0.5})


def test_the_options_of_the_catalogue_are_those_of_the_world() -> None:
    assert tuple(inspect.signature(ReferenceWorld).parameters) == OPTIONS


def test_a_snapshot_of_another_scene_comes_back_with_its_own_light() -> None:
    world = reference()
    world.reset(STILL, seed=2)
    token = world.snapshot()
    expected = world.step(yaws(0.0))
    other = Start(scene={"family": "plain", "seed": 8})
    world.reset(other, seed=2)
    world.restore(token)
    assert same(expected, world.step(yaws(0.0)))


def test_reset_forgets_what_was_forgotten() -> None:
    world = reference(faults={"forget": 1.0})
    first = world.reset(STILL, seed=1)
    one = world.step(there_and_back())
    assert same(first, world.reset(STILL, seed=1))
    assert same(one, world.step(there_and_back()))


@pytest.mark.parametrize(
    "options",
    [
        {"size": (0, 4)},
        {"size": 5},
        {"size": (4.5, 4)},
        {"fov": 0},
        {"fov": float("nan")},
        {"fov": "wide"},
        {"fps": 0},
        {"chunk": 0},
        {"first_chunk": True},
        {"supersample": 9},
        {"detail": "most"},
        {"threads": 0},
        {"absence": 0},
        {"faults": {"forget": 1.5}},
        {"faults": {"forget": "much"}},
        {"faults": {"frozen": 0.5}},
        {"faults": ["forget"]},
        {"truth": "ids"},
        {"truth": ("id",)},
        {"family": "exterior"},
    ],
)
def test_bad_options_are_named(options: dict[str, Any]) -> None:
    with pytest.raises(Unsupported) as error:
        make(**options)
    assert next(iter(options)).rstrip("s")[:5] in str(error.value) or "width" in str(error.value)
    assert "\n" not in str(error.value)


def test_unknown_names_get_the_nearest() -> None:
    with pytest.raises(UnknownName, match="supersample"):
        make(supersamples=2)
    with pytest.raises(UnknownName, match="forget"):
        make(faults={"forgett": 1.0})
    world = reference()
    for scene in ({"family": "plan"}, {"sed": 3}, {"view": "midle"}):
        with pytest.raises(UnknownName):
            world.reset(Start(scene=scene), seed=0)
    for scene in ({"seed": -1}, {"seed": "1"}, {"event": "flood"}, {"event": 3}):
        with pytest.raises(Unsupported):
            world.reset(Start(scene=scene), seed=0)


def test_bad_calls_are_refused() -> None:
    world = reference()
    with pytest.raises(GenerationFailed, match="reset"):
        world.step(yaws(0))
    with pytest.raises(Unsupported, match="image"):
        world.reset(Start(image=np.zeros((4, 4, 3), np.uint8)), seed=0)
    with pytest.raises(Unsupported, match="seed"):
        world.reset(Start(), seed=-1)
    world.reset(STILL, seed=0)
    with pytest.raises(Unsupported, match="prompt"):
        world.step(yaws(0), prompt="turn")
    for poses in (np.eye(4), np.full((1, 4, 4), np.nan), 2 * np.eye(4)[None], np.zeros((0, 4, 4))):
        with pytest.raises(GenerationFailed):
            world.step(poses)
    mirrored = np.diag([-1.0, 1.0, 1.0, 1.0])[None]
    with pytest.raises(GenerationFailed):
        world.step(mirrored)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_children_render_after_the_parent_used_all_cores() -> None:
    parent = reference(threads=max(cores(), 2))
    first = parent.reset(BALL, seed=0)
    expected = parent.step(yaws(5, 10))
    for make_anew in (True, False):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                world = reference(threads=None) if make_anew else parent
                world.reset(BALL, seed=0)
                chunk = world.step(yaws(5, 10))
                os.write(write, chunk.frames.tobytes())
                status = 0
            finally:
                os._exit(status)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            received = pipe.read()
        assert os.waitpid(child, 0)[1] == 0
        assert received == expected.frames.tobytes()
    np.testing.assert_array_equal(parent.reset(BALL, seed=0).frames, first.frames)


def test_several_python_threads_may_render_at_once() -> None:
    from concurrent.futures import ThreadPoolExecutor

    def run(seed: int) -> np.ndarray:
        world = reference(threads=2)
        world.reset(Start(scene={"family": "plain", "seed": seed}), seed=0)
        return world.step(there_and_back(60.0)).frames

    alone = [run(k) for k in (1, 2)]
    with ThreadPoolExecutor(2) as pool:
        together = list(pool.map(run, (1, 2)))
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_array_equal(a, b)


HIDDEN = r"""
import ctypes, os, sys
GRAPHICS = (
    "libGL", "libEGL", "libOSMesa", "libX11", "libxcb", "libvulkan", "libGLX", "libGLdispatch",
    "libgbm",
)
class Refuse:
    # Stands in for a machine without these packages, at import level.
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("OpenGL", "moderngl", "pyglet", "glfw", "vulkan", "wgpu", "cv2"):
            raise ImportError(name + " is hidden")
sys.meta_path.insert(0, Refuse())
load = ctypes.CDLL.__init__
def guarded(self, name=None, *args, **kwargs):
    if name and os.path.basename(str(name)).startswith(GRAPHICS):
        raise OSError(str(name) + " is hidden")
    return load(self, name, *args, **kwargs)
ctypes.CDLL.__init__ = guarded
for key in ("DISPLAY", "WAYLAND_DISPLAY"):
    os.environ.pop(key, None)
from worldenv.world import Start
from worldenv.worlds.reference import make
world = make(size=(32, 24), family="plain", threads=2)
frame = world.reset(Start(scene={"seed": 3}), seed=0).frames[0]
assert frame.std() > 5, frame.std()
maps = open("/proc/self/maps").read() if os.path.exists("/proc/self/maps") else ""
found = [g for g in GRAPHICS if "/" + g + "." in maps or "/" + g + "-" in maps]
assert not found, found
print("rendered without graphics libraries")
"""


def test_it_renders_without_any_graphics_library() -> None:
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "rendered without" in done.stdout


def test_importing_worldenv_loads_no_numba() -> None:
    code = (
        "import sys, worldenv, worldenv.worlds.reference; "
        "assert not {'numba', 'torch', 'cv2'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_scenes_that_are_left_do_not_stay_in_memory():
    def resident():
        text = Path("/proc/self/statm")
        if not text.is_file():
            pytest.skip("no /proc on this system to read a process's memory from")
        return int(text.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    world = ReferenceWorld(size=(16, 16), detail="coarse", threads=1)
    world.reset(Start(), seed=0)
    world.reset(Start(), seed=1)
    first = resident()
    for seed in range(2, 6):
        world.reset(Start(), seed=seed)
    # Kept, four scenes would take some 240 MB.
    assert resident() < first + 60

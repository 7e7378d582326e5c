"""The feature cache: same scores with and without, shared, bounded, and safe when damaged."""

import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from worldenv.camera import CameraPath, intrinsics, walk
from worldenv.evaluators.cache import FILE, FOLDER, MISSING, Cache, CacheUnusable, find_cache
from worldenv.evaluators.engine import Engine, build_engine
from worldenv.evaluators.plan import Ask, Context, Measurement, Outcome, Slot, pixels, truth
from worldenv.evaluators.profile import Profile
from worldenv.world import Chunk

N = 24
K = intrinsics((64, 64), 75)


@pytest.fixture(scope="module")
def video():
    turns = np.concatenate([np.linspace(0, 20, N // 2), np.linspace(20, 0, N // 2)])
    path = CameraPath(walk(np.zeros((N, 3)), turns, np.zeros(N)))
    rng = np.random.default_rng(0)
    wide = rng.integers(0, 256, (16, 60, 3), np.uint8).repeat(4, 0).repeat(4, 1)
    frames = np.stack([wide[:, int(2 * t) : int(2 * t) + 64] for t in turns])
    return path, np.ascontiguousarray(frames)


def scores(video, cache=None, frames=None, **options):
    path, own = video
    settings = {"benchmarks": ["r2m", "worldmembench"], "profile": "classic", "K": K} | options
    engine = build_engine(path, cache=cache, **settings)
    engine.observe(Chunk(own if frames is None else frames, path.poses))
    kept = engine._cache
    return engine.finish().scores, kept


def test_scores_are_the_same_bits_with_and_without_and_nothing_is_computed_twice(video, tmp_path):
    plain, none = scores(video)
    assert none is None
    first, cold = scores(video, tmp_path)
    second, warm = scores(video, tmp_path)
    assert plain == first == second
    assert cold.hits == 0 and cold.misses > N
    assert warm.misses == 0 and 0 < warm.hits < cold.misses


def test_other_frames_and_other_intrinsics_are_other_answers(video, tmp_path):
    _, cold = scores(video, tmp_path)
    changed = video[1].copy()
    changed[3, 0, 0, 0] ^= 1
    _, again = scores(video, tmp_path, changed)
    assert 0 < again.misses < cold.misses
    plain, _ = scores(video, None, K=2 * K, benchmarks=["worldmembench"])
    cached, _ = scores(video, tmp_path, K=2 * K, benchmarks=["worldmembench"])
    assert plain == cached


def test_the_environment_names_a_cache(video, tmp_path, monkeypatch):
    assert find_cache() is None
    monkeypatch.setenv(FOLDER, str(tmp_path / "new"))
    _, kept = scores(video)
    assert kept.misses and (tmp_path / "new" / FILE).exists()
    monkeypatch.setenv("WORLDENV_CACHE_GIB", "plenty")
    with pytest.raises(CacheUnusable, match="GiB"):
        find_cache()


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CacheUnusable, match="choose another folder"):
        Cache(tmp_path / "file")


def test_a_damaged_entry_is_computed_again(video, tmp_path):
    plain, _ = scores(video, tmp_path)
    with sqlite3.connect(tmp_path / FILE) as connection:
        connection.execute("UPDATE answers SET value = zeroblob(20) WHERE id % 2")
    again, kept = scores(video, tmp_path)
    assert again == plain and kept.hits and kept.misses
    assert scores(video, tmp_path)[1].misses == 0


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 100])
def test_a_damaged_file_is_begun_anew(video, tmp_path, damage):
    plain, _ = scores(video)
    (tmp_path / FILE).write_bytes(damage)
    assert scores(video, tmp_path)[0] == plain
    assert scores(video, tmp_path)[1].misses == 0


def test_the_oldest_go_first_when_it_is_full(tmp_path):
    cache = Cache(tmp_path, limit=4 << 20)
    keys = [bytes([k]) * 32 for k in range(250)]
    for k, key in enumerate(keys):
        cache.put(key, np.full(10_000, k, np.float64))
        cache.flush()
        assert cache.size <= 4 << 20
    assert cache.get(keys[0]) is MISSING
    assert cache.get(keys[-1])[0] == 249
    cache.close()


def test_two_processes_may_write_at_once(tmp_path):
    program = (
        "import sys, numpy as np; from pathlib import Path\n"
        "from worldenv.evaluators.cache import Cache\n"
        "cache = Cache(Path(sys.argv[1]))\n"
        "for k in range(200):\n"
        "    cache.put(bytes([k]) * 32, np.full(1000, k)); cache.flush()\n"
        "cache.close()\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    running = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait(60) for process in running] == [0, 0]
    cache = Cache(tmp_path)
    assert all(cache.get(bytes([k]) * 32)[0] == k for k in range(200))


def engine_of(role, backbone, ask, cache):
    slot = (Slot(role, n_expected=1),)
    ends = Measurement("r2m", slot, (ask,), lambda found: [Outcome(float(found[ask]), 1)])
    path = CameraPath(np.tile(np.eye(4), (2, 1, 1)))
    return Engine([ends], Context(path, Profile("test", {role: lambda: backbone})), cache=cache)


class Answers:
    name, revision, checksum, batch = "answers", "1", "", 1

    def __init__(self, needs, value=1.0):
        self._needs, self.value, self.asked = needs, value, 0

    def needs(self, ask):
        return self._needs

    def compute(self, asks, inputs):
        self.asked += 1
        if self.value is None:
            raise RuntimeError("broken")
        return [self.value]


@pytest.mark.parametrize(
    ("needs", "value", "kept"),
    [
        ((pixels(0),), 2.0, True),
        ((truth("depth", 0),), 2.0, False),
        ((pixels(0), truth("depth", 0)), 2.0, False),
        ((pixels(0),), None, False),
    ],
)
def test_only_what_rests_on_pixels_alone_and_worked_is_kept(tmp_path, needs, value, kept):
    backbone = Answers(needs, value)
    frame = Chunk(
        np.zeros((1, 16, 16, 3), np.uint8), np.eye(4)[None], {"depth": np.ones((1, 4, 4))}
    )
    for _ in range(2):
        engine = engine_of("embed", backbone, Ask("embed", (0,)), Cache(tmp_path))
        engine.observe(frame)
        engine.finish()
    assert backbone.asked == (1 if kept else 2)


def test_another_revision_or_checksum_is_another_answer(tmp_path):
    frame = Chunk(np.zeros((1, 16, 16, 3), np.uint8), np.eye(4)[None], None)
    for field in ("revision", "checksum", "name"):
        backbone = Answers((pixels(0),))
        setattr(backbone, field, "another")
        engine = engine_of("embed", backbone, Ask("embed", (0,)), Cache(tmp_path))
        engine.observe(frame)
        engine.finish()
        assert backbone.asked == 1

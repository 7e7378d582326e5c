"""The bench: what it plans, keeps, resumes and refuses, with the toy world as the model."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from toy_world import make

from worldenv import bench, store
from worldenv.bench import Settings
from worldenv.camera import intrinsics
from worldenv.case import load_suite
from worldenv.controls import CONTROLS, PROBES
from worldenv.rollout import Rollout
from worldenv.stage import Stage
from worldenv.world import Chunk, WorldEnvError, WorldSpec

TOY = str(Path(__file__).parent / "toy_world.py")
OPTIONS = {"size": [32, 24], "image_start": False}
CASE = load_suite("mbench").items[0].case.id


def run(out, **changes):
    keywords = {
        "world": f"{TOY}:make",
        "cases": [CASE],
        "profile": "classic",
        "world_options": OPTIONS,
        "controls": False,
        "workers": 1,
        "out": out,
    }
    return bench.run(**{**keywords, **changes})


def stored(folder):
    with sqlite3.connect(folder / "scores.sqlite") as database:
        scores = database.execute("SELECT * FROM scores ORDER BY id").fetchall()
        episodes = database.execute("SELECT * FROM episodes ORDER BY episode").fetchall()
    return scores, episodes


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "run"
    return run(folder)


def test_a_run_leaves_episodes_rows_and_an_index(undisturbed):
    folder = undisturbed.folder
    scripts = [item.script for item in load_suite("mbench") if item.case.id == CASE]
    assert undisturbed.made == len(scripts) >= 1
    assert not undisturbed.failed
    assert store.read_index(folder) == list(undisturbed.scores)
    for name, record in store.records(folder):
        rollout = Rollout.load(folder / "episodes" / name)
        assert len(rollout) == record.frames == 241
        assert rollout.digest == record.digest
    row = undisturbed.scores[0]
    assert (row.suite, row.world, row.profile) == ("mbench", f"{TOY}:make", "classic")


def test_the_same_run_again_makes_nothing(undisturbed):
    before = stored(undisturbed.folder)
    again = run(undisturbed.folder)
    assert again.made == 0
    assert stored(undisturbed.folder) == before
    assert again.scores == undisturbed.scores


def test_scores_alone_are_made_anew_when_they_are_lost(undisturbed, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(undisturbed.folder, folder)
    path = next(folder.glob("episodes/*/*/scores.json"))
    record = store.read_record(path)
    store.write_json(path, record.model_copy(update={"score_key": "old"}).model_dump())
    video = path.parent / "frames.mkv"
    written = video.stat().st_mtime_ns
    again = run(folder)
    assert again.made == 1
    assert video.stat().st_mtime_ns == written, "the rollout was walked again"
    assert again.scores == undisturbed.scores


def test_other_settings_need_another_folder(undisturbed):
    with pytest.raises(store.StoreError, match="choose another folder"):
        run(undisturbed.folder, world_options={**OPTIONS, "fov": 60})


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(store.StoreError, match=r"thesis\.tex"):
        run(tmp_path)
    assert [p.name for p in tmp_path.iterdir() if not p.name.startswith(".")] == ["thesis.tex"]


@pytest.mark.slow
def test_workers_and_shards_give_the_same_rows(undisturbed, tmp_path):
    parallel = run(tmp_path / "workers", workers=2)
    assert parallel.scores == undisturbed.scores
    for i in (1, 2):
        assert run(tmp_path / "shards", shard=(i, 2)).scores == ()
    assert bench.collect(tmp_path / "shards") == list(undisturbed.scores)


class Breaks:
    """A world that fails in its third step, and only for seed 1."""

    def __init__(self):
        K = tuple(tuple(float(x) for x in row) for row in intrinsics((32, 24), 75))
        self.spec = WorldSpec(name="Breaks", size=(32, 24), K=K, fps=16.0, chunk=60)

    def reset(self, start, *, seed, plan):
        self.left = 3 if seed == 1 else 99
        return self._chunk(np.eye(4)[None])

    def step(self, poses, prompt=None):
        self.left -= 1
        if not self.left:
            raise RuntimeError("out of <memory>")
        return self._chunk(np.asarray(poses))

    def _chunk(self, poses):
        return Chunk(np.full((len(poses), 24, 32, 3), 90, np.uint8), poses)

    def close(self):
        self.left = 0


def test_a_failed_episode_is_a_row_with_its_error_and_is_tried_again(tmp_path):
    folder = tmp_path / "run"
    results = run(folder, world=Breaks(), world_options=None, seeds=[0, 1])
    scripts = len([item for item in load_suite("mbench") if item.case.id == CASE])
    assert len(results.failed) == scripts
    assert set(results.failed.values()) == {"RuntimeError: out of <memory>"}
    assert {row.seed for row in results.scores} == {0}
    _, episodes = stored(folder)
    assert sum("out of <memory>" in str(row) for row in episodes) == scripts
    assert not list(folder.glob("episodes/*/.*")), "a failed episode left files behind"
    assert run(folder, world=Breaks(), world_options=None, seeds=[0, 1]).made == scripts


@pytest.mark.slow
def test_killed_at_random_moments_and_resumed_it_has_the_rows_of_an_undisturbed_run(
    undisturbed, tmp_path
):
    folder = tmp_path / "run"
    command = [sys.executable, "-m", "worldenv.cli", "bench", "--world", f"{TOY}:make"]
    command += ["--world-option", "size=[32, 24]", "--world-option", "image_start=false"]
    command += ["--case", CASE, "--profile", "classic", "--no-controls", "--workers", "1"]
    command += ["--out", str(folder)]
    rng = random.Random(0)
    kills = 0
    for _ in range(60):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        # The moment is drawn anew until it falls into the work, not into the imports.
        while not folder.exists() and process.poll() is None:
            time.sleep(0.01)
        try:
            process.wait(rng.uniform(0.0, 0.6))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
        if kills == 20:
            break
        if process.returncode == 0:
            # It got through: begin again until there were twenty kills.
            assert stored(folder) == stored(undisturbed.folder)
            shutil.rmtree(folder)
    assert kills == 20
    last = subprocess.run(command, capture_output=True, text=True)
    assert last.returncode == 0, last.stderr
    assert stored(folder) == stored(undisturbed.folder)
    assert [p.name for p in folder.rglob(".*")] == [".run.lock"]


def test_workers_die_with_their_parent(tmp_path):
    code = f"""
import time
from worldenv import bench
bench.run({TOY + ":make"!r}, cases=[{CASE!r}], profile="classic", world_options={OPTIONS!r},
          controls=False, workers=2, out={str(tmp_path / "run")!r})
"""
    process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    deadline = time.monotonic() + 60
    children = []
    while len(children) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
        children = _children(process.pid)
    assert len(children) >= 2
    process.kill()
    process.wait()
    while any(_alive(pid) for pid in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in children if _alive(pid)]


@pytest.mark.slow
def test_a_killed_worker_ends_the_run_with_one_line_and_it_resumes(undisturbed, tmp_path):
    command = [sys.executable, "-m", "worldenv.cli", "bench", "--world", f"{TOY}:make"]
    command += ["--world-option", "size=[32, 24]", "--world-option", "image_start=false"]
    command += ["--case", CASE, "--profile", "classic", "--no-controls", "--workers", "2"]
    command += ["--out", str(tmp_path / "run")]
    killed = 0
    for delay in (0.0, 0.05, 0.1, 0.2, 0.3):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not list(tmp_path.glob("run/episodes/*/.*")) and process.poll() is None:
            time.sleep(0.005)
        time.sleep(delay)
        workers = [pid for pid in _children(process.pid) if b"spawn_main" in _command(pid)]
        for pid in workers[:1]:
            os.kill(pid, signal.SIGKILL)
        _, err = process.communicate(timeout=60)
        if process.returncode == 2:
            killed += 1
            assert b"worker process died" in err and b"Traceback" not in err
        shutil.rmtree(tmp_path / "run" / "episodes", ignore_errors=True)
    assert killed
    assert subprocess.run(command, capture_output=True).returncode == 0
    assert stored(tmp_path / "run") == stored(undisturbed.folder)


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _children(pid):
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except OSError:
        return []
    return [int(word) for word in text.split()]


def _alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_full_disk_is_one_line_and_nothing_half_written(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a small disk cannot be mounted here (needs the right to mount)")
    try:
        with pytest.raises(WorldEnvError, match=r"full|space"):
            run(disk / "run", world_options={**OPTIONS, "size": [128, 128]})
        assert not list(disk.glob("run/episodes/*/*/rollout.json"))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"world": "Referense-v0"}, "Did you mean 'Reference-v0'"),
        ({"suites": ["mbenhc"], "cases": None}, "Did you mean 'mbench'"),
        ({"cases": [CASE + "9"]}, "Did you mean"),
        ({"profile": "clasic"}, "Did you mean 'classic'"),
        ({"seeds": []}, "at least one"),
        ({"cases": 0}, "at least 1"),
        ({"cases": []}, "No"),
        ({"shard": (3, 2)}, "1 <= i <= n"),
        ({"workers": 0}, "from 1 to 256"),
        ({"world_options": {"size": [0, 0]}}, "cannot be made"),
        ({"world": 5}, "world must be"),
        ({"profile": None}, "profile must be"),
        ({"suites": "r2m"}, "list of ids"),
        ({"cases": [5]}, "list of ids"),
        ({"cases": True}, "list of ids"),
        ({"seeds": 0}, "list such as"),
        ({"seeds": [-1]}, "whole number from 0"),
        ({"seeds": ["x"]}, "whole number from 0"),
        ({"workers": 1.5}, "whole number"),
        ({"shard": (1,)}, "two whole numbers"),
    ],
)
def test_mistakes_are_named_before_anything_is_written(tmp_path, changes, kind):
    with pytest.raises(WorldEnvError, match=kind):
        run(tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()


def test_plans_hold_the_controls():
    perfect = bench.plan(Settings("Reference-v0"), ["mbench"], 1)
    assert {e.control for e in perfect} == {"", *CONTROLS} - {"perfect"}
    quick = bench.plan(Settings("Reference-v0"))
    kinds = {(e.control, e.suite, e.item.case.category) for e in quick if e.control}
    assert {("amnesiac", "worldmembench", c) for c in ("human", "object")} <= kinds
    assert {("frozen", "worldmembench", c) for c in ("object", "dynamic")} <= kinds
    for probe in PROBES:
        assert len([e for e in quick if e.control == probe]) == 2
    model = bench.plan(Settings("model.py:make"), ["mbench"], 1)
    own = [e.item.key for e in model if not e.control]
    assert [e.item.key for e in model if e.control == "perfect"] == own
    assert len({e.name for e in model}) == len(model)
    events = bench.plan(Settings("model.py:make"), cases=["worldmembench/dynamic/001"])
    assert {e.control for e in events} == {"", *CONTROLS}


def test_controls_are_worlds_without_the_limits_of_the_one_under_test():
    limited = Settings("Reference-v0", {"context": "sliding", "size": (32, 32), "threads": 1})
    with Stage(limited) as stage:
        for name, control in CONTROLS.items():
            assert stage.options(name) == {
                "size": (32, 32),
                "threads": 1,
                "faults": control.faults or None,
            }
            assert stage.world(name).spec.size == (32, 32)


def test_the_quick_selection_is_ten_episodes_of_three_suites():
    episodes = bench.plan(Settings("Reference-v0"), controls=False)
    assert len(episodes) == 10
    assert {e.suite for e in episodes} == {"worldmembench", "mbench", "r2m"}


def test_estimates_count_frames_without_making_any():
    settings = Settings("Reference-v0")
    found = bench.estimate(settings, bench.plan(settings, ["mbench"], 1, controls=False))
    scripts = [item.script for item in load_suite("mbench") if item.case.id == CASE]
    assert list(found.frames.values()) == [241] * len(scripts)
    assert found.seconds is not None and found.bytes > 0


def test_an_image_world_starts_from_the_first_view_of_the_scene(tmp_path):
    from worldenv.worlds.reference import first_view

    world = make(size=(64, 48))
    assert world.spec.image_start
    case = load_suite("mbench").items[0].case
    start = case.start(world.spec)
    assert np.array_equal(start.image, first_view(case.scene, (64, 48), world.spec.intrinsics()))
    assert start.image.std() > 10


def test_interrupting_says_how_to_go_on(tmp_path):
    command = [sys.executable, "-m", "worldenv.cli", "bench", "--world", f"{TOY}:make"]
    command += ["--case", CASE, "--profile", "classic", "--no-controls", "--workers", "1"]
    command += ["--world-option", "size=[64, 64]", "--world-option", "image_start=false"]
    # More episodes than any machine walks before the signal has come.
    for seed in range(40):
        command += ["--seed", str(seed)]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path / "run")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
        # A shell that runs the tests in the background has them ignore the signal.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    while not list(tmp_path.glob("run/episodes/*/.*")) and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert "resumes" in err and "Traceback" not in err
    assert not list(tmp_path.glob("run/episodes/*/.*")), "the unfinished episode was left behind"

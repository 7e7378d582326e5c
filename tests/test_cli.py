"""The command line: what a newcomer types, and one line for every mistake."""

import json
import os
import subprocess
import sys
from pathlib import Path

import imageio_ffmpeg
import numpy as np
import pytest
from test_bench import CASE, TOY

from worldenv.case import load_script


def call(*arguments, code=0):
    result = subprocess.run(
        [sys.executable, "-m", "worldenv.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "220"},
    )
    assert result.returncode == code, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    return result


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    """A 97-frame video of noise that pans, with its pose file."""
    folder = tmp_path_factory.mktemp("video")
    path = load_script("worldmembench:lrlr(hold=16,leg=16)").path()
    rng = np.random.default_rng(0)
    wide = rng.integers(0, 256, (6, 40, 3), np.uint8).repeat(16, 0).repeat(16, 1)
    yaw = np.degrees(np.arctan2(path.poses[:, 0, 2], path.poses[:, 2, 2]))
    writer = imageio_ffmpeg.write_frames(
        str(folder / "walk.mp4"), (128, 96), fps=16, macro_block_size=1, quality=9
    )
    writer.send(None)
    for angle in yaw:
        left = int(256 + angle * 3)
        writer.send(np.ascontiguousarray(wide[:, left : left + 128]))
    writer.close()
    (folder / "poses.json").write_text(json.dumps(path.to_dict()))
    return folder


def test_a_video_with_poses_is_scored(video):
    result = call("score", video / "walk.mp4", "--path", video / "poses.json")
    for word in ("worldmembench", "environment_visible", "r2m", "ssim", "unavailable"):
        assert word in result.stdout


def test_a_scored_video_can_be_kept_and_explained(video, tmp_path):
    out = tmp_path / "kept"
    call("score", video / "walk.mp4", "--path", video / "poses.json", "--out", out)
    assert (out / "report.html").is_file()
    from worldenv.store import read_index

    row = next(r for r in read_index(out) if r.metric == "psnr" and r.variant == "nmr")
    assert "mg / dr" in call("explain", out, row.id).stdout
    again = call("score", next(out.glob("episodes/*/*")), "--profile", "classic")
    assert "psnr" in again.stdout


def test_listings_and_doctor():
    assert "Reference-v0" in call("worlds").stdout
    assert "worldmembench" in call("suites").stdout
    assert call("suites", "list").stdout == call("suites").stdout
    examined = call("doctor").stdout
    assert "FFV1" in examined and "problem" not in examined


def test_plan_makes_nothing(tmp_path):
    result = call("bench", "--plan", "--out", tmp_path / "run")
    assert "episodes" in result.stdout and "frames" in result.stdout
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["bench", "--world", "Referense-v0"], "Did you mean 'Reference-v0'?"),
        (["bench", "--suite", "wordmembench"], "Did you mean 'worldmembench'?"),
        (["bench", "--case", "mbench/objekt/000"], "Unknown case"),
        (["bench", "--profile", "clasic"], "Did you mean 'classic'?"),
        (["bench", "--shard", "2"], "expected e.g. 1/4"),
        (["bench", "--world-option", "fov"], "key=value"),
        (["bench", "--world-option", "fob=3"], "fob"),
        (["bench", "--world-option", "fov=400"], "fov"),
        (["bench", "--case", CASE, "--cases", "2"], "one of the two"),
        (["bench", "--out", "/proc/nowhere"], "Cannot write"),
        (["bench", "--world", "nothing.py:make"], "nothing.py"),
        (["bench", "--world", f"{TOY}:mak"], "mak"),
        (["report", "/tmp/no-such-run"], "no episodes"),
        (["explain", "/tmp/no-such-run", "abc"], "no scores.sqlite"),
        (["score", "/tmp/no-such.mp4", "--path", "x.json"], "x.json"),
    ],
)
def test_mistakes_are_one_line(arguments, says):
    result = call(*arguments, code=2)
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert len(lines) == 1, result.stderr
    assert says in lines[0]


def _truncated(folder, video):
    data = (video / "walk.mp4").read_bytes()
    (folder / "cut.mp4").write_bytes(data[: len(data) // 2])
    return ["cut.mp4", "--path", video / "poses.json"]


def _too_few_poses(folder, video):
    data = json.loads((video / "poses.json").read_text())
    data = {"poses": data["poses"][:50], "phases": data["phases"][:50]}
    (folder / "short.json").write_text(json.dumps(data))
    return [video / "walk.mp4", "--path", "short.json"]


def _not_rigid(folder, video):
    data = json.loads((video / "poses.json").read_text())
    data["poses"][7][0][0] = 2.0
    (folder / "bent.json").write_text(json.dumps(data))
    return [video / "walk.mp4", "--path", "bent.json"]


def _nan(folder, video):
    data = json.loads((video / "poses.json").read_text())
    data["poses"][7][0][3] = float("nan")
    (folder / "nan.json").write_text(json.dumps(data))
    return [video / "walk.mp4", "--path", "nan.json"]


def _no_video(folder, video):
    (folder / "notes.mp4").write_text("not a video")
    return ["notes.mp4", "--path", video / "poses.json"]


def _no_path(folder, video):
    return [video / "walk.mp4"]


def _unknown_benchmark(folder, video):
    return [video / "walk.mp4", "--path", video / "poses.json", "--benchmark", "r3m"]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (_truncated, "cut.mp4"),
        (_too_few_poses, "50 poses"),
        (_not_rigid, "frame 7"),
        (_nan, "nan.json"),
        (_no_video, "notes.mp4"),
        (_no_path, "--path"),
        (_unknown_benchmark, "Did you mean 'r2m'?"),
    ],
)
def test_bad_videos_and_poses_are_one_line_and_leave_nothing(
    make, says, video, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    arguments = make(tmp_path, video)
    result = call("score", *arguments, "--out", tmp_path / "kept", code=2)
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert len(lines) == 1 and says in lines[0], result.stderr
    assert not (tmp_path / "kept").exists()


def test_hidden_files_of_a_run_are_only_its_lock(tmp_path):
    call(
        *("bench", "--world", f"{TOY}:make", "--world-option", "size=[24, 24]"),
        *("--world-option", "image_start=false", "--case", CASE, "--profile", "classic"),
        *("--no-controls", "--workers", "1", "--out", tmp_path / "run"),
    )
    hidden = [p.name for p in Path(tmp_path / "run").rglob(".*")]
    assert hidden == [".run.lock"]

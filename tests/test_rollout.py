"""Recording and reading: exact, flat, complete or absent; and what a broken file says."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import toy_world

from worldenv.camera import CameraPath, InvalidPath, intrinsics, walk
from worldenv.case import Case, Target
from worldenv.env import WorldEnv
from worldenv.policies import r2m, worldmembench
from worldenv.rollout import (
    InvalidRollout,
    InvalidVideo,
    Rollout,
    RolloutWriter,
    StorageError,
    load_poses,
    safe_folder_name,
    save_poses,
    with_phases,
)
from worldenv.video import VideoWriter, ffmpeg_executable, read_frames
from worldenv.world import Chunk, GenerationFailed

SHORT = worldmembench.lrlr(hold=4, leg=6, angle=12)
CASE = Case(id="toy/object/001", targets=(Target("ball", "ball", 3),), options={"distance": 2.5})


def _walk(folder, *, truth_frames=None, script=SHORT, **options):
    """Record an episode and return (its folder, the chunks as the world made them)."""
    env = WorldEnv(toy_world.make(**options), control="plan", script=script, case=CASE)
    env.reset(seed=7)
    writer = RolloutWriter(
        folder,
        spec=env.world_spec,
        path=env.path,
        case=env.case,
        script=env.script,
        seed=env.episode_seed,
        K=env.world_spec.intrinsics(),
        K_exactness="exact",
        control="plan",
        options={"chunk": 4},
        truth_frames=truth_frames,
    )
    chunks = [env.chunk]
    writer.add(env.chunk, 0.25)
    truncated = False
    while not truncated:
        truncated = env.step(0)[3]
        chunks.append(env.chunk)
        writer.add(env.chunk, 0.5)
    return writer.finish(), chunks


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    return _walk(tmp_path_factory.mktemp("rollouts") / "one", chunk=4, first_chunk=3)


def test_round_trip(recorded):
    folder, chunks = recorded
    rollout = Rollout.load(folder)
    target = SHORT.path()
    assert len(rollout) == 36 and rollout.chunk_lengths == (1, 3, *[4] * 8)
    assert rollout.wall_times == (0.25, *[0.5] * 9)
    assert (rollout.case, rollout.script, rollout.seed) == (CASE, SHORT.name, 7)
    assert rollout.spec == toy_world.make(chunk=4, first_chunk=3).spec
    assert rollout.options == {"chunk": 4} and rollout.control == "plan"
    assert rollout.target.poses[:33].tobytes() == target.poses.tobytes()
    assert rollout.phases == (*target.phases, None, None, None)
    commanded = np.concatenate([c.poses for c in chunks])
    assert rollout.commanded.tobytes() == commanded.tobytes()
    assert rollout.realised.tobytes() == commanded.tobytes()
    assert np.array_equal(rollout.K, rollout.spec.intrinsics())
    assert rollout.fps == 16 and rollout.size == (32, 24)
    assert set(rollout.software) >= {"worldenv", "numpy", "ffmpeg", "python"}
    again = list(rollout.chunks())
    assert len(again) == len(chunks)
    for made, read in zip(chunks, again, strict=True):
        assert read.frames.tobytes() == made.frames.tobytes()
        assert read.poses.tobytes() == made.poses.tobytes()
        for key in ("pose", "depth", "ids"):
            assert read.truth[key].dtype == made.truth[key].dtype
            assert read.truth[key].tobytes() == made.truth[key].tobytes()
        assert read.truth["state"] == made.truth["state"]
        assert all(mask.all() for mask in read.truth["recorded"].values())


def test_random_access_decodes_only_what_is_asked(recorded, monkeypatch):
    folder, chunks = recorded
    rollout = Rollout.load(folder)
    frames = np.concatenate([c.frames for c in chunks])
    assert np.array_equal(rollout.frames(), frames)
    assert np.array_equal(rollout.frames(30), frames[30:])
    assert rollout.frames(5, 5).shape == (0, 24, 32, 3)
    decoded = []
    import worldenv.rollout as module

    def counting(*args, **keywords):
        for frame in read_frames(*args, **keywords):
            decoded.append(frame)
            yield frame

    monkeypatch.setattr(module, "read_frames", counting)
    assert np.array_equal(rollout.frames(17, 20), frames[17:20])
    assert len(decoded) == 3
    decoded.clear()
    list(rollout.chunks())
    assert len(decoded) == len(rollout)


@pytest.mark.parametrize("fps", [7.3, 16, 24, 59.94, 120])
@pytest.mark.parametrize("size", [(2, 2), (33, 17)])
def test_video_is_exact_at_any_size_and_rate(tmp_path, size, fps):
    frames = np.random.default_rng(0).integers(0, 256, (20, size[1], size[0], 3), np.uint8)
    writer = VideoWriter(tmp_path / "a.mkv", size, fps)
    writer.write(frames)
    writer.close()
    assert np.array_equal(np.stack(list(read_frames(tmp_path / "a.mkv"))), frames)
    for start in (1, 7, 19):
        read = list(read_frames(tmp_path / "a.mkv", start=start, count=1, fps=fps))
        assert np.array_equal(read, frames[start : start + 1])


def test_frames_may_lie_in_memory_as_a_world_likes(tmp_path):
    turned = np.random.default_rng(0).integers(0, 256, (3, 3, 20, 30), np.uint8)
    frames = turned.transpose(0, 2, 3, 1)
    writer = RolloutWriter(
        tmp_path / "walk",
        spec=None,
        path=None,
        case=None,
        script=None,
        seed=0,
        K=None,
        K_exactness="nominal",
        control="plan",
        size=(30, 20),
        fps=16,
    )
    writer.add(Chunk(frames, np.eye(4)[None].repeat(3, 0)))
    assert np.array_equal(Rollout.load(writer.finish()).frames(), frames)


def test_equal_runs_leave_equal_records(tmp_path):
    records = []
    for name in ("a", "b"):
        folder, _ = _walk(tmp_path / name)
        record = json.loads((folder / "rollout.json").read_text())
        records.append({k: v for k, v in record.items() if k != "wall_times"})
    assert records[0] == records[1]
    assert len(records[0]["digest"]) == 64
    other, _ = _walk(tmp_path / "c", fov=60)
    assert Rollout.load(other).digest != records[0]["digest"]


def test_only_wanted_truth_is_kept(tmp_path):
    folder, chunks = _walk(tmp_path / "a", truth_frames={"depth": {0, 5}, "state": (2,)}, chunk=2)
    rollout = Rollout.load(folder)
    assert set(rollout.truth.keys) == {"pose", "depth", "ids", "state"}
    assert np.flatnonzero(rollout.truth.recorded("depth")).tolist() == [0, 5]
    assert not rollout.truth.recorded("ids").any()
    depth = np.concatenate([c.truth["depth"] for c in chunks])
    assert np.array_equal(rollout.truth["depth"][[0, 5]], depth[[0, 5]])
    assert not rollout.truth["depth"][1:5].any() and not rollout.truth["ids"].any()
    second = list(rollout.chunks())[1]
    assert second.truth["recorded"]["state"].tolist() == [False, True]
    assert second.truth["pose"].shape == (2, 4, 4)
    full, _ = _walk(tmp_path / "b", chunk=2)
    assert (full / "truth.bin").stat().st_size > 5 * (folder / "truth.bin").stat().st_size


def test_states_are_kept_once_and_with_their_ids(tmp_path):
    writer = _writer(tmp_path / "a")
    ball = {"category": "ball", "variant": "red", "pose": np.eye(4).tolist()}
    states = [{"instances": {3: ball}, "event": None}] * 5
    states += [{"instances": {3: ball}, "event": {"name": "rolls", "progress": 0.1}}] * 3
    for state in states:
        writer.add(_chunk(truth={"state": [state]}))
    folder = writer.finish()
    assert len((folder / "truth_state.jsonl").read_text().splitlines()) == 2
    rollout = Rollout.load(folder)
    assert list(rollout.truth["state"]) == states
    assert rollout.realised is None and "pose" not in rollout.truth


def _writer(folder, **changes):
    spec = toy_world.make().spec
    arguments = {
        "spec": spec, "path": None, "case": None, "script": None, "seed": 0,
        "K": spec.intrinsics(), "K_exactness": "exact", "control": "primitive", "options": {},
    }  # fmt: skip
    return RolloutWriter(folder, **{**arguments, **changes})


def _chunk(n=1, truth=None, size=(32, 24)):
    frames = np.zeros((n, size[1], size[0], 3), np.uint8)
    return Chunk(frames, np.tile(np.eye(4), (n, 1, 1)), truth)


def test_free_walks_take_their_target_from_what_was_commanded(tmp_path):
    writer = _writer(tmp_path / "a")
    poses = walk(np.zeros((3, 3)), np.arange(3.0), np.zeros(3))
    writer.add(_chunk())
    writer.add(_chunk(2)._replace(poses=poses[1:]))
    rollout = Rollout.load(writer.finish())
    assert rollout.target == CameraPath(poses, fps=16) and rollout.truth is None
    assert rollout.phases == (None, None, None)
    assert next(rollout.chunks()).truth is None


def test_truth_that_cannot_be_kept_is_refused(tmp_path):
    for truth, match in (
        ({"../up": [1]}, "name"),
        ({"depth": np.zeros((1, 2, 2), complex)}, "complex"),
    ):
        writer = _writer(tmp_path / "a")
        with pytest.raises(GenerationFailed, match=match):
            writer.add(_chunk(truth=truth))
        writer.abort()
    assert list(tmp_path.iterdir()) == []


def test_nothing_half_written(tmp_path):
    writer = _writer(tmp_path / "a")
    writer.add(_chunk())
    assert not (tmp_path / "a").exists()
    writer.abort()
    writer.abort()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StorageError, match="ended"):
        writer.add(_chunk())
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "note").write_text("mine")
    with pytest.raises(StorageError, match="exists already"):
        _writer(tmp_path / "b")
    writer = _writer(tmp_path / "c")
    writer.add(_chunk())
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "note").write_text("mine")
    with pytest.raises(StorageError, match="another run"):
        writer.finish()
    assert sorted(f.name for f in tmp_path.iterdir()) == ["b", "c"]
    (tmp_path / "empty").mkdir()
    writer = _writer(tmp_path / "empty")
    writer.add(_chunk())
    assert len(Rollout.load(writer.finish())) == 1


def test_folders_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        _writer(tmp_path / "file" / "a")
    with pytest.raises(StorageError, match="cannot be written"):
        _writer("/proc/worldenv/a")


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(disk)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("mounting a small disk is not allowed here")
    try:
        writer = _writer(disk / "a", spec=toy_world.make(size=(64, 64)).spec)
        noise = np.random.default_rng(0).integers(0, 256, (40, 64, 64, 3), np.uint8)
        with pytest.raises(StorageError, match="disk is full") as caught:
            for _ in range(50):
                writer.add(Chunk(noise, np.tile(np.eye(4), (40, 1, 1)), None))
            writer.finish()
        assert "\n" not in str(caught.value)
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_killing_leaves_only_the_hidden_folder(tmp_path):
    code = (
        "import sys, time, toy_world\n"
        "from test_rollout import _chunk, _writer\n"
        "writer = _writer(sys.argv[1])\n"
        "writer.add(_chunk(5)); print('on', flush=True); time.sleep(60)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "a")],
        stdout=subprocess.PIPE,
        cwd=os.path.dirname(__file__),
    )
    assert child.stdout.readline() == b"on\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
    time.sleep(0.2)
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(".a.") and left.name.endswith(".partial")
    with pytest.raises(InvalidRollout, match="unfinished"):
        Rollout.load(left)
    other = _writer(tmp_path / "b")
    writer = _writer(tmp_path / "a")
    assert not left.exists(), "the next writer of that folder sweeps it away"
    writer.add(_chunk())
    assert len(Rollout.load(writer.finish())) == 1
    other.add(_chunk())
    assert len(Rollout.load(other.finish())) == 1


@pytest.mark.slow
def test_recording_is_flat_and_cheap():
    script = os.path.join(os.path.dirname(__file__), "..", "benchmarks", "overhead.py")
    command = [sys.executable, script, "--frames", "2000", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    measured = json.loads(done.stdout)
    assert measured["recording"]["added_MiB"] < 60
    assert measured["recording with truth"]["added_MiB"] < 60
    # The aim is 0.5; twice as much leaves room for a busy machine.
    assert measured["step"]["added_ms"] < 1.0


def _damage(folder, kind):
    record = folder / "rollout.json"
    data = json.loads(record.read_text())
    video = folder / "frames.mkv"
    if kind == "cut json":
        record.write_text(record.read_text()[:-40])
    elif kind == "schema":
        record.write_text(json.dumps({**data, "schema": 99}))
    elif kind == "missing key":
        del data["seed"]
        record.write_text(json.dumps(data))
    elif kind == "nan":
        data["commanded"][3][0][3] = float("nan")
        record.write_text(json.dumps(data))
    elif kind == "counts":
        record.write_text(json.dumps({**data, "commanded": data["commanded"][:-1]}))
    elif kind == "not rigid":
        data["target"][3][0][0] = 5
        record.write_text(json.dumps(data))
    elif kind == "no video":
        video.unlink()
    elif kind == "cut video":
        video.write_bytes(video.read_bytes()[: video.stat().st_size // 2])
    elif kind == "flipped bits":
        content = bytearray(video.read_bytes())
        content[len(content) // 2] ^= 255
        video.write_bytes(bytes(content))
    elif kind == "empty video":
        video.write_bytes(b"")
    elif kind == "truth":
        (folder / "truth.bin").write_bytes(b"")
    elif kind == "states":
        (folder / "truth_state.jsonl").write_text("{")


@pytest.mark.parametrize(
    "kind",
    ["cut json", "schema", "missing key", "nan", "counts", "not rigid", "no video", "cut video",
     "flipped bits", "empty video", "truth", "states"],
)  # fmt: skip
def test_damage_is_noticed(recorded, tmp_path, kind):
    folder = tmp_path / "copy"
    shutil.copytree(recorded[0], folder)
    _damage(folder, kind)
    with pytest.raises(InvalidRollout) as caught:
        for _ in Rollout.load(folder).chunks():
            pass
    assert "\n" not in str(caught.value)


def test_what_is_no_rollout(tmp_path):
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InvalidRollout, match="no rollout"):
            Rollout.load(place)


@pytest.fixture(scope="module")
def video(recorded, tmp_path_factory):
    file = tmp_path_factory.mktemp("videos") / "walk.mp4"
    source = recorded[0] / "frames.mkv"
    command = [ffmpeg_executable(), "-loglevel", "error", "-i", source, "-pix_fmt", "yuv420p", file]
    subprocess.run(command, check=True)
    return file


def test_plain_videos(recorded, video):
    path = Rollout.load(recorded[0]).target
    K = np.array([[40.0, 0, 32], [0, 40.0, 24], [0, 0, 1]])
    rollout = Rollout.from_video(video, path, K=K, case=CASE)
    assert len(rollout) == 36 and rollout.size == (32, 24) and rollout.phases == path.phases
    assert rollout.realised is None and rollout.truth is None and rollout.spec is None
    assert rollout.chunk_lengths == (1, 16, 16, 3)
    assert rollout.K[0].tolist() == [20, 0, 16] and "scaled" in rollout.target.notes[-1]
    chunks = list(rollout.chunks())
    assert np.array_equal(np.concatenate([c.frames for c in chunks]), rollout.frames())
    close = rollout.frames().astype(int) - Rollout.load(recorded[0]).frames()
    assert abs(close).mean() < 40


def test_videos_too_large_to_keep_are_decoded_again(recorded, video, monkeypatch):
    path = Rollout.load(recorded[0]).target
    kept = Rollout.from_video(video, path)
    monkeypatch.setattr("worldenv.rollout.KEEP_BYTES", 5000)
    streamed = Rollout.from_video(video, path)
    assert streamed._kept is None and streamed.digest == kept.digest
    assert np.array_equal(streamed.frames(9, 20), kept.frames(9, 20))
    assert np.array_equal(streamed.frames(), kept.frames())


def test_copies(recorded, video, tmp_path):
    rollout = Rollout.load(recorded[0])
    (recorded[0] / "scores.json").write_text("{}")
    copied = Rollout.load(rollout.copy_to(tmp_path / "copy"))
    assert copied.digest == rollout.digest and not (tmp_path / "copy" / "scores.json").exists()
    plain = Rollout.from_video(video, rollout.target)
    kept = Rollout.load(plain.copy_to(tmp_path / "video"))
    assert kept.digest == plain.digest and kept.K is None and kept.spec is None
    assert kept.chunk_lengths == plain.chunk_lengths and kept.target == plain.target
    assert np.array_equal(kept.frames(3, 9), plain.frames(3, 9))
    with pytest.raises(StorageError, match="exists already"):
        rollout.copy_to(tmp_path / "copy")


def test_broken_videos(video, tmp_path, monkeypatch):
    path = CameraPath(np.tile(np.eye(4), (36, 1, 1)))

    def refuse(file, match, path=path):
        with pytest.raises(InvalidVideo, match=match) as caught:
            Rollout.from_video(file, path)
        assert "\n" not in str(caught.value)

    refuse(video, "36 frames and the path 35 poses", path[:35])
    empty, cut, text = (tmp_path / name for name in ("empty.mp4", "cut.mp4", "text.mp4"))
    empty.write_bytes(b"")
    refuse(empty, "empty")
    cut.write_bytes(video.read_bytes()[: video.stat().st_size // 2])
    refuse(cut, "cut short")
    text.write_text("no video at all")
    refuse(text, "no video")
    playlist = tmp_path / "list.mp4"
    playlist.write_text(f"#EXTM3U\n#EXTINF:1,\nfile://{video}\n#EXT-X-ENDLIST\n")
    refuse(playlist, "no video")
    refuse(tmp_path / "nowhere.mp4", "no local file")
    refuse("http://localhost/a.mp4", "no local file")
    monkeypatch.setattr("worldenv.video.MAX_FRAMES", 10)
    refuse(video, "more than 10 frames")
    monkeypatch.setattr("worldenv.video.MAX_PIXELS", 10)
    refuse(video, "the limit is 10 pixels")
    monkeypatch.setattr("worldenv.video.MAX_BYTES", 10)
    refuse(video, "the limit is 10")


def test_cut_fragmented_videos_are_noticed(recorded, tmp_path):
    whole = tmp_path / "whole.mp4"
    command = [
        ffmpeg_executable(), "-loglevel", "error", "-i", recorded[0] / "frames.mkv",
        "-pix_fmt", "yuv420p", "-movflags", "+faststart", whole,
    ]  # fmt: skip
    subprocess.run(command, check=True)
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size * 3 // 4])
    with pytest.raises(InvalidVideo):
        Rollout.from_video(cut, Rollout.load(recorded[0]).target)


def test_pose_files(tmp_path):
    path = worldmembench.lrlr(hold=4, leg=6).path()
    ours = save_poses(path, tmp_path / "ours.json", np.array([[9, 0, 5], [0, 9, 4], [0, 0, 1]]))
    loaded, K = load_poses(ours)
    assert loaded == path and K[0].tolist() == [9, 0, 5]
    ours.write_text(json.dumps(path.to_dict()))
    assert load_poses(ours) == (path, None)
    with pytest.raises(InvalidPath, match="cannot be written"):
        save_poses(path, tmp_path / "nowhere" / "a.json")
    moved = r2m.out_and_back(leg=10).path()
    base = walk(np.array([[1.0, 2, 3]]), np.array([40.0]), np.zeros(1))[0]
    K = [[969.77, 0, 960], [0, 969.77, 540], [0, 0, 1]]
    theirs = tmp_path / "theirs.json"
    rows = {
        str(i): {"extrinsic": (base @ pose).tolist(), "K": K} for i, pose in enumerate(moved.poses)
    }
    theirs.write_text(json.dumps(dict(reversed(rows.items()))))
    loaded, K = load_poses(theirs, fps=24)
    assert np.allclose(loaded.poses, moved.poses) and loaded.fps == 24 and loaded.phases is None
    assert K[0, 0] == 969.77
    phased = with_phases(loaded, r2m.out_and_back(leg=10))
    assert phased.phases == moved.phases
    with pytest.raises(InvalidPath, match="481 frames"):
        with_phases(loaded, r2m.out_and_back())


def test_the_sample_pose_file():
    path, K = load_poses(os.path.join(os.path.dirname(__file__), "..", "examples", "poses.json"))
    assert path == worldmembench.lrlr(hold=16, leg=16).path()
    assert K.tolist() == intrinsics((256, 256), 75).tolist()


EYE = np.eye(4).tolist()


def _pose_file(**fields):
    return json.dumps({"poses": [EYE], **fields})


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("{", "no JSON"),
        ("[1, 2]", "4x4 or 3x4"),
        ('{"a": 1}', "no pose file"),
        ('{"poses": [[1, 2]]}', "frame 0 must be 4x4 or 3x4 numbers"),
        ('{"poses": [[[NaN,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]]}', "not finite"),
        ('{"poses": [[[2,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]]}', "rotation"),
        ('{"0": {"K": 1}}', "extrinsic"),
        ('{"1": {"extrinsic": 1, "K": 1}}', "frame 0"),
        (json.dumps({"0": {"extrinsic": EYE}}), 'frame 0 has no "K"'),
        (json.dumps({"0": {"extrinsic": EYE, "K": "x"}}), "K of frame 0 must be 3x3"),
        ('{"0": 5}', 'frame 0 has no "extrinsic"'),
        ('{"\u00b2": 5}', "no pose file"),
        ('{"poses": "x"}', "poses must be a list"),
        ('{"poses": []}', "0 poses"),
        ('{"poses": [{}]}', "the pose of frame 0 must be 4x4 or 3x4 numbers"),
        ('{"poses": [null]}', "the pose of frame 0 must be 4x4 or 3x4 numbers"),
        (_pose_file(phases=5), "phases must be a list with one entry a frame, got 5"),
        (_pose_file(phases=[7]), "unknown phase 7"),
        (_pose_file(notes=5), "notes must be a list of texts, got 5"),
        (_pose_file(fps="x"), "fps must be a positive number, got 'x'"),
        (_pose_file(fps=10**400), "fps must be a positive number"),
        (_pose_file(K="x"), "K must be 3x3 numbers, got 'x'"),
        (_pose_file(K=[[0, 0, 0]] * 3), "K is no matrix of intrinsics"),
        (_pose_file(K=[[math.nan, 0, 0]] * 3), "K is not finite"),
    ],
)
def test_broken_pose_files(tmp_path, content, match):
    file = tmp_path / "poses.json"
    file.write_text(content)
    with pytest.raises(InvalidPath, match=match) as caught:
        load_poses(file)
    assert str(file) in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(InvalidPath, match="cannot be read"):
        load_poses(tmp_path / "nowhere.json")


def test_pose_files_have_limits(tmp_path, monkeypatch):
    file = tmp_path / "poses.json"
    file.write_text(json.dumps({"poses": [0] * 20_001}))
    with pytest.raises(InvalidPath, match="20001 poses; expected 1 to 20000"):
        load_poses(file)
    file.write_text(json.dumps(dict.fromkeys(map(str, range(20_001)), 0)))
    with pytest.raises(InvalidPath, match="20001 poses; expected 1 to 20000"):
        load_poses(file)
    monkeypatch.setattr("worldenv.poses.MAX_BYTES", 2**20)
    file.write_bytes(b" " * (2**20 + 1))
    with pytest.raises(InvalidPath, match="more than 1 MB"):
        load_poses(file)


@pytest.mark.parametrize(
    ("K", "message"),
    [
        ([[40.0, 0, 1e-9], [0, 40.0, 1e-9], [0, 0, 1]], "taken for a mistake"),
        ([[40.0, 0, 16], [0, 40.0, 1e5], [0, 0, 1]], "taken for a mistake"),
        ([[0.0, 0, 16], [0, 40.0, 12], [0, 0, 1]], "focal lengths above 0"),
        ([[40.0, 0, 0], [0, 40.0, 12], [0, 0, 1]], "no principal point"),
        ([1, 2, 3], "3x3"),
        ("x", "3x3"),
    ],
)
def test_intrinsics_of_another_scale_are_refused(video, K, message):
    path = CameraPath(np.tile(np.eye(4), (36, 1, 1)))
    with pytest.raises(InvalidVideo, match=message):
        Rollout.from_video(video, path, K=K)


def test_folder_names_are_safe():
    assert safe_folder_name("a/b/c@w:lrlr(hold=3)") == "a_b_c@w_lrlr_hold=3"
    assert safe_folder_name("../../etc") == "etc"
    assert safe_folder_name("") == "_"
    assert len(safe_folder_name("x" * 999)) == 120


def _encode(file, frames, *arguments):
    height, width = frames.shape[1:3]
    command = [ffmpeg_executable(), "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt"]
    command += ["rgb24", "-s", f"{width}x{height}", "-r", "16", "-i", "pipe:0", *arguments]
    subprocess.run([*command, str(file)], input=frames.tobytes(), check=True)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("a.mp4", ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-bf", "3", "-g", "100"]),
        ("a.webm", ["-c:v", "libvpx-vp9", "-b:v", "1M"]),
        ("a.mp4", ["-c:v", "libx265", "-pix_fmt", "yuv420p10le", "-x265-params", "log-level=none"]),
        ("a.mov", ["-c:v", "prores_ks"]),
        ("a.avi", ["-c:v", "mpeg4", "-q:v", "2"]),
        ("a.avi", ["-c:v", "mjpeg", "-q:v", "2"]),
    ],
)
def test_other_codecs_are_read_frame_for_frame(tmp_path, name, arguments):
    # A bar that moves: whatever frame is lost, doubled or reordered shows.
    frames = np.full((20, 48, 64, 3), 40, np.uint8)
    for i, frame in enumerate(frames):
        frame[:, 3 * i : 3 * i + 4] = 220
    _encode(tmp_path / name, frames, *arguments)
    read = np.stack(list(read_frames(tmp_path / name)))
    assert read.shape == frames.shape
    bars = read.astype(int).sum(axis=(1, 3))
    assert [int(np.median(np.argsort(row)[-4:])) // 3 for row in bars] == list(range(20))


def test_rotation_odd_sizes_and_uneven_times(tmp_path):
    frames = np.full((12, 33, 47, 3), 40, np.uint8)
    frames[:, :10] = 200
    plain, turned, uneven = (tmp_path / f"{name}.mp4" for name in ("plain", "turned", "uneven"))
    _encode(plain, frames, "-c:v", "libx264", "-pix_fmt", "yuv444p")
    assert np.stack(list(read_frames(plain))).shape == frames.shape
    tool = [ffmpeg_executable(), "-y", "-loglevel", "error"]
    rotate = ["-display_rotation", "90", "-i", str(plain), "-c", "copy", str(turned)]
    subprocess.run([*tool, *rotate], check=True)
    read = np.stack(list(read_frames(turned)))
    assert read.shape == (12, 47, 33, 3)
    # Turned as a player shows it: what was on top is now at the left.
    assert read[0, :, :8].mean() > 150 > read[0, :, 12:].mean()
    times = "setpts=if(lt(N\\,5)\\,N\\,4*N-15)/16/TB"
    stretch = ["-i", str(plain), "-vf", times, "-fps_mode", "vfr", "-c:v", "libx264", str(uneven)]
    subprocess.run([*tool, *stretch], check=True)
    assert len(list(read_frames(uneven))) == 12


def test_what_is_no_video_container_is_said(tmp_path):
    _encode(tmp_path / "a.gif", np.zeros((3, 32, 32, 3), np.uint8))
    with pytest.raises(InvalidVideo, match="expected mp4, mov, mkv, webm or avi"):
        list(read_frames(tmp_path / "a.gif"))

"""Recorded-v0: what was recorded comes back, nothing else does, and it scores the same."""

import json
import shutil

import gymnasium as gym
import numpy as np
import pytest
import toy_world

from worldenv import bench
from worldenv.camera import CameraPath, intrinsics, walk
from worldenv.case import Case, Target, load_case
from worldenv.env import WorldEnv
from worldenv.policies import mbench, r2m, worldmembench
from worldenv.rollout import InvalidRollout, InvalidVideo, Rollout, save_poses
from worldenv.video import VideoWriter
from worldenv.world import PlanRequired, Start, UnknownName, Unsupported
from worldenv.worlds import load_world
from worldenv.worlds.recorded import make
from worldenv.wrappers import RecordRollout, ScoreMemory

SHORT = worldmembench.lrlr(hold=4, leg=6, angle=12)
CASE = Case(id="toy/object/001", prompt="a box", targets=(Target("ball", "ball", 3),))


def played(env, **reset):
    """Walk to the end and return every chunk and the last info."""
    _, info = env.reset(**reset)
    chunks, done = [env.get_wrapper_attr("chunk")], False
    while not done:
        *_, done, info = env.step(0)
        chunks.append(env.get_wrapper_attr("chunk"))
    return chunks, info


def recorded(folder, *, seed=0, case=CASE, script=SHORT, benchmarks=None, **options):
    """Record an episode of the toy; return its chunks and the last info."""
    env = WorldEnv(toy_world.make(**options), control="plan", script=script, case=case)
    scored = ScoreMemory(env, benchmarks=benchmarks, profile="classic+truth") if benchmarks else env
    recorder = RecordRollout(scored, folder)
    chunks, info = played(recorder, seed=seed)
    return chunks, info


def video(file, frames, fps=16.0):
    """Write a lossless video."""
    writer = VideoWriter(file, (frames.shape[2], frames.shape[1]), fps)
    writer.write(frames)
    writer.close()


def yaws(degrees):
    zero = np.zeros(len(degrees))
    return CameraPath(walk(np.zeros((len(degrees), 3)), np.array(degrees), zero), fps=16.0)


def pictures(n, size=(19, 13), seed=0):
    return np.random.default_rng(seed).integers(0, 256, (n, size[1], size[0], 3), np.uint8)


@pytest.mark.parametrize("options", [{}, {"chunk": 5, "first_chunk": 3}])
def test_a_rollout_comes_back_bit_for_bit(tmp_path, options):
    chunks, _ = recorded(tmp_path / "walk", **options)
    world = make(tmp_path / "walk")
    assert world.spec.drive == "plan" and world.spec.name.endswith("(recorded)")
    back, _ = played(WorldEnv(world, script=SHORT, case=CASE), seed=0)
    assert len(back) == len(chunks)
    for mine, theirs in zip(back, chunks, strict=True):
        assert np.array_equal(mine.frames, theirs.frames)
        assert np.array_equal(mine.poses, theirs.poses)
        for key in ("pose", "depth", "ids"):
            assert np.array_equal(mine.truth[key], theirs.truth[key])
        assert list(mine.truth["state"]) == list(theirs.truth["state"])


@pytest.mark.parametrize(
    ("benchmark", "script"),
    [("worldmembench", SHORT), ("r2m", r2m.out_and_back(leg=20, distance=1.0))],
)
def test_scoring_a_recording_equals_scoring_the_original(tmp_path, benchmark, script):
    _, info = recorded(tmp_path / "walk", benchmarks=[benchmark], script=script)
    # Only the truth that the scores used was kept.
    kept = Rollout.load(tmp_path / "walk").truth
    assert benchmark != "worldmembench" or not kept.recorded("depth").all()
    env = WorldEnv(make(tmp_path / "walk"), script=script, case=CASE)
    scored = ScoreMemory(env, benchmarks=[benchmark], profile="classic+truth")
    _, again = played(RecordRollout(scored, tmp_path / "again"), seed=0)
    mine, theirs = (
        [score.to_dict() for score in i["memory_summary"].scores] for i in (again, info)
    )
    assert any(score["value"] is not None for score in mine)
    assert mine == theirs
    first, second = Rollout.load(tmp_path / "walk"), Rollout.load(tmp_path / "again")
    assert first.digest == second.digest
    for key in first.truth.keys:
        assert np.array_equal(first.truth.recorded(key), second.truth.recorded(key))
    assert second.spec.stand_in is first.spec.stand_in


def test_a_stretch_that_differs_is_named(tmp_path):
    recorded(tmp_path / "walk")
    world = make(tmp_path / "walk")
    start = Start(prompt=CASE.prompt)
    path = Rollout.load(tmp_path / "walk").target
    for off, allowed in ((0.009, True), (0.5, False)):
        poses = path.poses.copy()
        poses[7:, 0, 3] += off / 10
        poses[7:] = poses[7:] @ walk(np.zeros((1, 3)), np.array([off]), np.zeros(1))
        if allowed:
            assert len(world.reset(start, seed=0, plan=CameraPath(poses)).frames) == 1
            continue
        with pytest.raises(Unsupported, match=r"frame 7 lies 0.5 degrees and 0.05 m off .*walk"):
            world.reset(start, seed=0, plan=CameraPath(poses))
        loose = make(tmp_path / "walk", tolerance=(1.0, 0.1))
        assert len(loose.reset(start, seed=0, plan=CameraPath(poses)).frames) == 1
    with pytest.raises(Unsupported, match=f"has {len(path)} frames and the plan 5"):
        world.reset(start, seed=0, plan=path[:5])
    long = CameraPath(np.concatenate([path.poses, path.poses[-1:]]))
    with pytest.raises(Unsupported, match=f"frames and the plan {len(path) + 1}"):
        world.reset(start, seed=0, plan=long)
    with pytest.raises(PlanRequired):
        world.reset(start, seed=0, plan=None)
    with pytest.raises(Unsupported, match="reset it first"):
        world.step(path.poses[1:2])
    world.reset(start, seed=0, plan=path)
    with pytest.raises(Unsupported, match="frame 1 lies"):
        world.step(walk(np.zeros((1, 3)), np.array([90.0]), np.zeros(1)))
    with pytest.raises(Unsupported, match="another prompt"):
        world.step(path.poses[1:2], "a dragon enters")


def test_case_script_and_seed_select_the_recording(tmp_path):
    other = worldmembench.lrlr(hold=4, leg=6, angle=20)
    elsewhere = Case(id="toy/object/002", prompt="another box")
    made = {}
    for number, (case, script, seed) in enumerate(
        [(CASE, SHORT, 0), (CASE, SHORT, 1), (CASE, other, 0), (elsewhere, SHORT, 0)]
    ):
        chunks, _ = recorded(tmp_path / f"{number}", case=case, script=script, seed=seed)
        made[case.id, script.name, seed] = np.concatenate([c.frames for c in chunks])
    for (case, script, seed), frames in made.items():
        env = WorldEnv(make(tmp_path))
        chosen = {"case": CASE if case == CASE.id else elsewhere}
        chosen["script"] = SHORT if script == SHORT.name else other
        chunks, _ = played(env, seed=seed, options=chosen)
        assert np.array_equal(np.concatenate([c.frames for c in chunks]), frames)
    env = WorldEnv(make(tmp_path))
    with pytest.raises(Unsupported, match=r"no recording of this case; recorded: toy/object/001, "):
        env.reset(seed=0, options={"case": Case(id="x", prompt="a ball"), "script": SHORT})
    with pytest.raises(Unsupported, match="with seed 7; recorded seeds: 0, 1"):
        env.reset(seed=7, options={"case": CASE, "script": SHORT})
    before = make(tmp_path).spec
    shutil.copytree(tmp_path / "0", tmp_path / "twin")
    assert make(tmp_path).spec.weights_revision != before.weights_revision
    with pytest.raises(Unsupported, match=r"2 recordings are of this case.*twin"):
        WorldEnv(make(tmp_path)).reset(seed=0, options={"case": CASE, "script": SHORT})
    recorded(tmp_path / "zz", size=(32, 32), seed=5)
    with pytest.raises(Unsupported, match=r"made by another world than .* size, K differ"):
        WorldEnv(make(tmp_path)).reset(seed=5, options={"case": CASE, "script": SHORT})


def test_a_free_walk_is_played_back_along_what_was_commanded(tmp_path):
    env = RecordRollout(WorldEnv(toy_world.make(chunk=4), max_frames=13), tmp_path / "free")
    env.reset(seed=3)
    shown, done = [env.unwrapped.chunk.frames], False
    for action in (1, 5, 7):
        *_, done, _ = env.step(action)
        shown.append(env.unwrapped.chunk.frames)
    assert done
    plan = Rollout.load(tmp_path / "free").commanded
    chunks, _ = played(WorldEnv(make(tmp_path / "free"), plan=plan), seed=3)
    assert np.array_equal(np.concatenate([c.frames for c in chunks]), np.concatenate(shown))


def test_prompts_of_the_case_are_those_it_was_recorded_with(tmp_path):
    case = Case(id="toy/text/1", prompt="a box", prompts=("a box", "a lid opens"))
    script = mbench.continuation(segments=2, seconds=1.0)
    chunks, _ = recorded(tmp_path / "walk", case=case, script=script, prompt="chunk", chunk=4)
    back, _ = played(WorldEnv(make(tmp_path / "walk"), case=case, script=script), seed=0)
    assert all(np.array_equal(a.frames, b.frames) for a, b in zip(back, chunks, strict=True))


@pytest.mark.parametrize("chunk", [None, 4])
def test_plain_videos_of_odd_sizes_play_with_their_pose_files(tmp_path, chunk):
    frames, path = pictures(9), yaws([0, 1, 2, 3, 4, 3, 2, 1, 0])
    K = intrinsics((19, 13), 70)
    video(tmp_path / "a.mkv", frames)
    save_poses(path, tmp_path / "a.json", K)
    world = load_world("Recorded-v0", videos=str(tmp_path), chunk=chunk)
    assert world.spec.size == (19, 13) and np.allclose(world.spec.K, K)
    chunks, _ = played(WorldEnv(world, plan=path), seed=12)
    assert np.array_equal(np.concatenate([c.frames for c in chunks]), frames)
    assert chunks[1].truth is None and len(chunks[1].frames) == (chunk or 1)


def test_a_list_names_fps_K_case_and_seed(tmp_path):
    case = load_case("worldmembench/object/001")
    path = SHORT.path(None)
    frames = pictures(len(path))
    video(tmp_path / "a.mkv", frames)
    rows = [
        {
            "video": "a.mkv",
            "script": SHORT.name,
            "case": case.id,
            "seed": 4,
            "fps": 8,
            "K": intrinsics((19, 13), 60).tolist(),
        }
    ]
    (tmp_path / "list.json").write_text(json.dumps(rows))
    env = gym.make("worldenv:Recorded-v0", videos=str(tmp_path / "list.json"))
    assert env.unwrapped.world_spec.fps == 8
    chunks, _ = played(env, seed=4, options={"case": case, "script": SHORT})
    assert np.array_equal(np.concatenate([c.frames for c in chunks]), frames)
    with pytest.raises(Unsupported, match="recorded seeds: 4"):
        env.reset(seed=0, options={"case": case, "script": SHORT})


def test_a_video_of_no_case_is_no_case_of_a_suite(tmp_path):
    path = yaws([0, 1, 0])
    video(tmp_path / "a.mkv", pictures(3))
    save_poses(path, tmp_path / "a.json")
    env = WorldEnv(make(tmp_path, fov=70), plan=path)
    with pytest.raises(Unsupported, match="no recording of this case; recorded: no case"):
        env.reset(seed=0, options={"case": CASE, "plan": path})


def test_bench_plays_a_recorded_run_and_finds_the_same_scores(tmp_path):
    item = {"suites": ["worldmembench"], "cases": ["worldmembench/object/001"], "controls": False}
    first = bench.run(
        toy_world.make(size=(48, 48), image_start=False), **item, out=tmp_path / "run"
    )
    assert not first.failed
    # The run's floor and ceiling are rollouts of the same case, seed and path.
    episode = next((tmp_path / "run").rglob("rollout.json")).parent
    control = shutil.copytree(episode, episode.with_name(f"{episode.name}@perfect"))
    scores = json.loads((control / "scores.json").read_text())
    (control / "scores.json").write_text(json.dumps({**scores, "control": "perfect"}))
    world = {"world_options": {"videos": str(tmp_path / "run")}}
    again = bench.run("Recorded-v0", **item, **world, out=tmp_path / "again")
    assert not again.failed

    def values(results):
        return sorted(
            (r.script, r.metric, r.variant, str(r.revisit), str(r.value)) for r in results.scores
        )

    assert any(row[-1] != "None" for row in values(first))
    assert values(again) == values(first)
    other = {**item, "cases": ["worldmembench/object/002"]}
    missing = bench.run("Recorded-v0", **other, **world, out=tmp_path / "missing")
    assert missing.failed
    assert all("no recording of this case" in error for error in missing.failed.values())


@pytest.mark.slow
def test_long_videos_stream(tmp_path):
    n, size = 10_000, (128, 96)
    writer = VideoWriter(tmp_path / "a.mkv", size, 16.0)
    for i in range(0, n, 100):
        writer.write(np.full((100, size[1], size[0], 3), i // 100, np.uint8))
    writer.close()
    path = yaws(np.linspace(0, 90, n))
    save_poses(path, tmp_path / "a.json")
    import tracemalloc

    world = make(tmp_path, fov=70, chunk=99)
    tracemalloc.start()
    chunk = world.reset(Start(), seed=0, plan=path)
    seen = len(chunk.frames)
    while seen < n:
        chunk = world.step(path.poses[seen : seen + 99])
        assert chunk.frames[0, 0, 0, 0] == seen // 100
        seen += len(chunk.frames)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The whole is 368 MB; up to 256 MiB are kept before a video is known to be too long for it.
    assert peak < 290 * 2**20
    with pytest.raises(Unsupported, match=r"all been shown|has 10000 frames"):
        world.step(path.poses[-1:])


def test_what_is_wrong_with_recordings_is_said(tmp_path):
    video(tmp_path / "a.mkv", pictures(3))
    video_of = {"video": str(tmp_path / "a.mkv")}
    save_poses(yaws([0, 1, 2, 3]), tmp_path / "four.json")
    with pytest.raises(Unsupported, match="give videos="):
        gym.make("worldenv:Recorded-v0")
    for videos, message in [
        ([], "there is no recording"),
        (str(tmp_path / "a.mkv"), "for a single video"),
        ([5], "recording 0 must be a dict"),
        ([{"path": "x"}], "video of recording 0 must be a text"),
        ([{"video": "absent.mp4"}], "neither a video nor a rollout folder"),
        ([video_of], "does not say its path"),
        ([{**video_of, "script": 3}], "script of recording 0 must be a text"),
        ([{**video_of, "script": "s", "seed": -1}], "seed of recording 0"),
        ([{**video_of, "script": "s", "fps": 0}], "fps of recording 0"),
        ([{**video_of, "script": "s", "K": [[1]]}], "K of recording 0"),
        (str(tmp_path), "a.mkv has no pose file; expected a.json"),
        (7, "videos must be a list"),
    ]:
        with pytest.raises(Unsupported, match=message):
            make(videos)
    with pytest.raises(UnknownName, match="key of recording 0: 'fsp'"):
        make([{**video_of, "fsp": 3}])
    with pytest.raises(UnknownName, match="script"):
        make([{**video_of, "script": "worldmembench:nope"}])
    four = [{**video_of, "path": str(tmp_path / "four.json")}]
    with pytest.raises(Unsupported, match="comes without intrinsics; give K"):
        make(four)
    world = make(four, fov=60)
    with pytest.raises(InvalidVideo, match="has 3 frames and the path 4 poses"):
        world.reset(Start(), seed=0, plan=yaws([0, 1, 2, 3]))
    for option in ({"tolerance": 3}, {"tolerance": (-1, 0)}, {"fov": 0}, {"chunk": 0}):
        with pytest.raises(Unsupported, match=next(iter(option))):
            make(four, **option)
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(Unsupported, match="is no JSON"):
        make(tmp_path / "bad.json")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "rollout.json").write_text("{}")
    with pytest.raises(InvalidRollout, match="schema"):
        make(tmp_path / "b")
    with pytest.raises(Unsupported, match="there is no recording"):
        (tmp_path / "empty").mkdir()
        make(tmp_path / "empty")

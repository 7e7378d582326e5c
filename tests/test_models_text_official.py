"""The adapters of text models, run with small stand-ins of the official packages."""

import importlib
import os
import sys
import time

import numpy as np
import pytest
import torch
from fake_official import FILES, write

from worldenv.camera import CameraPath, walk
from worldenv.world import (
    GenerationFailed,
    Start,
    UnknownName,
    Unsupported,
    WeightsNotFound,
    check_chunk,
)

STILL = "The camera stays perfectly still on a tripod. A room."
LEFT = "The camera pans slowly to the left. A room."
RIGHT = "The camera pans slowly to the right. A room."
FAKED = ("pipeline", "utils", "omegaconf", "peft", "longcat_video", "transformers", "wan", "wan23")
FAKED += ("infworld", "run", "infer_single", "postprocess_viz")


def load(name):
    return importlib.import_module(f"worldenv.worlds.models.{name}")


def turning(spec, *signs):
    """Return the poses after reset of steps that turn right (1), left (-1) or stay (0)."""
    yaw = [0.0] * spec.reset_frames
    for step, sign in enumerate(signs):
        for _ in range(spec.chunk_at(step)):
            yaw.append(yaw[-1] + sign * spec.quantum["YAW_RIGHT"])
    return walk(np.zeros((len(yaw), 3)), yaw, np.zeros(len(yaw)))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Make a model's checkout and weights, and take back what its adapter changes."""
    before, where, path = set(sys.modules), os.getcwd(), list(sys.path)
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if _faked(name)}

    def make(name, *weights):
        write(name, tmp_path / "repo")
        (tmp_path / "weights").mkdir(exist_ok=True)
        for file in weights:
            target = tmp_path / "weights" / file
            target.parent.mkdir(parents=True, exist_ok=True)
            state = {"model._fsdp_wrapped_module.w": torch.zeros(1)}
            kinds = ("generator", "generator_ema", "generator_lora", "state_dict")
            torch.save(dict.fromkeys(kinds, state), target)
        return {"repo": str(tmp_path / "repo"), "weights": str(tmp_path / "weights")}

    yield make
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    os.chdir(where)
    sys.path[:] = path
    for name in set(sys.modules) - before:
        if _faked(name):
            del sys.modules[name]
    sys.modules.update(hidden)


def _faked(name):
    return name.split(".")[0] in FAKED


def image(spec, value=60):
    width, height = spec.size
    return np.full((height, width, 3), value, np.uint8)


def play(world, start, *signs, prompts=None, seed=5):
    """Return all chunks of an episode, each checked against the world's spec."""
    spec = world.spec
    poses = turning(spec, *signs)
    plan = CameraPath(poses, fps=spec.fps) if spec.drive == "plan" else None
    chunks = [check_chunk(world.reset(start, seed=seed, plan=plan), spec, spec.reset_frames)]
    at = spec.reset_frames
    for step in range(len(signs)):
        count = spec.chunk_at(step)
        prompt = None if prompts is None else prompts[step]
        chunk = world.step(poses[at : at + count], prompt)
        chunks.append(check_chunk(chunk, spec, count))
        # Evoke rounds its poses to float32.
        assert abs(chunk.poses - poses[at : at + count]).max() < 1e-6
        at += count
    return chunks


BLOCKS = {
    "self_forcing": ("Self-Forcing/checkpoints/self_forcing_dmd.pt",),
    "causal_forcing": ("Causal-Forcing/framewise/causal_forcing.pt",),
    "longlive": ("LongLive-1.3B/models/longlive_base.pt", "LongLive-1.3B/models/lora.pt"),
    "memflow": ("MemFlow/base.pt", "MemFlow/lora.pt"),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_are_stepped_as_in_one_call(place, name):
    module = load(name)
    world = module.official(**place(name, *BLOCKS[name]))
    spec = world.spec
    first = image(spec) if spec.image_start else None
    chunks = play(world, Start(image=first, prompt="A room."), 0, -1, -1)
    log = importlib.import_module("pipeline").LOG
    calls = [entry for entry in log if entry[0] == "call"]
    count = 1 if name == "causal_forcing" else 3
    # Two denoising steps and one that stores the clean block, at the block's place in the video.
    times = [1000.0, 500.0, 0.0]
    expected = []
    texts = [STILL, STILL, LEFT, LEFT]
    if name == "causal_forcing":
        assert (chunks[0].frames == first).all()
        expected.append((STILL, 1, 0.0, 0))
    for block, text in enumerate(texts):
        if name == "causal_forcing" and block == 0:
            continue
        expected += [(text, count, time, 10 * count * block) for time in times]
    assert [(c[1], c[2][1], c[3], c[4]) for c in calls] == expected
    assert ("load", ["model.w"]) in log
    if name in ("longlive", "memflow"):
        assert [e for e in log if e[0] == "recache"] == [("recache", 6, LEFT)]
        assert ("cache", 120) in log
        assert ("window", 12) in log
        assert importlib.import_module("peft").LOADED == [["model._fsdp_wrapped_module.w"]]
    if name == "memflow":
        assert ("bank", 30) in log
        kept = [c[5] for c in calls if c[3] == 0.0]
        # Every third block goes into the bank.
        assert [k["update_bank"] for k in kept] == [True, False, False, True]
        assert all(k["update_cache"] for k in kept)
        assert [c[5]["q_bank"] for c in calls[:3]] == [True, False, False]
    world.close()
    world.close()


def test_blocks_depend_on_the_seed_alone(place):
    module = load("self_forcing")
    world = module.official(**place("self_forcing", *BLOCKS["self_forcing"]))
    runs = [play(world, Start(prompt="A room."), 0, -1, seed=seed) for seed in (3, 3, 4)]
    frames = [np.concatenate([c.frames for c in run]) for run in runs]
    assert np.array_equal(frames[0], frames[1])
    assert not np.array_equal(frames[0], frames[2])


def test_a_new_prompt_is_said_with_the_motion(place):
    module = load("self_forcing")
    world = module.official(**place("self_forcing", *BLOCKS["self_forcing"]))
    play(world, Start(prompt="A room."), 1, 1, 1, prompts=[None, "A street.", None])
    log = importlib.import_module("pipeline").LOG
    texts = [entry[1] for entry in log if entry[0] == "call"][::3]
    street = RIGHT.replace("A room.", "A street.")
    assert texts == [STILL, RIGHT, street, street]


def test_options_reach_the_official_configuration(place):
    module = load("memflow")
    options = {"local_attn_size": 9, "bank_size": 6}
    world = module.official(**place("memflow", *BLOCKS["memflow"]), **options)
    play(world, Start(), 0)
    made = importlib.import_module("pipeline").LOG[0][1]
    assert made == {
        "timestep_shift": 5.0,
        "local_attn_size": 9,
        "sink_size": 3,
        "bank_size": 6,
        "record_interval": 3,
        "SMA": False,
    }


def test_without_a_window_an_episode_ends_after_81_frames(place):
    module = load("self_forcing")
    places = place("self_forcing", *BLOCKS["self_forcing"])
    world = module.official(**places, local_attn_size=-1)
    play(world, Start(), *[0] * 6)
    with pytest.raises(Unsupported, match="81 frames"):
        world.step(np.eye(4)[None].repeat(12, 0))


def test_absent_weights_are_named(place, tmp_path):
    world = load("self_forcing").official(**place("self_forcing"))
    with pytest.raises(WeightsNotFound, match="self_forcing_dmd"):
        world.reset(Start(), seed=0, plan=None)
    world = load("yume").official(repo=str(tmp_path / "none"), weights=str(tmp_path))
    with pytest.raises(WeightsNotFound, match="Yume-I2V-540P"):
        world.reset(Start(image=image(world.spec)), seed=0, plan=None)


def test_longlive2_gets_one_text_a_block(place):
    module = load("longlive2")
    world = module.official(**place("longlive2", "LongLive-2.0-5B/model_bf16.pt"), steps=2)
    chunks = play(world, Start(prompt="A room."), -1)
    config, texts, cleared = importlib.import_module("pipeline").LOG
    assert texts == [STILL, LEFT]
    assert cleared == "clear"
    assert config.inference == {"sampling_steps": 2, "guidance_scale": 1.0, "sink_size": 8}
    assert config.model_kwargs.local_attn_size == 32
    levels = np.concatenate([c.frames for c in chunks])[:, 0, 0, 0].astype(int)
    assert (np.diff(levels) >= 0).all()
    with pytest.raises(Unsupported, match="episode"):
        world.close()
        world.step(np.eye(4)[None])


def test_longcat_continues_from_thirteen_frames(place):
    module = load("longcat_video")
    world = module.official(**place("longcat_video", "LongCat-Video/dit"))
    first = image(world.spec)
    chunks = play(world, Start(image=first, prompt="A room."), 1, -1)
    log = importlib.import_module("longcat_video.pipeline_longcat_video").LOG
    assert log[0] == ["dit", "scheduler", "text_encoder", "tokenizer", "vae"]
    kind, size, told = log[1]
    assert (kind, size) == ("i2v", (832, 480))
    assert told["prompt"] == RIGHT
    assert (told["num_frames"], told["num_inference_steps"], told["guidance_scale"]) == (
        93,
        50,
        4.0,
    )
    assert log[2][:3] == ("vc", 93, 13)
    assert log[2][3]["prompt"] == LEFT
    assert log[2][3]["enhance_hf"] is True
    assert log[2][3]["negative_prompt"] == "no blur"
    assert [len(c.frames) for c in chunks] == [1, 92, 80]
    # The clip repeats what it is given; only what follows is new.
    assert not (chunks[1].frames == 60).all(axis=(1, 2, 3)).any()
    again = play(world, Start(image=first, prompt="A room."), 1, -1)
    assert all(np.array_equal(a.frames, b.frames) for a, b in zip(chunks, again, strict=True))


def test_longcat_distilled_has_its_own_steps(place):
    module = load("longcat_video")
    places = place(
        "longcat_video", "LongCat-Video/dit", "LongCat-Video/lora/cfg_step_lora.safetensors"
    )
    world = module.official(**places, distilled=True)
    play(world, Start(image=image(world.spec)), 0)
    told = importlib.import_module("longcat_video.pipeline_longcat_video").LOG[1][2]
    assert (told["num_inference_steps"], told["guidance_scale"]) == (16, 1.0)
    assert told["use_distill"] is True
    assert told["negative_prompt"] is None


def test_yume_appends_each_segment_to_its_history(place):
    module = load("yume")
    world = module.official(**place("yume", "Yume-I2V-540P/x"), steps=2)
    chunks = play(world, Start(image=image(world.spec), prompt="A city."), -1, 0)
    log = importlib.import_module("wan").LOG
    assert log[0][1] == "the 14B"
    said = [entry for entry in log if entry[0] in ("generate", "next")]
    prefix = "This video depicts a city walk scene with a first-person view (FPV)."
    turn = prefix + "Person stands still (·).Camera turns left (←). A city."
    stay = prefix + "Person stands still (·).Camera remains still (·). A city."
    assert said == [("generate", turn, (16, 13, 6, 8)), ("next", stay, 49, 13)]
    flows = [entry for entry in log if entry[0] == "flow"]
    # Told and untold, in each of two steps; the second segment sees 13 latents and makes 8.
    assert [f[1] for f in flows] == [turn, "", turn, "", stay, "", stay, ""]
    assert [f[2][1] for f in flows] == [13] * 4 + [21] * 4
    assert [f[3] for f in flows[::2]] == pytest.approx([1000, 750, 1000, 750])
    assert [len(c.frames) for c in chunks] == [1, 32, 32]


def test_yume15_keeps_all_latents_and_seeds_the_model(place):
    module = load("yume15")
    world = module.official(**place("yume15", "Yume-5B-720P/x"))
    start = Start(image=image(world.spec), prompt="A city.")
    chunks = play(world, start, 0, 1)
    log = importlib.import_module("wan23").LOG
    said = [entry for entry in log if entry[0] == "generate"]
    # The right caption for each segment, and a history that grows by eight latents.
    assert "stationary (·). The rotation direction" in said[0][1]
    assert said[1][1].endswith("The camera pans to the right (→). A city.")
    assert [s[2] for s in said] == [5, 13]
    assert [e[2] for e in log if e[0] == "flow"] == [13] * 4 + [21] * 4
    # Shift 7 over four steps.
    levels = [e[3] for e in log if e[0] == "flow"][:4]
    even = np.linspace(1, 0, 5)[:4]
    assert levels == pytest.approx(7 * even / (1 + 6 * even) * 1000)
    assert [len(c.frames) for c in chunks] == [1, 29, 29]
    play(world, start, 0)
    assert log[-5][0] == "generate"
    assert log[-5][3] == said[0][3]


def test_infinite_world_continues_all_frames_so_far(place):
    module = load("infinite_world")
    places = place("infinite_world", "checkpoints/infinite_world_model.ckpt")
    world = module.official(**places)
    chunks = play(world, Start(image=image(world.spec), prompt="A path."), 1, -1)
    log = importlib.import_module("infworld").LOG
    assert [e[1] for e in log if e[0] == "encode"] == [1, 81]
    assert log[0][2] == pytest.approx((60 / 255 - 0.5) * 2)
    first, second = (e for e in log if e[0] != "encode")
    assert first[:4] == (30, 7.0, ["A path."], 5.0)
    assert first[4] == [[0] * 81]
    assert first[5] == [[4] * 81]
    # The second chunk begins with the id of the last frame of the first.
    assert second[5] == [[4] + [3] * 80]
    assert [len(c.frames) for c in chunks] == [1, 80, 80]


def test_official_code_takes_seeds_of_any_size(place):
    places = place("infinite_world", "checkpoints/infinite_world_model.ckpt")
    world = load("infinite_world").official(**places)
    reset = world.reset(Start(image=image(world.spec)), seed=2**70, plan=None)
    assert len(reset.frames) == 1


def test_infinite_world_can_be_made_to_forget(place):
    module = load("infinite_world")
    places = place("infinite_world", "checkpoints/infinite_world_model.ckpt")
    world = module.official(**places, history=9)
    play(world, Start(image=image(world.spec)), 0, 0)
    log = importlib.import_module("infworld").LOG
    assert [e[1] for e in log if e[0] == "encode"] == [1, 9]


def test_wonderworld_outpaints_where_the_scene_ends(place, monkeypatch):
    # The official code reads a key that nothing here needs; twice, so that it is taken back.
    monkeypatch.setenv("OPENAI_API_KEY", "")
    monkeypatch.delenv("OPENAI_API_KEY")
    module = load("wonder_world")
    world = module.official(**place("wonder_world"))
    spec = world.spec
    reset = world.reset(Start(image=image(spec), prompt="A lake, trees"), seed=7, plan=None)
    assert (reset.frames == 60).all()
    poses = np.eye(4)[None].repeat(4, 0)
    poses[:, 2, 3] = [0.25, 0.75, 1.0, 0.0]
    levels = []
    for pose in poses:
        chunk = check_chunk(world.step(pose[None], "A wood" if pose[2, 3] == 1 else None), spec, 1)
        levels.append(int(chunk.frames[0, 0, 0, 0]))
    log = importlib.import_module("run").LOG
    assert log[0] == (7, False, "A lake, trees")
    # Only the second place, 0.75 m ahead, lies beyond what was made.
    assert log[1:] == [("generate", -0.75, "A lake, trees")]
    assert levels == [63, 127, 127, 127]
    world.step(np.array([[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 9], [0, 0, 0, 1.0]]]), "A wood")
    assert log[-1] == ("generate", -9.0, "A wood")
    # A new episode ends the loop of the one before.
    world.reset(Start(image=image(spec), prompt="A lake"), seed=8, plan=None)
    assert log[-1] == (8, False, "A lake")
    with pytest.raises(GenerationFailed, match="no sky"):
        world.reset(Start(image=image(spec), prompt="broken"), seed=0, plan=None)
    world.close()


def test_wonderworld_waits_for_what_it_asked_for(place, monkeypatch):
    module = load("wonder_world")
    world = module.official(**place("wonder_world"))
    world.reset(Start(image=image(world.spec), prompt="A lake"), seed=2**32 + 7, plan=None)
    official = importlib.import_module("run")
    assert official.LOG[0][0] == 7
    clear = world._idle.clear

    def late():
        # The official loop comes round just after the flag has been taken down.
        clear()
        time.sleep(0.2)

    monkeypatch.setattr(world._idle, "clear", late)
    chunk = world.step(np.array([[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 9], [0, 0, 0, 1.0]]]))
    assert official.LOG[1:] == [("generate", -9.0, "A lake")]
    assert chunk.frames[0, 0, 0, 0] == 127
    world.close()


def test_evoke_calls_the_engine_with_the_path_and_no_caps(place):
    module = load("evoke")
    places = place("evoke", "models/evoke/stage3_post_distillation/x")
    world = module.official(**places, geo_hist_max_frames=720)
    chunks = play(world, Start(image=image(world.spec), prompt="A valley."), 1, -1)
    args, rest, poses, intrinsics, size = importlib.import_module("infer_single").LOG[0]
    assert (args.prompt, args.seed, args.geo_hist_max_frames) == ("A valley.", "5", "720")
    # Two chunks make 72 frames, of which the engine cuts off three: a third is needed.
    assert args.num_frames == "99"
    assert poses.shape == (72, 4, 4)
    assert intrinsics.shape == (72, 3, 3)
    assert size == (640, 384)
    for flag in ("--max_deg_per_chunk", "--max_trans_per_chunk", "--pose_smooth_win"):
        assert flag not in rest
    assert rest[rest.index("--sample_type") + 1] == "i2v"
    # Frame i is seen from pose i: the first is the image, not the engine's copy of it.
    levels = np.concatenate([c.frames for c in chunks])[:, 0, 0, 0]
    assert levels.tolist() == [60, *range(1, 72)]
    with pytest.raises(GenerationFailed, match="ckpt dir missing"):
        play(world, Start(image=image(world.spec), prompt="broken"), 0)


def test_constants_are_read_out_of_scripts(tmp_path):
    from worldenv.worlds.models.adapter import literal

    file = tmp_path / "script.py"
    file.write_text("import nothing_there\n\ndef main():\n    words = 'a ' 'b'\n")
    assert literal(str(file), "words") == "a b"
    with pytest.raises(Unsupported, match="sets no other"):
        literal(str(file), "other")


@pytest.mark.parametrize("name", ["yume", "yume15", "longcat_video", "infinite_world", "evoke"])
def test_image_worlds_refuse_a_start_without_one(place, name):
    world = load(name).official(**place(name))
    plan = CameraPath(turning(world.spec, 0), fps=world.spec.fps)
    with pytest.raises(Unsupported, match="starts from an image"):
        world.reset(Start(prompt="A room."), seed=0, plan=plan)


@pytest.mark.parametrize("name", sorted(set(FILES)))
def test_a_misspelt_option_is_refused(place, name):
    with pytest.raises(UnknownName, match="option of"):
        load(name).official(**place(name), stepps=3)

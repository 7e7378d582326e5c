"""Adapters of official code, run against small stand-ins of it that record what they are given."""

import importlib
import json
import sys
import textwrap
import tomllib
from pathlib import Path

import numpy as np
import pytest

from worldenv.camera import CameraPath, walk
from worldenv.installed import Launch, save
from worldenv.world import GenerationFailed, Start, UnknownName, Unsupported, WeightsNotFound
from worldenv.worlds import load_world
from worldenv.worlds.models.control import chunk_lengths, inverse, whole_steps
from worldenv.worlds.models.driving import HeldRows, Loop, fit_image, fit_intrinsics, pixels

torch = pytest.importorskip("torch")


def model(name):
    return importlib.import_module(f"worldenv.worlds.models.{name}")


@pytest.fixture
def folders(tmp_path):
    """Return a function that writes files, and folders named with a final slash, and says where.

    Modules imported from there are forgotten afterwards, since official repositories use the same
    names.
    """
    known, paths = set(sys.modules), list(sys.path)

    def write(files, weights=()):
        for name, text in files.items():
            file = tmp_path / "repo" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text), encoding="utf-8")
        for name in weights:
            file = tmp_path / "weights" / name
            (file if name.endswith("/") else file.parent).mkdir(parents=True, exist_ok=True)
            if not name.endswith("/"):
                file.write_bytes(b"weights")
        return {"repo": str(tmp_path / "repo"), "weights": str(tmp_path / "weights")}

    yield write
    sys.path[:] = paths
    for name in set(sys.modules) - known:
        where = getattr(sys.modules[name], "__file__", None) or ""
        if where.startswith(str(tmp_path)) or name == "qwen_captioner":
            del sys.modules[name]
        elif any(str(tmp_path) in str(p) for p in getattr(sys.modules[name], "__path__", ())):
            del sys.modules[name]


def path_of(spec, frames):
    """Return a path that turns right and walks at the model's own speeds."""
    yaw = np.arange(frames) * spec.quantum["YAW_RIGHT"]
    position = np.zeros((frames, 3))
    return CameraPath(walk(position, yaw, np.zeros(frames)), fps=spec.fps)


def start_of(spec, prompt="A room.", K=None):
    width, height = spec.size
    image = np.full((height, width, 3), 7, dtype=np.uint8)
    return Start(image=image, prompt=prompt, K=K)


def drive(module, world, frames, seed=3, prompt="A room.", K=None, prompts=()):
    """Walk a path and return the chunks' frames, that of reset first."""
    spec = module.MODEL.spec
    path = path_of(spec, whole_steps(frames, spec))
    plan = path if spec.drive == "plan" else None
    chunk = world.reset(start_of(spec, prompt, K), seed=seed, plan=plan)
    assert chunk.frames.dtype == np.uint8 and len(chunk.frames) == 1
    made, end = [chunk.frames], 1
    whole = module.decode(module.compile(path)).poses
    for i, length in enumerate(chunk_lengths(len(path), spec)):
        text = prompts[i] if i < len(prompts) else None
        chunk = world.step(path.poses[end : end + length], text)
        assert len(chunk.frames) == len(chunk.poses) == length
        assert abs(chunk.poses - whole[end : end + length]).max() < 1e-9
        end += length
        made.append(chunk.frames)
    return made, path


def numbers(made):
    """Return the grey value of each frame after the first: stand-ins draw the frame's number."""
    return [int(frame[0, 0, 0]) for frames in made[1:] for frame in frames]


WORLDPLAY = {
    "hyvideo/__init__.py": "",
    "hyvideo/commons/__init__.py": "",
    "hyvideo/pipelines/__init__.py": "",
    "hyvideo/commons/parallel_states.py": """
        CALLS = []
        def initialize_parallel_state(sp=1):
            import os
            assert os.environ["MASTER_ADDR"] and os.environ["RANK"] == "0"
            CALLS.append(sp)
    """,
    "hyvideo/commons/infer_state.py": """
        CALLS = []
        def initialize_infer_state(args):
            CALLS.append((args.sage_blocks_range, args.use_sageattn, args.enable_torch_compile,
                          args.use_fp8_gemm, args.quant_type, args.use_vae_parallel))
    """,
    "hyvideo/pipelines/worldplay_video_pipeline.py": """
        import types, numpy, torch
        from PIL import Image
        MADE, CALLS = [], []
        class HunyuanVideo_1_5_Pipeline:
            @classmethod
            def create_pipeline(cls, **given):
                MADE.append(given)
                return cls()
            def __call__(self, **given):
                given["image"] = numpy.asarray(Image.open(given["reference_image"]))
                given["draw"] = torch.rand(1).item()
                CALLS.append(given)
                frames = given["video_length"]
                assert given["viewmats"].shape == (1, (frames - 1) // 4 + 1, 4, 4)
                video = torch.arange(frames) / 255 + 0.5 / 255
                video = video[None, None, :, None, None].expand(1, 3, frames, 4, 6)
                return types.SimpleNamespace(videos=video)
    """,
}
WORLDPLAY_WEIGHTS = (
    "HunyuanVideo-1.5/",
    "HY-WorldPlay/ar_distilled_action_model/model.safetensors",
)


@pytest.fixture
def alone(monkeypatch):
    """No rank is named, and what an adapter names is taken back."""
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def test_worldplay_gives_poses_shares_and_labels_of_the_whole_path(folders, alone):
    module = model("worldplay")
    places = folders(WORLDPLAY, WORLDPLAY_WEIGHTS)
    world = module.official(**places)
    made, path = drive(module, world, 20)
    assert numbers(made) == list(range(1, 29))
    fake = sys.modules["hyvideo.pipelines.worldplay_video_pipeline"]
    (call,), (pipe,) = fake.CALLS, fake.MADE
    assert (call["video_length"], call["seed"], call["num_inference_steps"]) == (29, 3, 4)
    assert (call["few_step"], call["chunk_latent_frames"], call["model_type"]) == (True, 4, "ar")
    assert (call["user_height"], call["user_width"]) == (480, 832)
    assert call["prompt"] == "A room." and call["prompt_rewrite"] is False
    assert (call["image"] == 7).all() and call["image"].shape == (480, 832, 3)
    assert abs(call["viewmats"][0].numpy() - inverse(path.poses[::4])).max() < 1e-12
    assert call["Ks"].shape == (1, 8, 3, 3) and call["Ks"].dtype == torch.float64
    assert call["action"].tolist() == [[0] + [1] * 7]
    assert pipe["action_ckpt"].endswith("ar_distilled_action_model/model.safetensors")
    assert pipe["transformer_version"] == "480p_i2v"
    assert sys.modules["hyvideo.commons.parallel_states"].CALLS == [1]
    # Equal seeds give the memory equal points; the model is loaded once.
    drive(module, world, 20)
    drive(module, world, 20, seed=4)
    draws = [call["draw"] for call in fake.CALLS]
    assert draws[0] == draws[1] != draws[2]
    assert len(fake.MADE) == 1
    world.close()


def test_worldplay_takes_the_many_steps_of_the_undistilled_weights(folders, alone):
    module = model("worldplay")
    places = folders(
        WORLDPLAY,
        ("HunyuanVideo-1.5/", "HY-WorldPlay/ar_model/diffusion_pytorch_model.safetensors"),
    )
    world = module.official(**places, few_step=False)
    drive(module, world, 2)
    fake = sys.modules["hyvideo.pipelines.worldplay_video_pipeline"]
    assert fake.CALLS[0]["num_inference_steps"] == 50
    assert "/ar_model/" in fake.MADE[0]["action_ckpt"]


WAN = {
    "wan/__init__.py": "",
    "wan/generate.py": """
        import os, numpy, torch
        MADE, CALLS = [], []
        class Pipe:
            def __call__(self, **given):
                self.left = 0
                given["image_there"] = os.path.exists(given["image_path"])
                given["draw"] = torch.rand(1).item()
                CALLS.append(given)
                self.chunk = given["chunk_i"]
            def decode_next_latent(self, output_type):
                assert output_type == "np"
                latent = 4 * self.chunk + self.left
                self.left += 1
                numbers = [0] if latent == 0 else range(4 * latent - 3, 4 * latent + 1)
                rows = (numpy.array(list(numbers)) + 0.5) / 255
                return rows[None, :, None, None, None] * numpy.ones((1, 1, 4, 6, 3))
        class WanRunner:
            def __init__(self, model_id, ckpt_path, ar_model_path):
                MADE.append((model_id, ckpt_path, ar_model_path, os.environ["WORLD_SIZE"]))
                self.pipe = Pipe()
    """,
}
WAN_WEIGHTS = (
    "Wan2.2-TI2V-5B-Diffusers/",
    "HY-WorldPlay/wan_distilled_model/model.pt",
    "HY-WorldPlay/wan_transformer/",
)


def test_worldplay_wan_steps_four_latent_frames_at_a_time(folders, alone):
    module = model("worldplay_wan")
    world = module.official(**folders(WAN, WAN_WEIGHTS), window=20)
    made, path = drive(module, world, 30)
    assert [len(frames) for frames in made] == [1, 12, 16, 16]
    assert numbers(made) == list(range(1, 45))
    assert (made[0] == 7).all()
    calls = sys.modules["wan.generate"].CALLS
    assert [call["chunk_i"] for call in calls] == [0, 1, 2]
    for i, call in enumerate(calls):
        assert (
            abs(call["viewmats"][0].numpy() - inverse(path.poses[::4])[4 * i : 4 * i + 4]).max()
            < 1e-12
        )
        assert call["Ks"].shape == (1, 4, 3, 3)
        assert call["action"].tolist() == [[0, 1, 1, 1] if i == 0 else [1] * 4]
        assert call["image_there"] and call["use_memory"] is True
        assert call["context_window_length"] == 20
        assert (call["height"], call["width"], call["num_frames"]) == (704, 1280, 961)
        assert call["few_step"] is True and call["guidance_scale"] == 1.0
    drive(module, world, 2)
    assert calls[3]["draw"] == calls[0]["draw"]
    assert len(sys.modules["wan.generate"].MADE) == 1
    world.close()
    assert not Path(calls[0]["image_path"]).exists()


def test_worldplay_wan_says_when_its_buffer_is_full(folders, alone):
    module = model("worldplay_wan")
    world = module.official(**folders(WAN, WAN_WEIGHTS), max_frames=13)
    with pytest.raises(GenerationFailed, match="max_frames=29"):
        drive(module, world, 14)


MATRIX2 = {
    "Matrix-Game-2/pipeline/__init__.py": "",
    "Matrix-Game-2/pipeline/causal_inference.py": """
        import numpy, torch
        CALLS = []
        def get_current_action(mode="universal"):
            raise RuntimeError("nobody is at the keyboard")
        def process_video(frames, path, *rest, **named):
            raise RuntimeError("nothing is to be written")
        class Streaming:
            def inference(self, noise, conditional_dict, return_latents, output_folder, name, mode):
                done = 0
                for block in range(noise.shape[2] // 3):
                    action = get_current_action(mode=mode)
                    count = 9 if block == 0 else 12
                    end = 1 + 4 * (3 * block + 2)
                    for key in ("mouse", "keyboard"):
                        held = action[key][None, None, :].repeat(1, count, 1)
                        conditional_dict[key + "_cond"][:, end - count : end] = held
                    CALLS.append({k: v.clone() for k, v in conditional_dict.items()})
                    CALLS[-1]["noise"] = noise
                    video = numpy.arange(done, done + count, dtype=numpy.uint8)
                    video = video[:, None, None, None] * numpy.ones((1, 4, 6, 3), numpy.uint8)
                    done += count
                    process_video(video, output_folder + f"/{name}_current.mp4", None, "mouse.png",
                                  mouse_scale=0.1, process_icon=False, mode=mode)
                    if input("Continue?").strip() == "n":
                        break
                process_video(video, output_folder + f"/{name}.mp4", None, "mouse.png")
    """,
    "Matrix-Game-2/inference_streaming.py": """
        import types, numpy, torch
        from pipeline.causal_inference import Streaming
        MADE = []
        class InteractiveGameInference:
            device, weight_dtype = torch.device("cpu"), torch.float32
            def __init__(self, args):
                MADE.append(args)
                self.pipeline = Streaming()
                clip = types.SimpleNamespace(encode_video=lambda video: video.mean().reshape(1, 1))
                self.vae = types.SimpleNamespace(encode=self.encode, clip=clip)
            def frame_process(self, image):
                assert image.size == (640, 352)
                return torch.as_tensor(numpy.array(image)).permute(2, 0, 1) / 127.5 - 1
            def encode(self, video, device, tiled, tile_size, tile_stride):
                assert tiled and (tile_size, tile_stride) == ([44, 80], [23, 38])
                assert not video[:, :, 1:].any()
                return torch.zeros(1, 16, (video.shape[2] - 1) // 4 + 1, 44, 80)
    """,
}
MATRIX2_WEIGHTS = ("Matrix-Game-2.0/base_distilled_model/base_distill.safetensors",)


def test_matrix_game2_gives_each_frame_its_own_keys(folders):
    module = model("matrix_game2")
    world = module.official(**folders(MATRIX2, MATRIX2_WEIGHTS), max_latents=9)
    made, _ = drive(module, world, 30)
    assert [len(frames) for frames in made] == [1, 8, 12, 12]
    assert numbers(made) == list(range(1, 33))
    assert (made[0] == 7).all()
    calls = sys.modules["pipeline.causal_inference"].CALLS
    assert calls[-1]["mouse_cond"].shape == (1, 33, 2)
    assert calls[-1]["mouse_cond"][0].numpy() == pytest.approx(np.tile([0, 0.1], (33, 1)))
    assert not calls[-1]["keyboard_cond"].any()
    assert not calls[0]["mouse_cond"][0, 9:].any()
    assert calls[0]["cond_concat"].shape == (1, 20, 9, 44, 80)
    assert calls[0]["cond_concat"][0, :4, 0].all() and not calls[0]["cond_concat"][0, :4, 1:].any()
    # A second episode draws the same noise from the same seed, and a closed one is left for good.
    drive(module, world, 2)
    assert torch.equal(calls[0]["noise"], calls[3]["noise"])
    drive(module, world, 2, seed=4)
    assert not torch.equal(calls[0]["noise"], calls[4]["noise"])
    (arguments,) = sys.modules["inference_streaming"].MADE
    assert arguments.config_path.endswith("inference_universal.yaml")
    world.close()
    world.close()


def test_matrix_game2_says_when_its_loop_has_ended(folders):
    module = model("matrix_game2")
    world = module.official(**folders(MATRIX2, MATRIX2_WEIGHTS), max_latents=3)
    with pytest.raises(GenerationFailed, match="came to its end"):
        drive(module, world, 20)
    with pytest.raises(GenerationFailed, match="has ended"):
        world.step(path_of(module.MODEL.spec, 33).poses[9:21])
    world.close()


MATRIX3 = {
    "Matrix-Game-3/wan/__init__.py": "",
    "Matrix-Game-3/wan/configs.py": "WAN_CONFIGS = {'matrix_game3': 'configuration'}",
    "Matrix-Game-3/pipeline/__init__.py": "",
    "Matrix-Game-3/pipeline/inference_interactive_pipeline.py": """
        import numpy, torch
        MADE, CALLS = [], []
        def get_current_action():
            raise RuntimeError("nobody is at the keyboard")
        def process_video(frames, path, *rest, **named):
            raise RuntimeError("nothing is to be written")
        class MatrixGame3Pipeline:
            def __init__(self, **given):
                MADE.append(given)
            def generate(self, text, image, max_area, shift, num_inference_steps, guide_scale, seed,
                         use_base_model, args):
                done = 0
                for clip in range(args.num_iterations):
                    count = 57 if clip == 0 else 40
                    action = get_current_action()
                    CALLS.append({
                        "keyboard": action["keyboard"].repeat(count, 1),
                        "mouse": action["mouse"].repeat(count, 1),
                        "text": text, "seed": seed, "steps": num_inference_steps,
                        "size": args.size, "image": image.size, "area": max_area,
                    })
                    video = numpy.arange(done, done + count, dtype=numpy.uint8)
                    video = video[:, None, None, None] * numpy.ones((1, 4, 6, 3), numpy.uint8)
                    done += count
                    process_video(video, f"out/{args.save_name}_current_iteration_{clip}.mp4", None,
                                  "mouse.png", mouse_scale=0.2)
                process_video(video, f"out/{args.save_name}.mp4", None, "mouse.png")
    """,
}


def test_matrix_game3_gives_each_frame_of_a_clip_its_own_keys(folders):
    module = model("matrix_game3")
    world = module.official(**folders(MATRIX3, ("Matrix-Game-3.0/",)))
    made, path = drive(module, world, 60)
    assert [len(frames) for frames in made] == [1, 56, 40]
    assert numbers(made) == list(range(1, 97))
    fake = sys.modules["pipeline.inference_interactive_pipeline"]
    assert [call["mouse"].shape for call in fake.CALLS] == [(57, 2), (40, 2)]
    assert [call["keyboard"].shape for call in fake.CALLS] == [(57, 6), (40, 6)]
    rows = torch.cat([call["mouse"] for call in fake.CALLS]).numpy()
    assert rows == pytest.approx(module.compile(path)["mouse"])
    assert fake.CALLS[0]["size"] == "704*1280" and fake.CALLS[0]["image"] == (1280, 704)
    assert (fake.CALLS[0]["seed"], fake.CALLS[0]["steps"]) == (3, 3)
    assert fake.CALLS[0]["text"] == "A room."
    assert fake.MADE[0]["config"] == "configuration"
    assert fake.MADE[0]["args"].lightvae_pruning_rate == 0.75
    world.close()


MATRIX35 = {
    "infer.py": """
        import json, pathlib
        def build_input_workspace(args, tmp_root):
            assert (args.person, args.camera_convention) == ("first", "c2w")
            workspace = pathlib.Path(tmp_root) / "workspace"
            workspace.mkdir()
            (workspace / "inputs.json").write_text(json.dumps(vars(args)))
            if pathlib.Path(args.prompt_file).read_text() == "ERROR":
                raise SystemExit("ERROR")
            return str(workspace)
        def build_index(workspace, python, environment):
            assert environment["DA3_MODEL_PATH"].endswith("DA3NESTED-GIANT-LARGE-1.1")
            return str(pathlib.Path(workspace) / "index.sqlite")
    """,
    "infer_distilled.py": """
        import pathlib, sys
        ROOT = pathlib.Path(__file__).parent
        def build_command(args, *, workspace, dataset_index, wan_dir, tokenizer_dir, tmp_root,
                          output):
            return [sys.executable, str(ROOT / "tools/run_distilled_inference.py"),
                    str(args.config), str(workspace), str(output), str(args.checkpoint)]
    """,
    "tools/run_distilled_inference.py": """
        import json, pathlib, shutil, numpy
        from examples.wanvideo.pipeline.mosaic import causal_inference
        def main(argv):
            config, workspace, output, checkpoint = map(pathlib.Path, argv)
            config = json.loads(config.read_text())
            inputs = json.loads((workspace / "inputs.json").read_text())
            keep = pathlib.Path(__file__).parents[1]
            shutil.copy(inputs["camera"], keep / "camera.npz")
            record = {"config": config, "prompt": pathlib.Path(inputs["prompt_file"]).read_text()}
            (keep / "record.json").write_text(json.dumps(record))
            if config["seed"] == 13:
                return 3
            frames = numpy.arange(1 + 84 * config["num_blocks"], dtype=numpy.uint8)
            causal_inference._write_video(str(output), [numpy.full((4, 6, 3), f) for f in frames])
            return 0
    """,
    "examples/wanvideo/pipeline/mosaic/causal_inference.py": """
        def _write_video(path, frames, fps=16, quality=5):
            raise RuntimeError("frames would be lost")
    """,
}
MATRIX35_WEIGHTS = (
    "Wan2.2-TI2V-5B/google/umt5-xxl/",
    "DA3NESTED-GIANT-LARGE-1.1/",
    "Matrix-Game-3.5-Distilled/first-person.safetensors",
)


def test_matrix_game35_hands_over_files_and_gets_arrays_back(folders):
    module = model("matrix_game35")
    places = folders(MATRIX35, MATRIX35_WEIGHTS)
    world = module.official(**places, memory_mode="empty")
    K = np.array([[700.0, 0, 640], [0, 700, 352], [0, 0, 1]])
    made, path = drive(module, world, 90, K=K)
    assert numbers(made) == list(range(1, 97))
    camera = np.load(Path(places["repo"]) / "camera.npz")
    assert camera["extrinsics_c2w"].shape == (169, 4, 4)
    assert camera["extrinsics_c2w"][90] == pytest.approx(path.poses[90], abs=1e-6)
    assert camera["intrinsics"][0].tolist() == [700, 700, 640, 352]
    record = json.loads((Path(places["repo"]) / "record.json").read_text())
    assert record["prompt"] == "A room."
    assert record["config"]["num_blocks"] == 2 and record["config"]["seed"] == 3
    assert record["config"]["memory_mode"] == "empty"
    with pytest.raises(GenerationFailed, match="status 3"):
        drive(module, world, 2, seed=13)
    with pytest.raises(Unsupported, match="needs a prompt"):
        drive(module, world, 2, prompt=None)
    with pytest.raises(GenerationFailed, match="refused its inputs: ERROR"):
        drive(module, world, 2, prompt="ERROR")


LINGBOT = {
    "wan/__init__.py": """
        import os, numpy, torch
        MADE, CALLS = [], []
        class Causal:
            device = "cpu"
            def __init__(self, **given):
                MADE.append((type(self).__name__, given))
                self.model = self
                self.place = None
            def to(self, device):
                self.place = device
            def generate(self, prompt, image, **given):
                assert self.place == "cpu" or type(self) is WanI2V
                self.place = None
                given["poses"] = numpy.load(os.path.join(given["action_path"], "poses.npy"))
                given["K"] = numpy.load(os.path.join(given["action_path"], "intrinsics.npy"))
                CALLS.append((prompt, image.size, given))
                frames = len(given["poses"])
                assert frames == given["frame_num"] and frames % 4 == 1
                video = (torch.arange(frames) + 0.5) / 127.5 - 1
                return video[None, :, None, None].expand(3, frames, 4, 6)
        class WanI2V(Causal):
            def generate(self, prompt, image, vis_ui=True, **given):
                assert not vis_ui, "keys would be drawn over the frames"
                return super().generate(prompt, image, **given)
        class WanI2VFast(Causal):
            pass
        class WanI2VCausal(Causal):
            pass
    """,
    "wan/configs.py": "WAN_CONFIGS = {'i2v-A14B': 'configuration'}",
}


@pytest.mark.parametrize(
    ("name", "kind", "folder", "frames", "given"),
    [
        ("lingbot_world", "WanI2V", "lingbot-world-base-cam", 21, {"sampling_steps": 70}),
        ("lingbot_world_fast", "WanI2VFast", "lingbot-world-base-cam", 21, {"chunk_size": 3}),
        (
            "lingbot_world2",
            "WanI2VCausal",
            "lingbot-world-v2-14b-causal-fast",
            29,
            {"chunk_size": 4},
        ),
    ],
)
def test_lingbot_reads_whole_chunks_of_poses(folders, name, kind, folder, frames, given):
    module = model(name)
    world = module.official(**folders(LINGBOT, (folder + "/",)))
    made, path = drive(module, world, 19)
    assert numbers(made) == list(range(1, frames))
    fake = sys.modules["wan"]
    prompt, size, call = fake.CALLS[0]
    assert (prompt, size, call["seed"], call["max_area"]) == ("A room.", (832, 464), 3, 399360)
    assert len(call["poses"]) == frames
    assert abs(call["poses"] - path.poses).max() == 0
    assert call["K"][0] == pytest.approx([502.9, 502.9 * 480 / 464, 416, 240])
    assert {key: call[key] for key in given} == given
    assert fake.MADE[0][0] == kind and fake.MADE[0][1]["config"] == "configuration"
    if name != "lingbot_world":
        assert fake.MADE[0][1]["local_attn_size"] == module.MODEL.options["local_attn_size"]
    K = np.array([[400.0, 0, 416], [0, 400, 232], [0, 0, 1]])
    drive(module, world, 2, K=K)
    assert fake.CALLS[1][2]["K"][0] == pytest.approx([400, 400 * 480 / 464, 416, 240])


SANA = {
    "inference_video_scripts/__init__.py": "",
    "inference_video_scripts/wm/__init__.py": "",
    "pyrallis.py": """
        import types
        def parse(config_class, config_path, args):
            return types.SimpleNamespace(vae=types.SimpleNamespace(), path=config_path)
    """,
    "inference_video_scripts/wm/inference_sana_wm.py": """
        import types, numpy
        MADE, CALLS = [], []
        class InferenceConfig:
            pass
        GenerationParams = RefinerSettings = types.SimpleNamespace
        class SanaWMPipeline:
            def __init__(self, **given):
                MADE.append(given)
            def generate_streaming(self, image, prompt, c2w, intrinsics, params, *, output_path,
                                   output_mode, decoded_chunk_callback):
                CALLS.append((image.size, prompt, c2w, intrinsics, params, output_mode))
                assert params.num_frames == len(c2w) and params.num_frames % 24 == 1
                for first in range(1, params.num_frames, 24):
                    part = numpy.arange(first, first + 24, dtype=numpy.uint8)
                    part = part[:, None, None, None] * numpy.ones((1, 704, 1280, 3), numpy.uint8)
                    decoded_chunk_callback(part, first // 24, 0)
    """,
}


def test_sana_streaming_puts_the_image_before_its_frames(folders):
    module = model("sana_wm_streaming")
    world = module.official(**folders(SANA, ("SANA-WM_streaming/",)), num_cached_blocks=-1)
    made, path = drive(module, world, 3)
    assert (made[0] == 7).all()
    assert numbers(made) == list(range(1, 25))
    fake = sys.modules["inference_video_scripts.wm.inference_sana_wm"]
    size, prompt, c2w, intrinsics, params, mode = fake.CALLS[0]
    assert (size, prompt, mode) == ((1280, 704), "A room.", "cpu")
    assert c2w == pytest.approx(path.poses, abs=1e-6)
    assert intrinsics[0] == pytest.approx([914.013, 914.013, 640, 352], abs=1e-2)
    assert params.denoising_step_list == [1000, 960, 889, 727, 0]
    assert (params.seed, params.num_cached_blocks, params.sink_token) == (3, -1, True)
    assert (params.sampling_algo, params.num_frame_per_block) == ("self_forcing", 3)
    assert fake.MADE[0]["config"].vae.vae_type == "LTX2VAE_diffusers_causal"
    assert fake.MADE[0]["refiner"].kv_max_frames == 11


LYRA = {
    "Lyra-2/gui/api/lyra_persistent.py": """
        import os, types, numpy, torch
        from qwen_captioner import DEFAULT_QWEN_MODEL, QwenCaptioner
        MADE, CALLS = [], []
        class Lyra2PersistentModel:
            def __init__(self, *, checkpoint_path, output_root, qwen_model=DEFAULT_QWEN_MODEL):
                self.captioner = QwenCaptioner(model_name=qwen_model, device="cuda")
                self.args = types.SimpleNamespace(
                    seed=int(os.environ.get("LYRA_GUI_SEED", 1)), disable_cache_update=False,
                    num_sampling_step=int(os.environ["LYRA_GUI_SAMPLING_STEPS"]),
                    predicted=os.environ["LYRA_GUI_DA3_USE_PREDICTED_POSE"])
                self.manual_prompt, self.manual_t5 = "", None
                MADE.append(self)
            def seed_model_from_values(self, **given):
                CALLS.append(("seed", given, self.args.seed))
                self.done = 1
                return {"focal_lengths": numpy.array([[500.0, 501.0]]),
                        "principal_points": numpy.array([[0.5, 0.5]])}
            def inference_on_cameras(self, w2c, K, *, fps, save_buffer, request_id):
                assert self.manual_prompt, "the captioner would be called"
                if self.manual_t5 is None:
                    self.manual_t5 = "embedding of " + self.manual_prompt
                CALLS.append(("step", w2c, K, self.manual_t5))
                frames = torch.arange(self.done, self.done + len(w2c))
                self.done += len(w2c)
                self._save_chunk(None, fps=fps, request_id=request_id)
                self._rebuild_full_video()
                video = ((frames + 0.5) / 127.5 - 1)[None, :, None, None, None]
                return {"video_no_overlap": video.expand(1, len(w2c), 3, 4, 6)}
            def _save_chunk(self, video, **named):
                raise RuntimeError("nothing is to be written")
            def _rebuild_full_video(self):
                raise RuntimeError("nothing is to be written")
            def clear_cache(self):
                CALLS.append(("clear",))
    """,
}


def test_lyra_steps_80_frames_with_its_own_intrinsics_and_given_prompts(folders, monkeypatch):
    for name in ("SAMPLING_STEPS", "GUIDANCE", "SHIFT", "USE_DMD", "RETRIEVAL_VIEWS"):
        monkeypatch.setenv(f"LYRA_GUI_{name}", "")
    monkeypatch.setenv("LYRA_GUI_DA3_USE_PREDICTED_POSE", "")
    module = model("lyra2")
    places = folders(LYRA, ("Lyra-2.0/checkpoints/",))
    world = module.official(**places, update_cache=False)
    made, path = drive(module, world, 100, prompts=(None, "A garden."))
    assert [len(frames) for frames in made] == [1, 80, 80]
    assert numbers(made) == list(range(1, 161))
    fake = sys.modules["lyra_persistent"]
    assert (fake.MADE[0].args.num_sampling_step, fake.MADE[0].args.predicted) == (35, "0")
    assert fake.MADE[0].args.disable_cache_update is True
    assert (Path(places["repo"]) / "Lyra-2/checkpoints").samefile(
        Path(places["weights"]) / "Lyra-2.0/checkpoints"
    )
    kind, seeded, seed = fake.CALLS[0]
    assert (kind, seed) == ("seed", 3)
    assert seeded["images_np"].shape == (1, 448, 768, 3)
    assert seeded["world_to_cameras_np"].tolist() == np.eye(4)[None].tolist()
    steps = [call for call in fake.CALLS if call[0] == "step"]
    assert [call[3] for call in steps] == ["embedding of A room.", "embedding of A garden."]
    assert abs(np.concatenate([call[1] for call in steps]) - inverse(path.poses[1:])).max() < 1e-12
    assert steps[0][2][7].tolist() == [[500, 0, 384], [0, 501, 224], [0, 0, 1]]
    # No prompt must not wake the captioner.
    drive(module, world, 2, prompt=None)
    world.close()
    assert fake.CALLS[-1] == ("clear",)


DREAMX = {
    "omegaconf.py": """
        class OmegaConf:
            load = staticmethod(lambda path: {str(path).rsplit("/", 1)[1]: True})
            merge = staticmethod(lambda *parts: {k: v for part in parts for k, v in part.items()})
    """,
    "utils/__init__.py": "",
    "utils/postprocess.py": """
        def postprocess_video_frames(video, reference_frame, color_correction_strength):
            assert color_correction_strength == 1.0 and reference_frame.shape == (4, 6, 3)
            return video
    """,
    "inference_ar_forcing.py": """
        import types, torch
        MADE, CALLS = [], []
        class Part:
            def to(self, **place):
                return self
        class Pipe(Part):
            def __init__(self):
                self.text_encoder = self.generator = Part()
                self.vae = Part()
                self.vae.model = types.SimpleNamespace(clear_cache=lambda: None)
                self.vae.encode_to_latent = self.encode
            def encode(self, image):
                assert image.shape == (1, 3, 1, 704, 1280)
                return torch.full((1, 1, 48, 44, 80), float(image.mean()))
            def inference(self, noise, text_prompts, y, y_camera):
                CALLS.append((noise, text_prompts, y_camera))
                frames = 4 * (noise.shape[1] - 1) + 1
                video = (torch.arange(frames) + 0.5)[None, :, None, None, None] / 255
                return video.expand(1, frames, 3, 4, 6)
        def load_pipeline(args, config, device):
            MADE.append((args, config))
            return Pipe()
    """,
}


def test_dreamx_gives_each_token_the_pose_of_its_latent_frame(folders):
    module = model("dreamx_world")
    places = folders(DREAMX, ("DreamX-World-5B/model.safetensors", "Wan2.2-TI2V-5B/"))
    world = module.official(**places)
    made, path = drive(module, world, 15)
    assert numbers(made) == list(range(1, 21))
    fake = sys.modules["inference_ar_forcing"]
    noise, prompts, camera = fake.CALLS[0]
    native = module.compile(path)
    assert noise.shape == (1, 6, 48, 44, 80) and prompts == ["A room."]
    assert noise[0, 0].float().numpy() == pytest.approx(7 / 127.5 - 1, abs=1e-2)
    assert camera["viewmats"].shape == (1, 6 * 880, 4, 4)
    views = camera["viewmats"].float().reshape(6, 880, 4, 4)
    assert (views == views[:, :1]).all()
    assert views[:, 0].numpy() == pytest.approx(native["viewmats"], abs=1e-2)
    assert camera["K"].shape == (1, 6 * 880, 3, 3)
    assert fake.MADE[0][0].base_checkpoint_path.endswith("DreamX-World-5B/model.safetensors")
    drive(module, world, 15)
    assert torch.equal(fake.CALLS[1][0], noise)


DREAMX_CAM = {
    "inference_dreamx5b.py": """
        import argparse, os, types, torch
        MADE, CALLS = [], []
        def parse_args():
            parser = argparse.ArgumentParser()
            for name in ("model_name", "transformer_path", "input_dir", "output_dir", "cam_method"):
                parser.add_argument("--" + name)
            parser.add_argument("--add_control_adapter", action="store_true")
            parser.add_argument("--negative_prompt", default="bad")
            return parser.parse_args()
        def pipe(prompt, **given):
            given["image_there"] = os.path.exists(given["start_image"])
            CALLS.append((prompt, given))
            frames = given["num_frames"]
            video = (torch.arange(frames) + 0.5)[None, None, :, None, None] / 255
            return types.SimpleNamespace(videos=video.expand(1, 3, frames, 4, 6))
        def setup_models(args):
            MADE.append(args)
            return pipe, "device", "dtype", "config", "vae", 0.875
    """,
}


def test_dreamx_cam_gives_the_poses_of_latent_frames(folders):
    module = model("dreamx_world_cam")
    before = list(sys.argv)
    places = folders(DREAMX_CAM, ("DreamX-World-5B-Cam/", "Wan2.2-TI2V-5B/"))
    world = module.official(**places)
    made, path = drive(module, world, 10)
    assert numbers(made) == list(range(1, 13))
    fake = sys.modules["inference_dreamx5b"]
    prompt, call = fake.CALLS[0]
    camera = call["control_camera_video"]
    assert (prompt, call["num_frames"], call["negative_prompt"]) == ("A room.", 13, "bad")
    assert (call["height"], call["width"], call["boundary"]) == (704, 1280, 0.875)
    assert call["generator"].initial_seed() == 3 and call["image_there"]
    assert camera["viewmats"].numpy() == pytest.approx(inverse(path.poses[::4]), abs=1e-6)
    assert camera["K"].shape == (4, 3, 3) and camera["K"].dtype == torch.float32
    assert sys.argv == before


ADAPTERS = (
    "worldplay",
    "worldplay_wan",
    "matrix_game2",
    "matrix_game3",
    "matrix_game35",
    "lingbot_world",
    "lingbot_world_fast",
    "lingbot_world2",
    "sana_wm_streaming",
    "lyra2",
    "dreamx_world",
    "dreamx_world_cam",
)


@pytest.mark.parametrize("name", ADAPTERS)
def test_recipes_name_the_adapter_and_folders_of_weights_that_it_reads(name):
    module = model(name)
    root = Path(module.__file__).parents[1]
    recipe = tomllib.loads((root / "recipes" / f"{module.MODEL.id}.toml").read_text("utf-8"))
    assert recipe["adapter"] == f"{module.__name__}:official"
    assert recipe["repo"]["url"].startswith("https://github.com/")
    source = Path(module.__file__).read_text("utf-8")
    for weights in recipe["weights"]:
        folder = weights.get("folder") or weights["hub"].split("/")[1]
        assert folder.split("/")[0] in source


@pytest.mark.parametrize("name", ADAPTERS)
def test_what_is_not_there_is_named(name, folders):
    module = model(name)
    with pytest.raises(UnknownName, match="option"):
        module.official(repo="nowhere", weights="nowhere", no_such_option=1)
    world = module.official(repo="nowhere", weights="nowhere")
    spec = module.MODEL.spec
    with pytest.raises(WeightsNotFound, match=f"nowhere.*worldenv setup {module.MODEL.id}-v0"):
        world.reset(start_of(spec), seed=0, plan=path_of(spec, 2))
    with pytest.raises(Unsupported, match="starts from an image"):
        world.reset(Start(prompt="A room."), seed=0, plan=path_of(spec, 2))
    world.close()
    world.close()


def test_folders_may_be_given_from_where_one_is(folders, tmp_path, monkeypatch):
    module = model("lingbot_world")
    folders(LINGBOT, ("lingbot-world-base-cam/",))
    monkeypatch.chdir(tmp_path)
    made, _ = drive(module, module.official(repo="repo", weights="weights"), 5)
    assert numbers(made) == list(range(1, 5))
    assert Path.cwd() == tmp_path


def test_code_that_cannot_be_imported_is_named(folders):
    module = model("lingbot_world")
    places = folders({"README.md": "no code"}, ("lingbot-world-base-cam/",))
    world = module.official(**places)
    with pytest.raises(WeightsNotFound, match="the module wan, which cannot be imported"):
        world.reset(start_of(module.MODEL.spec), seed=0, plan=path_of(module.MODEL.spec, 2))


def test_a_world_that_takes_one_prompt_an_episode_refuses_another(folders):
    module = model("lingbot_world")
    world = module.official(**folders(LINGBOT, ("lingbot-world-base-cam/",)))
    path = path_of(module.MODEL.spec, 5)
    world.reset(start_of(module.MODEL.spec), seed=0, plan=path)
    with pytest.raises(Unsupported, match="no prompt between chunks"):
        world.step(path.poses[1:5], "A garden.")


def test_an_image_of_another_shape_is_scaled_to_cover_and_cut_about_its_centre():
    pytest.importorskip("PIL")
    target = model("lyra2").MODEL
    # 1536 wide at the model's height: a third of the width is cut off either side.
    image = np.zeros((224, 768, 3), dtype=np.uint8)
    image[:, 192:576] = 200
    K = np.array([[300.0, 0, 384], [0, 300, 112], [0, 0, 1]])
    start = Start(image=image, K=K)
    fitted = fit_image(start, target)
    assert fitted.shape == (448, 768, 3)
    assert (fitted[:, 20:-20] == 200).all()
    assert fit_intrinsics(start, target) == pytest.approx(
        np.array([[600.0, 0, 384], [0, 600, 224], [0, 0, 1]])
    )
    assert (fit_intrinsics(Start(), target) == target.spec.intrinsics()).all()


def test_pixels_reads_any_order_of_axes_and_range():
    video = torch.linspace(-1, 1, 5)[None, None, :, None, None].expand(1, 3, 5, 2, 4)
    frames = pixels(video, "BCTHW")
    assert frames.shape == (5, 2, 4, 3) and frames.dtype == np.uint8
    assert frames[:, 0, 0, 0].tolist() == [0, 63, 127, 191, 255]
    assert (pixels(frames, "THWC") == frames).all()
    assert pixels(np.full((1, 1, 1, 3), 2.0), "THWC", low=0.0).max() == 255
    with pytest.raises(GenerationFailed, match="expected axes"):
        pixels(frames, "BCTHW")


def test_a_loop_that_breaks_says_how():
    def run(loop):
        loop.give(np.array([loop.ask()]))
        raise ValueError("out of memory")

    loop = Loop(run)
    assert loop.step(5).tolist() == [5]
    with pytest.raises(GenerationFailed, match="ValueError: out of memory"):
        loop.step(6)
    loop.close()


def test_a_loop_ends_although_it_swallows_exceptions():
    def run(loop):
        while True:
            try:
                loop.ask()
            except Exception:
                continue

    loop = Loop(run)
    loop.close()
    assert not loop._thread.is_alive()


def test_held_rows_refuse_another_number_of_frames():
    rows = HeldRows(torch.zeros(9, 2))
    assert rows[None, None, :].repeat(1, 9, 1).shape == (1, 9, 2)
    assert rows.repeat(9, 1).shape == (9, 2)
    with pytest.raises(GenerationFailed, match="12 frames where 9"):
        rows.repeat(12, 1)


def test_a_model_that_is_set_up_runs_in_a_process_of_its_own(folders, tmp_path, monkeypatch):
    monkeypatch.setenv("WORLDENV_HOME", str(tmp_path / "home"))
    module = model("lingbot_world")
    code = LINGBOT["wan/__init__.py"].replace("frames, 4, 6)", "frames, 464, 832)")
    places = folders({**LINGBOT, "wan/__init__.py": code}, ("lingbot-world-base-cam/",))
    save("LingBotWorld", Launch(sys.executable, f"{module.__name__}:official", **places))
    world = load_world("LingBotWorld-v0", steps=20)
    made, _ = drive(module, world, 9)
    world.close()
    assert numbers(made) == list(range(1, 9))
    assert made[0].shape == (1, 464, 832, 3)

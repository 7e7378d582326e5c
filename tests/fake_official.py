"""Small stand-ins of official packages, which note what they are given."""

import json
from pathlib import Path

CONFIG = json.dumps(
    {
        "denoising_step_list": [1000, 500],
        "context_noise": 0,
        "num_frame_per_block": 3,
        "model_kwargs": {"timestep_shift": 5.0},
        "adapter": {"rank": 1},
        "image_or_video_shape": [1, 128, 48, 44, 80],
    }
)

OMEGACONF = """
import json

class Config(dict):
    __getattr__ = dict.__getitem__

def _wrap(value):
    return Config({k: _wrap(v) for k, v in value.items()}) if isinstance(value, dict) else value

def _merge(a, b):
    out = dict(a)
    for key, value in b.items():
        out[key] = _merge(out.get(key, {}), value) if isinstance(value, dict) else value
    return out

class OmegaConf:
    @staticmethod
    def load(file):
        return _wrap(json.load(open(file)))

    @staticmethod
    def merge(*parts):
        out = {}
        for part in parts:
            out = _merge(out, part)
        return _wrap(out)

    @staticmethod
    def to_container(config, resolve=True):
        return dict(config)
"""

# A pipeline of the Self-Forcing family, whose "network" halves what it is given.
BLOCKS = """
import types
import torch

LOG = []

class Vae(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.primed = False

    @property
    def model(self):
        return self

    def clear_cache(self):
        LOG.append(("clear",))
        self.primed = False

    def encode_to_latent(self, pixels):
        assert pixels.shape == (1, 3, 1, 480, 832) and pixels.min() >= -1 and pixels.max() <= 1
        return pixels.mean() * torch.ones(1, 1, 16, 60, 104)

    def decode_to_pixel(self, latents, use_cache=False):
        assert use_cache
        count = 0
        for _ in range(latents.shape[1]):
            count += 4 if self.primed else 1
            self.primed = True
        value = (20 * latents.float().mean()).clamp(-1, 1)
        return value.expand(1, count, 3, 480, 832)

class Generator(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.model = types.SimpleNamespace(local_attn_size=0)

    def load_state_dict(self, state):
        LOG.append(("load", sorted(state)))

    def forward(self, noisy_image_or_video, conditional_dict, timestep, kv_cache,
                crossattn_cache, current_start, **more):
        if not crossattn_cache[0]["is_init"]:
            crossattn_cache[0].update(is_init=True, text=conditional_dict["text"])
        LOG.append(("call", crossattn_cache[0]["text"], tuple(noisy_image_or_video.shape[:2]),
                    float(timestep[0, 0]), current_start, dict(sorted(
                        (k, v) for k, v in more.items() if isinstance(v, bool)))))
        return None, noisy_image_or_video * 0.5

class CausalInferencePipeline(torch.nn.Module):
    def __init__(self, config, device):
        super().__init__()
        self.args = config
        self.generator = Generator(config)
        self.vae = Vae()
        self.local_attn_size = config.model_kwargs.local_attn_size
        self.num_frame_per_block = config.num_frame_per_block
        self.frame_seq_length = 10
        self.denoising_step_list = torch.tensor([1000.0, 500.0])
        self.bank_size = config.model_kwargs.get("bank_size", 0)
        self.record_interval = config.model_kwargs.get("record_interval", 0)
        self.scheduler = types.SimpleNamespace(add_noise=lambda x, noise, time: x + 0.1 * noise)
        LOG.append(("made", dict(config.model_kwargs)))

    def text_encoder(self, text_prompts):
        (text,) = text_prompts
        return {"text": text}

    def _initialize_kv_cache(self, batch_size, dtype, device, kv_cache_size_override=None):
        self.kv_cache1 = [{}]
        LOG.append(("cache", kv_cache_size_override))

    def _initialize_crossattn_cache(self, batch_size, dtype, device):
        self.crossattn_cache = [{"is_init": False}]

    def _initialize_kv_bank(self, batch_size, dtype, device, kv_bank1_size):
        self.kv_bank1 = [{}]
        LOG.append(("bank", kv_bank1_size))

    def _set_all_modules_max_attention_size(self, size):
        LOG.append(("window", size))

    def _recache_after_switch(self, output, start, words):
        assert output.shape[1] == start
        self.crossattn_cache[0]["is_init"] = False
        LOG.append(("recache", start, words["text"]))

InteractiveCausalInferencePipeline = CausalInferencePipeline
"""

LONGLIVE2 = """
import types
import torch

LOG = []

class CausalDiffusionInferencePipeline(torch.nn.Module):
    def __init__(self, config, device):
        super().__init__()
        self.generator = torch.nn.Module()
        self.generator.model = torch.nn.Linear(1, 1)
        self.vae = types.SimpleNamespace(model=self)
        LOG.append(config)

    def clear_cache(self):
        LOG.append("clear")

    def inference(self, noise, text_prompts):
        (texts,) = text_prompts
        assert noise.dtype == torch.bfloat16 and noise.shape[2:] == (48, 44, 80)
        assert noise.shape[1] == 8 * len(texts)
        LOG.append(texts)
        count = 4 * noise.shape[1] - 3
        level = torch.linspace(0, 1, count) * 0.5 + noise.float().mean()
        return level.view(1, count, 1, 1, 1).expand(1, count, 3, 704, 1280)
"""

LONGCAT = """
import numpy as np
import torch

LOG = []

class LongCatVideoPipeline:
    def __init__(self, **parts):
        LOG.append(sorted(parts))
        self.dit = parts["dit"]

    def to(self, device):
        self.device = device

    def _make(self, first, generator):
        frames = torch.rand(93, 1, 1, 1, generator=generator).numpy() * np.ones((1, 480, 832, 3))
        frames[: len(first)] = np.stack([np.asarray(f) for f in first]) / 255
        return frames[None]

    def generate_i2v(self, image, generator, **more):
        LOG.append(("i2v", image.size, more))
        return self._make([image], generator)

    def generate_vc(self, video, num_cond_frames, generator, **more):
        LOG.append(("vc", len(video), num_cond_frames, more))
        return self._make(video[-num_cond_frames:], generator)
"""

LOADABLE = """
class {name}:
    @classmethod
    def from_pretrained(cls, folder, **more):
        return cls()

    def load_lora(self, file, name):
        self.lora = name

    def enable_loras(self, names):
        assert names == [self.lora]
"""

YUME = """
import torch

LOG = []

class Network(torch.nn.Module):
    def forward(self, latents, t, rand_num_img, context):
        LOG.append(("flow", context, tuple(latents[0].shape), float(t[0])))
        return torch.ones_like(latents[0]) * (0.1 if context else 0.0), None

class Vae:
    def encode(self, videos):
        return [v.mean() * torch.ones(16, 1 + (v.shape[1] - 1) // 4, 6, 8) for v in videos]

    def decode(self, latents):
        (z,) = latents
        level = z.mean(dim=(0, 2, 3)).clamp(-1, 1)
        level = torch.cat([level[:1], level[1:].repeat_interleave(4)])
        return [level.view(1, -1, 1, 1).expand(3, len(level), 544, 960)]

class Yume:
    def __init__(self, config, checkpoint_dir, device):
        self.model = Network()
        LOG.append(("made", config, checkpoint_dir))

    def init_model(self, config, checkpoint_dir, device_id, t5_cpu):
        self.device = torch.device("cpu")
        self.vae = Vae()

    def _told(self, text):
        return {"context": text}, {"context": ""}

    def generate(self, pixels, device, text, image, **more):
        assert pixels.shape == (3, 49, 544, 960) and image.size == (960, 544)
        assert (pixels[:, :17] == pixels[:, :1]).all() and not pixels[:, 17:].any()
        known = torch.cat(self.vae.encode([pixels[:, :-32], pixels[:, -32:]]), 1)
        LOG.append(("generate", text, tuple(known.shape)))
        told, untold = self._told(text)
        return None, None, told, torch.randn_like(known), known, "seen", untold

    def generate_next(self, pixels, latents, device, text, image, clip_context, **more):
        assert clip_context == "seen"
        LOG.append(("next", text, pixels.shape[1], latents.shape[1]))
        told, untold = self._told(text)
        return None, None, told, None, latents, clip_context, untold
"""

YUME15 = """
import torch

LOG = []

class Network(torch.nn.Module):
    def forward(self, latents, t, context, seq_len):
        known = latents[0].shape[1] - 8
        per = (latents[0].shape[2] // 2) * (latents[0].shape[3] // 2)
        assert t.shape == (1, seq_len) and not t[0, : known * per].any()
        LOG.append(("flow", context, latents[0].shape[1], float(t[0, -1])))
        return [latents[0] * 0.1]

class Vae:
    def encode(self, videos):
        return [v.mean() * torch.ones(48, 1 + (v.shape[1] - 1) // 4, 4, 6) for v in videos]

    def decode(self, latents):
        (z,) = latents
        assert z.shape[1] == 8
        return [z.mean().clamp(-1, 1).expand(3, 29, 704, 1280)]

class Yume:
    def __init__(self, config, checkpoint_dir, device_id):
        self.model, self.vae, self.device = Network(), Vae(), torch.device("cpu")

    def generate(self, text, img, frame_num, max_area, latent_frame_zero, seed):
        count = (frame_num - 1) // 4 + 1
        assert count == img.shape[1] + 8 and max_area == 704 * 1280 and latent_frame_zero == 8
        LOG.append(("generate", text, img.shape[1], seed))
        noise = torch.randn(48, count, 4, 6, generator=torch.Generator().manual_seed(seed))
        mask = torch.ones_like(noise)
        mask[:, :-8] = 0
        given = torch.cat([img, torch.zeros(48, 8, 4, 6)], 1)
        told = {"context": text, "seq_len": count * 6}
        return told, None, noise, [mask], [given]
"""

INFINITE = """
import types
import torch

LOG = []

class Vae(torch.nn.Module):
    out_channels = 16

    def __init__(self, vae_pth):
        super().__init__()

    def encode(self, video):
        LOG.append(("encode", video.shape[2], float(video.min())))
        return torch.zeros(1, 16, 1 + (video.shape[2] - 1) // 4, 2, 4)

    def decode(self, latents):
        count = 4 * latents.shape[2] - 3
        return latents.mean().expand(1, 3, count, 448, 896)

class Text:
    output_dim, model_max_length = 8, 512

    def __init__(self, device, checkpoint_path):
        self.t5 = types.SimpleNamespace(model=torch.nn.Linear(1, 1))

class Scheduler:
    def __init__(self, shift):
        self.shift = shift

    def sample(self, model, z_size, prompts, guidance_scale, additional_args, negative_prompts,
               **more):
        assert negative_prompts == ["no crowds"]
        LOG.append((self.num_sampling_steps, self.shift, prompts, guidance_scale,
                    additional_args["move"].tolist(), additional_args["view"].tolist()))
        return torch.randn(z_size).clamp(-1, 1)

class Transformer(torch.nn.Module):
    def __init__(self, **sizes):
        super().__init__()
        self.y_embedder = torch.nn.Linear(1, 1)
"""

INFINITE_CONFIG = json.dumps(
    {
        "vae_target": "Vae",
        "vae_cfg": {"vae_pth": "x"},
        "text_encoder_target": "Text",
        "text_encoder_cfg": {"checkpoint_path": "x"},
        "scheduler_target": "Scheduler",
        "val_scheduler_cfg": {"shift": 7.0},
        "model_target": "Transformer",
        "model_cfg": {"dim": 8},
        "checkpoint_path": "checkpoints/infinite_world_model.ckpt",
        "amp_dtype": "bfloat16",
    }
)

WONDER = """
import os
import time
import types
import numpy as np
import torch

LOG = []
KEY = os.environ["OPENAI_API_KEY"]
xyz_scale = 1000
background = None
view_matrix = None
keep_rendering = True
scene_dict = {}
opt = None
gaussians = []

class Camera:
    @staticmethod
    def get_camera_by_js_view_matrix(view, xyz_scale):
        assert len(view) == 16 and xyz_scale == 1000
        return view

def convert_pt3d_cam_to_3dgs_cam(camera, xyz_scale):
    return camera

def render(camera, gaussians, opt, background, render_visible):
    # What lies more than half a metre from a place that was made is uncovered.
    near = any(abs(camera[14] - made) < 0.5 for made in gaussians)
    share = torch.ones(1, 10, 10) if near else torch.zeros(1, 10, 10)
    return {"render": torch.full((3, 512, 512), 0.25 * len(gaussians)), "final_opacity": share}

def run(config):
    global kf_gen, keep_rendering, scene_dict
    np.random.seed(config["seed"])
    example = load_example_yaml(config["example_name"], "examples/examples.yaml")
    LOG.append((config["seed"], config["use_gpt"], example["content_prompt"]))
    if example["content_prompt"] == "broken":
        raise RuntimeError("no sky")
    kf_gen = Camera()
    gaussians[:] = [0.0]
    scene_dict = {"scene_name": example["content_prompt"]}
    while True:
        while keep_rendering:
            time.sleep(0.05)
        LOG.append(("generate", view_matrix[14], scene_dict["scene_name"]))
        time.sleep(0.1)
        gaussians.append(view_matrix[14])
        keep_rendering = True
"""

EVOKE = """
import argparse
import numpy as np
from PIL import Image

LOG = []

def main(argv):
    from postprocess_viz import run_postprocess

    parser = argparse.ArgumentParser()
    names = "lingbot_pose_path image_path prompt seed num_frames output_folder"
    for name in names.split():
        parser.add_argument("--" + name)
    parser.add_argument("--geo_hist_max_frames")
    args, rest = parser.parse_known_args(argv)
    if args.prompt == "broken":
        raise SystemExit("[geo-infer] FATAL: ckpt dir missing")
    path = np.load(args.lingbot_pose_path)
    LOG.append((args, rest, path["cam_c2w"], path["intrinsics"], Image.open(args.image_path).size))
    count = 36 * -(-int(args.num_frames) // 33) - 3
    level = np.arange(count, dtype=np.uint8)[:, None, None, None]
    run_postprocess(args.output_folder, level * np.ones((1, 384, 640, 3), np.uint8), {})
"""

FILES = {
    "self_forcing": {
        "configs/default_config.yaml": CONFIG,
        "configs/self_forcing_dmd.yaml": CONFIG,
        "pipeline/__init__.py": BLOCKS,
    },
    "causal_forcing": {
        "configs/default_config.yaml": CONFIG,
        "configs/causal_forcing_dmd_framewise.yaml": CONFIG.replace(
            '"num_frame_per_block": 3', '"num_frame_per_block": 1'
        ),
        "pipeline/__init__.py": BLOCKS,
    },
    "longlive": {
        "configs/longlive_interactive_inference.yaml": CONFIG,
        "pipeline/__init__.py": BLOCKS,
        "pipeline/interactive_causal_inference.py": "from pipeline import *\n",
    },
    "memflow": {
        "configs/interactive_inference.yaml": CONFIG,
        "pipeline/__init__.py": BLOCKS,
        "pipeline/interactive_causal_inference.py": "from pipeline import *\n",
    },
    "longlive2": {
        "configs/inference.yaml": CONFIG,
        "pipeline/__init__.py": LONGLIVE2,
        "utils/__init__.py": "",
        "utils/config.py": "def normalize_config(config):\n    return config\n",
        "utils/inference_utils.py": "def load_generator_checkpoint(generator, file):\n"
        "    generator.file = file\n",
    },
    "longcat_video": {
        "longcat_video/__init__.py": "",
        "run_demo_interactive_video.py": "def generate():\n    negative_prompt = 'no blur'\n",
        "longcat_video/pipeline_longcat_video.py": LONGCAT,
        "longcat_video/context_parallel/__init__.py": "",
        "longcat_video/context_parallel/context_parallel_util.py": "def init_context_parallel("
        "context_parallel_size, global_rank, world_size):\n    pass\n\ndef get_cp_size():\n"
        "    return 1\n\ndef get_optimal_split(size):\n    return None\n",
        "longcat_video/modules/__init__.py": "",
        "longcat_video/modules/autoencoder_kl_wan.py": LOADABLE.format(name="AutoencoderKLWan"),
        "longcat_video/modules/longcat_video_dit.py": LOADABLE.format(
            name="LongCatVideoTransformer3DModel"
        ),
        "longcat_video/modules/scheduling_flow_match_euler_discrete.py": LOADABLE.format(
            name="FlowMatchEulerDiscreteScheduler"
        ),
        "transformers/__init__.py": LOADABLE.format(name="AutoTokenizer")
        + LOADABLE.format(name="UMT5EncoderModel"),
    },
    "yume": {
        "wan/__init__.py": YUME,
        "wan/configs.py": "WAN_CONFIGS = {'i2v-14B': 'the 14B'}\n",
    },
    "yume15": {
        "wan23/__init__.py": YUME15,
        "wan23/configs.py": "WAN_CONFIGS = {'ti2v-5B': 'the 5B'}\n",
    },
    "infinite_world": {
        "configs/infworld_config.yaml": INFINITE_CONFIG,
        "infworld/__init__.py": INFINITE,
        "scripts/infworld_inference.py": "NEGATIVE_PROMPT = 'no crowds'\n",
        "infworld/context_parallel/__init__.py": "",
        "infworld/context_parallel/context_parallel_util.py": "",
        "infworld/utils/__init__.py": "",
        "infworld/utils/prepare_dataloader.py": "import infworld\n\n"
        "def get_obj_from_str(name):\n    return getattr(infworld, name)\n",
    },
    "wonder_world": {
        "config/base-config.yaml": "{}",
        "config/example.yaml": "{}",
        "run.py": WONDER,
    },
    "evoke": {
        "scripts/inference/infer_single.py": EVOKE,
        "scripts/inference/postprocess_viz.py": "def run_postprocess(*_):\n    raise OSError\n",
    },
}
SHARED = {
    "omegaconf.py": OMEGACONF,
    "peft.py": "LOADED = []\n\ndef set_peft_model_state_dict(model, state):\n"
    "    LOADED.append(sorted(state))\n",
}
LORA = {
    "utils/__init__.py": "",
    "utils/lora_utils.py": "def configure_lora_for_model(model, model_name, lora_config, "
    "is_main_process):\n    return model\n",
}


def write(name: str, folder: Path) -> None:
    """Write the stand-in of a model's official code into a folder."""
    files = {**SHARED, **FILES[name]}
    if name in ("longlive", "memflow"):
        files |= LORA
    for file, text in files.items():
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

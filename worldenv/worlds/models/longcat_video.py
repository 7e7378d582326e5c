"""LongCat-Video: clips of 93 frames, each begun on the last thirteen of the one before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from worldenv.camera import intrinsics
from worldenv.world import Start, World, WorldSpec
from worldenv.worlds.models import open_model
from worldenv.worlds.models.adapter import (
    enter,
    literal,
    one_rank,
    places,
    weights_file,
)
from worldenv.worlds.models.control import intrinsic_rows
from worldenv.worlds.models.driving import (
    RECORDED,
    chosen_options,
    fit_image,
)
from worldenv.worlds.models.model import Frames, Model, ModelWorld, Native
from worldenv.worlds.models.text import SENTENCES, CaptionControl, nominal, twist_limit

__all__ = ["MODEL", "compile", "decode", "make", "official"]

FOV = 60.0
SIZE = (832, 480)
CLIP = 93
OVERLAP = 13
CHUNK = CLIP - OVERLAP
# 30 degrees and one metre a clip: slow, as a caption held for five seconds asks for.
_QUANTUM = nominal(CHUNK, 30.0, 1.0)

SPEC = WorldSpec(
    name="LongCat-Video",
    size=SIZE,
    K=intrinsic_rows(intrinsics(SIZE, FOV)),
    K_exactness="nominal",
    fps=15.0,
    chunk=CHUNK,
    first_chunk=CLIP - 1,
    drive="stream",
    quantum=_QUANTUM,
    max_twist=twist_limit(_QUANTUM),
    image_start=True,
    prompt="chunk",
    pose_exactness="nominal",
    state="reanchored",
    held=True,
    licence="MIT",
    citation="Meituan LongCat team, LongCat-Video technical report (arXiv 2510.22200)",
)

_CONTROL = CaptionControl(SPEC)
compile = _CONTROL.compile
decode = _CONTROL.decode

MODEL = Model(
    id="LongCatVideo",
    title="LongCat-Video (13.6B, 480p)",
    spec=SPEC,
    compile=compile,
    decode=decode,
    quantum=_CONTROL.quantum,
    control="captions",
    options={"steps": 50, "guidance": 4.0, "distilled": False},
    verified=RECORDED,
)


def make(**options: Any) -> World:
    """Return LongCatVideo-v0, or with ``stand_in=True`` its stand-in; options as in ``MODEL``."""
    return open_model(MODEL, options)


def settings(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options; the distilled model has the steps and guidance it was made for."""
    made_for = {"steps": 16, "guidance": 1.0} if options.get("distilled") else {}
    return {**MODEL.options, **made_for, **options}


class Continued(ModelWorld):
    """LongCat-Video: each step is a clip that the official pipeline continues from the last one.

    Args:
        options: Options of the model that differ from its defaults.
        load: Returns the official pipeline and the text that the official demo forbids; called at
            the first reset.
    """

    def __init__(self, options: Mapping[str, Any], load: Callable[[], tuple[Any, str]]) -> None:
        super().__init__(MODEL, options)
        self._load = load
        self._pipeline: Any = None
        self._forbidden = ""
        self._generator: Any = None
        self._clip: np.ndarray | None = None
        self._scene: str | None = None

    def begin(self, start: Start, seed: int, native: Native | None) -> Frames:
        """Return the image that the first clip starts from."""
        import torch

        image = fit_image(start, self.model)
        if self._pipeline is None:
            self._pipeline, self._forbidden = self._load()
        # One generator runs through all clips, as in the authors' demo.
        self._generator = torch.Generator(device=self._pipeline.device)
        self._generator.manual_seed(seed)
        self._clip, self._scene = image[None], start.prompt
        return image[None], None

    def advance(self, native: Native, poses: np.ndarray, prompt: str | None) -> Frames:
        """Return the new frames of the next clip."""
        from PIL import Image

        assert self._clip is not None
        if prompt is not None:
            self._scene = prompt
        chosen = settings(self.options)
        shared = {
            "prompt": SENTENCES.prompt(native["captions"][-1], self._scene),
            "negative_prompt": None if chosen["distilled"] else self._forbidden,
            "resolution": "480p",
            "num_frames": CLIP,
            "num_inference_steps": chosen["steps"],
            "use_distill": chosen["distilled"],
            "guidance_scale": chosen["guidance"],
            "generator": self._generator,
        }
        given = [Image.fromarray(frame) for frame in self._clip]
        known = 1 if len(given) == 1 else OVERLAP
        if len(given) == 1:
            made = self._pipeline.generate_i2v(image=given[0], **shared)[0]
        else:
            made = self._pipeline.generate_vc(
                video=given,
                num_cond_frames=OVERLAP,
                use_kv_cache=True,
                offload_kv_cache=False,
                enhance_hf=not chosen["distilled"],
                **shared,
            )[0]
        frames = (np.asarray(made) * 255).astype(np.uint8)
        # The official pipeline may round the size; its own demo resizes as here.
        self._clip = np.stack(
            [
                np.asarray(Image.fromarray(frame).resize(self.spec.size, Image.Resampling.BICUBIC))
                for frame in frames
            ]
        )
        return self._clip[known : known + len(poses)], None

    def close(self) -> None:
        """Free the model; may be called twice."""
        super().close()
        self._pipeline = self._clip = self._generator = None


def official(*, repo: str, weights: str, **options: Any) -> World:
    """Return LongCat-Video by its official code, in the model's own environment.

    Args:
        repo: Checkout of meituan-longcat/LongCat-Video.
        weights: Folder with ``LongCat-Video``.
        options: Options of ``MODEL``.
    """
    chosen_options(MODEL, options)
    repo, weights = places(repo, weights)
    chosen = settings(options)

    def load() -> tuple[Any, str]:
        folder = weights_file(weights, "LongCat-Video")
        enter(repo, weights)
        one_rank()
        import torch
        from longcat_video.context_parallel import context_parallel_util as parallel
        from longcat_video.modules.autoencoder_kl_wan import AutoencoderKLWan
        from longcat_video.modules.longcat_video_dit import LongCatVideoTransformer3DModel
        from longcat_video.modules.scheduling_flow_match_euler_discrete import (
            FlowMatchEulerDiscreteScheduler,
        )
        from longcat_video.pipeline_longcat_video import LongCatVideoPipeline
        from transformers import AutoTokenizer, UMT5EncoderModel

        parallel.init_context_parallel(context_parallel_size=1, global_rank=0, world_size=1)
        half = {"torch_dtype": torch.bfloat16}
        pipeline = LongCatVideoPipeline(
            tokenizer=AutoTokenizer.from_pretrained(folder, subfolder="tokenizer", **half),
            text_encoder=UMT5EncoderModel.from_pretrained(folder, subfolder="text_encoder", **half),
            vae=AutoencoderKLWan.from_pretrained(folder, subfolder="vae", **half),
            scheduler=FlowMatchEulerDiscreteScheduler.from_pretrained(
                folder, subfolder="scheduler", **half
            ),
            dit=LongCatVideoTransformer3DModel.from_pretrained(
                folder,
                subfolder="dit",
                cp_split_hw=parallel.get_optimal_split(parallel.get_cp_size()),
                **half,
            ),
        )
        if chosen["distilled"]:
            lora = weights_file(folder, "lora", "cfg_step_lora.safetensors")
            pipeline.dit.load_lora(lora, "cfg_step_lora")
            pipeline.dit.enable_loras(["cfg_step_lora"])
        pipeline.to("cuda" if torch.cuda.is_available() else "cpu")
        return pipeline, literal(f"{repo}/run_demo_interactive_video.py", "negative_prompt")

    return Continued(options, load)

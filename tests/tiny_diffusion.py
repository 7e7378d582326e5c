"""Tiny random models with the parts of the real ones, saved as their checkpoints are."""

import contextlib
import json
import shutil
from pathlib import Path

import diffusers
import tokenizers
import torch
import transformers

WIDTH = 32
"""Width of every text encoder."""


@contextlib.contextmanager
def one_thread():
    """Let torch work alone: sharing layers this small takes five times as long."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def tokenizer():
    """Return a tokenizer of bytes."""
    letters = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    words = {word: i for i, word in enumerate(["<pad>", "<s>", "</s>", "<unk>", *letters])}
    model = tokenizers.Tokenizer(tokenizers.models.BPE(words, [], unk_token="<unk>"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made = transformers.PreTrainedTokenizerFast(
        tokenizer_object=model,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        unk_token="<unk>",
    )
    made.chat_template = (
        "{% for m in messages %}{% for c in m.content %}{{ c.text }}{% endfor %}{% endfor %}"
    )
    return made


def umt5():
    config = transformers.UMT5Config(
        vocab_size=320,
        d_model=WIDTH,
        d_kv=8,
        d_ff=32,
        num_layers=1,
        num_heads=2,
    )
    return transformers.UMT5EncoderModel(config)


def wan_vae():
    return diffusers.AutoencoderKLWan(
        base_dim=3,
        z_dim=16,
        dim_mult=[1, 1, 1, 1],
        num_res_blocks=1,
        temperal_downsample=[False, True, True],
    )


def save(folder, kind, parts):
    """Write components and their index, as ``save_pretrained`` of a pipeline does."""
    folder = Path(folder)
    index = {"_class_name": kind, "_diffusers_version": diffusers.__version__}
    for name, part in parts.items():
        part.save_pretrained(str(folder / name))
        library = type(part).__module__.split(".")[0]
        index[name] = [library, type(part).__name__]
    (folder / "model_index.json").write_text(json.dumps(index))
    return folder


def helios(folder):
    torch.manual_seed(1)
    transformer = diffusers.HeliosTransformer3DModel(
        num_attention_heads=2,
        attention_head_dim=12,
        in_channels=16,
        out_channels=16,
        text_dim=WIDTH,
        freq_dim=16,
        ffn_dim=32,
        num_layers=1,
        rope_dim=(4, 4, 4),
        has_multi_term_memory_patch=True,
    )
    parts = {
        "tokenizer": tokenizer(),
        "text_encoder": umt5(),
        "transformer": transformer,
        "vae": wan_vae(),
        "scheduler": diffusers.HeliosScheduler(stages=1, stage_range=[0, 1]),
    }
    return save(folder, "HeliosPipeline", parts)


def skyreels_v2(folder):
    torch.manual_seed(2)
    transformer = diffusers.SkyReelsV2Transformer3DModel(
        num_attention_heads=2,
        attention_head_dim=12,
        in_channels=16,
        out_channels=16,
        text_dim=WIDTH,
        freq_dim=16,
        ffn_dim=32,
        num_layers=1,
        inject_sample_info=True,
    )
    parts = {
        "tokenizer": tokenizer(),
        "text_encoder": umt5(),
        "transformer": transformer,
        "vae": wan_vae(),
        "scheduler": diffusers.UniPCMultistepScheduler(
            prediction_type="flow_prediction", use_flow_sigmas=True, flow_shift=8.0
        ),
    }
    return save(folder, "SkyReelsV2DiffusionForcingPipeline", parts)


def cosmos_predict25(folder):
    """Save a model without the padding mask that the real one scales by torchvision."""
    torch.manual_seed(3)
    layers = 2
    encoder = transformers.Qwen2_5_VLForConditionalGeneration(
        transformers.Qwen2_5_VLConfig(
            text_config=dict(
                hidden_size=16,
                intermediate_size=32,
                num_hidden_layers=layers,
                num_attention_heads=2,
                num_key_value_heads=2,
                vocab_size=320,
                rope_scaling={"type": "mrope", "mrope_section": [1, 1, 2]},
            ),
            vision_config=dict(
                depth=1, hidden_size=16, num_heads=2, out_hidden_size=16, intermediate_size=32
            ),
        )
    )
    transformer = diffusers.CosmosTransformer3DModel(
        in_channels=17,
        out_channels=16,
        num_attention_heads=2,
        attention_head_dim=16,
        num_layers=1,
        mlp_ratio=2,
        text_embed_dim=16 * layers,
        adaln_lora_dim=4,
        max_size=(32, 32, 32),
        patch_size=(1, 2, 2),
        concat_padding_mask=False,
        extra_pos_embed_type=None,
    )
    parts = {
        "tokenizer": tokenizer(),
        "text_encoder": encoder,
        "transformer": transformer,
        "vae": wan_vae(),
        "scheduler": diffusers.UniPCMultistepScheduler(
            prediction_type="flow_prediction", use_flow_sigmas=True
        ),
    }
    return save(folder, "Cosmos2_5_PredictBasePipeline", parts)


def sana_wm(folder):
    torch.manual_seed(4)
    encoder = transformers.Gemma2ForCausalLM(
        transformers.Gemma2Config(
            vocab_size=320,
            hidden_size=WIDTH,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            head_dim=8,
        )
    )
    vae = diffusers.AutoencoderKLLTX2Video(
        latent_channels=16,
        block_out_channels=(8, 16, 32, 64),
        decoder_block_out_channels=(8, 16, 32),
        layers_per_block=(1,) * 5,
        decoder_layers_per_block=(1,) * 4,
        spatial_compression_ratio=32,
        temporal_compression_ratio=8,
    )
    transformer = diffusers.SanaWMTransformer3DModel(
        in_channels=16,
        num_layers=2,
        hidden_size=96,
        num_attention_heads=4,
        softmax_every_n=2,
        linear_head_dim=24,
        caption_channels=WIDTH,
        chunk_plucker_post_attn_blocks=2,
    )
    parts = {
        "tokenizer": tokenizer(),
        "text_encoder": encoder,
        "transformer": transformer,
        "vae": vae,
        "scheduler": diffusers.FlowMatchEulerDiscreteScheduler(),
    }
    return save(folder, "SanaWMPipeline", parts)


def copy(folder, to):
    """Return a copy of a saved model that a test may damage."""
    return Path(shutil.copytree(folder, to))

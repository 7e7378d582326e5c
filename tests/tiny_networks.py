"""Tiny networks of the transformers library with random weights, saved as the real ones are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers as T

# So small that threads cost more than they save.
torch.set_num_threads(1)


def _save(network: Any, folder: Path) -> None:
    network.save_pretrained(folder)


def dinov2(folder: Path, side: int = 56, hidden: int = 32, seed: int = 0) -> None:
    torch.manual_seed(seed)
    config = T.Dinov2Config(
        hidden_size=hidden,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=side,
        patch_size=14,
    )
    _save(T.Dinov2Model(config), folder)


def characters(folder: Path, entries: int = 32) -> int:
    """Save a CLIP tokenizer that knows single characters, and return its size."""
    import json

    letters = [chr(code) for code in range(33, 127)]
    words = [*letters, *(f"{c}</w>" for c in letters), "<|startoftext|>", "<|endoftext|>"]
    (folder / "vocab.json").write_text(json.dumps({word: k for k, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    tokenizer = T.CLIPTokenizer(
        vocab=str(folder / "vocab.json"),
        merges=str(folder / "merges.txt"),
        model_max_length=entries,
    )
    tokenizer.save_pretrained(folder)
    return len(tokenizer)


WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "."]


def grounding_dino(folder: Path, seed: int = 0) -> None:
    from worldenv.evaluators.backbones.detections import ENTITIES

    torch.manual_seed(seed)
    words = [*WORDS, *ENTITIES, "red", "cup"]
    tokenizer = T.BertTokenizer(vocab={word: k for k, word in enumerate(words)})
    tokenizer.save_pretrained(folder)
    config = T.GroundingDinoConfig(
        backbone_config=T.SwinConfig(
            image_size=64,
            embed_dim=8,
            depths=[1, 1, 1, 1],
            num_heads=[1, 1, 2, 2],
            window_size=4,
            out_features=["stage2", "stage3", "stage4"],
        ),
        text_config=T.BertConfig(
            vocab_size=len(words),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            max_position_embeddings=256,
        ),
        d_model=32,
        encoder_layers=1,
        decoder_layers=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        num_queries=20,
        max_text_len=64,
        encoder_n_points=2,
        decoder_n_points=2,
    )
    _save(T.GroundingDinoForObjectDetection(config), folder)


def owlv2(folder: Path, seed: int = 0) -> None:
    torch.manual_seed(seed)
    entries = characters(folder)
    small = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2)
    config = T.Owlv2Config(
        projection_dim=32,
        text_config=dict(
            small,
            vocab_size=entries,
            max_position_embeddings=32,
            bos_token_id=entries - 2,
            eos_token_id=entries - 1,
            pad_token_id=entries - 1,
        ),
        vision_config=dict(small, image_size=64, patch_size=16),
    )
    _save(T.Owlv2ForObjectDetection(config), folder)


def _sam2_vision(hidden: int) -> Any:
    # Windows of a later stage are halved, and a stage may not begin with global attention.
    hiera = T.Sam2HieraDetConfig(
        hidden_size=8,
        num_attention_heads=1,
        image_size=[64, 64],
        blocks_per_stage=[1, 1, 2, 1],
        embed_dim_per_stage=[8, 16, 32, 64],
        num_attention_heads_per_stage=[1, 2, 4, 8],
        window_size_per_stage=[8, 4, 4, 4],
        global_attention_blocks=[3],
    )
    return T.Sam2VisionConfig(
        backbone_config=hiera,
        backbone_channel_list=[64, 32, 16, 8],
        backbone_feature_sizes=[[16, 16], [8, 8], [4, 4]],
        fpn_hidden_size=hidden,
    )


def sam2_video(folder: Path, seed: int = 0, presence: float = 5.0) -> None:
    """Save a tiny tracker.

    Args:
        folder: Where.
        seed: Of its weights.
        presence: Added to the logit of a thing being there.
    """
    torch.manual_seed(seed)
    # Its code fixes 64 channels of memory and needs a multiple of that elsewhere.
    hidden = 128
    config = T.Sam2VideoConfig(
        vision_config=_sam2_vision(hidden),
        image_size=64,
        num_maskmem=3,
        prompt_encoder_config=T.Sam2VideoPromptEncoderConfig(
            hidden_size=hidden, image_size=64, mask_input_channels=4
        ),
        mask_decoder_config=T.Sam2VideoMaskDecoderConfig(
            hidden_size=hidden,
            mlp_dim=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            iou_head_hidden_dim=16,
        ),
        memory_attention_hidden_size=hidden,
        memory_attention_num_layers=1,
        memory_attention_num_attention_heads=1,
        memory_attention_feed_forward_hidden_size=hidden,
        memory_attention_rope_feat_sizes=[4, 4],
        memory_encoder_hidden_size=hidden,
        memory_encoder_output_channels=64,
        mask_downsampler_embed_dim=hidden,
        memory_fuser_num_layers=1,
        memory_fuser_embed_dim=hidden,
        memory_fuser_intermediate_dim=hidden,
    )
    network = T.Sam2VideoModel(config)
    with torch.no_grad():
        network.mask_decoder.pred_obj_score_head.proj_out.bias += presence
    _save(network, folder)


def lightglue(folder: Path, seed: int = 0) -> None:
    torch.manual_seed(seed)
    detector = T.SuperPointConfig(
        encoder_hidden_sizes=[8, 8, 16, 16],
        decoder_hidden_size=16,
        keypoint_decoder_dim=65,
        descriptor_decoder_dim=32,
    )
    config = T.LightGlueConfig(
        keypoint_detector_config=detector,
        descriptor_dim=32,
        num_hidden_layers=2,
        num_attention_heads=2,
    )
    _save(T.LightGlueForKeypointMatching(config), folder)


def clip(folder: Path, seed: int = 0, width: int = 16) -> None:
    torch.manual_seed(seed)
    entries = characters(folder)
    small = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=2)
    config = T.CLIPConfig(
        projection_dim=width,
        text_config=dict(
            small,
            vocab_size=entries,
            max_position_embeddings=32,
            bos_token_id=entries - 2,
            eos_token_id=entries - 1,
            pad_token_id=entries - 1,
        ),
        vision_config=dict(small, image_size=32, patch_size=8),
    )
    _save(T.CLIPModel(config), folder)


def depth_anything(folder: Path, seed: int = 0, kind: str = "metric") -> None:
    torch.manual_seed(seed)
    config = T.DepthAnythingConfig(
        backbone_config=T.Dinov2Config(
            hidden_size=32,
            num_hidden_layers=4,
            num_attention_heads=2,
            image_size=56,
            patch_size=14,
            out_features=["stage1", "stage2", "stage3", "stage4"],
            reshape_hidden_states=False,
            apply_layernorm=True,
        ),
        patch_size=14,
        reassemble_hidden_size=32,
        neck_hidden_sizes=[8, 16, 32, 32],
        fusion_hidden_size=16,
        head_hidden_size=8,
        depth_estimation_type=kind,
        max_depth=20,
    )
    _save(T.DepthAnythingForDepthEstimation(config), folder)

"""BoQ and MutualVPR: re-created networks, their transformer against the library's DINOv2."""

from __future__ import annotations

import numpy as np
import pytest
import tiny_networks
import torch
from skimage import data
from stamped import stamped

from worldenv.evaluators.backbones.boq import Boq, BoqNet
from worldenv.evaluators.backbones.mutualvpr import MutualVpr, MutualVprNet
from worldenv.evaluators.backbones.vit import Vit, VitSize
from worldenv.evaluators.plan import Ask
from worldenv.weights import DamagedWeights

PHOTOS = [data.astronaut(), data.coffee(), data.chelsea()]
TINY = VitSize(width=32, layers=2, heads=2, patch=14, grid=4)
WIDTHS = (8, 2, 4, 2, 4)


def official(state):
    """Return the library's DINOv2 weights under the official names."""
    names = {
        "embeddings.cls_token": "cls_token",
        "embeddings.mask_token": "mask_token",
        "embeddings.position_embeddings": "pos_embed",
        "embeddings.patch_embeddings.projection.": "patch_embed.proj.",
        "layernorm.": "norm.",
        "attention.o_proj.": "attn.proj.",
        "layer_scale1.lambda1": "ls1.gamma",
        "layer_scale2.lambda1": "ls2.gamma",
        "encoder.layer.": "blocks.",
        ".layers.": ".blocks.",
    }
    out, apart = {}, {}
    for key, value in state.items():
        for old, new in names.items():
            key = key.replace(old, new)
        if "attention." in key:
            block, _, rest = key.partition("attention.")
            which, _, part = rest.partition(".")
            apart.setdefault((block, part), {})[which] = value
        else:
            out[key] = value
    for (block, part), found in apart.items():
        out[f"{block}attn.qkv.{part}"] = torch.cat(
            [found[x] for x in ("q_proj", "k_proj", "v_proj")]
        )
    return out


@pytest.mark.parametrize("side", [56, 70])
def test_the_transformer_is_dinov2(tmp_path, side):
    from transformers import Dinov2Model

    tiny_networks.dinov2(tmp_path)
    theirs = Dinov2Model.from_pretrained(tmp_path).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(0.05 * torch.randn(parameter.shape, generator=torch.manual_seed(3)))
    ours = Vit(TINY).eval()
    ours.load_state_dict(official(theirs.state_dict()))
    images = torch.randn(2, 3, side, side, generator=torch.manual_seed(0))
    with torch.inference_mode():
        a = ours.norm(ours(images))
        b = theirs(pixel_values=images).last_hidden_state
    # Positions of another grid are stretched a tenth of a patch further here, as in the release.
    assert (a - b).abs().max() < (1e-4 if side == 56 else 0.2)


def save(net, file):
    def write(folder):
        generator = torch.manual_seed(0)
        state = {
            k: torch.rand(v.shape, generator=generator) * 0.2 + (0.5 if "running_var" in k else 0)
            if v.is_floating_point()
            else v
            for k, v in net.state_dict().items()
        }
        state = {k: v + 3 if k.endswith("1.p") else v for k, v in state.items()}
        torch.save(state, folder / file)

    return write


@pytest.fixture(scope="module")
def boq(tmp_path_factory):
    net = BoqNet(TINY, width=64)
    located = stamped(tmp_path_factory.mktemp("w"), "boq", save(net, "dinov2_12288.pth"))
    return located, Boq(located, side=56, size=TINY, width=64)


def ask_all(backbone, role):
    return backbone.compute([Ask(role, (k,)) for k in range(3)], [(p,) for p in PHOTOS])


def test_boq_answers_unit_vectors_that_differ(boq):
    found = ask_all(boq[1], "place")
    assert [v.shape for v in found] == [(32 * 64,)] * 3
    assert all(np.linalg.norm(v) == pytest.approx(1, abs=1e-5) for v in found)
    assert not np.allclose(found[0], found[1])
    alone = boq[1].compute([Ask("place", (0,))], [(PHOTOS[0],)])[0]
    assert np.array_equal(alone, found[0])


def test_boq_of_the_release_has_12288_numbers_and_its_names():
    with torch.device("meta"):
        net = BoqNet(VitSize())
    names = set(net.state_dict())
    assert net.aggregator.fc.out_features * 384 == 12288
    assert "backbone.dino.blocks.11.attn.qkv.weight" in names
    assert "aggregator.boqs.1.cross_attn.in_proj_weight" in names
    assert "aggregator.boqs.0.encoder.linear1.weight" in names
    assert sum(p.numel() for p in net.parameters()) > 90e6


def test_mutualvpr_answers_unit_vectors_from_weights_of_several_gpus(tmp_path):
    net = MutualVprNet(TINY, 512, 16, WIDTHS)
    write = save(net, "plain.pth")

    def several(folder):
        write(folder)
        state = torch.load(folder / "plain.pth", weights_only=True)
        torch.save({f"module.{k}": v for k, v in state.items()}, folder / "mutualvpr.pth")

    located = stamped(tmp_path, "mutualvpr", several)
    backbone = MutualVpr(located, side=56, size=TINY, inner=16, widths=WIDTHS)
    found = ask_all(backbone, "mutualvpr")
    assert [v.shape for v in found] == [(512,)] * 3
    assert all(np.linalg.norm(v) == pytest.approx(1, abs=1e-5) for v in found)
    assert not np.allclose(found[0], found[2])
    # The adapters take part.
    state = torch.load(located.folder / "mutualvpr.pth", weights_only=True)
    key = "module.backbone.blocks.0.adapter.D_fc2.bias"
    torch.save({**state, key: state[key] + 1}, located.folder / "mutualvpr.pth")
    moved = ask_all(MutualVpr(located, side=56, size=TINY, inner=16, widths=WIDTHS), "mutualvpr")
    assert not np.allclose(found[0], moved[0])


def test_a_wrong_checkpoint_is_refused(tmp_path, boq):
    """The released evaluation loads MutualVPR without looking; a wrong file passes there."""
    net = BoqNet(TINY, width=64)
    located = stamped(tmp_path, "mutualvpr", save(net, "mutualvpr.pth"))
    with pytest.raises(DamagedWeights, match="missing"):
        MutualVpr(located, side=56, size=TINY, inner=16, widths=WIDTHS)
    with pytest.raises(DamagedWeights, match="boq"):
        Boq(boq[0], side=56, size=TINY._replace(layers=1), width=64)

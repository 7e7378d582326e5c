"""SuperPoint, LightGlue and LighterGlue as backbones, against the library's own pipeline."""

from __future__ import annotations

import numpy as np
import pytest
import tiny_networks
import torch
from safetensors.torch import save_file
from skimage import data
from stamped import stamped

from worldenv.evaluators.backbones.lightglue import LighterGlue, LightGlueNet, mutual, placed
from worldenv.evaluators.backbones.superpoint import LightGlue, SizedKeypoints, SuperPoint
from worldenv.evaluators.constants import whole
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import DamagedWeights

PHOTO = np.ascontiguousarray(data.astronaut()[:240, :320])


@pytest.fixture(scope="module")
def located(tmp_path_factory):
    root = tmp_path_factory.mktemp("w")
    return stamped(root, "lightglue-superpoint", tiny_networks.lightglue)


@pytest.fixture(scope="module")
def detector(located):
    return SuperPoint(located, longest=320)


def test_keypoints_are_those_of_the_library(located, detector):
    import transformers as T

    network = T.LightGlueForKeypointMatching.from_pretrained(located.folder).eval()
    network.keypoint_detector.keypoint_decoder.keypoint_threshold = 5e-4
    network.keypoint_detector.keypoint_decoder.max_keypoints = 1024
    processor = T.SuperPointImageProcessorPil(do_resize=False, do_grayscale=True)
    inputs = processor(PHOTO, return_tensors="pt")
    with torch.inference_mode():
        out = network.keypoint_detector(**inputs)
    (found,) = detector.compute([Ask("match", (0,))], [(PHOTO,)])
    theirs = out.keypoints[0] * torch.tensor([320, 240])
    assert 10 < len(found.points) == int(out.mask.sum()) <= whole("superpoint.points")
    assert len(found.points) == 1024
    # NTSC weights of four digits there, of three here: some weak points change places.
    ours = {tuple(p) for p in np.rint(found.points).astype(int).tolist()}
    both = ours & {tuple(p) for p in np.rint(theirs.numpy()).astype(int).tolist()}
    assert len(both) > 0.9 * 1024
    assert found.size == (240, 320)
    assert found.descriptors.shape == (1024, 32)


def test_points_lie_in_the_pixels_of_the_frame_whatever_its_size(located):
    from types import SimpleNamespace

    backbone = SuperPoint(located, longest=160)
    seen = {}

    def corners(pixel_values):
        seen["size"] = tuple(pixel_values.shape[2:])
        height, width = seen["size"]
        last = [(width - 1) / width, (height - 1) / height]
        return SimpleNamespace(
            keypoints=torch.tensor([[[0.0, 0.0], last, [0.5, 0.5]]]),
            descriptors=torch.zeros(1, 3, 32),
            mask=torch.tensor([[1, 1, 0]]),
        )

    backbone._network = corners
    found = backbone._keypoints(PHOTO)
    assert seen["size"] == (120, 160)
    # A pixel of the input covers two by two of the frame's.
    assert found.points.tolist() == [[0.5, 0.5], [318.5, 238.5]]


def test_matches_are_those_of_the_library(located, detector):
    import transformers as T

    other = np.ascontiguousarray(np.roll(PHOTO, 16, axis=1))
    first, second = detector._keypoints(PHOTO), detector._keypoints(other)
    matcher = LightGlue(located)
    network = T.LightGlueForKeypointMatching.from_pretrained(located.folder).eval()
    share = torch.stack(
        [torch.from_numpy(k.points / np.array([320, 240])) for k in (first, second)]
    )
    described = torch.stack([torch.from_numpy(k.descriptors) for k in (first, second)])
    with torch.inference_mode():
        found, *_ = network._match_image_pair(
            (share * torch.tensor([320, 240])).float()[None],
            described[None],
            240,
            320,
            mask=torch.ones(1, 2, 1024, dtype=torch.int),
        )
    theirs = found.reshape(2, -1)[0].numpy()
    (ours,) = matcher.compute([Ask("matches", (0, 1))], [(first, second)])
    rows = np.flatnonzero(theirs >= 0)
    assert ours.counts == (1024, 1024)
    assert np.array_equal(ours.first, first.points[rows])
    assert np.array_equal(ours.second, second.points[theirs[rows]])
    assert matcher.needs(Ask("matches", (3, 5))) == (Ask("match", (3,)), Ask("match", (5,)))
    assert detector.needs(Ask("match", (3,))) == (pixels(3),)


def test_matches_of_unequal_and_of_no_keypoints(located, detector):
    matcher = LightGlue(located)
    first = detector._keypoints(PHOTO)
    few = SizedKeypoints(first.points[:40], first.descriptors[:40], first.size)
    none = SizedKeypoints(first.points[:0], first.descriptors[:0], first.size)
    found = matcher._match(first, few)
    assert found.counts == (1024, 40)
    assert len(found.first) == len(found.second) <= 40
    known = {tuple(p) for p in few.points.tolist()}
    assert all(tuple(p) in known for p in found.second.tolist())
    assert len(matcher._match(none, few).first) == 0
    assert matcher._match(few, none).counts == (40, 0)


def test_weights_of_another_network_are_refused(tmp_path):
    other = stamped(tmp_path, "lightglue-superpoint", tiny_networks.dinov2)
    with pytest.raises(DamagedWeights, match="worldenv weights fetch lightglue-superpoint"):
        SuperPoint(other)


def test_lighterglue_has_the_mathematics_of_lightglue(located):
    """Our network, filled with the library's weights under the official names, gives its scores."""
    import transformers as T

    theirs = T.LightGlueForKeypointMatching.from_pretrained(located.folder).eval()
    ours = LightGlueNet(taken=32, width=32, layers=2, heads=2).eval()
    state, given = {}, theirs.state_dict()
    state["posenc.Wr.weight"] = given["positional_encoder.projector.weight"]
    for k in range(2):
        old, new = f"transformer_layers.{k}.", f"transformers.{k}."
        for part in ("weight", "bias"):
            qkv = [given[f"{old}self_attention.{x}_proj.{part}"] for x in "qkv"]
            # The official matrix holds q, k and v channel by channel.
            state[f"{new}self_attn.Wqkv.{part}"] = torch.stack(qkv, 1).flatten(0, 1)
            state[f"{new}self_attn.out_proj.{part}"] = given[f"{old}self_attention.o_proj.{part}"]
            state[f"{new}cross_attn.to_qk.{part}"] = given[f"{old}cross_attention.q_proj.{part}"]
            state[f"{new}cross_attn.to_v.{part}"] = given[f"{old}cross_attention.v_proj.{part}"]
            state[f"{new}cross_attn.to_out.{part}"] = given[f"{old}cross_attention.o_proj.{part}"]
            for kind in ("self", "cross"):
                for place, name in ((0, "fc1"), (1, "layer_norm"), (3, "fc2")):
                    state[f"{new}{kind}_attn.ffn.{place}.{part}"] = given[
                        f"{old}{kind}_mlp.{name}.{part}"
                    ]
            layer = f"log_assignment.{k}."
            old_layer = f"match_assignment_layers.{k}."
            state[f"{layer}matchability.{part}"] = given[f"{old_layer}matchability.{part}"]
            state[f"{layer}final_proj.{part}"] = given[f"{old_layer}final_projection.{part}"]
            if k == 0:
                state[f"token_confidence.0.token.0.{part}"] = given[
                    f"token_confidence.0.token.{part}"
                ]
        # The library's cross attention has k and q apart; the official one ties them.
        tied = given[f"{old}cross_attention.q_proj.weight"]
        theirs.transformer_layers[k].cross_attention.k_proj.weight.data = tied
        theirs.transformer_layers[k].cross_attention.k_proj.bias.data = given[
            f"{old}cross_attention.q_proj.bias"
        ]
    ours.load_state_dict(state)
    generator = torch.Generator().manual_seed(1)
    points = [torch.rand(50, 2, generator=generator) * torch.tensor([320, 240]) for _ in range(2)]
    described = [
        torch.nn.functional.normalize(torch.randn(50, 32, generator=generator)) for _ in "ab"
    ]
    relative = [torch.from_numpy(placed(p.numpy(), (240, 320))) for p in points]
    theirs.depth_confidence = theirs.width_confidence = -1
    seen = {}
    theirs.match_assignment_layers[1].register_forward_hook(
        lambda module, args, out: seen.update(scores=out)
    )
    with torch.inference_mode():
        theirs._match_image_pair(
            torch.stack(points)[None], torch.stack(described)[None], 240, 320,
            mask=torch.ones(1, 2, 50, dtype=torch.int),
        )  # fmt: skip
        chance = ours(relative, described)
    assert torch.allclose(seen["scores"][0, :-1, :-1].exp(), chance, rtol=1e-4, atol=1e-8)


def test_mutual_pairs():
    chance = np.array([[0.9, 0.2], [0.8, 0.3], [0.0, 0.05]], np.float32)
    assert mutual(chance, 0.1).tolist() == [[0, 0]]
    assert mutual(chance.T, 0.1).tolist() == [[0, 0]]


def test_lighterglue_reads_the_matcher_of_its_bundle_only(tmp_path):
    torch.manual_seed(0)
    net = LightGlueNet(64, 96, 6, 1)
    bundle = {f"matcher.{k}": v.contiguous() for k, v in net.state_dict().items()}
    extra = {"extractor.model.net.block1.weight": torch.zeros(3)}
    good = stamped(
        tmp_path / "a",
        "xfeat-lighterglue",
        lambda f: save_file({**bundle, **extra}, str(f / "lighterglue.safetensors")),
    )
    points = np.random.default_rng(0).uniform(0, 200, (30, 2)).astype(np.float32)
    described = np.eye(64, dtype=np.float32)[:30]
    side = SizedKeypoints(points, described, (240, 320))
    found = LighterGlue(good)._match(side, side)
    assert found.counts == (30, 30)
    none = SizedKeypoints(points[:0], described[:0], (240, 320))
    assert LighterGlue(good)._match(none, side).counts == (0, 30)
    bundle.pop("matcher.posenc.Wr.weight")
    bad = stamped(
        tmp_path / "b",
        "xfeat-lighterglue",
        lambda f: save_file(bundle, str(f / "lighterglue.safetensors")),
    )
    with pytest.raises(DamagedWeights, match="missing posenc"):
        LighterGlue(bad)

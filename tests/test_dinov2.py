"""DINOv2 as a backbone: input, regions, batches, and weights that are not its own."""

from __future__ import annotations

import numpy as np
import pytest
import tiny_networks
import torch
from skimage import data
from stamped import stamped

from worldenv.evaluators.backbones.cutout import Facing
from worldenv.evaluators.backbones.dinov2 import Dinov2
from worldenv.evaluators.backbones.regions import region
from worldenv.evaluators.plan import Ask, Thing, pixels
from worldenv.weights import DamagedWeights

PHOTOS = [data.astronaut(), data.coffee(), data.chelsea()]


@pytest.fixture(scope="module")
def located(tmp_path_factory):
    return stamped(tmp_path_factory.mktemp("w"), "dinov2-base", tiny_networks.dinov2)


@pytest.fixture(scope="module")
def backbone(located):
    made = Dinov2(located, side=56)
    made.batch = 4
    return made


def ask_all(backbone, photos, subject=""):
    asks = [Ask("embed", (k,), subject) for k in range(len(photos))]
    return backbone.compute(asks, [(photo,) for photo in photos])


def test_the_vector_is_that_of_the_library_and_its_processor(located, backbone):
    from transformers import BitImageProcessorPil, Dinov2Model

    processor = BitImageProcessorPil(
        size={"shortest_edge": 56},
        crop_size={"height": 56, "width": 56},
        do_resize=True,
        do_center_crop=True,
        do_rescale=True,
        do_normalize=True,
        image_mean=[0.485, 0.456, 0.406],
        image_std=[0.229, 0.224, 0.225],
        resample=3,
    )
    network = Dinov2Model.from_pretrained(located.folder).eval()
    for photo, ours in zip(PHOTOS, ask_all(backbone, PHOTOS), strict=True):
        with torch.inference_mode():
            out = network(**processor(photo, return_tensors="pt")).last_hidden_state[0, 0].numpy()
        # One grey level here and there is all that differs before the network.
        assert float(ours @ out / np.linalg.norm(out)) > 1 - 1e-5
        assert ours.dtype == np.float32
        assert np.linalg.norm(ours) == pytest.approx(1, abs=1e-6)


def test_a_vector_does_not_depend_on_its_neighbours(backbone):
    alone = backbone.compute([Ask("embed", (0,))] * 4, [(PHOTOS[0],)] * 4)[0]
    mixed = ask_all(backbone, [*PHOTOS, PHOTOS[1]])[0]
    assert np.array_equal(alone, mixed)


def test_a_vector_does_not_depend_on_the_batch_size(located, backbone):
    single = Dinov2(located, side=56)
    assert single.batch == 1
    for a, b in zip(ask_all(backbone, PHOTOS), ask_all(single, PHOTOS), strict=True):
        assert np.allclose(a, b, atol=1e-6)


def scene():
    frame = data.astronaut().copy()
    masks = np.zeros((2, *frame.shape[:2]), bool)
    masks[0, 20:200, 160:300] = True
    masks[1, 400:500, 10:120] = True
    tiny = np.zeros(frame.shape[:2], bool)
    tiny[:10, :10] = True
    regions = [region(7, "person", masks[0]), region(3, "flag", masks[1]), region(9, "dot", tiny)]
    return frame, tuple(regions), masks


@pytest.mark.parametrize("subject", ["person", Thing("person"), Facing("person", 15.0), Thing("*")])
def test_regions_have_vectors_that_the_rest_of_the_frame_cannot_change(backbone, subject):
    frame, regions, masks = scene()
    (found,) = ask_all(backbone, [(frame, regions)], subject)
    assert set(found) == {7, 3}
    assert found[7][0].mask.size == 0
    assert found[7][0].category == "person"
    other = frame.copy()
    other[~masks.any(axis=0)] = 17
    (again,) = ask_all(backbone, [(other, regions)], subject)
    for track in found:
        assert np.array_equal(found[track][1], again[track][1])
    assert float(found[7][1] @ found[3][1]) < 0.999


def test_white_lies_around_the_objects_of_r2m_only(backbone):
    frame, regions, _ = scene()
    round_mask = np.hypot(*np.mgrid[-110:402, -230:282]) < 90
    regions = (region(1, "face", round_mask),)
    (white,), (mean,) = (ask_all(backbone, [(frame, regions)], n) for n in ("*", "face"))
    assert float(white[1][1] @ mean[1][1]) < 0.9999


def test_a_region_does_not_depend_on_what_else_is_asked(backbone):
    frame, regions, _ = scene()
    asks = [Ask("embed", (0,)), Ask("embed", (0,), "person"), Ask("embed", (1,), "person")]
    inputs = [(frame,), ((frame, regions),), ((frame, regions[:1]),)]
    whole, many, one = backbone.compute(asks, inputs)
    assert np.array_equal(whole, backbone.compute(asks[:1], inputs[:1])[0])
    assert np.allclose(many[7][1], one[7][1], atol=1e-6)


def test_needs(backbone):
    assert backbone.needs(Ask("embed", (4,))) == (pixels(4),)
    assert backbone.needs(Ask("embed", (4,), "cat")) == (Ask("cutout", (4,), "cat"),)


def test_weights_of_another_network_are_refused(tmp_path):
    def other_depth(folder):
        import json

        tiny_networks.dinov2(folder)
        path = folder / "config.json"
        config = json.loads(path.read_text())
        config["num_hidden_layers"] = 3
        path.write_text(json.dumps(config))

    with pytest.raises(DamagedWeights, match=r"missing .*worldenv weights fetch dinov2-base"):
        Dinov2(stamped(tmp_path / "a", "dinov2-base", other_depth), side=56)

    def other_width(folder):
        import json

        tiny_networks.dinov2(folder)
        path = folder / "config.json"
        config = json.loads(path.read_text())
        config["hidden_size"] = 64
        path.write_text(json.dumps(config))

    with pytest.raises(DamagedWeights, match="dinov2-base"):
        Dinov2(stamped(tmp_path / "b", "dinov2-base", other_width), side=56)

    def pointer(folder):
        tiny_networks.dinov2(folder)
        (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\n")

    with pytest.raises(DamagedWeights, match="dinov2-base"):
        Dinov2(stamped(tmp_path / "c", "dinov2-base", pointer), side=56)
    with pytest.raises(DamagedWeights, match="dinov2-base"):
        Dinov2(stamped(tmp_path / "d", "dinov2-base", lambda folder: None), side=56)


def test_a_sliver_does_not_become_a_gigantic_image(backbone):
    frame = data.astronaut()
    mask = np.zeros(frame.shape[:2], bool)
    mask[100:103] = True
    (found,) = ask_all(backbone, [(frame, (region(1, "wire", mask),))], "*")
    assert np.isfinite(found[1][1]).all()


def test_a_padded_ask_for_regions_is_answered_once(backbone, monkeypatch):
    frame, regions, _ = scene()
    ask = Ask("embed", (0,), "person")
    calls = []
    monkeypatch.setattr(
        backbone, "_regions", lambda *arguments: calls.append(1) or {"made": len(calls)}
    )
    assert backbone.compute([ask] * 4, [((frame, regions),)] * 4) == [{"made": 1}] * 4

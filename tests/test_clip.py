"""CLIP and the aesthetic head: images, prompts, regions, and the library's own processing."""

from __future__ import annotations

import numpy as np
import pytest
import tiny_networks
import torch
from skimage import data
from stamped import stamped

from worldenv.evaluators.backbones.aesthetic import Aesthetic
from worldenv.evaluators.backbones.clip import Clip
from worldenv.evaluators.backbones.regions import region
from worldenv.evaluators.plan import Ask, Thing, pixels
from worldenv.weights import DamagedWeights

PHOTOS = [data.astronaut(), data.coffee(), data.chelsea()]


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    located = stamped(tmp_path_factory.mktemp("w"), "clip-vit-base-patch32", tiny_networks.clip)
    return located, Clip(located)


def test_images_and_words_are_those_of_the_library(clip):
    import transformers as T

    located, backbone = clip
    processor = T.CLIPProcessor(
        image_processor=T.CLIPImageProcessorPil(
            size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32}
        ),
        tokenizer=T.CLIPTokenizer.from_pretrained(located.folder),
    )
    network = T.CLIPModel.from_pretrained(located.folder).eval()
    prompts = ["a red chair.", "move forward, then turn left"]
    inputs = processor(text=prompts, images=PHOTOS, padding=True, return_tensors="pt")
    with torch.inference_mode():
        out = network(**inputs)
    vectors = backbone.compute([Ask("text", (k,)) for k in range(3)], [(p,) for p in PHOTOS])
    for ours, theirs in zip(vectors, out.image_embeds.numpy(), strict=True):
        assert float(ours @ theirs) > 1 - 1e-4
    asks = [Ask("text", (k,), p) for k in range(3) for p in prompts]
    found = backbone.compute(asks, [(vectors[k],) for k in range(3) for _ in prompts])
    theirs = (out.image_embeds @ out.text_embeds.T).numpy().ravel()
    assert found == pytest.approx(theirs, abs=5e-3)


def test_long_prompts_are_cut(clip):
    words = "walk " * 500
    assert np.linalg.norm(clip[1].words(words)) == pytest.approx(1, abs=1e-5)
    assert np.array_equal(clip[1].words(words), clip[1].words(words + "and turn"))


def test_needs(clip):
    backbone = clip[1]
    assert backbone.needs(Ask("text", (2,))) == (pixels(2),)
    assert backbone.needs(Ask("text", (2,), "a door")) == (Ask("text", (2,)),)
    thing = Thing("*")
    assert backbone.needs(Ask("text", (2,), thing)) == (Ask("cutout", (2,), thing),)


def test_regions_are_compared_with_their_category_on_white(clip):
    backbone = clip[1]
    frame = PHOTOS[0]
    mask = np.zeros(frame.shape[:2], bool)
    mask[20:200, 160:300] = True
    dot = np.zeros_like(mask)
    dot[:5, :5] = True
    regions = (region(4, "person", mask), region(5, "lamp", mask), region(6, "dot", dot))
    ask = Ask("text", (0,), Thing("*"))
    (found,) = backbone.compute([ask], [((frame, regions),)])
    assert set(found) == {4, 5}
    white = np.where(mask[..., None], frame, 255).astype(np.uint8)[20:200, 160:300]
    vector = backbone.images([white] * 8)[0]
    assert found[4] == pytest.approx(float(vector @ backbone.words("person")), abs=1e-6)
    assert found[4] != pytest.approx(found[5], abs=1e-6)
    other = np.where(mask[..., None], frame, 9).astype(np.uint8)
    assert backbone.compute([ask], [((other, regions),)])[0] == found
    mixed = backbone.compute([Ask("text", (1,)), ask], [(PHOTOS[1],), ((frame, regions),)])
    assert mixed[1] == found


def test_a_missing_vocabulary_is_an_error(tmp_path):
    def bare(folder):
        tiny_networks.clip(folder)
        for path in folder.iterdir():
            if path.name not in ("config.json", "model.safetensors"):
                path.unlink()

    with pytest.raises(DamagedWeights, match="tokenizer"):
        Clip(stamped(tmp_path, "clip-vit-base-patch32", bare))


def test_aesthetic_is_the_linear_head_over_ten(clip, tmp_path):
    located, backbone = clip
    weight = torch.randn(1, 16, generator=torch.manual_seed(0))

    def head(bias):
        return lambda folder: torch.save(
            {"weight": weight, "bias": torch.tensor([bias])},
            folder / "sa_0_4_vit_l_14_linear.pth",
        )

    rate = Aesthetic(located, stamped(tmp_path / "a", "laion-aesthetic", head(5.0)))
    asks, inputs = [Ask("aesthetic", (k,)) for k in range(3)], [(p,) for p in PHOTOS]
    found = rate.compute(asks, inputs)
    vectors = backbone.compute([Ask("text", (k,)) for k in range(3)], inputs)
    expected = [(float(weight.numpy()[0] @ v) + 5) / 10 for v in vectors]
    assert found == pytest.approx(expected, abs=1e-6)
    high = Aesthetic(located, stamped(tmp_path / "b", "laion-aesthetic", head(50.0)))
    assert high.compute(asks, inputs) == [1.0, 1.0, 1.0]
    low = Aesthetic(located, stamped(tmp_path / "c", "laion-aesthetic", head(-50.0)))
    assert low.compute(asks, inputs) == [0.0, 0.0, 0.0]
    wide = stamped(
        tmp_path / "d",
        "laion-aesthetic",
        lambda f: torch.save(
            {"weight": torch.zeros(1, 768), "bias": torch.zeros(1)},
            f / "sa_0_4_vit_l_14_linear.pth",
        ),
    )
    with pytest.raises(DamagedWeights, match="of another shape"):
        Aesthetic(located, wide)

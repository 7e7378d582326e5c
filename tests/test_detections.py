"""Detectors of named things: overlaps, words, thresholds, and the library's own processing."""

from __future__ import annotations

import numpy as np
import pytest
import tiny_networks
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from skimage import data
from stamped import stamped

from worldenv.evaluators.backbones import detections
from worldenv.evaluators.backbones.grounding_dino import GroundingDino
from worldenv.evaluators.backbones.owlv2 import Owlv2
from worldenv.evaluators.constants import constant
from worldenv.evaluators.plan import Ask, Thing, pixels
from worldenv.weights import DamagedWeights

PHOTO = data.astronaut()[:300]

boxes = st.lists(
    st.tuples(*[st.integers(0, 50)] * 2, *[st.integers(1, 50)] * 2), min_size=1, max_size=12
).map(lambda rows: np.array([(x, y, x + w, y + h) for x, y, w, h in rows], np.float32))


@settings(max_examples=60, deadline=None)
@given(boxes, st.randoms(use_true_random=False))
def test_kept_boxes_do_not_overlap_and_every_dropped_one_does(found, random):
    scores = np.array([random.random() for _ in found], np.float32)
    kept = detections.kept(found, scores, 99)
    share = detections.overlaps(found, found)
    assert (np.diff(scores[kept]) <= 0).all()
    for k in range(len(found)):
        surer = [other for other in kept if other != k and scores[other] >= scores[k]]
        covered = any(share[k, other] > constant("detect.overlap") for other in surer)
        assert (k in kept) != covered


def test_overlap_of_known_boxes():
    a = np.array([[0, 0, 10, 10]], np.float32)
    b = np.array([[5, 0, 15, 10], [20, 20, 30, 30], [0, 0, 10, 10]], np.float32)
    assert detections.overlaps(a, b)[0].tolist() == pytest.approx([1 / 3, 0, 1])


def test_boxed_regions_are_the_largest_first_and_inside_the_frame():
    found = detections.boxed(
        np.array([[-5, -5, 10, 10], [20, 20, 90, 45.5], [60, 10, 60, 40]], np.float32),
        np.array([0.9, 0.8, 0.7], np.float32),
        ["a", "b", "c"],
        (48, 64),
    )
    assert [(r.track, r.category) for r in found] == [(1, "b"), (2, "a")]
    assert detections.box_of(found[0].mask) == (20, 20, 64, 46)
    assert found[1].score == pytest.approx(0.9)


def test_concepts_and_nouns():
    assert detections.concept("A [red] Chair (old).") == "a red chair"
    assert detections.concept("...") == "object"
    assert detections.noun_of(Thing("cup", (1, 2))) == "cup"
    assert detections.noun_of("cup") == "cup"


@pytest.fixture(scope="module")
def dino(tmp_path_factory):
    located = stamped(
        tmp_path_factory.mktemp("w"), "grounding-dino-tiny", tiny_networks.grounding_dino
    )
    return located, GroundingDino(located, side=160)


def test_grounding_dino_finds_what_the_library_finds(dino):
    from transformers import (
        AutoTokenizer,
        GroundingDinoForObjectDetection,
        GroundingDinoImageProcessorPil,
        GroundingDinoProcessor,
    )

    located, backbone = dino
    processor = GroundingDinoProcessor(
        GroundingDinoImageProcessorPil(size={"shortest_edge": 160, "longest_edge": 267}),
        AutoTokenizer.from_pretrained(located.folder),
    )
    network = GroundingDinoForObjectDetection.from_pretrained(located.folder).eval()
    inputs = processor(images=PHOTO, text="red cup.", return_tensors="pt")
    image = backbone._input(PHOTO)
    assert np.abs(image - inputs["pixel_values"].numpy()).max() < 1.01 / 255 / 0.224
    assert bool(inputs["pixel_mask"].all())
    # The rest is compared on one and the same image: a random network magnifies grey levels.
    inputs["pixel_values"] = torch.from_numpy(image)
    with torch.inference_mode():
        out = network(**inputs)
    theirs = processor.post_process_grounded_object_detection(
        out, inputs["input_ids"], 0.25, 0.20, [PHOTO.shape[:2]]
    )[0]
    ids, confidence, _ = backbone._forward(PHOTO, "red cup.")
    assert ids.tolist() == inputs["input_ids"][0].tolist()
    ours = confidence.max(axis=1)
    assert np.sort(ours[ours > 0.25]) == pytest.approx(np.sort(theirs["scores"].numpy()), abs=1e-5)
    kept = detections.kept(theirs["boxes"].numpy(), theirs["scores"].numpy(), 20)
    (found,) = backbone.compute([Ask("detect", (0,), Thing("Red cup"))], [(PHOTO,)])
    assert len(found) == len(kept) > 0
    assert {r.category for r in found} == {"Red cup"}
    assert all(0.25 < r.score <= 1 for r in found)
    areas = [r.area for r in found]
    assert areas == sorted(areas, reverse=True)


def test_grounding_dino_names_everything_it_finds_by_its_words(dino):
    _, backbone = dino
    (found,) = backbone.compute([Ask("detect", (0,), Thing("*"))], [(PHOTO,)])
    assert 0 < len(found) <= constant("r2m.anchors")
    known = set(detections.ENTITIES)
    assert all(set(r.category.split()) <= known for r in found)
    assert backbone.needs(Ask("detect", (3,), Thing("*"))) == (pixels(3),)


def test_a_higher_threshold_finds_a_part(dino, monkeypatch):
    located, backbone = dino
    unsure = GroundingDino(located, side=160, threshold="detect.second")
    ask = [Ask("detect", (0,), Thing("lamp"))]
    least = [min(r.score for r in b.compute(ask, [(PHOTO,)])[0]) for b in (backbone, unsure)]
    assert least[0] > 0.25
    assert least[1] > 0.15
    assert unsure.name != backbone.name


def test_a_tokenizer_of_another_network_is_refused(tmp_path):
    def longer(folder):
        import transformers

        tiny_networks.grounding_dino(folder)
        words = {f"w{k}": k for k in range(100)} | {"[UNK]": 100, "[PAD]": 101}
        words |= {"[CLS]": 102, "[SEP]": 103, "[MASK]": 104}
        transformers.BertTokenizer(vocab=words).save_pretrained(folder)

    with pytest.raises(DamagedWeights, match=r"vocabulary.*worldenv weights fetch"):
        GroundingDino(stamped(tmp_path, "grounding-dino-tiny", longer))


def test_owlv2_finds_what_the_library_finds(tmp_path):
    from transformers import (
        CLIPTokenizer,
        Owlv2ForObjectDetection,
        Owlv2ImageProcessorPil,
        Owlv2Processor,
    )

    located = stamped(tmp_path, "owlv2-base", tiny_networks.owlv2)
    backbone = Owlv2(located)
    # Enlarged: when it shrinks an image, the library blurs by a Gaussian instead of a triangle.
    small = np.ascontiguousarray(PHOTO[100:140, 100:150])
    processor = Owlv2Processor(
        Owlv2ImageProcessorPil(size={"height": 64, "width": 64}),
        CLIPTokenizer.from_pretrained(located.folder),
    )
    network = Owlv2ForObjectDetection.from_pretrained(located.folder).eval()
    words = processor.tokenizer(
        ["a photo of a cup"], padding="max_length", max_length=32, return_tensors="pt"
    )
    image = processor.image_processor(small, return_tensors="pt")
    ours = backbone._input(small)
    assert np.abs(image["pixel_values"].numpy() - ours).mean() < 0.02
    image["pixel_values"] = torch.from_numpy(ours)
    with torch.inference_mode():
        out = network(**image, **words)
    theirs = processor.image_processor.post_process_object_detection(
        out, threshold=0.25, target_sizes=[small.shape[:2]]
    )[0]
    kept = detections.kept(theirs["boxes"].numpy(), theirs["scores"].numpy(), 20)
    found = backbone._detect(small, "cup")
    # A box in the padding, outside the frame, is no find.
    assert 0 < len(found) <= len(kept)
    scores = theirs["scores"].numpy()[kept]
    assert all(np.abs(scores - r.score).min() < 1e-5 for r in found)
    every = backbone._detect(small, "*")
    assert {r.category for r in every} <= set(detections.ENTITIES)

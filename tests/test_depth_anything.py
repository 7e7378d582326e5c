"""Depth Anything as a backbone, against the library's own processing."""

from __future__ import annotations

import numpy as np
import pytest
import tiny_networks
import torch
from skimage import data
from stamped import stamped

from worldenv.evaluators.backbones.depth_anything import DepthAnything
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import DamagedWeights

PHOTO = np.ascontiguousarray(data.coffee()[:180, :320])
NAME = "depth-anything-v2-metric-indoor-small"


def test_depth_is_that_of_the_library_in_metres(tmp_path):
    import transformers as T

    located = stamped(tmp_path, NAME, tiny_networks.depth_anything)
    backbone = DepthAnything(located, side=56)
    processor = T.DPTImageProcessorPil(
        size={"height": 56, "width": 56},
        keep_aspect_ratio=True,
        ensure_multiple_of=14,
        resample=3,
        image_mean=[0.485, 0.456, 0.406],
        image_std=[0.229, 0.224, 0.225],
        do_pad=False,
    )
    network = T.DepthAnythingForDepthEstimation.from_pretrained(located.folder).eval()
    inputs = processor(PHOTO, return_tensors="pt")
    image = backbone._input(PHOTO)
    assert image.shape == tuple(inputs["pixel_values"].shape)
    assert np.abs(image - inputs["pixel_values"].numpy()).max() < 1.01 / 255 / 0.224
    with torch.inference_mode():
        out = network(pixel_values=torch.from_numpy(image))
    theirs = processor.post_process_depth_estimation(out, [PHOTO.shape[:2]])[0]["predicted_depth"]
    (depth,) = backbone.compute([Ask("depth", (0,))], [(PHOTO,)])
    assert depth.shape == PHOTO.shape[:2]
    assert depth.dtype == np.float32
    assert np.allclose(depth, theirs.numpy(), atol=1e-4)
    assert (depth > 0).all()
    assert (depth < 20).all()
    assert backbone.needs(Ask("depth", (6,))) == (pixels(6),)


def test_what_is_as_far_as_it_can_say_is_nothing(tmp_path):
    def far(folder):
        import transformers as T

        tiny_networks.depth_anything(folder)
        network = T.DepthAnythingForDepthEstimation.from_pretrained(folder)
        network.head.conv3.bias.data += 50
        network.save_pretrained(folder)

    depth = DepthAnything(stamped(tmp_path, NAME, far), side=56)._estimate(PHOTO)
    assert (depth == 0).all()


def test_depth_without_metres_is_refused(tmp_path):
    relative = stamped(
        tmp_path, NAME, lambda folder: tiny_networks.depth_anything(folder, 0, "relative")
    )
    with pytest.raises(DamagedWeights, match="no metres"):
        DepthAnything(relative)

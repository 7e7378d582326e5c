"""Our resizing against Pillow and the image processors that networks were published with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from skimage import data

from worldenv.evaluators.backbones.resample import centre, resample, short_side

PHOTOS = [data.astronaut(), data.coffee(), data.chelsea()]
KERNELS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}


@pytest.mark.parametrize("kernel", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(518, 322), (97, 640), (224, 224), (1024, 1024)])
def test_resample_is_pillows_within_a_grey_level(kernel, size):
    for photo in PHOTOS:
        ours = resample(photo, *size, kernel)
        # Newer versions of Pillow choose which direction comes first; older ones took rows.
        rows = Image.fromarray(photo).resize((size[0], photo.shape[0]), KERNELS[kernel])
        difference = np.abs(ours.astype(int) - np.asarray(rows.resize(size, KERNELS[kernel])))
        assert difference.max() <= 1
        assert difference.mean() < 0.05


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 40),
    st.integers(1, 60),
    st.integers(1, 60),
    st.integers(0, 255),
)
def test_a_flat_image_stays_flat(h, w, height, width, level):
    flat = np.full((h, w, 3), level, np.uint8)
    out = resample(flat, width, height)
    assert out.shape == (height, width, 3)
    assert np.abs(out.astype(int) - level).max() == 0


def test_short_side_and_centre_follow_the_processor_of_dinov2():
    from transformers import BitImageProcessorPil

    processor = BitImageProcessorPil(
        size={"shortest_edge": 518},
        crop_size={"height": 518, "width": 518},
        do_resize=True,
        do_center_crop=True,
        do_rescale=True,
        do_normalize=False,
        resample=3,
    )
    for photo in PHOTOS:
        theirs = processor(photo, return_tensors="np")["pixel_values"][0].transpose(1, 2, 0) * 255
        ours = centre(short_side(photo, 518), 518)
        assert np.abs(ours - theirs).max() <= 1.01


def test_the_longest_side_is_bounded_as_by_grounding_dino():
    wide = np.zeros((360, 640, 3), np.uint8)
    assert short_side(wide, 800, "bilinear", 1333).shape[:2] == (750, 1333)
    assert short_side(wide[:, :400], 800, "bilinear", 1333).shape[:2] == (800, 888)
    tall = np.zeros((640, 360, 3), np.uint8)
    assert short_side(tall, 800, "bilinear", 1333).shape[:2] == (1333, 750)


def test_the_centre_of_a_long_image_is_what_it_would_be_without_haste():
    from worldenv.evaluators.backbones.resample import central

    long = np.concatenate([PHOTOS[1][:60]] * 3, axis=1)
    slow = centre(short_side(long, 120), 120)
    assert np.abs(central(long, 120).astype(int) - slow).mean() < 1.5
    frame = PHOTOS[0]
    assert np.array_equal(central(frame, 90), centre(short_side(frame, 90), 90))

"""RAFT: its parts on known input, its checkpoint's names, and the scale of its answer."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from skimage import data
from stamped import stamped

from worldenv.evaluators.backbones.raft import (
    FILE,
    Raft,
    RaftNet,
    enlarged,
    looked_up,
    places,
    pyramid,
)
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import DamagedWeights

torch.set_num_threads(1)


def test_the_likeness_is_highest_where_a_cell_went():
    features = torch.randn(1, 64, 16, 24, generator=torch.manual_seed(0))
    moved = torch.roll(features, (2, 3), dims=(2, 3))
    levels = pyramid(features, moved)
    assert [tuple(x.shape[2:]) for x in levels] == [(16, 24), (8, 12), (4, 6), (2, 3)]
    found = looked_up(levels, places(features))
    assert found.shape == (1, 4 * 81, 16, 24)
    window = found[0, :81].reshape(9, 9, 16, 24)[:, :, 4:10, 5:15]
    best = window.flatten(0, 1).argmax(dim=0)
    # x first, then y, both from -4.
    assert (best // 9 - 4 == 3).all()
    assert (best % 9 - 4 == 2).all()


def test_enlarging_with_equal_weights_averages_nine_cells():
    flow = torch.randn(1, 2, 6, 7, generator=torch.manual_seed(0))
    large = enlarged(flow, torch.zeros(1, 576, 6, 7))
    mean = torch.nn.functional.avg_pool2d(8 * flow, 3, 1, 1)
    assert large.shape == (1, 2, 48, 56)
    assert torch.allclose(large[:, :, ::8, ::8], mean, atol=1e-5)
    assert torch.allclose(large[:, :, 7::8, 3::8], mean, atol=1e-5)
    constant = enlarged(torch.full((1, 2, 4, 4), 1.5), torch.randn(1, 576, 4, 4))
    assert torch.allclose(constant[:, :, 8:-8, 8:-8], torch.tensor(12.0))


def checkpoint(folder):
    torch.manual_seed(0)
    state = RaftNet().state_dict()
    # The release does not hold the counters of its frozen normalisations in every version.
    torch.save({k: v for k, v in state.items() if "num_batches" not in k}, folder / FILE)


def test_the_names_are_those_of_the_release():
    names = set(RaftNet().state_dict())
    assert {
        "feature_encoder.convnormrelu.0.weight",
        "feature_encoder.layer2.0.downsample.0.weight",
        "context_encoder.layer3.1.convnormrelu2.1.running_var",
        "update_block.motion_encoder.convcorr1.0.weight",
        "update_block.recurrent_block.convgru2.convq.weight",
        "update_block.flow_head.conv2.bias",
        "mask_predictor.convrelu.0.weight",
        "mask_predictor.conv.bias",
    } <= names
    assert sum(p.numel() for p in RaftNet().parameters()) == 5_257_536


def test_the_magnitude_is_measured_at_320_pixels(tmp_path, monkeypatch):
    backbone = Raft(stamped(tmp_path, "raft-large", checkpoint))
    seen = {}

    def five_right_and_two_down(first, second):
        seen["size"] = tuple(first.shape)
        seen["range"] = (float(first.min()), float(first.max()))
        flow = torch.zeros(1, 2, *first.shape[2:])
        flow[:, 0], flow[:, 1] = 3.0, 4.0 * first.shape[2] / 180
        return flow

    backbone._net = five_right_and_two_down
    frame = np.ascontiguousarray(data.astronaut()[:288, :512])
    (value,) = backbone.compute([Ask("flow", (0, 1))], [(frame, frame)])
    assert seen["size"] == (1, 3, 176, 320)
    assert -1 <= seen["range"][0] < seen["range"][1] <= 1
    assert value == pytest.approx(5.0, abs=1e-4)
    assert backbone.needs(Ask("flow", (3, 5))) == (pixels(3), pixels(5))


def test_the_network_runs_and_a_wrong_file_is_refused(tmp_path):
    backbone = Raft(stamped(tmp_path / "a", "raft-large", checkpoint))
    frame = np.ascontiguousarray(data.coffee()[:120, :320])
    value = backbone._magnitude(frame, frame)
    assert np.isfinite(value)
    assert value >= 0

    def other(folder):
        checkpoint(folder)
        state = torch.load(folder / FILE)
        state.pop("mask_predictor.conv.bias")
        torch.save(state, folder / FILE)

    with pytest.raises(DamagedWeights, match=r"missing mask_predictor\.conv\.bias"):
        Raft(stamped(tmp_path / "b", "raft-large", other))

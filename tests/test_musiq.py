"""MUSIQ: patches and their cells, the score's range, and checkpoints that are not its own."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from skimage import data
from stamped import stamped

from worldenv.evaluators.backbones.musiq import FILE, Musiq, MusiqNet, patches
from worldenv.evaluators.plan import Ask, pixels
from worldenv.weights import DamagedWeights

PHOTO = np.ascontiguousarray(data.coffee()[:180, :250])


def tiny():
    return MusiqNet(width=24, inner=48, heads=6, layers=2)


def save(bias=0.0, wrapped=False):
    def write(folder):
        torch.manual_seed(0)
        state = tiny().state_dict()
        state["head.bias"] = torch.tensor([bias])
        torch.save({"params": state} if wrapped else state, folder / FILE)

    return write


@pytest.mark.parametrize(("height", "width"), [(180, 250), (32, 32), (31, 97), (384, 216)])
def test_patches_cover_the_image_and_know_their_cell(height, width):
    image = torch.rand(1, 3, height, width, generator=torch.manual_seed(0))
    found, places = patches(image)
    rows, columns = -(-height // 32), -(-width // 32)
    assert found.shape == (rows * columns, 3, 32, 32)
    # The cells are those of nearest enlargement, as the port finds them.
    grid = torch.arange(10.0)[None, None]
    y = torch.nn.functional.interpolate(grid, rows, mode="nearest")[0, 0]
    x = torch.nn.functional.interpolate(grid, columns, mode="nearest")[0, 0]
    assert places.tolist() == (y[:, None] * 10 + x[None]).flatten().int().tolist()
    top, left = (rows * 32 - height) // 2, (columns * 32 - width) // 2
    whole = found.reshape(rows, columns, 3, 32, 32).permute(2, 0, 3, 1, 4)
    whole = whole.reshape(3, rows * 32, columns * 32)
    assert torch.equal(whole[:, top : top + height, left : left + width], image[0])


@pytest.mark.parametrize("wrapped", [False, True])
def test_quality_is_the_score_over_a_hundred(tmp_path, wrapped):
    backbone = Musiq(stamped(tmp_path / "a", "musiq-spaq", save(50.0, wrapped)), net=tiny())
    (value,) = backbone.compute([Ask("quality", (0,))], [(PHOTO,)])
    net = tiny()
    net.load_state_dict(torch.load(tmp_path / "a" / "musiq-spaq" / FILE)["params"] if wrapped else
                        torch.load(tmp_path / "a" / "musiq-spaq" / FILE))  # fmt: skip
    image = torch.from_numpy(PHOTO.astype(np.float32)).permute(2, 0, 1) / 127.5 - 1
    with torch.inference_mode():
        assert value == pytest.approx(float(net.eval()(image)) / 100, abs=1e-6)
    assert 0 < value < 1
    assert backbone.needs(Ask("quality", (3,))) == (pixels(3),)


def test_scores_beyond_the_scale_are_clipped(tmp_path):
    high = Musiq(stamped(tmp_path / "a", "musiq-spaq", save(900.0)), net=tiny())
    low = Musiq(stamped(tmp_path / "b", "musiq-spaq", save(-900.0)), net=tiny())
    assert (high._rate(PHOTO), low._rate(PHOTO)) == (1.0, 0.0)


def test_another_file_is_refused(tmp_path):
    with pytest.raises(DamagedWeights, match=r"missing|of another shape"):
        Musiq(stamped(tmp_path / "a", "musiq-spaq", save()))

    def other(folder):
        torch.save({"head.weight": torch.zeros(1, 24)}, folder / FILE)

    with pytest.raises(DamagedWeights, match="missing"):
        Musiq(stamped(tmp_path / "b", "musiq-spaq", other), net=tiny())
    broken = stamped(tmp_path / "c", "musiq-spaq", lambda f: (f / FILE).write_bytes(b"pointer"))
    with pytest.raises(DamagedWeights, match="cannot be read"):
        Musiq(broken, net=tiny())

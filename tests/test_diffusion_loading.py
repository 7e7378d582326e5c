"""Weights are read whole or not at all, and what is absent is said with how to get it."""

import json
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("diffusers")
pytest.importorskip("transformers")

import safetensors.torch
import tiny_diffusion
import torch

from worldenv.world import Start, Unsupported, WeightsNotFound
from worldenv.worlds import load_world
from worldenv.worlds.diffusion.world import fit_image

MAKE = "worldenv.worlds.models.helios:make"
START = Start(image=np.zeros((32, 32, 3), np.uint8), prompt="a room")
WEIGHTS = "transformer/diffusion_pytorch_model.safetensors"


@pytest.fixture(scope="module", autouse=True)
def alone():
    with tiny_diffusion.one_thread():
        yield


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return tiny_diffusion.helios(tmp_path_factory.mktemp("tiny") / "helios")


@pytest.fixture
def folder(saved, tmp_path):
    return tiny_diffusion.copy(saved, tmp_path / "helios")


def refused(folder, **options):
    """Return what is said when the weights are loaded."""
    chosen = {"size": (32, 32), "dtype": "float32", "device": "cpu", **options}
    world = load_world(MAKE, weights=str(folder), **chosen)
    with pytest.raises(WeightsNotFound) as error:
        world.reset(START, seed=0, plan=None)
    text = str(error.value)
    assert "\n" not in text
    assert text.endswith("or give weights= the folder of a diffusers pipeline")
    assert "hf download BestWishYsh/Helios-Base" in text and "Apache-2.0" in text
    return text


def change(file, edit):
    """Rewrite a file of weights."""
    tensors = safetensors.torch.load_file(file)
    edit(tensors)
    safetensors.torch.save_file(tensors, file, metadata={"format": "pt"})


def test_weights_that_are_nowhere_are_named_with_the_command():
    assert "its weights are not on this machine" in refused("BestWishYsh/Helios-Base")
    assert "there is no folder '/none'" in refused("/none")


def test_a_folder_that_is_no_pipeline_is_refused(tmp_path, folder):
    assert "no model_index.json" in refused(tmp_path)
    index = json.loads((folder / "model_index.json").read_text())
    for broken, message in (
        ("{", "cannot be read"),
        ("[]", "is no index"),
        (json.dumps({**index, "vae": None}), "names no vae"),
        (json.dumps({**index, "vae": ["os", "system"]}), "vae is a os.system, which is not known"),
        (json.dumps({**index, "vae": ["diffusers", "logging"]}), "which is not known here"),
    ):
        (folder / "model_index.json").write_text(broken)
        assert message in refused(folder)


@pytest.mark.parametrize("part", ["transformer", "text_encoder", "vae"])
def test_no_weight_is_left_at_random(folder, part):
    file = next((folder / part).glob("*.safetensors"))
    whole = file.read_bytes()
    change(file, lambda tensors: tensors.pop(sorted(tensors)[1]))
    # diffusers itself refuses some; transformers would draw what is missing.
    assert "lacks 1 weights" in refused(folder) or "cannot be loaded" in refused(folder)
    file.write_bytes(whole)
    change(file, lambda tensors: tensors.update(extra=torch.zeros(3)))
    assert "has no use for 1 weights (extra)" in refused(folder)
    file.write_bytes(whole)

    def reshape(tensors):
        name = sorted(tensors)[1]
        tensors[name] = torch.zeros(7, *tensors[name].shape)

    change(file, reshape)
    assert "cannot be loaded" in (text := refused(folder)) or "another shape" in text
    file.write_bytes(whole[: len(whole) // 2])
    assert "cannot be loaded" in refused(folder)
    file.write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    assert "cannot be loaded" in refused(folder)


def test_pickled_weights_are_never_read(folder, monkeypatch):
    file = folder / WEIGHTS
    torch.save(safetensors.torch.load_file(file), file.with_suffix(".bin"))
    file.unlink()

    def unpickle(*_, **__):
        raise AssertionError("torch.load was called")

    monkeypatch.setattr(torch, "load", unpickle)
    assert "cannot be loaded" in refused(folder)


def test_an_absent_part_and_a_foreign_tokenizer_are_refused(folder):
    (folder / "scheduler").rename(folder / "moved")
    assert "has no scheduler" in refused(folder)
    (folder / "moved").rename(folder / "scheduler")
    words = tiny_diffusion.tokenizer()
    words.add_tokens([f"word{i}" for i in range(100)])
    words.save_pretrained(str(folder / "tokenizer"))
    assert "tokens and its text encoder 320, which do not belong together" in refused(folder)


def test_no_code_of_a_repository_is_run(folder):
    (folder / "text_encoder" / "model.py").write_text("raise SystemExit('ran')")
    config = json.loads((folder / "text_encoder" / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "model.Evil", "AutoConfig": "model.Evil"}
    (folder / "text_encoder" / "config.json").write_text(json.dumps(config))
    world = load_world(MAKE, weights=str(folder), size=(32, 32), dtype="float32", device="cpu")
    assert world.reset(START, seed=0, plan=None).frames.shape == (1, 32, 32, 3)


def test_options_that_cannot_be_are_refused(saved):
    assert "no precision 'float33'" in refused(saved, dtype="float33")
    assert "do not fit together" in refused(saved, device="abacus")
    with pytest.raises(Unsupported, match="multiples of 16"):
        load_world(MAKE, weights=str(saved), size=(40, 32))
    world = load_world(MAKE, weights=str(saved), size=(32, 32))
    with pytest.raises(Unsupported, match="starts from an image"):
        world.reset(Start(prompt="a room"), seed=0, plan=None)
    with pytest.raises(Unsupported, match="reset it first"):
        world.step(np.eye(4)[None].repeat(33, 0))


def test_weights_load_at_the_first_reset_and_say_where(saved):
    world = load_world(MAKE, weights=str(saved), size=(32, 32), dtype="float32", device="cpu")
    assert (world.device, world.dtype, world.pipeline) == ("cpu", "float32", None)
    world.reset(START, seed=0, plan=None)
    pipeline = world.pipeline
    world.reset(START, seed=1, plan=None)
    assert world.pipeline is pipeline
    world.close()
    world.close()
    assert world.pipeline is None
    automatic = load_world(MAKE, weights=str(saved))
    assert automatic.device == ("cuda" if torch.cuda.is_available() else "cpu")


def test_reading_a_spec_imports_no_torch():
    code = (
        "import sys\n"
        "from worldenv.worlds import load_world\n"
        "for name in ('helios', 'cosmos_predict25', 'skyreels_v2', 'sana_wm'):\n"
        "    load_world(f'worldenv.worlds.models.{name}:make').spec.size\n"
        "print(sorted({'torch', 'diffusers', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_diffusers_the_extra_is_named(saved, monkeypatch):
    monkeypatch.setitem(sys.modules, "diffusers", None)
    world = load_world(MAKE, weights=str(saved), size=(32, 32), device="cpu")
    with pytest.raises(WeightsNotFound, match=r"needs diffusers; .*'worldenv\[diffusion\]'"):
        world.reset(START, seed=0, plan=None)


def test_images_are_cut_to_size_with_their_intrinsics():
    image = np.zeros((40, 100, 3), np.uint8)
    image[20, 60] = 255
    K = np.array([[50.0, 0, 50], [0, 50, 20], [0, 0, 1]])
    cut, moved = fit_image(image, K, (80, 80))
    assert cut.shape == (80, 80, 3)
    # The white pixel's middle, scaled by 2 and cut by 60 pixels on the left.
    assert np.argwhere(cut.sum(-1) > 300).mean(0).round().tolist() == [40, 60]
    ray = np.linalg.inv(K) @ [60.5, 20.5, 1]
    assert np.allclose(moved @ ray, [61, 41, 1])
    same, K_same = fit_image(image, None, (100, 40))
    assert same is image and K_same is None

"""Profiles open and paper: what they need, what they say when it is absent, and that they run."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest
import tiny_networks
import torch
from skimage import data
from stamped import stamped

from worldenv import weights
from worldenv.camera import CameraPath
from worldenv.evaluators.backbones.raft import FILE as RAFT
from worldenv.evaluators.backbones.raft import RaftNet
from worldenv.evaluators.engine import Engine
from worldenv.evaluators.plan import Ask, Context, Measurement, Outcome, Slot, Thing
from worldenv.evaluators.profile import load_profile
from worldenv.evaluators.profiles import TABLE, Setting, weights_of
from worldenv.world import Chunk

PROFILES = ("open", "paper")


@pytest.mark.parametrize("name", PROFILES)
def test_every_choice_names_a_class_that_takes_what_it_is_given(name):
    for role, choice in TABLE[name].items():
        module, _, attribute = choice.maker.partition(":")
        try:
            found = importlib.import_module(f"worldenv.evaluators.backbones.{module}")
        except ImportError as error:
            assert error.name in choice.modules, role
            continue
        maker = getattr(found, attribute)
        given = {*choice.uses, *choice.options}
        assert given <= set(inspect.signature(maker).parameters), role
        inspect.signature(maker).bind(*choice.weights, **dict.fromkeys(given))


@pytest.mark.parametrize("name", PROFILES)
def test_what_is_absent_is_brought_by_the_command_that_is_named(name, monkeypatch, tmp_path):
    monkeypatch.setenv(weights.FOLDER, str(tmp_path))
    monkeypatch.delenv("WORLDENV_VIPE_PYTHON", raising=False)
    monkeypatch.setattr("worldenv.evaluators.profiles.find_spec", lambda name: object())
    for role, choice in TABLE[name].items():
        reason = choice.lacks(Setting(frames=40))
        if choice.weights:
            absent = choice.weights[0]
            entry = weights.table()[absent]
            assert f"worldenv weights fetch {absent}" in reason, role
            assert ("--non-commercial" in reason) == (not entry.commercial)
            assert ("--from FOLDER" in reason) == (entry.source == "local")
        elif choice.environment:
            assert "pip install" in reason
            assert choice.environment in reason
        elif "K" in choice.uses:
            assert "intrinsics" in reason
        else:
            assert reason is None


def test_open_needs_nothing_that_forbids_commercial_use():
    table = weights.table()
    assert all(table[name].commercial for name in weights_of("open"))
    assert {name for name in weights_of("paper") if not table[name].commercial} == {
        "mutualvpr",
        "insightface-buffalo-l",
        "lightglue-superpoint",
        "depth-anything-3-large",
        "musiq-spaq",
    }


def test_a_missing_extra_and_a_missing_environment_are_named(monkeypatch):
    monkeypatch.setattr("worldenv.evaluators.profiles.find_spec", lambda name: None)
    assert "pip install 'worldenv[models]'" in TABLE["paper"]["embed"].lacks(Setting())
    assert "pip install 'worldenv[paper]'" in TABLE["paper"]["identity"].lacks(Setting())


def test_a_path_of_unknown_length_cannot_be_cut_into_stretches(monkeypatch):
    monkeypatch.setenv("WORLDENV_VIPE_PYTHON", "python")
    choice = TABLE["paper"]["second_pose"]
    assert "how many frames" in choice.lacks(Setting(frames=0))
    assert choice.lacks(Setting(frames=9)) is None


SAVED = {
    "dinov2-base": tiny_networks.dinov2,
    "grounding-dino-tiny": tiny_networks.grounding_dino,
    "owlv2-base": tiny_networks.owlv2,
    "sam2.1-hiera-tiny": tiny_networks.sam2_video,
    "sam2.1-hiera-large": tiny_networks.sam2_video,
    "depth-anything-v2-metric-indoor-small": tiny_networks.depth_anything,
    "openclip-vit-base-patch32": tiny_networks.clip,
    "lightglue-superpoint": tiny_networks.lightglue,
    "raft-large": lambda folder: torch.save(RaftNet().state_dict(), folder / RAFT),
}


def bare_clip(folder):
    """Save as openai/clip-vit-base-patch32 is: a pickle of tensors, no safetensors."""
    from safetensors.torch import load_file

    tiny_networks.clip(folder, seed=1)
    file = folder / "model.safetensors"
    torch.save(load_file(file), folder / "pytorch_model.bin")
    file.unlink()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("weights")
    for name, save in {**SAVED, "clip-vit-base-patch32": bare_clip}.items():
        stamped(root, name, save)
    return root


THING = Thing("lamp", (0, 1, 2))
ASKS = {
    "open": [
        Ask("embed", (0,)),
        Ask("embed", (1,), THING),
        Ask("detect", (0,), Thing("*")),
        Ask("second_detect", (0,), Thing("lamp")),
        Ask("segment", (0,), Thing("*")),
        *(Ask("segment", (f,), THING) for f in THING.window),
        Ask("depth", (0,)),
        Ask("text", (0,), "a red lamp"),
        Ask("text", (2,), THING),
        Ask("flow", (0, 1)),
    ],
    "paper": [
        Ask("embed", (0,)),
        Ask("segment", (0,), Thing("lamp")),
        Ask("second_detect", (0,), Thing("lamp")),
        Ask("matches", (0, 2)),
        Ask("correspondence", (0, 2)),
        Ask("text", (0,), "a red lamp"),
        Ask("text", (0,), Thing("lamp")),
        Ask("flow", (0, 1)),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_runs_through_the_engine_from_fetched_folders(name, folder, monkeypatch):
    """Tiny random networks in the place of the real ones: all that differs is their weights."""
    monkeypatch.setenv(weights.FOLDER, str(folder))
    monkeypatch.setenv("WORLDENV_DEVICE", "cpu")
    profile = load_profile(name, frames=3)
    found = {}

    def measure(ask):
        def compute(features):
            found[ask] = features[ask]
            return [Outcome(0.0, 1)]

        return Measurement("r2m", (Slot("psnr"),), (ask,), compute)

    poses = np.repeat(np.eye(4)[None], 3, axis=0)
    engine = Engine([measure(a) for a in ASKS[name]], Context(CameraPath(poses, fps=16), profile))
    photo = data.astronaut()[:180, 100:420]
    frames = np.stack([np.roll(photo, 4 * k, axis=1) for k in range(3)])
    engine.observe(Chunk(frames, poses))
    summary = engine.finish()
    assert [s.detail.get("reason") for s in summary.scores] == [None] * len(ASKS[name])
    assert np.linalg.norm(found[Ask("embed", (0,))]) == pytest.approx(1, abs=1e-5)
    assert -1 <= found[Ask("text", (0,), "a red lamp")] <= 1
    if name == "open":
        assert summary.backbones["follow"]["checksum"] == summary.backbones["segment"]["checksum"]
        tracks = [{r.track for r in found[Ask("segment", (f,), THING)]} for f in THING.window]
        assert all(tracks)
        assert set(found[Ask("text", (2,), THING)]) <= tracks[2]
    used = summary.backbones
    assert used["embed"]["checksum"] == weights.locate("dinov2-base").checksum
    assert used["text"]["name"] == {
        "open": "openclip-vit-base-patch32",
        "paper": "clip-vit-base-patch32+openclip-vit-base-patch32",
    }[name]  # fmt: skip
    if name == "paper":
        assert found[Ask("matches", (0, 2))].counts[0] > 0
        assert profile.lacks("faces") is not None

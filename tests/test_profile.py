"""A row names every backbone that had a part in it, those that track included."""

import sys
from pathlib import Path
from types import SimpleNamespace

from worldenv import weights
from worldenv.evaluators.profile import ROLES, Profile
from worldenv.evaluators.profiles import TABLE, Choice, Setting

TRACKING = ("follow", "odometry", "stretch", "second_stretch", "second_detect", "second_pose")


def test_every_role_that_a_profile_has_a_backbone_for_is_named():
    assert {role for choices in TABLE.values() for role in choices} <= set(ROLES)
    assert len(ROLES) == len(set(ROLES)) and set(TRACKING) <= set(ROLES)


def test_what_tracked_is_named_and_what_was_not_asked_is_not():
    def maker(role):
        return lambda: SimpleNamespace(name=f"net-{role}", revision="r1", checksum=f"sha-{role}")

    profile = Profile("open", {role: maker(role) for role in (*TRACKING, "embed", "psnr")})
    assert profile.identity() == {}
    for role in (*TRACKING, "psnr"):
        profile.backbone(role)
    named = profile.identity()
    # A pure function of pixels has no weights to name.
    assert sorted(named) == sorted(TRACKING)
    assert named["follow"] == {
        "name": "net-follow",
        "revision": "r1",
        "checksum": "sha-follow",
        "device": "cpu",
    }


def test_a_network_is_loaded_once_a_process_and_anew_when_its_weights_change(monkeypatch):
    name = "worldenv.evaluators.backbones.counted"
    monkeypatch.setitem(sys.modules, name, SimpleNamespace(Net=lambda *a, **k: (a, k, object())))
    checksum = ["one"]
    monkeypatch.setattr(
        weights,
        "locate",
        lambda wanted: weights.Located(wanted, Path("here"), "r1", checksum[0], "MIT"),
    )
    choice = Choice("counted:Net", ("net",), uses=("device",))
    first = choice.make(Setting())
    assert choice.make(Setting(frames=9)) is first
    assert choice.make(Setting(device="cuda")) is not first
    checksum[0] = "two"
    assert choice.make(Setting()) is not first
    # What has no weights may keep something of its rollout, a program its process.
    for other in (Choice("counted:Net"), Choice("counted:Net", ("net",), environment="X")):
        assert other.make(Setting()) is not other.make(Setting())

"""A row names every backbone that had a part in it, those that track included."""

from types import SimpleNamespace

from worldenv.evaluators.profile import ROLES, Profile
from worldenv.evaluators.profiles import TABLE

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

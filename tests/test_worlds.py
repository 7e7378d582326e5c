"""Worlds of other packages: found by their entry points, only when a name is not ours."""

import importlib.metadata
import sys

import pytest

from worldenv.world import UnknownName
from worldenv.worlds import InvalidWorld, load_world, plugins


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Install a package that adds two worlds, one of them under a name of ours."""
    info = tmp_path / "their_model-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-model\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[worldenv.worlds]\nTheirs = their_model:make\nReference-v0 = their_model:make\n"
        "Broken = their_absence:make\nFailing = their_failure:make\n"
        "[other]\nNot = their_model:make\n"
    )
    (tmp_path / "their_model.py").write_text("from toy_world import make\n")
    (tmp_path / "their_failure.py").write_text("from their_model import absent\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("their_model", None)


def test_a_package_adds_a_world(package):
    assert "their_model" not in sys.modules
    assert load_world("Theirs-v0", size=(16, 12)).spec.size == (16, 12)
    assert load_world("Theirs").spec.name == "Toy"
    assert plugins() == {
        "Theirs": "their_model:make",
        "Reference": "their_model:make",
        "Broken": "their_absence:make",
        "Failing": "their_failure:make",
    }


def test_our_own_names_are_ours(package):
    assert load_world("Reference-v0").spec.name == "Reference"


def test_what_is_wrong_with_it_is_said(package):
    with pytest.raises(InvalidWorld, match="their_absence"):
        load_world("Broken-v0")
    with pytest.raises(InvalidWorld, match="their_failure broke while loading"):
        load_world("Failing-v0")
    with pytest.raises(UnknownName, match="Theirs-v0"):
        load_world("Thiers-v0")
    for wrong in ("Not-v0", "Theirs-v3"):
        with pytest.raises(UnknownName):
            load_world(wrong)


def test_entry_points_are_read_only_when_a_name_is_not_ours(monkeypatch):
    def refuse():
        raise AssertionError("entry points were read")

    monkeypatch.setattr(importlib.metadata, "entry_points", refuse)
    assert load_world("Reference").spec.name == "Reference"
    with pytest.raises(AssertionError):
        load_world("Theirs-v0")

"""Run folders: one writer, or the shards of one run; settings that agree; nothing left behind."""

import subprocess
import sys
import textwrap

import pytest

from worldenv.run_folder import claim, hold, read_run, sweep
from worldenv.store import StoreError


def tries(run, shard=None):
    """Whether another process can hold the folder now."""
    code = f"""
        from pathlib import Path
        from worldenv.run_folder import hold
        from worldenv.store import StoreError
        try:
            with hold(Path({str(run)!r}), {shard!r}):
                print("held")
        except StoreError as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True).stdout


def test_a_whole_run_holds_its_folder_alone(tmp_path):
    with hold(tmp_path):
        assert "Another run is writing" in tries(tmp_path)
        assert "--shard" not in tries(tmp_path), "not every command has shards"
        assert "--shard i/n" in tries(tmp_path, (1, 2))
    assert "held" in tries(tmp_path)


def test_shards_of_one_run_hold_it_together(tmp_path):
    with hold(tmp_path, (1, 2)):
        assert "held" in tries(tmp_path, (2, 2))
        assert "Another run is writing" in tries(tmp_path, (1, 2)), "each shard once"
        assert "Another run is writing" in tries(tmp_path), "no whole run beside shards"
        assert "Another run is writing" in tries(tmp_path, (1, 3)), "no shards of another run"
    assert "held" in tries(tmp_path, (1, 3))


def test_settings_must_agree(tmp_path):
    claim(tmp_path, {"world": "a"})
    claim(tmp_path, {"world": "a"})
    assert read_run(tmp_path)["world"] == "a"
    with pytest.raises(StoreError, match="world = 'a'"):
        claim(tmp_path, {"world": "b"})
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(StoreError, match="Cannot read"):
        read_run(tmp_path)


@pytest.mark.parametrize("text", ["[]", "null", '"run"', "1", "\\xff"])
def test_what_is_no_run_is_refused(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    for ask in (lambda: read_run(tmp_path), lambda: claim(tmp_path, {"world": "a"})):
        with pytest.raises(StoreError, match=r"Cannot read .*run\.json"):
            ask()


def test_only_what_is_unfinished_is_swept(tmp_path):
    episodes = tmp_path / "episodes" / "r2m"
    (episodes / ".a.123.partial").mkdir(parents=True)
    (episodes / "b").mkdir()
    (episodes / "b" / ".scores.json.7.tmp").write_text("half")
    (episodes / "b" / "scores.json").write_text("{}")
    (tmp_path / ".report.html.tmp").write_text("half")
    sweep(tmp_path)
    left = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    assert left == ["episodes/r2m/b/scores.json"]
    assert not (episodes / ".a.123.partial").exists()

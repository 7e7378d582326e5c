"""README's own lines run as they stand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"<!-- run -->\n```bash\n(.+?)\n```", TEXT, re.S)
PYTHON = re.findall(r"```python\n(import gymnasium.+?)```", TEXT, re.S)


def environment():
    """The environment a reader has: the package and its command on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "COLUMNS": "160"}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c.split()[1])
def test_command_runs(command, tmp_path):
    assert command.startswith("worldenv ")
    command = command.replace("examples/", f"{ROOT}/examples/")
    result = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m worldenv.cli {command.removeprefix('worldenv ')}"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    shown = {"bench": "mean", "score": "value", "check-world": "ok"}
    assert shown[command.split()[1]] in result.stdout


@pytest.mark.slow
def test_fifteen_lines_of_python_run(tmp_path):
    assert len(PYTHON) == 1
    assert len(PYTHON[0].strip().splitlines()) <= 16
    # The same lines over a shorter path.
    code = PYTHON[0].replace('"worldmembench:lrlr"', '"worldmembench:lrlr(hold=8,leg=8)"')
    assert code != PYTHON[0]
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert "environment_visible 1 1.0 ok" in result.stdout


def test_the_wrapped_model_is_short():
    for path in sorted((ROOT / "examples").glob("*.py")):
        limit = 40 if path.name == "wrap_a_model.py" else 60
        assert len(path.read_text().splitlines()) <= limit, path.name


def test_pictures_and_files_exist():
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", TEXT):
        assert (ROOT / target).is_file(), target
    for target in re.findall(r"examples/[\w./]+\.(?:py|json|mp4)", TEXT):
        assert (ROOT / target).is_file(), target


def test_every_world_and_status_is_in_the_readme():
    from worldenv.evaluators.score import STATUSES
    from worldenv.worlds import WORLDS

    for name in WORLDS:
        assert f"`{name}-v0`" in TEXT
    for status in STATUSES:
        assert f"| `{status}` |" in TEXT

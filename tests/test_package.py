"""The wheel holds every module once under its import name, and nothing else."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = {
    "worldenv": "worldenv",
    "wrappers": "worldenv/wrappers",
    "policies": "worldenv/policies",
    "evaluators": "worldenv/evaluators",
}


def expected_files():
    """Tracked files under the four package folders, by the name they install under."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *FOLDERS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    names = set()
    for name in listed:
        path = ROOT / name
        if path.is_symlink() or not path.is_file():
            continue
        top, _, rest = name.partition("/")
        names.add(f"{FOLDERS[top]}/{rest}")
    return names


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    # A copy: building in the tree would leave build/ and egg-info behind.
    source = folder / "source"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(source)], check=True)
    for name in subprocess.run(
        ["git", "ls-files", "--modified", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split():
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((ROOT / name).read_bytes())
        else:
            (source / name).unlink(missing_ok=True)
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(source)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return next(folder.glob("*.whl"))


@pytest.mark.slow
def test_wheel_holds_exactly_the_tree(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = {n for n in archive.namelist() if ".dist-info/" not in n}
    assert held == expected_files()


@pytest.mark.slow
def test_wheel_is_small(wheel):
    assert wheel.stat().st_size < 12e6


def test_links_lead_to_the_folders():
    for name in ("wrappers", "policies", "evaluators"):
        link = ROOT / "worldenv" / name
        assert link.is_symlink()
        assert link.resolve() == ROOT / name


def test_pyproject_lists_every_package():
    import tomllib

    data = tomllib.loads((ROOT / "pyproject.toml").read_text())
    listed = set(data["tool"]["setuptools"]["packages"])
    found = set()
    for top, name in FOLDERS.items():
        for init in (ROOT / top).rglob("__init__.py"):
            parts = init.relative_to(ROOT / top).parent.parts
            if not any(
                (ROOT / top).joinpath(*parts[: i + 1]).is_symlink() for i in range(len(parts))
            ):
                found.add(".".join([*name.split("/"), *parts]))
    assert listed == found

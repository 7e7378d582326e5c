"""Who may import whom, which syntax the packed modules keep, and what an import loads."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from worldenv.pack import MODULES

ROOT = Path(__file__).parents[1]
SHELL = {
    "bench",
    "calibrate",
    "calibration_controls",
    "calibration_findings",
    "calibration_plan",
    "calibration_stage",
    "cli",
    "cli_cache",
    "cli_calibrate",
    "cli_judge",
    "cli_score",
    "cli_suites",
    "cli_weights",
    "cli_worlds",
    "doctor",
    "offline",
    "offline_tree",
    "report",
    "run_folder",
    "schedule",
    "stage",
    "store",
    "suite_import",
    "trees",
}
UPPER = {"wrappers", "policies", "evaluators"}
CORE_FILES = sorted(
    file
    for file in (ROOT / "worldenv").rglob("*.py")
    if not UPPER & set(file.relative_to(ROOT / "worldenv").parts)
    and file.relative_to(ROOT / "worldenv").with_suffix("").parts[0] not in SHELL
)
PACKED = (*MODULES, "worlds/__init__")


def imported(file, package):
    """Return every dotted module name that a file imports, at any depth of its code."""
    names = []
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1]
            prefix = ".".join(base) + "." if node.level else ""
            module = prefix + (node.module or "")
            names += [module.rstrip("."), *(f"{module}.{alias.name}" for alias in node.names)]
    return names


def ours(names):
    """Return the parts of worldenv that names stand for: ``camera``, ``evaluators``, ..."""
    return {name.split(".")[1] for name in names if name.startswith("worldenv.")}


@pytest.mark.parametrize("file", CORE_FILES, ids=lambda f: str(f.relative_to(ROOT)))
def test_the_core_imports_nothing_above_it(file):
    package = ".".join(file.relative_to(ROOT).parent.parts)
    assert not ours(imported(file, package)) & (UPPER | SHELL)


@pytest.mark.parametrize(
    ("folder", "allowed"),
    [
        ("policies", {"camera", "case", "world", "policies"}),
        ("evaluators", {"rollout", "camera", "case", "world", "weights", "evaluators"}),
        ("wrappers", None),
    ],
)
def test_each_folder_imports_only_what_it_may(folder, allowed):
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    for file in files:
        package = "worldenv." + ".".join(file.relative_to(ROOT).parent.parts)
        found = ours(imported(file, package))
        # Names of worldenv itself, as in "from worldenv import Chunk", are no modules.
        modules = {n for n in found if (ROOT / "worldenv" / n).exists()} | {
            n for n in found if (ROOT / "worldenv" / f"{n}.py").exists()
        }
        assert not modules & SHELL, file
        assert allowed is None or modules <= allowed, file
        relative = [n for n in ast.walk(ast.parse(file.read_text())) if _is_relative(n)]
        assert not relative, f"{file} imports by dots; these folders are reached by links"


def _is_relative(node):
    return isinstance(node, ast.ImportFrom) and node.level > 0


def test_late_imports_from_text_stand_in_few_places():
    users = {
        str(file.relative_to(ROOT))
        for file in CORE_FILES
        if any(
            isinstance(node, ast.Attribute) and node.attr == "import_module"
            for node in ast.walk(ast.parse(file.read_text("utf-8")))
        )
    }
    # case.py finds scripts; worlds finds the world modules that the caller names; driving.py finds
    # the official code of models in their own environments.
    assert users <= {
        "worldenv/case.py",
        "worldenv/worlds/__init__.py",
        "worldenv/worlds/models/driving.py",
        "worldenv/worlds/reference/families.py",
    }
    assert "worldenv/case.py" in users


@pytest.mark.parametrize("name", PACKED)
def test_packed_modules_use_old_syntax_and_numpy_alone(name):
    file = ROOT / "worldenv" / f"{name}.py"
    ast.parse(file.read_text("utf-8"), feature_version=(3, 9))
    outside = {n.split(".")[0] for n in imported(file, "worldenv")} - {"worldenv", "numpy"}
    assert outside <= set(sys.stdlib_module_names)
    assert ours(imported(file, "worldenv")) <= {*MODULES, "vendored", "worlds"}
    unions = [
        node
        for annotation in _annotations(ast.parse(file.read_text("utf-8")))
        for node in ast.walk(annotation)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr)
    ]
    assert not unions, "X | Y in annotations is evaluated, and fails, before Python 3.10"


def _annotations(tree):
    for node in ast.walk(tree):
        for field in ("annotation", "returns"):
            if getattr(node, field, None) is not None:
                yield getattr(node, field)


def test_importing_loads_nothing_heavy():
    code = (
        "import sys, worldenv\n"
        "heavy = {'torch', 'numba', 'cv2', 'PIL', 'tkinter', 'pydantic', 'stable_baselines3'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_making_an_environment_loads_no_learning_library():
    code = (
        "import sys, gymnasium as gym, worldenv\n"
        "import worldenv.wrappers\n"
        "gym.make('Reference-v0', world='toy_world:make', script='worldmembench:lrlr').reset()\n"
        "print(sorted({'torch', 'stable_baselines3', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT / "tests"
    )
    assert done.stdout.strip() == "[]"

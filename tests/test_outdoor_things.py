"""Makers of things: each module of them brings along the painters whose textures it names."""

import subprocess
import sys

import pytest

MAKE_ALL = """
from importlib import import_module
import_module("worldenv.worlds.reference.{}")
from worldenv.worlds.reference import furniture, outdoor_things
for category in furniture.MAKERS:
    assert len(furniture.make(category, 1, (1.0, 1.0, 1.0)).mesh.faces)
for makers in (outdoor_things.PARK_MAKERS, outdoor_things.STREET_MAKERS):
    for category in makers:
        outdoor_things.make_thing(category, 1, (1.0, 1.0, 1.0), makers=makers)
print(len(furniture.MAKERS) + len(outdoor_things.PARK_MAKERS) + len(outdoor_things.STREET_MAKERS))
"""


@pytest.mark.parametrize("module", ["cabinetry", "outdoor_plants", "street_fixtures"])
def test_makers_find_their_painters_whatever_else_is_imported(module):
    """In a process that has imported one module of makers only."""
    done = subprocess.run(
        [sys.executable, "-c", MAKE_ALL.format(module)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0

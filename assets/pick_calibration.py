"""Find the cases that a calibration walks: targets that its short path leaves for long enough.

    python assets/pick_calibration.py

writes ``worldenv/worlds/reference/data/calibration.json``: of the static cases of
``worldmembench`` those that serve, in the order of the suite, each with those of its targets that
stand whole in the first view and are then out of view for ``AWAY`` frames or more, twice. Only
geometry is looked at; that nothing stands in front was checked when the cases were drawn.
"""

import json
import sys
from pathlib import Path

import numpy as np
from cases.survey import built

from worldenv.calibration_plan import FOV, LEG
from worldenv.case import load_suite
from worldenv.worlds.reference.families import find_view, read_start

ANGLE = 60.0
AWAY = 17
LEAST = 0.01
"""Smallest share of the view that the box around a target fills."""
MARGIN = 0.5


def extent(scene, view, instance):
    """Return (left, right, low, high) of an instance in degrees from the middle of the view."""
    found = scene.instance(instance)
    to_camera = np.linalg.inv(np.asarray(view.pose, np.float64)) @ np.asarray(found.pose)
    points = np.asarray(found.mesh.vertices, np.float64) @ to_camera[:3, :3].T + to_camera[:3, 3]
    across = np.degrees(np.arctan2(points[:, 0], points[:, 2]))
    down = np.degrees(np.arctan2(points[:, 1], np.abs(points[:, 2])))
    return across.min(), across.max(), down.min(), down.max()


def qualifies(box):
    """Return whether a target is whole in the first view and away for long enough."""
    left, right, low, high = box
    half = FOV / 2 - MARGIN
    whole = left > -half and right < half and low > -half and high < half
    frames_away = 2 * (ANGLE - FOV / 2 + left) / (ANGLE / LEG) - 1
    return whole and frames_away >= AWAY and (right - left) * (high - low) >= LEAST * FOV**2


def main():
    """Write the file."""
    rows = []
    static = (c for c in load_suite("worldmembench").cases.values() if c.event is None)
    for case in static:
        name, view_name = read_start(case.scene, "interior", 0)
        scene = built(name.family, name.seed)
        view = find_view(scene, view_name)
        kept = [t.name for t in case.targets if qualifies(extent(scene, view, t.instance))]
        if kept:
            rows.append([case.id, kept])
            print(case.id, kept, file=sys.stderr, flush=True)
    target = Path(__file__).parents[1] / "worldenv/worlds/reference/data/calibration.json"
    lines = ",\n".join(" " + json.dumps(row) for row in rows)
    target.write_text(f"[\n{lines}\n]\n", "utf-8")


if __name__ == "__main__":
    main()

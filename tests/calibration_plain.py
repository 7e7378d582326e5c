"""Calibrate a plain scene at a tiny size: a process that a test may kill.

python calibration_plain.py FOLDER [SLOW]
"""

import sys
import time
from pathlib import Path

from worldenv import calibrate
from worldenv.calibration_plan import Design, Walk
from worldenv.calibration_stage import Stage
from worldenv.case import Case, Target

CASES = [
    Case(
        f"mine/object/{seed}",
        "object",
        scene={"family": "plain", "seed": seed},
        targets=(Target("ball-1", "ball", 1),),
    )
    for seed in (3, 4)
]
DESIGN = Design(cases=1, seeds=1, doses=(0.0, 0.5, 1.0), faults=("blur", "forget"), size=32)


def walks(design):
    """Return a short plan."""
    return [
        Walk("things", case, 0, fault, dose)
        for case in CASES[: design.cases]
        for fault, dose in [("", 0.0), *((f, d) for f in design.faults for d in design.doses[1:])]
    ]


def main(folder, slow=0.0):
    """Run; wait before every rollout, so that it can be killed between two."""
    calibrate.plan = walks
    perform = Stage.perform

    def performed(self, walk):
        time.sleep(slow)
        return perform(self, walk)

    Stage.perform = performed
    return calibrate.run("classic+truth", folder, DESIGN, workers=1)


if __name__ == "__main__":
    print(main(Path(sys.argv[1]), *map(float, sys.argv[2:])).made)

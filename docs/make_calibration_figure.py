"""Draw the README's picture of planted forgetting: ``python docs/make_calibration_figure.py FILE``.

FILE is the ``calibration.json`` that ``worldenv calibrate`` leaves.
"""

from __future__ import annotations

import sys
from pathlib import Path

from worldenv.calibration import Calibration
from worldenv.report.calibration_plots import forgetting_figure

PICTURE = Path(__file__).parent / "images" / "forgetting.svg"

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("expected one argument: the calibration.json to draw")
    PICTURE.write_text(forgetting_figure(Calibration.load(Path(sys.argv[1]))), encoding="utf-8")

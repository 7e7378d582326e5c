"""The page of a calibration: complete, self-contained, safe with hostile text, and drawn right."""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from worldenv.calibration import Calibration, Control, Response, Subject
from worldenv.faults import FAULTS
from worldenv.report import calibration_tables as tables
from worldenv.report.calibration import build_page, print_calibration, write_report
from worldenv.report.calibration_plots import dose_plot, forgetting_figure, limits_of, short

DOSES = (0.0, 0.25, 0.5, 0.75, 1.0)
SUBJECTS = (
    *(("worldmembench", m, v) for m in ("object_appearance", "object_geometry") for v in ("whole", "core")),
    *(("worldmembench", m, v) for m in ("human_appearance",) for v in ("whole", "core")),
    *(("worldmembench", m, "") for m in ("environment_visible", "environment_depth",
        "environment_reconstruction", "dynamic_overall", "event_start", "rotation_rpe")),
    ("worldmembench", "mean", "core"),
    *(("mbench", m, "") for m in ("geometry", "texture", "appearance", "epipolar", "lighting",
        "style", "state", "total")),
    *(("r2m", m, v) for m in ("psnr", "ssim", "dino") for v in ("raw", "mg", "nmr")),
    ("r2m", "mean", "mg"),
)  # fmt: skip


def _expected(metric, fault):
    group = FAULTS[fault].group
    if metric in ("rotation_rpe",):
        return "rises" if group == "camera" or fault == "frozen" else "ignores"
    if metric in ("dynamic_overall", "event_start"):
        return "falls" if group == "event" else "ignores" if group == "frames" else "open"
    if group == "content" or metric in ("psnr", "ssim", "mean", "total"):
        return "falls"
    return ("ignores", "open", "falls")[(len(metric) + len(fault)) % 3]


def synthetic(faults=tuple(FAULTS), hostile=""):
    """Return a calibration with curves of every kind: sensed, ignored, wrong, absent, saturated."""
    rng = np.random.default_rng(4)
    subjects, responses = [], []
    for benchmark, metric, variant in SUBJECTS:
        bounded = variant != "mg"
        scale = 24.0 if metric == "psnr" and variant == "raw" else 1.0
        perfect = scale * (0.0 if metric == "rotation_rpe" else float(rng.uniform(0.85, 1)))
        subject = Subject(
            benchmark, metric, variant, 0.0, scale * (40 / 24 if scale > 1 else 1.0), bounded,
            perfect, 0.004 * scale, 0.03 * scale, "colour-gradient-descriptor" + hostile,
        )  # fmt: skip
        subjects.append(subject)
        for fault in faults:
            expected = _expected(metric, fault)
            sign = {"falls": -1, "rises": 1, "ignores": 0, "open": -0.4}[expected]
            wrong = rng.random() < 0.07
            size = 0.02 if (expected == "ignores") != wrong else float(rng.uniform(0.15, 0.9))
            direction = sign or float(rng.choice([-1, 1]))
            doses = (0.0, 1.0) if fault == "frozen" else DOSES
            shape = np.array(doses) ** float(rng.uniform(0.4, 2.0))
            means = perfect + direction * size * scale * shape
            absent = metric == "dynamic_overall" and fault == "swap_people"
            width = 0.03 * scale * (0.3 + shape)
            verdict = "as expected"
            if absent:
                verdict = "not measured"
            elif expected == "open":
                verdict = "open"
            elif wrong:
                verdict = "not as expected"
            moved = direction * size
            none = tuple(None for _ in doses)
            responses.append(
                Response(
                    subject.key, fault, expected, doses,
                    none if absent else tuple(map(float, means)),
                    none if absent else tuple(map(float, means - width)),
                    none if absent else tuple(map(float, means + width)),
                    tuple(0 if absent else 12 for _ in doses),
                    *((None,) * 5 if absent else
                      (moved * scale, moved * scale - 0.1, moved * scale + 0.1, 0.001, float(np.sign(moved)))),
                    None if absent else not wrong,
                    None if absent or abs(moved) < 0.05 else 0.25,
                    None if absent or abs(moved) < 0.05 else 0.75,
                    None if absent else moved,
                    verdict,
                    ("moves by more than 5 % of its range" if expected == "ignores"
                     else "slope interval holds 0; means are not monotone") + hostile
                    if verdict == "not as expected" else "",
                )  # fmt: skip
            )  # fmt: skip
    controls = (
        Control("frozen: memory gain is 0 within noise", "mg 0.001, noise 0.004", True, {"mg": 0.001}),
        Control("frozen: NMR is unreliable", "12 of 12 rollouts", True, {"unreliable": 12.0}),
        Control("slow motion: NMR stays above 1 while MG falls" + hostile, "NMR 1.31, MG 0.02 of 0.11",
                False, {"nmr": 1.31, "mg": 0.02, "note": "x" + hostile}),
        Control("raw similarity follows flow more than MG does", "", None, {"rho": None}),
    )  # fmt: skip
    made = {
        "cases": 6, "seeds": 2, "doses": list(DOSES), "size": 128, "rollouts": 812,
        "seconds": 1312.4, "workers": 2, "python": "3.11.9", "machine": "x86_64, 2 cores",
        "faults": list(faults), "versions": {"worldenv": "0.1.0", "numpy": "2.4.0", "scipy": "1.17"},
        "case_ids": [f"worldmembench/object/{i:03d}" for i in range(6)],
    }  # fmt: skip
    return Calibration("classic+truth", made, tuple(subjects), tuple(responses), controls)

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
from worldenv.report.calibration import build_page, write_page
from worldenv.report.calibration_plots import dose_plot, forgetting_figure, limits_of, short
from worldenv.report.console import print_calibration

DOSES = (0.0, 0.25, 0.5, 0.75, 1.0)
SUBJECTS = (
    *(("worldmembench", m, v) for m in ("object_appearance", "object_geometry", "human_appearance")
      for v in ("whole", "core")),
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
            if bounded:
                means = np.clip(means, subject.low, subject.high)
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
            ends = (None, None) if absent else (moved * scale - 0.1, moved * scale + 0.1)
            dose = None if absent or abs(moved) < 0.05 else 0.25
            reason = "slope interval holds 0; means are not monotone"
            if expected == "ignores":
                reason = "moves by more than 5 % of its range"
            responses.append(
                Response(
                    subject=subject.key,
                    fault=fault,
                    expected=expected,
                    doses=doses,
                    means=none if absent else tuple(map(float, means)),
                    lows=none if absent else tuple(map(float, means - width)),
                    highs=none if absent else tuple(map(float, means + width)),
                    counts=tuple(0 if absent else 12 for _ in doses),
                    cases=0 if absent else 6,
                    slope=None if absent else moved * scale,
                    slope_low=ends[0],
                    slope_high=ends[1],
                    p=None if absent else 0.001,
                    rho=None if absent else float(np.sign(moved)),
                    monotone=None if absent else not wrong,
                    detects=dose,
                    saturates=dose and 3 * dose,
                    moved=None if absent else moved,
                    verdict=verdict,
                    reason=reason + hostile if verdict == "not as expected" else "",
                )
            )
    controls = (
        Control("frozen: memory gain is 0 within noise", "mg 0.001", True, {"mg": 0.001}),
        Control("frozen: NMR is unreliable", "12 of 12 rollouts", True, {"unreliable": 12.0}),
        Control(
            "slow motion: NMR stays above 1 while MG falls" + hostile,
            "NMR 1.31, MG 0.02 of 0.11",
            False,
            {"nmr": 1.31, "mg": 0.02, "note": "x" + hostile},
        ),
        Control("raw similarity follows flow more than MG does", "", None, {"rho": None}),
    )
    made = {
        "cases": 6, "seeds": 2, "doses": list(DOSES), "size": 128, "rollouts": 812,
        "seconds": 1312.4, "workers": 2, "python": "3.11.9", "machine": "x86_64, 2 cores",
        "faults": list(faults), "versions": {"worldenv": "0.1.0", "numpy": "2.4.0"},
        "case_ids": [f"worldmembench/object/{i:03d}" for i in range(6)],
    }  # fmt: skip
    unmeasured = {"worldmembench/translation_rpe": "not_applicable" + hostile}
    return Calibration(
        "classic+truth", made, tuple(subjects), tuple(responses), controls, unmeasured
    )


@pytest.fixture(scope="module")
def calibration():
    return synthetic()


@pytest.fixture(scope="module")
def text(calibration):
    return build_page(calibration)


def test_every_cell_of_the_matrix_leads_to_its_curve(calibration, text):
    targets = set(re.findall(r"id='([^']+)'", text))
    links = re.findall(r"href='#([^']+)'", text)
    assert set(links) <= targets
    curves = [target for target in targets if re.fullmatch(r"s\d+-.+", target)]
    assert len(curves) == len(calibration.responses)
    matrix = text.partition("id='matrix'")[2].partition("</table>")[0]
    cells = re.findall(r"<a class='(\w+)' href='#s\d+-[^']+' title='([^']*)'>([^<]*)", matrix)
    assert len(cells) == len(calibration.responses)
    found = tables.counts(calibration.responses)
    for kind, verdict in (("yes", "as expected"), ("no", "not as expected"), ("free", "open")):
        assert sum(cell[0] == kind for cell in cells) == found[verdict]
    # Colour alone says nothing: every cell that was judged has a mark too.
    assert all(("✓" in c[2]) == (c[0] == "yes") and ("✗" in c[2]) == (c[0] == "no") for c in cells)
    assert all("expected" in cell[1] for cell in cells)
    for name in FAULTS:
        assert f"<span>{name}</span>" in matrix


def test_smallest_doses_are_shown_of_what_is_to_be_sensed(calibration, text):
    grid = text.partition("Smallest dose detected")[2].partition("</table>")[0]
    sensed = [
        r
        for r in calibration.responses
        if r.expected in ("falls", "rises") and r.verdict != "not measured"
    ]
    assert len(re.findall(r"<a class='(?:from\d|never)'", grid)) == len(sensed)
    assert grid.count("class='never'") == sum(r.detects is None for r in sensed) > 0
    assert grid.count(">.25<") == sum(r.detects == 0.25 for r in sensed)


def test_the_page_says_what_was_measured_and_how(calibration, text):
    assert "classic+truth" in text and "1,312.4" in text and "numpy 2.4.0" in text
    found = tables.counts(calibration.responses)
    for verdict, number in found.items():
        assert re.search(rf"<b>{number}</b><span>[✓✗ ]*{verdict}<", text)
    assert "<b>2 of 3</b><span>claims hold" in text
    assert f"Not as expected ({found['not as expected']})" in text
    assert "moves by more than 5 % of its range" in text
    assert "no value</text>" in text
    for control in calibration.controls:
        assert control.claim in text


def test_other_peoples_text_is_escaped_and_nothing_is_fetched():
    page = build_page(synthetic(("forget", "blur"), hostile="<script>alert(1)</script>"))
    assert "<script" not in page and "&lt;script&gt;" in page
    assert not re.search(r"(src|href)=[\"']https?:", page)


def test_it_is_written_whole(calibration, text, tmp_path):
    path = write_page(calibration, tmp_path / "new" / "report.html")
    assert path.read_text(encoding="utf-8") == text
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]
    kept = tmp_path / "calibration.json"
    kept.write_text(calibration.to_json(), encoding="utf-8")
    assert build_page(Calibration.load(kept)) == text


def test_a_small_or_odd_calibration_has_a_page():
    few = synthetic(("forget",))
    new = [Response(**{**r.__dict__, "fault": "of a newer <version>"}) for r in few.responses]
    page = build_page(Calibration("light", {}, few.subjects, tuple(new), (), {}))
    assert "of a newer &lt;version&gt;" in page and "None was tested" in page
    empty = build_page(Calibration("light", {}, (), (), (), {}))
    assert "Every score that was measured did as was expected" in empty
    assert "<b>–</b><span>claims hold" in empty


def test_the_console_says_it_in_short(calibration, capsys):
    print_calibration(synthetic(("forget", "blur")))
    out = capsys.readouterr().out
    assert "WorldMemBench, classic+truth" in out and "R2M-Bench, classic+truth" in out
    assert "environment_visible" in out and "Not as expected" in out
    assert f"{2 * len(SUBJECTS)} curves:" in out


def test_a_curve_is_drawn_where_its_numbers_are():
    response = next(r for r in synthetic(("forget",)).responses if r.subject == "mbench/total")
    svg = ElementTree.fromstring(dose_plot(response, (0.0, 1.0)))
    dots = [(float(e.get("cx")), float(e.get("cy"))) for e in svg.iter("circle")]
    assert len(dots) == len(DOSES)
    (left, _), (right, _) = dots[0], dots[-1]
    top, bottom = 6, 104 - 16
    for (x, y), dose, mean in zip(dots, response.doses, response.means, strict=True):
        assert x == pytest.approx(left + dose * (right - left), abs=0.1)
        assert y == pytest.approx(bottom - mean * (bottom - top), abs=0.1)
    dashed = next(e for e in svg.iter("line") if e.get("stroke-dasharray"))
    assert float(dashed.get("y1")) == float(dashed.get("y2")) == dots[0][1]
    band = next(svg.iter("polygon")).get("points").split()
    assert len(band) == 2 * len(DOSES)


def test_a_score_that_hardly_moves_is_drawn_flat():
    subject = Subject("r2m", "ssim", "raw", 0.0, 1.0, True, 0.95, 0.0, 0.0, "")
    flat = synthetic(("forget",)).responses[0]
    flat = Response(**{**flat.__dict__, "means": (0.95, 0.95, 0.94, 0.95, 0.945),
                       "lows": (None,) * 5, "highs": (None,) * 5})  # fmt: skip
    low, high = limits_of(subject, [flat])
    assert high - low > 0.1 and high <= 1.0


def test_the_figure_shows_three_benchmarks_and_stands_alone(calibration):
    text = forgetting_figure(calibration)
    svg = ElementTree.fromstring(text)
    assert svg.tag == "{http://www.w3.org/2000/svg}svg"
    name = "{http://www.w3.org/2000/svg}"
    assert len(list(svg.iter(f"{name}polyline"))) == len(list(svg.iter(f"{name}polygon"))) == 3
    for title in ("WorldMemBench", "MBench", "R2M-Bench", "planted forgetting, dose"):
        assert title in text
    with pytest.raises(ValueError, match="no aggregate"):
        forgetting_figure(synthetic(("blur",)))


@pytest.mark.parametrize(
    ("value", "said"),
    [(0, "0"), (0.5, "0.5"), (1.0, "1"), (0.0123, "0.012"), (-0.25, "-0.25"), (120, "120")],
)
def test_numbers_are_short(value, said):
    assert short(value) == said


def test_percent():
    assert tables.percent(None) == "–" and tables.percent(0.0001) == "0 %"
    assert tables.percent(-0.31) == "\u221231 %" and tables.percent(0.021) == "+2.1 %"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
def test_the_matrix_fits_a_laptop(calibration, tmp_path):
    path = write_page(calibration, tmp_path / "report.html")
    probe = path.read_text(encoding="utf-8").replace("default-src 'none'", "script-src *")
    probe = probe.replace("Content-Security-Policy", "x-none") + (
        "<script>const m = document.querySelector('.scroll');"
        "document.title = 'w' + (m.scrollWidth <= m.clientWidth);</script>"
    )
    path.write_text(probe, encoding="utf-8")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1280,900"]
    command.append(f"file://{path}")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert "<title>wtrue</title>" in done.stdout

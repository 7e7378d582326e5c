"""The report and the explanations: complete, self-contained, safe with hostile text, legible."""

import re
import shutil
import subprocess

import pytest
from test_bench import CASE, OPTIONS, TOY

from worldenv import bench, store
from worldenv.controls import CONTROLS
from worldenv.report.episodes import strip_frames
from worldenv.report.explain import explain_score, frames_of
from worldenv.report.glossary import GLOSSARY, STATUS_MEANING
from worldenv.report.page import write_report
from worldenv.report.summary import summarise, told
from worldenv.world import UnknownName, WorldEnvError


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return bench.run(
        f"{TOY}:make",
        cases=[CASE, "worldmembench/environment/001", "r2m/indoor/001"],
        profile="classic+truth",
        world_options=OPTIONS,
        controls=False,
        workers=1,
        out=tmp_path_factory.mktemp("report") / "run",
    )


@pytest.fixture(scope="module")
def page(results):
    return write_report(results.folder)


def test_every_metric_and_status_is_explained(results):
    for row in results.scores:
        assert row.status in STATUS_MEANING
        if row.variant not in ("family", "nmr", "stride10"):
            assert row.metric in GLOSSARY[row.benchmark], row.metric


def test_the_page_is_self_contained(page):
    text = page.read_text()
    assert not re.search(r"(src|href)\s*=\s*[\"'](?!data:|#)", text)
    assert "<script" not in text and "@import" not in text and "url(" not in text
    for heading in ("Summary", "WorldMemBench", "MBench", "R2M-Bench", "Episodes"):
        assert heading in text
    assert text.count("<svg") >= 3
    assert text.count("data:image/jpeg") >= 6


def test_hostile_text_is_escaped(results, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(results.folder, folder)
    path = next(folder.glob("episodes/*/*/scores.json"))
    hostile = "<script>alert(1)</script>\"'"
    record = store.read_record(path).model_copy(update={"case": hostile, "world": hostile})
    store.write_json(path, record.model_dump())
    store.write_index(folder, store.records(folder))
    text = write_report(folder).read_text()
    assert "<script" not in text and "&lt;script&gt;" in text


def test_the_page_opens_in_a_browser(page, tmp_path):
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("no chromium here; continuous integration installs it")
    import cv2

    shot = tmp_path / "shot.png"
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"]
    command += ["--no-first-run", "--disable-background-networking", "--disable-sync"]
    command += ["--disable-component-update", f"--user-data-dir={tmp_path / 'profile'}"]
    command += ["--window-size=1240,1600", f"--screenshot={shot}", page.as_uri()]
    subprocess.run(command, capture_output=True, timeout=120, check=True)
    picture = cv2.imread(str(shot))
    assert picture.shape[:2] == (1600, 1240)
    assert picture.mean() > 150 and picture.std() > 15, "the page is blank or dark"
    assert len(set(map(tuple, picture[::7, ::7].reshape(-1, 3).tolist()))) > 50


def test_the_summary_has_counts_and_names_what_is_missing(results):
    table = summarise(results.scores)
    assert {"mean", "n", "coverage", *CONTROLS} <= set(table.columns)
    metrics = {row[1] for row in table.rows}
    assert {"rotation_rpe", "ssim"} <= metrics
    assert any("imaging_quality" in note and "quality" in note for note in table.notes)


def test_tables_stand_beside_the_perfect_world_on_the_same_case(results):
    from dataclasses import replace

    from worldenv.report.page import tabulated

    own = [row for row in results.scores if row.benchmark == "worldmembench"]
    known = [row for row in own if row.metric == "environment_visible"]
    perfect = [replace(row, control="perfect", value=0.75) for row in known]
    table = tabulated("worldmembench", own, [*own, *perfect], False)[0]
    name, at = table.columns.index("metric"), table.columns.index("ceiling")
    ceiling = {row[name]: row[at] for row in table.rows if "mean of rotations" not in row}
    assert ceiling["environment_visible"] == 0.75
    assert ceiling["environment_depth"] is None
    table = tabulated("worldmembench", own, own, True)[0]
    at = [table.columns.index(name) for name in ("control", "mean", "ceiling")]
    shown = [row for row in table.rows if row[at[1]] and "mean of rotations" not in row]
    assert shown and all(row[at[0]] == "" and row[at[1]] == row[at[2]] for row in shown)


def test_every_control_is_told_of_also_one_that_was_not_walked(results, page):
    from dataclasses import replace

    slow = [replace(row, control="slow", value=0.5) for row in results.scores if row.value]
    found = {name: text for name, _, text in told([*results.scores, *slow], perfect=False)}
    assert list(found) == list(CONTROLS)
    assert [n for n, t in found.items() if "Not walked" not in t] == ["slow"]
    assert "Here it is the world under test" in told(results.scores, perfect=True)[0][2]
    table = summarise([*results.scores, *slow])
    at = table.columns.index("slow")
    assert {row[at] for row in table.rows} >= {0.5}
    assert all(any(n.startswith(f"{name} (") for n in table.notes) for name in CONTROLS)
    text = page.read_text()
    for name, control in CONTROLS.items():
        assert text.count(control.meaning) == 1 and f"{name}</td><td>{control.role}" in text


def test_every_control_has_its_own_mark():
    from worldenv.report import figures
    from worldenv.report import page as html

    assert [name for name, _, _ in html._CONTROL_MARKS] == list(CONTROLS) == list(figures._MARKS)
    assert len({shape for _, shape, _ in html._CONTROL_MARKS}) == len(CONTROLS)


def test_any_score_can_be_explained(results):
    seen = set()
    for row in results.scores:
        key = (row.benchmark, row.metric, row.variant if row.benchmark != "r2m" else "")
        if key in seen:
            continue
        seen.add(key)
        explanation = explain_score(results.folder, row.id)
        assert row.metric in explanation.text
        assert f"status   {row.status}" in explanation.text
        assert explanation.page.stat().st_size > 1000
    assert len(seen) > 20


def test_an_explanation_puts_the_numbers_into_the_formula(results):
    row = next(r for r in results.scores if (r.metric, r.variant) == ("ssim", "mg"))
    text = explain_score(results.folder, row.id).text
    numbers = re.search(r"mg = raw - base = (\S+) - (\S+) = (\S+)", text)
    assert numbers, text
    raw, base, mg = map(float, numbers.groups())
    assert raw - base == pytest.approx(mg, abs=2e-4)


def test_explanations_show_frames(results):
    row = next(r for r in results.scores if r.metric == "environment_visible" and r.revisit == 1)
    assert frames_of(row)
    page = explain_score(results.folder, row.id).page.read_text()
    assert page.count("data:image/jpeg") >= 2


def test_unknown_and_ambiguous_scores_are_named(results):
    with pytest.raises(UnknownName, match="Unknown score"):
        explain_score(results.folder, "zzzz")
    with pytest.raises(UnknownName):
        explain_score(results.folder, "")
    first = results.scores[0].id[0]
    if sum(row.id.startswith(first) for row in results.scores) > 1:
        with pytest.raises(WorldEnvError, match="more of the id"):
            explain_score(results.folder, first)


def test_figures_are_written(results, tmp_path):
    pytest.importorskip("matplotlib", reason="figures need the extra 'report'")
    from worldenv.report.figures import write_figures

    written = write_figures(results.folder, tmp_path / "figures")
    names = {path.name for path in written}
    assert {"scores.pdf", "memory_ratio.png", "decay_environment_visible.png"} <= names
    assert all(path.stat().st_size > 3000 for path in written)


def test_filmstrips_show_every_phase():
    phases = ("V",) * 4 + ("D1",) * 4 + ("R1",) * 4 + ("H",) * 2 + (None,)
    shown = strip_frames(phases, 15)
    assert [label for _, label in shown] == ["V", "D1", "D1", "R1", "R1", "H"]
    assert [frame for frame, _ in shown] == [0, 6, 7, 10, 11, 13]
    assert len(strip_frames(None, 100)) == 7

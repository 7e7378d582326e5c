"""Calibration: what is walked, that it goes on after a kill, what it finds and how it is called."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from calibration_plain import CASES, DESIGN, walks
from typer.testing import CliRunner

from worldenv import calibrate
from worldenv.calibration import Calibration
from worldenv.calibration_controls import controls
from worldenv.calibration_findings import analyse, limits
from worldenv.calibration_plan import DOSES, DRIFT, Design, Walk, paces, pick, plan
from worldenv.calibration_stage import Finding, Stage, key_of, read_findings
from worldenv.case import load_script, load_suite
from worldenv.cli import app
from worldenv.evaluators.dose_values import values_of
from worldenv.evaluators.score import Score
from worldenv.store import StoreError
from worldenv.world import UnknownName, Unsupported, WorldEnvError

SCRIPT = Path(__file__).with_name("calibration_plain.py")


def finding(case="a", seed=0, fault="", dose=0.0, kind="things", flow=None, **more):
    """Return a rollout's worth, without walking it."""
    fields = {"values": {}, "statuses": {}, "backbones": {}, "curves": {}, **more}
    key = f"{kind} {case} {seed} {fault} {dose}"
    return Finding(key, kind, case, seed, fault, dose, flow=flow, seconds=1.0, **fields)


# ---------------------------------------------------------------- what is walked


def test_scripts_are_as_long_as_they_say():
    for kind, frames in (("things", 97), ("people", 97), ("event", 97), ("decay", 129)):
        path = load_script(Walk(kind, CASES[0], 0).script).path(None, CASES[0])
        assert len(path) == frames


def test_events_rest_when_they_are_looked_at_again():
    from worldenv.worlds.reference.families import read_start, scene_of

    walk = Walk("event", pick("event", 7)[2], 0)
    path = load_script(walk.script).path(None, walk.case)
    event = scene_of(read_start(walk.case.scene, "interior", 0)[0]).event
    back = path.frames_of("R1").tolist()[-1]
    left = path.frames_of("V").tolist()[-1]
    assert event.progress(back / walk.fps) == 1.0
    assert 0.02 < event.progress(left / walk.fps) < 0.9


def test_static_cases_keep_what_is_left_for_long_enough_and_mix_people_and_things():
    cases = pick("things", 6)
    assert len({case.id for case in cases}) == 6
    assert len({case.scene["family"] for case in cases[:4]}) >= 3
    people = [any(t.noun == "person" for t in case.targets) for case in cases]
    assert any(people[:2]) and not all(people[:2])
    whole = load_suite("worldmembench").cases
    for case in cases:
        assert case.targets and set(case.targets) <= set(whole[case.id].targets)
    for case in pick("people", 3):
        assert any(t.noun == "person" for t in case.targets)
    for kind in ("things", "people"):
        scenes = [(case.scene["family"], case.scene["seed"]) for case in pick(kind, 100)]
        assert len(scenes) == len(set(scenes)) >= 3
    assert len({case.event.mechanism for case in pick("event", 7)}) == 7


def test_a_plan_walks_each_fault_where_it_can_strike_and_shares_its_dose_0():
    design = Design(cases=3, seeds=2)
    walked = plan(design)
    assert len({walk.name for walk in walked}) == len(walked)
    kinds = {(walk.fault, walk.kind) for walk in walked}
    assert ("swap_people", "people") in kinds and ("swap_people", "things") not in kinds
    assert ("event_absent", "event") in kinds and ("event_absent", "things") not in kinds
    assert ("forget", "things") in kinds and ("swap_people", "event") not in kinds
    assert ("forget", "people") in kinds and ("blur", "people") not in kinds
    count = Counter((walk.fault, walk.kind) for walk in walked)
    assert count["", "things"] == 3 * 2
    # All or nothing: both seeds; graded: one; frozen has no dose between 0 and 1.
    assert count["vanish", "things"] == 3 * 2 * 4
    assert count["blur", "things"] == 3 * 1 * 4
    assert count["frozen", "things"] == 3 * 2
    # What does not befall an event must leave its scores alone: dose 1 is enough to tell.
    assert count["vanish", "event"] == count["blur", "event"] == 3
    assert count["event_freeze", "event"] == count["slow_motion", "event"] == 3 * 1 * 4
    # Cases do not share seeds, nor what depends on a seed alone.
    stuck = {(w.case.id, w.seed) for w in walked if (w.fault, w.kind) == ("camera_stuck", "things")}
    assert len(stuck) == len({seed for _, seed in stuck}) == 3 * 2
    # Rollouts of one case stand together, so that its scene is built once.
    order = [walk.case.id for walk in walked]
    assert len([k for k, g in enumerate(order) if k == 0 or g != order[k - 1]]) == len(set(order))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"cases": 0}, "cases must be a whole number from 1, got 0"),
        ({"seeds": 1.5}, "seeds must be a whole number from 1, got 1.5"),
        ({"size": 4000}, "size must be at most 1024 pixels, got 4000"),
        ({"seeds": 10**20}, "seeds must be at most 1024, got 1000"),
        ({"cases": 10**20}, "cases must be at most 1024, got 1000"),
        ({"doses": (0.0, 0.5)}, "doses must rise from 0 to 1"),
        ({"doses": (0.0, 0.5, 0.5, 1.0)}, "doses must rise from 0 to 1"),
        ({"faults": ()}, "no faults"),
    ],
)
def test_a_design_that_cannot_be_is_refused(values, message):
    with pytest.raises(Unsupported, match=message):
        Design(**values)
    with pytest.raises(UnknownName, match="Unknown fault"):
        Design(faults=("forgets",))


def test_the_key_of_a_rollout_rests_on_all_that_decides_its_numbers():
    base = Walk("things", CASES[0], 0, "blur", 0.5)
    others = [
        Walk("decay", CASES[0], 0, "blur", 0.5),
        Walk("things", CASES[1], 0, "blur", 0.5),
        Walk("things", CASES[0], 1, "blur", 0.5),
        Walk("things", CASES[0], 0, "noise", 0.5),
        Walk("things", CASES[0], 0, "blur", 0.25),
    ]
    keys = [key_of(walk, 32, "classic+truth", {}) for walk in (base, *others)]
    keys += [
        key_of(base, 48, "classic+truth", {}),
        key_of(base, 32, "light+truth", {}),
        key_of(base, 32, "classic+truth", {"numpy": "3"}),
    ]
    assert len(set(keys)) == len(keys)


# ---------------------------------------------------------------- one value a rollout


def test_each_benchmark_counts_what_was_not_found_by_its_own_rule():
    scores = [
        Score("worldmembench", "object_appearance", "whole", "a", 1, 1.0),
        Score("worldmembench", "object_appearance", "whole", "a", 2, None, status="absent"),
        Score(
            "worldmembench",
            "object_appearance",
            "whole",
            value=0.5,
            detail={"curve": {"R1": 1.0, "R2": 0.0}},
        ),
        Score("mbench", "texture", "", "a", 1, 0.9),
        Score("mbench", "texture", "rollout", value=0.9),
        Score("mbench", "total", "family", value=0.8),
        Score("r2m", "psnr", "raw", value=30.0),
        Score("r2m", "psnr", "base", value=12.0),
        Score("r2m", "psnr", "nmr", value=40.0, status="unreliable"),
        Score("r2m", "ssim", "mg", value=0.13),
        Score("r2m", "psnr", "mg", value=9.0),
        Score("r2m", "state", "mg", None, status="not_applicable"),
    ]
    found = values_of(scores)
    assert found.values["worldmembench/object_appearance/whole"] == 0.5
    assert found.values["mbench/texture"] == 0.9 and found.values["mbench/total"] == 0.8
    assert "r2m/psnr/base" not in found.values and "r2m/psnr/nmr" not in found.values
    assert found.statuses["r2m/psnr/nmr"] == "unreliable"
    assert found.curves == {"worldmembench/object_appearance/whole": [1.0, 0.0]}
    # Both are of the appearance family: (9 / 4.5 + 0.13 / 0.13) / 2.
    assert found.values["r2m/mean/mg"] == pytest.approx(1.5)
    assert found.values["worldmembench/mean/whole"] == 0.5


def test_ranges_are_the_metrics_own_where_they_have_one():
    assert limits("worldmembench/environment_depth") == (-1.0, 1.0)
    assert limits("worldmembench/object_appearance/core") == (0.0, 1.0)
    assert limits("r2m/state/raw") == (1.0, 5.0)
    assert limits("r2m/psnr/raw") == (0.0, 58.92)
    assert limits("mbench/total") == (0.0, 1.0)
    for open_ended in (
        "worldmembench/rotation_rpe",
        "r2m/psnr/mg",
        "r2m/lpips/raw",
        "r2m/mean/nmr",
    ):
        assert limits(open_ended) is None


# ---------------------------------------------------------------- what is found


def rollouts(effects, cases=6, seeds=1, fault="blur", noise=0.001):
    """Return rollouts in which each score falls by its effect as the dose goes from 0 to 1."""
    rng = np.random.default_rng(0)
    return [
        finding(
            f"c{c}",
            s,
            fault if dose else "",
            dose,
            values={
                key: 0.9 - 0.01 * c + effect * dose + noise * rng.standard_normal()
                for key, effect in effects.items()
            },
        )
        for c in range(cases)
        for s in range(seeds)
        for dose in DOSES
    ]


def test_planted_curves_are_judged_by_what_was_written_down():
    effects = {
        "worldmembench/object_geometry/core": 0.0,
        "worldmembench/object_appearance/core": -0.2,
        "worldmembench/imaging_quality": -0.3,
        "worldmembench/rotation_rpe": 0.0,
    }
    design = Design(cases=6, seeds=1, faults=("blur",))
    found = analyse(rollouts(effects), design, "classic+truth", {"seconds": 1.0})
    verdicts = {r.subject: (r.expected, r.verdict) for r in found.responses}
    assert verdicts == {
        "worldmembench/object_geometry/core": ("ignores", "as expected"),
        "worldmembench/object_appearance/core": ("ignores", "not as expected"),
        "worldmembench/imaging_quality": ("falls", "as expected"),
        "worldmembench/rotation_rpe": ("ignores", "not as expected"),
    }
    # A score without a range of its own is read against the means that were met.
    free = found.subject("worldmembench/rotation_rpe")
    assert not free.bounded and free.high - free.low < 0.01
    bounded = found.subject("worldmembench/imaging_quality")
    assert (bounded.low, bounded.high, bounded.bounded) == (0.0, 1.0, True)
    assert bounded.perfect == pytest.approx(0.875, abs=0.01)
    assert bounded.spread == pytest.approx(0.0187, abs=0.002)
    assert bounded.noise is None


def test_people_and_things_share_what_is_walked_without_a_fault():
    rows = [replace(row, kind="things") for row in rollouts({"mbench/lighting": -0.1})]
    shared = [
        replace(row, kind="people") if row.case == "c0" and not row.fault else row for row in rows
    ]
    assert shared != rows
    design = Design(cases=6, seeds=1, faults=("blur",))
    counts = {r.counts for r in analyse(shared, design, "classic+truth", {}).responses}
    assert counts == {(6,) * len(DOSES)}


def test_noise_is_what_seeds_do_within_a_case():
    rows = rollouts({"mbench/lighting": 0.0}, seeds=4, noise=0.05)
    design = Design(cases=6, seeds=4, faults=("blur",))
    subject = analyse(rows, design, "classic+truth", {}).subject("mbench/lighting")
    assert subject.noise == pytest.approx(0.05, rel=0.4)


def test_a_calibration_survives_its_file(tmp_path):
    design = Design(cases=6, seeds=1, faults=("blur",))
    found = analyse(rollouts({"mbench/lighting": -0.1}), design, "classic+truth", {"a": [1]})
    (tmp_path / "calibration.json").write_text(found.to_json())
    assert Calibration.load(tmp_path / "calibration.json") == found


def claims(findings, subjects=(), responses=()):
    """Return claim -> control."""
    return {c.claim: c for c in controls(findings, subjects, responses)}


def test_nothing_walked_holds_nothing():
    assert all(control.holds is None for control in claims([]).values())


def test_frozen_gains_are_held_against_zero_and_ratios_against_their_flag():
    still = finding(
        fault="frozen",
        dose=1.0,
        values={"r2m/psnr/mg": 0.0},
        statuses={"r2m/psnr/nmr": "unreliable"},
        backbones={"r2m/psnr/nmr": ""},
    )
    found = claims([still])
    assert found["frozen: memory gain is 0 within noise"].holds is True
    assert found["frozen: the memory ratio is called unreliable"].holds is True
    bad = finding(
        case="b",
        fault="frozen",
        dose=1.0,
        values={"r2m/psnr/mg": 2.0},
        backbones={"r2m/psnr/nmr": ""},
    )
    found = claims([still, bad])
    assert found["frozen: memory gain is 0 within noise"].holds is False
    assert found["frozen: the memory ratio is called unreliable"].holds is False


def shown_less(fault, means, cases=3):
    """Return the controls of a memory gain that a world with less motion gave these means."""
    key = "r2m/mean/mg"
    doses = (0.0, 1.0) if fault == "frozen" else DOSES
    rows = [
        finding(f"c{c}", fault=fault if dose else "", dose=dose, values={key: mean})
        for c in range(cases)
        for dose, mean in zip(doses, means, strict=True)
    ]
    # Another fault takes the gain down to 0: its range is what was met.
    rows += [finding(f"c{c}", fault="forget", dose=1.0, values={key: 0.0}) for c in range(cases)]
    found = analyse(rows, Design(faults=(fault, "forget")), "classic+truth", {})
    return {c.claim: c for c in found.controls}


def test_a_score_that_a_frozen_video_reaches_is_gamed():
    claim = "a frozen video cannot game r2m/mean/mg"
    assert shown_less("frozen", (0.9, 0.1))[claim].holds is True
    assert shown_less("frozen", (0.9, 0.95))[claim].holds is False
    few = shown_less("frozen", (0.9, 0.95), cases=2)[claim]
    assert few.holds is None and "2 cases" in few.found


def test_who_moves_less_takes_the_pace_that_serves_best():
    for fault, who in (
        ("slow_motion", "a slow mover out of step"),
        ("camera_gain", "a camera that goes less far"),
    ):
        claim = f"{who} cannot game r2m/mean/mg"
        assert shown_less(fault, (0.9, 0.5, 0.6, 0.7, 0.8))[claim].holds is True
        gamed = shown_less(fault, (0.9, 0.5, 0.6, 0.89, 0.8))[claim]
        assert gamed.holds is False and gamed.values["dose"] == 0.75


def test_raw_similarity_is_held_against_flow():
    claim = "in a drifting world raw similarity follows flow more than gain and ratio do"
    rng = np.random.default_rng(0)
    rows = [
        finding(
            f"c{k}",
            fault="camera_gain",
            dose=0.5,
            kind="pace",
            flow=float(k),
            values={
                "r2m/psnr/raw": -float(k),
                "r2m/psnr/mg": float(rng.normal()),
                "r2m/psnr/nmr": float(rng.normal()),
            },
        )
        for k in range(30)
    ]
    assert claims(rows)[claim].holds is True
    rows = [replace(row, values=row.values | {"r2m/psnr/mg": row.flow**2}) for row in rows]
    assert claims(rows)[claim].holds is False


def test_paces_are_walked_in_a_world_that_drifts():
    walks = paces(Design(pace=2))
    # All paces of a case share one drift; cases do not.
    assert len(walks) == 10 and len({(w.case.id, w.seed) for w in walks}) == 2
    assert len({w.seed for w in walks}) == 2
    assert walks[1].planted == {"drift": DRIFT, "camera_gain": 0.25}
    plain = replace(walks[1], kind="things")
    assert plain.planted == {"camera_gain": 0.25}
    assert key_of(walks[1], 64, "classic", {}) != key_of(plain, 64, "classic", {})


def test_decay_is_what_forgetting_loses_and_the_perfect_world_keeps():
    claim = "decay over revisits appears with forgetting and not without"
    key = "worldmembench/object_appearance/whole"
    perfect = [finding("a", kind="decay", curves={key: [0.9, 0.9, 0.9]})]
    losing = [
        finding("a", s, "forget", 0.5, kind="decay", curves={key: [0.9, 0.7, 0.5]}) for s in (0, 1)
    ]
    assert claims(perfect + losing)[claim].holds is True
    steady = [finding("a", 0, "forget", 0.5, kind="decay", curves={key: [0.5, 0.5, 0.5]})]
    assert claims(perfect + steady)[claim].holds is False


def test_the_gate_tells_never_started_from_forgotten():
    claim = "the gate separates 'never started' from 'started and forgotten'"

    def event(fault, start, overall):
        return finding(
            fault=fault,
            dose=1.0,
            kind="event",
            values={
                "worldmembench/event_start": start,
                "worldmembench/dynamic_overall": overall,
                "worldmembench/dynamic_persistence": overall,
            },
        )

    rows = [event("event_absent", 0.0, 0.0), event("event_restart", 1.0, 0.6)]
    assert claims(rows)[claim].holds is True
    assert claims([rows[0], event("event_restart", 0.0, 0.0)])[claim].holds is False


# ---------------------------------------------------------------- going on


def test_a_killed_calibration_goes_on_and_gives_the_same(tmp_path):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, str(SCRIPT.parent)])}
    command = [sys.executable, str(SCRIPT), str(tmp_path / "killed"), "0.3"]
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
    record = tmp_path / "killed" / "rollouts.jsonl"
    try:
        limit = time.monotonic() + 90
        while not record.is_file() or len(record.read_text().splitlines()) < 2:
            assert process.poll() is None and time.monotonic() < limit
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    kept = read_findings(tmp_path / "killed")
    assert 2 <= len(kept) < 5
    # It may have died while it wrote a line.
    with record.open("a") as file:
        file.write('{"key": "ab')
    resumed = calibrate_plain(tmp_path / "killed")
    assert resumed.made == 5 - len(kept) and not resumed.failed
    again = calibrate_plain(tmp_path / "killed")
    assert again.made == 0
    assert again.calibration.responses == resumed.calibration.responses
    fresh = calibrate_plain(tmp_path / "fresh")
    assert fresh.made == 5
    assert fresh.calibration.responses == resumed.calibration.responses
    stored = Calibration.load(tmp_path / "killed" / "calibration.json")
    assert stored.responses == resumed.calibration.responses


@pytest.mark.parametrize(
    "wrong",
    [
        {"values": None},
        {"values": {"a": "1"}},
        {"values": {"a": float("nan")}},
        {"values": {"a": 10**400}},
        {"key": [1]},
        {"seed": 1.5},
        {"seconds": "x"},
        {"statuses": {"a": 1}},
        {"backbones": []},
        {"curves": {"a": 1.0}},
        {"curves": {"a": [None]}},
        {"flow": True},
        {"error": None},
    ],
)
def test_a_line_of_the_wrong_form_is_left_out(tmp_path, wrong):
    good = finding(
        values={"a": 1.0, "b": 2}, statuses={"c": "n/a"}, backbones={"a": "x"}, curves={"a": [1.0]}
    )
    rows = [asdict(good), {**asdict(good), "key": "other", **wrong}, [], 1, None, {"key": "few"}]
    (tmp_path / "rollouts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read_findings(tmp_path) == {good.key: good}


def calibrate_plain(folder):
    """Run the calibration of ``calibration_plain.py`` here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibrate, "plan", walks)
        return calibrate.run("classic+truth", folder, DESIGN, workers=1)


def test_a_rollout_that_breaks_is_named_and_tried_again(tmp_path, monkeypatch):
    perform = Stage._walk

    def broken(self, walk):
        if walk.fault == "blur":
            raise WorldEnvError("it broke")
        return perform(self, walk)

    monkeypatch.setattr(Stage, "_walk", broken)
    monkeypatch.setattr(calibrate, "plan", lambda design: walks(design)[:3])
    outcome = calibrate.run("classic+truth", tmp_path / "run", DESIGN, workers=1)
    assert list(outcome.failed.values()) == ["it broke"] * 2
    assert len(read_findings(tmp_path / "run")) == 1
    monkeypatch.setattr(Stage, "_walk", perform)
    assert calibrate.run("classic+truth", tmp_path / "run", DESIGN, workers=1).made == 2


def test_a_folder_of_something_else_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(calibrate, "plan", lambda design: walks(design)[:1])
    (tmp_path / "holiday.jpg").touch()
    with pytest.raises(StoreError, match="holds other files"):
        calibrate.run("classic+truth", tmp_path, DESIGN, workers=1)
    with pytest.raises(WorldEnvError, match="workers must be a whole number"):
        calibrate.run("classic+truth", tmp_path / "new", DESIGN, workers=0)


# ---------------------------------------------------------------- the command


def call(*arguments):
    """Call the command line."""
    return CliRunner().invoke(app, ["calibrate", *arguments])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fault", "forgets"], "Unknown fault 'forgets'"),
        (["--doses", "0,half,1"], "no list of numbers"),
        (["--doses", "0.5,1"], "doses must rise from 0 to 1"),
        (["--cases", "0"], "cases must be a whole number from 1"),
        (["--profile", "classy"], "Unknown profile 'classy'"),
        (["--workers", "0", "--plan"], "workers must be a whole number"),
    ],
)
def test_mistakes_are_told_in_one_line(arguments, message):
    result = call(*arguments)
    assert isinstance(result.exception, WorldEnvError)
    assert message in str(result.exception)


def test_plan_says_what_it_would_take_and_makes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call("--quick", "--plan")
    assert result.exit_code == 0, result.output
    assert "23 rollouts, about" in result.output
    assert not list(tmp_path.iterdir())


def test_a_slice_runs_from_the_command_line(tmp_path):
    out = tmp_path / "out"
    few = ["--cases", "1", "--seeds", "1", "--doses", "0,1", "--size", "64", "--workers", "1"]
    result = call("--quick", *few, "--fault", "vanish", "--out", str(out))
    assert result.exit_code == 0, result.output
    found = json.loads((out / "calibration.json").read_text())
    assert found["made"]["rollouts"] == 2
    moved = {r["subject"]: r["moved"] for r in found["responses"]}
    assert moved["worldmembench/human_appearance/core"] < -0.9
    assert moved["r2m/psnr/raw"] < -0.1 and moved["worldmembench/rotation_rpe"] == 0.0
    assert "report.html" in result.output and (out / "report.html").is_file()

"""Suites of others: imported whole or not at all, found again by id, walked by their own poses."""

import csv
import json

import cv2
import numpy as np
import pytest

from worldenv import schedule, suite_import, suites, trees
from worldenv.bench import Settings, run
from worldenv.camera import CameraPath
from worldenv.case import load_case, load_script, load_suite
from worldenv.offline_tree import score_all
from worldenv.policies import r2m, worldmembench
from worldenv.suite_tables import read_table
from worldenv.video import VideoWriter
from worldenv.world import UnknownName, Unsupported

K = [[969.77, 0, 960], [0, 969.77, 540], [0, 0, 1]]


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLDENV_SUITES", str(tmp_path / "suites"))


def picture(file, seed):
    file.parent.mkdir(parents=True, exist_ok=True)
    image = np.random.default_rng(seed).integers(0, 255, (36, 64, 3), np.uint8)
    cv2.imwrite(str(file), image)


@pytest.fixture
def release(tmp_path):
    """R2M-Bench as it is laid out: three lists, three pose files, images."""
    folder = tmp_path / "R2MBench"
    for i in range(3):
        picture(folder / "test_imgs" / f"{i}.png", i)
    scripts = {"DDDAAA": r2m.out_and_back(leg=24), "loop": r2m.closed_loop(leg=12)}
    for name, script in scripts.items():
        rows = {
            str(i): {"extrinsic": p.tolist(), "K": K} for i, p in enumerate(script.path().poses)
        }
        (folder / "poses").mkdir(exist_ok=True)
        (folder / "poses" / f"{name}.json").write_text(json.dumps(rows))
        listed = [
            {
                "image": f"test_imgs/{i}.png",
                "prompt": f"view {i}",
                "pose_json_path": f"poses/{name}.json",
            }
            for i in range(3)
        ]
        (folder / f"{name}.json").write_text(json.dumps(listed))
    return folder


def test_r2m_comes_in_whole(release):
    draft = suite_import.read_r2m(release, "r2m-bench")
    suites.save(draft)
    suite = load_suite("r2m-bench")
    assert suite.benchmark == "r2m" and suite.options == {"rule": "paper"}
    assert len(suite.cases) == 3 and len(suite) == 6
    case = load_case("r2m-bench/view/1")
    assert case.prompt == "view 1" and case.size == (1920, 1080) and case.K[0][0] == 969.77
    assert case.start().image.shape == (36, 64, 3)
    path = load_script(suite.items[0].script).path(None, case)
    assert np.allclose(path.poses, r2m.out_and_back(leg=24).path().poses)
    assert suites.verify("r2m-bench") == []


def test_an_imported_suite_is_walked_by_a_model(release, tmp_path):
    suites.save(suite_import.read_r2m(release, "r2m-bench"))
    results = run(
        "toy_world:make",
        ["r2m-bench"],
        cases=1,
        profile="classic",
        out=tmp_path / "run",
        controls=False,
    )
    assert not results.failed
    assert {row.suite for row in results.scores} == {"r2m-bench"}
    assert any(row.metric == "psnr" and row.value is not None for row in results.scores)


def test_what_is_missing_is_listed_and_the_rest_comes_in(release):
    (release / "test_imgs" / "1.png").unlink()
    draft = suite_import.read_r2m(release, "r2m-bench")
    assert len(draft.cases) == 2 and len(draft.left_out) == 2
    assert any("2 entries were left out" in line for line in suite_import.describe(draft))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda f: [p.unlink() for p in f.glob("*.json")], "no R2M-Bench metadata"),
        (lambda f: (f / "loop.json").write_text('[{"pose_json_path": 3}]'), 'no text "image"'),
        (lambda f: (f / "poses" / "loop.json").write_text('{"0": 1}'), "extrinsic"),
    ],
)
def test_other_layouts_are_one_line(release, change, says):
    change(release)
    with pytest.raises(suites.WorldEnvError, match=says) as caught:
        suites.save(suite_import.read_r2m(release, "r2m-bench"))
    assert "\n" not in str(caught.value) and suites.imported() == ()


def test_nothing_outside_the_folder_is_taken(release, tmp_path):
    picture(tmp_path / "secret.png", 9)
    rows = [
        {"image": "../secret.png", "prompt": "x", "pose_json_path": "poses/loop.json"},
        {"image": str(tmp_path / "secret.png"), "prompt": "x", "pose_json_path": "poses/loop.json"},
    ]
    (release / "bad.json").write_text(json.dumps(rows))
    draft = suite_import.read_r2m(release, "r2m-bench")
    assert len(draft.left_out) == 2 and len(draft.cases) == 3


def test_verify_finds_what_was_changed(release):
    place = suites.save(suite_import.read_r2m(release, "r2m-bench"))
    image = next((place / "images").iterdir())
    image.write_bytes(image.read_bytes()[:-20] + b"x" * 20)
    next((place / "poses").iterdir()).unlink()
    wrong = suites.verify("r2m-bench")
    assert any("was changed" in line for line in wrong)
    assert any("cannot be read" in line for line in wrong)
    (place / "suite.json").write_text("{")
    with pytest.raises(suites.InvalidSuite, match=r"suite\.json"):
        load_suite("r2m-bench")


def test_an_import_replaces_an_earlier_one_and_ids_are_plain(release):
    suites.save(suite_import.read_r2m(release, "mine"))
    (release / "loop.json").unlink()
    suites.save(suite_import.read_r2m(release, "mine"))
    assert len(load_suite("mine")) == 3 and suites.imported() == ("mine",)
    for name in ("r2m", "../x", "A b", ""):
        with pytest.raises(suites.InvalidSuite, match="no id"):
            suites.save(suite_import.read_r2m(release, name))
    with pytest.raises(UnknownName, match="mine"):
        load_suite("mein")


@pytest.mark.parametrize("name", ["suite:x/poses/a.json", "suite:x/../../etc", "suite:"])
def test_scripts_of_suites_stay_inside(name):
    with pytest.raises(UnknownName):
        load_script(name)


def test_pictures_of_one_name_in_two_folders_stay_two(release):
    for folder, seed in (("a", 20), ("b", 21)):
        picture(release / folder / "0001.png", seed)
    rows = [
        {"image": f"{f}/0001.png", "prompt": "a room", "pose_json_path": "poses/loop.json"}
        for f in ("a", "b")
    ]
    (release / "more.json").write_text(json.dumps(rows))
    suites.save(suite_import.read_r2m(release, "two"))
    cases = [c for c in load_suite("two").cases.values() if c.prompt == "a room"]
    assert len(cases) == 2
    first, second = (case.start().image for case in cases)
    assert not np.array_equal(first, second)


def test_a_case_with_two_cameras_is_refused(release):
    file = release / "poses" / "loop.json"
    data = json.loads(file.read_text())
    other = [[500.0, 0, 960], [0, 500.0, 540], [0, 0, 1]]
    file.write_text(json.dumps({k: {**v, "K": other} for k, v in data.items()}))
    with pytest.raises(suites.InvalidSuite, match="different K"):
        suite_import.read_r2m(release, "r2m-bench")


MAPPING = {
    "benchmark": "worldmembench",
    "table": "cases.csv",
    "note": "columns are assumed",
    "case": {
        "id": "{category}/{name}",
        "category": "{category}",
        "prompt": "{text}",
        "image": "frames/{name}.png",
        "targets": "{nouns}",
        "event": "{event}",
        "questions": "{questions}",
        "answers": "{answers}",
    },
    "scripts": {
        "column": "trajectory",
        "lr": "worldmembench:lrlr(hold=8,leg=8)",
        "hold": "worldmembench:dynamic",
    },
    "tree": {
        "pattern": "{category}/{model}/{trajectory}/{name}/video.mkv",
        "case": "{category}/{name}",
    },
}
EIGHT = (json.dumps(["Q?"] * 8), json.dumps(["yes"] * 8))
ROWS = [
    ("object", "c1", "a room", "chair;chair;lamp", "", "", "", "lr"),
    ("dynamic", "c2", "ice", "ice", "it melts", *EIGHT, "hold"),
    ("object", "c3", "a hall", "door", "", "", "", "spin"),
]


@pytest.fixture
def mapped(tmp_path):
    folder = tmp_path / "wmb"
    for name in ("c1", "c2", "c3"):
        picture(folder / "frames" / f"{name}.png", 1)
    header = "category name text nouns event questions answers trajectory".split()
    with (folder / "cases.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerows([header, *ROWS])
    return folder


def test_a_mapping_tells_of_any_table(mapped):
    draft = suite_import.read_mapped(mapped, "wmb", MAPPING)
    suites.save(draft)
    suite = load_suite("wmb")
    case = suite.cases["wmb/object/c1"]
    assert [(t.name, t.noun) for t in case.targets] == [
        ("chair-1", "chair"),
        ("chair-2", "chair"),
        ("lamp-1", "lamp"),
    ]
    event = suite.cases["wmb/dynamic/c2"].event
    assert len(event.questions) == 8 and all(event.answers)
    assert [item.script for item in suite] == [MAPPING["scripts"]["lr"], "worldmembench:dynamic"]
    assert any("'spin'" in line for line in draft.left_out)
    assert "columns are assumed" in suite_import.describe(draft)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"benchmark": "other"}, "benchmark of the mapping"),
        ({"table": "no.csv"}, "has no no.csv"),
        ({"case": {"id": "{nothing}"}}, "no column 'nothing'"),
        ({"case": {"id": "{name}", "colour": "x"}}, "field of"),
        ({"case": {"id": "../{name}"}}, "the id"),
        ({"scripts": {}}, r"no \[scripts\]"),
        ({"scripts": {"all": "worldmembench:spin"}}, "script"),
        ({"scripts": {"column": "trajectory", "x": "worldmembench:lrlr"}}, "could be imported"),
    ],
)
def test_wrong_mappings_are_one_line(mapped, change, says):
    with pytest.raises(suites.WorldEnvError, match=says) as caught:
        suite_import.read_mapped(mapped, "wmb", {**MAPPING, **change})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("answer", ["Y", "correct", "ja", "", "2"])
def test_an_answer_that_is_neither_yes_nor_no_is_refused(mapped, answer):
    text = (mapped / "cases.csv").read_text()
    (mapped / "cases.csv").write_text(text.replace('""yes""', f'""{answer}""', 1))
    with pytest.raises(suites.InvalidSuite, match=r"the answer|8 questions and 7"):
        suite_import.read_mapped(mapped, "wmb", MAPPING)


def test_frozen_questions_come_in_by_their_file(mapped):
    from worldenv.evaluators.judging import proposals

    rows = [
        {"aspect": aspect, "question": f"Is it {n} ({aspect})?", "answer": answer}
        for aspect in proposals.ASPECTS
        for n, answer in (("so", "yes"), ("not so", "no"))
    ]
    found = proposals.QuestionSet(event="it melts", questions=rows)
    proposals.save_questions(found, mapped / "q.json")
    case = {**MAPPING["case"], "questions_file": "q.json"}
    with pytest.raises(suites.InvalidSuite, match="not frozen"):
        suite_import.read_mapped(mapped, "wmb", {**MAPPING, "case": case})
    (mapped / "q.json").unlink()
    proposals.save_questions(proposals.freeze(found), mapped / "q.json")
    draft = suite_import.read_mapped(mapped, "wmb", {**MAPPING, "case": case})
    event = draft.cases["wmb/dynamic/c2"].event
    assert event.questions == found.texts and event.answers == (True, False) * 4


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("t.csv", "a,b\n1,\xe9\n".encode("latin-1"), "cannot be read"),
        ("t.csv", b"a,b\n1,2,3\n", "more cells"),
        ("t.csv", b"a,b\n1," + b"x" * 200_000 + b"\n", "cannot be read"),
        ("t.jsonl", b"\xff\xfe", "cannot be read"),
        ("t.json", b"{", "no JSON"),
    ],
)
def test_tables_that_cannot_be_read_are_one_line(tmp_path, name, data, says):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(suites.InvalidSuite, match=says) as caught:
        list(read_table(tmp_path, name))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["../t.csv", "/etc/hosts"])
def test_tables_lie_in_the_folder(tmp_path, name):
    (tmp_path / "t.csv").write_text("a\n1\n")
    with pytest.raises(suites.InvalidSuite, match="must lie"):
        list(read_table(tmp_path, name))


def test_the_mark_of_spreadsheets_is_no_part_of_a_column(tmp_path):
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbfcat,b\n1,2\n")
    assert list(read_table(tmp_path, "t.csv")) == [{"cat": "1", "b": "2"}]


@pytest.mark.parametrize("name", trees.MAPPINGS)
def test_mappings_that_come_with_it_are_whole_and_say_that_they_assume(name):
    mapping = trees.load_mapping(name)
    assert "assumed" in mapping["note"] and mapping["benchmark"] == name
    assert suite_import.scripts_of(mapping)["of"]
    assert "pattern" in mapping["tree"]


def walk(file, frames=41, seed=0):
    file.parent.mkdir(parents=True, exist_ok=True)
    image = np.random.default_rng(seed).integers(0, 255, (36, 64, 3), np.uint8)
    writer = VideoWriter(file, (64, 36), 16)
    writer.write(np.repeat(image[None], frames, axis=0))
    writer.close()


SHORT = MAPPING["scripts"]["lr"]


def test_a_published_tree_is_scored_and_what_does_not_fit_is_listed(mapped, tmp_path):
    suites.save(suite_import.read_mapped(mapped, "wmb", MAPPING))
    suite = load_suite("wmb")
    n = len(load_script(SHORT).path())
    tree = tmp_path / "data"
    walk(tree / "object" / "modelA" / "lr" / "c1" / "video.mkv", n)
    walk(tree / "object" / "modelB" / "lr" / "c1" / "video.mkv", n - 1)
    walk(tree / "object" / "modelB" / "spin" / "c3" / "video.mkv", n)
    walk(tree / "object" / "modelB" / "lr" / "c9" / "video.mkv", n)
    walk(tree / "stray.mkv", n)
    found = trees.find_tree(tree, MAPPING, suite)
    assert len(found.walked) == 2 and len(found.unmatched) == 3
    assert any("stray" in line for line in found.unmatched)
    assert any("no case 'object/c9'" in line for line in found.unmatched)
    assert "modelA: wmb/dynamic/c2@worldmembench:dynamic" in found.missing
    results = score_all(found.walked, out=tmp_path / "run", suite=suite)
    assert set(results) == {"modelA", "modelB"}
    good, bad = results["modelA"], results["modelB"]
    assert good.made == 1 and not good.failed
    assert {row.case for row in good.scores} == {"wmb/object/c1"}
    assert next(iter(bad.failed.values())).endswith("expected one pose a frame")
    again = score_all(found.walked[:1], out=tmp_path / "run", suite=suite)["modelA"]
    assert again.made == 0 and again.scores == good.scores


def test_tasks_and_lists_are_scored(tmp_path):
    path = r2m.out_and_back(leg=12).path()
    n = len(path)
    poses = tmp_path / "poses.json"
    rows = {str(i): {"extrinsic": p.tolist(), "K": K} for i, p in enumerate(path.poses)}
    poses.write_text(json.dumps(rows))
    walk(tmp_path / "out" / "1.mkv", n)
    walk(tmp_path / "out" / "2.mkv", n, seed=2)
    found = trees.find_tasks([f"mine|{tmp_path / 'out'}|{poses}"])
    assert [w.entry.video.name for w in found.walked] == ["1.mkv", "2.mkv"]
    with pytest.raises(Unsupported, match="the task 'mine' is not"):
        trees.find_tasks(["mine"])
    listed = tmp_path / "list.json"
    row = {"video": "out/1.mkv", "path": "poses.json", "world": "other"}
    listed.write_text(
        json.dumps([row, {"video": "out/2.mkv", "script": "r2m:out_and_back(leg=12)"}])
    )
    found = trees.find_listed(listed)
    assert [w.world for w in found.walked] == ["other", "list"]
    results = score_all(found.walked, out=tmp_path / "run", benchmarks=["r2m"])
    assert all(not r.failed and r.scores for r in results.values())
    listed.write_text(json.dumps([{**row, "angle": 3}]))
    with pytest.raises(UnknownName, match="angle"):
        trees.find_listed(listed)


def test_videos_of_one_name_are_kept_apart_and_those_of_one_item_refused(mapped, tmp_path):
    path = r2m.out_and_back(leg=12).path()
    poses = tmp_path / "poses.json"
    rows = {str(i): {"extrinsic": p.tolist(), "K": K} for i, p in enumerate(path.poses)}
    poses.write_text(json.dumps(rows))
    for folder, seed in (("rot", 1), ("tr", 2)):
        walk(tmp_path / folder / "HY" / "1.mkv", len(path), seed=seed)
    tasks = [f"HY|{tmp_path / f / 'HY'}|{poses}" for f in ("rot", "tr")]
    found = trees.find_tasks(tasks)
    results = score_all(found.walked, out=tmp_path / "run", benchmarks=["r2m"])["HY"]
    assert results.made == 2 and len({row.case for row in results.scores}) == 2
    again = score_all(found.walked, out=tmp_path / "run", benchmarks=["r2m"])["HY"]
    assert again.made == 0 and again.scores == results.scores
    suites.save(suite_import.read_mapped(mapped, "wmb", MAPPING))
    suite = load_suite("wmb")
    n = len(load_script(SHORT).path())
    for name in ("x", "y"):
        walk(tmp_path / "data" / name / "object" / "m" / "lr" / "c1" / "video.mkv", n)
    tree = {**MAPPING, "tree": {**MAPPING["tree"], "pattern": "{x}/" + MAPPING["tree"]["pattern"]}}
    tree["tree"]["pattern"] = tree["tree"]["pattern"].replace("{category}", "object")
    tree["tree"]["case"] = "object/{name}"
    found = trees.find_tree(tmp_path / "data", tree, suite)
    with pytest.raises(Unsupported, match="both of wmb/object/c1"):
        score_all(found.walked, out=tmp_path / "run2", suite=suite)
    del tree["tree"]["case"]
    with pytest.raises(suites.InvalidSuite, match="no template"):
        trees.find_tree(tmp_path / "data", tree, suite)


def test_a_path_of_a_suite_is_a_plan_only(release):
    suites.save(suite_import.read_r2m(release, "r2m-bench"))
    script = load_script(load_suite("r2m-bench").items[0].script)
    assert isinstance(script.path(), CameraPath)
    with pytest.raises(Unsupported, match="plan"):
        script.path(control="primitive")
    assert worldmembench.lrlr().name


def test_a_selection_that_leaves_nothing_or_is_none_is_refused():
    suite = load_suite("r2m")
    for cases in (0, -3, True, [], "r2m/indoor/001", 1.5):
        with pytest.raises(Unsupported, match="cases must be"):
            suite.select(cases)
    assert len(suite.select(2).cases) == 2


def test_r2m_is_walked_with_three_seeds_unless_others_are_asked_for():
    settings = Settings("Reference-v0", {}, "classic+truth")
    walked = schedule.plan(settings, ["r2m"], 1, controls=False)
    assert [e.seed for e in walked] == [0, 1, 2] * 3
    assert {e.seed for e in schedule.plan(settings, ["r2m"], 1, [5], controls=False)} == {5}
    assert {e.seed for e in schedule.plan(settings, ["mbench"], 1, controls=False)} == {0}

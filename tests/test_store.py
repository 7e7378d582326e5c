"""The store: keys, names, atomic writes, locks, the index."""

import json
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worldenv import store
from worldenv.case import Case
from worldenv.store import EpisodeRecord, StoreError
from worldenv.world import WorldSpec

K = ((100.0, 0.0, 32.0), (0.0, 100.0, 32.0), (0.0, 0.0, 1.0))


def record(**changes):
    score = {
        "benchmark": "r2m",
        "metric": "ssim",
        "variant": "mg",
        "target": None,
        "revisit": None,
        "value": 0.25,
        "n_valid": 3,
        "n_expected": 4,
        "status": "ok",
        "detail": {"rev": 0.5, "base": 0.25},
        "final_at": 480,
    }
    values = {
        "status": "done",
        "suite": "r2m",
        "case": "r2m/indoor/000",
        "category": "indoor",
        "script": "r2m:closed_loop",
        "seed": 0,
        "control": "",
        "world": "Reference-v0",
        "profile": "classic+truth",
        "frames": 481,
        "rollout_key": "a",
        "score_key": "b",
        "digest": "c",
        "constants_version": "1",
        "backbones": {"embed": {"name": "hog"}},
        "scores": [score],
    }
    return EpisodeRecord(**{**values, **changes})


def keep(run, name, item):
    folder = run / "episodes" / "r2m" / name
    folder.mkdir(parents=True)
    store.write_json(folder / "scores.json", item.model_dump())
    return folder


def test_index_gives_back_what_the_folders_hold(tmp_path):
    keep(tmp_path, "b", record(seed=1))
    keep(tmp_path, "a", record())
    rows = store.write_index(tmp_path, store.records(tmp_path))
    assert [row.episode for row in rows] == ["r2m/a", "r2m/b"]
    assert store.read_index(tmp_path) == rows
    assert rows[0].value == 0.25 and rows[0].detail == {"rev": 0.5, "base": 0.25}
    assert len({row.id for row in rows}) == 2


def test_index_is_plain_sqlite(tmp_path):
    keep(tmp_path, "a", record())
    store.write_index(tmp_path, store.records(tmp_path))
    with sqlite3.connect(tmp_path / "scores.sqlite") as database:
        query = 'SELECT "case", metric, variant, value FROM scores'
        assert database.execute(query).fetchall() == [("r2m/indoor/000", "ssim", "mg", 0.25)]


def test_damaged_records_are_left_out(tmp_path):
    keep(tmp_path, "a", record())
    (keep(tmp_path, "b", record()) / "scores.json").write_text('{"half')
    assert [name for name, _ in store.records(tmp_path)] == ["r2m/a"]


def test_a_damaged_index_says_how_to_rebuild_it(tmp_path):
    (tmp_path / "scores.sqlite").write_bytes(b"not a database, but long enough to be one" * 40)
    with pytest.raises(StoreError, match="worldenv collect"):
        store.read_index(tmp_path)
    (tmp_path / "scores.sqlite").unlink()
    with pytest.raises(StoreError, match="worldenv collect"):
        store.read_index(tmp_path)


def test_a_folder_that_is_no_run_is_named(tmp_path):
    with pytest.raises(StoreError, match="no episodes"):
        store.records(tmp_path)


def test_full_disks_leave_nothing_half_written():
    from pathlib import Path

    with pytest.raises(StoreError, match="disk is full"), store.explain_os_errors(Path("x")):
        raise OSError(28, "No space left on device")


def test_failed_writes_keep_the_old_file(tmp_path):
    path = tmp_path / "scores.json"
    store.write_json(path, {"old": True})
    with pytest.raises(ValueError, match="JSON"):
        store.write_json(path, {"new": float("nan")})
    assert json.loads(path.read_text()) == {"old": True}
    assert [p.name for p in tmp_path.iterdir()] == ["scores.json"]


@given(st.text(max_size=200))
def test_folder_names_are_safe_and_stable(text):
    name = store.safe_name(text)
    assert name == store.safe_name(text)
    assert name not in ("", ".", "..") and "/" not in name and "\0" not in name
    assert len(name) <= 89 and name.isascii() and not name.startswith(".")


@given(st.text(max_size=30), st.text(max_size=30))
def test_folder_names_tell_texts_apart(a, b):
    assert (store.safe_name(a) == store.safe_name(b)) == (a == b)


@pytest.mark.parametrize(
    "change",
    [{"seed": 1}, {"control": "frozen"}, {"script": "r2m:out_and_back"}, {"device": "cuda"}],
)
def test_keys_change_with_everything_that_decides_the_frames(change):
    spec = WorldSpec(name="toy", size=(64, 64), K=K, fps=16.0)
    base = {
        "options": {},
        "case": Case(id="r2m/a/0"),
        "script": "r2m:closed_loop",
        "seed": 0,
        "control": "",
    }
    assert store.rollout_key(spec, **base) == store.rollout_key(spec, **base)
    assert store.rollout_key(spec, **base) != store.rollout_key(spec, **{**base, **change})
    other = WorldSpec(name="toy", size=(64, 64), K=K, fps=16.0, weights_revision="2")
    assert store.rollout_key(spec, **base) != store.rollout_key(other, **base)

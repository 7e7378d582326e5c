"""Contact sheets of suites."""

import numpy as np
import pytest

from worldenv.case import Case, Item, Suite, Target
from worldenv.report.sheet import outlined, write_sheet
from worldenv.store import StoreError


def test_the_outline_runs_around_the_instance():
    frame = np.zeros((40, 40, 3), np.uint8)
    ids = np.zeros((40, 40), np.uint16)
    ids[10:30, 10:30] = 7
    shown = outlined(frame, ids, [("thing", 7), ("absent", 9)])
    assert shown[10:30, 10].any() and shown[10, 10:30].any()
    assert not shown[15:25, 15:25].any() and not shown[:7].any() and not shown[33:].any()
    assert not frame.any()


def test_a_sheet_holds_every_case_and_escapes_its_names(tmp_path):
    hostile = Case(
        "x/<b>bold</b>",
        "kind<script>",
        scene={"family": "plain", "seed": 1},
        targets=(Target("<i>thing", "box", 1),),
    )
    plain = Case("x/two", "kind", scene={"family": "plain", "seed": 1})
    items = (Item(hostile, "worldmembench:lrlr"), Item(plain, "worldmembench:lrud"))
    suite = Suite("x", "worldmembench", items)
    drawn = []
    page = write_sheet(suite, tmp_path / "new" / "sheet.html", drawn.append).read_text("utf-8")
    assert drawn == ["x/<b>bold</b>", "x/two"]
    assert page.count("<figure>") == 2 and page.count("data:image/jpeg") == 2
    assert "<script>" not in page and "<b>bold" not in page and "&lt;i&gt;thing" in page
    assert not list(tmp_path.rglob("*.tmp"))


def test_a_sheet_that_cannot_be_written_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    case = Case("x/a", scene={"family": "plain", "seed": 1})
    one = Suite("x", "worldmembench", (Item(case, "worldmembench:lrlr"),))
    with pytest.raises(StoreError, match="a file is in the way"):
        write_sheet(one, tmp_path / "file" / "sheet.html")
    with pytest.raises(StoreError, match=r"name it \.html, not sheet\.png"):
        write_sheet(one, tmp_path / "sheet.png")
    assert not (tmp_path / "sheet.png").exists()

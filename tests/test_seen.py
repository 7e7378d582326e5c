"""Whose face it is, and what silhouettes, presence and a second look say of a frame."""

import numpy as np
import pytest

from worldenv.evaluators.backbones.faces import Face
from worldenv.evaluators.backbones.regions import region
from worldenv.evaluators.backbones.seen import Glances, Presence, Silhouettes, portraits
from worldenv.evaluators.plan import Ask, Thing


def face(left, top, side=4):
    box = np.array([left, top, left + side, top + side], np.float32)
    return Face(box, np.zeros((5, 2), np.float32), 0.9), np.array([1.0, 0.0], np.float32)


def person(track, left, top, right, bottom, hole=None):
    mask = np.zeros((40, 40), bool)
    mask[top:bottom, left:right] = True
    if hole is not None:
        mask[hole] = False
    return region(track, "person", mask)


def owners(faces, regions):
    found = portraits([face(*f) for f in faces], regions)
    return [None if p.owner is None else p.owner.track for p in found]


def test_a_face_belongs_to_the_person_whose_box_holds_it():
    left, right = person(5, 0, 0, 15, 40), person(7, 20, 0, 40, 40)
    assert owners([(25, 2), (3, 3)], [left, right]) == [7, 5]
    # More than half of it lies beside the box.
    assert owners([(14, 2)], [left]) == [None]
    assert owners([(13, 2)], [left]) == [5]
    assert owners([], [left]) == [] and owners([(3, 3)], []) == [None]


def test_where_boxes_overlap_the_mask_decides():
    around = person(1, 0, 0, 40, 40, hole=np.s_[10:30, 10:30])
    inside = person(2, 10, 10, 30, 30)
    assert owners([(15, 15)], [around, inside]) == [2]
    assert owners([(2, 2)], [around, inside]) == [1]


def test_one_face_a_person():
    one = person(3, 0, 0, 20, 20)
    # The second lies wholly in the mask, the first half outside.
    assert owners([(18, 5), (5, 5)], [one]) == [None, 3]
    assert owners([(5, 5), (5, 12)], [one]) == [3, None]


def test_owners_keep_no_mask_and_boxes_may_leave_the_frame():
    (found,) = portraits([face(-2, -2)], [person(3, 0, 0, 20, 20)])
    assert found.owner is None
    (found,) = portraits([face(-1, 0)], [person(3, 0, 0, 20, 20)])
    assert found.owner.track == 3 and found.owner.mask.size == 0 and found.owner.area == 0.25


def test_silhouettes_and_presence_keep_what_is_large_enough():
    tiny = person(1, 0, 0, 1, 2)
    large = person(2, 10, 10, 20, 30)
    ask = Ask("silhouette", (0,), Thing("person"))
    (shapes,) = Silhouettes().compute([ask], [((None, (large, tiny)),)])
    assert shapes[1][1] is None and shapes[2][1].shape == (128, 128)
    assert shapes[2][0].mask.size == 0
    (present,) = Presence().compute([ask], [((large, tiny),)])
    assert present == {2}
    assert Glances().compute([ask], [((large, tiny),)]) == [2]
    assert Glances().needs(ask) == (Ask("second_detect", (0,), Thing("person")),)


def test_a_region_is_sure_unless_it_says_otherwise():
    mask = np.ones((4, 4), bool)
    assert region(1, "cup", mask).score == 1.0
    assert region(1, "cup", mask, 0.3).score == pytest.approx(0.3)

"""WorldMemBench's people and objects and its quality, on painted frames without truth."""

from dataclasses import replace

import numpy as np
import pytest
from boxes_world import lrlr
from toy_roles import Brightness, Painted, Segments, kept, paint, play, roles

from worldenv.case import Case, Target
from worldenv.evaluators import worldmembench
from worldenv.evaluators.plan import Ask
from worldenv.evaluators.windows import sampled

PATH = lrlr(6, 1)
BACK = int(PATH.frames_of("R1")[0])
AWAY = PATH.frames_of("D1")[4:].tolist()
MAN = Painted("person", 10, (4, 8, 20, 40), face=20)
WOMAN = Painted("person", 90, (30, 8, 42, 40), face=120)
CHAIR = Painted("chair", 40, (46, 30, 60, 50))
CASE = Case(
    "worldmembench/human/000",
    category="human",
    targets=(Target("a", "person"), Target("b", "person"), Target("c", "chair")),
)


def video(before, after):
    """Return frame -> things: ``before`` in V, nothing while away, ``after`` on the way back."""

    def things(frame):
        if frame in AWAY:
            return ()
        return before if frame < BACK else after

    return things


def score(before, after, **keywords):
    keywords.setdefault("case", CASE)
    return play(worldmembench, PATH, video(before, after), **keywords)


def cos(degrees):
    return pytest.approx(max(0.0, np.cos(np.radians(degrees))), abs=1e-6)


def test_everything_kept_scores_one_without_truth():
    scores = score((MAN, WOMAN, CHAIR), (MAN, WOMAN, CHAIR))
    for metric, target in (
        ("human_identity", "a"),
        ("human_identity", "b"),
        ("human_appearance", "b"),
        ("object_appearance", "c"),
        ("object_geometry", "c"),
    ):
        for variant in ("whole", "core"):
            found = scores[metric, variant, target, 1]
            assert found.value == 1.0, (metric, variant)
            assert found.detail["departed"] is True
        assert scores[metric, "whole", target, 1].n_valid == len(sampled(PATH, "R1"))
    assert scores["human_identity", "whole", None, None].value == 1.0
    for metric, target, backbone in (
        ("human_identity", "a", "toy-identity"),
        ("object_appearance", "c", "toy-embed"),
        ("object_geometry", "c", "toy-segment"),
    ):
        assert scores[metric, "whole", target, 1].detail["backbone"] == backbone


def test_identity_is_the_largest_clipped_cosine_to_the_faces_at_the_start():
    """Clothes and face change apart: each metric sees its own."""
    other = replace(MAN, face=80)
    scores = score((MAN, WOMAN), (other, WOMAN))
    assert scores["human_identity", "whole", "a", 1].value == cos(60)
    assert scores["human_identity", "whole", "b", 1].value == 1.0
    assert scores["human_appearance", "whole", "a", 1].value == 1.0
    dressed = replace(MAN, looks=60)
    scores = score((MAN, WOMAN), (dressed, WOMAN))
    assert scores["human_identity", "whole", "a", 1].value == 1.0
    assert scores["human_appearance", "whole", "a", 1].value == cos(50)
    # Beyond a right angle the cosine is clipped.
    scores = score((MAN, WOMAN), (replace(MAN, face=200), WOMAN))
    assert scores["human_identity", "whole", "a", 1].value == 0.0


def test_several_reference_faces_count_by_the_best_of_them():
    def things(frame):
        if frame in AWAY:
            return ()
        if frame < BACK:
            return (replace(MAN, face=20 if frame < 4 else 60),)
        return (replace(MAN, face=70),)

    case = replace(CASE, targets=CASE.targets[:1])
    scores = play(worldmembench, PATH, things, case=case)
    assert scores["human_identity", "whole", "a", 1].value == cos(10)


def test_a_face_that_was_never_seen_or_is_not_seen_again():
    turned = replace(MAN, face=None)
    scores = score((MAN, WOMAN), (turned, WOMAN))
    lost = scores["human_identity", "whole", "a", 1]
    assert lost.status == "no_observation" and "no face" in lost.detail["reason"]
    # It counts 0 beside the other person.
    assert scores["human_identity", "whole", None, None].value == 0.5
    scores = score((turned, WOMAN), (MAN, WOMAN))
    never = scores["human_identity", "whole", "a", 1]
    assert never.status == "not_applicable" and "initial" in never.detail["reason"]
    assert scores["human_identity", "whole", None, None].value == 1.0
    scores = score((MAN, WOMAN), ())
    for metric in ("human_identity", "human_appearance"):
        assert scores[metric, "whole", "a", 1].status == "absent"


def test_targets_take_what_is_large_and_sure_in_their_order():
    """No instance is known and track numbers hold in one window only."""
    faint = replace(MAN, sure=60, box=(4, 8, 21, 40), looks=10)
    scores = score((faint, WOMAN), (faint, replace(WOMAN, looks=150)))
    # 17 x 32 x 0.6 is less than 12 x 32 x 0.9: the woman is the first target.
    assert scores["human_appearance", "whole", "a", 1].value == cos(60)
    assert scores["human_appearance", "whole", "b", 1].value == 1.0
    known = replace(CASE, targets=tuple(replace(t, instance=k) for k, t in enumerate(CASE.targets)))
    assert (
        score((faint, WOMAN), (faint, WOMAN), case=known)["human_appearance", "whole", "a", 1].value
        == 1.0
    )


def test_what_enters_after_the_first_frame_goes_last():
    def things(frame):
        if frame in AWAY:
            return ()
        huge = Painted("person", 170, (22, 2, 60, 62))
        return (MAN,) if frame < 4 or frame >= BACK else (huge, MAN)

    case = replace(CASE, targets=CASE.targets[:1])
    assert (
        play(worldmembench, PATH, things, case=case)["human_appearance", "whole", "a", 1].value
        == 1.0
    )


def test_a_detector_that_misses_is_told_from_a_thing_that_is_gone():
    faint = replace(CHAIR, sure=20)
    second = roles(second_detect=Segments(least=10))
    missed = score((MAN, CHAIR), (MAN, faint), toys=second)["object_appearance", "whole", "c", 1]
    assert missed.status == "no_observation"
    gone = score((MAN, CHAIR), (MAN,), toys=second)["object_appearance", "whole", "c", 1]
    assert gone.status == "absent"
    # Without a second detector nothing can be known of the faint one.
    assert (
        score((MAN, CHAIR), (MAN, faint))["object_appearance", "whole", "c", 1].status == "absent"
    )


def test_a_profile_that_knows_people_only_answers_for_people():
    scores = score((MAN, WOMAN, CHAIR), (MAN, WOMAN, CHAIR), nouns={"segment": ("person",)})
    assert scores["human_appearance", "whole", "a", 1].value == 1.0
    for metric in ("object_appearance", "object_geometry"):
        chair = scores[metric, "whole", "c", 1]
        assert chair.status == "unavailable" and "no chair" in chair.detail["reason"]


def test_roles_that_are_missing_leave_the_others():
    scores = score((MAN, WOMAN), (MAN, WOMAN), toys=roles(identity=None, quality=None))
    assert scores["human_identity", "whole", "a", 1].status == "unavailable"
    assert scores["human_appearance", "whole", "a", 1].value == 1.0
    assert scores["imaging_quality", "", None, None].status == "unavailable"
    assert scores["aesthetic_quality", "", None, None].status == "ok"


def test_a_bystander_in_view_hides_that_the_targets_left():
    """Tracks of a window mean nothing elsewhere: only an empty view proves that all are gone."""
    short = lrlr(6, 1)
    poses = np.array(short.poses)
    poses[:] = np.eye(4)
    still = type(short)(poses, phases=short.phases)
    case = replace(CASE, targets=CASE.targets[:1])
    for away, departed in (((), True), ((WOMAN,), False)):
        found = play(
            worldmembench, still, lambda f, away=away: away if f in AWAY else (MAN,), case=case
        )["human_appearance", "whole", "a", 1]
        assert found.detail["departed"] is departed


def test_quality_is_the_clipped_mean_of_every_fourth_frame():
    def frame(f):
        return paint((), background=min(10 * f, 250))

    toys = roles()
    found = play(worldmembench, PATH, frame, toys=toys)["imaging_quality", "", None, None]
    every = range(0, len(PATH), 4)
    assert found.value == pytest.approx(np.mean([min(1.0, min(10 * f, 250) / 100) for f in every]))
    assert found.n_valid == found.n_expected == len(every)
    assert [ask.frames[0] for ask in toys["quality"].asked] == list(every)
    broken = type("Broken", (Brightness,), {"answer": lambda self, ask, frame: 1 / 0})
    error = play(worldmembench, PATH, frame, toys=roles(quality=broken()))
    assert error["imaging_quality", "", None, None].status == "error"
    assert error["aesthetic_quality", "", None, None].status == "ok"


@pytest.mark.parametrize("chunk", [1, 5, 100])
def test_any_chunking_gives_the_same_bits(chunk):
    after = (replace(MAN, face=33, looks=21), WOMAN, replace(CHAIR, looks=71))
    toys = roles(second_detect=Segments(least=10))
    found = score((MAN, WOMAN, CHAIR), after, toys=toys, chunk=chunk)
    assert found == score((MAN, WOMAN, CHAIR), after, toys=toys)
    for toy in (toys["quality"], toys["second_detect"]):
        assert toy.asked


class Follower(Segments):
    """Needs the regions of the frame before in its window, as a tracker does."""

    def needs(self, ask):
        before = ask.subject.before(ask.frames[0])
        chain = () if before is None else (Ask("segment", (before,), ask.subject),)
        return (*super().needs(ask), *chain)

    def answer(self, ask, frame, before=()):
        assert all(r.track >= 1000 * ask.subject.window[0] for r in before)
        return super().answer(ask, frame)


def test_long_windows_keep_neither_frames_nor_masks():
    path = lrlr(1, 3)
    things = (MAN, WOMAN, CHAIR)
    most = dict.fromkeys(("pixels", "segment", "cutout", "embed"), 0)

    def watch(engine):
        for role in most:
            most[role] = max(most[role], kept(engine, role))

    found = play(
        worldmembench, path, lambda f: things, roles(segment=Follower()), 8, case=CASE, watch=watch
    )
    assert found["object_appearance", "whole", None, None].value == 1.0
    # The last regions of each noun wait for the next frame of their window.
    assert most["pixels"] == 0 == most["cutout"] and most["segment"] <= 2
    # What V looked like stays, with one return at a time, of two nouns and of the whole view.
    initial, back = len(sampled(path, "V")), len(sampled(path, "R1"))
    assert 0 < most["embed"] <= 2 * (initial + back) + 1 + back

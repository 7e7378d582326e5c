"""MBench without truth, on painted frames: both suites, by hand."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from boxes_world import exit_reenter
from toy_roles import Identities, Painted, Segments, circle, paint, play, roles

from worldenv.camera import CameraPath, walk
from worldenv.case import Case, Event, Target
from worldenv.evaluators import mbench
from worldenv.evaluators.folds import folds, neighbours
from worldenv.evaluators.metrics import centroid_consistency
from worldenv.evaluators.metrics.appearance import lab_mean
from worldenv.evaluators.metrics.match import Matches
from worldenv.evaluators.plan import Context, pixels
from worldenv.evaluators.profile import assemble
from worldenv.evaluators.windows import text_segments, uniform
from worldenv.policies.mbench import continuation
from worldenv.world import fit_path

MAN = Painted("person", 10, (4, 8, 20, 40), face=20)
WOMAN = Painted("person", 90, (30, 8, 42, 40), face=160)
CHAIR = Painted("chair", 40, (46, 30, 60, 50))
CASE = Case(
    "mbench/human/000",
    category="human",
    targets=(Target("a", "person"), Target("b", "person"), Target("c", "chair")),
    prompts=tuple("one two three four five".split()),
)
PATH = exit_reenter(3)
BACK = int(PATH.frames_of("R1")[0])
GONE = range(25, 65)
SCRIPT = "mbench:continuation(seconds=1.0)"
TEXTS = continuation(seconds=1.0)
SPOKEN = TEXTS.path()


def leaving(before, after):
    """Return frame -> things: ``before``, then nothing, then ``after``."""

    def things(frame):
        if frame in GONE:
            return ()
        return before if frame < GONE[0] else after

    return things


def acted(before, after, **keywords):
    return play(mbench, PATH, leaving(before, after), case=CASE, **keywords)


def spoken(frame_of, case=CASE, **keywords):
    return play(mbench, SPOKEN, frame_of, case=case, script=SCRIPT, **keywords)


def test_identity_over_an_absence_by_hand():
    toys = roles()
    found = acted((MAN, WOMAN), (replace(MAN, face=80), WOMAN), toys=toys)
    row = found["identity", "", None, None]
    looked = uniform(range(len(PATH)), 32)
    assert sorted({ask.frames[0] for ask in toys["identity"].asked}) == looked
    first = [20] * sum(f < GONE[0] for f in looked)
    second = [80] * sum(f >= GONE[-1] + 1 for f in looked)
    steady = centroid_consistency(np.stack([circle(a) for a in first + second]))
    assert row.value == pytest.approx((steady + 1) / 2)
    assert row.n_valid == len(first + second) and row.n_expected == 32
    assert row.detail["faces"] == 2 * row.n_valid and len(row.detail["identities"]) == 2
    assert row.detail["backbone"] == "toy-identity"


def test_another_face_is_another_identity():
    """100 degrees apart lies under the threshold: two people, each steady."""
    found = acted((replace(MAN, face=0),), (replace(MAN, face=100),))
    row = found["identity", "", None, None]
    assert row.value == 1.0 and len(row.detail["identities"]) == 2


def test_no_face_and_no_person():
    blank = replace(MAN, face=None)
    assert acted((blank,), (blank,))["identity", "", None, None].status == "no_observation"
    things = replace(CASE, targets=CASE.targets[2:])
    found = play(mbench, PATH, leaving((CHAIR,), (CHAIR,)), case=things)
    assert found["identity", "", None, None].status == "not_applicable"
    free = play(mbench, PATH, leaving((CHAIR,), (CHAIR,)))
    assert free["identity", "", None, None].status == "not_applicable"
    seen = play(mbench, PATH, leaving((MAN,), (MAN,)))
    assert seen["identity", "", None, None].value == 1.0


def test_centroids_before_and_after_an_absence():
    found = acted((MAN, WOMAN, CHAIR), (replace(MAN, looks=50), WOMAN, replace(CHAIR, looks=70)))
    for metric, target, change in (
        ("appearance", "a", (10, 50)),
        ("appearance", "b", (90, 90)),
        ("texture", "c", (40, 70)),
    ):
        row = found[metric, "", target, 1]
        frames = row.detail["frames"]
        angles = [change[0] if f < GONE[0] else change[1] for f in frames]
        assert set(angles) == set(change) and not set(frames) & set(GONE)
        expected = centroid_consistency(np.stack([circle(a) for a in angles]))
        assert row.value == pytest.approx(expected), target
    assert found["appearance", "rollout", None, None].n_valid == 2


def test_a_missed_thing_and_a_lost_one():
    faint = replace(CHAIR, sure=20)
    toys = roles(second_detect=Segments(least=10))
    missed = acted((CHAIR,), (faint,), toys=toys)["texture", "", "c", 1]
    assert missed.status == "no_observation"
    assert acted((CHAIR,), (), toys=toys)["texture", "", "c", 1].status == "absent"
    only = acted((MAN, CHAIR), (MAN, CHAIR), nouns={"segment": ("person",)})
    assert only["texture", "", "c", 1].status == "unavailable"
    assert only["appearance", "", "a", 1].value == 1.0


def test_style_compares_the_fold_pairs():
    def frame(f):
        return paint((), background=100 if f < BACK else 151)

    row = play(mbench, PATH, frame)["style", "", None, 1]
    # Both layers differ by 51 / 255.
    pairs = folds(PATH).pairs
    apart = [0.0 if j < BACK else 0.2 for _, j in pairs]
    assert 0.2 in apart
    assert row.value == pytest.approx(math.exp(-np.mean(apart)))
    assert row.n_valid == len(set(pairs)) and row.detail["backbone"] == "toy-style"
    missing = play(mbench, PATH, frame, toys=roles(style=None))["style", "", None, 1]
    assert missing.status == "unavailable"


def test_an_action_path_has_no_text():
    assert acted((MAN,), (MAN,))["text", "", None, None].status == "not_applicable"


def test_segments_come_from_the_script_and_its_prompts():
    profile = assemble("toy", {})
    found = text_segments(Context(SPOKEN, profile, case=CASE, script=SCRIPT))
    assert [s.frames[0] for s in found] == [0, 17, 33, 49, 65]
    assert found[-1].frames[-1] == len(SPOKEN) - 1 == 80
    assert [s.text.split()[-1] for s in found] == list(CASE.prompts)
    assert found[0].text.startswith("The camera moves")
    # The world held its first frames, and padded the end: neither belongs to a segment.
    spec = SimpleNamespace(
        reset_frames=5, first_chunk=8, chunk=7, fps=16.0, name="w", prompt="chunk"
    )
    padded = fit_path(SPOKEN, spec)
    assert len(padded) == 4 + 81 + 5
    held = text_segments(Context(padded, profile, case=CASE, script=SCRIPT))
    assert [s.frames[0] for s in held] == [4, 21, 37, 53, 69] and held[-1].frames[-1] == 84
    # Without a script the case's prompts share the path.
    even = text_segments(Context(SPOKEN, profile, case=CASE))
    assert [(len(s.frames), s.text) for s in even] == list(
        zip([16, 16, 17, 16, 16], CASE.prompts, strict=True)
    )
    assert text_segments(Context(PATH, profile, case=CASE)) == ()
    assert text_segments(Context(SPOKEN, profile)) == ()
    assert text_segments(Context(SPOKEN, profile, script="mine:own")) == ()


def test_text_is_the_mean_over_frames_then_segments():
    toys = roles()
    segments = text_segments(Context(SPOKEN, assemble("toy", {}), case=CASE, script=SCRIPT))

    def things(frame):
        return (replace(CHAIR, looks=100 if frame < 40 else 40),)

    row = spoken(things, toys=toys)["text", "", None, None]
    expected = []
    for segment in segments:
        frames = uniform(segment.frames, 8)
        assert len(frames) == 8
        angles = [(100 if f < 40 else 40) - len(segment.text) for f in frames]
        expected.append(np.mean(np.cos(np.radians(angles))))
    assert row.value == pytest.approx(np.mean(expected), abs=1e-6)
    assert row.n_valid == row.n_expected == 40 and row.detail["backbone"] == "toy-text"


def test_a_world_that_takes_no_prompt_a_chunk_never_got_the_texts():
    spec = SimpleNamespace(name="deaf", prompt="episode", fps=16.0, discrete=False, held=False)
    context = Context(SPOKEN, assemble("toy", {"text": lambda: roles()["text"]}), spec=spec)
    segments = text_segments(Context(SPOKEN, assemble("toy", {}), case=CASE, script=SCRIPT))
    (outcome,) = mbench.text(context, segments).compute({})
    assert outcome.status == "not_applicable" and "deaf takes no prompt" in outcome.detail["reason"]


def test_what_a_continuation_can_and_cannot_be_asked():
    found = spoken(lambda f: (MAN, WOMAN, CHAIR))
    for key in (
        ("identity", "", None, None),
        ("appearance", "", "a", None),
        ("texture", "", "c", None),
        ("lighting", "", None, None),
        ("style", "", None, None),
    ):
        assert found[key].value == 1.0, key
    assert {found[m, "", None, None].status for m in ("geometry", "action", "state")} == {
        "not_applicable"
    }
    assert found["epipolar", "", None, 1].status == "unavailable"
    # Text enters Causal where actions do not.
    assert found["causal", "family", None, None].n_valid == 1
    assert found["causal", "family", None, None].value == found["text", "", None, None].value
    nothing = play(mbench, SPOKEN, lambda f: ())
    assert {s.status for s in nothing.values()} == {"not_applicable", "unavailable"}


def test_lighting_and_style_hold_every_segment_against_the_next():
    segments = text_segments(Context(SPOKEN, assemble("toy", {}), case=CASE, script=SCRIPT))
    grey = {f: 60 + 30 * k for k, s in enumerate(segments) for f in s.frames}
    found = spoken(lambda f: paint((), background=grey[f]))
    light = [lab_mean(paint((), background=g)) for g in (60, 90, 120, 150, 180)]
    steps = np.diff(light, axis=0)
    shift = float(np.mean(np.abs(steps[:, 0]) + np.hypot(steps[:, 1], steps[:, 2])))
    assert found["lighting", "", None, None].value == pytest.approx(math.exp(-shift / 10))
    style = found["style", "", None, None]
    assert style.value == pytest.approx(math.exp(-30 / 255)) and style.n_valid == 32


def test_appearance_in_a_continuation_follows_the_looks():
    """At 40 a stranger comes and at 60 the man has changed; the stranger is not taken for him."""

    def things(frame):
        man = replace(MAN, looks=10 if frame < 60 else 50, box=(20, 8, 36, 40))
        stranger = Painted("person", 140, (0, 8, 16, 40))
        return (man,) if frame < 40 else (stranger, man)

    one = replace(CASE, targets=CASE.targets[:1])
    row = spoken(things, case=one)["appearance", "", "a", None]
    frames = uniform(range(len(SPOKEN)), 32)
    assert row.detail["frames"] == frames and row.detail["others"] == 1
    angles = [10 if f < 60 else 50 for f in frames]
    assert row.value == pytest.approx(centroid_consistency(np.stack([circle(a) for a in angles])))
    late = spoken(lambda f: (MAN,) if f > 10 else (), case=one)["appearance", "", "a", None]
    assert late.status == "not_applicable"


def test_neighbouring_pairs_come_near_themselves_again():
    segments = text_segments(Context(SPOKEN, assemble("toy", {}), case=CASE, script=SCRIPT))
    fold = neighbours(SPOKEN, segments)
    assert len(fold.segments) == 4 and len(fold.pairs) == 32 and fold.moving == ((), ())
    # Only the fourth segment holds still: there are far frames of one pose.
    assert fold.straddling
    for i, j in fold.straddling:
        assert j - i >= 8
        assert np.abs(SPOKEN.poses[i] - SPOKEN.poses[j]).max() < 0.3
    x = np.arange(40.0)
    straight = CameraPath(walk(np.stack([x, 0 * x, 0 * x], 1), 0 * x, 0 * x))
    parts = text_segments(Context(straight, assemble("toy", {}), case=CASE))
    assert neighbours(straight, parts).straddling == ()


def test_a_continuation_with_an_event_is_judged():
    case = replace(CASE, event=Event("ice_melts", "melting"))
    state = spoken(lambda f: (MAN,), case=case)["state", "", None, None]
    assert state.status == "unavailable" and "judge" in state.detail["reason"]


def test_truth_says_which_tracks_are_right():
    class Known(Segments):
        lasting = True

        def answer(self, ask, frame):
            return tuple(r._replace(track=r.track % 1000) for r in super().answer(ask, frame))

    found = acted((MAN, WOMAN), (MAN, WOMAN), toys=roles(segment=Known()))
    detail = found["identity", "", None, None].detail
    assert detail["mixed"] == detail["split"] == 0
    assert sorted(list(c) for c in detail["instances"].values()) == [["10"], ["90"]]
    # The woman comes back with the man's face: his track holds two people.
    swapped = (replace(MAN, face=160), replace(WOMAN, face=20))
    detail = acted((MAN, WOMAN), swapped, toys=roles(segment=Known()))[
        "identity", "", None, None
    ].detail
    assert detail["mixed"] == 2 and detail["split"] == 2


@pytest.mark.parametrize("chunk", [1, 11, 500])
def test_any_chunking_gives_the_same_bits(chunk):
    after = (replace(MAN, face=33, looks=21), WOMAN, replace(CHAIR, looks=71))
    assert acted((MAN, WOMAN, CHAIR), after, chunk=chunk) == acted((MAN, WOMAN, CHAIR), after)

    def things(frame):
        return (replace(MAN, looks=frame, face=frame), CHAIR)

    assert spoken(things, chunk=chunk) == spoken(things)


def test_a_broken_role_breaks_its_own_metrics_alone():
    class Broken(Identities):
        def answer(self, ask, frame):
            raise RuntimeError("no camera")

    found = acted((MAN, CHAIR), (MAN, CHAIR), toys=roles(identity=Broken()))
    assert found["identity", "", None, None].status == "error"
    assert found["texture", "", "c", 1].value == 1.0
    assert found["entity", "family", None, None].n_valid == 2


def test_geometry_follows_the_tracked_mask_of_a_target_without_instance():
    """The chair returns as it was, the lamp with a stripe across: only its structure is lost."""
    chair = Painted("chair", 40, (40, 30, 62, 62))
    lamp = Painted("lamp", 70, (2, 30, 24, 62))
    case = replace(CASE, targets=(Target("c", "chair"), Target("l", "lamp")))

    def frame(f):
        image = np.array(paint(() if 24 <= f < 56 else (chair, lamp)))
        if f >= 56:
            image[44:48, 2:24] = 0
        return image

    class Still(Segments):
        """Matches every pair of frames by points that stay where they are."""

        name = "toy-matches"

        def needs(self, ask):
            return tuple(pixels(frame) for frame in ask.frames)

        def answer(self, ask, first, second):
            points = np.indices((8, 8)).reshape(2, -1).T.astype(np.float32) * 7
            return Matches(points, points, (64, 64))

    toys = roles(match=Still(), matches=Still())
    found = play(mbench, PATH, frame, case=case, toys=toys)
    kept, changed = (found["geometry", "", name, 1] for name in "cl")
    assert kept.value == 1.0 and kept.detail["warp"] == "homography"
    assert 0 < kept.n_valid == changed.n_valid < len(folds(PATH).pairs)
    assert changed.value < 0.95
    nothing = play(mbench, PATH, lambda f: paint(()), case=case, toys=toys)
    assert nothing["geometry", "", "c", 1].status == "not_applicable"

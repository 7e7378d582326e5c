"""R2M's object identity: the appendix by hand, and what is asked of the roles for it."""

import math

import numpy as np
import pytest
from boxes_world import out_and_back
from hypothesis import given
from hypothesis import strategies as st
from toy_roles import Embeds, Painted, Segments, Texts, circle, kept, paint, play, roles

from worldenv.evaluators import r2m
from worldenv.evaluators.backbones.objects import Inner, concept_of
from worldenv.evaluators.metrics import object_identity
from worldenv.evaluators.metrics.objects import Anchor, Candidate
from worldenv.evaluators.plan import Ask, Thing, pixels

CHAIR = Painted("chair", 10, (2, 2, 30, 30))
LAMP = Painted("lamp", 60, (34, 34, 50, 60), sure=70)
PATH = out_and_back(61, 3.6)


def rescaled(degrees):
    return (1 + math.cos(math.radians(degrees))) / 2


def test_the_four_scores_by_hand():
    anchors = [Anchor("chair", circle(0)), Anchor("lamp", circle(0)), Anchor("sofa", circle(0))]
    candidates = {
        # r = (rescaled(60) + (0.8 + rescaled(90)) / 2) / 2 = 0.7: found again.
        "chair": [Candidate(circle(60), 0.8, 0.0), Candidate(circle(170), 0.1, -1.0)],
        # r = (rescaled(180) + 0.9) / 2 = 0.45: not the same lamp.
        "lamp": [Candidate(circle(180), 0.9)],
        "sofa": [],
    }
    found = object_identity(anchors, candidates)
    a, u = rescaled(60), (0.8 + 0.5) / 2
    assert found.appearance == pytest.approx(a) and found.semantic == pytest.approx(u)
    assert found.app_persist == pytest.approx(a / 3)
    assert found.sem_persist == pytest.approx(u / 3)
    assert (found.anchors, found.matched) == (3, 1)
    assert object_identity([], {}) == (0, 0, 0, 0, 0, 0)


def test_the_best_match_is_best_by_both_signals():
    looks, means = Candidate(circle(10), 0.2), Candidate(circle(40), 0.9)
    found = object_identity([Anchor("x", circle(0))], {"x": [looks, means]})
    assert found.sem_persist == 0.9 and found.app_persist == pytest.approx(rescaled(40))


unit = st.floats(0, 1)
cosines = st.floats(-1, 1)


@given(
    st.lists(st.tuples(st.sampled_from("xyz"), st.floats(0, 360)), max_size=5),
    st.fixed_dictionaries(
        {
            c: st.lists(st.tuples(st.floats(0, 360), unit, st.none() | cosines), max_size=4)
            for c in "xyz"
        }
    ),
)
def test_object_identity_equals_the_equations(anchors, candidates):
    found = object_identity(
        [Anchor(c, circle(a).astype(float)) for c, a in anchors],
        {
            c: [Candidate(circle(a).astype(float), g, t) for a, g, t in rows]
            for c, rows in candidates.items()
        },
    )
    apps, sems = [], []
    for concept, angle in anchors:
        rows = []
        for other, g, t in candidates[concept]:
            a = (1 + float(circle(angle).astype(float) @ circle(other).astype(float))) / 2
            u = g if t is None else 0.5 * g + 0.5 * (t / 2 + 0.5)
            rows.append((0.5 * a + 0.5 * u, a, u))
        if rows and max(rows)[0] >= 0.5 + 1e-6:
            best = max(rows)[0]
            apps.append([a for r, a, _ in rows if r >= best - 1e-6])
            sems.append([u for r, _, u in rows if r >= best - 1e-6])
        elif rows and max(rows)[0] >= 0.5 - 1e-6:
            return
    n = max(len(anchors), 1)
    assert found.matched == len(apps)
    # Equals may go either way.
    assert sum(map(min, apps)) / n - 1e-6 <= found.app_persist <= sum(map(max, apps)) / n + 1e-6
    assert sum(map(min, sems)) / n - 1e-6 <= found.sem_persist <= sum(map(max, sems)) / n + 1e-6
    assert found.app_persist <= found.appearance + 1e-12


@pytest.mark.parametrize(
    ("phrase", "concept"),
    [
        ("A red Chair .", "red chair"),
        ("the  lamp (left)", "lamp"),
        ("", "object"),
        ("sofa-bed", "sofa-bed"),
    ],
)
def test_phrases_become_concepts(phrase, concept):
    assert concept_of(phrase) == concept == concept_of(concept)


def of_pair(first, second, toys=None):
    """Return the ObjectScores of two painted frames, asked as the engine would ask."""
    from worldenv.evaluators.profile import assemble

    toys = toys or roles()
    profile = assemble("toy", {role: (lambda toy=toy: toy) for role, toy in toys.items()})
    frames = {3: first, 8: second}
    known = {pixels(frame): image for frame, image in frames.items()}
    (found,) = Inner(profile.backbone).answer([Ask("objects", (3, 8))], [known])
    return found, toys


def test_a_pair_of_frames_by_hand():
    first = paint((CHAIR, LAMP))
    changed = Painted("chair", 70, CHAIR.box, sure=80)
    found, toys = of_pair(first, paint((changed, LAMP)))
    # Texts: the toy's cosine of looks and of the length of the prompt, both in degrees.
    chair = (0.8 + rescaled(70 - len("chair"))) / 2
    lamp = (0.7 + rescaled(60 - len("lamp"))) / 2
    assert found.app_persist == pytest.approx((rescaled(60) + 1) / 2, abs=1e-6)
    assert found.sem_persist == pytest.approx((chair + lamp) / 2, abs=1e-6)
    nouns = [ask.subject for ask in toys["segment"].asked]
    assert nouns == [Thing("*"), Thing("chair"), Thing("lamp")]
    # Crops are described alone, as frames; nothing of the whole frame is.
    assert {ask.subject for ask in toys["embed"].asked} == {""}


def test_without_text_the_confidence_stands_alone():
    found, _ = of_pair(paint((CHAIR, LAMP)), paint((CHAIR,)), roles(text=None))
    assert found.sem_persist == pytest.approx(0.9 / 2)
    assert found.semantic == pytest.approx(0.9) and found.matched == 1


def test_crops_are_white_around_the_thing():
    seen = []

    class Spy(Embeds):
        def answer(self, ask, value):
            seen.append(value)
            return super().answer(ask, value)

    # A face square belongs to the person's mask; the corner cut out by a lamp does not.
    person = Painted("person", 10, (10, 10, 30, 40))
    over = Painted("lamp", 60, (10, 10, 16, 16))
    of_pair(paint((person, over)), paint((person, over)), roles(embed=Spy(), text=None))
    crop = next(image for image in seen if image.shape[:2] == (30, 20))
    assert (crop[:6, :6] == 255).all() and not (crop[6:] == 255).all(axis=-1).any()


def test_anchors_are_ranked_and_limited_as_published():
    boxes = [(5 * (k % 12), 8 * (k // 12), 5 * (k % 12) + 4, 8 * (k // 12) + 4) for k in range(13)]
    many = [Painted("chair", 2 * k, box, sure=60 + 2 * k) for k, box in enumerate(boxes)]
    tiny = Painted("lamp", 99, (60, 60, 62, 62))
    found, _ = of_pair(paint((*many, tiny)), paint(()))
    assert found.anchors == 10 and found.app_persist == 0
    # Five of thirteen candidates are compared: the surest, k = 8 to 12.
    again, toys = of_pair(paint((*many, tiny)), paint(many), roles(text=None))
    assert again.anchors == again.matched == 10
    best = [
        max((rescaled(2 * (k - c)) / 2 + (0.6 + 0.02 * c) / 2, c) for c in range(8, 13))[1]
        for k in range(3, 13)
    ]
    expected = np.mean([rescaled(2 * (k - c)) for k, c in zip(range(3, 13), best, strict=True)])
    assert again.appearance == pytest.approx(expected, abs=1e-6)
    assert again.semantic == pytest.approx(np.mean([0.6 + 0.02 * c for c in best]))
    # Ten anchors and five candidates, in batches padded to three.
    assert len(toys["embed"].asked) == 12 + 6


def things(frame):
    return (CHAIR, LAMP) if 8 < frame < 52 else (CHAIR,)


def test_each_concept_is_looked_for_once_a_frame_and_bits_do_not_depend_on_chunks():
    toys = roles()
    options = {"options": {"rule": "paper"}}
    found = play(r2m, PATH, things, toys=toys, chunk=61, **options)
    for chunk in (1, 9):
        assert play(r2m, PATH, things, chunk=chunk, **options) == found
    asked = toys["segment"].asked
    pairs = len(found["app_persist", "raw", None, None].detail["pairs"])
    assert pairs > 15
    # Batches of one: what is asked twice would stand here twice.
    assert len(asked) == len(set(asked))
    row = found["app_persist", "raw", None, None]
    assert row.value == 1.0 == row.detail["matched_only"]
    assert found["app_persist", "mg", None, None].value > 0
    assert found["sem_persist", "raw", None, None].detail["semantic"] == "confidence and text"
    assert found["sem_persist", "raw", None, None].detail["backbone"] == "toy-text"
    bare = play(r2m, PATH, things, toys=roles(text=None), **options)
    # The detector is sure of the chair by 0.9, of the lamp by 0.7, where that is in the picture.
    sure = bare["sem_persist", "raw", None, None].detail["pairs"].values()
    assert {round(value, 9) for value in sure} == {0.8, 0.9}
    assert bare["sem_persist", "raw", None, None].detail["semantic"] == "confidence"


def test_a_profile_that_knows_people_only_has_no_objects():
    found = play(r2m, PATH, things, nouns={"segment": ("person",)})
    for metric in ("app_persist", "sem_persist"):
        row = found[metric, "raw", None, None]
        assert row.status == "unavailable" and "not every object" in row.detail["reason"]


def test_batches_are_padded_to_one_size():
    sizes = []

    class Sized(Texts):
        def compute(self, asks, inputs):
            sizes.append(len(asks))
            return super().compute(asks, inputs)

    of_pair(paint((CHAIR, LAMP)), paint((CHAIR, LAMP)), roles(text=Sized()))
    assert set(sizes) == {2}
    assert Segments(least=95).answer(Ask("segment", (0,), Thing("chair")), paint((CHAIR,))) == ()
    assert np.array_equal(circle(0), [1, 0])


def test_second_frames_are_forgotten_when_their_pairs_are_scored():
    most = {"scene": 0, "pixels": 0, "anchors": 0}

    def watch(engine):
        for role in most:
            most[role] = max(most[role], kept(engine, role))

    # Without psnr and its like, which hold the frames of their pairs, nothing else does.
    play(r2m, PATH, things, chunk=4, watch=watch, options={"rule": "paper"})
    assert most["scene"] == 0 < most["anchors"]


def test_answers_kept_on_disk_tell_the_roles_asked_inside():
    """The engine sees no embed and no text in objects: another of them must give another key."""
    from worldenv.evaluators.profile import assemble

    def salts(**changed):
        toys = roles(**changed)
        profile = assemble("toy", {role: (lambda toy=toy: toy) for role, toy in toys.items()})
        return profile.salt("objects"), profile.salt("anchors")

    class Other(Embeds):
        checksum = "other"

    class Words(Texts):
        revision = "2"

    assert salts() == salts()
    assert salts()[0] != salts(embed=Other())[0] and salts()[1] != salts(embed=Other())[1]
    assert len({salts()[0], salts(text=Words())[0], salts(text=None)[0]}) == 3

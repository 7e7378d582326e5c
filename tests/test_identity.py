"""Greedy identity tracking against hand-made cases and a plain second reading of the paper."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy_roles import circle

from worldenv.evaluators.metrics import InvalidInput, identity_consistency, track_identities


def test_two_people_who_change_places_stay_themselves():
    a, b = circle(0), circle(90)
    tracks = track_identities([[a, b], [b, a], [], [b]])
    assert [[tuple(d) for d in track] for track in tracks] == [
        [(0, 0), (1, 1)],
        [(0, 1), (1, 0), (3, 0)],
    ]


def test_similarity_is_the_mean_of_last_and_running_mean():
    """After 0 and 60 degrees the last lies at 60, the mean at 30: 125 is 65 and 95 away."""
    score = (math.cos(math.radians(65)) + math.cos(math.radians(95))) / 2
    assert 0.15 < score < math.cos(math.radians(65))
    frames = [[circle(0)], [circle(60)], [circle(125)]]
    assert len(track_identities(frames)) == 1
    assert len(track_identities(frames, threshold=score + 1e-3)) == 2
    assert len(track_identities(frames, threshold=score - 1e-3)) == 1


def test_pairs_are_made_most_similar_first():
    # Both detections lie nearest to the first identity; the nearer one gets it.
    frames = [[circle(0), circle(80)], [circle(20), circle(5)]]
    tracks = track_identities(frames)
    assert [[tuple(d) for d in t] for t in tracks] == [[(0, 0), (1, 1)], [(0, 1), (1, 0)]]


def test_consistency_by_hand():
    # One identity at 0 and 60 degrees (its mean at 30), another seen once.
    frames = [[circle(0), circle(180)], [circle(60)]]
    expected = (math.cos(math.radians(30)) + 1) / 2
    assert identity_consistency(frames) == pytest.approx(expected)
    assert identity_consistency([[], []]) is None
    with pytest.raises(InvalidInput):
        identity_consistency([[np.array([np.nan, 1.0])]])


def plainly(frames, threshold):
    """Track by looking for the largest entry of a similarity matrix again and again."""
    tracks = []
    for k, vectors in enumerate(frames):
        matrix = np.array(
            [
                [
                    (
                        v @ t[-1][1]
                        + v @ (m := np.sum([x for _, x in t], axis=0)) / np.linalg.norm(m)
                    )
                    / 2
                    for t in tracks
                ]
                for v in vectors
            ]
        ).reshape(len(vectors), len(tracks))
        known = len(tracks)
        free = set(range(len(vectors)))
        while matrix.size and matrix.max() >= threshold:
            place, i = np.unravel_index(np.argmax(matrix), matrix.shape)
            tracks[i].append(((k, int(place)), vectors[place]))
            free.discard(int(place))
            matrix[place], matrix[:, i] = -9, -9
        tracks += [[((k, place), vectors[place])] for place in sorted(free)]
        assert len(tracks) >= known
    return [[where for where, _ in t] for t in tracks]


angles = st.lists(st.lists(st.floats(0, 180), max_size=4), max_size=6)


@given(angles, st.floats(-0.5, 0.9))
def test_tracking_equals_the_plain_way(frames, threshold):
    vectors = [[circle(a).astype(float) for a in row] for row in frames]
    values = sorted(a for row in frames for a in row)
    if any(b - a < 1e-3 for a, b in pairwise(values)):
        return  # Equal pairs: which comes first is a convention of ours.
    found = track_identities(vectors, threshold)
    assert [[tuple(d) for d in t] for t in found] == plainly(vectors, threshold)


@given(angles)
def test_every_detection_belongs_to_one_identity(frames):
    vectors = [[circle(a) for a in row] for row in frames]
    found = [tuple(d) for t in track_identities(vectors) for d in t]
    assert sorted(found) == [(k, p) for k, row in enumerate(vectors) for p in range(len(row))]
    for track in track_identities(vectors):
        assert [d.frame for d in track] == sorted({d.frame for d in track})

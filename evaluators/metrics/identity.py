"""Who is who over time: greedy tracking of identities, and how steady each of them is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.evaluators.constants import constant
from worldenv.evaluators.metrics.appearance import centroid_consistency, cosine
from worldenv.evaluators.metrics.checks import number, numbers

Vectors = Sequence[NDArray[np.floating]]


class Detection(NamedTuple):
    """One detection of an identity: the place of its frame, and its own within that frame."""

    frame: int
    place: int


def track_identities(
    frames: Sequence[Vectors], threshold: float | None = None
) -> list[list[Detection]]:
    """Return the identities, each as its detections in order.

    Frame by frame, detections and known identities are paired one to one, most similar first; the
    similarity is the mean of the cosines to the identity's last embedding and to the mean of all
    its embeddings. Pairs under the threshold are not made; what stays unpaired begins an identity
    of its own. Equals go to the older identity, then to the earlier detection. Source: MBench,
    Identity; that the two cosines are averaged is ours.

    Args:
        frames: One sequence of embeddings (d,) a frame, as many as were detected there.
        threshold: Smallest similarity of a pair, 0.15 where None.

    Raises:
        InvalidInput: an embedding is no finite vector, or they differ in length.

    Example:
        >>> a, b = np.array([1.0, 0.0]), np.array([0.0, 1.0])
        >>> track_identities([[a, b], [b]])
        [[Detection(frame=0, place=0)], [Detection(frame=0, place=1), Detection(frame=1, place=0)]]
    """
    least = (
        constant("mbench.identity_match") if threshold is None else number("threshold", threshold)
    )
    identities: list[list[Detection]] = []
    last: list[NDArray[np.float64]] = []
    total: list[NDArray[np.float64]] = []
    for k, detected in enumerate(frames):
        vectors = [numbers("an embedding", vector, "d") for vector in detected]
        offers = sorted(
            (-(cosine(vector, last[i]) + cosine(vector, total[i])) / 2, i, place)
            for place, vector in enumerate(vectors)
            for i in range(len(identities))
        )
        paired: dict[int, int] = {}
        taken: set[int] = set()
        for unlike, i, place in offers:
            if -unlike >= least and place not in paired and i not in taken:
                paired[place] = i
                taken.add(i)
        for place, vector in enumerate(vectors):
            if place in paired:
                i = paired[place]
                identities[i].append(Detection(k, place))
                last[i], total[i] = vector, total[i] + vector
            else:
                identities.append([Detection(k, place)])
                last.append(vector)
                total.append(vector)
    return identities


def identity_consistency(frames: Sequence[Vectors], threshold: float | None = None) -> float | None:
    """Return the mean over identities of their ``centroid_consistency``, in [-1, 1]; higher better.

    None where nothing was detected. An identity that was seen once is consistent with itself.
    Source: MBench, Identity.

    Example:
        >>> a = np.array([1.0, 0.0])
        >>> identity_consistency([[a], [a]]), identity_consistency([[], []])
        (1.0, None)
    """
    found = track_identities(frames, threshold)
    if not found:
        return None
    return float(np.mean([steadiness(frames, identity) for identity in found]))


def steadiness(frames: Sequence[Vectors], identity: Sequence[Detection]) -> float:
    """Return the ``centroid_consistency`` of one identity."""
    return centroid_consistency(np.stack([frames[d.frame][d.place] for d in identity]))

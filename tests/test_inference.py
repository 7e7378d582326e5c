"""What networks share: the answers that are held for images seen before."""

import numpy as np
import pytest

pytest.importorskip("torch")

from worldenv.evaluators.backbones.inference import Recent


def image(value, shape=(2, 3, 3)):
    return np.full(shape, value, np.uint8)


class Looks:
    """Answers with the mean of an image, and counts what it was shown."""

    def __init__(self):
        self.shown = []

    def __call__(self, images):
        self.shown.append([int(found.flat[0]) for found in images])
        return [np.array([found.mean()]) for found in images]


@pytest.fixture
def recent():
    return Recent(4 * 8, lambda answer: answer.nbytes)


def test_an_image_is_looked_at_once(recent):
    looks = Looks()
    first = recent.answers([image(1), image(2), image(1)], looks)
    again = recent.answers([image(3), image(2)], looks)
    assert looks.shown == [[1, 2], [3]]
    assert [float(a[0]) for a in first + again] == [1, 2, 1, 3, 2]


def test_nothing_is_asked_where_all_is_known(recent):
    looks = Looks()
    recent.answers([image(1)], looks)
    assert [float(a[0]) for a in recent.answers([image(1)], looks)] == [1]
    assert recent.answers([], looks) == []
    assert looks.shown == [[1]]


def test_images_differ_by_pixels_shape_and_what_the_answer_depends_on(recent):
    looks = Looks()
    recent.answers([image(1)], looks)
    recent.answers([image(1, (3, 2, 3))], looks)
    recent.answers([image(1)], looks, "224")
    changed = image(1)
    changed[0, 0, 0] = 2
    recent.answers([changed], looks)
    # The same pixels, however they lie in memory.
    recent.answers([np.asfortranarray(image(1))], looks)
    assert len(looks.shown) == 4


def test_the_least_recently_asked_for_go_first(recent):
    looks = Looks()
    for value in (1, 2, 3, 4, 1, 5):
        recent.answers([image(value)], looks)
    assert looks.shown == [[1], [2], [3], [4], [5]]
    recent.answers([image(1)], looks)
    recent.answers([image(2)], looks)
    assert looks.shown[5:] == [[2]]


def test_an_answer_larger_than_the_limit_is_given_and_not_held():
    recent, looks = Recent(4, lambda answer: answer.nbytes), Looks()
    for _ in range(2):
        assert float(recent.answers([image(7)], looks)[0][0]) == 7
    assert looks.shown == [[7], [7]]


def test_a_look_that_fails_leaves_nothing_behind(recent):
    def fail(images):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        recent.answers([image(1)], fail)
    assert float(recent.answers([image(1)], Looks())[0][0]) == 1

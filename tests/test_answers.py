"""Answers on disk: the same bits back, and nothing but plain values and the library's records."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from worldenv.evaluators.answers import Unstorable, decode, encode
from worldenv.evaluators.backbones.odometry import Motion
from worldenv.evaluators.backbones.regions import region
from worldenv.evaluators.metrics.match import Keypoints, Matches
from worldenv.evaluators.odometry import Points

ARRAYS = arrays.arrays(
    st.sampled_from([np.float32, np.float64, np.uint8, np.int64, np.uint16, np.bool_]),
    arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats() | ARRAYS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.integers() | st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


def same(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if hasattr(a, "__dataclass_fields__"):
        return all(same(getattr(a, k), getattr(b, k)) for k in a.__dataclass_fields__)
    return repr(a) == repr(b)


@given(VALUES)
@settings(max_examples=200, deadline=None)
def test_what_is_stored_comes_back_bit_for_bit(value):
    assert same(decode(encode(value)), value)


def test_records_of_the_library_come_back_as_themselves():
    rng = np.random.default_rng(0)
    mask = rng.random((20, 30)) > 0.5
    points = rng.random((4, 2)).astype(np.float32)
    known = Points(rng.random((4, 3)), rng.random((4, 3)), rng.random(4), rng.random(4))
    answers = [
        Keypoints(points, rng.random((4, 8)).astype(np.float32)),
        Matches(points, points, (4, 5)),
        (region(3, "chair", mask),),
        {7: (region(7, "a", mask), points[0])},
        Motion(points, known, np.eye(4), 2, True, 1.0),
        np.float32(0.1),
    ]
    for answer in answers:
        assert same(decode(encode(answer)), answer)


def test_the_order_in_memory_is_kept_and_arrays_may_be_written_to():
    turned = np.arange(6.0).reshape(2, 3).T
    back = decode(encode(turned))
    assert back.flags.f_contiguous and np.array_equal(back, turned)
    back[0, 0] = 9
    sides = np.transpose(np.arange(24.0).reshape(2, 3, 4), (2, 0, 1))
    assert decode(encode(sides)).strides == sides.strides


@pytest.mark.parametrize(
    "answer",
    [object(), {1, 2}, np.arange(9)[::2], np.array(["text"]), np.array([object()]), json, 1j],
)
def test_what_has_no_form_on_disk_is_refused(answer):
    with pytest.raises(Unstorable):
        encode(answer)


@pytest.mark.parametrize(
    ("module", "name"),
    [("os", "system"), ("worldenv.evaluators.cache", "Cache"), ("worldenv.evaluators.plan", "Any")],
)
def test_no_other_type_can_be_named_by_a_file(module, name):
    tree = json.dumps(["r", module, name, "x"]).encode()
    data = b"WEA1" + len(tree).to_bytes(8, "little") + (2).to_bytes(8, "little") + tree + b"[]"
    with pytest.raises(ValueError, match="no record"):
        decode(data)


def test_other_bytes_are_no_answer():
    with pytest.raises(ValueError, match="no stored answer"):
        decode(b"something else")

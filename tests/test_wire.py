"""The wire: what is written is read bit for bit; hostile bytes are refused within the limits."""

import random
import struct
import tracemalloc

import numpy as np
import pytest
import toy_world
from hypothesis import given, settings
from hypothesis import strategies as st

from worldenv import parcels, wire
from worldenv.camera import CameraPath, InvalidPath, integrate
from worldenv.states import Memo
from worldenv.vendored.msgpack.fallback import Packer
from worldenv.wire import WireError, decode, encode
from worldenv.world import (
    Chunk,
    GenerationFailed,
    PlanRequired,
    Start,
    UnknownName,
    Unsupported,
    WeightsNotFound,
)
from worldenv.worlds import load_world

SPEC = toy_world.make(size=(32, 24), chunk=4).spec
REQUEST, REPLY = wire.request_limits(SPEC), wire.reply_limits(SPEC)


def sent(pieces, limits=REPLY):
    return decode(bytearray(b"".join(pieces)), limits)


def read_chunk(message, memo=None):
    return parcels.read_chunk(message, REPLY, memo)


def chunk(n=4):
    poses = integrate(np.tile([0, 2.0, 0, 0, 0, 0.1], (n - 1, 1)))
    world = toy_world.make(size=(32, 24))
    world.reset(Start(), seed=1, plan=None)
    made = world.step(poses)
    pose = [
        [0.1, 0.2, 0.3, 1 / 3],
        [0.0, 1.0, 0.0, -2.5],
        [0.0, 0.0, 1.0, 1e-17],
        [0.0, 0.0, 0.0, 1.0],
    ]
    shared = {"instances": {7: {"category": "chair", "variant": 2, "pose": pose}}, "event": None}
    event = {"name": "fall", "progress": 0.1}
    states = (shared, shared, {"instances": {7: {"pose": [[1, 2]]}}, "event": event}, shared)[:n]
    return made._replace(truth={**made.truth, "state": states})


def assert_equal(a, b):
    assert a.frames.dtype == np.uint8 and np.array_equal(a.frames, b.frames)
    assert a.poses.dtype == b.poses.dtype and np.array_equal(a.poses, b.poses)
    assert (a.truth is None) == (b.truth is None)
    for key in b.truth or ():
        if key == "state":
            assert list(a.truth[key]) == list(b.truth[key])
        else:
            assert a.truth[key].dtype == b.truth[key].dtype
            assert np.array_equal(a.truth[key], b.truth[key])
    assert set(a.truth or ()) == set(b.truth or ())


def test_a_chunk_arrives_bit_for_bit_and_uncopied():
    made = chunk()
    raw = bytearray(b"".join(parcels.write_chunk(made, {"index": 3})))
    message = decode(raw, REPLY)
    assert message.fields["index"] == 3
    read = read_chunk(message)
    assert_equal(read, made)
    assert type(next(iter(read.truth["state"][0]["instances"]))) is int
    assert read.truth["state"][0] is read.truth["state"][1]
    raw[-1] ^= 1
    assert not np.array_equal(read.truth["ids"], made.truth["ids"]) or read.frames.base is not None
    for array in (read.frames, read.poses, read.truth["depth"]):
        assert array.ctypes.data % array.itemsize == 0
    bare = Chunk(made.frames, made.poses)
    assert_equal(read_chunk(sent(parcels.write_chunk(bare, {}))), bare)


def test_states_that_stand_still_are_remembered_but_never_confused():
    writer, reader = Memo(), Memo()
    made = chunk(1)
    state = made.truth["state"][0]
    for progress in (None, None, 0.25, 0.25, 0.5):
        # The world changes in place what it handed out before.
        state["event"] = None if progress is None else {"name": "fall", "progress": progress}
        state["instances"][7]["pose"][0][0] = 0.1 if progress is None else progress
        raw = b"".join(parcels.write_chunk(made, {}, writer))
        assert_equal(read_chunk(decode(raw, REPLY), reader), made)


def test_a_state_with_arrays_or_odd_values():
    made = chunk(1)
    memo = Memo()
    made.truth["state"][0]["extra"] = np.arange(3)
    for _ in range(2):
        read = read_chunk(sent(parcels.write_chunk(made, {}, memo)))
        assert read.truth["state"][0]["extra"] == [0, 1, 2]
    for bad in (float("nan"), float("inf"), object(), {1, 2}, b"x"):
        made.truth["state"][0]["extra"] = bad
        with pytest.raises(WireError):
            parcels.write_chunk(made, {})


def test_what_is_known_of_truth_travels():
    made = chunk()
    known = {"depth": np.arange(len(made.frames)) % 2 == 0}
    made = made._replace(truth={**made.truth, "recorded": known})
    read = read_chunk(sent(parcels.write_chunk(made, {}))).truth["recorded"]
    assert list(read) == ["depth"]
    assert read["depth"].dtype == bool and np.array_equal(read["depth"], known["depth"])


@pytest.mark.parametrize(
    "change",
    [
        {"ids": np.zeros((4, 24, 32), np.int64)},
        {"depth": np.zeros((4, 24, 32), np.complex64)},
        {"mood": np.zeros((4, 24, 32), np.uint8)},
    ],
)
def test_truth_that_cannot_be_sent_is_refused(change):
    made = chunk()
    with pytest.raises(WireError):
        parcels.write_chunk(made._replace(truth={**made.truth, **change}), {})


def test_arrays_that_do_not_belong_together_are_refused():
    made = chunk()
    for change in (
        {"frames": made.frames[:3]},
        {"frames": made.frames[..., :2]},
        {"poses": made.poses[:, :3]},
        {"poses": np.full((4, 4, 4), np.nan)},
        {"truth": {"depth": made.truth["depth"][:, :5]}},
        {"truth": {"ids": made.truth["ids"].astype(np.uint8)}},
        {"truth": {"state": made.truth["state"][:3]}},
    ):
        with pytest.raises(WireError):
            read_chunk(sent(parcels.write_chunk(made._replace(**change), {})))


@given(
    st.lists(st.tuples(*[st.floats(-3, 3)] * 6), min_size=1, max_size=20),
    st.floats(1, 60),
    st.data(),
)
@settings(max_examples=60, deadline=None)
def test_a_path_arrives_bit_for_bit(rows, fps, data):
    poses = integrate(np.array(rows))
    phase = st.sampled_from([None, "V", "D1", "R1", "D2", "H"])
    n = len(poses)
    phases = data.draw(st.none() | st.lists(phase, min_size=n, max_size=n))
    path = CameraPath(
        poses, fps=fps, phases=None if phases is None else tuple(phases), notes=("n",)
    )
    read = parcels.read_path(sent(encode("reset", *parcels.write_path(path)), REQUEST))
    assert read == path and read.notes == path.notes
    assert parcels.read_path(sent(encode("reset", *parcels.write_path(None)))) is None


def test_a_start_arrives():
    scene = {
        "family": "interior",
        "seed": np.int64(3),
        "view": "a",
        "event": None,
        "doses": (1, 2.5),
    }
    image = np.arange(24 * 32 * 3, dtype=np.uint8).reshape(24, 32, 3)
    start = Start(image, "a röom", np.eye(3), scene)
    read = parcels.read_start(sent(encode("reset", *parcels.write_start(start)), REQUEST))
    assert np.array_equal(read.image, image) and np.array_equal(read.K, np.eye(3))
    assert read.prompt == "a röom"
    assert read.scene == {**scene, "doses": [1, 2.5]}
    assert parcels.read_start(sent(encode("reset", *parcels.write_start(Start())))) == Start()


@pytest.mark.parametrize("name", ["Reference", "toy"])
def test_a_spec_arrives(name):
    spec = SPEC if name == "toy" else load_world(name, size=(640, 360), chunk=4).spec
    message = sent(encode("welcome", {"spec": parcels.write_spec(spec)}))
    assert parcels.read_spec(message.fields["spec"]) == spec


@pytest.mark.parametrize(
    "change",
    [
        {"size": [1 << 20, 1 << 20]},
        {"chunk": "4"},
        {"chunk": 1.0},
        {"size": [True, 3]},
        {"fps": "16"},
        {"name": 4},
        {"quantum": {"FORWARD": "far"}},
        {"K": [[1, 0], [0, 1]]},
        {"primitives": ["FLY"]},
        {"drive": "walk"},
        {"new": 1},
        {"chunk": None},
    ],
)
def test_a_spec_of_other_types_is_refused(change):
    with pytest.raises(WireError):
        parcels.read_spec({**parcels.write_spec(SPEC), **change})
    for other in (None, [], 3, {}):
        with pytest.raises(WireError):
            parcels.read_spec(other)


@pytest.mark.parametrize(
    ("error", "arrives"),
    [
        (Unsupported("no"), Unsupported),
        (PlanRequired("no"), PlanRequired),
        (WeightsNotFound("no"), WeightsNotFound),
        (InvalidPath("no"), InvalidPath),
        (GenerationFailed("no"), GenerationFailed),
        (UnknownName("view", "x", ["y"]), UnknownName),
        (wire.WrongIndex("no"), wire.WrongIndex),
        (RuntimeError("no"), GenerationFailed),
        (KeyboardInterrupt("no"), GenerationFailed),
    ],
)
def test_errors_travel_by_name(error, arrives):
    read = parcels.read_error(sent(encode("error", parcels.write_error(error))).fields)
    assert type(read) is arrives
    assert str(error) in str(read)


def test_only_listed_errors_are_raised():
    assert type(parcels.read_error({"error": "SystemExit", "text": "x"})) is GenerationFailed
    assert type(parcels.read_error({"error": ["x"], "text": 3})) is GenerationFailed


def head(header, rest=b"", protocol=wire.PROTOCOL):
    packed = header if isinstance(header, bytes) else Packer().pack(header)
    return struct.pack("<2sBBI", b"WE", protocol, 0, len(packed)) + packed + rest


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "message",
    [
        "text",
        b"",
        b"WE",
        b"XX" + head({"kind": "a", "arrays": ""})[2:],
        head({"kind": "a", "arrays": ""}, protocol=9),
        head({"kind": "a", "arrays": ""}, rest=b"x"),
        head({"kind": "a"}),
        head({"kind": 3, "arrays": ""}),
        head({"kind": "a", "arrays": "f:u1:99999"}),
        head({"kind": "a", "arrays": "f:u1:999999999999,999999999999,999999999999"}),
        head({"kind": "a", "arrays": "f:i8:1"}, rest=bytes(16)),
        head({"kind": "a", "arrays": "f:u1:0 f:u1:0"}),
        head({"kind": "a", "arrays": "f:u1:" + "0" * 2000}),
        head({"kind": "a", "arrays": "", "x": nested(30)}),
        head(b"\x91" * 3000),
        head(b"\xdd\xff\xff\xff\xff"),
        head(b"\xdf\xff\xff\xff\xff"),
        head(b"\xdb\xff\xff\xff\xff"),
        head(b"\xc6\xff\xff\xff\xff"),
        head({"kind": "a", "arrays": "", "x": float("nan")}),
        head({"kind": "a", "arrays": "", 1.5: 3}),
        head([1, 2]),
    ],
)
def test_what_is_no_message_is_refused(message):
    tracemalloc.start()
    try:
        with pytest.raises(WireError):
            decode(message, REQUEST)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "states",
    [
        b"[[0],[NaN]]",
        b"[[0],[{}]",
        b"[[1],[{}]]",
        b"[0]",
        b"[[true],[{}]]",
        b"\xff",
        b"[" * 5000,
        b"[[0],[" + b"9" * 5000 + b"]]",
        b'[[0],[{"instances":{"1":{"pose":null}}}]]',
    ],
)
def test_states_that_are_none_are_refused(states):
    arrays = {
        "frames": np.zeros((1, 1, 1, 3), np.uint8),
        "poses": np.eye(4)[None],
        "truth.state": np.frombuffer(states, np.uint8),
    }
    with pytest.raises(WireError, match="state"):
        read_chunk(sent(encode("chunk", {"truth": True}, arrays)))


def test_an_empty_array_may_have_any_other_side():
    raw = head({"kind": "a", "arrays": "f:f8:0,999999999999,999999999999,9"})
    message = decode(raw + bytes(-len(raw) % 16), REQUEST)
    assert message.arrays["f"].size == 0


def seeds():
    """Return valid messages of every kind, as bytes."""
    path = CameraPath(integrate(np.tile([0, 1.0, 0, 0, 0, 0], (9, 1))), phases=("V",) * 10)
    start = Start(np.zeros((24, 32, 3), np.uint8), "a room", np.eye(3), {"family": "interior"})
    first, arrays = parcels.write_start(start)
    second, more = parcels.write_path(path)
    messages = [
        encode("hello", {"protocol": wire.PROTOCOL}),
        encode("open", {"wait": True}),
        encode("reset", {**first, **second, "seed": 3}, {**arrays, **more}),
        encode("step", {"index": 1, "prompt": None}, {"poses": path.poses[:1]}),
        encode("snapshot"),
        encode("restore", {"token": 1}),
        encode("forget", {"tokens": [1, 2]}),
        encode("health"),
        encode("welcome", {"spec": parcels.write_spec(SPEC), "snapshots": True, "device": None}),
        encode("error", parcels.write_error(Unsupported("no"))),
        parcels.write_chunk(chunk(), {"index": 1}),
    ]
    return [b"".join(pieces) for pieces in messages]


def fuzzed(n, seed=0):
    """Yield n mutations of valid messages: flipped, cut, spliced, stretched, with new lengths."""
    rng, valid = random.Random(seed), seeds()
    for _ in range(n):
        data = bytearray(rng.choice(valid))
        for _ in range(rng.choice((1, 1, 2, 4, 16))):
            # Most of what can go wrong stands in front.
            place = rng.randrange(min(len(data), rng.choice((8, 200, 1 << 30))) or 1)
            match rng.randrange(6):
                case 0:
                    data[place : place + 1] = bytes([rng.randrange(256)])
                case 1:
                    data[place : place + 1] = bytes([rng.choice((0x80, 0x9F, 0xC1, 0xDD, 0xFF, 0))])
                case 2:
                    del data[place : place + rng.choice((1, 4, 1000))]
                case 3:
                    other = rng.choice(valid)
                    data[place:place] = other[: rng.randrange(300)]
                case 4:
                    data[4:8] = struct.pack("<I", rng.choice((0, 1, 200, len(data), 2**32 - 1)))
                case 5:
                    data[place : place + 5] = b"\xdd" + struct.pack(">I", rng.getrandbits(32))
        yield bytes(data)


def test_ten_thousand_fuzzed_messages_are_read_or_refused_within_the_limit():
    readers = (parcels.read_start, parcels.read_path, wire.read_poses, read_chunk)
    refused = read = 0
    tracemalloc.start()
    try:
        for raw in fuzzed(10_000):
            try:
                message = decode(raw, REPLY)
            except WireError:
                refused += 1
                continue
            read += 1
            for reader in readers:
                try:
                    reader(message)
                except WireError:
                    pass
            try:
                parcels.read_spec(message.fields.get("spec"))
            except WireError:
                pass
            parcels.read_error(message.fields)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert refused > 3000 and read > 300
    assert peak < 4 << 20, "more than a few messages were alive at once"

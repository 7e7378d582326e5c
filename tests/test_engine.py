"""The engine's promises: asked once, batched alike, forgotten in time, never broken by one part."""

import numpy as np
import pytest
from boxes_world import THINGS, ToyWorld, exit_reenter, lrlr, out_and_back, play

from worldenv.camera import CameraPath
from worldenv.case import Case, Target
from worldenv.evaluators.constants import CONSTANTS_VERSION, TABLE, constant
from worldenv.evaluators.engine import Engine, InvalidFrames, build_engine
from worldenv.evaluators.plan import Ask, Context, Measurement, Outcome, Slot, pixels, truth
from worldenv.evaluators.profile import Profile, load_profile
from worldenv.world import Chunk, UnknownName

TRUTH = ("pose", "depth", "ids", "state")
CASE = Case(
    "worldmembench/object/000",
    category="object",
    targets=(Target("person-1", "person", 2), Target("chair-1", "chair", 3)),
)


class Sums:
    """A backbone whose answer depends on the size of its batch, as a neural network's does."""

    name, revision, checksum = "sums", "7", "abc"

    def __init__(self, batch=4):
        self.batch = batch
        self.sizes = []
        self.seen = []

    def needs(self, ask):
        return (pixels(ask.frames[0]),)

    def compute(self, asks, inputs):
        self.sizes.append(len(asks))
        self.seen += [ask.frames[0] for ask in asks]
        return [float(frame.sum()) + 1e-3 * len(asks) for (frame,) in inputs]


def still(n):
    return CameraPath(np.tile(np.eye(4), (n, 1, 1)))


def chunk_of(n, start=0, size=16):
    frames = np.zeros((n, size, size, 3), np.uint8)
    frames[:, 0, 0, 0] = (start + np.arange(n)) % 256
    return Chunk(frames, np.tile(np.eye(4), (n, 1, 1)), None)


def engine_of(measurements, n, backbone=None, **keywords):
    profile = Profile("test", {"embed": lambda: backbone or Sums()})
    return Engine(measurements, Context(still(n), profile), **keywords)


def total(frames, name="total", compute=None):
    asks = tuple(Ask("embed", (f,)) for f in frames)

    def add(features):
        return [Outcome(sum(features[a] for a in asks), len(asks))]

    return Measurement("r2m", (Slot(name, n_expected=len(asks)),), asks, compute or add)


@pytest.mark.parametrize("chunks", [[40], [1] * 40, [7, 1, 20, 12]])
def test_answers_do_not_depend_on_chunking_and_are_asked_once(chunks):
    backbone = Sums()
    answered = []
    engine = engine_of(
        [total(range(0, 30)), total([5, 29, 39], "other")], 40, backbone, on_answer=answered.append
    )
    assert engine.wanted == frozenset([*range(30), 39])
    came, t = [], 0
    for n in chunks:
        for score in engine.observe(chunk_of(n, t)):
            came.append((score.metric, score.value))
        t += n
    assert came == [("total", pytest.approx(435.12)), ("other", pytest.approx(73.012))]
    assert set(backbone.sizes) == {4}
    assert len(answered) == len(set(answered)) == 62
    assert engine.counts == {"pixels": 31, "embed": 31}
    assert engine.held == 0


def test_scores_come_with_the_frame_that_completes_them():
    engine = engine_of([total([3]), total([1, 6], "later")], 10)
    assert engine.observe(chunk_of(3)) == ()
    (first,) = engine.observe(chunk_of(1, 3))
    assert (first.metric, first.final_at, first.n_valid) == ("total", 3, 1)
    (second,) = engine.observe(chunk_of(6, 4))
    assert second.metric == "later" and second.final_at == 6
    summary = engine.finish()
    assert summary.scores == (first, second) and not summary.aborted
    made = {"name": "sums", "revision": "7", "checksum": "abc", "device": "cpu"}
    assert summary.backbones == {"embed": made}
    assert summary.constants_version == CONSTANTS_VERSION and summary.profile == "test"
    assert engine.finish() is summary
    with pytest.raises(InvalidFrames, match="finished"):
        engine.observe(chunk_of(1))


def test_ten_thousand_frames_keep_a_bounded_number_of_answers():
    n, lag = 10_000, 50
    measurements = [total([f, f + lag], f"m{f}") for f in range(0, n - lag, 10)]
    engine = engine_of(measurements, n, Sums(batch=1))
    most, count = 0, 0
    for start in range(0, n, 100):
        count += len(engine.observe(chunk_of(100, start)))
        most = max(most, engine.held)
    assert count == len(measurements)
    assert most <= lag and engine.held == 0 and not engine._nodes


class Chain:
    """A state that is handed from frame to frame, as a tracker's is."""

    name, revision, checksum, batch = "chain", "1", "", 1

    def __init__(self):
        self.planned = 0

    def needs(self, ask):
        self.planned += 1
        (frame,) = ask.frames
        before = (Ask("chain", (frame - 1,)),) if frame else ()
        return (pixels(frame), *before)

    def compute(self, asks, inputs):
        return [(values[1][0] + 1 if len(values) > 1 else 1, values[0].copy()) for values in inputs]


@pytest.mark.parametrize("chunk", [16, 10_000])
def test_a_chain_over_ten_thousand_frames_is_planned_once_and_forgotten_as_it_goes(chunk):
    n = 10_000
    last = Ask("chain", (n - 1,))
    ends = Measurement(
        "r2m", (Slot("length"),), (last,), lambda found: [Outcome(float(found[last][0]), 1)]
    )
    backbone = Chain()
    profile = Profile("test", {"chain": lambda: backbone})
    engine = Engine([ends], Context(still(n), profile))
    assert backbone.planned == n
    most = 0
    for start in range(0, n, chunk):
        scores = engine.observe(chunk_of(chunk, start))
        if not scores:
            most = max(most, engine.held)
            assert len(engine._nodes) < 2 * (n - start - chunk) + 2
    assert [score.value for score in scores] == [n]
    assert most <= 1 and engine.held == 0 and not engine._nodes


def test_one_broken_measurement_leaves_the_others_alone():
    def burst(features):
        raise RuntimeError("boom")

    def lie(features):
        return [Outcome(float("nan"), 1)]

    def short(features):
        return []

    engine = engine_of(
        [
            total([0], "burst", burst),
            total([0], "lie", lie),
            total([0], "short", short),
            total([0]),
        ],
        2,
    )
    scores = {s.metric: s for s in engine.observe(chunk_of(2))}
    assert scores["total"].status == "ok"
    for name, word in (("burst", "RuntimeError: boom"), ("lie", "NaN"), ("short", "outcomes")):
        assert scores[name].status == "error" and word in scores[name].detail["reason"]
        assert scores[name].value is None


def test_a_broken_backbone_and_missing_truth_become_errors():
    class Broken(Sums):
        def compute(self, asks, inputs):
            raise ValueError("no weights")

    engine = engine_of([total([1])], 4, Broken())
    (score,) = engine.observe(chunk_of(4))
    assert score.status == "error" and "no weights" in score.detail["reason"]
    depth = Measurement("r2m", (Slot("d"),), (truth("depth", 1),), lambda f: [Outcome(1.0, 1)])
    engine = engine_of([depth], 4)
    (score,) = engine.observe(chunk_of(4))
    assert score.status == "error" and "no truth 'depth' for frame 1" in score.detail["reason"]


def test_truth_that_was_not_recorded_is_not_read():
    depth = Measurement("r2m", (Slot("d"),), (truth("depth", 1),), lambda f: [Outcome(1.0, 1)])
    engine = engine_of([depth], 2)
    assert engine.wanted == frozenset() and engine.wanted_truth == {"depth": frozenset({1})}
    masks = {"depth": np.array([True, False])}
    piece = chunk_of(2)._replace(truth={"depth": np.zeros((2, 16, 16)), "recorded": masks})
    assert engine.observe(piece)[0].status == "error"


def test_an_early_end_says_so():
    partial = Measurement(
        "r2m",
        (Slot("some"),),
        tuple(Ask("embed", (f,)) for f in (1, 30)),
        lambda features: [Outcome(float(len(features)), len(features))],
        partial=True,
    )
    engine = engine_of([total([2]), total([2, 30], "late"), partial], 40)
    engine.observe(chunk_of(10))
    summary = engine.finish()
    by_name = {s.metric: s for s in summary.scores}
    assert summary.aborted and by_name["total"].status == "ok"
    assert by_name["late"].status == "unavailable"
    assert "ended at frame 9, before frame 30" in by_name["late"].detail["reason"]
    assert by_name["some"].value == 1.0


@pytest.mark.parametrize(
    ("frames", "poses", "words"),
    [
        (np.zeros((2, 16, 16, 3)), 2, "uint8"),
        (np.zeros((2, 16, 16), np.uint8), 2, "uint8 of shape"),
        (np.zeros((2, 16, 16, 4), np.uint8), 2, "RGB"),
        (np.zeros((2, 16, 16, 3), np.uint8), 3, "poses of shape"),
        ([1, 2], 2, "list"),
    ],
)
def test_frames_of_another_kind_are_refused(frames, poses, words):
    engine = engine_of([total([0])], 4)
    with pytest.raises(InvalidFrames, match=words):
        engine.observe(Chunk(frames, np.tile(np.eye(4), (poses, 1, 1)), None))


def test_a_rollout_has_one_size():
    engine = engine_of([total([0])], 4)
    engine.observe(chunk_of(1))
    with pytest.raises(InvalidFrames, match="changed from"):
        engine.observe(chunk_of(1, 1, size=32))


def test_names_are_checked_when_the_engine_is_built():
    with pytest.raises(UnknownName, match="worldmembench"):
        build_engine(still(3), benchmarks=["worldmembenc"])
    with pytest.raises(UnknownName, match="classic"):
        build_engine(still(3), benchmarks=["r2m"], profile="clasic")
    with pytest.raises(UnknownName, match="rule"):
        build_engine(still(3), benchmarks={"r2m": {"rul": "paper"}})
    with pytest.raises(UnknownName, match="role"):
        load_profile("classic").backbone("perceptual")
    with pytest.raises(UnknownName, match=r"psnr\.mse_floor"):
        constant("psnr.mse_flor")
    assert {entry.source for entry in TABLE.values()} == {"paper", "code", "ours"}


PATHS = {
    "worldmembench": lambda: lrlr(4),
    "mbench": lambda: exit_reenter(2),
    "r2m": lambda: out_and_back(61),
}


@pytest.mark.parametrize("benchmark", sorted(PATHS))
def test_every_benchmark_asks_each_thing_once_in_any_chunking(benchmark):
    world = ToyWorld(size=(48, 48), boxes=THINGS)
    path = PATHS[benchmark]()
    found = []
    for chunk in (1, 23):
        answered = []
        engine = build_engine(
            path,
            benchmarks=[benchmark],
            K=world.K,
            truth=TRUTH,
            case=CASE,
            on_answer=answered.append,
        )
        _, summary = play(engine, world, path, chunk)
        assert len(answered) == len(set(answered))
        per_frame = [ask for ask in answered if ask.role in ("embed", "match") and not ask.subject]
        assert len(per_frame) == len({(a.role, a.frames) for a in per_frame})
        assert {a.frames[0] for a in answered if a.role == "pixels"} == engine.wanted
        assert engine.held == 0
        found.append([(s.metric, s.variant, s.target, s.revisit, s.value) for s in summary.scores])
    assert found[0] and sorted(map(str, found[0])) == sorted(map(str, found[1]))


@pytest.mark.parametrize("benchmark", sorted(PATHS))
def test_a_plain_video_says_what_is_unavailable_and_why(benchmark):
    world = ToyWorld(size=(64, 64))
    path = PATHS[benchmark]()
    engine = build_engine(path, benchmarks=[benchmark], case=CASE)
    assert not engine.wanted_truth
    _, summary = play(engine, world, path, truth=False)
    statuses = {s.status for s in summary.scores}
    assert "ok" in statuses and "error" not in statuses
    for score in summary.scores:
        if score.value is None:
            assert score.detail["reason"]
    reasons = " ".join(str(s.detail.get("reason")) for s in summary.scores)
    assert "needs truth" in reasons and "the source has none" in reasons

"""The engine: feeds frames to measurements, asks every role once, and forgets what is used up."""

from __future__ import annotations

import heapq
import importlib
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from worldenv.camera import CameraPath, WorldEnvError
from worldenv.case import BENCHMARKS, Case
from worldenv.evaluators.cache import (
    MISSING,
    NOT_KEPT,
    Cache,
    ask_key,
    find_cache,
    frame_key,
)
from worldenv.evaluators.constants import CONSTANTS_VERSION
from worldenv.evaluators.plan import (
    PIXELS,
    Ask,
    Context,
    Failure,
    Features,
    Measurement,
    Outcome,
)
from worldenv.evaluators.profile import Profile, load_profile
from worldenv.evaluators.score import Score
from worldenv.world import Chunk, UnknownName, WorldSpec


class InvalidFrames(WorldEnvError):
    """Frames of a wrong type, shape or count were handed to the engine."""


@dataclass(frozen=True)
class Summary:
    """What an episode was worth.

    Attributes:
        scores: Every Score, in the order in which they became final, aggregates last.
        profile: Name of the profile.
        backbones: Role -> name, revision and checksum of the backbone that answered it.
        constants_version: Version of the table of constants.
        aborted: Whether the rollout ended before the path did.
    """

    scores: tuple[Score, ...]
    profile: str
    backbones: dict[str, dict[str, str]]
    constants_version: str
    aborted: bool


_MISSING: Any = object()


class _Node:
    """An ask on its way: what it waits for, who waits for it, and its answer."""

    __slots__ = (
        "answer",
        "inputs",
        "key",
        "looked",
        "measurements",
        "rank",
        "unkeyed",
        "uses",
        "waiting",
        "wanted_by",
    )

    def __init__(self, inputs: tuple[Ask, ...], rank: int) -> None:
        self.inputs = inputs
        self.waiting = len(set(inputs))
        # Most nodes are wanted once; a long path has a million of them.
        self.wanted_by: list[Ask] | tuple[()] = ()
        self.measurements: list[int] | tuple[()] = ()
        self.uses = 0
        self.rank = rank
        self.answer: Any = _MISSING
        self.key: bytes | None = None
        self.unkeyed = self.waiting
        self.looked = False


class _Ready:
    """Asks that can be answered, by rank: those of the lowest come first, all at once."""

    def __init__(self) -> None:
        self._ranks: list[int] = []
        self._asks: dict[int, list[Ask]] = {}

    def __bool__(self) -> bool:
        return bool(self._ranks)

    def add(self, ask: Ask, rank: int) -> None:
        """Take an ask whose inputs are all answered."""
        if rank not in self._asks:
            heapq.heappush(self._ranks, rank)
            self._asks[rank] = []
        self._asks[rank].append(ask)

    def pop(self) -> list[Ask]:
        """Return the asks of the lowest rank."""
        return self._asks.pop(heapq.heappop(self._ranks))


class Engine:
    """Runs measurements over chunks that arrive in order from frame 0.

    Attributes:
        wanted: Frames whose pixels any measurement uses.
        wanted_truth: Truth key -> frames of which it is used.
        counts: Role -> number of asks answered so far; a test counts with it.
    """

    def __init__(
        self,
        measurements: Sequence[Measurement],
        context: Context,
        *,
        conclude: Callable[[Sequence[Score]], Sequence[Score]] = lambda scores: (),
        on_answer: Callable[[Ask], None] | None = None,
        cache: Cache | None = None,
    ) -> None:
        """Lay out what has to be asked.

        Args:
            measurements: What is measured.
            context: What it was planned from; its profile answers the roles.
            conclude: Scores -> aggregates of the whole rollout, called once at the end.
            on_answer: Called with every ask when it is answered.
            cache: Where answers that rest on pixels alone are looked up and kept.
        """
        self._cache = cache
        self._salts: dict[str, str] = {}
        self._context = context
        self._profile: Profile = context.profile
        self._conclude = conclude
        self._on_answer = on_answer
        self._nodes: dict[Ask, _Node] = {}
        self._sources: dict[int, list[Ask]] = defaultdict(list)
        self._open: dict[int, Measurement] = {}
        self._waiting: dict[int, int] = {}
        self._idle: list[int] = []
        self._due: list[int] = []
        self._scores: list[Score] = []
        self._t = -1
        self._size: tuple[int, ...] | None = None
        self._summary: Summary | None = None
        self.counts: Counter[str] = Counter()
        for index, measurement in enumerate(measurements):
            self._open[index] = measurement
            asks = set(measurement.asks)
            self._waiting[index] = len(asks)
            if not asks:
                self._idle.append(index)
            for ask in asks:
                node = self._node(ask)
                if isinstance(node.measurements, list):
                    node.measurements.append(index)
                else:
                    node.measurements = [index]
                node.uses += 1
        wanted: dict[str, set[int]] = defaultdict(set)
        for frame, asks_of_frame in self._sources.items():
            for ask in asks_of_frame:
                wanted[ask.role].add(frame)
        self.wanted: frozenset[int] = frozenset(wanted.pop(PIXELS, set()))
        self.wanted_truth: dict[str, frozenset[int]] = {
            role.partition(":")[2]: frozenset(frames) for role, frames in wanted.items()
        }

    @property
    def path(self) -> CameraPath:
        """The target path that was planned on."""
        return self._context.path

    @property
    def backbones(self) -> dict[str, dict[str, str]]:
        """Role -> name, revision and checksum of the backbones that the plan asks."""
        return self._profile.identity()

    @property
    def held(self) -> int:
        """Number of answers that are kept at the moment."""
        return sum(node.answer is not _MISSING for node in self._nodes.values())

    def _node(self, ask: Ask) -> _Node:
        """Lay out an ask and everything it rests on, without recursion: chains may be long."""
        pending: list[tuple[Ask, tuple[Ask, ...] | None]] = [(ask, None)]
        while pending:
            now, inputs = pending.pop()
            if now in self._nodes:
                continue
            if now.role == PIXELS or now.role.startswith("truth:"):
                node = self._nodes[now] = _Node((), 0)
                self._sources[now.frames[0]].append(now)
                node.waiting = 1
                continue
            if inputs is None:
                inputs = self._profile.backbone(now.role).needs(now)
                pending.append((now, inputs))
                pending += [(need, None) for need in reversed(inputs) if need not in self._nodes]
                continue
            rank = 1 + max((self._nodes[need].rank for need in inputs), default=0)
            self._nodes[now] = _Node(inputs, rank)
            for need in set(inputs):
                below = self._nodes[need]
                below.uses += 1
                if isinstance(below.wanted_by, list):
                    below.wanted_by.append(now)
                else:
                    below.wanted_by = [now]
        return self._nodes[ask]

    def observe(self, chunk: Chunk) -> tuple[Score, ...]:
        """Take the next frames and return the Scores that became final with them.

        Args:
            chunk: New frames with their poses and, where the source offers it, truth.

        Raises:
            InvalidFrames: the frames are not what the engine was promised.
        """
        if self._summary is not None:
            raise InvalidFrames("the engine has finished; build a new one for another rollout")
        self._check(chunk)
        start = self._t + 1
        self._t += len(chunk.frames)
        ready = _Ready()
        for offset in range(len(chunk.frames)):
            for ask in self._sources.pop(start + offset, ()):
                answer = self._read(chunk, offset, ask)
                if self._cache is not None and ask.role == PIXELS:
                    self._recall(ask, frame_key(answer), ready)
                if ask in self._nodes:
                    self._answer(ask, answer, ready)
        scores = self._run(ready)
        if self._cache is not None:
            self._cache.flush()
        return scores

    def finish(self) -> Summary:
        """Close the books and return the summary; may be called early and more than once."""
        if self._summary is None:
            for index in self._idle:
                if index in self._open:
                    self._complete(index, final_at=None)
            for index in sorted(self._open):
                self._close(index)
            self._nodes.clear()
            self._sources.clear()
            if self._cache is not None:
                self._cache.close()
            self._scores += self._conclude(tuple(self._scores))
            self._summary = Summary(
                scores=tuple(self._scores),
                profile=self._profile.name,
                backbones=self._profile.identity(),
                constants_version=CONSTANTS_VERSION,
                aborted=self._t + 1 < len(self._context.path),
            )
        return self._summary

    def _check(self, chunk: Chunk) -> None:
        frames = chunk.frames
        if not isinstance(frames, np.ndarray) or frames.dtype != np.uint8 or frames.ndim != 4:
            got = f"{getattr(frames, 'dtype', type(frames).__name__)} {np.shape(frames)}"
            raise InvalidFrames(f"frames must be uint8 of shape (n, height, width, 3), got {got}")
        if frames.shape[3] != 3 or min(frames.shape[1:3]) < 16:
            raise InvalidFrames(
                f"frames must be RGB of at least 16 x 16 pixels, got {frames.shape[1:]}"
            )
        if np.shape(chunk.poses) != (len(frames), 4, 4):
            raise InvalidFrames(
                f"{len(frames)} frames came with poses of shape {np.shape(chunk.poses)}; expected "
                f"({len(frames)}, 4, 4)"
            )
        if self._size is None:
            self._size = frames.shape[1:]
        if frames.shape[1:] != self._size:
            raise InvalidFrames(
                f"frames changed from {self._size} to {frames.shape[1:]} at frame {self._t + 1}; "
                "a rollout has one size"
            )

    def _read(self, chunk: Chunk, offset: int, ask: Ask) -> Any:
        if ask.role == PIXELS:
            # A copy, so that one kept frame does not keep the whole chunk.
            return chunk.frames[offset].copy()
        key = ask.role.partition(":")[2]
        values = chunk.truth or {}
        recorded = values.get("recorded", {}).get(key)
        if key not in values or (recorded is not None and not recorded[offset]):
            return Failure(f"the source gave no truth {key!r} for frame {ask.frames[0]}")
        value = values[key][offset]
        return value.copy() if isinstance(value, np.ndarray) else value

    def _answer(self, ask: Ask, answer: Any, ready: _Ready) -> None:
        """Store an answer and note what can be asked or measured now."""
        node = self._nodes[ask]
        node.answer = answer
        self.counts[ask.role] += 1
        if self._on_answer is not None:
            self._on_answer(ask)
        for user in node.wanted_by:
            above = self._nodes.get(user)
            if above is None:
                continue
            above.waiting -= 1
            if above.waiting == 0 and above.answer is _MISSING:
                ready.add(user, above.rank)
        for index in node.measurements:
            self._waiting[index] -= 1
            if self._waiting[index] == 0:
                self._due.append(index)

    def _run(self, ready: _Ready) -> tuple[Score, ...]:
        """Answer everything that can be answered, lowest rank first, in batches by role."""
        while ready:
            by_role: dict[str, list[Ask]] = defaultdict(list)
            for ask in ready.pop():
                # The cache may have answered it meanwhile, or whatever wanted it.
                if ask in self._nodes and self._nodes[ask].answer is _MISSING:
                    by_role[ask.role].append(ask)
            for role, asks in by_role.items():
                asks = [ask for ask in asks if not self._look(ask, ready)]
                size = self._profile.backbone(role).batch
                for first in range(0, len(asks), size):
                    batch = asks[first : first + size]
                    began = time.perf_counter()
                    answers = self._ask(role, batch)
                    each = (time.perf_counter() - began) / len(batch)
                    for ask, answer in zip(batch, answers, strict=True):
                        self._keep(ask, answer, each)
                        self._settle_ask(ask, answer, ready)
        before = len(self._scores)
        for index in sorted(self._due):
            # Independent of how frames were chunked.
            self._complete(index, final_at=max(self._open[index].frames))
        self._due.clear()
        return tuple(self._scores[before:])

    def _settle_ask(self, ask: Ask, answer: Any, ready: _Ready) -> None:
        """Store an answer and let go of what it was made from."""
        self._answer(ask, answer, ready)
        for need in set(self._nodes[ask].inputs):
            self._release(need)

    def _recall(self, source: Ask, key: bytes, ready: _Ready) -> None:
        """Spread the key of a frame, and answer what measurements want of it from the cache.

        These come first: what only they rest on need not even be read.
        """
        self._nodes[source].key = key
        keyed, wanted = [source], []
        while keyed:
            for user in self._nodes[keyed.pop()].wanted_by:
                node = self._nodes.get(user)
                if node is None or node.key is not None:
                    continue
                node.unkeyed -= 1
                if node.unkeyed == 0:
                    node.key = self._key(user, node)
                    keyed.append(user)
                    if node.measurements:
                        wanted.append(user)
        for ask in wanted:
            self._look(ask, ready)

    def _key(self, ask: Ask, node: _Node) -> bytes:
        if ask.role not in self._salts:
            self._salts[ask.role] = self._profile.salt(ask.role)
        keys = [self._nodes[need].key for need in node.inputs]
        return ask_key(self._salts[ask.role], ask, [key for key in keys if key is not None])

    def _look(self, ask: Ask, ready: _Ready) -> bool:
        """Return whether the cache answered an ask."""
        node = self._nodes[ask]
        if self._cache is None or node.key is None or node.looked or ask.role in NOT_KEPT:
            return False
        node.looked = True
        found = self._cache.get(node.key)
        if found is MISSING:
            return False
        self._settle_ask(ask, found, ready)
        return True

    def _keep(self, ask: Ask, answer: Any, seconds: float) -> None:
        key = self._nodes[ask].key
        kept = self._cache is not None and key is not None and ask.role not in NOT_KEPT
        if kept and not isinstance(answer, Failure):
            assert self._cache is not None and key is not None
            self._cache.put(key, answer, seconds)

    def _ask(self, role: str, asks: list[Ask]) -> list[Any]:
        """Answer one batch; whatever breaks becomes a Failure of those asks alone."""
        backbone = self._profile.backbone(role)
        answers: dict[Ask, Any] = {}
        inputs: list[tuple[Any, ...]] = []
        good: list[Ask] = []
        for ask in asks:
            values = tuple(self._nodes[need].answer for need in self._nodes[ask].inputs)
            broken = next((v for v in values if isinstance(v, Failure)), None)
            if broken is not None:
                answers[ask] = broken
            else:
                good.append(ask)
                inputs.append(values)
        if good:
            # Padded to one size: a backbone may round differently at another batch size.
            padding = backbone.batch - len(good)
            try:
                found = backbone.compute(
                    good + [good[-1]] * padding, inputs + [inputs[-1]] * padding
                )
                answers.update(zip(good, found, strict=False))
            except Exception as error:
                message = f"{role} ({backbone.name}) failed: {type(error).__name__}: {error}"
                answers.update((ask, Failure(message)) for ask in good)
        return [answers[ask] for ask in asks]

    def _release(self, ask: Ask) -> None:
        """Forget an ask after its last use, and what only an ask that was never answered needs."""
        pending = [ask]
        while pending:
            now = pending.pop()
            node = self._nodes[now]
            node.uses -= 1
            if node.uses == 0:
                del self._nodes[now]
                if node.answer is _MISSING:
                    pending += set(node.inputs)

    def _complete(self, index: int, final_at: int | None) -> None:
        measurement = self._open[index]
        features = {ask: self._nodes[ask].answer for ask in set(measurement.asks)}
        broken = next((v for v in features.values() if isinstance(v, Failure)), None)
        if broken is not None and not measurement.partial:
            self._settle(index, self._same(index, broken.status, broken.message), final_at)
            return
        self._settle(index, self._compute(index, features), final_at)

    def _compute(self, index: int, features: Features) -> Sequence[Outcome]:
        measurement = self._open[index]
        try:
            outcomes = list(measurement.compute(features))
            if len(outcomes) != len(measurement.slots):
                raise ValueError(f"{len(outcomes)} outcomes for {len(measurement.slots)} slots")
            return outcomes
        except Exception as error:
            return self._same(index, "error", f"{type(error).__name__}: {error}")

    def _close(self, index: int) -> None:
        """Settle a measurement whose frames did not all arrive."""
        measurement = self._open[index]
        if measurement.partial:
            found = {
                ask: self._nodes[ask].answer
                for ask in set(measurement.asks)
                if ask in self._nodes and self._nodes[ask].answer is not _MISSING
            }
            self._settle(index, self._compute(index, found), self._t)
            return
        last = max(measurement.frames)
        reason = f"the rollout ended at frame {self._t}, before frame {last}"
        self._settle(index, self._same(index, "unavailable", reason), None)

    def _same(self, index: int, status: Any, reason: str) -> list[Outcome]:
        outcome = Outcome(status=status, detail={"reason": reason})
        return [outcome] * len(self._open[index].slots)

    def _settle(self, index: int, outcomes: Sequence[Outcome], final_at: int | None) -> None:
        measurement = self._open.pop(index)
        self._waiting.pop(index)
        for slot, outcome in zip(measurement.slots, outcomes, strict=True):
            self._scores.append(_score(measurement.benchmark, slot, outcome, final_at))
        for ask in set(measurement.asks):
            if ask in self._nodes:
                self._release(ask)


def _score(benchmark: str, slot: Any, outcome: Outcome, final_at: int | None) -> Score:
    fields = {**slot._asdict(), "benchmark": benchmark, "final_at": final_at}
    try:
        return Score(
            **fields,
            value=outcome.value,
            n_valid=outcome.n_valid,
            status=outcome.status,
            detail=dict(outcome.detail),
        )
    except ValueError as error:
        return Score(**fields, status="error", detail={"reason": str(error)})


def build_engine(
    path: CameraPath,
    *,
    benchmarks: Mapping[str, dict[str, Any]] | Sequence[str],
    profile: str = "classic+truth",
    case: Case | None = None,
    spec: WorldSpec | None = None,
    K: NDArray[np.float64] | None = None,
    K_exactness: str = "nominal",
    seed: int = 0,
    truth: Collection[str] = (),
    script: str | None = None,
    on_answer: Callable[[Ask], None] | None = None,
    cache: Path | None = None,
) -> Engine:
    """Plan the measurements of one rollout and return the engine that will run them.

    Args:
        path: The target path.
        benchmarks: Names, or names -> options such as ``{"rule": "paper"}``.
        profile: Which backbones answer which roles, e.g. ``classic+truth``.
        case: What is looked for.
        spec: The world; gives K where ``K`` is None.
        K: Intrinsics in pixels of the frames, shape (3, 3).
        K_exactness: How far K is known.
        seed: Seed of sampled pairs.
        truth: Truth keys that the source offers, any of ``pose``, ``depth``, ``ids``, ``state``.
        script: Name of the script that the path comes from; one that text drives says what.
        on_answer: Called with every ask when it is answered.
        cache: Folder in which answers that rest on pixels alone are kept; None takes the one that
            the environment names, if any.

    Raises:
        CacheUnusable: the folder cannot be written.
        UnknownName: no such benchmark, option or profile.
    """
    options = (
        dict(benchmarks) if isinstance(benchmarks, Mapping) else {name: {} for name in benchmarks}
    )
    if K is None and spec is not None:
        K, K_exactness = spec.intrinsics(), spec.K_exactness
    loaded = load_profile(profile, truth, K, len(path))
    measurements: list[Measurement] = []
    concluders: list[Callable[[Sequence[Score]], list[Score]]] = []
    context = Context(path, loaded, case, spec, K, K_exactness, seed, script=script)
    for name, chosen in options.items():
        if name not in BENCHMARKS:
            raise UnknownName("benchmark", name, BENCHMARKS)
        module = importlib.import_module(f"worldenv.evaluators.{name}")
        for key in chosen:
            if key not in module.OPTIONS:
                raise UnknownName(f"option of {name}", key, module.OPTIONS)
        own = Context(path, loaded, case, spec, K, K_exactness, seed, dict(chosen), script)
        measurements += module.plan(own)

        def conclude(
            scores: Sequence[Score], module: Any = module, own: Context = own, name: str = name
        ) -> list[Score]:
            mine = [score for score in scores if score.benchmark == name]
            concluded: list[Score] = module.conclude(mine, own)
            return concluded

        concluders.append(conclude)
    return Engine(
        measurements,
        context,
        conclude=lambda scores: [s for each in concluders for s in each(scores)],
        on_answer=on_answer,
        cache=find_cache(cache),
    )

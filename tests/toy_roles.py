"""Roles that read painted frames: a profile without truth, answers that can be worked out."""

from dataclasses import dataclass

import numpy as np

from worldenv.evaluators.backbones.faces import Face
from worldenv.evaluators.backbones.regions import region
from worldenv.evaluators.engine import _MISSING, Engine
from worldenv.evaluators.plan import Ask, Context, Thing, pixels
from worldenv.evaluators.profile import assemble
from worldenv.world import Chunk

GREY = 128
NOUNS = {"person": 200, "chair": 100, "lamp": 50}
FACE = 250


@dataclass(frozen=True)
class Painted:
    """A rectangle of a noun: how it looks, how sure a detector is of it, and whose face it has.

    Looks and faces are degrees on a circle, so that their cosine is that of the difference.
    """

    noun: str
    looks: int
    box: tuple
    sure: int = 90
    face: int | None = None


def paint(things, size=(64, 64), background=GREY):
    """Return a frame; red says the noun, green the looks, blue how sure, of every pixel."""
    frame = np.full((size[1], size[0], 3), background, np.uint8)
    for thing in things:
        left, top, right, bottom = thing.box
        frame[top:bottom, left:right] = (NOUNS[thing.noun], thing.looks, thing.sure)
        if thing.face is not None:
            frame[top + 1 : top + 5, left + 1 : left + 5] = (FACE, thing.face, thing.sure)
    return frame


def circle(degrees):
    """Return the unit vector of an angle."""
    return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], np.float32)


class Toy:
    """What every toy has; counts its asks."""

    revision, checksum, batch = "1", "", 1

    def __init__(self):
        self.asked = []

    def needs(self, ask):
        return (pixels(ask.frames[0]),)

    def compute(self, asks, inputs):
        self.asked += asks
        return [self.answer(ask, *values) for ask, values in zip(asks, inputs, strict=True)]


class Segments(Toy):
    """Finds the colours of a noun; like a tracker's, its track numbers hold in one window only."""

    name = "toy-segment"

    def __init__(self, least=50):
        super().__init__()
        self.least = least

    def answer(self, ask, frame):
        thing = ask.subject
        assert isinstance(thing, Thing), thing
        nouns = NOUNS if thing.noun == "*" else [thing.noun]
        found = []
        for noun in nouns:
            mine = (frame[..., 0] == NOUNS[noun]) | (frame[..., 0] == FACE) * (noun == "person")
            for looks, sure in {tuple(c) for c in frame[frame[..., 0] == NOUNS[noun]][:, 1:]}:
                if sure < self.least:
                    continue
                same = (frame[..., 0] == NOUNS[noun]) & (frame[..., 1] == looks)
                rows, columns = np.nonzero(same)
                box = np.s_[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
                mask = np.zeros(same.shape, bool)
                mask[box] = mine[box]
                start = thing.window[0] if thing.window else ask.frames[0]
                found.append(region(1000 * start + int(looks), noun, mask, int(sure) / 100))
        return tuple(sorted(found, key=lambda r: (-r.area, r.track)))


class Embeds(Toy):
    """The looks of a thing, or of whatever is not white nor grey in a frame."""

    name, batch = "toy-embed", 3

    def needs(self, ask):
        return (Ask("cutout", ask.frames, ask.subject) if ask.subject else pixels(ask.frames[0]),)

    def answer(self, ask, value):
        if not ask.subject:
            return circle(looks_of(value))
        frame, regions = value
        return {
            r.track: (r._replace(mask=r.mask[:0]), circle(looks_of(frame[r.mask][None])))
            for r in regions
            if r.area >= 0.002
        }


def looks_of(frame):
    """Return the green of the first pixel that is painted, 0 where none is."""
    red = frame[..., 0]
    painted = frame[np.isin(red, list(NOUNS.values()))]
    return int(painted[0, 1]) if len(painted) else 0


def faces_of(frame):
    """Return (left, top, degrees) of every painted face, left to right."""
    rows, columns = np.nonzero(frame[..., 0] == FACE)
    seen = {}
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        corner = next((c for c in seen if 0 <= row - c[1] < 4 and 0 <= column - c[0] < 4), None)
        if corner is None:
            seen[column, row] = int(frame[row, column, 1])
    return sorted((left, top, degrees) for (left, top), degrees in seen.items())


class Identities(Toy):
    """The face squares, as vectors on a circle."""

    name = "toy-identity"

    def answer(self, ask, frame):
        return tuple(
            (
                Face(
                    np.array([left, top, left + 4, top + 4], np.float32),
                    np.zeros((5, 2), np.float32),
                    0.9,
                ),
                circle(degrees),
            )
            for left, top, degrees in faces_of(frame)
        )


class Texts(Toy):
    """How close the looks of what is painted are to the length of the words, in degrees."""

    name, batch = "toy-text", 2

    def needs(self, ask):
        thing = isinstance(ask.subject, Thing)
        return (Ask("cutout", ask.frames, ask.subject) if thing else pixels(ask.frames[0]),)

    def answer(self, ask, value):
        if isinstance(ask.subject, str):
            return float(circle(looks_of(value)) @ circle(len(ask.subject)))
        frame, regions = value
        return {
            r.track: float(circle(looks_of(frame[r.mask][None])) @ circle(len(r.category)))
            for r in regions
        }


class Brightness(Toy):
    """The mean red of a frame over 100; goes beyond 1 on purpose."""

    name = "toy-quality"

    def answer(self, ask, frame):
        return float(frame[..., 0].mean()) / 100


class Styles(Toy):
    """Two Gram matrices of one number each: mean red and mean green over 255."""

    name = "toy-style"

    def answer(self, ask, frame):
        return tuple(np.full((1, 1), frame[..., c].mean() / 255, np.float32) for c in (0, 1))


def roles(**changed):
    """Return role -> toy; None leaves one out."""
    made = {
        "segment": Segments(),
        "embed": Embeds(),
        "faces": Identities(),
        "identity": Identities(),
        "text": Texts(),
        "quality": Brightness(),
        "aesthetic": Brightness(),
        "style": Styles(),
        **changed,
    }
    return {role: toy for role, toy in made.items() if toy is not None}


def kept(engine, role):
    """Return how many answers of a role an engine holds."""
    return sum(
        ask.role == role and node.answer is not _MISSING for ask, node in engine._nodes.items()
    )


def play(module, path, frame_of, toys=None, chunk=7, nouns=None, K=None, watch=None, **context):
    """Measure a painted video with a benchmark's module and return its scores by slot.

    Args:
        module: ``worldenv.evaluators.mbench``, say.
        path: The target path.
        frame_of: Frame index -> things that are painted, or an image.
        toys: Role -> toy, all where None.
        chunk: Frames a chunk.
        nouns: Role -> the only nouns it knows.
        K: Intrinsics.
        watch: Called with the engine after every chunk.
        context: Further fields of the Context.
    """
    toys = roles() if toys is None else toys
    makers = {role: (lambda toy=toy: toy) for role, toy in toys.items()}
    profile = assemble("toy", makers, nouns=nouns, K=K)
    known = Context(path, profile, K=K, **context)
    engine = Engine(module.plan(known), known, conclude=lambda s: module.conclude(s, known))
    for start in range(0, len(path), chunk):
        stop = min(start + chunk, len(path))
        images = [frame_of(f) for f in range(start, stop)]
        frames = np.stack([i if isinstance(i, np.ndarray) else paint(i) for i in images])
        engine.observe(Chunk(frames, path.poses[start:stop], None))
        if watch is not None:
            watch(engine)
    summary = engine.finish()
    assert engine.held == 0
    return {(s.metric, s.variant, s.target, s.revisit): s for s in summary.scores}

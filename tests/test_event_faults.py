"""Event faults: the clock as maths, what the world shows, and how truth judges it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worldenv.camera import walk
from worldenv.evaluators import events
from worldenv.evaluators.worldmembench import gate
from worldenv.faults import FAULTS
from worldenv.world import Start
from worldenv.worlds.reference import make
from worldenv.worlds.reference.event_faults import Clock, broken, start_clock
from worldenv.worlds.reference.events import EVENTS
from worldenv.worlds.reference.families import SceneName, scene_of
from worldenv.worlds.reference.scene import Scene

FAULTY = tuple(n for n, f in FAULTS.items() if f.group == "event")
DOSES = (0.25, 0.5, 0.75, 1.0)
SMALL: dict[str, Any] = {"size": (48, 36), "family": "plain", "threads": 1}
START = Start(scene={"family": "plain", "seed": 3, "view": "middle", "event": "ball_rolls_off"})
HOLD, LEG, AWAY, FRAMES = 12, 12, 70, 130


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@cache
def interior(event: str) -> Scene:
    return scene_of(SceneName("interior", 3, event))


def clocks(in_view: list[bool], seed: int = 0, **faults: float) -> list[Clock]:
    """Run the clock of an event of 200 frames at 16 frames a second."""
    clock = replace(
        start_clock(seed, faults, scene_of(SceneName("plain", 3, None)), 16.0, True), whole=200.0
    )
    out = [clock]
    for visible in in_view:
        clock = clock.advanced().looked_at(visible)
        out.append(clock)
    return out


def seen(leave: int = 40, back: int = 300, end: int = 400) -> list[bool]:
    return [frame < leave or frame >= back for frame in range(1, end)]


def glimpses(event: str, found: list[Clock], instance: str = "a") -> dict[str, bool]:
    """Judge an event by its clock, as the dynamic script looks at it."""
    change = interior(event).event
    assert change is not None
    pace = change.duration * 16 / 200
    shown = [
        events.Glimpse(
            change.progress(pace * c.time),
            event,
            instance + ("/broken" if c.left and c.faults.get("event_break") else ""),
            c.in_view,
        )
        for c in found
    ]
    before, away, after = shown[:60:4], shown[60:260:8], shown[260::8]
    return {"started": events.started(before), **events.judge(before, away, after)}


@given(st.lists(st.booleans(), min_size=1, max_size=80))
@settings(max_examples=30, deadline=None)
def test_without_faults_the_clock_counts_frames(in_view: list[bool]) -> None:
    found = clocks(in_view, **dict.fromkeys(FAULTY, 0.0))
    assert [c.elapsed for c in found] == list(range(len(in_view) + 1))
    assert all(c.time == k / 16.0 for k, c in enumerate(found))


def test_an_absent_event_is_drawn_once_and_nested() -> None:
    never = {
        dose: {s for s in range(200) if clocks([True] * 3, s, event_absent=dose)[-1].elapsed == 0}
        for dose in DOSES
    }
    assert never[0.25] < never[0.5] < never[0.75] < never[1.0] == set(range(200))
    assert 70 < len(never[0.5]) < 130


def test_the_clock_under_each_fault() -> None:
    def at(frame: int, fault: str, dose: float) -> float:
        return clocks(seen(), **{fault: dose})[frame].elapsed

    # It was last in view in frame 39; frame 40 still takes a step that was begun in view.
    for dose in DOSES:
        assert at(300, "event_freeze", dose) == pytest.approx(40 + (1 - dose) * 260)
        assert at(300, "event_restart", dose) == pytest.approx((1 - dose) * 200)
        assert at(340, "event_restart", dose) == pytest.approx((1 - dose) * 200 + 40)
        assert at(55, "event_reverse", dose) == 55
    assert at(300, "event_reverse", 0.5) == at(56, "event_reverse", 0.5)
    assert at(100, "event_reverse", 1.0) < at(60, "event_reverse", 1.0)
    assert at(300, "event_reverse", 1.0) == 0
    assert [c.left for c in clocks(seen(), event_break=1.0)].index(True) == 56


def test_a_restart_needs_an_absence_and_comes_with_each() -> None:
    in_view = [*seen(40, 50, 100), *([False] * 20), *([True] * 10), *([False] * 20), True]
    found = [c.elapsed for c in clocks(in_view, event_restart=1.0)]
    assert found[60] == 60 and found[120] == 0 and found[129] == 9 and found[150] == 0


@pytest.mark.parametrize("event", EVENTS)
def test_truth_tells_never_started_from_started_and_forgotten(event: str) -> None:
    kept = glimpses(event, clocks(seen(60)))
    assert all(kept.values()), kept
    wrong = {
        "event_absent": {
            "started",
            "went on while unseen",
            "further at the end than when left",
            "reached its final state",
        },
        "event_freeze": {"went on while unseen"},
        "event_restart": {"went on while unseen", "never went back", "not reset on return"},
        "event_reverse": {
            "went on while unseen",
            "further at the end than when left",
            "never went back",
            "not reset on return",
            "reached its final state",
        },
        "event_break": {"the thing stayed the same"},
    }
    for fault, expected in wrong.items():
        found = glimpses(event, clocks(seen(60), **{fault: 1.0}))
        denied = {name for name, holds in found.items() if not holds}
        assert expected <= denied, (fault, found)
        if fault in ("event_absent", "event_break"):
            assert denied == expected
        scores = gate(found["started"], [v for k, v in found.items() if k != "started"])
        assert scores["event_start"] == (0 if fault == "event_absent" else 1)
        assert (scores["dynamic_overall"] > 0) == (fault != "event_absent")


@pytest.mark.parametrize("fault", ["event_freeze", "event_restart", "event_reverse"])
def test_truth_counts_more_wrong_the_larger_the_dose(fault: str) -> None:
    means = []
    for dose in (0.0, *DOSES):
        found = [glimpses(e, clocks(seen(60), **{fault: dose})) for e in EVENTS]
        means.append(np.mean([sum(f.values()) for f in found]))
    assert (np.diff(means) <= 0).all() and means[-1] < means[0], means


def test_what_is_not_met_again_has_not_gone_on() -> None:
    away = [events.Glimpse(p, "e", "a", p < 0.3) for p in np.linspace(0, 1, 21)]
    found = events.judge(away[:5], away[5:12], away[12:])
    assert events.absence(away[:5], away[5:12], away[12:]).met is False
    assert not found["went on while unseen"] and not found["the thing is there at the end"]
    assert found["the thing stayed the same"] and found["never went back"]


@pytest.mark.parametrize("event", EVENTS)
def test_a_broken_thing_takes_another_colour_by_its_dose(event: str) -> None:
    scene = interior(event)
    assert scene.event is not None and broken(scene, 0.0, 0) == (scene, [])
    whole = scene.instance(scene.event.instance)
    was = scene.textures[whole.mesh.materials[0].texture].astype(float)
    gone, variants = [], []
    for dose in DOSES:
        after, changed = broken(scene, dose, 0)
        thing = after.instance(whole.id)
        texture = after.textures[thing.mesh.materials[0].texture].astype(float)
        assert changed == [whole.id] and thing.mesh.vertices is whole.mesh.vertices
        gone.append(abs(texture - was).mean())
        variants.append(thing.variant != whole.variant)
    assert (np.diff([0.0, *gone]) > 0).all()
    assert variants == sorted(variants) and variants[-1]


def path() -> np.ndarray:
    """Hold, turn left by 170 degrees, stay away, come back, hold."""
    out = -170.0 * np.arange(1, LEG + 1) / LEG
    yaw = np.concatenate([np.zeros(HOLD + 1), out, np.full(AWAY, -170.0), out[::-1] + 170 / LEG])
    yaw = np.append(yaw, np.zeros(FRAMES - len(yaw)))
    return walk(np.zeros((FRAMES, 3)), yaw, np.zeros(FRAMES))


def shown(faults: dict[str, float] | None, chunk: int = 43, seed: int = 0) -> tuple[Any, list[Any]]:
    world = make(**SMALL, faults=faults)
    parts = [world.reset(START, seed=seed, plan=None)]
    parts += [world.step(path()[at : at + chunk]) for at in range(1, FRAMES, chunk)]
    world.close()
    states = [s for p in parts if p.truth for s in p.truth["state"]]
    return np.concatenate([p.frames for p in parts]), states


@pytest.fixture(scope="module")
def plain(own_cache: None) -> tuple[Any, list[Any]]:
    return shown(None)


@pytest.mark.parametrize("fault", FAULTY)
def test_the_world_shows_what_its_state_says(fault: str, plain: tuple[Any, list[Any]]) -> None:
    frames, states = shown({fault: 1.0})
    assert not np.array_equal(frames, plain[0])
    # While it is first in view, only an event that never starts differs.
    same = np.array_equal(frames[: HOLD + 1], plain[0][: HOLD + 1])
    assert same == (fault != "event_absent")
    world = make(**SMALL)
    world.reset(START, seed=0, plan=None)
    scene = world.scene  # type: ignore[attr-defined]
    times = np.linspace(0, scene.event.duration, 2001)
    thing = scene.event.instance
    for state in states[::13]:
        # Progress and place are those of one time.
        progress = state["event"]["progress"]
        time = times[np.argmin([abs(scene.event.progress(t) - progress) for t in times])]
        place = np.array(state["instances"][thing]["pose"])
        np.testing.assert_allclose(place[:3, 3], scene.event.pose(time)[:3, 3], atol=0.01)
    if fault == "event_break":
        variants = [s["instances"][thing]["variant"] for s in states]
        assert len(set(variants)) == 2 and variants[0] == variants[HOLD]


@pytest.mark.parametrize("fault", FAULTY)
def test_no_dose_gives_the_bits_of_the_perfect_world(
    fault: str, plain: tuple[Any, list[Any]]
) -> None:
    frames, states = shown({fault: 0.0})
    np.testing.assert_array_equal(frames, plain[0])
    assert states == plain[1]


@pytest.mark.parametrize("fault", FAULTY)
def test_chunks_of_any_size_give_the_same_frames(fault: str) -> None:
    one, many = (
        shown({fault: 0.75, "camera_gain": 0.2}, 1),
        shown({fault: 0.75, "camera_gain": 0.2}),
    )
    np.testing.assert_array_equal(one[0], many[0])
    assert one[1] == many[1]


@pytest.mark.parametrize("fault", FAULTY)
def test_a_snapshot_brings_clock_and_colour_back(fault: str) -> None:
    world = make(**SMALL, faults={fault: 1.0})
    world.reset(START, seed=0, plan=None)
    world.step(path()[1:60])
    token = world.snapshot()  # type: ignore[attr-defined]
    first = world.step(path()[60:])
    world.restore(token)  # type: ignore[attr-defined]
    again = world.step(path()[60:])
    np.testing.assert_array_equal(first.frames, again.frames)
    assert first.truth is not None and again.truth is not None
    assert first.truth["state"] == again.truth["state"]

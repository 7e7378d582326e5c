import numpy as np
import pytest

from worldenv.case import load_script, load_suite
from worldenv.world import Start, UnknownName, Unsupported
from worldenv.worlds import load_world
from worldenv.worlds.reference.passing import PASSERS

CONTINUATIONS = [
    case for case in load_suite("mbench").cases.values() if case.category == "continuation"
]


def frames(poses, times, passing):
    """Render the poses of some seconds in a plain room."""
    world = load_world("Reference-v0", size=(64, 64), fps=1.0, truth=("ids",))
    scene = {"family": "plain", "seed": 3} | ({} if passing is None else {"passing": passing})
    world.reset(Start(scene=scene), seed=0)
    shown = []
    for second in range(1, max(times) + 1):
        chunk = world.step(poses[second][None])
        if second in times:
            shown.append((chunk.frames[0], chunk.truth["ids"][0]))
    return shown


@pytest.mark.parametrize("kind", PASSERS)
def test_it_hides_the_middle_of_the_view_and_leaves_no_trace(kind):
    still = np.tile(np.eye(4), (9, 1, 1))
    with_it = frames(still, [2, 5, 8], [kind, 3.0, 4.0, 0.0, 0.0, 0.0])
    without = frames(still, [2, 5, 8], None)
    for k in (0, 2):
        np.testing.assert_array_equal(with_it[k][0], without[k][0])
        np.testing.assert_array_equal(with_it[k][1], without[k][1])
    new = with_it[1][1].max()
    assert new not in without[1][1]
    share = (with_it[1][1] == new).mean()
    assert 0.05 < share < 0.5
    assert with_it[1][1][28:36, 28:36].min() == new


def test_it_passes_where_the_camera_stands_then():
    turned = np.tile(np.eye(4), (9, 1, 1))
    a = np.radians(-45.0)
    turned[1:, :3, :3] = [[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]]
    turned[1:, :3, 3] = 0.3, 0.0, 0.2
    there = frames(turned, [5], ["balloon", 3.0, 4.0, 0.3, 0.2, -45.0])[0][1]
    away = frames(turned, [5], ["balloon", 3.0, 4.0, 0.3, 0.2, 90.0])[0][1]
    assert there[32, 32] == there.max() > away.max()


@pytest.mark.parametrize("case", CONTINUATIONS, ids=lambda case: case.id)
def test_each_continuation_shows_what_its_prompt_says(case):
    kind, start, seconds, *place = case.scene["passing"]
    script = load_script("mbench:continuation")
    (frame, text) = script.prompts(None, case)[3]
    assert kind in text and "something passes" in text
    path = script.path()
    assert start == pytest.approx((frame - 1) / path.fps, abs=1 / path.fps)
    assert seconds == script.seconds
    pose = path.poses[frame]
    assert place[:2] == pytest.approx(pose[[0, 2], 3].tolist(), abs=1e-5)
    assert place[2] == pytest.approx(np.degrees(np.arctan2(pose[0, 2], pose[2, 2])), abs=1e-5)


@pytest.mark.parametrize(
    ("passing", "error", "words"),
    [
        (["kite", 0, 1, 0, 0, 0], UnknownName, "kite"),
        ("balloon", Unsupported, "kind, start"),
        (["balloon", 0, 0, 0, 0, 0], Unsupported, "seconds"),
        (["balloon", -1, 1, 0, 0, 0], Unsupported, "seconds"),
        (["balloon", 0, 1, 0, 0, "x"], Unsupported, "yaw"),
        (["balloon", 0, 1, 0, 0, float("nan")], Unsupported, "yaw"),
        ({"kind": "balloon"}, Unsupported, "kind, start"),
    ],
)
def test_nonsense_is_refused_in_one_line(passing, error, words):
    with pytest.raises(error, match=words) as caught:
        frames(np.tile(np.eye(4), (2, 1, 1)), [1], passing)
    assert "\n" not in str(caught.value)


def test_an_event_and_a_passing_exclude_each_other():
    world = load_world("Reference-v0", size=(32, 32))
    scene = {"family": "interior", "seed": 2, "event": "ball_rolls_off"}
    with pytest.raises(Unsupported, match="not both"):
        world.reset(Start(scene=scene | {"passing": ["box", 0, 1, 0, 0, 0]}), seed=0)

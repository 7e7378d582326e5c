import numpy as np
import pytest

from worldenv.worlds.reference.plain import sphere
from worldenv.worlds.reference.scene import Instance, Material, View
from worldenv.worlds.reference.shapes import Builder, placed
from worldenv.worlds.reference.views import camera_at, clear_first, in_the_way


def ball(right, up, ahead, radius=0.3):
    """Return a ball at metres from a camera that stands at the origin and looks north."""
    mesh = sphere(radius, 12, Material("stripes"))
    pose = placed(right, 0.0, -ahead)
    pose[1, 3] = 1.5 + up - mesh.vertices[:, 1].mean()
    return Instance(1, "ball", "ball", "ball/0", mesh, pose)


HERE = camera_at(0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("right", "up", "ahead", "blocks"),
    [
        (0.0, 0.0, 1.0, True),
        (0.5, 0.0, 1.0, True),
        (0.0, 0.0, 3.0, False),  # far
        (0.0, -1.2, 1.0, False),  # low, like the rim of a fountain
        (0.0, 0.0, -1.0, False),  # behind
        (1.4, 0.0, 0.4, False),  # beside
    ],
)
def test_what_is_in_the_way(right, up, ahead, blocks):
    assert in_the_way(ball(right, up, ahead), HERE) is blocks


def column(top, right=0.0, ahead=1.2):
    """Return a column 1 m thick, whose vertices are on its two rims only."""
    b = Builder()
    b.cylinder(0.5, 0.0, top, Material("stripes"), sides=24)
    return Instance(1, "column", "column", "column/0", b.mesh(), placed(right, 0.0, -ahead))


@pytest.mark.parametrize(
    ("thing", "blocks"),
    [
        (column(3.0), True),
        (column(0.8), False),
        (column(3.0, ahead=2.2), False),
        (column(3.0, right=1.6, ahead=0.9), False),
    ],
)
def test_a_thing_is_in_the_way_by_its_faces(thing, blocks):
    assert in_the_way(thing, HERE) is blocks


def test_a_wall_that_fills_the_frame_is_in_the_way():
    """None of its edges is in view."""
    b = Builder()
    b.patch((-5, -5, 0), (10, 0, 0), (0, 10, 0), Material("stripes"))
    wall = Instance(1, "wall", "wall", "wall/0", b.mesh(), placed(0.0, 0.0, -1.0))
    assert in_the_way(wall, HERE)
    assert not in_the_way(wall, camera_at(0, 0, 180))


def test_a_small_thing_is_not_in_the_way():
    assert not in_the_way(ball(0.0, 0.0, 1.2, radius=0.05), HERE)


def test_turning_the_camera_turns_what_is_in_the_way():
    thing = ball(0.0, 0.0, 1.0)
    assert [in_the_way(thing, camera_at(0, 0, heading)) for heading in (0, 20, 90, 180)] == [
        True,
        True,
        False,
        False,
    ]


def test_the_first_view_is_clear_and_has_most_scripts():
    blocked = View("blocked", HERE, ("a", "b", "c"))
    few = View("few", camera_at(0, 0, 180), ("a",))
    many = View("many", camera_at(0, 0, 120), ("a", "b"))
    things = [ball(0.0, 0.0, 1.0)]
    assert clear_first([blocked, few, many], things) == [many, blocked, few]
    assert clear_first([few, many], []) == [many, few]
    assert clear_first([blocked], things) == [blocked]
    assert np.array_equal(blocked.pose, HERE)

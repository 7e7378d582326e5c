import numpy as np
import pytest
from scene_checks import check_redrawn, fingerprint, fingerprint_elsewhere

from worldenv.world import Start
from worldenv.worlds import load_world
from worldenv.worlds.reference.abstract import SOLIDS, build, reimagine
from worldenv.worlds.reference.start import WALKS
from worldenv.worlds.reference.views import box_of, free_way, plan_boxes, room_of, walked


def test_another_process_builds_the_same():
    assert fingerprint_elsewhere("abstract", 3) == fingerprint(build(3)) != fingerprint(build(4))


@pytest.mark.parametrize("seed", range(6))
def test_solids_stand_apart_and_leave_room_to_walk(seed):
    scene = build(seed)
    solids = [i for i in scene.instances if not i.flat]
    assert {i.category for i in solids} == set(SOLIDS)
    boxes = [box_of(i) for i in solids]
    assert all(abs(box[0, 1]) < 1e-6 for box in boxes)
    for k, a in enumerate(boxes):
        for b in boxes[k + 1 :]:
            apart = np.maximum(a[0] - b[1], b[0] - a[1])[[0, 2]]
            assert apart.max() > -0.35
    obstacles, room = plan_boxes(scene.instances), room_of(scene)
    loop = next(v for v in scene.views if v.name == "loop")
    assert {"r2m:out_and_back", "r2m:translation_rotation", "r2m:closed_loop"} <= set(loop.scripts)
    for script in loop.scripts:
        if script in WALKS:
            assert free_way(walked(loop.pose, WALKS[script]), obstacles, room)


def test_reimagining_keeps_place_and_changes_looks():
    scene = build(2)
    for instance in scene.instances:
        used = {m.texture for m in check_redrawn(scene, instance, reimagine).mesh.materials}
        assert not used & {m.texture for m in instance.mesh.materials}


def test_events_are_refused():
    with pytest.raises(ValueError, match="leave event out"):
        build(0, event="ball_rolls_off")


def test_it_is_bright_and_colourful():
    world = load_world("Reference-v0", size=(64, 64), threads=1, cache=False)
    start = Start(scene={"family": "abstract", "seed": 1, "view": "loop"})
    frame = world.reset(start, seed=0).frames[0].astype(float)
    world.close()
    assert frame.mean() > 90 and (frame.max(axis=2) - frame.min(axis=2)).max() > 90

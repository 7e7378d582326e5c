import subprocess
import sys
import time
import zlib
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from worldenv.world import Start
from worldenv.worlds import load_world
from worldenv.worlds.reference.lit import build_light
from worldenv.worlds.reference.park import SETTING, build, reimagine
from worldenv.worlds.reference.park_things import PARK_MAKERS, SEASONS, make_thing
from worldenv.worlds.reference.renderer import Renderer
from worldenv.worlds.reference.shapes import bounds
from worldenv.worlds.reference.start import WALKS
from worldenv.worlds.reference.views import (
    box_of,
    frame_box,
    free_way,
    plan_boxes,
    room_of,
    share_of_frame,
    walked,
)

SEEDS = (0, 1, 2, 4, 7)
SIZES = {
    "tree": (4.0, 6.0, 4.0),
    "bush": (1.3, 1.2, 1.2),
    "hedge": (3.6, 1.2, 0.7),
    "flower bed": (2.4, 0.6, 1.2),
    "planter": (0.7, 1.0, 0.7),
    "bench": (1.7, 0.86, 0.62),
    "street lamp": (0.9, 3.3, 0.9),
    "litter bin": (0.46, 0.86, 0.46),
    "picnic table": (1.7, 0.76, 1.6),
    "parasol": (2.1, 2.35, 2.1),
    "bicycle": (1.72, 1.05, 0.56),
    "signpost": (1.2, 2.3, 0.5),
    "kiosk": (2.7, 2.9, 2.3),
    "fountain": (2.7, 2.0, 2.7),
    "statue": (1.1, 2.9, 1.1),
    "boulder": (1.5, 0.9, 1.2),
    "pond": (3.2, 0.8, 2.6),
    "gazebo": (3.2, 3.3, 3.2),
    "swing": (2.9, 2.2, 1.6),
    "slide": (1.1, 2.5, 3.0),
    "sand pit": (2.0, 0.36, 2.0),
}


@pytest.fixture(scope="module")
def scenes():
    return {seed: build(seed) for seed in SEEDS}


def fingerprint(scene):
    total = 0
    for i in scene.instances:
        for part in (i.mesh.vertices, i.mesh.uv, i.mesh.faces, i.pose):
            total = zlib.crc32(np.ascontiguousarray(part).tobytes(), total)
    for key in sorted(scene.textures):
        total = zlib.crc32(scene.textures[key].tobytes(), zlib.crc32(key.encode(), total))
    return total


def test_another_process_builds_the_same(scenes):
    code = (
        "import sys; sys.path.insert(0, 'tests');"
        "from test_park import fingerprint;"
        "from worldenv.worlds.reference.park import build;"
        "print(fingerprint(build(1)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(done.stdout) == fingerprint(scenes[1])


def test_scenes_are_rich_of_sane_size_and_different(scenes):
    union = set()
    for scene in scenes.values():
        kinds = Counter(i.category for i in scene.instances)
        union |= set(kinds)
        assert len(set(kinds) - set(SETTING)) >= 13 and kinds["person"] >= 2
        assert kinds["tree"] >= 3 and kinds["woods"] == 4 and kinds["sky"] == 1
        assert 30_000 < sum(len(i.mesh.faces) for i in scene.instances) < 100_000
        ids = [i.id for i in scene.instances]
        assert ids == sorted(set(ids)) and min(ids) >= 1
        assert len({i.name for i in scene.instances}) == len(ids)
        for i in scene.instances:
            for mesh in (i.mesh, i.coarse):
                if mesh is not None:
                    assert {m.texture for m in mesh.materials} <= set(scene.textures)
    assert set(PARK_MAKERS) <= union
    assert len({fingerprint(s) for s in scenes.values()}) == len(scenes)
    assert len({s.tags["kind"] for s in scenes.values()}) >= 3


def test_nothing_stands_in_another_thing(scenes):
    for scene in scenes.values():
        things = [i for i in scene.instances if not i.flat]
        boxes = [box_of(i) for i in things]
        for (a, p), (b, q) in combinations(zip(things, boxes, strict=True), 2):
            overlap = np.minimum(p[1], q[1]) - np.maximum(p[0], q[0])
            assert overlap.min() < 1e-6, (a.name, b.name, overlap)


def test_views_have_the_room_they_promise_and_see_their_targets(scenes):
    for scene in scenes.values():
        obstacles, room = plan_boxes(scene.instances), room_of(scene)
        promised = Counter(s for v in scene.views for s in v.scripts)
        for script in WALKS:
            assert promised[script] >= 1, script
        for view in scene.views:
            assert free_way(view.pose[None, [0, 2], 3], obstacles, room), view.name
            for script, walk in WALKS.items():
                free = free_way(walked(scene, view.pose, walk), obstacles, room)
                assert (script in view.scripts) == free
            for name in view.targets:
                rectangle = frame_box(scene.instance(name), view.pose)
                assert abs(rectangle).max() <= 1 and share_of_frame(rectangle) >= 0.015
        sought = {n for v in scene.views for n in v.targets}
        assert any(n.startswith("person") for n in sought) and len(sought) >= 10

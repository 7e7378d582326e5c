"""Draw the cases of Reference-v0's suites and write ``worldenv/worlds/reference/data/cases.json``.

Usage: ``python assets/build_cases.py``, or ``python assets/build_cases.py events`` to keep the file
and only add cases of events that it has none of. It builds interiors by seed, draws the ids each
view shows (at 96 x 96, 75 degrees), and keeps views whose targets are large, whole and unhidden at
the start and gone at the far end of the script, with a free way between.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from worldenv.evaluators.events import Glimpse, judge, started
from worldenv.worlds.reference.events import EVENTS
from worldenv.worlds.reference.interior import build
from worldenv.worlds.reference.questions import QUESTIONS, answers_of
from worldenv.worlds.reference.scene import Instance, Scene, SceneEvent, View
from worldenv.worlds.reference.start import NOT_TARGETS
from worldenv.worlds.reference.views import (
    frame_box,
    free_way,
    plan_boxes,
    room_of,
    share_of_frame,
    walked,
)

SIZE = 96
PATH = Path(__file__).parents[1] / "worldenv/worlds/reference/data/cases.json"
HAPPENS = {
    "ball_rolls_off": "The ball rolls across the floor and slowly comes to rest.",
    "door_opens": "The door slowly swings open.",
    "ice_melts": "The block of ice melts down to a small lump in a pool of water.",
    "tank_fills": "Water runs from the tap until the tank is full.",
    "flower_grows": "The flower in the pot grows to its full height.",
    "lamp_brightens": "In the evening the lamp is slowly turned up and lights the room.",
    "person_walks": "The person walks away through the room and stands still there.",
}
SMALL_AT_END = ("ice_melts", "person_walks")
"""Events whose thing may end up smaller in view than a target must be at the start."""
Entry = tuple[float, int, str, list[str], float]
SEEDS = range(30)
ROTATIONS = ("worldmembench:lrlr", "worldmembench:lrlrlr", "worldmembench:lrud")
K = ((969.77, 0.0, 960.0), (0.0, 969.77, 540.0), (0.0, 0.0, 1.0))


def turned(pose: np.ndarray, yaw: float = 0.0, pitch: float = 0.0) -> np.ndarray:
    """Return a camera pose turned right by yaw and up by pitch, in degrees."""
    a, b = np.radians([yaw, pitch])
    Y = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    P = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    result = pose.copy()
    result[:3, :3] = pose[:3, :3] @ Y @ P
    return result


def moved(pose: np.ndarray, right: float = 0.0, forward: float = 0.0) -> np.ndarray:
    """Return a camera pose moved by metres."""
    result = pose.copy()
    result[:3, 3] += pose[:3, :3] @ [right, 0, forward]
    return result


class Drawing:
    """Draws instance ids of a scene, slowly and simply."""

    def __init__(self, scene: Scene) -> None:
        corners, ids = [], []
        for i in scene.instances:
            mesh = i.coarse if i.coarse is not None and i.category != "person" else i.mesh
            points = mesh.vertices.astype(np.float64) @ i.pose[:3, :3].T + i.pose[:3, 3]
            corners.append(points[mesh.faces])
            ids.append(np.full(len(mesh.faces), i.id))
        self.corners, self.ids = np.concatenate(corners), np.concatenate(ids)

    def draw(self, pose: np.ndarray, only: int | None = None) -> np.ndarray:
        """Return the id image (SIZE, SIZE), 0 where nothing is."""
        keep = slice(None) if only is None else self.ids == only
        corners, ids = self.corners[keep], self.ids[keep]
        local = (corners - pose[:3, 3]) @ pose[:3, :3]
        near = local[..., 2].min(axis=1) > 0.05
        # Large shell rectangles that reach behind the camera only matter as background.
        local, ids = local[near], ids[near]
        focal = 0.5 * SIZE / np.tan(np.radians(37.5))
        xy = focal * local[..., :2] / local[..., 2:] + SIZE / 2
        inverse = 1 / local[..., 2]
        low, high = xy.min(axis=1), xy.max(axis=1)
        seen = (high > 0).all(axis=1) & (low < SIZE).all(axis=1)
        return fill(xy[seen], inverse[seen], ids[seen])


@njit(cache=False)
def fill(xy, inverse, ids):
    """Return the id image of projected triangles by a z-buffer."""
    image = np.zeros((SIZE, SIZE), np.int64)
    depth = np.zeros((SIZE, SIZE))
    for k in range(len(ids)):
        ax, ay, bx, by, cx, cy = (
            xy[k, 0, 0],
            xy[k, 0, 1],
            xy[k, 1, 0],
            xy[k, 1, 1],
            xy[k, 2, 0],
            xy[k, 2, 1],
        )
        area = (bx - ax) * (cy - ay) - (cx - ax) * (by - ay)
        if abs(area) < 1e-9:
            continue
        x0, x1 = max(0, int(min(ax, bx, cx))), min(SIZE, int(max(ax, bx, cx)) + 1)
        y0, y1 = max(0, int(min(ay, by, cy))), min(SIZE, int(max(ay, by, cy)) + 1)
        for j in range(y0, y1):
            for i in range(x0, x1):
                x, y = i + 0.5 - ax, j + 0.5 - ay
                s = ((cy - ay) * x - (cx - ax) * y) / area
                t = ((bx - ax) * y - (by - ay) * x) / area
                z = (
                    inverse[k, 0]
                    + s * (inverse[k, 1] - inverse[k, 0])
                    + t * (inverse[k, 2] - inverse[k, 0])
                )
                if s >= 0 and t >= 0 and s + t <= 1 and z > depth[j, i]:
                    depth[j, i] = z
                    image[j, i] = ids[k]
    return image


def shown(drawing: Drawing, scene: Scene, view: View) -> dict[str, float]:
    """Return target name -> share of the frame, for those that are whole and hardly hidden."""
    image = drawing.draw(view.pose)
    result = {}
    for name in view.targets:
        thing = scene.instance(name)
        pixels = (image == thing.id).sum()
        whole = (drawing.draw(view.pose, thing.id) > 0).sum()
        if pixels > 0.8 * whole and pixels > 0.006 * SIZE * SIZE:
            result[name] = float(pixels) / SIZE**2
    return result


def gone(thing, pose: np.ndarray) -> bool:
    """Return whether no part of an instance lies in the frame of a camera."""
    points = thing.mesh.vertices.astype(np.float64) @ thing.pose[:3, :3].T + thing.pose[:3, 3]
    local = (points - pose[:3, 3]) @ pose[:3, :3]
    ahead = local[:, 2] > 0.02
    limit = np.tan(np.radians(37.5)) * local[:, 2] * 1.01
    return not (ahead & (abs(local[:, 0]) < limit) & (abs(local[:, 1]) < limit)).any()


WALL_WORDS = {
    "brick": "brick",
    "plaster": "plastered",
    "wallpaper": "papered",
    "panelling": "panelled",
    "concrete": "concrete",
}
FLOOR_WORDS = {"planks": "plank", "parquet": "parquet", "tiles": "tiled", "concrete": "concrete"}


def describe(scene: Scene, view: View, names: list[str], event: str | None) -> str:
    """Return a sentence about a view."""
    floor = scene.instance("floor").mesh.materials[0].texture.split("/")[0]
    forward = view.pose[:3, 2]
    walls = {"wall-north": (0, -1), "wall-south": (0, 1), "wall-east": (1, 0), "wall-west": (-1, 0)}
    ahead = max(walls, key=lambda n: walls[n][0] * forward[0] + walls[n][1] * forward[2])
    wall = scene.instance(ahead).mesh.materials[0].texture.split("/")[0]
    counts: dict[str, int] = {}
    for name in names:
        noun = scene.instance(name).category
        counts[noun] = counts.get(noun, 0) + 1
    plural = {"person": "people", "bookshelf": "bookshelves"}
    words = [
        f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
        if n == 1
        else f"{ {2: 'two', 3: 'three'}.get(n, 'several') } {plural.get(noun, noun + 's')}"
        for noun, n in counts.items()
    ]
    things = words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]
    text = f"A furnished room with a {FLOOR_WORDS[floor]} floor and a {WALL_WORDS[wall]} wall, "
    text += f"with {things} in view."
    return text if event is None else f"{text} {HAPPENS[event]}"


def watched(seed: int, event: str) -> tuple[Scene, Entry] | None:
    """Return the scene of an event and its entry where the change is well seen, else None.

    What changes must be whole, hardly hidden and large at the start and out of view when the
    camera has turned; while it changes it must stay whole and hardly hidden.
    """
    try:
        scene = build(seed, event=event)
    except ValueError:
        return None
    change = scene.event
    assert change is not None
    name = {"ball_rolls_off": "open", "door_opens": "door"}.get(event, "event")
    view = next(v for v in scene.views if v.name == name)
    start = Drawing(scene).draw(view.pose)
    if any(
        (start == i.id).sum() > 0.12 * SIZE**2
        for i in scene.instances
        if i.category == "person" and i.id != change.instance
    ):
        # Someone right before the camera would be what one looks at.
        return None
    share = 0.0
    for t in (0.0, 2.0, change.duration):
        thing = at_time(scene, t)
        drawing = Drawing(scene.with_instance(thing))
        whole = (drawing.draw(view.pose, thing.id) > 0).sum()
        seen = (drawing.draw(view.pose) == thing.id).sum()
        rectangle = frame_box(thing, view.pose)
        if (
            rectangle is None
            or abs(rectangle).max() >= 0.97
            or seen <= 0.8 * whole
            or (share_of_frame(rectangle) < 0.015 and (t == 0 or event not in SMALL_AT_END))
            or not gone(thing, turned(view.pose, yaw=-60))
        ):
            return None
        share = max(share, seen / SIZE**2)
    return scene, (share, seed, name, [scene.instance(change.instance).name], 0.0)


def at_time(scene: Scene, t: float) -> Instance:
    """Return the instance of a scene's event as it is at a time."""
    event = scene.event
    assert event is not None
    thing = scene.instance(event.instance)
    mesh = thing.mesh if event.shape is None else thing.mesh._replace(vertices=event.shape(t))
    return replace(thing, mesh=mesh, pose=event.pose(t))


def statements_of(event: SceneEvent) -> dict[str, bool]:
    """Return which statements hold of an event's truth along the dynamic script."""

    def glimpses(first: int, last: int) -> list[Glimpse]:
        times = [frame / 16 for frame in range(first, last, 8)]
        return [Glimpse(event.progress(t), event.name, "as it was") for t in times]

    parts = glimpses(0, 60), glimpses(60, 300), glimpses(300, 481)
    return {"started": started(parts[0]), **judge(*parts)}


def record(
    scene: Scene, view: View, names: list[str], name: str, event: str | None
) -> dict[str, Any]:
    """Return a case as plain data."""
    data: dict[str, Any] = {
        "id": name,
        "category": name.split("/")[1],
        "scene": {
            "family": "interior",
            "seed": int(scene.tags["seed"]),
            "view": view.name,
            "event": event,
        },
        "prompt": describe(scene, view, names, event),
        "targets": [
            {"name": n, "noun": scene.instance(n).category, "instance": scene.instance(n).id}
            for n in names
        ],
        "options": {},
    }
    if event is not None:
        change = scene.event
        assert change is not None
        data["event"] = {
            "name": event,
            "mechanism": change.mechanism,
            "questions": [q.text for q in QUESTIONS[event]],
            "answers": list(answers_of(event, statements_of(change))),
            "instance": change.instance,
        }
    return data


def add_events() -> None:
    """Add two cases of every event that the stored suite has none of; keep all else."""
    stored = json.loads(PATH.read_text(encoding="utf-8"))
    suite = stored["worldmembench"]
    known = {c["event"]["name"] for c in suite["cases"] if c.get("event")}
    number = sum(c["category"] == "dynamic" for c in suite["cases"])
    for k, event in enumerate(EVENTS):
        if event in known:
            continue
        # Each event begins at another seed, so that the cases show many rooms.
        found: list[tuple[Scene, Entry]] = []
        for step in range(len(SEEDS)):
            seed = SEEDS[(4 * k + step) % len(SEEDS)]
            one = watched(seed, event)
            print(event, seed, None if one is None else round(one[1][0], 3), flush=True)
            found += [] if one is None else [one]
            if len(found) == 2:
                break
        if len(found) < 2:
            raise SystemExit(f"only {len(found)} of 2 {event} cases; add seeds")
        for scene, (_, _, view_name, names, _) in found:
            number += 1
            view = next(v for v in scene.views if v.name == view_name)
            case_id = f"worldmembench/dynamic/{number:03d}"
            suite["cases"].append(record(scene, view, names, case_id, event))
            suite["items"].append([case_id, "worldmembench:dynamic"])
    PATH.write_text(json.dumps(stored, indent=1, sort_keys=False) + "\n", encoding="utf-8")


def main() -> None:
    """Write the file."""
    pools: dict[str, list[tuple[float, int, str, list[str], float]]] = {}

    def offer(
        kind: str, score: float, seed: int, view: str, names: list[str], distance: float = 0.0
    ) -> None:
        pools.setdefault(kind, []).append((score, seed, view, names, distance))

    scenes: dict[tuple[int, str | None], Scene] = {}
    began = time.time()
    for seed in SEEDS:
        scene = build(seed)
        scenes[seed, None] = scene
        drawing = Drawing(scene)
        obstacles, room = plan_boxes(scene.instances), room_of(scene)
        for view in scene.views:
            shares = shown(drawing, scene, view)
            away = [
                n
                for n in shares
                if gone(scene.instance(n), turned(view.pose, yaw=-60))
                and gone(scene.instance(n), turned(view.pose, pitch=60))
            ]
            big = sorted(
                (
                    n
                    for n in away
                    if share_of_frame(frame_box(scene.instance(n), view.pose)) >= 0.02
                ),
                key=lambda n: -shares[n],
            )
            people = [n for n in big if scene.instance(n).category == "person"]
            others = [
                n
                for n in big
                if scene.instance(n).category not in ("person", "window", *NOT_TARGETS)
            ]
            if len(people) == 1 and shares[people[0]] > 0.02:
                offer("single", shares[people[0]], seed, view.name, people)
            if len(people) >= 2:
                offer("multi", sum(shares[n] for n in people[:3]), seed, view.name, people[:3])
            if others and not people and 0.02 < shares[others[0]] < 0.3:
                offer(
                    "object",
                    min(sum(shares[n] for n in others[:3]), 0.15),
                    seed,
                    view.name,
                    others[:3],
                )
            if len(big) >= 3 and view.name in (
                "open",
                "square",
                "aisle",
                "hall",
                "corner",
                "loop",
                "gallery",
            ):
                offer(
                    "environment",
                    len(big) + 5 * min(sum(shares[n] for n in big), 0.2),
                    seed,
                    view.name,
                    big[:3],
                )
            if len(big) >= 1 and "worldmembench:square" in view.scripts:
                offer("square", len(big), seed, view.name, big[:3])
            if people or others:
                first = (people + others)[:2]
                offer("yaw", 2.0 * len(people[:1]) + shares[first[0]], seed, view.name, first)
                for motion, key in (("strafe", "right"), ("dolly", "forward")):
                    for distance in (2.4, 2.8, 3.2, 3.6):
                        poses = np.tile(np.eye(4), (40, 1, 1))
                        poses[:, 0 if motion == "strafe" else 2, 3] = np.linspace(0, distance, 40)
                        if not free_way(walked(scene, view.pose, poses), obstacles, room):
                            break
                        end = moved(view.pose, **{key: distance})
                        leaves = [n for n in (people + others) if gone(scene.instance(n), end)]
                        if leaves:
                            offer(
                                motion,
                                0.5 * len(leaves[:2]) + shares[leaves[0]] * 5,
                                seed,
                                view.name,
                                leaves[:2],
                                distance,
                            )
                            break
            if all(
                s in view.scripts
                for s in ("r2m:out_and_back", "r2m:translation_rotation", "r2m:closed_loop")
            ):
                if big:
                    offer("r2m", len(big), seed, view.name, big[:3])
        for event in EVENTS:
            found = watched(seed, event)
            if found is not None:
                scenes[seed, event], entry = found
                offer(event, *entry)
        print(seed, round(time.time() - began), {k: len(v) for k, v in pools.items()}, flush=True)

    def take(kind: str, count: int) -> list[Entry]:
        """Return the best of a pool: few a seed, and targets of as many nouns as can be."""
        chosen: list[Entry] = []
        seeds: dict[int, int] = {}
        nouns: dict[str, int] = {}
        for allowed in (1, 2, count):
            for entry in sorted(pools[kind], key=lambda e: -e[0]):
                noun = entry[3][0].rsplit("-", 1)[0]
                fresh = kind not in ("object", "strafe", "dolly", "yaw", "square", "environment")
                if (
                    entry not in chosen
                    and len(chosen) < count
                    and seeds.get(entry[1], 0) < 1 + (kind in ("single", "object"))
                    and (fresh or nouns.get(noun, 0) < allowed)
                ):
                    chosen.append(entry)
                    seeds[entry[1]] = seeds.get(entry[1], 0) + 1
                    nouns[noun] = nouns.get(noun, 0) + 1
        if len(chosen) < count:
            raise SystemExit(f"only {len(chosen)} of {count} {kind} cases; add seeds")
        return chosen

    suites: dict[str, dict[str, list]] = {
        n: {"cases": [], "items": []} for n in ("worldmembench", "mbench", "r2m")
    }
    numbers: dict[tuple[str, str], int] = {}

    def case(
        suite: str,
        category: str,
        entry,
        scripts: list[str],
        event: str | None = None,
        extra: dict | None = None,
    ) -> str:
        _, seed, view_name, names, distance = entry
        scene = scenes[seed, event]
        view = next(v for v in scene.views if v.name == view_name)
        numbers[suite, category] = numbers.get((suite, category), 0) + 1
        number = numbers[suite, category]
        data = record(scene, view, names, f"{suite}/{category}/{number:03d}", event)
        data["options"] = {"distance": distance} if distance else {}
        data |= extra or {}
        suites[suite]["cases"].append(data)
        suites[suite]["items"] += [[data["id"], s] for s in scripts]
        return data["id"]

    for entry in take("single", 3) + take("multi", 3):
        case("worldmembench", "human", entry, list(ROTATIONS))
    for entry in take("object", 6):
        case("worldmembench", "object", entry, list(ROTATIONS))
    for entry in take("environment", 6):
        case("worldmembench", "environment", entry, list(ROTATIONS))
    for entry in take("square", 4):
        case("worldmembench", "square", entry, ["worldmembench:square"])
    for event in EVENTS:
        for entry in take(event, 2):
            case("worldmembench", "dynamic", entry, ["worldmembench:dynamic"], event)
    for motion in ("yaw", "strafe", "dolly"):
        for entry in take(motion, 6):
            human = any(n.startswith("person") for n in entry[3])
            case(
                "mbench",
                "human" if human else "object",
                entry,
                [f"mbench:exit_reenter(motion={motion})"],
            )
    for entry in take("r2m", 4):
        case(
            "r2m",
            "indoor",
            entry,
            ["r2m:out_and_back", "r2m:translation_rotation", "r2m:closed_loop"],
            extra={"K": K, "size": (1920, 1080)},
        )
    stored: dict[str, object] = dict(suites)
    stored["quick"] = quick(suites)
    PATH.write_text(json.dumps(stored, indent=1, sort_keys=False) + "\n", encoding="utf-8")
    print(PATH, stored["quick"])


def quick(suites: dict) -> list[str]:
    """Return the ten items of the quick run, over as few scenes as can be."""
    wanted = [
        ("worldmembench", "human", "worldmembench:lrlr"),
        ("worldmembench", "object", "worldmembench:lrlr"),
        ("worldmembench", "environment", "worldmembench:lrlrlr"),
        ("worldmembench", "object", "worldmembench:lrud"),
        ("worldmembench", "dynamic", "worldmembench:dynamic"),
        ("mbench", None, "mbench:exit_reenter(motion=yaw)"),
        ("mbench", None, "mbench:exit_reenter(motion=strafe)"),
        ("r2m", None, "r2m:out_and_back"),
        ("r2m", None, "r2m:translation_rotation"),
        ("r2m", None, "r2m:closed_loop"),
    ]
    cases = {c["id"]: c for s in suites.values() for c in s["cases"]}
    choices = []
    for suite, category, script in wanted:
        choices.append(
            [
                c
                for c, s in suites[suite]["items"]
                if s == script and (category is None or cases[c]["category"] == category)
            ]
        )
    seeds = sorted({cases[c]["scene"]["seed"] for options in choices for c in options})
    from itertools import combinations

    best = max(
        combinations(seeds, 3),
        key=lambda trio: sum(
            any(cases[c]["scene"]["seed"] in trio for c in options) for options in choices
        ),
    )
    result = []
    for options, (_, _, script) in zip(choices, wanted, strict=True):
        good = [c for c in options if cases[c]["scene"]["seed"] in best] or options
        result.append(f"{good[0]}@{script}")
    return result


if __name__ == "__main__":
    add_events() if sys.argv[1:] == ["events"] else main()

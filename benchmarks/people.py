"""How far small real networks take the people of Reference-v0 for people, and tell them apart.

    python benchmarks/people.py [--people 24] [--sheet sheet.png]

Needs ``pip install 'worldenv[light]'`` and ``worldenv weights fetch light``. Every person stands
for the first one of a scene, with furniture cleared from the way of the camera.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from worldenv import weights
from worldenv.evaluators.backbones.blazeface import BlazeFace
from worldenv.evaluators.backbones.dlib_face import SMALLEST, DlibFace, lifted
from worldenv.evaluators.backbones.faces import Face
from worldenv.evaluators.backbones.person import PersonSegmenter
from worldenv.worlds.reference.families import SceneName, scene_of
from worldenv.worlds.reference.people import make_person
from worldenv.worlds.reference.renderer import Drawn, Renderer
from worldenv.worlds.reference.scene import Instance, Scene
from worldenv.worlds.reference.views import box_of, camera_at

SIZE = (640, 360)
PLACES = (("interior", 1), ("interior", 3))
"""Scenes in which people are looked at, for their light."""
FACE_AT, BODY_AT, IDENTITY_AT = (2.0, 3.5), (3.0, 4.0), (1.2, 1.6, 2.0)
"""Distances of the camera in metres."""
TURNS = (-20.0, 0.0, 20.0)
"""How far the camera stands to a person's side, in degrees."""


class Stage:
    """A scene in which one person after another stands.

    Attributes:
        person: Id of the instance.
    """

    def __init__(self, family: str, seed: int, supersample: int = 2) -> None:
        scene = scene_of(SceneName(family, seed, None))
        self.stand = next(i for i in scene.instances if i.category == "person")
        self.person = self.stand.id
        self.scene = cleared(scene, self.stand)
        self._renderer = Renderer(self.scene, size=SIZE, supersample=supersample, threads=2)

    def show(self, seed: int) -> None:
        """Let the person of a seed stand there."""
        piece = make_person(seed)
        new = replace(self.stand, mesh=piece.mesh, coarse=piece.coarse, variant=piece.variant)
        self.scene = self.scene.with_instance(new, piece.textures)
        self._renderer.swap(self.scene, [self.person])

    def look(self, distance: float, turn: float, height: float = 1.5) -> Drawn:
        """Return the picture from metres away and degrees to the side of where it faces."""
        return self._renderer.draw(camera_before(self.stand, distance, turn, height))


def camera_before(person: Instance, distance: float, turn: float, height: float) -> NDArray[Any]:
    """Return the pose of a level camera that looks at a person."""
    ahead = person.pose[:3, 2]
    angle = np.arctan2(ahead[0], ahead[2]) + np.radians(turn)
    x = person.pose[0, 3] + distance * np.sin(angle)
    z = person.pose[2, 3] + distance * np.cos(angle)
    return camera_at(float(x), float(z), -float(np.degrees(angle)), height)


def cleared(scene: Scene, person: Instance, reach: float = 5.0) -> Scene:
    """Return a scene without what stands in the way between a person and its cameras."""
    for thing in scene.instances:
        if thing.flat or thing.id == person.id or thing.category in ("ceiling light", "skirting"):
            continue
        low, high = box_of(thing)
        x, z = np.meshgrid(np.linspace(low[0], high[0], 9), np.linspace(low[2], high[2], 9))
        offset = np.stack([x.ravel(), z.ravel()], 1) - person.pose[[0, 2], 3]
        ahead = offset @ person.pose[[0, 2], 2]
        aside = abs(offset @ person.pose[[0, 2], 0])
        if ((ahead > -0.2) & (ahead < reach) & (aside < 0.5 + 0.5 * np.maximum(ahead, 0))).any():
            scene = scene.without(thing.id)
    return scene


def face_of(faces: tuple[Face, ...], ids: NDArray[np.uint16], person: int) -> Face | None:
    """Return the face that lies on a person."""
    for face in faces:
        x, y = ((face.box[:2] + face.box[2:]) / 2).astype(int)
        if ids[y, x] == person:
            return face
    return None


class Figures(NamedTuple):
    """What was measured.

    Attributes:
        found: Distance in metres -> one (person, turn, found) a view.
        overlap: Best intersection over union of a person mask with the truth, one a view.
        same: Cosines of dlib's vectors between views of one person.
        different: Cosines between views of two people.
        nearest: Cosines between two people, the mean of their views.
    """

    found: dict[float, list[tuple[int, float, bool]]]
    overlap: list[float]
    same: NDArray[np.float64]
    different: NDArray[np.float64]
    pairs: dict[tuple[int, int], float]

    def rate(self, distance: float) -> float:
        """Return the share of views from a distance in which the face was found."""
        return float(np.mean([ok for _, _, ok in self.found[distance]]))

    def auc(self) -> float:
        """Return how often a pair of one person is more alike than one of two people."""
        order = np.sort(self.different)
        return float(np.searchsorted(order, self.same).mean() / len(order))


def measure(
    people: list[int],
    places: tuple[tuple[str, int], ...] = PLACES,
    turns: tuple[float, ...] = TURNS,
    sheet: Path | None = None,
) -> Figures:
    """Look at people with the networks."""
    finder = BlazeFace(weights.locate("blazeface"))
    describer = DlibFace(weights.locate("dlib-face"))
    cutter = PersonSegmenter(weights.locate("blazepose"))
    found: dict[float, list[tuple[int, float, bool]]] = {d: [] for d in (*FACE_AT, *IDENTITY_AT)}
    overlap: list[float] = []
    vectors: list[tuple[int, NDArray[np.float32]]] = []
    portraits = []
    for family, place in places:
        stage = Stage(family, place)
        for seed in people:
            stage.show(seed)
            for distance in sorted(found):
                for turn in turns:
                    drawn = stage.look(distance, turn)
                    face = face_of(finder.faces(drawn.frame), drawn.ids, stage.person)
                    found[distance].append((seed, turn, face is not None))
                    if face is None or distance not in IDENTITY_AT:
                        continue
                    if face.box[3] - face.box[1] >= SMALLEST:
                        vector = describer.descriptor(np.ascontiguousarray(drawn.frame), face)
                        vectors.append((seed, lifted(vector, describer._turns)))
            for distance in BODY_AT:
                drawn = stage.look(distance, 0.0)
                truth = drawn.ids == stage.person
                shares = [(m & truth).sum() / (m | truth).sum() for m in cutter.masks(drawn.frame)]
                overlap.append(float(max(shares, default=0.0)))
            drawn = stage.look(1.3, 10.0, 1.45)
            portraits.append(drawn.frame[:, 180:460])
    if sheet is not None:
        rows = [np.concatenate(portraits[i : i + 8], 1) for i in range(0, len(portraits) - 7, 8)]
        cv2.imwrite(str(sheet), np.concatenate(rows)[..., ::-1])
    who = np.array([seed for seed, _ in vectors])
    table = np.array([vector for _, vector in vectors], np.float64)
    cosine = table @ table.T
    upper = np.triu(np.ones(cosine.shape, bool), 1)
    alike = who[:, None] == who[None]
    pairs = {
        (a, b): float(cosine[np.ix_(who == a, who == b)].mean())
        for i, a in enumerate(people)
        for b in people[i + 1 :]
        if (who == a).any() and (who == b).any()
    }
    return Figures(found, overlap, cosine[alike & upper], cosine[~alike & upper], pairs)


def _spread(values: NDArray[np.float64] | list[float]) -> str:
    low, middle, high = np.percentile(values, [5, 50, 95])
    return f"median {middle:.2f}, 5 % {low:.2f}, 95 % {high:.2f}, of {len(values)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=24)
    parser.add_argument("--sheet", type=Path, help="write a picture of all portraits here")
    chosen = parser.parse_args()
    figures = measure(list(range(chosen.people)), sheet=chosen.sheet)
    for distance in sorted(figures.found):
        views = figures.found[distance]
        frontal = [ok for _, turn, ok in views if turn == 0]
        print(
            f"face found at {distance} m: {figures.rate(distance):.0%} of {len(views)}, "
            f"from the front {np.mean(frontal):.0%}"
        )
        missed = sorted({seed for seed, turn, ok in views if not ok and turn == 0})
        print(f"    missed from the front: {missed}")
    print(f"person masks, intersection over union: {_spread(figures.overlap)}")
    print(f"    masks over 0.7: {np.mean(np.array(figures.overlap) > 0.7):.0%}")
    print(f"same person: {_spread(figures.same)}")
    print(f"two people: {_spread(figures.different)}")
    print(f"AUC {figures.auc():.3f}")
    close = sorted(figures.pairs.items(), key=lambda pair: -pair[1])[:8]
    print("most alike:", ", ".join(f"{a}-{b} {value:.2f}" for (a, b), value in close))


if __name__ == "__main__":
    main()

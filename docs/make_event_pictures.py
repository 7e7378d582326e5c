"""Make the film strips of events from the built-in dynamic cases of Reference-v0."""

from pathlib import Path

import cv2
import numpy as np

from worldenv.case import Case, load_script, load_suite
from worldenv.worlds.reference.families import SceneName, scene_of
from worldenv.worlds.reference.renderer import Renderer

IMAGES = Path(__file__).parent / "images" / "events"
SHOWN = ("ice_melts", "tank_fills", "lamp_brightens", "person_walks")
FRAMES = ((0, 24, 42, 59), (110, 240, 360, 480))
SIZE = (256, 256)


def write_strip(case: Case) -> None:
    """Write eight frames of a dynamic case: before the camera leaves, and away and back again."""
    assert case.scene is not None and case.event is not None
    scene = scene_of(SceneName(case.scene["family"], case.scene["seed"], case.event.name))
    view = next(v for v in scene.views if v.name == case.scene["view"])
    path = load_script("worldmembench:dynamic").path()
    assert path.phases is not None
    renderer = Renderer(scene, size=SIZE, supersample=2)
    gap, head = 4, 20
    width, height = SIZE
    sheet = np.full((2 * (head + height), 4 * (width + gap) - gap, 3), 255, np.uint8)
    for row, frames in enumerate(FRAMES):
        for column, frame in enumerate(frames):
            drawn = renderer.draw(view.pose @ path.poses[frame], frame / path.fps).frame
            y, x = row * (head + height) + head, column * (width + gap)
            sheet[y : y + height, x : x + width] = drawn
            words = f"{path.phases[frame]}, frame {frame}"
            font = cv2.FONT_HERSHEY_SIMPLEX
            cv2.putText(sheet, words, (x + 2, y - 6), font, 0.42, (40, 40, 40), 1, cv2.LINE_AA)
    target = IMAGES / f"{case.event.name}.jpg"
    for quality in range(88, 40, -4):
        cv2.imwrite(str(target), sheet[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
        if target.stat().st_size < 115_000:
            break


if __name__ == "__main__":
    IMAGES.mkdir(parents=True, exist_ok=True)
    cases = [c for c in load_suite("worldmembench").cases.values() if c.event is not None]
    for name in SHOWN:
        write_strip(next(c for c in cases if c.event is not None and c.event.name == name))

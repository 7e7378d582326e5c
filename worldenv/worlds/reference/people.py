"""Clothed people: stored bodies, dressed and given hair by seed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worldenv.worlds.reference import skins
from worldenv.worlds.reference.bodies import (
    ARM,
    CLOTH,
    EYE,
    FOOT,
    HAND,
    HEAD,
    HEIGHT,
    LEG,
    OUT,
    SCALP,
    SKIN,
    SKIRT,
    TIGHTS,
    TORSO,
    UV,
    WRAP,
    Array,
    Shell,
    body_count,
    load_body,
)
from worldenv.worlds.reference.furniture import Piece
from worldenv.worlds.reference.scene import Material, Mesh
from worldenv.worlds.reference.shapes import Builder
from worldenv.worlds.reference.textures import Kit

assert skins  # Importing it registers its painters.

TONES = {
    "pale": ["#e8c0a4", "#dcb090", "#efcbb2"],
    "tan": ["#c99b76", "#d3a67e", "#b98a66"],
    "dark": ["#7a5238", "#5f3d2a", "#8f6446"],
}
HAIRS = {
    "young": ["#2a1c14", "#4a2f1c", "#7a5230", "#c9a05a", "#1a1513", "#8a3d20"],
    "black": ["#14100e", "#241913", "#1c1614"],
    "old": ["#b8b4ac", "#8f8b85", "#d8d5ce"],
}
TOPS = [
    "#a34a45",
    "#45648f",
    "#557a60",
    "#dcd8cc",
    "#2b2f36",
    "#c9a055",
    "#75597f",
    "#6a9a9e",
    "#b5744f",
    "#8f9aa8",
    "#6b3f4c",
    "#d9b7b0",
]
BOTTOMS = ["#2f3f5f", "#23262b", "#54463a", "#4a4f55", "#5f6a52", "#3f4f3a", "#5a2f3a", "#7f8a99"]
SHOES = ["#1f1c1a", "#5a3a26", "#e8e4dc", "#7a2f2f", "#33506f"]


def _emit(
    b: Builder,
    shell: Shell,
    material: Material,
    *,
    cloth: bool,
    out: Array | float = 0.0,
    repeat: tuple[float, float] = (1.0, 1.0),
) -> None:
    """Add a shell to a mesh, on the skin or on the cloth, moved outward by metres."""
    faces = shell.faces
    if not len(faces):
        return
    used, local = np.unique(faces, return_inverse=True)
    rows, faces = shell.rows[used], local.reshape(-1, 3)
    offset = out[used] if isinstance(out, np.ndarray) else np.full(len(used), out)
    direction = rows[:, OUT] / np.maximum(np.linalg.norm(rows[:, OUT], axis=1, keepdims=True), 1e-9)
    points = rows[:, CLOTH if cloth else SKIN] + direction * offset[:, None]
    points[:, 1] = np.maximum(points[:, 1], 0.0)
    uv = rows[:, UV].copy()
    # Faces across the seam at the back of a limb get vertices of their own, a turn further on.
    wrap = rows[:, WRAP].max(initial=0.0)
    if wrap > 0:
        u = uv[:, 0][faces]
        turn = rows[:, WRAP][faces].max(axis=1)
        split = (u.max(axis=1) - u.min(axis=1) > 0.5 * turn) & (turn > 0)
        shift = (u < 0) & split[:, None]
        pairs = np.stack([faces[shift], np.repeat(turn[:, None], 3, 1)[shift]], axis=1)
        moved, inverse = np.unique(pairs, axis=0, return_inverse=True)
        if len(moved):
            index = moved[:, 0].astype(int)
            faces = faces.copy()
            faces[shift] = len(points) + inverse.reshape(-1)
            points = np.concatenate([points, points[index]])
            uv = np.concatenate([uv, uv[index] + np.stack([moved[:, 1], 0 * moved[:, 1]], 1)])
    b.add(points, uv / np.array(repeat), faces, material)


class Look(NamedTuple):
    """What someone wears."""

    skin: Material
    face: Material
    eye: Material
    hair: Material
    cut: str
    top: Material
    inner: Material
    bottom: Material
    shoe: Material
    sleeve: float
    length: float
    hem: float
    neck: float
    jacket: bool
    skirt: float
    repeat: float


def _cloth(kit: Kit, tones: list[str], plain: float) -> Material:
    tone = kit.pick(tones)
    if kit.rng.random() < plain:
        return kit.material("fabric", tone, tone, "plain")
    return kit.material(
        "fabric",
        tone,
        kit.pick(["#e8e4da", "#23262b", "#d9c08a"]),
        kit.pick(["stripes", "plaid", "dots", "check"]),
    )


def _dress(kit: Kit, traits: Array) -> Look:
    """Draw an outfit."""
    male, age, african, asian = traits[0] > 0.5, traits[1], traits[5], traits[6]
    group = "dark" if african > 0.7 else "tan" if african + asian > 0.25 else "pale"
    tone = kit.pick(TONES[group])
    shades = (
        HAIRS["old"] if age > 0.6 else HAIRS["black"] if african + asian > 0.45 else HAIRS["young"]
    )
    hair = kit.pick(shades)
    beard = kit.pick(["plain", "stubble", "beard", "moustache", "plain"]) if male else "plain"
    beard = "old" if age > 0.6 and beard == "plain" else beard
    lips = kit.pick(["#b0524a", "#a8443f", "#b86a5a"]) if not male else None
    lips = lips or {"pale": "#b5786a", "tan": "#9c6250", "dark": "#5f3530"}[group]
    iris = kit.pick(
        ["#4a2f1a", "#2f1d12", "#3f6f8f", "#4f7a4a"] if group == "pale" else ["#2f1d12", "#3d2616"]
    )
    if male:
        cut = kit.pick(["short", "short", "full", "buzz", "bald", "cap"])
        cut = "bald" if age > 0.6 and cut in ("full", "cap") else cut
    else:
        cut = kit.pick(["long", "bob", "bun", "long", "tail", "full"])
    texture = "curly" if african > 0.7 or kit.rng.random() < 0.25 else "straight"
    if cut == "cap":
        cover = kit.material("hair", kit.pick(TOPS), "knit")
    else:
        cover = kit.material("hair", hair, texture)
    bottom = _cloth(kit, BOTTOMS, 0.85)
    top = _cloth(kit, TOPS, 0.45)
    kind = kit.pick(
        ["shirt", "tee", "jacket", "jumper"]
        if male
        else ["shirt", "tee", "jacket", "dress", "skirt", "dress"]
    )
    skirt = kit.uniform(0.35, 0.75) if kind in ("dress", "skirt") else 0.0
    if kind == "dress":
        bottom = top
    length = 0.5 if kind == "tee" and kit.rng.random() < 0.4 else 2.0
    if skirt:
        length = 0.0
    return Look(
        skin=kit.material("skin", tone),
        face=kit.material("face", tone, hair, lips, beard),
        eye=kit.material("eye", iris, seed=0),
        hair=cover,
        cut=cut,
        top=top,
        inner=_cloth(kit, ["#e8e4da", "#c9d4e0", "#23262b"], 0.8),
        bottom=bottom,
        shoe=kit.material("leather", kit.pick(SHOES)),
        sleeve={"tee": 0.42, "dress": kit.uniform(0.1, 0.5)}.get(kind, 0.95),
        length=length,
        hem=kit.uniform(-0.08, 0.08) if not skirt else 0.08,
        neck=kit.uniform(0.93, 1.0) if not male else 1.0,
        jacket=kind == "jacket",
        skirt=skirt,
        repeat=kit.uniform(0.28, 0.5),
    )


def make_person(seed: int) -> Piece:
    """Return a person: body, clothes and hair by seed; about 1.5 to 1.95 m tall.

    Bodies differ between seeds that differ modulo ``body_count()``.
    """
    body = load_body(seed % body_count())
    textures: dict[str, NDArray[np.uint8]] = {}
    meshes = []
    for coarse in (False, True):
        kit = Kit((seed, 77))
        look = _dress(kit, body.traits)
        faces = body.coarse if coarse else body.faces
        parts = body.coarse_parts if coarse else body.parts
        meshes.append(_person(body.rows, faces, parts, look, coarse))
        textures = kit.textures
    return Piece(meshes[0], meshes[1], f"person/{seed}", textures)


def wears_skirt(seed: int) -> bool:
    """Return whether the person of that seed wears a skirt or a dress."""
    return _dress(Kit((seed, 77)), load_body(seed % body_count()).traits).skirt > 0


def same_body(first: str, second: str) -> bool:
    """Return whether two variants (``person/seed``) wear their clothes on the same body."""
    a, b = (int(v.rsplit("/", 1)[1]) for v in (first, second))
    return a % body_count() == b % body_count()


def _person(
    rows: Array, faces: NDArray[np.int64], parts: NDArray[np.int64], look: Look, coarse: bool
) -> Mesh:
    b = Builder(coarse)
    head = Shell(rows, faces[parts == HEAD])
    _emit(b, head, look.face, cloth=False)
    _emit(b, Shell(rows, faces[parts == EYE]), look.eye, cloth=False)
    _emit(b, Shell(rows, faces[parts == HAND]), look.skin, cloth=False)
    r = (look.repeat, look.repeat)
    suit = Shell(rows, faces[parts == TIGHTS])
    rest, shoes = suit.cut(suit.column(FOOT) - 0.45)
    _emit(b, shoes, look.shoe, cloth=True, out=0.004, repeat=(0.2, 0.2))
    below, above = rest.cut(rest.column(TORSO) - look.hem)
    arms = above.column(ARM)
    trunk, bare = above.cut(arms - look.sleeve)
    _emit(b, bare, look.skin, cloth=False, out=-0.004, repeat=(0.3, 0.3))
    under, _ = trunk.cut(look.sleeve - 0.15 - trunk.column(ARM))
    _emit(b, under, look.skin, cloth=False, out=-0.004, repeat=(0.3, 0.3))
    trunk, throat = trunk.cut(
        np.where(trunk.column(ARM) > 0, -1.0, trunk.column(TORSO) - look.neck)
    )
    _emit(b, throat, look.skin, cloth=False, repeat=(0.3, 0.3))
    if look.jacket:
        front = np.where(
            (trunk.column(ARM) > 0.02) | (trunk.rows[:, OUT][:, 2] < 0.1),
            1.0,
            abs(trunk.rows[:, 6]) - 0.012 - 0.05 * np.clip(trunk.column(TORSO), 0, 1),
        )
        inside, trunk = trunk.cut(front)
        _emit(b, inside, look.inner, cloth=True, out=0.002, repeat=(0.3, 0.3))
    flare = 0.006 + 0.01 * np.clip(0.4 - trunk.column(TORSO), 0, 1)
    _emit(b, trunk, look.top, cloth=True, out=flare, repeat=r)
    wear, legs = below.cut(below.column(LEG) - look.length)
    if look.skirt:
        wear, legs = Shell(below.rows, below.faces[:0]), below
        skirt = Shell(rows, faces[parts == SKIRT])
        heights = skirt.column(HEIGHT)[np.unique(skirt.faces)]
        top, end = heights.max(), heights.min()
        _, skirt = skirt.cut(skirt.column(HEIGHT) - (top + (end - top) * look.skirt))
        _emit(b, skirt, look.bottom, cloth=False, out=0.016, repeat=r)
    _emit(b, wear, look.bottom, cloth=True, repeat=r)
    if look.length < 1:
        hidden, _ = wear.cut(look.length - 0.15 - wear.column(LEG))
        _emit(b, hidden, look.skin, cloth=False, out=-0.004, repeat=(0.3, 0.3))
    _emit(b, legs, look.skin, cloth=False, out=-0.004, repeat=(0.3, 0.3))
    _hair(b, head, look)
    return b.mesh()


def _hair(b: Builder, head: Shell, look: Look) -> None:
    """Cover the scalp with a cap of hair and add what hangs or is tied up."""
    if look.cut == "bald":
        return
    line = {"buzz": 0.1, "cap": 0.55}.get(look.cut, 0.0)
    _, cap = head.cut(head.column(SCALP) - line)
    depth = np.clip((cap.column(SCALP) - line) / 1.1, 0, 1)
    thick = {
        "buzz": 0.004,
        "short": 0.013,
        "full": 0.03,
        "cap": 0.016,
        "bun": 0.012,
        "tail": 0.012,
    }.get(look.cut, 0.02)
    out = 0.003 + thick * depth * (2 - depth)
    repeat = (0.4, 0.6)
    _emit(b, cap, look.hair, cloth=False, out=out, repeat=repeat)
    skin = head.rows[np.unique(head.faces)]
    scalp = skin[skin[:, SCALP] > 0][:, SKIN]
    low, high = scalp.min(axis=0), scalp.max(axis=0)
    middle, half = (low + high) / 2, (high - low) / 2
    if look.cut in ("long", "bob"):
        drop = 0.12 if look.cut == "bob" else 0.3
        n, rows = (8, 4) if b.coarse else (16, 7)
        angle = np.radians(np.linspace(78, 282, n))
        t = np.linspace(0, 1, rows)[:, None]
        start = middle[1] + 0.35 * half[1]
        for inner in (0.0, 0.012):
            wide = half[0] + 0.022 - inner + 0.012 * np.sin(np.pi * t) - 0.016 * t
            deep = half[2] + 0.018 - inner + 0.01 * np.sin(np.pi * t) - 0.03 * t
            x = middle[0] + wide * np.sin(angle)
            z = middle[2] + deep * np.cos(angle)
            y = np.broadcast_to(start - (start - low[1] + drop - 0.06) * t, x.shape)
            y = y - 0.03 * t * np.cos(angle * 2 + 0.3)
            points = np.stack([x, y, z], -1).reshape(-1, 3)
            uv = np.stack(np.broadcast_arrays(angle / 2.2, t * 1.2), -1).reshape(-1, 2)
            index = np.arange(n * rows).reshape(rows, n)
            p, q, s, w = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
            quads = np.stack([p, w, s, q], -1).reshape(-1, 4)
            if inner:
                quads = quads[:, ::-1]
            b.add(points, uv, np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]), look.hair)
    elif look.cut == "bun":
        at = (middle[0], high[1] - 0.02, low[2] + 0.02)
        b.ball(at, (0.045, 0.04, 0.045), look.hair, sides=12, rings=8)
    elif look.cut == "tail":
        root = np.array([middle[0], middle[1] + 0.3 * half[1], low[2] - 0.005])
        line_ = root + np.array(
            [
                [0, 0, 0.02],
                [0, 0.01, -0.035],
                [0, -0.06, -0.06],
                [0, -0.16, -0.055],
                [0, -0.25, -0.04],
            ]
        )
        b.tube(line_, [0.018, 0.024, 0.03, 0.024, 0.006], look.hair, sides=8, repeat=0.2)

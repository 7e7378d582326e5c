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
    SLEEVE_UV,
    SLEEVE_WRAP,
    TIGHTS,
    TORSO,
    UV,
    WRAP,
    Array,
    Body,
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
    "pale": ["#c99b81", "#be8f75", "#d0a78d", "#c59875", "#b5866b"],
    "tan": ["#b4815e", "#a67350", "#be8e6a", "#9a6848"],
    "dark": ["#6d4731", "#573726", "#7f563b", "#4a3122"],
}
HAIRS = {
    "young": ["#2a1c14", "#4a2f1c", "#6f4a2c", "#b58d50", "#1a1513", "#83391d", "#937046"],
    "black": ["#14100e", "#241913", "#1c1614", "#33221a"],
    "old": ["#b8b4ac", "#8f8b85", "#d8d5ce", "#6f6a64"],
}
IRISES = ["#4a2f1a", "#2f1d12", "#3f6f8f", "#4f7a4a", "#6a7f86", "#6b4c22"]
CUTS = {
    "man": ["short", "side", "full", "buzz", "crew", "curly", "quiff", "short", "rim", "bald"],
    "woman": [
        "long",
        "bob",
        "bun",
        "tail",
        "fringe",
        "longfringe",
        "side",
        "curly",
        "long",
        "crop",
    ],
}
BEARDS = ["", "", "stubble", "stubble", "beard", "goatee", "moustache", ""]
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


UNDER = 0.08
"""How far cloth and skin reach on under what is worn over them, as a share of the trunk."""


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
    sleeve = (shell.column(ARM)[shell.faces].mean(axis=1) > 0.05) & cloth
    for faces, places, wrap in (
        (shell.faces[~sleeve], UV, None),
        (shell.faces[sleeve], SLEEVE_UV, SLEEVE_WRAP),
    ):
        if len(faces):
            used, local = np.unique(faces, return_inverse=True)
            rows = shell.rows[used]
            offset = out[used] if isinstance(out, np.ndarray) else np.full(len(used), out)
            normal = rows[:, OUT]
            normal = normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-9)
            points = rows[:, CLOTH if cloth else SKIN] + normal * offset[:, None]
            points[:, 1] = np.maximum(points[:, 1], 0.0)
            around = rows[:, WRAP] if wrap is None else np.full(len(used), wrap)
            parts = _unwrapped(points, rows[:, places], local.reshape(-1, 3), around)
            b.add(parts[0], parts[1] / np.array(repeat), parts[2], material)


def _unwrapped(
    points: Array, uv: Array, faces: NDArray[np.int64], wrap: Array
) -> tuple[Array, Array, NDArray[np.int64]]:
    """Give faces across the seam at the back of a limb vertices of their own, a turn further on.

    Args:
        points: Shape (n, 3).
        uv: Texture places (n, 2).
        faces: Shape (m, 3).
        wrap: Length of a turn (n,), 0 without a seam.
    """
    u, turn = uv[:, 0][faces], wrap[faces].max(axis=1, initial=0.0)
    split = (np.ptp(u, axis=1) > 0.5 * turn) & (turn > 0)
    shift = (u < u.max(axis=1, keepdims=True) - 0.5 * turn[:, None]) & split[:, None]
    if not shift.any():
        return points, uv, faces
    pairs = np.stack([faces[shift], np.repeat(turn[:, None], 3, 1)[shift]], axis=1)
    moved, inverse = np.unique(pairs, axis=0, return_inverse=True)
    index = moved[:, 0].astype(int)
    faces = faces.copy()
    faces[shift] = len(points) + inverse.reshape(-1)
    further = uv[index] + np.stack([moved[:, 1], 0 * moved[:, 1]], 1)
    return np.concatenate([points, points[index]]), np.concatenate([uv, further]), faces


class Look(NamedTuple):
    """What someone wears, and what is drawn of the head.

    Attributes:
        skin: Of the body.
        face: Of the head, with its features.
        eye: Of the eyeballs.
        hair: Of head and beard.
        cut: One of ``CUTS`` or of those that a head brings along.
        hat: Of a hat, None for none.
        peak: Whether the hat has a brim.
        glasses: Of the frame of spectacles, None for none.
        top: Of what covers the trunk.
        inner: Of what shows under a jacket, and of a shirt's strip of buttons.
        trim: Of collars and prints.
        bottom: Of trousers or skirt.
        shoe: Of both.
        sleeve: How far sleeves reach down the arms, as a share.
        length: How far trousers reach down the legs, as a share; beyond 1 all the way.
        hem: Where a top ends on the trunk, as a share of it up from the hips.
        neck: Where it begins.
        kind: ``shirt``, ``tee``, ``jacket``, ``jumper``, ``dress`` or ``skirt``.
        chest: Print on the chest: ``plain``, ``disc`` or ``band``.
        skirt: How far a skirt reaches down the legs, as a share; 0 for none.
        repeat: Metres a repeat of the cloth's pattern.
    """

    skin: Material
    face: Material
    eye: Material
    hair: Material
    cut: str
    hat: Material | None
    peak: bool
    glasses: Material | None
    top: Material
    inner: Material
    trim: Material
    bottom: Material
    shoe: Material
    sleeve: float
    length: float
    hem: float
    neck: float
    kind: str
    chest: str
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


class _Traits(NamedTuple):
    """What is drawn of a head: texture words, its cut of hair and what it wears."""

    tone: str
    hair: str
    lips: str
    iris: str
    style: str
    cut: str
    curly: bool
    glasses: bool


def _features(seed: int, traits: Array) -> _Traits:
    """Draw what a head has beside its shape."""
    kit = Kit((seed, 78))
    man, old, african, asian = traits[0] > 0.5, traits[1] > 0.6, traits[5], traits[6]
    group = "dark" if african > 0.7 else "tan" if african + asian > 0.25 else "pale"
    tone = kit.pick(TONES[group])
    hair = kit.pick(HAIRS["old" if old else "black" if african + asian > 0.45 else "young"])
    words = [kit.pick(["thin", "thick", ""] if man else ["thin", "", "thin"])]
    words.append(kit.pick(["arched", "straight", ""] if not man else ["straight", "", "arched"]))
    if man:
        words.append(kit.pick(BEARDS))
        lips = {"pale": "#a8695c", "tan": "#8c5848", "dark": "#5c3630"}[group]
    else:
        painted = kit.rng.random() < 0.5
        words += ["makeup"] * painted
        lips = kit.pick(["#9c3a38", "#a8524a", "#8f3f4c", "#b3605a"] if painted else ["#ab6459"])
        lips = "#6e3a34" if group == "dark" and not painted else lips
    words += ["freckles"] * (group == "pale" and kit.rng.random() < 0.3)
    words += ["mole"] * (kit.rng.random() < 0.25) + ["lined"] * bool(traits[1] > 0.35)
    iris = kit.pick(IRISES if group == "pale" else IRISES[:2])
    cut = kit.pick(CUTS["man" if man else "woman"])
    if cut in ("rim", "bald") and traits[1] < 0.2 and african < 0.3:
        cut = "buzz"
    if african > 0.7:
        cut = kit.pick(["afro", "buzz", "crew", "bald"] if man else ["afro", "bun", "bob", "crop"])
    words += ["bald"] * (cut in ("bald", "rim"))
    curly = bool(african > 0.45 or cut == "curly" or kit.rng.random() < 0.15)
    glasses = bool(kit.rng.random() < 0.3)
    return _Traits(tone, hair, lips, iris, "+".join(w for w in words if w), cut, curly, glasses)


def _dress(kit: Kit, seed: int, traits: Array) -> Look:
    """Draw an outfit, and a head of its own draw."""
    man = traits[0] > 0.5
    head = _features(seed, traits)
    # What these draws chose has moved to ``_features``; without them everybody would be dressed
    # anew, and people in skirts would stand where there is no room for them.
    age, african, asian = traits[1], traits[5], traits[6]
    shades = 6 if age <= 0.6 and african + asian <= 0.45 else 3
    pale = african + asian <= 0.25
    for choices in (3, shades, 5 if man else 3, 4 if pale else 2):
        kit.rng.integers(choices)
    capped = bool(kit.rng.integers(6) == 5 and man and age <= 0.6)
    chance = kit.rng.random() if african <= 0.7 else 1.0
    hatted = capped or (chance < 0.1 and not man)
    if capped:
        kit.rng.integers(len(TOPS))
    hair = kit.material("hair", head.hair, "curly" if head.curly else "straight")
    bottom = _cloth(kit, BOTTOMS, 0.85)
    top = _cloth(kit, TOPS, 0.45)
    kind = kit.pick(
        ["shirt", "tee", "jacket", "jumper"]
        if man
        else ["shirt", "tee", "jacket", "dress", "skirt", "dress"]
    )
    skirt = kit.uniform(0.35, 0.75) if kind in ("dress", "skirt") else 0.0
    if kind == "dress":
        bottom = top
    length = 0.5 if kind == "tee" and kit.rng.random() < 0.4 else 2.0
    if skirt:
        length = 0.0
    frames = kit.pick(["#1c1a1a", "#4a2f22", "#7a7468", "#6e2c2a"])
    hat = None
    if hatted and head.cut not in ("bun", "afro", "tail"):
        hat = kit.material("hair", kit.pick(TOPS), "knit")
    return Look(
        skin=kit.material("skin", head.tone),
        face=kit.material("face", head.tone, head.hair, head.lips, head.style),
        eye=kit.material("eye", head.iris, seed=0),
        hair=hair,
        cut=head.cut,
        hat=hat,
        peak=bool(kit.rng.random() < 0.5),
        glasses=kit.material("metal", frames, seed=1) if head.glasses else None,
        top=top,
        inner=_cloth(kit, ["#e8e4da", "#c9d4e0", "#23262b"], 0.8),
        trim=kit.material("fabric", *2 * (kit.pick(TOPS),), "plain"),
        bottom=bottom,
        shoe=kit.material("leather", kit.pick(SHOES)),
        sleeve={"tee": 0.42, "dress": kit.uniform(0.1, 0.5)}.get(kind, 0.95),
        length=length,
        hem=kit.uniform(-0.08, 0.08) if not skirt else 0.08,
        neck=kit.uniform(0.93, 1.0) if not man else 1.0,
        kind=kind,
        chest=kit.pick(["plain", "disc", "band", "plain"])
        if kind in ("tee", "jumper")
        else "plain",
        skirt=skirt,
        repeat=kit.uniform(0.28, 0.5),
    )


def make_person(seed: int, ease: bool = False) -> Piece:
    """Return a person: body, head, clothes and hair by seed; about 1.5 to 1.95 m tall.

    Bodies differ between seeds that differ modulo ``body_count()``, faces between those that
    differ modulo ``head_count()``.

    Args:
        seed: Who it is.
        ease: Whether it stands with its arms hanging rather than in a pose of its own.
    """
    body = load_body(seed, ease)
    textures: dict[str, NDArray[np.uint8]] = {}
    meshes = []
    for coarse in (False, True):
        kit = Kit((seed, 77))
        look = _dress(kit, seed, body.traits)
        faces = body.coarse if coarse else body.faces
        parts = body.coarse_parts if coarse else body.parts
        meshes.append(_person(body, faces, parts, look, coarse))
        textures = kit.textures
    return Piece(meshes[0], meshes[1], f"person/{seed}", textures)


def wears_skirt(seed: int) -> bool:
    """Return whether the person of that seed wears a skirt or a dress."""
    return _dress(Kit((seed, 77)), seed, load_body(seed).traits).skirt > 0


def same_body(first: str, second: str) -> bool:
    """Return whether two variants (``person/seed``) wear their clothes on the same body."""
    a, b = (int(v.rsplit("/", 1)[1]) for v in (first, second))
    return a % body_count() == b % body_count()


def _person(
    body: Body, faces: NDArray[np.int64], parts: NDArray[np.int64], look: Look, coarse: bool
) -> Mesh:
    b, rows = Builder(coarse), body.rows
    head = Shell(rows, faces[parts == HEAD])
    _emit(b, head, look.face, cloth=False)
    _emit(b, Shell(rows, faces[parts == EYE]), look.eye, cloth=False)
    _emit(b, Shell(rows, faces[parts == HAND]), look.skin, cloth=False)
    r = (look.repeat, look.repeat)
    suit = Shell(rows, faces[parts == TIGHTS])
    # What lies under reaches on past each cut: nothing is to be seen through between two layers.
    _, shoes = suit.cut(suit.column(FOOT) - 0.45)
    _emit(b, shoes, look.shoe, cloth=True, out=0.004, repeat=(0.2, 0.2))
    rest, _ = suit.cut(suit.column(FOOT) - 0.7)
    below, _ = rest.cut(rest.column(TORSO) - look.hem - UNDER)
    _, above = rest.cut(rest.column(TORSO) - look.hem)
    trunk, bare = above.cut(above.column(ARM) - look.sleeve)
    _emit(b, bare, look.skin, cloth=False, out=-0.004, repeat=(0.3, 0.3))
    under, _ = trunk.cut(look.sleeve - 0.15 - trunk.column(ARM))
    _emit(b, under, look.skin, cloth=False, out=-0.004, repeat=(0.3, 0.3))
    low = look.neck - UNDER
    _, neck = trunk.cut(np.where(trunk.column(ARM) > 0, -1.0, trunk.column(TORSO) - low))
    _emit(b, neck, look.skin, cloth=False, out=-0.004, repeat=(0.3, 0.3))
    trunk, _ = trunk.cut(np.where(trunk.column(ARM) > 0, -1.0, trunk.column(TORSO) - look.neck))
    if look.kind == "jacket":
        inside, _ = _middle(trunk, _open(trunk) + 0.03)
        _emit(b, inside, look.inner, cloth=True, out=0.002, repeat=(0.3, 0.3))
        _, trunk = _middle(trunk, _open(trunk))
    else:
        _trimmed(b, trunk, look)
    _emit(b, trunk, look.top, cloth=True, out=_flare(trunk), repeat=r)
    if not coarse:
        _lined(b, trunk, look)
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
        ends = wear.column(LEG)[wear.faces].max(axis=1) > look.length - 0.05
        edge = Shell(wear.rows, wear.faces[ends][:, ::-1])
        _emit(b, edge, look.bottom, cloth=True, out=-0.001, repeat=r)
    _emit(b, legs, look.skin, cloth=False, out=-0.004, repeat=(0.3, 0.3))
    _hair(b, head, look)
    if look.glasses is not None:
        _glasses(b, *_eyes_and_ears(body), look.glasses)
    return b.mesh()


def _eyes_and_ears(body: Body) -> tuple[Array, Array]:
    """Return places on the eyeballs (n, 3), and where spectacles sit on the ears (2, 3)."""
    skin = body.rows[np.unique(body.faces[body.parts == HEAD])]
    temples = (skin[:, UV.start + 1] > 0.3) & (skin[:, UV.start + 1] < 0.4)
    skin = skin[temples & (skin[:, SCALP] > -1.0)]
    sides = [skin[abs(skin[:, UV.start] - at) < 0.05] for at in (0.85, 0.15)]
    ears = np.array([side[np.argmax(abs(side[:, 0])), SKIN] for side in sides])
    ears[:, 2] -= 0.02
    return body.rows[np.unique(body.faces[body.parts == EYE])][:, SKIN], ears


def _flare(top: Shell) -> Array:
    """Return how far a top lies outside the cloth (n,), in metres; it widens towards its hem."""
    return np.asarray(0.006 + 0.01 * np.clip(0.4 - top.column(TORSO), 0, 1))


def _lined(b: Builder, top: Shell, look: Look) -> None:
    """Line a top along its hem, cuffs, collar and front, where it is seen from within."""
    arm, torso = top.column(ARM)[top.faces], top.column(TORSO)[top.faces]
    rim = (torso.min(axis=1) < look.hem + 0.03) | (arm.max(axis=1) > look.sleeve - 0.18)
    rim |= (arm.max(axis=1) < 0.05) & (torso.max(axis=1) > look.neck - UNDER)
    if look.kind == "jacket":
        inside = abs(top.rows[:, CLOTH.start]) - _open(top)
        ahead = top.rows[:, OUT.start + 2][top.faces].mean(axis=1) > 0
        rim |= ahead & (inside[top.faces].min(axis=1) < 0.04)
    edge = Shell(top.rows, top.faces[rim][:, ::-1])
    _emit(b, edge, look.top, cloth=True, out=_flare(edge) - 0.001, repeat=(look.repeat,) * 2)


def _open(top: Shell) -> Array:
    """Return how far from its middle a jacket stands open (n,), in metres."""
    return np.asarray(0.012 + 0.05 * np.clip(top.column(TORSO), 0, 1))


def _middle(shell: Shell, half: Array) -> tuple[Shell, Shell]:
    """Return the strip down the front within metres of its middle (n,), and the rest."""
    ahead = shell.rows[:, OUT.start + 2][shell.faces].mean(axis=1) > 0
    across = CLOTH.start
    # One side after the other: few vertices lie in the strip itself.
    left, near = shell.where(ahead).cut(half - shell.rows[:, across])
    bound = np.concatenate([half, near.rows[len(half) :, across]])
    strip, right = near.cut(-bound - near.rows[:, across])
    rest = np.concatenate([shell.faces[~ahead], left.faces, right.faces])
    return strip, Shell(right.rows, rest)


def _trimmed(b: Builder, trunk: Shell, look: Look) -> None:
    """Lay collar, button strip or print over a top."""

    def before(shell: Shell) -> Array:
        return np.asarray(np.maximum(shell.column(ARM), 0.1 * (-0.15 - shell.rows[:, OUT][:, 2])))

    def add(part: Shell, material: Material, out: float) -> None:
        _emit(b, part, material, cloth=True, out=out + _flare(part), repeat=(0.3, 0.3))

    rib = 0.05 if look.kind == "shirt" else 0.03
    high = look.neck - rib - trunk.column(TORSO) + 0.8 * np.maximum(trunk.column(ARM), 0)
    collar, rest = trunk.cut(high)
    add(collar, look.trim, 0.002)
    if look.kind == "shirt":
        strip, _ = _middle(rest, np.full(len(rest.rows), 0.016))
        add(strip, look.inner, 0.002)
    elif look.chest == "disc":
        across, up = rest.rows[:, UV.start] / 0.075, (rest.column(TORSO) - 0.68) / 0.15
        disc, _ = rest.cut(np.maximum(0.1 * (np.hypot(across, up) - 1), before(rest)))
        add(disc, look.trim, 0.001)
    elif look.chest == "band":
        rest, _ = rest.cut(rest.column(ARM) - 0.1)
        _, rest = rest.cut(rest.column(TORSO) - 0.57)
        band, _ = rest.cut(rest.column(TORSO) - 0.75)
        add(band, look.trim, 0.001)


def _hair(b: Builder, head: Shell, look: Look) -> None:
    """Cover the scalp with a cap of hair and add what hangs, is tied up or is worn."""
    skin = head.rows[np.unique(head.faces)]
    scalp = skin[skin[:, SCALP] > 0][:, SKIN]
    low, high = scalp.min(axis=0), scalp.max(axis=0)
    if look.hat is not None:
        _, hat = head.cut(head.column(SCALP) - 0.06)
        # Along its edge it hugs the hair.
        deep = np.clip((hat.column(SCALP) - 0.06) / 0.6, 0, 1)
        out = 0.005 + 0.023 * deep * (2 - deep)
        _emit_lined(b, hat, look.hat, out, 0.9 * deep)
        if look.peak:
            _brim(b, hat, out, look.hat)
    if look.cut != "bald":
        _cap(b, head, look)
    middle, half = (low + high) / 2, (high - low) / 2
    if look.cut in ("long", "bob", "fringe", "longfringe"):
        _curtain(b, low, middle, half, look)
    elif look.cut == "bun":
        at = (middle[0], high[1] - 0.02, low[2] + 0.02)
        b.ball(at, (0.045, 0.04, 0.045), look.hair, sides=12, rings=8)
    elif look.cut == "tail":
        root = np.array([middle[0], middle[1] + 0.3 * half[1], low[2] - 0.005])
        line = root + np.array(
            [
                [0, 0, 0.02],
                [0, 0.01, -0.035],
                [0, -0.06, -0.06],
                [0, -0.16, -0.055],
                [0, -0.25, -0.04],
            ]
        )
        b.tube(line, [0.018, 0.024, 0.03, 0.024, 0.006], look.hair, sides=8, repeat=0.2)


THICK = {"buzz": 0.004, "crew": 0.009, "short": 0.016, "side": 0.022, "quiff": 0.018, "full": 0.032}
THICK |= {"bun": 0.012, "tail": 0.012, "crop": 0.02, "curly": 0.034, "afro": 0.062, "rim": 0.01}


def _emit_lined(b: Builder, cap: Shell, material: Material, out: Array, inside: Array) -> None:
    """Add a cap (out in metres) that is seen from within along its rim, where ``inside`` is low."""
    _emit(b, cap, material, cloth=False, out=out, repeat=(0.4, 0.6))
    rim = cap.where(inside[cap.faces].min(axis=1) < (0.5 if b.coarse else 0.97))
    _emit(b, Shell(rim.rows, rim.faces[:, ::-1]), material, cloth=False, out=out - 0.001)


def _cap(b: Builder, head: Shell, look: Look) -> None:
    """Add the hair on the scalp itself."""
    u, v, depth = head.rows[:, UV.start], head.rows[:, UV.start + 1], head.column(SCALP)
    front = np.exp(-(((u - 0.5) / 0.17) ** 4)) * (v < 0.32)
    level = depth - (0.08 if look.cut == "buzz" else 0.0)
    if look.cut in ("fringe", "longfringe", "crop"):
        level = level + {"crop": 0.45}.get(look.cut, 0.85) * front
    elif look.cut in ("side", "long"):
        level = level + 0.4 * np.exp(-(((u - 0.42) / 0.1) ** 2)) * (v < 0.3)
        level = level + 0.1 * front
    elif look.cut == "rim":
        level = np.minimum(level, (v - 0.19) / 0.2)
        level = np.where(depth < -0.2, depth, level)
    if look.hat is not None:
        level = np.minimum(depth, 0.2 - depth)
    _, cap = head.cut(level)
    u, v = cap.rows[:, UV.start], cap.rows[:, UV.start + 1]
    front = np.exp(-(((u - 0.5) / 0.15) ** 4)) * (v < 0.32)
    more = 0.85 * front if "fringe" in look.cut and look.hat is None else 0.0
    inside = np.clip((cap.column(SCALP) + more) / 1.1, 0, 1)
    thick = 0.006 if look.hat is not None else THICK.get(look.cut, 0.02)
    out = 0.003 + thick * inside * (2 - inside)
    if look.cut == "quiff":
        out += 0.02 * np.exp(-(((u - 0.5) / 0.13) ** 2) - ((v - 0.12) / 0.03) ** 2)
    elif look.cut in ("side", "long"):
        out += 0.012 * np.tanh((u - 0.4) / 0.03) * np.exp(-((v - 0.08) ** 2) / 0.01) * inside
    elif look.cut in ("curly", "afro"):
        out *= 1 + 0.16 * np.sin(u * 61) * np.sin(v * 47 + u * 20)
    _emit_lined(b, cap, look.hair, out, inside)


def _curtain(b: Builder, low: Array, middle: Array, half: Array, look: Look) -> None:
    """Add hair that hangs around the sides and the back of a head."""
    drop = 0.12 if look.cut in ("bob", "fringe") else 0.3
    n, rows = (8, 4) if b.coarse else (18, 8)
    angle = np.radians(np.linspace(72, 288, n))
    t = np.linspace(0, 1, rows)[:, None]
    start = middle[1] + 0.35 * half[1]
    for inner in (0.0, 0.012):
        wide = half[0] + 0.01 - inner + 0.02 * np.sin(np.pi * t**0.7) - 0.006 * t
        deep = half[2] + 0.018 - inner + 0.01 * np.sin(np.pi * t) - 0.03 * t
        # In front it lies against the face.
        close = np.exp(-((np.minimum(angle - angle[0], angle[-1] - angle) / 0.3) ** 2))
        wide = wide * (1 - (0.1 + 0.16 * t) * close)
        x = middle[0] + wide * np.sin(angle)
        z = middle[2] + deep * np.cos(angle)
        y = np.broadcast_to(start - (start - low[1] + drop - 0.06) * t, x.shape)
        y = y - 0.03 * t * np.cos(angle * 2 + 0.3) + 0.008 * t * np.sin(angle * 11)
        points = np.stack([x, y, z], -1).reshape(-1, 3)
        uv = np.stack(np.broadcast_arrays(angle / 2.2, t * 1.2), -1).reshape(-1, 2)
        index = np.arange(n * rows).reshape(rows, n)
        p, q, s, w = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
        quads = np.stack([p, w, s, q], -1).reshape(-1, 4)
        if inner:
            quads = quads[:, ::-1]
        b.add(points, uv, np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]]), look.hair)


def _brim(b: Builder, cap: Shell, out: Array, material: Material) -> None:
    """Add the peak of a cap (out in metres), above the forehead."""
    rows = cap.rows
    used = np.zeros(len(rows), bool)
    used[cap.faces] = True
    edge = np.flatnonzero(used & (rows[:, SCALP] < 0.0601) & (rows[:, UV.start + 1] < 0.32))
    edge = edge[np.argsort(rows[edge, UV.start])]
    line = rows[edge, SKIN] + out[edge, None] * rows[edge, OUT]
    across = np.linspace(0.27, 0.73, 11)
    # Where the cap ends, at even places along it.
    inner = np.stack([np.interp(across, rows[edge, UV.start], line[:, k]) for k in range(3)], 1)
    inner[:, 1] += 0.005
    bow = np.cos(np.linspace(-1.35, 1.35, 11))[:, None]
    outer = inner + bow * np.array([0, -0.022, 0.085]) + (inner - inner.mean(axis=0)) * [0.12, 0, 0]
    inner = inner - [0, 0, 0.012]
    for lift, flip in ((0.0, False), (-0.006, True)):
        points = np.concatenate([inner, outer]) + np.array([0, lift, 0])
        i = np.arange(10)
        quads = np.stack([i, i + 11, i + 12, i + 1], 1)
        quads = quads[:, ::-1] if flip else quads
        faces = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
        b.add(points, points[:, [0, 2]] * 4, faces, material)


def _glasses(b: Builder, balls: Array, ears: Array, material: Material) -> None:
    """Add a frame before the eyeballs (n, 3), with temples to the ears (2, 3)."""
    angle = np.linspace(0, 2 * np.pi, 6 if b.coarse else 15)
    rims = []
    for side, sign in enumerate((1, -1)):
        ball = balls[np.sign(balls[:, 0] - balls[:, 0].mean()) == sign]
        centre = ball.mean(axis=0)
        front = ball[:, 2].max() + 0.016
        wide, high = 0.0265, 0.021
        shape = np.stack([wide * np.cos(angle), high * np.sin(angle)], 1)
        shape = np.sign(shape) * abs(shape) ** 0.85 * np.array([wide, high]) ** 0.15
        bend = -0.004 * np.clip(sign * np.cos(angle), 0, 1)
        ring = np.stack([centre[0] + shape[:, 0], centre[1] - 0.003 + shape[:, 1]], 1)
        ring = np.concatenate([ring, (front + bend)[:, None]], axis=1)
        b.tube(ring, 0.0021, material, sides=4, repeat=0.1)
        outer = ring[np.argmax(sign * ring[:, 0])]
        back = ears[side] + [sign * 0.006, 0.004, 0.0]
        bent = np.array([back[0], outer[1], outer[2] - 0.014])
        line = [outer, back] if b.coarse else [outer, bent, back]
        b.tube(np.stack(line), 0.0019, material, sides=4, repeat=0.1)
        rims.append(ring[np.argmin(sign * ring[:, 0])])
    over = (rims[0] + rims[1]) / 2 + [0, 0.004, 0.003]
    line = rims if b.coarse else [rims[0], over, rims[1]]
    b.tube(np.stack(line), 0.0019, material, sides=4, repeat=0.1)

"""What house fronts are: their openings as data, and the materials of a draw of their looks."""

from __future__ import annotations

from typing import NamedTuple

from worldenv.worlds.reference import outdoor_textures, street_textures
from worldenv.worlds.reference.scene import Material
from worldenv.worlds.reference.textures import Kit

assert outdoor_textures and street_textures  # Importing them registers their painters.

PLASTERS = [
    "#e4d8bc",
    "#d9b48a",
    "#c98f78",
    "#e0c878",
    "#b9c4b0",
    "#a9bcc8",
    "#e8e2d6",
    "#d8a8a0",
    "#c8b8d0",
]
BRICKS = ["#a4553f", "#8f4a3a", "#b5764f", "#c9a878", "#7a4a40"]
TRIMS = ["#f2eee4", "#e4dccb", "#6a4a34", "#3a4a44", "#f2eee4"]
SHUTTERS = ["#3f6b5a", "#2f5f7a", "#7a3a35", "#5a6b78", "#8a6a48", "#4a5a3a"]
SHOPS = [
    "#2f4858",
    "#7a2f35",
    "#2f5f45",
    "#c8a03a",
    "#23282d",
    "#8a4a7a",
    "#e4ddcc",
    "#b5533c",
    "#3f7f86",
]

STOREY = 3.05
"""Height of an upper floor in metres."""


class Front(NamedTuple):
    """The openings of a house front.

    Attributes:
        width: Metres.
        ground: Height of the ground floor in metres.
        storeys: How many upper floors.
        bays: What each bay of the ground floor is, from the left: ``s`` a shop's window, ``d`` a
            door, ``w`` a window.
        pitched: Whether tiles show above the eaves; else a parapet closes the wall.
    """

    width: float
    ground: float
    storeys: int
    bays: str
    pitched: bool

    @property
    def height(self) -> float:
        """Height of the wall in metres."""
        return self.ground + self.storeys * STOREY + (0.3 if self.pitched else 0.85)

    def middle(self, bay: int) -> float:
        """Return where the middle of a bay is along x."""
        return self.width * ((bay + 0.5) / len(self.bays) - 0.5)

    def text(self) -> str:
        """Return the front as a tag's value."""
        return f"{self.width!r},{self.ground!r},{self.storeys},{self.bays},{self.pitched}"


def read_front(text: str) -> Front:
    """Return the front of a tag's value."""
    width, ground, storeys, bays, pitched = text.split(",")
    return Front(float(width), float(ground), int(storeys), bays, pitched == "True")


class Style(NamedTuple):
    """What a house is made of.

    Attributes:
        wall: Of the front above its base.
        repeat: Metres a repeat of the wall's texture, across and up.
        base: Of the lowest half metre.
        trim: Of sills, surrounds, cornices and balconies.
        panes: Of windows, by their draw.
        upper: Width and height of windows, in metres.
        shutter: Of shutters, None for none.
        surround: Around windows: ``frame``, ``lintel``, or ``sill`` alone.
        balconies: At which upper windows: ``none``, ``middle`` or ``all``.
        railing: Of railings, gutters and pipes.
        shop: Of the wood around shop windows and the boards over them.
        displays: Of shop windows; none where the front has none.
        roof: Of tiles.
        plain: Of the paint of frames.
        door: Of the doors of far houses.
    """

    wall: Material
    repeat: tuple[float, float]
    base: Material
    trim: Material
    panes: list[Material]
    upper: tuple[float, float]
    shutter: Material | None
    surround: str
    balconies: str
    railing: Material
    shop: Material
    displays: list[Material]
    roof: Material
    plain: Material
    door: Material


def draw_style(kit: Kit, front: Front) -> Style:
    """Return what a house of that front is made of."""
    look = kit.pick(["plaster", "plaster", "brick", "brick", "clean"])
    frame = kit.pick(TRIMS)
    tone = kit.pick(PLASTERS) if look != "brick" else kit.pick(BRICKS)
    wall = (
        kit.material("brick", tone, kit.pick(["#c9c0ae", "#a8a094", "#8a8078"]))
        if look == "brick"
        else kit.material("plaster" if look == "plaster" else "plain", tone)
    )
    if look == "clean":
        wall = kit.material("concrete" if kit.rng.random() < 0.3 else "plaster", tone)
    bars = kit.pick(["cross", "sash", "casement", "grid"])
    pane_frame = frame if frame != "#6a4a34" else kit.pick(["#6a4a34", "#f2eee4"])
    panes = [
        kit.material("pane", pane_frame, bars, what, seed=k)
        for k, what in enumerate(["curtain", "blind", "none", "curtain"])
    ]
    shutter = (
        kit.material("panelling", kit.pick(SHUTTERS))
        if look == "plaster" and kit.rng.random() < 0.6
        else None
    )
    tone = kit.pick(SHOPS)
    displays = [
        kit.material(
            "shopwindow", what, kit.pick(["#c8b89a", "#b8c0c4"]), seed=int(kit.rng.integers(3))
        )
        for what in (kit.pick(["shelves", "clothes"]), kit.pick(["bakery", "flowers", "shelves"]))
        if "s" in front.bays
    ]
    trim = kit.material("stone", kit.pick(["#d9d0bc", "#c9c2b4", "#b8ae9c", "#e0d8c8"]), "grain")
    return Style(
        wall,
        (2.0, 1.2) if look == "brick" else (3.2, 3.2),
        kit.material("stone", kit.pick(["#a89e8c", "#8f8a80", "#b5a890", "#77726a"]), "grain"),
        trim if look != "clean" else kit.material("plain", frame),
        panes,
        (kit.uniform(1.0, 1.2), kit.uniform(1.55, 1.9)),
        shutter,
        kit.pick(["frame", "lintel", "sill"]) if look != "clean" else "sill",
        kit.pick(["none", "none", "middle", "middle", "all"]),
        kit.material("enamel", kit.pick(["#24292c", "#2f3a34", "#5a6068", "#e4e2da"])),
        kit.material("plain", tone),
        displays,
        kit.material("rooftiles", kit.pick(["#a4533a", "#8a4a38", "#5a5f66", "#6b4a3a"])),
        kit.material("plain", frame),
        kit.material("doorleaf", kit.pick(["#3f5a44", "#7a2f35", "#2f4f7a", "#5a3a28"]), "panels"),
    )

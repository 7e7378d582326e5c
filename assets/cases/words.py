"""Words on scenes and cases: what a scene is called, its prompt, and kinds of things."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from worldenv.worlds.reference.scene import Scene, View

HAPPENS = {
    "ball_rolls_off": "The ball rolls across the floor and slowly comes to rest.",
    "door_opens": "The door slowly swings open.",
    "ice_melts": "The block of ice melts down to a small lump in a pool of water.",
    "tank_fills": "Water runs from the tap until the tank is full.",
    "flower_grows": "The flower in the pot grows to its full height.",
    "lamp_brightens": "In the evening the lamp is slowly turned up and lights the room.",
    "person_walks": "The person walks away and stands still further off.",
}
WALLS = {
    "brick": "brick",
    "plaster": "plastered",
    "wallpaper": "papered",
    "panelling": "panelled",
    "concrete": "concrete",
}
FLOORS = {"planks": "plank", "parquet": "parquet", "tiles": "tiled", "concrete": "concrete"}
STONE = ("tiles", "concrete")
PARKS = {
    "formal": "A formal garden",
    "meadow": "A park with a wide meadow",
    "playground": "A park with a playground",
    "avenue": "A park avenue",
}
SKIES = {
    "clear": "under a clear sky",
    "fair": "under fair-weather clouds",
    "golden": "in golden light",
    "bright": "under a bright overcast sky",
}
NOUNS = {
    "seating": "chair armchair sofa bench stool couch bed pew settle",
    "tables": "table desk counter workbench stand trestle bar",
    "storage": "cabinet bookshelf shelf rack locker wardrobe crate barrel box chest drum bin pallet"
    " basket refrigerator bag sack case trunk bucket can container hydrant bollard dumpster",
    "devices": "lamp television monitor clock piano radiator machine drill lathe press saw fan"
    " heater computer phone light vise engine compressor generator meter extinguisher camera",
    "plants": "plant tree bush hedge bed flower planter palm shrub vine",
    "vehicles and play": "bicycle car van bus truck lorry scooter motorcycle cart forklift trolley"
    " wagon ball slide swing pit pram wheelbarrow taxi jack ladder seesaw carousel",
}
KINDS = (*NOUNS, "ornaments and fixtures")
"""The seven kinds of object cases; the last takes in whatever the others do not name."""


def kind_of(noun: str) -> str:
    """Return the kind of an object by its category, e.g. ``picnic table`` -> ``tables``."""
    known = {"flower bed": "plants", "phone box": "devices", "letter box": KINDS[-1]}
    if noun in known:
        return known[noun]
    last = noun.split()[-1]
    return next((kind for kind, words in NOUNS.items() if last in words.split()), KINDS[-1])


def setting_of(scene: Scene, view: View) -> tuple[str, str]:
    """Return words that name a scene as seen from a view, and what sort of its family it is."""
    family = scene.tags["family"]
    kind = scene.tags.get("kind", "")
    if family == "interior":
        floor = scene.instance("floor").mesh.materials[0].texture.split("/")[0]
        sort = "stone floor" if floor in STONE else f"{FLOORS[floor]} floor"
        return (
            f"A furnished room with a {FLOORS[floor]} floor and a {_wall(scene, view)} wall",
            sort,
        )
    if family == "park":
        mood = scene.tags["weather"].split(",")[0]
        return f"{PARKS[kind]} in {scene.tags['season']} {SKIES[mood]}", kind
    if family in ("abstract", "plain"):
        return "A bare hall of coloured solids", ""
    words = kind.replace("_", " ") or family
    text = f"{'An' if words[0] in 'aeiou' else 'A'} {words}"
    season, mood = scene.tags.get("season"), scene.tags.get("weather", "").split(",")[0]
    text += " in a town" if family == "street" else ""
    text += f" in {season}" if season else ""
    text += f" {SKIES[mood]}" if mood in SKIES else ""
    return text, kind


def _wall(scene: Scene, view: View) -> str:
    forward = view.pose[:3, 2]
    walls = {"wall-north": (0, -1), "wall-south": (0, 1), "wall-east": (1, 0), "wall-west": (-1, 0)}
    ahead = max(walls, key=lambda n: walls[n][0] * forward[0] + walls[n][1] * forward[2])
    return WALLS[scene.instance(ahead).mesh.materials[0].texture.split("/")[0]]


def listed(nouns: Sequence[str]) -> str:
    """Return nouns as a list in words, e.g. ``two people and a chair``."""
    counts: dict[str, int] = {}
    for noun in nouns:
        counts[noun] = counts.get(noun, 0) + 1
    words = [
        noun
        if noun.endswith("s") and not noun.endswith("ss")
        else f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
        if n == 1
        else f"{ {2: 'two', 3: 'three'}.get(n, 'several') } {_plural(noun)}"
        for noun, n in counts.items()
    ]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def _plural(noun: str) -> str:
    known = {"person": "people"}
    if noun in known:
        return known[noun]
    if noun.endswith(("shelf",)):
        return noun[:-1] + "ves"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def describe(setting: str, nouns: Sequence[str], event: str | None = None) -> str:
    """Return a sentence about a view."""
    text = f"{setting}, with {listed(nouns)} in view."
    if event is None:
        return text
    return f"{text} {HAPPENS[event]}"


PASSED = {
    "balloon": "A balloon drifts past close to the camera",
    "box": "A large box is moved past close to the camera",
    "ball": "A big ball bounces past close to the camera",
}
"""Kind of ``passing.PASSERS`` -> what is said of it."""


def continued(setting: str, nouns: Sequence[str], seed: int) -> tuple[tuple[str, ...], str]:
    """Return five prompts and what passes in the fourth.

    The prompts: the scene, another part of it, nearer, behind what passes, and again.
    """
    rng = np.random.default_rng([seed, len(nouns)])
    passer = list(PASSED)[int(rng.integers(len(PASSED)))]
    one = nouns[0]
    place = setting[0].lower() + setting[1:]
    part = ("another part of the place", "what stands further to the left", "the left-hand side")
    near = ("fills more of the view", "is seen in more detail", "comes nearer")
    again = (
        "just as it was at the start",
        "unchanged and in its place",
        "where it has always been",
    )
    pick = [int(i) for i in rng.integers(3, size=3)]
    prompts = (
        describe(setting, nouns),
        f"It is still {place}; {part[pick[0]]} comes into view while the {one} slides out of it.",
        f"The same place, nothing has been moved; what lies ahead {near[pick[1]]}.",
        f"{PASSED[passer]}; behind it everything stays as it was.",
        f"The {one} is {again[pick[2]]}.",
    )
    return prompts, passer

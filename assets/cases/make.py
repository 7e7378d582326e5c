"""Making the suites out of looks: which offers there are of each kind, and cases as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cases.choosing import Offer, Uses, choose, interleaved
from cases.survey import R2M, Look, Seen
from cases.words import KINDS, continued, describe, kind_of
from worldenv.policies.mbench import CAMERA_PHRASES, continuation
from worldenv.worlds.reference.cases import VERSION
from worldenv.worlds.reference.questions import QUESTIONS

ROTATIONS = ("worldmembench:lrlr", "worldmembench:lrlrlr", "worldmembench:lrud")
SQUARE_WALK = "worldmembench:square"
K = ((969.77, 0.0, 960.0), (0.0, 969.77, 540.0), (0.0, 0.0, 1.0))
PARTITION = {"indoor": 24, "urban": 44, "natural": 28, "abstract": 4}
PLACES = {
    "interior": "indoor",
    "workshop": "indoor",
    "street": "urban",
    "park": "natural",
    "plain": "abstract",
    "abstract": "abstract",
}
SORTS = {
    "interior": {
        "plank floor": "wooden floor",
        "parquet floor": "wooden floor",
        "stone floor": "stone floor",
    },
    "street": {
        "avenue": "avenue or lane",
        "lane": "avenue or lane",
        "market": "market or courtyard",
        "courtyard": "market or courtyard",
    },
    "park": {
        "formal": "formal garden or avenue",
        "avenue": "formal garden or avenue",
        "meadow": "meadow or playground",
        "playground": "meadow or playground",
    },
}
"""Family -> sort of its scenes -> kind of environment; a workshop is a kind of its own."""
RICH, RICH_VIEWS = 10, 87
"""How many things make a view rich in objects, and how many views of R2M are."""
DYNAMIC = 60
SQUARES = 85
PINNED = {
    "worldmembench/human/001": ("interior", 2, "person-3"),
    "worldmembench/object/001": ("interior", 1, "sofa-1"),
    "worldmembench/environment/003": ("interior", 2, "open"),
    "worldmembench/dynamic/001": ("interior", 2, "open"),
    "mbench/human/001": ("interior", 2, "person-3"),
    "mbench/object/006": ("interior", 2, "bookshelf-1"),
}
"""Case -> scene, seed and view that it keeps when cases are drawn anew: those of the quick run of
WorldMemBench and MBench, which pictures and figures in the documents come from."""
QUICK = (
    "worldmembench/human/001@worldmembench:lrlr",
    "worldmembench/object/001@worldmembench:lrlr",
    "worldmembench/environment/003@worldmembench:lrlrlr",
    "worldmembench/object/001@worldmembench:lrud",
    "worldmembench/dynamic/001@worldmembench:dynamic",
    "mbench/human/001@mbench:exit_reenter(motion=yaw)",
    "mbench/object/006@mbench:exit_reenter(motion=strafe)",
    "r2m/indoor/001@r2m:out_and_back",
    "r2m/indoor/001@r2m:translation_rotation",
    "r2m/indoor/001@r2m:closed_loop",
)
Row = dict[str, Any]


def place_of(family: str) -> str:
    """Return which part of R2M's partition a family belongs to; unknown ones are indoor."""
    return PLACES.get(family, "indoor")


def _size(targets: Sequence[Seen]) -> float:
    """Return 0 to 1 for how well the targets fill the view: not too small, not too large."""
    share = sum(min(t.share, 0.15) for t in targets[:3])
    return min(share, 0.15) / 0.15


def _away(look: Look) -> tuple[Seen, ...]:
    return tuple(s for s in look.seen if {"left", "up"} <= set(s.leaves))


def _walks(offer: Offer) -> bool:
    return SQUARE_WALK in offer.look.scripts


def offers_of(looks: Iterable[Look]) -> dict[str, list[Offer]]:
    """Return the offers of each kind of WorldMemBench's static cases."""
    pools: dict[str, list[Offer]] = {}

    def offer(kind: str, look: Look, targets: tuple[Seen, ...], score: float, noun: str) -> None:
        pools.setdefault(kind, []).append(Offer(look, targets, score, noun))

    for look in looks:
        away = _away(look)
        people = tuple(s for s in away if s.noun == "person")
        others = tuple(s for s in away if s.noun not in ("person", "window"))
        if len(people) == 1 and 0.02 < people[0].share < 0.35:
            offer("single person", look, people, _size(people), "")
        if len(people) >= 2:
            offer("several people", look, people[:3], _size(people), str(len(people[:3])))
        if others and not people and 0.02 < others[0].share < 0.35:
            for kind in KINDS:
                first = [s for s in others if kind_of(s.noun) == kind]
                if first and first[0].share > 0.015:
                    chosen = (first[0], *(s for s in others if s is not first[0]))[:3]
                    offer(kind, look, chosen, _size(chosen[:1]), first[0].noun)
        if len(away) >= 2:
            # A view that was not sought for one thing's sake shows more of the setting.
            nouns = len({s.noun for s in away})
            score = 0.4 * _size(away) + 0.1 * min(nouns, 4)
            score += 0.3 * (look.view not in {s.name for s in look.seen})
            score -= 0.4 * (away[0].noun == "person" and away[0].name == look.view)
            offer(environment_of(look), look, away[:3], score, away[0].noun)
    return pools


def environment_of(look: Look) -> str:
    """Return the kind of environment of a look, one of seven over the four families."""
    sorts = SORTS.get(look.family)
    return look.family if sorts is None else f"{look.family}: {sorts[look.sort]}"


def put_pinned(kind: str, listed: list[tuple[str, Offer]], name: str | None = None) -> None:
    """Swap the pinned cases of ``suite/category`` to their numbers, only of a name where given."""
    for case, key in PINNED.items():
        category, _, number = case.rpartition("/")
        if category != kind:
            continue
        found = (k for k, (n, o) in enumerate(listed) if o.look.key == key and name in (None, n))
        at, wanted = next(found, None), int(number) - 1
        if at is None:
            print(f"pinned case {case} no longer passes the checks", flush=True)
        else:
            listed[wanted], listed[at] = listed[at], listed[wanted]


def row(case: str, category: str, kind: str, offer: Offer, scripts: Sequence[str]) -> Row:
    """Return a case as plain data."""
    look = offer.look
    nouns = [t.noun for t in offer.targets]
    data: Row = {
        "id": case,
        "category": category,
        "kind": kind,
        "scene": [look.family, look.seed, look.view, look.event],
        "prompt": describe(look.setting, nouns, look.event),
        "targets": [[t.name, t.noun, t.instance] for t in offer.targets],
        "scripts": list(scripts),
    }
    if offer.distance:
        data["options"] = {"distance": offer.distance}
    if look.event is not None:
        data["event"] = [look.event, offer.targets[0].instance, _letters(look.answers)]
    return data


def numbered(
    suite: str, category: str, groups: dict[str, list[Offer]], scripts: Sequence[str]
) -> list[Row]:
    """Return the cases of a category, its kinds in turn, with pinned ones at their numbers."""
    names = list(groups)
    order = [(names[n], None) for n in interleaved(list(groups.values()))]
    left = {name: list(offers) for name, offers in groups.items()}
    listed: list[tuple[str, Offer]] = [(name, left[name].pop(0)) for name, _ in order]
    put_pinned(f"{suite}/{category}", listed)
    return [
        row(f"{suite}/{category}/{k:03d}", category, name, offer, scripts)
        for k, (name, offer) in enumerate(listed, start=1)
    ]


def merged(parts: Sequence[list[Row]]) -> list[Row]:
    """Return cases of several categories in turn, so that the first few are of every category."""
    left = [list(part) for part in parts]
    places = [((k + 0.5) / len(p), n) for n, p in enumerate(parts) for k in range(len(p))]
    return [left[n].pop(0) for _, n in sorted(places)]


def taken(
    kind: str, category: str, offers: list[Offer], count: int, uses: Uses, **how: Any
) -> list[Offer]:
    """Return the chosen offers of a kind, with those that are pinned first.

    Raises:
        SystemExit: there are too few.
    """
    first = [o for o in pinned_in(category, offers) if uses.views[o.look.key] < 3]
    rest = [o for o in offers if not any(o is p for p in first)]
    chosen = choose(rest, count, uses, pinned=first, **how)
    if len(chosen) < count:
        raise SystemExit(f"only {len(chosen)} of {count} {category} {kind} cases; add seeds")
    return chosen


def pinned_in(kind: str, offers: Iterable[Offer]) -> list[Offer]:
    """Return the offers that are pinned in ``suite/category``."""
    wanted = [key for case, key in PINNED.items() if case.rpartition("/")[0] == kind]
    return [o for o in offers if o.look.key in wanted]


def worldmembench(looks: Sequence[Look], events: dict[str, list[Look]]) -> list[Row]:
    """Return the cases: 60 human, 70 object, 70 environment and 60 dynamic, 85 with a square."""
    pools = offers_of(k for k in looks if place_of(k.family) != "abstract")
    uses = Uses()
    name = "worldmembench"

    def draw(category: str, kinds: Sequence[str], count: int, squares: int) -> list[Row]:
        groups = {
            kind: taken(
                kind,
                f"{name}/{category}",
                pools.get(kind, []),
                count,
                uses,
                prefer=_walks,
                preferred=squares,
            )
            for kind in kinds
        }
        return numbered(name, category, groups, ROTATIONS)

    # Environments come first: their pools are the smallest.
    settings = sorted(set(pools) - {*KINDS, "single person", "several people"})
    if len(settings) != 7:
        raise SystemExit(f"{len(settings)} kinds of environments instead of 7: {settings}")
    places = draw("environment", settings, 10, 6)
    human = draw("human", ("single person", "several people"), 30, 12)
    things = draw("object", KINDS, 10, 4)
    dynamic = numbered(
        name,
        "dynamic",
        {m: [Offer(k, k.seen, 1.0) for k in found] for m, found in events.items()},
        ["worldmembench:dynamic"],
    )
    rows = merged([human, things, places, dynamic])
    flag_squares([r for r in rows if r["category"] != "dynamic"], looks)
    return rows


def flag_squares(rows: Sequence[Row], looks: Sequence[Look]) -> None:
    """Flag 85 static cases whose views have room for the square, evenly spread."""
    room = {look.key for look in looks if SQUARE_WALK in look.scripts}
    able = [r for r in rows if tuple(r["scene"][:3]) in room]
    if len(able) < SQUARES:
        raise SystemExit(f"only {len(able)} of {SQUARES} static cases have room for the square")
    for k in range(SQUARES):
        able[k * len(able) // SQUARES]["square"] = True


def mbench(looks: Sequence[Look], events: dict[str, list[Look]]) -> list[Row]:
    """Return the cases: exits by yaw (10 with an event), strafe and dolly, then continuations."""
    uses = Uses()
    pools: dict[str, list[Offer]] = {}
    for look in looks:
        if place_of(look.family) == "abstract":
            continue
        usable = tuple(s for s in look.seen if s.noun != "window")
        right = tuple(s for s in usable if "right" in s.leaves)[:2]
        if right:
            pools.setdefault("yaw", []).append(
                Offer(look, right, _size(right), right[0].noun, motion="yaw")
            )
        for motion, (distance, names) in look.leaving.items():
            left = tuple(s for s in usable if s.name in names)[:2]
            if left:
                pools.setdefault(motion, []).append(
                    Offer(look, left, _size(left), left[0].noun, distance, motion)
                )
        if look.drifts and usable:
            score = 0.6 * _size(usable) + 0.1 * min(len(usable), 4)
            pools.setdefault("continuation", []).append(
                Offer(look, usable[:3], score, usable[0].noun)
            )
    changing = [
        Offer(found[k], found[k].seen, 1.0, motion="yaw")
        for k in range(4)
        for found in events.values()
        if len(found) > k and "right" in found[k].seen[0].leaves
    ][:10]
    if len(changing) < 10:
        raise SystemExit(f"only {len(changing)} of 10 exits with an event; add seeds")
    script = "mbench:exit_reenter(motion={})"
    exits: dict[str, list[tuple[str, Offer]]] = {"human": [], "object": []}
    pinned_exits = {"yaw": "human", "strafe": "object"}
    for motion, count in (("yaw", 20 - len(changing)), ("strafe", 20), ("dolly", 20)):
        category = pinned_exits.get(motion, motion)
        found = taken(
            motion,
            f"mbench/{category}",
            pools[motion],
            count,
            uses,
            prefer=_human,
            preferred=count // 3,
        )
        for offer in found:
            exits["human" if _human(offer) else "object"].append((motion, offer))
    rows = []
    for motion, category in pinned_exits.items():
        put_pinned(f"mbench/{category}", exits[category], motion)
    for category, listed in exits.items():
        rows.append(
            [
                row(f"mbench/{category}/{k:03d}", category, motion, offer, [script.format(motion)])
                for k, (motion, offer) in enumerate(listed, start=1)
            ]
        )
    rows.append(
        [
            row(
                f"mbench/event/{k:03d}",
                "event",
                offer.look.mechanism,
                offer,
                [script.format("yaw")],
            )
            for k, offer in enumerate(changing, start=1)
        ]
    )
    drawn = choose(pools["continuation"], 40, uses, most_views=2, prefer=_human, preferred=13)
    if len(drawn) < 40:
        raise SystemExit(f"only {len(drawn)} of 40 continuations; add seeds")
    texts = []
    for k, offer in enumerate(drawn, start=1):
        data = row(
            f"mbench/continuation/{k:03d}",
            "continuation",
            "person" if _human(offer) else "object",
            offer,
            ["mbench:continuation"],
        )
        nouns = [t.noun for t in offer.targets]
        prompts, passer = continued(offer.look.setting, nouns, offer.look.seed)
        data["prompts"] = list(prompts)
        data["passing"] = [passer, *occluded()]
        texts.append(data)
    return merged(rows) + texts


def occluded() -> tuple[float, float, float, float, float]:
    """Return start, seconds, right, forward and yaw of the segment in which something passes."""
    script = continuation()
    kind = list(CAMERA_PHRASES).index("dynamic occlusion")
    path = script.path()
    pose = path.poses[round(kind * script.seconds * path.fps)]
    yaw = np.degrees(np.arctan2(pose[0, 2], pose[2, 2]))
    place = (float(round(v, 6)) for v in (pose[0, 3], pose[2, 3], yaw))
    return (kind * script.seconds, script.seconds, *place)


def _human(offer: Offer) -> bool:
    return any(t.noun == "person" for t in offer.targets)


def r2m_offers(looks: Sequence[Look]) -> dict[str, list[Offer]]:
    """Return the offers of each part of R2M's partition: views with room for its three scripts."""
    pools: dict[str, list[Offer]] = {place: [] for place in PARTITION}
    for look in looks:
        wide = tuple(s for s in look.seen if s.wide)[:3]
        if wide and set(R2M) <= set(look.scripts):
            score = 0.5 * _size(wide) + 0.04 * min(look.things, 10)
            pools[place_of(look.family)].append(Offer(look, wide, score, wide[0].noun))
    return pools


def r2m(looks: Sequence[Look]) -> list[Row]:
    """Return the cases: 100 views in the paper's partition as far as there are such scenes."""
    pools = r2m_offers(looks)
    uses = Uses()
    counts = dict(PARTITION)
    # What no family can show yet goes to the others, under their own names.
    short = 0
    for place in counts:
        have = len({o.look.key for o in pools[place]})
        short += max(0, counts[place] - have)
        counts[place] = min(counts[place], have)
    while short:
        room = {p: len({o.look.key for o in pools[p]}) - counts[p] for p in counts}
        most = max(room, key=lambda p: room[p])
        if room[most] <= 0:
            raise SystemExit(f"{short} of 100 views of r2m are missing; add seeds")
        counts[most] += 1
        short -= 1
    left = 100 - RICH_VIEWS
    parts = []
    # Parts with the fewest views come first: what they lack of poor ones, the larger ones give.
    for place, count in sorted(counts.items(), key=lambda c: c[1]):
        if not count:
            continue
        poor = [o for o in pools[place] if o.look.things < RICH]
        rich = [o for o in pools[place] if o.look.things >= RICH]
        first = pinned_in(f"r2m/{place}", pools[place])
        sparse = min(left, len(poor), max(count - len(rich), round(count * 0.2)))
        found = [*first, *choose([o for o in poor if o not in first], sparse, uses, most_people=9)]
        rest = [o for o in rich if o not in first]
        found += choose(rest, count - len(found), uses, most_people=9)
        rest = [o for o in poor if o not in found]
        found += choose(rest, count - len(found), uses, most_people=9)
        if len(found) < count:
            raise SystemExit(f"only {len(found)} of {count} {place} views of r2m; add seeds")
        left -= sum(o.look.things < RICH for o in found)
        rows = numbered("r2m", place, {"": found}, R2M)
        things = {o.look.key: o.look.things for o in found}
        for data in rows:
            many = things[tuple(data["scene"][:3])] >= RICH
            data["kind"] = "rich in objects" if many else "few objects"
        parts.append(rows)
    return merged(parts)


def stored(looks: Sequence[Look], events: dict[str, list[Look]]) -> dict[str, Any]:
    """Return all suites as plain data, what cases share written once."""
    suites = {
        "worldmembench": {"cases": worldmembench(looks, events)},
        "mbench": {"cases": mbench(looks, events)},
        "r2m": {"common": {"K": K, "size": (1920, 1080)}, "cases": r2m(looks)},
    }
    named = {look.event: look.mechanism for found in events.values() for look in found}
    asked = {
        str(event): {"mechanism": mechanism, "questions": _texts(str(event))}
        for event, mechanism in sorted(named.items(), key=lambda e: str(e[0]))
    }
    return {"version": VERSION, "events": asked, "suites": suites, "quick": list(QUICK)}


def _texts(event: str) -> list[str]:
    return [q.text for q in QUESTIONS[event]]


def asked_anew(
    data: dict[str, Any], replies: Mapping[tuple[str, str], Sequence[bool]]
) -> dict[str, Any]:
    """Return stored suites with today's questions and their answers, the cases as they are.

    Args:
        data: As ``stored`` returns it.
        replies: (family, event) -> reference answers.
    """
    events = {
        event: {**about, "questions": _texts(event)} for event, about in data["events"].items()
    }
    suites = {}
    for name, suite in data["suites"].items():
        rows = []
        for case in suite["cases"]:
            family, _, _, event = case["scene"]
            if event is not None:
                named, instance, _ = case["event"]
                answers = _letters(replies[family, event])
                case = {**case, "event": [named, instance, answers]}
            rows.append(case)
        suites[name] = {**suite, "cases": rows}
    return {**data, "events": events, "suites": suites}


def _letters(answers: Iterable[bool]) -> str:
    return "".join("yn"[not a] for a in answers)


def summary(data: dict[str, Any]) -> str:
    """Return the counts of what was made, as text."""
    lines = []
    for name, suite in data["suites"].items():
        rows = suite["cases"]
        lines.append(f"{name}: {len(rows)} cases, {sum(len(r['scripts']) for r in rows)} items")
        for what in ("category", "kind"):
            lines.append(f"  {what}: {dict(Counter(r[what] for r in rows))}")
        lines.append(f"  families: {dict(Counter(r['scene'][0] for r in rows))}")
        lines.append(f"  squares: {sum('square' in r for r in rows)}")
        views = Counter(tuple(r["scene"][:3]) for r in rows)
        lines.append(
            f"  scenes: {len({k[:2] for k in views})}, most of a view: {max(views.values())}"
        )
    return "\n".join(lines)

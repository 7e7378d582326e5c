"""Choosing among looks: a greedy draw that spreads over families, scenes, views and nouns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from cases.survey import Look, Seen


@dataclass(frozen=True)
class Offer:
    """A look as a case of some kind.

    Attributes:
        look: Where.
        targets: What must still be there.
        score: How well it suits, 0 to about 1.
        noun: What it is mainly of.
        distance: Metres of a strafe or dolly, 0 for others.
        motion: Of an exit, empty for others.
    """

    look: Look
    targets: tuple[Seen, ...]
    score: float
    noun: str = ""
    distance: float = 0.0
    motion: str = ""


@dataclass
class Uses:
    """How often scenes, views and people were chosen so far, over all suites or within one."""

    scenes: Counter[tuple[str, int]] = field(default_factory=Counter)
    views: Counter[tuple[str, int, str]] = field(default_factory=Counter)
    people: Counter[tuple[str, int, str]] = field(default_factory=Counter)

    def add(self, offer: Offer) -> None:
        """Count an offer that was chosen."""
        look = offer.look
        self.scenes[look.family, look.seed] += 1
        self.views[look.key] += 1
        for target in offer.targets:
            if target.noun == "person":
                self.people[look.family, look.seed, target.name] += 1


def choose(
    offers: Iterable[Offer],
    count: int,
    uses: Uses,
    *,
    pinned: Sequence[Offer] = (),
    most_views: int = 1,
    most_people: int = 2,
    prefer: Callable[[Offer], bool] | None = None,
    preferred: int = 0,
) -> list[Offer]:
    """Return up to ``count`` offers, best first, each draw making the alike less welcome.

    Args:
        offers: What there is.
        count: How many are wanted.
        uses: What was chosen before; what is chosen here is added.
        pinned: Offers that are taken first.
        most_views: How often a view may be used in all of ``uses``.
        most_people: How often a person may be used in all of ``uses``.
        prefer: Of which offers ``preferred`` ones should be among the chosen.
        preferred: How many.
    """
    chosen: list[Offer] = []
    families: Counter[str] = Counter()
    nouns: Counter[str] = Counter()
    rest = sorted(offers, key=lambda o: (-o.score, o.look.key, o.motion))

    def take(offer: Offer) -> None:
        chosen.append(offer)
        uses.add(offer)
        families[offer.look.family] += 1
        nouns[offer.noun] += 1

    def allowed(offer: Offer) -> bool:
        look = offer.look
        people = [t.name for t in offer.targets if t.noun == "person"]
        return uses.views[look.key] < most_views and all(
            uses.people[look.family, look.seed, n] < most_people for n in people
        )

    def worth(offer: Offer) -> float:
        look = offer.look
        return (
            offer.score
            - 0.35 * uses.scenes[look.family, look.seed]
            - 0.25 * nouns[offer.noun]
            - 0.12 * families[look.family]
            - 0.2 * uses.views[look.key]
            - 0.3 * sum(uses.people[look.family, look.seed, t.name] for t in offer.targets)
        )

    for offer in pinned[:count]:
        take(offer)
    while len(chosen) < count:
        wanted = [o for o in rest if allowed(o)]
        missing = preferred - sum(map(prefer, chosen)) if prefer is not None else 0
        if missing > 0 and prefer is not None:
            wanted = [o for o in wanted if prefer(o)] or wanted
        if not wanted:
            break
        best = max(wanted, key=worth)
        rest = [o for o in rest if o is not best]
        take(best)
    return chosen


def interleaved(groups: Sequence[Sequence[Offer]]) -> list[int]:
    """Return the order of groups' members, one group after another in turn, as group numbers."""
    places = [((k + 0.5) / len(g), n) for n, g in enumerate(groups) for k in range(len(g))]
    return [n for _, n in sorted(places)]

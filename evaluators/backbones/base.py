"""What answers a role: the Backbone protocol, and pure functions of two answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from worldenv.evaluators.plan import Ask

Answer = Any


class Backbone(Protocol):
    """Answers the asks of one role.

    Attributes:
        name: E.g. ``sift-1024``.
        revision: Which version of it.
        checksum: SHA-256 of its weights, empty when it has none.
        batch: How many asks ``compute`` takes at once; the engine pads to it, so that a value
            never depends on how frames were chunked.
    """

    name: str
    revision: str
    checksum: str
    batch: int

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the asks whose answers ``compute`` will be given for ``ask``."""
        ...

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Answer]:
        """Return one answer an ask; ``inputs[k]`` answers ``needs(asks[k])`` in order."""
        ...


class Pairwise:
    """A pure function of one answer about each of two frames, asked as ``(i, j)``."""

    revision = "1"
    checksum = ""
    batch = 1

    def __init__(
        self,
        name: str,
        needs: Callable[[Ask, int], tuple[Ask, ...]],
        function: Callable[..., Answer],
    ) -> None:
        """Make it.

        Args:
            name: Name of the function.
            needs: (ask, frame) -> what is needed of that frame.
            function: Answers about the first frame, then about the second -> answer.
        """
        self.name = name
        self._needs = needs
        self._function = function

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return what is needed of the first frame, then of the second."""
        first, second = ask.frames
        return self._needs(ask, first) + self._needs(ask, second)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Answer]:
        """Apply the function to every pair."""
        return [self._function(*values) for values in inputs]


class OfPair:
    """A pure function of another role's answer about the same pair, asked as ``(i, j)``."""

    revision = "1"
    checksum = ""
    batch = 1

    def __init__(self, name: str, role: str, function: Callable[[Any], Answer]) -> None:
        """Make it.

        Args:
            name: Name of the function.
            role: The other role.
            function: Its answer -> answer.
        """
        self.name = name
        self._role = role
        self._function = function

    def needs(self, ask: Ask) -> tuple[Ask, ...]:
        """Return the other role's ask of the pair."""
        return (Ask(self._role, ask.frames, ask.subject),)

    def compute(self, asks: Sequence[Ask], inputs: Sequence[tuple[Any, ...]]) -> list[Answer]:
        """Apply the function to every answer."""
        return [self._function(value) for (value,) in inputs]

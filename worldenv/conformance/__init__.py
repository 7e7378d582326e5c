"""A conformance kit for worlds: does one keep the contract, and does it do what its spec says?

``worldenv check-world`` runs it, and ``WorldContract`` makes a test class of it::

    class TestMyWorld(WorldContract):
        def make_world(self):
            return MyWorld(weights="...")
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from worldenv.case import Case
from worldenv.conformance.checks import CHECKS
from worldenv.conformance.subject import Finding, Problem, Subject
from worldenv.world import WeightsNotFound, World, WorldEnvError

__all__ = ["CHECKS", "Finding", "Subject", "WorldContract", "examine_world", "run_check"]


def run_check(name: str, subject: Subject) -> Finding:
    """Return what a check found; whatever the world raises is a problem, not an error.

    Raises:
        WeightsNotFound: the model is not there, so that nothing can be said of it.
    """
    try:
        return CHECKS[name](subject)
    except Problem as problem:
        return Finding(name, "problem", str(problem))
    except WeightsNotFound:
        raise
    except WorldEnvError as error:
        return Finding(name, "problem", f"{type(error).__name__}: {error}")
    except Exception as error:
        return Finding(
            name, "problem", f"the world raised {type(error).__name__}: {error}; expected no error"
        )


def examine_world(
    make: Callable[[], World], *, case: Case | None = None, frames: int = 16
) -> Iterator[Finding]:
    """Yield what each check finds in a world.

    Args:
        make: Makes the world.
        case: What episodes start from; None is the first built-in case.
        frames: New frames of a walk, at least.

    Raises:
        WorldEnvError: the world cannot be made, or its weights are absent.
    """
    subject = Subject(make, case=case, frames=frames)
    try:
        for name in CHECKS:
            yield run_check(name, subject)
    finally:
        subject.world.close()


class WorldContract:
    """A test class for pytest: a subclass gives ``make_world``, and gets a test per check.

    Attributes:
        frames: New frames of a walk, at least.
        case: What episodes start from; None is the first built-in case.
    """

    frames = 16
    case: Case | None = None

    def make_world(self) -> World:
        """Return the world under test."""
        raise AssertionError(f"{type(self).__name__} must define make_world")

    def _check(self, name: str) -> None:
        cls = type(self)
        if "_subject" not in cls.__dict__:
            cls._subject = Subject(  # type: ignore[attr-defined]
                self.make_world, case=self.case, frames=self.frames
            )
        found = run_check(name, cls._subject)  # type: ignore[attr-defined]
        assert found.state != "problem", found.note


def _test_of(name: str) -> Callable[[WorldContract], None]:
    def test(self: WorldContract) -> None:
        self._check(name)

    test.__name__ = f"test_{name}"
    test.__doc__ = CHECKS[name].__doc__
    return test


for _name in CHECKS:
    setattr(WorldContract, f"test_{_name}", _test_of(_name))

"""Eight yes-or-no questions on every event, two an aspect, and how its truth answers them.

Each question asks about one statement on the shown state; where ``denies``, its answer is yes when
the statement is false. One of the two of an aspect is such a denial, and which one differs from
event to event, so that nobody scores above chance by one list of answers for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["QUESTIONS", "Question", "answers_of"]

STARTED = "started"
WENT_ON = "went on while unseen"
FURTHER = "further at the end than when left"
FORWARD = "never went back"
NOT_RESET = "not reset on return"
FINAL = "reached its final state"
THERE = "the thing is there at the end"
SAME = "the thing stayed the same"
LAWFUL = "one event, never out of range"


class Question(NamedTuple):
    """A question to whoever watches an event.

    Attributes:
        text: What is asked.
        statement: Which statement about the shown state it asks for.
        denies: Whether yes means that the statement is false.
    """

    text: str
    statement: str
    denies: bool = False


def answers_of(event: str, statements: Mapping[str, bool]) -> tuple[bool, ...]:
    """Return the answers to an event's eight questions, given which statements hold."""
    return tuple(statements[q.statement] != q.denies for q in QUESTIONS[event])


QUESTIONS: dict[str, tuple[Question, ...]] = {
    "ball_rolls_off": (
        Question("Does the ball roll along the floor before the camera turns away?", STARTED),
        Question(
            "On return, does the ball lie where it was when the camera turned away?", WENT_ON, True
        ),
        Question("Is it still the same ball, with the same colours and size, on return?", SAME),
        Question(
            "Has the ball jumped back to the place where it lay at the start?", NOT_RESET, True
        ),
        Question("At the end, does the ball lie still on the floor?", FINAL),
        Question(
            "At the end, is the ball as close to its first place as when the camera turned away?",
            FURTHER,
            True,
        ),
        Question(
            "Does the ball turn as it rolls and slow down gradually, as if by friction?", FORWARD
        ),
        Question("Does the ball pass through furniture, or leave the floor?", LAWFUL, True),
    ),
    "door_opens": (
        Question("Does the door begin to swing open before the camera turns away?", STARTED),
        Question(
            "On return, does the door stand at the same angle as when the camera turned away?",
            WENT_ON,
            True,
        ),
        Question("On return, has the door another colour or other panels than before?", SAME, True),
        Question("On return, does the door still stand open?", NOT_RESET),
        Question("At the end, does the door stand wide open?", FINAL),
        Question(
            "At the end, is the hall behind the doorway wholly hidden by the door?", FURTHER, True
        ),
        Question("Does the door swing back towards its frame at any moment?", FORWARD, True),
        Question("Does the door stay on its hinges from start to end?", LAWFUL),
    ),
    "ice_melts": (
        Question(
            "Is the block of ice still at its full height when the camera turns away?",
            STARTED,
            True,
        ),
        Question("On return, is the block smaller than when the camera left it?", WENT_ON),
        Question("Does the ice stand on the same tray, in the same place, on return?", SAME),
        Question("Is the block as tall on return as it was at the start?", NOT_RESET, True),
        Question("At the end, is more than half of the block left?", FINAL, True),
        Question("At the end, is there a wider pool of water on the tray than before?", FURTHER),
        Question("Does the pool grow while the block shrinks, one at the cost of the other?", SAME),
        Question("Does the block grow again at any moment?", FORWARD, True),
    ),
    "tank_fills": (
        Question(
            "Is the water in the tank still at its first level when the camera turns away?",
            STARTED,
            True,
        ),
        Question("On return, is the water higher than when the camera left?", WENT_ON),
        Question("On return, has the tank another frame or another tap than before?", SAME, True),
        Question("On return, does the tank hold much more water than at the start?", NOT_RESET),
        Question("At the end, is the tank at most half full?", FINAL, True),
        Question("At the end, has the tap stopped running?", FINAL),
        Question("Does the water level fall at any moment?", FORWARD, True),
        Question("Does all the water stay inside the tank?", LAWFUL),
    ),
    "flower_grows": (
        Question("Does the flower get taller before the camera turns away?", STARTED),
        Question(
            "On return, is the flower still as small as when the camera turned away?", WENT_ON, True
        ),
        Question("Does a flower of the same colour grow in the same pot on return?", SAME),
        Question("Is the flower back to its first size on return?", NOT_RESET, True),
        Question("At the end, is the flower still less than twice its first height?", FINAL, True),
        Question("At the end, are there still a flower and its pot on the table?", THERE),
        Question("Does the flower shrink at any moment?", FORWARD, True),
        Question("Does the pot keep its size while the flower grows in it?", LAWFUL),
    ),
    "lamp_brightens": (
        Question(
            "Is the lamp in the foreground still as dim as at first when the camera turns away?",
            STARTED,
            True,
        ),
        Question("On return, is the room brighter than when the camera left?", WENT_ON),
        Question("On return, is it another lamp, or does it stand in another place?", SAME, True),
        Question("On return, is the lamp brighter than it was at the start?", NOT_RESET),
        Question("At the end, does the lamp shine brightly and steadily?", FINAL),
        Question(
            "At the end, is the floor around the lamp as dark as it was at the start?",
            FURTHER,
            True,
        ),
        Question("Does the light on the room come and grow together with the lamp's?", FORWARD),
        Question("Does the lamp flicker, or does something else begin to shine?", LAWFUL, True),
    ),
    "person_walks": (
        Question("Does someone start to walk before the camera turns away?", STARTED),
        Question(
            "On return, is the walker at the same place as when the camera turned away?",
            WENT_ON,
            True,
        ),
        Question(
            "On return, is the walker somebody else, or someone in other clothes?", SAME, True
        ),
        Question("On return, is the walker well away from where the walk began?", NOT_RESET),
        Question("At the end, is the walker still walking?", FINAL, True),
        Question("At the end, can the walker still be seen?", THERE),
        Question("Does the walker go step by step and always onwards?", FORWARD),
        Question("Does the walker pass through furniture, or glide over the floor?", LAWFUL, True),
    ),
}

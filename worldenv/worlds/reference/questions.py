"""Eight yes-or-no questions on every event, two an aspect, and how its truth answers them.

Each question asks about one statement on the shown state; where ``denies``, its answer is yes when
the statement is false. At least two of the eight expect a no, so that always saying yes is not
enough.
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
            "On return, has the ball rolled further than where it was when the camera left?",
            WENT_ON,
        ),
        Question("Is it still the same ball, with the same colours and size, on return?", SAME),
        Question(
            "Has the ball jumped back to the place where it lay at the start?", NOT_RESET, True
        ),
        Question("At the end, does the ball lie still on the floor?", FINAL),
        Question(
            "At the end, does the ball lie on the side of the view opposite to its start?", FURTHER
        ),
        Question(
            "Does the ball turn as it rolls and slow down gradually, as if by friction?", FORWARD
        ),
        Question("Does the ball pass through furniture, or leave the floor?", LAWFUL, True),
    ),
    "door_opens": (
        Question("Does the door begin to swing open before the camera turns away?", STARTED),
        Question("On return, is the door further open than when the camera left?", WENT_ON),
        Question("Is it still the same door, with the same colour and panels, on return?", SAME),
        Question("Is the door shut again on return, as at the start?", NOT_RESET, True),
        Question("At the end, does the door stand wide open?", FINAL),
        Question("At the end, can the hall behind the doorway be seen?", FURTHER),
        Question(
            "Does the door turn about its hinged edge, slowing down towards the end?", FORWARD
        ),
        Question("Does the door come off its hinges, or slide through the wall?", LAWFUL, True),
    ),
    "ice_melts": (
        Question("Does the block of ice get lower before the camera turns away?", STARTED),
        Question("On return, is the block smaller than when the camera left it?", WENT_ON),
        Question("Does the ice stand on the same tray, in the same place, on return?", SAME),
        Question("Is the block as tall on return as it was at the start?", NOT_RESET, True),
        Question("At the end, is only a small lump of the ice left?", FINAL),
        Question("At the end, is there a wider pool of water on the tray than before?", FURTHER),
        Question("Does the pool grow while the block shrinks, one at the cost of the other?", SAME),
        Question("Does the block grow again at any moment?", FORWARD, True),
    ),
    "tank_fills": (
        Question("Does the water in the tank rise before the camera turns away?", STARTED),
        Question("On return, is the water higher than when the camera left?", WENT_ON),
        Question("Is it still the same tank, with the same frame and tap, on return?", SAME),
        Question("Is the tank nearly empty again on return?", NOT_RESET, True),
        Question("At the end, is the tank filled to just below its rim?", FINAL),
        Question("At the end, has the tap stopped running?", FINAL),
        Question("Does the level only rise while water runs from the tap?", FORWARD),
        Question("Does water spill over the rim or leave the tank?", LAWFUL, True),
    ),
    "flower_grows": (
        Question("Does the flower get taller before the camera turns away?", STARTED),
        Question("On return, is the flower taller than when the camera left?", WENT_ON),
        Question("Does a flower of the same colour grow in the same pot on return?", SAME),
        Question("Is the flower back to its first size on return?", NOT_RESET, True),
        Question("At the end, does the flower rise well above the rim of its pot?", FINAL),
        Question("At the end, are there still a flower and its pot on the table?", THERE),
        Question("Do stem, leaves and petals grow together, all the time upwards?", FORWARD),
        Question("Does the pot grow with the flower, or do they come apart?", LAWFUL, True),
    ),
    "lamp_brightens": (
        Question("Does the lamp get brighter before the camera turns away?", STARTED),
        Question("On return, is the room brighter than when the camera left?", WENT_ON),
        Question("Is it still the same lamp, in the same place, on return?", SAME),
        Question("Is the lamp as dark on return as it was at the start?", NOT_RESET, True),
        Question("At the end, does the lamp shine at its full strength?", FINAL),
        Question("At the end, is the floor around the lamp lit more than at the start?", FURTHER),
        Question("Does the light on the room come and grow together with the lamp's?", FORWARD),
        Question("Does the lamp flicker, or does something else begin to shine?", LAWFUL, True),
    ),
    "person_walks": (
        Question("Does the person start to walk before the camera turns away?", STARTED),
        Question("On return, is the person further away than when the camera left?", WENT_ON),
        Question("Is it the same person in the same clothes on return?", SAME),
        Question("Is the person back where the walk began on return?", NOT_RESET, True),
        Question("At the end, does the person stand still?", FINAL),
        Question("At the end, is the person still in the room?", THERE),
        Question("Does the person walk step by step and always onwards?", FORWARD),
        Question("Does the person walk through furniture, or glide over the floor?", LAWFUL, True),
    ),
}

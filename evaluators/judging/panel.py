"""The judges together: every question to each, several times, answers kept, votes settled."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from worldenv.evaluators.judging.endpoint import NoReply, Request, endpoint, keep, kept
from worldenv.evaluators.judging.prompts import (
    PROMPTS_VERSION,
    ChecklistReply,
    PairReply,
    RatingReply,
    UnusableReply,
    labels,
    prompt,
    read_reply,
    schema,
)
from worldenv.evaluators.judging.questions import Pair, Question, Verdict
from worldenv.evaluators.judging.settings import JudgeSettings

Image = NDArray[np.uint8]

_HALF = 0.5


class Posed(NamedTuple):
    """A question about images.

    Attributes:
        question: What is asked.
        frames: Frame index of each image.
        images: Shape (height, width, 3) each.
    """

    question: Question
    frames: tuple[int, ...]
    images: tuple[Image, ...]


class Vote(NamedTuple):
    """One usable reply.

    Attributes:
        judge: Model that gave it.
        text: As it came.
        reply: Its strict form.
    """

    judge: str
    text: str
    reply: BaseModel


def answers_folder() -> Path:
    """Return where replies are kept, by content: below ``$WORLDENV_CACHE`` or the user's cache."""
    chosen = os.environ.get("WORLDENV_CACHE")
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    base = Path(chosen).expanduser() if chosen else Path(cache).expanduser() / "worldenv"
    return base / "judge"


class Panel:
    """Asks all judges.

    Attributes:
        sent: Requests that went out so far, each try counted.
    """

    def __init__(self, settings: JudgeSettings) -> None:
        self.settings = settings
        self._judges = [(judge, endpoint(judge, settings, self._spend)) for judge in settings.judge]
        self._lock = threading.Lock()
        self.sent = 0

    def decide(self, posed: Sequence[Posed]) -> list[Verdict | NoReply]:
        """Return what the judges settle on, or why they could not, for each question."""
        seats = [
            (index, judge, repeat)
            for index in range(len(posed))
            for judge in range(len(self._judges))
            for repeat in range(self.settings.repeats)
        ]
        encoded = [self._encode(p) for p in posed]
        with ThreadPoolExecutor(self.settings.concurrency) as pool:
            replies = list(
                pool.map(lambda s: self._vote(posed[s[0]], encoded[s[0]], *s[1:]), seats)
            )
        out: list[Verdict | NoReply] = []
        share = len(self._judges) * self.settings.repeats
        for index in range(len(posed)):
            own = replies[index * share : (index + 1) * share]
            votes = [reply for reply in own if isinstance(reply, Vote)]
            missing = [reply for reply in own if isinstance(reply, NoReply)]
            # Half of a panel is no panel.
            if 2 * len(votes) <= share:
                out.append(missing[0])
            else:
                out.append(settle(posed[index].question, votes, share))
        return out

    def reply(self, posed: Posed) -> BaseModel | NoReply:
        """Return the first judge's reply to one question, unsettled."""
        vote = self._vote(posed, self._encode(posed), 0, 0)
        return vote.reply if isinstance(vote, Vote) else vote

    def _encode(self, posed: Posed) -> tuple[bytes, ...]:
        pair = isinstance(posed.question, Pair)
        side = self.settings.pair_side if pair else self.settings.frame_side
        return tuple(encode(image, side, lossless=pair) for image in posed.images)

    def _vote(
        self, posed: Posed, images: tuple[bytes, ...], judge: int, repeat: int
    ) -> Vote | NoReply:
        about, where = self._judges[judge]
        text = prompt(posed.question)
        reason = ""
        for again in (False, True):
            if again:
                text += (
                    f"\n\nAn earlier reply could not be read ({reason}). Reply with the JSON alone."
                )
            request = self._request(judge, posed, text, images, repeat)
            reply = kept(answers_folder(), request.key) if self.settings.cache else None
            try:
                if reply is None:
                    reply = where.ask(request)
                vote = Vote(about.model, reply, read_reply(posed.question, reply))
            except NoReply as error:
                return error
            except UnusableReply as error:
                reason = str(error)
                if about.is_files:
                    # Whoever answers by hand is told, not asked again under another name.
                    return NoReply(f"the answer {request.key}.txt cannot be used: {reason}")
                continue
            if self.settings.cache:
                keep(answers_folder(), request.key, reply)
            return vote
        return NoReply(f"{about.model} gave no usable reply: {reason}")

    def _spend(self) -> None:
        with self._lock:
            if self.sent >= self.settings.budget:
                raise NoReply(
                    f"the budget of {self.settings.budget} requests is spent", waiting=True
                )
            self.sent += 1

    def _request(
        self, index: int, posed: Posed, text: str, images: tuple[bytes, ...], repeat: int
    ) -> Request:
        judge = self._judges[index][0]
        # A server may move; two judges of one model are two.
        twin = sum(other.model == judge.model for other, _ in self._judges[:index])
        announced = tuple(labels(posed.question, posed.frames))
        digest = hashlib.sha256()
        head = (
            judge.model,
            twin,
            PROMPTS_VERSION,
            text,
            self.settings.temperature,
            repeat,
            announced,
        )
        digest.update(repr((*head, self.settings.max_tokens)).encode())
        for image in images:
            digest.update(hashlib.sha256(image).digest())
        return Request(
            digest.hexdigest(),
            posed.question.kind,
            text,
            announced,
            images,
            schema(posed.question),
            repeat,
        )


def encode(image: Image, side: int, *, lossless: bool) -> bytes:
    """Return an image as PNG or JPEG, its longer side at most ``side`` pixels."""
    height, width = image.shape[:2]
    scale = side / max(height, width)
    if scale < 1:
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        image = np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA), np.uint8)
    picture = np.ascontiguousarray(image[..., ::-1])
    if lossless:
        done, data = cv2.imencode(".png", picture)
    else:
        done, data = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 92])
    assert done
    return bytes(data)


def settle(question: Question, votes: Sequence[Vote], asked: int) -> Verdict:
    """Return the median of scores, or the majority of each yes or no; a tie goes to the first vote.

    Args:
        question: What was asked.
        votes: Usable replies, in order of judges and repeats, at least one.
        asked: Replies asked for.
    """
    raw = tuple({"judge": vote.judge, "text": vote.text} for vote in votes)
    about = {"votes": len(votes), "asked": asked, "replies": raw}
    scores = [v.reply.score for v in votes if isinstance(v.reply, PairReply | RatingReply)]
    if scores:
        middle = float(np.median(scores))
        agreement = float(np.mean([abs(score - middle) <= _HALF for score in scores]))
        return Verdict(score=middle, agreement=agreement, **about)  # type: ignore[arg-type]
    lists = [v.reply for v in votes if isinstance(v.reply, ChecklistReply)]
    if not lists:
        raise TypeError(f"a {question.kind} has nothing to settle")
    columns = [
        [reply.event_starts for reply in lists],
        *([reply.answers[k] == "yes" for reply in lists] for k in range(8)),
    ]
    settled = [_majority(column) for column in columns]
    agree = [
        np.mean([vote == chosen for vote in column])
        for column, chosen in zip(columns, settled, strict=True)
    ]
    return Verdict(
        started=settled[0],
        answers=tuple(settled[1:]),
        progress=float(np.median([reply.progress for reply in lists])) / 100,
        agreement=float(np.mean(agree)),
        **about,  # type: ignore[arg-type]
    )


def _majority(votes: Sequence[bool]) -> bool:
    yes = sum(votes)
    return votes[0] if 2 * yes == len(votes) else 2 * yes > len(votes)

"""Asking a judge: over HTTP in the OpenAI form, or through files that somebody else answers."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import random
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from worldenv.evaluators.judging.settings import Judge, JudgeSettings

MAX_REPLY = 2**20
_LONGEST_WAIT = 60.0


class NoReply(Exception):
    """The judge gave no reply; the message says why, in one line.

    Attributes:
        waiting: Whether the reply may still come, as from a folder of files.
    """

    def __init__(self, message: str, waiting: bool = False) -> None:
        super().__init__(message)
        self.waiting = waiting


@dataclass(frozen=True)
class Request:
    """One question, ready to be sent.

    Attributes:
        key: SHA-256 of everything below, the model and the repeat.
        kind: Name of the prompt.
        prompt: The text.
        labels: What announces each image.
        images: The images, as JPEG or PNG.
        schema: JSON schema of the reply.
        seed: Number of the repeat.
    """

    key: str
    kind: str
    prompt: str
    labels: tuple[str, ...]
    images: tuple[bytes, ...]
    schema: dict[str, Any]
    seed: int


class Endpoint(Protocol):
    """Where a judge is asked."""

    def ask(self, request: Request) -> str:
        """Return the text of the reply.

        Raises:
            NoReply: there is none.
        """
        ...


def endpoint(judge: Judge, settings: JudgeSettings, spend: Callable[[], None]) -> Endpoint:
    """Return where a judge is asked.

    Args:
        judge: The judge.
        settings: How it is asked.
        spend: Called before every request that is sent; it may raise NoReply.
    """
    return Files(judge) if judge.is_files else Http(judge, settings, spend)


def media_type(image: bytes) -> str:
    """Return the media type of an encoded image."""
    return "image/png" if image.startswith(b"\x89PNG") else "image/jpeg"


class Http:
    """A chat-completions server: vLLM, Ollama, or a hosted one."""

    def __init__(
        self,
        judge: Judge,
        settings: JudgeSettings,
        spend: Callable[[], None] = lambda: None,
    ) -> None:
        self._judge = judge
        self._settings = settings
        self._spend = spend
        self._address = urlsplit(judge.address)
        # Servers differ in whether they enforce a schema; one that refuses it is asked without.
        self._enforce = True

    def ask(self, request: Request) -> str:
        """Send a question, again after a passing trouble, and return the text of the reply."""
        reason = ""
        for attempt in range(self._settings.tries):
            try:
                status, headers, body = self._send(request, self._enforce)
                if status in (400, 422) and self._enforce:
                    again = self._send(request, False)
                    # Only a server that answers without a schema is one that knows none.
                    if again[0] == 200:
                        self._enforce = False
                        status, headers, body = again
            except (OSError, http.client.HTTPException) as error:
                reason = f"{type(error).__name__}: {error}"
                self._wait(attempt, None)
                continue
            if status == 200:
                return _text(body)
            reason = f"HTTP {status}: {_short(body)}"
            if status not in (408, 409, 425, 429) and status < 500:
                break
            self._wait(attempt, headers.get("retry-after"))
        raise NoReply(f"the judge at {self._judge.address} gave no reply: {reason}")

    def _wait(self, attempt: int, wanted: str | None) -> None:
        if attempt + 1 == self._settings.tries:
            return
        # Spread out, so that requests refused together do not come back together.
        seconds = 0.5 * 2**attempt * random.uniform(0.75, 1.25)
        if wanted is not None:
            try:
                seconds = max(seconds, float(wanted))
            except ValueError:
                pass
        time.sleep(min(seconds, _LONGEST_WAIT))

    def _send(self, request: Request, enforce: bool) -> tuple[int, dict[str, str], bytes]:
        content: list[dict[str, Any]] = []
        for label, image in zip(request.labels, request.images, strict=True):
            url = f"data:{media_type(image)};base64,{base64.b64encode(image).decode('ascii')}"
            content.append({"type": "text", "text": label})
            content.append({"type": "image_url", "image_url": {"url": url}})
        content.append({"type": "text", "text": request.prompt})
        body: dict[str, Any] = {
            "model": self._judge.model,
            "messages": [{"role": "user", "content": content}],
            "temperature": self._settings.temperature,
            "max_tokens": self._settings.max_tokens,
            "seed": request.seed,
        }
        if enforce:
            form = {"name": request.kind, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        secret = self._judge.secret()
        if secret is not None:
            headers["Authorization"] = f"Bearer {secret}"
        kind = (
            http.client.HTTPSConnection
            if self._address.scheme == "https"
            else http.client.HTTPConnection
        )
        host = self._address.hostname
        assert host is not None
        self._spend()
        connection = kind(host, self._address.port, timeout=self._settings.timeout)
        late = threading.Event()
        watch: threading.Timer | None = None
        try:
            connection.connect()
            # The time-out of a socket is one of silence; a server that drips would never end.
            watch = threading.Timer(self._settings.timeout, _cut, (connection.sock, late))
            watch.daemon = True
            watch.start()
            path = self._address.path.rstrip("/") + "/chat/completions"
            connection.request("POST", path, json.dumps(body).encode(), headers)
            answer = connection.getresponse()
            data = answer.read(MAX_REPLY + 1)
            found = {name.lower(): value for name, value in answer.getheaders()}
        except (OSError, http.client.HTTPException):
            if late.is_set():
                raise TimeoutError(f"no whole reply within {self._settings.timeout:g} s") from None
            raise
        finally:
            if watch is not None:
                watch.cancel()
            connection.close()
        if late.is_set():
            raise TimeoutError(f"no whole reply within {self._settings.timeout:g} s")
        return answer.status, found, data


def _cut(sock: socket.socket, late: threading.Event) -> None:
    """End a connection that takes too long, whatever waits for it."""
    late.set()
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def _text(body: bytes) -> str:
    """Return the reply's text.

    Raises:
        NoReply: the server's answer is none, is too long, or the judge refused.
    """
    if len(body) > MAX_REPLY:
        raise NoReply(f"the judge's reply is longer than {MAX_REPLY} bytes")
    try:
        choice = json.loads(body)["choices"][0]
        message = choice["message"]
        refusal, text = message.get("refusal"), message.get("content")
        ended = choice.get("finish_reason")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        raise NoReply(f"the judge's server answered in another form: {_short(body)}") from None
    if refusal or ended == "content_filter":
        raise NoReply(f"the judge refused: {str(refusal or 'content filter')[:200]}")
    if isinstance(text, list):
        parts = [part.get("text", "") for part in text if isinstance(part, dict)]
        text = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(text, str) or not text.strip():
        raise NoReply(f"the judge gave an empty reply (finish_reason {ended!r})")
    return text


def _short(body: bytes) -> str:
    return " ".join(body[:300].decode("utf-8", "replace").split()) or "no text"


class Files:
    """A folder that questions are left in and answers are taken from, for judging offline.

    ``questions/KEY.json`` holds the text, the schema and the names of the images beside it;
    ``answers/KEY.txt`` is taken as the reply.
    """

    def __init__(self, judge: Judge) -> None:
        self._folder = judge.folder

    def ask(self, request: Request) -> str:
        """Return the answer if it is there; else leave the question.

        Raises:
            NoReply: there is none yet, or the folder cannot be used.
        """
        answer = self._folder / "answers" / f"{request.key}.txt"
        try:
            with answer.open("rb") as stream:
                return stream.read(MAX_REPLY).decode("utf-8", "replace")
        except FileNotFoundError:
            pass
        except OSError as error:
            raise NoReply(f"{answer} cannot be read: {error.strerror}") from None
        try:
            self._leave(request)
        except OSError as error:
            raise NoReply(f"{self._folder} cannot be written: {error.strerror}") from None
        raise NoReply(
            f"the question waits in {self._folder / 'questions'}; put its answer into "
            f"{answer} and score again",
            waiting=True,
        )

    def _leave(self, request: Request) -> None:
        questions = self._folder / "questions"
        target = questions / f"{request.key}.json"
        if target.exists():
            return
        questions.mkdir(parents=True, exist_ok=True)
        (self._folder / "answers").mkdir(exist_ok=True)
        names = []
        for k, image in enumerate(request.images):
            ending = "png" if media_type(image) == "image/png" else "jpg"
            names.append(f"{request.key}-{k:03}.{ending}")
            _write(questions / names[-1], image)
        about = {
            "key": request.key,
            "kind": request.kind,
            "prompt": request.prompt,
            "images": [
                {"label": label, "file": name}
                for label, name in zip(request.labels, names, strict=True)
            ],
            "schema": request.schema,
        }
        # Last, so that a question that is there is whole.
        _write(target, json.dumps(about, indent=1).encode())


def _write(file: Path, data: bytes) -> None:
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    part.write_bytes(data)
    part.replace(file)


def keep(folder: Path, key: str, text: str) -> None:
    """Write a reply to the cache; a full disk costs the cache, not the score."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write(folder / f"{key}.txt", text.encode("utf-8", "replace"))
    except OSError:
        pass


def kept(folder: Path, key: str) -> str | None:
    """Return a reply from the cache, None when there is none that can be read."""
    try:
        return (folder / f"{key}.txt").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None

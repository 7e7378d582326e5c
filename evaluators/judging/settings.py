"""Which judges are asked, how often, and at what cost: from one variable, a file or an address."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from worldenv.world import WorldEnvError

VARIABLE = "WORLDENV_JUDGE"
"""Environment variable: an address, ``files:FOLDER``, or a TOML file that lists judges."""
MODEL = "WORLDENV_JUDGE_MODEL"
"""Environment variable: model name of the judge at an address."""
KEY = "WORLDENV_JUDGE_KEY"
"""Environment variable: secret of the judge at an address; never part of a record."""


class InvalidJudge(WorldEnvError):
    """The judge's settings are wrong."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Judge(_Strict):
    """One judge.

    Attributes:
        address: Base address of an OpenAI-compatible server, e.g. ``http://localhost:8000/v1``, or
            ``files:FOLDER`` for questions and answers as files.
        model: Model name that the server knows; for files, who answers.
        key_variable: Environment variable with the secret.
        key_file: File with the secret.
    """

    address: str
    model: str
    key_variable: str = KEY
    key_file: Path | None = None

    @model_validator(mode="after")
    def _check(self) -> Judge:
        if self.is_files:
            if not self.folder.name:
                raise ValueError("files: needs a folder, as in files:judge")
        else:
            parts = urlsplit(self.address)
            try:
                _ = parts.port
            except ValueError as error:
                raise ValueError(f"{self.address!r}: {error}") from None
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError(
                    f"{self.address!r} is no address; expected http://HOST:PORT/v1 or files:FOLDER"
                )
            if parts.username or parts.password:
                raise ValueError("an address must hold no password; use key_variable or key_file")
        if not self.model.strip():
            raise ValueError("model must name the judge's model")
        return self

    @property
    def is_files(self) -> bool:
        """Whether questions and answers go through a folder."""
        return self.address.startswith("files:")

    @property
    def folder(self) -> Path:
        """The folder of a judge that answers by files."""
        return Path(self.address.removeprefix("files:")).expanduser()

    def secret(self) -> str | None:
        """Return the secret, None where there is none.

        Raises:
            InvalidJudge: the key file cannot be read, or what it holds is no key.
        """
        if self.key_file is None:
            found, where = os.environ.get(self.key_variable, ""), self.key_variable
        else:
            where = str(self.key_file)
            try:
                found = self.key_file.expanduser().read_text("utf-8").strip()
            except OSError as error:
                raise InvalidJudge(
                    f"The key file {where} cannot be read: {error.strerror}."
                ) from None
            except UnicodeDecodeError:
                raise InvalidJudge(f"The key file {where} is no text.") from None
        # The value itself is said nowhere.
        if not (found.isascii() and found.isprintable()):
            raise InvalidJudge(f"The key in {where} has characters that no key has.")
        return found or None


class JudgeSettings(_Strict):
    """All judges of a run and how they are asked.

    Attributes:
        judge: Asked each; their votes count alike.
        repeats: Replies a judge gives to each question.
        temperature: Sampling temperature.
        max_tokens: Longest reply.
        timeout: Seconds for one reply.
        concurrency: Requests under way at once.
        budget: Most requests that one process sends, tries counted; what goes beyond is
            ``unavailable``.
        tries: Tries of a request that fails for a passing reason.
        pair_side: Longest side in pixels of the two images of a pair.
        frame_side: Longest side in pixels of the images of a sequence.
        cache: Whether replies are kept and read again, by content.
        pairs: R2M: pairs judged a set (revisits, baselines, neighbours), evenly spread.
    """

    judge: Annotated[tuple[Judge, ...], Field(min_length=1)]
    repeats: Annotated[int, Field(ge=1, le=99)] = 1
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    max_tokens: Annotated[int, Field(ge=64)] = 4096
    timeout: Annotated[float, Field(gt=0, le=86_400)] = 300.0
    concurrency: Annotated[int, Field(ge=1, le=256)] = 4
    budget: Annotated[int, Field(ge=0)] = 20_000
    tries: Annotated[int, Field(ge=1, le=20)] = 4
    pair_side: Annotated[int, Field(ge=64)] = 1280
    frame_side: Annotated[int, Field(ge=64)] = 448
    cache: bool = True
    pairs: Annotated[int, Field(ge=1)] = 10

    @model_validator(mode="after")
    def _check(self) -> JudgeSettings:
        places = [(judge.address, judge.model) for judge in self.judge]
        twice = next((place for place in places if places.count(place) > 1), None)
        if twice is not None:
            raise ValueError(f"{twice[1]} at {twice[0]} is listed twice; use repeats instead")
        return self


def judge_settings() -> JudgeSettings | None:
    """Return the judges that the environment names, None when it names none.

    Raises:
        InvalidJudge: the file cannot be read, or its contents or the address are wrong.
    """
    chosen = os.environ.get(VARIABLE, "").strip()
    if not chosen:
        return None
    if "://" in chosen or chosen.startswith("files:"):
        model = os.environ.get(MODEL, "").strip()
        if not model and not chosen.startswith("files:"):
            raise InvalidJudge(
                f"The judge at {chosen} needs a model name; give --judge-model or set {MODEL}."
            )
        return _settings({"judge": [{"address": chosen, "model": model or "files"}]}, chosen)
    file = Path(chosen).expanduser()
    try:
        data = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise InvalidJudge(
            f"The judge {chosen!r} is neither an address (http://HOST:PORT/v1), files:FOLDER nor a "
            f"TOML file that can be read: {error.strerror}."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidJudge(f"{file} is no TOML: {error}.") from None
    return _settings(data, str(file))


def _settings(data: dict[str, Any], where: str) -> JudgeSettings:
    try:
        found = JudgeSettings.model_validate(data)
        for judge in found.judge:
            judge.secret()
        return found
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InvalidJudge(f"{where}: {place}: {first['msg']}.") from None

"""What each score must do under each planted fault, as it was written down beforehand."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from typing import Any, NamedTuple, get_args

from worldenv.calibration import Expected
from worldenv.faults import FAULTS
from worldenv.world import UnknownName

__all__ = ["Expectation", "expectation", "keys", "read"]

SIGNS: tuple[Expected, ...] = get_args(Expected)


class Expectation(NamedTuple):
    """What is expected of one score under one fault.

    Attributes:
        sign: ``falls``, ``rises``, ``ignores`` or ``open``.
        why: The reason where it is not obvious, else empty.
    """

    sign: Expected
    why: str = ""


def expectation(subject: str, fault: str) -> Expectation:
    """Return what is expected of a score.

    Args:
        subject: ``benchmark/metric`` or ``benchmark/metric/variant``.
        fault: A name of ``FAULTS``.

    Raises:
        UnknownName: the table has no such score, or there is no such fault.
    """
    if fault not in FAULTS:
        raise UnknownName("fault", fault, FAULTS)
    scores, variants = _table()
    benchmark, metric, *rest = subject.split("/")
    key = f"{benchmark}/{metric}"
    if key not in scores:
        raise UnknownName("score", subject, scores)
    special = variants.get((benchmark, rest[0] if rest else ""), {})
    return special.get(fault) or scores[key][fault]


def keys() -> tuple[str, ...]:
    """Return ``benchmark/metric`` of every score in the table."""
    return tuple(_table()[0])


@lru_cache(maxsize=1)
def _table() -> tuple[
    dict[str, dict[str, Expectation]], dict[tuple[str, str], dict[str, Expectation]]
]:
    text = resources.files("worldenv").joinpath("expectations.toml").read_text(encoding="utf-8")
    return read(tomllib.loads(text))


def read(
    data: Mapping[str, Any],
) -> tuple[dict[str, dict[str, Expectation]], dict[tuple[str, str], dict[str, Expectation]]]:
    """Return (score -> fault -> expectation, (benchmark, variant) -> fault -> expectation).

    Raises:
        ValueError: a fault has no sign or two, or a name is unknown.
    """
    groups: dict[str, tuple[str, ...]] = {}
    for name, text in data["groups"].items():
        groups[name] = tuple(_named(text, groups))
    scores: dict[str, dict[str, Expectation]] = {}
    for block in data["score"]:
        signs = _signs(block, groups)
        missing = [fault for fault in FAULTS if fault not in signs]
        if missing:
            raise ValueError(f"{block['keys']} has no sign for {', '.join(missing)}")
        for key in block["keys"]:
            if key in scores:
                raise ValueError(f"{key} stands twice")
            scores[key] = signs
    variants = {
        (block["benchmark"], block["variant"]): _signs(block, groups)
        for block in data.get("variant", ())
    }
    return scores, variants


def _signs(
    block: Mapping[str, Any], groups: Mapping[str, tuple[str, ...]]
) -> dict[str, Expectation]:
    """Return fault -> expectation; named faults outweigh those of a group, small groups large."""
    why = dict(block.get("why", {}))
    found: dict[str, tuple[int, Expected]] = {}
    for sign in SIGNS:
        for word in str(block.get(sign, "")).split():
            members = _named(word, groups)
            for fault in members:
                weight = len(members) if word.startswith("@") else 0
                held = found.get(fault)
                if held is not None and held[0] == weight and held[1] != sign:
                    raise ValueError(f"{fault} is said to do both {held[1]} and {sign}: {block}")
                if held is None or weight < held[0]:
                    found[fault] = (weight, sign)
    unknown = [name for name in why if name not in FAULTS and name not in groups]
    if unknown:
        raise ValueError(f"reasons for {', '.join(unknown)}, which is neither fault nor group")
    out = {}
    for fault, (_, sign) in found.items():
        holding = [g for g in why if g in groups and fault in groups[g]]
        reason = why.get(fault) or next((why[g] for g in holding), "")
        out[fault] = Expectation(sign, reason)
    return out


def _named(text: str, groups: Mapping[str, tuple[str, ...]]) -> list[str]:
    out: list[str] = []
    for word in text.split():
        name = word.removeprefix("@")
        if word.startswith("@"):
            if name not in groups:
                raise ValueError(f"there is no group {name!r}")
            out += groups[name]
        elif name in FAULTS:
            out.append(name)
        else:
            raise ValueError(f"there is no fault {name!r}")
    return list(dict.fromkeys(out))

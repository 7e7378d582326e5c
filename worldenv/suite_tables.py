"""Reads tables of other people: their rows, templates over them, and files beside them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from worldenv.suites import InvalidSuite

_MOST = 200_000


def fill(template: str, row: Mapping[str, Any], where: str) -> str:
    """Return a template with ``{column}`` replaced; only whole column names are looked up.

    Raises:
        InvalidSuite: there is no such column.
    """

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in row:
            have = ", ".join(map(repr, row))
            raise InvalidSuite(f"{where} has no column {name!r}; it has {have}")
        found = row[name]
        if isinstance(found, (list, tuple)):
            return json.dumps([str(v) for v in found])
        if isinstance(found, Mapping) and "path" in found:
            found = found["path"]
        return "" if found is None else str(found)

    return re.sub(r"\{(\w+)\}", value, template)


def texts_of(text: str) -> list[str]:
    """Return the texts of a list in JSON, or parted by ``;``."""
    text = text.strip()
    if text.startswith("["):
        try:
            found = json.loads(text)
            return [str(v).strip() for v in found if str(v).strip()]
        except ValueError:
            pass
    return [part.strip() for part in text.split(";") if part.strip()]


def read_table(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a .json, .jsonl, .csv or .parquet file (or a pattern of them).

    Raises:
        InvalidSuite: there is none, it cannot be read, or it has too many rows.
    """
    if not name:
        raise InvalidSuite("the mapping names no table")
    parts = Path(name).parts
    if Path(name).is_absolute() or ".." in parts:
        raise InvalidSuite(f"the table {name!r} must lie in the data set's folder")
    files = sorted(folder.glob(name))
    if not files:
        raise InvalidSuite(f"{folder} has no {name}")
    count = 0
    for file in files:
        for row in _read_rows(file):
            count += 1
            if count > _MOST:
                raise InvalidSuite(f"{file} has more than {_MOST} rows")
            if not isinstance(row, dict):
                raise InvalidSuite(f"{file} row {count - 1} is no object")
            yield row


def _read_rows(file: Path) -> Iterator[Any]:
    """Yield the rows of a table, whatever its reader has to say turned into one error."""
    import csv

    try:
        yield from _rows(file)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidSuite(f"{file} cannot be read: {' '.join(str(error).split())}") from None


def _rows(file: Path) -> Iterator[Any]:
    suffix = file.suffix.lower()
    if suffix == ".parquet":
        try:
            import pyarrow.parquet as parquet
        except ImportError:
            raise InvalidSuite(f"{file} needs pyarrow; install by: pip install pyarrow") from None
        for batch in parquet.ParquetFile(file).iter_batches(256):
            yield from batch.to_pylist()
    elif suffix == ".csv":
        import csv

        with file.open(encoding="utf-8-sig", newline="") as stream:
            for number, row in enumerate(csv.DictReader(stream)):
                if None in row:
                    raise InvalidSuite(f"{file} row {number} has more cells than the header")
                yield row
    elif suffix == ".jsonl":
        for line in file.read_text("utf-8-sig").splitlines():
            if line.strip():
                yield _parse(line, file)
    else:
        rows = read_json(file)
        if isinstance(rows, dict):
            rows = next((v for v in rows.values() if isinstance(v, list)), [])
        yield from rows if isinstance(rows, list) else []


def _parse(text: str, file: Path) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidSuite(f"{file} is no JSON: {error}") from None


def read_json(file: Path) -> Any:
    """Return what a JSON file holds.

    Raises:
        InvalidSuite: it cannot be read, or is no JSON.
    """
    try:
        return _parse(file.read_text("utf-8"), file)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSuite(f"{file} cannot be read: {error}") from None


def below(folder: Path, beside: Path, name: str) -> Path | None:
    """Return a named file that lies below a folder, by its path from there or from ``beside``."""
    home = folder.resolve()
    for base in (folder, beside.parent, *beside.parent.parents):
        found = (base / name).resolve()
        if home in found.parents and found.is_file():
            return found
        if base == folder:
            continue
        if home not in (base.resolve(), *base.resolve().parents):
            break
    return None


def plain_name(text: str) -> str:
    """Return a file name for any text: plain characters, and a digest where some were lost."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", text).strip("._")[:80]
    if plain == text:
        return plain
    return f"{plain or 'x'}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"

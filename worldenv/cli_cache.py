"""The option that names a feature cache."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

CacheFolder = Annotated[
    Path | None,
    typer.Option(
        "--cache", help="Keep what is computed of frames in this folder; or WORLDENV_CACHE."
    ),
]


def use_cache(folder: Path | None) -> None:
    """Name the feature cache for this process and for those that it starts."""
    from worldenv.evaluators.cache import FOLDER, find_cache

    if folder is not None:
        os.environ[FOLDER] = str(folder.expanduser().resolve())
    # One that cannot be written is said before minutes of work, not after.
    opened = find_cache()
    if opened is not None:
        opened.close()

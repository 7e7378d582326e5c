"""The commands about worlds: worlds, check-world, serve, setup."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from worldenv.report.console import console, errors
from worldenv.world import UnknownName, WorldEnvError

__all__ = ["add_to"]

_Options = Annotated[
    list[str] | None, typer.Option("--world-option", help="Keyword of the world, key=value.")
]


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command()(worlds)
    app.command("check-world")(check_world)
    app.command()(serve)
    app.command()(setup)


def worlds() -> None:
    """List the worlds: how each is driven, its licence, and what it still needs here."""
    from worldenv.catalogue import entries

    table = RichTable()
    table.add_column("id", no_wrap=True)
    for column in ("asked by", "drive", "state", "frames a step", "degrees"):
        table.add_column(column)
    table.add_column("licence")
    table.add_column("here", no_wrap=True)
    for entry in entries():
        spec = entry.spec
        facts = ["-", "-"] if spec is None else [spec.drive, spec.state]
        cells = [entry.id, entry.control, *facts, entry.frames, entry.degrees]
        # What a licence forbids is told by the page of worlds, and by set-up.
        licence, *rest = re.split("[:;(]", entry.licence)
        cells.append(licence.strip() + (" ..." if rest else ""))
        table.add_row(*map(escape, [*cells, entry.readiness]))
    console.print(table)
    console.print(
        "degrees: what a step turns by default. Every model can be walked without weights: "
        "--world-option stand_in=true.\nYour own: --world file.py:factory or "
        "--world module:factory; 'worldenv check-world' examines it."
    )


def check_world(
    world: Annotated[str, typer.Argument(metavar="WORLD", help="Id, module:factory or file.py.")],
    world_option: _Options = None,
    frames: Annotated[int, typer.Option(help="New frames of a walk, at least.")] = 16,
) -> None:
    """Check that a world keeps the contract and does what its spec says."""
    from worldenv.conformance import examine_world
    from worldenv.serve import parse_options
    from worldenv.worlds import load_world

    options = parse_options(world_option or [])
    table = RichTable("check", "result", "what was seen")
    colours = {"ok": "green", "note": "yellow", "problem": "red"}
    problems = 0
    for finding in examine_world(lambda: load_world(world, **options), frames=frames):
        state = f"[{colours[finding.state]}]{finding.state}[/]"
        table.add_row(finding.check, state, escape(finding.note))
        problems += finding.state == "problem"
    console.print(table)
    if problems:
        errors.print(f"[red]{problems} problem(s)[/] in {escape(world)}", soft_wrap=True)
        sys.exit(1)


def serve(
    world: Annotated[
        str, typer.Option("--world", help="World id, module:factory or file.py:factory.")
    ] = "",
    world_option: _Options = None,
    host: Annotated[
        str, typer.Option("--host", help="Address to bind; beyond this machine needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="0 takes a free one.")] = 0,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", help="File that holds the token; without: WORLDENV_TOKEN."),
    ] = None,
    nproc: Annotated[int, typer.Option("--nproc", help="Ranks of the model.")] = 1,
    idle: Annotated[
        float,
        typer.Option("--idle", help="Seconds after which a silent client gives way; 0: never."),
    ] = 300.0,
    export: Annotated[
        Path | None,
        typer.Option("--export", help="Write the server as one file for Python 3.9, and stop."),
    ] = None,
    adapter: Annotated[
        str,
        typer.Option("--adapter", help="World of that file: module:factory or file.py:factory."),
    ] = "",
) -> None:
    """Serve a world to other processes and machines, where --world Remote-v0 drives it."""
    if export is not None:
        from worldenv.pack import export as write

        file = write(export, adapter)
        rest = "" if adapter else " --world module:factory"
        console.print(f"Run it as: python {escape(str(file))}{rest}", soft_wrap=True)
        return
    if adapter:
        raise WorldEnvError("--adapter belongs to --export; name a world to serve with --world.")
    if not world:
        raise WorldEnvError("--world is missing: an id, module:factory or file.py:factory.")
    from worldenv.serve import main

    words = ["--world", world, "--host", host, "--port", str(port)]
    words += ["--nproc", str(nproc), "--idle", str(idle)]
    words += [word for pair in world_option or [] for word in ("--world-option", pair)]
    if token_file is not None:
        words += ["--token-file", str(token_file)]
    sys.exit(main(words))


def setup(
    world: Annotated[str, typer.Argument(help="Name of the world, e.g. WorldPlay.")],
    python: Annotated[
        str, typer.Option("--python", help="Interpreter of the model's environment.")
    ] = "",
    repo: Annotated[str, typer.Option("--repo", help="Checkout of the model's code.")] = "",
    weights: Annotated[str, typer.Option("--weights", help="Folder of the weights.")] = "",
    adapter: Annotated[
        str, typer.Option("--adapter", help="Its world, module:factory or file.py:factory.")
    ] = "",
    world_option: _Options = None,
    variable: Annotated[
        list[str] | None, typer.Option("--env", help="Environment variable, NAME=value.")
    ] = None,
    nproc: Annotated[
        int | None, typer.Option("--nproc", help="Ranks; without: as the recipe says, else 1.")
    ] = None,
    no_check: Annotated[
        bool, typer.Option("--no-check", help="Save without starting anything.")
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print what the recipe would do, and stop.")
    ] = False,
    create: Annotated[
        Path | None, typer.Option("--create", help="Make the environment in this folder.")
    ] = None,
) -> None:
    """Say where a model is installed, or install it; then its world starts by itself."""
    import dataclasses

    from worldenv import installed, prepare
    from worldenv.recipe import Recipe, load_recipe
    from worldenv.serve import parse_options
    from worldenv.worlds import WORLDS

    installed.saved_file(world)  # a name that could not be saved is refused at once
    recipe: Recipe | None = None
    try:
        recipe = load_recipe(world)
    except UnknownName:
        if world.removesuffix("-v0") in WORLDS:
            raise WorldEnvError(
                f"{world} has no recipe: it needs none, or nothing of it is published; 'worldenv "
                "worlds' says which."
            ) from None
        if plan or create is not None or not adapter:
            raise

    def say(text: str) -> None:
        console.print(escape(text), soft_wrap=True, highlight=False)

    if plan:
        assert recipe is not None
        for line in prepare.describe(recipe, world, create):
            say(line)
        return
    if create is not None:
        assert recipe is not None
        launch = prepare.create(recipe, create, say, python or None)
    elif not python:
        raise WorldEnvError(
            f"--python is missing: the interpreter of the environment {world} is installed in; "
            f"'worldenv setup {world} --plan' says how to make one."
        )
    elif recipe is not None and recipe.repo is not None and not repo:
        raise WorldEnvError(
            f"--repo is missing: where {recipe.repo.url} is checked out, best at commit "
            f"{recipe.repo.commit}."
        )
    else:
        launch = installed.Launch(
            python=python,
            adapter=adapter or (recipe.adapter if recipe is not None else ""),
            repo=str(Path(repo).absolute()) if repo else "",
            weights=str(Path(weights).absolute()) if weights else "",
            options=dict(recipe.options) if recipe is not None else {},
            environment=dict(recipe.environment) if recipe is not None else {},
            nproc=1 if recipe is None else recipe.nproc,
        )
    launch = dataclasses.replace(
        launch,
        options={**launch.options, **parse_options(world_option or [])},
        environment={**launch.environment, **_variables(variable or [])},
        nproc=launch.nproc if nproc is None else nproc,
    )
    if not no_check:
        say(f"Python {prepare.check(launch)} with numpy: good")
        say(f"The server of {prepare.check_server(launch, world)} answers: good")
    say(f"Saved: {installed.save(world, launch)}")


def _variables(pairs: list[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name.isidentifier():
            raise WorldEnvError(f"--env {pair!r} is not NAME=value.")
        found[name] = value
    return found

"""The command ``calibrate``: plant faults at several doses, see how every score answers."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from worldenv.cli_cache import CacheFolder, use_cache
from worldenv.cli_weights import say_wanting
from worldenv.report.console import console, errors, lasting, print_calibration, progress_bar
from worldenv.world import Unsupported

if TYPE_CHECKING:
    from worldenv.calibrate import Estimate, Outcome
    from worldenv.calibration_plan import Design

QUICK = ("forget", "blur")
"""Faults of ``--quick``: one that every benchmark must sense, one that most must ignore."""


def calibrate(
    profile: Annotated[
        str, typer.Option("--profile", help="Which backbones measure.")
    ] = "classic+truth",
    fault: Annotated[
        list[str] | None,
        typer.Option("--fault", help="Fault to plant, repeatable; without: all."),
    ] = None,
    doses: Annotated[
        str | None, typer.Option("--doses", help="From 0 to 1, such as 0,0.25,0.5,0.75,1.")
    ] = None,
    cases: Annotated[
        int | None, typer.Option("--cases", help="How many scenes (and as many with events).")
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option("--seeds", help="Draws of faults that are all or nothing; others half."),
    ] = None,
    size: Annotated[
        int | None, typer.Option("--size", help="Width and height of the frames, pixels.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes; without: every core.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder; an existing one is resumed.")
    ] = None,
    cache: CacheFolder = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two faults in two scenes: does it work at all?")
    ] = False,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print what it would take, and stop.")
    ] = False,
) -> None:
    """Plant faults with a dose in Reference-v0; tell which scores sense them, and which must not.

    Writes calibration.json (every number) and report.html (the matrix and its curves).
    """
    from worldenv import calibrate as runner
    from worldenv.evaluators.profile import load_profile
    from worldenv.run_folder import new_folder

    load_profile(profile)
    use_cache(cache)
    say_wanting(profile)
    if not profile.endswith("+truth"):
        errors.print(
            "[yellow]expectations take depth, pose, masks and events to be truth; without +truth "
            "they are estimated, and what is not as expected may be the estimate's doing[/]",
            soft_wrap=True,
        )
    design = design_of(fault, doses, cases, seeds, size, quick)
    estimate = runner.estimate(profile, design, out, workers)
    _print_estimate(estimate)
    if plan:
        return
    folder = out or new_folder()
    console.print(f"Folder: {escape(str(folder))}", soft_wrap=True)
    with progress_bar({"": estimate.rollouts}, "rollouts") as advance:
        outcome = runner.run(profile, folder, design, workers=workers, progress=advance)
    finish(outcome)


def design_of(
    faults: list[str] | None,
    doses: str | None,
    cases: int | None,
    seeds: int | None,
    size: int | None,
    quick: bool,
) -> Design:
    """Return the design that the options ask for.

    Raises:
        Unsupported: a value is out of range.
        UnknownName: there is no such fault.
    """
    from worldenv.calibration_plan import DOSES, Design
    from worldenv.faults import FAULTS

    few = Design(cases=2, seeds=1, decay=0, pace=0, bystanders=0) if quick else Design()
    asked = {"cases": cases, "seeds": seeds, "size": size}
    return replace(
        few,
        doses=DOSES if doses is None else _numbers(doses),
        faults=tuple(dict.fromkeys(faults or (QUICK if quick else FAULTS))),
        **{name: value for name, value in asked.items() if value is not None},
    )


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise Unsupported(f"--doses {text!r} is no list of numbers such as 0,0.5,1") from None


def _print_estimate(estimate: Estimate) -> None:
    held = f", {estimate.held} of them held already" if estimate.held else ""
    console.print(
        f"{estimate.rollouts} rollouts{held}, {lasting(estimate.seconds)} with "
        f"{estimate.workers} process{'es' if estimate.workers > 1 else ''} on cores that are idle",
        highlight=False,
    )


def finish(outcome: Outcome) -> None:
    """Print the summary, name failures, write the page, and say where everything is."""
    from worldenv.calibrate import RESULT
    from worldenv.report.calibration import write_page

    print_calibration(outcome.calibration)
    for name, error in outcome.failed.items():
        errors.print(f"[red]failed[/] {escape(name)}: {escape(error)}", soft_wrap=True)
    page = outcome.folder / "report.html"
    write_page(outcome.calibration, page)
    console.print(f"Every number: {escape(str(outcome.folder / RESULT))}", soft_wrap=True)
    console.print(f"Report: {escape(str(page))}", soft_wrap=True)
    if outcome.failed:
        sys.exit(1)

"""The command line; the commands of a subject stand in ``cli_<subject>``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from worldenv import cli_calibrate, cli_score, cli_suites, cli_weights, cli_worlds
from worldenv.cli_cache import CacheFolder, use_cache
from worldenv.cli_judge import Judge, JudgeModel, use_judge
from worldenv.report.console import (
    console,
    errors,
    print_estimate,
    print_summary,
    progress_bar,
)
from worldenv.world import WorldEnvError

if TYPE_CHECKING:
    from worldenv.bench import Results

app = typer.Typer(
    name="worldenv",
    help="Measure what video world models remember.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
cli_worlds.add_to(app)
app.add_typer(cli_suites.suites, name="suites", invoke_without_command=True)
app.command()(cli_score.score)
app.command()(cli_calibrate.calibrate)
cli_weights.add_to(app)
World = Annotated[str, typer.Option("--world", help="World id, module:factory or file.py:factory.")]
WorldOption = Annotated[
    list[str] | None, typer.Option("--world-option", help="Keyword of the world, key=value.")
]
Profile = Annotated[str, typer.Option("--profile", help="Which backbones measure.")]
RunFolder = Annotated[
    Path, typer.Argument(metavar="RUN", help="Run folder that 'worldenv bench' wrote.")
]


def main() -> None:
    """Run the command line; a user's mistake is one line, never a traceback."""
    code = None
    try:
        code = app(standalone_mode=False)
    except WorldEnvError as error:
        fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        code = _INTERRUPTED
    except Exception as error:
        # Click's own usage errors know how to show themselves.
        show = getattr(error, "show", None)
        if show is None:
            raise
        show()
        sys.exit(getattr(error, "exit_code", 2))
    if code == _INTERRUPTED:
        kept = "; finished episodes are kept, and the same command with the same --out resumes"
        errors.print(
            f"Interrupted{kept if sys.argv[1:2] in (['bench'], ['calibrate']) else ''}.",
            style="yellow",
        )
        sys.exit(code)


# What shells and Click use for a process that Ctrl-C ended.
_INTERRUPTED = 130


def fail(message: str) -> None:
    """Print a one-line error and exit with 2."""
    errors.print(f"[bold red]Error:[/] {escape(' '.join(message.split()))}", soft_wrap=True)
    sys.exit(2)


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="Print the version, and stop.")] = False,
) -> None:
    """Measure what video world models remember."""
    if show:
        from worldenv import __version__

        console.print(__version__, highlight=False)
        raise typer.Exit


@app.command()
def bench(
    world: World = "Reference-v0",
    world_option: WorldOption = None,
    suite: Annotated[
        list[str] | None,
        typer.Option("--suite", help="Suite id, repeatable; without: the quick selection."),
    ] = None,
    case: Annotated[list[str] | None, typer.Option("--case", help="Case id, repeatable.")] = None,
    cases: Annotated[
        int | None, typer.Option("--cases", help="Only the first N cases of each suite.")
    ] = None,
    seed: Annotated[list[int] | None, typer.Option("--seed", help="Seed, repeatable.")] = None,
    profile: Profile = "classic+truth",
    judge: Judge = None,
    judge_model: JudgeModel = None,
    cache: CacheFolder = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Run folder; an existing one is resumed.")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", help="Processes; without: every core for Reference-v0, else 1."),
    ] = None,
    shard: Annotated[
        str | None, typer.Option("--shard", help="i/n: only every n-th episode, from the i-th.")
    ] = None,
    controls: Annotated[
        bool, typer.Option("--controls/--no-controls", help="Floor and ceiling controls.")
    ] = True,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print what it would take, and stop.")
    ] = False,
) -> None:
    """Walk benchmark paths through a world, score memory at every revisit, leave a report."""
    from worldenv import bench as runner
    from worldenv.serve import parse_options

    if case and cases is not None:
        raise WorldEnvError("--case names cases and --cases counts them; give one of the two.")
    use_judge(judge, judge_model)
    use_cache(cache)
    selected: int | Sequence[str] | None = case or cases
    seeds = seed or None
    options = parse_options(world_option or [])
    settings = runner.Settings(world, options, profile)
    cli_weights.say_wanting(profile)
    episodes = runner.plan(settings, suite, selected, seeds, controls=controls)
    parts = parse_shard(shard)
    if parts is not None:
        episodes = runner.take_shard(episodes, parts)
    estimate = runner.estimate(settings, episodes, workers)
    print_estimate(estimate)
    if plan:
        return
    folder = out or runner.new_folder()
    console.print(f"Run folder: {escape(str(folder))}", soft_wrap=True)
    with progress_bar(estimate.frames) as advance:
        results = runner.run(
            world,
            suite,
            selected,
            seeds,
            profile,
            folder,
            options,
            controls=controls,
            workers=workers,
            shard=parts,
            progress=advance,
        )
    if parts is not None:
        console.print(
            f"Shard {shard} is done. When all are: worldenv collect {escape(str(folder))}",
            soft_wrap=True,
        )
        return
    finish(results)


@app.command()
def report(
    run: RunFolder,
    figures: Annotated[
        Path | None,
        typer.Option("--figures", help="Also write PDF and PNG figures to this folder."),
    ] = None,
) -> None:
    """Write report.html of a run anew."""
    from worldenv.report.page import write_report

    if figures is not None:
        from worldenv.report.figures import write_figures

        for path in write_figures(run, figures):
            console.print(escape(str(path)), soft_wrap=True)
    console.print(f"Report: {escape(str(write_report(run)))}", soft_wrap=True)


@app.command()
def collect(run: RunFolder) -> None:
    """Rebuild scores.sqlite and the report from the episode folders."""
    from worldenv import bench as runner
    from worldenv import store
    from worldenv.run_folder import hold, read_run
    from worldenv.schedule import is_perfect_run

    store.records(run)
    with hold(run):
        rows = runner.collect(run)
    finish(runner.Results(run, tuple(rows), perfect=is_perfect_run(read_run(run))))


@app.command()
def explain(
    run: RunFolder,
    score_id: Annotated[
        str, typer.Argument(metavar="SCORE", help="Score id, as report.html lists them.")
    ],
) -> None:
    """Open one score: frames, masks, matches, and the formula with the numbers put in."""
    from worldenv.report.explain import explain_score

    explanation = explain_score(run, score_id)
    console.print(escape(explanation.text), soft_wrap=True)
    console.print(f"Page: {escape(str(explanation.page))}", soft_wrap=True)


@app.command()
def doctor() -> None:
    """Check this machine: versions, video codec, caches, display, a rendered frame."""
    from worldenv.doctor import examine

    table = RichTable("check", "result", "note")
    findings = examine()
    for finding in findings:
        colour = {"ok": "green", "note": "yellow", "problem": "red"}[finding.state]
        table.add_row(finding.check, f"[{colour}]{finding.state}[/]", escape(finding.note))
    console.print(table)
    if any(f.state == "problem" for f in findings):
        sys.exit(1)


def parse_shard(text: str | None) -> tuple[int, int] | None:
    """Return (i, n) of ``i/n``.

    Raises:
        WorldEnvError: the text is something else.
    """
    if text is None:
        return None
    first, _, second = text.partition("/")
    if not (first.isdecimal() and second.isdecimal()):
        raise WorldEnvError(f"--shard {text!r} is not i/n; expected e.g. 1/4.")
    return int(first), int(second)


def finish(results: Results, *, table: bool = True) -> None:
    """Print the table, name the failures, write the report and say where it is."""
    from worldenv.report.page import STAND_IN, write_report

    if table:
        print_summary(results.table())
    if any(row.stand_in for row in results.scores):
        console.print(STAND_IN, style="yellow", soft_wrap=True)
    for name, error in results.failed.items():
        errors.print(f"[red]failed[/] {escape(name)}: {escape(error)}", soft_wrap=True)
    console.print(f"Report: {escape(str(write_report(results.folder)))}", soft_wrap=True)
    if results.failed:
        sys.exit(1)


if __name__ == "__main__":
    main()

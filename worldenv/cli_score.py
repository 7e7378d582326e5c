"""The command ``score``: what is already on disk, one video or a benchmark's whole tree."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from worldenv.cli_cache import CacheFolder, use_cache
from worldenv.cli_judge import Judge, JudgeModel, use_judge
from worldenv.cli_weights import say_wanting
from worldenv.report.console import console, errors, print_summary, print_table, progress_bar
from worldenv.world import WorldEnvError


def score(
    source: Annotated[
        Path | None,
        typer.Argument(help="Rollout folder, video, JSON list of videos, or a benchmark's tree."),
    ] = None,
    path: Annotated[
        Path | None,
        typer.Option(
            "--path", help="Pose file of a video: json (ours, R2M, NeRF), TUM, KITTI, npy."
        ),
    ] = None,
    pose_direction: Annotated[
        str | None, typer.Option("--pose-direction", help="c2w or w2c.")
    ] = None,
    pose_axes: Annotated[
        str | None, typer.Option("--pose-axes", help="opencv, opengl, blender or unity.")
    ] = None,
    pose_scale: Annotated[
        float | None, typer.Option("--pose-scale", help="Metres a unit of the poses.")
    ] = None,
    trust_poses: Annotated[
        bool,
        typer.Option("--trust-poses", help="Score although the video moves otherwise."),
    ] = False,
    script: Annotated[
        str | None,
        typer.Option("--script", help="Script that the video walked: names its phases."),
    ] = None,
    case: Annotated[
        str | None, typer.Option("--case", help="Case id that the video starts from.")
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option("--benchmark", help="worldmembench, mbench or r2m; repeatable."),
    ] = None,
    suite: Annotated[
        str | None, typer.Option("--suite", help="Of a list or tree: the suite that was walked.")
    ] = None,
    mapping: Annotated[
        str | None,
        typer.Option("--mapping", help="Of a tree: worldmembench, mbench, or a TOML file."),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option("--task", help="R2M-Bench's 'name|video folder|pose file'; repeatable."),
    ] = None,
    profile: Annotated[
        str | None, typer.Option("--profile", help="Which backbones measure.")
    ] = None,
    judge: Judge = None,
    judge_model: JudgeModel = None,
    cache: CacheFolder = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Also keep rollout, scores and report here.")
    ] = None,
) -> None:
    """Score a recorded rollout, any video with its camera path, or many of them."""
    from worldenv import offline
    from worldenv.conventions import convention_of

    use_judge(judge, judge_model)
    say_wanting(profile or "classic")
    use_cache(cache)
    if task or mapping is not None or (source is not None and source.suffix == ".json"):
        alone = {"--path": path, "--script": script, "--case": case}
        for flag, value in alone.items():
            if value is not None:
                raise WorldEnvError(f"{flag} tells of one video; leave it out for a list or tree.")
        _score_many(source, mapping, task or [], suite, benchmark, profile, trust_poses, out)
        return
    if source is None:
        raise WorldEnvError("There is nothing to score; give a rollout folder, a video or --task.")
    if suite is not None:
        raise WorldEnvError("--suite belongs to a list or tree; name the case by --case.")
    stated = {"direction": pose_direction, "axes": pose_axes, "scale": pose_scale}
    stated = {key: value for key, value in stated.items() if value is not None}
    lines: list[str] = []
    with progress_bar(None) as advance:
        results = offline.score(
            source,
            path=path,
            script=script,
            case=case,
            benchmarks=benchmark,
            profile=profile,
            out=out,
            progress=advance,
            convention=convention_of(stated, "--pose") if stated else None,
            trust_poses=trust_poses,
            notify=lines.append,
        )
    for line in lines:
        console.print(f"[yellow]Note:[/] {escape(line)}", soft_wrap=True)
    for table in offline.tables(results):
        print_table(table)
    if out is not None:
        from worldenv.cli import finish

        finish(results, table=False)


def _score_many(
    source: Path | None,
    mapping: str | None,
    tasks: Sequence[str],
    suite: str | None,
    benchmarks: Sequence[str] | None,
    profile: str | None,
    trust_poses: bool,
    out: Path | None,
) -> None:
    """Score a list, a tree or tasks, a run folder a model."""
    from worldenv import trees
    from worldenv.bench import new_folder
    from worldenv.case import load_suite
    from worldenv.offline_tree import score_all
    from worldenv.report.page import write_report

    walked_suite = None if suite is None else load_suite(suite)
    if tasks:
        if source is not None or mapping is not None:
            raise WorldEnvError("--task names its own folders; leave out the source and --mapping.")
        found = trees.find_tasks(tasks)
    elif source is None:
        raise WorldEnvError("--mapping tells of a tree; give its folder.")
    elif mapping is not None:
        if not source.is_dir():
            raise WorldEnvError(f"{source} is no folder; --mapping tells of a tree.")
        found = trees.find_tree(source, trees.load_mapping(mapping), walked_suite)
    else:
        found = trees.find_listed(source)
    for line in (*found.unmatched, *(f"no video of {item}" for item in found.missing)):
        console.print(f"[yellow]unmatched[/] {escape(line)}", soft_wrap=True)
    lines: list[str] = []
    folder = out or new_folder()
    with progress_bar(None) as advance:
        results = score_all(
            found.walked,
            out=folder,
            suite=walked_suite,
            benchmarks=benchmarks,
            profile=profile or "classic",
            trust_poses=trust_poses,
            progress=advance,
            notify=lines.append,
        )
    for line in lines:
        console.print(f"[yellow]Note:[/] {escape(line)}", soft_wrap=True)
    failed = False
    for world, result in results.items():
        console.print(f"[bold]{escape(world)}[/]")
        print_summary(result.table())
        for name, error in result.failed.items():
            errors.print(f"[red]failed[/] {escape(name)}: {escape(error)}", soft_wrap=True)
            failed = True
        if result.scores:
            console.print(f"Report: {escape(str(write_report(result.folder)))}", soft_wrap=True)
    if failed or found.unmatched:
        sys.exit(1)

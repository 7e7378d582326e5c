"""Commands about judges: the options that name one, and questions for dynamic cases."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from worldenv.report.console import console
from worldenv.world import WorldEnvError

if TYPE_CHECKING:
    from worldenv.evaluators.judging.proposals import QuestionSet
    from worldenv.evaluators.judging.settings import JudgeSettings

Judge = Annotated[
    str | None,
    typer.Option(
        "--judge", help="http://HOST:PORT/v1, files:FOLDER, or a TOML file that lists judges."
    ),
]
JudgeModel = Annotated[
    str | None, typer.Option("--judge-model", help="Model name of the judge at an address.")
]

questions = typer.Typer(
    help="Propose, check and freeze eight questions on an event.", no_args_is_help=True
)


def use_judge(judge: str | None, model: str | None) -> None:
    """Make a judge the run's, here and in its workers, and say where frames will go.

    Raises:
        InvalidJudge: it is none.
    """
    from worldenv.evaluators.judging.settings import MODEL, VARIABLE, judge_settings

    if judge is not None:
        os.environ[VARIABLE] = judge
    if model is not None:
        os.environ[MODEL] = model
    settings = judge_settings()
    for one in settings.judge if settings is not None else ():
        leave = "frames stay in" if one.is_files else "frames are sent to"
        console.print(f"Judge {escape(one.model)}: {leave} {escape(one.address)}", soft_wrap=True)


@questions.command("propose")
def propose_questions(
    event: Annotated[str, typer.Option("--event", help="What will happen, in words.")],
    image: Annotated[Path, typer.Option("--image", help="The first view: a PNG or JPEG.")],
    out: Annotated[Path, typer.Option("--out", help="File to write.")],
    judge: Judge = None,
    judge_model: JudgeModel = None,
) -> None:
    """Let a judge propose eight questions, two an aspect, with reference answers."""
    from worldenv.case import read_image
    from worldenv.evaluators.judging import proposals
    from worldenv.evaluators.judging.settings import VARIABLE, judge_settings

    use_judge(judge, judge_model)
    settings = judge_settings()
    if settings is None:
        raise WorldEnvError(f"There is no judge to propose questions; give --judge or {VARIABLE}.")
    # Before a judge is asked, and perhaps paid.
    proposals.check_place(out)
    found = proposals.propose(event, read_image(str(image)), settings)
    proposals.save_questions(found, out)
    _show(found)
    console.print(f"Edit {escape(str(out))}, then: worldenv suites questions freeze {out}")


@questions.command("check")
def check_questions(
    file: Annotated[Path, typer.Argument(help="File of questions.")],
    rollout: Annotated[
        Path | None,
        typer.Option("--rollout", help="Rollout folder in which the event goes as it should."),
    ] = None,
    judge: Judge = None,
    judge_model: JudgeModel = None,
) -> None:
    """Check eight questions, and try them on a video in which all goes well."""
    from worldenv.evaluators.judging import proposals
    from worldenv.evaluators.judging.settings import VARIABLE, judge_settings

    found = proposals.load_questions(file)
    wrong = proposals.faults(found)
    good: list[bool] | None = None
    if rollout is not None:
        use_judge(judge, judge_model)
        settings = judge_settings()
        if settings is None:
            raise WorldEnvError(f"There is no judge to try them; give --judge or {VARIABLE}.")
        good = _try_out(found, rollout, settings)
        wrong += [
            f"the judge gives the other answer: {q.question}"
            for q, same in zip(found.questions, good, strict=True)
            if not same
        ]
    _show(found)
    for text in wrong:
        console.print(f"[yellow]problem[/] {escape(text)}", soft_wrap=True)
    if wrong:
        raise typer.Exit(1)
    console.print("The questions can be frozen." if found.frozen is None else "Frozen, unchanged.")


@questions.command("freeze")
def freeze_questions(
    file: Annotated[Path, typer.Argument(help="File of questions.")],
) -> None:
    """Freeze eight questions: whoever reads the file sees whether they were changed."""
    from worldenv.evaluators.judging import proposals

    found = proposals.load_questions(file)
    if found.frozen is not None:
        console.print("Frozen already, unchanged.")
        return
    proposals.save_questions(proposals.freeze(found), file)
    console.print(f"Frozen: {escape(str(file))}", soft_wrap=True)


def _try_out(found: QuestionSet, folder: Path, settings: JudgeSettings) -> list[bool]:
    from worldenv.evaluators.constants import whole
    from worldenv.evaluators.judged import phases_of, watched
    from worldenv.evaluators.judging import proposals
    from worldenv.rollout import Rollout

    walked = Rollout.load(folder)
    frames = watched(walked.target, whole("worldmembench.judge_stride"))
    if not frames:
        raise WorldEnvError(f"{folder} has no phases; expected a walk of worldmembench:dynamic.")
    images = tuple(walked.frames(frame, frame + 1)[0] for frame in frames)
    return proposals.try_out(found, frames, images, phases_of(walked.target), settings)


def _show(found: QuestionSet) -> None:
    table = RichTable("aspect", "question", "answer")
    for q in found.questions:
        table.add_row(q.aspect, escape(q.question), q.answer)
    console.print(table)

"""Commands about suites: list, show, fetch, import and verify them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from worldenv import cli_judge
from worldenv.report.console import console, progress_bar
from worldenv.world import UnknownName, WorldEnvError

suites = typer.Typer(help="Suites: list and show them, import those of others.")
suites.add_typer(cli_judge.questions, name="questions")

SOURCES = {
    "r2m-bench": ("GD-ML/R2MBench", "r2m"),
    "worldmembench-release": ("rescuerz/WorldMemBench", "worldmembench"),
    "mbench-data": ("studyOverflow/MBench-Data", "mbench"),
}
"""Id -> data set on the hub, and the layout or mapping it is read by."""


@suites.callback(invoke_without_command=True)
def suites_default(context: typer.Context) -> None:
    """List the suites, or do what a command says."""
    if context.invoked_subcommand is None:
        list_suites()


@suites.command("list")
def list_suites() -> None:
    """List the suites with their cases and scripts."""
    from worldenv.case import load_suite
    from worldenv.suites import imported
    from worldenv.worlds.reference.cases import SUITES

    table = RichTable("suite", "from", "cases", "items", "seeds", "categories", "scripts")
    for name in (*SUITES, *imported()):
        suite = load_suite(name)
        scripts = sorted({item.script.rpartition("/")[2].split(":")[-1] for item in suite})
        counts = Counter(case.category for case in suite.cases.values())
        kinds = ", ".join(f"{category} {count}" for category, count in counts.items())
        origin = "built in" if name in SUITES else "imported"
        names = {(case.category, case.kind) for case in suite.cases.values() if case.kind}
        if names:
            kinds += f" ({len(names)} kinds)"
        table.add_row(
            name,
            origin,
            str(len(suite.cases)),
            str(len(suite)),
            str(len(suite.seeds)),
            escape(kinds),
            ", ".join(scripts),
        )
    console.print(table)


@suites.command("show")
def show_suite(
    suite: Annotated[str, typer.Argument(help="Suite id.")],
    case: Annotated[list[str] | None, typer.Option("--case", help="Case id, repeatable.")] = None,
    cases: Annotated[int | None, typer.Option("--cases", help="Only the first N cases.")] = None,
    category: Annotated[
        str | None, typer.Option("--category", help="Only cases of this category, e.g. human.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="HTML file; without: SUITE.html here.")
    ] = None,
) -> None:
    """Draw a contact sheet: the first view of every case, its targets outlined."""
    from worldenv.case import load_suite
    from worldenv.report.sheet import write_sheet

    chosen = load_suite(suite)
    if category is not None:
        known = {c.category: None for c in chosen.cases.values()}
        if category not in known:
            raise UnknownName("category", category, known)
        chosen = chosen.select([c.id for c in chosen.cases.values() if c.category == category])
    chosen = chosen.select(case or cases)
    with progress_bar({suite: len(chosen.cases)}, "views") as advance:
        path = write_sheet(chosen, out or Path(f"{suite}.html"), lambda name: advance(name, 1))
    console.print(f"Contact sheet: {escape(str(path))}", soft_wrap=True)


@suites.command("import")
def import_suite(
    folder: Annotated[Path, typer.Argument(help="Folder of a published data set.")],
    name: Annotated[str, typer.Option("--as", help="Id to use it by.")],
    mapping: Annotated[
        str,
        typer.Option("--mapping", help="r2m, worldmembench, mbench, or a TOML file of your own."),
    ] = "r2m",
) -> None:
    """Import a benchmark's cases into a suite of your own."""
    _import(folder, name, mapping, {})


@suites.command("fetch")
def fetch_suite(
    name: Annotated[str, typer.Argument(help="; ".join(SOURCES))],
    source: Annotated[
        Path | None, typer.Option("--from", help="Folder or mirror instead of the hub.")
    ] = None,
    revision: Annotated[str, typer.Option("--revision", help="Of the hub's data set.")] = "main",
    mapping: Annotated[
        str | None, typer.Option("--mapping", help="Instead of the one that comes with it.")
    ] = None,
) -> None:
    """Fetch a published benchmark's data set and import it."""
    if name not in SOURCES:
        raise UnknownName("published suite", name, SOURCES)
    repository, usual = SOURCES[name]
    about = {"repository": repository, "revision": revision}
    folder = source
    if folder is None:
        console.print(f"Fetching the data set {repository} ({revision})", soft_wrap=True)
        folder = _snapshot(repository, revision)
    _import(folder, name, mapping or usual, about)


def _snapshot(repository: str, revision: str) -> Path:
    """Return where the hub's data set lies after fetching it.

    Raises:
        WorldEnvError: huggingface_hub is not installed, or the hub cannot be reached.
    """
    try:
        import huggingface_hub
    except ImportError:
        raise WorldEnvError(
            "Fetching needs huggingface_hub; install by: pip install 'worldenv[models]'."
        ) from None
    try:
        found = huggingface_hub.snapshot_download(
            repository, repo_type="dataset", revision=revision
        )
    except Exception as error:  # the hub's client raises its own, the network's and the disk's
        raise WorldEnvError(
            f"The data set {repository} cannot be fetched: {' '.join(str(error).split())[:300]} "
            "Download it elsewhere, or from a mirror (HF_ENDPOINT), and give its folder by --from."
        ) from None
    return Path(found)


def _import(folder: Path, name: str, mapping: str, about: dict[str, str]) -> None:
    from worldenv import suite_import
    from worldenv.suites import save
    from worldenv.trees import load_mapping

    if not folder.is_dir():
        raise WorldEnvError(f"{folder} is no folder; give the folder of the data set.")
    if mapping == "r2m":
        draft = suite_import.read_r2m(folder, name)
    else:
        draft = suite_import.read_mapped(folder, name, load_mapping(mapping))
    draft.source |= {"mapping": mapping, **about}
    files = len(draft.images) + len(draft.poses)
    with progress_bar({name: files}, "files") as advance:
        place = save(draft, lambda n: advance(name, n))
    for line in suite_import.describe(draft):
        console.print(escape(line), soft_wrap=True)
    console.print(f"Imported to {escape(str(place))}", soft_wrap=True)


@suites.command("verify")
def verify_suite(
    name: Annotated[str | None, typer.Argument(help="Suite id; without: all imported.")] = None,
) -> None:
    """Check imported suites: files unchanged, images readable, every path rigid."""
    from worldenv.suites import imported, verify
    from worldenv.worlds.reference.cases import SUITES

    if name in SUITES and name not in imported():
        console.print(f"{name} is built in: its cases come with the package, nothing to verify.")
        return
    names = [name] if name is not None else list(imported())
    if not names:
        console.print("No suite was imported; worldenv suites fetch or import brings one.")
        return
    wrong = []
    for each in names:
        found = verify(each)
        wrong += found
        state = "[red]damaged[/]" if found else "[green]ok[/]"
        console.print(f"{escape(each)}: {state}")
        for line in found:
            console.print(f"  {escape(line)}", soft_wrap=True)
    if wrong:
        raise typer.Exit(1)

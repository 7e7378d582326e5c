"""Make a model's own environment from its recipe, and check one before it is saved."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from worldenv.installed import InvalidSetup, Launch
from worldenv.recipe import Recipe, Weights
from worldenv.worlds.remote import RemoteWorld

__all__ = ["Step", "check", "check_server", "create", "describe", "launch_of", "steps"]

_LOOK = "import sys, numpy; print(sys.version_info >= (3, 9), sys.version.split()[0])"
_FETCH = (
    "import sys; from huggingface_hub import snapshot_download as fetch; "
    "fetch(sys.argv[1], revision=sys.argv[2], local_dir=sys.argv[3], "
    "allow_patterns=sys.argv[4:] or None)"
)
_LOOK_SECONDS = 120


@dataclasses.dataclass(frozen=True)
class Step:
    """One command of making an environment.

    Attributes:
        title: What it is for.
        command: The command, run without a shell.
        folder: Where it runs, None for here.
    """

    title: str
    command: tuple[str, ...]
    folder: str | None = None

    @property
    def text(self) -> str:
        """The command as one would type it."""
        typed = shlex.join(self.command)
        return typed if self.folder is None else f"cd {shlex.quote(self.folder)} && {typed}"


def steps(recipe: Recipe, folder: Path, python: str | None = None) -> list[Step]:
    """Return what makes the environment of a recipe; each step can be done again.

    Args:
        recipe: The recipe.
        folder: Folder of it all.
        python: Interpreter to make the virtual environment with; by default the recipe's version.
    """
    launch = launch_of(recipe, folder)
    made = launch.python
    base = python or f"python{recipe.python}"
    found = [Step("virtual environment", (base, "-m", "venv", str(folder / "env")))]
    if recipe.repo is not None:
        git = ("git", "-C", launch.repo)
        branches = "+refs/heads/*:refs/remotes/origin/*"
        found += [
            Step("code", ("git", "init", "-q", launch.repo)),
            Step("code", (*git, "config", "remote.origin.url", recipe.repo.url)),
            Step("code", (*git, "fetch", "-q", "origin", branches)),
            Step("code", (*git, "checkout", "-q", "--detach", recipe.repo.commit)),
            Step("code", (*git, "submodule", "update", "-q", "--init", "--recursive")),
        ]
    pip = (made, "-m", "pip", "install")
    hub = ("huggingface_hub",) if recipe.weights else ()
    found.append(Step("requirements", (*pip, "numpy", *hub, *recipe.requirements)))
    if recipe.requirements_file:
        file = os.path.join(launch.repo, recipe.requirements_file)
        found.append(Step("requirements", (*pip, "-r", file)))
    places = {
        "python": made,
        "repo": launch.repo,
        "weights": launch.weights,
        "folder": str(folder),
    }
    for text in recipe.steps:
        words = tuple(word.format(**places) for word in shlex.split(text))
        found.append(Step("installation", words, launch.repo or None))
    found += [_fetch(weights, made, Path(launch.weights)) for weights in recipe.weights]
    return found


def _fetch(weights: Weights, python: str, folder: Path) -> Step:
    place = str(folder / weights.place)
    size = f", {weights.gigabytes:g} GB" if weights.gigabytes else ""
    return Step(
        f"weights of {weights.hub}{size}, {weights.licence}",
        (python, "-c", _FETCH, weights.hub, weights.revision, place, *weights.files),
    )


def launch_of(recipe: Recipe, folder: Path) -> Launch:
    """Return how the server is started in an environment that ``create`` made."""
    return Launch(
        python=str(folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"),
        adapter=recipe.adapter,
        repo=str(folder / "repo") if recipe.repo is not None else "",
        weights=str(folder / "weights") if recipe.weights else "",
        options=dict(recipe.options),
        environment=dict(recipe.environment),
        nproc=recipe.nproc,
    )


def describe(recipe: Recipe, world: str, folder: Path | None = None) -> list[str]:
    """Return, line by line, what a model needs and every command that sets it up.

    Args:
        recipe: Its recipe.
        world: Name of the world.
        folder: Where it would go.
    """
    where = Path("FOLDER") if folder is None else folder
    more = "" if all(weights.gigabytes for weights in recipe.weights) else "more than "
    size = f"{more}{recipe.gigabytes:g} GB" if recipe.gigabytes else "size not known"
    gpu = f"{recipe.gpus} GPU of {recipe.gpu_gigabytes:g} GiB" if recipe.gpu_gigabytes else "no GPU"
    memory = f", {recipe.memory_gigabytes:g} GiB of memory" if recipe.memory_gigabytes else ""
    lines = [
        f"{recipe.title}: Python {recipe.python}, {gpu}{memory}"
        + (f", weights {size}" if recipe.weights else ""),
        f"Licence: {recipe.licence}",
    ]
    lines += [
        f"Accept the licence of {weights.hub} on the hub first, and set HF_TOKEN"
        for weights in recipe.weights
        if weights.gated
    ]
    lines += list(recipe.notes)
    lines += [step.text for step in steps(recipe, where)]
    shown = shlex.quote(str(where)) if folder else "FOLDER"
    return [*lines, f"All of it: worldenv setup {world} --create {shown}"]


def create(
    recipe: Recipe, folder: Path, say: Callable[[str], None], python: str | None = None
) -> Launch:
    """Make an environment, step by step; what an earlier call finished is not done again.

    Args:
        recipe: Its recipe.
        folder: Where; made when absent.
        say: Told every command before it runs. What it writes goes to ``setup.log``.
        python: As in ``steps``.

    Raises:
        InvalidSetup: a step failed; the message names it and the log.
    """
    folder = folder.absolute()
    log, done_file = folder / "setup.log", folder / "setup.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        done: list[str] = json.loads(done_file.read_text("utf-8")) if done_file.exists() else []
        if not isinstance(done, list):
            raise ValueError(f"{done_file} is no list of steps; remove it")
    except (OSError, ValueError) as error:
        raise InvalidSetup(f"{folder} cannot be used for an environment: {error}") from error
    for step in steps(recipe, folder, python or _interpreter(recipe.python)):
        mark = hashlib.sha256(step.text.encode()).hexdigest()[:16]
        if mark in done:
            say(f"# done before: {step.text}")
            continue
        say(step.text)
        with log.open("ab") as output:
            output.write(f"\n$ {step.text}\n".encode())
            output.flush()
            try:
                code = subprocess.run(
                    step.command, cwd=step.folder, stdout=output, stderr=subprocess.STDOUT
                ).returncode
            except OSError as error:
                raise InvalidSetup(f"{step.title}: {step.command[0]}: {error}") from error
        if code:
            raise InvalidSetup(
                f"{step.title} failed (exit code {code}): {_tail(log)}. The whole is in {log}; the "
                "same command goes on from here"
            )
        done.append(mark)
        draft = done_file.with_suffix(".part")
        draft.write_text(json.dumps(done), "utf-8")
        os.replace(draft, done_file)
    return launch_of(recipe, folder)


def _interpreter(version: str) -> str:
    """Return an interpreter of a version.

    Raises:
        InvalidSetup: there is none.
    """
    for candidate in (sys.executable, f"python{version}", "python3"):
        path = shutil.which(candidate)
        if path is None:
            continue
        code = "import sys; print('{}.{}'.format(*sys.version_info))"
        done = subprocess.run([path, "-c", code], capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.strip() == version:
            return path
    raise InvalidSetup(
        f"Python {version} was not found; install it, or name another with --python, at your own "
        "risk"
    )


def _tail(log: Path) -> str:
    lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines()]
    return " | ".join([line for line in lines if line][-3:])[-500:]


def check(launch: Launch) -> str:
    """Look whether what a configuration names is there; return the Python version it runs.

    Raises:
        InvalidSetup: a folder is absent, or the interpreter does not run or has no numpy.
    """
    for name, place in (("--repo", launch.repo), ("--weights", launch.weights)):
        if place and not Path(place).exists():
            raise InvalidSetup(f"{name} {place} does not exist")
    try:
        done = subprocess.run(
            [launch.python, "-c", _LOOK], capture_output=True, text=True, timeout=_LOOK_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InvalidSetup(f"--python {launch.python} does not run: {error}") from error
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no reason given"]
        raise InvalidSetup(
            f"--python {launch.python} cannot be used ({said[-1]}); it needs numpy: "
            f"{launch.python} -m pip install numpy"
        )
    new, _, version = done.stdout.strip().partition(" ")
    if new != "True":
        raise InvalidSetup(f"--python {launch.python} is Python {version}; 3.9 is the oldest")
    return version


def check_server(launch: Launch, world: str, words: Sequence[str] = ()) -> str:
    """Start the server once and return what its world is called.

    Args:
        launch: How.
        world: Name of the world, for messages.
        words: Further arguments of the server.

    Raises:
        ServerLost: it does not start or answer; the message ends with its log.
    """
    tried = dataclasses.replace(launch, arguments=(*launch.arguments, *words))
    remote = RemoteWorld.launched(tried, world)
    try:
        return remote.spec.name
    finally:
        remote.close()

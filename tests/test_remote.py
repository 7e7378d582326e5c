"""Remote-v0 and its server, as real processes: the same frames, and every way of failing."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
import remote_worlds
from remote_worlds import serving
from test_wire import assert_equal, fuzzed

from worldenv import bench, parcels, store, wire
from worldenv.camera import CameraPath, integrate
from worldenv.case import load_suite
from worldenv.env import WorldEnv
from worldenv.line import Line
from worldenv.pack import export
from worldenv.vendored.websockets.sync.server import serve
from worldenv.wire import WireError, WrongIndex, encode, read_whole
from worldenv.world import Chunk, GenerationFailed, Start, Unsupported, WorldEnvError
from worldenv.worlds import load_world
from worldenv.worlds.remote import RemoteWorld, ServerBusy, ServerLost, make

WAYWARD = str(Path(remote_worlds.__file__)) + ":make"
POSES = integrate(np.tile([0, 3.0, 0, 0, 0, 0.05], (40, 1)))
SILENCE = 3.0


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A well-behaved server; its address."""
    with serving(tmp_path_factory.mktemp("server"), WAYWARD) as (address, _):
        yield address


def walked(world, n=6):
    """Return the chunks of a short walk."""
    chunks = [world.reset(Start(), seed=3, plan=CameraPath(POSES))]
    return chunks + [world.step(POSES[i : i + 1]) for i in range(1, n)]


def running(process):
    """Return the processes below one that are alive."""
    listed = subprocess.run(
        ["ps", "-o", "pid=,stat=", "--ppid", str(process.pid)], capture_output=True, text=True
    ).stdout.split("\n")
    return [line for line in listed if line.strip() and " Z" not in line]


def test_a_remote_walk_is_the_local_walk(server):
    local = remote_worlds.make()
    with closing(RemoteWorld(server)) as remote:
        assert remote.spec == local.spec and remote.device == "toy"
        for a, b in zip(walked(remote), walked(local), strict=True):
            assert_equal(a, b)


@pytest.mark.slow
def test_reference_is_bit_identical_through_the_environment(tmp_path):
    options = {"size": [48, 32], "chunk": 3}
    case = load_suite("mbench").items[0]
    world = "worldenv.worlds.reference:make"
    with serving(tmp_path, world, options=options) as (address, _):
        envs = [
            WorldEnv(load_world("Remote-v0", address=address), control="plan", max_frames=90),
            WorldEnv(load_world("Reference-v0", **options), control="plan", max_frames=90),
        ]
        runs = []
        for env in envs:
            _, info = env.reset(seed=5, options={"case": case.case, "script": case.script})
            chunks, over = [info["chunk"]], False
            while not over:
                _, _, _, over, info = env.step(0)
                chunks.append(info["chunk"])
            runs.append(chunks)
            env.close()
    assert len(runs[0]) == len(runs[1]) > 25
    for a, b in zip(*runs, strict=True):
        assert_equal(a, b)
        assert set(b.truth) == {"pose", "depth", "ids", "state"}


@pytest.mark.parametrize(
    ("prompt", "seed", "words"),
    [
        ("x" * 70_000, 0, "accepts up to 65536"),
        ("\ud800", 0, "Unicode text"),
        ("", 1 << 64, "2\\*\\*64"),
    ],
)
def test_what_cannot_be_sent_is_said_before_it_is_sent(server, prompt, seed, words):
    with closing(RemoteWorld(server)) as remote, pytest.raises(Unsupported, match=words):
        remote.reset(Start(prompt=prompt), seed=seed)


@pytest.mark.parametrize("poses", [None, "x", np.eye(4), np.zeros((0, 4, 4))])
def test_poses_of_another_shape_are_refused(server, poses):
    with closing(RemoteWorld(server)) as remote:
        remote.reset(Start(), seed=0)
        with pytest.raises(Unsupported, match=r"poses \(n, 4, 4\)"):
            remote.step(poses)
        remote.step(POSES[1:2])


def test_snapshots_are_there_where_the_world_has_them(server, tmp_path):
    with closing(RemoteWorld(server)) as remote:
        walked(remote)
        token = remote.snapshot()
        once = [remote.step(POSES[i : i + 1]) for i in range(6, 9)]
        remote.restore(token)
        again = [remote.step(POSES[i : i + 1]) for i in range(6, 9)]
        for a, b in zip(once, again, strict=True):
            assert_equal(a, b)
        with pytest.raises(Unsupported, match="token"):
            remote.restore(object())
        with pytest.raises(Unsupported, match="start image smaller"):
            remote.reset(Start(image=np.zeros((3000, 3000, 3), np.uint8)), seed=1)
        for _ in range(1100):  # dropped tokens are dropped on the server too
            token = remote.snapshot()
        remote.restore(token)
    toy = str(Path(remote_worlds.__file__).with_name("toy_world.py")) + ":make"
    with serving(tmp_path, toy) as (address, _), closing(RemoteWorld(address)) as plain:
        assert not hasattr(plain, "snapshot") and not hasattr(plain, "restore")


def test_what_the_world_refuses_is_refused_here(tmp_path):
    for what, error, text in (
        ("refuse", Unsupported, "told to refuse"),
        ("break", GenerationFailed, "RuntimeError: the toy was told to break"),
        ("shorten", GenerationFailed, "0 frames where 1 were asked for"),
    ):
        with serving(tmp_path, WAYWARD, options={"at": 2, "what": what}) as (address, process):
            with closing(RemoteWorld(address)) as remote:
                walked(remote, 2)
                with pytest.raises(error, match=text) as caught:
                    remote.step(POSES[2:3])
                assert type(caught.value) is error
                # The server goes on, and so does the client.
                assert len(walked(remote, 2)) == 2
            assert process.poll() is None


def test_steps_are_counted_and_never_done_twice(server):
    line = Line(server, None, SILENCE)
    line.open(True)

    def step(index, pose=POSES[1:2]):
        fields = {"index": index, "prompt": None}
        return line.chunk(line.ask(encode("step", fields, {"poses": pose}), "chunk"))

    with pytest.raises(WrongIndex, match="before a reset"):
        step(1)
    line.ask(encode("reset", {"seed": 1, "prompt": None, "scene": None, "plan": None}), "chunk")
    with pytest.raises(WrongIndex, match="step 2 came where 1"):
        step(2)
    first = step(1)
    assert_equal(step(1), first)
    assert first.truth["state"][0]["instances"][3]["variant"] == 1
    with pytest.raises(WrongIndex, match="step 1 came where 2"):
        step(1, POSES[5:6])
    assert step(2).truth["state"][0]["instances"][3]["variant"] == 2
    for bad in (-1, 1.0, "3", None, True):
        with pytest.raises(WireError):
            step(bad)
    with pytest.raises(WireError, match="longest chunk"):
        step(3, POSES[:2])
    line.close()


def test_slow_steps_are_waited_for_and_pinged_meanwhile(tmp_path):
    options = {"at": 1, "what": "work", "seconds": 4.5}
    with serving(tmp_path, WAYWARD, options=options) as (address, _):
        with closing(RemoteWorld(address, silence=2.0)) as remote:
            said = []
            remote.progress = lambda *what: said.append(what)
            walked(remote, 1)
            walker = threading.Thread(target=remote.step, args=(POSES[1:2],))
            walker.start()
            time.sleep(0.3)
            began = time.monotonic()
            other = Line(address, None, SILENCE)
            health = other.ask(encode("health"), "health").fields
            assert time.monotonic() - began < 1.5, "nobody answered while the world worked"
            assert health["busy"] is True and health["world"] == "Toy"
            other.close()
            walker.join()
    assert len(said) >= 3
    assert said[-1][0] > 2 and said[-1][1:] == (0.5, "half way")


@pytest.mark.parametrize("what", ["die", "hang"])
def test_a_server_that_is_lost_is_an_error_and_found_again_at_reset(what, tmp_path):
    options = {"at": 3, "what": what}
    with serving(tmp_path, WAYWARD, options=options) as (address, process):
        remote = RemoteWorld(address, silence=SILENCE)
        walked(remote, 3)
        began = time.monotonic()
        with pytest.raises(ServerLost, match="died" if what == "die" else "said nothing"):
            remote.step(POSES[3:4])
        assert time.monotonic() - began < SILENCE + 2
        with pytest.raises(GenerationFailed, match="call reset"):
            remote.step(POSES[3:4])
        if what == "hang":
            process.send_signal(signal.SIGCONT)
            # It goes on where it was, sees that the client is gone, and is free.
            assert len(walked(remote, 2)) == 2
        else:
            with pytest.raises(ServerLost, match="no world server"):
                remote.reset(Start(), seed=1)
            port = address.rpartition(":")[2]
            with serving(tmp_path, WAYWARD, "--port", port):
                assert len(walked(remote, 3)) == 3
        remote.close()
        remote.close()


@pytest.mark.parametrize(
    "answer",
    [b"garbage", "text", b"WE\x01\x00\xff\xff\xff\xff", bytes(100), "close", "kind", "shape"],
)
def test_a_server_that_answers_garbage_is_lost_at_once(answer):
    spec = remote_worlds.make().spec
    frame = np.zeros((1, 24, 32, 3), np.uint8)

    def answer_to(connection):
        for raw in connection:
            message = wire.decode(raw, wire.request_limits(spec))
            if message.kind == "hello":
                fields = {"spec": parcels.write_spec(spec), "snapshots": False, "device": None}
                connection.send(b"".join(encode("welcome", fields)))
            elif message.kind == "open":
                connection.send(b"".join(encode("opened")))
            elif message.kind == "reset" or answer == "kind":
                index = 0 if message.kind == "reset" else 7
                chunk = Chunk(frame, np.eye(4)[None])
                connection.send(b"".join(parcels.write_chunk(chunk, {"index": index})))
            elif answer == "shape":
                chunk = Chunk(frame[:, :5], np.eye(4)[None])
                connection.send(b"".join(parcels.write_chunk(chunk, {"index": 1})))
            elif answer == "close":
                connection.close(reason="had enough")
            else:
                connection.send(answer)

    with serve(answer_to, "127.0.0.1", 0, compression=None) as listener:
        threading.Thread(target=listener.serve_forever, daemon=True).start()
        port = listener.socket.getsockname()[1]
        remote = RemoteWorld(f"ws://127.0.0.1:{port}", silence=SILENCE)
        remote.reset(Start(), seed=1)
        with pytest.raises(ServerLost, match="had enough" if answer == "close" else "no sense"):
            remote.step(POSES[1:2])
        remote.close()
        listener.shutdown()


def test_an_environment_by_name(server):
    with closing(
        gym.make("worldenv:Remote-v0", address=server, script="worldmembench:lrlr")
    ) as env:
        first, _ = env.reset(seed=3)
        observation, _, _, _, info = env.step(0)
        assert observation.shape == first.shape == (24, 32, 3)
        assert info["chunk"].truth["state"][0]["instances"][3]["variant"] == 1


def test_a_server_that_answers_byte_by_byte_is_given_up():
    over = threading.Event()

    def drip():
        connection, _ = listener.accept()
        with connection:
            while not over.wait(0.2):
                connection.sendall(b"H")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        began = time.monotonic()
        try:
            with pytest.raises(ServerLost, match="no world server"):
                RemoteWorld(f"127.0.0.1:{listener.getsockname()[1]}", silence=2.0)
        finally:
            over.set()
            thread.join(5)
        assert time.monotonic() - began < 10


def test_an_error_from_afar_is_one_plain_line():
    error = parcels.read_error({"error": "Unsupported", "text": "no\nmemory \x1b[31m left"})
    assert isinstance(error, Unsupported) and str(error) == "no memory [31m left"


def test_what_is_no_server_is_said_so(tmp_path):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        with pytest.raises(ServerLost, match="no world server"):
            RemoteWorld(f"127.0.0.1:{port}", silence=2.0)
    with pytest.raises(ServerLost, match="worldenv serve"):
        make(address=f"ws://127.0.0.1:{port}")
    for bad in ("http://x:1", "ws://", "ws://a b", "ws://me:secret@x:1", "", 3, []):
        with pytest.raises(Unsupported):
            RemoteWorld(bad)
    for wrong in (3, True, ["a"]):
        with pytest.raises(Unsupported):
            make(launch=wrong)
        with pytest.raises(Unsupported, match="token file"):
            make(address="ws://x:1", token_file=wrong)
        with pytest.raises(Unsupported, match=r"no address|expected the address"):
            load_world("MatrixGame2", server=[wrong])
    with pytest.raises(Unsupported, match="silence"):
        RemoteWorld("ws://127.0.0.1:1", silence=float("inf"))
    for options in ({}, {"address": "ws://x:1", "addresses": ["ws://y:1"]}):
        with pytest.raises(Unsupported, match="one of"):
            make(**options)
    with pytest.raises(Unsupported, match="silence"):
        RemoteWorld("ws://127.0.0.1:1", silence=0.1)
    with pytest.raises(Unsupported, match="token"):
        make(address="ws://127.0.0.1:1", token_file=str(tmp_path / "none"))


def test_one_client_has_the_world_and_the_others_queue(server):
    first, second, third = (Line(server, None, SILENCE) for _ in range(3))
    first.open(True)
    with pytest.raises(ServerBusy, match="number 1"):
        second.open(False)
    with pytest.raises(WireError, match="open one first"):
        third.ask(encode("snapshot"), "token")
    places = []
    waiting = threading.Thread(
        target=second.open, args=(True, lambda *what: places.append(what[2]))
    )
    waiting.start()
    time.sleep(0.2)
    other = Line(server, None, SILENCE)
    with pytest.raises(ServerBusy, match="number 2"):
        other.open(False)
    assert waiting.is_alive()
    first.close()
    waiting.join(5)
    assert not waiting.is_alive() and places[0] == "1 in the queue"
    for line in (second, third, other):
        line.close()


def test_a_silent_client_gives_way_to_one_that_waits(tmp_path):
    with serving(tmp_path, WAYWARD, "--idle", "1") as (address, _):
        with closing(RemoteWorld(address)) as first, closing(RemoteWorld(address)) as second:
            walked(first, 2)
            time.sleep(1.2)
            walked(first, 2)  # nobody waits: nothing is taken away
            walked(second, 2)
            with pytest.raises(ServerLost, match="another client waited"):
                first.step(POSES[2:3])
            walked(first, 2)
            time.sleep(1.2)
            walked(second, 2)
            time.sleep(1.2)
            # What was taken between two episodes is asked for again, without an error.
            assert len(walked(first, 2)) == 2


def test_several_servers_of_one_world_share_the_clients(tmp_path):
    with (
        serving(tmp_path / "a", WAYWARD) as (one, _),
        serving(tmp_path / "b", WAYWARD) as (two, _),
        serving(tmp_path / "c", WAYWARD, options={"chunk": 2}) as (other, _),
    ):
        with (
            closing(make(addresses=f"{one}, {two}")) as first,
            closing(make(addresses=[one, two])) as second,
        ):
            for a, b in zip(walked(first), walked(second), strict=True):
                assert_equal(a, b)
        with closing(make(addresses=[one, other])) as mixed, closing(make(address=one)) as holder:
            walked(holder, 1)
            with pytest.raises(Unsupported, match="another world than expected: its chunk is 2"):
                walked(mixed, 1)


def test_a_stand_in_is_not_taken_for_the_model(tmp_path):
    spec = remote_worlds.make().spec
    with serving(tmp_path, WAYWARD, options={"stand_in": True}) as (address, _):
        with closing(RemoteWorld(address, spec=spec)) as remote:
            with pytest.raises(Unsupported, match="its stand_in is True, not False"):
                walked(remote, 1)


def test_a_moved_server_is_the_same_world():
    for world, options, servers, identity in (
        ("Remote-v0", {"addresses": "ws://a:1, ws://b:2"}, 2, {}),
        ("Remote-v0", {"launch": "WorldPlay"}, 0, {}),
        ("WorldPlay-v0", {"server": "ws://a:1", "context": "none"}, 1, {"context": "none"}),
        ("Reference-v0", {"fov": 60}, 0, {"fov": 60}),
        ("mine.py:make", {"server": "x"}, 0, {"server": "x"}),
    ):
        settings = bench.Settings(world, options)
        assert settings.servers == servers
        assert settings.identity == settings.to_dict()["world_options"] == identity


def test_a_token_is_needed_to_bind_elsewhere_and_is_checked(tmp_path):
    refused = subprocess.run(
        [sys.executable, "-m", "worldenv.serve", "--world", WAYWARD, "--host", "0.0.0.0"],
        env={**os.environ, "PYTHONPATH": remote_worlds.python_path(), "WORLDENV_TOKEN": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert refused.returncode == 2 and "give a token" in refused.stderr
    token = tmp_path / "token"
    token.write_text("sesame-7391\n")
    arguments = ("--host", "0.0.0.0", "--token-file", str(token))
    with serving(tmp_path, WAYWARD, *arguments) as (address, _):
        here = address.replace("0.0.0.0", "127.0.0.1")
        for wrong in (None, "sesame", "sesame-7391x"):
            with pytest.raises(ServerLost, match="refuses the token"):
                RemoteWorld(here, token=wrong)
        with closing(make(address=here, token_file=str(token))) as remote:
            walked(remote, 2)
    assert "sesame" not in (tmp_path / "log.txt").read_text()


def test_a_page_in_a_browser_cannot_come_in(server):
    host, port = server[5:].split(":")
    lines = (
        "GET / HTTP/1.1",
        f"Host: {host}:{port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Version: 13",
        "Origin: http://evil.example",
    )
    for request, status in (
        ("\r\n".join(lines) + "\r\n\r\n", b"403"),
        (f"GET /health HTTP/1.1\r\nHost: {host}\r\n\r\n", b"200"),
        ("nonsense\r\n\r\n", b""),
    ):
        with socket.create_connection((host, int(port)), 5) as connection:
            connection.sendall(request.encode())
            data = b"".join(iter(lambda c=connection: c.recv(4096), b""))
            assert status in data.split(b"\r\n")[0]


def test_ten_thousand_fuzzed_messages_leave_the_server_standing(tmp_path):
    def peak(process):
        status = Path(f"/proc/{process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) << 10

    with serving(tmp_path, WAYWARD, options={"chunk": 4}) as (address, process):
        line = Line(address, None, 20.0)
        line.open(True)
        before, answered = peak(process), 0
        for raw in fuzzed(10_000, seed=1):
            try:
                line.ask([raw], "nothing is of this kind")
            except ServerLost as error:
                # A valid answer of another kind, or a valid farewell: come again.
                assert "answers" in str(error) or "died or was ended" in str(error), error
                line.drop()
                line = Line(address, None, 20.0)
                line.open(True)
            except (GenerationFailed, WireError, Unsupported):
                answered += 1
            except Exception as error:
                assert type(error).__module__ in ("worldenv.world", "worldenv.camera"), error
                answered += 1
        line.close()
        assert answered > 5000
        assert peak(process) - before < 2 * wire.request_limits(remote_worlds.make().spec).message
        with closing(RemoteWorld(address)) as remote:
            assert len(remote.reset(Start(), seed=1).frames) == 1
        assert process.poll() is None


def test_a_parent_that_is_gone_takes_the_server_along(tmp_path):
    with serving(tmp_path, WAYWARD) as (address, process):
        line = Line(address, None, SILENCE)
        line.open(True)
        process.stdin.close()
        assert process.wait(10) == 0
        # What the server said last is lost where the reset of its socket comes before it is read.
        with pytest.raises(ServerLost, match=r"told to end|died or was ended"):
            line.ask(encode("health"), "health")


@pytest.mark.parametrize("what", ["die", "hang"])
def test_a_bench_keeps_a_failed_row_of_a_server_that_was_lost(what, tmp_path):
    case = load_suite("mbench").items[0].case.id
    options = {"at": 5, "what": what}
    with serving(tmp_path, WAYWARD, options=options) as (address, process):
        results = bench.run(
            world="Remote-v0",
            cases=[case],
            profile="classic",
            world_options={"address": address, "silence": SILENCE},
            controls=False,
            workers=1,
            out=tmp_path / "run",
        )
        assert results.failed and not running(process)
    (error,) = set(results.failed.values())
    assert "said nothing" in error if what == "hang" else "died" in error or "no world" in error
    for _, record in store.records(tmp_path / "run"):
        assert record.status == "failed" and record.error


def remote_run(out, addresses, **changes):
    keywords = {
        "world": "Remote-v0",
        "cases": [load_suite("mbench").items[0].case.id],
        "profile": "classic",
        "world_options": {"addresses": addresses},
        "controls": False,
        "out": out,
    }
    return bench.run(**{**keywords, **changes})


@pytest.mark.slow
def test_a_bench_is_shared_by_several_servers_and_resumed_on_another(tmp_path):
    with serving(tmp_path / "a", WAYWARD) as (one, _):
        with serving(tmp_path / "b", WAYWARD) as (two, _):
            with pytest.raises(WorldEnvError, match="3 workers need as many servers, got 2"):
                remote_run(tmp_path / "run", [one, two], workers=3)
            shared = remote_run(tmp_path / "run", [one, two], seeds=(0, 1, 2))
            assert not shared.failed and shared.made >= 3
            assert {row.world for row in shared.scores} == {"Remote-v0 Toy"}
        local = bench.run(
            world=WAYWARD,
            cases=[load_suite("mbench").items[0].case.id],
            profile="classic",
            seeds=(0, 1, 2),
            controls=False,
            workers=1,
            out=tmp_path / "local",
        )
        values = [
            [(r.metric, r.seed, r.value, r.status) for r in run.scores] for run in (shared, local)
        ]
        assert sorted(values[0], key=str) == sorted(values[1], key=str)
    with serving(tmp_path / "c", WAYWARD) as (moved, _):
        assert moved not in (one, two)
        again = remote_run(tmp_path / "run", [moved], seeds=(0, 1, 2))
        assert again.made == 0 and again.scores == shared.scores
    with serving(tmp_path / "d", WAYWARD, options={"seconds": 1.0}) as (other, _):
        assert remote_run(tmp_path / "run", other, seeds=(0,)).made >= 1


@pytest.mark.slow
def test_ranks_take_the_same_steps_and_die_together(tmp_path):
    pytest.importorskip("torch")
    summing = str(Path(remote_worlds.__file__)) + ":summing"
    with serving(tmp_path, summing, "--nproc", "2") as (address, process):
        with closing(RemoteWorld(address)) as remote:
            shown = [int(chunk.frames[0, 0, 0, 0]) for chunk in walked(remote, 4)]
            assert shown == [3, 6, 9, 12]
        assert len(running(process)) == 1
    assert not running(process)
    # This time from the file, whose ranks must start from it too.
    command = [sys.executable, str(export(tmp_path / "server.pyz", summing))]
    words = ("--nproc", "2")
    with serving(tmp_path, "", *words, options={"at": 2}, command=command) as (address, process):
        with closing(RemoteWorld(address)) as remote:
            walked(remote, 2)
            with pytest.raises(GenerationFailed, match=r"rank 1 died \(exit code 7\)"):
                remote.step(POSES[2:3])
        assert process.wait(10) == 3
        assert not running(process)
    assert "rank 1 died" in (tmp_path / "log.txt").read_text()


def test_index_fields_are_whole_numbers():
    message = wire.decode(b"".join(encode("step", {"index": 3})), wire.Limits(1000))
    assert read_whole(message, "index") == 3

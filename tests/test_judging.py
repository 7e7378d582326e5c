"""Judges: the prompts, a server that misbehaves, files, votes, and the scores that follow."""

import json

import numpy as np
import pytest
from judge_server import PAIR, Script, message, serving, slow

from worldenv.case import Case, Event, Target, load_script, load_suite
from worldenv.evaluators import judged
from worldenv.evaluators.backbones.judge import VisionJudge
from worldenv.evaluators.engine import build_engine
from worldenv.evaluators.judging import endpoint, prompts, proposals
from worldenv.evaluators.judging.panel import Panel, Posed, encode
from worldenv.evaluators.judging.questions import Checklist, Pair, Proposal, Rating, Verdict
from worldenv.evaluators.judging.settings import (
    InvalidJudge,
    Judge,
    JudgeSettings,
    judge_settings,
)
from worldenv.evaluators.plan import Ask, Failure
from worldenv.world import Chunk

IMAGE = np.arange(32 * 48 * 3, dtype=np.uint8).reshape(32, 48, 3)
PHASES = (("V", 0, 59), ("D1", 60, 299), ("R1", 300, 419), ("H", 420, 480))
LIST = {"event_starts": True, "progress": 80, "answers": ["yes", "no"] * 4}
QUESTIONS = [
    {"aspect": aspect, "question": f"Does the ice {n} on its tray ({aspect})?", "answer": answer}
    for aspect in proposals.ASPECTS
    for n, answer in (("melt", "yes"), ("grow", "no"))
]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLDENV_CACHE", str(tmp_path / "cache"))
    for name in ("WORLDENV_JUDGE", "WORLDENV_JUDGE_MODEL", "WORLDENV_JUDGE_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(endpoint.Http, "_wait", lambda self, attempt, wanted: None)


def panel_at(address, **options):
    judges = ({"address": address, "model": "seer"},)
    return Panel(JudgeSettings.model_validate({"judge": judges, **options}))


def pair(shift=0):
    return Posed(Pair(), (0, 9), (IMAGE, IMAGE + np.uint8(shift)))


def text_of(request):
    parts = request["messages"][0]["content"]
    return "\n".join(part["text"] for part in parts if part["type"] == "text")


def test_a_pair_is_sent_as_two_images_with_the_rubric_and_comes_back_as_a_score():
    script = Script(message(json.dumps(PAIR)))
    with serving(script) as address:
        (verdict,) = panel_at(address).decide([pair(1)])
    assert verdict.score == 4.5 and verdict.votes == verdict.asked == 1
    (request,) = script.requests
    parts = request["messages"][0]["content"]
    assert [part["type"] for part in parts] == ["text", "image_url", "text", "image_url", "text"]
    assert parts[0]["text"] == "Image A:" and parts[2]["text"] == "Image B:"
    assert parts[1]["image_url"]["url"].startswith("data:image/png;base64,")
    assert request["model"] == "seer" and request["max_tokens"] == 4096
    assert request["response_format"]["json_schema"]["schema"]["properties"]["score"]
    # Which set a pair is from is not said.
    assert not any(word in text_of(request) for word in ("revisit", "baseline", "short-range"))


def test_the_same_question_is_sent_once_and_then_read_from_the_cache():
    script = Script(message(json.dumps(PAIR)))
    with serving(script) as address:
        first = panel_at(address).decide([pair()])
        second = panel_at(address).decide([pair()])
        panel_at(address).decide([pair(1)])
        panel_at(address, temperature=0.5).decide([pair()])
    assert first == second
    assert len(script.requests) == 3


@pytest.mark.parametrize(
    "trouble",
    [
        (429, {"Retry-After": "1"}, b"slow down"),
        (500, {}, b"oops"),
        (503, {"Retry-After": "soon"}, b""),
        slow(1.2, message(json.dumps(PAIR))),
    ],
    ids=["429", "500", "503", "time-out"],
)
def test_passing_troubles_are_tried_again(trouble):
    script = Script(trouble, message(json.dumps(PAIR)))
    with serving(script) as address:
        (verdict,) = panel_at(address, timeout=0.5).decide([pair()])
    assert verdict.score == 4.5
    assert len(script.requests) == 2


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ((401, {}, b'{"error": "no such key"}'), "401"),
        ((500, {}, b"out of memory"), "out of memory"),
        ({"choices": []}, "another form"),
        ((200, {}, b"<html>hello</html>"), "another form"),
        (message(None, refusal="I cannot look at this"), "refused"),
        (message(""), "empty"),
        ((200, {}, b"x" * (2**20 + 10)), "longer"),
        (message("I would say 4 out of 5."), "no JSON"),
        (message(json.dumps({**PAIR, "score": 9})), "score"),
        (message(json.dumps({**PAIR, "score": float("nan")})), "no JSON"),
        (message(json.dumps({"score": 3})), "scene_relation"),
    ],
)
def test_a_judge_that_fails_gives_a_reason_and_no_score(answer, says):
    with serving(Script(answer)) as address:
        (found,) = panel_at(address, tries=2).decide([pair()])
    assert isinstance(found, endpoint.NoReply)
    assert says in str(found) and "\n" not in str(found)


def test_waits_grow_and_heed_the_server(monkeypatch):
    monkeypatch.undo()
    waits = []
    monkeypatch.setattr(endpoint.time, "sleep", waits.append)
    judge = Judge(address="http://x/v1", model="m")
    asked = endpoint.Http(judge, JudgeSettings(judge=(judge,), tries=4))
    for attempt, wanted in enumerate((None, "7", "10000", None)):
        asked._wait(attempt, wanted)
    assert 0.3 < waits[0] < 0.7 and waits[1] == 7 and waits[2] == 60 and len(waits) == 3


def test_a_server_that_is_not_there_is_a_reason():
    with serving(Script({})) as address:
        pass
    (found,) = panel_at(address, tries=1).decide([pair()])
    assert isinstance(found, endpoint.NoReply) and "Refused" in str(found)


def test_a_reply_that_cannot_be_read_is_asked_for_once_more():
    script = Script(message("Well..."), message(f"```json\n{json.dumps(PAIR)}\n```"))
    with serving(script) as address:
        (verdict,) = panel_at(address).decide([pair()])
    assert verdict.score == 4.5
    assert "JSON alone" in text_of(script.requests[1])


def test_a_server_without_schemas_is_asked_without():
    script = Script((400, {}, b"response_format"), message(json.dumps(PAIR)))
    with serving(script) as address:
        found = panel_at(address, concurrency=1).decide([pair(), pair(1)])
    assert all(isinstance(verdict, Verdict) for verdict in found)
    assert "response_format" not in script.requests[-1]


def test_reasoning_before_the_reply_is_passed_over():
    text = f'<think>perhaps {{"score": 1}}</think>Here: {json.dumps(PAIR)} Done.'
    assert prompts.read_reply(Pair(), text).score == 4.5


def test_requests_go_out_together_within_the_limit_and_the_budget_holds():
    script = Script(slow(0.05, message(json.dumps(PAIR))))
    with serving(script) as address:
        found = panel_at(address, concurrency=3, budget=5).decide([pair(k) for k in range(8)])
    scored = [v for v in found if isinstance(v, Verdict)]
    spent = [v for v in found if isinstance(v, endpoint.NoReply)]
    assert len(scored) == 5 and len(script.requests) == 5
    assert all("budget" in str(v) and v.waiting for v in spent)
    assert 1 < script.most <= 3


def test_every_try_counts_against_the_budget():
    script = Script((429, {}, b""))
    with serving(script) as address:
        (found,) = panel_at(address, budget=3, tries=6).decide([pair()])
    assert len(script.requests) == 3 and "budget" in str(found)


def test_the_budget_is_that_of_all_episodes_of_a_process(monkeypatch, tmp_path):
    file = tmp_path / "judges.toml"
    path = load_script("r2m:out_and_back(leg=40)").path()
    script = Script(message(json.dumps(PAIR)))
    with serving(script) as address:
        file.write_text(
            f"budget = 40\ncache = false\n[[judge]]\naddress = '{address}'\nmodel = 'm'\n"
        )
        for _ in range(2):
            summary = scored(script, str(file), monkeypatch, benchmark="r2m", path=path)
    assert len(script.requests) == 40
    row = next(s for s in summary.scores if s.metric == "state" and s.variant == "raw")
    assert "budget" in (row.detail.get("failure") or row.detail["reason"])


def test_two_judges_of_one_model_are_two():
    high, low = (Script(message(json.dumps({**PAIR, "score": s}))) for s in (5, 1))
    with serving(high) as a, serving(low) as b:
        judges = [{"address": a, "model": "m"}, {"address": b, "model": "m"}]
        settings = JudgeSettings.model_validate({"judge": judges})
        (verdict,) = Panel(settings).decide([pair()])
        (again,) = Panel(settings).decide([pair()])
    assert verdict.score == again.score == 3 and verdict.agreement == 0
    assert len(high.requests) == len(low.requests) == 1


def test_replies_can_be_kept_from_the_cache():
    script = Script(message(json.dumps(PAIR)))
    with serving(script) as address:
        for _ in range(2):
            panel_at(address, cache=False).decide([pair()])
    assert len(script.requests) == 2


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\nX: "])
def test_a_server_that_drips_is_given_up(head):
    import socket
    import threading
    import time

    listener = socket.create_server(("127.0.0.1", 0))

    def drip():
        client, _ = listener.accept()
        with client:
            client.sendall(head)
            for _ in range(200):
                try:
                    client.sendall(b"a")
                except OSError:
                    return
                time.sleep(0.05)

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    began = time.monotonic()
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    (found,) = panel_at(address, timeout=0.5, tries=1).decide([pair()])
    assert isinstance(found, endpoint.NoReply) and time.monotonic() - began < 5
    thread.join()
    listener.close()


def test_deeply_nested_replies_are_refused_at_once():
    for text in ('{"a":' * 100_000, "{" * 500_000):
        with pytest.raises(prompts.UnusableReply):
            prompts.read_reply(Pair(), text)


@pytest.mark.parametrize("score", [True, "4.5", None, [4]])
def test_a_score_is_a_number(score):
    with pytest.raises(prompts.UnusableReply, match="score"):
        prompts.read_reply(Pair(), json.dumps({**PAIR, "score": score}))


def test_repeats_are_settled_by_the_median_with_their_agreement():
    scores = [5, 4, 1, 4, 4]
    script = Script(*(message(json.dumps({**PAIR, "score": s})) for s in scores))
    with serving(script) as address:
        (verdict,) = panel_at(address, repeats=5, concurrency=1).decide([pair()])
    assert verdict.score == 4 and verdict.agreement == pytest.approx(3 / 5)
    assert [r["seed"] for r in script.requests] == [0, 1, 2, 3, 4]
    assert len(verdict.replies) == 5


def test_an_ensemble_is_several_judges_and_half_of_one_is_none():
    good, bad = Script(message(json.dumps(PAIR))), Script((401, {}, b""))
    with serving(good) as a, serving(bad) as b:
        judges = [{"address": a, "model": "x"}, {"address": b, "model": "y"}]
        (found,) = Panel(JudgeSettings.model_validate({"judge": judges})).decide([pair()])
        three = [*judges, {"address": a, "model": "z"}]
        (settled,) = Panel(JudgeSettings.model_validate({"judge": three})).decide([pair()])
    assert isinstance(found, endpoint.NoReply)
    assert settled.votes == 2 and settled.asked == 3
    assert {reply["judge"] for reply in settled.replies} == {"x", "z"}


def test_a_checklist_is_settled_by_majority():
    replies = [
        LIST,
        {**LIST, "event_starts": False, "progress": 20},
        {**LIST, "answers": ["no"] * 8},
    ]
    script = Script(*(message(json.dumps(r)) for r in replies))
    question = Checklist(tuple(f"Is it so ({k})?" for k in range(8)), PHASES)
    with serving(script) as address:
        posed = Posed(question, (0, 8, 480), (IMAGE,) * 3)
        (verdict,) = panel_at(address, repeats=3, concurrency=1).decide([posed])
    assert verdict.started is True and verdict.answers == (True, False) * 4
    assert verdict.progress == pytest.approx(0.8)
    assert verdict.agreement == pytest.approx((5 * 2 / 3 + 4 * 1) / 9)
    text = text_of(script.requests[0])
    assert "Frame 480:" in text and "D1: frames 60 to 299" in text and "8. Is it so (7)?" in text


def test_secrets_are_sent_and_kept_nowhere(tmp_path, monkeypatch):
    monkeypatch.setenv("WORLDENV_JUDGE_KEY", "sesame")
    script = Script(message(json.dumps(PAIR)))
    with serving(script) as address:
        panel_at(address).decide([pair()])
        judge = VisionJudge(JudgeSettings(judge=(Judge(address=address, model="seer"),)))
    assert script.headers[0]["Authorization"] == "Bearer sesame"
    assert "sesame" not in judge.name + judge.revision
    for file in tmp_path.rglob("*"):
        assert file.is_dir() or b"sesame" not in file.read_bytes()


def test_files_are_left_answered_and_taken(tmp_path):
    folder = tmp_path / "desk"
    panel = panel_at(f"files:{folder}")
    (found,) = panel.decide([pair()])
    assert isinstance(found, endpoint.NoReply) and found.waiting
    (left,) = (folder / "questions").glob("*.json")
    about = json.loads(left.read_text())
    assert [image["label"] for image in about["images"]] == ["Image A:", "Image B:"]
    assert all((folder / "questions" / image["file"]).is_file() for image in about["images"])
    answer = folder / "answers" / f"{about['key']}.txt"
    answer.write_text("four, I think")
    (found,) = panel.decide([pair()])
    assert isinstance(found, endpoint.NoReply) and "cannot be used" in str(found)
    answer.write_text(json.dumps(PAIR))
    (verdict,) = panel.decide([pair()])
    assert verdict.score == 4.5


def test_images_are_made_no_larger_than_asked():
    import cv2

    big = np.zeros((300, 600, 3), np.uint8)
    big[..., 0] = 200
    small = cv2.imdecode(np.frombuffer(encode(big, 200, lossless=True), np.uint8), 1)
    assert small.shape == (100, 200, 3) and tuple(small[0, 0]) == (0, 0, 200)
    same = cv2.imdecode(np.frombuffer(encode(IMAGE, 200, lossless=True), np.uint8), 1)
    assert np.array_equal(same[..., ::-1], IMAGE)


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        ({"WORLDENV_JUDGE": "http://x/v1"}, "model name"),
        ({"WORLDENV_JUDGE": "ftp://x/v1", "WORLDENV_JUDGE_MODEL": "m"}, "no address"),
        ({"WORLDENV_JUDGE": "http://me:pw@x/v1", "WORLDENV_JUDGE_MODEL": "m"}, "password"),
        ({"WORLDENV_JUDGE": "nowhere.toml"}, "neither"),
        ({"WORLDENV_JUDGE": "files:"}, "folder"),
        ({"WORLDENV_JUDGE": "http://x:99999/v1", "WORLDENV_JUDGE_MODEL": "m"}, "[Pp]ort"),
        (
            {
                "WORLDENV_JUDGE": "http://x/v1",
                "WORLDENV_JUDGE_MODEL": "m",
                "WORLDENV_JUDGE_KEY": "a\nb",
            },
            "key",
        ),
    ],
)
def test_wrong_settings_are_one_typed_line(environment, says, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InvalidJudge, match=says) as caught:
        judge_settings()
    assert "\n" not in str(caught.value)


def test_a_file_lists_judges(tmp_path, monkeypatch):
    file = tmp_path / "judges.toml"
    file.write_text(
        'repeats = 3\n[[judge]]\naddress = "http://a/v1"\nmodel = "m"\nkey_variable = "OTHER"\n'
        f'[[judge]]\naddress = "http://b/v1"\nmodel = "n"\nkey_file = "{tmp_path / "key"}"\n'
    )
    (tmp_path / "key").write_text("open\n")
    monkeypatch.setenv("WORLDENV_JUDGE", str(file))
    settings = judge_settings()
    assert settings.repeats == 3 and [j.secret() for j in settings.judge] == [None, "open"]
    file.write_text("repeats = 0\n[[judge]]\naddress = 'http://a/v1'\nmodel = 'm'\n")
    with pytest.raises(InvalidJudge, match="repeats"):
        judge_settings()
    one = "[[judge]]\naddress = 'http://a/v1'\nmodel = 'm'\n"
    for wrong in ("timeout = inf\n" + one, one + one):
        file.write_text(wrong)
        with pytest.raises(InvalidJudge, match=r"timeout|twice"):
            judge_settings()
    file.write_text("rounds = 2\n")
    with pytest.raises(InvalidJudge):
        judge_settings()


# What the planners ask, and the scores that follow.


def scored(script, address, monkeypatch, *, case=None, benchmark, path):
    monkeypatch.setenv("WORLDENV_JUDGE", address)
    monkeypatch.setenv("WORLDENV_JUDGE_MODEL", "seer")
    engine = build_engine(path, benchmarks=[benchmark], profile="classic", case=case)
    frames = np.zeros((len(path), 32, 32, 3), np.uint8)
    frames += (np.arange(len(path)) % 251).astype(np.uint8)[:, None, None, None]
    for start in range(0, len(path), 16):
        engine.observe(Chunk(frames[start : start + 16], path.poses[start : start + 16]))
    return engine.finish()


def dynamic_case():
    event = Event(
        "ice_melts", "melting", tuple(q["question"] for q in QUESTIONS), (True, False) * 4
    )
    return Case(
        "x/dynamic/1", "dynamic", prompt="Ice melts.", targets=(Target("i", "ice"),), event=event
    )


def test_dynamic_scores_follow_the_judge(monkeypatch):
    answers = ["yes", "no", "yes", "yes", "yes", "no", "yes", "no"]
    script = Script(message(json.dumps({**LIST, "answers": answers})))
    path = load_script("worldmembench:dynamic").path()
    with serving(script) as address:
        summary = scored(
            script, address, monkeypatch, case=dynamic_case(), benchmark="worldmembench", path=path
        )
    rows = {s.metric: s for s in summary.scores}
    assert rows["event_start"].value == 1 and rows["dynamic_overall"].value == 7 / 8
    assert rows["dynamic_persistence"].value == 1 / 2
    assert rows["dynamic_causal"].detail["graded_progress"] == pytest.approx(0.8)
    assert rows["dynamic_overall"].detail["backbone"] == "seer"
    assert rows["dynamic_overall"].detail["replies"][0]["judge"] == "seer"
    (request,) = script.requests
    images = [p for p in request["messages"][0]["content"] if p["type"] == "image_url"]
    assert len(images) == 61 and "Ice melts." not in text_of(request)
    assert summary.backbones["judge"]["name"] == "seer"


@pytest.mark.parametrize("event", ["ball_rolls_off", "tank_fills"])
def test_reference_answers_count_whether_yes_or_no(event, monkeypatch):
    cases = load_suite("worldmembench").cases.values()
    case = next(c for c in cases if c.event and c.event.name == event)
    path = load_script("worldmembench:dynamic").path()
    answers = ["yes" if answer else "no" for answer in case.event.answers]
    script = Script(message(json.dumps({**LIST, "answers": answers})))
    with serving(script) as address:
        summary = scored(
            script, address, monkeypatch, case=case, benchmark="worldmembench", path=path
        )
    rows = {s.metric: s.value for s in summary.scores if s.metric.startswith("dynamic")}
    assert len(rows) == 5 and set(rows.values()) == {1.0}
    for k, text in enumerate(case.event.questions, 1):
        assert f"{k}. {text}" in text_of(script.requests[0])


def test_a_gate_that_fails_leaves_zeros_and_a_judge_that_fails_leaves_a_status(
    monkeypatch, tmp_path
):
    path = load_script("worldmembench:dynamic").path()
    for answer, status, value in (
        (message(json.dumps({**LIST, "event_starts": False})), "ok", 0.0),
        ((401, {}, b"no key"), "error", None),
    ):
        script = Script(answer)
        monkeypatch.setenv("WORLDENV_CACHE", str(tmp_path / status))
        with serving(script) as address:
            summary = scored(
                script,
                address,
                monkeypatch,
                case=dynamic_case(),
                benchmark="worldmembench",
                path=path,
            )
        (row,) = [s for s in summary.scores if s.metric == "dynamic_overall"]
        assert (row.status, row.value) == (status, value)


def test_evolution_is_rated_on_both_scales(monkeypatch):
    def reply(request):
        score = 5 if "moved on while unseen" in text_of(request) else 3
        return message(json.dumps({"score": score, "reason": "so"}))

    path = load_script("mbench:exit_reenter").path()
    script = Script(reply)
    with serving(script) as address:
        summary = scored(
            script, address, monkeypatch, case=dynamic_case(), benchmark="mbench", path=path
        )
    rows = {s.metric: s.value for s in summary.scores if s.variant == ""}
    assert rows["state"] == 1 and rows["evolution_correctness_raw"] == 0.5
    assert rows["evolution_correctness_gated"] == 0.5
    assert len(script.requests) == 2


def test_r2m_state_asks_for_a_spread_of_pairs(monkeypatch):
    script = Script(message(json.dumps(PAIR)))
    path = load_script("r2m:out_and_back").path()
    with serving(script) as address:
        summary = scored(script, address, monkeypatch, benchmark="r2m", path=path)
    rows = {s.variant: s for s in summary.scores if s.metric == "state"}
    assert rows["raw"].value == 4.5 and rows["mg"].value == 0
    assert rows["nmr"].status == "unreliable"
    assert rows["raw"].n_valid == 10 and 20 < len(script.requests) <= 30


@pytest.mark.parametrize(
    ("answer", "status", "says"),
    [
        ((401, {}, b"no key"), "error", "401"),
        (message(None, refusal="no"), "error", "refused"),
        (message("perhaps"), "error", "no JSON"),
    ],
)
def test_r2m_state_says_why_no_pair_could_be_judged(monkeypatch, answer, status, says):
    path = load_script("r2m:out_and_back(leg=40)").path()
    script = Script(answer)
    with serving(script) as address:
        summary = scored(script, address, monkeypatch, benchmark="r2m", path=path)
    rows = [s for s in summary.scores if s.metric == "state"]
    assert rows and all(s.status == status and says in s.detail["reason"] for s in rows)


def test_r2m_state_counts_the_pairs_that_failed(monkeypatch):
    def reply(request):
        return (401, {}, b"") if len(script.requests) == 2 else message(json.dumps(PAIR))

    path = load_script("r2m:out_and_back(leg=40)").path()
    script = Script(reply)
    with serving(script) as address:
        summary = scored(script, address, monkeypatch, benchmark="r2m", path=path)
    row = next(s for s in summary.scores if s.metric == "state" and s.variant == "raw")
    assert row.status == "ok" and row.detail["failed"] == 1 and "401" in row.detail["failure"]
    assert row.n_expected == 10 and row.detail["agreement"] == 1
    assert all(reply[0]["judge"] == "seer" for reply in row.detail["replies"].values())


def test_questions_that_wait_as_files_are_unavailable_and_say_where(monkeypatch, tmp_path):
    path = load_script("r2m:out_and_back(leg=40)").path()
    desk = tmp_path / "desk"
    summary = scored(None, f"files:{desk}", monkeypatch, benchmark="r2m", path=path)
    row = next(s for s in summary.scores if s.metric == "state")
    assert row.status == "unavailable" and str(desk) in row.detail["reason"]
    assert list((desk / "questions").glob("*.json"))


def test_without_a_judge_the_reason_says_how_to_name_one():
    path = load_script("r2m:out_and_back").path()
    engine = build_engine(path, benchmarks=["r2m"], profile="classic")
    row = next(s for s in engine.finish().scores if s.metric == "state")
    assert row.status == "unavailable" and "--judge" in row.detail["reason"]


def test_a_failed_pair_is_a_failure_of_that_ask_alone():
    def reply(request):
        bad = len(script.requests) == 1
        return (401, {}, b"") if bad else message(json.dumps(PAIR))

    script = Script(reply)
    with serving(script) as address:
        settings = JudgeSettings(judge=(Judge(address=address, model="seer"),), concurrency=1)
        asks = [Ask("judge", (0, 1)), Ask("judge", (2, 3)), Ask("judge", (2, 3))]
        found = VisionJudge(settings).compute(asks, [(IMAGE, IMAGE), *[(IMAGE, IMAGE + 1)] * 2])
    assert isinstance(found[0], Failure) and found[1] == found[2]
    assert float(found[1]) == 4.5 and len(script.requests) == 2


def test_phases_and_watched_frames_cover_the_walk():
    path = load_script("worldmembench:dynamic").path()
    phases = judged.phases_of(path)
    assert [name for name, _, _ in phases] == ["V", "D1", "R1", "H"]
    assert phases[0][1] == 0 and phases[-1][2] == len(path) - 1
    frames = judged.watched(path, 8)
    assert frames[0] == 0 and frames[-1] == len(path) - 1 and frames[1] == 8


# Questions.


def test_proposed_questions_are_checked_frozen_and_cannot_move(tmp_path):
    script = Script(message(json.dumps({"questions": QUESTIONS[::-1]})))
    with serving(script) as address:
        settings = JudgeSettings(judge=(Judge(address=address, model="seer"),))
        found = proposals.propose("ice melts", IMAGE, settings)
    assert "ice melts" in text_of(script.requests[0])
    assert [q.aspect for q in found.questions[::2]] == list(proposals.ASPECTS)
    assert proposals.faults(found) == []
    file = tmp_path / "q.json"
    proposals.save_questions(proposals.freeze(found), file)
    assert proposals.load_questions(file).frozen == found.digest()
    with pytest.raises(proposals.InvalidQuestions, match="frozen"):
        proposals.save_questions(found, file)
    file.write_text(file.read_text().replace("melt on", "melts on"))
    with pytest.raises(proposals.InvalidQuestions, match="changed after"):
        proposals.load_questions(file)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda rows: rows[:7], "expected 2"),
        (lambda rows: [rows[1], *rows[1:]], "asked twice"),
        (lambda rows: [{**r, "answer": "yes"} for r in rows], "0 reference answers are no"),
        (
            lambda rows: [{**r, "answer": "no" if k else "yes"} for k, r in enumerate(rows)],
            "7 reference answers are no",
        ),
        (lambda rows: [{**r, "question": "The ice melts."} for r in rows], "no question"),
        (lambda rows: rows[::-1], "order"),
    ],
)
def test_questions_that_cannot_tell_are_named(change, says):
    found = proposals.QuestionSet(event="ice melts", questions=change(QUESTIONS))
    assert any(says in fault for fault in proposals.faults(found))
    with pytest.raises(proposals.InvalidQuestions, match=says):
        proposals.freeze(found)


def test_nobody_is_asked_for_questions_that_cannot_be_kept(tmp_path):
    settings = JudgeSettings(judge=(Judge(address="http://127.0.0.1:9/v1", model="m"),))
    for event in ("", "x" * 1001):
        with pytest.raises(proposals.InvalidQuestions, match="3 to 1000"):
            proposals.propose(event, IMAGE, settings)
    with pytest.raises(proposals.InvalidQuestions, match="no folder"):
        proposals.check_place(tmp_path / "nowhere" / "q.json")


def test_questions_are_tried_on_a_video_that_is_right():
    script = Script(message(json.dumps({**LIST, "answers": ["yes", "no"] * 3 + ["yes", "yes"]})))
    found = proposals.QuestionSet(event="ice melts", questions=QUESTIONS)
    with serving(script) as address:
        settings = JudgeSettings(judge=(Judge(address=address, model="seer"),))
        good = proposals.try_out(found, (0, 8), (IMAGE, IMAGE), PHASES, settings)
    assert good == [True] * 7 + [False]


@pytest.mark.parametrize(
    "question",
    [Pair(), Checklist(("Is it?",) * 8, PHASES), Rating("state", "it melts", PHASES),
     Rating("correctness", "it melts", PHASES), Proposal("it melts")],
)  # fmt: skip
def test_every_prompt_has_a_schema_and_says_json(question):
    assert "JSON" in prompts.prompt(question)
    assert prompts.schema(question)["type"] == "object"
    with pytest.raises(prompts.UnusableReply):
        prompts.read_reply(question, "{}")

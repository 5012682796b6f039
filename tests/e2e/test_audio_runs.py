"""What runs through the controller report about the audio of their calls: bad audio is
detected, good audio is not reported. Also figures, recordings, delay and digits."""
import io
import socket

import pytest

from bench import Bench
from ports import PortBlock
from sip_peer import SipPeer
from test_audio import PROMPTS, SECONDS, dbov, heard_in
from test_prompts import upload

SUBSCRIBERS = {str(n): f"secret-{n}" for n in range(1001, 1031)}
CONDITIONS = [("level", "ge", "-20"), ("level", "le", "-10"), ("clipping", "le", "0"),
              ("silence", "lt", "2000"), ("one_way", "lt", "1000"), ("heard", "ge", "1000")]
TONE = {"field": "tone", "hz": "440", "type": "ge", "value": "1000"}
VOICE = [{"field": "prompt", "type": "ge", "value": "0.9"},
         {"field": "prompt_begin", "type": "lt", "value": "1000"}]
# what the callee plays, what the caller requires, what is reported
RUNS = {
    "clean": ("tone", [TONE, {**TONE, "direction": "out"}], []),
    "clipped": ("clipped", [], ["clipped samples of stream 'in'"]),
    "silence": ("silence", [], ["longest silence", "longest one-way audio",
                                "no level of what was heard"]),
    "quiet": ("quiet", [], ["level of what was heard"]),
    "other tone": ("other", [TONE], ["tone of 440 Hz"]),
    "played": ("tone", [{"field": "tone", "hz": "1000", "type": "ge", "value": "600"}], []),
    "prompt": ("voice", VOICE, []),
    "other prompt": ("stranger", VOICE, ["correlation with the prompt", "it was not the prompt"]),
}

HEAR_TONE = [["assert_established"], ["assert_audio", "tone 440 9000"]]
# only of some calls: settings, conditions of the caller
OTHERS = {
    "delay": ({"step.0.1.audio_marker": True, "step.1.1.audio_marker": True},
              "audio", [{"field": "delay", "type": "gt", "value": "-100"},
                        {"field": "delay", "type": "lt", "value": "300"}]),
    # a measure of decoded audio: it is decoded because of the condition
    "level": ({"step.0.1.prompt": "tone"}, "rtp-advanced",
              [{"type_rtp_measures": "audio_level", "type_statistics": "p95", "direction": "in",
                "type": t, "value": str(round(dbov(8000)) + d)} for t, d in (("ge", -1), ("le", 1))]),
    "digits": ({"step.0.1.prompt": "tone", "step.1.1.prompt": "tone",
                "step.0.1.dtmf_mode": "inband", "step.1.1.dtmf_mode": "inband",
                "step.0.1.sipclient_actions": HEAR_TONE + [["dtmf", "42"], ["wait", "1000"]],
                "step.1.1.sipclient_actions": HEAR_TONE + [["assert_dtmf", "42 20000"]]},
               "dtmf", [{"type": "is", "value": "42", "via": "inband"},
                        {"field": "duration", "type": "ge", "value": "40"}]),
}


@pytest.fixture(scope="module", name="bench")
def bench_fixture(tmp_path_factory):
    ports = PortBlock()
    with Bench(tmp_path_factory.mktemp("audio"), ports, subscribers=SUBSCRIBERS,
               claim_timeout_s=120) as b:
        for name, content in PROMPTS.items():
            upload(b, name, content)
        yield b
    ports.close()


@pytest.fixture(scope="module", name="runs")
def runs_fixture(bench):
    """All runs at once, each with its own accounts."""
    numbers = iter(sorted(SUBSCRIBERS))
    started = {}
    for name, (prompt, more, _) in RUNS.items():
        body = {"agentpool_id": bench.pool_id, "target_pool": bench.target_id, "name": name,
                "duration": str(SECONDS), "audio_codecs": ["PCMA"],
                "step.0.1.prompt": prompt, "step.1.1.prompt": "tone",
                "conditions": [{"role": "caller", "condition_type": "caller-audio-conditions",
                                "conditions": [{"field": f, "type": t, "value": v}
                                               for f, t, v in CONDITIONS] + more}]}
        if name == "clean":
            body["record"] = "media"
        if name == "played":   # an upload, fetched by its hash
            body["step.0.1.sipclient_actions"] = [["assert_established"], ["play", "other"]]
        if name == "quiet":
            body["step.1.1.store_artifacts"] = True
        if more is VOICE:
            body["step.1.1.expect_prompt"] = "voice"
        for role in ("caller", "callee"):
            body[f"{role}.username"] = next(numbers)
            body[f"{role}.password"] = SUBSCRIBERS[body[f"{role}.username"]]
        answer = bench.api("POST", "/tests/scenarios/single-call", body)
        started[name] = answer["data"]["session_id"]
    return started


@pytest.mark.parametrize("name", RUNS)
def test_bad_audio_is_found_and_clean_is_not(bench, runs, name):
    run = bench.wait(runs[name], timeout=120)
    words = RUNS[name][2]
    assert run["status"] == ("failed" if words else "passed"), run["result_description"]
    for word in words:
        assert word in run["result_description"], run["result_description"]


def test_figures_are_measures(bench, runs):
    bench.wait(runs["clean"], timeout=120)
    for measure, value, error in (("level", dbov(8000), 0.5), ("peak", dbov(8000) + 3.01, 0.5),
                                  ("clipping", 0, 1e-9), ("heard", 1000, 100)):
        points = bench.points(runs["clean"], f"audio_{measure}", "caller", "in")
        assert abs(float(points[0]["max"]) - value) < error, (measure, points)


@pytest.mark.parametrize("name", OTHERS)
def test_delay_level_and_digits(bench, name):
    settings, kind, conditions = OTHERS[name]
    numbers = sorted(SUBSCRIBERS)[2 * (len(RUNS) + list(OTHERS).index(name)):]
    body = {"agentpool_id": bench.pool_id, "target_pool": bench.target_id, "name": name,
            "duration": "6", "audio_codecs": ["PCMA"], **settings,
            "conditions": [{"role": "caller", "condition_type": f"caller-{kind}-conditions",
                            "conditions": conditions}]}
    for role, number in zip(("caller", "callee"), numbers):
        body[f"{role}.username"], body[f"{role}.password"] = number, SUBSCRIBERS[number]
    started = bench.api("POST", "/tests/scenarios/single-call", body)["data"]["session_id"]
    run = bench.wait(started, timeout=120)
    assert run["status"] == "passed", run["result_description"]
    if name == "delay":
        points = bench.points(started, "audio_delay", "caller", "in")
        assert points and all(-100 < float(p["max"]) < 300 for p in points), points


def test_recordings_are_artifacts(bench, runs):
    run = bench.wait(runs["clean"], timeout=120)
    kept = bench.api("GET", f"/runs/{run['id']}/artifacts")["artifacts"]
    assert sorted((a["role"], a["name"]) for a in kept) == [
        (role, f"{role}-1-{way}.wav") for role in ("callee", "caller") for way in ("in", "out")]
    for artifact in kept:
        content = bench.controller.request(
            "GET", f"/runs/{run['id']}/artifacts/{artifact['role']}/{artifact['name']}").content
        seconds, level, _ = heard_in(io.BytesIO(content))
        assert seconds >= SECONDS - 1 and abs(level) < 0.5, artifact


def test_stored_artifacts_are_the_actions_own(bench, runs):
    run = bench.wait(runs["quiet"], timeout=120)
    kept = bench.api("GET", f"/runs/{run['id']}/artifacts")["artifacts"]
    assert sorted((a["role"], a["name"]) for a in kept) == [
        ("caller", "caller-1-in.wav"), ("caller", "caller-1-out.wav"), ("caller", "caller-1.json")]
    call = bench.api("GET", f"/runs/{run['id']}/artifacts/caller/caller-1.json")
    assert call["call"] == "caller-1" and call["established"] is True
    (heard,) = [s["audio"] for s in call["streams"] if s["dir"] == "in"]
    assert abs(heard["level_dbov"] - dbov(800)) < 0.5


def test_peer_that_sends_nothing(bench):
    """It answers the call and receives our audio, and sends no packet."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as rtp:
        rtp.bind(("127.0.0.1", 0))
        body = ("v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
                f"m=audio {rtp.getsockname()[1]} RTP/AVP 8\r\n")

        def answer(request):
            if request.method == "ACK":
                return None
            if request.method != "INVITE":
                return request.reply(200, "OK")
            head = request.reply(200, "OK", f"Contact: <sip:x@127.0.0.1:{bench.ports.phone}>",
                                 "Content-Type: application/sdp").decode()
            return (head.replace("Content-Length: 0", f"Content-Length: {len(body)}") +
                    body).encode()

        with SipPeer(bench.ports.phone, answer):
            started = bench.api("POST", "/tests/scenarios/single-call-caller", {
                "agentpool_id": bench.pool_id, "target_pool": bench.target(bench.ports.phone),
                "username": "nobody", "password": "none", "dial_destination": "x",
                "duration": str(SECONDS), "audio_codecs": ["PCMA"], "conditions": [
                    {"role": "caller", "condition_type": "caller-audio-conditions", "conditions": [
                        {"field": f, "type": t, "value": v} for f, t, v in CONDITIONS]}]})
            run = bench.wait(started["data"]["session_id"], timeout=120)
    assert run["status"] == "failed", run["result_description"]
    for words in ("longest silence", "longest one-way audio", "no level of what was heard"):
        assert words in run["result_description"], run["result_description"]

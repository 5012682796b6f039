"""What a call sounds like: two engines that call each other, and what each says it
heard, against the files that were played; the same through the controller."""
import array
import io
import math
import socket
import wave
from random import Random

import pytest

from bench import Bench
from engine import Engine, target
from ports import PortBlock
from sip_peer import SipPeer
from test_prompts import upload

SECONDS = 3


def wav(samples, rate=8000):
    out = io.BytesIO()
    with wave.open(out, "wb") as f:
        f.setnchannels(1)
        f.setsampwidth(2)
        f.setframerate(rate)
        f.writeframes(array.array("h", (
            max(-32768, min(32767, round(x))) for x in samples)).tobytes())
    return out.getvalue()


def tone(hz=440, amplitude=8000, rate=8000, seconds=1):
    """Whole periods, so that the loop has no click."""
    return wav((amplitude * math.sin(2 * math.pi * hz * i / rate)
                for i in range(rate * seconds)), rate)


def dbov(amplitude):
    return 20 * math.log10(amplitude / 32768) - 3.01


def voice(seed, seconds=4):
    """Like speech: syllables of harmonics of a changing pitch, with pauses."""
    random = Random(seed)
    samples = []
    while len(samples) < 8000 * seconds:
        pitch, first, second = random.uniform(90, 210), random.uniform(300, 800), \
            random.uniform(900, 2400)
        weights = [(k * pitch, 1 / (1 + ((k * pitch - first) / 150) ** 2) +
                    0.5 / (1 + ((k * pitch - second) / 200) ** 2))
                   for k in range(1, int(3300 / pitch))]
        length = random.randrange(1000, 2400)
        for i in range(length):
            gain = 5000 * math.sin(math.pi * i / length)
            samples.append(gain * sum(w * math.sin(2 * math.pi * f * i / 8000)
                                      for f, w in weights))
        samples += [0] * random.randrange(200, 1200)
    return wav(samples[:8000 * seconds])


PROMPTS = {
    "voice": voice(1),
    "stranger": voice(2),
    "tone": tone(),
    "other": tone(1000),
    "quiet": tone(440, 800),
    "clipped": tone(440, 60000),
    "silence": wav([0] * 8000),
}


@pytest.fixture(name="prompts")
def prompts_fixture(tmp_path):
    for name, content in PROMPTS.items():
        (tmp_path / f"{name}.wav").write_bytes(content)
    return tmp_path


def pair(build, ports, prompts, caller=None, callee=None):
    """A call of SECONDS between two engines; the arguments go to their actions."""
    common = {"audio_checks": True, "audio_codecs": ["PCMA"], "prompt": "tone.wav"}
    steps = [[], [{"type": "call", "dial_destination": "1002", "call_duration": str(SECONDS),
                   "credentials": [{"username": "1001"}],
                   "target": target("127.0.0.1", ports.phone), **common, **(caller or {})}]]
    answer = {"type": "answer", "credentials": [{"username": "1002"}], **common,
              **(callee or {})}
    folder = {"prompt_dir": str(prompts), "artifact_dir": str(prompts)}
    with Engine(build, "callee", [[answer], []], ports, sip_port=ports.phone,
                settings=folder) as two, \
            Engine(build, "caller", steps, ports, offset=8, settings=folder) as one:
        two.step(0)
        one.step(0)
        one.step(1)
        two.step(1)
        one.end()
        two.end()
    return one, two


def stream(engine, direction):
    (call,) = engine.calls()
    (found,) = [s for s in call["streams"] if s["dir"] == direction]
    return found


def audio(engine, direction="in"):
    return stream(engine, direction)["audio"]


def test_both_hear_what_the_other_plays(build, ports, prompts):
    one, two = pair(build, ports, prompts, callee={"prompt": "other.wav"})
    for engine, hz, sent in ((one, 1000, 440), (two, 440, 1000)):
        heard = audio(engine)
        assert heard["packets"] == stream(engine, "in")["packets"]
        assert heard["late"] == heard["undecodable"] == heard["dropped"] == 0
        assert abs(heard["level_dbov"] - dbov(8000)) < 0.3, heard
        (found,) = heard["tones"]
        assert abs(found["hz"] - hz) < 1 and found["ms"] >= 1000 * (SECONDS - 1), heard
        assert abs(found["dbov"] - dbov(8000)) < 0.3
        assert heard["clipped_pct"] == 0 and heard["one_way_ms"] == 0
        assert heard["silence_max_ms"] < 1500, heard
        (found,) = audio(engine, "out")["tones"]
        assert abs(found["hz"] - sent) < 1
        levels = [p for p in engine.series
                  if p["measure"] == "audio_level" and p["dir"] == "in"]
        assert levels and abs(levels[len(levels) // 2]["median"] - dbov(8000)) < 0.3
        assert one.asserts() == []


def test_nothing_is_decoded_unless_asked_for(build, ports, prompts):
    one, two = pair(build, ports, prompts, {"audio_checks": False}, {"audio_checks": False})
    for engine in (one, two):
        assert "audio" not in stream(engine, "in") and "audio" not in stream(engine, "out")
        assert not [p for p in engine.series if p["measure"].startswith("audio_")]


@pytest.mark.parametrize("prompt", ["silence", "clipped", "quiet"])
def test_bad_audio_shows(build, ports, prompts, prompt):
    one, two = pair(build, ports, prompts, callee={"prompt": f"{prompt}.wav"})
    heard, sent = audio(one), audio(two, "out")
    if prompt == "silence":
        assert "level_dbov" not in heard and heard["heard_ms"] == 0
        assert heard["silence_max_ms"] >= 1000 * SECONDS - 200
        # we sound, nothing comes: to us that is one-way
        assert heard["one_way_ms"] >= 1000 * (SECONDS - 1)
        assert audio(two)["one_way_ms"] == 0
    elif prompt == "clipped":
        assert heard["clipped_pct"] > 50 and abs(heard["clipped_pct"] - sent["clipped_pct"]) < 2
        assert audio(two)["clipped_pct"] == 0
    else:
        assert abs(heard["level_dbov"] - dbov(800)) < 0.5


def test_assert_audio(build, ports, prompts):
    actions = [["assert_audio", "sound 5000"], ["assert_audio", "tone 440 5000"],
               ["assert_audio", "tone 445 5000"]]
    wrong = [["assert_audio", "tone 700 300"], ["hangup"]]
    one, two = pair(build, ports, prompts, {"sipclient_actions": actions},
                    {"sipclient_actions": wrong, "audio_checks": False})
    assert one.asserts() == []
    (missed,) = two.asserts()
    assert missed["action"] == "assert_audio" and missed["argument"] == "tone 700 300"
    assert "no tone of 700 Hz was heard in 300 ms" in missed["text"], missed


def test_assert_silence(build, ports, prompts):
    actions = [["assert_audio", "silence 1000"]]
    one, two = pair(build, ports, prompts, {"sipclient_actions": actions},
                    {"sipclient_actions": actions, "prompt": "silence.wav"})
    assert one.asserts() == []
    (missed,) = two.asserts()
    assert "sound was heard after" in missed["text"], missed


@pytest.mark.parametrize("codec", ["PCMU", "opus"])
def test_prompt_is_told_from_another(build, ports, prompts, codec):
    common = {"audio_codecs": [codec], "expect_prompt": "voice.wav", "audio_checks": False}
    asserted = [["assert_audio", "prompt 2500"]]
    one, two = pair(build, ports, prompts,
                    {**common, "prompt": "stranger.wav", "sipclient_actions": asserted},
                    {**common, "prompt": "voice.wav", "sipclient_actions": asserted})
    right, wrong = audio(one), audio(two)
    print(f"{codec}: {right['prompt_match']:.3f}, began {right['prompt_begin_ms']:.2f} ms after "
          f"audio was expected; another {wrong['prompt_match']:.3f}")
    assert right["prompt_match"] > 0.85 and right["prompt_ms"] >= 1000 * (SECONDS - 1)
    # it begins with the call
    assert -1000 < right["prompt_begin_ms"] < 1000
    assert wrong["prompt_match"] < 0.6 and "prompt_begin_ms" not in wrong
    assert one.asserts() == []
    (missed,) = two.asserts()
    assert "the prompt was not heard in 2500 ms" in missed["text"], missed


def heard_in(file):
    """(seconds, dB of 440 and of 1000 Hz in the second second)"""
    with wave.open(file, "rb") as f:
        assert (f.getnchannels(), f.getsampwidth()) == (1, 2)
        rate = f.getframerate()
        samples = array.array("h", f.readframes(f.getnframes()))
    part = samples[rate:rate + rate // 2]
    levels = []
    for hz in (440, 1000):
        turned = [x * complex(math.cos(a), -math.sin(a)) for i, x in enumerate(part)
                  for a in (2 * math.pi * hz * i / rate,)]
        levels.append(20 * math.log10(2 * abs(sum(turned)) / len(part) / 8000 + 1e-9))
    return len(samples) / rate, *levels


def test_calls_are_recorded(build, ports, prompts):
    script = [["assert_established", "10000"], ["record_start"], ["wait", "1800"],
              ["record_stop"], ["wait", "300"], ["record_start"]]
    one, two = pair(build, ports, prompts, {"record": "media", "audio_checks": False},
                    {"sipclient_actions": script, "prompt": "other.wav"})
    assert one.asserts() == [] and two.asserts() == []
    assert sorted(one.artifacts) == ["caller-1-in.wav", "caller-1-out.wav"]
    assert sorted(two.artifacts) == ["callee-1-in-2.wav", "callee-1-in.wav",
                                     "callee-1-out-2.wav", "callee-1-out.wav"]
    for name, index, least in (("caller-1-in", 1, SECONDS - 0.5), ("caller-1-out", 0, SECONDS - 0.1),
                               ("callee-1-in", 0, 1.5), ("callee-1-out", 1, 1.5)):
        seconds, *levels = heard_in(str(prompts / f"{name}.wav.part"))
        print(f"{name}: {seconds:.2f} s, 440 Hz {levels[0]:+.1f} dB, 1000 Hz {levels[1]:+.1f} dB")
        assert seconds >= least, name
        assert abs(levels[index]) < 0.5 and levels[1 - index] < -30, (name, levels)
    assert "audio" not in stream(one, "in")


def test_markers_tell_the_delay(build, ports, prompts):
    common = {"audio_marker": True, "audio_checks": False, "call_duration": "5"}
    one, two = pair(build, ports, prompts, common, common)
    for engine in (one, two):
        heard = audio(engine)
        print(f"{engine.role}: {heard['delay_avg_ms']:.3f} ms")
        assert heard["markers"] >= 1 and -1 < heard["delay_min_ms"] < 300, heard
        assert "markers" not in audio(engine, "out")
        points = [p for p in engine.series if p["measure"] == "audio_delay"]
        assert sum(p["n"] for p in points) == heard["markers"], points


@pytest.mark.parametrize("codec", ["PCMU", "opus"])
def test_digits_as_tones(build, ports, prompts, codec):
    common = {"dtmf_mode": "inband", "audio_checks": False, "audio_codecs": [codec],
              "prompt": "silence.wav"}
    one, two = pair(
        build, ports, prompts,
        {**common, "sipclient_actions": [["dtmf", "159#"], ["assert_dtmf", "D2"],
                                          ["wait", "500"], ["hangup"]],
         "call_duration": "20"},
        {**common, "sipclient_actions": [["assert_dtmf", "159#"], ["dtmf", "D2 80 80"]]})
    assert one.asserts() == [] and two.asserts() == []
    for engine, sent, heard in ((one, "159#", "D2"), (two, "D2", "159#")):
        digits = [e for e in engine.events if e["kind"] == "dtmf"]
        assert {e["via"] for e in digits} == {"inband"}
        for direction, want in (("out", sent), ("in", heard)):
            assert "".join(e["digit"] for e in digits if e["direction"] == direction) == want
        assert "telephone-event" not in one.sent("INVITE ")[0]
    for e in two.events:
        if e["kind"] == "dtmf" and e["direction"] == "in":
            assert abs(e["ms"] - 100) < 45, e


# ---- through the controller ----

SUBSCRIBERS = {str(n): f"secret-{n}" for n in range(1001, 1021)}
CONDITIONS = [("level", "ge", "-20"), ("level", "le", "-10"), ("clipping", "le", "0"),
              ("silence", "lt", "2000"), ("one_way", "lt", "1000"), ("heard", "ge", "1000")]
TONE = {"field": "tone", "hz": "440", "type": "ge", "value": "1000"}
VOICE = [{"field": "prompt", "type": "ge", "value": "0.9"},
         {"field": "prompt_begin", "type": "lt", "value": "1000"}]
# what the callee plays, what the caller asks of it, what is found
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
# what only some calls have: settings, conditions of the caller
OTHERS = {
    "delay": ({"step.0.1.audio_marker": True, "step.1.1.audio_marker": True},
              "audio", [{"field": "delay", "type": "gt", "value": "-100"},
                        {"field": "delay", "type": "lt", "value": "300"}]),
    "digits": ({"step.0.1.dtmf_mode": "inband", "step.1.1.dtmf_mode": "inband",
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
    """All at once, each with accounts of its own."""
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
def test_delay_and_digits(bench, name):
    settings, kind, conditions = OTHERS[name]
    numbers = sorted(SUBSCRIBERS)[2 * (len(RUNS) + list(OTHERS).index(name)):]
    body = {"agentpool_id": bench.pool_id, "target_pool": bench.target_id, "name": name,
            "duration": "6", "audio_codecs": ["PCMA"], "step.0.1.prompt": "tone",
            "step.1.1.prompt": "tone", **settings,
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
    """It takes the call and our audio, and not a packet comes back."""
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

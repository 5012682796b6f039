"""What a call sounds like: two engines that call each other, and what each says it
heard, against the files that were played; the same through the controller."""
import array
import io
import math
import wave

import pytest

from bench import Bench
from engine import Engine, target
from ports import PortBlock
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


PROMPTS = {
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
    folder = {"prompt_dir": str(prompts)}
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
        assert heard["silence_max_ms"] < 500, heard
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

CONDITIONS = [("level", "ge", "-20"), ("level", "le", "-10"), ("clipping", "le", "0"),
              ("silence", "lt", "1000"), ("one_way", "lt", "1000"), ("heard", "ge", "1500")]


@pytest.fixture(scope="module", name="bench")
def bench_fixture(tmp_path_factory):
    ports = PortBlock()
    with Bench(tmp_path_factory.mktemp("audio"), ports) as b:
        for name, content in PROMPTS.items():
            upload(b, name, content)
        yield b
    ports.close()


def judged(bench, prompt, more=()):
    """What the caller thinks of a callee that plays a prompt."""
    conditions = [{"field": f, "type": t, "value": v} for f, t, v in CONDITIONS] + list(more)
    test = bench.single_call(duration=SECONDS, audio_codecs=["PCMA"], prompt="tone")
    run, _ = bench.run(test, {"step.0.1.prompt": prompt,
                              "condition.caller.caller-audio-conditions":
                              {"conditions": conditions}})
    return run


@pytest.mark.parametrize("prompt, words", [
    ("clipped", ["clipped samples of stream 'in'"]),
    ("silence", ["longest silence", "longest one-way audio", "no level of what was heard"]),
    ("quiet", ["level of what was heard"]),
    ("other", ["tone of 440 Hz"]),
])
def test_bad_audio_is_found(bench, prompt, words):
    run = judged(bench, prompt, [{"field": "tone", "hz": 440, "type": "ge", "value": 500}])
    assert run["status"] == "failed"
    for word in words:
        assert word in run["result_description"], run["result_description"]


def test_clean_call_passes(bench):
    run = judged(bench, "tone", [{"field": "tone", "hz": "440", "type": "ge", "value": "1000"},
                         {"field": "tone", "hz": "440", "type": "ge", "value": "1000",
                          "direction": "out"}])
    assert run["status"] == "passed", run["result_description"]
    data = bench.api("GET", f"/runs/{run['session_id']}/stats/audio_level?role=caller&dir=in")
    assert abs(float(data["stats_data"][0]["max"]) - dbov(8000)) < 0.5, data

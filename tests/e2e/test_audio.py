"""The audio of a call between two engines: what each reports to have heard, against the
files that were played.

Through the controller: test_audio_runs.py"""
import array
import io
import math
import wave
from random import Random

import pytest

from engine import Engine, target

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
    """Artificial speech: syllables of harmonics with a changing pitch, and pauses."""
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
        # we send audio and receive none: for us that is one-way audio
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
    # it starts with the call
    assert -1000 < right["prompt_begin_ms"] < 1000
    assert wrong["prompt_match"] < 0.6 and "prompt_begin_ms" not in wrong
    assert one.asserts() == []
    (missed,) = two.asserts()
    assert "the prompt was not heard in 2500 ms" in missed["text"], missed


def heard_in(file):
    """(seconds, dB of 440 and of 1000 Hz between 1 and 1.5 s)"""
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
    common = {"audio_marker": True, "audio_checks": False, "call_duration": "5", "prompt": None}
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

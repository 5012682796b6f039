"""Digits by every method, in both directions, with every clock rate of telephone-event;
what is sent is read from a capture."""
import pytest

from capture import Capture
from test_audio import PROMPTS, audio, pair, stream

# codec: clock rate of its telephone-event, our payload type for it
CLOCKS = {"PCMU": (8000, 101), "G722": (8000, 101), "GSM": (8000, 101), "L16/16000": (16000, 102),
          "L16/44100": (44100, 103), "opus": (48000, 104)}
DIGITS = "0123456789*#ABCD"


@pytest.fixture(name="prompts")
def prompts_fixture(tmp_path):
    for name in ("tone", "silence"):
        (tmp_path / f"{name}.wav").write_bytes(PROMPTS[name])
    return tmp_path


def digits(engine, direction):
    return [e for e in engine.events if e["kind"] == "dtmf" and e["direction"] == direction]


@pytest.mark.parametrize("codec", CLOCKS)
def test_events_have_the_clock_of_the_codec(build, ports, prompts, codec):
    clock, pt = CLOCKS[codec]
    common = {"audio_codecs": [codec], "call_duration": "30"}
    with Capture(prompts, ports.rtp) as capture:
        one, two = pair(
            build, ports, prompts,
            {**common, "sipclient_actions": [["assert_established"], ["dtmf", f"{DIGITS} 60 60"],
                                             ["assert_dtmf", "42 20000"], ["wait", "500"],
                                             ["hangup"]]},
            {**common, "sipclient_actions": [["assert_dtmf", f"{DIGITS} 25000"],
                                             ["dtmf", "42 250"]]})
    assert one.asserts() == [] and two.asserts() == []
    assert f"a=rtpmap:{pt} telephone-event/{clock}\r\n" in one.sent("INVITE ")[0]
    assert "".join(e["digit"] for e in digits(two, "in")) == DIGITS
    assert {e["via"] for e in digits(two, "in") + digits(one, "in")} == {"rtpevent"}
    for event, ms in [(e, 60) for e in digits(two, "in")] + [(e, 250) for e in digits(one, "in")]:
        assert abs(event["ms"] - ms) < 0.1, event
    # events by timestamp: event codes, volume, the last duration in ticks, three end
    # packets
    ssrc = int(stream(one, "out")["ssrc"], 16)
    events = {}
    for packet in capture.packets():
        if packet[0] == ssrc and packet[4] == pt:
            events.setdefault(packet[3], []).append(packet)
    assert len(events) == len(DIGITS)
    for number, packets in zip([DIGITS.index(d) for d in DIGITS], events.values()):
        code = "0123456789*#ABCD".index(DIGITS[number])
        assert {p[6][0] for p in packets} == {code}
        assert [p[5] for p in packets] == [True] + [False] * (len(packets) - 1)
        assert [p[6][1] >> 7 for p in packets][-3:] == [1, 1, 1]
        durations = [int.from_bytes(p[6][2:4], "big") for p in packets]
        assert durations == sorted(durations) and durations[-1] == clock * 60 // 1000, durations
    assert stream(two, "in")["lost"] == 0


@pytest.mark.parametrize("mode, via", [("info", "info"), ("info-dtmf", "info"),
                                       ("inband", "inband")])
def test_other_ways(build, ports, prompts, mode, via):
    common = {"audio_codecs": ["PCMA"], "call_duration": "60", "dtmf_mode": mode,
              "prompt": "silence.wav", "audio_checks": False}
    one, two = pair(
        build, ports, prompts,
        {**common, "sipclient_actions": [["assert_established"], ["dtmf", f"{DIGITS} 80 80"],
                                         ["assert_dtmf", "42 30000"], ["wait", "500"],
                                         ["hangup"]]},
        {**common, "sipclient_actions": [["assert_dtmf", f"{DIGITS} 30000"], ["dtmf", "42"]]})
    assert one.asserts() == [] and two.asserts() == []
    assert "".join(e["digit"] for e in digits(two, "in")) == DIGITS
    assert {e["via"] for e in digits(two, "in") + digits(one, "in")} == {via}
    infos = [m for m in one.sent("INFO ") if "application/dtmf" in m]
    assert len(infos) == (len(DIGITS) if via == "info" else 0)


@pytest.mark.parametrize("mode", ["rtpevent", "info", "inband"])
def test_a_wrong_digit_is_told(build, ports, prompts, mode):
    common = {"audio_codecs": ["PCMA"], "call_duration": "30", "dtmf_mode": mode,
              "prompt": "silence.wav", "audio_checks": False}
    _, two = pair(
        build, ports, prompts,
        {**common, "sipclient_actions": [["assert_established"], ["dtmf", "12"], ["wait", "6500"],
                                         ["hangup"]]},
        {**common, "sipclient_actions": [["assert_dtmf", "13 6000"]]})
    (missed,) = two.asserts()
    assert missed["action"] == "assert_dtmf" and 'heard "12"' in missed["text"], missed


def test_digits_are_no_sound_and_no_loss(build, ports, prompts):
    """In a call whose prompt continues: the audio that events replace is silence, and
    nothing else changes."""
    common = {"audio_codecs": ["PCMU"], "call_duration": "3"}
    one, two = pair(build, ports, prompts,
                    {**common, "sipclient_actions": [["assert_established"], ["wait", "500"],
                                                     ["dtmf", "5 1000"]]}, common)
    assert one.asserts() == []
    got = stream(two, "in")
    assert got["lost"] == 0 and got["packets"] == stream(one, "out")["packets"]
    assert 900 <= audio(two)["silence_max_ms"] <= 1300, audio(two)
    (tone,) = audio(two)["tones"]
    assert abs(tone["hz"] - 440) < 1

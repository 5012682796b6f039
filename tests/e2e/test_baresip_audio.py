"""What a client baresip sends and receives, decoded from what its tap sees: the same
figures as those of the native engine at the other end."""
import pytest

from second_client import NEEDED, UP, Called, Pair, folder_fixture  # noqa: F401
from test_audio import PROMPTS, heard_in

pytestmark = NEEDED


@pytest.fixture(name="prompts")
def prompts_fixture(tmp_path):
    for name, content in PROMPTS.items():
        (tmp_path / f"{name}.wav").write_bytes(content)
    return tmp_path


def assert_same_sound(sent, received):
    """Everything that was sent arrived, except possibly the last packets."""
    print(sent, received)
    assert sent["undecodable"] == sent["dropped"] == 0
    assert received["undecodable"] == received["dropped"] == 0
    assert 0 <= sent["packets"] - received["packets"] <= 2 and received["packets"] > 50
    assert sent["level_dbov"] == pytest.approx(received["level_dbov"], abs=0.2)
    assert sent["peak_dbov"] == pytest.approx(received["peak_dbov"], abs=0.2)
    assert sent["heard_ms"] == pytest.approx(received["heard_ms"], abs=150)


@pytest.mark.parametrize("how", [Pair, Called])
@pytest.mark.parametrize("codec", ["PCMU", "G722", "opus", "L16/16000"])
def test_both_ends_hear_the_same(build, ports, namespaces, prompts, how, codec):
    common = {"audio_codecs": [codec], "audio_checks": True}
    mine = {**common, "expect_prompt": "voice.wav",
            "sipclient_actions": [UP, ["assert_audio", "prompt 20000"], ["dtmf", "1"]]}
    other = {**common, "prompt": "voice.wav",
             "sipclient_actions": [UP, ["assert_audio", "tone 440 20000"], ["assert_dtmf", "1"]]}
    call, answer = (mine, other) if how is Pair else (other, mine)
    with how(build, ports, namespaces, {"call_duration": 5, **call}, answer,
             settings={"prompt_dir": str(prompts)}) as p:
        p.run().end()
        assert not p.caller.asserts() and not p.callee.asserts()
        sound = {way: s["audio"] for way, s in p.streams().items()}
        flaws = [e for e in p.caller.events + p.callee.events if e["kind"] == "flaw"]
    assert not flaws
    tapped, native = ("caller", "callee") if how is Pair else ("callee", "caller")
    assert_same_sound(sound[tapped, "out"], sound[native, "in"])
    assert_same_sound(sound[native, "out"], sound[tapped, "in"])
    assert sound[tapped, "in"]["prompt_match"] > 0.9
    assert sound[tapped, "in"]["one_way_ms"] == 0
    tone, = sound[tapped, "out"]["tones"]
    # in L16/16000 it sends 442.8 Hz instead
    assert abs(tone["hz"] - 440) < 4 and tone["ms"] > 2000
    assert tone["hz"] == pytest.approx(sound[native, "in"]["tones"][0]["hz"], abs=0.1)


def test_silence_is_heard(build, ports, namespaces, prompts):
    """A peer that sends no audio fails the condition that requires it."""
    with Pair(build, ports, namespaces, {
            "audio_checks": True, "sipclient_actions": [
                UP, ["assert_audio", "silence 700"], ["mute", ""], ["wait", "1500"],
                ["assert_audio", "tone 1000 700"]], "call_duration": 5},
            {"prompt": "silence.wav"}, settings={"prompt_dir": str(prompts)}) as p:
        p.run().end()
        missed, = p.caller.asserts()
        streams = p.streams()
    assert missed["action"] == "assert_audio" and "no tone of 1000 Hz" in missed["text"], missed
    assert streams["caller", "in"]["audio"]["heard_ms"] == 0
    assert streams["caller", "out"]["audio"]["silence_max_ms"] > 1000


@pytest.mark.parametrize("how", [Pair, Called])
def test_recordings(tmp_path, build, ports, namespaces, prompts, how):
    mine, other = {"record": "media"}, {"prompt": "other.wav"}
    call, answer = (mine, other) if how is Pair else (other, mine)
    with how(build, ports, namespaces, {"call_duration": 4, **call}, answer,
             settings={"prompt_dir": str(prompts), "artifact_dir": str(tmp_path)}) as p:
        p.run().end()
        tapped = p.caller if how is Pair else p.callee
        packets = {way: p.streams()[tapped.role, way]["packets"] for way in ("in", "out")}
        assert sorted(tapped.artifacts) == [f"{tapped.role}-1-{way}.wav" for way in ("in", "out")]
    for way, index in (("in", 1), ("out", 0)):
        seconds, *levels = heard_in(str(tmp_path / f"{tapped.role}-1-{way}.wav.part"))
        print(way, seconds, levels)
        # 20 ms each; less than a call of 4 s has, where the machine stood still
        assert seconds == pytest.approx(packets[way] * 0.02, abs=0.3) and seconds > 3
        assert levels[index] > -12 and levels[1 - index] < -30, (way, levels)


def test_what_is_encrypted_is_not_recorded(tmp_path, build, ports, namespaces):
    """The rest of the test is recorded, and so are the calls of other roles: the result
    says why this one is not."""
    with Pair(build, ports, namespaces, {"call_duration": 1, "media_encryption": "sdes-mandatory",
                                         "store_artifacts": True},
              {"media_encryption": "sdes-mandatory"}, settings={"artifact_dir": str(tmp_path)}) as p:
        p.run().end()
        lost, = [e for e in p.caller.events if e["kind"] == "artifact_lost"]
        assert p.caller.artifacts == ["caller-1.json"]
    assert "client baresip alone has the keys" in str(lost)

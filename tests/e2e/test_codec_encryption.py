"""Every codec with every encryption, between two engines.

Each side hears the other's tone at its frequency and level, and the packets that each
reports as sent and received equal those of a capture. The caller encrypts with the
built-in SRTP, the called side with libsrtp2."""
import pytest

from capture import Capture
from engine import Engine, target
from ports import PortBlock
from test_audio import PROMPTS, dbov

CODECS = ["PCMU", "PCMA", "G722", "opus", "GSM", "L16/8000", "L16/16000", "L16/44100"]
ENCRYPTIONS = [{}, {"media_encryption": "dtls"}, {"media_encryption": "dtls", "rtcp_mux": False}] + [
    {"media_encryption": "sdes-mandatory", "srtp_suites": [suite]} for suite in (
        "AES_CM_128_HMAC_SHA1_80", "AES_CM_128_HMAC_SHA1_32", "AES_256_CM_HMAC_SHA1_80",
        "AES_256_CM_HMAC_SHA1_32", "AEAD_AES_128_GCM", "AEAD_AES_256_GCM")]


@pytest.fixture(scope="module", name="calls")
def calls_fixture(build, tmp_path_factory):
    """One calling engine per codec, which uses one encryption after the other, all
    codecs at once; one answering engine per encryption.

    [(codec, encryption, streams of the caller, streams of the called side)], and the
    capture"""
    ports = PortBlock()
    folder = tmp_path_factory.mktemp("prompts")
    for name in ("tone", "other"):
        (folder / f"{name}.wav").write_bytes(PROMPTS[name])
    common = {"audio_checks": True, "call_duration": "2"}
    settings = {"prompt_dir": str(folder)}
    first = ports.rtp[0]
    callees, callers = [], []
    with Capture(folder, (first, first + 179)) as capture:
        try:
            for i, encryption in enumerate(ENCRYPTIONS):
                answer = {"type": "answer", "credentials": [{"username": "1002"}],
                          "audio_codecs": CODECS, "prompt": "other.wav", **common, **encryption}
                callees.append(Engine(
                    build, "callee", [[answer], []], ports, sip_port=ports.base + 5 + i,
                    offset=4 * i, rtp_last=first + 16 * i + 15,
                    settings={**settings, "srtp_library": "libsrtp2"}).__enter__())
                callees[-1].step(0)
            for i, codec in enumerate(CODECS):
                at = 16 * len(ENCRYPTIONS) + 4 * i
                steps = [[{"type": "call", "dial_destination": "1002", "audio_codecs": [codec],
                           "credentials": [{"username": "1001"}], "prompt": "tone.wav",
                           "target": target("127.0.0.1", ports.base + 5 + n), **common,
                           **encryption} for n, encryption in enumerate(ENCRYPTIONS)]]
                callers.append(Engine(build, "caller", steps, ports, offset=at // 4,
                                      rtp_last=first + at + 3, settings=settings).__enter__())
            for engine in callers:
                engine.go(0)
            for engine in callers:
                engine.until(lambda one=engine: one.ready >= 0 or one.finish, "its calls")
                engine.end()
            for engine in callees:
                engine.step(1)
                engine.end()
        finally:
            for engine in callers + callees:
                engine.__exit__(None, None, None)
    ports.close()
    for engine in callees:
        assert "SRTP by libsrtp2" in engine.log
    taken = {c["call_id"]: c for engine in callees for c in engine.calls()}
    found = {}
    for codec, engine in zip(CODECS, callers):
        assert engine.asserts() == []
        assert len(engine.calls()) == len(ENCRYPTIONS), engine.log
        for encryption, call in zip(ENCRYPTIONS, engine.calls()):
            suite = encryption.get("srtp_suites", [encryption.get("media_encryption", "none")])[0]
            suite += "" if encryption.get("rtcp_mux", True) else " on two ports"
            found[codec, suite] = call, taken[call["call_id"]]
    counts = {}
    for packet in capture.packets():
        counts[packet[0]] = counts.get(packet[0], 0) + 1
    return found, counts


@pytest.mark.parametrize("codec", CODECS)
def test_tones_and_counts(calls, codec):
    found, counts = calls
    for suite in [s for c, s in found if c == codec]:
        for call, hz in zip(found[codec, suite], (1000, 440)):
            streams = {s["dir"]: s for s in call["streams"]}
            heard = streams["in"]["audio"]
            tone = max(heard["tones"], key=lambda t: t["ms"])
            print(f"{codec} {suite} {call['call']}: {tone['hz']:.2f} Hz {tone['dbov']:+.2f} dBov, "
                  f"in {streams['in']['packets']}, out {streams['out']['packets']}")
            assert abs(tone["hz"] - hz) < 1 and tone["ms"] >= 1000, heard
            # GSM and Opus keep the level only roughly
            assert abs(tone["dbov"] - dbov(8000)) < (1.5 if codec in ("GSM", "opus") else 0.4), heard
            assert heard["undecodable"] == 0 and streams["in"]["lost"] == 0
            for way in ("in", "out"):
                stream = streams[way]
                assert stream["packets"] == counts[int(stream["ssrc"], 16)], (suite, stream)
                assert ("srtp_suite" in stream) == (suite != "none"), stream
                if suite != "none" and not suite.startswith("dtls"):
                    assert stream["srtp_suite"] == suite
            if suite != "none":
                assert streams["in"]["srtp_auth_failed"] == 0

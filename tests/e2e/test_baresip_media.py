"""What a client baresip sends and receives: codecs, encryptions, and its audio as
another engine hears it."""
import json
import shutil
import subprocess

import pytest

from engine import Engine, target
from program_clock import Clock
from second_client import (NEEDED, OURS, SIP, THEIRS, UP, Pair, assert_counts_agree,
                           folder_fixture)  # noqa: F401
from test_audio import PROMPTS, wav

pytestmark = NEEDED


@pytest.fixture(name="prompts")
def prompts_fixture(tmp_path):
    for name, content in PROMPTS.items():
        (tmp_path / f"{name}.wav").write_bytes(content)
    (tmp_path / "text.wav").write_text("no audio")
    return tmp_path


@pytest.mark.parametrize("codec", ["PCMU", "opus"])
def test_silence_and_a_file_instead_of_its_tone(build, ports, namespaces, prompts, folder, codec):
    """The two synchronise by digits."""
    with Pair(build, ports, namespaces, {
            "audio_codecs": [codec], "call_duration": 90, "sipclient_actions": [
                UP, ["assert_dtmf", "1"], ["mute", ""], ["mute", ""], ["dtmf", "2"],
                ["assert_dtmf", "3"], ["unmute", ""], ["assert_dtmf", "4"],
                ["play", "voice.wav"], ["dtmf", "5"], ["assert_dtmf", "6"], ["wait", "1000"],
                ["hangup", ""]]}, {
            "audio_codecs": [codec], "prompt": "silence.wav", "expect_prompt": "voice.wav",
            "sipclient_actions": [
                UP, ["assert_audio", "tone 440 20000"], ["dtmf", "1"], ["assert_dtmf", "2"],
                ["assert_audio", "silence 700"], ["dtmf", "3"],
                ["assert_audio", "tone 440 20000"], ["dtmf", "4"],
                ["assert_audio", "prompt 20000"], ["assert_dtmf", "5"],
                ["assert_audio", "tone 440 20000"], ["dtmf", "6"]]},
            settings={"prompt_dir": str(prompts)}) as p:
        p.run()
        assert len(list(folder.iterdir())) == 1  # the file that it plays
        p.end()
        assert not p.caller.asserts() and not p.callee.asserts()
        assert_counts_agree(p.streams())
    assert not list(folder.iterdir())


@pytest.mark.parametrize("name,reason", [
    ("nowhere.wav", "is neither an uploaded prompt nor in the agent's prompt_dir"),
    ("text.wav", "is no audio file that libsndfile reads"),
    ("long.wav", "is too long: client baresip plays 2 min at most")])
def test_what_cannot_be_played_ends_the_job_before_a_call(build, ports, namespaces, prompts, name,
                                                          reason):
    (prompts / "long.wav").write_bytes(wav([0.0] * 8000 * 121))
    with Pair(build, ports, namespaces, {"call_duration": 3, "sipclient_actions": [
            UP, ["play", name]]}, settings={"prompt_dir": str(prompts)}) as p:
        p.caller.until(lambda: p.caller.finish, "the end")
        assert p.caller.finish["outcome"] == "error", p.caller.finish
        assert p.caller.finish["reason"] == f'role caller: play "{name}" {reason}'
        assert not p.caller.messages and not p.caller.calls()


@pytest.mark.parametrize("count", [64, 65])
def test_files_that_it_plays(build, ports, namespaces, prompts, count):
    """Of more than 64 none is played: the job ends before its first call."""
    for i in range(count):
        (prompts / f"{i}.wav").write_bytes(wav([0.0] * 80))
    with Engine(build, "caller", [[{"type": "call", "client": "baresip", "dial_destination": "1002", "target": target(THEIRS, SIP),
                                    "sipclient_actions": [["play", f"{i}.wav"] for i in range(count)]}]], ports,
                bind=OURS, settings={"prompt_dir": str(prompts)}, prefix=("ip", "netns", "exec", namespaces[0])) as e:
        if count == 64:
            e.cancel()
        e.until(lambda: e.finish, "the end")
        assert e.finish["reason"] == ("the run was cancelled" if count == 64 else
                                      'role caller: play "64.wav" is one too many: client baresip plays 64 files'), e.finish


def test_no_room_for_what_it_plays(build, ports, namespaces, prompts):
    """The agent's temporary folder is full."""
    fill = "mount -t tmpfs -o size=64k none \"$TMPDIR\" && exec \"$@\""
    with Engine(build, "caller", [[{"type": "call", "client": "baresip", "dial_destination": "1002",
                                    "target": target(THEIRS, SIP),
                                    "sipclient_actions": [["play", "voice.wav"]]}]], ports,
                bind=OURS, settings={"prompt_dir": str(prompts)},
                prefix=("ip", "netns", "exec", namespaces[0], "unshare", "-m", "sh", "-c", fill,
                        "sh")) as e:
        e.until(lambda: e.finish, "the end")
        assert e.finish["outcome"] == "error"
        assert 'play "voice.wav" cannot be written for client baresip' in e.finish["reason"]
        assert "TMPDIR" in e.finish["reason"]


@pytest.mark.parametrize("more", [
    {"audio_codecs": ["PCMA"]}, {"audio_codecs": ["G722"]}, {"audio_codecs": ["opus"]},
    {"audio_codecs": ["GSM"]}, {"audio_codecs": ["L16/16000"]}, {"ptime": 40},
    # larger than a frame: the tap reassembles fragments
    {"audio_codecs": ["L16/16000"], "ptime": 60},
    {"media_encryption": "sdes"}, {"media_encryption": "sdes-mandatory"},
    {"media_encryption": "dtls"}, {"media_encryption": "dtls", "rtcp_mux": False},
    {"rtcp_mux": True}], ids=str)
def test_its_codecs_and_encryptions(build, ports, namespaces, more):
    peer = {k: v for k, v in more.items() if k != "rtcp_mux"}
    with Pair(build, ports, namespaces, {"call_duration": 3, **more}, peer) as p:
        p.run().end()
        streams = p.streams()
        states = p.caller.states("caller-1")
        least = 2 * 1000 // more.get("ptime", 20)
        for sent, got in (("caller", "callee"), ("callee", "caller")):
            out, heard = streams[sent, "out"], streams[got, "in"]
            # the side that ends the call may send one more packet before the other
            # learns of it and stops receiving
            missing = out["packets"] - heard["packets"]
            if (sent, more.get("rtcp_mux")) == ("caller", False):
                # baresip takes both ports for secured when one of its two handshakes has
                # ended: what it sends in plain until then is refused, RTCP too
                refused = heard["srtp_auth_failed"]
                assert refused - 2 <= missing <= refused + 2 and refused < least, (out, heard)
            else:
                assert 0 <= missing <= 2 and heard["packets"] > least / 1.25, (out, heard)
            assert heard["lost"] == 0
        codec = more.get("audio_codecs", ["PCMU"])[0].split("/")[0]
        assert streams["caller", "in"]["codec"] == streams["caller", "out"]["codec"] == codec
        assert ("CALL_MENC" in states) == ("media_encryption" in more)
        if more.get("media_encryption", "").startswith("sdes"):
            assert streams["caller", "in"]["srtp_suite"] == streams["callee", "in"]["srtp_suite"]
        if "inline:" in json.dumps(p.caller.messages):
            assert "inline:*" in json.dumps(p.caller.messages)


def test_its_packets_are_captured(build, ports, namespaces, tmp_path):
    """Taken off the interface, in both directions, with the addresses that they had."""
    with Pair(build, ports, namespaces, {"call_duration": 3, "rtp_capture": True},
              settings={"artifact_dir": str(tmp_path)}) as p:
        p.run().end()
        assert p.caller.artifacts == ["rtp.pcap"]
        streams = p.streams()
    # no supervisor has renamed it
    analyzed = json.loads(subprocess.run(
        [build / "offhook", "analyze", "--json", tmp_path / "rtp.pcap.part"],
        capture_output=True, check=True).stdout)
    found = {s["key"]["src"]: s["counters"]["packets"] for s in analyzed["streams"]}
    assert found == {OURS: streams["caller", "out"]["packets"],
                     THEIRS: streams["caller", "in"]["packets"]}
    assert {s["key"]["dst"] for s in analyzed["streams"]} == {OURS, THEIRS}


def test_round_trips_do_not_depend_on_its_clock(build, ports, namespaces, tmp_path):
    """Its clock, and so the time in its SRs, is an hour ahead of the agent's."""
    clock = Clock(tmp_path)
    clock.set_forward(3600)
    real, ahead = tmp_path / "real", tmp_path / "baresip"
    shutil.copy2("/usr/bin/baresip", real)
    ahead.write_text("#!/bin/sh\nexec env " + " ".join(
        f"'{name}={value}'" for name, value in clock.environment().items()) + f" {real} \"$@\"\n")
    ahead.chmod(0o755)
    pair = Pair(build, ports, namespaces, {"call_duration": 16},
                settings={"sandbox": "off"})  # it lets an engine execute the real one only
    pair._prefix[OURS] += ("unshare", "-m", "sh", "-c",
                           f"mount --bind {ahead} /usr/bin/baresip && exec \"$@\"", "sh")
    with pair as p:
        p.run().end()
        streams = p.streams()
    for direction in ("in", "out"):
        trip = streams["caller", direction]["rtt_ms"]
        assert trip["n"] > 0 and 0 <= trip["min"] and trip["max"] < 1000, trip

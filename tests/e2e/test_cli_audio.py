"""The audio of `offhook call` and `offhook answer` in the foreground: what is played,
recorded and heard, and the verdict on it."""
import io
import json
import re
import subprocess

import pytest

from capture import tshark
from test_audio import PROMPTS, dbov, heard_in


@pytest.fixture(name="prompts")
def prompts_fixture(tmp_path):
    for name, content in PROMPTS.items():
        (tmp_path / f"{name}.wav").write_bytes(content)
    return tmp_path


class Answer:
    """`offhook answer` for one call; it is ready on entry."""

    def __init__(self, build, ports, *options):
        self.process = subprocess.Popen(
            [build / "offhook", "answer", "--user", "b", "--bind", "127.0.0.1", "--sip-port",
             str(ports.phone), "--rtp-ports", f"{ports.rtp[0]}-{ports.rtp[0] + 20}", *options],
            stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        line = self.process.stdout.readline()
        assert "Waiting for calls" in line, line
        return self

    def end(self):
        """Wait for its end. @return the exit code"""
        print(self.process.communicate(timeout=30)[0])
        return self.process.returncode

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def call(build, ports, *options):
    done = subprocess.run(
        [build / "offhook", "call", f"sip:b@127.0.0.1:{ports.phone}", "--bind", "127.0.0.1",
         "--rtp-ports", f"{ports.rtp[0] + 30}-{ports.rtp[0] + 50}", "--duration", "3",
         "--codec", "PCMA", *options], capture_output=True, text=True, timeout=60)
    print(done.stdout + done.stderr)
    return done


def test_digits_are_told_with_their_length(build, ports):
    with Answer(build, ports) as two:
        done = call(build, ports, "--actions", '[["assert_established",""],["dtmf","7 120"]]')
        heard = two.process.communicate(timeout=30)[0]
    assert done.returncode == 0
    # a digit lasts whole packets
    assert "caller-1: digit 7 sent by rtpevent, 120 ms\n" in done.stdout
    assert "callee-1: digit 7 received by rtpevent, 120 ms\n" in heard, heard


@pytest.mark.parametrize("records", [False, True], ids=["headers", "recorded"])
def test_packets_are_captured(build, ports, tmp_path, records):
    """The file has the packets that the call counted, also for our own measurement."""
    options = ["--rtp-capture", str(tmp_path), *(["--record", str(tmp_path)] * records)]
    with Answer(build, ports):
        done = call(build, ports, "--json", *options)
    assert done.returncode == 0
    one = json.loads(done.stdout)
    file = tmp_path / "rtp.pcap"
    assert str(file) in one["recordings"] and len(one["recordings"]) == 1 + 2 * records
    analyzed = json.loads(subprocess.run(
        [build / "offhook", "analyze", "--json", file], capture_output=True, check=True).stdout)
    found = {s["key"]["ssrc"]: s["counters"]["packets"] for s in analyzed["streams"]}
    streams, = [c["streams"] for c in one["calls"]]
    assert found == {s["ssrc"]: s["packets"] for s in streams}
    seen = tshark(file, "-o", "rtp.heuristic_rtp:TRUE", "-Y", "rtp", "-T", "fields", "-e", "frame.cap_len")
    assert seen.split() == [str(28 + 12 + 160 * records)] * sum(found.values())


def test_recorded_and_judged(build, ports, prompts):
    folder = prompts / "kept"
    folder.mkdir()
    with Answer(build, ports, "--prompt", str(prompts / "voice.wav"), "--record",
                str(folder)) as two:
        done = call(build, ports, "--prompt", str(prompts / "tone.wav"), "--record", str(folder),
                    "--expect-prompt", str(prompts / "voice.wav"), "--json")
        assert two.end() == 0
    one = json.loads(done.stdout)
    assert done.returncode == 0, one["reason"]
    assert sorted(one["recordings"]) == [str(folder / f"caller-1-{way}.wav") for way in ("in", "out")]
    assert sorted(p.name for p in folder.iterdir()) == [
        f"{role}-1-{way}.wav" for role in ("callee", "caller") for way in ("in", "out")]
    seconds, level, _ = heard_in(io.BytesIO((folder / "callee-1-in.wav").read_bytes()))
    assert seconds > 2 and abs(level) < 0.5
    (found,) = [s["audio"] for s in one["calls"][0]["streams"] if s["dir"] == "in"]
    assert found["prompt_match"] > 0.9


@pytest.mark.parametrize("played, words", [("silence", "was silent: no sound in"),
                                           ("stranger", "is not the expected prompt")])
def test_bad_audio_fails(build, ports, prompts, played, words):
    with Answer(build, ports, "--prompt", str(prompts / f"{played}.wav"),
                "--audio-checks") as two:
        done = call(build, ports, "--expect-prompt", str(prompts / "voice.wav"))
        assert two.end() == 0   # what it heard passes
    assert done.returncode == 1
    assert words in done.stdout.splitlines()[-1]


def test_figures_are_printed(build, ports, prompts):
    with Answer(build, ports, "--prompt", str(prompts / "other.wav")) as two:
        done = call(build, ports, "--audio-checks", "--ptime", "40")
        assert two.end() == 0
    assert done.returncode == 0
    heard = next(line for line in done.stdout.splitlines() if line.startswith("  heard"))
    level = float(heard.split("level ")[1].split()[0])
    assert abs(level - dbov(8000)) < 0.5, heard
    assert "clipped 0.00 %" in heard and "one-way 0 ms" in heard
    assert "tones: 1000.0 Hz" in done.stdout


def test_markers_tell_the_delay(build, ports):
    with Answer(build, ports, "--audio-marker") as two:
        done = call(build, ports, "--audio-marker", "--duration", "6")
        assert two.end() == 0
    assert done.returncode == 0
    heard = next(line for line in done.stdout.splitlines() if line.startswith("  heard"))
    delay, markers = re.search(r"delay (-?[0-9.]+) ms of (\d+) markers", heard).groups()
    # a stall of the machine delays one of a few markers
    assert -1 < float(delay) < 1200 and int(markers) >= 1, heard


def test_opus_and_silence_are_announced(build, ports, prompts):
    """As in the SDP of the INVITE; for digital silence hardly any packet is sent."""
    with Answer(build, ports, "--codec", "PCMA", "--codec", "opus", "--silence-suppression") as two:
        done = call(build, ports, "--codec", "opus", "--opus-fmtp", "maxplaybackrate=16000;cbr=1",
                    "--silence-suppression", "--trace", "--prompt", str(prompts / "silence.wav"))
        assert two.end() == 0
    invite = done.stdout.split("INVITE sip:", 1)[1].split("SIP/2.0 ", 1)[0]
    assert "maxplaybackrate=16000;cbr=1;usedtx=1" in invite
    assert re.search(r"^\s*a=rtpmap:13 CN/8000", invite, re.M), invite


@pytest.mark.parametrize("option, value", [("--record", "/nonexistent"), ("--rtp-capture", "/nonexistent"),
                                           ("--expect-prompt", "/nonexistent.wav"),
                                           ("--ptime", "9"), ("--dtmf-mode", "smoke")])
def test_wrong_values_are_named(build, option, value):
    done = subprocess.run([build / "offhook", "call", "sip:b@127.0.0.1:9", option, value],
                          capture_output=True, text=True, timeout=30)
    assert done.returncode == 2, done
    assert option in done.stderr, done.stderr

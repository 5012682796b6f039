"""Every codec against a foreign phone: baresip in a network namespace."""
import array
import cmath
import json
import math
import os
import shutil
import subprocess
import time
import wave

import pytest

from netns import cable

BARESIP = shutil.which("baresip")
MODULES = "/usr/lib/baresip/modules"

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not BARESIP, reason="needs root and baresip")

# our name: baresip's module, its name for it
CODECS = {
    "PCMU": ("g711", "PCMU/8000/1"),
    "PCMA": ("g711", "PCMA/8000/1"),
    "G722": ("g722", "G722/16000/1"),
    "opus": ("opus", "opus/48000/2"),
    "GSM": ("gsm", "GSM/8000/1"),
    "L16/8000": ("l16", "L16/8000/1"),
    "L16/16000": ("l16", "L16/16000/1"),
    "L16/44100": ("l16", "L16/44100/1"),
}


@pytest.fixture(scope="module")
def namespaces():
    with cable() as names:
        yield names


def tone_write(path, rate, hz, seconds=10):
    with wave.open(str(path), "wb") as f:
        f.setnchannels(1)
        f.setsampwidth(2)
        f.setframerate(rate)
        f.writeframes(array.array("h", (
            round(8000 * math.sin(2 * math.pi * hz * i / rate))
            for i in range(rate * seconds))).tobytes())


def level_at(path, hz):
    """Amplitude of a frequency in the loudest second, full scale 32768."""
    with wave.open(str(path), "rb") as f:
        rate = f.getframerate()
        samples = array.array("h", f.readframes(f.getnframes()))[::f.getnchannels()]
    best = 0
    for start in range(0, len(samples) - rate + 1, rate // 2):
        turned = sum(cmath.exp(-2j * math.pi * hz * i / rate) * samples[start + i]
                     for i in range(rate))
        best = max(best, 2 * abs(turned) / rate)
    return best


class Baresip:
    """A phone at 10.99.0.2 that answers and plays a 440 Hz tone."""

    def __init__(self, folder, namespace, module, codec):
        self.log = folder / "baresip.log"
        self._namespace = namespace
        self._home = folder
        rate = codec.split("/")[1]
        tone_write(folder / "tone.wav", int(rate), 440)
        (folder / "accounts").write_text(
            f"<sip:phone@10.99.0.2>;regint=0;answermode=auto;audio_codecs={codec}\n")
        (folder / "contacts").write_text("")
        (folder / "config").write_text("\n".join([
            "sip_listen 10.99.0.2:5060",
            "snd_path " + str(folder),
            "audio_source aufile," + str(folder / "tone.wav"),
            "audio_alert aufile,/dev/null",
            "ausrc_srate " + rate, "auplay_srate " + rate, "ausrc_channels 1", "auplay_channels 1",
            "rtp_ports 30000-30100", "net_interface vb",
            "module_path " + MODULES,
            f"module {module}.so", "module aufile.so",
            "module sndfile.so",
            "module_app account.so", "module_app menu.so", ""]))

    def __enter__(self):
        with open(self.log, "wb") as log:
            self._process = subprocess.Popen(
                ["ip", "netns", "exec", self._namespace, BARESIP, "-v",
                 "-f", str(self._home)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + 10
        while b"baresip is ready" not in self.log.read_bytes():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise RuntimeError(self.log.read_text(errors="replace"))
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def call(build, namespace, *options):
    done = subprocess.run(
        ["ip", "netns", "exec", namespace, str(build / "offhook"), "call",
         "sip:phone@10.99.0.2", "--bind", "10.99.0.1", "--json", *options],
        capture_output=True, text=True, timeout=60)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def streams(result):
    found = {}

    def walk(node):
        if isinstance(node, dict):
            if node.get("dir") in ("in", "out") and "packets" in node:
                found[node["dir"]] = node
            node = list(node.values())
        if isinstance(node, list):
            for child in node:
                walk(child)
    walk(result)
    return found


@pytest.mark.parametrize("codec", CODECS)
def test_codec_with_baresip(tmp_path, build, namespaces, codec):
    module, theirs = CODECS[codec]
    tone_write(tmp_path / "prompt.wav", 48000, 1000)
    with Baresip(tmp_path, namespaces[1], module, theirs) as phone:
        code, result = call(build, namespaces[0], "--codec", codec,
                            "--duration", "3",
                            "--prompt", str(tmp_path / "prompt.wav"))
    log = phone.log.read_text(errors="replace")
    assert code == 0, (result, log)
    found = streams(result)
    name = codec.split("/")[0]
    for way in ("in", "out"):
        assert found[way]["codec"] == name, (found, log)
    assert found["in"]["lost"] == 0
    assert found["out"]["packets"] == 150
    # baresip halves the packet time of L16/44100
    assert 130 <= found["in"]["packets"] <= (
        340 if codec == "L16/44100" else 170)
    # every codec has a score; where no standard has its values, it says so
    declared = codec == "opus" or name == "L16"
    assert found["in"]["mos_total"] > 3.5
    assert ("mos_declared" in found["in"]) == declared, found["in"]
    assert found["in"]["mos_scale"] == {
        "G722": "wb", "L16/16000": "wb", "opus": "fb", "L16/44100": "fb"}.get(codec, "nb")
    heard, = tmp_path.glob("dump-*-dec.wav")
    level = level_at(heard, 1000)
    print(f"{codec}: heard 1000 Hz at {20 * math.log10(level / 8000):+.2f} dB, "
          f"in {found['in']['packets']}, out {found['out']['packets']}")
    assert abs(20 * math.log10(level / 8000)) < 1.5

"""Every codec with a foreign phone, baresip in a network namespace: each side hears the
other's tone, and the packet counts equal those of an independent capture."""
import json
import math
import os
import subprocess

import pytest

from capture import Capture
from phones import BARESIP, CODECS, OURS, PHONE, Baresip, level_at, tone_write

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not BARESIP, reason="needs root and baresip")

RTP = (20000, 20099)


def call(build, namespace, *options):
    done = subprocess.run(
        ["ip", "netns", "exec", namespace, str(build / "offhook"), "call",
         f"sip:phone@{PHONE}", "--bind", OURS, "--rtp-ports", f"{RTP[0]}-{RTP[1]}", "--json",
         *options],
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
    tone_write(tmp_path / "prompt.wav", 48000, 1000)
    with Baresip(tmp_path, namespaces[1], codec) as phone, \
            Capture(tmp_path, RTP, namespaces[0], "va") as capture:
        code, result = call(build, namespaces[0], "--codec", codec,
                            "--duration", "3", "--audio-checks",
                            "--prompt", str(tmp_path / "prompt.wav"))
    log = phone.text()
    assert code == 0, (result, log)
    found = streams(result)
    name = codec.split("/")[0]
    for way in ("in", "out"):
        assert found[way]["codec"] == name, (found, log)
    assert found["in"]["lost"] == 0
    # for Opus it asks for stereo, for which no prompt was prepared
    assert found["out"]["packets"] == 150
    # baresip halves the packet time of L16/44100; on a busy machine it begins or is stopped late
    assert 100 < found["in"]["packets"] < (450 if codec == "L16/44100" else 250)
    # every codec has a score; if no standard has its values, the result says so
    declared = codec == "opus" or name == "L16"
    assert found["in"]["mos_total"] > 3.5
    assert ("mos_declared" in found["in"]) == declared, found["in"]
    assert found["in"]["mos_scale"] == {
        "G722": "wb", "L16/16000": "wb", "opus": "fb", "L16/44100": "fb"}.get(codec, "nb")
    captured = {key[0]: len(s.packets) for key, s in capture.streams().items()}
    for way in ("in", "out"):
        assert found[way]["packets"] == captured[int(found[way]["ssrc"], 16)], (found, captured)
    # its tone as we heard it; baresip's file with amplitude 8000 of 32768 is -15.26
    # dBov
    audio = found["in"]["audio"]
    tone, = audio["tones"]
    assert audio["packets"] == found["in"]["packets"], audio
    assert abs(tone["hz"] - 440) < 1 and tone["ms"] >= 2000, audio
    assert abs(tone["dbov"] + 15.26) < 1.5 and audio["clipped_pct"] == 0, audio
    level = level_at(phone.heard(), 1000)
    print(f"{codec}: heard 1000 Hz at {20 * math.log10(level / 8000):+.2f} dB, "
          f"in {found['in']['packets']}, out {found['out']['packets']}; "
          f"we heard {tone['hz']:.2f} Hz at {tone['dbov']:+.2f} dBov for {tone['ms']:.0f} ms")
    assert abs(20 * math.log10(level / 8000)) < 1.5

"""What a call sends on demand: files, silence, comfort noise, Opus, and the packet
times that the peer asks for.

It is measured by another engine, in a capture, and by a peer of the test."""
import math
import socket
import struct
import threading
import time

import pytest

from capture import Capture
from engine import Engine, target
from sip_peer import SipPeer
from test_audio import PROMPTS, audio, dbov, pair, stream, wav

RATE = 8000


def tone_samples(hz, ms, amplitude=8000, rate=RATE):
    return [amplitude * math.sin(2 * math.pi * hz * i / rate) for i in range(rate * ms // 1000)]


@pytest.fixture(name="prompts")
def prompts_fixture(tmp_path):
    for name, content in PROMPTS.items():
        (tmp_path / f"{name}.wav").write_bytes(content)
    # 500 ms of sound, 1500 ms of noise at -66 dBov, like the pauses of a talker
    (tmp_path / "talk.wav").write_bytes(wav(tone_samples(440, 500) +
                                            tone_samples(500, 1500, 23)))
    return tmp_path


@pytest.mark.parametrize("codec", ["PCMA", "opus", "GSM"])
def test_play(build, ports, prompts, codec):
    one, two = pair(
        build, ports, prompts,
        {"prompt": "silence.wav", "audio_codecs": [codec], "call_duration": "20",
         "sipclient_actions": [["assert_established"], ["wait", "500"], ["play", "other.wav"],
                               ["wait", "1000"], ["hangup"]]},
        {"audio_codecs": [codec], "prompt": "tone.wav",
         "sipclient_actions": [["assert_audio", "tone 1000 4000"]]})
    assert one.asserts() == [] and two.asserts() == []
    (found,) = [t for t in audio(one, "out")["tones"] if abs(t["hz"] - 1000) < 4]
    # played once: the file has 1 s
    assert 700 <= found["ms"] <= 1000, found
    assert 900 <= audio(two)["heard_ms"] <= 1100, audio(two)
    (call,) = one.calls()
    # the script waited for the end of the file
    assert 2400 <= call["duration_ms"] < 12000, call


def test_play_what_is_not_there(build, ports, prompts):
    """It is not the peer's failure: no call is placed."""
    steps = [[{"type": "call", "dial_destination": "1002", "credentials": [{"username": "1001"}],
               "target": target("127.0.0.1", ports.phone),
               "sipclient_actions": [["play", "nowhere.wav"]]}]]
    with Engine(build, "caller", steps, ports, settings={"prompt_dir": str(prompts)}) as one:
        one.step(0)
    assert one.finish["outcome"] == "error" and one.finish["reason"] == \
        'role caller: play "nowhere.wav" is neither an uploaded prompt nor in the agent\'s prompt_dir'
    assert not one.sent("INVITE")


@pytest.mark.parametrize("codec", ["PCMU", "G722", "opus", "L16/44100"])
def test_mute(build, ports, prompts, codec):
    """The two synchronise by digits, which are sent while muted too."""
    one, two = pair(
        build, ports, prompts,
        {"audio_codecs": [codec], "call_duration": "30",
         "sipclient_actions": [["assert_established"], ["assert_dtmf", "1"], ["mute"],
                               ["wait", "300"], ["dtmf", "2"], ["assert_dtmf", "3"], ["unmute"],
                               ["assert_dtmf", "4"], ["wait", "1500"], ["hangup"]]},
        {"audio_codecs": [codec],
         "sipclient_actions": [["assert_audio", "tone 440 9000"], ["dtmf", "1"],
                               ["assert_dtmf", "2"], ["assert_audio", "silence 700"],
                               ["dtmf", "3"], ["assert_audio", "tone 440 9000"], ["dtmf", "4"]]})
    assert one.asserts() == [] and two.asserts() == []
    assert stream(two, "in")["lost"] == 0
    assert 700 <= audio(two)["silence_max_ms"] <= 6000, audio(two)
    # silence is sent, not suppressed
    (call,) = one.calls()
    assert stream(one, "out")["packets"] >= call["duration_ms"] / 20 - 10


# codec: silence is sent as comfort noise, as DTX, or in full
@pytest.mark.parametrize("codec, kind", [("PCMU", "noise"), ("G722", "noise"), ("GSM", "noise"),
                                         ("opus", "dtx"), ("L16/16000", "sent")])
def test_silence_suppression(build, ports, prompts, codec, kind):
    common = {"audio_codecs": [codec], "prompt": "talk.wav", "silence_suppression": True,
              "call_duration": "6"}
    with Capture(prompts, (ports.rtp[0], ports.rtp[1])) as capture:
        one, two = pair(build, ports, prompts, common, common)
    offer = one.sent("INVITE ")[0]
    assert ("CN/8000" in offer) == (kind == "noise"), offer
    assert ("usedtx=1" in offer) == (kind == "dtx"), offer
    sent, got = stream(one, "out"), stream(two, "in")
    packets = [p for p in capture.packets() if p[0] == int(sent["ssrc"], 16)]
    assert sent["packets"] == got["packets"] == len(packets)
    assert got["lost"] == 0 and got["expected"] == len(packets), got
    # suppressed packets are neither loss nor jitter
    assert got["jitter_ms"]["max"] < 60, got["jitter_ms"]
    heard = audio(two)
    noises = [p for p in packets if p[4] == 13]
    if kind == "sent":
        assert len(packets) >= 290 and not noises
        return
    assert len(packets) < 200, len(packets)
    # the sound arrives: 500 ms in 2 s
    assert 1200 <= heard["heard_ms"] <= 2000, heard
    assert heard["undecodable"] == 0
    if kind == "dtx":
        assert not noises and "noise_packets" not in heard
        return
    assert heard["noise_packets"] == len(noises) >= 6
    for noise in noises:
        assert noise[6] == bytes([66]) and not noise[5], noise    # -66 dBov, no marker
    assert heard["noise_dbov"] == -66
    after = [b for a, b in zip(packets, packets[1:]) if a[4] == 13 and b[4] != 13]
    assert after and all(p[5] for p in after)   # a talkspurt begins (marker)
    # timestamps continue through the silence
    assert all((b[3] - a[3]) % 160 == 0 for a, b in zip(packets, packets[1:]))


class NoisePeer:
    """Answers a call and sends 1000 Hz in PCMU on its own, with pauses of comfort
    noise."""

    def __init__(self, port, offer_noise):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.peer, self.noise, self.got = None, offer_noise, []
        self.sip = SipPeer(port, self._answer)
        self.stop = threading.Event()
        self.sent = {0: 0, 13: 0}
        self.threads = [threading.Thread(target=f) for f in (self._send, self._receive)]

    def _answer(self, request):
        if request.method != "INVITE":
            return request.reply(200, "OK") if request.method != "ACK" else None
        port = int(request.body.split("m=audio ")[1].split()[0])
        formats = "0 13" if self.noise else "0"
        body = ("v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
                f"m=audio {self.socket.getsockname()[1]} RTP/AVP {formats}\r\n")
        self.peer = ("127.0.0.1", port)
        head = request.reply(200, "OK", f"Contact: <sip:peer@127.0.0.1:{self.sip.port}>",
                             "Content-Type: application/sdp").decode()
        return (head.replace("Content-Length: 0", f"Content-Length: {len(body)}") + body).encode()

    def _send(self):
        # mu-law of a full-scale tone by table: G.711 by its definition
        def mulaw(x):
            sign, x = (0x80, -x) if x < 0 else (0, x)
            x = min(x, 32635) + 132
            exponent = max(0, x.bit_length() - 8)
            return ~(sign | exponent << 4 | x >> (exponent + 3) & 15) & 0xff
        sound = bytes(mulaw(round(x)) for x in tone_samples(1000, 20))
        while not self.peer and not self.stop.is_set():
            time.sleep(0.005)
        start, place, seq, was_noise = time.monotonic(), 0, 100, True
        while not self.stop.wait(max(0, start + place * 0.02 - time.monotonic())):
            in_talk = place % 75 < 50     # 1 s of sound, 0.5 s of pause
            if in_talk:
                kind, payload, marker = 0, sound, was_noise
                was_noise = False
            elif place % 75 in (50, 60):  # noise at -58 dBov
                kind, payload, marker, was_noise = 13, bytes([58]), False, True
            else:
                kind = None
            if kind is not None:
                self.socket.sendto(struct.pack("!BBHII", 0x80, kind | marker << 7, seq & 0xffff,
                                               place * 160, 0xabcdef01) + payload, self.peer)
                seq += 1
                self.sent[kind] += 1
            place += 1

    def _receive(self):
        self.socket.settimeout(0.2)
        while not self.stop.is_set():
            try:
                data = self.socket.recv(2048)
            except socket.timeout:
                continue
            self.got.append((data[1] & 127, data[1] >> 7, data[12:]))

    def __enter__(self):
        self.sip.__enter__()
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        for thread in self.threads:
            thread.join()
        self.sip.__exit__()
        self.socket.close()


@pytest.mark.parametrize("agreed", [True, False])
def test_peer_with_comfort_noise(build, ports, prompts, agreed):
    with NoisePeer(ports.phone, agreed) as peer:
        steps = [[{"type": "call", "dial_destination": "peer", "call_duration": "5",
                   "credentials": [{"username": "1001"}], "audio_checks": True,
                   "audio_codecs": ["PCMU"], "prompt": "talk.wav", "silence_suppression": True,
                   "target": target("127.0.0.1", ports.phone)}]]
        with Engine(build, "caller", steps, ports, settings={"prompt_dir": str(prompts)}) as one:
            one.step(0)
            one.end()
    got, heard = stream(one, "in"), audio(one)
    assert one.asserts() == []
    assert got["lost"] == 0 and got["jitter_ms"]["avg"] < 20, got
    assert heard["noise_packets"] >= 4 and heard["noise_dbov"] == -58, heard
    assert heard["undecodable"] == 0
    (found,) = heard["tones"]
    assert abs(found["hz"] - 1000) < 1 and abs(found["dbov"] - dbov(8000)) < 0.3, heard
    assert 400 <= heard["silence_max_ms"] <= 900, heard
    kinds = [kind for kind, _, _ in peer.got]
    if not agreed:
        # comfort noise was not negotiated: everything is sent
        assert 13 not in kinds and kinds.count(0) >= 240, (kinds.count(0), kinds.count(13))
        return
    assert {payload for kind, _, payload in peer.got if kind == 13} == {bytes([66])}
    assert kinds.count(13) >= 6 and kinds.count(0) < 150
    for before, after in zip(peer.got, peer.got[1:]):
        if before[0] == 13 and after[0] == 0:
            assert after[1] == 1, after


def toc(payload):
    """The TOC byte of Opus (RFC 6716 3.1): configuration, stereo flag."""
    return payload[0] >> 3, bool(payload[0] & 4)


def redundant(payload):
    """Whether it contains a copy of the packet before.

    RFC 6716 4.2.3 and 4.2.4: the LBRR flag follows the VAD flag of a mono packet of 20
    ms; each is one bit."""
    return toc(payload)[0] < 16 and bool(payload[1] & 0x40)


# what the callee announces, and what the caller's packets must show
OPUS = {
    "narrow": ("maxplaybackrate=8000", lambda c, stereo, size: c in range(0, 4) or c in range(16, 20)),
    "wide": ("maxplaybackrate=16000", lambda c, stereo, size: c < 12 or c in range(16, 24)),
    "full": ("maxplaybackrate=48000", lambda c, stereo, size: c in (13, 15) or c >= 28),
    "stereo": ("stereo=1", lambda c, stereo, size: stereo),
    "mono": ("stereo=0;useinbandfec=0", lambda c, stereo, size: not stereo),
    # only the SILK and hybrid modes have in-band FEC
    "fec": ("useinbandfec=1", lambda c, stereo, size: c < 16),
    "cbr": ("cbr=1;maxaveragebitrate=24000", lambda c, stereo, size: size == 60),
}


@pytest.mark.parametrize("name", OPUS)
def test_opus_as_the_peer_announces_it(build, ports, prompts, name):
    fmtp, right = OPUS[name]
    common = {"audio_codecs": ["opus"], "prompt": "voice.wav"}
    with Capture(prompts, (ports.rtp[0], ports.rtp[1])) as capture:
        one, two = pair(build, ports, prompts, {**common, "opus_fmtp": "useinbandfec=1"},
                        {**common, "opus_fmtp": fmtp})
    assert any(f" {fmtp}\r\n" in m for m in two.sent("SIP/2.0 200")), two.sent("SIP/2.0 200")
    ssrc = int(stream(one, "out")["ssrc"], 16)
    packets = [p[6] for p in capture.packets() if p[0] == ssrc]
    # they are encoded once the answer arrives: less than 3 s of them
    assert len(packets) == stream(one, "out")["packets"] >= 50
    seen = [(*toc(p), len(p)) for p in packets]
    # the encoder reaches its mode after some packets
    assert all(right(*x) for x in seen[10:]), sorted(set(seen))
    assert audio(two)["undecodable"] == 0 and "level_dbov" in audio(two)
    copies = sum(redundant(p) for p in packets)
    print(f"{name}: {copies} of {len(packets)} packets with a copy of the one before")
    if name == "fec":
        assert copies > len(packets) // 3
    if name == "mono":   # useinbandfec=0
        assert copies == 0

"""Every packet time of every codec, with different ones in the two directions of a
call, counted by a capture. Also the parameters in a peer's answer: ptime, maxptime,
its own payload types."""
import socket
import threading

import pytest

from capture import Capture
from engine import Engine, target
from sip_peer import SipPeer

# name: RTP clock rate, granularity of packets, bytes per ms (0: frames)
CODECS = {"PCMU": (8000, 1, 8), "PCMA": (8000, 1, 8), "G722": (8000, 1, 8), "GSM": (8000, 20, 0),
          "opus": (48000, 10, 0), "L16/8000": (8000, 1, 16), "L16/16000": (16000, 1, 32),
          "L16/44100": (44100, 10, 88.2)}
TIMES = (*range(10, 121, 10), 15, 37, 119)
THEIRS = 30   # announced by the called side


def rounded(codec, ptime):
    step = CODECS[codec][1]
    return max(step, ptime - ptime % step)


def left_out(packets, codec, ptime):
    """Check that timestamps and sizes match the packet time.

    packets: (timestamp, ..., payload)
    @return the intervals between them without a packet"""
    clock, _, bytes_ms = CODECS[codec]
    ticks = clock * ptime // 1000
    steps = [(b[0] - a[0]) % 2**32 for a, b in zip(packets, packets[1:])]
    assert all(step and step % ticks == 0 for step in steps), (codec, ptime, set(steps))
    if bytes_ms:
        assert {len(p[-1]) for p in packets} == {round(bytes_ms * ptime)}, (codec, ptime)
    return sum(steps) // ticks - len(steps)


def unsent(engine):
    """Intervals that the engine reports as not sent, within the calls or before their
    first packet, because the audio was not encoded in time: 0 except on a machine
    that is too busy."""
    evidence, = (e for e in engine.events if e["kind"] == "evidence")
    if evidence["packets_unsent"]:
        print(f"{engine.role}: {evidence['packets_unsent']} places passed")
    return evidence["packets_unsent"]


def test_every_packet_time_of_every_codec(build, ports, tmp_path):
    """One engine per codec places calls with one packet time after the other; all
    codecs at once."""
    answer = {"type": "answer", "credentials": [{"username": "1002"}], "ptime": THEIRS,
              "audio_codecs": list(CODECS)}
    engines = {}
    with Capture(tmp_path, ports.rtp) as capture, \
            Engine(build, "callee", [[answer], []], ports, sip_port=ports.phone,
                   rtp_last=ports.rtp[0] + 43) as callee:
        callee.step(0)
        try:
            for i, codec in enumerate(CODECS):
                steps = [[{"type": "call", "dial_destination": "1002", "call_duration": "1",
                           "credentials": [{"username": "1001"}], "audio_codecs": [codec],
                           "ptime": t, "target": target("127.0.0.1", ports.phone)}
                          for t in TIMES]]
                first = 11 + i
                engines[codec] = Engine(build, "caller", steps, ports, offset=first,
                                        rtp_last=ports.rtp[0] + 4 * first + 3).__enter__()
            for engine in engines.values():
                engine.go(0)
            for engine in engines.values():
                engine.until(lambda one=engine: one.ready >= 0 or one.finish, "its calls")
                engine.end()
            callee.step(1)
            callee.end()
        finally:
            for engine in engines.values():
                engine.__exit__(None, None, None)
    seen = {}
    for packet in capture.packets():
        seen.setdefault(packet[0], []).append(packet[3:])
    missing_of_callee = 0
    for codec, engine in engines.items():
        calls, missing, passed = engine.calls(), 0, unsent(engine)
        assert len(calls) == len(TIMES)
        for ptime, call in zip(TIMES, calls):
            found = {s["dir"]: s for s in call["streams"]}
            for way, wanted in (("out", THEIRS), ("in", ptime)):
                stream, wanted = found[way], rounded(codec, wanted)
                packets = seen[int(stream["ssrc"], 16)]
                assert stream["packets"] == len(packets), (codec, ptime, way, stream)
                assert len(packets) >= 2
                places = left_out(packets, codec, wanted)
                missing += places if way == "out" else 0
                missing_of_callee += places if way == "in" else 0
                assert (stream["ptime_ms"], stream["clock_hz"]) == (wanted, CODECS[codec][0])
            assert found["in"]["lost"] == 0, (codec, ptime)
            # one second of audio, minus the time between the ends of both sides; the
            # first call waits until the packet time of the answer is encoded
            sent, each = found["out"]["packets"], rounded(codec, THEIRS)
            assert sent * each <= 1500 and (sent + passed) * each >= 500, (codec, ptime, sent)
        assert missing <= passed, (codec, missing, passed)
    assert missing_of_callee <= unsent(callee)


# our offer and the peer's answer; the resulting payload type and packet time
ANSWERS = {
    "ptime": ("PCMA", 20, ["m=audio {} RTP/AVP 8", "a=ptime:60"], 8, 60),
    "maxptime": ("PCMU", 100, ["m=audio {} RTP/AVP 0", "a=ptime:100", "a=maxptime:40"], 0, 40),
    "maxptime alone": ("G722", 120, ["m=audio {} RTP/AVP 9", "a=maxptime:50"], 9, 50),
    "no ptime": ("PCMA", 40, ["m=audio {} RTP/AVP 8"], 8, 40),
    "payload type": ("opus", 20, ["m=audio {} RTP/AVP 111", "a=rtpmap:111 opus/48000/2",
                                  "a=ptime:40"], 111, 40),
    "L16": ("L16/16000", 20, ["m=audio {} RTP/AVP 120", "a=rtpmap:120 L16/16000",
                              "a=ptime:10"], 120, 10),
}


class Sink:
    """Receives on a port of its own: (timestamp, payload type, payload)."""

    def __enter__(self):
        self.packets, self._stop = [], threading.Event()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def _run(self):
        # what is in the socket at the end is read, too
        self._socket.settimeout(0.2)
        while True:
            try:
                data = self._socket.recv(65536)
            except socket.timeout:
                if self._stop.is_set():
                    return
                continue
            self.packets.append((int.from_bytes(data[4:8], "big"), data[1] & 127, data[12:]))

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        self._socket.close()


@pytest.mark.parametrize("name", ANSWERS)
def test_as_the_answer_asks(build, ports, name):
    codec, ptime, lines, pt, wanted = ANSWERS[name]

    def answer(request):
        if request.method == "ACK":
            return None
        if request.method != "INVITE":
            return request.reply(200, "OK")
        body = "\r\n".join(["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "c=IN IP4 127.0.0.1",
                            "t=0 0", *lines, ""]).format(sink.port)
        head = request.reply(200, "OK", f"Contact: <sip:peer@127.0.0.1:{ports.phone}>",
                             "Content-Type: application/sdp").decode()
        return (head.replace("Content-Length: 0", f"Content-Length: {len(body)}") + body).encode()

    steps = [[{"type": "call", "dial_destination": "peer", "call_duration": "2",
               "credentials": [{"username": "1001"}], "audio_codecs": [codec],
               "ptime": ptime, "target": target("127.0.0.1", ports.phone)}]]
    with Sink() as sink, SipPeer(ports.phone, answer), \
            Engine(build, "caller", steps, ports) as one:
        one.step(0)
        one.end()
    (call,) = one.calls()
    (out,) = [s for s in call["streams"] if s["dir"] == "out"]
    assert out["packets"] == len(sink.packets) > 0
    assert {kind for _, kind, _ in sink.packets} == {pt}
    assert left_out(sink.packets, codec, wanted) <= unsent(one)

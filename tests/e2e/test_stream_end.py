"""The end of a stream, and several sources in one stream.

`offhook call` calls a peer of the test, which sends RTP from two SSRCs, loses and
duplicates packets, and sends reports after the BYE."""
import json
import select
import socket
import struct
import subprocess
import time

import pytest

from adversary import Peer
from capture import Capture
from engine import Engine

FIRST, SECOND, REPORTER = 0xaaaa0001, 0xbbbb0002, 0xbbbb0002
DUPLICATES = 12


def rtp(ssrc, seq, marker=0):
    return struct.pack(">BBHII", 0x80, marker << 7, seq, seq * 160, ssrc) + b"\xff" * 160


def receiver_report(about, lost, ext_seq):
    """RR with a block about us, and SDES (RFC 3550 6.4.2, 6.5)."""
    block = struct.pack(">IIIIII", about, lost & 0xffffff, ext_seq, 0, 0, 0)
    sdes = struct.pack(">IBB", REPORTER, 1, 4) + b"peer" + bytes(2)
    return struct.pack(">BBHI", 0x81, 201, 7, REPORTER) + block + \
        struct.pack(">BBH", 0x81, 202, len(sdes) // 4) + sdes


def packets_of(compound):
    """(type, count, body) of the packets in an RTCP compound."""
    at, found = 0, []
    while at < len(compound):
        first, kind, words = struct.unpack_from(">BBH", compound, at)
        found.append((kind, first & 31, compound[at + 4:at + 4 + 4 * words]))
        at += 4 + 4 * words
    return found


class MediaPeer(Peer):
    """Answers one call. Received RTP is in rtp_seqs, received RTCP in rtcp."""

    def __init__(self):
        super().__init__(self._call)
        self._rtcp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._rtcp.bind(("127.0.0.1", 0))
        self.sdp += f"a=rtcp:{self._rtcp.getsockname()[1]}\r\n"
        self.ours, self.rtp_seqs, self.rtcp, self.late_s = None, [], [], 0

    def _media(self, until):
        """Receive until this time."""
        while (left := until - time.monotonic()) > 0:
            for ready in select.select([self._rtp, self._rtcp], [], [], left)[0]:
                data = ready.recv(2048)
                if ready is self._rtcp:
                    self.rtcp.append(packets_of(data))
                elif 200 > data[1] or data[1] > 204:
                    self.ours = struct.unpack_from(">I", data, 8)[0]
                    self.rtp_seqs.append(struct.unpack_from(">H", data, 2)[0])

    def _call(self, _):
        invite = self.called()
        port = int(next(l for l in invite.body.splitlines() if l.startswith("m=audio")).split()[1])
        to_rtp, to_rtcp = ("127.0.0.1", port), ("127.0.0.1", port + 1)
        start = time.monotonic()
        for i in range(120):
            self._media(start + i / 50)
            if i >= 80:
                self._rtp.sendto(rtp(SECOND, 500 + i), to_rtp)
            elif i % 10 != 5:
                self._rtp.sendto(rtp(FIRST, i), to_rtp)
            if i == 60:  # once RTCP was received, a last report is awaited for up to 200 ms after the end
                self._rtcp.sendto(receiver_report(self.ours, 0, max(self.rtp_seqs)), to_rtcp)
        bye = None
        while not bye:
            looked = time.monotonic()
            self._media(time.monotonic() + 0.01)
            bye = self.receive(0.01)
            bye = bye if bye and bye.method == "BYE" else None
        self.reply(bye, 200)
        self._media(time.monotonic() + 0.002)
        # the last report: everything arrived, some packets twice
        self._rtcp.sendto(receiver_report(self.ours, -DUPLICATES, max(self.rtp_seqs)), to_rtcp)
        self.late_s = time.monotonic() - looked
        self._media(time.monotonic() + 2)

    def __exit__(self, *arguments):
        super().__exit__(*arguments)
        self._rtcp.close()


def place(build, *options):
    """A call of 3 s; another one if the peer stood still, as its last report is awaited for 200 ms.
    @return the peer, and the printed output"""
    for _ in range(5):
        with MediaPeer() as peer:
            done = subprocess.run([build / "offhook", "call", f"sip:x@127.0.0.1:{peer.port}",
                                   "--duration", "3", *options], text=True,
                                  capture_output=True, timeout=90)
        print(done.stdout + done.stderr)
        assert peer.failure is None
        if peer.late_s < 0.1:
            break
    return peer, done.stdout


@pytest.fixture(scope="module", name="call")
def call_fixture(build):
    """(the peer, the streams by direction)"""
    peer, printed = place(build, "--json")
    result, = json.loads(printed)["calls"]
    return peer, {s["dir"]: s for s in result["streams"]}


def test_our_bye_comes_with_a_report_block(call):
    """RFC 3550 6.1: SR or RR with a block about what was received, SDES, BYE."""
    peer, streams = call
    last = peer.rtcp[-1]
    kinds = [kind for kind, _, _ in last]
    assert kinds[0] in (200, 201) and kinds[-1] == 203 and 202 in kinds, kinds
    kind, count, body = last[0]
    blocks = body[24:] if kind == 200 else body[4:]
    found = [struct.unpack_from(">III", blocks, 24 * i) for i in range(count)]
    told = [(ssrc, ext_seq) for ssrc, _, ext_seq in found]
    # also about the first source, if the previous report was sent before its end
    # (random interval)
    assert told in ([(SECOND, 619)], [(SECOND, 619), (FIRST, 79)]), told
    assert streams["out"]["packets"] == len(peer.rtp_seqs)


def test_report_after_the_bye_is_waited_for(call):
    peer, streams = call
    out = streams["out"]
    assert out["last_report"] == {
        "ssrc": f"{REPORTER:08x}", "ext_seq": max(peer.rtp_seqs),
        "sent_ext_seq": max(peer.rtp_seqs), "unreported": 0}
    assert out["expected"] == out["packets"]


def test_negative_loss_says_what_it_is(call):
    _, streams = call
    out = streams["out"]
    assert (out["lost"], out["lost_by"]) == (-DUPLICATES, "rr")
    assert f"{DUPLICATES} packets more" in out["lost_note"] and "duplicates" in out["lost_note"]


def test_sources_are_told_apart(call):
    _, streams = call
    first, second = streams["in"]["sources"]
    assert [s["ssrc"] for s in (first, second)] == [f"{FIRST:08x}", f"{SECOND:08x}"]
    assert (first["packets"], first["lost"]) == (72, 8)
    assert (second["packets"], second["lost"]) == (40, 0)
    assert first["first_t"] < first["last_t"] < second["first_t"] < second["last_t"]
    assert first["mos_total"] < second["mos_total"] - 0.1
    for name in ("packets", "lost"):
        assert streams["in"][name] == first[name] + second[name]
    assert streams["in"]["mos_total"] == first["mos_total"]


def test_table_says_all_of_it(build):
    _, printed = place(build)
    assert "the peer's last report reaches the last packet sent" in printed
    assert f"lost -{DUPLICATES}: the peer received {DUPLICATES} packets more" in printed
    assert "received from 2 sources" in printed
    assert f"  {FIRST:08x}" in printed and f"  {SECOND:08x}" in printed


def test_reports_are_about_every_source_heard(build, ports, tmp_path):
    """Two sources send to one port at a time: each report has a block for both (RFC
    3550 6.4). tshark reads what the engine sent."""
    local, peer = ports.rtp[0], ports.rtp[1] - ports.rtp[1] % 2 - 2
    stream = {"type": "stream", "dial_destination": f"127.0.0.1:{peer}", "local_port": local,
              "call_duration": "2"}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as source, \
            Capture(tmp_path, ports.rtp) as capture, \
            Engine(build, "caller", [[stream]], ports, rtp_last=local + 1) as engine:
        source.bind(("127.0.0.1", peer))
        engine.go(0)
        seq = 0
        while engine.ready < 0 and not engine.finish:
            for ssrc in (FIRST, SECOND):
                source.sendto(rtp(ssrc, seq), ("127.0.0.1", local))
            seq += 1
            assert engine.pump(0.02)
        engine.end()
    rows = [line.split("\t") for line in capture._tshark(
        "-Y", f"rtcp && udp.srcport == {local + 1}", "-T", "fields", "-e", "rtcp.rc", "-e",
        "rtcp.ssrc.identifier", "-e", "_ws.malformed").splitlines()]
    print(rows)
    assert rows and not any(broken for *_, broken in rows)
    for count, named, _ in rows:  # first the SSRCs of the blocks, then our own of SDES and BYE
        about = [int(ssrc, 16) for ssrc in named.split(",")][:int(count)]
        assert sorted(about) == [FIRST, SECOND]

"""When messages arrived and states were reached: by the kernel's timestamps, whatever
the engine was doing meanwhile, and in which order."""
import socket
import time

import pytest

from adversary import Peer, SDP, uri
from certificates import Authority
from engine import Engine, message_bytes, target
from sip_peer import SipPeer
from times import CLOCKS_NS

RTP = b"\x80\x00" + b"\x00\x07" + b"\x00\x00\x10\x00" + b"\x11\x22\x33\x44" + b"\xff" * 160
RTCP = b"\x80\xc9\x00\x01\x11\x22\x33\x44"
STALL_S = 0.6
IN_ORDER = ["CALL_ANSWERED", "CALL_ESTABLISHED", "CALL_RTPESTAB"]


def ordered(engine, *wanted):
    """The wanted states sorted by time; equal times in the order of the report, as the
    judge sorts them."""
    states = sorted((e for e in engine.events if e["kind"] == "state"),
                    key=lambda e: e["mono"])
    return [e["state"] for e in states if e["state"] in wanted]


def state(engine, name):
    found, = (e for e in engine.events if e["kind"] == "state" and e["state"] == name)
    return found


def media_address(message):
    """(host, port) of RTP in an SDP"""
    lines = dict(line.split("=", 1) for line in message.splitlines() if line[1:2] == "=")
    return lines["c"].split()[-1], int(lines["m"].split()[1])


class Moment:
    """When something was done: between these two times."""

    def __init__(self, do):
        self.begin = time.monotonic_ns()
        do()
        self.end = time.monotonic_ns()

    def is_before(self, other, ms):
        return other.begin - self.end - CLOCKS_NS <= ms * 1e6 <= \
            other.end - self.begin + CLOCKS_NS


def calling(build, ports, peer_port, transport="udp", **tls):
    to = target("127.0.0.1", peer_port, transport, domain="127.0.0.1", **tls)
    return Engine(build, "caller", [[{"type": "call", "index": 0, "target": to,
                                      "dial_destination": "1002", "call_duration": 1}]], ports)


@pytest.mark.parametrize("transport", ["udp", "tcp", "tls"])
def test_answer_and_rtp_wait_for_a_stalled_engine(build, ports, tmp_path, transport):
    """The 200 and RTP arrive while the engine is stopped. They are reported with their
    arrival times, and in their order."""
    rtp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    rtp.bind(("127.0.0.1", 0))
    at = {}

    def stalled(request, reply):
        """What follows a yield is done after the response was sent."""
        caller.pause()
        at["answer"] = time.monotonic_ns()
        yield reply
        at["answered"] = time.monotonic_ns()
        time.sleep(STALL_S / 2)
        at["rtp"] = time.monotonic_ns()
        rtp.sendto(RTP, media_address(request.body))
        at["rtp sent"] = time.monotonic_ns()
        time.sleep(STALL_S / 2)
        at["resumed"] = time.monotonic_ns()
        caller.resume()

    def answer(request):
        if request.method == "ACK":
            return None
        if request.method != "INVITE":
            return request.reply(200, "OK")
        if "answer" in at:
            return None   # it will be retransmitted: we stall about as long as its timer
        sdp = SDP.format(port=rtp.getsockname()[1])
        head, _, _ = request.reply(200, "OK", f"Contact: <sip:1002@127.0.0.1:{peer.port}>",
                                   "Content-Type: application/sdp").decode().rpartition(
                                       "Content-Length")
        return stalled(request, f"{head}Content-Length: {len(sdp)}\r\n\r\n{sdp}".encode())

    pair = Authority(tmp_path).issue("peer") if transport == "tls" else None
    with SipPeer(ports.sip, answer, tls=pair) as peer, \
            calling(build, ports, peer.port, transport, tls={"verify": 0}) as caller:
        caller.run()
    rtp.close()
    came, = (m["mono"] for m in caller.messages if m["dir"] == "received" and
             b"CSeq: " in message_bytes(m) and b"INVITE\r\n" in message_bytes(m))
    # the kernel's timestamps: the times of sending, not of the end of the stall
    assert at["answer"] - CLOCKS_NS <= came <= at["answered"] + CLOCKS_NS, (came, at)
    assert at["answered"] + CLOCKS_NS < at["rtp"] < at["resumed"] - CLOCKS_NS
    first = state(caller, "CALL_RTPESTAB")["mono"]
    assert at["rtp"] - CLOCKS_NS <= first <= at["rtp sent"] + CLOCKS_NS, (first, at)
    assert came == state(caller, "CALL_ANSWERED")["mono"] == \
        state(caller, "CALL_ESTABLISHED")["mono"]
    assert ordered(caller, *IN_ORDER) == IN_ORDER
    assert "text" not in state(caller, "CALL_RTPESTAB")


def closed(engine, peer):
    """Its call has ended; a BYE is answered."""
    def over():
        message = peer.receive(0.02)
        if message and message.method == "BYE":
            peer.reply(message, 200)
        return "CALL_CLOSED" in engine.states()
    engine.until(over, "the call ends")


@pytest.mark.parametrize("early", [False, True])
def test_rtp_before_the_200(build, ports, early):
    """RTP is early media if the peer announced it in a 183; otherwise it overtook the
    200."""
    with Peer() as peer, calling(build, ports, peer.port) as caller:
        caller.go(0)
        invite = peer.expect("INVITE")
        if early:
            peer.reply(invite, 183, "Session Progress", body=peer.sdp)
            caller.until(lambda: "CALL_PROGRESS" in caller.states(), "the 183 is there")
        host, port = media_address(invite.body)
        overtakes = Moment(lambda: peer._rtp.sendto(RTP, (host, port)))
        if early:
            peer._rtp.sendto(RTCP, (host, port + 1))
        time.sleep(0.1)
        before = time.monotonic_ns()
        answered = Moment(lambda: peer.reply(invite, 200, "OK", body=peer.sdp))
        peer.expect("ACK")
        closed(caller, peer)
        caller.end()
    got = ordered(caller, *IN_ORDER)
    found = state(caller, "CALL_RTPESTAB")
    if early:
        assert got == [IN_ORDER[2], *IN_ORDER[:2]]
        assert found["mono"] < before and "text" not in found
        assert state(caller, "CALL_RTCP")["mono"] < before
    else:
        assert got == IN_ORDER
        assert found["mono"] == state(caller, "CALL_ESTABLISHED")["mono"]
        assert overtakes.is_before(answered, float(found["text"].split()[-3])), found
        assert found["text"].startswith("the first packet came ")
    assert [s["received"] for c in caller.calls() for s in c["streams"]
            if s["dir"] == "in"] == [1]


def first(engine, direction, start):
    return next(m for m in engine.messages if m["dir"] == direction and
                message_bytes(m).startswith(start))


@pytest.mark.parametrize("rings", [True, False])
def test_post_dial_delay(build, ports, rings):
    """From the first INVITE to the first 18x (not a 100) or to the 2xx. The INVITE is
    retransmitted before."""
    with Peer() as peer, calling(build, ports, peer.port) as caller:
        caller.go(0)
        peer.expect("INVITE")
        taken = time.monotonic_ns()
        invite = peer.expect("INVITE")
        peer.reply(invite, 100, "Trying")
        time.sleep(0.2)
        rung = time.monotonic_ns()
        for code in (181, 180) if rings else ():
            peer.reply(invite, code)
            time.sleep(0.1)
        answered = time.monotonic_ns()
        peer.reply(invite, 200, "OK", body=peer.sdp)
        peer.expect("ACK")
        closed(caller, peer)
        caller.end()
    sent = first(caller, "sent", b"INVITE ")["mono"]
    ends = first(caller, "received", b"SIP/2.0 181" if rings else b"SIP/2.0 200")["mono"]
    call, = caller.calls()
    assert call["pdd_ms"] == pytest.approx((ends - sent) / 1e6, abs=1e-3)
    assert state(caller, "CALL_OUTGOING")["mono"] == sent <= taken
    assert ends >= (rung if rings else answered) - CLOCKS_NS
    if rings:
        assert ends < answered + CLOCKS_NS
    assert call["setup_ms"] == pytest.approx(
        (first(caller, "received", b"SIP/2.0 200")["mono"] - sent) / 1e6, abs=1e-3)


JUNK = {"bytes": b"\xff\xfe\x00 no SIP at all\r\n\r\n", "line": b"SIP/2.0 abc\r\n\r\n",
        "cut off": b"INVITE sip:x SIP/2.0\r\nVia: SIP/2.0/UDP"}


@pytest.mark.parametrize("transport", ["udp", "tcp", "tls"])
@pytest.mark.parametrize("junk", JUNK)
def test_what_cannot_be_decoded_is_recorded(build, ports, tmp_path, transport, junk):
    """With its bytes, both times, transport and peer. On a stream its end is that of
    the connection, at the latest when the peer closes it."""
    at = {}

    def answer(request):
        def follow():
            yield request.registered()
            if "begin" not in at:
                at["begin"], at["wall"] = time.monotonic_ns(), time.time()
                yield JUNK[junk]
                at["end"] = time.monotonic_ns()
                if transport != "udp":
                    raise ConnectionAbortedError
        return follow()

    pair = Authority(tmp_path).issue("peer") if transport == "tls" else None
    with SipPeer(ports.sip, answer, tls=pair) as peer, Engine(build, "caller", [[{
            "type": "register", "credentials": [{"username": "1001"}],
            "target": target("127.0.0.1", peer.port, transport, tls={"verify": 0})}]],
            ports) as caller:
        caller.step(0)
        # the engine may end before the peer has sent it
        caller.until(lambda: any(message_bytes(m) == JUNK[junk] for m in caller.messages), "it is recorded")
        caller.end()
        if transport != "udp":   # it has the time at which it was read: the kernel tells none
            at["end"] = time.monotonic_ns()
    found = [m for m in caller.messages if message_bytes(m) == JUNK[junk]]
    assert [(m["dir"], m["transport"], m["peer"]) for m in found] == [
        ("received", transport, f"127.0.0.1:{peer.port}")], caller.messages
    assert at["begin"] - CLOCKS_NS <= found[0]["mono"] <= at["end"] + CLOCKS_NS
    wall = at["wall"] + (found[0]["mono"] - at["begin"]) / 1e9
    assert abs(found[0]["t"] / 1e6 - wall) < 0.1, (found[0], wall)


def answering(build, ports, **options):
    return Engine(build, "callee", [[
        {"type": "answer", "index": 0, "credentials": [{"username": "1002"}],
         "max_total_calls": 1, "call_duration": 1, **options}]], ports, sip_port=ports.phone)


@pytest.mark.parametrize("acknowledged", [True, False])
def test_rtp_before_the_ack(build, ports, acknowledged):
    with Peer() as peer, answering(build, ports) as callee:
        callee.step(0)
        peer.fresh("1002", ports.phone)
        sent = time.monotonic_ns()
        peer.request("INVITE", body=peer.sdp)
        final = peer.expect("SIP/2.0 200")
        peer.remote, peer.target = final.get("To"), uri(final.get("Contact"))
        overtakes = Moment(lambda: peer._rtp.sendto(RTP, media_address(final.body)))
        time.sleep(0.1)
        if acknowledged:
            ack = Moment(lambda: peer.request("ACK", cseq=peer.cseq))
        else:   # the ACK never comes, the caller gives up
            peer.request("BYE")
        closed(callee, peer)
        callee.end()
    assert sent - CLOCKS_NS <= state(callee, "CALL_INCOMING")["mono"] <= state(callee, "CALL_ANSWERED")["mono"]
    found = state(callee, "CALL_RTPESTAB")
    if acknowledged:
        assert ordered(callee, *IN_ORDER) == IN_ORDER
        assert overtakes.is_before(ack, float(found["text"].split()[-3])), found
    else:
        assert ordered(callee, *IN_ORDER, "CALL_CLOSED") == \
            ["CALL_ANSWERED", "CALL_RTPESTAB", "CALL_CLOSED"]
        assert "text" not in found

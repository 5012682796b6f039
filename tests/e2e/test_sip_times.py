"""When messages came and states were reached: by the kernel's times, whatever
the engine was doing meanwhile, and in which order."""
import socket
import threading
import time

import pytest

from adversary import Peer, SDP, uri
from certificates import Authority
from engine import Engine, message_bytes, target
from sip_peer import SipPeer

RTP = b"\x80\x00" + b"\x00\x07" + b"\x00\x00\x10\x00" + b"\x11\x22\x33\x44" + b"\xff" * 160
RTCP = b"\x80\xc9\x00\x01\x11\x22\x33\x44"
IN_ORDER = ["CALL_ANSWERED", "CALL_ESTABLISHED", "CALL_RTPESTAB"]


def ordered(engine, *wanted):
    """The wanted states by their times; equal ones as they were told, as the judge does."""
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


def calling(build, ports, peer_port, transport="udp", **tls):
    to = target("127.0.0.1", peer_port, transport, domain="127.0.0.1", **tls)
    return Engine(build, "caller", [[{"type": "call", "index": 0, "target": to,
                                      "dial_destination": "1002", "call_duration": 1}]], ports)


@pytest.mark.parametrize("transport", ["udp", "tcp", "tls"])
def test_answer_and_rtp_wait_for_a_stalled_engine(build, ports, tmp_path, transport):
    """The 200, then RTP, wait while nothing of the engine runs: they have the times at which
    they came, and their order."""
    rtp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    rtp.bind(("127.0.0.1", 0))
    at, timers = {}, []

    def later(seconds, name, what):
        def run():
            what()
            at[name] = time.monotonic_ns()
        timers.append(threading.Timer(seconds, run))
        timers[-1].start()

    def answer(request):
        if request.method == "ACK":
            return None
        if request.method != "INVITE":
            return request.reply(200, "OK")
        if "answer" in at:
            return None   # it is repeated: we stall about as long as its timer
        caller.pause()
        at["answer"] = time.monotonic_ns()
        later(0.2, "rtp", lambda: rtp.sendto(RTP, media_address(request.body)))
        later(0.5, "resumed", caller.resume)
        sdp = SDP.format(port=rtp.getsockname()[1])
        head, _, _ = request.reply(200, "OK", f"Contact: <sip:1002@127.0.0.1:{peer.port}>",
                                   "Content-Type: application/sdp").decode().rpartition(
                                       "Content-Length")
        return f"{head}Content-Length: {len(sdp)}\r\n\r\n{sdp}".encode()

    pair = Authority(tmp_path).issue("peer") if transport == "tls" else None
    with SipPeer(ports.sip, answer, tls=pair) as peer, \
            calling(build, ports, peer.port, transport, tls={"verify": 0}) as caller:
        caller.run()
    for timer in timers:
        timer.join()
    rtp.close()
    came, = (m["mono"] for m in caller.messages if m["dir"] == "received" and
             b"CSeq: " in message_bytes(m) and b"INVITE\r\n" in message_bytes(m))
    assert at["answer"] <= came < at["answer"] + 200_000_000 < at["rtp"], at
    assert came == state(caller, "CALL_ANSWERED")["mono"] == \
        state(caller, "CALL_ESTABLISHED")["mono"]
    assert came < state(caller, "CALL_RTPESTAB")["mono"] < at["resumed"]
    assert ordered(caller, *IN_ORDER) == IN_ORDER
    assert "text" not in state(caller, "CALL_RTPESTAB")


def closed(engine, peer):
    """Its call is over; a BYE is answered."""
    def over():
        message = peer.receive(0.02)
        if message and message.method == "BYE":
            peer.reply(message, 200)
        return "CALL_CLOSED" in engine.states()
    engine.until(over, "the call ends")


@pytest.mark.parametrize("early", [False, True])
def test_rtp_before_the_200(build, ports, early):
    """It is early media if the peer said so in a 183; else it overtook the 200."""
    with Peer() as peer, calling(build, ports, peer.port) as caller:
        caller.go(0)
        invite = peer.expect("INVITE")
        if early:
            peer.reply(invite, 183, "Session Progress", body=peer.sdp)
            caller.until(lambda: "CALL_PROGRESS" in caller.states(), "the 183 is there")
        host, port = media_address(invite.body)
        peer._rtp.sendto(RTP, (host, port))
        if early:
            peer._rtp.sendto(RTCP, (host, port + 1))
        time.sleep(0.1)
        before = time.monotonic_ns()
        peer.reply(invite, 200, "OK", body=peer.sdp)
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
        assert 100 <= float(found["text"].split()[-3]) < 900, found
        assert found["text"].startswith("the first packet came ")
    assert [s["received"] for c in caller.calls() for s in c["streams"]
            if s["dir"] == "in"] == [1]


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
        peer._rtp.sendto(RTP, media_address(final.body))
        time.sleep(0.1)
        if acknowledged:
            peer.request("ACK", cseq=peer.cseq)
        else:   # an ACK never comes, the caller gives up
            peer.request("BYE")
        closed(callee, peer)
        callee.end()
    assert sent <= state(callee, "CALL_INCOMING")["mono"] <= state(callee, "CALL_ANSWERED")["mono"]
    found = state(callee, "CALL_RTPESTAB")
    if acknowledged:
        assert ordered(callee, *IN_ORDER) == IN_ORDER
        assert 100 <= float(found["text"].split()[-3]) < 900, found
    else:
        assert ordered(callee, *IN_ORDER, "CALL_CLOSED") == \
            ["CALL_ANSWERED", "CALL_RTPESTAB", "CALL_CLOSED"]
        assert "text" not in found

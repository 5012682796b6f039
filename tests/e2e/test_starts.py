"""Calls that are due when no RTP port is free: they wait, are counted, and the right
cause is reported."""
import socket
import threading
import time
from contextlib import contextmanager

from adversary import Peer
from engine import Engine, target
from ports import PortBlock


@contextmanager
def callee(bye_s=0.0):
    """Answers every INVITE at once, and each BYE after bye_s."""
    stop = threading.Event()

    def script(peer):
        due = []
        while not stop.is_set() or due:
            message = peer.receive(0.02)
            if message and message.method == "INVITE":
                peer.reply(message, 200, body=peer.sdp)
            elif message and message.method == "BYE":
                due.append((time.monotonic() + bye_s, message))
            while due and (stop.is_set() or due[0][0] <= time.monotonic()):
                peer.reply(due.pop(0)[1], 200)

    with Peer(script) as peer:
        try:
            yield peer
        finally:
            stop.set()


@contextmanager
def caller(build, peer, pairs, **more):
    """An engine that calls, with a range of `pairs` pairs of RTP ports"""
    ports = PortBlock()
    action = {"type": "call", "dial_destination": "adv", "credentials": [{"username": "1001"}],
              "target": target("127.0.0.1", peer.port), **more}
    try:
        with Engine(build, "caller", [[action]], ports,
                    rtp_last=ports.rtp[0] + 2 * pairs - 1) as engine:
            yield engine
    finally:
        ports.close()


def flaws(engine):
    return [e for e in engine.events if e["kind"] == "flaw"]


def evidence(engine):
    (found,) = [e for e in engine.events if e["kind"] == "evidence"]
    return found


def names(engine):
    return sorted(int(c["call"].split("-")[1]) for c in engine.calls())


def whole(engine, calls):
    """All calls were made, none failed for want of a port, and their names have no gap."""
    assert engine.finish["outcome"] == "completed", engine.finish
    assert names(engine) == list(range(1, calls + 1))
    assert {c["end"] for c in engine.calls()} == {"local"}, engine.calls()


def test_ports_of_calls_that_linger_are_waited_for(build):
    """As many port pairs as concurrent calls: a call that has ended still holds its
    pair."""
    with callee() as peer, caller(build, peer, 3, max_total_calls=12, max_concurrent_calls=3,
                                  calls_per_second=50, call_duration=0.2) as engine:
        engine.run()
    whole(engine, 12)
    assert evidence(engine)["starts_missed"] > 0
    # a machine that stalls is reported, and nothing else is
    assert {f["name"] for f in flaws(engine)} <= {"starts_missed"}


def test_ports_of_calls_whose_bye_is_not_answered_are_waited_for(build):
    """More concurrent calls are allowed than there are port pairs: the peer delays
    their release."""
    with callee(bye_s=2) as peer, caller(build, peer, 3, max_total_calls=5,
                                         max_concurrent_calls=6, calls_per_second=4,
                                         call_duration=0.2) as engine:
        engine.run()
    whole(engine, 5)
    # the fourth was due after 0.75 s and had a port after 2.2 s
    assert evidence(engine)["starts_missed"] >= 3
    assert {f["name"] for f in flaws(engine)} <= {"starts_missed"}


def test_an_engine_that_stalls_is_saturated(build):
    with callee() as peer, caller(build, peer, 3, max_total_calls=30, max_concurrent_calls=3,
                                  calls_per_second=50, call_duration=0.2) as engine:
        engine.go(0)
        engine.until(lambda: "CALL_ESTABLISHED" in engine.states(), "the first call is up")
        engine.pause()
        time.sleep(1)
        engine.resume()
        engine.until(lambda: engine.ready >= 0 or engine.finish, "the calls are over")
        engine.end()
    whole(engine, 30)
    (flaw,) = flaws(engine)
    assert flaw["name"] == "starts_missed"
    assert flaw["count"] == evidence(engine)["starts_missed"] > 0
    assert flaw["text"].startswith("generator saturated: ") and "lingered" in flaw["text"]
    assert "no port of the RTP range" not in flaw["text"]


def test_an_engine_that_stalls_while_all_its_calls_are_up_is_saturated(build):
    """No start is due during the stall, as max_concurrent_calls holds the calls back.
    When the engine continues, the calls have ended but hold their ports: the peer
    answers each BYE late."""
    with callee(bye_s=0.5) as peer, caller(build, peer, 3, max_total_calls=9,
                                           max_concurrent_calls=3, calls_per_second=50,
                                           call_duration=1) as engine:
        engine.go(0)
        engine.until(lambda: engine.states().count("CALL_ESTABLISHED") >= 3, "all calls are up")
        engine.pause()
        time.sleep(1.5)
        engine.resume()
        engine.until(lambda: engine.ready >= 0 or engine.finish, "the calls are over")
        engine.end()
    whole(engine, 9)
    (flaw,) = flaws(engine)
    assert flaw["count"] == evidence(engine)["starts_missed"] > 0
    assert flaw["text"].startswith("generator saturated: "), flaw


def test_a_range_that_is_too_small_is_said(build):
    with callee() as peer, caller(build, peer, 3, max_total_calls=10, max_concurrent_calls=6,
                                  calls_per_second=50, call_duration=30) as engine:
        engine.go(0)
        engine.until(lambda: engine.finish, "the job ends")
    first = engine.range_first
    assert engine.finish["outcome"] == "error"
    assert engine.finish["reason"] == (
        "role caller: no port of the RTP range is free: 3 calls are up, the test asks for 6 at a "
        f"time and the range {first}-{first + 5} has room for 3: widen rtp_ports, or lower "
        "max_concurrent_calls")


def test_a_range_that_others_hold_is_said(build):
    """No call of ours is established, and none lingers."""
    with callee() as peer, caller(build, peer, 1, max_total_calls=1) as engine:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            other.bind(("127.0.0.1", engine.range_first))
            engine.go(0)
            engine.until(lambda: engine.finish, "the job ends")
    assert engine.finish["outcome"] == "error"
    assert "is free for 5 s" in engine.finish["reason"] and \
        "other programs do" in engine.finish["reason"], engine.finish


def test_a_call_that_comes_without_a_port_is_refused(build):
    """With 503, and it counts as failed; the other calls continue."""
    ports = PortBlock()
    with Engine(build, "callee", [[{"type": "answer", "credentials": [{"username": "1002"}]}], []],
                ports, sip_port=ports.phone, copies=True, rtp_last=ports.rtp[0] + 1) as engine:
        engine.step(0)
        with Peer() as first, Peer(to=ports.phone) as second:
            first.dial("1002", ports.phone)
            second.fresh("1002", ports.phone)
            branch = second.request("INVITE", body=second.sdp)
            final = second.final("INVITE")
            assert final.code == 503, final.text
            second.remote = final.get("To")
            second.request("ACK", branch=branch, cseq=second.cseq)
            first.request("BYE")
            assert first.final("BYE").code == 200
        engine.step(1)
        engine.end()
    ports.close()
    assert engine.finish["outcome"] == "completed" and flaws(engine) == []
    (failed,) = [c for c in engine.calls() if not c["established"]]
    assert "no port of the RTP range" in failed["reason"] and \
        "widen rtp_ports" in failed["reason"], failed


def test_consultation_calls_are_no_calls_of_the_generator(build):
    """Calls of a script besides: when they end, no other call may begin for them, and
    all calls of the action are made."""
    script = [["assert_established", "30000"], ["transfer_attended", "start adv"], ["hangup"]]
    with callee() as peer, caller(build, peer, 8, max_total_calls=3, max_concurrent_calls=1,
                                  calls_per_second=50, sipclient_actions=script) as engine:
        engine.go(0)
        engine.until(lambda: engine.ready >= 0 or engine.finish, "the calls are over", 60)
        engine.end()
    assert engine.finish["outcome"] == "completed", engine.finish
    generated = [c["call"] for c in engine.calls() if "placed_for" not in c]
    assert len(generated) == 3 and len(engine.calls()) == 6, engine.calls()
    up = set()
    for event in engine.events:
        if event["kind"] != "state" or event.get("call") not in generated:
            continue
        if event["state"] == "CALL_OUTGOING":
            up.add(event["call"])
        elif event["state"] == "CALL_CLOSED":
            up.remove(event["call"])
        assert len(up) <= 1, up

"""Hold by the peer from the first offer or answer on, and audio that the peer rejects
(RFC 3264)."""
import re

import pytest

from adversary import Peer, uri
from engine import Engine, target
from netns import own_network
from ports import PortBlock
from second_client import NEEDED

CREDENTIALS = {"credentials": [{"username": "1001", "password": "secret"}]}
PACKETS = 20


@pytest.fixture
def ports():
    block = PortBlock()
    yield block
    block.close()


def described(peer, how):
    """The peer's SDP with that direction, connection address or port."""
    if how == "port 0":
        return re.sub(r"m=audio \d+", "m=audio 0", peer.sdp)
    if how == "0.0.0.0":
        return re.sub(r"c=IN IP4 \S+", "c=IN IP4 0.0.0.0", peer.sdp)
    return peer.sdp + f"a={how}\r\n"


def resume(peer, echo):
    peer.request("INVITE", body=peer.sdp)
    assert peer.final("INVITE").code == 200
    peer.request("ACK", cseq=peer.cseq)
    if echo:
        peer.echo(PACKETS)
    peer.request("BYE")
    assert peer.final("BYE").code == 200


def answers(how, echo=True):
    def script(peer):
        peer.called(body=described(peer, how))
        resume(peer, echo)
    return script


def answers_early(how):
    """The answer is in the 183; the 200 has no SDP."""
    def script(peer):
        invite = peer.expect("INVITE")
        peer.remember(invite)
        peer.reply(invite, 183, body=described(peer, how))
        peer.reply(invite, 200)
        peer.expect("ACK")
        resume(peer, True)
    return script


def offers(peer, how, late=False):
    peer.request("INVITE", body="" if late else described(peer, how))
    final = peer.final("INVITE")
    assert final.code == 200, final.text
    peer.remote, peer.target = final.get("To"), uri(final.get("Contact"))
    peer.request("ACK", cseq=peer.cseq, body=described(peer, how) if late else "")
    resume(peer, True)


def holds(engine, call):
    """(state, text) of the call from CALL_ESTABLISHED on, hold and resume only"""
    told = [(e["state"], e.get("text")) for e in engine.events
            if e["kind"] == "state" and e.get("call") == call["call"]]
    established = [state for state, _ in told].index("CALL_ESTABLISHED")
    found = [e for e in told if e[0] in ("CALL_HOLD", "CALL_RESUME")]
    if found:
        assert told[established + 1] == found[0] == ("CALL_HOLD", "remote"), told
    return found


HELD = [("CALL_HOLD", "remote"), ("CALL_RESUME", "remote")]
DIRECTIONS = {"sendonly": HELD, "inactive": HELD, "0.0.0.0": HELD, "recvonly": []}


def placed(build, ports, script, bind="127.0.0.1", **more):
    """@return (the engine, its only call)"""
    with Peer(script) as peer:
        action = {"type": "call", "dial_destination": "adv", "call_duration": "60",
                  "target": target("127.0.0.1", peer.port), **CREDENTIALS, **more}
        with Engine(build, "caller", [[action]], ports, copies=True, bind=bind) as engine:
            engine.step(0)
            engine.end()
    assert peer.failure is None, peer.failure
    (call,) = engine.calls()
    return engine, call


@pytest.mark.parametrize("script", [answers, answers_early])
@pytest.mark.parametrize("how", DIRECTIONS)
def test_its_first_answer_holds_us(build, ports, script, how):
    engine, call = placed(build, ports, script(how))
    assert call["end"] == "remote" and holds(engine, call) == DIRECTIONS[how], engine.states()


def test_its_first_offer_holds_us(build, ports):
    calls = [(how, late) for how in DIRECTIONS for late in (False, True)]
    action = {"type": "answer", "credentials": [{"username": "1002"}]}
    with Engine(build, "callee", [[action], []], ports, sip_port=ports.phone,
                copies=True) as engine:
        engine.step(0)
        with Peer() as peer:
            for how, late in calls:
                peer.fresh("1002", ports.phone)
                offers(peer, how, late)
        engine.step(1)
        engine.end()
    assert len(engine.calls()) == len(calls)
    for (how, late), call in zip(calls, engine.calls()):
        assert holds(engine, call) == DIRECTIONS[how], (how, late, engine.states(call["call"]))


@NEEDED
@pytest.mark.parametrize("how", DIRECTIONS)
def test_its_first_answer_holds_baresip(build, ports, how):
    with own_network() as address:
        engine, call = placed(build, ports, answers(how, echo=False), bind=address,
                              client="baresip")
    assert call["end"] == "remote" and holds(engine, call) == DIRECTIONS[how], engine.states()


# ---- port 0: the peer rejects the audio (RFC 3264 6) ----

REFUSED = "the peer's SDP refuses the audio (port 0)"


def refuses(peer):
    peer.called(body=described(peer, "port 0"))
    peer.reply(peer.expect("BYE"), 200)


def refuses_in_the_call(peer):
    peer.called()
    invite = peer.expect("INVITE")
    peer.reply(invite, 200, body=described(peer, "port 0"))
    peer.expect("ACK")
    peer.reply(peer.expect("BYE"), 200)


@pytest.mark.parametrize("script,more", [
    (refuses, {}),
    (refuses_in_the_call, {"sipclient_actions": [["assert_established", ""], ["reinvite", ""]]})])
def test_its_answer_refuses_the_audio(build, ports, script, more):
    engine, call = placed(build, ports, script, **more)
    assert call["end"] == "failed" and call["reason"] == REFUSED, call
    assert "CALL_HOLD" not in engine.states()


def test_its_offer_has_no_audio(build, ports):
    """No audio in the first offer, and in one during a call, which continues."""
    action = {"type": "answer", "credentials": [{"username": "1002"}]}
    with Engine(build, "callee", [[action], []], ports, sip_port=ports.phone,
                copies=True) as engine:
        engine.step(0)
        with Peer() as peer:
            peer.fresh("1002", ports.phone)
            branch = peer.request("INVITE", body=described(peer, "port 0"))
            final = peer.final("INVITE")
            peer.remote = final.get("To")
            peer.request("ACK", branch=branch, cseq=peer.cseq)
            assert final.code == 488 and "port 0" in final.get("Warning"), final.text
            peer.dial("1002", ports.phone)
            branch = peer.request("INVITE", body=described(peer, "port 0"))
            final = peer.final("INVITE")
            peer.request("ACK", branch=branch, cseq=peer.cseq)
            assert final.code == 488 and "port 0" in final.get("Warning"), final.text
            resume(peer, True)
        engine.step(1)
        engine.end()
    refused, call = engine.calls()
    assert refused["end"] == "rejected" and "port 0" in refused["reason"], refused
    assert call["end"] == "remote" and holds(engine, call) == [], call

"""A client baresip behind the kernel's NAT or none, with coturn: its media are found and measured
whichever way they go; what each side counts is what the other one does."""
import os

import pytest

from netns import translated
from second_client import NEEDED, THEIRS, UP, Pair, folder_fixture  # noqa: F401
from turn import SERVER, TURNSERVER, Coturn

pytestmark = [NEEDED, pytest.mark.skipif(not TURNSERVER, reason="needs coturn")]

ICE, STUN, TURN = ({"media_nat": nat, "stun_server": SERVER, "turn_server": SERVER,
                    "turn_credentials": [{"username": "alice", "password": "secret"}]}
                   for nat in ("ice", "stun", "turn"))
ONLY_TURN = "-A FORWARD -p udp -d 10.99.0.2 -m multiport ! --dports 3478,5060,5070 -j DROP"
# a NAT keeps no flow of what it did not let in, and so our first packet has the port of STUN's
NO_FLOW = "-A INPUT -i va -p udp -j DROP"


def host_only(nat):
    return {"media_nat": nat["media_nat"]}


def run(build, ports, namespaces, call, answer, bind=None):
    with Pair(build, ports, namespaces, {
            "call_duration": 20, "sipclient_actions": [
                UP, ["assert_state", "CALL_RTPESTAB"], ["dtmf", "1"], ["assert_dtmf", "2"],
                ["wait", "1500"], ["hangup", ""]], **call}, {
            "sipclient_actions": [UP, ["assert_dtmf", "1"], ["dtmf", "2"]], **answer},
            **({"bind": bind} if bind else {})) as p:
        p.run().end()
        assert not p.caller.asserts() and not p.callee.asserts()
        streams = p.streams()
        flaws = [e for e in p.caller.events if e["kind"] == "flaw"]
        sdp = p.caller.sent("INVITE ")[0]
        evidence, = [e for e in p.caller.events if e["kind"] == "evidence"]
    for here, there in (("caller", "callee"), ("callee", "caller")):
        sent, received = streams[here, "out"], streams[there, "in"]
        print(here, sent["packets"], received["packets"])
        # who hangs up may send once more before the other one is told
        assert 0 <= sent["packets"] - received["packets"] <= 2 and received["packets"] > 50
        assert received["lost"] == 0 and sent["ssrc"] == received["ssrc"]
    assert not flaws
    assert evidence["foreign_packets"] == 0 and evidence["invalid_packets"] == 0, evidence
    return sdp


def test_ice_without_servers(build, ports, namespaces):
    sdp = run(build, ports, namespaces, host_only(ICE), host_only(ICE))
    assert "a=candidate:" in sdp and " typ host" in sdp


@pytest.mark.parametrize("more", [{}, {"rtcp_mux": True}, {"media_encryption": "dtls"}], ids=str)
def test_turn(tmp_path, build, ports, namespaces, more):
    """Its datagrams are the server's: RTP in channels and indications is taken out of them."""
    with Coturn(tmp_path, namespaces[1]):
        sdp = run(build, ports, namespaces, {**TURN, **more}, more)
    assert f"c=IN IP4 {THEIRS}" in sdp


def test_stun_through_nat(tmp_path, build, ports):
    with translated(NO_FLOW) as (ours, theirs), Coturn(tmp_path, theirs):
        sdp = run(build, ports, (ours, theirs), STUN, {}, "10.98.0.2")
    assert "c=IN IP4 10.99.0.1" in sdp


@pytest.mark.parametrize("more", [{}, {"media_encryption": "sdes"}], ids=str)
def test_ice_through_relay(tmp_path, build, ports, more):
    """A firewall leaves no way but the relay: ICE finds it."""
    with translated(ONLY_TURN) as (ours, theirs), Coturn(tmp_path, theirs):
        sdp = run(build, ports, (ours, theirs), {**ICE, **more}, {**host_only(ICE), **more},
                  "10.98.0.2")
    assert " typ relay" in sdp and " typ srflx" in sdp


def test_ice_through_nat(tmp_path, build, ports):
    with translated() as (ours, theirs), Coturn(tmp_path, theirs):
        sdp = run(build, ports, (ours, theirs), {**host_only(ICE), "stun_server": SERVER},
                  host_only(ICE), "10.98.0.2")
    assert " typ srflx" in sdp


@pytest.mark.parametrize("credentials,reason", [
    ([{"username": "alice", "password": "wrong"}], "401"),
    ([], "needs a user name and a password"),
    ([{"username": "alice", "password": "x;y"}], "takes no user name or password")])
def test_a_turn_server_that_refuses(tmp_path, build, ports, namespaces, credentials, reason):
    with Coturn(tmp_path, namespaces[1]), Pair(build, ports, namespaces, {
            **TURN, "turn_credentials": credentials}) as p:
        p.callee.step(0)
        p.caller.step(0)
        if not p.caller.finish:
            p.caller.go(1)
        p.both(lambda: p.caller.finish or p.caller.calls(), "the end")
        why = str(p.caller.finish or p.caller.calls())
        assert reason in why, why
        assert "secret" not in why and "x;y" not in why

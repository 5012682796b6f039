"""A client baresip behind the kernel's NAT or without one, with coturn. Its media is
found and measured whichever path it takes, and the packet counts of both sides
agree."""
import os

import pytest

from netns import NO_FLOW, SIX, cable_of_both, translated
from second_client import NEEDED, THEIRS, UP, Called, Pair, folder_fixture  # noqa: F401
from turn import SERVER, TURNSERVER, Coturn

pytestmark = [NEEDED, pytest.mark.skipif(not TURNSERVER, reason="needs coturn")]

ICE, STUN, TURN = ({"media_nat": nat, "stun_server": SERVER, "turn_server": SERVER,
                    "turn_credentials": [{"username": "alice", "password": "secret"}]}
                   for nat in ("ice", "stun", "turn"))
ONLY_TURN = "-A FORWARD -p udp -d 10.99.0.2 -m multiport ! --dports 3478,5060,5070 -j DROP"


def host_only(nat):
    return {"media_nat": nat["media_nat"]}


def by_six(nat):
    server = f"[{SIX[1]}]:3478"
    return {**nat, "stun_server": server, "turn_server": server}


@pytest.fixture(scope="module", name="six")
def six_fixture():
    """A cable with addresses of both families."""
    with cable_of_both("s") as names:
        yield names


def run(build, ports, namespaces, call, answer, how=Pair, **more):
    """@return its offer or answer"""
    one, two = {"call_duration": 20, "sipclient_actions": [
        UP, ["assert_state", "CALL_RTPESTAB"], ["dtmf", "1"], ["assert_dtmf", "2"],
        ["wait", "1500"], ["hangup", ""]]}, {
            "sipclient_actions": [UP, ["assert_dtmf", "1"], ["dtmf", "2"]]}
    with how(build, ports, namespaces, {**one, **call}, {**two, **answer}, **more) as p:
        p.run().end()
        assert not p.caller.asserts() and not p.callee.asserts()
        streams = p.streams()
        tapped = p.caller if how is Pair else p.callee
        flaws = [e for e in tapped.events if e["kind"] == "flaw"]
        sdp = tapped.sent("INVITE " if how is Pair else "SIP/2.0 200 ")[0]
        evidence, = [e for e in tapped.events if e["kind"] == "evidence"]
    for here, there in (("caller", "callee"), ("callee", "caller")):
        sent, received = streams[here, "out"], streams[there, "in"]
        print(here, sent["packets"], received["packets"])
        # the side that hangs up may send one more packet before the other learns of it
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
    """Its datagrams go to and from the server: RTP is extracted from channels and
    indications."""
    with Coturn(tmp_path, namespaces[1]):
        sdp = run(build, ports, namespaces, {**TURN, **more}, more)
    assert f"c=IN IP4 {THEIRS}" in sdp


def test_stun_through_nat(tmp_path, build, ports):
    with translated(NO_FLOW) as (ours, theirs), Coturn(tmp_path, theirs):
        sdp = run(build, ports, (ours, theirs), STUN, {}, bind="10.98.0.2")
    assert "c=IN IP4 10.99.0.1" in sdp


@pytest.mark.parametrize("more", [{}, {"media_encryption": "sdes"}], ids=str)
def test_ice_through_relay(tmp_path, build, ports, more):
    """A firewall blocks every path except the relay: ICE finds it."""
    with translated(ONLY_TURN) as (ours, theirs), Coturn(tmp_path, theirs):
        sdp = run(build, ports, (ours, theirs), {**ICE, **more}, {**host_only(ICE), **more},
                  bind="10.98.0.2")
    assert " typ relay" in sdp and " typ srflx" in sdp


@pytest.mark.parametrize("more", [{}, {"media_encryption": "dtls"}], ids=str)
def test_ice_selects_a_way_that_it_does_not_use(tmp_path, build, ports, namespaces, more):
    """ICE selects the direct pair, but baresip does not use it.

    It sends through its TURN channel to the same peer, and so from a candidate that is
    in no selected pair (RFC 8445 section 12.2)."""
    with Coturn(tmp_path, namespaces[1]):
        sdp = run(build, ports, namespaces, {**ICE, **more}, {**host_only(ICE), **more})
    assert " typ relay" in sdp


def test_ice_through_nat(tmp_path, build, ports):
    with translated() as (ours, theirs), Coturn(tmp_path, theirs):
        sdp = run(build, ports, (ours, theirs), {**host_only(ICE), "stun_server": SERVER},
                  host_only(ICE), bind="10.98.0.2")
    assert " typ srflx" in sdp


@pytest.mark.parametrize("nat,more", [
    (ICE, {}), (ICE, {"rtcp_mux": True}), (ICE, {"media_encryption": "dtls"}),
    (host_only(ICE), {"media_encryption": "dtls"}),
    (TURN, {}), (TURN, {"media_encryption": "sdes"}), (STUN, {})],
    ids=lambda x: str(x.get("media_nat", x)))
def test_it_is_called(tmp_path, build, ports, namespaces, nat, more):
    ice = nat["media_nat"] == "ice"
    with Coturn(tmp_path, namespaces[1]):
        sdp = run(build, ports, namespaces, {**(host_only(ICE) if ice else {}), **more},
                  {**nat, **more}, Called)
    assert (" typ relay" in sdp) == (nat is ICE), sdp
    if not ice:
        assert (f"c=IN IP4 {THEIRS}" in sdp) == (nat is TURN)


@pytest.mark.parametrize("nat", [host_only(ICE), STUN], ids=lambda x: x["media_nat"])
@pytest.mark.parametrize("how", [Pair, Called])
def test_by_ipv6(tmp_path, build, ports, six, nat, how):
    mine = {**host_only(nat), "stun_server": by_six(nat)["stun_server"]}
    other = {} if nat is STUN else nat
    with Coturn(tmp_path, six[1], host=SIX[1]):
        sdp = run(build, ports, six, *((mine, other) if how is Pair else (other, mine)), how,
                  bind=SIX[0], theirs=SIX[1])
    assert f"c=IN IP6 {SIX[0]}" in sdp
    assert (" typ host" in sdp) == (nat is not STUN)


def test_a_relay_of_ipv6_is_refused(tmp_path, build, ports, six):
    """It requests no address family (RFC 6156), which means IPv4: the server has no
    IPv4 address."""
    with Coturn(tmp_path, six[1], host=SIX[1]), Pair(
            build, ports, six, by_six(TURN), bind=SIX[0], theirs=SIX[1]) as p:
        p.callee.step(0)
        p.caller.step(0)
        p.caller.go(1)
        p.both(lambda: p.caller.calls(), "the end")
        call, = p.caller.calls()
        assert call["end"] == "failed" and "440" in call["reason"], call


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

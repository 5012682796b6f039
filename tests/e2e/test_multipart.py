"""RFC 5621: a peer that offers and answers in multipart bodies."""
import pytest

from adversary import Peer, uri
from engine import Engine, target
from ports import PortBlock

MIXED = "multipart/mixed;boundary=\"=_b\""
ALTERNATIVE = "multipart/alternative; boundary==_b"
ACCEPT = "application/sdp, multipart/mixed, multipart/alternative"
CREDENTIALS = {"credentials": [{"username": "1001", "password": "secret"}]}
PACKETS = 20


def isup(handling):
    return ("application/isup;version=itu-t92+", f"signal;handling={handling}", "\1\2\3")


def parts(*given):
    """Each is SDP, or (type, disposition, content)."""
    text = "preamble\r\n"
    for part in given:
        kind, disposition, content = part if isinstance(part, tuple) else \
            ("application/sdp", "session", part)
        text += (f"--=_b\r\nContent-Type: {kind}\r\nContent-Disposition: {disposition}\r\n\r\n"
                 f"{content}\r\n")
    return text + "--=_b--\r\n"


def final(peer, method):
    """The final response to our last request. Others may be there: a 2xx, or a refusal of INVITE, is sent again
    until our ACK comes."""
    while (answer := peer.final(method)).get("Call-ID") != peer.call_id or \
            answer.get("CSeq").split()[0] != str(peer.cseq):
        pass
    return answer


def asked(peer, method, body, kind, headers=()):
    """@return the final response to a request within the call"""
    branch = peer.request(method, body=body, kind=kind, headers=headers)
    answer = final(peer, method)
    if method == "INVITE":
        peer.request("ACK", branch=branch if answer.code >= 300 else None, cseq=peer.cseq)
    return answer


def hang_up(peer):
    peer.request("BYE")
    assert peer.final("BYE").code == 200


def answers(peer):
    peer.called(body=parts(isup("optional"), peer.sdp), kind=MIXED)
    peer.echo(PACKETS)
    for method in ("INVITE", "UPDATE"):
        answer = asked(peer, method, parts(peer.sdp, isup("optional")), MIXED)
        assert answer.code == 200 and "m=audio" in answer.body, answer.text
        text = ("text/plain", "session", "in words")
        answer = asked(peer, method, parts(text, peer.sdp), ALTERNATIVE)
        assert answer.code == 200 and "m=audio" in answer.body, answer.text
        # no offer, and no part with handling=required
        answer = asked(peer, "UPDATE", parts(isup("optional")), MIXED)
        assert answer.code == 200 and answer.body == "", answer.text
        answer = asked(peer, method, parts(peer.sdp, isup("required")), MIXED)
        assert answer.code == 415 and answer.get("Accept") == ACCEPT, answer.text
        assert not answer.get("Accept-Encoding"), answer.text
        answer = asked(peer, method, peer.sdp, "application/sdp", ["Content-Encoding: gzip"])
        assert answer.code == 415 and answer.get("Accept-Encoding") == "identity", answer.text
        answer = asked(peer, method, parts(peer.sdp), "multipart/mixed")
        assert answer.code == 488 and "malformed" in answer.get("Warning"), answer.text
    hang_up(peer)


def answers_early(peer):
    """The answer is in the 183; the 200 has no SDP: the session is negotiated."""
    invite = peer.expect("INVITE")
    peer.remember(invite)
    peer.reply(invite, 183, body=parts(peer.sdp), kind=MIXED,
               headers=["Require: 100rel", "RSeq: 5"])
    peer.reply(peer.expect("PRACK"), 200)
    peer.reply(invite, 200, body=parts(isup("optional")), kind=MIXED)
    peer.expect("ACK")
    peer.echo(PACKETS)
    hang_up(peer)


def answers_more(peer):
    """A response cannot be refused: unknown parts are ignored."""
    peer.called(body=parts(isup("required"), peer.sdp), kind=MIXED)
    peer.echo(PACKETS)
    hang_up(peer)


def offers_late(peer):
    invite = peer.expect("INVITE")
    peer.remember(invite)
    peer.reply(invite, 200, body=parts(peer.sdp), kind=MIXED)
    assert "m=audio" in peer.expect("ACK").body
    peer.echo(PACKETS)
    hang_up(peer)


CALLED = {
    "answer": (answers, {}),
    "early answer": (answers_early, {"prack": "supported"}),
    "unknown part": (answers_more, {}),
    "late offer": (offers_late, {"late_offer": True}),
}


@pytest.fixture
def ports():
    block = PortBlock()
    yield block
    block.close()


def heard(call):
    """The call was established with audio both ways."""
    assert call["established"] and "remote" in call["end"], call
    received = {s["dir"]: s["packets"] for s in call["streams"]}
    assert received["in"] >= PACKETS and received["out"] >= PACKETS, call["streams"]


@pytest.mark.parametrize("name", CALLED)
def test_it_answers_in_parts(build, ports, name):
    script, more = CALLED[name]
    with Peer(script) as peer:
        action = {"type": "call", "dial_destination": "adv", "call_duration": "60",
                  "target": target("127.0.0.1", peer.port), **CREDENTIALS, **more}
        with Engine(build, "caller", [[action]], ports, copies=True) as engine:
            engine.step(0)
            engine.end()
        (call,) = engine.calls()
    assert peer.failure is None
    heard(call)


def offers(peer):
    branch = peer.request("INVITE", body=parts(peer.sdp, isup("required")), kind=MIXED)
    answer = final(peer, "INVITE")
    peer.remote = answer.get("To")
    peer.request("ACK", branch=branch, cseq=peer.cseq)
    assert answer.code == 415 and answer.get("Accept") == ACCEPT, answer.text


def established(peer, body, ack=""):
    peer.request("INVITE", body=body, kind=MIXED)
    answer = final(peer, "INVITE")
    assert answer.code == 200 and "m=audio" in answer.body, answer.text
    peer.remote, peer.target = answer.get("To"), uri(answer.get("Contact"))
    peer.request("ACK", cseq=peer.cseq, body=ack, kind=MIXED)
    peer.echo(PACKETS)
    hang_up(peer)


def test_it_offers_in_parts(build, ports):
    action = {"type": "answer", "credentials": [{"username": "1002"}]}
    with Engine(build, "callee", [[action], []], ports, sip_port=ports.phone,
                copies=True) as engine:
        engine.step(0)
        with Peer() as peer:
            peer.fresh("1002", ports.phone)
            offers(peer)
            peer.fresh("1002", ports.phone)
            established(peer, parts(isup("optional"), peer.sdp))
            # the offer is ours; the answer comes in the ACK
            peer.fresh("1002", ports.phone)
            established(peer, parts(isup("optional")), ack=parts(isup("required"), peer.sdp))
        engine.step(1)
        engine.end()
    refused, *calls = engine.calls()
    assert refused["end"] == "rejected" and len(calls) == 2, engine.calls()
    for call in calls:
        heard(call)

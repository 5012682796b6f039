"""Digest algorithms of RFC 8760 both ways, verified by a second implementation
(digest.py): callers that we challenge, and peers that offer several algorithms."""
import pytest

from adversary import Peer, uri
from digest import HASHES, parameters, response
from engine import Engine, target
from ports import PortBlock
from sip_peer import SipPeer

USER = ("1001", "secret")
ACCOUNT = [{"username": USER[0], "password": USER[1]}]
UNKNOWN = ("SHA-512", "ROT13")


@pytest.fixture
def ports():
    block = PortBlock()
    yield block
    block.close()


# ---- we challenge ----


def credentials(challenge, method, where, password=USER[1]):
    """The header that responds to a 401."""
    p = parameters(challenge) | {"nc": "00000001", "cnonce": "c0ffee"}
    right = response((USER[0], password), (method, where, ""), p, p["algorithm"], "auth")
    return (f'Authorization: Digest username="{USER[0]}", realm="{p["realm"]}", '
            f'nonce="{p["nonce"]}", uri="{where}", response="{right}", '
            f'algorithm={p["algorithm"]}, qop=auth, nc={p["nc"]}, cnonce="{p["cnonce"]}"')


def asked(peer, method, body="", headers=()):
    """@return the final response; a failure response to INVITE is acknowledged"""
    branch = peer.request(method, body=body, headers=headers)
    answer = peer.final(method)
    if method == "INVITE" and answer.code >= 300:
        peer.request("ACK", branch=branch, cseq=peer.cseq, to=answer.get("To"))
    return answer


def challenged_call(peer, algorithm, port):
    """A wrong password first, then INVITE and BYE with the right one."""
    peer.fresh("1002", port)
    answer = asked(peer, "INVITE", peer.sdp)
    for password, code in (("wrong", 401), (USER[1], 200)):
        challenge = answer.get("WWW-Authenticate")
        assert parameters(challenge)["algorithm"] == algorithm, answer.text
        answer = asked(peer, "INVITE", peer.sdp,
                       [credentials(challenge, "INVITE", peer.target, password)])
        assert answer.code == code, answer.text
    peer.remote, peer.target = answer.get("To"), uri(answer.get("Contact"))
    peer.request("ACK", cseq=peer.cseq)
    answer = asked(peer, "BYE")
    assert answer.code == 401, answer.text
    answer = asked(peer, "BYE", headers=[credentials(answer.get("WWW-Authenticate"), "BYE",
                                                     peer.target)])
    assert answer.code == 200, answer.text


@pytest.mark.parametrize("algorithm", HASHES)
def test_callers_are_challenged(build, ports, algorithm):
    action = {"type": "answer", "credentials": [{"username": "1002"}], "challenge": 401,
              "challenge_algorithm": algorithm, "challenge_requests": "all",
              "challenge_credentials": ACCOUNT}
    with Engine(build, "callee", [[action], []], ports, sip_port=ports.phone,
                copies=True) as engine:
        engine.step(0)
        with Peer() as peer:
            challenged_call(peer, algorithm, ports.phone)
        engine.step(1)
        engine.end()
    told = [(e["state"], e["text"]) for e in engine.events
            if e["kind"] == "state" and e["state"].startswith("CALLER_")]
    assert [state for state, _ in told] == ["CALLER_REFUSED"] + ["CALLER_VERIFIED"] * 2, told
    assert [text for _, text in told[1:]] == ["INVITE of 1001", "BYE of 1001"], told


# ---- we are challenged ----


class Registrar:
    """Offers several algorithms, in this order; accepts a response with any of them."""

    def __init__(self, offered):
        self.offered, self.used = offered, {}   # by CSeq: a request may come again

    def __call__(self, request):
        value = request.header("authorization")
        if not value:
            return request.reply(401, "Unauthorized", *(
                f'WWW-Authenticate: Digest realm="r", nonce="n{i}", algorithm={algorithm}, '
                f'qop="auth"' for i, algorithm in enumerate(self.offered)))
        p = parameters(value)
        right = response(USER, (request.method, request.uri, request.body), p, p["algorithm"],
                         p["qop"])
        asked = p["nonce"] == f"n{self.offered.index(p['algorithm'])}"
        if p["response"] != right or not asked:
            return request.reply(403, "Forbidden")
        self.used[request.header("cseq")] = p["algorithm"]
        return request.registered()


@pytest.mark.parametrize("offered,used", [
    (["SHA-512-256", "SHA-256", "MD5"], "SHA-512-256"),   # in the order of RFC 8760 2.4
    (["MD5", "SHA-256", "SHA-512-256"], "SHA-512-256"),
    ([*UNKNOWN, "SHA-256", "MD5"], "SHA-256"),
    (["SHA-512-256-sess", "MD5", *UNKNOWN], "SHA-512-256-sess"),
    (["SHA-512-256"], "SHA-512-256")])
def test_the_strongest_offer_is_taken(build, ports, offered, used):
    registrar = Registrar(offered)
    action = {"type": "register", "credentials": ACCOUNT,
              "target": target("127.0.0.1", ports.sip)}
    with SipPeer(ports.sip, registrar) as peer:
        with Engine(build, "caller", [[action]], ports) as engine:
            engine.run()
    assert peer.errors == []
    # register, then remove the binding
    assert list(registrar.used.values()) == [used] * 2 and "REGISTER_OK" in engine.states(), registrar.used

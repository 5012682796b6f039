"""A peer that breaks the rules: no crash, no leak, and every call ends in bounded time
with a named reason. What an engine sends meanwhile follows the grammar."""
import concurrent.futures
import random
import re
import socket
import time

import pytest

from adversary import SDP, Peer, uri
from engine import Engine, target
from netns import own_network, run
from ports import PortBlock

# ---- we call it ----


def ending(peer, code=200):
    """The engine hangs up; answer its BYE."""
    peer.reply(peer.expect("BYE"), code)


def no_sdp(peer):
    peer.called(body="")
    ending(peer)


def sdp(body, **more):
    def script(peer):
        peer.called(body=body, **more)
        ending(peer)
    return script


def garbage(peer):
    invite = peer.expect("INVITE")
    for text in ("", "\r\n\r\n", "SIP/2.0", "SIP/2.0 200", "SIP/2.0 200 OK", "\0" * 200,
                 "SIP/2.0 200 OK\r\n\r\n", invite.text[:300], invite.text.replace("\r\n", "\n"),
                 "SIP/2.0 99999999999 x\r\nVia: ;;;\r\nCSeq: -1 \r\n\r\n", "\xff\xfe" * 300):
        peer.send(text.encode("latin-1"))
    peer.expect("INVITE", "CANCEL")


def truncated(peer):
    invite = peer.expect("INVITE")
    whole = (f"SIP/2.0 603 No\r\nVia: {invite.get('Via')}\r\nFrom: {invite.get('From')}\r\n"
             f"To: {invite.get('To')};tag=x\r\nCall-ID: {invite.get('Call-ID')}\r\n"
             f"CSeq: {invite.get('CSeq')}\r\nContent-Length: 0\r\n\r\n")
    for length in range(0, len(whole) - 3, 3):
        peer.send(whole[:length])
    peer.send(whole)
    peer.expect("ACK")


def huge(peer):
    invite = peer.expect("INVITE")
    peer.reply(invite, 180, headers=["X-Huge: " + "a" * 60000])
    peer.reply(invite, 180, headers=[f"X-{n}: y" for n in range(6000)])
    peer.reply(invite, 200, body=peer.sdp + "a=x\r\n" * 11000)
    peer.expect("ACK", "INVITE", "CANCEL")


def unknown_responses(peer):
    invite = peer.expect("INVITE")
    for branch in ("z9hG4bKnone", ""):
        for code in (100, 180, 200, 302, 401, 407, 422, 491, 500):
            peer.send(f"SIP/2.0 {code} x\r\nVia: SIP/2.0/UDP 127.0.0.1:9;branch={branch}\r\n"
                      "From: <sip:a@b>;tag=1\r\nTo: <sip:a@b>;tag=2\r\nCall-ID: none\r\n"
                      "CSeq: 1 INVITE\r\nContent-Length: 0\r\n\r\n")
    peer.reply(invite, 486)
    peer.expect("ACK")


def wrong_tags(peer):
    invite = peer.expect("INVITE")
    peer.reply(invite, 200, body=peer.sdp, From="<sip:x@y>;tag=another")
    peer.reply(invite, 200, body=peer.sdp, Call_ID="another")
    peer.reply(invite, 200, body=peer.sdp, CSeq="77 INVITE")
    peer.never("ACK", 1)
    peer.reply(invite, 200, body=peer.sdp)
    peer.expect("ACK")
    ending(peer)


def unheard_of(*starts):
    """Invalid failure responses, then a valid answer."""
    def script(peer):
        invite = peer.expect("INVITE")
        peer.remember(invite)
        for start in starts:
            peer.reply(invite, 603, start=start)
        peer.never("ACK", 0.5)
        peer.reply(invite, 200, body=peer.sdp)
        peer.expect("ACK")
        ending(peer)
    return script


def longer_than_it_is(peer):
    """Content-Length exceeds the datagram: a response is discarded, and a request gets
    a 400."""
    invite = peer.expect("INVITE")
    peer.reply(invite, 603, length=1)
    peer.reply(invite, 200, body=peer.sdp, length=len(peer.sdp) + 1)
    peer.never("ACK", 1)
    peer.reply(invite, 200, body=peer.sdp)
    peer.remember(invite)
    peer.expect("ACK")
    peer.request("INFO", body="abc", kind="text/plain", length=4)
    peer.expect("SIP/2.0 400")
    peer.request("INFO", body="abc", kind="text/plain", length=3)
    peer.expect("SIP/2.0 200")
    ending(peer)


def no_to_tag(peer):
    peer.reply(peer.expect("INVITE"), 200, body=peer.sdp, to_tag="")


def no_contact(peer):
    peer.reply(peer.expect("INVITE"), 200, body=peer.sdp, contact=False)


def provisionals(peer):
    """Provisional responses, each of another early dialog, until the engine gives up."""
    invite = peer.expect("INVITE")
    for n in range(400):
        peer.reply(invite, (180, 183, 181, 199)[n % 4], to_tag=f"t{n}", body=peer.sdp)
        if message := peer.receive(0.02):
            if message.method == "CANCEL":
                peer.reply(message, 200)
                peer.reply(invite, 487)
                return
    raise AssertionError("no CANCEL")


def only_trying(peer):
    invite = peer.expect("INVITE")
    peer.reply(invite, 100)
    peer.reply(peer.expect("CANCEL"), 481)   # and no 487 either


def challenges(stale):
    def script(peer):
        for n in range(50):
            message = peer.receive(QUIET_S if n else 40)
            if message is None:
                return
            if message.method == "INVITE":
                peer.reply(message, 401, headers=[
                    f'WWW-Authenticate: Digest realm="r", nonce="{n}"{stale}'])
        raise AssertionError("it goes on and on")
    return script


def broken_challenge(header):
    def script(peer):
        peer.reply(peer.expect("INVITE"), 407, headers=[header])
        peer.expect("ACK")
    return script


def redirects(contact):
    def script(peer):
        for n in range(50):
            message = peer.receive(40 if n == 0 else QUIET_S)
            if message is None:
                return
            if message.method == "INVITE":
                peer.reply(message, 302, contact=False, headers=[
                    "Contact: " + contact.format(port=peer.port, n=n)])
        raise AssertionError("it goes on and on")
    return script


def timers_raised(peer):
    for n in range(50):
        message = peer.receive(40 if n == 0 else QUIET_S)
        if message is None:
            return
        if message.method == "INVITE":
            peer.reply(message, 422, headers=[f"Min-SE: {1000 * (n + 1)}"])
    raise AssertionError("it goes on and on")


def early_bye(peer):
    """A BYE before the engine's ACK."""
    invite = peer.expect("INVITE")
    peer.remote, peer.target = invite.get("From"), invite.get("Contact").strip("<>")
    peer.call_id, peer.mine = invite.get("Call-ID"), invite.get("To") + ";tag=adv"
    peer.reply(invite, 200, body=peer.sdp)
    peer.request("BYE")
    peer.expect("SIP/2.0 200")


def crossing_byes(peer):
    peer.called()
    bye = peer.expect("BYE")
    peer.request("BYE")
    peer.expect("SIP/2.0 200", "SIP/2.0 481")
    peer.reply(bye, 200)


def silent_bye(peer):
    peer.called()
    peer.expect("BYE")


def after_the_end(peer):
    """Requests in a dialog that has ended get a 481."""
    peer.called()
    ending(peer)
    for method in ("INVITE", "BYE", "INFO", "UPDATE", "OPTIONS", "MESSAGE", "REFER", "NOTIFY"):
        branch = peer.request(method, body=peer.sdp if method in ("INVITE", "UPDATE") else "",
                              headers=["Refer-To: <sip:a@b>"] if method == "REFER" else [])
        answer = peer.final(method)
        assert answer.code == 481, answer.text
        if method == "INVITE":
            peer.remote = answer.get("To")
            peer.request("ACK", branch=branch, cseq=peer.cseq)


def cseq_jumps(peer):
    peer.called()
    peer.cseq = 5000
    peer.request("OPTIONS")
    peer.expect("SIP/2.0 200")
    peer.request("OPTIONS", cseq=2000000000)
    peer.expect("SIP/2.0 200")
    for method in ("OPTIONS", "INFO", "UPDATE", "BYE"):
        peer.request(method, cseq=7)
        assert peer.expect("SIP/2.0 ").code == 500
    for cseq in ("4294967296", "-1", "99999999999999999999", "2147483648"):
        peer.request("INFO", cseq=cseq)
        assert peer.expect("SIP/2.0 ").code == 400
    peer.cseq = 2000000001
    peer.request("BYE")
    peer.expect("SIP/2.0 200")


def broken_offers(peer):
    """During a call each broken offer is refused, and the call continues."""
    peer.called()
    for method in ("INVITE", "UPDATE"):
        for body in ("v=0", "m=audio", "\0", peer.sdp.replace("0 8", "96"),
                     peer.sdp.replace("m=audio", "m=video"), "v=0\r\n" * 500):
            branch = peer.request(method, body=body)
            answer = peer.final(method)
            assert answer.code in (400, 488, 415), answer.text
            if method == "INVITE":
                peer.request("ACK", branch=branch, cseq=peer.cseq)
    peer.request("REFER", headers=["Refer-To: <<<"])
    peer.expect("SIP/2.0 400")
    peer.request("REFER", headers=["Refer-To: <sip:a@b?Replaces=%0d%0aX:y>"])
    peer.expect("SIP/2.0 400")
    peer.request("NOTIFY", headers=["Event: refer", "Subscription-State: active"])
    peer.expect("SIP/2.0 481")
    peer.request("BYE")
    peer.expect("SIP/2.0 200")


def reliable_jumps(peer):
    """RSeq out of order, and PRACK never answered."""
    invite = peer.expect("INVITE")
    for rseq in ("0", "7", "9", "7", "8", "x", "4294967295", "-1"):
        peer.reply(invite, 183, headers=["Require: 100rel", f"RSeq: {rseq}"], body=peer.sdp)
    peer.expect("PRACK")
    peer.reply(invite, 486)
    peer.expect("ACK")


def ok_again_and_again(peer):
    invite = peer.called()
    for _ in range(5):
        peer.reply(invite, 200, body=peer.sdp)
        peer.expect("ACK")
    ending(peer)


def forked_answers(peer):
    """Three branches answer: one becomes the call, the others get ACK and BYE."""
    invite = peer.expect("INVITE")
    for n in range(3):
        peer.reply(invite, 180, to_tag=f"b{n}")
    for n in range(3):
        peer.reply(invite, 200, body=peer.sdp, to_tag=f"b{n}")
    ended = set()
    while ended != {"b0", "b1", "b2"}:
        bye = peer.expect("BYE")
        ended.add(re.search("tag=(b.)", bye.get("To"))[1])
        peer.reply(bye, 200)


def late_ok_to_cancel(peer):
    """The 200 crosses the engine's CANCEL: it is acknowledged and the call is ended."""
    invite = peer.expect("INVITE")
    peer.reply(invite, 180)
    cancel = peer.expect("CANCEL")
    peer.reply(invite, 200, body=peer.sdp)
    peer.reply(cancel, 200)
    peer.expect("ACK")
    ending(peer)


def glare(peer):
    """The peer's re-INVITE crosses the engine's: 491 both ways, and the engine repeats
    its own later."""
    peer.called()
    theirs = peer.expect("INVITE")
    branch = peer.request("INVITE", body=peer.sdp)
    assert peer.expect("SIP/2.0 491").get("CSeq") == f"{peer.cseq} INVITE"
    peer.request("ACK", branch=branch, cseq=peer.cseq)
    peer.reply(theirs, 491)
    peer.expect("ACK")
    peer.reply(peer.expect("INVITE"), 200, body=peer.sdp)
    peer.expect("ACK")
    ending(peer)


def challenged_within(peer):
    """401 and 407 to re-INVITE and BYE."""
    peer.called()
    for method, code, name in (("INVITE", 401, "WWW-Authenticate"),
                               ("BYE", 407, "Proxy-Authenticate")):
        first = again = peer.expect(method)
        peer.reply(first, code, headers=[f'{name}: Digest realm="{code}", nonce="n", qop="auth"'])
        while again.get("CSeq") == first.get("CSeq"):  # it is repeated when the 401 comes late
            again = peer.expect(method)
        assert f'realm="{code}"' in again.text, again.text
        peer.reply(again, 200, body=peer.sdp if method == "INVITE" else "")


def readdressed(peer):
    """Unusable offers during a call are refused, and the call continues."""
    peer.called()
    for where, warning in (("6 2001:db8::1", "301"), ("4 224.2.0.1/127", "330"),
                           ("4 192.0.2.1", "399")):
        branch = peer.request("INVITE", body=TO.format(where))
        answer = peer.final("INVITE")
        assert answer.code == 488 and answer.get("Warning").startswith(warning), answer.text
        peer.request("ACK", branch=branch, cseq=peer.cseq)
    peer.request("BYE")
    peer.expect("SIP/2.0 200")


TO = SDP.format(port=9).replace("c=IN IP4 127.0.0.1", "c=IN IP{}")
RING = {"ring_timeout": 5}
QUIET_S = 6  # nothing more comes
LOOP = "<sip:adv{n}@127.0.0.1:{port}>"
# name: (script, parameters of the call, end, words of the reason)
CALLED = {
    "no SDP": (no_sdp, {}, "failed", "the answer has no SDP"),
    "port 0": (sdp(SDP.format(port=0)), {}, "failed", "port 0"),
    "no common codec": (sdp(SDP.format(port=9).replace("0 8", "18")), {}, "failed", "codec"),
    "video only": (sdp(SDP.format(port=9).replace("audio", "video")), {}, "failed", "audio"),
    "IPv6 address": (sdp(TO.format("6 2001:db8::1")), {}, "failed",
                     "names 2001:db8::1 for its audio: IPv6, our media is bound to IPv4"),
    "multicast": (sdp(TO.format("4 224.2.0.1/127")), {}, "failed", "is no unicast address"),
    "broadcast": (sdp(TO.format("4 255.255.255.255")), {}, "failed", "is no unicast address"),
    "no route": (sdp(TO.format("4 192.0.2.1")), {}, "failed", "no route of this host"),
    "IPv6 RTCP": (sdp(TO.format("4 127.0.0.1") + "a=rtcp:9 IN IP6 ::1\r\n"), {}, "failed",
                  "names ::1 for its RTCP"),
    "unknown profile": (sdp(SDP.format(port=9).replace("RTP/AVP", "UDP/X")), {}, "failed",
                        "audio over UDP/X"),
    # RTCP's port would be 65536: a call without RTCP
    "last port": (sdp(SDP.format(port=65535)), {}, "local", "hung up by us"),
    "re-INVITE to IPv6": (readdressed, {"call_duration": "60"}, "remote", "hung up by the peer"),
    "broken SDP": (sdp("v=0\r\nm=audio\r\n"), {}, "failed", "SDP"),
    "no SDP but a picture": (sdp("xxxx", kind="image/png"), {}, "failed", ""),
    "binary SDP": (sdp("\0\1\2" * 50), {}, "failed", "SDP"),
    "60 kB of SDP": (sdp(SDP.format(port=9) + "a=x\r\n" * 11000), {}, "", ""),
    "garbage": (garbage, RING, "failed", "no final answer within 5 s"),
    "truncated": (truncated, {}, "rejected", ""),
    "64 kB": (huge, RING, "", ""),
    "answers to nothing": (unknown_responses, {}, "rejected", ""),
    # RFC 3261 8.2.6.2, 7.1, 7.2, 18.3: discarded; the valid response after them is
    # accepted
    "wrong tags": (wrong_tags, {}, "local", ""),
    "statuses of no class": (unheard_of("SIP/2.0 700 x", "SIP/2.0 799 x", "SIP/2.0 999 x",
                                        "SIP/2.0 66139 x", "SIP/2.0 099 x"), {}, "local", ""),
    "other versions": (unheard_of("SIP/3.0 603 x", "SIP/1.0 603 x", "HTTP/1.1 603 x"), {},
                       "local", ""),
    "longer than it is": (longer_than_it_is, {}, "local", ""),
    "no To tag": (no_to_tag, {}, "failed", "no usable"),
    "no Contact": (no_contact, {}, "failed", "no usable"),
    "endless provisionals": (provisionals, RING, "failed", "no final answer within 5 s"),
    "100 alone": (only_trying, RING, "failed", "no final answer within 5 s"),
    "endless challenges": (challenges(""), {}, "rejected", "after credentials were sent"),
    "endless stale nonces": (challenges(", stale=true"), {}, "rejected",
                             "after credentials were sent"),
    "empty challenge": (broken_challenge("Proxy-Authenticate: Digest"), {}, "rejected", "digest"),
    "unknown digest": (broken_challenge(
        'Proxy-Authenticate: Digest realm="r", nonce="n", algorithm=ROT13'), {}, "rejected",
                       "algorithm"),
    "no challenge": (broken_challenge("X-Nothing: here"), {}, "rejected", "challenge"),
    "redirect loop": (redirects("<sip:adv@127.0.0.1:{port}>"), {}, "rejected", "loop"),
    "endless redirects": (redirects(LOOP), {}, "rejected", "more than 5 times"),
    "redirect to nowhere": (redirects("<sip:"), {}, "rejected", ""),
    "ever longer timers": (timers_raised, {"session_timer": 90}, "rejected", ""),
    "early BYE": (early_bye, {}, "remote", "hung up by the peer"),
    "crossing BYEs": (crossing_byes, {}, "local", "hung up by us"),
    "BYE not answered": (silent_bye, {}, "local", "hung up by us"),
    "requests after the end": (after_the_end, {}, "local", "hung up by us"),
    "CSeq jumps": (cseq_jumps, {"call_duration": "60"}, "remote", "hung up by the peer"),
    "broken offers": (broken_offers, {"call_duration": "60"}, "remote", "hung up by the peer"),
    "RSeq jumps": (reliable_jumps, {"prack": "supported"}, "rejected", ""),
    "200 again": (ok_again_and_again, {"call_duration": "3"}, "local", "hung up by us"),
    "three branches": (forked_answers, {}, "local", "hung up by us"),
    "200 crosses CANCEL": (
        late_ok_to_cancel,
        {"sipclient_actions": [["assert_state", "CALL_RINGING"], ["hangup"]]}, "cancelled",
        "cancelled by us"),
    "glare": (glare, {"call_duration": "60", "sipclient_actions": [
        ["assert_established"], ["hold"], ["hangup"]]}, "local", "hung up by us"),
    "challenged within": (challenged_within, {"call_duration": "60", "sipclient_actions": [
        ["assert_established"], ["reinvite"], ["hangup"]]}, "local", "hung up by us"),
}


def called_by_us(build, number, script, more):
    """@return (the call event, the peer's failure, asserts)"""
    ports = PortBlock()
    try:
        with Peer(script) as peer:
            action = {"type": "call", "dial_destination": "adv", "call_duration": "0.3",
                      "credentials": [{"username": "1001", "password": "secret"}],
                      "target": target("127.0.0.1", peer.port), **more}
            with Engine(build, "caller", [[action]], ports, copies=True) as engine:
                engine.step(0)
                if peer._script is after_the_end:
                    peer._thread.join(30)
                engine.end()
            # an error of the peer is not counted as ours
            assert engine.finish["outcome"] == "completed", engine.finish
            assert not [e for e in engine.events if e["kind"] == "flaw"], engine.events
            (call,) = engine.calls()
        return call, peer.failure, engine.asserts()
    finally:
        ports.close()


@pytest.fixture(scope="module")
def called(build):
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        futures = {name: pool.submit(called_by_us, build, n, script, more)
                   for n, (name, (script, more, _, _)) in enumerate(CALLED.items())}
        yield futures


@pytest.mark.parametrize("name", CALLED)
def test_it_is_called(called, name):
    call, failure, asserts = called[name].result()
    assert failure is None
    assert CALLED[name][2] in call["end"] and CALLED[name][3] in call["reason"], call
    assert call["reason"], call
    assert asserts == []


def test_an_address_that_the_firewall_forbids(build):
    """The kernel refuses each packet: the call fails, but it is not counted as our
    error."""
    with own_network():
        try:
            run("iptables", "-A", "OUTPUT", "-d", "127.0.0.9", "-p", "udp", "-j", "DROP")
        except OSError as error:
            pytest.skip(str(error))
        call, failure, _ = called_by_us(build, 0, sdp(TO.format("4 127.0.0.9")),
                                        {"call_duration": "30"})
    assert failure is None
    assert call["established"] and call["end"] == "failed", call
    assert "cannot be sent to the address that the peer's SDP names: Operation not permitted" in \
        call["reason"], call


# ---- it calls us ----

INVITE = ("INVITE sip:1002@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:{port};branch=z9hG4bK"
          "{n}\r\nMax-Forwards: 70\r\nFrom: <sip:adv@x>;tag={n}\r\nTo: <sip:1002@x>\r\n"
          "Call-ID: m{n}\r\nCSeq: 1 INVITE\r\nContact: <sip:adv@127.0.0.1:{port}>\r\n"
          "Supported: 100rel, timer\r\nContent-Type: application/sdp\r\n"
          "Content-Length: {length}\r\n\r\n{sdp}")
BROKEN = [
    (r"Via: [^\r]*\r\n", ""), (r"From: [^\r]*\r\n", ""), (r"To: [^\r]*\r\n", ""),
    (r"Call-ID: [^\r]*\r\n", ""), (r"CSeq: [^\r]*\r\n", ""), (r"Contact: [^\r]*\r\n", ""),
    (r"branch=\w*", ""), (r";tag=\w*", ""), (r"CSeq: 1", "CSeq: -1"), (r"CSeq: 1", "CSeq: 1e9"),
    (r"1 INVITE", "1 BYE"), (r"1 INVITE", "4294967296 INVITE"), (r" SIP/2.0\r\n", "\r\n"),
    (r" SIP/2.0\r\n", " SIP/3.0\r\n"), (r"^INVITE", "invite"), (r"^INVITE", "INVITE" * 500),
    (r"Content-Length: \d+", "Content-Length: -5"), (r"Content-Length: \d+", "Content-Length: 1"),
    (r"Content-Length: \d+", "Content-Length: 4000000000"), (r"\r\n\r\n", "\r\n"),
    (r"\r\n", "\n"), (r"Max-Forwards: 70", "Max-Forwards: x"), (r"<sip:adv@127[^>]*>", "<sip:>"),
    (r"<sip:adv@127[^>]*>", "*"), (r"<sip:adv@127[^>]*>", "<sip:a@[::1>"), (r"sip:1002@", "%%%"),
    (r"Supported: ", "Require: nothing, "), (r"Supported: ", "Require: " + "a," * 20000),
    (r"application/sdp", "text/html"), (r"application/sdp", "multipart/mixed;boundary=\""),
    (r"v=0", "v=\x00"), (r"m=audio \d+", "m=audio 99999"), (r"m=audio \d+", "m=audio -1"),
    (r"m=audio", "m=audio\r\nm=audio"), (r"IN IP4 127.0.0.1", "IN IP6 127.0.0.1"),
    (r"c=IN[^\r]*\r\n", ""), (r"0 8", " ".join(map(str, range(2000)))), (r"0 8", "0" * 9000),
    (r"\r\nSupported", "\r\nVia: SIP/2.0/UDP h" * 1500 + "\r\nSupported"),
    (r"Max-Forwards: 70", "Max-Forwards: 70\r\nX: " + "b" * 50000),
    (r"Max-Forwards: 70", "Record-Route: <sip:" + "r" * 5000 + ">"),
    (r"Max-Forwards: 70", "Replaces: x;to-tag=;from-tag="), (r"Max-Forwards: 70", ":::"),
    (r"Max-Forwards: 70", "Session-Expires: 99999999999999"), (r"tag=\w*", "tag=" + "t" * 9000),
]


@pytest.fixture(scope="module")
def answering(build):
    ports = PortBlock()
    action = {"type": "answer", "credentials": [{"username": "1002"}], "prack": "supported",
              "session_timer": 1800}
    with Engine(build, "callee", [[action], []], ports, sip_port=ports.phone, copies=True,
                rtp_last=ports.relay[1], max_duration_s=900) as engine:
        engine.step(0)
        engine.port = ports.phone
        yield engine
        engine.step(1)
        engine.end()
    assert all(c["reason"] for c in engine.calls()), engine.calls()
    ports.close()


def alive(engine):
    """A normal call still works."""
    with Peer() as peer:
        peer.dial("1002", engine.port)
        peer.request("BYE")
        assert peer.expect("SIP/2.0 ").code == 200


def invite(peer, n):
    return INVITE.format(port=peer.port, n=n, length=len(peer.sdp), sdp=peer.sdp)


def test_broken_invites(answering):
    with Peer(to=answering.port) as peer:
        for n, (old, new) in enumerate(BROKEN):
            text = invite(peer, f"b{n}")
            changed = re.sub(old, lambda _, to=new: to, text, flags=re.M)
            assert changed != text, old
            peer.send(changed.encode("latin-1")[:65000])
            answering.pump(0.01)
        end_calls(peer)
    alive(answering)


def end_calls(peer):
    """ACK and BYE for each call that was answered with 200, as a call holds RTP ports."""
    while message := peer.receive(0.05):
        number, _, method = message.get("CSeq").partition(" ")
        if message.code != 200 or method.strip() != "INVITE" or not number.isdigit():
            continue
        ends = {"to": message.get("To"), "mine": message.get("From"),
                "call_id": message.get("Call-ID"), "target": uri(message.get("Contact"))}
        peer.request("ACK", cseq=int(number), **ends)
        peer.request("BYE", cseq=int(number) + 1, **ends)


def test_damaged_invites(answering):
    seed = time.time_ns() % 10**9
    print("seed", seed)
    chance = random.Random(seed)
    with Peer(to=answering.port) as peer:
        for n in range(400):
            data = bytearray(invite(peer, f"d{n}").encode())
            for _ in range(chance.randint(1, 12)):
                at = chance.randrange(len(data) or 1)
                if not data:
                    break
                how = chance.randrange(4)
                if how == 0:
                    data[at] = chance.randrange(256)
                elif how == 1:
                    del data[at:at + chance.randrange(40)]
                elif how == 2:
                    data[at:at] = data[at:at + chance.randrange(200)]
                else:
                    data = data[:max(at, 1)]
            peer.send(bytes(data))
            answering.pump(0.002)
            if n % 10 == 9:
                end_calls(peer)
    alive(answering)


def test_early_bye_and_cancel_races(answering):
    with Peer() as peer:
        peer.fresh("1002", answering.port)
        branch = peer.request("INVITE", body=peer.sdp)
        peer.request("CANCEL", branch=branch, cseq=peer.cseq)
        # whichever came first: 487, or 200 and a BYE
        final = peer.final("INVITE")
        peer.remote = final.get("To")
        if final.code == 200:
            peer.request("ACK", cseq=peer.cseq, target=final.get("Contact").strip("<>"))
            peer.request("BYE", target=final.get("Contact").strip("<>"))
            assert peer.final("BYE").code == 200
        else:
            assert final.code == 487, final.text
            peer.request("ACK", branch=branch, cseq=peer.cseq)
        # no call is left
        peer.request("BYE")
        assert peer.final("BYE").code == 481
        peer.request("CANCEL", branch="z9hG4bKnone", cseq=peer.cseq)
        assert peer.final("CANCEL").code == 481
    alive(answering)


def test_requests_of_no_dialog(answering):
    with Peer() as peer:
        for method, code in (("BYE", 481), ("INFO", 481), ("UPDATE", 481), ("PRACK", 481),
                             ("NOTIFY", 481), ("REFER", 400), ("OPTIONS", 200),
                             ("NOSUCH", 501), ("SUBSCRIBE", 405), ("MESSAGE", 200)):
            peer.fresh("1002", answering.port)
            peer.request(method)
            assert peer.expect("SIP/2.0 ").code == code, method
            if code != 481:
                continue
            peer.fresh("1002", answering.port)
            peer.remote += ";tag=nobody"
            peer.request(method)
            assert peer.expect("SIP/2.0 ").code == 481, method
    alive(answering)


MALFORMED_REFER_TO = [
    [], ["Refer-To:"], ["Refer-To: <>"], ["Refer-To: <sip:>"], ["Refer-To: <sip:1003@127.0.0.1"],
    ["Refer-To: 1003"], ["Refer-To: <1003@127.0.0.1>"], ["Refer-To: <sip:10\x0103@127.0.0.1>"],
    ["Refer-To: <sip:1003@127.0.0.1>", "Refer-To: <sip:1004@127.0.0.1>"],
    ["r: <sip:1003@127.0.0.1>", "Refer-To: <sip:1004@127.0.0.1>"],
    ["Refer-To: <sip:1003@127.0.0.1>, <sip:1004@127.0.0.1>"]]


def test_malformed_refer_to(answering):
    """400 before any other check, whether the account accepts REFER or not (RFC 3515
    2.4.2)."""
    codes = []
    with Peer() as peer:
        for headers in MALFORMED_REFER_TO:
            peer.fresh("1002", answering.port)
            peer.request("REFER", headers=headers)
            codes.append((headers, peer.expect("SIP/2.0 ").code))
        peer.fresh("1002", answering.port)
        peer.request("REFER", headers=["Refer-To: <sip:1003@127.0.0.1>"])
        assert peer.expect("SIP/2.0 ").code == 603
        peer.dial("1002", answering.port)
        for headers in MALFORMED_REFER_TO:
            peer.request("REFER", headers=headers)
            codes.append((headers, peer.final("REFER").code))
        peer.request("BYE")
        assert peer.final("BYE").code == 200
    assert not [c for c in codes if c[1] != 400], codes
    alive(answering)


def test_refer_of_no_dialog(build):
    """If the action accepts the REFER, the call is placed and the referrer is notified;
    otherwise 603."""
    ports = PortBlock()
    action = {"type": "answer", "credentials": [{"username": "1002"}], "accept_refer": 1}
    notified = []
    with Peer() as peer, Peer() as third, \
            Engine(build, "callee", [[action], []], ports, sip_port=ports.phone) as engine:
        engine.step(0)

        def refer(target):
            peer.fresh("1002", ports.phone)
            peer.request("REFER", headers=[f"Refer-To: <{target}>"])
            peer.remote = peer.expect("SIP/2.0 202").get("To")
            told("100 Trying", "active")

        def told(status, state):
            while True:
                message = peer.expect("NOTIFY")
                peer.reply(message, 200)
                this = message.get("Call-ID"), message.get("CSeq")
                if this not in notified:  # it is repeated when the 200 comes late
                    break
            notified.append(this)
            assert message.get("Subscription-State").startswith(state), message.text
            assert message.body.startswith(f"SIP/2.0 {status}"), message.text

        refer(f"sip:1003@127.0.0.1:{third.port}")
        third.called()
        told("200 ", "terminated")
        third.request("BYE")
        assert third.final("BYE").code == 200
        refer(f"sip:1003@127.0.0.1:{third.port}")
        third.reply(third.expect("INVITE"), 486, "Busy Here")
        told("486 Busy Here", "terminated")
        engine.until(lambda: len(engine.calls()) == 2, "both calls are accounted for")
        engine.step(1)
        engine.end()
    assert engine.states().count("REFER") == 2
    assert sorted((c["placed_for"], c["direction"], c["established"], c["end"])
                  for c in engine.calls()) == [("REFER", "out", False, "rejected"),
                                               ("REFER", "out", True, "remote")]
    ports.close()


def test_pieces_over_tcp(answering):
    """One byte at a time, two messages in one segment, garbage, and broken connections."""
    with Peer() as peer:
        def options(n):
            return (f"OPTIONS sip:1002@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/TCP 127.0.0.1:{peer.port}"
                    f";branch=z9hG4bKt{n}\r\nMax-Forwards: 70\r\nFrom: <sip:a@x>;tag=1\r\n"
                    f"To: <sip:1002@x>\r\nCall-ID: t{n}\r\nCSeq: 1 OPTIONS\r\n"
                    "Content-Length: 0\r\n\r\n").encode()

        def connect():
            return socket.create_connection(("127.0.0.1", answering.port), 60)

        def answers(connection, count):
            data = b""
            while data.count(b"SIP/2.0 200") < count:
                piece = connection.recv(65536)
                assert piece, data
                data += piece

        for garbage_first in (b"", b"\r\n\r\n"):
            with connect() as connection:
                for byte in garbage_first + options(1):
                    connection.send(bytes([byte]))
                answers(connection, 1)
                connection.sendall(options(2) + options(3))
                answers(connection, 2)
        for broken in (b"\0" * 3000, b"x" * 70000, options(4)[:-30],
                       options(5).replace(b"Length: 0", b"Length: 4000000000"),
                       options(6).replace(b"Content-Length: 0\r\n", b""), b"\r\n" * 30000):
            with connect() as connection:
                try:
                    connection.sendall(broken)
                    connection.shutdown(socket.SHUT_WR)
                    connection.settimeout(1)
                    while connection.recv(65536):
                        pass
                except OSError:
                    pass
            answering.pump(0.01)
    alive(answering)

"""What we send, checked against RFC 3261's grammar by a parser of our own and by
tshark. Every other test that drives an engine does the first as well."""
import re
import subprocess
import threading

import pytest

import sip_grammar
import sip_witness
from capture import Capture
from certificates import Authority
from engine import Engine, target
from peers import SUBSCRIBERS, Kamailio

GOOD = (b"INVITE sip:1002@example.net;x=%41 SIP/2.0\r\n"
        b"Via: SIP/2.0/UDP 127.0.0.1:5060;branch=z9hG4bK1;rport\r\n"
        b"Max-Forwards: 70\r\nFrom: \"A \\\"B\\\"\" <sip:1001@example.net>;tag=1\r\n"
        b"To: <sip:1002@[2001:db8::1]:5062>\r\nCall-ID: a@b\r\nCSeq: 1 INVITE\r\n"
        b"Contact: <sip:1001@127.0.0.1:5060>\r\nSupported: 100rel,\r\n timer\r\n"
        b"Content-Type: application/sdp\r\nContent-Length: 5\r\n\r\nv=0\r\n")
BAD = {
    "no start line": (b"INVITE sip:1002@example.net;x=%41 SIP/2.0", b"INVITE"),
    "space in URI": (b"sip:1002@example.net;", b"sip:10 02@example.net;"),
    "no version": (b" SIP/2.0\r\nVia", b"\r\nVia"),
    "lone LF": (b"Max-Forwards: 70\r\n", b"Max-Forwards: 70\n"),
    "no branch": (b"branch=z9hG4bK1", b"branch=1"),
    "no tag": (b";tag=1", b""),
    "open quote": (b"\"A \\\"B\\\"\"", b"\"A"),
    "no brackets closed": (b"5062>", b"5062"),
    "CSeq of another method": (b"1 INVITE", b"1 BYE"),
    "CSeq without number": (b"CSeq: 1 ", b"CSeq: "),
    "length too small": (b"Content-Length: 5", b"Content-Length: 4"),
    "two lengths": (b"Content-Length: 5\r\n", b"Content-Length: 5\r\nl: 5\r\n"),
    "no type": (b"Content-Type: application/sdp\r\n", b""),
    "no contact": (b"Contact: <sip:1001@127.0.0.1:5060>\r\n", b""),
    "empty token": (b"100rel,\r\n timer", b"100rel,,timer"),
    "unknown header": (b"Max-Forwards", b"X-Forwards"),
    "no colon": (b"Max-Forwards: 70", b"Max-Forwards 70"),
    "number": (b"Max-Forwards: 70", b"Max-Forwards: many"),
    "escape": (b"%41", b"%4"),
}


def test_checker_takes_what_is_right():
    assert sip_grammar.errors(GOOD) == []


@pytest.mark.parametrize("name", BAD)
def test_checker_refuses(name):
    old, new = BAD[name]
    assert GOOD.count(old) >= 1
    assert sip_grammar.errors(GOOD.replace(old, new, 1)) != [], name


def test_tshark_takes_what_is_right():
    assert sip_witness.dissect([GOOD, GOOD.replace(b"v=0\r\n", b"").replace(b": 5", b": 0")]) == []


def test_flow_tokens_are_no_numbers():
    """Of a token that begins with "+" tshark says that the message is malformed."""
    routed = GOOD.replace(b"Max-Forwards", b"Route: <sip:+5MMXOLwm+x5t6npOO/RO7P+@127.0.0.1;lr;ob>\r\nMax-Forwards")
    called = GOOD.replace(b"sip:1002@", b"sip:+4930123456@")
    assert called != GOOD and sip_witness.for_tshark(called) == called
    assert sip_witness.dissect([routed, called]) == []


@pytest.mark.parametrize("old,new", [
    (b"Content-Length: 5", b"Content-Length: -1"), (b" SIP/2.0", b""),
    (b"Max-Forwards: 70", b"Max-Forwards 70"),
    (b"Content-Length: 5\r\n\r\nv=0\r\n",
     b"Content-Length: 31\r\n\r\nv=0\r\nm=audio 99999 RTP/AVP 0\r\n"),
])
def test_tshark_finds(old, new):
    broken = GOOD.replace(old, new, 1)
    assert [m for _, m in sip_witness.dissect([GOOD, broken, GOOD])] == [broken]


def test_what_is_noted_is_found(build, ports):
    """An engine's message, and those of a download: valid ones and an invalid one."""
    with Engine(build, "caller", [[{"type": "options", "credentials": [{"username": "1"}],
                                    "target": target("127.0.0.1", ports.silent)}]], ports) as e:
        e.go(0)
        e.until(lambda: e.sent("OPTIONS"), "it is sent")
        e.cancel()
        e.until(lambda: e.finish, "the job ends")
    noted = sip_witness._noted[:]
    try:
        assert (e.ours()[0], False) in noted
        assert sip_witness.findings() == []
        bad = GOOD.replace(b"70", b"many")
        text = b"".join(b"2026-11-21 10:00:00.000001 caller %s udp 127.0.0.1:1 -> 127.0.0.1:2, "
                        b"%d bytes\n\n%s\n\n" % (way, len(m), m)
                        for way, m in ((b"sent", GOOD), (b"sent", bad), (b"received", b"\0")))
        sip_witness.note(sip_witness.sent_of_text(text))
        assert {m for _, m in sip_witness.findings()} == {bad}
        assert sip_witness.findings() == []
    finally:
        sip_witness._noted[:] = noted


def answer(user, port, **more):
    return {"type": "answer", "credentials": [{"username": user}],
            "target": target("127.0.0.1", port), **more}


def both(build, ports, callee_steps, caller_steps, **more):
    """A callee on ports.phone and a caller; both run to their ends."""
    with Engine(build, "callee", callee_steps, ports, sip_port=ports.phone, offset=0) as callee, \
            Engine(build, "caller", caller_steps, ports, offset=8, **more) as caller:
        callee.step(0)
        caller.step(0)
        for step in range(1, len(caller_steps)):
            caller.step(step)
            callee.step(step)
        caller.end()
        callee.end()
    return callee, caller


SCRIPT = [["assert_established", "20000"], ["hold"], ["wait", "100"], ["resume"], ["reinvite"],
          ["update"], ["message", "hi"], ["options"], ["dtmf", "1"],
          ["transfer_attended", "start 1003"], ["transfer_attended", "exec"], ["hangup"]]
HEADERS = [["X-Long", "a" * 500, "any"], ["Subject", "a, b; c=\"d\"", "invites"]]


def test_all_requests_of_a_call(build, ports):
    """Every request that we support, its responses, and our responses to them."""
    common = {"prack": "supported", "session_timer": 90, "dtmf_mode": "info"}
    callee, caller = both(
        build, ports,
        [[answer("1002", ports.phone, **common, answer_delay=100, credentials=[
            {"username": "1002"}, {"username": "1003", "display_name": "C \"c\" \\ é"}])], []],
        [[], [{"type": "call", "dial_destination": "1002", "custom_headers": HEADERS,
               "credentials": [{"username": "10@01%&é", "display_name": "A, \"b\" <c>"}],
               "target": target("127.0.0.1", ports.phone), **common, "call_duration": "60",
               "sipclient_actions": SCRIPT}]],
        extra_headers=["X-Long"])
    assert caller.asserts() == []
    methods = {m.split(" ")[0] for e in (callee, caller) for m in e.sent()}
    assert methods >= {"INVITE", "ACK", "BYE", "PRACK", "UPDATE", "MESSAGE", "OPTIONS", "INFO",
                       "REFER", "NOTIFY", "SIP/2.0"}, methods


def test_registered_call_seen_by_tshark(build, ports, tmp_path):
    """Digest, routes and a CANCEL; nothing in the whole capture is malformed."""
    credentials = [{"username": "1001", "password": SUBSCRIBERS["1001"]}]
    register = {"type": "register", "credentials": credentials,
                "target": target("127.0.0.1", ports.sip)}
    callee_register = {**register, "credentials": [
        {"username": "1002", "password": SUBSCRIBERS["1002"], "display_name": "B"}]}
    with Capture(tmp_path, (ports.base, ports.base + 9)) as capture, Kamailio(tmp_path, ports.sip):
        callee, caller = both(
            build, ports,
            [[callee_register, {"type": "answer"}], [], [{"type": "unregister"}]],
            [[register], [{"type": "call", "dial_destination": "1002", "call_duration": "1"}],
             [{"type": "call", "dial_destination": "1002",
               "sipclient_actions": [["assert_state", "CALL_RINGING"], ["hangup"]]}]])
    assert caller.calls()[0]["established"] and callee.sent("REGISTER")
    sip_ports = [ports.sip, ports.phone]
    assert len(capture.sip_fields("sip.Method", ["sip.Method"], sip_ports)) >= 10
    assert capture.sip_fields(
        "sip && (_ws.malformed || _ws.expert.severity == error)",
        ["frame.number", "sip.Request-Line", "sip.Status-Line", "_ws.expert.message"],
        sip_ports) == []


TRACED = re.compile(r"(?m)^--- (sent to|received from) \S+ (udp|tcp|tls) *\n")


def sent_of_trace(text):
    """The sent messages in the output of `--trace`, with the CRs that it omits."""
    for head in TRACED.finditer(text):
        message = text[head.end():].replace("\n", "\r\n").encode()
        length = message.index(b"\r\n\r\n") + 4
        length += int(re.search(rb"\nContent-Length: (\d+)", message[:length])[1])
        if head[1] == "sent to":
            yield message[:length]


@pytest.mark.parametrize("transport", ["udp", "tcp", "tls"])
def test_foreground_commands(build, ports, tmp_path, transport):
    """offhook register, answer and call, through the proxy: as traced, and as captured
    where the wire can be read."""
    authority = Authority(tmp_path)
    cert, key = authority.issue("ours")
    files = ["--tls-ca", authority.file, "--tls-cert", cert, "--tls-key", key]
    port = ports.sip + (transport == "tls")
    middle = (ports.rtp[0] + ports.rtp[1]) // 2

    def command(verb, user, *more):
        where = "--target" if verb.startswith("call") else "--registrar"
        return [build / "offhook", *verb.split(), *map(str, more), where, f"127.0.0.1:{port}",
                "--user", user, "--password", SUBSCRIBERS[user], "--transport", transport,
                "--trace", "--bind", "127.0.0.1", *(files if transport == "tls" else [])]

    with Kamailio(tmp_path, ports.sip, tls=authority.issue("proxy")), \
            Capture(tmp_path, (ports.base, ports.base + 9)) as capture:
        with subprocess.Popen(
                command("answer", "1002", "--register", "--rtp-ports", f"{middle}-{ports.rtp[1]}",
                        "--sip-port", ports.phone),
                cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as callee:
            bound = threading.Timer(100, callee.kill)   # a time limit for everything below
            bound.start()
            try:
                said = ""
                while "SIP/2.0 200" not in said:
                    line = callee.stdout.readline()
                    assert line, said
                    said += line
                done = [subprocess.run(c, cwd=tmp_path, capture_output=True, text=True, timeout=60)
                        for c in (command("call 1002", "1001", "--register", "--duration", "1",
                                          "--rtp-ports", f"{ports.rtp[0]}-{middle - 1}"),
                                  command("register", "1003"))]
                said += callee.communicate()[0]
            finally:
                bound.cancel()
                callee.kill()
    assert [d.returncode for d in done] == [0, 0] and callee.returncode == 0, (done, said)
    sent = [m for text in (said, *(d.stdout + d.stderr for d in done))
            for m in sent_of_trace(text)]
    kinds = {m.split(b" ")[0] for m in sent}
    assert kinds >= {b"REGISTER", b"INVITE", b"ACK", b"BYE", b"SIP/2.0"}, kinds
    sip_witness.note(sent)
    assert sip_witness.findings() == []
    if transport == "tls":
        return
    wire = [ports.sip, ports.phone]
    shown = ["sip.Method", "sip.User-Agent", "sip.Server"]
    # a TCP segment may hold several messages
    seen = "\n".join("\t".join(row) for row in capture.sip_fields("sip", shown, wire))
    assert seen.count("offhook/") >= len(sent), (seen, len(sent))
    assert capture.sip_fields("_ws.malformed || _ws.expert.severity == error", shown,
                              wire) == []

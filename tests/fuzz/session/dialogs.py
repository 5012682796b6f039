#!/usr/bin/python3
"""Whole SIP dialogs, mutated, against an engine of the agent (tools/fuzz builds it with ASan and UBSan).

usage: dialogs.py --build FOLDER --first N (--count N | --seconds S) [--findings FOLDER]

A dialog is a random sequence of requests and responses: half of the dialogs are called by the engine, half
call it. Its number is the seed of all its choices: which message comes next, how it is mutated, whether it
is lost, doubled or late. --first and --count repeat dialogs. The engine is replaced after BATCH dialogs;
before that a correct call in each direction must succeed, and it must end without a report of a sanitizer.

The last line is "ran N": the dialogs without a finding. Exit status 1: one was found; what the engine logged
and what it was sent is in the folder of findings.
"""
import random
import re
import select
import socket
import sys
import time
from collections import deque
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/e2e"), str(Path(__file__).parent)]

from adversary import SDP, Message, tag, uri  # noqa: E402  pylint: disable=wrong-import-position
from batches import Found, run_batches  # noqa: E402  pylint: disable=wrong-import-position
from engine import Engine, target  # noqa: E402  pylint: disable=wrong-import-position
from mutation import Mutator  # noqa: E402  pylint: disable=wrong-import-position
from ports import PortBlock  # noqa: E402  pylint: disable=wrong-import-position

BATCH = 40        # dialogs of one engine
AT_A_TIME = 6     # of those that call it
PATIENCE_S = 60   # for what must happen
STARTS = ["INVITE", "ACK", "BYE", "CANCEL", "UPDATE", "PRACK", "INFO", "REFER", "SUBSCRIBE", "NOTIFY", "MESSAGE", "OPTIONS",
          "PUBLISH", "REGISTER", "SIP/2.0", "SIP/3.0", "sip:1002@127.0.0.1", "sips:1002@[::1]", "tel:+49", "*"]
LINES = [
    "Require: 100rel", "Require: timer, replaces", "Supported: 100rel, timer, norefersub, replaces, outbound", "RSeq: 1",
    "RSeq: 4294967295", "RAck: 1 1 INVITE", "RAck: 4294967295 0 BYE", "Session-Expires: 90;refresher=uac",
    "Session-Expires: 1;refresher=uas", "Min-SE: 4294967295", "Expires: 0", "Expires: 99999999999", "Event: refer;id=1",
    "Event: presence", "Event: message-summary", "Event: dialog;sla", "Subscription-State: active;expires=60",
    "Subscription-State: terminated;reason=noresource", "Refer-To: <sip:1003@127.0.0.1:9>", "Refer-Sub: false",
    "Refer-To: <sip:x@127.0.0.1?Replaces=a%40b%3Bto-tag%3D1%3Bfrom-tag%3D2>", "Referred-By: <sip:a@b>",
    "Replaces: a@b;to-tag=1;from-tag=2;early-only", "Content-Type: message/sipfrag;version=2.0", "Content-Encoding: gzip",
    "Content-Type: multipart/mixed;boundary=x", "Content-Type: application/dtmf-relay", "Content-Disposition: session",
    "Record-Route: <sip:127.0.0.1:9;lr>, <sip:b;lr>", "Record-Route: <sip:127.0.0.1:9>", "Route: <sip:127.0.0.1:9;lr>",
    "Contact: *", "Contact: <sip:a@[::1]:9;transport=tcp>;expires=0", "Contact: <sips:a@b>, <tel:1>", "Max-Forwards: 0",
    "WWW-Authenticate: Digest realm=\"a\", nonce=\"b\", qop=\"auth,auth-int\", algorithm=SHA-256, stale=TRUE",
    "Proxy-Authenticate: Digest realm=\"a\\\"\", nonce=\"\", algorithm=MD5-sess", "WWW-Authenticate: Basic realm=\"x\"",
    "Authorization: Digest username=\"a\", realm=\"b\", nonce=\"c\", uri=\"sip:d\", response=\"e\", nc=zz", "Retry-After: 0 (x)",
    "Via: SIP/2.0/UDP 127.0.0.1:9;branch=z9hG4bKx;rport;received=::1", "Via: SIP/2.0/TCP a, SIP/2.0/TLS [::1]:70000;maddr=x",
    "Allow: INVITE", "Unsupported: 100rel", "Reason: Q.850;cause=16", "Warning: 399 a \"b\"", "Content-Length: 1",
    "Identity: x", "SIP-ETag: a", "SIP-If-Match: a", "Min-Expires: 1", "Accept: application/sdp;level=1, */*"]
SDP_MORE = [
    "a=sendonly", "a=inactive", "a=recvonly", "a=ptime:0", "a=ptime:120", "a=rtcp-mux", "a=rtcp:9 IN IP4 127.0.0.1",
    "a=crypto:1 AES_CM_128_HMAC_SHA1_80 inline:WVNfX19zZW1jdGwgKCkgewkyMjA7fQp9CnVubGVz|2^20|1:32", "a=ice-ufrag:abcd",
    "a=ice-pwd:abcdefghijklmnopqrstuv", "a=candidate:1 1 UDP 2130706431 127.0.0.1 9 typ host", "a=setup:actpass",
    "a=fingerprint:sha-256 " + ":".join(["AB"] * 32), "a=fmtp:101 0-16", "a=rtpmap:101 telephone-event/8000",
    "a=rtpmap:0 PCMU/8000", "m=video 9 RTP/AVP 99", "m=audio 0 RTP/AVP 8", "c=IN IP6 ::1", "b=AS:1", "a=ssrc:1 cname:x"]
DTLS = "a=setup:active\r\na=fingerprint:sha-256 " + ":".join(["AB"] * 32) + "\r\n"
IN_DIALOG = ("INVITE", "INVITE", "UPDATE", "INFO", "MESSAGE", "OPTIONS", "REFER", "NOTIFY", "SUBSCRIBE", "PRACK", "ACK",
             "CANCEL", "PUBLISH", "BYE")
BODIES = {
    "INFO": ("application/dtmf-relay", "Signal=1\r\nDuration=100\r\n"), "MESSAGE": ("text/plain", "hello"),
    "NOTIFY": ("message/sipfrag;version=2.0", "SIP/2.0 200 OK\r\n"),
    "PUBLISH": ("application/pidf+xml", "<presence entity='a'><tuple id='t'><status><basic>open</basic></status></tuple></presence>")}
FINALS = (200, 200, 200, 200, 204, 301, 302, 400, 401, 404, 407, 415, 422, 480, 481, 486, 488, 491, 500, 503, 603, 699)
SCRIPTS = ([], [["hold"], ["resume"]], [["reinvite"], ["update"]], [["message", "hi"], ["options"]], [["dtmf", "12"]],
           [["transfer", "sip:1003@127.0.0.1"]], [["transfer_attended", "start 1003"], ["transfer_attended", "exec"]],
           [["wait", "50"], ["hangup"]])


# ---- transports ----

class Channel:
    """Where the messages of a dialog go: a UDP socket and an address, or a TCP connection."""

    def __init__(self, sock, to=None):
        self.sock, self.to, self.rest = sock, to, b""
        self.port = sock.getsockname()[1]  # also known once it is closed

    def send(self, data):
        try:
            if self.to:
                self.sock.sendto(data, self.to)
            else:
                self.sock.send(data)
        except OSError:
            pass  # too long, or the engine closed the connection: it may

    def receive(self):
        """@return [(Message, address)]; None: the connection is closed"""
        try:
            data, source = self.sock.recvfrom(65536)
        except BlockingIOError:
            return []
        except OSError:
            return None
        if self.sock.type == socket.SOCK_DGRAM:
            return [(Message(data), source)] if data.strip() else []
        if not data:
            return None
        self.rest += data
        found = []
        while b"\r\n\r\n" in self.rest:
            head, _, rest = self.rest.lstrip(b"\r\n").partition(b"\r\n\r\n")
            length = re.search(rb"(?im)^Content-Length: *(\d+)", head)
            length = int(length[1]) if length else 0
            if len(rest) < length:
                break
            found.append((Message(head + b"\r\n\r\n" + rest[:length]), None))
            self.rest = rest[length:]
        return found


def open_channel(port, stream):
    if stream:
        sock = socket.create_connection(("127.0.0.1", port), 10)
    else:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.bind(("127.0.0.1", 0))
    sock.setblocking(False)
    return Channel(sock, None if stream else ("127.0.0.1", port))


# ---- a dialog ----

class Dialog:
    """One dialog. Its script is a generator that yields how long it waits for a message and is sent it, or None."""

    def __init__(self, batch, number, channel, clean=False):
        self.batch, self.number, self.channel = batch, number, channel
        self.rng = random.Random(f"dialog {number}")
        self.mutator = Mutator(self.rng, 0 if clean else self.rng.choice((0, 0.1, 0.3, 0.7)), LINES, STARTS)
        self.local, self.remote = f"<sip:fuzz@127.0.0.1>;tag=f{number}", "<sip:1002@127.0.0.1>"
        self.call_id, self.target, self.cseq, self.branches = f"fuzz-{number}@x", "sip:1002@127.0.0.1", 1, 0
        self.up, self.over, self.invite = False, False, None
        self.inbox, self.until, self.script = deque(), 0, None

    # -- what is sent --

    def send(self, lines, body=""):
        text = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", body]).encode("latin-1", "replace")
        data = self.mutator.message(text)
        for _ in range(self.mutator.copies()):
            self.batch.sent.append((self.number, data))
            self.channel.send(data)

    def contact(self):
        port = self.channel.port
        return f"Contact: <sip:fuzz@127.0.0.1:{port}" + ("" if self.channel.to else ";transport=tcp") + ">"

    def sdp(self):
        text = self.batch.sdp(self.rng.choice((self.batch.rtp_port, 9, 0, self.batch.rtp_port)))
        return text + "".join(self.rng.choice(SDP_MORE) + "\r\n" for _ in range(self.rng.choice((0, 0, 0, 1, 3))))

    def request(self, method, body="", kind="application/sdp", more=(), branch=None, cseq=None):
        if cseq is None and method not in ("ACK", "CANCEL"):
            self.cseq += 1
        self.branches += 1
        branch = branch or f"z9hG4bKf{self.number}-{self.branches}"
        transport = "UDP" if self.channel.to else "TCP"
        port = self.channel.port
        self.send([f"{method} {self.target} SIP/2.0", f"Via: SIP/2.0/{transport} 127.0.0.1:{port};branch={branch};rport",
                   "Max-Forwards: 70", f"From: {self.local}", f"To: {self.remote}", f"Call-ID: {self.call_id}",
                   f"CSeq: {self.cseq if cseq is None else cseq} {method}", self.contact(), *more,
                   *([f"Content-Type: {kind}"] if body else [])], body)
        return branch

    def reply(self, request, code, body="", more=(), to_tag=None):
        to = request.get("To")
        if code > 100 and not tag(to):
            to += f";tag={to_tag or f'f{self.number}'}"
        self.send([f"SIP/2.0 {code} x", *(f"Via: {v}" for v in request.all("Via")),
                   *(f"Record-Route: {v}" for v in request.all("Record-Route")), f"From: {request.get('From')}", f"To: {to}",
                   f"Call-ID: {request.get('Call-ID')}", f"CSeq: {request.get('CSeq')}", self.contact(), *more,
                   *(["Content-Type: application/sdp"] if body else [])], body)

    def any_request(self, method):
        """A request of this method with what belongs to it"""
        more = {"REFER": ["Refer-To: <sip:1003@127.0.0.1:9>"], "PRACK": [f"RAck: 1 {self.cseq} INVITE"],
                "NOTIFY": ["Event: refer", "Subscription-State: active;expires=60"],
                "SUBSCRIBE": ["Event: " + self.rng.choice(("presence", "message-summary", "refer", "x")), "Expires: 60"],
                "PUBLISH": ["Event: presence", "Expires: 60"], "REGISTER": ["Expires: 60"]}.get(method, [])
        kind, body = BODIES.get(method, ("application/sdp", ""))
        if method == "INVITE" or method == "UPDATE" and self.mutator.happens(0.5):
            body = self.sdp() if self.mutator.happens(0.85) else ""
        return self.request(method, body, kind, more, cseq=self.cseq if method in ("ACK", "CANCEL") else None)

    # -- what is waited for --

    def answer(self, request):
        """Answer a request of the engine's, rightly or not."""
        if request.method == "ACK" or not request.start.endswith("SIP/2.0"):
            return
        code = self.rng.choice(FINALS) if self.mutator.happens(self.mutator.rate / 2) else 200
        body = self.sdp() if request.method in ("INVITE", "UPDATE") and code < 300 else ""
        if code == 200 and request.method == "BYE":
            self.over = True
        self.reply(request, code, body, [self.rng.choice(LINES)] if self.mutator.happens(self.mutator.rate / 4) else [])

    def wait(self, seconds, method=None):
        """Answer requests until a final response (to this method) or the time is over. @return it, or None"""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            message = yield left
            if message is None:
                return None
            if not message.code:
                self.answer(message)
            elif message.code >= 200 and (not method or message.get("CSeq").endswith(method)):
                return message
            elif message.get("RSeq") and self.mutator.happens(0.8):
                self.request("PRACK", more=[f"RAck: {message.get('RSeq')} {message.get('CSeq')}"])
        return None

    def establish(self, response):
        self.remote = response.get("To") or self.remote
        self.target = uri(response.get("Contact")) if "<" in response.get("Contact") else self.target
        self.up = True

    # -- scripts --

    def calls(self):
        """It calls the engine, or sends it something else."""
        if self.mutator.happens(0.3):
            method = self.rng.choice(("SUBSCRIBE", "SUBSCRIBE", "MESSAGE", "OPTIONS", "REFER", "NOTIFY", "PUBLISH", "REGISTER",
                                      "BYE", "UPDATE", "INFO", "PRACK", "ACK", "CANCEL"))
            self.any_request(method)
            final = yield from self.wait(0.3)
            if final and final.code < 300 and method == "SUBSCRIBE":
                self.establish(final)
                for _ in range(self.rng.randrange(4)):
                    self.any_request(self.rng.choice(("SUBSCRIBE", "NOTIFY", "BYE", "INVITE")))
                    yield from self.wait(0.2)
                self.mutator.rate = 0
                self.request("SUBSCRIBE", more=["Event: presence", "Expires: 0"])
                yield from self.wait(0.2)
            return
        branch = self.any_request("INVITE")
        number = self.cseq
        if self.mutator.happens(0.15):
            yield from self.wait(0.02)
            self.request("CANCEL", branch=branch)
        final = yield from self.wait(1, "INVITE")
        if final and final.code < 300:
            self.establish(final)
            self.request("ACK", self.sdp() if self.mutator.happens(0.1) else "", cseq=number)
            yield from self.talk()
        elif final:
            self.remote = final.get("To")
            self.request("ACK", branch=branch)
        yield from self.hang_up()

    def talk(self):
        """Requests within the dialog"""
        for _ in range(self.rng.choice((0, 1, 2, 3, 6))):
            if self.over:
                return
            method = self.rng.choice(IN_DIALOG)
            self.any_request(method)
            number = self.cseq
            final = yield from self.wait(self.rng.choice((0, 0.1, 0.3)), method)
            if method == "INVITE" and final:
                self.request("ACK", cseq=number)

    def hang_up(self):
        """Without mutations, so that the engine is rid of the call."""
        self.mutator.rate = 0
        if self.up and not self.over:
            self.request("BYE")
            yield from self.wait(1, "BYE")

    def is_called(self):
        """The engine calls it."""
        invite = self.invite
        self.local, self.remote = invite.get("To") + f";tag=f{self.number}", invite.get("From")
        self.call_id, self.target = invite.get("Call-ID"), uri(invite.get("Contact"))
        for _ in range(self.rng.choice((0, 1, 1, 2, 4))):
            code = self.rng.choice((100, 180, 183, 183, 199))
            more = ["Require: 100rel", f"RSeq: {self.rng.choice((1, 2, 3, 100))}"] if self.mutator.happens(0.4) else []
            self.reply(invite, code, self.sdp() if code == 183 else "", more,
                       None if self.mutator.happens(0.8) else f"fork{self.rng.randrange(3)}")
            yield from self.wait(self.rng.choice((0, 0.02, 0.1)))
        code = self.rng.choice(FINALS)
        more = {301: ["Contact: <sip:1003@127.0.0.1:9>"], 302: [f"Contact: <sip:1003@127.0.0.1:{self.batch.port}>;q=0.5"],
                401: [LINES[35]], 407: [LINES[36]], 422: ["Min-SE: 120"], 503: ["Retry-After: 1"]}.get(code, [])
        self.up = code < 300
        self.reply(invite, code, self.sdp() if code < 300 and self.mutator.happens(0.95) else "", more)
        yield from self.wait(0.1)
        if self.up:
            yield from self.talk()
        rate, self.mutator.rate = self.mutator.rate, 0
        if self.up or not rate:
            yield from self.hang_up()
        else:
            self.reply(invite, 486)
            yield from self.wait(0.1)

    def calls_rightly(self):
        """A correct call must be answered."""
        for _ in range(20):  # until the RTP ports of the calls before are free
            branch = self.request("INVITE", self.batch.sdp(self.batch.rtp_port))
            number = self.cseq
            final = yield from self.wait(PATIENCE_S, "INVITE")
            if not final:
                raise Found(f"a correct INVITE got no final response in {PATIENCE_S} s")
            if final.code == 200:
                break
            self.remote = final.get("To")
            self.request("ACK", branch=branch, cseq=number)
            self.call_id, self.remote = self.call_id + "x", "<sip:1002@127.0.0.1>"
            yield from self.wait(1)
        else:
            raise Found(f"a correct call is refused with {final.code}")
        self.establish(final)
        self.request("ACK", cseq=number)
        self.request("BYE")
        final = yield from self.wait(PATIENCE_S, "BYE")
        if not final or final.code != 200:
            raise Found(f"a correct BYE got {final.code if final else 'no response'}")
        self.batch.good.add("calls")

    def is_called_rightly(self):
        """A correct answer must get its ACK, and the engine's BYE comes by itself."""
        self.reply(self.invite, 200, self.batch.sdp(self.batch.rtp_port))
        while not self.over:
            message = yield PATIENCE_S
            if message is None:
                raise Found(f"of a correct call there was no BYE in {PATIENCE_S} s")
            if message.method != "ACK" and not message.code:
                self.reply(message, 200)
                self.over = message.method == "BYE"
        self.batch.good.add("is called")


# ---- an engine and its dialogs ----

class Batch:
    """Dialogs [first, first + count) against one engine: the even ones call it."""

    def __init__(self, build, first, count):
        self.build, self.first, self.count = build, first, count
        self.rng = random.Random(f"batch {first}")
        self.encryption = self.rng.choice(("none", "none", "sdes", "dtls"))
        self.sent, self.good, self.dialogs = [], set(), {}
        self.to_call = [n for n in range(first, first + count) if n % 2 == 0]
        self.to_be_called = [n for n in range(first, first + count) if n % 2]
        self.channels, self.log, self.ended = [], "", 0

    def sdp(self, port):
        """A correct session description for this batch's encryption"""
        text = SDP.format(port=port)
        return text.replace("RTP/AVP", "UDP/TLS/RTP/SAVP") + DTLS if self.encryption == "dtls" else text

    def actions(self):
        stream = self.rng.random() < 0.3
        common = {"prack": self.rng.choice(("none", "supported", "supported")), "session_timer": self.rng.choice((0, 0, 90)),
                  "media_encryption": self.encryption,
                  "media_nat": self.rng.choice(("none", "none", "none", "ice")),
                  "dtmf_mode": self.rng.choice(("rtpevent", "info"))}
        answer = {"type": "answer", "credentials": [{"username": "1002"}], "call_duration": "4", "accept_refer": True,
                  "presence": "open", "mwi": "2/8 (0/2)", **common}
        call = {"type": "call", "credentials": [{"username": "1001", "password": "x"}], "dial_destination": "1003",
                "target": target("127.0.0.1", self.port, "tcp" if stream else "udp"), "call_duration": "1",
                "max_total_calls": 100000, "max_concurrent_calls": 12, "calls_per_second": 20, "ring_timeout": 3,
                "sipclient_actions": self.rng.choice(SCRIPTS), **common}
        return [[answer], [call]]

    def listen(self):
        """The port that the engine calls, for UDP and TCP."""
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind(("127.0.0.1", self.port))
        datagrams.setblocking(False)
        self.channels.append(Channel(datagrams))
        self.listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", self.port))
        self.listener.listen(64)
        self.listener.setblocking(False)

    def begin(self, dialog, script):
        dialog.script = script
        dialog.until = time.monotonic() + next(script)
        self.dialogs[dialog.call_id] = dialog

    def resume(self, dialog, message):
        try:
            dialog.until = time.monotonic() + dialog.script.send(message)
        except StopIteration:
            dialog.script = None
            self.ended += 1

    def take(self, message, channel, source):
        """A message of the engine's: to its dialog, to a new one, or answered for one that has ended."""
        dialog = self.dialogs.get(message.get("Call-ID"))
        if dialog and dialog.script:
            self.resume(dialog, message)
        elif message.method == "INVITE" and not dialog and not tag(message.get("To")):
            clean = not self.to_be_called
            dialog = Dialog(self, self.to_be_called.pop(0) if self.to_be_called else self.first + self.count,
                            Channel(channel.sock, source), clean)
            dialog.invite, dialog.call_id = message, message.get("Call-ID")
            self.begin(dialog, dialog.is_called_rightly() if clean else dialog.is_called())
        elif message.method not in ("ACK", "") and not message.code:
            late = Dialog(self, self.first + self.count, Channel(channel.sock, source), clean=True)
            late.reply(message, 486 if message.method == "INVITE" else 200)

    def turn(self, engine):
        """Whatever comes within a short time"""
        ready, _, _ = select.select([c.sock for c in self.channels] + [self.listener, engine._socket], [], [], 0.02)
        if engine._socket in ready and not engine.pump(0):
            raise Found("the engine ended")
        if self.listener in ready:
            sock, _ = self.listener.accept()
            sock.setblocking(False)
            self.channels.append(Channel(sock))
        for channel in [c for c in self.channels if c.sock in ready]:
            got = channel.receive()
            if got is None:
                self.channels.remove(channel)
                channel.sock.close()
            for message, source in got or ():
                self.take(message, channel, source)
        now = time.monotonic()
        for dialog in [d for d in self.dialogs.values() if d.script and d.until <= now]:
            self.resume(dialog, None)

    def start_some(self):
        active = sum(1 for d in self.dialogs.values() if d.script and not d.invite)
        while self.to_call and active < AT_A_TIME:
            number = self.to_call.pop(0)
            stream = number % 10 == 0
            channel = open_channel(self.sip_port, stream)
            self.channels.append(channel)
            dialog = Dialog(self, number, channel)
            self.begin(dialog, dialog.calls())
            active += 1

    def converse(self, engine):
        engine.step(0)
        engine.go(1)
        until = time.monotonic() + PATIENCE_S + self.count
        while self.to_call or self.to_be_called or any(d.script for d in self.dialogs.values()):
            if time.monotonic() > until:
                raise Found(f"the engine has not called {len(self.to_be_called)} times more")
            self.start_some()
            self.turn(engine)
            if not self.to_call and not self.to_be_called:
                break
        channel = open_channel(self.sip_port, False)
        self.channels.append(channel)
        dialog = Dialog(self, self.first + self.count, channel, clean=True)
        dialog.call_id = f"right-{self.first}@x"
        self.begin(dialog, dialog.calls_rightly())
        until = time.monotonic() + 3 * PATIENCE_S
        while self.good != {"calls", "is called"}:
            if time.monotonic() > until:
                raise Found(f"of the correct calls only these passed: {sorted(self.good)}")
            self.turn(engine)
        engine.cancel()
        until = time.monotonic() + PATIENCE_S
        while not engine.finish:
            if time.monotonic() > until:
                raise Found(f"it has not ended {PATIENCE_S} s after it was cancelled")
            self.turn(engine)

    def run(self):
        ports = PortBlock()
        self.port, self.sip_port = ports.sip, ports.phone
        rtp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        rtp.bind(("127.0.0.1", 0))
        self.rtp_port = rtp.getsockname()[1]
        self.listen()
        engine = Engine(self.build, "callee", self.actions(), ports, sip_port=ports.phone, rtp_last=ports.relay[1],
                        max_duration_s=600)
        try:
            self.converse(engine)
            self.log = engine.close()
            if engine._process.returncode != 0:
                raise Found(f"exit status {engine._process.returncode}")
            if re.search(r"Sanitizer|runtime error:|the sandbox refused", self.log):
                raise Found("see its log")
        finally:
            if engine._process.returncode is None:
                if not engine.finish and engine._process.poll() is None:
                    engine._process.terminate()
                self.log = engine.close()
            for sock in (*(c.sock for c in self.channels), self.listener, rtp):
                sock.close()
            ports.close()

    def report(self, folder, why):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"dialogs-{self.first}.txt"
        text = "".join(f"\n==== dialog {n}\n{data.decode('latin-1')}\n" for n, data in self.sent)
        path.write_text(f"{why}\n\n==== the engine\n{self.log}\n{text}", errors="replace")
        print(f"{why}\n{self.log[-6000:]}\nrepeat: --first {self.first} --count {self.count}; messages: {path}")


if __name__ == "__main__":
    sys.exit(run_batches(__doc__, "dialogs", BATCH, Batch))

"""How a call ended against the verdict of its run: the table of docs/conditions.md, each row
executed by both daemons against a peer that does what the row says."""
import concurrent.futures
import json
import re
import select
import socket
import subprocess
import threading
import time

import pytest

from adversary import Message, Peer, tag, uri
from bench import Bench
from fake_agent import FakeAgent, evidence
from peers import ROOT
from ports import PortBlock

UP = ["assert_established", "30000"]
REFUSED_TIMER = ["Require: timer", "Session-Expires: 2;refresher=uas"]
PATIENCE_S = 120


class Party(Peer):
    """Plays one side of a run's call, then answers what belongs to the end of it."""

    def __init__(self, script, callee_port=None):
        self.callee_port = callee_port
        super().__init__(script or (lambda peer: None))
        self.transport = "tcp" if script is connection_lost else "udp"
        self._listener, self._tcp, self._stream = None, None, b""
        if self.transport == "tcp":
            self._listener = socket.create_server(("127.0.0.1", self.port))
        self.plays, self.rtp_port = bool(script), self._rtp.getsockname()[1]
        self.notified, self.echo, self.over = None, None, threading.Event()

    def _run(self):
        super()._run()
        while not self.over.is_set():
            message = self.receive(0.1)
            if message and message.method == "REGISTER":
                self.registered(message)
            elif message and message.method in ("BYE", "CANCEL"):
                self.reply(message, 200)

        if self.echo:
            self.echo.join()

    # ---- over TCP, where the run's target says so ----

    def disconnect(self):
        self._tcp.close()
        self._listener.close()

    def receive(self, seconds):
        if not self._listener:
            return super().receive(seconds)
        end = time.monotonic() + seconds
        while b"\r\n\r\n" not in self._stream or not self._whole():
            source = self._tcp or self._listener
            if source.fileno() < 0 or \
                    not select.select([source], [], [], max(0, end - time.monotonic()))[0]:
                return None
            if not self._tcp:
                self._tcp, self.to = self._listener.accept()
            else:
                self._stream += self._tcp.recv(65536)
        length = self._whole()
        data, self._stream = self._stream[:length], self._stream[length:]
        return Message(data)

    def _whole(self):
        """@return the length of the first message; 0: a part is missing"""
        head, _, body = self._stream.partition(b"\r\n\r\n")
        length = int(Message(head).get("Content-Length") or 0)
        return len(head) + 4 + length if len(body) >= length else 0

    def send(self, text):
        if not self._listener:
            return super().send(text)
        return self._tcp.sendall(text.encode())

    # ---- called by hand ----

    def registered(self, request):
        self.reply(request, 200, contact=False,
                   headers=[f"Contact: {request.get('Contact')};expires=60"])

    def registrar(self):
        """Take the registration of the role. @return (user, port) to call it at"""
        request = self.expect("REGISTER")
        self.registered(request)
        found = re.search(r"sip:([^@]+)@127\.0\.0\.1:(\d+)", request.get("Contact"))
        return found[1], int(found[2])

    def ring_them(self, body=None, headers=()):
        """INVITE until they take calls. @return (its branch, the answer: 180 or a final one)"""
        user, port = self.registrar()
        return self.invite(user, port, body, headers)

    def invite(self, user, port, body=None, headers=()):
        while True:
            self.fresh(user, port)
            branch, answer = None, None
            while not answer or answer.code in (0, 100):
                if not answer:   # again, as UDP asks for: perhaps it does not listen yet
                    self.cseq -= branch is not None
                    branch = self.request("INVITE", headers, self.sdp if body is None else body,
                                          branch=branch)
                answer = self.receive(0.3)
            if answer.code != 480:
                self.remote = answer.get("To")
                return branch, answer
            self.request("ACK", branch=branch, cseq=self.cseq)
            time.sleep(0.1)

    def call_them(self, body=None, ack_body="", headers=()):
        """A call up to its ACK."""
        _, answer = self.ring_them(body, headers)
        if answer.code < 200:
            answer = self.expect("SIP/2.0 200")
        self.established(answer, ack_body)

    def established(self, answer, ack_body=""):
        self.remote, self.target = answer.get("To"), uri(answer.get("Contact"))
        self.request("ACK", cseq=self.cseq, body=ack_body)

    def hang_up(self):
        self.request("BYE")
        self.expect("SIP/2.0 200")

    def end(self, code=200):
        """They hang up; answer."""
        self.reply(self.expect("BYE"), code)


# ---- calls that are placed: what the peer does ----

def takes(peer):
    peer.called()
    peer.end()


def refuses_bye(peer):
    peer.called()
    peer.end(481)


def ignores_bye(peer):
    peer.called()
    while not peer.over.is_set():
        peer.receive(0.1)


def hangs_up(peer):
    peer.called()
    peer.hang_up()


def transferred(peer):
    peer.called()
    peer.reply(peer.expect("REFER"), 202)
    for state, line in (("active", "100 Trying"), ("terminated;reason=noresource", "200 OK")):
        peer.request("NOTIFY", headers=["Event: refer", f"Subscription-State: {state}"],
                     body=f"SIP/2.0 {line}\r\n", kind="message/sipfrag")
        peer.expect("SIP/2.0 200")
    peer.hang_up()


def never_refreshes(peer):
    peer.called(headers=REFUSED_TIMER)
    peer.end()


def answers_in_dialog(method, code, body=""):
    def script(peer):
        peer.called()
        peer.reply(peer.expect(method), code, body=body)
        if method == "INVITE":
            peer.expect("ACK")
        peer.end()
    return script


def says_nothing(peer):
    peer.called()
    peer.end()


def late_offer_within(peer):
    """Their re-INVITE has no SDP, and its ACK does not answer our offer."""
    peer.called()
    peer.request("INVITE")
    answer = peer.expect("SIP/2.0 200")
    assert "m=audio" in answer.body, answer.text
    peer.request("ACK", cseq=peer.cseq)
    peer.end()


def no_ack_within(peer):
    peer.called()
    peer.request("INVITE", body=peer.sdp)
    while not (message := peer.expect("SIP/2.0", "BYE")).method == "BYE":
        assert message.code == 200, message.text
    peer.reply(message, 200)


def dtls_that_never_comes(peer):
    fingerprint = ":".join(["AB"] * 32)
    peer.called(body=peer.sdp.replace("RTP/AVP", "UDP/TLS/RTP/SAVP") +
                f"a=fingerprint:sha-256 {fingerprint}\r\na=setup:passive\r\na=rtcp-mux\r\n")
    peer.end()


def ice_that_leads_nowhere(peer):
    """Its one candidate answers nothing."""
    port = re.search(r"m=audio (\d+)", peer.sdp)[1]
    peer.called(body=peer.sdp + "a=ice-ufrag:adve\r\na=ice-pwd:adversaryadversaryadver\r\n"
                f"a=rtcp-mux\r\na=candidate:1 1 UDP 2130706431 127.0.0.1 {port} typ host\r\n"
                f"a=candidate:1 2 UDP 2130706430 127.0.0.1 {port} typ host\r\n")
    peer.end()


def connection_lost(peer):
    """Over TCP; after the ACK nobody listens any more."""
    peer.called(contact=False, headers=[
        f"Contact: <sip:adv@127.0.0.1:{peer.port};transport=tcp>"])
    peer.disconnect()


def final(code, *headers):
    def script(peer):
        peer.reply(peer.expect("INVITE"), code, contact=False, headers=headers)
        peer.expect("ACK")
    return script


def rings(peer):
    invite = peer.expect("INVITE")
    peer.reply(invite, 180)
    peer.reply(peer.expect("CANCEL"), 200)
    peer.reply(invite, 487, contact=False)
    peer.expect("ACK")


def silent(peer):
    peer.expect("INVITE")


def no_contact(peer):
    peer.reply(peer.expect("INVITE"), 200, body=peer.sdp, contact=False)


def unusable(body):
    def script(peer):
        peer.called(body=body(peer))
        peer.end()
    return script


def picked_up(peer):
    """While their call rings another one replaces it (RFC 3891)."""
    user, port = peer.registrar()
    invite = peer.expect("INVITE")
    peer.reply(invite, 180)
    old, their_tag = invite.get("Call-ID"), tag(invite.get("From"))
    replaces = f"Replaces: {old};to-tag={their_tag};from-tag={peer.tag};early-only"
    peer.fresh(user, port)
    peer.request("INVITE", body=peer.sdp, headers=["Require: replaces", replaces])
    answer = peer.expect("SIP/2.0 200")
    while answer.get("CSeq").split()[-1] != "INVITE":
        answer = peer.expect("SIP/2.0 200")
    peer.established(answer)
    peer.reply(peer.expect("CANCEL"), 200)
    peer.reply(invite, 487, contact=False)
    peer.hang_up()


# ---- calls that are taken ----

def stays(peer):
    peer.call_them()
    peer.end()


def stays_not(peer):
    peer.call_them()
    peer.hang_up()


def replaced(peer):
    """Another call takes the place of the one that is up."""
    user, port = peer.registrar()
    peer.established(peer.invite(user, port)[1] and peer.expect("SIP/2.0 200"))
    replaces = (f"Replaces: {peer.call_id};to-tag={tag(peer.remote)};"
                f"from-tag={tag(peer.mine)}")
    peer.fresh(user, port)
    peer.request("INVITE", body=peer.sdp, headers=["Require: replaces", replaces])
    peer.established(peer.final("INVITE"))
    peer.end()
    peer.hang_up()


def late_offer_within_theirs(peer):
    peer.call_them()
    peer.request("INVITE")
    peer.established(peer.final("INVITE"))
    peer.end()


def is_refused(*codes):
    def script(peer):
        branch, answer = peer.ring_them()
        while answer.code < 200:
            answer = peer.expect("SIP/2.0 ")
        assert answer.code in codes, answer.text
        peer.request("ACK", branch=branch, cseq=peer.cseq)
    return script


def gives_up(peer):
    branch, answer = peer.ring_them()
    assert answer.code == 180, answer.text
    peer.remote = f"<{peer.target}>"
    peer.request("CANCEL", branch=branch, cseq=peer.cseq)
    answer = peer.expect("SIP/2.0 487")
    peer.remote = answer.get("To")
    peer.request("ACK", branch=branch, cseq=peer.cseq)


def is_not_understood(peer):
    branch, answer = peer.ring_them(body=peer.sdp.replace("0 8", "18"))
    while answer.code < 200:
        answer = peer.expect("SIP/2.0 ")
    assert answer.code == 488, answer.text
    peer.request("ACK", branch=branch, cseq=peer.cseq)


def never_acknowledges(peer):
    peer.ring_them()
    while not (message := peer.expect("SIP/2.0", "BYE")).method == "BYE":
        peer.remote = message.get("To")
    peer.reply(message, 200)


def never_sends_prack(peer):
    """Their 183 must be acknowledged."""
    peer.ring_them(headers=["Supported: 100rel"])
    peer.expect("SIP/2.0 504")


def ack_without_answer(peer):
    peer.call_them(body="")
    peer.end()


def bye_for_ack(peer):
    _, answer = peer.ring_them()
    answer = answer if answer.code == 200 else peer.expect("SIP/2.0 200")
    peer.remote, peer.target = answer.get("To"), uri(answer.get("Contact"))
    peer.hang_up()


def two_calls(peer):
    user, port = peer.registrar()
    peer.established(peer.invite(user, port)[1] and peer.expect("SIP/2.0 200"))
    kept = peer.call_id, peer.tag, peer.target, peer.remote, peer.mine
    branch, answer = peer.invite(user, port)
    assert answer.code == 486, answer.text
    peer.request("ACK", branch=branch, cseq=peer.cseq)
    peer.call_id, peer.tag, peer.target, peer.remote, peer.mine = kept
    peer.hang_up()


def refers(then):
    """Their call, which refers the role to ourselves. then(peer, the new INVITE)"""
    def script(peer):
        peer.call_them()
        first = peer.call_id, peer.tag, peer.target, peer.remote, peer.mine
        peer.request("REFER", headers=[f"Refer-To: <sip:third@127.0.0.1:{peer.port}>"])
        invite = None
        while not invite or peer.notified is None:
            message = peer.expect("SIP/2.0 202", "NOTIFY", "INVITE")
            if message.method == "NOTIFY":
                peer.reply(message, 200)
                peer.notified = message
            elif message.method == "INVITE":
                invite = message
        then(peer, invite)
        peer.call_id, peer.tag, peer.target, peer.remote, peer.mine = first
        peer.cseq += 1
        peer.hang_up()
    return script


def busy(peer, invite):
    peer.reply(invite, 486, contact=False)
    peer.expect("ACK")


def breaks_off(peer, invite):
    """Their new call is up, then a late offer within it is not answered."""
    peer.remote, peer.target = invite.get("From"), uri(invite.get("Contact"))
    peer.call_id, peer.mine = invite.get("Call-ID"), invite.get("To") + f";tag={peer.tag}"
    peer.reply(invite, 200, body=peer.sdp)
    peer.expect("ACK")
    peer.request("INVITE")
    while (answer := peer.expect("SIP/2.0 200", "NOTIFY")).method == "NOTIFY":
        peer.reply(answer, 200)
    peer.request("ACK", cseq=peer.cseq)
    while (message := peer.expect("BYE", "NOTIFY")).method == "NOTIFY":
        peer.reply(message, 200)
    peer.reply(message, 200)


# ---- the table ----

def placed(row, script, ends, words="", **more):
    """ends: "END" or "END, unexpected" of each call of the role."""
    action = {"type": "call", "role": "caller", "dial_destination": "1002",
              "call_duration": "0.3", **more}
    return row, "caller", [[action]], script, ends, words


def taken(row, script, ends, words="", wait_ms=4000, **more):
    return (row, "callee", [[{"type": "register", "role": "callee"},
                             {"type": "answer", "role": "callee", **more}],
                            [{"type": "wait", "role": "callee", "wait_ms": wait_ms}]],
            script, ends, words)


def actions(*more):
    return {"call_duration": "30", "sipclient_actions": [list(a) for a in more]}


LONG = {"call_duration": "60"}
WITHIN = "the answer to an offer within the call"
LOST = "408, 481 or no answer"
CASES = {
    "its duration": placed("`call_duration` over", takes, "local"),
    "hung up by the script": placed("`call_duration` over", takes, "local",
                                    **actions(UP, ("hangup",))),
    "the end of the last step": taken("`call_duration` over", stays, "local"),
    "BYE to the caller": placed("BYE of the peer", hangs_up, "remote", **LONG),
    "BYE to the callee": taken("BYE of the peer", stays_not, "remote"),
    "a script cut off by a BYE": placed(
        "BYE of the peer", hangs_up, "remote",
        "hold  did not hold in call caller-1: the call ended before it was carried out",
        **actions(UP, ("wait", "20000"), ("hold",))),
    "BYE refused": placed("our BYE is refused", refuses_bye, "local"),
    "BYE not answered": placed("our BYE is refused", ignores_bye, "local"),
    "replaced": taken("replaced by another call (RFC 3891); tr", replaced, "local, remote"),
    "transferred": placed("replaced by another call (RFC 3891); tr", transferred, "remote",
                          **actions(UP, ("transfer", "1003"))),
    "session timer": placed("the session timer expired", never_refreshes, "failed, unexpected",
                            "was established, but failed (the session timer expired: no "
                            "refresh within 2 s", session_timer=2, session_refresher="uas",
                            **LONG),
    "re-INVITE answered without SDP": placed(
        WITHIN, answers_in_dialog("INVITE", 200), "failed, unexpected",
        "but failed (the answer to our re-INVITE has no SDP)", **actions(UP, ("reinvite",))),
    "UPDATE answered without SDP": placed(
        WITHIN, answers_in_dialog("UPDATE", 200), "failed, unexpected",
        "but failed (the answer to our UPDATE has no SDP)", **actions(UP, ("update",))),
    "late offer to the caller": placed(
        WITHIN, late_offer_within, "failed, unexpected",
        "but failed (the ACK has no SDP to answer our offer)", **LONG),
    "late offer to the callee": taken(
        WITHIN, late_offer_within_theirs, "failed, unexpected",
        "callee-1 from sip:adv@127.0.0.1:PORT was established, but failed (the ACK has no SDP "
        "to answer our offer)"),
    "481 within": placed(LOST, answers_in_dialog("OPTIONS", 481), "failed, unexpected",
                         "but failed (481 481 to our OPTIONS)", **actions(UP, ("options",))),
    "408 within": placed(LOST, answers_in_dialog("MESSAGE", 408), "failed, unexpected",
                         "but failed (408 408 to our MESSAGE)",
                         **actions(UP, ("message", "hello"))),
    "481 to a re-INVITE": placed(LOST, answers_in_dialog("INVITE", 481), "failed, unexpected",
                                 "but failed (481 ", **actions(UP, ("reinvite",))),
    "connection lost": placed(LOST, connection_lost, "failed, unexpected",
                              "but failed (no answer to our OPTIONS)",
                              **actions(UP, ("wait", "500"), ("options",))),
    "no answer within": placed(LOST, says_nothing, "failed, unexpected",
                               "but failed (no answer to our OPTIONS)",
                               call_duration="60", sipclient_actions=[UP, ["options", ""]]),
    "no ACK within": placed("no ACK to a 200 of ours to a re-INVITE", no_ack_within,
                            "failed, unexpected", "but failed (no ACK for our 200 OK within 32 s)",
                            **LONG),
    "DTLS": placed("DTLS or ICE failed", dtls_that_never_comes, "failed, unexpected",
                   "was established, but failed (", media_encryption="dtls", **LONG),
    "ICE": placed("DTLS or ICE failed", ice_that_leads_nowhere, "failed, unexpected",
                  "was established, but failed (", media_nat="ice", **LONG),
    "STUN": placed("the STUN or TURN server cannot", None, "failed, unexpected",
                   "was not established (", media_nat="stun", stun_server="127.0.0.1:SILENT"),
    "busy": placed("3xx that is not followed", final(486), "rejected, unexpected",
                   "was not established (486 "),
    "redirected": placed("3xx that is not followed", final(302, "Contact: <sip:x@127.0.0.1:9>"),
                         "rejected, unexpected", "was not established (302 ", max_redirects=0),
    "rings for ever": placed("no final answer within", rings, "failed, unexpected",
                             "was not established (487 no final answer within 1 s)", ring_timeout=1),
    "refused by the network": placed("no final answer within", None, "failed, unexpected",
                                     "was not established (connection refused by"),
    "the answer has no SDP": placed("the answer cannot be used", unusable(lambda p: ""),
                                    "failed, unexpected",
                                    "was not established (the answer has no SDP)"),
    "port 0": placed("the answer cannot be used",
                     unusable(lambda p: re.sub(r"m=audio \d+", "m=audio 0", p.sdp)),
                     "failed, unexpected", "was not established ("),
    "no Contact": placed("the answer cannot be used", no_contact, "failed, unexpected",
                         "was not established (the 2xx to INVITE has no usable"),
    "cancelled": placed("cancelled by us", rings, "cancelled, unexpected",
                        "was not established (487 cancelled by us)",
                        **actions(("assert_state", "CALL_RINGING"), ("hangup",))),
    "picked up": ("replaced by another call while it rang", "caller", [
        [{"type": "register", "role": "caller"}, {"type": "answer", "role": "caller"}],
        [{"type": "call", "role": "caller", "dial_destination": "1002"}]], picked_up,
        "cancelled, unexpected, remote", "was not established (487 replaced by another call)"),
    "answer_code": taken("refused as told", is_refused(486), "rejected", answer_code=486),
    "answer_code 302": taken("refused as told", is_refused(302), "rejected", answer_code=302,
                             answer_contact="sip:1003@127.0.0.1"),
    "reject": taken("refused as told", is_refused(480), "rejected",
                    sipclient_actions=[["reject", "480"]]),
    "redirect": taken("refused as told", is_refused(302), "rejected",
                      sipclient_actions=[["redirect", "sip:1003@127.0.0.1"]]),
    "hung up before the answer": taken("refused as told", is_refused(603), "rejected",
                                       answer_delay=60000, sipclient_actions=[["hangup", ""]]),
    "ring_only, CANCEL": taken("`ring_only`", gives_up, "cancelled", ring_only=1),
    "ring_only to the end": taken("`ring_only`", is_refused(603), "rejected", ring_only=1),
    "the caller gives up": taken("cancelled by the caller before", gives_up,
                                 "cancelled, unexpected",
                                 "from sip:adv@127.0.0.1:PORT was not established (487 ",
                                 answer_delay=60000),
    "488": taken("refused by us for its offer", is_not_understood, "rejected, unexpected",
                 "was not established (488 no common codec"),
    "answered too late": taken("the job ended before", is_refused(603), "rejected, unexpected",
                               "was not established (603 Decline", answer_delay=60000),
    "no ACK": taken("no ACK to our 200 within 32 s", never_acknowledges, "failed, unexpected",
                    "was not established (no ACK for our 200 OK within 32 s)", wait_ms=38000),
    "no PRACK": taken("no ACK to our 200 within 32 s", never_sends_prack, "failed, unexpected",
                      "was not established (504 no PRACK", wait_ms=38000, prack="supported",
                      sipclient_actions=[["sndcode", "183"]], answer_delay=1000),
    "no answer in the ACK": taken("no ACK to our 200 within 32 s", ack_without_answer,
                                  "failed, unexpected",
                                  "was not established (the ACK has no SDP to answer our offer)"),
    "BYE for ACK": taken("a BYE instead of the ACK", bye_for_ack, "remote, unexpected",
                         "was not established (hung up by the peer)"),
    "re-INVITE refused": placed("re-INVITE or UPDATE of the script refused",
                                answers_in_dialog("INVITE", 488), "local",
                                "reinvite  did not hold in call caller-1: was refused: 488",
                                call_duration="1", sipclient_actions=[UP, ["reinvite", ""]]),
    "too many": taken("above `max_total_calls`", two_calls, "remote", max_total_calls=1),
    "transferred to a busy one": taken("placed for the transfer of another call (`placed_for`) "
                                       "and not", refers(busy), "remote, rejected, unexpected"),
    "a stream": ("a `stream` action's duration", "caller", [[
        {"type": "stream", "role": "caller", "dial_destination": "127.0.0.1:RTP_OF_PEER",
         "call_duration": "0.3"}]], None, "local", ""),
    "transferred, then dropped": taken("placed for the transfer of another call and dropped",
                                       refers(breaks_off), "remote, failed, unexpected",
                                       "was established, but failed (the ACK has no SDP"),
}
# rows that take another way than a run with a peer of raw messages
OTHERS = {"the run was stopped by a user", "`max_duration` over",
          "the agent never accounted"}


def table():
    """{first cell: other cells} of the table of ends"""
    text = (ROOT / "docs" / "conditions.md").read_text()
    section = text.split("\n## How a call ended\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in section.splitlines() if line.startswith("| ")][1:]
    return {row[0]: row[1:] for row in rows if not row[0].startswith("**")}


def row_of(start):
    found = [cells for first, cells in table().items() if first.startswith(start)]
    assert len(found) == 1, (start, found)
    return found[0]


def test_every_row_is_executed():
    starts = {case[0] for case in CASES.values()} | OTHERS
    for first in table():
        assert [s for s in starts if first.startswith(s)], first
    for start in starts:
        row_of(start)


class Lab:
    """Runs of one controller and one agent, several at a time."""

    def __init__(self, folder):
        self.ports = PortBlock()
        self.bench = Bench(folder, self.ports, proxy=False,
                           agent_conf={"capacity": 24}).__enter__()

    def close(self):
        self.bench.__exit__(None, None, None)
        self.ports.close()

    def test(self, role, steps, peer, conditions):
        steps = json.loads(json.dumps(steps).replace("SILENT", str(self.ports.silent))
                           .replace("RTP_OF_PEER", str(peer.rtp_port)))
        target = self.bench.target(peer.port if peer.plays else self.ports.silent,
                                   peer.transport)
        users = self.bench.callers if role == "caller" else self.bench.callees
        for action in (a for step in steps for a in step):
            if action["type"] in ("register", "call"):
                action.update(target_pool=target, credential_pool=users)
        return self.bench.api("POST", "/tests", {
            "name": f"test {target}", "project_id": self.bench.project_id,
            "agentpool_id": self.bench.pool_id, "record": "sip", "steps": steps,
            "conditions": list(conditions)})["test"]["id"]

    def run(self, role, steps, script, conditions=(), meanwhile=None):
        """@return (run object, its calls by name, the peer that failed nowhere)"""
        with Party(script) as peer:
            try:
                test = self.test(role, steps, peer, conditions)
                session = self.bench.start(test)
                if meanwhile:
                    meanwhile(peer, session)
                run = self.bench.wait(session, PATIENCE_S)
                calls = sorted(self.bench.report(session)["calls"], key=lambda c: c["call"])
            finally:
                peer.over.set()
        assert peer.failure is None
        return run, calls, peer

    def case(self, name):
        _, role, steps, script, _, _ = CASES[name]
        return self.run(role, steps, script)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    lab = Lab(tmp_path_factory.mktemp("ends"))
    yield lab
    lab.close()


@pytest.fixture(scope="module")
def runs(lab, request):
    wanted = {item.callspec.params["name"] for item in request.session.items
              if item.originalname == "test_verdict" and item.module is request.module}
    slow = ("no ACK", "no PRACK", "no answer within", "no ACK within", "DTLS", "ICE", "STUN")
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        yield {name: pool.submit(lab.case, name)
               for name in sorted(wanted, key=lambda n: n not in slow)}


def said(ends):
    """[(end, expected_end)] of "local, failed, unexpected" """
    found = []
    for word in ends.split(", "):
        if word == "unexpected":
            found[-1] = (found[-1][0], False)
        else:
            found.append((word, True))
    return found


@pytest.mark.parametrize("name", CASES)
def test_verdict(runs, name):
    start, _, _, _, ends, words = CASES[name]
    run, calls, peer = runs[name].result()
    assert [(c["end"], c["expected_end"]) for c in calls] == said(ends), calls
    assert run["status"] == ("failed" if words else "passed"), run["result_description"]
    assert words.replace("PORT", str(peer.port)) in run["result_description"]
    # the row says the same
    end, expected, verdict = row_of(start)
    if end in ("as it ends later", "no `call` event"):
        return
    assert set(said(ends)) & {(e, x == "true") for e in end.split(", ")
                              for x in expected.split(", ")}, (end, expected)
    if words and "did not hold" not in words:
        assert verdict.startswith("fails"), verdict
    else:
        assert not verdict.startswith("fails"), verdict


# ---- rows that are no peer's doing ----

def test_stopped_by_a_user(lab):
    def stop(peer, session):
        while lab.bench.api("GET", f"/runs/{session}")["run"]["phase"] != "running" or \
                not peer.target:
            time.sleep(0.05)
        lab.bench.api("POST", f"/runs/{session}/stop")

    _, role, steps, script, _, _ = placed("", takes, "", **LONG)
    run, _, _ = lab.run(role, steps, script, meanwhile=stop)
    assert (run["status"], run["is_failed"], run["has_passed"]) == ("stopped", 0, 0)
    assert row_of("the run was stopped by a user")[2].startswith("`stopped`")


def test_max_duration_and_a_call_nobody_accounted_for(tmp_path, ports):
    with Bench(tmp_path, ports, proxy=False, max_duration_s=2) as bench:
        lab = Lab.__new__(Lab)
        lab.bench, lab.ports = bench, ports
        _, role, steps, script, _, _ = placed("", takes, "", **LONG)
        run, calls, _ = lab.run(role, steps, script)
        assert [(c["end"], c["expected_end"]) for c in calls] == [("local", True)]
        assert run["status"] == "failed"
        assert "did not end within max_duration (2 s)" in run["result_description"]

        pool = bench.api("POST", "/agent-pools", {"name": "fake"})["agent_pool"]
        fake = FakeAgent(bench.controller, pool["join_token"], "fake")
        test = bench.api("POST", "/tests", {
            "name": "unaccounted", "project_id": bench.project_id, "agentpool_id": pool["id"],
            "steps": [[{"type": "answer", "role": "callee"}]]})["test"]["id"]
        session = bench.start(test)
        job = fake.jobs(1)["callee"]
        assert fake.start(job).ok
        assert fake.barrier(job, 0).ok
        states = [{**evidence(), "kind": "state", "state": state, "account": "1002",
                   "call": "callee-1"} for state in ("CALL_INCOMING", "CALL_ESTABLISHED")]
        assert fake.upload(job, "events", states + [evidence()]).ok
        assert fake.finish(job).ok
        run = bench.wait(session)
        assert run["status"] == "failed"
        assert "the agent never accounted for it" in run["result_description"]


# ---- conditions that replace the rule ----

def condition(kind, *items):
    return [{"role": "caller", "condition_type": f"caller-{kind}-conditions",
             "conditions": list(items)}]


HEADER = condition("sip", {"direction": "sent", "cseq": "INVITE", "method": "INVITE",
                           "field": "header", "header": "User-Agent", "type": "ispresent"})
BUSY = condition("sip", {"direction": "received", "cseq": "INVITE", "method": "486",
                         "field": "message", "type": "ispresent"})
PDD = condition("postdial-delay", {"type": "le", "value": "60000"})
FAILED = condition("sipclient-state", {"type": "has", "state": "CALL_FAILED"})
DROPPED = condition("call-count", {"count": "dropped", "type": "eq", "value": "1"})


@pytest.mark.parametrize("script, conditions, passes", [
    (late_offer_within, HEADER, False), (late_offer_within, PDD, False),
    (late_offer_within, FAILED, True), (late_offer_within, DROPPED, True),
    (final(486), HEADER, False), (final(486), BUSY, True)],
    ids=["a header", "the PDD", "CALL_FAILED", "dropped calls", "a header of a busy call",
         "the final response"])
def test_conditions(lab, script, conditions, passes):
    _, role, steps, _, _, _ = placed("", script, "", **LONG)
    run, _, _ = lab.run(role, steps, script, conditions)
    assert run["status"] == ("passed" if passes else "failed"), run["result_description"]
    assert ("ACK has no SDP" in run["result_description"] or
            "486" in run["result_description"]) != passes


def test_a_scenario(lab):
    """single-call-caller asks for CALL_ESTABLISHED; the call breaks off after that."""
    with Party(late_offer_within) as peer:
        try:
            data = lab.bench.api("POST", "/tests/scenarios/single-call-caller", {
                "agentpool_id": lab.bench.pool_id, "target": f"127.0.0.1:{peer.port}",
                "username": "1001", "password": "x", "dial_destination": "1002", "register": 0,
                "duration": "60", "conditions": [
                    {"role": "caller", "condition_type": "caller-mos-conditions",
                     "conditions": []}]})["data"]
            run = lab.bench.wait(data["session_id"])
        finally:
            peer.over.set()
    assert peer.failure is None
    assert run["status"] == "failed"
    assert "reached CALL_FAILED, expected not" in run["result_description"]


# ---- the command line ----

def echo(peer):
    """What it gets it sends back, as a source of its own."""
    while not peer.over.is_set():
        if select.select([peer._rtp], [], [], 0.02)[0]:
            data, source = peer._rtp.recvfrom(2048)
            peer._rtp.sendto(data[:8] + b"echo" + data[12:], source)


def talks(script):
    """The script, with audio both ways."""
    def with_audio(peer):
        peer.echo = threading.Thread(target=echo, args=(peer,), daemon=True)
        peer.echo.start()
        script(peer)
    return with_audio


def offhook(build, command, *arguments):
    """@return (exit status, the JSON object it printed)"""
    done = subprocess.run([build / "offhook", command, *map(str, arguments), "--json"],
                          text=True, capture_output=True, timeout=PATIENCE_S)
    assert done.stderr == "" and done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


def after_audio(then):
    """A call of `offhook call`, half a second of audio, then what the script does."""
    def script(peer):
        peer.called()
        time.sleep(0.5)
        then(peer)
    return talks(script)


def offers_late(peer):
    peer.request("INVITE")
    peer.final("INVITE")
    peer.request("ACK", cseq=peer.cseq)
    peer.end()


@pytest.mark.parametrize("then, end, passes, words", [
    (offers_late, "failed", False,
     "was established, but ended failed: the ACK has no SDP to answer our offer"),
    (Party.hang_up, "remote", True, "audio flowed both ways")], ids=["late offer", "BYE"])
def test_offhook_call(build, ports, then, end, passes, words):
    with Party(after_audio(then)) as peer:
        status, result = offhook(build, "call", f"sip:1002@127.0.0.1:{peer.port}", "--duration",
                                 20, "--rtp-ports", "{}-{}".format(*ports.rtp))
        peer.over.set()
    assert peer.failure is None
    assert [c["end"] for c in result["calls"]] == [end]
    assert words in result["reason"], result["reason"]
    assert (status, result["passed"], result["errored"]) == (0 if passes else 1, passes, False)


def calls(then, body=None):
    """A call to `offhook answer`, half a second of audio, then what the script does."""
    def script(peer):
        then(peer, *peer.invite("bob", peer.callee_port, body))
    return talks(script)


def late_within(peer, _, answer):
    peer.established(answer if answer.code == 200 else peer.expect("SIP/2.0 200"))
    time.sleep(0.5)
    offers_late(peer)


def late_from_the_start(peer, _, answer):
    peer.established(answer if answer.code == 200 else peer.expect("SIP/2.0 200"))
    peer.end()


def leaves(peer, _, answer):
    peer.established(answer if answer.code == 200 else peer.expect("SIP/2.0 200"))
    time.sleep(0.5)
    peer.hang_up()


def takes_no(peer, branch, answer):
    while answer.code < 200:
        answer = peer.expect("SIP/2.0 ")
    assert answer.code == 486, answer.text
    peer.request("ACK", branch=branch, cseq=peer.cseq)


@pytest.mark.parametrize("then, body, options, end, passes, words", [
    (late_within, None, (), "failed", False,
     "was established, but ended failed: the ACK has no SDP to answer our offer"),
    (late_from_the_start, "", (), "failed", False,
     "was not established (failed): the ACK has no SDP to answer our offer"),
    (leaves, None, (), "remote", True, "audio flowed both ways"),
    (takes_no, None, ("--actions", '[["reject", "486"]]'), "rejected", True,
     "1 call was refused, as asked")],
    ids=["late offer within", "late offer", "BYE", "rejected as asked"])
def test_offhook_answer(build, ports, then, body, options, end, passes, words):
    with Party(calls(then, body), ports.sip) as peer:
        status, result = offhook(build, "answer", "--bind", "127.0.0.1", "--user", "bob",
                                 "--sip-port", ports.sip, "--rtp-ports",
                                 "{}-{}".format(*ports.rtp), *options)
        peer.over.set()
    assert peer.failure is None
    assert [c["end"] for c in result["calls"]] == [end]
    assert words in result["reason"], result["reason"]
    assert (status, result["passed"], result["errored"]) == (0 if passes else 1, passes, False)

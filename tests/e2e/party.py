"""A peer of one call that places, answers or ends it as a script says; for
test_call_ends.py."""
import re
import select
import socket
import threading
import time

from adversary import Message, Peer, tag, uri

REFUSED_TIMER = ["Require: timer", "Session-Expires: 2;refresher=uas"]


class Party(Peer):
    """Plays one side of a run's call, then answers the requests at its end."""

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

    # ---- over TCP, if the run's target says so ----

    def disconnect(self):
        self._tcp.close()
        self._listener.close()

    def receive(self, seconds):
        if not self._listener:
            return super().receive(seconds)
        end = time.monotonic() + seconds
        while b"\r\n\r\n" not in self._stream or not self._whole():
            source, left = self._tcp or self._listener, max(0, end - time.monotonic())
            if source.fileno() < 0:
                time.sleep(left)
                return None
            if not select.select([source], [], [], left)[0]:
                return None
            if not self._tcp:
                self._tcp, self.to = self._listener.accept()
            elif data := self._tcp.recv(65536):
                self._stream += data
            else:
                self.disconnect()
        length = self._whole()
        data, self._stream = self._stream[:length], self._stream[length:]
        return Message(data)

    def _whole(self):
        """@return the length of the first message; 0: it is incomplete"""
        head, _, body = self._stream.partition(b"\r\n\r\n")
        length = int(Message(head).get("Content-Length") or 0)
        return len(head) + 4 + length if len(body) >= length else 0

    def send(self, text):
        if not self._listener:
            return super().send(text)
        return self._tcp.sendall(text.encode())

    # ---- the role is called ----

    def registered(self, request):
        self.reply(request, 200, contact=False,
                   headers=[f"Contact: {request.get('Contact')};expires=60"])

    def registrar(self):
        """Accept the registration of the role. @return (user, port) to call it at"""
        request = self.expect("REGISTER")
        self.registered(request)
        found = re.search(r"sip:([^@]+)@127\.0\.0\.1:(\d+)", request.get("Contact"))
        return found[1], int(found[2])

    def ring_them(self, body=None, headers=()):
        """Repeat INVITE until the role answers calls. @return (its branch, the
        response: 180 or final)"""
        user, port = self.registrar()
        return self.invite(user, port, body, headers)

    def invite(self, user, port, body=None, headers=()):
        while True:
            self.fresh(user, port)
            branch, answer = None, None
            while not answer or answer.code in (0, 100):
                if not answer:   # retransmit: perhaps it does not listen yet
                    self.cseq -= branch is not None
                    branch = self.request("INVITE", headers, self.sdp if body is None else body,
                                          branch=branch)
                answer = self.receive(0.3)
            if answer.code not in (404, 480):   # it has no account yet, or takes no call yet
                self.remote = answer.get("To")
                return branch, answer
            self.request("ACK", branch=branch, cseq=self.cseq)
            time.sleep(0.1)

    def call_them(self, body=None, ack_body="", headers=()):
        """Place a call, up to its ACK."""
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
        """The role hangs up; answer its BYE."""
        self.reply(self.expect("BYE"), code)


# ---- calls that the role places: the peer's behaviour ----

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
    """The role's re-INVITE has no SDP, and its ACK does not answer our offer."""
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
    """ICE fails: the only candidate does not answer."""
    port = re.search(r"m=audio (\d+)", peer.sdp)[1]
    peer.called(body=peer.sdp + "a=ice-ufrag:adve\r\na=ice-pwd:adversaryadversaryadver\r\n"
                f"a=rtcp-mux\r\na=candidate:1 1 UDP 2130706431 127.0.0.1 {port} typ host\r\n"
                f"a=candidate:1 2 UDP 2130706430 127.0.0.1 {port} typ host\r\n")
    peer.end()


def connection_lost(peer):
    """Over TCP; after the ACK the peer stops listening."""
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


def no_contact(peer):
    peer.reply(peer.expect("INVITE"), 200, body=peer.sdp, contact=False)


def unusable(body):
    def script(peer):
        peer.called(body=body(peer))
        peer.end()
    return script


def picked_up(peer):
    """While the role's call rings, another call replaces it (RFC 3891)."""
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


# ---- calls that the role answers ----

def stays(peer):
    peer.call_them()
    peer.end()


def stays_not(peer):
    peer.call_them()
    peer.hang_up()


def replaced(peer):
    """Another call replaces the established one."""
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
    """The peer never acknowledges the role's reliable 183."""
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
    """The role's call, which is referred to ourselves. then(peer, the new INVITE)"""
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
    """The role's new call is established; then a late offer within it gets no answer."""
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

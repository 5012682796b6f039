"""A SIP peer that may break any rule: raw messages over UDP, no SIP library."""
import re
import select
import socket
import threading
import time
import uuid

PATIENCE_S = 40
SDP = ("v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
       "m=audio {port} RTP/AVP 0 8\r\n")


class Message:
    def __init__(self, data):
        self.data = data
        self.text = data.decode(errors="replace")
        head, _, self.body = self.text.partition("\r\n\r\n")
        self.start, *lines = head.split("\r\n")
        self.headers = [tuple(part.strip() for part in line.partition(":")[::2])
                        for line in lines]

    def all(self, name):
        return [v for n, v in self.headers if n.lower() == name.lower()]

    def get(self, name):
        return (self.all(name) or [""])[0]

    @property
    def method(self):
        return self.start.split(" ")[0]

    @property
    def code(self):
        return int(self.start.split(" ")[1]) if self.start.startswith("SIP/2.0 ") else 0


def tag(value):
    found = re.search(r";tag=([^;>]+)", value)
    return found[1] if found else ""


def uri(value):
    return re.search(r"<([^>]*)>", value)[1] if "<" in value else value.split(";")[0]


class Peer:
    """A peer on a free port of 127.0.0.1; its script runs in a thread of its own."""

    def __init__(self, script=None, to=None):
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._rtp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._rtp.bind(("127.0.0.1", 0))
        self.sdp = SDP.format(port=self._rtp.getsockname()[1])
        self.to = ("127.0.0.1", to) if to else None
        self.tag, self.call_id, self.cseq = "adv", uuid.uuid4().hex, 100
        self.target = self.remote = None
        self._numbers = {}   # method -> CSeq number of our last request
        self.failure = None
        self._script = script
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        if self._script:
            self._thread.start()
        return self

    def __exit__(self, *_):
        if self._script:
            self._thread.join(PATIENCE_S + 20)
        self._socket.close()
        self._rtp.close()

    def _run(self):
        try:
            self._script(self)
        except Exception as error:   # the test reports it as self.failure
            self.failure = f"{type(error).__name__}: {error}"

    # ---- raw ----

    def send(self, text):
        self._socket.sendto(text if isinstance(text, bytes) else text.encode(), self.to)

    def receive(self, seconds):
        if not select.select([self._socket], [], [], max(0, seconds))[0]:
            return None
        data, self.to = self._socket.recvfrom(65536)
        return Message(data)

    def expect(self, *starts, seconds=PATIENCE_S):
        """The next message that begins with this; others are skipped."""
        end = time.monotonic() + seconds
        while (message := self.receive(end - time.monotonic())) or time.monotonic() < end:
            if message and message.start.startswith(starts):
                return message
        raise AssertionError(f"nothing that begins with {starts} in {seconds} s")

    def final(self, method):
        """Wait for the final response to our last request of this method, not for one before that comes again."""
        wanted = [str(self._numbers[method]), method]
        while (answer := self.expect("SIP/2.0 ")).code < 200 or answer.get("CSeq").split() != wanted:
            pass
        return answer

    def never(self, start, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            message = self.receive(end - time.monotonic())
            if message:
                assert not message.start.startswith(start), message.text

    def echo(self, count):
        """Send that many RTP packets to the peer, with our own SSRC."""
        for _ in range(count):
            assert select.select([self._rtp], [], [], PATIENCE_S)[0], "no RTP"
            data, source = self._rtp.recvfrom(2048)
            if data[1] & 0x7f in (0, 8):
                self._rtp.sendto(data[:8] + b"echo" + data[12:], source)

    # ---- the peer is called ----

    def reply(self, request, code, phrase="x", headers=(), body="", contact=True, to_tag=None,
              kind="application/sdp", start=None, length=None, **replaced):
        """headers: header lines; replaced: values instead of the copied ones
        (Call_ID="x")."""
        to = request.get("To")
        mine = self.tag if to_tag is None else to_tag
        if code > 100 and mine and not tag(to):
            to += f";tag={mine}"
        copied = {"From": request.get("From"), "To": to, "Call-ID": request.get("Call-ID"),
                  "CSeq": request.get("CSeq")}
        copied.update({k.replace("_", "-"): v for k, v in replaced.items()})
        lines = [start or f"SIP/2.0 {code} {phrase}"] + [f"Via: {v}" for v in request.all("Via")]
        lines += [f"{k}: {v}" for k, v in copied.items() if v is not None]
        if contact and code < 300 and code != 100:
            lines.append(f"Contact: <sip:adv@127.0.0.1:{self.port}>")
        lines += headers
        if body:
            lines.append(f"Content-Type: {kind}")
        length = len(body) if length is None else length
        self.send("\r\n".join(lines + [f"Content-Length: {length}", "", body]))

    def remember(self, invite):
        """Store the dialog of this INVITE for later requests."""
        self.remote, self.target = invite.get("From"), uri(invite.get("Contact"))
        self.call_id = invite.get("Call-ID")
        self.mine = invite.get("To") + f";tag={self.tag}"

    def called(self, code=200, body=None, **more):
        """Answer a call, up to its ACK. @return the INVITE"""
        invite = self.expect("INVITE")
        self.remember(invite)
        self.reply(invite, code, body=self.sdp if body is None else body, **more)
        self.expect("ACK")
        return invite

    # ---- the peer calls ----

    def request(self, method, headers=(), body="", cseq=None, branch=None, target=None,
                to=None, mine=None, call_id=None, kind="application/sdp", length=None):
        """Send a request within the dialog of called() or dial(). @return its branch"""
        if cseq is None and method not in ("ACK", "CANCEL"):
            self.cseq += 1
        self._numbers[method] = self.cseq if cseq is None else cseq
        branch = branch or f"z9hG4bK{uuid.uuid4().hex}"
        lines = [f"{method} {target or self.target} SIP/2.0",
                 f"Via: SIP/2.0/UDP 127.0.0.1:{self.port};branch={branch};rport",
                 "Max-Forwards: 70", f"From: {mine or self.mine}", f"To: {to or self.remote}",
                 f"Call-ID: {call_id or self.call_id}",
                 f"CSeq: {self._numbers[method]} {method}",
                 f"Contact: <sip:adv@127.0.0.1:{self.port}>", *headers]
        if body:
            lines.append(f"Content-Type: {kind}")
        length = len(body) if length is None else length
        self.send("\r\n".join(lines + [f"Content-Length: {length}", "", body]))
        return branch

    def fresh(self, user, port):
        """Prepare a call to sip:user at the port. RTP that is left of a call before is none of it."""
        while select.select([self._rtp], [], [], 0)[0]:
            self._rtp.recv(2048)
        self.call_id, self.tag = uuid.uuid4().hex, uuid.uuid4().hex[:8]
        self.to = ("127.0.0.1", port)
        self.target = f"sip:{user}@127.0.0.1:{port}"
        self.remote = f"<{self.target}>"
        self.mine = f"<sip:adv@127.0.0.1:{self.port}>;tag={self.tag}"

    def dial(self, user, port, answer="SIP/2.0 200"):
        """Call and acknowledge the final response. @return the response"""
        self.fresh(user, port)
        branch = self.request("INVITE", body=self.sdp)
        final = self.expect(answer)
        self.remote = final.get("To")
        if final.code < 300:
            self.target, branch = uri(final.get("Contact")), None
        self.request("ACK", branch=branch, cseq=self.cseq)
        return final

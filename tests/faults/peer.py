"""The system under test of the fault matrix: a registrar and a user agent that counts what comes."""
import re
import select
import socket
import threading

FIELD = re.compile(r"^([A-Za-z-]+)\s*:\s*(.*?)\r?$", re.M)


class Peer:
    """with Peer() as p: ... p.invited is the Call-IDs of all INVITE requests outside of a dialog.

    hold_register: REGISTER is not answered; silent: nothing is. Received RTP is counted and sent back.
    """

    def __init__(self):
        self.sip = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.rtp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.rtp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        for sock in (self.sip, self.rtp):
            sock.bind(("127.0.0.1", 0))
        self.port = self.sip.getsockname()[1]
        self.hold_register = self.silent = False
        self.seen = []     # methods, retransmissions too
        self.invited = []  # (Call-ID, branch), each once
        self.packets = 0   # of RTP
        self.done = threading.Event()
        self.threads = [threading.Thread(target=f) for f in (self._signalling, self._media)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        for thread in self.threads:
            thread.join()
        self.sip.close()
        self.rtp.close()

    def _readable(self, sock):
        while not self.done.is_set():
            if select.select([sock], [], [], 0.05)[0]:
                return True
        return False

    def _media(self):
        while self._readable(self.rtp):
            data, source = self.rtp.recvfrom(4096)
            if len(data) >= 12 and data[1] & 0x7f < 72:  # RTP, not RTCP
                self.packets += 1
                if not self.silent:
                    self.rtp.sendto(data, source)

    def _signalling(self):
        while self._readable(self.sip):
            data, source = self.sip.recvfrom(65536)
            text = data.decode(errors="replace")
            method = text.split(" ", 1)[0]
            if method.startswith("SIP/") or not method.strip():
                continue
            head = text.partition("\r\n\r\n")[0]
            fields = {}
            for name, value in FIELD.findall(head):
                fields.setdefault(name.lower(), []).append(value)
            self._take(method, fields, source)

    def _take(self, method, fields, source):
        self.seen.append(method)
        if method == "INVITE" and "tag=" not in fields["to"][0]:
            key = fields["call-id"][0], re.search(r"branch=([^;,\s]+)", fields["via"][0])[1]
            if key not in self.invited:
                self.invited.append(key)
        if self.silent or method == "ACK" or method == "REGISTER" and self.hold_register:
            return
        more, body = [], ""
        if method == "REGISTER":
            expires = fields.get("expires", ["60"])[0]
            more = [f"Contact: {c};expires={expires}" for c in fields.get("contact", [])]
        elif method == "INVITE":
            more = [f"Contact: <sip:peer@127.0.0.1:{self.port}>", "Content-Type: application/sdp"]
            body = ("v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
                    f"m=audio {self.rtp.getsockname()[1]} RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\na=sendrecv\r\n")
        to = fields["to"][0]
        self.sip.sendto("\r\n".join([
            "SIP/2.0 200 OK", *(f"Via: {v}" for v in fields["via"]), f"From: {fields['from'][0]}",
            f"To: {to if 'tag=' in to else to + ';tag=peer'}", f"Call-ID: {fields['call-id'][0]}",
            f"CSeq: {fields['cseq'][0]}", *more, f"Content-Length: {len(body)}", "", body]).encode(), source)

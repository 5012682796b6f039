"""TCP connections to a controller, and the HTTP exchanges in their bytes.

Each exchange is checked against docs/reference/openapi.yaml (contract.py), whatever
client sent it. watch(port) makes every socket.create_connection() to the port, and so
http.client's too, a WatchedSocket; exchanges_of() reads the same out of a capture.
"""
import json
import re
import socket
import struct
import threading
from urllib.parse import urlsplit

import contract

REQUEST_LINE = re.compile(rb"([!-~]+) ([!-~]+) HTTP/1\.([01])")
STATUS_LINE = re.compile(rb"HTTP/1\.[01] (\d{3})( .*)?")
# Responses of the HTTP library itself, before it has routed the request.
UNROUTED = {414, 431, 505}
# Longer bodies are not compared with their schema: agents of a load test upload
# megabytes, and the comparison would take processor time from the measured calls.
REQUEST_BYTES = 1 << 16
# The response to a request that could not be parsed.
TO_NO_REQUEST = contract.TRANSPORT_HEADERS | {"x-request-id"}


def head_of(data):
    """(first line, {name: value}, rest) of a message; None: incomplete"""
    head, end, rest = data.partition(b"\r\n\r\n")
    if not end:
        return None
    first, *lines = head.split(b"\r\n")
    pairs = (line.decode("latin-1").partition(":") for line in lines)
    return first, {name.lower(): value.strip() for name, _, value in pairs}, rest


def chunked(data):
    """(body, rest) of a chunked body; None: incomplete or invalid"""
    body = b""
    while True:  # copies the rest each time: these bodies are small
        line, end, data = data.partition(b"\r\n")
        size = line.split(b";")[0].strip()
        if not end or not re.fullmatch(rb"[0-9A-Fa-f]{1,15}", size):
            return None
        size = int(size, 16)
        if len(data) < size + 2:
            return None
        if size == 0:
            return (body, data[2:]) if data.startswith(b"\r\n") else None
        body, data = body + data[:size], data[size + 2:]


def body_of(headers, rest):
    """(body, rest); None: incomplete"""
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return chunked(rest)
    length = headers.get("content-length", "0")
    length = int(length) if length.isdecimal() else 0
    return (rest[:length], rest[length:]) if len(rest) >= length else None


class Conversation:
    """The bytes of one connection as they arrive.

    received() and ended() return what is wrong with a complete response, as a sentence
    or None. Thread: any.

    seen: a list to which (method, path, status) of each exchange is added.
    """

    def __init__(self, seen=None):
        self._out, self._in = bytearray(), bytearray()
        self._need = 0          # bytes of a response needed before it can be checked
        self._over = False      # what follows is not a response to check
        self._lock = threading.Lock()
        self.seen = [] if seen is None else seen

    def sent(self, data):
        with self._lock:
            if not self._over:
                self._out += data

    def received(self, data):
        """@return None, or what is not documented in docs/reference/openapi.yaml"""
        with self._lock:
            if self._over:
                return None
            self._in += data
            return self._look(False) if len(self._in) >= self._need else None

    def ended(self):
        """The peer has closed the connection. @return as received()"""
        with self._lock:
            return self._look(True)

    def unanswered(self):
        """"METHOD target" of a request that got no response, or None."""
        with self._lock:
            request = self._request() if not self._over else None
            return request and f"{request[0]} {request[1]}"

    def _look(self, closed):
        while self._in and not self._over:
            if self._out.startswith(b"\x16"):
                self._over = True   # TLS
                return None
            found = head_of(self._in)
            if not found:
                return "an answer was cut off" if closed else None
            first, headers, rest = found
            line = STATUS_LINE.fullmatch(first)
            if not line:
                self._over = True
                return f"no HTTP came: {self._in[:100]!r}"
            status = int(line[1])
            if status < 200:
                self._in = rest
                continue
            request = self._request()
            whole = self._answer_body(request, status, headers, rest, closed)
            if whole is None:
                length = headers.get("content-length", "")
                self._need = len(self._in) - len(rest) + int(length) if length else 0
                return "an answer was cut off" if closed else None
            self._in, self._need = whole[1], 0
            self._next_request(request)
            # RFC 9112 section 9.6: nothing that follows is a response
            self._over = headers.get("connection", "").lower() == "close"
            wrong = self._check(request, status, headers, whole[0])
            if wrong:
                return wrong
        return None

    @staticmethod
    def _answer_body(request, status, headers, rest, closed):
        if status in (204, 304) or (request and request[0] == "HEAD"):
            return b"", rest
        if "content-length" in headers or "transfer-encoding" in headers:
            return body_of(headers, rest)
        return (rest, b"") if closed else None

    def _request(self):
        """(method, target, headers, body or None) of the request that the response
        belongs to; None: not a request"""
        found = head_of(self._out.lstrip(b"\r\n"))
        line = found and REQUEST_LINE.fullmatch(found[0])
        length = found and found[1].get("content-length", "0")
        if not line or not length.isdecimal() or int(length) >= 2**64:
            return None
        whole = body_of(found[1], found[2])
        return line[1].decode(), line[2].decode(), found[1], whole and whole[0]

    def _next_request(self, request):
        found = request and head_of(self._out.lstrip(b"\r\n"))
        whole = found and body_of(found[1], found[2])
        # the response came before the request's end: no other request can follow
        self._out = whole[1] if whole else b""

    def _check(self, request, status, headers, content):
        document = contract.contract()
        if not request or status in UNROUTED:
            self.seen.append(("", "", status))
            wrong = self._check_unrouted(document, status, headers, content)
            return wrong and f"to what reaches no address, {status}: {wrong}"
        method, target, asked, body = request
        path = urlsplit(target).path
        if not document.covers(method, path):
            return None
        wrong = document.check(
            method, target, status, headers, bytes(content),
            bytes(body) if body and len(body) <= REQUEST_BYTES else None,
            asked.get("content-type", ""))
        self.seen.append((method, target, status))
        return wrong and f"{method} {path}: {wrong}"

    @staticmethod
    def _check_unrouted(document, status, headers, content):
        if "x-request-id" not in headers:
            return "the answer has no X-Request-Id"
        contract.CHECKED.add(headers["x-request-id"])
        if status < 400 or headers.get("content-type") != "application/problem+json":
            return f"an error of type {headers.get('content-type')}"
        extra = set(headers) - TO_NO_REQUEST
        if extra:
            return f"headers that are not documented: {sorted(extra)}"
        # library.c: the HTTP library's response to an invalid Content-Length
        return document.validate(document.problem, json.loads(content)) if content else None


class WatchedSocket(socket.socket):
    """A connection to a controller whose exchanges are checked as they arrive."""

    def __init__(self, plain):
        timeout = plain.gettimeout()
        super().__init__(plain.family, plain.type, plain.proto, fileno=plain.detach())
        self.settimeout(timeout)
        self.conversation = Conversation()

    def _told(self, wrong):
        if wrong:
            contract.contract().broken.append(wrong)
            raise AssertionError(wrong)

    def _came(self, data):
        self._told(self.conversation.received(bytes(data)) if data
                   else self.conversation.ended())

    def send(self, data, *flags):
        count = super().send(data, *flags)
        self.conversation.sent(bytes(data[:count]))
        return count

    def sendall(self, data, *flags):
        self.conversation.sent(bytes(data))
        return super().sendall(data, *flags)

    def recv(self, size, *flags):
        data = super().recv(size, *flags)
        self._came(data)
        return data

    def recv_into(self, buffer, size=0, *flags):
        count = super().recv_into(buffer, size, *flags)
        self._came(memoryview(buffer)[:count])
        return count


PORTS = set()
plain_connection = socket.create_connection


def create_connection(address, *args, **kwargs):
    connection = plain_connection(address, *args, **kwargs)
    return WatchedSocket(connection) if address[1] in PORTS else connection


def watch(port):
    """Check the connections to this port of 127.0.0.1 from now on."""
    PORTS.add(port)
    socket.create_connection = create_connection


# ---- captures ----

def segments(file):
    """(source, target, sequence number, flags, data) of the TCP segments of a pcap on lo."""
    data = file.read_bytes()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    assert struct.unpack_from(order + "I", data, 20)[0] == 1, "not of Ethernet frames"
    at = 24
    while at + 16 <= len(data):
        length, = struct.unpack_from(order + "I", data, at + 8)
        packet = data[at + 16 + 14:at + 16 + length]
        at += 16 + length
        if not packet or packet[0] >> 4 != 4 or packet[9] != 6:
            continue
        packet = packet[:struct.unpack_from(">H", packet, 2)[0] or None]
        tcp = packet[(packet[0] & 15) * 4:]
        source, target, number = struct.unpack_from(">HHI", tcp)
        yield source, target, number, tcp[13], tcp[(tcp[12] >> 4) * 4:]


FIN, SYN, RST = 1, 2, 4


class CapturedConnection:
    """Both directions of a connection, in the order of their bytes."""

    def __init__(self):
        self.conversation = Conversation()
        self._next, self._early = {}, {}

    def segment(self, sends, number, flags, data):
        """@return a sentence that names what is wrong, or None"""
        if flags & SYN:
            self._next[sends] = (number + 1) % 2**32
            return None
        if flags & RST or not (data or flags & FIN):
            return None
        assert sends in self._next, "the capture has not the begin of a connection"
        early = self._early.setdefault(sends, {})
        early[number] = (data, flags)
        while self._next[sends] in early:
            data, flags = early.pop(self._next[sends])
            self._next[sends] = (self._next[sends] + len(data)) % 2**32
            if sends:
                self.conversation.sent(data)
                continue
            wrong = self.conversation.received(data) if data else None
            if flags & FIN:
                wrong = wrong or self.conversation.ended()
            if wrong:
                return wrong
        return None

    def gap(self):
        """Whether bytes were received after a gap."""
        return any(0 < (number - self._next[sends]) % 2**32 < 2**31
                   for sends, early in self._early.items() for number in early)


def exchanges_of(file, port):
    """(number of exchanges with this port, sentences that name what is wrong)"""
    connections, done, wrong = {}, [], []
    for source, target, number, flags, data in segments(file):
        if port not in (source, target):
            continue
        sends = target == port
        key = source if sends else target
        if flags & SYN and sends:       # perhaps the port was used before
            done.append(connections.pop(key, None))
        connection = connections.setdefault(key, CapturedConnection())
        found = connection.segment(sends, number, flags, data)
        if found:
            wrong.append(found)
    everyone = [c for c in [*done, *connections.values()] if c]
    wrong += ["the capture has a gap" for c in everyone if c.gap()]
    return sum(len(c.conversation.seen) for c in everyone), wrong

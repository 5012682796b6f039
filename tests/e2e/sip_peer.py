"""A SIP peer of the tests that answers as a test says: UDP, TCP and TLS on one port."""
import re
import select
import socket
import ssl
import struct
import threading


COOKIE = b"\x21\x12\xa4\x42"


def binding(transaction, mapped):
    """A STUN success response (RFC 5389) with XOR-MAPPED-ADDRESS."""
    port = struct.pack("!H", mapped[1] ^ 0x2112)
    address = bytes(a ^ b for a, b in zip(socket.inet_aton(mapped[0]), COOKIE))
    return b"\1\1\0\x0c" + COOKIE + transaction + b"\0\x20\0\x08\0\1" + port + address


class Request:
    """A request: method, uri, headers (by lower-case name, first to last), body.

    And its origin: transport, source, server_name (TLS), certificate."""

    def __init__(self, data, transport, source, server_name=None, certificate=None):
        head, _, self.body = data.decode(errors="replace").partition("\r\n\r\n")
        lines = head.split("\r\n")
        self.method, self.uri, _ = lines[0].split(" ", 2)
        self.headers = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers.setdefault(name.strip().lower(), []).append(value.strip())
        self.transport, self.source = transport, source
        self.server_name, self.certificate = server_name, certificate

    def header(self, name):
        return self.headers.get(name.lower(), [None])[0]

    def reply(self, code, reason, *lines):
        to = self.header("to")
        return "\r\n".join([
            f"SIP/2.0 {code} {reason}", *(f"Via: {v}" for v in self.headers["via"]),
            f"From: {self.header('from')}",
            f"To: {to if 'tag=' in to else to + ';tag=peer'}",
            f"Call-ID: {self.header('call-id')}", f"CSeq: {self.header('cseq')}", *lines,
            "Content-Length: 0", "", ""]).encode()

    def registered(self, expires=None, *lines):
        """A 200 to a REGISTER, with the requested binding."""
        expires = expires or self.header("expires")
        return self.reply(200, "OK", f"Contact: {self.header('contact')};expires={expires}",
                          *lines)


def firsts(requests):
    """Without retransmissions: an agent, or its peer, may have stood still for half a second."""
    found = {}
    for request in requests:
        found.setdefault((request.method, *request.headers["via"]), request)
    return list(found.values())


def once(answer):
    """The same answer to each retransmission of a request (RFC 3261 17.2)."""
    given = {}

    def again(request):
        key = (request.method, *request.headers["via"])
        if key not in given:
            given[key] = answer(request)
        return given[key]
    return again


class SipPeer:
    """with SipPeer(port, answer) as p: ... p.requests

    answer(request) returns the bytes to send back, a list of them, or None. tls:
    (certificate, key); client_ca: clients must present a certificate issued by it.
    """

    def __init__(self, port, answer, tls=None, client_ca=None, host="127.0.0.1"):
        self.port, self.answer, self.requests, self.errors = port, answer, [], []
        self.pings, self.deaf = 0, False  # number of keep-alives; True: do not answer them
        self.mapped = ("192.0.2.1", 4711)  # the address in STUN responses
        self._host, self._stop = host, threading.Event()
        self._tls = None
        if tls:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(*map(str, tls))
            self._tls.sni_callback = lambda s, name, _: setattr(s, "asked_for", name)
            if client_ca:
                self._tls.load_verify_locations(str(client_ca))
                self._tls.verify_mode = ssl.CERT_REQUIRED

    def __enter__(self):
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        self._udp = socket.socket(family, socket.SOCK_DGRAM)
        self._udp.bind((self._host, self.port))
        self._tcp = socket.socket(family, socket.SOCK_STREAM)
        self._tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._tcp.bind((self._host, self.port))
        self._tcp.listen(16)
        self._threads = [threading.Thread(target=f) for f in (self._datagrams, self._accept)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()
        self._udp.close()
        self._tcp.close()

    def _readable(self, sock):
        while not self._stop.is_set():
            if select.select([sock], [], [], 0.05)[0]:
                return True
        return False

    def _take(self, data, send, *where):
        if not data.strip() or data.startswith(b"SIP/2.0"):
            return
        request = Request(data, *where)
        self.requests.append(request)
        answers = self.answer(request)
        if answers is None:
            return
        for answer in [answers] if isinstance(answers, bytes) else answers:
            send(answer)

    def _datagrams(self):
        while self._readable(self._udp):
            data, source = self._udp.recvfrom(65536)
            if data[:2] == b"\0\1" and data[4:8] == COOKIE:
                self.pings += 1
                if not self.deaf:
                    self._udp.sendto(binding(data[8:20], self.mapped), source)
                continue
            self._take(data, lambda answer: self._udp.sendto(answer, source), "udp", source)

    def _accept(self):
        while self._readable(self._tcp):
            sock, source = self._tcp.accept()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            thread = threading.Thread(target=self._serve, args=(sock, source))
            self._threads.append(thread)
            thread.start()

    def _serve(self, sock, source):
        name = certificate = None
        try:
            if self._tls:
                sock.settimeout(10)
                sock = self._tls.wrap_socket(sock, server_side=True)
                name = getattr(sock, "asked_for", None)
                certificate = sock.getpeercert()
            self._stream(sock, "tls" if self._tls else "tcp", source, name, certificate)
        except OSError as error:
            self.errors.append(str(error))
        finally:
            sock.close()

    def _stream(self, sock, *where):
        data = b""
        sock.settimeout(0.05)
        while not self._stop.is_set():
            try:
                more = sock.recv(65536)
            except (socket.timeout, ssl.SSLWantReadError):
                continue
            if not more:
                return
            data += more
            while True:
                while data.startswith(b"\r\n\r\n"):
                    data = data[4:]
                    self.pings += 1
                    if not self.deaf:
                        sock.sendall(b"\r\n")
                data = data.lstrip(b"\r\n") if len(data) > 3 else data
                end = data.find(b"\r\n\r\n")
                if end < 0:
                    break
                length = int(re.search(rb"\ncontent-length: *(\d+)", data[:end].lower())[1])
                if len(data) < end + 4 + length:
                    break
                self._take(data[:end + 4 + length], sock.sendall, *where)
                data = data[end + 4 + length:]

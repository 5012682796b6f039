"""A DNS server for tests: it answers from a table, over UDP."""
import select
import socket
import struct
import threading

TYPES = {1: "A", 28: "AAAA", 33: "SRV", 35: "NAPTR"}


class DnsServer:
    """with DnsServer(port, zone) as d: ... d.asked

    zone: {(name, "A"): ["192.0.2.1"], (name, "SRV"): [(priority, weight, port,
    target)], (name, "NAPTR"): [(order, preference, flags, service, replacement)]};
    a name that is not there does not exist, one with None is not answered until
    release().
    """

    def __init__(self, port, zone, host="127.0.0.1"):
        self.port, self.asked, self._held = port, [], []
        self._zone = {(name.lower(), kind): v for (name, kind), v in zone.items()}
        self._host, self._stop = host, threading.Event()
        self._lock = threading.Lock()

    def __enter__(self):
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind((self._host, self.port))
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        self._socket.close()

    def release(self, name, kind, values):
        """Answer the questions that came for a name with None, and those to come."""
        with self._lock:
            self._zone[(name.lower(), kind)] = values
            held, self._held = self._held, []
        for query, source in held:
            self._reply(query, source, again=True)

    def _reply(self, query, source, again=False):
        with self._lock:
            answer = self._answer(query, again)
            if answer is None:
                self._held.append((query, source))
        if answer:
            self._socket.sendto(answer, source)

    def _serve(self):
        while not self._stop.is_set():
            if not select.select([self._socket], [], [], 0.05)[0]:
                continue
            self._reply(*self._socket.recvfrom(4096))

    def _answer(self, query, again):
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += 1 + query[at]
        kind = TYPES.get(struct.unpack_from("!H", query, at + 1)[0], "?")
        name = ".".join(labels).lower()
        if not again:
            self.asked.append((name, kind))
        found = self._zone.get((name, kind), [])
        if found is None:
            return None
        exists = any(n == name for n, _ in self._zone)
        records = b"".join(
            b"\xc0\x0c" + query[at + 1:at + 5] + struct.pack("!IH", 60, len(data)) + data
            for data in (encode(kind, value) for value in found))
        flags = 0x8580 | (0 if exists else 3)  # NXDOMAIN
        return query[:2] + struct.pack("!HHHHH", flags, 1, len(found), 0, 0) + \
            query[12:at + 5] + records


def encode(kind, value):
    if kind == "A":
        return socket.inet_aton(value)
    if kind == "AAAA":
        return socket.inet_pton(socket.AF_INET6, value)
    if kind == "SRV":
        return struct.pack("!HHH", *value[:3]) + encode_name(value[3])
    order, preference, flags, service, replacement = value
    return struct.pack("!HH", order, preference) + text(flags) + text(service) + text("") + \
        encode_name(replacement)


def text(value):
    return bytes([len(value)]) + value.encode()


def encode_name(name):
    return b"".join(text(label) for label in name.split(".") if label) + b"\0"

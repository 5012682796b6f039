"""coturn as STUN and TURN server at 10.99.0.2 of a namespace (netns.py), and the
analysis of a capture beside it."""
import re
import shutil
import subprocess
import time

import logs
from capture import Capture

TURNSERVER = shutil.which("turnserver")
SERVER, PORT, RELAYS = "10.99.0.2", 3478, (49000, 49999)
CREDENTIALS = ["--turn-user", "alice", "--turn-password", "secret"]


class Coturn:
    def __init__(self, folder, namespace, *options, host=SERVER):
        self._host = host
        self._namespace, self._log = namespace, folder / "turnserver.log"
        self._command = [
            TURNSERVER, "-n", "--listening-ip", host, "--relay-ip", host, "--lt-cred-mech",
            "--user", "alice:secret", "--realm", "example.net", "--no-cli", "--log-file", "stdout",
            "--min-port", str(RELAYS[0]), "--max-port", str(RELAYS[1]), "-v",
            "--pidfile", str(folder / "turnserver.pid"), "--userdb", str(folder / "turndb"),
            *(options or ["--no-tls", "--no-dtls"])]

    def __enter__(self):
        with logs.opened(self._log) as log:
            self._process = subprocess.Popen(
                ["ip", "netns", "exec", self._namespace, *self._command], stdout=log,
                stderr=subprocess.STDOUT)
        # it listens on TCP at the same port
        probe = ("import socket; socket.create_connection(('%s', %d), 1)" % (self._host, PORT))
        deadline = time.monotonic() + 20
        while subprocess.run(["ip", "netns", "exec", self._namespace, "/usr/bin/python3", "-c",
                              probe], capture_output=True, check=False).returncode:
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise RuntimeError(self.text())
            time.sleep(0.05)
        return self

    def text(self):
        return self._log.read_text(errors="replace")

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


# RFC 8489 section 5: type, length, magic cookie, transaction ID
STUN = re.compile(rb"(..)(..)\x21\x12\xa4\x42(.{12})", re.S)
CHANNEL_BIND, CHANNEL_BOUND = b"\x00\x09", b"\x01\x09"
# XOR-PEER-ADDRESS up to its port (RFC 8656 section 18.3)
PEER = re.compile(rb"\x00\x12\x00[\x08\x14]\x00[\x01\x02](..)", re.S)


def at_server(folder, namespace):
    """A capture of the packets between us and the server."""
    (folder / "server").mkdir()
    return Capture(folder / "server", (PORT, PORT + 1), namespace, "vb")


def bound_at(capture, transport):
    """When the server had bound our channel for RTP, which is before it answered.

    RTP's is the lower of the peer's two ports. The two channels are requested on two
    sockets."""
    asked = {}   # transaction ID: the peer's port
    for _, _, _, data in capture.datagrams(f"{transport}.dstport == {PORT}", transport):
        for found in STUN.finditer(data):
            if found[1] == CHANNEL_BIND:
                port, = PEER.search(data, found.end()).groups()
                asked[found[3]] = int.from_bytes(port, "big") ^ 0x2112
    rtp = min(asked.values())
    return min(t for t, _, _, data in capture.datagrams(
        f"{transport}.srcport == {PORT}", transport) for found in STUN.finditer(data)
        if found[1] == CHANNEL_BOUND and asked[found[3]] == rtp)


def relayed(capture, transport, ssrc):
    """Sequence numbers of a peer's PCMA packets that the server sent to us."""
    streams = {}   # a TCP segment may end within a message
    for _, _, port, data in capture.datagrams(
            f"{transport}.srcport == {PORT} && !tcp.analysis.retransmission", transport):
        streams.setdefault(port, bytearray()).extend(data)
    rtp = re.compile(rb"\x80[\x08\x88](..)...." + re.escape(ssrc.to_bytes(4, "big")), re.S)
    return {int.from_bytes(number, "big") for data in streams.values()
            for number in rtp.findall(data)}

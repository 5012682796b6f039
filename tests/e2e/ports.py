"""Ports of a test: each has its own block, so that tests can run in parallel."""
import fcntl
import os
import socket
import tempfile
from pathlib import Path

BLOCK = 200
FIRST = 12000   # below Linux's ephemeral ports (32768)
BLOCKS = 100
# UDP ports that tshark takes for another protocol's ("tshark -G decodes"); RTP without a session
# description is not found there.
KNOWN = {*range(12000, 12005), 12220, 12222, 12223, 13400, 13819, 13907, 13910, 17220, 17500, 17754,
         17755, 17756, 18246, 19132, 19788, 19948, 19999, 20000, 20561, 22222, 23272, 24576, 24577,
         25826, 26000, 27036, 27500, 27910, *range(27950, 27954), *range(27960, 27964), 30030}


class PortBlock:
    """A block of ports, locked against other tests until close() or exit.

    sip, control, http, silent: single ports; rtp: (first, last) of the agents;
    relay: (first, last) of the media relay.
    """

    def __init__(self):
        folder = os.path.join(tempfile.gettempdir(), f"offhook-ports-{os.getuid()}")
        os.makedirs(folder, exist_ok=True)
        for number in range(BLOCKS):
            base = FIRST + number * BLOCK
            if KNOWN & set(range(base, base + BLOCK)):
                continue
            self._lock = open(os.path.join(folder, str(number)), "w")
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._lock.close()
                continue
            if all(port_is_free(base + i) for i in range(BLOCK)):
                break
            self._lock.close()
        else:
            raise RuntimeError("no block of free ports is left for a test")
        self.base = base
        self.sip, self.control, self.http, self.silent, self.phone = \
            base, base + 1, base + 2, base + 3, base + 4
        self.rtp = (base + 20, base + 99)
        self.relay = (base + 100, base + BLOCK - 1)

    def close(self):
        self._lock.close()


def port_is_free(port):
    """Whether the port is free on 127.0.0.1, for UDP and TCP."""
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        with socket.socket(socket.AF_INET, kind) as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR,
                         1 if kind == socket.SOCK_STREAM else 0)
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                return False
    return True


def udp_is_bound(port):
    """Whether a program has this UDP port. It is not tried out, if possible: at that moment the program cannot take it."""
    table = Path("/proc/thread-self/net/udp")
    if table.exists():
        return any(line.split()[1].endswith(f":{port:04X}") for line in table.read_text().splitlines()[1:])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False

"""A media relay that loses and delays packets on purpose and logs each one.

It implements the rtpproxy control protocol (UDP), so that kamailio's rtpproxy module
puts it into the media path by rewriting the SDP. Losses come from a seeded generator,
one draw per packet of a direction in the order of arrival: the same seed loses the same
packets of a stream. Delays come from a second generator.
"""
import heapq
import random
import selectors
import socket
import struct
import threading
import time
from dataclasses import dataclass

TO_CALLEE = "caller->callee"
TO_CALLER = "callee->caller"


@dataclass
class Packet:
    """One RTP packet that reached the relay."""
    t: float
    direction: str
    ssrc: int
    seq: int
    dropped: bool


class Leg:
    """The socket pair that one side of a call sends to."""

    def __init__(self, rtp, rtcp):
        self.sockets = (rtp, rtcp)
        self.port = rtp.getsockname()[1]
        self.peer = None   # where this side receives: (address, RTP port)


class Relay:
    def __init__(self, control_port, ports, loss=0.0, direction=None, seed=1,
                 delay_ms=0.0):
        """Lose `loss` (0..1) of the RTP packets of one direction; delay each RTP packet
        by 0 to delay_ms, independently. Delays longer than the packet time reorder
        packets."""
        self.socket_name = f"udp:127.0.0.1:{control_port}"
        self.loss, self.direction, self.seed = loss, direction, seed
        self.packets = []        # the log, in order of arrival
        self.rtcp_packets = 0
        self.errors = []
        self._ports = iter(range(ports[0] + ports[0] % 2, ports[1], 2))
        self._random = random.Random(seed)
        self._delay_ms, self._delays = delay_ms, random.Random(seed + 1)
        self._held = []          # heap of (due, number, socket, data, address)
        self._calls = {}         # call id -> (leg of caller, leg of callee)
        self._answers = {}       # cookie -> response, for repeated commands
        self._selector = selectors.DefaultSelector()
        self._control = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._control.bind(("127.0.0.1", control_port))
        self._selector.register(self._control, selectors.EVENT_READ, self._command)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()
        self._selector.close()

    def hold_ms(self, direction, seq):
        """How long to hold this packet; for tests that plant delays."""
        return self._delays.uniform(0, self._delay_ms) if self._delay_ms else 0

    def log(self, direction):
        """Packets of a direction: {ssrc: [Packet, ...]}."""
        streams = {}
        for packet in self.packets:
            if packet.direction == direction:
                streams.setdefault(packet.ssrc, []).append(packet)
        return streams

    def _run(self):
        while not self._stop.is_set():
            self._release()
            wait = self._held[0][0] - time.monotonic() if self._held else 0.1
            for key, _ in self._selector.select(timeout=max(0.0, min(wait, 0.1))):
                try:
                    key.data(key.fileobj)
                except Exception as error:  # shown by the test, not lost
                    self.errors.append(repr(error))

    def _release(self):
        while self._held and self._held[0][0] <= time.monotonic():
            self._send(*heapq.heappop(self._held)[2:])

    def _send(self, sock, data, address):
        """Send a packet that was held."""
        sock.sendto(data, address)

    # ---- control ----

    def _command(self, sock):
        data, source = sock.recvfrom(65536)
        cookie, _, command = data.decode().strip().partition(" ")
        if cookie not in self._answers:
            self._answers[cookie] = self._execute(command.split())
        sock.sendto(f"{cookie} {self._answers[cookie]}\n".encode(), source)

    def _execute(self, words):
        verb = words[0]
        if verb == "V":
            return "20040107"
        if verb == "VF":
            return "1"
        if verb[0] == "U":
            call = self._calls.setdefault(words[1], None) or self._new_call(words[1])
            return self._set_peer(call, words, offer=len(words) < 6)
        if verb[0] == "L":
            call = self._calls.get(words[1])
            return self._set_peer(call, words, offer=False) if call else "E8"
        if verb[0] == "D":
            return "0"   # keep the sockets, so that late packets are logged too
        return "E1"

    def _new_call(self, call_id):
        legs = []
        for to_peer, direction in ((1, TO_CALLEE), (0, TO_CALLER)):
            port = next(self._ports)
            pair = []
            for offset in (0, 1):
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                s.bind(("127.0.0.1", port + offset))
                pair.append(s)
            legs.append(Leg(*pair))
        caller, callee = legs
        for source, target, direction in ((caller, callee, TO_CALLEE),
                                          (callee, caller, TO_CALLER)):
            for kind in (0, 1):
                self._selector.register(
                    source.sockets[kind], selectors.EVENT_READ,
                    lambda s, t=target, d=direction, k=kind: self._media(s, t, d, k))
        self._calls[call_id] = (caller, callee)
        return self._calls[call_id]

    @staticmethod
    def _set_peer(call, words, offer):
        """Note where a side receives, and return the port for its peer."""
        caller, callee = call
        here, there = (caller, callee) if offer else (callee, caller)
        here.peer = (words[2], int(words[3]))
        return f"{there.port} 127.0.0.1"

    # ---- media ----

    def _media(self, sock, target, direction, kind):
        data, _ = sock.recvfrom(65536)
        if target.peer is None:
            self.errors.append(f"packet {direction} before its peer was known")
            return
        if kind == 1:
            self.rtcp_packets += 1
        else:
            seq, = struct.unpack_from("!H", data, 2)
            ssrc, = struct.unpack_from("!I", data, 8)
            dropped = direction == self.direction and \
                self._random.random() < self.loss
            self.packets.append(Packet(time.time(), direction, ssrc, seq, dropped))
            if dropped:
                return
            hold_ms = self.hold_ms(direction, seq)
            if hold_ms:
                due = time.monotonic() + hold_ms / 1000
                heapq.heappush(self._held, (due, len(self.packets), target.sockets[0], data,
                                            target.peer))
                return
        target.sockets[kind].sendto(data, (target.peer[0], target.peer[1] + kind))

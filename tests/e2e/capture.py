"""An independent measurement: dumpcap and tshark on the loopback interface."""
import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import logs


# Only the first fragment of a datagram has ports; tshark reassembles them.
FRAGMENTS = "ip[6:2] & 0x1fff != 0 or ip6 proto 44"


def tshark(file, *arguments):
    """tshark's output about a capture, independent of the user's preferences and language."""
    folder = str(Path(file).parent)
    done = subprocess.run(
        ["/usr/bin/tshark", "-n", "-r", str(file), *arguments], capture_output=True, text=True,
        errors="replace", check=False,
        env=dict(os.environ, HOME=folder, XDG_CONFIG_HOME=folder, LC_ALL="C"))
    assert done.returncode == 0, done.stderr
    return done.stdout


@dataclass
class Stream:
    """RTP packets from one port to another, as captured."""
    ssrc: int
    source: int
    target: int
    packets: list = field(default_factory=list)   # (epoch seconds, seq, ts)

    def lost(self):
        """Sequence numbers missing between the first and the last one."""
        return len(self._span()) - len({s for _, s, _ in self.packets})

    def _span(self):
        extended = extend([s for _, s, _ in self.packets])
        return range(min(extended), max(extended) + 1)

    def mean_jitter_ms(self, clock_hz=8000):
        """RFC 3550 A.8 after every packet, averaged, from timestamps in microseconds."""
        jitter, total, last = 0.0, 0.0, None
        for epoch, _, ts in self.packets:
            transit = epoch * clock_hz - ts
            if last is not None:
                d = (transit - last + 2**31) % 2**32 - 2**31
                jitter += (abs(d) - jitter) / 16
            last = transit
            total += jitter
        return total / len(self.packets) / clock_hz * 1000


def extend(sequence):
    """Extend 16-bit sequence numbers over their wraparounds."""
    out = [sequence[0]]
    for number in sequence[1:]:
        step = (number - out[-1] + 32768) % 65536 - 32768
        out.append(out[-1] + step)
    return out


def stream_table(out):
    """What `tshark -q -z rtp,streams` has printed: {(ssrc, source, target): dict}."""
    summary = {}
    for line in out.splitlines():
        cells = line.split()
        found = re.search(r"0x([0-9A-Fa-f]{8})", line)
        if not found:
            continue
        at = next(i for i, c in enumerate(cells) if c.startswith("0x"))
        # ... src-addr sport dst-addr dport SSRC payload packets lost (x%) min-delta
        # mean-delta max-delta min-jitter mean-jitter max-jitter. Payload names may
        # contain spaces: count from the "(x%)" cell.
        mark = next(i for i, c in enumerate(cells) if c.endswith("%)"))
        if cells[mark - 1].startswith("("):
            mark -= 1
        key = (int(found.group(1), 16), int(cells[at - 3]), int(cells[at - 1]))
        numbers = [c for c in cells[mark:] if re.fullmatch(r"-?[0-9.]+", c)]
        summary[key] = {"packets": int(cells[mark - 2]), "lost": int(cells[mark - 1]),
                        "mean_jitter_ms": float(numbers[-2])}
    return summary


class Capture:
    """Captures UDP and TCP of a range of ports from `with` to its end, on lo or on an
    interface of a network namespace; or what a libpcap expression selects."""

    def __init__(self, folder, ports, namespace=None, interface="lo", expression=None):
        self._expression = expression or f"portrange {ports[0]}-{ports[1]} or {FRAGMENTS}"
        self._where = ["ip", "netns", "exec", namespace] if namespace else []
        self._interface = interface
        self.file = Path(folder) / "capture.pcap"
        self.ports = ports
        self._log = Path(folder) / "tshark.log"
        self._streams = None   # parsed once

    def __enter__(self):
        with logs.opened(self._log) as log:
            self._process = subprocess.Popen(
                [*self._where, "/usr/bin/dumpcap", "-q", "-P", "-i", self._interface,
                 "-B", "16", "-f", self._expression, "-w", str(self.file)],
                stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        # dumpcap prints its file's name once the capture filter is active.
        while b"File:" not in self._log.read_bytes():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._process.kill()
                raise RuntimeError(f"dumpcap cannot capture on {self._interface} (it needs root or "
                                   "the group wireshark):\n" + self._log.read_text())
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        time.sleep(0.5)   # for packets in the kernel's buffer
        self._process.send_signal(signal.SIGINT)
        self._process.wait(60)
        dropped = re.search(r"Packets received/dropped.*?: \d+/(\d+)",
                            self._log.read_text())
        if dropped and int(dropped.group(1)):
            raise RuntimeError(f"dumpcap lost {dropped.group(1)} packets")

    def _tshark(self, *arguments):
        decode = []
        for port in range(self.ports[0] + self.ports[0] % 2, self.ports[1], 2):
            decode += ["-d", f"udp.port=={port},rtp", "-d", f"udp.port=={port + 1},rtcp"]
        return tshark(self.file, *decode, *arguments)

    def sip_fields(self, display, fields, ports):
        """Rows of the SIP packets of these ports that a display filter selects."""
        decode = [a for port in ports for kind in ("udp", "tcp")
                  for a in ("-d", f"{kind}.port=={port},sip")]
        names = [a for name in fields for a in ("-e", name)]
        out = tshark(self.file, *decode, "-Y", display, "-T", "fields", *names)
        return [line.split("\t") for line in out.splitlines()]

    def streams(self):
        """Every RTP stream: {(ssrc, source port, target port): Stream}."""
        if self._streams is None:
            self._streams = self._streams_read()
        return self._streams

    def _streams_read(self):
        out = self._tshark("-Y", "rtp.ssrc", "-T", "fields", "-e", "frame.time_epoch",
                           "-e", "udp.srcport", "-e", "udp.dstport", "-e", "rtp.ssrc",
                           "-e", "rtp.seq", "-e", "rtp.timestamp")
        streams = {}
        for line in out.splitlines():
            epoch, source, target, ssrc, seq, ts = line.split("\t")
            key = (int(ssrc, 16), int(source), int(target))
            stream = streams.setdefault(key, Stream(*key))
            stream.packets.append((float(epoch), int(seq), int(ts)))
        return streams

    def datagrams(self, display="udp", transport="udp"):
        """The datagrams: (epoch seconds, source port, target port, data), in order."""
        rows = self._tshark("-Y", display, "-T", "fields", "-e", "frame.time_epoch",
                            "-e", f"{transport}.srcport", "-e", f"{transport}.dstport",
                            "-e", f"{transport}.payload").splitlines()
        return [(float(t), int(source), int(to), bytes.fromhex(data))
                for t, source, to, data in (row.split("\t") for row in rows)]

    def packets(self):
        """Every RTP packet: (ssrc, epoch, seq, ts, payload type, marker, payload)."""
        out = self._tshark("-Y", "rtp.ssrc", "-T", "fields", "-e", "rtp.ssrc", "-e",
                           "frame.time_epoch", "-e", "rtp.seq", "-e", "rtp.timestamp", "-e",
                           "rtp.p_type", "-e", "rtp.marker", "-e", "rtp.payload")
        rows = []
        for line in out.splitlines():
            ssrc, epoch, seq, ts, kind, marker, payload = line.split("\t")
            rows.append((int(ssrc, 16), float(epoch), int(seq), int(ts), int(kind),
                         marker in ("1", "True"), bytes.fromhex(payload.replace(":", ""))))
        return rows

    def tshark_summary(self):
        """The table of `tshark -z rtp,streams`: {(ssrc, source, target): dict}."""
        return stream_table(self._tshark("-q", "-z", "rtp,streams"))

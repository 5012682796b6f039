#!/usr/bin/python3
"""Compare offhook analyze with tshark -q -z rtp,streams in the same run.

Makes captures of a million G.729 packets in 1, 100 and 1000 streams (without
SDP: both programs detect RTP heuristically), and reads each with both programs in
turns. Prints packets per second of elapsed time, peak memory, and the ratio to
tshark: by elapsed time, with the target, and by processor time, which is more
reliable on a busy machine. In every turn offhook runs RUNS times, because one run is
shorter than a disturbance of the machine; figures are medians of all runs.

Usage: bench-analyze.py OFFHOOK [PACKETS [TURNS]]
"""
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
from statistics import median

TARGET = 100  # ratio of packets per second to tshark
RUNS = 7  # runs of offhook per run of tshark


def checksum(header):
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xffff) + (total >> 16)
    return ~((total & 0xffff) + (total >> 16)) & 0xffff


def ip_header(length, src, dst):
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, length, 0, 0x4000, 64, 17, 0, src, dst)
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:]


def write_capture(path, packets, streams):
    """Write interleaved streams: a packet every 20 ms, jitter of some hundred us."""
    heads = []
    for i in range(streams):
        src = bytes([10, 0, i >> 8, i & 255])
        udp = struct.pack("!HHHH", 10000 + 2 * i, 20000 + 2 * i, 8 + 12 + 20, 0)
        heads.append(bytes(12) + b"\x08\x00" + ip_header(60, src, b"\x0a\x01\x00\x01") + udp)
    payload = bytes(range(20))
    record = struct.Struct("<IIII")
    rtp = struct.Struct("!BBHII")
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        out = []
        for n in range(packets):
            seq, stream = divmod(n, streams)
            us = seq * 20000 + stream * 20000 // streams + (n * 7919 % 997) // 5
            out.append(record.pack(1700000000 + us // 1000000, us % 1000000, 74, 74) +
                       heads[stream] +
                       rtp.pack(0x80, 18, seq & 0xffff, seq * 160 & 0xffffffff,
                                0x1000 + stream) + payload)
            if len(out) == 50000:
                f.write(b"".join(out))
                out.clear()
        f.write(b"".join(out))


def processor_s():
    """Processor time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(arguments):
    """Run a program. @return its output, its peak memory in MiB

    It is started by time(1): a child of this process would inherit its peak memory.
    """
    done = subprocess.run(["/usr/bin/time", "-q", "-f", "%M", *arguments],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{arguments[0]} failed: {done.stderr}")
    return done.stdout, int(done.stderr.splitlines()[-1]) / 1024


class Runs:
    """Elapsed and processor time of each run; peak memory and output of the last."""

    def __init__(self, *arguments):
        self.arguments = arguments
        self.elapsed, self.used = [], []
        self.mib, self.text = 0.0, ""

    def run(self):
        start, before = time.monotonic(), processor_s()
        self.text, self.mib = run(self.arguments)
        self.elapsed.append(time.monotonic() - start)
        self.used.append(processor_s() - before)

    def count(self, word):
        return sum(1 for line in self.text.splitlines() if word in line.lower())


def measure(offhook, path, streams, turns):
    ours = Runs(offhook, "analyze", path)
    json = Runs(offhook, "analyze", path, "--json")
    theirs = Runs("tshark", "-n", "-q", "-o", "rtp.heuristic_rtp:TRUE", "-z", "rtp,streams",
                  "-r", path)
    for _ in range(turns):
        theirs.run()
        for _ in range(RUNS):
            ours.run()
    json.run()
    for name, found in (("offhook", ours.count(" g729 ")), ("tshark", theirs.count("g729"))):
        if found != streams:
            raise SystemExit(f"{name} found {found} of {streams} streams")
    return ours, json, theirs


def main():
    offhook = sys.argv[1]
    packets = int(sys.argv[2]) if len(sys.argv) > 2 else 1000000
    turns = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    print(f"{packets} packets; medians of {turns} runs of tshark, {turns * RUNS} of offhook; "
          f"load average {os.getloadavg()[0]:.1f} of {os.cpu_count()} processors")
    print(f"{'streams':>7}  {'offhook p/s':>12}  {'MiB':>6}  {'json p/s':>10}  {'MiB':>6}  "
          f"{'tshark p/s':>10}  {'MiB':>6}  {'ratio':>6}  {'target':>10}  {'of CPU':>6}  "
          f"{'of best':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for streams in (1, 100, 1000):
            path = os.path.join(folder, "x.pcap")
            write_capture(path, packets, streams)
            ours, json, theirs = measure(offhook, path, streams, turns)
            elapsed, other = median(ours.elapsed), median(theirs.elapsed)
            print(f"{streams:7}  {packets / elapsed:12.0f}  {ours.mib:6.1f}  "
                  f"{packets / json.elapsed[0]:10.0f}  {json.mib:6.1f}  "
                  f"{packets / other:10.0f}  {theirs.mib:6.1f}  {other / elapsed:6.1f}  "
                  f"{TARGET:3} {'met' if other / elapsed >= TARGET else 'MISSED':>6}  "
                  f"{median(theirs.used) / median(ours.used):6.1f}  "
                  f"{min(theirs.elapsed) / min(ours.elapsed):7.1f}",
                  flush=True)


if __name__ == "__main__":
    main()

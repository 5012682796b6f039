#!/usr/bin/python3
"""offhook analyze beside tshark -q -z rtp,streams, in the same run.

Makes captures of a million G.729 packets in 1, 100 and 1000 streams (without
SDP: both programs find RTP by its behaviour), reads each with both programs, and
prints packets a second of elapsed time (best of the repeats), peak memory, and how
many times the packets of tshark that is: by elapsed time, and by processor time,
which says more on a busy machine.

Usage: bench-analyze.py OFFHOOK [PACKETS [REPEATS]]
"""
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time


def checksum(header):
    total = sum(struct.unpack("!10H", header))
    total = (total & 0xffff) + (total >> 16)
    return ~((total & 0xffff) + (total >> 16)) & 0xffff


def ip_header(length, src, dst):
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, length, 0, 0x4000, 64, 17, 0, src, dst)
    return header[:10] + struct.pack("!H", checksum(header)) + header[12:]


def write_capture(path, packets, streams):
    """Streams interleaved, 20 ms a packet, jitter of some hundred us."""
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
    """Of all children that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(arguments):
    """Output, peak memory in MiB.

    time(1) starts the program: a child of this one would inherit its peak.
    """
    done = subprocess.run(["/usr/bin/time", "-q", "-f", "%M", *arguments],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{arguments[0]} failed: {done.stderr}")
    return done.stdout, int(done.stderr.splitlines()[-1]) / 1024


def best(arguments, repeats):
    """Elapsed and processor time, the least of each; peak memory; output."""
    elapsed, used = [], []
    for _ in range(repeats):
        start, before = time.monotonic(), processor_s()
        text, mib = run(arguments)
        elapsed.append(time.monotonic() - start)
        used.append(processor_s() - before)
    return min(elapsed), min(used), mib, text


def main():
    offhook = sys.argv[1]
    packets = int(sys.argv[2]) if len(sys.argv) > 2 else 1000000
    repeats = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    print(f"{packets} packets, best of {repeats} (tshark: of 2)")
    print(f"{'streams':>7}  {'offhook p/s':>12}  {'MiB':>6}  {'json p/s':>10}  {'MiB':>6}  "
          f"{'tshark p/s':>10}  {'MiB':>6}  {'ratio':>6}  {'of CPU':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for streams in (1, 100, 1000):
            path = os.path.join(folder, "x.pcap")
            write_capture(path, packets, streams)
            ours, ours_cpu, ours_mib, text = best([offhook, "analyze", path], repeats)
            found = sum(1 for line in text.splitlines() if " G729 " in line)
            if found != streams:
                raise SystemExit(f"offhook found {found} of {streams} streams")
            json, _, json_mib, _ = best([offhook, "analyze", path, "--json"], 1)
            theirs, theirs_cpu, theirs_mib, text = best(
                ["tshark", "-n", "-q", "-o", "rtp.heuristic_rtp:TRUE", "-z", "rtp,streams",
                 "-r", path], min(repeats, 2))
            found = sum(1 for line in text.splitlines() if "g729" in line.lower())
            if found != streams:
                raise SystemExit(f"tshark found {found} of {streams} streams")
            print(f"{streams:7}  {packets / ours:12.0f}  {ours_mib:6.1f}  "
                  f"{packets / json:10.0f}  {json_mib:6.1f}  "
                  f"{packets / theirs:10.0f}  {theirs_mib:6.1f}  {theirs / ours:6.1f}  "
                  f"{theirs_cpu / ours_cpu:6.1f}",
                  flush=True)


if __name__ == "__main__":
    main()

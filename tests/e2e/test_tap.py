"""offhook tap: the traffic of an interface, measured as the engine measures its own
calls."""
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench import Bench, stream
from capture import Capture
from netns import cable, ip
from relay import TO_CALLEE, Relay

BUILD = Path(os.environ.get("OFFHOOK_BUILD", Path(__file__).resolve().parents[2] / "build"))

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for packet sockets")

# sends numbered PCMU RTP from argv 1:2 to argv 3:4, argv 5 packets, without the numbers
# argv 6...
SENDER = """
import socket, struct, sys, time
source, dest, count, gone = sys.argv[1:3], sys.argv[3:5], int(sys.argv[5]), sys.argv[6:]
s = socket.socket(socket.AF_INET6 if ":" in source[0] else socket.AF_INET, socket.SOCK_DGRAM)
s.bind((source[0], int(source[1])))
for n in range(count):
    if str(n) not in gone:
        s.sendto(struct.pack("!BBHII", 128, 0, n, 160 * n, 0xabcdef01) + b"x" * 160,
                 (dest[0], int(dest[1])))
    time.sleep(0.01)
"""


class Tap:
    def __init__(self, interface, *words, prefix=()):
        self._process = subprocess.Popen(
            [*prefix, str(BUILD / "offhook"), "tap", "--interface", interface, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self._process.stderr.readline()
        if "listening" not in line:
            self._process.wait()
            pytest.fail(line)

    def end(self):
        """@return (lines of output, exit status)"""
        self._process.send_signal(signal.SIGTERM)
        out, err = self._process.communicate(timeout=60)
        assert "Sanitizer" not in err and "runtime error" not in err, err
        return out, self._process.returncode


@contextmanager
def tap_json(interface, *words, prefix=()):
    """Yields a list that contains the JSON objects once the block ends."""
    tap, objects = Tap(interface, "--json", *words, prefix=prefix), []
    try:
        yield objects
    finally:
        out, _ = tap.end()
        objects += [json.loads(line) for line in out.splitlines()]


def of(objects, kind):
    return [o for o in objects if o["type"] == kind]


def test_tap_and_engine_agree_on_an_impaired_call(tmp_path, ports):
    seed = int(os.environ.get("OFFHOOK_SEED", int.from_bytes(os.urandom(4), "big")))
    print(f"seed {seed}")
    with Relay(ports.control, ports.relay, 0.05, TO_CALLEE, seed, delay_ms=30) as relay, \
            Bench(tmp_path, ports, relay) as bench, \
            tap_json("lo", "--filter",
                     f"host 127.0.0.1 and portrange {ports.base}-{ports.relay[1]}") as seen:
        run, report = bench.run(bench.single_call(duration=12), timeout=90)
        assert run["status"] == "passed", run["result_description"]
    state = of(seen, "tap")[-1]
    assert state["dropped"] == 0 and state["sdp"] >= 4, state
    for role in ("caller", "callee"):
        told = stream(report, role, "in")
        tapped, = (s for s in of(seen, "stream") if s["key"]["ssrc"] == told["ssrc"]
                   and ports.relay[0] <= s["key"]["sport"] <= ports.relay[1])
        print(role, told["jitter_ms"], tapped["jitter_ms"])
        assert tapped["announced"] and tapped["codec"] == "PCMU"
        for member in ("packets", "expected", "lost", "duplicates", "reordered"):
            assert tapped[member] == told[member], member
        for member in ("avg", "max", "p95"):
            assert abs(tapped["jitter_ms"][member] - told["jitter_ms"][member]) < 0.1, member
        assert tapped["mos"] == pytest.approx(told["mos_total"], abs=0.001)
        assert told["jitter_ms"]["avg"] > 3
        parts = [i for i in of(seen, "interval") if i["key"] == tapped["key"]]
        assert sum(i["packets"] for i in parts) == tapped["packets"]
        assert sum(i["lost"] for i in parts) == tapped["lost"]
    damaged = stream(report, "callee", "in")
    assert damaged["lost"] > 0 and damaged["reordered"] > 0
    # the reporters' round trip times, through the relay and back
    assert {r["ssrc"] for r in of(seen, "reporter")} >= {damaged["ssrc"]}


def test_the_filter_decides_what_is_measured(ports):
    a, b, to, other = (ports.rtp[0] + n for n in range(4))
    with tap_json("lo", "--filter", f"dst port {to} and not src port {b}") as seen:
        for source, dest in ((a, to), (b, to), (a, other)):
            subprocess.run([sys.executable, "-c", SENDER, "127.0.0.1", str(source), "127.0.0.1",
                            str(dest), "50", "20", "21"], check=True)
        time.sleep(0.3)
    only, = of(seen, "stream")
    assert (only["key"]["sport"], only["key"]["dport"]) == (a, to)
    assert (only["packets"], only["lost"], only["expected"]) == (48, 2, 50)
    assert not only["announced"]
    assert of(seen, "tap")[-1]["frames"] == 48


def test_the_table_is_for_people(ports):
    first, last = ports.rtp
    tap = Tap("lo", "--filter", f"port {last}", "--interval", "0.5")
    subprocess.run([sys.executable, "-c", SENDER, "127.0.0.1", str(first), "127.0.0.1", str(last),
                    "60", "7"], check=True)
    time.sleep(0.7)
    out, status = tap.end()
    tables = out.split("source ")
    assert status == 0 and len(tables) >= 2
    assert f"127.0.0.1:{first}" in tables[-1] and "abcdef01" in tables[-1]
    assert "59     1" in tables[-1], tables[-1]
    assert "the end" in out


def rtp_of_ipv6(last, number):
    """An IPv6 packet from fd00::LAST to fd00::1 with RTP."""
    rtp = struct.pack("!BBHII", 128, 0, number, 160 * number, last) + bytes(160)
    udp = struct.pack("!HHHH", 7000, 7002, 8 + len(rtp), 0) + rtp
    return (struct.pack("!IHBB", 6 << 28, len(udp), 17, 64)
            + socket.inet_pton(socket.AF_INET6, f"fd00::{last}")
            + socket.inet_pton(socket.AF_INET6, "fd00::1") + udp)


def losses(seen):
    return {s["key"]["src"]: (s["packets"], s["lost"]) for s in of(seen, "stream")}


# sends frames, hexadecimal lines of its standard input, on the interface argv 1
FRAMES = """
import socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((sys.argv[1], 0))
for line in sys.stdin:
    s.send(bytes.fromhex(line))
"""


def test_tags_and_ipv6():
    """Without a VLAN tag, with one and with two, which the kernel may strip."""
    ethernet = b"\xff" * 6 + b"\x02\0\0\0\0\x09"
    tags = {2: b"", 3: bytes.fromhex("81000005"), 4: bytes.fromhex("88a8000681000005"),
            5: bytes.fromhex("81000005")}
    frames = [ethernet + tag + b"\x86\xdd" + rtp_of_ipv6(last, n)
              for n in range(40) for last, tag in tags.items() if n != 10 + last]
    with cable() as (ours, theirs):
        with tap_json("va", "--filter", "net fd00::/127 and not src host fd00::5",
                      prefix=("ip", "netns", "exec", ours)) as seen:
            subprocess.run(["ip", "netns", "exec", theirs, sys.executable, "-c", FRAMES, "vb"],
                           input="\n".join(f.hex() for f in frames), text=True, check=True)
            time.sleep(0.3)
    assert losses(seen) == {f"fd00:0:0:0:0:0:0:{n}": (39, 1) for n in (2, 3, 4)}


def rtp_of_ipv4(port, number):
    """An IPv4 packet from 10.9.0.1 to 10.9.0.2, port to port + 2, with RTP."""
    rtp = struct.pack("!BBHII", 128, 0, number, 160 * number, port) + bytes(160)
    udp = struct.pack("!HHHH", port, port + 2, 8 + len(rtp), 0) + rtp
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0, b"\x0a\x09\0\x01",
                       b"\x0a\x09\0\x02")
    total = sum(struct.unpack("!10H", head))
    total = (total & 0xffff) + (total >> 16)
    return head[:10] + struct.pack("!H", 0xffff - total) + head[12:] + udp


@pytest.mark.parametrize("expression", [
    "udp and host 10.9.0.2 and portrange 7000-7002",
    "src net 10.9.0.0/24 and not port 7000 or dst host fd00::1 and udp dst port 7002",
    "udp port 7004 or 7006 or src host fd00::2",
    "udp[10:2] & 3 = 1",
])
def test_the_same_packets_as_dumpcap(expression, tmp_path):
    """libpcap's own program and ours, on the same interface."""
    frames = [b"\xff" * 6 + b"\x02\0\0\0\0\x09" + packet for n in range(40) for packet in
              [b"\x08\0" + rtp_of_ipv4(port, n) for port in (7000, 7004, 7006)]
              + [b"\x86\xdd" + rtp_of_ipv6(last, n) for last in (2, 3)]]
    with cable() as (ours, theirs):
        inside = ("ip", "netns", "exec", ours)
        with Capture(tmp_path, (7000, 7009), ours, "va", expression) as witness, \
                tap_json("va", "--filter", expression, prefix=inside) as seen:
            subprocess.run(["ip", "netns", "exec", theirs, sys.executable, "-c", FRAMES, "vb"],
                           input="\n".join(f.hex() for f in frames), text=True, check=True)
            time.sleep(0.3)
    rows = witness.datagrams()
    assert 0 < len(rows) < len(frames)
    state = of(seen, "tap")[-1]
    assert state["dropped"] == 0
    assert sum(s["packets"] for s in of(seen, "stream")) + state["non_media_udp"] == len(rows)


def test_plain_ip_of_a_tunnel():
    name = f"offtap{os.getpid() % 10000}"
    try:
        tun = os.open("/dev/net/tun", os.O_RDWR)
    except OSError as error:
        pytest.skip(f"no tunnel: {error}")
    try:
        fcntl.ioctl(tun, 0x400454ca, struct.pack("16sH22x", name.encode(), 0x1001))
        ip("link", "set", name, "up")
        with tap_json(name, "--filter", "port 7002") as seen:
            for n in range(40):
                if n != 12:
                    os.write(tun, rtp_of_ipv6(2, n))
            time.sleep(0.3)
    finally:
        os.close(tun)
    assert losses(seen) == {"fd00:0:0:0:0:0:0:2": (39, 1)}


def test_what_the_kernel_dropped_is_told(ports):
    """A stopped tap does not read its ring: dropped packets are reported, with the
    figures."""
    first, last = ports.rtp
    tap = Tap("lo", "--json", "--filter", f"dst port {last}")
    tap._process.send_signal(signal.SIGSTOP)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", first))
        for n in range(3000):  # a ring of 32 MiB does not hold 90 MB
            s.sendto(struct.pack("!BBHII", 128, 0, n, 160 * n, 7) + bytes(30000),
                     ("127.0.0.1", last))
    tap._process.send_signal(signal.SIGCONT)
    time.sleep(0.5)
    out, _ = tap.end()
    objects = [json.loads(line) for line in out.splitlines()]
    state = of(objects, "tap")[-1]
    only, = of(objects, "stream")
    assert state["frames"] == 3000 and 0 < state["dropped"] < 3000
    assert only["packets"] == 3000 - state["dropped"]


@pytest.mark.parametrize("words,status,text", [
    (("--interface", "nowhere"), 1, 'there is no interface "nowhere"'),
    ((), 2, "--interface is missing"),
    (("--interface", "lo", "--filter", "port 1 or"), 2,
     'syntax error: the syntax is that of tcpdump, as in "udp and host 192.0.2.1 and portrange'),
    (("--interface", "lo", "--filter", "host pbx.example.net"), 2, "names are not looked up"),
    (("--interface", "lo", "--interval", "0"), 2, "--interval is 0.1 to 3600"),
    (("--interface", "lo", "extra"), 2, '"extra" is not understood'),
])
def test_what_is_wrong_is_said(words, status, text):
    done = subprocess.run([str(BUILD / "offhook"), "tap", *words], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == status and text in done.stderr, done.stderr


def test_without_the_capability_the_remedy_is_said():
    done = subprocess.run(
        ["setpriv", "--bounding-set", "-net_raw", "--inh-caps", "-net_raw",
         str(BUILD / "offhook"), "tap", "--interface", "lo"],
        capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "CAP_NET_RAW is missing" in done.stderr, done.stderr


def test_an_interface_that_goes_is_the_end():
    with cable() as (ours, _):
        tap = Tap("va", "--json", prefix=("ip", "netns", "exec", ours))
        ip("-n", ours, "link", "del", "va")
        out, err = tap._process.communicate(timeout=60)
    assert tap._process.returncode == 1 and "went down" in err, (out, err)

"""The test tools themselves: relay, capture and E-model must be right before they may
judge anything."""
import os
import random
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

import g107
from capture import Capture
from peers import Kamailio, answers_options
from relay import TO_CALLEE, TO_CALLER, Relay
from times import CLOCKS_MS, at_least


def send_stream(sock, target, ssrc, first_seq, count):
    for i in range(count):
        header = struct.pack("!BBHII", 0x80, 0, (first_seq + i) % 65536,
                             160 * i, ssrc)
        sock.sendto(header + bytes(160), target)
        time.sleep(0.001)


def control(port, text):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect(("127.0.0.1", port))
        s.settimeout(60)
        s.send(f"c{random.random()} {text}".encode())
        return s.recv(1000).decode().split(" ", 1)[1].split()


@pytest.fixture
def phones(ports):
    """Two sockets that play caller and callee."""
    pair = []
    for port in (ports.rtp[0], ports.rtp[0] + 2):
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        s.bind(("127.0.0.1", port))
        pair.append(s)
    yield pair
    for s in pair:
        s.close()


def drain(sock):
    sock.settimeout(0.3)
    got = []
    while True:
        try:
            got.append(struct.unpack_from("!H", sock.recv(2000), 2)[0])
        except socket.timeout:
            return got


def test_relay_log_is_what_arrives_and_what_tshark_sees(tmp_path, ports, phones):
    caller, callee = phones
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    with Capture(tmp_path, (ports.rtp[0], ports.relay[1])) as capture, \
            Relay(ports.control, ports.relay, 0.05, TO_CALLEE, seed) as relay:
        for_callee = control(ports.control,
                             f"U call 127.0.0.1 {caller.getsockname()[1]} tag;1")
        for_caller = control(ports.control,
                             f"L call 127.0.0.1 {callee.getsockname()[1]} tag;1 to;1")
        assert for_callee[0] != for_caller[0]
        send_stream(caller, ("127.0.0.1", int(for_caller[0])), 0xC0FFEE, 65400, 500)
        send_stream(callee, ("127.0.0.1", int(for_callee[0])), 0xBEEF, 7, 100)
        deadline = time.monotonic() + 60
        while len(relay.packets) < 600:
            assert time.monotonic() < deadline, len(relay.packets)
            time.sleep(0.05)
    # its thread has ended, so all of them were sent on
    at_callee, at_caller = drain(callee), drain(caller)
    assert not relay.errors
    log = relay.log(TO_CALLEE)[0xC0FFEE]
    assert len(log) == 500
    assert at_callee == [p.seq for p in log if not p.dropped]
    again = random.Random(seed)
    assert [p.dropped for p in log] == [again.random() < 0.05 for _ in log]
    assert 0 < sum(p.dropped for p in log) < 60
    assert len(at_caller) == len(relay.log(TO_CALLER)[0xBEEF]) == 100

    arrived = {k: s for k, s in capture.streams().items()
               if k[2] == callee.getsockname()[1]}
    (key, stream), = arrived.items()
    assert [seq for _, seq, _ in stream.packets] == at_callee
    forwarded = [i for i, p in enumerate(log) if not p.dropped]
    lost = sum(p.dropped for p in log[forwarded[0]:forwarded[-1]])
    assert stream.lost() == lost
    summary = capture.tshark_summary()[key]
    assert summary["packets"] == len(at_callee)
    assert summary["lost"] == lost
    assert abs(summary["mean_jitter_ms"] - stream.mean_jitter_ms()) < 0.5


def test_g107_published_values():
    """Published values: the default R of 93.2 is MOS 4.41; G.711 with PLC at 5 % loss
    is 77.43."""
    assert round(g107.mos(93.2062), 4) == 4.4094
    assert round(g107.r_with_loss(5.0), 4) == 77.4255
    assert g107.burst_ratio([0] * 10) == 1.0
    assert round(g107.burst_ratio([0, 1, 1, 0, 0, 0, 0, 0, 0, 0]), 3) == 1.6
    assert g107.burst_ratio([0] * 90 + [1] * 10) == 8.0


def test_kamailio_starts_and_refuses_strangers(tmp_path, ports):
    with Kamailio(tmp_path, ports.sip):
        assert answers_options(ports.sip, timeout=60)
    assert not answers_options(ports.sip, timeout=0.2)


FAILING = """
import pytest
from controller import Controller
from peers import Kamailio


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    with Kamailio(tmp_path_factory.mktemp("proxy"), %d) as kamailio:
        yield kamailio


def test_beside_one_that_goes_on(proxy):
    with open(proxy.log, "a") as log:
        log.write("what the proxy wrote")
    assert False


def test_beside_one_that_is_gone():
    with Controller():
        assert False, ({str(n): "x" * 90 for n in range(9)}, "reason ".upper())


def test_that_passes(proxy):
    with open(proxy.log, "a") as log:
        log.write("what nobody wants to read")
"""


def test_logs_are_shown_of_what_fails(tmp_path, ports):
    (tmp_path / "test_failing.py").write_text(FAILING % ports.sip)
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", "-p", "conftest", "-s",
         tmp_path / "test_failing.py"], capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)})
    assert "2 failed, 1 passed" in done.stdout, done.stdout
    # pytest's heading of a failure, not its summary: how much of a summary line is
    # shown depends on the width of the terminal and the length of the path.
    first, second = done.stdout.split("_ test_beside_one_that_is_gone _")
    assert "kamailio.log" in first and "what the proxy wrote" in first
    assert "controller.log" in second and "listening on http" in second
    assert "nobody wants" not in done.stdout
    assert "'REASON '" in second   # whatever else the message contains


def test_times_are_compared_with_their_tolerance():
    assert at_least(1999.99, 2000) and at_least(2000 - CLOCKS_MS, 2000) and at_least(9000, 2000)
    assert not at_least(1970, 2000) and not at_least(0, 2000)
    with pytest.raises(AssertionError):
        at_least(50, 30)

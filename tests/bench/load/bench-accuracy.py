#!/usr/bin/python3
"""Whether a stream is measured as truly beside many calls as alone.

An engine calls another one through a proxy and a relay, which loses 5 % of the packets to the called side and holds each of the
others for up to 10 ms, both by a seed. The called engine measures that stream alone, and beside CALLS calls that another engine has
placed to it before, in turns. Of each turn: the loss that the called engine
states and the relay's own count of it, which must be equal; the mean jitter, and the jitter of the times at which the relay sent,
since a relay that waits for a processor adds to what was drawn; what the machine did meanwhile. The medians of the difference of
the two, alone and beside the calls, must be within 0.2 ms of each other.

Usage: bench-accuracy.py BUILD [CALLS [SECONDS [TURNS [SEED]]]]     1000 calls, 40 s, 2 turns of each, seed 1
"""
import importlib.util
import os
import statistics
import struct
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[2]), str(HERE.parents[2] / "e2e")]
os.environ["OFFHOOK_BUILD"] = str(Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve())

from machine import Machine  # noqa: E402
from peers import SUBSCRIBERS, Kamailio  # noqa: E402
from ports import PortBlock  # noqa: E402
from relay import TO_CALLEE, Relay  # noqa: E402
from test_loss import lost_map  # noqa: E402

_spec = importlib.util.spec_from_file_location("bench_load", HERE.parent / "bench-load.py")
load = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(load)

LOSS, DELAY_MS = 0.05, 10
NEAR_MS = 0.2
PORTS = (34000, 46000, 58000)  # of the two engines: above the blocks of PortBlock


class TimelyRelay(Relay):
    """Its thread is in the real-time class, and notes when it sent the packets that it held."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.sent = {}  # of a stream: (time of its clock in s, of the wall clock)

    def _run(self):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        super()._run()

    def _send(self, sock, data, address):
        stamp, ssrc = struct.unpack_from("!II", data, 4)
        at = time.time()
        super()._send(sock, data, address)
        self.sent.setdefault(ssrc, []).append((stamp / 8000, at))


def mean_jitter_ms(sent):
    """The mean of J (RFC 3550 section 6.4.1) after each packet."""
    j, total = 0.0, 0.0
    for (before, at_before), (now, at) in zip(sent, sent[1:]):
        j += (abs((at - at_before) - (now - before)) - j) / 16
        total += j
    return 1000 * total / (len(sent) - 1)


def call(port, user, **more):
    return {"type": "call", "dial_destination": "1002", "audio_codecs": ["PCMU"],
            "credentials": [{"username": user, "password": SUBSCRIBERS.get(user, "")}],
            "target": {"hosts": [{"host": "127.0.0.1", "port": port}]}, **more}


def turn(build, calls, seconds, seed):
    """@return (lost as stated, by the relay's count; mean jitter in ms as stated, of the times the relay sent at)"""
    ports = PortBlock()
    via = {"target": {"hosts": [{"host": "127.0.0.1", "port": ports.sip}]}}
    called = {"credentials": [{"username": "1002", "password": SUBSCRIBERS["1002"]}]}
    direct = ports.silent
    with tempfile.TemporaryDirectory() as folder, \
            TimelyRelay(ports.control, ports.relay, LOSS, TO_CALLEE, seed, DELAY_MS) as relay, Kamailio(folder, ports.sip, relay):
        callee = load.Engine(build, "callee", [[
            {"type": "register", **via, **called},
            {"type": "answer", **called, "audio_codecs": ["PCMU"]}], []], PORTS[0], direct, rtp_max=PORTS[1] - 1)
        others = load.Engine(build, "others", [[], [call(
            direct, "1003", max_total_calls=max(calls, 1), max_concurrent_calls=max(calls, 1),
            calls_per_second=load.RATE, call_duration=3000)]], PORTS[1], rtp_max=PORTS[2] - 1)
        caller = load.Engine(build, "caller", [[], [call(ports.sip, "1001", max_total_calls=1, call_duration=seconds)]],
                             ports.rtp[0], rtp_max=ports.rtp[1])
        engines = [callee, others, caller]
        try:
            for engine in engines:
                engine.go(0)
            load.until(engines, lambda: all(e.ready == 0 for e in engines), "the registration")
            callee.go(1)
            if calls:
                others.go(1)
                load.until(engines, lambda: all(e.live.get("calls_active") == calls for e in (callee, others)), "all calls")
            caller.go(1)
            load.hold(engines, seconds + 2)
            load.ended(engines)
        finally:
            for engine in engines:
                engine.process.kill()
        assert not relay.errors, relay.errors
        (ssrc, log), = relay.log(TO_CALLEE).items()
    streams = [s for c in callee.events if c["kind"] == "call" for s in c["streams"] if s["dir"] == "in"]
    assert len(streams) == calls + 1, len(streams)
    stream, = (s for s in streams if int(s["ssrc"], 16) == ssrc)
    ports.close()
    return stream["lost"], sum(lost_map(log)), stream["jitter_ms"]["avg"], mean_jitter_ms(relay.sent[ssrc])


def main():
    if not 2 <= len(sys.argv) <= 6:
        sys.exit(__doc__)
    calls, seconds, turns, seed = (int(a) for a in [*sys.argv[2:], *("1000", "40", "2", "1")[len(sys.argv) - 2:]])
    build, machine, off, wrong = Path(os.environ["OFFHOOK_BUILD"]), Machine(), {0: [], calls: []}, 0
    for _ in range(turns):
        for beside in (0, calls):
            begun = time.time()
            stated, true, jitter, sent = turn(build, beside, seconds, seed)
            off[beside].append(jitter - sent)
            wrong += stated != true
            print(f"beside {beside} calls: {stated} lost, by the relay {true}{'' if stated == true else ': WRONG'}; mean jitter "
                  f"{jitter:.3f} ms, as sent {sent:.3f}; {machine.during(begun, time.time())}", flush=True)
    alone, beside = (statistics.median(off[n]) for n in (0, calls))
    print(f"jitter less that as sent: alone {alone:+.3f} ms, beside {calls} calls {beside:+.3f} ms, at most {NEAR_MS} ms apart; "
          f"loss wrong in {wrong} of {2 * turns} turns")
    sys.exit(1 if wrong or abs(beside - alone) > NEAR_MS else 0)


main()

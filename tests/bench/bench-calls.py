#!/usr/bin/python3
"""Cost of real calls: two engines that call each other, plain and encrypted, compared with SIPp.

All calls of a round are up at the same time: two-way G.711 at 20 ms, SIP and RTP on loopback. For a
window of SECONDS with media only it prints the processor time of both processes (all of their threads,
/proc/PID/task/*/schedstat), per call and per packet; other load affects the figure per packet least. At
the end it prints the engine's own figures: packets, loss, 99th percentile of the send lateness, drops.
SIPp's user agents stream the same codec; they send, and do not read what they receive. Rounds follow each
other, so that other load affects ratios little; the load average is printed.

The mode "one" is the acceptance test of a single engine: it places all calls to a SIPp, two-way, in one
round. It prints the processor time of each side per call, and the engine's send lateness with its target
of 2 ms (99th percentile). SIPp sends and does not read, so the engine's time is also printed per thread:
sending compares to SIPp's time; receiving and measuring have no counterpart. In "one-echo" the SIPp reads
each packet and sends it back (-rtp_echo, one socket and one thread for all calls), but measures nothing.
To show which part of the lateness the machine causes, it also prints how late bench-timer wakes meanwhile
(a thread that only sleeps until the next millisecond, with and without real-time priority), the processor
time that the hypervisor gave to others (steal), and the time that the engine's threads waited for a
processor (run queue).

Usage: bench-calls.py BUILD [CALLS [SECONDS [MODE...]]]
MODE: plain, a crypto suite, dtls, sipp, one, one-echo, one-normal (without real-time priority); by default plain, two suites, sipp, one
and one-echo. Needs sip-tester for sipp and one. "bench-calls.py build 500 20 one" tests 500 calls.
"""
import json
import os
import re
import resource
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ENGINE_FD = 3
UUID = "0a1b2c3d-0000-4000-8000-000000000001"

UAC = """<?xml version="1.0" encoding="UTF-8" ?>
<scenario name="caller">
<send retrans="500"><![CDATA[

INVITE sip:callee@[remote_ip]:[remote_port] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From: <sip:caller@[local_ip]:[local_port]>;tag=[pid]SIPp[call_number]
To: <sip:callee@[remote_ip]:[remote_port]>
Call-ID: [call_id]
CSeq: 1 INVITE
Contact: <sip:caller@[local_ip]:[local_port]>
Max-Forwards: 70
Content-Type: application/sdp
Content-Length: [len]

v=0
o=sipp 1 1 IN IP[local_ip_type] [local_ip]
s=-
c=IN IP[media_ip_type] [media_ip]
t=0 0
m=audio [rtpstream_audio_port] RTP/AVP 0
a=rtpmap:0 PCMU/8000
a=ptime:20

]]></send>
<recv response="180" optional="true"/>
<recv response="200"/>
<send><![CDATA[

ACK sip:callee@[remote_ip]:[remote_port] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From: <sip:caller@[local_ip]:[local_port]>;tag=[pid]SIPp[call_number]
To: <sip:callee@[remote_ip]:[remote_port]>[peer_tag_param]
Call-ID: [call_id]
CSeq: 1 ACK
Max-Forwards: 70
Content-Length: 0

]]></send>
<nop><action><exec rtp_stream="tone.ulaw,-1,0"/></action></nop>
<pause milliseconds="600000"/>
</scenario>
"""


def cpu_ns(pid):
    """Processor time of all its threads, ns."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except FileNotFoundError:
            pass
    return total


def threads_ns(pid):
    """Per thread name: (ns that its threads ran, ns that they waited for a processor)."""
    times = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            name = (task / "comm").read_text().strip()
            ran, waited = map(int, (task / "schedstat").read_text().split()[:2])
            before = times.get(name, (0, 0))
            times[name] = (before[0] + ran, before[1] + waited)
        except FileNotFoundError:
            pass
    return times


def by_thread(before, after, took):
    """Per thread name: the shares of a processor that it (used, waited for)."""
    return {name: tuple((x - y) / took / 1e9 for x, y in zip(times, before.get(name, (0, 0))))
            for name, times in after.items()}


def steal_s():
    """Processor time that the hypervisor gave to others (steal), over all processors."""
    return int(Path("/proc/stat").read_text().split("\n")[0].split()[8]) / os.sysconf("SC_CLK_TCK")


class Timers:
    """bench-timer, run with and without real-time priority for a number of seconds."""

    def __init__(self, build, seconds):
        program = build / "tests" / "bench" / "bench-timer"
        subprocess.run(["ninja", "-C", str(build), str(program.relative_to(build))], check=True,
                       stdout=subprocess.DEVNULL)
        self._steal, self._start = steal_s(), time.monotonic()
        self._running = [(name, subprocess.Popen(
            [str(program), str(seconds), "1000", str(priority)], stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)) for name, priority in (("plain", 0), ("real-time", 2))]

    def end(self):
        """@return lines"""
        lines = [f"a bare timer, {name}: {process.communicate()[0].strip()}"
                 for name, process in self._running]
        took = time.monotonic() - self._start
        stolen = 100 * (steal_s() - self._steal) / took / os.cpu_count()
        return [*lines, f"steal {stolen:.1f} % of the processors' time"]


class Engine:
    """offhook-agent --engine: lines of JSON on a socket."""

    def __init__(self, build, role, steps, rtp, sip_port=0, scheduling="auto", rtp_max=None, share=None,
                 bind="127.0.0.1", interval_s=10, prefix=(), max_duration_s=3600):
        ours, theirs = socket.socketpair()
        self._socket = ours
        self._pending = b""
        self.ready, self.live, self.finish = -1, {}, None
        self.events = []

        def child():
            os.dup2(theirs.fileno(), ENGINE_FD)
        self.process = subprocess.Popen(
            [*prefix, str(build / "offhook-agent"), f"--engine={ENGINE_FD}"], preexec_fn=child,
            close_fds=False, stderr=subprocess.DEVNULL)
        theirs.close()
        self.send({"type": "job", "spec": {
            "session_id": UUID, "role": role, "attempt": 1, "interval_s": interval_s,
            "max_duration_s": max_duration_s, "record": "none", "steps": steps}, "engine": {
                "bind": bind, "sip_port": sip_port, "rtp_min": rtp, "rtp_max": rtp_max or rtp + 4999,
                "media_scheduling": scheduling}, **({"share": share} if share else {})})

    def send(self, message):
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def go(self, step, at_ns=0):
        self.send({"type": "go", "step": step, "in_ms": 0, **({"at_ns": at_ns} if at_ns else {})})

    def pump(self, seconds=0.1):
        if not select.select([self._socket], [], [], seconds)[0]:
            return
        data = self._socket.recv(1 << 20)
        if not data and self.finish is None:
            raise RuntimeError("the engine died")
        self._pending += data
        *lines, self._pending = self._pending.split(b"\n")
        for line in lines:
            message = json.loads(line)
            kind = message["type"]
            if kind == "ready":
                self.ready = message["step"]
            elif kind == "live":
                self.live = message
            elif kind == "events":
                self.events += message["events"]
            elif kind == "finish":
                self.finish = message


def until(engines, condition, what, seconds=180):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"never came: {what}")
        for engine in engines:
            engine.pump()


def hold(engines, seconds):
    if not engines:
        time.sleep(seconds)
        return
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for engine in engines:
            engine.pump()


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def options(mode):
    if mode == "plain":
        return {}
    if mode == "dtls":
        return {"media_encryption": "dtls"}
    return {"media_encryption": "sdes-mandatory", "srtp_suites": [mode]}


def snapshot(engine):
    """@return (processor ns, packets sent and received) when the engine reports them"""
    engine.live = {}
    until([engine], lambda: engine.live, "live figures")
    return (cpu_ns(engine.process.pid),
            engine.live["in"]["packets"] + engine.live["out"]["packets"], time.monotonic())


def measure(engines, seconds):
    """@return (processors used, processor us per packet sent or received)"""
    before = [snapshot(e) for e in engines]
    hold(engines, seconds)
    after = [snapshot(e) for e in engines]
    ns = sum(a[0] - b[0] for a, b in zip(after, before))
    packets = sum(a[1] - b[1] for a, b in zip(after, before))
    return (sum((a[0] - b[0]) / (a[2] - b[2]) / 1e9 for a, b in zip(after, before)),
            ns / packets / 1000)


def round_of_engines(build, mode, calls, seconds):
    port, more = free_port(), {**options(mode), "audio_codecs": ["PCMU"]}
    callee = Engine(build, "callee", [[{
        "type": "answer", "credentials": [{"username": "1002"}], **more}], []], 20000, port)
    callee.go(0)
    until([callee], lambda: callee.ready == 0, "the listening callee")
    caller = Engine(build, "caller", [[], [{
        "type": "call", "dial_destination": "1002", "credentials": [{"username": "1001"}],
        "target": {"hosts": [{"host": "127.0.0.1", "port": port}]}, "max_total_calls": calls,
        "max_concurrent_calls": calls, "calls_per_second": 50, "call_duration": 3000, **more}]],
        40000)
    caller.go(0)
    both = [caller, callee]
    until(both, lambda: caller.ready == 0, "the caller")
    caller.go(1)
    callee.go(1)
    until(both, lambda: all(e.live.get("calls_active") == calls for e in both), "all calls")
    hold(both, 3)
    used = measure(both, seconds)
    for engine in both:
        engine.send({"type": "cancel"})
    until(both, lambda: all(e.finish for e in both), "the end")
    for engine in both:
        engine.process.wait(20)
    return used, both


def describe(both):
    lost = sum(s.get("lost", 0) for e in both for c in e.events if c["kind"] == "call"
               for s in c["streams"] if s["dir"] == "in")
    refused = sum(s.get("srtp_auth_failed", 0) for e in both for c in e.events
                  if c["kind"] == "call" for s in c["streams"] if s["dir"] == "in")
    evidence = [next(x for x in e.events if x["kind"] == "evidence") for e in both]
    lateness = ", ".join(f"{x['send_lateness_ms']['p99']:.3f}" for x in evidence)
    drops = sum(x["receive_queue_drops"] + x["ring_drops"] + x["send_errors"] for x in evidence)
    return (f"{sum(x['packets_sent'] for x in evidence)} packets, {lost} lost, {refused} refused, "
            f"{drops} dropped by ourselves, p99 send lateness {lateness} ms")


LATENESS_TARGET_MS = 2.0


def start_uas(folder, calls, port, null, echo=False):
    """Start a SIPp that answers and streams, or sends back what it receives."""
    (folder / "tone.ulaw").write_bytes((b"\x9f" * 8 + b"\x1f" * 8) * 500)
    text = (Path(__file__).resolve().parents[1] / "e2e" / "uas.xml").read_text()
    if echo:
        text = re.sub("<nop>.*</nop>", "", text).replace("rtpstream_audio_port", "media_port")
    (folder / "uas.xml").write_text(text)
    return subprocess.Popen(
        ["/usr/bin/sipp", "-sf", "uas.xml", "-p", str(port), "-l", str(calls), "-i", "127.0.0.1",
         "-mi", "127.0.0.1", "-nostdin", "-mp", "20000", *(["-rtp_echo"] if echo else [])],
        cwd=folder, stdout=null, stderr=null)


def told_one(mode, calls, took, sipp, threads, sent, received):
    """Describe each ratio. All are per packet that the side sent: a SIPp that gets no processor sends less.
    @param threads  of the engine @return text"""
    ran = {name: times[0] for name, times in threads.items()}
    used, sends = sum(ran.values()), ran.get("media-tx", 0)
    measures = ran.get("media-rx", 0) + ran.get("media-analysis", 0)
    sipp_us = 1e6 * sipp * took / received
    does = ("reads each packet and sends it back, and measures nothing" if mode == "one-echo" else
            "sends, and does not read what it receives")

    def share(name, value):
        us = 1e6 * value * took / sent
        return (f"\n  {name}: {100 * value:.1f} % of a processor, {1000 * value / calls:.2f} permille a call, "
                f"{us:.2f} us a packet sent, {us / sipp_us:.2f} of SIPp's")
    return (f"\n  SIPp, which {does}: {100 * sipp:.1f} % of a processor, {1000 * sipp / calls:.2f} permille a call, "
            f"{sipp_us:.2f} us a packet sent"
            + (f" (only {100 * received / sent:.0f} % of as many as the engine)"
               if received < 0.98 * sent else "")
            + share("the engine in all", used)
            + share("of that, sending (RTP and RTCP)", sends)
            + share("of that, receiving and measuring", measures)
            + share("of that, calls, events and the rest", used - sends - measures))


def packets_of(engine):
    """@return packets (sent, received) when the engine reports them"""
    snapshot(engine)
    return engine.live["out"]["packets"], engine.live["in"]["packets"]


def round_of_one(build, calls, seconds, mode):
    """Run one engine with all calls to a SIPp. @return a line of text"""
    folder, port = Path(tempfile.mkdtemp()), free_port()
    with open(os.devnull, "wb") as null:
        sipp = start_uas(folder, calls, port, null, mode == "one-echo")
    try:
        time.sleep(1)
        engine = Engine(build, "caller", [[{
            "type": "call", "dial_destination": "1002", "credentials": [{"username": "1001"}],
            "target": {"hosts": [{"host": "127.0.0.1", "port": port}]}, "audio_codecs": ["PCMU"],
            "max_total_calls": calls, "max_concurrent_calls": calls, "calls_per_second": 50,
            "call_duration": 3000}]], 40000,
            scheduling="normal" if mode == "one-normal" else "auto")
        engine.go(0)
        until([engine], lambda: engine.live.get("calls_active") == calls, "all calls")
        hold([engine], 3)
        timers = Timers(build, seconds)
        sent, received = packets_of(engine)
        before = threads_ns(engine.process.pid)
        sipp_before, start = cpu_ns(sipp.pid), time.monotonic()
        hold([engine], seconds)
        now_sent, now_received = packets_of(engine)
        sent, received = now_sent - sent, now_received - received
        took = time.monotonic() - start
        sipp_used = (cpu_ns(sipp.pid) - sipp_before) / took / 1e9
        threads = by_thread(before, threads_ns(engine.process.pid), took)
        machine = timers.end()
        engine.send({"type": "cancel"})
        until([engine], lambda: engine.finish, "the end")
        engine.process.wait(20)
    finally:
        sipp.kill()
        sipp.wait()
        shutil.rmtree(folder)
    evidence = next(x for x in engine.events if x["kind"] == "evidence")
    late = evidence["send_lateness_ms"]
    got = sum(s["packets"] for c in engine.events if c["kind"] == "call"
                   for s in c["streams"] if s["dir"] == "in")
    return (f"{mode}: {evidence['send_scheduling']} scheduling"
            + told_one(mode, calls, took, sipp_used, threads, sent, received)
            + f"\n  {evidence['packets_sent']} packets sent, {got} "
            f"received, send lateness p50 {late['median']:.3f} p95 {late['p95']:.3f} "
            f"p99 {late['p99']:.3f} max {late['max']:.3f} ms: target of {LATENESS_TARGET_MS} ms "
            f"{'met' if late['p99'] < LATENESS_TARGET_MS else 'MISSED'}"
            + "".join(f"\n  {line}" for line in machine)
            + "; threads that were ready waited for a processor: " + ", ".join(
                f"{name} {100 * times[1]:.1f} %" for name, times in sorted(threads.items())
                if times[1] > 0.001))


def round_of_sipp(calls, seconds):
    folder = Path(tempfile.mkdtemp())
    (folder / "uac.xml").write_text(UAC)
    port, processes = free_port(), []
    with open(os.devnull, "wb") as null:
        processes.append(start_uas(folder, calls, port, null))
        time.sleep(0.5)
        processes.append(subprocess.Popen(
            ["/usr/bin/sipp", "-sf", str(folder / "uac.xml"), f"127.0.0.1:{port}", "-p",
             str(free_port()), "-l", str(calls), "-m", str(calls), "-r", "50", "-i", "127.0.0.1",
             "-mi", "127.0.0.1", "-nostdin", "-mp", "40000"], cwd=folder, stdout=null, stderr=null))
    try:
        time.sleep(calls / 50 + 5)
        if any(p.poll() is not None for p in processes):
            raise RuntimeError("sipp ended")
        before, start = [cpu_ns(p.pid) for p in processes], time.monotonic()
        time.sleep(seconds)
        took = time.monotonic() - start
        return sum(cpu_ns(p.pid) - b for p, b in zip(processes, before)) / took / 1e9, None
    finally:
        for p in processes:
            p.kill()
            p.wait()
        shutil.rmtree(folder)


def main():
    if len(sys.argv) < 2 or not re.fullmatch(r"\d+", (sys.argv[2:] or ["1"])[0]):
        sys.exit(__doc__)
    build = Path(sys.argv[1]).resolve()
    calls = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 10
    modes = sys.argv[4:] or ["plain", "AES_CM_128_HMAC_SHA1_80", "AEAD_AES_128_GCM", "sipp", "one", "one-echo"]
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    print(f"{calls} two-way calls, {seconds} s, {os.cpu_count()} processors, load average "
          f"{os.getloadavg()[0]:.1f}")
    plain = None
    for mode in modes:
        if mode.startswith("one"):
            print(round_of_one(build, calls, seconds, mode), flush=True)
            continue
        if mode == "sipp":
            (used, packet_us), text = round_of_sipp(calls, seconds), ""
        else:
            (used, packet_us), both = round_of_engines(build, mode, calls, seconds)
            text = describe(both)
        plain = packet_us if mode == "plain" else plain
        print(f"{mode}: {100 * used:.1f} % of a processor in both processes, "
              f"{1000 * used / calls / 2:.2f} permille a call and side"
              + (f", {packet_us:.2f} us a packet" if packet_us else "")
              + (f", {packet_us / plain:.2f} of plain" if packet_us and plain else "")
              + f"\n  {text}".rstrip(), flush=True)


if __name__ == "__main__":
    main()

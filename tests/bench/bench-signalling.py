#!/usr/bin/python3
"""Cost of a call's signalling: an engine that places short calls to a SIPp, compared with SIPp's own caller.

Both callers place RATE calls a second for SECONDS to the same SIPp user agent server (one process a round, started
anew): INVITE, 180, 200, ACK, one second of call, BYE, 200, over UDP on loopback. Both place exactly RATE * SECONDS
calls. Printed is the processor time of the caller (all threads, user and system) from before the first call until
the last result was reported, divided by the number of calls. Wall time is not used, so that other load affects the
figure little.

What the two callers do for a call differs, and the engine does more: it opens and closes two sockets (RTP and
RTCP), writes an offer, reads the answer, makes a report of each call, its states and its statistics. SIPp writes
the same messages from a template, and opens no socket for the call.
  signalling  the callee answers "a=inactive": a media session is set up and released, no RTP flows
  media       the callee answers "sendrecv": the engine sends RTP for the second that the call lasts (50 packets),
              which SIPp does not read; the time of the sending thread is printed separately
  signalling-N, media-N   N engine processes (2 to 8) that share the calls, as with `engines` of an agent
  sipp        SIPp's caller, no media: the reference. It runs first and last; ratios are to the mean of both

It also prints whether each call began when it was due (its CALL_OUTGOING compared to the first one plus n / RATE),
how many calls ended as they should, and the retransmissions of both sides (SIPp's counts). A retransmission within
500 ms of a stall of the machine is counted like any other.

Usage: bench-signalling.py BUILD [RATE [SECONDS [MODE...]]]
By default 1000 calls a second for 20 s, modes sipp, signalling, media, sipp. Needs sip-tester.
"""
import collections
import csv
import importlib.util
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_spec = importlib.util.spec_from_file_location("bench_calls", Path(__file__).with_name("bench-calls.py"))
calls_bench = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(calls_bench)

CALL_MS = 1000
RATIO_TARGET = 2.5
ON_TIME_MS = 100  # a call that begins later is not on schedule

SDP = """v=0
o=sipp 1 1 IN IP[local_ip_type] [local_ip]
s=-
c=IN IP[media_ip_type] [media_ip]
t=0 0
m=audio [media_port] RTP/AVP 0
a=rtpmap:0 PCMU/8000
"""

REPLY = """
[last_Via:]
[last_From:]
[last_To:]{tag}
[last_Call-ID:]
[last_CSeq:]
Contact: <sip:[local_ip]:[local_port];transport=[transport]>
"""

UAS = """<?xml version="1.0" encoding="UTF-8" ?>
<scenario name="callee">
<recv request="INVITE"/>
<send><![CDATA[

SIP/2.0 180 Ringing""" + REPLY.format(tag=";tag=[pid]SIPp[call_number]") + """Content-Length: 0

]]></send>
<send retrans="500"><![CDATA[

SIP/2.0 200 OK""" + REPLY.format(tag=";tag=[pid]SIPp[call_number]") + """Content-Type: application/sdp
Content-Length: [len]

""" + SDP + """{direction}
]]></send>
<recv request="ACK"/>
<recv request="BYE"/>
<send><![CDATA[

SIP/2.0 200 OK""" + REPLY.format(tag="") + """Content-Length: 0

]]></send>
<timewait milliseconds="500"/>
</scenario>
"""

REQUEST = """{method} sip:1002@[remote_ip]:[remote_port] SIP/2.0
Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]
From: <sip:1001@[local_ip]:[local_port]>;tag=[pid]SIPp[call_number]
To: <sip:1002@[remote_ip]:[remote_port]>{tag}
Call-ID: [call_id]
CSeq: {cseq}
Contact: <sip:1001@[local_ip]:[local_port]>
Max-Forwards: 70
"""

UAC = ("""<?xml version="1.0" encoding="UTF-8" ?>
<scenario name="caller">
<send retrans="500"><![CDATA[

""" + REQUEST.format(method="INVITE", tag="", cseq="1 INVITE") + """Content-Type: application/sdp
Content-Length: [len]

""" + SDP + """
]]></send>
<recv response="180" optional="true"/>
<recv response="200"/>
<send><![CDATA[

""" + REQUEST.format(method="ACK", tag="[peer_tag_param]", cseq="1 ACK") + """Content-Length: 0

]]></send>
<pause milliseconds="CALL_MS"/>
<send retrans="500"><![CDATA[

""" + REQUEST.format(method="BYE", tag="[peer_tag_param]", cseq="2 BYE") + """Content-Length: 0

]]></send>
<recv response="200"/>
</scenario>
""").replace("CALL_MS", str(CALL_MS))


class Callee:
    """A SIPp that answers a number of calls and then ends."""

    def __init__(self, folder, count, rate, direction):
        self._folder, self.port = folder, calls_bench.free_port()
        (folder / "callee.xml").write_text(UAS.format(direction=direction))
        self._process = subprocess.Popen(
            ["/usr/bin/sipp", "-sf", "callee.xml", "-p", str(self.port), "-m", str(count), "-i", "127.0.0.1",
             "-mi", "127.0.0.1", "-mp", "30000", "-nostdin", "-l", str(3 * rate), "-trace_counts", "-fd", "1",
             "-buff_size", "8388608"],
            cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.5)

    def counts(self):
        """Its last line of counts, after it has ended or stalled. @return {column: number}"""
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.send_signal(10)  # SIGUSR1: it ends when its calls have ended
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                pass
        self.end()
        with open(next(self._folder.glob("callee_*_counts.csv"))) as f:
            rows = list(csv.reader(f, delimiter=";"))
        return {name: int(value) for name, value in zip(rows[0], rows[-1]) if value.isdigit()}

    def end(self):
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()


def sent_again(counts):
    """@return text"""
    def of(pattern):
        return sum(n for name, n in counts.items() if re.search(pattern, name))
    return (f"{of('_INVITE_Retrans$|_ACK_Retrans$|_BYE_Retrans$')} of the caller's and {of('_(180|200)_Retrans$')} of "
            f"the callee's messages were sent again")


class Raw(calls_bench.Engine):
    """Stores events as received and parses them at the end: processor time used by the bench would not count as
    the engine's, but would delay it."""

    def __init__(self, *args, **kwargs):
        self._raw = []
        super().__init__(*args, **kwargs)

    def pump(self, seconds=0.1):
        if not calls_bench.select.select([self._socket], [], [], seconds)[0]:
            return
        data = self._socket.recv(1 << 20)
        if not data and self.finish is None:
            raise RuntimeError("the engine died")
        self._pending += data
        *lines, self._pending = self._pending.split(b"\n")
        for line in lines:
            if b'"events"' in line[:40] or b'"stats"' in line[:40]:
                self._raw.append(line)
                continue
            message = json.loads(line)
            if message["type"] == "ready":
                self.ready = message["step"]
            elif message["type"] == "finish":
                self.finish = message

    def read_events(self):
        for line in self._raw:
            self.events += json.loads(line).get("events", [])


def on_schedule(begun_ns, rate):
    """@return text"""
    late = sorted((at - begun_ns[0]) / 1e6 - n * 1000 / rate for n, at in enumerate(sorted(begun_ns)))
    missed = sum(x > ON_TIME_MS for x in late)

    def at(share):
        return late[min(len(late) - 1, int(share * len(late)))]
    return (f"begun late by p50 {at(0.5):.1f} p99 {at(0.99):.1f} max {late[-1]:.1f} ms"
            f"{f', {missed} by more than {ON_TIME_MS} ms' if missed else ''}")


def threads_of(engines):
    """@return {name: ns that the threads of that name ran, of all engines}"""
    sums = collections.Counter()
    for engine in engines:
        sums.update({name: ran for name, (ran, _) in calls_bench.threads_ns(engine.process.pid).items()})
    return sums


def round_of_engine(build, folder, rate, seconds, mode):
    """@return (processor us a call, text)"""
    count = rate * seconds
    mode, _, number = mode.partition("-")
    shares = [{"index": k, "of": int(number)} for k in range(int(number))] if number else [None]
    callee = Callee(folder, count, rate, "a=inactive" if mode == "signalling" else "a=sendrecv")
    try:
        engines = [Raw(build, "caller", [[{
            "type": "call", "dial_destination": "1002", "credentials": [{"username": "1001"}],
            "target": {"hosts": [{"host": "127.0.0.1", "port": callee.port}]}, "audio_codecs": ["PCMU"],
            "max_total_calls": count, "max_concurrent_calls": 3 * rate, "calls_per_second": rate,
            "call_duration": CALL_MS / 1000}]], 10000, rtp_max=29999, share=share) for share in shares]
        time.sleep(1)
        before = threads_of(engines)
        start_ns = time.monotonic_ns()
        for engine in engines:
            engine.go(0, start_ns + 10000000 if number else 0)
        calls_bench.until(engines, lambda: all(e.ready == 0 or e.finish for e in engines), "the end of the calls",
                          3 * seconds + 60)
        took = (time.monotonic_ns() - start_ns) / 1e9
        after = threads_of(engines)
        for engine in engines:
            engine.go(1)
        calls_bench.until(engines, lambda: all(e.finish for e in engines), "the end")
        usages = [os.wait4(engine.process.pid, 0)[2] for engine in engines]
        counts = callee.counts()
    finally:
        callee.end()
    for engine in engines:
        engine.read_events()
    events = [event for engine in engines for event in engine.events]
    all_us = sum(1e6 * (u.ru_utime + u.ru_stime) for u in usages) - sum(before.values()) / 1000
    threads = {name: (ran - before.get(name, 0)) / 1000 / count for name, ran in after.items()}
    sending = threads.get("media-tx", 0)
    ended = [e for e in events if e["kind"] == "call"]
    good = sum(e["end"] == "local" and e["established"] for e in ended)
    begun = [e["mono"] for e in events if e["kind"] == "state" and e["state"] == "CALL_OUTGOING"]
    text = (f"{', '.join(sorted({engine.finish['outcome'] for engine in engines}))}: "
            f"{len(ended)} of {count} calls, {good} as they should be, in {took:.1f} s; "
            f"{on_schedule(begun, rate) if begun else 'none began'}; {sent_again(counts)}"
            + "\n  by thread, us a call: " + ", ".join(
                f"{name} {us:.0f}" for name, us in sorted(threads.items(), key=lambda t: -t[1]) if us >= 1))
    return all_us / count - (sending if mode == "media" else 0), text


def round_of_sipp(folder, rate, seconds):
    """@return (processor us a call, text)"""
    count = rate * seconds
    callee = Callee(folder, count, rate, "a=inactive")
    (folder / "caller.xml").write_text(UAC)
    try:
        caller = subprocess.Popen(
            ["/usr/bin/sipp", "-sf", "caller.xml", f"127.0.0.1:{callee.port}", "-p", str(calls_bench.free_port()),
             "-m", str(count), "-r", str(rate), "-l", str(3 * rate), "-i", "127.0.0.1", "-mi", "127.0.0.1", "-mp",
             "10000", "-nostdin", "-buff_size", "8388608"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        start = time.monotonic()
        usage = os.wait4(caller.pid, 0)[2]
        took = time.monotonic() - start
        counts = callee.counts()
    finally:
        callee.end()
    return (1e6 * (usage.ru_utime + usage.ru_stime) / count,
            f"{count} calls in {took:.1f} s; {sent_again(counts)}")


def main():
    if len(sys.argv) < 2 or not all(re.fullmatch(r"\d+", x) for x in sys.argv[2:4]):
        sys.exit(__doc__)
    build = Path(sys.argv[1]).resolve()
    rate = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    modes = sys.argv[4:] or ["sipp", "signalling", "media", "sipp"]
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    print(f"{rate} calls/s for {seconds} s, {os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f}")
    of_sipp, of_engine = [], []
    for mode in modes:
        folder = Path(tempfile.mkdtemp())
        try:
            if mode == "sipp":
                us, text = round_of_sipp(folder, rate, seconds)
                of_sipp.append(us)
            else:
                us, text = round_of_engine(build, folder, rate, seconds, mode)
                of_engine.append((mode, us))
        finally:
            shutil.rmtree(folder)
        print(f"{mode}: {us:.0f} us of processor a call{' without the sending thread' if mode.startswith('media') else ''}\n"
              f"  {text}", flush=True)
    if of_sipp:
        reference = sum(of_sipp) / len(of_sipp)
        for mode, us in of_engine:
            print(f"{mode}: {us / reference:.2f} of SIPp's {reference:.0f} us: target of {RATIO_TARGET} "
                  f"{'met' if us <= RATIO_TARGET * reference else 'MISSED'}")


if __name__ == "__main__":
    main()

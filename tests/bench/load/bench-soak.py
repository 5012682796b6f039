#!/usr/bin/python3
"""An hour of churn: two engines of ours, CALLS two-way calls at a time, RATE of them begin and as many end each second.

After WARM_UP minutes, in which heaps and rings grow to the size of the load, what each engine holds is compared with
what it holds MINUTES later: private memory (smaps), descriptors and threads. In the middle of the warm-up both engines
are stopped for 1.2 s: a shared machine does that to them now and then, calls last longer then and records wait, and
the memory for them would look like a leak if it were taken later. What each ended call leaves behind is counted
exactly by bench-memory.py. At the end the totals of both sides are compared: calls, their packets, and the engine's own
counts. A line a minute shows calls, memory, descriptors, processor time and lateness.

Exit status 0: memory grew by less than 1 MB, descriptors and threads not at all, every call was answered and ended by its
caller, every packet that one side sent was counted by the other, and no engine dropped one. 1: not so; the line says what.
Starts that were missed while the machine, or this bench, held the caller up are shown.

Usage: bench-soak.py BUILD [--calls N] [--rate N] [--minutes M] [--warm-up M]
By default 500 calls at a time, 200 a second, 60 minutes after 5.
"""
import argparse
import collections
import importlib.util
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve()


def _load(name):
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), HERE.parents[1] / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


calls_bench, memory_bench = _load("bench-calls"), _load("bench-memory")
GROWTH_MAX_KIB = 1000
INTERVAL_S = 10
STALL_S = 1.2
DROPPED = ("receive_queue_drops", "ring_drops", "send_errors", "packets_unsent")
ROUTE_SOCKETS = 1   # an engine keeps the socket with which it asks for a route, once it had a call
STEADY_SAMPLES = 3  # the median of as many, the last ones before the limits of the time that is judged


class Folding(calls_bench.Engine):
    """Adds calls up as they are reported: an hour of events would fill the memory of the bench."""

    def __init__(self, *arguments, **more):
        self.totals = collections.Counter()
        self.odd = []            # calls that are not as they should be, the first ones
        self.generator = None    # the last interval's
        self.evidence = self.mark = None
        super().__init__(*arguments, **more)

    def _call(self, event, role):
        streams = {s["dir"]: s for s in event["streams"]}
        good = event["established"] and event["end"] == ("local" if role == "caller" else "remote")
        self.totals.update(calls=1, good=good, sent=streams["out"]["packets"], received=streams["in"]["packets"],
                           lost=streams["in"].get("lost", 0), duplicates=streams["in"].get("duplicates", 0))
        if (not good or streams["in"].get("lost")) and len(self.odd) < 5:
            self.odd.append({k: event[k] for k in event if k != "streams"} | {"in": streams["in"].get("lost")})

    def pump(self, seconds=0.1):
        super().pump(seconds)
        for event in self.events:
            if event["kind"] == "call":
                self._call(event, self.role)
            elif event["kind"] == "generator":
                self.generator = event
            elif event["kind"] == "evidence":
                self.evidence = event
            elif event["kind"] == "flaw":
                self.totals["flaws"] += 1
                self.odd.append(event)
        self.events.clear()


def make(build, role, steps, *arguments, **more):
    engine = Folding(build, role, steps, *arguments, interval_s=INTERVAL_S, **more)
    engine.role = role
    return engine


def start(build, options):
    seconds = 60 * (options.minutes + options.warm_up)
    port = calls_bench.free_port()
    lasts = {"max_duration_s": seconds + 600}
    callee = make(build, "callee", [[{
        "type": "answer", "credentials": [{"username": "1002"}], "audio_codecs": ["PCMU"],
        "max_total_calls": options.rate * seconds + 1, "max_concurrent_calls": 2 * options.calls}], [], []],
        10000, port, rtp_max=33999, **lasts)
    callee.go(0)
    calls_bench.until([callee], lambda: callee.ready == 0, "the listening callee")
    one = {"type": "call", "dial_destination": "1002", "credentials": [{"username": "1001"}],
           "target": {"hosts": [{"host": "127.0.0.1", "port": port}]}, "audio_codecs": ["PCMU"], "call_duration": 1}
    load = {**one, "max_total_calls": options.rate * seconds, "max_concurrent_calls": 2 * options.calls,
            "calls_per_second": options.rate, "call_duration": options.calls / options.rate}
    # at the end a single call: an engine keeps the sockets of ended calls until calls end seldom (socket_pool.h)
    caller = make(build, "caller", [[], [load], [one]], 34000, rtp_max=57999, **lasts)
    caller.go(0)
    calls_bench.until([caller, callee], lambda: caller.ready == 0, "the caller")
    return [caller, callee]


Sample = collections.namedtuple("Sample", "at kib heap descriptors threads cpu_ns")


def sample(engine):
    pid = engine.process.pid
    kinds = memory_bench.memory(pid)
    return Sample(time.monotonic(), sum(kinds.values()), kinds.get("heap", 0), len(os.listdir(f"/proc/{pid}/fd")),
                  len(os.listdir(f"/proc/{pid}/task")), calls_bench.cpu_ns(pid))


def told(minute, engines, samples):
    words = []
    for engine in engines:
        now, before = samples[engine.role][-1], samples[engine.role][-2:][0]
        used = (now.cpu_ns - before.cpu_ns) / max(1, now.at - before.at) / 1e7
        late = (engine.generator or {}).get("send_lateness_p99_ms")
        words.append(f"{engine.role} {engine.totals['calls']} calls, {now.kib / 1024:.2f} MiB (heap "
                     f"{now.heap / 1024:.2f}), {now.descriptors} descriptors, {now.threads} threads, {used:.0f} %"
                     + (f", late p99 {late:.2f} ms" if late is not None else ""))
    print(f"{minute:3d} min: {'; '.join(words)}", flush=True)


def middle(values):
    return sorted(values)[len(values) // 2]


def verdict(samples, warm_up):
    """@return what grew, as lines; each that is too much begins with 'NOT'"""
    lines = []
    for role, taken in samples.items():
        first = taken[max(0, warm_up + 1 - STEADY_SAMPLES):warm_up + 1]
        last = taken[-STEADY_SAMPLES:]
        grown = {key: middle([getattr(s, key) for s in last]) - middle([getattr(s, key) for s in first])
                 for key in ("kib", "heap", "threads")}
        # as many calls may be up or about to end: the descriptors of a moment vary by some calls
        least = {when: min(s.descriptors for s in some) for when, some in (("first", first), ("last", last))}
        bad = grown["kib"] >= GROWTH_MAX_KIB or grown["threads"]
        lines.append(f"{'NOT flat: ' if bad else ''}{role}: private memory grew by {grown['kib']} KiB (heap "
                     f"{grown['heap']}), threads by {grown['threads']}; descriptors at least {least['first']} before, "
                     f"{least['last']} after")
    return lines


def totals(caller, callee):
    """@return lines; each that is wrong begins with 'NOT'"""
    out, there = caller.totals, callee.totals
    exact = (out["calls"] == there["calls"] == out["good"] == there["good"] and out["sent"] == there["received"]
             and not (out["lost"] or there["lost"] or out["duplicates"] or there["duplicates"]))
    lines = [f"{'' if exact else 'NOT exact: '}{out['calls']} calls placed, {there['calls']} taken, {out['good']} and "
             f"{there['good']} as they should be; the caller sent {out['sent']} packets, the callee received "
             f"{there['received']}; the callee sent {there['sent']}, the caller received {out['received']} until it "
             f"hung up; lost {there['lost']} and {out['lost']}"]
    for engine in (caller, callee):
        evidence = engine.evidence
        dropped = {k: evidence[k] for k in DROPPED if evidence.get(k)}
        good = evidence["packets_sent"] == engine.totals["sent"] and not dropped and not engine.totals["flaws"]
        lines.append(f"{'' if good else 'NOT exact: '}{engine.role}: the engine counts {evidence['packets_sent']} packets "
                     f"sent, its calls {engine.totals['sent']}; dropped: {dropped or 'none'}; flaws: "
                     f"{engine.totals['flaws']}; starts missed: {evidence['starts_missed']}; send lateness p99 "
                     f"{evidence['send_lateness_ms']['p99']:.3f} ms")
        lines += [f"  {json.dumps(odd)[:400]}" for odd in engine.odd[:5]]
    return lines


def stall(engines):
    for engine in engines:
        engine.process.send_signal(signal.SIGSTOP)
    time.sleep(STALL_S)
    for engine in engines:
        engine.process.send_signal(signal.SIGCONT)


def run(build, options):
    """@return lines of the verdict"""
    engines = start(build, options)
    try:
        samples = {engine.role: [sample(engine)] for engine in engines}
        for engine in engines:
            engine.go(1)
        begun = time.monotonic()
        stalled = False
        for minute in range(1, options.minutes + options.warm_up + 1):
            while time.monotonic() < begun + 60 * minute - 1:
                if not stalled and time.monotonic() > begun + 30 * options.warm_up:
                    stall(engines)
                    stalled = True
                for engine in engines:
                    engine.pump()
                    if engine.finish:
                        raise RuntimeError(f"the {engine.role} ended in minute {minute}: {engine.finish}")
            for engine in engines:
                samples[engine.role].append(sample(engine))
            told(minute, engines, samples)
        calls_bench.until(engines, lambda: engines[0].ready >= 1, "the end of the calls")
        calls_bench.hold(engines, 10)   # what is on its way arrives
        for engine in engines:
            engine.go(2)
        calls_bench.until(engines, lambda: engines[0].ready >= 2, "the end of the last call")
        calls_bench.hold(engines, 5)
        leak = [f"{e.role}: {s.descriptors} descriptors after all calls, {samples[e.role][0].descriptors} before the first"
                for e in engines for s in (sample(e),)]
        over = any(sample(e).descriptors > samples[e.role][0].descriptors + ROUTE_SOCKETS for e in engines)
        for engine in engines:
            engine.send({"type": "cancel"})
        calls_bench.until(engines, lambda: all(e.finish and e.evidence for e in engines), "the end")
        for engine in engines:
            engine.process.wait(30)
    finally:
        for engine in engines:
            engine.process.kill()
    leak = [("NOT closed: " if over else "") + line for line in leak]
    return [*verdict(samples, options.warm_up), *leak, *totals(*engines)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--rate", type=int, default=200)
    parser.add_argument("--minutes", type=int, default=60)
    parser.add_argument("--warm-up", type=int, default=5)
    options = parser.parse_args()
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    print(f"{options.calls} calls at a time, {options.rate} a second, {options.warm_up} + {options.minutes} minutes, "
          f"{os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f}", flush=True)
    lines = run(options.build.resolve(), options)
    print("\n".join(lines))
    sys.exit(any(line.startswith("NOT") for line in lines))


if __name__ == "__main__":
    main()

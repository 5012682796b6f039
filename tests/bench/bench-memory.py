#!/usr/bin/python3
"""Memory of a call: two engines that call each other, CALLS two-way calls at a time.

Prints for each engine what its private memory (Private_Dirty of /proc/PID/smaps) grew by since it was
ready, by kind of mapping, and per leg. The caller knows how many calls there will be; the callee's job
allows LEGS at a time (4000), for which its rings are made; they take memory for what waits in them.

  huge pages    sessions of the media engine (base/slab.h)
  heap          calls, dialogs, descriptions, texts
  other         rings between the threads, and what few sessions use

Then the calls end, and CHURN more are made (0: none), one second each, 60 a second. What the heap has
grown by 40 s later, when all timers of SIP are over, stays; malloc() gives nothing back, so the first
CHURN calls are not counted and as many follow.

Usage: bench-memory.py BUILD [CALLS [CHURN [LEGS]]]
Example: bench-memory.py build 500 1000
"""
import re
import sys
from importlib import util
from pathlib import Path

_spec = util.spec_from_file_location("bench_calls", Path(__file__).with_name("bench-calls.py"))
calls_bench = util.module_from_spec(_spec)
_spec.loader.exec_module(calls_bench)
Engine, until, hold = calls_bench.Engine, calls_bench.until, calls_bench.hold

CHUNK_BYTES = 2 << 20  # of base/slab.h with huge pages


def memory(pid):
    """@return {kind: KiB of private memory}"""
    found, kind = {}, None
    for line in Path(f"/proc/{pid}/smaps").read_text().split("\n"):
        head = re.match(r"([0-9a-f]+)-([0-9a-f]+) \S+ \S+ \S+ \S+ *(.*)", line)
        if head:
            length, name = int(head[2], 16) - int(head[1], 16), head[3]
            kind = ("heap" if name == "[heap]" else "program" if name else
                    "huge pages" if length % CHUNK_BYTES == 0 and length < 16 * CHUNK_BYTES else "other")
        elif line.startswith("Private_Dirty:"):
            found[kind] = found.get(kind, 0) + int(line.split()[1])
    return found


def action(port, calls, seconds, rate):
    return {"type": "call", "dial_destination": "1002", "credentials": [{"username": "1001"}],
            "target": {"hosts": [{"host": "127.0.0.1", "port": port}]}, "max_total_calls": calls,
            "max_concurrent_calls": calls, "calls_per_second": rate, "call_duration": seconds,
            "audio_codecs": ["PCMU"]}


def start(build, steps, legs):
    port = calls_bench.free_port()
    callee = Engine(build, "callee", [[{
        "type": "answer", "credentials": [{"username": "1002"}], "audio_codecs": ["PCMU"],
        "max_total_calls": 1000000, "max_concurrent_calls": legs}], *[[] for _ in steps]],
        20000, port, rtp_max=39999)
    callee.go(0)
    until([callee], lambda: callee.ready == 0, "the listening callee")
    caller = Engine(build, "caller", [[], *[[s] for s in steps(port)]], 40000, rtp_max=59999)
    caller.go(0)
    both = [caller, callee]
    until(both, lambda: caller.ready == 0, "the caller")
    return both


def end(both):
    for engine in both:
        engine.send({"type": "cancel"})
    until(both, lambda: all(e.finish for e in both), "the end")
    for engine in both:
        engine.process.wait(20)


class Steps:
    """The caller's steps, whose target is known later."""

    def __init__(self, *steps):
        self._steps = steps

    def __iter__(self):
        return iter(self._steps)

    def __call__(self, port):
        return [action(port, *step) for step in self._steps]


def round_of_legs(build, calls, legs):
    both = start(build, Steps((calls, 3000, 50)), legs)
    before = [memory(e.process.pid) for e in both]
    both[0].go(1)
    both[1].go(1)
    until(both, lambda: all(e.live.get("calls_active") == calls for e in both), "all calls")
    hold(both, 6)
    for name, engine, was in zip(("caller", "callee"), both, before):
        now = memory(engine.process.pid)
        parts = ", ".join(f"{kind} {(now[kind] - was.get(kind, 0)) / calls:.1f}"
                          for kind in ("huge pages", "heap", "other"))
        print(f"{name}: {(sum(now.values()) - sum(was.values())) / calls:.1f} KiB a leg: {parts}; "
              f"{sum(now.values()) / 1024:.1f} MiB in all", flush=True)
    end(both)


def churn(build, calls, legs):
    both = start(build, Steps(*2 * [(calls, 1, 60)]), legs)
    heaps = []
    for step in (1, 2):
        for engine in both:
            engine.go(step)
        until(both, lambda step=step: both[0].ready == step, "the calls")
        hold(both, 40)
        heaps.append([memory(e.process.pid)["heap"] for e in both])
    end(both)
    grown = [1024 * (b - a) / calls for a, b in zip(*heaps)]
    print(f"{calls} calls after as many: the heap grew by {grown[0]:.0f} (caller) and {grown[1]:.0f} "
          f"(callee) bytes a call")


def main():
    numbers = [int(word) for word in sys.argv[2:5]]
    calls, again, legs = [*numbers, *(500, 1000, 4000)[len(numbers):]]
    build = Path(sys.argv[1]).resolve()
    round_of_legs(build, calls, legs)
    if again:
        churn(build, again, legs)


if __name__ == "__main__":
    main()

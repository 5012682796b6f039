#!/usr/bin/python3
"""What a call costs as calls grow: our engines, the floor of each media path, SIPp and baresip, in turns.

All calls are two-way G.711 at 20 ms over loopback, up at the same time. Each number of calls is measured ROUNDS times,
and in a round one party follows the other, so that other load affects ratios little; figures are medians of the rounds.

  engines       pairs of engines (PAIRS), each a caller and a callee with its share of the calls: every packet is
                measured by the engine that receives it; engines:shared with media_path shared
  floor:PATH    bench-floor (floor.c): a bare program that sends and receives the same packets at the same times
  sipp          a SIPp that calls a SIPp: both send, and do not read what they receive
  baresip       a baresip that takes up to 100 calls of an engine; its own time only

Printed is the processor time of one side of a call, in permille of a processor (all threads, user and system; of
engines for as many packets as a call has a second), its ratio to the party named first, how late packets left (the 99th
percentile of intervals of 2 s: the median of them, the worst engine), packets lost, and the mean jitter.

Usage: bench-load.py BUILD [--calls N,N...] [--seconds S] [--rounds R] [--parties P,P...] [--pairs N]
                     [--encryption SUITE] [--svg FOLDER] [--again]
--svg writes the curves and the figures (load.json) into a folder; --again draws them from such figures.
Example: bench-load.py build --calls 500,1000 --parties floor:socket,floor:batch,engines,sipp --svg docs/internals
"""
import argparse
import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve()
_spec = importlib.util.spec_from_file_location("bench_calls", HERE.parents[1] / "bench-calls.py")
calls_bench = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(calls_bench)
Engine, until, hold = calls_bench.Engine, calls_bench.until, calls_bench.hold

RATE = 100  # calls a second until all are up
INTERVAL_S = 2
PACKETS_PER_S = 100  # of one side of a call: sent and received
BARESIP_CALLS = 100
PORTS = (10000, 59999)
PARTIES = ["floor:socket", "floor:batch", "floor:gso", "floor:ring", "engines", "engines:shared", "sipp", "baresip"]


# ---- the parties: each returns {"permille": of one side of a call, ...} ----

def floor(build, calls, seconds, path, _):
    program = build / "tests" / "bench" / "load" / "bench-floor"
    done = json.loads(subprocess.run([str(program), str(calls), str(seconds), path], check=True,
                                     stdout=subprocess.PIPE).stdout)
    return {"permille": done["permille_a_call"] / 2, "lateness_ms": done["lateness_p99_ms"],
            "lost": done["lost"], "sent": done["sent"], "jitter_ms": done["jitter_ms"]}


def pair(build, calls, index, pairs, options, path):  # pylint: disable=too-many-arguments
    """@return an engine that calls another one, and that one"""
    first = PORTS[0] + index * (PORTS[1] - PORTS[0]) // pairs // 2 * 2
    last = first + (PORTS[1] - PORTS[0]) // pairs // 2 * 2 - 1
    middle = (first + last) // 4 * 2
    port = calls_bench.free_port()
    common = {"audio_codecs": ["PCMU"], "max_total_calls": calls, "max_concurrent_calls": calls,
              "media_path": path or "call", **calls_bench.options(options.encryption)}
    callee = Engine(build, "callee", [[{"type": "answer", "credentials": [{"username": "1002"}], **common}], []],
                    middle, port, rtp_max=last, interval_s=INTERVAL_S)
    callee.go(0)
    until([callee], lambda: callee.ready == 0, "the listening callee")
    caller = Engine(build, "caller", [[], [{
        "type": "call", "dial_destination": "1002", "credentials": [{"username": "1001"}],
        "target": {"hosts": [{"host": "127.0.0.1", "port": port}]}, "calls_per_second": RATE / pairs,
        "call_duration": 3000, **common}]], first, rtp_max=middle - 1, interval_s=INTERVAL_S)
    caller.go(0)
    until([caller], lambda: caller.ready == 0, "the caller")
    return [caller, callee]


def lateness(engine, seconds):
    """The median of the intervals of the last seconds."""
    intervals = [e["send_lateness_p99_ms"] for e in engine.events if e["kind"] == "generator"
                 and "send_lateness_p99_ms" in e]
    return statistics.median(intervals[-max(1, seconds // INTERVAL_S):])


def ended(engines):
    for engine in engines:
        engine.send({"type": "cancel"})
    until(engines, lambda: all(e.finish for e in engines), "the end")
    for engine in engines:
        engine.process.wait(30)


def engines_of(build, calls, seconds, path, options):
    groups = [pair(build, calls // options.pairs, i, options.pairs, options, path) for i in range(options.pairs)]
    engines = [engine for group in groups for engine in group]
    try:
        for engine in engines:
            engine.go(1)
        until(engines, lambda: all(e.live.get("calls_active") == calls // options.pairs for e in engines),
              "all calls")
        hold(engines, 2 * INTERVAL_S)
        # by packet: an engine that the machine held up sends fewer a second, later
        _, packet_us = calls_bench.measure(engines, seconds)
        late = max(lateness(e, seconds) for e in engines)
        ended(engines)
    finally:
        for engine in engines:
            engine.process.kill()
    evidence = [next(x for x in e.events if x["kind"] == "evidence") for e in engines]
    streams = [s for e in engines for c in e.events if c["kind"] == "call" for s in c["streams"] if s["dir"] == "in"]
    return {"permille": packet_us * PACKETS_PER_S / 1000, "lateness_ms": late,
            "jitter_ms": statistics.mean(s["jitter_ms"]["avg"] for s in streams if "jitter_ms" in s),
            "lost": sum(s.get("lost", 0) for s in streams), "sent": sum(x["packets_sent"] for x in evidence),
            "dropped": sum(x["receive_queue_drops"] + x["ring_drops"] + x["send_errors"] for x in evidence),
            "unassigned": sum(x["unassigned_packets"] for x in evidence),
            "classes": sorted({x[f"{way}_scheduling"] for x in evidence for way in ("send", "receive")})}


def sipp(_, calls, seconds, __, ___):
    used, _ = calls_bench.round_of_sipp(calls, seconds)
    return {"permille": 1000 * used / calls / 2}


def process_s(pid):
    """Processor time of a process, threads that have ended included; a tick is 10 ms."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def baresip(build, calls, seconds, _, __):
    sys.path.insert(0, str(HERE.parents[2] / "e2e"))
    import netns  # pylint: disable=import-outside-toplevel
    import phones  # pylint: disable=import-outside-toplevel
    calls = min(calls, BARESIP_CALLS)
    with netns.cable() as (ours, theirs), tempfile.TemporaryDirectory() as folder:
        phone = phones.Baresip(Path(folder), theirs)
        phones.tone_write(Path(folder) / "tone.wav", 8000, 440, 300)  # its player ends with the file
        config = Path(folder) / "config"
        config.write_text(config.read_text().replace("rtp_ports 30000-30100", "rtp_ports 30000-32000")
                          .replace("module sndfile.so\n", "") + f"call_max_calls {calls + 1}\n")
        with phone:
            engine = Engine(build, "caller", [[{
                "type": "call", "dial_destination": "phone", "credentials": [{"username": "1001"}],
                "target": {"hosts": [{"host": phones.PHONE, "port": 5060}]}, "audio_codecs": ["PCMU"],
                "max_total_calls": calls, "max_concurrent_calls": calls, "calls_per_second": 10,
                "call_duration": 3000}]], 20000, bind=phones.OURS, prefix=("ip", "netns", "exec", ours))
            engine.go(0)
            until([engine], lambda: engine.live.get("calls_active") == calls, "all calls")
            hold([engine], 3)
            before, start = process_s(phone.process.pid), time.monotonic()
            hold([engine], seconds)
            used = 1000 * (process_s(phone.process.pid) - before) / (time.monotonic() - start)
            ended([engine])
    return {"permille": used / calls}


def measure(party, *arguments):
    name, _, path = party.partition(":")
    runs = {"floor": floor, "engines": engines_of, "sipp": sipp, "baresip": baresip}
    build, calls, seconds, options = arguments
    try:
        return runs[name](build, calls, seconds, path, options)
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        return {"failed": str(error)[-200:]}


# ---- what was measured ----

def median(found, key):
    """Of the rounds in which it is known; None: in none."""
    values = [f[key] for f in found if key in f]
    return statistics.median(values) if values else None


def line(party, found, first):
    permille = median(found, "permille")
    if permille is None:
        return f"  {party}: not possible: {found[0]['failed']}"
    words = [f"  {party:14} {permille:6.3f} permille of a processor a call and side"]
    if first:
        words.append(f"{permille / first:.2f} of the first")
    for key, text in (("lateness_ms", "late p99 {:.3f} ms"), ("jitter_ms", "jitter {:.3f} ms")):
        if median(found, key) is not None:
            words.append(text.format(median(found, key)))
    if any("lost" in f for f in found):
        words.append(f"{sum(f.get('lost', 0) for f in found)} of {sum(f.get('sent', 0) for f in found)} packets lost")
    if any(f.get("dropped") for f in found):
        words.append(f"{sum(f.get('dropped', 0) for f in found)} dropped by ourselves")
    if any(f.get("unassigned") for f in found):
        words.append(f"{sum(f.get('unassigned', 0) for f in found)} of no call")
    words += sorted({f"scheduling {name}" for f in found for name in f.get("classes", []) if name != "realtime"})
    return ", ".join(words)


def run(build, options):
    """Measure and print, and keep what was measured until now."""
    figures = {}  # {calls: {party: [what each round found]}}
    for calls in options.calls:
        found = figures.setdefault(calls, {party: [] for party in options.parties})
        loads = []
        for _ in range(options.rounds):
            for party in options.parties:
                loads.append(os.getloadavg()[0])
                found[party].append(measure(party, build, calls, options.seconds, options))
        print(f"{calls} calls, {options.seconds} s, {options.rounds} rounds, {os.cpu_count()} processors, load average "
              f"{min(loads):.0f} to {max(loads):.0f}")
        first = median(found[options.parties[0]], "permille")
        for party in options.parties:
            print(line(party, found[party], first), flush=True)
        if options.svg:
            keep(figures, options.svg)


# ---- curves ----

CHARTS = (("permille", "processor", "permille of a processor, a call and side"),
          ("lateness_ms", "lateness", "lateness of sending, 99th percentile, ms"),
          ("jitter_ms", "jitter", "mean jitter, ms"))
COLOURS = ("#1b6ac9", "#c2410c", "#15803d", "#7e22ce", "#b91c1c", "#0f766e", "#a16207", "#475569")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 360, 60, 150, 40, 45
CEILING = {"lateness_ms": 10, "jitter_ms": 2}  # what is above has a line to the edge


def svg(figures, key, title):
    """A chart of a figure over the number of calls, a line a party."""
    calls = sorted(figures)
    parties = [p for p in figures[calls[0]] if any(median(figures[c][p], key) is not None for c in calls)]
    series = {p: [(c, median(figures[c][p], key)) for c in calls if median(figures[c][p], key) is not None]
              for p in parties}
    top = max((v for points in series.values() for _, v in points), default=1)
    top = min(top, CEILING.get(key, top)) * 1.1 or 1

    def x(value):
        return LEFT + (WIDTH - LEFT - RIGHT) * value / calls[-1]

    def y(value):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(value, top) / top
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
           f'font-family="sans-serif" font-size="12"><title>{title}, over the number of calls</title>'
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>'
           f'<text x="{LEFT}" y="20" font-size="14">{title}</text>']
    for part in range(5):
        value = top * part / 4
        out.append(f'<path d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}" stroke="#ddd"/><text x="{LEFT - 6}" '
                   f'y="{y(value) + 4:.1f}" text-anchor="end">{value:.2g}</text>')
    for value in calls:
        out.append(f'<text x="{x(value):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{value}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">calls</text>')
    for i, (party, points) in enumerate(series.items()):
        colour = COLOURS[i % len(COLOURS)]
        path = "L".join(f"{x(c):.1f} {y(v):.1f}" for c, v in points)
        out.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x(c):.1f}" cy="{y(v):.1f}" r="3" fill="{colour}"/>' for c, v in points]
        out.append(f'<text x="{WIDTH - RIGHT + 12}" y="{TOP + 18 * i}" fill="{colour}">{party}</text>')
    return "\n".join([*out, "</svg>", ""])


def draw(figures, folder):
    for key, name, title in CHARTS:
        (folder / f"load-{name}.svg").write_text(svg(figures, key, title))


def keep(figures, folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "load.json").write_text(json.dumps(figures, indent=1) + "\n")
    draw(figures, folder)


def numbers(text):
    return [int(word) for word in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--calls", type=numbers, default=[500, 1000, 2000, 3000])
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parties", type=lambda text: text.split(","), default=PARTIES)
    parser.add_argument("--pairs", type=int, default=1)
    parser.add_argument("--encryption", default="plain")
    parser.add_argument("--svg", type=Path)
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    if options.again:
        stored = json.loads((options.svg / "load.json").read_text())
        draw({int(calls): found for calls, found in stored.items()}, options.svg)
        return
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    build = options.build.resolve()
    subprocess.run(["ninja", "-C", str(build), "offhook-agent", "tests/bench/load/bench-floor"], check=True,
                   stdout=subprocess.DEVNULL)
    run(build, options)


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""How fast an engine registers many accounts at a kamailio, and which side was the limit.

The registrar is Debian's kamailio with the configuration of the quickstart and PROCESSES processes for UDP, all in
memory. It challenges each account, so a registration is two transactions with a digest; the engine has at most 100
transactions in progress. A round begins with a new kamailio and a new engine.

Prints for each round how long all registrations took, the time of one (median, 99th percentile), and how busy each side was
meanwhile: the busiest thread of the engine and the busiest process of kamailio, of one processor. The limit is the
side that was busier; where neither was busy for half of the time, the network or the other work of the machine was.

Exit status 0: every account was registered with its first answer to a challenge; 1: not so.

Usage: bench-registrations.py BUILD [ACCOUNTS [ROUNDS [PROCESSES]]]
By default 5000 accounts, 3 rounds, 1 process. The figure to reach is 5000 in 5 s.
"""
import importlib.util
import os
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve()
_spec = importlib.util.spec_from_file_location("bench_calls", HERE.with_name("bench-calls.py"))
calls_bench = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(calls_bench)
sys.path.insert(0, str(HERE.parents[1] / "e2e"))
from peers import Kamailio  # noqa: E402

TARGET_PER_S = 1000
BUSY = 0.5


class Registrar(Kamailio):
    """With processes for UDP, and room for many bindings."""

    def __init__(self, folder, port, subscribers, processes):
        super().__init__(folder, port, subscribers=subscribers)
        cfg = self._folder / "cfg"
        text = self._edited(cfg.read_text(), r"(?m)^children=1$", f"children={processes}") if processes > 1 else cfg.read_text()
        cfg.write_text(self._edited(text, "subscriber=>size=8;", "subscriber=>size=14;"))
        at = self._command.index("-m")
        self._command[at + 1] = "256"

    def process_times(self):
        """@return {process: processor time in ns}"""
        group = os.getpgid(self._process.pid)
        found = {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    if os.getpgid(int(folder.name)) == group:
                        found[folder.name] = calls_bench.cpu_ns(folder.name)
                except (ProcessLookupError, FileNotFoundError):
                    pass
        return found


def thread_times(pid):
    """@return {thread: processor time in ns}"""
    return {task.name: int((task / "schedstat").read_text().split()[0]) for task in Path(f"/proc/{pid}/task").iterdir()}


def busiest(before, after, took_s):
    return max((after[k] - before.get(k, 0)) / took_s / 1e9 for k in after)


def all_of(before, after):
    return sum(after[k] - before.get(k, 0) for k in after) / 1e9


def limit(engine, registrar):
    if max(engine, registrar) < BUSY:
        return "neither"
    return "the engine" if engine > registrar else "kamailio"


def measure(build, accounts, processes):
    """@return (seconds, text, whether all were registered at once)"""
    port = calls_bench.free_port()
    users = {str(100000 + n): f"secret-{n}" for n in range(accounts)}
    with tempfile.TemporaryDirectory() as folder, Registrar(folder, port, users, processes) as registrar:
        engine = calls_bench.Engine(build, "callee", [[{
            "type": "register", "credentials": [{"username": u, "password": p} for u, p in users.items()],
            "target": {"hosts": [{"host": "127.0.0.1", "port": port}]}}], []], 20000)
        calls_bench.hold([engine], 2)
        ours, theirs = thread_times(engine.process.pid), registrar.process_times()
        begun = time.monotonic()
        engine.go(0)
        calls_bench.until([engine], lambda: engine.ready == 0 or engine.finish, "all registrations", 300)
        took = time.monotonic() - begun
        ours_after, theirs_after = thread_times(engine.process.pid), registrar.process_times()
        engine.send({"type": "cancel"})
        calls_bench.until([engine], lambda: engine.finish, "the end", 300)
        engine.process.wait(30)
    tries = [e for e in engine.events if e["kind"] == "register"]
    good = {e["account"] for e in tries if e["ok"]}
    times = sorted(e["ms"] for e in tries if e["ok"])
    ours_busy, theirs_busy = busiest(ours, ours_after, took), busiest(theirs, theirs_after, took)
    at = (times[len(times) // 2], times[len(times) * 99 // 100]) if times else (0, 0)
    return took, (f"{len(good)} of {accounts} accounts in {took:.2f} s: {len(good) / took:.0f}/s; one took {at[0]:.1f} ms "
                  f"(median), {at[1]:.1f} ms (p99); processor: engine {1e6 * all_of(ours, ours_after) / accounts:.0f} us an "
                  f"account, its busiest thread {100 * ours_busy:.0f} %; kamailio "
                  f"{1e6 * all_of(theirs, theirs_after) / accounts:.0f} us, its busiest process {100 * theirs_busy:.0f} %: the "
                  f"limit was {limit(ours_busy, theirs_busy)}"), len(good) == accounts and all(e["ok"] for e in tries[:accounts])


def main():
    if len(sys.argv) < 2 or not all(word.isdigit() for word in sys.argv[2:]):
        sys.exit(__doc__)
    numbers = [int(word) for word in sys.argv[2:5]]
    accounts, rounds, processes = [*numbers, *(5000, 3, 1)[len(numbers):]]
    build = Path(sys.argv[1]).resolve()
    print(f"{accounts} accounts, kamailio with {processes} processes for UDP, {os.cpu_count()} processors, load average "
          f"{os.getloadavg()[0]:.1f}", flush=True)
    results = []
    for number in range(rounds):
        took, text, good = measure(build, accounts, processes)
        results.append((took, good))
        print(f"{number + 1}: {text}", flush=True)
    best = accounts / min(took for took, _ in results)
    print(f"best {best:.0f}/s, {best / TARGET_PER_S:.2f} of the {TARGET_PER_S}/s to reach")
    sys.exit(not all(good for _, good in results))


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""How often a run says rightly whether the tester or the target was the limit.

Runs whose agent is starved, by SIGSTOP of 300 ms, by the quota of a control group and by busy neighbours: each must end errored,
"generator saturated", with the evidence. Runs whose target stands still for a second: each must end failed. Runs of a healthy
pair: each must end passed. A run of the last two kinds during which the machine itself stood still (a thread of this program woke
LATE_MS late, or a hypervisor took a fifth of a second) is repeated, and counted as repeated.

Usage: bench-saturation.py BUILD [STARVED [HEALTHY]]     20 runs of each starved kind, 50 of the healthy pair
"""
import os
import sys
import tempfile
import time
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "e2e")]

LATE_MS = 100       # as late as a timer of the signalling may be (saturation_loop_lateness)
REPEATED_MAX = 100  # of a kind


def stood_still(evidence):
    return evidence.stalled or evidence.late_s * 1000 >= LATE_MS


def counted(kind, times, machine, run, wrong):
    """Call run() until so many of its runs count. wrong: of (run, report), what is wrong or None; with
    machine=None each run counts. @return how many ended as they must not"""
    right = repeated = done = 0
    while done < times and repeated < REPEATED_MAX:
        begun = time.time()
        run_of, report = run()
        seen = machine and machine.during(begun, time.time())
        if seen and stood_still(seen):
            repeated += 1
            continue
        done += 1
        why = wrong(run_of, report)
        right += why is None
        if why:
            print(f"    {kind}: {why}" + (f" (the machine meanwhile: {seen})" if seen else ""), flush=True)
    print(f"{kind}: {right} of {done} as they must end" + (f", {repeated} repeated as the machine stood still" if seen else ""),
          flush=True)
    return (times - done) + (done - right)


def main():
    if not 2 <= len(sys.argv) <= 4:
        sys.exit(__doc__)
    os.environ["OFFHOOK_BUILD"] = str(Path(sys.argv[1]).resolve())
    starved, healthy = (int(a) for a in [*sys.argv[2:], *("20", "50")[len(sys.argv) - 2:]])
    import contract
    import pytest
    import test_saturation as lab
    from bench import Bench
    from machine import Machine
    from peers import SippCallee
    from ports import PortBlock
    contract.install()  # Bench demands that each answer is compared with it
    machine, failed = Machine(), 0

    def errored(bench):
        def wrong(run, report):
            try:
                with redirect_stdout(StringIO()):
                    lab.check_errored(bench, run, report)
            except AssertionError as e:
                return f"{run['status']}: {run['result_description']} {e}"[:600]
            return None
        return wrong

    def ends(status):
        return lambda run, _: None if run["status"] == status else f"{run['status']}: {run['result_description']}"

    def place():
        return Path(tempfile.mkdtemp(prefix="saturation-")), PortBlock()

    with Bench(*place()) as bench:
        test = bench.single_call(duration=3, conditions=[])
        failed += counted("healthy pair", healthy, machine, lambda: bench.run(test), ends("passed"))
        failed += counted("agent stopped for 300 ms", starved, None, lambda: lab.run_disturbed(bench, lab.stopped),
                          errored(bench))
    with Bench(*place(), agent_conf=lab.PLAIN) as bench:
        failed += counted("agent with busy neighbours", starved, None,
                          lambda: lab.run_disturbed(bench, lab.neighbours), errored(bench))
    try:
        with lab.quota_group() as group, Bench(*place(), agent_conf=lab.PLAIN) as bench:
            throttled = lab.throttling(bench, *group)
            failed += counted("agent with a quota", starved, None, lambda: lab.run_disturbed(bench, throttled), errored(bench))
    except pytest.skip.Exception as e:
        print(f"agent with a quota: not run: {e}")
        failed += 1
    folder, ports = place()

    def to_starved_target():
        with SippCallee(folder, ports.phone, ports.relay) as phone:  # it takes one call
            return lab.run_with_starved_target(bench, phone)

    with Bench(folder, ports, proxy=False) as bench:
        failed += counted("starved target", starved, machine, to_starved_target, ends("failed"))
    sys.exit(1 if failed else 0)


main()

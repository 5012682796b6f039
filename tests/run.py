#!/usr/bin/python3
"""Run meson tests of a build directory and count their cases.

usage: run.py [--repeat N] BUILD [NAME...]; NAME is a suite, a meson test or one case.
Counts cmocka cases and pytest cases; any other test counts as one.

--repeat N: where at most N tests failed, run each of them once more, alone.
A test that passes then is named as unsteady and counts as it ended.
"""
import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Programs at a time; more would not find ports for all their tests (e2e/ports.py).
PROGRAMS_MAX = 16
SHOWN_LINES = 400  # of a test that failed
SUITES = ("unit", "vectors", "fuzz", "lint", "e2e")
MESON = "/usr/bin/meson"


def said(entry):
    """What a test of meson's testlog.json printed."""
    text = entry.get("stdout", "") + "\n" + entry.get("stderr", "")
    return re.sub(r"\x1b\[[0-9;]*m", "", text)  # libre warns in colour


def why(entry):
    """Of what a failed test printed, what tells the reason: pytest's account of its failures from
    the first one on, of other programs the end."""
    text = said(entry)
    begin = re.search(r"^=+ (?:FAILURES|ERRORS) =+$", text, re.M)
    lines = text[begin.start() if begin else 0:].splitlines()
    shown = [] if not begin else lines[:SHOWN_LINES]
    rest = lines[len(shown):]
    if len(rest) > SHOWN_LINES // 4:
        shown.append(f"... {len(rest) - SHOWN_LINES // 4} lines are left out; meson-logs/testlog.txt")
        rest = rest[-(SHOWN_LINES // 4):]
    return "\n".join([f"---- {entry['name']}: {entry['result']}", *shown, *rest])


def cases(entry):
    """(passed, failed, skipped) of one line of meson's testlog.json."""
    text = said(entry)
    good = entry["result"] in ("OK", "EXPECTEDFAIL")
    passed = failed = skipped = 0
    running = [int(n) for n in
               re.findall(r"^\[=+\] (?:\S+: )?Running (\d+) test", text, re.M)]
    summary = re.findall(r"^=* ?((?:\d+ \w+(?:, )?)+) in [0-9.]+s", text, re.M)
    if running:
        passed = sum(int(n) for n in
                     re.findall(r"^\[  PASSED  \] (\d+) test", text, re.M))
        skipped = sum(int(n) for n in
                      re.findall(r"^\[  SKIPPED \] .*?(\d+) test", text, re.M))
        failed = sum(running) - passed - skipped
    elif summary:
        count = {word.rstrip("s"): int(n) for n, word in
                 re.findall(r"(\d+) (\w+)", summary[-1])}
        passed = count.get("passed", 0)
        failed = count.get("failed", 0) + count.get("error", 0)
        skipped = count.get("skipped", 0)
    elif entry["result"] == "SKIP":
        skipped = 1
    else:
        passed = 1 if good else 0
    # Whatever it printed, a test that meson saw fail has a failure.
    if not good and entry["result"] != "SKIP" and failed < 1:
        failed = 1
    if good and failed > 0:
        print(f"{entry['name']}: exit status 0 in spite of failed cases")
    return passed, max(failed, 0), skipped


def known_tests(build):
    out = subprocess.run([MESON, "test", "-C", build, "--list", "--no-rebuild"],
                         check=True, capture_output=True, text=True).stdout
    return [line.split(" / ")[-1].strip() for line in out.splitlines()
            if line.strip()]


def case_source(name):
    """The file that defines the case of this name, or None."""
    pattern = re.compile(rf"^(?:def|static void|void) {re.escape(name)}\b", re.M)
    for path in sorted((ROOT / "tests").rglob("test[-_]*.*")):
        if path.suffix in (".py", ".c") and pattern.search(path.read_text()):
            return path
    return None


def run_pytest(build, path, name):
    env = dict(os.environ, OFFHOOK_BUILD=str(Path(build).resolve()))
    done = subprocess.run(["/usr/bin/python3", "-m", "pytest", "-p",
                           "no:cacheprovider", "-v", "-s", f"{path}::{name}"],
                          env=env, stdout=subprocess.PIPE, text=True,
                          errors="replace")
    print(done.stdout, end="")
    entry = {"name": name, "stdout": done.stdout,
             "result": "OK" if done.returncode == 0 else "FAIL"}
    return cases(entry)


def run_meson(build, arguments, **environment):
    """Meson's exit status and {name: entry of its testlog.json}."""
    log = Path(build) / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    # A timeout is for a test that hangs, not for a machine that is slow; and as most of a
    # test is waiting for calls, one more than there are processors may run.
    status = subprocess.run([MESON, "test", "-C", build, "--no-rebuild",
                             "--timeout-multiplier", "4",
                             "--num-processes",
                             str(min(len(os.sched_getaffinity(0)) + 1, PROGRAMS_MAX)),
                             *arguments],
                            env={**os.environ, **environment}).returncode
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    entries = [json.loads(line) for line in lines]
    for entry in entries:
        if cases(entry)[1]:
            print(why(entry), flush=True)
    return status, {e["name"].split(" / ")[-1].strip(): e for e in entries}


def repeat_failed(build, entries, most):
    """Run failed tests once more, alone; the names of those that pass then."""
    failed = sorted(n for n, e in entries.items() if cases(e)[1])
    if not 0 < len(failed) <= most:
        return []
    unsteady = []
    for name in failed:
        print(f"{name} failed; once more, alone", flush=True)
        status, again = run_meson(build, [name], OFFHOOK_SHARDS="1")
        if status == 0 and name in again:
            entries[name] = again[name]
            unsteady.append(name)
    return unsteady


def slowest(entries, count=8):
    """The programs that took longest, for a person to read."""
    longest = sorted(entries.values(), key=lambda e: -e.get("duration", 0))[:count]
    whole = sum(e.get("duration", 0) for e in entries.values())
    return f"{whole:.0f} s of tests; the longest: " + ", ".join(
        f"{e['name'].split(' / ')[-1].strip()} {e.get('duration', 0):.0f} s" for e in longest)


def run_suites(build, arguments, most):
    """((passed, failed, skipped), unsteady tests) of one call of meson."""
    status, entries = run_meson(build, arguments)
    print(slowest(entries))
    unsteady = repeat_failed(build, entries, most)
    total = [sum(n) for n in zip((0, 0, 0), *map(cases, entries.values()))]
    if status != 0 and not unsteady and total[1] == 0:
        total[1] = 1
    return total, unsteady


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeat", type=int, default=0)
    parser.add_argument("build")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    build, names = given.build, given.names
    tests = known_tests(build)
    suites = [n for n in names if n in SUITES]
    plain, single = [], []
    for name in (n for n in names if n not in SUITES):
        stem = name.removesuffix(".py").removesuffix(".c")
        short = stem.removeprefix("test_").removeprefix("test-")
        for known in (name, stem, short, short.replace("_", "-"), "e2e-" + short):
            if known in tests:
                plain.append(known)
                break
        else:
            path = case_source(name)
            if path is None:
                sys.exit(f"runtests: there is no suite, test or case named {name}")
            if path.suffix == ".py":
                single.append((path, name))
            else:
                known = f"{path.parent.name}-{path.stem.removeprefix('test-')}"
                matches = [t for t in tests if t == known]
                if not matches:
                    sys.exit(f"runtests: {name} is in {path}, whose test is unknown")
                plain += matches
    total = [0, 0, 0]
    jobs = []
    if suites:
        jobs.append([f"--suite={s}" for s in suites])
    if plain:
        jobs.append(plain)
    if not names:
        jobs.append([])
    unsteady = []
    for arguments in jobs:
        seen, again = run_suites(build, arguments, given.repeat)
        total = [a + b for a, b in zip(total, seen)]
        unsteady += again
    for path, name in single:
        total = [a + b for a, b in zip(total, run_pytest(build, path, name))]
    passed, failed, skipped = total
    print()
    if skipped:
        print(f"{skipped} skipped")
    for name in unsteady:
        print(f"unsteady: {name} failed among the others and passed alone")
    if passed + failed == 0:
        print("nothing was run")
        failed = 1
    print(f"{passed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed else 0)


main()

#!/usr/bin/python3
"""Run meson tests of a build directory and count their cases.

usage: run.py [--ci] [--long] [--without SUITE] BUILD [NAME...]; NAME is a suite, a meson test or one case.
Counts cmocka cases and pytest cases; any other test counts as one.

--ci: A test that failed while the machine stalled (machine.py) is run once more, alone, and counts
as it ended; where more than two tests failed, or one without a stall, nothing is repeated. Each
repetition is noted in tests/unsteady.md. A skipped case that is not in tests/skipped.txt has failed.
The suite media runs by itself, before the others.
--long: also the tests of suite "long", which are left out otherwise unless they are named.
"""
import argparse
import fnmatch
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from machine import Machine
from results import cases, failed_cases, longest_case, name_of, skipped_cases, why

TESTS = Path(__file__).resolve().parent
# Programs at a time; more would not find ports for all their tests (e2e/ports.py).
PROGRAMS_MAX = 16
REPEATED_MAX = 2
LONGEST = 10
# Programs a processor at a time: 463 took 9530 s side by side, mostly waiting, and 1060 s of processor time. With four
# a slow machine had no idle time and a load of 29, and limits that have room elsewhere were exceeded.
EACH = 3
# Of the suite media fewer: its calls are judged by their media, and shall not prove what the machine can do.
MEDIA = "media"
MEDIA_EACH = 2
SUITES = ("unit", "vectors", "fuzz", "lint", "e2e", MEDIA, "long")
MESON = "/usr/bin/meson"


def known_tests(build):
    out = subprocess.run([MESON, "test", "-C", build, "--list", "--no-rebuild"],
                         check=True, capture_output=True, text=True).stdout
    return [line.split(" / ")[-1].strip() for line in out.splitlines()
            if line.strip()]


def case_source(name):
    """The file that defines the case of this name, or None."""
    pattern = re.compile(rf"^(?:def|static void|void) {re.escape(name)}\b", re.M)
    for path in sorted(TESTS.rglob("test[-_]*.*")):
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


def run_meson(build, arguments, each, **environment):
    """Meson's exit status and {name: entry of its testlog.json}.

    each: programs a processor at a time"""
    log = Path(build) / "meson-logs" / "testlog.json"
    log.unlink(missing_ok=True)
    # Long timeouts: they are for tests that hang, not for a slow machine.
    status = subprocess.run([MESON, "test", "-C", build, "--no-rebuild",
                             "--timeout-multiplier", "4",
                             "--num-processes",
                             str(min(each * len(os.sched_getaffinity(0)), PROGRAMS_MAX)),
                             *arguments],
                            env={**os.environ, **environment}).returncode
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    entries = [json.loads(line) for line in lines]
    for entry in entries:
        if cases(entry)[1]:
            print(why(entry), flush=True)
    return status, {name_of(e): e for e in entries}


def longest(entries):
    """Lines that list the programs that took longest."""
    ordered = sorted(entries.values(), key=lambda e: -e.get("duration", 0))
    whole = sum(e.get("duration", 0) for e in ordered)
    lines = [f"{whole:.0f} s of tests; the longest:"]
    for entry in ordered[:LONGEST]:
        case = longest_case(entry)
        lines.append(f"{entry.get('duration', 0):6.0f} s  {name_of(entry)}" +
                     (f" (longest case: {case[0]:.0f} s {case[1]})" if case else ""))
    return "\n".join(lines)


class Strict:
    """The exceptions that --ci allows: repetitions after a stall, and listed skipped cases."""

    def __init__(self, machine, notes, allowed, suite):
        self._machine = machine
        self._notes = Path(notes)
        self._suite = suite
        self._allowed = {}  # pattern of TEST::CASE -> whether it is always skipped
        self._repeated = 0
        for line in Path(allowed).read_text(encoding="utf-8").splitlines():
            if line.strip() and not line.startswith("#"):
                pattern, _, reason = line.partition(" ")
                if not reason.strip():
                    sys.exit(f"{allowed}: {pattern} has no reason")
                run, _, pattern = pattern.rpartition("/")
                if run in ("", suite):
                    self._allowed[pattern] = not reason.strip().startswith("sometimes:")

    def _stall_of(self, entry):
        """The worst evidence if the machine stalled while each failed case ran, else None"""
        found = []
        for begin, end, case in failed_cases(entry):
            evidence = self._machine.during(begin, end)
            print(f"{name_of(entry)}: {case}: {evidence}: "
                  f"{'a stall' if evidence.stalled else 'no stall'}", flush=True)
            found.append((case, evidence))
        if not found or not all(evidence.stalled for _, evidence in found):
            return None
        return found

    def repeat(self, build, entries):
        """Repeat tests that failed in a stall, and replace their entries. @return lines to print"""
        failed = sorted(n for n, e in entries.items() if cases(e)[1])
        stalls = {name: self._stall_of(entries[name]) for name in failed}
        if not failed:
            return []
        if not all(stalls.values()):
            return ["nothing is repeated: the machine did not stall while each of them ran"]
        if self._repeated + len(failed) > REPEATED_MAX:
            return [f"nothing is repeated: more than {REPEATED_MAX} tests failed"]
        self._repeated += len(failed)
        told = []
        for name in failed:
            print(f"{name} failed in a stall; once more, alone", flush=True)
            status, again = run_meson(build, [name], EACH, OFFHOOK_SHARDS="1")
            passed = status == 0 and name in again
            self._note(name, stalls[name], passed)
            if passed:
                entries[name] = again[name]
                told.append(f"unsteady: {name} failed in a stall and passed alone")
            else:
                told.append(f"{name} failed in a stall and failed alone")
        return told

    def _note(self, name, found, passed):
        cases_text = ", ".join(case for case, _ in found)
        worst = max((evidence for _, evidence in found), key=lambda e: e.late_s)
        day = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())
        with self._notes.open("a", encoding="utf-8") as notes:
            notes.write(f"| {day} | {self._suite} | {name} | {cases_text} | {worst} | "
                        f"{'passed' if passed else 'failed'} |\n")

    def skipped(self, entries):
        """(number of skipped cases that are not allowed, lines to print)"""
        ran = set(entries)
        skipped = [found for e in entries.values() for found in skipped_cases(e)]
        refused, told = 0, []
        for name, reason in skipped:
            if not any(fnmatch.fnmatchcase(name, p.replace("[", "[[]")) for p in self._allowed):
                refused += 1
                told.append(f"skipped and not in tests/skipped.txt: {name}"
                            + (f" ({reason})" if reason else ""))
        for pattern in (p for p, always in self._allowed.items() if always):
            names = fnmatch.filter([n for n, _ in skipped], pattern.replace("[", "[[]"))
            if pattern.partition("::")[0] in ran and not names:
                told.append(f"tests/skipped.txt lists {pattern}, which is not skipped any more")
        return refused, told


def run_suites(build, arguments, each, strict):
    """([passed, failed, skipped], lines to print at the end) of one call of meson."""
    status, entries = run_meson(build, arguments, each)
    told = strict.repeat(build, entries) if strict else []
    total = [sum(n) for n in zip((0, 0, 0), *map(cases, entries.values()))]
    if strict:
        refused, lines = strict.skipped(entries)
        total[1] += refused
        told += lines
    repeated = any(line.startswith("unsteady:") for line in told)
    if status != 0 and not repeated and total[1] == 0:
        total[1] = 1
    told.insert(0, longest(entries))
    return total, told


def chosen(build, names):
    """(suites, meson tests, [(file, case)]) that the names stand for"""
    tests = known_tests(build)
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
                continue
            known = f"{path.parent.name}-{path.stem.removeprefix('test-')}"
            if known not in tests:
                sys.exit(f"runtests: {name} is in {path}, whose test is unknown")
            plain.append(known)
    return [n for n in names if n in SUITES], plain, single


def jobs(given, suites, plain):
    """Yield (arguments of meson, programs a processor) of each call of it: media by itself, first."""
    left_out = given.without + ([] if given.long or "long" in suites else ["long"])
    wanted = set(suites if given.names else SUITES)
    if MEDIA in wanted - set(left_out):
        yield [f"--suite={MEDIA}", *(f"--no-suite={s}" for s in left_out)], MEDIA_EACH
        left_out = [*left_out, MEDIA]
    others = [f"--suite={s}" for s in suites if s != MEDIA]
    if others or not given.names:
        yield others + [f"--no-suite={s}" for s in left_out], EACH
    if plain:
        yield plain, EACH


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ci", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--without", action="append", default=[], choices=SUITES)
    parser.add_argument("--suite-name", default="plain", help="plain, sanitized or threads: in notes and lists")
    parser.add_argument("--notes", default=TESTS / "unsteady.md")
    parser.add_argument("--skipped", default=TESTS / "skipped.txt")
    parser.add_argument("build")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    machine = Machine()
    begun = time.time()
    suites, plain, single = chosen(given.build, given.names)
    strict = given.ci and Strict(machine, given.notes, given.skipped, given.suite_name)
    total, told = [0, 0, 0], []
    for arguments, each in jobs(given, suites, plain):
        seen, lines = run_suites(given.build, arguments, each, strict)
        total = [a + b for a, b in zip(total, seen)]
        told += lines
    for path, name in single:
        total = [a + b for a, b in zip(total, run_pytest(given.build, path, name))]
    passed, failed, skipped = total
    print()
    for line in told:
        print(line)
    print(f"the machine: {machine.during(begun, time.time())}")
    if skipped:
        print(f"{skipped} skipped")
    if passed + failed == 0:
        print("nothing was run")
        failed = 1
    print(f"{passed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed else 0)


main()

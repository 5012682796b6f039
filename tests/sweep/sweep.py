#!/usr/bin/python3
"""Let allocations of the unit tests fail, one in each run of a program.

usage: sweep.py [--every] [--seconds S] [--patience S] [--only REGEX] BUILD ROOM...

BUILD is built with AddressSanitizer. A first run of each program lists the ways that lead to an
allocation (fail_allocation.c). Those that pass a function of a ROOM ("sip", "control/server/store";
"." for all) and were not taken by a program before are taken again, and the allocation fails. A test
that fails then is as it should be; a crash or a report of a sanitizer is a failure. That a program does
not end in the patience (10 s) beside three times its own time is told: tests wait up to 45 s for what cannot
come any more. Programs that run longer than S (3) seconds by themselves are left out, as are further runs of
one that did not end three times.
--every: every allocation of a way, not the first alone.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FRAMES = 3  # innermost functions of the project that identify a call path
SHOWN_LINES = 40
PATIENCE_S = 10  # of a run, added to three times the program's usual time
ENDLESS_MAX = 3  # runs of a program that did not end, after which it is left
SANITIZED = re.compile(r"(?:ERROR: AddressSanitizer|runtime error|AddressSanitizer:DEADLYSIGNAL).*")

Program = namedtuple("Program", "name path environment")
Way = namedtuple("Way", "number places")  # places: (function, file:line) of the project, innermost first


class Endless(Exception):
    """A program did not end after a failed allocation."""


def programs(build):
    """The unit tests that are programs of this build"""
    out = subprocess.run(["/usr/bin/meson", "introspect", "--tests", build], check=True,
                         capture_output=True, text=True).stdout
    return [Program(t["name"], t["cmd"][0], t["env"]) for t in json.loads(out)
            if any(s.endswith("unit") for s in t["suite"])
            and t["cmd"][0].startswith(str(Path(build).resolve()))]


def preload(folder):
    """The library that lets allocations fail. Without -fno-builtin the compiler takes what
    calls malloc() in it for something it knows."""
    library = folder / "fail_allocation.so"
    subprocess.run(["cc", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fno-builtin", "-shared",
                    "-fPIC", "-o", library, HERE / "fail_allocation.c"], check=True)
    return library


class Sweep:
    def __init__(self, folder, every):
        self._folder = folder
        self._library = preload(folder)
        self._every = every

    def run(self, program, log, fail=0, timeout=None):
        """(exit status or None, output, seconds)"""
        begun = time.monotonic()
        environment = {
            **os.environ, **program.environment, "LD_PRELOAD": str(self._library),
            "SWEEP_LOG": str(log), "SWEEP_FAIL": str(fail), "LC_ALL": "C",
            # cmocka's signal handlers would hide the sanitizer's report
            "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0:exitcode=99:"
                            "allow_user_segv_handler=0:handle_abort=1:symbolize=1",
            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
        with subprocess.Popen([program.path], env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              cwd=self._folder, start_new_session=True) as process:
            try:
                output, _ = process.communicate(timeout=timeout)
                status = process.returncode
            except subprocess.TimeoutExpired:
                status = None
            try:
                os.killpg(process.pid, signal.SIGKILL)  # with its children
            except ProcessLookupError:
                pass
            if status is None:
                output, _ = process.communicate()
        return status, output.decode(errors="replace"), time.monotonic() - begun

    def ways(self, program, rooms, taken, timeout):
        """([Way], seconds of the program); taken has those of other programs"""
        log = self._folder / f"{program.name}.ways"
        status, output, seconds = self.run(program, log, timeout=timeout)
        if status is None:
            return None, seconds
        if status != 0:
            raise RuntimeError(f"{program.name} fails by itself\n{output}")
        lines = [line.split() for line in log.read_text().splitlines()]
        last = max((int(n) for word, n, *_ in lines if word == "all"), default=0)
        lines = [line for line in lines if line[0] != "all"]
        places = self._places(program, sorted({at for line in lines for at in line[1:]}))
        found = []
        for number, *frames in lines:
            ours = [places[at] for at in frames if places[at]]
            if not ours or ours[0][1].startswith("tests/"):
                continue  # the test's own allocation
            ours = tuple(p for p in ours if not p[1].startswith("tests/"))
            key = ours[:FRAMES]
            if key in taken or not any(in_room(p[1], rooms) for p in ours[:1]):
                continue
            taken.add(key)
            found.append(Way(int(number), ours))
        if self._every and found:
            known = {way.number: way for way in found}
            nearest, every = found[0], []
            for number in range(1, last + 1):
                nearest = known.get(number, nearest)
                every.append(Way(number, nearest.places))
            found = every
        return found, seconds

    @staticmethod
    def _places(program, addresses):
        """{address: (function, file:line) or None where it is not the project's}"""
        # of the call, not of what follows it
        asked = "\n".join(f"{int(at, 16) - 1:x}" for at in addresses)
        out = subprocess.run(["addr2line", "-f", "-e", program.path], input=asked, check=True,
                             capture_output=True, text=True).stdout.splitlines()
        places = {}
        for at, function, place in zip(addresses, out[::2], out[1::2]):
            path = os.path.normpath(place.split(" ")[0])
            inside = path.startswith(f"{ROOT}/")
            places[at] = (function, path[len(str(ROOT)) + 1:]) if inside else None
        return places

    def take(self, program, way, timeout):
        """What is wrong where the allocation of a way fails, or None"""
        status, output, _ = self.run(program, "/dev/null", way.number, timeout)
        text = None
        report = SANITIZED.search(output)
        if status is None and not report:
            raise Endless
        if report:
            text = "\n".join(output[report.start():].splitlines()[:SHOWN_LINES])
            first = re.search(rf"^ +#\d+ .* in (\S+) (?:{re.escape(str(ROOT))}/\S*?\.\./|\.\./)?(\S+)",
                              "\n".join(line for line in text.splitlines()
                                        if re.search(r"\.[ch]:\d+", line) and
                                        "/usr/" not in line and "libsanitizer" not in line), re.M)
            if re.search("SEGV|null pointer", text) and first and first[2].startswith("tests/"):
                return None  # the test used the result of the failed allocation
        elif status < 0:
            text = f"died of signal {-status}\n" + "\n".join(output.splitlines()[-5:])
        if text is None:
            return None
        places = "\n".join(f"    {function} {place}" for function, place in way.places[:6])
        return f"---- {program.name}: allocation {way.number} failed in\n{places}\n{text}"


def in_room(path, rooms):
    return any(room == "." or path.startswith(f"{room}/") for room in rooms)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--patience", type=float, default=PATIENCE_S)
    parser.add_argument("--only", help="regular expression of programs")
    parser.add_argument("build")
    parser.add_argument("rooms", nargs="+")
    given = parser.parse_args()
    runs = wrong = 0
    taken, left_out = set(), []
    jobs = len(os.sched_getaffinity(0)) + 1  # they mostly wait
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        sweep = Sweep(Path(folder), given.every)
        for program in programs(given.build):
            if given.only and not re.search(given.only, program.name):
                continue
            ways, seconds = sweep.ways(program, given.rooms, taken, given.seconds)
            if ways is None:
                left_out.append(program.name)
                continue
            timeout = given.patience + 3 * seconds
            found, endless, taking = [], [], []

            def take(way):
                if len(endless) >= ENDLESS_MAX:
                    return None
                taking.append(way)
                try:
                    return sweep.take(program, way, timeout)
                except Endless:
                    endless.append(way)
                    return None
            found = [x for x in pool.map(take, ways) if x]
            runs += len(taking)
            for way in endless:
                print(f"{program.name} does not end where allocation {way.number} fails: "
                      f"{' < '.join(' '.join(p) for p in way.places[:3])}", flush=True)
            if len(endless) >= ENDLESS_MAX:
                print(f"{program.name}: no further runs, {len(ways) - len(taking)} are left out")
            wrong += len(found)
            if ways:
                print(f"{program.name}: {len(taking)} allocations failed, {len(found)} reports",
                      flush=True)
            for text in found:
                print(text, flush=True)
    if left_out:
        print(f"left out, longer than {given.seconds:.0f} s: {', '.join(left_out)}")
    print(f"{runs - wrong} passed, {wrong} failed", flush=True)
    sys.exit(1 if wrong else 0)


main()

#!/usr/bin/python3
"""Checks of the program's code beside the suite, over the rooms (folders) that changed.

usage: checks.py [--all] [--long] [--since REV] [CHECK...]

tidy         clang-tidy with .clang-tidy, after ./runtests --threads (build-tsan)
analyzer     gcc -fanalyzer, after ./runtests (build)
allocations  allocations of the unit tests fail (sweep/sweep.py), after ./runtests --sanitize (build-asan)

A room has changed if a .c or .h file of it differs from REV or is new. By default REV is the state on
which all checks passed last (refs/offhook/checked, kept by .ci/run), else where this branch left
main, else the commit in tests/checked.txt, on which all rooms passed; if none is known all rooms are
checked, as with --all. --long: also allocations of unit tests that take up to a minute, and with more
patience.
"""
import argparse
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHECKED = "refs/offhook/checked"
RECORDED = ROOT / "tests" / "checked.txt"
# Off are checks whose 35 reports of gcc 12 over the whole tree were all wrong: of allocations that have an owner,
# pointers that are not used as their length is 0, and elements that an earlier turn of the loop set.
ANALYZER = ["-fanalyzer", "-Werror"] + [f"-Wno-analyzer-{what}" for what in (
    "malloc-leak", "null-argument", "null-dereference", "use-of-uninitialized-value")]
JOBS = len(os.sched_getaffinity(0))


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.strip() if done.returncode == 0 else None


def last_checked():
    """The revision with which the files are compared, or None"""
    if git("merge-base", "--is-ancestor", CHECKED, "HEAD") is not None:
        return CHECKED
    base = git("merge-base", "HEAD", "main")
    if base and base != git("rev-parse", "HEAD"):
        return base
    recorded = RECORDED.read_text().split()[0]
    return recorded if git("merge-base", "--is-ancestor", recorded, "HEAD") is not None else None


def rooms_changed(since):
    """Folders of program code; "." alone: all"""
    if since is None:
        return ["."]
    names = git("diff", "--name-only", since)
    if names is None:
        sys.exit(f"checks: there is no revision {since}")
    names = (names + "\n" + (git("ls-files", "--others", "--exclude-standard") or "")).split("\n")
    folders = {os.path.dirname(n) for n in names if n.endswith((".c", ".h"))}
    return sorted(f for f in folders if f and not f.startswith("tests"))


def commands(build, rooms):
    """[(file, words, folder)] that compile the program's files in rooms"""
    path = ROOT / build / "compile_commands.json"
    if not path.exists():
        sys.exit(f"checks: {build} is not built; see docs/internals/testing.md")
    found = {}
    for entry in json.loads(path.read_text()):
        name = os.path.relpath(os.path.join(entry["directory"], entry["file"]), ROOT)
        if not name.startswith(("tests", "build")) and \
                ("." in rooms or os.path.dirname(name) in rooms):
            found[name] = (name, shlex.split(entry["command"]), entry["directory"])
    return sorted(found.values())


def over_files(told, files, command):
    """(passed, failed): command(name, words) for each file, several at a time"""
    def one(item):
        name, words, folder = item
        done = subprocess.run(command(name, words), cwd=folder, text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return name, done.returncode, done.stdout
    failed = 0
    with ThreadPoolExecutor(JOBS) as pool:
        for name, status, said in pool.map(one, files):
            if status != 0:
                failed += 1
                print(f"---- {told}: {name}\n{said.strip()}", flush=True)
    return len(files) - failed, failed


def tidy(rooms, **_):
    return over_files("clang-tidy", commands("build-tsan", rooms), lambda name, words: [
        "clang-tidy", "-p", ROOT / "build-tsan", "--quiet", ROOT / name])


def analyzer(rooms, **_):
    def command(_name, words):
        cut = words.index("-MD")  # do not overwrite its dependencies and its object
        return words[:cut] + ANALYZER + ["-o", "/dev/null", "-c", words[-1]]
    return over_files("gcc -fanalyzer", commands("build", rooms), command)


def allocations(rooms, long=False):
    more = ["--seconds", "60", "--patience", "60"] if long else []
    done = subprocess.run([sys.executable, ROOT / "tests" / "sweep" / "sweep.py", *more,
                           ROOT / "build-asan", *rooms], text=True, check=False,
                          stdout=subprocess.PIPE)
    print(done.stdout, end="", flush=True)
    words = done.stdout.split()[-4:]
    return (int(words[0]), int(words[2])) if words[1::2] == ["passed,", "failed"] else (0, 1)


CHECKS = {"tidy": tidy, "analyzer": analyzer, "allocations": allocations}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--since")
    parser.add_argument("checks", nargs="*", metavar="CHECK")
    given = parser.parse_args()
    unknown = [c for c in given.checks if c not in CHECKS]
    if unknown:
        parser.error(f"there is no check {unknown[0]}; there are {', '.join(CHECKS)}")
    rooms = ["."] if given.all else rooms_changed(given.since or last_checked())
    print("rooms: " + ("all" if rooms == ["."] else ", ".join(rooms) or "none has changed"))
    passed = failed = 0
    for name in given.checks or CHECKS:
        good, bad = CHECKS[name](rooms, long=given.long) if rooms else (1, 0)
        print(f"{name}: {good} passed, {bad} failed", flush=True)
        passed, failed = passed + good, failed + bad
    print(f"{passed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed else 0)


main()

"""What the tests of meson's testlog.json did: cases counted, failed and skipped ones named."""
import re
from collections import namedtuple

SHOWN_LINES = 400  # of a test that failed

Failed = namedtuple("Failed", "begin end case")  # wall clock, seconds


def name_of(entry):
    return entry["name"].split(" / ")[-1].strip()


def said(entry):
    """What a test of meson's testlog.json printed."""
    text = entry.get("stdout", "") + "\n" + entry.get("stderr", "")
    return re.sub(r"\x1b\[[0-9;]*m", "", text)  # libre warns in colour


def why(entry):
    """The part of a failed test's output that tells the reason: pytest's failures from the first one on, of
    other programs the end."""
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
    # A test that failed for meson has a failure, whatever it printed.
    if not good and entry["result"] != "SKIP" and failed < 1:
        failed = 1
    if good and failed > 0:
        print(f"{entry['name']}: exit status 0 in spite of failed cases")
    return passed, max(failed, 0), skipped


def failed_cases(entry):
    """[Failed] of an entry. Where tests/conftest.py did not record the times of all failed cases, they are
    those of the program."""
    text = said(entry)
    begin = entry.get("starttime", 0)
    whole = Failed(begin, begin + entry.get("duration", 0), name_of(entry))
    told = [Failed(float(m[0]), float(m[1]), m[2]) for m in
            re.findall(r"^@failed ([0-9.]+) ([0-9.]+) (.+)$", text, re.M)]
    failed = cases(entry)[1]
    if failed and len(told) < failed:
        names = re.findall(r"^\[  FAILED  \] (\S+)$", text, re.M)
        told.append(whole._replace(case=", ".join(dict.fromkeys(names)) or whole.case))
    return told


def skipped_cases(entry):
    """[(name, reason)]: TEST::CASE, or TEST where all of a program was skipped"""
    name, text = name_of(entry), said(entry)
    found = [(f"{name}::{case.partition('::')[2]}", reason) for case, reason in
             re.findall(r"^@skipped (.+?) \| (.*)$", text, re.M)]
    found += [(f"{name}::{case}", "") for case in
              dict.fromkeys(re.findall(r"^\[  SKIPPED \] ([a-z]\w+)$", text, re.M))]
    while len(found) < cases(entry)[2]:
        found.append((name, ""))
    return found


def longest_case(entry):
    """(seconds, case) of the longest case, or None if no times were recorded"""
    told = re.findall(r"^@took ([0-9.]+) (.+)$", said(entry), re.M)
    return max(((float(t), case) for t, case in told), default=None)

"""Tells tests/run.py when which case failed, which was skipped and which took longest.

    @failed BEGIN END CASE    wall clock, seconds
    @skipped CASE | REASON
    @took SECONDS CASE
"""
import time
from pathlib import Path

LONGEST = 3
noted = {"failed": {}, "skipped": {}, "took": {}}


def pytest_runtest_logreport(report):
    path, _, name = report.nodeid.partition("::")
    case = f"{Path(path).name}::{name}"
    begin, end = noted["took"].get(case, (time.time() - report.duration, 0))
    noted["took"][case] = begin, time.time()
    if report.failed:
        noted["failed"][case] = None
    elif report.skipped and not hasattr(report, "wasxfail"):
        noted["skipped"][case] = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""


def pytest_terminal_summary(terminalreporter):
    took = noted["took"]
    lines = [f"@failed {took[case][0]:.3f} {took[case][1]:.3f} {case}" for case in noted["failed"]]
    lines += [f"@skipped {case} | {' '.join(why.split()).removeprefix('Skipped: ')}"
              for case, why in noted["skipped"].items()]
    longest = sorted(took, key=lambda case: took[case][0] - took[case][1])[:LONGEST]
    lines += [f"@took {took[case][1] - took[case][0]:.1f} {case}" for case in longest]
    terminalreporter.ensure_newline()
    for line in lines:
        terminalreporter.write_line(line)

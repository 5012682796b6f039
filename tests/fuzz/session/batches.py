"""The command line of a session target: batches of sessions one after another, until their number or the
time is reached, or one has found something."""
import argparse
import time
from pathlib import Path


class Found(Exception):
    """What the program under test did wrong"""


def run_batches(usage, what, size, batch_of):
    """@param what      the plural of what is counted: "dialogs"
    @param size      sessions of a batch, at most
    @param batch_of  (build, first, count) -> a batch with run() and report(folder, why)
    @return exit status: 1 something was found"""
    parser = argparse.ArgumentParser(usage=usage)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--first", type=int, required=True)
    parser.add_argument("--count", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--findings", type=Path, default=Path("findings"))
    given = parser.parse_args()
    until = time.monotonic() + (given.seconds or 0)
    ran = 0
    while ran < given.count if given.count else time.monotonic() < until:
        first, count = given.first + ran, min(size, given.count - ran) if given.count else size
        batch = batch_of(given.build.resolve(), first, count)
        try:
            batch.run()
        except (Found, AssertionError) as why:
            batch.report(given.findings, f"{what} {first} to {first + count - 1}: {why}")
            print(f"ran {ran}")
            return 1
        ran += count
    print(f"{what} {given.first} to {given.first + ran - 1}\nran {ran}")
    return 0

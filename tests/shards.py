#!/usr/bin/python3
"""Run the tests of a file N at a time, each part in a pytest of its own: for files whose
tests mostly wait.

usage: shards.py N PYTEST-ARGUMENT...; OFFHOOK_SHARDS=1: one after the other

What the parts print follows part by part, and at last one line with the sums of all.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
NOTHING_RUN = 5  # exit status of pytest
WORDS = ("passed", "failed", "skipped", "error", "xfailed", "xpassed")


def pytest_collection_modifyitems(config, items):
    """The pytest plugin of a part: selects every N-th test."""
    part, count = map(int, os.environ["OFFHOOK_SHARD"].split("/"))
    config.hook.pytest_deselected(items=[i for n, i in enumerate(items) if n % count != part])
    items[:] = items[part::count]


class Part:
    def __init__(self, number, count, arguments):
        self._output = tempfile.TemporaryFile()  # pylint: disable=consider-using-with
        paths = [str(HERE), os.environ.get("PYTHONPATH", "")]
        self._process = subprocess.Popen(  # pylint: disable=consider-using-with
            [sys.executable, "-B", "-m", "pytest", "-p", "shards", *arguments],
            stdout=self._output, stderr=subprocess.STDOUT,
            env={**os.environ, "OFFHOOK_SHARD": f"{number}/{count}",
                 "PYTHONPATH": os.pathsep.join(p for p in paths if p)})

    def wait(self):
        return self._process.wait()

    def text(self):
        """Its output so far."""
        self._output.seek(0)
        return self._output.read().decode(errors="replace")


def sums(texts):
    """{word: count} of all last lines; a part without one has an error"""
    total = {}
    for text in texts:
        text = re.sub(r"\x1b\[[0-9;]*m", "", text)
        lines = re.findall(r"^=* ?((?:\d+ \w+(?:, )?)+) in [0-9.]+s", text, re.M)
        for number, word in re.findall(r"(\d+) (\w+)", lines[-1] if lines else "1 error"):
            word = "error" if word == "errors" else word
            if word in WORDS:
                total[word] = total.get(word, 0) + int(number)
    return total


def main():
    count, arguments = int(os.environ.get("OFFHOOK_SHARDS", sys.argv[1])), sys.argv[2:]
    if os.environ.get("OFFHOOK_WRITE_INTEROP"):
        count = 1  # they write one file
    if count == 1:
        os.execv(sys.executable, [sys.executable, "-B", "-m", "pytest", *arguments])
    begun = time.monotonic()
    parts = [Part(n, count, arguments) for n in range(count)]

    def show(*_):
        print("".join(p.text() for p in parts), flush=True)

    def give_up(*_):  # the parts get the same signal
        show()
        os._exit(1)

    signal.signal(signal.SIGTERM, give_up)
    codes = [p.wait() for p in parts]
    show()
    texts = [p.text() for p, code in zip(parts, codes) if code != NOTHING_RUN]
    found = sums(texts)
    total = ", ".join(f"{found[word]} {word}" for word in WORDS if word in found)
    print(f"==== {total or 'no tests ran'} in {time.monotonic() - begun:.2f}s ====")
    sys.exit(max((c for c in codes if c != NOTHING_RUN), default=NOTHING_RUN, key=abs))


if __name__ == "__main__":
    main()

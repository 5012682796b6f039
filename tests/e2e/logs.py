"""Logs of programs that tests start.

They are shown for a failed test, also if the program runs longer than the test, or its
directory was removed."""
import re
import time
from pathlib import Path

TAIL = 6000     # bytes shown of each log

_files = {}     # path -> its last bytes, once the file may be gone
_begun = 0.0


def opened(path, mode="wb"):
    """Open a log for writing."""
    _files[Path(path)] = None
    return open(path, mode)  # pylint: disable=consider-using-with


def note(path):
    """Note a log that its program opens itself."""
    _files[Path(path)] = None


def last(path):
    """Keep the end of a log whose directory will be removed."""
    _files[Path(path)] = _tail(Path(path))


def test_begins():
    """A test starts: forget the logs of removed directories."""
    global _begun  # pylint: disable=global-statement
    _begun = time.time()
    for path in [p for p, text in _files.items() if text is not None or not p.exists()]:
        del _files[path]


def written():
    """[(title, text)] of the logs that have grown since the test started"""
    found = []
    for path, text in _files.items():
        if text is None and path.exists() and path.stat().st_mtime >= _begun - 0.02:   # the kernel's file times advance in ticks
            text = _tail(path)
        if text:
            found.append((f"log {path}", text))
    return found


def _tail(path):
    if not path.exists():
        return ""
    with open(path, "rb") as f:
        f.seek(max(0, path.stat().st_size - 10 * TAIL))
        text = f.read().decode(errors="replace")
    # of a line that is overwritten repeatedly (baresip's), the last state
    return re.sub(r"[^\n]*\r(?=[^\n])", "", text)[-TAIL:]

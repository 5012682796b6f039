"""Two network namespaces joined by a cable: 10.99.0.1 is ours, .2 the phone's."""
import os
import subprocess
from contextlib import contextmanager

import pytest


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextmanager
def cable():
    """The names of the two namespaces; skips where there can be none."""
    ours, theirs = (f"off{os.getpid()}{c}" for c in "ab")
    try:
        ip("netns", "add", ours)
        ip("netns", "add", theirs)
        ip("link", "add", "va", "netns", ours, "type", "veth",
           "peer", "name", "vb", "netns", theirs)
        for name, link, host in ((ours, "va", 1), (theirs, "vb", 2)):
            ip("-n", name, "addr", "add", f"10.99.0.{host}/24", "dev", link)
            ip("-n", name, "link", "set", link, "up")
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "route", "add", "default", "dev", link)
    except (OSError, subprocess.CalledProcessError) as error:
        for name in (ours, theirs):
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
        pytest.skip(f"no network namespaces: {error}")
    try:
        yield ours, theirs
    finally:
        for name in (ours, theirs):
            subprocess.run(["ip", "netns", "del", name], check=False)

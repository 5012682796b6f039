"""A client baresip and a native engine, joined by a cable between their namespaces."""
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from engine import Engine, target

NEEDED = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("baresip"),
                            reason="needs root and baresip")
OURS, THEIRS, SIP = "10.99.0.1", "10.99.0.2", 5070
UP = ["assert_established", "20000"]


@pytest.fixture(autouse=True, name="folder")
def folder_fixture(monkeypatch):
    """A temporary directory for baresip's folders, which must be empty at the end of
    the test."""
    with tempfile.TemporaryDirectory(prefix="offhook-") as path:
        monkeypatch.setenv("TMPDIR", path)
        yield Path(path)


class Pair:
    """A baresip and a native engine joined by a cable; `caller` names the client that
    calls."""

    def __init__(self, build, ports, namespaces, call, answer=None, caller="baresip",
                 settings=None, bind=OURS, theirs=THEIRS):
        self._bind, self._theirs = bind, theirs
        self._prefix = {bind: ("ip", "netns", "exec", namespaces[0]),
                        theirs: ("ip", "netns", "exec", namespaces[1])}
        self._build, self._ports, self._settings = build, ports, settings
        self.answer = {"type": "answer", "credentials": [{"username": "1002"}],
                       **(answer or {})}
        self.call = {"type": "call", "client": caller, "credentials": [{"username": "1001"}],
                     "target": target(theirs, SIP), "dial_destination": "1002", **call}

    def __enter__(self):
        self.callee = Engine(self._build, "callee", [[self.answer], []], self._ports,
                             bind=self._theirs, sip_port=SIP, prefix=self._prefix[self._theirs],
                             settings=self._settings)
        self.caller = Engine(self._build, "caller", [[], [self.call]], self._ports, bind=self._bind,
                             prefix=self._prefix[self._bind], settings=self._settings)
        return self

    def run(self):
        self.callee.step(0)
        self.caller.step(0)
        self.caller.go(1)
        self.both(lambda: self.caller.ready >= 1 or self.caller.finish, "the caller is ready")
        return self

    def both(self, condition, what):
        end = time.monotonic() + 90
        while not condition():
            assert time.monotonic() < end, what
            self.caller.pump()
            self.callee.pump(0.01)

    def end(self):
        if not self.callee.finish:
            self.callee.step(1)
            self.callee.end()
        if not self.caller.finish:
            self.caller.end()
        return self

    def __exit__(self, kind, *_):
        for engine in filter(None, (self.caller, self.callee)):
            log = engine.close()
            assert "Sanitizer" not in log and "runtime error" not in log, log
            if kind:
                print(f"--- {engine.role} {engine.finish}\n{log}\n{engine.states()}\n"
                      f"{engine.asserts()}\n{str(engine.calls())[:1500]}")

    def streams(self):
        """{(role, direction): stream} of the only call"""
        return {(e.role, s["dir"]): s for e in (self.caller, self.callee)
                for c in e.calls() for s in c["streams"]}


class Called(Pair):
    """A native engine calls a baresip, at the port that baresip chose."""

    def __init__(self, build, ports, namespaces, call, answer=None, **more):
        super().__init__(build, ports, namespaces, call, {"client": "baresip", **(answer or {})},
                         caller="native", **more)
        self._namespace = namespaces[0]

    def __enter__(self):
        self.callee = Engine(self._build, "callee", [[self.answer], []], self._ports,
                             bind=self._bind, prefix=self._prefix[self._bind],
                             settings=self._settings)
        self.caller = None
        return self

    def run(self):
        self.callee.step(0)
        self.callee.until(lambda: sip_port(self._namespace), "baresip listens")
        self.call["target"] = target(self._bind, sip_port(self._namespace))
        self.caller = Engine(self._build, "caller", [[self.call]], self._ports, bind=self._theirs,
                             prefix=self._prefix[self._theirs], settings=self._settings)
        self.caller.go(0)
        self.both(lambda: self.caller.ready >= 0 or self.caller.finish, "the caller is ready")
        return self


def sip_port(namespace):
    """SIP port of the baresip in a namespace, for UDP and TCP; None: not open yet."""
    sockets = subprocess.run(["ip", "netns", "exec", namespace, "ss", "-Hltunp"], check=True,
                             capture_output=True, text=True).stdout
    found = {"udp": set(), "tcp": set()}
    for line in sockets.splitlines():
        words = line.split()
        if "baresip" in line:
            found[words[0]].add(int(words[4].rsplit(":", 1)[1]))
    both = found["udp"] & found["tcp"]
    return both.pop() if both else None


def assert_counts_agree(streams):
    """By the tap's counts, each side received every packet that the other sent."""
    for here, there in (("caller", "callee"), ("callee", "caller")):
        sent, received = streams[here, "out"], streams[there, "in"]
        assert sent["packets"] == received["packets"] > 50
        assert sent["ssrc"] == received["ssrc"] and received["lost"] == 0
        assert sent["codec"] == received["codec"] != ""

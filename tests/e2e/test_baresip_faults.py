"""A client baresip that dies, hangs, or cannot be started: each with its reason."""
import os
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent import children
from engine import Engine, target
from program_clock import Clock
from second_client import NEEDED, OURS, SIP, THEIRS, Pair, folder_fixture  # noqa: F401

pytestmark = NEEDED


def pid_of_baresip(engine):
    """The pid of the engine process's child."""
    for pid, words in children(engine._process.pid):
        if words[0] == b"/usr/bin/baresip":
            return pid
    raise AssertionError("no baresip")


def baresip_of_a_call(p):
    """Its pid, once the call is established."""
    p.callee.step(0)
    p.caller.step(0)
    p.caller.go(1)
    p.both(lambda: "CALL_RTPESTAB" in p.caller.states(), "the call is up")
    return pid_of_baresip(p.caller)


def crash(pid, _):
    os.kill(pid, signal.SIGSEGV)


def hang(pid, _):
    os.kill(pid, signal.SIGSTOP)


def close_control(_, namespace):
    """It has one control connection: another one closes the first."""
    sockets = subprocess.run(["ip", "netns", "exec", namespace, "ss", "-Hltnp"], check=True,
                             capture_output=True, text=True).stdout
    where, = [line.split()[3] for line in sockets.splitlines()
              if "baresip" in line and line.split()[3].startswith("127.")]
    host, port = where.rsplit(":", 1)
    subprocess.run(["ip", "netns", "exec", namespace, "python3", "-c",
                    f"import socket, time; s = socket.create_connection(({host!r}, {port}));"
                    "s.settimeout(30); s.recv(1)"], check=True)


@pytest.mark.parametrize("how,reason", [
    (crash, "baresip ended: signal 11 (Segmentation fault)"),
    (hang, "baresip did not answer for 10 s: it was ended"),
    (close_control, "baresip closed its control connection: it was ended")])
def test_its_end_is_the_end_of_the_job_with_a_reason(build, ports, namespaces, folder, how,
                                                     reason, monkeypatch):
    monkeypatch.chdir(folder)   # a core file would be written there: baresip enables them
    with Pair(build, ports, namespaces, {"call_duration": 60}) as p:
        pid = baresip_of_a_call(p)
        how(pid, namespaces[0])
        p.both(lambda: p.caller.finish, "the job ends")
        finish, (call,) = p.caller.finish, p.caller.calls()
        streams = {s["dir"]: s for s in call["streams"]}
    assert finish["outcome"] == "error" and reason in finish["reason"], finish
    assert "account 1001" in finish["reason"]
    assert call["end"] == "failed" and reason in call["reason"]
    assert streams["in"]["packets"] > 0, "what was measured until then"
    assert not Path(f"/proc/{pid}").exists() and not list(folder.iterdir())


def test_it_dies_with_its_engine(build, ports, namespaces):
    with Pair(build, ports, namespaces, {"call_duration": 60}) as p:
        pid = baresip_of_a_call(p)
        p.caller._process.kill()
        p.caller._process.wait()
        end = time.monotonic() + 20
        while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
            time.sleep(0.05)
        assert not Path(f"/proc/{pid}").exists()


@contextmanager
def lone(build, ports, bind, prefix):
    with Engine(build, "caller", [[{"type": "call", "client": "baresip", "dial_destination": "1002",
                                    "target": target(THEIRS, SIP)}]], ports, bind=bind,
                prefix=prefix) as e:
        e.until(lambda: e.finish, "the end")
        yield e.finish


def test_without_the_capability_the_reason_says_so(build, ports, namespaces):
    with lone(build, ports, OURS, ("ip", "netns", "exec", namespaces[0], "setpriv",
                                   "--bounding-set", "-net_raw", "--inh-caps",
                                   "-net_raw")) as finish:
        assert finish["outcome"] == "error"
        assert "tap" in finish["reason"] and "CAP_NET_RAW is missing" in finish["reason"]


def test_a_loopback_address_is_refused(build, ports):
    with lone(build, ports, "127.0.0.1", ()) as finish:
        assert finish["outcome"] == "error"
        assert "refuses loopback addresses" in finish["reason"]


@pytest.mark.parametrize("mount,missing", [
    ("-t tmpfs none /usr/lib/baresip/modules", "its module g711.so is missing"),
    ("--bind /dev/null /usr/bin/baresip", "/usr/bin/baresip is missing")])
def test_without_the_package_the_reason_says_so(build, ports, namespaces, mount, missing):
    hide = f"mount {mount} && exec \"$@\""
    with lone(build, ports, OURS, ("ip", "netns", "exec", namespaces[0], "unshare", "-m", "sh",
                                   "-c", hide, "sh")) as finish:
        assert finish["outcome"] == "error" and missing in finish["reason"], finish
        assert "install the package baresip-core on this agent" in finish["reason"]


SLOW = """#!/bin/sh
echo the disk is slow
exec sleep 1000
"""


def test_it_does_not_start_in_time(build, ports, namespaces, folder, tmp_path, monkeypatch):
    slow = tmp_path / "baresip"
    slow.write_text(SLOW)
    slow.chmod(0o755)
    clock = Clock(tmp_path)
    clock.preload(monkeypatch)
    with Engine(build, "caller", [[{"type": "call", "client": "baresip", "dial_destination": "1002",
                                    "target": target(THEIRS, SIP)}]], ports, bind=OURS,
                settings={"sandbox": "off"},  # it lets an engine execute the real one only
                prefix=("ip", "netns", "exec", namespaces[0], "unshare", "-m", "sh", "-c",
                        f"mount --bind {slow} /usr/bin/baresip && exec \"$@\"", "sh")) as e:
        e.go(0)
        e.until(lambda: e.finish or children(e._process.pid), "baresip is started")
        for _ in range(12):
            clock.let_pass(1)
            e.pump(0.05)
        assert not e.finish
        for _ in range(4):
            clock.let_pass(1)
            e.pump(0.05)
        e.until(lambda: e.finish, "the end", 60)
        assert e.finish["outcome"] == "error"
        assert "baresip did not start within 15 s: the disk is slow" in e.finish["reason"], e.finish
    assert not list(folder.iterdir())


def is_controlled(namespace):
    """The agent has its control connection to baresip."""
    return "baresip" in subprocess.run(["ip", "netns", "exec", namespace, "ss", "-Htnp", "state", "established"],
                                       check=True, capture_output=True, text=True).stdout


def test_a_registration_without_an_answer(build, ports, namespaces, tmp_path, monkeypatch):
    clock = Clock(tmp_path)
    clock.preload(monkeypatch)
    with Engine(build, "caller", [[{"type": "register", "client": "baresip", "credentials": [{"username": "1001"}],
                                    "target": target(THEIRS, SIP)}]], ports, bind=OURS,
                prefix=("ip", "netns", "exec", namespaces[0])) as e:
        e.go(0)
        e.until(lambda: e.sent("REGISTER ") and is_controlled(namespaces[0]), "it registers")
        clock.let_pass(28)
        e.pump(0.5)
        assert "REGISTER_FAIL" not in e.states()
        clock.let_pass(5)
        e.until(lambda: "REGISTER_FAIL" in e.states(), "it failed", 60)
        e.end()
        assert e.finish["outcome"] == "failed" and "no answer within 32 s" in e.finish["reason"], e.finish

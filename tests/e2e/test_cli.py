"""`offhook call`: one call in the foreground, no controller."""
import re
import subprocess

import pytest

from peers import SUBSCRIBERS, Kamailio, SilentPort, SippCallee


@pytest.fixture
def offhook(build, tmp_path, ports):
    def run(*arguments, timeout=90):
        done = subprocess.run([build / "offhook", *map(str, arguments)], text=True,
                              capture_output=True, timeout=timeout, cwd=tmp_path)
        print(done.stdout + done.stderr)
        return done
    return run


def test_call_to_a_foreign_phone(offhook, tmp_path, ports):
    with SippCallee(tmp_path, ports.phone, ports.relay) as phone:
        done = offhook("call", f"sip:phone@127.0.0.1:{ports.phone}", "--duration", 5)
        assert done.returncode == 0, done.stderr
        assert phone.wait() == 0
    out = done.stdout + done.stderr
    # One live line a second and a final table, each way.
    assert len(re.findall(r"\bMOS\b|\b4\.4\d*\b", out)) >= 5
    assert re.search(r"\bin\b", out) and re.search(r"\bout\b", out)
    assert re.search(r"4\.41", out)
    # 5 s at 50 packets/s
    counts = [int(n) for n in re.findall(r"\b(2[45]\d)\b", out)]
    assert any(249 <= n <= 251 for n in counts), out


def test_call_refused_by_the_proxy(offhook, tmp_path, ports):
    with Kamailio(tmp_path, ports.sip):
        done = offhook("call", f"sip:1002@127.0.0.1:{ports.sip}", "--user", "1001",
                       "--password", SUBSCRIBERS["1001"], "--duration", 2)
    assert done.returncode == 1
    assert "480" in done.stdout + done.stderr
    assert SUBSCRIBERS["1001"] not in done.stdout + done.stderr


def test_call_with_a_wrong_password(offhook, tmp_path, ports):
    with Kamailio(tmp_path, ports.sip):
        done = offhook("call", f"sip:1002@127.0.0.1:{ports.sip}", "--user", "1001",
                       "--password", "wrong-password", "--duration", 2)
    assert done.returncode == 1
    assert re.search(r"40[17]", done.stdout + done.stderr)
    assert "wrong-password" not in done.stdout + done.stderr


def test_call_nobody_answers(offhook, ports):
    with SilentPort(ports.silent):
        done = offhook("call", f"sip:1002@127.0.0.1:{ports.silent}", "--duration", 2)
    assert done.returncode == 1
    assert str(ports.silent) in done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [
    [], ["no-such-command"], ["call"], ["call", "sip:a@127.0.0.1", "--no-such-option"],
    ["call", "sip:a@127.0.0.1", "--duration", "soon"]])
def test_wrong_usage_is_exit_2(offhook, arguments):
    done = offhook(*arguments)
    assert done.returncode == 2
    assert "usage" in (done.stdout + done.stderr).lower()


@pytest.mark.parametrize("program", ["offhook", "offhook-agent", "offhook-controller"])
def test_help_and_version(build, program):
    for option in ("--help", "--version"):
        done = subprocess.run([build / program, option], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert program in done.stdout

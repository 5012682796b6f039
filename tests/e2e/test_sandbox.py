"""An engine that was taken over, by a library that is preloaded into it: what it can still do,
and what the log says of it. That nothing is refused that an engine needs is checked wherever a test
runs one (engine.py, agent.py)."""
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from bench import Bench
from engine import Engine, target

REFUSED = ["fork", "exec", "execveat", "ptrace", "process_vm_readv", "kill", "pidfd_getfd",
           "unix socket", "packet socket", "namespace", "io_uring", "keyring", "keyring by a thread",
           "terminal",
           "code in memory", "code from memory", "create", "mkdir", "link", "symlink", "rename",
           "unlink", "chmod", "parent's mem", "parent's environ"]
# AddressSanitizer's search for leaks needs these; Landlock refuses them for other processes.
OF_SANITIZERS = {"fork", "ptrace", "process_vm_readv", "kill", "rename"}


def sanitized(build):
    return "libasan" in subprocess.run(["ldd", build / "offhook-agent"], check=True,
                                       capture_output=True, text=True).stdout


@pytest.fixture(name="attack")
def attack_fixture(tmp_path, monkeypatch):
    library = tmp_path / "attack.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, Path(__file__).with_name("attack.c")],
                   check=True)
    # after the sanitizer's own library
    preload = os.environ.get("LD_PRELOAD")
    monkeypatch.setenv("LD_PRELOAD", f"{preload}:{library}" if preload else str(library))
    monkeypatch.setenv("ASAN_OPTIONS", ":".join(filter(None, [
        os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"])))
    return library


def attempts(log):
    """{name: result} of the first engine that tried."""
    found = {}
    for name, result in re.findall(r"^attack (.+?): (.+)$", log, re.M):
        found.setdefault(name, result)
    return found


def agent_attacked(tmp_path, ports, monkeypatch, **conf):
    """A call by an agent's engines, each of which is taken over. @return (run, log, files)"""
    prompt = tmp_path / "prompts"
    prompt.mkdir()
    state = tmp_path / "agent0"
    files = [state / "credentials", tmp_path / "agent0.conf", state / "spool", state,
             Path("/etc/passwd"), Path("/root"), Path("/var/log")]
    monkeypatch.setenv("ATTACK_FILES", ":".join(map(str, [*files, prompt, "/etc/hosts"])))
    monkeypatch.setenv("ATTACK_WRITE", str(state / "planted"))
    monkeypatch.setenv("OFFHOOK_TEST_SECRET", "of the agent")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Bench(tmp_path, ports, agent_conf={"prompt_dir": prompt, **conf}) as b:
        agent, = b.agents
        agent.attacked = True
        run, _ = b.run(b.single_call(duration=2))
        agent.stop()
    assert "attack end: done" in agent.log(), agent.log()[-4000:]
    return run, agent.log(), list(map(str, files)), str(prompt)


def test_an_engine_that_was_taken_over(tmp_path, build, ports, monkeypatch, attack):
    run, log, files, prompt = agent_attacked(tmp_path, ports, monkeypatch)
    found = attempts(log)
    for path in files:
        assert found[path] == "Permission denied", (path, found)
    assert "secret" in Path(files[0]).read_text() and not Path(files[3], "planted").exists()
    # what the job itself needs is open
    assert found[prompt] == found["/etc/hosts"] == "done"
    refused = {name: found.get(name) for name in REFUSED}
    if sanitized(build):
        assert found["fork"] == "done" and found["exec"] == "Permission denied"
        refused.pop("execveat")
        refused.pop("fork")
    assert all(r in ("Operation not permitted", "Permission denied") for r in refused.values()), \
        refused
    # ... each by name, in the log, with its run
    for call in ("unshare", "io_uring_setup", "symlink"):
        assert re.search(rf"run=\S+ role=call\w+: the sandbox refused system call {call} \(\d+\)",
                         log), call
    assert "system call mount" not in log
    # and the call went on
    assert run["status"] == "passed", run
    assert re.search(r"run=\S+ role=caller sandbox: files are restricted; system calls are "
                     "restricted", log)
    assert "sandbox of the engines: files restricted (Landlock version" in log


def test_without_the_sandbox(tmp_path, build, ports, monkeypatch, attack):
    """The same attempts succeed: they prove something above."""
    _, log, files, _ = agent_attacked(tmp_path, ports, monkeypatch, sandbox="off")
    found = attempts(log)
    assert found[files[0]] == found[files[1]] == found["exec"] == found["unix socket"] == "done"
    assert found["code in memory"] == found["ptrace"] == "done", found
    # what an engine does not have, sandbox or not
    assert not [name for name in ("core dump", "environment", "proxy") if found[name] == "done"]
    assert re.search(r"run=\S+ role=caller sandbox: off", log)
    assert "sandbox: off: an engine that a peer takes over" in log

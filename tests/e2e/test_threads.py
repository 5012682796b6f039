"""What the programs do when their user has no more threads: they say which limit it is, and go
on when there are some again. They run as a user of their own, as root has no such limit."""
import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

import bench
from agent import Agent, children, is_alive, threads
from bench import Bench
from controller import Controller
from until import until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be another user")

# of nobody else, also where tests run side by side
USER = 60000 + os.getpid() % 5000
BE_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]


@pytest.fixture(name="folder")
def folder_fixture():
    """One that the user may read, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="offhook-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


def as_user(program, folder, limit=""):
    """@return a program that is that one, run as the user"""
    copy = shutil.copy(program, folder / f"{program.name}-copy")
    script = folder / program.name
    script.write_text(f"#!/bin/sh\nexec {' '.join(BE_USER)} {limit} {copy} \"$@\"\n")
    script.chmod(0o755)
    return script


class UserAgent(Agent):
    def __init__(self, folder, *args, **kwargs):
        super().__init__(folder, *args, **kwargs)
        os.chown(self.state_dir, USER, USER)
        self.program = as_user(self.program, folder)

    def processes(self):
        return [self.process.pid] + [pid for pid, _ in children(self.process.pid)]

    def end_engines(self):
        for pid in self.processes()[1:]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def allow(self, count):
        """Let the user have so many threads."""
        for pid in self.processes():
            done = subprocess.run([*BE_USER, "prlimit", f"--pid={pid}", f"--nproc={count}:"], check=False)
            assert done.returncode == 0 or not is_alive(pid)   # an engine may have just ended


def test_a_run_without_threads(folder, ports, monkeypatch):
    monkeypatch.setattr(bench, "Agent", UserAgent)
    # LeakSanitizer would need a thread of its own
    monkeypatch.setenv("ASAN_OPTIONS", "detect_leaks=0:exitcode=99")
    with Bench(folder, ports) as b:
        agent, = b.agents
        until(lambda: len(agent.processes()) == 3, agent.log)  # two engines wait for jobs
        agent.allow(sum(threads(pid) for pid in agent.processes()) + 1)
        run, _ = b.run(b.single_call(duration=2))
        assert run["status"] == "errored", run
        assert "no thread can be started: raise the agent's TasksMax" in run["result_description"]
        agent.allow(1)
        agent.end_engines()   # one may wait for a job already
        until(lambda: len(agent.processes()) == 1, agent.log)
        run, _ = b.run(b.single_call(duration=2))
        assert run["status"] == "errored", run
        assert "the engine process cannot be started: raise the agent's TasksMax" in \
            run["result_description"]
        agent.allow(1000)
        after, _ = b.run(b.single_call(duration=1))
        assert after["status"] == "passed", after


def test_a_controller_without_threads(folder):
    with Controller() as c:
        c.stop()
        for path in [c.state_dir, *c.state_dir.rglob("*")]:
            os.chown(path, USER, USER)
        program = c.program
        c.program = as_user(program, folder, "prlimit --nproc=3")
        with pytest.raises(RuntimeError, match="no thread can be started: raise TasksMax"):
            c.start()
        c.program = as_user(program, folder)
        c.start()
        assert c.api("POST", "/projects", {"name": "when there were some"})["project"]["id"]

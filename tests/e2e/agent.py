"""A real agent, enrolled in a pool by its join token."""
import os
import subprocess
import time
from pathlib import Path

import logs
from controller import build_dir

# For the environment: the machine that runs the tests may stand still. Only test_saturation.py is about that.
UNJUDGED = {"OFFHOOK_SATURATION_SEND_LATENESS": "0", "OFFHOOK_SATURATION_LOOP_LATENESS": "0"}


def children(parent):
    """(pid, command line as a list) of each child of a process (none without /proc)."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
            its_parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if its_parent == parent:
            found.append((int(path.name), words))
    return found


def threads(pid):
    try:
        return len(list(Path(f"/proc/{pid}/task").iterdir()))
    except OSError:
        return 0


class Agent:
    """Start, stop and kill an offhook-agent; keyword arguments are
    configuration keys. Its state survives stop() and kill()."""

    def __init__(self, folder, controller_url, join_token, rtp, name="agent", **conf):
        self.name = name
        self.state_dir = Path(folder) / name
        self.state_dir.mkdir()
        self.log_file = Path(folder) / f"{name}.log"
        self.conf_file = Path(folder) / f"{name}.conf"
        self.program = build_dir() / "offhook-agent"
        self.process = None
        self.options = ["--foreground"]
        self.attacked = False  # its engines make system calls that are refused
        self.conf = {"controller": controller_url, "name": name,
                     "join_token": join_token, "state_dir": self.state_dir,
                     "bind": "127.0.0.1", "rtp_min": rtp[0], "rtp_max": rtp[1],
                     "stop_s": 5, "log_level": "debug", **conf}

    def start(self):
        self.conf_file.write_text("".join(
            f"{key} = {value}\n" if isinstance(value, int) else f'{key} = "{value}"\n'
            for key, value in self.conf.items()))
        with logs.opened(self.log_file, "ab") as log:
            self.process = subprocess.Popen(
                [self.program, *self.options, "--config", self.conf_file],
                stdout=log, stderr=log)
        return self

    def engines(self):
        """Pids of its engine processes that have a job (none without /proc).

        An engine that waits for a job has no media threads yet."""
        return [pid for pid, words in children(self.process.pid)
                if any(w.startswith(b"--engine") for w in words) and threads(pid) > 1]

    def kill(self):
        """End it with SIGKILL, as a power failure does. Its engines notice that by
        themselves."""
        self.process.kill()
        self.process.wait()

    def stop(self, timeout=30):
        """End it with SIGTERM, as a service manager does. @return the exit status"""
        self.process.terminate()
        return self.process.wait(timeout)

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()

    def log(self):
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_gone(pids, timeout=60):
    """Wait until the processes have ended. @return those that have not"""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        alive = [p for p in pids if is_alive(p)]
        if not alive:
            return []
        time.sleep(0.1)
    return alive

"""A real controller on a free port with a temporary state directory."""
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import http_watch
import leaks
import logs
import postgresql
from contract import CHECKED, contract
from http_session import Session
from witness import Witness

ROOT = Path(__file__).resolve().parents[2]

ON_POSTGRESQL = os.environ.get("OFFHOOK_TEST_STORE", "") == "postgresql"

# A line of the debug log about a response.
ANSWERED = re.compile(r" ([A-Z]+) (/\S*): (\d+) in [\d.]+ ms request=(\S+)$", re.M)


def build_dir():
    return Path(os.environ.get("OFFHOOK_BUILD", ROOT / "build"))


def hold_port(conf):
    """Choose a free port. While the socket is open nobody else gets it, not even between stop() and start();
    the controller does, as both set SO_REUSEADDR and this one does not listen."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    held.bind(("127.0.0.1", 0))
    conf["port"] = held.getsockname()[1]
    return held


class Controller:
    """Start, stop, kill and talk to an offhook-controller.

    with Controller(poll_s=2) as c:
        c.api("POST", "/projects", {"name": "x"})      -> parsed JSON
        c.request("GET", "/projects", key=None)        -> requests.Response

    OFFHOOK_TEST_STORE=postgresql gives it a database of PostgreSQL (postgresql.py).
    Keyword arguments are configuration keys. State survives stop() and kill()
    until close(), so that start() goes on with it.
    """

    def __init__(self, **conf):
        self._dir = tempfile.TemporaryDirectory(prefix="offhook-")
        self.state_dir = Path(self._dir.name)
        # tests of the limit set it themselves
        self.conf = {"port": 0, "log_level": "debug", "rate_limit": 0, **conf}
        self._port = hold_port(self.conf) if self.conf["port"] == 0 else None
        self.conf["state_dir"] = self.state_dir
        self.database = None  # of PostgreSQL
        if ON_POSTGRESQL and "database" not in conf:
            self.database = postgresql.server().create()
            self.conf["database"] = postgresql.server().uri(self.database)
        self.conf_file = self.state_dir / "controller.conf"
        self.log_file = self.state_dir / "controller.log"
        self.program = build_dir() / "offhook-controller"
        self.process = None
        self.url = None    # http://127.0.0.1:PORT
        self.keys = {}     # rights -> (public key, secret)
        self.session = Session()
        self.session.hooks["response"].append(
            lambda response, **_: self.secrets.update(leaks.of_exchange(response)))
        self.secrets = set()  # that no log and no file may have (leaks.py)
        self._witness = None

    def _write_conf(self):
        def text(value):
            if isinstance(value, bool):
                return str(value).lower()
            return f'"{value}"' if isinstance(value, (str, Path)) else value

        self.conf_file.write_text("".join(
            f"{name} = {text(value)}\n" for name, value in self.conf.items()))

    def open_database(self):
        """Its rows, for what no request can make or ask: execute() with "?" for values,
        commit(), close(), with."""
        if self.database:
            return postgresql.Connection(self.conf["database"])
        return sqlite3.connect(self.state_dir / "offhook.db", timeout=60)

    def create_key(self, name="test", rights="admin"):
        """Make a key while the controller is stopped."""
        self._write_conf()
        out = subprocess.run(
            [self.program, "--config", self.conf_file, "--create-key", name,
             "--rights", rights], check=True, capture_output=True, text=True)
        key = json.loads(out.stdout)
        self.keys[rights] = (key["public_key"], key["secret"])
        self.secrets.add(key["secret"])
        return self.keys[rights]

    def start(self, timeout=30):
        if "admin" not in self.keys:
            self.create_key()
        self._write_conf()
        with logs.opened(self.log_file, "ab") as log:
            offset = log.tell()
            self.process = subprocess.Popen(
                [self.program, "--config", self.conf_file], stderr=log,
                stdout=log)
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            found = re.search(r"listening on (https?://\S+)",
                              self.log_file.read_text()[offset:])
            if found:
                self.url = found.group(1)
                http_watch.watch(self.conf["port"])
                return self
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise RuntimeError("the controller did not start:\n" + self.log())

    def stop(self, timeout=60):
        """End it with SIGTERM, as a service manager does. @return the exit status"""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout)
        self.process = None
        return status

    def kill(self):
        """End it with SIGKILL, as a power cut does."""
        self.process.kill()
        self.process.wait()
        self.process = None

    def witness(self):
        """A relay that checks the exchanges of clients other than the tests; they use
        its URL."""
        if not self._witness:
            self._witness = Witness(self.url).__enter__()
        return self._witness

    def close(self):
        if self.process:
            self.kill()
        self.session.close()
        if self._port:
            self._port.close()
        logs.last(self.log_file)
        self._dir.cleanup()
        if self.database:
            postgresql.server().drop(self.database)
        if self._witness:
            self._witness.__exit__()

    def __enter__(self):
        return self.start()

    def __exit__(self, *exc):
        try:
            if self.process and exc[0] is None:
                status = self.stop()
                assert status == 0, f"exit status {status}:\n{self.log()}"
                until = time.monotonic() + 20  # exchanges that the relay is still checking
                while (left := self.unseen()) and time.monotonic() < until:
                    time.sleep(0.1)
                assert not left, f"answers that nobody looked at: {left}"
                leaked = leaks.search(self.secrets, [self.state_dir])
                assert not leaked, f"secrets in files: {leaked}"
        finally:
            self.close()

    def log(self):
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def unseen(self):
        """Responses that were not compared with docs/reference/openapi.yaml
        (contract.py).

        Without those whose client did not wait for them, and those of other clients
        over TLS."""
        if self.url.startswith("https"):
            return []
        left = list(self._witness.given_up if self._witness else [])
        found = []
        for method, path, status, request in ANSWERED.findall(self.log()):
            if request in CHECKED or not contract().covers(method, path):
                continue
            if f"{method} {path}" in left:
                left.remove(f"{method} {path}")
            else:
                found.append(f"{method} {path}: {status}")
        return found

    def request(self, method, path, body=None, key="admin", **kwargs):
        """Send any request; body is sent as JSON. Paths are below /api/v2."""
        kwargs.setdefault("timeout", 60)
        if body is not None:
            kwargs["json"] = body
        if key:
            kwargs["auth"] = self.keys[key] if isinstance(key, str) else key
        return self.session.request(method, f"{self.url}/api/v2{path}",
                                    **kwargs)

    def api(self, method, path, body=None, **kwargs):
        """A request that must succeed. @return the parsed answer or None"""
        answer = self.request(method, path, body, **kwargs)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

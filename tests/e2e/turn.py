"""coturn as STUN and TURN server at 10.99.0.2 of a namespace (netns.py)."""
import shutil
import subprocess
import time

import logs

TURNSERVER = shutil.which("turnserver")
SERVER, PORT, RELAYS = "10.99.0.2", 3478, (49000, 49999)
CREDENTIALS = ["--turn-user", "alice", "--turn-password", "secret"]


class Coturn:
    def __init__(self, folder, namespace, *options, host=SERVER):
        self._host = host
        self._namespace, self._log = namespace, folder / "turnserver.log"
        self._command = [
            TURNSERVER, "-n", "--listening-ip", host, "--relay-ip", host, "--lt-cred-mech",
            "--user", "alice:secret", "--realm", "example.net", "--no-cli", "--log-file", "stdout",
            "--min-port", str(RELAYS[0]), "--max-port", str(RELAYS[1]), "-v",
            "--pidfile", str(folder / "turnserver.pid"), "--userdb", str(folder / "turndb"),
            *(options or ["--no-tls", "--no-dtls"])]

    def __enter__(self):
        with logs.opened(self._log) as log:
            self._process = subprocess.Popen(
                ["ip", "netns", "exec", self._namespace, *self._command], stdout=log,
                stderr=subprocess.STDOUT)
        # it takes TCP on the same port
        probe = ("import socket; socket.create_connection(('%s', %d), 1)" % (self._host, PORT))
        deadline = time.monotonic() + 20
        while subprocess.run(["ip", "netns", "exec", self._namespace, "/usr/bin/python3", "-c",
                              probe], capture_output=True, check=False).returncode:
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise RuntimeError(self.text())
            time.sleep(0.05)
        return self

    def text(self):
        return self._log.read_text(errors="replace")

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

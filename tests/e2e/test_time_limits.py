"""Time limits of docs/reference/ceilings.md: the clock of a program is put forward to each."""
import base64
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import time

import pytest

from controller import Controller
from program_clock import Clock
from test_local import SMALL
from until import until

LOOK_S = 0.3  # until a program has seen that time has passed


class TimedController(Controller):
    """One whose clock goes on when a test says so."""
    clock = None

    def start(self, timeout=30):
        with pytest.MonkeyPatch.context() as patch:
            self.clock = self.clock or Clock(self.state_dir)
            self.clock.preload(patch)
            return super().start(timeout)


# ---- connections to the controller ----

@pytest.fixture(scope="module")
def server():
    with TimedController(header_timeout_s=600) as c:
        yield c


class Client:
    """A connection that sends a request in pieces."""

    def __init__(self, server, head):
        host, port = server.url[7:].rsplit(":", 1)
        key = base64.b64encode(":".join(server.keys["admin"]).encode()).decode()
        self._other = int(port)
        self._socket = socket.create_connection((host, int(port)), 60)
        self._own = self._socket.getsockname()[1]
        self.clock = server.clock
        self.began = self.clock.now()
        self.send(f"POST /api/v2/{head}\r\nHost: x\r\nAuthorization: Basic {key}\r\n")

    def send(self, text):
        """@return when the server has read it"""
        self._socket.sendall(text.encode())
        until(lambda: not self._unread())

    def _unread(self):
        """Bytes that wait at the server's end; 0 too if that is closed."""
        with open("/proc/net/tcp", encoding="ascii") as table:
            for line in table:
                fields = line.split()
                if fields[1].endswith(f":{self._other:04X}") and fields[2].endswith(f":{self._own:04X}"):
                    return int(fields[4].split(":")[1], 16)
        return 0

    def answer(self):
        return self._socket.recv(4096).decode()

    def is_open(self):
        self._socket.setblocking(False)
        try:
            return self._socket.recv(1, socket.MSG_PEEK) != b""
        except BlockingIOError:
            return True
        except ConnectionError:
            return False
        finally:
            self._socket.settimeout(60)

    def closed_at(self):
        """Seconds from the start to its end, which comes without an answer."""
        until(lambda: not self.is_open())
        return self.clock.now() - self.began

    def close(self):
        self._socket.close()


BODY = '{"name":"%s"}'


def project(server, name):
    client = Client(server, "projects HTTP/1.1")
    body = BODY % name
    client.send(f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body[:4]}")
    return client, body[4:]


def test_a_connection_that_falls_silent(server):
    for seconds, rest in ((50, True), (61, False)):
        client, body = project(server, f"silent {seconds}")
        with contextlib.closing(client):
            server.clock.let_pass(seconds)
            time.sleep(LOOK_S)
            if rest:
                client.send(body)
                assert client.answer().startswith("HTTP/1.1 201")
            else:
                assert client.closed_at() >= 60


def test_a_body_that_comes_slowly(server):
    for seconds, complete in ((50, True), (61, False)):
        client, body = project(server, f"slow {seconds}")
        with contextlib.closing(client):
            server.clock.let_pass(30)
            client.send(body[:1])
            server.clock.let_pass(seconds - 30)
            client.send(body[1:])
            if complete:
                assert client.answer().startswith("HTTP/1.1 201")
            else:
                assert client.closed_at() >= 60


UPLOAD = ('--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nslow%s\r\n'
          '--b\r\nContent-Disposition: form-data; name="content"; filename="a.txt"\r\n\r\nxxxxxxxxxxxxxxxx')
LAST = "\r\n--b--\r\n"


@pytest.mark.parametrize("steps, complete", [(11, True), (12, False)])
def test_an_upload_that_comes_slowly(server, steps, complete):
    body = UPLOAD % steps
    client = Client(server, "appimages HTTP/1.1")
    with contextlib.closing(client):
        client.send("Content-Type: multipart/form-data; boundary=b\r\n"
                    f"Content-Length: {len(body) + steps + len(LAST)}\r\n\r\n{body}")
        for _ in range(steps):
            server.clock.let_pass(50)
            client.send("x")
        assert client.is_open() or client.clock.now() - client.began >= 600
        server.clock.let_pass(1)
        if complete:
            client.send(LAST)
            assert client.answer().startswith("HTTP/1.1 201")
        else:
            with contextlib.suppress(ConnectionError):
                client.send(LAST[:1])
            assert client.closed_at() >= 600
    assert server.request("GET", "/projects").ok


# ---- programs that ask a server which says nothing ----

class Silent:
    """A server that takes connections and says nothing."""

    def __init__(self, clock):
        self._clock = clock
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(60)
        self.port = self._socket.getsockname()[1]

    def waits(self, arguments, limit, answers=(), **environment):
        """Run a program up to LIMIT seconds of the first request after those that have ANSWERS.
        @return the completed process, as of subprocess.run()"""
        with subprocess.Popen([str(a) for a in arguments], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT,
                              env={**os.environ, **self._clock.environment(), **environment}) as program:
            with self._socket.accept()[0] as connection:
                for answer in answers:
                    assert connection.recv(4096)
                    text = json.dumps(answer)
                    connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                       f"Content-Length: {len(text)}\r\n\r\n{text}".encode())
                began = self._clock.now()
                assert connection.recv(4096)
                self._clock.let_pass(limit - limit // 4)
                time.sleep(LOOK_S)
                assert program.poll() is None or self._clock.now() - began >= limit, program.stdout.read()
                self._clock.let_pass(limit // 4 + 1)
                output, _ = program.communicate(timeout=60)
        return subprocess.CompletedProcess(arguments, program.returncode, output)

    def close(self):
        self._socket.close()


@pytest.fixture
def silent(tmp_path):
    with contextlib.closing(Silent(Clock(tmp_path))) as server:
        yield server


def test_health_without_an_answer(silent, build, tmp_path):
    conf = tmp_path / "controller.conf"
    conf.write_text(f'port = {silent.port}\nlisten = "127.0.0.1"\nstate_dir = "{tmp_path}"\n')
    done = silent.waits([build / "offhook-controller", "--config", conf, "--check-health"], 5)
    assert done.returncode == 1 and "Timeout was reached" in done.stdout, done


@pytest.mark.parametrize("arguments, answers, limit", [
    (["project", "list"], [], 30),
    (["run", "download", "1", "there"], [
        {"run": {"id": 1, "session_id": "s"}},
        {"artifacts": [{"role": "caller", "name": "a.wav"}], "total": 1}], 600)],
    ids=["request", "download"])
def test_command_line_without_an_answer(silent, build, tmp_path, arguments, answers, limit):
    done = silent.waits([build / "offhook", *arguments], limit, answers, HOME=str(tmp_path), OFFHOOK_KEY="a:b",
                        OFFHOOK_URL=f"http://127.0.0.1:{silent.port}")
    assert done.returncode == 3, done
    assert int(re.search(r"timed out after (\d+) milliseconds", done.stdout)[1]) >= limit * 1000


# ---- programs of a command ----

CONTROLLER = """#!/bin/sh
case "$*" in
*--create-key*) echo '{"public_key": "a", "secret": "b"}' ;;
*) echo "the disk is slow" >&2; touch "${0%/*}/started"; exec sleep 1000 ;;
esac
"""
NO_KEY = """#!/bin/sh
echo "the disk is slow" >&2
touch "${0%/*}/started"
exec sleep 1000
"""
AGENT = """#!/bin/sh
touch "${0%/*}/started"
exec sleep 1000
"""


def local(build, folder, **programs):
    """offhook local, and PROGRAMS that stand in for some of its own, up to its limit of 60 s.
    @return what it says"""
    for name in ("offhook", "offhook-records", "offhook-controller", "offhook-agent"):
        text = programs.get(name.removeprefix("offhook-"))
        if text:
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        else:
            shutil.copy(build / name, folder)
    (folder / "small.yaml").write_text(SMALL)
    clock = Clock(folder)
    with subprocess.Popen([folder / "offhook", "local", "small.yaml"], cwd=folder, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, **clock.environment(), "TMPDIR": str(folder)}) as program:
        until((folder / "started").exists)
        for _ in range(5):  # less than the limit of a request that is under way
            clock.let_pass(9)
            time.sleep(LOOK_S)
        assert program.poll() is None, program.stdout.read()
        clock.let_pass(16)
        output, _ = program.communicate(timeout=60)
    assert program.returncode == 3, output
    return output


@pytest.mark.parametrize("controller", [NO_KEY, CONTROLLER], ids=["create-key", "start"])
def test_a_controller_of_local_that_does_not_start(build, tmp_path, controller):
    assert "offhook-controller did not start within 60 s; its log ends:\nthe disk is slow\n" in local(
        build, tmp_path, controller=controller)


def test_agents_of_local_that_do_not_enrol(build, tmp_path):
    assert local(build, tmp_path, agent=AGENT).endswith("offhook: the agents did not enrol\n")

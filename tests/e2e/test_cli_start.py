"""`offhook test run`, `project run` and `scenario run` while the answer to their start is lost: the
start is repeated, and one run is started."""
import contextlib
import http.client
import http.server
import json
import os
import signal
import subprocess
import threading
import urllib.parse

import pytest

from controller import Controller
from test_api_project_runs import Lab, TIMES
from test_cli_testrun import Started, WAIT_S, last_run

LOSE = "lose"  # the controller answers, the client gets nothing


class Proxy(http.server.ThreadingHTTPServer):
    """Between the command and the controller. What it does with the next starts of runs stands in
    `plan`: LOSE, or a status that it answers itself; then, and with all else, it passes on."""
    daemon_threads = True

    def __init__(self, url):
        super().__init__(("127.0.0.1", 0), ProxyHandler)
        self.controller = urllib.parse.urlsplit(url).netloc
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.plan = []
        self.keys = []  # Idempotency-Key of each start
        self.replayed = []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


class ProxyHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": len(body)}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        start = self.command == "POST" and not self.path.endswith("/stop")
        act = self.server.plan.pop(0) if start and self.server.plan else None
        if start:
            self.server.keys.append(self.headers["Idempotency-Key"])
        if isinstance(act, int):
            return self.answer(act, b'{"detail": "of the proxy"}', Retry_After=1)
        up = http.client.HTTPConnection(self.server.controller, timeout=WAIT_S)
        up.request(self.command, self.path, body, dict(self.headers))
        got = up.getresponse()
        text = got.read()
        up.close()
        if start:
            self.server.replayed.append(got.getheader("Idempotency-Replayed") == "true")
        if act == LOSE:
            self.close_connection = True
            return None
        return self.answer(got.status, text, ETag=got.getheader("ETag", ""))

    do_POST = do_GET


@pytest.fixture(scope="module")
def lab():
    with Controller(**TIMES) as c:
        lab = Lab(c)
        lab.project_id, (lab.passes,) = lab.project("passed")
        yield lab


@pytest.fixture
def proxy(lab):
    proxy = Proxy(lab.c.witness().url)
    yield proxy
    proxy.close()
    for run in lab.c.api("GET", "/runs?count=1000")["runs"]:
        if run["status"] == "running":
            lab.c.request("POST", f"/runs/{run['id']}/stop")


@pytest.fixture
def environment(lab, proxy):
    return {**os.environ, "OFFHOOK_URL": proxy.url, "OFFHOOK_KEY": ":".join(lab.c.keys["admin"])}


@pytest.fixture
def offhook(build, tmp_path, environment):
    def run(*arguments, status=0):
        done = subprocess.run([build / "offhook", *map(str, arguments)], text=True, cwd=tmp_path,
                              capture_output=True, timeout=WAIT_S, check=False, env=environment)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout, done.stderr
    return run


def runs(lab):
    return lab.c.api("GET", "/runs?count=1")["total"]


def project_runs(lab):
    with contextlib.closing(lab.c.open_database()) as db:
        return db.execute("SELECT count(*) FROM project_run").fetchone()[0]


def test_lost_answer_starts_one_run(lab, proxy, offhook):
    """By name: the start goes over the connection that has carried the search of the name."""
    name = lab.c.api("GET", f"/tests/{lab.passes}")["test"]["name"]
    for test in (name, lab.passes):
        before = runs(lab)
        proxy.plan, proxy.keys, proxy.replayed = [LOSE, LOSE], [], []
        out, err = offhook("test", "run", test, "--json")
        assert runs(lab) == before + 1
        assert proxy.keys[0] and proxy.keys == 3 * proxy.keys[:1]
        assert proxy.replayed == [False, True, True]
        assert json.loads(out)["data"]["session_id"] == last_run(lab, lab.passes)["session_id"]
        assert "the answer to the start was lost" in err and "trying again for 60 s" in err
        assert "the controller is back" in err


def test_each_start_has_its_own_key(lab, proxy, offhook):
    before = runs(lab)
    offhook("test", "run", lab.passes)
    offhook("test", "run", lab.passes)
    assert len(set(proxy.keys)) == 2 and runs(lab) == before + 2


def test_lost_answer_of_a_project_and_a_scenario(lab, proxy, offhook):
    before = project_runs(lab)
    proxy.plan = [LOSE]
    offhook("project", "run", lab.project_id)
    assert project_runs(lab) == before + 1
    proxy.plan, before = [LOSE], runs(lab)
    pool = lab.c.api("GET", "/agent-pools")["agent_pools"][0]["id"]
    offhook("scenario", "run", "single-call-caller", f"agentpool_id={pool}", "username=alice",
            "register=false", "target=sip:127.0.0.1:9", "dial_destination=bob")
    assert runs(lab) == before + 1


def test_lost_answer_and_the_wait(lab, proxy, offhook):
    proxy.plan = [LOSE]
    with lab.worker():
        out, _ = offhook("test", "run", lab.passes, "--wait")
    assert "PASSED: " in out and proxy.replayed[:2] == [False, True]


@pytest.mark.parametrize("plan", [[504, LOSE], [LOSE, 409], [LOSE, 503, 429]])
def test_not_answered_yet(lab, proxy, offhook, plan):
    """A gateway gave up waiting; the first request is still being carried out."""
    before = runs(lab)
    proxy.plan = list(plan)
    offhook("test", "run", lab.passes)
    assert runs(lab) == before + 1 and len(set(proxy.keys)) == 1
    assert len(proxy.keys) == len(plan) + 1


def test_a_refusal_is_not_repeated(lab, proxy, offhook):
    for plan, status in (([503], 503), ([LOSE, 500], 500)):
        proxy.plan, proxy.keys = list(plan), []
        _, err = offhook("test", "run", lab.passes, status=3)
        assert f"{status}" in err and len(proxy.keys) == len(plan)


def test_no_answer_at_all(lab, proxy, offhook):
    proxy.plan = 1000 * [LOSE]
    before = runs(lab)
    _, err = offhook("test", "run", lab.passes, "--retry-for", "2", status=3)
    assert "whether the run was started is not known" in err and "--retry-for S" in err
    assert runs(lab) == before + 1 and len(proxy.keys) > 1
    proxy.keys = []
    _, err = offhook("test", "run", lab.passes, "--retry-for", "0", status=3)
    assert "whether the run was started is not known" in err and len(proxy.keys) == 1


def test_nothing_was_sent(lab, proxy, offhook):
    """A wrong address is complained about at once."""
    proxy.close()
    _, err = offhook("test", "run", lab.passes, status=3)
    assert "trying again" not in err and "not known" not in err


@pytest.mark.parametrize("wait", [[], ["--wait"]])
def test_interrupt_ends_the_repetitions(lab, proxy, build, tmp_path, environment, wait):
    proxy.plan = 1000 * [LOSE]
    one = Started([build / "offhook", "test", "run", str(lab.passes), *wait], cwd=tmp_path,
                  env=environment)
    one.expect("trying again")
    one.process.send_signal(signal.SIGTERM)
    if wait:
        assert "whether the run was started is not known" in one.ends(3)
    else:
        one.ends(-signal.SIGTERM)

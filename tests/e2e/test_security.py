"""Malicious clients, and a damaged or blocked database."""
import base64
import contextlib
import http.client
import itertools
import json
import os
import resource
import signal
import socket
import sqlite3
import threading
import time

import pytest
import requests

import leaks
from agent import children
from bench import Bench
from controller import Controller
from fake_agent import FakeAgent
from test_api_basics import problem
from test_api_project_runs import TIMES
from test_api_runs import COLUMNS
from test_api_server import Poll, enrol, make_test
from worker import Worker

INJECTIONS = [
    "' OR '1'='1", "' OR 1=1 --", "\" OR \"\"=\"", "1 OR 1=1", "1; DROP TABLE run; --",
    "'; DROP TABLE run; --", "') OR ('1'='1", "1) OR (1=1", "' UNION SELECT name, value, 1 FROM setting --",
    "x' || (SELECT secret_hash FROM api_key) || '", "%' OR '%'='", "%", "_", "\\' OR 1=1 --", "$1", "?1",
    "1 AND (SELECT count(*) FROM sqlite_master)", "id) ASC, (SELECT 1", "CASE WHEN 1=1 THEN id END",
]


@pytest.fixture(scope="module")
def server():
    c = Controller(claim_timeout_s=300, workers=4)
    c.create_key("reader", "read")
    with c:
        c.test = make_test(c)[1]
        for _ in range(3):
            run = c.api("POST", f"/tests/{c.test['id']}/run", {})["data"]["session_id"]
            c.api("POST", f"/runs/{run}/stop")
            deadline = time.monotonic() + 60
            while c.api("GET", f"/runs/{run}")["run"]["phase"] != "done":
                assert time.monotonic() < deadline, "the run does not end"
                time.sleep(0.05)
        yield c


def rows(server):
    """What an SQL injection could change: every table's schema and number of rows."""
    db = sqlite3.connect(f"file:{server.state_dir}/offhook.db?mode=ro", uri=True)
    try:
        tables = db.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
        return tables, {name: db.execute(f"SELECT count(*) FROM \"{name}\"").fetchone()
                        for name, sql in tables if sql and sql.startswith("CREATE TABLE")}
    finally:
        db.close()


@pytest.fixture
def unchanged(server):
    before = rows(server)
    yield
    assert rows(server) == before


# ---- SQL ----

@pytest.mark.parametrize("column", COLUMNS)
def test_no_sql_in_filters(server, unchanged, column):
    """A value is compared, not executed: it matches nothing, or is refused."""
    for value in INJECTIONS:
        answer = server.request("GET", "/runs", params={"filtername": column, "filterval": value})
        if answer.status_code == 422:
            problem(answer, 422)
        else:
            assert answer.status_code == 200 and answer.json()["total"] == 0, value


@pytest.mark.parametrize("name", ["orderby", "orderdir", "filtername", "start", "count",
                                  "startdate", "enddate"])
def test_no_sql_in_parameters(server, unchanged, name):
    for value in INJECTIONS:
        problem(server.request("GET", "/runs", params={
            name: value, **({"filterval": "1"} if name == "filtername" else {})}), 422)


def test_no_sql_in_addresses(server, unchanged):
    endpoints = server.api("GET", "/")["endpoints"]
    asked = 0
    for endpoint in endpoints:
        if ":" not in endpoint["url"] or "/agent/" in endpoint["url"]:
            continue
        parts = endpoint["url"].split("/api/v2", 1)[-1].split("/")
        for i, part in enumerate(parts):
            if not part.startswith(":"):
                continue
            for value in INJECTIONS:
                path = "/".join(
                    requests.utils.quote(value, safe="") if k == i else
                    ("1" if p.startswith(":") else p) for k, p in enumerate(parts))
                for method in endpoint["methods"]:
                    answer = server.request(method, path, **(
                        {"body": {}} if method in ("POST", "PUT") else {}))
                    assert answer.status_code in (404, 422, 409), (method, path, answer.text)
                    asked += 1
    assert asked > 500


def test_no_sql_in_stats_filters(server, unchanged):
    for path in (f"/tests/{server.test['id']}/stats/rtp_jitter", "/runs/1/stats/rtp_jitter"):
        for name in ("role", "dir", "confidence"):
            for value in INJECTIONS:
                answer = server.request("GET", path, params={name: value})
                assert answer.status_code == 422 or answer.json()["stats_data"] == []


def test_no_sql_in_credentials(server, unchanged):
    for value in INJECTIONS:
        for pair in ((value, "x"), (server.keys["admin"][0], value), (value, value)):
            problem(server.request("GET", "/projects", key=pair), 401)
            problem(server.request("POST", "/agent/poll", {}, key=pair), 401)


def test_sql_is_kept_as_text(server):
    for value in INJECTIONS:
        made = server.api("POST", "/projects", {"name": value, "description": value})["project"]
        path = f"/projects/{made['id']}"
        assert server.api("GET", path)["project"]["name"] == value
        assert server.api("PUT", path, {"name": value, "description": value[::-1]}
                          )["project"]["description"] == value[::-1]
        problem(server.request("POST", "/projects/run", {"project.name": value}), 422)
        assert server.request("DELETE", path).status_code == 204


# ---- header injection ----

BREAKS = ["a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rb", "a\0b", "\r\n\r\nINVITE sip:x SIP/2.0"]


@pytest.mark.parametrize("text", BREAKS)
def test_no_line_break_reaches_sip(server, unchanged, text):
    start = f"/tests/{server.test['id']}/run"
    for headers in ([[text, "v", "any"]], [["X-A", text, "any"]], [["X-A", "v", text]]):
        for value in (headers, json.dumps(headers)):
            answer = server.request("POST", start, {"step.0.0.custom_headers": value})
            pointer = problem(answer, 422)["errors"][0]["pointer"]
            assert pointer.startswith("/step.0.0.custom_headers") or "\0" in text, pointer
    for key in ("dial_destination", "transport", "audio_codecs", "sipclient_actions", "prompt"):
        value = json.dumps([["transfer", text]]) if key == "sipclient_actions" else text
        problem(server.request("POST", start, {f"step.0.0.{key}": value}), 422)
    for kind, body in (
            ("targets", {"hosts": [{"host": text}]}),
            ("targets", {"hosts": [{"host": "h"}], "domain": text}),
            ("targets", {"hosts": [{"host": "h"}], "outbound_proxy": text}),
            *(("credential-pools", {"credentials": [{"username": "u", name: text}]})
              for name in ("username", "auth_username", "domain", "display_name",
                           "extension"))):
        problem(server.request("POST", f"/{kind}", {"name": "evil", **body}), 422)
    for name in ("target", "caller.username", "dial_destination"):
        problem(server.request("POST", "/tests/scenarios/single-call-caller", {
            "agentpool_id": server.test["agentpool_id"], "target": "sip:h", "dial_destination": "1",
            "caller.username": "u", "caller.password": "p", name: text}), 422)


@pytest.mark.parametrize("text", BREAKS)
def test_no_line_break_reaches_http(server, text):
    """In everything that is returned in headers: a file's name and type, ids, the URL."""
    answer = server.request("POST", "/appimages", {
        "name": f"b {text!r}", "content": "", "filename": text, "media_type": "audio/" + text})
    problem(answer, 422)
    answer = server.request("POST", "/appimages", {
        "name": f"b {text!r}", "content": "", "filename": text})
    if answer.status_code == 201:
        number = answer.json()["appimage"]["id"]
        headers = server.request("GET", f"/appimages/{number}/content").headers
        assert "X-Evil" not in headers and "\r" not in headers["Content-Disposition"]
        server.request("DELETE", f"/appimages/{number}")
    else:
        problem(answer, 422)
    quoted = requests.utils.quote(text, safe="")
    for path in (f"/projects/{quoted}", f"/projects?start={quoted}", f"/{quoted}"):
        answer = server.request("GET", path, headers={"X-Request-Id": "a b"})
        assert answer.status_code in (400, 404, 422) and "X-Evil" not in answer.headers
        assert answer.headers["X-Request-Id"] != "a b"


# ---- bodies ----

def sanitized(server):
    """A sanitizer build uses more memory than a normal one, as freed memory is kept."""
    with open(f"/proc/{server.process.pid}/maps", encoding="utf-8") as maps:
        return "libasan" in maps.read()


def memory(server):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def multipart(parts):
    return (b"".join(b'--b\r\nContent-Disposition: form-data; name="%s"\r\n\r\nx\r\n' % n
                     for n in parts) + b"--b--\r\n")


NESTED = {
    "arrays": b"[" * 500000, "objects": b'{"a":' * 200000, "closed": b"[" * 33 + b"]" * 33,
    "member": b'{"name":' + b"[" * 40 + b"]" * 40 + b"}",
    "in strings": b'{"name":"' + b"[" * 1000 + b'", "x":' + b"[" * 40 + b"]" * 40 + b"}",
    "escaped quotes": b'{"name":"\\"' + b'", "x":' + b"[" * 40 + b"]" * 40 + b"}",
}


@pytest.mark.parametrize("name", list(NESTED))
@pytest.mark.parametrize("path", ["/projects", "/tests", "/appimages", "/projects/run"])
def test_deep_bodies(server, unchanged, name, path):
    answer = server.request("POST", path, data=NESTED[name],
                            headers={"Content-Type": "application/json"})
    assert "nested" in problem(answer, 422)["detail"]


@pytest.mark.parametrize("name", ["custom_headers", "sipclient_actions"])
def test_deep_text_in_a_member(server, unchanged, name):
    """JSON within a string is parsed, too."""
    answer = server.request("POST", f"/tests/{server.test['id']}/run",
                            {f"step.0.0.{name}": "[" * 100000})
    problem(answer, 422)
    answer = server.request("POST", f"/tests/{server.test['id']}/run", {
        "condition.caller.caller-mos-conditions": '{"conditions":' + "[" * 100000})
    problem(answer, 422)


@pytest.mark.parametrize("media, body", ids=itertools.count(), argvalues=[
    ("application/x-www-form-urlencoded", b"&".join(b"k%d=v" % i for i in range(3000))),
    ("application/x-www-form-urlencoded", b"&" * 1000000),
    ("application/x-www-form-urlencoded", b"name=" + b"%41" * 340000),
    ("application/x-www-form-urlencoded", b"a" * 1000000),
    ("multipart/form-data; boundary=b", multipart(b"k%d" % i for i in range(3000))),
    ("multipart/form-data; boundary=b", multipart([b"x" * 900000])),
    ("multipart/form-data; boundary=b", b"--b\r\n" * 200000),
    ("multipart/form-data; boundary=b", b"--b\r\nContent-Disposition: " + b"f" * 900000),
    ("multipart/form-data; boundary=" + "b" * 5000, b"--b\r\n"),
    ("multipart/form-data", b"--\r\n" * 1000),
    ("application/json", b'{"name":"' + b"x" * 1000000 + b'"}'),
    ("application/json", b'{"name":' + b"9" * 1000000 + b"}"),
    ("application/json", b'{"tags":[' + b"1," * 400000 + b"1]}"),
    ("application/json", b'{' + b",".join(b'"k%d":1' % i for i in range(80000)) + b"}"),
    ("application/json", b'{"name":"' + b"\\ud800" * 1000 + b'"}'),
])
def test_large_bodies_below_the_limit(server, unchanged, media, body):
    assert len(body) < 1 << 20
    before = memory(server)
    for _ in range(3):
        answer = server.request("POST", "/projects", data=body, headers={"Content-Type": media})
        problem(answer, 422)
    # kB; the bodies are not kept
    assert sanitized(server) or memory(server) < before + 64 * 1024


def test_bodies_above_the_limit(server, unchanged):
    body = b"x" * ((1 << 20) + 1)
    for media in ("application/json", "application/x-www-form-urlencoded",
                  "multipart/form-data; boundary=b"):
        for chunked in (False, True):
            data = (body[i:i + 65536] for i in range(0, len(body), 65536)) if chunked else body
            try:
                answer = server.request("POST", "/projects", data=data,
                                        headers={"Content-Type": media})
            except requests.ConnectionError:
                assert not chunked  # refused and closed during the upload
            else:
                problem(answer, 413)


# ---- slow and half-open clients ----

def test_half_open_uploads_leave_room(server):
    """Upload slots are few: while a client holds all of them, other requests are
    served."""
    key = base64.b64encode(":".join(server.keys["admin"]).encode()).decode()
    host, port = server.url[7:].rsplit(":", 1)
    held = []

    def hold():
        s = socket.create_connection((host, int(port)), 20)
        s.sendall(f"POST /api/v2/appimages HTTP/1.1\r\nHost: x\r\nAuthorization: Basic {key}"
                  f"\r\nContent-Type: multipart/form-data; boundary=b\r\n"
                  f"Content-Length: 100000\r\n\r\n--b".encode())
        held.append(s)

    try:
        until = time.monotonic() + 90
        answer = None
        while time.monotonic() < until:
            for _ in range(50):  # our own requests may have used slots before
                hold()
            answer = server.request("POST", "/appimages", {"name": "u", "content": ""})
            if answer.status_code == 503:
                break
            server.request("DELETE", answer.headers["Location"][7:])
        problem(answer, 503)
        assert answer.headers["Retry-After"]
        assert server.request("GET", "/projects").ok  # everything else continues
    finally:
        for s in held:
            s.close()
    until = time.monotonic() + 90  # the slots are released when the connections end
    while answer.status_code == 503 and time.monotonic() < until:
        answer = server.request("POST", "/appimages", {"name": "u", "content": ""})
    assert answer.status_code == 201


# ---- a blocked database, and stopping ----

def test_locked_database_is_503():
    with Controller(workers=4) as c:
        c.api("POST", "/projects", {"name": "before"})
        db = sqlite3.connect(c.state_dir / "offhook.db", isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        answers = []
        threads = [threading.Thread(target=lambda i=i: answers.append(requests.post(
            f"{c.url}/api/v2/projects", json={"name": f"locked {i}"}, auth=c.keys["admin"],
            timeout=60))) for i in range(3)]
        for t in threads:
            t.start()
        # one worker is left, and readers do not wait for writers
        assert c.request("GET", "/projects").json()["total"] == 1
        for t in threads:
            t.join()
        for answer in answers:
            problem(answer, 503)
            assert answer.headers["Retry-After"]
        db.execute("ROLLBACK")
        db.close()
        assert c.request("POST", "/projects", {"name": "after"}).status_code == 201
        assert c.api("GET", "/projects")["total"] == 2


def unread(sock):
    """Bytes of a connection within this host that the other end has not read."""
    ends = [f":{address[1]:04X}" for address in (sock.getpeername(), sock.getsockname())]
    with open("/proc/net/tcp", encoding="ascii") as table:
        for fields in map(str.split, table):
            if [end[-5:] for end in fields[1:3]] == ends:
                return int(fields[4].split(":")[1], 16)
    return 0


def test_stop_finishes_requests():
    """One request waits for the database, one is parked, one is half sent, one
    connection is idle."""
    with Controller(workers=4, poll_s=50) as c:
        polls = [Poll(c, enrol(c, "a"))]
        polls[0].start()
        db = sqlite3.connect(c.state_dir / "offhook.db", isolation_level=None)
        host, port = c.url[7:].rsplit(":", 1)
        half = socket.create_connection((host, int(port)), 60)
        half.sendall(b"POST /api/v2/projects HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
        idle = socket.create_connection((host, int(port)), 60)
        until = time.monotonic() + 60
        while "\noffhook_http_requests_queued 1\n" not in c.session.get(
                f"{c.url}/metrics", auth=c.keys["admin"], timeout=60).text:
            assert time.monotonic() < until
            time.sleep(0.02)
        time.sleep(0.3)  # by then the poll is parked, or answered anyway
        db.execute("BEGIN IMMEDIATE")
        key = base64.b64encode(":".join(c.keys["admin"]).encode()).decode()
        writer = http.client.HTTPConnection(host, int(port), timeout=60)
        writer.request("POST", "/api/v2/projects", json.dumps({"name": "in progress"}), {
            "Authorization": f"Basic {key}", "Content-Type": "application/json"})
        while unread(writer.sock):
            assert time.monotonic() < until
            time.sleep(0.02)
        time.sleep(0.5)  # by then a worker has it, or it was refused, which would be a failure
        c.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        db.execute("ROLLBACK")
        db.close()
        answer = writer.getresponse()
        assert answer.status == 201, answer.read()
        polls[0].join()
        assert polls[0].error is None and polls[0].answer.status_code == 204
        assert c.process.wait(60) == 0
        writer.close()
        half.close()
        idle.close()
        c.process = None
        c.start()
        assert [p["name"] for p in c.api("GET", "/projects")["projects"]] == ["in progress"]


# ---- secrets ----

def test_secrets_are_nowhere_but_where_they_are_shown_once():
    secrets, answers = {}, []

    def note(what, value):
        assert value
        secrets[what] = value
        return value

    c = Controller(**TIMES)
    c.create_key("reader", "read")
    session = c.session
    plain_request = session.request
    session.request = lambda *args, **kwargs: answers.append(
        plain_request(*args, **kwargs)) or answers[-1]
    with c:
        for rights, (_, secret) in c.keys.items():
            note(f"secret of the {rights} key", secret)
        shown = c.api("POST", "/api-keys", {"name": "k", "rights": "read"})["api_key"]
        note("new key", shown["secret"])
        pool = c.api("POST", "/agent-pools", {"name": "p"})["agent_pool"]
        note("join token", pool["join_token"])
        password = note("SIP password", "sip-Pa55word-stored")
        inline = note("inline SIP password", "sip-Pa55word-inline")
        web = note("web password", "web-Pa55word-long")
        target = c.api("POST", "/targets", {"name": "t", "hosts": [{"host": "127.0.0.1"}]})
        users = c.api("POST", "/credential-pools", {"name": "u", "credentials": [
            {"username": "passed", "password": password}]})["credential_pool"]
        project = c.api("POST", "/projects", {"name": "p"})["project"]["id"]
        test = c.api("POST", "/tests", {
            "name": "t", "project_id": project, "agentpool_id": pool["id"], "steps": [[
                {"type": "register", "role": "caller", "credential_pool": users["id"],
                 "target_pool": target["target"]["id"]}]]})["test"]["id"]
        with Worker(c, pool["join_token"], lambda spec: "passed", "w") as worker:
            note("agent's secret", worker.agent.auth[1])
            runs = [c.api("POST", f"/tests/{test}/run", {})["data"]["session_id"],
                    c.api("POST", "/tests/scenarios/registration", {
                        "agentpool_id": pool["id"], "target": "sip:127.0.0.1",
                        "username": "passed", "password": inline})["data"]["session_id"]]
            until = time.monotonic() + 60
            while len(worker.specs) < 2 and time.monotonic() < until:
                time.sleep(0.05)
            for run in runs:
                c.request("POST", f"/runs/{run}/stop")
        assert {password, inline} <= {
            a["credentials"][0]["password"] for s in worker.specs for a in s["steps"][0]}
        code = note("setup code", (c.state_dir / "setup-code").read_text().strip())
        made = session.request("POST", f"{c.url}/setup", json={
            "code": code, "name": "root", "password": web}, timeout=60)
        assert made.ok
        note("session", made.cookies["offhook_session"])
        # wrong passwords are secret, too: they may be valid elsewhere
        c.request("GET", "/projects", key=(c.keys["admin"][0], note("wrong secret", "wr0ng-s3cret")))
        session.request("POST", f"{c.url}/login", timeout=60, json={
            "name": "root", "password": note("wrong password", "wr0ng-passw0rd")})
        problem(c.request("POST", "/agent/register", {
            "token": note("wrong token", "wr0ng-t0ken"), "name": "x", "version": "1",
            "protocols": [1], "features": [], "capacity": 1}, key=None), 403)
        problem(c.request("POST", f"/tests/{test}/run", {
            "step.0.0.password": note("mistaken password", "m1staken-pa55word")}), 422)
        for path in ("/credential-pools", "/api-keys", "/agent-pools", "/agents", "/tests",
                     "/runs", *(f"/runs/{r}" for r in runs)):
            c.api("GET", path)
        for run in runs:
            session.get(f"{c.url}/run/details/{run}/data", auth=c.keys["admin"], timeout=60)
        log = c.log()
    shown_once = {"new key": 1, "join token": 1}
    for what, secret in secrets.items():
        assert secret not in log, f"{what} is in the log"
        seen = [a for a in answers if secret in a.text]
        assert len(seen) == shown_once.get(what, 0), f"{what}: {[a.url for a in seen]}"
    assert "POST /api/v2/agent/leases/" in log  # it is the debug log


def test_no_core_dumps(tmp_path, ports):
    """Their memory has secrets. baresip, which enables core files, inherits the limit."""
    limits = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (limits[1], limits[1]))
    with contextlib.ExitStack() as stack:
        stack.callback(resource.setrlimit, resource.RLIMIT_CORE, limits)
        b = stack.enter_context(Bench(tmp_path, ports))
        session = b.start(b.single_call(duration=60))
        b.wait_for_media(session)
        agent, = b.agents
        engines = [pid for pid, _ in children(agent.process.pid)]
        assert len(engines) >= 2
        for pid in [b.controller.process.pid, agent.process.pid, *engines]:
            assert resource.prlimit(pid, resource.RLIMIT_CORE) == (0, 0)
        b.api("POST", f"/runs/{session}/stop")
        b.wait(session)


def test_leaks_are_found(tmp_path):
    """The search that every test ends with (leaks.py)."""
    with Controller() as c:
        c.api("POST", "/credential-pools", {"name": "u", "credentials": [
            {"username": "u", "password": "sip-Pa55word-stored"}]})
        token = c.api("POST", "/agent-pools", {"name": "p"})["agent_pool"]["join_token"]
        assert {token, "sip-Pa55word-stored", c.keys["admin"][1]} <= c.secrets
        path = c.state_dir / "artifacts" / "planted"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"in the middle {token} of a file")
        assert leaks.search(c.secrets, [c.state_dir]) == [(str(path), token)]
        path.unlink()


def test_secrets_are_not_in_files():
    with Controller() as c:
        users = c.api("POST", "/credential-pools", {"name": "u", "credentials": [
            {"username": "u", "password": "sip-Pa55word-stored"}]})["credential_pool"]["id"]
        shown = c.api("POST", "/api-keys", {"name": "k", "rights": "read"})["api_key"]["secret"]
        token = c.api("POST", "/agent-pools", {"name": "p"})["agent_pool"]["join_token"]
        code = (c.state_dir / "setup-code").read_text().strip()
        answer = c.session.post(f"{c.url}/setup", timeout=60, json={
            "code": code, "name": "root", "password": "web-Pa55word-long"})
        cookie = answer.cookies["offhook_session"]
        assert not (c.state_dir / "setup-code").exists()
        c.api("PUT", f"/credential-pools/{users}", {"name": "u", "credentials": [
            {"username": "u", "password": "sip-Pa55word-second"}]})
        files = {p: p.read_bytes() for p in c.state_dir.rglob("*") if p.is_file()}
        assert any(p.name.endswith("-wal") for p in files)
        for path, data in files.items():
            for secret in (shown, token, cookie, "sip-Pa55word-stored", "sip-Pa55word-second",
                           "web-Pa55word-long"):
                assert secret.encode() not in data, path
            assert os.stat(path).st_mode & 0o077 == 0 or path.suffix in (".conf", ".log"), path

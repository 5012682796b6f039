"""Conditional and repeated requests, limits, and clients that do not speak HTTP."""
import base64
import concurrent.futures
import json
import socket
import time

import pytest
import requests

from contract import contract
from controller import Controller
from test_api_basics import problem
from test_api_server import make_test


@pytest.fixture(scope="module")
def server():
    c = Controller(claim_timeout_s=300)
    c.create_key("runner", "run")
    with c:
        yield c


@pytest.fixture(scope="module")
def started(server):
    """Path of a run start."""
    return f"/tests/{make_test(server)[1]['id']}/run"


def count_runs(server):
    return server.api("GET", "/runs?count=1")["total"]


def test_etag_changes_with_the_record(server):
    made = server.request("POST", "/projects", {"name": "etag"})
    path = f"/projects/{made.json()['project']['id']}"
    first = server.request("GET", path)
    assert made.headers["ETag"] == first.headers["ETag"]
    assert server.request("GET", path).headers["ETag"] == first.headers["ETag"]
    put = server.request("PUT", path, {"name": "etag"})
    assert put.headers["ETag"] != first.headers["ETag"]
    assert server.request("GET", path).headers["ETag"] == put.headers["ETag"]


def test_if_none_match(server):
    path = f"/projects/{server.api('POST', '/projects', {'name': 'inm'})['project']['id']}"
    tag = server.request("GET", path).headers["ETag"]
    answer = server.request("GET", path, headers={"If-None-Match": tag})
    assert answer.status_code == 304 and answer.content == b""
    answer = server.request("GET", path, headers={"If-None-Match": '"x"'})
    assert answer.status_code == 200


@pytest.mark.parametrize("kind, body", [
    ("projects", {}), ("agent-pools", {}), ("credential-pools", {"credentials": [
        {"username": "1", "password": "a"}]}),
    ("targets", {"hosts": [{"host": "127.0.0.1"}]})])
def test_if_match(server, kind, body):
    body = {"name": "if-match", **body}
    made = server.request("POST", f"/{kind}", body)
    path = made.headers["Location"].removeprefix("/api/v2")
    tag = made.headers["ETag"]
    second = server.request("PUT", path, body, headers={"If-Match": tag})
    assert second.status_code == 200, second.text
    # the same values again count as a change: passwords are not readable
    assert second.headers["ETag"] != tag
    for wrong in (tag, '"x"', "x", ""):
        problem(server.request("PUT", path, body, headers={"If-Match": wrong}), 412)
        problem(server.request("DELETE", path, headers={"If-Match": wrong}), 412)
    both = f'"x", {second.headers["ETag"]}'
    assert server.request("DELETE", path, headers={"If-Match": both}).status_code == 204
    problem(server.request("DELETE", path, headers={"If-Match": "*"}), 404)


def test_if_match_lets_one_of_many_win(server):
    made = server.request("POST", "/projects", {"name": "race"})
    path = made.headers["Location"].removeprefix("/api/v2")

    def put(i):
        return requests.put(f"{server.url}/api/v2{path}", json={"name": f"race {i}"},
                            auth=server.keys["admin"], timeout=60,
                            headers={"If-Match": made.headers["ETag"]}).status_code
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(put, range(12)))
    assert sorted(answers) == [200] + [412] * 11


def test_run_has_an_etag(server, started):
    run = server.api("POST", started, {})["data"]["session_id"]
    assert server.request("GET", f"/runs/{run}").headers["ETag"]
    problem(server.request("DELETE", f"/runs/{run}", headers={"If-Match": '"x"'}), 412)


def test_repeated_start_is_one_run(server, started):
    headers = {"Idempotency-Key": "once"}
    before = count_runs(server)
    first = server.request("POST", started, {"report.mode": "kiosk"}, headers=headers)
    assert first.status_code == 200 and "Idempotency-Replayed" not in first.headers
    again = server.request("POST", started, {"report.mode": "kiosk"}, headers=headers)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json() == first.json()
    assert count_runs(server) == before + 1
    problem(server.request("POST", started, {"report.mode": "full"}, headers=headers), 422)
    problem(server.request("POST", started + "?x=1", {"report.mode": "kiosk"},
                           headers=headers), 422)
    # API keys have their own names
    other = server.request("POST", started, {}, key="run", headers=headers)
    assert other.status_code == 200
    assert other.json()["data"]["session_id"] != first.json()["data"]["session_id"]


@pytest.mark.parametrize("kind", ["tests", "projects"])
@pytest.mark.parametrize("started_something", [False, True])
def test_request_cut_off_by_a_crash(started_something, kind):
    """The state that a crash leaves of a request is made by hand: the moment is too
    short to hit."""
    headers = {"Idempotency-Key": "crash"}
    with Controller(claim_timeout_s=300) as c:
        test = make_test(c)[1]
        path = f"/{kind}/{test['id' if kind == 'tests' else 'project_id']}/run"
        answer = c.api("POST", path, {}, headers=headers)
        uuid = answer.get("project_run_uuid") or answer["data"]["session_id"]
        c.kill()
        with c.open_database() as db:
            assert db.execute("SELECT started FROM idempotency").fetchall() == [(uuid,)]
            db.execute("UPDATE idempotency SET status = NULL, response_json = NULL" +
                       ("" if started_something else ", started = NULL"))
        db.close()
        c.start()
        again = c.request("POST", path, {}, headers=headers)
        assert again.status_code == 200
        assert again.headers.get("Idempotency-Replayed") == ("true" if started_something else None)
        assert (again.json() == answer) == started_something
        if kind == "tests":
            assert count_runs(c) == (1 if started_something else 2)
        problem(c.request("POST", path, {"report.mode": "print"}, headers=headers), 422)


def test_what_a_cut_off_request_started_is_deleted():
    headers = {"Idempotency-Key": "crash"}
    with Controller(claim_timeout_s=300) as c:
        path = f"/tests/{make_test(c)[1]['id']}/run"
        uuid = c.api("POST", path, {}, headers=headers)["data"]["session_id"]
        c.api("POST", f"/runs/{uuid}/stop", {})
        until = time.monotonic() + 60
        while c.api("GET", f"/runs/{uuid}")["run"]["status"] != "stopped":
            assert time.monotonic() < until
            time.sleep(0.1)
        c.kill()
        with c.open_database() as db:
            db.execute("UPDATE idempotency SET status = NULL, response_json = NULL")
        db.close()
        c.start()
        c.api("DELETE", f"/runs/{uuid}")
        assert "use another key" in problem(c.request("POST", path, {}, headers=headers), 409)["detail"]


def test_concurrent_starts_are_one_run(server, started):
    before = count_runs(server)

    def start(_):
        return requests.post(f"{server.url}/api/v2{started}", json={}, timeout=60,
                             auth=server.keys["admin"],
                             headers={"Idempotency-Key": "at-once"})
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(start, range(16)))
    assert {a.status_code for a in answers} <= {200, 409}
    assert len({a.json()["data"]["session_id"] for a in answers if a.ok}) == 1
    assert count_runs(server) == before + 1


def test_refused_start_leaves_its_name(server, started):
    headers = {"Idempotency-Key": "corrected"}
    problem(server.request("POST", started, {"report.mode": "x"}, headers=headers), 422)
    assert server.request("POST", started, {"report.mode": "full"}, headers=headers).ok


@pytest.mark.parametrize("name", ["", "a b", "x" * 256, "\xe9"])
def test_broken_names(server, started, name):
    before = count_runs(server)
    problem(server.request("POST", started, {},
                           headers={"Idempotency-Key": name.encode("latin-1")}), 422)
    assert count_runs(server) == before


def test_options(server):
    answer = server.request("OPTIONS", "/projects", key=None)
    assert answer.status_code == 204 and answer.content == b""
    assert answer.headers["Allow"] == "GET, HEAD, POST, OPTIONS"
    problem(server.request("OPTIONS", "/nothing"), 404)


def test_request_id_is_on_every_answer(server):
    for method, path, key in (("GET", "/projects", "admin"), ("GET", "/projects", None),
                              ("GET", "/nothing", "admin"), ("PUT", "/projects", "admin"),
                              ("HEAD", "/projects", "admin"), ("OPTIONS", "/projects", None),
                              ("DELETE", "/runs/0", "run")):
        answer = server.request(method, path, key=key, headers={"X-Request-Id": "mine"})
        assert answer.headers["X-Request-Id"] == "mine", (method, path)


def test_rate_limit():
    c = Controller(rate_limit=1, rate_burst=20)
    c.create_key("other", "read")
    with c:
        answers = [c.request("GET", "/projects") for _ in range(60)]
        limited = [a for a in answers if a.status_code == 429]
        assert all(a.status_code == 200 for a in answers[:20])
        assert limited
        problem(limited[0], 429)
        assert int(limited[0].headers["Retry-After"]) >= 1
        assert c.request("GET", "/projects", key="read").ok
        assert c.session.get(f"{c.url}/healthz", timeout=60).ok
        time.sleep(int(limited[0].headers["Retry-After"]))
        assert c.request("GET", "/projects").ok


def test_limits_are_configured():
    with Controller(json_depth=9, page_limit=3) as c:
        for i in range(5):
            c.api("POST", "/projects", {"name": f"{i}"})
        answer = c.request("GET", "/projects")
        assert len(answer.json()["projects"]) == answer.json()["count"] == 3
        assert "start=3&count=3" in answer.headers["Link"]
        problem(c.request("GET", "/projects?count=4"), 422)
        deep = {"name": "deep", "description": eval("[" * 8 + "]" * 8)}
        assert problem(c.request("POST", "/projects", deep), 422)["errors"][0]["pointer"] == \
            "/description"
        deep["description"] = [deep["description"]]
        assert "nested deeper than 9" in problem(c.request("POST", "/projects", deep), 422)[
            "detail"]


@pytest.mark.parametrize("depth, reason", [(32, "must be an object"), (33, "JSON array")])
def test_json_in_a_form_has_a_depth(server, depth, reason):
    hosts = "[" * depth + "]" * depth
    answer = server.request("POST", "/targets", data={"name": "deep", "hosts": hosts})
    assert reason in problem(answer, 422)["errors"][0]["detail"]


def connect(server):
    host, port = server.url[7:].rsplit(":", 1)
    return socket.create_connection((host, int(port)), 20)


def answer_of(s):
    data = b""
    try:
        while piece := s.recv(65536):
            data += piece
    except OSError:
        pass  # the connection was closed
    return data


@pytest.mark.parametrize("data", [
    b"garbage\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\r\n" * 1000,
    b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\0" * 5000,
    b"GET / HTTP/1.1\r\n\r\n", b"G\xff /\xff HTTP/1.1\r\nHost: x\r\n\r\n",
    b"X" * 5000 + b" / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100000 + b"\r\n\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 20000 + b"\r\n",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n",
    b"POST /api/v2/projects HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"POST /api/v2/projects HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"POST /api/v2/projects HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST /api/v2/projects HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"ffffffffffffffffff\r\n",
])
def test_malformed_requests(server, data):
    with connect(server) as s:
        try:
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # refused before the whole request was sent
        answer = answer_of(s)
    assert b" 500 " not in answer[:20]
    assert b"<html" not in answer
    assert server.process.poll() is None
    assert server.request("GET", "/projects").ok


@pytest.mark.parametrize("data, status", [
    (b"GET /\r\nHost: x\r\n\r\n", 400), (b"GET / HTTP/9.9\r\nHost: x\r\n\r\n", 505),
    (b"GET / HTTP/0.9\r\nHost: x\r\n\r\n", 505),
    (b"GET /" + b"a" * 100000, 414),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 100000, 431),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 20000, 431),
    (b"GET /healthz HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", 400),
    (b"POST /api/v2/projects HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
    (b"POST /api/v2/projects HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
     413),
    (b"POST /api/v2/projects HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400)])
def test_what_never_reaches_a_route(server, data, status):
    """Responses of the HTTP library itself have the same form as all others."""
    ids = set()
    for _ in range(2):
        with connect(server) as s:
            try:
                s.sendall(data)
            except OSError:
                pass  # refused before the whole request was sent
            head, _, body = answer_of(s).partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = {n.lower(): v for n, v in (line.split(": ", 1) for line in lines[1:])}
        assert lines[0].split()[1] == str(status), head
        assert headers["content-type"] == "application/problem+json"
        assert headers["connection"] == "close"
        # see library.c: libmicrohttpd 0.9.75 writes a second header section after it
        if b"Content-Length" in data and headers["content-length"] == "0":
            assert b"<html" not in body
            ids.add(headers["x-request-id"])
            continue
        assert int(headers["content-length"]) == len(body)
        said = json.loads(body)
        assert contract().validate(contract().problem, said) is None
        assert said["status"] == status and said["request_id"] == headers["x-request-id"]
        ids.add(said["request_id"])
    assert len(ids) == 2


@pytest.mark.parametrize("head, status", [
    ("GET {} HTTP/1.1\r\n", 400), ("GET {} HTTP/1.1\r\nHost: a\r\nhost: a\r\n", 400),
    ("GET {} HTTP/1.0\r\nHost: a\r\nHost: b\r\n", 400), ("GET {} HTTP/1.1\r\nHost: a b\r\n", 400),
    ("GET {} HTTP/1.1\r\nHost: a/b\r\n", 400), ("GET {} HTTP/1.1\r\nHost: <a>\r\n", 400),
    ("GET {} HTTP/1.0\r\n", 200), ("GET {} HTTP/1.1\r\nHost: x_y.example:80\r\n", 200),
    ("GET {} HTTP/1.1\r\nHost: [::1]:80\r\n", 200), ("GET {} HTTP/1.1\r\nHost:\r\n", 200)])
@pytest.mark.parametrize("path", ["/api/v2/projects", "/healthz"])
def test_host(server, path, head, status):
    """RFC 9112 section 3.2: exactly one valid Host; it may be absent in HTTP/1.0 only."""
    key = base64.b64encode(":".join(server.keys["admin"]).encode()).decode()
    with connect(server) as s:
        s.sendall((head.format(path) + f"Authorization: Basic {key}\r\n"
                   "Connection: close\r\n\r\n").encode())
        answer = answer_of(s)
    assert answer.split()[1] == str(status).encode(), answer
    if status == 400:
        # libmicrohttpd 1.0 itself refuses a request without Host, and gives no reason
        detail = json.loads(answer.partition(b"\r\n\r\n")[2])["detail"]
        assert "Host" in detail or (
            "ost:" not in head and detail == "this is no HTTP request that can be understood")


def test_slow_clients_do_not_stop_others(server):
    head = b"POST /api/v2/projects HTTP/1.1\r\nHost: x\r\n"
    slow = [connect(server) for _ in range(100)]
    try:
        for i, s in enumerate(slow):
            # nothing; half a request line; half the headers; half a body
            s.sendall((b"", b"PO", head,
                       head + b"Content-Length: 1000\r\n\r\n{")[i % 4])
        began = time.monotonic()
        for i in range(30):
            for s in slow[1::4]:
                s.sendall(b"S" if i < 2 else b"")
            assert server.request("GET", "/projects").ok
        assert time.monotonic() - began < 30  # a blocked server takes minutes
    finally:
        for s in slow:
            s.close()
    assert server.request("GET", "/projects").ok

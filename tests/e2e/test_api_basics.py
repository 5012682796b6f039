"""Authentication, errors, bodies and the life of the server."""
import base64
import re
import socket
import threading
from pathlib import Path

import pytest
import requests

from controller import ON_POSTGRESQL, Controller


@pytest.fixture(scope="module")
def server():
    c = Controller()
    c.create_key("reader", "read")
    c.create_key("runner", "run")
    with c:
        yield c


def problem(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    body = answer.json()
    assert body["status"] == status
    assert body["error"] == body["detail"] != ""
    assert body["request_id"] == answer.headers["X-Request-Id"]
    return body


@pytest.mark.parametrize("auth", [
    None, ("ok_00000000000000000000", "x"), ("", ""), ("1", "x")])
def test_credentials_missing_or_wrong(server, auth):
    answer = server.request("GET", "/projects", key=None, auth=auth)
    problem(answer, 401)
    assert answer.headers["WWW-Authenticate"].startswith(
        'Basic realm="offhook"')


def test_secret_of_another_key_is_refused(server):
    mixed = (server.keys["admin"][0], server.keys["read"][1])
    problem(server.request("GET", "/projects", key=mixed), 401)


@pytest.mark.parametrize("value", [
    "Bearer x", "Basic", "Basic !!!", "Basic " + "A" * 5000,
    "Basic " + base64.b64encode(b"no colon").decode()])
def test_authorization_that_is_not_basic(server, value):
    answer = server.request("GET", "/", key=None,
                            headers={"Authorization": value})
    problem(answer, 401)


def test_rights_are_ordered(server):
    assert server.request("GET", "/projects", key="read").ok
    body = {"name": "by a reader"}
    problem(server.request("POST", "/projects", body, key="read"), 403)
    problem(server.request("POST", "/projects", body, key="run"), 403)
    problem(server.request("GET", "/api-keys", key="run"), 403)


def test_endpoints_are_listed(server):
    endpoints = {e["url"]: e for e in server.api("GET", "/")["endpoints"]}
    assert endpoints["/projects"]["methods"] == ["GET", "POST"]
    assert endpoints["/tests/:id"]["methods"] == ["GET", "PUT", "DELETE"]


def test_unknown_address_and_method(server):
    problem(server.request("GET", "/nothing"), 404)
    problem(server.request("GET", "/projects/1/2/3/4/5/6/7/8/9/10"), 404)
    answer = server.request("DELETE", "/projects")
    problem(answer, 405)
    assert answer.headers["Allow"] == "GET, HEAD, POST"


def test_head_is_get_without_a_body(server):
    get = server.request("GET", "/projects")
    head = server.request("HEAD", "/projects")
    assert head.status_code == 200 and head.content == b""
    assert head.headers["Content-Length"] == get.headers["Content-Length"]


def test_request_id_is_kept_if_harmless(server):
    answer = server.request("GET", "/", headers={"X-Request-Id": "ci-42.a:b_c"})
    assert answer.headers["X-Request-Id"] == "ci-42.a:b_c"
    for other in ("a b", "x" * 100, '"', "é".encode()):
        answer = server.request("GET", "/", headers={"X-Request-Id": other})
        assert re.fullmatch(r"[0-9a-f-]{36}", answer.headers["X-Request-Id"])


@pytest.mark.parametrize("kwargs", [
    {"json": {"name": "json"}},
    {"data": {"name": "a form & more + %"}},
    {"files": {"name": (None, "multipart")}},
    {"data": "name=%C3%A9&description=a+b",
     "headers": {"Content-Type":
                 "application/x-www-form-urlencoded; charset=utf-8"}}])
def test_body_types_are_equal(server, kwargs):
    answer = server.request("POST", "/projects", **kwargs)
    assert answer.status_code == 201, answer.text
    project = answer.json()["project"]
    assert answer.headers["Location"] == f"/api/v2/projects/{project['id']}"
    server.api("DELETE", f"/projects/{project['id']}")


@pytest.mark.parametrize("body, content_type, status", [
    (b"x", "text/plain", 415),
    (b"x", None, 415),
    (b"{", "application/json", 422),
    (b'{"name": "a", "name": "b"}', "application/json", 422),
    (b"[]", "application/json", 422),
    (b'{"name": ' + b"[" * 40 + b"]" * 40 + b"}", "application/json", 422),
    (b"name=%zz", "application/x-www-form-urlencoded", 422),
    (b"name=%ff", "application/x-www-form-urlencoded", 422),
    (b"name=a&name=b", "application/x-www-form-urlencoded", 422),
    (b"--x\r\n", "multipart/form-data; boundary=x", 422),
    (b"x", "multipart/form-data", 422)])
def test_broken_bodies(server, body, content_type, status):
    headers = {"Content-Type": content_type} if content_type else {}
    problem(server.request("POST", "/projects", data=body, headers=headers),
            status)


def test_every_wrong_field_has_a_pointer(server):
    answer = server.request("POST", "/projects",
                            {"description": 5, "colour": "red"})
    errors = problem(answer, 422)["errors"]
    assert {e["pointer"] for e in errors} == \
        {"/name", "/description", "/colour"}


def test_body_above_the_limit(server):
    data = b"x" * (2 << 20)
    problem(server.request("POST", "/projects", data=data), 413)

    def pieces():  # no Content-Length: the server has to count the bytes
        for _ in range(32):
            yield b"x" * 65536
    problem(server.request("POST", "/projects", data=pieces()), 413)


@pytest.mark.parametrize("path", ["/%", "/%zz", "/%ff", "/%00", "/projects?a=%f"])
def test_broken_escapes(server, path):
    host, port = server.url[7:].rsplit(":", 1)
    with socket.create_connection((host, int(port)), 60) as s:
        s.sendall(f"GET /api/v2{path} HTTP/1.1\r\nHost: x\r\n"
                  "Connection: close\r\n\r\n".encode())
        answer = b""
        while data := s.recv(65536):
            answer += data
    assert answer.startswith(b"HTTP/1.1 400"), answer
    assert b"application/problem+json" in answer


def test_escaped_slash_is_no_separator(server):
    problem(server.request("GET", "/projects%2F1"), 404)


def test_paging(server):
    for i in range(5):
        server.api("POST", "/projects", {"name": f"page {i}"})
    whole = server.api("GET", "/projects")
    answer = server.request("GET", "/projects?start=1&count=2")
    page = answer.json()
    assert page["projects"] == whole["projects"][1:3]
    assert (page["total"], page["start"], page["count"]) == \
        (whole["total"], 1, 2)
    assert 'start=3&count=2>; rel="next"' in answer.headers["Link"]
    assert 'start=0&count=2>; rel="prev"' in answer.headers["Link"]
    for query in ("start=-1", "count=1001", "count=x"):
        problem(server.request("GET", f"/projects?{query}"), 422)


def test_parallel_clients(server):
    failed = []

    def client(number):
        with requests.Session() as session:
            for i in range(50):
                answer = session.get(f"{server.url}/api/v2/projects",
                                     auth=server.keys["admin"], timeout=60)
                if answer.status_code != 200:
                    failed.append((number, i, answer.status_code))

    threads = [threading.Thread(target=client, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed


def test_no_secret_in_log_or_files(server):
    secrets = [s for _, s in server.keys.values()]
    for path in filter(Path.is_file, server.state_dir.rglob("*")):
        data = path.read_bytes()
        for secret in secrets:
            assert secret.encode() not in data, path


def test_state_survives_a_power_cut():
    c = Controller()
    try:
        c.start()
        made = c.api("POST", "/projects", {"name": "kept"})["project"]
        c.kill()
        c.start()
        assert c.api("GET", f"/projects/{made['id']}")["project"] == made
        assert c.stop() == 0
    finally:
        c.close()


def test_database_has_one_owner():
    """SQLite's; PostgreSQL's may have several, so the command works beside the controller."""
    with Controller() as c:
        if ON_POSTGRESQL:
            assert c.request("GET", "/projects", key=c.create_key("second")).status_code == 200
        else:
            with pytest.raises(Exception):
                c.create_key("second")

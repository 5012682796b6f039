"""The check of contract.py can fail: each kind of difference is planted and detected."""
import base64
import copy
import http.client
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import requests

from contract import Contract, contract
from controller import Controller
from http_watch import SYN, CapturedConnection, Conversation
from witness import Witness

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def server():
    with Controller() as c:
        c.api("POST", "/projects", {"name": "one"})
        yield c


def planted(change):
    """The document with a planted difference from the controller."""
    raw = copy.deepcopy(contract().raw)
    change(raw)
    return Contract(raw)


def exchange(server, document, method="GET", path="/projects/1", **kwargs):
    answer = requests.request(method, f"{server.url}/api/v2{path}", timeout=60,
                              auth=server.keys["admin"], **kwargs)
    request = answer.request
    return document.check(method, request.url, answer.status_code, answer.headers,
                          answer.content, request.body or None,
                          request.headers.get("Content-Type", ""))


def schema(raw, name):
    return raw["components"]["schemas"][name]


def operation(raw, path="/projects/{id}", method="get"):
    return raw["paths"][path][method]


def rename(mapping, old, new):
    mapping[new] = mapping.pop(old)


def form_without_description(raw):
    """As if `description` were a member of JSON bodies only."""
    content = raw["components"]["requestBodies"]["ProjectReplacement"]["content"]
    narrow = {"type": "object", "additionalProperties": False, "required": ["name"],
              "properties": {"name": {"type": "string"}}}
    for media in ("application/x-www-form-urlencoded", "multipart/form-data"):
        content[media]["schema"] = narrow


GET = {}
FORM = {"name": "planted", "description": "d"}
PLANTED = {
    "a status": (lambda r: operation(r)["responses"].pop("200"), GET, "answered 200"),
    "an operation": (lambda r: r["paths"].pop("/projects/{id}"), GET, "no such operation"),
    "a method": (lambda r: r["paths"]["/projects/{id}"].pop("get"), GET, "no such operation"),
    "a member that is missing": (
        lambda r: schema(r, "Project")["required"].append("owner"), GET, "owner"),
    "a member that is not documented": (
        lambda r: schema(r, "Project")["properties"].pop("created_at"), GET, "created_at"),
    "a type": (lambda r: schema(r, "Project")["properties"].update(id={"type": "string"}), GET,
               "is not of type 'string'"),
    "a value of an enumeration": (
        lambda r: schema(r, "Right")["enum"].remove("admin"), {"path": "/"}, "admin"),
    "a format of time": (
        lambda r: schema(r, "Time").update(pattern=r"^\d{4}-\d\d-\d\dT"), GET, "match"),
    "a header that is missing": (
        lambda r: operation(r)["responses"]["200"]["headers"].update(
            {"X-Page": {"required": True, "schema": {"type": "string"}}}), GET, "x-page"),
    "a header that is not documented": (
        lambda r: operation(r)["responses"]["200"]["headers"].pop("ETag"), GET, "etag"),
    "a header of another value": (
        lambda r: r["components"]["headers"]["ETag"].update(schema={"const": "x"}), GET, "etag"),
    "a media type": (
        lambda r: rename(operation(r)["responses"]["200"]["content"], "application/json",
                         "application/xml"), GET, "application/xml"),
    "a body where there should be none": (
        lambda r: operation(r)["responses"]["200"].pop("content"), GET, "has a body"),
    "the status in the body": (
        lambda r: operation(r)["responses"].update({"404": operation(r)["responses"]["200"]}),
        {"path": "/projects/99"}, "404"),
    "Allow": (lambda r: r["paths"]["/projects/{id}"].pop("put"),
              {"method": "PATCH"}, "Allow"),
    "a parameter of the path": (
        lambda r: r["components"]["parameters"]["Id"].update(schema={"type": "string", "format": "uuid",
                                                                     "pattern": "-"}), GET, "{id}"),
    "a query parameter": (
        lambda r: operation(r, "/projects")["parameters"].pop(0),
        {"path": "/projects?start=0"}, "start"),
    "a value of a query parameter": (
        lambda r: r["components"]["parameters"]["Count"]["schema"].update(maximum=5),
        {"path": "/projects?count=6"}, "count"),
    "a member of a JSON body": (
        lambda r: schema(r, "ProjectReplacement")["properties"].pop("description"),
        {"method": "PUT", "json": FORM}, "description"),
    "a member of a form": (form_without_description, {"method": "PUT", "data": FORM},
                           "description"),
    "a member of a multipart form": (
        form_without_description,
        {"method": "PUT", "files": {k: (None, v) for k, v in FORM.items()}}, "description"),
    "a type of body": (
        lambda r: r["components"]["requestBodies"]["ProjectReplacement"]["content"].pop(
            "multipart/form-data"),
        {"method": "PUT", "files": {"name": (None, "planted")}}, "multipart/form-data"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_difference_is_met(server, name):
    change, request, words = PLANTED[name]
    wrong = exchange(server, planted(change), **request)
    assert wrong and words in wrong, wrong
    assert exchange(server, contract(), **request) is None


SOUND = {"X-Request-Id": "a", "ETag": f'"{"0" * 32}"', "Content-Type": "application/json"}


@pytest.mark.parametrize("headers, content, words", [
    ({"Content-Type": "application/json"}, b"{}", "X-Request-Id"),
    (SOUND, b'{"project": ', "broken JSON"),
    (SOUND, b'{"status": 200, "status": 200}', "twice"),
    (SOUND, b'{"status": 201}', "status"),
    ({**SOUND, "Content-Type": "text/html"}, b"<html>", "text/html"),
])
def test_broken_answers_are_met(headers, content, words):
    assert words in contract().check("GET", "/api/v2/projects/1", 200, headers, content)


def test_a_difference_fails_the_tests_that_meet_it(tmp_path):
    """End to end: a run of pytest, also if the exchange was in a thread of the test."""
    raw = copy.deepcopy(contract().raw)
    rename(raw["paths"]["/projects"]["get"]["responses"]["200"]["content"]["application/json"][
        "schema"]["properties"], "total", "sum")
    path = tmp_path / "openapi.yaml"
    path.write_text(json.dumps(raw))  # JSON is valid YAML
    done = subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-p", "no:cacheprovider", "-q",
         HERE / "test_api_basics.py", "-k", "paging or parallel_clients or rights"],
        env={**os.environ, "OFFHOOK_OPENAPI": str(path)}, capture_output=True, text=True,
        timeout=300)
    assert done.returncode == 1, done.stdout[-3000:]
    for test in ("test_paging", "test_parallel_clients", "test_rights_are_ordered"):
        assert test in done.stdout.split("short test summary")[1]
    assert "'total' was unexpected" in done.stdout


def test_witness_sees_what_passes_by(server, monkeypatch):
    """A client without the check: curl, through the relay."""
    def curl(url):
        return subprocess.run(
            ["curl", "-s", "-u", ":".join(server.keys["admin"]), f"{url}/api/v2/projects/1"],
            capture_output=True, timeout=60, check=True).stdout
    with Witness(server.url) as witness:
        assert b'"project"' in curl(witness.url)
        assert witness.seen == [("GET", "/api/v2/projects/1", 200)]
    change, _, words = PLANTED["a member that is not documented"]
    monkeypatch.setattr("contract.CONTRACT", planted(change))
    with pytest.raises(AssertionError, match=words):
        with Witness(server.url) as witness:
            curl(witness.url)


MISSING = "a member that is not documented"


def raw(server):
    host, port = server.url.removeprefix("http://").split(":")
    key = base64.b64encode(":".join(server.keys["admin"]).encode()).decode()
    with socket.create_connection((host, int(port)), 20) as s:
        for piece in ("GET /api/v2/projects/1 HTTP/1.1\r\nHost: x\r\n",
                      f"Authorization: Basic {key}\r\nConnection: close\r\n\r\n"):
            s.sendall(piece.encode())
        while s.recv(100):
            pass


def by_http_client(server):
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=60)
    key = base64.b64encode(":".join(server.keys["admin"]).encode()).decode()
    connection.request("GET", "/api/v2/projects/1", headers={"Authorization": f"Basic {key}"})
    connection.getresponse().read()
    connection.close()


@pytest.mark.parametrize("client", [raw, by_http_client])
def test_sockets_are_looked_at(server, monkeypatch, client):
    client(server)
    change, _, words = PLANTED[MISSING]
    monkeypatch.setattr("contract.CONTRACT", planted(change))
    with pytest.raises(AssertionError, match=words):
        client(server)


ASKED = b"GET /api/v2/projects/1 HTTP/1.1\r\nHost: x\r\n\r\n"
ANSWERS = {
    "sound": (b"HTTP/1.1 404 x\r\nX-Request-Id: a\r\nContent-Type: application/problem+json\r\n"
              b"Content-Length: %d\r\n\r\n%s", None),
    "chunked": (b"HTTP/1.1 404 x\r\nX-Request-Id: a\r\nContent-Type: application/problem+json\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", None),
    "no id": (b"HTTP/1.1 404 x\r\nContent-Length: %d\r\n\r\n%s", "X-Request-Id"),
    "no HTTP": (b"HTTP/2 404\r\n%d\r\n\r\n%s", "no HTTP came"),
    "cut off": (b"HTTP/1.1 404 x\r\nX-Request-Id: a\r\nContent-Length: 1%d\r\n\r\n%s", "cut off"),
    "no head": (b"HTTP/1.1 404 x\r\n%d: %s", "cut off"),
}
PROBLEM = {"type": "about:blank", "title": "Not Found", "status": 404, "detail": "d", "error": "d",
           "errors": [], "instance": "/", "request_id": "a"}


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("piece", [1, 7, 10000])
def test_bytes_are_understood(name, piece):
    """The same response three times on one connection, however its bytes are divided."""
    form, words = ANSWERS[name]
    body = json.dumps(PROBLEM).encode()
    answer = form % (len(body), body)
    conversation = Conversation()
    found = []
    for _ in range(1 if words else 3):
        conversation.sent(ASKED)
        for at in range(0, len(answer), piece):
            found.append(conversation.received(answer[at:at + piece]))
    found = [f for f in [*found, conversation.ended()] if f]
    if words:
        assert words in found[0]
    else:
        assert found == []
        assert conversation.seen == [("GET", "/api/v2/projects/1", 404)] * 3
        conversation.sent(ASKED)
        assert conversation.unanswered() == "GET /api/v2/projects/1"


def captured(*segments):
    connection = CapturedConnection()
    for sends, number, flags, data in ((True, 9, SYN, b""), (False, 2**32 - 1, SYN, b""),
                                       (True, 10, 0, ASKED), *segments):
        wrong = connection.segment(sends, number, flags, data)
    return connection, wrong


def test_captures_are_put_in_order():
    form, words = ANSWERS["no id"]
    answer = form % (2, b"{}")
    late, early = (False, 0, 0, answer[:5]), (False, 5, 0, answer[5:])
    connection, wrong = captured(early, early, late)
    assert words in wrong and not connection.gap()
    connection, wrong = captured(early)
    assert wrong is None and connection.gap()


def test_an_answer_that_nobody_looked_at_is_told():
    c = Controller()
    try:
        c.start()
        c.api("GET", "/projects")
        subprocess.run(["curl", "-s", f"{c.url}/api/v2/projects/1"], timeout=60, check=True,
                       capture_output=True)
        assert c.stop() == 0
        assert c.unseen() == ["GET /api/v2/projects/1: 401"]
    finally:
        c.close()

"""What requests above a ceiling of docs/reference/ceilings.md are answered, and that those at it
are not refused for it."""
import socket

import pytest

from controller import Controller
from fake_agent import FakeAgent
from test_api_basics import problem
from test_artifacts import TIMES, scenario

TEMPLATE = {"name": "t", "content_type": "text/plain"}


@pytest.fixture(scope="module")
def server():
    with Controller(**TIMES) as c:
        c.pool = c.api("POST", "/agent-pools", {"name": "pool"})["agent_pool"]
        c.api("POST", "/projects", {"name": "p"})
        c.api("POST", "/tests", a_test([[wait("caller")]]))
        yield c


def wait(role):
    return {"type": "wait", "role": role, "wait_ms": 10}


def a_test(steps, name="t"):
    return {"name": name, "project_id": 1, "agentpool_id": 1, "steps": steps}


def mean(count):
    return [{"role": "caller", "condition_type": "caller-mos-conditions",
             "conditions": [{"type": "ge", "value": "1"}] * count}]


# path, body, what the refusal names; None: it is not refused for the size
@pytest.mark.parametrize("path, body, said", [
    ("/tests", a_test([[wait("caller")]] * 32, "32 steps"), None),
    ("/tests", a_test([[wait("caller")]] * 33, "33 steps"), "32"),
    ("/tests", a_test([[wait("caller")] * 32], "32 actions"), None),
    ("/tests", a_test([[wait("caller")] * 33], "33 actions"), "32"),
    ("/tests", a_test([[wait("caller")]], "200 conditions") | {"conditions": mean(200)}, None),
    ("/tests", a_test([[wait("caller")]], "201 conditions") | {"conditions": mean(201)},
     "more than 200 conditions"),
    ("/tests", a_test([[wait(f"r{i}") for i in range(32)]], "32 roles"), None),
    ("/tests", a_test([[wait(f"r{i}") for i in range(32)], [wait("r32")]], "33 roles"), "32 roles"),
    ("/tests/1/run", {f"k{i}": 1 for i in range(4096)}, "k0"),
    ("/tests/1/run", {f"k{i}": 1 for i in range(4097)}, "more than 4096 keys"),
    ("/projects/1/run", {"test_ids": [1] * 10001}, "10000"),
    ("/users", {"name": "a", "rights": "read", "password": "xy" * 512}, None),
    ("/users", {"name": "b", "rights": "read", "password": "xy" * 512 + "z"}, "1024"),
    ("/callback-templates", TEMPLATE | {"body": "x" * 65536}, None),
    ("/callback-templates", TEMPLATE | {"name": "u", "body": "x" * 65537}, "65536"),
    ("/credential-pools", {"name": "a", "credentials": [{"username": "u"}] * 10001}, "10000"),
    ("/targets", {"name": "a", "domain": "d", "hosts": [{"host": "192.0.2.1"}] * 17}, "16")])
def test_requests(server, path, body, said):
    answer = server.request("POST", path, body)
    if said is None:
        assert answer.status_code == 201, answer.text
    else:
        errors = problem(answer, 422)["errors"]
        assert any(said in e["detail"] + e["pointer"] for e in errors), errors


def test_errors_of_an_answer(server):
    body = {"name": "a", "credentials": [{}] * 150}
    assert len(problem(server.request("POST", "/credential-pools", body), 422)["errors"]) == 100


@pytest.mark.parametrize("length, detail", [(70, "a part of the body has no name"), (71, "without a boundary")])
def test_boundary_of_a_form(server, length, detail):
    """What is wrong with the part is said where the boundary was read."""
    boundary = "b" * length
    answer = server.request("POST", "/projects", headers={
        "Content-Type": f"multipart/form-data; boundary={boundary}"},
        data=f"--{boundary}\r\nX: y\r\n\r\nz\r\n--{boundary}--\r\n")
    assert detail in problem(answer, 422)["detail"]


@pytest.mark.parametrize("capacity, status", [(10000, 201), (10001, 422)])
def test_capacity(server, capacity, status):
    answer = FakeAgent(server, auth=("1", "x")).post("/register", {
        "token": server.pool["join_token"], "name": f"agent {capacity}", "version": "1",
        "protocols": [1], "capacity": capacity}, auth=None)
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize("count, status", [(20000, 200), (20001, 422)])
def test_items_of_an_upload(server, count, status):
    agent = FakeAgent(server, server.pool["join_token"], f"agent of {count}")
    session = scenario(server, server.pool)
    job, = agent.jobs(1).values()
    assert job["session_id"] == session and agent.start(job).ok
    answer = agent.upload(job, "events", [{"t": 1, "mono": 1, "kind": "x"}] * count, 1)
    assert answer.status_code == status, answer.text
    assert (status == 422) == ("at most 20000 objects" in answer.text)
    assert agent.finish(job, last_seq=0 if status == 422 else 1).ok


@pytest.mark.parametrize("sent", [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: x\r\n"])
def test_headers_have_a_time(brief, sent):
    host, port = brief.url[7:].rsplit(":", 1)
    with socket.create_connection((host, int(port)), 60) as s:
        s.sendall(sent)
        assert s.recv(100) == b""  # closed, without an answer
    brief.session.close()  # its kept connections have waited as long: one could be closed under the request
    assert brief.request("GET", "/projects").ok


@pytest.fixture(scope="module")
def brief():
    with Controller(header_timeout_s=1) as c:
        yield c

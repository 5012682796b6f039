"""The server in operation: long polls, stopping, misbehaving clients."""
import socket
import threading
import time

import pytest
import requests

from controller import Controller
from test_api_basics import problem

POLLS = 40  # ten times the number of workers


@pytest.fixture
def server():
    with Controller(poll_s=50, workers=4, claim_timeout_s=300) as c:
        yield c


def enrol(server, name, pool=None):
    """@return (agent id, secret)"""
    if pool is None:
        pool = server.api("POST", "/agent-pools", {"name": name})["agent_pool"]
    answer = server.api("POST", "/agent/register", {
        "token": pool["join_token"], "name": name, "version": "test",
        "protocols": [1], "features": [], "capacity": 4}, key=None)
    return answer["agent_id"], answer["secret"]


class Poll(threading.Thread):
    def __init__(self, server, agent):
        super().__init__(daemon=True)
        self.url = f"{server.url}/api/v2/agent/poll"
        self.agent = agent
        self.answer = self.error = None

    def run(self):
        try:
            self.answer = requests.post(
                self.url, auth=self.agent, timeout=100,
                json={"free": 4, "cursor": "", "leases": [],
                      "draining": False})
        except requests.RequestException as error:
            self.error = error


def start_polls(server, agents):
    """One of each: an agent's later poll ends its earlier one."""
    polls = [Poll(server, agent) for agent in agents]
    for p in polls:
        p.start()
    # parked: no poll has a response, and the log shows none as served
    until = time.monotonic() + 60
    while time.monotonic() < until:
        shown = server.api("GET", "/agents")["agents"]
        if shown and all(a["state"] == "online" for a in shown):
            break
        time.sleep(0.05)
    time.sleep(0.5)
    return polls


def make_test(server):
    pool = server.api("POST", "/agent-pools", {"name": "p"})["agent_pool"]
    project = server.api("POST", "/projects", {"name": "p"})["project"]["id"]
    target = server.api("POST", "/targets", {
        "name": "t", "hosts": [{"host": "127.0.0.1", "port": 9}]})["target"]
    users = server.api("POST", "/credential-pools", {
        "name": "u", "credentials": [{"username": "1"}]})["credential_pool"]
    test = server.api("POST", "/tests", {
        "name": "t", "project_id": project, "agentpool_id": pool["id"],
        "steps": [[{"type": "register", "role": "caller",
                    "credential_pool": users["id"],
                    "target_pool": target["id"]}]]})["test"]
    return pool, test


def test_parked_polls_occupy_no_worker(server):
    polls = start_polls(server, [enrol(server, f"a{n}") for n in range(POLLS)])
    assert all(p.answer is None and p.error is None for p in polls)
    for _ in range(20):
        assert server.request("GET", "/projects").ok
    assert server.stop() == 0
    for p in polls:
        p.join(60)
        assert p.error is None and p.answer.status_code in (200, 204), p.error


def test_new_run_wakes_a_poll(server):
    pool, test = make_test(server)
    agent = enrol(server, "a", pool)
    poll = start_polls(server, [agent])[0]
    assert poll.answer is None
    server.api("POST", f"/tests/{test['id']}/run", {})
    poll.join(40)  # well before poll_s
    assert poll.answer.status_code == 200
    assert poll.answer.json()["jobs"][0]["role"] == "caller"


def test_run_is_stopped(server):
    _, test = make_test(server)
    run = server.api("POST", f"/tests/{test['id']}/run", {})["data"]
    path = f"/runs/{run['session_id']}"
    assert run["status_url"] == f"{server.url}/api/v2{path}/status"
    problem(server.request("DELETE", path), 409)
    server.api("POST", f"{path}/stop")
    until = time.monotonic() + 60
    while time.monotonic() < until:
        state = server.api("GET", f"{path}/status")["run"]
        if state["status"] != "running":
            break
        time.sleep(0.1)
    assert state["status"] == "stopped"
    assert (state["has_passed"], state["is_failed"],
            state["is_finished"]) == (0, 0, 1)
    problem(server.request("POST", f"{path}/stop"), 409)
    assert server.request("DELETE", path).status_code == 204
    problem(server.request("POST", f"{path}/stop"), 404)


def test_keys_and_agents_are_not_mixed(server):
    agent = enrol(server, "a")
    problem(server.request("GET", "/projects", key=agent), 401)
    answer = server.request("POST", "/agent/poll", {"free": 1, "cursor": "",
                                                    "leases": []})
    problem(answer, 401)
    problem(server.request("POST", "/agent/poll", {},
                           key=(agent[0], "wrong")), 401)


@pytest.mark.parametrize("member, value", [
    ("free", "1"), ("leases", {}), ("draining", 1), ("draining", None), ("cursor", 0),
    ("t", [{}]), ("t", 1.5), ("t", None)])
def test_a_poll_of_another_kind_is_refused(server, member, value):
    agent = enrol(server, "wrong")
    answer = server.request("POST", "/agent/poll", {"free": 1, member: value}, key=agent)
    problem(answer, 422)
    assert [e["pointer"] for e in answer.json()["errors"]] == [f"/{member}"]


def test_a_poll_with_too_many_leases_says_so(server):
    agent = enrol(server, "crowded")
    answer = server.request("POST", "/agent/poll", {"free": 0, "leases": [0] * 10001}, key=agent)
    problem(answer, 422)
    assert answer.json()["errors"] == [
        {"pointer": "/leases", "detail": "has more than 10000 entries"}]


def connect(server):
    host, port = server.url[7:].rsplit(":", 1)
    return socket.create_connection((host, int(port)), 60)


def test_clients_that_go_away(server):
    agent = enrol(server, "a")
    head = b"POST /api/v2/agent/poll HTTP/1.1\r\nHost: x\r\n"
    auth = requests.Request(
        "POST", server.url, auth=agent).prepare().headers["Authorization"]
    full = head + f"Authorization: {auth}\r\n".encode() + \
        b"Content-Type: application/json\r\n"
    body = b'{"free":1,"cursor":"","leases":[],"draining":false}'
    for data in (b"", b"GE", head, head + b"Content-Length: 100\r\n\r\nabc",
                 full + b"Content-Length: %d\r\n\r\n" % len(body) + body,
                 b"\x00\xff\r\n\r\n", b"GET " + b"/" * 100000):
        s = connect(server)
        try:
            s.sendall(data)
        except OSError:
            pass  # refused before the whole request was sent
        time.sleep(0.05)
        s.close()
    assert server.request("GET", "/projects").ok
    assert server.stop() == 0


def test_requests_on_one_connection(server):
    request = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with connect(server) as s:
        s.sendall(request * 3)
        data = b""
        while data.count(b'{"status":200}') < 3:
            piece = s.recv(65536)
            assert piece, data
            data += piece
    assert data.count(b"HTTP/1.1 200") == 3


def test_deprecated_route_names_its_successor(server):
    test = make_test(server)[1]["id"]
    answer = server.request("POST", "/tests/run", {"test.name": "t"})
    assert answer.status_code == 200, answer.text
    assert "Deprecation" in answer.headers
    assert answer.headers["Link"] == \
        f'</api/v2/tests/{test}/run>; rel="successor-version"'

"""Every route of the table requires its right; keys expire."""
import datetime
import time

import pytest

from controller import Controller
from test_api_basics import problem

ORDER = ["read", "run", "write", "admin"]


@pytest.fixture(scope="module")
def server():
    c = Controller()
    for right in ORDER[:3]:
        c.create_key(right, right)
    with c:
        yield c


def routes(server):
    """(method, path, right) of every route, with ids of no record."""
    found = []
    for e in server.api("GET", "/")["endpoints"]:
        path = "/".join("999999" if p.startswith(":") else p
                        for p in e["url"].split("/"))
        found += [(m, path, e["rights"][m]) for m in e["methods"]]
    return found


def test_every_route_needs_credentials(server):
    table = routes(server)
    assert len(table) > 60
    for method, path, right in table:
        if right != "none":
            problem(server.request(method, path, key=None), 401)
            problem(server.request(method, path, key=("ok_0", "x")), 401)


def test_every_route_needs_its_right(server):
    agents = 0
    for method, path, right in routes(server):
        if right in ORDER:
            for less in ORDER[:ORDER.index(right)]:
                problem(server.request(method, path, key=less), 403)
            answer = server.request(method, path, key=right)
            assert answer.status_code not in (401, 403), (method, path)
        elif right == "agent":
            agents += 1
            problem(server.request(method, path, key="admin"), 401)
    assert agents >= 10


def new_key(server, **fields):
    key = server.api("POST", "/api-keys", {"name": "k", "rights": "admin", **fields})["api_key"]
    return key["id"], (key["public_key"], key["secret"])


def test_key_expires_while_it_is_used(server):
    end = datetime.datetime.utcnow() + datetime.timedelta(seconds=5)
    _, pair = new_key(server, expires_at=end.strftime("%Y-%m-%d %H:%M:%S"))
    assert server.request("GET", "/projects", key=pair).ok
    until = time.monotonic() + 30
    while server.request("GET", "/projects", key=pair).ok:
        assert time.monotonic() < until
        time.sleep(0.1)
    problem(server.request("GET", "/projects", key=pair), 401)


def test_use_is_noted(server):
    number, pair = new_key(server)
    assert server.api("GET", f"/api-keys/{number}")["api_key"]["last_used_at"] is None
    assert server.request("GET", "/projects", key=pair).ok
    assert server.api("GET", f"/api-keys/{number}")["api_key"]["last_used_at"]


def test_key_deletes_itself(server):
    number, pair = new_key(server)
    assert server.request("DELETE", f"/api-keys/{number}", key=pair).status_code == 204
    problem(server.request("GET", "/projects", key=pair), 401)

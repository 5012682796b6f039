"""A capacity search with two controllers on one PostgreSQL database: either of them moves it on."""
import re

import pytest

import postgresql
from bench import Bench, Logged
from ports import PortBlock
from test_capacity import Phone
from test_capacity_search import LIMIT, QUICK, over, read, until
from test_several_controllers import beside


@pytest.fixture
def pair(tmp_path):
    server = postgresql.server()
    name = server.create()
    ports = PortBlock()
    with Bench(tmp_path, ports, proxy=False, database=server.uri(name)) as b, \
            Phone(ports.phone, ports.relay[0], LIMIT) as phone, beside(b.controller, Logged) as other:
        b.phone, b.other = phone, other
        b.test = b.api("POST", "/tests", {
            "name": "calls of a phone", "project_id": b.project_id, "agentpool_id": b.pool_id,
            "steps": [[{"type": "call", "role": "caller", "dial_destination": "1002",
                        "target_pool": b.target(ports.phone), "credential_pool": b.callers}]]})["test"]["id"]
        yield b
    ports.close()
    server.drop(name)


def test_no_trial_is_made_twice_and_the_other_one_goes_on(pair):
    number = pair.other.api("POST", "/capacity-searches", {"test_id": pair.test, **QUICK})["capacity_search"]["id"]
    def numbered(search):
        """Trials that the controllers said they started."""
        logs = "".join(c.log() for c in (pair.controller, pair.other))
        return sorted(int(n) for n in re.findall(rf"capacity_search={search['uuid']} trial=(\d+) run=", logs))

    # a trial is in the database before the log tells of it
    until(pair, number, lambda s: len(s["trials"]) >= 3 and len(numbered(s)) == len(s["trials"]))
    pair.other.kill()
    before = len(read(pair, number)["trials"])
    search = until(pair, number, over)
    assert search["status"] == "done" and search["trial_count"] > before
    assert search["result"]["lower"] <= LIMIT <= search["result"]["upper"]
    assert pair.api("GET", "/runs?count=1")["total"] == len(search["trials"])
    assert numbered(search) == list(range(1, len(search["trials"]) + 1)), numbered(search)
    pair.other.start()

"""An agent of an earlier version with today's controller (docs/reference/versions.md).

test_replayed sends what such an agent sent in a run. test_real runs one, where OFFHOOK_OLDER_AGENT names its program, and
writes what it sent to the file of OFFHOOK_OLDER_RECORD (docs/internals/testing.md).
"""
import json
import os
import re
import socket
import threading
import time
from pathlib import Path

import pytest
import requests

from bench import Bench, state_condition
from controller import Controller

RECORDED = Path(__file__).with_name("older_agent.json")
LEASE = re.compile(r"^/leases/([0-9a-f-]{36})")
TIMES = {"interval_s": 1, "poll_s": 1, "renew_s": 60, "lease_s": 600}


class Recorder:
    """A relay that keeps requests of agents: [method, path, body], and the role of each lease."""

    def __init__(self, url):
        host, port = url.removeprefix("http://").rsplit(":", 1)
        self.upstream = host, int(port)
        self.requests, self.roles = [], {}
        self.server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"http://127.0.0.1:{self.server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            client, _ = self.server.accept()
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    @staticmethod
    def _message(stream):
        """(first line, all bytes of the head, body)"""
        head, length = b"", 0
        while not head.endswith(b"\r\n\r\n"):
            line = stream.readline()
            if not line:
                raise OSError("closed")
            head += line
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return head.split(b"\r\n")[0].decode(), head, stream.read(length)

    def _serve(self, client):
        with client, socket.create_connection(self.upstream) as server:
            ours, theirs = client.makefile("rwb"), server.makefile("rwb")
            try:
                while True:
                    first, head, body = self._message(ours)
                    method, target = first.split(" ")[:2]
                    path = target.removeprefix("/api/v2/agent")
                    if "/artifacts/" not in path:
                        self.requests.append([method, path, json.loads(body) if body else None])
                    theirs.write(head + body)
                    theirs.flush()
                    _, head, body = self._message(theirs)
                    if path == "/poll" and body:
                        for job in json.loads(body).get("jobs", []):
                            self.roles[job["lease_id"]] = job["role"]
                    ours.write(head + body)
                    ours.flush()
            except (OSError, ValueError):
                pass


def ended(c, session):
    until = time.monotonic() + 120
    while not (run := c.api("GET", f"/runs/{session}")["run"])["is_finished"]:
        assert time.monotonic() < until, run
        time.sleep(0.1)
    return run


@pytest.mark.skipif("OFFHOOK_OLDER_AGENT" not in os.environ, reason="OFFHOOK_OLDER_AGENT names no program")
def test_real(tmp_path, ports):
    """It joins, registers two accounts, and carries out both sides of a call, with figures, SIP and artifacts."""
    with Bench(tmp_path, ports, agents=0) as bench:
        from agent import Agent
        pool = bench.api("POST", "/agent-pools", {"name": "older"})["agent_pool"]
        recorder = Recorder(bench.controller.url)
        agent = Agent(tmp_path, recorder.url, pool["join_token"], ports.rtp, name="older")
        agent.program = Path(os.environ["OFFHOOK_OLDER_AGENT"])
        agent.start()
        try:
            bench.agents.append(agent)
            bench._agent_count, bench.pool_id = 1, pool["id"]
            bench.wait_online()
            run, report = bench.run(bench.single_call(duration=5))
            assert run["status"] == "passed", (run, agent.log()[-4000:])
            assert len(report["calls"]) == 2 and report["series"]
            version = bench.api("GET", "/agents")["agents"][0]["version"]
        finally:
            agent.close()
    print("agent", version)
    if "OFFHOOK_OLDER_RECORD" in os.environ:
        Path(os.environ["OFFHOOK_OLDER_RECORD"]).write_text(
            json.dumps({"roles": recorder.roles, "requests": recorder.requests}, indent=0) + "\n")


class Replay:
    def __init__(self, c, token, recorded):
        self.url, self.auth = f"{c.url}/api/v2/agent", None
        first = recorded["requests"]
        register = next(body for _, path, body in first if path == "/register")
        answer = self.send("POST", "/register", {**register, "token": token})
        assert answer.status_code == 201 and answer.json()["protocol"] == 1, answer.text
        self.auth = answer.json()["agent_id"], answer.json()["secret"]
        self.poll = next(body for _, path, body in first if path == "/poll")
        self.of_role = {recorded["roles"][lease]: [r for r in first if (m := LEASE.match(r[1])) and m[1] == lease]
                        for lease in recorded["roles"]}
        self.wrong = []

    def send(self, method, path, body):
        return requests.request(method, self.url + path, json=body, auth=self.auth, timeout=60)

    def jobs(self, count):
        found, until = [], time.monotonic() + 60
        while len(found) < count:
            assert time.monotonic() < until, "no job is offered"
            answer = self.send("POST", "/poll", self.poll)
            assert answer.status_code in (200, 204), answer.text
            found += answer.json()["jobs"] if answer.status_code == 200 else []
        return found

    def carry_out(self, job):
        for method, path, body in self.of_role[job["role"]]:
            if path.endswith("/start") and body and "epoch" in body:
                body = {**body, "epoch": job["epoch"]}
            answer = self.send(method, LEASE.sub(f"/leases/{job['lease_id']}", path), body)
            if not answer.ok:
                self.wrong.append(f"{method} {path}: {answer.status_code} {answer.text}")
                return


def test_replayed():
    """Every request that the older agent made in a run is taken today, and the run is judged by what it told."""
    recorded = json.loads(RECORDED.read_text())
    with Controller(**TIMES) as c:
        pool = c.api("POST", "/agent-pools", {"name": "pool"})["agent_pool"]
        agent = Replay(c, pool["join_token"], recorded)
        project = c.api("POST", "/projects", {"name": "p"})["project"]["id"]
        target = c.api("POST", "/targets", {"name": "t", "domain": "127.0.0.1", "hosts": [
            {"host": "127.0.0.1", "port": 5060, "transport": "udp"}]})["target"]["id"]
        accounts = {role: c.api("POST", "/credential-pools", {"name": role, "credentials": [
            {"username": user, "password": "secret"}]})["credential_pool"]["id"]
                    for role, user in (("callee", "1002"), ("caller", "1001"))}
        register = {role: {"type": "register", "role": role, "target_pool": target, "credential_pool": accounts[role]}
                    for role in accounts}
        test = c.api("POST", "/tests", {
            "name": "t", "project_id": project, "agentpool_id": pool["id"], "record": "sip",
            "steps": [[register["callee"], {"type": "answer", "role": "callee"}],
                      [register["caller"], {"type": "call", "role": "caller", "max_total_calls": 1,
                                            "dial_destination": "1002", "call_duration": 5}]],
            "conditions": [state_condition(role, "REGISTER_OK", "CALL_ESTABLISHED") for role in accounts]})["test"]["id"]
        session = c.api("POST", f"/tests/{test}/run", {})["data"]["session_id"]
        at_once = [threading.Thread(target=agent.carry_out, args=(job,)) for job in agent.jobs(2)]
        for thread in at_once:
            thread.start()
        for thread in at_once:
            thread.join()
        assert not agent.wrong
        run = ended(c, session)
        assert run["status"] == "passed", run
        report = c.session.get(f"{c.url}/run/details/{session}/data", auth=c.keys["admin"], timeout=60).json()
        assert len(report["calls"]) == 2 and all(call["established"] for call in report["calls"])
        assert {s["measure"] for s in report["series"]} >= {"rtp_mos", "rtp_jitter"}

"""A controller, an agent and a proxy, with the resources for a single call."""
import re
import time
from contextlib import ExitStack

import leaks
import sip_witness
from agent import Agent
from controller import Controller
from peers import SUBSCRIBERS, Kamailio

# Short intervals, but long enough that a busy machine loses no lease. FAULTS: shorter
# ones, for tests in which an agent disappears (noticed after lease_s) or no agent takes
# a run (after claim_timeout_s).
QUICK = {"interval_s": 1, "poll_s": 5, "renew_s": 2, "lease_s": 30,
         "claim_timeout_s": 30, "max_duration_s": 150}
FAULTS = {"lease_s": 6, "claim_timeout_s": 5}
CALLEE, CALLER = "1002", "1001"


class Logged(Controller):
    """A controller whose log is kept when its directory is removed."""

    last_log = ""

    def close(self):
        if self.process:
            self.kill()
        self.last_log = self.log()
        super().close()


class Bench:
    """with Bench(tmp_path, ports) as b: run = b.run(b.single_call(duration=10))"""

    def __init__(self, folder, ports, relay=None, agents=1, proxy=True,
                 subscribers=None, agent_conf=None, controller=None, **conf):
        self.folder, self.ports, self.relay = folder, ports, relay
        self._conf = {**QUICK, **conf}
        self._agent_count, self._with_proxy = agents, proxy
        self._subscribers, self._agent_conf = subscribers, agent_conf or {}
        self._make_controller = controller or Logged
        self._stack = ExitStack()
        self.agents = []
        self._numbers = iter(range(1, 1000))

    def __enter__(self):
        try:
            if self._with_proxy:
                self._stack.enter_context(
                    Kamailio(self.folder, self.ports.sip, self.relay,
                             self._subscribers))
            self.controller = self._stack.enter_context(self._make_controller(**self._conf))
            pool = self.api("POST", "/agent-pools", {"name": "pool"})["agent_pool"]
            self.pool_id, token = pool["id"], pool["join_token"]
            url = self.controller.url
            if url.startswith("http:"):  # so that the agents' exchanges are checked
                url = self.controller.witness().url
            for number in range(self._agent_count):
                self.agents.append(Agent(self.folder, url, token,
                                         self.ports.rtp, name=f"agent{number}",
                                         **self._agent_conf))
                self._stack.callback(self.agents[-1].close)
                self.agents[-1].start()
            self.wait_online()
            self.project_id = self.api(
                "POST", "/projects", {"name": "project"})["project"]["id"]
            self.target_id = self.target(self.ports.sip)
            self.callees = self.credentials("callees", {CALLEE: SUBSCRIBERS[CALLEE]})
            self.callers = self.credentials("callers", {CALLER: SUBSCRIBERS[CALLER]})
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, kind, value, traceback):
        if not kind and self.controller.process:
            self._note_messages()
        self._stack.__exit__(kind, value, traceback)
        leaked = leaks.search(self.controller.secrets,
                              [p for a in self.agents for p in (a.state_dir, a.log_file) if p.exists()])
        assert not leaked, f"secrets in an agent's files: {leaked}"
        # Includes engines, whose output is in the agent's log.
        for log in [self.controller.last_log] + [a.log() for a in self.agents]:
            assert not re.search(r"Sanitizer|runtime error:", log), log[-6000:]
        for agent in self.agents:
            assert agent.attacked or "the sandbox refused" not in agent.log(), agent.log()[-6000:]

    def _note_messages(self):
        """Note the SIP messages of the engines; they are checked at the end of the test
        file."""
        for run in self.api("GET", "/runs?count=1000")["runs"]:
            answer = self.controller.session.get(
                f"{self.controller.url}/run/details/{run['session_id']}/sip.txt",
                auth=self.controller.keys["admin"], timeout=60)
            if answer.status_code == 200:
                sip_witness.note(sip_witness.sent_of_text(answer.content))

    def api(self, method, path, body=None):
        return self.controller.api(method, path, body)

    def wait_online(self, timeout=60):
        """Wait until every agent is enrolled and polls."""
        deadline = time.monotonic() + timeout
        while True:
            agents = self.api("GET", "/agents")["agents"]
            if sum(a["state"] == "online" for a in agents) >= self._agent_count:
                return
            for agent in self.agents:
                assert agent.process.poll() is None, "the agent ended:\n" + agent.log()
            assert time.monotonic() < deadline, f"agents are not online: {agents}"
            time.sleep(0.1)

    # ---- resources ----

    def target(self, port, transport="udp"):
        return self.api("POST", "/targets", {
            "name": f"target {next(self._numbers)}", "domain": "127.0.0.1",
            "hosts": [{"host": "127.0.0.1", "port": port,
                       "transport": transport}]})["target"]["id"]

    def credentials(self, name, passwords):
        return self.api("POST", "/credential-pools", {
            "name": f"{name} {next(self._numbers)}",
            "credentials": [{"username": u, "password": p}
                            for u, p in passwords.items()]})["credential_pool"]["id"]

    def single_call(self, duration, conditions=None, callers=None, target=None, **call):
        """A test of two steps: register and answer, register and call."""
        target = target or self.target_id
        if conditions is None:
            conditions = [state_condition(role, "REGISTER_OK", "CALL_ESTABLISHED")
                          for role in ("caller", "callee")]
        return self.api("POST", "/tests", {
            "name": f"test {next(self._numbers)}", "project_id": self.project_id,
            "scenario": "single-call", "agentpool_id": self.pool_id, "record": "sip",
            "steps": [
                [{"type": "register", "role": "callee", "target_pool": target,
                  "credential_pool": self.callees},
                 {"type": "answer", "role": "callee"}],
                [{"type": "register", "role": "caller", "target_pool": target,
                  "credential_pool": callers or self.callers},
                 {"type": "call", "role": "caller", "max_total_calls": 1,
                  "dial_destination": CALLEE, "call_duration": duration, **call}]],
            "conditions": conditions})["test"]["id"]

    # ---- runs ----

    def start(self, test_id, overrides=None):
        """Start a run. @return its session id"""
        data = self.api("POST", f"/tests/{test_id}/run", overrides or {})["data"]
        return data["session_id"]

    def wait(self, session, timeout=120):
        """Wait for the end of a run. @return the run object"""
        deadline = time.monotonic() + timeout
        while True:
            run = self.api("GET", f"/runs/{session}/status")["run"]
            if run["status"] != "running":
                return run
            assert time.monotonic() < deadline, \
                f"still running after {timeout} s: {self.api('GET', f'/runs/{session}')}"
            time.sleep(0.3)

    def run(self, test_id, overrides=None, timeout=60):
        """Start a run and wait for its end. @return (run object, report)"""
        session = self.start(test_id, overrides)
        return self.wait(session, timeout), self.report(session)

    def report(self, session):
        """The data behind the report page (docs/reference/report.md)."""
        answer = self.controller.session.get(
            f"{self.controller.url}/run/details/{session}/data",
            auth=self.controller.keys["admin"], timeout=30)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def wait_for_media(self, session, points=3, timeout=60):
        """Wait until this many data points of received RTP are stored."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            got = self.points(session, "rtp_pkt_per_sec", "caller", "in")
            if len(got) >= points:
                return got
            time.sleep(0.3)
        raise AssertionError("no media came: " + str(self.report(session)["run"]))

    def points(self, session, measure, role, direction):
        return self.api("GET", f"/runs/{session}/stats/{measure}"
                               f"?role={role}&dir={direction}")["stats_data"]


def state_condition(role, *states):
    return {"role": role, "condition_type": f"{role}-sipclient-state-conditions",
            "conditions": [{"type": "has", "state": s} for s in states], "options": []}


def stream(report, role, direction):
    """The only stream of a role's only call in a direction."""
    calls = [c for c in report["calls"] if c["role"] == role]
    assert len(calls) == 1, calls
    found = [s for s in calls[0]["streams"] if s["dir"] == direction]
    assert len(found) == 1, calls[0]["streams"]
    return found[0]


def evidence(report, role):
    found = [e for e in report["evidence"] if e["role"] == role]
    assert len(found) == 1, found
    return found[0]


def assert_no_flaws(report):
    """Assert that the tester itself was not the bottleneck."""
    assert report["flaws"] == []
    for e in report["evidence"]:
        assert e["send_errors"] == e["ring_drops"] == e["receive_queue_drops"] == 0, e

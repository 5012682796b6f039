#!/usr/bin/python3
"""Fill a controller's state with a record of every kind and keep it as a fixture.

    OFFHOOK_BUILD=DIR python3 tests/e2e/make_state.py tests/e2e/state/NUMBER

NUMBER is the schema of the programs in DIR. test_schema.py brings the fixture forward; it is
made once, with the programs that are then replaced (docs/internals/testing.md, "Migrations").

    offhook.sql     the database, a text dump
    master.key      its key: what is encrypted in the dump opens with it alone
    artifacts/ appimages/   as in state_dir
    answers.json    what the API answered about it, and the secrets a client had
"""
import json
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bench import Bench  # noqa: E402
from fake_agent import FakeAgent, evidence, good_call, point, registered  # noqa: E402
from ports import PortBlock  # noqa: E402
from receiver import Receiver  # noqa: E402
from test_api_project_runs import Lab  # noqa: E402
from test_login import Browser  # noqa: E402

BASE_URL = "http://offhook.test"
PASSWORD = "correct horse battery"
CALLBACK_SECRET = "signs the bodies"
SIP_PASSWORD = "a password of SIP"
MARKUP = "<b>grün & 'blue'</b>"
RESOURCES = ("projects", "targets", "credential-pools", "agent-pools", "agents", "tests",
             "callback-templates", "callbacks", "schedules", "appimages", "api-keys", "users",
             "runs")


class Filling:
    """Makes the records."""

    def __init__(self, bench):
        self.bench, self.c = bench, bench.controller
        self.lab = None
        self.secrets = {"keys": self.c.keys, "password": PASSWORD,
                        "callback_secret": CALLBACK_SECRET, "sip_password": SIP_PASSWORD}
        self.project_runs = []
        self.live = []   # runs that have not ended when the state is stored

    def api(self, method, path, body=None, **more):
        return self.c.api(method, path, body, **more)

    def fill(self):
        self.people()
        self.real_call()
        self.plain_records()
        with Receiver(500, 200) as r, Receiver(404) as refuses:
            self.runs(r, refuses)
        self.agent_of_its_own()
        self.schedules()
        self.unfinished()

    def people(self):
        for right in ("admin", "write", "run", "read"):
            self.api("POST", "/users", {"name": f"user {right}", "rights": right,
                                        "password": PASSWORD})
        self.api("POST", "/api-keys", {"name": "until 2099", "rights": "read",
                                       "expires_at": "2099-01-01 00:00:00"})
        for name in ("user admin", "user read"):
            assert Browser(self.c).login(name).status_code == 200

    def real_call(self):
        """A call of a real agent: its events, messages and metrics."""
        self.bench.wait(self.bench.start(self.bench.single_call(duration=3),
                                         {"report.mode": "kiosk"}))
        self.bench.agents[0].stop()
        self.api("PUT", f"/agent-pools/{self.bench.pool_id}", {"name": "real"})

    def plain_records(self):
        self.lab = Lab(self.c)
        make = self.lab.make
        make("projects", name=MARKUP, description="A description\nof two lines")
        make("targets", name="tls", domain="example.org", outbound_proxy="sip:127.0.0.2:5070;lr",
             hosts=[{"host": "127.0.0.1", "port": 5061, "transport": "tls"},
                    {"host": "::1", "port": 5060, "transport": "tcp"}])
        self.credentials = make("credential-pools", name="with all members", credentials=[
            {"username": "1001", "password": SIP_PASSWORD, "auth_username": "auth1001",
             "domain": "example.org", "display_name": "Grün", "extension": "77"},
            {"username": "1002"}])
        self.template = make("callback-templates", name="template", method="PUT",
                             content_type="text/plain", body="{{test_name}} is {{status}}")
        for kind in ("application", "prompt"):
            self.api("POST", "/appimages", {
                "name": kind, "version": "1.2", "kind": kind, "content": "UklGRgAAAAA=",
                "filename": f"{kind}.wav"})

    def runs(self, receiver, refuses):
        lab = self.lab
        told = {"callback_on_failure": 1, "callback_secret": CALLBACK_SECRET}
        project, tests = lab.project("passed", "failed", "error")
        retried = lab.test(project, "retried", "failed", retries_on_failure=1, **told,
                           callback_url=receiver.url, callback_template_name="template")
        refused = lab.test(project, "refused", "failed", **told, callback_url=refuses.url)
        held = lab.test(project, "held", "hold")
        after = lab.test(project, "after", "passed")
        with lab.worker():
            for test in (*tests, retried, refused):
                self.start(test)
            stopped = self.start(held)
            time.sleep(1)
            self.api("POST", f"/runs/{stopped}/stop")
            answer = self.c.request("POST", f"/tests/{tests[0]}/run",
                                    headers={"Idempotency-Key": "once"})
            assert answer.status_code == 200
            for body in ({"test_ids": tests[:2], "report.mode": "kiosk"}, {"test_ids": tests[:1]}):
                run = self.api("POST", f"/projects/{project}/run", body)["project_run_uuid"]
                self.project_runs.append(run)
                lab.ended(run)
            lab.waits_for(lambda: len(self.ended_callbacks()) == 2, 120)
            lab.waits_for(lambda: not self.api(
                "GET", "/runs?filtername=is_finished&filterval=0")["runs"], 60)
            # one that is stopped before its second test
            run = self.api("POST", f"/projects/{project}/run", {"test_ids": [held, after]})
            run = run["project_run_uuid"]
            lab.waits_for(lambda: lab.status(run)["tests_started"] == 1)
            self.api("POST", f"/projects/runs/{run}/stop")
            lab.ended(run)
            self.project_runs.append(run)
        self.project, self.tests = project, tests

    def ended_callbacks(self):
        return [c for c in self.api("GET", "/callbacks")["callbacks"] if c["ended_at"]]

    def start(self, test, **overrides):
        return self.api("POST", f"/tests/{test}/run", overrides)["data"]["session_id"]

    def agent_of_its_own(self):
        """Upload everything that an agent can, with conditions that pass and that fail."""
        pool = self.api("POST", "/agent-pools", {
            "name": "laboratory", "description": "two racks"})["agent_pool"]
        self.pool = pool
        agent = self.agent = FakeAgent(self.c, pool["join_token"], "rack 1")
        self.secrets["agent"] = agent.auth
        self.secrets["join_token"] = pool["join_token"]
        self.judged = self.lab.make(
            "tests", name="judged " + MARKUP, project_id=self.project, agentpool_id=pool["id"],
            description="both verdicts", tags=["nightly", "Grün"], scenario="single-call",
            record="media", steps=[
                [{"type": "register", "role": "callee", "target_pool": self.lab.target,
                  "credential_pool": self.credentials}, {"type": "answer", "role": "callee"}],
                [{"type": "register", "role": "caller", "target_pool": self.lab.target,
                  "credential_pool": self.credentials},
                 {"type": "call", "role": "caller", "max_total_calls": 1}]],
            conditions=[{"role": role, "condition_type": f"{role}-sipclient-state-conditions",
                         "conditions": [{"type": "has", "state": state}], "options": []}
                        for role, state in (("caller", "CALL_ESTABLISHED"),
                                            ("callee", "CALL_FAILED"))])
        self.start(self.judged, **{"report.mode": "kiosk"})
        jobs = agent.jobs(2)
        # confirmed and at the barriers in parallel, as two roles are
        def role(name, account, peer, out):
            job = jobs[name]
            assert agent.start(job).ok
            for step in (0, 1):
                while (answer := agent.barrier(job, step)).status_code == 204:
                    pass
                assert answer.ok, answer.text
            now = int(time.time() * 1000)
            assert agent.upload(job, "events", registered(account)).ok
            assert agent.upload(job, "events", good_call(name, account, peer, out)).ok
            assert agent.upload(job, "events", [evidence()]).ok
            assert agent.upload(job, "stats", [
                point(name, now // 1000 + i, 1.5 + i / 3) for i in range(3)]).ok
            answer = agent.artifact(job, "notes.txt", f"of {name}".encode())
            assert answer.ok, answer.text
            assert agent.finish(job).ok

        threads = [threading.Thread(target=role, args=args) for args in (
            ("caller", "1001", "1002", True), ("callee", "1002", "1001", False))]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.lab.waits_for(lambda: not self.api(
            "GET", "/runs?filtername=is_finished&filterval=0")["runs"])

    def schedules(self):
        """Schedules that have ended and that are enabled, of a test and of a project.
        The future ones are later than all tests of this state."""
        make = self.lab.make
        soon = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() + 3))
        once = make("schedules", name="once", test_id=self.tests[0], run_at=soon)
        with self.lab.worker():
            self.lab.waits_for(lambda: [
                r for r in self.api("GET", f"/schedules/{once}")["schedule"]["history"]
                if r["outcome"] == "started"])
            self.lab.waits_for(lambda: not self.api(
                "GET", "/runs?filtername=is_finished&filterval=0")["runs"])
        make("schedules", name="yearly", project_id=self.project, test_ids=self.tests,
             tags=["all"], cron="0 3 29 2 *", timezone="Europe/Berlin", overlap="wait",
             missed="skip", report_mode="kiosk")
        make("schedules", name="disabled", test_id=self.tests[1], cron="*/5 * * * *", enabled=0,
             overlap="parallel")
        make("schedules", name="far", test_id=self.tests[1], run_at="2099-01-01 00:00:00")

    def unfinished(self):
        """A run whose roles are active, one that waits for an agent, and a project run."""
        self.live.append(self.start(self.judged))
        for job in self.agent.jobs(2).values():
            assert self.agent.start(job).ok
        waits = self.lab.make("agent-pools", name="nobody there")
        test = self.lab.make(
            "tests", name="waits", project_id=self.project, agentpool_id=waits, retries_on_failure=1,
            steps=[[{"type": "register", "role": "caller", "target_pool": self.lab.target,
                     "credential_pool": self.credentials}]])
        self.live.append(self.start(test))
        self.api("POST", f"/projects/{self.project}/run", {"test_ids": [test]})
        # the one that the project run started
        self.lab.waits_for(lambda: len(self.open_runs()) == 3)
        self.live = self.open_runs()

    def open_runs(self):
        return [r["session_id"] for r in self.api(
            "GET", "/runs?filtername=is_finished&filterval=0")["runs"]]

    def paths(self):
        """The requests that are repeated after a migration."""
        found = []
        for base in RESOURCES:
            name = base.replace("-", "_")
            listed = self.api("GET", f"/{base}?count=1000")[name]
            assert listed, base
            for record in listed:
                if base == "runs":
                    if record["session_id"] in self.live:
                        continue
                    run = record["session_id"]
                    found += [f"/runs/{run}", f"/runs/{run}/status", f"/runs/{run}/callbacks",
                              f"/runs/{run}/artifacts", f"/runs/{run}/stats"]
                    found += [f"/runs/{run}/stats/{m}" for m in self.measures(run)]
                else:
                    found.append(f"/{base}/{record['id']}")
        found += [f"/projects/runs/{uuid}/status" for uuid in self.project_runs]
        return found

    def measures(self, run):
        def walk(node):
            if isinstance(node, dict):
                for key, value in node.items():
                    if key == "measure" and isinstance(value, str):
                        yield value
                    yield from walk(value)
            elif isinstance(node, list):
                for value in node:
                    yield from walk(value)
        return sorted(set(walk(self.api("GET", f"/runs/{run}/stats"))))

    def files(self):
        """(path of the API or page, text)"""
        for record in self.api("GET", "/appimages")["appimages"]:
            yield f"/api/v2/appimages/{record['id']}/content"
        for run in self.api("GET", "/runs?count=1000")["runs"]:
            run = run["session_id"]
            if run in self.live:
                continue
            yield f"/run/details/{run}/data"
            yield f"/run/details/{run}/sip.txt"
            yield f"/run/details/{run}/stats.csv"
            for a in self.api("GET", f"/runs/{run}/artifacts")["artifacts"]:
                yield f"/api/v2/runs/{run}/artifacts/{a['role']}/{a['name']}"

    def answers(self):
        def text(path):
            answer = self.c.session.get(self.c.url + path, auth=self.c.keys["admin"], timeout=60)
            return [answer.status_code, answer.text]
        return {"secrets": self.secrets, "live": self.live, "conf": {"base_url": BASE_URL},
                "answers": {path: self.api("GET", path) for path in self.paths()},
                "files": {path: text(path) for path in self.files()}}


def keep(c, answers, out):
    """Write the fixture from a state that no process has open."""
    out.mkdir(parents=True)
    with sqlite3.connect(c.state_dir / "offhook.db") as db:
        # not included in a dump
        assert db.execute("PRAGMA user_version").fetchone() == (0,)
        assert db.execute("PRAGMA application_id").fetchone() == (0,)
        assert db.execute("PRAGMA encoding").fetchone() == ("UTF-8",)
        tables = [r[0] for r in db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        empty = [t for t in tables if not db.execute(f'SELECT 1 FROM "{t}" LIMIT 1').fetchone()]
        assert not empty, f"no rows in {empty}"
        (out / "offhook.sql").write_text("".join(f"{line}\n" for line in db.iterdump()))
    db.close()
    shutil.copy(c.state_dir / "master.key", out)
    for name in ("artifacts", "appimages"):
        shutil.copytree(c.state_dir / name, out / name)
    (out / "answers.json").write_text(
        json.dumps(answers, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def main():
    out = Path(sys.argv[1])
    ports = PortBlock()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), ports, base_url=BASE_URL, callback_allow="127.0.0.1",
                      callback_retry_s=1, callback_timeout_s=2, offer_s=20)
        with bench:
            filling = Filling(bench)
            filling.fill()
            answers = filling.answers()
            bench.controller.stop()
            keep(bench.controller, answers, out)
    print(f"kept in {out}")


if __name__ == "__main__":
    main()

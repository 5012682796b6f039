"""Controllers with a record of each kind, for test_contract.py."""
import concurrent.futures
import contextlib
import itertools
import secrets
import time

import requests

from certificates import Authority
from controller import Controller
from fake_agent import FakeAgent, point, registered

T0 = 1_700_000_000
QUICK = {"poll_s": 1, "renew_s": 20, "lease_s": 60, "claim_timeout_s": 300, "body_limit": "512K", "upload_limit": "512K"}
UPLOAD_BYTES = 512 << 10

# The members that a record of each kind needs besides its name.
NEEDS = {
    "projects": {},
    "targets": {"hosts": [{"host": "127.0.0.1"}]},
    "credential-pools": {"credentials": [{"username": "1001", "password": "secret"},
                                         {"username": "1002"}]},
    "agent-pools": {},
    "api-keys": {"rights": "read"},
    "appimages": {"content": "AAAA", "kind": "prompt"},
    "callback-templates": {"body": "{{test_name}}"},
    "users": {"rights": "read", "password": "correct horse battery"},
    "schedules": {"test_id": 1, "cron": "0 3 * * *", "enabled": 0},
}


def test_steps(prompt):
    pools = {"credential_pool": 1, "target_pool": 1}
    return [[{"type": "register", "role": "callee", **pools},
             {"type": "answer", "role": "callee", "prompt": prompt}],
            [{"type": "register", "role": "caller", **pools},
             {"type": "call", "role": "caller", "max_total_calls": 1}]]


test_steps.__test__ = False


def member(base):
    return base.replace("-", "_").removesuffix("s")


def seed(c):
    """Create the records number 1 that the examples refer to. @return token of pool 2"""
    for base in ("projects", "targets", "credential-pools", "agent-pools", "callback-templates"):
        made = c.api("POST", f"/{base}", {"name": "standing", **NEEDS[base]})
        assert made[member(base)]["id"] == 1
    c.api("POST", "/users", {"name": "standing", **NEEDS["users"], "rights": "admin"})
    c.api("POST", "/appimages", {"name": "used", **NEEDS["appimages"]})
    c.api("POST", "/tests", {"name": "Single call", "project_id": 1, "agentpool_id": 1,
                             "tags": ["nightly"], "steps": test_steps("used"),
                             "callback_template_name": "standing"})
    c.api("POST", "/schedules", {"name": "standing", **NEEDS["schedules"]})
    pool = c.api("POST", "/agent-pools", {"name": "with agents"})["agent_pool"]
    c.api("POST", "/tests", {"name": "one role", "project_id": 1, "agentpool_id": pool["id"],
                             "steps": [[{"type": "register", "role": "caller",
                                         "credential_pool": 1, "target_pool": 1}]]})
    c.api("POST", "/tests", {"name": "with a prompt", "project_id": 1, "agentpool_id": pool["id"],
                             "steps": [[{"type": "call", "role": "caller", "prompt": "used",
                                         "dial_destination": "1", "credential_pool": 1,
                                         "target_pool": 1}]]})
    return pool["join_token"]


class Lab:
    """Test 1 is in a pool without agents; test 2 has one role, for `agent`; test 3 too, which
    plays a prompt."""

    body_limit = UPLOAD_BYTES  # above the limit of any operation

    def __init__(self):
        self.c = Controller(**QUICK)
        self.names = (f"fresh {n}" for n in itertools.count(1))

    def __enter__(self):
        for right in ("read", "run", "write"):
            self.c.create_key(right, right)
        self.c.start()
        self.token = seed(self.c)
        self.agent = FakeAgent(self.c, self.token, "agent", capacity=1000)
        idle = self.c.api("POST", "/agent-pools", {"name": "idle"})["agent_pool"]
        self.idle_token = idle["join_token"]
        self.done = self._run_to_the_end()
        self._callback_to_the_end()
        self.project_run = self.start_project_run()
        self.search = self.ended_search()
        return self

    def __exit__(self, *exc):
        self.c.__exit__(*exc)

    # ---- records ----

    def create(self, base, name=None, **more):
        """@return the number of a new record"""
        name = name or next(self.names)
        if base == "agents":
            return self.new_agent(name).auth[0]
        if base == "tests":
            body = {"project_id": 1, "agentpool_id": 1, "steps": test_steps("used")}
        else:
            body = NEEDS[base]
        return self.c.api("POST", f"/{base}", {"name": name, **body, **more})[member(base)]["id"]

    def remove(self, base, number):
        self.c.request("DELETE", f"/{base}/{number}")

    def remove_named(self, base, name):
        for record in self.c.api("GET", f"/{base}?count=1000")[base.replace("-", "_")]:
            if record["name"] == name:
                self.remove(base, record["id"])

    def new_agent(self, name=None):
        return FakeAgent(self.c, self.idle_token, name or next(self.names))

    def prompt_of_standing_test(self):
        return 1

    def standing_id(self, base):
        if base == "capacity-searches":
            return self.search
        return self.agent.auth[0] if base == "agents" else 1

    def standing(self, o):
        """Path parameters of existing records."""
        if o.path.startswith("/projects/runs/"):
            return {"uuid": self.project_run}
        if o.path.startswith("/runs/"):
            return {"id": self.done, "sid": self.done, "measure": "rtp_jitter",
                    "role": "caller", "name": "notes.txt"}
        if o.path == "/agent/appimages/{sha256}":
            return {"sha256": self.c.api("GET", "/appimages/1")["appimage"]["sha256"]}
        return {"id": self.standing_id(o.path.split("/")[1]), "tid": 2, "measure": "rtp_jitter",
                "name": "single-call"}

    def own_names(self, body):
        """The body with unused names, for operations that find a record by name."""
        if "test.name" in body.get("json", {}):
            body["json"] = {**body["json"], "test.name": "nobody"}
        return body

    @contextlib.contextmanager
    def place(self, o, body):
        """Path parameters and body with which the operation succeeds.

        What it created is removed afterwards."""
        parts = o.path.split("/")
        base, last = parts[1], parts[-1]
        if o.path == "/agent/appimages/{sha256}":
            with self.job(3):
                yield self.standing(o), body
        elif o.method == "GET":
            yield self.standing(o), body
        elif base == "capacity-searches":
            number = self.search
            if "{id}" in o.path:
                number = self.started_search() if last == "stop" else self.ended_search()
            yield {"id": number}, body
            self.stop_searches()
        elif base == "runs":
            number = self.ended() if o.path == "/runs/{id}" else \
                self.started(**({"report.mode": "kiosk"} if last == "kiosk" else {}))
            yield {"id": number}, body
            self.stop_all()
        elif last in ("run", "stop", "kiosk") or parts[2:3] == ["scenarios"]:
            yield {"id": 1, "name": "single-call",
                   "uuid": self.start_project_run(last) if "{uuid}" in o.path else ""}, body
            self.stop_all()
        elif "{id}" in o.path or last in ("update", "delete"):
            number = self.create(base)
            yield {"id": number}, with_id(body, number)
            self.remove(base, number)
        else:
            yield {}, body
            self.remove_named(base, example_name(body))

    # ---- runs ----

    def started(self, test=1, **overrides):
        return self.c.api("POST", f"/tests/{test}/run", overrides)["data"]["session_id"]

    def start_project_run(self, what="stop"):
        mode = "kiosk" if what == "kiosk" else "full"
        return self.c.api("POST", "/projects/1/run", {"test_ids": [1], "report.mode": mode}
                          )["project_run_uuid"]

    def started_search(self):
        return self.c.api("POST", "/capacity-searches", {"test_id": 1, "min": 1, "max": 9}
                          )["capacity_search"]["id"]

    def ended_search(self):
        number = self.started_search()
        self.c.api("POST", f"/capacity-searches/{number}/stop")
        self.wait_for_search(number)
        return number

    def wait_for_search(self, number):
        until = time.monotonic() + 60
        path = f"/capacity-searches/{number}"
        while self.c.api("GET", path)["capacity_search"]["status"] == "running":
            assert time.monotonic() < until
            time.sleep(0.02)

    def stop_searches(self):
        for search in self.c.api("GET", "/capacity-searches?count=1000")["capacity_searches"]:
            if search["status"] == "running":
                self.c.request("POST", f"/capacity-searches/{search['id']}/stop")
                self.wait_for_search(search["id"])

    def stop_all(self):
        query = "/runs?filtername=is_finished&filterval=0&count=1000"
        for run in self.c.api("GET", query)["runs"]:
            self.c.request("POST", f"/runs/{run['id']}/stop")

    def wait_for(self, run):
        until = time.monotonic() + 60
        while self.c.api("GET", f"/runs/{run}/status")["run"]["status"] == "running":
            assert time.monotonic() < until
            time.sleep(0.02)
        return run

    def ended(self):
        run = self.started()
        self.c.api("POST", f"/runs/{run}/stop")
        return self.wait_for(run)

    def _run_to_the_end(self):
        self.started(2, **{"report.mode": "kiosk"})
        job = self.agent.jobs(1)["caller"]
        assert self.agent.start(job).ok
        assert self.agent.barrier(job, 0).ok
        assert self.agent.upload(job, "events", registered("1001")).ok
        assert self.agent.upload(job, "stats", [
            point("caller", T0 + 10 * i, 1.5 + i) for i in range(3)]).ok
        assert self.agent.artifact(job, "notes.txt", b"what an agent left").ok
        assert self.agent.finish(job).ok
        return self.wait_for(job["session_id"])

    def _callback_to_the_end(self):
        """Wait for the end of callback 1: it was refused, as this controller allows no
        address."""
        self.started(2, callback_url="http://localhost/")
        job = self.agent.jobs(1)["caller"]
        assert self.agent.start(job).ok
        assert self.agent.finish(job, "failed", "x").ok
        until = time.monotonic() + 60
        while not any(b["ended_at"] for b in self.c.api("GET", "/callbacks")["callbacks"]):
            assert time.monotonic() < until
            time.sleep(0.02)

    @contextlib.contextmanager
    def job(self, test=2):
        """An offer to the agent; its run is stopped at the end."""
        run = self.started(test)
        job = self.agent.jobs(1)["caller"]
        yield job
        self.c.request("POST", f"/runs/{run}/stop")
        self.agent.finish(job, "stopped")
        self.agent.held = []
        self.wait_for(run)

    def until_overlap(self, method, path, key, body):
        """Repeat until one of several requests with the same Idempotency-Key arrives
        while the first is in progress."""
        def one(name):
            return requests.request(method, f"{self.c.url}/api/v2{path}", json=body, auth=key,
                                    timeout=60, headers={"Idempotency-Key": name}).status_code
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            for i in range(100):
                if 409 in list(pool.map(one, [f"{path} {i}".replace(" ", "-")] * 12)):
                    return

    @contextlib.contextmanager
    def other_key_file(self):
        """A controller whose key file was replaced: its passwords cannot be decrypted."""
        c = Controller()
        try:
            c.start()
            seed(c)
            c.stop()
            files = [f for f in c.state_dir.iterdir() if f.stat().st_size == 65]
            assert len(files) == 1, files
            files[0].write_text(secrets.token_hex(32) + "\n")
            c.create_key()
            c.start()
            yield c
        finally:
            c.close()


def with_id(body, number):
    """The body with the record's number, if it names a record."""
    body = {k: (v.copy() if isinstance(v, (dict, list)) else v) for k, v in body.items()}
    if "id" in body.get("json", {}):
        body["json"]["id"] = number
    if isinstance(body.get("data"), dict) and "id" in body["data"]:
        body["data"]["id"] = str(number)
    if "files" in body:
        body["files"] = [(k, (None, str(number)) if k == "id" else v) for k, v in body["files"]]
    return body


def example_name(body):
    if "files" in body:
        return dict(body["files"])["name"][1]
    return (body.get("json") or body["data"])["name"]


@contextlib.contextmanager
def without_database():
    """A controller whose tables were dropped: it cannot even look up an API key."""
    c = Controller(**QUICK)
    try:
        c.start()
        token = seed(c)
        agent = FakeAgent(c, token, "agent")
        c.stop()
        c.start()  # which reads them
        db = c.open_database()
        for table in ("api_key", "agent", "agent_pool"):
            db.execute(f"ALTER TABLE {table} RENAME TO lost_{table}")
        db.commit()
        db.close()
        c.agent_auth = agent.auth
        c.registration = {
            "token": token, "name": "other", "version": "1", "protocols": [1]}
        yield c
    finally:
        c.close()


@contextlib.contextmanager
def without_rate():
    """A controller that accepts one request per second and key."""
    with Controller(**{**QUICK, "rate_limit": 1, "rate_burst": 1}) as c:
        yield c


@contextlib.contextmanager
def asks_for_certificates(folder):
    """A controller with TLS that asks agents for client certificates."""
    authority = Authority(folder)
    certificate, key = authority.issue("server")
    with Controller(tls_certificate_file=certificate, tls_key_file=key,
                    agent_ca_file=authority.file, **QUICK) as c:
        c.session.trust_env = False  # an environment variable would override verify
        c.session.verify = str(authority.file)
        yield c

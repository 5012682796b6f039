"""Files that agents upload to a run: uploaded, stored, listed, read, deleted."""
import contextlib
import hashlib
import http.client
import os
import stat
import subprocess
import time
from pathlib import Path

import pytest
import requests

from agent import Agent
from controller import Controller
from fake_agent import FakeAgent, registered
from test_api_basics import problem
from test_api_project_runs import TIMES

NOBODY = "00000000-0000-4000-8000-000000000000"


def scenario(c, pool):
    return c.api("POST", "/tests/scenarios/registration", {
        "agentpool_id": pool["id"], "target": "sip:127.0.0.1", "username": "1001",
        "password": "x"})["data"]["session_id"]


class Bench:
    """A controller and an agent that holds one job at a time."""

    def __init__(self, **conf):
        self.c = Controller(**{**TIMES, **conf})
        self.c.create_key()
        for right in ("read", "run"):
            self.c.create_key(right, right)
        self.c.start()
        self.pool = self.c.api("POST", "/agent-pools", {"name": "p"})["agent_pool"]
        self.agent = FakeAgent(self.c, self.pool["join_token"], "agent")

    def job(self):
        scenario(self.c, self.pool)
        job, = self.agent.jobs(1).values()
        assert self.agent.start(job).ok
        return job

    def end(self, job):
        assert self.agent.upload(job, "events", registered("1001")).ok
        assert self.agent.finish(job).ok
        until = time.monotonic() + 60
        while self.c.api("GET", f"/runs/{job['session_id']}/status")["run"]["status"] == "running":
            assert time.monotonic() < until
            time.sleep(0.02)

    def listed(self, job):
        return self.c.api("GET", f"/runs/{job['session_id']}/artifacts")["artifacts"]

    def content(self, job, name, key="read"):
        return self.c.request(
            "GET", f"/runs/{job['session_id']}/artifacts/{job['role']}/{name}", key=key)

    def folder(self, job):
        return self.c.state_dir / "artifacts" / job["session_id"]

    def files(self, job):
        return sorted(self.folder(job).iterdir()) if self.folder(job).exists() else []


@pytest.fixture(scope="module")
def bench():
    # the fixture job holds its lease to the end of the file
    b = Bench(artifact_limit="64K", upload_limit="48K", lease_s=600)
    yield b
    b.c.__exit__(None, None, None)


def test_brought_listed_and_read(bench):
    job = bench.job()
    sound = os.urandom(5000)
    made = {"caller-1-in.wav": (sound, "audio/wav"), "rtp.pcap": (b"\xd4\xc3\xb2\xa1", None),
            "notes.txt": (b"<script>alert(1)</script>", "text/plain"), "empty": (b"", None),
            "page.html": (b"<html>", "application/octet-stream")}
    for name, (data, _) in made.items():
        answer = bench.agent.artifact(job, name, data)
        assert answer.status_code == 201, answer.text
        assert answer.json() == {"name": name, "size": len(data), "status": 201,
                                 "sha256": hashlib.sha256(data).hexdigest()}
    bench.end(job)
    rows = bench.listed(job)
    assert [r["name"] for r in rows] == sorted(made)
    for row in rows:
        data, kind = made[row["name"]]
        assert row["size"] == len(data) and row["role"] == job["role"]
        assert row["sha256"] == hashlib.sha256(data).hexdigest()
        answer = bench.content(job, row["name"])
        assert answer.content == data
        assert answer.headers["Content-Type"] == row["media_type"] == (kind or row["media_type"])
        assert answer.headers["ETag"] == f'"{row["sha256"]}"'
        assert answer.headers["Content-Disposition"] == f'attachment; filename="{row["name"]}"'
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    # also by the number of the run
    number = bench.c.api("GET", f"/runs/{job['session_id']}")["run"]["id"]
    assert bench.c.api("GET", f"/runs/{number}/artifacts")["total"] == len(made)
    page = bench.c.api("GET", f"/runs/{number}/artifacts?start=1&count=2")
    assert [r["name"] for r in page["artifacts"]] == sorted(made)[1:3] and page["total"] == 5
    for file in bench.files(job):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_same_name_again_takes_its_place(bench):
    job = bench.job()
    assert bench.agent.artifact(job, "a.txt", b"one").status_code == 201
    assert bench.agent.artifact(job, "a.txt", b"another").status_code == 200
    assert bench.content(job, "a.txt").content == b"another"
    assert len(bench.listed(job)) == len(bench.files(job)) == 1
    bench.end(job)
    # results are uploaded after the end, too
    assert bench.agent.artifact(job, "b.txt", b"late").status_code == 201
    assert bench.content(job, "b.txt").content == b"late"


@pytest.mark.parametrize("name", ["..", "../x", "..%2f..%2fx", "%2e%2e", ".x", "-x", "a%00b", "a%2fb",
                                  "a b", "x" * 101, "%ff", "a.part", "%0d%0aX-Y:%201", "é"])
def test_no_name_leads_elsewhere(bench, job, name):
    """The names are sent as they are, without the normalisation that requests would
    apply."""
    before = {p for p in bench.c.state_dir.rglob("*")}
    answer = bench.agent.session.send(raw(bench, job, name))
    assert answer.status_code in (400, 404, 422), answer.text
    assert {p for p in bench.c.state_dir.rglob("*")} - before == set()
    # the lease accepts valid names
    answer = bench.agent.session.send(raw(bench, job, "good"))
    assert answer.status_code in (200, 201), answer.text


@pytest.fixture(scope="module")
def job(bench):
    job = bench.job()
    assert bench.agent.artifact(job, "good", b"x").ok
    yield job
    bench.end(job)


def raw(bench, job, name):
    lease = job["lease_id"]
    r = requests.Request("PUT", bench.c.url, data=b"x", auth=bench.agent.auth,
                         headers={"Content-Type": "application/octet-stream"}).prepare()
    r.url = f"{bench.c.url}/api/v2/agent/leases/{lease}/artifacts/{name}"
    return r


def test_a_run_keeps_so_much(bench):
    job = bench.job()
    for i in range(2):
        assert bench.agent.artifact(job, f"{i}", b"x" * 30000).status_code == 201
    assert "artifact_limit" in problem(bench.agent.artifact(job, "2", b"x" * 30000), 413)["detail"]
    assert len(bench.files(job)) == 2
    # a file that replaces another is counted once
    assert bench.agent.artifact(job, "1", b"y" * 30000).status_code == 200
    problem(bench.agent.artifact(job, "1", b"y" * 40000), 413)
    assert bench.content(job, "1").content == b"y" * 30000
    # a file above upload_limit is refused whatever the run already has
    problem(bench.agent.artifact(job, "3", b"x" * 60000), 413)
    assert len(bench.listed(job)) == len(bench.files(job)) == 2
    bench.end(job)


def test_who_may(bench):
    job = bench.job()
    assert bench.agent.artifact(job, "a", b"x").ok
    path = f"/runs/{job['session_id']}/artifacts"
    for key, status in (("read", 200), ("run", 200), (None, 401), (("x", "y"), 401)):
        assert bench.c.request("GET", path, key=key).status_code == status
        assert bench.c.request("GET", f"{path}/{job['role']}/a", key=key).status_code == status
    # agents upload and cannot read; another agent cannot upload
    assert bench.c.request("GET", path, key=bench.agent.auth).status_code == 401
    other = FakeAgent(bench.c, bench.pool["join_token"], "other")
    problem(other.artifact(job, "b", b"x"), 404)
    lease = bench.c.request("PUT", f"/agent/leases/{job['lease_id']}/artifacts/b", data=b"x",
                            headers={"Content-Type": "application/octet-stream"})
    assert lease.status_code == 401
    for wrong in (f"/runs/{NOBODY}/artifacts", f"{path}/{job['role']}/b", f"{path}/nobody/a"):
        problem(bench.c.request("GET", wrong), 404)
    bench.end(job)
    assert len(bench.files(job)) == 1


def test_deleted_with_the_run(bench):
    job = bench.job()
    assert bench.agent.artifact(job, "a", b"x").ok
    bench.end(job)
    assert len(bench.files(job)) == 1
    assert bench.c.request("DELETE", f"/runs/{job['session_id']}").status_code == 204
    assert not bench.folder(job).exists()
    problem(bench.c.request("GET", f"/runs/{job['session_id']}/artifacts"), 404)
    problem(bench.agent.artifact(job, "b", b"x"), 404)
    assert not bench.folder(job).exists()


def test_offer_and_stopped_run(bench):
    """A job that was not confirmed accepts no files."""
    run = scenario(bench.c, bench.pool)
    job, = bench.agent.jobs(1).values()
    problem(bench.agent.artifact(job, "a", b"x"), 410)
    assert bench.c.request("POST", f"/runs/{run}/stop").ok
    assert bench.files(job) == []


def test_slow_client_sees_the_refusal(bench):
    """A body above the limit whose client waits for a 100 is refused before it is sent."""
    job = bench.job()
    host = bench.c.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.putrequest("PUT", f"/api/v2/agent/leases/{job['lease_id']}/artifacts/a")
    connection.putheader("Content-Type", "application/octet-stream")
    connection.putheader("Content-Length", "10000000")
    connection.putheader("Expect", "100-continue")
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()
    bench.end(job)


def test_left_overs_are_cleared_at_the_start():
    b = Bench()
    try:
        job = b.job()
        assert b.agent.artifact(job, "a", b"x").ok
        b.end(job)
        stray = b.c.state_dir / "artifacts" / NOBODY
        stray.mkdir()
        (stray / "x").write_bytes(b"of a run that is gone")
        b.c.stop()
        b.c.start()
        assert not stray.exists()
        assert b.content(job, "a").content == b"x"
    finally:
        b.c.__exit__(None, None, None)


def test_command_line(bench, build, tmp_path):
    job = bench.job()
    sound = os.urandom(30000)
    for name, data in (("a.wav", sound), ("b.txt", b"text")):
        assert bench.agent.artifact(job, name, data).ok
    bench.end(job)

    def offhook(*arguments, status=0):
        done = subprocess.run([build / "offhook", "artifact", *arguments], text=True, timeout=60,
                              capture_output=True, cwd=tmp_path, check=False, env={
                                  **os.environ, "OFFHOOK_URL": bench.c.witness().url,
                                  "OFFHOOK_KEY": ":".join(bench.c.keys["read"])})
        assert done.returncode == status, done.stdout + done.stderr
        return done.stderr if status else done.stdout

    run, role = job["session_id"], job["role"]
    rows = offhook("list", run).splitlines()
    assert rows[0].split() == ["role", "name", "media_type", "size", "created_at", "sha256"]
    assert rows[1].split()[:4] == [role, "a.wav", "audio/wav", "30000"] and len(rows) == 3
    assert offhook("save", run, "files").splitlines() == [f"files/{role}-a.wav", f"files/{role}-b.txt"]
    assert (tmp_path / "files" / f"{role}-a.wav").read_bytes() == sound
    assert (tmp_path / "files" / f"{role}-b.txt").read_bytes() == b"text"
    assert "File exists" in offhook("save", run, "files", status=3)
    assert (tmp_path / "files" / f"{role}-a.wav").read_bytes() == sound
    assert "no such run" in offhook("save", NOBODY, "other", status=3)
    # a lost file leaves no entry that looks like it
    for file in bench.files(job):
        if file.read_bytes() == b"text":
            file.unlink()
    assert "is lost" in offhook("save", run, "half", status=3)
    assert [f.name for f in (tmp_path / "half").iterdir()] == [f"{role}-a.wav"]
    for wrong in (["list"], ["save"], ["show", run], ["list", run, "x"], ["save", run, "a", "b"],
                  ["save", "../tests"]):
        offhook(*wrong, status=2)


ENGINE = Path(__file__).with_name("engine_of_files.py")


def test_an_agent_brings_what_its_engine_gives(ports, tmp_path):
    """The real agent with an engine that creates files and makes no calls.

    The files are in the run when it ends, and none is left behind. One is above the
    controller's limit: the run says so."""
    with Controller(**{**TIMES, "upload_limit": "3M"}) as c:
        pool = c.api("POST", "/agent-pools", {"name": "p"})["agent_pool"]
        agent = Agent(tmp_path, c.witness().url, pool["join_token"], ports.rtp, engine_program=ENGINE)
        with contextlib.closing(agent.start()):
            run = scenario(c, pool)
            until = time.monotonic() + 120
            while c.api("GET", f"/runs/{run}/status")["run"]["status"] == "running":
                assert time.monotonic() < until
                time.sleep(0.05)
            rows = c.api("GET", f"/runs/{run}/artifacts")["artifacts"]
            assert {r["name"]: r["size"] for r in rows} == {
                "small.txt": 12, "large.wav": 2 << 20, "empty": 0}
            large = c.request("GET", f"/runs/{run}/artifacts/{rows[0]['role']}/large.wav").content
            assert large == bytes(range(256)) * (2 << 12)
            report = c.session.get(f"{c.url}/run/details/{run}/data", auth=c.keys["admin"],
                                   timeout=60).json()
            assert [r["name"] for r in report["artifacts"]] == ["empty", "large.wav", "small.txt"]
            lost = {e["name"]: e["text"] for e in report["artifacts_lost"]}
            assert set(lost) == {"too-large.wav", "missing.wav", "../bad"}, lost
            assert "413" in lost["too-large.wav"]
            until = time.monotonic() + 30
            while list((agent.state_dir / "artifacts").iterdir()):
                assert time.monotonic() < until
                time.sleep(0.05)

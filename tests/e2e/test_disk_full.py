"""A full disk of the controller (SQLite) or of an agent: it is said, nothing is half done, and when there is room again
everything goes on by itself."""
import base64
import json
import os
import re
import sqlite3
import subprocess
import time

import fake_agent
from bench import QUICK, Bench, Logged, assert_no_flaws, evidence, stream
from capture import Capture
from fake_agent import FakeAgent, registered
from small_disk import SmallDisk
from test_api_basics import problem
from test_artifacts import scenario
from test_prompts import wav
from until import until

# While the disk of the controller is full, leases cannot be renewed.
LONG_LEASE = {"lease_s": 120, "offer_s": 5}
CHANGE = "the disk of the database is full: nothing was changed; repeat it when there is room"
FILE = "the disk of the controller is full: nothing was kept; repeat it when there is room"


class OnSmallDisk(Logged):
    """A controller whose state_dir is a small disk; its configuration and log are elsewhere."""

    def __init__(self, **conf):
        super().__init__(**conf)
        try:
            self.disk = SmallDisk(self.state_dir / "disk", "32m")
        except BaseException:
            super().close()
            raise
        self.conf["state_dir"] = self.disk.folder

    def open_database(self):
        return sqlite3.connect(self.disk.folder / "offhook.db", timeout=60)

    def close(self):
        if self.process:
            self.kill()
        self.disk.close()
        super().close()

    def check(self):
        """What the command says of the data of the stopped controller."""
        done = subprocess.run([self.program, "--config", self.conf_file, "check"], capture_output=True, text=True,
                              timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def files(self, below):
        folder = self.disk.folder / below
        return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())

    def refuse(self, *args, sentence=CHANGE, **kwargs):
        """A change while the disk is full."""
        self.disk.fill()
        assert_disk_full(self.request(*args, **kwargs), sentence)

    def fill(self):
        """Fill the disk until a change is refused: the log of the database (WAL) may have room at first.
        @return names of the projects that were made before"""
        made, end = [], time.monotonic() + 60
        while True:
            self.disk.fill()
            name = f"project {len(made)} of a full disk"
            answer = self.request("POST", "/projects", {"name": name})
            if answer.status_code != 201:
                assert_disk_full(answer)
                return made
            made.append(name)
            assert time.monotonic() < end, "no change is refused"


def assert_disk_full(answer, sentence=CHANGE):
    """A refusal of a change: for now, and with the reason."""
    said = problem(answer, 503)
    assert said["detail"] == sentence, said
    assert int(answer.headers["Retry-After"]) > 0


def projects(c):
    return {p["name"] for p in c.api("GET", "/projects?count=1000")["projects"]}


def assert_counted_once(bench, session):
    """Each second, packet, event and message of the call is there once."""
    report = bench.report(session)
    received, sent = stream(report, "callee", "in"), stream(report, "caller", "out")
    assert received["packets"] == sent["packets"] == evidence(report, "caller")["packets_sent"]
    assert received["lost"] == 0
    assert_no_flaws(report)
    for role in ("caller", "callee"):
        times = [p["time"] for p in bench.points(session, "rtp_pkt_per_sec", role, "in")]
        assert len(times) == len(set(times)) >= received["packets"] / 50 - 1, times
        packets = sum(float(p["avg"]) for p in bench.points(session, "rtp_pkt_per_sec", role, "in"))
        assert abs(packets - stream(report, role, "in")["packets"]) <= 100, packets
    messages = [json.dumps(m, sort_keys=True) for m in report["messages"]]
    assert len(messages) == len(set(messages)) > 10


def test_controller(tmp_path, ports):
    """Its disk is full while a call is up."""
    with Bench(tmp_path, ports, controller=OnSmallDisk, **LONG_LEASE) as bench:
        c = bench.controller
        empty = bench.api("POST", "/projects", {"name": "empty"})["project"]["id"]
        test = bench.single_call(duration=20)
        session = bench.start(test)
        bench.wait_for_media(session)
        made = c.fill()
        until(lambda: f"error: database: database or disk is full: {c.disk.folder}/offhook.db" in c.log(), c.log)
        c.refuse("DELETE", f"/projects/{empty}")
        c.refuse("POST", f"/tests/{test}/run", {})
        c.refuse("POST", f"/tests/{test}/run", {}, headers={"Idempotency-Key": "full"})
        c.refuse("POST", "/appimages", data={"name": "prompt", "kind": "prompt"},
                 files={"file": ("p.wav", wav(8000), "audio/wav")}, sentence=FILE)
        # where the file is a member of the body, its own file has no room
        c.refuse("POST", "/appimages", {"name": "prompt", "kind": "prompt", "filename": "p.wav",
                                        "content": base64.b64encode(wav(8000)).decode()}, sentence=FILE)
        assert c.files("appimages") == []
        # an upload of the agent was refused
        until(lambda: re.search(r" POST /api/v2/agent/leases/\S+/stats: 503 ", c.log()), c.log)
        # reading goes on
        run = bench.api("GET", f"/runs/{session}")["run"]
        assert run["session_id"] == session
        assert projects(c) == {"project", "empty", *made}
        assert bench.api("GET", "/runs")["total"] == 1
        assert bench.points(session, "rtp_pkt_per_sec", "caller", "in")
        assert bench.report(session)["run"]["session_id"] == session
        for page in ("/tests", "/runs", f"/run/details/{session}"):
            got = c.session.get(c.url + page, auth=c.keys["admin"], timeout=60)
            assert got.status_code == 200, (page, got.status_code, got.text)
        assert bench.api("GET", "/appimages")["appimages"] == []

        c.disk.make_room()
        until(lambda: c.request("POST", "/projects", {"name": "room"}).status_code == 201, c.log)
        run = bench.wait(session, timeout=120)
        assert run["status"] == "passed", run
        assert_counted_once(bench, session)
        assert projects(c) == {"project", "empty", *made, "room"}
        again, _ = bench.run(bench.single_call(duration=1))
        assert again["status"] == "passed", again
        assert c.stop() == 0
        assert "0 errors" in c.check()


def test_an_artifact(tmp_path):
    """A recording that an agent uploads is refused for now, and nothing of it is left; it may come later."""
    with OnSmallDisk(**{**QUICK, **LONG_LEASE}) as c:
        pool = c.api("POST", "/agent-pools", {"name": "p"})["agent_pool"]
        agent = FakeAgent(c, pool["join_token"], "agent")
        scenario(c, pool)
        job, = agent.jobs(1).values()
        assert agent.start(job).ok
        c.fill()
        sound = os.urandom(300_000)
        assert_disk_full(agent.artifact(job, "caller-1-in.wav", sound), FILE)
        c.disk.fill()
        assert_disk_full(agent.upload(job, "events", registered("1001"), seq=1))
        assert c.files("artifacts") == []
        assert "error: an upload was not kept: No space left on device" in c.log()
        # room for the upload, and not for the file that is kept
        c.disk.give(450_000)
        assert_disk_full(agent.artifact(job, "caller-1-in.wav", sound), FILE)
        assert "artifact caller-1-in.wav was not kept: No space left on device" in c.log()
        assert c.files("artifacts") == []

        c.disk.make_room()
        until(lambda: agent.artifact(job, "caller-1-in.wav", sound).status_code == 201, c.log)
        unregistering = {**registered("1001")[0], "state": "UNREGISTERING"}
        assert agent.upload(job, "events", [*registered("1001"), unregistering, fake_agent.evidence()], seq=1).ok
        assert agent.finish(job, last_seq=1).ok
        session = job["session_id"]
        until(lambda: c.api("GET", f"/runs/{session}/status")["run"]["status"] == "passed", c.log)
        assert [a["name"] for a in c.api("GET", f"/runs/{session}/artifacts")["artifacts"]] == ["caller-1-in.wav"]
        got = c.request("GET", f"/runs/{session}/artifacts/{job['role']}/caller-1-in.wav")
        assert got.content == sound
        assert c.stop() == 0
        assert "0 errors" in c.check()


def test_agent(tmp_path, ports):
    """Its disk is full while a call is up: the call goes on to its end, and the run says what is missing."""
    with SmallDisk(tmp_path / "small", "8m") as disk, \
            Bench(tmp_path, ports, agent_conf={"state_dir": disk.folder}, offer_s=5) as bench:
        agent, = bench.agents
        with Capture(tmp_path, ports.rtp) as capture:
            session = bench.start(bench.single_call(duration=12))
            bench.wait_for_media(session)
            disk.fill()
            run = bench.wait(session, timeout=120)
        assert run["status"] == "errored", run
        assert "the disk of the agent was full" in run["result_description"], run
        assert "the disk of state_dir is full: results are dropped until there is room" in agent.log()
        sent = [len(s.packets) for s in capture.streams().values()]
        assert len(sent) == 2 and min(sent) >= 12 * 50 * 0.93, sent
        # what was measured before is there
        assert len(bench.points(session, "rtp_pkt_per_sec", "caller", "in")) >= 3

        # it takes no other job, and says so; the job waits for it
        disk.fill()
        waits = bench.start(bench.single_call(duration=1))
        until(lambda: "cannot be taken: No space left on device" in agent.log(), agent.log)
        assert bench.api("GET", f"/runs/{waits}/status")["run"]["status"] == "running"
        disk.make_room()
        run = bench.wait(waits, timeout=120)
        assert run["status"] == "passed", run
        assert_no_flaws(bench.report(waits))
        until(lambda: not list((disk.folder / "spool").iterdir()), agent.log)

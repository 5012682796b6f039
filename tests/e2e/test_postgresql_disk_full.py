"""The disk of the PostgreSQL server is full: the controller says so, and goes on when there is room again.

The server is the test's own, on a small tmpfs; a ballast file takes what is left of it.
"""
import contextlib
import errno
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import pytest

import postgresql
import stored_points
from controller import Controller
from fake_agent import FakeAgent, evidence, registered
from small_disk import SmallDisk
from test_artifacts import scenario
from until import until

TIMES = {"poll_s": 1, "lease_s": 1200, "renew_s": 100, "claim_timeout_s": 600}
NO_SPACE = os.strerror(errno.ENOSPC)
FULL, AWAY = "the disk of the database is full", "the database does not answer"
ACCOUNTS = 900  # of a pool
# As in production: what the server says is on the disk is there. The WAL grows, as no checkpoint makes its files
# free for use again.
SETTINGS = {"fsync": "on", "full_page_writes": "on", "min_wal_size": "2MB", "max_wal_size": "1GB",
            "checkpoint_timeout": "1h", "shared_buffers": "'16MB'"}
EVENTS = [*registered("1001"), {**registered("1001")[0], "state": "UNREGISTERING"}, evidence()]
# No verdict is written until the trigger is dropped.
HOLD_VERDICTS = """
CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.phase = 'done' THEN RAISE lock_not_available; END IF; RETURN NEW; END $$;
CREATE TRIGGER hold BEFORE UPDATE ON run FOR EACH ROW EXECUTE FUNCTION hold()"""


class Disk(SmallDisk):
    """One with so many MB that the server's user can reach."""

    def __init__(self, size):
        self._dir = tempfile.TemporaryDirectory(prefix="offhook-disk-")
        os.chmod(self._dir.name, 0o711)
        super().__init__(Path(self._dir.name) / "disk", f"{size}m", mode="0755")

    def close(self):
        super().close()
        self._dir.cleanup()

    def place(self, name):
        """@return an empty folder of the server's user on it"""
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        shutil.chown(folder, "postgres", "postgres")
        return folder


@contextlib.contextmanager
def server_on(disk, data, wal):
    """A PostgreSQL server. @param data, wal  whether its data files and its WAL are on the disk"""
    with contextlib.ExitStack() as stack:
        folder, initdb = disk.place("data") if data else None, ["--data-checksums", "--wal-segsize=1"]
        if wal and not data:
            initdb.append(f"--waldir={disk.place('wal')}")
        elif data and not wal:
            other = stack.enter_context(tempfile.TemporaryDirectory(prefix="offhook-wal-"))
            shutil.chown(other, "postgres", "postgres")
            initdb.append(f"--waldir={other}/wal")
        server = postgresql.Server(folder, initdb, SETTINGS)
        stack.callback(server.close)
        server.start()
        stack.callback(server.process.send_signal, signal.SIGCONT)  # a test that failed may have stopped it
        yield server


def revive(server):
    """Start a server that has given up, as whoever makes room does: Debian's service does not by itself."""
    until(lambda: server.process.poll() is not None or server.is_ready(), "the server hangs")
    if server.process.poll() is not None:
        server.start()


def is_refused(answer, text):
    assert answer.status_code == 503 and int(answer.headers["Retry-After"]) > 0, answer.text
    assert text in answer.json()["detail"], answer.text
    return True


class Uploads(threading.Thread):
    """As an agent does: one upload after the other, each repeated until it is taken."""

    def __init__(self, agent, job):
        super().__init__(daemon=True)
        self._agent, self._job = agent, job
        self._end = threading.Event()
        self._random = random.Random(4711)
        self.sent = {}     # (measure, dir, t): values of the points that were taken
        self.taken = 0     # uploads
        self.refused = []  # answers
        self.failure = None
        self.start()

    def _points(self, seq, count=150):
        found = []
        for i in range(count):
            low, median, p75, p90, p95, high = sorted(self._random.uniform(0, 100) for _ in range(6))
            found.append({"role": self._job["role"], "dir": "in", "measure": "rtp_jitter",
                          "t": 1700000000 + seq * count + i, "n": seq, "min": low, "median": median, "avg": p75,
                          "p75": p75, "p90": p90, "p95": p95, "max": high, "stddev": self._random.uniform(0, 9)})
        return found

    def run(self):
        try:
            while not self._end.is_set():
                self._one(self.taken + 1)
        except Exception as e:  # the test's own thread raises it
            self.failure = e

    def _one(self, seq):
        points = self._points(seq)
        while not (answer := self._agent.upload(self._job, "stats", points, seq)).ok:
            assert is_refused(answer, "")
            self.refused.append(answer)
            time.sleep(0.2)
        self.sent.update({(p["measure"], p["dir"], p["t"]): p for p in points})
        self.taken = seq

    def more(self, count=5):
        """Wait until so many more are taken."""
        goal = self.taken + count
        until(lambda: self.failure or self.taken >= goal, "uploads are not taken")
        assert not self.failure, self.failure

    def end(self):
        self._end.set()
        self.join(120)
        assert not self.is_alive() and not self.failure, self.failure


class Lab:
    """A controller, and two runs in progress: results of one are uploaded all the time, those of the other are there."""

    def __init__(self, server):
        self.server = server
        self.name = server.create()
        self.c = Controller(database=server.uri(self.name), workers=4, **TIMES)
        self.made, self.count = set(), 0  # projects
        self.pools = 0

    def __enter__(self):
        try:
            self.c.start()
            pool = self.c.api("POST", "/agent-pools", {"name": "pool"})["agent_pool"]
            self.agent = FakeAgent(self.c, pool["join_token"], "a")
            self.runs = [scenario(self.c, pool) for _ in "ab"]
            self.jobs = list(self.agent.poll())
            while len(self.jobs) < 2:
                self.jobs += self.agent.poll()
            assert all(self.agent.start(job).ok for job in self.jobs)
            # a connection for the thread
            self.uploads = Uploads(FakeAgent(self.c, auth=self.agent.auth), self.jobs[0])
            self.uploads.more()
            assert self.agent.upload(self.jobs[1], "events", EVENTS).ok
        except BaseException:
            self.c.close()
            raise
        return self

    def __exit__(self, *_):
        self.c.close()

    def project(self):
        """Make one. @return the answer"""
        self.count += 1
        name = f"project {self.count}"
        answer = self.c.request("POST", "/projects", {"name": name})
        if answer.ok:
            self.made.add(name)
        return answer

    def accounts(self):
        """Make a pool of many rows. @return the answer"""
        self.count += 1
        answer = self.c.request("POST", "/credential-pools", {"name": f"pool {self.count}", "credentials": [
            {"username": f"{n}", "password": "p" * 40} for n in range(ACCOUNTS)]})
        self.pools += answer.ok
        return answer

    def test(self):
        """@return a test whose runs take much room"""
        accounts = self.accounts().json()["credential_pool"]["id"]
        target = self.c.api("POST", "/targets", {"name": "target", "hosts": [{"host": "127.0.0.1"}]})["target"]["id"]
        return self.c.api("POST", "/tests", {
            "name": "large", "project_id": self.project().json()["project"]["id"], "agentpool_id": 1, "steps": [[
                {"type": "register", "role": "caller", "target_pool": target, "credential_pool": accounts}]]})["test"]["id"]

    def projects(self):
        """@return their names; None: the database does not answer"""
        answer = self.c.request("GET", "/projects?count=1000")
        return {p["name"] for p in answer.json()["projects"]} if answer.ok else None

    def rows(self, sql):
        return int(self.server.sql(sql, self.name))

    def records(self):
        """@return how many there are of what a start makes"""
        return self.server.sql("SELECT (SELECT count(*) FROM test), (SELECT count(*) FROM run), (SELECT count(*) FROM lease), "
                               "(SELECT count(*) FROM audit WHERE outcome = 'changed')", self.name)

    def go_on(self):
        """Writing works, what was refused is repeated, and the runs end."""
        until(lambda: self.project().ok, "no project is made")
        until(lambda: self.accounts().ok, "no accounts are made")
        self.uploads.more()
        self.uploads.end()
        until(lambda: self.agent.upload(self.jobs[0], "events", EVENTS, self.uploads.taken + 1).ok, "no events are taken")
        until(lambda: self.agent.finish(self.jobs[0], last_seq=self.uploads.taken + 1).ok, "no job is finished")
        if self.jobs[1]["lease_id"] in self.agent.held:
            until(lambda: self.agent.finish(self.jobs[1]).ok, "no job is finished")
        for run in self.runs:
            until(lambda r=run: (a := self.c.request("GET", f"/runs/{r}")).ok and a.json()["run"]["is_finished"],
                  "a run does not end")
            ended = self.c.api("GET", f"/runs/{run}")["run"]
            assert ended["status"] == "passed", ended

    def check(self):
        """All that was acknowledged is there, once, and nothing is damaged. @return names of all projects"""
        with contextlib.closing(postgresql.Connection(self.server.uri(self.name))) as db:
            points = stored_points.read(db)
        stored = {(p.measure, p.dir, p.t): p for p in points}
        assert len(points) == len(stored) and stored.keys() == self.uploads.sent.keys()
        for key, p in self.uploads.sent.items():
            assert all(getattr(stored[key], name) == p[name] for name in ("n", *stored_points.VALUES))
        assert self.rows("SELECT count(*) FROM point_block") == self.uploads.taken
        # a change is one transaction, its entry in the audit log included
        there = self.projects()
        assert self.made <= there
        assert self.rows("SELECT count(*) FROM audit WHERE path = '/projects' AND outcome = 'changed'") == len(there)
        accounts = [int(n) for n in self.server.sql("SELECT count(*) FROM credential GROUP BY pool_id", self.name).split()]
        assert set(accounts) == {ACCOUNTS} and len(accounts) >= self.pools

        c = self.c
        assert c.stop() == 0
        # `check` reads SQLite: all rows are copied, and read once more for that
        for args in (["copy", c.conf["database"], "offhook.db"], ["check"]):
            done = subprocess.run([c.program, "--config", c.conf_file, *args], capture_output=True, text=True,
                                  check=False, timeout=300)
            assert done.returncode == 0, done
            c.conf.pop("database", None)
            c._write_conf()
        assert "0 errors" in done.stdout, done
        # tables and indexes agree; then every page
        self.server.run("pg_amcheck", "-h", self.server.dir, "-U", "offhook", "--install-missing", "--heapallindexed",
                        self.name)
        self.server.stop()
        self.server.run("pg_checksums", "--check", "-D", self.server.data)
        return there


def test_data_files_cannot_grow():
    """Changes are refused and say why, what is there can be read, nothing is half done."""
    with Disk(90) as disk, server_on(disk, data=True, wal=False) as server, Lab(server) as lab:
        c, uploads = lab.c, lab.uploads
        test = lab.test()
        server.sql(HOLD_VERDICTS, lab.name)
        assert lab.agent.finish(lab.jobs[1]).ok
        disk.fill()
        until(lambda: len(uploads.refused) > 3 or uploads.failure, "uploads are still taken")
        assert is_refused(uploads.refused[-1], FULL)
        for _ in range(3):
            assert lab.project().status_code in (201, 503)  # what is small may find room
            disk.fill()
            assert is_refused(lab.accounts(), FULL)
        # a start makes records of many tables: all or none
        before = lab.records()
        disk.fill()
        assert is_refused(c.request("POST", f"/tests/{test}/run"), FULL)
        assert lab.records() == before
        assert lab.agent.renew(lab.jobs[0]).status_code in (200, 503)
        poll = {"free": 0, "leases": lab.agent.held, "draining": False, "cursor": "", "t": 0}
        assert lab.agent.post("/poll", poll).status_code in (200, 204, 503)
        for path in ("/projects", "/runs", "/tests", "/agents", "/audit", "/overview", f"/runs/{lab.runs[0]}",
                     f"/runs/{lab.runs[0]}/stats/rtp_jitter"):
            assert c.request("GET", path).status_code == 200
        assert lab.projects() == lab.made
        assert NO_SPACE in re.search("error: database: 53100: could not extend file .*", c.log()).group()
        server.sql("DROP TRIGGER hold ON run", lab.name)
        until(lambda: f"runs could not be advanced: {NO_SPACE}" in c.log(), "the verdict is written")
        assert not any(c.api("GET", f"/runs/{run}")["run"]["is_finished"] for run in lab.runs)
        disk.make_room()
        lab.go_on()
        assert lab.check() == lab.made
        assert "PANIC" not in server.log_file.read_text() and "connection was lost" not in c.log()


@pytest.mark.parametrize("in_time", [True, False], ids=["room-in-time", "no-room-for-recovery"])
def test_wal_cannot_be_written(in_time):
    """The server panics: it ends all connections and recovers. It gives up if there is no room for that either. The
    controller answers 503 meanwhile, and connects again."""
    with Disk(40) as disk, server_on(disk, data=False, wal=True) as server, Lab(server) as lab:
        c, uploads = lab.c, lab.uploads
        disk.fill()
        if in_time:  # it sees the panic when there is room
            server.process.send_signal(signal.SIGSTOP)
        until(lambda: [lab.project(), lab.accounts()] and "PANIC" in server.log_file.read_text(), "the WAL is still written")
        until(lambda: uploads.refused or uploads.failure, "uploads are still taken")
        assert is_refused(uploads.refused[-1], AWAY)
        if in_time:
            assert is_refused(lab.project(), AWAY)
            disk.make_room()
            server.process.send_signal(signal.SIGCONT)
        else:
            until(lambda: server.process.poll() is not None or server.is_ready(), "the server hangs")
            if server.process.poll() is not None:
                assert is_refused(lab.project(), AWAY) and is_refused(c.request("GET", "/projects"), AWAY)
            disk.make_room()
            revive(server)
        lab.go_on()
        assert server.process.poll() is None
        lab.check()
        assert NO_SPACE in re.search("PANIC: .*", server.log_file.read_text()).group()
        assert "the connection was lost" in c.log() and "connected again" in c.log()


def test_one_disk_for_all():
    """As most servers are installed: what fails first is left open."""
    with Disk(120) as disk, server_on(disk, data=True, wal=True) as server, Lab(server) as lab:
        disk.fill()
        for _ in range(5):
            lab.project()
            until(lambda: not lab.accounts().ok, "accounts are still made")
        until(lambda: lab.uploads.refused or lab.uploads.failure, "uploads are still taken")
        disk.make_room()
        revive(server)
        lab.go_on()
        lab.check()
        assert NO_SPACE in server.log_file.read_text()

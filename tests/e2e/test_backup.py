"""Backup, restore and check of a controller's data."""
import contextlib
import hashlib
import os
import random
import shutil
import socket
import sqlite3
import subprocess
import tarfile
import threading
from pathlib import Path

import pytest

from controller import Controller
from fake_agent import FakeAgent, evidence, point, registered
from state import STATES, State, differences, dump
from until import until

TIMES = {"poll_s": 1, "renew_s": 2, "lease_s": 30, "offer_s": 60, "claim_timeout_s": 5}
LISTS = ("projects", "targets", "credential-pools", "agent-pools", "agents", "tests",
         "callback-templates", "callbacks", "schedules", "appimages", "api-keys", "users", "audit")
NUMBER = max(int(p.name) for p in STATES.iterdir())


def command(c, *words, env=None):
    c._write_conf()
    return subprocess.run([c.program, "--config", c.conf_file, *words], capture_output=True,
                          text=True, timeout=120, check=False, env=env)


def good(done):
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def refused(done, *shown):
    assert done.returncode == 1, done.stdout + done.stderr
    for text in shown:
        assert text in done.stdout + done.stderr
    return done.stdout + done.stderr


def files_of(folder):
    """{path: content} of the data; without what each start or command leaves anew."""
    return {p.relative_to(folder): p.read_bytes() for p in Path(folder).rglob("*")
            if p.is_file() and not p.name.endswith(".lock")
            and p.name not in ("controller.conf", "controller.log")}


def filled():
    """A controller that is not started, with a record of every kind."""
    c = Controller(callback_allow="127.0.0.1", callback_timeout_s=2, **TIMES)
    State(NUMBER).put(c)
    c._write_conf()
    return c


@pytest.fixture
def source():
    c = filled()
    yield c
    c.close()


@pytest.fixture
def empty(source):
    """Another controller, with the configuration and the master key of the first."""
    c = Controller(**{k: v for k, v in source.conf.items() if k not in ("state_dir", "port")})
    shutil.copy(source.state_dir / "master.key", c.state_dir)
    c.keys = dict(source.keys)
    c._write_conf()
    yield c
    c.close()


@pytest.fixture
def backup(source, tmp_path):
    file = tmp_path / "backup.tar"
    good(command(source, "backup", str(file)))
    return file


def everything(c, active=()):
    """{path: answer} of all that the API shows, without runs in progress."""
    shown = {f"/{name}": c.api("GET", f"/{name}?count=1000") for name in LISTS}
    for name in LISTS[:-1]:
        for record in shown[f"/{name}"][name.replace("-", "_")]:
            path = f"/{name}/{record['id']}"
            shown[path] = c.api("GET", path)
    for record in shown["/appimages"]["appimages"]:
        path = f"/appimages/{record['id']}/content"
        shown[path] = c.request("GET", path).content
    for run in c.api("GET", "/runs?count=1000")["runs"]:
        run = run["session_id"]
        if run in active:
            continue
        shown |= {path: c.api("GET", path) for path in (
            f"/runs/{run}", f"/runs/{run}/status", f"/runs/{run}/callbacks",
            f"/runs/{run}/artifacts", f"/runs/{run}/stats")}
        for a in shown[f"/runs/{run}/artifacts"]["artifacts"]:
            path = f"/runs/{run}/artifacts/{a['role']}/{a['name']}"
            shown[path] = c.request("GET", path).content
        for name in ("data", "sip.txt", "stats.csv"):
            path = f"/run/details/{run}/{name}"
            answer = c.session.get(c.url + path, auth=c.keys["admin"], timeout=60)
            assert answer.ok
            shown[path] = answer.json() if name == "data" else answer.text
    return shown


class Ingest(threading.Thread):
    """An agent that uploads points and files of a run until it is told to stop."""

    def __init__(self, agent, job):
        super().__init__()
        self.agent, self.job = agent, job
        self.points = []    # uploaded and acknowledged
        self.files = {}     # name -> content
        self.failed = []
        self.ended = threading.Event()

    def upload(self, number):
        return self.agent.upload(self.job, "stats", [
            point(self.job["role"], 1_700_000_000 + 10 * number, number)], seq=number)

    def run(self):
        number = 0
        while not self.ended.is_set():
            number += 1
            answers = [self.upload(number), self.agent.renew(self.job)]
            if number % 10 == 1:
                name, content = f"{number}.txt", os.urandom(20000)
                answers.append(self.agent.artifact(self.job, name, content))
                self.files[name] = content
            self.failed += [a.text for a in answers if not a.ok]
            self.points.append(number)

    def stop(self):
        self.ended.set()
        self.join()
        assert not self.failed


@contextlib.contextmanager
def renewed(agent, job):
    """Keep a lease while the test does something else."""
    ended, failed = threading.Event(), []

    def renew():
        while not ended.wait(0.5):
            answer = agent.renew(job)
            if not answer.ok:
                failed.append(answer.text)
    thread = threading.Thread(target=renew)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    assert not failed


def points_of(c, run):
    """The values of the points that the agent of Ingest uploaded."""
    return sorted(float(p["avg"]) for p in c.api("GET", f"/runs/{run}/stats/rtp_jitter")["stats_data"])


def test_backup_in_the_middle_of_a_run(source, empty, tmp_path):
    """All that the first controller shows is shown by the second one, where the run goes on."""
    c, file = source, tmp_path / "backup.tar"
    c.start()
    until(lambda: not c.api("GET", "/runs?filtername=is_finished&filterval=0")["runs"])
    until(lambda: all(x["ended_at"] for x in c.api("GET", "/callbacks?count=1000")["callbacks"]))
    pool = c.api("POST", "/agent-pools", {"name": "ingest"})["agent_pool"]
    agent = FakeAgent(c, pool["join_token"], "ingest")
    run = c.api("POST", "/tests/scenarios/registration", {
        "agentpool_id": pool["id"], "target": "sip:127.0.0.1", "username": "1001",
        "password": "x"})["data"]["session_id"]
    job, = agent.jobs(1).values()
    assert agent.start(job).ok
    ingest = Ingest(agent, job)
    ingest.start()
    try:
        until(lambda: len(ingest.points) >= 20)
        before = everything(c, active=[run])
        certain = list(ingest.points)
        told = good(command(c, "backup", str(file)))
        # ingest goes on afterwards
        until(lambda: len(ingest.points) > len(certain) + 20)
    finally:
        ingest.stop()
    assert f"schema {schema_of(c)}" in told and str(c.state_dir / "master.key") in told
    assert oct(file.stat().st_mode & 0o777) == "0o600"
    assert not (c.state_dir / "offhook.db.snapshot").exists()
    assert list(tmp_path.iterdir()) == [file]
    good(command(empty, "check", str(file)))
    good(command(empty, "restore", str(file)))
    with empty as later:
        agent.controller = later   # it is enrolled there, too
        with renewed(agent, job):
            after = everything(later, active=[run])
        assert set(after) == set(before)
        for path, was in before.items():
            if isinstance(was, dict):
                assert list(differences(was, after[path])) == [], path
            else:
                assert was == after[path], path
        # the run: what was acknowledged before is there, nothing is there twice
        found = points_of(later, run)
        assert found == [float(n) for n in range(1, len(found) + 1)]
        assert len(certain) <= len(found) <= len(ingest.points)
        for name in (a["name"] for a in later.api("GET", f"/runs/{run}/artifacts")["artifacts"]):
            assert later.request("GET", f"/runs/{run}/artifacts/{job['role']}/{name}"
                                 ).content == ingest.files[name]
        # it goes on
        for number in range(len(found) + 1, len(ingest.points) + 1):
            assert ingest.upload(number).ok
            if number % 10 == 0:
                assert agent.renew(job).ok
        agent.seq[job["lease_id"]] = len(ingest.points)
        assert agent.upload(job, "events", [*registered("1001"), {
            **registered("1001")[0], "state": "UNREGISTERING"}, evidence()]).ok
        assert agent.finish(job).ok
        until(lambda: later.api("GET", f"/runs/{run}")["run"]["is_finished"])
        ended = later.api("GET", f"/runs/{run}")["run"]
        assert later.api("GET", f"/runs/{run}/status")["run"]["status"] == "passed", ended
        assert points_of(later, run) == [float(n) for n in ingest.points]
        good(command(later, "check"))
    assert c.stop() == 0


def schema_of(c):
    """The schema of a running controller's database, read from a copy."""
    copy = c.state_dir.parent / f"{c.state_dir.name}.schema.tar"
    try:
        return int(good(command(c, "backup", str(copy))).split("schema ")[1].split(",")[0])
    finally:
        copy.unlink(missing_ok=True)


def test_it_is_a_tar_file_with_hashes(source, backup, tmp_path):
    folder = tmp_path / "unpacked"
    folder.mkdir()
    subprocess.run(["tar", "xf", backup, "-C", folder], check=True)
    subprocess.run(["sha256sum", "--strict", "--quiet", "-c", "SHA256SUMS"], cwd=folder, check=True)
    was = files_of(source.state_dir)
    unpacked = files_of(folder)
    assert set(was) - set(unpacked) == {Path("master.key")}
    for name in was:
        if name.parts[0] in ("artifacts", "appimages"):
            assert unpacked[name] == was[name]
    assert dump(folder / "offhook.db") == dump(source.state_dir / "offhook.db")


def test_an_earlier_schema_is_brought_forward_at_the_start(source, backup, empty):
    was = dump(source.state_dir / "offhook.db")
    good(command(empty, "restore", str(backup)))
    assert dump(empty.state_dir / "offhook.db") == was
    with empty as c:
        state = State(NUMBER)
        for path in state.answers:
            assert list(differences(state.expected(path), c.api("GET", path))) == [], path


def test_every_damage_is_refused_and_nothing_changed(backup, empty):
    whole = backup.read_bytes()
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    with tarfile.open(backup) as tar:
        members = tar.getmembers()
    places = {0, 100, 148, 156, 257, 511, len(whole) - 1, len(whole) - 1024}
    for m in members:   # its header, first and last byte, and the padding behind it
        places |= {m.offset, m.offset + 130, m.offset_data, m.offset_data + m.size - 1,
                   m.offset_data + m.size, m.offset_data + m.size + 20}
    places |= {rng.randrange(len(whole)) for _ in range(40)}
    changed = [whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1:]
               for at in sorted(places) if at < len(whole)]
    changed += [whole[:rng.randrange(len(whole))] for _ in range(10)]
    changed += [b"", whole[:512], whole[:-1], whole[:-512], whole[:-1024], whole + b"\0",
                whole + whole]
    was = files_of(empty.state_dir)
    for i, content in enumerate(changed):
        backup.write_bytes(content)
        shown = refused(command(empty, "restore", str(backup)), "nothing was restored")
        assert str(backup) in shown
        assert files_of(empty.state_dir) == was, i
        assert not list(empty.state_dir.glob("*.restored")), i
        if i % 10 == 0:
            refused(command(empty, "check", str(backup)))
    backup.write_bytes(whole)
    good(command(empty, "restore", str(backup)))
    # a damaged one does not replace what is there
    was = files_of(empty.state_dir)
    backup.write_bytes(changed[len(changed) // 2])
    refused(command(empty, "restore", "--force", str(backup)), "nothing was restored")
    assert files_of(empty.state_dir) == was


def test_a_backup_is_not_overwritten(source, backup):
    was = backup.read_bytes()
    refused(command(source, "backup", str(backup)), "exists", "--force")
    assert backup.read_bytes() == was
    good(command(source, "backup", "--force", str(backup)))
    assert list(backup.parent.iterdir()) == [backup]
    refused(command(source, "backup", str(backup.parent / "no" / "where")), "No such file")


def test_existing_data_is_kept_under_another_name(source, backup, empty):
    empty.keys.clear()
    empty.start()
    empty.api("POST", "/projects", {"name": "made since"})
    refused(command(empty, "restore", "--force", str(backup)), "stop it first")
    empty.kill()   # the log of the database is left, with the project in it
    assert (empty.state_dir / "offhook.db-wal").stat().st_size > 0
    was = files_of(empty.state_dir)
    refused(command(empty, "restore", str(backup)), "exists", "--force")
    assert files_of(empty.state_dir) == was
    good(command(empty, "restore", "--force", str(backup)))
    assert dump(empty.state_dir / "offhook.db") == dump(source.state_dir / "offhook.db")
    old, = (p for p in empty.state_dir.glob("offhook.db.replaced-*") if p.name.endswith("Z"))
    _, rows = dump(old)
    assert [row["name"] for row in rows["project"]] == ["made since"]
    good(command(empty, "check"))


def test_the_master_key(source, backup, empty, tmp_path):
    key = empty.state_dir / "master.key"
    own = key.read_text()
    key.unlink()
    was = files_of(empty.state_dir)
    refused(command(empty, "restore", str(backup)), str(key), "--without-key")
    key.write_text("0" * 64 + "\n")
    key.chmod(0o600)
    refused(command(empty, "restore", str(backup)), "is not the master key")
    key.unlink()
    assert files_of(empty.state_dir) == was
    # it is in a backup only where that is asked for
    assert own.encode() not in backup.read_bytes()
    with_key = tmp_path / "with key.tar"
    assert "holds the master key" in good(command(source, "backup", "--with-key", str(with_key)))
    good(command(empty, "restore", str(with_key)))
    assert key.read_text() == own and key.stat().st_mode & 0o777 == 0o600
    key.unlink()
    good(command(empty, "restore", "--force", "--without-key", str(backup)))


def change(c, sql):
    db = sqlite3.connect(c.state_dir / "offhook.db")
    db.execute(sql)
    db.commit()
    db.close()


def test_a_backup_of_a_later_schema_is_refused(source, tmp_path, empty):
    change(source, "UPDATE setting SET value = '9999' WHERE name = 'schema_version'")
    file = tmp_path / "later.tar"
    good(command(source, "backup", str(file)))
    was = files_of(empty.state_dir)
    refused(command(empty, "restore", str(file)), "later version", "9999")
    assert files_of(empty.state_dir) == was


def test_a_tar_file_of_another_program_is_refused(empty, tmp_path):
    (tmp_path / "x").write_text("x")
    file = tmp_path / "other.tar"
    subprocess.run(["tar", "--format=ustar", "-cf", file, "-C", tmp_path, "x"], check=True)
    refused(command(empty, "restore", str(file)), "it is no backup")
    refused(command(empty, "check", str(file)), "it is no backup")
    refused(command(empty, "check", str(tmp_path)), str(tmp_path))


def test_check_of_a_stopped_controller(source):
    assert "0 errors" in good(command(source, "check"))
    artifact = next(p for p in (source.state_dir / "artifacts").rglob("*") if p.is_file())
    (artifact.parent / "left by a crash").write_bytes(b"1234")
    assert "1 files (4 bytes) belong to no record" in good(command(source, "check"))
    content = artifact.read_bytes()
    artifact.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    refused(command(source, "check"), f"{artifact.name}: its content is not the one")
    artifact.unlink()
    refused(command(source, "check"), f"{artifact.name}: it is missing")
    artifact.write_bytes(content)
    next((source.state_dir / "appimages").iterdir()).unlink()
    refused(command(source, "check"), "file appimages/")


def test_check_of_a_damaged_database(source):
    source.start()  # brings the state to the schema of now
    assert source.stop() == 0
    path = source.state_dir / "offhook.db"
    was = path.read_bytes()
    change(source, "DELETE FROM web_user")    # sqlite3 of Python does not hold to references
    refused(command(source, "check"), "table web_session: a row refers to one of web_user")
    path.write_bytes(was)
    change(source, "UPDATE point_block SET block = substr(block, 1, length(block) - 1)")
    refused(command(source, "check"), "table point_block: the block of run ")
    path.write_bytes(was)
    db = sqlite3.connect(path)
    page_size, = db.execute("PRAGMA page_size").fetchone()
    page, = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'run_by_start'").fetchone()
    db.close()
    start = (page - 1) * page_size
    path.write_bytes(was[:start + 8] + b"\xff" * 40 + was[start + 48:])
    refused(command(source, "check"))
    path.write_bytes(b"no database, " * 1000)
    refused(command(source, "check"), "not a database")


def test_check_of_a_running_controller(source):
    source.start()
    assert "0 errors" in good(command(source, "check"))
    next(p for p in (source.state_dir / "artifacts").rglob("*") if p.is_file()).unlink()
    refused(command(source, "check"), "it is missing")
    assert not (source.state_dir / "offhook.db.snapshot").exists()
    assert source.stop() == 0


def ask(c):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect(str(c.state_dir / "control.sock"))
    with contextlib.suppress(BrokenPipeError):   # a controller that refuses at once
        s.sendall(b"snapshot\n")
    return s, s.makefile().readline()


def test_ingest_goes_on_while_a_snapshot_is_held(source):
    """The writer is not held up, and the copy does not change; it ends with its connection."""
    c = source
    c.start()
    copy = c.state_dir / "offhook.db.snapshot"
    s, answer = ask(c)
    assert answer == "ok\n" and copy.stat().st_mode & 0o777 == 0o600
    was = hashlib.sha256(copy.read_bytes()).digest()
    for i in range(20):
        c.api("POST", "/projects", {"name": f"made meanwhile {i}"})
    assert hashlib.sha256(copy.read_bytes()).digest() == was
    second, answer = ask(c)
    assert answer.startswith("error another backup or check is in progress")
    second.close()
    s.close()
    until(lambda: not copy.exists())
    s, answer = ask(c)
    assert answer == "ok\n"
    assert c.stop() == 0   # it does not wait for the command
    assert not copy.exists() and not (c.state_dir / "control.sock").exists()
    s.close()


def test_a_socket_that_a_crash_left(source, tmp_path):
    source.start()
    source.kill()
    assert (source.state_dir / "control.sock").exists()
    good(command(source, "backup", str(tmp_path / "1.tar")))
    source.start()
    good(command(source, "backup", str(tmp_path / "2.tar")))
    assert source.stop() == 0


@pytest.mark.parametrize("words", [
    ["backup"], ["restore"], ["backup", "a", "b"], ["unknown"], ["check", "--force"],
    ["--force"], ["--with-key"], ["restore", "--with-key", "a"], ["backup", "--without-key", "a"],
    ["backup", "--check-config", "a"], ["backup", "--create-key", "x", "a"]])
def test_wrong_usage(source, words):
    done = command(source, *words)
    assert done.returncode == 2
    assert "usage: offhook-controller" in done.stderr


def test_another_configuration(tmp_path):
    c = Controller()
    try:
        refused(command(c, "backup", str(tmp_path / "x")), "No such file", "--config")
        assert not (c.state_dir / "offhook.db").exists()
    finally:
        c.close()

"""A controller whose database is PostgreSQL: what is not the same as with SQLite.

The other files run on it with OFFHOOK_TEST_STORE=postgresql (docs/internals/testing.md).
"""
import contextlib
import os
import signal
import subprocess
import threading
import time

import psycopg2
import pytest
import requests

import postgresql
import stored_points
from controller import Controller
from fake_agent import FakeAgent
from test_artifacts import scenario
from test_metrics import metrics
from test_time_limits import TimedController
from until import until

PASSWORD = "pg-secret-4711"
TIMES = {"poll_s": 1, "lease_s": 600, "renew_s": 100}


@pytest.fixture(scope="module")
def own_server():
    """Not the one of the session: these tests stop it."""
    server = postgresql.Server().start()
    yield server
    server.close()


@pytest.fixture
def database(own_server):
    name = own_server.create()
    yield name
    own_server.drop(name)


def commands(c, *args):
    return subprocess.run([c.program, "--config", c.conf_file, *args], capture_output=True,
                          text=True, check=False, timeout=120)


def test_a_killed_controller_is_followed_at_once(own_server, database):
    with Controller(database=own_server.uri(database)) as c:
        c.api("POST", "/projects", {"name": "still there"})
        c.kill()
        c.start()
        assert [p["name"] for p in c.api("GET", "/projects")["projects"]] == ["still there"]


def test_passwords_are_nowhere(own_server, database):
    own_server.sql(f"CREATE ROLE somebody LOGIN SUPERUSER PASSWORD '{PASSWORD}'")
    uri = own_server.uri(database, password=PASSWORD)
    with Controller(database=uri) as c:
        c.api("POST", "/projects", {"name": "p"})
        with open(f"/proc/{c.process.pid}/cmdline", "rb") as f:
            assert PASSWORD.encode() not in f.read()
        outputs = [commands(c, *args) for args in (
            ["--help"], ["--check-config"], ["--create-key", "x"], ["backup", "/nowhere/x"])]
        assert PASSWORD not in c.log()
    for wrong in (f"postgresql://u:{PASSWORD}@[/x", f"postgresql://u:{PASSWORD}@h/%zz",
                  f"postgresql://u:{PASSWORD}@/none?host={own_server.dir}",
                  f"postgresql://u:{PASSWORD}@127.0.0.1:1/none",
                  f"postgresql://u:{PASSWORD}@/x?nonsense=1"):
        c = Controller(database=wrong)
        c._write_conf()
        outputs.append(commands(c, "--create-key", "x"))
        assert outputs[-1].returncode == 1 and "database" in outputs[-1].stderr
        c.close()
    for done in outputs:
        assert PASSWORD not in done.stdout + done.stderr


def test_what_is_for_sqlite_names_pg_dump(own_server, database, tmp_path):
    with Controller(database=own_server.uri(database)) as c:
        for args in (["backup", tmp_path / "b"], ["restore", tmp_path / "b"], ["check"]):
            done = commands(c, *args)
            assert done.returncode == 1 and "pg_dump" in done.stderr, done
        assert not (tmp_path / "b").exists()


def test_other_databases_are_refused(own_server, database):
    own_server.sql("CREATE TABLE invoice (id INTEGER)", database)
    latin = "latin"
    own_server.sql(f"CREATE DATABASE {latin} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'")
    for name, said in ((database, "the tables are not those of offhook-controller"),
                       (latin, "the database's encoding is not UTF8")):
        c = Controller(database=own_server.uri(name))
        c._write_conf()
        done = commands(c, "--create-key", "x")
        assert done.returncode == 1 and said in done.stderr, done.stderr
        c.close()
    assert own_server.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'",
                          database) == "1"
    own_server.drop(latin)


def test_a_later_schema_is_refused(own_server, database):
    c = Controller(database=own_server.uri(database))
    c.create_key()
    own_server.sql("UPDATE setting SET value = '9999' WHERE name = 'schema_version'", database)
    done = commands(c, "--create-key", "x")
    assert done.returncode == 1 and "made by a later program" in done.stderr
    assert "pg_dump" in done.stderr
    c.close()


def projects(c):
    answer = c.request("GET", "/projects?count=1000")
    return [p["name"] for p in answer.json()["projects"]] if answer.ok else None


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGQUIT])
def test_the_server_goes_and_comes_back(own_server, database, how):
    """Requests meanwhile are 503 and say when to try again; what was answered is there,
    and what was refused is not."""
    with Controller(database=own_server.uri(database), workers=4) as c:
        c.api("POST", "/projects", {"name": "before"})
        own_server.stop(how)
        for method, path, body in (("GET", "/projects", None),
                                   ("POST", "/projects", {"name": "meanwhile"})):
            answer = c.request(method, path, body)
            assert answer.status_code == 503 and int(answer.headers["Retry-After"]) > 0
        own_server.start()
        until(lambda: projects(c) == ["before"])
        until(lambda: c.request("POST", "/projects", {"name": "after"}).ok)
        until(lambda: projects(c) == ["before", "after"])
        assert "connected again" in c.log()


def test_nothing_is_half_done(own_server, database):
    """Connections are cut while projects are made: each is whole or not there."""
    with Controller(database=own_server.uri(database)) as c:
        answered, stop = {}, threading.Event()

        def make():
            number = 0
            while not stop.is_set():
                number += 1
                name = f"p{number}"
                answered[name] = c.request("POST", "/projects", {"name": name}).status_code

        maker = threading.Thread(target=make)
        maker.start()
        cut = 0
        for _ in range(20):
            seen = len(answered)
            until(lambda: len(answered) > seen + 3)
            cut += int(own_server.sql(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = "
                f"'{database}' AND pid <> pg_backend_pid()"))
        stop.set()
        maker.join()
        assert cut > 20
        there = set(until(lambda: projects(c)))  # None while a thread connects again
        assert {code for code in answered.values()} <= {200, 201, 503}
        assert {n for n, code in answered.items() if code != 503} <= there
        # the change and its entry in the audit log are one transaction
        noted = own_server.sql("SELECT count(*) FROM audit WHERE path = '/projects' AND "
                               "outcome = 'changed'", database)
        assert int(noted) == len(there)


def test_a_run_goes_on_after_the_server_was_away(own_server, database):
    with Controller(database=own_server.uri(database), poll_s=1, lease_s=30, renew_s=5) as c:
        pool = c.api("POST", "/agent-pools", {"name": "pool"})["agent_pool"]
        agent = FakeAgent(c, pool["join_token"], "a")
        run = scenario(c, pool)
        job, = agent.jobs(1).values()
        assert agent.start(job).ok
        own_server.stop(signal.SIGQUIT)
        assert agent.finish(job).status_code == 503
        own_server.start()
        until(lambda: agent.finish(job).ok)
        until(lambda: finished(c, run))


def finished(c, run):
    answer = c.request("GET", f"/runs/{run}")  # 503 while its thread connects again
    return answer.ok and answer.json()["run"]["is_finished"]




def point(t):
    return {"role": "caller", "dir": "in", "measure": "rtp_mos", "t": t, "n": 1, "min": 4, "max": 4, "avg": 4,
            "median": 4, "p75": 4, "p90": 4, "p95": 4, "stddev": 0}


def running(c):
    """@return (role, agent, job) of a run in progress"""
    pool = c.api("POST", "/agent-pools", {"name": "pool"})["agent_pool"]
    agent = FakeAgent(c, pool["join_token"], "a")
    scenario(c, pool)
    job, = agent.jobs(1).values()
    assert agent.start(job).ok
    return job["role"], agent, job


def test_no_point_without_its_series(own_server, database):
    """A block of points has no foreign key to its series: an upload keeps them. Whoever deletes them meanwhile,
    each point of a later upload has a series, and a run takes its points along."""
    db = postgresql.Connection(own_server.uri(database))

    def number(sql, *values):
        found = db.execute(sql, values).fetchone()[0]
        db.commit()
        return found

    def waits():
        return number("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
                      "AND wait_event_type = 'Lock'")

    with Controller(database=own_server.uri(database), **TIMES) as c:
        role, agent, job = running(c)
        mine = {**point(1700000000), "role": role}
        assert agent.upload(job, "stats", [mine]).ok
        run = number("SELECT id FROM run")
        assert [p.t for p in stored_points.read(db)] == [mine["t"]]
        db.commit()
        # deleted while an upload wants them: it waits, and makes them again
        other = postgresql.Connection(own_server.uri(database))
        other.execute("DELETE FROM point_block WHERE run_id = ?", (run,))
        other.execute("DELETE FROM series WHERE run_id = ?", (run,))
        answers = []
        thread = threading.Thread(target=lambda: answers.append(
            agent.upload(job, "stats", [{**mine, "t": mine["t"] + 10}])))
        thread.start()
        until(lambda: waits() or answers)
        assert not answers
        other.commit()
        other.close()
        thread.join()
        assert answers[0].ok, answers[0].text
        assert [p.t for p in stored_points.read(db, run)] == [mine["t"] + 10]
        db.commit()
        # deletion of the run takes series and points along
        number("WITH gone AS (DELETE FROM run RETURNING 1) SELECT count(*) FROM gone")
        assert number("SELECT count(*) FROM series") == number("SELECT count(*) FROM point_block") == 0
    db.close()


def test_a_deletion_waits_for_an_upload(own_server, database):
    """The other way round: what an upload has locked is not deleted before its points are there."""
    uri = own_server.uri(database)
    with Controller(database=uri, **TIMES) as c:
        role, agent, job = running(c)
        assert agent.upload(job, "stats", [{**point(1700000000), "role": role}]).ok
        # the upload is held in its transaction, behind the lock of its series
        holder = postgresql.Connection(uri)
        holder.execute("CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
                       "PERFORM pg_advisory_xact_lock(4712); RETURN NEW; END $$")
        holder.execute("CREATE TRIGGER hold BEFORE INSERT ON point_block FOR EACH ROW EXECUTE FUNCTION hold()")
        holder.commit()
        holder.execute("SELECT pg_advisory_lock(4712)")
        # connected before: the upload waits 5 s at most
        look, deleter = postgresql.Connection(uri), postgresql.Connection(uri)
        upload = threading.Thread(target=lambda: agent.upload(
            job, "stats", [{**point(1700000010), "role": role}]))
        upload.start()

        def waiting(query):
            found = look.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
                                 "wait_event_type = 'Lock' AND query LIKE ?", (query,)).fetchone()[0]
            look.commit()
            return found

        until(lambda: waiting("INSERT INTO %point%"))

        def delete():
            deleter.execute("DELETE FROM series")
            deleter.commit()

        deletion = threading.Thread(target=delete)
        deletion.start()
        until(lambda: waiting("DELETE FROM series%") or not deletion.is_alive())
        assert deletion.is_alive()
        holder.execute("SELECT pg_advisory_unlock(4712)")
        upload.join()
        deletion.join()
        assert look.execute("SELECT count(*) FROM point_block").fetchone()[0] == 2
        for connection in (holder, look, deleter):
            connection.close()


def test_the_master_key_is_rotated(own_server, database):
    c = Controller(database=own_server.uri(database))
    with c:
        c.api("POST", "/credential-pools", {"name": "callers", "credentials": [
            {"username": "1001", "password": PASSWORD}]})
        c.stop()
        for _ in "ab":
            done = commands(c, "rotate-key")
            assert done.returncode == 0 and "secrets are encrypted" in done.stdout, done
        c.start()
        assert len(c.api("GET", "/credential-pools")["credential_pools"]) == 1
        boxes = own_server.sql("SELECT count(password_box) FROM credential", database)
        assert int(boxes) == 1


class Change(threading.Thread):
    """A request that is answered meanwhile: a project is made, or the first one is renamed."""

    def __init__(self, c, name, method="POST"):
        super().__init__(daemon=True)
        self._request = (method, f"{c.url}/api/v2/projects" + ("/1" if method == "PUT" else ""))
        self._more = {"json": {"name": name}, "auth": c.keys["admin"], "timeout": 120}
        self.answer = None
        self.start()

    def run(self):
        self.answer = requests.request(*self._request, **self._more)

    def status(self):
        return self.answer.status_code if self.answer is not None else None


def waits_for_a_lock(own_server):
    return own_server.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") != "0"


def test_the_first_controller_waits_for_what_ends(own_server, database):
    """A command has the database for itself; its session may outlive it. The controller that comes then is the first
    one: it names its directory, and does not take it for one that others should share."""
    with contextlib.closing(Controller(database=own_server.uri(database))) as c, \
            contextlib.closing(psycopg2.connect(own_server.uri(database))) as session:
        c.create_key()
        session.cursor().execute("SELECT pg_advisory_lock(31356312439713643)")
        starting = threading.Thread(target=c.start)
        starting.start()
        until(lambda: waits_for_a_lock(own_server))
        session.close()
        starting.join()
        assert c.url, c.log()
        with Controller(database=own_server.uri(database), key_file=c.state_dir / "master.key",
                        artifact_store=c.state_dir) as other:
            other.keys = c.keys
        assert c.stop() == 0


def test_a_lock_is_waited_for_so_long(own_server, database):
    """5 s; and a statement that the server cancels, as it does after 30 s, is 503 as well."""
    own_server.sql("ALTER SYSTEM SET log_statement = 'all'")
    own_server.sql("SELECT pg_reload_conf()")
    with Controller(database=own_server.uri(database)) as c, \
            contextlib.closing(psycopg2.connect(own_server.uri(database))) as other:
        lock = other.cursor()
        lock.execute("LOCK TABLE project IN EXCLUSIVE MODE")
        first = Change(c, "first")
        until(lambda: waits_for_a_lock(own_server))
        other.rollback()
        until(first.status)
        assert first.status() == 201

        lock.execute("LOCK TABLE project IN EXCLUSIVE MODE")
        began = time.monotonic()
        late = Change(c, "late")
        until(late.status)
        assert late.status() == 503 and late.answer.headers["Retry-After"]
        assert time.monotonic() - began >= 5
        assert "canceling statement due to lock timeout" in own_server.log_file.read_text()

        cancelled = Change(c, "cancelled")
        until(lambda: waits_for_a_lock(own_server))
        own_server.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        until(cancelled.status)
        assert cancelled.status() == 503 and cancelled.answer.headers["Retry-After"]
        other.rollback()
        assert projects(c) == ["first"]
    assert "SET statement_timeout = '30s'" in own_server.log_file.read_text()
    own_server.sql("ALTER SYSTEM RESET log_statement")
    own_server.sql("SELECT pg_reload_conf()")


@pytest.mark.parametrize("method", ["POST", "PUT"])
def test_an_answer_is_waited_for_so_long(own_server, database, method):
    """A writer waits 5 s for the writer before, which waits 35 s for the server."""
    with TimedController(database=own_server.uri(database), workers=4) as c, \
            contextlib.closing(psycopg2.connect(own_server.uri(database))) as other:
        c.api("POST", "/projects", {"name": "before"})
        other.cursor().execute("LOCK TABLE project IN EXCLUSIVE MODE")
        lost = Change(c, "lost", method)
        until(lambda: waits_for_a_lock(own_server))
        writer, = own_server.sql("SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'").split()
        os.kill(int(writer), signal.SIGSTOP)
        try:
            other.rollback()
            refused = Change(c, "refused", method)
            # the two changes, and the request that asks
            until(lambda: metrics(c)["offhook_http_requests_open", None] >= 3)
            time.sleep(1)
            c.clock.let_pass(6)
            until(refused.status)
            assert refused.status() == 503 and refused.answer.headers["Retry-After"]
            c.clock.let_pass(20)
            time.sleep(1)
            assert lost.status() is None
            c.clock.let_pass(10)
            until(lost.status)
            assert lost.status() == 503 and lost.answer.headers["Retry-After"]
            assert "the connection was lost: the server does not answer" in c.log()
        finally:
            os.kill(int(writer), signal.SIGCONT)
        until(lambda: c.request("POST", "/projects", {"name": "after"}).ok)
        assert projects(c) == ["before", "after"]

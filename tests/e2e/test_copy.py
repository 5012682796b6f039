"""offhook-controller copy: from SQLite to PostgreSQL and back, all or nothing."""
import os
import random
import re
import signal
import sqlite3
import subprocess
import threading

import psycopg2
import pytest

import postgresql
import stored_points
from controller import Controller
from state import STATES, State, differences, dump
from test_schema import open_once
from until import until

NUMBER = max(int(p.name) for p in STATES.iterdir())
PASSWORD = "copy-secret-4711"


@pytest.fixture(scope="module")
def server():
    """Not the one of the session: a test stops it."""
    own = postgresql.Server().start()
    yield own
    own.close()


@pytest.fixture
def destination(server):
    name = server.create()
    yield name
    server.drop(name)


@pytest.fixture
def source():
    """A stopped controller whose database has rows in every table."""
    c = Controller(callback_allow="127.0.0.1", callback_timeout_s=2, poll_s=1, renew_s=2,
                   lease_s=600, offer_s=600, database="offhook.db")
    State(NUMBER).put(c)
    c._write_conf()
    open_once(c)
    with sqlite3.connect(c.state_dir / "offhook.db") as db:
        # what only a SQLite file may have, or is easily lost on the way
        db.execute("UPDATE project SET description = ? WHERE id = (SELECT min(id) FROM project)",
                   ("tab\t line\r\n back\\slash \\N 'quote' \"double\" ünïcode 🎧",))
        db.execute("UPDATE sqlite_sequence SET seq = seq + 1000 WHERE name = 'run'")
        db.execute("INSERT INTO removal (run_id, kind) SELECT max(id), 'metrics' FROM run")
        db.execute("INSERT INTO run_size SELECT min(id), 9007199254740993, 0, 1, 2 FROM run")
    db.close()
    yield c
    c.close()


def copy(c, *places):
    return subprocess.run([c.program, "--config", c.conf_file, "copy", *map(str, places)],
                          capture_output=True, text=True, timeout=300, check=False)


def tables(server, name):
    return server.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", name)


def controller_with(c, uri):
    """Another controller: the files of the first, and the database."""
    c.conf["database"] = uri
    c._write_conf()
    return c


def test_the_fixture_reaches_postgresql_and_comes_back(server, destination, source):
    """Every row of every table, and the numbers that must not be given again."""
    with sqlite3.connect(source.state_dir / "offhook.db") as db:  # what the fixture's schema had no rows of
        db.execute("INSERT INTO agent_further_pool SELECT a.id, p.id FROM agent a JOIN agent_pool p "
                   "ON p.id <> a.pool_id")
        db.execute("INSERT INTO key_rate VALUES (1, 1700000000000000)")
        db.execute("INSERT INTO login_failure VALUES (x'00ff', 3, 1700000000000)")
        db.execute("INSERT INTO thinning SELECT run_id, id, 'lease', 7 FROM series LIMIT 1")
        db.execute("INSERT INTO capacity_search (id, uuid, test_id, test_name, project_name, agentpool_name, "
                   "params_json, test_box, status, next_at, created_at) VALUES "
                   "(3, 'u', 1, 't', 'p', 'a', '{}', x'00ff', 'running', 7, 6)")
        db.execute("INSERT INTO capacity_trial (search_id, position, load, session_id, started_at, outcome) "
                   "VALUES (3, 0, 0.1, 's', 5, 'held'), (3, 1, 12, 't', 6, NULL)")
    db.close()
    before = dump(source.state_dir / "offhook.db")
    assert [t for t, rows in before[1].items() if not rows] == []
    done = copy(source, "offhook.db", server.uri(destination))
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    shown = {w[0]: w[1:] for w in lines if len(w) == 5 and w[1].isdigit()}
    assert set(shown) == set(before[1]) - {"sqlite_sequence"}
    for table, (here, there, hash_here, hash_there) in shown.items():
        assert int(here) == int(there) == len(before[1][table]), table
        assert int(server.sql(f'SELECT count(*) FROM "{table}"', destination)) == int(here)
        assert re.fullmatch("[0-9a-f]{16}", hash_here) and hash_here == hash_there
    assert str(source.state_dir / "master.key") in done.stdout
    assert "DIFFERENT" not in done.stdout
    assert dump(source.state_dir / "offhook.db") == before
    # and back: the same file again
    done = copy(source, server.uri(destination), "again.db")
    assert done.returncode == 0, done.stderr
    assert dump(source.state_dir / "again.db") == before
    assert (source.state_dir / "again.db").stat().st_mode & 0o777 == 0o600


def test_the_controller_goes_on_with_the_copy(server, destination, source):
    """All that the API showed is shown; agents and keys are known; new ids are new."""
    state = State(NUMBER)
    done = copy(source, "offhook.db", server.uri(destination))
    assert done.returncode == 0, done.stderr
    highest = max(r["seq"] for r in dump(source.state_dir / "offhook.db")[1]["sqlite_sequence"]
                  if r["name"] == "run")
    with controller_with(source, server.uri(destination)) as c:
        for path in (p for p in state.answers if p.count("/") == 2):
            found = list(differences(state.expected(path), c.api("GET", path)))
            assert [f for f in found if "back\\\\slash" not in f] == [], path
        for run in state.live:  # it may have stopped together with another
            assert c.request("POST", f"/runs/{run}/stop").status_code in (202, 409)
        c.api("POST", "/projects", {"name": "after the copy"})
        test = next(was["test"] for p, was in state.answers.items() if p.startswith("/tests/"))
        c.api("POST", f"/tests/{test['id']}/run")
        state.agent(c).poll()
    assert int(server.sql("SELECT max(id) FROM run", destination)) > highest


def test_what_cannot_be_copied_is_refused(server, destination, source):
    uri = server.uri(destination)

    def refused(done, *said):
        assert done.returncode == 1 and done.stdout == "", done
        for text in said:
            assert text in done.stderr, done.stderr
        assert tables(server, destination) == "0"

    refused(copy(source, "none.db", uri), "none.db", "is this the configuration")
    assert not (source.state_dir / "none.db").exists()
    refused(copy(source, "offhook.db", "offhook.db"), "the same database")
    # a controller has it
    source.start()
    refused(copy(source, "offhook.db", uri), "is in use", "stop its controller first")
    source.stop()
    # a schema that is not this program's
    db = sqlite3.connect(source.state_dir / "old.db")
    db.executescript((STATES / str(NUMBER) / "offhook.sql").read_text())
    db.close()
    refused(copy(source, "old.db", uri), f"schema version {NUMBER}", "start this version")
    db = sqlite3.connect(source.state_dir / "other.db")
    db.execute("CREATE TABLE setting (x INTEGER)")
    db.close()
    refused(copy(source, "other.db", uri), "not one of offhook-controller")
    # what PostgreSQL does not take: the table is named
    with sqlite3.connect(source.state_dir / "offhook.db") as db:
        db.execute("UPDATE project SET description = CAST(x'ff41' AS TEXT)")
    db.close()
    refused(copy(source, "offhook.db", uri), "table project", "UTF8", "nothing was copied")
    usage = [copy(source), copy(source, "offhook.db"), copy(source, "a", "b", "c")]
    assert [done.returncode for done in usage] == [2, 2, 2]


def test_a_destination_with_tables_is_refused(server, destination, source):
    server.sql("CREATE TABLE invoice (id INTEGER)", destination)
    done = copy(source, "offhook.db", server.uri(destination))
    assert done.returncode == 1 and "is not empty" in done.stderr
    assert tables(server, destination) == "1"
    server.sql("DROP TABLE invoice", destination)
    uri = server.uri(destination, password=PASSWORD)
    assert copy(source, "offhook.db", uri).returncode == 0
    again = copy(source, "offhook.db", uri)
    assert again.returncode == 1 and "is not empty" in again.stderr
    # a controller that has the destination
    other = Controller(database=uri)
    with other:
        busy = copy(source, "offhook.db", uri)
    assert busy.returncode == 1 and "in use by another controller" in busy.stderr
    for done in (again, busy):
        assert PASSWORD not in done.stdout + done.stderr


def more_points(c, count):
    """Blocks of points for a copy that takes a while."""
    with sqlite3.connect(c.state_dir / "offhook.db") as db:
        series, run = db.execute("SELECT id, run_id FROM series ORDER BY id").fetchone()
        for t in range(count):
            stored_points.add(db, run, series, "x", [(t, 1, 0.1, 0.2, 0.3, 0, 0, 0, 0, 1e-300, None)])
    db.close()


def begin(c, uri):
    # pylint: disable-next=consider-using-with
    return subprocess.Popen([c.program, "--config", c.conf_file, "copy", "offhook.db", uri],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_killed_at_any_moment_the_destination_is_empty(server, destination, source):
    more_points(source, 5000)
    before = dump(source.state_dir / "offhook.db")
    uri = server.uri(destination)
    seed = random.randrange(1 << 32)
    print("seed", seed)
    rng = random.Random(seed)
    wait, killed = 0.03, 0
    while True:
        process = begin(source, uri)
        try:
            process.wait(wait * rng.uniform(0.7, 1.3))
        except subprocess.TimeoutExpired:
            process.kill()
            killed += 1
        process.communicate()
        if process.returncode == 0:
            break
        assert process.returncode == -signal.SIGKILL
        # either nothing, or all: the answer was lost after the commit
        until(lambda: server.sql(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = "
            "'offhook-controller'") == "0")
        if tables(server, destination) != "0":
            break
        wait *= 1.8
    assert killed > 2
    done = copy(source, uri, "again.db")
    assert done.returncode == 0, done.stderr
    assert dump(source.state_dir / "again.db") == before


@pytest.mark.parametrize("how", ["signal", "server"])
def test_given_up_in_the_middle(server, destination, source, how):
    """By the user, or because the server has gone."""
    more_points(source, 20000)
    uri = server.uri(destination)
    process = begin(source, uri)
    db = psycopg2.connect(server.uri("postgres"))
    db.autocommit = True
    cursor = db.cursor()

    def is_writing():
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND "
                       "backend_xid IS NOT NULL", [destination])
        return cursor.fetchone()[0]

    until(is_writing)
    db.close()
    if how == "signal":
        process.send_signal(signal.SIGTERM)
    else:
        server.stop(signal.SIGQUIT)
        server.start()
    output, log = process.communicate(timeout=120)
    assert process.returncode == 1 and output == ""
    assert ("nothing was copied" if how == "signal" else "connection was lost") in log
    assert tables(server, destination) == "0"
    assert copy(source, "offhook.db", uri).returncode == 0


def test_progress_on_a_terminal(server, destination, source):
    leader, follower = os.openpty()
    shown = []

    def read():
        while True:
            try:
                shown.append(os.read(leader, 4096))
            except OSError:
                return

    reader = threading.Thread(target=read)
    reader.start()
    done = subprocess.run([source.program, "--config", source.conf_file, "copy", "offhook.db",
                           server.uri(destination)], stdout=subprocess.PIPE, stderr=follower,
                          timeout=300, check=False)
    os.close(follower)
    reader.join()
    os.close(leader)
    assert done.returncode == 0
    assert re.search(rb"\d+ %  copying \w+", b"".join(shown))
    assert b"%" not in done.stdout

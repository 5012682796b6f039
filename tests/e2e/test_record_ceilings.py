"""What happens at the ceilings of docs/reference/ceilings.md that a database reaches only with many rows: a
statistic, the points of a report, the files of a run, the events of a schedule."""
import contextlib
import html
import json
import os
import subprocess
import time
import uuid

import pytest
import requests
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

import stored_points
from browser import chromium, complaints
from controller import Controller, build_dir
from fake_agent import FakeAgent, evidence, registered
from receiver import Receiver
from test_api_basics import problem
from test_api_runs import T0, Rows
from test_artifacts import TIMES, scenario
from test_cli_runs import dialog

NUMBERS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "


def report_data(server, session):
    answer = server.session.get(f"{server.url}/run/details/{session}/data", auth=server.keys["admin"], timeout=60)
    assert answer.ok, answer.text
    return answer.json()


def points(rows, run, measure, count):
    """One point of an interval each, of one series"""
    rows.points(run, "caller", "in", measure, T0, [[1.0]], with_sketch=False)
    series, = rows.db.execute("SELECT id FROM series WHERE run_id = ? AND measure = ?", (run, measure)).fetchone()
    stored_points.add(rows.db, run, series, "lease", [(T0 + i, 1, 1, 1, 1, 1, 1, 1, 1, 0, None) for i in range(1, count)])


OTHER = {"t": T0 * 1000000, "mono": 0, "dir": "sent", "transport": "udp", "peer": "192.0.2.1:5060",
         "data": "OPTIONS sip:a SIP/2.0\r\nCSeq: 1 OPTIONS\r\n\r\n"}


def messages(rows, number, others, answer):
    """So many messages of no dialog, then a dialog of four. A run whose call was refused has failed."""
    run = rows.run(number, status="passed" if answer == "200 OK" else "failed")
    rows.db.executemany(
        "INSERT INTO sip_message (run_id, lease_id, role, t_us, message_json) VALUES (?, 'lease', 'caller', ?, ?)",
        [(run, m["t"], json.dumps(m)) for m in [OTHER] * others + dialog(1, "c@h", answer)])
    return run


def flaws(rows, number, others, last):
    """So many flaws that are alike, then one of this name."""
    run, flaw = rows.run(number), {"t": T0 * 1000000, "mono": 1, "kind": "flaw", "name": "many", "count": 1, "text": "t"}
    rows.db.execute(f"{NUMBERS} INSERT INTO event (run_id, lease_id, role, t_us, event_json, kind) "
                    "SELECT ?, 'lease', 'caller', 1, ?, 'flaw' FROM n", (others, run, json.dumps(flaw)))
    rows.db.execute("INSERT INTO event (run_id, lease_id, role, t_us, event_json, kind) VALUES (?, 'lease', 'caller', 1, ?, 'flaw')",
                    (run, json.dumps({**flaw, "name": last})))
    return run


@pytest.fixture(scope="module")
def server():
    with Controller(callback_allow="127.0.0.1", **TIMES) as c:
        c.pool = c.api("POST", "/agent-pools", {"name": "pool"})["agent_pool"]
        c.api("POST", "/projects", {"name": "p"})
        c.session_id = scenario(c, c.pool)
        c.agent = FakeAgent(c, c.pool["join_token"], "agent")
        c.job, = c.agent.jobs(1).values()
        assert c.agent.start(c.job).ok
        test = c.api("POST", "/tests", {
            "name": "t", "project_id": 1, "agentpool_id": 1, "steps": [[{"type": "wait", "role": "A"}]]})["test"]
        c.api("POST", "/targets", {"name": "t", "hosts": [{"host": "127.0.0.1"}]})
        c.api("POST", "/credential-pools", {"name": "a", "credentials": [{"username": "u", "password": "x"}]})
        c.schedule = c.api("POST", "/schedules", {
            "name": "s", "test_id": test["id"], "cron": "0 3 * * *", "missed": "skip"})["schedule"]["id"]
        c.run = c.api("GET", f"/runs/{c.session_id}")["run"]["id"]
        c.stop()
        rows = Rows(c)
        c.sessions = [str(uuid.UUID(int=n)) for n in (1001, 1002)]
        for number in (1001, 1002):
            rows.run(number)
        first, second = [rows.db.execute("SELECT id FROM run WHERE session_id = ?", (s,)).fetchone()[0] for s in c.sessions]
        points(rows, first, "rtp_mos", 100001)
        points(rows, second, "rtp_jitter", 200001)
        points(rows, second, "rtp_mos", 3)
        rows.db.execute(f"{NUMBERS} INSERT INTO artifact SELECT ?, 'caller', 'f' || i, 'text/plain', 1, '', 'x' || i, 0 FROM n",
                        (9999, c.run))
        rows.db.execute(f"{NUMBERS} INSERT INTO schedule_event (schedule_id, due_at, at, outcome) SELECT ?, i, i, 'missed' FROM n",
                        (100, c.schedule))
        rows.db.execute("UPDATE schedule SET next_at = 1000 WHERE id = ?", (c.schedule,))
        c.compared = [[messages(rows, 1003 + 2 * i + k, others, answer) for k, answer in enumerate(("200 OK", "603 No"))]
                      for i, others in enumerate((19996, 19997))]
        c.compared_flaws = [[flaws(rows, 1007 + 2 * i + k, others, last) for k, last in enumerate(("many", "planted"))]
                            for i, others in enumerate((49999, 50000))]
        rows.db.commit()
        rows.db.close()
        c.start()
        yield c


def test_records_of_a_statistic(server):
    path = f"/runs/{server.sessions[0]}/stats/rtp_mos"
    assert "more than 100000 records" in problem(server.request("GET", path), 422)["detail"]


def test_points_of_a_report(server):
    """The measures come by name: of the first one a point is too many, of the next all are."""
    data = report_data(server, server.sessions[1])
    series, = data["series"]
    assert (series["measure"], len(series["points"]), data["points_omitted"]) == ("rtp_jitter", 200000, 1 + 3)
    assert "points_omitted" not in report_data(server, server.sessions[0])


def test_files_of_a_run(server):
    assert server.agent.artifact(server.job, "a.txt", b"x").status_code == 201
    problem(server.agent.artifact(server.job, "b.txt", b"x"), 413)
    assert server.agent.artifact(server.job, "a.txt", b"x").status_code == 200  # one that is there


def test_events_of_a_schedule(server):
    """The turn that was missed while the controller was stopped is one more than are kept."""
    until = time.monotonic() + 60
    while True:
        db = server.open_database()
        due = [row[0] for row in db.execute("SELECT due_at FROM schedule_event WHERE schedule_id = ? ORDER BY id",
                                            (server.schedule,)).fetchall()]
        db.close()
        if due[-1] == 1000:
            break
        assert time.monotonic() < until
        time.sleep(0.05)
    assert len(due) == 100 and due[0] == 2


def test_messages_compared_between_runs(server):
    """The last of 20000 messages is compared, and one after it is not."""
    found = [server.api("GET", f"/runs/{after}/differences?with={before}") for before, after in server.compared]
    assert "603" in json.dumps(found[0]["differences"]) and found[0]["not_compared"] == []
    assert found[1]["differences"] == [] and found[1]["not_compared"] == [
        f"Not compared: SIP messages of the {run} run after the first 20000." for run in ("earlier", "later")]
    for number, told in enumerate((0, 1)):
        said = subprocess.run(
            [build_dir() / "offhook", "run", "compare", *map(str, server.compared[number])], text=True, check=False,
            stdout=subprocess.PIPE, env={**os.environ, "OFFHOOK_URL": server.witness().url, "COLUMNS": "200",
                                         "OFFHOOK_KEY": ":".join(server.keys["admin"])}).stdout
        assert said.count("Not compared: SIP messages of the earlier run after the first 20000.") == told, said


def test_reports_and_pages_say_what_was_not_compared(server):
    """Those of a failed run compare it with the last passed one of its test."""
    before, after = (server.api("GET", f"/runs/{run}")["run"]["session_id"] for run in server.compared[1])
    said = [f"Not compared: SIP messages of the {run} run after the first 20000." for run in ("earlier", "later")]
    for kind in ("junit", "markdown", "html"):
        report = server.session.get(f"{server.url}/api/v2/runs/{after}/report/{kind}", auth=server.keys["admin"], timeout=60)
        assert report.ok and [html.unescape(report.text).count(sentence) for sentence in said] == [1, 1], (kind, report.text)
    login = requests.post(f"{server.url}/setup", timeout=60, json={
        "code": (server.state_dir / "setup-code").read_text().strip(), "name": "reader", "password": "reads reports"})
    assert login.ok, login.text
    with chromium() as browser:
        browser.get(f"{server.witness().url}/healthz")  # a cookie needs a page of its site
        browser.add_cookie({"name": "offhook_session", "value": login.cookies["offhook_session"]})
        browser.get(f"{server.witness().url}/runs/compare?a={before}&b={after}")
        WebDriverWait(browser, 60).until(
            lambda b: b.find_element(By.TAG_NAME, "body").get_attribute("data-drawn") == "done")
        changed = browser.find_element(By.ID, "changed")
        assert changed.text.splitlines() == ["Nothing that is more than chance.", *said]
        assert complaints(browser) == []


def test_callback_says_what_was_not_compared(server):
    """That of a failed run, which is delivered as one that ended now is."""
    before, after = (server.api("GET", f"/runs/{run}")["run"] for run in server.compared[1])
    with Receiver() as receiver:
        test = server.api("POST", "/tests", {
            "name": "told", "project_id": 1, "agentpool_id": 1,
            "steps": [[{"type": "register", "role": "A", "target_pool": 1, "credential_pool": 1}]],
            "callback_on_failure": 1, "callback_url": receiver.url})["test"]["id"]
        waiting = server.api("POST", f"/tests/{test}/run", {})["data"]["session_id"]
        with contextlib.closing(server.open_database()) as db:
            db.execute("UPDATE run SET callback_state = 'due', callback_box = "
                       "(SELECT callback_box FROM run WHERE session_id = ?) WHERE id = ?", (waiting, after["id"]))
            db.commit()
        until = time.monotonic() + 60
        while not receiver.got:
            assert time.monotonic() < until, "no callback came"
            time.sleep(0.05)
    server.api("POST", f"/runs/{waiting}/stop", {})
    told = json.loads(receiver.got[0]["body"])
    assert (told["id"], told["differences"]) == (after["id"], []), (before, told)
    assert told["what_changed"] == " ".join(
        f"Not compared: SIP messages of the {run} run after the first 20000." for run in ("earlier", "later"))


def test_events_compared_between_runs(server):
    """The last of 50000 flaws is compared, and one after it is not."""
    found = [server.api("GET", f"/runs/{after}/differences?with={before}") for before, after in server.compared_flaws]
    assert "planted" in json.dumps(found[0]["differences"]) and found[0]["not_compared"] == [], found
    assert found[1]["differences"] == [] and found[1]["not_compared"] == [
        f"Not compared: flaws of the tester of the {run} run after the first 50000." for run in ("earlier", "later")]


def test_ranges_of_missing_uploads(server):
    """An agent whose uploads arrived with gaps is told 100 of them, and the rest when these are filled."""
    lease = server.job["lease_id"]
    for n in range(2, 205, 2):
        assert server.agent.upload(server.job, "events", [evidence()], n).ok
    answer = server.agent.finish(server.job, last_seq=204)
    assert answer.status_code == 409, answer.text
    assert answer.json()["missing"] == [[n, n] for n in range(1, 201, 2)]
    for n in range(1, 201, 2):
        assert server.agent.upload(server.job, "events", [evidence()], n).ok
    answer = server.agent.finish(server.job, last_seq=204)
    assert answer.status_code == 409 and answer.json()["missing"] == [[201, 201], [203, 203]], (lease, answer.text)


def test_calls_of_an_earlier_run(server):
    """A regression condition reads 100000 calls of it."""
    test = server.api("POST", "/tests", {
        "name": "r", "project_id": 1, "agentpool_id": 1, "steps": [[
            {"type": "register", "role": "caller", "target_pool": 1, "credential_pool": 1}]],
        "conditions": [{"role": "caller", "condition_type": "caller-regression-conditions", "conditions": [
            {"figure": "answer_seizure_ratio", "margin": "30", "runs": 1}]}]})["test"]["id"]
    call = {"t": T0 * 1000000, "mono": 1, "kind": "call", "call": "caller-0", "established": True, "streams": []}
    earlier, verdicts = None, []
    for more in (0, 99999, 1):
        with contextlib.closing(server.open_database()) as db:
            db.execute(f"{NUMBERS} INSERT INTO event (run_id, lease_id, role, t_us, event_json, kind) "
                       "SELECT ?, 'lease', 'caller', 1, ?, 'call' FROM n WHERE i <= ?", (max(more, 1), earlier, json.dumps(call), more))
            db.commit()
        session = server.api("POST", f"/tests/{test}/run", {})["data"]["session_id"]
        job, = server.agent.jobs(1).values()
        assert server.agent.start(job).ok
        assert server.agent.upload(job, "events", [*registered("u"), call, evidence()], 1).ok
        assert server.agent.finish(job, last_seq=1).ok
        until = time.monotonic() + 60
        while (run := server.api("GET", f"/runs/{session}")["run"])["status"] == "running":
            assert time.monotonic() < until
            time.sleep(0.05)
        earlier = earlier or run["id"]
        verdicts += [v["actual"] for v in run["verdicts"] if v["condition_type"].startswith("caller-regression")]
    assert "no run has passed before" in verdicts[0]
    # of 100000, and of 100001
    assert ["before 100.00 % over 100000 calls" in v for v in verdicts[1:]] == [True, True], verdicts

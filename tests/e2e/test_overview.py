"""States of tests, and the overview: what is broken since when, trends, changes."""
import itertools
import time
import uuid

import pytest

from controller import Controller
from fake_agent import FakeAgent, point
from test_api_basics import problem

DAY_MS = 86400000
HOUR_MS = 3600000
WORDS = {"p": "passed", "f": "failed", "e": "errored", "s": "stopped"}
NOW = int(time.time() * 1000)
# name: (verdicts, oldest first; state, changes, streak, index of the first run)
HISTORIES = {
    "passes": ("ppppp", "passed", 0, 5, 0),
    "fails once": ("pppf", "failed", 1, 1, 3),
    "fails, one not judged": ("ppffef", "failed", 1, 3, 2),
    "fails, one stopped": ("pffsf", "failed", 1, 3, 1),
    "fails for long": ("p" + 30 * "f", "failed", 0, 30, 1),
    "always failed": (25 * "f", "failed", 0, 25, 0),
    "flaky, passes": ("pppfp", "flaky", 2, 1, 3),
    "flaky, fails": ("fpfpf", "flaky", 4, 1, 1),
    "was flaky, fails": ("pfpfff", "failed", 3, 3, 3),
    "changes are old": ("pfpf" + 21 * "p", "passed", 0, 21, 4),
    "not judged": ("ppee", "errored", 0, 2, 2),
    "was stopped": ("pps", "passed", 0, 2, 0),
    "only stopped": ("s", "stopped", 0, 0, None),
    "never run": ("", "never_run", 0, 0, None),
}


class Store:
    """Rows as a controller leaves them, while none runs."""

    def __init__(self, c):
        self.db = c.open_database()
        self.ids = itertools.count(1)
        self.tests = {}  # name -> (id, [run ids])

    def test(self, name, updated_at=0, tags="[]"):
        number = len(self.tests) + 1
        self.db.execute(
            "INSERT INTO test (id, project_id, name, tags_json, scenario, agentpool_id,"
            " steps_json, created_at, updated_at) VALUES (?,1,?,?,'custom',1,"
            "'[[{\"type\":\"wait\",\"role\":\"caller\"}]]',0,?)",
            (number, name, tags, updated_at))
        self.tests[name] = (number, [])

    def run(self, test, status, ended=NOW - 1000, **more):
        number, session = next(self.ids), str(uuid.uuid4())
        of, runs = self.tests[test]
        runs.append(number)
        self.db.execute(
            "INSERT INTO run (id, session_id, test_id, test_name, testcase_name, project_id,"
            " project_name, agentpool_id, agentpool_name, phase, status, result_description,"
            " conditions_json, record, interval_s, max_duration_s, created_at, started_at,"
            " stopped_at) VALUES (?,?,?,?,'custom',1,'one',1,'pool','done',?,?,'[]','sip',10,60,"
            "?,?,?)", (number, session, of, test, status,
                       "" if status == "passed" else f"{status}: reason {number}",
                       ended - 60000, ended - 60000, ended))
        values = {"test_print": None, "mos": None, "pdd_ms": None, "register_ms": None, **more}
        self.db.execute(
            "INSERT INTO run_verdict (test_id, run_id, session_id, status, test_print,"
            " created_at, started_at, stopped_at, mos, pdd_ms, register_ms)"
            " VALUES (?,?,?,?,?,?,?,?,?,?,?)",
            (of, number, session, status, values["test_print"], ended - 60000, ended - 60000,
             ended, values["mos"], values["pdd_ms"], values["register_ms"]))

    def close(self):
        self.db.commit()
        self.db.close()


def fill(store):
    store.db.execute("INSERT INTO project (id, name, created_at, updated_at)"
                     " VALUES (1,'one',0,0)")
    store.db.execute("INSERT INTO agent_pool (id, name, join_token_hash, created_at, updated_at)"
                     " VALUES (1,'pool',?,0,0)", (b"\0",))
    for name, (verdicts, *_) in HISTORIES.items():
        store.test(name, tags='["a tag"]' if "flaky" in name else "[]")
        for v in verdicts:
            store.run(name, WORDS[v])
    store.test("changed", updated_at=NOW)
    for v in "pfpf":
        store.run("changed", WORDS[v])
    store.test("overridden")
    for v, made in zip("pfpfp", "xyxyx"):
        store.run("overridden", WORDS[v], test_print=made)
    store.test("fails at night")  # every eight hours, before the days of the trend
    for i in range(21):
        store.run("fails at night", "passed" if i % 3 else "failed",
                  (NOW // DAY_MS - 30) * DAY_MS + (8 * i + 2) * HOUR_MS + 120000)
    store.test("trend")
    for day in range(3):
        for i in range(20):
            store.run("trend", "failed" if i == 0 and day == 0 else "passed",
                      NOW - 1000 - day * DAY_MS, mos=4 + i / 100, pdd_ms=100 + i,
                      register_ms=None if day else 30.0)


@pytest.fixture(scope="module")
def lab():
    c = Controller(poll_s=1, renew_s=2, lease_s=30)
    c.create_key()
    store = Store(c)
    fill(store)
    store.close()
    with c:
        c.tests = store.tests
        yield c


def verdicts(c, query=""):
    return c.api("GET", f"/tests/verdicts?count=1000{query}")


def of(c, name):
    found, = [v for v in verdicts(c)["verdicts"] if v["test_name"] == name]
    return found


@pytest.mark.parametrize("name", HISTORIES)
def test_state(lab, name):
    words, state, changes, streak, first = HISTORIES[name]
    runs = lab.tests[name][1]
    found = of(lab, name)
    assert (found["state"], found["changes"], found["streak"]) == (state, changes, streak)
    assert found["flaky"] == (changes >= 2)
    assert [r["id"] for r in found["runs"]] == runs[::-1][:21]
    assert [r["status"] for r in found["runs"]] == [WORDS[v] for v in words[::-1]][:21]
    if not runs:
        assert found["last"] is None
    else:
        assert found["last"]["id"] == runs[-1]
    if first is None:
        assert found["first"] is found["since"] is None
    else:
        assert found["first"]["id"] == runs[first]
        assert found["since"] == found["first"]["started_at"]
    bad = [n for n, v in zip(runs, words) if v in "fe"]
    if state in ("failed", "flaky", "errored"):
        assert found["cause"].endswith(f": reason {bad[-1]}")
    else:
        assert found["cause"] is None


def test_only_runs_of_the_same_test_make_it_flaky(lab):
    """The steps or conditions were changed in between, or overridden."""
    assert (of(lab, "changed")["state"], of(lab, "changed")["changes"]) == ("failed", 0)
    assert (of(lab, "overridden")["state"], of(lab, "overridden")["changes"]) == ("passed", 0)


def test_failures_of_one_hour(lab):
    assert of(lab, "fails at night")["state"] == "flaky"
    found = lab.api("GET", f"/tests/{lab.tests['fails at night'][0]}/flakiness")["flakiness"]
    assert found["sentence"] == \
        "7 of 7 failed runs started in the hours 02:00 to 03:00 UTC, 0 of 14 passed runs did."
    assert [c["attribute"] for c in found["common"]] == ["hour"]


def test_the_worst_come_first_and_filters_narrow(lab):
    page = verdicts(lab)
    order = ["failed", "flaky", "errored", "stopped", "never_run", "passed"]
    states = [v["state"] for v in page["verdicts"]]
    assert states == sorted(states, key=order.index)
    assert page["states"] == {s: states.count(s) for s in order}
    assert page["total"] == len(states) == len(lab.tests)
    failed = verdicts(lab, "&state=failed")
    names = [v["test_name"] for v in failed["verdicts"]]
    assert names == sorted(names, key=str.lower) and len(names) == states.count("failed")
    assert failed["states"] == page["states"]
    tagged = verdicts(lab, "&tag=a%20tag&name=FLAKY,&project=one")
    assert {v["test_name"] for v in tagged["verdicts"]} == {
        "flaky, passes", "flaky, fails", "was flaky, fails"}
    assert verdicts(lab, "&project=two")["total"] == 0
    two = lab.api("GET", "/tests/verdicts?start=2&count=2")
    assert two["verdicts"] == page["verdicts"][2:4] and two["total"] == page["total"]
    problem(lab.request("GET", "/tests/verdicts?state=queued"), 422)


def test_overview(lab):
    overview = lab.api("GET", "/overview")["overview"]
    page = verdicts(lab)
    assert overview["tests"] == page["states"]
    assert overview["broken"] == [v for v in page["verdicts"]
                                  if v["state"] in ("failed", "flaky", "errored")]
    assert overview["passing"][0]["test_name"] == "trend"
    assert {v["state"] for v in overview["passing"]} == {"passed"}
    assert overview["agents_total"] == len(overview["agents"])
    assert overview["next"] == []


def day_of(seconds):
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))


def until_the_rows(days):
    """A trend up to the day of the newest rows: midnight may have passed since they were made."""
    return days[:[d["day"] for d in days].index(day_of(NOW / 1000 - 1)) + 1]


def test_trend(lab):
    days = lab.api("GET", "/overview")["overview"]["trend"]
    until = time.time()
    assert [d["day"] for d in days] in ([
        day_of(t - 86400 * i) for i in range(13, -1, -1)] for t in (NOW / 1000, until))
    days = until_the_rows(days)
    assert (days[0]["runs"], days[0]["pass_rate"], days[0]["mos"]) == (0, None, None)
    before = days[-2]
    assert (before["runs"], before["passed"], before["pass_rate"]) == (20, 20, 100)
    # of 20 values the lowest is the 5th percentile, the 19th the 95th
    assert (before["mos"], before["pdd_ms"], before["register_ms"]) == (4, 118, None)
    assert days[-1]["register_ms"] == 30
    judged = days[-1]["passed"] + days[-1]["failed"]
    assert days[-1]["pass_rate"] == pytest.approx(100 * days[-1]["passed"] / judged, abs=1e-3)


def test_an_unchanged_overview_is_not_sent_again(lab):
    tag = lab.request("GET", "/overview").headers["ETag"]
    assert lab.request("GET", "/overview", headers={"If-None-Match": tag}).status_code == 304
    made = lab.api("POST", "/projects", {"name": "new"})["project"]
    again = lab.request("GET", "/overview", headers={"If-None-Match": tag})
    assert again.status_code == 200 and again.headers["ETag"] != tag
    change = again.json()["overview"]["changes"][0]
    assert change == {"kind": "projects", "id": made["id"], "name": "new", "created": 1,
                      "at": made["updated_at"]}


def test_a_run_becomes_a_verdict_with_its_figures(lab):
    """From the start to the overview, with every cache filled before."""
    made = {kind: lab.api("POST", f"/{kind}", body) for kind, body in (
        ("agent-pools", {"name": "with an agent"}), ("targets", {
            "name": "t", "hosts": [{"host": "127.0.0.1"}]}),
        ("credential-pools", {"name": "c", "credentials": [{"username": "1001"}]}))}
    pool = made["agent-pools"]["agent_pool"]
    test = lab.api("POST", "/tests", {
        "name": "runs here", "project_id": 1, "agentpool_id": pool["id"], "steps": [[
            {"type": "register", "role": "caller", "target_pool": made["targets"]["target"]["id"],
             "credential_pool": made["credential-pools"]["credential_pool"]["id"]}]]})["test"]
    assert of(lab, "runs here")["state"] == "never_run"
    run = lab.api("POST", f"/tests/{test['id']}/run")["data"]["session_id"]
    running, = lab.api("GET", "/overview")["overview"]["running"]
    assert (running["session_id"], running["test_id"]) == (run, test["id"])
    agent = FakeAgent(lab, pool["join_token"], "agent")
    job, = agent.jobs(1).values()
    assert agent.start(job).ok
    series = [point("caller", NOW // 1000, v, m, d) for m, d, v in (
        ("rtp_mos", "in", 4.0), ("rtp_mos", "out", 1.0), ("sip_pdd", "out", 212.0),
        ("sip_register_time", "out", 38.0))]
    assert agent.upload(job, "stats", series).ok
    assert agent.finish(job, "failed", "404").ok
    until = time.monotonic() + 60
    while of(lab, "runs here")["state"] != "failed":
        assert time.monotonic() < until
        time.sleep(0.05)
    found = of(lab, "runs here")
    last = found["last"]
    assert (last["session_id"], last["mos"], last["pdd_ms"], last["register_ms"]) == (
        run, 4, 212, 38)
    assert found["cause"] == last["result_description"] != ""
    assert lab.api("GET", "/overview")["overview"]["running_total"] == 0
    lab.request("DELETE", f"/runs/{run}").raise_for_status()
    assert of(lab, "runs here")["state"] == "never_run"

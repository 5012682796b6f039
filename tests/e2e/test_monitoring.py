"""Monitoring: metrics of each test, alert rules, and the dashboard, by a real Prometheus."""
import json
import re
import sqlite3
import subprocess
import time

import pytest
import requests

from controller import ROOT, Controller
from fake_agent import point
from ports import PortBlock
from test_api_project_runs import TIMES, Lab, user_of
from test_metrics import metrics
from worker import Worker

FOLDER = ROOT / "monitoring"
MEASURED = "measured"
# What a run of MEASURED uploads: (direction, measure, values); `out` streams do not count.
POINTS = [("in", "rtp_mos", (4.0, 3.0)), ("out", "rtp_mos", (1.0,)), ("in", "rtp_lost_pct", (1.0, 4.0)),
          ("out", "rtp_lost_pct", (90.0,)), ("out", "sip_pdd", (100.0, 500.0))]


class MeasuredWorker(Worker):
    """Uploads POINTS with the runs of the user MEASURED."""

    def _carry_out(self, job):
        begin = self.agent.start

        def start(job):
            answer = begin(job)
            if answer.ok and user_of(job["spec"]) == MEASURED:
                now = int(time.time())
                assert self.agent.upload(job, "stats", [
                    point("caller", now + 10 * i, value, measure, direction)
                    for direction, measure, values in POINTS
                    for i, value in enumerate(values)]).ok
            return answer

        self.agent.start = start
        try:
            super()._carry_out(job)
        finally:
            self.agent.start = begin


def verdict(spec):
    """A run ends as its user's name says, or as the test wants."""
    user = user_of(spec)
    return "passed" if user == MEASURED else user


class Watched(Lab):
    def run(self, test):
        """@return how a run of the test ended"""
        session = self.c.api("POST", f"/tests/{test}/run", {})["data"]["session_id"]
        self.waits_for(lambda: self.c.api("GET", f"/runs/{session}")["run"]["is_finished"] == 1, 60)
        return self.c.api("GET", f"/runs/{session}")["run"]

    def shown(self, test, project):
        """The metrics of a test: {name or verdict: value}."""
        labels = f'project="{project}",test="{test}"'
        found = {}
        for (name, group), value in metrics(self.c).items():
            if group == labels:
                found[name.removeprefix("offhook_test_")] = value
            elif group and group.startswith(labels + ",verdict="):
                found[group.split('"')[-2]] = value
        return found


@pytest.fixture(scope="module")
def lab():
    with Controller(**TIMES) as c:
        made = Watched(c)
        made.name, made.tests = 'a "b" \\ c', {}
        made.project_id = made.make("projects", name=made.name)
        for user in (MEASURED, "failed", "error"):
            made.tests[user] = made.test(made.project_id, user, user)
        with MeasuredWorker(c, made.token, verdict) as worker:
            made.worker = worker
            for user in made.tests:
                made.run(made.tests[user])
            yield made


ESCAPED = 'a \\"b\\" \\\\ c'


def test_last_run_of_each_test(lab):
    shown = lab.shown("test measured", ESCAPED)
    assert abs(shown.pop("last_run_seconds") - time.time()) < 3600
    assert 0 <= shown.pop("duration_seconds") < 3600
    assert shown == {
        "passed": 1, "failed": 0, "errored": 0, "mos": 3.5, "mos_min": 3, "loss_ratio": 0.025,
        "post_dial_delay_seconds": 0.3, "post_dial_delay_max_seconds": 0.5}
    for user, expected in (("failed", "failed"), ("error", "errored")):
        shown = lab.shown(f"test {user}", ESCAPED)
        # no stream, no call: no figure, not 0
        assert set(shown) == {"passed", "failed", "errored", "last_run_seconds", "duration_seconds"}
        assert [v for v in ("passed", "failed", "errored") if shown[v]] == [expected]


def test_names_follow_and_the_deleted_disappear(lab):
    project, [test] = lab.project("failed")
    name, of = f"test {lab.count}-0", f"project <{lab.count}>"
    assert lab.shown(name, of) == {}  # it has not run
    lab.run(test)
    assert lab.shown(name, of)["failed"] == 1
    record = lab.c.api("GET", f"/tests/{test}")["test"]
    lab.c.api("PUT", f"/tests/{test}", {**{k: record[k] for k in (
        "project_id", "agentpool_id", "steps")}, "name": "renamed"})
    lab.c.api("PUT", f"/projects/{project}", {"name": "other"})
    assert lab.shown(name, of) == {} and lab.shown("renamed", "other")["failed"] == 1
    lab.c.api("DELETE", f"/tests/{test}")
    assert not any("renamed" in (group or "") for _, group in metrics(lab.c))


def test_only_final_verdicts_count(lab):
    """A stopped run has no verdict; a failed attempt that is tried again is not the last word."""
    project = lab.make("projects", name="final")
    test = lab.test(project, "final", "failed", retries_on_failure=1)
    outcomes, lab.worker.verdict = iter(["passed", "hold", "failed", "hold"]), lambda spec: next(outcomes)
    try:
        lab.run(test)
        assert lab.shown("test final", "final")["passed"] == 1
        started = metrics(lab.c)
        session = lab.c.api("POST", f"/tests/{test}/run", {})["data"]["session_id"]
        lab.waits_for(lambda: ("offhook_runs_active", "running") in metrics(lab.c))
        lab.c.api("POST", f"/runs/{session}/stop")
        lab.waits_for(lambda: lab.c.api("GET", f"/runs/{session}")["run"]["is_finished"] == 1)
        assert lab.shown("test final", "final")["passed"] == 1
        session = lab.c.api("POST", f"/tests/{test}/run", {})["data"]["session_id"]
        lab.waits_for(lambda: lab.c.api("GET", f"/runs/{session}")["run"]["retried_by"], 60)
        assert lab.shown("test final", "final")["passed"] == 1  # the second attempt is on
        lab.c.api("POST", f"/runs/{session}/stop")
        lab.waits_for(lambda: ("offhook_runs_active", "running") not in metrics(lab.c))
        assert lab.shown("test final", "final")["passed"] == 1
        assert ("offhook_tests", None) in started
    finally:
        lab.worker.verdict = verdict


def test_the_number_of_tests_is_bounded():
    """With 1007 tests and 100 000 runs: the first 1000 tests are shown, the others counted."""
    with Controller(**TIMES) as c:
        made = Lab(c)
        project, [test] = made.project("passed")
        with sqlite3.connect(c.state_dir / "offhook.db", timeout=60) as db:
            columns = [row[1] for row in db.execute("PRAGMA table_info(test)")
                       if row[1] not in ("id", "name")]
            db.execute(f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1006) "
                       f"INSERT INTO test (name, {', '.join(columns)}) "
                       f"SELECT 'n' || i, {', '.join(columns)} FROM test, n WHERE test.id = ?", (test,))
            db.execute(
                "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999) "
                "INSERT INTO run (session_id, test_id, test_name, testcase_name, project_name, "
                "agentpool_id, agentpool_name, phase, status, conditions_json, record, interval_s, "
                "max_duration_s, created_at, started_at, stopped_at) SELECT 's' || i, ? + i % 1007, "
                "'x', 'custom', 'p', 1, 'pool', 'done', CASE WHEN i < 98993 THEN 'failed' ELSE "
                "'passed' END, '[]', 'sip', 10, 60, i, i, i + 2500 FROM n", (test,))
        before = time.monotonic()
        now = metrics(c)
        print(f"metrics of 100 000 runs: {time.monotonic() - before:.3f} s")
        assert (now["offhook_tests", None], now["offhook_tests_omitted", None]) == (1007, 7)
        values = [v for (name, _), v in now.items() if name == "offhook_test_duration_seconds"]
        assert values == [2.5] * 1000
        passed = [v for (name, group), v in now.items()
                  if name == "offhook_test_verdict" and group.endswith('verdict="passed"')]
        assert passed == [1] * 1000


def test_the_page_tells_every_metric(lab):
    text = (ROOT / "docs/reference/metrics.md").read_text()
    told = set()
    for first, more in re.findall(r"(?m)^\| `((?:offhook|process)_\w+)(?:\{[\w,]+\})?`((?:, `\w+`)*)", text):
        told |= {first, *re.findall(r"`(\w+)`", more)}
    # histograms have three names
    shown = {re.sub("_seconds_(bucket|sum|count)$", "_seconds", name) for name, _ in metrics(lab.c)}
    may_be_absent = {"offhook_runs_active"}
    assert told - may_be_absent <= shown <= told, told ^ shown


# ---- Prometheus ----


class Prometheus:
    """Scrapes one controller each second; it ends with the test."""

    def __init__(self, controller, folder):
        self.ports = PortBlock()
        self.url = f"http://127.0.0.1:{self.ports.http}"
        key, secret = controller.keys["admin"]
        conf = folder / "prometheus.yml"
        conf.write_text(json.dumps({  # JSON is YAML
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(FOLDER / "alerts.yml")],
            "scrape_configs": [{
                "job_name": "offhook", "basic_auth": {"username": key, "password": secret},
                "static_configs": [{"targets": [controller.witness().url.split("//")[1]]}]}]}))
        self.log = open(folder / "prometheus.log", "w+")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={conf}", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address=127.0.0.1:{self.ports.http}"], stdout=self.log, stderr=self.log)

    def get(self, path, **params):
        answer = requests.get(f"{self.url}/api/v1/{path}", params=params, timeout=60)
        if answer.status_code == 503:  # its storage is not open yet
            raise requests.ConnectionError(answer.text)
        assert answer.ok, f"{params}: {answer.text}"
        body = answer.json()
        assert body["status"] == "success" and not body.get("warnings"), body
        return body["data"]

    def query(self, expr):
        return self.get("query", query=expr)["result"]

    def found(self, expr):
        """What a query that is not empty finds. Without the answer to its last scrape within 1 s, Prometheus knows
        no current value."""
        return self.waits_for(lambda: self.query(expr))

    def waits_for(self, condition, timeout=90):
        until = time.monotonic() + timeout
        while True:
            try:
                if found := condition():
                    return found
            except requests.ConnectionError:  # it is starting
                pass
            if self.process.poll() is not None or time.monotonic() > until:
                self.log.seek(0)
                raise AssertionError("not within the time:\n" + self.log.read()[-4000:])
            time.sleep(0.2)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.terminate()
        self.process.wait(60)
        self.log.close()
        self.ports.close()


@pytest.fixture(scope="module")
def prometheus(lab, tmp_path_factory):
    with Prometheus(lab.c, tmp_path_factory.mktemp("prometheus")) as p:
        # rates need two scrapes
        p.waits_for(lambda: p.query("count_over_time(offhook_tests[5m]) >= 3"))
        yield p


def dashboard():
    return json.loads((FOLDER / "grafana.json").read_text())


def queries():
    return [(panel["title"], target["expr"]) for panel in dashboard()["panels"]
            for target in panel.get("targets", [])]


# Queries that are empty here, each with the reason.
EMPTY = {"sum by (phase) (offhook_runs_active)": "no run is in progress"}


def test_every_query_of_the_dashboard_is_answered(prometheus):
    assert len(queries()) > 20
    for title, expr in queries():
        asked = expr.replace("$__rate_interval", "1m").replace("$project", ".*").replace("$test", ".*")
        assert "$" not in asked, title
        if expr in EMPTY:
            assert prometheus.found("offhook_tests") and prometheus.query(asked) == [], (title, asked)
        else:
            print(title, asked)
            prometheus.found(asked)


def test_the_variables_of_the_dashboard_have_values(prometheus):
    asked = [v["query"] for v in dashboard()["templating"]["list"] if v["type"] == "query"]
    assert len(asked) == 2
    for text in asked:
        series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", text).groups()
        assert prometheus.get(f"label/{label}/values", **{"match[]": series.replace("$project", ".*")})
    names = {(s["metric"]["project"], s["metric"]["test"]) for s in prometheus.found("offhook_test_mos")}
    assert names == {('a "b" \\ c', "test measured")}  # unescaped: as it is called


def test_the_panels_of_the_dashboard_fit():
    panels = dashboard()["panels"]
    assert len({p["id"] for p in panels}) == len(panels)
    taken = set()
    for p in panels:
        at = p["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken and at["x"] + at["w"] <= 24, p["title"]
        taken |= cells


def test_alerts_of_a_real_controller(lab, prometheus):
    """Every rule is evaluated without an error, and those of this controller fire."""
    def rules():
        found = [r for g in prometheus.get("rules")["groups"] for r in g["rules"]]
        return found if all(r["health"] == "ok" for r in found) else None
    assert len(prometheus.waits_for(rules)) == 13

    def firing():
        return {(a["labels"]["alertname"], a["labels"].get("test")) for a in
                prometheus.get("alerts")["alerts"] if a["state"] == "firing"}
    expected = {("OffhookTestFailed", "test failed"), ("OffhookTestErrored", "test error"),
                ("OffhookTestQualityLow", "test measured"), ("OffhookTestLossHigh", "test measured")}
    prometheus.waits_for(lambda: expected <= firing())
    assert not {name for name, _ in firing()} - {name for name, _ in expected}


def test_promtool_accepts_rules_and_their_tests():
    for command in (["check", "rules", "alerts.yml"], ["test", "rules", "alerts-test.yml"]):
        done = subprocess.run(["promtool", *command], cwd=FOLDER, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
    rules = set(re.findall(r"- alert: (\w+)", (FOLDER / "alerts.yml").read_text()))
    tested = (FOLDER / "alerts-test.yml").read_text()
    fired = {name for name in rules
             if re.search(rf"alertname: {name}\n\s+exp_alerts:\n\s+- exp_labels", tested)}
    assert fired == rules  # each is seen firing


def test_metrics_pass_promtool(lab):
    text = lab.c.session.get(f"{lab.c.url}/metrics", auth=lab.c.keys["admin"], timeout=60).text
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr

"""`offhook run` and `offhook key` with a controller."""
import concurrent.futures
import json
import os
import re
import signal
import subprocess
import time

import pytest

from controller import Controller
from fake_agent import FakeAgent, evidence, good_call, point, registered
from terminal import on_terminal
from test_api_project_runs import TIMES

T0 = 1700000000
ESCAPE = "\x1b[2J"
PROXY = "198.51.100.7:5060"


def message(at_ms, direction, first, method, call_id, sdp=False):
    headers = [first, "Via: SIP/2.0/UDP h;branch=z9hG4bK1", f"Call-ID: {call_id}",
               f"CSeq: 7 {method}", *(["Content-Type: application/sdp"] if sdp else []), "", ""]
    return {"t": T0 * 1000000 + at_ms * 1000, "mono": at_ms, "dir": direction, "transport": "udp",
            "local": "192.0.2.1:5062", "peer": PROXY, "data": "\r\n".join(headers)}


def dialog(at_ms, call_id, answer="200 OK"):
    request = "REGISTER sip:example.org SIP/2.0"
    return [message(at_ms, "sent", request, "REGISTER", call_id),
            message(at_ms + 1, "received", "SIP/2.0 401 Unauthorized", "REGISTER", call_id),
            message(at_ms + 2, "sent", request, "REGISTER", call_id),
            message(at_ms + 3, "received", f"SIP/2.0 {answer}", "REGISTER", call_id)]


class Lab:
    """A controller with runs whose results the tests made up."""

    def __init__(self, c):
        self.c = c
        self.pool = c.api("POST", "/agent-pools", {"name": "pool"})["agent_pool"]
        self.agent = FakeAgent(c, self.pool["join_token"], "agent")

    def start(self, **more):
        self.c.api("POST", "/tests/scenarios/registration", {
            "agentpool_id": self.pool["id"], "target": "sip:127.0.0.1", "username": "1001",
            "password": "x", **more,
            # this agent does not report that it unregisters
            "conditions": [{"role": "caller", "condition_type": "caller-sipclient-state-conditions",
                            "conditions": []}]})
        job, = self.agent.jobs(1).values()
        assert self.agent.start(job).ok
        return job

    def finish(self, job):
        assert self.agent.finish(job).ok
        until = time.monotonic() + 60
        while True:
            run = self.c.api("GET", f"/runs/{job['session_id']}/status")["run"]
            if run["status"] != "running":
                return run
            assert time.monotonic() < until
            time.sleep(0.02)

    def run(self, events, messages, jitter, **more):
        job = self.start(**more)
        agent, role = self.agent, job["role"]
        assert agent.upload(job, "events", [*events, evidence()]).ok
        assert agent.upload(job, "sip", messages).ok
        assert agent.upload(job, "stats", [point(role, T0 + 10 * i, jitter + i)
                                           for i in range(3)]).ok
        assert agent.artifact(job, "notes.txt", b"noted").ok
        return self.finish(job)


@pytest.fixture(scope="module")
def lab():
    with Controller(**TIMES) as c:
        lab = Lab(c)
        call = good_call("caller", "1001", "1002", True)
        lab.good = lab.run(registered("1001") + call, dialog(0, "a@h") + dialog(50, "b@h"), 1.5,
                           tags=["nightly"])
        lab.bad = lab.run([{**registered("1001")[1], "ok": False, "code": 403, "reason": ESCAPE}],
                          dialog(0, "c@h", f"403 {ESCAPE}Forbidden"), 20.25)
        yield lab


@pytest.fixture
def offhook(build, tmp_path, lab):
    command = [build / "offhook"]
    environment = {**os.environ, "OFFHOOK_URL": lab.c.witness().url, "TERM": "xterm",
                   "OFFHOOK_KEY": ":".join(lab.c.keys["admin"])}

    def run(*arguments, status=0):
        done = subprocess.run([*command, *map(str, arguments)], text=True, capture_output=True,
                              timeout=90, cwd=tmp_path, env=environment)
        assert done.returncode == status, done.stdout + done.stderr
        assert lab.c.keys["admin"][1] not in done.stdout + done.stderr
        run.output, run.errors = done.stdout, done.stderr
        return done.stdout if status == 0 else done.stderr

    def terminal(*arguments, status=0, keys=""):
        """The same on a terminal of 80 columns. @return its lines"""
        found, text = on_terminal([*command, *arguments], tmp_path, environment, keys)
        assert found == status, text
        return text.splitlines()

    run.terminal = terminal
    return run


def test_list_and_its_filters(offhook, lab):
    lines = offhook("run", "list").splitlines()
    assert lines[0].split() == ["id", "status", "test", "project", "started", "(UTC)", "took",
                                "result"]
    assert [line.split()[:2] for line in lines[1:]] == [
        [str(lab.bad["id"]), "failed"], [str(lab.good["id"]), "passed"]]
    assert lab.bad["result_description"] in lines[1].replace("?[2J", ESCAPE)

    def ids(*options):
        return [run["id"] for run in json.loads(offhook("run", "list", "--json", *options))]

    assert ids() == [lab.bad["id"], lab.good["id"]]
    assert ids("--status", "failed") == ids("--count", 1) == [lab.bad["id"]]
    assert ids("--tag", "nightly") == ids("--filter", "has_passed=1") == [lab.good["id"]]
    assert ids("--pool", "pool", "--status", "passed") == [lab.good["id"]]
    assert ids("--since", "1h") == ids() and ids("--until", "1h") == []
    assert ids("--since", "2099-01-01") == ids("--test", "no & such") == []
    assert "2026-01-31" in offhook("run", "list", "--since", "yesterday", status=2)
    assert "COLUMN=VALUE" in offhook("run", "list", "--filter", "x", status=2)
    assert "filtername" in offhook("run", "list", "--filter", "x=y", status=3)
    assert len(offhook("run", "list", "--status", "errored").splitlines()) == 1


def test_lists_fit_a_terminal(offhook, lab):
    lab.c.api("POST", "/targets", {"name": "long " * 20, "hosts": [{"host": "127.0.0.1"}]})
    for kind in ("run", "target", "agent", "key", "scenario", "schedule"):
        lines = offhook.terminal(kind, "list")
        assert lines and all(len(line) <= 80 for line in lines), lines
    assert "…" in "".join(offhook.terminal("target", "list"))
    assert "long " * 20 in offhook("target", "list")


def test_stats(offhook, lab):
    text = offhook("run", "stats", lab.good["id"])
    calls, measures = text.split("\n\n")
    assert re.search(r"(?m)^caller +1 +1 +0 ", calls)
    role, = {s["role"] for s in json.loads(
        offhook("run", "stats", lab.good["id"], "--json"))["measures"]}
    assert re.search(rf"(?m)^rtp_jitter +{role} +in +ms +30 +1\.5 +2\.5 +3\.5$", measures)
    intervals = offhook("run", "stats", lab.good["session_id"], "rtp_jitter").splitlines()
    assert len(intervals) == 4 and intervals[3].split()[-1] == "3.5"
    assert len(offhook("run", "stats", lab.good["id"], "rtp_jitter", "--dir", "in", "--role",
                       role).splitlines()) == 4
    assert "nothing" in offhook("run", "stats", lab.good["id"], "rtp_mos")
    assert "rtp_jitter" not in offhook("run", "stats", lab.good["id"], "--dir", "out")
    assert all(len(line) <= 80 for line in offhook.terminal("run", "stats", lab.good["id"]))


def test_ladder(offhook, lab):
    lines = offhook("run", "ladder", lab.good["id"]).splitlines()
    assert lines[0] == "Call-ID a@h"
    assert lines[1].startswith("2 dialogs with these messages")
    role, peer = lines[2].split()[1:]
    assert peer == PROXY
    assert re.fullmatch(r" +0\.0  \|-+ REGISTER -+>\|", lines[3])
    assert re.fullmatch(r" +1\.0  \|<-+ 401 Unauthorized \(REGISTER\) -+\|", lines[4])
    assert len(lines) == 7
    folded, = json.loads(offhook("run", "ladder", lab.good["id"], "--json"))
    assert folded["dialogs"] == 2 and folded["messages"][0] == {
        "t_ms": 0, "from": role, "to": PROXY, "label": "REGISTER"}
    lines = offhook.terminal("run", "ladder", lab.bad["id"])
    assert all(len(line) <= 80 for line in lines)
    assert "403 ?[2JForbidden" in lines[-1]


def test_download(offhook, lab, tmp_path):
    saved = offhook("run", "download", lab.good["id"], "there").split()
    assert {os.path.basename(name) for name in saved} >= {
        "sip.txt", "sip.pcap", "packets.pcapng", "stats.csv", "junit.xml", "report.markdown", "report.html"}
    notes, = [name for name in saved if name.endswith("-notes.txt")]
    assert (tmp_path / notes).read_bytes() == b"noted"
    assert "<testsuites" in (tmp_path / "there/junit.xml").read_text()
    assert sorted(os.listdir(tmp_path / "there")) == sorted(map(os.path.basename, saved))
    (tmp_path / notes).write_text("mine")
    assert "--force" in offhook("run", "download", lab.good["id"], "there", status=3)
    assert (tmp_path / notes).read_text() == "mine"
    offhook("run", "download", lab.good["id"], "there", "--force")
    assert (tmp_path / notes).read_bytes() == b"noted"
    assert len(os.listdir(tmp_path / "there")) == len(saved)
    assert offhook("run", "download", lab.bad["id"]).startswith(f"run-{lab.bad['id']}/")
    # without --force and with a file in the way
    assert offhook("artifact", "save", lab.good["id"], "saved") == notes.replace(
        "there", "saved") + "\n"
    assert "File exists" in offhook("artifact", "save", lab.good["id"], "saved", status=3)


def test_compare(offhook, lab):
    offhook("run", "compare", lab.good["id"], lab.bad["id"], status=1)
    heads, changed, conditions, figures, messages, outcome = offhook.output.split("\n\n")
    assert changed.startswith("What changed\n1. REGISTER was answered with 403 in 1 of 1 registrations of ")
    assert heads.startswith(f"- run {lab.good['id']} of ") and ": failed, 20" in heads
    assert "  - passed" in conditions and "  + failed, expected" in conditions
    assert re.search(r"(?m)accounts registered +1 +0 +-1$", figures)
    assert re.search(r"(?m)^- \w+ <- 200 OK \(REGISTER\)$", messages)
    assert re.search(r"(?m)^\+ \w+ <- 403 \?\[2JForbidden \(REGISTER\)$", messages)
    assert "2 before, 1 after" in messages
    assert outcome == "The verdict or the outcome of a condition differs\n"
    same = json.loads(offhook("run", "compare", lab.good["id"], lab.good["session_id"], "--json"))
    assert same["conditions"] == same["messages"] == [] and same["dialogs_alike"] == 2
    assert same["alike"] is True and same["differences"] == [] and same["further"] == 0
    lines = offhook.terminal("run", "compare", lab.good["id"], lab.bad["id"], status=1)
    assert all(len(line) <= 80 for line in lines), lines


def test_stop(offhook, lab):
    job = lab.start()
    offhook("run", "compare", lab.good["id"], job["session_id"], status=3)
    assert "is in progress: it has no verdict yet" in offhook.errors
    assert "reports are made" in (offhook("run", "download", job["session_id"], "early"),
                                  offhook.errors)[1]
    assert "is being stopped" in offhook("run", "stop", job["session_id"])
    assert lab.agent.finish(job, "stopped").ok
    assert "over or stopping" in offhook("run", "stop", lab.good["id"], status=3)


def test_delete(offhook, lab):
    jobs = [lab.start() for _ in range(3)]
    for job in jobs[:2]:
        lab.finish(job)
    numbers = [lab.c.api("GET", f"/runs/{j['session_id']}")["run"]["id"] for j in jobs]
    assert "add --yes" in offhook("run", "delete", numbers[0], status=2)
    asked = offhook.terminal("run", "delete", *map(str, numbers[:2]), keys="n\n", status=2)
    assert "Delete 2 runs with all their data?" in "".join(asked)
    asked = offhook.terminal("run", "delete", str(numbers[0]), keys="y\n")
    assert f"run {numbers[0]} was deleted" in "".join(asked)
    # one that is in progress, one that is gone: the third is deleted all the same
    refused = offhook("run", "delete", "--yes", numbers[2], numbers[0], numbers[1], status=3)
    assert "in progress" in refused and "no such run" in refused
    assert offhook.output == f"run {numbers[1]} was deleted\n"
    assert {lab.c.request("GET", f"/runs/{n}").status_code for n in numbers[:2]} == {404}
    lab.finish(jobs[2])
    assert offhook("run", "delete", jobs[2]["session_id"], "--yes") == f"run {numbers[2]} was deleted\n"


def test_keep(offhook, lab):
    good, bad = lab.good["id"], lab.bad["id"]
    assert offhook("run", "keep", good, bad) == f"run {good} is kept for ever\nrun {bad} is kept for ever\n"
    assert [lab.c.api("GET", f"/runs/{n}")["run"]["keep"] for n in (good, bad)] == [1, 1]
    assert "kept      for ever" in offhook("run", "show", good)
    assert offhook("run", "keep", "--off", bad) == f"run {bad} is left to retention\n"
    assert lab.c.api("GET", f"/runs/{bad}")["run"]["keep"] == 0
    assert "no such run" in offhook("run", "keep", 999999, good, status=3)
    offhook("run", "keep", "--off", good)
    assert "kept" not in offhook("run", "show", good)


@pytest.mark.parametrize("arguments", [
    ["run", "keep"], ["run", "keep", "--on", "1"],
    ["run"], ["run", "explode"], ["run", "delete", "--yes"], ["run", "delete", "--force", "1"], ["run", "stop"], ["run", "stop", "../1"], ["run", "stop", "1", "2"],
    ["run", "ladder", "1", "--wait"], ["run", "watch", "1", "--retry-for", "x"], ["run", "compare", "1"], ["run", "stats", "1", "a/b"],
    ["run", "download", "1", "2", "3"], ["run", "list", "--count", "0"], ["run", "list", "x"]])
def test_wrong_usage(offhook, arguments):
    assert "offhook" in offhook(*arguments, status=2)


def test_unknown_run(offhook):
    for verb in (["show"], ["watch"], ["stats"], ["ladder"], ["stop"], ["download"], ["compare", "1"]):
        assert "offhook: " in offhook("run", *verb, 999999, status=3)


def test_show(offhook, lab):
    text = offhook("run", "show", lab.bad["id"])
    assert text.startswith(f"run       {lab.bad['id']}, {lab.bad['session_id']}\npool      pool\n")
    assert "FAILED: registration" in text and "expected" in text and "Report: http" in text
    assert ESCAPE not in text
    shown = json.loads(offhook("run", "show", lab.bad["session_id"], "--json"))["run"]
    there = lab.c.api("GET", f"/runs/{lab.bad['id']}")["run"]
    assert shown.pop("report_url") and there.pop("report_url") and shown == there


def test_watch(offhook, lab):
    assert "PASSED" in offhook("run", "watch", lab.good["id"])
    offhook("run", "watch", lab.bad["id"], status=1)
    job = lab.start()
    shown = offhook("run", "show", job["session_id"])
    assert "phase     " in shown and "report    http" in shown
    with concurrent.futures.ThreadPoolExecutor() as others:
        watching = others.submit(offhook, "run", "watch", job["session_id"], "--json", status=3)
        assert lab.c.api("POST", f"/runs/{job['session_id']}/stop")
        assert lab.agent.finish(job, "stopped").ok
        watching.result()


def test_an_interrupt_of_watch_leaves_the_run(offhook, lab, build):
    job = lab.start()
    watch = subprocess.Popen(
        [build / "offhook", "run", "watch", job["session_id"]], stderr=subprocess.PIPE, text=True,
        env={**os.environ, "OFFHOOK_URL": lab.c.witness().url,
             "OFFHOOK_KEY": ":".join(lab.c.keys["admin"])})
    assert watch.stderr.readline()  # it says how far the run is
    watch.send_signal(signal.SIGINT)
    assert watch.wait(60) == -signal.SIGINT
    assert lab.c.api("GET", f"/runs/{job['session_id']}")["run"]["status"] == "running"
    assert lab.agent.finish(job, "stopped").ok


def test_keys(offhook, lab):
    text = offhook("key", "create", "name=ci & co", "rights=run")
    made = dict(line.split(": ") for line in text.splitlines())
    assert "not shown again" in offhook.errors
    pair = (made["public_key"], made["secret"])
    assert lab.c.session.get(f"{lab.c.url}/api/v2/runs", auth=pair, timeout=30).ok
    assert made["secret"] not in offhook("key", "list")
    assert made["public_key"] in offhook("key", "list")
    assert json.loads(offhook("key", "list", "--json"))
    # on a terminal it asks, in a pipe it wants --yes
    assert "add --yes" in offhook("key", "delete", "ci & co", status=2)
    assert "Delete the key ci & co? [y/N]" in "".join(
        offhook.terminal("key", "delete", "ci & co", status=2, keys="n\n"))
    assert made["public_key"] in offhook("key", "list")
    offhook("key", "delete", "ci & co", "--yes")
    assert lab.c.session.get(f"{lab.c.url}/api/v2/runs", auth=pair, timeout=30).status_code == 401


def test_names_for_completion(offhook, lab, build):
    names = offhook("names", "agent").splitlines()
    assert names == ["agent"]
    done = subprocess.run(
        ["bash", "--norc", "-c", """
         source <(offhook completion bash)
         COMP_WORDS=(offhook --url "$1" agent show a) COMP_CWORD=5
         _offhook; printf '%s\\n' "${COMPREPLY[@]}" """, "bash", lab.c.witness().url],
        text=True, capture_output=True, timeout=60,
        env={**os.environ, "PATH": f"{build}:{os.environ['PATH']}",
             "OFFHOOK_KEY": ":".join(lab.c.keys["admin"])})
    assert (done.stdout, done.stderr) == ("agent\n", "")

"""`offhook scenario`, `schedule`, `callback` and `callback-template` with a controller."""
import concurrent.futures
import http.server
import json
import os
import subprocess
import threading

import pytest

from certificates import Authority
from controller import Controller
from receiver import Receiver
from test_api_project_runs import Lab, TIMES


@pytest.fixture(scope="module")
def lab():
    with Controller(**{**TIMES, "callback_allow": "127.0.0.1"}) as c:
        lab = Lab(c)
        lab.standing, (lab.passes, lab.fails) = lab.project("passed", "failed")
        yield lab


@pytest.fixture
def offhook(build, tmp_path, lab):
    def run(*arguments, status=0, url=None, key=None, text=None, both=False):
        done = subprocess.run(
            [build / "offhook", *map(str, arguments)], text=True, capture_output=True, timeout=90,
            cwd=tmp_path, input=text, check=False,
            env={**os.environ, "OFFHOOK_URL": url or lab.c.witness().url,
                 "OFFHOOK_KEY": key if key is not None else ":".join(lab.c.keys["admin"])})
        assert done.returncode == status, done.stdout + done.stderr
        assert lab.c.keys["admin"][1] not in done.stdout + done.stderr
        if both:
            return done.stdout, done.stderr
        return done.stdout if status == 0 else done.stderr or done.stdout
    return run


def test_form_above_the_ceiling(offhook, tmp_path):
    """Two files, each below its own ceiling."""
    for name in "ab":
        (tmp_path / name).write_text("x" * 600000)
    said = offhook("schedule", "create", "name=@a", "cron=@b", status=3)
    assert "the request is larger than 1 MiB" in said


class Endless(http.server.BaseHTTPRequestHandler):
    """Answers with a list of the length that the path of the base URL names."""

    def do_GET(self):
        length = int(self.path.split("/")[1])
        begin, end = b'{"total": 0, "projects": [', b"]}"
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(length))
        self.end_headers()
        try:
            self.wfile.write(begin + b" " * (length - len(begin) - len(end)) + end)
        except OSError:
            pass  # the client has had enough

    def log_message(self, *_):
        pass


@pytest.mark.parametrize("length, status", [(64 << 20, 0), ((64 << 20) + 1, 3)])
def test_answer_above_the_ceiling(offhook, length, status):
    with http.server.HTTPServer(("127.0.0.1", 0), Endless) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        said = offhook("project", "list", url=f"http://127.0.0.1:{server.server_port}/{length}", status=status)
        server.shutdown()
    assert ("longer than 64 MiB" in said) == (status != 0), said


def test_schedules(offhook, lab):
    assert offhook("schedule", "list").split() == [
        "id", "name", "enabled", "cron", "run_at", "timezone", "next_at"]
    made = json.loads(offhook(
        "schedule", "create", "name=Nightly & co", f"project_id={lab.standing}",
        'tags=["a", "b"]', "cron=30 2 * * mon-fri", "timezone=Europe/Berlin",
        "--json"))["schedule"]
    assert made["name"] == "Nightly & co" and made["tags"] == '["a","b"]'
    number = made["id"]
    row = offhook("schedule", "list").splitlines()[1]
    assert "Nightly & co" in row and made["next_at"] in row
    shown = offhook("schedule", "show", number)
    assert "cron: 30 2 * * mon-fri\n" in shown and "run_at: -\n" in shown
    assert "enabled: 0\n" in offhook("schedule", "disable", number)
    offhook("schedule", "update", number, "overlap=wait", "tags=", "name=renamed")
    now = lab.c.api("GET", f"/schedules/{number}")["schedule"]
    assert (now["name"], now["overlap"], now["tags"], now["cron"], now["timezone"], now["enabled"],
            now["next_at"]) == ("renamed", "wait", None, "30 2 * * mon-fri", "Europe/Berlin", 0, None)
    assert "enabled: 1\n" in offhook("schedule", "enable", number)
    wrong = offhook("schedule", "update", number, "cron=61 * * * *", "timezone=Nowhere", status=3)
    assert wrong == "offhook: cron: minute: 61 is not from 0 to 59\n"
    assert offhook("schedule", "delete", number, "--yes") == ""
    assert "there is no such schedule" in offhook("schedule", "show", number, status=3)
    assert json.loads(offhook("schedule", "list", "--json")) == []


def test_lists_of_a_controller_with_small_pages(build, tmp_path):
    with Controller(page_limit=3) as c:
        names = [f"target {number}" for number in range(7)]
        for name in names:
            c.api("POST", "/targets", {"name": name, "hosts": [{"host": "192.0.2.1"}]})

        def listed(*arguments):
            return json.loads(subprocess.run(
                [build / "offhook", *arguments, "--json"], text=True, capture_output=True, timeout=90,
                cwd=tmp_path, check=True,
                env={**os.environ, "OFFHOOK_URL": c.witness().url,
                     "OFFHOOK_KEY": ":".join(c.keys["admin"])}).stdout)

        assert [row["name"] for row in listed("target", "list")] == names
        assert listed("agent", "list") == []


def test_templates_from_files(offhook, lab, tmp_path):
    body = '{"text": "{{test_name}} &=+%\nä"}'
    (tmp_path / "body.json").write_text(body)
    offhook("callback-template", "create", "name=chat", "body=@body.json")
    template, = lab.c.api("GET", "/callback-templates")["callback_templates"]
    assert template["body"] == body
    offhook("callback-template", "update", template["id"], "method=PUT")
    template, = lab.c.api("GET", "/callback-templates")["callback_templates"]
    assert template["body"] == body and template["method"] == "PUT"
    # escape sequences in a name do not reach the terminal
    lab.c.api("POST", "/callback-templates", {"name": "\x1b[2Jx\n", "body": ""})
    assert "?[2Jx?" in offhook("callback-template", "list")
    offhook("callback-template", "delete", template["id"], "--yes")
    assert "cannot be read" in offhook("callback-template", "create", "name=x", "body=@nothing",
                                       status=2)


def test_scenarios_and_callbacks(offhook, lab, tmp_path):
    listed = offhook("scenario", "list").splitlines()
    assert len(listed) == 1 + lab.c.api("GET", "/scenarios")["total"]
    assert '"name":"agentpool_id"' in offhook("scenario", "show", "registration")
    start = ["scenario", "run", "registration", f"agentpool_id={lab.pool}",
             f"target_pool={lab.target}", "password=x",
             # the test's agent does not report that it unregisters
             'conditions=[{"role": "caller", "condition_type": '
             '"caller-sipclient-state-conditions", "conditions": []}]']
    assert "username" in offhook("scenario", "run", "registration", f"agentpool_id={lab.pool}",
                                 f"target_pool={lab.target}", status=3)
    (tmp_path / "secret").write_text("s3cret\n")
    with Receiver() as r, lab.worker() as worker:
        lab.waits_for(lambda: any(a["state"] == "online"
                                  for a in lab.c.api("GET", "/agents")["agents"]))
        done = offhook(*start, "username=passed", "--wait")
        assert "PASSED: registration" in done and "report_url: http://" in done
        offhook(*(f for f in start if f != "password=x"), "caller.username=passed",
                f"caller.password=@{tmp_path}/secret", "--wait")
        register = worker.specs[-1]["steps"][0][0]
        assert register["credentials"][0]["password"] == "s3cret"
        done, _ = offhook(*start, "username=failed", f"callback_url={r.url}", "--wait", status=1,
                          both=True)
        assert "FAILED: registration" in done
        lab.waits_for(lambda: "delivered" in offhook("callback", "list"))
    assert '"http_status":200' in offhook("callback", "show", 1)
    assert json.loads(offhook("callback", "show", 1, "--json"))["callback"]["state"] == "delivered"
    session = [line.removeprefix("session_id: ") for line in offhook(
        *start, "username=passed").splitlines() if line.startswith("session_id: ")][0]
    assert lab.c.api("POST", f"/runs/{session}/stop")


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_what_a_run_waits_for_is_told(offhook, lab, options):
    """`scenario run --wait` says why a run does not start."""
    pool = lab.make("agent-pools", name=f"empty{len(options)}")
    reason = f"no agent online in the pool empty{len(options)}: none has enrolled"

    def unfinished():
        runs = lab.c.api("GET", "/runs?filtername=is_finished&filterval=0")["runs"]
        return {run["session_id"] for run in runs}

    before = unfinished()  # what an earlier test stopped may not have ended yet

    with concurrent.futures.ThreadPoolExecutor() as others:
        running = others.submit(
            offhook, "scenario", "run", "registration", f"agentpool_id={pool}",
            f"target_pool={lab.target}", "username=x", "password=x", "--wait", *options,
            status=3, both=True)
        lab.waits_for(lambda: unfinished() - before)
        session, = unfinished() - before
        lab.waits_for(lambda: ("GET", f"/api/v2/runs/{session}", 200) in lab.c.witness().seen, 60)  # it has polled
        lab.c.api("POST", f"/runs/{session}/stop")
        out, err = running.result()
    # without --json it is in the first output, and is not repeated
    assert (f"waiting_for: {reason}\n" in out) == (not options)
    assert err.count(f"offhook: the run waits: {reason}\n") == len(options)
    assert "stopped" in out or "STOPPED" in out


@pytest.mark.parametrize("arguments", [
    ["schedule"], ["schedule", "explode"], ["schedule", "show"],
    ["callback", "delete", "1"], ["callback-template", "enable", "1"], ["scenario", "create"],
    ["schedule", "create", "name"], ["schedule", "create", "=x"], ["schedule", "list", "x"],
    ["schedule", "list", "--wait"], ["schedule", "list", "--no-such-option"],
    ["schedule", "list", "--url"]])
def test_wrong_usage(offhook, arguments):
    assert "offhook" in offhook(*arguments, status=2)


def test_who_asks(offhook, lab, tmp_path):
    assert "no API key" not in offhook("schedule", "list", "--help")
    assert "PUBLIC:SECRET" in offhook("schedule", "list", key="x", status=2)
    assert "401" in offhook("schedule", "list", key="ok_no:body", status=3)
    assert "no URL" in offhook("schedule", "list", url="offhook.example", status=2)
    assert "127.0.0.1:1" in offhook("schedule", "list", url="http://127.0.0.1:1", status=3)
    (tmp_path / "key").write_text(":".join(lab.c.keys["admin"]) + "\n")
    assert "next_at" in offhook("schedule", "list", "--key-file", "key", key="x")


def test_over_tls(offhook, tmp_path):
    ca = Authority(tmp_path)
    certificate, key = ca.issue("server")
    with Controller(tls_certificate_file=certificate, tls_key_file=key) as c:
        given = ":".join(c.keys["admin"])
        assert "next_at" in offhook("schedule", "list", "--ca-file", ca.file, url=c.url,
                                    key=given)
        assert "certificate" in offhook("schedule", "list", url=c.url, key=given, status=3)


@pytest.fixture
def kept(build, tmp_path, lab):
    """Run offhook without the environment's key, with a configuration folder of its own."""
    home = {k: v for k, v in os.environ.items() if not k.startswith("OFFHOOK_")}

    def run(*arguments, status=0, text=""):
        done = subprocess.run(
            [build / "offhook", *map(str, arguments)], text=True, capture_output=True, timeout=90,
            cwd=tmp_path, input=text, check=False,
            env={**home, "XDG_CONFIG_HOME": str(tmp_path / "config")})
        assert done.returncode == status, done.stdout + done.stderr
        assert lab.c.keys["admin"][1] not in done.stdout + done.stderr
        return done.stdout + done.stderr
    return run


def test_login(kept, lab, tmp_path):
    url, key = lab.c.witness().url, ":".join(lab.c.keys["admin"])
    file = tmp_path / "config/offhook/profiles.json"
    assert "offhook login" in kept("schedule", "list", status=2)
    assert "401" in kept("login", "--url", url, text="ok_no:body\n", status=3)
    assert not file.exists()
    kept("login", "--url", url, text=key + "\n")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert "next_at" in kept("schedule", "list")
    kept("login", "--profile", "lab", text=f"{url}\n{key}\n")
    assert f"* lab  {url}" in kept("profile", "list")
    kept("profile", "use", "default")
    # a profile's key goes to its own URL only
    assert "not sent there" in kept("--profile", "lab", "--url", "http://127.0.0.1:1",
                                    "schedule", "list", status=2)
    assert "no API key" in kept("schedule", "list", "--url", "http://127.0.0.1:1", status=2)
    file.chmod(0o644)
    assert f"chmod 600 {file}" in kept("schedule", "list", status=2)
    file.chmod(0o600)
    kept("logout")
    assert "default" not in kept("profile", "list")
    assert list(file.parent.iterdir()) == [file]


def test_names_in_place_of_ids(offhook, lab):
    offhook("project", "create", "name=Twice as \x1b[1mnice")
    assert "description: x\n" in offhook("project", "update", "Twice as \x1b[1mnice",
                                        "description=x")
    again = json.loads(offhook("pool", "create", "name=cli", "--json"))["agent_pool"]["id"]
    assert json.loads(offhook("pool", "show", "cli", "--json"))["agent_pool"]["id"] == again
    offhook("pool", "delete", "cli", "--yes")
    assert "there is no pool cli" in offhook("pool", "show", "cli", status=3)
    unknown = offhook("project", "show", "\x1b[2J../tests", status=3)
    assert "there is no project ?[2J../tests" in unknown
    offhook("project", "delete", "Twice as \x1b[1mnice", "--yes")

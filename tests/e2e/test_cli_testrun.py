"""`offhook test run`, `project run` and `scenario run` with --wait: in a pipe and on a terminal,
interrupted, and with a controller that goes away."""
import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time

import pytest

from controller import Controller
from test_api_project_runs import Lab, TIMES

ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
WAIT_S = 90


@pytest.fixture(scope="module")
def lab():
    with Controller(**TIMES) as c:
        lab = Lab(c)
        lab.project_id, (lab.passes, lab.fails, lab.breaks, lab.holds) = lab.project(
            "passed", "failed", "error", "hold")
        yield lab


@pytest.fixture
def environment(lab):
    env = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    return {**env, "OFFHOOK_URL": lab.c.witness().url, "TERM": "xterm",
            "OFFHOOK_KEY": ":".join(lab.c.keys["admin"])}


@pytest.fixture
def offhook(build, tmp_path, environment):
    """Run a command in pipes. @return (standard output, standard error)"""
    def run(*arguments, status=0, **more):
        done = subprocess.run([build / "offhook", *map(str, arguments)], text=True, cwd=tmp_path,
                              capture_output=True, timeout=WAIT_S, check=False,
                              env={**environment, **more})
        assert done.returncode == status, done.stdout + done.stderr
        assert environment["OFFHOOK_KEY"].split(":")[1] not in done.stdout + done.stderr
        return done.stdout, done.stderr
    return run


class Started:
    """A command that runs, and what it has said so far.

    Without columns both outputs go to a pipe, else all three streams to a terminal."""

    def __init__(self, command, columns=None, **more):
        self.text = ""
        if columns:
            self.fd, theirs = pty.openpty()
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            self.process = subprocess.Popen(
                command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **more)
        else:
            self.fd, theirs = os.pipe()
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs,
                                            stderr=theirs, **more)
        os.close(theirs)
        self.thread = threading.Thread(target=self._read)
        self.thread.start()

    def _read(self):
        try:
            while piece := os.read(self.fd, 4096):
                self.text += piece.decode(errors="replace")
        except OSError:
            pass  # a terminal that nobody has open

    def expect(self, pattern):
        until = time.monotonic() + WAIT_S
        while not re.search(pattern, self.text):
            assert time.monotonic() < until, self.text
            time.sleep(0.02)

    def type(self, text):
        os.write(self.fd, text.encode())

    def ends(self, status):
        assert self.process.wait(WAIT_S) == status, self.text
        self.thread.join(WAIT_S)
        os.close(self.fd)
        return ANSI.sub("", self.text)


@pytest.fixture
def started(build, tmp_path, environment):
    running = []

    def start(*arguments, columns=None, **more):
        running.append(Started([build / "offhook", *map(str, arguments)], columns, cwd=tmp_path,
                               env={**environment, **more}))
        return running[-1]
    yield start
    for one in running:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


def name_of(lab, test):
    return lab.c.api("GET", f"/tests/{test}")["test"]["name"]


def last_run(lab, test):
    return lab.c.api("GET", f"/runs?orderby=id&orderdir=desc&count=1&filtername=test_id"
                     f"&filterval={test}")["runs"][0]


def test_verdict_conditions_and_reports(lab, offhook, tmp_path):
    reports = [tmp_path / name for name in ("r.xml", "r.md", "r.html")]
    reports[0].write_text("old")
    with lab.worker() as worker:
        out, err = offhook("test", "run", name_of(lab, lab.passes), "--wait",
                           "--set", "step.0.0.regexpire=77", "--set", "report.mode=kiosk",
                           "--junit", reports[0], "--markdown", reports[1], "--html", reports[2])
        assert worker.specs[-1]["steps"][0][0]["regexpire"] == 77
        assert f"PASSED: {name_of(lab, lab.passes)}\n" in out
        assert re.search(r"\n  passed  \S.*\n          expected .+, was .+\n", out)
        assert re.search(r"\nReport: http://\S+/kiosk/", out)
        assert "\x1b" not in out + err
        assert "<testsuites" in reports[0].read_text() and "# " in reports[1].read_text()
        assert "</html>" in reports[2].read_text()
        assert sorted(p.name for p in tmp_path.iterdir()) == ["r.html", "r.md", "r.xml"]
        out, _ = offhook("test", "run", lab.fails, "--wait", "--json", "--junit", "/dev/null",
                         status=1)
        run = json.loads(out)["run"]
        assert run["status"] == "failed" and run["verdicts"] is not None
        assert os.path.exists("/dev/null") and not os.path.isfile("/dev/null")
        out, _ = offhook("test", "run", lab.breaks, "--wait", status=3)
        assert f"ERRORED: {name_of(lab, lab.breaks)}: " in out


@pytest.mark.parametrize("arguments, said", [
    (["--set", "step.0.regexpire=1"], "step.STEP.ACTION.PARAMETER"),
    (["--set", "condition.caller=1"], "condition.ROLE.CONDITION_TYPE"),
    (["--set", "steps.0.0.regexpire=1"], "no parameter of a start"),
    (["--set", "step.0.0.regexpire"], "is not NAME=VALUE"),
    (["--set", "step.7.0.regexpire=1"], "has no step 7, it has 1 steps"),
    (["--set", "step.0.0.regexpire=soon"], "regexpire must be"),
    (["--set", "condition.nobody.nobody-mos-conditions={}"], "nobody"),
    (["--junit", "r.xml"], "needs --wait"), (["--tag", "x"], "wrong option"),
    (["--wait", "--junit", "nowhere/r.xml"], "No such file"), (["--wait", "--html", "/"], "irectory"),
    (["x=y"], "--set overrides"), (["--wait", "--retry-for", "long"], "it must be seconds")])
def test_wrong_usage_starts_nothing(lab, offhook, arguments, said):
    before = lab.c.api("GET", "/runs")["total"]
    _, err = offhook("test", "run", lab.passes, *arguments, status=2)
    assert said in err and "Usage: " in err
    assert lab.c.api("GET", "/runs")["total"] == before


def test_no_such_test_and_no_controller(lab, offhook):
    assert "offhook test list" in offhook("test", "run", "nothing", status=3)[1]
    _, err = offhook("test", "run", 1, "--wait", "--url", "http://127.0.0.1:1", status=3)
    # nothing was sent: it is known that no run was started
    assert "is the controller running" in err and "not known" not in err


@pytest.mark.parametrize("columns", [80, 47, 200])
def test_progress_fits_the_terminal(lab, started, columns):
    with lab.worker():
        one = started("test", "run", lab.holds, "--wait", columns=columns)
        one.expect(r"\r\x1b\[K\[[#-]+\] +\d+ %  \d\d:\d\d  running")
        run = last_run(lab, lab.holds)
        lab.c.api("POST", f"/runs/{run['id']}/stop")
        text = one.ends(3)
    lines = re.split(r"[\r\n]+", text)
    bars = [line for line in lines if line.startswith("[")]
    assert bars and all(len(line) < columns for line in bars)
    assert "\x1b[33mstopped" in one.text or "\x1b[1mSTOPPED" in one.text


def test_no_colour_and_dumb_terminals(lab, started):
    with lab.worker():
        one = started("test", "run", lab.passes, "--wait", columns=80, NO_COLOR="1")
        assert "PASSED: " in one.ends(0)
        assert not re.search(r"\x1b\[\d*m", one.text)
    one = started("test", "run", lab.passes, "--wait", columns=80, TERM="dumb")
    one.expect("offhook: ")  # before the worker can end the run
    with lab.worker():
        one.ends(0)
    assert "\x1b" not in one.text


def held(lab, worker, one, test):
    """Wait until the run is being carried out. @return its session id"""
    before = len(worker.specs)
    one.expect(r"report_url: ")
    lab.waits_for(lambda: len(worker.specs) > before or worker.specs, timeout=WAIT_S)
    return last_run(lab, test)["session_id"]


def test_interrupt_asks(lab, started):
    with lab.worker() as worker:
        one = started("test", "run", lab.holds, "--wait", columns=80)
        session = held(lab, worker, one, lab.holds)
        one.expect("running")
        one.type("\x03")
        one.expect(r"Stop the run\?")
        one.type("n\n")
        one.expect("the run goes on")
        assert lab.c.api("GET", f"/runs/{session}")["run"]["status"] == "running"
        one.text = ""
        one.type("\x03")
        one.expect(r"Stop the run\?")
        one.type("y\n")
        text = one.ends(3)
        assert "stopping the run" in text and "STOPPED: " in text
        assert lab.c.api("GET", f"/runs/{session}")["run"]["status"] == "stopped"


def test_second_interrupt_stops(lab, started):
    with lab.worker() as worker:
        one = started("test", "run", lab.holds, "--wait", columns=80)
        session = held(lab, worker, one, lab.holds)
        one.expect("running")
        one.type("\x03")
        one.expect(r"Stop the run\?")
        one.type("\x03")
        assert "STOPPED: " in one.ends(3)
        assert lab.c.api("GET", f"/runs/{session}")["run"]["status"] == "stopped"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_without_a_terminal_stops(lab, started, number):
    with lab.worker() as worker:
        one = started("test", "run", lab.holds, "--wait")
        session = held(lab, worker, one, lab.holds)
        one.expect("offhook: running")
        one.process.send_signal(number)
        text = one.ends(3)
        assert "offhook: stopping the run\n" in text and "STOPPED: " in text
        assert lab.c.api("GET", f"/runs/{session}")["run"]["status"] == "stopped"


def test_controller_restarts_in_the_middle(lab, started):
    one = started("test", "run", lab.passes, "--wait", columns=80)
    one.expect("waiting_for: no agent online")
    one.expect("queued")
    lab.c.stop()
    one.expect("does not answer .*trying again for 60 s")
    lab.c.start()
    one.expect("the controller is back after")
    with lab.worker():
        assert "PASSED: " in one.ends(0)


def test_controller_is_gone(lab, started):
    one = started("test", "run", lab.passes, "--wait", "--retry-for", "1")
    one.expect("offhook: queued")
    lab.c.stop()
    text = one.ends(3)
    lab.c.start()
    assert "did not answer for 1 s" in text and "--retry-for S" in text
    assert "the run was not stopped and may still be going" in text
    assert re.search(r"its report: http://\S+/run/details/", text)
    lab.c.api("POST", f"/runs/{last_run(lab, lab.passes)['id']}/stop")


def test_interrupt_while_the_controller_is_away(lab, started):
    """The stop is sent when it is back; one more interrupt ends the wait."""
    one = started("test", "run", lab.passes, "--wait", columns=80)
    one.expect("queued")
    session = last_run(lab, lab.passes)["session_id"]
    lab.c.stop()
    one.expect("does not answer")
    one.type("\x03")
    one.expect(r"Stop the run\?")
    one.type("\x03")
    one.expect("stopping the run")
    lab.c.start()
    assert "STOPPED: " in one.ends(3)
    assert lab.c.api("GET", f"/runs/{session}")["run"]["status"] == "stopped"
    one = started("test", "run", lab.passes, "--wait")
    one.expect("offhook: queued")
    session = last_run(lab, lab.passes)["session_id"]
    lab.c.stop()
    one.expect("does not answer")
    one.process.send_signal(signal.SIGTERM)
    one.expect("stopping the run")
    one.process.send_signal(signal.SIGINT)
    assert "the run was not stopped and may still be going" in one.ends(3)
    lab.c.start()
    lab.c.api("POST", f"/runs/{session}/stop")


def test_refused_while_waiting(lab, started):
    one = started("test", "run", lab.passes, "--wait")
    one.expect("offhook: queued")
    run = last_run(lab, lab.passes)
    lab.c.api("POST", f"/runs/{run['id']}/stop")
    one.ends(3)


def test_project_run(lab, offhook, started, tmp_path):
    name = lab.c.api("GET", f"/projects/{lab.project_id}")["project"]["name"]
    with lab.worker():
        out, err = offhook("project", "run", name, "--tag", "passed", "--tag", "failed", "--wait",
                           "--junit", "p.xml", status=1)
        assert f"FAILED: {name}: 1 of 2 tests passed, 1 failed\n" in out
        assert f"  passed  {name_of(lab, lab.passes)}\n" in out
        assert f"  failed  {name_of(lab, lab.fails)}: " in out
        assert f"offhook: passed: {name_of(lab, lab.passes)}\n" in err
        link = re.search(r"\nReport: (http://\S+/run/project/\S+)\n", out)[1]
        assert lab.c.session.get(link, auth=lab.c.keys["admin"]).ok
        assert (tmp_path / "p.xml").read_text().count("<testsuite ") == 2
        out, _ = offhook("project", "run", lab.project_id, "--tag", "passed", "--wait", "--json")
        assert json.loads(out)["run"]["run_status"] == "passed"
        one = started("project", "run", lab.project_id, "--tag", "hold", "--wait", columns=80)
        one.expect("test 1 of 1")
        one.type("\x03")
        one.expect(r"Stop the project run\?")
        one.type("\x03")
        assert "STOPPED: " in one.ends(3)
    out, _ = offhook("project", "run", lab.project_id, "--tag", "passed", "--json")
    uuid = json.loads(out)["project_run_uuid"]
    lab.c.api("POST", f"/projects/runs/{uuid}/stop")


def test_attempts_are_told(lab, offhook):
    _, (test,) = lab.project("again", retries_on_failure=1)
    seen = []

    def verdict(spec):
        seen.append(spec)
        return "failed" if len(seen) == 1 else "passed"

    with lab.worker(verdict):
        out, err = offhook("test", "run", test, "--wait")
    assert "offhook: attempt 1 failed: " in err and "PASSED: " in out


# ---- records in an editor and from files ----

@pytest.fixture
def edit(offhook, tmp_path):
    """Edit a record with sed. @return output, errors, and the files that are left"""
    folder = tmp_path / "texts"
    folder.mkdir()

    def run(kind, name, change, status=0, **more):
        said = offhook(kind, "edit", name, status=status, TMPDIR=str(folder),
                       **{"EDITOR": f"sed -i '{change}'", **more})
        return *said, list(folder.iterdir())
    return run


def test_edit(lab, edit):
    _, (test,) = lab.project("passed")
    name = name_of(lab, test)
    out, _, left = edit("test", name, "s/all/edited/;s/retries_on_failure:.*//")
    assert f"~ test {name}\n" in out and "tags" in out and out.endswith("done\n") and not left
    record = lab.c.api("GET", f"/tests/{test}")["test"]
    assert json.loads(record["tags"]) == ["passed", "edited"]
    out, _, left = edit("test", name, "s/no such text//")
    assert out == "nothing was changed\n" and not left
    edit("test", test, f"s/name: .*{name}.*/name: renamed {test}/")
    assert name_of(lab, test) == f"renamed {test}"
    assert lab.c.api("GET", f"/tests/{test}")["test"]["steps"] == record["steps"]
    # the stored password stays, although its variable is not set
    pool = lab.credentials["passed"]
    edit("credentials", "passed", "s/- name: passed/- name: kept/")
    pool = lab.c.api("GET", f"/credential-pools/{pool}")["credential_pool"]
    assert pool["name"] == "kept" and pool["credentials"][0]["has_password"]
    edit("credentials", "kept", "s/- name: kept/- name: passed/")


def test_an_edited_text_is_kept(lab, edit, build, offhook, tmp_path):
    name = name_of(lab, lab.passes)
    _, err, (kept,) = edit("test", lab.passes, r"s/^\( *\)steps:/\1colour: red\n\1steps:/",
                          status=2)
    assert re.search(rf"^{kept}:\d+:\d+: .*colour", err, re.M)
    assert f"your text is kept in {kept}\n" in err and "colour: red" in kept.read_text()
    assert kept.stat().st_mode & 0o777 == 0o600
    kept.unlink()
    _, err, (kept,) = edit("test", name, "s/agent_pool: .*/agent_pool: nowhere/", status=2)
    assert "there is no agent pool nowhere" in err
    kept.unlink()
    _, err, (kept,) = edit("test", name, "s/^tests:/projects:/", status=2)
    kept.unlink()
    _, err, (kept,) = edit("test", name, "d", status=2)
    assert "exactly one test" in err
    kept.unlink()
    _, err, (kept,) = edit("test", name, "", status=3, VISUAL="false")
    assert "the editor false ended with 1" in err and "VISUAL or EDITOR" in err
    kept.unlink()
    project = lab.make("projects", name="edited twice")
    script = tmp_path / "editor"
    script.write_text(f'#!/bin/sh\n"{build}/offhook" project update {project} description=other\n'
                      'sed -i "s/edited twice/mine/" "$1"\n')
    script.chmod(0o755)
    _, err, (kept,) = edit("project", project, "", status=3, VISUAL=str(script))
    assert "somebody else changed it" in err and "name: mine" in kept.read_text()
    record = lab.c.api("GET", f"/projects/{project}")["project"]
    assert (record["name"], record["description"]) == ("edited twice", "other")


def test_edit_again_on_a_terminal(lab, started, tmp_path):
    project = lab.make("projects", name="twice")
    script = tmp_path / "editor"
    # the first text is wrong
    script.write_text('#!/bin/sh\nif [ -e second ]; then sed -i "/colour/d;s/twice/right/" "$1"\n'
                      'else touch second; echo "    colour: red" >> "$1"; fi\n')
    script.chmod(0o755)
    one = started("project", "edit", project, columns=80, VISUAL=str(script), TMPDIR=str(tmp_path))
    one.expect(r"Edit it again\? \[y/N\]")
    one.type("y\n")
    assert "done" in one.ends(0)
    assert lab.c.api("GET", f"/projects/{project}")["project"]["name"] == "right"
    assert not list(tmp_path.glob("*.yaml"))


def test_export_and_create_from_a_file(lab, offhook, build, environment, tmp_path):
    text, _ = offhook("test", "export", name_of(lab, lab.passes))
    assert "tests:" in text and "projects:" not in text
    copy = text.replace(name_of(lab, lab.passes), "a copy")
    (tmp_path / "copy.yaml").write_text(copy)
    done = subprocess.run([build / "offhook", "test", "create", "--file", "-"], input=copy, text=True,
                          env=environment, capture_output=True, timeout=WAIT_S, check=False)
    assert done.returncode == 0 and "+ test a copy\n" in done.stdout
    assert offhook("test", "export", "a copy")[0] == copy
    _, err = offhook("test", "create", "--file", "copy.yaml", status=3)
    assert re.search(r"^copy\.yaml:\d+:\d+: there is one of this name", err, re.M)
    _, err = offhook("target", "create", "--file", "copy.yaml", status=2)
    assert "a target is wanted here" in err
    assert "No such file" in offhook("test", "create", "--file", "nothing.yaml", status=2)[1]
    offhook("test", "create", "--file", "copy.yaml", "name=x", status=2)
    offhook("user", "create", "--file", "copy.yaml", status=2)
    offhook("test", "export", "a copy", "--to", "folder")
    assert (tmp_path / "folder/tests.yaml").exists()
    offhook("test", "delete", "a copy", "--yes")
    assert "a copy" not in offhook("test", "list")[0]

"""`offhook local`: tests of YAML files on a controller and agents of the command's own."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

import junitparser
import pytest

from agent import children, wait_gone
from peers import Kamailio
from ports import PortBlock

LAB = """\
projects: [{{name: Office}}, {{name: Home}}]
targets: [{{name: Proxy, hosts: [{{host: 127.0.0.1, port: {sip}}}]}}]
credential_pools:
  - {{name: Callees, credentials: [{{username: 1001, password: {{env: OFFICE_1001}}}}]}}
  - {{name: Callers, credentials: [{{username: 1002, password: {{file: caller.txt}}}}]}}
agent_pools: [{{name: lab}}]
callback_templates: [{{name: Chat, body: "{{}}"}}]
tests:
  - name: Call
    project: Office
    agent_pool: lab
    callback_on_failure: true
    callback_url: https://chat.example/hook
    callback_template: Chat
    callback_secret: {{env: NOT_SET}}
    steps:
      - - {{type: register, role: callee, credential_pool: Callees, target_pool: Proxy}}
        - {{type: answer, role: callee}}
      - - {{type: register, role: caller, credential_pool: Callers, target_pool: Proxy}}
        - {{type: call, role: caller, call_duration: 1, dial_destination: 1001}}
    conditions: &conditions
      - &mos {{role: caller, condition_type: caller-mos-conditions, conditions: [{{type: ge, value: 4}}]}}
  - name: No such number
    project: Office
    agent_pool: lab
    steps:
      - - {{type: call, role: caller, credential_pool: Callers, target_pool: Proxy, dial_destination: 1009,
          call_duration: 1}}
    conditions: *conditions
  - name: Pause
    project: Home
    agent_pool: lab
    steps: [[{{type: answer, role: caller}}, {{type: wait, role: caller, wait_ms: 600000}}]]
schedules: [{{name: Always, test: Call, cron: "* * * * *"}}]
"""
SMALL = """\
projects: [{name: P}]
agent_pools: [{name: lab}]
tests:
  - name: T
    project: P
    agent_pool: lab
    steps: [[{type: answer, role: caller}, {type: wait, role: caller, wait_ms: 1}]]
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory, build):
    folder, ports = tmp_path_factory.mktemp("lab"), PortBlock()
    (folder / "lab.yaml").write_text(LAB.format(sip=ports.sip))
    (folder / "small.yaml").write_text(SMALL)
    (folder / "caller.txt").write_text("secret-1002\n")
    (folder / "tmp").mkdir()
    with Kamailio(folder, ports.sip):
        yield Lab(folder, build, ports)
    ports.close()


class Lab:
    def __init__(self, folder, build, ports):
        self.folder, self.tmp = folder, folder / "tmp"
        self._command = [build / "offhook", "local", "--rtp-ports", f"{ports.rtp[0]}-{ports.rtp[1]}"]
        self._env = {"PATH": "/usr/bin:/bin", "TMPDIR": str(self.tmp), "OFFICE_1001": "secret-1001",
                     # neither is used
                     "OFFHOOK_URL": "http://127.0.0.1:1", "http_proxy": "http://127.0.0.1:1",
                     **{k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}}

    def start(self, *arguments):
        return subprocess.Popen([*self._command, *map(str, arguments)], cwd=self.folder, env=self._env,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def run(self, *arguments, status=0):
        """Run it to its end; again if the machine kept its agent from working in time."""
        for _ in range(3):
            process = self.start(*arguments)
            out, err = process.communicate(timeout=150)
            if "generator saturated" not in out + err:
                break
        assert process.returncode == status, out + err
        assert "secret-" not in out + err
        assert list(self.tmp.iterdir()) == []
        self.out = out
        return out + err

    def running(self, *arguments):
        """Start it and wait until its agent has a job.
        @return the process, its descendants, its folder"""
        before = set(self.tmp.iterdir())
        process = self.start(*arguments)
        until = time.monotonic() + 120
        while time.monotonic() < until and process.poll() is None:
            for log in self.tmp.glob("*/agent-1.log"):
                if log.parent not in before and " role=caller " in log.read_text():
                    return process, descendants(process.pid), log.parent
            time.sleep(0.05)
        process.kill()
        raise AssertionError("".join(process.communicate(timeout=30)))


def descendants(pid):
    found = [child for child, _ in children(pid)]
    return found + [below for child in found for below in descendants(child)]


def gone(path, seconds=60):
    until = time.monotonic() + seconds
    while path.exists() and time.monotonic() < until:
        time.sleep(0.05)
    return not path.exists()


def test_verdicts_and_reports(lab):
    files = {name: lab.folder / f"report.{name}" for name in ("junit", "html", "markdown")}
    options = [word for name, path in files.items() for word in (f"--{name}", path)]
    files["junit"].write_text("of an earlier run")
    said = lab.run("lab.yaml", "--test", "Call", "--test", "No such number", *options, status=1)
    assert "PASSED: Call\n" in said
    assert re.search(r"(?m)^  passed  caller: MOS.*\n +expected at least 4, was 4\.\d+", said)
    assert "  MOS, caller received: mean 4." in said and "\nFAILED: No such number: " in said
    assert "Report:" not in said   # its controller has ended
    suites = list(junitparser.JUnitXml.fromfile(str(files["junit"])))
    assert [(s.name, s.failures > 0, s.errors) for s in suites] == \
        [("Call", False, 0), ("No such number", True, 0)]
    assert "404" in said and "404" in files["junit"].read_text()
    assert "<html" in files["html"].read_text() and "No such number" in files["html"].read_text()
    assert "No such number" in files["markdown"].read_text()


def test_one_of_several_tests_as_json(lab):
    lab.run("lab.yaml", "--json", "--test", "Call", "--agents", "2", "--bind", "127.0.0.1")
    result = json.loads(lab.out)
    assert (result["passed"], result["errored"]) == (True, False)
    run, = result["runs"]
    assert (run["test_name"], run["status"], run["project_name"]) == ("Call", "passed", "Office")


def test_overrides(lab):
    """One run of `POST /tests/ID/run` instead of a project run."""
    lab.run("lab.yaml", "--test", "No such number", "--set", "step.0.0.dial_destination=1008",
            "--set", "retries_on_failure=1", "--junit", "set.xml", "--json", status=1)
    run, = json.loads(lab.out)["runs"]
    assert (run["status"], run["attempt"]) == ("failed", 2)
    suite, = junitparser.JUnitXml.fromfile(str(lab.folder / "set.xml"))
    assert "2" in {p.value for p in suite.properties() if p.name == "attempt"}
    for options, said in [(["--set", "step.0.0.nothing=1"], "nothing"), (["--set", "x=1"], "x"),
                          (["--set", "step.0.7.wait_ms=1"], "7")]:
        assert said in lab.run("small.yaml", *options, status=2)
    assert "choose with --test" in lab.run("lab.yaml", "--set", "step.0.0.role=x", status=2)


def test_an_errored_test(lab):
    """The planner refuses it."""
    (lab.folder / "errored.yaml").write_text(SMALL.replace("{type: answer, role: caller}, ", ""))
    said = lab.run("errored.yaml", "--junit", "errored.xml", status=3)
    assert "ERRORED: T: the test was not started: the test has no action that" in said
    suite, = junitparser.JUnitXml.fromfile(str(lab.folder / "errored.xml"))
    assert suite.errors == 1


def test_a_report_that_cannot_be_written_hides_no_verdict(lab):
    """The test failed, which is what the exit status says."""
    (lab.folder / "slow.yaml").write_text(SMALL.replace("wait_ms: 1}", "wait_ms: 5000}"))
    for name in ("gone", "stays"):
        kept = lab.folder / name
        kept.mkdir()
        process, _, _ = lab.running("slow.yaml", "--json", "--junit", kept / "report.xml")
        if name == "gone":
            kept.rmdir()
        out, err = process.communicate(timeout=120)
        assert process.returncode == 1, out + err
        run, = json.loads(out)["runs"]
        assert run["status"] == "failed" and (str(kept) in err) == (name == "gone"), out + err


def test_wrong_files_and_options(lab):
    def wrong(old, new, said, *options):
        assert old in SMALL
        (lab.folder / "wrong.yaml").write_text(SMALL.replace(old, new))
        output = lab.run("wrong.yaml", *options, status=2)
        assert said in output, output

    wrong("steps:", "step:", "wrong.yaml:7:5: ")
    wrong("P}]", "P", "wrong.yaml:2:")
    wrong("agent_pools: [{name: lab}]", "", "wrong.yaml:6:5: there is no agent pool lab, as it stands in no file")
    wrong("wait_ms: 1", "wait_ms: -1", "wrong.yaml:7:")   # the controller refuses it
    wrong("{type: wait, role: caller, wait_ms: 1}", "{type: call, role: caller, target_pool: None}", "there is no target None, as it stands in no file")
    wrong("agent_pools:", "credential_pools: [{name: C, credentials: [{username: a, password: {env: NOT_SET}}]}]"
          "\nagent_pools:", "wrong.yaml:2:58: the variable NOT_SET is not set")
    for options, said in [
            (["small.yaml", "--test", "X"], "there is no test X in the files"),
            (["lab.yaml", "--junit", "x.xml"], "the tests are of 2: choose with --test"),
            (["small.yaml", "--junit", "no/folder.xml"], "--junit no/folder.xml: No such file"),
            (["small.yaml", "--bind", "localhost"], "--bind is an address"),
            (["small.yaml", "--url", "http://127.0.0.1:1"], "a controller of its own"),
            (["small.yaml", "--agents", "0"], "--agents is a number"),
            (["small.yaml", "--rtp-ports", "20000"], "--rtp-ports is MIN-MAX"),
            (["small.yaml", "--fast"], "wrong option --fast"),
            ([], "which file?")]:
        assert said in lab.run(*options, status=2)
    assert "no .yaml file" in lab.run("tmp", status=2)


def test_two_at_once_and_an_interrupt(lab):
    """Each has a system of its own. What a killed one leaves, the next one removes."""
    first, of_first, folder = lab.running("lab.yaml", "--test", "Pause")
    second, of_second, other = lab.running("lab.yaml", "--test", "Pause", "--junit", "stopped.xml")
    assert folder != other and not set(of_first) & set(of_second)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.iterdir() if path.is_file())
    second.send_signal(signal.SIGINT)
    out, err = second.communicate(timeout=120)
    assert second.returncode == 3 and "the run is being stopped" in err, out + err
    assert "STOPPED: Pause" in out and (lab.folder / "stopped.xml").exists()
    assert wait_gone(of_second, 60) == [] and not other.exists()
    assert first.poll() is None and folder.exists()
    first.kill()
    first.communicate(timeout=30)
    assert wait_gone(of_first, 60) == []
    assert folder.exists()
    lab.run("small.yaml", status=1)   # checks that nothing is left


def test_a_program_that_dies_is_an_error(lab):
    process, programs, folder = lab.running("lab.yaml", "--test", "Pause", "--keep")
    agent, = [pid for pid, words in children(process.pid) if words[0].endswith(b"offhook-agent")]
    os.kill(agent, signal.SIGKILL)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 3 and "offhook-agent ended by itself (signal 9)" in err, out + err
    assert f"kept {folder}" in err and (folder / "controller.log").exists()
    assert wait_gone(programs, 60) == []
    shutil.rmtree(folder)

"""clients/python: the pytest plugin, run by pytest against a real controller."""
import os
import re
import signal
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

from controller import ROOT, Controller
from test_api_project_runs import TIMES, Lab, user_of
from test_own_certificate import OTHER, Own, fingerprint_of

TESTS = '''
import pytest

def test_passes(offhook_run):
    run = offhook_run("test passed")
    assert run.passed and run.name == "test passed" and run.record["test_name"] == run.name
    assert run.stats("rtp_mos") == []

def test_fails(offhook_run):
    offhook_run("test failed")

def test_judged(offhook_run):
    offhook_run("test judged")

def test_errored(offhook_run):
    offhook_run("test error")

def test_unchecked(offhook_run):
    assert offhook_run("test failed", check=False).status == "failed"

def test_an_override(offhook_run):
    run = offhook_run("test passed", **{"step.0.0.regexpire": 77})

def test_refused(offhook_run):
    offhook_run("test passed", **{"step.7.0.regexpire": 77})

def test_unknown(offhook_run):
    offhook_run("test nobody")

def test_records(offhook, offhook_pool, offhook_target):
    assert offhook_pool["name"] == "pool" and offhook_target["name"] == "t"
    assert offhook.find("tests", "test passed")["project_id"] == offhook.find("projects")["id"]

def test_too_long(offhook_run):
    offhook_run("test hold", timeout=0.5)

def test_scenario(offhook, offhook_run):
    run = offhook_run.scenario(
        "registration", check=False, credential_pool=offhook.find("credential-pools", "passed")["id"])
    assert run.record["agentpool_name"] == "pool" and run.record["test_id"] is None
'''


@pytest.fixture(scope="module")
def lab():
    server = Controller(**TIMES)
    server.create_key("ci", "run")
    with server as c:
        made = Lab(c)
        project = made.make("projects", name="p")
        for user in ("passed", "failed", "error", "hold"):
            made.test(project, user, user)
        # the agent reports 3.5 ms: the judge says what was expected
        made.test(project, "judged", "passed", conditions=[{
            "role": "caller", "condition_type": "caller-register-time-conditions",
            "conditions": [{"type": "ge", "value": "9000"}]}])
        with made.worker(lambda spec: user_of(spec)):
            yield made


def plugin(server, folder, *options, tests=TESTS, key=None, url=None, **more):
    """Start pytest with the plugin in a folder of its own."""
    (folder / "test_it.py").write_text(tests)
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-p", "pytest_offhook", "-p", "no:cacheprovider", "-v",
         "--junitxml=junit.xml", *options], cwd=folder, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, env={
            **{k: v for k, v in os.environ.items() if not k.startswith(("OFFHOOK_", "PYTEST_"))},
            "PYTHONPATH": str(ROOT / "clients/python"), "OFFHOOK_URL": server.witness().url if url is None else url,
            "OFFHOOK_KEY": key or ":".join(server.keys["run"]), **more})


@pytest.fixture(scope="module")
def outcome(lab, tmp_path_factory):
    """All of TESTS: (exit status, output, {test: failure's text or None}, {test: report})."""
    folder = tmp_path_factory.mktemp("plugin")
    process = plugin(lab.c, folder)
    output = process.communicate(timeout=240)[0]
    cases = ElementTree.parse(folder / "junit.xml").getroot().iter("testcase")
    failures, reports = {}, {}
    for case in cases:
        failure = case.find("failure")
        failures[case.get("name")] = None if failure is None else failure.text
        reports[case.get("name")] = [p.get("value") for p in case.iter("property")]
    return process.returncode, output, failures, reports


def test_verdicts_become_results(outcome):
    status, output, failures, reports = outcome
    assert status == 1, output
    assert {name for name, text in failures.items() if text is None} == {
        "test_passes", "test_unchecked", "test_an_override", "test_records", "test_scenario"}, output
    assert reports["test_passes"][0].startswith("http") and not reports["test_records"]


def test_a_failed_run_says_why(outcome):
    failures = outcome[2]
    assert failures["test_fails"].startswith('"test failed" failed: caller: no\n')
    assert "  report: http" in failures["test_fails"]
    assert failures["test_errored"].startswith(
        '"test error" could not be carried out: caller: the agent could not carry on: broken\n')
    assert re.search(r"(?m)^  caller: .*: expected at least 9000 ms, actual 3.5 ms$", failures["test_judged"])
    for text in failures.values():
        assert "Traceback" not in (text or "") and "pytest_offhook.py" not in (text or "")


def test_refusals_are_sentences(outcome):
    failures = outcome[2]
    assert failures["test_unknown"].startswith("no test 'test nobody'; the controller has: test error, ")
    assert "422" in failures["test_refused"] and "has no step 7" in failures["test_refused"]
    assert "was not over after 0.5 s" in failures["test_too_long"]


def test_a_run_that_takes_too_long_is_stopped(lab, outcome):
    lab.waits_for(lambda: lab.c.api("GET", "/runs?filtername=is_finished&filterval=0")["total"] == 0, 60)
    runs = lab.c.api("GET", "/runs?filtername=test_name&filterval=test+hold")["runs"]
    assert [r["status"] for r in runs] == ["stopped"]


# The interrupt comes after the controller has started the run, and before the plugin knows.
INTERRUPTED_START = """
import os
import signal

def test_it(offhook, offhook_run, monkeypatch):
    request = offhook.request

    def interrupted(method, path, **more):
        answer = request(method, path, **more)
        if path.endswith("/run"):
            os.kill(os.getpid(), signal.SIGINT)
        return answer

    monkeypatch.setattr(offhook, "request", interrupted)
    offhook_run("test hold")
"""


@pytest.mark.parametrize("tests", ['def test_it(offhook_run):\n    offhook_run("test hold")\n', INTERRUPTED_START],
                         ids=["while the run is on", "while it starts"])
def test_ctrl_c_stops_the_run(lab, outcome, tmp_path, tests):
    before = len(lab.c.api("GET", "/runs?filtername=test_name&filterval=test+hold")["runs"])
    process = plugin(lab.c, tmp_path, tests=tests)
    active = "/runs?filtername=is_finished&filterval=0"
    if tests != INTERRUPTED_START:
        lab.waits_for(lambda: lab.c.api("GET", active)["total"] == 1, 60)
        process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=240)[0]
    assert process.returncode == 2 and "KeyboardInterrupt" in output, output
    lab.waits_for(lambda: lab.c.api("GET", active)["total"] == 0, 60)
    runs = lab.c.api("GET", "/runs?filtername=test_name&filterval=test+hold")["runs"]
    assert [r["status"] for r in runs] == ["stopped"] * (before + 1)


@pytest.mark.parametrize("more, sentence", [
    ({"url": ""}, "OFFHOOK_URL and OFFHOOK_KEY (PUBLIC:SECRET) must be set"),
    ({"key": "wrong:key"}, "401"),
    ({"url": "http://127.0.0.1:1"}, "the controller http://127.0.0.1:1 does not answer"),
])
def test_without_a_controller(lab, tmp_path, more, sentence):
    process = plugin(lab.c, tmp_path, tests='def test_it(offhook_run):\n    offhook_run("test passed")\n', **more)
    output = process.communicate(timeout=240)[0]
    assert process.returncode == 1 and sentence in output, output
    assert "Traceback" not in output and "wrong:key" not in output


READS = 'def test_it(offhook):\n    assert offhook.records("projects") == []\n'


def test_a_certificate_without_an_authority(tmp_path):
    server = Own()
    server.create_key("ci", "run")
    with server:
        known = {"OFFHOOK_FINGERPRINT": fingerprint_of(server.pem)}
        for more, status, sentence in (
                (known, 0, "1 passed"),
                (known | {"OFFHOOK_CA": str(server.pem)}, 0, "1 passed"),
                ({"OFFHOOK_FINGERPRINT": OTHER}, 1, f"has another fingerprint: {fingerprint_of(server.pem)}"),
                (known | {"OFFHOOK_CA": "/etc/ssl/certs/ca-certificates.crt"}, 1, "CERTIFICATE_VERIFY_FAILED"),
                ({}, 1, "CERTIFICATE_VERIFY_FAILED"),
                (known | {"url": "http://127.0.0.1:1"}, 1, "has no certificate to compare")):
            process = plugin(server, tmp_path, tests=READS, **{"url": server.url, **more})
            output = process.communicate(timeout=240)[0]
            assert process.returncode == status and sentence in output, (more, output)
            assert "Warning" not in output and server.keys["run"][1] not in output


def test_the_key_is_not_sent_over_plain_http(lab, tmp_path):
    far = lab.c.witness().url.replace("127.0.0.1", "127.1")  # another spelling is not known as loopback
    tests = READS.replace("== []", "is not None")
    output = plugin(lab.c, tmp_path, tests=tests, url=far).communicate(timeout=240)[0]
    assert "would be sent over plain HTTP" in output and "OFFHOOK_PLAIN_HTTP=1" in output
    process = plugin(lab.c, tmp_path, tests=tests, url=far, OFFHOOK_PLAIN_HTTP="1")
    assert process.communicate(timeout=240)[0] and process.returncode == 0


def test_a_pool_must_be_named_where_there_are_several(lab, tmp_path):
    other = lab.make("agent-pools", name="other")
    tests = 'def test_it(offhook_pool):\n    assert offhook_pool["name"] == "other"\n'
    try:
        output = plugin(lab.c, tmp_path, tests=tests).communicate(timeout=240)[0]
        assert "a agent-pool" not in output
        assert "must be named; the controller has: other, pool (--offhook-pool)" in output, output
        process = plugin(lab.c, tmp_path, "--offhook-pool=other", tests=tests)
        output = process.communicate(timeout=240)[0]
        assert process.returncode == 0, output
    finally:
        lab.c.api("DELETE", f"/agent-pools/{other}")


def test_the_readme_names_options_and_fixtures():
    code = (ROOT / "clients/python/pytest_offhook.py").read_text()
    readme = (ROOT / "clients/python/README.md").read_text()
    options = re.findall(r'\("(\w+)", "(OFFHOOK_\w+)", "', code)
    told = re.findall(r"(?m)^\| `--offhook-(\w+)` \| `(OFFHOOK_\w+)` \|", readme)
    assert options == told and len(options) == 7
    fixtures = re.findall(r'@pytest.fixture.*\ndef (\w+)', code)
    assert len(fixtures) == 4 and all(f"`{name}" in readme for name in fixtures)
    compile(re.search(r"```python\n(.*?)```", readme, re.S).group(1), "README.md", "exec")

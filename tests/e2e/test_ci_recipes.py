"""packaging/ci: the shell steps of the recipes, as each CI system runs them, against a real
controller."""
import html
import os
import re
import subprocess
import textwrap

import pytest
import yaml
from junitparser import JUnitXml

from controller import ROOT, Controller, build_dir
from netns import own_network
from test_api_project_runs import TIMES, Lab, user_of

FOLDER = ROOT / "packaging/ci"
# The sentence of a failed and of an errored run of these tests.
REASONS = {"passed": "", "failed": "caller: no", "error": "the agent could not carry on: broken"}
STATUS = {"passed": 0, "failed": 1, "error": 3}


@pytest.fixture(scope="module")
def lab():
    server = Controller(**TIMES)
    server.create_key("ci", "run")
    with server as c:
        made = Lab(c)
        project = made.make("projects", name="ci")
        for user in STATUS:
            made.test(project, user, user)
        with made.worker(lambda spec: user_of(spec)):
            yield made


# ---- the steps: [(shell, text, whether it runs after a failure)], variables of the file, artifacts ----


def github():
    job = yaml.safe_load((FOLDER / "github.yml").read_text())["jobs"]["calls"]
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail"]
    steps = [(shell, s["run"], s.get("if") == "always()") for s in job["steps"] if "run" in s]
    kept = next(s["with"]["path"] for s in job["steps"] if "upload-artifact" in s.get("uses", ""))
    return steps, job["env"], kept.split()


def gitlab():
    job = yaml.safe_load((FOLDER / "gitlab.yml").read_text())["calls"]
    # the lines are one script
    steps = [(["bash", "-eo", "pipefail"], "\n".join(job["script"]), False)]
    assert job["retry"]["exit_codes"] == [STATUS["error"]]
    return steps, job["variables"], [*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]]


def jenkins():
    text = (FOLDER / "Jenkinsfile").read_text()
    steps = [(["sh", "-xe"], textwrap.dedent(s), False) for s in re.findall(r"\bsh '''\n(.*?)'''", text, re.S)]
    variables = dict(re.findall(r"(\w+) = '([^']*)'", text))
    return steps, variables, re.findall(r"(?:testResults|artifacts): '([^']+)'", text)


def carry_out(recipe, folder, test, **more):
    """Run a job's steps. @return (exit status of the job, what it printed, files to keep)"""
    steps, variables, kept = recipe()
    assert steps and variables["OFFHOOK_TEST"] == "Desk is reachable"
    env = {**{k: v for k, v in os.environ.items() if not k.startswith("OFFHOOK_")},
           "PATH": f"{build_dir()}:{os.environ['PATH']}", "HOME": str(folder), "CI": "true",
           "GITHUB_STEP_SUMMARY": str(folder / "step-summary.md"), **more,
           "OFFHOOK_TEST": f"test {test}"}
    status, printed = 0, ""
    for number, (shell, text, always) in enumerate(steps):
        if status and not always:
            continue
        script = folder / f"step-{number}.sh"
        script.write_text(text)
        done = subprocess.run([*shell, script], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        printed += done.stdout
        status = status or done.returncode
    return status, printed, kept


@pytest.mark.parametrize("test", STATUS)
@pytest.mark.parametrize("recipe", [github, gitlab, jenkins])
def test_a_job_ends_as_its_test(lab, tmp_path, recipe, test):
    status, printed, kept = carry_out(
        recipe, tmp_path, test, OFFHOOK_URL=lab.c.witness().url, OFFHOOK_KEY=":".join(lab.c.keys["run"]))
    print(printed)
    assert status == STATUS[test], printed
    assert REASONS[test] in printed and f"test {test}" in printed
    assert lab.c.keys["run"][1] not in printed
    assert set(kept) == {"junit.xml", "report.html"} and all((tmp_path / name).stat().st_size for name in kept)
    suite = next(iter(JUnitXml.fromfile(tmp_path / "junit.xml")))
    assert (suite.failures > 0, suite.errors > 0) == (test == "failed", test == "error")
    assert REASONS[test] in (tmp_path / "junit.xml").read_text()
    if recipe is github:
        summary = html.unescape((tmp_path / "step-summary.md").read_text())
        assert f"test {test}: {'errored' if test == 'error' else test}" in summary
        assert {"failed": "1 of 1 condition failed"}.get(test, REASONS[test]) in summary


@pytest.mark.parametrize("recipe", [github, gitlab, jenkins])
def test_a_controller_that_is_away_is_no_verdict(tmp_path, recipe):
    status, printed, kept = carry_out(
        recipe, tmp_path, "passed", OFFHOOK_URL="http://127.0.0.1:1", OFFHOOK_KEY="a:b")
    assert status == 3 and "127.0.0.1" in printed
    assert not any((tmp_path / name).exists() for name in kept)


def test_a_job_without_a_url_is_told(tmp_path):
    """In a network of its own nothing has the port of the controller that is asked then."""
    with own_network():
        status, printed, _ = carry_out(gitlab, tmp_path, "passed", OFFHOOK_URL="", OFFHOOK_KEY="a:b")
    assert status == 3 and "no controller was given" in printed and "set OFFHOOK_URL" in printed

"""Reports of runs as files: JUnit XML, Markdown, HTML."""
import os
import re
import subprocess
import time
import xml.etree.ElementTree as ElementTree

import junitparser
import pytest
from selenium.webdriver.common.by import By

from bench import Bench
from browser import chromium, complaints

MARKUP = "<img src=x onerror=document.title='owned'>]]>[a](http://b)|`*"
FORMATS = ("junit", "markdown", "html")


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    from ports import PortBlock
    ports = PortBlock()
    with Bench(tmp_path_factory.mktemp("reports"), ports) as bench:
        yield bench
    ports.close()


def report(bench, path, status=200):
    answer = bench.controller.request("GET", path)
    assert answer.status_code == status, answer.text
    return answer.text


@pytest.fixture(scope="module")
def failed(bench):
    """(session, reports) of a run that failed by its MOS, whose texts contain markup."""
    test_id = bench.single_call(duration=2, custom_headers=[["X-Test", MARKUP]], conditions=[
        {"role": "callee", "condition_type": "callee-mos-conditions",
         "conditions": [{"type": "ge", "value": "4.9"}]},
        {"role": "callee", "condition_type": "callee-cli-conditions",
         "conditions": [{"type": "is", "field": "number", "value": MARKUP}]}])
    test = bench.api("GET", f"/tests/{test_id}")["test"]
    bench.api("PUT", f"/tests/{test_id}", {
        name: test[name] for name in ("project_id", "scenario", "agentpool_id",
                                      "steps", "conditions", "record")} | {"name": MARKUP})
    session = bench.start(test_id)
    for name in FORMATS:
        problem = bench.controller.request("GET", f"/runs/{session}/report/{name}")
        assert problem.status_code == 409
        assert problem.json()["detail"] == (
            "the run is in progress: its report is made when it is over")
    assert bench.wait(session)["status"] == "failed"
    return session, {name: report(bench, f"/runs/{session}/report/{name}")
                     for name in FORMATS}


def test_too_few_calls_leave_a_run_open(bench):
    """One call proves nothing about a ratio: the run is errored, and each report says why."""
    session = bench.start(bench.single_call(duration=0.5, conditions=[
        {"role": "caller", "condition_type": "caller-confidence-conditions", "conditions": [
            {"figure": "answer_seizure_ratio", "type": "ge", "value": "90", "confidence": 99}]}]))
    run = bench.wait(session)
    assert run["status"] == "errored"
    assert run["result_description"].startswith(
        "caller: not enough calls to tell whether the answer-seizure ratio is at least 90 %: "
        "100.00 % over 1 calls (between "), run
    verdict, = (v for v in bench.api("GET", f"/runs/{session}")["run"]["verdicts"]
                if v["condition_type"] == "caller-confidence-conditions")
    assert verdict["undecided"] is True and verdict["passed"] is False
    suite, = junitparser.JUnitXml.fromstring(report(bench, f"/runs/{session}/report/junit").encode())
    reasons = [r.message for case in suite for r in case.result
               if isinstance(r, junitparser.Skipped)]
    assert any(r.startswith("caller: not enough calls to tell") for r in reasons), reasons
    assert any(r == "not counted: the run is errored" for r in reasons)
    assert "could not be decided" in report(bench, f"/runs/{session}/report/markdown")
    assert "? too few calls" in report(bench, f"/runs/{session}/report/html")


def test_junit_is_read_by_a_second_parser(failed):
    session, reports = failed
    xml = junitparser.JUnitXml.fromstring(reports["junit"].encode())
    suite, = xml
    verdict, *conditions = suite
    assert suite.name == MARKUP and suite.timestamp and suite.time >= 2
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (
        1 + len(conditions), 3, 0, 0)
    assert verdict.name == "verdict" and "MOS" in verdict.result[0].message
    bad = [case for case in conditions if case.result]
    assert len(bad) == 2
    assert bad[0].name == "callee: MOS of every stream 'in' at least 4.9"
    assert re.fullmatch(r"expected at least 4\.9, was 4\.[0-9]+", bad[0].result[0].message)
    assert MARKUP in bad[1].result[0].message and 'was "1001"' in bad[1].result[0].message
    figures = {p.name: p.value for p in suite.properties()}
    assert figures["run_id"] == session and figures["agent.caller"] == "agent0"
    assert float(figures["callee.mos_min"]) > 4 and float(figures["caller.pdd_max_ms"]) > 0


def test_junit_has_the_structure_that_jenkins_reads(failed):
    """The order and the attributes of junit-10.xsd of the plugin xunit."""
    root = ElementTree.fromstring(failed[1]["junit"])
    assert root.tag == "testsuites" and [child.tag for child in root] == ["testsuite"]
    suite = root[0]
    assert set(suite.attrib) <= {"name", "tests", "failures", "errors", "time", "skipped",
                                 "timestamp", "hostname", "id", "package"}
    tags = [child.tag for child in suite]
    assert tags == ["properties"] + ["testcase"] * (len(tags) - 2) + ["system-out"]
    for case in suite.iter("testcase"):
        assert set(case.attrib) == {"name", "classname", "time"}
        assert [child.tag for child in case] in ([], ["failure"], ["error"], ["skipped"])
    names = [case.get("name") for case in suite.iter("testcase")]
    assert len(names) == len(set(names))


def test_markdown_keeps_hostile_text_as_text(failed):
    text = failed[1]["markdown"]
    html = subprocess.run(["cmark-gfm", "--unsafe", "-e", "table", "-e", "autolink"],
                          input=text, capture_output=True, text=True, check=True).stdout
    page = ElementTree.fromstring(f"<p>{html}</p>".replace("<!-- -->", ""))
    assert "failed" in page.find("h1").text and MARKUP in page.find("h1").text
    rows = [[cell.text for cell in row] for row in page.findall(".//tbody/tr")]
    assert rows[0][:2] == ["callee: MOS of every stream 'in' at least 4.9", "at least 4.9"]
    assert MARKUP in rows[1][1] and rows[1][2] == '"1001"'
    assert [link.text for link in page.iter("a")] == ["Report"]
    assert not list(page.iter("img"))


@pytest.mark.skipif(not os.path.exists("/proc/self"),
                    reason="Chromium does not run without /proc")
def test_html_opens_from_a_file_without_a_network(failed, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(failed[1]["html"], encoding="utf-8")
    with chromium() as browser:
        browser.execute_cdp_cmd("Network.enable", {})
        browser.execute_cdp_cmd("Network.emulateNetworkConditions", {
            "offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0})
        browser.get(path.as_uri())
        assert complaints(browser) == []
        assert browser.execute_script(
            "return performance.getEntriesByType('resource').length") == 0
        assert browser.title == "Offhook report"
        assert MARKUP in browser.find_element(By.TAG_NAME, "h1").text
        assert "at least 4.9" in browser.find_element(By.CSS_SELECTOR, "tr.failed").text
        plots = browser.find_elements(By.CSS_SELECTOR, ".plot svg polyline")
        assert len(plots) >= 2
        # the style is applied although only its hash is allowed
        assert browser.find_element(By.CSS_SELECTOR, ".badge.failed").value_of_css_property(
            "border-radius") == "12px"
        invite = next(d for d in browser.find_elements(By.TAG_NAME, "details")
                      if "INVITE" in d.text)
        assert not invite.find_element(By.TAG_NAME, "pre").is_displayed()
        invite.find_element(By.TAG_NAME, "summary").click()
        assert f"X-Test: {MARKUP}" in invite.find_element(By.TAG_NAME, "pre").text
        assert not browser.find_elements(By.CSS_SELECTOR, "img, script")


def test_project_run_has_a_suite_for_each_test(bench, failed):
    first = bench.single_call(duration=1)
    second = bench.single_call(duration=1)
    uuid = bench.api("POST", f"/projects/{bench.project_id}/run",
                     {"test_ids": [first, second]})["project_run_uuid"]
    path = f"/projects/runs/{uuid}"
    assert report(bench, path + "/report/junit", 409)
    deadline = time.monotonic() + 120
    while bench.api("GET", path + "/status")["run"]["run_status"] == "running":
        assert time.monotonic() < deadline
        time.sleep(0.2)
    suites = list(junitparser.JUnitXml.fromstring(
        report(bench, path + "/report/junit").encode()))
    assert len(suites) == 2 and all(suite.failures == 0 for suite in suites)
    assert all(suite.tests > 5 for suite in suites)
    assert report(bench, path + "/report/markdown").count("\n## ✅ ") == 2
    assert report(bench, path + "/report/html").count("<article ") == 2


def test_unknown_run_has_no_report(bench):
    nobody = "00000000-0000-4000-8000-000000000000"
    for name in FORMATS:
        report(bench, f"/runs/{nobody}/report/{name}", 404)
        report(bench, f"/projects/runs/{nobody}/report/{name}", 404)

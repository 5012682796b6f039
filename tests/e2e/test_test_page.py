"""The page of one test in a real browser: what it is, how it does, starting it."""
import os
from types import SimpleNamespace

import pytest
import requests
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from browser import chromium, looked_at
from controller import Controller
from fake_agent import FakeAgent
from test_api_project_runs import Lab, TIMES
from test_login import PASSWORD, serious, set_password
from test_overview import HISTORIES, Store, fill, until_the_rows
from test_pages import MARKUP, Page

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self"), reason="Chromium does not run without /proc")


@pytest.fixture(scope="module")
def lab():
    c = Controller(**{**TIMES, "claim_timeout_s": 600, "callback_allow": "192.0.2.9"})
    for name, rights in (("wil", "write"), ("rea", "read")):
        assert set_password(c, name, PASSWORD, "--rights", rights).returncode == 0
    with c:
        lab = Lab(c)
        lab.credentials["1001"] = lab.make("credential-pools", name=MARKUP, credentials=[
            {"username": "1001", "password": "a secret"}])
        project = lab.make("projects", name="Branch office")
        lab.ivr = lab.make(
            "tests", name="IVR " + MARKUP, project_id=project, agentpool_id=lab.pool,
            description="Dials " + MARKUP, tags=["ivr", "smoke"], retries_on_failure=2,
            callback_on_failure=1, callback_on_recovery=1, callback_url="https://192.0.2.9/hook",
            steps=[[{"type": "register", "role": "caller", "target_pool": lab.target,
                     "credential_pool": lab.credentials["1001"], "regexpire": 90},
                    {"type": "answer", "role": "callee"}],
                   [{"type": "call", "role": "caller", "dial_destination": MARKUP,
                     "max_total_calls": 3, "call_duration": "8",
                     "sipclient_actions": [["assert_established", ""], ["dtmf", "123#"]]}]],
            conditions=[
                {"role": "caller", "condition_type": "caller-mos-conditions",
                 "conditions": [{"type": "ge", "value": "4"}]},
                {"role": "caller", "condition_type": "caller-postdial-delay-conditions",
                 "conditions": [{"type": "le", "value": "700"}]}])
        lab.make("schedules", name="Nightly", test_id=lab.ivr, cron="0 2 * * *")
        lab.make("schedules", name="Of the project", project_id=project, cron="@daily")
        lab.make("schedules", name="Of another", project_id=lab.project("passed")[0],
                 cron="@daily")
        yield lab


@pytest.fixture(scope="module")
def driver():
    with chromium() as driver:
        yield driver


@pytest.fixture
def page(driver, lab):
    return Page(driver, lab).sign_in("wil")


@pytest.mark.looks
def test_what_it_is(page, lab):
    page.open(f"/tests/{lab.ivr}")
    assert page.find("h1").text.startswith("IVR " + MARKUP)
    assert page.texts("#crumbs li") == ["Branch office", "Tests", "IVR " + MARKUP]
    assert page.find("#crumbs li:nth-child(2) a").get_attribute("href").endswith("/tests")
    assert page.find("#sentence").text == "It has not run yet. Start it to get a verdict."
    assert page.find("#description").text == "Dials " + MARKUP
    facts = page.find("#facts").text
    assert "pool" in facts and "ivr, smoke" in facts and "2 more runs" in facts
    one, two = page.texts("#test-steps .step")
    assert "caller" in one and "Register" in one and MARKUP in one and "90" in one
    assert "callee" in one and "Answer" in one and "callee" not in two
    assert "Wait until established" in two and "123#" in two and MARKUP in two
    assert [t.split("\n") for t in page.texts("#conditions .word-row")] == [
        ["caller", "MOS: at least 4", "every stream"],
        ["caller", "Post-dial delay: at most 700 ms", "every call"]]
    plans = page.find("#schedules").text
    assert "Nightly" in plans and "0 2 * * *" in plans
    assert "Of the project" in plans and "Of another" not in plans
    callback = page.find("#callbacks").text
    assert callback.startswith("When it fails or it passes again: https://192.0.2.9/hook")
    assert page.find("#edit").get_attribute("href").endswith(f"/tests/{lab.ivr}/edit")
    assert page.find("#duplicate").get_attribute("href").endswith(f"/tests/new?copy={lab.ivr}")
    assert "a secret" not in page.driver.page_source
    assert page.driver.title == f"IVR {MARKUP} – Offhook" and serious(page.driver) == []
    looked_at(page.driver, "test-never-run")


def test_it_is_started_as_it_is_and_with_other_values(page, lab):
    page.open(f"/tests/{lab.ivr}")
    page.find("#start").click()
    page.wait(lambda: page.all(".toast a"))
    started = page.find(".toast a").get_attribute("href")  # it is shown for 6 s
    page.wait(lambda: len(page.rows("runs")) == 1)
    run = lab.c.api("GET", "/runs?count=1")["runs"][0]
    assert started.endswith(run["session_id"])
    assert f"Run {run['id']}" in page.rows("runs")[0]
    lab.c.api("POST", f"/runs/{run['id']}/stop")
    page.find("#start-with").click()
    page.wait(lambda: page.all("dialog .override"))
    Select(page.find(".override select")).select_by_value("step.1.0.call_duration")
    page.find(".override input").send_keys("not a time")
    page.find("#override-start").click()
    page.wait(lambda: "call_duration" in page.find("#start-wrong").text)
    refused, = serious(page.driver)
    assert "422" in refused["message"]
    page.find(".override input").clear()
    page.find(".override input").send_keys("11")
    page.find("#override-add").click()
    page.wait(lambda: len(page.all(".override")) == 2)
    Select(page.all(".override select")[1]).select_by_value("step.1.0.max_total_calls")
    page.all(".override input")[1].send_keys("5")
    page.find("#override-start").click()
    page.wait(lambda: not page.all("dialog"))
    page.wait(lambda: len(page.rows("runs")) == 2)
    run = lab.c.api("GET", "/runs?count=1")["runs"][0]
    agent = FakeAgent(lab.c, lab.token, "agent")
    action, = [a for job in agent.jobs(2).values() for step in job["spec"]["steps"]
               for a in step if a["type"] == "call"]
    assert (action["max_total_calls"], str(action["call_duration"])) == (5, "11")
    lab.c.api("POST", f"/runs/{run['id']}/stop")
    assert serious(page.driver) == []


def test_readers_cannot_start_or_change_it(driver, lab):
    page = Page(driver, lab).sign_in("rea")
    page.open(f"/tests/{lab.ivr}")
    assert page.all("#tools a, #tools button") == []


def test_lists_lead_to_it(page, lab):
    page.open("/tests?name=IVR")
    page.driver.find_element(By.PARTIAL_LINK_TEXT, "IVR").click()
    page.wait(lambda: page.driver.current_url.endswith(f"/tests/{lab.ivr}"))
    run = lab.c.api("GET", f"/runs?count=1&filtername=test_id&filterval={lab.ivr}")["runs"][0]
    page.driver.get(f"{lab.c.witness().url}/run/details/{run['session_id']}")
    page.wait(lambda: page.all("#crumbs a"))
    assert page.all("#crumbs a")[1].get_attribute("href").endswith(f"/tests/{lab.ivr}")
    assert serious(page.driver) == []


@pytest.mark.parametrize("path", ["/tests/999999", "/tests/x", "/tests/-1", "/tests/1.5"])
def test_a_test_that_does_not_exist_is_404(lab, path):
    answer = requests.get(lab.c.url + path, timeout=60, headers={"Accept": "text/html"},
                          auth=lab.c.keys["admin"])
    assert answer.status_code == 404 and "See all tests" in answer.text
    assert "There is no such test." in answer.text


@pytest.fixture(scope="module")
def stored():
    c = Controller()
    assert set_password(c, "wil", PASSWORD, "--rights", "write").returncode == 0
    store = Store(c)
    fill(store)
    store.close()
    with c:
        yield SimpleNamespace(c=c, tests=store.tests)


SENTENCES = {"always failed": "It has failed 25 times in a row, since ",
             "passes": "It has passed "}


@pytest.mark.parametrize("name", HISTORIES)
def test_verdict_and_history(driver, stored, name):
    page = Page(driver, stored).sign_in("wil")
    state = HISTORIES[name][1]
    page.open(f"/tests/{stored.tests[name][0]}")
    assert page.find("h1 .badge").text == {"never_run": "never run"}.get(state, state)
    assert page.find("#sentence").text.startswith(SENTENCES.get(name, "")) and \
        page.find("#sentence").text.endswith(".")
    runs = stored.c.api("GET", f"/tests/{stored.tests[name][0]}/verdict")["verdict"]["runs"]
    assert len(page.all("#since .strip a")) == len(runs)
    assert serious(driver) == []


@pytest.mark.looks
def test_flaky_test_says_what_failed_runs_have_in_common(driver, stored):
    page = Page(driver, stored).sign_in("wil")
    page.open(f"/tests/{stored.tests['fails at night'][0]}")
    page.wait(lambda: page.find("#common").text == "What the failed runs have in common: 7 of 7 failed runs started "
              "in the hours 02:00 to 03:00 UTC, 0 of 14 passed runs did.")
    looked_at(driver, "test-flaky")
    page.open(f"/tests/{stored.tests['flaky, passes'][0]}")
    page.wait(lambda: page.find("#common").text.startswith("The failed runs have nothing in common"))
    page.open(f"/tests/{stored.tests['passes'][0]}")
    page.wait(lambda: page.find("#sentence").text)
    assert not page.find("#common").is_displayed()


@pytest.mark.looks
def test_trends_are_of_its_runs_alone(driver, stored):
    answer = stored.c.api("GET", f"/tests/{stored.tests['trend'][0]}/verdict")
    whole = stored.c.api("GET", "/overview")["overview"]["trend"]
    trend, whole = until_the_rows(answer["trend"]), until_the_rows(whole)
    # three days of 20 runs; other tests have runs on the last day only
    assert [d["runs"] for d in trend][-3:] == [20, 20, 20]
    assert [d["day"] for d in trend][-3:] == [d["day"] for d in whole][-3:]
    assert trend[-2] == whole[-2] and trend[-1]["runs"] < whole[-1]["runs"]
    assert trend[-1]["pass_rate"] == 95
    assert trend[0]["mos"] is None
    page = Page(driver, stored).sign_in("wil")
    page.open(f"/tests/{stored.tests['trend'][0]}")
    labels = driver.execute_script(
        "return [...document.querySelectorAll('#trends svg')].map(s => s.ariaLabel)")
    assert labels[0] == "Runs that passed, 14 days: 95.0 to 100.0"
    assert labels[2] == "Post-dial delay, 95 %, 14 days: 118 to 118"
    looked_at(driver, "test")
    assert serious(driver) == []

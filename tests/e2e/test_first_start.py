"""From a bare controller to the first verdict, by a browser alone: the set-up code, an agent
with the command that the page shows, a proxy as the system under test."""
import json
import os
import re
import time
from types import SimpleNamespace

import pytest

from agent import Agent
from bench import CALLEE, CALLER, QUICK
from browser import chromium, looked_at
from controller import Controller
from peers import SUBSCRIBERS, Kamailio
from ports import PortBlock
from test_login import PASSWORD, serious, set_password
from test_pages import Page

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self"), reason="Chromium does not run without /proc")


@pytest.fixture(scope="module")
def driver():
    with chromium() as driver:
        yield driver


@pytest.fixture
def ports():
    block = PortBlock()
    yield block
    block.close()


def fill(page, form, **values):
    for name, value in values.items():
        field = page.find(f"#{form} [name='{name.replace('_', '-')}']")
        field.clear()
        field.send_keys(value)


def now(page, title):
    page.wait(lambda: page.texts("#steps > .now h3") == [title])


# What a user does, over all pages: clicks, and fields in which something is typed.
COUNT = """for (const type of ['pointerdown', 'input']) {
  addEventListener(type, (event) => {
    if (!event.isTrusted || (type === 'input' && !event.target.name)) return;
    const done = JSON.parse(sessionStorage.done || '[]');
    const what = `${type} ${type === 'input' ? event.target.name : event.timeStamp + performance.timeOrigin}`;
    sessionStorage.done = JSON.stringify([...new Set([...done, what])]);
  }, true);
}"""


def counted(driver):
    """@return clicks, fields that were filled in"""
    done = json.loads(driver.execute_script("return sessionStorage.done"))
    clicks = sum(d.startswith("pointerdown") for d in done)
    return clicks, len(done) - clicks


def set_up(page, c):
    """No user is there: every address leads to the form for the first one."""
    page.driver.get(c.witness().url + "/")
    page.wait(lambda: page.all("#setup") and page.find("#setup").is_displayed())
    page.wait(lambda: page.find("h1").text == "First user")
    # the page asked the API, whose answer led here without a dialog of the browser
    refused, = serious(page.driver)
    assert "401" in refused["message"]
    code = (c.state_dir / "setup-code").read_text().strip()
    fill(page, "setup", code=code, name="ada", password=PASSWORD)
    page.find("#setup button").click()
    now(page, "Start an agent")
    assert page.driver.execute_script("return location.pathname") == "/"


@pytest.mark.looks
def test_from_the_code_to_the_verdict(driver, ports, tmp_path):
    with Kamailio(tmp_path, ports.sip), Controller(**QUICK) as c:
        page = Page(driver, SimpleNamespace(c=c))
        script = driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": COUNT})
        began = time.monotonic()
        set_up(page, c)
        page.press("Show the join command")
        page.wait(lambda: page.texts("#join pre"))
        shown = page.find("#join pre").text
        assert f"controller = \"{c.witness().url}\"" in shown
        token = re.search(r"--join-token (\S{12,})", shown)[1]
        agent = Agent(tmp_path, c.witness().url, token, ports.rtp, name="first-agent")
        agent.start()
        try:
            to_the_verdict(page, c, ports)
            clicks, fields = counted(driver)
            print(f"{clicks} clicks, {fields} fields, {time.monotonic() - began:.0f} s")
            # docs/guide/getting-started.md; beside them the command is copied and the code read
            assert (clicks, fields) == (5, 8)
            in_the_overview(page, c)
        finally:
            driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
            driver.get("about:blank")  # the pages ask again and again
            agent.close()


def to_the_verdict(page, c, ports):
    now(page, "Name the system under test")
    assert "first-agent is online." in page.texts("#steps > .done")[1]
    fill(page, "system", host=f"127.0.0.1:{ports.sip}", caller_user=CALLER,
         caller_password=SUBSCRIBERS[CALLER], callee_user=CALLEE,
         callee_password=SUBSCRIBERS[CALLEE])
    looked_at(page.driver, "first-start")
    page.press("Save", "#system")
    now(page, "Make a test of a scenario")
    # the focus is in the step that is due
    page.wait(lambda: page.driver.execute_script(
        "return Boolean(document.activeElement.closest('.now'))"))
    assert page.find("#make [name=name]").get_attribute("value") == "Single call"
    page.press("Make the test", "#make")
    now(page, "Start the test")
    assert len(page.texts("#steps > .done")) == 4
    assert serious(page.driver) == []
    page.press("Start", "#steps")
    page.wait(lambda: page.texts("#status") == ["Passed"])
    assert page.texts("#name") == ["Single call"]
    run, = c.api("GET", "/runs")["runs"]
    assert (run["status"], run["test_name"]) == ("passed", "Single call")
    test, = c.api("GET", "/tests")["tests"]
    assert test["id"] == run["test_id"] and test["conditions"]
    for word in SUBSCRIBERS[CALLER], SUBSCRIBERS[CALLEE], PASSWORD:
        assert word not in page.driver.page_source


def in_the_overview(page, c):
    page.open("/")
    assert page.find("h1").text == "No failing test of 1"
    assert page.texts("#passing tbody tr a")[0] == "Single call"
    # the way back to a page that was asked for, and away from the form
    page.find("#me").click()
    page.press("Sign out", "dialog")
    page.wait(lambda: "/login" in page.driver.current_url)
    page.driver.get(c.witness().url + "/runs?status=passed")
    page.wait(lambda: page.find("#login").is_displayed())
    assert page.find("#wanted").text == "After that you are taken to /runs?status=passed."
    fill(page, "login", name="ada", password=PASSWORD)
    page.find("#login button").click()
    page.wait(lambda: page.driver.current_url.endswith("/runs?status=passed"))
    page.wait(lambda: page.rows("runs"))
    for path in ("/login", "/setup"):
        page.driver.get(c.witness().url + path)
        page.wait(lambda: page.driver.execute_script("return location.pathname") == "/")
    assert serious(page.driver) == []


def test_what_is_wrong_is_said_and_what_was_typed_is_kept(driver):
    c = Controller(poll_s=1, lease_s=600)  # how long a poll of the agent waits, and it is online
    assert set_password(c, "wil", PASSWORD, "--rights", "write").returncode == 0
    c.create_key()
    with c:
        pool = c.api("POST", "/agent-pools", {"name": "p"})["agent_pool"]
        from fake_agent import FakeAgent
        agent = FakeAgent(c, pool["join_token"], "agent")
        agent.poll(t=0)
        page = Page(driver, SimpleNamespace(c=c)).sign_in("wil")
        page.open("/")
        now(page, "Name the system under test")
        fill(page, "system", host="no host at all", caller_user="1001", caller_password="x",
             callee_user="1002", callee_password="y")
        page.press("Save", "#system")
        page.wait(lambda: "host" in page.find("#failure").text)
        refused, = serious(driver)
        assert "422" in refused["message"]
        assert page.find("#system [name=callee-user]").get_attribute("value") == "1002"
        fill(page, "system", host="192.0.2.1")
        page.press("Save", "#system")
        now(page, "Make a test of a scenario")
        host, = c.api("GET", "/targets")["targets"][0]["hosts"]
        assert (host["host"], host["transport"]) == ("192.0.2.1", "udp")
        assert [p["credential_count"] for p in
                c.api("GET", "/credential-pools")["credential_pools"]] == [1, 1]
        assert serious(driver) == []
        driver.get("about:blank")


def test_a_reader_sees_what_it_waits_for(driver):
    c = Controller()
    assert set_password(c, "rea", PASSWORD, "--rights", "read").returncode == 0
    with c:
        page = Page(driver, SimpleNamespace(c=c)).sign_in("rea")
        page.open("/")
        now(page, "Start an agent")
        assert "It needs a user with the right write." in page.find("#steps > .now").text
        assert page.all("#steps button") == []
        driver.get("about:blank")

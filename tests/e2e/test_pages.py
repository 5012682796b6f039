"""The pages beside the report in a real browser, signed in."""
import os
import re
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import requests
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from browser import chromium, looked_at
from controller import Controller
from receiver import Receiver
from test_api_project_runs import Lab, TIMES
from test_login import PASSWORD, serious, set_password
from test_overview import HISTORIES, Store, fill

MARKUP = "<img src=x onerror=document.title='owned'>"

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self"), reason="Chromium does not run without /proc")


@pytest.fixture(scope="module")
def lab():
    c = Controller(**{**TIMES, "claim_timeout_s": 600, "callback_allow": "127.0.0.1",
                      "callback_retry_s": 1})
    for name, rights in (("wil", "write"), ("rea", "read"), ("adm", "admin")):
        assert set_password(c, name, PASSWORD, "--rights", rights).returncode == 0
    with c:
        lab = Lab(c)
        lab.standing, (lab.passes, lab.fails) = lab.project("passed", "failed")
        yield lab


class Page:
    """One signed-in browser."""

    def __init__(self, driver, lab):
        self.driver, self.lab = driver, lab

    def sign_in(self, name):
        url = self.lab.c.witness().url
        answer = requests.post(f"{url}/login", json={"name": name, "password": PASSWORD},
                               timeout=60)
        assert answer.status_code == 200, answer.text
        self.driver.get(f"{url}/healthz")  # a cookie can be set only on a page of its site
        self.driver.add_cookie({"name": "offhook_session",
                                "value": answer.cookies["offhook_session"]})
        return self

    def open(self, path):
        self.driver.get(self.lab.c.witness().url + path)
        self.wait(lambda: self.find("body").get_attribute("data-drawn") == "done")
        assert serious(self.driver) == []

    def find(self, css):
        return self.driver.find_element(By.CSS_SELECTOR, css)

    def all(self, css):
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def wait(self, condition):
        WebDriverWait(self.driver, 60, ignored_exceptions=[StaleElementReferenceException]).until(
            lambda _: condition())

    def texts(self, css):
        """The texts of all matches in one call, as the page may redraw at any time."""
        return self.driver.execute_script(
            "return [...document.querySelectorAll(arguments[0])].map(n => n.innerText)", css)

    def rows(self, box):
        return self.texts(f"#{box} tbody tr")

    def press(self, text, within="main"):
        def pressed():
            found = [b for b in self.all(f"{within} button") if b.text == text]
            if found:
                found[0].click()
            return bool(found)
        self.wait(pressed)

    def fill(self, **values):
        for name, value in values.items():
            field = self.find(f'#form [name="{name}"]')
            if field.tag_name == "select":
                Select(field).select_by_visible_text(value)
            else:
                field.clear()
                field.send_keys(value)

    def said(self, kind="done"):
        self.wait(lambda: self.find(f"#{kind}").text)
        return self.find(f"#{kind}").text

    def refused(self, word):
        """The API's error for a form; the browser logs the 422."""
        self.wait(lambda: word in self.find("#failure").text)
        found = serious(self.driver)
        assert len(found) == 1 and "422" in found[0]["message"], found


@pytest.fixture(scope="module")
def driver():
    with chromium() as driver:
        yield driver


@pytest.fixture
def page(driver, lab):
    return Page(driver, lab).sign_in("wil")


def test_first_start_waits_for_what_is_missing(driver):
    c = Controller()
    assert set_password(c, "wil", PASSWORD, "--rights", "write").returncode == 0
    with c:
        first_start(Page(driver, SimpleNamespace(c=c)).sign_in("wil"), c)
        driver.get("about:blank")  # the page asks again and again, also when c has gone


def first_start(page, c):
    page.open("/")
    assert page.find("h1").text == "From here to the first judged call"
    assert len(page.texts("#steps > li")) == 5
    now, = page.texts("#steps > .now h3")
    assert now == "Start an agent"
    page.press("Show the join command")
    page.wait(lambda: page.texts("#join pre"))
    assert re.search(r"offhook-agent --config agent.conf --join-token \S{12,}",
                     page.find("#join pre").text)
    page.press("Copy", "#join")
    page.wait(lambda: re.match("Copied|It is selected", page.find("#join [role=status]").text))
    assert not page.find("#failure").is_displayed()
    assert [p["name"] for p in c.api("GET", "/agent-pools")["agent_pools"]] == ["default"]
    assert join_command(page, "https://c.example:8443").splitlines() == [
        "echo 'controller = \"https://c.example:8443\"' > agent.conf",
        "offhook-agent --config agent.conf --join-token T --fingerprint sha256//P"]
    assert "--fingerprint" not in join_command(page, "http://localhost:8080")
    assert "plain_http" not in join_command(page, "http://[::1]:8080")
    assert join_command(page, "http://c.example").splitlines()[1] == \
        "echo 'plain_http = true' >> agent.conf"
    assert serious(page.driver) == []


def join_command(page, address):
    """What the page shows when it was opened at this address."""
    return page.driver.execute_async_script(
        "const [address, done] = arguments;"
        "import('/static/format.js').then((m) => done(m.joinCommand({agent_pool:"
        " {join_token: 'T', controller_fingerprint: 'sha256//P'}}, new URL(address))))",
        address)


def schedules(lab):
    return lab.c.api("GET", "/schedules")["schedules"]


def test_schedules(page, lab):
    page.open("/schedules")
    assert "no schedule yet" in page.find("#schedules").text
    page.fill(name=MARKUP, what="test test 1-0", cron="61 * * * *", timezone="Europe/Berlin")
    page.press("Save")
    page.refused("minute: 61 is not from 0 to 59")
    assert page.find("#form [name=cron]").get_attribute("aria-invalid") == "true"
    page.fill(cron="30 2 * * mon-fri", overlap="wait until it is over")
    page.press("Save")
    assert page.said() == f"{MARKUP} was saved."
    made, = schedules(lab)
    assert (made["name"], made["test_id"], made["cron"], made["timezone"], made["overlap"],
            made["missed"], made["enabled"]) == (
        MARKUP, lab.passes, "30 2 * * mon-fri", "Europe/Berlin", "wait", "skip", 1)
    row, = page.rows("schedules")
    assert MARKUP in row and made["next_at"] in row and "30 2 * * mon-fri (Europe/Berlin)" in row
    assert made["next_at"] in page.find("#one-next").text
    assert "owned" not in page.driver.title

    page.press("Switch off", "#schedules")
    page.wait(lambda: "switched off" in page.rows("schedules")[0])
    assert schedules(lab)[0]["enabled"] == 0 and schedules(lab)[0]["overlap"] == "wait"
    page.press("Edit", "#schedules")
    page.wait(lambda: page.find("#form [name=name]").get_attribute("value") == MARKUP)
    project = lab.c.api("GET", f"/projects/{lab.standing}")["project"]["name"]
    page.fill(name="renamed", what=f"project {project}", tags="passed, failed")
    page.press("Save")
    page.wait(lambda: "renamed was saved." in page.find("#done").text)
    changed, = schedules(lab)
    assert changed["id"] == made["id"] and changed["project_id"] == lab.standing
    assert changed["tags"] == '["passed","failed"]' and changed["enabled"] == 0

    page.press("Delete", "#schedules")
    page.wait(lambda: "Really?" in page.texts("#schedules button"))
    assert schedules(lab)
    page.press("Really?", "#schedules")
    page.wait(lambda: "renamed was deleted." in page.find("#done").text)
    assert schedules(lab) == [] and serious(page.driver) == []


def test_history_of_a_schedule(page, lab):
    made = lab.c.api("POST", "/schedules", {
        "name": "soon", "test_id": lab.passes,
        "run_at": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() + 6))})["schedule"]
    lab.waits_for(lambda: lab.c.api("GET", f"/schedules/{made['id']}")["schedule"]["history"])
    page.open("/schedules")
    page.press("soon")
    page.wait(lambda: page.rows("history"))
    row, = page.rows("history")
    assert made["run_at"] in row and "started" in row
    address = page.find("#history a").get_attribute("href")
    run = lab.c.api("GET", "/runs?count=1")["runs"][0]
    assert address == f"{lab.c.witness().url}/run/details/{run['session_id']}"
    lab.c.api("POST", f"/runs/{run['id']}/stop")


def test_callbacks(page, lab):
    with Receiver(500, 200) as r, lab.worker():
        r.answer = MARKUP.encode()
        run = lab.c.api("POST", f"/tests/{lab.fails}/run", {"callback_url": r.url})["data"]
        lab.waits_for(lambda: any(
            b["state"] == "delivered" for b in lab.c.api("GET", "/callbacks")["callbacks"]), 60)
        page.open("/callbacks")
        row, = page.rows("callbacks")
        assert "delivered" in row and r.url in row
        assert page.find("#callbacks a").get_attribute("href").endswith(run["session_id"])
        page.press("2", "#callbacks")
        page.wait(lambda: len(page.rows("tries")) == 2)
        first, second = page.rows("tries")
        assert "was answered 500" in first and "delivered" in second and MARKUP in second
        assert not page.find("#older").is_displayed()


def test_callback_templates(page, lab):
    page.open("/callbacks")
    page.fill(name="chat", method="PUT", body='{"t": "{{nonsense}}"}')
    page.press("Save")
    page.refused("no placeholder {{nonsense}}")
    page.fill(body='{"t": "{{test_name}}"}')
    page.press("Save")
    assert page.said() == "chat was saved."
    template, = lab.c.api("GET", "/callback-templates")["callback_templates"]
    assert (template["method"], template["content_type"], template["body"]) == (
        "PUT", "application/json", '{"t": "{{test_name}}"}')
    page.press("Edit", "#templates")
    page.fill(name="room")
    page.press("Save")
    page.wait(lambda: "room was saved." in page.find("#done").text)
    assert lab.c.api("GET", "/callback-templates")["callback_templates"][0]["name"] == "room"
    for text in ("Delete", "Really?"):
        page.press(text, "#templates")
        page.wait(lambda: "Delete" not in page.texts("#templates button"))
    page.wait(lambda: "room was deleted." in page.find("#done").text)
    assert lab.c.api("GET", "/callback-templates")["total"] == 0


@pytest.mark.looks
def test_scenarios(page, lab):
    page.open("/scenarios")
    listed = lab.c.api("GET", "/scenarios?count=1000")["scenarios"]
    assert len(page.rows("scenarios")) == len(listed)
    page.press("Registration")
    page.wait(lambda: page.find("#one").get_attribute("data-scenario") == "registration")
    page.fill(agentpool_id=f"pool ({lab.pool})", target_pool=f"t ({lab.target})")
    page.press("Start", "#form")  # an account is missing
    page.refused("username")
    wrong = page.driver.switch_to.active_element  # opened, scrolled to
    assert wrong.get_attribute("name").endswith("username") and wrong.is_displayed()
    said = page.find(f"[id='{wrong.get_attribute('aria-describedby')}']")
    assert said.is_displayed() and said.text in page.find("#failure").text
    words = wrong.find_element(By.XPATH, "ancestor::label").text
    assert words.startswith("User name") and wrong.get_attribute("name") in words
    looked_at(page.driver, "scenario-form")
    page.fill(username="1001", password="not to be kept")
    page.press("Start", "#form")
    page.wait(lambda: page.all("#started a"))
    assert page.find('#form [name="password"]').get_attribute("value") == ""
    run = lab.c.api("GET", "/runs?count=1")["runs"][0]
    assert run["testcase_name"] == "registration"
    assert page.find("#started a").get_attribute("href") == \
        f"{lab.c.witness().url}/run/details/{run['session_id']}"
    shown = {i.get_attribute("name") for i in page.all("#form [name]")}
    params = lab.c.api("GET", "/scenarios/registration/params")["params"]
    assert shown == {p["name"] for p in params}
    lab.c.api("POST", f"/runs/{run['id']}/stop")


def test_reader_sees_no_forms(driver, lab):
    lab.c.api("POST", "/schedules", {"name": "seen", "test_id": lab.passes, "cron": "@daily"})
    page = Page(driver, lab).sign_in("rea")
    page.open("/schedules")
    assert any("seen" in row for row in page.rows("schedules"))
    assert not page.find("#form").is_displayed()
    assert set(page.texts("#schedules button")) & {"Edit", "Delete"} == set()
    page.open("/callbacks")
    assert not page.find("#form").is_displayed()
    page.open("/scenarios")
    page.press("Registration")
    page.wait(lambda: page.find("#one").is_displayed())
    assert not page.find("#start").is_displayed()


def test_links_of_the_top_bar(page, lab):
    page.driver.get(f"{lab.c.witness().url}/account")
    page.wait(lambda: page.find("#nav").is_displayed())
    for name in page.texts("#nav a"):
        page.driver.get(f"{lab.c.witness().url}/account")
        page.wait(lambda: page.find("#nav").is_displayed())
        page.driver.find_element(By.LINK_TEXT, name).click()
        page.wait(lambda: name in ("API", "Overview", "Setup") or page.find("h1").text == name)
    assert serious(page.driver) == []


def test_keys_search_and_sign_out(page, lab):
    page.open("/tests")
    body = page.find("body")
    body.send_keys("?")
    page.wait(lambda: "Search" in page.texts("dialog dd"))
    page.press("Close", "dialog")
    page.wait(lambda: not page.all("dialog"))
    body.send_keys("/")
    page.wait(lambda: page.all("dialog input"))
    page.find("dialog input").send_keys("Agent pools\n")
    page.wait(lambda: page.driver.current_url.endswith("/pools"))
    page.open("/runs")
    page.find("body").send_keys("gt")
    page.wait(lambda: page.driver.current_url.endswith("/tests"))
    page.wait(lambda: page.find("#me").is_displayed())
    page.find("#me").click()
    page.press("Sign out", "dialog")
    page.wait(lambda: "/login" in page.driver.current_url)


def test_runs_are_filtered_and_stopped(page, lab):
    run = lab.c.api("POST", f"/tests/{lab.passes}/run")["data"]
    page.open("/runs?status=running&test=test 1-0")
    row, = [r for r in page.rows("runs") if "Stop" in r]
    assert "running" in row and "1-0" in row
    page.wait(lambda: page.find("#runs a").get_attribute("href").endswith(run["session_id"]))  # it is drawn each 2 s
    page.press("Stop", "#runs")
    page.wait(lambda: not page.rows("runs"))
    Select(page.find("#form [name=status]")).select_by_visible_text("stopped")
    page.press("Filter")
    page.wait(lambda: any("stopped" in r for r in page.rows("runs")))
    assert "status=stopped" in page.driver.current_url
    assert serious(page.driver) == []


def test_a_run_is_deleted(page, lab):
    session = lab.c.api("POST", f"/tests/{lab.passes}/run")["data"]["session_id"]
    page.open("/runs?test=test 1-0&status=running")
    assert not [r for r in page.rows("runs") if "Delete" in r]
    lab.c.api("POST", f"/runs/{session}/stop")
    lab.waits_for(lambda: lab.c.api("GET", f"/runs/{session}/status")["run"]["status"] == "stopped")
    page.open("/runs?test=test 1-0&status=stopped")
    page.wait(lambda: "Delete" in page.rows("runs")[0])
    before = lab.c.api("GET", "/runs")["total"]
    page.press("Delete", "#runs")
    page.wait(lambda: page.all("dialog"))
    assert "cannot be undone" in page.find("dialog").text
    page.press("Keep it", "dialog")
    page.wait(lambda: not page.all("dialog"))
    assert lab.c.api("GET", "/runs")["total"] == before
    page.press("Delete", "#runs")
    page.press("Delete", "dialog")
    page.wait(lambda: page.all(".toast"))
    assert "was deleted" in page.find(".toast").text
    assert lab.c.request("GET", f"/runs/{session}").status_code == 404
    assert serious(page.driver) == []


def test_a_run_is_kept(page, lab):
    session = lab.c.api("POST", f"/tests/{lab.passes}/run")["data"]["session_id"]
    lab.c.api("POST", f"/runs/{session}/stop")
    while lab.c.api("GET", f"/runs/{session}/status")["run"]["status"] == "running":
        pass
    page.open(f"/run/details/{session}")
    page.wait(lambda: page.all("#keep"))
    page.press("Keep", "#tools")
    page.wait(lambda: page.all("#unkeep"))
    assert lab.c.api("GET", f"/runs/{session}")["run"]["keep"] == 1
    assert not page.find("#removed").is_displayed()
    page.press("Kept", "#tools")
    page.wait(lambda: page.all("#keep"))
    assert lab.c.api("GET", f"/runs/{session}")["run"]["keep"] == 0
    assert serious(page.driver) == []


def test_a_test_is_started_and_deleted(page, lab):
    page.open("/tests?name=1-0")
    assert len(page.rows("tests")) == 1
    page.press("Run", "#tests")
    page.wait(lambda: page.all(".toast a"))
    run = lab.c.api("GET", "/runs?count=1")["runs"][0]
    assert page.find(".toast a").get_attribute("href").endswith(run["session_id"])
    lab.c.api("POST", f"/runs/{run['id']}/stop")
    assert [a.get_attribute("href").rpartition("/tests/")[2] for a in page.all("#tests .btn[href]")] == [
        f"{lab.passes}/edit", f"new?copy={lab.passes}"]
    number = lab.test(lab.standing, "kept or not", "passed")
    page.open("/tests?name=kept or not")
    for text in ("Delete", "Really?"):
        page.press(text, "#tests")
    page.wait(lambda: not page.rows("tests"))
    assert number not in [t["id"] for t in lab.c.api("GET", "/tests")["tests"]]
    assert serious(page.driver) == []


@pytest.fixture(scope="module")
def stored():
    """States of all kinds, and 1100 newer runs of one test."""
    c = Controller()
    assert set_password(c, "wil", PASSWORD, "--rights", "write").returncode == 0
    store = Store(c)
    fill(store)
    for _ in range(1100):
        store.run("trend", "passed")
    store.close()
    with c:
        yield SimpleNamespace(c=c, tests=store.tests)


def test_states_of_tests(driver, stored):
    """Also of tests whose last runs are not among the newest thousand."""
    page = Page(driver, stored).sign_in("wil")
    page.open("/tests")
    rows = page.rows("tests")
    assert len(rows) == len(stored.tests)
    words = {"never_run": "never run"}
    for name, (_, state, *_) in HISTORIES.items():
        row, = [r for r in rows if name in re.split(r"[\t\n]", r)]
        assert row.startswith(words.get(state, state)), row
    assert rows[0].startswith("failed") and rows[-1].startswith("passed")
    chips = page.texts("#states button")
    assert chips[0] == f"all {len(stored.tests)}" and "flaky 3" in chips
    page.press("flaky 3")
    page.wait(lambda: len(page.rows("tests")) == 3)
    assert "state=flaky" in page.driver.current_url
    assert page.find("#states [aria-pressed=true]").text == "flaky 3"
    bars = page.driver.execute_script(
        "return [...document.querySelectorAll('#tests .strip')].map(s => [s.ariaLabel,"
        " [...s.children].map(b => [b.className, b.tagName, b.tabIndex])])")
    assert bars[0][0] == "last 21 runs, 7 not passed"
    assert bars[1:] == [["last 5 runs, 3 not passed",
                         [[c, "A", -1] for c in ("f", "", "f", "", "f")]],
                        ["last 5 runs, 1 not passed",
                         [[c, "A", -1] for c in ("", "", "", "f", "")]]]
    page.fill(name="passes")
    page.wait(lambda: len(page.rows("tests")) == 1)
    page.open("/tests?state=failed&project=one")
    assert {r.split()[0] for r in page.rows("tests")} == {"failed"}


@pytest.mark.looks
def test_home_says_what_is_broken(driver, stored):
    page = Page(driver, stored).sign_in("wil")
    page.open("/")
    looked_at(driver, "home-broken")
    overview = stored.c.api("GET", "/overview")["overview"]
    count = sum(overview["tests"].values())
    assert page.find("h1").text == f"{overview['tests']['failed']} of {count} tests fail"
    assert "always failed fails since " in page.find("#sentence").text
    assert f"{overview['tests']['flaky']} tests only sometimes passed." in \
        page.find("#sentence").text
    blocks = page.texts("#broken .broken")
    assert len(blocks) == len(overview["broken"])
    for block, test in zip(blocks, overview["broken"]):
        assert test["test_name"] in block and test["cause"] in block
    assert "25 runs" in [b for b in blocks if "always failed" in b][0]
    page.wait(lambda: "What the failed runs have in common: 7 of 7 failed runs started in the hours 02:00 to 03:00 UTC"
              in [b for b in page.texts("#broken .broken") if "fails at night" in b][0])
    tiles = page.texts("#trends .tile")
    assert "MOS, lowest 5 %" in tiles[1] and "nothing to compare with" in tiles[1]
    labels = page.driver.execute_script(
        "return [...document.querySelectorAll('#trends svg')].map(s => s.ariaLabel)")
    assert labels[2] == "Post-dial delay, 95 %, 14 days: 118 to 118"
    assert f"{overview['tests']['passed']}, by last run" == page.find("#passing-count").text
    assert serious(page.driver) == []


def test_home_is_drawn_again_only_after_a_change(driver, stored):
    """While nothing changes the answer is 304 and the nodes stay; the focus survives a redraw."""
    page = Page(driver, stored).sign_in("wil")
    page.open("/")
    driver.execute_script("""
        window.answers = [];
        const real = window.fetch;
        window.fetch = async (...a) => { const r = await real(...a); window.answers.push(r.status); return r; };
        document.querySelector('#broken .broken').dataset.old = 'yes';
        document.querySelector('#broken .btn').focus();""")
    page.wait(lambda: 304 in driver.execute_script("return window.answers"))
    assert page.all("#broken [data-old]")
    held = driver.execute_script("return document.activeElement.ariaLabel")
    made = stored.c.api("POST", "/projects", {"name": MARKUP})["project"]
    page.wait(lambda: any(MARKUP in t for t in page.texts("#changes .next")))
    assert not page.all("#broken [data-old]")
    assert held and driver.execute_script("return document.activeElement.ariaLabel") == held
    stored.c.request("DELETE", f"/projects/{made['id']}")
    assert "owned" not in driver.title and serious(driver) == []


@pytest.mark.parametrize("path, values, shown", [
    ("/projects", {"description": "d"}, "d"),
    ("/targets", {"hosts": "192.0.2.1:5080 tcp\n192.0.2.2"}, "192.0.2.1:5080 tcp, 192.0.2.2"),
    ("/accounts", {"csv": "username,password\n1001,a secret\n1002,a secret"}, "2"),
    ("/pools", {"description": "d"}, "d"),
    ("/keys", {"rights": "run"}, "run"),
    ("/users", {"rights": "read", "password": "a long password"}, "read")])
def test_records_are_made_changed_and_deleted(driver, lab, path, values, shown):
    page = Page(driver, lab).sign_in("adm")
    page.open(path)
    count = len(page.rows("records"))
    page.fill(name=MARKUP, **values)
    page.press("Save")
    page.wait(lambda: len(page.rows("records")) == count + 1)
    row, = [r for r in page.rows("records") if MARKUP in r]
    assert shown in row and "a secret" not in driver.page_source
    assert page.find("#secret-box").is_displayed() == (path in ("/pools", "/keys"))
    own = f"//tr[contains(., 'onerror')]//button[text()='{{}}']"
    if path != "/keys":
        driver.find_element(By.XPATH, own.format("Edit")).click()
        page.wait(lambda: page.find("#form [name=name]").get_attribute("value") == MARKUP)
        page.fill(name=MARKUP + " onerror")
        page.press("Save")
        page.wait(lambda: any(MARKUP + " onerror" in r for r in page.rows("records")))
    for text in ("Delete", "Really?"):
        page.wait(lambda: driver.find_elements(By.XPATH, own.format(text)))
        driver.find_element(By.XPATH, own.format(text)).click()
    page.wait(lambda: len(page.rows("records")) == count)
    assert "owned" not in driver.title and serious(driver) == []


def edited(page, name):
    """Press Edit in the row of a record, and wait for its form."""
    page.driver.find_element(By.XPATH, f"//tr[contains(., '{name}')]//button[text()='Edit']").click()
    page.wait(lambda: page.find("#form [name=name]").get_attribute("value") == name)


CREDENTIALS = [{"username": "1001", "password": "x"}]


@pytest.mark.parametrize("path, noun, kind, singular, fields, theirs", [
    ("/targets", "target", "targets", "target", {"hosts": [{"host": "192.0.2.1"}]}, lambda _: {"domain": "theirs.example"}),
    ("/accounts", "pool of accounts", "credential-pools", "credential_pool", {"credentials": CREDENTIALS},
     lambda pool: {"credentials": pool["credentials"] + [{"username": "1002", "password": "x"}]}),
    ("/schedules", "schedule", "schedules", "schedule", {"cron": "@daily"}, lambda _: {"overlap": "wait"}),
    ("/callbacks", "template", "callback-templates", "callback_template", {"body": "mine"}, lambda _: {"body": "theirs"})])
def test_what_somebody_else_saved_is_not_overwritten(page, lab, path, noun, kind, singular, fields, theirs):
    if kind == "schedules":
        fields = {**fields, "test_id": lab.passes}
    number = lab.make(kind, name="opened", **fields)

    def record():
        return lab.c.api("GET", f"/{kind}/{number}")[singular]

    page.open(path)
    edited(page, "opened")
    lab.c.api("PUT", f"/{kind}/{number}", {**record(), **theirs(record())})
    there = record()
    page.fill(name="mine")
    page.press("Save")
    page.wait(lambda: f"Somebody else changed this {noun} " in page.find("#failure").text)
    assert "412" in serious(page.driver)[0]["message"]
    assert record() == there and page.find("#form [name=name]").get_attribute("value") == "mine"
    page.press("Load theirs, drop mine")
    page.wait(lambda: page.find("#form [name=name]").get_attribute("value") == "opened")
    assert not page.find("#failure").is_displayed()
    page.fill(name="mine")
    page.press("Save")
    page.wait(lambda: record()["name"] == "mine")
    kept = {**record(), "name": "opened"}
    assert all(kept[k] == there[k] for k in (*fields, *theirs(there)))
    assert serious(page.driver) == []
    lab.c.request("DELETE", f"/{kind}/{number}")


def test_a_schedule_in_the_form_is_switched_off(page, lab):
    """What is typed there stays, and can be saved."""
    number = lab.make("schedules", name="in the form", test_id=lab.passes, cron="@daily")
    page.open("/schedules")
    edited(page, "in the form")
    page.fill(name="typed")
    page.driver.find_element(By.XPATH, "//tr[contains(., 'in the form')]//button[text()='Switch off']").click()
    page.wait(lambda: not page.find("#form [name=enabled]").is_selected())
    page.press("Save")
    page.wait(lambda: "typed was saved." in page.find("#done").text)
    found = lab.c.api("GET", f"/schedules/{number}")["schedule"]
    assert (found["name"], found["enabled"], found["cron"]) == ("typed", 0, "@daily") and serious(page.driver) == []
    lab.c.request("DELETE", f"/schedules/{number}")


HOSTS = [
    [{"host": "2001:db8::1"}, {"host": "2001:db8::2", "port": 5070, "transport": "tcp"},
     {"host": "[2001:db8::3]", "port": 5060}, {"host": "pbx.example"}],
    [{"host": "192.0.2.1", "port": 5060, "priority": 1, "weight": 10},
     {"host": "192.0.2.1", "port": 5070, "priority": 2, "weight": 20},
     {"host": "192.0.2.1", "port": 5070, "transport": "tcp", "priority": 3}]]


@pytest.mark.parametrize("hosts", HOSTS)
def test_hosts_that_nobody_touched_stay(page, lab, hosts):
    number = lab.make("targets", name="hosts", hosts=hosts)
    before = lab.c.api("GET", f"/targets/{number}")["target"]["hosts"]
    page.open("/targets")
    edited(page, "hosts")
    page.fill(name="renamed")
    page.press("Save")
    page.wait(lambda: lab.c.api("GET", f"/targets/{number}")["target"]["name"] == "renamed")
    assert lab.c.api("GET", f"/targets/{number}")["target"]["hosts"] == before
    lab.c.request("DELETE", f"/targets/{number}")


def test_a_complaint_goes_when_the_action_succeeds(page, lab):
    lab.make("projects", name="taken")
    page.open("/projects")
    page.fill(name="taken")
    page.press("Save")
    page.wait(lambda: page.find("#failure").text)
    assert "409" in serious(page.driver)[0]["message"]
    page.fill(name="free")
    page.press("Save")
    page.wait(lambda: any("free" in r for r in page.rows("records")))
    assert not page.find("#failure").is_displayed() and serious(page.driver) == []


# Without a network while window.broken is set; a stop is refused.
NETWORK = """
    const real = window.fetch;
    window.reads = 0;
    window.fetch = async (path, ...rest) => {
      if (String(path).endsWith('/stop')) return new Response('{"detail": "Not now."}', { status: 409 });
      if (window.broken) throw new TypeError('no network');
      window.reads += 1;
      return real(path, ...rest);
    };"""


@pytest.mark.parametrize("path", ["/", "/runs", "/tests/{}"])
def test_a_page_that_is_read_again_no_longer_complains(page, lab, path):
    page.open(path.format(lab.passes))
    page.driver.execute_script(NETWORK + "window.broken = true;")
    page.wait(lambda: "no network" in page.find("#failure").text)
    page.driver.execute_script("window.broken = false;")
    page.wait(lambda: not page.find("#failure").is_displayed())


def test_a_refusal_stays_while_the_report_is_read(page, lab):
    session = lab.c.api("POST", f"/tests/{lab.passes}/run")["data"]["session_id"]
    page.driver.get(f"{lab.c.witness().url}/run/details/{session}")
    page.wait(lambda: page.find("body").get_attribute("data-drawn") == "partly" and page.all("#stop"))
    page.driver.execute_script(NETWORK)
    page.press("Stop", "#tools")
    page.wait(lambda: page.driver.execute_script("return window.reads") >= 3)
    assert page.find("#failure").text == "Not now."
    page.driver.execute_script("window.broken = true;")
    page.wait(lambda: "could not be loaded" in page.find("#failure").text)
    page.driver.execute_script("window.broken = false;")
    page.wait(lambda: not page.find("#failure").is_displayed())
    lab.c.api("POST", f"/runs/{session}/stop")


@pytest.mark.looks
def test_report_of_a_project_run(page, lab):
    data = lab.c.api("POST", "/projects/run", {"id": lab.standing, "report.mode": "kiosk"})["data"]
    with lab.worker():
        lab.ended(data["project_run_uuid"])
    kiosk = "/kiosk" + data["report_url"].split("/kiosk")[1]
    for path, place in ((f"/run/project/{data['project_run_uuid']}", "/run/details/"),
                        (kiosk, "/kiosk/")):
        page.open(path)
        assert page.find("#status").text == "Failed"
        assert page.find("#sentence").text == "1 of 2 tests failed: test 1-1."
        bad, = page.all("#runs .cond")
        assert bad.find_element(By.TAG_NAME, "p").text not in ("", "–")
        assert place in bad.find_element(By.TAG_NAME, "a").get_attribute("href")
        page.find("#runs .more").click()
        page.wait(lambda: page.texts("#runs tbody tr"))
        assert "test 1-0" in page.texts("#runs tbody tr")[0]
    looked_at(page.driver, "project-run")
    assert serious(page.driver) == []


def test_audit_log(driver, lab):
    page = Page(driver, lab).sign_in("adm")
    made = lab.c.api("POST", "/projects", {"name": MARKUP})["project"]
    lab.c.request("DELETE", f"/projects/{made['id']}")
    page.open("/audit?kind=project")
    gone, there = page.rows("audit")[:2]
    assert f"deleted project {MARKUP} DELETE /projects/{made['id']}" in gone
    assert f"made project {MARKUP} POST /projects" in there and "127.0.0.1" in there
    page.fill(kind="all", actor="adm")
    page.press("Filter")
    page.wait(lambda: "actor=adm" in driver.current_url)
    page.wait(lambda: page.rows("audit") and all("adm" in r for r in page.rows("audit")))
    assert "POST /login" in page.rows("audit")[0]
    assert not page.find("#older").is_displayed()
    assert "owned" not in driver.title and serious(driver) == []


ADDRESSES = ["/", "/tests", "/runs", "/agents", "/pools", "/targets", "/accounts", "/prompts",
             "/projects", "/keys", "/users", "/audit", "/scenarios", "/schedules", "/callbacks", "/capacity"]


@pytest.mark.looks
@pytest.mark.parametrize("path", ADDRESSES)
def test_every_page(driver, lab, path):
    """With names that are markup."""
    page = Page(driver, lab).sign_in("adm")
    page.open(path)
    page.wait(lambda: page.find("#me").is_displayed())
    looked_at(driver, path.strip("/") or "home")
    assert serious(driver) == []


def luminance(colour):
    """WCAG 2.2, relative luminance."""
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_contrast_of_the_tokens(theme):
    """WCAG 2.2, 1.4.3 and 1.4.11: 4.5 for text, 3 for the edges of controls."""
    style = (Path(__file__).parents[2] / "control/web/offhook.css").read_text()
    blocks = re.findall(r":root \{(.*?)\n\s*\}", style, re.S)[:2]
    tokens = {}
    for block in blocks if theme == "dark" else blocks[:1]:
        tokens |= dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
    pairs = [(text, ground, 4.5) for text in ("ink", "ink-2", "ink-3", "accent")
             for ground in ("bg", "surface", "sunken", "hover")]
    pairs += [(s, f"{s}-soft", 4.5) for s in ("pass", "fail", "error", "warn", "stop", "accent")]
    pairs += [("accent-ink", "accent-fill", 4.5), ("edge", "surface", 3)]
    for text, ground, least in pairs:
        dark, light = sorted((luminance(tokens[text]), luminance(tokens[ground])))
        assert (light + 0.05) / (dark + 0.05) >= least, (theme, text, ground)


def test_root_is_a_page_for_browsers_only(lab):
    answer = requests.get(lab.c.url + "/", timeout=60, headers={"Accept": "text/html"})
    assert answer.status_code == 200 and "<h1" in answer.text
    policy = answer.headers["Content-Security-Policy"]
    assert "script-src 'self';" in policy and "unsafe" not in policy
    answer = requests.get(lab.c.url + "/", timeout=60)
    assert answer.status_code == 404
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("path", ["/scenarios", "/schedules", "/callbacks"])
def test_pages_need_a_session(lab, path):
    answer = requests.get(lab.c.url + path, timeout=60, allow_redirects=False,
                          headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/login?next={path}")
    assert requests.get(lab.c.url + path, timeout=60).status_code == 401

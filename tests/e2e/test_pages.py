"""The pages for scenarios, schedules and callbacks in a real browser, signed in."""
import os
import time

import pytest
import requests
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from browser import chromium
from controller import Controller
from receiver import Receiver
from test_api_project_runs import Lab, TIMES
from test_login import PASSWORD, serious, set_password

MARKUP = "<img src=x onerror=document.title='owned'>"

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self"), reason="Chromium does not run without /proc")


@pytest.fixture(scope="module")
def lab():
    c = Controller(**{**TIMES, "claim_timeout_s": 600, "callback_allow": "127.0.0.1",
                      "callback_retry_s": 1})
    for name, rights in (("wil", "write"), ("rea", "read")):
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
        "run_at": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(time.time() + 3))})["schedule"]
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


def test_scenarios(page, lab):
    page.open("/scenarios")
    listed = lab.c.api("GET", "/scenarios?count=1000")["scenarios"]
    assert len(page.rows("scenarios")) == len(listed)
    page.press("Registration")
    page.wait(lambda: page.find("#one").get_attribute("data-scenario") == "registration")
    page.fill(agentpool_id=f"pool ({lab.pool})", target_pool=f"t ({lab.target})")
    page.press("Start", "#form")  # an account is missing
    page.refused("username")
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


def test_account_leads_to_the_pages(page, lab):
    page.driver.get(f"{lab.c.witness().url}/account")
    page.wait(lambda: page.texts("#nav a"))
    for name in page.texts("#nav a"):
        page.driver.get(f"{lab.c.witness().url}/account")
        page.wait(lambda: page.find("#nav").is_displayed())
        page.driver.find_element(By.LINK_TEXT, name).click()
        page.wait(lambda: name in page.find("h1").text or "API" in page.driver.title)
    assert serious(page.driver) == []


@pytest.mark.parametrize("path", ["/scenarios", "/schedules", "/callbacks"])
def test_pages_need_a_session(lab, path):
    answer = requests.get(lab.c.url + path, timeout=60, allow_redirects=False,
                          headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/login?next={path}")
    assert requests.get(lab.c.url + path, timeout=60).status_code == 401

"""Every page for keyboards, screen readers and large letters: own checks beside those of
browser.looked_at(), which has widths, themes, zoom, names of controls and drawings."""
import os
from types import SimpleNamespace

import pytest
import requests
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from browser import chromium, looked_at
from controller import Controller
from test_api_project_runs import Lab, TIMES
from test_login import PASSWORD, serious, set_password
from test_pages import ADDRESSES, Page

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self"), reason="Chromium does not run without /proc")


@pytest.fixture(scope="module")
def lab():
    c = Controller(**{**TIMES, "claim_timeout_s": 600})
    assert set_password(c, "adm", PASSWORD, "--rights", "admin").returncode == 0
    with c:
        lab = Lab(c)
        project, (lab.one, _) = lab.project("passed", "failed")
        lab.make("schedules", name="nightly", test_id=lab.one, cron="@daily")
        lab.make("callback-templates", name="chat", content_type="application/json", body="{}")
        data = c.api("POST", "/projects/run", {"id": project, "report.mode": "kiosk"})["data"]
        with lab.worker():
            lab.ended(data["project_run_uuid"])
            kiosk = c.api("POST", f"/tests/{lab.one}/run", {"report.mode": "kiosk"})["data"]
            lab.waits_for(lambda: c.api("GET", "/runs?filtername=is_finished&filterval=0")["total"] == 0)
        lab.project_run = f"/run/project/{data['project_run_uuid']}"
        lab.public = {name: "/kiosk" + d["report_url"].split("/kiosk")[1] for name, d in (
            ("kiosk-project", data), ("kiosk", kiosk))}
        lab.runs = [r["session_id"] for r in c.api("GET", "/runs")["runs"]]
        yield lab


@pytest.fixture(scope="module")
def driver():
    with chromium() as driver:
        yield driver


# What is wrong on the page as it is: [what, its markup].
WRONG = """
const seen = (n) => n.offsetParent !== null;
const say = (what, list) => [...list].map((n) => [what, n.outerHTML.slice(0, 200)]);
const all = (css) => [...document.querySelectorAll(css)];
const named = (n) => n.ariaLabel || n.textContent.trim() || n.title || n.getAttribute('aria-labelledby');
const ids = all('[id]').map((n) => n.id);
return [
  ...say('no language', document.documentElement.lang === 'en' ? [] : [document.documentElement]),
  ...say('no caption', all('main table').filter((t) => !t.caption || !t.caption.textContent.trim())),
  ...say('empty heading of a column', all('th').filter((n) => !n.textContent.trim())),
  ...say('order of focus is not that of the page', all('[tabindex]').filter((n) => n.tabIndex > 0)),
  ...say('link without a text', all('a[href]').filter((n) => seen(n) && n.tabIndex >= 0 && !named(n))),
  ...say('name of a landmark is missing', all('nav').filter((n) => !named(n))),
  ...say('id is there twice', all('[id]').filter((n) => ids.indexOf(n.id) !== ids.lastIndexOf(n.id))),
  ...say('heading is left out', all('h1, h2, h3, h4').filter(seen).filter((n, i, list) =>
    i > 0 && Number(n.tagName[1]) > Number(list[i - 1].tagName[1]) + 1)),
];"""


def open_page(page, path):
    page.driver.get(page.lab.c.witness().url + path)
    page.wait(lambda: page.driver.execute_script(
        "const d = document.body.dataset; return d.drawn === 'done' || d.ready === '1'"
        " || Boolean(document.querySelector('#status, .schema'))"))


def skip_link(page):
    """The first key Tab leads to it, Enter to the content; it can be seen then."""
    driver = page.driver
    driver.execute_script("document.activeElement.blur(); window.scrollTo(0, 0)")
    driver.switch_to.active_element.send_keys(Keys.TAB)
    first = driver.switch_to.active_element
    assert first.text == "Skip to content" and first.location["x"] >= 0
    first.send_keys(Keys.ENTER)
    page.wait(lambda: driver.execute_script("return document.activeElement.id") == "main")


CONTROLS = """const css = 'a[href], button, input, select, textarea';
return [...document.querySelector('main').querySelectorAll(css)].filter(
  (n) => n.checkVisibility() && n.tabIndex >= 0 && !n.disabled && n.type !== 'radio').length"""
FOCUS = """const n = document.activeElement;
return [[...document.querySelectorAll('*')].indexOf(n),
        n === document.body || getComputedStyle(n).outlineStyle !== 'none',
        n.outerHTML.slice(0, 200)];"""


def focus_follows_the_page(page):
    """Tab goes down the document, to every control of it, and what has the focus shows it."""
    driver = page.driver
    count = min(12, driver.execute_script(CONTROLS))
    places = []
    while len(places) < count:
        ActionChains(driver).send_keys(Keys.TAB).perform()
        place, ring, markup = driver.execute_script(FOCUS)
        if places and place == places[-1] and 'type="date"' in markup:
            continue  # its day, month and year are stops of their own
        assert ring, markup
        assert not places or place > places[-1], (places, markup)
        places.append(place)


@pytest.mark.looks
def test_every_page(driver, lab):
    page = Page(driver, lab).sign_in("adm")
    paths = ADDRESSES + [f"/tests/{lab.one}", f"/tests/{lab.one}/edit", "/tests/new", "/tests/import", "/account",
                         f"/run/details/{lab.runs[0]}", lab.project_run,
                         f"/runs/compare?a={lab.runs[1]}&b={lab.runs[0]}"]
    for path in paths:
        accessible(page, path)
    open_page(page, "/account")
    looked_at(driver, "account")
    open_page(page, "/tests/nothing")
    assert driver.execute_script(WRONG) == []
    skip_link(page)
    looked_at(driver, "access-error")


def accessible(page, path):
    open_page(page, path)
    assert page.driver.execute_script(WRONG) == [], path
    skip_link(page)
    focus_follows_the_page(page)
    assert serious(page.driver) == [], path


@pytest.mark.looks
def test_pages_for_who_is_not_signed_in(driver, lab):
    driver.delete_all_cookies()
    serious(driver)  # forgets what an earlier test provoked
    page = Page(driver, lab)
    for name, path in [*lab.public.items(), ("login", "/login?next=/runs"), ("apidocs", "/apidocs")]:
        accessible(page, path)
        looked_at(driver, name)
    fresh = Page(driver, SimpleNamespace(c=Controller()))
    with fresh.lab.c:
        accessible(fresh, "/setup")
        assert page.find("#setup").is_displayed()
        looked_at(driver, "setup")


def test_icon(lab):
    for path in ("/favicon.ico", "/static/favicon.svg"):
        answer = requests.get(lab.c.url + path, timeout=60)
        assert answer.status_code == 200 and answer.headers["Content-Type"] == "image/svg+xml"


def test_focus_stays_in_its_row(driver, lab):
    """The buttons of all rows have the same text; the page draws them again every two seconds."""
    page = Page(driver, lab).sign_in("adm")
    open_page(page, "/runs")
    held = driver.execute_script("""
        window.held = document.querySelectorAll('#runs tbody tr')[1].querySelector('button');
        held.focus();
        return held.textContent;""")
    page.wait(lambda: driver.execute_script("return !held.isConnected"))
    assert held == "Delete" and driver.execute_script("""
        const rows = [...document.querySelectorAll('#runs tbody tr')];
        return [document.activeElement.textContent, rows.indexOf(document.activeElement.closest('tr'))];
        """) == ["Delete", 1]

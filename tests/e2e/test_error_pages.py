"""Errors: a page for browsers, problem+json for all others."""
import os
import uuid
from types import SimpleNamespace

import pytest
import requests
from selenium.webdriver.common.by import By

from browser import chromium, looked_at
from controller import Controller
from test_login import PASSWORD, complaints, set_password
from test_pages import MARKUP, Page

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
NOBODY = str(uuid.UUID(int=7, version=4))

pytestmark = pytest.mark.skipif(
    not os.path.exists("/proc/self"), reason="Chromium does not run without /proc")


@pytest.fixture(scope="module")
def lab():
    c = Controller()
    for name, rights in (("wil", "write"), ("rea", "read")):
        assert set_password(c, name, PASSWORD, "--rights", rights).returncode == 0
    c.create_key("reader", "read")
    with c:
        yield SimpleNamespace(c=c)


def ask(lab, path, accept=None, method="GET", key="admin"):
    with requests.Session() as session:
        request = session.prepare_request(requests.Request(
            method, lab.c.url, headers=accept or {}, auth=lab.c.keys[key] if key else None))
        request.url = lab.c.url + path  # as it is, also if it is wrong
        return session.send(request, timeout=60, allow_redirects=False)


CASES = [
    ("/nothing", "admin", 404), (f"/run/details/{NOBODY}", "admin", 404),
    ("/run/details/no-uuid", "admin", 404), (f"/run/project/{NOBODY}", "admin", 404),
    (f"/kiosk/{NOBODY}/{NOBODY}", None, 404), (f"/kiosk/project/{NOBODY}/x", None, 404),
    ("/static/nothing.js", None, 404), ("/logout", "admin", 405), ("/users", "read", 403),
    ("/%C3", "admin", 400)]


@pytest.mark.parametrize("path, key, status", CASES)
def test_browsers_get_a_page_and_others_a_problem(lab, path, key, status):
    page = ask(lab, path, HTML, key=key)
    assert (page.status_code, page.headers["Content-Type"]) == (status, "text/html; charset=utf-8")
    assert "script-src 'self';" in page.headers["Content-Security-Policy"]
    assert page.headers["Vary"] == "Accept" and page.headers["Cache-Control"] == "no-store"
    assert page.headers["X-Request-Id"] in page.text and "@" not in page.text
    for accept in (None, {"Accept": "*/*"}, {"Accept": "application/json"}):
        problem = ask(lab, path, accept, key=key)
        assert problem.status_code == status
        assert problem.headers["Content-Type"] == "application/problem+json"
        # the same cause, as a sentence
        detail = problem.json()["detail"]
        assert detail[0].upper() + detail[1:] + "." in page.text
    assert page.headers.get("Allow") == problem.headers.get("Allow")
    assert ask(lab, path, HTML, "HEAD", key=key).status_code == status


@pytest.mark.parametrize("path", ["/api/v2/nothing", "/api/v2/tests/999", "/api/v1/tests", "/api"])
def test_the_api_answers_problems_only(lab, path):
    answer = ask(lab, path, HTML)
    assert answer.status_code == 404
    assert answer.headers["Content-Type"] == "application/problem+json"


def test_wrong_credentials_are_a_page_and_none_lead_to_the_login(lab):
    answer = requests.get(lab.c.url + "/runs", timeout=60, headers=HTML, auth=("ok_x", "y"))
    assert answer.status_code == 401 and 'href="/login"' in answer.text
    answer = ask(lab, "/runs?status=failed&test=a%20%26%20b", HTML, key=None)
    assert (answer.status_code, answer.headers["Location"]) == (
        303, "/login?next=/runs%3Fstatus%3Dfailed%26test%3Da%2520%2526%2520b")
    # a query that would be cut selects something else: it is left out
    answer = ask(lab, "/runs?test=" + "x" * 2000, HTML, key=None)
    assert answer.headers["Location"] == "/login?next=/runs"
    assert ask(lab, "/runs", key=None).status_code == 401


def test_a_database_that_fails_is_a_page():
    c = Controller()
    with c:
        c.stop()
        db = c.open_database()
        db.execute("ALTER TABLE api_key RENAME TO lost")
        db.commit()
        db.close()
        c.start()
        answer = ask(SimpleNamespace(c=c), "/runs?status=failed", HTML)
        assert answer.status_code == 503 and answer.headers["Retry-After"]
        assert 'href="">Try again' in answer.text and "database does not answer" in answer.text


@pytest.fixture(scope="module")
def driver():
    with chromium() as driver:
        yield driver


def open_error(page, path, status):
    """The browser logs the status of its navigation, and nothing else."""
    page.driver.get(page.lab.c.witness().url + path)
    page.wait(lambda: page.find("body").get_attribute("data-drawn") == "done")
    found = [c["message"] for c in complaints(page.driver) if c["level"] != "DEBUG"]
    assert len(found) == 1 and f"status of {status}" in found[0], found


@pytest.mark.looks
def test_in_a_browser(driver, lab):
    page = Page(driver, lab).sign_in("rea")
    for path, status, link, address in (
            ("/users", 403, "Your account", "/account"), ("/tests/x/y", 404, "See all tests", "/tests"),
            (f"/run/details/{NOBODY}", 404, "See all runs", "/runs"),
            ("/logout", 405, "Go to the overview", "/")):
        open_error(page, path, status)
        page.wait(lambda: page.find("#nav").is_displayed())
        assert driver.title == page.find("h1").text + " – Offhook"
        assert str(status) in page.find("#error .facts").text
        looked_at(driver, f"error-{status}")
        remedy = page.find("#error a")
        assert remedy.text == link
        remedy.click()
        page.wait(lambda: driver.execute_script("return location.pathname") == address)
        page.wait(lambda: page.find("h1").text)


@pytest.mark.parametrize("path", [
    f"/{MARKUP}", "/'\"><script>document.title='owned'</script>", "/&lt;img src=x&gt;",
    "/tests/@HEADING@@PATH@"])
def test_markup_in_the_path_stays_text(driver, lab, path):
    page = Page(driver, lab).sign_in("rea")
    open_error(page, path.replace(" ", "%20").replace("<", "%3C"), 404)
    assert "owned" not in driver.title
    assert driver.find_elements(By.CSS_SELECTOR, "#error img, #error script") == []
    raw = driver.execute_script("return location.pathname")
    assert raw in page.find("#error .facts").text
    # not encoded by the sender
    text = ask(lab, path.replace(" ", "+"), HTML).text
    assert "<img src=x" not in text and "<script>document" not in text

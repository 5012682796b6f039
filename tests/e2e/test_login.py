"""Signing in to the pages: first user, sessions, CSRF, wrong passwords; also in a
browser."""
import os
import re
import stat
import subprocess
import time

import pytest
import requests
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from browser import chromium, complaints
from certificates import Authority
from controller import Controller
from times import CLOCKS_MS

PASSWORD = "correct horse battery"


def set_password(server, name, password, *more):
    """Run the command while the controller is stopped."""
    server._write_conf()
    return subprocess.run([server.program, "--config", server.conf_file, "--set-password",
                           name, *more], input=password + "\n", text=True,
                          capture_output=True, check=False)


@pytest.fixture(scope="module")
def server():
    c = Controller()
    for name, rights in (("ada", "admin"), ("wil", "write"), ("rea", "read")):
        assert set_password(c, name, PASSWORD, "--rights", rights).returncode == 0
    with c:
        yield c


class Browser(requests.Session):
    """Sends cookies and the CSRF token like our pages."""

    def __init__(self, server):
        super().__init__()
        self.server, self.csrf = server, ""

    def post(self, path, body=None, **kwargs):
        kwargs.setdefault("headers", {"X-CSRF-Token": self.csrf})
        return super().post(self.server.url + path, json=body or {}, timeout=60, **kwargs)

    def page(self, path, **kwargs):
        return self.get(self.server.url + path, timeout=60, allow_redirects=False,
                        headers={"Accept": "text/html"}, **kwargs)

    def state(self):
        answer = self.get(self.server.url + "/session", timeout=60).json()
        self.csrf = answer.get("csrf", "")
        return answer

    def login(self, name, password=PASSWORD):
        answer = self.post("/login", {"name": name, "password": password})
        self.state()
        return answer


@pytest.fixture
def browser(server):
    with Browser(server) as b:
        yield b


def test_login_and_logout(server, browser):
    page = browser.page("/account")
    assert (page.status_code, page.headers["Location"]) == (303, "/login?next=/account")
    assert browser.page("/login").status_code == 200
    answer = browser.login("ada")
    assert answer.status_code == 200, answer.text
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "Secure" not in cookie
    assert browser.state()["user"] == {"name": "ada", "rights": "admin"}
    assert browser.page("/account").status_code == 200
    token = browser.cookies["offhook_session"]
    assert browser.post("/logout").status_code == 200
    assert browser.state()["user"] is None
    browser.cookies.set("offhook_session", token)  # the session has ended; the cookie was not merely deleted
    assert browser.state()["user"] is None
    assert browser.page("/account").status_code == 303
    assert token not in server.log() and PASSWORD not in server.log()


@pytest.mark.parametrize("user, path, status", [
    ("rea", "/projects", 403), ("wil", "/projects", 201), ("wil", "/api-keys", 403),
    ("ada", "/api-keys", 201)])
def test_rights_are_those_of_keys(browser, user, path, status):
    browser.login(user)
    assert browser.get(browser.server.url + "/api/v2/projects", timeout=60).status_code == 200
    body = {"name": f"by {user}"}
    if path == "/api-keys":
        body["rights"] = "read"
    answer = browser.post("/api/v2" + path, body)
    assert answer.status_code == status, answer.text


def test_changes_need_the_token(browser):
    browser.login("ada")
    for headers in ({}, {"X-CSRF-Token": ""}, {"X-CSRF-Token": "x" * 43}):
        answer = browser.post("/api/v2/projects", {"name": "csrf"}, headers=headers)
        assert answer.status_code == 403 and "X-CSRF-Token" in answer.json()["detail"]
        assert browser.post("/logout", headers=headers).status_code == 403
    with Browser(browser.server) as other:
        other.login("ada")
        assert browser.post("/api/v2/projects", {"name": "csrf"}, headers={
            "X-CSRF-Token": other.csrf}).status_code == 403
    assert browser.state()["user"]
    # a form, which another site can send without a preflight, cannot sign in
    form = requests.post(browser.server.url + "/login", timeout=60,
                         data={"name": "ada", "password": PASSWORD})
    assert form.status_code == 415 and "Set-Cookie" not in form.headers


@pytest.mark.parametrize("cookies, signed_in", [
    ("offhook_session=TOKEN", True), ("a=b; offhook_session=TOKEN; c=d", True),
    ("offhook_session=TOKEN; offhook_session=x", True),  # the first one counts
    ("offhook_session=x; offhook_session=TOKEN", False),
    ("OFFHOOK_SESSION=x; offhook_session=TOKEN", True),  # another name, RFC 6265 section 5.3
    ("OFFHOOK_SESSION=TOKEN", False), ("xoffhook_session=TOKEN", False),
    ("offhook_session=TOKENx", False), ("offhook_session=", False), ("offhook_session", False),
    ("offhook_session=" + "x" * 4000, False), (";;; ;=;", False)])
def test_which_cookie_is_the_session(server, browser, cookies, signed_in):
    browser.login("ada")
    cookies = cookies.replace("TOKEN", browser.cookies["offhook_session"])
    answer = requests.get(server.url + "/session", headers={"Cookie": cookies}, timeout=60)
    assert answer.status_code == 200 and bool(answer.json()["user"]) == signed_in


def test_cookie_is_no_credential_of_agents(browser):
    browser.login("ada")
    assert browser.post("/api/v2/agent/poll", {"free": 1}).status_code == 401


def test_guesses_are_slowed_down(server, browser):
    counted = 0
    for wait_s in (0, 0, 0, 0, 0, 1, 2, 4):  # after the guess before
        while True:
            began = time.monotonic()
            answer = browser.login("rea", "wrong password")
            if answer.status_code != 429:
                break
            assert wait_s and int(answer.headers["Retry-After"]) >= 1
            time.sleep(0.2)
        assert answer.status_code == 403, answer.text
        assert time.monotonic() - counted >= wait_s - CLOCKS_MS / 1000
        counted = began
    # for 8 s now: a busy machine is in time
    answer = browser.login("rea")
    assert answer.status_code == 429 and int(answer.headers["Retry-After"]) >= 1
    unknown = browser.login("nobody at all")
    assert unknown.status_code == 429  # the address has to wait too
    deadline = time.monotonic() + 60
    while browser.login("rea").status_code == 429:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert browser.state()["user"]["name"] == "rea"


def test_password_is_changed(server, browser):
    c = Controller()
    set_password(c, "eve", PASSWORD, "--rights", "run")
    with c, Browser(c) as one, Browser(c) as two:
        one.login("eve"), two.login("eve")
        for new, words in (("short", "at least 10"), ("x" * 20, "one character"),
                           (PASSWORD * 60, "longer than")):
            answer = one.post("/account/password", {"password": PASSWORD, "new_password": new})
            assert answer.status_code == 422 and words in answer.text, answer.text
        answer = one.post("/account/password", {"password": "not this one",
                                                "new_password": "another password"})
        assert answer.status_code == 422 and "is wrong" in answer.text
        answer = one.post("/account/password", {"password": PASSWORD,
                                                "new_password": "another password"})
        assert answer.status_code == 200, answer.text
        assert one.state()["user"] == {"name": "eve", "rights": "run"}
        assert two.state()["user"] is None
        assert two.login("eve").status_code == 403
        assert two.login("eve", "another password").status_code == 200
        assert c.stop() == 0
        # the command line: rights are kept unless given; sessions end
        assert set_password(c, "eve", "third password").returncode == 0
        c.start()
        assert two.state()["user"] is None
        two.login("eve", "third password")
        assert two.state()["user"] == {"name": "eve", "rights": "run"}
        database = (c.state_dir / "offhook.db").read_bytes()
        assert b"$argon2id$" in database and b"third password" not in database


def test_command_line_refuses(tmp_path):
    c = Controller()
    try:
        for password, words in (("short", "at least 10"), ("", "at least 10"),
                                ("somebody12", "must not be the name")):
            done = set_password(c, "somebody12", password)
            assert done.returncode == 1 and words in done.stderr, done.stderr
        assert set_password(c, "a", PASSWORD, "--rights", "root").returncode == 2
        for words in (["--rights", "read"], ["--check-config", "--create-key", "x"],
                      ["--check-health", "--set-password", "x"]):
            done = subprocess.run([c.program, "--config", c.conf_file, *words], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=60, check=False)
            assert (done.returncode, done.stdout) == (2, "") and "usage:" in done.stderr, done
        assert set_password(c, "", PASSWORD).returncode == 1
    finally:
        c.close()


def test_first_user():
    with Controller() as c, Browser(c) as b:
        code_file = c.state_dir / "setup-code"
        assert stat.S_IMODE(os.stat(code_file).st_mode) == 0o600
        code = code_file.read_text().strip()
        assert code not in c.log() and str(code_file) in c.log()
        assert b.state() == {"user": None, "setup": True, "status": 200}
        user = {"code": code, "name": "first", "password": PASSWORD}
        for wrong in ({"code": "x" * 43}, {"code": ""}, {"password": "short"}, {"name": ""}):
            assert b.post("/setup", {**user, **wrong}).status_code == 422
            assert b.state()["user"] is None
        assert b.post("/setup", user).status_code == 200
        assert b.state()["user"] == {"name": "first", "rights": "admin"}
        assert not code_file.exists()
        assert b.post("/setup", {**user, "name": "second"}).status_code == 409
        assert c.stop() == 0
        c.start()
        assert not code_file.exists() and not b.state()["setup"]
        assert b.state()["user"]["name"] == "first"


def test_cookie_is_secure_under_tls(tmp_path):
    authority = Authority(tmp_path)
    cert, key = authority.issue("server")
    c = Controller(tls_certificate_file=cert, tls_key_file=key)
    set_password(c, "ada", PASSWORD)
    c.session.trust_env = False
    c.session.verify = str(authority.file)
    with c, Browser(c) as b:
        b.trust_env, b.verify = False, str(authority.file)
        assert "; Secure" in b.login("ada").headers["Set-Cookie"]
        assert b.state()["user"]["name"] == "ada"


def serious(chrome):
    """Without Chromium's advice on forms."""
    return [c for c in complaints(chrome) if c["level"] != "DEBUG"]


@pytest.fixture
def fresh():
    """A controller where no password was guessed yet."""
    c = Controller()
    assert set_password(c, "ada", PASSWORD).returncode == 0
    with c:
        yield c


@pytest.fixture(scope="module")
def signed_in():
    """A browser with a session, and the address of its controller."""
    c = Controller()
    assert set_password(c, "ada", PASSWORD).returncode == 0
    with c, chromium() as chrome:
        url = c.witness().url
        answer = requests.post(f"{url}/login", json={"name": "ada", "password": PASSWORD}, timeout=60)
        chrome.get(f"{url}/healthz")  # a cookie can be set only on a page of its site
        chrome.add_cookie({"name": "offhook_session", "value": answer.cookies["offhook_session"]})
        yield chrome, url


def test_in_a_browser(fresh):
    """The address of a report leads to the login page and then to the report."""
    server = fresh
    from test_api_server import make_test
    _, test = make_test(server)
    run = server.api("POST", f"/tests/{test['id']}/run", {})["data"]
    assert re.search(r"/run/details/", run["report_url"])
    url = server.witness().url
    report = run["report_url"].replace(server.url, url)
    with chromium() as chrome:
        def find(css):
            return chrome.find_element(By.CSS_SELECTOR, css)

        def wait(condition):
            WebDriverWait(chrome, 60, ignored_exceptions=[StaleElementReferenceException]).until(
                lambda _: condition())

        def fill(form, **values):
            for name, value in values.items():
                find(f"#{form} [name={name}]").clear()
                find(f"#{form} [name={name}]").send_keys(value)
            find(f"#{form} button").click()

        chrome.get(report)
        wait(lambda: find("body").get_attribute("data-ready"))
        assert "/login?next=/run/details/" in chrome.current_url
        fill("login", name="ada", password="not the password")
        wait(lambda: "is wrong" in find("#failure").text)
        assert len(serious(chrome)) == 1  # the response with 403
        fill("login", name="ada", password=PASSWORD)
        wait(lambda: chrome.current_url == report)
        wait(lambda: any(e.text for e in chrome.find_elements(By.CSS_SELECTOR, "#status")))
        chrome.get(url + "/account")
        wait(lambda: find("#name").text == "ada")
        assert find("#rights").text == "do everything"
        fill("password", password=PASSWORD, new_password="in the browser")
        wait(lambda: "was changed" in find("#done").text)
        find("#logout").click()
        wait(lambda: "/login" in chrome.current_url)
        for path in ("//example.net/", "/%09/127.0.0.1:1/x", "/.//127.0.0.1:1/x"):
            chrome.get(url + "/login?next=" + path)
            wait(lambda: find("body").get_attribute("data-ready"))
            assert not find("#wanted").is_displayed()
        fill("login", name="ada", password="in the browser")
        wait(lambda: chrome.current_url == url + "/")
        assert serious(chrome) == []


@pytest.mark.parametrize("path, shown", [
    *((p, "/") for p in ("/%09/127.0.0.1:1/x", "/%0A/127.0.0.1:1/x", "/%0D/127.0.0.1:1/x", "/%5C127.0.0.1:1/x",
                         "%2F%09%2F127.0.0.1:1%2Fx", "/.//127.0.0.1:1/x", "/a/..//127.0.0.1:1/x", "http://[", "/login")),
    ("/runs?status=failed%23x", "/runs?status=failed#x")])
def test_the_login_page_leads_to_its_own_site_only(signed_in, path, shown):
    """Who is signed in is taken there at once; a browser removes tabs and line ends of an address."""
    chrome, url = signed_in
    chrome.get("about:blank")
    chrome.get(f"{url}/login?next={path}")
    WebDriverWait(chrome, 60).until(lambda _: "/login" not in chrome.current_url)
    assert chrome.current_url == url + shown

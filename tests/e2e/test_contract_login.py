"""Signing in and the related routes below the root: every documented status of each is
provoked.

contract.py checks each response, as everywhere.
"""
import concurrent.futures
import http.client

import pytest

from contract import contract
from controller import Controller
from test_login import PASSWORD, Browser, set_password

ROOT = {o.id: o for o in contract().root_operations.values()}
PAIRS = [(o.id, code) for o in ROOT.values() for code in o.codes]
CHANGES = {"logout": None, "changePassword": {"password": PASSWORD, "new_password": PASSWORD}}


@pytest.fixture(scope="module")
def server():
    c = Controller(rate_limit=5, rate_burst=5, body_limit="512K")
    assert set_password(c, "ada", PASSWORD).returncode == 0
    with c:
        yield c


@pytest.fixture
def fresh():
    """A controller where no password was guessed and no limit is used up."""
    with Controller() as c:
        yield c


def signed_in(server):
    b = Browser(server)
    assert b.login("ada").status_code == 200
    return b


def ask(browser, o, **kwargs):
    kwargs.setdefault("headers", {"X-CSRF-Token": browser.csrf})
    return browser.request(o.method, browser.server.url + o.path, timeout=60,
                           allow_redirects=False, **kwargs)


def example(o):
    body = o.spec.get("requestBody", {}).get("content", {}).get("application/json", {})
    return body.get("example")


# ---- how to provoke each status ----

def works(server, o):
    if o.id == "setup":
        with Controller() as c, Browser(c) as b:
            code = (c.state_dir / "setup-code").read_text().strip()
            ask(b, o, json={**example(o), "code": code})
        return
    with signed_in(server) as b:
        if o.id == "metrics":
            b.auth = server.keys["admin"]
        ask(b, o, json=CHANGES.get(o.id, example(o)))


def bad_address(server, o):
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=60)
    connection.request(o.method, o.path + "?a=%zz")
    connection.getresponse().read()
    connection.close()


def stranger(server, o):
    with Browser(server) as b:
        ask(b, o, auth=("ok_00000000000000000000", "x"))


def to_login(server, o):
    with Browser(server) as b:
        ask(b, o, headers={"Accept": "text/html"})


def forbidden(server, o):
    if o.id == "login":
        with Browser(server) as b:
            ask(b, o, json={"name": "nobody", "password": "x"})
        return
    with signed_in(server) as b:
        ask(b, o, headers={"X-CSRF-Token": "x"})


def set_up(server, o):
    with Browser(server) as b:
        ask(b, o, json=example(o))


def too_large(server, o):
    with Browser(server) as b:
        if o.spec["x-right"] == "session":
            b = signed_in(server)
        ask(b, o, data=b"x" * (600 << 10),
            headers={"X-CSRF-Token": b.csrf, "Content-Type": "application/json"})


def sent(server, o, data, media):
    b = signed_in(server) if o.spec["x-right"] == "session" else Browser(server)
    with b:
        ask(b, o, data=data, headers={"X-CSRF-Token": b.csrf, "Content-Type": media})


def guesses(fresh, o):
    """Repeat a wrong password until the client has to wait; where no password is
    checked, the key's rate limit."""
    def limited():
        c = Controller(rate_limit=1, rate_burst=1)
        assert set_password(c, "ada", PASSWORD).returncode == 0
        return c

    if o.id in ("login", "setup"):
        with Browser(fresh) as b:
            for _ in range(8):
                ask(b, o, json=example(o))
        return
    with limited() as c:
        for _ in range(20):
            with signed_in(c) as b:
                if o.id == "metrics":
                    b.auth = c.keys["admin"]
                b.get(c.url + "/api/v2/", timeout=60)  # uses the only request
                if ask(b, o, json=example(o)).status_code == 429:
                    return


def side_by_side(server, o):
    """More sign-ins at once than passwords may be hashed in parallel."""
    def one(_):
        with Browser(server) as b:
            return ask(b, o, json={"name": "ada", "password": PASSWORD}).status_code

    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        for _ in range(40):
            if 503 in list(pool.map(one, range(12))):
                return


def unavailable(server, o):
    """The tables were dropped; for routes that need a session, the table of sessions."""
    if o.id == "login":
        side_by_side(server, o)
        return
    c = Controller()
    assert set_password(c, "ada", PASSWORD).returncode == 0
    try:
        if o.id == "setup":
            c.close()
            c = Controller()
        c.start()
        b = Browser(c)
        if o.id != "setup":
            b.login("ada")
        c.stop()
        code = ""
        if o.id == "setup":
            c.start()
            code = (c.state_dir / "setup-code").read_text().strip()
            hashed_at_once(c, o, code)
            return
        db = c.open_database()
        db.execute("ALTER TABLE web_session RENAME TO lost")
        if o.id == "metrics":
            db.execute("ALTER TABLE api_key RENAME TO lost_key")
        db.commit()
        db.close()
        c.start()
        if o.id == "metrics":
            b.auth = c.keys["admin"]
        ask(b, o, json=example(o))
    finally:
        c.close()


def hashed_at_once(c, o, code):
    def one(i):
        with Browser(c) as b:
            return ask(b, o, json={"code": code, "name": "", "password": PASSWORD}).status_code

    def login(_):
        with Browser(c) as b:
            return b.post("/login", {"name": "nobody", "password": "x"}).status_code

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for _ in range(40):
            guesses_on = [pool.submit(login, i) for i in range(4)]
            if 503 in [f.result() for f in [pool.submit(one, i) for i in range(12)]]:
                return
            [f.result() for f in guesses_on]


PROVOKE = {200: works, 303: to_login, 400: bad_address, 401: stranger, 403: forbidden, 409: set_up,
           413: too_large, 415: lambda s, o: sent(s, o, b"x", "text/plain"),
           422: lambda s, o: sent(s, o, b"{", "application/json"), 429: guesses, 503: unavailable}


@pytest.mark.parametrize("operation, code", PAIRS, ids=[f"{i}-{c}" for i, c in PAIRS])
def test_status_is_provoked(server, fresh, operation, code):
    before = contract().seen.get((operation, code), 0)
    PROVOKE[code](fresh if code == 429 else server, ROOT[operation])
    assert contract().seen.get((operation, code), 0) > before, \
        f"{operation} did not answer {code}: provoke it here, or take it out of docs/reference/openapi.yaml"

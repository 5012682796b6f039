"""Users who sign in to the pages, administered through the API and the command line."""
import concurrent.futures
import os
import subprocess

import pytest

from controller import Controller
from test_api_basics import problem
from test_login import PASSWORD, Browser, set_password


@pytest.fixture(scope="module")
def server():
    c = Controller()
    assert set_password(c, "root", PASSWORD).returncode == 0
    c.create_key("write", "write")
    with c:
        yield c


def make(server, name, rights="read", password=PASSWORD):
    return server.api("POST", "/users", {"name": name, "rights": rights, "password": password})["user"]


def test_made_and_signed_in(server):
    user = make(server, "eva", "write")
    assert set(user) == {"id", "name", "rights", "created_at", "updated_at"}
    with Browser(server) as b:
        assert b.login("eva").status_code == 200
        assert b.state()["user"] == {"name": "eva", "rights": "write"}
    assert [u["name"] for u in server.api("GET", "/users")["users"]][:2] == ["root", "eva"]
    assert PASSWORD not in server.log() and "argon2" not in server.api("GET", "/users").__repr__()
    problem(server.request("POST", "/users", {"name": "eva", "rights": "run", "password": PASSWORD}), 409)


def test_passwords_are_refused_as_elsewhere(server):
    for password, words in (("short", "10 characters"), ("x" * 20, "one character"), (None, "is missing"),
                            ("somebody else", "must not be the name"), ("tab\tin the middle", "control")):
        body = {"name": "somebody else", "rights": "read"}
        if password is not None:
            body["password"] = password
        found = problem(server.request("POST", "/users", body), 422)
        assert any(e["pointer"] == "/password" and words in e["detail"] for e in found["errors"]), found
    problem(server.request("POST", "/users", {"name": "x", "rights": "root", "password": PASSWORD}), 422)


def test_a_new_password_ends_the_sessions(server):
    user = make(server, "ina")
    with Browser(server) as b:
        b.login("ina")
        # a changed right takes effect at once, in the existing session
        put = {"name": "ina", "rights": "write"}
        server.api("PUT", f"/users/{user['id']}", put)
        assert b.state()["user"] == {"name": "ina", "rights": "write"}
        server.api("PUT", f"/users/{user['id']}", {**put, "password": "another password"})
        assert b.state()["user"] is None
        assert b.login("ina").status_code == 403
        assert b.login("ina", "another password").status_code == 200
        assert server.request("DELETE", f"/users/{user['id']}").status_code == 204
        assert b.state()["user"] is None
        assert b.login("ina", "another password").status_code == 403


def test_changes_do_not_cross(server):
    user = make(server, "ute")
    tag = server.request("GET", f"/users/{user['id']}").headers["ETag"]
    put = {"name": "ute", "rights": "run"}
    assert server.request("PUT", f"/users/{user['id']}", put, headers={"If-Match": tag}).ok
    problem(server.request("PUT", f"/users/{user['id']}", put, headers={"If-Match": tag}), 412)


def test_somebody_may_do_everything(server):
    root, = [u for u in server.api("GET", "/users")["users"] if u["name"] == "root"]
    assert "last user" in problem(server.request("DELETE", f"/users/{root['id']}"), 409)["detail"]
    problem(server.request("PUT", f"/users/{root['id']}", {"name": "root", "rights": "write"}), 422)
    other = make(server, "second", "admin")
    assert server.request("PUT", f"/users/{root['id']}", {"name": "root", "rights": "write"}).ok
    problem(server.request("DELETE", f"/users/{other['id']}"), 409)
    assert server.request("PUT", f"/users/{root['id']}", {"name": "root", "rights": "admin"}).ok
    assert server.request("DELETE", f"/users/{other['id']}").status_code == 204


def test_one_stays_when_two_are_changed_at_a_time(server):
    """The change takes the time of hashing a password."""
    root, = [u["id"] for u in server.api("GET", "/users")["users"] if u["name"] == "root"]
    for turn in range(5):
        other = make(server, f"admin {turn}", "admin")["id"]
        with concurrent.futures.ThreadPoolExecutor(2) as both:
            change = both.submit(server.request, "PUT", f"/users/{root}",
                                 {"name": "root", "rights": "read", "password": PASSWORD})
            deletion = both.submit(server.request, "DELETE", f"/users/{other}")
            done = sorted((change.result().ok, deletion.result().ok))
        assert done == [False, True], (change.result().text, deletion.result().text)
        assert len([u for u in server.api("GET", "/users")["users"] if u["rights"] == "admin"]) == 1
        server.api("PUT", f"/users/{root}", {"name": "root", "rights": "admin"})
        if not deletion.result().ok:
            assert server.request("DELETE", f"/users/{other}").ok


def test_who_may(server):
    for method, path in (("GET", "/users"), ("POST", "/users"), ("PUT", "/users/1"), ("DELETE", "/users/1")):
        problem(server.request(method, path, key="write"), 403)
        problem(server.request(method, path, key=None), 401)


def test_the_first_user_may_come_this_way():
    """The first user may be created this way; then the page that creates the first user
    is closed."""
    with Controller() as c, Browser(c) as b:
        code = (c.state_dir / "setup-code").read_text().strip()
        assert b.state()["setup"]
        make(c, "first", "admin")
        assert not b.state()["setup"] and not (c.state_dir / "setup-code").exists()
        assert b.post("/setup", {"code": code, "name": "x", "password": PASSWORD}).status_code == 409
        assert b.login("first").status_code == 200


def test_command_line(server, build, tmp_path):
    def offhook(*arguments, status=0):
        done = subprocess.run([build / "offhook", "user", *map(str, arguments)], text=True, timeout=60,
                              capture_output=True, cwd=tmp_path, check=False, env={
                                  **os.environ, "OFFHOOK_URL": server.witness().url,
                                  "OFFHOOK_KEY": ":".join(server.keys["admin"])})
        assert done.returncode == status, done.stdout + done.stderr
        return done.stderr if status else done.stdout

    (tmp_path / "password").write_text("from a file, a line\nand no more\n")
    made = offhook("create", "name=cli", "rights=read", "password=@password")
    number = [line.removeprefix("id: ") for line in made.splitlines() if line.startswith("id: ")][0]
    with Browser(server) as b:
        assert b.login("cli", "from a file, a line").status_code == 200
        assert "rights: run" in offhook("update", number, "rights=run")
        assert b.state()["user"] == {"name": "cli", "rights": "run"}
    assert "cli" in offhook("list")
    offhook("delete", number, "--yes")
    assert "no such user" in offhook("show", number, status=3)

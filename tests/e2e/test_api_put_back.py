"""PUT accepts what GET returned: unchanged, with one change, and with read-only members
changed. No password is lost on the way."""
import itertools
import json

import pytest

from contract import contract
from contract_lab import Lab
from test_api_basics import problem

NUMBERS = itertools.count()
# kind: (a change of one member, a read-only member with another value)
KINDS = {
    "projects": ({"description": "changed"}, {"created_at": "2001-01-01 00:00:00"}),
    "targets": ({"domain": "example.net"}, {"updated_at": "2001-01-01 00:00:00"}),
    "credential-pools": ({"name": ""}, {"credential_count": 77}),
    "agent-pools": ({"capabilities": ["opus"]}, {"id": 77}),
    "agents": ({"name": ""}, {"pool_name": "another"}),
    "tests": ({"retries_on_failure": 3}, {"project_name": "another"}),
    "appimages": ({"version": "2"}, {"sha256": "0" * 64}),
    "callback-templates": ({"method": "PUT"}, {"id": 77}),
    "schedules": ({"report_mode": "print"}, {"test_name": "another"}),
    "users": ({"rights": "run"}, {"created_at": "2001-01-01 00:00:00"}),
}
# members that change without an edit, so that any value is accepted
OBSERVED = {"agents": {"last_seen": "2001-01-01 00:00:00", "in_use": 3, "state": "draining"},
            "agent-pools": {"agent_count": 77}, "schedules": {"next_at": None, "history": []}}


@pytest.fixture(scope="module")
def lab():
    with Lab() as lab:
        yield lab


def record(lab, kind, **more):
    """(path, singular, record as GET answers it) of a new one"""
    if kind == "users":
        more = {"rights": "write"}
    path = f"/{kind}/{lab.create(kind, **more)}"
    answer = lab.c.api("GET", path)
    singular, = set(answer) - {"status"}
    return path, singular, answer[singular]


def edited(kind, r):
    """Without the members that a PUT or time changes."""
    return {k: v for k, v in r.items() if k != "updated_at" and k not in OBSERVED.get(kind, ())
            and k != "clock_offset_us"}


def test_every_kind_is_here():
    put = {o.path.split("/")[1] for o in contract().operations
           if o.method == "PUT" and o.spec["x-right"] != "agent" and o.path.count("/") == 2}
    assert put == set(KINDS)


def as_form(r):
    """A form has no null: such members are left out."""
    return {k: v if isinstance(v, str) else json.dumps(v) for k, v in r.items() if v is not None}


def changed(kind):
    change, _ = KINDS[kind]
    return {**change, "name": f"renamed {next(NUMBERS)}"} if "name" in change else change


@pytest.mark.parametrize("form", [False, True], ids=["json", "form"])
@pytest.mark.parametrize("kind", KINDS)
def test_put_takes_what_get_answers(lab, kind, form):
    path, singular, was = record(lab, kind)

    def put(body):
        return lab.c.request("PUT", path, data=as_form(body)) if form else \
            lab.c.request("PUT", path, body)
    answer = put(was)
    assert answer.status_code == 200, answer.text
    now = answer.json()[singular]
    assert edited(kind, now) == edited(kind, was)
    change = changed(kind)
    assert {k: now[k] for k in change} != change
    answer = put({**now, **change})
    assert answer.status_code == 200, answer.text
    after = lab.c.api("GET", path)[singular]
    expected = {**edited(kind, now), **change}
    assert edited(kind, after) == expected
    if kind in OBSERVED:
        answer = put({**after, **OBSERVED[kind]})
        assert answer.status_code == 200, answer.text
        assert edited(kind, answer.json()[singular]) == edited(kind, after)


@pytest.mark.parametrize("kind", KINDS)
def test_another_value_of_a_read_only_member(lab, kind):
    path, singular, was = record(lab, kind)
    change, wrong = changed(kind), KINDS[kind][1]
    member, = wrong
    said = problem(lab.c.request("PUT", path, {**was, **change, **wrong}), 422)
    assert [e["pointer"] for e in said["errors"]] == [f"/{member}"]
    assert "read-only" in said["errors"][0]["detail"]
    said = problem(lab.c.request("PUT", path, {**was, "nothing": 1}), 422)
    assert [e["pointer"] for e in said["errors"]] == ["/nothing"]
    assert edited(kind, lab.c.api("GET", path)[singular]) == edited(kind, was)
    # a stale copy is refused as such first
    answer = lab.c.request("PUT", path, {**was, **wrong}, headers={"If-Match": '"x"'})
    problem(answer, 412)
    problem(lab.c.request("PUT", f"/{kind}/999999", was), 404)


def test_deprecated_update_takes_it_as_well(lab):
    for kind in ("projects", "targets", "credential-pools", "agent-pools", "tests"):
        path, singular, was = record(lab, kind)
        answer = lab.c.request("POST", f"/{kind}/update", {**was, **changed(kind)})
        assert answer.status_code == 200, answer.text
        member, = KINDS[kind][1]
        if member != "id":
            problem(lab.c.request("POST", f"/{kind}/update", {**was, **KINDS[kind][1]}), 422)


# ---- passwords ----

def boxes(lab, pool):
    """Usernames and their encrypted passwords, as they are stored."""
    with lab.c.open_database() as db:
        return db.execute("SELECT username, password_box FROM credential WHERE pool_id = ? "
                          "ORDER BY position", (pool,)).fetchall()


def has(lab, path):
    pool = lab.c.api("GET", path)["credential_pool"]["credentials"]
    return [(c["username"], c["has_password"]) for c in pool]


def pool(lab, *credentials):
    return record(lab, "credential-pools", credentials=list(credentials))[::2]


def test_passwords_survive_what_was_read(lab):
    path, was = pool(lab, {"username": "a", "password": "1"}, {"username": "b"},
                     {"username": "a", "password": "2"}, {"username": "a"})
    before = [c["has_password"] for c in was["credentials"]]
    assert before == [True, False, True, False]
    lab.c.api("PUT", path, was)
    assert [c for _, c in has(lab, path)] == before
    # the nth entry of a username keeps the nth password, whatever is between them
    moved = [was["credentials"][i] for i in (1, 0, 2, 3)]
    lab.c.api("PUT", path, {"name": was["name"], "credentials": moved})
    assert has(lab, path) == [("b", False), ("a", True), ("a", True), ("a", False)]


@pytest.mark.parametrize("credential, pointer", [
    ({"username": "a"}, "/credentials/0/password"),
    ({"username": "a", "password": None}, "/credentials/0/password"),
    ({"username": "renamed", "has_password": True}, "/credentials/0/password")])
def test_no_password_is_lost_silently(lab, credential, pointer):
    path, was = pool(lab, {"username": "a", "password": "1"})
    kept = boxes(lab, was["id"])
    said = problem(lab.c.request("PUT", path, {"name": was["name"],
                                               "credentials": [credential]}), 422)
    assert [e["pointer"] for e in said["errors"]] == [pointer]
    assert boxes(lab, was["id"]) == kept
    csv = "username,display_name\na,Ann\n"
    problem(lab.c.request("PUT", path, {"name": was["name"], "csv": csv}), 422)
    assert boxes(lab, was["id"]) == kept


@pytest.mark.parametrize("credentials, expected", [
    ([{"username": "a", "has_password": 0}], [("a", False)]),
    ([{"username": "a", "password": "2"}], [("a", True)]),
    ([{"username": "a", "has_password": 1}, {"username": "b"}], [("a", True), ("b", False)]),
    ([{"username": "b"}], [("b", False)]), ([], [])])
def test_passwords_are_replaced_and_removed_where_that_is_said(lab, credentials, expected):
    path, was = pool(lab, {"username": "a", "password": "1"})
    lab.c.api("PUT", path, {"name": was["name"], "credentials": credentials})
    assert has(lab, path) == expected


def test_callback_secret(lab):
    path, singular, was = record(lab, "tests", callback_secret="s")
    assert was["has_callback_secret"] == 1
    after = lab.c.api("PUT", path, was)[singular]
    assert after["has_callback_secret"] == 1
    del after["has_callback_secret"]
    said = problem(lab.c.request("PUT", path, after), 422)
    assert [e["pointer"] for e in said["errors"]] == ["/callback_secret"]
    assert lab.c.api("GET", path)[singular]["has_callback_secret"] == 1
    after = lab.c.api("PUT", path, {**after, "has_callback_secret": 0})[singular]
    assert after["has_callback_secret"] == 0


def test_a_user_keeps_the_password(lab):
    path, _, was = record(lab, "users")
    lab.c.api("PUT", path, was)
    login = {"name": was["name"], "password": "correct horse battery"}
    answer = lab.c.session.post(f"{lab.c.url}/login", json=login, timeout=60)
    assert answer.status_code == 200, answer.text
    lab.c.session.cookies.clear()

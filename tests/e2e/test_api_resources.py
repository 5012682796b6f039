"""Projects, targets, pools, agents, tests and keys."""
import json
from pathlib import Path

import pytest

from controller import Controller
from test_api_basics import problem


@pytest.fixture(scope="module")
def server():
    with Controller() as c:
        yield c


@pytest.fixture
def unique(request):
    return request.node.name


HOSTS = [{"host": "127.0.0.1", "port": 5070}]


def make(server, unique, kind, **fields):
    member = kind.replace("-", "_").rstrip("s")
    return server.api("POST", f"/{kind}", {"name": unique, **fields})[member]


@pytest.fixture
def parts(server, unique):
    """The records that a test refers to."""
    return {
        "project": make(server, unique, "projects")["id"],
        "pool": make(server, unique, "agent-pools")["id"],
        "target": make(server, unique, "targets", hosts=HOSTS)["id"],
        "credentials": make(server, unique, "credential-pools", credentials=[
            {"username": "1001", "password": "s"}])["id"],
    }


def test_body(parts, name="t", **changes):
    register = {"type": "register", "role": "callee", "regexpire": 60,
                "credential_pool": parts["credentials"],
                "target_pool": parts["target"]}
    call = {"type": "call", "role": "caller", "max_total_calls": 2,
            "dial_destination": "{{callee.username}}",
            "credential_pool": parts["credentials"],
            "target_pool": parts["target"],
            "sipclient_actions": [["assert_established", ""],
                                  ["wait", "1000"]]}
    return {"name": name, "project_id": parts["project"],
            "agentpool_id": parts["pool"], "tags": ["a", "b"],
            "steps": [[register, {"type": "answer", "role": "callee"}],
                      [call]], **changes}


test_body.__test__ = False


@pytest.mark.parametrize("kind, fields", [
    ("projects", {"description": "d"}),
    ("targets", {"hosts": [{"host": "a.example", "port": 5061,
                            "transport": "tls", "priority": 1, "weight": 2}],
                 "domain": "example", "outbound_proxy": "sip:p.example",
                 "tls": {"verify": 0, "server_name": "x", "ca": None,
                         "certificate": "office"}}),
    ("agent-pools", {"description": None, "capabilities": ["opus"]}),
])
def test_create_read_replace_delete(server, unique, kind, fields):
    member = kind.replace("-", "_").rstrip("s")
    answer = server.request("POST", f"/{kind}", {"name": unique, **fields})
    assert answer.status_code == 201, answer.text
    made = answer.json()[member]
    path = f"/{kind}/{made['id']}"
    assert answer.headers["Location"] == "/api/v2" + path
    for name, value in fields.items():
        assert made[name] == value
    made.pop("join_token", None)
    assert server.api("GET", path)[member] == made
    problem(server.request("POST", f"/{kind}", {"name": unique, **fields}), 409)
    kept = {"name": unique + "2"}
    if kind == "targets":
        kept["hosts"] = HOSTS
    replaced = server.api("PUT", path, kept)[member]
    assert replaced["name"] == unique + "2"
    assert replaced.get("description") is None
    assert server.request("DELETE", path).status_code == 204
    problem(server.request("GET", path), 404)
    problem(server.request("PUT", path, kept), 404)
    problem(server.request("DELETE", path), 404)


def test_hosts_are_checked_one_by_one(server, unique):
    body = {"name": unique, "hosts": [
        {"host": "ok"}, {"port": 70000, "host": "x"}, {"transport": "sctp"}]}
    errors = problem(server.request("POST", "/targets", body), 422)["errors"]
    assert {e["pointer"] for e in errors} == \
        {"/hosts/1/port", "/hosts/2/host", "/hosts/2/transport"}


def test_hosts_of_a_form_are_json_text(server, unique):
    answer = server.request("POST", "/targets", data={
        "name": unique, "hosts": json.dumps(HOSTS)})
    assert answer.status_code == 201, answer.text
    assert answer.json()["target"]["hosts"][0]["transport"] == "udp"


def test_passwords_are_never_read(server, unique):
    password = "correct horse battery staple"
    pool = make(server, unique, "credential-pools", credentials=[
        {"username": "1001", "password": password, "extension": "77"},
        {"username": "1002"}])
    path = f"/credential-pools/{pool['id']}"
    read = server.request("GET", path)
    assert password not in read.text
    users = read.json()["credential_pool"]["credentials"]
    assert [(u["username"], u["has_password"]) for u in users] == \
        [("1001", True), ("1002", False)]
    assert users[0]["extension"] == "77"
    listed = server.api("GET", "/credential-pools?count=1000")
    assert password not in json.dumps(listed)
    for file in filter(Path.is_file, server.state_dir.rglob("*")):
        assert password.encode() not in file.read_bytes(), file
    # what was read can be written back without losing the password
    back = server.api("PUT", path, {"name": unique, "credentials": users})
    assert [u["has_password"] for u in
            back["credential_pool"]["credentials"]] == [True, False]
    # without it the password would be lost: the API must say so
    problem(server.request("PUT", path, {"name": unique, "credentials": [{"username": "1001"}]}), 422)
    gone = server.api("PUT", path, {"name": unique, "credentials": [
        {"username": "1001", "has_password": 0}]})
    assert gone["credential_pool"]["credentials"][0]["has_password"] is False


TABLE = ('Username;Password;"Display_name";extension\r\n1001;"se;cret ""1""";Ann;77\r\n'
         "1002;;;\r\n")


@pytest.mark.parametrize("kwargs", [
    {"json": {"csv": TABLE}}, {"data": {"csv": TABLE}},
    {"files": {"csv": (None, TABLE)}}, {"files": {"csv": ("phones.csv", "\ufeff" + TABLE)}}],
    ids=["json", "urlencoded", "multipart", "file"])
def test_credentials_from_a_spreadsheet(server, unique, kwargs):
    (kind, body), = kwargs.items()
    named = {kind: {**body, "name": (None, unique) if kind == "files" else unique}}
    answer = server.request("POST", "/credential-pools", **named)
    assert answer.status_code == 201, answer.text
    pool = answer.json()["credential_pool"]
    assert [(c["username"], c["display_name"], c["extension"], c["has_password"])
            for c in pool["credentials"]] == \
        [("1001", "Ann", "77", True), ("1002", None, None, False)]
    assert "csv" not in pool and 'se;cret' not in answer.text
    path = f"/credential-pools/{pool['id']}"
    again = server.api("PUT", path, {"name": unique, "csv": "username\n1003\n"})
    assert [c["username"] for c in again["credential_pool"]["credentials"]] == ["1003"]


@pytest.mark.parametrize("table, pointers", [
    ("", {"/csv"}), ("name\n1001\n", {"/csv/2/username", "/csv/2/name"}),
    ("username,password\n1001\n", {"/csv"}), ('username\n"1001\n', {"/csv"}),
    ("username,domain\n1001,x\n,y\n1002," + "z" * 256 + "\n",
     {"/csv/3/username", "/csv/4/domain"}),
    ("username\n" + "1\n" * 10001, {"/csv/10002"}),
], ids=["empty", "no such column", "too short", "open quote", "wrong cells", "too long"])
def test_wrong_spreadsheets(server, unique, table, pointers):
    answer = server.request("POST", "/credential-pools", {"name": unique, "csv": table})
    assert {e["pointer"] for e in problem(answer, 422)["errors"]} == pointers
    both = {"name": unique, "csv": "username\n1\n", "credentials": [{"username": "2"}]}
    answer = server.request("POST", "/credential-pools", both)
    assert {e["pointer"] for e in problem(answer, 422)["errors"]} == {"/csv"}
    names = [p["name"] for p in server.api("GET", "/credential-pools?count=1000")[
        "credential_pools"]]
    assert unique not in names


def test_join_token_is_shown_once(server, unique):
    pool = make(server, unique, "agent-pools")
    assert len(pool["join_token"]) == 43
    path = f"/agent-pools/{pool['id']}"
    assert "join_token" not in server.api("GET", path)["agent_pool"]
    other = server.api("POST", path + "/token")["agent_pool"]["join_token"]
    assert other != pool["join_token"]
    problem(server.request("POST", "/agent-pools/999999/token"), 404)


def test_keys_are_made_used_and_deleted(server, unique):
    key = make(server, unique, "api-keys", rights="read")
    pair = (key["public_key"], key["secret"])
    assert server.request("GET", "/projects", key=pair).ok
    shown = server.api("GET", f"/api-keys/{key['id']}")["api_key"]
    assert "secret" not in shown and shown["last_used_at"]
    problem(server.request("GET", "/api-keys", key=pair), 403)
    server.api("DELETE", f"/api-keys/{key['id']}")
    problem(server.request("GET", "/projects", key=pair), 401)


def test_expired_key_is_refused(server, unique):
    key = make(server, unique, "api-keys", rights="admin",
               expires_at="2001-01-01 00:00:00")
    pair = (key["public_key"], key["secret"])
    problem(server.request("GET", "/projects", key=pair), 401)


def test_test_is_stored_with_its_parameters(server, unique, parts):
    body = test_body(parts, unique)
    made = server.api("POST", "/tests", body)["test"]
    assert made["steps"] == body["steps"]
    assert json.loads(made["tags"]) == ["a", "b"]
    assert made["agentpool_name"] == made["project_name"] == unique
    listed = [t for t in server.api("GET", "/tests?count=1000")["tests"]
              if t["id"] == made["id"]]
    params = {p["key"]: p for p in listed[0]["parameters"]}
    assert params["step.0.0.regexpire"]["value"] == 60
    assert params["step.0.0.regexpire"]["default"] == 3600
    assert params["step.1.0.max_total_calls"]["value"] == 2
    assert params["step.1.0.dial_destination"]["role"] == "caller"
    assert params["step.1.0.calls_per_second"]["value"] == 1
    assert "step.0.1.dial_destination" not in params


def test_a_decimal_is_told_as_it_was_given(server, unique, parts):
    body = test_body(parts, unique)
    body["steps"][1][0]["calls_per_second"] = 3.6
    body["conditions"] = [{"role": "caller", "condition_type": "caller-mos-conditions",
                           "conditions": [{"type": "ge", "value": 4.1}]}]
    made = server.request("POST", "/tests", body)
    path = f"/tests/{made.json()['test']['id']}"
    for answer in (made, server.request("GET", path),
                   server.request("GET", "/tests?count=1000")):
        assert "3.6" in answer.text and "3.60" not in answer.text
        assert "4.1" in answer.text and "4.09" not in answer.text


@pytest.mark.parametrize("step, action, wrong, pointer, remedy", [
    (1, 0, {"srtp_suites": ["AEAD_AES_128_GCM"]}, "srtp_suites", "media_encryption"),
    (1, 0, {"ice_lite": 1}, "ice_lite", "media_nat"),
    (1, 0, {"stun_server": "s"}, "stun_server", "media_nat"),
    (1, 0, {"turn_credential_pool": "credentials"}, "turn_credential_pool", "turn_server"),
    (1, 0, {"opus_fmtp": "usedtx=1"}, "opus_fmtp", "audio_codecs"),
    (0, 1, {"ring_only": 1, "answer_code": 486}, "answer_code", "ring_only"),
    (0, 1, {"challenge_pool": "credentials"}, "challenge_pool", "challenge")])
def test_a_parameter_that_does_nothing_is_refused(server, unique, parts, step, action, wrong,
                                                  pointer, remedy):
    body = test_body(parts, unique)
    body["steps"][step][action].update(
        {k: parts[v] if k.endswith("_pool") else v for k, v in wrong.items()})
    answer = problem(server.request("POST", "/tests", body), 422)
    error, = answer["errors"]
    assert error["pointer"].endswith(f"{step}/{action}/{pointer}"), error
    assert "does nothing" in error["detail"] and remedy in error["detail"], error


def test_what_a_test_uses_cannot_be_deleted(server, unique, parts):
    test = server.api("POST", "/tests", test_body(parts, unique))["test"]
    used = [f"/projects/{parts['project']}", f"/agent-pools/{parts['pool']}",
            f"/targets/{parts['target']}",
            f"/credential-pools/{parts['credentials']}"]
    for path in used:
        problem(server.request("DELETE", path), 409)
    server.api("DELETE", f"/tests/{test['id']}")
    for path in used:
        assert server.request("DELETE", path).status_code == 204


@pytest.mark.parametrize("parameter, beside", [
    ("challenge_pool", {"challenge": 401}),
    ("turn_credential_pool", {"media_nat": "turn", "turn_server": "turn.example"})])
def test_credentials_of_others_in_use_are_not_deleted(server, unique, parts, parameter, beside):
    pool = make(server, f"{unique}-more", "credential-pools", credentials=[
        {"username": "turn", "password": "s"}])["id"]
    body = test_body(parts, unique)
    body["steps"][0][1] |= {parameter: pool, **beside}
    test = server.api("POST", "/tests", body)["test"]
    detail = problem(server.request("DELETE", f"/credential-pools/{pool}"), 409)["detail"]
    assert unique in detail
    server.api("DELETE", f"/tests/{test['id']}")
    assert server.request("DELETE", f"/credential-pools/{pool}").status_code == 204


@pytest.mark.parametrize("parameter, wrong, right", [
    ("type", "dance", "register, answer, call"),
    ("transport", "sctp", "udp, tcp or tls"),
    ("prack", "maybe", "none, supported or required"),
    ("session_refresher", "me", "any, uac or uas")])
def test_a_wrong_word_is_answered_with_the_right_ones(server, parts, parameter, wrong, right):
    body = test_body(parts)
    body["steps"][1][0][parameter] = wrong
    error, = problem(server.request("POST", "/tests", body), 422)["errors"]
    assert error["pointer"] == f"/steps/1/0/{parameter}"
    assert right in error["detail"]


def broken(parts, change):
    body = test_body(parts)
    change(body)
    return body


@pytest.mark.parametrize("pointer, change", [
    ("/steps", lambda b: b.update(steps=[])),
    ("/steps/0", lambda b: b["steps"].__setitem__(0, {})),
    ("/steps/1/0", lambda b: b["steps"][1].__setitem__(0, 5)),
    ("/steps/1/0/type", lambda b: b["steps"][1][0].update(type="dance")),
    ("/steps/1/0/role", lambda b: b["steps"][1][0].pop("role")),
    ("/steps/1/0/max_total_calls",
     lambda b: b["steps"][1][0].update(max_total_calls=0)),
    ("/steps/1/0/max_total_cals",
     lambda b: b["steps"][1][0].update(max_total_cals=1)),
    ("/steps/1/0/regexpire",
     lambda b: b["steps"][1][0].update(regexpire=60)),
    ("/steps/1/0/dial_destination",
     lambda b: b["steps"][1][0].update(dial_destination="{{x.username}}")),
    ("/steps/1/0/sipclient_actions",
     lambda b: b["steps"][1][0].update(sipclient_actions=[["fly", ""]])),
    ("/steps/1/0/target_pool",
     lambda b: b["steps"][1][0].update(target_pool=999999)),
    ("/project_id", lambda b: b.update(project_id=999999)),
    ("/agentpool_id", lambda b: b.update(agentpool_id=999999)),
    ("/conditions", lambda b: b.update(conditions={})),
    ("/conditions/0", lambda b: b.update(conditions=[{"role": "caller"}])),
    ("/record", lambda b: b.update(record="all")),
    ("/tags", lambda b: b.update(tags=[1])),
])
def test_wrong_test_has_a_pointer(server, parts, pointer, change):
    answer = server.request("POST", "/tests", broken(parts, change))
    errors = problem(answer, 422)["errors"]
    assert any(e["pointer"].startswith(pointer) for e in errors), errors


@pytest.mark.parametrize("send", ["json", "data"])
def test_deprecated_routes(server, unique, send):
    def post(verb, **body):
        answer = server.request("POST", f"/projects/{verb}", **{send: body})
        assert answer.headers["Deprecation"]
        return answer

    answer = post("create", name=unique)
    assert answer.status_code == 201, answer.text
    assert answer.headers["Link"] == \
        '</api/v2/projects>; rel="successor-version"'
    number = answer.json()["project"]["id"]
    answer = post("update", id=number, name=unique + "2")
    assert answer.json()["project"]["name"] == unique + "2"
    for wrong in ({}, {"id": ""}, {"id": "x"}, {"id": -1}, {"id": 999999}):
        assert post("delete", **wrong).status_code in (404, 422), wrong
    assert post("delete", id=number).status_code == 204
    problem(server.request("GET", f"/projects/{number}"), 404)

"""Scenarios as the API shows them, and what the start of one refuses."""
import json

import pytest

from controller import Controller

NAMES = ["single-call", "single-call-caller", "single-call-callee", "registration",
         "registration-storm", "load", "capacity-search", "options-ping", "hold-resume", "blind-transfer",
         "attended-transfer", "dtmf", "early-media", "codec-matrix", "srtp", "redirect",
         "busy-reject", "long-call"]
SECRET = "hush-4711-hush"


@pytest.fixture(scope="module")
def controller():
    with Controller() as c:
        c.pool = c.api("POST", "/agent-pools", {"name": "pool"})["agent_pool"]["id"]
        c.target = c.api("POST", "/targets", {
            "name": "t", "hosts": [{"host": "192.0.2.1"}]})["target"]["id"]
        c.accounts = c.api("POST", "/credential-pools", {
            "name": "c", "credentials": [{"username": f"u{n}", "password": SECRET}
                                         for n in range(4)]})["credential_pool"]["id"]
        yield c


def start(c, scenario, body, **kwargs):
    return c.request("POST", f"/tests/scenarios/{scenario}", body, **kwargs)


def refused(answer):
    assert answer.status_code == 422, answer.text
    return {e["pointer"]: e["detail"] for e in answer.json()["errors"]}


def test_all_scenarios_are_listed(controller):
    answer = controller.api("GET", "/scenarios")
    assert [s["name"] for s in answer["scenarios"]] == NAMES
    assert answer["total"] == len(NAMES) and answer["start"] == 0
    for s in answer["scenarios"]:
        assert s["available"] == (s["unavailable_reason"] is None), s
        assert s["title"] and s["description"] and s["roles"]
    page = controller.api("GET", "/scenarios?start=3&count=2")
    assert [s["name"] for s in page["scenarios"]] == NAMES[3:5]
    assert controller.request("GET", "/scenarios/nope").status_code == 404
    assert controller.request("GET", "/scenarios/nope/params").status_code == 404
    assert start(controller, "nope", {}).status_code == 404


@pytest.mark.parametrize("name", NAMES)
def test_the_example_starts(controller, name):
    """The example parameters can be sent as shown, once the pool is a real one."""
    shown = controller.api("GET", f"/scenarios/{name}/params")
    assert shown["scenario"] == name
    names = [p["name"] for p in shown["params"]]
    assert len(names) == len(set(names)) and "agentpool_id" in names
    assert all(p["description"] and p["type"] and p["word"] for p in shown["params"])
    conditions = controller.api("GET", f"/scenarios/{name}/conditions")
    assert conditions["conditions"] and conditions["example"]["conditions"]
    whole = controller.api("GET", f"/scenarios/{name}")["scenario"]
    assert whole["params"] == shown["params"] and whole["example"] == shown["example"]
    assert whole["conditions"] == conditions["conditions"]
    body = {**shown["example"], **conditions["example"], "agentpool_id": controller.pool,
            "report.mode": "kiosk"}
    answer = start(controller, name, body)
    if not whole["available"]:
        assert whole["unavailable_reason"] in str(refused(answer)), answer.text
        return
    assert answer.status_code == 200, answer.text
    data = answer.json()["data"]
    if name == "capacity-search":
        assert set(data) == {"report_url", "status_url", "capacity_search_id"}
        controller.api("POST", f"/capacity-searches/{data['capacity_search_id']}/stop")
        return
    assert set(data) == {"report_url", "session_id", "status_url", "waiting_for", "warnings"}
    assert "/kiosk/" in data["report_url"]
    run = controller.api("GET", f"/runs/{data['session_id']}")["run"]
    assert run["testcase_name"] == name and run["test_name"] == name
    assert run["agentpool_name"] == "pool" and run["project_name"] == ""


@pytest.mark.parametrize("name", NAMES)
def test_missing_parameters(controller, name):
    missing = refused(start(controller, name, {}))
    assert "/agentpool_id" in missing and "/target_pool" in missing, missing
    assert controller.request("GET", "/runs?filtername=testcase_name&filterval="
                              + name).json()["total"] <= 1
    required = {p["name"] for p in controller.api("GET", f"/scenarios/{name}/params")["params"]
                if p["required"]}
    assert {"/" + r for r in required} <= set(missing), (required, missing)


def body_of(c, **more):
    return {"agentpool_id": c.pool, "target_pool": c.target, "credential_pool": c.accounts,
            **more}


@pytest.mark.parametrize("more, pointer, words", [
    ({"durration": 5}, "/durration", "unknown"),
    ({"agentpool_id": 99}, "/agentpool_id", "no agent_pool"),
    ({"agentpool_id": "x"}, "/agentpool_id", "whole number"),
    ({"project_id": 99}, "/project_id", "no project"),
    ({"credential_pool": 99}, "/step.0.0.credential_pool", "no credential pool"),
    ({"username": "a"}, "/username", "excludes"),
    ({"callee.password": "a"}, "/callee.password", "goes with"),
    ({"target": "192.0.2.1"}, "/target", "excludes"),
    ({"callee.target": "not a host"}, "/callee.target", "SIP URI"),
    ({"callee.target": "sip:u@h"}, "/callee.target", "SIP URI"),
    ({"callee.target": "h:99999"}, "/callee.target", "SIP URI"),
    ({"transport": "sctp"}, "/transport", "udp, tcp, tls"),
    ({"min_mos": 6}, "/min_mos", "from 1 to 5"),
    ({"duration": "for ever"}, "/step.1.1.call_duration", "seconds"),
    ({"conditions": {}}, "/conditions", "array"),
    ({"conditions": [{"role": "caller", "condition_type": "caller-mos-conditions",
                      "conditions": [{"type": "ge", "value": "x"}]}]},
     "/conditions/0/conditions/0/value", "number"),
    ({"conditions": [{"role": "caller", "condition_type": "nope", "conditions": []}]},
     "/conditions/0", "nope"),
    ({"conditions": ["x"]}, "/conditions/0", "role"),
    ({"report.mode": "loud"}, "/report.mode", "kiosk"),
    ({"tags": [1]}, "/tags", "texts"),
    ({"retries_on_failure": 11}, "/retries_on_failure", "from 0 to 10"),
    ({"retries_on_failure": "null"}, "/retries_on_failure", "whole number"),
    ({"tags": "null"}, "/tags", "array"),
    ({"record": "null"}, "/record", "none, sip, media"),
    ({"name": []}, "/name", "string"),
])
def test_wrong_parameters(controller, more, pointer, words):
    errors = refused(start(controller, "single-call", body_of(controller, **more)))
    assert words in errors.get(pointer, ""), errors


def test_a_pool_is_shared_out(controller):
    """One pool for two roles: each gets its own part."""
    answer = start(controller, "single-call", body_of(controller, tags=["a"], name="both"))
    assert answer.status_code == 200, answer.text
    small = controller.api("POST", "/credential-pools", {
        "name": "small", "credentials": [{"username": "one"}]})["credential_pool"]["id"]
    errors = refused(start(controller, "single-call",
                           body_of(controller, credential_pool=small)))
    assert "need one each" in str(errors), errors
    run = controller.api(
        "GET", "/runs/" + answer.json()["data"]["session_id"])["run"]
    assert run["test_name"] == "both" and json.loads(run["tags"]) == ["a"]
    db = controller.open_database()
    specs = dict(db.execute("SELECT role, spec_json FROM lease WHERE run_id = ?",
                            (run["id"],)).fetchall())
    db.close()
    users = {role: [c["username"] for c in json.loads(spec)["steps"][0 if role == "callee"
                                                                     else 1][0]["credentials"]]
             for role, spec in specs.items()}
    assert users == {"caller": ["u0", "u2"], "callee": ["u1", "u3"]}


def test_inline_password_is_nowhere(controller):
    body = {"agentpool_id": controller.pool, "target": {"host": "192.0.2.1", "port": 5070},
            "caller.username": "a", "caller.password": SECRET + "1",
            "callee.username": "b", "callee.password": SECRET + "2",
            "retries_on_failure": 1}
    answer = start(controller, "single-call", body, headers={"Idempotency-Key": "once"})
    assert answer.status_code == 200, answer.text
    again = start(controller, "single-call", body, headers={"Idempotency-Key": "once"})
    assert again.json() == answer.json()
    session = answer.json()["data"]["session_id"]
    seen = json.dumps([controller.api("GET", f"/runs/{session}"), answer.json()])
    files = b"".join(p.read_bytes() for p in controller.state_dir.glob("offhook.db*"))
    assert SECRET not in seen and SECRET not in controller.log()
    assert SECRET.encode() not in files


def test_forms_and_rights(controller):
    url = f"{controller.url}/api/v2/tests/scenarios/registration"
    form = {"agentpool_id": str(controller.pool), "target": "sip:192.0.2.1:5060;transport=tcp",
            "username": "a", "wait_ms": "1", "conditions": "[]", "custom_headers": ""}
    auth = controller.keys["admin"]
    for kind in ({"data": form}, {"files": {k: (None, v) for k, v in form.items()}}):
        answer = controller.session.post(url, auth=auth, **kind)
        assert answer.status_code == 200, answer.text
    key = controller.api("POST", "/api-keys", {"name": "r", "rights": "read"})["api_key"]
    reader = (key["public_key"], key["secret"])
    assert start(controller, "registration", form, key=reader).status_code == 403
    assert controller.request("GET", "/scenarios", key=reader).status_code == 200


@pytest.mark.parametrize("name", NAMES)
def test_a_scenario_is_stored_as_a_test(controller, name):
    """What is missing are pools: with them it is stored, and it starts."""
    draft = controller.api("GET", f"/scenarios/{name}/test")["test"]
    whole = controller.api("GET", f"/scenarios/{name}")["scenario"]
    assert (draft["name"], draft["scenario"]) == (whole["title"], name)
    assert draft["conditions"] == whole["conditions"]
    assert {a["role"] for s in draft["steps"] for a in s} == set(whole["roles"])
    for action in (a for s in draft["steps"] for a in s):
        assert not set(action) & {"credentials", "credential_share", "target", "if"}
        if action["type"] in ("register", "call", "options"):
            action.update(credential_pool=controller.accounts, target_pool=controller.target)
    project = controller.api("POST", "/projects", {"name": f"of {name}"})["project"]["id"]
    test = controller.api("POST", "/tests", {
        **draft, "project_id": project, "agentpool_id": controller.pool})["test"]
    assert test["steps"] == draft["steps"] and test["conditions"] == draft["conditions"]
    run = controller.api("POST", f"/tests/{test['id']}/run")["data"]
    controller.api("POST", f"/runs/{run['session_id']}/stop")

"""Every documented operation is sent, and every documented status is provoked.

There is one case for each pair of operation and status of docs/reference/openapi.yaml.
What all operations have in common (wrong credentials, a body that is too large, ...) is
provoked the same way for all; PROVOKED lists the special cases. contract.py checks each
response. A pair without a case is a failure.
"""
import base64
import http.client
import json
import re
from urllib.parse import urlencode

import pytest

from contract import PREFIX, contract
from contract_lab import Lab, asks_for_certificates, without_database, without_rate

ADD = ("nothing provokes the status {} of {}: add it to PROVOKED in tests/e2e/test_contract.py, "
       "or take it out of docs/reference/openapi.yaml")
OPERATIONS = {o.id: o for o in contract().operations}
NOBODY = "999999"
NO_LEASE = "00000000-0000-4000-8000-00000000ffff"


@pytest.fixture(scope="module")
def lab():
    with Lab() as lab:
        yield lab


@pytest.fixture(scope="module")
def broken():
    with without_database() as c:
        yield c


@pytest.fixture(scope="module")
def limited():
    with without_rate() as c:
        yield c


@pytest.fixture(scope="module")
def asking(tmp_path_factory):
    with asks_for_certificates(tmp_path_factory.mktemp("asking")) as c:
        yield c


# ---- sending what the document describes ----

def examples(operation):
    """(media type, example) of every documented body; (None, None) without one."""
    content = operation.spec.get("requestBody", {}).get("content", {})
    for media, c in content.items():
        for example in [c["example"]] if "example" in c else \
                [e["value"] for e in c["examples"].values()]:
            yield media, c, example
    if not content:
        yield None, None, None


def encoded(media, content, example):
    """Arguments of requests that send the example."""
    if media is None:
        return {}
    if media == "application/json":
        return {"json": example}
    if media == "application/octet-stream":
        return {"data": example, "headers": {"Content-Type": media}}
    texts = {k: v if isinstance(v, str) else json.dumps(v) for k, v in example.items()}
    if media == "application/x-www-form-urlencoded":
        return {"data": texts or b"", "headers": {"Content-Type": media}}
    files = {k for k, s in content["schema"].get("properties", {}).items()
             if "contentMediaType" in s and k in texts}
    return {"files": [(k, (f"{k}.bin", v) if k in files else (None, v))
                      for k, v in texts.items()]}


def first_example(operation):
    return encoded(*next(examples(operation)))


def address(operation, **given):
    """The path with the given ids, or with ids of no record."""
    def value(found):
        name = found.group(1)
        if name in given:
            return str(given[name])
        if operation.path.startswith("/agent/leases") and name == "id":
            return NO_LEASE
        return {"measure": "rtp_jitter", "step": "0", "name": "x"}.get(name, NOBODY)
    return re.sub(r"\{(\w+)\}", value, operation.path)


def caller(lab, operation, right=None):
    """The credentials of a caller who may use the operation."""
    right = right or operation.spec["x-right"]
    if right == "agent":
        return lab.agent.auth
    return None if right == "none" else lab.c.keys[right]


def send(lab, operation, path=None, key="own", headers=None, **kwargs):
    key = caller(lab, operation) if key == "own" else key
    kwargs["headers"] = {**kwargs.get("headers", {}), **(headers or {})}
    return lab.c.request(operation.method, path or address(operation), key=key, **kwargs)


# ---- what all operations have in common ----

def bad_request(lab, o):
    """Sent without requests, which would correct the URL."""
    host = lab.c.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.request(o.method, PREFIX + address(o) + "?a=%zz")
    connection.getresponse().read()
    connection.close()


def forbidden(lab, o):
    less = {"run": "read", "write": "run", "admin": "write"}[o.spec["x-right"]]
    send(lab, o, key=lab.c.keys[less])


def not_found(lab, o):
    body = first_example(o)
    if "json" in body and "id" in body["json"]:
        body["json"] = {**body["json"], "id": int(NOBODY)}
    send(lab, o, **lab.own_names(body))


def too_large(lab, o):
    send(lab, o, data=b"x" * (lab.body_limit + 1), headers={"Content-Type": "text/plain"})


def unprocessable(lab, o):
    if o.method in ("POST", "PUT"):
        send(lab, o, data=b'{"a":', headers={"Content-Type": "application/json"})
        return
    send(lab, o, address(o, **lab.standing(o)) + "?nothing=1")


def too_many(limited, o):
    """One request per second: the previous request used it up."""
    for _ in range(50):
        limited.request("GET", "/")
        if limited.request(o.method, address(o)).status_code == 429:
            return


def unavailable(broken, o):
    key = broken.agent_auth if o.spec["x-right"] == "agent" else "admin"
    body = broken.registration if o.id == "postAgentRegister" else None
    broken.request(o.method, address(o), body, key=key)


def without_certificate(asking, o):
    assert asking.request(o.method, address(o), key=None).json()["certificate"] == "missing"


GENERIC = {
    400: bad_request,
    401: lambda lab, o: send(lab, o, key=("ok_00000000000000000000", "x")),
    403: forbidden,
    404: not_found,
    413: too_large,
    415: lambda lab, o: send(lab, o, data=b"x", headers={"Content-Type": "text/plain"}),
    422: unprocessable,
}


# ---- the examples, and the special cases ----

def succeeds(lab, o):
    """Every example of every body, with the ids of existing records."""
    for media, content, example in examples(o):
        body = encoded(media, content, example)
        with lab.place(o, body) as (given, body):
            answer = send(lab, o, address(o, **given), **body)
            assert answer.ok, f"the example of {o.id} as {media}: {answer.text}"


def with_header(name, value):
    def provoke(lab, o):
        with lab.place(o, first_example(o)) as (given, body):
            send(lab, o, address(o, **given), headers={name: value}, **body)
    return provoke


def not_modified(lab, o):
    with lab.place(o, {}) as (given, _):
        path = address(o, **given)
        tag = send(lab, o, path).headers["ETag"]
        send(lab, o, path, headers={"If-None-Match": tag})


def name_is_taken(lab, o):
    """A record with the example's name already exists."""
    with lab.place(o, first_example(o)) as (given, body):
        # appimages are unique by name and version
        same = {k: v for k, v in body["json"].items() if k in ("name", "version")}
        other = lab.create(o.path.split("/")[1], **same)
        send(lab, o, address(o, **given), **body)
        lab.remove(o.path.split("/")[1], other)


def in_use(lab, o):
    """The record that the standing test refers to."""
    base = o.path.split("/")[1]
    if o.method == "DELETE":
        send(lab, o, address(o, id=lab.standing_id(base)))
    else:
        send(lab, o, json={"id": lab.standing_id(base)})


PROVOKED = {}


def provokes(code, *ids):
    def note(f):
        for i in ids:
            PROVOKED[(i, code)] = f
        return f
    return note


for _id, _o in OPERATIONS.items():
    for _code in _o.codes:
        if 200 <= _code < 300:
            PROVOKED[(_id, _code)] = succeeds
        elif _code == 304:
            PROVOKED[(_id, _code)] = not_modified
        elif _code == 412:
            PROVOKED[(_id, _code)] = with_header("If-Match", '"x"')
        elif _code == 409 and re.fullmatch(r"/[a-z-]+(/\{id\}|/create|/update)?", _o.path):
            PROVOKED[(_id, _code)] = in_use if _o.method == "DELETE" else name_is_taken
        elif _code == 409 and _o.path.endswith("/delete"):
            PROVOKED[(_id, _code)] = in_use


@provokes(409, "deleteAgentsById")
def agent_has_jobs(lab, o):
    with lab.job() as job:
        lab.agent.start(job)
        send(lab, o, f"/agents/{lab.agent.auth[0]}")


@provokes(409, "putAgentsById")
def agent_of_this_name_in_the_pool(lab, o):
    one, two = (lab.c.api("GET", f"/agents/{lab.new_agent().auth[0]}")["agent"] for _ in "ab")
    send(lab, o, address(o, id=one["id"]), json={"name": two["name"], "pool_id": two["pool_id"]})


@provokes(409, "deleteAppimagesById")
def prompt_is_used(lab, o):
    send(lab, o, f"/appimages/{lab.prompt_of_standing_test()}")


@provokes(409, "deleteRunsById")
def run_in_progress(lab, o):
    send(lab, o, f"/runs/{lab.started()}")


@provokes(409, "getRunsByIdDifferences", "getRunsByIdQuality",
          "getRunsByIdReportJunit", "getRunsByIdReportMarkdown", "getRunsByIdReportHtml",
          "getProjectsRunsByUuidReportJunit", "getProjectsRunsByUuidReportMarkdown",
          "getProjectsRunsByUuidReportHtml")
def report_of_what_runs(lab, o):
    given = {"uuid": lab.start_project_run()} if "{uuid}" in o.path else {"id": lab.started()}
    send(lab, o, address(o, **given))
    lab.stop_all()


@provokes(409, "deleteCapacitySearchesById")
def search_in_progress(lab, o):
    send(lab, o, address(o, id=lab.started_search()))
    lab.stop_searches()


@provokes(409, "postRunsByIdStop", "postProjectsRunsByUuidStop", "postCapacitySearchesByIdStop")
def stopped_twice(lab, o):
    with lab.place(o, {}) as (given, _):
        send(lab, o, address(o, **given))
        send(lab, o, address(o, **given))


@provokes(409, "postTestsByIdRun", "postTestsRun", "postTestsScenariosByName",
          "postProjectsByIdRun", "postProjectsRun", "postCapacitySearches")
def first_one_is_not_answered(lab, o):
    """The same key many times at once, until one request arrives while another is in
    progress."""
    with lab.place(o, first_example(o)) as (given, body):
        key = caller(lab, o)
        lab.until_overlap(o.method, address(o, **given), key, body["json"])


@provokes(500, "postTestsByIdRun", "postTestsRun", "postTestsScenariosByName", "postCapacitySearches")
def passwords_of_another_key_file(lab, o):
    pools = {"agentpool_id": 1, "credential_pool": 1, "target_pool": 1}
    body = {"/tests/run": {"test.id": 1}, "/tests/scenarios/{name}": pools,
            "/capacity-searches": {"test_id": 1, "min": 1, "max": 9}}.get(o.path, {})
    with lab.other_key_file() as other:
        other.request(o.method, address(o, id=1, name="single-call"), body, key="admin")


@provokes(500, "getAppimagesByIdContent")
def file_is_lost(lab, o):
    number = lab.create("appimages", "lost")
    (lab.c.state_dir / "appimages" / str(number)).unlink()
    send(lab, o, f"/appimages/{number}/content")


@provokes(500, "getAgentAppimagesBySha256")
def fetched_file_is_lost(lab, o):
    content = base64.b64encode(b"of no other").decode()
    made = lab.c.api("POST", "/appimages", {"name": "lost for agents", "content": content,
                                            "kind": "prompt"})["appimage"]
    step = {"type": "call", "role": "caller", "prompt": made["name"], "dial_destination": "1",
            "credential_pool": 1, "target_pool": 1}
    test = lab.create("tests", agentpool_id=2, steps=[[step]])
    (lab.c.state_dir / "appimages" / str(made["id"])).unlink()
    with lab.job(test):
        send(lab, o, f"/agent/appimages/{made['sha256']}")


# ---- agents ----

@provokes(201, "postAgentRegister")
def enrols(lab, o):
    _, _, example = next(examples(o))
    answer = send(lab, o, json={**example, "token": lab.token})
    assert answer.status_code == 201, answer.text


@provokes(403, "postAgentRegister")
def wrong_token(lab, o):
    send(lab, o, json={**next(examples(o))[2], "token": "x"})


@provokes(409, "postAgentRegister")
def agent_name_is_taken(lab, o):
    for _ in range(2):
        send(lab, o, json={**next(examples(o))[2], "token": lab.token, "name": "twice"})


@provokes(426, "postAgentRegister")
def no_common_protocol(lab, o):
    send(lab, o, json={**next(examples(o))[2], "token": lab.token, "protocols": [2]})


@provokes(200, "postAgentPoll")
def jobs_are_offered(lab, o):
    with lab.job():
        pass


@provokes(204, "postAgentPoll")
def nothing_to_do(lab, o):
    other = lab.new_agent()
    assert send(lab, o, key=other.auth, json=next(examples(o))[2]).status_code == 204


@provokes(204, "postAgentDisconnect")
def agent_leaves(lab, o):
    other = lab.new_agent()
    assert send(lab, o, key=other.auth).status_code == 204


LEASES = [o for i, o in OPERATIONS.items() if o.path.startswith("/agent/leases/")]


@provokes(200, *(o.id for o in LEASES))
def lease_goes_on(lab, o):
    """Each call in a job's life, with its example."""
    with lab.job() as job:
        if not o.path.endswith("/start"):
            assert lab.agent.start(job).ok
        for media, content, example in examples(o):
            answer = send(lab, o, address(o, id=job["lease_id"]),
                          **encoded(media, content, example))
            if not (o.path.endswith("/start") and media != "application/json"):
                assert answer.ok, answer.text


@provokes(201, "putAgentLeasesByIdArtifactsByName")
def artifact_is_new(lab, o):
    with lab.job() as job:
        assert lab.agent.start(job).ok
        answer = send(lab, o, address(o, id=job["lease_id"]), **first_example(o))
        assert answer.status_code == 201, answer.text


@provokes(200, "putAgentLeasesByIdArtifactsByName")
def artifact_is_replaced(lab, o):
    with lab.job() as job:
        assert lab.agent.start(job).ok
        for _ in range(2):
            answer = send(lab, o, address(o, id=job["lease_id"]), **first_example(o))
        assert answer.status_code == 200, answer.text


@provokes(422, "putAgentLeasesByIdArtifactsByName")
def no_name_of_an_artifact(lab, o):
    send(lab, o, address(o, name=".x"), **first_example(o))


@provokes(500, "getRunsByIdArtifactsByRoleByName")
def file_of_an_artifact_is_lost(lab, o):
    with lab.job() as job:
        assert lab.agent.start(job).ok
        assert lab.agent.artifact(job, "lost", b"x").ok
        for file in (lab.c.state_dir / "artifacts" / job["session_id"]).iterdir():
            file.unlink()
        send(lab, o, address(o, id=job["session_id"], role=job["role"], name="lost"))


@provokes(204, "postAgentLeasesByIdBarriersByStep")
def run_is_being_stopped(lab, o):
    with lab.job() as job:
        lab.agent.start(job)
        lab.c.api("POST", f"/runs/{job['session_id']}/stop")
        send(lab, o, address(o, id=job["lease_id"]), **first_example(o))


@provokes(409, "postAgentLeasesByIdFinish")
def uploads_are_missing(lab, o):
    with lab.job() as job:
        lab.agent.start(job)
        answer = send(lab, o, address(o, id=job["lease_id"]),
                      json={"outcome": "completed", "last_seq": 3})
        assert answer.json()["missing"] == [[1, 3]]


@provokes(410, *(o.id for o in LEASES))
def lease_is_not_held(lab, o):
    """Renewals need a current lease; uploads need one that was confirmed at some time."""
    with lab.job() as job:
        if o.path.endswith("/start"):
            lab.agent.start(job)
            lab.agent.finish(job, "failed", "x")
        send(lab, o, address(o, id=job["lease_id"]), **first_example(o))


# ---- one case per pair ----

PAIRS = [(o.id, code) for o in contract().operations for code in o.codes]


@pytest.mark.parametrize("operation, code", PAIRS, ids=[f"{i}-{c}" for i, c in PAIRS])
def test_status_is_provoked(lab, broken, limited, asking, operation, code):
    o = OPERATIONS[operation]
    before = contract().seen.get((operation, code), 0)
    if code == 429:
        too_many(limited, o)
    elif code == 503:
        unavailable(broken, o)
    elif code == 403 and o.spec["x-right"] == "agent":
        without_certificate(asking, o)
    else:
        provoke = PROVOKED.get((operation, code)) or GENERIC.get(code)
        assert provoke, ADD.format(code, operation)
        provoke(lab, o)
    assert contract().seen.get((operation, code), 0) > before, \
        f"{operation} did not answer {code}. " + ADD.format(code, operation)


def test_no_pair_is_forgotten():
    """The cases above cover the whole document, and no entry of PROVOKED is stale."""
    assert len(PAIRS) == sum(len(o["responses"]) for item in contract().raw["paths"].values()
                             for m, o in item.items() if "servers" not in item)
    stale = set(PROVOKED) - set(PAIRS)
    assert stale <= {(o.id, code) for o in LEASES for code in (200, 410)}, stale


def test_filters_of_the_examples(lab):
    """Query parameters as the document shows them, with existing records."""
    for o in contract().operations:
        query = [(p["name"], v) for p in o.spec["parameters"] if p["in"] == "query"
                 for v in (p["example"] if isinstance(p["example"], list) else [p["example"]])]
        if query:
            path = address(o, **lab.standing(o))
            answer = send(lab, o, f"{path}?{urlencode(query)}")
            assert answer.status_code == 200, (o.id, answer.text)



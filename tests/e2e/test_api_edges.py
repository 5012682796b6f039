"""Requests as HTTP and JSON libraries write them: filters in any order, null, 1.0,
unknown names, deprecated routes, and public links."""
import itertools
import uuid

import pytest

from controller import Controller
from test_api_basics import problem
from test_api_server import make_test


@pytest.fixture(scope="module")
def server():
    with Controller(claim_timeout_s=300) as c:
        c.test = make_test(c)[1]
        for tags in (["a"], ["a", "b"]):
            put = {k: c.test[k] for k in ("name", "project_id", "agentpool_id", "steps")}
            c.api("PUT", f"/tests/{c.test['id']}", {**put, "tags": tags})
            session = c.api("POST", f"/tests/{c.test['id']}/run", {})["data"]["session_id"]
            c.api("POST", f"/runs/{session}/stop")
        yield c


def pointers(answer, status=422):
    return [e["pointer"] for e in problem(answer, status)["errors"]]


# ---- filters ----

FILTERS = [("filtername", "test_id"), ("filterval", "1"), ("filtername", "tags"),
           ("filterval", "b")]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_filters_are_paired_by_their_number(server, order):
    """The nth name belongs to the nth value, whatever their order."""
    query = [FILTERS[i] for i in order]
    names = [v for k, v in query if k == "filtername"]
    values = [v for k, v in query if k == "filterval"]
    straight = dict(zip(names, values)) == {"test_id": "1", "tags": "b"}
    answer = server.request("GET", "/runs", params=query)
    if straight:
        assert answer.json()["total"] == 1, answer.text
        assert '"b"' in answer.json()["runs"][0]["tags"]
    else:   # test_id = b
        assert pointers(answer) == ["filterval"]


@pytest.mark.parametrize("query, pointer", [
    ("filtername=id&filtername=tags&filterval=1", "filtername"),
    ("filterval=1&filterval=2&filtername=id", "filterval"),
    ("filterval=1&filtername=nothing", "filtername"),
    ("filterval=x&filtername=id", "filterval")])
def test_filters_without_a_partner(server, query, pointer):
    assert pointers(server.request("GET", f"/runs?{query}")) == [pointer]


# ---- numbers and null ----

def test_a_whole_number_is_an_integer_however_it_is_written(server):
    """RFC 8259 section 6: 1, 1.0 and 1e0 are the same number."""
    ids = f'"project_id": {server.test["project_id"]}.0, "agentpool_id": 1e0'
    body = (f'{{"name": "reals", {ids}, "retries_on_failure": 2.0, "callback_on_failure": 0.0, '
            '"steps": [[{"type": "register", "role": "caller", "credential_pool": 1.0, '
            '"target_pool": 1.0, "regexpire": 6e1}]]}')
    made = server.request("POST", "/tests", data=body,
                          headers={"Content-Type": "application/json"})
    assert made.status_code == 201, made.text
    test = made.json()["test"]
    assert test["retries_on_failure"] == 2 and test["steps"][0][0]["regexpire"] == 60
    assert isinstance(test["steps"][0][0]["regexpire"], int)
    for key, text in (("test.id", f"{test['id']}.0"), ("step.0.0.regexpire", "3.6e1")):
        body = f'{{"test.id": {test["id"]}, "{key}": {text}}}' if key != "test.id" else \
            f'{{"test.id": {text}}}'
        answer = server.request("POST", "/tests/run", data=body,
                                headers={"Content-Type": "application/json"})
        assert answer.status_code == 200, answer.text
    form = {"name": "form", "hosts": '[{"host": "127.0.0.1", "port": 5.06e3}]'}
    assert server.request("POST", "/targets", data=form).json()["target"]["hosts"][0]["port"] == 5060
    schedule = {"name": "reals", "test_id": test["id"] * 1.0, "cron": "0 3 * * *", "enabled": 1.0}
    assert server.api("POST", "/schedules", schedule)["schedule"]["test_id"] == test["id"]


@pytest.mark.parametrize("text", ["1.5", "1e400", "-1.0", "0.0", "9.3e18"])
def test_what_is_no_integer_stays_none(server, text):
    answer = server.request("POST", "/projects/run", data=f'{{"id": {text}}}',
                            headers={"Content-Type": "application/json"})
    problem(answer, 422)


def test_null_is_as_if_left_out(server):
    test = server.test["id"]
    nothing = {"report.mode": None, "callback_url": None, "callback_on_failure": None,
               "callback_secret": None, "callback_template_name": None,
               "step.0.0.regexpire": None, "condition.caller.caller-mos-conditions": None}
    assert server.api("POST", f"/tests/{test}/run", nothing)["data"]["session_id"]
    assert server.api("POST", "/tests/run", {"test.id": test, "test.name": None, **nothing})
    assert server.api("POST", "/tests/run", {"test.id": None, "test.name": server.test["name"]})
    project = server.test["project_id"]
    filters = {"test_ids": None, "tags": None, "report.mode": None, "callback_url": None}
    run = server.api("POST", f"/projects/{project}/run", filters)["project_run_uuid"]
    server.api("POST", f"/projects/runs/{run}/stop")
    run = server.api("POST", "/projects/run", {"id": project, "project.name": None, **filters})
    server.api("POST", f"/projects/runs/{run['data']['project_run_uuid']}/stop")
    assert pointers(server.request("POST", "/tests/run", {"test.id": None})) == ["/test.id"]
    params = server.api("GET", "/scenarios/registration/params")
    optional = {p["name"]: None for p in params["params"] if not p.get("mandatory")}
    answer = server.request("POST", "/tests/scenarios/registration",
                            {**optional, **params["example"]})
    assert answer.status_code == 200, answer.text


# ---- unknown names and ids ----

@pytest.mark.parametrize("path, body", [
    ("/tests/run", {"test.name": "nobody"}), ("/tests/run", {"test.id": 999}),
    ("/tests/run", {"test.id": "999"}), ("/projects/run", {"id": 999}),
    ("/projects/run", {"project.name": "nobody"})])
@pytest.mark.parametrize("form", [False, True])
def test_a_start_that_names_nothing(server, path, body, form):
    """An unknown name in the body: 422 with the pointer; in the path: 404."""
    answer = server.request("POST", path, None if form else body,
                            data={k: str(v) for k, v in body.items()} if form else None)
    key, = body
    assert pointers(answer) == [f"/{key}"]
    kind = path.split("/")[1]
    problem(server.request("POST", f"/{kind}/999/run", {}), 404)


# ---- deprecated routes ----

def link(server, path, body, status=200):
    answer = server.request("POST", path, body)
    assert answer.status_code == status, answer.text
    return answer.headers.get("Link")


def successor(path):
    return f'</api/v2{path}>; rel="successor-version"'


def test_link_names_the_record(server):
    test, project = server.test["id"], server.test["project_id"]
    for body in ({"test.id": test}, {"test.id": str(test)}, {"test.name": server.test["name"]}):
        assert link(server, "/tests/run", body) == successor(f"/tests/{test}/run")
    wrong = {"test.id": test, "report.mode": "x"}
    assert link(server, "/tests/run", wrong, 422) == successor(f"/tests/{test}/run")
    assert link(server, "/tests/run", {"test.id": 999}, 422) is None
    name = server.api("GET", f"/projects/{project}")["project"]["name"]
    for body in ({"id": project}, {"project.name": name}):
        answer = server.request("POST", "/projects/run", body)
        assert answer.headers["Link"] == successor(f"/projects/{project}/run")
        server.api("POST", f"/projects/runs/{answer.json()['data']['project_run_uuid']}/stop")
    assert link(server, "/projects/create", {"name": "link"}, 201) == successor("/projects")
    made = server.api("GET", "/projects?count=1000")["projects"][-1]["id"]
    assert link(server, "/projects/update", {"id": made, "name": "link 2"}) == \
        successor(f"/projects/{made}")
    assert link(server, "/projects/delete", {"id": made}, 204) == successor(f"/projects/{made}")
    assert link(server, "/projects/delete", {"id": "x"}, 422) is None
    # its first 23 characters are the number of another record
    kept = server.api("POST", "/projects", {"name": "kept"})["project"]["id"]
    assert server.session.post(f"{server.url}/api/v2/projects/delete", data={"id": f"{kept:023d}9"},
                               auth=server.keys["admin"], timeout=60).status_code == 422
    assert server.request("GET", f"/projects/{kept}").ok


# ---- files and public links ----

@pytest.mark.parametrize("given, kept", [
    ("/etc/passwd", "passwd"), ("C:\\\\Users\\\\ann\\\\a.wav", "a.wav"), ("../../a.wav", "a.wav"),
    ("a\\\\b/c.wav", "c.wav"), ("a/b\\\\c.wav", "c.wav"), ("dir/", "file"), ("..", "file"),
    ("x/..", "file"), ("plain name.wav", "plain name.wav")])
def test_filename_loses_its_path(server, given, kept):
    data = (b'--x\r\nContent-Disposition: form-data; name="name"\r\n\r\n' + uuid.uuid4().hex.encode() +
            b'\r\n--x\r\nContent-Disposition: form-data; name="file"; filename="' +
            given.encode() + b'"\r\n\r\nRIFF\r\n--x--\r\n')
    made = server.request("POST", "/appimages", data=data,
                          headers={"Content-Type": "multipart/form-data; boundary=x"})
    assert made.status_code == 201, made.text
    assert made.json()["appimage"]["filename"] == kept
    made = server.api("POST", "/appimages", {
        "name": uuid.uuid4().hex, "content": "AAAA", "filename": given.replace("\\\\", "\\")})
    assert made["appimage"]["filename"] == kept
    path = f"/appimages/{made['appimage']['id']}/content"
    assert f'filename="{kept}"' in server.request("GET", path).headers["Content-Disposition"]


def test_kiosk_page_needs_the_right_token(server):
    start = {"report.mode": "kiosk"}
    url = server.api("POST", f"/tests/{server.test['id']}/run", start)["data"]["report_url"]
    other = server.api("POST", f"/tests/{server.test['id']}/run", start)["data"]["report_url"]
    plain = server.api("POST", f"/tests/{server.test['id']}/run", {})["data"]["session_id"]

    def get(address):
        return server.session.get(address, timeout=60).status_code
    assert get(url) == get(url + "/data") == 200
    base, run, token = url.rsplit("/", 2)
    for wrong in (f"{base}/{run}/{uuid.uuid4()}", f"{base}/{uuid.uuid4()}/{token}",
                  f"{base}/{run}/{other.rsplit('/', 1)[1]}", f"{base}/{plain}/{token}",
                  f"{base}/{run}/x", f"{base}/{plain}/null", f"{base}/{run}/{token.upper()}x"):
        assert get(wrong) == get(wrong + "/data") == 404, wrong
    project = server.api("POST", "/projects/run", {"id": server.test["project_id"], **start})["data"]
    base, run, token = project["report_url"].rsplit("/", 2)
    assert get(project["report_url"]) == 200
    assert get(f"{base}/{run}/{uuid.uuid4()}") == get(f"{base}/{uuid.uuid4()}/{token}") == 404
    server.api("POST", f"/projects/runs/{project['project_run_uuid']}/stop")

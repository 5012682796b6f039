"""A receiver is told when a run failed: a real receiver, real deliveries."""
import hashlib
import hmac
import json
import re
import urllib.parse

import pytest

from certificates import Authority
from controller import ROOT, Controller
from receiver import Receiver
from test_api_basics import problem
from test_api_project_runs import TIMES, Lab, user_of

# The time for a try is longer than a busy machine keeps a receiver from its answer.
CONF = {**TIMES, "callback_allow": "127.0.0.1", "callback_retry_s": 1, "callback_timeout_s": 10}
SECRET = "tell nobody, not even in the log"


@pytest.fixture(scope="module")
def lab():
    with Controller(**CONF) as c:
        lab = Lab(c)
        lab.standing = lab.make("projects", name="callbacks")
        lab.verdict = None  # of a test that wants others than its users say
        with lab.worker(lambda spec: (lab.verdict or user_of)(spec)):
            yield lab
        assert SECRET not in c.log()


@pytest.fixture
def make_test(lab):
    def make(user="failed", **more):
        lab.count += 1
        return lab.test(lab.standing, f"callback {lab.count}", user, **more)
    return make


def started(lab, test, **body):
    return lab.c.api("POST", f"/tests/{test}/run", body)["data"]["session_id"]


def callbacks(lab, run):
    return lab.c.api("GET", f"/runs/{run}/callbacks")["callbacks"]


def ended(lab, run):
    """The run's callback, once its attempts have ended."""
    lab.waits_for(lambda: any(c["ended_at"] for c in callbacks(lab, run)), 60)
    found, = callbacks(lab, run)
    return found


def over(lab, run):
    lab.waits_for(lambda: lab.c.api("GET", f"/runs/{run}/status")["run"]["status"] != "running")
    return lab.c.api("GET", f"/runs/{run}")["run"]


# ---- which runs are reported ----

def test_failed_run_is_told(lab, make_test):
    with Receiver() as r:
        test = make_test(callback_on_failure=1, callback_url=r.url + "?a=b",
                         callback_secret=SECRET)
        run = started(lab, test)
        found = ended(lab, run)
        request, = r.got
    shown = lab.c.api("GET", f"/runs/{run}")["run"]
    told = json.loads(request["body"])
    assert (request["method"], request["path"]) == ("POST", "/hook?a=b")
    assert told["conditions"] == []
    for name in ("id", "session_id", "status", "result_description", "test_name", "report_url",
                 "is_failed", "tags", "attempt", "stopped_at"):
        assert told[name] == shown[name], name
    assert (told["status"], told["is_failed"]) == ("failed", 1)
    changed = lab.c.api("GET", f"/runs/{run}/differences")["differences"]
    assert told["differences"] == changed
    assert told["what_changed"] == " ".join(d["sentence"] for d in changed)
    headers = request["headers"]
    assert headers["Content-Type"] == "application/json"
    assert headers["X-Offhook-Delivery"] == f"{found['id']}-1"
    assert headers["User-Agent"].startswith("offhook-controller/")
    assert headers["X-Offhook-Signature"] == "sha256=" + hmac.new(
        SECRET.encode(), request["body"], hashlib.sha256).hexdigest()
    assert found["state"] == "delivered" and found["try_count"] == 1
    assert found["session_id"] == run and found["next_try_at"] is None
    first, = found["tries"]
    assert first["error"] is None and first["http_status"] == 200
    assert first["address"] == "127.0.0.1" and first["response"] == "thanks"
    one = lab.c.api("GET", f"/callbacks/{found['id']}")["callback"]
    assert one == found
    page = lab.c.api("GET", f"/runs/{run}/callbacks?start=1&count=5")
    assert (page["callbacks"], page["total"], page["start"], page["count"]) == ([], 1, 1, 5)
    assert lab.c.request("GET", f"/runs/{run}/callbacks?count=x").status_code == 422
    listed = lab.c.api("GET", "/callbacks?count=1000")["callbacks"]
    assert {k: v for k, v in found.items() if k != "tries"} in listed


def test_who_is_not_told(lab, make_test):
    """No callback for a run that passed, one that was stopped, and one whose test has
    none."""
    with Receiver() as r:
        wanted = {"callback_url": r.url, "callback_on_failure": 1}
        runs = [started(lab, make_test("passed", **wanted)),
                started(lab, make_test(callback_url=r.url)),
                started(lab, make_test(callback_on_failure=1))]
        assert [over(lab, run)["status"] for run in runs] == ["passed", "failed", "failed"]
        held = started(lab, make_test("hold", **wanted))
        lab.c.api("POST", f"/runs/{held}/stop")
        assert over(lab, held)["status"] == "stopped"
        # one that is reported, after them
        ended(lab, started(lab, make_test(), callback_url=r.url))
        assert len(r.got) == 1
        assert [callbacks(lab, run) for run in [*runs, held]] == [[]] * 4


def test_recovery_is_told_once(lab, make_test):
    """By the first run that passes after a verdict of failed or errored. A stopped run has no
    verdict, and an attempt that was repeated is none."""
    outcomes = iter(())
    lab.verdict = lambda spec: next(outcomes)
    with Receiver() as r:
        more = {"callback_url": r.url, "callback_on_recovery": 1, "retries_on_failure": 1}
        both, alone = make_test(callback_on_failure=1, **more), make_test(**more)
        never = make_test(callback_on_failure=1, **{**more, "callback_on_recovery": 0})
        try:
            # what the attempts of each run do
            for attempts in (["passed"], ["failed", "passed"], ["failed", "failed"], ["hold"], ["passed"],
                             ["passed"], ["error", "error"], ["failed", "failed"], ["passed"]):
                for test in (both, alone, never):
                    outcomes = iter(attempts)
                    session = started(lab, test)
                    if attempts == ["hold"]:
                        lab.c.api("POST", f"/runs/{session}/stop")
                    over(lab, session)
        finally:
            lab.verdict = None
        expected = [(test, status) for test, statuses in (
            (both, ("failed", "passed", "errored", "failed", "passed")), (alone, ("passed", "passed")),
            (never, ("failed", "errored", "failed"))) for status in statuses]
        lab.waits_for(lambda: len(r.got) >= len(expected), 60)
        # one that is reported, after them
        ended(lab, started(lab, make_test(), callback_url=r.url))
        told = [json.loads(request["body"]) for request in r.got][:-1]
        assert [(t["test_id"], t["status"]) for t in sorted(told, key=lambda t: t["id"])
                if t["test_id"] == both] == expected[:5]
        assert sorted((t["test_id"], t["status"]) for t in told) == sorted(expected)
        # a failed run is told with what changed since one passed, others without
        for t in told:
            changed = lab.c.api("GET", f"/runs/{t['id']}/differences")["differences"]
            assert t["differences"] == (changed if t["status"] == "failed" else [])
            assert bool(t["what_changed"]) == bool(t["differences"])
        runs = lab.c.api("GET", f"/runs?filtername=test_id&filterval={alone}&count=100")["runs"]
        ids = [run["id"] for run in runs][::-1]
        # of the nine runs and their three repetitions that ended
        assert [ids.index(t["id"]) for t in told if t["test_id"] == alone] == [6, 12]


def test_errored_run_is_told_without_signature(lab, make_test):
    with Receiver(204) as r:
        r.answer = b""
        run = started(lab, make_test("error"), callback_url=r.url)
        ended(lab, run)
        told = json.loads(r.got[0]["body"])
    assert told["status"] == "errored" and told["result_description"]
    assert "X-Offhook-Signature" not in r.got[0]["headers"]


def test_last_attempt_alone_is_told(lab, make_test):
    with Receiver() as r:
        run = started(lab, make_test(retries_on_failure=2, callback_on_failure=1,
                                     callback_url=r.url))
        lab.waits_for(lambda: r.got)
        told = json.loads(r.got[0]["body"])
        assert told["attempt"] == 3
        first = lab.c.api("GET", f"/runs/{run}")["run"]
        assert lab.c.api("GET", f"/runs/{told['retry_of']}")["run"]["retry_of"] == run
        assert callbacks(lab, first["id"]) == []
        ended(lab, told["session_id"])
        assert len(r.got) == 1


def test_project_run_is_told(lab):
    project, _ = lab.project("passed", "failed")
    with Receiver() as r:
        answer = lab.c.api("POST", f"/projects/{project}/run",
                           {"callback_url": r.url, "callback_secret": SECRET})
        run = answer["project_run_uuid"]
        lab.waits_for(lambda: r.got)
        told = json.loads(r.got[0]["body"])
        lab.waits_for(lambda: any(
            c["project_run_uuid"] == run and c["state"] == "delivered"
            for c in lab.c.api("GET", "/callbacks?count=1000")["callbacks"]))
        assert len(r.got) == 1
    shown = lab.status(run)
    assert told["run_status"] == "failed" and told["tests_failed"] == 1
    assert told["project_run_uuid"] == run and told["runs"] == shown["runs"]
    assert told["report_url"].endswith(f"/run/project/{run}")


# ---- templates ----

def test_template_is_filled_in(lab, make_test):
    c = lab.c
    template = c.api("POST", "/callback-templates", {
        "name": "chat", "method": "PUT",
        "body": '{"text": "{{test_name}}: {{ result_description }}", "run": {{id}},'
                ' "all": {{conditions}}, "nothing": "{{retry_of}}"}'})["callback_template"]
    with Receiver() as r:
        name = 'it says "no" \\ and\nmore'
        test = make_test(callback_on_failure=1, callback_url=r.url, callback_template_name="chat")
        assert c.api("GET", f"/tests/{test}")["test"]["callback_template_name"] == "chat"
        # renaming it does not affect the tests that use it
        renamed = {k: template[k] for k in ("method", "content_type", "body")}
        c.api("PUT", f"/callback-templates/{template['id']}", {**renamed, "name": "room"})
        shown = c.api("GET", f"/tests/{test}")["test"]
        assert shown["callback_template_name"] == "room"
        written = {k: shown[k] for k in (
            "project_id", "agentpool_id", "steps", "callback_on_failure", "callback_url",
            "callback_template_name")}
        c.api("PUT", f"/tests/{test}", {**written, "name": name})
        problem(c.request("DELETE", f"/callback-templates/{template['id']}"), 409)
        run = started(lab, test)
        ended(lab, run)
        request = r.got[0]
    number = c.api("GET", f"/runs/{run}")["run"]["id"]
    assert request["method"] == "PUT"
    told = json.loads(request["body"])
    assert told == {"text": f"{name}: {told['text'].partition(': ')[2]}", "run": number,
                    "all": [], "nothing": ""}
    c.request("DELETE", f"/tests/{test}")
    assert c.request("DELETE", f"/callback-templates/{template['id']}").status_code == 204


def test_form_and_xml_templates_are_escaped(lab, make_test):
    c = lab.c
    for kind, body in (("application/x-www-form-urlencoded", "n={{test_name}}&s={{status}}"),
                       ("application/xml; charset=utf-8", "<r n='{{test_name}}'/>"),
                       ("text/plain", "{{test_name}}")):
        c.api("POST", "/callback-templates", {"name": kind, "content_type": kind, "body": body})
    name = "a&b=<c> 'd' 100%"
    test = make_test()
    shown = c.api("GET", f"/tests/{test}")["test"]
    c.api("PUT", f"/tests/{test}", {"name": name, **{
        k: shown[k] for k in ("project_id", "agentpool_id", "steps")}})
    got = {}
    with Receiver() as r:
        for kind in ("application/x-www-form-urlencoded", "application/xml; charset=utf-8",
                     "text/plain"):
            ended(lab, started(lab, test, callback_url=r.url, callback_template_name=kind))
            assert r.got[-1]["headers"]["Content-Type"] == kind
            got[kind] = r.got[-1]["body"].decode()
    assert urllib.parse.parse_qs(got["application/x-www-form-urlencoded"]) == {
        "n": [name], "s": ["failed"]}
    assert got["application/xml; charset=utf-8"] == \
        "<r n='a&amp;b=&lt;c&gt; &#39;d&#39; 100%'/>"
    assert got["text/plain"] == name


def test_wrong_templates_are_refused(lab):
    for body, pointer in (
            ({"name": "x", "body": "{{nonsense}}"}, "/body"),
            ({"name": "x", "body": "{{test_name"}, "/body"),
            ({"name": "x", "body": "", "method": "GET"}, "/method"),
            ({"name": "x", "body": "", "content_type": "json"}, "/content_type"),
            ({"name": "x", "body": "", "content_type": "a/b\r\nX-Y: z"}, "/content_type"),
            ({"name": "x", "body": "", "secret": "x"}, "/secret"),
            ({"name": "", "body": ""}, "/name"),
            ({"name": "x", "body": "x" * 65537}, "/body"),
            ({"name": "x"}, "/body")):
        found = problem(lab.c.request("POST", "/callback-templates", body), 422)
        assert [e["pointer"] for e in found["errors"]] == [pointer], body


def test_placeholders_are_documented():
    code = (ROOT / "control/server/callback/render.c").read_text()
    names = re.findall(r"\"(\w+)\"", re.search(r"names\[\] = \{(.*?)\};", code, re.S).group(1))
    page = (ROOT / "docs/reference/callbacks.md").read_text()
    listed = re.search(r"^- of runs: (.*?)\n\n", page, re.S | re.M).group(1)
    listed = listed.replace("- of project runs:", ",")
    assert set(names) == {n.strip() for n in listed.split(",")}


# ---- attempts ----

def test_tried_again_after_500(lab, make_test):
    with Receiver(500, 503, 200) as r:
        run = started(lab, make_test(), callback_url=r.url, callback_secret=SECRET)
        found = ended(lab, run)
        assert len(r.got) == 3
    assert found["state"] == "delivered" and found["try_count"] == 3
    assert [t["http_status"] for t in found["tries"]] == [500, 503, 200]
    assert [t["error"] for t in found["tries"]] == ["was answered 500", "was answered 503", None]
    # the same body each time, with an attempt number of its own
    assert len({g["body"] for g in r.got}) == 1
    assert [g["headers"]["X-Offhook-Delivery"] for g in r.got] == \
        [f"{found['id']}-{n}" for n in (1, 2, 3)]


def test_receiver_that_never_answers(lab, make_test):
    with Receiver("hang", 200) as r:
        run = started(lab, make_test(), callback_url=r.url)
        found = ended(lab, run)
    assert found["state"] == "delivered" and found["try_count"] == 2
    first = found["tries"][0]
    assert first["http_status"] is None and first["duration_ms"] > 9000
    assert "timed out" in first["error"].lower()


def test_redirects_are_not_followed(lab, make_test):
    """The fifth attempt is the last one."""
    with Receiver() as other, Receiver(302) as r:
        r.headers = {"Location": other.url}
        run = started(lab, make_test(), callback_url=r.url)
        found = ended(lab, run)
        assert len(r.got) == 5 and other.got == []
    assert found["state"] == "failed" and found["next_try_at"] is None
    assert {t["error"] for t in found["tries"]} == {
        "was answered 302: redirects are not followed"}


def test_long_answer_is_cut_off(lab, make_test):
    with Receiver() as r:
        r.answer = b"\xff\x00\x1b[2Jx" + b"y" * 1000000
        found = ended(lab, started(lab, make_test(), callback_url=r.url))
    assert found["state"] == "delivered"
    shown = found["tries"][0]["response"]
    assert len(shown) == 1023 and shown.startswith("???[2Jxyyy")


def test_hanging_receiver_holds_up_nobody(lab, make_test):
    with Receiver("hang") as deaf, Receiver() as r:
        waiting = [started(lab, make_test(), callback_url=deaf.url) for _ in range(2)]
        found = ended(lab, started(lab, make_test(), callback_url=r.url))
        assert found["state"] == "delivered"
        for run in waiting:
            over(lab, run)
            assert lab.c.request("DELETE", f"/runs/{run}").status_code == 204


# ---- addresses ----

@pytest.mark.parametrize("url, detail", [
    ("http://10.0.0.1/", "private, loopback"),
    ("http://127.0.0.2:80/", "private, loopback"),
    ("http://[::1]/", "private, loopback"),
    ("http://[::ffff:127.0.0.9]/", "private, loopback"),
    ("http://169.254.169.254/latest/meta-data", "private, loopback"),
    ("http://2130706434/", "private, loopback"),
    ("http://0x7f.2/", "private, loopback"),
    ("ftp://example.net/", "http:// or https://"),
    ("file:///etc/passwd", "http:// or https://"),
    ("gopher://127.0.0.1/", "http:// or https://"),
    ("http://user:word@example.net/", "user or password"),
    ("http://example.net/#x", "fragment"),
    ("http://exa mple.net/", "blanks"),
    ("http://example.net/\r\nX-Y: z", "blanks"),
    ("example.net", "URL"),
    ("https://", "URL"),
])
def test_wrong_urls_are_refused(lab, make_test, url, detail):
    steps = lab.c.api("GET", f"/tests/{make_test()}")["test"]["steps"]
    body = {"name": "x", "project_id": lab.standing, "agentpool_id": lab.pool, "steps": steps,
            "callback_url": url}
    found = problem(lab.c.request("POST", "/tests", body), 422)
    assert [e["pointer"] for e in found["errors"]] == ["/callback_url"]
    assert detail in found["errors"][0]["detail"], found["errors"]
    test = make_test()
    found = problem(lab.c.request("POST", f"/tests/{test}/run", {"callback_url": url}), 422)
    assert [e["pointer"] for e in found["errors"]] == ["/callback_url"]


def test_name_of_a_refused_address(lab, make_test):
    """The addresses of a name are checked when connecting to them.

    ip6-localhost is in every /etc/hosts of Debian, localhost everywhere; ::1 is not in
    callback_allow."""
    with Receiver() as r:
        with Controller(**{**CONF, "callback_allow": ""}) as c:
            other = Lab(c)
            project, (test,) = other.project("failed")
            with other.worker():
                run = started(other, test, callback_url=f"http://localhost:{r.port}/")
                found = ended(other, run)
        assert r.got == []
    assert found["state"] == "failed" and found["try_count"] == 1
    assert "loopback or other special address" in found["tries"][0]["error"]
    assert found["tries"][0]["address"] in ("127.0.0.1", "::1")


def test_https_receiver_is_verified(tmp_path):
    ca, stranger = Authority(tmp_path), Authority(tmp_path, "stranger")
    for issuer, state in ((ca, "delivered"), (stranger, "waiting")):
        with Receiver(tls=issuer.issue("receiver")) as r, \
                Controller(**{**CONF, "callback_ca_file": ca.file, "callback_retry_s": 3600}) as c:
            other = Lab(c)
            _, (test,) = other.project("failed")
            with other.worker():
                run = started(other, test, callback_url=r.url)
                other.waits_for(lambda: any(
                    b["state"] in ("delivered", "waiting") and b["tries"]
                    for b in callbacks(other, run)))
            found, = callbacks(other, run)
            assert found["state"] == state and len(r.got) == (state == "delivered")
    assert "certificate" in found["tries"][0]["error"] and found["next_try_at"]


def test_start_keys_are_checked(lab, make_test):
    test = make_test()
    for body, pointer in (
            ({"callback_on_failure": "maybe"}, "/callback_on_failure"),
            ({"callback_url": 5}, "/callback_url"),
            ({"callback_template_name": "nobody"}, "/callback_template_name"),
            ({"callback_secret": "x" * 256}, "/callback_secret")):
        found = problem(lab.c.request("POST", f"/tests/{test}/run", body), 422)
        assert [e["pointer"] for e in found["errors"]] == [pointer], body
    answer = lab.c.request("POST", f"/tests/{test}/run", data={
        "callback_on_failure": "1", "callback_url": "http://127.0.0.1:1/"})
    assert answer.status_code == 200
    run = answer.json()["data"]["session_id"]

    def errors():
        return [t["error"].lower() for c in callbacks(lab, run) for t in c["tries"] if "in progress" not in t["error"]]
    lab.waits_for(errors)
    assert "connect" in errors()[0], errors()
    lab.c.request("DELETE", f"/runs/{run}")
    assert all(c["session_id"] != run
               for c in lab.c.api("GET", "/callbacks?count=1000")["callbacks"])


# ---- secrets and restarts ----

def test_secret_is_never_read(lab, make_test):
    c = lab.c
    with Receiver() as r:
        test = make_test(callback_on_failure=1, callback_url=r.url, callback_secret=SECRET)
        answer = c.request("GET", f"/tests/{test}")
        assert answer.json()["test"]["has_callback_secret"] == 1
        assert SECRET not in answer.text and "\"callback_secret\"" not in answer.text
        shown = answer.json()["test"]
        written = {k: shown[k] for k in (
            "name", "project_id", "agentpool_id", "steps", "callback_on_failure", "callback_url")}
        tag = answer.headers["ETag"]
        # what was read can be written back, and the secret is kept
        answer = c.request("PUT", f"/tests/{test}", {**written, "has_callback_secret": 1},
                           headers={"If-Match": tag})
        assert answer.status_code == 200, answer.text
        run = started(lab, test)
        ended(lab, run)
        assert r.got[0]["headers"]["X-Offhook-Signature"] == "sha256=" + hmac.new(
            SECRET.encode(), r.got[0]["body"], hashlib.sha256).hexdigest()
        problem(c.request("PUT", f"/tests/{test}", written, headers={"If-Match": tag}), 412)
        problem(c.request("PUT", f"/tests/{test}", written), 422)  # the secret would be lost
        c.api("PUT", f"/tests/{test}", {**written, "has_callback_secret": 0})
        assert c.api("GET", f"/tests/{test}")["test"]["has_callback_secret"] == 0


def test_deliveries_outlive_the_controller():
    """A kill in the middle of an attempt, and a stop between two: deliveries continue
    after both."""
    c = Controller(**CONF)
    try:
        c.start()
        lab = Lab(c)
        project, (test,) = lab.project("failed")
        with Receiver("hang", 500, 200) as r:
            with lab.worker():
                run = started(lab, test, callback_url=r.url, callback_secret=SECRET)
                over(lab, run)
            lab.waits_for(lambda: r.got)
            c.kill()
            for file in c.state_dir.iterdir():  # the files that a thief would find
                if file.is_file():
                    assert SECRET.encode() not in file.read_bytes(), file
            c.start()
            lab.waits_for(lambda: len(r.got) > 1, 60)
            assert c.stop() == 0
            with c.open_database() as db:
                (state,), = db.execute("SELECT state FROM callback")
            assert state in ("waiting", "delivered")
            c.start()
            found = ended(lab, run)
    finally:
        c.close()
    assert found["state"] == "delivered"
    assert "controller ended during it" in found["tries"][0]["error"]
    assert found["tries"][-1]["http_status"] == 200
    assert len({g["body"] for g in r.got}) == 1

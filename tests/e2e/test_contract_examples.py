"""The examples of contract_examples.md, sent with curl as written, with their responses
and the effects of their runs."""
import collections
import json
import re
import subprocess
import time
from pathlib import Path

import pytest

from bench import Bench
from contract import contract
from ports import PortBlock

TEXT = (Path(__file__).parent / "contract_examples.md").read_text()
SUBSCRIBERS = {str(n): f"secret-{n}" for n in range(1001, 1061)}
Example = collections.namedtuple("Example", "id part title command answer ends")


def examples():
    """One example per second-level heading of the document."""
    for part in re.split(r"^# ", TEXT, flags=re.M)[2:]:
        name, *sections = re.split(r"^## ", part, flags=re.M)
        for section in sections:
            title = section.split("\n", 1)[0]
            command, = re.findall(r"```sh\n(.*?)```", section, re.S)
            answer = re.findall(r"```json\n(.*?)```", section, re.S)
            ends = re.findall(r"^(?:Ends (.*)\.|(\d{3}.*))$", section, re.M)
            yield Example(f"{name.splitlines()[0]}: {title}", name.splitlines()[0], title,
                          command, answer[0] if answer else None, "".join(ends[0]) if ends else "")


EXAMPLES = list(examples())


def of(part):
    return [pytest.param(e, id=e.title) for e in EXAMPLES if e.part == part]


# ---- a command and its response ----

def exchange(bench, example, folder, values):
    """Run it. @return status and decoded response, compared with the document"""
    key, secret = bench.controller.keys["admin"]
    values = {"{base_url}": bench.controller.url, "<PUBLIC_KEY>": key, "<SECRET>": secret,
              **values}
    command = re.sub(r"\bcurl ", "curl -sS -D headers -o body -w '%{method} %{url}' ",
                     example.command)
    for name, value in values.items():
        command = command.replace(name, value)
    assert not re.search(r"<[a-zA-Z_]+>|\{base_url\}", command), command
    done = subprocess.run(["/bin/bash", "-euc", command], cwd=folder, text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return checked(folder, *done.stdout.split(" ", 1))


def checked(folder, method, url):
    """Check the exchange against docs/reference/openapi.yaml, as contract.py does for
    others."""
    status_line, *lines = (folder / "headers").read_text().splitlines()
    headers = {n.strip(): v.strip() for n, v in (h.split(":", 1) for h in lines if ":" in h)}
    status, content = int(status_line.split()[1]), (folder / "body").read_bytes()
    wrong = contract().check(method, url, status, headers, content)
    assert wrong is None, wrong
    return status, json.loads(content)


PATTERNS = {
    "<uuid>": r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "<time>": r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d", "<text>": r".*", "<id text>": r"\d+",
    "<number>": r"-?\d+(\.\d{1,6})?", "<id>": r"\d+",
}


def differs(wanted, got, at=""):
    """@return None, or where the response differs from the document"""
    if isinstance(wanted, dict):
        if not isinstance(got, dict):
            return f"{at} is {got!r}"
        open_ended = "..." in wanted
        names = set(wanted) - {"..."}
        if names - set(got) or (set(got) - names and not open_ended):
            return f"{at} has the members {sorted(got)}, documented are {sorted(names)}"
        return next(filter(None, (differs(wanted[n], got[n], f"{at}/{n}") for n in names)), None)
    if isinstance(wanted, list) and wanted[:1] == ["..."]:
        if not isinstance(got, list) or not got:
            return f"{at} is {got!r}"
        return next(filter(None, (differs(wanted[1], g, f"{at}/{i}")
                                  for i, g in enumerate(got))), None)
    if wanted == "<text or null>":
        return None if got is None or isinstance(got, str) else f"{at} is {got!r}"
    if isinstance(wanted, str) and "<" in wanted:
        text = str(got) if wanted in ("<id>", "<number>") else got
        pattern = "|".join(map(re.escape, PATTERNS))
        pattern = "".join(PATTERNS.get(piece, re.escape(piece))
                          for piece in re.split(f"({pattern})", wanted))
        good = isinstance(text, str) and re.fullmatch(pattern, text, re.S)
        return None if good and (wanted != "<id>" or isinstance(got, int)) else \
            f"{at} is {got!r}, documented is {wanted}"
    return None if wanted == got and type(wanted) is type(got) else \
        f"{at} is {got!r}, documented is {wanted!r}"


def assert_as_documented(bench, example, answer, values):
    text = example.answer
    for name, value in {"{base_url}": bench.controller.url, **values}.items():
        text = text.replace(name, value)
    wrong = differs(json.loads(text), answer)
    assert wrong is None, f"{wrong}: {answer}"


# ---- what the examples need ----

def names():
    """The tests that the examples name, in the order of their numbers."""
    named = re.findall(r'"?test\.name(?:=|": ")([^"]+)"', TEXT)
    found = ["Single call", "Project one", "Project two"]
    return found + [n for n in dict.fromkeys(named) if n not in found and n != "Nobody"]


def pool(bench, users):
    return bench.api("POST", "/credential-pools", {"name": " ".join(users), "credentials": [
        {"username": u, "password": SUBSCRIBERS[u]} for u in users]})["credential_pool"]["id"]


def make_test(bench, name, project, tags, callee, caller):
    action = {"target_pool": 1}
    return bench.api("POST", "/tests", {
        "name": name, "project_id": project, "agentpool_id": 1, "tags": tags,
        "scenario": "single-call", "record": "sip", "steps": [
            [{"type": "register", "role": "callee", "credential_pool": callee, **action},
             {"type": "answer", "role": "callee"}],
            [{"type": "register", "role": "caller", "credential_pool": caller, **action},
             {"type": "call", "role": "caller", "call_duration": 2}]]})["test"]["id"]


class Examples(Bench):
    """A bench with the records that the document mentions."""

    def credentials(self, name, passwords):
        return None  # the document assigns its own numbers

    def __enter__(self):
        super().__enter__()
        number = self.api("GET", "/projects")["projects"][0]["id"]
        self.api("PUT", f"/projects/{number}", {"name": "Examples"})
        second = self.api("POST", "/projects", {"name": "Nightly"})["project"]["id"]
        users = iter(sorted(SUBSCRIBERS))
        assert [pool(self, [next(users)]), pool(self, [next(users)]),
                pool(self, [next(users), next(users)])] == [1, 2, 3]
        for i, name in enumerate(names()):
            callee = pool(self, [next(users)]) if i else 1
            caller = pool(self, [next(users)])
            made = make_test(self, name, second if i in (1, 2) else number,
                             ["weekly"] if i == 2 else ["nightly"], callee, caller)
            assert made == i + 1
        return self


def account_of(command):
    """Runs of one test share its accounts, so they run one after another."""
    found = re.search(r'test\.name(?:=|": ")([^"]+)"', command)
    if found:
        return found.group(1)
    return "scenario" if "scenarios" in command else "Single call"


class Lab:
    def __init__(self, bench, folder):
        self.bench, self.folder, self.values = bench, folder, {}
        self.started, self.first = {}, {}

    def send(self, example):
        folder = self.folder / f"{EXAMPLES.index(example)}"
        folder.mkdir(exist_ok=True)
        return exchange(self.bench, example, folder, self.values)

    def start_all(self):
        """Start each run as soon as the last one with its accounts has ended."""
        waiting = [e for e in EXAMPLES if e.part == "Starting runs"]
        busy, until = {}, time.monotonic() + 240
        while waiting:
            assert time.monotonic() < until, waiting
            for example in list(waiting):
                last = busy.get(account_of(example.command))
                if last and self.status(last) == "running":
                    continue
                waiting.remove(example)
                status, answer = self.send(example)
                self.first[example] = (status, answer)
                if status == 200:
                    session = answer["data"]["session_id"]
                    self.values.setdefault("<session_id>", session)
                    busy[account_of(example.command)] = self.started[example] = session
            time.sleep(0.2)

    def status(self, session):
        answer = self.bench.api("GET", f"/runs/{session}/status")
        if answer["run"]["status"] == "running":
            assert answer == {"run": {"status": "running"}, "status": 200}
        return answer["run"]["status"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    ports = PortBlock()
    folder = tmp_path_factory.mktemp("examples")
    with Examples(folder, ports, agents=2, subscribers=SUBSCRIBERS, claim_timeout_s=120) as b:
        lab = Lab(b, folder)
        lab.start_all()
        yield lab
    ports.close()


# ---- the effects of the overrides ----

def texts(report, role, method, direction="sent"):
    return [m["text"] for m in report["messages"]
            if m["role"] == role and m["dir"] == direction and
            m["line"].startswith(method + " ")]


def expiries(report):
    assert "expires=90" in str(texts(report, "caller", "REGISTER")).lower().replace(": ", "=")
    assert "expires=120" in str(texts(report, "callee", "REGISTER")).lower().replace(": ", "=")
    assert len([c for c in report["calls"] if c["role"] == "caller"]) == 3


def has(message, *lines):
    return [line for line in lines if f"\r\n{line}\r\n" in message.replace("\r\n", "\r\n")]


def headers(report):
    """Which requests of the caller carried which header on the wire."""
    wire = {m: "\r\n".join(texts(report, "caller", m)) for m in
            ("REGISTER", "INVITE", "ACK", "BYE")}
    wanted = {"X-Registers: one": {"REGISTER"}, "X-Invites: three": {"INVITE"},
              "X-Any: two": {"REGISTER"}}
    for line, methods in wanted.items():
        assert {m for m, text in wire.items() if line in text} == methods, line
    for line in ("X-Calls: four", "X-Empty: five", "X-Omitted: six"):
        assert {"INVITE", "BYE"} <= {m for m, text in wire.items() if line in text}, line
        assert line not in wire["REGISTER"]


def held(report):
    invites = texts(report, "caller", "INVITE")
    assert any("a=sendonly" in i for i in invites) and \
        any("a=sendrecv" in i or "a=sendonly" not in i for i in invites[-1:])


def other_party(report):
    callee, = (c for c in report["calls"] if c["role"] == "callee")
    assert callee["account"] == "1002"


DID = {"regexpire": expiries, "custom_headers": headers, "sipclient_actions": held,
       "dial_destination": other_party}


@pytest.mark.parametrize("example", of("Starting runs"))
def test_start(lab, example):
    status, answer = lab.first[example]
    assert status == 200, answer
    assert_as_documented(lab.bench, example if example.answer else EXAMPLES[0], answer, {})
    run = lab.bench.wait(lab.started[example])
    ends, _, words = example.ends.partition(": ")
    assert run["status"] == ends, run["result_description"]
    assert words in run["result_description"], run["result_description"]
    report = lab.bench.report(lab.started[example])
    DID.get(re.split(r"[ ,]", example.title)[0], lambda report: None)(report)
    for role, kind in re.findall(r"condition\.(\w+)\.([\w-]+)", example.command):
        judged = [v for v in run_verdicts(lab, example) if v["condition_type"] == kind]
        assert judged and all(v["role"] == role and not v["built_in"] for v in judged)


def run_verdicts(lab, example):
    return lab.bench.api("GET", f"/runs/{lab.started[example]}")["run"]["verdicts"]


def test_kiosk_link_is_public(lab):
    example, = (e for e in EXAMPLES if e.title == "kiosk, form")
    url = lab.first[example][1]["data"]["report_url"]
    assert lab.bench.controller.session.get(url, timeout=60).status_code == 200


@pytest.mark.parametrize("example", of("Reading"))
def test_read(lab, example):
    if example.title == "run status":
        lab.bench.wait(lab.values["<session_id>"])
    status, answer = lab.send(example)
    assert status == 200, answer
    assert_as_documented(lab.bench, example, answer, lab.values)


def test_projects(lab):
    by_id, restful, polling = (e for e in EXAMPLES if e.part == "Running projects")
    for example in (by_id, restful):
        status, answer = lab.send(example)
        assert status == 200, answer
        assert_as_documented(lab.bench, example, answer, {})
        data = answer.get("data", answer)
        lab.values.setdefault("<project_run_uuid>", data["project_run_uuid"])
        if example == by_id:  # they use the same accounts
            wait_project_run(lab, data["project_run_uuid"])
    found = wait_project_run(lab, data["project_run_uuid"])
    assert [r["test_id"] for r in found["runs"]] == [3]
    status, answer = lab.send(polling)
    assert_as_documented(lab.bench, polling, answer, lab.values)


def wait_project_run(lab, uuid):
    until = time.monotonic() + 120
    while True:
        found = lab.bench.api("GET", f"/projects/runs/{uuid}/status")["run"]
        if found["run_status"] != "running":
            return found
        assert time.monotonic() < until
        time.sleep(0.2)


@pytest.mark.parametrize("example", of("Creating"))
def test_create(lab, example):
    status, answer = lab.send(example)
    assert status == 201, answer
    assert_as_documented(lab.bench, example, answer, {})


@pytest.mark.parametrize("example", of("Refused"))
def test_refused(lab, example):
    before = lab.bench.api("GET", "/runs?count=1")["total"]
    status, answer = lab.send(example)
    wanted, _, pointer = example.ends.partition(" ")
    assert status == int(wanted), answer
    assert answer["error"] == answer["detail"]
    if pointer:
        assert pointer in {e["pointer"] for e in answer["errors"]} or \
            any(e["pointer"].startswith(pointer + "/") for e in answer["errors"]), answer
    assert lab.bench.api("GET", "/runs?count=1")["total"] == before


def test_agents_were_looked_at(lab):
    """Every kind of exchange of the agents was checked against
    docs/reference/openapi.yaml (Witness.__exit__ fails if one differed)."""
    seen = {(method, re.sub(r"[0-9a-f-]{36}|\d+", "x", path.removeprefix("/api/v2/agent")),
             status) for method, path, status in lab.bench.controller.witness().seen}
    for method, path, status in (
            ("POST", "/register", 201), ("POST", "/poll", 200), ("POST", "/poll", 204),
            ("POST", "/leases/x/start", 200), ("PUT", "/leases/x", 200),
            ("POST", "/leases/x/barriers/x", 200), ("POST", "/leases/x/stats", 200),
            ("POST", "/leases/x/events", 200), ("POST", "/leases/x/sip", 200),
            ("POST", "/leases/x/finish", 200)):
        assert (method, path, status) in seen, (path, sorted(seen))
    assert lab.bench.controller.witness().wrong == []


def test_document_is_whole():
    """Each condition type, operator and parameter of the contract is in an example."""
    for word in ("ge", "le", "gt", "lt", "eq", "has", "hasnot", "is", "isnot", "startswith",
                 "endswith", "ispresent", "notpresent", "avg", "min", "max", "median", "p75",
                 "p95", "rtp_pkt_per_sec", "rtp_byte_per_sec", "rtp_lost_per_sec", "rtp_jitter",
                 "rtp_mos", "header", "sdp", "message", "filter_proxy", "strict_order",
                 "last"):
        assert f'"{word}"' in TEXT.replace("\\", ""), word
    for word in ("regexpire", "max_total_calls", "dial_destination", "target_pool",
                 "credential_pool", "sipclient_actions", "custom_headers", "report.mode",
                 "test.name", "test.id", "orderby", "orderdir", "startdate", "enddate",
                 "filtername", "filterval", "confidence"):
        assert word in TEXT, word

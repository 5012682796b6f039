#!/usr/bin/python3
"""Whole HTTP sessions, mutated, against the controller (tools/fuzz builds it with ASan and UBSan).

usage: sessions.py --build FOLDER --first N (--count N | --seconds S) [--findings FOLDER]

A session is a random sequence of what browsers (sign in, pages, changes with a CSRF token, sign out), programs with
an API key (create, change, upload, import, start, follow, stop) and agents (enrol, poll, start, upload, finish) send.
Its number is the seed of all its choices: what comes next, how it is mutated, whether it is lost, doubled, pipelined
or cut into pieces. --first and --count repeat sessions. The controller is replaced after BATCH sessions; before that a
correct session must succeed from the sign-in to the report of a run, and it must end without a report of a sanitizer.
A response that is no HTTP, or a status above 499 other than 501, 503 and 505, is a finding as well.

The last line is "ran N": the sessions without a finding. Exit status 1: one was found; what the controller logged and
what it was sent is in the folder of findings.
"""
import base64
import concurrent.futures
import json
import os
import random
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/e2e"), str(Path(__file__).parent)]

import contract_lab  # noqa: E402  pylint: disable=wrong-import-position
from batches import Found, run_batches  # noqa: E402  pylint: disable=wrong-import-position
from controller import Controller  # noqa: E402  pylint: disable=wrong-import-position
from fake_agent import FakeAgent, evidence, good_call, point, registered  # noqa: E402  pylint: disable=wrong-import-position
from mutation import Mutator  # noqa: E402  pylint: disable=wrong-import-position

BATCH = 60        # sessions of one controller
AT_A_TIME = 4
PATIENCE_S = 60
ANSWER_S = 1      # for the answer to a mutated request: it may be incomplete
PASSWORD = "correct horse battery"
SOUND = {501, 503, 505}  # above 499: what is not implemented, no resources, a foreign version
STARTS = ["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "HTTP/1.0", "HTTP/1.1", "HTTP/2.0",
          "/", "*", "/api/v2", "/api/v2/runs/%2e%2e/1", "//", "/api/v2/projects?count=-1&offset=99999999999999999999",
          "http://x/api/v2/projects", "/run/details/1/data", "/api/v2/tests?filtername=%00&filterval=%ff"]
LINES = [
    "Transfer-Encoding: chunked", "Transfer-Encoding: gzip, chunked", "Content-Length: 0", "Content-Length: 99999999999999999999",
    "Content-Length: 5", "Expect: 100-continue", "Connection: close", "Connection: upgrade", "Upgrade: websocket", "Host: x",
    "Host: ", "Content-Encoding: gzip", "Content-Type: application/json", "Content-Type: text/csv",
    "Content-Type: application/x-www-form-urlencoded", "Content-Type: multipart/form-data", "Accept: text/html", "If-Match: \"1\"",
    "Content-Type: multipart/form-data; boundary=" + "b" * 80, "If-None-Match: *", "Idempotency-Key: same", "Range: bytes=0-5",
    "X-Forwarded-For: ::1, x", "X-Forwarded-Proto: https", "X-Request-Id: " + "r" * 300, "X-CSRF-Token: x", "Cookie: session=x; session=y",
    "Authorization: Basic", "Authorization: Basic eDp5", "Authorization: Bearer x", "X-HTTP-Method-Override: DELETE"]
JUNK = [None, True, 0, -1, 2**31, 2**63, 1e308, "", "a" * 5000, "\0", "{{n}}", [], {}, [[[[[[]]]]]], {"a": {"a": {"a": {}}}}, "../x"]
PAGES = ("/", "/login", "/session", "/account", "/tests", "/runs", "/agents", "/tests/import", "/healthz", "/metrics", "/nothing",
         "/static/page.js", "/runs/compare?a=1&b=2", "/tests/1/edit", "/tests/1", "/apidocs/openapi.json", "/kiosk/1/2/data", "/audit")
LISTS = ("projects", "targets", "credential-pools", "agent-pools", "tests", "callback-templates", "schedules", "appimages", "runs", "agents",
         "overview", "scenarios", "descriptions", "retention", "callbacks")
NEEDS = {name: contract_lab.NEEDS[name] for name in ("projects", "targets", "credential-pools", "callback-templates", "appimages")}
SUFFIXES = ("", "/status", "/report/junit", "/report/html", "/report/markdown", "/stats", "/stats/rtp_jitter?role=caller&dir=in", "/artifacts",
            "/differences", "/quality", "/callbacks")


class Link:
    """A TCP connection that sends what it is given, and reads responses."""

    def __init__(self, port):
        self.sock = socket.socket()
        self.sock.bind(("127.0.0.2", 0))  # wrong passwords slow an address down, and the correct session has another one
        self.sock.settimeout(PATIENCE_S)
        self.sock.connect(("127.0.0.1", port))
        self.rest = b""

    def send(self, data, pieces):
        try:
            for piece in pieces or [data]:
                self.sock.sendall(piece)
        except OSError:
            pass  # the controller need not read all of a bad request

    def response(self, seconds, head_only):
        """@return (status, headers as bytes, body); None: there is none in that time, or the connection is closed"""
        end = time.monotonic() + seconds
        while True:
            head, gap, body = self.rest.partition(b"\r\n\r\n")
            length = re.search(rb"(?im)^content-length: *(\d+)", head)
            status = re.match(rb"HTTP/1\.[01] (\d{3}) ", head)
            if len(self.rest) > 13 and not status:
                raise Found(f"no HTTP response: {self.rest[:200]!r}")
            if gap and status[1] == b"100":
                self.rest = body
                continue
            if gap and b"\nTransfer-Encoding: chunked" in head and not head_only:
                whole = re.match(rb"(?s).*?\r\n0\r\n\r\n|0\r\n\r\n", body)
                size = whole.end() if whole else None
            else:
                size = 0 if head_only or status and status[1] in (b"204", b"304") else int(length[1]) if length else 0
            if gap and size is not None and len(body) >= size:
                self.rest = body[size:]
                return int(status[1]), head, body[:size]
            self.sock.settimeout(max(0.01, end - time.monotonic()))
            try:
                piece = self.sock.recv(65536)
            except TimeoutError:
                if seconds == PATIENCE_S:
                    raise Found(f"no response within {seconds} s") from None
                return None
            except OSError:
                piece = b""
            if not piece:
                return None
            self.rest += piece

    def close(self):
        self.sock.close()


class Session:
    """One session"""

    def __init__(self, batch, number):
        self.batch, self.number = batch, number
        self.rng = random.Random(f"session {number}")
        self.mutator = Mutator(self.rng, self.rng.choice((0, 0.1, 0.3, 0.7)), LINES, STARTS)
        self.link, self.cookie, self.csrf, self.auth = None, "", "", None

    # -- sending --

    def request(self, method, path, body=None, kind="application/json"):
        """@return (status, parsed body or None); (0, None): no response"""
        if isinstance(body, (dict, list)):
            body = json.dumps(self.junked(body)).encode()
        body = body or b""
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.batch.port}"]
        if self.auth:
            lines.append("Authorization: Basic " + base64.b64encode(":".join(self.auth).encode()).decode())
        if self.cookie:
            lines += [f"Cookie: {self.cookie}", f"X-CSRF-Token: {self.csrf}"]
        if body or method in ("POST", "PUT"):
            lines += [f"Content-Type: {kind}", f"Content-Length: {len(body)}"]
        plain = "\r\n".join([*lines, "", ""]).encode() + body
        data = self.mutator.message(plain) if method != "DELETE" else plain
        answer = 0, None
        for _ in range(self.mutator.copies()):
            answer = self.exchange(data, data == plain, method == "HEAD")
        return answer

    def junked(self, value):
        """The JSON value, sometimes with another one within it"""
        if not self.mutator.happens(self.mutator.rate / 2):
            return value
        value = json.loads(json.dumps(value))
        at, last = value, None
        while isinstance(at, (dict, list)) and at and (last is None or self.mutator.happens(0.7)):
            key = self.rng.choice(list(at) if isinstance(at, dict) else range(len(at)))
            last, at = (at, key), at[key]
        if last:
            change = self.rng.randrange(4)
            if change == 0:
                del last[0][last[1]]
            elif change == 1 and isinstance(last[0], list):
                last[0].extend([at] * self.rng.choice((1, 40)))
            elif change == 2 and isinstance(last[0], dict):
                last[0][self.rng.choice(("x", "", "name", "\0", "id"))] = at
            else:
                last[0][last[1]] = self.rng.choice(JUNK)
        return value

    def exchange(self, data, whole, head_only):
        pieces = []
        if self.mutator.happens(self.mutator.rate / 5):
            at = sorted(self.rng.randrange(len(data) + 1) for _ in range(3))
            pieces = [data[a:b] for a, b in zip([0, *at], [*at, len(data)])]
        self.batch.sent.append((self.number, data))
        for _ in range(2):  # a connection that was open may have been closed meanwhile
            fresh = self.link is None
            if fresh:
                self.link = Link(self.batch.port)
            self.link.send(data, pieces)
            if self.mutator.happens(self.mutator.rate / 20):
                self.drop()  # before the response
                return 0, None
            got = self.link.response(PATIENCE_S if whole else ANSWER_S, head_only)
            if got or fresh or not whole:
                break
            self.drop()
        if not got:
            self.drop()
            return 0, None
        status, head, body = got
        if status >= 500 and status not in SOUND:
            raise Found(f"status {status} {body[:500]!r} for {data[:3000]!r}")
        if not whole or re.search(rb"(?i)\nConnection: close", head):
            self.drop()  # what is left of a mutated request is not the beginning of the next one
        found = re.search(rb"(?i)\nSet-Cookie: ([^;\r]+)", head)
        if found:
            self.cookie = found[1].decode("latin-1")
        try:
            return status, json.loads(body)
        except (ValueError, RecursionError):
            return status, None

    def drop(self):
        if self.link:
            self.link.close()
        self.link = None

    def api(self, method, path, body=None, kind="application/json"):
        return self.request(method, "/api/v2" + path, body, kind)

    def form(self, fields, content):
        edge = "edge"
        parts = "".join(f'--{edge}\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n' for n, v in fields.items())
        return (f'{parts}--{edge}\r\nContent-Disposition: form-data; name="content"; filename="f"\r\n\r\n'.encode() + content +
                f"\r\n--{edge}--\r\n".encode()), f"multipart/form-data; boundary={edge}"

    # -- what is done --

    def steps(self, *choices):
        for _ in range(self.rng.choice((2, 4, 8))):
            self.rng.choice(choices)()

    def run(self):
        try:
            self.rng.choice((self.browser, self.program, self.program, self.agent))()
        finally:
            self.drop()

    def browser(self):
        self.request("GET", "/login")
        self.request("POST", "/login", {"name": "ada", "password": self.rng.choice((PASSWORD, PASSWORD, "wrong"))})
        _, state = self.request("GET", "/session")
        self.csrf = str((state or {}).get("csrf", "")) if isinstance(state, dict) else ""
        self.steps(self.page, self.create, self.listed, self.followed)
        self.request("POST", "/logout", {})

    def program(self):
        self.auth = self.batch.keys[self.rng.choice(("write", "write", "read"))]
        self.steps(self.create, self.create, self.listed, self.uploaded, self.imported, self.started, self.followed)

    def page(self):
        self.request(self.rng.choice(("GET", "GET", "HEAD")), self.rng.choice(PAGES))

    def listed(self):
        query = self.rng.choice(("", "?count=3&offset=1", "?sortby=name&sortdir=desc", "?filtername=name&filterval=x"))
        self.api("GET", f"/{self.rng.choice(LISTS)}{query}")

    def create(self):
        base = self.rng.choice(list(NEEDS))
        _, made = self.api("POST", f"/{base}", {"name": f"of {self.number} {self.rng.random()}", **NEEDS[base]})
        record = next((v for v in made.values() if isinstance(v, dict)), {}) if isinstance(made, dict) else {}
        number = record.get("id")
        if not number:
            return
        self.api("GET", f"/{base}/{number}")
        self.api("PUT", f"/{base}/{number}", {"name": f"other of {self.number} {self.rng.random()}"})
        if self.mutator.happens(0.7):
            self.api("DELETE", f"/{base}/{number}")

    def uploaded(self):
        body, kind = self.form({"name": f"file of {self.number} {self.rng.random()}", "kind": "prompt"},
                               self.rng.randbytes(self.rng.choice((0, 10, 3000))))
        self.api("POST", "/appimages", body, kind)

    def imported(self):
        name = self.rng.choice(sorted(self.batch.captures))
        body, kind = self.form({"call": "1"}, self.batch.captures[name])
        self.api("POST", "/projects/1/import", body, kind)

    def started(self):
        test = self.rng.choice((1, 2))
        _, answer = self.api("POST", f"/tests/{test}/run", self.rng.choice(({}, {"test.name": "x"}, {"step.0.0.regexpire": 60})))
        data = answer.get("data") if isinstance(answer, dict) else None
        if isinstance(data, dict) and data.get("session_id"):
            self.api("GET", f"/runs/{data['session_id']}/status")
            self.api("POST", f"/runs/{data['session_id']}/stop", {})

    def followed(self):
        run = self.batch.done
        self.api("GET", f"/runs/{run}{self.rng.choice(SUFFIXES)}")
        self.request("GET", f"/run/details/{run}{self.rng.choice(('', '/data', '/sip.txt', '/sip.pcap', '/packets.pcapng'))}")

    def agent(self):
        self.auth = None
        status, answer = self.api("POST", "/agent/register", {
            "token": self.batch.token, "name": f"agent {self.number}", "version": "0", "protocols": [1], "features": ["labels:x=y"],
            "capacity": 2})
        if status != 201 or not isinstance(answer, dict):
            return
        self.auth = (str(answer["agent_id"]), answer["secret"])
        key, self.auth = self.auth, self.batch.keys["run"]
        self.api("POST", "/tests/2/run", {})
        self.auth = key
        status, answer = self.api("POST", "/agent/poll", {"free": 2, "leases": [], "draining": False, "cursor": ""})
        for job in answer["jobs"] if status == 200 and isinstance(answer, dict) else ():
            self.carry_out(job)
        self.api("POST", "/agent/disconnect", {"reason": "x"})

    def carry_out(self, job):
        lease = f"/agent/leases/{job['lease_id']}"
        self.api("POST", f"{lease}/start", {"epoch": job["epoch"]})
        uploads = [("events", "events", registered("1001") + good_call("caller", "1001", "1002", True) + [evidence()]),
                   ("stats", "series", [point("caller", contract_lab.T0 + 10 * i, 1.5 + i) for i in range(3)]),
                   ("sip", "messages", [{"t": contract_lab.T0 * 1000000, "mono": 5, "dir": "sent", "transport": "udp",
                                         "local": "127.0.0.1:5060", "peer": "127.0.0.1:5061", "data": "OPTIONS sip:a SIP/2.0\r\n\r\n"}])]
        for seq in range(1, self.rng.choice((2, 4, 7))):
            kind, member, items = self.rng.choice(uploads)
            self.api("POST", f"{lease}/{kind}", {"seq": seq, member: items})
            if self.mutator.happens(0.3):
                self.api("PUT", lease, {"state": "running", "progress": 0.5})
            if self.mutator.happens(0.3):
                self.api("PUT", f"{lease}/artifacts/a{seq}.txt", self.rng.randbytes(100), "application/octet-stream")
        self.api("POST", f"{lease}/finish", {"outcome": "completed", "reason": "", "last_seq": seq})


class Batch:
    """Sessions [first, first + count) against one controller"""

    def __init__(self, build, first, count):
        os.environ["OFFHOOK_BUILD"] = str(build)  # Controller() reads it
        self.first, self.count = first, count
        self.sent, self.log, self.keys = [], "", {}
        self.captures = {p.name: p.read_bytes() for p in sorted((ROOT / "tests/fuzz/import/corpus-import").iterdir())
                         if p.stat().st_size < 200000}

    def set_password(self, c):
        c._write_conf()
        subprocess.run([c.program, "--config", c.conf_file, "--set-password", "ada", "--rights", "write"], input=PASSWORD + "\n", text=True,
                       check=True, capture_output=True)

    @staticmethod
    def sign_in(c):
        """As a person does whose name others have tried passwords for: after the time that the controller tells."""
        while True:
            answer = c.session.post(f"{c.url}/login", json={"name": "ada", "password": PASSWORD}, timeout=PATIENCE_S)
            if answer.status_code != 429:
                assert answer.status_code == 200, f"/login: {answer.status_code}"
                return c.session
            wait_s = int(answer.headers["Retry-After"])
            assert wait_s <= 60, f"/login: Retry-After: {wait_s}"
            time.sleep(wait_s)

    def rightly(self, c):
        """A correct session: signs in, makes a test, uploads, an agent carries a run out, and its report is read."""
        browser = self.sign_in(c)
        csrf = browser.get(f"{c.url}/session", timeout=PATIENCE_S).json()["csrf"]

        def post(path, body):
            answer = browser.post(f"{c.url}/api/v2{path}", json=body, headers={"X-CSRF-Token": csrf}, timeout=PATIENCE_S)
            assert answer.status_code in (200, 201), f"{path}: {answer.status_code} {answer.text}"
            return answer.json()
        name = f"right {self.first}"
        made = {base: post(f"/{base}", {"name": name, **contract_lab.NEEDS[base]})[contract_lab.member(base)]
                for base in ("projects", "targets", "credential-pools", "agent-pools", "appimages")}
        test = post("/tests", {"name": name, "project_id": made["projects"]["id"], "agentpool_id": made["agent-pools"]["id"], "steps": [[{
            "type": "register", "role": "caller", "credential_pool": made["credential-pools"]["id"],
            "target_pool": made["targets"]["id"]}]]})["test"]
        agent = FakeAgent(c, made["agent-pools"]["join_token"], name)
        run = post(f"/tests/{test['id']}/run", {})["data"]["session_id"]
        job = agent.jobs(1)["caller"]
        assert agent.start(job).ok and agent.barrier(job, 0).ok and agent.upload(job, "events", registered("1001") + [evidence()]).ok
        assert agent.finish(job).ok
        until = time.monotonic() + PATIENCE_S
        while browser.get(f"{c.url}/api/v2/runs/{run}/status", timeout=PATIENCE_S).json()["run"]["status"] == "running":
            assert time.monotonic() < until, "the run does not end"
            time.sleep(0.05)
        assert browser.get(f"{c.url}/run/details/{run}/data", timeout=PATIENCE_S).status_code == 200

    def converse(self, c):
        with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
            running = [pool.submit(Session(self, n).run) for n in range(self.first, self.first + self.count)]
            for future in running:
                future.result()
        try:
            self.rightly(c)
        except (AssertionError, OSError, KeyError, ValueError) as why:
            raise Found(f"a correct session failed: {why!r}") from why

    def run(self):
        c = Controller(**{**contract_lab.QUICK, "claim_timeout_s": 30})
        try:
            for right in ("read", "run", "write"):
                self.keys[right] = c.create_key(right, right)
            self.set_password(c)
            c.start()
            self.port = int(c.url.rsplit(":", 1)[1])
            self.token = contract_lab.seed(c)
            self.done = self.first_run(c)
            try:
                self.converse(c)
            except OSError as why:
                raise Found(f"a connection failed: {why!r}") from why
            status = c.stop()
            self.log = c.log()
            if status != 0:
                raise Found(f"exit status {status}")
            if re.search(r"Sanitizer|runtime error:", self.log):
                raise Found("see its log")
        finally:
            self.log = c.log()
            c.close()

    @staticmethod
    def first_run(c):
        """A run that has ended, to be read"""
        run = c.api("POST", "/tests/1/run", {})["data"]["session_id"]
        c.api("POST", f"/runs/{run}/stop")
        return run

    def report(self, folder, why):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"sessions-{self.first}.txt"
        text = "".join(f"\n==== session {n}\n{data.decode('latin-1')}\n" for n, data in list(self.sent))
        path.write_text(f"{why}\n\n==== the controller\n{self.log}\n{text}", errors="replace")
        found = re.search(r"(?s)(=====|\S+ runtime error:).*", self.log)
        print(f"{why}\n{(found[0] if found else self.log[-4000:])[:8000]}\n"
              f"repeat: --first {self.first} --count {self.count}; messages: {path}")


if __name__ == "__main__":
    sys.exit(run_batches(__doc__, "sessions", BATCH, Batch))

"""One cell of the fault matrix: a run is brought to a phase, a part fails, the run ends, and everything is counted."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import psycopg2
import requests

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import postgresql  # noqa: E402
import stored_points  # noqa: E402
from agent import Agent, children  # noqa: E402
from controller import Controller  # noqa: E402
from peer import Peer  # noqa: E402
from ports import PortBlock  # noqa: E402
from fault_relay import AgentRelay, DatabaseRelay  # noqa: E402

# As configured by default, and a tenth of it. stop_s, cut_s: the faults; down_s: until what was killed is started again.
TIMES = {"full": {"lease_s": 60, "renew_s": 20, "offer_s": 30, "poll_s": 50, "claim_timeout_s": 30, "stop_s": 20, "cut_s": 90,
                  "down_s": 3},
         "short": {"lease_s": 6, "renew_s": 2, "offer_s": 3, "poll_s": 5, "claim_timeout_s": 3, "stop_s": 2, "cut_s": 9,
                   "down_s": 0.3}}
SIP_CUT_S = 90    # of the path to the peer: SIP's timers are not shortened
REGISTER_HELD_S = 20  # of the 32 s after which REGISTER is given up: longer faults than this go on in the call
MARGIN_S = 15     # that a run may take to end, beyond its lease time
JUDGING_LOCK = 4711
# The verdict waits for the lock that the test holds.
HOLD_VERDICTS = f"""
CREATE FUNCTION hold_verdict() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.phase = 'done' THEN PERFORM pg_advisory_xact_lock_shared({JUDGING_LOCK}); END IF; RETURN NEW; END $$;
CREATE TRIGGER hold_verdict BEFORE UPDATE ON run FOR EACH ROW EXECUTE FUNCTION hold_verdict()"""


class Failed(Exception):
    """The cell did not come to the phase, or what came of it is not what is expected."""


def until(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while True:
        try:
            if found := condition():
                return found
        except (requests.RequestException, RuntimeError, AssertionError, LookupError, psycopg2.Error):
            pass  # what is asked may be the part that failed
        if time.monotonic() > end:
            raise Failed(f"{what}: not within {seconds} s")
        time.sleep(0.05)


def tell(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass  # it has ended meanwhile: a process of the server, an engine


class Lab:
    """A PostgreSQL server, one or two controllers, an agent with one place, a peer, and relays between them."""

    def __init__(self, times, controllers, longest):
        self.times, self.count = times, controllers
        self.longest = longest  # seconds of the fault
        self.stack = ExitStack()
        self.stopped = []  # processes to go on

    def __enter__(self):
        try:
            self._begin()
        except BaseException:
            self.stack.close()
            raise
        return self

    def __exit__(self, *_):
        for pid in self.stopped:
            tell(pid, signal.SIGCONT)
        self.stack.close()

    def _begin(self):
        enter = self.stack.enter_context
        folder = Path(enter(tempfile.TemporaryDirectory(prefix="offhook-faults-")))
        ports = PortBlock()
        self.stack.callback(ports.close)
        self.server = postgresql.Server()
        self.stack.callback(self.server.close)
        self.server.start()
        name = self.server.create()
        self.direct = self.server.uri(name)
        self.database = enter(DatabaseRelay(self.server.dir / ".s.PGSQL.5432"))
        uri = f"postgresql://offhook@127.0.0.1:{self.database.port}/{name}"
        self.relay = enter(AgentRelay())
        self.peer = enter(Peer())
        conf = {k: v for k, v in self.times.items() if k not in ("stop_s", "cut_s", "down_s")}
        first = Controller(database=uri, interval_s=1, **conf)
        self.controllers = [first]
        self.stack.callback(first.close)
        first.start()
        for _ in range(1, self.count):
            other = Controller(**{**first.conf, "port": 0, "key_file": first.state_dir / "master.key",
                                  "artifact_store": first.state_dir})
            other.keys = first.keys
            self.controllers.append(other)
            self.stack.callback(other.close)
            other.start()
        self.relay.backends = [c.conf["port"] for c in self.controllers]
        with psycopg2.connect(self.direct) as db:
            db.cursor().execute(HOLD_VERDICTS)
        db.close()
        self.pool = self.api("POST", "/agent-pools", {"name": "pool"})["agent_pool"]
        self.agent = Agent(folder, f"http://127.0.0.1:{self.relay.port}", self.pool["join_token"], ports.rtp,
                           name="agent", capacity=1)
        self.stack.callback(self.agent.close)
        self.agent.start()
        until(lambda: self.api("GET", "/agents")["agents"][0]["state"] == "online", "the agent polls")

    def api(self, method, path, body=None):
        """By the last controller: it is the one that goes on if one of two fails."""
        return self.controllers[-1].api(method, path, body)

    def rows(self, sql, *values):
        db = psycopg2.connect(self.direct)
        try:
            cursor = db.cursor()
            cursor.execute(sql, values)
            return cursor.fetchall()
        finally:
            db.close()

    # ---- runs ----

    def call(self, seconds):
        """Start the run: its only role registers and calls the peer. @return its session"""
        common = {"role": "caller", "target_pool": self.target(), "credential_pool": self.account()}
        test = self.api("POST", "/tests", {
            "name": "call", "project_id": self.project(), "scenario": "single-call", "agentpool_id": self.pool["id"],
            "record": "none", "steps": [[{"type": "register", **common}, {"type": "call", **common, "max_total_calls": 1,
                                          "dial_destination": "peer", "call_duration": seconds}]],
            "conditions": []})["test"]
        return self.api("POST", f"/tests/{test['id']}/run", {})["data"]["session_id"]

    def occupy(self):
        """Start a run that takes the agent's only place until it is stopped. @return its session"""
        common = {"role": "other", "target_pool": self.target(), "credential_pool": self.account()}
        test = self.api("POST", "/tests", {
            "name": "occupies", "project_id": self.project(), "scenario": "single-call", "agentpool_id": self.pool["id"],
            "record": "none", "steps": [[{"type": "register", **common}, {"type": "wait", "role": "other", "wait_ms": 600000}]],
            "conditions": []})["test"]
        session = self.api("POST", f"/tests/{test['id']}/run", {})["data"]["session_id"]
        self.wait_phase(session, "running")
        return session

    def project(self):
        return self._made("/projects", "project", {"name": "faults"})

    def target(self):
        return self._made("/targets", "target", {"name": "peer", "domain": "127.0.0.1", "hosts": [
            {"host": "127.0.0.1", "port": self.peer.port, "transport": "udp"}]})

    def account(self):
        return self._made("/credential-pools", "credential_pool", {
            "name": "accounts", "credentials": [{"username": "1001", "password": "secret"}]})

    def _made(self, path, member, body):
        if not hasattr(self, "ids"):
            self.ids = {}
        if member not in self.ids:
            self.ids[member] = self.api("POST", path, body)[member]["id"]
        return self.ids[member]

    def phase(self, session):
        found = self.rows("SELECT phase FROM run WHERE session_id = %s", session)
        return found[0][0] if found else None

    def wait_phase(self, session, phase):
        until(lambda: self.phase(session) == phase, f"the run is {phase}")

    # ---- bring the run to a phase; @return (session, what lets it go on) ----

    def queued(self):
        other = self.occupy()
        session = self.call(4)
        self.wait_phase(session, "queued")

        def go_on():
            def stop():
                answer = self.controllers[-1].request("POST", f"/runs/{other}/stop")
                return answer.status_code in (200, 202, 409)
            until(stop, "the other run stops")
        return session, lambda: None, go_on

    def dispatching(self):
        self.relay.hold(r"^POST \S*/leases/\S*/start$")
        session = self.call(4)
        until(self.relay.held.is_set, "the job is confirmed")
        return session, self.relay.release, lambda: None

    def registering(self):
        self.peer.hold_register = True
        session = self.call(max(4, self.longest - REGISTER_HELD_S + 3))
        until(lambda: "REGISTER" in self.peer.seen, "REGISTER comes")

        def go_on():
            self.peer.hold_register = False
        answer = threading.Timer(REGISTER_HELD_S, go_on)
        answer.start()
        self.stack.callback(answer.cancel)
        return session, lambda: None, go_on

    def in_call(self):
        session = self.call(max(12, self.times["cut_s"] + 3))
        until(lambda: len([p for p in self.points(session) if p.measure == "rtp_pkt_per_sec"]) >= 4, "media is measured")
        return session, lambda: None, lambda: None

    def uploading(self):
        session = self.call(4)
        until(lambda: "INVITE" in self.peer.seen, "the call begins")
        until(lambda: self.peer.packets > 50, "media flows")
        self.relay.hold(r"^POST \S*/leases/\S*/(stats|events|sip|finish)$")
        until(lambda: "BYE" in self.peer.seen, "the call ends")
        until(lambda: not self.agent.engines(), "the engine ends")
        until(self.relay.held.is_set, "results are uploaded")
        return session, self.relay.release, lambda: None

    def judging(self):
        holder = psycopg2.connect(self.direct)
        holder.cursor().execute(f"SELECT pg_advisory_lock({JUDGING_LOCK})")
        session = self.call(4)
        self.wait_phase(session, "judging")
        until(lambda: self.rows("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted "
                                "AND objid = %s", JUDGING_LOCK)[0][0], "the verdict is written")
        return session, holder.close, lambda: None

    # ---- the faults; each takes its time and is over when it returns ----

    def processes(self, target):
        if target == "agent":
            return [self.agent.process.pid]
        if target == "engine":
            return self.agent.engines() or [pid for pid, words in children(self.agent.process.pid)
                                            if any(w.startswith(b"--engine") for w in words)]
        if target in ("controller", "one-of-two"):
            return [self.controllers[0].process.pid]
        postmaster = self.server.process.pid
        if self.server.user:  # setpriv has become postgres
            postmaster = self.server.process.pid
        return [postmaster, *(pid for pid, _ in children(postmaster))]

    def fail(self, target, fault, release):
        """@param release  called when the fault has begun"""
        if fault == "SIGKILL":
            self._kill(target, release)
        elif fault == "SIGSTOP":
            self._pause(target, release)
        else:
            self._cut(target, release)

    def _kill(self, target, release):
        if target == "network":
            self.relay.reset()
            release()
            time.sleep(self.times["down_s"])
            self.relay.open()
            return
        if target == "postgresql":
            self.server.process.kill()
            self.server.process.wait()
        elif target in ("controller", "one-of-two"):
            self.controllers[0].kill()
        elif target == "agent":
            self.agent.kill()
        else:
            for pid in self.processes(target):
                tell(pid, signal.SIGKILL)
        release()
        if target == "agent":
            time.sleep(1)
            self.agent.start()
        elif target == "controller":
            time.sleep(self.times["down_s"])
            self.controllers[0].start()
        elif target == "postgresql":
            time.sleep(self.times["down_s"])
            (self.server.data / "postmaster.pid").unlink(missing_ok=True)
            self.server.start()

    def _pause(self, target, release):
        if target == "network":
            self.relay.block()
            release()
            time.sleep(self.times["stop_s"])
            self.relay.open()
            return
        pids = self.processes(target)
        self.stopped = pids
        for pid in pids:
            tell(pid, signal.SIGSTOP)
        release()
        time.sleep(self.times["stop_s"])
        for pid in pids:
            tell(pid, signal.SIGCONT)
        self.stopped = []

    def _cut(self, target, release):
        seconds = self.times["cut_s"]
        if target in ("agent", "engine"):
            self.peer.silent = True
        if target in ("agent", "network", "controller"):
            self.relay.block()
        elif target == "one-of-two":
            self.relay.cut.add(self.controllers[0].conf["port"])
        elif target == "postgresql":
            self.database.block()
        else:
            seconds = SIP_CUT_S
        release()
        time.sleep(seconds)
        self.peer.silent = False
        self.relay.cut.clear()
        self.relay.open()
        self.database.open()

    # ---- what came of it ----

    def ended(self, session, seconds):
        return until(lambda: (run := self.api("GET", f"/runs/{session}")["run"])["is_finished"] and run,
                     "the run ends", seconds)

    def points(self, session):
        blocks = self.rows("SELECT b.run_id, b.lease_id, b.block FROM point_block b JOIN run r ON r.id = b.run_id "
                           "WHERE r.session_id = %s ORDER BY b.seq", session)
        series = self.rows("SELECT s.id, s.role, s.dir, s.measure FROM series s JOIN run r ON r.id = s.run_id "
                           "WHERE r.session_id = %s", session)
        return stored_points.collect(blocks, {number: names for number, *names in series})

    def stored(self, session):
        """{(lease, direction, measure, t): n} of the run's points"""
        return {(p.lease_id, p.dir, p.measure, p.t): p.n for p in self.points(session)}

    def uploaded(self, session, taken):
        """Those that the agent has sent. @param taken  only of accepted uploads"""
        leases = {lease for lease, in self.rows("SELECT l.id FROM lease l JOIN run r ON r.id = l.run_id "
                                                "WHERE r.session_id = %s", session)}
        return {(lease, p["dir"], p["measure"], p["t"]): p["n"]
                for (lease, seq), series in list(self.relay.sent.items())
                if lease in leases and (not taken or (lease, seq) in self.relay.taken) for p in series}

    def check_points(self, session):
        taken = self.uploaded(session, True)  # results of a lost lease may still come
        stored = self.stored(session)
        sent = self.uploaded(session, False)
        lost = [k for k, n in taken.items() if stored.get(k) != n]
        invented = [k for k, n in stored.items() if sent.get(k) != n]
        if lost or invented:
            raise Failed(f"{len(lost)} of {len(taken)} points that were taken are not stored, {len(invented)} are that "
                         f"were not sent: {(lost + invented)[:3]}")
        return len(stored)

    def check_calls(self, passed):
        calls = {call for call, _ in self.peer.invited}
        if len(self.peer.invited) != len(calls) or len(calls) > 1 or passed and not calls:
            raise Failed(f"INVITE requests: {self.peer.invited}")

    def check_packets(self, session):
        """Of a run that passed: the peer got what the agent says it sent."""
        data = self.controllers[-1].session.get(f"{self.controllers[-1].url}/run/details/{session}/data",
                                                auth=self.controllers[-1].keys["admin"], timeout=30).json()
        sent = sum(e["packets_sent"] for e in data["evidence"])
        if sent != self.peer.packets:
            raise Failed(f"the agent sent {sent} packets, the peer got {self.peer.packets}")


def sentence_matches(pattern, text, values):
    words = re.split(r"(\{\w+\}|\.\.\.)", pattern)
    return re.fullmatch("".join(".*" if w == "..." else re.escape(str(values[w[1:-1]])) if w[:1] == "{" else re.escape(w)
                                for w in words), text, re.S)


def run_cell(*cell):
    """As see_cell(); what keeps the cell from being run is a failure, too."""
    try:
        return see_cell(*cell)
    except (AssertionError, LookupError, OSError, RuntimeError, subprocess.SubprocessError, psycopg2.Error) as error:
        raise Failed(f"it could not be run: {str(error)[:300]}") from error


def see_cell(target, fault, phase, expected, times, sentences):
    """@param expected  (status, name of a sentence or None) @return (text of what was seen, seconds after the fault)"""
    longest = {"SIGKILL": times["down_s"], "SIGSTOP": times["stop_s"], "cut": times["cut_s"]}[fault]
    with Lab(times, 2 if target == "one-of-two" else 1, longest) as lab:
        session, release, go_on = getattr(lab, phase.replace("-", "_"))()
        lab.fail(target, fault, release)
        over = time.monotonic()
        go_on()
        allowed = times["lease_s"] + MARGIN_S
        if expected[0] == "passed":
            allowed += max(12, times["cut_s"] + 3)  # of its call
        run = lab.ended(session, allowed)
        took, text = time.monotonic() - over, run["result_description"]
        values = {**times, "pool": "pool", "agent": "agent"}
        if run["status"] != expected[0] or expected[1] and not sentence_matches(sentences[expected[1]], text, values):
            raise Failed(f"{run['status']}: {text or 'no sentence'}")
        lab.check_calls(run["status"] == "passed")
        points = lab.check_points(session)
        if run["status"] == "passed" and target != "engine":
            lab.check_packets(session)
        return f"{run['status']}, {len({c for c, _ in lab.peer.invited})} call, {points} points", took

#!/usr/bin/python3
"""Runs of 16 shards on two controllers, PostgreSQL and four agents: how far apart they begin, and what is left of them under kills.

A run has two roles of eight shards, which call a phone outside of it. First SKEW runs, one after the other: how far apart the
shards of a role began, by the controllers' clock, and how well that clock was known. Then KILLED runs, started by ten clients
through a balancer, while controllers and agents are killed at random and started again. Each must end with a status and, unless it
passed, a sentence; every other one may go on without lost shards. Of each run the calls are compared with those that its shards
had to place: none twice, none missing; and the percentiles of the post-dial delay with the exact ones of its calls.

Usage: bench-shards.py BUILD [SKEW [KILLED [SEED]]]     20 and 40 runs; SEED of the kills, a random one is printed
"""
import collections
import itertools
import math
import os
import queue
import random
import re
import statistics
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

ROLES, SHARDS, AGENTS, CLIENTS = ("A", "B"), 8, 4, 10
CALLS = 24  # of a role
PERCENTILES = (("median", 0.5), ("p75", 0.75), ("p90", 0.9), ("p95", 0.95))
TARGET_MS = 50
PATIENCE_S = 600  # for a run; the busy machine is slow
CONF = {"interval_s": 3600, "poll_s": 10, "renew_s": 3, "lease_s": 20, "offer_s": 20, "claim_timeout_s": 600, "max_duration_s": 3600}


class Lab:
    """The programs, and requests to whichever controller the balancer gives."""

    def __init__(self, build, folder):
        import http_watch
        import postgresql
        import requests
        from agent import Agent, UNJUDGED
        from balancer import Balancer
        from controller import Controller
        from engine import Engine
        from ports import PortBlock
        os.environ.update(UNJUDGED)
        http_watch.watch = lambda port: None  # it takes the time of this process
        self._requests, self._stack, self.open_database = requests, ExitStack(), postgresql.Connection
        blocks = [PortBlock() for _ in range(3)]
        self._name = postgresql.server().create()
        self._stack.callback(postgresql.server().drop, self._name)
        # no port that another program may get while it is dead
        first = Controller(database=postgresql.server().uri(self._name), port=blocks[0].http, **CONF)
        other = Controller(**{**first.conf, "port": blocks[0].silent, "key_file": first.state_dir / "master.key", "artifact_store": first.state_dir})
        self.controllers = [first, other]
        for c in self.controllers:
            self._stack.callback(c.close)
            c.start()
            other.keys = first.keys
        self.balancer = self._stack.enter_context(Balancer())
        self.balancer.backends = [c.conf["port"] for c in self.controllers]
        pool = self.ask("POST", "/agent-pools", {"name": "pool"})["agent_pool"]
        self.agents = []
        for number in range(AGENTS):
            self.agents.append(Agent(folder, self.balancer.url, pool["join_token"], (blocks[1].base, blocks[1].base + 199),
                                     name=f"agent{number}", capacity=SHARDS))
            self._stack.callback(self.agents[-1].close)
            self.agents[-1].start()
        answer = {"type": "answer", "credentials": [{"username": f"9{n}"} for n in range(CALLS + 1)]}
        self.phone = self._stack.enter_context(Engine(
            build, "phone", [[answer]], blocks[2], sip_port=blocks[0].phone, offset=0, rtp_last=blocks[2].base + 199,
            max_duration_s=7200))
        self.phone.step(0)
        self.project = self.ask("POST", "/projects", {"name": "project"})["project"]["id"]
        target = self.ask("POST", "/targets", {"name": "phone", "domain": "127.0.0.1", "hosts": [
            {"host": "127.0.0.1", "port": blocks[0].phone, "transport": "udp"}]})["target"]["id"]
        self.tests = [self._test(pool["id"], target, reduced) for reduced in (False, True)]

    def _test(self, pool, target, reduced):
        call = {"type": "call", "target_pool": target, "dial_destination": "9{{n}}", "call_duration": 1, "max_total_calls": CALLS,
                "max_concurrent_calls": CALLS, "calls_per_second": 10, "agents": f"2-{SHARDS}", "allow_reduced": reduced}
        return self.ask("POST", "/tests", {
            "name": f"shards {reduced}", "project_id": self.project, "scenario": "single-call", "agentpool_id": pool, "record": "none",
            "conditions": [], "steps": [[{**call, "role": role} for role in ROLES]]})["test"]["id"]

    def ask(self, method, path, body=None, **headers):
        """Again while a controller is dead or its database is away. @return the parsed body"""
        until = time.monotonic() + 120
        while True:
            try:
                answer = self._requests.request(method, f"{self.balancer.url}/api/v2{path}", json=body, headers=headers,
                                                auth=self.controllers[0].keys["admin"], timeout=60)
                if answer.status_code < 500 and answer.status_code != 409:
                    assert answer.ok, (method, path, answer.status_code, answer.text)
                    return answer.json()
                problem = answer.text
            except self._requests.RequestException as error:
                problem = str(error)
            assert time.monotonic() < until, (method, path, problem)
            time.sleep(0.2)

    def pump(self, stop):
        while not stop.is_set():
            self.phone.pump(0.2)

    def run(self, test, key):
        """@return (run, report) of one that has ended"""
        session = self.ask("POST", f"/tests/{test}/run", {}, **{"Idempotency-Key": key})["data"]["session_id"]
        until = time.monotonic() + PATIENCE_S
        while self.ask("GET", f"/runs/{session}/status")["run"]["status"] == "running":
            assert time.monotonic() < until, f"run {session} did not end: {self.ask('GET', f'/runs/{session}')}"
            time.sleep(0.5)
        return self.ask("GET", f"/runs/{session}")["run"]

    def calls(self, session):
        with self.open_database(self.controllers[0].conf["database"]) as db:
            return db.execute(
                "SELECT l.role, l.shard, e.event_json FROM event e JOIN lease l ON l.id = e.lease_id JOIN run r ON r.id = l.run_id "
                "WHERE r.session_id = ? AND e.kind = 'call'", (session,)).fetchall()

    def evidence(self, run):
        """What is stored of the leases and of the call that the sentence names."""
        call = re.search(r"the first is ([AB]-\d+)", run["result_description"])
        with self.open_database(self.controllers[0].conf["database"]) as db:
            leases = db.execute(
                "SELECT l.role, l.shard, l.state, l.outcome, l.next_seq, l.last_seq, l.agent_name, l.epoch, (SELECT count(*) FROM "
                "upload u WHERE u.lease_id = l.id) FROM lease l JOIN run r ON r.id = l.run_id WHERE r.session_id = ? ORDER BY 1, 2",
                (run["session_id"],)).fetchall()
            events = db.execute(
                "SELECT e.id, e.kind, e.event_json FROM event e JOIN run r ON r.id = e.run_id WHERE r.session_id = ? "
                "AND e.event_json LIKE ? ORDER BY e.id", (run["session_id"], f'%"{call[1] if call else "-"}"%')).fetchall()
        return [*map(str, leases), *map(str, events)]

    def close(self):
        self._stack.close()


def skew(lab, runs):
    found, errors = [], []
    for number in range(runs):
        run = lab.run(lab.tests[0], f"skew-{number}")
        assert run["status"] == "passed", run["result_description"]
        for role in ROLES:
            shards = [s for s in run["shards"] if s["role"] == role]
            assert len(shards) == SHARDS and None not in [s["start_offset_ms"] for s in shards], shards
            found.append(max(s["start_offset_ms"] for s in shards))
            errors += [s["clock_error_ms"] for s in shards]
    found.sort()
    p99 = found[math.ceil(0.99 * len(found)) - 1]
    print(f"{runs} runs of {len(ROLES) * SHARDS} shards on {AGENTS} agents: skew of a role's start, ms: median "
          f"{statistics.median(found):.1f}, p99 {p99:.1f}, most {found[-1]:.1f} (target p99 {TARGET_MS}); error of the clocks: median "
          f"{statistics.median(errors):.1f}, most {max(errors):.1f}", flush=True)
    return p99 <= TARGET_MS


class Killer(threading.Thread):
    """Kills one after the other and starts it again; never both controllers."""

    def __init__(self, lab, seed):
        super().__init__(daemon=True)
        self.lab, self.random, self.stop = lab, random.Random(seed), threading.Event()
        self.killed = collections.Counter()
        self.error = None

    def run(self):
        try:
            while not self.stop.wait(self.random.uniform(3, 6)):
                kind, victims = self.random.choice((("controllers", self.lab.controllers), ("agents", self.lab.agents)))
                victim = self.random.choice(victims)
                victim.kill()
                self.killed[kind] += 1
                self.stop.wait(self.random.uniform(0.5, 3))
                victim.start()
        except BaseException as error:  # pylint: disable=broad-except
            self.error = error


def wrong_percentiles(points, delays):
    """The names of those that are not within 1 % of the samples around their rank."""
    wrong = []
    for name, fraction in PERCENTILES:
        rank = fraction * (len(delays) - 1)
        low, high = delays[math.floor(rank)], delays[math.ceil(rank)]
        if not low * 0.99 <= float(points[name]) <= high * 1.01:
            wrong.append((name, points[name], low, high))
    return wrong


class Account:
    """What the runs ended as, and what is wrong with them."""

    def __init__(self, lab):
        self.lab, self.lock = lab, threading.Lock()
        self.ends, self.sentences, self.wrong = collections.Counter(), collections.Counter(), []
        self.calls = self.compared = 0

    def add(self, run):
        problems, calls = [], self.check_calls(run)
        problems += calls[1]
        if run["status"] not in ("passed", "errored") or "never reported how" in run["result_description"]:
            problems.append(f"status {run['status']}: {run['result_description']}")
            problems += self.lab.evidence(run)
        if run["status"] != "passed" and not run["result_description"]:
            problems.append("no sentence")
        if run["reduced"] and run["status"] == "passed" and "the run went on without" not in run["result_description"]:
            problems.append(f"no word of lost shards: {run['result_description']}")
        compared = 0
        if run["status"] == "passed" and not run["reduced"]:
            for role in ROLES:
                points = self.lab.ask("GET", f"/runs/{run['session_id']}/stats/sip_pdd?role={role}&dir=out")["stats_data"]
                if len(points) != 1:
                    continue  # the run lies in two intervals
                compared += 1
                problems += wrong_percentiles(points[0], sorted(calls[0][role]))
        with self.lock:
            self.ends[run["status"] + (" reduced" if run["reduced"] else "")] += 1
            if run["status"] == "errored":
                self.sentences[run["result_description"].partition(": ")[2][:100]] += 1
            self.calls += sum(map(len, calls[0].values()))
            self.compared += compared
            self.wrong += [(run["session_id"], p) for p in problems]

    def check_calls(self, run):
        """@return ({role: delays of its calls}, problems)"""
        import json
        delays, names, problems = {role: [] for role in ROLES}, collections.Counter(), []
        for role, shard, text in self.lab.calls(run["session_id"]):
            event = json.loads(text)
            number = int(event["call"].rpartition("-")[2]) - 1
            names[role, number] += 1
            if number % SHARDS != shard:
                problems.append(f"call {number} of {role} came from shard {shard}")
            if event.get("pdd_ms") is not None:
                delays[role].append(event["pdd_ms"])
        problems += [f"call {name} came {n} times" for name, n in names.items() if n > 1]
        finished = {(s["role"], s["shard"] - 1) for s in run["shards"] if s["state"] == "finished"}
        if run["status"] == "passed":
            due = {(role, n) for role, n in itertools.product(ROLES, range(CALLS)) if (role, n % SHARDS) in finished}
            problems += [f"no call {name}" for name in due - set(names)]
        return delays, problems


def killed(lab, runs, seed):
    account, killer, todo = Account(lab), Killer(lab, seed), queue.Queue()
    failures = []
    for number in range(runs):
        todo.put(number)

    def client():
        try:
            while True:
                number = todo.get_nowait()
                account.add(lab.run(lab.tests[number % 2], f"killed-{seed}-{number}"))
        except queue.Empty:
            pass
        except BaseException as error:  # pylint: disable=broad-except
            failures.append(error)

    clients = [threading.Thread(target=client) for _ in range(CLIENTS)]
    began = time.monotonic()
    for thread in [*clients, killer]:
        thread.start()
    for thread in clients:
        thread.join()
    killer.stop.set()
    killer.join()
    print(f"{runs} runs by {CLIENTS} clients in {time.monotonic() - began:.0f} s, seed {seed}; killed: {dict(killer.killed)}; ends: "
          f"{dict(account.ends)}; {account.calls} calls reported; percentiles of {account.compared} roles compared")
    for sentence, count in account.sentences.most_common():
        print(f"  {count} errored: {sentence}")
    for problem in [*account.wrong, *failures, *([killer.error] if killer.error else [])]:
        print("  WRONG:", problem)
    return not account.wrong and not failures and not killer.error and sum(account.ends.values()) == runs


def main(build, skew_runs=20, killed_runs=40, seed=None):
    os.environ["OFFHOOK_BUILD"] = build = str(Path(build).resolve())
    seed = int(seed) if seed is not None else random.randrange(1 << 31)
    with tempfile.TemporaryDirectory(prefix="offhook-shards-") as folder:
        lab = Lab(Path(build), folder)
        stop = threading.Event()
        pump = threading.Thread(target=lab.pump, args=(stop,))
        pump.start()
        good = True
        try:
            if int(skew_runs):
                good &= skew(lab, int(skew_runs))
            if int(killed_runs):
                good &= killed(lab, int(killed_runs), seed)
        finally:
            stop.set()
            pump.join()
            lab.close()
    return 0 if good else 1


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 5:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))

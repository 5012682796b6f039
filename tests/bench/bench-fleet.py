#!/usr/bin/python3
"""One controller and a fleet: AGENTS simulated agents that poll, RUNS of them in runs and uploading every 10 s.

The agents are one program without threads that speaks the protocol of docs/internals/wire.md; they make no calls. Each
keeps one connection for its poll and, in a run, one for uploads. Prints processor time and memory of the controller
while all only poll and while they upload, and median and 99th percentile of: from the request that starts a run until
an agent has its job (wake-up), and of one upload of POINTS points. The fleet takes processor time of the same machine: its
own share is printed, too.

Usage: bench-fleet.py BUILD [AGENTS [RUNS [SECONDS [POINTS]]]]      OFFHOOK_TEST_STORE=postgresql: that database
"""
import asyncio
import base64
import json
import os
import resource
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

UPLOAD_S, WAKE_MS = 10, 200
AT_ONCE = 32  # enrolments, and runs that are started


class Connection:
    """HTTP/1.1 on one connection, a request at a time."""

    def __init__(self, port, user):
        self.port, self.reader, self.writer = port, None, None
        self.auth = "" if user is None else "Authorization: Basic " + base64.b64encode(
            ":".join(user).encode()).decode() + "\r\n"

    async def ask(self, method, path, body):
        """Once more where the controller has closed an idle connection. @return (status, parsed body)"""
        used = self.writer is not None
        try:
            return await self.exchange(method, path, body)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.close()
            if not used:
                raise
        return await self.exchange(method, path, body)

    async def exchange(self, method, path, body):
        if not self.writer:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        text = json.dumps(body, separators=(",", ":")).encode()
        self.writer.write(f"{method} /api/v2{path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{self.auth}Content-Type: "
                          f"application/json\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
        content = await self.reader.readexactly(int(fields.get("content-length", 0)))
        if fields.get("connection", "").lower() == "close":
            self.close()
        return int(head[0].split()[1]), json.loads(content) if content else None

    def close(self):
        if self.writer:
            self.writer.close()
        self.writer = None


def points(role, t, count, measures):
    return [{"role": role, "dir": ("in", "out")[i % 2], "measure": measures[i // 2], "t": t, "n": 10, "min": 1.5, "max": 3,
             "avg": 2.25, "median": 2, "p75": 2.5, "p90": 2.75, "p95": 2.875, "stddev": 0.5} for i in range(count)]


class Fleet:
    def __init__(self, c, pool, agents, count, measures):
        self.c, self.pool, self.agents, self.count, self.measures = c, pool, agents, count, measures
        self.port = c.conf["port"]
        self.began = {}  # session of a run -> when it was asked for
        self.wakes, self.uploads, self.failures = [], [], []
        self.got = {}    # session -> when its job came, where that was before the answer
        self.polls = self.asked = self.running = 0
        self.ending = asyncio.Event()
        self.tasks = set()

    def spawn(self, job):
        task = asyncio.create_task(job)
        self.tasks.add(task)
        task.add_done_callback(self.done)

    def done(self, task):
        self.tasks.discard(task)
        if not task.cancelled() and task.exception() and not self.ending.is_set():
            self.failures.append(repr(task.exception()))

    async def enrol(self, limit):
        async def one(number):
            async with limit:
                connection = Connection(self.port, None)
                status, body = await connection.ask("POST", "/agent/register", {
                    "token": self.pool["join_token"], "name": f"agent-{number}", "version": "0.0", "protocols": [1],
                    "features": [], "capacity": 1})
                connection.close()
            assert status == 201, body
            self.spawn(self.agent((body["agent_id"], body["secret"])))
        await asyncio.gather(*(one(number) for number in range(self.agents)))

    async def agent(self, user):
        poll, held = Connection(self.port, user), []
        while not self.ending.is_set():
            self.polls += 1
            self.asked += 1
            status, body = await poll.ask("POST", "/agent/poll", {
                "free": 1 - len(held), "leases": held, "draining": False, "cursor": "", "t": int(time.time() * 1e6)})
            self.polls -= 1
            assert status in (200, 204), (status, body)
            for job in body["jobs"] if status == 200 else ():
                self.woken(job["session_id"])
                held.append(job["lease_id"])
                await self.start(user, job)

    def woken(self, session):
        if session in self.began:
            self.wakes.append((time.perf_counter() - self.began[session]) * 1000)
        else:
            self.got[session] = time.perf_counter()

    async def start(self, user, job):
        connection = Connection(self.port, user)
        status, body = await connection.ask("POST", f"/agent/leases/{job['lease_id']}/start", {})
        assert status == 200, body
        self.spawn(self.run(connection, job))

    async def run(self, connection, job):
        path, seq = f"/agent/leases/{job['lease_id']}", 0
        self.running += 1
        await asyncio.sleep(UPLOAD_S * (self.running % 100) / 100)  # not all at once
        while not self.ending.is_set():
            due = time.perf_counter() + UPLOAD_S
            seq += 1
            body = {"seq": seq, "series": points(job["role"], int(time.time()) // 10 * 10 + seq * 10, self.count, self.measures)}
            began = time.perf_counter()
            status, answer = await connection.ask("POST", f"{path}/stats", body)
            self.uploads.append((time.perf_counter() - began) * 1000)
            assert status == 200, answer
            status, answer = await connection.ask("PUT", path, {"state": "running", "progress": 0.5})
            assert status == 200, answer
            await asyncio.sleep(max(0, due - time.perf_counter()))

    async def start_runs(self, runs):
        """Four a second, so that the time of each is its own."""
        limit, key = asyncio.Semaphore(AT_ONCE), self.c.keys["admin"]

        async def one():
            async with limit:
                connection = Connection(self.port, key)
                began = time.perf_counter()
                status, body = await connection.ask("POST", "/tests/scenarios/registration", {
                    "agentpool_id": self.pool["id"], "target": "sip:127.0.0.1", "username": "1001", "password": "x"})
                connection.close()
            assert status in (200, 201, 202), body
            session = body["data"]["session_id"]
            if session in self.got:
                self.wakes.append((self.got.pop(session) - began) * 1000)
            else:
                self.began[session] = began
        jobs = []
        for _ in range(runs):
            jobs.append(asyncio.create_task(one()))
            await asyncio.sleep(0.25)
        await asyncio.gather(*jobs)

    async def until(self, what, condition, seconds):
        end = time.monotonic() + seconds
        while not condition():
            if self.failures or time.monotonic() > end:
                sys.exit(f"{what}: {self.polls} polls wait, {len(self.wakes)} jobs came; {self.failures[:3]}")
            await asyncio.sleep(0.1)

    async def stop(self):
        self.ending.set()
        for task in list(self.tasks):
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


class Meter:
    """Processor time of the controller and of this program, and the polls, since it was made."""

    def __init__(self, fleet):
        self.fleet, self.at, self.asked = fleet, time.monotonic(), fleet.asked
        self.spent, self.own = self.controller(), time.process_time()

    def controller(self):
        return sum(int(path.read_text().split()[0])
                   for path in Path(f"/proc/{self.fleet.c.process.pid}/task").glob("*/schedstat")) / 1e9

    def show(self, what):
        seconds = time.monotonic() - self.at
        status = Path(f"/proc/{self.fleet.c.process.pid}/status").read_text()
        memory = int(status.split("VmRSS:")[1].split()[0]) / 1024
        print(f"{what}: controller {(self.controller() - self.spent) / seconds:.1%} of a processor, {memory:.0f} MB; "
              f"{(self.fleet.asked - self.asked) / seconds:.0f} polls/s; the fleet itself "
              f"{(time.process_time() - self.own) / seconds:.1%}; load average {os.getloadavg()[0]:.1f}", flush=True)


def show(what, times, limit=None):
    times = sorted(times)
    print(f"{what}: {len(times)}, median {statistics.median(times):.1f} ms, p99 {times[int(len(times) * 0.99)]:.1f} ms"
          f"{f' of {limit}' if limit else ''}", flush=True)


async def measure(c, agents, runs, seconds, count, measures):
    pool = c.api("POST", "/agent-pools", {"name": "fleet"})["agent_pool"]
    fleet = Fleet(c, pool, agents, count, measures)
    try:
        meter = Meter(fleet)
        await fleet.enrol(asyncio.Semaphore(AT_ONCE))
        await fleet.until("enrolment", lambda: fleet.polls == agents, 300)
        meter.show(f"{agents} agents enrol")
        meter = Meter(fleet)
        await asyncio.sleep(seconds)
        meter.show("all poll")
        meter = Meter(fleet)
        await fleet.start_runs(runs)
        await fleet.until("jobs", lambda: len(fleet.wakes) == runs, 300)
        meter.show(f"{runs} runs start")
        show("wake-up", fleet.wakes, WAKE_MS)
        meter, fleet.uploads = Meter(fleet), []
        await asyncio.sleep(seconds)
        meter.show(f"{runs} upload {count} points in {UPLOAD_S} s")
        show("upload", fleet.uploads)
        if fleet.failures:
            sys.exit(f"{len(fleet.failures)} failures: {fleet.failures[:3]}")
    finally:
        await fleet.stop()


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    os.environ["OFFHOOK_BUILD"] = os.path.abspath(sys.argv[1])
    agents, runs, seconds, count = (int(sys.argv[i]) if len(sys.argv) > i else default
                                    for i, default in ((2, 10000), (3, 1000), (4, 60), (5, 40)))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    import re
    from controller import Controller  # noqa: E402  it reads the environment
    text = (Path(__file__).resolve().parents[2] / "control/wire/measure.h").read_text()
    c = Controller(log_level="info", connections=2 * agents + 1000, connections_per_address=0, poll_s=50)
    try:
        c.start()
        asyncio.run(measure(c, agents, runs, seconds, count, re.findall(r"X\((\w+), \"", text)))
    finally:
        c.close()


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Cost of results for the controller: storing uploads of an agent, and reading a run's report.

One run with CALLS calls: an agent that makes no call uploads 500 events, SIP messages or points at a time; then
the data of its report is read repeatedly, complete and public. Prints the processor time of the controller: us per
event, message and point, ms per report. Two builds get the same load in turns, and the ratio is printed.

Usage: bench-results.py BUILD [OTHER [CALLS [ROUNDS]]]
"""
import json
import os
import re
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from controller import Controller  # noqa: E402
from fake_agent import NOW_US, FakeAgent, good_call  # noqa: E402

TIMES = {"poll_s": 1, "renew_s": 1, "lease_s": 60, "offer_s": 30, "claim_timeout_s": 60,
         "log_level": "info"}
REAL = re.compile(r"(?<=:)-?\d+\.\d+(?=[,}])")
MEASURES = ["rtp_jitter", "rtp_mos", "rtp_pkt_per_sec", "rtp_lost"]


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def message(i):
    return {"t": NOW_US + i, "mono": i, "dir": "sent", "transport": "udp", "local": "127.0.0.1:5060",
            "peer": "127.0.0.1:5062", "data": f"OPTIONS sip:a@example.org SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK{i}"
            "\r\nFrom: <sip:a@h>;tag=1\r\nTo: <sip:b@h>\r\nCall-ID: call-" + str(i) + "\r\nCSeq: 1 OPTIONS\r\n"
            + "".join(f"X-Header-{k}: some value of it\r\n" for k in range(10)) + "Content-Length: 0\r\n\r\n"}


def point(role, i):
    value = 1 / (3 + i)
    return {"n": 10, "min": value, "max": value * 3, "avg": value * 2, "median": value, "p75": value, "p90": value,
            "p95": value, "stddev": value / 7, "role": role, "dir": "in", "measure": MEASURES[i % 4],
            "t": 1700000000 + i // 4 * 10, "sketch": {"pos": [[k, k + 1] for k in range(100, 140)]}}


def batches(items, size):
    return [items[i:i + size] for i in range(0, len(items), size)]


def compact(tree):
    """JSON text as an agent writes it: 17 digits, no blanks."""
    return REAL.sub(lambda m: f"{float(m.group()):.17g}", json.dumps(tree, separators=(",", ":")))


class Lab:
    def __init__(self, build, calls):
        os.environ["OFFHOOK_BUILD"] = build
        self.c = Controller(**TIMES)
        self.seq = 0
        self.c.start()
        pool = self.c.api("POST", "/agent-pools", {"name": "p"})["agent_pool"]
        self.agent = FakeAgent(self.c, pool["join_token"], "agent")
        self.run = self.c.api("POST", "/tests/scenarios/registration", {
            "agentpool_id": pool["id"], "target": "sip:127.0.0.1", "username": "1001",
            "password": "x", "report.mode": "kiosk"})["data"]
        self.job = next(iter(self.agent.jobs(1).values()))
        assert self.agent.start(self.job).ok
        role = self.job["role"]
        events = [e for i in range(calls) for e in good_call(role, "1001", "2", True)]
        for i, event in enumerate(events):
            event["t"] += i
            if "streams" in event:
                event["pdd_ms"] = 100 / 3 + i
        self.uploads = {"events": batches(events, 500),
                        "sip": batches([message(i) for i in range(2 * calls)], 500),
                        "stats": batches([point(role, i) for i in range(4 * calls)], 500)}

    def timed(self, work):
        before = cpu_seconds(self.c.process.pid)
        result = work()
        return cpu_seconds(self.c.process.pid) - before, result

    def upload(self, kind):
        """@return us of the controller's processor time per item"""
        def work():
            for items in self.uploads[kind]:
                self.seq += 1
                answer = self.agent.session.post(
                    f"{self.c.url}/api/v2/agent/leases/{self.job['lease_id']}/{kind}", auth=self.agent.auth,
                    headers={"Content-Type": "application/json"}, data=compact(
                        {"seq": self.seq, {"stats": "series", "sip": "messages"}.get(kind, kind): items}))
                assert answer.ok, answer.text
        return self.timed(work)[0] * 1e6 / sum(len(items) for items in self.uploads[kind])

    def read(self, public, rounds):
        """@return (ms of processor time per report, its text)"""
        path = "/kiosk/" + self.run["report_url"].split("/kiosk/")[1] if public else (
            f"/run/details/{self.run['session_id']}")

        def work():
            for _ in range(rounds):
                answer = self.c.session.get(f"{self.c.url}{path}/data", auth=None if public else self.c.keys["admin"])
                assert answer.ok, answer.text
            return answer.text
        seconds, text = self.timed(work)
        return seconds * 1e3 / rounds, text


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    builds = sys.argv[1:3]
    calls = int(sys.argv[3]) if len(sys.argv) > 3 else 5000
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    labs = [Lab(build, calls) for build in builds]
    try:
        for kind in ("events", "sip", "stats"):
            figures = [lab.upload(kind) for lab in labs]
            show(f"upload {kind}, us an item", figures)
        for public in (False, True):
            figures = [[] for _ in labs]
            texts = []
            for _ in range(rounds):
                for lab, mine in zip(labs, figures):
                    ms, text = lab.read(public, 4)
                    mine.append(ms)
                    texts.append(text)
            show(f"report{', public' if public else ''}, {len(texts[0])} bytes, ms",
                 [statistics.median(f) for f in figures])
            if os.environ.get("OFFHOOK_KEEP"):
                for i, text in enumerate(texts[:len(labs)]):
                    Path(f"{os.environ['OFFHOOK_KEEP']}-{i}-{int(public)}.json").write_text(text)
    finally:
        for lab in labs:
            lab.c.close()


def show(what, figures):
    ratio = f", ratio {figures[0] / figures[1]:.2f}" if len(figures) > 1 else ""
    print(f"{what}: {' '.join(f'{f:.1f}' for f in figures)}{ratio}", flush=True)


if __name__ == "__main__":
    main()

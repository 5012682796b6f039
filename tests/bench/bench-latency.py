#!/usr/bin/python3
"""Time until a run begins, and until its verdict is known, with an idle agent.

Starts a controller, one agent and a SIP peer that answers at once, and runs the same
test (one call of half a second without registration) over and over through the API.
Prints the time from sending POST /tests/ID/run to the INVITE at the peer, and from the
last BYE at the peer to the run object with passed or failed (polled every 2 ms): median, 99th
percentile and worst, with their targets, and with references of the same run: a bare request to
the controller (GET /), and starting a program that does nothing.

Usage: bench-latency.py BUILD [RUNS]
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from agent import Agent  # noqa: E402
from controller import Controller  # noqa: E402
from ports import PortBlock  # noqa: E402
from sip_peer import SipPeer  # noqa: E402

TARGETS = {"POST to INVITE": (20, 50), "BYE to verdict": (200, None)}  # ms: median, p99


class Callee:
    """Answers INVITE with SDP, any other request with 200; records when INVITE and BYE arrive."""

    def __init__(self, port, rtp):
        self.times, self._rtp = {}, rtp
        self.peer = SipPeer(port, self._answer)

    def _answer(self, request):
        if request.method == "ACK":
            return None
        self.times.setdefault(request.method, time.monotonic())
        answer = request.reply(200, "OK", f"Contact: <sip:peer@127.0.0.1:{self.peer.port}>")
        if request.method != "INVITE":
            return answer
        sdp = ("v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
               f"m=audio {self._rtp} RTP/AVP 0\r\na=rtpmap:0 PCMU/8000\r\n")
        head = answer.decode().replace(
            "Content-Length: 0", f"Content-Type: application/sdp\r\nContent-Length: {len(sdp)}")
        return (head + sdp).encode()


def set_up(controller, ports):
    target = controller.api("POST", "/targets", {
        "name": "peer", "domain": "127.0.0.1",
        "hosts": [{"host": "127.0.0.1", "port": ports.sip, "transport": "udp"}]})["target"]["id"]
    project = controller.api("POST", "/projects", {"name": "bench"})["project"]["id"]
    pool = controller.api("POST", "/agent-pools", {"name": "pool"})["agent_pool"]
    test = controller.api("POST", "/tests", {
        "name": "latency", "project_id": project, "agentpool_id": pool["id"], "record": "sip",
        "steps": [[{"type": "call", "role": "caller", "target_pool": target,
                    "max_total_calls": 1, "dial_destination": "1000", "call_duration": 0.5}]],
        "conditions": [{"role": "caller", "condition_type": "caller-sipclient-state-conditions",
                        "conditions": [{"type": "has", "state": "CALL_ESTABLISHED"}]}]})
    return pool["join_token"], test["test"]["id"]


def one_run(controller, callee, test):
    """@return (POST to INVITE, BYE to verdict) in ms"""
    callee.times.clear()
    sent = time.monotonic()
    session = controller.api("POST", f"/tests/{test}/run", {})["data"]["session_id"]
    while True:
        run = controller.api("GET", f"/runs/{session}/status")["run"]
        if run["status"] != "running":
            break
        time.sleep(0.002)
    done = time.monotonic()
    if run["status"] != "passed":
        raise SystemExit(f"the run ended {run['status']}: {run['result_description']}")
    return ((callee.times["INVITE"] - sent) * 1000, (done - callee.times["BYE"]) * 1000)


def timed(function, count):
    times = []
    for _ in range(count):
        begin = time.monotonic()
        function()
        times.append((time.monotonic() - begin) * 1000)
    return times


def line(name, times):
    ordered = sorted(times)
    p99 = ordered[min(len(ordered) - 1, round(0.99 * (len(ordered) - 1)))]
    median, target = statistics.median(ordered), TARGETS.get(name)
    text = f"{name:16} median {median:7.1f} ms  p99 {p99:7.1f}  worst {ordered[-1]:7.1f}"
    if target:
        text += f"   target {target[0]}" + (f", p99 {target[1]}" if target[1] else "")
    print(text)


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    os.environ["OFFHOOK_BUILD"] = str(Path(sys.argv[1]).resolve())
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 30
    ports = PortBlock()
    callee = Callee(ports.sip, ports.base + 10)
    with tempfile.TemporaryDirectory() as folder, callee.peer, \
            Controller(log_level="info", interval_s=1) as controller:
        token, test = set_up(controller, ports)
        agent = Agent(folder, controller.url, token, ports.rtp, log_level="info").start()
        try:
            while not any(a["state"] == "online"
                          for a in controller.api("GET", "/agents")["agents"]):
                time.sleep(0.1)
            one_run(controller, callee, test)  # connections and caches are warm from here on
            runs = [one_run(controller, callee, test) for _ in range(count)
                    if time.sleep(1) is None]  # until the agent is idle again
            line("POST to INVITE", [r[0] for r in runs])
            line("BYE to verdict", [r[1] for r in runs])
            line("GET /", timed(lambda: controller.api("GET", "/"), 100))
            line("a bare program", timed(lambda: subprocess.run("/bin/true", check=True), 30))
        finally:
            agent.close()


if __name__ == "__main__":
    main()

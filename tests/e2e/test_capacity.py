"""`offhook capacity` with both daemons, against a phone whose capacity is known: it refuses calls
above a number at a time."""
import json
import os
import signal
import socket
import subprocess
import time
from xml.etree import ElementTree

import pytest

from bench import Bench
from ports import PortBlock
from sip_peer import SipPeer

WAIT_S = 120
LIMIT = 12
SVG = "{http://www.w3.org/2000/svg}"
# Trials as short as the daemons allow: the phone is at its limit at once.
SHORT = ("--trial", 1, "--warm-up", 0, "--cool-down", 0)


class Phone(SipPeer):
    """Takes calls up to a limit and answers 503 to others. Its audio ports swallow what comes."""

    def __init__(self, port, rtp, limit):
        super().__init__(port, self._answer)
        self.limit, self.calls, self.refused, self.most = limit, set(), set(), 0
        self._audio = []
        for number in (rtp, rtp + 1):
            self._audio.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            self._audio[-1].bind(("127.0.0.1", number))
        self._sdp = "\r\n".join([
            "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "c=IN IP4 127.0.0.1", "t=0 0",
            f"m=audio {rtp} RTP/AVP 0", "a=rtpmap:0 PCMU/8000", ""])

    def __exit__(self, *reason):
        super().__exit__(*reason)
        for audio in self._audio:
            audio.close()

    def _answer(self, request):
        call = request.header("call-id")
        if request.method == "INVITE":
            if call in self.refused or (call not in self.calls and len(self.calls) >= self.limit):
                self.refused.add(call)   # also if the INVITE comes again
                return request.reply(503, "Full")
            self.calls.add(call)
            self.most = max(self.most, len(self.calls))
            head = request.reply(200, "OK", f"Contact: <sip:1002@127.0.0.1:{self.port}>",
                                 "Content-Type: application/sdp").decode()
            return head.replace("Content-Length: 0\r\n\r\n",
                                f"Content-Length: {len(self._sdp)}\r\n\r\n{self._sdp}").encode()
        if request.method == "ACK":
            return None
        if request.method == "BYE":
            self.calls.discard(call)
        return request.reply(200, "OK")


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    ports = PortBlock()
    with Bench(tmp_path_factory.mktemp("capacity"), ports, proxy=False) as b, \
            Phone(ports.phone, ports.relay[0], LIMIT) as phone:
        b.phone = phone
        b.test = b.api("POST", "/tests", {
            "name": "calls of a phone", "project_id": b.project_id, "scenario": "single-call",
            "agentpool_id": b.pool_id,
            "steps": [[{"type": "call", "role": "caller", "dial_destination": "1002",
                        "target_pool": b.target(ports.phone),
                        "credential_pool": b.callers}]],
            "conditions": []})["test"]["id"]
        yield b
    ports.close()


@pytest.fixture
def command(build, lab):
    """@return (arguments, environment) of a command"""
    env = {**os.environ, "OFFHOOK_URL": lab.controller.witness().url,
           "OFFHOOK_KEY": ":".join(lab.controller.keys["admin"])}
    return lambda *arguments: ([build / "offhook", "capacity", *map(str, arguments)], env)


def run(command, *arguments, status):
    arguments, env = command(*arguments)
    done = subprocess.run(arguments, env=env, text=True, capture_output=True, timeout=WAIT_S,
                          check=False)
    print(done.stdout + done.stderr)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def test_the_interval_contains_the_limit_of_a_phone(lab, command, tmp_path):
    done = run(command, "calls of a phone", "--calls", "6-30", *SHORT, "--json", "--least", 9,
               "--width", 30, "--plot", tmp_path / "curve.svg", "--junit", tmp_path / "junit.xml", status=0)
    found = json.loads(done.stdout)
    result, trials = found["result"], found["trials"]
    assert result["reached"] and result["limit"] == "target"
    assert result["lower"] <= LIMIT <= result["upper"]
    assert result["upper"] - result["lower"] <= 0.3 * result["lower"]
    assert result["condition"] == "caller: every call placed is established"
    assert "503 Full" in result["sentence"]
    # the trials are what they say they are
    assert len(done.stderr.splitlines()) == len(trials)
    for trial in trials:
        session = lab.api("GET", f"/runs/{trial['session_id']}")["run"]
        assert trial["outcome"] == {"passed": "held", "failed": "failed"}[session["status"]]
        assert (trial["outcome"] == "held") == (trial["load"] <= LIMIT)
        calls = [c for c in lab.report(trial["session_id"])["calls"] if c["role"] == "caller"]
        assert len(calls) == trial["load"]
        assert sum(c["end"] == "rejected" for c in calls) == max(trial["load"] - LIMIT, 0)
    assert lab.phone.most == LIMIT
    svg = ElementTree.parse(tmp_path / "curve.svg").getroot()
    shown = [c.get("class") for c in svg.iter(f"{SVG}circle")]
    assert shown == [t["outcome"] for t in trials]
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()[0]
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    case = suite.find("testcase")
    assert case.get("name") == "calls of a phone" and len(case) == 0


def test_the_lowest_load_fails(lab, command, tmp_path):
    done = run(command, lab.test, "--calls", f"{LIMIT + 1}-40", *SHORT, "--repeats", 1,
               "--junit", tmp_path / "junit.xml", status=1)
    assert f"below {LIMIT + 1} calls at a time: the lowest load, {LIMIT + 1}, fails" in done.stdout
    assert "Limited by the target: caller: every call placed is established" in done.stdout
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()[0]
    assert f"the lowest load, {LIMIT + 1}, fails" in suite.find("testcase/failure").get("message")


def test_the_tester_is_the_limit(lab, command, monkeypatch):
    first, last = lab.ports.rtp
    pairs = (last - first + 1) // 2
    monkeypatch.setattr(lab.phone, "limit", 4 * pairs)
    done = run(command, lab.test, "--calls", f"{pairs // 2}-{2 * pairs}", *SHORT, "--width", 100,
               "--repeats", 1, "--json", status=0)
    result = json.loads(done.stdout)["result"]
    assert result["limit"] == "tester" and result["condition"] is None
    assert result["lower"] <= pairs <= result["upper"]
    assert "of the RTP range" in result["sentence"]


def test_an_interrupt_stops_the_trial_and_prints_what_is_known(lab, command):
    arguments, env = command(lab.test, "--calls", "4-40", "--trial", 60, "--warm-up", 1)
    before = len(lab.api("GET", "/runs?count=1000")["runs"])
    with subprocess.Popen(arguments, env=env, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + WAIT_S
        while len(lab.phone.calls) < 4:  # the first trial
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=WAIT_S)
    print(out + err)
    assert process.returncode == 3
    assert "The search is not complete: interrupted" in out
    runs = lab.api("GET", "/runs?count=1000")["runs"]
    assert len(runs) == before + 1
    assert max(runs, key=lambda r: r["id"])["session_status"] == "stopped"
    assert not lab.phone.calls


@pytest.mark.parametrize("arguments, complaint", [
    ((), "--rate MIN-MAX or --calls MIN-MAX"),
    (("--calls", "40-4"), "it must be MIN-MAX"),
    (("--calls", "1.5-4"), "whole numbers"),
    (("--calls", "1-10001"), "of 1 to 10000"),
    (("--rate", "1-5", "--calls", "1-5"), "one of --rate and --calls"),
    (("--rate", "1-1000", "--trial", "1001"), "more than 1000000 calls a trial"),
    (("--rate", "0.001-10000.5"), "of 0.001 to 10000"),
    (("--calls", "1-5", "--width", "0.5"), "1 to 100"),
    (("--calls", "1-5", "--repeats", "0"), "1 to 100"),
    (("--calls", "1-5", "--max-trials", "1001"), "1 to 1000"),
    (("--calls", "1-5", "--action", "0.1"), "no `call` action there"),
    (("--calls", "1-5", "--set", "step.0.0.max_total_calls=3"), "the search sets it itself"),
    (("--calls", "1-5", "--plot", "/nonexistent/x.svg"), "No such file"),
    (("--calls", "1-5", "another"), "It takes one"),
])
def test_wrong_usage(lab, command, arguments, complaint):
    done = run(command, "calls of a phone", *arguments, status=2)
    assert complaint in done.stderr


def started(process, lab, runs, state):
    """Wait until the search has started so many runs, the calls of the last one are up, and its state has that one."""
    deadline = time.monotonic() + WAIT_S
    while len(lab.api("GET", "/runs?count=1000")["runs"]) < runs or not lab.phone.calls or not (
            state.exists() and json.loads(state.read_text())["running"]):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.1)


def test_a_search_goes_on_where_it_was_killed(lab, command, tmp_path):
    """Killed, then interrupted, then to its end: no trial is made twice but the one that was stopped."""
    search = ("calls of a phone", "--calls", "6-30", "--trial", 2, "--warm-up", 0, "--cool-down", 0,
              "--width", 30, "--state", tmp_path / "search.json")
    arguments, env = command(*search)
    before = len(lab.api("GET", "/runs?count=1000")["runs"])
    for number, how in ((2, signal.SIGKILL), (3, signal.SIGINT)):
        with subprocess.Popen(arguments, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
            started(process, lab, before + number, tmp_path / "search.json")
            process.send_signal(how)
            process.wait(WAIT_S)
        kept = json.loads((tmp_path / "search.json").read_text())
        assert len(kept["trials"]) >= number - 1
        assert (kept["running"] is None) == (how == signal.SIGINT)
    done = run(command, *search, "--json", status=0)
    assert f"the search goes on after {len(kept['trials'])} trials" in done.stderr
    found = json.loads(done.stdout)
    assert [t["session_id"] for t in found["trials"]][:len(kept["trials"])] == [t["session_id"] for t in kept["trials"]]
    assert found["result"]["reached"] and found["result"]["lower"] <= LIMIT <= found["result"]["upper"]
    assert found["result"]["condition"] == "caller: every call placed is established"
    runs = lab.api("GET", "/runs?count=1000")["runs"]
    assert len(runs) - before == len(found["trials"]) + 1  # that of the interrupt
    assert found["seconds"] > kept["seconds"] > 2
    again = json.loads(run(command, *search, "--json", status=0).stdout)  # it is complete
    assert again["trials"] == found["trials"] and again["result"] == found["result"]
    assert len(lab.api("GET", "/runs?count=1000")["runs"]) == len(runs)


def test_a_start_whose_answer_was_not_seen_is_not_made_twice(lab, command, tmp_path):
    """Killed between the answer to a start and the writing of the state: what the file says then is put there."""
    state = tmp_path / "search.json"
    search = ("calls of a phone", "--calls", "6-30", "--trial", 2, "--warm-up", 0, "--cool-down", 0,
              "--width", 30, "--state", state)
    arguments, env = command(*search)
    before = len(lab.api("GET", "/runs?count=1000")["runs"])
    with subprocess.Popen(arguments, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        started(process, lab, before + 1, state)
        process.kill()
        process.wait(WAIT_S)
    kept = json.loads(state.read_text())
    assert kept["starts"] == 1 and not kept["trials"]
    session = kept["running"]["session_id"]
    state.write_text(json.dumps({**kept, "starts": 0, "running": None}))
    with subprocess.Popen(arguments, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + WAIT_S
        while not json.loads(state.read_text())["trials"]:
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        process.wait(WAIT_S)
    kept = json.loads(state.read_text())
    assert kept["trials"][0]["session_id"] == session
    assert len(lab.api("GET", "/runs?count=1000")["runs"]) - before == kept["starts"]


@pytest.mark.parametrize("text, complaint", [
    ("{", "search.json"),
    ("{}", "it is no state of a search"),
    (None, 'it is of another search, whose "max" differs'),
])
def test_a_state_of_something_else_is_refused(lab, command, tmp_path, text, complaint):
    state = tmp_path / "search.json"
    if text is None:
        run(command, lab.test, "--calls", f"{LIMIT + 1}-40", *SHORT, "--repeats", 1, "--state", state, status=1)
    else:
        state.write_text(text)
    kept = state.read_text()
    done = run(command, lab.test, "--calls", f"{LIMIT + 1}-41", *SHORT, "--repeats", 1, "--state", state, status=2)
    assert complaint in done.stderr and state.read_text() == kept

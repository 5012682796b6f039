"""What changed between two runs: planted differences are named first or second, and pairs
of equal runs name none (docs/reference/differences.md)."""
import collections
import itertools
import json
import os
import socket
import threading
import time
from contextlib import contextmanager

import pytest

from bench import Bench, state_condition
from ports import PortBlock
from receiver import Receiver
from sip_peer import SipPeer

# What a busy machine changes by itself. That equal distributions have no difference is a test of
# the module (tests/unit/difference).
FIGURES = ("media", "timing", "retransmission", "tester")

# More of them: the environment variable OFFHOOK_EQUAL_RUNS.
RUNS = int(os.environ.get("OFFHOOK_EQUAL_RUNS", "6"))


class Party:
    """A user agent that answers calls and sends back the RTP that it receives.

    behave(**how): server, lines (in the 200), ringing (codes before it), refusal, codec,
    ptime, delay_s (before it rings), deaf (so many INVITEs are ignored), asks (a request in
    each call), loses and doubles (every nth packet of a stream), sdp (further lines)."""

    def __init__(self, port):
        self._sip = SipPeer(port, self._answer)
        self._lock = threading.Lock()

    def __enter__(self):
        self._media = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._media.bind(("127.0.0.1", 0))
        self._media.settimeout(0.2)
        self._stop = threading.Event()
        self.behave()
        self._thread = threading.Thread(target=self._echo)
        self._thread.start()
        self._sip.__enter__()
        return self

    def __exit__(self, *_):
        self._sip.__exit__(*_)
        self._stop.set()
        self._thread.join()
        self._media.close()

    def behave(self, **how):
        with self._lock:
            self._how = {"server": "party 1.0", "lines": ["Session-Expires: 1800;refresher=uac"],
                         "ringing": [(180, "Ringing")], "refusal": None, "codec": (0, "PCMU"),
                         "ptime": 20, "delay_s": 0, "deaf": 0, "asks": None, "loses": 0,
                         "doubles": 0, "sdp": [], **how}
            self._heard, self._delayed = set(), set()

    def _echo(self):
        counts = collections.Counter()  # of each stream, so that each one loses as much
        while not self._stop.is_set():
            try:
                data, source = self._media.recvfrom(2048)
            except socket.timeout:
                continue
            counts[source] += 1
            if not self._how["loses"] or counts[source] % self._how["loses"]:
                self._media.sendto(data, source)
            if self._how["doubles"] and counts[source] % self._how["doubles"] == 0:
                self._media.sendto(data, source)

    def _sdp(self):
        payload, name = self._how["codec"]
        number = time.monotonic_ns()
        return "\r\n".join([
            "v=0", f"o=party {number} {number} IN IP4 127.0.0.1", "s=-", "c=IN IP4 127.0.0.1", "t=0 0",
            f"m=audio {self._media.getsockname()[1]} RTP/AVP {payload}",
            f"a=rtpmap:{payload} {name}/8000", f"a=ptime:{self._how['ptime']}", *self._how["sdp"], ""])

    def _accept(self, request):
        contact = f"Contact: <sip:party@127.0.0.1:{self._sip.port}>"
        body = self._sdp()
        route = [f"Record-Route: {v}" for v in request.headers.get("record-route", [])]
        head = request.reply(200, "OK", *route, contact, f"Server: {self._how['server']}",
                             *self._how["lines"], "Content-Type: application/sdp").decode()
        return (head.replace("Content-Length: 0", f"Content-Length: {len(body)}") + body).encode()

    def _in_dialog(self, ack):
        """A request of ours within the call."""
        method = self._how["asks"]
        to = ack.header("from")
        return "\r\n".join([
            f"{method} {ack.header('contact') or to.split('<')[1].split('>')[0]} SIP/2.0",
            f"Via: SIP/2.0/UDP 127.0.0.1:{self._sip.port};branch=z9hG4bK{time.monotonic_ns()}",
            f"From: {ack.header('to')}", f"To: {to}", f"Call-ID: {ack.header('call-id')}",
            f"CSeq: 70 {method}", "Max-Forwards: 70", "Content-Length: 0", "", ""]).encode()

    def _answer(self, request):
        with self._lock:
            how, call = self._how, request.header("call-id")
            if request.method == "ACK":
                return self._in_dialog(request) if how["asks"] and not how["refusal"] else None
            if request.method != "INVITE":
                return request.reply(200, "OK") if request.header("cseq") else None
            if how["deaf"] and call not in self._heard:
                self._heard.add(call)
                return None
            if call not in self._delayed:  # not again for an INVITE that is repeated meanwhile
                self._delayed.add(call)
                time.sleep(how["delay_s"])  # the delay that is planted
            ringing = [request.reply(code, text) for code, text in how["ringing"]]
            if how["refusal"]:
                return ringing + [request.reply(*how["refusal"])]
            return ringing + [self._accept(request)]


@contextmanager
def party_lab(folder):
    """An agent and a party, without a proxy; `first`, `usual`: runs of the party as it is, the second undisturbed."""
    ports = PortBlock()
    with Bench(folder, ports, proxy=False, callback_allow="127.0.0.1") as bench, \
            Party(ports.phone) as party:
        bench.party = party
        bench.party_target = bench.target(ports.phone)
        bench.test_id = bench.api("POST", "/tests", {
            "name": "calls to a party", "project_id": bench.project_id,
            "agentpool_id": bench.pool_id, "record": "sip",
            "steps": [[{"type": "call", "role": "caller", "target_pool": bench.party_target,
                        "dial_destination": "1002", "max_total_calls": 3,
                        "max_concurrent_calls": 3, "call_duration": 2}]],
            "conditions": [state_condition("caller", "CALL_ESTABLISHED")]})["test"]["id"]
        bench.first = equal(bench)
        bench.usual = undisturbed(bench)
        yield bench
    ports.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    with party_lab(tmp_path_factory.mktemp("differences")) as bench:
        yield bench


def place(lab, overrides=None, **how):
    lab.party.behave(**how)
    run, _ = lab.run(lab.test_id, overrides)
    return run


def differences(lab, run, before=None):
    asked = f"?with={before['id']}" if before else ""
    return lab.api("GET", f"/runs/{run['session_id']}/differences{asked}")


# name: (behaviour of the party, overrides, kind, part of the sentence)
PLANTED = {
    "software": ({"server": "party 1.1"}, None, "software", '"party 1.0" and is "party 1.1"'),
    "changed header": ({"lines": ["Session-Expires: 900;refresher=uac"]}, None, "header",
                       "Session-Expires of the 200 INVITE"),
    "missing header": ({"lines": []}, None, "header", "is missing; it was"),
    "new header": ({"lines": ["Session-Expires: 1800;refresher=uac", "X-Route: west"]}, None,
                   "header", 'X-Route of the 200 INVITE that caller received is new: "west"'),
    "refusal": ({"refusal": (486, "Busy Here")}, None, "response",
                "INVITE was answered with 486 in 3 of 3 calls of caller; before with 200"),
    "other provisional response": ({"ringing": [(183, "Session Progress")]}, None, "response",
                                   "INVITE was answered with 183"),
    "missing message": ({"ringing": []}, None, "message", "Missing message 180 INVITE"),
    "extra message": ({"asks": "OPTIONS"}, None, "message", "New message OPTIONS"),
    "reason phrase": ({"ringing": [(180, "Ring Ring")]}, None, "header", '"Ring Ring"'),
    "codec": ({"codec": (8, "PCMA")}, None, "codec", '"PCMU/8000" and is "PCMA/8000"'),
    "line of the session description": ({"ptime": 40}, None, "sdp", "The packet time"),
    "attribute": ({"sdp": ["a=sendonly"]}, None, "sdp", "The direction of media"),
    "unknown attribute": ({"sdp": ["a=x-gain:3"]}, None, "sdp", "a=x-gain"),
    "who hangs up": ({"asks": "BYE"}, None, "message", "BYE"),
    "two provisional responses": ({"ringing": [(180, "Ringing"), (183, "Session Progress")]}, None, "message",
                                  "New message 183 INVITE"),
    "duplicates": ({"doubles": 5}, None, "media", "Duplicated packets"),
    "condition": ({}, {"condition.caller.caller-sipclient-state-conditions": {
        "conditions": [{"type": "has", "state": "CALL_HOLD"}], "options": []}}, "condition", "CALL_HOLD"),
    "delay": ({"delay_s": 0.4}, None, "timing", "The time from INVITE to 180 INVITE"),
    "lost request": ({"deaf": 1}, None, "retransmission", "INVITE was sent"),
    "loss": ({"loses": 10}, None, "media", "Packet loss"),
    "parameter": ({}, {"step.0.0.audio_codecs": ["PCMU"]}, "parameter", "audio_codecs"),
}

# What tests below plant that is in no table.
ALONE = ("order of messages",)


def of_kind(found, kind):
    """Without what a busy machine changes by itself, if none of that was planted."""
    return [d for d in found if d["kind"] == kind or d["kind"] not in FIGURES]


@pytest.mark.parametrize("name", PLANTED)
def test_planted_difference_is_named(lab, name):
    how, overrides, kind, part = PLANTED[name]
    run = place(lab, overrides, **how)
    answer = differences(lab, run, lab.usual)
    assert answer["before"]["id"] == lab.usual["id"] and answer["after"]["id"] == run["id"]
    first = of_kind(answer["differences"], kind)[:2]
    assert any(d["kind"] == kind and part in d["sentence"] for d in first), \
        json.dumps(answer["differences"], indent=1)


def equal(lab):
    run = place(lab)
    assert run["status"] == "passed", run["result_description"]
    return run


def undisturbed(lab):
    """A run that the machine did not disturb: the one before it was alike; else the last of six."""
    before = lab.first
    for _ in range(5):
        run = equal(lab)
        if not differences(lab, run, before)["differences"]:
            break
        before = run
    return run


def assert_alike(lab, runs):
    """Each run with each other one: 15 pairs of six runs. tests/bench/bench-differences.py
    compares a hundred pairs, with their figures."""
    for before, after in itertools.combinations(runs, 2):
        found = [d for d in differences(lab, after, before)["differences"] if d["kind"] not in FIGURES]
        assert found == [], json.dumps(found, indent=1)


def test_equal_runs_have_no_difference(lab):
    assert_alike(lab, [equal(lab) for _ in range(RUNS)])


def test_failed_run_is_compared_with_the_last_passed(lab):
    """Without `with`; the refusal explains every condition that failed."""
    passed = place(lab)
    failed = [place(lab, refusal=(503, "Service Unavailable")) for _ in "ab"][1]
    assert failed["status"] == "failed"
    answer = differences(lab, failed)
    assert answer["before"]["id"] == passed["id"]
    first = answer["differences"][0]
    assert (first["kind"], first["before"], first["after"]) == ("response", "200", "503")
    verdicts = lab.api("GET", f"/runs/{failed['id']}")["run"]["verdicts"]
    assert sorted(first["explains"]) == sorted(v["text"] for v in verdicts if not v["passed"])


def test_first_run_of_a_test(lab):
    answer = differences(lab, lab.first)
    assert answer["before"] is None and answer["differences"] == []


def test_reports_as_files_say_what_changed(lab):
    place(lab)
    failed = place(lab, refusal=(503, "Service Unavailable"))
    for name, words in (("junit", "What changed since the last passed run:\n- INVITE was answered with 503"),
                        ("markdown", "| INVITE was answered with 503"),
                        ("html", "<li>INVITE was answered with 503")):
        answer = lab.controller.session.get(
            f"{lab.controller.url}/api/v2/runs/{failed['id']}/report/{name}",
            auth=lab.controller.keys["admin"], timeout=60)
        assert answer.status_code == 200 and words in answer.text, answer.text[:4000]


def test_callback_tells_what_changed(lab):
    place(lab)
    with Receiver() as receiver:
        failed = place(lab, {"callback_url": receiver.url, "callback_on_failure": 1},
                       refusal=(503, "Service Unavailable"))
        until = time.monotonic() + 60
        while not receiver.got:
            assert time.monotonic() < until, "no callback came"
            time.sleep(0.1)
    told = json.loads(receiver.got[0]["body"])
    assert told["id"] == failed["id"]
    assert told["differences"] == differences(lab, failed)["differences"]
    assert told["what_changed"].startswith("INVITE was answered with 503 in 3 of 3 calls of caller; before with 200.")


def test_order_is_named(lab):
    codes = [(180, "Ringing"), (183, "Session Progress")]
    before, after = place(lab, ringing=codes), place(lab, ringing=codes[::-1])
    found = of_kind(differences(lab, after, before)["differences"], "order")
    assert [d["kind"] for d in found] == ["order"], json.dumps(found, indent=1)
    assert "183 INVITE" in found[0]["sentence"] and "180 INVITE" in found[0]["sentence"]

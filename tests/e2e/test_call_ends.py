"""The verdict of a run by how its call ended.

It is the table of docs/reference/conditions.md, each row executed by both daemons
against a peer that behaves as the row says."""
import concurrent.futures
import json
import re
import select
import subprocess
import threading
import time

import pytest

from bench import Bench
from fake_agent import FakeAgent, evidence
from party import (ack_without_answer, answers_in_dialog, breaks_off, busy, bye_for_ack,
                   connection_lost, dtls_that_never_comes, final, gives_up, hangs_up,
                   ice_that_leads_nowhere, ignores_bye, is_not_understood, is_refused,
                   late_offer_within, late_offer_within_theirs, never_acknowledges,
                   never_refreshes, never_sends_prack, no_ack_within, no_contact, Party, picked_up,
                   refers, refuses_bye, replaced, rings, says_nothing, stays, stays_not,
                   takes, transferred, two_calls, unusable)
from peers import ROOT
from ports import PortBlock

UP = ["assert_established", "30000"]
PATIENCE_S = 120


# ---- the table ----

def placed(row, script, ends, words="", **more):
    """ends: "END" or "END, unexpected" of each call of the role."""
    action = {"type": "call", "role": "caller", "dial_destination": "1002",
              "call_duration": "0.3", **more}
    return row, "caller", [[action]], script, ends, words


def taken(row, script, ends, words="", wait_ms=10000, **more):
    return (row, "callee", [[{"type": "register", "role": "callee"},
                             {"type": "answer", "role": "callee", **more}],
                            [{"type": "wait", "role": "callee", "wait_ms": wait_ms}]],
            script, ends, words)


def actions(*more):
    return {"call_duration": "30", "sipclient_actions": [list(a) for a in more]}


LONG = {"call_duration": "60"}
WITHIN = "the answer to an offer within the call"
LOST = "408, 481 or no answer"
CASES = {
    "its duration": placed("`call_duration` over", takes, "local"),
    "hung up by the script": placed("`call_duration` over", takes, "local",
                                    **actions(UP, ("hangup",))),
    "the end of the last step": taken("`call_duration` over", stays, "local"),
    "BYE to the caller": placed("BYE of the peer", hangs_up, "remote", **LONG),
    "BYE to the callee": taken("BYE of the peer", stays_not, "remote"),
    "a script cut off by a BYE": placed(
        "BYE of the peer", hangs_up, "remote",
        "hold  did not hold in call caller-1: the call ended before it was carried out",
        **actions(UP, ("wait", "20000"), ("hold",))),
    "BYE refused": placed("our BYE is refused", refuses_bye, "local"),
    "BYE not answered": placed("our BYE is refused", ignores_bye, "local"),
    "replaced": taken("replaced by another call (RFC 3891); tr", replaced, "local, remote"),
    "transferred": placed("replaced by another call (RFC 3891); tr", transferred, "remote",
                          **actions(UP, ("transfer", "1003"))),
    "session timer": placed("the session timer expired", never_refreshes, "failed, unexpected",
                            "was established, but failed (the session timer expired: no "
                            "refresh within 2 s", session_timer=2, session_refresher="uas",
                            **LONG),
    "re-INVITE answered without SDP": placed(
        WITHIN, answers_in_dialog("INVITE", 200), "failed, unexpected",
        "but failed (the answer to our re-INVITE has no SDP)", **actions(UP, ("reinvite",))),
    "UPDATE answered without SDP": placed(
        WITHIN, answers_in_dialog("UPDATE", 200), "failed, unexpected",
        "but failed (the answer to our UPDATE has no SDP)", **actions(UP, ("update",))),
    "late offer to the caller": placed(
        WITHIN, late_offer_within, "failed, unexpected",
        "but failed (the ACK has no SDP to answer our offer)", **LONG),
    "late offer to the callee": taken(
        WITHIN, late_offer_within_theirs, "failed, unexpected",
        "callee-1 from sip:adv@127.0.0.1:PORT was established, but failed (the ACK has no SDP "
        "to answer our offer)"),
    "481 within": placed(LOST, answers_in_dialog("OPTIONS", 481), "failed, unexpected",
                         "but failed (481 to our OPTIONS)", **actions(UP, ("options",))),
    "408 within": placed(LOST, answers_in_dialog("MESSAGE", 408), "failed, unexpected",
                         "but failed (408 to our MESSAGE)",
                         **actions(UP, ("message", "hello"))),
    "481 to a re-INVITE": placed(LOST, answers_in_dialog("INVITE", 481), "failed, unexpected",
                                 "but failed (481 to our re-INVITE)", **actions(UP, ("reinvite",))),
    "connection lost": placed(LOST, connection_lost, "failed, unexpected",
                              "but failed (no answer to our OPTIONS)",
                              **actions(UP, ("wait", "500"), ("options",))),
    "no answer within": placed(LOST, says_nothing, "failed, unexpected",
                               "but failed (no answer to our OPTIONS)",
                               call_duration="60", sipclient_actions=[UP, ["options", ""]]),
    "no ACK within": placed("no ACK to a 200 of ours to a re-INVITE", no_ack_within,
                            "failed, unexpected", "but failed (no ACK for our 200 OK within 32 s)",
                            **LONG),
    "DTLS": placed("DTLS or ICE failed", dtls_that_never_comes, "failed, unexpected",
                   "was established, but failed (", media_encryption="dtls", **LONG),
    "ICE": placed("DTLS or ICE failed", ice_that_leads_nowhere, "failed, unexpected",
                  "was established, but failed (", media_nat="ice", **LONG),
    "STUN": placed("the STUN or TURN server cannot", None, "failed, unexpected",
                   "was not established (", media_nat="stun", stun_server="127.0.0.1:SILENT"),
    "busy": placed("3xx that is not followed", final(486), "rejected, unexpected",
                   "was not established (486 "),
    "redirected": placed("3xx that is not followed", final(302, "Contact: <sip:x@127.0.0.1:9>"),
                         "rejected, unexpected", "was not established (302 ", max_redirects=0),
    "rings for ever": placed("no final answer within", rings, "failed, unexpected",
                             "was not established (no final answer within 5 s)",
                             ring_timeout=5),
    "refused by the network": placed("no final answer within", None, "failed, unexpected",
                                     "was not established (connection refused by"),
    "the answer has no SDP": placed("the answer cannot be used", unusable(lambda p: ""),
                                    "failed, unexpected",
                                    "was not established (the answer has no SDP)"),
    "port 0": placed("the answer cannot be used",
                     unusable(lambda p: re.sub(r"m=audio \d+", "m=audio 0", p.sdp)),
                     "failed, unexpected", "was not established ("),
    "no Contact": placed("the answer cannot be used", no_contact, "failed, unexpected",
                         "was not established (the 2xx to INVITE has no usable"),
    "cancelled": placed("cancelled by us", rings, "cancelled, unexpected",
                        "was not established (cancelled by us)",
                        **actions(("assert_state", "CALL_RINGING"), ("hangup",))),
    "picked up": ("replaced by another call while it rang", "caller", [
        [{"type": "register", "role": "caller"}, {"type": "answer", "role": "caller"}],
        [{"type": "call", "role": "caller", "dial_destination": "1002"}]], picked_up,
        "cancelled, unexpected, remote", "was not established (replaced by another call)"),
    "answer_code": taken("refused as told", is_refused(486), "rejected", answer_code=486),
    "answer_code 302": taken("refused as told", is_refused(302), "rejected", answer_code=302,
                             answer_contact="sip:1003@127.0.0.1"),
    "reject": taken("refused as told", is_refused(480), "rejected",
                    sipclient_actions=[["reject", "480"]]),
    "redirect": taken("refused as told", is_refused(302), "rejected",
                      sipclient_actions=[["redirect", "sip:1003@127.0.0.1"]]),
    "hung up before the answer": taken("refused as told", is_refused(603), "rejected",
                                       answer_delay=60000, sipclient_actions=[["hangup", ""]]),
    "ring_only, CANCEL": taken("`ring_only`", gives_up, "cancelled", ring_only=1),
    "ring_only to the end": taken("`ring_only`", is_refused(603), "rejected", ring_only=1),
    "the caller gives up": taken("cancelled by the caller before", gives_up,
                                 "cancelled, unexpected",
                                 "from sip:adv@127.0.0.1:PORT was not established (cancelled by the caller)",
                                 answer_delay=60000),
    "488": taken("refused by us for its offer", is_not_understood, "rejected, unexpected",
                 "was not established (488 no common codec"),
    "answered too late": taken("the job ended before", is_refused(603), "rejected, unexpected",
                               "was not established (603 Decline", answer_delay=60000),
    "no ACK": taken("no ACK to our 200 within 32 s", never_acknowledges, "failed, unexpected",
                    "was not established (no ACK for our 200 OK within 32 s)", wait_ms=38000),
    "no PRACK": taken("no ACK to our 200 within 32 s", never_sends_prack, "failed, unexpected",
                      "was not established (no PRACK", wait_ms=38000, prack="supported",
                      sipclient_actions=[["sndcode", "183"]], answer_delay=1000),
    "no answer in the ACK": taken("no ACK to our 200 within 32 s", ack_without_answer,
                                  "failed, unexpected",
                                  "was not established (the ACK has no SDP to answer our offer)"),
    "BYE for ACK": taken("a BYE instead of the ACK", bye_for_ack, "remote, unexpected",
                         "was not established (hung up by the peer)"),
    "re-INVITE refused": placed("re-INVITE or UPDATE of the script refused",
                                answers_in_dialog("INVITE", 488), "local",
                                "reinvite  did not hold in call caller-1: was refused: 488",
                                call_duration="1", sipclient_actions=[UP, ["reinvite", ""]]),
    "too many": taken("above `max_total_calls`", two_calls, "remote", max_total_calls=1),
    "transferred to a busy one": taken("placed for the transfer of another call (`placed_for`) "
                                       "and not", refers(busy), "remote, rejected, unexpected"),
    "a stream": ("a `stream` action's duration", "caller", [[
        {"type": "stream", "role": "caller", "dial_destination": "127.0.0.1:RTP_OF_PEER",
         "call_duration": "0.3"}]], None, "local", ""),
    "transferred, then dropped": taken("placed for the transfer of another call and dropped",
                                       refers(breaks_off), "remote, failed, unexpected",
                                       "was established, but failed (the ACK has no SDP"),
}
# rows that are produced by other means than a peer with raw messages
OTHERS = {"the run was stopped by a user", "`max_duration` over",
          "the agent never accounted",
          "no RTP port was free",   # test_starts.py
          "the kernel refuses to send to the address"}   # test_adversary.py


def table():
    """{first cell: other cells} of the table of ends"""
    text = (ROOT / "docs" / "reference" / "conditions.md").read_text()
    section = text.split("\n## How a call ended\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")]
            for line in section.splitlines() if line.startswith("| ")][1:]
    return {row[0]: row[1:] for row in rows if not row[0].startswith("**")}


def row_of(start):
    found = [cells for first, cells in table().items() if first.startswith(start)]
    assert len(found) == 1, (start, found)
    return found[0]


def test_every_row_is_executed():
    starts = {case[0] for case in CASES.values()} | OTHERS
    for first in table():
        assert [s for s in starts if first.startswith(s)], first
    for start in starts:
        row_of(start)


class Lab:
    """Runs of one controller and one agent, several in parallel."""

    def __init__(self, folder):
        self.ports = PortBlock()
        self.bench = Bench(folder, self.ports, proxy=False,
                           agent_conf={"capacity": 24}).__enter__()

    def close(self):
        self.bench.__exit__(None, None, None)
        self.ports.close()

    def test(self, role, steps, peer, conditions):
        steps = json.loads(json.dumps(steps).replace("SILENT", str(self.ports.silent))
                           .replace("RTP_OF_PEER", str(peer.rtp_port)))
        target = self.bench.target(peer.port if peer.plays else self.ports.silent,
                                   peer.transport)
        users = self.bench.callers if role == "caller" else self.bench.callees
        for action in (a for step in steps for a in step):
            if action["type"] in ("register", "call"):
                action.update(target_pool=target, credential_pool=users)
        return self.bench.api("POST", "/tests", {
            "name": f"test {target}", "project_id": self.bench.project_id,
            "agentpool_id": self.bench.pool_id, "record": "sip", "steps": steps,
            "conditions": list(conditions)})["test"]["id"]

    def run(self, role, steps, script, conditions=(), meanwhile=None):
        """@return (run object, its calls by name); fails if the peer's script failed"""
        with Party(script) as peer:
            try:
                test = self.test(role, steps, peer, conditions)
                session = self.bench.start(test)
                if meanwhile:
                    meanwhile(peer, session)
                run = self.bench.wait(session, PATIENCE_S)
                calls = sorted(self.bench.report(session)["calls"], key=lambda c: c["call"])
            finally:
                peer.over.set()
        assert peer.failure is None
        return run, calls, peer

    def case(self, name):
        _, role, steps, script, _, _ = CASES[name]
        return self.run(role, steps, script)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    lab = Lab(tmp_path_factory.mktemp("ends"))
    yield lab
    lab.close()


@pytest.fixture(scope="module")
def runs(lab, request):
    wanted = {item.callspec.params["name"] for item in request.session.items
              if item.originalname == "test_verdict" and item.module is request.module}
    slow = ("no ACK", "no PRACK", "no answer within", "no ACK within", "DTLS", "ICE", "STUN")
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        yield {name: pool.submit(lab.case, name)
               for name in sorted(wanted, key=lambda n: n not in slow)}


def said(ends):
    """[(end, expected_end)] of "local, failed, unexpected" """
    found = []
    for word in ends.split(", "):
        if word == "unexpected":
            found[-1] = (found[-1][0], False)
        else:
            found.append((word, True))
    return found


@pytest.mark.parametrize("name", CASES)
def test_verdict(runs, name):
    start, _, _, _, ends, words = CASES[name]
    run, calls, peer = runs[name].result()
    assert [(c["end"], c["expected_end"]) for c in calls] == said(ends), calls
    assert run["status"] == ("failed" if words else "passed"), run["result_description"]
    assert words.replace("PORT", str(peer.port)) in run["result_description"]
    # the row says the same
    end, expected, verdict = row_of(start)
    if end in ("as it ends later", "no `call` event"):
        return
    assert set(said(ends)) & {(e, x == "true") for e in end.split(", ")
                              for x in expected.split(", ")}, (end, expected)
    if words and "did not hold" not in words:
        assert verdict.startswith("fails"), verdict
    else:
        assert not verdict.startswith("fails"), verdict


# ---- rows that are not caused by a peer ----

def test_stopped_by_a_user(lab):
    def stop(peer, session):
        while lab.bench.api("GET", f"/runs/{session}")["run"]["phase"] != "running" or \
                not peer.target:
            time.sleep(0.05)
        lab.bench.api("POST", f"/runs/{session}/stop")

    _, role, steps, script, _, _ = placed("", takes, "", **LONG)
    run, _, _ = lab.run(role, steps, script, meanwhile=stop)
    assert (run["status"], run["is_failed"], run["has_passed"]) == ("stopped", 0, 0)
    assert row_of("the run was stopped by a user")[2].startswith("`stopped`")


def test_max_duration_and_a_call_nobody_accounted_for(tmp_path, ports):
    with Bench(tmp_path, ports, proxy=False, max_duration_s=8) as bench:
        lab = Lab.__new__(Lab)
        lab.bench, lab.ports = bench, ports
        _, role, steps, script, _, _ = placed("", takes, "", **LONG)
        run, calls, _ = lab.run(role, steps, script)
        assert [(c["end"], c["expected_end"]) for c in calls] == [("local", True)]
        assert run["status"] == "failed"
        assert "did not end within max_duration (8 s)" in run["result_description"]

        pool = bench.api("POST", "/agent-pools", {"name": "fake"})["agent_pool"]
        fake = FakeAgent(bench.controller, pool["join_token"], "fake")
        test = bench.api("POST", "/tests", {
            "name": "unaccounted", "project_id": bench.project_id, "agentpool_id": pool["id"],
            "steps": [[{"type": "answer", "role": "callee"}]]})["test"]["id"]
        session = bench.start(test)
        job = fake.jobs(1)["callee"]
        assert fake.start(job).ok
        assert fake.barrier(job, 0).ok
        states = [{**evidence(), "kind": "state", "state": state, "account": "1002",
                   "call": "callee-1"} for state in ("CALL_INCOMING", "CALL_ESTABLISHED")]
        assert fake.upload(job, "events", states + [evidence()]).ok
        assert fake.finish(job).ok
        run = bench.wait(session)
        assert run["status"] == "errored"
        assert "never reported how 1 call ended (the first is callee-1)" in run["result_description"]


# ---- conditions that replace the rule ----

def condition(kind, *items):
    return [{"role": "caller", "condition_type": f"caller-{kind}-conditions",
             "conditions": list(items)}]


HEADER = condition("sip", {"direction": "sent", "cseq": "INVITE", "method": "INVITE",
                           "field": "header", "header": "User-Agent", "type": "ispresent"})
BUSY = condition("sip", {"direction": "received", "cseq": "INVITE", "method": "486",
                         "field": "message", "type": "ispresent"})
PDD = condition("postdial-delay", {"type": "le", "value": "60000"})
FAILED = condition("sipclient-state", {"type": "has", "state": "CALL_FAILED"})
DROPPED = condition("call-count", {"count": "dropped", "type": "eq", "value": "1"})


@pytest.mark.parametrize("script, conditions, passes", [
    (late_offer_within, HEADER, False), (late_offer_within, PDD, False),
    (late_offer_within, FAILED, True), (late_offer_within, DROPPED, True),
    (final(486), HEADER, False), (final(486), BUSY, True)],
    ids=["a header", "the PDD", "CALL_FAILED", "dropped calls", "a header of a busy call",
         "the final response"])
def test_conditions(lab, script, conditions, passes):
    _, role, steps, _, _, _ = placed("", script, "", **LONG)
    run, _, _ = lab.run(role, steps, script, conditions)
    assert run["status"] == ("passed" if passes else "failed"), run["result_description"]
    assert ("ACK has no SDP" in run["result_description"] or
            "486" in run["result_description"]) != passes


def test_a_scenario(lab):
    """single-call-caller requires CALL_ESTABLISHED; the call breaks off after that."""
    with Party(late_offer_within) as peer:
        try:
            data = lab.bench.api("POST", "/tests/scenarios/single-call-caller", {
                "agentpool_id": lab.bench.pool_id, "target": f"127.0.0.1:{peer.port}",
                "username": "1001", "password": "x", "dial_destination": "1002", "register": 0,
                "duration": "60", "conditions": [
                    {"role": "caller", "condition_type": "caller-mos-conditions",
                     "conditions": []}]})["data"]
            run = lab.bench.wait(data["session_id"])
        finally:
            peer.over.set()
    assert peer.failure is None
    assert run["status"] == "failed"
    assert "reached CALL_FAILED, expected not" in run["result_description"]


# ---- the command line ----

def echo(peer):
    """Send received packets back with an SSRC of its own."""
    while not peer.over.is_set():
        if select.select([peer._rtp], [], [], 0.02)[0]:
            data, source = peer._rtp.recvfrom(2048)
            peer._rtp.sendto(data[:8] + b"echo" + data[12:], source)
            peer.echoed += 1


def talks(script):
    """Run the script, with audio both ways."""
    def with_audio(peer):
        peer.echoed = 0
        peer.echo = threading.Thread(target=echo, args=(peer,), daemon=True)
        peer.echo.start()
        script(peer)
    return with_audio


def half_a_second(peer):
    """Wait until so much audio went both ways."""
    until = time.monotonic() + PATIENCE_S
    while peer.echoed < 25:
        assert time.monotonic() < until, "no audio comes"
        time.sleep(0.02)


def offhook(build, command, *arguments):
    """@return (exit status, the JSON object it printed)"""
    done = subprocess.run([build / "offhook", command, *map(str, arguments), "--json"],
                          text=True, capture_output=True, timeout=PATIENCE_S)
    assert done.stderr == "" and done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout)


def after_audio(then):
    """A call from `offhook call`: half a second of audio, then the script."""
    def script(peer):
        peer.called()
        half_a_second(peer)
        then(peer)
    return talks(script)


def offers_late(peer):
    peer.request("INVITE")
    peer.final("INVITE")
    peer.request("ACK", cseq=peer.cseq)
    peer.end()


@pytest.mark.parametrize("then, end, passes, words", [
    (offers_late, "failed", False,
     "was established, but ended failed: the ACK has no SDP to answer our offer"),
    (Party.hang_up, "remote", True, "audio flowed both ways")], ids=["late offer", "BYE"])
def test_offhook_call(build, ports, then, end, passes, words):
    with Party(after_audio(then)) as peer:
        status, result = offhook(build, "call", f"sip:1002@127.0.0.1:{peer.port}", "--duration",
                                 20, "--rtp-ports", "{}-{}".format(*ports.rtp))
        peer.over.set()
    assert peer.failure is None
    assert [c["end"] for c in result["calls"]] == [end]
    assert words in result["reason"], result["reason"]
    assert (status, result["passed"], result["errored"]) == (0 if passes else 1, passes, False)


def calls(then, body=None):
    """A call to `offhook answer`: half a second of audio, then the script."""
    def script(peer):
        then(peer, *peer.invite("bob", peer.callee_port, body))
    return talks(script)


def late_within(peer, _, answer):
    peer.established(answer if answer.code == 200 else peer.expect("SIP/2.0 200"))
    half_a_second(peer)
    offers_late(peer)


def late_from_the_start(peer, _, answer):
    peer.established(answer if answer.code == 200 else peer.expect("SIP/2.0 200"))
    peer.end()


def leaves(peer, _, answer):
    peer.established(answer if answer.code == 200 else peer.expect("SIP/2.0 200"))
    half_a_second(peer)
    peer.hang_up()


def takes_no(peer, branch, answer):
    while answer.code < 200:
        answer = peer.expect("SIP/2.0 ")
    assert answer.code == 486, answer.text
    peer.request("ACK", branch=branch, cseq=peer.cseq)


@pytest.mark.parametrize("then, body, options, end, passes, words", [
    (late_within, None, (), "failed", False,
     "was established, but ended failed: the ACK has no SDP to answer our offer"),
    (late_from_the_start, "", (), "failed", False,
     "was not established (failed): the ACK has no SDP to answer our offer"),
    (leaves, None, (), "remote", True, "audio flowed both ways"),
    (takes_no, None, ("--actions", '[["reject", "486"]]'), "rejected", True,
     "1 call was refused, as asked")],
    ids=["late offer within", "late offer", "BYE", "rejected as asked"])
def test_offhook_answer(build, ports, then, body, options, end, passes, words):
    with Party(calls(then, body), ports.sip) as peer:
        status, result = offhook(build, "answer", "--bind", "127.0.0.1", "--user", "bob",
                                 "--sip-port", ports.sip, "--rtp-ports",
                                 "{}-{}".format(*ports.rtp), *options)
        peer.over.set()
    assert peer.failure is None
    assert [c["end"] for c in result["calls"]] == [end]
    assert words in result["reason"], result["reason"]
    assert (status, result["passed"], result["errored"]) == (0 if passes else 1, passes, False)

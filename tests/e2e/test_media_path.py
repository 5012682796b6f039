"""Calls that share their RTP sockets: what each receives is told apart, or refused, or counted as of no call."""
import os
import random
import re

from bench import CALLEE, Bench, assert_no_flaws, evidence
from engine import Engine, target
from peers import SippCallee
from relay import TO_CALLEE, TO_CALLER, Relay

SHARED = {"media_path": "shared"}
CALLS = 12
RECEIVER = {TO_CALLEE: "callee", TO_CALLER: "caller"}


def shared_test(bench, duration, **more):
    return bench.api("POST", "/tests", {
        "name": f"shared sockets {more}", "project_id": bench.project_id, "scenario": "single-call",
        "agentpool_id": bench.pool_id, "record": "sip", "conditions": [],
        "steps": [[{"type": "register", "role": "callee", "target_pool": bench.target_id,
                    "credential_pool": bench.callees}, {"type": "answer", "role": "callee", **SHARED, **more},
                   {"type": "register", "role": "caller", "target_pool": bench.target_id,
                    "credential_pool": bench.callers}],
                  [{"type": "call", "role": "caller", "max_total_calls": CALLS, "max_concurrent_calls": CALLS,
                    "calls_per_second": 10, "dial_destination": CALLEE, "call_duration": duration,
                    **SHARED, **more}]]})["test"]["id"]


def streams(report, role, direction):
    """{SSRC: stream} of all calls of a role"""
    found = [s for c in report["calls"] if c["role"] == role for s in c["streams"] if s["dir"] == direction]
    assert len(found) == CALLS and len({s["ssrc"] for s in found}) == CALLS, found
    return {s["ssrc"]: s for s in found}


def unassigned(report, role):
    return evidence(report, role)["unassigned_packets"]


def descriptions(bench, session):
    """The SDP of each INVITE and its answer."""
    return bench.controller.session.get(f"{bench.controller.url}/run/details/{session}/sip.txt",
                                        auth=bench.controller.keys["admin"], timeout=60).text


def test_agents_that_share_lose_and_confuse_nothing(tmp_path, ports):
    with Bench(tmp_path, ports) as bench:
        for more in ({}, {"media_encryption": "sdes-mandatory"}):
            run, report = bench.run(shared_test(bench, 4, **more), timeout=90)
            assert run["status"] == "passed", run["result_description"]
            text = descriptions(bench, run["session_id"])
            # one port a side, and an SSRC a call and side
            assert len(set(re.findall(r"^m=audio (\d+) ", text, re.M))) == 2
            assert len(set(re.findall(r"^a=ssrc:(\d+) cname:[0-9a-f]+\r?$", text, re.M))) == 2 * CALLS
            for role, peer in (("caller", "callee"), ("callee", "caller")):
                received, sent = streams(report, role, "in"), streams(report, peer, "out")
                assert set(received) == set(sent)
                for ssrc, stream in received.items():
                    assert 0 < stream["received"] <= sent[ssrc]["packets"], (stream, sent[ssrc])
                    assert stream["lost"] == stream["duplicates"] == 0, stream
                # the rest came after its call had ended here: it is counted, with a few reports
                late = sum(s["packets"] for s in sent.values()) - sum(s["received"] for s in received.values())
                assert late <= unassigned(report, role) <= late + 4 * CALLS
            assert_no_flaws(report)


def test_losses_of_each_call_are_its_own(tmp_path, ports):
    seed = int(os.environ.get("OFFHOOK_SEED", random.randrange(1 << 32)))
    print(f"seed {seed}")
    direction = random.Random(seed).choice((TO_CALLEE, TO_CALLER))
    with Relay(ports.control, ports.relay, 0.05, direction, seed) as relay, Bench(tmp_path, ports, relay) as bench:
        run, report = bench.run(shared_test(bench, 6), timeout=90)
    assert run["status"] == "passed", run["result_description"]
    assert not relay.errors
    for way in (TO_CALLEE, TO_CALLER):
        received = streams(report, RECEIVER[way], "in")
        log = relay.log(way)
        assert {int(ssrc, 16) for ssrc in received} == set(log)
        for ssrc, stream in received.items():
            kept = [i for i, p in enumerate(log[int(ssrc, 16)]) if not p.dropped]
            late = len(kept) - stream["received"]   # after the call had ended here
            assert 0 <= late <= unassigned(report, RECEIVER[way]), (stream, len(kept))
            kept = kept[:stream["received"]]
            assert stream["lost"] == kept[-1] - kept[0] + 1 - len(kept), stream
    lost = sum(p.dropped for log in relay.log(direction).values() for p in log)
    assert lost > 0


class SippTwice(SippCallee):
    """It takes two calls, and names the same RTP port in both of its answers."""

    def __init__(self, folder, sip_port, rtp):
        super().__init__(folder, sip_port, rtp)
        self._command[self._command.index("-m") + 1] = "2"


def calls_of(build, ports, *sip_ports):
    """Calls to these ports, all at a time, with shared sockets. @return the engine, its evidence"""
    step = [{"type": "call", "dial_destination": "phone", "call_duration": "3", "max_total_calls": 2 // len(sip_ports),
             "max_concurrent_calls": 2, "calls_per_second": 10, "audio_codecs": ["PCMU"],
             "target": target("127.0.0.1", port), "credentials": [{"username": "1001"}], **SHARED}
            for port in sip_ports]
    with Engine(build, "caller", [step], ports) as engine:
        engine.run()
    return engine, next(e for e in engine.events if e["kind"] == "evidence")


def test_foreign_peers_are_told_by_their_addresses(build, tmp_path, ports):
    """Two SIPps, without a=ssrc: both send the same SSRC, or any."""
    other = ports.base + 6
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    with SippCallee(folders[0], ports.phone, ports.relay), \
            SippCallee(folders[1], other, (ports.relay[0] + 40, ports.relay[1])):
        engine, figures = calls_of(build, ports, ports.phone, other)
    calls = engine.calls()
    assert [c["end"] for c in calls] == ["local", "local"], engine.asserts()
    for call in calls:
        stream, = (s for s in call["streams"] if s["dir"] == "in")
        assert stream["received"] > 100 and stream["lost"] == 0 and stream["duplicates"] == 0, stream
    assert figures["foreign_packets"] == 0, figures


def test_two_calls_to_one_address_without_ssrc_are_refused(build, tmp_path, ports):
    with SippTwice(tmp_path, ports.phone, ports.relay):
        engine, _ = calls_of(build, ports, ports.phone)
    first, second = sorted(engine.calls(), key=lambda c: c["end"] == "failed")
    assert (first["end"], second["end"]) == ("local", "failed")
    assert "another call has the peer's RTP address" in second["reason"], second

"""Placeholders in the arguments of sipclient_actions, as a peer receives them."""
import json
import re
import subprocess

import pytest

from adversary import Peer, uri
from bench import Bench
from ports import PortBlock
from test_api_basics import problem


@pytest.fixture(scope="module", name="bench")
def bench_fixture(tmp_path_factory):
    ports = PortBlock()
    with Bench(tmp_path_factory.mktemp("placeholders"), ports, proxy=False) as bench:
        yield bench
    ports.close()


def recorder(calls, heard):
    """A peer that answers calls, one after the other, and every request in them."""
    def script(peer):
        for _ in range(calls):
            peer.called()
            got, seen = {"digits": ""}, set()
            while (request := peer.expect("MESSAGE", "REFER", "INFO", "OPTIONS", "BYE")):
                if request.method == "REFER":
                    peer.reply(request, 202, headers=["Refer-Sub: false"])
                else:
                    peer.reply(request, 200)
                if request.method == "BYE":
                    break
                if request.get("CSeq") in seen:
                    continue  # sent again, as our answer came late
                seen.add(request.get("CSeq"))
                if request.method == "MESSAGE":
                    got["message"] = request.body
                elif request.method == "REFER":
                    got["transfer"] = uri(request.get("Refer-To"))
                elif request.method == "INFO":
                    got["digits"] += re.search(r"Signal=(\S)", request.body)[1]
                else:
                    got["options"] = request.start.split(" ")[1]
            heard.append(got)
    return script


def test_each_call_is_filled_in(bench):
    """Call n, of two accounts to three users of C, has the values of its own
    dial_destination."""
    callers = bench.credentials("callers", {"2001": "x", "2002": "x"})
    others = bench.credentials("others", {"31": "x", "32": "x", "33": "x"})
    heard = []
    with Peer(recorder(3, heard)) as peer:
        target = bench.target(peer.port)
        actions = [["assert_established"],
                   ["message", "{{n}}: {{credential.username}} asks for {{ C.username }}"],
                   ["dtmf", "{{C.username}}# 40 40"], ["options", ""],
                   ["transfer", "sip:{{C.username}}@example.test norefersub"], ["hangup"]]
        test = bench.api("POST", "/tests", {
            "name": "placeholders", "project_id": bench.project_id, "agentpool_id": bench.pool_id,
            "record": "sip", "steps": [
                [{"type": "answer", "role": "C", "credential_pool": others}],
                [{"type": "call", "role": "caller", "credential_pool": callers,
                  "target_pool": target, "dial_destination": "{{C.username}}",
                  "max_total_calls": 3, "max_concurrent_calls": 1, "calls_per_second": 100,
                  "call_duration": 30, "dtmf_mode": "info", "sipclient_actions": actions}]],
            "conditions": []})["test"]["id"]
        session = bench.start(test)
        run = bench.wait(session, 100)
    assert peer.failure is None, (peer.failure, run)
    domain = "sip:{}@example.test"
    assert [(h["message"], h["digits"], h["transfer"]) for h in heard] == [
        ("0: 2001 asks for 31", "31#", domain.format(31)),
        ("1: 2002 asks for 32", "32#", domain.format(32)),
        ("2: 2001 asks for 33", "33#", domain.format(33))]
    # every action succeeded; it does not matter here that the peer sends no audio
    assert not re.search("message|dtmf|options|transfer|hangup", run["result_description"]), run


@pytest.mark.parametrize("actions, place, words", [
    ([["message", "a {{D.username}}"]], "/step.0.0.sipclient_actions/0/1", "placeholder"),
    ([["hold", ""], ["transfer", "{{nobody}}"]], "/step.0.0.sipclient_actions/1/1", "placeholder"),
    ([["play", "{{D.username}}.wav"]], "/step.0.0.sipclient_actions/0/1", "placeholder"),
    ([["dtmf", "{{credential.username}}x"]], "/step.0.0.sipclient_actions/0/1", "needs digits")])
def test_what_cannot_be_filled_in_is_refused_at_the_start(bench, actions, place, words):
    test = bench.api("POST", "/tests", {
        "name": f"refused {actions}", "project_id": bench.project_id,
        "agentpool_id": bench.pool_id, "steps": [
            [{"type": "call", "role": "caller", "credential_pool": bench.callers,
              "target_pool": bench.target_id, "dial_destination": "1"}]],
        "conditions": []})["test"]["id"]
    body = {"step.0.0.sipclient_actions": json.dumps(actions)}
    error, = problem(bench.controller.request("POST", f"/tests/{test}/run", json=body),
                     422)["errors"]
    assert error["pointer"] == place and words in error["detail"], error


def test_of_the_command_line(build):
    """The placeholders of offhook call --actions; there are no other roles."""
    heard = []
    command = [build / "offhook", "call", "--user", "2001", "--password", "x", "--duration", "30",
               "--bind", "127.0.0.1", "--dtmf-mode", "info", "--json", "--actions"]
    with Peer(recorder(1, heard)) as peer:
        done = subprocess.run(
            [*command, json.dumps([["assert_established"],
                                   ["message", "call {{n}} of {{credential.username}}"],
                                   ["dtmf", "{{credential.username}}"], ["hangup"]]),
             f"sip:1002@127.0.0.1:{peer.port}"], text=True, capture_output=True, timeout=150)
    assert peer.failure is None, (peer.failure, done.stdout, done.stderr)
    assert heard == [{"message": "call 0 of 2001", "digits": "2001"}]
    assert json.loads(done.stdout)["asserts"] == []
    done = subprocess.run([*command, '[["message","{{C.username}}"]]', "sip:1@127.0.0.1:9"],
                          text=True, capture_output=True, timeout=60)
    assert done.returncode == 2 and "placeholder" in done.stderr, done.stderr

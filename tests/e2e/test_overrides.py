"""What the start of a run may override, with real traffic through the proxy."""
import json
import re

import pytest

from bench import CALLEE, CALLER, Bench, evidence, state_condition
from peers import SUBSCRIBERS, SilentPort
from sip_peer import SipPeer
from times import CLOCKS_MS


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    from ports import PortBlock
    ports = PortBlock()
    with Bench(tmp_path_factory.mktemp("overrides"), ports) as b:
        yield b
    ports.close()


@pytest.fixture(scope="module", autouse=True)
def unanswered(bench):
    """(port, session) of a run whose callee registers where nobody answers.

    It fails after 32 s (timer F), while the others run."""
    with SilentPort(bench.ports.silent) as peer:
        yield peer.port, bench.start(bench.single_call(duration=1), {
            "step.0.0.target_pool": bench.target(peer.port)})


def sent(report, role, method):
    """First lines and bodies of the requests of a method that a role sent."""
    return [m["text"] for m in report["messages"]
            if m["role"] == role and m["dir"] == "sent" and m["line"].startswith(method + " ")]


def times_ms(report, role, direction, line, method):
    """When a role sent or received the first message of each CSeq, of those that begin so."""
    found = {}
    for m in report["messages"]:
        number, of = re.search(r"(?mi)^CSeq: *(\d+) +(\w+)", m["text"]).groups()
        if (m["role"], m["dir"], of) == (role, direction, method) and m["line"].startswith(line):
            found.setdefault(number, m["t_ms"])
    return list(found.values())


def test_hold_wait_resume(bench):
    test_id = bench.single_call(duration=6)
    actions = [["assert_established", "5000"], ["hold", ""], ["wait", "1500"],
               ["resume", ""], ["wait", "1000"]]
    run, report = bench.run(test_id, {
        "step.1.1.sipclient_actions": json.dumps(actions),
        "condition.caller.caller-sipclient-state-conditions": {
            "conditions": state_condition("caller", "CALL_ESTABLISHED", "CALL_HOLD",
                                          "CALL_RESUME")["conditions"],
            "options": ["strict_order"]},
        "condition.callee.callee-sipclient-state-conditions": {
            "conditions": state_condition("callee", "CALL_HOLD", "CALL_RESUME")["conditions"],
            "options": []}})
    assert run["status"] == "passed", run["result_description"]
    invites = [i for i in sent(report, "caller", "INVITE") if "a=sendonly" in i]
    assert invites, "no re-INVITE with a=sendonly was sent"
    caller, = (c for c in report["calls"] if c["role"] == "caller")
    received, = (s for s in caller["streams"] if s["dir"] == "in")
    # 6 s minus about 1.5 s of hold at 50 packets/s, and no loss; how long both were on a busy machine, the callee tells
    begun, held, resumed = times_ms(report, "callee", "sent", "SIP/2.0 200", "INVITE")
    ended, = times_ms(report, "callee", "received", "BYE", "BYE")
    assert resumed - held >= 1500 - CLOCKS_MS
    wanted = 50 * (held - begun + ended - resumed) / 1000
    assert received["lost"] == 0 and abs(received["packets"] - wanted) < 35, (received, begun, held, resumed, ended)


def test_several_calls(bench):
    run, report = bench.run(bench.single_call(duration=1), {
        "step.1.1.max_total_calls": 3})
    assert run["status"] == "passed", run["result_description"]
    assert len([c for c in report["calls"] if c["role"] == "caller"]) == 3


def test_rate_rises(bench):
    """At a rate that rises to 10 calls a second in 4 s, call n is due at sqrt(2 * 4 * n
    / 10) s."""
    run, report = bench.run(bench.single_call(duration=0.2), {
        "step.1.1.max_total_calls": "6", "step.1.1.max_concurrent_calls": "10",
        "step.1.1.calls_per_second": "10", "step.1.1.ramp_up": "4"})
    assert run["status"] == "passed", run["result_description"]
    placed = {}
    for message in report["messages"]:
        if message["role"] == "caller" and message["dir"] == "sent" and \
                message["line"].startswith("INVITE "):
            call_id, = re.findall(r"(?mi)^Call-ID: *(\S+)", message["text"])
            placed.setdefault(call_id, message["t_ms"])
    assert len(placed) == 6
    # A slow machine makes a call later, the first one, too: by as much as the engine's own timer was late.
    late = [at - 1000 * (0.8 * n) ** 0.5 for n, at in enumerate(placed.values())]
    assert late[0] - min(late) <= 20 + evidence(report, "caller")["loop_lateness_max_ms"], (late, placed)


def test_regexpire_and_custom_header_on_the_wire(bench):
    run, report = bench.run(bench.single_call(duration=1), {
        "step.1.0.regexpire": "77",
        "step.1.0.custom_headers": '[["X-Offhook-Probe", "seen", "registers"]]'})
    assert run["status"] == "passed", run["result_description"]
    registers = sent(report, "caller", "REGISTER")
    assert re.search(r"(?mi)^(Expires: *77|Contact:.*expires=77)", registers[0]), registers[0]
    assert all("X-Offhook-Probe: seen" in r for r in registers)
    assert not any("X-Offhook-Probe" in i for i in sent(report, "caller", "INVITE"))


def test_headers_of_the_removal(bench):
    """The headers of an unregister action are on its REGISTER, in addition to the
    account's."""
    role, pools = "caller", {"target_pool": bench.target_id, "credential_pool": bench.callers}
    made = bench.api("POST", "/tests", {
        "name": "come and go", "project_id": bench.project_id, "agentpool_id": bench.pool_id,
        "steps": [[{"type": "register", "role": role, **pools,
                    "custom_headers": [["X-Stays", "a", "registers"]]},
                   {"type": "unregister", "role": role, "custom_headers": [
                       ["X-Goes", "{{credential.username}}", "registers"], ["X-Any", "b"],
                       ["X-Call", "c", "invites"]]}]]})["test"]["id"]
    run, report = bench.run(made)
    assert run["status"] == "passed", run["result_description"]
    *first, last = sent(report, role, "REGISTER")
    assert re.search(r"(?mi)^(Expires: *0|Contact:.*expires=0)", last), last
    assert first and all("X-Stays: a" in r and "X-Goes" not in r for r in first)
    for line in ("X-Stays: a", f"X-Goes: {CALLER}", "X-Any: b"):
        assert line in last.splitlines(), last
    assert "X-Call" not in last


def test_refusal_that_is_no_utf8(bench):
    """A reason phrase in Latin-1 must not prevent the engine's last report from
    reaching the controller."""
    def refuse(request):
        return request.reply(403, "f\xfcr Fremde").replace("\xfc".encode(), b"\xfc")

    with SipPeer(bench.ports.phone, refuse) as peer:
        run, report = bench.run(bench.single_call(duration=1), {
            "step.0.0.target_pool": bench.target(peer.port)})
    assert run["status"] == "failed", run["result_description"]
    assert "403 f?r Fremde" in run["result_description"]
    assert any("f?r Fremde" in r["reason"] for r in report["registrations"])


def test_streams_without_signalling(bench, ports):
    """Two roles send to each other; a third one sends to nobody, from any port."""
    a, b = ports.base + 10, ports.base + 12
    stream = {"type": "stream", "call_duration": 3}
    made = bench.api("POST", "/tests", {
        "name": "streams", "project_id": bench.project_id, "agentpool_id": bench.pool_id,
        "steps": [[{**stream, "role": "A", "local_port": a, "dial_destination": f"127.0.0.1:{b}"},
                   {**stream, "role": "B", "local_port": b, "dial_destination": f"127.0.0.1:{a}",
                    "audio_codecs": ["PCMA", "PCMU"]},
                   {**stream, "role": "C", "dial_destination": "127.0.0.1:9",
                    "max_total_calls": 2, "max_concurrent_calls": 2}]],
        "conditions": [
            {"role": "A", "condition_type": "A-mos-conditions",
             "conditions": [{"type": "ge", "value": "4"}]},
            {"role": "B", "condition_type": "B-loss-conditions",
             "conditions": [{"type": "eq", "value": "0"}]},
            {"role": "A", "condition_type": "A-sipclient-state-conditions",
             "conditions": [{"type": "has", "state": "CALL_RTPESTAB"}]},
            {"role": "C", "condition_type": "C-sipclient-state-conditions",
             "conditions": [{"type": "hasnot", "state": "CALL_RTPESTAB"}]}]})["test"]["id"]
    run, report = bench.run(made)
    assert run["status"] == "passed", run["result_description"]
    calls = {c["call"]: c for c in report["calls"]}
    assert sorted(calls) == ["A-1", "B-1", "C-1", "C-2"]
    for name, other, codec in (("A-1", b, "PCMA"), ("B-1", a, "PCMU")):
        call = calls[name]
        streams = {s["dir"]: s for s in call["streams"]}
        assert call["established"] and call["end"] == "local"
        assert call["peer"] == f"rtp:127.0.0.1:{other}"
        assert streams["out"]["packets"] == 150  # 3 s, exact to the packet
        assert streams["in"]["codec"] == codec and streams["in"]["lost"] == 0
        # what was sent before the other side listened was not received; a busy machine starts them apart
        assert 0 < streams["in"]["packets"] <= 150
    assert not report["messages"]
    run, _ = bench.run(made, {"condition.C.C-mos-conditions": {
        "conditions": [{"type": "ge", "value": "1"}]}})
    assert run["status"] == "failed" and "no packets received" in run["result_description"]


IN_DIALOG = {"INVITE", "ACK", "UPDATE", "INFO", "MESSAGE", "REFER", "BYE"}
# type: the requests of the caller that carry a header of this type; no CANCEL is sent
# here
GO_ON = {"registers": {"REGISTER"}, "calls": IN_DIALOG, "invites": {"INVITE"},
         "updates": {"UPDATE"}, "refers": {"REFER"}, "presence": {"SUBSCRIBE"},
         "any": IN_DIALOG | {"SUBSCRIBE"}}


def test_custom_headers_of_every_type(bench):
    """Each header is on its requests and on no others, with placeholders filled in; it
    replaces a header of ours."""
    def headers(*types):
        return [[f"X-{t}", f"{t} {{{{n}}}} {{{{credential.username}}}}", t] for t in types]

    script = [["assert_established", "20000"], ["reinvite"], ["update"], ["message", "hi"],
              ["dtmf", "1"], ["transfer", f"{CALLEE} norefersub"], ["hangup"]]
    test = bench.single_call(
        duration=30, dtmf_mode="info", sipclient_actions=script, conditions=[],
        custom_headers=headers("calls", "invites", "updates", "refers", "any") +
        [["User-Agent", "a client for {{callee.username}}", "any"]])
    body = bench.api("GET", f"/tests/{test}")["test"]
    body["steps"][1][0]["custom_headers"] = headers("registers")
    body["steps"].append([{"type": "subscribe", "role": "caller", "expires": 0,
                           "dial_destination": CALLEE,
                           "custom_headers": headers("presence", "any")}])
    body["steps"][0][1]["presence"] = "open"
    fields = ("name", "project_id", "scenario", "agentpool_id", "record", "steps", "conditions")
    bench.api("PUT", f"/tests/{test}", {f: body[f] for f in fields})
    run, report = bench.run(test)
    assert run["status"] == "passed", run["result_description"]
    requests = [m["text"] for m in report["messages"] if m["role"] == "caller" and
                m["dir"] == "sent" and not m["line"].startswith("SIP/2.0")]
    seen = {t: {r.split(" ")[0] for r in requests if f"\r\nX-{t}: {t} 0 1001\r\n" in r}
            for t in GO_ON}
    assert seen == GO_ON
    for request in requests:
        method = request.split(" ")[0]
        found = re.findall(r"\r\n(X-\w+): (.*)\r\n", request.replace("\r\n", "\r\n\r\n"))
        assert {name[2:] for name, _ in found} == {t for t in GO_ON if method in GO_ON[t]}, request
        agents = re.findall(r"\r\nUser-Agent: (.*)\r\n", request)
        assert agents == (["a client for 1002"] if method in IN_DIALOG else
                          [a for a in agents if a.startswith("offhook/")][:1]), request


def test_dial_destination_nobody_has(bench):
    run, report = bench.run(bench.single_call(duration=1), {
        "step.1.1.dial_destination": "9999"})
    assert run["status"] == "failed"
    assert "404" in run["result_description"], run["result_description"]


def test_target(bench, unanswered):
    port, session = unanswered
    run = bench.wait(session, timeout=90)
    assert run["status"] == "failed"
    assert str(port) in run["result_description"]


def test_credentials(bench):
    pool = bench.credentials("others", {"1005": SUBSCRIBERS["1005"]})
    run, report = bench.run(bench.single_call(duration=1), {
        "step.1.0.credential_pool": pool})
    assert run["status"] == "passed", run["result_description"]
    caller, = (c for c in report["calls"] if c["role"] == "caller")
    assert caller["account"] == "1005"
    assert CALLEE in caller["peer"]


# name: (a valid argument, an invalid one)
ARGUMENTS = {
    "assert_established": ("5000", "soon"), "assert_state": ("CALL_RINGING", "HAPPY"),
    "assert_dtmf": ("12", "x"), "assert_audio": ("sound", "noise"), "hold": ("", "x"),
    "resume": ("", "x"), "wait": ("100", "5s"), "dtmf": ("12#", "1x"), "reinvite": ("", "x"),
    "update": ("", "x"), "transfer": ("1003", ""), "transfer_attended": ("start 1003", "1003"),
    "sndcode": ("183", "200"), "hangup": ("", "x"), "reject": ("486", "302"),
    "redirect": ("1003", ""), "message": ("hello", ""), "options": ("", "sip:a b"),
    "record_start": ("", "x"), "record_stop": ("", "x")}


def test_arguments_of_actions_are_checked_at_the_start(bench):
    """An invalid argument is refused with its position, and no run starts; the valid
    one is not reported."""
    test_id = bench.single_call(duration=1)
    before = bench.api("GET", "/runs")["total"]
    key = "step.1.1.sipclient_actions"
    for name, (good, bad) in ARGUMENTS.items():
        answer = bench.controller.request("POST", f"/tests/{test_id}/run", {
            key: json.dumps([["assert_established", ""], [name, good], [name, bad]])})
        assert answer.status_code == 422, (name, answer.text)
        error, = answer.json()["errors"]
        assert error["pointer"] == f"/{key}/2/1", error
        assert (bad if name == "assert_state" else name) in error["detail"], error
    assert bench.api("GET", "/runs")["total"] == before

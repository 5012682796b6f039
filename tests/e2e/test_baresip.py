"""client baresip: Debian's baresip behind the interface of the native client, measured
by a tap."""

import pytest

from bench import Bench, state_condition, stream
from engine import Engine, target
from netns import own_network
from second_client import (NEEDED, OURS, SIP, THEIRS, UP, Pair, assert_counts_agree,
                           folder_fixture)  # noqa: F401

pytestmark = NEEDED


def test_a_run_through_the_api(tmp_path, ports, folder):
    """Registration with digest and a call each way; verdict, report and conditions as
    with the native client."""
    with own_network() as address, \
            Bench(tmp_path, ports, agent_conf={"bind": address}) as bench:
        for role, seconds in (("caller", 16), ("callee", 8)):
            def client(action):
                return {**action, **({"client": "baresip"} if action["role"] == role else {})}
            steps = [[{"type": "register", "role": "callee", "target_pool": bench.target_id,
                       "credential_pool": bench.callees},
                      {"type": "answer", "role": "callee"}],
                     [{"type": "register", "role": "caller", "target_pool": bench.target_id,
                       "credential_pool": bench.callers},
                      {"type": "call", "role": "caller", "dial_destination": "1002",
                       "call_duration": seconds}]]
            conditions = [
                state_condition(r, "REGISTER_OK", "CALL_ESTABLISHED", "CALL_RTPESTAB",
                                "CALL_RTCP", "CALL_CLOSED") for r in ("caller", "callee")] + [
                {"role": "caller", "condition_type": "caller-mos-conditions",
                 "conditions": [{"type": "ge", "value": "4.3"}]},
                {"role": "caller", "condition_type": "caller-postdial-delay-conditions",
                 "conditions": [{"type": "le", "value": "5000"}]}]
            test = bench.api("POST", "/tests", {
                "name": role, "project_id": bench.project_id, "scenario": "single-call",
                "agentpool_id": bench.pool_id, "record": "sip", "conditions": conditions,
                "steps": [[client(action) for action in step] for step in steps]})["test"]
            run, report = bench.run(test["id"], timeout=90)
            assert run["status"] == "passed", run["result_description"]
            for here, there in (("caller", "callee"), ("callee", "caller")):
                sent, received = stream(report, here, "out"), stream(report, there, "in")
                print(role, here, sent, received)
                assert sent["packets"] == received["packets"] and received["lost"] == 0
                assert 45 * seconds <= sent["packets"] <= 55 * seconds
                assert sent["ssrc"] == received["ssrc"]
            out, heard = stream(report, role, "out"), stream(report, role, "in")
            assert "lateness_max_ms" not in out
            assert not bench.points(run["session_id"], "rtp_send_lateness", role, "out")
            if role == "caller":  # long enough for RTCP of both sides
                assert heard["rtt_ms"]["n"] > 0 and heard["rtt_ms"]["max"] < 50
            points = bench.points(run["session_id"], "rtp_pkt_per_sec", role, "out")
            assert points
    assert not list(folder.iterdir())


@pytest.mark.parametrize("encryption", ["none", "sdes", "dtls"])
def test_every_verb_of_a_call_it_answers(tmp_path, ports, encryption):
    """It is called by a native client through the proxy where it registered."""
    actions = {"callee": [UP, ["assert_dtmf", "159 20000"], ["hold", ""], ["wait", "300"],
                          ["resume", ""], ["dtmf", "42"], ["reinvite", ""], ["wait", "500"],
                          ["hangup", ""]],
               "caller": [UP, ["assert_state", "CALL_RTPESTAB"], ["dtmf", "159"],
                          ["assert_dtmf", "42 20000"]]}
    with own_network() as address, \
            Bench(tmp_path, ports, agent_conf={"bind": address}) as bench:
        steps = [[{"type": "register", "role": "callee", "target_pool": bench.target_id,
                   "credential_pool": bench.callees, "client": "baresip"},
                  {"type": "answer", "role": "callee", "client": "baresip",
                   "media_encryption": encryption, "sipclient_actions": actions["callee"]}],
                 [{"type": "register", "role": "caller", "target_pool": bench.target_id,
                   "credential_pool": bench.callers},
                  {"type": "call", "role": "caller", "dial_destination": "1002",
                   "call_duration": 60, "media_encryption": encryption,
                   "sipclient_actions": actions["caller"]}]]
        test = bench.api("POST", "/tests", {
            "name": "answers", "project_id": bench.project_id, "scenario": "single-call",
            "agentpool_id": bench.pool_id, "record": "sip", "steps": steps, "conditions": [
                state_condition("callee", "CALL_INCOMING", "CALL_RINGING", "CALL_ANSWERED",
                                "CALL_ESTABLISHED", "CALL_HOLD", "CALL_RESUME", "CALL_CLOSED"),
                state_condition("caller", "CALL_HOLD", "CALL_RESUME", "CALL_ENDED_REMOTE")]})["test"]
        run, report = bench.run(test["id"], timeout=90)
        assert run["status"] == "passed", (run["result_description"], report)
        for here, there in (("caller", "callee"), ("callee", "caller")):
            sent, received = stream(report, here, "out"), stream(report, there, "in")
            print(encryption, here, sent["packets"], received["packets"])
            # the side that learns of the end last may have sent one more packet
            assert 0 <= sent["packets"] - received["packets"] <= 2 and received["lost"] == 0
            # baresip does not report the suite of its own handshake
            assert ("srtp_suite" in received) == (
                encryption == "sdes" or (encryption == "dtls" and there == "caller")), received


def test_what_it_cannot_do_is_refused_with_its_place(tmp_path, ports):
    with Bench(tmp_path, ports, proxy=False) as bench:
        for wrong, pointer in (({"prack": "required"}, "prack"),
                               ({"session_timer": 90}, "session_timer"),
                               ({"late_offer": True}, "late_offer"),
                               ({"dtmf_mode": "info"}, "dtmf_mode"),
                               ({"prompt": "hello.wav"}, "prompt"),
                               ({"custom_headers": [["X-A", "b", "any"]]},
                                "custom_headers"),
                               ({"media_nat": "ice", "ice_lite": True}, "ice_lite"),
                               ({"media_nat": "turn", "turn_server": "192.0.2.1",
                                 "turn_transport": "tls"}, "turn_transport"),
                               ({"srtp_suites": ["AEAD_AES_128_GCM"]}, "srtp_suites"),
                               ({"audio_marker": True}, "audio_marker"),
                               ({"audio_codecs": ["L16/44100"]}, "audio_codecs"),
                               ({"sipclient_actions": [["update", ""]]}, "sipclient_actions/0"),
                               ({"audio_marker": True}, "audio_marker"),
                               ({"audio_checks": True, "media_encryption": "sdes"},
                                "audio_checks"),
                               ({"record": "media", "media_encryption": "dtls"}, "record"),
                               ({"media_encryption": "dtls",
                                 "sipclient_actions": [["assert_audio", "sound"]]},
                                "sipclient_actions/0"),
                               ({"client": "linphone"}, "client")):
            answer = bench.controller.request("POST", "/tests", json={
                "name": "t", "project_id": bench.project_id, "scenario": "single-call",
                "agentpool_id": bench.pool_id, "steps": [[{
                    "type": "call", "role": "caller", "client": "baresip",
                    "target_pool": bench.target_id, "credential_pool": bench.callers,
                    "dial_destination": "1002", **wrong}]], "conditions": []})
            assert answer.status_code == 422, (wrong, answer.text)
            error, = answer.json()["errors"]
            assert error["pointer"].endswith("/" + pointer), error


def test_every_verb_of_a_call_it_places(build, ports, namespaces):
    actions = [UP, ["dtmf", "159#"], ["assert_dtmf", "42 20000"], ["hold", ""],
               ["assert_state", "CALL_HOLD"], ["resume", ""], ["reinvite", ""], ["wait", "500"],
               ["hangup", ""]]
    with Pair(build, ports, namespaces, {"call_duration": 60, "sipclient_actions": actions},
              {"sipclient_actions": [UP, ["assert_dtmf", "159# 20000"], ["dtmf", "42"]]}) as p:
        p.run().end()
        assert not p.caller.asserts() and not p.callee.asserts()
        states = p.caller.states("caller-1")
        call, = p.caller.calls()
        assert_counts_agree(p.streams())
        heard = [(e["direction"], e["digit"], e["via"]) for e in p.caller.events
                 if e["kind"] == "dtmf"]
        sip = [m for m in p.caller.messages if m["dir"] == "sent"]
    assert [s for s in states if s.startswith("CALL_D")][:2] == ["CALL_DTMF_START", "CALL_DTMF_4"]
    order = ["CALL_OUTGOING", "CALL_LOCAL_SDP", "CALL_RINGING", "CALL_REMOTE_SDP",
             "CALL_ANSWERED", "CALL_ESTABLISHED", "CALL_HOLD", "CALL_RESUME", "CALL_ENDED_LOCAL",
             "CALL_CLOSED"]
    assert [s for s in states if s in order and states.count(s) == 1] == \
        [s for s in order if states.count(s) == 1]
    assert heard == [("out", d, "rtpevent") for d in "159#"] + \
        [("in", d, "rtpevent") for d in "42"]
    assert call["end"] == "local" and call["established"] and call["call_id"]
    assert sip[0]["data"].startswith("INVITE sip:1002@") and "baresip" in sip[0]["data"]
    assert not [e for e in p.caller.events if e["kind"] == "flaw"]


def test_the_peer_holds_and_hangs_up(build, ports, namespaces):
    with Pair(build, ports, namespaces, {"call_duration": 60, "sipclient_actions": [UP]},
              {"sipclient_actions": [UP, ["hold", ""], ["wait", "300"], ["resume", ""],
                                     ["wait", "1200"], ["hangup", ""]]}) as p:
        p.run().end()
        states, (call,) = p.caller.states("caller-1"), p.caller.calls()
        assert not p.callee.asserts()
        assert_counts_agree(p.streams())
    assert "CALL_HOLD" in states and "CALL_RESUME" in states
    assert states.index("CALL_HOLD") < states.index("CALL_RESUME")
    assert call["end"] == "remote" and "CALL_ENDED_REMOTE" in states


@pytest.mark.parametrize("answer,end,code", [
    ({"answer_code": 486}, "rejected", 486), ({"answer_code": 404}, "rejected", 404)])
def test_a_refused_call(build, ports, namespaces, answer, end, code):
    with Pair(build, ports, namespaces, {}, answer) as p:
        p.run().end()
        call, = p.caller.calls()
    assert (call["end"], call["code"], call["established"]) == (end, code, False)


def test_blind_transfer_by_it(build, ports, namespaces):
    third = "sip:1002@10.99.0.2:%d" % (SIP + 4)
    with Pair(build, ports, namespaces, {"call_duration": 30, "sipclient_actions": [
            UP, ["wait", "300"], ["transfer", third]]}) as p:
        to = Engine(build, "C", [[{"type": "answer", "credentials": [{"username": "1002"}],
                                   "max_total_calls": 1, "call_duration": 2}], []], ports,
                    bind=THEIRS, sip_port=SIP + 4, offset=5,
                    prefix=("ip", "netns", "exec", namespaces[1]))
        with to:
            to.step(0)
            p.run()
            p.both(lambda: to.pump(0.01) and to.calls(), "the third one was called")
            p.end()
            to.step(1)
            to.end()
        states = p.caller.states("caller-1")
        assert not p.caller.asserts(), p.caller.asserts()
    assert "CALL_TRANSFER" in states and "REFER" in p.callee.states()

"""client baresip: Debian's baresip behind the native client's interface, measured by a tap."""
import json
import os
import signal
import shutil
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench import Bench, state_condition, stream
from engine import Engine, target
from netns import cable, own_network

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("baresip"),
                                reason="needs root and baresip")
OURS, THEIRS, SIP = "10.99.0.1", "10.99.0.2", 5070
UP = ["assert_established", "20000"]


@pytest.fixture(scope="module")
def namespaces():
    with cable() as names:
        yield names


@pytest.fixture(autouse=True)
def folder(monkeypatch):
    """Where engines make the folders of baresip: one of the test's own, empty at its end."""
    with tempfile.TemporaryDirectory(prefix="offhook-") as path:
        monkeypatch.setenv("TMPDIR", path)
        yield Path(path)


class Pair:
    """A baresip and a native engine with a cable between them; the one that calls first."""

    def __init__(self, build, ports, namespaces, call, answer=None, caller="baresip"):
        self._prefix = {OURS: ("ip", "netns", "exec", namespaces[0]),
                        THEIRS: ("ip", "netns", "exec", namespaces[1])}
        self._build, self._ports = build, ports
        self.answer = {"type": "answer", "credentials": [{"username": "1002"}],
                       **(answer or {})}
        self.call = {"type": "call", "client": caller, "credentials": [{"username": "1001"}],
                     "target": target(THEIRS, SIP), "dial_destination": "1002", **call}

    def __enter__(self):
        self.callee = Engine(self._build, "callee", [[self.answer], []], self._ports, bind=THEIRS,
                             sip_port=SIP, prefix=self._prefix[THEIRS])
        self.caller = Engine(self._build, "caller", [[], [self.call]], self._ports, bind=OURS,
                             prefix=self._prefix[OURS])
        return self

    def run(self):
        self.callee.step(0)
        self.caller.step(0)
        self.caller.go(1)
        self.both(lambda: self.caller.ready >= 1 or self.caller.finish, "the caller is ready")
        return self

    def both(self, condition, what):
        end = time.monotonic() + 90
        while not condition():
            assert time.monotonic() < end, what
            self.caller.pump()
            self.callee.pump(0.01)

    def end(self):
        if not self.callee.finish:
            self.callee.step(1)
            self.callee.end()
        if not self.caller.finish:
            self.caller.end()
        return self

    def __exit__(self, kind, *_):
        for engine in (self.caller, self.callee):
            log = engine.close()
            assert "Sanitizer" not in log and "runtime error" not in log, log
            if kind:
                print(f"--- {engine.role} {engine.finish}\n{log}\n{engine.states()}\n"
                      f"{engine.asserts()}\n{str(engine.calls())[:1500]}")

    def streams(self):
        """{(role, direction): stream} of the one call"""
        return {(e.role, s["dir"]): s for e in (self.caller, self.callee)
                for c in e.calls() for s in c["streams"]}


def assert_counts_agree(streams):
    """What each side sent the other one received, to the packet, as the tap saw it."""
    for here, there in (("caller", "callee"), ("callee", "caller")):
        sent, received = streams[here, "out"], streams[there, "in"]
        assert sent["packets"] == received["packets"] > 50
        assert sent["ssrc"] == received["ssrc"] and received["lost"] == 0
        assert sent["codec"] == received["codec"] != ""


def test_a_run_through_the_api(tmp_path, ports, folder):
    """Registration with digest, a call each way; judge, report and conditions as ever."""
    with own_network() as address, \
            Bench(tmp_path, ports, agent_conf={"bind": address}) as bench:
        for role, seconds in (("caller", 16), ("callee", 5)):
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
            if role == "caller":  # long enough for RTCP of both
                assert heard["rtt_ms"]["n"] > 0 and heard["rtt_ms"]["max"] < 50
            points = bench.points(run["session_id"], "rtp_pkt_per_sec", role, "out")
            assert points
    assert not list(folder.iterdir())


@pytest.mark.parametrize("encryption", ["none", "sdes", "dtls"])
def test_every_verb_of_a_call_it_answers(tmp_path, ports, encryption):
    """It is called by a native client through the proxy it registered with."""
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
            # who is told of the end last has sent once more perhaps
            assert 0 <= sent["packets"] - received["packets"] <= 2 and received["lost"] == 0
            # of a handshake of its own baresip tells no suite
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
                               ({"media_nat": "ice"}, "media_nat"),
                               ({"srtp_suites": ["AEAD_AES_128_GCM"]}, "srtp_suites"),
                               ({"audio_codecs": ["L16/44100"]}, "audio_codecs"),
                               ({"sipclient_actions": [["update", ""]]}, "sipclient_actions"),
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


@pytest.mark.parametrize("more", [
    {"audio_codecs": ["PCMA"]}, {"audio_codecs": ["G722"]}, {"audio_codecs": ["opus"]},
    {"audio_codecs": ["GSM"]}, {"audio_codecs": ["L16/16000"]}, {"ptime": 40},
    {"media_encryption": "sdes"}, {"media_encryption": "sdes-mandatory"},
    {"media_encryption": "dtls"}, {"rtcp_mux": True}], ids=str)
def test_its_codecs_and_encryptions(build, ports, namespaces, more):
    peer = {k: v for k, v in more.items() if k != "rtcp_mux"}
    with Pair(build, ports, namespaces, {"call_duration": 3, **more}, peer) as p:
        p.run().end()
        streams = p.streams()
        states = p.caller.states("caller-1")
        for sent, got in (("caller", "callee"), ("callee", "caller")):
            out, heard = streams[sent, "out"], streams[got, "in"]
            # who ends the call may send once more before the other is told, who then hears no more
            assert 0 <= out["packets"] - heard["packets"] <= 2 and heard["packets"] > 40, \
                (out, heard)
            assert heard["lost"] == 0
        codec = more.get("audio_codecs", ["PCMU"])[0].split("/")[0]
        assert streams["caller", "in"]["codec"] == streams["caller", "out"]["codec"] == codec
        assert ("CALL_MENC" in states) == ("media_encryption" in more)
        if more.get("media_encryption", "").startswith("sdes"):
            assert streams["caller", "in"]["srtp_suite"] == streams["callee", "in"]["srtp_suite"]
        if "inline:" in json.dumps(p.caller.messages):
            assert "inline:*" in json.dumps(p.caller.messages)


def pid_of_baresip(engine):
    """Of the child of the engine process."""
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
            parent = int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if words[0] == b"/usr/bin/baresip" and parent == engine._process.pid:
            return int(path.name)
    raise AssertionError("no baresip")


@pytest.mark.parametrize("how,reason", [
    (signal.SIGKILL, "baresip ended: signal 9 (Killed)"),
    (signal.SIGSTOP, "baresip did not answer for 10 s: it was ended")])
def test_its_end_is_the_end_of_the_job_with_a_reason(build, ports, namespaces, folder, how,
                                                     reason):
    with Pair(build, ports, namespaces, {"call_duration": 60}) as p:
        p.callee.step(0)
        p.caller.step(0)
        p.caller.go(1)
        p.both(lambda: "CALL_RTPESTAB" in p.caller.states(), "the call is up")
        pid = pid_of_baresip(p.caller)
        os.kill(pid, how)
        p.both(lambda: p.caller.finish, "the job ends")
        finish, (call,) = p.caller.finish, p.caller.calls()
        streams = {s["dir"]: s for s in call["streams"]}
    assert finish["outcome"] == "error" and reason in finish["reason"], finish
    assert "account 1001" in finish["reason"]
    assert call["end"] == "failed" and reason in call["reason"]
    assert streams["in"]["packets"] > 0, "what was measured until then"
    assert not Path(f"/proc/{pid}").exists() and not list(folder.iterdir())


def test_it_dies_with_its_engine(build, ports, namespaces):
    with Pair(build, ports, namespaces, {"call_duration": 60}) as p:
        p.callee.step(0)
        p.caller.step(0)
        p.caller.go(1)
        p.both(lambda: "CALL_RTPESTAB" in p.caller.states(), "the call is up")
        pid = pid_of_baresip(p.caller)
        p.caller._process.kill()
        p.caller._process.wait()
        end = time.monotonic() + 20
        while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
            time.sleep(0.05)
        assert not Path(f"/proc/{pid}").exists()


@contextmanager
def lone(build, ports, bind, prefix):
    with Engine(build, "caller", [[{"type": "call", "client": "baresip", "dial_destination": "1002",
                                    "target": target(THEIRS, SIP)}]], ports, bind=bind,
                prefix=prefix) as e:
        e.until(lambda: e.finish, "the end")
        yield e.finish


def test_without_the_capability_the_reason_says_so(build, ports, namespaces):
    with lone(build, ports, OURS, ("ip", "netns", "exec", namespaces[0], "setpriv",
                                   "--bounding-set", "-net_raw", "--inh-caps",
                                   "-net_raw")) as finish:
        assert finish["outcome"] == "error"
        assert "tap" in finish["reason"] and "CAP_NET_RAW is missing" in finish["reason"]


def test_a_loopback_address_is_refused(build, ports):
    with lone(build, ports, "127.0.0.1", ()) as finish:
        assert finish["outcome"] == "error"
        assert "refuses loopback addresses" in finish["reason"]


def test_without_the_package_the_reason_says_so(build, ports, namespaces):
    hide = "mount -t tmpfs none /usr/lib/baresip/modules && exec \"$@\""
    with lone(build, ports, OURS, ("ip", "netns", "exec", namespaces[0], "unshare", "-m", "sh",
                                   "-c", hide, "sh")) as finish:
        assert finish["outcome"] == "error" and "baresip-core" in finish["reason"], finish

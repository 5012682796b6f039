"""client sipp: scenarios of the shapes that people have run under an agent as they are, with
SIPp's own options; their calls are measured and judged as those of any client."""
import errno
import itertools
import os
import shutil
import socket
import tempfile
import time
from pathlib import Path

import pytest

from bench import Bench, state_condition, stream
from engine import Engine
from ports import PortBlock
from test_api_basics import problem

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("sipp"),
                                reason="needs root and sipp")
FILES = Path(__file__).parent / "sipp"
SPEECH = b"\xd5\x2a" * 8000  # G.711, without a header


@pytest.fixture(name="ports", scope="module")
def ports_fixture():
    block = PortBlock()
    yield block
    block.close()


@pytest.fixture(name="bench", scope="module")
def bench_fixture(tmp_path_factory, ports):
    with Bench(tmp_path_factory.mktemp("sipp"), ports) as bench:
        for path in FILES.iterdir():
            upload(bench, path.name, path.read_bytes())
        upload(bench, "speech.wav", SPEECH)
        yield bench
        assert not list(Path(tempfile.gettempdir()).glob("offhook-sipp-*"))


def upload(bench, name, content):
    answer = bench.controller.request(
        "POST", "/appimages", data={"name": name},
        files={"file": (name, content, "application/octet-stream")})
    assert answer.status_code == 201, answer.text


NAMES = (f"sipp {number}" for number in itertools.count())


def make(bench, steps, conditions=()):
    return {"name": next(NAMES), "project_id": bench.project_id, "scenario": "single-call",
            "agentpool_id": bench.pool_id, "record": "sip", "steps": steps,
            "conditions": list(conditions)}


def run(bench, steps, conditions=()):
    test = bench.api("POST", "/tests", make(bench, steps, conditions))["test"]
    done, report = bench.run(test["id"], timeout=90)
    print(done["result_description"], report["sipp"])
    return done, report


def place(bench, scenario, port, **more):
    """The caller's SIPp calls a port of this host."""
    return {"type": "call", "role": "caller", "client": "sipp", "sipp_scenario": scenario,
            "target_pool": bench.target(port), **more}


def take(port, scenario="uas.xml", **more):
    return {"type": "answer", "role": "callee", "client": "sipp", "sipp_scenario": scenario,
            "sipp_port": port, **more}


def bound(other, host, port):
    """Whether a socket has this port already."""
    try:
        other.bind((host, port))
    except OSError as error:
        return error.errno == errno.EADDRINUSE
    return False


def ended(report, role):
    event, = [e for e in report["sipp"] if e["role"] == role]
    return event


def test_uac_and_uas(bench, ports):
    """SIPp calls SIPp, three times one after the other; the answering one ends with the
    run."""
    done, report = run(bench, [
        [take(ports.phone)],
        [place(bench, "uac.xml", ports.phone, max_total_calls=3,
               sipp_options=["-d", "200", "-s", "1002"])]], [
        state_condition("caller", "CALL_OUTGOING", "CALL_RINGING", "CALL_ANSWERED",
                        "CALL_ESTABLISHED", "CALL_ENDED_LOCAL", "CALL_CLOSED"),
        state_condition("callee", "CALL_INCOMING", "CALL_ESTABLISHED", "CALL_ENDED_REMOTE")])
    assert done["status"] == "passed", done["result_description"]
    for role, end in (("caller", "local"), ("callee", "remote")):
        calls = [c for c in report["calls"] if c["role"] == role]
        assert [c["end"] for c in calls] == [end] * 3 and all(c["established"] for c in calls)
    caller, callee = ended(report, "caller"), ended(report, "callee")
    assert (caller["status"], caller["end"]) == (0, "all calls were successful")
    assert caller["counters"]["OutgoingCall"] == caller["counters"]["SuccessfulCall"] == 3
    assert callee["end"] == "ended by the agent"
    assert callee["counters"]["IncomingCall"] == callee["counters"]["SuccessfulCall"] == 3


@pytest.mark.parametrize("options", [[], ["-t", "t1"]], ids=["UDP", "TCP"])
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_an_answering_sipp_can_be_called_once_the_step_is_ready(build, ports, options, host):
    """Its port is bound then: a caller of the next step is not refused."""
    action = {"type": "answer", "client": "sipp", "sipp_scenario": "uas.xml", "sipp_port": ports.phone,
              "sipp_options": options}
    kind = socket.SOCK_STREAM if options else socket.SOCK_DGRAM
    with Engine(build, "callee", [[action], []], ports, bind=host, settings={"prompt_dir": str(FILES)}) as engine:
        engine.step(0)
        assert not engine.finish, engine.finish
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, kind) as taken:
            assert taken.connect_ex((host, ports.phone)) == 0 if options else bound(taken, host, ports.phone)
        engine.step(1)
        engine.end()


def test_native_client_calls_a_uas_that_echoes(bench, ports):
    """Every packet of SIPp's side is measured, in both directions."""
    done, report = run(bench, [
        [take(ports.phone, sipp_options=["-rtp_echo"])],
        [{"type": "call", "role": "caller", "target_pool": bench.target(ports.phone),
          "dial_destination": "1002", "call_duration": 2}]], [
        state_condition("callee", "CALL_RTPESTAB", "CALL_CLOSED")])
    assert done["status"] == "passed", done["result_description"]
    for here, there in (("caller", "callee"), ("callee", "caller")):
        sent, received = stream(report, here, "out"), stream(report, there, "in")
        assert 50 <= sent["packets"] <= 200 and sent["packets"] == received["packets"]
        assert received["lost"] == 0 and sent["ssrc"] == received["ssrc"]


def test_rtp_stream(bench, ports):
    done, report = run(bench, [
        [take(ports.phone)],
        [place(bench, "rtp_stream.xml", ports.phone, sipp_files=["speech.wav"])]], [
        {"role": "callee", "condition_type": "callee-mos-conditions",
         "conditions": [{"type": "ge", "value": "2"}]}])
    assert done["status"] == "passed", done["result_description"]
    sent, received = stream(report, "caller", "out"), stream(report, "callee", "in")
    assert 50 <= sent["packets"] <= 105 and sent["packets"] == received["packets"]
    assert received["lost"] == 0 and received["codec"] == "PCMU"
    assert bench.points(done["session_id"], "rtp_pkt_per_sec", "caller", "out")
    assert not bench.points(done["session_id"], "rtp_send_lateness", "caller", "out")


def test_register_with_authentication(bench, ports):
    """The users are in SIPp's own CSV file, the password in a pool: -au and -ap."""
    upload(bench, "users.csv", b"SEQUENTIAL\n1001;[authentication]\n")
    done, report = run(bench, [[place(bench, "register.xml", ports.sip, sipp_files=["users.csv"],
                                      credential_pool=bench.callers,
                                      sipp_options=["-inf", "users.csv", "-infindex",
                                                    "users.csv", "0"])]])
    assert done["status"] == "passed", done["result_description"]
    assert ended(report, "caller")["counters"]["SuccessfulCall"] == 1
    assert not report["calls"]


def test_calls_at_the_same_time(bench, ports):
    """SIPp has one RTP port for all its calls: those beside another are not measured, and
    counted."""
    done, report = run(bench, [
        [take(ports.phone)],
        [place(bench, "uac.xml", ports.phone,
               sipp_options=["-l", "4", "-m", "4", "-r", "100", "-d", "1000"])]])
    assert done["status"] == "passed", done["result_description"]
    calls = [c for c in report["calls"] if c["role"] == "caller"]
    assert len(calls) == 4 and all(c["established"] for c in calls)
    assert ended(report, "caller")["calls_unmeasured"] == 3
    assert ended(report, "caller")["calls_unreported"] == 0


def test_third_party_call_control(bench, ports):
    """Two SIPps that command each other over -3pcc, two that are called."""
    twin = f"127.0.0.1:{ports.control}"
    steps = [[take(ports.phone), {**take(ports.silent), "role": "D"}],
             [{**place(bench, "3pcc-b.xml", ports.silent, sipp_options=["-3pcc", twin]),
               "role": "B"},
              {"type": "wait", "role": "caller", "wait_ms": 4000},
              place(bench, "3pcc-a.xml", ports.phone, sipp_options=["-3pcc", twin])]]
    done, report = run(bench, steps)
    assert done["status"] == "passed", done["result_description"]
    assert all(c["established"] for c in report["calls"]) and len(report["calls"]) == 4
    assert all(ended(report, role)["counters"]["SuccessfulCall"] == 1
               for role in ("caller", "B", "callee", "D"))


def test_what_a_scenario_did_not_expect(bench, ports):
    """SIPp's own sentences are the reasons why a run failed."""
    done, report = run(bench, [
        [{"type": "answer", "role": "callee", "client": "sipp", "sipp_scenario": "uas.xml",
          "sipp_port": ports.phone}],
        [place(bench, "unexpected.xml", ports.phone)]])
    assert done["status"] == "failed"
    end = ended(report, "caller")
    assert end["status"] == 1 and not end["ok"]
    assert end["end"] == "1 of 1 calls failed: 1 FailedUnexpectedMessage"
    assert "unexpected message" in end["errors"][0] and "486" in end["errors"][0]
    assert "SIPp did not carry out unexpected.xml: 1 of 1" in done["result_description"]
    assert "unexpected message" in done["result_description"]


def test_a_uas_that_nobody_calls(bench, ports):
    done, report = run(bench, [[take(ports.phone)]])
    assert done["status"] == "failed"
    assert ended(report, "callee")["end"] == "it ended without a call"


def test_faults_of_a_scenario(bench, ports):
    """A file that SIPp cannot read, one that is nowhere, and one with a command."""
    for name, reason in (("broken.xml", "SIPp ended with status 1: "),
                         ("nowhere.xml", "nowhere.xml is neither an appimage nor in"),
                         ("command.xml", "command.xml, line 2: <exec command> runs a shell")):
        done, _ = run(bench, [[place(bench, name, ports.silent)]])
        assert done["status"] == "errored" and reason in done["result_description"], done


def test_errors_that_are_quoted(bench, ports):
    """20 of SIPp's sentences, and how many more there were."""
    done, report = run(bench, [
        [take(ports.phone)],
        [place(bench, "unexpected.xml", ports.phone, sipp_options=["-l", "25", "-m", "25", "-r", "100"])]])
    assert done["status"] == "failed"
    end = ended(report, "caller")
    assert end["counters"]["FailedUnexpectedMessage"] == 25
    assert len(end["errors"]) == 20 and end["errors_left_out"] >= 5, end


@pytest.mark.parametrize("length, too_large", [(4 << 20, False), ((4 << 20) + 1, True)])
def test_length_of_a_scenario(bench, ports, length, too_large):
    """SIPp itself may refuse one that long."""
    name = f"length-{length}.xml"
    text = (FILES / "uac.xml").read_bytes()
    upload(bench, name, text + b" " * (length - len(text)))
    done, _ = run(bench, [[take(ports.phone)], [place(bench, name, ports.phone)]])
    assert (f"client sipp: {name} is too large" in done["result_description"]) == too_large, done
    assert done["status"] == "errored" or not too_large


def test_a_call_that_does_not_end_when_the_run_is_stopped(bench, ports):
    """SIPp waits for its calls: it is killed."""
    test = bench.api("POST", "/tests", make(bench, [
        [take(ports.phone)],
        [place(bench, "uac.xml", ports.phone, sipp_options=["-m", "1", "-d", "600000"])]]))["test"]
    session = bench.start(test["id"])
    until = time.monotonic() + 60
    while not any(m["line"].startswith("ACK ") for m in bench.report(session)["messages"]):
        assert time.monotonic() < until
        time.sleep(0.1)
    bench.api("POST", f"/runs/{session}/stop")
    done = bench.wait(session)
    assert done["status"] == "stopped", done
    report = bench.report(session)
    for role in ("caller", "callee"):
        end = ended(report, role)
        assert end["end"] == "ended by the agent" and "status" not in end, end


@pytest.mark.parametrize("more, pointer, words", [
    ({"sipp_options": ["-m", "1", "-bg"]}, "sipp_options/2", "in the background"),
    ({"sipp_options": ["-p", "5060"]}, "sipp_options/0", "use sipp_port"),
    ({"sipp_options": ["-inf", "/etc/passwd"]}, "sipp_options/1", "one of sipp_files"),
    ({"sipp_options": ["-trace_logs"]}, "sipp_options/0", "would write a file"),
    ({"sipp_scenario": "../uac.xml"}, "sipp_scenario", "plain file name"),
    ({"sipp_scenario": None}, "sipp_scenario", "is missing"),
    ({"sipp_files": ["a", "a"]}, "sipp_files", "twice"),
    ({"audio_codecs": ["opus"]}, "audio_codecs", "its scenario decides"),
    ({"dial_destination": "sip:a@b"}, "dial_destination", "user part"),
    ({"client": "native", "dial_destination": "1"}, "sipp_scenario", "without client sipp"),
])
def test_refused(bench, ports, more, pointer, words):
    action = {k: v for k, v in {**place(bench, "uac.xml", ports.sip), **more}.items()
              if v is not None}
    body = problem(bench.controller.request("POST", "/tests", make(bench, [[action]])), 422)
    error, = body["errors"]
    assert error["pointer"].endswith(f"/{pointer}") and words in error["detail"], error

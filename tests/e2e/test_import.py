"""`offhook import`: captured calls become tests that run against the same peers."""
import re

import pytest
import yaml

from capture import Capture
from importer import Answering, Importer, action_of, types
from ports import PortBlock
from sipp import Scenario, Sipp

SCRIPT = '[["assert_established",""],["wait","200"],["dtmf","12#"],["hold",""],["wait","200"],["resume",""],' \
    '["wait","1200"],["hangup",""]]'
FIRST, SIPP, BUSY = "1", "2", "3"


class Lab(Importer):
    """A capture of three calls: of Offhook, of SIPp, and one that is refused."""

    def __init__(self, folder, build, ports):
        super().__init__(folder, build, (ports.rtp[0] + 40, ports.rtp[0] + 49))
        self.ports = ports
        with Capture(folder, (ports.base, ports.base + 199)) as captured:
            with self.answer("4402002"):
                self.call("4402002", "--caller-id", "Erika Mustermann", "--codec", "PCMA", "--codec", "G722",
                          "--actions", SCRIPT)
            scenario = Scenario(False).invite(["X-Customer: Mustermann 4711471"], sdp=True).expect(
                response=180, optional=True).expect(response=200).request("ACK").pause(1500).request(
                "INFO", body="Signal=5\nDuration=160", kind="application/dtmf-relay").expect(
                response=200).request("BYE").expect(response=200)
            with self.answer("4401002"), Sipp(
                    folder, scenario, ports.phone, to=ports.sip, service="4401002") as sipp:
                code, said = sipp.wait()
                assert code == 0, said
            with self.answer("4402003", "--actions", '[["reject","486"]]'):
                self.call("4402003", status=1)
        self.file = captured.file

    def answer(self, user, *options):
        low = self.ports.rtp[0] + 20
        return Answering(self, user, self.ports.sip, (low, low + 9), *options)

    def call(self, user, *options, status=0):
        done = self.offhook("call", f"sip:{user}@127.0.0.1:{self.ports.sip}", "--user", "4401001", "--duration", "5",
                            "--rtp-ports", f"{self.ports.rtp[0]}-{self.ports.rtp[0] + 9}", *options)
        assert done.returncode == status, done.stdout + done.stderr


@pytest.fixture(scope="module")
def lab(tmp_path_factory, build):
    ports = PortBlock()
    yield Lab(tmp_path_factory.mktemp("import"), build, ports)
    ports.close()


def test_several_calls_are_listed(lab):
    done = lab.offhook("import", lab.file)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(r"has 3 calls: choose one with --call, or all\n  1  4401001 to 4402002: established, \d+\.\d s\n"
                     r"  2  sipp to 4401002: established, \d+\.\d s\n  3  4401001 to 4402003: not established, 486\n", done.stderr)
    assert lab.offhook("import", lab.file, "--call", "4").returncode == 1
    assert lab.offhook("import", lab.file, "--call", "0").returncode == 2
    assert lab.offhook("import", lab.file, "--call", "1", "--target", "nowhere").returncode == 2
    assert lab.offhook("import", lab.build / "offhook").returncode == 1


def test_a_call_of_offhook_runs_again_and_passes(lab):
    text, said = lab.imported(lab.file, "first.yaml", "--call", FIRST)
    test, action = action_of(text)
    assert [a[0] for a in action["sipclient_actions"] if a[0] != "wait"] == \
        ["assert_established", "dtmf", "hold", "resume", "hangup"]
    assert dict(map(tuple, action["sipclient_actions"]))["dtmf"].startswith("12# ")
    assert action["audio_codecs"] == ["PCMA", "G722"]
    assert types(test) == {"postdial-delay-conditions", "sip-conditions", "mos-conditions", "loss-conditions"}
    assert "does not register" in said and "# - The capture has no registration" in text
    with lab.answer("4402002") as callee:
        passed, report = lab.run("first.yaml")
    assert passed, report
    for state in ("CALL_HOLD", "CALL_RESUME", "CALL_DTMF_1", "CALL_DTMF_2", "CALL_DTMF_POUND"):
        assert state in callee.said, callee.said


def test_a_call_of_sipp_runs_again_and_passes(lab):
    text, _ = lab.imported(lab.file, "sipp.yaml", "--call", SIPP)
    test, action = action_of(text)
    assert action["custom_headers"] == [["X-Customer", "Mustermann 4711471", "invites"]]
    assert action["dtmf_mode"] == "info" and "mos-conditions" in types(test)
    with lab.answer("4401002", "--trace") as callee:
        passed, report = lab.run("sipp.yaml")
    assert passed, report
    assert "X-Customer: Mustermann 4711471" in callee.said and "Signal=5" in callee.said


def test_all_calls_are_one_file(lab):
    text, said = lab.imported(lab.file, "all.yaml", "--call", "all", "--expect-failure")
    document = yaml.safe_load(text)
    names = [test["name"] for test in document["tests"]]
    assert names == ["Call from 4401001 to 4402002", "Call from sipp to 4401002", "Call from 4401001 to 4402003"]
    assert [len(document[k]) for k in ("projects", "agent_pools", "targets", "credential_pools")] == [1, 1, 3, 3]
    assert "Call 3: The call failed with 486" in said
    with lab.answer("4402003", "--actions", '[["reject","486"]]'):
        passed, report = lab.run("all.yaml", "--test", names[2])
    assert passed, report
    (lab.folder / "tests").mkdir()
    text, said = lab.imported(lab.file, "tests", "--call", "all", "--anonymise")
    for word in ("4401001", "4402002", "4402003", "4401002", "Erika", "Mustermann", "4711471", "127.0.0.1"):
        assert word.lower() not in (text + said).lower(), word
    first, _, third = (test["steps"][0][0] for test in yaml.safe_load(text)["tests"])
    users = [pool["credentials"][0]["username"] for pool in yaml.safe_load(text)["credential_pools"]]
    assert users[0] == users[2] and first["dial_destination"] != third["dial_destination"]


def test_a_refused_call_fails_in_the_same_way(lab):
    _, said = lab.imported(lab.file, "busy.yaml", "--call", BUSY)
    assert "The call failed with 486" in said
    lab.imported(lab.file, "expected.yaml", "--call", BUSY, "--expect-failure")
    with lab.answer("4402003", "--actions", '[["reject","486"]]'):
        passed, report = lab.run("busy.yaml")
    assert not passed and "486 Busy Here" in report, report
    with lab.answer("4402003", "--actions", '[["reject","486"]]'):
        passed, report = lab.run("expected.yaml")
    assert passed, report
    with lab.answer("4402003"):
        passed, report = lab.run("expected.yaml")
    assert not passed, report


def test_an_anonymised_call_has_no_original(lab):
    target = f"sip:127.0.0.1:{lab.ports.sip}"
    originals = {FIRST: ["4401001", "4402002", "Erika", "Mustermann"],
                 SIPP: ["sipp", "4401002", "Mustermann", "4711471"], BUSY: ["4401001", "4402003"]}
    for number, words in originals.items():
        plain, _ = lab.imported(lab.file, "plain.yaml", "--call", number)
        text, said = lab.imported(lab.file, "hidden.yaml", "--call", number, "--anonymise")
        for word in [*words, "127.0.0.1"]:
            assert word.lower() in plain.lower(), word
            assert word.lower() not in (text + said.replace("hidden.yaml", "")).lower(), word
    text, _ = lab.imported(lab.file, "runs.yaml", "--call", SIPP, "--anonymise", "--target", target)
    _, action = action_of(text)
    with lab.answer(action["dial_destination"], "--trace") as callee:
        passed, report = lab.run("runs.yaml")
    assert passed, report
    assert "4711471" not in callee.said

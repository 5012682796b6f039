"""What changed between two runs through kamailio and rtpengine: what the relay does to session
descriptions and media, and what the proxy does to messages and registrations
(docs/reference/differences.md)."""
import json
import re
from contextlib import contextmanager
from pathlib import Path

import pytest

import test_differences
import test_differences_proxy
from bench import Bench, state_condition
from ports import PortBlock
from rtpengine import KAMAILIO, RTPENGINE, RelayingRegistrar, RtpengineDaemon
from test_differences import RUNS, Party, assert_alike, differences, of_kind

pytestmark = pytest.mark.skipif(not RTPENGINE or not KAMAILIO, reason="needs kamailio and rtpengine-daemon")

CODECS = ["PCMU", "PCMA"]
PAGE = Path(__file__).resolve().parents[2] / "docs/internals/differences.md"


@contextmanager
def rtpengine_lab(folder):
    """An agent, rtpengine, and a party; a kamailio is started for each run.

    two_phones, to_party: its tests; usual: a run of each, undisturbed"""
    ports = PortBlock()
    (folder / "relay").mkdir()
    with RtpengineDaemon(folder / "relay", ports.control, ports.relay), Party(ports.phone) as party, \
            Bench(folder, ports, proxy=False) as bench:
        bench.party = party
        bench.proxies = (folder / "relay" / str(n) for n in range(10000))
        bench.two_phones, bench.to_party = two_phones(bench), to_party(bench)
        bench.usual = {test: undisturbed(bench, test) for test in (bench.two_phones, bench.to_party)}
        yield bench
    ports.close()


def two_phones(bench):
    """Two roles of our own, registered at the proxy."""
    target = {"target_pool": bench.target_id}
    return bench.api("POST", "/tests", {
        "name": "calls through rtpengine", "project_id": bench.project_id,
        "agentpool_id": bench.pool_id, "record": "sip",
        "steps": [
            [{"type": "register", "role": "callee", "credential_pool": bench.callees, **target},
             {"type": "answer", "role": "callee", "audio_codecs": CODECS, "media_encryption": "sdes"}],
            [{"type": "register", "role": "caller", "credential_pool": bench.callers, **target},
             {"type": "call", "role": "caller", "max_total_calls": 1, "dial_destination": "1002",
              "audio_codecs": CODECS, "call_duration": 2}]],
        "conditions": [state_condition(role, "REGISTER_OK", "CALL_ESTABLISHED")
                       for role in ("caller", "callee")]})["test"]["id"]


def to_party(bench):
    """Three calls to a user agent behind the proxy and rtpengine."""
    return bench.api("POST", "/tests", {
        "name": "calls to a party behind rtpengine", "project_id": bench.project_id,
        "agentpool_id": bench.pool_id, "record": "sip",
        "steps": [[{"type": "call", "role": "caller", "target_pool": bench.target_id,
                    "dial_destination": RelayingRegistrar.PEER, "max_total_calls": 3,
                    "max_concurrent_calls": 3, "call_duration": 2}]],
        "conditions": [state_condition("caller", "CALL_ESTABLISHED")]})["test"]["id"]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    with rtpengine_lab(tmp_path_factory.mktemp("differences")) as bench:
        yield bench


def place(lab, test, party=None, **how):
    """A run with a kamailio that behaves as RelayingRegistrar is told."""
    folder = next(lab.proxies)
    folder.mkdir()
    lab.party.behave(**(party or {}))
    with RelayingRegistrar(folder, lab.ports.sip, lab.ports.control, lab.ports.phone, **how):
        run, _ = lab.run(test)
    return run


def passing(lab, test):
    run = place(lab, test)
    assert run["status"] == "passed", run["result_description"]
    return run


def undisturbed(lab, test):
    """A run that the machine did not disturb: the one before it was alike; else the last of six."""
    before = passing(lab, test)
    for _ in range(5):
        run = passing(lab, test)
        if not differences(lab, run, before)["differences"]:
            break
        before = run
    return run


def assert_named(lab, run, before, kind, part):
    """The difference is named first or second."""
    found = of_kind(differences(lab, run, before)["differences"], kind)
    assert any(d["kind"] == kind and part in d["sentence"] for d in found[:2]), json.dumps(found, indent=1)


# name: (what the proxy tells rtpengine, kind, part of the sentence)
RELAYED = {
    "relay left the path": ({"relayed": False}, "media_address", '"127.0.0.2" and is "127.0.0.1"'),
    "relay at another address": ({"offer": "ICE=remove direction=near direction=other"}, "media_address",
                                 '"127.0.0.2" and is "127.0.0.3"'),
    "relay strips a codec": ({"offer": "ICE=remove codec-strip-PCMU"}, "codec", 'was "PCMU/8000, PCMA/8000'),
    "relay reorders codecs": (
        {"offer": "ICE=remove codec-strip-all codec-offer-PCMA codec-offer-PCMU codec-offer-telephone-event"}, "codec",
        'is "PCMA/8000, PCMU/8000'),
    "relay forces ICE": ({"offer": "ICE=force"}, "sdp", "a=ice-"),
    "relay encrypts": ({"offer": "ICE=remove RTP/SAVP"}, "encryption", "The SRTP key line"),
    "relay offers RTCP on the port of RTP": ({"offer": "ICE=remove rtcp-mux-offer"}, "sdp", "The line a=rtcp-mux"),
    "relay changes the packet time": ({"offer": "ICE=remove ptime=40"}, "sdp", "The packet time"),
    "relay blocks media": ({"answered": "block_media();"}, "media", "RTP that"),
}

FIRST = 'if (is_method("INVITE") && !has_totag())'
# name: (what the proxy does, kind, part of the sentence)
PROXIED = {
    "software of the proxy": ({"edits": [("\ndebug=1", '\ndebug=1\nserver_header="Server: edge 2.0"')]}, "software",
                              '"edge 2.0"'),
    "registration timer": ({"edits": [('"max_expires", 7200', '"max_expires", 60')]}, "header",
                           "Contact of the 200 REGISTER"),
    "digest algorithm": ({"edits": [(r'modparam\("auth", "nonce_expire"',
                                     r'modparam("auth", "algorithm", "SHA-256")\n\g<0>')]}, "header", "SHA-256"),
    "lost request at the proxy": ({"routes": (
        '\tif (is_method("INVITE") && $sht(subscriber=>lost$ci) == $null) {\n'
        '\t\t$sht(subscriber=>lost$ci) = "1";\n\t\texit;\n\t}\n')}, "retransmission", "INVITE was sent"),
    "proxy left the path of signalling": ({"edits": [
        (r'(is_method\("INVITE"\)\) \{\n\t\t)record_route\(\);(\n#!ifdef WITH_RELAY\n\t\trtpengine)',
         r"\1$var(path) = 0;\2")]}, "header", "Record-Route"),
    "header of the proxy": ({"routes": f'\t{FIRST} append_hf("X-Trunk: west\\\\r\\\\n");\n'}, "header", "X-Trunk"),
    "header that the proxy removes": ({"answered": 'remove_hf("Allow");'}, "header", "Allow of the 200 INVITE"),
    "refusal of the proxy": ({"routes": f'\t{FIRST} {{ sl_send_reply("503", "Maintenance"); exit; }}\n'}, "response",
                             "INVITE was answered with 503 in 1 of 1 calls of caller; before with 200"),
    "no challenge": ({"routes": f'\t{FIRST} {{ lookup("location"); record_route(); '
                                'rtpengine_manage("replace-origin replace-session-connection ICE=remove"); '
                                't_on_reply("MEDIA"); t_relay(); exit; }\n'}, "message", "407 INVITE"),
}

# name: (behaviour of the party, kind, part of the sentence)
BEHIND = {
    "software behind the relay": ({"server": "party 1.1"}, "software", '"party 1.0" and is "party 1.1"'),
    "session timer behind the relay": ({"lines": ["Session-Expires: 1800;refresher=uas"]}, "header",
                                       "Session-Expires of the 200 INVITE"),
    "loss behind the relay": ({"loses": 5}, "media", "Packet loss"),
    "delay behind the relay": ({"delay_s": 0.6}, "timing", "The time from INVITE to 180 INVITE"),
}


@pytest.mark.parametrize("name", [*RELAYED, *PROXIED])
def test_change_in_the_path_is_named(lab, name):
    how, kind, part = {**RELAYED, **PROXIED}[name]
    assert_named(lab, place(lab, lab.two_phones, **how), lab.usual[lab.two_phones], kind, part)


@pytest.mark.parametrize("name", BEHIND)
def test_change_behind_the_relay_is_named(lab, name):
    how, kind, part = BEHIND[name]
    assert_named(lab, place(lab, lab.to_party, how), lab.usual[lab.to_party], kind, part)


@pytest.mark.parametrize("test", ["two_phones", "to_party"])
def test_equal_runs_have_no_difference(lab, test):
    test = getattr(lab, test)
    assert_alike(lab, [lab.usual[test], *(passing(lab, test) for _ in range(RUNS // 2))])


def test_page_lists_what_is_planted():
    """Of the files test_differences*.py, in the order of the tests, at least 30."""
    planted = [(file, name) for file, names in (
        ("test_differences.py", [*test_differences.PLANTED, *test_differences.ALONE]),
        ("test_differences_proxy.py", [*test_differences_proxy.PLANTED, *test_differences_proxy.ALONE]),
        ("test_differences_rtpengine.py", [*RELAYED, *PROXIED, *BEHIND])) for name in names]
    rows, file = [], None
    for line in PAGE.read_text().splitlines():
        file = (re.search(r"`(test_differences\w*\.py)`", line) or [None, file])[1] if line.startswith("## ") else file
        row = re.match(r"\| (\d+) \| ([^|]+) \|", line)
        if row:
            rows.append((int(row[1]), file, row[2]))
    assert rows == [(number + 1, *row) for number, row in enumerate(planted)]
    assert len(rows) >= 30

"""POST /projects/ID/import: the calls of a capture, and tests made of them."""
import base64
import datetime
import struct
import threading

import pytest

from call_pcap import CALLER, CALLEE, START, call, message, packet, pcap
from controller import Controller

MIXED = pcap(call(1, peer="4711") + call(2, 10, "1003", "4712", code=486) + call(3, 20, peer="4713", lasts=5))
SCHEDULE = ("from", "to", "outcome", "code", "duration_s", "ended_by")


@pytest.fixture(scope="module")
def c():
    with Controller() as c:
        c.project = c.api("POST", "/projects", {"name": "Branch office"})["project"]["id"]
        c.pool = c.api("POST", "/agent-pools", {"name": "lab"})["agent_pool"]["id"]
        yield c


def send(c, capture, project=None, **fields):
    return c.request("POST", f"/projects/{project or c.project}/import", files=[
        ("capture", ("call.pcap", capture, "application/vnd.tcpdump.pcap")), *((k, (None, str(v))) for k, v in fields.items())])


def found(c, capture, **fields):
    answer = send(c, capture, **fields)
    assert answer.status_code == 200, answer.text
    return answer.json()["import"]


def refused(c, capture, **fields):
    """@return pointer and detail of the only error"""
    answer = send(c, capture, **fields)
    assert answer.status_code == 422, answer.text
    error, = answer.json()["errors"]
    return error["pointer"], error["detail"]


def test_calls_are_listed(c):
    answer = found(c, MIXED)
    assert [tuple(call[k] for k in SCHEDULE) for call in answer["calls"]] == [
        ("1001", "4711", "established", 200, 3.0, "caller"), ("1003", "4712", "refused", 486, None, None),
        ("1001", "4713", "established", 200, 5.0, "caller")]
    begins = [datetime.datetime.fromtimestamp(START + s, datetime.timezone.utc) for s in (0, 10, 20)]
    assert [call["started_at"] for call in answer["calls"]] == [f"{b:%Y-%m-%d %H:%M:%S}" for b in begins]
    assert answer["tests"] == [] and answer["notes"] == [] and answer["damaged"] is None


def stored(c, made):
    """Send what was answered to where it belongs. @return the test"""
    target = c.api("POST", "/targets", made["target"])["target"]["id"]
    pool = c.api("POST", "/credential-pools", made["credential_pool"])["credential_pool"]["id"]
    for action in sum(made["test"]["steps"], []):
        action.update(credential_pool=pool, target_pool=target)
    return c.api("POST", "/tests", {**made["test"], "agentpool_id": c.pool})["test"]


def test_a_call_becomes_a_test(c):
    before = c.api("GET", "/audit")["total"]
    answer = found(c, MIXED, call=3)
    made, = answer["tests"]
    assert [c.api("GET", f"/{kind}")["total"] for kind in ("tests", "targets", "credential-pools")] == [0, 0, 0]
    assert c.api("GET", "/audit")["total"] == before
    assert made["target"]["hosts"] == [{"host": CALLEE, "port": 5060, "transport": "udp"}]
    assert made["credential_pool"]["credentials"] == [{"username": "1001"}] and not made["needs_password"]
    test = stored(c, made)
    assert test["name"] == "Call from 1001 to 4713" and test["project_id"] == c.project
    (action,), = test["steps"]
    assert action["dial_destination"] == "4713"
    assert ["hangup", ""] in action["sipclient_actions"]
    assert any("no registration" in note for note in answer["notes"])


def test_the_only_call_needs_no_number(c):
    assert len(found(c, pcap(call()))["tests"]) == 1


def test_the_file_may_be_in_base64(c):
    answer = c.api("POST", f"/projects/{c.project}/import", {
        "content": base64.b64encode(MIXED).decode(), "all": True, "expect_failure": True})["import"]
    assert [made["test"]["name"] for made in answer["tests"]] == [
        "Call from 1001 to 4711", "Call from 1003 to 4712", "Call from 1001 to 4713"]
    assert [bool(made["test"]["conditions"]) for made in answer["tests"]] == [True] * 3
    assert any(note.startswith("Call 2: The call failed with 486") for note in answer["notes"])


def test_name_and_target_are_taken(c):
    made, = found(c, MIXED, call=1, name="Nightly", target="sip:pbx.example.test:5070;transport=tcp")["tests"]
    assert made["test"]["name"] == "Nightly" and made["target"]["name"] == "Target of Nightly"
    assert made["target"]["hosts"] == [{"host": "pbx.example.test", "port": 5070, "transport": "tcp"}]


def test_a_password_is_asked_for(c):
    challenged = call(more='Authorization: Digest username="1001", realm="x", nonce="y", uri="sip:x", response="0"\r\n')
    made, = found(c, pcap(challenged))["tests"]
    assert made["needs_password"] and "password" not in made["credential_pool"]["credentials"][0]


@pytest.mark.parametrize("fields", [{"call": 1}, {"all": 1}, {}])
def test_an_anonymised_answer_has_nothing_of_the_capture(c, fields):
    more = "X-Customer: Mustermann 4711471\r\nP-Asserted-Identity: \"Erika\" <sip:1001@example.test>\r\n"
    answer = send(c, pcap(call(1, peer="4711", more=more) + call(2, 10, peer="4712")), anonymise=1, **fields)
    text = answer.text.lower()
    assert answer.status_code == 200 and len(answer.json()["import"]["calls"]) == 2
    for word in ("1001", "4711", "4712", "example.test", "mustermann", "erika", CALLER, CALLEE, "call-1"):
        assert word not in text.replace(f"{c.project}", ""), word


def test_what_is_no_capture_is_refused(c):
    pointer, detail = refused(c, b"GIF89a, and so on")
    assert pointer == "/content" and "pcap or pcapng" in detail
    assert refused(c, b"")[0] == "/content"
    pointer, detail = refused(c, pcap([(0, packet(CALLER, CALLEE, b"\x80\x00" + bytes(170), 4000, 4002))]))
    assert pointer == "/content" and "no SIP call" in detail and "signalling" in detail
    without = c.request("POST", f"/projects/{c.project}/import", {"call": 1})
    assert without.status_code == 422 and without.json()["errors"][0]["pointer"] == "/content"


def test_a_damaged_capture_is_read_up_to_there(c):
    answer = found(c, pcap(call()) + b"\x01" * 16)
    assert answer["damaged"] and len(answer["tests"]) == 1


def test_wrong_fields_are_refused(c):
    assert refused(c, MIXED, call=4) == ("/call", "is above the number of calls, 3")
    assert refused(c, MIXED, call=0)[0] == "/call"
    assert refused(c, MIXED, call=1, target="nowhere")[0] == "/target"
    assert refused(c, MIXED, call=1, all=1)[0] == "/all"
    assert refused(c, MIXED, calls=1)[0] == "/calls"
    assert refused(c, pcap(sum((call(n, n) for n in range(1, 102)), [])), all=1)[0] == "/all"
    unreadable = [(0, packet(CALLER, CALLEE, message("INVITE x SIP/2.0", "1 INVITE")))]
    assert refused(c, pcap(unreadable))[0] == "/call"
    listed = found(c, pcap(unreadable + call(2)))
    assert listed["calls"][0]["outcome"] == "unreadable" and listed["calls"][0]["from"] is None


def test_a_project_must_be_there(c):
    assert send(c, MIXED, project=999).status_code == 404
    assert send(c, MIXED, project="x").status_code == 404


def test_a_capture_that_takes_long_is_given_up(c):
    """Its texts are so many and so long that all replacements would take minutes."""
    words = "".join("X-{:02d}: {}\r\n".format(i, " ".join(f"z{i:02d}{k:02d}" for k in range(40))) for i in range(30))
    filler = "X-Long: " + "y" * 60000 + "\r\n"
    first, answer, end = call(more=words)
    texts = [(1 + n / 100, packet(CALLER, CALLEE, message(f"INFO sip:1002@{CALLEE} SIP/2.0", f"{n} INFO", to=";tag=b", more=filler)))
             for n in range(3, 253)]
    capture, got = pcap([first, answer, *texts, end]), []

    def sent():
        while (answer := send(c, capture, anonymise=1)).status_code == 503:
            pass  # a small one was being read
        got.append(answer)
    thread = threading.Thread(target=sent)
    thread.start()
    codes = set()
    while thread.is_alive():
        codes.add(send(c, pcap(call())).status_code)
        c.api("GET", "/projects")
    thread.join()
    assert got[0].status_code == 422 and "longer than" in got[0].text, got[0].text
    assert 503 in codes and codes <= {200, 503}
    assert found(c, pcap(call()))["tests"]


def sdp(address, port):
    return (f"v=0\r\no=- 1 1 IN IP4 {address}\r\ns=-\r\nc=IN IP4 {address}\r\nt=0 0\r\n"
            f"m=audio {port} RTP/AVP 0\r\n")


def stream(port, ssrc, at, packets):
    """What a caller receives."""
    return [(at + 0.02 * i, packet(CALLEE, CALLER, struct.pack(">BBHII", 0x80, 0, i, 160 * i, ssrc) + b"\xff" * 160,
                                   6000, port)) for i in range(packets)]


@pytest.mark.parametrize("others, measured", [(999, True), (1000, False)])
def test_streams_of_a_capture(c, others, measured):
    """The call that is imported has the last stream; those before are of another call."""
    capture = [*call(1, lasts=10, body=sdp(CALLER, 4000)), *call(2, lasts=10, user="1003", body=sdp(CALLER, 4002))]
    for i in range(others):
        capture += stream(4002, 2 + i, 1 + i / 1000, 2)
    capture += stream(4000, 1, 3, 200)
    answer = found(c, pcap(sorted(capture, key=lambda p: p[0])), call=1)
    (made,), notes = answer["tests"], " ".join(answer["notes"])
    kinds = {v["condition_type"] for v in made["test"]["conditions"]}
    assert ("caller-mos-conditions" in kinds) == ("caller-loss-conditions" in kinds) == measured, kinds
    assert ("no condition on MOS and loss" in notes) != measured, notes
    assert ("The first 1000 RTP streams of the capture are measured" in notes) != measured, notes

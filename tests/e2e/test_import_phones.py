"""`offhook import` of calls with foreign phones, baresip and linphone: calls to them run against
the phone again, and Offhook plays their part in calls that they placed."""
import os

import pytest

from capture import Capture
from importer import Answering, Importer, action_of, types
from phones import BARESIP, LINPHONE, OURS, PHONE, Baresip, Linphone
from ports import PortBlock

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for network namespaces")

SIP_PORT = 5070
SCRIPT = '[["assert_established",""],["wait","1500"],["dtmf","159"],["wait","500"],["hold",""],["wait","500"],' \
    '["resume",""],["wait","2000"],["hangup",""]]'
NAME, USER, CALLED = "Erika Mustermann", "4403003", "4402002"
KINDS = {"baresip": BARESIP, "linphone": LINPHONE}
# mode: options of Offhook, the parameter of the test
MODES = {
    "plain": ([], (None, None)),
    "keys": (["--encryption", "sdes-mandatory"], ("media_encryption", "sdes-mandatory")),
    "optional keys": (["--encryption", "sdes"], ("media_encryption", "sdes")),
    "dtls": (["--encryption", "dtls"], ("media_encryption", "dtls")),
    "ice": (["--nat", "ice"], ("media_nat", "ice")),
}
BARESIP_MODES = {"plain": ("", []), "keys": (";mediaenc=srtp-mand", ["srtp"]),
                 "optional keys": (";mediaenc=srtp", ["srtp"]),
                 "dtls": (";mediaenc=dtls_srtp", ["dtls_srtp"]), "ice": (";medianat=ice", ["ice"])}
LINPHONE_MODES = {"plain": [], "dtls": ["media_encryption=dtls", "media_encryption_mandatory=1"],
                  "keys": ["media_encryption=srtp"]}
CALLED_MODES = [("baresip", "plain"), ("baresip", "keys"), ("linphone", "plain"), ("linphone", "dtls")]
CALLING_MODES = [("baresip", "plain"), ("baresip", "optional keys"), ("baresip", "ice"), ("linphone", "plain"),
                 ("linphone", "keys")]


def renamed(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def phone_make(kind, mode, folder, namespace):
    folder.mkdir()
    if not KINDS[kind]:
        pytest.skip(f"needs {kind}")
    if kind == "baresip":
        phone = Baresip(folder, namespace, "PCMA", *BARESIP_MODES[mode], dtmf="rtpevent")
        renamed(folder / "accounts", "<sip:phone@", f'"{NAME}" <sip:{USER}@')
        return phone
    phone = Linphone(folder, namespace, LINPHONE_MODES[mode], info=False)
    renamed(folder / "linphonerc", f"contact=sip:phone@{PHONE}", f'contact="{NAME}" <sip:{USER}@{PHONE}>')
    return phone


@pytest.fixture
def desk(tmp_path, build, namespaces):
    ports = PortBlock()
    yield Importer(tmp_path, build, (ports.rtp[0], ports.rtp[0] + 9), namespaces[0], OURS)
    ports.close()


def answer(desk, *options, user=CALLED):
    return Answering(desk, user, SIP_PORT, (desk.rtp[0] + 20, desk.rtp[0] + 29), "--codec", "PCMA", *options)


def call(desk, *options, status=0):
    done = desk.offhook("call", f"sip:{USER}@{PHONE}", "--bind", OURS, "--user", "4401001", "--caller-id", "Max Meier",
                        "--rtp-ports", f"{desk.rtp[0]}-{desk.rtp[1]}", *options)
    assert done.returncode == status, done.stdout + done.stderr


def without(words, *texts):
    for word in words:
        assert not any(word.lower() in text.lower() for text in texts), word


def anonymised(desk, capture, name, words, *options):
    """Import it anonymised. @return the file's text"""
    text, said = desk.imported(capture, name, "--anonymise", *options)
    without(words, text, said.replace(name, ""))
    return text


@pytest.mark.parametrize("kind,mode", CALLED_MODES)
def test_a_call_to_a_phone(desk, namespaces, kind, mode):
    options, (parameter, value) = MODES[mode]
    with phone_make(kind, mode, desk.folder / "phone", namespaces[1]) as phone:
        with Capture(desk.folder, None, namespaces[0], "va", "udp") as captured:
            call(desk, "--codec", "PCMA", "--actions", SCRIPT, *options)
        text, said = desk.imported(captured.file, "call.yaml")
        test, action = action_of(text)
        script = [a for a in action["sipclient_actions"] if a[0] != "wait"]
        assert [a[0] for a in script if a[0] != "dtmf"] == ["assert_established", "hold", "resume", "hangup"]
        assert {"postdial-delay-conditions", "sip-conditions", "loss-conditions"} <= types(test)
        assert action.get(parameter) == value
        if mode == "plain":
            assert dict(map(tuple, script))["dtmf"].startswith("159 ")
        else:
            assert "dtmf" not in dict(map(tuple, script)) and "The caller sent 3 digits in encrypted RTP" in said, text
        before = phone.digits()
        assert before == "159"
        passed, report = desk.run("call.yaml")
        assert passed, report
        assert phone.digits() == ("159159" if mode == "plain" else "159")
        anonymised(desk, captured.file, "hidden.yaml", [USER, NAME, PHONE, OURS, "4401001", "Max", "Meier"])


@pytest.mark.parametrize("kind,mode", CALLING_MODES)
def test_a_call_of_a_phone(desk, namespaces, kind, mode):
    options, (parameter, value) = MODES[mode]
    with phone_make(kind, mode, desk.folder / "phone", namespaces[1]) as phone, \
            Capture(desk.folder, None, namespaces[1], "any", "udp") as captured, \
            answer(desk, *options) as callee:
        phone.dial(f"sip:{CALLED}@{OURS}:{SIP_PORT}")
        callee.until("CALL_RTPESTAB")
        for digit in "15":
            phone.digit(digit)
            callee.until(f"CALL_DTMF_{digit}")
        phone.hold()
        callee.until("CALL_HOLD")
        phone.resume()
        callee.until("CALL_RESUME")
        phone.hang_up()
        callee.until("CALL_ENDED_REMOTE")
    text, said = desk.imported(captured.file, "call.yaml")
    _, action = action_of(text)
    script = [a for a in action["sipclient_actions"] if a[0] != "wait"]
    assert action.get(parameter) == value
    digits = "".join(a[1].split()[0] for a in script if a[0] == "dtmf")
    if "keys" in mode:
        assert not digits and "The caller sent 2 digits in encrypted RTP" in said, said
    else:
        assert digits == "15", script
    assert [a[0] for a in script if a[0] not in ("dtmf", "reinvite")] == ["assert_established", "hold", "resume",
                                                                           "hangup"]
    with answer(desk, *options) as callee:
        passed, report = desk.run("call.yaml")
    assert passed, report
    for state in ["CALL_HOLD", "CALL_RESUME", *(f"CALL_DTMF_{d}" for d in digits)]:
        assert state in callee.said, callee.said
    words = [USER, CALLED, *NAME.split(), PHONE, OURS]
    anonymised(desk, captured.file, "hidden.yaml", words)
    if mode == "plain":
        text = anonymised(desk, captured.file, "runs.yaml", words[:-1], "--target", f"sip:{OURS}:{SIP_PORT}")
        _, action = action_of(text)
        with answer(desk, *options, user=action["dial_destination"]) as callee:
            passed, report = desk.run("runs.yaml")
        assert passed, report
        without(words[:-2], callee.said)


def test_a_phone_that_refuses(desk, namespaces):
    """Offered a codec that it does not have, baresip refuses with 488."""
    with phone_make("baresip", "plain", desk.folder / "phone", namespaces[1]):
        with Capture(desk.folder, None, namespaces[0], "va", "udp") as captured:
            call(desk, "--codec", "GSM", status=1)
        _, said = desk.imported(captured.file, "call.yaml")
        assert "The call failed with 488" in said
        passed, report = desk.run("call.yaml")
        assert not passed and "488" in report, report
        desk.imported(captured.file, "expected.yaml", "--expect-failure")
        passed, report = desk.run("expected.yaml")
        assert passed, report

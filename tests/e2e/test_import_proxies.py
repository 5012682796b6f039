"""`offhook import` of calls through kamailio, which challenges, records its route and forks, and
through rtpengine, which changes the SDP: the capture has both sides of the proxy."""
import os

import pytest

from capture import Capture
from importer import Answering, Importer, action_of, types
from netns import cable
from peers import Kamailio
from ports import PortBlock
from rtpengine import HOST, KAMAILIO, RTPENGINE, SIP_PORT, RtpengineProxy

SCRIPT = '[["assert_established",""],["wait","300"],["dtmf","15"],["hold",""],["wait","300"],["resume",""],' \
    '["wait","2000"],["hangup",""]]'
SHORT = '[["assert_established",""],["wait","500"],["dtmf","15"],["wait","2000"],["hangup",""]]'
# Our ClientHello may come before rtpengine has our answer, and is sent again after 1 s
# (RFC 6347 4.2.4.1); what is sent to rtpengine until the handshake is complete is lost.
AFTER_HANDSHAKE = SHORT.replace('"500"', '"3000"')
CALLER, CALLEE = "4401001", "4402002"   # in no time or port
SUBSCRIBERS = {CALLER: "secret-one", CALLEE: "secret-two"}
NAMES = "Erika Mustermann"


class Lab(Importer):
    """Kamailio, and parties that register there."""

    def __init__(self, folder, build, ports):
        super().__init__(folder, build, (ports.rtp[0], ports.rtp[0] + 9))
        self.ports, self.registrar = ports, f"127.0.0.1:{ports.sip}"
        self.password = {f"CALLER_{CALLER}": SUBSCRIBERS[CALLER]}

    def captured(self):
        return Capture(self.folder, (self.ports.base, self.ports.base + 199))

    def answer(self, *options, number=0):
        low = self.ports.rtp[0] + 20 + 10 * number
        return Answering(self, CALLEE, self.ports.phone + number, (low, low + 9), "--registrar", self.registrar,
                         "--bind", "127.0.0.1", *options, OFFHOOK_PASSWORD=SUBSCRIBERS[CALLEE])

    def call(self, *options, user=CALLEE, status=0):
        done = self.offhook("call", user, "--target", self.registrar, "--register", "--user", CALLER, "--caller-id",
                            NAMES, "--rtp-ports", f"{self.rtp[0]}-{self.rtp[1]}", *options,
                            OFFHOOK_PASSWORD=SUBSCRIBERS[CALLER])
        assert done.returncode == status, done.stdout + done.stderr


@pytest.fixture
def lab(tmp_path, build):
    if not KAMAILIO:
        pytest.skip("needs kamailio")
    ports = PortBlock()
    with Kamailio(tmp_path, ports.sip, subscribers=SUBSCRIBERS):
        yield Lab(tmp_path, build, ports)
    ports.close()


def script_of(action):
    return [a[0] for a in action["sipclient_actions"] if a[0] != "wait"]


def without(words, *texts):
    for word in words:
        assert not any(word.lower() in text.lower() for text in texts), word


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_a_call_through_kamailio(lab, transport):
    """Registration, digest and the route of two hops; the test does the same."""
    with lab.captured() as capture, lab.answer("--transport", transport):
        lab.call("--actions", SCRIPT, "--transport", transport)
    text, said = lab.imported(capture.file, "call.yaml")
    test, action = action_of(text)
    (first, _), = test["steps"]
    assert first["type"] == "register" and "does not register" not in said
    assert f"{{host: \"127.0.0.1\", transport: {transport}, port: {lab.ports.sip}}}" in text, text
    assert "custom_headers" not in action, action
    assert script_of(action) == ["assert_established", "dtmf", "hold", "resume", "hangup"]
    assert {"postdial-delay-conditions", "sip-conditions", "loss-conditions"} <= types(test)
    with lab.answer("--transport", transport) as callee:
        passed, report = lab.run("call.yaml", **lab.password)
    assert passed, report
    for state in ("CALL_HOLD", "CALL_RESUME", "CALL_DTMF_1", "CALL_DTMF_5"):
        assert state in callee.said, callee.said
    text, said = lab.imported(capture.file, "hidden.yaml", "--anonymise")
    without([CALLER, CALLEE, *NAMES.split(), "127.0.0.1"], text, said)


def test_a_call_that_the_callee_ends(lab):
    with lab.captured() as capture, lab.answer("--duration", "3"):
        lab.call("--duration", "30", "--actions", '[["assert_established",""],["wait","20000"]]')
    text, _ = lab.imported(capture.file, "call.yaml")
    test, action = action_of(text)
    assert script_of(action) == ["assert_established"]
    sip, = (c["conditions"] for c in test["conditions"] if "sip" in c["condition_type"])
    assert [c["method"] for c in sip] == ["200", "BYE"]
    with lab.answer("--duration", "3"):
        passed, report = lab.run("call.yaml", **lab.password)
    assert passed, report


def test_an_unknown_number(lab):
    with lab.captured() as capture:
        lab.call(user="4409999", status=1)
    lab.imported(capture.file, "call.yaml")
    passed, report = lab.run("call.yaml", **lab.password)
    assert not passed and "404 No Such Subscriber" in report, report
    lab.imported(capture.file, "expected.yaml", "--expect-failure")
    passed, report = lab.run("expected.yaml", **lab.password)
    assert passed, report


def test_a_forked_call(lab):
    """Two phones refuse with different codes; the proxy sends the caller the lower one, which is
    not the last in the capture."""
    low, high = '[["reject","480"]]', '[["wait","1000"],["reject","486"]]'

    def phones():
        return lab.answer("--actions", low), lab.answer("--actions", high, number=1)

    first, second = phones()
    with lab.captured() as capture, first, second:
        lab.call(status=1)
    _, said = lab.imported(capture.file, "expected.yaml", "--expect-failure")
    assert "The call failed with 480" in said
    first, second = phones()
    with first, second:
        passed, report = lab.run("expected.yaml", **lab.password)
    assert passed, report


@pytest.fixture(scope="module")
def relay(tmp_path_factory):
    if os.geteuid() or not RTPENGINE or not KAMAILIO:
        pytest.skip("needs root for network namespaces, kamailio and rtpengine-daemon")
    with cable("i") as (ours, theirs), RtpengineProxy(tmp_path_factory.mktemp("rtpengine"), theirs):
        yield ours, theirs


# dialled user: options of the caller, of the callee, parameters of the test, the caller's codec
RELAYED = {
    "plain": ([], [], {}, "AVP 8"),
    "srtp": ([], ["--encryption", "sdes-mandatory"], {}, "AVP 8"),
    "demux": (["--encryption", "sdes-mandatory"], [], {"media_encryption": "sdes-mandatory"}, "AVP 8"),
    "dtls": ([], ["--encryption", "dtls"], {}, "AVP 8"),
    "transcoded": (["--codec", "PCMU"], [], {"audio_codecs": ["PCMU"]}, "AVP 0"),
}


@pytest.mark.parametrize("user", RELAYED)
def test_a_call_through_rtpengine(relay, tmp_path, build, user):
    """The capture of the proxy's host has the SDP and the RTP before and behind rtpengine; the
    caller's are those of the test."""
    near, far = relay
    ours, theirs, parameters, codec = RELAYED[user]
    lab = Importer(tmp_path, build, (20000, 20009), near, "10.99.0.1")
    beyond = Importer(tmp_path, build, None, far, HOST)

    def answer():
        return Answering(beyond, user, 5060, (30000, 30009), "--codec", "PCMA", *theirs)

    with answer(), Capture(tmp_path, None, far, "any", "udp") as capture:
        done = lab.offhook("call", f"sip:{user}@{HOST}:{SIP_PORT}", "--bind", lab.bind, "--user", "4401001",
                           "--rtp-ports", "20000-20009", *(ours if "--codec" in ours else ["--codec", "PCMA", *ours]),
                           "--actions", AFTER_HANDSHAKE)
        assert done.returncode == 0, done.stdout + done.stderr
    text, said = lab.imported(capture.file, "call.yaml")
    test, action = action_of(text)
    assert script_of(action) == ["assert_established", *([] if "--encryption" in ours else ["dtmf"]), "hangup"]
    assert ("2 digits in encrypted RTP" in said) == ("--encryption" in ours), said
    assert {k: action[k] for k in ("media_encryption", "media_nat", "audio_codecs") if k in action} == \
        {"audio_codecs": ["PCMA"], **parameters}
    sdp, = (c["conditions"][0]["value"] for c in test["conditions"] if "sip" in c["condition_type"])
    assert sdp == codec and "mos-conditions" in types(test)
    with answer() as callee:
        passed, report = lab.run("call.yaml")
    assert passed, report
    assert ("CALL_DTMF_5" in callee.said) == ("--encryption" not in ours), callee.said
    text, said = lab.imported(capture.file, "hidden.yaml", "--anonymise")
    without([user, "4401001", HOST, lab.bind], text, said)

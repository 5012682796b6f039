"""The signalling of calls with foreign phones in a network namespace, feature by feature."""
import os
import time

import pytest

import interop
from certificates import Authority
from engine import Engine, target
from phones import BARESIP, LINPHONE, OURS, PHONE, Baresip, Linphone
from ports import PortBlock
from sip_relay import SipRelay

root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for network namespaces")
PATIENCE_S = 30


def within(engine, condition):
    """Wait until the condition is true. @return whether it became true"""
    end = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < end and not engine.finish:
        engine.pump()
    return bool(condition())


class Desk:
    """Our engine beside the phone; each call has an engine of its own."""

    def __init__(self, build, namespace, ports, **settings):
        self.build, self.ports, self.settings = build, ports, settings
        self.namespace = namespace
        self.prefix = ["ip", "netns", "exec", namespace]

    def engine(self, steps, sip_port=0):
        return Engine(self.build, "caller", steps, self.ports, bind=OURS, prefix=self.prefix,
                      sip_port=sip_port, settings=self.settings)

    def call(self, script, **more):
        """Call the phone with a script. @return the engine, after its end"""
        action = {"type": "call", "dial_destination": f"sip:phone@{PHONE}", "call_duration": "20",
                  "target": target(PHONE, 5060), "sipclient_actions": script,
                  "credentials": [{"username": "1001"}], **more}
        with self.engine([[action]]) as engine:
            engine.run()
        return engine

    def answer(self, port=5070, **more):
        action = {"type": "answer", "credentials": [{"username": "1002"}, {"username": "1003"}],
                  "target": target(OURS, port), "audio_codecs": ["PCMU"], **more}
        return self.engine([[action], []], sip_port=port)


def established_first(*script):
    return [["assert_established", "15000"], ["assert_state", "CALL_RTPESTAB"], *script,
            ["hangup"]]


def cell(engine, *needed):
    """yes, or the reason why not"""
    if engine.asserts():
        return "no: " + engine.asserts()[0]["text"][:60]
    missing = [s for s in needed if s not in engine.states()]
    return "no: no " + missing[0] if missing else "yes"


def called_features(desk):
    """We call the phone."""
    seen = {}
    seen["called: call and audio"] = cell(desk.call(established_first()), "CALL_RTPESTAB")
    seen["called: hold and resume by us"] = cell(desk.call(established_first(
        ["hold"], ["wait", "300"], ["resume"], ["wait", "300"])), "CALL_HOLD", "CALL_RESUME")
    seen["called: re-INVITE"] = cell(desk.call(established_first(["reinvite"])))
    seen["called: UPDATE"] = cell(desk.call(established_first(["update"])))
    seen["called: OPTIONS in the dialog"] = cell(desk.call(established_first(["options"])))
    seen["called: MESSAGE in the dialog"] = cell(desk.call(established_first(["message", "hi"])))
    seen["called: DTMF by INFO"] = cell(desk.call(established_first(["dtmf", "5"]),
                                                  dtmf_mode="info"))
    seen["called: late offer"] = cell(desk.call(established_first(), late_offer=1),
                                      "CALL_RTPESTAB")
    engine = desk.call(established_first(), prack="supported")
    seen["called: PRACK"] = "yes" if engine.sent("PRACK") else "no: it sends no reliable answer"
    engine = desk.call(established_first(["wait", "3000"]), session_timer=4)
    timer = any("\r\nSession-Expires:" in m for m in engine.received("SIP/2.0 200"))
    seen["called: session timer"] = "yes" if timer else "no: no Session-Expires in its answer"
    return seen


def transferred(desk):
    """We transfer the phone to a third line of ours."""
    with desk.answer() as third:
        third.step(0)
        engine = desk.call(established_first(["transfer", f"sip:1003@{OURS}:5070"]))
        third.step(1)
        third.end()
    seen = {"called: blind transfer by us": cell(engine, "CALL_TRANSFER")}
    with SipRelay(desk.namespace, OURS, 5080), desk.answer() as third:
        third.step(0)
        engine = desk.call(established_first(
            ["transfer_attended", f"start sip:1003@{OURS}:5070"], ["wait", "300"],
            ["transfer_attended", "exec"]), target=target(OURS, 5080))
        third.step(1)
        third.end()
    replaced = any("\r\nReplaces:" in m for m in third.received("INVITE"))
    good = cell(engine, "CALL_TRANSFER")
    seen["called: attended transfer by us"] = good if good != "yes" or replaced else \
        "no: its INVITE has no Replaces"
    return seen


def replaced_in_it(desk):
    """A line of ours takes over our call with the phone: INVITE with Replaces."""
    relay = target(OURS, 5080)
    with SipRelay(desk.namespace, OURS, 5080), desk.answer(target=relay) as line:
        line.step(0)
        engine = desk.call(established_first(
            ["transfer_attended", f"start sip:phone@{PHONE}"], ["wait", "300"],
            ["transfer_attended", "exec"]),
            dial_destination=f"sip:1002@{OURS}:5070", target=relay)
        line.step(1)
        line.end()
    assert line.sent("INVITE", "\r\nReplaces:"), line.sent("INVITE")
    if "CALL_TRANSFER" in engine.states():
        # the phone ended the replaced call
        assert len(engine.received("BYE")) >= 1 and not engine.asserts()
        return {"called: INVITE with Replaces by us": "yes"}
    return {"called: INVITE with Replaces by us": "no: " + engine.asserts()[0]["text"][:60]}


def attended_by_it(desk, phone):
    """The phone calls two lines of ours and connects them."""
    with desk.answer() as engine:
        engine.step(0)
        for count, user in enumerate(("1002", "1003"), 1):
            phone.dial(f"sip:{user}@{OURS}:5070")
            within(engine, lambda n=count: engine.states().count("CALL_RTPESTAB") == n)
            time.sleep(0.5)
            if count == 1:
                phone.hold()
                within(engine, lambda: "CALL_HOLD" in engine.states())
        phone.transfer_attended()
        # the new call: placed by one line, answered by the other
        moved = within(engine, lambda: engine.states().count("CALL_ESTABLISHED") == 4 and
                       engine.states().count("CALL_ENDED_REMOTE") >= 1)
        phone.hang_up()
        engine.step(1)
        engine.end()
    replaced = engine.sent("INVITE", "\r\nReplaces:")
    if moved and replaced:
        return "yes"
    return "no: " + ("no REFER came" if "REFER" not in engine.states() else
                     "its REFER has no Replaces" if not replaced else "the new call failed")


def calling_features(desk, phone):
    """The phone calls us and uses its features."""
    seen = {}
    with desk.answer() as engine:
        engine.step(0)
        phone.dial(f"sip:1002@{OURS}:5070")
        up = within(engine, lambda: "CALL_RTPESTAB" in engine.states())
        seen["calling: call and audio"] = "yes" if up else "no: not established"
        for name, do, state in (("hold by it", phone.hold, "CALL_HOLD"),
                                ("resume by it", phone.resume, "CALL_RESUME")):
            time.sleep(0.5)
            do()
            seen[f"calling: {name}"] = "yes" if within(
                engine, lambda s=state: s in engine.states()) else f"no: no {state}"
        phone.hang_up()
        ended = within(engine, lambda: "CALL_ENDED_REMOTE" in engine.states())
        seen["calling: BYE by it"] = "yes" if ended else "no: none came"
        engine.step(1)
        engine.end()
    with desk.answer() as engine:
        engine.step(0)
        phone.dial(f"sip:1002@{OURS}:5070")
        within(engine, lambda: "CALL_RTPESTAB" in engine.states())
        time.sleep(0.5)
        phone.digit("5")
        within(engine, lambda: any(e["kind"] == "dtmf" for e in engine.events))
        phone.hang_up()
        engine.step(1)
        engine.end()
        digits = {(e["digit"], e["via"]) for e in engine.events if e["kind"] == "dtmf"}
        seen["calling: DTMF by INFO by it"] = "yes" if ("5", "info") in digits else \
            "no: as telephone-event alone" if digits else "no: no digit came"
    with desk.answer() as engine:
        engine.step(0)
        phone.dial(f"sip:1002@{OURS}:5070")
        within(engine, lambda: "CALL_RTPESTAB" in engine.states())
        time.sleep(0.5)
        phone.transfer(f"sip:1003@{OURS}:5070")
        moved = within(engine, lambda: engine.states().count("CALL_ESTABLISHED") >= 3)
        seen["calling: blind transfer by it"] = "yes" if moved else "no: " + (
            "no REFER came" if "REFER" not in engine.states() else "the new call failed")
        phone.hang_up()
        engine.step(1)
        engine.end()
    if hasattr(phone, "transfer_attended"):
        seen["calling: attended transfer by it"] = attended_by_it(desk, phone)
    with desk.answer(answer_code=486) as engine:
        engine.step(0)
        phone.dial(f"sip:1002@{OURS}:5070")
        busy = within(engine, lambda: "CALL_REJECTED" in engine.states())
        seen["calling: 486 to it"] = "yes" if busy else "no: no call came"
        engine.step(1)
        engine.end()
    return seen


@pytest.fixture(scope="module")
def module_ports():
    block = PortBlock()
    yield block
    block.close()


PHONES = [
    pytest.param((Baresip, "baresip"), marks=pytest.mark.skipif(not BARESIP, reason="no baresip")),
    pytest.param((Linphone, "linphone-cli"),
                 marks=pytest.mark.skipif(not LINPHONE, reason="no linphonec"))]


@root
@pytest.mark.parametrize("program", PHONES, ids=["baresip", "linphone"])
def test_phone(build, namespaces, module_ports, tmp_path, program):
    phone_class, name = program
    desk = Desk(build, namespaces[0], module_ports)
    with phone_class(tmp_path, namespaces[1]) as phone:
        try:
            seen = {**called_features(desk), **transferred(desk), **replaced_in_it(desk),
                    **calling_features(desk, phone)}
        except BaseException:
            print(phone.text()[-4000:])
            raise
    interop.compare(name, seen)


def tls_phone(program, folder, namespace, authority):
    cert, key = authority.issue("phone", f"IP:{PHONE}")
    if program is Linphone:
        return Linphone(folder, namespace, ["sip_tls_port=5061", f"root_ca={authority.file}",
                                            "verify_server_certs=1", "verify_server_cn=1"])
    both = folder / "both.pem"
    both.write_text(cert.read_text() + key.read_text())
    return Baresip(folder, namespace, config=[f"sip_certificate {both}",
                                              f"sip_cafile {authority.file}"])


@root
@pytest.mark.parametrize("program", PHONES, ids=["baresip", "linphone"])
def test_phone_tls(build, namespaces, module_ports, tmp_path, program):
    phone_class, name = program
    authority, seen = Authority(tmp_path), {}
    # linphone's TLS library does not check IP addresses in certificates, only names
    cert, key = authority.issue("ours", f"IP:{OURS},DNS:{OURS}")
    desk = Desk(build, namespaces[0], module_ports, tls_certificate=str(cert), tls_key=str(key))
    trust = {"verify": 1, "ca": authority.file.read_text()}
    with tls_phone(phone_class, tmp_path, namespaces[1], authority) as phone:
        if phone_class is Baresip:   # linphonec listens without a certificate of its own
            engine = desk.call(established_first(),
                               dial_destination=f"sip:phone@{PHONE}:5061;transport=tls",
                               target=target(PHONE, 5061, "tls", tls=trust))
            assert {m["transport"] for m in engine.messages} == {"tls"}
            seen["TLS: called, verified by us"] = cell(engine, "CALL_RTPESTAB")
        with desk.answer() as engine:
            engine.step(0)
            phone.dial(f"sip:1002@{OURS}:5070;transport=tls")
            up = within(engine, lambda: "CALL_RTPESTAB" in engine.states())
            time.sleep(0.5)
            phone.hang_up()
            ended = within(engine, lambda: "CALL_ENDED_REMOTE" in engine.states())
            engine.step(1)
            engine.end()
        assert {m["transport"] for m in engine.messages} <= {"tls"}
        seen["TLS: calling, verified by it" if phone_class is Linphone else
             "TLS: calling"] = "yes" if up and ended else "no: not established"
    interop.compare(name, seen, ("TLS: ",))

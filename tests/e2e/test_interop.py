"""The signalling of calls with foreign implementations, feature by feature."""
import os
import re
import time

import pytest

import interop
from adversary import Peer
from certificates import Authority
from engine import Engine, target
from peers import SUBSCRIBERS, Kamailio
from phones import BARESIP, LINPHONE, OURS, PHONE, Baresip, Linphone
from ports import PortBlock
from sip_relay import SipRelay

root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for network namespaces")
PATIENCE_S = 30


def account(user):
    return {"username": user, "password": SUBSCRIBERS[user]}


class Proxied:
    """Engines registered at kamailio: one step each, so that they can be driven."""

    def __init__(self, build, ports, host="127.0.0.1", **settings):
        self.build, self.ports, self.count, self.settings = build, ports, 0, settings
        self.host = host

    def engine(self, role, steps, **more):
        self.count += 1
        return Engine(self.build, role, steps, self.ports, offset=self.count % 5 * 3,
                      bind=self.host, settings=self.settings, **more)

    def register(self, user, transport="udp", **more):
        return {"type": "register", "credentials": [account(user)],
                "target": target(self.host, self.ports.sip + (transport == "tls"), transport,
                                 **more)}


def finish(*engines):
    for engine in engines:
        engine.step(engine.steps - 1)
    for engine in engines:
        engine.end()


def digest_calls(lab, transport, algorithm, trust):
    """A registration, a call through it and an end after the nonce has gone stale: the proxy
    reaches the called phone over TLS too."""
    action = {"type": "call", "dial_destination": "1002", "call_duration": "2"}
    with lab.engine("callee", [[lab.register("1002", transport, **trust), {"type": "answer"}],
                               [{"type": "unregister"}]]) as b, \
            lab.engine("caller", [[lab.register("1001", transport, **trust)], [action],
                                  [{"type": "unregister"}]]) as a:
        b.step(0)
        a.step(0)
        a.step(1)
        finish(a, b)
    for engine in (a, b):
        assert "REGISTER_OK" in engine.states() and engine.calls()[0]["established"]
        assert {m["transport"] for m in engine.messages} == {transport}
        first, *_, before, last = engine.sent("REGISTER")
        assert "Authorization" not in first
        assert re.search(r"[; ]expires=0|Expires: 0\r", last), last
        challenges = engine.received("SIP/2.0 401", "REGISTER")
        assert ["stale=true" in m for m in challenges] == [False, True], challenges
        asked = [re.search('nonce="([^"]*)"', m)[1] for m in challenges]
        assert asked[0] != asked[1]
        assert f'nonce="{asked[1]}"' in last and f'nonce="{asked[0]}"' in before
        assert f"algorithm={algorithm}" in last.split("Authorization: ")[1]
        assert "REGISTER_FAIL" not in engine.states()
    assert f"algorithm={algorithm}" in a.sent("INVITE")[-1].split("Authorization: ")[1]


def test_kamailio_digest(build, ports, tmp_path):
    authority = Authority(tmp_path)
    cert, key = authority.issue("agent")
    lab = Proxied(build, ports, tls_certificate=str(cert), tls_key=str(key))
    trust = {"tls": {"verify": 1, "ca": authority.file.read_text()}}
    seen, features = {}, ("registration", "call", "nonce that has expired")
    for algorithm in ("MD5", "SHA-256"):
        folder = tmp_path / algorithm
        folder.mkdir()
        with Kamailio(folder, ports.sip, tls=authority.issue("proxy"), nonce_s=1,
                      algorithm=None if algorithm == "MD5" else algorithm):
            for transport in ("udp", "tcp", "tls"):
                digest_calls(lab, transport, algorithm, trust)
                for feature in features:
                    seen[f"{feature}, {transport.upper()}, digest {algorithm}"] = "yes"
    interop.compare("kamailio", seen, tuple(f"{f}, " for f in features))


def test_kamailio_ipv6(build, ports, tmp_path):
    lab, seen = Proxied(build, ports, host="::1"), {}
    with Kamailio(tmp_path, ports.sip, host="::1"):
        for transport in ("udp", "tcp"):
            action = {"type": "call", "dial_destination": "1002", "call_duration": "1",
                      "sipclient_actions": [["assert_established", "20000"], ["reinvite"]]}
            with lab.engine("callee", [[lab.register("1002", transport), {"type": "answer"}],
                                       [{"type": "unregister"}]]) as b, \
                    lab.engine("caller", [[lab.register("1001", transport)], [action],
                                          [{"type": "unregister"}]]) as a:
                b.step(0)
                a.step(0)
                a.step(1)
                finish(a, b)
            for engine in (a, b):
                call, = engine.calls()
                assert call["established"] and engine.asserts() == []
                assert all(s["packets"] >= 45 for s in call["streams"] if s["dir"] == "out")
                assert {(m["transport"], m["peer"][:6]) for m in engine.messages} == {
                    (transport, "[::1]:")}
            seen[f"IPv6: registration, call and re-INVITE, {transport.upper()}"] = "yes"
    interop.compare("kamailio", seen, ("IPv6: ",))


def proxied_call(lab, user, **more):
    return lab.engine("caller", [[lab.register("1001")], [
        {"type": "call", "dial_destination": user, "call_duration": "1", **more}]])


def test_kamailio_several_2xx(build, ports, tmp_path):
    """Both branches of a forked INVITE answer: the second 200 crosses the CANCEL."""
    seen, lab = {}, Proxied(build, ports)
    with Peer() as first, Peer() as second, Kamailio(tmp_path, ports.sip, routes=f"""
        if ($rU == "twins") {{
            record_route();
            $ru = "sip:one@127.0.0.1:{first.port}";
            append_branch("sip:two@127.0.0.1:{second.port}");
            t_relay();
            exit;
        }}
"""), proxied_call(lab, "twins") as engine:
        first.tag, second.tag = "one", "two"
        engine.step(0)
        engine.go(1)
        one, two = (p.expect("INVITE") for p in (first, second))
        second.reply(two, 180, "Ringing")
        engine.until(lambda: "CALL_RINGING" in engine.states(), "it rings")
        first.reply(one, 200, "OK", body=first.sdp)
        first.expect("ACK")
        cancel = second.expect("CANCEL")
        second.reply(two, 200, "OK", body=second.sdp)
        second.expect("ACK")
        second.reply(second.expect("BYE"), 200)
        second.reply(cancel, 200)
        first.reply(first.expect("BYE"), 200)
        engine.until(lambda: engine.ready >= 1, "the call ends")
        engine.end()
    call, = engine.calls()
    assert call["established"] and call["end"] == "local" and call["duration_ms"] >= 1000, call
    assert {re.search(r"\r\nTo:.*;tag=(\w+)", m)[1] for m in engine.received("SIP/2.0 200")
            if re.search(r"\r\nCSeq: \d+ INVITE", m)} == {"one", "two"}
    byes = engine.sent("BYE")
    assert ["tag=two" in b for b in byes] == [True, False], byes
    seen["fork: a second 200 is acknowledged and ended"] = "yes"
    interop.compare("kamailio", seen, ("fork: ",))


def test_kamailio_redirects(build, ports, tmp_path):
    """A 302 with two contacts: the better one refuses, the other takes the call."""
    seen, lab = {}, Proxied(build, ports)
    with Peer() as busy, Kamailio(tmp_path, ports.sip, routes=f"""
        if ($rU == "moved") {{
            append_to_reply("Contact: <sip:1002@127.0.0.1:{ports.phone}>;q=0.3, <sip:b@127.0.0.1:{busy.port}>;q=0.9\r\n");
            sl_send_reply("302", "Moved Temporarily");
            exit;
        }}
"""), Engine(build, "callee", [[{"type": "answer", "credentials": [{"username": "1002"}]}], []],
             ports, sip_port=ports.phone, offset=8) as callee, \
            proxied_call(lab, "moved") as engine:
        callee.step(0)
        engine.step(0)
        engine.go(1)
        busy.reply(busy.expect("INVITE"), 486, "Busy Here")
        busy.expect("ACK")
        engine.until(lambda: engine.ready >= 1, "the call ends")
        finish(callee)
        engine.end()
    assert engine.calls()[0]["established"] and callee.calls()[0]["established"]
    assert [e["text"] for e in engine.events if e.get("state") == "CALL_REDIRECT"] == [
        f"sip:b@127.0.0.1:{busy.port}", f"sip:1002@127.0.0.1:{ports.phone}"]
    seen["redirect: contacts of a 302 by their q"] = "yes"
    interop.compare("kamailio", seen, ("redirect: ",))


def test_kamailio(build, ports, tmp_path):
    seen = {}
    lab = Proxied(build, ports)
    with Kamailio(tmp_path, ports.sip):
        # one user, two phones: both ring, the first to answer has it
        dial = {"type": "call", "dial_destination": "1002", "call_duration": "1"}
        slow = [[lab.register("1002"), {"type": "answer", "answer_delay": 20000}], []]
        quick = [[lab.register("1002"), {"type": "answer", "answer_delay": 300}], []]
        with lab.engine("A", slow) as a, lab.engine("B", quick) as b, \
                lab.engine("caller", [[lab.register("1001")], [dial]]) as c:
            for e in (a, b, c):
                e.step(0)
            c.step(1)
            finish(a, b)
            c.end()
        assert c.calls()[0]["established"] and b.calls()[0]["established"]
        assert a.calls()[0]["end"] == "cancelled" and a.received("CANCEL")
        assert "CALL_RINGING" in a.states()
        seen["forking: the branch that loses is cancelled"] = "yes"
        # both refuse: the proxy's best answer
        refuse = [[lab.register("1003"), {"type": "answer", "answer_code": 486}], []]
        with lab.engine("A", refuse) as a, lab.engine(
                "caller", [[lab.register("1001")], [{**dial, "dial_destination": "1003"}]]) as c:
            for e in (a, c):
                e.step(0)
            c.step(1)
            finish(a)
            c.end()
        assert c.calls()[0]["code"] == 486
        seen["final answer through a proxy"] = "yes"
        # everything within a dialog crosses Record-Route
        script = [["assert_established", "20000"], ["hold"], ["resume"], ["reinvite"],
                  ["update"], ["message", "hi"], ["options"], ["dtmf", "5"], ["hangup"]]
        more = {"prack": "supported", "dtmf_mode": "info", "session_timer": 90}
        with lab.engine("A", [[lab.register("1004"), {"type": "answer", **more}], []]) as a, \
                lab.engine("caller", [[lab.register("1001")], [
                    {**dial, **more, "dial_destination": "1004", "call_duration": "60",
                     "sipclient_actions": script}]]) as c:
            for e in (a, c):
                e.step(0)
            c.step(1)
            finish(a)
            c.end()
        assert c.asserts() == [], c.asserts()
        assert all("Route: <sip:127.0.0.1" in m for m in c.sent("UPDATE") + c.sent("PRACK"))
        for feature in ("hold and resume", "re-INVITE", "UPDATE", "PRACK", "MESSAGE", "OPTIONS",
                        "DTMF by INFO"):
            seen[f"{feature} through Record-Route"] = "yes"
        # the caller gives up while it rings
        with lab.engine("A", [[lab.register("1005"), {"type": "answer", "ring_only": 1}], []]) \
                as a, lab.engine("caller", [[lab.register("1001")], [
                    {**dial, "dial_destination": "1005",
                     "sipclient_actions": [["assert_state", "CALL_RINGING"], ["hangup"]]}]]) as c:
            for e in (a, c):
                e.step(0)
            c.step(1)
            finish(a)
            c.end()
        assert c.calls()[0]["end"] == "cancelled" == a.calls()[0]["end"]
        seen["CANCEL through a proxy"] = "yes"
    interop.compare("kamailio", seen)


# ---- phones ----


def within(engine, condition):
    """Does it become true?"""
    end = time.monotonic() + PATIENCE_S
    while not condition() and time.monotonic() < end and not engine.finish:
        engine.pump()
    return bool(condition())


class Desk:
    """Our engine beside the phone; each call is an engine of its own."""

    def __init__(self, build, namespace, ports, **settings):
        self.build, self.ports, self.settings = build, ports, settings
        self.namespace = namespace
        self.prefix = ["ip", "netns", "exec", namespace]

    def engine(self, steps, sip_port=0):
        return Engine(self.build, "caller", steps, self.ports, bind=OURS, prefix=self.prefix,
                      sip_port=sip_port, settings=self.settings)

    def call(self, script, **more):
        """Call the phone with a script. @return the engine, ended"""
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
    """yes, or why not"""
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
    """It is transferred by us, to a third line of ours."""
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


def attended_by_it(desk, phone):
    """It calls two lines of ours and connects them."""
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
        # the new call: placed by one line, taken by the other
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
    """The phone calls us, and does things."""
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
            seen = {**called_features(desk), **transferred(desk), **calling_features(desk, phone)}
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
    # linphone's TLS library knows no addresses in certificates, only names
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

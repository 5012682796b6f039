"""The signalling of registrations and calls with SIPp, feature by feature.

Each feature has its own scenario, run with an engine of its own, several in parallel."""
import concurrent.futures

import pytest

import interop
from engine import Engine, target
from ports import PortBlock
from sipp import Scenario, Sipp

RELIABLE = ["Require: 100rel", "RSeq: 5"]
CHALLENGE = 'Digest realm="sipp", nonce="n-{}", algorithm={}, qop="{}"'
UP = ["assert_established", "15000"]
HANGUP = ["hangup"]
TALK = [UP, ["wait", "300"], HANGUP]
AGAIN = [UP, ["reinvite"], ["wait", "100"], HANGUP]
FRAGMENT = {"body": "SIP/2.0 200 OK", "kind": "message/sipfrag;version=2.0"}
REFER = "Refer-To: <sip:1@127.0.0.1:[local_port];method=none>"
DIGIT = {"body": "Signal=5\nDuration=160", "kind": "application/dtmf-relay"}


def www(number, algorithm="MD5", qop="auth", more=""):
    return "WWW-Authenticate: " + CHALLENGE.format(number, algorithm, qop) + more


def taken(**more):
    """SIPp has received an INVITE."""
    return Scenario(True).expect("INVITE", keep=True, **more).keep_invite()


def answered(**more):
    return taken().invite_reply(200, sdp=True, **more).expect("ACK")


def bye_by_us(scenario):
    return scenario.expect("BYE").reply(200)


def placed(*lines, sdp=True):
    """SIPp has sent an INVITE."""
    return Scenario(False).invite(lines, sdp).expect(response=100, optional=True)


def up(scenario, **more):
    return scenario.expect(response=180, optional=True).expect(response=200, **more)


def talking(*lines):
    return up(placed(*lines)).request("ACK")


def bye_by_it(scenario):
    return scenario.request("BYE").expect(response=200)


# ---- in both directions ----


def glare(scenario):
    """Our re-INVITE and SIPp's cross: both are answered with 491, ours is repeated."""
    return scenario.expect("INVITE").keep("ours_").request("INVITE", sdp=True).expect(
        response=491).ack_refused().kept_reply("ours_", 491, "Request Pending").expect(
        "ACK").expect("INVITE", has=("body", "m=audio")).reply(200, sdp=True).expect("ACK")


def challenged(scenario):
    """Our re-INVITE is answered 401, our BYE 407."""
    return scenario.expect("INVITE").reply(401, "Unauthorized", [www(1, "SHA-256")]).expect(
        "ACK").expect("INVITE", has=("Authorization", "n-1.*SHA-256.*nc=00000001")).reply(
        200, sdp=True).expect("ACK").expect("BYE").reply(
        407, "Proxy Authentication Required",
        ["Proxy-Authenticate: " + CHALLENGE.format(2, "MD5", "auth")]).expect(
        "BYE", has=("Proxy-Authorization", "n-2.*algorithm=MD5.*nc=00000001")).reply(200)


def reinvite(scenario, offer, answer):
    return scenario.request("INVITE", sdp=offer).expect(response=100, optional=True).expect(
        response=200, has=("body", answer)).request("ACK")


def holds(scenario):
    """SIPp puts us on hold in all forms."""
    for offer, answer in (("a=sendonly", "a=recvonly"), (True, "m=audio"),
                          ("a=inactive", "a=inactive"), ("a=sendrecv", "m=audio"),
                          ("0.0.0.0", "a=recvonly"), (True, "m=audio")):
        scenario = reinvite(scenario, offer, answer)
    return scenario


def held_thrice(engine):
    return [s for s in engine.states() if s in ("CALL_HOLD", "CALL_RESUME")] == \
        ["CALL_HOLD", "CALL_RESUME"] * 3


def asked(scenario):
    """Requests within the dialog without an offer."""
    return scenario.request("OPTIONS").expect(response=200, has=("Allow", "UPDATE")).request(
        "MESSAGE", body="hello", kind="text/plain").expect(response=200).request(
        "INFO", **DIGIT).expect(response=200).request("NOSUCH").expect(response=501).request(
        "OPTIONS", ["Require: nothing"]).expect(response=420, has=("Unsupported", "nothing"))


def digit_came(engine):
    return ("5", "info") in {(e.get("digit"), e.get("via")) for e in engine.events}


def refers_in_silence(scenario):
    """SIPp refers us; its scenario does not expect a NOTIFY."""
    return scenario.request("REFER", [REFER, "Refer-Sub: false", "Supported: norefersub"]).expect(
        response=202, has=("Refer-Sub", "false")).pause(500)


def refreshes(scenario, lines=("Session-Expires: 4;refresher=uac",)):
    """SIPp refreshes the session in time."""
    return scenario.pause(1500).request("INVITE", ["Supported: timer", *lines], sdp=True).expect(
        response=100, optional=True).expect(
        response=200, has=("Session-Expires", "4;refresher=uac")).request("ACK")


def ended(how, code=None, words=""):
    """A check of an engine's calls: exactly one, which ended like this."""
    def look(engine):
        return [(c["end"], words in c["reason"]) for c in engine.calls()
                if code in (None, c.get("code"))] == [(how, True)]
    return look


EXPIRED = ended("failed", words="the session timer expired: no refresh within 4 s")


def no_call(engine):
    return engine.calls() == []


def referred_in_silence(engine):
    return "REFER" in engine.states() and not engine.sent("NOTIFY")


# ---- SIPp is called ----


def digest_of_calls(algorithm, qop):
    """SIPp accepts our digest responses, also with the body of the INVITE."""
    return taken().invite_reply(401, "Unauthorized", [www(3, algorithm, qop)]).expect(
        "ACK").expect_credentials("INVITE", "1001", "secret").reply(200, sdp=True, first=True)


def branches(scenario):
    """Two early dialogs; the second one answers, then the first one, too."""
    return scenario.invite_reply(180, "Ringing", tag="one").invite_reply(
        183, "Progress", tag="two", sdp=True).invite_reply(200, tag="two", sdp=True).expect(
        "ACK", has=("To", "tag=two")).invite_reply(200, tag="one", sdp=True).expect(
        "ACK", has=("To", "tag=one")).expect("BYE", has=("To", "tag=one")).reply(200).expect(
        "BYE", has=("To", "tag=two")).reply(200)


RINGING_UP = [["assert_state", "CALL_RINGING"], HANGUP]


def called():
    """feature: (SIPp's behaviour when called, parameters of our call, a check of our
    call)"""
    held = bye_by_us(answered().expect("INVITE", has=("body", "a=sendonly")).reply(
        200, sdp="a=recvonly").expect("ACK").expect("INVITE", hasnot=("body", "a=sendonly")).reply(
        200, sdp=True).expect("ACK"))
    script = {"sipclient_actions": TALK}
    longer = {"sipclient_actions": [UP, ["wait", "4000"], HANGUP]}
    return {
        "PRACK": (bye_by_us(
            taken(has=("Supported", "100rel"))
            .invite_reply(183, "Progress", RELIABLE, sdp=True)
            .expect("PRACK", has=("RAck", "5 [0-9]+ INVITE")).reply(200)
            .invite_reply(200).expect("ACK")), {"prack": "supported", **script}, None),
        "PRACK required, which it has not": (
            taken(has=("Require", "100rel"))
            .invite_reply(420, "Bad Extension", ["Unsupported: 100rel"]).expect("ACK"),
            {"prack": "required"}, ended("rejected", 420)),
        "UPDATE": (bye_by_us(
            answered().expect("UPDATE", has=("body", "m=audio")).reply(200, sdp=True)
            .request("UPDATE", sdp=True).expect(response=200, has=("body", "m=audio"))),
            {"sipclient_actions": [UP, ["update"], ["wait", "3000"], HANGUP]}, None),
        "UPDATE before the answer": (bye_by_us(
            taken().invite_reply(183, "Progress", RELIABLE, sdp=True)
            .expect("PRACK").reply(200).request("UPDATE", sdp="a=sendonly")
            .expect(response=200, has=("body", "a=recvonly"))
            .invite_reply(200).expect("ACK")), {"prack": "supported", **script}, None),
        "session timer": (bye_by_us(
            taken(has=("Session-Expires", "4"))
            .invite_reply(200, lines=["Allow: UPDATE", "Require: timer",
                                      "Session-Expires: 4;refresher=uac"], sdp=True)
            .expect("ACK").expect("UPDATE", has=("Session-Expires", "4;refresher=uac"))
            .reply(200, lines=["Session-Expires: 4;refresher=uac"])),
            {"session_timer": 4, "sipclient_actions": [UP, ["wait", "3000"], HANGUP]}, None),
        "session timer, refreshed by it": (bye_by_us(refreshes(
            answered(lines=["Require: timer", "Session-Expires: 4;refresher=uas"]))),
            {"session_timer": 4, "session_refresher": "uas",
             "sipclient_actions": [UP, ["wait", "3500"], HANGUP]}, ended("local")),
        "session timer, refreshed by nobody": (bye_by_us(
            answered(lines=["Require: timer", "Session-Expires: 4;refresher=uas"])),
            {"session_timer": 4}, EXPIRED),
        "session timer, 422 by it": (bye_by_us(
            taken(has=("Session-Expires", "4"))
            .invite_reply(422, "Session Interval Too Small", ["Min-SE: 90"]).expect("ACK")
            .expect("INVITE", keep=True, has=("Session-Expires", "90")).keep_invite()
            .invite_reply(200, lines=["Session-Expires: 90;refresher=uac"], sdp=True)
            .expect("ACK")), {"session_timer": 4, **script}, ended("local")),
        "late offer": (bye_by_us(
            taken(hasnot=("Content-Type", "sdp")).invite_reply(200, sdp=True)
            .expect("ACK", has=("body", "m=audio"))), {"late_offer": 1, **script}, None),
        "late offer, answered in the PRACK": (bye_by_us(
            taken(hasnot=("Content-Type", "sdp"))
            .invite_reply(183, "Progress", RELIABLE, sdp=True)
            .expect("PRACK", has=("body", "m=audio")).reply(200)
            .invite_reply(200).expect("ACK", hasnot=("Content-Type", "sdp"))),
            {"late_offer": 1, "prack": "supported", **script}, None),
        "early media": (bye_by_us(
            taken().invite_reply(183, "Progress", sdp=True).pause(300)
            .invite_reply(200, sdp=True).expect("ACK")), script,
            lambda e: "CALL_PROGRESS" in e.states()),
        "two early dialogs, both answer": (branches(taken()), longer, ended("local")),
        "CANCEL by us": (
            taken().invite_reply(180, "Ringing").expect("CANCEL").reply(200, first=True)
            .invite_reply(487, "Request Terminated").expect("ACK"),
            {"sipclient_actions": RINGING_UP}, ended("cancelled")),
        "its 200 crosses our CANCEL": (
            bye_by_us(taken().invite_reply(180, "Ringing").expect("CANCEL").reply(200, first=True)
                      .invite_reply(200, sdp=True).expect("ACK")),
            {"sipclient_actions": RINGING_UP}, ended("cancelled")),
        "hold and resume by us": (held, {"sipclient_actions": [
            UP, ["hold"], ["wait", "100"], ["resume"], HANGUP]},
            lambda e: "CALL_RESUME" in e.states()),
        "hold by it in all forms": (bye_by_us(holds(answered())), longer, held_thrice),
        "requests by it in the dialog": (bye_by_us(asked(answered())), longer, digit_came),
        "REFER by us": (bye_by_us(
            answered().expect("REFER", has=("Refer-To", "1003")).reply(202, "Accepted")
            .request("NOTIFY", ["Event: refer", "Subscription-State: terminated;reason=x"],
                     **FRAGMENT).expect(response=200)),
            {"sipclient_actions": [UP, ["transfer", "1003"], HANGUP]}, None),
        "REFER by us, Refer-Sub: false": (bye_by_us(
            answered().expect("REFER", has=("Refer-Sub", "false"))
            .reply(202, "Accepted", ["Refer-Sub: false"])),
            {"sipclient_actions": [UP, ["transfer", "1003 norefersub"], HANGUP]},
            lambda e: "CALL_TRANSFER" in e.states()),
        "REFER by it": (bye_by_us(
            answered().request("REFER", [REFER])
            .expect(response=202).expect("NOTIFY", has=("body", "SIP/2.0 100")).reply(200)),
            {"sipclient_actions": [UP, ["assert_state", "REFER"], ["wait", "300"], HANGUP]},
            None),
        "REFER by it, Refer-Sub: false": (
            bye_by_us(refers_in_silence(answered())), longer, referred_in_silence),
        "re-INVITE by it": (bye_by_us(reinvite(answered(), True, "m=audio")),
                            {"sipclient_actions": [UP, ["wait", "3000"], HANGUP]}, None),
        "glare": (bye_by_us(glare(answered())), {"sipclient_actions": AGAIN}, None),
        "401 and 407 in the dialog": (challenged(answered()), {"sipclient_actions": AGAIN}, None),
        "digest with qop=auth, found right": (bye_by_us(
            digest_of_calls("MD5", "auth").expect("ACK")), script, None),
        "digest with qop=auth-int, found right": (bye_by_us(
            digest_of_calls("MD5", "auth-int").expect("ACK")), script, None),
    }


# ---- SIPp calls ----


def calling():
    """feature: (SIPp's behaviour as caller, parameters of our answer, a check of our
    call)"""
    def refused(code):
        return placed().expect(response=180, optional=True).expect(
            response=code).acknowledge_refusal()

    return {
        "PRACK": (bye_by_it(
            placed("Supported: 100rel").expect(
                response=180, has=("RSeq", "[0-9]+"), name="rseq")
            .request("PRACK", ["RAck: [$rseq] 1 INVITE"]).expect(response=200)
            .expect(response=200).request("ACK")), {"prack": "supported", "answer_delay": 500},
            None),
        "PRACK required by us, which it has not": (
            refused(421), {"prack": "required"}, no_call),
        "PRACK required by it, which we have not": (
            placed("Require: 100rel").expect(response=420, has=("Unsupported", "100rel"))
            .acknowledge_refusal(), {}, no_call),
        "UPDATE": (bye_by_it(
            talking().request("UPDATE", sdp=True).expect(response=200, has=("body", "m=audio"))),
            {}, None),
        "session timer": (bye_by_it(
            up(placed("Supported: timer", "Session-Expires: 4;refresher=uas", "Min-SE: 2"),
               has=("Session-Expires", "4;refresher=uas"))
            .request("ACK").expect("INVITE", has=("Session-Expires", "4;refresher=uac"))
            .reply(200, sdp=True, lines=["Session-Expires: 4;refresher=uac"])
            .expect("ACK")), {"session_timer": 4}, None),
        "session timer, refreshed by it": (bye_by_it(refreshes(
            up(placed("Supported: timer", "Session-Expires: 4;refresher=uac", "Min-SE: 2"),
               has=("Session-Expires", "4;refresher=uac")).request("ACK")).pause(2000)),
            {"session_timer": 4}, ended("remote")),
        "session timer, refreshed by nobody": (
            up(placed("Supported: timer", "Session-Expires: 4;refresher=uac", "Min-SE: 2"))
            .request("ACK").expect("BYE").reply(200), {"session_timer": 4}, EXPIRED),
        "session timer, 422 by us": (bye_by_it(
            up(placed("Supported: timer", "Session-Expires: 4")
               .expect(response=422, has=("Min-SE", "90")).acknowledge_refusal()
               .begin("INVITE", ["Supported: timer", "Session-Expires: 90", "Min-SE: 90"],
                      sdp=True, again=True).expect(response=100, optional=True),
               has=("Session-Expires", "90")).request("ACK")),
            {"session_timer": 1800}, ended("remote")),
        "late offer": (bye_by_it(
            up(placed(sdp=False), has=("body", "m=audio")).request("ACK", sdp=True)
            .pause(300)), {}, None),
        "late offer, answered in the PRACK": (bye_by_it(
            placed("Supported: 100rel", sdp=False).expect(
                response=183, has=("RSeq", "[0-9]+"), name="rseq")
            .request("PRACK", ["RAck: [$rseq] 1 INVITE"], sdp=True).expect(response=200)
            .expect(response=200, hasnot=("Content-Type", "sdp")).request("ACK")),
            {"prack": "supported", "early_media": 1, "answer_delay": 500}, None),
        "early media by us": (bye_by_it(
            placed().expect(response=183, has=("body", "m=audio"))
            .expect(response=200, has=("body", "m=audio")).request("ACK")),
            {"early_media": 1, "answer_delay": 500}, None),
        "it gives up while we ring": (
            placed().expect(response=180).cancel().expect(response=200)
            .expect(response=487).acknowledge_refusal(), {"ring_only": 1}, ended("cancelled")),
        "its CANCEL crosses our 200": (
            bye_by_it(placed().expect(response=180, optional=True).expect(response=200).cancel()
                      .expect(response=200).request("ACK").pause(300)), {}, ended("remote")),
        "603 by us": (refused(603), {"answer_code": 603}, ended("rejected", 603)),
        "302 by us": (
            placed().expect(response=302, has=("Contact", "sip:b@192.0.2.8"))
            .acknowledge_refusal(),
            {"answer_code": 302, "answer_contact": "sip:b@192.0.2.8"}, ended("rejected", 302)),
        "hold by it in all forms": (bye_by_it(holds(talking())), {}, held_thrice),
        "requests by it in the dialog": (bye_by_it(asked(talking())), {}, digit_came),
        "REFER by it": (bye_by_it(
            talking().request("REFER", [REFER]).expect(response=202)
            .expect("NOTIFY", has=("body", "SIP/2.0 100")).reply(200)), {}, None),
        "REFER by it, Refer-Sub: false": (
            bye_by_it(refers_in_silence(talking())), {}, referred_in_silence),
        "REFER by us, Refer-Sub: false": (
            talking().expect("REFER", has=("Refer-Sub", "false"))
            .reply(202, "Accepted", ["Refer-Sub: false"]).expect("BYE").reply(200),
            {"sipclient_actions": [UP, ["transfer", "1003 norefersub"], HANGUP]},
            lambda e: "CALL_TRANSFER" in e.states()),
        "Replaces of nothing": (
            placed("Replaces: nobody;to-tag=a;from-tag=b", "Supported: replaces")
            .expect(response=481).acknowledge_refusal(), {}, no_call),
        "re-INVITE": (bye_by_it(reinvite(talking(), True, "m=audio")), {}, None),
        "glare": (glare(talking()).expect("BYE").reply(200), {"sipclient_actions": AGAIN}, None),
        "401 and 407 in the dialog": (challenged(talking()), {"sipclient_actions": AGAIN}, None),
    }


# ---- SIPp is the registrar ----


def registered(scenario, expires=60, lines=()):
    return scenario.reply(200, "OK", [f"Expires: {expires}", *lines], first=True)


def asked_to_register(**more):
    return Scenario(True).expect("REGISTER", **more)


def challenged_register(*parameters):
    return asked_to_register(hasnot=("Authorization", "Digest")).reply(
        401, "Unauthorized", [www(*parameters)], first=True)


def removed(scenario):
    return scenario.expect("REGISTER", has=("Expires", "0"))


def registrar():
    """feature: SIPp's behaviour for a registration and its removal"""
    first = challenged_register(1).expect_credentials("REGISTER", "1001", "secret")
    # the second nonce comes with stale=true; the response to it restarts nc
    stale = removed(registered(first)).reply(
        401, "Unauthorized", [www(2, more=", stale=true")]).expect(
        "REGISTER", has=("Authorization", "n-2.*nc=00000001")).reply(200)
    busy = asked_to_register().reply(
        503, "Service Unavailable", ["Retry-After: 1 (soon)"], first=True).expect("REGISTER")
    brief = asked_to_register(has=("Expires", "30")).reply(
        423, "Interval Too Brief", ["Min-Expires: 90"], first=True).expect(
        "REGISTER", has=("Expires", "90"))
    integrity = challenged_register(1, "MD5", "auth-int").expect_credentials(
        "REGISTER", "1001", "secret")
    return {
        "a nonce that is stale": stale,
        "digest with qop=auth-int, found right": removed(registered(integrity)).reply(200),
        "423": removed(registered(brief, 90)).reply(200),
        "503 with Retry-After": removed(registered(busy)).reply(200),
    }


# ---- the runs ----


class Runs:
    """Several features at a time, each with its own ports and folder."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder

    def all(self, what, run, features):
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            futures = {f: pool.submit(self._one, f"{what}: {f}", run, case)
                       for f, case in features.items()}
        return {f"{what}: {f}": future.result() for f, future in futures.items()}

    def _one(self, name, run, case):
        folder = self.folder / name
        folder.mkdir()
        ports = PortBlock()
        try:
            return self._told(name, *run(folder, ports, *case))
        finally:
            ports.close()

    @staticmethod
    def _told(name, code, said, engine, look):
        if code == 0 and not engine.asserts() and (look is None or look(engine)):
            return "yes"
        print(f"sipp: {name}: status {code}", said, engine.asserts(), engine.calls(),
              engine.states())
        return "no"

    def called(self, folder, ports, scenario, more, look):
        action = {"type": "call", "dial_destination": "sipp", "call_duration": "30",
                  "credentials": [{"username": "1001", "password": "secret"}],
                  "target": target("127.0.0.1", ports.phone), **more}
        with Sipp(folder, scenario, ports.phone) as sipp, \
                Engine(self.build, "caller", [[action]], ports) as engine:
            engine.step(0)
            code, said = sipp.wait()
            engine.end()
        return code, said, engine, look

    def calling(self, folder, ports, scenario, more, look):
        action = {"type": "answer", **more,
                  "credentials": [{"username": "1002", "password": "secret"}]}
        with Engine(self.build, "callee", [[action], []], ports, sip_port=ports.silent) as engine:
            engine.step(0)
            with Sipp(folder, scenario, ports.phone, to=ports.silent) as sipp:
                code, said = sipp.wait()
            engine.step(1)
            engine.end()
        return code, said, engine, look

    def registrar(self, folder, ports, scenario):
        steps = [[{"type": "register", "regexpire": 30, "target": target("127.0.0.1", ports.phone),
                   "credentials": [{"username": "1001", "password": "secret"}]}],
                 [{"type": "unregister"}]]
        with Sipp(folder, scenario, ports.phone) as sipp, \
                Engine(self.build, "caller", steps, ports) as engine:
            engine.run()
            code, said = sipp.wait()
        return code, said, engine, lambda e: "REGISTER_OK" in e.states() and \
            "REGISTER_FAIL" not in e.states() and e.finish["outcome"] == "completed"


@pytest.fixture(scope="module")
def seen(build, tmp_path_factory):
    """{feature: yes or no}"""
    runs = Runs(build, tmp_path_factory.mktemp("sipp"))
    return {**runs.all("called", runs.called, called()),
            **runs.all("calling", runs.calling, calling()),
            **runs.all("registrar", runs.registrar,
                       {f: (scenario,) for f, scenario in registrar().items()})}


def test_sipp(seen):
    interop.compare("sipp", seen)

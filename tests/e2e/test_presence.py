"""Presence, message waiting and publication in both directions, and callers that are
challenged: with kamailio, with SIPp, and in a whole run through the API."""
import os
import re
import time

import pytest

import interop
from bench import CALLEE, CALLER, Bench, state_condition
from engine import Engine, target
from peers import SUBSCRIBERS, Kamailio, PresenceServer
from phones import BARESIP, LINPHONE, OURS, Baresip, Linphone
from sip_peer import SipPeer
from sipp import Scenario, Sipp

root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for network namespaces")
PIDF = ("<presence xmlns='urn:ietf:params:xml:ns:pidf' entity='pres:sipp@x'><tuple id='t'>"
        "<status><basic>open</basic></status></tuple></presence>")
PIDF_KIND = "application/pidf+xml"
SUMMARY_KIND = "application/simple-message-summary"


def account(user, password=None):
    return [{"username": user, "password": password or SUBSCRIBERS[user]}]


def texts(engine, *states):
    """(state, text) of the states with these names, in their order"""
    return [(e["state"], e.get("text", "")) for e in engine.events
            if e["kind"] == "state" and (not states or e["state"] in states)]


def once(messages):
    """Without those that were sent again over UDP, as a busy machine answers late."""
    return list(dict.fromkeys(messages))


def until_text(engine, state, text):
    engine.until(lambda: any(text in t for _, t in texts(engine, state)), f"{state}: {text}")


# ---- NOTIFY without a subscription ----

SUMMARY = "Messages-Waiting: yes\r\nVoice-Message: 2/8 (0/2)\r\n"


def test_unsolicited(build, ports):
    """A PBX sends the message summary unasked to its registered users; an unregistered
    one refuses it."""
    def answer(request):
        if request.method != "REGISTER":
            return request.reply(200, "OK")
        contact = request.header("contact")
        notify = "\r\n".join([
            f"NOTIFY {contact[contact.index('<') + 1:contact.index('>')]} SIP/2.0",
            f"Via: SIP/2.0/UDP 127.0.0.1:{ports.sip};branch=z9hG4bK{request.header('call-id')}",
            "Max-Forwards: 70", "From: <sip:pbx@127.0.0.1>;tag=pbx", "To: <sip:1001@127.0.0.1>",
            f"Call-ID: mwi-{request.header('call-id')}", "CSeq: 1 NOTIFY",
            "Event: message-summary", f"Content-Type: {SUMMARY_KIND}",
            f"Content-Length: {len(SUMMARY)}", "", SUMMARY]).encode()
        return [request.registered(), notify] if request.header("expires") != "0" \
            else [request.registered("0"), notify.replace(b"mwi-", b"late-").replace(
                b"z9hG4bK", b"z9hG4bKlate")]

    register = {"type": "register", "credentials": [{"username": "1001", "password": "x"}],
                "target": target("127.0.0.1", ports.sip), "regexpire": 90}
    with SipPeer(ports.sip, answer) as peer, \
            Engine(build, "caller", [[register], [{"type": "unregister"}],
                                     [{"type": "wait", "wait_ms": 300}]], ports) as phone:
        phone.step(0)
        until_text(phone, "MWI_NOTIFY", "unsolicited: yes, voice-message 2/8 (0/2)")
        phone.step(1)
        phone.until(lambda: phone.sent("SIP/2.0 481"), "the late NOTIFY is refused")
        phone.step(2)
        phone.end()
        assert not peer.errors
    codes = [m.split()[1] for m in once(phone.sent("SIP/2.0")) if "NOTIFY" in m]
    assert codes == ["200", "481"], codes
    assert [s for s, _ in texts(phone, "MWI_NOTIFY")] == ["MWI_NOTIFY"]


# ---- accounts of one name ----

def test_one_name_in_two_domains(build, ports):
    """Each of them publishes a document of its own, and ends that."""
    def answer(request):
        return request.reply(200, "OK", f"SIP-ETag: {request.header('call-id')}", f"Expires: {request.header('expires')}")

    publish = {"type": "publish", "presence": "open", "expires": 60, "target": target("127.0.0.1", ports.sip),
               "credentials": [{"username": "1001", "password": "x", "domain": d} for d in ("a.example", "b.example")]}
    with SipPeer(ports.sip, answer) as peer, \
            Engine(build, "caller", [[publish], [{**publish, "expires": 0}]], ports) as phone:
        for step in (0, 1):
            phone.step(step)
        phone.end()
        assert not peer.errors and phone.asserts() == []
    sent = once(phone.sent("PUBLISH"))
    expires = {domain: [re.search(r"Expires: (\d+)", m)[1] for m in sent if f"From: <sip:1001@{domain}>" in m]
               for domain in ("a.example", "b.example")}
    assert expires == {"a.example": ["60", "0"], "b.example": ["60", "0"]}, sent


# ---- kamailio ----


def test_kamailio(build, ports, tmp_path):
    seen = {}
    there = target("127.0.0.1", ports.sip)
    common = {"credentials": account("1001"), "target": there}
    watch = {"type": "subscribe", **common, "dial_destination": "1002", "expires": 30}
    mailbox = {"type": "subscribe", **common, "event": "message-summary", "expires": 90}
    common = {"credentials": account("1002"), "target": there, "expires": 90}
    publish = {"type": "publish", **common, "presence": "open", "presence_note": "here"}
    messages = {"type": "publish", **common, "credentials": account("1001"),
                "event": "message-summary"}
    with PresenceServer(tmp_path, ports.sip), \
            Engine(build, "caller", [[watch], [mailbox], [{**watch, "expires": 0}]],
                   ports) as watcher, \
            Engine(build, "callee", [[publish], [{**publish, "presence": "closed"}],
                                     [{**publish, "expires": 0}], [{**messages, "mwi": "2/8 (0/2)"}],
                                     [{**messages, "mwi": "0/8"}]], ports, offset=3) as publisher:
        watcher.step(0)
        until_text(watcher, "SUBSCRIBE_OK", "presence: 200 OK")
        watcher.until(lambda: len(once(watcher.sent("SUBSCRIBE"))) == 3, "three requests")
        asked = [re.search(r"Expires: (\d+)", m).group(1) for m in once(watcher.sent("SUBSCRIBE"))]
        assert asked == ["30", "30", "60"], asked
        seen["presence: subscription, digest, 423"] = "yes"
        for step, state in ((0, 'active: open "here"'), (1, 'active: closed "here"'),
                            (2, "active: closed")):
            publisher.step(step)
            until_text(watcher, "PRESENCE_NOTIFY", state)
        until_text(publisher, "PUBLISH_CLOSED", "presence: 200 OK")
        publisher.until(lambda: len(once(publisher.received("SIP/2.0 200"))) == 3, "three answers")
        tags = [re.search(r"SIP-ETag: (\S+)", m).group(1) for m in once(publisher.received("SIP/2.0 200"))]
        matches = [re.search(r"SIP-If-Match: (\S+)", m) for m in once(publisher.sent("PUBLISH"))]
        assert [m and m.group(1) for m in matches][-2:] == tags[:2], (matches, tags)
        assert [s for s, _ in texts(publisher)] == ["PUBLISH_OK", "PUBLISH_OK", "PUBLISH_CLOSED"]
        seen["presence: publication, modified, removed"] = "yes"
        seen["presence: notification of a publication"] = "yes"
        publisher.step(3)
        watcher.step(1)
        until_text(watcher, "MWI_NOTIFY", "active: yes, voice-message 2/8 (0/2)")
        publisher.step(4)
        until_text(watcher, "MWI_NOTIFY", "active: no, voice-message 0/8")
        seen["presence: message waiting, published and notified"] = "yes"
        watcher.step(2)
        until_text(watcher, "SUBSCRIBE_CLOSED", "presence: terminated")
        seen["presence: end of a subscription"] = "yes"
        publisher.end()
        watcher.end()
    # subscriptions that are still active end with the job
    assert texts(publisher)[-1] == ("PUBLISH_CLOSED", "message-summary: 200 OK")
    assert texts(watcher)[-1][0] == "SUBSCRIBE_CLOSED"
    assert watcher.asserts() == publisher.asserts() == []
    interop.compare("kamailio", {**seen, **challenged_through_proxy(build, ports, tmp_path)},
                    ("presence: ", "challenge: "))


def challenged_through_proxy(build, ports, tmp_path):
    """The proxy challenges with 407 and MD5, the called party behind it with 401.
    kamailio 5.6 supports MD5 and SHA-256; it only forwards the 401."""
    seen = {}
    folder = tmp_path / "proxy"
    folder.mkdir()
    there = target("127.0.0.1", ports.sip)
    for algorithm in ("MD5", "SHA-256", "SHA-512-256"):
        register = {"type": "register", "credentials": account(CALLEE), "target": there}
        answer = {"type": "answer", "challenge": 401, "challenge_algorithm": algorithm,
                  "challenge_requests": "all", "challenge_credentials": account(CALLER)}
        call = {"type": "call", "credentials": account(CALLER), "target": there,
                "dial_destination": CALLEE, "call_duration": "1"}
        (folder / algorithm).mkdir()
        with Kamailio(folder / algorithm, ports.sip), \
                Engine(build, "callee", [[register, answer], []], ports) as callee, \
                Engine(build, "caller", [[call]], ports, offset=3) as caller:
            callee.step(0)
            caller.run()
            callee.step(1)
            callee.end()
        assert caller.calls()[0]["established"], caller.calls()
        invite = caller.sent("INVITE")[-1]
        assert f"algorithm={algorithm}\r\n" in invite or f"algorithm={algorithm}," in invite
        assert "\r\nAuthorization: " in invite and "\r\nProxy-Authorization: " in invite
        verified = [t for s, t in texts(callee, "CALLER_VERIFIED")]
        assert verified == ["INVITE of 1001", "BYE of 1001"], verified
        seen[f"challenge: 401 behind its 407, {algorithm}"] = "yes"
    return seen


# ---- SIPp ----


def accepted(scenario, expires):
    return scenario.reply(200, lines=[f"Expires: {expires}"], first=True)


def notify(scenario, event, state, body="", kind=""):
    return scenario.request("NOTIFY", [f"Event: {event}", f"Subscription-State: {state}"],
                            body=body, kind=kind)


def notifying_scenarios():
    """feature: (SIPp's behaviour as notifier, our actions, states that must follow)"""
    def taken(method, *has):
        scenario = Scenario(True).expect(request=method, keep=method == "SUBSCRIBE",
                                         has=has or None)
        return scenario

    def ended(scenario, event):
        scenario = (scenario.expect("SUBSCRIBE", has=("Expires", "0"))
                    .reply(200, lines=["Expires: 0"]))
        return notify(scenario, event, "terminated;reason=timeout").expect(response=200)

    watch = {"type": "subscribe", "dial_destination": "sipp", "expires": 60}
    publish = {"type": "publish", "presence": "open", "expires": 60}
    return {
        "NOTIFY before the answer": (
            ended(accepted(notify(taken("SUBSCRIBE"), "presence", "active;expires=60", PIDF,
                                  PIDF_KIND).expect(response=200), 60), "presence"),
            [watch], ["PRESENCE_NOTIFY", "SUBSCRIBE_CLOSED"]),
        "message waiting": (
            ended(notify(accepted(taken("SUBSCRIBE", "Accept", "simple-message-summary"), 60),
                         "message-summary", "active;expires=60",
                         "Messages-Waiting: yes\nVoice-Message: 2/8 (0/2)\n",
                         SUMMARY_KIND).expect(response=200), "message-summary"),
            [{**watch, "event": "message-summary"}], ["MWI_NOTIFY", "SUBSCRIBE_CLOSED"]),
        "refreshed in time": (
            ended(notify(notify(accepted(taken("SUBSCRIBE"), 4), "presence", "active;expires=4",
                                PIDF, PIDF_KIND).expect(response=200)
                         .expect("SUBSCRIBE", has=("Expires", "60")).reply(200, lines=["Expires: 60"]),
                         "presence", "active;expires=60").expect(response=200), "presence"),
            [watch, {"type": "wait", "wait_ms": 4500}], ["PRESENCE_NOTIFY", "SUBSCRIBE_CLOSED"]),
        "412": (
            taken("PUBLISH", "Event", "presence")
            .reply(200, lines=["SIP-ETag: one", "Expires: 60"], first=True)
            .expect("PUBLISH", has=("SIP-If-Match", "one"))
            .reply(412, "Conditional Request Failed")
            .expect("PUBLISH", has=("body", "closed"))
            .reply(200, lines=["SIP-ETag: two", "Expires: 60"])
            .expect("PUBLISH", has=("SIP-If-Match", "two"))
            .reply(200, lines=["SIP-ETag: two", "Expires: 0"]),
            [publish, {**publish, "presence": "closed"}], ["PUBLISH_OK", "PUBLISH_CLOSED"]),
        "423": (
            taken("PUBLISH", "Expires", "60")
            .reply(423, "Interval Too Brief", lines=["Min-Expires: 90"], first=True)
            .expect("PUBLISH", has=("Expires", "90"))
            .reply(200, lines=["SIP-ETag: one", "Expires: 90"])
            .expect("PUBLISH", has=("Expires", "0"))
            .reply(200, lines=["SIP-ETag: one", "Expires: 0"]),
            [publish], ["PUBLISH_OK", "PUBLISH_CLOSED"]),
    }


def watching_scenarios():
    """feature: (SIPp's behaviour as watcher or caller, parameters of our answer,
    states)"""
    told = {"presence": "open", "presence_note": "here", "mwi": "2/8 (0/2)"}
    asked = {"challenge": 407, "challenge_credentials": account("2001", "s")}
    right = "[authentication username=2001 password=s]"

    def watched(event, has):
        return (Scenario(False).begin("SUBSCRIBE", [f"Event: {event}", "Expires: 60"])
                .expect(response=200).expect("NOTIFY", has=has).reply(200)
                .request("SUBSCRIBE", [f"Event: {event}", "Expires: 0"]).expect(response=200)
                .expect("NOTIFY", has=("Subscription-State", "terminated")).reply(200))

    def challenged(credentials):
        return (Scenario(False).begin("INVITE", sdp=True)
                .expect(response=407, auth=True).acknowledge_refusal()
                .begin("INVITE", [credentials], sdp=True, again=True)
                .expect(response=100, optional=True))

    return {
        "presence: our presence watched": (watched("presence", ("body", "basic.open")), told,
                                           ["WATCHER_NEW", "WATCHER_NOTIFIED", "WATCHER_GONE"]),
        "presence: our mailbox watched": (
            watched("message-summary", ("body", "2/8 \\(0/2\\)")), told,
            ["WATCHER_NEW", "WATCHER_NOTIFIED", "WATCHER_GONE"]),
        "presence: another event refused": (
            Scenario(False).begin("SUBSCRIBE", ["Event: dialog"])
            .expect(response=489, has=("Allow-Events", "presence, message-summary")), told, []),
        "challenge: by us, MD5": (
            challenged(right).expect(response=180, optional=True).expect(response=200)
            .request("ACK").pause(200).request("BYE").expect(response=200), asked,
            ["CALLER_VERIFIED", "CALL_ESTABLISHED"]),
        "challenge: a stale nonce": (
            challenged(right).expect(response=407, auth=True, has=("Proxy-Authenticate", "stale=true"))
            .acknowledge_refusal().begin("INVITE", [right], sdp=True, again=True)
            .expect(response=100, optional=True)
            .expect(response=180, optional=True).expect(response=200)
            .request("ACK").pause(200).request("BYE").expect(response=200),
            {**asked, "challenge_stale": 1}, ["CALLER_VERIFIED", "CALL_ESTABLISHED"]),
        "challenge: a wrong password refused": (
            challenged("[authentication username=2001 password=x]")
            .expect(response=407).acknowledge_refusal(), asked, ["CALLER_REFUSED"]),
    }


def test_sipp(build, ports, tmp_path):
    seen, said = {}, {}
    for feature, (scenario, actions, states) in notifying_scenarios().items():
        folder = tmp_path / f"notifying {feature}"
        folder.mkdir()
        actions = [{"credentials": [{"username": "1001"}],
                    "target": target("127.0.0.1", ports.phone), **a} for a in actions]
        with Sipp(folder, scenario, ports.phone) as sipp, \
                Engine(build, "caller", [actions], ports) as engine:
            engine.run()
            code, errors = sipp.wait()
        good = code == 0 and not engine.asserts() and set(states) <= set(engine.states())
        seen[f"presence: asked, {feature}"] = "yes" if good else "no"
        said[f"presence: asked, {feature}"] = errors, engine.asserts(), texts(engine)
    for feature, (scenario, more, states) in watching_scenarios().items():
        folder = tmp_path / f"watching {feature.replace(':', '')}"
        folder.mkdir()
        action = {"type": "answer", "credentials": [{"username": "1002"}], **more}
        with Engine(build, "callee", [[action], []], ports, sip_port=ports.silent) as engine:
            engine.step(0)
            with Sipp(folder, scenario, ports.phone, to=ports.silent) as sipp:
                code, errors = sipp.wait()
            engine.step(1)
            engine.end()
        good = code == 0 and set(states) <= set(engine.states())
        good = good and ("CALLER_REFUSED" in states) == ("CALLER_REFUSED" in engine.states())
        seen[feature] = "yes" if good else "no"
        said[feature] = errors, engine.asserts(), texts(engine)
    for feature, result in seen.items():
        print(f"sipp: {feature}: {result}", "" if result == "yes" else said[feature])
    interop.compare("sipp", seen, ("presence: ", "challenge: "))


# ---- phones ----


def challenged_phone(build, namespace, ports, phone, **challenge):
    """The phone calls us and is challenged. @return the engine, after its end"""
    action = {"type": "answer", "credentials": [{"username": "1002"}], "audio_codecs": ["PCMU"],
              "target": target(OURS, 5070), "challenge": 407, "challenge_requests": "all",
              "challenge_credentials": account("phone", "s"), **challenge}
    with Engine(build, "callee", [[action], []], ports, bind=OURS, sip_port=5070,
                prefix=["ip", "netns", "exec", namespace]) as engine:
        engine.step(0)
        phone.dial(f"sip:1002@{OURS}:5070")
        within(engine, lambda: {"CALL_RTPESTAB", "CALLER_REFUSED"} & set(engine.states()))
        phone.hang_up()
        within(engine, lambda: "CALL_ENDED_REMOTE" in engine.states())
        engine.step(1)
        engine.end()
    return engine


def within(engine, condition, seconds=30):
    """Wait for a condition with a time limit, as a phone may never fulfil it."""
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end and not engine.finish:
        engine.pump()


def challenge_rows(build, namespace, ports, phone, algorithm):
    engine = challenged_phone(build, namespace, ports, phone, challenge_algorithm=algorithm)
    verified = [t for _, t in texts(engine, "CALLER_VERIFIED")]
    seen = {f"challenge: by us, {algorithm}, BYE too":
            "yes" if verified == ["INVITE of phone", "BYE of phone"] else f"no: {verified}"}
    if algorithm != "MD5":
        return seen
    engine = challenged_phone(build, namespace, ports, phone, challenge_stale=1)
    seen["challenge: a stale nonce"] = "yes" if any(
        "stale=true" in m for m in engine.sent("SIP/2.0 407")) and "CALL_ESTABLISHED" in \
        engine.states() else "no"
    return seen


@root
@pytest.mark.skipif(not BARESIP, reason="no baresip")
def test_baresip_is_challenged(build, namespaces, ports, tmp_path):
    with Baresip(tmp_path, namespaces[1], account=";auth_pass=s") as phone:
        seen = challenge_rows(build, namespaces[0], ports, phone, "MD5")
    interop.compare("baresip", seen, ("challenge: ",))


@root
@pytest.mark.skipif(not LINPHONE, reason="no linphonec")
def test_linphone_is_challenged(build, namespaces, ports, tmp_path):
    """linphone 5.1 does not support SHA-512-256."""
    seen = {}
    for algorithm in ("MD5", "SHA-256"):
        folder = tmp_path / algorithm
        folder.mkdir()
        known = ("[auth_info_0]", "username=phone", "passwd=s", "realm=" + OURS + ":5070",
                 f"algorithm={algorithm}")
        with Linphone(folder, namespaces[1], sip=known) as phone:
            seen.update(challenge_rows(build, namespaces[0], ports, phone, algorithm))
    interop.compare("linphone-cli", seen, ("challenge: ",))


# ---- failure responses ----


def test_what_is_refused_is_an_event(build, ports):
    def answer(request):
        if request.header("event") == "presence":
            return request.reply(403, "Forbidden")
        return request.reply(489, "Bad Event")

    common = {"credentials": account("1001"), "target": target("127.0.0.1", ports.phone)}
    with SipPeer(ports.phone, answer):
        with Engine(build, "caller", [[
                {"type": "subscribe", **common, "dial_destination": "1002"},
                {"type": "subscribe", **common, "event": "message-summary"},
                {"type": "publish", **common, "presence": "open"},
                {"type": "publish", **common, "expires": 0}]], ports) as engine:
            engine.run()
    assert texts(engine) == [
        ("SUBSCRIBE_FAIL", "presence: 403 Forbidden"),
        ("SUBSCRIBE_FAIL", "message-summary: 489 Bad Event"),
        ("PUBLISH_FAIL", "presence: 403 Forbidden"),
        ("PUBLISH_CLOSED", "presence: there was no publication to remove")]
    assert [(a["action"], a["argument"], a["text"]) for a in engine.asserts()] == [
        ("subscribe", "1002", "presence: 403 Forbidden"),
        ("subscribe", "1001", "message-summary: 489 Bad Event"),
        ("publish", "1001", "presence: 403 Forbidden"),
        ("publish", "1001", "presence: there was no publication to remove")]
    assert engine.finish["outcome"] == "completed"


# ---- a run ----


def sip_conditions(role, *conditions):
    return {"role": role, "condition_type": f"{role}-sip-conditions",
            "conditions": list(conditions)}


def test_run(tmp_path, ports):
    """Through the API: the callee is watched, changes its state, and is then called."""
    with Bench(tmp_path, ports) as bench:
        strangers = bench.credentials("strangers", {CALLER: SUBSCRIBERS[CALLER]})
        register = {"type": "register", "target_pool": bench.target_id}
        body = {
            "name": "watched", "project_id": bench.project_id, "agentpool_id": bench.pool_id,
            "record": "sip", "steps": [
                [{**register, "role": "callee", "credential_pool": bench.callees},
                 {"type": "answer", "role": "callee", "presence": "open", "mwi": "1/0",
                  "challenge": 401, "challenge_pool": strangers},
                 {**register, "role": "caller", "credential_pool": bench.callers}],
                [{"type": "subscribe", "role": "caller", "dial_destination": CALLEE,
                  "custom_headers": [["X-Watcher", "{{credential.username}} {{n}}", "presence"],
                                     ["User-Agent", "watch/1", "presence"]]},
                 {"type": "subscribe", "role": "caller", "dial_destination": CALLEE,
                  "event": "message-summary", "expires": 0}],
                [{"type": "notify", "role": "callee", "presence": "closed",
                  "presence_note": "gone"}],
                [{"type": "call", "role": "caller", "max_total_calls": 2, "call_duration": 1,
                  "custom_headers": [["X-Call", "call {{n}} to {{callee.username}}", "invites"]],
                  "dial_destination": CALLEE}]],
            "conditions": [
                state_condition("caller", "SUBSCRIBE_OK", "PRESENCE_NOTIFY", "MWI_NOTIFY"),
                state_condition("callee", "WATCHER_NEW", "WATCHER_NOTIFIED", "CALLER_VERIFIED"),
                sip_conditions("caller", {
                    "type": "has", "value": "<note>gone</note>", "field": "message",
                    "cseq": "NOTIFY", "method": "NOTIFY", "direction": "received"}),
                sip_conditions("callee", {
                    "type": "is", "value": "1001 0", "field": "header", "header": "X-Watcher",
                    "cseq": "SUBSCRIBE", "method": "SUBSCRIBE", "direction": "received"}, {
                    "type": "endswith", "value": f"to {CALLEE}", "field": "header",
                    "header": "X-Call", "cseq": "INVITE", "method": "INVITE",
                    "direction": "received"})]}
        answer = bench.controller.request("POST", "/tests", json={
            **body, "steps": [[{**body["steps"][0][1], "challenge_pool": None}]],
            "conditions": []})
        assert answer.status_code == 422, answer.text
        assert answer.json()["errors"][0]["pointer"].endswith("/challenge_pool"), answer.text
        test_id = bench.api("POST", "/tests", body)["test"]["id"]
        in_use = bench.controller.request("DELETE", f"/credential-pools/{strangers}")
        assert in_use.status_code == 409, in_use.text
        run, report = bench.run(test_id, timeout=90)
        assert run["status"] == "passed", run["result_description"]
        sent = [m["text"] for m in report["messages"] if m["role"] == "caller"
                and m["dir"] == "sent"]
        subscribes = [m for m in sent if m.startswith("SUBSCRIBE")]
        assert any("\r\nUser-Agent: watch/1\r\n" in m for m in subscribes)
        assert not any("X-Watcher" in m for m in sent if not m.startswith("SUBSCRIBE"))
        calls = {re.search(r"X-Call: (.*)\r", m).group(1) for m in sent
                 if m.startswith("INVITE")}
        assert calls == {"call 0 to 1002", "call 1 to 1002"}
        # the condition can fail
        run, _ = bench.run(test_id, {"condition.caller.caller-sipclient-state-conditions": {
            "conditions": [{"type": "hasnot", "state": "PRESENCE_NOTIFY"}]}}, timeout=90)
        assert run["status"] == "failed"
        assert "PRESENCE_NOTIFY" in run["result_description"]

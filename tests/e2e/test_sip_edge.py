"""Registrations and calls through kamailio as edge proxy in front of a registrar: Path,
Service-Route, keep-alive of flows (RFC 5626), the loss of a flow, and its recovery."""
import re

import interop
from engine import Engine, message_bytes, target
from peers import SUBSCRIBERS, EdgeProxy, EdgeRegistrar

FLOW_TIMER_S = EdgeRegistrar.SETTINGS["flow_timer"]


def register(user, port, transport):
    return {"type": "register",
            "credentials": [{"username": user, "password": SUBSCRIBERS[user]}],
            "target": target("127.0.0.1", port, transport, domain="127.0.0.1")}


def events(engine, state):
    return [e for e in engine.events if e.get("state") == state]


def route_set(message):
    return re.findall(r"\r\nRoute: (.*)\r\n", message)


def test_flows_through_an_edge_proxy(build, ports, tmp_path):
    """Two proxies: one stops answering, the other continues. Accounts registered
    through the first recover over new flows, and are called over them."""
    edge, stalled = ports.sip, ports.phone
    call = {"type": "call", "call_duration": "1"}
    for name in ("registrar", "edge", "stalled"):
        (tmp_path / name).mkdir()
    with EdgeRegistrar(tmp_path / "registrar", ports.http), \
            EdgeProxy(tmp_path / "edge", edge, ports.http), \
            EdgeProxy(tmp_path / "stalled", stalled, ports.http) as proxy, \
            Engine(build, "callee", [
                [register("1002", stalled, "tcp"), register("1003", stalled, "udp"),
                 register("1005", edge, "udp"), {"type": "answer"}],
                [{"type": "unregister"}]], ports) as callee, \
            Engine(build, "caller", [
                [register("1001", edge, "tcp"), register("1004", edge, "udp")],
                [{**call, "dial_destination": "1002"}, {**call, "dial_destination": "1003"},
                 {"type": "options", "dial_destination": "1002"}],
                [{**call, "dial_destination": "1002"},
                 {**call, "dial_destination": "1003", "custom_headers": [["X-A", "1", "any"]]}],
                [{"type": "unregister"}]], ports, offset=8, extra_headers=["X-A"]) as caller:
        callee.step(0)
        caller.step(0)
        caller.step(1)
        caller.until(lambda: len(caller.calls()) == 2, "both calls are over")
        proxy.pause()
        callee.until(lambda: len(events(callee, "REGISTER_FAIL")) == 2, "both flows are lost")
        proxy.resume()
        callee.until(lambda: len(events(callee, "REGISTER_OK")) == 5, "both are back")
        caller.step(2)
        callee.step(1)
        caller.step(3)
        callee.end()
        caller.end()
    assert [c["established"] for c in caller.calls()] == [True] * 4, caller.calls()
    # each call came over the flow of its account
    byes = {}   # by Call-ID: the calls of a step end in any order, and a BYE may be retransmitted
    for m in callee.messages:
        if (data := message_bytes(m)).startswith(b"BYE "):
            byes[re.search(rb"\r\nCall-ID: (.*)\r\n", data)[1]] = data.split(b"\r\nTo: <sip:")[1][:4], m["transport"]
    assert sorted(byes.values()) == [(b"1002", "tcp")] * 2 + [(b"1003", "udp")] * 2, byes
    reasons = {e["account"]: e["text"] for e in events(callee, "REGISTER_FAIL")}
    assert "a keep-alive was not answered" in reasons["1002"] and \
        "STUN keep-alives are not answered" in reasons["1003"], reasons
    # the other edge proxy answered all the time, for several flow timers
    assert events(caller, "REGISTER_FAIL") == []
    lasted = events(caller, "UNREGISTERING")[0]["mono"] - events(caller, "REGISTER_OK")[0]["mono"]
    assert lasted > 3 * FLOW_TIMER_S * 10**9
    # a 200 to a REGISTER that was retransmitted may come twice
    granted = list({re.search(r"\r\nVia: (.*)\r\n", m)[1]: m for e in (caller, callee)
                    for m in e.received("SIP/2.0 200", "Service-Route:")}.values())
    path = re.compile(rf"\r\nPath: <sip:[\w+/=]+@127.0.0.1:({edge}|{stalled});lr;ob>\r\n")
    assert len(granted) == 12 and all(path.search(m) and f"\r\nFlow-Timer: {FLOW_TIMER_S}\r\n" in m
                                      for m in granted), granted
    # every request uses the Service-Route, also one with custom headers, and each
    # account its own transport
    sent_by = {(m["transport"], message_bytes(m).split(b"\r\nFrom: <sip:")[1][:4])
               for m in caller.messages if m["dir"] == "sent"}
    assert sent_by == {("tcp", b"1001"), ("udp", b"1004")}
    for method, calls in (("INVITE", 4), ("OPTIONS", 2)):
        sent = caller.sent(method)
        assert len({re.search(r"\r\nCall-ID: (.*)\r\n", m)[1] for m in sent}) == calls
        for message in sent:
            transport = "tcp" if "\r\nFrom: <sip:1001@" in message else "udp"
            assert route_set(message) == [f"<sip:127.0.0.1:{edge};transport={transport};lr>"]
        assert all(";ob>" in re.search(r"\r\nContact: (.*)\r\n", m)[1] for m in sent)
    # the two calls of a step begin together, and their challenges are answered in any order
    assert "\r\nX-A: 1\r\n" in caller.sent("INVITE sip:1003@")[-1]
    interop.compare("kamailio", {f"edge: {what}": "yes" for what in (
        "Path and Service-Route", "call over a flow, TCP", "call over a flow, UDP",
        "keep-alives, CRLF on TCP", "keep-alives, STUN on UDP",
        "registration over a new flow after the loss of one")}, ("edge: ",))

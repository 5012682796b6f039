"""From the hosts of a target to the one that answers: DNS, failover, proxies."""
import os
import socket
import time
from contextlib import ExitStack

import pytest

from bench import CALLEE, Bench, state_condition
from dns_server import DnsServer
from engine import Engine, target as sip_target
from peers import SilentPort
from ports import PortBlock
from sip_peer import SipPeer


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    folder, ports = tmp_path_factory.mktemp("bench"), PortBlock()
    with Bench(folder, ports, agent_conf={"name_servers": f"127.0.0.1:{ports.base + 10}"}) as b:
        yield b
    ports.close()


def target(bench, *hosts, **more):
    """hosts: (host, port, transport)"""
    return bench.api("POST", "/targets", {
        "name": f"target {time.monotonic_ns()}", "domain": "127.0.0.1",
        "hosts": [{"host": h, "port": p, "transport": t} for h, p, t in hosts],
        **more})["target"]["id"]


def register(bench, target_id, **action):
    test = bench.api("POST", "/tests", {
        "name": f"register {time.monotonic_ns()}", "project_id": bench.project_id,
        "scenario": "registration", "agentpool_id": bench.pool_id, "record": "sip",
        "steps": [[{"type": "register", "role": "caller", "target_pool": target_id,
                    "credential_pool": bench.callers, **action}]],
        "conditions": [state_condition("caller", "REGISTER_OK")]})["test"]["id"]
    return bench.run(test)


def peers_of(report, method="REGISTER"):
    """Destinations of our requests, in order, without repetitions."""
    found = []
    for message in report["messages"]:
        if message["dir"] == "sent" and message["line"].startswith(method + " ") \
                and message["peer"] not in found:
            found.append(message["peer"])
    return found


def registered(request):
    return request.registered()


def test_srv_by_priority_and_the_next_one_when_a_host_fails(bench):
    """NAPTR prefers TCP: its first host refuses the connection, its second answers 503,
    and the UDP service accepts."""
    base = bench.ports.base
    zone = {
        ("pbx.test", "NAPTR"): [(20, 10, "s", "SIP+D2U", "_sip._udp.pbx.test"),
                                (10, 10, "s", "SIP+D2T", "_sip._tcp.pbx.test"),
                                (5, 10, "u", "E2U+sip", "other.test")],
        ("_sip._tcp.pbx.test", "SRV"): [(20, 0, base + 12, "b.pbx.test"),
                                        (10, 0, base + 11, "a.pbx.test")],
        ("_sip._udp.pbx.test", "SRV"): [(10, 0, bench.ports.sip, "c.pbx.test")],
        ("a.pbx.test", "A"): ["127.0.0.1"], ("b.pbx.test", "A"): ["127.0.0.1"],
        ("c.pbx.test", "A"): ["127.0.0.1"]}
    with DnsServer(base + 10, zone) as dns, \
            SipPeer(base + 12, lambda r: r.reply(503, "Service Unavailable")) as full:
        # without port and transport in the URI, NAPTR, SRV and A are queried
        run, report = register(
            bench, target(bench, ("127.0.0.1", bench.ports.sip, "udp"),
                          outbound_proxy="sip:pbx.test;lr"))
    assert run["status"] == "passed", run["result_description"]
    assert [r.transport for r in full.requests] == ["tcp"] * len(full.requests) and full.requests
    assert peers_of(report) == [f"127.0.0.1:{base + 12}", f"127.0.0.1:{bench.ports.sip}"]
    assert ("pbx.test", "NAPTR") in dns.asked and ("a.pbx.test", "A") in dns.asked
    first = [m for m in report["messages"] if m["dir"] == "sent"][0]
    assert "\r\nRoute: <sip:pbx.test;lr>\r\n" in first["text"]


def test_transport_without_port_is_asked_by_srv(bench):
    base = bench.ports.base
    zone = {("_sip._udp.pbx.test", "SRV"): [(1, 10, bench.ports.sip, "a.pbx.test"),
                                            (1, 0, base + 12, "b.pbx.test")],
            ("a.pbx.test", "A"): ["127.0.0.1"], ("b.pbx.test", "A"): ["127.0.0.1"]}
    with DnsServer(base + 10, zone) as dns:
        run, report = register(bench, target(bench, ("pbx.test", 0, "udp")))
    assert run["status"] == "passed", run["result_description"]
    assert peers_of(report) == [f"127.0.0.1:{bench.ports.sip}"]
    assert not any(kind == "NAPTR" for _, kind in dns.asked)


def test_port_leaves_the_address_alone_to_ask(bench):
    zone = {("pbx.test", "A"): ["127.0.0.1"]}
    with DnsServer(bench.ports.base + 10, zone) as dns:
        run, _ = register(bench, target(bench, ("pbx.test", bench.ports.sip, "tcp")))
    assert run["status"] == "passed", run["result_description"]
    assert set(dns.asked) == {("pbx.test", "A")}


def test_name_that_does_not_exist(bench):
    with DnsServer(bench.ports.base + 10, {}):
        run, _ = register(bench, target(bench, ("gone.test", 5060, "udp")))
    assert run["status"] == "failed"
    assert "no address was found for gone.test:5060 over UDP" in run["result_description"]


def test_silent_host_leads_to_the_next(bench):
    base = bench.ports.base
    with SilentPort(base + 11):
        run, report = register(bench, target(bench, ("127.0.0.1", base + 11, "udp"),
                                             ("127.0.0.1", base + 12, "udp"),
                                             ("127.0.0.1", bench.ports.sip, "udp")))
    assert run["status"] == "passed", run["result_description"]
    assert peers_of(report) == [f"127.0.0.1:{p}" for p in
                                (base + 11, base + 12, bench.ports.sip)]


def test_no_host_is_left(bench):
    base = bench.ports.base
    run, _ = register(bench, target(bench, ("127.0.0.1", base + 11, "tcp"),
                                    ("127.0.0.1", base + 12, "udp")))
    assert run["status"] == "failed"
    assert f"connection refused by 127.0.0.1:{base + 12} over UDP (the last of 2 hosts)" \
        in run["result_description"], run["result_description"]


def test_invite_fails_over_too(bench):
    """The target of the call: its first host refuses, the proxy is the second."""
    here = target(bench, ("127.0.0.1", bench.ports.base + 11, "tcp"),
                  ("127.0.0.1", bench.ports.sip, "udp"))
    run, report = bench.run(bench.single_call(duration=1, target=here))
    assert run["status"] == "passed", run["result_description"]
    assert peers_of(report, "INVITE")[0] == f"127.0.0.1:{bench.ports.sip}"
    assert CALLEE in report["calls"][0]["peer"] + report["calls"][1]["peer"]


def test_connection_that_ends_under_a_request(bench):
    """The peer receives the REGISTER and closes the connection: this is reported at
    once."""
    base = bench.ports.base
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", base + 13)))
        session = bench.start(bench.api("POST", "/tests", {
            "name": "hang up", "project_id": bench.project_id, "scenario": "registration",
            "agentpool_id": bench.pool_id, "record": "sip",
            "steps": [[{"type": "register", "role": "caller", "credential_pool": bench.callers,
                        "target_pool": target(bench, ("127.0.0.1", base + 13, "tcp"))}]],
            "conditions": []})["test"]["id"])
        server.settimeout(30)
        client, _ = server.accept()
        assert client.recv(65536).startswith(b"REGISTER ")
        client.close()
        run = bench.wait(session)
    assert f"TCP connection with 127.0.0.1:{base + 13} ended: the peer closed it" \
        in run["result_description"]


def test_undecodable_messages_are_recorded(bench):
    """Data that is not SIP is uploaded as received, whatever its bytes are."""
    junk = [b"\xff\xfe\x00 no SIP at all", b"SIP/2.0 abc\r\n\r\n",
            b"INVITE sip:x SIP/2.0\r\nBroken"]

    with SipPeer(bench.ports.base + 12, lambda r: junk + [r.registered()]):
        run, report = register(bench, target(bench, ("127.0.0.1", bench.ports.base + 12, "udp")))
    assert run["status"] == "passed", run["result_description"]
    got = [m for m in report["messages"] if m["dir"] == "received"]
    assert len(got) >= 4
    texts = "".join(str(m.get("text")) for m in got)
    assert "SIP/2.0 abc" in texts and "Broken" in texts
    assert "//4AIG5vIFNJUCBhdCBhbGw=" in texts or "no SIP at all" in texts, got[0]


# ---- names of STUN servers, and how many ----

STUN_DNS = {("stun.test", "A"): ["127.0.0.1"], ("silent.test", "A"): None}


def finish_of(build, ports, servers, **engine):
    """The end of a job whose actions have these STUN servers, which say nothing."""
    steps = [[{"type": "answer", "credentials": [{"username": f"100{i}"}], "media_nat": "stun", "stun_server": server}
              for i, server in enumerate(servers)]]
    with Engine(build, "callee", steps, ports, **engine) as e:
        e.go(0)
        e.until(lambda: e.ready == 0 or e.finish, "it begins")
        if not e.finish:
            e.end()
    return e.finish


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a resolv.conf of its own")
def test_name_of_a_stun_server_by_the_name_servers_of_the_system(build, ports, tmp_path):
    host = f"127.{os.getpid() >> 8 & 255}.{os.getpid() & 255}.53"
    conf = tmp_path / "resolv.conf"
    conf.write_text(f"nameserver {host}\n")
    with DnsServer(53, STUN_DNS, host) as dns:
        finish = finish_of(build, ports, [f"stun.test:{ports.silent}"], prefix=(
            "unshare", "-m", "sh", "-c", f"mount --bind {conf} /etc/resolv.conf && exec \"$@\"", "sh"))
    assert finish["outcome"] == "completed", finish
    assert set(dns.asked) == {("stun.test", "A")}


@pytest.mark.parametrize("name, reason", [
    ("stun.test", None),
    ("none.test", "the STUN or TURN server {} does not resolve to an IPv4 address, as ours is one"),
    ("silent.test", "the name of the STUN or TURN server {}: the name servers did not answer")])
def test_name_of_a_stun_server(build, ports, name, reason):
    server = f"{name}:{ports.silent}"
    with DnsServer(ports.base + 10, STUN_DNS) as dns:
        finish = finish_of(build, ports, [server], settings={"name_servers": f"127.0.0.1:{ports.base + 10}"})
    if reason:
        assert finish["outcome"] == "error" and finish["reason"] == "role callee: " + reason.format(server), finish
    else:
        assert finish["outcome"] == "completed", finish
    assert set(dns.asked) == {(name, "A")}, dns.asked


def test_name_of_a_stun_server_by_ipv6(build, ports):
    zone = {("stun.test", "AAAA"): ["::1"]}
    with DnsServer(ports.base + 10, zone) as dns:
        finish = finish_of(build, ports, [f"stun.test:{ports.silent}"], bind="::1",
                           settings={"name_servers": f"127.0.0.1:{ports.base + 10}"})
    assert finish["outcome"] == "completed", finish
    assert set(dns.asked) == {("stun.test", "AAAA")}


def test_calls_go_on_while_a_name_is_resolved(build, ports):
    """An account takes a call while the name of another action's STUN server has no answer yet; the
    action begins with the answer. The question is asked before the step begins: a call that comes in between is refused,
    and the next one is taken."""
    answer = {"type": "answer", "credentials": [{"username": "1002"}]}
    stun = {"type": "call", "credentials": [{"username": "1001"}], "dial_destination": "9",
            "target": sip_target("127.0.0.1", ports.base + 12), "media_nat": "stun",
            "stun_server": f"silent.test:{ports.base + 12}"}
    call = {"type": "call", "credentials": [{"username": "1003"}], "dial_destination": "1002", "call_duration": 120,
            "max_total_calls": 50, "calls_per_second": 10, "target": sip_target("127.0.0.1", ports.phone)}
    with DnsServer(ports.base + 10, STUN_DNS) as dns, \
            SipPeer(ports.base + 12, lambda r: r.reply(486, "Busy Here")) as peer, \
            Engine(build, "caller", [[call]], ports, offset=10) as caller:
        with Engine(build, "callee", [[answer, stun]], ports, sip_port=ports.phone,
                    settings={"name_servers": f"127.0.0.1:{ports.base + 10}"}) as callee:
            callee.go(0)
            callee.until(lambda: dns.asked or callee.finish, "the question is asked")
            caller.go(0)
            callee.until(lambda: "CALL_ESTABLISHED" in callee.states() or callee.finish, "a call is established")
            assert callee.finish is None and not peer.requests
            dns.release("silent.test", "A", ["127.0.0.1"])
            callee.until(lambda: peer.requests or callee.finish, "the other account calls")
            assert callee.finish is None
            callee.cancel()
            callee.until(lambda: callee.finish, "it ends")
        caller.cancel()
        caller.until(lambda: caller.finish, "it ends")


@pytest.mark.parametrize("count", [8, 9])
def test_number_of_stun_servers(build, ports, count):
    finish = finish_of(build, ports, [f"127.0.0.1:{7000 + i}" for i in range(count)])
    if count > 8:
        assert finish["reason"] == "role callee: the job names more than 8 STUN and TURN servers", finish
    else:
        assert finish["outcome"] == "completed", finish

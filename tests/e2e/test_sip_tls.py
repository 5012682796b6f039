"""SIP over TLS: what is verified, which certificate is presented, and the error when it
fails."""
import re
import signal
import socket
import subprocess
import threading
import time
from contextlib import contextmanager

import pytest

from agent import Agent
from bench import Bench, assert_no_flaws, state_condition
from certificates import Authority
from peers import SUBSCRIBERS, Kamailio
from ports import PortBlock
from sip_peer import SipPeer


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def bench(tmp_path_factory, authority):
    """Its agent has a certificate, so that the proxy can connect to it too."""
    folder, ports = tmp_path_factory.mktemp("bench"), PortBlock()
    cert, key = authority.issue("agent", "IP:127.0.0.1,DNS:agent.test")
    with Kamailio(folder, ports.sip, tls=authority.issue("proxy")):
        with Bench(folder, ports, proxy=False,
                   agent_conf={"sip_tls_certificate": cert, "sip_tls_key": key}) as b:
            yield b
    ports.close()


@contextmanager
def another_agent(bench, folder, name, **conf):
    """An agent in a pool of its own; yields the pool's id."""
    pool = bench.api("POST", "/agent-pools", {"name": name})["agent_pool"]
    agent = Agent(folder, bench.controller.witness().url, pool["join_token"], bench.ports.rtp,
                  name=name, **conf)
    try:
        agent.start()
        deadline = time.monotonic() + 30
        while not any(a["name"] == name and a["state"] == "online"
                      for a in bench.api("GET", "/agents")["agents"]):
            assert time.monotonic() < deadline, agent.log()
            time.sleep(0.1)
        yield pool["id"]
    finally:
        agent.close()
    assert not re.search("Sanitizer|runtime error:", agent.log()), agent.log()


def tls_target(bench, host, port, **tls):
    return bench.api("POST", "/targets", {
        "name": f"tls {time.monotonic_ns()}", "domain": "127.0.0.1",
        "hosts": [{"host": host, "port": port, "transport": "tls"}],
        "tls": tls})["target"]["id"]


def register(bench, target, pool=None):
    """A run that registers the caller; (run, messages of the report)."""
    test = bench.api("POST", "/tests", {
        "name": f"register {time.monotonic_ns()}", "project_id": bench.project_id,
        "scenario": "registration", "agentpool_id": pool or bench.pool_id, "record": "sip",
        "steps": [[{"type": "register", "role": "caller", "target_pool": target,
                    "credential_pool": bench.callers}]],
        "conditions": [state_condition("caller", "REGISTER_OK")]})["test"]["id"]
    return bench.run(test)


def test_call_over_verified_tls(bench, authority):
    target = tls_target(bench, "127.0.0.1", bench.ports.control, ca=authority.file.read_text())
    run, report = bench.run(bench.single_call(duration=2, target=target))
    assert run["status"] == "passed", run["result_description"]
    assert_no_flaws(report)
    assert {m["line"].split()[0] for m in report["messages"]} >= {"REGISTER", "INVITE", "BYE"}
    for message in report["messages"]:
        top, = re.findall(r"^Via: SIP/2.0/(\w+)", message["text"], re.M)[:1]
        assert top == "TLS", message


@pytest.mark.parametrize("tls, says", [
    ({}, "the peer's certificate is refused: unable to get local issuer certificate"),
    ({"ca": "own", "server_name": "other.test"},
     "the peer's certificate is refused: hostname mismatch"),
    ({"ca": "other"}, "the peer's certificate is refused: unable to get local issuer"),
])
def test_certificate_that_does_not_fit(bench, authority, tmp_path, tls, says):
    authorities = {"own": authority, "other": Authority(tmp_path, "other")}
    if "ca" in tls:
        tls = {**tls, "ca": authorities[tls["ca"]].file.read_text()}
    target = tls_target(bench, "127.0.0.1", bench.ports.control, **tls)
    run, _ = register(bench, target)
    assert run["status"] == "failed"
    assert says in run["result_description"], run["result_description"]
    assert f"127.0.0.1:{bench.ports.control}" in run["result_description"]


def test_expired_certificate_and_no_verification(bench, authority):
    files = authority.issue("expired", expired=True)
    with SipPeer(bench.ports.phone, lambda r: r.registered(), tls=files):
        target = tls_target(bench, "127.0.0.1", bench.ports.phone,
                            ca=authority.file.read_text())
        run, _ = register(bench, target)
        assert "certificate has expired" in run["result_description"]
        target = tls_target(bench, "127.0.0.1", bench.ports.phone, verify=0)
        run, _ = register(bench, target)
        assert run["status"] == "passed", run["result_description"]


def test_server_name_and_client_certificate(bench, authority):
    """The peer requires a client certificate; ours is in the agent's configuration."""
    server = authority.issue("named", "DNS:proxy.test")
    port = bench.ports.base + 10
    target = tls_target(bench, "127.0.0.1", port, ca=authority.file.read_text(),
                        server_name="proxy.test")
    with SipPeer(port, lambda r: r.registered(), tls=server, client_ca=authority.file) as peer:
        run, _ = register(bench, target)
    assert run["status"] == "passed", run["result_description"]
    request = peer.requests[0]
    assert (request.transport, request.server_name) == ("tls", "proxy.test")
    assert ("DNS", "agent.test") in request.certificate["subjectAltName"]
    assert request.header("via").startswith("SIP/2.0/TLS ")
    assert "transport=tls" in request.header("contact")


def test_certificate_of_the_target(bench, authority, tmp_path):
    """Each target names the certificate to present to it; the agent's own is for other
    targets."""
    certificates = tmp_path / "certificates"
    certificates.mkdir()
    for name, together in (("trunk-a", False), ("trunk_b.2", True)):
        cert, key = authority.issue(name, f"DNS:{name.replace('_', '-')}.test")
        (certificates / f"{name}.pem").write_text(
            cert.read_text() + (key.read_text() if together else ""))
        if not together:
            (certificates / f"{name}.key").write_text(key.read_text())
    own, own_key = authority.issue("own", "DNS:own.test")
    port = bench.ports.base + 13
    ca = authority.file.read_text()
    with SipPeer(port, lambda r: r.registered(), tls=authority.issue("wants"),
                 client_ca=authority.file) as peer, \
            another_agent(bench, tmp_path, "named", sip_tls_certificates=certificates,
                          sip_tls_certificate=own, sip_tls_key=own_key) as pool:
        for name, shown in (("trunk-a", "trunk-a.test"), ("trunk_b.2", "trunk-b.2.test"),
                            (None, "own.test"), ("", "own.test")):
            more = {} if name is None else {"certificate": name}
            run, _ = register(bench, tls_target(bench, "127.0.0.1", port, ca=ca, **more), pool)
            assert run["status"] == "passed", run["result_description"]
            assert peer.requests[-1].certificate["subjectAltName"] == (("DNS", shown),)
        run, _ = register(bench, tls_target(bench, "127.0.0.1", port, ca=ca,
                                            certificate="trunk-c"), pool)
    assert run["status"] == "errored"
    assert "wants the certificate trunk-c, and this agent has no file trunk-c.pem" in \
        run["result_description"], run["result_description"]


@pytest.mark.parametrize("name", ["../agent", "a/b", ".hidden", "a b", "x" * 65, 7])
def test_certificate_name_that_is_none(bench, name):
    answer = bench.controller.request("POST", "/targets", json={
        "name": "bad name", "hosts": [{"host": "h", "transport": "tls"}],
        "tls": {"certificate": name}})
    assert answer.status_code == 422, answer.text
    assert answer.json()["errors"][0]["pointer"] == "/tls/certificate"


def test_tls_over_ipv6(bench, authority, tmp_path):
    """Verified by IP address, from our own address, which is in brackets in our
    headers."""
    port = bench.ports.base + 14
    with SipPeer(port, lambda r: r.registered(), tls=authority.issue("six", "IP:::1"),
                 host="::1") as peer, another_agent(bench, tmp_path, "six", bind="::1") as pool:
        target = tls_target(bench, "::1", port, ca=authority.file.read_text())
        run, _ = register(bench, target, pool)
        assert run["status"] == "passed", run["result_description"]
        request = peer.requests[-1]
        assert request.transport == "tls" and request.source[0] == "::1"
        assert request.header("via").startswith("SIP/2.0/TLS [::1]:")
        assert "@[::1]:" in request.header("contact")
        target = tls_target(bench, "::1", port, ca=authority.file.read_text(),
                            server_name="::2")
        run, _ = register(bench, target, pool)
        assert "mismatch" in run["result_description"], run["result_description"]


def test_command_line(bench, build, authority, tmp_path):
    """register and call, with the options for TLS."""
    def offhook(*arguments):
        done = subprocess.run([build / "offhook", *map(str, arguments)], cwd=tmp_path,
                              capture_output=True, text=True, timeout=90)
        print(done.stdout + done.stderr)
        return done.returncode, done.stdout + done.stderr

    user = ("--user", "1003", "--password", SUBSCRIBERS["1003"], "--transport", "tls")
    registrar = ("register", "--registrar", f"127.0.0.1:{bench.ports.control}", *user)
    code, said = offhook(*registrar, "--tls-ca", authority.file, "--expires", 77)
    assert code == 0 and re.search(r"PASSED: 1003 was registered in [0-9.]+ ms for 77 s", said)
    code, said = offhook(*registrar)
    assert code == 1 and "unable to get local issuer certificate" in said
    code, said = offhook(*registrar, "--tls-verify", "no")
    assert code == 0
    code, said = offhook(*registrar, "--tls-ca", authority.file, "--tls-name", "other.test")
    assert code == 1 and "hostname mismatch" in said
    code, said = offhook(*registrar, "--tls-ca", tmp_path / "none.pem")
    assert code == 2 and "none.pem: No such file" in said
    code, said = offhook("register", "--registrar", f"127.0.0.1:{bench.ports.sip}", "--user",
                         "1003", "--password", "wrong")
    assert code == 1 and re.search("40[13]", said)
    cert, key = authority.issue("client", "DNS:client.test")
    port = bench.ports.base + 15
    with SipPeer(port, lambda r: r.registered(), tls=authority.issue("asks"),
                 client_ca=authority.file) as peer:
        code, said = offhook("register", "--registrar", f"127.0.0.1:{port}", *user, "--tls-ca",
                             authority.file, "--tls-cert", cert, "--tls-key", key)
        assert code == 0
        assert peer.requests[0].certificate["subjectAltName"] == (("DNS", "client.test"),)
    code, said = offhook("call", f"sip:1004@127.0.0.1:{bench.ports.control};transport=tls",
                         "--user", "1003", "--password", SUBSCRIBERS["1003"],
                         "--tls-ca", authority.file, "--trace")
    assert code == 1 and "480" in said and "SIP/2.0/TLS" in said
    assert offhook("call", "sip:a@127.0.0.1", "--tls-key", "x")[0] == 2
    assert offhook(*registrar, "--tls-verify", "perhaps")[0] == 2


@pytest.fixture
def named(authority, ports):
    """The options of `offhook call` to a peer whose certificate has a name only; its files."""
    files = authority.issue("by-name", "DNS:proxy.test")
    return ["--bind", "127.0.0.1", "--transport", "tls", "--tls-ca", authority.file,
            "--tls-name", "proxy.test", f"sip:a@127.0.0.1:{ports.phone}"], files


@contextmanager
def calling(build, folder, options):
    process = subprocess.Popen([build / "offhook", "call", *map(str, options)], cwd=folder,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield process
    finally:
        process.kill()
        print(process.communicate()[0])


def wait_for(peer, method, count=1):
    """The last of so many requests."""
    deadline = time.monotonic() + 60
    while (found := [r for r in list(peer.requests) if r.method == method][count - 1:]) == []:
        assert time.monotonic() < deadline, [r.method for r in peer.requests]
        time.sleep(0.05)
    return found[0]


def wait_closed(peer):
    """The peer has closed a connection, and the agent has had the time to see it."""
    deadline = time.monotonic() + 60
    while not peer.errors:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.5)


def test_cancel_over_a_new_connection(build, named, ports, tmp_path):
    """The peer closes its connection after 180. The one for CANCEL verifies the same name."""
    options, files = named

    def answer(request):
        if request.method == "INVITE":
            yield request.reply(180, "Ringing")
            raise ConnectionResetError("closed after 180")
        if request.method == "CANCEL":
            yield request.reply(200, "OK")
            yield peer.requests[0].reply(487, "Request Terminated")

    with SipPeer(ports.phone, answer, tls=files) as peer, \
            calling(build, tmp_path, options) as process:
        wait_for(peer, "INVITE")
        wait_closed(peer)
        process.send_signal(signal.SIGINT)
        cancel = wait_for(peer, "CANCEL")
        wait_for(peer, "ACK")
        process.wait(60)
    assert (cancel.transport, cancel.server_name) == ("tls", "proxy.test")
    assert cancel.source != peer.requests[0].source
    assert peer.errors == ["closed after 180"]


def test_ack_again_over_a_new_connection(build, named, ports, tmp_path):
    """The peer closes its connection after the ACK, and repeats the 2xx over UDP."""
    options, files = named
    sdp = (b"v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
           b"m=audio 9 RTP/AVP 0\r\n")
    contact = f"Contact: <sip:peer@127.0.0.1:{ports.phone};transport=tls>"

    def answered(request):
        return request.reply(200, "OK", contact, "Content-Type: application/sdp").replace(
            b"Content-Length: 0\r\n\r\n", b"Content-Length: %d\r\n\r\n%s" % (len(sdp), sdp))

    def answer(request):
        if request.method == "INVITE":
            yield answered(request)
        elif request.method == "BYE":
            yield request.reply(200, "OK")
        elif not peer.errors:
            raise ConnectionResetError("closed after ACK")

    with SipPeer(ports.phone, answer, tls=files) as peer, \
            calling(build, tmp_path, options) as process:
        invite, first = wait_for(peer, "INVITE"), wait_for(peer, "ACK")
        wait_closed(peer)
        ours = re.search(r"@127\.0\.0\.1:(\d+)", invite.header("contact"))[1]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            udp.sendto(answered(invite), ("127.0.0.1", int(ours)))
            again = wait_for(peer, "ACK", 2)
        process.send_signal(signal.SIGINT)
        wait_for(peer, "BYE")
        process.wait(60)
    assert (again.transport, again.server_name) == ("tls", "proxy.test")
    assert again.source != first.source and again.header("cseq") == first.header("cseq")
    assert peer.errors == ["closed after ACK"]


def test_peer_that_wants_a_certificate_we_lack(bench, authority, tmp_path):
    cert, key = authority.issue("strict")
    port = bench.ports.base + 12
    server = subprocess.Popen(
        ["openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-cert", cert, "-key", key,
         "-CAfile", authority.file, "-Verify", "1", "-quiet"],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        target = tls_target(bench, "127.0.0.1", port, ca=authority.file.read_text())
        with another_agent(bench, tmp_path, "plain") as pool:
            run, _ = register(bench, target, pool)
    finally:
        server.kill()
        server.wait()
    assert run["status"] == "failed"
    assert 'the peer sent the alert "certificate required"' in run["result_description"], \
        run["result_description"]


def test_files_that_cannot_be_used(bench):
    target = tls_target(bench, "127.0.0.1", bench.ports.control,
                        ca="-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n")
    run, _ = register(bench, target)
    assert run["status"] == "errored"
    assert "cannot use the CA certificates" in run["result_description"]
    answer = bench.controller.request("POST", "/targets", json={
        "name": "no pem", "hosts": [{"host": "h", "transport": "tls"}], "tls": {"ca": "x"}})
    assert answer.status_code == 422, answer.text


def test_foreign_client_reaches_us_over_tls(bench, authority, tmp_path):
    """openssl s_client connects to the agent's own port while it accepts calls."""
    cert, key = authority.issue("phone")
    port = bench.ports.base + 11
    options = (f"OPTIONS sip:127.0.0.1:{port};transport=tls SIP/2.0\r\n"
               "Via: SIP/2.0/TLS 127.0.0.1:9;branch=z9hG4bK1;rport\r\nMax-Forwards: 1\r\n"
               "From: <sip:a@b>;tag=1\r\nTo: <sip:c@d>\r\nCall-ID: 1\r\nCSeq: 1 OPTIONS\r\n"
               "Content-Length: 0\r\n\r\n")
    with another_agent(bench, tmp_path, "phone", sip_tls_certificate=cert, sip_tls_key=key,
                       sip_port=port, capacity=1) as pool:
        test = bench.api("POST", "/tests", {
            "name": "phone", "project_id": bench.project_id, "scenario": "single-call",
            "agentpool_id": pool, "record": "sip",
            "steps": [[{"type": "answer", "role": "callee"}],
                      [{"type": "wait", "role": "callee", "wait_ms": 120000}]],
            "conditions": []})["test"]["id"]
        session = bench.start(test)
        deadline = time.monotonic() + 60
        while socket.socket().connect_ex(("127.0.0.1", port)):
            assert time.monotonic() < deadline
            time.sleep(0.1)
        client = subprocess.Popen(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-quiet", "-no_ign_eof",
             "-CAfile", authority.file, "-verify_return_error", "-verify_ip", "127.0.0.1"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        guard = threading.Timer(60, client.kill)
        guard.start()
        client.stdin.write(options.encode())
        client.stdin.flush()
        line = client.stdout.readline()
        guard.cancel()
        client.kill()
        assert line == b"SIP/2.0 200 OK\r\n", client.communicate()[1].decode()
        bench.api("POST", f"/runs/{session}/stop")
        bench.wait(session)

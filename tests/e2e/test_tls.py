"""The controller over TLS, and behind a TLS proxy."""
import json
import os
import re
import socket
import ssl
import subprocess
import time

import pytest
import requests

from agent import Agent
from bench import QUICK, Bench, Logged
from certificates import Authority
from controller import Controller
from test_api_basics import problem


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls"))


class Tls(Controller):
    """A controller with a certificate; its session trusts the authority."""

    def __init__(self, files, ca, **conf):
        super().__init__(tls_certificate_file=files[0], tls_key_file=files[1], **conf)
        self.session.trust_env = False  # an environment variable would override verify
        self.session.verify = ca and str(ca)


@pytest.fixture(scope="module")
def server(authority):
    with Tls(authority.issue("server"), authority.file, **QUICK) as c:
        yield c


def port_of(server):
    return int(server.url.rsplit(":", 1)[1])


def test_https_is_served_and_verified(server, authority, tmp_path):
    assert server.url.startswith("https://")
    assert server.api("GET", "/projects")["total"] == 0
    other = Authority(tmp_path, "other")
    with pytest.raises(requests.exceptions.SSLError):
        requests.get(server.url + "/healthz", verify=str(other.file), timeout=20)
    with pytest.raises(requests.exceptions.ConnectionError):
        requests.get(server.url.replace("https", "http") + "/healthz", timeout=20)
    content = os.urandom(300000)  # many TLS records in both directions
    made = server.request("POST", "/appimages", data={"name": "big"},
                          files={"file": ("a", content)})
    assert made.status_code == 201, made.text
    path = f"/appimages/{made.json()['appimage']['id']}/content"
    assert server.request("GET", path).content == content


@pytest.mark.parametrize("version, works", [
    (ssl.TLSVersion.TLSv1_1, False), (ssl.TLSVersion.TLSv1_2, True),
    (ssl.TLSVersion.TLSv1_3, True)])
def test_versions(server, authority, version, works):
    context = ssl.create_default_context(cafile=authority.file)
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = context.maximum_version = version

    def handshake():
        with socket.create_connection(("127.0.0.1", port_of(server)), 20) as s, \
                context.wrap_socket(s, server_hostname="127.0.0.1") as t:
            return t.version()

    if works:
        assert handshake() == {ssl.TLSVersion.TLSv1_2: "TLSv1.2",
                               ssl.TLSVersion.TLSv1_3: "TLSv1.3"}[version]
    else:
        with pytest.raises((ssl.SSLError, ConnectionError)):
            handshake()


def bench_over_tls(authority, monkeypatch):
    """From now on a Bench's controller has a certificate, and its agents trust the authority."""
    files = authority.issue("call")

    class TlsAgent(Agent):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, ca_file=authority.file, **kwargs)

    class TlsLogged(Tls, Logged):
        def __init__(self, **conf):
            super().__init__(files, authority.file, **conf)

    monkeypatch.setattr("bench.Agent", TlsAgent)
    monkeypatch.setattr("bench.Logged", TlsLogged)


def test_call_through_tls(authority, tmp_path, ports, monkeypatch):
    """The agent enrols, takes its job and uploads over https."""
    bench_over_tls(authority, monkeypatch)
    with Bench(tmp_path, ports) as b:
        assert b.controller.url.startswith("https://")
        run, report = b.run(b.single_call(duration=3))
        assert run["status"] == "passed", run
        assert report["messages"]


WRONG = {
    "unknown authority": (lambda a, path: (a.issue("w1"), Authority(path, "w").file),
                          "unable to get local issuer certificate|self-signed"),
    "expired": (lambda a, path: (a.issue("w2", expired=True), a.file), "has expired"),
    "wrong name": (lambda a, path: (a.issue("w3", "DNS:example.net"), a.file),
                   "no alternative certificate subject name matches"),
    "no ca_file": (lambda a, path: (a.issue("w4"), None),
                   "unable to get local issuer certificate|self-signed"),
}


@pytest.mark.parametrize("case", WRONG)
def test_agent_refuses_certificate(authority, tmp_path, ports, case):
    make, words = WRONG[case]
    files, ca = make(authority, tmp_path)
    conf = {"ca_file": ca} if ca else {}
    with Tls(files, False, **QUICK) as c:
        token = c.api("POST", "/agent-pools", {"name": "p"})["agent_pool"]["join_token"]
        agent = Agent(tmp_path, c.url, token, ports.rtp, **conf)
        try:
            agent.start()
            deadline = time.monotonic() + 30
            while "is not accepted" not in agent.log():
                assert time.monotonic() < deadline, agent.log()
                time.sleep(0.05)
            line = next(line for line in agent.log().splitlines()
                        if "is not accepted" in line)
            assert re.search(words, line) and "ca_file" in line, line
            assert c.api("GET", "/agents")["total"] == 0
        finally:
            agent.close()
        assert token not in agent.log() + c.log()


def start_fails(tmp_path, **conf):
    """The error of a controller that does not start."""
    file = tmp_path / "c.conf"
    file.write_text("".join(f'{k} = "{v}"\n' for k, v in
                            {"state_dir": tmp_path / "state", **conf}.items()) + "port = 0\n")
    done = subprocess.run([Controller().program, "--config", file], capture_output=True,
                          text=True, timeout=60, check=False)
    assert done.returncode in (1, 2), done.stderr
    return done.stderr


def test_certificates_of_the_controller(authority, tmp_path):
    """16 are sent in a handshake; a file with more is refused when the controller starts."""
    with Tls(authority.chain("sixteen", 16), authority.file, **QUICK) as c:
        assert c.api("GET", "/projects")["total"] == 0
    cert, key = authority.chain("seventeen", 17)
    assert f"{cert} has more than 16 certificates" in start_fails(tmp_path, tls_certificate_file=cert, tls_key_file=key)


def test_wrong_files_are_named(authority, tmp_path):
    cert, key = authority.issue("one")
    other, _ = authority.issue("two")
    assert "tls_key_file: is missing" in start_fails(tmp_path, tls_certificate_file=cert)
    assert "No such file" in start_fails(tmp_path, tls_certificate_file="/nowhere",
                                         tls_key_file=key)
    said = start_fails(tmp_path, tls_certificate_file=other, tls_key_file=key)
    assert "is the key that of the certificate" in said
    assert "no PEM text" in start_fails(tmp_path, tls_certificate_file=key, tls_key_file=key)
    os.chmod(key, 0o644)
    assert "can be read by everybody" in start_fails(tmp_path, tls_certificate_file=cert,
                                                     tls_key_file=key)
    assert "trusted_proxies" in start_fails(tmp_path, trusted_proxies="proxy.example")


def forwarded(server, **headers):
    """(base URL in responses, client address in the log) of a request with these
    headers."""
    size = len(server.log())
    name = str(size)
    pool = server.api("POST", "/agent-pools", {"name": name})["agent_pool"]
    answer = server.request("POST", "/agent/register", {
        "token": pool["join_token"], "name": "a", "version": "t", "protocols": [1],
        "features": [], "capacity": 1}, key=None,
        headers={k.replace("_", "-"): v for k, v in headers.items()})
    assert answer.status_code == 201, answer.text
    return re.search(r"enrolled from (\S+)", server.log()[size:]).group(1)


def test_forwarded_headers_count_from_trusted_proxies_only():
    with Controller() as c:
        assert forwarded(c, X_Forwarded_For="203.0.113.9") == "127.0.0.1"
    with Controller(trusted_proxies="127.0.0.1 10.0.0.0/8") as c:
        assert forwarded(c, X_Forwarded_For="203.0.113.9") == "203.0.113.9"
        assert forwarded(c, X_Forwarded_For="1.2.3.4, 203.0.113.9, 10.0.0.1") == "203.0.113.9"
        assert forwarded(c, X_Forwarded_For="2001:db8::1") == "2001:db8::1"
        assert forwarded(c, X_Forwarded_For="1.2.3.4, <script>") == "127.0.0.1"
        assert forwarded(c, X_Forwarded_For="") == "127.0.0.1"
        assert forwarded(c) == "127.0.0.1"


@pytest.mark.parametrize("trusted, proto, scheme", [
    ("", "https", "http"), ("127.0.0.1", "https", "https"), ("127.0.0.1", "http", "http"),
    ("127.0.0.1", "javascript", "http")])
def test_forwarded_proto(trusted, proto, scheme):
    from test_api_server import make_test
    with Controller(trusted_proxies=trusted, host_names="offhook.example") as c:
        _, test = make_test(c)
        answer = c.request("POST", f"/tests/{test['id']}/run", {},
                           headers={"Host": "offhook.example", "X-Forwarded-Proto": proto})
        url = answer.json()["data"]["status_url"]
        assert url.startswith(f"{scheme}://offhook.example/"), json.dumps(answer.json())
        # RFC 6797 section 7.2: no HSTS header without TLS
        assert ("Strict-Transport-Security" in answer.headers) == (scheme == "https")


@pytest.mark.parametrize("seconds", [31536000, 0])
def test_strict_transport_security(authority, seconds):
    with Tls(authority.issue(f"hsts{seconds}"), authority.file, hsts_s=seconds) as c:
        for answer in (c.request("GET", "/projects"), c.request("GET", "/projects", key=None),
                       c.request("GET", "/nothing"), c.session.get(f"{c.url}/login", timeout=60),
                       c.session.get(f"{c.url}/healthz", timeout=60)):
            assert answer.headers["Strict-Transport-Security"] == f"max-age={seconds}"
        # responses to requests that are refused before routing have it as well, unless
        # libmicrohttpd itself refuses: 1.0 does so for a Content-Length together with
        # chunks
        context = ssl.create_default_context(cafile=authority.file)
        with socket.create_connection(("127.0.0.1", port_of(c)), 20) as s, \
                context.wrap_socket(s, server_hostname="127.0.0.1") as t:
            t.sendall(b"GET /healthz HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n")
            answer = b""
            while piece := t.recv(65536):
                answer += piece
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"Strict-Transport-Security: max-age=" in answer


@pytest.mark.parametrize("host, known", [
    ("127.0.0.1:8080", True), ("127.0.0.1", True), ("localhost:1", True), ("LOCALHOST", True),
    ("127.1.2.3", True), ("[::1]:80", True), ("offhook.example", True),
    ("OffHook.example:8443", True), ("192.0.2.7:80", True), ("evil.example", False),
    ("offhook.example.evil.example", False), ("evil-offhook.example", False), ("offhook", False),
    ("192.0.2.8", False), ("[2001:db8::1]", False), ("offhook.example:0", False),
    ("offhook.example:x", False), ("offhook.example:65536", False), ("localhost.evil.example", False),
    ("", False), (":80", False)])
@pytest.mark.parametrize("listen", ["127.0.0.1", "0.0.0.0", "::"])
def test_only_known_hosts_get_into_links(listen, host, known, linked):
    server, path = linked(listen)
    port = server.conf["port"]
    base = f"http://127.0.0.1:{port}"
    answer = requests.post(f"{base}/api/v2{path}", json={}, timeout=60,
                           auth=server.keys["admin"], headers={"Host": host})
    for url in (answer.json()["data"]["status_url"], answer.json()["data"]["report_url"]):
        assert url.startswith(f"http://{host}/" if known else f"{base}/"), url


@pytest.fixture(scope="module")
def linked():
    """linked(address): (a controller that listens there, path of a started run)"""
    from test_api_server import make_test
    servers = {}

    def get(listen):
        if listen not in servers:
            c = Controller(listen=listen, host_names="offhook.example, 192.0.2.7",
                           tls="off").start()
            c.url = f"http://127.0.0.1:{c.conf['port']}"
            servers[listen] = c, f"/tests/{make_test(c)[1]['id']}/run"
        return servers[listen]
    yield get
    for c, _ in servers.values():
        c.__exit__(None, None, None)


def test_base_url_comes_first():
    from test_api_server import make_test
    with Controller(base_url="https://public.example/x", host_names="offhook.example") as c:
        answer = c.request("POST", f"/tests/{make_test(c)[1]['id']}/run", {},
                           headers={"Host": "offhook.example"})
        assert answer.json()["data"]["status_url"].startswith("https://public.example/x/api/v2/")

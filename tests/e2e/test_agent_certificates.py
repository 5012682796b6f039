"""TLS client certificates of agents (agent_ca_file): who needs one, whose it must be, and what
is said of one that does not do."""
import os
import re
import subprocess
import time

import pytest
import requests

from agent import Agent
from bench import QUICK
from certificates import Authority
from controller import Controller
from fake_agent import FakeAgent
from test_reload import put, reload
from test_tls import Tls, port_of, start_fails

WAIT_S = 60


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """Of the controller's certificate, and of the agents'."""
    return Authority(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("other"), "other")


@pytest.fixture(scope="module")
def server(authority):
    with Tls(authority.issue("server"), authority.file, agent_ca_file=authority.file,
             **QUICK) as c:
        pool = c.api("POST", "/agent-pools", {"name": "pool"})["agent_pool"]
        c.token = pool["join_token"]
        yield c


def register(c, name, files=None):
    """On a connection of its own: a session would use one that has shown no certificate."""
    return requests.post(f"{c.url}/api/v2/agent/register", cert=files, timeout=60,
                         verify=c.session.verify, json={
                             "token": c.token, "name": name, "version": "t", "protocols": [1],
                             "features": [], "capacity": 1})


class Shown(FakeAgent):
    """A client of the agent protocol that shows a certificate."""

    def __init__(self, c, files, name=None, auth=None):
        self.files = files
        self.verify = c.session.verify
        super().__init__(c, getattr(c, "token", None), name, auth=auth)

    def call(self, method, path, body=None, auth="own", timeout=60):
        return requests.request(method, f"{self.controller.url}/api/v2/agent{path}", json=body,
                                auth=self.auth if auth == "own" else auth, timeout=timeout,
                                cert=self.files, verify=self.verify)


def refused(answer, reason):
    assert answer.status_code == 403, answer.text
    assert answer.json()["certificate"] == reason, answer.text
    assert answer.headers["Connection"] == "close"


def test_certificates_of_an_agent(server, authority):
    """Of a chain that an agent shows 16 are read: one that needs more is not trusted."""
    files = authority.chain("sixteen", 16, subject="DNS:sixteen")
    assert register(server, "sixteen", files).status_code == 201
    refused(register(server, "seventeen", authority.chain("seventeen", 17, subject="DNS:seventeen")), "untrusted")


def test_only_agents_are_asked(server):
    assert server.api("GET", "/projects")["total"] == 0  # an API key
    page = server.session.get(f"{server.url}/login", timeout=60)
    assert page.status_code == 200
    refused(register(server, "none"), "missing")
    assert "was refused: this controller asks agents for a client certificate" in server.log()


def files_of(authority, other, case):
    return {"untrusted": lambda: other.issue("a"),
            "expired": lambda: authority.issue("late", "DNS:a", expired=True),
            "other-name": lambda: authority.issue("b", "DNS:c"),
            "for servers": lambda: authority.issue("s", "DNS:a", purpose="serverAuth"),
            }[case]()


@pytest.mark.parametrize("case", ["untrusted", "expired", "other-name", "for servers"])
def test_one_that_does_not_do(server, authority, other, case):
    files = files_of(authority, other, case)
    reason = "untrusted" if case == "for servers" else case
    refused(register(server, "a", files), reason)
    # nor after the enrolment
    agent = Shown(server, authority.issue(f"good-{case.replace(' ', '-')}"),
                  f"good-{case.replace(' ', '-')}")
    assert agent.post("/disconnect").status_code == 204
    agent.files = files
    for path in ("/disconnect", "/poll", "/leases/00000000-0000-4000-8000-00000000ffff/finish"):
        refused(agent.post(path), reason)
    agent.files = None
    refused(agent.post("/disconnect"), "missing")


def test_credentials_of_one_with_the_certificate_of_another(server, authority):
    one = Shown(server, authority.issue("one"), "one")
    two = Shown(server, authority.issue("two", purpose="clientAuth"), "two")
    assert two.post("/disconnect").status_code == 204
    mixed = Shown(server, two.files, auth=one.auth)
    refused(mixed.post("/disconnect"), "other-name")
    assert re.search(r"warning: agent one at 127.0.0.1 was refused: the client certificate is "
                     r"that of another name", server.log())
    # a DNS name does as well, in any case of letters
    both = Shown(server, authority.issue("cluster", "DNS:x, DNS:ONE"), auth=one.auth)
    assert both.post("/disconnect").status_code == 204
    # wrong credentials stay what they are
    wrong = Shown(server, one.files, auth=(one.auth[0], "x"))
    assert wrong.post("/disconnect").status_code == 401


def test_flood_of_refusals_does_not_fill_the_log(authority):
    with Tls(authority.issue("flood"), authority.file, agent_ca_file=authority.file) as c:
        c.token = "x"
        for _ in range(30):
            refused(register(c, "none"), "missing")
        assert c.log().count("was refused: this controller asks agents") == 10


def test_an_agent_gets_it_later(authority, tmp_path, ports):
    """One that is wrong is said with its remedy, and replaced while the agent runs."""
    with Tls(authority.issue("later"), authority.file, agent_ca_file=authority.file,
             **QUICK) as c:
        pool = c.api("POST", "/agent-pools", {"name": "p"})["agent_pool"]
        files = authority.issue("agent-old", "DNS:agent", expired=True)
        agent = Agent(tmp_path, c.url, pool["join_token"], ports.rtp, ca_file=authority.file,
                      certificate_file=files[0], key_file=files[1])
        try:
            agent.start()
            within(lambda: "has expired: renew certificate_file" in agent.log(), agent)
            assert c.api("GET", "/agents")["total"] == 0
            put(files, authority.issue("agent-new", "DNS:agent"))
            within(lambda: online(c) == 1, agent)
            assert agent.stop() == 0
        finally:
            agent.close()
        assert pool["join_token"] not in agent.log() + c.log()


def online(c):
    return sum(a["state"] == "online" for a in c.api("GET", "/agents")["agents"])


def within(condition, agent):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, agent.log()
        assert agent.process.poll() is None, agent.log()
        time.sleep(0.05)


def test_a_key_that_everybody_can_read(server, authority, tmp_path, ports):
    files = authority.issue("exposed")
    files[1].chmod(0o644)
    agent = Agent(tmp_path, server.url, server.token, ports.rtp, ca_file=authority.file,
                  name="exposed", certificate_file=files[0], key_file=files[1])
    try:
        agent.start()
        within(lambda: f"{files[1]} can be read by everybody: chmod o= it" in agent.log(), agent)
        assert "exposed" not in names(server)
        files[1].chmod(0o640)
        within(lambda: "exposed" in names(server), agent)
    finally:
        agent.close()


def names(c):
    return [a["name"] for a in c.api("GET", "/agents")["agents"]]


@pytest.mark.parametrize("case, words", [
    ("none", "none was sent: set certificate_file and key_file"),
    ("other name", "of another name than the agent's: the common name or a DNS name"),
    ("no key", "certificate_file and key_file must be readable PEM files")])
def test_what_an_agent_says(server, authority, tmp_path, ports, case, words):
    good = authority.issue("somebody")
    conf = {"none": {},
            "other name": {"certificate_file": good[0], "key_file": good[1]},
            "no key": {"certificate_file": good[0], "key_file": tmp_path / "nowhere"}}[case]
    agent = Agent(tmp_path, server.url, server.token, ports.rtp, ca_file=authority.file, **conf)
    try:
        agent.start()
        within(lambda: words in agent.log(), agent)
    finally:
        agent.close()


def test_reload_takes_another_authority(authority, other, tmp_path):
    ca = tmp_path / "agents.pem"
    ca.write_text(other.file.read_text())
    with Tls(authority.issue("reload"), authority.file, agent_ca_file=ca, **QUICK) as c:
        c.token = c.api("POST", "/agent-pools", {"name": "p"})["agent_pool"]["join_token"]
        old, new = other.issue("a"), authority.issue("a")
        assert register(c, "a", old).status_code == 201
        ca.write_text("no certificate")
        assert "holds no PEM text with a BEGIN CERTIFICATE" in reload(c)
        refused(register(c, "a", new), "untrusted")
        ca.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
        assert "no certificate in it can be read" in reload(c)
        assert register(c, "a", old).status_code == 409
        ca.write_text(authority.file.read_text())
        assert "the authorities of agents were read again" in reload(c)
        refused(register(c, "a", old), "untrusted")
        assert register(c, "a", new).status_code == 409


def named(c):
    """The authorities that a handshake names to the client"""
    said = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port_of(c)}"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          check=False).stdout
    return re.findall(r"CN ?= ?test (\w+)", said.split("client certificate CA names")[1])


def test_reload_names_another_authority(authority, other, tmp_path):
    ca = tmp_path / "agents.pem"
    ca.write_text(other.file.read_text())
    with Tls(authority.issue("names"), authority.file, agent_ca_file=ca) as c:
        assert named(c) == ["other"]
        ca.write_text("no certificate")
        reload(c)
        assert named(c) == ["other"]
        for text in (authority.file.read_text(), other.file.read_text() + authority.file.read_text()):
            ca.write_text(text)
            assert "the authorities of agents were read again" in reload(c)
        assert sorted(named(c)) == ["ca", "other"]


def test_settings_that_cannot_be(authority, tmp_path):
    assert "agent_ca_file: this controller serves plain HTTP" in \
        start_fails(tmp_path, agent_ca_file=authority.file)
    cert, key = authority.issue("start")
    os.mkdir(tmp_path / "state")
    assert "/nowhere: No such file" in start_fails(
        tmp_path, agent_ca_file="/nowhere", tls_certificate_file=cert, tls_key_file=key)


def test_off_by_default():
    with Controller() as c:
        c.token = c.api("POST", "/agent-pools", {"name": "p"})["agent_pool"]["join_token"]
        assert register(c, "a").status_code == 201

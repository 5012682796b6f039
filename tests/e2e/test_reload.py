"""SIGHUP, `systemctl reload`: another certificate and another log level in the same process;
what the service manager is told of it, and the controller's watchdog."""
import http.client
import os
import re
import signal
import socket
import ssl
import time

import pytest
import requests

from agent import Agent
from bench import QUICK
from certificates import Authority
from controller import Controller
from test_tls import Tls, port_of

WAIT_S = 60


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("reload"))


def within(condition):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def reload(program, words="reloaded on SIGHUP"):
    """Send SIGHUP and wait for what the log says of it. @return the log since then"""
    before = len(program.log())
    program.process.send_signal(signal.SIGHUP)
    within(lambda: re.search(words, program.log()[before:]))
    assert program.process.poll() is None
    return program.log()[before:]


def shown(c):
    return ssl.get_server_certificate(("127.0.0.1", port_of(c)))


def healthy(connection):
    connection.request("GET", "/healthz")
    answer = connection.getresponse()
    answer.read()
    return answer.status == 200


def put(old, new):
    """Replace files, as a program that renews certificates does."""
    for there, here in zip(old, new):
        os.replace(here, there)


def test_certificate(authority):
    files = authority.issue("old")
    with Tls(files, authority.file) as c:
        pid, first = c.process.pid, shown(c)
        kept = http.client.HTTPSConnection(
            "127.0.0.1", port_of(c), timeout=WAIT_S,
            context=ssl.create_default_context(cafile=authority.file))
        assert healthy(kept)
        put(files, authority.issue("new"))
        assert shown(c) == first
        assert "the certificate was read again" in reload(c)
        assert shown(c) != first
        assert c.process.pid == pid
        # the connection of before goes on, and new ones are verified
        sock = kept.sock
        assert healthy(kept)
        assert kept.sock is sock
        kept.close()
        assert requests.get(c.url + "/healthz", verify=str(authority.file),
                            timeout=WAIT_S).status_code == 200


def test_certificate_without_its_key(authority):
    """Half of a renewal, or a damaged file: the former certificate stays in use."""
    files = authority.issue("whole")
    with Tls(files, authority.file) as c:
        first = shown(c)
        put(files[:1], authority.issue("half")[:1])
        log = reload(c)
        assert "is the key that of the certificate" in log
        assert "was read again" not in log
        assert shown(c) == first
        files[0].write_text("no certificate")
        assert "holds no PEM text" in reload(c)
        assert shown(c) == first
        put(files, authority.issue("whole2"))
        assert "was read again" in reload(c)
        assert shown(c) != first


def asked(c):
    """Make a request. @return whether the log, which is at level debug then, has it"""
    before = len(c.log())
    c.api("POST", "/projects", {"name": f"p{before}"})
    c.api("GET", "/projects")  # of the same connection: the line of the other one is written
    return " POST /api/v2/projects: 201" in c.log()[before:]


def test_log_level():
    with Controller(log_level="info") as c:
        assert not asked(c)
        c.conf["log_level"] = "debug"
        c._write_conf()
        reload(c)
        within(lambda: asked(c))
        c.conf["log_level"] = "info"
        c._write_conf()
        reload(c)
        assert not asked(c)


def test_wrong_configuration():
    with Controller(log_level="info") as c:
        good = c.conf_file.read_text()
        c.conf_file.write_text(good + "nonsense = 1\n")
        log = reload(c, "not reloaded")
        assert "unknown key" in log
        assert c.api("GET", "/projects")["total"] == 0
        c.conf_file.write_text(good)
        assert "not reloaded" not in reload(c)


def test_environment_precedes_the_file(monkeypatch):
    monkeypatch.setenv("OFFHOOK_LOG_LEVEL", "info")
    with Controller(log_level="debug") as c:
        assert not asked(c)
        reload(c)
        assert not asked(c)


def test_pair_of_environment_and_file(monkeypatch):
    """With its own lease_s, which the environment gives another value, the file alone would be refused."""
    monkeypatch.setenv("OFFHOOK_LEASE_S", "100")
    with Controller(log_level="info", renew_s=40, lease_s=60) as c:
        c.conf["log_level"] = "debug"
        c._write_conf()
        assert "not reloaded" not in reload(c)
        within(lambda: asked(c))
        c.conf["renew_s"] = 60
        c._write_conf()
        assert "renew_s: a lease would be lost" in reload(c, "not reloaded.*")


def test_agent(tmp_path, ports):
    with Controller(**QUICK) as c:
        pool = c.api("POST", "/agent-pools", {"name": "pool"})["agent_pool"]
        agent = Agent(tmp_path, c.witness().url, pool["join_token"], ports.rtp, name="a",
                      log_level="info")
        agent.start()
        try:
            within(lambda: [a for a in c.api("GET", "/agents")["agents"]
                            if a["state"] == "online"])
            text = agent.conf_file.read_text()
            agent.conf_file.write_text(text + "nonsense = 1\n")
            assert "unknown key" in reload(agent, "not reloaded")
            agent.conf_file.write_text(text.replace('log_level = "info"', "log_level = error"))
            assert "stopping" not in agent.log()
            # The signal with the lower number is taken first: the end is not logged any more.
            agent.process.send_signal(signal.SIGHUP)
            assert agent.stop() == 0
            assert "stopping" not in agent.log()
        finally:
            agent.close()


def test_authority_of_the_agent(tmp_path, ports):
    """The controller gets a certificate of another authority, and the agent's ca_file with it:
    the next connection takes both, without a word to the agent."""
    first, second = Authority(tmp_path, "first"), Authority(tmp_path, "second")
    files, trusted = first.issue("server"), tmp_path / "trusted.pem"
    trusted.write_bytes(first.file.read_bytes())
    with Tls(files, False, **QUICK) as c:
        pool = c.api("POST", "/agent-pools", {"name": "pool"})["agent_pool"]
        agent = Agent(tmp_path, c.url, pool["join_token"], ports.rtp, name="a", ca_file=trusted)
        agent.start()
        try:
            within(lambda: [a for a in c.api("GET", "/agents")["agents"]
                            if a["state"] == "online"])
            c.stop()
            before = len(c.log())
            put(files, second.issue("next"))
            trusted.write_bytes(second.file.read_bytes())
            c.start()
            within(lambda: "POST /api/v2/agent/poll: 20" in c.log()[before:])
        finally:
            agent.close()


@pytest.fixture
def manager(monkeypatch):
    """A service manager's socket, with messages as they came."""
    # no path: those of sockets have 107 characters at most
    name = f"offhook-reload-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.bind("\0" + name)
        sock.settimeout(WAIT_S)
        monkeypatch.setenv("NOTIFY_SOCKET", "@" + name)
        yield sock


def received(sock, wanted):
    while not re.match(wanted, text := sock.recv(4096).decode()):
        pass
    return text


def test_service_manager_is_told(manager, monkeypatch):
    monkeypatch.setenv("WATCHDOG_USEC", "200000")
    with Controller() as c:
        received(manager, "READY=1")
        for _ in range(3):
            received(manager, "WATCHDOG=1")
        c.process.send_signal(signal.SIGHUP)
        told = received(manager, "RELOADING=1")
        assert re.fullmatch(r"RELOADING=1\nMONOTONIC_USEC=\d+", told)
        received(manager, "READY=1")
        received(manager, "WATCHDOG=1")
    received(manager, "STOPPING=1")

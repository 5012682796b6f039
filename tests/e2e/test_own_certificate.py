"""TLS without an authority: the controller's own certificate, agents that know it by its
fingerprint, and plain HTTP that needs to be asked for."""
import json
import os
import re
import subprocess

import pytest

from agent import Agent
from bench import QUICK
from certificates import Authority
from controller import Controller, build_dir
from terminal import on_terminal
from test_tls import Tls
from until import until

OTHER = "sha256//" + "A" * 43 + "="


class Own(Controller):
    """A controller with a certificate of its own; its session trusts this alone."""

    def __init__(self, **conf):
        super().__init__(**{"tls": "on", **QUICK, **conf})
        self.pem = self.state_dir / "tls.pem"
        self.session.trust_env = False
        self.session.verify = str(self.pem)


def fingerprint_of(pem):
    """As docs/reference/controller.md computes it."""
    done = subprocess.run(
        f"openssl x509 -in {pem} -noout -pubkey | openssl pkey -pubin -outform der |"
        " openssl dgst -sha256 -binary | base64", shell=True, check=True,
        capture_output=True, text=True)
    return "sha256//" + done.stdout.strip()


def command(c, *words):
    return subprocess.run([c.program, "--config", c.conf_file, *words], capture_output=True,
                          text=True, timeout=60, check=False)


def new_token(c, name="p"):
    return c.api("POST", "/agent-pools", {"name": name})["agent_pool"]


def agents(c):
    return c.api("GET", "/agents")["agents"]


def starts(tmp_path, ports, c, token="", options=(), **conf):
    agent = Agent(tmp_path, c.url, token, ports.rtp, **conf)
    agent.options += options
    return agent.start()


def test_first_start_makes_it_and_later_ones_keep_it():
    c = Own()
    c.create_key()
    early = command(c, "fingerprint")
    assert early.returncode == 1 and "first start" in early.stderr, early
    assert not c.pem.exists()
    with c:
        made = c.pem.read_bytes()
        pin = fingerprint_of(c.pem)
        assert oct(c.pem.stat().st_mode & 0o777) == "0o600"
        assert f"fingerprint of the certificate: {pin}" in c.log()
        assert command(c, "fingerprint").stdout == pin + "\n"
        assert command(c, "fingerprint", "file").returncode == 2
        assert c.api("GET", "/projects")["total"] == 0
        assert new_token(c)["controller_fingerprint"] == pin
        c.stop()
        c.start()
        assert c.pem.read_bytes() == made
        assert c.log().count("made a certificate") == 1


def test_it_is_not_replaced(tmp_path):
    c = Own()
    c.create_key()
    cert, key = Authority(tmp_path).issue("old", expired=True)
    c.pem.write_bytes(key.read_bytes() + cert.read_bytes())
    c.pem.chmod(0o600)
    old = c.pem.read_bytes()
    with c:
        assert re.search(r"warning: the certificate expired \d{3,} days ago", c.log())
        assert c.pem.read_bytes() == old
        c.stop()
        for damaged in (old[:300], b""):
            c.pem.write_bytes(damaged)
            with pytest.raises(RuntimeError, match="tls.pem"):
                c.start()
            assert c.pem.read_bytes() == damaged
        c.pem.write_bytes(old)
        c.start()


def test_agent_joins_by_fingerprint_and_keeps_it(tmp_path, ports):
    with Own(poll_s=1) as c:
        pool = new_token(c)
        pin = pool["controller_fingerprint"]
        agent = starts(tmp_path, ports, c, pool["join_token"], ["--fingerprint", pin])
        try:
            until(lambda: POLLED.search(c.log()), agent.log)  # it has kept its credentials
            agent.stop()
            kept = json.loads((agent.state_dir / "credentials").read_text())
            assert kept["controller_fingerprint"] == pin
            agent.options = []
            agent.conf["join_token"] = ""
            in_touch(c, agent)
            another_certificate(c, agent)
        finally:
            agent.close()


POLLED = re.compile(r"POST /api/v2/agent/poll: 20[04] ")


def in_touch(c, agent):
    """Start it, and wait until a poll was answered."""
    before = len(POLLED.findall(c.log()))
    agent.start()
    until(lambda: len(POLLED.findall(c.log())) > before, agent.log)


def another_certificate(c, agent):
    """It is refused until the agent is told its fingerprint, which is kept then."""
    c.stop()
    c.pem.unlink()
    size = len(c.log())
    c.start()
    c.session.close()  # it keeps the authorities it has read
    until(lambda: "has another fingerprint" in agent.log(), agent.log)
    assert not POLLED.search(c.log()[size:])
    agent.stop()
    agent.conf["controller_fingerprint"] = fingerprint_of(c.pem)
    in_touch(c, agent)
    agent.stop()
    del agent.conf["controller_fingerprint"]
    in_touch(c, agent)
    agent.stop()
    agent.conf["controller_fingerprint"] = "none"
    agent.start()
    until(lambda: "is not accepted" in agent.log(), agent.log)
    agent.stop()
    assert "controller_fingerprint" not in (agent.state_dir / "credentials").read_text()


@pytest.mark.parametrize("given, said", [
    ({"controller_fingerprint": OTHER}, "has another fingerprint"),
    ({}, "is not accepted"),
])
def test_wrong_or_no_fingerprint(tmp_path, ports, given, said):
    with Own() as c:
        token = new_token(c)["join_token"]
        agent = starts(tmp_path, ports, c, token, **given)
        try:
            until(lambda: said in agent.log(), agent.log)
            assert "controller_fingerprint" in agent.log()
            assert agents(c) == []
        finally:
            agent.close()
        assert token not in agent.log() + c.log()


def test_authority_and_fingerprint_must_both_hold(tmp_path, ports):
    authority, other = Authority(tmp_path), Authority(tmp_path, "other")
    with Tls(authority.issue("server"), authority.file, **QUICK) as c:
        pin = command(c, "fingerprint").stdout.strip()
        pool = new_token(c)
        # the next certificate of an authority may have another key
        assert "controller_fingerprint" not in pool
        agent = starts(tmp_path, ports, c, pool["join_token"], ca_file=other.file,
                       controller_fingerprint=pin)
        try:
            until(lambda: "is not accepted" in agent.log(), agent.log)
            agent.stop()
            agent.conf["ca_file"] = authority.file
            agent.start()
            until(lambda: agents(c), agent.log)
        finally:
            agent.close()


def test_fingerprint_by_a_file(tmp_path, ports):
    shared = tmp_path / "fingerprint"
    with Own(fingerprint_file=shared) as c:
        assert shared.read_text() == fingerprint_of(c.pem) + "\n"
        assert oct(shared.stat().st_mode & 0o777) == "0o644"
        agent = starts(tmp_path, ports, c, new_token(c)["join_token"],
                       controller_fingerprint_file=shared)
        try:
            until(lambda: agents(c), agent.log)
        finally:
            agent.close()


def test_fingerprint_file_is_empty_with_an_authority(tmp_path):
    authority = Authority(tmp_path)
    shared = tmp_path / "fingerprint"
    with Tls(authority.issue("server"), authority.file, fingerprint_file=shared):
        assert shared.read_text() == ""


def check(program, folder, **conf):
    """(exit status, messages) of --check-config."""
    file = folder / "checked.conf"
    file.write_text("".join(f'{k} = {v}\n' for k, v in conf.items()))
    done = subprocess.run([build_dir() / program, "--config", file, "--check-config"],
                          capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("listen", ['"0.0.0.0"', '"::"', '"192.0.2.1"', '"2001:db8::1"'])
def test_plain_http_of_the_controller_is_asked_for(tmp_path, listen):
    status, said = check("offhook-controller", tmp_path, listen=listen)
    assert status == 2, said
    assert "checked.conf" in said and "listen: " in said and "plain HTTP" in said
    for remedy in ("tls = on", "tls_certificate_file", "tls = off"):
        assert remedy in said
    for tls in ("on", "off"):
        assert check("offhook-controller", tmp_path, listen=listen, tls=tls)[0] == 0


def test_plain_http_of_the_controller_on_loopback(tmp_path):
    for listen in ('"127.0.0.1"', '"127.8.9.10"', '"::1"'):
        assert check("offhook-controller", tmp_path, listen=listen)[0] == 0
    status, said = check("offhook-controller", tmp_path, tls="off",
                         tls_certificate_file='"a"', tls_key_file='"b"')
    assert status == 2 and "tls: is off, and there is a certificate" in said
    status, said = check("offhook-controller", tmp_path, tls="maybe")
    assert status == 2 and "auto, on or off" in said


def test_plain_http_behind_a_proxy():
    with Controller(listen="0.0.0.0", tls="off") as c:
        c.url = f"http://127.0.0.1:{c.conf['port']}"
        assert "controller_fingerprint" not in new_token(c)


@pytest.mark.parametrize("url, allowed", [
    ("http://127.0.0.1:8080", True), ("http://localhost", True), ("http://[::1]:1", True),
    ("http://127.9.9.9/x", True), ("HTTPS://a", False), ("https://a", True),
    ("http://192.0.2.1:8080", False), ("http://controller", False),
    ("http://localhost.example", False), ("http://127.0.0.1.example", False),
    ("http://[2001:db8::1]", False), ("http://10.0.0.1", False)])
def test_plain_http_of_the_agent_is_asked_for(tmp_path, url, allowed):
    status, said = check("offhook-agent", tmp_path, controller=f'"{url}"')
    assert status == (0 if allowed else 2), said
    if not allowed and url.startswith("http"):
        assert "controller: " in said and "plain_http" in said
        assert check("offhook-agent", tmp_path, controller=f'"{url}"', plain_http="true")[0] == 0


def test_agent_does_not_start_over_plain_http(tmp_path, ports):
    agent = Agent(tmp_path, "http://192.0.2.1:9", "t" * 20, ports.rtp).start()
    assert agent.process.wait(30) == 2
    assert "plain_http" in agent.log()


@pytest.mark.parametrize("text", ["sha256//short=", "A" * 52, OTHER[:-1], OTHER + "x",
                                  "md5//" + "A" * 43 + "="])
def test_what_is_no_fingerprint(tmp_path, text):
    status, said = check("offhook-agent", tmp_path, controller_fingerprint=f'"{text}"')
    assert status == 2 and "is no fingerprint" in said
    file = tmp_path / "f"
    file.write_text(text + "\n")
    status, said = check("offhook-agent", tmp_path, controller_fingerprint_file=f'"{file}"')
    assert status == 2 and f"{file}: is no fingerprint" in said
    status, said = check("offhook-agent", tmp_path, controller_fingerprint_file=f'"{file}"',
                         controller_fingerprint=f'"{OTHER}"')
    assert status == 2 and "allowed is one of them" in said


def test_state_of_others_is_not_taken(tmp_path):
    """A key that everybody may read is refused, as one of the operator is."""
    c = Own()
    c.create_key()
    cert, key = Authority(tmp_path).issue("own")
    c.pem.write_bytes(key.read_bytes() + cert.read_bytes())
    os.chmod(c.pem, 0o644)
    with pytest.raises(RuntimeError, match="can be read by everybody"):
        c.start()
    c.close()


# ---- the command line ----

class Cli:
    """offhook with a configuration folder of its own and a key file of the controller."""

    def __init__(self, folder, c, **environment):
        self.folder, self.c = folder, c
        self.environment = {k: v for k, v in os.environ.items()
                            if not k.startswith("OFFHOOK_")} | {
            "XDG_CONFIG_HOME": str(folder), **environment}
        self.key_file = folder / "key"
        self.key_file.write_text(":".join(c.keys["admin"]) + "\n")

    def words(self, *words):
        return [build_dir() / "offhook", *words, "--key-file", self.key_file]

    def __call__(self, *words, status=0, **environment):
        done = subprocess.run(self.words(*words), capture_output=True, text=True, timeout=60,
                              check=False, stdin=subprocess.DEVNULL,
                              env=self.environment | environment)
        assert done.returncode == status, done.stdout + done.stderr
        assert self.c.keys["admin"][1] not in done.stdout + done.stderr
        return done.stdout + done.stderr

    def profile(self):
        file = self.folder / "offhook" / "profiles.json"
        return json.loads(file.read_text())["profiles"]["default"] if file.exists() else None


def test_commands_by_fingerprint(tmp_path):
    with Own() as c:
        offhook, pin = Cli(tmp_path, c), fingerprint_of(c.pem)
        assert "--fingerprint" in offhook("project", "list", "--url", c.url, status=3)
        offhook("project", "list", "--url", c.url, "--fingerprint", pin)
        offhook("project", "list", OFFHOOK_URL=c.url, OFFHOOK_FINGERPRINT=pin)
        said = offhook("project", "list", "--url", c.url, "--fingerprint", OTHER, status=3)
        assert "public key does not match" in said and "offhook-controller fingerprint" in said
        assert "is no fingerprint" in offhook("project", "list", "--url", c.url,
                                              "--fingerprint", "x", status=2)


def test_login_by_fingerprint(tmp_path):
    with Own() as c:
        offhook, pin = Cli(tmp_path, c), fingerprint_of(c.pem)
        said = offhook("login", c.url, status=3)
        assert f"fingerprint is {pin}\n" in said and "login --fingerprint" in said
        offhook("login", c.url, "--fingerprint", OTHER, status=3)
        assert offhook.profile() is None
        offhook("login", c.url, "--fingerprint", pin)
        assert offhook.profile()["fingerprint"] == pin
        offhook("project", "list")
        # one that is given comes before the profile's
        offhook("project", "list", "--fingerprint", OTHER, status=3)


@pytest.mark.parametrize("answer, kept", [("yes", True), ("no", False), ("y", False)])
def test_login_shows_the_fingerprint_and_asks(tmp_path, answer, kept):
    with Own() as c:
        offhook, pin = Cli(tmp_path, c), fingerprint_of(c.pem)
        status, said = on_terminal(offhook.words("login", c.url), tmp_path,
                                   offhook.environment, keys=answer + "\n")
        assert f"fingerprint is {pin}\n" in said and "Are they equal?" in said
        assert status == (0 if kept else 3), said
        assert (offhook.profile() or {}).get("fingerprint") == (pin if kept else None)
        if kept:
            offhook("project", "list")


def test_keys_are_not_sent_over_plain_http(tmp_path):
    with Controller() as c:
        offhook, near = Cli(tmp_path, c), c.witness().url
        offhook("project", "list", "--url", near)
        far = near.replace("127.0.0.1", "127.1")  # another spelling is not known as loopback
        assert far != near
        for words in (("login", far), ("project", "list", "--url", far)):
            said = offhook(*words, status=2)
            assert "plain HTTP" in said and "OFFHOOK_PLAIN_HTTP=1" in said
        assert offhook.profile() is None
        offhook("login", far, OFFHOOK_PLAIN_HTTP="1")
        offhook("project", "list")

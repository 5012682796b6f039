"""What the container images need of the programs: health checks, a pool whose token is in
a file, and that each can be the first process of a container."""
import os
import subprocess
import time

import pytest

from agent import Agent, children
from bench import QUICK
from certificates import Authority
from controller import Controller
from ports import PortBlock
from until import until

TOKEN = "a-join-token-of-a-file"


@pytest.fixture
def ports():
    block = PortBlock()
    yield block
    block.close()


def health(program, conf):
    done = subprocess.run([program, "--config", conf, "--check-health"], timeout=60,
                          capture_output=True, text=True)
    print(done.stdout, done.stderr)
    return done.returncode, done.stdout


@pytest.mark.parametrize("tls", [False, True])
def test_health_of_the_controller(tmp_path, tls):
    conf = {}
    if tls:  # for a name that the check does not use
        cert, key = Authority(tmp_path).issue("server", "DNS:offhook.example.net")
        conf = {"tls_certificate_file": cert, "tls_key_file": key}
    with Controller(**QUICK, **conf) as c:
        c._write_conf()  # with the port that it took
        status, text = health(c.program, c.conf_file)
        assert status == 0
        assert text == f"{c.url}/healthz: 200\n"
        assert c.stop() == 0
        assert health(c.program, c.conf_file)[0] == 1


def test_health_of_a_controller_on_any_port(build, tmp_path):
    conf = tmp_path / "c.conf"
    conf.write_text("port = 0\n")
    status, text = health(build / "offhook-controller", conf)
    assert status == 1
    assert "port is 0" in text


def states(c):
    return {a["name"]: a["state"] for a in c.api("GET", "/agents")["agents"]}


def test_pool_and_health_of_agents_by_a_token_file(ports, tmp_path):
    token = tmp_path / "token"
    token.write_text(TOKEN + "\n")
    agents = []
    with Controller(**QUICK, join_token_file=token) as c:
        c.secrets.add(TOKEN)
        for name in ("first", "second", "third"):
            agents.append(Agent(tmp_path, c.witness().url, "", ports.rtp, name=name,
                                join_token_file=token))
        first, second, third = agents
        try:
            first.start()
            until(lambda: states(c) == {"first": "online"}, "the first agent joins")
            until(lambda: health(first.program, first.conf_file)[0] == 0, "it is healthy")
            pool, = c.api("GET", "/agent-pools")["agent_pools"]
            assert pool["name"] == "default"

            # another token for the same pool: agents that have joined stay
            token.write_text("another-token-of-the-file\n")
            assert c.stop() == 0
            c.start()
            assert c.api("GET", "/agent-pools")["agent_pools"][0]["id"] == pool["id"]
            second.start()
            until(lambda: states(c) == {"first": "online", "second": "online"},
                  "the second agent joins with the new token")
            third.conf.update(join_token=TOKEN, join_token_file="")
            third.start()
            assert third.process.wait(60) == 3, third.log()
            assert first.stop() == 0
            status, text = health(first.program, first.conf_file)
            assert (status, text) == (1, "no poll was answered since the agent's start\n")
        finally:
            for agent in agents:
                agent.close()
        assert c.stop() == 0
        assert TOKEN not in c.log()
        # nothing changes at a start with the same token
        said = c.log().count("has the join token of")
        c.start()
        assert c.log().count("has the join token of") == said == 2


def test_health_of_an_agent_that_is_cut_off(build, tmp_path):
    conf, note = tmp_path / "a.conf", tmp_path / "last-poll"
    conf.write_text(f'state_dir = "{tmp_path}"\n')
    program = build / "offhook-agent"
    uptime = int(time.clock_gettime(time.CLOCK_BOOTTIME))
    for age, status in ((100, 0), (140, 1), (-3600, 1)):
        note.write_text(f"{uptime - age:19}\n")
        assert health(program, conf)[0] == status, age
    note.write_text("soon\n")
    assert health(program, conf)[0] == 1


@pytest.mark.parametrize("content, said", [
    ("short\n", "fewer than 16 characters"), ("", "fewer than 16 characters"),
    ("a token with blanks in it\n", "a blank"), ("x" * 300, "Invalid argument"),
    (None, "No such file")])
def test_token_file_that_is_wrong(tmp_path, content, said):
    token = tmp_path / "token"
    if content is not None:
        token.write_text(content)
    c = Controller(join_token_file=token)
    try:
        with pytest.raises(RuntimeError, match=said):
            c.start()
        assert c.process.wait(60) == 1
        assert not content or content.strip() not in c.log()
    finally:
        c.close()


def test_token_of_another_pool(tmp_path):
    token = tmp_path / "token"
    with Controller(**QUICK) as c:
        made = c.api("POST", "/agent-pools", {"name": "others"})["agent_pool"]
        assert c.stop() == 0
        token.write_text(made["join_token"])
        c.conf["join_token_file"] = token
        with pytest.raises(RuntimeError, match="another pool has this token"):
            c.start()
        c.process.wait(60)
        c.conf["join_pool"] = "others"
        c.start()
        assert len(c.api("GET", "/agent-pools")["agent_pools"]) == 1


class First:
    """A program as pid 1 of a namespace of its own, as in a container."""

    def __init__(self, folder, program, conf):
        probe = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"],
                               capture_output=True, text=True)
        if probe.returncode:
            pytest.skip(f"no process namespaces: {probe.stderr.strip()}")
        self.log_file = folder / "first.log"
        with self.log_file.open("wb") as log:
            self.parent = subprocess.Popen(
                ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
                 program, "--config", conf], stdout=log, stderr=log)
        until(lambda: children(self.parent.pid), "it starts")
        self.pid = children(self.parent.pid)[0][0]

    def log(self):
        return self.log_file.read_text(errors="replace")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.parent.poll() is None:
            self.parent.kill()
            self.parent.wait()


def conf_of_agent(folder, ports, **more):
    conf = folder / "agent.conf"
    conf.write_text("".join(f'{key} = "{value}"\n' for key, value in {
        "controller": f"http://127.0.0.1:{ports.sip}", "join_token": TOKEN,
        "state_dir": folder / "state", **more}.items()))
    return conf


def test_first_process_reaps_what_engines_leave(build, ports, tmp_path):
    """Each engine leaves a child that ends after it."""
    engine = tmp_path / "engine.sh"
    pids = tmp_path / "pids"
    engine.write_text(f"#!/bin/sh\nsh -c 'echo x >> {pids}; sleep 0.3' &\nexit 0\n")
    engine.chmod(0o755)
    conf = conf_of_agent(tmp_path, ports, engine_program=engine)
    with First(tmp_path, build / "offhook-agent", conf) as first:
        until(lambda: pids.exists() and len(pids.read_text().split()) == 2,
              "two engines were started ahead")
        until(lambda: first.log().count("left behind by an engine, has ended") == 2,
              "both children are reaped")
        assert children(first.pid) == []
        os.kill(first.pid, 15)
        assert first.parent.wait(60) == 0, first.log()


def test_first_process_stops_while_it_waits_for_an_address(build, ports, tmp_path):
    conf = conf_of_agent(tmp_path, ports, controller="https://none.invalid:1", bind="auto")
    with First(tmp_path, build / "offhook-agent", conf) as first:
        until(lambda: "the address towards" in first.log(), "it waits")
        os.kill(first.pid, 15)
        assert first.parent.wait(60) == 0, first.log()


def test_controller_as_first_process(build, tmp_path):
    conf = tmp_path / "controller.conf"
    conf.write_text(f'port = 0\nstate_dir = "{tmp_path / "state"}"\n')
    with First(tmp_path, build / "offhook-controller", conf) as first:
        until(lambda: "listening on" in first.log(), "it serves")
        os.kill(first.pid, 15)
        assert first.parent.wait(60) == 0, first.log()

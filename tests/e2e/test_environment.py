"""What the programs do when their host runs out of descriptors: they say what is missing,
and go on when it is back."""
import contextlib
import os
import resource
import socket

from agent import children
from bench import Bench
from controller import Controller
from until import until


def allow_files(pid, more):
    """Let a process open so many files more. It cannot be taken back."""
    count = len(os.listdir(f"/proc/{pid}/fd")) + more
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (count, count))


def address(controller):
    return ("127.0.0.1", int(controller.url.rsplit(":", 1)[1]))


def test_calls_beyond_the_open_files_of_an_agent(tmp_path, ports):
    many = {f"step.{step}.1.{key}": 40 for step in (0, 1)
            for key in ("max_total_calls", "max_concurrent_calls")}
    with Bench(tmp_path, ports) as bench:
        agent, = bench.agents
        for pid in [agent.process.pid] + [pid for pid, _ in children(agent.process.pid)]:
            allow_files(pid, 24)
        run, _ = bench.run(bench.single_call(duration=5), {**many, "step.1.1.calls_per_second": 20})
        assert run["status"] == "errored"
        assert "too many open files: raise the agent's LimitNOFILE" in run["result_description"]
        after, _ = bench.run(bench.single_call(duration=1))
        assert after["status"] == "passed", after


def test_connections_beyond_the_open_files_of_the_controller():
    with Controller() as c:
        allow_files(c.process.pid, 6)
        with contextlib.ExitStack() as held:
            for _ in range(40):
                held.enter_context(socket.create_connection(address(c)))
            until(lambda: "warning: clients wait for a connection" in c.log(), c.log)
            until(lambda: "error: database: unable to open database file: Too many open files"
                  in c.log(), c.log)
        # until it has closed theirs, it may have none for the database
        until(lambda: c.request("POST", "/projects", {"name": "when they left"}).status_code == 201,
              c.log)
        assert c.log().count("clients wait for a connection") == 1


def test_fewer_connections_where_few_files_may_be_open(tmp_path):
    """The others are the database's."""
    c = Controller(connections=2000, connections_per_address=2000)
    limited = tmp_path / "limited"
    limited.write_text(f"#!/bin/sh\nulimit -n 600\nexec {c.program} \"$@\"\n")
    limited.chmod(0o755)
    c.program = limited
    with c:
        assert "limit is 600: at most 300 are taken" in c.log()
        project = c.api("POST", "/projects", {"name": "before"})["project"]["id"]
        with contextlib.ExitStack() as held:
            for _ in range(400):
                held.enter_context(socket.create_connection(address(c)))
            # on the connection that is open already
            assert c.api("GET", f"/projects/{project}")["project"]["name"] == "before"
            assert c.api("POST", "/projects", {"name": "meanwhile"})["project"]["id"]
        assert "Too many open files" not in c.log()

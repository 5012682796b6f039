"""Where the secrets of a job are in an agent's memory: in that of its engine, nowhere else."""
import re

import pytest

from bench import Bench, CALLER
from certificates import Authority
from peers import SUBSCRIBERS
from test_tls import bench_over_tls
from until import until


def writable(pid):
    """The writable memory of a process, a region at a time; some cannot be read.

    Without the shadow of a sanitizer, which takes terabytes of addresses."""
    with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, \
            open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            bounds, rights = line.split()[:2]
            first, end = (int(b, 16) for b in bounds.split("-"))
            if not rights.startswith("rw") or end - first > 1 << 30:
                continue
            try:
                memory.seek(first)
                yield memory.read(end - first)
            except OSError:
                continue


def places(pid, secret):
    """What is around each copy of the secret."""
    return [content[max(found.start() - 60, 0):found.end() + 20] for content in writable(pid)
            for found in re.finditer(re.escape(secret.encode()), content)]


@pytest.fixture(params=["HTTP", "HTTPS"])
def bench(request, tmp_path, ports, monkeypatch):
    if request.param == "HTTPS":
        bench_over_tls(Authority(tmp_path, "ca"), monkeypatch)
    with Bench(tmp_path, ports) as b:
        yield b


def test_a_password_is_in_the_memory_of_its_engine_only(bench):
    agent = bench.agents[0]
    secret = SUBSCRIBERS[CALLER]
    session = bench.start(bench.single_call(duration=60))
    bench.wait_for_media(session)  # the supervisor has long done with the job's message
    until(lambda: len(agent.engines()) == 2)
    until(lambda: any(places(pid, secret) for pid in agent.engines()))
    assert places(agent.process.pid, secret) == []
    bench.api("POST", f"/runs/{session}/stop")
    bench.wait(session)

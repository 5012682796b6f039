"""The controller's certificate expires in the middle of a run: agents say so and go on trying;
with a renewed one, after a reload, they deliver what they measured meanwhile."""
import datetime
import time

import pytest

from agent import Agent
from bench import FAULTS, Bench, Logged, evidence, stream
from certificates import Authority
from test_reload import put, reload
from test_tls import Tls

WAIT_S = 60
VALID_S = 8   # it is put in place and read before that


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("expired"))


class Expires:
    """Controller and agents of a bench over TLS; the certificate expires when it is told to."""

    def __init__(self, authority, monkeypatch):
        self.authority = authority
        self.files = None
        expires = self

        class TlsAgent(Agent):
            def __init__(self, *args, **kwargs):
                super().__init__(*args, ca_file=authority.file, **kwargs)

        class TlsLogged(Tls, Logged):
            def __init__(self, **conf):
                expires.files = authority.issue("first")
                super().__init__(expires.files, authority.file, **conf)

        monkeypatch.setattr("bench.Agent", TlsAgent)
        monkeypatch.setattr("bench.Logged", TlsLogged)

    def run_out(self, b):
        """The certificate expires, and all connections end, as connections do at times."""
        put(self.files, self.authority.issue("short", seconds=VALID_S))
        end = time.time() + VALID_S  # or a little before
        assert "the certificate expires in 0 days" in reload(b.controller)
        while time.time() <= end + 1:
            time.sleep(0.1)
        b.controller.kill()
        b.controller.start()
        assert "the certificate expired 0 days ago" in b.controller.log()
        agent, = b.agents
        within(lambda: "certificate has expired: the controller's certificate is not accepted"
               in agent.log(), agent)

    def renew(self, b):
        put(self.files, self.authority.issue("renewed"))
        assert "the certificate was read again" in reload(b.controller)


def within(condition, agent):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, agent.log()[-6000:]
        assert agent.process.poll() is None, agent.log()[-6000:]
        time.sleep(0.1)


def test_it_is_renewed_within_the_lease(authority, tmp_path, ports, monkeypatch):
    expires = Expires(authority, monkeypatch)
    with Bench(tmp_path, ports, lease_s=60) as b:
        session = b.start(b.single_call(duration=24))
        b.wait_for_media(session)
        expires.run_out(b)
        expires.renew(b)
        run = b.wait(session, timeout=120)
        report = b.report(session)
        points = b.points(session, "rtp_pkt_per_sec", "callee", "in")
    assert run["status"] == "passed", run
    received = stream(report, "callee", "in")
    assert received["packets"] == stream(report, "caller", "out")["packets"]
    # each second of the call is there, those without a connection too
    times = [p["time"] for p in points]
    assert len(times) == len(set(times)) >= 24
    assert evidence(report, "caller")["packets_sent"] == received["packets"]


def test_it_is_renewed_after_the_lease(authority, tmp_path, ports, monkeypatch):
    """The run is over by then; what was measured until its end arrives."""
    expires = Expires(authority, monkeypatch)
    with Bench(tmp_path, ports, **FAULTS) as b:
        session = b.start(b.single_call(duration=60))
        before = b.wait_for_media(session)
        expires.run_out(b)
        agent, = b.agents
        within(lambda: f"run={session} ended" in b.controller.log(), agent)
        within(lambda: not agent.engines(), agent)
        expires.renew(b)
        run = b.wait(session)
        assert run["status"] == "errored" and "stopped answering" in run["result_description"], run
        within(lambda: not list((agent.state_dir / "spool").iterdir()), agent)
        points = b.points(session, "rtp_pkt_per_sec", "callee", "in")
        b.wait_online()
    # those of the time without a connection, in one piece with those before
    times = sorted(datetime.datetime.fromisoformat(p["time"]).timestamp() for p in points)
    assert len(times) == len(set(times)) >= len(before) + FAULTS["lease_s"] / 2
    assert times[-1] - times[0] == len(times) - 1

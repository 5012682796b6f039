"""offhook-agent --acquire: one job, then the end."""
import contextlib
import subprocess

import pytest

from agent import Agent
from bench import Bench
from until import until

# Exit statuses with --acquire (offhook-agent(8)).
DONE, NO_JOB, UNSUCCESSFUL = 0, 4, 5


@pytest.fixture
def bench(tmp_path, ports):
    # a run waits here until an agent before has ended
    with Bench(tmp_path, ports, agents=0, claim_timeout_s=300) as b:
        b.join_token = b.api("POST", f"/agent-pools/{b.pool_id}/token")["agent_pool"]["join_token"]
        yield b
        for agent in b.agents:
            agent.close()


def acquire(b, option="--acquire", url=None, **conf):
    """A one-shot agent of the pool, started."""
    agent = Agent(b.folder, url or b.controller.witness().url, b.join_token, b.ports.rtp,
                  name=f"once{len(b.agents)}", **conf)
    agent.options = ["--foreground", option]
    b.agents.append(agent)
    return agent.start()


def state_of(b, agent):
    found = [a["state"] for a in b.api("GET", "/agents")["agents"] if a["name"] == agent.name]
    return found[0] if found else None


def test_the_jobs_of_one_run_and_no_other(bench):
    test = bench.single_call(duration=2)
    runs = [bench.start(test), bench.start(test)]
    first = acquire(bench)
    assert first.process.wait(60) == DONE, first.log()
    # it took both roles of the first run, delivered all, and has left
    assert state_of(bench, first) is None
    assert bench.wait(runs[0])["status"] == "passed"
    junit = bench.controller.request("GET", f"/runs/{runs[0]}/report/junit").text
    assert junit.count(f'value="{first.name}"') == 2  # one a role
    assert bench.points(runs[0], "rtp_pkt_per_sec", "caller", "in")
    assert bench.api("GET", f"/runs/{runs[1]}/status")["run"]["status"] == "running"
    assert first.log().count(": started") == 2
    assert list((first.state_dir / "spool").iterdir()) == []
    # with a state of its own or the former one, the next one enrols and takes the next run
    again = acquire(bench, "--acquire=60", state_dir=first.state_dir)
    assert again.process.wait(60) == DONE, again.log()
    assert "(401)" not in again.log()
    assert bench.wait(runs[1])["status"] == "passed"


def test_it_waits_for_a_job_and_takes_no_other_meanwhile(bench):
    test = bench.single_call(duration=3)
    agent = acquire(bench, "--acquire=60")
    until(lambda: state_of(bench, agent) == "online")
    run = bench.start(test)
    until(lambda: state_of(bench, agent) == "draining")
    other = bench.start(test)
    assert agent.process.wait(60) == DONE, agent.log()
    assert bench.wait(run)["status"] == "passed"
    assert bench.api("GET", f"/runs/{other}/status")["run"]["status"] == "running"
    bench.api("POST", f"/runs/{other}/stop")


def test_each_of_two_takes_a_role(bench):
    """With room for one job, the roles of a run go to two of them."""
    agents = [acquire(bench, "--acquire=60", capacity=1, labels="rack=2,site=fra") for _ in "ab"]
    run = bench.start(bench.single_call(duration=1, requires=["site=fra", "rack=2"]))
    assert [a.process.wait(60) for a in agents] == [DONE, DONE], agents[0].log()
    assert bench.wait(run)["status"] == "passed"


def test_no_job_comes_in_time(bench):
    agent = acquire(bench, "--acquire=5")  # it has enrolled by then
    assert agent.process.wait(60) == NO_JOB, agent.log()
    assert "no job came in time" in agent.log()
    assert state_of(bench, agent) is None
    # nor if the controller cannot be reached
    agent = acquire(bench, "--acquire=1", url="http://127.0.0.1:1")
    assert agent.process.wait(60) == NO_JOB, agent.log()


def test_stopped_while_it_waits(bench):
    agent = acquire(bench)

    def has_polled():
        with contextlib.closing(bench.controller.open_database()) as db:
            return db.execute("SELECT count(*) FROM agent WHERE polled_at IS NOT NULL").fetchone()[0]
    until(has_polled)
    assert agent.stop() == NO_JOB
    assert state_of(bench, agent) is None


def test_a_job_that_is_not_completed(bench):
    agent = acquire(bench)
    run = bench.start(bench.single_call(duration=60))
    bench.wait_for_media(run)
    bench.api("POST", f"/runs/{run}/stop")
    assert agent.process.wait(60) == UNSUCCESSFUL, agent.log()
    assert bench.wait(run)["status"] == "stopped"
    assert state_of(bench, agent) is None
    assert list((agent.state_dir / "spool").iterdir()) == []


@pytest.mark.parametrize("time_limit", ["0", "-1", "1.5", "week", "604801", ""])
def test_wrong_time_limits(build, time_limit):
    done = subprocess.run([build / "offhook-agent", f"--acquire={time_limit}"], timeout=60,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "not a number of seconds from 1 to 604800" in done.stderr

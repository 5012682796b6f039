"""offhook-agent --foreground --verbose: what it prints, and what Ctrl-C does."""
import re
import signal
import time

from bench import CALLEE, CALLER, Bench


def verbose(bench):
    """The agent of a bench, started again with --verbose."""
    agent, = bench.agents
    assert agent.stop() == 0
    agent.options.append("--verbose")
    agent.start()
    said(agent, "version .* serves")
    return agent


def said(agent, expression, timeout=60):
    until = time.monotonic() + timeout
    while not re.search(expression, agent.log(), re.M):
        assert time.monotonic() < until, f"it did not say {expression}:\n{agent.log()}"
        assert agent.process.poll() is None, agent.log()
        time.sleep(0.05)


def test_a_run_as_it_happens(tmp_path, ports):
    with Bench(tmp_path, ports) as bench:
        agent = verbose(bench)
        session = bench.start(bench.single_call(duration=3))
        assert bench.wait(session)["status"] == "passed"
        said(agent, r"caller: finished: completed$")
        log = agent.log()
    for line in (rf"caller: {CALLER} CALL_ESTABLISHED caller-1$",
                 r"caller: rtp_pkt_per_sec in: [0-9.]+ \([0-9.]+ to [0-9.]+, of \d+\)$",
                 rf"caller: register {CALLER}: 200 OK after \d+ ms$",
                 rf"callee: register {CALLEE}: 200 OK after \d+ ms$",
                 r"caller: -> udp 127\.0\.0\.1:\d+: REGISTER sip:\S+ SIP/2\.0$",
                 r"caller: <- udp 127\.0\.0\.1:\d+: SIP/2\.0 401 ",
                 rf"caller: -> udp 127\.0\.0\.1:\d+: INVITE sip:{CALLEE}@\S+ SIP/2\.0$",
                 rf"caller: call caller-1 {CALLER} to .* ended \(local\): .*, set up in \d+ ms, lasted \d+ ms$",
                 rf"callee: call callee-1 {CALLEE} from .* ended \(remote\): ",
                 r"caller:   in PCM[AU]: \d+ packets, \d+ lost \([0-9.]+ %\), jitter [0-9.]+ ms, MOS [1-4]\.\d\d$",
                 r"callee: finished: completed$"):
        assert re.search(rf"^\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{{3}} {line}", log, re.M), \
            f"{line}\n{log}"
    # the answers to challenges are in further lines of the messages
    assert "Authorization" not in log and "response=" not in log


def test_nothing_of_it_without_verbose(tmp_path, ports):
    with Bench(tmp_path, ports) as bench:
        run, _ = bench.run(bench.single_call(duration=1))
        assert run["status"] == "passed"
        assert "CALL_ESTABLISHED" not in bench.agents[0].log()


def test_ctrl_c_drains_and_twice_hangs_up(tmp_path, ports):
    with Bench(tmp_path, ports, agent_conf={"stop_s": 600}) as bench:
        agent = verbose(bench)
        session = bench.start(bench.single_call(duration=100))
        said(agent, rf"caller: {CALLER} CALL_ESTABLISHED caller-1$")
        agent.process.send_signal(signal.SIGINT)
        said(agent, "stopping: running jobs may finish for 600 s")
        said(agent, r"caller: rtp_pkt_per_sec in: ")
        assert "finished:" not in agent.log()
        agent.process.send_signal(signal.SIGINT)
        assert agent.process.wait(60) == 0, agent.log()
        log = agent.log()
        # both roles hang up, one of them first
        assert re.search(r"caller: call caller-1 .* ended \((local|remote)\)", log), log
        assert re.search(r"(caller|callee): finished: stopped", log), log
        assert bench.wait(session)["status"] == "errored"

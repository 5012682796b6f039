"""Conditions on figures of many calls with both daemons: against the runs before."""
import pytest

from bench import Bench
from ports import PortBlock

CALLS = 60
# Both roles have their calls on the 40 pairs of ports of one agent; a call whose BYE is not answered yet holds its own.
MANY = {"max_total_calls": CALLS, "max_concurrent_calls": 8, "calls_per_second": 20}


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    ports = PortBlock()
    with Bench(tmp_path_factory.mktemp("sequences"), ports) as b:
        yield b
    ports.close()


def condition(kind, entry, options=()):
    return {"role": "caller", "condition_type": f"caller-{kind}-conditions",
            "conditions": [entry], "options": list(options)}


def verdict_of(bench, session, kind):
    run = bench.api("GET", f"/runs/{session}")["run"]
    verdict, = (v for v in run["verdicts"]
                if v["condition_type"] == f"caller-{kind}-conditions")
    return run, verdict


def run(bench, test, overrides=None):
    session = bench.start(test, overrides)
    bench.wait(session)
    return verdict_of(bench, session, "regression")


def test_worse_than_the_runs_that_passed(bench):
    """The first run has nothing to compare with; the second is as good; in the third no call is answered, and it
    does not count for the fourth."""
    test = bench.single_call(duration=0.2, conditions=[condition(
        "regression", {"figure": "answer_seizure_ratio", "margin": "30", "runs": 1})], **MANY)
    result, verdict = run(bench, test)
    assert result["status"] == "passed", result
    assert verdict["actual"].startswith(f"100.00 % over {CALLS} calls (between ")
    assert verdict["actual"].endswith("; no run has passed before")
    result, verdict = run(bench, test)
    assert result["status"] == "passed", result
    before = f"; before 100.00 % over {CALLS} calls (between "
    assert before in verdict["actual"]
    result, verdict = run(bench, test, {"step.1.1.dial_destination": "9999"})
    assert result["status"] == "failed", result
    assert verdict["sentence"].startswith(
        "caller: the answer-seizure ratio is worse than in the last 1 passed runs by more than 30 %: "
        f"0.00 % over {CALLS} calls (between "), verdict
    assert "undecided" not in verdict
    result, verdict = run(bench, test)
    assert result["status"] == "passed", result
    assert before in verdict["actual"]
    assert verdict["actual"].endswith(" in 1 of 1 passed runs")

"""Runs that end when their calls are enough, with both daemons."""
import pytest

from bench import Bench
from ports import PortBlock

CALLS = 2000
MANY = {"max_total_calls": CALLS, "max_concurrent_calls": 8, "calls_per_second": 20}
ENOUGH = ("the run ended before all its calls were placed: the calls so far decide its conditions "
          "(stop_early)")
CONDITIONS = [{
    "role": "caller", "condition_type": "caller-confidence-conditions", "options": ["stop_early"],
    "conditions": [{"figure": "answer_seizure_ratio", "type": "ge", "value": "80"}]}]


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    ports = PortBlock()
    with Bench(tmp_path_factory.mktemp("stop_early"), ports) as b:
        yield b
    ports.close()


@pytest.fixture(scope="module")
def test_id(bench):
    """The callee waits for all calls, and the caller has another call action, which is passed over."""
    made = bench.single_call(duration=0.3, conditions=CONDITIONS, **MANY)
    test = bench.api("GET", f"/tests/{made}")["test"]
    body = {name: test[name] for name in ("name", "project_id", "agentpool_id", "scenario", "steps",
                                          "conditions", "record")}
    call = next(a for a in body["steps"][1] if a["type"] == "call")
    body["steps"][1] += [{"type": "wait", "role": "callee", "wait_calls": CALLS, "wait_ms": 3600000}]
    body["steps"].append([call])
    bench.api("PUT", f"/tests/{made}", body)
    return made


def run_of(bench, test_id, overrides=None):
    session = bench.start(test_id, overrides)
    bench.wait(session, timeout=120)
    run = bench.api("GET", f"/runs/{session}")["run"]
    calls = [c for c in bench.report(session)["calls"] if c["role"] == "caller"]
    return run, calls


def test_enough_calls_end_a_run(bench, test_id):
    """All calls end as they would have: none is cut off, and nothing of it counts as a failure."""
    run, calls = run_of(bench, test_id)
    assert run["status"] == "passed", run
    assert run["result_description"] == ENOUGH
    assert 20 <= len(calls) < CALLS
    assert all(c["established"] and c["end"] == "local" for c in calls)
    assert not [v for v in run["verdicts"] if "all calls are placed" in v["text"]]


def test_a_condition_that_fails_ends_a_run(bench, test_id):
    run, calls = run_of(bench, test_id, {"step.1.1.dial_destination": "9999"})
    assert run["status"] == "failed", run
    assert "caller: the answer-seizure ratio is not at least 80 %: 0.00 % over " in run["result_description"]
    assert run["result_description"].endswith("; " + ENOUGH)
    assert len(calls) < CALLS

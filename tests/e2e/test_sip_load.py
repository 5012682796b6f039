"""A thousand accounts registered through the proxy, and calls between them."""
import pytest

from bench import Bench, assert_no_flaws, state_condition
from engine import Engine
from engine import target as registrar
from ports import PortBlock
from sip_peer import SipPeer

ACCOUNTS = 1000
CALLS = 200
USERS = {str(n): f"pw-{n}" for n in range(20000, 20000 + ACCOUNTS)}
CALLERS = dict(list(USERS.items())[:ACCOUNTS // 2])
CALLEES = dict(list(USERS.items())[ACCOUNTS // 2:])


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    folder, ports = tmp_path_factory.mktemp("load"), PortBlock()
    with Bench(folder, ports, subscribers=USERS, max_duration_s=170) as bench:
        callers = bench.credentials("many callers", CALLERS)
        callees = bench.credentials("many callees", CALLEES)
        target = bench.target_id
        test = bench.api("POST", "/tests", {
            "name": "thousand", "project_id": bench.project_id, "scenario": "load",
            "agentpool_id": bench.pool_id, "record": "none",
            "steps": [
                [{"type": "register", "role": "callee", "target_pool": target,
                  "credential_pool": callees, "calls_per_second": 100},
                 {"type": "answer", "role": "callee"},
                 {"type": "register", "role": "caller", "target_pool": target,
                  "credential_pool": callers, "calls_per_second": 100}],
                [{"type": "call", "role": "caller", "max_total_calls": CALLS,
                  # both legs have their media here, for a moment longer than the call:
                  # 80 ports are enough for 20 calls
                  "max_concurrent_calls": 14, "calls_per_second": 12, "call_duration": "1",
                  "dial_destination": "{{callee.username}}"}],
                [{"type": "unregister", "role": "caller"}]],
            "conditions": [
                state_condition("caller", "REGISTER_OK"),
                state_condition("callee", "REGISTER_OK")]})["test"]["id"]
        run, report = bench.run(test, timeout=200)
        yield bench, run, report
    ports.close()


def test_all_are_registered_and_all_calls_set_up(load):
    _, run, report = load
    assert run["status"] == "passed", run["result_description"]
    assert_no_flaws(report)
    assert {r["account"] for r in report["registrations"] if r["ok"]} == set(USERS)
    assert all(r["ok"] for r in report["registrations"])
    for role, users in (("caller", CALLERS), ("callee", CALLEES)):
        calls = [c for c in report["calls"] if c["role"] == role]
        assert len(calls) == CALLS
        assert all(c["established"] for c in calls), [c for c in calls if not c["established"]][0]
        assert {c["end"] for c in calls} == {"local" if role == "caller" else "remote"}
        # in turn: 200 different accounts on both sides
        assert len({c["account"] for c in calls}) == CALLS
        assert {c["account"] for c in calls} <= set(users)


def test_registrations_keep_to_their_rate(load):
    """calls_per_second is a ceiling: 500 at 100/s take 4.99 s at least."""
    _, _, report = load
    for role in ("caller", "callee"):
        times = sorted(r["mono"] for r in report["registrations"] if r["role"] == role)
        assert times[-1] - times[0] > 4.5e9, (times[0], times[-1])


def test_stopped_in_a_storm(build, ports):
    """The registrar stops answering, and the run is stopped. The engine ends by itself
    before the supervisor would kill it (cancel_s, 30 s), however many bindings there
    are."""
    taken, silent = set(), []

    def answer(request):
        if silent or (len(taken) == ACCOUNTS and request.header("call-id") not in taken):
            return None
        taken.add(request.header("call-id"))
        return request.registered()

    storm = {"type": "register", "target": registrar("127.0.0.1", ports.sip), "regexpire": 600,
             "credentials": [{"username": f"u{n}", "password": "x"} for n in range(ACCOUNTS + 500)]}
    with SipPeer(ports.sip, answer), Engine(build, "caller", [[storm]], ports) as engine:
        engine.go(0)
        engine.until(lambda: engine.states().count("REGISTER_OK") == ACCOUNTS, "the half is there")
        silent.append(True)
        engine.cancel()
        engine.until(lambda: engine.finish, "the job ends", patience=30)
    assert engine.finish["outcome"] == "stopped", engine.finish
    assert engine.states().count("UNREGISTERING") >= 100

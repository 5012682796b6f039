"""A job that the supervisor divides over several engines, against a scripted controller and scripted engines."""
import json
import os
import time

import pytest
from test_agent_protocol import agent, controller, finished, runs, spool_empty, states  # noqa: F401 fixtures

CALL = {'type': 'call', 'index': 0, 'dial_destination': '1', 'max_total_calls': 40, 'max_concurrent_calls': 200,
        'calls_per_second': 10, 'credentials': [{'username': '1001'}],
        'target': {'hosts': [{'host': '127.0.0.1', 'port': 5060}]}}
T = 1700000000


def large(fake, **more):
    return {'attempt': 1, 'record': 'none', 'interval_s': 10, 'session_id': '0a1b2c3d-0000-4000-8000-000000000001',
            'steps': [[CALL]], 'fake': fake, **more}


def series(lease):
    return lease.items('stats', 'series')


def dumps(dump):
    return [json.loads(path.read_text()) for path in sorted(dump.parent.glob(dump.name + '*'))]


def test_each_engine_has_its_share_of_the_job(controller, agent, tmp_path):
    dump = tmp_path / 'dump'
    lease = controller.offer('l-1', spec=large([], dump=str(dump)))
    agent.start(engines=4)
    assert finished(controller, lease)['outcome'] == 'completed'
    found = dumps(dump)
    assert [d['job']['share'] for d in found] == [{'index': k, 'of': 4} for k in range(4)]
    assert len({d['pid'] for d in found}) == 4
    jobs = [{**d['job'], 'share': None} for d in found]
    assert jobs == [jobs[0]] * 4
    # one step for all of them: one barrier, and one time at which they begin
    assert len([r for r in controller.requests if '/barriers/' in r.path]) == 1
    begins = [e for e in lease.items('events', 'events') if e['state'] == 'STEP_0']
    assert len(begins) == 4 and len({e['at_ns'] for e in begins}) == 1
    spool_empty(controller, agent)


@pytest.mark.parametrize('conf,call', [
    ({'engines': 1}, {}),
    ({'engines': 4, 'sip_port': 5060, 'capacity': 1}, {}),
    ({'engines': 4}, {'max_concurrent_calls': 199}),
    ({'engines': 4}, {'max_concurrent_calls': 'many'}),
])
def test_other_jobs_have_one_engine(controller, agent, tmp_path, conf, call):
    dump = tmp_path / 'dump'
    lease = controller.offer('l-1', spec=large([], dump=str(dump), steps=[[{**CALL, **call}]]))
    agent.start(**conf)
    assert finished(controller, lease)['outcome'] == 'completed'
    [only] = dumps(dump)
    assert 'share' not in only['job']
    assert 'at_ns' not in lease.items('events', 'events')[0]


@pytest.mark.parametrize('processors', [1, None])
def test_one_engine_a_processor_by_default(controller, agent, tmp_path, processors):
    dump, before = tmp_path / 'dump', os.sched_getaffinity(0)
    lease = controller.offer('l-1', spec=large([], dump=str(dump)))
    os.sched_setaffinity(0, sorted(before)[:processors])
    try:
        agent.start()
        assert finished(controller, lease)['outcome'] == 'completed'
    finally:
        os.sched_setaffinity(0, before)
    assert len(dumps(dump)) == min(8, processors or len(before))


def test_points_of_the_engines_become_one(controller, agent):
    lease = controller.offer('l-1', spec=large([
        [0, 'of', k, 'points', 'sip_pdd', [[T, 10 + k], [T + 10, 20]], T + 10] for k in range(4)] + [
        # calls of a second are added up
        [0, 'of', k, 'line', json.dumps({'type': 'stats', 'series': [
            {'second': 5, 'in': None, 'out': [3, 0.5]}]})] for k in range(3)]))
    agent.start(engines=4)
    finished(controller, lease)
    got = {(p['measure'], p['t']): p for p in series(lease)}
    assert len(got) == len(series(lease)) == 4
    first = got['sip_pdd', T]
    assert (first['n'], first['min'], first['max'], first['avg']) == (4, 10, 13, 11.5)
    assert abs(first['stddev'] - 1.25 ** 0.5) < 1e-9
    assert got['sip_pdd', T + 10]['n'] == 4
    [active] = [p for p in series(lease) if p['measure'] == 'calls_active']
    assert (active['n'], active['avg'], active['role'], active['dir']) == (1, 9, 'caller', 'out')
    assert [e for e in lease.items('events', 'events') if e['kind'] == 'flaw'] == []


@pytest.mark.parametrize('act,outcome,reason', [
    (['die', 'SIGKILL'], 'error', 'engine process 3 of 4 died: signal 9 (Killed)'),
    (['exit', 3], 'error', 'engine process 3 of 4 died: exited with status 3'),
    (['garbage'], 'error', 'engine process 3 of 4 died: signal 9 (Killed), after it broke the protocol'),
    (['finish', 'failed', 'no way'], 'failed', 'no way'),
    (['finish', 'error', 'my fault'], 'error', 'my fault'),
])
def test_one_engine_ends_the_job_for_all(controller, agent, act, outcome, reason):
    lease = controller.offer('l-1', spec=large(
        [[0, 'of', 2, 'sleep', 0.5], [0, 'of', 2, *act]] + [[0, 'until_cancel']]))
    agent.start(engines=4)
    finish = finished(controller, lease)
    assert (finish['outcome'], finish['reason']) == (outcome, reason)
    # the others were told, and what they had was taken
    assert states(lease).count('CANCELLED') == 3
    spool_empty(controller, agent)


def test_others_that_hang_are_killed(controller, agent):
    lease = controller.offer('l-1', spec=large(
        [[0, 'of', 2, 'die', 'SIGKILL'], [0, 'of', 0, 'hang'], [0, 'until_cancel']]))
    agent.start(engines=4)
    finish = finished(controller, lease)
    assert finish['outcome'] == 'error'
    assert finish['reason'] == 'engine process 3 of 4 died: signal 9 (Killed)'
    assert states(lease).count('CANCELLED') == 2


def test_cancel_reaches_all_engines(controller, agent):
    lease = controller.offer('l-1', spec=large([[0, 'until_cancel']]))
    agent.start(engines=4)
    controller.wait(lambda: states(lease).count('STEP_0') == 4, what='all run')
    lease.command = 'cancel'
    assert finished(controller, lease)['outcome'] == 'stopped'
    assert states(lease).count('CANCELLED') == 4


def test_enough_reaches_all_engines_once(controller, agent):
    """The command is in each answer; an engine that is told a second time would not take it for a go."""
    lease = controller.offer('l-1', spec=large([[0, 'until_enough', 3]]))
    agent.start(engines=4)
    controller.wait(lambda: states(lease).count('STEP_0') == 4, what='all run')
    lease.command = 'enough'
    assert finished(controller, lease)['outcome'] == 'completed'
    assert states(lease).count('ENOUGH') == 4


def test_points_are_there_once_after_sigkill(controller, agent, tmp_path):
    """The supervisor is killed when one interval is with all engines over, and another one not yet."""
    dump = tmp_path / 'dump'
    lease = controller.offer('l-1', spec=large([
        [0, 'of', k, 'points', 'sip_pdd', [[T, 10 + k], [T + 10, 20]], T + (20 if k else 10)] for k in range(4)] + [
        [0, 'until_cancel']], dump=str(dump)))
    controller.script['/leases/l-1/stats'] = [(503, None)] * 100
    agent.start(engines=4)
    controller.wait(lambda: controller.calls('/leases/l-1/stats'), what='an upload of points')
    agent.kill()
    assert series(lease) == []
    pids = [d['pid'] for d in dumps(dump)]
    controller.script['/leases/l-1/stats'] = []
    agent.start(engines=4)
    finish = finished(controller, lease)
    assert finish['outcome'] == 'error'
    assert finish['reason'] == 'the agent was restarted while the job was running'
    assert [(p['measure'], p['t'], p['n']) for p in series(lease)] == [('sip_pdd', T, 4)]
    # nobody goes on without the supervisor
    end = time.monotonic() + 10
    while any(runs(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(runs(pid) for pid in pids)
    spool_empty(controller, agent)

"""The way of an engine's results through the agent to the body of the upload: unchanged, or refused."""
import json

import pytest
from test_agent_protocol import agent, controller, finished, spool_empty, states  # noqa: F401 fixtures

# Valid JSON that nobody of ours prints like this: an upload that was parsed and printed again would show.
UNUSUAL = r'[{"kind":"state","state":"\u0041","x":1.50e1,"y":[ ]},{"kind":"state","state":"B"}]'


def test_results_travel_as_the_engine_wrote_them(controller, agent):
    lease = controller.offer('results', 1, {'fake': [
        [0, 'line', '{"type":"events","events":%s}' % UNUSUAL],
        # other members, another order: parsed and printed
        [0, 'line', '{"type":"events","events":[{"state":"C"}],"more":1}'],
        [0, 'line', '{ "events":[{"state":"\\u0044"}],"type":"events"}']]})
    agent.start()
    controller.wait(lambda: lease.finish, what='finish')
    assert lease.finish['outcome'] == 'completed'
    raw = [r.raw.decode() for r in controller.calls('/leases/results/events')]
    # the first and the last are the fake engine's own, of its steps
    assert raw[1:-1] == ['{"seq":2,"events":%s}' % UNUSUAL, '{"seq":3,"events":[{"state":"C"}]}',
                         '{"seq":4,"events":[{"state":"D"}]}']


@pytest.mark.parametrize('line', [
    '{"type":"events","events":[{"state":"A"},]}',
    '{"type":"events","events":[{"state":"A"}]]}',
    '{"type":"events","events":[{"state":"A","state":"B"}]}',
    '{"type":"events","events":[1],"events":[2]}',
    '{"type":"events","events":["\\ud800"]}',
])
def test_malformed_results_end_the_job(controller, agent, line):
    lease = controller.offer('malformed', 1, {'fake': [[0, 'line', line], [0, 'sleep', 60]]})
    agent.start()
    controller.wait(lambda: lease.finish, what='finish')
    assert lease.finish['outcome'] == 'error'
    assert states(lease) == ['STEP_0']


def test_what_no_upload_can_hold_is_dropped_and_named(controller, agent):
    lease = controller.offer('l-1', spec={'fake': [
        [0, 'sip', 1, 1100000], [0, 'stats', 3], [0, 'sip', 2, 1000]]})
    agent.start()
    finished(controller, lease, 60)
    assert len(lease.items('sip', 'messages')) == 2
    assert len(lease.items('stats', 'series')) == 3
    flaws = [e for e in lease.items('events', 'events') if e['kind'] == 'flaw']
    assert [(f['name'], f['count']) for f in flaws] == [('record_too_long', 1)]
    assert '1 MiB' in flaws[0]['text']


def test_missing_uploads_are_not_sent_for_ever(controller, agent):
    """A controller that never has enough: the results are given up, and the agent goes on."""
    lease = controller.offer('l-1', spec={'fake': [[0, 'stats', 1]]})
    controller.script['/leases/l-1/finish'] = [(409, {'missing': [[1, 1]]})] * 100
    agent.start()
    controller.wait(lambda: len(controller.calls('/leases/l-1/finish')) == 20)
    spool_empty(controller, agent)
    assert len(controller.calls('/leases/l-1/finish')) == 20
    assert lease.finish is None
    assert 'lease l-1: the finish was refused' in agent.text()
    second = controller.offer('l-2')
    assert finished(controller, second)['outcome'] == 'completed'


@pytest.mark.parametrize('length,taken', [(8 << 20, True), ((8 << 20) + 1, False)])
def test_answer_above_the_ceiling(controller, agent, length, taken):
    """A poll whose answer is too long failed, and is made again."""
    answer = {'cursor': '', 'jobs': [], 'more': ''}
    answer['more'] = 'x' * (length - len(json.dumps(answer)))
    controller.script['/poll'] = [(200, answer)]
    agent.start()
    lease = controller.offer('l-1')
    controller.wait(lambda: len(controller.calls('/poll')) >= 2)
    assert ('/agent/poll: ' in agent.text()) != taken
    assert finished(controller, lease)['outcome'] == 'completed'

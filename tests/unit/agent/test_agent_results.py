"""The way of an engine's results through the agent to the body of the upload: unchanged, or refused."""
import pytest
from test_agent_protocol import agent, controller, states  # noqa: F401 fixtures

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

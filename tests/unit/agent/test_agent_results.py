"""The way of an engine's results through the agent to the body of the upload: unchanged, or refused."""
import hashlib
import json
import resource
import threading

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


class HeldBack:
    """The first answer to each of these requests waits until it is released."""

    def __init__(self, controller, *paths):
        self.controller, self.released = controller, threading.Event()
        controller.intervals = {'poll_s': 1, 'renew_s': 7200, 'lease_s': 86400}
        for path in paths:
            controller.script[path] = [self]

    def __call__(self, request):
        self.released.wait(120)
        with self.controller.lock:
            return self.controller.on_lease(request)


def without_descriptors(controller, agent, lease, held):
    """The agent can open nothing while the answer comes, and again when it has noticed."""
    _, most = resource.prlimit(agent.process.pid, resource.RLIMIT_NOFILE)
    before = resource.prlimit(agent.process.pid, resource.RLIMIT_NOFILE, (3, most))
    held.released.set()
    controller.wait(lambda: 'no upload: Too many open files' in agent.text() or lease.finish,
                    what='shortage of descriptors')
    resource.prlimit(agent.process.pid, resource.RLIMIT_NOFILE, before)
    assert finished(controller, lease)['outcome'] == 'completed'
    spool_empty(controller, agent)


def test_shortage_of_descriptors_loses_no_result(controller, agent):
    """The uploads of the next segment of the spool wait until it can be opened."""
    held = HeldBack(controller, '/leases/l-1/sip')
    lease = controller.offer('l-1', spec={'fake': [[0, 'sip', 1, 200000]] * 12})
    agent.start()
    segments = agent.state / 'spool' / 'l-1'
    controller.wait(lambda: controller.calls('/leases/l-1/sip'), what='upload')
    controller.wait(lambda: 'lease=l-1: completed' in agent.text(), what='outcome')
    assert len(list(segments.iterdir())) > 2
    without_descriptors(controller, agent, lease, held)
    assert len(lease.items('sip', 'messages')) == 12
    assert 'flaw' not in [e['kind'] for e in lease.items('events', 'events')]
    assert agent.text().count('no upload: ') == 1


def test_shortage_of_descriptors_loses_no_artifact(controller, agent):
    """The finish waits for the second one, which is looked for while the folder cannot be opened."""
    paths = ['/leases/l-1/artifacts/one', '/leases/l-1/artifacts/two']
    held = HeldBack(controller, *paths)
    lease = controller.offer('l-1', spec={'fake': [[0, 'file', 'one', 10], [0, 'file', 'two', 20]]})
    agent.start()
    controller.wait(lambda: 'lease=l-1: completed' in agent.text(), what='outcome')
    controller.wait(lambda: any(controller.calls(path) for path in paths), what='artifact')
    assert sorted(p.name for p in (agent.state / 'artifacts' / 'l-1').iterdir()) == ['one', 'two']
    without_descriptors(controller, agent, lease, held)
    assert sorted(lease.artifacts) == ['one', 'two']
    assert states(lease) == ['STEP_0', 'STEP_1']
    assert agent.text().count('no upload: ') == 1


def test_recordings_of_results_that_cannot_be_read_stay(controller, agent):
    """The log says so, and its reader may keep both for a report. Without results a recording has no run: it goes."""
    agent.start()
    controller.wait(lambda: controller.calls('/poll'), what='poll')
    agent.kill()
    for lease in ('lasting', 'gone'):
        (agent.state / 'artifacts' / lease).mkdir(parents=True)
        (agent.state / 'artifacts' / lease / 'a.wav').write_bytes(b'RIFF')
    (agent.state / 'spool' / 'lasting' / '00000001.seg').mkdir(parents=True)  # no segment can be read from it
    agent.start()
    controller.wait(lambda: not (agent.state / 'artifacts' / 'gone').exists(), what='recovery')
    assert '/spool/lasting: cannot be recovered: ' in agent.text()
    assert (agent.state / 'artifacts' / 'lasting' / 'a.wav').read_bytes() == b'RIFF'


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


@pytest.mark.parametrize('length,taken', [(64 << 20, True), ((64 << 20) + 1, False)])
def test_prompt_above_the_ceiling(controller, agent, length, taken):
    prompt = bytes(length)
    controller.intervals['lease_s'] = 600  # sanitizers are slow with so much
    name = hashlib.sha256(prompt).hexdigest()
    controller.script[f'/appimages/{name}'] = [(200, prompt)]
    lease = controller.offer('l-1', spec={'steps': [[{'prompt_sha256': name}]]})
    agent.start()
    finish = finished(controller, lease, 60)
    assert finish['outcome'] == ('completed' if taken else 'error'), finish
    assert taken or finish['reason'] == (
        'role caller: a prompt cannot be fetched from the controller: it is longer than 64 MiB')
    assert len(controller.calls(f'/appimages/{name}')) == 1
    assert [p.name for p in (agent.state / 'prompts').iterdir()] == [name] * taken


def test_as_many_jobs_as_an_agent_has(controller, agent):
    """Their results are not taken: they stay, and at 256 jobs the agent asks for no more. It asks
    for none that it would not take."""
    controller.intervals = {'poll_s': 1, 'renew_s': 7200, 'lease_s': 86400}
    for i in range(257):
        controller.offer(f'l-{i}', spec={'steps': [[{'prompt_sha256': 'a' * 64}]]})
        controller.script[f'/leases/l-{i}/finish'] = [(503, {'detail': 'later'})] * 100
    controller.script['/appimages/' + 'a' * 64] = [(404, {'detail': 'no such prompt'})] * 257
    agent.start(capacity=50)
    controller.wait(lambda: sum(len(p.body['leases']) == 256 for p in controller.calls('/poll')) > 1,
                    60, 'polls with as many jobs')
    agent.kill()
    assert [lease.offered for lease in controller.leases.values()].count(False) == 1
    assert 'this agent has no room' not in agent.text()
    for poll in controller.calls('/poll'):
        assert len(poll.body['leases']) + poll.body['free'] <= 256

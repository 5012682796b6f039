"""How long the agent waits for a controller that does not answer, and for an engine that does not
end. Its clock is put forward to each limit."""
import contextlib
import hashlib
import pathlib
import socket
import sys
import threading
import time

import pytest
from test_agent_protocol import agent, controller, finished, spool_empty, states  # noqa: F401 fixtures

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'e2e'))
from program_clock import Clock  # noqa: E402

PROMPT = b'RIFF'
HASH = hashlib.sha256(PROMPT).hexdigest()
LOOK_S = 0.3  # until the agent has seen that time has passed


@pytest.fixture
def clock(tmp_path):
    return Clock(tmp_path)


class Held:
    """A request that is not answered, until the agent gives it up."""

    def __init__(self, clock):
        self.clock = clock
        self.began = self.ended = None

    def __call__(self, request):
        self.began = self.clock.now()
        request.connection.settimeout(60)
        try:
            if request.connection.recv(1, socket.MSG_PEEK) == b'':
                self.ended = self.clock.now()
        except ConnectionError:
            self.ended = self.clock.now()
        return None


def given_up_after(controller, clock, held, limit):
    """Not before the limit, but then."""
    controller.wait(lambda: held.began, what='request')
    clock.let_pass(limit - limit // 4)
    time.sleep(LOOK_S)
    clock.let_pass(limit // 4 + 1)
    controller.wait(lambda: held.ended, what='end of the request')
    assert held.ended - held.began >= limit


def patient(controller):
    """No lease is lost and none renewed in the time that passes."""
    controller.intervals = {'poll_s': 1, 'renew_s': 7200, 'lease_s': 86400}


@pytest.mark.parametrize('path, limit, fake', [
    ('/register', 30, []),
    ('/poll', 21, []),
    ('/leases/l-1/start', 30, []),
    ('/leases/l-1/barriers/0', 40, []),
    ('/leases/l-1/stats', 60, [[0, 'stats', 1]]),
    ('/leases/l-1/finish', 60, []),
    ('/leases/l-1/artifacts/one', 600, [[0, 'file', 'one', 10]]),
    (f'/appimages/{HASH}', 600, [])],
    ids=['enrolment', 'poll', 'start', 'barrier', 'statistics', 'finish', 'file', 'prompt'])
def test_request_without_an_answer_is_repeated(controller, agent, clock, path, limit, fake):
    patient(controller)
    held = Held(clock)
    controller.script[path] = [held]
    spec = {'fake': fake}
    if path.startswith('/appimages'):
        spec['steps'] = [[{'prompt_sha256': HASH}]]
        controller.script[path].append((200, PROMPT))
    lease = controller.offer('l-1', spec=spec)
    agent.start(env=clock.environment())
    given_up_after(controller, clock, held, limit)
    clock.let_pass(60)  # the longest pause before it is tried again
    assert finished(controller, lease)['outcome'] == 'completed'
    assert len(controller.calls(path)) >= 2
    spool_empty(controller, agent)


def test_start_is_asked_for_again_within_a_short_lease(controller, agent, clock):
    """An answer after lease_s would leave nothing of the lease: the calls would end as soon as they began."""
    controller.intervals = {'poll_s': 1, 'renew_s': 7200, 'lease_s': 4}
    passed = threading.Event()

    def late(request):
        passed.wait(60)
        request.connection.settimeout(15)
        with contextlib.suppress(OSError):
            request.connection.recv(1, socket.MSG_PEEK)  # until the agent gives it up
        return 200, {}
    controller.script['/leases/l-1/start'] = [late]
    lease = controller.offer('l-1')
    agent.start(env=clock.environment())
    controller.wait(lambda: controller.calls('/leases/l-1/start'), what='start')
    clock.let_pass(5)
    passed.set()
    assert finished(controller, lease)['outcome'] == 'completed'
    spool_empty(controller, agent)


def test_lease_that_expires_while_a_prompt_is_fetched(controller, agent, clock):
    """The prompt comes after all, but no engine gets the job: the controller may have given it to another agent."""
    controller.script['/leases/l-1'] = [(503, {'detail': 'later'})] * 1000
    passed = threading.Event()

    def late(request):
        passed.wait(60)
        request.connection.settimeout(15)
        with contextlib.suppress(OSError):
            request.connection.recv(1, socket.MSG_PEEK)  # until the agent gives it up
        return 200, PROMPT
    path = f'/appimages/{HASH}'
    controller.script[path] = [late]
    lease = controller.offer('l-1', spec={'steps': [[{'prompt_sha256': HASH}]]})
    agent.start(env=clock.environment())
    controller.wait(lambda: controller.calls(path), what='prompt')
    clock.let_pass(5)
    passed.set()
    finish = finished(controller, lease)
    assert (finish['outcome'], finish['reason']) == (
        'error', 'the agent could not renew its lease for 4 s, so it did not begin the calls')
    assert states(lease) == []
    spool_empty(controller, agent)


def test_results_that_are_never_read_again_do_not_hold_the_job(controller, agent, clock):
    """What a disk does not give back is given up after a while, all of it, and the report says so."""
    patient(controller)
    held = threading.Event()

    def first(request):
        held.wait(120)
        with controller.lock:
            return controller.on_lease(request)
    controller.script['/leases/l-1/sip'] = [first]
    lease = controller.offer('l-1', spec={'fake': [[0, 'sip', 1, 200000]] * 12})
    agent.start(env=clock.environment())
    controller.wait(lambda: 'lease=l-1: completed' in agent.text(), what='outcome')
    controller.wait(lambda: controller.calls('/leases/l-1/sip'), what='upload')
    for path in list((agent.state / 'spool' / 'l-1').iterdir()):
        path.unlink()
        path.symlink_to(path)  # an error that is neither a shortage nor an absence
    held.set()
    controller.wait(lambda: 'no upload: Too many levels of symbolic links' in agent.text(), what='failure')
    assert lease.finish is None
    for _ in range(100):
        if lease.finish:
            break
        clock.let_pass(6)
        time.sleep(LOOK_S)
    assert finished(controller, lease)['outcome'] == 'completed'
    flaws = [e['name'] for e in lease.items('events', 'events') if e['kind'] == 'flaw']
    assert flaws and set(flaws) == {'upload_lost'}
    assert agent.text().count('no upload: ') == 1
    spool_empty(controller, agent)


def test_disconnect_without_an_answer(controller, agent, clock):
    held = Held(clock)
    controller.script['/disconnect'] = [held]
    agent.start(env=clock.environment())
    controller.wait(lambda: controller.calls('/poll'), what='poll')
    agent.term()
    given_up_after(controller, clock, held, 5)
    assert agent.wait() == 0
    assert len(controller.calls('/disconnect')) == 1
    assert 'disconnect from the controller failed' in agent.text()


def test_engine_beyond_the_longest_duration(controller, agent, clock):
    patient(controller)
    lease = controller.offer('l-1', spec={'fake': [[0, 'until_cancel']], 'max_duration_s': 100})
    agent.start(env=clock.environment())
    controller.wait(lambda: 'STEP_0' in states(lease), what='step')
    clock.let_pass(130)
    time.sleep(LOOK_S)
    assert lease.finish is None and 'CANCELLED' not in states(lease)
    clock.let_pass(31)
    finish = finished(controller, lease)
    assert finish['outcome'] == 'error'
    assert finish['reason'] == 'the engine did not end the job at its longest duration'
    assert 'CANCELLED' in states(lease)


def test_engine_that_stays_after_its_last_result(controller, agent, clock):
    patient(controller)
    lease = controller.offer('l-1', spec={'fake': [
        [0, 'line', '{"type":"finish","outcome":"completed","reason":""}'], [0, 'hang']]})
    agent.start(env=clock.environment())
    assert finished(controller, lease)['outcome'] == 'completed'
    clock.let_pass(5)
    time.sleep(LOOK_S)
    assert agent.spools() == ['l-1']
    clock.let_pass(6)
    spool_empty(controller, agent)

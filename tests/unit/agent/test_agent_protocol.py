"""The agent's supervisor against a scripted controller and a scripted engine."""
import json
import os
import pathlib
import signal
import socket
import stat
import subprocess
import time

import pytest

from fake_controller import Controller

HERE = pathlib.Path(__file__).parent
AGENT = os.path.join(os.environ['OFFHOOK_BUILD'], 'offhook-agent')


class Agent:
    def __init__(self, tmp_path, controller):
        self.dir = tmp_path
        self.state = tmp_path / 'state'
        self.conf = {'controller': controller.url, 'name': 'tester',
                     'join_token': controller.token,
                     'state_dir': str(self.state), 'capacity': 2,
                     'engine_program': str(HERE / 'fake_engine.py'),
                     'stop_s': 10, 'cancel_s': 2, 'log_level': 'debug'}
        self.process = None
        self.log = open(tmp_path / 'log', 'w+b')

    def write(self, **changes):
        self.conf.update(changes)
        path = self.dir / 'agent.conf'
        path.write_text(''.join('%s = "%s"\n' % kv for kv in self.conf.items()
                                if kv[1] is not None))
        return str(path)

    def start(self, *args, env=None, **changes):
        self.process = subprocess.Popen(
            [AGENT, '--config', self.write(**changes), *args],
            stdout=self.log, stderr=self.log, env=dict(os.environ, **env or {}))
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()

    def term(self):
        self.process.send_signal(signal.SIGTERM)

    def wait(self, timeout=30):
        return self.process.wait(timeout)

    def text(self):
        return (self.dir / 'log').read_text()

    def spools(self):
        return sorted(p.name for p in (self.state / 'spool').iterdir())

    def close(self):
        if self.process and self.process.poll() is None:
            self.term()
            self.term()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError('the agent does not stop')
        text = self.text()
        print(text)
        for sign in ('Sanitizer', 'runtime error'):
            assert sign not in text


@pytest.fixture
def controller():
    c = Controller()
    yield c
    c.close()


@pytest.fixture
def agent(tmp_path, controller):
    a = Agent(tmp_path, controller)
    yield a
    a.close()


def states(lease):
    return [e.get('state') for e in lease.items('events', 'events')]


def finished(controller, lease, timeout=90):
    """Wait until the finish was accepted."""
    def accepted():
        f = lease.finish
        return f and all(s in lease.uploads
                         for s in range(1, f['last_seq'] + 1)) and f
    return controller.wait(accepted, timeout, 'finish')


def spool_empty(controller, agent):
    controller.wait(lambda: agent.spools() == [], 10, 'spool removed')


# ---- enrolment ----

def test_enrol_keeps_credentials_private(controller, agent):
    agent.start(labels='site=lab,isp=x')
    controller.wait(lambda: controller.calls('/poll'), what='poll')
    body = controller.calls('/register')[0].body
    assert body['token'] == 'good-token'
    assert body['name'] == 'tester'
    assert body['protocols'] == [1]
    assert body['capacity'] == 2
    assert {'site=lab', 'isp=x'} <= set(body['features'])
    assert controller.calls('/register')[0].auth is None
    path = agent.state / 'credentials'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(agent.state.stat().st_mode) == 0o700
    assert json.loads(path.read_text()) == {
        'agent_id': 'agent-1', 'secret': 'secret-of-agent-1'}
    agent.term()
    assert agent.wait() == 0
    assert controller.calls('/disconnect')
    # the second start needs no token, and does not register again
    agent.start(join_token=None)
    polls = len(controller.calls('/poll'))
    controller.wait(lambda: len(controller.calls('/poll')) > polls)
    assert len(controller.calls('/register')) == 1
    assert 'good-token' not in agent.text()
    assert 'secret-of' not in agent.text()


@pytest.mark.parametrize('status,word', [(403, 'join token is wrong'),
                                         (409, 'name is taken'),
                                         (426, 'update the agent')])
def test_enrol_refused_is_final(controller, agent, status, word):
    controller.script['/register'] = [(status, {'detail': 'no, thanks'})]
    agent.start()
    assert agent.wait() == 3
    assert word in agent.text() and 'no, thanks' in agent.text()
    assert len(controller.calls('/register')) == 1


def test_enrol_without_token_says_so(controller, agent):
    agent.start(join_token=None)
    assert agent.wait() == 3
    assert 'join_token' in agent.text()


def test_enrol_token_from_file_and_command_line(controller, agent, tmp_path):
    (tmp_path / 'token').write_text('bad\n')
    agent.start('--join-token', 'good-token', join_token=None,
                join_token_file=str(tmp_path / 'token'))
    controller.wait(lambda: controller.calls('/poll'), what='poll')
    cmdline = pathlib.Path('/proc/%d/cmdline' % agent.process.pid)
    if os.path.exists('/proc/self'):  # without it nobody can look either
        assert b'good-token' not in cmdline.read_bytes()


def test_deleted_agent_enrols_again_and_drops_its_jobs(controller, agent):
    lease = controller.offer('l-1', spec={'fake': [[0, 'until_cancel']]})
    agent.start()
    controller.wait(lambda: 'STEP_0' in states(lease))
    controller.agents['agent-1'] = None
    controller.wait(lambda: len(controller.calls('/register')) == 2)
    controller.wait(lambda: controller.calls('/poll') and
                    controller.agent(controller.calls('/poll')[-1]) == 'agent-2')
    assert 'does not know agent agent-1 (401)' in agent.text()
    spool_empty(controller, agent)


def test_deleted_agent_without_token_ends(controller, agent):
    agent.start()
    controller.wait(lambda: controller.calls('/poll'))
    agent.term()
    assert agent.wait() == 0
    controller.agents.clear()
    agent.start(join_token=None)
    assert agent.wait() == 3
    assert '(401)' in agent.text()


# ---- a job ----

def test_job_from_offer_to_finish(controller, agent, tmp_path):
    dump = tmp_path / 'dump'
    lease = controller.offer('l-1', steps=2, spec={
        'dump': str(dump), 'fake': [
            [0, 'stats', 3], [0, 'sip', 2, 10], [1, 'progress', 0.5],
            [1, 'sleep', 1.5], [1, 'events', 2]]})
    agent.start(bind='127.0.0.3', rtp_min=30000, rtp_max=30100,
                default_prompt='a.wav')
    finish = finished(controller, lease)
    assert finish['outcome'] == 'completed' and finish['reason'] == ''
    assert lease.started == 1
    assert states(lease) == ['STEP_0', 'STEP_1', 'E0', 'E1', 'STEP_2']
    assert len(lease.items('stats', 'series')) == 3
    assert [m['data'] for m in lease.items('sip', 'messages')] == ['x' * 10] * 2
    assert sorted(lease.uploads) == list(range(1, finish['last_seq'] + 1))
    assert [r.body for r in controller.calls('/leases/l-1/barriers/0')] == [
        {'ready': True}]
    assert controller.calls('/leases/l-1/barriers/1')
    renewals = controller.calls('/leases/l-1', 'PUT')
    assert renewals and renewals[0].body['state'] == 'running'
    assert 0.5 in [r.body['progress'] for r in renewals]
    spool_empty(controller, agent)
    info = json.loads(dump.read_text())
    assert info['job']['engine'] == {
        'bind': '127.0.0.3', 'sip_port': 0, 'rtp_min': 30000, 'rtp_max': 30100,
        'prompt_dir': '/usr/share/offhook/prompts', 'prompt_cache': f'{agent.state}/prompts',
        'artifact_dir': f'{agent.state}/artifacts/l-1', 'media_scheduling': 'auto',
        'tls_certificates': '/etc/offhook/certificates', 'srtp_library': 'builtin',
        'default_prompt': 'a.wav', 'sandbox': 'on', 'saturation': dict(throttled=0,
            send_lateness_ms=20, loop_lateness_ms=100, share_pct=1, clock_step_ms=0, steal_pct=0)}
    # standard streams and its socket; signals as a program expects them
    assert info['fds'] == [0, 1, 2, 3]
    assert info['blocked'] == info['ignored'] == []
    # the lease was held, and is not any more
    held = [r.body['leases'] for r in controller.calls('/poll')]
    assert ['l-1'] in held
    controller.wait(lambda: controller.calls('/poll')[-1].body['leases'] == [])
    assert controller.calls('/poll')[-1].body['free'] == 2
    assert abs(controller.calls('/poll')[-1].body['t'] / 1e6 - time.time()) < 60


def test_job_never_more_than_capacity(controller, agent):
    leases = [controller.offer('l-%d' % i, spec={'fake': [[0, 'sleep', 0.5]]})
              for i in range(5)]
    agent.start()
    for lease in leases:
        finished(controller, lease)
    assert max(len(r.body['leases']) for r in controller.calls('/poll')
               if r.body['free'] == 0) >= 2
    assert all(r.body['free'] <= 2 for r in controller.calls('/poll'))


@pytest.mark.parametrize('status', [410, 409, 404])
def test_start_refused_makes_no_call(controller, agent, tmp_path, status):
    dump = tmp_path / 'dump'
    lease = controller.offer('l-1', spec={'dump': str(dump)})
    controller.script['/leases/l-1/start'] = [(status, {'detail': 'taken'})]
    agent.start()
    controller.wait(lambda: controller.calls('/leases/l-1/start'))
    spool_empty(controller, agent)
    time.sleep(0.5)
    assert not dump.exists()
    assert lease.finish is None
    assert len(controller.calls('/leases/l-1/start')) == 1


@pytest.mark.parametrize('act,reason', [
    (['die', 'SIGSEGV'], 'the engine process died: signal 11 (Segmentation fault)'),
    (['exit', 7], 'the engine process died: exited with status 7'),
    (['garbage'], 'the engine process died: signal 9 (Killed), after it broke '
                  'the protocol'),
])
def test_engine_death_is_an_error_with_its_cause(controller, agent, act, reason):
    lease = controller.offer('l-1', spec={'fake': [[0, 'stats', 1], [0] + act]})
    agent.start()
    finish = finished(controller, lease)
    assert finish['outcome'] == 'error' and finish['reason'] == reason
    assert len(lease.items('stats', 'series')) == 1  # what it said is kept
    spool_empty(controller, agent)


def test_engine_that_cannot_be_started(controller, agent):
    lease = controller.offer('l-1')
    agent.start(engine_program='/nonexistent/engine')
    finish = finished(controller, lease)
    assert finish['outcome'] == 'error'
    assert finish['reason'] == ('the engine process cannot be started: '
                                'No such file or directory')
    spool_empty(controller, agent)


def waiting_engines(agent, count, gone=()):
    """Pids of the engine processes, once there are so many and none of those that must go."""
    def found():
        task = '/proc/%d/task/%d/children' % ((agent.process.pid,) * 2)
        pids = [int(p) for p in pathlib.Path(task).read_text().split()]
        return len(pids) == count and not set(pids) & set(gone) and pids
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        pids = found()
        if pids:
            return pids
        time.sleep(0.05)
    raise AssertionError('not %d engine processes' % count)


needs_proc = pytest.mark.skipif(not os.path.exists('/proc/self'), reason='needs /proc')


@needs_proc
def test_job_goes_to_an_engine_that_waits(controller, agent, tmp_path):
    agent.start()
    ahead = waiting_engines(agent, 2)
    leases, pids = [], []
    for number in range(2):
        dump = tmp_path / ('dump %d' % number)
        leases.append(controller.offer('l-%d' % number, spec={
            'dump': str(dump), 'fake': [[0, 'sleep', 0.2]]}))
        finished(controller, leases[-1])
        pids.append(json.loads(dump.read_text())['pid'])
    assert pids[0] in ahead
    assert pids[0] != pids[1]  # one job a process
    # those taken are replaced: two wait again, and those of the jobs are gone
    waiting_engines(agent, 2, gone=pids)


@needs_proc
def test_engine_that_dies_while_it_waits_costs_no_job(controller, agent, tmp_path):
    agent.start()
    for pid in waiting_engines(agent, 2):
        os.kill(pid, signal.SIGKILL)
    controller.wait(lambda: agent.text().count(
        'an engine process that waited for a job ended: signal 9 (Killed)') == 2)
    lease = controller.offer('l-1')
    assert finished(controller, lease)['outcome'] == 'completed'
    waiting_engines(agent, 2)


def test_engine_outcome_is_passed_on(controller, agent):
    lease = controller.offer('l-1', spec={
        'fake': [[0, 'finish', 'failed', '1001 could not register: 403']]})
    agent.start()
    finish = finished(controller, lease)
    assert finish['outcome'] == 'failed'
    assert finish['reason'] == '1001 could not register: 403'


# ---- cancel ----

def test_cancel_with_a_renewal(controller, agent):
    lease = controller.offer('l-1', spec={'fake': [[0, 'until_cancel']]})
    agent.start()
    controller.wait(lambda: 'STEP_0' in states(lease))
    lease.command = 'cancel'
    finish = finished(controller, lease)
    assert finish['outcome'] == 'stopped'
    assert states(lease)[-1] == 'CANCELLED'
    spool_empty(controller, agent)


def test_cancel_with_an_upload(controller, agent):
    controller.intervals['renew_s'] = 60
    controller.intervals['lease_s'] = 600
    lease = controller.offer('l-1', spec={
        'fake': [[0, 'sleep', 1], [0, 'stats', 1], [0, 'until_cancel']]})
    agent.start()
    controller.wait(lambda: lease.started)
    lease.command = 'cancel'
    assert finished(controller, lease)['outcome'] == 'stopped'
    assert not controller.calls('/leases/l-1', 'PUT')


def test_cancel_kills_an_engine_that_hangs(controller, agent):
    lease = controller.offer('l-1', spec={'fake': [[0, 'hang']]})
    agent.start()
    controller.wait(lambda: 'STEP_0' in states(lease))
    lease.command = 'cancel'
    finish = finished(controller, lease)
    assert finish['outcome'] == 'error'
    assert 'signal 9' in finish['reason']


# ---- barriers ----

def test_barrier_asks_again_after_a_renewal(controller, agent):
    controller.script['/leases/l-1/barriers/0'] = [(204, None), (204, None)]
    controller.intervals['renew_s'] = 60
    controller.intervals['lease_s'] = 600
    lease = controller.offer('l-1')
    agent.start()
    finished(controller, lease)
    order = [(r.method, r.path) for r in controller.requests
             if r.path.startswith('/leases/l-1') and
             ('barriers' in r.path or r.method == 'PUT')]
    barrier = ('POST', '/leases/l-1/barriers/0')
    renewal = ('PUT', '/leases/l-1')
    assert order == [barrier, renewal, barrier, renewal, barrier]


def test_barrier_cancelled_while_waiting(controller, agent):
    controller.script['/leases/l-1/barriers/0'] = [(204, None)] * 50
    lease = controller.offer('l-1')
    agent.start()
    controller.wait(lambda: controller.calls('/leases/l-1/barriers/0'))
    lease.command = 'cancel'
    assert finished(controller, lease)['outcome'] == 'stopped'


# ---- retries ----

@pytest.mark.parametrize('answer', [
    None, (408, None), (429, {'detail': 'slow'}, {'Retry-After': '2'}),
    (500, None), (503, None)])
def test_retry_transient_answers(controller, agent, answer):
    for path in ('/register', '/poll', '/leases/l-1/start',
                 '/leases/l-1/finish', '/leases/l-1/barriers/0'):
        controller.script[path] = [answer]
    for path in ('/leases/l-1/stats', '/leases/l-1/events'):
        controller.script[path] = [answer, answer]
    scripted = list(controller.script)
    lease = controller.offer('l-1', spec={'fake': [[0, 'stats', 1]]})
    agent.start()
    assert finished(controller, lease, 60)['outcome'] == 'completed'
    for path in scripted:
        tries = controller.calls(path)
        assert len(tries) >= 2, path
        # libcurl itself tries once more on a kept connection that was closed
        waited = tries[1].t - tries[0].t
        assert not answer or waited >= (2 if answer[0] == 429 else 1), path
    assert lease.started == 1
    assert sorted(lease.uploads) == list(range(1, lease.finish['last_seq'] + 1))


def test_retry_while_the_controller_is_away(tmp_path, controller):
    away = Controller()
    port_url = away.url
    away.close()
    agent = Agent(tmp_path, controller)
    agent.start(controller=port_url)
    try:
        time.sleep(3)
        assert agent.process.poll() is None
        assert 'try 2 in' in agent.text()
    finally:
        agent.close()


def test_retry_never_after_other_client_errors(controller, agent):
    """A refused upload is not sent again; a flaw takes its number."""
    controller.script['/leases/l-1/stats'] = [(422, {'detail': 'no series'})]
    lease = controller.offer('l-1', spec={
        'fake': [[0, 'stats', 2], [0, 'stats', 1]]})
    agent.start()
    finish = finished(controller, lease)
    assert len(controller.calls('/leases/l-1/stats')) == 2
    assert len(lease.items('stats', 'series')) == 1
    flaws = [e for e in lease.items('events', 'events') if e['kind'] == 'flaw']
    assert [f['name'] for f in flaws] == ['upload_lost']
    assert sorted(lease.uploads) == list(range(1, finish['last_seq'] + 1))
    assert 'no series' in agent.text()


def test_refused_poll_ends_the_agent(controller, agent):
    controller.script['/poll'] = [(400, {'detail': 'what?'})]
    agent.start()
    assert agent.wait() == 3
    assert len(controller.calls('/poll')) == 1
    assert 'what?' in agent.text()


# ---- lost leases ----

def test_gone_lease_ends_calls_and_spool(controller, agent):
    lease = controller.offer('l-1', spec={'fake': [
        [0, 'stats', 1], [0, 'until_cancel']]})
    agent.start()
    controller.wait(lambda: 'STEP_0' in states(lease))
    lease.gone = True
    spool_empty(controller, agent)
    assert lease.finish is None
    # and the slot is free again
    second = controller.offer('l-2')
    assert finished(controller, second)['outcome'] == 'completed'
    assert len(controller.calls('/leases/l-1/finish')) <= 1


def test_lease_not_renewed_ends_the_calls(controller, agent):
    """Calls are made at most once: a lease the agent cannot renew is lost."""
    lease = controller.offer('l-1', spec={'fake': [[0, 'until_cancel']]})
    controller.script['/leases/l-1'] = [(503, None)] * 1000
    agent.start()
    finish = finished(controller, lease)
    assert finish['outcome'] == 'error'
    assert 'could not renew' in finish['reason']
    assert 'CANCELLED' in states(lease)


# ---- the sequence ----

def test_missing_uploads_are_sent_again(controller, agent):
    lease = controller.offer('l-1', spec={'fake': [
        [0, 'stats', 1], [0, 'stats', 2], [0, 'stats', 3], [0, 'stats', 4]]})

    def forget(request):
        with controller.lock:
            for seq in (2, 3, request.body['last_seq']):
                del lease.uploads[seq]
            return controller.on_lease(request)

    controller.script['/leases/l-1/finish'] = [forget]
    agent.start()
    controller.wait(lambda: len(controller.calls('/leases/l-1/finish')) == 2)
    finish = finished(controller, lease)
    assert len(lease.items('stats', 'series')) == 10
    assert sorted(lease.uploads) == list(range(1, finish['last_seq'] + 1))
    spool_empty(controller, agent)


def test_long_reports_are_split(controller, agent):
    lease = controller.offer('l-1', spec={'fake': [
        [0, 'sip', 40, 50000], [0, 'sip', 1, 600000]]})
    agent.start()
    finished(controller, lease)
    sip = [b for k, b in lease.uploads.values() if k == 'sip']
    assert len(sip) > 8
    assert len(lease.items('sip', 'messages')) == 41
    assert all(len(json.dumps(b)) < 1 << 20 for b in sip)


def test_uploads_wait_for_the_disk_but_go_on_while_running(controller, agent):
    lease = controller.offer('l-1', spec={'fake': [[0, 'stats', 1], [0, 'until_cancel']]})
    agent.start()
    controller.wait(lambda: lease.items('stats', 'series'))
    assert lease.finish is None
    lease.command = 'cancel'
    finished(controller, lease)


# ---- the spool ----

def test_restart_after_sigkill_delivers_and_finishes(controller, agent):
    lease = controller.offer('l-1', spec={'fake': [
        [0, 'events', 3], [0, 'stats', 5], [0, 'sleep', 0.5], [0, 'until_cancel']]})
    for path in ('/leases/l-1/stats', '/leases/l-1/events'):
        controller.script[path] = [(503, None)] * 100
    agent.start()
    controller.wait(lambda: controller.calls('/leases/l-1/events'))
    time.sleep(1)
    agent.kill()
    assert lease.uploads == {}
    for path in ('/leases/l-1/stats', '/leases/l-1/events'):
        controller.script[path] = []
    polls = len(controller.calls('/poll'))
    agent.start()
    finish = finished(controller, lease)
    assert finish['outcome'] == 'error'
    assert finish['reason'] == ('the agent was restarted while the job was '
                                'running')
    assert states(lease) == ['STEP_0', 'E0', 'E1', 'E2']
    assert len(lease.items('stats', 'series')) == 5
    assert lease.started == 1  # and no call was made twice
    # the first poll of the new process says what it holds
    assert controller.calls('/poll')[polls].body['leases'] == ['l-1']
    assert controller.calls('/poll')[polls].body['free'] == 2
    spool_empty(controller, agent)


def test_restart_keeps_an_outcome_that_was_reached(controller, agent):
    lease = controller.offer('l-1')
    controller.script['/leases/l-1/finish'] = [(503, None)] * 100
    agent.start()
    controller.wait(lambda: controller.calls('/leases/l-1/finish'))
    agent.kill()
    controller.script['/leases/l-1/finish'] = []
    agent.start()
    assert finished(controller, lease)['outcome'] == 'completed'
    spool_empty(controller, agent)


def test_restart_with_a_lease_nobody_wants(controller, agent):
    lease = controller.offer('l-1', spec={'fake': [[0, 'until_cancel']]})
    agent.start()
    controller.wait(lambda: 'STEP_0' in states(lease))
    agent.kill()
    lease.gone = True
    agent.start()
    spool_empty(controller, agent)
    assert lease.finish is None


def runs(pid):
    """Whether the process is there, and not as a zombie."""
    try:
        os.kill(pid, 0)
        return 'Z (zombie)' not in pathlib.Path(
            '/proc/%d/status' % pid).read_text()
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # no /proc, or it ended in between
        return not os.path.exists('/proc/self')


def test_engine_ends_when_the_agent_is_killed(controller, agent, tmp_path):
    dump = tmp_path / 'dump'
    lease = controller.offer('l-1', spec={
        'dump': str(dump), 'fake': [[0, 'until_cancel']]})
    agent.start()
    controller.wait(lambda: 'STEP_0' in states(lease))
    pid = json.loads(dump.read_text())['pid']
    agent.kill()
    end = time.monotonic() + 10
    while runs(pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert not runs(pid)


def artifacts_left(agent):
    return sorted(str(p.relative_to(agent.state / 'artifacts'))
                  for p in (agent.state / 'artifacts').rglob('*'))


def test_artifacts_are_brought_before_the_finish(controller, agent):
    lease = controller.offer('a1', spec={'fake': [
        [0, 'file', 'one.wav', 3000000], [0, 'file', 'two.txt', 0],
        [0, 'part', 'torn.wav', 5]]})
    # tried again, and a full 503 costs nothing
    controller.script['/leases/a1/artifacts/two.txt'] = [(503, {'detail': 'later'}), None]
    agent.start()
    finished(controller, lease)
    assert lease.artifacts == {'one.wav': b'x' * 3000000, 'two.txt': b''}
    paths = [r.path for r in controller.requests]
    assert paths.index('/leases/a1/finish') > max(
        i for i, p in enumerate(paths) if '/artifacts/' in p)
    assert not [e for e in lease.items('events', 'events') if e['kind'] == 'artifact_lost']
    spool_empty(controller, agent)
    controller.wait(lambda: artifacts_left(agent) == [], 10, 'artifacts removed')


def test_artifact_that_is_refused_is_told(controller, agent):
    lease = controller.offer('a1', spec={'fake': [
        [0, 'file', 'big', 10], [0, 'file', 'good', 10]]})
    controller.script['/leases/a1/artifacts/big'] = [(413, {'detail': 'too large'})]
    agent.start()
    finished(controller, lease)
    lost = [e for e in lease.items('events', 'events') if e['kind'] == 'artifact_lost']
    assert [(e['name'], e['text']) for e in lost] == [('big', '413: too large')]
    assert list(lease.artifacts) == ['good']


def test_artifacts_survive_the_death_of_the_agent(controller, agent):
    lease = controller.offer('a1', spec={'fake': [
        [0, 'file', 'one', 100000], [0, 'part', 'torn', 10], [0, 'until_cancel']]})
    controller.script['/leases/a1/artifacts/one'] = [(503, {'detail': 'later'})]
    agent.start()
    controller.wait(lambda: controller.calls('/leases/a1/artifacts/one'), what='artifact')
    agent.kill()
    (agent.state / 'artifacts' / 'nobody').mkdir()
    (agent.state / 'artifacts' / 'nobody' / 'x').write_text('of a lease that is gone')
    assert 'a1/one' in artifacts_left(agent)
    agent.start()
    finished(controller, lease)
    assert lease.artifacts == {'one': b'x' * 100000}
    controller.wait(lambda: artifacts_left(agent) == [], 10, 'artifacts removed')


def test_artifacts_leave_room_for_statistics(controller, agent):
    lease = controller.offer('a1', spec={'fake': [
        [0, 'file', 'large', 400000], [0, 'stats', 50]]})
    agent.start(spool_limit='512K')
    finished(controller, lease)
    lost = [e for e in lease.items('events', 'events') if e['kind'] == 'artifact_lost']
    assert [e['name'] for e in lost] == ['large'] and 'no room' in lost[0]['text']
    assert len(lease.items('stats', 'series')) == 50 and lease.artifacts == {}
    assert not [e for e in lease.items('events', 'events') if e['kind'] == 'flaw']


def test_full_spool_drops_statistics_and_says_how_many(controller, agent):
    for path in ('/leases/l-1/stats', '/leases/l-1/events', '/leases/l-1/sip'):
        controller.script[path] = [(503, None)] * 3
    lease = controller.offer('l-1', spec={'fake': [
        [0, 'sip', 10, 10000], [0, 'stats', 7], [0, 'stats', 4],
        [0, 'events', 1]]})
    agent.start(spool_limit='64K')
    finished(controller, lease, 60)
    assert len(lease.items('sip', 'messages')) == 10
    assert 'E0' in states(lease)
    assert lease.items('stats', 'series') == []
    flaws = [e for e in lease.items('events', 'events') if e['kind'] == 'flaw']
    assert sum(f['count'] for f in flaws) == 11
    assert {f['name'] for f in flaws} == {'spool_overflow'}


def test_state_directory_is_taken_once(controller, agent):
    agent.start()
    controller.wait(lambda: controller.calls('/poll'))
    second = subprocess.run([AGENT, '--config', agent.write()],
                            capture_output=True, text=True, timeout=20)
    assert second.returncode == 1
    assert 'in use by another agent' in second.stderr


# ---- drain and stop ----

def test_drain_finishes_jobs_and_says_good_bye(controller, agent):
    lease = controller.offer('l-1', spec={'fake': [[0, 'sleep', 2]]})
    agent.start()
    controller.wait(lambda: 'STEP_0' in states(lease))
    agent.process.send_signal(signal.SIGUSR1)
    controller.wait(lambda: controller.calls('/poll')[-1].body['draining'])
    assert controller.calls('/poll')[-1].body['free'] == 0
    refused = controller.offer('l-2')
    assert agent.wait() == 0
    assert lease.finish['outcome'] == 'completed'
    assert not refused.offered
    assert controller.requests[-1].path == '/disconnect'


def test_sigterm_lets_jobs_finish(controller, agent):
    lease = controller.offer('l-1', spec={'fake': [[0, 'sleep', 2]]})
    agent.start()
    controller.wait(lambda: 'STEP_0' in states(lease))
    agent.term()
    assert agent.wait() == 0
    assert lease.finish['outcome'] == 'completed'


def test_sigterm_has_a_bound(controller, agent):
    lease = controller.offer('l-1', spec={'fake': [[0, 'until_cancel']]})
    agent.start(stop_s=1)
    controller.wait(lambda: 'STEP_0' in states(lease))
    agent.term()
    assert agent.wait() == 0
    assert lease.finish['outcome'] == 'error'
    assert lease.finish['reason'] == 'the agent was stopped'


def test_second_sigterm_cancels(controller, agent):
    lease = controller.offer('l-1', spec={'fake': [[0, 'until_cancel']]})
    agent.start(stop_s=600)
    controller.wait(lambda: 'STEP_0' in states(lease))
    agent.term()
    controller.wait(lambda: controller.calls('/poll')[-1].body['draining'])
    agent.term()
    assert agent.wait() == 0
    assert lease.finish['outcome'] == 'error'
    assert 'CANCELLED' in states(lease)


def test_stop_leaves_undelivered_results_in_the_spool(controller, agent):
    lease = controller.offer('l-1')
    controller.script['/leases/l-1/finish'] = [(503, None)] * 100
    agent.start()
    controller.wait(lambda: controller.calls('/leases/l-1/finish'))
    agent.term()
    assert agent.wait(40) == 0
    assert agent.spools() == ['l-1']
    controller.script['/leases/l-1/finish'] = []
    agent.start()
    assert finished(controller, lease)['outcome'] == 'completed'


# ---- systemd ----

def test_service_manager_is_told(controller, agent):
    # no path: those of sockets have 107 characters at most
    name = f'offhook-notify-{os.getpid()}'
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.bind('\0' + name)
    sock.settimeout(20)
    agent.start(env={'NOTIFY_SOCKET': '@' + name, 'WATCHDOG_USEC': '200000'})
    seen = []

    def receive_until(*wanted):
        while not set(wanted) <= set(seen):
            seen.append(sock.recv(4096).decode())

    try:
        receive_until('READY=1', 'WATCHDOG=1', 'STATUS=connected')
    except socket.timeout:
        if 'libsystemd' not in subprocess.run(
                ['ldd', AGENT], capture_output=True, text=True).stdout:
            pytest.skip('built without libsystemd')
        raise
    for _ in range(3):
        seen.remove('WATCHDOG=1')
        receive_until('WATCHDOG=1')
    agent.term()
    receive_until('STOPPING=1')
    assert agent.wait() == 0
    sock.close()


# ---- the command line ----

def run(*args):
    return subprocess.run([AGENT, *args], capture_output=True, text=True,
                          timeout=20)


def test_command_line(tmp_path):
    assert run('--version').stdout.startswith('offhook-agent ')
    assert '--check-config' in run('--help').stdout
    assert run('--nonsense').returncode == 2
    assert run('more').returncode == 2
    bad = tmp_path / 'bad.conf'
    bad.write_text('capacity = 0\n')
    result = run('--config', str(bad), '--check-config')
    assert result.returncode == 2
    assert result.stderr == ('%s:1: capacity: "0" is out of range; allowed are '
                             '1 to 64\n' % bad)
    bad.write_text('capacity = 1\n')
    result = run('--config', str(bad), '--check-config')
    assert (result.returncode, result.stdout) == (0, '%s: good\n' % bad)
    assert run('--config', str(tmp_path / 'none')).returncode == 2

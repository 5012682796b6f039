#!/usr/bin/python3
"""An engine that does what the spec's member `fake` says: a list of [verb,
argument...], carried out in the step that is named by ["step", n]; without one
the engine is ready with every step at once and completes. ["of", k, verb, argument...]
is carried out by the engine that has share k of the job only."""
import json
import math
import os
import signal
import socket
import sys
import time

fd = int([a for a in sys.argv if a.startswith('--engine=')][0].split('=')[1])
sock = socket.socket(fileno=fd)
reader = sock.makefile('r')


def send(type, **members):
    sock.sendall((json.dumps(dict(members, type=type)) + '\n').encode())


def receive():
    line = reader.readline()
    return json.loads(line) if line else {'type': 'cancel', 'eof': True}


def series(n):
    return [{'role': 'caller', 'dir': 'in', 'measure': 'rtp_jitter', 't': i,
             'n': 1, 'min': 1, 'max': 1, 'avg': 1} for i in range(n)]


def point(t):
    return {'role': 'caller', 'dir': 'out', 't': t, 'n': 1, 'stddev': 0}


def moments(value):
    index = math.ceil(math.log(value) / math.log(1.01 / 0.99))
    return {'sketch': {'a': 0.01, 'z': 0, 'p': [[index, 1]], 'n': []},
            **{name: value for name in ('min', 'max', 'avg', 'median', 'p75', 'p90', 'p95')}}


def event(name):
    return {'t': int(time.time() * 1e6), 'mono': time.monotonic_ns(),
            'kind': 'state', 'state': name}


def is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


WATCHED = (signal.SIGINT, signal.SIGUSR1, signal.SIGTERM, signal.SIGCHLD)
inherited = {
    'fds': [n for n in range(256) if is_open(n)],
    'blocked': [int(s) for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])
                if s in WATCHED],
    'ignored': [int(s) for s in WATCHED
                if signal.getsignal(s) == signal.SIG_IGN],
}

job = receive()
if job.get('eof'):  # none came: the agent ends
    sys.exit(0)
assert job['type'] == 'job', job
fake = job['spec'].get('fake', [])
steps = len(job['spec']['steps'])
if 'dump' in job['spec']:
    own = '.%d' % job['share']['index'] if 'share' in job else ''
    with open(job['spec']['dump'] + own, 'w') as f:
        json.dump({'job': job, 'pid': os.getpid(), 'argv': sys.argv,
                   **inherited}, f)


def act(verb, *args):
    if verb == 'stats':
        send('stats', series=series(args[0]))
    elif verb == 'events':
        send('events', events=[event('E%d' % i) for i in range(args[0])])
    elif verb == 'sip':
        send('sip', messages=[{'data': 'x' * args[1]} for _ in range(args[0])])
    elif verb == 'sleep':
        time.sleep(args[0])
    elif verb == 'points':  # of one sample each, and a mark that they are all
        measure, values, closed = args
        send('stats', series=[dict(point(t), measure=measure, **moments(value)) for t, value in values] +
             ([{'closed': closed}] if closed else []))
    elif verb == 'of':
        if job['share']['index'] == args[0]:
            act(*args[1:])
    elif verb == 'progress':
        send('progress', progress=args[0])
    elif verb in ('file', 'part'):
        path = os.path.join(job['engine']['artifact_dir'], args[0] + '.part')
        with open(path, 'wb') as f:
            f.write(b'x' * args[1])
        if verb == 'file':
            send('artifact', name=args[0])
    elif verb == 'die':
        os.kill(os.getpid(), getattr(signal, args[0]))
    elif verb == 'exit':
        sys.exit(args[0])
    elif verb == 'garbage':
        sock.sendall(b'this is not JSON\n')
        time.sleep(60)
    elif verb == 'line':
        sock.sendall(args[0].encode() + b'\n')
    elif verb == 'hang':
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(60)
    elif verb == 'finish':
        send('finish', outcome=args[0], reason=args[1])
        sys.exit(0)
    elif verb == 'until_enough':  # told once
        while receive()['type'] != 'enough':
            pass
        send('events', events=[event('ENOUGH')])
        time.sleep(args[0])
    elif verb == 'until_cancel':
        while receive()['type'] != 'cancel':
            pass
        send('events', events=[event('CANCELLED')])
        send('finish', outcome='stopped', reason='')
        sys.exit(0)
    else:
        raise SystemExit('unknown verb ' + verb)


step = 0
while True:
    message = receive()
    if message['type'] == 'cancel':
        send('finish', outcome='stopped', reason='')
        break
    assert message['type'] == 'go', message
    assert message['step'] == step, (message, step)
    send('events', events=[dict(event('STEP_%d' % step), **{k: message[k] for k in ('at_ns',) if k in message})])
    if step == steps:
        send('finish', outcome='completed', reason='')
        break
    for entry in fake:
        if entry[0] == step:
            act(*entry[1:])
    send('ready', step=step)
    step += 1

"""A scripted controller for tests of the agent's supervisor.

It keeps what every request brought, answers as docs/internals/wire.md says, and answers
otherwise where a test has put a script.
"""
import base64
import collections
import http.server
import json
import threading
import time

PREFIX = '/api/v2/agent'


class Lease:
    def __init__(self, job):
        self.job = job
        self.offered = False
        self.started = 0
        self.uploads = {}        # seq -> (kind, body)
        self.artifacts = {}      # name -> bytes
        self.finish = None       # body of the last finish
        self.command = 'continue'
        self.gone = False

    def items(self, kind, member):
        out = []
        for seq in sorted(self.uploads):
            if self.uploads[seq][0] == kind:
                out += self.uploads[seq][1][member]
        return out


class Request:
    def __init__(self, method, path, body, auth, raw=b'', connection=None):
        self.method, self.path, self.body, self.auth = method, path, body, auth
        self.raw = raw  # the body as it came
        self.connection = connection  # socket
        self.t = time.monotonic()


class Controller:
    """script[PATH]: a list of answers (status, body) or callables(request)
    that are used up, one a request, before the usual answer is given; None in
    it drops the connection."""

    def __init__(self):
        self.lock = threading.Condition()
        self.requests = []
        self.leases = collections.OrderedDict()
        self.script = collections.defaultdict(list)
        self.agents = {}
        self.token = 'good-token'
        self.poll_s = 1
        self.polls = 0
        self.intervals = {'poll_s': 1, 'renew_s': 1, 'lease_s': 4}
        self.stopping = False
        controller = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'

            def serve(self):
                length = int(self.headers.get('Content-Length', 0))
                raw = self.rfile.read(length)
                is_file = '/artifacts/' in self.path
                body = raw if is_file else json.loads(raw) if raw else None
                answer = controller.answer(Request(
                    self.command, self.path[len(PREFIX):], body,
                    self.headers.get('Authorization'), raw, self.connection))
                if answer is None:
                    self.close_connection = True
                    return
                status, body = answer[:2]
                data = body if isinstance(body, bytes) else b'' if body is None else json.dumps(body).encode()
                try:
                    self.send_response(status)
                    for name, value in (answer[2] if len(answer) > 2 else {}).items():
                        self.send_header(name, value)
                    self.send_header('Content-Length', str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    pass

            do_GET = do_POST = do_PUT = serve

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 512  # many jobs end at a time

            def handle_error(self, request, client_address):
                pass

        self.server = Server(('127.0.0.1', 0), Handler)
        self.url = 'http://127.0.0.1:%d' % self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever,
                                       args=(0.05,), daemon=True)
        self.thread.start()

    def close(self):
        with self.lock:
            self.stopping = True
            self.lock.notify_all()
        self.server.shutdown()
        self.server.server_close()

    # ---- what a test does ----

    def offer(self, lease_id, steps=1, spec=None, **more):
        spec = dict({'session_id': 'session-' + lease_id, 'role': 'caller',
                     'interval_s': 1, 'max_duration_s': 600,
                     'steps': [[] for _ in range(steps)]}, **(spec or {}))
        with self.lock:
            lease = Lease(dict({'lease_id': lease_id,
                                'session_id': spec['session_id'],
                                'role': spec['role'], 'attempt': 1,
                                'spec': spec}, **more))
            self.leases[lease_id] = lease
            self.lock.notify_all()
        return lease

    def calls(self, path, method=None):
        with self.lock:
            return [r for r in self.requests if r.path == path and
                    (method is None or r.method == method)]

    def wait(self, condition, timeout=90, what=''):
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            with self.lock:
                value = condition()
            if value:
                return value
            time.sleep(0.02)
        raise AssertionError('not within %d s: %s; seen: %s' % (
            timeout, what, [(r.method, r.path) for r in self.requests[-20:]]))

    # ---- answers ----

    def answer(self, request):
        with self.lock:
            self.requests.append(request)
            script = self.script[request.path]
            if script:
                answer = script.pop(0)
                if not callable(answer):
                    return answer
            else:
                answer = None
        if answer:
            return answer(request)
        if request.path == '/register':
            return self.register(request)
        agent = self.agent(request)
        if not agent:
            return 401, {'detail': 'who are you?'}
        if request.path == '/poll':
            return self.poll(request)
        if request.path == '/disconnect':
            return 204, None
        with self.lock:
            return self.on_lease(request)

    def agent(self, request):
        if not request.auth or not request.auth.startswith('Basic '):
            return None
        user, _, secret = base64.b64decode(request.auth[6:]).decode().partition(':')
        return self.agents.get(user) == secret and user

    def register(self, request):
        if request.body['token'] != self.token:
            return 403, {'detail': 'wrong token'}
        with self.lock:
            agent_id = 'agent-%d' % (len(self.agents) + 1)
            self.agents[agent_id] = 'secret-of-' + agent_id
        return 201, dict(self.intervals, agent_id=agent_id,
                         secret='secret-of-' + agent_id, protocol=1,
                         server_time=int(time.time() * 1e6))

    def poll(self, request):
        end = time.monotonic() + self.poll_s
        free = request.body['free']
        with self.lock:
            # a poll that was given up for a newer one must bring no job
            self.polls += 1
            number = self.polls
            self.lock.notify_all()
            while not self.stopping and number == self.polls:
                jobs = [l for l in self.leases.values() if not l.offered]
                jobs = jobs[:free]
                if jobs:
                    for lease in jobs:
                        lease.offered = True
                    return 200, {'cursor': len(self.requests),
                                 'jobs': [l.job for l in jobs]}
                left = end - time.monotonic()
                if left <= 0:
                    break
                self.lock.wait(left)
        return 204, None

    def on_lease(self, request):
        parts = request.path.split('/')  # '', leases, ID, what, ...
        lease = self.leases.get(parts[2])
        what = parts[3] if len(parts) > 3 else 'renew'
        if not lease or lease.gone:
            return 410, {'detail': 'this lease is gone'}
        if what == 'start':
            lease.started += 1
            return 200, {}
        if what == 'renew':
            return 200, {'lease_s': self.intervals['lease_s'],
                         'command': lease.command,
                         'server_time': int(time.time() * 1e6)}
        if what == 'artifacts':
            lease.artifacts[parts[4]] = request.body
            return 201, {}
        if what == 'barriers':
            return 200, {'go_in_ms': 10}
        if what == 'finish':
            lease.finish = request.body
            missing = [s for s in range(1, request.body['last_seq'] + 1)
                       if s not in lease.uploads]
            if missing:
                return 409, {'missing': [[s, s] for s in missing]}
            return 200, {}
        seq = request.body['seq']
        duplicate = seq in lease.uploads
        lease.uploads[seq] = (what, request.body)
        return 200, {'accepted': 0 if duplicate else 1,
                     'duplicates': 1 if duplicate else 0,
                     'next_seq': seq + 1, 'command': lease.command}

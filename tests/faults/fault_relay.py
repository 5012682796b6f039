"""What stands between agents and controllers, and between these and PostgreSQL, in the fault matrix."""
import json
import re
import select
import socket
import threading

UPLOAD = re.compile(r"POST /api/v2/agent/leases/([0-9a-f-]+)/stats$")
LOST = (OSError, ValueError)


class Relay:
    """Listens on a port. block() lets nothing pass until open(); reset() ends all connections, and refuses new ones
    until open()."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.passable = threading.Event()
        self.passable.set()
        self.refusing = self.over = False
        self.ends, self.lock = set(), threading.Lock()
        self.thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over = True
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self._end_all()
        self.passable.set()
        self.thread.join()

    def block(self):
        self.passable.clear()

    def reset(self):
        self.refusing = True
        self._end_all()

    def open(self):
        self.refusing = False
        self.passable.set()

    def _end_all(self):
        with self.lock:
            for end in self.ends:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass  # its peer has closed it

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            if self.refusing:
                client.close()
                continue
            with self.lock:
                self.ends.add(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        try:
            self.serve(client)
        except LOST:
            pass  # an end was lost, which is what this is for
        with self.lock:
            self.ends.discard(client)
        client.close()

    def serve(self, client):
        raise NotImplementedError


class DatabaseRelay(Relay):
    """Bytes to and from a Unix socket."""

    def __init__(self, path):
        super().__init__()
        self.path = str(path)

    def serve(self, client):
        self.passable.wait()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
            server.connect(self.path)
            while True:
                for source in select.select([client, server], [], [])[0]:
                    data = source.recv(65536)
                    self.passable.wait()
                    if not data:
                        return
                    (server if source is client else client).sendall(data)


class Message:
    """An HTTP message as it came: first line, body, all bytes. Reads from the connection `source`."""

    def __init__(self, source, passed=lambda: True):
        data = b""
        while b"\r\n\r\n" not in data:
            more = source.recv(65536)
            if not more:
                raise OSError("closed")
            data += more
        head, _, self.body = data.partition(b"\r\n\r\n")
        self.first = head.split(b"\r\n")[0].decode()
        found = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        length = int(found[1]) if found else 0
        while len(self.body) < length:
            more = source.recv(65536)
            if not more:
                raise OSError("closed")
            self.body += more
        self.data = head + b"\r\n\r\n" + self.body
        self.last = re.search(rb"(?i)\r\nconnection: *close", head) is not None


class AgentRelay(Relay):
    """HTTP requests, each to the first controller that takes it: not to one that is in `cut`.

    hold(pattern): requests that match wait until release(). sent has the data points of each upload by (lease, number),
    taken those that a controller has accepted, also if its answer was lost.
    """

    def __init__(self):
        super().__init__()
        self.backends, self.cut = [], set()
        self.pattern, self.gate = None, threading.Event()
        self.held = threading.Event()
        self.sent, self.taken = {}, set()

    def hold(self, pattern):
        self.held.clear()
        self.gate.clear()
        self.pattern = re.compile(pattern)

    def release(self):
        self.pattern = None
        self.gate.set()

    def _connect(self):
        for port in self.backends:
            if port in self.cut:
                continue
            try:
                return port, socket.create_connection(("127.0.0.1", port))
            except OSError:
                continue
        raise OSError("no controller")

    def serve(self, client):
        while True:
            request = Message(client)
            line = request.first.rsplit(" ", 1)[0]
            if self.pattern and self.pattern.search(line):
                self.held.set()
                self.gate.wait()
            self.passable.wait()
            if self._is_gone(client):
                return
            upload = UPLOAD.match(line)
            if upload:
                body = json.loads(request.body)
                upload = upload[1], body["seq"]
                self.sent[upload] = body["series"]
            answer = self._ask(client, request)
            if answer is None:
                return
            if upload and answer.first.split(" ")[1] == "200":
                self.taken.add(upload)
            self.passable.wait()
            client.sendall(answer.data)
            if answer.last:
                return

    @staticmethod
    def _is_gone(client):
        if not select.select([client], [], [], 0)[0]:
            return False
        return not client.recv(1, socket.MSG_PEEK)

    def _ask(self, client, request):
        """@return the answer; None: the client has gone, or the controller is in `cut`"""
        port, server = self._connect()
        with server:
            server.sendall(request.data)
            while True:
                ready = select.select([client, server], [], [], 0.1)[0]
                if server in ready:
                    return Message(server)
                if client in ready and self._is_gone(client) or port in self.cut:
                    return None

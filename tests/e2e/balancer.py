"""A TCP balancer: each connection goes to the next backend that takes it."""
import itertools
import socket
import threading


class Balancer:
    """with Balancer() as b: b.backends = [port, ...]; clients use b.url"""

    def __init__(self):
        self.backends = []
        self.taken = []  # ports that connections went to
        self._next = itertools.count()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._open = set()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._accept, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for end in self._open:
                self._shut(end)
        self._thread.join()

    def _accept(self):
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = self._connect()
            if not server:
                client.close()
                continue
            with self._lock:
                self._open |= {client, server}
            for ends in ((client, server), (server, client)):
                threading.Thread(target=self._copy, args=ends, daemon=True).start()

    def _connect(self):
        first = next(self._next)
        for i in range(len(self.backends)):
            port = self.backends[(first + i) % len(self.backends)]
            try:
                server = socket.create_connection(("127.0.0.1", port))
            except OSError:
                continue
            self.taken.append(port)
            return server
        return None

    @staticmethod
    def _shut(end):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # closed by its peer already

    def _copy(self, source, destination):
        try:
            while data := source.recv(65536):
                destination.sendall(data)
        except OSError:
            pass  # a peer was killed: both ends are closed
        for end in (source, destination):
            self._shut(end)
        with self._lock:
            self._open -= {source}
        source.close()

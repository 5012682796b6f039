"""A relay in front of a controller that compares the exchanges of other clients
(agents, commands, browsers) with docs/reference/openapi.yaml."""
import socket
import threading

from http_watch import Conversation, plain_connection

PIECE_BYTES = 1 << 18


class Witness:
    """with Witness(controller.url) as w: clients talk to w.url

    w.seen: (method, path, status) of each exchange; w.wrong: differences from the
    document; w.given_up: "METHOD target" of requests whose response the client did not
    wait for. All bytes pass unchanged, each response after it was checked. If the
    controller closes the connection, the client's is closed too.
    """

    def __init__(self, url):
        host, port = url.removeprefix("http://").rsplit(":", 1)
        self._upstream = host, int(port)
        self.seen, self.wrong, self.given_up = [], [], []
        self._open, self._lock = set(), threading.Lock()
        self._server = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"

    def _accept(self):
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return  # closed
            try:
                upstream = plain_connection(self._upstream, 20)
            except OSError:
                client.close()
                continue
            upstream.settimeout(None)
            for s in (client, upstream):
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self._open |= {client, upstream}
            conversation = Conversation(self.seen)
            left = [client, upstream]   # the thread that ends last closes both
            for come, go, look in ((client, upstream, conversation.sent),
                                   (upstream, client, conversation.received)):
                threading.Thread(target=self._pump, daemon=True,
                                 args=(come, go, look, conversation, left)).start()

    def _pump(self, come, go, look, conversation, left):
        try:
            while data := come.recv(PIECE_BYTES):
                wrong = look(data)
                if wrong:
                    self.wrong.append(wrong)
                go.sendall(data)
            go.shutdown(socket.SHUT_WR)
        except OSError:
            for s in (come, go):    # a reset is passed on as an end of stream
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
        with self._lock:
            left.remove(come)
            if not left:
                given_up = conversation.unanswered()
                self.given_up += [given_up] if given_up else []
                self._open -= {come, go}
                come.close()
                go.close()

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.close()
        assert not self.wrong, self.wrong

    def close(self):
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        with self._lock:
            for s in self._open:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass

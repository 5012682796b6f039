"""An HTTP relay in front of a controller: what clients that are no tests (agents,
commands, browsers) exchange with it is held to docs/openapi.yaml as well."""
import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from contract import contract

HOP = {"connection", "keep-alive", "transfer-encoding"}
# A longer one is not compared with its schema: agents of a load test upload megabytes, and
# the processor time would be missing where calls are measured.
REQUEST_BYTES = 1 << 16


class Witness:
    """with Witness(controller.url) as w: clients talk to w.url

    w.seen: (method, path, status) of each exchange; w.wrong: what the document does not
    say. A client whose request is cut off, or whose controller is gone, is cut off too.
    """

    def __init__(self, url):
        self.upstream = url.removeprefix("http://")
        self.seen, self.wrong = [], []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def _handler(self):
        witness = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def relay(self):
                witness.relay(self)

            do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = relay

            def log_message(self, *_):
                pass

        return Handler

    def relay(self, client):
        length = int(client.headers.get("Content-Length") or 0)
        body = client.rfile.read(length)
        try:
            upstream = http.client.HTTPConnection(self.upstream, timeout=120)
            upstream.request(client.command, client.path, body or None, dict(client.headers))
            answer = upstream.getresponse()
            content = answer.read()
            upstream.close()
        except (OSError, http.client.HTTPException):
            client.close_connection = True
            return
        self.look(client, answer, content, body if len(body) <= REQUEST_BYTES else None)
        try:
            client.send_response_only(answer.status, answer.reason)
            for name, value in answer.getheaders():
                if name.lower() not in HOP:
                    client.send_header(name, value)
            client.end_headers()
            client.wfile.write(content)
        except OSError:
            client.close_connection = True

    def look(self, client, answer, content, body):
        if not contract().covers(client.command, client.path.split("?")[0]):
            return
        wrong = contract().check(client.command, client.path, answer.status,
                                 dict(answer.getheaders()), content, body,
                                 client.headers.get("Content-Type", ""))
        self.seen.append((client.command, client.path, answer.status))
        if wrong:
            self.wrong.append(f"{client.command} {client.path}: {wrong}")

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.close()
        assert not self.wrong, self.wrong

    def close(self):
        self._server.shutdown()
        self._server.server_close()

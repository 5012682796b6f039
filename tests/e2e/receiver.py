"""A web server that receives callbacks and answers as a test says."""
import http.server
import ssl
import threading
import time


class Receiver:
    """Answers by `script`: one status per request, the last one for all further
    requests; "hang": no response until it is closed.

    Requests are in `got`. tls: (certificate file, key file)"""

    def __init__(self, *script, tls=None):
        self.script = list(script) or [200]
        self.got = []
        self.headers = {}   # of the responses
        self.answer = b"thanks"
        self._closed = threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def handle_request(self):
                size = int(self.headers.get("Content-Length", 0))
                receiver.got.append({
                    "method": self.command, "path": self.path, "body": self.rfile.read(size),
                    "headers": dict(self.headers), "at": time.monotonic()})
                status = receiver.script.pop(0) if len(receiver.script) > 1 \
                    else receiver.script[0]
                if status == "hang":
                    receiver._closed.wait()
                    return
                self.send_response(status)
                for name, value in receiver.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(receiver.answer)))
                self.end_headers()
                self.wfile.write(receiver.answer)

            do_POST = do_PUT = do_PATCH = do_GET = handle_request

            def log_message(self, *args):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}/hook"
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self._closed.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

"""A session of requests that uses no connection again which the controller may be closing.

The controller closes a connection between two requests after half a minute. A request that is sent at that moment
ends without an answer, and no client can tell whether it was carried out: requests does not send it again."""
import time

import requests

IDLE_S = 10


class Session(requests.Session):
    def __init__(self):
        super().__init__()
        self._used = time.monotonic()

    def send(self, request, **kwargs):
        if time.monotonic() - self._used > IDLE_S:
            self.close()   # its connections; the next request opens one
        try:
            return super().send(request, **kwargs)
        finally:
            self._used = time.monotonic()

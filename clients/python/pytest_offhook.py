"""A pytest plugin that runs the tests of an Offhook controller (README.md).

It needs pytest and requests. The controller's REST API is described in docs/reference/api.md.
"""
import base64
import contextlib
import hashlib
import ipaddress
import os
import signal
import ssl
import threading
import time
from urllib.parse import urlsplit

import pytest
import requests
from requests.adapters import HTTPAdapter

POLL_S = 1.0
# One answer of the controller; runs take as long as their test says.
ANSWER_TIMEOUT_S = 60
# Records in one page of a listing.
PAGE = 500


@contextlib.contextmanager
def interrupt_held():
    """Hold back the user's first interrupt. @return a list, in which it is then"""
    held = []

    def hold(number, frame):
        if held:
            former(number, frame)
        held.append(number)

    former = signal.getsignal(signal.SIGINT)
    # only the main thread may set a handler, and gets the interrupt
    usable = threading.current_thread() is threading.main_thread() and callable(former)
    if usable:
        signal.signal(signal.SIGINT, hold)
    try:
        yield held
    finally:
        if usable:
            signal.signal(signal.SIGINT, former)


class OffhookError(pytest.fail.Exception):
    """The controller refused a request, did not answer, or has no such record: pytest shows the
    sentence without a stack."""

    def __init__(self, text):
        super().__init__(text, pytrace=False)


def exposed(url):
    """Whether others can read on the way what is sent to this URL: plain HTTP beyond loopback."""
    parts = urlsplit(url)
    try:
        loopback = ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        loopback = parts.hostname == "localhost"
    return parts.scheme == "http" and not loopback


def certificate_known(url, fingerprint):
    """Compare the fingerprint of the controller's public key, as `offhook-controller fingerprint`
    prints it. @return the SHA-256 of the certificate that has this key, in hexadecimal"""
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import serialization
    except ImportError:
        raise OffhookError("a fingerprint needs the Python package cryptography "
                           "(Debian: python3-cryptography)") from None
    parts = urlsplit(url)
    if parts.scheme != "https":
        raise OffhookError(f"{url} has no certificate to compare with the fingerprint")
    try:
        pem = ssl.get_server_certificate((parts.hostname, parts.port or 443),
                                         timeout=ANSWER_TIMEOUT_S)
    except OSError as e:
        raise OffhookError(f"the controller {url} does not answer: {e}") from e
    key = x509.load_pem_x509_certificate(pem.encode()).public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    seen = "sha256//" + base64.b64encode(hashlib.sha256(key).digest()).decode()
    if seen != fingerprint:
        raise OffhookError(f"the certificate of {url} has another fingerprint: {seen}; compare "
                           "with `offhook-controller fingerprint`")
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()


class Pinned(HTTPAdapter):
    """Takes one certificate, whoever signed it."""

    def __init__(self, digest):
        self._digest = digest
        super().__init__()

    def init_poolmanager(self, *args, **more):
        super().init_poolmanager(*args, assert_fingerprint=self._digest, **more)


class Run:
    """A run that is over."""

    def __init__(self, offhook, record, url):
        self._offhook = offhook
        self.record = record              # as GET /runs/ID answers it
        self.session_id = record["session_id"]
        self.name = record["test_name"] or record["testcase_name"]
        self.status = record["status"]    # passed, failed, errored, stopped
        self.sentence = record["result_description"]
        self.conditions = record["verdicts"] or []
        self.report_url = url

    @property
    def passed(self):
        return self.status == "passed"

    def __str__(self):
        """The verdict as a person reads it: the sentence and the conditions that did not hold."""
        said = {"errored": "could not be carried out"}.get(self.status, self.status)
        lines = [f'"{self.name}" {said}' + (f": {self.sentence}" if self.sentence else "")]
        lines += [f"  {c['role']}: {c['text']}: expected {c['expected']}, actual {c['actual']}"
                  for c in self.conditions if not c["passed"]]
        return "\n".join([*lines, f"  report: {self.report_url}"])

    def stats(self, measure, role=None, direction=None):
        """The records of one measure, such as rtp_mos: figures are text, as the API has them."""
        query = {k: v for k, v in (("role", role), ("dir", direction)) if v}
        return self._offhook.request(
            "GET", f"/runs/{self.session_id}/stats/{measure}", params=query)["stats_data"]


class Offhook:
    """A controller. Records are dicts as the API has them."""

    def __init__(self, url, key, ca=None, fingerprint=None, plain_http=False):
        """@param ca  file; without it and without a fingerprint: the authorities of the system"""
        self.url = url.rstrip("/")
        if exposed(self.url) and not plain_http:
            raise OffhookError(f"{url}: the key would be sent over plain HTTP to another host; "
                               "use https://, or set OFFHOOK_PLAIN_HTTP=1")
        self._session = requests.Session()
        self._session.auth = tuple(key.split(":", 1))
        if fingerprint:
            self._session.mount(self.url, Pinned(certificate_known(self.url, fingerprint)))
        # With each request, since REQUESTS_CA_BUNDLE comes before a session's; None: the system's.
        self._verify = ca or (False if fingerprint else None)

    def request(self, method, path, **more):
        """Send one request below /api/v2. @return the parsed answer"""
        try:
            answer = self._session.request(method, f"{self.url}/api/v2{path}",
                                           timeout=ANSWER_TIMEOUT_S, verify=self._verify, **more)
        except requests.RequestException as e:
            raise OffhookError(f"the controller {self.url} does not answer: {e}") from e
        try:
            body = answer.json()
        except ValueError:
            body = {}
        if not answer.ok:
            raise OffhookError(f"{method} {path}: {answer.status_code} "
                               f"{body.get('detail') or body.get('title') or answer.reason}")
        return body

    def records(self, kind):
        """All records of a kind: tests, agent-pools, targets, ..."""
        member, found = kind.replace("-", "_"), []
        while True:
            page = self.request("GET", f"/{kind}", params={"start": len(found), "count": PAGE})
            found += page[member]
            if not page[member] or len(found) >= page["total"]:
                return found

    def find(self, kind, name=None):
        """The record with this name; without a name the only one there is."""
        found = self.records(kind)
        chosen = [r for r in found if name is None or r["name"] == name]
        if len(chosen) == 1:
            return chosen[0]
        names = ", ".join(sorted(r["name"] for r in found)) or "none"
        what = kind[:-1].replace("-", " ")
        wanted = f"no {what} {name!r}" if name else f"the {what} must be named"
        raise OffhookError(f"{wanted}; the controller has: {names}")

    def start(self, path, body):
        """Start a run. An interrupt meanwhile waits until the run is known, and stops it."""
        with interrupt_held() as held:
            started = self.request("POST", path, json=body)["data"]
        if held:
            self._stop(started["session_id"])
            raise KeyboardInterrupt
        return started

    def wait(self, started, timeout=None):
        """Wait for a started run, or its last attempt. A run that is not over within the timeout, or
        when the user interrupts pytest, is stopped."""
        session = started["session_id"]
        until = time.monotonic() + timeout if timeout else None
        try:
            while True:
                state = self.request("GET", f"/runs/{session}/status")["run"]
                if state["status"] != "running":
                    break
                if until and time.monotonic() > until:
                    raise OffhookError(f"the run {session} was not over after {timeout:g} s"
                                       f"{self._waiting(session)} and was stopped")
                time.sleep(POLL_S)
        except BaseException:
            self._stop(session)
            raise
        record = self.request("GET", f"/runs/{state['session_id']}")["run"]
        return Run(self, record, record["report_url"])

    def _waiting(self, session):
        reason = self.request("GET", f"/runs/{session}")["run"]["waiting_for"]
        return f" ({reason})" if reason else ""

    def _stop(self, session):
        try:
            self.request("POST", f"/runs/{session}/stop")
        except OffhookError:
            pass  # over, or the controller is gone: the first error is the one to show


class Runner:
    """The fixture offhook_run."""

    def __init__(self, offhook, request, timeout):
        self._offhook, self._request, self._timeout = offhook, request, timeout

    def __call__(self, name, check=True, timeout=None, **overrides):
        """Run the stored test NAME. Overrides are keys of a start, such as
        **{"step.1.0.max_total_calls": 2}. @return Run; with check the test fails unless it passed"""
        test = self._offhook.find("tests", name)
        return self._end(self._offhook.start(f"/tests/{test['id']}/run", overrides), check, timeout)

    def scenario(self, name, check=True, timeout=None, **parameters):
        """Run a scenario without a stored test, in offhook_pool and against offhook_target unless
        the parameters name others."""
        if "agentpool_id" not in parameters:
            parameters["agentpool_id"] = self._request.getfixturevalue("offhook_pool")["id"]
        if not {"target", "target_pool"} & set(parameters):
            parameters["target_pool"] = self._request.getfixturevalue("offhook_target")["id"]
        return self._end(self._offhook.start(f"/tests/scenarios/{name}", parameters), check, timeout)

    def _end(self, started, check, timeout):
        run = self._offhook.wait(started, timeout or self._timeout)
        self._request.node.user_properties.append(("offhook_report", run.report_url))
        if check and not run.passed:
            pytest.fail(str(run), pytrace=False)
        return run


# ---- options and fixtures ----

OPTIONS = (  # name, environment, help
    ("url", "OFFHOOK_URL", "URL of the controller"),
    ("key", "OFFHOOK_KEY", "API key with the right run, PUBLIC:SECRET; better in the environment"),
    ("ca", "OFFHOOK_CA", "file with the certificate authority of the controller"),
    ("fingerprint", "OFFHOOK_FINGERPRINT", "of the controller's certificate: sha256//..."),
    ("pool", "OFFHOOK_POOL", "name of the agent pool"),
    ("target", "OFFHOOK_TARGET", "name of the target"),
    ("timeout", "OFFHOOK_TIMEOUT", "seconds after which a run is stopped"),
)


def pytest_addoption(parser):
    group = parser.getgroup("offhook", "tests of an Offhook controller")
    for name, variable, text in OPTIONS:
        group.addoption(f"--offhook-{name}", help=f"{text} (environment: {variable})")


def _setting(config, name):
    variable = next(v for n, v, _ in OPTIONS if n == name)
    return config.getoption(f"--offhook-{name}") or os.environ.get(variable) or None


def _found(offhook, kind, config, name):
    try:
        return offhook.find(kind, _setting(config, name))
    except OffhookError as e:
        raise OffhookError(f"{e} (--offhook-{name})") from None


@pytest.fixture(scope="session")
def offhook(pytestconfig):
    """The controller."""
    url, key = _setting(pytestconfig, "url"), _setting(pytestconfig, "key")
    if not url or not key or ":" not in key:
        raise OffhookError("OFFHOOK_URL and OFFHOOK_KEY (PUBLIC:SECRET) must be set")
    return Offhook(url, key, _setting(pytestconfig, "ca"), _setting(pytestconfig, "fingerprint"),
                   os.environ.get("OFFHOOK_PLAIN_HTTP") == "1")


@pytest.fixture(scope="session")
def offhook_pool(offhook, pytestconfig):
    """The agent pool: the one of --offhook-pool, or the only one."""
    return _found(offhook, "agent-pools", pytestconfig, "pool")


@pytest.fixture(scope="session")
def offhook_target(offhook, pytestconfig):
    """The target: the one of --offhook-target, or the only one."""
    return _found(offhook, "targets", pytestconfig, "target")


@pytest.fixture
def offhook_run(offhook, request, pytestconfig):
    """Runs tests and waits for their verdicts."""
    timeout = _setting(pytestconfig, "timeout")
    return Runner(offhook, request, float(timeout) if timeout else None)

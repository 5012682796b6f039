"""Registration: digests checked by another implementation, failure responses, routes."""
import re
import time

import pytest

from bench import CALLER, Bench, state_condition
from digest import parameters, response
from peers import SUBSCRIBERS
from ports import PortBlock
from sip_peer import SipPeer, firsts, once
from times import at_least
from until import until

PASSWORD = SUBSCRIBERS[CALLER]


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    folder, ports = tmp_path_factory.mktemp("bench"), PortBlock()
    with Bench(folder, ports, proxy=False) as b:
        yield b
    ports.close()


@pytest.fixture(scope="module")
def target(bench):
    """A registrar of the test; each test sets its responses."""
    return bench.target(bench.ports.sip)


def register(bench, target, *steps, conditions=("REGISTER_OK",), **action):
    test = bench.api("POST", "/tests", {
        "name": f"register {time.monotonic_ns()}", "project_id": bench.project_id,
        "scenario": "registration", "agentpool_id": bench.pool_id, "record": "sip",
        "steps": [[{"type": "register", "role": "caller", "target_pool": target,
                    "credential_pool": bench.callers, **action}], *steps],
        "conditions": [state_condition("caller", *conditions)]})["test"]["id"]
    return bench.run(test)


class Registrar:
    """Challenges, then verifies; nonces: after so many uses a nonce is stale."""

    def __init__(self, algorithm, qop, offered=None, uses=1000):
        self.algorithm, self.qop, self.uses = algorithm, qop, uses
        self.offered, self.nonce, self.count = offered or qop, "nonce, 1", 0
        self.wrong = []

    def challenge(self, request, stale=False):
        self.nonce, self.count = f"nonce, {time.monotonic_ns()}", 0
        qop = f', qop="{self.offered}"' if self.offered else ""
        return request.reply(
            401, "Unauthorized",
            f'WWW-Authenticate: Digest realm="a realm", nonce="{self.nonce}", '
            f'algorithm={self.algorithm}, opaque="o"{qop}{", stale=true" if stale else ""}')

    def __call__(self, request):
        value = request.header("authorization")
        if not value:
            return self.challenge(request)
        p = parameters(value)
        self.count += 1
        if p["nonce"] != self.nonce or self.count > self.uses:
            return self.challenge(request, stale=True)
        expected = {"username": CALLER, "realm": "a realm", "uri": request.uri,
                    "algorithm": self.algorithm, "opaque": "o",
                    "response": response((CALLER, PASSWORD),
                                         (request.method, request.uri, request.body), p,
                                         self.algorithm, self.qop)}
        if self.qop:
            expected |= {"qop": self.qop, "nc": f"{self.count:08x}"}
        wrong = {k: (p.get(k), v) for k, v in expected.items() if p.get(k) != v}
        if wrong:
            self.wrong.append(wrong)
            return request.reply(403, "Forbidden")
        return request.registered()


@pytest.mark.parametrize("algorithm", [
    "MD5", "MD5-sess", "SHA-256", "SHA-256-sess", "SHA-512-256", "SHA-512-256-sess"])
@pytest.mark.parametrize("qop, offered", [("auth", "auth-int, auth"), ("auth-int", "auth-int"),
                                          ("", None)])
def test_digest(bench, target, algorithm, qop, offered):
    registrar = Registrar(algorithm, qop, offered)
    with SipPeer(bench.ports.sip, once(registrar)) as peer:
        run, _ = register(bench, target)
    assert registrar.wrong == []
    assert run["status"] == "passed", run["result_description"]
    assert [bool(r.header("authorization")) for r in firsts(peer.requests)[:2]] == [False, True]


def test_nonce_that_becomes_stale(bench, target):
    """Each nonce is valid for one request: refresh and removal are challenged again,
    once each."""
    with SipPeer(bench.ports.sip, once(Registrar("SHA-256", "auth", uses=1))) as peer:
        run, report = register(
            bench, target, [{"type": "wait", "role": "caller", "wait_ms": 4000}],
            [{"type": "unregister", "role": "caller"}], regexpire=3)
    assert run["status"] == "passed", run["result_description"]
    assert all(r["ok"] for r in report["registrations"])
    expires = [r.header("expires") for r in firsts(peer.requests)]
    # challenged and registered, then challenged and refreshed (2.7 s), removed
    assert expires[:4] == ["3"] * 4 and expires[-2:] == ["0", "0"], expires


def test_interval_too_brief_is_obeyed(bench, target):
    def answer(request):
        if int(request.header("expires")) in range(1, 90):
            return request.reply(423, "Interval Too Brief", "Min-Expires: 90")
        return request.registered()
    with SipPeer(bench.ports.sip, answer) as peer:
        run, report = register(bench, target, regexpire=10)
    assert run["status"] == "passed", run["result_description"]
    assert [r.header("expires") for r in firsts(peer.requests)][:2] == ["10", "90"]
    assert report["registrations"][0]["expires_s"] == 90


def test_busy_registrar_is_asked_again(bench, target):
    answers = iter([("Retry-After: 1",), ("Retry-After: 1 (soon)",)])

    def answer(request):
        lines = next(answers, None)
        if lines:
            return request.reply(503, "Service Unavailable", *lines)
        return request.registered()
    with SipPeer(bench.ports.sip, once(answer)):
        run, report = register(bench, target)
    assert run["status"] == "passed", run["result_description"]
    assert at_least(report["registrations"][0]["ms"], 2000)


def test_refused_for_good(bench, target):
    with SipPeer(bench.ports.sip, lambda r: r.reply(403, "Go Away")):
        run, _ = register(bench, target)
    assert run["status"] == "failed"
    assert f"1001 at 127.0.0.1:{bench.ports.sip} over UDP was refused: 403 Go Away" \
        in run["result_description"]


def test_other_contacts_do_not_count(bench, target):
    """The registrar lists the bindings of other devices too."""
    def answer(request):
        mine = request.header("contact")
        return request.reply(200, "OK", f"Contact: <sip:desk@127.0.0.9>;expires=7, {mine};"
                                        "expires=600, <sip:mobile@127.0.0.8>;expires=9")
    with SipPeer(bench.ports.sip, answer) as peer:
        run, report = register(bench, target,
                               [{"type": "unregister", "role": "caller"}])
    assert run["status"] == "passed", run["result_description"]
    assert report["registrations"][0]["expires_s"] == 600
    # only our binding is removed
    assert "*" not in peer.requests[-1].header("contact")
    assert peer.requests[-1].header("expires") == "0"


def test_service_route_is_used_and_path_supported(bench, target):
    """Requests after the registration follow the Service-Route of its 200."""
    base = bench.ports.base
    other = base + 12

    def answer(request):
        return request.registered(
            None, f"Service-Route: <sip:127.0.0.1:{other};lr>, <sip:home.test;lr>",
            "Service-Route: <sip:last.test;lr>")
    with SipPeer(bench.ports.sip, answer) as registrar, \
            SipPeer(other, lambda r: r.reply(200, "OK")) as edge:
        run, _ = register(bench, target, [{"type": "options", "role": "caller"}])
    assert run["status"] == "passed", run["result_description"]
    request, = firsts(edge.requests)
    assert request.method == "OPTIONS"
    assert request.headers["route"] == [f"<sip:127.0.0.1:{other};lr>", "<sip:home.test;lr>",
                                        "<sip:last.test;lr>"]
    supported = registrar.requests[0].header("supported")
    assert {w.strip() for w in supported.split(",")} >= {"path", "outbound"}
    assert "route" not in registrar.requests[0].headers
    assert re.search(r';\+sip.instance="<urn:uuid:[0-9a-f-]{36}>";reg-id=1$',
                     registrar.requests[0].header("contact"))


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_flow_is_kept_alive_and_its_loss_is_noticed(bench, transport):
    """The registrar supports RFC 5626; then it stops answering."""
    def answer(request):
        return request.registered(None, "Require: outbound", "Flow-Timer: 1")
    with SipPeer(bench.ports.sip, answer) as peer:
        test = bench.api("POST", "/tests", {
            "name": f"flow {transport}", "project_id": bench.project_id,
            "scenario": "registration", "agentpool_id": bench.pool_id, "record": "sip",
            "steps": [[{"type": "register", "role": "caller", "credential_pool": bench.callers,
                        "target_pool": bench.target(bench.ports.sip, transport)}],
                      [{"type": "options", "role": "caller"}],
                      [{"type": "wait", "role": "caller", "wait_ms": 100000}]],
            "conditions": []})["test"]["id"]
        session = bench.start(test)
        # the next step may begin after several keep-alives
        until(lambda: peer.pings >= 3 and len(firsts(peer.requests)) >= 2)
        requests = firsts(peer.requests)
        assert [r.method for r in requests] == ["REGISTER", "OPTIONS"]
        assert ";ob>" in requests[1].header("contact")
        peer.deaf = True
        until(lambda: failures(bench, session))
        bench.api("POST", f"/runs/{session}/stop")
        run = bench.wait(session)
        report = bench.report(session)
    assert run["status"] == "stopped"
    failed, = (r for r in report["registrations"] if not r["ok"])
    assert failed["reason"].endswith({
        "udp": "is lost: STUN keep-alives are not answered",
        "tcp": "ended: a keep-alive was not answered"}[transport]), failed
    assert f"127.0.0.1:{bench.ports.sip}" in failed["reason"]


def failures(bench, session):
    return [r for r in bench.report(session)["registrations"] if not r["ok"]]

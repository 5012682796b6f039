"""What changed between two runs through a proxy and a media relay: registration, digest, two
roles of our own (docs/reference/differences.md)."""
import json
from contextlib import contextmanager

import pytest

from bench import Bench
from ports import PortBlock
from relay import TO_CALLER, Relay
from test_differences import RUNS, assert_alike, of_kind


@contextmanager
def proxy_lab(folder):
    """Two roles of our own at kamailio, with a media relay that can lose packets."""
    ports = PortBlock()
    with Relay(ports.control, ports.relay, direction=TO_CALLER) as relay, \
            Bench(folder, ports, relay=relay) as bench:
        bench.media_relay = relay
        bench.test_id = bench.single_call(duration=3)
        yield bench
    ports.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    with proxy_lab(tmp_path_factory.mktemp("differences")) as bench:
        yield bench

# What tests below plant that is in no table.
ALONE = ("loss of a relay", "refused password")


def passing(lab):
    run, _ = lab.run(lab.test_id)
    assert run["status"] == "passed", run["result_description"]
    return run


def test_equal_runs_have_no_difference(lab):
    assert_alike(lab, [passing(lab) for _ in range(RUNS)])


def test_loss_of_the_relay_is_named(lab):
    before = passing(lab)
    lab.media_relay.loss = 0.1
    try:
        run, _ = lab.run(lab.test_id)
    finally:
        lab.media_relay.loss = 0.0
    answer = lab.api("GET", f"/runs/{run['id']}/differences?with={before['id']}")
    assert any(d["sentence"].startswith("Packet loss") for d in of_kind(answer["differences"], "media")[:2]), \
        json.dumps(answer["differences"], indent=1)


PLANTED = {
    "header of our own": ({"step.1.1.custom_headers": [["X-Tenant", "blue"]]}, "X-Tenant"),
    "encryption of our own": ({"step.0.1.media_encryption": "sdes", "step.1.1.media_encryption": "sdes"}, "media_encryption"),
    "codecs of our own": ({"step.1.1.audio_codecs": ["PCMA"]}, "audio_codecs"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_override_is_named(lab, name):
    before = passing(lab)
    overrides, part = PLANTED[name]
    run, _ = lab.run(lab.test_id, overrides)
    answer = lab.api("GET", f"/runs/{run['id']}/differences?with={before['id']}")
    assert any(part in d["sentence"] for d in answer["differences"][:2]), \
        json.dumps(answer["differences"], indent=1)


def test_refused_password_is_named(lab):
    """A credential that the registrar refuses: nothing else happens."""
    before = passing(lab)
    run, _ = lab.run(lab.test_id, {
        "step.0.0.credential_pool": lab.credentials("wrong", {"1002": "wrong"})})
    assert run["status"] == "failed"
    answer = lab.api("GET", f"/runs/{run['id']}/differences")
    assert answer["before"]["id"] == before["id"]
    assert any("REGISTER" in d["sentence"] for d in answer["differences"][:2]), \
        json.dumps(answer["differences"], indent=1)

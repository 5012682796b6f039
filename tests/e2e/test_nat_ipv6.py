"""ICE and TURN over IPv6 between two engines: each receives every packet that the other
sent, and a capture agrees."""
import os

import pytest

from capture import Capture
from netns import SIX, cable_of_both
from test_nat import assert_relayed, path, tls_files  # noqa: F401
from test_rtpengine import Answerer
from test_srtp import RTP, assert_exact, call, streams
from turn import CREDENTIALS, TURNSERVER, Coturn, at_server

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for network namespaces")

NEAR, FAR = SIX
FAR_RTP = (30000, 30099)


@pytest.fixture(scope="module")
def both():
    with cable_of_both("v") as names:
        yield names


def pair(build, both, theirs, *ours):
    """A call of 2 s. @return (our result, the other's)"""
    with Answerer(build, both[1], "--user", "six", *theirs, bind=FAR) as answerer:
        code, result = call(build, both[0], "--duration", "2", *ours, to=f"sip:six@[{FAR}]",
                            bind=NEAR)
        assert code == 0, (result["reason"], result["asserts"])
        return result, answerer.result()


ICE = ["--nat", "ice"]


@pytest.mark.parametrize("theirs,ours", [
    (ICE, ICE), (ICE, [*ICE, "--ice-lite"]), ([*ICE, "--ice-lite"], [*ICE, "--rtcp-mux"]),
    ([*ICE, "--encryption", "dtls"], [*ICE, "--encryption", "dtls"]),
    ([*ICE, "--encryption", "dtls"], [*ICE, "--encryption", "dtls", "--no-rtcp-mux"])],
    ids=["full", "lite-calls", "lite-is-called", "dtls", "dtls-on-two-ports"])
def test_ice(tmp_path, build, both, theirs, ours):
    with Capture(tmp_path, RTP, both[0], "va") as capture:
        result, answered = pair(build, both, theirs, *ours)
    for side in (result, answered):
        print(path(side))
        assert path(side)["connected"] and path(side)["by"] == "ice"
        assert ("srtp_suite" in streams(side)["in"]) == ("dtls" in ours)
    assert path(result)["rtp"]["local"].startswith(f"[{NEAR}]:")
    near, other = streams(result), streams(answered)
    assert_exact(near, capture)
    for sent, received in ((near["out"], other["in"]), (other["out"], near["in"])):
        assert sent["packets"] == received["packets"] > 50 and received["lost"] == 0


@pytest.mark.skipif(not TURNSERVER, reason="needs coturn")
@pytest.mark.parametrize("transport", ["udp", "tcp", "tls"])
def test_turn(tmp_path, build, both, tls_files, transport):  # noqa: F811
    with Coturn(tmp_path, both[1], *tls_files, host=FAR), \
            Capture(tmp_path, FAR_RTP, both[1], "lo") as capture, \
            at_server(tmp_path, both[1]) as server_side:
        result, answered = pair(build, both, [], "--nat", "turn", "--turn-server", f"[{FAR}]:3478",
                                "--turn-transport", transport,
                                *(["--turn-insecure"] if transport == "tls" else []), *CREDENTIALS)
    print(path(result))
    assert path(result)["rtp"]["local"].startswith(f"[{FAR}]:")
    assert path(result)["rtp"]["local_type"] == "relay"
    near, other = streams(result), streams(answered)
    assert_relayed(near, capture, server_side, transport)
    assert near["out"]["packets"] == other["in"]["packets"] > 50 and other["in"]["lost"] == 0
    assert result["evidence"]["invalid_packets"] == 0

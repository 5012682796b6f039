"""The tap and the engine measure the same call: plain and encrypted, IPv4 and IPv6,
with and without loss.

Each of our programs is at one side of the cable; lost packets never reach it."""
import os
import subprocess

import pytest

from netns import SIX, cable_of_both
from test_rtpengine import Answerer
from test_srtp import RTP, call, streams
from test_tap import of, tap_json

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for network namespaces")

HOSTS = {4: ("10.99.0.1", "10.99.0.2"), 6: SIX}
FAR_RTP = (30000, 30099)


@pytest.fixture(scope="module")
def both():
    """A cable with addresses of both families."""
    with cable_of_both("t") as names:
        yield names


# The first byte of the UDP payload: version 2 in RTP and SRTP, but not in DTLS. A
# handshake that loses packets would take seconds of the call.
IS_RTP = {4: "0>>22&0x3C@8>>30=2", 6: "48>>30=2"}


def drop(namespace, family, way):
    """Drop every eleventh RTP packet, from the third on."""
    tables = "iptables" if family == 4 else "ip6tables"
    done = subprocess.run(
        ["ip", "netns", "exec", namespace, tables, way, "OUTPUT", "-p", "udp", "--dport",
         f"{RTP[0]}:{RTP[1]}", "-m", "length", "--length", "150:300", "-m", "u32", "--u32",
         IS_RTP[family], "-m", "statistic", "--mode", "nth", "--every", "11", "--packet", "3",
         "-j", "DROP"], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no packets can be dropped: {done.stderr}")


@pytest.mark.parametrize("encryption", ["none", "sdes-mandatory", "dtls"])
@pytest.mark.parametrize("lossy", [False, True], ids=["clean", "lossy"])
@pytest.mark.parametrize("family", [4, 6])
def test_tap_and_engine_agree(build, both, family, lossy, encryption):
    ours, theirs = both
    near, far = HOSTS[family]
    uri = f"sip:t@{far}" if family == 4 else f"sip:t@[{far}]"
    if lossy:
        drop(theirs, family, "-A")
    try:
        with Answerer(build, theirs, "--user", "t", "--encryption", encryption, bind=far) as answerer, \
                tap_json("va", "--filter", f"udp and portrange {RTP[0]}-{RTP[1]} or port 5060",
                         prefix=("ip", "netns", "exec", ours)) as seen:
            code, result = call(build, ours, "--duration", "3", "--encryption", encryption, to=uri,
                                bind=near)
            assert code == 0, result["reason"]
            answered = answerer.result()
    finally:
        if lossy:
            drop(theirs, family, "-D")
    assert of(seen, "tap")[-1]["dropped"] == 0
    told, sent = streams(result)["in"], streams(answered)["out"]
    for stream in (told, streams(result)["out"]):
        tapped, = (s for s in of(seen, "stream") if s["key"]["ssrc"] == stream["ssrc"])
        assert tapped["packets"] == stream["packets"], (tapped, stream)
        if stream is not told:
            continue
        print(f"IPv{family} {encryption}: {told['packets']} of {sent['packets']} packets, lost "
              f"{told['lost']}, jitter {told['jitter_ms']['avg']:.6f} ms, tap "
              f"{tapped['jitter_ms']['avg']:.6f} ms")
        for member in ("expected", "lost", "duplicates", "reordered"):
            assert tapped[member] == told[member], (member, tapped, told)
        for member in ("avg", "max", "p95"):
            assert abs(tapped["jitter_ms"][member] - told["jitter_ms"][member]) < 0.1, member
        assert tapped["announced"] and tapped["codec"] == "PCMA"
    assert (told["lost"] > 5) == lossy and ("srtp_suite" in told) == (encryption != "none")
    # the sender gets an error for a packet that the kernel dropped; the last packet may
    # be one of them
    assert sent["packets"] == told["packets"]
    assert answered["evidence"]["send_errors"] - told["lost"] in (0, 1)

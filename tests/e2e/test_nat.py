"""Media through NATs with foreign peers: baresip, coturn and the kernel's NAT; packets
are counted by an independent capture."""
import os
import subprocess
from contextlib import contextmanager

import pytest

from capture import Capture
from netns import NO_FLOW, translated
from phones import BARESIP, OURS, Baresip
from test_srtp import RTP, assert_exact, call, streams
from turn import (CREDENTIALS, RELAYS, SERVER, TURNSERVER, Coturn, at_server, bound_at,
                  relayed)

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not BARESIP,
                                reason="needs root for network namespaces, and baresip")
needs_coturn = pytest.mark.skipif(not TURNSERVER, reason="needs coturn")

PHONE_PORTS = (30000, 30100)
# of UDP only SIP passes
ONLY_SIP = "-A FORWARD -p udp -d 10.99.0.2 ! --dport 5060 -j DROP"
# only SIP and the TURN server pass
ONLY_TURN = "-A FORWARD -p udp -d 10.99.0.2 -m multiport ! --dports 3478,5060 -j DROP"


def path(result):
    found, = result["calls"]
    return found["path"]


def phone(folder, namespace, ice=True, mux=True, encryption=None):
    nat = ";medianat=ice" if ice else ""
    menc = f";mediaenc={encryption}" if encryption else ""
    return Baresip(folder, namespace, "PCMA", nat + menc,
                   ["ice"] * ice + [encryption] * bool(encryption),
                   [f"rtcp_mux {'yes' if mux else 'no'}"])


@pytest.mark.parametrize("mux,encryption", [(False, None), (True, None), (False, "dtls_srtp")])
def test_ice_with_baresip(tmp_path, build, namespaces, mux, encryption):
    """Two host candidates; baresip answers checks and sends its own. DTLS-SRTP without
    rtcp-mux uses the pair of each component."""
    with phone(tmp_path, namespaces[1], mux=mux, encryption=encryption) as peer:
        with Capture(tmp_path, RTP, namespaces[0], "va") as capture:
            code, result = call(build, namespaces[0], "--duration", "3", "--nat", "ice",
                                *["--rtcp-mux"] * mux, *["--encryption", "dtls"] * bool(encryption))
    assert code == 0, (result, peer.text())
    print(path(result))
    assert path(result)["connected"], peer.text()
    assert path(result)["role"] == "controlling"
    assert path(result)["rtp"]["local"].startswith(OURS)
    assert path(result)["rtp"]["remote_type"] == "host"
    assert ("rtcp" in path(result)) != mux
    assert ("srtp_suite" in streams(result)["in"]) == bool(encryption)
    assert_exact(streams(result), capture)


# Packets that the server did not relay at the start and the end of a call: those of 0.8 s, as a machine may stand
# still.
UNRELAYED_MAX = 40


def assert_relayed(found, capture, server_side, transport):
    """Every packet that the server relayed reached us.

    A peer may send before the server has our channel for it, one round trip after the
    server's answer: the server drops such packets. It also drops what waits in its
    socket when we release the allocation. For TLS only the sum is known."""
    captured = capture.streams()
    ssrcs = {way: int(found[way]["ssrc"], 16) for way in ("in", "out")}
    came, went = ([s for key, s in captured.items() if key[0] == ssrcs[way]][0]
                  for way in ("in", "out"))
    print(f"in: {found['in']['packets']} packets, capture {len(came.packets)}; "
          f"out: {found['out']['packets']}, capture {len(went.packets)}")
    assert found["out"]["packets"] == len(went.packets) and went.lost() == 0
    assert found["in"]["lost"] == 0 and found["in"]["duplicates"] == 0
    assert 0 <= len(came.packets) - found["in"]["packets"] <= UNRELAYED_MAX
    if transport == "tls":
        return
    through, bound = relayed(server_side, transport, ssrcs["in"]), bound_at(server_side, transport)
    last = max(t for t, number, _ in came.packets if number in through)
    dropped = [t for t, number, _ in came.packets if number not in through]
    print(f"{sum(t < bound for t, _, _ in came.packets)} came before the channel; not relayed: "
          f"{sum(t < bound for t in dropped)} of them, {sum(t > last for t in dropped)} at the end")
    assert found["in"]["packets"] == len(through)
    assert all(t < bound or t > last for t in dropped), (dropped, bound, last)


@needs_coturn
@pytest.mark.parametrize("mux", [False, True])
def test_turn_relays(tmp_path, build, namespaces, mux):
    """All media goes through the relay, whose other side is captured."""
    with Coturn(tmp_path, namespaces[1]) as server, \
            phone(tmp_path, namespaces[1], ice=False, mux=mux) as peer:
        with Capture(tmp_path, PHONE_PORTS, namespaces[1], "lo") as capture, \
                at_server(tmp_path, namespaces[1]) as server_side:
            code, result = call(build, namespaces[0], "--duration", "2", "--nat", "turn",
                                "--turn-server", SERVER, *CREDENTIALS, *["--rtcp-mux"] * mux)
    assert code == 0, (result, peer.text(), server.text())
    print(path(result))
    assert path(result)["by"] == "turn" and path(result)["rtp"]["local_type"] == "relay"
    port = int(path(result)["rtp"]["local"].split(":")[1])
    assert RELAYS[0] <= port <= RELAYS[1]
    assert_relayed(streams(result), capture, server_side, "udp")
    assert result["evidence"]["foreign_packets"] == 0
    assert result["evidence"]["invalid_packets"] == 0


@pytest.fixture(scope="module")
def tls_files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("turns")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                    "-subj", "/CN=turn.example.net", "-keyout", folder / "key.pem",
                    "-out", folder / "cert.pem"], check=True, capture_output=True)
    return ["--cert", str(folder / "cert.pem"), "--pkey", str(folder / "key.pem"), "--no-dtls"]


@needs_coturn
@pytest.mark.parametrize("transport", ["tcp", "tls"])
def test_turn_by_stream(tmp_path, build, namespaces, tls_files, transport):
    """To the server over TCP or TLS, from there over UDP: equally exact."""
    with Coturn(tmp_path, namespaces[1], *tls_files) as server, \
            phone(tmp_path, namespaces[1], ice=False, mux=False) as peer:
        with Capture(tmp_path, PHONE_PORTS, namespaces[1], "lo") as capture, \
                at_server(tmp_path, namespaces[1]) as server_side:
            code, result = call(build, namespaces[0], "--duration", "2", "--nat", "turn",
                                "--turn-server", SERVER, "--turn-transport", transport,
                                *(["--turn-insecure"] if transport == "tls" else []), *CREDENTIALS)
    assert code == 0, (result, peer.text(), server.text())
    assert path(result)["rtp"]["local_type"] == "relay"
    assert_relayed(streams(result), capture, server_side, transport)
    assert result["evidence"]["invalid_packets"] == 0
    assert result["evidence"]["send_errors"] == 0


@needs_coturn
def test_turn_certificate_is_verified(tmp_path, build, namespaces, tls_files):
    with Coturn(tmp_path, namespaces[1], *tls_files), \
            phone(tmp_path, namespaces[1], ice=False):
        code, result = call(build, namespaces[0], "--duration", "1", "--nat", "turn",
                            "--turn-server", SERVER, "--turn-transport", "tls", *CREDENTIALS)
    assert code == 1
    assert "the TURN server's certificate is not valid" in result["reason"]


@needs_coturn
def test_ice_through_stream_relay(tmp_path, build):
    """ICE with a relay that is reached over TCP only."""
    with behind_nat(tmp_path, ONLY_SIP) as (ours, theirs, peer):
        with Capture(tmp_path, PHONE_PORTS, theirs, "lo") as capture:
            code, result = call(build, ours, *BIND, "--duration", "6", "--nat", "ice",
                                "--rtcp-mux", "--turn-server", SERVER, "--turn-transport", "tcp",
                                *CREDENTIALS)
    assert code == 0, (result, peer.text())
    assert path(result)["rtp"]["local_type"] == "relay"
    assert_exact(streams(result), capture)


@needs_coturn
def test_turn_refuses(tmp_path, build, namespaces):
    """The server's error response ends the call and is its reason."""
    with Coturn(tmp_path, namespaces[1]), phone(tmp_path, namespaces[1], ice=False):
        code, result = call(build, namespaces[0], "--duration", "1", "--nat", "turn",
                            "--turn-server", SERVER, *CREDENTIALS[:3], "wrong")
    assert code == 1
    assert "the TURN server says 401" in result["reason"]
    assert "401" in result["asserts"][0]["text"]
    assert "wrong" not in str(result)


@contextmanager
def behind_nat(folder, *rules, **options):
    """(ours, the phone's namespace, the phone)"""
    with translated(*rules) as (ours, theirs), Coturn(folder, theirs), \
            phone(folder, theirs, **options) as peer:
        yield ours, theirs, peer


BIND = ["--bind", "10.98.0.2"]


@needs_coturn
def test_stun_through_nat(tmp_path, build):
    """The SDP has our address as mapped by the NAT. The NAT admits only hosts that we
    sent to."""
    with behind_nat(tmp_path, NO_FLOW, ice=False) as (ours, theirs, peer):
        with Capture(tmp_path, PHONE_PORTS, theirs, "vb") as capture:
            code, result = call(build, ours, *BIND, "--duration", "2", "--nat", "stun",
                                "--stun-server", SERVER)
    assert code == 0, (result, peer.text())
    print(path(result))
    assert path(result)["rtp"]["local_type"] == "srflx"
    assert path(result)["rtp"]["local"].startswith("10.99.0.1:")
    found = streams(result)
    came, went = (next(s.packets for key, s in capture.streams().items()
                       if key[0] == int(found[way]["ssrc"], 16)) for way in ("in", "out"))
    early = sum(t < went[0][0] for t, _, _ in came)
    kept_out = len(came) - found["in"]["packets"]
    print(f"{early} came to the NAT before ours opened it, {kept_out} were kept out")
    assert 0 <= kept_out <= early
    found["in"]["packets"] += kept_out
    assert_exact(found, capture)


@needs_coturn
def test_ice_through_nat(tmp_path, build):
    with behind_nat(tmp_path) as (ours, theirs, peer):
        with Capture(tmp_path, PHONE_PORTS, theirs, "vb") as capture:
            code, result = call(build, ours, *BIND, "--duration", "3", "--nat", "ice",
                                "--rtcp-mux", "--stun-server", SERVER)
    assert code == 0, (result, peer.text())
    print(path(result))
    assert path(result)["rtp"]["local_type"] in ("srflx", "prflx")
    assert path(result)["rtp"]["local"].startswith("10.99.0.1:")
    assert_exact(streams(result), capture)


@needs_coturn
@pytest.mark.parametrize("encryption", [None, "dtls_srtp", "srtp"])
def test_ice_through_relay(tmp_path, build, encryption):
    """A firewall blocks every path except the relay: ICE finds it."""
    ours_option = {"dtls_srtp": ["--encryption", "dtls"],
                   "srtp": ["--encryption", "sdes"]}.get(encryption, [])
    with behind_nat(tmp_path, ONLY_TURN, encryption=encryption) as (ours, theirs, peer):
        with Capture(tmp_path, PHONE_PORTS, theirs, "lo") as capture:
            code, result = call(build, ours, *BIND, "--duration", "6", "--nat", "ice",
                                "--rtcp-mux", "--stun-server", SERVER, "--turn-server", SERVER,
                                *CREDENTIALS, *ours_option)
    assert code == 0, (result, peer.text())
    print(path(result))
    assert path(result)["rtp"]["local_type"] == "relay"
    found = streams(result)
    assert ("srtp_suite" in found["in"]) == bool(encryption)
    assert_exact(found, capture)

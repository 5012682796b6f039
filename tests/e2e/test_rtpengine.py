"""Calls through rtpengine, which changes the media encryption on the way: each side
receives every packet that the other sent, and captures agree."""
import json
import os
import subprocess

import pytest

from capture import Capture
from netns import cable
from rtpengine import HOST, KAMAILIO, RTPENGINE, SIP_PORT, RtpengineProxy
from test_srtp import RTP, assert_exact, call, streams

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not RTPENGINE or not KAMAILIO,
    reason="needs root for network namespaces, kamailio and rtpengine-daemon")


FAR_RTP = (30000, 30099)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory):
    with cable("r") as (ours, theirs):
        with RtpengineProxy(tmp_path_factory.mktemp("rtpengine"), theirs) as running:
            yield ours, theirs, running


class Answerer:
    """Our own program beside rtpengine, which answers one call."""

    def __init__(self, build, namespace, *options, bind=HOST):
        self._command = [
            "ip", "netns", "exec", namespace, str(build / "offhook"), "answer", "--bind", bind,
            "--sip-port", "5060", "--rtp-ports", f"{FAR_RTP[0]}-{FAR_RTP[1]}", "--codec", "PCMA", "--json",
            *options]
        self._namespace = namespace

    def __enter__(self):
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True)
        listening = ["ip", "netns", "exec", self._namespace, "ss", "-Hlun", "sport", "=", "5060"]
        while not subprocess.run(listening, capture_output=True, check=True).stdout:
            assert self._process.poll() is None, self._process.communicate()
        return self

    def result(self):
        out, err = self._process.communicate(timeout=60)
        assert out, err
        return json.loads(out)

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


# name: user part, options of the caller, options of the callee
CASES = {
    "plain": ("plain", [], []),
    "sdes-to-plain": ("plain", ["--encryption", "sdes-mandatory"], []),
    "plain-to-sdes": ("srtp", [], ["--encryption", "sdes-mandatory"]),
    "dtls-to-plain": ("demux", ["--encryption", "dtls"], []),
    "plain-to-dtls": ("dtls", [], ["--encryption", "dtls"]),
    "dtls-on-two-ports-to-plain": ("demux", ["--encryption", "dtls", "--no-rtcp-mux"], []),
    "plain-to-dtls-on-two-ports": ("dtls", [], ["--encryption", "dtls", "--no-rtcp-mux"]),
    "sdes-to-dtls": ("dtls", ["--encryption", "sdes-mandatory"], ["--encryption", "dtls"]),
    "ice": ("ice", ["--nat", "ice"], ["--nat", "ice"]),
    "ice-lite": ("ice", ["--nat", "ice", "--ice-lite"], ["--nat", "ice"]),
}


ATTEMPTS = 5   # calls with rtpengine's nomination missing
DELAY_S = 0.5   # of a program that waits for a processor; a call lasts 2 s


def call_through(folder, build, proxy, case):
    """One call: (result of the caller, of the callee, capture of the near side, of the
    far side); None if rtpengine nominated no pair towards a lite agent."""
    user, ours, theirs = CASES[case]
    namespace, far, running = proxy
    with Answerer(build, far, "--user", user, *theirs) as answerer:
        (folder / "far").mkdir(parents=True)
        with Capture(folder, RTP, namespace, "va") as capture, \
                Capture(folder / "far", FAR_RTP, far) as beyond:
            code, result = call(build, namespace, "--duration", "2", *ours,
                                to=f"sip:{user}@{HOST}:{SIP_PORT}")
        if "--ice-lite" in ours and not nominations(capture):
            assert code == 1 and "no audio went to" in result["reason"], result["reason"]
            print("rtpengine nominated no pair")
            return None
        assert code == 0, (result["reason"], running.text())
        return result, answerer.result(), capture, beyond


def nominations(capture):
    """Number of ICE checks that nominate their pair (USE-CANDIDATE, RFC 8445 7.1.2)."""
    return len(capture.datagrams("stun.type == 0x0001 and stun.att.type == 0x0025"))


@pytest.mark.parametrize("case", CASES)
def test_through_rtpengine(tmp_path, build, proxy, case):
    _, ours, theirs = CASES[case]
    calls = (call_through(tmp_path / str(number), build, proxy, case)
             for number in range(ATTEMPTS))
    done = next((done for done in calls if done), None)
    assert done, f"rtpengine nominated no pair in {ATTEMPTS} calls"
    result, answered, capture, beyond = done
    near, other = streams(result), streams(answered)
    assert_exact(near, capture)
    # RTP only; unauthentic RTCP is counted, too
    leaked = other["in"].get("srtp_auth_failed", 0) - refused_reports(beyond)
    assert leaked >= 0
    other["in"]["packets"] += leaked
    assert_exact(other, beyond)
    other["in"]["packets"] -= leaked
    assert ("srtp_suite" in near["in"]) == ("--encryption" in ours)
    assert ("srtp_suite" in other["in"]) == ("--encryption" in theirs)
    if case.startswith("ice"):
        for side in (result, answered):
            path = side["calls"][0]["path"]
            print(path)
            assert path["connected"] and path["by"] == "ice"
    shaken = max(handshake_end(capture), handshake_end(beyond))
    # rtpengine has the answer before the caller has it, but the callee sends even
    # before that
    answered_at = min(t for key, s in capture.streams().items()
                      if key[0] == int(near["out"]["ssrc"], 16) for t, _, _ in s.packets)
    for name, sent, received, before, behind, refused, known in (
            ("to it", near["out"], other["in"], capture, beyond, leaked, shaken),
            ("from it", other["out"], near["in"], beyond, capture, 0, max(shaken, answered_at))):
        dropped, early, late = lost_at_start(int(sent["ssrc"], 16), before, behind, known)
        print(f"{case} {name}: sent {sent['packets']}, received {received['packets']}, dropped by "
              f"rtpengine before it had answer and handshake {dropped}, let through in plain {refused}, after its BYE {late}")
        assert sent["packets"] == received["packets"] + refused + dropped + late
        assert refused <= early and (refused == 0 or "dtls" in case)
        assert dropped == 0 or "dtls" in case or name == "from it"
        assert received["lost"] == 0 and received["duplicates"] == 0


def refused_reports(capture):
    """Number of RTCP packets that reached the callee before the DTLS handshake of their
    port had ended.

    They are unencrypted, or encrypted with the keys of the RTP port's handshake. If
    rtpengine misses the first flight of the RTCP port's handshake, it is retransmitted
    after a second; the first report is due after 0.5 to 1.4 s."""
    passed = capture.datagrams()
    over = {}   # callee's port: time of the last record of its handshake
    for t, source, to, data in passed:
        if data[0] in (20, 22):
            over[to if FAR_RTP[0] <= to <= FAR_RTP[1] else source] = t
    return sum(data[0] >> 6 == 2 and 192 <= data[1] <= 223 and t < over.get(to, 0)
               for t, _, to, data in passed)


def handshake_end(capture):
    """Time of the last record of a DTLS handshake; 0: there was none."""
    return max((t for t, _, _, data in capture.datagrams() if data[0] in (20, 22)), default=0)


def lost_at_start(ssrc, before, behind, known):
    """(packets that rtpengine did not forward at the start, packets that it received
    before it had the keys of the other side, packets that it received after it had
    deleted the call)."""
    sent, = (s.packets for key, s in before.streams().items() if key[0] == ssrc)
    came, = (s.packets for key, s in behind.streams().items() if key[0] == ssrc)
    got = {seq for _, seq, _ in came}
    last = max(t for t, seq, _ in sent if seq in got)
    missing = [t for t, seq, _ in sent if seq not in got and t < last]
    # deriving the keys after the last record takes a moment; no later packet is missing
    assert all(t < known + DELAY_S for t in missing), (missing, known)
    # with the BYE, which the sender has not received yet
    late = [t for t, _, _ in sent if t > last]
    assert len(late) <= DELAY_S / 0.02, late
    return len(missing), sum(t < known + DELAY_S for t, _, _ in sent), len(late)

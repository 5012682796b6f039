"""Calls through rtpengine, which changes how media is protected on its way:
what one side sent the other received, to the packet, and captures agree."""
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
    """Our own program beside rtpengine, for one call."""

    def __init__(self, build, namespace, *options):
        self._command = [
            "ip", "netns", "exec", namespace, str(build / "offhook"), "answer", "--bind", HOST,
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
        out, err = self._process.communicate(timeout=30)
        assert out, err
        return json.loads(out)

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


# name: user part, the caller's options, the callee's
CASES = {
    "plain": ("plain", [], []),
    "sdes-to-plain": ("plain", ["--encryption", "sdes-mandatory"], []),
    "plain-to-sdes": ("srtp", [], ["--encryption", "sdes-mandatory"]),
    "dtls-to-plain": ("demux", ["--encryption", "dtls"], []),
    "plain-to-dtls": ("dtls", [], ["--encryption", "dtls"]),
    "sdes-to-dtls": ("dtls", ["--encryption", "sdes-mandatory"], ["--encryption", "dtls"]),
    "ice": ("ice", ["--nat", "ice"], ["--nat", "ice"]),
    "ice-lite": ("ice", ["--nat", "ice", "--ice-lite"], ["--nat", "ice"]),
}


@pytest.mark.parametrize("case", CASES)
def test_through_rtpengine(tmp_path, build, proxy, case):
    user, ours, theirs = CASES[case]
    namespace, far, running = proxy
    with Answerer(build, far, "--user", user, *theirs) as answerer:
        (tmp_path / "far").mkdir()
        with Capture(tmp_path, RTP, namespace, "va") as capture, \
                Capture(tmp_path / "far", FAR_RTP, far) as beyond:
            code, result = call(build, namespace, "--duration", "2", *ours,
                                to=f"sip:{user}@{HOST}:{SIP_PORT}")
        assert code == 0, (result["reason"], running.text())
        answered = answerer.result()
    near, other = streams(result), streams(answered)
    assert_exact(near, capture)
    # until its handshake is over rtpengine lets plain RTP through to who
    # expects SRTP
    leaked = other["in"].get("srtp_auth_failed", 0)
    assert leaked <= (5 if "--encryption" in theirs and "dtls" in theirs else 0)
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
    print(f"{case}: sent {near['out']['packets']}, received {other['in']['packets']}; "
          f"sent {other['out']['packets']}, received {near['in']['packets']}")
    for sent, received in ((near["out"], other["in"]), (other["out"], near["in"])):
        # what comes to rtpengine before its handshake with the other side is
        # over it drops
        waited = sent["packets"] - received["packets"]
        assert 0 <= waited <= (20 if "dtls" in case else 0)
        assert received["lost"] == 0 and received["duplicates"] == 0

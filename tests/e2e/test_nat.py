"""Media through NATs, with foreign peers; packets counted by an independent
capture."""
import os

import pytest

from capture import Capture
from test_codecs import BARESIP, namespaces, tone_write  # noqa: F401
from test_srtp import OURS, RTP, BaresipPhone, assert_exact, call, streams

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for network namespaces")


def path(result):
    found, = result["calls"]
    return found["path"]


@pytest.mark.parametrize("mux", [False, True])
def test_ice_with_baresip(tmp_path, build, namespaces, mux):
    """Two host candidates meet; baresip answers the checks and sends its own."""
    if not BARESIP:
        pytest.skip("needs baresip")
    with BaresipPhone(tmp_path, namespaces[1], ";medianat=ice", ["ice"],
                      [f"rtcp_mux {'yes' if mux else 'no'}"]) as phone:
        with Capture(tmp_path, RTP, namespaces[0], "va") as capture:
            code, result = call(build, namespaces[0], "--duration", "3", "--nat", "ice",
                                *["--rtcp-mux"] * mux)
    assert code == 0, (result, phone.text())
    print(path(result))
    assert path(result)["connected"], phone.text()
    assert path(result)["role"] == "controlling"
    assert path(result)["rtp"]["local"].startswith(OURS)
    assert path(result)["rtp"]["remote_type"] == "host"
    assert ("rtcp" in path(result)) != mux
    assert_exact(streams(result), capture)

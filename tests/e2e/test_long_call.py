"""A minute of audio: every packet is sent, and on time."""
import pytest

import g107
from bench import Bench, assert_no_flaws, evidence, stream
from capture import Capture


def test_long_call_sends_every_packet_in_time(tmp_path, ports):
    """60 s at 20 ms: 3000 packets per direction, plus or minus one. The called side
    sends until it learns of the end: as many packets more."""
    with Bench(tmp_path, ports) as bench:
        with Capture(tmp_path, ports.rtp) as capture:
            run, report = bench.run(bench.single_call(duration=60), timeout=120)
    assert run["status"] == "passed", run["result_description"]
    captured = {key[0]: found.packets for key, found in capture.streams().items()}
    for role in ("caller", "callee"):
        sent = stream(report, role, "out")
        lateness = evidence(report, role)["send_lateness_ms"]
        print(f"{role}: sent {sent['packets']} packets, lateness p99 "
              f"{lateness['p99']} ms, max {lateness['max']} ms")
        packets = captured[int(sent["ssrc"], 16)]
        assert sent["packets"] == len(packets)
        seconds = packets[-1][0] - packets[0][0]
        late = max(0, seconds - 59.98) / 0.02 if role == "callee" else 0
        assert -1 <= len(packets) - 3000 <= 1 + late
    assert_no_flaws(report)
    assert g107.mos(g107.R_DEFAULT) == pytest.approx(
        stream(report, "caller", "in")["mos_total"], abs=0.005)

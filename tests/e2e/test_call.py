"""One call through the proxy, compared with an independent capture."""
import pytest

from bench import Bench, assert_no_flaws, stream
from capture import Capture

SENDER_OF = {"caller": "callee", "callee": "caller"}


@pytest.fixture(scope="module")
def call(tmp_path_factory):
    """A call of 10 s with its capture: (bench, run, report, capture)."""
    from ports import PortBlock
    folder, ports = tmp_path_factory.mktemp("call"), PortBlock()
    with Bench(folder, ports) as bench:
        with Capture(folder, ports.rtp) as capture:
            run, report = bench.run(bench.single_call(duration=10))
        yield bench, run, report, capture
    ports.close()


def test_call_passes(call):
    _, run, report, _ = call
    assert run["status"] == "passed", run["result_description"]
    assert (run["has_passed"], run["is_failed"], run["is_finished"]) == (1, 0, 1)
    assert run["result_description"] == ""
    assert len(report["calls"]) == 2
    for found in report["calls"]:
        assert found["established"], found
        assert abs(found["duration_ms"] - 10000) < 1000, found
    caller, = (c for c in report["calls"] if c["role"] == "caller")
    assert 0 < caller["pdd_ms"] < 5000
    assert len(report["registrations"]) >= 2
    assert_no_flaws(report)


@pytest.mark.parametrize("role", ["caller", "callee"])
def test_metrics_agree_with_the_capture(call, role):
    """Packets and loss are equal, mean jitter differs by less than 0.2 ms, RTT is
    present, MOS is 4.41."""
    _, _, report, capture = call
    received = stream(report, role, "in")
    sent = stream(report, SENDER_OF[role], "out")
    assert received["ssrc"] == sent["ssrc"]
    ssrc = int(received["ssrc"], 16)
    witness, = (s for key, s in capture.streams().items() if key[0] == ssrc)
    summary, = (s for key, s in capture.tshark_summary().items() if key[0] == ssrc)
    print(f"{role}: {len(witness.packets)} packets, jitter "
          f"{received['jitter_ms']['avg']} ms, witness {witness.mean_jitter_ms():.4f}, "
          f"tshark {summary['mean_jitter_ms']}")
    assert sent["packets"] == len(witness.packets) == summary["packets"]
    assert received["packets"] == len(witness.packets)
    assert received["lost"] == witness.lost() == summary["lost"] == 0
    assert abs(received["jitter_ms"]["avg"] - witness.mean_jitter_ms()) < 0.2
    assert abs(received["jitter_ms"]["avg"] - summary["mean_jitter_ms"]) < 0.2
    assert received["rtt_ms"]["n"] >= 1 and 0 <= received["rtt_ms"]["avg"] < 1000
    assert round(received["mos_total"], 2) == 4.41
    assert round(received["mos"]["min"], 2) == 4.41


@pytest.mark.parametrize("role", ["caller", "callee"])
def test_api_gives_what_was_measured(call, role):
    bench, run, report, _ = call
    session = run["session_id"]
    total = stream(report, role, "in")
    dimensions = bench.api("GET", f"/runs/{session}/stats")["stats_dimensions"]
    known = {(d["role"], d["dir"], d["stats_measure"]) for d in dimensions}
    for measure in ("rtp_byte_per_sec", "rtp_jitter", "rtp_lost", "rtp_lost_per_sec",
                    "rtp_mos", "rtp_pkt_per_sec", "rtp_rtt"):
        assert (role, "in", measure) in known
    points = bench.points(session, "rtp_lost", role, "in")
    assert sum(float(p["avg"]) for p in points) == total["lost"]
    for point in bench.points(session, "rtp_mos", role, "in"):
        assert round(float(point["avg"]), 2) == 4.41
        assert point["role"] == role and point["dir"] == "in"
        assert point["session_id"] == session
    rates = sorted(float(p["avg"]) for p in
                   bench.points(session, "rtp_pkt_per_sec", role, "in"))
    assert abs(rates[len(rates) // 2] - 50) <= 1
    assert bench.points(session, "rtp_rtt", role, "in")


def test_sip_messages_are_kept_without_passwords(call):
    _, _, report, _ = call
    lines = [m["line"] for m in report["messages"]]
    for wanted in ("REGISTER ", "INVITE ", "ACK ", "BYE "):
        assert any(line.startswith(wanted) for line in lines), wanted
    assert "secret-1001" not in str(report)


def test_no_password_in_logs_or_on_disk(call):
    bench, *_ = call
    for text in [bench.controller.log()] + [a.log() for a in bench.agents]:
        assert "secret-100" not in text
    for folder in [bench.controller.state_dir] + [a.state_dir for a in bench.agents]:
        for path in folder.rglob("*"):
            if path.is_file():
                assert b"secret-100" not in path.read_bytes(), path


def test_run_is_found_by_test_and_in_the_list(call):
    bench, run, *_ = call
    last = bench.api("GET", f"/tests/{run['test_id']}/status/last")
    assert run["session_id"] in str(last)
    listed = bench.api("GET", "/runs?count=10")["runs"]
    assert [r["session_status"] for r in listed
            if r["session_id"] == run["session_id"]] == ["passed"]

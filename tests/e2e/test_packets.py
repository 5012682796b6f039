"""The packets of a run, for Wireshark: what tshark counts in them are the run's own
figures, and what the relay between the agents has seen."""
import re

import pytest

from bench import Bench, stream
from capture import Stream, stream_table, tshark
from relay import TO_CALLEE, TO_CALLER, Relay

SECONDS = 5
OUT_OF = {"caller": TO_CALLEE, "callee": TO_CALLER}
OTHER = {"caller": "callee", "callee": "caller"}
IP_UDP = 28
RTP_HEADER = 12


class Packets:
    """A run's file, read by tshark. It finds SIP on any port, but for a few that are known
    as another protocol's."""

    def __init__(self, file, sip_port):
        self._file, self._sip = file, ("-d", f"udp.port=={sip_port},sip")
        self._tables = {}

    def tshark(self, *arguments):
        return tshark(self._file, *self._sip, *arguments)

    def fields(self, display, *names):
        out = self.tshark("-Y", display, "-T", "fields", *(a for n in names for a in ("-e", n)))
        return [line.split("\t") for line in out.splitlines()]

    def table(self, role):
        """The RTP streams of a role's interface, as files.md tells users: {SSRC: row}."""
        if role not in self._tables:
            out = self.tshark("-2", "-R", f'frame.interface_name == "{role}"', "-q",
                              "-z", "rtp,streams")
            self._tables[role] = {ssrc: row for (ssrc, _, _), row in stream_table(out).items()}
            assert len(self._tables[role]) == 2, out
        return self._tables[role]


def download(bench, session, file):
    answer = bench.controller.session.get(
        f"{bench.controller.url}/run/details/{session}/packets.pcapng",
        auth=bench.controller.keys["admin"], timeout=60)
    assert answer.headers["Content-Type"] == "application/x-pcapng"
    file.write_bytes(answer.content)
    return Packets(file, bench.ports.sip)


def captured_call(bench, **call):
    """@return (session, report) of a call of which both sides capture"""
    test = bench.single_call(duration=SECONDS, rtp_capture=True, **call)
    both = {f"step.0.1.{k}": v for k, v in {"rtp_capture": True, **call}.items()}
    run, report = bench.run(test, both, timeout=90)
    assert run["status"] == "passed", run["result_description"]
    assert report["artifacts_cut"] == report["artifacts_lost"] == []
    return run["session_id"], report


def assert_as_the_run(packets, report, role):
    rows = packets.table(role)
    came, went = stream(report, role, "in"), stream(report, role, "out")
    print(role, rows, came)
    row = rows[int(came["ssrc"], 16)]
    assert (row["packets"], row["lost"]) == (came["received"], came["lost"])
    row = rows[int(went["ssrc"], 16)]
    assert (row["packets"], row["lost"]) == (went["packets"], 0)


def test_tshark_counts_what_the_run_did(tmp_path, ports):
    with Relay(ports.control, ports.relay, 0.05, TO_CALLEE, 11) as relay, \
            Bench(tmp_path, ports, relay) as bench:
        session, report = captured_call(bench)
        packets = download(bench, session, tmp_path / "packets.pcapng")
    assert not relay.errors
    assert stream(report, "callee", "in")["lost"] > 0
    for role, other in OTHER.items():
        assert_as_the_run(packets, report, role)
        sent, = relay.log(OUT_OF[role]).values()
        assert packets.table(role)[sent[0].ssrc]["packets"] == len(sent)
        arrived = [p.seq for p in sent if not p.dropped]
        came = int(stream(report, other, "in")["ssrc"], 16)
        rows = packets.fields(f'frame.interface_name == "{other}" && rtp.ssrc == {came}',
                              "frame.time_epoch", "rtp.seq", "rtp.timestamp")
        heard = Stream(came, 0, 0, [(float(t), int(seq), int(ts)) for t, seq, ts in rows])
        # what the relay has sent after the end of the call came too late
        assert [seq for _, seq, _ in heard.packets] == arrived[:len(heard.packets)]
        # the time stamps are those that the run has measured with
        jitter = heard.mean_jitter_ms()
        print(f"jitter {jitter}", stream(report, other, "in")["jitter_ms"])
        assert jitter == pytest.approx(stream(report, other, "in")["jitter_ms"]["avg"],
                                       rel=0.02, abs=0.02)

    to_relay = f"udp.dstport >= {ports.relay[0]} && udp.dstport <= {ports.relay[1]}"
    assert len(packets.fields(f"rtcp && {to_relay}", "rtcp.pt")) == relay.rtcp_packets > 0
    assert packets.fields(f"rtcp && !({to_relay})", "rtcp.pt")
    # headers alone, of packets of 160 bytes
    sizes = set(map(tuple, packets.fields("rtp", "frame.cap_len", "frame.len")))
    assert sizes == {(str(IP_UDP + RTP_HEADER), str(IP_UDP + RTP_HEADER + 160))}
    order = [line.split() for line in packets.tshark(
        "-Y", 'sip.Method == "INVITE" || rtp || sip.Method == "BYE"', "-T", "fields",
        "-e", "sip.Method", "-e", "rtp.version").splitlines()]
    assert order[0] == ["INVITE"] and order.index(["2"]) < order.index(["BYE"])


def test_srtp_is_encrypted_in_the_file(tmp_path, ports):
    with Bench(tmp_path, ports) as bench:
        session, report = captured_call(bench, media_encryption="sdes-mandatory",
                                        srtp_suites=["AES_CM_128_HMAC_SHA1_80"], record="media")
        packets = download(bench, session, tmp_path / "packets.pcapng")
        kept = {a["name"] for a in bench.api("GET", f"/runs/{session}/artifacts")["artifacts"]}
    assert {"rtp.pcap", "caller-1-in.wav"} <= kept
    for role in OTHER:
        assert_as_the_run(packets, report, role)
    # recorded, so with payload and tag; both agents have the same bytes
    rows = packets.fields("rtp", "frame.interface_name", "rtp.ssrc", "rtp.seq", "frame.cap_len",
                          "udp.payload")
    assert {int(size) for _, _, _, size, _ in rows} == {IP_UDP + RTP_HEADER + 160 + 10}
    sides = [{(ssrc, seq): payload for name, ssrc, seq, _, payload in rows if name == role}
             for role in OTHER]
    both = sides[0].keys() & sides[1].keys()
    assert both and all(sides[0][key] == sides[1][key] for key in both)
    # the prompt's tone in PCMU repeats; encrypted no two packets are alike
    payloads = [payload[2 * RTP_HEADER:] for payload in sides[0].values()]   # in hex
    assert len(set(payloads)) == len(payloads)
    keys = re.findall(r"inline:([A-Za-z0-9+/*=]+)", packets.tshark("-V"))
    assert keys and {*"".join(keys)} == {"A"}, keys
    assert not packets.fields("_ws.malformed", "frame.number")

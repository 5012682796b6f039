"""offhook analyze on captures made here: streams whose payload type changes, and loss
in many long runs. Expectations are computed from what was written."""
import json
import struct

from test_programs import analyze, ethernet, ipv4

SDP = "".join(line + "\r\n" for line in (
    "v=0", "o=- 1 1 IN IP4 {host}", "s=-", "c=IN IP4 {host}", "t=0 0",
    "m=audio {port} RTP/AVP 0 18 13 101 96 97 98", "a=rtpmap:96 opus/48000/2",
    "a=rtpmap:97 L16/8000", "a=rtpmap:98 X-none/8000", "a=rtpmap:101 telephone-event/8000"))

PCMU, G729 = 93.2062, 82.2062  # R without loss: G.107 defaults, Ie 0 and 11


def record(ns, frame):
    return struct.pack("<IIII", ns // 10**9, ns % 10**9 // 1000, len(frame), len(frame)) + frame


def udp(sport, dport, payload):
    return ethernet(ipv4(17, struct.pack(">HHHH", sport, dport, 8 + len(payload), 0) + payload))


def sip(first_line, host, port):
    body = SDP.format(host=host, port=port)
    return (f"{first_line}\r\nVia: SIP/2.0/UDP 10.0.0.1;branch=z9hG4bK1\r\n"
            "From: <sip:a@x>;tag=1\r\nTo: <sip:b@x>;tag=2\r\nCall-ID: 1@x\r\nCSeq: 1 INVITE\r\n"
            f"Content-Type: application/sdp\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode()


def capture(packets, ssrc=0x1234):
    """A capture of packets (sequence number, payload type), 20 ms each."""
    out = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
    out += record(0, udp(5060, 5060, sip("INVITE sip:b@x SIP/2.0", "10.0.0.1", 4000)))
    out += record(1000, udp(5060, 5060, sip("SIP/2.0 200 OK", "10.0.0.2", 5000)))
    for seq, pt in packets:
        clock = 48000 if pt == 96 else 8000
        rtp = struct.pack(">BBHII", 0x80, pt, seq % 65536, seq * clock // 50 % 2**32, ssrc)
        out += record(10**9 + seq * 20 * 10**6, udp(4000, 5000, rtp + bytes(20)))
    return out


def stream_of(data):
    got = json.loads(analyze("-", "--json", stdin=data).stdout)
    assert got["notes"] == [] and len(got["streams"]) == 1
    return got["streams"][0]


def in_turn(*counts):
    packets = []
    for pt, count in counts:
        packets += [(len(packets) + i, pt) for i in range(count)]
    return packets


def scored(mos, r):
    assert (mos["R"] is None) == (r is None), mos
    assert (mos["MOS"] is None) == (r is None)
    if r is not None:
        assert abs(mos["R"] - r) < 1e-3


def test_stream_is_scored_with_the_codec_of_most_packets():
    """rtp-analysis 5.4 (2): 180 PCMU and 90 each of L16, opus and G.729."""
    s = stream_of(capture(in_turn((0, 180), (97, 90), (96, 90), (18, 90))))
    assert s["pt_packets"] == {"0": 180, "97": 90, "96": 90, "18": 90}
    assert s["codec"] == "PCMU"
    scored(s["mos"]["network"], PCMU)
    assert s["mos"]["jb_fixed"]["codec"] == "G.711-PLC"
    assert s["mos"]["jb_adaptive"]["codec"] == "G.711-PLC"


def test_interval_is_scored_with_its_own_codec():
    s = stream_of(capture(in_turn((0, 180), (97, 90), (96, 90), (18, 90))))
    # 50 packets a second; the fourth has 30 of PCMU and 20 of L16
    want = ["PCMU"] * 4 + ["L16"] + ["opus", "opus", "G729", "G729"]
    r = {"PCMU": PCMU, "G729": G729, "L16": None, "opus": None}
    assert [i["codec"] for i in s["intervals"]] == want
    for interval in s["intervals"]:
        scored(interval, r[interval["codec"]])


def test_codec_without_a_standard_value_has_no_score():
    """Most packets have a codec that is in no table; PCMU came last."""
    s = stream_of(capture(in_turn((0, 90), (98, 100), (0, 9))))
    assert s["codec"] == "X-none"
    for name in ("network", "jb_fixed", "jb_adaptive"):
        scored(s["mos"][name], None)
        assert "declared" not in s["mos"][name]


def test_equal_counts_go_to_the_lower_payload_type():
    for order in ((18, 0), (0, 18)):
        s = stream_of(capture(in_turn(*((pt, 60) for pt in order))))
        assert s["codec"] == "PCMU"
        scored(s["mos"]["network"], PCMU)


def test_events_and_comfort_noise_are_no_audio():
    packets = in_turn((18, 20), (101, 100), (13, 30), (0, 19), (101, 31))
    s = stream_of(capture(packets))
    assert s["codec"] == "G729"
    scored(s["mos"]["network"], G729)
    # telephone-events only: the codec of the interval before is kept
    assert [i["codec"] for i in s["intervals"]] == ["G729", "G729", "G729", "PCMU"]


def test_run_histogram_counts_every_long_run():
    """300 runs of 60 lengths from 256 up, and one of 3: every run is counted."""
    packets, at, want = [(0, 0), (1, 0)], 2, {}
    for i in range(300):
        length = 256 + i * 7 % 60
        want[str(length)] = want.get(str(length), 0) + 1
        at += length
        packets += [(at, 0), (at + 1, 0)]
        at += 2
    at += 3
    want["3"] = 1
    packets += [(at, 0), (at + 1, 0)]
    loss = stream_of(capture(packets))["loss"]
    assert loss["run_histogram"] == want
    assert loss["runs"] == 301
    assert sum(int(k) * n for k, n in loss["run_histogram"].items()) == loss["lost"]
    assert [int(k) for k in loss["run_histogram"]] == sorted(map(int, want))


def test_voip_metrics_fields_stop_at_65535():
    """RFC 3611 4.7.2: a gap of 80 s in a 16-bit field in ms."""
    s = stream_of(capture(in_turn((0, 4000))))
    assert s["burst_gap"]["gap_duration_ms"] == 80000
    assert s["xr"]["gap_duration_ms"] == 65535

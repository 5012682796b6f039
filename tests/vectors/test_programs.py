"""The programs offhook analyze and offhook emodel against the vectors.

Every field of the expectations is compared, except those about how a capture was made
and about tshark.
"""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"
OFFHOOK = os.environ["OFFHOOK"]
CAPTURES = sorted(p.stem for p in DATA.glob("*.pcap"))

# about the generator, the reference and tshark
FOREIGN = {"name", "scenario", "seed", "note", "parameters", "ground_truth",
           "ground_truth_checks", "tshark", "tshark_diff", "tshark_explanation",
           "tshark_model_agrees", "tshark_roundtrip_delay"}
INPUT = {"pcap", "interval_ms", "interval_origin"}
US = 0.001
TOLERANCE = {"R": 1e-3, "MOS": 1e-4, "skew_ppm": 1, "mean_delay_ms": 5e-6, "Ta": 5e-6,
             "jitter_int_last_ticks": 1, "jitter_int_max_ticks": 1}
RATIOS = {"burst_r", "BurstR", "Ppl", "p", "q", "mean_run", "loss_pct", "discard_pct",
          "burst_density", "gap_density", "delay_ms"}


def tolerance(name, want):
    if name in TOLERANCE:
        return TOLERANCE[name]
    if isinstance(want, int):
        return 0
    return 1e-6 if name in RATIOS else US


class Comparison:
    def __init__(self):
        self.compared = 0
        self.differences = []

    def compare(self, path, name, want, got):
        self.compared += 1
        if isinstance(want, dict):
            if not isinstance(got, dict):
                self.differences.append(f"{path}: {got!r} is no object")
                return
            for key, value in want.items():
                if key in FOREIGN or (path == ".input" and key not in INPUT):
                    continue
                if key not in got:
                    self.differences.append(f"{path}.{key}: missing")
                else:
                    self.compare(f"{path}.{key}", key, value, got[key])
        elif isinstance(want, list):
            if not isinstance(got, list) or len(got) != len(want):
                self.differences.append(f"{path}: another number of elements")
                return
            for i, (w, g) in enumerate(zip(want, got)):
                self.compare(f"{path}[{i}]", name, w, g)
        elif isinstance(want, (int, float)) and not isinstance(want, bool):
            ok = isinstance(got, (int, float)) and not isinstance(got, bool) and \
                abs(want - got) <= tolerance(name, want)
            if not ok:
                self.differences.append(f"{path}: {got!r}, expected {want!r}")
        elif want != got:
            self.differences.append(f"{path}: {got!r}, expected {want!r}")


def analyze(*arguments, stdin=None):
    return subprocess.run([OFFHOOK, "analyze", *map(str, arguments)], input=stdin,
                          capture_output=True, timeout=60)


def expected(name):
    return json.loads((DATA / f"{name}.expected.json").read_text())


def has_exact_keys(want, got, path=""):
    """Check that objects keyed by data have no other members either."""
    for key in ("pt_packets", "run_histogram", "ssrc_changes", "rtt_ms_by_reporter"):
        if isinstance(want, dict) and key in want:
            assert set(want[key]) == set(got[key]), path + key
    if isinstance(want, dict):
        for key, value in want.items():
            if key not in FOREIGN and key != "input":
                has_exact_keys(value, got[key], f"{path}.{key}")
    elif isinstance(want, list):
        for i, value in enumerate(want):
            has_exact_keys(value, got[i], f"{path}[{i}]")


@pytest.mark.parametrize("name", CAPTURES)
def test_capture_agrees(name):
    done = analyze(DATA / f"{name}.pcap", "--json")
    assert done.returncode == 0, done.stderr
    got = json.loads(done.stdout)
    want = expected(name)
    c = Comparison()
    c.compare("", "", want, got)
    assert not c.differences, "\n".join(c.differences[:20])
    assert c.compared > 100
    has_exact_keys(want, got)
    assert got["damaged"] is None and got["notes"] == []


def test_there_are_all_captures():
    assert len(CAPTURES) == 27


def test_comparison_notices_a_wrong_figure():
    want = expected("clean_g711")
    for change in (lambda s: s["counters"].update(lost=1),
                   lambda s: s.update(jitter_last_ms=s["jitter_last_ms"] + 0.002),
                   lambda s: s["intervals"].pop(),
                   lambda s: s.pop("xr")):
        got = json.loads(json.dumps(want))
        change(got["streams"][0])
        c = Comparison()
        c.compare("", "", want, got)
        assert c.differences


def test_pipe_gives_the_same_as_the_file():
    path = DATA / "rtcp_rtt.pcap"
    whole = json.loads(analyze(path, "--json").stdout)
    piped = json.loads(analyze("-", "--json", stdin=path.read_bytes()).stdout)
    whole["input"].pop("pcap")
    piped["input"].pop("pcap")
    assert whole == piped


def test_pcapng_gives_the_same(tmp_path):
    other = tmp_path / "x.pcapng"
    path = DATA / "multi_16.pcap"
    done = subprocess.run(["editcap", "-F", "pcapng", path, other], capture_output=True)
    assert done.returncode == 0, done.stderr
    a = json.loads(analyze(path, "--json").stdout)
    b = json.loads(analyze(other, "--json").stdout)
    assert b["input"]["format"] == "pcapng"
    assert a["streams"] == b["streams"] and len(a["streams"]) == 16


def tshark_version():
    said = subprocess.run(["tshark", "--version"], capture_output=True, text=True, check=False)
    return tuple(int(n) for n in re.search(r" (\d+)\.(\d+)", said.stdout).groups())


@pytest.mark.parametrize("name", ["loss_random_2pct", "loss_every_20", "jitter_fifo_8ms",
                                  "seq_wrap", "delay_spike", "opus_48k", "hdr_odd_ipv6",
                                  "pt_switch_same_clock"])
def test_tshark_says_the_same_where_it_should(name):
    """docs/reference/measurement.md: plain loss, jitter and wraps agree to 0.01 ms."""
    path = DATA / f"{name}.pcap"
    done = subprocess.run(["tshark", "-q", "-z", "rtp,streams", "-r", path],
                          capture_output=True, text=True, timeout=60)
    lines = [l for l in done.stdout.splitlines() if "0x" in l]
    assert len(lines) == 1, done.stderr
    stream = json.loads(analyze(path, "--json").stdout)["streams"][0]
    ssrc, rest = lines[0].split("0x")[1].split(" ", 1)
    fields = rest.split()
    at = [i for i, f in enumerate(fields) if f.startswith("(")][0]
    assert ssrc.lower() == stream["key"]["ssrc"]
    assert int(fields[at - 2]) == stream["counters"]["packets"]
    assert int(fields[at - 1]) == stream["counters"]["lost"]
    if stream["counters"]["reordered"] and tshark_version() >= (4, 2):
        return  # tshark leaves them out of the jitter from then on; RFC 3550 A.8 does not
    assert abs(float(fields[at + 6]) - stream["jit_ms"]["max"]) < 0.01
    assert abs(float(fields[at + 5]) - stream["jit_ms"]["avg"]) < 0.01


def swapped(data):
    """The same capture as a machine of the other byte order would have written it."""
    import struct
    header = struct.unpack("<IHHiIII", data[:24])
    out = struct.pack(">IHHiIII", *header)
    at = 24
    while at < len(data):
        record = struct.unpack("<IIII", data[at:at + 16])
        out += struct.pack(">IIII", *record) + data[at + 16:at + 16 + record[2]]
        at += 16 + record[2]
    return out


def test_other_byte_order_gives_the_same():
    data = (DATA / "jitter_reorder.pcap").read_bytes()
    a = json.loads(analyze("-", "--json", stdin=data).stdout)
    b = json.loads(analyze("-", "--json", stdin=swapped(data)).stdout)
    assert a["streams"] == b["streams"]


def test_truncated_capture_shows_what_is_there():
    data = (DATA / "clean_g711.pcap").read_bytes()
    done = analyze("-", "--json", stdin=data[:-100])
    got = json.loads(done.stdout)
    assert done.returncode == 1
    assert b"ends within a frame" in done.stderr
    assert "ends within a frame" in got["damaged"]
    assert got["streams"][0]["counters"]["packets"] == 299


@pytest.mark.parametrize("data,reason", [
    (b"", b"empty"), (b"abc", b"too short"), (b"hello, world", b"no pcap"),
    (b"\x1f\x8b\x08\0" + bytes(40), b"gzip"),
])
def test_foreign_input_is_named(data, reason):
    done = analyze("-", stdin=data)
    assert done.returncode == 1
    assert reason in done.stderr


def test_capture_without_rtp_is_status_1():
    data = (DATA / "clean_g711.pcap").read_bytes()[:24]
    done = analyze("-", stdin=data)
    assert done.returncode == 1
    assert b"no RTP streams found" in done.stdout


def test_missing_file_and_wrong_usage():
    assert analyze("/nonexistent/x.pcap").returncode == 1
    for arguments in ([], ["--interval", "0", "x"], ["--jitter-buffer", "elastic", "x"],
                      ["x", "y"], ["--frobnicate", "x"], ["--max-streams", "0", "x"]):
        assert analyze(*arguments).returncode == 2, arguments


def without_sip(data):
    import struct
    out, at, skipped = data[:24], 24, 0
    while at < len(data):
        length = struct.unpack("<I", data[at + 8:at + 12])[0]
        frame = data[at:at + 16 + length]
        if b"SIP/2.0" in frame:
            skipped += 1
        else:
            out += frame
        at += 16 + length
    assert skipped > 0
    return out


def test_rtp_without_sdp_is_found_and_can_be_left_out():
    data = without_sip((DATA / "loss_random_2pct.pcap").read_bytes())
    got = json.loads(analyze("-", "--json", stdin=data).stdout)
    want = expected("loss_random_2pct")
    assert len(got["streams"]) == 1
    stream = got["streams"][0]
    assert stream["announced"] is False
    assert stream["counters"] == want["streams"][0]["counters"]
    assert stream["codec"] == "PCMU"
    assert got["other"]["non_media_udp"] == 0
    done = analyze("-", "--sdp-only", stdin=data)
    assert done.returncode == 1


def test_dynamic_payload_without_sdp_is_not_guessed():
    data = without_sip((DATA / "opus_48k.pcap").read_bytes())
    stream = json.loads(analyze("-", "--json", stdin=data).stdout)["streams"][0]
    assert stream["codec"] is None
    assert stream["jit_ms"] == {"n": 0}
    assert stream["counters"]["unknown_pt_packets"] == stream["counters"]["received"]
    assert stream["mos"]["network"]["MOS"] is None


def test_table_shows_every_stream_aligned():
    done = analyze(DATA / "multi_16.pcap")
    lines = done.stdout.decode().splitlines()
    rows = [l for l in lines if "G729" in l]
    assert done.returncode == 0 and len(rows) == 16
    assert lines[0].split()[:4] == ["source", "destination", "SSRC", "codec"]
    ends = {row.index("G729") for row in rows}
    assert ends == {lines[0].index("codec")}
    assert rows == sorted(rows, key=lambda r: int(r.split()[0].rsplit(":", 1)[1]))
    lost = {s["key"]["ssrc"]: str(s["counters"]["lost"])
            for s in expected("multi_16")["streams"]}
    for row in rows:
        cells = row.split()
        assert cells[5] == lost[cells[2]]


def test_brief_and_detailed_table_say_the_same():
    for name in ("jitter_fifo_8ms", "delay_spike", "reorder_far", "restart"):
        for model in ("fixed:40", "adaptive"):
            brief = analyze(DATA / f"{name}.pcap", "--jitter-buffer", model)
            detailed = analyze(DATA / f"{name}.pcap", "--jitter-buffer", model,
                               "--interval", "1")
            rows = [[l for l in d.stdout.decode().splitlines() if l.startswith("10.")]
                    for d in (brief, detailed)]
            assert rows[0] == rows[1] and rows[0]


def ethernet(ip):
    return bytes(12) + b"\x08\x00" + ip


def ipv4(protocol, payload, ident=0, offset=0, more=False):
    import struct
    return struct.pack(">HHHHBBH4s4s", 0x4500, 20 + len(payload), ident,
                       offset // 8 | (0x2000 if more else 0), 64, protocol, 0,
                       b"\x0a\0\0\1", b"\x0a\0\0\2") + payload


def resent(data, send):
    """The capture with its SIP in other frames, which send(UDP payload) returns."""
    import struct
    out, at, changed = data[:24], 24, 0
    while at < len(data):
        length = struct.unpack("<I", data[at + 8:at + 12])[0]
        frame = data[at + 16:at + 16 + length]
        frames = [frame]
        if b"SIP/2.0" in frame:
            frames = send(frame[14 + 28:])
            changed += 1
        for f in frames:
            out += data[at:at + 8] + struct.pack("<II", len(f), len(f)) + f
        at += 16 + length
    assert changed == 2
    return out


def fragmented(sip):
    import struct
    udp = struct.pack(">HHHH", 5060, 5060, 8 + len(sip), 0) + sip
    parts = [(i, udp[i:i + 104]) for i in range(0, len(udp), 104)]
    fragmented.ident = getattr(fragmented, "ident", 0) + 1
    frames = [ethernet(ipv4(17, part, fragmented.ident, i, i + 104 < len(udp)))
              for i, part in parts]
    return frames[::-1]


def over_tcp(sip):
    import struct
    frames = []
    start = over_tcp.sent = getattr(over_tcp, "sent", 2**32 - 200)
    for i in range(0, len(sip), 150):
        frames.append(ethernet(ipv4(6, struct.pack(
            ">HHIIBBHHH", 5060, 5060, (start + i) % 2**32, 0, 0x50, 0x18, 1024, 0, 0)
            + sip[i:i + 150])))
    over_tcp.sent = start + len(sip)
    frames[1:] = frames[:0:-1]
    return frames


@pytest.mark.parametrize("send", [fragmented, over_tcp])
def test_sdp_of_several_frames_names_the_streams(send):
    data = (DATA / "opus_48k.pcap").read_bytes()
    got = json.loads(analyze("-", "--json", stdin=resent(data, send)).stdout)
    want = expected("opus_48k")
    assert got["other"]["sip"] == 2 and got["other"]["sdp"] == 2
    assert got["notes"] == []
    stream = got["streams"][0]
    assert stream["announced"] and stream["codec"] == "opus"
    assert stream["counters"] == want["streams"][0]["counters"]
    assert abs(stream["jitter_last_ms"] - want["streams"][0]["jitter_last_ms"]) < US
    if send is fragmented:
        assert got["other"]["fragmented"] == 2 and got["other"]["incomplete"] == 0


def test_statistics_summary_is_printed():
    import struct
    data = (DATA / "rtcp_rtt.pcap").read_bytes()
    block = struct.pack(">BBHIHHIIIIIIBBBB", 6, 0xe0, 9, 0x10115027, 10, 60, 3, 1, 2, 90, 20, 7,
                        0, 0, 0, 0)
    xr = struct.pack(">BBHI", 0x80, 207, 11, 0x5fc311f0) + block
    frame = ethernet(ipv4(17, struct.pack(">HHHH", 4001, 5001, 8 + len(xr), 0) + xr))
    record = struct.pack("<IIII", 1700000001, 0, len(frame), len(frame)) + frame
    before = json.loads(analyze("-", "--json", stdin=data).stdout)["rtcp"]["reports"]
    got = json.loads(analyze("-", "--json", stdin=data + record).stdout)["rtcp"]["reports"]
    assert got[:-1] == before
    assert got[-1]["type"] == "XR-SUMMARY" and got[-1]["reporter"] == "5fc311f0"
    assert got[-1]["summary"] == {
        "ssrc": "10115027", "begin_seq": 10, "end_seq": 60, "lost": 3, "duplicates": 1,
        "min_jitter_ticks": 2, "max_jitter_ticks": 90, "mean_jitter_ticks": 20,
        "dev_jitter_ticks": 7}


def test_missing_fragment_is_noted():
    data = (DATA / "opus_48k.pcap").read_bytes()
    got = json.loads(analyze("-", "--json",
                             stdin=resent(data, lambda sip: fragmented(sip)[1:])).stdout)
    assert got["other"]["incomplete"] == 2
    assert "2 fragmented IP datagrams are not whole" in got["notes"][0]


def test_format_parameters_name_the_mode():
    data = (DATA / "opus_48k.pcap").read_bytes()

    def amr(sip):
        sip = sip.replace(b"opus/48000/2", b"AMR-WB/16000").replace(b"opus/48000", b"AMR-WB/16000")
        return [ethernet(ipv4(17, b"\x13\xc4\x13\xc4" + (
            len(sip) + 8 + 29).to_bytes(2, "big") + b"\0\0" + sip.rstrip()
            + b"\r\na=fmtp:96 mode-set=0,1,2\r\n".ljust(29 + len(sip) - len(sip.rstrip()))))]

    got = json.loads(analyze("-", "--json", stdin=resent(data, amr)).stdout)
    stream = got["streams"][0]
    assert stream["codec"] == "AMR-WB"
    assert stream["mos"]["network"]["codec"] == "AMR-WB-12.65"
    assert stream["mos"]["network"]["declared"]["codec"] == "AMR-WB-12.65-declared"


def emodel(document):
    done = subprocess.run([OFFHOOK, "emodel", "--json"], input=json.dumps(document).encode(),
                          capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["results"]


def test_emodel_vectors():
    vectors = json.loads((DATA / "emodel_vectors.json").read_text())
    results = emodel({"cases": vectors["cases"]})
    assert len(results) == len(vectors["cases"]) == 88
    for case, got in zip(vectors["cases"], results):
        where = f"case {case['id']} {case['codec']}"
        if case["expect"] is None:
            assert set(got) == {"error"}, where
            continue
        for name, want in case["expect"].items():
            allowed = {"R": 1e-4, "MOS": 1e-5}.get(name, 1e-4)
            assert abs(got[name] - want) <= allowed, f"{where}: {name}"


def test_emodel_errors_stay_in_order():
    results = emodel({"cases": [
        {"codec": "G.711-PLC"}, {"codec": "nothing"}, {"codec": "G.722-64", "Ppl": 1}, 7,
        {"codec": "PCMU", "Ppl": "many"}, {"codec": "PCMU", "params": {"TELl": 3}},
        {"Ie": 0, "Bpl": 25.1, "Ppl": 5}]})
    assert ["error" in r for r in results] == [False, True, True, True, True, True, False]
    assert abs(results[6]["R"] - 77.4255) < 1e-3
    assert "TELl" in results[5]["error"]


def test_declared_scores_stand_beside_the_standard():
    stream = json.loads(analyze(DATA / "opus_48k.pcap", "--json").stdout)["streams"][0]
    for name in ("network", "jb_fixed", "jb_adaptive"):
        mos = stream["mos"][name]
        assert mos["R"] is None and mos["reason"] == "no standardised Ie/Bpl"
        assert mos["declared"]["model"] == "G.107.2-reduced"
        assert "no ITU-T value" in mos["declared"]["source"]
        assert 1 < mos["declared"]["MOS"] < 4.5
    loss = stream["loss_pct"]
    ratio = min(max(stream["loss"]["burst_r"], 1), 8)
    assert abs(stream["mos"]["network"]["declared"]["R"]
               - (148 - 10.2 - (132 - 10.2) * loss / (loss / ratio + 9.6))) < 1e-3
    assert any("declared" in i for i in stream["intervals"])
    stream = json.loads(analyze(DATA / "g722_8000clock.pcap", "--json").stdout)["streams"][0]
    assert stream["mos"]["network"]["MOS"] is None
    assert stream["mos"]["network"]["declared"]["Bpl"] == 4.3
    stream = json.loads(analyze(DATA / "loss_random_2pct.pcap", "--json").stdout)["streams"][0]
    assert "declared" not in stream["mos"]["network"]
    row = [l for l in analyze(DATA / "opus_48k.pcap").stdout.decode().splitlines()
           if "opus" in l][0]
    assert "declared Ie/Bpl" in row and "fullband scale" in row


def test_values_of_the_user_go_first():
    arguments = (DATA / "loss_random_2pct.pcap", "--json")
    plain = json.loads(analyze(*arguments).stdout)["streams"][0]["mos"]["network"]
    own = json.loads(analyze(*arguments, "--codec", "PCMU=5,10,nb,a test").stdout)
    mos = own["streams"][0]["mos"]["network"]
    assert mos["R"] == plain["R"]
    assert mos["declared"]["source"] == "a test" and mos["declared"]["Ie"] == 5
    want = 93.206208 - 5 - 90 * mos["Ppl"] / (mos["Ppl"] / mos["BurstR"] + 10)
    assert abs(mos["declared"]["R"] - want) < 1e-3
    row = json.loads(analyze(*arguments, "--codec", "PCMU=G.711-noPLC").stdout)
    mos = row["streams"][0]["mos"]["network"]
    assert mos["codec"] == "G.711-noPLC" and mos["R"] < plain["R"] - 20
    assert "declared" not in mos
    assert analyze("x", "--codec", "PCMU").returncode == 2
    assert b"no codec" in analyze("x", "--codec", "PCMU=fine").stderr


def test_emodel_declares():
    done = subprocess.run([OFFHOOK, "emodel", "--ie", "10.2", "--bpl", "9.6", "--model", "FB",
                           "--loss", "2", "--json"], capture_output=True)
    got = json.loads(done.stdout)
    assert abs(got["R"] - 116.8) < 1e-3
    assert got["provenance"] == "declared" and got["standard"] is False
    done = subprocess.run([OFFHOOK, "emodel", "--codec", "G722", "--loss", "1", "--bpl", "4.3"],
                          capture_output=True, text=True)
    assert done.returncode == 0 and "declared" in done.stdout
    # G.711 with its own values, and with other values under its name
    results = emodel({"cases": [{"codec": "PCMU", "Ppl": 1}, {"codec": "PCMU", "Ppl": 1, "Bpl": 5},
                                {"codec": "opus", "Ppl": 1}]})
    assert [r["provenance"] for r in results] == ["standard", "declared", "declared"]
    assert "EVS" in results[2]["source"]
    for arguments in (["--model", "FB"], ["--ie", "x"], ["--bpl", "0", "--ie", "1"],
                      ["--ie", "1", "--model", "XB"], ["--codec", "PCMU", "--model", "WB"]):
        done = subprocess.run([OFFHOOK, "emodel", *arguments], capture_output=True,
                              stdin=subprocess.DEVNULL)
        assert done.returncode == 2, arguments


def test_emodel_flags():
    done = subprocess.run([OFFHOOK, "emodel", "--codec", "PCMA", "--loss", "5"],
                          capture_output=True, text=True)
    assert done.returncode == 0 and "R 77.43" in done.stdout
    for arguments, code in ((["--codec", "speex"], 2), (["--codec", "opus"], 0), (["--codec", "G722", "--loss", "1"], 1),
                            (["--loss", "1"], 2), (["--codec", "PCMU", "--loss", "101"], 2)):
        done = subprocess.run([OFFHOOK, "emodel", *arguments], capture_output=True,
                              stdin=subprocess.DEVNULL)
        assert done.returncode == code, arguments
    done = subprocess.run([OFFHOOK, "emodel", "--json"], input=b"{", capture_output=True)
    assert done.returncode == 1 and b"line 1" in done.stderr

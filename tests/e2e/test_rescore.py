"""`offhook rescore`: the same packets behind other de-jitter buffers and with another codec."""
import json
import os
import struct
import subprocess
import time
from pathlib import Path

import pytest

from bench import Bench, stream
from capture import tshark
from controller import Controller
from fake_agent import FakeAgent, evidence, good_call, registered
from relay import TO_CALLEE, Relay
from test_api_basics import problem
from test_api_project_runs import TIMES

VECTORS = Path(__file__).resolve().parents[1] / "vectors" / "data"
T0_NS = 1700000000 * 10**9
PCAP_NS = struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 101)
PACKETS = 1000


def rtp(number, ssrc, pt=0, back=False):
    """An IPv4 packet with an RTP header alone."""
    header = struct.pack("!BBHII", 0x80, pt, number & 65535, 160 * number, ssrc)
    ends = [(bytes([192, 0, 2, 1]), 20000), (bytes([192, 0, 2, 2]), 30000)]
    (source, sport), (target, dport) = reversed(ends) if back else ends
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28 + 172, 0, 0, 64, 17, 0, source, target)
    return ip + struct.pack("!HHHH", sport, dport, 8 + 172, 0) + header


def stream_of(ssrc, late_ms, pt=0, back=False, count=PACKETS):
    """@param late_ms  of a packet by its number; None: lost @return [(ns, packet)] by time"""
    packets = []
    for number in range(count):
        late = late_ms(number)
        if late is not None:
            packets.append((T0_NS + int((20 * number + late) * 10**6),
                            rtp(number, ssrc, pt, back)))
    return sorted(packets)


def pcap(*streams):
    return PCAP_NS + b"".join(
        struct.pack("<IIII", t // 10**9, t % 10**9, len(data), 28 + 172) + data
        for t, data in sorted(p for s in streams for p in s))


def block(kind, body):
    body += b"\0" * (-len(body) % 4)
    length = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + length + body + length


def pcapng(*parts):
    """@param parts  (interface name, [(ns, packet)])"""
    out = block(0x0a0d0d0a, struct.pack("<IHHq", 0x1a2b3c4d, 1, 0, -1))
    for name, _ in parts:
        option = struct.pack("<HH", 2, len(name)) + name.encode() + b"\0" * (-len(name) % 4)
        out += block(1, struct.pack("<HHI", 101, 0, 0) + option
                     + struct.pack("<HHB3xHH", 9, 1, 9, 0, 0))
    packets = sorted((t, i, data) for i, (_, rows) in enumerate(parts) for t, data in rows)
    for t, i, data in packets:
        out += block(6, struct.pack("<IIIII", i, t >> 32, t & 0xffffffff, len(data), 28 + 172)
                     + data)
    return out


def tenth(late_ms):
    return lambda number: late_ms if number % 10 == 5 else 0


@pytest.fixture
def rescore(build, tmp_path):
    """Run the command with a file of this content. @return its object, or its text"""
    def run(content, *options, status=0, text=False):
        file = tmp_path / "call.pcap"
        file.write_bytes(content)
        done = subprocess.run(
            [build / "offhook", "rescore", file, *options, *([] if text else ["--json"])],
            capture_output=True, text=True, timeout=60)
        assert done.returncode == status, done.stdout + done.stderr
        run.errors = done.stderr
        return done.stdout if text else json.loads(done.stdout)
    return run


def emodel(build, codec, row):
    """MOS of `offhook emodel` for the loss, bursts and delay of a row."""
    done = subprocess.run(
        [build / "offhook", "emodel", "--json", "--codec", codec, "--loss", repr(row["ppl"]),
         "--burst-ratio", repr(max(1.0, row["burst_ratio"])), "--delay", repr(row["ta_ms"])],
        check=True, capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout)["MOS"]


def test_a_buffer_discards_what_is_later(build, rescore):
    """Packets 5, 15, 25, ... are late by 0.5, 10.5, ... 190.5 ms, and again."""
    delays = [10 * (k % 20) + 0.5 for k in range(PACKETS // 10)]
    one, = rescore(pcap(stream_of(7, lambda n: delays[n // 10] if n % 10 == 5 else 0)),
                   "--jitter-buffer", "fixed:40,adaptive:60-60",
                   "--jitter-buffer", "fixed:100")["streams"]
    assert [b["ms"] for b in one["curve"]] == list(range(1, 201))
    for b in one["curve"]:
        assert b["discarded"] == sum(late > b["ms"] for late in delays), b
    rows = {r["jitter_buffer"]: r for r in one["rescored"]}
    assert list(rows) == ["fixed:40", "adaptive:60-60", "fixed:100"]
    assert {name: r["discarded"] for name, r in rows.items()} == {
        "fixed:40": 80, "adaptive:60-60": 70, "fixed:100": 50}
    for row in [*rows.values(), *one["measured"]]:
        assert row["ppl"] == pytest.approx(row["discarded"] / 10)
        assert row["mos"] == pytest.approx(emodel(build, "PCMU", row), abs=1e-9)
    # buffer, packet and look-ahead of G.711
    assert rows["fixed:40"]["ta_ms"] == pytest.approx(60.25)
    assert [r["jitter_buffer"] for r in one["measured"]] == ["fixed:60", "adaptive:20-200"]
    assert one["codec"] == "PCMU" and "run" not in one


def test_the_least_buffer_and_the_limits(rescore):
    def least(late, *options):
        one, = rescore(pcap(stream_of(7, late)), *options)["streams"]
        return one["least"]

    found = least(tenth(100.5))
    assert (found["ms"], found["limit"]) == (101, None)
    assert found["best_ms"] == 101 and "101 ms" in found["sentence"]
    assert least(tenth(100.5), "--least", "3")["ms"] == 1
    found = least(tenth(None))
    assert (found["ms"], found["limit"]) == (None, "loss")
    assert least(tenth(200.5))["limit"] == "jitter"
    assert least(tenth(0), "--least", "4.45")["limit"] == "codec"
    assert least(tenth(0), "--network-delay", "400")["limit"] == "network_delay"


def test_another_codec(build, rescore):
    content = pcap(stream_of(7, tenth(100.5)))
    one, = rescore(content, "--codec", "G729")["streams"]
    assert {r["codec"] for r in one["measured"]} == {"PCMU"}
    assert [(r["jitter_buffer"], r["codec"]) for r in one["rescored"]] == [
        ("fixed:60", "G729"), ("adaptive:20-200", "G729")]
    own, other = one["measured"][0], one["rescored"][0]
    # the look-ahead of G.729 is 5 ms, that of G.711 0.25 ms
    assert other["ta_ms"] == pytest.approx(own["ta_ms"] + 4.75)
    assert other["mos"] == pytest.approx(emodel(build, "G729", other), abs=1e-9)
    assert other["mos"] < own["mos"]
    assert one["curve"][59]["mos"] == other["mos"]
    # opus has no Ie of the ITU-T: the figure names its source
    other = rescore(content, "--codec", "opus")["streams"][0]["rescored"][0]
    assert other["mos_scale"] == "fb" and other["mos_declared"]


def test_interfaces_are_measured_apart(rescore):
    """The same stream sent by one role and received by the other: no duplicates."""
    found = rescore(pcapng(("caller", stream_of(7, tenth(0))),
                           ("callee", stream_of(7, tenth(50.5)))))
    assert [(s["interface"], s["packets"], s["measured"][0]["discarded"], s["least"]["ms"])
            for s in found["streams"]] == [("caller", PACKETS, 0, 1), ("callee", PACKETS, 0, 51)]
    # behind the shorter buffer both reach it
    assert found["least"] == {"mos": 4.0, "ms": 51, "streams_reached": 2, "streams": 2}
    assert found["run"] is None


def test_the_table_fits_80_columns(rescore):
    lines = rescore(pcap(stream_of(7, tenth(100.5)), stream_of(8, tenth(None), back=True)),
                    "--jitter-buffer", "fixed:120,adaptive:100-500", "--codec", "G.729A+VAD",
                    text=True).splitlines()
    assert all(len(line) <= 80 for line in lines), lines
    assert sum("rescored" in line for line in lines) == 4
    curve = next(line for line in lines if "MOS by buffer" in line)
    assert curve.startswith("  1 ") and len(set(curve[4:54])) > 1, curve
    assert lines[-1].startswith("2 streams: ")


@pytest.mark.parametrize("options, text", [
    (["--jitter-buffer", "fixed:0"], "1 to 200 ms"),
    (["--jitter-buffer", "adaptive:50-20"], "MIN not above MAX"),
    (["--jitter-buffer", "none"], "a buffer is"),
    (["--jitter-buffer", "adaptive," * 8 + "fixed:1"], "at most 8"),
    (["--codec", "no-such"], "emodel --list"),
    (["--least", "5"], "1 to 4.5"),
    (["--network-delay", "x"], "0 to 1000"),
    (["--max-streams", "0"], "1 to"),
    (["--no-such"], "wrong option"),
    (["another.pcap"], "one run or one file"),
])
def test_wrong_usage(rescore, options, text):
    assert rescore(PCAP_NS, *options, status=2, text=True) == ""
    assert text in rescore.errors


def test_without_streams_or_with_damage(build, rescore, tmp_path):
    assert rescore(PCAP_NS, status=1)["streams"] == []
    assert "no RTP streams" in rescore(PCAP_NS, status=1, text=True)
    content = pcap(stream_of(7, tenth(0)))
    one, = rescore(content[:-1], status=1)["streams"]
    assert one["packets"] == PACKETS - 1 and "what comes before" in rescore.errors
    done = subprocess.run([build / "offhook", "rescore", tmp_path / "none.pcap"], text=True,
                          capture_output=True, timeout=60)
    assert done.returncode == 1 and "No such file" in done.stderr
    done = subprocess.run([build / "offhook", "rescore", "-", "--json"], input=content,
                          capture_output=True, timeout=60)
    assert len(json.loads(done.stdout)["streams"]) == 1


@pytest.mark.parametrize("name", sorted(p.stem for p in VECTORS.glob("*.pcap")))
def test_as_analyze(build, name):
    """What was measured is what `offhook analyze` prints."""
    def run(command):
        done = subprocess.run([build / "offhook", command, "--json", VECTORS / f"{name}.pcap"],
                              check=True, capture_output=True, text=True, timeout=60)
        return {json.dumps(s["key"], sort_keys=True): s
                for s in json.loads(done.stdout)["streams"]}

    known, found = run("analyze"), run("rescore")
    assert known.keys() == found.keys()
    for key, one in found.items():
        fixed, adaptive = one["measured"]
        want = known[key]
        assert one["packets"] == want["counters"]["packets"]
        assert fixed["discarded"] == want["jb_fixed"]["late"] + want["jb_fixed"]["early"]
        assert adaptive["discarded"] == want["jb_adaptive"]["late"]
        for row, mos in ((fixed, want["mos"]["jb_fixed"]), (adaptive, want["mos"]["jb_adaptive"])):
            score = mos.get("declared", mos)
            # an analysis has no delay of the network, also where RTCP tells it
            if one["network_ms"] is None:
                assert row["mos"] == (score["MOS"] if score["MOS"] is None
                                      else pytest.approx(score["MOS"], abs=1e-9))
            else:
                assert row["ta_ms"] == pytest.approx(mos["Ta"] + one["network_ms"])
        assert one["curve"][59]["discarded"] == fixed["discarded"]


# ---- runs ----

BUFFER = {"discarded": 100, "delay_ms": 60.0, "burst_lost": 0, "burst_density_pct": 0.0,
          "gap_density_pct": 10.0, "burst_duration_ms": 0.0, "gap_duration_ms": 20000.0,
          "burst_ratio": 1.0, "ta_ms": 92.75, "network_ms": 12.5, "r_factor": 63.5, "mos": 3.27}


class Lab:
    """A controller with runs whose results the tests made up."""

    def __init__(self, c):
        self.c = c
        self.pool = c.api("POST", "/agent-pools", {"name": "pool"})["agent_pool"]
        self.agent = FakeAgent(c, self.pool["join_token"], "agent")

    def run(self, content):
        self.c.api("POST", "/tests/scenarios/registration", {
            "agentpool_id": self.pool["id"], "target": "sip:127.0.0.1", "username": "1001",
            "password": "x"})
        job, = self.agent.jobs(1).values()
        assert self.agent.start(job).ok
        events = [*registered("1001"), *good_call(job["role"], "1001", "1002", True), evidence()]
        call, = (e for e in events if e["kind"] == "call")
        call["streams"] = [
            {**call["streams"][0], "packets": PACKETS, "received": PACKETS, "expected": PACKETS,
             "fixed_buffer": BUFFER},
            {"dir": "out", "ssrc": "0000000b", "codec": "PCMU", "packets": PACKETS, "bytes": 1}]
        assert self.agent.upload(job, "events", events).ok
        if content:
            assert self.agent.artifact(job, "rtp.pcap", content).ok
        assert self.agent.finish(job).ok
        until = time.monotonic() + 60
        while True:
            run = self.c.api("GET", f"/runs/{job['session_id']}/status")["run"]
            if run["status"] != "running":
                return run, job["role"]
            assert time.monotonic() < until
            time.sleep(0.02)


@pytest.fixture(scope="module")
def lab():
    with Controller(**{**TIMES, "offer_s": 30}) as c:
        yield Lab(c)


@pytest.fixture
def of_run(build, tmp_path, lab):
    def run(*arguments, status=0):
        done = subprocess.run(
            [build / "offhook", "rescore", *map(str, arguments)], text=True, capture_output=True,
            timeout=90, cwd=tmp_path,
            env={**os.environ, "OFFHOOK_URL": lab.c.witness().url,
                 "OFFHOOK_KEY": ":".join(lab.c.keys["admin"])})
        assert done.returncode == status, done.stdout + done.stderr
        run.errors = done.stderr
        return done.stdout
    return run


def test_the_packets_of_a_run(of_run, lab):
    run, role = lab.run(pcap(stream_of(0xa, tenth(100.5)), stream_of(0xb, tenth(0), back=True)))
    for name in (run["id"], run["session_id"]):
        found = json.loads(of_run(name, "--json", "--jitter-buffer", "fixed:120"))
        assert found["run"] == run["id"]
        # what the role has sent is left out
        one, = found["streams"]
        assert (one["interface"], one["key"]["ssrc"], one["packets"]) == \
            (role, "0000000a", PACKETS)
        assert one["run"] == {"fixed_buffer": BUFFER, "adaptive_buffer": None}
        # the network's delay is that of the run
        assert one["network_ms"] == 12.5
        assert one["rescored"][0]["discarded"] == 0
        assert one["rescored"][0]["ta_ms"] == pytest.approx(12.5 + 120 + 20.25)
        assert one["least"]["ms"] == 101
    lines = of_run(run["id"]).splitlines()
    assert all(len(line) <= 80 for line in lines), lines
    assert sum(line.split()[:2] == ["run", "fixed:60"] and line.split()[-1] == "3.27"
               for line in lines) == 1
    assert sum(line.split()[:2] == ["measured", "adaptive:20-200"] for line in lines) == 1
    given = json.loads(of_run(run["id"], "--json", "--network-delay", "0"))["streams"][0]
    assert given["network_ms"] == 0


def test_a_run_without_packets_and_no_run(of_run, lab):
    run, _ = lab.run(None)
    assert "no RTP streams" in of_run(run["id"], status=1)
    assert "rtp_capture" in of_run.errors
    of_run(10**9, status=3)
    assert of_run.errors.startswith("offhook: ")


def test_the_api_answers_the_same(of_run, lab):
    run, role = lab.run(pcap(stream_of(0xa, tenth(100.5)), stream_of(0xb, tenth(0), back=True)))
    address = f"/runs/{run['id']}/quality"
    for query, options in (("", []),
                           ("?jitter_buffer=fixed:120,adaptive:20-60&codec=G729&least=3.6"
                            "&network_delay=40",
                            ["--jitter-buffer", "fixed:120,adaptive:20-60", "--codec", "G729",
                             "--least", "3.6", "--network-delay", "40"])):
        answer = lab.c.api("GET", address + query)
        assert answer.pop("status") == 200
        one, = answer["streams"]
        assert (one["interface"], one["least"]["ms"]) == (role, 101)
        assert answer == json.loads(of_run(run["id"], "--json", *options))
    empty, _ = lab.run(None)
    answer = lab.c.api("GET", f"/runs/{empty['session_id']}/quality")
    assert answer["streams"] == [] and answer["least"]["ms"] is None


@pytest.mark.parametrize("query, pointer", [
    ("jitter_buffer=fixed:0", "jitter_buffer"), ("jitter_buffer=", "jitter_buffer"),
    ("codec=no-such", "codec"), ("least=5", "least"), ("least=x", "least"),
    ("network_delay=-1", "network_delay"), ("nothing=1", "nothing")])
def test_a_wrong_query_is_named(lab, query, pointer):
    answer = lab.c.request("GET", f"/runs/1/quality?{query}", key=lab.c.keys["admin"])
    assert [e["pointer"] for e in problem(answer, 422)["errors"]] == [pointer]


def test_streams_above_the_ceiling_are_counted(lab):
    run, _ = lab.run(pcap(*(stream_of(100 + i, tenth(0), count=20) for i in range(103))))
    answer = lab.c.api("GET", f"/runs/{run['id']}/quality")
    assert len(answer["streams"]) == 100
    # of each the last 2 are too few to be recognised as a stream
    assert answer["packets_left_out"] == 3 * 18


class LateRelay(Relay):
    """A relay that holds each tenth packet of a direction for 100 ms."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.planted = []   # sequence numbers

    def hold_ms(self, direction, seq):
        if direction != TO_CALLEE or seq % 10 != 5:
            return 0
        self.planted.append(seq)
        return 100


def transits(file, role, ssrc):
    """Transit times of a stream by tshark, ms: {sequence number: time}, in order of arrival."""
    out = tshark(file, "-o", "rtp.heuristic_rtp:TRUE", "-Y",
                 f'frame.interface_name == "{role}" && rtp.ssrc == {ssrc}', "-T", "fields",
                 "-e", "frame.time_epoch", "-e", "rtp.seq", "-e", "rtp.timestamp")
    found, first = {}, None
    for t, seq, ticks in (line.split("\t") for line in out.splitlines()):
        seconds, _, ns = t.partition(".")
        ns, ticks = int(seconds) * 10**9 + int(ns.ljust(9, "0")), int(ticks)
        first = first or (ns, ticks)
        step = (ticks - first[1] + 2**31) % 2**32 - 2**31
        found.setdefault(int(seq), (ns - first[0]) / 1e6 - step / 8)
    return found


def test_a_call_with_late_packets(build, tmp_path, ports):
    """What each buffer discards is what the time stamps in the run's packets say, however
    busy the machine is."""
    with LateRelay(ports.control, ports.relay) as relay, Bench(tmp_path, ports, relay) as bench:
        test = bench.single_call(duration=5, rtp_capture=True)
        run, report = bench.run(test, {"step.0.1.rtp_capture": True}, timeout=90)
        assert run["status"] == "passed", run["result_description"]
        environment = {**os.environ, "OFFHOOK_URL": bench.controller.witness().url,
                       "OFFHOOK_KEY": ":".join(bench.controller.keys["admin"])}
        done = subprocess.run([build / "offhook", "rescore", "--json", str(run["id"])], text=True,
                              capture_output=True, timeout=90, env=environment)
        assert done.returncode == 0, done.stderr
        subprocess.run([build / "offhook", "run", "download", str(run["id"]), tmp_path / "files"],
                       check=True, capture_output=True, timeout=90, env=environment)
    assert not relay.errors
    streams = {s["interface"]: s for s in json.loads(done.stdout)["streams"]}
    assert sorted(streams) == ["callee", "caller"]
    came, one = stream(report, "callee", "in"), streams["callee"]
    assert int(one["key"]["ssrc"], 16) == int(came["ssrc"], 16)
    assert (one["expected"], one["lost"]) == (came["expected"], came["lost"])
    assert one["run"]["fixed_buffer"] == came["fixed_buffer"]
    assert one["measured"][0]["discarded"] == came["fixed_buffer"]["discarded"]
    assert one["measured"][0]["mos"] == pytest.approx(came["fixed_buffer"]["mos"], abs=1e-4)

    times = transits(tmp_path / "files/packets.pcapng", "callee", int(came["ssrc"], 16))
    assert len(times) == one["packets"]
    late = {seq for seq, t in times.items() if t - min(times.values()) > 99}
    assert late >= {seq for seq in relay.planted if seq in times}
    assert len(late) > 10
    compared = 0
    for b in one["curve"]:
        ahead = [b["ms"] - t for t in times.values()]
        if any(abs(x) < 0.01 or abs(x - b["ms"] - 140) < 0.01 for x in ahead):
            continue   # on the border
        compared += 1
        row, discarded = 0, 0
        for x in ahead:
            if x < 0 or x > b["ms"] + 140:
                row, discarded = row + 1, discarded + 1
            else:
                row = 0
            if row == 50:
                break   # the buffer begins anew
        if row < 50:
            assert b["discarded"] == discarded, b
    assert compared > 100

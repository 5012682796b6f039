"""What a run recorded, as downloads: read by the programs that they are meant for."""
import base64
import csv
import io
import struct
import time

import pytest

from capture import tshark
from controller import Controller
from fake_agent import FakeAgent, point, registered
from test_api_basics import problem
from test_api_project_runs import TIMES

T0 = 1700000000


def message(i, direction, local, peer, transport="udp", body=None):
    data = body or (f"OPTIONS sip:a@example.org SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bK{i}\r\n"
                    f"From: <sip:a@h>;tag=1\r\nTo: <sip:b@h>\r\nCall-ID: call-{i}\r\n"
                    f"CSeq: 1 OPTIONS\r\nContent-Length: 0\r\n\r\n")
    m = {"t": T0 * 1000000 + i * 1000 + 7, "mono": i, "dir": direction, "transport": transport,
         "local": local, "peer": peer, "data": data}
    if isinstance(data, bytes):
        m.update(data=base64.b64encode(data).decode(), encoding="base64")
    return m


BINARY = (b"MESSAGE sip:a@h SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=z9hG4bKb\r\nFrom: <sip:a@h>;tag=1\r\n"
          b"To: <sip:b@h>\r\nCall-ID: call-5\r\nCSeq: 1 MESSAGE\r\nContent-Length: 5\r\n\r\n\xff\xfe\x00\x01x")

# uploaded in another order than sent and received
MESSAGES = [
    message(2, "received", "192.0.2.1:5062", "198.51.100.7:5060", "tcp"),
    message(1, "sent", "192.0.2.1:5062", "198.51.100.7:5060"),
    message(3, "sent", "[2001:db8::1]:5062", "[2001:db8::2]:65535", "tls"),
    message(4, "received", "2001:db8::1:5062", "198.51.100.7:5060"),
    message(5, "sent", "192.0.2.1:1", "198.51.100.7:2", body=BINARY),
    message(6, "sent", "no address", "198.51.100.7:5060"),
]


def captured(t_ns, number):
    """A packet of an agent's rtp.pcap: UDP over IPv4, its RTP header alone."""
    rtp = struct.pack("!BBHII", 0x80, 0, number, 160 * number, 7)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28 + 172, 0, 0, 64, 17, 0,
                     bytes([192, 0, 2, 1]), bytes([198, 51, 100, 7]))
    data = ip + struct.pack("!HHHH", 4000, 5000, 8 + 172, 0) + rtp
    return struct.pack("<IIII", t_ns // 10**9, t_ns % 10**9, len(data), 28 + 172) + data


PCAP_NS = struct.pack("<IHHIIII", 0xa1b23c4d, 2, 4, 0, 0, 65535, 101)
# before, between and after the SIP messages
CAPTURED = [T0 * 10**9 - 5, T0 * 10**9 + 3_500_001, (T0 + 3600) * 10**9 + 999_999_999]
# a record whose bytes are missing, one that is longer than any packet, another file
DAMAGED = [captured(T0 * 10**9, 9)[:-1], struct.pack("<IIII", T0, 0, 2**31, 2**31) + b"x" * 99]


@pytest.fixture(scope="module")
def run():
    with Controller(**TIMES) as c:
        pool = c.api("POST", "/agent-pools", {"name": "p"})["agent_pool"]
        agent = FakeAgent(c, pool["join_token"], "agent")
        started = c.api("POST", "/tests/scenarios/registration", {
            "agentpool_id": pool["id"], "target": "sip:127.0.0.1", "username": "1001",
            "password": "x"})["data"]
        job = list(agent.jobs(1).values())[0]
        assert agent.start(job).ok
        role = job["role"]
        assert agent.upload(job, "events", registered("1001")).ok
        assert agent.upload(job, "sip", MESSAGES).ok
        assert agent.upload(job, "stats", [
            point(role, T0 + 10 * i, 1.5 + i) for i in range(3)]).ok
        assert agent.artifact(job, "rtp.pcap", PCAP_NS + b"".join(
            captured(t, i) for i, t in enumerate(CAPTURED))).ok
        assert agent.finish(job).ok
        until = time.monotonic() + 30
        while c.api("GET", f"/runs/{started['session_id']}/status")["run"]["status"] == "running":
            assert time.monotonic() < until
            time.sleep(0.02)
        c.uuid, c.role, c.agent, c.pool = started["session_id"], role, agent, pool
        yield c


def download(c, name, **kwargs):
    return c.session.get(f"{c.url}/run/details/{c.uuid}/{name}", timeout=60,
                         **{"auth": c.keys["admin"], **kwargs})


def test_text_has_every_message_as_it_was(run):
    answer = download(run, "sip.txt")
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert run.uuid in answer.headers["Content-Disposition"]
    rest = answer.content
    for m in sorted(MESSAGES, key=lambda m: m["t"]):
        data = base64.b64decode(m["data"]) if "encoding" in m else m["data"].encode()
        sent = m["dir"] == "sent"
        head = (f"2023-11-14 22:13:20.{m['t'] % 1000000:06} {run.role} {m['dir']} {m['transport']} "
                f"{m['local' if sent else 'peer']} -> {m['peer' if sent else 'local']}, "
                f"{len(data)} bytes\n\n").encode()
        assert rest.startswith(head + data + b"\n\n"), rest[:300]
        rest = rest[len(head) + len(data) + 2:]
    assert rest == b""


def test_packets_are_read_by_another_program(run, tmp_path):
    answer = download(run, "sip.pcap")
    assert answer.headers["Content-Type"] == "application/vnd.tcpdump.pcap"
    file = tmp_path / "sip.pcap"
    file.write_bytes(answer.content)
    fields = ["frame.time_epoch", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "udp.srcport",
              "udp.dstport", "sip.Call-ID", "ip.checksum.status", "udp.checksum.status",
              "_ws.expert.message"]
    out = tshark(file, "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE",
                 "-d", "udp.port==1-65535,sip", "-T", "fields", "-E", "separator=|",
                 *(a for f in fields for a in ("-e", f))).splitlines()
    rows = [dict(zip(fields, line.split("|"))) for line in out]
    a, b = "192.0.2.1", "198.51.100.7"
    expected = [(a, b, "", "", "5062", "5060", "call-1"), (b, a, "", "", "5060", "5062", "call-2"),
                ("", "", "2001:db8::1", "2001:db8::2", "5062", "65535", "call-3"),
                ("", "", "::ffff:198.51.100.7", "2001:db8::1", "5060", "5062", "call-4"),
                (a, b, "", "", "1", "2", "call-5")]
    assert [tuple(r[f] for f in fields[1:8]) for r in rows] == expected
    for i, row in enumerate(rows):
        assert abs(float(row["frame.time_epoch"]) - (T0 + (i + 1) / 1000 + 7e-6)) < 1e-6
        assert row["ip.checksum.status"] in ("", "1") and row["udp.checksum.status"] == "1"
    payload = tshark(file, "-Y", "frame.number == 5", "-d", "udp.port==1-65535,data",
                     "-T", "fields", "-e", "udp.payload")
    assert bytes.fromhex(payload.strip().replace(":", "")) == BINARY


def rows_of(content, file):
    file.write_bytes(content)
    names = ["frame.time_epoch", "frame.interface_name", "frame.cap_len", "frame.len", "sip.Call-ID",
             "rtp.seq"]
    out = tshark(file, "-d", "udp.port==1-65535,sip", "-d", "udp.port==4000,rtp", "-T", "fields",
                 "-E", "separator=|", *(a for n in names for a in ("-e", n)))
    return [dict(zip(names, line.split("|"))) for line in out.splitlines()]


def test_all_packets_by_time(run, tmp_path):
    answer = download(run, "packets.pcapng")
    assert answer.headers["Content-Type"] == "application/x-pcapng"
    rows = rows_of(answer.content, tmp_path / "packets.pcapng")
    assert [r["rtp.seq"] or r["sip.Call-ID"] for r in rows] == [
        "0", *(f"call-{i}" for i in range(1, 4)), "1", "call-4", "call-5", "2"]
    assert {r["frame.interface_name"] for r in rows} == {run.role}
    heard = [r for r in rows if r["rtp.seq"]]
    for row, t in zip(heard, CAPTURED):
        assert row["frame.time_epoch"] == f"{t // 10**9}.{t % 10**9:09}"
        assert (row["frame.cap_len"], row["frame.len"]) == ("40", "200")


def test_damaged_files_of_agents_end_there(run, tmp_path):
    """What an agent has uploaded is not trusted."""
    good = captured(T0 * 10**9, 3)
    for content, packets in [(PCAP_NS + good + bad, 1) for bad in DAMAGED] + [
            (b"", 0), (PCAP_NS[:9], 0), (b"\0" * 500, 0), (PCAP_NS, 0), (PCAP_NS + good[:7], 0)]:
        session = run.api("POST", "/tests/scenarios/registration", {
            "agentpool_id": run.pool["id"], "target": "sip:127.0.0.1", "username": "1001",
            "password": "x"})["data"]["session_id"]
        job = list(run.agent.jobs(1).values())[0]
        assert run.agent.start(job).ok and run.agent.artifact(job, "rtp.pcap", content).ok
        assert run.agent.upload(job, "events", registered("1001")).ok
        assert run.agent.finish(job).ok
        answer = run.session.get(f"{run.url}/run/details/{session}/packets.pcapng", timeout=60,
                                 auth=run.keys["admin"])
        assert answer.status_code == 200
        assert len(rows_of(answer.content, tmp_path / "packets.pcapng")) == packets


def test_table_has_the_figures_of_the_api(run):
    answer = download(run, "stats.csv")
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    data = run.api("GET", f"/runs/{run.uuid}/stats/rtp_jitter")["stats_data"]
    assert len(rows) == len(data) == 3
    for row, point_of_api in zip(rows, data):
        assert (row["measure"], row["n"]) != ("", "")
        for name in ("time", "role", "dir"):
            assert row[name] == point_of_api[name]
        for name in ("avg", "min", "max", "median", "p75", "p90", "p95", "stddev"):
            assert float(row[name]) == pytest.approx(float(point_of_api[name]), abs=1e-6)


@pytest.mark.parametrize("name", ["sip.txt", "sip.pcap", "packets.pcapng", "stats.csv"])
def test_who_may_read_them(run, name):
    problem(download(run, name, auth=None), 401)
    problem(download(run, name, auth=("x", "y")), 401)
    url = f"{run.url}/run/details/00000000-0000-4000-8000-000000000000/{name}"
    problem(run.session.get(url, auth=run.keys["admin"], timeout=60), 404)
    head = run.session.head(f"{run.url}/run/details/{run.uuid}/{name}", auth=run.keys["admin"],
                            timeout=60)
    assert head.ok and int(head.headers["Content-Length"]) == len(download(run, name).content)


def test_empty_run(run):
    """The files of a run that never started have no rows."""
    pool = run.api("POST", "/agent-pools", {"name": "empty"})["agent_pool"]["id"]
    uuid = run.api("POST", "/tests/scenarios/registration", {
        "agentpool_id": pool, "target": "sip:127.0.0.1", "username": "1001", "password": "x"}
                   )["data"]["session_id"]
    sizes = [len(run.session.get(f"{run.url}/run/details/{uuid}/{name}", timeout=60,
                                 auth=run.keys["admin"]).content)
             for name in ("sip.txt", "sip.pcap", "packets.pcapng", "stats.csv")]
    assert sizes == [0, 24, 28, len("time,role,dir,measure,n,avg,min,max,median,p75,p90,p95,stddev") + 2]


def test_events_are_shown_as_they_were_uploaded():
    """With the role of their lease and at most 15 digits, whatever JSON formatting the
    agent used."""
    calls = ['{"t":1,"kind":"call","call":"plain","pdd_ms":33.333333333333336,"duration_ms":10000}',
             ' { "t" : 2 , "kind":"call", "call":"a \\"}]\\u00e4", "x":[ {"role":"inner"} , 0.10000000000000001 ]} ',
             '{"t":3,"role":"forged","kind":"call","call":"own role"}',
             '{"t":4,"k\\u0069nd":"call","r\\u006fle":"forged","call":"escaped names","n":9007199254740993}']
    with Controller(**TIMES) as c:
        pool = c.api("POST", "/agent-pools", {"name": "p"})["agent_pool"]
        agent = FakeAgent(c, pool["join_token"], "agent")
        started = c.api("POST", "/tests/scenarios/registration", {
            "agentpool_id": pool["id"], "target": "sip:127.0.0.1", "username": "1001", "password": "x",
            "report.mode": "kiosk"})["data"]
        job, = agent.jobs(1).values()
        assert agent.start(job).ok

        def upload(seq, text, member="events"):
            return agent.session.post(
                f"{c.url}/api/v2/agent/leases/{job['lease_id']}/{member}", auth=agent.auth,
                headers={"Content-Type": "application/json"}, data=text.encode())

        assert upload(1, '{ "seq":1,"events" : [' + ",".join(calls) + "] }").ok
        assert upload(2, '{"\\u0065vents":[' + calls[0] + '],"seq":2}').ok
        for refused in ('{"seq":3,"events":[{"t":1,"kind":"call","t":2}]}', '{"seq":3,"events":[],"events":[]}',
                        '{"seq":3,"events":[{"t":1,"kind":"call","x":"\\u0000"}]}', '{"seq":3,"events":[1]}',
                        '{"seq":3,"events":[{"t":1,"kind":"call","x":' + 60 * "[" + 60 * "]" + "}]}",
                        '{"seq":3,"events":[{"t":1,"kind":"call"}', '{"seq":3,"events":[{"t":1,"kind":"call"}]} x'):
            assert upload(3, refused).status_code == 422, refused
        whole = c.session.get(f"{c.url}/run/details/{started['session_id']}/data", auth=c.keys["admin"])
        public = c.session.get(started["report_url"] + "/data")
        role = job["role"]
        shown = [
            {"t": 1, "kind": "call", "call": "plain", "pdd_ms": 33.3333333333333, "duration_ms": 10000, "role": role},
            {"t": 2, "kind": "call", "call": 'a "}]ä', "x": [{"role": "inner"}, 0.1], "role": role},
            {"t": 3, "role": role, "kind": "call", "call": "own role"},
            {"t": 4, "kind": "call", "role": role, "call": "escaped names", "n": 9007199254740993}]
        for answer in (whole, public):
            assert answer.headers["Content-Type"] == "application/json"
            assert answer.json()["calls"] == shown + shown[:1]
            assert [list(call) for call in answer.json()["calls"][:4]] == [list(call) for call in shown]
            assert "0000001" not in answer.text and "33333333333333333" not in answer.text
            assert answer.json()["status"] == 200

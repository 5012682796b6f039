#!/usr/bin/python3
"""Searches for a capacity that is known: of a target that refuses with 503 above its limit.

KIND     target                                                             searched for
calls    a phone of the tests that takes a number of calls at a time        calls at a time
sipp     a SIPp that counts its calls, and refuses above a number           calls at a time
rate     a phone of the tests with a token bucket of two calls              calls a second
kamailio a kamailio with pipelimit (taildrop over two seconds), and a phone calls a second

Limits are random, 10 to 36 calls at a time and 8 to 40 calls a second. Prints each search, and at last how many
intervals contain the limit, how wide they are, and how many trials and seconds they took.

Usage: bench-capacity.py BUILD [KIND [SEARCHES [SEED]]]
"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BUILD = Path(sys.argv[1]).resolve()
os.environ["OFFHOOK_BUILD"] = str(BUILD)
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

import contract  # noqa: E402
from bench import Bench  # noqa: E402
from ports import PortBlock  # noqa: E402
from test_capacity import Phone  # noqa: E402

BUCKET = 2  # calls that may come at once
KINDS = ("calls", "sipp", "rate", "kamailio")
BY_RATE = ("rate", "kamailio")
PIPE_S = 2  # pipelimit refuses what is more than its limit in each interval

KAMAILIO = """#!KAMAILIO
debug=1
log_stderror=yes
children=2
dns=no
rev_dns=no
auto_aliases=no
listen=udp:127.0.0.1:{port}
loadmodule "tm.so"
loadmodule "tmx.so"
loadmodule "sl.so"
loadmodule "pv.so"
loadmodule "textops.so"
loadmodule "pipelimit.so"
modparam("pipelimit", "timer_interval", {pipe_s})
request_route {{
	if (is_method("INVITE")) {{
		if (!t_precheck_trans()) {{
			if (!pl_check("calls", "taildrop", "{limit}")) {{
				sl_send_reply("503", "Too Many");
				exit;
			}}
		}}
	}}
	$du = "sip:127.0.0.1:{phone}";
	t_relay();
}}
"""

REPLY = """[last_Via:]
[last_From:]
[last_To:]{tag}
[last_Call-ID:]
[last_CSeq:]
Contact: <sip:[local_ip]:[local_port];transport=[transport]>
"""
SIPP = """<?xml version="1.0" encoding="UTF-8" ?>
<scenario name="refuses above a number">
<Global variables="up"/>
<init><nop><action><assign assign_to="up" value="0"/></action></nop></init>
<recv request="INVITE"><action>
<add assign_to="up" value="1"/>
<test assign_to="over" variable="up" compare="greater_than" value="{limit}"/>
</action></recv>
<nop next="refuse" test="over"/>
<send retrans="500"><![CDATA[

SIP/2.0 200 OK
{reply}Content-Type: application/sdp
Content-Length: [len]

v=0
o=sipp 1 1 IN IP4 127.0.0.1
s=-
c=IN IP4 127.0.0.1
t=0 0
m=audio {rtp} RTP/AVP 0
a=rtpmap:0 PCMU/8000
]]></send>
<recv request="ACK"/>
<recv request="BYE"><action><subtract assign_to="up" value="1"/></action></recv>
<send next="end"><![CDATA[

SIP/2.0 200 OK
{again}Content-Length: 0

]]></send>
<label id="refuse"/>
<nop><action><subtract assign_to="up" value="1"/></action></nop>
<send retrans="500"><![CDATA[

SIP/2.0 503 Full
{reply}Content-Length: 0

]]></send>
<recv request="ACK"/>
<label id="end"/>
</scenario>
"""

contract.install()  # Bench demands that each answer is compared with it


class LimitedPhone(Phone):
    """A phone with a limit of calls at a time, or of calls a second (rate)."""

    rate = None

    def use(self, limit, rate):
        self.limit, self.rate = (10**6, limit) if rate else (limit, None)
        self.tokens, self.at = BUCKET, time.monotonic()

    def _answer(self, request):
        call = request.header("call-id")
        if self.rate and request.method == "INVITE" and call not in self.calls:
            now = time.monotonic()
            self.tokens = min(BUCKET, self.tokens + (now - self.at) * self.rate)
            self.at = now
            if self.tokens < 1:
                return request.reply(503, "Too Many")
            self.tokens -= 1
        return super()._answer(request)


class Target:
    """What is searched: the phone alone, or a foreign program on the port that is called."""

    def __init__(self, kind, folder, ports, phone):
        self.kind, self._folder, self._phone, self._ports = kind, folder, phone, ports
        self.port = ports.phone if kind in ("calls", "rate") else ports.sip
        self._process = None

    def use(self, limit):
        self.end()
        if self.kind in ("calls", "rate"):
            self._phone.use(limit, self.kind == "rate")
            return
        self._phone.use(10**6, False)
        if self.kind == "kamailio":
            (self._folder / "limit.cfg").write_text(KAMAILIO.format(
                port=self.port, phone=self._phone.port, limit=limit * PIPE_S, pipe_s=PIPE_S))
            command = ["/usr/sbin/kamailio", "-DD", "-E", "-Y", str(self._folder), "-f", "limit.cfg"]
        else:
            # the sockets of the phone swallow the audio: SIPp would bind no port of its own for it
            (self._folder / "limit.xml").write_text(SIPP.format(
                limit=limit, rtp=self._ports.relay[0], reply=REPLY.format(tag=";tag=[pid]SIPp[call_number]"),
                again=REPLY.format(tag="")))
            command = ["/usr/bin/sipp", "-sf", "limit.xml", "-i", "127.0.0.1", "-p", str(self.port), "-nostdin"]
        with open(self._folder / "target.log", "wb") as log:
            self._process = subprocess.Popen(command, cwd=self._folder, stdout=log, stderr=log, start_new_session=True)
        time.sleep(2)
        if self._process.poll() is not None:
            sys.exit(f"{self.kind} ended at once:\n{(self._folder / 'target.log').read_text(errors='replace')[-2000:]}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        if self._process:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None


def search(bench, test, *arguments):
    done = subprocess.run([BUILD / "offhook", "capacity", str(test), *map(str, arguments), "--json"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True,
                          env={**os.environ, "OFFHOOK_URL": bench.controller.witness().url,
                               "OFFHOOK_KEY": ":".join(bench.controller.keys["admin"])})
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return json.loads(done.stdout)


def main():
    kind = sys.argv[2] if len(sys.argv) > 2 else "calls"
    if kind not in KINDS:
        sys.exit(__doc__)
    rate = kind in BY_RATE
    searches = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    numbers, ports, all_found = random.Random(seed), PortBlock(), []
    with tempfile.TemporaryDirectory() as folder, Bench(Path(folder), ports, proxy=False) as bench, \
            LimitedPhone(ports.phone, ports.relay[0], 0) as phone, \
            Target(kind, Path(folder), ports, phone) as target:
        test = bench.api("POST", "/tests", {
            "name": "capacity", "project_id": bench.project_id, "scenario": "single-call",
            "agentpool_id": bench.pool_id, "conditions": [],
            "steps": [[{"type": "call", "role": "caller", "dial_destination": "1002",
                        "call_duration": 0.5, "target_pool": bench.target(target.port),
                        "credential_pool": bench.callers}]]})["test"]["id"]
        for number in range(searches):
            limit = numbers.randint(8, 40) if rate else numbers.randint(10, 36)
            target.use(limit)
            found = search(bench, test, *(("--rate", "2-80", "--trial", 5, "--warm-up", 1) if rate
                                          else ("--calls", "4-40", "--trial", 1, "--warm-up", 0)),
                           "--cool-down", 0)
            result = found["result"]
            contained = result["lower"] <= limit <= result["upper"]
            width = 100 * (result["upper"] - result["lower"]) / result["lower"]
            all_found.append((contained, width, len(found["trials"]), found["seconds"]))
            print(f"{number + 1}: {limit} {'calls/s' if rate else 'calls at a time'}: {result['lower']:g} to "
                  f"{result['upper']:g}, {len(found['trials'])} trials, {found['seconds']:.0f} s, "
                  f"limit {result['limit']}{'' if contained else ': MISSED'}", flush=True)
    ports.close()
    contained, width, trials, seconds = zip(*all_found)
    print(f"{kind}: {sum(contained)} of {searches} intervals contain the limit; widest {max(width):.1f} %; "
          f"{sum(trials) / searches:.1f} trials and {sum(seconds) / searches:.0f} s on average; load average "
          f"{os.getloadavg()[0]:.1f}; seed {seed}")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Searches for a capacity that is known, for calls at a time (KIND calls) or for calls a second (KIND rate).

The target is a phone of the tests that answers 503 above its limit: a number of calls at a time, or a rate (a token bucket of
two calls). Limits are random, 10 to 36 calls at a time and 8 to 40 calls a second. Prints each search, and at last how many
intervals contain the limit, how wide they are, and how many trials and seconds they took.

Usage: bench-capacity.py BUILD [KIND [SEARCHES [SEED]]]
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BUILD = Path(sys.argv[1]).resolve()
os.environ["OFFHOOK_BUILD"] = str(BUILD)
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))

from bench import Bench  # noqa: E402
from ports import PortBlock  # noqa: E402
from test_capacity import Phone  # noqa: E402

BUCKET = 2  # calls that may come at once


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


def search(bench, test, *arguments):
    done = subprocess.run([BUILD / "offhook", "capacity", str(test), *map(str, arguments), "--json"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True,
                          env={**os.environ, "OFFHOOK_URL": bench.controller.witness().url,
                               "OFFHOOK_KEY": ":".join(bench.controller.keys["admin"])})
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return json.loads(done.stdout)


def main():
    rate = len(sys.argv) > 2 and sys.argv[2] == "rate"
    searches = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    numbers, ports, all_found = random.Random(seed), PortBlock(), []
    with tempfile.TemporaryDirectory() as folder, Bench(Path(folder), ports, proxy=False) as bench, \
            LimitedPhone(ports.phone, ports.relay[0], 0) as phone:
        test = bench.api("POST", "/tests", {
            "name": "capacity", "project_id": bench.project_id, "scenario": "single-call",
            "agentpool_id": bench.pool_id, "conditions": [],
            "steps": [[{"type": "call", "role": "caller", "dial_destination": "1002",
                        "call_duration": 0.5, "target_pool": bench.target(ports.phone),
                        "credential_pool": bench.callers}]]})["test"]["id"]
        for number in range(searches):
            limit = numbers.randint(8, 40) if rate else numbers.randint(10, 36)
            phone.use(limit, rate)
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
    print(f"{sum(contained)} of {searches} intervals contain the limit; widest {max(width):.1f} %; "
          f"{sum(trials) / searches:.1f} trials and {sum(seconds) / searches:.0f} s on average; load average "
          f"{os.getloadavg()[0]:.1f}; seed {seed}")


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Pairs of equal runs in which a difference is named: false alarms of GET /runs/ID/differences.

Nothing is changed between the runs of a rig; each run is compared with the one before it. Of each
rig it prints the pairs, how many have a difference, and each sentence; and the same of all kinds but
those that a busy machine changes by itself (times, media, retransmissions).

Usage: bench-differences.py BUILD [PAIRS [RIG...]]
PAIRS of each rig (20); RIG: party (a user agent), proxy (kamailio and a relay), rtpengine (two
phones of our own through kamailio and rtpengine), behind (a user agent behind both).
"""
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
if len(sys.argv) > 1:
    os.environ["OFFHOOK_BUILD"] = sys.argv[1]

import contract  # noqa: E402
import test_differences as party  # noqa: E402
import test_differences_proxy as proxy  # noqa: E402
import test_differences_rtpengine as rtpengine  # noqa: E402

# rig: (context manager of its lab, one run)
RIGS = {
    "party": (party.party_lab, party.equal),
    "proxy": (proxy.proxy_lab, proxy.passing),
    "rtpengine": (rtpengine.rtpengine_lab, lambda lab: rtpengine.passing(lab, lab.two_phones)),
    "behind": (rtpengine.rtpengine_lab, lambda lab: rtpengine.passing(lab, lab.to_party)),
}


PER_LAB = 20  # pairs; the relay of the tests has ports for 25 calls


def compare(name, pairs):
    """Place runs in a fresh lab. @return the kinds of each pair with a difference"""
    make_lab, run = RIGS[name]
    alarms = []
    with tempfile.TemporaryDirectory(prefix="offhook-bench-") as folder, make_lab(Path(folder)) as lab:
        before = run(lab)
        for _ in range(pairs):
            after = run(lab)
            found = party.differences(lab, after, before)["differences"]
            if found:
                alarms.append({d["kind"] for d in found})
            for d in found:
                print(f"  {name}, load {os.getloadavg()[0]:.1f}: {d['kind']}: {d['sentence']}", flush=True)
            before = after
    return alarms


def measure(name, pairs):
    """@return (pairs with a difference, of them those with another one than figures)"""
    alarms = []
    for begun in range(0, pairs, PER_LAB):
        alarms += compare(name, min(PER_LAB, pairs - begun))
    other = sum(bool(of - set(party.FIGURES)) for of in alarms)
    kinds = Counter(kind for of in alarms for kind in of)
    print(f"{name}: {pairs} pairs, {len(alarms)} with a difference, {other} with one that is no figure"
          f" {dict(kinds) or ''}", flush=True)
    return len(alarms), other


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    contract.install()
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    rigs = sys.argv[3:] or list(RIGS)
    totals = [measure(name, pairs) for name in rigs]
    print(f"{pairs * len(rigs)} pairs: {sum(t[0] for t in totals)} with a difference, "
          f"{sum(t[1] for t in totals)} with one that is no figure")


if __name__ == "__main__":
    main()

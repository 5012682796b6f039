"""Results with each peer, filled in by tests and compared with
docs/reference/interop.md.

OFFHOOK_WRITE_INTEROP=1 rewrites that document."""
import os
from pathlib import Path

FILE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "interop.md"
HEAD = """# Interoperation

Written by `tests/e2e/test_interop.py`, `test_interop_phones.py`, `test_sipp.py`, `test_sip_edge.py`,
`test_presence.py`, `test_phone_baresip.py` and `test_phone_linphone.py` (`OFFHOOK_WRITE_INTEROP=1 ./runtests
e2e-interop`, then the same with `e2e-sipp` and so on); the suite fails when a peer does otherwise than stands here. Versions are Debian 12's. "yes": seen end to end, with what the peer sent; "no": tried, and the peer does not do it (why stands behind it); "": not tried.
"called": by us, "calling": it calls us. "nonce that has expired": kamailio's challenge says `stale=true`.
The other way round, what a peer does that keeps no rule, is `tests/e2e/test_adversary.py`.
Media: rows `codec` (a call with an offer of that codec alone), `plain`, `SDES`, `DTLS-SRTP` (with rtcp-mux; `on two ports` without, a handshake for each). Packets both ways are equal to
a capture's, nothing is lost, and the tones heard on both sides are within 2 dB if nothing else is said. linphone's G.722 is
6 dB off ITU-T's, ours and baresip's are not. More is in [media.md](../internals/media.md) and [nat.md](../internals/nat.md).

"""


# Rows with these prefixes are written by another test than the peer's other rows.
GROUPS = ("presence: ", "challenge: ", "registration, ", "call, ", "edge: ", "IPv6: ",
          "nonce that has expired, ", "fork: ", "redirect: ", "TLS: ",
          "codec, ", "plain, ", "SDES, ", "DTLS-SRTP, ",
          "DTLS-SRTP on two ports, ")


def load():
    """{peer: {feature: cell}} of the document"""
    if not FILE.exists():
        return {}
    rows = [[c.strip() for c in line.strip().strip("|").split("|")]
            for line in FILE.read_text().splitlines() if line.startswith("|")]
    peers = rows[0][1:]
    return {peer: {row[0]: row[n + 1] for row in rows[2:] if row[n + 1]}
            for n, peer in enumerate(peers)}


def compare(peer, seen, groups=()):
    """seen: {feature: cell} of all features that begin with one of these groups;
    without groups: of all that begin with none."""
    table = load()
    for feature, result in seen.items():
        print(f"{peer}: {feature}: {result}")

    def mine(feature):
        return feature.startswith(groups) if groups else not feature.startswith(GROUPS)

    column = table.get(peer, {})
    if os.environ.get("OFFHOOK_WRITE_INTEROP"):
        table[peer] = {**{f: c for f, c in column.items() if not mine(f)}, **seen}
        features = list(dict.fromkeys(f for column in table.values() for f in column))
        lines = ["| feature | " + " | ".join(table) + " |", "|---" * (len(table) + 1) + "|"]
        lines += ["| " + " | ".join([f] + [table[p].get(f, "") for p in table]) + " |"
                  for f in features]
        FILE.write_text(HEAD + "\n".join(lines) + "\n")
    else:
        assert seen == {f: c for f, c in column.items() if mine(f)}, \
            f"docs/reference/interop.md says otherwise of {peer}"

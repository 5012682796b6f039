"""Results with each peer, filled in by tests and compared with
docs/reference/interop.md.

OFFHOOK_WRITE_INTEROP=1 rewrites the table of that document."""
import os
from pathlib import Path

FILE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "interop.md"
# Rows with these prefixes are written by another test than the peer's other rows.
GROUPS = ("presence: ", "challenge: ", "registration, ", "call, ", "edge: ", "IPv6: ",
          "nonce that has expired, ", "fork: ", "redirect: ", "TLS: ",
          "codec, ", "plain, ", "SDES, ", "DTLS-SRTP, ",
          "DTLS-SRTP on two ports, ")


def load():
    """{peer: {feature: cell}} of the document"""
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
        head = [line for line in FILE.read_text().splitlines() if not line.startswith("|")]
        FILE.write_text("\n".join(head + lines) + "\n")
    else:
        assert seen == {f: c for f, c in column.items() if mine(f)}, \
            f"docs/reference/interop.md says otherwise of {peer}"

"""What was seen with which peer: filled by tests, compared with
docs/interop.md, which OFFHOOK_WRITE_INTEROP=1 writes anew."""
import os
from pathlib import Path

FILE = Path(__file__).resolve().parents[2] / "docs" / "interop.md"
HEAD = """# Interoperation

Written by `tests/e2e/test_interop.py` (`OFFHOOK_WRITE_INTEROP=1 ./runtests e2e-interop`); the suite
fails when a peer does otherwise than stands here. Versions are Debian 12's. "yes": seen end to end,
with what the peer sent; "no": tried, and the peer does not do it (why stands behind it); "": not tried.
The other way round, what a peer does that keeps no rule, is `tests/e2e/test_adversary.py`.

"""


def load():
    """{peer: {feature: cell}} of the document"""
    if not FILE.exists():
        return {}
    rows = [[c.strip() for c in line.strip().strip("|").split("|")]
            for line in FILE.read_text().splitlines() if line.startswith("|")]
    peers = rows[0][1:]
    return {peer: {row[0]: row[n + 1] for row in rows[2:] if row[n + 1]}
            for n, peer in enumerate(peers)}


def compare(peer, seen):
    """seen: {feature: cell}"""
    table = load()
    if os.environ.get("OFFHOOK_WRITE_INTEROP"):
        table[peer] = seen
        features = list(dict.fromkeys(f for column in table.values() for f in column))
        lines = ["| feature | " + " | ".join(table) + " |", "|---" * (len(table) + 1) + "|"]
        lines += ["| " + " | ".join([f] + [table[p].get(f, "") for p in table]) + " |"
                  for f in features]
        FILE.write_text(HEAD + "\n".join(lines) + "\n")
    else:
        assert seen == table.get(peer), f"docs/interop.md says otherwise of {peer}"

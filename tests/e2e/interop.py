"""Results with each peer, filled in by tests and compared with
docs/reference/interop.md.

OFFHOOK_WRITE_INTEROP=1 rewrites the tables of that document: a version that has a column of
its own writes there what differs, the others write the column of the peer."""
import os
import re
import subprocess
from pathlib import Path

FILE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "interop.md"
# Rows with these prefixes are written by another test than the peer's other rows.
GROUPS = ("presence: ", "challenge: ", "registration, ", "call, ", "edge: ", "IPv6: ",
          "nonce that has expired, ", "fork: ", "redirect: ", "TLS: ",
          "codec, ", "plain, ", "SDES, ", "DTLS-SRTP, ",
          "DTLS-SRTP on two ports, ")
# Programs that tell their version
VERSIONS = {"baresip": ["baresip", "-h"], "linphone-cli": ["linphonec", "-v"]}
TABLE = re.compile(r"(?:^\|.*\n)+", re.M)


def version(peer):
    """Its version as "1.1", or None for a peer whose version makes no difference"""
    if peer not in VERSIONS:
        return None
    done = subprocess.run(VERSIONS[peer], capture_output=True, text=True, timeout=30, check=False)
    return re.search(r"\d+\.\d+", done.stdout + done.stderr).group()


def read(table):
    """{column: {feature: cell}} of a table"""
    rows = [[c.strip() for c in line.strip().strip("|").split("|")]
            for line in table.splitlines()]
    return {name: {row[0]: row[n + 1] for row in rows[2:] if row[n + 1]}
            for n, name in enumerate(rows[0][1:])}


def load():
    """The columns of the document's tables: of the peers, and of the versions of a peer that
    differ, "baresip 1.1", with the cells that differ"""
    peers, differing = TABLE.findall(FILE.read_text())
    return read(peers), read(differing)


def write(*columns):
    texts = []
    for table in columns:
        features = list(dict.fromkeys(f for column in table.values() for f in column))
        lines = ["| feature | " + " | ".join(table) + " |", "|---" * (len(table) + 1) + "|"]
        lines += ["| " + " | ".join([f] + [table[p].get(f, "") for p in table]) + " |"
                  for f in features]
        texts.append("\n".join(lines) + "\n")
    rest = iter(texts)
    FILE.write_text(TABLE.sub(lambda _: next(rest), FILE.read_text()))


def compare(peer, seen, groups=()):
    """seen: {feature: cell} of all features that begin with one of these groups;
    without groups: of all that begin with none."""
    peers, differing = load()
    for feature, result in seen.items():
        print(f"{peer}: {feature}: {result}")

    def mine(feature):
        return feature.startswith(groups) if groups else not feature.startswith(GROUPS)

    column, this = peers.get(peer, {}), f"{peer} {version(peer)}"
    if not os.environ.get("OFFHOOK_WRITE_INTEROP"):
        told = {**column, **differing.get(this, {})}
        assert seen == {f: c for f, c in told.items() if mine(f)}, \
            f"docs/reference/interop.md says otherwise of {this}"
    elif this in differing:
        kept = {f: c for f, c in differing[this].items() if not mine(f)}
        differing[this] = {**kept, **{f: c for f, c in seen.items() if column.get(f) != c}}
        write(peers, differing)
    else:
        peers[peer] = {**{f: c for f, c in column.items() if not mine(f)}, **seen}
        write(peers, differing)

"""Every SIP message of ours that the tests of a file recorded is checked when the
file's last test has ended.

It is checked against the grammar (sip_grammar.py) and with tshark's dissectors of SIP
and SDP. One test alone has only its own messages checked in this way. Engines and
benches note their messages when they end."""
import re
import struct
import tempfile
from pathlib import Path

import sip_grammar
from capture import tshark

GRAMMAR_MAX = 4000   # messages of a file that the grammar check takes, evenly spread
_noted = []          # (message, checked against the grammar)
HEAD = re.compile(rb"[0-9-]{10} [0-9:.]{15} \S+ (sent|received) \S+ \S+ -> \S+, (\d+) bytes\n\n")


def note(messages, grammar=True):
    """Note messages (bytes) that were sent."""
    _noted.extend((m, grammar) for m in messages)


def sent_of_text(data):
    """The sent messages of /run/details/<session>/sip.txt."""
    at = 0
    while at < len(data):
        head = HEAD.match(data, at)
        assert head, data[at:at + 200]
        end = head.end() + int(head[2])
        if head[1] == b"sent":
            yield data[head.end():end]
        at = end + 2


def pcap(messages):
    """Exported PDUs (link type 252): no lower layers have to be made up, and none
    limits the length."""
    tags = struct.pack("!HH4sHH", 12, 4, b"sip\0", 0, 0)   # the dissector's name; the end
    records = [struct.pack("=IHHIIII", 0xa1b2c3d4, 2, 4, 0, 0, 1 << 20, 252)]
    for number, message in enumerate(messages):
        size = len(tags) + len(message)
        records += [struct.pack("=IIII", number, 0, size, size), tags, message]
    return b"".join(records)


def for_tshark(message):
    """What tshark would take for a fault and is none. Recorded SRTP keys are replaced by asterisks, which are
    not base64: insert a key. A user part that begins with "+" is an E.164 number to tshark, and malformed where
    it is a proxy's flow token in base64: let it begin with another letter."""
    message = re.sub(rb"inline:(\*+)", lambda m: b"inline:" + b"A" * len(m[1]), message)
    return re.sub(rb"(sips?:)\+(?=\d*[^\d@;>\s][^@>\s]*@)", rb"\1x", message)


def dissect(messages):
    """(what, message) of messages that tshark reports as malformed or wrong"""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "sent.pcap"
        file.write_bytes(pcap(map(for_tshark, messages)))
        out = tshark(file, "-T", "fields", "-E", "separator=|",
                     "-e", "frame.number", "-e", "frame.protocols", "-e", "_ws.malformed",
                     "-e", "_ws.expert.severity", "-e", "_ws.expert.message").splitlines()
    assert len(out) == len(messages), (len(out), len(messages))
    found = []
    for line in out:
        number, protocols, malformed, severity, text = line.split("|", 4)
        levels = [int(s) for s in severity.split(",") if s]
        # 0x600000 a warning, 0x800000 an error
        if malformed or ":sip" not in protocols or max(levels, default=0) >= 0x600000:
            found.append((f"tshark: {malformed or text or protocols}", messages[int(number) - 1]))
    return found


def findings():
    """(what, message) of all messages noted since the last call"""
    noted, _noted[:] = list(_noted), []
    held = [m for m, grammar in noted if grammar]
    found = dissect([m for m, _ in noted]) if noted else []
    for message in held[::len(held) // GRAMMAR_MAX + 1]:
        custom = {n.decode() for n in re.findall(rb"(?im)^(x-[\w-]+)[ \t]*:", message)}
        found += [(what, message) for what in sip_grammar.errors(message, custom)]
    return found

"""Captures of calls, written message by message."""
import struct

START = 1_795_800_000  # 2026-11-28
CALLER, CALLEE = "192.0.2.7", "192.0.2.9"


def packet(src, dst, payload, sport=5060, dport=5060):
    udp = struct.pack(">HHHH", sport, dport, 8 + len(payload), 0) + payload
    return struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 1, 0, 64, 17, 0, *(
        bytes(map(int, a.split("."))) for a in (src, dst))) + udp


def pcap(packets):
    """@param packets  [(seconds, packet)]"""
    file = [struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 101)]
    for at, frame in packets:
        seconds, us = divmod(round(at * 1e6), 1_000_000)
        file += [struct.pack("<IIII", START + seconds, us, len(frame), len(frame)), frame]
    return b"".join(file)


def message(first, cseq, number=1, to="", user="1001", peer="1002", more="", body=""):
    kind = "Content-Type: application/sdp\r\n" if body else ""
    return (f"{first}\r\nVia: SIP/2.0/UDP {CALLER};branch=z9hG4bK{number}\r\nFrom: <sip:{user}@example.test>;tag=a\r\n"
            f"To: <sip:{peer}@example.test>{to}\r\nCall-ID: call-{number}\r\nCSeq: {cseq}\r\n{more}{kind}\r\n{body}").encode()


def call(number=1, at=0.0, user="1001", peer="1002", code=200, lasts=3.0, **more):
    """The messages of a call that is answered after 0.4 s, or refused. @return [(seconds, packet)]"""
    given = {"number": number, "user": user, "peer": peer}
    found = [(at, packet(CALLER, CALLEE, message(f"INVITE sip:{peer}@example.test SIP/2.0", "1 INVITE", **given, **more))),
             (at + 0.4, packet(CALLEE, CALLER, message(f"SIP/2.0 {code} Answer", "1 INVITE", to=";tag=b", **given)))]
    if code == 200:
        found.append((at + 0.4 + lasts, packet(CALLER, CALLEE, message(
            f"BYE sip:{peer}@{CALLEE} SIP/2.0", "2 BYE", to=";tag=b", **given))))
    return found

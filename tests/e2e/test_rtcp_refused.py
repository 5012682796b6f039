"""Invalid RTCP is counted exactly and changes nothing else."""
from adversary import Peer
from engine import Engine, target
from ports import PortBlock

# too long, too short, not a multiple of 4 bytes, padding longer than the packet
MALFORMED = [bytes((0x80, 201, 0xff, 0xff, 0, 0, 0, 1)), bytes((0x80, 200, 0, 1)),
             bytes((0x80, 201, 0, 1, 0, 0, 0, 1, 0)),
             bytes((0xa0, 201, 0, 1, 0, 0, 0, 0x40))]
WELL = bytes((0x80, 201, 0, 1, 0, 0, 0, 1))


def sends_malformed(peer):
    peer.called()
    peer.echo(10)
    source = peer._rtp.recvfrom(2048)[1]
    for data in [*MALFORMED, WELL]:
        peer._rtp.sendto(data, source)
    peer.echo(10)
    peer.request("BYE")
    assert peer.final("BYE").code == 200


def test_malformed_rtcp_is_counted(build):
    ports = PortBlock()
    try:
        with Peer(sends_malformed) as peer:
            action = {"type": "call", "dial_destination": "adv", "call_duration": "60",
                      "target": target("127.0.0.1", peer.port),
                      "credentials": [{"username": "1001", "password": "secret"}]}
            with Engine(build, "caller", [[action]], ports, copies=True) as engine:
                engine.run()
    finally:
        ports.close()
    assert peer.failure is None, peer.failure
    evidence, = (e for e in engine.events if e["kind"] == "evidence")
    assert evidence["rtcp_invalid"] == evidence["invalid_packets"] == len(MALFORMED), evidence
    assert evidence["rtcp_send_refused"] == evidence["rtp_send_refused"] == 0, evidence
    assert "CALL_RTCP" in engine.states() and engine.calls()[0]["end"] == "remote"

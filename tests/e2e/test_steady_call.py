"""A call that is renegotiated every 10 s, every other time for hold, keeps exact
counters.

A minute here; OFFHOOK_STEADY_CALL_S=600 for ten."""
import os

from capture import Capture
from engine import Engine, target

SECONDS = int(os.environ.get("OFFHOOK_STEADY_CALL_S", "60"))
EVERY_S, HOLD_MS = 10, 2000


def script():
    """A re-INVITE that changes nothing, or hold and resume."""
    actions = [["assert_established", "20000"]]
    for n in range(1, SECONDS // EVERY_S):
        if n % 2:
            actions += [["wait", str(1000 * EVERY_S)], ["reinvite"]]
        else:
            actions += [["wait", str(1000 * EVERY_S - HOLD_MS)], ["hold"],
                        ["wait", str(HOLD_MS)], ["resume"]]
    return actions + [["wait", str(1000 * EVERY_S)], ["hangup"]]


def stream(engine, direction):
    (call,) = engine.calls()
    (found,) = [s for s in call["streams"] if s["dir"] == direction]
    return found


def test_counters_stay_exact(build, ports, tmp_path):
    actions = script()
    holds = sum(1 for a in actions if a[0] == "hold")
    reinvites = sum(1 for a in actions if a[0] in ("hold", "resume", "reinvite"))
    common = {"session_timer": 1800, "audio_codecs": ["PCMU"]}
    steps = [[], [{"type": "call", "dial_destination": "1002", "call_duration": str(SECONDS + 60),
                   "credentials": [{"username": "1001"}], **common,
                   "target": target("127.0.0.1", ports.phone), "sipclient_actions": actions}]]
    with Capture(tmp_path, ports.rtp) as capture, \
            Engine(build, "callee", [[{"type": "answer", "credentials": [{"username": "1002"}],
                                       **common}], []],
                   ports, sip_port=ports.phone, max_duration_s=SECONDS + 120) as callee, \
            Engine(build, "caller", steps, ports, offset=8,
                   max_duration_s=SECONDS + 120) as caller:
        callee.step(0)
        caller.step(0)
        caller.go(1)
        caller.until(lambda: caller.ready >= 1, "the call is over", SECONDS + 100)
        callee.step(1)
        caller.end()
        callee.end()
    assert caller.asserts() == [] and callee.asserts() == []
    # what was negotiated, and how often
    assert len(caller.sent("INVITE ")) == 1 + reinvites
    assert len(callee.received("INVITE ")) == 1 + reinvites
    for engine in (caller, callee):
        assert engine.states().count("CALL_HOLD") == holds
        assert engine.states().count("CALL_RESUME") == holds
        assert not [e for e in engine.events if e["kind"] == "flaw"]
    captured = {key[0]: len(found.packets) for key, found in capture.streams().items()}
    for sender, receiver in ((caller, callee), (callee, caller)):
        out, got = stream(sender, "out"), stream(receiver, "in")
        print(f"{sender.role}: sent {out['packets']}, captured {captured[int(out['ssrc'], 16)]}, "
              f"received {got['received']}, lost {got['lost']}")
        assert out["packets"] == captured[int(out["ssrc"], 16)] == got["received"]
        assert got["lost"] == got["duplicates"] == got["reordered"] == got["stray"] == 0
        assert got["ssrc"] == out["ssrc"]
    # The holding side continues to send (sendonly); the held side is silent meanwhile.
    (call,) = caller.calls()
    whole = call["duration_ms"] / 20
    assert abs(stream(caller, "out")["packets"] - whole) <= 2
    silent = stream(caller, "out")["packets"] - stream(callee, "out")["packets"]
    held = sum((resume - hold) / 20e6 for hold, resume in zip(
        [e["mono"] for e in callee.events if e.get("state") == "CALL_HOLD"],
        [e["mono"] for e in callee.events if e.get("state") == "CALL_RESUME"]))
    print(f"silent for {silent} packets, on hold for {held:.1f}")
    assert abs(silent - held) <= 2 + 2 * holds

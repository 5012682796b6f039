"""Encrypted and plain calls with foreign phones, compared with interop.md: the common
parts of the test of one phone.

The phone is at the far end of a cable (netns.py)."""
import json
import math
import os
import subprocess
import time
from contextlib import contextmanager

import interop
from capture import Capture
from engine import Engine, target
from phones import BARESIP, CODECS, LINPHONE, OURS, PHONE, Baresip, Linphone, level_at, tone_write

# name: the phone's setting for it, our setting
MODES = {
    "plain": (None, "none", "none"),
    "SDES": ("srtp-mand", "srtp", "sdes-mandatory"),
    "DTLS-SRTP": ("dtls_srtp", "dtls", "dtls"),
    # one association for RTP and one for RTCP: the default of linphone 5.1 and of baresip
    "DTLS-SRTP on two ports": ("dtls_srtp", "dtls", "dtls"),
}
CODEC_MODES = [m for m in MODES if m != "DTLS-SRTP on two ports"]
RTP = (20000, 20099)
PHONES = {"baresip": BARESIP, "linphone-cli": LINPHONE}
PATIENCE_S = 20


def phone_make(kind, folder, namespace, mode, codec="PCMA"):
    folder.mkdir()
    theirs = MODES[mode][kind != "baresip"]
    if kind == "baresip":
        module = {"srtp-mand": ["srtp"], "dtls_srtp": ["dtls_srtp"]}.get(theirs, [])
        return Baresip(folder, namespace, codec, f";mediaenc={theirs}" if theirs else "", module,
                       ["rtcp_mux " + ("yes" if mode == "DTLS-SRTP" else "no")], dtmf="rtpevent")
    secure = ["media_encryption_mandatory=1"] * (mode != "plain")
    mux = ["[rtp]", "rtcp_mux=1", "[sip]"] * (mode == "DTLS-SRTP")
    return Linphone(folder, namespace, [f"media_encryption={theirs}"] + secure + mux, info=False)


def rtcp_replays(capture, port):
    """Number of SRTCP packets from a port whose index occurred before."""
    seen, again = set(), 0
    for _, _, _, data in capture.datagrams(f"udp.srcport in {{{port}, {port + 1}}}"):
        if 192 <= data[1] <= 223:
            index = data[4:8] + data[-14:-10]   # SSRC, E flag and index; an 80-bit tag
            again += index in seen
            seen.add(index)
    return again


def sent_early(capture, ssrc):
    """Number of packets that the stream begins with before its sender has the keys: without a tag.

    baresip begins to send once the first of two handshakes has ended; if that is the one of RTCP, the
    first packets of RTP are plain."""
    plain = 12 + 160   # the header, 20 ms of G.711
    kept = [len(data) == plain for _, _, _, data in capture.datagrams()
            if len(data) >= 12 and data[0] >> 6 == 2 and not 192 <= data[1] <= 223
            and int.from_bytes(data[8:12], "big") == ssrc]
    early = kept.index(False)
    assert not any(kept[early:]), kept   # what is encrypted stays so
    return early


def exact(streams, capture, secure, early=0):
    """Packets, losses and duplicates of both directions equal the capture's.

    early: the first packets of the phone, which nobody could authenticate"""
    captured = capture.streams()
    for way in ("in", "out"):
        seen, ssrc = streams[way], int(streams[way]["ssrc"], 16)
        witness, = (s for key, s in captured.items() if key[0] == ssrc)
        if way == "in":
            del witness.packets[:early]
        twice = len(witness.packets) - len({n for _, n, _ in witness.packets})
        assert (seen["packets"], seen["duplicates"]) == (
            len(witness.packets), twice if way == "in" else 0), (way, twice, early, seen)
        # linphone has left out a packet in mid-stream: missing in the capture as well. Of what we
        # send, RTCP alone tells the loss.
        assert way == "in" or witness.lost() == 0, witness.lost()
        assert way == "out" or seen["lost"] == witness.lost() <= 1, (witness.lost(), seen)
        if secure and way == "in":
            # on hold linphone restarts the SRTCP index under the same key: a replay,
            # which RFC 3711 3.4 forbids
            again = rtcp_replays(capture, witness.source)
            assert twice <= seen["srtp_replayed"] <= twice + again, (seen, twice, again)
    return streams["out"]["packets"], streams["in"]["packets"]


def heard_by_us(streams):
    """The phone's tone of 440 Hz. @return its level relative to that of its file, dB"""
    tone = max(streams["in"]["audio"]["tones"], key=lambda t: t["ms"])
    # on a busy machine the phone starts late, and pauses
    came_ms = streams["in"]["packets"] * streams["in"]["ptime_ms"]
    assert abs(tone["hz"] - 440) < 1 and tone["ms"] >= min(800, came_ms / 3), (tone, came_ms)
    return tone["dbov"] + 15.26


class PhoneStandsStill(Exception):
    """The phone carries out no command any more: a fault of its own."""


def heard_by_it(phone, since):
    """Level of our tone of 1000 Hz in the phone's recording, dB."""
    files = [p for p in (*phone.folder.glob("dump-*-dec.wav"), *phone.folder.glob("heard*.wav"))
             if p.stat().st_mtime_ns >= since]
    deadline = time.monotonic() + 60
    while not all(p.read_bytes()[:4] == b"RIFF" for p in files):  # the phone closes them with a delay
        if time.monotonic() > deadline:
            raise PhoneStandsStill(files) if phone.stands_still() else AssertionError(files)
        time.sleep(0.05)
    level = max(level_at(p, 1000) for p in files)
    return 20 * math.log10(max(level, 1e-3) / 8000)


def levels_cell(what, ours, theirs):
    print(f"{what}: its tone came at {theirs:+.2f} dB, ours to it at {ours:+.2f} dB")
    return "; ".join(["yes"] + [f"{whose} comes {'louder' if level > 0 else 'quieter'}"
                                for whose, level in (("its tone", theirs), ("ours", ours))
                                if abs(level) > 2])


# ---- a call for each codec ----

def codec_call(build, folder, namespaces, phone, mode, codec):
    """@return (our streams, None), or (None, why there was no call)"""
    done = subprocess.run(
        ["ip", "netns", "exec", namespaces[0], str(build / "offhook"), "call",
         f"sip:phone@{PHONE}", "--bind", OURS, "--rtp-ports", f"{RTP[0]}-{RTP[1]}", "--codec",
         codec, "--audio-checks", "--json", "--duration", "1.8", "--prompt",
         str(folder / "prompt.wav"), "--encryption", MODES[mode][2]],
        capture_output=True, text=True, timeout=60, check=False)
    result = json.loads(done.stdout)
    if done.returncode:
        code = result["calls"][0].get("code") if result["calls"] else None
        assert code in (415, 488), (result["reason"], result["asserts"], phone.text()[-2000:])
        return None, f"no: {code} to an offer of it alone"
    streams = {s["dir"]: s for s in result["calls"][0]["streams"]}
    assert ("srtp_suite" in streams["in"]) == ("srtp_suite" in streams["out"]) == (mode != "plain")
    assert streams["in"]["codec"] == streams["out"]["codec"] == codec.split("/")[0]
    return streams, None


def codec_calls(build, folder, namespaces, kind, mode):
    """A call with each codec: (codec, streams or None, why not, level of our tone)"""
    if kind != "baresip":
        with phone_make(kind, folder / "phone", namespaces[1], mode) as phone:
            phone.enable_codecs()
            for codec in CODECS:
                phone.record()
                since = time.time_ns()
                streams, why = codec_call(build, folder, namespaces, phone, mode, codec)
                yield codec, streams, why, streams and heard_by_it(phone, since)
        return
    for codec in CODECS:   # one process per codec: its audio has that sample rate
        with phone_make(kind, folder / codec.replace("/", "-"), namespaces[1], mode,
                        codec) as phone:
            streams, why = codec_call(build, folder, namespaces, phone, mode, codec)
            yield codec, streams, why, streams and heard_by_it(phone, 0)


def codecs(build, folder, namespaces, kind, mode):
    try:
        codecs_compared(build, folder, namespaces, kind, mode)
    except PhoneStandsStill as e:   # seen once, of linphonec 5.1: its log ended in the middle of a call
        print(f"{kind} stood still, so its calls are made again: {e}")
        again = folder / "again"
        again.mkdir()
        codecs_compared(build, again, namespaces, kind, mode)


def codecs_compared(build, folder, namespaces, kind, mode):
    tone_write(folder / "prompt.wav", 48000, 1000, 1)
    with Capture(folder, RTP, namespaces[0], "va") as capture:
        calls = list(codec_calls(build, folder, namespaces, kind, mode))
    seen, group = {}, f"codec, {mode}: "
    for codec, streams, why, level in calls:
        if streams:
            exact(streams, capture, mode != "plain")
        seen[group + codec] = why or levels_cell(
            f"{mode} {codec}: out {streams['out']['packets']}, in {streams['in']['packets']}",
            level, heard_by_us(streams))
    interop.compare(kind, seen, (group,))


# ---- changes during a call ----

@contextmanager
def desk(build, folder, namespaces, ports, action):
    """Our engine, which calls the phone or is called."""
    tone_write(folder / "prompt.wav", 8000, 1000, 1)
    answers = action["type"] == "answer"
    with Engine(build, "caller", [[action]] + [[]] * answers, ports, bind=OURS, sip_port=5070,
                prefix=["ip", "netns", "exec", namespaces[0]],
                settings={"prompt_dir": str(folder)}) as engine:
        engine.go(0)
        yield engine


def digits(engine, direction):
    return "".join(e["digit"] for e in engine.events
                   if e["kind"] == "dtmf" and e["direction"] == direction)


def during(engine, phone):
    """The phone holds, resumes and sends digits."""
    def until(condition, what):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < end and not engine.asserts() and not engine.finish, (
                what, engine.asserts(), engine.states(), phone.text()[-2000:])
            engine.pump()

    until(lambda: "CALL_RESUME" in engine.states(), "we hold and resume")
    until(lambda: digits(engine, "out") == "159", "our digits are out")
    until(lambda: phone.digits() == "159", "they came")
    phone.hold()
    until(lambda: engine.states().count("CALL_HOLD") == 2, "it holds")
    time.sleep(0.3)
    phone.resume()
    until(lambda: engine.states().count("CALL_RESUME") == 2, "it resumes")
    time.sleep(0.2)
    for sent in ("4", "42"):
        phone.digit(sent[-1])
        until(lambda s=sent: digits(engine, "in") == s, "its digit comes")


SCRIPT = [["assert_established", "15000"], ["assert_state", "CALL_RTPESTAB"], ["wait", "1200"],
          ["hold"], ["wait", "300"], ["resume"], ["dtmf", "159"], ["assert_dtmf", "42 30000"],
          # on a busy machine linphone takes a while to start its stream anew
          ["reinvite"], ["wait", "1000"], ["dtmf", "7"], ["wait", "1000"], ["hangup"]]


def secured(engine, capture, ours, one_port):
    """Each port with a handshake in the capture has reported its keys, and RTCP reports
    arrived. @return yes, or why there are no reports"""
    ports = {d for _, _, d, data in capture.datagrams(f"udp.dstport >= {ours[0]} and udp.dstport <= {ours[1]}")
             if 20 <= data[0] <= 63}
    told = [e["text"].partition(", ")[2] for e in engine.events
            if e["kind"] == "state" and e["state"] == "CALL_MENC"]
    assert len(ports) == len(told), (ports, told)
    if not one_port and told == ["RTP"]:
        return "no: none on that of RTCP"
    assert sorted(told) == ([""] if one_port else ["RTCP", "RTP"]), told
    assert "CALL_RTCP" in engine.states()
    return "yes"


def within(build, folder, namespaces, ports, kind, mode, we_call):
    """{feature: cell} of one call"""
    group = f"{mode}, {'called' if we_call else 'calling'}: "
    action = {"type": "call" if we_call else "answer", "audio_codecs": ["PCMA"],
              "audio_checks": 1, "prompt": "prompt.wav", "media_encryption": MODES[mode][2],
              "credentials": [{"username": "1002"}], "sipclient_actions": SCRIPT,
              "target": target(*((PHONE, 5060) if we_call else (OURS, 5070)))}
    if mode == "DTLS-SRTP on two ports":
        action["rtcp_mux"] = 0   # linphone 5.3 offers and takes it
    if we_call:
        action.update({"dial_destination": f"sip:phone@{PHONE}", "call_duration": "60"})
    since = time.time_ns()
    with phone_make(kind, folder / "phone", namespaces[1], mode) as phone:
        phone.record()
        with Capture(folder, (ports.rtp[0], ports.rtp[1]), namespaces[0], "va") as capture, \
                desk(build, folder, namespaces, ports, action) as engine:
            if not we_call:
                engine.until(lambda: engine.ready >= 0, "it answers")
                phone.dial(f"sip:1002@{OURS}:5070")
            during(engine, phone)
            engine.until(engine.calls, "the call's end", PATIENCE_S)
            if not we_call:
                engine.go(1)
            engine.end()
        came, log = phone.digits(), phone.log.read_text(errors="replace")
        assert not engine.asserts(), (engine.asserts(), phone.text()[-2000:])
        streams = {s["dir"]: s for s in engine.calls()[0]["streams"]}
        assert ("srtp_suite" in streams["in"]) == (mode != "plain")
        early = 0
        if mode == "DTLS-SRTP on two ports" and kind == "baresip":
            early = sent_early(capture, int(streams["in"]["ssrc"], 16))
        counts = exact(streams, capture, mode != "plain", early)
        handshakes = {}
        if mode.startswith("DTLS"):
            cell = secured(engine, capture, ports.rtp, mode == "DTLS-SRTP")
            if mode == "DTLS-SRTP":
                assert cell == "yes"
            else:
                handshakes[group + "handshake on each port"] = cell
        # baresip sends its RTCP BYE unencrypted
        if mode != "plain":
            refused = streams["in"]["srtp_auth_failed"]
            assert early <= refused <= early + (kind == "baresip"), (early, streams["in"])
        assert levels_cell(f"{group}out {counts[0]}, in {counts[1]}, duplicates "
                           f"{streams['in']['duplicates']}, digits {came}",
                           heard_by_it(phone, since), heard_by_us(streams)) == "yes"
    assert digits(engine, "in") == "42" and came.startswith("159"), came
    again = "yes" if came == "1597" else "no: " + (
        "it cannot decrypt what comes with the new key" if "failed to decrypt" in log
        else "the digit behind it did not come")
    return {**handshakes, group + "hold and resume by both": "yes", group + "telephone-event both ways": "yes",
            group + ("re-INVITE" if mode != "SDES" else "re-INVITE with new keys"): again}


def operations(build, folder, namespaces, ports, kind, mode, we_call):
    seen = within(build, folder, namespaces, ports, kind, mode, we_call)
    interop.compare(kind, seen, (f"{mode}, {'called' if we_call else 'calling'}: ",))


def skip_reason(kind):
    if os.geteuid() != 0:
        return "needs root for network namespaces"
    return None if PHONES[kind] else f"needs {kind}"

"""`offhook call`: one call in the foreground, without a controller."""
import json
import os
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from peers import ROOT, SUBSCRIBERS, Kamailio, SilentPort, SippCallee
from terminal import on_terminal


@pytest.fixture
def offhook(build, tmp_path, ports):
    def run(*arguments, timeout=90):
        done = subprocess.run([build / "offhook", *map(str, arguments)], text=True,
                              capture_output=True, timeout=timeout, cwd=tmp_path)
        print(done.stdout + done.stderr)
        return done
    return run


def test_call_to_a_foreign_phone(offhook, tmp_path, ports):
    with SippCallee(tmp_path, ports.phone, ports.relay) as phone:
        done = offhook("call", f"sip:phone@127.0.0.1:{ports.phone}", "--duration", 5)
        assert done.returncode == 0, done.stderr
        assert phone.wait() == 0
    out = done.stdout + done.stderr
    # One live line per second and a final table, each way.
    assert len(re.findall(r"\bMOS\b|\b4\.4\d*\b", out)) >= 5
    assert re.search(r"\bin\b", out) and re.search(r"\bout\b", out)
    assert re.search(r"4\.41", out)
    # 5 s at 50 packets/s
    counts = [int(n) for n in re.findall(r"\b(2[45]\d)\b", out)]
    assert any(249 <= n <= 251 for n in counts), out


def test_call_on_a_terminal_fits_80_columns(build, tmp_path, ports):
    with SippCallee(tmp_path, ports.phone, ports.relay) as phone:
        status, text = on_terminal(
            [build / "offhook", "call", f"sip:phone@127.0.0.1:{ports.phone}", "--duration", 3],
            tmp_path, {**os.environ, "TERM": "xterm"})
        assert status == 0, text
        assert phone.wait() == 0
    lines = text.replace("\r\x1b[K", "\n").splitlines()
    assert all(len(line) <= 80 for line in lines), lines
    live = [line for line in lines if re.match(r"\d\d:\d\d  out ", line)]
    assert live and all(re.search(r" \| in .*MOS (4\.4\d|-)$", line) and len(line) < 80
                        for line in live), lines
    # sent streams have no expected packets, and R says what it is of
    assert "expected" not in text
    assert re.search(r"(?m)^  received PCMU +\d+ +0 +0\.00 .* 4\.41 93\.2/100$", text)


def test_call_refused_by_the_proxy(offhook, tmp_path, ports):
    with Kamailio(tmp_path, ports.sip):
        done = offhook("call", f"sip:1002@127.0.0.1:{ports.sip}", "--user", "1001",
                       "--password", SUBSCRIBERS["1001"], "--duration", 2)
    assert done.returncode == 1
    assert "480" in done.stdout + done.stderr
    assert SUBSCRIBERS["1001"] not in done.stdout + done.stderr


def test_call_with_a_wrong_password(offhook, tmp_path, ports):
    with Kamailio(tmp_path, ports.sip):
        done = offhook("call", f"sip:1002@127.0.0.1:{ports.sip}", "--user", "1001",
                       "--password", "wrong-password", "--duration", 2)
    assert done.returncode == 1
    assert re.search(r"40[17]", done.stdout + done.stderr)
    assert "wrong-password" not in done.stdout + done.stderr


# RFC 3261 17.1.1.2, 17.1.2.2, 17.2.1, 13.3.1.4: T1 is 0.5 s, T2 4 s, the transaction
# ends after 64*T1
TIMER_A = [0, 0.5, 1.5, 3.5, 7.5, 15.5, 31.5]
TIMER_E = TIMER_G = OK_AGAIN = [0, 0.5, 1.5, 3.5, 7.5, 11.5, 15.5, 19.5, 23.5, 27.5, 31.5]


def held_to(timer, came, start):
    """Compare transmissions with their schedule.

    One may be late on a busy machine, but never early. None is missing except the last
    ones, which the end of the transaction may overtake."""
    times = [s for s, text in came if text.startswith(start)]
    times = [s - times[0] for s in times]
    print(start, [round(s, 3) for s in times])
    assert len(timer) - 1 <= len(times) <= len(timer), times
    assert all(s >= due - 0.02 for s, due in zip(times, timer)), times
    assert times[3] < timer[4], times


def invite(port, to, codec):
    body = ("v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
            f"m=audio 40000 RTP/AVP {codec}\r\n")
    return (f"INVITE sip:a@127.0.0.1:{to} SIP/2.0\r\n"
            f"Via: SIP/2.0/UDP 127.0.0.1:{port};branch=z9hG4bK{codec}\r\nMax-Forwards: 70\r\n"
            f"From: <sip:b@127.0.0.1>;tag=b\r\nTo: <sip:a@127.0.0.1>\r\n"
            f"Call-ID: {codec}@{port}\r\nCSeq: 1 INVITE\r\n"
            f"Contact: <sip:b@127.0.0.1:{port}>\r\nContent-Type: application/sdp\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}")


def test_nobody_answers(offhook, build, tmp_path, ports):
    """A call, a registration, a rejected call and an answer that is never acknowledged,
    all towards ports that receive everything and never answer."""
    registrar, caller = ports.sip, ports.control
    with SilentPort(ports.silent) as callee, SilentPort(registrar) as home, \
            SilentPort(caller) as source, ThreadPoolExecutor() as pool:
        answering = subprocess.Popen(
            [build / "offhook", "answer", "--user", "a", "--bind", "127.0.0.1", "--sip-port",
             str(ports.phone), "--calls", "9"], cwd=tmp_path, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT)
        registering = pool.submit(offhook, "register", "--user", "1001", "--password", "x",
                                  "--target", f"127.0.0.1:{registrar}")
        calling = pool.submit(offhook, "call", f"sip:1002@127.0.0.1:{ports.silent}",
                              "--duration", 2)
        # OPTIONS is answered earlier, when there is no account yet: then 404 to the calls
        assert any(line.startswith("Waiting for calls") for line in answering.stdout)
        for codec in (18, 0):   # one that the engine does not offer, one that it does
            source.send(invite(caller, ports.phone, codec), ports.phone)
        called, registered = calling.result(), registering.result()
        time.sleep(1)
        answering.terminate()
        print(answering.communicate()[0])
        held_to(TIMER_A, callee.taken(), "INVITE")
        held_to(TIMER_E, home.taken(), "REGISTER")
        answers = source.taken()
        held_to(TIMER_G, answers, "SIP/2.0 488")
        held_to(OK_AGAIN, answers, "SIP/2.0 200")
    assert called.returncode == registered.returncode == 1
    assert str(ports.silent) in called.stdout + called.stderr


@pytest.mark.parametrize("arguments", [
    [], ["no-such-command"], ["call"], ["call", "sip:a@127.0.0.1", "--no-such-option"],
    ["call", "sip:a@127.0.0.1", "--duration", "soon"]])
def test_wrong_usage_is_exit_2(offhook, arguments):
    done = offhook(*arguments)
    assert done.returncode == 2
    assert "usage" in (done.stdout + done.stderr).lower()


def test_what_the_machine_here_cannot_do(offhook, tmp_path, ports):
    """Exit status 3: the result says nothing about the peer, and the message names what
    to change."""
    (tmp_path / "notes.wav").write_text("no audio at all")
    with SippCallee(tmp_path, ports.phone, ports.relay):
        peer = ["call", f"sip:phone@127.0.0.1:{ports.phone}", "--duration", 1]
        for option in ("--prompt", "--expect-prompt"):
            done = offhook(*peer, option, "notes.wav")
            assert done.returncode == 3, done.stdout
            assert '"notes.wav" is no audio file' in done.stdout
        done = offhook(*peer, "--bind", "127.0.0.1", "--sip-port", ports.phone, "--json")
    result = json.loads(done.stdout)
    assert (done.returncode, result["passed"], result["errored"]) == (3, False, True)
    assert f"port {ports.phone}: Address already in use" in result["reason"]


def test_the_relay_that_does_not_answer_is_named(offhook, ports):
    server = f"127.0.0.1:{ports.silent}"
    done = offhook("call", f"sip:1002@127.0.0.1:{ports.sip}", "--nat", "turn", "--turn-server",
                   server, "--duration", 1)
    assert done.returncode == 1
    assert f"does not answer (turn_server {server})" in done.stdout.splitlines()[-1]
    done = offhook("call", f"sip:1002@127.0.0.1:{ports.sip}", "--nat", "turn", "--turn-server",
                   "no-such-name.invalid", "--duration", 1)
    assert done.returncode == 3
    assert "no-such-name.invalid does not resolve" in done.stdout


def test_a_name_that_does_not_resolve(offhook):
    done = offhook("call", "sip:1002@no-such-name.invalid", "--bind", "127.0.0.1")
    assert done.returncode == 1
    assert "no address was found for no-such-name.invalid" in done.stdout


def test_a_refused_offer_is_named(offhook, tmp_path, build, ports):
    """A 488 gives no details: the verdict names what was offered."""
    answer = subprocess.Popen(
        [build / "offhook", "answer", "--bind", "127.0.0.1", "--sip-port", str(ports.phone),
         "--codec", "PCMA"], stdout=subprocess.PIPE, text=True)
    try:
        assert answer.stdout.readline() == \
            f"Waiting for calls to sip:offhook@127.0.0.1:{ports.phone}; ^C ends.\n"
        done = offhook("call", f"sip:offhook@127.0.0.1:{ports.phone}", "--codec", "GSM",
                       "--encryption", "sdes-mandatory")
        assert answer.wait(30) == 1
    finally:
        answer.kill()
        answer.communicate()
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].endswith(
        "488 Not Acceptable Here to an offer of GSM with sdes-mandatory, "
        "the peer warns: 305 no common codec, the peer's SDP has GSM")


def test_the_offer_that_is_named_is_the_one_that_was_made(build, offhook, ports):
    """For a call without options: as in the INVITE that is sent."""
    with subprocess.Popen(
            [build / "offhook", "answer", "--bind", "127.0.0.1", "--sip-port", str(ports.phone),
             "--encryption", "dtls"], stdout=subprocess.PIPE, text=True) as answer:
        answer.stdout.readline()
        done = offhook("call", f"sip:offhook@127.0.0.1:{ports.phone}", "--trace")
        answer.kill()
    codecs = re.findall(r"^a=rtpmap:\d+ ([^/]+)/", sip_messages(done.stdout)[0], re.M)
    named = [c for c in codecs if c != "telephone-event"]
    assert named and done.stdout.splitlines()[-1].endswith(
        f"488 Not Acceptable Here to an offer of {', '.join(named)} without encryption, "
        "the peer warns: 306 " + done.stdout.split('Warning: 306 offhook "')[1].split('"')[0])


def sip_messages(trace):
    """The messages in the output with --trace, each one once: on a busy machine some are sent again."""
    found = {}
    for m in re.split(r"^--- (?:sent|received) .*\n", trace, flags=re.M)[1:]:
        found.setdefault(m.replace("\r", "").partition("\n\n")[0], m.replace("\r", ""))
    return list(found.values())


def test_reliable_responses_and_session_timers(build, offhook, ports):
    """RFC 3262 and RFC 4028 between `offhook call` and `offhook answer`."""
    with subprocess.Popen(
            [build / "offhook", "answer", "--bind", "127.0.0.1", "--sip-port", str(ports.phone),
             "--100rel", "supported", "--session-timer", "1800", "--calls", "2"],
            stdout=subprocess.PIPE, text=True) as answer:
        answer.stdout.readline()
        call = ["call", f"sip:offhook@127.0.0.1:{ports.phone}", "--duration", 1, "--trace"]
        both = offhook(*call, "--100rel", "required", "--session-timer", 600,
                       "--session-refresher", "uas")
        neither = offhook(*call)
        answer.communicate(timeout=30)
    assert both.returncode == neither.returncode == answer.returncode == 0
    first = sip_messages(both.stdout)
    invite, = [m for m in first if m.startswith("INVITE ")]
    ringing, = [m for m in first if m.startswith("SIP/2.0 180 ")]
    prack, = [m for m in first if m.startswith("PRACK ")]
    number = re.search(r"^CSeq: (\d+) INVITE$", invite, re.M)[1]
    ok, = [m for m in first if m.startswith("SIP/2.0 200 ") and f"\nCSeq: {number} INVITE" in m]
    assert re.search(r"^Require: 100rel$", invite, re.M)
    assert re.search(r"^Supported: .*\btimer\b", invite, re.M)
    assert re.search(r"^Session-Expires: 600;refresher=uas\nMin-SE: 90$", invite, re.M)
    assert re.search(r"^Require: 100rel$", ringing, re.M)
    response = re.search(r"^RSeq: (\d+)$", ringing, re.M)[1]
    assert re.search(rf"^RAck: {response} {number} INVITE$", prack, re.M)
    # The called side asks for the shorter interval, and refreshes as negotiated.
    assert re.search(r"^Session-Expires: 600;refresher=uas$", ok, re.M)
    # A caller that supports neither gets no reliable response and needs no session
    # timer.
    for message in sip_messages(neither.stdout):
        assert not re.search(r"^(PRACK |RSeq:|Require:)", message, re.M), message


def test_calls_by_one_pair_of_ports(build, offhook, ports):
    """Two calls one after the other have the callee's same RTP port, and each announces its SSRC."""
    with subprocess.Popen(
            [build / "offhook", "answer", "--bind", "127.0.0.1", "--sip-port", str(ports.phone), "--media-path", "shared",
             "--calls", "2"], stdout=subprocess.PIPE, text=True) as answer:
        answer.stdout.readline()
        calls = [offhook("call", f"sip:offhook@127.0.0.1:{ports.phone}", "--duration", 1, "--media-path", "shared",
                         "--trace") for _ in range(2)]
        answer.communicate(timeout=30)
    assert [c.returncode for c in (*calls, answer)] == [0, 0, 0]
    described = [[re.search(pattern, m, re.M)[1] for m in sip_messages(c.stdout)
                  for pattern in (r"^m=audio (\d+) ", r"^a=ssrc:(\d+) ") if "\na=ssrc:" in m] for c in calls]
    assert [len(d) for d in described] == [4, 4], described  # offer and answer
    assert described[0][2] == described[1][2] and described[0][3] != described[1][3], described


def test_a_required_extension_is_refused(build, offhook, ports):
    """RFC 3261 21.4.16: 421 to a caller that does not support what is required."""
    with subprocess.Popen(
            [build / "offhook", "answer", "--bind", "127.0.0.1", "--sip-port", str(ports.phone),
             "--100rel", "required"], stdout=subprocess.PIPE, text=True) as answer:
        answer.stdout.readline()
        done = offhook("call", f"sip:offhook@127.0.0.1:{ports.phone}", "--trace")
        answer.kill()
    assert done.returncode == 1
    assert "421 Extension Required" in done.stdout
    assert re.search(r"^Require: 100rel", done.stdout, re.M)


def test_complaints_name_options(offhook, tmp_path):
    for option, value, text in (("--codec", "G729", "--codec: there is no codec \"G729\""),
                                ("--ptime", "5", "--ptime: must be a whole number from 10 to 120"),
                                ("--encryption", "rot13", "--encryption: must be none, sdes"),
                                ("--srtp-suite", "NULL", "--srtp-suite is of use with"),
                                ("--srtp-library", "re", "--srtp-library is builtin or libsrtp2"),
                                ("--media-path", "any", "--media-path: must be call or shared"),
                                ("--opus-fmtp", "usedtx=1", "--opus-fmtp is of use with --codec opus"),
                                ("--100rel", "yes",
                                 "--100rel is none, supported or required"),
                                ("--session-timer", "1", "--session-timer is 2 to 86400 seconds"),
                                ("--session-refresher", "me",
                                 "--session-refresher is any, uac or uas"),
                                ("--session-refresher", "uac",
                                 "--session-refresher is of use with --session-timer only"),
                                ("--calls", "2", "--calls is of use with the command answer")):
        done = offhook("call", "sip:a@127.0.0.1", option, value)
        assert done.returncode == 2
        assert text in done.stderr and "/steps" not in done.stderr


@pytest.mark.parametrize("options, text", [
    (["--codec", "L16", "--silence-suppression"],
     "--silence-suppression is of use with a --codec other than L16/16000 and L16/44100 only"),
    (["--audio-marker", "--prompt", "x.wav"], "--prompt is of use without --audio-marker only"),
    (["--audio-marker", "--ptime", "70"], "--ptime: must divide 2400 ms"),
    (["--codec", "opus", "--opus-fmtp", "usedtx"], "--opus-fmtp: must be parameters of RFC 7587")])
def test_what_does_nothing_is_refused(offhook, tmp_path, options, text):
    (tmp_path / "x.wav").write_bytes(b"RIFF")
    done = offhook("call", "sip:a@127.0.0.1",
                   *(str(tmp_path / o) if o == "x.wav" else o for o in options))
    assert done.returncode == 2
    assert text in done.stderr and "/steps" not in done.stderr


@pytest.mark.parametrize("option", [
    "--audio-marker", "--silence-suppression", "--100rel supported", "--session-timer 90"])
def test_what_is_of_a_call(offhook, option):
    done = offhook("register", "--user", "a", "--registrar", "127.0.0.1", *option.split())
    assert done.returncode == 2
    assert f"{option.split()[0]} is of use with a call only" in done.stderr


@pytest.mark.parametrize("arguments, text", [
    (["test", "run", "t", *(["--set", "a=1"] * 1001)], "there are more than 1000 --set"),
    (["analyze", "--max-streams", "200001", "x.pcap"], "--max-streams is 1 to 200000"),
    (["local", "--agents", "65", "t.yaml"], "--agents is a number from 1 to 64")])
def test_ceilings_of_options(offhook, arguments, text):
    done = offhook(*arguments)
    assert done.returncode == 2 and text in done.stderr


@pytest.mark.parametrize("size, text", [
    (64 << 20, "'[' or '{' expected"), ((64 << 20) + 1, "the input is longer than 64 MiB")])
def test_input_of_emodel(build, size, text):
    """One that is not too long is read, and is not JSON."""
    done = subprocess.run([build / "offhook", "emodel", "--json"], input=b" " * size,
                          capture_output=True, timeout=90)
    assert done.returncode == 1 and text in done.stderr.decode()


def test_options_are_in_help_and_manual(build, offhook):
    """Every option of the program is documented in both places."""
    code = (ROOT / "control/cli/call/options.c").read_text()
    options = set(re.findall(r'^\t\{"([a-z0-9-]+)", ', code, re.M))
    assert len(options) > 40
    manual = (ROOT / "man/offhook.1").read_text().replace("\\", "")
    pages = "".join(offhook("help", page).stdout
                    for page in ("account", "media", "nat", "audio"))
    assert options <= set(re.findall(r"--([a-z0-9-]+)", pages))
    assert options - {"help", "version"} <= set(re.findall(r"--([a-z0-9-]+)", manual))
    # and every command
    table = (ROOT / "control/cli/command/command_table.c").read_text()
    commands = re.findall(r'^\t(?:HERE|REMOTE)\("([a-z-]+)", COMMAND_(?!TOPIC|HIDDEN)', table, re.M)
    assert len(commands) > 12
    for command in commands:
        assert re.search(rf"\b{command}\b", offhook("--help").stdout)
        assert re.search(rf"\b{command}\b", manual)


@pytest.mark.parametrize("program", ["offhook", "offhook-agent", "offhook-controller"])
def test_help_and_version(build, program):
    for option in ("--help", "--version"):
        done = subprocess.run([build / program, option], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert program in done.stdout
    # of the last loop: --version
    assert re.fullmatch(rf"{program} \d+\.\d+\.\d+( \(commit [0-9a-f]+(-dirty)?\))?\n", done.stdout), done.stdout

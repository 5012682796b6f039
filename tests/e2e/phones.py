"""Foreign phones at 10.99.0.2 of a cable (netns.py): baresip and linphonec.

Each answers automatically, plays a tone of 440 Hz and can record what it hears."""
import array
import cmath
import functools
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
import wave
from pathlib import Path

import interop
import logs
from certificates import openssl

BARESIP, LINPHONE = shutil.which("baresip"), shutil.which("linphonec")
MODULES = "/usr/lib/baresip/modules"
OURS, PHONE = "10.99.0.1", "10.99.0.2"

# our codec name: baresip's module, baresip's name
CODECS = {
    "PCMU": ("g711", "PCMU/8000/1"),
    "PCMA": ("g711", "PCMA/8000/1"),
    "G722": ("g722", "G722/16000/1"),
    "opus": ("opus", "opus/48000/2"),
    "GSM": ("gsm", "GSM/8000/1"),
    "L16/8000": ("l16", "L16/8000/1"),
    "L16/16000": ("l16", "L16/16000/1"),
    "L16/44100": ("l16", "L16/44100/1"),
}


def tone_write(path, rate, hz, seconds=10):
    with wave.open(str(path), "wb") as f:
        f.setnchannels(1)
        f.setsampwidth(2)
        f.setframerate(rate)
        second = array.array("h", (round(8000 * math.sin(2 * math.pi * hz * i / rate))
                                   for i in range(rate)))   # whole periods
        f.writeframes((second * seconds).tobytes())


def level_at(path, hz):
    """Amplitude of a frequency in the loudest second, full scale 32768.

    It is the median over blocks of 50 ms, as a phone on a busy machine sometimes drops
    or inserts samples."""
    with wave.open(str(path), "rb") as f:
        rate = f.getframerate()
        samples = array.array("h", f.readframes(f.getnframes()))[::f.getnchannels()]
    size = rate // 20
    turns = [cmath.exp(-2j * math.pi * hz * i / rate) for i in range(size)]
    blocks = [2 * abs(sum(t * s for t, s in zip(turns, samples[at:at + size]))) / size
              for at in range(0, len(samples) - size + 1, size)]
    return max((statistics.median(blocks[i:i + 20]) for i in range(0, len(blocks) - 19, 5)),
               default=0)


# One connection to baresip's ctrl_tcp, which closes earlier ones. Commands come from
# standard input, one per line; responses and events go to standard output.
CONTROL = """
import socket, sys, threading
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 5)
s.settimeout(None)
def read():
    rest = b""
    while True:
        data = s.recv(65536)
        if not data:
            return
        rest += data
        while b":" in rest:
            size, _, behind = rest.partition(b":")
            if len(behind) <= int(size):
                break
            print(behind[:int(size)].decode(), flush=True)
            rest = behind[int(size) + 1:]
threading.Thread(target=read, daemon=True).start()
for line in sys.stdin:
    line = line.strip()
    s.sendall(f"{len(line.encode())}:{line},".encode())
"""


class Phone:
    """A program in the phone's namespace, with its output in a log."""
    ready = ""

    def __init__(self, folder, namespace):
        self.folder, self.namespace = folder, namespace
        self.log = folder / f"{type(self).__name__}.log"
        self.process = None

    def command(self):
        raise NotImplementedError

    def __enter__(self):
        with logs.opened(self.log) as log:
            self.process = subprocess.Popen(
                ["ip", "netns", "exec", self.namespace, *self.command()], cwd=self.folder,
                stdin=subprocess.PIPE, stdout=log, stderr=log,
                # no wrapped echo of the input, nothing left in the temporary folder
                env=dict(os.environ, HOME=str(self.folder), COLUMNS="400",
                         PULSE_RUNTIME_PATH=str(self.folder)))
        self.until(self.ready)
        return self

    def until(self, words, count=1):
        """Wait for a text in its output, which may be there several times."""
        deadline = time.monotonic() + 30
        while self.log.read_text(errors="replace").count(words) < count:
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise RuntimeError(self.text())
            time.sleep(0.05)

    def text(self):
        """Its output as text."""
        return self.log.read_text(errors="replace")

    def record(self):
        """Record what it hears in its next call."""
        raise NotImplementedError

    def digits(self):
        """The digits it has received since it was started."""
        raise NotImplementedError

    def heard(self):
        """Path of the recording of its last call."""
        raise NotImplementedError

    def stands_still(self):
        """Whether it has ended, or carries out no command."""
        return self.process.poll() is not None

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdin.close()


class Baresip(Phone):
    """A baresip, driven over its ctrl_tcp.

    account: more account parameters, such as ";mediaenc=srtp"; config: more lines."""
    ready = "baresip is ready"

    def __init__(self, folder, namespace, codec="PCMU", account="", modules=(), config=(),
                 dtmf="info"):
        super().__init__(folder, namespace)
        module, theirs = CODECS[codec]
        rate = theirs.split("/")[1]
        tone_write(folder / "tone.wav", int(rate), 440)
        (folder / "accounts").write_text(
            f"<sip:phone@{PHONE}>;regint=0;answermode=auto;audio_codecs={theirs};"
            f"dtmfmode={dtmf}{account}\n")
        (folder / "contacts").write_text("")
        (folder / "config").write_text("\n".join([
            f"sip_listen {PHONE}:5060", "snd_path .",
            "audio_source aufile,tone.wav", *self.player(), "audio_alert aufile,/dev/null",
            f"ausrc_srate {rate}", f"auplay_srate {rate}", "ausrc_channels 1",
            "auplay_channels 1", "rtp_ports 30000-30100", "net_interface vb",
            "module_path " + MODULES, f"module {module}.so", "module aufile.so",
            "module sndfile.so", *(f"module {name}.so" for name in modules),
            "module_app account.so", "module_app menu.so", "module_app ctrl_tcp.so",
            f"ctrl_tcp_listen {PHONE}:4444", *config, ""]))

        self._control, self._sent = None, 0

    @staticmethod
    def player():
        """The player of aufile in version 1.1 crashes, or waits for ever, if it is released right
        after its start, as at a hold. Version 1.0 with aubridge stops decoding after a second."""
        if interop.version("baresip") == "1.0":
            return []
        return ["module aubridge.so", "audio_player aubridge,heard"]

    def command(self):
        return [BARESIP, "-v", "-f", str(self.folder)]

    def __enter__(self):
        super().__enter__()
        with logs.opened(self.folder / "control.log") as log:
            self._control = subprocess.Popen(
                ["ip", "netns", "exec", self.namespace, "/usr/bin/python3", "-c", CONTROL, PHONE,
                 "4444"], stdin=subprocess.PIPE, stdout=log, stderr=log, text=True)
        return self

    def __exit__(self, *_):
        if self._control:
            self._control.stdin.close()
            self._control.wait(10)
        super().__exit__()

    def said(self):
        """Messages received over its control connection."""
        lines = (self.folder / "control.log").read_text().split("\n")[:-1]
        return [json.loads(line) for line in lines if line.startswith("{")]

    def digits(self):
        return "".join(m["param"] for m in self.said() if m.get("type") == "CALL_DTMF_START")

    def record(self):
        """Nothing to do: it always records."""

    def heard(self):
        return max(self.folder.glob("dump-*-dec.wav"), key=lambda p: p.stat().st_mtime_ns)

    def do(self, command, params=""):
        """Run a command. @return its response"""
        self._sent += 1
        token = str(self._sent)
        print(json.dumps({"command": command, "params": params, "token": token}),
              file=self._control.stdin, flush=True)
        deadline = time.monotonic() + 20
        while True:
            for message in self.said():
                if message.get("token") == token:
                    return message
            assert time.monotonic() < deadline, (command, self.text()[-2000:])
            time.sleep(0.02)

    def dial(self, uri):
        return self.do("dial", uri)

    def hold(self):
        return self.do("hold")

    def resume(self):
        return self.do("resume")

    def hang_up(self):
        return self.do("hangup")

    def transfer(self, uri):
        return self.do("transfer", uri)

    def digit(self, digit):
        return self.do("sndcode", digit)


@functools.cache
def dtls_identity():
    """A certificate with its key for DTLS-SRTP (PEM).

    linphonec looks for one by its subject. If there is none it makes one of RSA-3072 for
    each call, which takes a second, or ten when prime numbers are far apart."""
    with tempfile.TemporaryDirectory() as folder:
        cert, key = Path(folder) / "cert.pem", Path(folder) / "key.pem"
        openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                "-subj", "/CN=linphone-dtls-default-identity", "-out", cert, "-keyout", key)
        return cert.read_text() + key.read_text()


class Linphone(Phone):
    """linphonec, driven over its standard input. sip: more lines of that section.

    It writes its prompt when it has carried out a command. Version 5.3 does not echo commands,
    and forgets one if the next comes before it is carried out."""
    ready = "linphonec>"

    def __init__(self, folder, namespace, sip=(), info=True):
        super().__init__(folder, namespace)
        self.detail, self._records = folder / "detail.log", 0
        logs.note(self.detail)
        # linphonec does not create the folder of its database
        (folder / ".local" / "share" / "linphone").mkdir(parents=True)
        (folder / ".linphone-usr-crt").mkdir()
        (folder / ".linphone-usr-crt" / "linphone-dtls-default-identity.pem").write_text(
            dtls_identity())
        tone_write(folder / "tone.wav", 48000, 440, 30)
        (folder / "linphonerc").write_text("\n".join([
            "[sip]", "sip_port=5060", "sip_tcp_port=-1", "sip_tls_port=-1", "guess_hostname=0",
            # version 5.3 sends INFO only where it does not send telephone-event
            f"contact=sip:phone@{PHONE}", f"use_info={int(info)}",
            f"use_rfc2833={int(not info)}", *sip, "[net]", "mtu=0",
            "nat_policy_ref=", "[rtp]", "audio_rtp_port=30000", "[sound]", "echocancellation=0",
            ""]))

    def command(self):
        return [LINPHONE, "-a", "-c", str(self.folder / "linphonerc"), "-d", "6", "-l",
                str(self.detail)]

    def __enter__(self):
        super().__enter__()
        self.do("soundcard use files")
        self.do("play tone.wav")
        return self

    def text(self):
        return "\n".join(p.read_text(errors="replace")[-20000:]
                         for p in (self.log, self.detail) if p.exists())

    def enable_codecs(self):
        """Enable all codecs that it has."""
        self.do("codec list")
        for number in re.findall(r"^(?:linphonec> )? ?(\d+): ", self.log.read_text(), re.M):
            self.do(f"codec enable {number}")

    def record(self):
        self._records += 1
        self.do(f"record {self.heard().name}")

    def digits(self):
        return "".join(re.findall(r"Receiving tone (.) from",
                                  self.log.read_text(errors="replace")))

    def heard(self):
        return self.folder / f"heard{self._records}.wav"

    def _write(self, command):
        self.process.stdin.write((command + "\n").encode())
        self.process.stdin.flush()

    def stands_still(self):
        try:
            self.do("codec list")
        except (RuntimeError, OSError):
            return True
        return False

    def do(self, command, _=""):
        """Have a command carried out."""
        prompts = self.log.read_text(errors="replace").count(self.ready)
        self._write(command)
        self.until(self.ready, prompts + 1)

    def dial(self, uri):
        self.do(f"call {uri}")

    def hold(self):
        self.do("pause")

    def resume(self):
        self.do("resume")

    def hang_up(self):
        self.do("terminate")

    def transfer(self, uri):
        self.do(f"transfer {uri}")

    def transfer_attended(self):
        """Transfer the remote party of the earlier call to that of the last call."""
        ids = re.findall(r"assigned id (\d+)", self.log.read_text(errors="replace"))
        self.do("transfer {} --to-call {}".format(*ids[-2:]))

    def digit(self, digit):
        self.do(digit)

    def __exit__(self, *_):
        if self.process.poll() is None:
            self._write("quit")
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                pass
        super().__exit__()

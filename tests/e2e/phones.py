"""Foreign phones at 10.99.0.2 of a cable (netns.py): baresip and linphonec."""
import json
import math
import os
import shutil
import struct
import subprocess
import time
import wave

BARESIP, LINPHONE = shutil.which("baresip"), shutil.which("linphonec")
MODULES = "/usr/lib/baresip/modules"
PHONE = "10.99.0.2"


def tone(path, rate=8000, hz=440, seconds=10):
    with wave.open(str(path), "wb") as f:
        f.setnchannels(1)
        f.setsampwidth(2)
        f.setframerate(rate)
        f.writeframes(b"".join(struct.pack("<h", round(8000 * math.sin(
            2 * math.pi * hz * i / rate))) for i in range(rate * seconds)))


class Phone:
    """A program in the phone's namespace, its output in a log."""
    ready = ""

    def __init__(self, folder, namespace):
        self.folder, self.namespace = folder, namespace
        self.log = folder / f"{type(self).__name__}.log"
        self.process = None

    def command(self):
        raise NotImplementedError

    def __enter__(self):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["ip", "netns", "exec", self.namespace, *self.command()],
                stdin=subprocess.PIPE, stdout=log, stderr=log,
                env=dict(os.environ, HOME=str(self.folder)))
        deadline = time.monotonic() + 20
        while self.ready not in self.text():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise RuntimeError(self.text())
            time.sleep(0.05)
        return self

    def text(self):
        return self.log.read_text(errors="replace")

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdin.close()


class Baresip(Phone):
    """Answers by itself; driven over its ctrl_tcp."""
    ready = "baresip is ready"

    def command(self):
        tone(self.folder / "tone.wav")
        (self.folder / "accounts").write_text(
            f"<sip:phone@{PHONE}>;regint=0;answermode=auto;audio_codecs=PCMU/8000/1;"
            "dtmfmode=info\n")
        (self.folder / "contacts").write_text("")
        (self.folder / "config").write_text("\n".join([
            f"sip_listen {PHONE}:5060", f"audio_source aufile,{self.folder}/tone.wav",
            "audio_player aufile,/dev/null", "audio_alert aufile,/dev/null",
            "ausrc_srate 8000", "auplay_srate 8000", "ausrc_channels 1", "auplay_channels 1",
            "rtp_ports 30000-30100", "net_interface vb", "module_path " + MODULES,
            "module g711.so", "module aufile.so", "module_app account.so", "module_app menu.so",
            "module_app ctrl_tcp.so", f"ctrl_tcp_listen {PHONE}:4444", ""]))
        return [BARESIP, "-v", "-f", str(self.folder)]

    def do(self, command, params=""):
        """Sends a command as a netstring of JSON, from within its namespace."""
        text = json.dumps({"command": command, "params": params, "token": "t"})
        code = ("import socket,sys; s=socket.create_connection(('%s',4444),5); "
                "s.sendall(sys.argv[1].encode()); print(s.recv(65536).decode())" % PHONE)
        done = subprocess.run(
            ["ip", "netns", "exec", self.namespace, "/usr/bin/python3", "-c", code,
             f"{len(text)}:{text},"], capture_output=True, text=True, timeout=20)
        return done.stdout

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


class Linphone(Phone):
    """linphonec; driven over its standard input."""
    ready = "linphonec>"

    def command(self):
        tone(self.folder / "hello.wav")
        (self.folder / ".local" / "share" / "linphone").mkdir(parents=True)
        config = self.folder / "linphonerc"
        config.write_text("[sip]\nsip_port=5060\nsip_tcp_port=-1\nsip_tls_port=-1\n"
                          "guess_hostname=0\ncontact=sip:phone@10.99.0.2\nuse_info=1\n"
                          "[net]\nmtu=0\nnat_policy_ref=\n[rtp]\naudio_rtp_port=30000\n")
        return [LINPHONE, "-a", "-c", str(config)]

    def __enter__(self):
        super().__enter__()
        self.do("soundcard use files")
        self.do(f"play {self.folder}/hello.wav")
        return self

    def do(self, command, _=""):
        self.process.stdin.write((command + "\n").encode())
        self.process.stdin.flush()

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

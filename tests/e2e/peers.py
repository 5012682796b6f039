"""The systems that a call goes through: kamailio, a silent port, sipp."""
import os
import re
import select
import signal
import socket
import struct
import subprocess
import time
from pathlib import Path

import logs
from ports import udp_is_bound

ROOT = Path(__file__).resolve().parents[2]
KAMAILIO_CFG = ROOT / "packaging" / "quickstart" / "kamailio.cfg"
SO_TIMESTAMPNS = 35   # <asm-generic/socket.h>
SUBSCRIBERS = {str(n): f"secret-{n}" for n in range(1001, 1009)}


class Kamailio:
    """Registrar and proxy with the quickstart's configuration."""

    CFG = KAMAILIO_CFG

    def __init__(self, folder, port, relay=None, subscribers=None, tls=None, algorithm=None,
                 nonce_s=None, routes="", host="127.0.0.1", integrity=False):
        """tls: (certificate, key); served on the port after the other one
        algorithm: of its digest, such as SHA-256; nonce_s: how long a nonce is valid
        routes: what it does first with a request outside of a dialog
        integrity: it asks for qop=auth-int only"""
        self.port, self._host = port, host
        self.subscribers = dict(subscribers or SUBSCRIBERS)
        self.log = Path(folder) / "kamailio.log"
        self._folder = Path(folder) / "kamailio"
        self._folder.mkdir()
        lines = "\n".join(f'\t$sht(subscriber=>{user}) = "{password}";'
                          for user, password in self.subscribers.items())
        text = self.CFG.read_text()
        text = re.sub(r"^@SUBSCRIBERS@$", lambda _: lines, text, flags=re.M)
        text = text.replace("127.0.0.1:@", f"[{host}]:@" if ":" in host else f"{host}:@")
        text = text.replace("@SIP_PORT@", str(port))
        if algorithm:
            text = self._edited(text, r'modparam\("auth", "nonce_expire"',
                                f'modparam("auth", "algorithm", "{algorithm}")\n\\g<0>')
        if nonce_s:
            text = self._edited(text, r'"nonce_expire", \d+', f'"nonce_expire", {nonce_s}')
        if integrity:
            text = self._edited(text, r"\$var\(challenge\) = 1;", "$var(challenge) = 2;")
        if routes:
            text = self._edited(text, 'loadmodule "htable.so"', '\\g<0>\nloadmodule "corex.so"')
            text = self._edited(text, r"\troute\(AUTHENTICATE\);", routes + "\\g<0>")
        self._command = ["/usr/sbin/kamailio", "-DD", "-E", "-m", "32",
                         "-M", str(4 + len(self.subscribers) // 50),
                         "-Y", str(self._folder), "-f", str(self._folder / "cfg")]
        if relay:
            text = text.replace("@RELAY@", relay.socket_name)
            self._command += ["-A", "WITH_RELAY"]
        if tls:
            text = text.replace("@TLS_PORT@", str(port + 1))
            text = text.replace("@CERTIFICATE@", str(tls[0])).replace("@KEY@", str(tls[1]))
            self._command += ["-A", "WITH_TLS"]
        (self._folder / "cfg").write_text(text)
        self._process = None

    @staticmethod
    def _edited(text, what, by):
        text, count = re.subn(what, by, text)
        assert count == 1, what
        return text

    def __enter__(self):
        with logs.opened(self.log, "ab") as log:
            # A process group of its own, so that its child processes end with it.
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + 60
        while not answers_options(self.port, host=self._host):
            if self._process.poll() is not None or time.monotonic() > deadline:
                self._end()
                raise RuntimeError("kamailio did not start:\n" + self.log.read_text())
        return self

    def pause(self):
        """Stop all its processes; received packets wait in the kernel."""
        os.killpg(self._process.pid, signal.SIGSTOP)

    def resume(self):
        os.killpg(self._process.pid, signal.SIGCONT)

    def __exit__(self, *_):
        status = self._process.poll()
        self._end()
        if status is not None:
            raise RuntimeError(f"kamailio ended by itself with status {status}:\n" +
                               self.log.read_text(errors="replace")[-logs.TAIL:])

    def _end(self):
        if self._process.poll() is None:
            self.resume()
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()


class EdgeProxy(Kamailio):
    """Kamailio in front of a registrar: Path (RFC 3327) and flow tokens (RFC 5626)."""

    CFG = Path(__file__).with_name("edge.cfg")

    def __init__(self, folder, port, registrar):
        super().__init__(folder, port)
        cfg = self._folder / "cfg"
        cfg.write_text(cfg.read_text().replace("@REGISTRAR@", str(registrar)))


class EdgeRegistrar(Kamailio):
    """The registrar behind edge proxies: it stores Path, and supports RFC 5626."""

    SETTINGS = {"use_path": 1, "path_mode": 1, "path_check_local": 0, "outbound_mode": 1,
                "flow_timer": 5}

    def __init__(self, folder, port):
        super().__init__(folder, port)
        cfg = self._folder / "cfg"
        text = cfg.read_text()
        for name, value in self.SETTINGS.items():
            text = self._edited(text, 'modparam\\("registrar", "min_expires", 5\\)',
                                f'\\g<0>\nmodparam("registrar", "{name}", {value})')
        cfg.write_text(text)


class PresenceServer(Kamailio):
    """Kamailio as presence agent, state compositor and mailbox (RFC 3856, 3903, 3842)."""

    CFG = Path(__file__).with_name("presence.cfg")
    TABLES = Path("/usr/share/kamailio/dbtext/kamailio")

    def __init__(self, folder, port):
        super().__init__(folder, port)
        database = self._folder / "tables"
        database.mkdir()
        for name in ("version", "presentity", "active_watchers", "watchers", "xcap"):
            (database / name).write_bytes((self.TABLES / name).read_bytes())
        cfg = self._folder / "cfg"
        cfg.write_text(cfg.read_text().replace("@DATABASE@", str(database)))


def answers_options(port, timeout=0.5, host="127.0.0.1"):
    """Whether a SIP element on this UDP port answers OPTIONS."""
    six = ":" in host
    with socket.socket(socket.AF_INET6 if six else socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.connect((host, port))
        s.settimeout(timeout)
        host = f"[{host}]" if six else host
        here = f"{host}:{s.getsockname()[1]}"
        try:
            s.send((f"OPTIONS sip:{host}:{port} SIP/2.0\r\n"
                    f"Via: SIP/2.0/UDP {here};branch=z9hG4bK{time.monotonic_ns()}\r\n"
                    f"From: <sip:probe@{here}>;tag=1\r\nTo: <sip:{host}:{port}>\r\n"
                    f"Call-ID: {time.monotonic_ns()}@{here}\r\nCSeq: 1 OPTIONS\r\n"
                    "Max-Forwards: 1\r\nContent-Length: 0\r\n\r\n").encode())
            return s.recv(4096).startswith(b"SIP/2.0 200")
        except (ConnectionRefusedError, socket.timeout):
            time.sleep(0.1)
            return False


class SilentPort:
    """A UDP port that receives everything and never answers."""

    def __init__(self, port):
        self.port = port

    def __enter__(self):
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._socket.bind(("127.0.0.1", self.port))
        return self

    def __exit__(self, *_):
        self._socket.close()

    def send(self, text, port):
        self._socket.sendto(text.encode(), ("127.0.0.1", port))

    def taken(self):
        """[(s, text)] received since the last call, with the kernel's timestamps."""
        came = []
        while select.select([self._socket], [], [], 0)[0]:
            data, ancillary, _, _ = self._socket.recvmsg(65536, socket.CMSG_SPACE(16))
            seconds, nanos = struct.unpack("qq", ancillary[0][2])
            came.append((seconds + nanos / 1e9, data.decode(errors="replace")))
        return came


class SippCallee:
    """A foreign phone that answers one call and streams PCMU (sipp)."""

    def __init__(self, folder, port, rtp):
        self.port = port
        self.log = Path(folder) / "sipp.log"
        self._folder = folder
        # one second of a 500 Hz square tone in mu-law
        (Path(folder) / "tone.ulaw").write_bytes((b"\x9f" * 8 + b"\x1f" * 8) * 500)
        self._command = ["/usr/bin/sipp", "-sf",
                         str(Path(__file__).with_name("uas.xml")), "-i", "127.0.0.1",
                         "-p", str(port), "-mi", "127.0.0.1", "-mp", str(rtp[0]),
                         "-cp", str(port + 1), "-nostdin", "-m", "1", "-timeout", "120"]

    def __enter__(self):
        with logs.opened(self.log) as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log,
                                             cwd=self._folder)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self._process.poll() is None:
            if udp_is_bound(self.port):
                return self
            time.sleep(0.05)
        self.__exit__()
        raise RuntimeError("sipp did not start:\n" + self.log.read_text(errors="replace")[-1000:])

    def pause(self):
        self._process.send_signal(signal.SIGSTOP)

    def resume(self):
        self._process.send_signal(signal.SIGCONT)

    def wait(self, timeout=60):
        """Its exit status: 0 if the call followed the scenario."""
        return self._process.wait(timeout)

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

"""kamailio and rtpengine in the path of a call, in one namespace (netns.py).

kamailio takes calls at 10.99.0.2:5080 and sends them to 10.99.0.2:5060. The user part
of the URI selects how rtpengine changes the SDP towards the called side."""
import shutil
import socket
import subprocess
import time

import logs
from peers import Kamailio

RTPENGINE, KAMAILIO = shutil.which("rtpengine"), shutil.which("kamailio")
HOST, SIP_PORT = "10.99.0.2", 5080
RELAYS = (40000, 40999)

# user part: flags of rtpengine's offer
WAYS = {
    "plain": "replace-origin replace-session-connection RTP/AVP ICE=remove",
    "srtp": "replace-origin replace-session-connection RTP/SAVP ICE=remove",
    "dtls": "replace-origin replace-session-connection UDP/TLS/RTP/SAVP ICE=remove "
            "rtcp-mux-offer",
    "demux": "replace-origin replace-session-connection RTP/AVP ICE=remove rtcp-mux-demux",
    "ice": "replace-origin replace-session-connection RTP/AVP ICE=force",
    "transcoded": "replace-origin replace-session-connection RTP/AVP ICE=remove codec-mask-PCMU "
                  "codec-transcode-PCMA",
}

CONFIG = """
log_stderror=yes
children=2
listen=udp:%(host)s:%(port)d
loadmodule "tm.so"
loadmodule "sl.so"
loadmodule "rr.so"
loadmodule "pv.so"
loadmodule "maxfwd.so"
loadmodule "textops.so"
loadmodule "siputils.so"
loadmodule "rtpengine.so"
modparam("rtpengine", "rtpengine_sock", "udp:127.0.0.1:2223")
request_route {
	if (is_method("OPTIONS") && !has_totag()) { sl_send_reply("200", "OK"); exit; }
	if (has_totag()) {
		loose_route();
		if (is_method("BYE")) rtpengine_manage();
		t_on_reply("MEDIA");
		t_relay();
		exit;
	}
	if (is_method("CANCEL")) { if (t_check_trans()) t_relay(); exit; }
	if (is_method("INVITE")) {
		record_route();
%(ways)s
		t_on_reply("MEDIA");
	}
	$du = "sip:%(host)s:5060";
	t_relay();
}
onreply_route[MEDIA] {
	if (has_body("application/sdp")) rtpengine_manage();
}
"""


class Daemon:
    def __init__(self, log, namespace, command):
        self._log, self._command = log, ["ip", "netns", "exec", namespace, *command]

    def start(self):
        with logs.opened(self._log) as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)

    def alive(self):
        return self._process.poll() is None

    def text(self):
        return self._log.read_text(errors="replace")[-8000:]

    def stop(self):
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class RtpengineProxy:
    def __init__(self, folder, namespace):
        self._namespace = namespace
        ways = "\n".join(f'\t\tif ($rU == "{user}") rtpengine_manage("{flags}");'
                         for user, flags in WAYS.items())
        (folder / "kamailio.cfg").write_text(
            CONFIG % {"host": HOST, "port": SIP_PORT, "ways": ways})
        (folder / "run").mkdir()
        self._parts = [
            Daemon(folder / "rtpengine.log", namespace,
                   [RTPENGINE, "--foreground", "--log-stderr", "--log-level=6", "--table=-1",
                    f"--interface={HOST}", "--listen-ng=127.0.0.1:2223", "--num-threads=2",
                    f"--port-min={RELAYS[0]}", f"--port-max={RELAYS[1]}",
                    "--config-file=none"]),
            Daemon(folder / "kamailio.log", namespace,
                   [KAMAILIO, "-DD", "-E", "-m", "32", "-M", "4", "-Y", str(folder / "run"),
                    "-f", str(folder / "kamailio.cfg")]),
        ]

    def __enter__(self):
        for part in self._parts:
            part.start()
        probe = ("import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                 "s.connect(('%s', %d))\ns.settimeout(0.3)\nh = '%%s:%%d' %% s.getsockname()\n"
                 "s.send(('OPTIONS sip:probe SIP/2.0\\r\\nVia: SIP/2.0/UDP '+h+';branch=z9hG4bKp'"
                 "'\\r\\nFrom: <sip:p@p>;tag=1\\r\\nTo: <sip:p@p>\\r\\nCall-ID: p\\r\\n"
                 "CSeq: 1 OPTIONS\\r\\nMax-Forwards: 5\\r\\nContent-Length: 0\\r\\n\\r\\n').encode())\n"
                 "assert s.recv(4096).startswith(b'SIP/2.0 200')\n" % (HOST, SIP_PORT))
        deadline = time.monotonic() + 30
        while subprocess.run(["ip", "netns", "exec", self._namespace, "/usr/bin/python3", "-c",
                              probe], capture_output=True, check=False).returncode:
            if time.monotonic() > deadline or not all(p.alive() for p in self._parts):
                text = self.text()
                self.__exit__()
                raise RuntimeError(text)
            time.sleep(0.1)
        return self

    def text(self):
        return "\n".join(p.text() for p in self._parts)

    def __exit__(self, *_):
        for part in self._parts:
            part.stop()


class RtpengineDaemon:
    """rtpengine alone, with an address of its own on the loopback device; no root is needed.

    ADDRESSES: of its interfaces `near` (the first one, usually taken) and `other`."""

    ADDRESSES = {"near": "127.0.0.2", "other": "127.0.0.3"}

    def __init__(self, folder, control_port, ports):
        self._log, self._control = folder / "rtpengine.log", control_port
        self._command = [
            RTPENGINE, "--foreground", "--log-stderr", "--log-level=6", "--table=-1",
            *(f"--interface={name}/{host}" for name, host in self.ADDRESSES.items()),
            f"--listen-ng=127.0.0.1:{control_port}", "--num-threads=2",
            f"--port-min={ports[0]}", f"--port-max={ports[1]}", "--config-file=none"]

    def __enter__(self):
        with logs.opened(self._log) as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        deadline = time.monotonic() + 30
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise RuntimeError(self._log.read_text(errors="replace")[-logs.TAIL:])
        return self

    def _answers(self):
        """Whether it answers a ping of its control protocol."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.connect(("127.0.0.1", self._control))
            s.settimeout(0.5)
            try:
                s.send(b"1 d7:command4:pinge")
                return b"pong" in s.recv(4096)
            except (ConnectionRefusedError, socket.timeout):
                time.sleep(0.1)
                return False

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class RelayingRegistrar(Kamailio):
    """The registrar of the quickstart, with rtpengine in the path of media.

    PEER: who calls it is sent to a user agent at peer_port, without registration."""

    PEER = "1005"
    FLAGS = "replace-origin replace-session-connection"

    def __init__(self, folder, port, control_port, peer_port, offer="ICE=remove", answer="",
                 relayed=True, answered="", routes="", edits=()):
        """offer, answer: further flags of rtpengine; relayed: rtpengine is in the path;
        answered: what else is done with a reply; routes: as of Kamailio;
        edits: (pattern, text) of its configuration"""
        nothing = "$var(relayed) = 0;"
        engage = f'rtpengine_manage("{self.FLAGS} {offer}");' if relayed else nothing
        to_peer = (f'\tif (is_method("INVITE|ACK|CANCEL") && $rU == "{self.PEER}") {{\n'
                   f'\t\trecord_route();\n\t\tif (is_method("INVITE")) {{ {engage} }}\n'
                   '\t\tt_on_reply("MEDIA");\n'
                   f'\t\t$du = "sip:127.0.0.1:{peer_port}";\n\t\tt_relay();\n\t\texit;\n\t}}\n')
        super().__init__(folder, port, routes=routes + to_peer)
        cfg = self._folder / "cfg"
        text = self._edited(
            cfg.read_text(), r'loadmodule "rtpproxy\.so"\nmodparam[^\n]*\nmodparam[^\n]*',
            'loadmodule "rtpengine.so"\n'
            f'modparam("rtpengine", "rtpengine_sock", "udp:127.0.0.1:{control_port}")')
        reply = f'rtpengine_manage("{self.FLAGS} {answer}"); {answered}' if relayed else nothing
        text = self._edited(text, r'(has_body\([^{]*\{\s*)rtpproxy_manage\("co"\);', f"\\g<1>{reply}")
        text = self._edited(text, r'(record_route\(\);\s*#!ifdef WITH_RELAY\s*)rtpproxy_manage\("co"\);',
                            f"\\g<1>{engage}")
        text = text.replace('rtpproxy_manage("co");', "rtpengine_manage();" if relayed else nothing)
        for pattern, by in edits:
            text = self._edited(text, pattern, by)
        cfg.write_text(text)
        self._command += ["-A", "WITH_RELAY"]

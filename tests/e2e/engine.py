"""An engine process driven directly, as the supervisor does it: one role of a run,
without a controller.

Everything it reports is kept. At its end every message that it sent is checked against
the SIP grammar."""
import base64
import json
import re
import select
import signal
import socket
import subprocess
import tempfile
import time

import sip_grammar
import sip_witness

PATIENCE_S = 150


def target(host, port, transport="udp", **more):
    return {"hosts": [{"host": host, "port": port, "transport": transport}], **more}


def message_bytes(message):
    data = message["data"]
    return base64.b64decode(data) if message.get("encoding") == "base64" else data.encode()


class Engine:
    """steps: a list of lists of actions, as in a spec (docs/internals/wire.md).

    copies: its answers, and its requests within a dialog, copy headers of a
    peer that breaks the grammar: they are not held to it.
    settings: more of the agent's own, such as tls_certificate
    """

    def __init__(self, build, role, steps, ports, sip_port=0, bind="127.0.0.1", offset=0,
                 prefix=(), max_duration_s=180, peers=None, extra_headers=(),
                 copies=False, rtp_last=None, settings=None):
        ours, theirs = socket.socketpair()
        self._socket = ours
        self._extra, self._copies = extra_headers, copies
        self._stderr = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [*prefix, str(build / "offhook-agent"), f"--engine={theirs.fileno()}"],
            pass_fds=[theirs.fileno()], stderr=self._stderr)
        theirs.close()
        self._rest = b""
        self.role, self.ready, self.finish, self.log = role, -1, None, ""
        self.events, self.messages, self.series = [], [], []
        self.artifacts = []
        self.steps = len(steps)
        first = self.range_first = ports.rtp[0] + 4 * offset
        self._send({"type": "job", "spec": {
            "session_id": "0a1b2c3d-0000-4000-8000-000000000001", "role": role, "attempt": 1,
            "interval_s": 1, "max_duration_s": max_duration_s, "record": "sip",
            "peers": peers or {}, "steps": steps},
            "engine": {"bind": bind, "sip_port": sip_port, "rtp_min": first,
                       "rtp_max": rtp_last or ports.rtp[1], **(settings or {})}})

    def _send(self, message):
        self._socket.sendall(json.dumps(message).encode() + b"\n")

    def _take(self, message):
        kind = message["type"]
        if kind == "ready":
            self.ready = message["step"]
        elif kind == "finish":
            self.finish = message
        elif kind == "events":
            self.events += message["events"]
        elif kind == "sip":
            self.messages += message["messages"]
        elif kind == "artifact":
            self.artifacts.append(message["name"])
        elif kind == "stats":
            self.series += message["series"]

    def pump(self, seconds=0.05):
        """Receive messages. @return False when the engine has closed the socket"""
        if not select.select([self._socket], [], [], seconds)[0]:
            return True
        data = self._socket.recv(1 << 20)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._take(json.loads(line))
        return bool(data)

    def until(self, condition, what, patience=PATIENCE_S):
        end = time.monotonic() + patience
        while not condition():
            assert time.monotonic() < end, f"{self.role}: {what}: not in {patience} s"
            assert self.pump() or condition(), f"{self.role}: the engine left: {self.close()}"

    def go(self, step):
        self._send({"type": "go", "step": step, "in_ms": 0})

    def step(self, step):
        """Run a step to its end."""
        self.go(step)
        self.until(lambda: self.ready >= step or self.finish, f"step {step} is ready")

    def run(self):
        """All steps, then the end. @return self"""
        for step in range(self.steps):
            self.step(step)
            if self.finish:
                return self
        return self.end()

    def end(self):
        self.go(self.steps)
        self.until(lambda: self.finish, "the job ends")
        return self

    def pause(self):
        """Stop all its threads; received packets wait in the kernel."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self):
        self._process.send_signal(signal.SIGCONT)

    def cancel(self):
        self._send({"type": "cancel"})

    def calls(self):
        return [e for e in self.events if e["kind"] == "call"]

    def states(self, call=None):
        return [e["state"] for e in self.events
                if e["kind"] == "state" and (call is None or e.get("call") == call)]

    def asserts(self):
        return [e for e in self.events if e["kind"] == "assert"]

    def sent(self, start="", text=""):
        return self._of("sent", start, text)

    def received(self, start="", text=""):
        return self._of("received", start, text)

    def _of(self, direction, start, text):
        out = []
        for m in self.messages:
            data = message_bytes(m)
            if m["dir"] == direction and data.startswith(start.encode()) and \
                    text.encode() in data:
                out.append(data.decode(errors="replace"))
        return out

    def ours(self):
        """The messages it sent, except those that repeat malformed fields of a peer."""
        sent = [message_bytes(m) for m in self.messages if m["dir"] == "sent"]
        return [data for data in sent
                if not (self._copies and (data.startswith(b"SIP/2.0") or
                                          re.search(rb"\r\nTo:[^\r]*;\s*tag=", data)))]

    def grammar_errors(self):
        """(what, message) of every sent message that violates RFC 3261's grammar."""
        return [(found, data) for data in self.ours()
                for found in sip_grammar.errors(data, self._extra)]

    def close(self):
        """End the process. @return its log"""
        if self._process.returncode is None:
            self._socket.close()
            try:
                self._process.wait(40)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._stderr.seek(0)
            self.log = self._stderr.read().decode(errors="replace") + \
                f"(it ended with status {self._process.returncode})\n"
            self._stderr.close()
        return self.log

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        log = self.close()
        if kind:
            print(f"--- {self.role}\n{log}")
            return
        assert self._process.returncode == (0 if self.finish else 1), log
        assert "Sanitizer" not in log and "runtime error" not in log, log
        assert "the sandbox refused" not in log, log
        sip_witness.note(self.ours(), grammar=False)
        assert self.grammar_errors() == [], self.grammar_errors()[0]

"""SIPp scenarios, written step by step.

SIPp is the called and the calling party, and requests within the dialog go both ways."""
import subprocess
import time

import logs
from ports import udp_is_bound

SDP = """v=0
o=sipp 1 1 IN IP[local_ip_type] [local_ip]
s=-
c=IN IP[media_ip_type] [media_ip]
t=0 0
m=audio [media_port] RTP/AVP 0
a=rtpmap:0 PCMU/8000"""
CONTACT = "Contact: <sip:sipp@[local_ip]:[local_port];transport=[transport]>"


def _body(lines, sdp, body="", kind=""):
    """sdp: True; or a line to add; or a connection address to use"""
    if sdp:
        body, kind = SDP, "application/sdp"
        if isinstance(sdp, str):
            body = f"{SDP}\n{sdp}" if sdp.startswith("a=") else SDP.replace("[media_ip]", sdp)
    if kind:
        lines = [*lines, f"Content-Type: {kind}"]
    return "\n".join([*lines, "Content-Length: [len]", "", body])


def _send(text, attributes=""):
    return f"<send{attributes}><![CDATA[\n\n{text}\n\n]]></send>"


# Messages with a Contact. SIPp 3.7 forgets the remote target when it records the route
# of another message.
CREATE_DIALOGS = ("INVITE", "SUBSCRIBE")


class Scenario:
    """The steps of a scenario as XML. called: SIPp answers the call, else it places it."""

    def __init__(self, called):
        self.called, self.steps, self._cseq = called, [], 1
        self._requested = None   # the method of the last request, except ACK
        self.variables, self._labels = [], 0

    def expect(self, request=None, response=None, optional=False, has=None, keep=False,
               name=None, auth=False, hasnot=None):
        """has: (header, regular expression) that must match, kept as name; hasnot: one that must
        not; auth: a challenge that [authentication] answers."""
        what = f'request="{request}"' if request else f'response="{response}"'
        extra = ' optional="true"' if optional else ""
        if not self.called and (request or self._requested) in CREATE_DIALOGS:
            extra += ' rrs="true"'
        extra += ' auth="true"' if auth else ""
        actions = []
        if keep:
            for header, expression, kept in (
                    ("From:", ".*", "from"), ("To:", ".*", "to"), ("Contact:", "sip:[^&gt;]*",
                                                                   "uri")):
                actions.append(f'<ereg regexp="{expression}" search_in="hdr" header="{header}" '
                               f'assign_to="{kept}"/>')
                self.variables.append(kept)
        for wanted, check in ((has, "check_it"), (hasnot, "check_it_inverse")):
            if not wanted:
                continue
            kept = name or f"{check}{len(self.steps)}"
            where = ('search_in="body"' if wanted[0] == "body"
                     else f'search_in="hdr" header="{wanted[0]}:"')
            actions.append(f'<ereg regexp="{wanted[1]}" {where} {check}="true" '
                           f'assign_to="{kept}"/>')
            self.variables.append(kept)
        inner = f"<action>{''.join(actions)}</action>" if actions else ""
        self.steps.append(f"<recv {what}{extra}>{inner}</recv>")
        return self

    def expect_credentials(self, request, username, password):
        """Expect the request with valid credentials, by SIPp's check; else answer 403."""
        self.expect(request)
        self.variables.append("right")
        self.steps[-1] = self.steps[-1].replace(
            "></recv>", f'><action><verifyauth assign_to="right" username="{username}" '
                        f'password="{password}"/></action></recv>')
        self._labels += 1
        self.steps.append(f'<nop next="{self._labels}" test="right"/>')
        self.reply(403, "Wrong Credentials", first=True)
        self.steps.append(f'<label id="{self._labels}"/>')
        return self

    def reply(self, code, phrase="OK", lines=(), sdp=False, first=False):
        """Answer the last request; first: add our tag."""
        tag = ";tag=[pid]SIPp[call_number]" if first else ""
        self.steps.append(_send(_body(
            [f"SIP/2.0 {code} {phrase}", "[last_Via:]", "[last_From:]", f"[last_To:]{tag}",
             "[last_Call-ID:]", "[last_CSeq:]", CONTACT, *lines], sdp)))
        return self

    def invite_reply(self, code, phrase="OK", lines=(), sdp=False,
                     tag="[pid]SIPp[call_number]"):
        """Answer the INVITE, also after other requests: its headers were stored."""
        self.steps.append(_send(_body(
            [f"SIP/2.0 {code} {phrase}", "Via:[$via]", "From:[$from]",
             f"To:[$to];tag={tag}", "[last_Call-ID:]", "CSeq:[$cseq]", CONTACT,
             *lines], sdp), ' retrans="500"' if code >= 200 else ""))
        return self

    def keep_invite(self):
        """Use it directly after the INVITE's expect(keep=True)."""
        extra = "".join(
            f'<ereg regexp=".*" search_in="hdr" header="{h}:" assign_to="{n}"/>'
            for h, n in (("Via", "via"), ("CSeq", "cseq")))
        self.variables += ["via", "cseq"]
        self.steps[-1] = self.steps[-1].replace("</action>", extra + "</action>")
        return self

    def keep(self, prefix):
        """Use it directly after a request's expect(): for kept_reply()."""
        names = [(h, prefix + h.lower()) for h in ("Via", "From", "To", "CSeq")]
        actions = "".join(f'<ereg regexp=".*" search_in="hdr" header="{h}:" '
                          f'assign_to="{name}"/>' for h, name in names)
        self.variables += [name for _, name in names]
        self.steps[-1] = self.steps[-1].replace(
            "></recv>", f"><action>{actions}</action></recv>")
        return self

    def kept_reply(self, prefix, code, phrase):
        """Answer an earlier request."""
        self.steps.append(_send(_body(
            [f"SIP/2.0 {code} {phrase}", *(f"{h}:[${prefix}{h.lower()}]" for h in
                                           ("Via", "From", "To", "CSeq")),
             "[last_Call-ID:]", CONTACT], False)))
        return self

    def ack_refused(self):
        """Send the ACK of a final response other than 2xx, with the branch of the
        INVITE."""
        back = len(self.steps) - self._invite_step
        self.request("ACK")
        self.steps[-1] = self.steps[-1].replace("[branch]", f"[branch-{back}]")
        return self

    def request(self, method, lines=(), sdp=False, body="", kind=""):
        """Send a request within the dialog."""
        self._cseq += 1
        if method != "ACK":
            self._requested = method
        if self.called:
            head = [f"{method} [$uri] SIP/2.0",
                    "Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]",
                    "From:[$to];tag=[pid]SIPp[call_number]", "To:[$from]"]
        else:
            head = [f"{method} [next_url] SIP/2.0",
                    "Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]",
                    "From: <sip:sipp@[local_ip]:[local_port]>;tag=[pid]SIPp[call_number]",
                    "To: <sip:[service]@[remote_ip]:[remote_port]>[peer_tag_param]"]
        cseq = 1 if method == "ACK" else self._cseq
        if method == "ACK":
            self._cseq -= 1
            cseq = self._invite_cseq
        elif method == "INVITE":
            self._invite_cseq, self._invite_step = cseq, len(self.steps)
        head += ["Call-ID: [call_id]", f"CSeq: {cseq} {method}", "Max-Forwards: 70", CONTACT]
        retrans = "" if method == "ACK" else ' retrans="500"'
        self.steps.append(_send(_body([*head, *lines], sdp, body, kind), retrans))
        return self

    def invite(self, lines=(), sdp=True):
        return self.begin("INVITE", lines, sdp)

    def begin(self, method, lines=(), sdp=False, again=False):
        """Send a request outside of a dialog; again: with the next CSeq number."""
        self._requested = method
        self._cseq = self._cseq + 1 if again else 1
        self._invite_cseq = self._cseq
        self.steps.append(_send(_body(
            [f"{method} sip:[service]@[remote_ip]:[remote_port] SIP/2.0",
             "Via: SIP/2.0/[transport] [local_ip]:[local_port];branch=[branch]",
             "From: <sip:sipp@[local_ip]:[local_port]>;tag=[pid]SIPp[call_number]",
             "To: <sip:[service]@[remote_ip]:[remote_port]>", "Call-ID: [call_id]",
             f"CSeq: {self._cseq} {method}", "Max-Forwards: 70", CONTACT, *lines], sdp),
            ' retrans="500"'))
        return self

    def acknowledge_refusal(self):
        """Send the ACK to a final response other than 2xx, in the INVITE's transaction."""
        self.steps.append(_send(_body(
            ["ACK sip:[service]@[remote_ip]:[remote_port] SIP/2.0", "[last_Via:]",
             "From: <sip:sipp@[local_ip]:[local_port]>;tag=[pid]SIPp[call_number]",
             "To: <sip:[service]@[remote_ip]:[remote_port]>[peer_tag_param]",
             "Call-ID: [call_id]", f"CSeq: {self._cseq} ACK", "Max-Forwards: 70"], False)))
        return self

    def cancel(self):
        """Cancel the INVITE after a provisional response."""
        self._requested = "CANCEL"
        self.steps.append(_send(_body(
            ["CANCEL sip:[service]@[remote_ip]:[remote_port] SIP/2.0", "[last_Via:]",
             "From: <sip:sipp@[local_ip]:[local_port]>;tag=[pid]SIPp[call_number]",
             "To: <sip:[service]@[remote_ip]:[remote_port]>", "Call-ID: [call_id]",
             f"CSeq: {self._cseq} CANCEL", "Max-Forwards: 70"], False), ' retrans="500"'))
        return self

    def pause(self, ms):
        self.steps.append(f'<pause milliseconds="{ms}"/>')
        return self

    def xml(self):
        names = ",".join(sorted(set(self.variables)))
        reference = f'<Reference variables="{names}"/>' if names else ""
        steps = "\n".join(self.steps)
        return (f'<?xml version="1.0" encoding="UTF-8"?>\n<scenario name="s">\n{steps}\n'
                f"{reference}\n</scenario>\n")


class Sipp:
    """One call of a scenario; wait() is 0 if it followed the scenario."""

    def __init__(self, folder, scenario, port, to=None, service="1002"):
        self.port, self._folder = port, folder
        file = folder / "scenario.xml"
        file.write_text(scenario.xml())
        self._log = folder / "sipp.log"
        self._command = ["/usr/bin/sipp", "-sf", str(file), "-i", "127.0.0.1", "-p", str(port),
                         "-mi", "127.0.0.1", "-cp", str(port + 1), "-nostdin", "-m", "1",
                         "-timeout", "60", "-recv_timeout", "20000", "-trace_err", "-nd",
                         "-error_file", str(folder / "errors.log"), "-s", service]
        if to:
            self._command.append(f"127.0.0.1:{to}")
        logs.note(folder / "errors.log")
        self._listens = not to

    def __enter__(self):
        with logs.opened(self._log) as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log,
                                             cwd=self._folder)
        deadline = time.monotonic() + 60
        while self._listens and time.monotonic() < deadline and self._process.poll() is None and not udp_is_bound(self.port):
            time.sleep(0.05)
        return self

    def wait(self, timeout=70):
        code = self._process.wait(timeout)
        errors = self._folder / "errors.log"
        said = errors.read_text(errors="replace") if errors.exists() else ""
        return code, said[-1500:]

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

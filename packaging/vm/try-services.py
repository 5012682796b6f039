#!/usr/bin/python3
"""Run by tools/vm as root in its machine, once systemd has started it: installs the packages of
/try/old and tests the services. Results are lines "ok NAME" or "not ok NAME: why" in
/try/results, whose last line is "end"."""
import base64
import glob
import http.cookiejar
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

TRY = Path("/try")
CONTROLLER, AGENT = "offhook-controller.service", "offhook-agent.service"
CONF = {AGENT: Path("/etc/offhook/offhook-agent.conf"),
        CONTROLLER: Path("/etc/offhook/offhook-controller.conf")}
URL = "https://127.0.0.1:8080"
SIP_PORT = 5070
# Of systemd-analyze security, in tenths.
EXPOSURE_MAX = {AGENT: 13, CONTROLLER: 12}
# An emulated machine is slow: a wait ends with its condition, and rarely by these.
LONG_S, WAIT_S = 600, 180


class Wrong(Exception):
    """A check failed, and why."""


def say(line):
    with open(TRY / "results", "a", encoding="utf-8") as results:
        results.write(line + "\n")
        results.flush()
        os.fsync(results.fileno())
    with open("/dev/ttyS1", "w", encoding="utf-8") as progress:
        progress.write(line + "\n")


def note(text):
    with open(TRY / "details", "a", encoding="utf-8") as details:
        details.write(text + "\n")


def check(name, step, *args, **kwargs):
    """Carry out a step. @return its result; None: it failed, which is said"""
    begin = time.monotonic()
    try:
        result = step(*args, **kwargs)
    except Exception as error:  # whatever it is, the next check is made
        why = " ".join(str(error).split()) or type(error).__name__
        note(f"--- {name}\n{type(error).__name__}: {error}")
        say(f"not ok {name}: {why[:300]}")
        return None
    say(f"ok {name}")
    note(f"{name}: {time.monotonic() - begin:.1f} s")
    return True if result is None else result


def demand(condition, why):
    if not condition:
        raise Wrong(why)


def command(*words, timeout=LONG_S, status=0, **kwargs):
    """Run a command. @return its standard output"""
    done = subprocess.run(words, timeout=timeout, check=False, capture_output=True, text=True,
                          **kwargs)
    if status is not None:
        demand(done.returncode == status, f"{' '.join(map(str, words))}: status "
               f"{done.returncode}: {(done.stdout + done.stderr)[-1500:]}")
    return done.stdout


def within(what, condition, seconds=WAIT_S):
    """Wait until condition() is true. @return its value"""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        demand(time.monotonic() < deadline, f"not within {seconds} s: {what}")
        time.sleep(0.3)


# ---- systemd ----

def show(unit, name):
    return command("systemctl", "show", "--value", "--property", name, unit).strip()


def main_pid(unit):
    return int(show(unit, "MainPID"))


def program(exe):
    """@param exe  /proc/PID/exe. @return the file; "" for a thread of the kernel, or a process that has ended"""
    try:
        return os.readlink(exe)
    except OSError:
        return ""


def is_active(unit):
    return show(unit, "ActiveState") == "active"


def now():
    """A time for journal()."""
    return time.time_ns() // 1000


def journal(unit, since=0, field="_SYSTEMD_UNIT"):
    """Entries of a unit's own processes (field UNIT: of systemd about the unit), as
    dictionaries."""
    command("journalctl", "--sync")
    out = command("journalctl", "-o", "json", "--all", f"{field}={unit}", status=None)
    entries = [json.loads(line) for line in out.splitlines()]
    return [e for e in entries if int(e["__REALTIME_TIMESTAMP"]) >= since]


def logged(unit, words, since=0):
    return [e for e in journal(unit, since) if re.search(words, str(e.get("MESSAGE", "")))]


def configure(unit, **keys):
    """Set keys of a configuration file; None removes one."""
    lines = CONF[unit].read_text().splitlines()
    for key, value in keys.items():
        lines = [line for line in lines if not re.match(rf"{key}\s*=", line)]
        if value is not None:
            lines.append(f"{key} = {value}")
    CONF[unit].write_text("\n".join(lines) + "\n")  # owner and mode stay


def drop_in(unit, text):
    folder = Path(f"/etc/systemd/system/{unit}.d")
    folder.mkdir(exist_ok=True)
    (folder / "try.conf").write_text("[Service]\n" + text)
    command("systemctl", "daemon-reload")


def drop_in_remove(unit):
    (Path(f"/etc/systemd/system/{unit}.d") / "try.conf").unlink()
    command("systemctl", "daemon-reload")


# ---- the controller's API ----

class Api:
    """Requests with an API key, and before there is one with the session of the pages."""

    def __init__(self):
        self.url = URL
        self.tls = ssl.create_default_context()
        self.tls.check_hostname = False
        self.tls.verify_mode = ssl.CERT_NONE  # what is shown is checked elsewhere
        self.headers = {}
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=self.tls),
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def raw(self, method, path, body=None):
        request = urllib.request.Request(
            self.url + path, method=method, headers={"Content-Type": "application/json",
                                                     **self.headers},
            data=None if body is None else json.dumps(body).encode())
        try:
            with self._opener.open(request, timeout=120) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            raise Wrong(f"{method} {path}: {error.code} "
                        f"{error.read().decode(errors='replace')[:500]}") from error

    def __call__(self, method, path, body=None):
        return json.loads(self.raw(method, "/api/v2" + path, body) or b"{}")

    def answers(self):
        try:
            return self.raw("GET", "/healthz")
        except (OSError, Wrong):
            return False

    def set_up(self):
        """The first user by the set-up code, and a key."""
        code = Path("/var/lib/offhook-controller/setup-code").read_text().strip()
        self.headers = {"X-CSRF-Token": json.loads(self.raw("GET", "/session")).get("csrf", "")}
        self.raw("POST", "/setup", {"code": code, "name": "ada", "password": "correct horse 1"})
        self.headers = {"X-CSRF-Token": json.loads(self.raw("GET", "/session"))["csrf"]}
        key = self("POST", "/api-keys", {"name": "try", "rights": "admin"})["api_key"]
        pair = f"{key['public_key']}:{key['secret']}"
        self.headers = {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}

    def online(self):
        try:
            return [a for a in self("GET", "/agents")["agents"] if a["state"] == "online"]
        except (OSError, Wrong):
            return []


api = Api()


class Records:
    """What a call needs; made once."""

    pool = test = 0


records = Records()


def answering():
    """A program that answers calls, of the package offhook."""
    with open(TRY / "answer.log", "a", encoding="utf-8") as log:
        peer = subprocess.Popen(["offhook", "answer", "--bind", "127.0.0.1", "--sip-port",
                                 str(SIP_PORT), "--user", "bob"], stdout=log, stderr=log)
    # proc(5): the local address and port in hex
    within("its port", lambda: f":{SIP_PORT:04X} " in Path("/proc/net/udp").read_text())
    return peer


def make_test(name="try"):
    project = api("POST", "/projects", {"name": name})["project"]["id"]
    target = api("POST", "/targets", {
        "name": name, "domain": "127.0.0.1",
        "hosts": [{"host": "127.0.0.1", "port": SIP_PORT, "transport": "udp"}]})["target"]["id"]
    accounts = api("POST", "/credential-pools", {
        "name": name, "credentials": [{"username": "alice", "password": "secret"}]})
    records.test = api("POST", "/tests", {
        "name": name, "project_id": project, "agentpool_id": records.pool, "record": "sip",
        "steps": [[{"type": "call", "role": "caller", "target_pool": target,
                    "credential_pool": accounts["credential_pool"]["id"], "max_total_calls": 1,
                    "dial_destination": "bob", "call_duration": 8, "prompt": "try.wav",
                    "record": "media"}]],
        "conditions": [{"role": "caller", "condition_type": "caller-sipclient-state-conditions",
                        "conditions": [{"type": "has", "state": s} for s in
                                       ("CALL_ESTABLISHED", "CALL_RTPESTAB")],
                        "options": []}]})["test"]["id"]


def start_run(seconds=8):
    return api("POST", f"/tests/{records.test}/run",
               {"step.0.0.call_duration": seconds})["data"]["session_id"]


def run_is(session, *states):
    run = api("GET", f"/runs/{session}/status")["run"]
    return run if run["status"] in states else None


def wait_passed(session):
    run = within("the run's end", lambda: run_is(session, "passed", "failed", "errored", "stopped"),
                 LONG_S)
    demand(run["status"] == "passed", f"the run: {run}")


def call(seconds=8):
    """A call with a prompt and a recording. @return the run"""
    peer = answering()
    try:
        session = start_run(seconds)
        wait_passed(session)
    finally:
        peer.terminate()
        peer.wait(60)
    return session


def call_begins(seconds):
    """@return (peer, run) with an established call"""
    peer = answering()
    session = start_run(seconds)

    def media():
        run = api("GET", f"/runs/{session}/status")["run"]
        demand(run["status"] == "running", f"the run ended before: {run}")
        return api("GET", f"/runs/{session}/stats/rtp_pkt_per_sec?role=caller&dir=in")["stats_data"]

    within("media of the call", media, LONG_S)
    return peer, session


# ---- what all parts need ----

def install():
    packages = sorted(glob.glob("/try/old/*.deb"))
    out = command("apt-get", "-qy", "install", "--no-install-recommends", *packages)
    (TRY / "installed").write_text(out)
    return out


def needed():
    within("the end of the boot", lambda: show("multi-user.target", "ActiveState") == "active")
    out = check("install", install)
    if not out:
        return False
    check("controller: enabled and started by the installation", within, "active and ready",
          lambda: is_active(CONTROLLER) and show(CONTROLLER, "UnitFileState") == "enabled")
    check("agent: enabled, and not started before it knows its controller", lambda: demand(
        show(AGENT, "UnitFileState") == "enabled" and not is_active(AGENT),
        show(AGENT, "ActiveState")))
    check("set-up hint: code and address are where it says", lambda: demand(
        "/var/lib/offhook-controller/setup-code" in out and f"{URL}/setup" in out and
        api.raw("GET", "/setup"), out))
    if not check("set-up by the code", api.set_up):
        return False
    return bool(check("agent: joins as its hint says", join))


def join():
    pool = api("POST", "/agent-pools", {"name": "try"})["agent_pool"]
    records.pool = pool["id"]
    # packets and timers are late in an emulated machine, whatever the agent does
    configure(AGENT, controller=f'"{URL}"', join_token=f'"{pool["join_token"]}"',
              controller_fingerprint=f'"{pool["controller_fingerprint"]}"',
              saturation_send_lateness=0, saturation_loop_lateness=0)
    command("systemctl", "start", "offhook-agent")
    within("the agent is online", api.online)
    demand(is_active(AGENT), "the unit is not active")
    configure(AGENT, join_token=None, controller_fingerprint=None)  # it is kept
    prompt = Path("/usr/share/offhook/prompts/try.wav")
    prompt.write_bytes(wave_of_tone())
    make_test()


def wave_of_tone():
    """A second of a 400 Hz square wave, 8 kHz, 16 bit."""
    samples = b"".join((6000 if (n // 10) % 2 else -6000).to_bytes(2, "little", signed=True)
                       for n in range(8000))
    return (b"RIFF" + (36 + len(samples)).to_bytes(4, "little") + b"WAVEfmt " +
            bytes.fromhex("10000000 0100 0100 401f0000 803e0000 0200 1000") +
            b"data" + len(samples).to_bytes(4, "little") + samples)


# ---- parts ----

def part_call():
    since = now()
    session = check("a call with prompt and recording passes", call)
    if not session:
        return

    def recorded():
        names = [a["name"] for a in api("GET", f"/runs/{session}/artifacts")["artifacts"]]
        demand([n for n in names if n.endswith(".wav")], f"artifacts: {names}")

    def sandboxed():
        lines = logged(AGENT, "sandbox", since)
        demand(lines, "the log says nothing of a sandbox")
        for entry in lines:
            text = entry["MESSAGE"]
            demand("files are restricted" in text and "system calls are restricted" in text,
                   text)

    def nothing_refused():
        lines = logged(AGENT, "refused", since)
        demand(not lines, [e["MESSAGE"] for e in lines])

    def found_by_run():
        lines = journal(session, since, "OFFHOOK_RUN")
        # an engine says so after it has been sandboxed
        ready = [e for e in lines if re.search("step .* is ready", e["MESSAGE"])]
        demand(ready and all(e.get("OFFHOOK_ROLE") for e in ready), lines)
        for unit in (AGENT, CONTROLLER):
            found = [e for e in lines if e["_SYSTEMD_UNIT"] == unit]
            demand(found and len(found) == len(logged(unit, f"run={session}", since)), lines)

    def steal_is_known():
        evidence = json.loads(api.raw("GET", f"/run/details/{session}/data"))["evidence"]
        demand(evidence and all("steal_pct" in e for e in evidence), evidence)

    check("the recording is kept", recorded)
    check("the evidence of the agent has steal_pct", steal_is_known)
    check("journal: a run's lines are found by OFFHOOK_RUN", found_by_run)
    check("sandbox of the engine works under the unit's hardening", sandboxed)
    check("the sandbox refuses nothing that a call needs", nothing_refused)


def part_journal():
    def fields(unit):
        entries = [e for e in journal(unit) if e.get("_TRANSPORT") == "journal"]
        left = [e for e in journal(unit) if re.match(r"<\d>", str(e["MESSAGE"]))]
        demand(not left, f"lines past the journal's socket: {left}")
        demand(entries, "no entries")
        name = unit.removesuffix(".service")
        for e in entries:
            demand(e["SYSLOG_IDENTIFIER"] == name, f"SYSLOG_IDENTIFIER: {e}")
            demand(e["PRIORITY"] in "3467", f"PRIORITY: {e}")

    def warning():
        # of an agent whose controller does not answer
        since = now()
        command("systemctl", "stop", CONTROLLER)
        within("a warning of the agent",
               lambda: [e for e in journal(AGENT, since) if e["PRIORITY"] in "34"])
        command("systemctl", "start", CONTROLLER)
        within("the agent comes back", api.online)

    check("journal: identifier and priority of each line (controller)", fields, CONTROLLER)
    check("journal: identifier and priority of each line (agent)", fields, AGENT)
    check("journal: warnings have the priority of warnings", warning)


def part_exposure():
    def exposure(unit):
        out = command("systemd-analyze", "security", "--no-pager", unit)
        level = re.search(r"Overall exposure level for \S+: (\d+)\.(\d)", out)
        demand(level, out[-300:])
        demand(int(level[1] + level[2]) <= EXPOSURE_MAX[unit], level[0])

    for unit, most in EXPOSURE_MAX.items():
        check(f"systemd-analyze security of {unit}: at most {most / 10}", exposure, unit)


def part_restart():
    def killed(unit, back):
        before, count = main_pid(unit), int(show(unit, "NRestarts"))
        os.kill(before, signal.SIGKILL)
        within("another process", lambda: is_active(unit) and main_pid(unit) not in (0, before))
        demand(int(show(unit, "NRestarts")) == count + 1, "NRestarts: " + show(unit, "NRestarts"))
        within("it serves again", back)

    check("controller: killed, systemd starts it again", killed, CONTROLLER, api.answers)
    check("agent: killed, systemd starts it again", killed, AGENT, api.online)
    check("a call passes after that", call)


def part_watchdog():
    def hung(unit, back):
        demand(show(unit, "WatchdogUSec") not in ("0", "infinity"), "the unit has no watchdog")
        before, since = main_pid(unit), now()
        os.kill(before, signal.SIGSTOP)
        within("the hung process is replaced",
               lambda: is_active(unit) and main_pid(unit) not in (0, before), LONG_S)
        said = [e["MESSAGE"] for e in journal(unit, since, "UNIT")]
        demand([m for m in said if "Watchdog timeout" in m], said)
        within("it serves again", back)

    check("agent: hung, the watchdog replaces it", hung, AGENT, api.online)
    check("controller: hung, the watchdog replaces it", hung, CONTROLLER, api.answers)


def part_drain():
    def stop_in_call():
        peer, session = call_begins(30)
        try:
            command("systemctl", "stop", AGENT)
            wait_passed(session)
        finally:
            peer.terminate()
            peer.wait(60)
        demand(show(AGENT, "Result") == "success", "Result: " + show(AGENT, "Result"))

    check("agent: stop lets the call in progress end", stop_in_call)
    command("systemctl", "start", AGENT)
    check("agent: online again", within, "online", api.online)

    def stop_controller():
        command("systemctl", "stop", CONTROLLER)
        demand(show(CONTROLLER, "Result") == "success", "Result: " + show(CONTROLLER, "Result"))
        command("systemctl", "start", CONTROLLER)
        within("it answers", api.answers)

    check("controller: stops well within its time, and starts", stop_controller)


def certificate(name):
    """A certificate of its own, which the controller may read."""
    folder = Path("/etc/offhook")
    command("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-subj", f"/CN={name}", "-out", folder / "new.pem",
            "-keyout", folder / "new.key")
    for old, new in (("tls.pem", "new.pem"), ("tls.key", "new.key")):
        shutil.chown(folder / new, group="offhook-controller")
        (folder / new).chmod(0o640)
        (folder / new).replace(folder / old)


def shown():
    return ssl.get_server_certificate(("127.0.0.1", 8080))


def part_reload():
    def to_tls():
        certificate("first")
        configure(CONTROLLER, tls_certificate_file='"/etc/offhook/tls.pem"',
                  tls_key_file='"/etc/offhook/tls.key"')
        before = shown()
        command("systemctl", "restart", CONTROLLER)
        within("it answers with the operator's certificate",
               lambda: api.answers() and shown() != before)

    def new_certificate():
        pid, before = main_pid(CONTROLLER), shown()
        certificate("second")
        command("systemctl", "reload", CONTROLLER)
        within("another certificate", lambda: shown() != before)
        demand(main_pid(CONTROLLER) == pid, "it is another process")

    def log_level():
        pid, since = main_pid(CONTROLLER), now()
        configure(CONTROLLER, log_level="debug")
        command("systemctl", "reload", CONTROLLER)

        def debug_lines():
            api("GET", "/projects")
            return [e for e in journal(CONTROLLER, since) if e["PRIORITY"] == "7"]

        within("lines of level debug", debug_lines)
        demand(main_pid(CONTROLLER) == pid, "it is another process")

    def wrong(unit):
        pid, text = main_pid(unit), CONF[unit].read_text()
        CONF[unit].write_text(text + "nonsense = 1\n")
        try:
            done = subprocess.run(["systemctl", "reload", unit], timeout=LONG_S, check=False,
                                  capture_output=True, text=True)
        finally:
            CONF[unit].write_text(text)
        demand(done.returncode != 0, "systemctl reload says that it is good")
        within("the service goes on", lambda: is_active(unit))  # it is reloading for a moment
        demand(main_pid(unit) == pid, "it is another process")

    def agent_level():
        pid, since = main_pid(AGENT), now()
        command("systemctl", "reload", AGENT)
        within("the agent says so", lambda: logged(AGENT, "reloaded on SIGHUP", since))
        demand(is_active(AGENT) and main_pid(AGENT) == pid, "it is another process")

    check("agent: reload", agent_level)
    check("agent: reload with a wrong configuration fails and changes nothing", wrong, AGENT)
    if check("controller: starts with the operator's certificate", to_tls):
        check("controller: reload takes a new certificate", new_certificate)
        check("controller: reload takes a new log level", log_level)
        check("controller: reload with a wrong configuration fails and changes nothing", wrong,
              CONTROLLER)
    configure(CONTROLLER, tls_certificate_file=None, tls_key_file=None, log_level=None)
    command("systemctl", "restart", CONTROLLER)
    check("both with the controller's own certificate again", within, "online", api.online)


def part_credentials():
    def master_key():
        command("systemctl", "stop", CONTROLLER)
        shutil.move("/var/lib/offhook-controller/master.key", "/root/master.key")
        shutil.chown("/root/master.key", "root", "root")
        drop_in(CONTROLLER, "LoadCredential=master.key:/root/master.key\n"
                            "Environment=OFFHOOK_KEY_FILE=%d/master.key\n")
        command("systemctl", "start", CONTROLLER)
        within("it answers", api.answers)
        api("GET", "/projects")  # the API key's hash needs the master key
        demand(not Path("/var/lib/offhook-controller/master.key").exists(), "a new key was made")

    def join_token():
        command("systemctl", "stop", AGENT)
        Path("/var/lib/offhook-agent/credentials").unlink()
        pool = api("POST", "/agent-pools", {"name": "credentials"})["agent_pool"]
        token = Path("/root/join-token")
        token.write_text(pool["join_token"] + "\n")
        token.chmod(0o600)
        # its credentials had the fingerprint, too
        configure(AGENT, controller_fingerprint=f'"{pool["controller_fingerprint"]}"')
        drop_in(AGENT, "LoadCredential=join-token:/root/join-token\n"
                       "Environment=OFFHOOK_JOIN_TOKEN_FILE=%d/join-token\n")
        command("systemctl", "start", AGENT)
        within("an agent of the new pool", lambda: [
            a for a in api.online() if a.get("agentpool_id", a.get("pool_id")) == pool["id"]])
        records.pool = pool["id"]
        make_test("credentials")

    check("controller: master key by LoadCredential", master_key)
    check("agent: join token by LoadCredential", join_token)
    check("a call passes with that agent", call)


def part_packages():
    def upgrade():
        before = {unit: main_pid(unit) for unit in CONF}
        total = api("GET", "/runs")["total"]
        command("apt-get", "-qy", "install", "--no-install-recommends",
                *sorted(glob.glob("/try/new/*.deb")))
        for unit, pid in before.items():
            within(f"another process of {unit}",
                   lambda unit=unit, pid=pid: is_active(unit) and main_pid(unit) not in (0, pid))
        within("the agent is online", api.online)
        demand(api("GET", "/runs")["total"] == total, "runs were lost")

    def remove():
        command("apt-get", "-qy", "remove", "offhook", "offhook-agent", "offhook-controller")
        for unit in CONF:
            demand(show(unit, "ActiveState") in ("inactive", "failed"), show(unit, "ActiveState"))
            demand(CONF[unit].exists(), f"{CONF[unit]} is gone")
        for path in ("offhook-controller/offhook.db", "offhook-agent/credentials"):
            demand(Path("/var/lib", path).exists(), f"{path} is gone")
        left = [p for p in Path("/proc").glob("[0-9]*/exe") if "/offhook-" in program(p)]
        demand(not left, f"processes are left: {left}")

    def purge():
        command("apt-get", "-qy", "purge", "offhook", "offhook-agent", "offhook-controller")
        left = [*glob.glob("/var/lib/offhook*"), *glob.glob("/etc/offhook/offhook*"),
                *glob.glob("/etc/systemd/system/*.wants/offhook*")]
        demand(not left, f"left: {left}")

    if check("upgrade: both services are restarted, with their data", upgrade):
        check("a call passes after the upgrade", call)
    check("remove: services end, configuration and data stay", remove)
    check("purge: nothing is left", purge)


PARTS = {"call": part_call, "journal": part_journal, "exposure": part_exposure,
         "restart": part_restart, "drain": part_drain, "reload": part_reload,
         "watchdog": part_watchdog, "credentials": part_credentials, "packages": part_packages}


def main():
    wanted = [w for w in (TRY / "only").read_text().strip().split(",") if w] or list(PARTS)
    unknown = [w for w in wanted if w not in PARTS]
    if unknown:
        say(f"not ok --only: no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    elif needed():
        for name in PARTS:
            if name in wanted:
                try:
                    PARTS[name]()
                except Exception as error:  # of a step between two checks
                    note(f"--- part {name}\n{error}")
                    say(f"not ok part {name}: {' '.join(str(error).split())[:300]}")
    command("journalctl", "--sync")
    with open(TRY / "journal", "w", encoding="utf-8") as out:
        subprocess.run(["journalctl", "-o", "short-precise", "-u", "offhook-*"], stdout=out,
                       timeout=LONG_S, check=False)
    say("end")
    os.sync()


if __name__ == "__main__":
    sys.exit(main())

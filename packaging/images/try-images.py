#!/usr/bin/env python3
"""Run the images of tools/images by runc: a controller and a pool of three agents, each in
a network namespace of its own on one bridge, with a read-only root, the image's user and
no capability. Called by tools/images --test with CONTAINERS_STORAGE_CONF set; needs root.

What must happen is in docs/internals/orchestration.md (Leases) and docs/reference/errored.md.
The last line is like "30 passed, 0 failed".
"""
import base64
import json
import os
import secrets
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

BRIDGE, NETWORK = "ohbr0", "10.97.0"
CONTROLLER = f"{NETWORK}.2"
CALLED = f"{NETWORK}.3"
SERVER = f"https://{CONTROLLER}:8080"
API = f"{SERVER}/api/v2"
# Short times, so that a lost agent is noticed within seconds.
TIMES = {"OFFHOOK_POLL_S": 5, "OFFHOOK_RENEW_S": 2, "OFFHOOK_LEASE_S": 10,
         "OFFHOOK_INTERVAL_S": 1}

passed = failed = 0


def check(name, good, more=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print(f"{'passed' if good else 'FAILED'}: {name}", flush=True)
    if not good and more:
        print(more, flush=True)
    return good


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          check=False, **more)
    if done.returncode:
        raise OSError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout.strip()


def within(seconds, condition):
    """Wait until the condition has a value. @return it; None: it never had"""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        value = condition()
        if value:
            return value
        time.sleep(0.2)
    return None


class Image:
    """The root file system and the settings of an image."""

    def __init__(self, name):
        self.container = run("buildah", "from", "--pull-never", name)
        self.root = run("buildah", "mount", self.container)
        image = json.loads(run("buildah", "inspect", "--type", "image", name))
        self.docker = image["Docker"]["config"]

    def close(self):
        run("buildah", "rm", self.container)


class Container:
    """One container of an image; its state survives stop, kill and start."""

    def __init__(self, folder, image, name, address, user=None, capabilities=(),
                 **environment):
        """@param user  instead of the image's: "0:0" """
        self.folder, self.image, self.name = Path(folder) / name, image, name
        self.process, self._user = None, user or image.docker["User"]
        self.capabilities = list(capabilities)
        self.log_file = self.folder / "log"
        self.folder.mkdir()
        (self.folder / "state").mkdir()
        os.chown(self.folder / "state", *self.user())
        self.secret = self.folder / "token"
        environment = image.docker["Env"] + [f"{k}={v}" for k, v in environment.items()]
        self._write(environment)
        run("ip", "netns", "add", self.namespace())
        link = f"{name[:10]}-v"
        run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns",
            self.namespace())
        run("ip", "link", "set", link, "master", BRIDGE, "up")
        inside = ("ip", "-n", self.namespace())
        run(*inside, "addr", "add", f"{address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            run(*inside, "link", "set", device, "up")

    def namespace(self):
        return f"offhook-{self.name}"

    def user(self):
        uid, gid = self._user.split(":")
        return int(uid), int(gid)

    def _write(self, environment):
        run("runc", "spec", cwd=self.folder)
        spec = json.loads((self.folder / "config.json").read_text())
        spec["hostname"] = self.name
        spec["root"] = {"path": self.image.root, "readonly": True}
        spec["process"].update(
            terminal=False, cwd="/", env=environment, noNewPrivileges=True,
            args=self.image.docker["Entrypoint"], user=dict(zip(("uid", "gid"), self.user())),
            capabilities={kind: self.capabilities for kind in ("bounding", "effective", "permitted")})
        for entry in spec["linux"]["namespaces"]:
            if entry["type"] == "network":
                entry["path"] = f"/run/netns/{self.namespace()}"
        volume, = self.image.docker["Volumes"]
        spec["mounts"] += [
            {"destination": volume, "type": "bind", "source": str(self.folder / "state"),
             "options": ["bind", "rw", "nosuid", "nodev", "noexec"]},
            {"destination": "/run/secrets", "type": "bind", "source": str(self._secrets()),
             "options": ["bind", "ro"]},
            {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs",
             "options": ["nosuid", "nodev", "noexec", "size=16m", "mode=1777"]}]
        self.spec = spec
        self._spec_write(spec)

    def _secrets(self):
        folder = self.folder / "secrets"
        folder.mkdir()
        return folder

    def _spec_write(self, spec):
        (self.folder / "config.json").write_text(json.dumps(spec))

    def secret_write(self, token):
        """At /run/secrets/join-token, as a secret of compose is: for the image's user."""
        self.file_write("join-token", token + "\n")

    def file_write(self, name, text):
        path = self.folder / "secrets" / name
        path.write_text(text)
        path.chmod(0o400)
        os.chown(path, *self.user())

    def once(self, *arguments):
        """Run the image's program with arguments, and wait. @return its standard output"""
        spec = json.loads(json.dumps(self.spec))
        spec["process"]["args"] = spec["process"]["args"] + list(arguments)
        self._spec_write(spec)
        try:
            return run("runc", "run", "--bundle", self.folder, f"offhook-{self.name}-once")
        finally:
            self._spec_write(self.spec)

    def start(self, *command):
        """@param command  instead of the image's program"""
        if command:
            self.spec["process"]["args"] = list(command)
            self._spec_write(self.spec)
        with self.log_file.open("ab") as log:
            self.process = subprocess.Popen(
                ["runc", "run", "--bundle", self.folder, self.namespace()],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self, number):
        run("runc", "kill", self.namespace(), str(int(number)))

    def wait(self, seconds):
        """@return the exit status; None: it still runs"""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def healthy(self):
        """What the health check of the image answers."""
        kind, *command = self.image.docker["Healthcheck"]["Test"]
        assert kind == "CMD"
        done = subprocess.run(["runc", "exec", self.namespace(), *command], timeout=60,
                              capture_output=True, text=True, check=False)
        return done.returncode == 0

    def status(self):
        """Of the first process, as the kernel sees it."""
        pid = json.loads(run("runc", "state", self.namespace()))["pid"]
        return dict(line.split(":\t", 1) for line in
                    Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)

    def log(self):
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def close(self):
        if self.process and self.process.poll() is None:
            self.kill(signal.SIGKILL)
            self.process.wait()
        subprocess.run(["runc", "delete", "--force", self.namespace()], capture_output=True,
                       check=False)
        subprocess.run(["ip", "netns", "del", self.namespace()], capture_output=True,
                       check=False)


class Api:
    def __init__(self, key):
        pair = f"{key['public_key']}:{key['secret']}".encode()
        self.headers = {"Authorization": "Basic " + base64.b64encode(pair).decode(),
                        "Content-Type": "application/json"}
        tls = ssl.create_default_context()
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE  # the agents verify it
        self.opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=tls))

    def __call__(self, method, path, body=None):
        request = urllib.request.Request(
            API + path, method=method, headers=self.headers,
            data=json.dumps(body).encode() if body is not None else None)
        try:
            with self.opener.open(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise OSError(f"{method} {path}: {error.code} {error.read().decode()}") from error

    def states(self):
        return {a["name"]: a["state"] for a in self("GET", "/agents")["agents"]}

    def call(self, duration):
        """Start a run of one call. @return its id"""
        answer = self("POST", "/tests/scenarios/single-call-caller", {
            "agentpool_id": self("GET", "/agent-pools")["agent_pools"][0]["id"],
            "target": f"sip:{CALLED}:5060", "username": "alice", "register": False,
            "dial_destination": "bob", "duration": duration})
        return answer["data"]["session_id"]

    def run(self, session):
        return self("GET", f"/runs/{session}")["run"]

    def busy(self):
        return {a["name"] for a in self("GET", "/agents")["agents"] if a["in_use"]}

    def call_placed(self, duration):
        """Start a run of one call, and wait until an agent has it. @return its id, and the
        name of the agent"""
        before = self.busy()
        session = self.call(duration)
        name, = within(60, lambda: self.busy() - before) or [None]
        return session, name

    def heard(self, session):
        """Data points of the RTP that its call has received."""
        return self("GET", f"/runs/{session}/stats/rtp_pkt_per_sec?role=caller&dir=in")[
            "stats_data"]

    def ended(self, session, seconds):
        def over():
            run = self.run(session)
            return run if run["phase"] == "done" else None

        return within(seconds, over)


def pool_of_three(folder, images):
    """The containers, made but not started."""
    token = secrets.token_urlsafe(24)
    controller = Container(folder, images["controller"], "controller", CONTROLLER, **TIMES,
                           OFFHOOK_FINGERPRINT_FILE="/var/lib/offhook-controller/fingerprint",
                           OFFHOOK_JOIN_TOKEN_FILE="/run/secrets/join-token")
    joins = {"OFFHOOK_CONTROLLER": SERVER,
             "OFFHOOK_CONTROLLER_FINGERPRINT_FILE": "/run/secrets/fingerprint",
             "OFFHOOK_JOIN_TOKEN_FILE": "/run/secrets/join-token"}
    agents = [Container(folder, images["agent"], f"agent{n}", f"{NETWORK}.1{n}",
                        OFFHOOK_CAPACITY=1, OFFHOOK_STOP_S=60, **joins)
              for n in (1, 2, 3)]
    called = Container(folder, images["agent-full"], "called", CALLED)
    full = Container(folder, images["agent-full"], "full", f"{NETWORK}.20", user="0:0",
                     capabilities=["CAP_NET_RAW"], **joins)
    for container in (controller, *agents, full):
        container.secret_write(token)
    return controller, agents, called, full


def confined(container):
    status = container.status()
    uid, gid = container.user()
    check(f"{container.name}: user and group of the image, not root",
          uid and status["Uid"].split() == [str(uid)] * 4 and
          status["Gid"].split() == [str(gid)] * 4)
    check(f"{container.name}: no capability", all(
        int(status[f"Cap{kind}"], 16) == 0 for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")))
    check(f"{container.name}: it is the container's first process",
          status["NSpid"].split()[-1] == "1")


def fingerprint_share(controller, agents):
    """What the volume of compose.yaml does: the controller writes it, agents read it."""
    written = controller.folder / "state" / "fingerprint"
    if check("the controller has a certificate of its own", written.exists() and
             written.read_text().startswith("sha256//"), controller.log()):
        for agent in agents:
            agent.file_write("fingerprint", written.read_text())


def begin(controller, agents, called, full):
    key = json.loads(controller.once("--create-key", "test").splitlines()[-1])
    controller.start()
    check("controller serves", within(60, lambda: "listening on" in controller.log()),
          controller.log())
    check("controller is healthy", controller.healthy())
    fingerprint_share(controller, [*agents, full])
    api = Api(key)
    called.start("sipp", "-sn", "uas", "-i", CALLED, "-mi", CALLED, "-p", "5060",
                 "-rtp_echo", "-nostdin")
    for agent in agents:
        agent.start()
    names = {agent.name: "online" for agent in agents}
    check("three agents join by the token of a file", within(
        90, lambda: api.states() == names), "\n".join(a.log() for a in agents))
    # after the answer to their first poll
    check("they are healthy", within(60, lambda: all(a.healthy() for a in agents)))
    for container in (controller, *agents):
        confined(container)
    features = [set(a["features"]) for a in api("GET", "/agents")["agents"]]
    check("their engines are confined by seccomp", all("sandbox:calls" in f for f in features))
    print(f"kernel has Landlock: {all('sandbox:files' in f for f in features)}")
    return api


def with_baresip(api, full):
    full.start()
    check("agent with baresip joins", within(
        60, lambda: api.states().get(full.name) == "online"), full.log())
    offered = {a["name"]: a["features"] for a in api("GET", "/agents")["agents"]}
    check("it alone offers the client baresip", [
        name for name, features in offered.items() if "client:baresip" in features] ==
        [full.name], full.log())
    full.kill(signal.SIGTERM)
    check("it ends with 0 at SIGTERM", full.wait(60) == 0, full.log())


def scenario(controller, agents, called, full):
    api = begin(controller, agents, called, full)
    by_name = {agent.name: agent for agent in agents}

    runs = [api.call(5) for _ in agents]
    check("a call of each agent passes", all(
        api.ended(r, 90) and api.run(r)["status"] == "passed" for r in runs),
        json.dumps([api.run(r) for r in runs], indent=1))

    runs, placed = zip(*(api.call_placed(25) for _ in agents))
    if not check("three calls at once, one on each agent", set(placed) == set(by_name)):
        return
    check("audio comes in all of them", within(60, lambda: all(map(api.heard, runs))))
    killed, drained, other = (by_name[name] for name in placed)
    killed.kill(signal.SIGKILL)
    drained.kill(signal.SIGTERM)
    check("agent killed in its call: the container has ended", killed.wait(60) is not None)
    lost = api.ended(runs[0], 60)
    check("its run ends errored and names it", lost and lost["status"] == "errored" and
          killed.name in lost["result_description"], json.dumps(lost, indent=1))
    check("it is offline", within(30, lambda: api.states()[killed.name] == "offline"))
    check("agent drained in its call: it finishes the call and ends with 0",
          drained.wait(90) == 0, drained.log())
    check("the call of the drained agent passes", api.ended(runs[1], 30) and
          api.run(runs[1])["status"] == "passed", json.dumps(api.run(runs[1]), indent=1))
    check("it is offline, too", within(30, lambda: api.states()[drained.name] == "offline"))
    check("the call of the third agent passes", api.ended(runs[2], 60) and
          api.run(runs[2])["status"] == "passed", json.dumps(api.run(runs[2]), indent=1))

    after, name = api.call_placed(5)
    check("a further call goes to the agent that is left", name == other.name and
          api.ended(after, 60) and api.run(after)["status"] == "passed")
    killed.start()
    check("the killed agent comes back with its volume, as the same agent", within(
        60, lambda: api.states()[killed.name] == "online") and len(api.states()) == 3,
        killed.log())
    check("it is healthy", within(30, killed.healthy))

    with_baresip(api, full)
    controller.kill(signal.SIGTERM)
    check("controller ends with 0 at SIGTERM", controller.wait(60) == 0, controller.log())
    check("an agent that has lost its controller stays", other.wait(3) is None)
    for agent in (other, killed):
        agent.kill(signal.SIGTERM)
        check(f"{agent.name} ends with 0 at SIGTERM, without its controller",
              agent.wait(60) == 0, agent.log())


def main(prefix="localhost/offhook-"):
    """@param prefix  of the images' names"""
    folder = tempfile.mkdtemp(prefix="offhook-pool-", dir="/var/tmp")
    images, containers = {}, []
    try:
        run("ip", "link", "add", BRIDGE, "type", "bridge")
        run("ip", "addr", "add", f"{NETWORK}.1/24", "dev", BRIDGE)
        run("ip", "link", "set", BRIDGE, "up")
        for name, tag in (("controller", "controller:latest"), ("agent", "agent:latest"),
                          ("agent-full", "agent:full")):
            images[name] = Image(f"{prefix}{tag}")
        controller, agents, called, full = pool_of_three(folder, images)
        containers += [controller, *agents, called, full]
        scenario(controller, agents, called, full)
    except (OSError, ValueError, KeyError) as error:
        check("the test could be carried out", False, repr(error))
        for container in containers:
            print(f"--- {container.name}\n{container.log()[-3000:]}")
    finally:
        for container in containers:
            container.close()
        subprocess.run(["ip", "link", "del", BRIDGE], capture_output=True, check=False)
        for image in images.values():
            image.close()
        shutil.rmtree(folder)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))

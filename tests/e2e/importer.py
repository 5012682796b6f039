"""Captured calls become tests by `offhook import`, and run by `offhook local`."""
import os
import re
import subprocess

import yaml

# A busy machine gets other limits of times and quality than a quiet network has.
WIDE = {"postdial-delay-conditions": "20000", "mos-conditions": "1", "loss-conditions": "90"}

TRIES = 3  # of a run; who answers it takes as many calls


class Importer:
    """Imports into a folder, and runs the tests there; in a network namespace, if given."""

    def __init__(self, folder, build, rtp, namespace=None, bind="127.0.0.1"):
        self.folder, self.build, self.rtp, self.bind = folder, build, rtp, bind
        self.prefix = ["ip", "netns", "exec", namespace] if namespace else []
        self.env = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "TMPDIR": str(folder),
                    **{k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}}

    def offhook(self, *arguments, **variables):
        return subprocess.run(
            [*self.prefix, str(self.build / "offhook"), *map(str, arguments)], cwd=self.folder,
            env={**self.env, **variables}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=150, check=False)

    def imported(self, capture, name, *options):
        """@return the text of the file, what was said"""
        done = self.offhook("import", capture, "-o", name, *options)
        assert done.returncode == 0, done.stderr
        wrote = re.search("wrote (.*)", done.stderr)[1]
        return (self.folder / wrote).read_text(), done.stderr

    def run(self, name, *options, **variables):
        """Apply the file to a controller and run its tests, with wide limits.
        @return passed, what was said"""
        document = yaml.safe_load((self.folder / name).read_text())
        for conditions in [c for test in document["tests"] for c in test["conditions"]]:
            wide = WIDE.get(conditions["condition_type"].removeprefix("caller-"))
            for condition in conditions["conditions"] if wide else ():
                condition["value"] = wide
        (self.folder / name).write_text(yaml.safe_dump(document))
        for _ in range(TRIES):  # the machine may stand still, and the run says so
            done = self.offhook("local", name, *options, "--bind", self.bind, "--rtp-ports",
                                f"{self.rtp[0]}-{self.rtp[1]}", **variables)
            if "generator saturated" not in done.stdout:
                break
        assert done.returncode in (0, 1), done.stdout + done.stderr
        return done.returncode == 0, done.stdout


class Answering:
    """`offhook answer` for one user, until the end of the block."""

    def __init__(self, importer, user, sip_port, rtp, *options, calls=TRIES, **variables):
        self.command = [*importer.prefix, str(importer.build / "offhook"), "answer", "--user", user,
                        "--sip-port", str(sip_port), "--rtp-ports", f"{rtp[0]}-{rtp[1]}", "--calls",
                        str(calls), "--verbose", *options]
        if "--registrar" not in options:
            self.command += ["--bind", importer.bind]
        self.env = {**importer.env, **variables}
        self.lines = []

    def __enter__(self):
        self.process = subprocess.Popen(self.command, env=self.env, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.until("Waiting for calls")
        return self

    def until(self, words):
        """Wait for a line with these words."""
        for line in self.process.stdout:
            self.lines.append(line)
            if words in line:
                return
        raise AssertionError(f"no {words} in " + "".join(self.lines))

    def __exit__(self, *_):
        self.process.terminate()
        self.said = "".join(self.lines) + self.process.communicate(timeout=60)[0]


def action_of(text):
    """@return the test, its call action"""
    test, = yaml.safe_load(text)["tests"]
    (*_, action), = test["steps"]
    return test, action


def types(test):
    return {c["condition_type"].removeprefix("caller-") for c in test["conditions"]}

"""The systemd units, as systemd itself reads them."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("OFFHOOK_BUILD", ROOT / "build"))
UNITS = sorted(p.name for p in (ROOT / "systemd").glob("*.service"))
# Of systemd-analyze security, in tenths: 1.5 of 10.
EXPOSURE_MAX = 15

pytestmark = pytest.mark.skipif(not shutil.which("systemd-analyze"),
                                reason="there is no systemd-analyze")


def complaints(path):
    """verify ends with 0 in spite of warnings: what it says counts."""
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], timeout=60, check=False,
                          capture_output=True, text=True)
    return [line for line in (done.stderr + done.stdout).splitlines() if path.name in line] or \
        ([done.stderr] if done.returncode else [])


def installed(name, folder):
    """The unit, with the program where it was built."""
    text = (ROOT / "systemd" / name).read_text()
    text, count = re.subn(r"(?m)^ExecStart=/usr/bin/", f"ExecStart={BUILD.resolve()}/", text)
    assert count == 1
    path = folder / name
    path.write_text(text)
    return path


def test_there_are_units():
    assert UNITS == ["offhook-agent.service", "offhook-controller.service"]


@pytest.mark.parametrize("name", UNITS)
def test_systemd_understands_it(name, tmp_path):
    assert complaints(installed(name, tmp_path)) == []


@pytest.mark.parametrize("wrong", ["Restart=sometimes", "NoSuchSetting=1",
                                   "ExecStartPre=/nowhere/program", "SystemCallFilter=@nothing"])
def test_it_would_be_told(wrong, tmp_path):
    path = installed(UNITS[0], tmp_path)
    path.write_text(path.read_text().replace("[Install]", f"{wrong}\n\n[Install]"))
    assert complaints(path) != []


@pytest.mark.parametrize("name", UNITS)
def test_what_it_may_do_is_little(name):
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", f"--threshold={EXPOSURE_MAX}",
         ROOT / "systemd" / name], timeout=60, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "exposure level" in done.stdout

"""The Debian packages say what the build says."""
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DEBIAN = ROOT / "debian"
SCRIPTS = sorted(DEBIAN.glob("*.p[or]*[tm]"))


def build_depends():
    text = (DEBIAN / "control").read_text()
    field = re.search(r"(?m)^Build-Depends:\n((?: .*\n)+)", text).group(1)
    return [line.strip(" ,") for line in field.splitlines()]


def test_build_depends_are_the_packages_of_the_build():
    listed = [line for line in (ROOT / "packaging/packages-build.txt").read_text().splitlines()
              if not line.startswith("#")]
    # build-essential, which Debian does not let a package name
    listed = [name for name in listed if name not in ("gcc", "libc6-dev")]
    ours = [name for name in build_depends() if not name.startswith(("debhelper", "dh-"))]
    assert ours == listed


def test_version_is_that_of_the_build():
    first = (DEBIAN / "changelog").read_text().splitlines()[0]
    version = re.search(r"(?m)^  version: '(.*)',$", (ROOT / "meson.build").read_text()).group(1)
    assert first.startswith(f"offhook ({version}) ")


def test_there_are_scripts():
    assert len(SCRIPTS) == 5


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.name)
def test_script_is_one_of_debhelper(script):
    """dh adds its part at #DEBHELPER#; an error of a script must end it."""
    text = script.read_text()
    assert "\nset -e\n" in text
    assert text.count("\n#DEBHELPER#\n") == 1
    subprocess.run(["sh", "-n", script], check=True, timeout=60)


@pytest.mark.parametrize("program", ["agent", "controller"])
def test_purge_removes_the_state_of_the_unit(program):
    unit = (ROOT / f"systemd/offhook-{program}.service").read_text()
    folder = "/var/lib/" + re.search(r"(?m)^StateDirectory=(\S+)$", unit).group(1)
    assert f'rm -rf "$DPKG_ROOT{folder}"' in (DEBIAN / f"offhook-{program}.postrm").read_text()
    tmpfiles = (ROOT / f"systemd/offhook-{program}.tmpfiles").read_text()
    assert f"d {folder} 0700 " in tmpfiles

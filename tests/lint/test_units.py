"""The systemd units as systemd itself reads them."""
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("OFFHOOK_BUILD", ROOT / "build"))
UNITS = sorted(p.name for p in (ROOT / "systemd").glob("*.service"))
# Exposure level of systemd-analyze security, in tenths: 1.5 of 10.
EXPOSURE_MAX = 15

pytestmark = pytest.mark.skipif(not shutil.which("systemd-analyze"),
                                reason="there is no systemd-analyze")


def complaints(path):
    """systemd-analyze verify exits with 0 in spite of warnings, so its output counts."""
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], timeout=60, check=False,
                          capture_output=True, text=True)
    return [line for line in (done.stderr + done.stdout).splitlines() if path.name in line] or \
        ([done.stderr] if done.returncode else [])


def installed(name, folder):
    """The unit, with the path of the built program."""
    text = (ROOT / "systemd" / name).read_text()
    text, count = re.subn(r"(?m)^(Exec(?:Start|Reload))=/usr/bin/", rf"\1={BUILD.resolve()}/", text)
    assert count == 2
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


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """The result of `meson install` on a machine with its own settings."""
    options = json.loads((BUILD / "meson-info/intro-buildoptions.json").read_text())
    prefix = next(o["value"] for o in options if o["name"] == "prefix")
    if prefix != "/usr":
        pytest.skip(f"{BUILD} was set up with --prefix {prefix}")
    folder = tmp_path_factory.mktemp("root")
    (folder / "etc/offhook").mkdir(parents=True)
    (folder / "etc/offhook/offhook-controller.conf").write_text("port = 8443\n")
    subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", folder],
                   timeout=60, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("name", UNITS)
def test_what_a_unit_starts_is_installed(name, root):
    text = (root / "usr/lib/systemd/system" / name).read_text()
    program, config = re.search(r"(?m)^ExecStart=(\S+) --config (\S+)$", text).groups()
    assert os.access(root / program[1:], os.X_OK)
    assert (root / config[1:]).is_file()
    page = re.search(r"(?m)^Documentation=man:(\S+)\((\d)\)$", text).groups()
    assert (root / "usr/share/man" / f"man{page[1]}" / ".".join(page)).is_file()


@pytest.mark.parametrize("name", ["offhook-agent.conf", "offhook-controller.conf"])
def test_each_key_is_in_the_manual(name, root):
    page = (root / "usr/share/man/man5" / f"{name}.5").read_text()
    keys = re.findall(r"(?m)^#(\w+) = (.*)$", (ROOT / "conf" / name).read_text())
    told = re.findall(r"(?m)^\\fB(\w+)\\fR = (.*)$", page)
    assert [(key, default.replace("\\-", "-")) for key, default in told] == keys
    assert page.startswith(f".TH {name.upper()} 5 ")
    done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page, text=True, timeout=60,
                          capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert " port, 0 to 65535" in re.sub(r"\s+", " ", done.stdout)


def members(part, schema, names=()):
    """Names of all members below a part of the schema."""
    if isinstance(part, dict):
        if "$ref" in part and part["$ref"] not in names:
            where = part["$ref"].rsplit("/", 1)[1]
            yield from members(schema["$defs"][where], schema, (*names, part["$ref"]))
        yield from part.get("properties", {})
    for below in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from members(below, schema, names)


def test_manual_of_the_yaml_files(root):
    page = (root / "usr/share/man/man5/offhook-tests.5").read_text()
    done = subprocess.run(["groff", "-man", "-Tascii", "-P-c", "-P-b", "-P-u", "-ww"], input=page,
                          text=True, timeout=60, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")
    text = re.sub(r"\s+", " ", done.stdout)
    schema = json.loads((root / "usr/share/offhook/offhook.schema.json").read_text())
    for name in {*schema["properties"], *members(schema["properties"], schema)}:
        assert re.search(rf"\b{name}\b", text), name
    for title in re.findall(r"(?m)^## (.*)", (ROOT / "docs/reference/yaml.md").read_text()):
        assert f"\n.SH {title.upper()}\n" in page
    assert "hosts[].port Whole number, 0 to 65535; default 0." in text
    assert "apply -f lab --dry-run" in text
    assert "](" not in text and "`" not in text


def test_what_users_copy_is_installed(root):
    for folder, source in (("usr/share/offhook/monitoring", "monitoring"),
                           ("usr/share/doc/offhook/examples/ci", "packaging/ci")):
        wanted = {path.name: path.read_text() for path in (ROOT / source).iterdir()
                  if path.name != "meson.build"}
        assert {path.name: path.read_text() for path in (root / folder).iterdir()} == wanted


def test_completions_are_installed(root):
    for name in ("bash-completion/completions/offhook", "zsh/vendor-completions/_offhook",
                 "fish/vendor_completions.d/offhook.fish"):
        assert "offhook" in (root / "usr/share" / name).read_text()


def test_settings_are_not_overwritten(root):
    assert (root / "etc/offhook/offhook-controller.conf").read_text() == "port = 8443\n"


@pytest.mark.skipif(not shutil.which("systemd-sysusers"), reason="there is no systemd-sysusers")
@pytest.mark.parametrize("name", UNITS)
def test_the_user_of_a_unit_is_made(name, root):
    subprocess.run(["systemd-sysusers", f"--root={root}",
                    root / "usr/lib/sysusers.d" / f"{name.removesuffix('.service')}.conf"],
                   timeout=60, check=True, capture_output=True)
    text = (ROOT / "systemd" / name).read_text()
    user = re.search(r"(?m)^User=(\S+)$", text).group(1)
    state = re.search(r"(?m)^StateDirectory=(\S+)$", text).group(1)
    entry = next(line.split(":") for line in (root / "etc/passwd").read_text().splitlines()
                 if line.startswith(f"{user}:"))
    assert entry[5] == f"/var/lib/{state}"

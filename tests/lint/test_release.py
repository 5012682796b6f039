"""tools/release, with stubs for the builds of the packages and of the images."""
import json
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOT_USER = os.geteuid() == 0   # the images need root
# Stands for tools/packages: a package that says which sources it was built from.
PACKAGES = """#!/bin/sh
set -e
cd "$(dirname "$0")/.."
for out; do :; done
[ ! -e .git ]
version=$(dpkg-parsechangelog --show-field Version)
for name in offhook-controller offhook; do
	mkdir -p "$out/$name/DEBIAN" "$out/$name/usr/share/$name"
	cp packaging/commit "$out/$name/usr/share/$name"
	printf 'Package: %s\\nVersion: %s\\nArchitecture: all\\nMaintainer: N <n@example.org>\\nDepends: dpkg (>= 1)\\n' \\
		$name "$version" > "$out/$name/DEBIAN/control"
	echo 'Description: stub' >> "$out/$name/DEBIAN/control"
	dpkg-deb --root-owner-group --build "$out/$name" "$out" > /dev/null
	rm -r "$out/$name"
done
"""
# Stands for tools/images.
IMAGES = """#!/bin/sh
set -e
cd "$(dirname "$0")/.."
for out; do :; done
[ ! -e .git ]
mkdir -p "$out"
for target in controller agent agent-full; do
	cp packaging/commit "$out/$target.oci.tar"
done
echo > "$out/sizes.txt"
"""


def git(folder, *args):
    return subprocess.run(["git", *args], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in ("debian", "man"):
        shutil.copytree(ROOT / name, folder / name, symlinks=True)
    for name in (".gitattributes", "CHANGELOG.md", "meson.build", "packaging/commit", "tools/release",
                 "tools/release-version", "tools/sbom"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    changelog = folder / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.0.1 (2026-01-01)\n\n- Old.\n")
    for name, text in (("packages", PACKAGES), ("images", IMAGES)):
        (folder / "tools" / name).write_text(text)
        (folder / "tools" / name).chmod(0o755)
    git(folder, "-c", "init.defaultBranch=main", "init", "-q")
    git(folder, "config", "user.name", "n")
    git(folder, "config", "user.email", "n@example.org")
    git(folder, "add", "--all")
    git(folder, "commit", "-q", "-m", "begin")
    return folder


def release(folder, *args):
    images = [] if ROOT_USER else ["--no-images"]
    done = subprocess.run(["tools/release", "--output", folder.parent / "out", *images, *args], cwd=folder, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    return done.returncode, done.stdout


def test_a_release(checkout):
    code, said = release(checkout, "9.8.7")
    assert code == 0, said
    out = checkout.parent / "out"
    commit = git(checkout, "rev-parse", "v9.8.7^{commit}").strip()
    assert commit == git(checkout, "rev-parse", "HEAD").strip()
    assert not git(checkout, "status", "--porcelain").replace("?? out/", "").strip()
    text = (checkout / "CHANGELOG.md").read_text()
    assert re.search(r"## Unreleased\n\n## 9\.8\.7 \(\d{4}-\d\d-\d\d\)\n\n- New\.\n\n## 0\.0\.1", text), text
    assert (checkout / "debian/changelog").read_text().startswith("offhook (9.8.7) ")
    assert "  version: '9.8.7',\n" in (checkout / "meson.build").read_text()
    assert all('"Offhook 9.8.7"' in page.read_text() for page in (checkout / "man").glob("offhook*.[0-9]"))
    with tarfile.open(out / "offhook-9.8.7.tar.xz") as archive:
        inside = archive.extractfile("offhook-9.8.7/packaging/commit").read().decode().strip()
    assert commit.startswith(inside) and len(inside) >= 7
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=out, check=True, timeout=60)
    assert {line.split()[1] for line in (out / "SHA256SUMS").read_text().splitlines()} == \
        {path.name for path in out.iterdir()} - {"SHA256SUMS"}
    assert {path.name.split("_9.8.7_")[0] for path in out.glob("*.oci.tar")} == (
        {"offhook-controller", "offhook-agent", "offhook-agent-full"} if ROOT_USER else set())


def test_the_sbom(checkout):
    code, said = release(checkout, "9.8.7")
    assert code == 0, said
    sbom = json.loads((checkout.parent / "out/offhook-9.8.7.spdx.json").read_text())
    ids = {entry["SPDXID"]: entry for entry in sbom["packages"]}
    assert sbom["spdxVersion"] == "SPDX-2.3" and len(ids) == len(sbom["packages"])
    links = {(ids.get(r["spdxElementId"], sbom)["name"], r["relationshipType"], ids[r["relatedSpdxElement"]]["name"])
             for r in sbom["relationships"]}
    assert links == {("offhook-9.8.7", "DESCRIBES", "offhook"), ("offhook-9.8.7", "DESCRIBES", "offhook-controller"),
                     ("offhook", "DEPENDS_ON", "dpkg"), ("offhook-controller", "DEPENDS_ON", "dpkg")}
    dpkg = next(entry for entry in sbom["packages"] if entry["name"] == "dpkg")
    version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "dpkg"], check=True, capture_output=True,
                             text=True).stdout
    assert dpkg["versionInfo"] == version
    assert f"pkg:deb/debian/dpkg@{version}?" in dpkg["externalRefs"][0]["referenceLocator"]


def test_a_dry_run_changes_nothing(checkout):
    before = git(checkout, "rev-parse", "HEAD")
    code, said = release(checkout, "--dry-run", "--no-images", "9.8.7")
    assert code == 0 and "dry run" in said, said
    assert not list((checkout.parent / "out").glob("*.oci.tar"))
    assert (git(checkout, "rev-parse", "HEAD"), git(checkout, "tag")) == (before, "")
    assert (checkout.parent / "out/offhook-9.8.7.tar.xz").exists()


def test_it_is_signed_with_a_key(checkout, tmp_path_factory, monkeypatch):
    home = tmp_path_factory.mktemp("gpg")
    monkeypatch.setenv("GNUPGHOME", str(home))
    subprocess.run(["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-generate-key", "n@example.org",
                    "ed25519", "sign", "never"], check=True, capture_output=True, timeout=60)
    try:
        code, said = release(checkout, "--key", "n@example.org", "9.8.7")
        assert code == 0, said
        out = checkout.parent / "out"
        subprocess.run(["gpg", "--batch", "--verify", out / "SHA256SUMS.asc", out / "SHA256SUMS"], check=True,
                       capture_output=True, timeout=60)
        git(checkout, "tag", "--verify", "v9.8.7")
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], check=False, timeout=60)


def change(folder):
    (folder / "CHANGELOG.md").write_text("changed\n")


def nothing_new(folder):
    (folder / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n## 0.0.1 (2026-01-01)\n")
    git(folder, "commit", "-q", "-a", "-m", "empty")


@pytest.mark.parametrize("prepare, version, words", [
    (change, "9.8.7", "the tree has changes"),
    (nothing_new, "9.8.7", 'nothing under "Unreleased"'),
    (lambda folder: git(folder, "tag", "v9.8.7"), "9.8.7", "there is a tag v9.8.7"),
    (lambda folder: None, "0.0.9", "is older than"),
    (lambda folder: None, "9.8", "usage:"),
    (lambda folder: None, "--key nobody@example.org 9.8.7", "no secret key"),
], ids=["dirty", "no-text", "tagged", "older", "no-version", "no-key"])
def test_it_is_refused(checkout, prepare, version, words):
    prepare(checkout)
    tags, head = git(checkout, "tag"), git(checkout, "rev-parse", "HEAD")
    code, said = release(checkout, *version.split())
    assert code != 0 and words in said, said
    assert (git(checkout, "tag"), git(checkout, "rev-parse", "HEAD")) == (tags, head)
    assert "offhook" not in str(list((checkout.parent / "out").glob("*")) if (checkout.parent / "out").exists() else "")

"""tools/fuzz, and its list of targets."""
import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/internals/fuzzing.md"
MESON = """
main = get_option('fuzz') ? [] : files('../replay.c')
args = get_option('fuzz') ? ['-fsanitize=fuzzer'] : []
foreach name : ['good', 'bad']
  executable('fuzz-a-' + name, name + '.c', main, c_args: args, link_args: args)
endforeach
"""
TARGET = """#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > 0 && data[0] == 'y')
		ACTION;
	return 0;
}
"""


def listed():
    lines = (ROOT / "tests/fuzz/targets.txt").read_text().splitlines()
    return [line.split()[0] for line in lines if line and not line.startswith("#")]


def test_every_target_is_listed():
    parsers = {f"{p.parent.name}/{p.stem[len('fuzz-'):]}" for p in ROOT.glob("tests/fuzz/*/fuzz-*.c")}
    there = parsers | {p.stem for p in ROOT.glob("tests/fuzz/session/*.py") if "run_batches(__doc__" in p.read_text()}
    assert sorted(there) == sorted(listed())
    for folder in {t.split("/")[0] for t in parsers}:  # so that tools/fuzz knows their programs
        assert f"'fuzz-{folder}-" in (ROOT / f"tests/fuzz/{folder}/meson.build").read_text(), folder
    assert sorted(re.findall(r"^\| `(\S+)` \|", (ROOT / PAGE).read_text(), re.M)) == sorted(there)


class Tree:
    """A project of two targets with tools/fuzz in it"""

    def __init__(self, folder):
        self.folder = folder
        fuzz = folder / "tests/fuzz/a"
        fuzz.mkdir(parents=True)
        (folder / "tools").mkdir()
        (folder / "docs/internals").mkdir(parents=True)
        shutil.copy(ROOT / "tools/fuzz", folder / "tools")
        shutil.copy(ROOT / "tests/fuzz/replay.c", fuzz.parent)
        page = (ROOT / PAGE).read_text()
        (folder / PAGE).write_text(re.sub(r"^\| `.*\n", "", page, flags=re.M))
        (folder / "tests/fuzz/targets.txt").write_text(
            "a/good network tests/fuzz/a/good.c\na/bad file tests/fuzz/a/bad.c # crashes\n")
        for name, action in (("good", "return 0"), ("bad", "abort()")):
            (fuzz / f"{name}.c").write_text(TARGET.replace("ACTION", action))
            (fuzz / f"corpus-{name}").mkdir()
            (fuzz / f"corpus-{name}/one").write_text("x")
        (folder / "meson.build").write_text(
            "project('some', 'c')\nsubdir('tests/fuzz/a')\n")
        (folder / "meson_options.txt").write_text(
            "option('tests', type: 'boolean')\noption('fuzz', type: 'boolean', value: false)\n")
        (fuzz / "meson.build").write_text(MESON)

    def run(self, *arguments):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("MESON")}
        done = subprocess.run([self.folder / "tools/fuzz", *arguments], text=True, check=False, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        rows = {r[0]: r[1:] for r in re.findall(
            r"^\| `(\S+)` \| (\w+) \| ([^|]+) \| ([\d.]+) min \| ([\d,]+) \|", (self.folder / PAGE).read_text(),
            re.M)}
        return done.returncode, done.stdout, rows


def test_time_adds_up_and_a_crash_is_a_finding(tmp_path):
    tree = Tree(tmp_path)
    code, said, rows = tree.run("--minutes", "0")
    assert code == 0, said
    assert rows == {"a/good": ("network", "4 of 5", "0.00", "0"), "a/bad": ("file", "4 of 5", "0.00", "0")}
    code, said, rows = tree.run("--slice", "2", "a/bad")
    assert code == 1 and "deadly signal" in said and "findings in" in said, said
    assert list((tmp_path / "build-fuzz/findings").glob("a-bad-crash-*"))
    inputs = []
    for _ in range(2):
        code, said, rows = tree.run("--slice", "1", "--minutes", "0.001", "--keep", "a/good")
        assert code == 0, said
        inputs.append(int(rows["a/good"][3].replace(",", "")))
    assert 0 < inputs[0] < inputs[1]
    assert rows["a/good"][1] == "5 of 5" and len(list((tmp_path / "tests/fuzz/a/corpus-good").iterdir())) > 1
    for _ in range(2):  # the first one gives it what it lacks
        done = tree.run("--slice", "1", "--network", "0.005", "a/good")
        assert done[0] == 0, done[1]
    assert "inputs" not in done[1], "it has had its time"


def test_slow_is_measured_by_processor_time(tmp_path):
    """An input that waited, as on a busy machine, is no finding and its target goes on; one that works that long is."""
    tree = Tree(tmp_path)
    fuzz, findings = tmp_path / "tests/fuzz/a", tmp_path / "build-fuzz/findings"
    (fuzz / "corpus-bad/two").write_text("y")
    limited = ["--slow", "1", "--slice", "4", "--other", "0.01", "a/bad"]
    (fuzz / "bad.c").write_text("#include <sys/stat.h>\n#include <unistd.h>\n" + TARGET.replace(
        "ACTION", 'for (int i = mkdir("waited", 0700) ? 6 : 0; i < 6; i++) sleep(1)'))
    status, said, rows = tree.run(*limited)
    assert status == 0 and (tmp_path / "build-fuzz/waited").is_dir(), said
    assert "a/bad: no finding: an input took 1 s by the clock, alone " in said, said
    assert float(rows["a/bad"][2]) >= 0.01 and not list(findings.iterdir()), said
    (fuzz / "bad.c").write_text(TARGET.replace("ACTION", "for (volatile int i = 1; i != 0;)"))
    status, said, _ = tree.run("--other", "1000", *limited[:4], "a/bad")
    assert status == 1 and list(findings.glob("a-bad-timeout-*")), said
    assert "the target is not run again in this call" in said
    assert re.search(r"^a/bad: a finding after 0.\d of 1000 min$", said, re.M), said


def test_wrong_use(tmp_path):
    tree = Tree(tmp_path)
    code, said, _ = tree.run("a/none")
    assert code == 2 and "there is no target a/none; there are a/good, a/bad" in said
    assert tree.run("--slice", "0")[0] == 2
    (tmp_path / "tests/fuzz/targets.txt").write_text("a/good nobody tests/fuzz/a/good.c\n")
    code, said, _ = tree.run()
    assert code == 1 and "targets.txt:1:" in said

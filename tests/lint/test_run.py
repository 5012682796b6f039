"""tests/run.py counts the results, repeats only what failed during a stall of the
machine, and refuses skipped tests that are not listed."""
import json
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

from machine import Evidence, Machine  # noqa: E402  pylint: disable=wrong-import-position

RUN = TESTS / "run.py"
# Stops the runner and its watchdog for longer than the stall limit. On a busy machine
# the watchdog wakes some time after SIGCONT. The test that caused the stall therefore
# ends later still, so that the stall is not counted for the next test.
STALL = """#!/bin/sh
until test -s {here}/pid; do sleep 0.05; done
kill -STOP $(cat {here}/pid)
sleep 1
kill -CONT $(cat {here}/pid)
sleep 0.5
"""
FIRST_FAILS = "test -e {here}/$0 || {{ touch {here}/$0; {here}/stall; false; }}"
HEAD = """project('some')
sh = find_program('sh')
"""
PROJECT = HEAD + """
test('steady', sh, args: ['-c', 'true'])
test('unsteady', sh, args: ['-c', '""" + FIRST_FAILS + """', 'seen'])
"""
BROKEN = """test('broken', sh, args: ['-c', '{here}/stall; false'])
"""
STRAIGHT = """test('straight', sh, args: ['-c', 'false'], is_parallel: false)
"""


class Project:
    def __init__(self, folder, project):
        self.folder = folder
        self.build = folder / "build"
        self.notes = folder / "unsteady.md"
        self.listed = folder / "skipped.txt"
        self.listed.touch()
        (folder / "stall").write_text(STALL.format(here=folder))
        (folder / "stall").chmod(0o755)
        (folder / "meson.build").write_text(project.format(here=folder))
        subprocess.run(["/usr/bin/meson", "setup", "build"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)

    def run(self, *options):
        """(exit status, last line, the whole output)"""
        with subprocess.Popen(["/usr/bin/python3", RUN, "--notes", self.notes,
                               "--skipped", self.listed, *options, self.build], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as runner:
            (self.folder / "pid").write_text(str(runner.pid))
            said = runner.communicate()[0]
        return runner.returncode, said.splitlines()[-1], said

    def noted(self):
        return self.notes.read_text().splitlines() if self.notes.exists() else []


UNSTEADY = "unsteady: unsteady failed in a stall and passed alone"


def test_without_the_option_nothing_is_repeated(tmp_path):
    project = Project(tmp_path, PROJECT)
    code, last, said = project.run()
    assert (code, last) == (1, "1 passed, 1 failed") and UNSTEADY not in said
    assert project.noted() == []


def test_what_failed_in_a_stall_and_passes_alone_is_noted(tmp_path):
    project = Project(tmp_path, PROJECT)
    code, last, said = project.run("--ci", "--suite-name", "sanitized")
    assert (code, last) == (0, "2 passed, 0 failed"), said
    assert UNSTEADY in said.splitlines()
    assert len(project.noted()) == 1
    note = re.fullmatch(r"\| \d{4}-\d\d-\d\d \d\d:\d\d UTC \| sanitized \| unsteady \| unsteady \| "
                        r"latest wake-up (\d+) ms \(?.*late, steal \d+%, load [0-9.]+ \| passed \|",
                        project.noted()[0])
    assert note and 500 <= int(note[1]) < 30000, project.noted()


def test_what_fails_again_has_failed(tmp_path):
    project = Project(tmp_path, PROJECT + BROKEN)
    code, last, said = project.run("--ci")
    assert (code, last) == (1, "2 passed, 1 failed"), said
    assert "broken failed in a stall and failed alone" in said
    assert [x.split(" | ")[2] + " " + x.split(" | ")[-1] for x in project.noted()] == \
        ["broken failed |", "unsteady passed |"]


def test_without_a_stall_nothing_is_repeated(tmp_path):
    project = Project(tmp_path, PROJECT + STRAIGHT)
    code, last, said = project.run("--ci")
    assert (code, last) == (1, "1 passed, 2 failed"), said
    assert re.search(r"^straight: straight: latest wake-up .*: no stall$", said, re.M), said
    assert "nothing is repeated: the machine did not stall" in said and project.noted() == []


def test_more_than_two_are_not_repeated(tmp_path):
    project = Project(tmp_path, PROJECT + BROKEN + BROKEN.replace("'broken'", "'another'"))
    code, last, said = project.run("--ci")
    assert (code, last) == (1, "1 passed, 3 failed"), said
    assert "nothing is repeated: more than 2 tests failed" in said and project.noted() == []


@pytest.mark.parametrize("before, repeated", [(1000, False), (0, True)])
def test_the_stall_must_be_in_the_time_of_the_case(tmp_path, before, repeated):
    """A pytest file takes minutes: a case failed only if it ran during the stall."""
    (tmp_path / "fails").write_text(f"""
test -e {tmp_path}/seen && exit
touch {tmp_path}/seen
begin=$(($(date +%s) - {before}))
{tmp_path}/stall
echo "@failed $begin $(($(date +%s) + 1 - {before})) test_x.py::test_y"
echo "== 1 failed in 2s =="
exit 1
""")
    project = Project(tmp_path, HEAD + "test('unsteady', sh, args: ['{here}/fails'])\n")
    code, _, said = project.run("--ci")
    assert (code == 0, len(project.noted()) == 1) == (repeated, repeated), said
    assert "unsteady: test_x.py::test_y: latest wake-up" in said
    assert not repeated or "| test_x.py::test_y |" in project.noted()[0]


def test_load_alone_is_no_stall():
    assert not Evidence(0.4, 0, 0.1, 50.0).stalled
    assert Evidence(0.5, 0, 0.0, 0.1).stalled
    assert Evidence(0.0, None, 0.2, 0.1).stalled


def test_the_watch_sees_steal_and_load():
    machine, begun = Machine(), time.time()
    time.sleep(2.5)
    evidence = machine.during(begun, time.time())
    assert 0 <= evidence.steal <= 1 and evidence.load >= 0
    assert machine.during(begun - 20, begun - 10).late_s == 0


SKIPS = HEAD + """
test('three', sh, args: ['-c', 'cat {here}/cmocka'])
test('seven', sh, args: ['-c', 'cat {here}/pytest'])
test('none', sh, args: ['-c', 'exit 77'])
"""
CMOCKA = """[==========] Running 2 test(s).
[ RUN      ] test_a
[  SKIPPED ] test_a
[ RUN      ] test_b
[       OK ] test_b
[==========] 2 test(s) run.
[  PASSED  ] 1 test(s).
[  SKIPPED ] 1 test(s), listed below:
[  SKIPPED ] test_a
"""
PYTEST = "@skipped test_x.py::test_c[a b] | needs root\n==== 3 passed, 1 skipped in 1.00s ====\n"


@pytest.fixture
def skips(tmp_path):
    (tmp_path / "cmocka").write_text(CMOCKA)
    (tmp_path / "pytest").write_text(PYTEST)
    return Project(tmp_path, SKIPS)


def test_a_skipped_case_that_is_not_listed_has_failed(skips):
    skips.listed.write_text("# a comment\nthree::test_a  this kernel has no ptrace\n")
    code, last, said = skips.run("--ci")
    assert (code, last) == (1, "4 passed, 2 failed"), said
    assert "skipped and not in tests/skipped.txt: seven::test_c[a b] (needs root)" in said
    assert "skipped and not in tests/skipped.txt: none" in said
    assert skips.run()[:2] == (0, "4 passed, 0 failed")


def test_listed_ones_pass_and_those_that_run_again_are_told(skips):
    skips.listed.write_text("three::*  no ptrace\nseven::test_c[*  no root\nnone no reason known\n"
                            "three::test_b not here\nelsewhere::test_d not run now\n"
                            "sanitized/seven::test_e not in this run\n")
    code, last, said = skips.run("--ci")
    assert (code, last) == (0, "4 passed, 0 failed"), said
    assert "tests/skipped.txt lists three::test_b, which is not skipped any more" in said
    assert "elsewhere" not in said and "test_e" not in said
    skips.listed.write_text("three::*  no ptrace\nseven::test_c[*  no root\nnone no reason known\n"
                            "three::test_b sometimes: there is no such thing\n")
    code, last, said = skips.run("--ci")
    assert (code, last) == (0, "4 passed, 0 failed"), said
    assert "not skipped any more" not in said
    skips.listed.write_text("plain/three::*  no ptrace\nseven::*  no root\nsanitized/none no reason\n")
    assert skips.run("--ci")[1] == "4 passed, 1 failed"


def test_a_listed_one_has_a_reason(skips):
    skips.listed.write_text("three::test_a\n")
    code, _, said = skips.run("--ci")
    assert code != 0 and "three::test_a has no reason" in said


def test_the_list_of_the_tree_is_well_formed():
    for line in (TESTS / "skipped.txt").read_text().splitlines():
        assert line.startswith("#") or not line or len(line.split()) > 3, line
    assert (TESTS / "unsteady.md").read_text().count("\n|") >= 2


def test_the_ten_longest_are_told(tmp_path):
    tests = "".join(f"test('t{n}', sh, args: ['-c', 'echo @took {n}.0 case{n}'])\n"
                    for n in range(12))
    _, last, said = Project(tmp_path, HEAD + tests).run()
    assert last == "12 passed, 0 failed"
    told = re.findall(r"^ +\d+ s  t(\d+) \(longest case: \1 s case\1\)$", said, re.M)
    assert len(told) == 10, said


def test_the_long_ones_run_when_they_are_asked_for(tmp_path):
    project = Project(tmp_path, HEAD + """
test('short', sh, args: ['-c', 'true'], suite: 'e2e')
test('lasts', sh, args: ['-c', 'true'], suite: 'long')
""")
    assert project.run()[1] == "1 passed, 0 failed"
    assert project.run("--long")[1] == "2 passed, 0 failed"
    assert project.run("--long", "--without", "e2e")[1] == "1 passed, 0 failed"
    done = subprocess.run(["/usr/bin/python3", RUN, project.build, "lasts"], text=True,
                          stdout=subprocess.PIPE, check=True)
    assert done.stdout.splitlines()[-1] == "1 passed, 0 failed"


def test_media_runs_by_itself_and_first(tmp_path):
    """Each test notes what runs while it begins: its own mark and those of others."""
    program = "['-c', 'touch {here}/$0.runs; ls {here} | grep runs >> {here}/seen; sleep 0.3; rm {here}/$0.runs', '%s']"
    tests = [(f"media{n}", "['e2e', 'media']") for n in range(12)] + [(f"other{n}", "'e2e'") for n in range(12)]
    project = Project(tmp_path, HEAD + "".join(
        f"test('{name}', sh, args: {program % name}, suite: {suites})\n" for name, suites in tests))
    assert project.run()[1] == "24 passed, 0 failed"
    seen = [mark.startswith("media") for mark in (tmp_path / "seen").read_text().split()]
    assert seen and seen == sorted(seen, reverse=True), seen
    assert project.run("--without", "media")[1] == "12 passed, 0 failed"
    done = subprocess.run(["/usr/bin/python3", RUN, project.build, "media"], text=True,
                          stdout=subprocess.PIPE, check=True)
    assert done.stdout.splitlines()[-1] == "12 passed, 0 failed"


def test_a_case_tells_its_times(tmp_path):
    """tests/conftest.py, which pytest reads for every folder below it"""
    shutil.copy(TESTS / "conftest.py", tmp_path)
    shutil.copy(TESTS / "pytest.ini", tmp_path)
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "test_some.py").write_text("""import time
import pytest
@pytest.mark.parametrize("path", ["a/b"])
def test_fails(path):
    time.sleep(1)
    assert False
def test_skips():
    pytest.skip("for a reason")
@pytest.fixture
def broken():
    yield
    assert False
def test_ends_badly(broken):
    pass
""")
    begun = time.time()
    said = subprocess.run(["/usr/bin/python3", "-m", "pytest", "-p", "no:cacheprovider",
                           tmp_path / "below" / "test_some.py"], text=True, check=False,
                          stdout=subprocess.PIPE, cwd="/").stdout
    begin, end = map(float, re.search(
        r"^@failed (\S+) (\S+) test_some\.py::test_fails\[a/b\]$", said, re.M).groups())
    assert begun <= begin and begin + 1 <= end <= time.time(), said
    assert re.search(r"^@failed \S+ \S+ test_some\.py::test_ends_badly$", said, re.M), said
    assert "\n@skipped test_some.py::test_skips | for a reason\n" in said
    assert re.search(r"^@took \S+ test_some\.py::test_fails", said, re.M), said


def test_the_reason_is_shown(tmp_path):
    """Of pytest's output the beginning is shown, where the assertion is, however long
    the logs after it are; of other programs the end."""
    (tmp_path / "said").write_text(
        "begin of all\n=== FAILURES ===\nthe reason\n" + "a log\n" * 1000 + "=== summary\n")
    project = Project(tmp_path, HEAD + """
test('long', sh, args: ['-c', 'cat {here}/said; false'])
test('other', sh, args: ['-c', 'yes no reason | head -1000; echo the end; false'])
""")
    said = project.run()[2]
    assert "the reason" in said and "=== summary" in said and "begin of all" not in said
    assert "the end" in said and "lines are left out" in said
    assert len(said.splitlines()) < 1000, said


def test_the_build_keeps_werror_until_it_is_told_otherwise(tmp_path):
    """A run without --werror after one with it would build everything again."""
    (tmp_path / "tests").mkdir()
    for name in ("runtests", "packaging/packages.sh"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(TESTS.parent / name, tmp_path / name)
    for script in TESTS.glob("*.py"):
        shutil.copy(script, tmp_path / "tests")
    (tmp_path / "meson.build").write_text(HEAD + "test('one', sh, args: ['-c', 'true'])\n")
    (tmp_path / "meson_options.txt").write_text("option('tests', type: 'boolean')\n")

    def werror(*options):
        done = subprocess.run([tmp_path / "runtests", "--no-install", "--build", *options], text=True,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert done.returncode == 0, done.stdout
        listed = subprocess.run(["meson", "introspect", tmp_path / "build", "--buildoptions"],
                                check=True, stdout=subprocess.PIPE).stdout
        return next(o["value"] for o in json.loads(listed) if o["name"] == "werror")

    assert [werror("--werror"), werror(), werror("--no-werror")] == [True, True, False]


def ci(folder, plain, threads="echo 4 passed, 0 failed", packages="echo 5 passed, 0 failed", argument=None):
    """Run .ci/run with stubs that only print their results: (exit status, lines, what
    was called)."""
    (folder / ".ci").mkdir()
    (folder / "tests").mkdir()
    shutil.copy(TESTS.parent / ".ci" / "run", folder / ".ci")
    calls = f"echo \"$@\" >> {folder}/calls\n"
    (folder / "runtests").write_text(
        f"#!/bin/sh\n{calls}case $* in *--build*|*'--sanitize media'|*'--werror media') echo 1 passed, 0 failed ;; "
        f"*--threads*) {threads} ;; *--sanitize*) "
        f"echo 2 passed, 0 failed ;; *) {plain} ;; esac\n")
    (folder / "tests" / "checks.py").write_text(f"#!/bin/sh\n{calls}echo 1 passed, 0 failed\n")
    (folder / "tools").mkdir()
    (folder / "tools" / "packages").write_text(f"#!/bin/sh\n{packages}\n")
    for path in ("runtests", "tests/checks.py", "tools/packages"):
        (folder / path).chmod(0o755)
    subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@example.org", "-c",
                    "init.defaultBranch=main", "init", "-q"], cwd=folder, check=True)
    done = subprocess.run([folder / ".ci" / "run", *([argument] if argument else [])], text=True,
                          check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout.splitlines(), (folder / "calls").read_text().splitlines()


def test_the_parts_are_summed(tmp_path):
    code, lines, calls = ci(tmp_path, "echo 10 passed, 0 failed")
    assert (code, lines[-1]) == (0, "28 passed, 0 failed"), lines
    assert [re.fullmatch(r" +0 min \d\d s  (\S+)(, beside the suites)?", x)[1] for x in lines[-13:-2]] == \
        ["build", "media", "plain", "build-threads", "threads", "build-sanitized", "sanitized", "checks",
         "allocations", "packages", "media-sanitized"]
    assert sorted(calls) == sorted([
        "--build --werror", "--build --no-install --threads --werror",
        "--build --no-install --sanitize", "--ci --no-install --werror media",
        "--ci --no-install --werror --without media", "--ci --no-install --threads --werror",
        "--ci --no-install --sanitize --without media", "--ci --no-install --sanitize media",
        "tidy analyzer", "allocations"])


def test_the_long_ones_reach_every_part(tmp_path):
    calls = ci(tmp_path, "echo 10 passed, 0 failed", argument="--long")[2]
    assert all("--long" in call for call in calls if "--build" not in call)
    assert {"--all --long tidy analyzer", "--all --long allocations"} < set(calls)


def test_a_part_that_fails_is_the_last(tmp_path):
    code, lines, calls = ci(tmp_path, "echo 9 passed, 0 failed",
                            threads="{ echo 3 passed, 1 failed; exit 1; }")
    assert (code, lines[-1]) == (1, "15 passed, 1 failed"), lines
    assert "--ci --no-install --sanitize --without media" not in calls and "allocations" not in calls


def test_what_runs_beside_ends_with_the_part_that_failed(tmp_path):
    here = tmp_path / "pid"
    code, lines, _ = ci(tmp_path, f"until test -s {here}; do sleep 0.05; done; "
                                  "echo 9 passed, 1 failed; exit 1",
                        packages=f"echo $$ > {here}; exec sleep 600")
    assert (code, lines[-1]) == (1, "11 passed, 1 failed"), lines
    process = Path("/proc") / here.read_text().strip()
    until = time.monotonic() + 20
    while process.exists():
        assert time.monotonic() < until, "it still runs"
        time.sleep(0.05)


def test_a_part_beside_that_fails_has_failed(tmp_path):
    code, lines, _ = ci(tmp_path, "echo 9 passed, 0 failed", packages="echo 4 passed, 1 failed; exit 1")
    assert (code, lines[-1]) == (1, "25 passed, 1 failed"), lines


@pytest.mark.parametrize("said", ["true", "{ echo the build failed; exit 1; }"])
def test_a_part_that_does_not_end_as_it_must_has_failed(tmp_path, said):
    code, lines, calls = ci(tmp_path, said)
    assert (code, lines[-1]) == (1, "2 passed, 1 failed"), lines
    assert "--ci --no-install --threads --werror" not in calls

"""tests/run.py counts what happened, also where a test passes only when repeated."""
import subprocess
from pathlib import Path

import pytest

RUN = Path(__file__).resolve().parents[1] / "run.py"
PROJECT = """project('three')
sh = find_program('sh')
test('steady', sh, args: ['-c', 'true'])
test('unsteady', sh, args: ['-c', 'test -e {here}/seen || {{ touch {here}/seen; false; }}'])
test('broken', sh, args: ['-c', 'test -e {here}/mended'])
"""


def set_up(folder, project):
    (folder / "meson.build").write_text(project.format(here=folder))
    subprocess.run(["/usr/bin/meson", "setup", "build"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    return folder / "build"


@pytest.fixture
def build(tmp_path):
    return set_up(tmp_path, PROJECT)


def run(build, *options):
    done = subprocess.run(["/usr/bin/python3", RUN, *options, build], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = done.stdout.splitlines()
    return done.returncode, lines[-1], [x for x in lines if x.startswith("unsteady:")]


NAMED = ["unsteady: unsteady failed among the others and passed alone"]


def test_without_the_option_nothing_is_repeated(build):
    assert run(build) == (1, "1 passed, 2 failed", [])


def test_what_fails_again_has_failed(build):
    assert run(build, "--repeat", "2") == (1, "2 passed, 1 failed", NAMED)


def test_what_passes_alone_is_named(build):
    (build.parent / "mended").touch()
    assert run(build, "--repeat", "2") == (0, "3 passed, 0 failed", NAMED)


def test_more_failures_than_allowed_are_not_repeated(build):
    assert run(build, "--repeat", "1") == (1, "1 passed, 2 failed", [])


def test_the_reason_is_shown(tmp_path):
    """Of pytest's account the begin, where the assertion stands, however long the logs behind it
    are; of other programs the end."""
    (tmp_path / "said").write_text(
        "begin of all\n=== FAILURES ===\nthe reason\n" + "a log\n" * 1000 + "=== summary\n")
    build = set_up(tmp_path, """project('two')
sh = find_program('sh')
test('long', sh, args: ['-c', 'cat {here}/said; false'])
test('other', sh, args: ['-c', 'yes no reason | head -1000; echo the end; false'])
""")
    said = subprocess.run(["/usr/bin/python3", RUN, build], text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
    assert "the reason" in said and "=== summary" in said and "begin of all" not in said
    assert "the end" in said and "lines are left out" in said
    assert len(said.splitlines()) < 1000, said

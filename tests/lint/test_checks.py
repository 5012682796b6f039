"""tests/checks.py finds a planted error in the folders that changed, and in no others."""
import json
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FINE = """#include <stdlib.h>
#include <string.h>
#include "one/one.h"
int one_make(char **ret)
{
	char *p = malloc(8);

	if (!p)
		return -1;
	memcpy(p, "one", 4);
	*ret = p;
	return 0;
}
"""
UNCHECKED = FINE.replace("	if (!p)\n		return -1;\n", "")
LOST = FINE.replace("	return 0;", "	free(p);\n	return p[0] == 'o' ? 0 : 1;")
DOUBLE = FINE.replace("	return 0;", "	free(p);\n	free(p);\n	return 0;")
UNSEEN = "#include <string.h>\nint two(const char *p);\n" \
    "int two(const char *p)\n{\n	char *q = 0;\n\n	return *p ? 0 : *q;\n}\n"
TEST = """#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "one/one.h"
static void test_it(void **state)
{
	char *own = malloc(3), *p;

	(void)state;
	memset(own, 0, 3); /* a test need not care */
	assert_int_equal(one_make(&p), 0);
	assert_string_equal(p, "one");
	free(p);
	free(own);
}
int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_it)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
"""
MESON = """project('tree', 'c', default_options: ['debug=true'])
root = include_directories('.')
one = static_library('one', 'one/one.c', include_directories: root)
two = static_library('two', 'two/two.c')
test('one-one', executable('test-one', 'tests/unit/one/test-one.c', include_directories: root,
  link_with: one, dependencies: dependency('cmocka')), suite: 'unit')
"""


class Tree:
    """A repository with the folders one and two, and our checks."""

    def __init__(self, folder):
        self.folder = folder
        (folder / "tests" / "unit" / "one").mkdir(parents=True)
        for name in ("one", "two"):
            (folder / name).mkdir()
        shutil.copytree(ROOT / "tests" / "sweep", folder / "tests" / "sweep")
        shutil.copy(ROOT / "tests" / "checks.py", folder / "tests")
        self.record("0123456789abcdef")  # no commit of this repository
        shutil.copy(ROOT / ".clang-tidy", folder)
        (folder / ".gitignore").write_text("/build*/\n")
        (folder / "meson.build").write_text(MESON)
        (folder / "one" / "one.h").write_text("int one_make(char **ret);\n")
        (folder / "one" / "one.c").write_text(FINE)
        (folder / "two" / "two.c").write_text("int two(void);\nint two(void)\n{\n\treturn 2;\n}\n")
        (folder / "tests" / "unit" / "one" / "test-one.c").write_text(TEST)
        self.git("init", "-q", "-b", "main")
        self.commit()

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@example.org", *arguments],
                       cwd=self.folder, check=True, stdout=subprocess.DEVNULL)

    def record(self, commit):
        (self.folder / "tests" / "checked.txt").write_text(f"{commit}\nWhat this is.\n")

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "state")

    def built(self, name, *options):
        if not (self.folder / name).exists():
            subprocess.run(["/usr/bin/meson", "setup", name, *options], cwd=self.folder, check=True,
                           stdout=subprocess.DEVNULL)
        subprocess.run(["/usr/bin/ninja", "-C", name], cwd=self.folder, check=True,
                       stdout=subprocess.DEVNULL)

    def check(self, *arguments):
        """(exit status, last line, the whole output)"""
        done = subprocess.run(["/usr/bin/python3", "tests/checks.py", *arguments], text=True,
                              cwd=self.folder, check=False, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        return done.returncode, done.stdout.splitlines()[-1], done.stdout


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)


def test_rooms_that_changed(tree):
    tree.git("update-ref", "refs/offhook/checked", "HEAD")
    assert tree.check()[1:] == ("3 passed, 0 failed", "rooms: none has changed\n" + "".join(
        f"{c}: 1 passed, 0 failed\n" for c in ("tidy", "analyzer", "allocations"))
        + "3 passed, 0 failed\n")
    tree.built("build")
    (tree.folder / "two" / "two.c").write_text(UNSEEN)
    assert tree.check("analyzer")[2].startswith("rooms: two\nanalyzer: 1 passed")
    tree.commit()
    (tree.folder / "one" / "new.h").touch()
    assert tree.check("analyzer")[2].startswith("rooms: one, two\n")
    (tree.folder / "README.md").touch()
    tree.commit()
    tree.git("update-ref", "refs/offhook/checked", "HEAD")
    assert tree.check("analyzer")[2].startswith("rooms: none")
    assert tree.check("--since", "HEAD~1", "analyzer")[2].startswith("rooms: one\n")
    assert tree.check("--all", "analyzer")[2].startswith("rooms: all\nanalyzer: 2 passed")


def test_without_a_state_the_branch_counts_and_then_all(tree):
    tree.built("build")
    assert tree.check("analyzer")[2].startswith("rooms: all")
    tree.git("checkout", "-q", "-b", "branch")
    (tree.folder / "two" / "two.c").write_text("int two(void);\nint two(void)\n{\n\treturn 3;\n}\n")
    tree.commit()
    assert tree.check("analyzer")[2].startswith("rooms: two\n")


def test_in_a_fresh_clone_the_recorded_commit_counts(tree):
    tree.built("build")
    head = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=tree.folder, check=True,
                          capture_output=True, text=True).stdout.strip()
    tree.record(head)
    (tree.folder / "one" / "new.h").touch()
    tree.commit()
    assert tree.check("analyzer")[2].startswith("rooms: one\n")
    tree.git("update-ref", "refs/offhook/checked", "HEAD")
    assert tree.check("analyzer")[2].startswith("rooms: none")


def test_an_unknown_revision_or_check_is_refused(tree):
    assert tree.check("--since", "nowhere")[0] != 0
    code, _, said = tree.check("nothing")
    assert code != 0 and "there are tidy, analyzer, allocations" in said
    code, _, said = tree.check("--all", "tidy")
    assert code != 0 and "build-tsan is not built" in said


@pytest.mark.skipif(not shutil.which("clang-tidy"), reason="there is no clang-tidy")
def test_tidy_finds_what_is_planted(tree):
    tree.built("build-tsan")
    assert tree.check("--all", "tidy")[:2] == (0, "2 passed, 0 failed")
    (tree.folder / "two" / "two.c").write_text(UNSEEN)
    code, last, said = tree.check("tidy", "--since", "HEAD")
    assert (code, last) == (1, "0 passed, 1 failed") and "core.NullDereference" in said, said


def test_the_analyzer_finds_what_is_planted(tree):
    tree.built("build")
    (tree.folder / "one" / "one.c").write_text(DOUBLE)
    code, last, said = tree.check("--all", "analyzer")
    assert (code, last) == (1, "1 passed, 1 failed") and "double-" in said, said


@pytest.mark.parametrize("source, told", [(FINE, None), (UNCHECKED, "null pointer|SEGV"),
                                          (LOST, "heap-use-after-free")],
                         ids=["checked", "unchecked", "freed"])
def test_an_allocation_that_fails(tree, source, told):
    """A failing test, or a crash of the test's own, is not a finding. A crash of the
    program is."""
    (tree.folder / "one" / "one.c").write_text(source)
    tree.built("build-asan", "-Db_sanitize=address,undefined")
    if source is LOST:  # it fails without an injected failure: that is reported, too
        code, _, said = tree.check("--all", "allocations")
        assert code != 0 and "heap-use-after-free" in said
        return
    code, last, said = tree.check("--all", "allocations")
    if told:
        assert (code, last) == (1, "0 passed, 1 failed"), said
        assert "---- one-one: allocation 2 failed in\n    one_make one/one.c:6" in said, said
    else:
        assert (code, last) == (0, "1 passed, 0 failed"), said


def test_the_options_of_clang_tidy_are_known():
    """A check disabled under a misspelt name would stay enabled."""
    if not shutil.which("clang-tidy"):
        pytest.skip("there is no clang-tidy")
    known = subprocess.run(["clang-tidy", "--checks=*", "--list-checks"], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.split()
    text = (ROOT / ".clang-tidy").read_text()
    off = [w.strip(" ,").removeprefix("-") for w in text.splitlines() if w.startswith("  -")]
    off = [w for w in off if w != "*"]
    assert off and [w for w in off if w not in known] == []
    for name in off:
        assert f"# {name}: " in text, f"{name} has no reason"


def test_the_checked_builds_are_those_that_runtests_makes():
    text = (ROOT / "runtests").read_text()
    assert "build='build-tsan'" in text and "build='build-asan'" in text
    assert json.dumps("build-tsan") in (ROOT / "tests" / "checks.py").read_text()

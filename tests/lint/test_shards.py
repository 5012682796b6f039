"""tests/shards.py runs every test once, in parallel, and adds up the results."""
import os
import subprocess
import sys
from pathlib import Path

SHARDS = Path(__file__).resolve().parents[1] / "shards.py"
TESTS = """import os
import time
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize("n", range(5))
def test_that_is_noted(n):
    (HERE / f"{n}-{os.getpid()}").touch()


def test_that_fails():
    assert not "a reason to be read"


def test_that_is_skipped():
    pytest.skip("it is")


@pytest.mark.parametrize("n", range(2))
def test_that_meets_the_other(n):
    if "meet" in os.environ:
        (HERE / f"here{n}").touch()
        until = time.monotonic() + 60
        while not (HERE / f"here{1 - n}").exists():
            assert time.monotonic() < until
            time.sleep(0.01)
"""


def run(folder, count, *options, **environment):
    (folder / "test_some.py").write_text(TESTS)
    ours = {k: v for k, v in os.environ.items() if k != "OFFHOOK_SHARDS"}
    done = subprocess.run(
        [sys.executable, SHARDS, str(count), "-p", "no:cacheprovider", *options,
         folder / "test_some.py"], text=True, timeout=120, check=False, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, env={**ours, **environment})
    noted = [p.name.split("-") for p in folder.glob("[0-9]-*")]
    return done.returncode, done.stdout, noted


def test_each_test_runs_once_and_beside_the_others(tmp_path):
    code, said, noted = run(tmp_path, 2, meet="1")
    assert code == 1 and "a reason to be read" in said
    assert said.splitlines()[-1].startswith("==== 7 passed, 1 failed, 1 skipped in "), said
    assert sorted(n for n, _ in noted) == list("01234")
    assert len({pid for _, pid in noted}) == 2


def test_one_after_the_other(tmp_path):
    code, said, noted = run(tmp_path, 2, OFFHOOK_SHARDS="1")
    assert code == 1 and "7 passed" in said.splitlines()[-1]
    assert len({pid for _, pid in noted}) == 1


def test_more_parts_than_tests(tmp_path):
    code, said, _ = run(tmp_path, 4, "-k", "skipped or noted and 3", OFFHOOK_SHARDS="3")
    assert code == 0 and said.splitlines()[-1].startswith("==== 1 passed, 1 skipped in "), said


def test_a_part_that_breaks_is_an_error(tmp_path):
    code, said, _ = run(tmp_path, 2, "--no-such-option")
    assert code != 0 and said.splitlines()[-1].startswith("==== 2 error in "), said

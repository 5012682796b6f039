"""Configuration errors name file and line and exit with 2."""
import subprocess

import pytest


@pytest.mark.parametrize("program", ["offhook-agent", "offhook-controller"])
@pytest.mark.parametrize("bad, word", [
    ("no_such_key = 1", "no_such_key"),
    ('log_level = "loud"', "log_level"),
    ("state_dir", "expected"),
    ("log_level = info\nlog_level = info", "log_level"),
])
def test_bad_line_is_exit_2(build, tmp_path, program, bad, word):
    path = tmp_path / "x.conf"
    path.write_text(f"# a comment\n\n{bad}\n")
    line = 2 + len(bad.splitlines())
    done = subprocess.run([build / program, "--config", path], timeout=30,
                          capture_output=True, text=True)
    print(done.stderr)
    assert done.returncode == 2
    assert f"{path}:{line}: " in done.stderr
    assert word in done.stderr


@pytest.mark.parametrize("program, key, value", [
    ("offhook-agent", "capacity", "0"), ("offhook-agent", "bind", '"nowhere"'),
    ("offhook-agent", "rtp_min", "99999"), ("offhook-controller", "port", "65536"),
    ("offhook-controller", "interval_s", "-1"),
    ("offhook-controller", "listen", '"example"')])
def test_wrong_value_is_exit_2(build, tmp_path, program, key, value):
    path = tmp_path / "x.conf"
    path.write_text(f"{key} = {value}\n")
    done = subprocess.run([build / program, "--config", path], timeout=30,
                          capture_output=True, text=True)
    print(done.stderr)
    assert done.returncode == 2
    assert f"{path}:1: {key}" in done.stderr


@pytest.mark.parametrize("program", ["offhook-agent", "offhook-controller"])
def test_missing_file_is_exit_2(build, tmp_path, program):
    path = tmp_path / "missing.conf"
    done = subprocess.run([build / program, "--config", path], timeout=30,
                          capture_output=True, text=True)
    assert done.returncode == 2
    assert str(path) in done.stderr

"""tools/faults, and the outcomes that it expects."""
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_says_what_is_expected():
    done = subprocess.run([ROOT / "tools/faults", "--check"], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_cell_that_is_not_there():
    done = subprocess.run([ROOT / "tools/faults", "nobody/SIGKILL/*"], check=False, capture_output=True, text=True)
    assert done.returncode == 2 and "no cell has such a name" in done.stderr

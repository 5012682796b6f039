"""Fixtures of the end-to-end tests; docs/testing.md explains the pieces."""
import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from ports import PortBlock  # noqa: E402


@pytest.fixture(scope="session")
def build():
    """The build directory with the three programs."""
    root = Path(__file__).resolve().parents[2]
    return Path(os.environ.get("OFFHOOK_BUILD", root / "build"))


@pytest.fixture
def ports():
    block = PortBlock()
    yield block
    block.close()

#!/usr/bin/env python3
"""Run a test program with OFFHOOK_TEST_DATABASE, the URI of an empty PostgreSQL database."""
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "e2e"))

import postgresql  # noqa: E402

server = postgresql.server()
uri = server.uri(server.create())
sys.exit(subprocess.run(sys.argv[1:], env={**os.environ, "OFFHOOK_TEST_DATABASE": uri},
                        check=False).returncode)

"""The README's commands are run as written."""
import json
import re
import subprocess
from pathlib import Path

from bench import Bench
from peers import SUBSCRIBERS

README = Path(__file__).resolve().parents[2] / "README.md"


def blocks():
    """The shell blocks marked to be run, in order."""
    return re.findall(r"<!-- run -->\n```sh\n(.*?)```", README.read_text(), re.S)


def test_readme_commands_work(tmp_path, ports):
    assert len(blocks()) >= 7
    with Bench(tmp_path, ports) as bench:
        # Each block prints a mark after it, so that a failure names its block.
        script = "set -euo pipefail\n" + "".join(
            f"{block}\necho '--- block {i} done'\n" for i, block in enumerate(blocks()))
        public_key, secret = bench.controller.keys["admin"]
        work = tmp_path / "work"
        work.mkdir()
        done = subprocess.run(
            ["/bin/bash", "-c", script], cwd=work, text=True, timeout=150,
            capture_output=True,
            env={"PATH": "/usr/bin:/bin", "HOME": str(work),
                 "BASE": bench.controller.witness().url + "/api/v2",
                 "KEY": f"{public_key}:{secret}", "SIP_PORT": str(ports.sip),
                 "PASSWORD_1001": SUBSCRIBERS["1001"],
                 "PASSWORD_1002": SUBSCRIBERS["1002"]})
        print(done.stdout + done.stderr)
        assert done.returncode == 0, done.stderr
        for i in range(len(blocks())):
            assert f"--- block {i} done" in done.stdout
        runs = bench.api("GET", "/runs")["runs"]
        assert [r["session_status"] for r in runs] == ["passed", "passed"], runs
        assert runs[0]["test_name"] == "Desk is reachable"
        problem = json.loads((work / "problem.json").read_text())
        assert problem["status"] == 422
        assert "dail_destination" in str(problem["errors"])
        assert "secret-100" not in done.stdout

"""./quickstart as a user runs it: twice, its files, the report, --stop."""
import json
import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
import requests

from agent import is_alive
from capture import Capture
from http_watch import exchanges_of
from ports import PortBlock, port_is_free

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory, build):
    """A function that runs ./quickstart on ports and a state directory of its own."""
    block = PortBlock()
    state = tmp_path_factory.mktemp("state")
    env = dict(os.environ, OFFHOOK_PORT=str(block.http), OFFHOOK_SIP_PORT=str(block.sip),
               OFFHOOK_RTP_MIN=str(block.rtp[0]), OFFHOOK_RTP_MAX=str(block.rtp[1]),
               OFFHOOK_STATE=str(state), OFFHOOK_BUILD=str(build))

    def run(*arguments, **extra):
        done = subprocess.run([ROOT / "quickstart", "--no-install", *arguments],
                              env={**env, **extra}, capture_output=True, text=True,
                              timeout=180)
        print(done.stdout + done.stderr)
        return done
    run.state, run.ports = state, block
    with Capture(tmp_path_factory.mktemp("capture"), (block.http, block.http)) as capture:
        yield run
        subprocess.run([ROOT / "quickstart", "--stop"], env=env, check=False)
    block.close()
    # the responses of its own controller to the script and to the agent
    count, wrong = exchanges_of(capture.file, block.http)
    print(f"{count} exchanges")
    assert wrong == []
    assert count > 50


def pids(state):
    return {p.stem: int(p.read_text()) for p in state.glob("*.pid")}


def test_first_run_passes(quickstart):
    done = quickstart()
    assert done.returncode == 0, done.stderr
    assert "verdict: passed" in done.stdout
    # The metrics table: each role, each direction.
    rows = re.findall(r"^ +(caller|callee) +(in|out) +(\S+) +(\S+) +(\S+) +(\S+) +(\S+)",
                      done.stdout, re.M)
    assert {(r[0], r[1]) for r in rows} == {
        (role, way) for role in ("caller", "callee") for way in ("in", "out")}
    for row in rows:
        if row[1] == "in":
            assert 49 <= float(row[2]) <= 51
            assert float(row[3]) == 0
            assert float(row[6]) == pytest.approx(4.41, abs=0.005)
    written = quickstart.state / "quickstart.json"
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    data = json.loads(written.read_text())
    assert set(data) == {"base_url", "public_key", "secret", "project_id", "test_id",
                         "session_id", "report_url"}
    # The report opens without a login, the API does not.
    assert requests.get(data["report_url"], timeout=60).status_code == 200
    report = requests.get(data["report_url"] + "/data", timeout=60).json()
    assert report["run"]["status"] == "passed"
    status = f"{data['base_url']}/api/v2/runs/{data['session_id']}/status"
    assert requests.get(status, timeout=60).status_code == 401
    run = requests.get(status, timeout=60,
                       auth=(data["public_key"], data["secret"])).json()["run"]
    assert (run["status"], run["has_passed"]) == ("passed", 1)
    signed_in(done.stdout, data)
    secrets = [p for p in quickstart.state.rglob("*") if p.is_file()
               and p.stat().st_mode & 0o077]
    assert secrets == []


def signed_in(printed, data):
    """The printed login leads to pages where all of it is in place."""
    url, name, password = re.search(
        r"^pages: +(\S+)/ - sign in as (\S+) with the password (\S+)$", printed, re.M).groups()
    assert (url, name) == (data["base_url"], "quickstart")
    with requests.Session() as browser:
        answer = browser.post(f"{url}/login", json={"name": name, "password": password},
                              timeout=60)
        assert answer.status_code == 200, answer.text

        def found(kind):
            return browser.get(f"{url}/api/v2/{kind}", timeout=60).json()[kind.replace("-", "_")]
        assert len(found("targets")) == 1 and found("credential-pools")
        assert [t["id"] for t in found("tests")] == [data["test_id"]]
        assert [r["session_id"] for r in found("runs")] == [data["session_id"]]
        page = browser.get(f"{url}/tests/{data['test_id']}", timeout=60,
                           headers={"Accept": "text/html"})
        assert page.status_code == 200 and 'id="test-steps"' in page.text


def test_second_run_reuses_everything(quickstart):
    first = json.loads((quickstart.state / "quickstart.json").read_text())
    running = pids(quickstart.state)
    done = quickstart()
    assert done.returncode == 0, done.stderr
    second = json.loads((quickstart.state / "quickstart.json").read_text())
    assert pids(quickstart.state) == running
    assert (quickstart.state / "login").read_text().split()[1] in done.stdout
    assert second["session_id"] != first["session_id"]
    for name in ("project_id", "test_id", "public_key", "base_url"):
        assert second[name] == first[name]


def test_busy_port_is_named_with_its_holder(quickstart, tmp_path):
    done = quickstart("--state", str(tmp_path / "other"))
    assert done.returncode == 1
    assert f"port {quickstart.ports.http} is in use" in done.stderr
    assert "--port" in done.stderr
    if Path("/proc/self").exists() and \
            shutil.which("ss", path="/usr/sbin:/usr/bin:/sbin:/bin"):
        assert re.search(r"in use by \"offhook-control\S*\" \(pid \d+\)", done.stderr)


def test_stop_ends_what_was_started(quickstart):
    running = pids(quickstart.state)
    assert set(running) == {"controller", "agent", "kamailio"}
    assert quickstart("--stop").returncode == 0
    assert pids(quickstart.state) == {}
    for pid in running.values():
        assert not is_alive(pid)
    assert port_is_free(quickstart.ports.http) and port_is_free(quickstart.ports.sip)
    # Stopping when nothing runs is not an error.
    assert quickstart("--stop").returncode == 0


def test_it_starts_again_after_a_stop(quickstart):
    done = quickstart()
    assert done.returncode == 0, done.stderr
    assert quickstart("--stop").returncode == 0


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_stop_spares_a_process_that_is_not_ours(quickstart):
    other = subprocess.Popen(["/usr/bin/sleep", "60"])
    try:
        (quickstart.state / "agent.pid").write_text(f"{other.pid}\n")
        assert quickstart("--stop").returncode == 0
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def packages(script, names="packaging/packages-quickstart.txt"):
    """Run packages_install with some of the shell's commands replaced."""
    return subprocess.run(
        ["bash", "-c", "set -euo pipefail; . packaging/packages.sh\n"
         "command() { [ \"$2\" != sudo ] && builtin command \"$@\"; }\n"
         f"{script}\npackages_install {names}"],
        cwd=ROOT, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("candidate, wanted", [("(none)", "wanted"), ("1.0", "may-miss wanted")])
def test_optional_package_is_left_out_where_the_release_has_none(tmp_path, candidate, wanted):
    names = tmp_path / "names.txt"
    names.write_text("# two\nmay-miss optional\n\nwanted\n")
    done = packages("dpkg-query() { return 1; }; id() { echo 0; }\n"
                    "apt-get() { echo \"$*\" >> " + str(tmp_path / "fetched") + "; }\n"
                    f"apt-cache() {{ echo '  Candidate: {candidate}'; }}\n"
                    "packages_apt() { shift; echo \"apt: $*\"; }", names)
    assert done.returncode == 0, done.stderr
    assert f"apt: {wanted}\n" in done.stdout
    assert ("has no package may-miss: tests" in done.stdout) == (candidate == "(none)")
    assert (tmp_path / "fetched").exists() == (candidate == "(none)")


def test_missing_package_is_named_with_the_remedy():
    done = packages("dpkg-query() { [ $3 != kamailio ] && echo installed; }\n"
                    "id() { echo 1000; }")
    assert done.returncode == 1
    assert "apt-get install --no-install-recommends kamailio\n" in done.stderr


def test_package_that_cannot_be_installed_is_named(tmp_path):
    done = packages("dpkg-query() { return 1; }\n"
                    "packages_as_root() { echo; }\n"
                    "env() { echo E: no such place; return 100; }\n"
                    "tee() { :; }; chmod() { :; }")
    assert done.returncode == 1
    assert "could not install: iproute2 kamailio" in done.stderr
    assert "E: no such place" in done.stderr and "remedy" in done.stderr


def test_nothing_is_installed_where_nothing_is_missing():
    done = packages("dpkg-query() { echo installed; }\nenv() { exit 99; }")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("arguments, code", [
    (["--nonsense"], 2), (["--port"], 1), (["--port", "x"], 1), (["--port", "70000"], 1),
    (["--help"], 0)])
def test_usage(quickstart, arguments, code):
    done = quickstart(*arguments)
    assert done.returncode == code
    assert "quickstart" in done.stdout + done.stderr

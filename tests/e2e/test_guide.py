"""The commands of docs/guide are run as written, page by page in the order of the
index.

They use the controller, the agent and the proxy that the guide's first command starts."""
import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

from agent import UNJUDGED, is_alive
from browser import chromium, complaints
from controller import Controller
from netns import own_network

ROOT = Path(__file__).resolve().parents[2]
GUIDE = ROOT / "docs/guide"
PAGES = re.findall(r"\]\(guide/([\w-]+\.md)\)", (ROOT / "docs/README.md").read_text())
# The languages of a page's blocks. Only sh has commands, and all of them are run; a
# text block after it is their output. ini, json and yaml are files.
LANGUAGES = {"sh", "text", "ini", "json", "yaml"}
PROGRAM = re.compile(r"(?:sudo )?(?:\S*/)?(?:offhook[\w-]*|curl|quickstart|runtests|meson|apt(?:-get)?|systemctl)\b")


def fences(page):
    """Fenced blocks of a page: [(language, text)]."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", page, re.S | re.M)


def pattern(line):
    """A pattern for a line of shown output: a number matches any number, whitespace any
    whitespace, and three dots match anything."""
    words = []
    for word in line.split():
        parts = re.split(r"(\.\.\.|\d+(?:\.\d+)?)", word)
        words.append("".join(
            ".*" if part == "..." else r"\d+(?:\.\d+)?" if part[:1].isdigit() else re.escape(part)
            for part in parts))
    return r"\s+".join(words)


def missing_lines(shown, output):
    """Lines of the shown output that are not in the output, in that order."""
    lines = iter(output.splitlines())
    return [line for line in shown.splitlines()
            if line.strip() and not any(re.search(pattern(line), said) for said in lines)]


def hidden_commands(page):
    """Commands in a page that are in no block for the shell."""
    run = "".join(text for language, text in fences(page) if language == "sh")
    for language, text in fences(page):
        if language not in LANGUAGES:
            yield f"a block of language '{language}'"
        elif language != "sh":
            for line in text.splitlines():
                command = re.sub(r"^\s*(?:- )?(?:run: |script: )?", "", line)
                if PROGRAM.match(command) and language != "text" and command not in run:
                    yield command


def run_page(name, folder, env):
    """Run the blocks of a page in one shell, and compare the output of each with what
    the page shows."""
    blocks = fences((GUIDE / name).read_text())
    shell = [(i, text) for i, (language, text) in enumerate(blocks) if language == "sh"]
    script = "set -euo pipefail\n" + "".join(
        f"{text}\necho\necho '--- block {i} done'\n" for i, text in shell)
    done = subprocess.run(["/bin/bash", "-c", script], cwd=folder, env=env, text=True, timeout=400,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(f"==== {name}\n{done.stdout}")
    outputs = re.split(r"^--- block (\d+) done\n", done.stdout, flags=re.M)
    ended = {int(i): said for said, i in zip(outputs[::2], outputs[1::2])}
    for i, text in shell:
        assert i in ended, f"{name}: exit status {done.returncode} in\n{text}\n{outputs[-1][-3000:]}"
    for i, (language, text) in enumerate(blocks):
        if language == "text" and i - 1 in ended:
            assert missing_lines(text, ended[i - 1]) == [], f"{name}:\n{ended[i - 1]}"
    assert done.returncode == 0, f"{name}: exit status {done.returncode}"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory, build):
    """A checkout as the guide assumes it, in a network of its own, as the guide's ports
    are fixed."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "build").symlink_to(build)
    for name in ("conf", "docs", "packaging"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "quickstart").write_text(
        f'#!/bin/sh\nexec {ROOT}/quickstart --no-install --state "{folder}/var" "$@"\n')
    (folder / "quickstart").chmod(0o755)
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(folder), "LC_ALL": "C.UTF-8",
           "OFFHOOK_BUILD": str(build), **UNJUDGED}
    with own_network():
        yield folder, env
        pids = [int(p.read_text()) for p in (folder / "var").glob("*.pid")]
        subprocess.run([folder / "quickstart", "--stop"], env=env, check=True)
        assert not any(is_alive(pid) for pid in pids)


@pytest.fixture(scope="module")
def server():
    with Controller() as controller:
        controller.api("POST", "/projects", {"name": "project"})
        controller.api("POST", "/agent-pools", {"name": "pool"})
        controller.api("POST", "/targets", {"name": "target", "hosts": [{"host": "127.0.0.1"}]})
        for name in ("callees", "callers"):
            controller.api("POST", "/credential-pools", {
                "name": name, "credentials": [{"username": "1001", "password": "secret"}]})
        yield controller


def test_pages_show_no_command_that_is_not_run():
    assert sorted(PAGES) == sorted(p.name for p in GUIDE.glob("*.md"))
    for name in PAGES:
        assert list(hidden_commands((GUIDE / name).read_text())) == [], name
        assert any(language == "sh" for language, _ in fences((GUIDE / name).read_text())), name


@pytest.mark.parametrize("page, found", [
    ("```\noffhook call\n```\n", ["a block of language ''"]),
    ("```console\n$ x\n```\n", ["a block of language 'console'"]),
    ("```yaml\n- run: build/offhook call x\n```\n", ["build/offhook call x"]),
    ("```sh\nbuild/offhook call x\n```\n```yaml\n- run: build/offhook call x\n```\n", []),
])
def test_a_command_that_is_not_run_is_found(page, found):
    assert list(hidden_commands(page)) == found


def test_output_that_differs_is_found():
    assert missing_lines("status: passed\n", "id: 1\nstatus: passed\n") == []
    assert missing_lines("took 6.7 ms\n", "it took   12 ms, well\n") == []
    assert missing_lines("report: http://.../x\n", "report: http://a/b/x\n") == []
    assert missing_lines("b\na\n", "a\nb\n") == ["a"]
    assert missing_lines("status: passed\n", "status: failed\n") == ["status: passed"]


@pytest.mark.parametrize("name", PAGES)
def test_page(checkout, name):
    folder, env = checkout
    if name != PAGES[0] and not (folder / "var/quickstart.json").exists():
        run_page(PAGES[0], folder, env)   # the first page starts what the others use
    run_page(name, folder, env)


# Messages of libraries and peers, and words of the table itself.
OTHERS = {"Couldn't connect to server", "Address already in use", "Cannot assign requested address",
          "rejected", "failed"}


def messages(page):
    """Messages in the first cells of the tables whose heading says message, as their
    fixed parts."""
    for table in re.findall(r"^\| message \|.*\n\|[-|]+\n((?:\|.*\n)+)", page, re.M):
        for row in table.splitlines():
            for text in set(re.findall(r"`([^`]+)`", row.split(" | ")[0])) - OTHERS:
                yield text, [piece.strip(" ") for piece in text.split("...") if piece.strip(" :,.'()")]


def test_messages_are_those_of_the_programs():
    """Each message that troubleshooting.md explains exists in the programs."""
    code = "".join(path.read_text(errors="replace")
                   for folder in ("agent", "base", "capture", "conf", "control", "media", "sip")
                   for path in (ROOT / folder).rglob("*.c"))
    code = re.sub(r'"\s*\n?\s*(?:PRI\w+\s*)?"', "", code).replace('\\"', '"')
    found = list(messages((GUIDE / "troubleshooting.md").read_text()))
    assert len(found) > 25
    for text, pieces in found:
        for piece in pieces:
            assert piece in code, f"no program says '{piece}' of '{text}'"


@pytest.mark.parametrize("name, member", [
    ("conditions", "conditions"), ("actions", "steps"), ("script-actions", "sipclient_actions")])
def test_examples_of_the_reference_are_accepted(server, name, member):
    """JSON blocks of the reference are accepted as members of a test."""
    page = (ROOT / f"docs/reference/{name}.md").read_text()
    examples = [json.loads(text) for language, text in fences(page) if language == "json"]
    assert examples
    call = {"type": "call", "role": "caller", "dial_destination": "1002"}
    for number, example in enumerate(examples):
        test = {"name": f"{name} {number}", "project_id": 1, "agentpool_id": 1,
                "steps": [[{"type": "answer", "role": "callee"}], [call]]}
        if member == "sipclient_actions":
            test["steps"][1] = [{**call, member: example}]
        else:
            test[member] = example
        server.api("POST", "/tests", test)


@pytest.mark.skipif(not os.path.exists("/proc/self"), reason="Chromium does not run without /proc")
def test_first_test_in_the_browser(checkout):
    """The numbered steps of getting-started.md, section 3."""
    folder, env = checkout
    if not (folder / "var/quickstart.json").exists():
        run_page(PAGES[0], folder, env)
    url = "http://127.0.0.1:8080"
    with chromium() as browser:
        def wait(condition):
            WebDriverWait(browser, 60, ignored_exceptions=[StaleElementReferenceException]).until(
                lambda _: condition())

        def find(css):
            return browser.find_element(By.CSS_SELECTOR, css)

        def press(text):
            button, = [b for b in browser.find_elements(By.CSS_SELECTOR, "main button")
                       if b.text == text and b.is_displayed()]
            button.click()

        def fill(form, **values):
            for name, value in values.items():
                field = find(f'{form} [name="{name}"]')
                if field.tag_name == "select":
                    Select(field).select_by_visible_text(value)
                else:
                    field.clear()
                    field.send_keys(value)

        name, password = (folder / "var/login").read_text().split()
        browser.get(url + "/login")
        wait(lambda: find("#login").is_displayed())
        fill("#login", name=name, password=password)
        find("#login button").click()
        wait(lambda: browser.current_url == url + "/")
        wait(lambda: find("#passing").text)
        browser.get(url + "/scenarios")
        wait(lambda: find("body").get_attribute("data-drawn") == "done")
        press("Single call")
        wait(lambda: find("#one").get_attribute("data-scenario") == "single-call")
        fill("#form", agentpool_id="quickstart (1)", target_pool="quickstart kamailio (1)",
             credential_pool="quickstart callees (1)", duration="3")
        press("Start")
        wait(lambda: browser.find_elements(By.CSS_SELECTOR, "#started a"))
        browser.get(find("#started a").get_attribute("href"))
        wait(lambda: find("#status").text == "Passed")
        assert [e for e in complaints(browser) if e["level"] == "SEVERE"] == []

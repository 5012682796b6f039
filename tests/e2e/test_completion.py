"""Completion of `offhook` in bash, zsh and fish, by the shells themselves."""
import os
import re
import shutil
import subprocess

import pytest

SHELLS = ["bash", "zsh", "fish"]

# What each prints: the candidates for the last word of the arguments, one a line.
COMPLETE = {
    "bash": """
        source "$1"; shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        $(complete -p offhook | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
        ((${#COMPREPLY[@]})) && printf '%s\\n' "${COMPREPLY[@]}"
        :""",
    # what zsh's own functions would be given: names with their explanation, or names alone
    "zsh": """
        compdef() { }
        source $1; shift
        words=("$@") CURRENT=$#
        _describe() {
            local array=$@[-1]
            local -a found=(${(P)array})
            found=(${found%%:*})
            print -rl -- ${(M)found:#$words[CURRENT]*}
        }
        compadd() { shift; print -rl -- ${(M)@:#$words[CURRENT]*} }
        _files() { }
        _offhook
        :""",
    "fish": """
        source $argv[1]
        complete -C (string join ' ' -- $argv[2..-1]) | string split -f 1 \\t
        true""",
}
OPTIONS = {"bash": ["--norc", "--noprofile"], "zsh": ["-f"], "fish": ["--no-config"]}


@pytest.fixture(scope="module", params=SHELLS)
def shell(request, build, tmp_path_factory):
    """@return a function from the words of a line to the candidates for the last one"""
    name = request.param
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed")
    folder = tmp_path_factory.mktemp(name)
    script = folder / "script"
    script.write_bytes(subprocess.run([build / "offhook", "completion", name], check=True,
                                      timeout=60, capture_output=True).stdout)

    def complete(*words):
        done = subprocess.run(
            [name, *OPTIONS[name], "-c", COMPLETE[name], *([] if name == "fish" else [name]),
             script, "offhook", *words], text=True, timeout=60, capture_output=True, cwd=folder,
            env={**os.environ, "HOME": str(folder), "PATH": f"{build}:{os.environ['PATH']}",
                 "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)})
        assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
        return set(done.stdout.split())

    complete.name, complete.script = name, script
    return complete


def of_help(text):
    """The commands that `offhook help` lists."""
    brief = re.findall(r"(?m)^[A-Z][\w ]*:((?: [\w-]+|\n )+)$", text)
    return set(re.findall(r"(?m)^  ([a-z-]+) ", text)) | set(" ".join(brief).split())


def test_every_command(shell, build):
    text = subprocess.run([build / "offhook", "help"], check=True, timeout=60, text=True,
                          capture_output=True).stdout
    commands = of_help(text)
    assert {"call", "agent", "completion", "help"} <= commands
    assert shell("") == commands
    assert shell("ca") == {"calibrate", "call", "callback", "callback-template", "capacity",
                           "capacity-search"}
    assert shell("help", "ca") == shell("ca")
    assert shell("help", "me") == {"media"}


def test_verbs(shell):
    assert shell("agent", "") == {"list", "show", "update", "delete"}
    assert shell("agent", "s") == {"show"}
    assert shell("--url", "http://127.0.0.1:9", "agent", "s") == {"show"}
    assert shell("help", "agent", "l") == {"list"}
    assert shell("completion", "") == set(SHELLS)


def test_options(shell):
    assert shell("agent", "list", "--") >= {"--url", "--profile", "--json", "--help"}
    assert "--wait" in shell("scenario", "run", "registration", "--")
    assert "--wait" not in shell("scenario", "list", "--")
    assert shell("capacity", "--") >= {"--calls", "--cool-down", "--rate", "--junit", "--url"}
    # those of the pages that the command names, behind an argument and another option
    shown = shell("call", "sip:1@127.0.0.1", "--register", "--tl")
    assert {o for o in shown if o.startswith("--tl")} == {
        "--tls-ca", "--tls-cert", "--tls-key", "--tls-name", "--tls-verify"}
    assert shown <= {o for o in shown if o.startswith("--tl")} | {"--srtp-library"}  # fish 4 also finds letters apart
    assert "--dry-run" in shell("apply", "--d")


def test_values_of_options(shell):
    assert shell("call", "--transport", "") == {"udp", "tcp", "tls"}
    assert shell("call", "sip:1@127.0.0.1", "--transport", "t") == {"tcp", "tls"}


def test_syntax(shell):
    done = subprocess.run([shell.name, "-n", shell.script], timeout=60, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")


def test_another_shell(build):
    done = subprocess.run([build / "offhook", "completion", "zhs"], timeout=60, text=True,
                          capture_output=True)
    assert done.returncode == 2 and "did you mean `completion zsh`?" in done.stderr

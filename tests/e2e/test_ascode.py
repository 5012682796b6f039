"""`offhook apply` and `offhook export`: records of a controller as YAML files."""
import hashlib
import json
import os
import pty
import re
import subprocess

import jsonschema
import pytest
import yaml

from controller import ROOT, Controller

SCHEMA = json.loads((ROOT / "docs/reference/offhook.schema.json").read_text())

LAB = """\
projects:
  - {name: Office, description: "the phones: all"}
targets:
  - name: Proxy
    hosts: [{host: 127.0.0.1, port: 5070}, {host: pbx.example, transport: tls, priority: 2}]
    domain: pbx.example
    tls: {verify: false, server_name: pbx}
credential_pools:
  - name: Phones
    credentials:
      - {username: "010", password: {env: OFFICE_010}}
      - {username: 1002, password: {file: secret.txt}, display_name: no}
agent_pools:
  - {name: lab, description: near, capabilities: [tls]}
callback_templates:
  - name: Chat
    body: |
      {"text": "{{test_name}}"}
appimages:
  - {name: hello, version: "1.10", kind: prompt, file: hello.wav}
tests:
  - name: Call
    project: Office
    agent_pool: lab
    tags: [nightly, "yes"]
    steps:
      - - {type: register, role: callee, credential_pool: Phones, target_pool: Proxy}
        - {type: answer, role: callee, challenge: 401, challenge_pool: Phones, ring_only: false}
      - - type: call
          role: caller
          target_pool: Proxy
          max_total_calls: 1
          dial_destination: 1002
          prompt: hello
          sipclient_actions: [[assert_established], [wait, 500], [dtmf, "0123"]]
          custom_headers: [[X-Test, single, invites]]
    conditions:
      - {role: caller, condition_type: caller-mos-conditions, conditions: [{type: ge, value: 4}]}
    record: none
    callback_on_failure: true
    callback_on_recovery: true
    callback_template: Chat
    callback_url: https://chat.example/hook
    callback_secret: {env: CHAT_SECRET}
    retries_on_failure: 1
schedules:
  - {name: Nightly, project: Office, tests: [Call], cron: 30 2 * * mon-fri, timezone: Europe/Berlin}
  - {name: Later, test: Call, run_at: "2999-12-31 23:59:59", enabled: false}
"""
SECRETS = {"OFFICE_010": "geheim-010", "CHAT_SECRET": "geheim-chat"}
KINDS = {"projects": "project", "targets": "target", "credential-pools": "credential_pool",
         "agent-pools": "agent_pool", "callback-templates": "callback_template",
         "appimages": "appimage", "tests": "test", "schedules": "schedule"}


@pytest.fixture(scope="module")
def controllers():
    with Controller() as a, Controller() as b:
        yield a, b


@pytest.fixture
def folder(tmp_path):
    lab = tmp_path / "lab"
    lab.mkdir()
    (lab / "lab.yaml").write_text(LAB)
    (lab / "secret.txt").write_text("geheim-1002\n")
    (lab / "hello.wav").write_bytes(b"RIFF" + bytes(range(256)) * 300)
    return lab


@pytest.fixture
def offhook(build, tmp_path):
    def run(c, *arguments, status=0, env=SECRETS):
        done = subprocess.run(
            [build / "offhook", *map(str, arguments)], text=True, capture_output=True, timeout=90,
            cwd=tmp_path, stdin=subprocess.DEVNULL, check=False,
            env={**os.environ, **env, "OFFHOOK_URL": c.witness().url if c else "http://127.0.0.1:1",
                 "OFFHOOK_KEY": ":".join(c.keys["admin"]) if c else "a:b"})
        assert done.returncode == status, done.stdout + done.stderr
        assert "geheim" not in done.stdout + done.stderr
        return done.stdout + done.stderr
    return run


def test_more_records_than_can_be(offhook, tmp_path):
    """At the ceiling it goes on, and finds no controller."""
    (tmp_path / "a.yaml").write_text("projects:\n" + "".join(f"  - {{name: p{n}}}\n" for n in range(10000)))
    (tmp_path / "b.yaml").write_text("projects:\n  - {name: one more}\n")
    assert "too many" not in offhook(None, "apply", "a.yaml", status=3)
    assert "b.yaml:2:5: there are too many records" in offhook(None, "apply", "a.yaml", "b.yaml", status=2)


def records(c):
    """All records by name, with names instead of ids."""
    out, names = {}, {}
    for path in KINDS:
        for row in c.api("GET", f"/{path}")[path.replace("-", "_")]:
            names[path, row["id"]] = row["name"]
    for path, number in names:
        record = c.api("GET", f"/{path}/{number}")[KINDS[path]]
        for key in ("id", "created_at", "updated_at", "next_at", "next_times", "history",
                    "parameters", "project_id", "test_id", "agentpool_id", "filename"):
            record.pop(key, None)
        record["test_ids"] = [names["tests", n] for n in record.get("test_ids") or []]
        for step in record.get("steps", []):
            for action in step:
                for key, of in (("credential_pool", "credential-pools"), ("target_pool", "targets"),
                                ("challenge_pool", "credential-pools")):
                    if key in action:
                        action[key] = names[of, int(action[key])]
        out[path, record["name"]] = record
    return out


def test_apply_and_export_bring_equal_records(controllers, folder, offhook, tmp_path):
    a, b = controllers
    plan = offhook(a, "apply", "-f", folder, "--dry-run", status=1)
    assert "+ test Call\n" in plan and "9 to create, 0 to change, 0 to delete, 0 unchanged\n" in plan
    assert records(a) == {}
    assert offhook(a, "apply", "-f", folder).endswith("done\n")
    before = records(a)
    assert offhook(a, "apply", folder) == "0 to create, 0 to change, 0 to delete, 9 unchanged\n"
    assert offhook(a, "apply", folder, "--dry-run", env={}).startswith("0 to create")
    offhook(a, "export", "--to", tmp_path / "out")
    files = sorted((tmp_path / "out").glob("*.yaml"))
    assert len(files) == len(KINDS)
    for path in files:
        jsonschema.validate(yaml.safe_load(path.read_text()), SCHEMA)
    test = yaml.safe_load((tmp_path / "out/tests.yaml").read_text())["tests"][0]
    assert test["project"] == "Office" and test["callback_secret"] == {"env": "CALL_CALLBACK_SECRET"}
    missing = offhook(b, "apply", tmp_path / "out", status=2)
    assert "credential_pools.yaml:" in missing and "PHONES_010 is not set" in missing
    assert records(b) == {}
    secrets = {"PHONES_010": "geheim-010", "PHONES_1002": "geheim-1002",
               "CALL_CALLBACK_SECRET": "geheim-chat"}
    offhook(b, "apply", tmp_path / "out", env=secrets)
    assert records(b) == before == records(a)
    assert " 9 unchanged" in offhook(b, "apply", tmp_path / "out", env={})
    assert before["credential-pools", "Phones"]["credentials"][1]["display_name"] == "no"
    content = next((tmp_path / "out/appimages").iterdir()).read_bytes()
    assert hashlib.sha256(content).hexdigest() == before["appimages", "hello"]["sha256"]
    assert "name: Office" in offhook(b, "export", "projects", "Office")


def test_a_change_is_shown_and_made(controllers, folder, offhook):
    c = controllers[0]
    offhook(c, "apply", folder)
    lab = folder / "lab.yaml"
    lab.write_text(LAB.replace("max_total_calls: 1", "max_total_calls: 3").replace("near", "far"))
    said = offhook(c, "apply", folder)
    assert '~ agent pool lab\n    description: "near" -> "far"\n' in said
    assert "~ test Call\n    steps.1.0.max_total_calls: 1 -> 3\n" in said
    # without the secret it is removed; with it the stored one is sent again
    lab.write_text(LAB.replace(", password: {file: secret.txt}", ""))
    assert "credentials.1.password: (secret) -> -" in offhook(c, "apply", folder)
    pool = c.api("GET", "/credential-pools/1")["credential_pool"]
    assert [p["has_password"] for p in pool["credentials"]] == [True, False]
    lab.write_text(LAB)
    assert "credentials.1.password: - -> (secret)" in offhook(c, "apply", folder)
    assert "~ credential pool Phones" in offhook(c, "apply", folder, "--set-secrets")
    (folder / "hello.wav").write_bytes(b"other")
    assert "lab.yaml:20:50: the stored content differs" in offhook(c, "apply", folder, status=2)


def test_prune_deletes_in_named_projects_only(controllers, folder, offhook):
    c = controllers[0]
    offhook(c, "apply", folder)
    other = folder.parent / "other.yaml"
    moved = LAB.replace("name: Call", "name: Other call").replace("Office", "Factory")
    moved = moved.replace("[Call]", "[Other call]").replace("test: Call", "test: Other call")
    moved = moved.replace("Nightly", "Weekly").replace("Later", "Once")
    moved = moved.replace("file: ", f"file: {folder}/")
    other.write_text(moved)
    offhook(c, "apply", other)
    (folder / "lab.yaml").write_text(
        "projects: [{name: Office, description: 'the phones: all'}]\ntests: []\nschedules: []\n")
    assert "0 to delete" in offhook(c, "apply", folder)
    assert "add --yes" in offhook(c, "apply", folder, "--prune", status=2)
    said = offhook(c, "apply", folder, "--prune", "--yes")
    for line in ("- schedule Later", "- schedule Nightly", "- test Call", "3 to delete"):
        assert line in said
    left = {name for kind, name in records(c) if kind in ("tests", "schedules")}
    assert left == {"Other call", "Weekly", "Once"}


@pytest.mark.parametrize("answer", ["no", "yes"])
def test_prune_asks_on_a_terminal(tmp_path, build, answer):
    """After a "yes" the controller is gone: that is no fault of the file, and the name of what
    was to be deleted cannot drive the terminal."""
    file = tmp_path / "lab.yaml"
    file.write_text("projects: [{name: Office}]\nschedules: []\n")
    with Controller() as c:
        project = c.api("POST", "/projects", {"name": "Office"})["project"]["id"]
        c.api("POST", "/schedules", {"name": "Later\x1b[2J", "project_id": project, "cron": "@daily"})
        ours, theirs = pty.openpty()
        with subprocess.Popen([build / "offhook", "apply", "-f", file, "--prune"], stdin=theirs, stdout=theirs,
                              stderr=theirs, env={**os.environ, "OFFHOOK_URL": c.witness().url, "TERM": "xterm",
                                                  "OFFHOOK_KEY": ":".join(c.keys["admin"])}) as apply:
            os.close(theirs)
            said = read_until(ours, b"Delete 1 records?")
            if answer == "yes":
                c.stop()
            os.write(ours, answer.encode() + b"\n")
            said += read_until(ours, None)
        os.close(ours)
        if answer == "no":
            assert [s["enabled"] for s in c.api("GET", "/schedules")["schedules"]] == [1]
    assert b"- schedule Later?[2J" in said and b"\x1b[2J" not in said, said
    if answer == "yes":
        assert apply.returncode == 3, said
        assert b"stopped at schedule Later?[2J; 0 of 1 changes were made, and perhaps this one" in said, said
        assert b"lab.yaml" not in said, said


def read_until(terminal, words):
    """What a program prints until these words, or until it ends"""
    said = b""
    while words is None or words not in said:
        try:
            part = os.read(terminal, 4096)
        except OSError:  # nobody has the other side any more
            break
        if not part:
            break
        said += part
    return said


def test_schema_is_that_of_the_api():
    made = subprocess.run([ROOT / "tools/yaml-schema.py", ROOT / "docs/reference/openapi.yaml"],
                          check=True, capture_output=True, timeout=60).stdout
    assert made.decode() == (ROOT / "docs/reference/offhook.schema.json").read_text(), \
        "tools/yaml-schema.py docs/reference/openapi.yaml > docs/reference/offhook.schema.json"
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_examples_fit_the_schema():
    text = (ROOT / "docs/reference/yaml.md").read_text()
    examples = re.findall(r"```yaml\n(.*?)```", text, re.S)
    assert examples
    for example in [*examples, LAB.replace("username: 1002", "username: '1002'").replace(
            "dial_destination: 1002", "dial_destination: '1002'").replace(
                "display_name: no", "display_name: 'no'")]:
        jsonschema.validate(yaml.safe_load(example), SCHEMA)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"projects": [{"nam": "x"}]}, SCHEMA)


@pytest.mark.parametrize("text, said", [
    ("projects:\n  - {name: a, descripton: b}\n",
     "x.yaml:2:15: descripton is unknown here; did you mean description?"),
    ("project: []\n", "x.yaml:1:1: project is unknown here; did you mean projects?"),
    ("projects:\n  - {name: a, name: b}\n", "x.yaml:2:15: name is given twice"),
    ("projects:\n  - {name: 010}\n", "x.yaml:2:12: 010 can be read in several ways"),
    ("projects:\n  - {name: +49}\n", "x.yaml:2:12: +49 can be read in several ways"),
    ("projects:\n  - {name: true}\n", "x.yaml:2:6: a boolean is not possible here"),
    ("projects:\n  - {name: a}\n  - {name: a}\n", "x.yaml:3:5: a project of this name stands in"),
    ("projects:\n  - {description: a}\n", "x.yaml:2:5: name is missing"),
    ("credential_pools:\n  - {name: a, credentials: [{username: b, password: c}]}\n",
     "x.yaml:2:43: a text is not possible here"),
    ("tests:\n  - {name: a, project: b, agent_pool: c, steps: [[{type: cal, role: d}]]}\n",
     "x.yaml:2:51: type is missing or names no action"),
    ("projects: *x\n", "x.yaml:1:11: there is no anchor x before"),
    ("a: [1,\n", "x.yaml:2:1: "),
])
def test_a_wrong_file_is_refused_with_its_place(offhook, tmp_path, text, said):
    (tmp_path / "x.yaml").write_text(text)
    assert said in offhook(None, "apply", "x.yaml", status=2)


def test_refusals(controllers, folder, offhook, tmp_path):
    c = controllers[1]
    assert "test.yaml:3:" in _wrong(offhook, c, tmp_path, "nowhere", "caller", 2)
    assert "there is no project nowhere" in _wrong(offhook, c, tmp_path, "nowhere", "caller", 2)
    said = _wrong(offhook, c, tmp_path, "Mine", "a b", 3)
    assert "test.yaml:6:" in said and "1 of 3 changes" not in said and "2 of 3 changes were made" in said
    offhook(None, "apply", folder, status=3)
    offhook(c, "apply", status=2)
    offhook(c, "apply", "nowhere.yaml", status=2)
    many = ["-f", "nowhere.yaml"] * 101
    assert "apply: at most 100 files and folders" in offhook(c, "apply", *many, status=2)
    assert "apply: wrong option --frob" in offhook(c, "apply", "--frob", "x.yaml", status=2)
    offhook(c, "export", "phones", status=2)
    offhook(c, "export", "projects", "nothing", status=3)


def _wrong(offhook, c, tmp_path, project, role, status):
    (tmp_path / "test.yaml").write_text(
        "tests:\n  - name: T\n"
        f"    project: {project}\n    agent_pool: p\n    steps:\n"
        f"      - [{{type: wait, role: {role}, wait_ms: 5}}]\n"
        "projects: [{name: Mine}]\nagent_pools: [{name: p}]\n")
    return offhook(c, "apply", "test.yaml", status=status)

#!/usr/bin/python3
"""Records of a controller before and after an upgrade, for packaging/try-upgrade.sh.

usage: try-records.py make POOL   make a record of each kind; POOL is the id of the agent pool
       try-records.py save FILE   write all records, results and metrics to FILE
       try-records.py compare FILE
                                  fail unless each of them is there with the values of before.
                                  Later versions may have more members and records.
OFFHOOK_URL and OFFHOOK_KEY are the controller's; it is on this host, so its certificate is not
verified.
"""
import base64
import json
import os
import ssl
import sys
import urllib.error
import urllib.request

KINDS = ("projects", "targets", "credential-pools", "agent-pools", "tests", "schedules",
         "callback-templates", "users", "api-keys", "runs")
# They go on while the records are compared.
CHANGING = {"next_at", "next_times", "waiting_for", "history", "last_used_at", "updated_at", "agents",
            "online_agents", "agent_count", "last_login_at", "idle_count"}


def request(method, path, body=None):
    sent = urllib.request.Request(
        f"{os.environ['OFFHOOK_URL']}/api/v2{path}", method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json", "Authorization": "Basic " + base64.b64encode(
            os.environ["OFFHOOK_KEY"].encode()).decode()})
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    try:
        with urllib.request.urlopen(sent, context=unverified, timeout=60) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as e:
        sys.exit(f"{method} {path}: {e.code} {e.read().decode(errors='replace')}")


def make(pool):
    def new(kind, **body):
        answer = request("POST", f"/{kind}", body)
        return next(v for v in answer.values() if isinstance(v, dict) and "id" in v)["id"]

    project = new("projects", name="Lab")
    target = new("targets", name="PBX", hosts=[{"host": "192.0.2.1", "port": 5062}])
    users = new("credential-pools", name="Users", credentials=[
        {"username": f"100{i}", "password": f"secret {i}"} for i in range(3)])
    new("callback-templates", name="CI", content_type="text/plain", body="{{test_name}}")
    test = new("tests", name="Registers", project_id=project, agentpool_id=int(pool), tags=["smoke"],
               steps=[[{"type": "register", "role": "caller", "target_pool": target,
                        "credential_pool": users}]])
    new("schedules", name="Nightly", test_id=test, cron="0 3 * * *", timezone="Europe/Berlin")
    new("users", name="ann", password="correct horse battery", rights="write")


def everything():
    found = {}
    for kind in KINDS:
        answer = request("GET", f"/{kind}")
        found[kind] = {str(r["id"]): r for r in answer[kind.replace("-", "_")]}
        assert len(found[kind]) == answer.get("total", len(found[kind])), kind
    for run in found["runs"].values():
        session = run["session_id"]
        measures = {d["stats_measure"] for d in request(
            "GET", f"/runs/{session}/stats")["stats_dimensions"]}
        found[f"run {session}"] = {
            "run": request("GET", f"/runs/{session}")["run"],
            "artifacts": request("GET", f"/runs/{session}/artifacts"),
            **{m: request("GET", f"/runs/{session}/stats/{m}") for m in sorted(measures)}}
    return found


def lacking(before, after, where):
    """Members and values of before that after has not."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name, value in before.items():
            if name in CHANGING:
                continue
            if name not in after:
                yield f"{where}.{name} is missing: {value!r}"
            else:
                yield from lacking(value, after[name], f"{where}.{name}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for number, (old, new) in enumerate(zip(before, after)):
            yield from lacking(old, new, f"{where}[{number}]")
    elif before != after:
        yield f"{where} was {before!r}, is {after!r}"


def compare(before):
    found = list(lacking(before, everything(), ""))
    print(*found, sep="\n")
    print(f"{sum(len(v) for v in before.values())} records, {len(found)} differences")
    return not found


def main():
    verb, value = sys.argv[1:]
    if verb == "make":
        make(value)
    elif verb == "save":
        with open(value, "w", encoding="utf-8") as file:
            json.dump(everything(), file)
    else:
        with open(value, encoding="utf-8") as file:
            sys.exit(0 if compare(json.load(file)) else 1)


main()

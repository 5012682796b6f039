"""Generated requests to every operation: never a 5xx, a hang or broken JSON.

The requests are made of docs/reference/openapi.yaml (generate.py), with wrong values at
every level, and contract.py checks each answer: also a status or member that
is not documented is a failure. The same requests each time; for a longer run
with others, and the same ones again:

    OFFHOOK_EXAMPLES=2000 python3 -m pytest tests/e2e/test_properties.py
    OFFHOOK_EXAMPLES=2000 OFFHOOK_SEED=4711 python3 -m pytest tests/e2e/test_properties.py
"""
import base64
import http.client
import os
import random
import re
from urllib.parse import quote, unquote, urlencode

import pytest
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st

from contract import PREFIX, contract
from contract_lab import Lab
from generate import as_form, from_schema, json_bytes, junk, often, texts

EXAMPLES = int(os.environ.get("OFFHOOK_EXAMPLES", 0))
SEED = int(os.environ.get("OFFHOOK_SEED", random.randrange(2**32) if EXAMPLES else 4))
COMMON = {"deadline": None, "database": None, "print_blob": True,
          # a failure is shown as it was found: shrinking it takes minutes
          "phases": [Phase.explicit, Phase.generate],
          "suppress_health_check": list(HealthCheck)}
TIMEOUT_S = 60
# A poll of an agent without work lasts poll_s.
FEW = {"postAgentPoll": 8}
BOUNDARY = "x-boundary"


def runs(operation_id):
    count = EXAMPLES or 25
    return settings(max_examples=min(count, FEW.get(operation_id, count)), **COMMON)


@pytest.fixture(scope="module")
def lab():
    with Lab() as lab:
        lab.client = None
        lab.started(2)
        job = lab.agent.jobs(1)["caller"]
        assert lab.agent.start(job).ok
        lab.lease = job["lease_id"]
        lab.keys = {str(k["id"]) for k in lab.c.api("GET", "/api-keys")["api_keys"]}
        yield lab
        assert "Sanitizer" not in lab.c.log() and "runtime error" not in lab.c.log()


# ---- parts of a request ----

def segment(lab, operation, name):
    """A path parameter: an existing id, an unknown one, or an invalid one."""
    if operation.path.startswith("/agent/leases"):
        known = [lab.lease if name == "id" else "0"]
    else:
        known = ["1", "2", "3", lab.done, lab.project_run, "rtp_mos", "single-call"]
    raw = st.text(st.sampled_from("abc019-._~%!'()*;:@&=+$,"), min_size=1, max_size=20)
    any_text = st.one_of(st.sampled_from(known), texts.map(lambda t: quote(t, safe="")), raw)
    if operation.path.startswith("/api-keys"):
        return any_text.filter(lambda t: unquote(t).lstrip("0") not in lab.keys)
    return any_text


def addresses(lab, operation):
    names = re.findall(r"\{(\w+)\}", operation.path)
    parts = st.fixed_dictionaries({n: segment(lab, operation, n) for n in names})
    return parts.map(lambda p: re.sub(r"\{(\w+)\}", lambda m: p[m.group(1)], operation.path))


def queries(operation):
    documented = [st.tuples(st.just(p["name"]), from_schema(p["schema"]).map(
        lambda v: v if isinstance(v, str) else str(v)))
        for p in operation.spec["parameters"] if p["in"] == "query"]
    known = st.lists(st.one_of(documented), max_size=4) if documented else st.just([])
    return often(known, st.lists(st.tuples(texts, texts), max_size=4)).map(
        lambda q: urlencode(q, errors="replace"))


def header_values():
    plain = st.text(st.characters(min_codepoint=33, max_codepoint=255,
                                  blacklist_categories=("Cc",)), max_size=60)
    return st.one_of(plain, st.sampled_from(['"x"', "*", "W/\"x\", ,", "\t", "a" * 4000]))


def headers(operation):
    documented = [p["name"] for p in operation.spec["parameters"] if p["in"] == "header"]
    names = st.sampled_from(documented + ["If-Match", "If-None-Match", "Idempotency-Key",
                                          "X-Request-Id", "Accept", "Range", "Cookie",
                                          "X-Forwarded-For", "X-HTTP-Method-Override"])
    return st.dictionaries(names, header_values(), max_size=3)


def multipart(members):
    lines = []
    for name, value in members.items():
        name = re.sub(r'["\r\n\\]', "_", name)
        lines.append(f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'
                     f"{value}\r\n")
    return ("".join(lines) + f"--{BOUNDARY}--\r\n").encode()


def upload(content):
    return (f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\n'
            .encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode())


TYPES = {"application/json": json_bytes,
         "application/x-www-form-urlencoded":
             lambda v: urlencode(as_form(v), errors="replace").encode(),
         f"multipart/form-data; boundary={BOUNDARY}": lambda v: multipart(as_form(v))}


def bodies(operation):
    """(media type or None, bytes)"""
    content = operation.spec.get("requestBody", {}).get("content", {})
    if not content:
        return st.just((None, b""))
    if "application/octet-stream" in content:
        return often(st.tuples(st.just("application/octet-stream"), st.binary(max_size=200)),
                     st.tuples(st.sampled_from([*TYPES, "", None]), st.binary(max_size=200)))
    schema = next(iter(content.values()))["schema"]
    sound = st.tuples(st.sampled_from(sorted(TYPES)), often(from_schema(schema))).map(
        lambda p: (p[0], TYPES[p[0]](p[1])))
    types = st.sampled_from([*TYPES, "application/json; charset=latin1", "text/plain",
                             "multipart/form-data", "", None])
    broken = st.tuples(types, st.one_of(st.binary(max_size=200), junk.map(json_bytes),
                                        st.binary(max_size=200).map(upload)))
    return often(sound, broken)


# ---- sending ----

def connection(lab):
    if lab.client is None:
        lab.client = http.client.HTTPConnection(lab.c.url.removeprefix("http://"),
                                                timeout=TIMEOUT_S)
    return lab.client


def send(lab, method, target, extra, data, auth):
    """Send one request without the corrections that requests makes. @return the status"""
    client = connection(lab)
    token = base64.b64encode(":".join(auth).encode()).decode()
    try:
        client.putrequest(method, PREFIX + target, skip_accept_encoding=True)
        client.putheader("Authorization", f"Basic {token}")
        for name, value in extra.items():
            client.putheader(name, value.encode("latin-1", "replace"))
        if data or method in ("POST", "PUT"):
            client.putheader("Content-Length", str(len(data)))
        client.endheaders(data)
        answer = client.getresponse()
        answer.read()  # checked as it arrives: http_watch.py
    except (http.client.HTTPException, OSError):
        lab.client = None
        client.close()
        raise
    if answer.will_close:
        client.close()
    return answer.status


# The agents' operations first: the others may delete the agent, its run and its pool.
OPERATIONS = sorted(contract().operations, key=lambda o: o.spec["x-right"] != "agent")


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.id)
def test_any_request_has_a_sound_answer(lab, operation):
    auth = lab.agent.auth if operation.spec["x-right"] == "agent" else lab.c.keys["admin"]
    leaves = operation.id == "postAgentDisconnect"  # with "leave" the agent is deleted: one for each request
    seen = {}
    print(f"OFFHOOK_SEED={SEED}")

    @seed(SEED)
    @runs(operation.id)
    @given(target=addresses(lab, operation), query=queries(operation),
           extra=headers(operation), body=bodies(operation))
    def check(target, query, extra, body):
        media, data = body
        extra = {**extra, **({"Content-Type": media} if media is not None else {})}
        note(f"{operation.method} {target}?{query} {extra} {data[:2000]!r}")
        status = send(lab, operation.method, target + ("?" + query if query else ""), extra,
                      data, lab.new_agent().auth if leaves else auth)
        assert status < 500
        seen[status] = seen.get(status, 0) + 1

    check()
    print(operation.id, dict(sorted(seen.items())))
    # the credentials were valid, so that more than authentication was tested
    assert not {401, 403, 429} & set(seen) or operation.id == "postAgentRegister", seen
    assert lab.c.process.poll() is None
    if auth != lab.agent.auth:
        lab.stop_all()


def test_controller_is_well_afterwards(lab):
    assert lab.c.api("GET", "/tests?count=1")["status"] == 200
    assert lab.c.request("GET", "/projects?count=1").ok

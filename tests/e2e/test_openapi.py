"""The API description: its own consistency, against the code, and as a page."""
import json
import os
import re

import jsonschema
import pytest
import requests
import yaml
from selenium.webdriver.common.by import By

from browser import chromium, complaints
from contract import Contract, StrictLoader, contract
from controller import ROOT, Controller

ADD = ("docs/reference/openapi.yaml and the route table (control/server/api/routes.c) differ: add the "
       "operation there with its parameters, bodies, answers and an example, and provoke "
       "every status in tests/e2e/test_contract.py; docs/internals/testing.md, The contract, tells how")


@pytest.fixture(scope="module")
def server():
    with Controller() as c:
        yield c


# ---- the document by itself ----

def test_no_key_is_there_twice():
    """PyYAML takes the last of duplicate keys, other parsers refuse the document."""
    assert yaml.load(contract().text, StrictLoader) == contract().raw
    twice = contract().text.replace("\n    Uuid:\n", "\n    Uuid: {type: string}\n    Uuid:\n")
    with pytest.raises(yaml.constructor.ConstructorError, match="there twice: Uuid"):
        yaml.load(twice, StrictLoader)


def test_ids_in_paths_are_numbers_or_uuids():
    number = {"type": "integer", "format": "int64", "minimum": 1, "maximum": 2**63 - 1}
    ids = set()
    for o in contract().operations:
        for p in o.spec["parameters"]:
            if p["in"] != "path":
                continue
            # no path parameter accepts arbitrary text
            assert {"pattern", "enum", "oneOf", "minimum"} & set(p["schema"]), (o.id, p["name"])
            assert contract().validate(p["schema"], p["example"]) is None, (o.id, p["name"])
            if p["name"] in ("id", "sid", "tid", "uuid"):
                for s in p["schema"].get("oneOf", [p["schema"]]):
                    assert s == number or (s["type"], s["format"]) == ("string", "uuid"), o.id
                ids.add((o.path.split("/")[1], p["name"]))
    assert {("runs", "sid"), ("tests", "tid"), ("projects", "uuid"), ("agent", "id")} < ids


def test_references_and_schemas():
    c = Contract()
    assert c.raw["openapi"].startswith("3.1.")
    used = set(re.findall(r"\$ref: '?#/components/([\w-]+/[\w-]+)", c.text))
    defined = {f"{kind}/{name}" for kind, members in c.raw["components"].items()
               for name in members if kind != "securitySchemes"}
    assert used == defined, "unknown or unused components"
    for name, schema in c.raw["components"]["schemas"].items():
        jsonschema.Draft202012Validator.check_schema(
            c.inlined(f"#/components/schemas/{name}"))
        assert schema


def test_operations_are_whole():
    c = Contract()
    everything = c.operations + list(c.root_operations.values())
    ids = [o.id for o in everything]
    assert len(set(ids)) == len(ids)
    tags = {t["name"] for t in c.raw["tags"]}
    for o in everything:
        assert o.spec["summary"] and set(o.spec["tags"]) <= tags, o.id
        named = {p["name"]: p for p in o.spec["parameters"]}
        in_path = [n for n, p in named.items() if p["in"] == "path"]
        assert sorted(in_path) == sorted(re.findall(r"\{(\w+)\}", o.path)), o.id
        assert all(p["required"] for p in named.values() if p["in"] == "path"), o.id
        assert all("example" in p and "schema" in p for p in named.values()), o.id
        assert ("requestBody" in o.spec) == (o.method in ("POST", "PUT")), o.id
        for code, response in o.spec["responses"].items():
            assert response["description"] and "X-Request-Id" in response["headers"]
            media = set(response.get("content", {}))
            assert "schema" in list(response.get("content", {}).values() or [{"schema": 1}])[0]
            if int(code) >= 400:
                assert media == {"application/problem+json"}, (o.id, code)


def closed(schema, path=""):
    """Objects of a schema that allow unknown members."""
    if isinstance(schema, list):
        for i, s in enumerate(schema):
            yield from closed(s, f"{path}/{i}")
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False \
            and not isinstance(schema.get("additionalProperties"), dict):
        yield path
    for key, value in schema.items():
        if key not in ("example", "examples", "const", "enum", "default"):
            yield from closed(value, f"{path}/{key}")


def test_answers_have_no_unknown_members():
    """Otherwise a wrong or forgotten member would pass. The spec of a job is documented
    in wire.md."""
    c = Contract()
    for o in c.operations + list(c.root_operations.values()):
        for code, response in o.spec["responses"].items():
            for content in response.get("content", {}).values():
                found = [p for p in closed(content["schema"]) if not p.endswith("/spec")]
                assert found == [], (o.id, code)


def form_value(schema, value):
    """The value of a form member: text, or JSON according to its schema."""
    if not isinstance(value, str):
        return value
    kinds = schema.get("type", [])
    if "integer" in kinds and "string" not in kinds:
        return int(value)
    return value


def bodies():
    for o in [*contract().operations, *contract().root_operations.values()]:
        for media, content in o.spec.get("requestBody", {}).get("content", {}).items():
            if media == "application/octet-stream":
                continue  # the bytes of a file: any value
            examples = [content["example"]] if "example" in content else \
                [e["value"] for e in content["examples"].values()]
            for i, example in enumerate(examples):
                yield pytest.param(content["schema"], example,
                                   id=f"{o.id}-{media.split('/')[1]}-{i}")


@pytest.mark.parametrize("schema, example", bodies())
def test_example_is_as_its_schema_says(schema, example):
    example = {k: form_value(schema.get("properties", {}).get(k, {}), v)
               for k, v in example.items()}
    assert contract().validate(schema, example) is None


# ---- the document against the code ----

def test_document_is_the_route_table(server):
    """GET / is generated from the routing table, with the same rights."""
    table = {}
    for e in server.api("GET", "/")["endpoints"]:
        assert set(e["methods"]) == set(e["rights"])
        for method in e["methods"]:
            table[(method, e["url"])] = (e["name"], e["rights"][method])
    names = {}
    for o in contract().operations:
        names.setdefault(o.route(), o.spec["x-name"])
    document = {(o.method, o.route()): (names[o.route()], o.spec["x-right"])
                for o in contract().operations}
    missing = sorted(set(table) - set(document))
    gone = sorted(set(document) - set(table))
    assert not missing and not gone, f"{ADD}; missing: {missing}, not routed: {gone}"
    assert table == document, ADD


def test_router_knows_every_operation(server):
    """The router marks the deprecated operations as the document does."""
    for o in contract().operations:
        path = re.sub(r"\{\w+\}", "999999", o.path)
        answer = server.request(o.method, path, key=None)
        wanted = 422 if o.spec["x-right"] == "none" else 401
        assert answer.status_code == wanted, (o.id, answer.text)
        link = answer.headers.get("Link")
        if o.spec.get("deprecated"):
            assert re.fullmatch(r"@\d+", answer.headers["Deprecation"])  # RFC 9745 section 2
            # only a caller with the right gets a link that names a record:
            # test_api_edges.py
            successor = o.spec["x-successor"]
            assert link == (None if "{id}" in successor else
                            f'</api/v2{successor}>; rel="successor-version"')
        else:
            assert "Deprecation" not in answer.headers and link is None, o.id


def test_other_methods_are_refused(server):
    """contract.py compares Allow with the methods of the document."""
    refused = 0
    for path in {o.path for o in contract().operations}:
        there = re.sub(r"\{\w+\}", "999999", path)
        has = contract().find("GET", there)[1]
        for method in {"GET", "POST", "PUT", "DELETE", "PATCH", "BREW"} - has:
            answer = server.request(method, there)
            assert answer.status_code == 405, (method, path)
            refused += 1
        assert server.request("OPTIONS", there).status_code == 204
    assert refused > 150


def test_query_parameters_are_those_of_the_document(server):
    """An unknown parameter is refused, and so is a repeated one that may occur once."""
    refused = 0
    for o in contract().operations:
        if o.spec["x-right"] in ("agent", "none"):
            continue  # agents may send members that we do not know
        path = re.sub(r"\{measure\}", "rtp_mos", re.sub(r"\{(?!measure)\w+\}", "999999", o.path))
        names = {p["name"]: p for p in o.spec["parameters"] if p["in"] == "query"}
        cases = [("x=0", "x")] + [(f"{n}=0", None) for n in names] + \
            [(f"{n}=0&{n}=0", n) for n, p in names.items() if not p.get("explode")]
        for query, wrong in cases:
            answer = server.request(o.method, f"{path}?{query}")
            found = {e["pointer"]: e["detail"] for e in answer.json().get("errors", ())}
            if wrong:
                assert answer.status_code == 422, (o.id, query)
                assert found[wrong] in ("is not known here", "is there twice"), (o.id, query)
                refused += 1
            else:
                assert "is not known here" not in found.values(), f"{ADD}: {o.id} {query}"
    assert refused > 100


def source(path):
    return (ROOT / path).read_text()


def test_enumerations_are_those_of_the_code():
    schemas = Contract().raw["components"]["schemas"]
    assert schemas["State"]["enum"] == re.findall(r"^\tX\((\w+)\)", source("base/state.h"), re.M)
    assert schemas["Measure"]["enum"] == re.findall(
        r"^\tX\((\w+), ", source("control/wire/measure.h"), re.M)
    assert sorted(schemas["ClientAction"]["prefixItems"][0]["enum"]) == sorted(re.findall(
        r'\{"(\w+)",\s+ARGUMENT_', source("control/wire/client_actions.c"), re.M))


@pytest.fixture(scope="module")
def described(server):
    return server.api("GET", "/descriptions")["descriptions"]


def test_parameters_of_actions_are_those_of_the_code(described):
    schemas = Contract().raw["components"]["schemas"]
    actions = {a["key"]: {p["key"] for p in a["parameters"]} for a in described["actions"]}
    documented = {
        s["properties"]["type"]["const"]: set(s["properties"]) - {"type", "role"}
        for name, s in schemas.items()
        if re.fullmatch(r"Action[A-Z][a-z]+", name) and name != "ActionDescription"}
    assert documented == actions
    overridable = {re.search(r"\.(\w+)\$$", key).group(1)
                   for key in schemas["RunStart"]["patternProperties"] if "step" in key}
    assert overridable == set().union(*actions.values())


def test_script_actions_are_those_of_the_document(described):
    told = Contract().raw["components"]["schemas"]["ClientAction"]["prefixItems"][0]["enum"]
    assert sorted(a["key"] for a in described["script_actions"]) == sorted(told)
    assert all(a["word"] and a["help"] for a in described["script_actions"])


def choices_of(schema):
    """The words of an enumeration; numbers are written as texts as well."""
    for s in schema.get("oneOf", [schema]):
        found = s.get("enum") or s.get("items", {}).get("enum")
        if found and True not in found:
            return {str(v) for v in found if v not in (None, "", "L16")}
    return None


def test_ranges_and_choices_of_parameters_are_those_of_the_document(described):
    """test_ranges_are_those_that_are_checked holds them against the decoder."""
    compared = 0
    for action in described["actions"]:
        schema = contract().inlined(f"#/components/schemas/Action{action['key'].capitalize()}")
        for p in action["parameters"]:
            told = schema["properties"][p["key"]]
            where = (action["key"], p["key"])
            assert choices_of(told) == (set(p["choices"]) if "choices" in p else None), where
            if p["type"] in ("integer", "number") and "records" not in p and "choices" not in p:
                assert (p["min"], p["max"]) == (told["minimum"], told["maximum"]), where
                compared += 1
            if p["default"] not in (None, []):
                assert told.get("default", p["default"]) == p["default"], where
            assert ("records" in p) == (p["key"].endswith("_pool") or "prompt" in p["key"]), where
    assert compared > 20


def test_ranges_are_those_that_are_checked(described, server):
    """A value at the end of its range is accepted, the next one is refused at its field."""
    fixed = {"answer_code", "session_timer", "local_port", "challenge_nonce_uses", "challenge_stale",
             "sipp_port"}
    for action in described["actions"]:
        for p in action["parameters"]:
            if "max" not in p or p["key"] in fixed:
                continue
            for value, good in ((p["min"], True), (p["max"], True), (p["max"] + 1, False)):
                value = value if p["type"] == "number" else int(value)
                body = {"name": "x", "project_id": 1, "agentpool_id": 1, "steps": [[
                    {"type": action["key"], "role": "caller", p["key"]: value}]]}
                answer = server.request("POST", "/tests", body)
                wrong = [e["pointer"] for e in answer.json()["errors"]]
                assert (f"/steps/0/0/{p['key']}" not in wrong) == good, (action["key"], p, value)


def test_condition_types_are_those_of_the_code(described):
    types = {c["key"]: {f["key"] for f in c["fields"]} for c in described["conditions"]}
    types["transcription-conditions"] = set()  # accepted with an empty array only
    assert len(types) >= 11
    documented = {}
    for s in contract().inlined("#/components/schemas/ConditionSet")["oneOf"]:
        pattern = s["properties"]["condition_type"]["pattern"]
        suffix = re.fullmatch(r"\^\[A-Za-z0-9_\]\+-([\w-]+)\$", pattern).group(1)
        items = s["properties"]["conditions"].get("items", {})
        documented[suffix] = set(items.get("properties", {}))
    assert documented == types
    for name in ("RunStart", "RunStartByName"):
        keys = Contract().raw["components"]["schemas"][name]["patternProperties"]
        assert {re.search(r"\+-([\w-]+)\$$", k).group(1) for k in keys if "condition" in k} == \
            set(types), name


def first_entry(fields):
    """An entry with the first choice and the lowest number of each member."""
    entry = {}
    for f in fields:
        if f.get("only") and entry.get(f["only"]["key"]) not in f["only"]["choices"]:
            continue
        if "choices" in f:
            entry[f["key"]] = f["choices"][0]["key"]
        elif "range" in f or entry.get(f.get("range_by")) in f.get("ranges", ()):
            entry[f["key"]] = str((f.get("range") or f["ranges"][entry[f["range_by"]]])["min"])
        elif f["required"]:
            entry[f["key"]] = "1"
    return entry


def test_a_condition_made_of_its_description_is_accepted(described, server):
    """And every choice of every member; one that is not described is refused."""
    sets = []
    for c in described["conditions"]:
        entries = [first_entry(c["fields"])]
        for f in c["fields"]:
            entries += [first_entry([{**g, "choices": [choice]} if g is f else g for g in c["fields"]])
                        for choice in f.get("choices", ())]
        if c["key"] == "audio-conditions":  # these are of received audio only
            entries = [{**e, "direction": "in"} for e in entries]
        sets.append({"role": "caller", "condition_type": f"caller-{c['key']}", "conditions": entries,
                     "options": [o["key"] for o in c["options"]]})
    for one in sets:
        for n in range(0, len(one["conditions"]), 100):
            body = {"name": "x", "conditions": [{**one, "conditions": one["conditions"][n:n + 100]}]}
            wrong = server.request("POST", "/tests", body).json()["errors"]
            assert not [e for e in wrong if e["pointer"].startswith("/conditions")], (one, wrong)
        body["conditions"][0]["conditions"] = [{**one["conditions"][0], "type": "nonsense"}]
        wrong = server.request("POST", "/tests", body).json()["errors"]
        assert "/conditions/0/conditions/0/type" in [e["pointer"] for e in wrong], one


# ---- what the controller serves ----

def test_document_is_served(server):
    answer = requests.get(server.url + "/apidocs/openapi.yaml", timeout=60)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/yaml"
    assert answer.text == contract().text
    answer = requests.get(server.url + "/apidocs/openapi.json", timeout=60)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert json.loads(answer.content) == contract().raw


@pytest.mark.skipif(not os.path.exists("/proc/self"), reason="Chromium needs /proc")
def test_page_in_a_browser(server):
    with chromium() as browser:
        browser.get(server.url + "/apidocs")
        shown = browser.find_elements(By.CSS_SELECTOR, "details:not(.schema)")
        assert {d.get_attribute("id") for d in shown} == \
            {o.id for o in [*contract().operations, *contract().root_operations.values()]}
        runs = browser.find_element(By.ID, "getRuns")
        assert not runs.find_element(By.TAG_NAME, "table").is_displayed()
        runs.find_element(By.TAG_NAME, "summary").click()
        assert "filtername" in runs.text and "has_passed" in \
            browser.find_element(By.ID, "schema-RunColumn").get_attribute("textContent")
        # its style sheet was loaded, and every link has a target
        width = browser.find_element(By.TAG_NAME, "main").value_of_css_property("max-width")
        assert width != "none"
        lost = browser.execute_script(
            "return [...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.hash.slice(1))"
            ".filter(id => !document.getElementById(id))")
        assert lost == []
        assert browser.find_elements(By.TAG_NAME, "script") == []
        assert complaints(browser) == []

#!/usr/bin/python3
"""Write the JSON schema of `offhook apply`'s files from the description of the API:
yaml-schema.py OPENAPI > docs/reference/offhook.schema.json"""
import copy
import json
import sys

import yaml

NAME = {"type": "string", "minLength": 1, "maxLength": 200}
SECRET = {
    "type": "object", "additionalProperties": False, "minProperties": 1, "maxProperties": 1,
    "description": "a secret stands outside of the file: in a variable of the environment, or on the "
                   "first line of a file",
    "properties": {"env": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
                   "file": {"type": "string", "minLength": 1}}}
PARAMS = {"ParamCredentialPool": "credential pool", "ParamTargetPool": "target",
          "ParamChallengePool": "credential pool", "ParamTurnCredentialPool": "credential pool"}
KINDS = {"projects": "ProjectInput", "targets": "TargetInput",
         "credential_pools": "CredentialPoolInput", "agent_pools": "AgentPoolInput",
         "callback_templates": "CallbackTemplateInput", "appimages": "AppimageFile",
         "tests": "TestInput", "schedules": "ScheduleInput"}


def named(of):
    return {**NAME, "description": f"name of {'an' if of[0] in 'aeiou' else 'a'} {of}"}


def rename(schema, old, new, value):
    """Replace a property, in its place."""
    schema["properties"] = {
        (new if key == old else key): (value if key == old else schema["properties"][key])
        for key in schema["properties"]}
    schema["required"] = [new if key == old else key for key in schema["required"]]


def changed(schemas):
    for name, of in PARAMS.items():
        schemas[name] = named(of)
    schemas["Secret"] = SECRET
    schemas["Tags"] = {"type": ["array", "null"], "items": {"type": "string"}, "maxItems": 64}
    schemas["FlagInput"] = {"type": ["boolean", "null"]}
    test, schedule = schemas["TestInput"], schemas["ScheduleInput"]
    rename(test, "project_id", "project", named("project"))
    rename(test, "agentpool_id", "agent_pool", named("agent pool"))
    rename(test, "callback_template_name", "callback_template", named("callback template"))
    rename(test, "callback_secret", "callback_secret", {"$ref": "#/components/schemas/Secret"})
    del test["properties"]["has_callback_secret"]
    for flag in ("callback_on_failure", "callback_on_recovery"):
        rename(test, flag, flag, {"type": ["boolean", "null"], "default": False})
    schedule["description"] = "exactly one of `test` and `project`, and of `cron` and `run_at`"
    rename(schedule, "test_id", "test", named("test"))
    rename(schedule, "project_id", "project", named("project"))
    rename(schedule, "test_ids", "tests", {
        "type": ["array", "null"], "items": named("test"), "maxItems": 10000,
        "description": "tests of the project; without it all"})
    rename(schedule, "enabled", "enabled", {"type": ["boolean", "null"], "default": True})
    tls = schemas["TargetTlsInput"]
    tls.setdefault("required", [])
    rename(tls, "verify", "verify", {"type": ["boolean", "null"], "default": True})
    schemas["CredentialPoolInput"]["properties"].pop("csv")
    credential = schemas["CredentialInput"]
    credential["properties"].pop("has_password")
    rename(credential, "password", "password", {"$ref": "#/components/schemas/Secret"})
    inline = schemas["AppimageInline"]["properties"]
    schemas["AppimageFile"] = {
        "type": "object", "additionalProperties": False, "required": ["name", "file"],
        "properties": {
            **{key: inline[key] for key in ("name", "version", "kind", "media_type")},
            "file": {"type": "string", "minLength": 1,
                     "description": "its content; a path from the folder of this file"}}}


def collect(value, schemas, found):
    """Copy a schema and those it refers to, with references as in JSON Schema."""
    if isinstance(value, list):
        return [collect(v, schemas, found) for v in value]
    if not isinstance(value, dict):
        return value
    out = {}
    for key, v in value.items():
        if key in ("discriminator", "writeOnly", "example"):
            continue
        if key == "$ref":
            name = v.rsplit("/", 1)[1]
            if name not in found:
                found[name] = None
                found[name] = collect(schemas[name], schemas, found)
            v = "#/$defs/" + name
        out[key] = collect(v, schemas, found) if key != "$ref" else v
    return out


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        schemas = copy.deepcopy(yaml.safe_load(f)["components"]["schemas"])
    changed(schemas)
    found = {}
    properties = {kind: {"type": "array", "items": collect(
        {"$ref": "#/components/schemas/" + name}, schemas, found)} for kind, name in KINDS.items()}
    json.dump({"$schema": "https://json-schema.org/draft/2020-12/schema",
               "title": "Records of Offhook, for offhook apply", "type": "object",
               "additionalProperties": False, "properties": properties, "$defs": found},
              sys.stdout, indent=1, ensure_ascii=False)
    sys.stdout.write("\n")


main()

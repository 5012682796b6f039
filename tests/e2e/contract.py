"""The API against its description: every exchange with /api/v2 is checked.

install() hooks the requests library. Every exchange is checked against
docs/reference/openapi.yaml where it happens: the status and the headers are documented,
the body has the documented shape, and a request that the controller accepted is
documented, too: its query, its body and its content type. Anything else is an
AssertionError in the test that sent it. Other clients are checked by witness.py, or by
the test that starts them.
"""
import copy
import email
import json
import os
import re
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import jsonschema
import requests
import yaml

# OFFHOOK_OPENAPI: another document, for the test of this check
DOCUMENT = Path(os.environ.get(
    "OFFHOOK_OPENAPI", Path(__file__).resolve().parents[2] / "docs" / "reference" / "openapi.yaml"))
PREFIX = "/api/v2"
METHODS = ("get", "put", "post", "delete")

# Headers of every HTTP message; all others must be documented.
TRANSPORT_HEADERS = {"date", "connection", "keep-alive", "content-length", "content-type",
                     "transfer-encoding", "cache-control", "x-content-type-options",
                     "strict-transport-security"}


class StrictLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """Refuses a mapping with a duplicate key (YAML 1.2.2 section 3.2.1.3), of which
    PyYAML would take the last one."""


def construct_mapping(loader, node):
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
    twice = sorted({str(key) for key in keys if keys.count(key) > 1})
    if twice:
        raise yaml.constructor.ConstructorError(
            None, None, f"there twice: {', '.join(twice)}", node.start_mark)
    return loader.construct_mapping(node, deep=True)


StrictLoader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, construct_mapping)


# The X-Request-Id of every response that was checked.
CHECKED = set()


class Operation:
    def __init__(self, method, path, spec):
        self.method, self.path, self.spec = method.upper(), path, spec
        self.id = spec["operationId"]
        self.parts = [p for p in path.split("/") if p]
        self.codes = sorted(int(code) for code in spec["responses"])

    def fixed(self, parts):
        """Number of literal parts of the path; -1: the path does not match."""
        if len(parts) != len(self.parts):
            return -1
        same = [own == given for own, given in zip(self.parts, parts)]
        if all(s or own.startswith("{") for s, own in zip(same, self.parts)):
            return sum(same)
        return -1

    def route(self):
        """The path in the form of the route table."""
        return re.sub(r"\{(\w+)\}", r":\1", self.path)


class Contract:
    """The document with all references resolved."""

    def __init__(self, raw=None):
        self.text = DOCUMENT.read_text()
        self.raw = raw or yaml.load(self.text, StrictLoader)
        self.document = self._inline(self.raw["paths"], ())
        everything = [(Operation(m, path, item[m]), "servers" in item)
                      for path, item in self.document.items()
                      for m in METHODS if m in item]
        self.operations = [o for o, root in everything if not root]
        # not below PREFIX but below the root, like the pages
        self.root_operations = {(o.method, o.path): o for o, root in everything if root}
        self.seen = {}          # (operationId, status) -> count
        self.broken = []        # messages, for exchanges in other threads
        self._validators = {}

    def _inline(self, node, above):
        if isinstance(node, list):
            return [self._inline(n, above) for n in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            ref = node["$ref"]
            assert ref not in above, f"{ref} refers to itself"
            target = self.raw
            for part in ref.removeprefix("#/").split("/"):
                target = target[part]
            found = self._inline(target, above + (ref,))
            more = {k: self._inline(v, above) for k, v in node.items() if k != "$ref"}
            return {**copy.deepcopy(found), **more} if more else found
        return {k: self._inline(v, above) for k, v in node.items()}

    def inlined(self, ref):
        return self._inline({"$ref": ref}, ())

    def find(self, method, path):
        """(operation or None, methods that the path has) of a path below PREFIX."""
        parts = path.removesuffix("/").split("/")[1:] if path not in ("", "/") else []
        parts = [unquote(p) for p in parts]
        fitting = [(o.fixed(parts), o) for o in self.operations]
        fitting = [(n, o) for n, o in fitting if n >= 0]
        best = [o for n, o in sorted(fitting, key=lambda f: -f[0]) if o.method == method]
        return (best[0] if best else None), {o.method for _, o in fitting}

    def validate(self, schema, value):
        """@return None, or what is wrong with the value"""
        validator = self._validators.get(id(schema))
        if not validator:
            validator = jsonschema.Draft202012Validator(schema)
            self._validators[id(schema)] = validator
        error = jsonschema.exceptions.best_match(validator.iter_errors(value))
        return error and f"{error.json_path}: {error.message}"[:1500]

    def covers(self, method, path):
        """Whether an exchange must be documented."""
        return path == PREFIX or path.startswith(PREFIX + "/") or \
            (method, path) in self.root_operations

    # ---- one exchange ----

    def check(self, method, url, status, headers, content, request_body=None,
              request_type=""):
        """@return None, or a sentence that names what is not documented"""
        path = urlsplit(url).path
        operation, methods = self.root_operations.get((method, path)), {method}
        if operation is None:
            operation, methods = self.find("GET" if method == "HEAD" else method,
                                           path[len(PREFIX):])
        headers = {k.lower(): v for k, v in headers.items()}
        if "x-request-id" not in headers:
            return "the answer has no X-Request-Id"
        CHECKED.add(headers["x-request-id"])
        if operation is None:
            return self._check_unrouted(method, methods, status, headers, content)
        if method != "HEAD":
            key = (operation.id, status)
            self.seen[key] = self.seen.get(key, 0) + 1
        response = operation.spec["responses"].get(str(status))
        if response is None:
            return (f"{operation.id} answered {status}, which docs/reference/openapi.yaml does not "
                    f"have: {content[:300]!r}")
        wrong = self._check_headers(response, headers) or \
            (None if method == "HEAD" else self._check_body(response, status, headers, content))
        if not wrong and 200 <= status < 300:
            wrong = self._check_path(operation, path) or \
                self._check_query(operation, urlsplit(url).query)
        if not wrong and 200 <= status < 300 and request_body:
            wrong = self._check_request(operation, request_type, request_body)
        return wrong and f"{operation.id}, {status}: {wrong}"

    def _check_unrouted(self, method, methods, status, headers, content):
        allowed = methods | ({"HEAD"} if "GET" in methods else set())
        if method == "OPTIONS" and methods and status == 204:
            allowed |= {"OPTIONS"}
        elif status not in ({400, 405} if methods else {400, 404}):
            return (f"{method} answered {status}, but docs/reference/openapi.yaml has no such operation; "
                    "add it to `paths` there; docs/internals/testing.md, The contract, tells how")
        if status in (204, 405) and set(headers["allow"].split(", ")) != allowed:
            return f"Allow is {headers['allow']!r}, docs/reference/openapi.yaml has {sorted(allowed)}"
        if status == 204 or method == "HEAD":
            return None
        if headers.get("content-type") != "application/problem+json":
            return f"an error of type {headers.get('content-type')}"
        return self.validate(self.problem, json.loads(content))

    @property
    def problem(self):
        if "problem" not in self.__dict__:
            self.__dict__["problem"] = self.inlined("#/components/schemas/Problem")
        return self.__dict__["problem"]

    def _check_headers(self, response, headers):
        documented = {k.lower(): v for k, v in response.get("headers", {}).items()}
        for name, header in documented.items():
            if name not in headers:
                if header.get("required"):
                    return f"the header {name} is missing"
                continue
            wrong = self.validate(header["schema"], headers[name])
            if wrong:
                return f"header {name}: {wrong}"
        extra = set(headers) - set(documented) - TRANSPORT_HEADERS
        return f"headers that are not documented: {sorted(extra)}" if extra else None

    def _check_body(self, response, status, headers, content):
        documented = response.get("content")
        if not documented:
            return f"has a body: {content[:200]!r}" if content else None
        media = headers.get("content-type", "")
        if media not in documented:
            return f"Content-Type {media!r}, documented are {sorted(documented)}"
        if not media.endswith("json") or not documented[media]["schema"]:
            return None   # an artifact or upload
        try:
            value = json.loads(content, object_pairs_hook=unique_members)
        except ValueError as error:
            return f"broken JSON: {error}: {content[:200]!r}"
        if value.get("status") != status:
            return f"the member status is {value.get('status')!r}"
        return self.validate(documented[media]["schema"], value)

    def _check_path(self, operation, path):
        """Compare the path parameters of a request that succeeded."""
        if (operation.method, path) in self.root_operations:
            return None
        given = [unquote(p) for p in path[len(PREFIX):].removesuffix("/").split("/")[1:]]
        schemas = {p["name"]: p["schema"] for p in operation.spec["parameters"]
                   if p["in"] == "path"}
        for own, text in zip(operation.parts, given):
            if not own.startswith("{"):
                continue
            value = int(text) if re.fullmatch("[0-9]+", text) and \
                self.validate(schemas[own[1:-1]], text) else text
            wrong = self.validate(schemas[own[1:-1]], value)
            if wrong:
                return f"{text!r} was found as {own} of the path: {wrong}"
        return None

    def _check_query(self, operation, query):
        """Accepted members must be documented. Agents may send others, which are ignored."""
        if operation.spec["x-right"] in ("agent", "none"):
            return None
        documented = {p["name"]: p for p in operation.spec["parameters"] if p["in"] == "query"}
        for name, text in parse_qsl(query, keep_blank_values=True):
            if name not in documented:
                return f"the query parameter {name} was accepted and is not documented"
            schema = documented[name]["schema"]
            schema = schema.get("items", schema)
            wrong = self.validate(schema, from_text(self, schema, text))
            if wrong:
                return f"the query parameter {name} was accepted and is wrong: {wrong}"
        return None

    def _check_request(self, operation, request_type, body):
        body = body.encode() if isinstance(body, str) else body
        documented = operation.spec.get("requestBody", {}).get("content", {})
        media = request_type.split(";")[0].strip().lower()
        if media not in documented:
            return f"a body of type {media!r} was accepted and is not documented"
        schema = documented[media]["schema"]
        if media == "application/json":
            value = json.loads(body)
        elif media == "application/x-www-form-urlencoded":
            value = form_object(self, schema, parse_qsl(body.decode(), keep_blank_values=True))
        elif media == "multipart/form-data":
            value = form_object(self, schema,
                                multipart_fields(schema, request_type, body))
        else:
            return None
        wrong = self.validate(schema, value)
        return wrong and f"was accepted and is not documented: {wrong}"


def from_text(documents, schema, text):
    """The value of a text in a form or query: the text, or JSON."""
    if documents.validate(schema, text) is None:
        return text
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if documents.validate(schema, value) is None else text


def form_object(documents, schema, fields):
    """The object of a form.

    An empty text that is not a valid value means that the field is absent."""
    value = {}
    for name, text in fields:
        own = schema.get("properties", {}).get(name)
        for pattern, found in schema.get("patternProperties", {}).items():
            own = own or (found if re.search(pattern, name) else None)
        value[name] = from_text(documents, own, text) if own else text
        if text == "" and own and documents.validate(own, "") and \
                name not in schema.get("required", ()):
            del value[name]
    return value


def multipart_fields(schema, request_type, body):
    """(name, text) of each part. A file part may have any name."""
    message = email.message_from_bytes(
        b"Content-Type: " + request_type.encode() + b"\r\n\r\n" + body)
    for part in message.get_payload():
        name = part.get_param("name", header="content-disposition")
        if part.get_filename() is not None and "file" in schema.get("properties", {}):
            yield "file", "its bytes"
            continue
        yield name, part.get_payload(decode=True).decode("utf-8", "replace")


def unique_members(pairs):
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member is there twice")
    return members


CONTRACT = None


def contract():
    """The document, read once."""
    global CONTRACT
    if CONTRACT is None:
        CONTRACT = Contract()
    return CONTRACT


def check_response(response):
    """Check a response of requests; raises AssertionError."""
    request = response.request
    parts = urlsplit(request.url)
    if not contract().covers(request.method, parts.path):
        return
    body = request.body if isinstance(request.body, (bytes, str)) else None
    wrong = contract().check(request.method, request.url, response.status_code,
                             response.headers, response.content, body,
                             request.headers.get("Content-Type", ""))
    if wrong:
        wrong = f"{request.method} {parts.path}: {wrong}"
        contract().broken.append(wrong)
        raise AssertionError(wrong)


def install():
    """Check every exchange of requests from now on."""
    original = requests.Session.send
    if getattr(original, "checked", False):
        return

    def send(self, request, **kwargs):
        response = original(self, request, **kwargs)
        check_response(response)
        return response

    send.checked = True
    requests.Session.send = send

"""Hypothesis strategies derived from the schemas of docs/reference/openapi.yaml."""
import json

from hypothesis import strategies as st

# Texts that often break parsers, queries, logs, headers and paths.
NASTY = ["", " ", "0", "-1", "1", "999999", "18446744073709551616", "1e309", "null", "true",
         "'; DROP TABLE run; --", "1 OR 1=1", "\" OR \"\"=\"", "%", "_", "%00", "\0", "a\r\nX: y",
         "../../etc/passwd", "..", ".", "/", "\\", "{{n}}", "{{", "${x}", "\ufeff", "\u202e",
         "\U0001f600" * 20, "é" * 300, "a" * 5000, "[", "{\"a\":", "[[[[]]]]", "\x7f", "*", "~1"]

texts = st.one_of(st.sampled_from(NASTY), st.text(max_size=40))
numbers = st.one_of(st.integers(), st.integers(0, 5), st.floats(),
                    st.sampled_from([2**31, 2**63 - 1, 2**63, -2**63, 2**64, 10**30]))
junk = st.recursive(
    st.one_of(st.none(), st.booleans(), numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=4),
                            st.dictionaries(texts, inner, max_size=4)), max_leaves=8)


def often(good, bad=junk):
    """Mostly valid values, so that the rest of an object is parsed as well.

    It is not a one_of() that lists the valid strategy several times: nested, its
    description would grow exponentially."""
    return st.integers(0, 7).flatmap(lambda n: good if n else bad)


def from_schema(schema):
    """Values of the schema, some of them invalid, at every level."""
    return often(exactly(schema))


def exactly(schema):
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "oneOf" in schema:
        return st.one_of([from_schema(s) for s in schema["oneOf"]])
    kinds = schema.get("type", ["null", "boolean", "integer", "string", "array", "object"])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return st.one_of([KINDS[k](schema) for k in kinds])


def text_of(schema):
    if "pattern" in schema and schema.get("maxLength", 0) <= 200:
        return st.one_of(st.from_regex(schema["pattern"], fullmatch=True), texts)
    return st.text(min_size=schema.get("minLength", 0),
                   max_size=min(schema.get("maxLength", 30), 300))


def array_of(schema):
    if "prefixItems" in schema:
        parts = [from_schema(s) for s in schema["prefixItems"]]
        least = schema.get("minItems", 0)
        return st.one_of([st.tuples(*parts[:n]).map(list)
                          for n in range(least, len(parts) + 1)])
    return st.lists(from_schema(schema.get("items", {"type": "string"})),
                    min_size=min(schema.get("minItems", 0), 3), max_size=3)


def object_of(schema):
    members = {k: from_schema(s) for k, s in schema.get("properties", {}).items()}
    needed = {k: members.pop(k) for k in schema.get("required", ()) if k in members}
    fixed = st.fixed_dictionaries(needed, optional=members)
    patterns = [st.tuples(st.from_regex(p, fullmatch=True), from_schema(s))
                for p, s in schema.get("patternProperties", {}).items()]
    if patterns:
        more = st.lists(st.one_of(patterns), max_size=3).map(dict)
        fixed = st.builds(lambda a, b: {**a, **b}, fixed, more)
    unknown = st.dictionaries(texts, junk, min_size=1, max_size=2)
    return often(fixed, st.builds(lambda a, b: {**a, **b}, fixed, unknown))


KINDS = {
    "null": lambda s: st.none(),
    "boolean": lambda s: st.booleans(),
    "integer": lambda s: st.integers(s.get("minimum", 0), s.get("maximum", 10**6)),
    "number": lambda s: st.floats(s.get("minimum", 0), s.get("maximum", 1e6)),
    "string": text_of,
    "array": array_of,
    "object": object_of,
}


def as_form(value):
    """The fields of a form for a JSON object."""
    if not isinstance(value, dict):
        return {"x": json.dumps(value)}
    return {k: v if isinstance(v, str) else json.dumps(v) for k, v in value.items()}


def json_bytes(value):
    return json.dumps(value).encode()

#!/usr/bin/python3
"""Write the page about the API and its JSON form: apidocs.py OPENAPI HTML JSON.

The page is plain HTML without scripts: parameters and responses of an operation fold open.
"""
import html
import json
import sys

try:
    import yaml
except ImportError:
    sys.exit("apidocs.py: install the Debian package python3-yaml")

METHODS = ("get", "post", "put", "delete")


class UniqueKeyLoader(yaml.SafeLoader):
    """Refuses a mapping with a duplicate key (YAML 1.2.2 section 3.2.1.3)."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} is there twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


class Page:
    def __init__(self, document):
        self.document = document
        self.out = []

    def put(self, text):
        self.out.append(text)

    def named(self, node):
        """Resolve a node. @return (the node or what its $ref names, that name or None)"""
        if "$ref" not in node:
            return node, None
        found = self.document
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        return found, node["$ref"].rsplit("/", 1)[1]

    def type_of(self, schema):
        """A schema in one line of HTML."""
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            return f'<a href="#schema-{name}">{name}</a>'
        if "const" in schema:
            return f"<code>{text(json.dumps(schema['const']))}</code>"
        if "enum" in schema:
            return " | ".join(f"<code>{text(json.dumps(v))}</code>" for v in schema["enum"])
        if "oneOf" in schema:
            return " or ".join(self.type_of(s) for s in schema["oneOf"])
        kinds = schema.get("type", "any")
        kinds = " or ".join(kinds) if isinstance(kinds, list) else kinds
        if kinds.startswith("array") and "items" in schema:
            kinds += " of " + self.type_of(schema["items"])
        limits = [f"{word} {schema[key]}" for key, word in (
            ("minimum", "from"), ("maximum", "to"), ("minLength", "at least"),
            ("maxLength", "at most"), ("minItems", "at least"), ("maxItems", "at most"))
            if key in schema]
        if "pattern" in schema:
            limits.append(f"<code>{text(schema['pattern'])}</code>")
        if "default" in schema:
            limits.append(f"default {text(json.dumps(schema['default']))}")
        return kinds + (", " + ", ".join(limits) if limits else "")

    def table(self, caption):
        self.put(f'<table><caption class="sr">{text(caption)}</caption>')

    def rows(self, caption, members, required=()):
        self.table(caption)
        for name, schema in members:
            mark = " <b>*</b>" if name in required else ""
            self.put(f"<tr><th scope=\"row\"><code>{text(name)}</code>{mark}</th><td>{self.type_of(schema)}"
                     f"</td><td>{prose(schema.get('description', ''))}</td></tr>")
        self.put("</table>")

    def members(self, name, schema):
        """The members of an object; the line of HTML for any other type."""
        if schema.get("type") == "object":
            members = list(schema.get("properties", {}).items()) + \
                list(schema.get("patternProperties", {}).items())
            self.rows(f"Members of {name}", members, schema.get("required", ()))
        else:
            self.put(f"<p>{self.type_of(schema)}</p>")

    def parameters(self, operation, nodes):
        self.put("<h3>Parameters</h3>")
        self.table(f"Parameters of {operation}")
        for node in nodes:
            p, _ = self.named(node)
            mark = " <b>*</b>" if p.get("required") else ""
            self.put(f"<tr><th scope=\"row\"><code>{text(p['name'])}</code>{mark}</th><td>{p['in']}</td>"
                     f"<td>{self.type_of(p['schema'])}</td>"
                     f"<td>{prose(p.get('description', ''))}</td></tr>")
        self.put("</table>")

    def body(self, node):
        body, _ = self.named(node)
        self.put("<h3>Body</h3>")
        for media, content in body["content"].items():
            self.put(f"<p><code>{media}</code>: {self.type_of(content['schema'])}</p>")
            examples = [content["example"]] if "example" in content else \
                [e["value"] for e in content.get("examples", {}).values()]
            for example in examples:
                self.put(f"<pre>{text(json.dumps(example, indent=1, ensure_ascii=False))}</pre>")

    def responses(self, operation, responses):
        self.put("<h3>Answers</h3>")
        self.table(f"Answers of {operation}")
        for code, node in responses.items():
            response, _ = self.named(node)
            shapes = [self.type_of(c["schema"]) if "$ref" in c["schema"] or
                      "properties" not in c["schema"] else
                      "{" + ", ".join(f"{text(n)}: {self.type_of(s)}" for n, s in
                                      c["schema"]["properties"].items()) + "}"
                      for c in response.get("content", {}).values()]
            names = ", ".join(response.get("headers", {}))
            self.put(f"<tr><th scope=\"row\">{code}</th><td>{prose(response['description'])}</td>"
                     f"<td>{' '.join(shapes)}</td><td>{names}</td></tr>")
        self.put("</table>")

    def operation(self, method, path, o):
        old = ' class="old"' if o.get("deprecated") else ""
        self.put(f'<details id="{o["operationId"]}"{old}><summary><b class="{method}">'
                 f'{method.upper()}</b> <code>{text(path)}</code> {prose(o["summary"])} '
                 f'<small>{o["x-right"]}</small></summary>')
        if o.get("deprecated"):
            self.put(f"<p>Deprecated: use <code>{text(o['x-successor'])}</code>.</p>")
        self.put(f"<p>{prose(o.get('description', ''))}</p>")
        if o.get("parameters"):
            self.parameters(o["operationId"], o["parameters"])
        if "requestBody" in o:
            self.body(o["requestBody"])
        self.responses(o["operationId"], o["responses"])
        self.put("</details>")

    def write(self):
        d = self.document
        self.put('<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
                 '<meta name="viewport" content="width=device-width">'
                 f"<title>{text(d['info']['title'])}</title>"
                 '<link rel="icon" href="/static/favicon.svg" type="image/svg+xml">'
                 '<link rel="stylesheet" href="/static/offhook.css">'
                 '<link rel="stylesheet" href="/static/apidocs.css"></head><body>'
                 '<a class="skip" href="#main">Skip to content</a>'
                 '<header class="top"><a class="brand" href="/"><img src="/static/favicon.svg" '
                 'alt="">Offhook</a></header><main class="page" id="main" tabindex="-1">')
        self.put(f"<h1>{text(d['info']['title'])} {text(d['info']['version'])}</h1>")
        for paragraph in d["info"]["description"].strip().split("\n\n"):
            self.put(f"<p>{prose(paragraph)}</p>")
        self.put('<p>The document itself: <a href="/apidocs/openapi.yaml">openapi.yaml</a>, '
                 '<a href="/apidocs/openapi.json">openapi.json</a>.'
                 f" All paths are below <code>{d['servers'][0]['url']}</code>, but those of "
                 "“Signing in”: they are below the root.</p>")
        for tag in d["tags"]:
            self.put(f"<h2>{text(tag['name'])}</h2>")
            for path, item in d["paths"].items():
                for method in METHODS:
                    if method in item and tag["name"] in item[method]["tags"]:
                        self.operation(method, root(item) + path, item[method])
        self.put("<h2>Schemas</h2>")
        for name, schema in d["components"]["schemas"].items():
            self.put(f'<details id="schema-{name}" class="schema"><summary><code>{name}</code>'
                     f"</summary><p>{prose(schema.get('description', ''))}</p>")
            self.members(name, schema)
            self.put("</details>")
        self.put("</main></body></html>\n")
        return "\n".join(self.out)


def root(item):
    """The prefix of a path that is not below the common address."""
    return item["servers"][0]["url"].rstrip("/") if "servers" in item else ""


def text(value):
    return html.escape(str(value))


def prose(value):
    """Text as HTML, with `words` as code."""
    parts = html.escape(value).split("`")
    return "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(parts))


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        document = yaml.load(f, UniqueKeyLoader)
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        f.write(Page(document).write())
    with open(sys.argv[3], "w", encoding="utf-8") as f:
        json.dump(document, f, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


main()

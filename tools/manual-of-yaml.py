#!/usr/bin/python3
"""Write the manual page of the files of offhook apply: manual-of-yaml.py PAGE SCHEMA OUT.

PAGE is docs/reference/yaml.md: what it tells becomes the sections of the manual. SCHEMA is
docs/reference/offhook.schema.json: the members of each record are listed from it.
"""
import json
import re
import sys
from pathlib import Path

NAME = "offhook\\-tests \\- records of Offhook as YAML files, for offhook apply and offhook local"


def roff(text):
    """Text as roff prints it."""
    text = text.replace("\\", "\\(rs").replace("-", "\\-").replace("'", "\\(aq")
    text = re.sub(r"\b\w+_\w+", r"\\%\g<0>", text)  # no hyphen in a name
    return re.sub(r"^\.", r"\\&.", text)


def inline(text):
    """A line of Markdown: links lose their address, names in backticks are bold."""
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    parts = re.split(r"`([^`]*)`", text)
    return re.sub(r"^\.", r"\\&.", "".join(f"\\fB{roff(part)}\\fR" if i % 2 else roff(part)
                                           for i, part in enumerate(parts)))


def sentence(text):
    """Its first letter as a capital, one full stop at its end."""
    return text[0].upper() + text[1:].rstrip(".") + "."


def table(rows):
    """Rows of a Markdown table: the first column is the tag, the others follow it."""
    head, _, *body = [[cell.strip() for cell in row.strip("| \n").split("|")] for row in rows]
    for row in body:
        yield f".TP\n{inline(row[0])}"
        cells = [cell if len(row) == 2 else f"{name}: {cell}"
                 for name, cell in zip(head[1:], row[1:])]
        yield "\n.br\n".join(map(inline, cells))


def markdown(text):
    """Sections, paragraphs, lists, tables and examples of a page, without its title."""
    blocks = re.findall(r"(?ms)^```.*?^```$|^(?:(?!```)[^\n]+\n?)+", text)
    for block in blocks:
        lines = block.strip("\n").splitlines()
        if lines[0].startswith("```"):
            yield ".PP\n.EX"
            yield from (roff(line) for line in lines[1:-1])
            yield ".EE"
            continue
        if lines[0].startswith("# "):
            lines = lines[1:]
        elif lines[0].startswith("## "):
            yield f".SH {roff(lines[0][3:].upper())}"
            lines = lines[1:]
        if lines and lines[0].startswith("|"):
            yield from table(lines)
        elif lines and lines[0].startswith("- "):
            yield from (f".IP \\(bu 2\n{inline(line[2:])}" if line.startswith("- ")
                        else inline(line.strip()) for line in lines)
        elif lines:
            yield ".PP"
            yield from map(inline, lines)


class Schema:
    def __init__(self, schema):
        self.schema = schema
        self.defs = schema["$defs"]

    def resolve(self, part):
        """What a reference names; a list, or nothing or another form of it: the list."""
        while "$ref" in part:
            part = self.defs[part["$ref"].rsplit("/", 1)[1]]
        if any(other.get("type") == "null" or "pattern" in other for other in part.get("oneOf", [])):
            first = self.resolve(part["oneOf"][0])
            return first | {k: v for k, v in part.items() if k != "oneOf"}
        return part

    def value(self, part):
        """What a member may hold, as words."""
        part = self.resolve(part)
        kinds = part.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if "const" in part:
            return f"`{part['const']}`"
        if "enum" in part:
            if True in part["enum"]:
                return "`true` or `false`"
            # a number and its text are the same, null and the empty text are no value
            names = dict.fromkeys(str(value) for value in part["enum"] if value not in (None, ""))
            return "one of " + ", ".join(f"`{name}`" for name in names)
        if "object" in kinds:
            return "mapping"
        if "array" in kinds:
            item = self.resolve(part.get("items", {}))
            return "list" + (f": {self.value(item)} each" if "enum" in item else "")
        for kind, word in (("boolean", "`true` or `false`"), ("integer", "whole number"),
                           ("number", "number")):
            if kind in kinds:
                low, high = part.get("minimum"), part.get("maximum")
                limits = f", {low} to {high}" if high is not None else (
                    f", at least {low}" if low is not None else "")
                return word + limits
        return "text" + (f" of up to {part['maxLength']} characters" if "maxLength" in part else "")

    def tell(self, part, required=False):
        """One member: what it may hold, its default, what it is."""
        part = self.resolve(part)
        text = self.value(part) + ("; required" if required else "")
        if part.get("default") not in (None, ""):
            text += f"; default `{json.dumps(part['default']).strip(chr(34))}`"
        about = part.get("description")
        return inline(" ".join(map(sentence, filter(None, [text, about]))))

    def members(self, part, path=""):
        """(path, text) of each member of an object, and of those below it."""
        part = self.resolve(part)
        for name, member in part.get("properties", {}).items():
            yield path + name, self.tell(member, name in part.get("required", []))
            below = self.resolve(member)
            if below.get("type") == "array" and "items" in below:
                yield from self.members(below["items"], f"{path}{name}[].")
            else:
                yield from self.members(below, f"{path}{name}.")

    def page(self):
        for key, records in self.schema["properties"].items():
            yield f".SH MEMBERS OF {roff(key.upper())}"
            about = self.resolve(records["items"]).get("description")
            if about:
                yield f".PP\n{inline(sentence(about))}"
            yield from tagged(self.members(records["items"]))
        actions = [self.resolve(action) for action in self.defs["Action"]["oneOf"]]
        yield ".SH ACTIONS\n.PP\nA member of a step of a test. Each type has these members;"
        yield "required ones are bold."
        for action in actions:
            yield f".TP\n\\fB{roff(action['properties']['type']['const'])}\\fR"
            yield ",\n".join(f"\\fB{roff(name)}\\fR" if name in action["required"] else roff(name)
                             for name in action["properties"])
        yield ".SH MEMBERS OF ACTIONS"
        told = {}
        for action in actions:
            for name, member in action["properties"].items():
                if name != "type":
                    told.setdefault(name, []).append((action["properties"]["type"]["const"],
                                                      self.tell(member)))
        yield from tagged((name, text) for name, texts in sorted(told.items())
                          for text in one_of(texts))
        yield ".SH CONDITIONS"
        yield ".PP\nA condition set of a test: \\fBcondition_type\\fR is the role, a hyphen, and"
        yield "one of these names. These are the members of each of its \\fBconditions\\fR."
        for kind in map(self.resolve, self.defs["ConditionSet"]["oneOf"]):
            name = kind["properties"]["condition_type"]["pattern"].partition("+-")[2].rstrip("$")
            yield f".SS {roff(name)}"
            about = kind.get("description")
            if about:
                yield inline(sentence(about))
            yield from tagged(self.members(kind["properties"]["conditions"]["items"]))


def one_of(texts):
    """The text of a member; where actions differ, with the names of those that it is for."""
    groups = {}
    for action, text in texts:
        groups.setdefault(text, []).append(action)
    return [text if len(groups) == 1 else f"({', '.join(actions)}) {text}"
            for text, actions in groups.items()]


def tagged(members):
    for name, text in members:
        yield f".TP\n\\fB{roff(name)}\\fR\n{text}"


def main():
    page, schema, out = map(Path, sys.argv[1:])
    first, *rest = re.split(r"(?m)^(?=## )", page.read_text(encoding="utf-8"))
    lines = ['.TH OFFHOOK\\-TESTS 5 "" "offhook" "Offhook"', f".SH NAME\n{NAME}",
             ".SH DESCRIPTION", *markdown(first)]
    for section in rest:
        lines += markdown(section)
    lines += Schema(json.loads(schema.read_text(encoding="utf-8"))).page()
    lines.append(".SH SEE ALSO\n.BR offhook (1),\ndocs/reference/yaml.md")
    out.write_text("\n".join(lines) + "\n", encoding="utf-8")


main()

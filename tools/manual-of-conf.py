#!/usr/bin/python3
"""Write the manual page of a configuration file: manual-of-conf.py CONF OUT.

CONF is the packaged file: comments, and lines "#key = default". The lint compares its keys and
defaults with docs/reference/configuration.md.
"""
import re
import sys
from pathlib import Path

# A comment block with the keys below it: "#port = 8080".
KEY = re.compile(r"#(\w+) = (.*)")
SECTION = re.compile(r"# -+ (.*?) -*")


def roff(text):
    """Text as roff prints it."""
    text = text.replace("\\", "\\(rs").replace("-", "\\-").replace("'", "\\(aq")
    return re.sub(r"^\.", r"\\&.", text)


def paragraphs(text):
    """(section, comment lines, [(key, default)]) of each block of lines."""
    section = None
    for block in re.split(r"\n\s*\n", text.strip()):
        comment, keys = [], []
        for line in block.splitlines():
            if found := SECTION.fullmatch(line):
                section = found[1]
            elif found := KEY.fullmatch(line):
                keys.append(found.groups())
            else:
                comment.append(line.removeprefix("#").strip())
        yield section, comment, keys


def page(path):
    name, program = path.name, path.stem
    yield f".TH {name.upper()} 5 \"\" \"offhook\" \"Offhook\""
    yield f".SH NAME\n{roff(name)} \\- configuration of {roff(program)}"
    yield f".SH SYNOPSIS\n.I /etc/offhook/{roff(name)}"
    yield ".SH DESCRIPTION"
    shown = None
    for section, comment, keys in paragraphs(path.read_text()):
        if section is None:  # the first line is the name of the page
            comment = comment[1:] if comment[:1] == [f"Configuration of {program}."] else comment
        if section != shown:
            shown = section
            yield f".SH {section.upper()}"
        if keys:
            yield ".TP"
            yield "\n.TQ\n".join(f"\\fB{roff(key)}\\fR = {roff(default)}" for key, default in keys)
        elif comment:
            yield ".PP"
        yield from (roff(line) for line in comment if line)
    yield (f".SH SEE ALSO\n.BR {roff(program)} (8),\n"
           f"docs/reference/configuration.md")


def main():
    conf, out = map(Path, sys.argv[1:])
    out.write_text("\n".join(page(conf)) + "\n", encoding="utf-8")


main()

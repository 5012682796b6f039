#!/usr/bin/env python3
"""Make docs/reference/log-messages.md: each log line at warning or above, what it means, and
what to do.

usage: log-messages.py [--check]

The lines are read from the code: each call of log_error() and log_warning() with its text,
%s and other conversions as "...". Meanings and remedies are kept by hand, in
docs/reference/log-messages.yaml: an entry TEXT: [meaning, what to do]. A line without an entry,
and an entry without a line, is an error. With --check nothing is written; it is an error if the
page is not as it would be made.
"""
import re
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs/reference/log-messages.yaml"
PAGE = ROOT / "docs/reference/log-messages.md"

CALL = re.compile(r"\blog_(error|warning)\(")
COMMENT = re.compile(r'/\*.*?\*/|"(?:[^"\\\\]|\\\\.)*"', re.S)
LITERAL = re.compile(r'\s*"((?:[^"\\]|\\.)*)"')
# of printf(), with the macros of inttypes.h
CONVERSION = re.compile(r"%[-+ #0]*[*0-9]*(?:\.[*0-9]+)?(?:hh|h|ll|l|j|z|t)?[a-zA-Z]")
MACRO = re.compile(r"\s*(?:PRI[a-zA-Z0-9]+|OFFHOOK_VERSION|[A-Z_]+)")

# Title and folders; the first that fits.
SECTIONS = [
    ("Commands of the controller", ["control/server/backup"]),
    ("Controller", ["control"]),
    ("Agent", ["agent", "sip", "media", "capture"]),
    ("Both", ["base", "conf"]),
]

HEAD = """\
# Log messages

Look up what a log line of the controller or an agent at level `warning` or `error` means, and what to do. `...` is what differs: names,
numbers, reasons of the system. Lines of a run begin with `run=`; in the journal `journalctl OFFHOOK_RUN=ID` shows those of a run.

Example: the lines that need somebody, of the last day.
```
journalctl -u offhook-controller -u offhook-agent -p warning --since -1d
```

This page is made from the code by `tools/log-messages.py`; meanings are in `log-messages.yaml` beside it.
"""


def format_of(text, at):
    """The format string that begins at this place. @return None: it is no literal"""
    parts = []
    while True:
        if found := LITERAL.match(text, at):
            parts.append(found.group(1))
        elif parts and (found := MACRO.match(text, at)) and text[found.end():found.end() + 1] != "(":
            parts.append("\0")  # goes on a conversion: "%" PRIu64
        else:
            break
        at = found.end()
    return "".join(parts) if parts else None


def readable(format_text):
    text = re.sub(r"%[-+ #0]*[0-9]*\0", "...", format_text).replace("\0", "...")
    text = CONVERSION.sub("...", text).replace("%%", "%")
    text = text.replace('\\"', '"').replace("\\\\", "\\")
    # the fields at the beginning, which are the same for all lines of a run
    text = re.sub(r"^(?:[a-z]+=\.\.\.:? )+", "", text)
    return re.sub(r"(?:\.\.\.){2,}", "...", text)


def section_of(path):
    for title, folders in SECTIONS:
        if any(path == f or path.startswith(f + "/") for f in folders):
            return title
    return None


def lines_of_code(root=ROOT):
    """{section: {text: levels}} of all calls."""
    found = {title: {} for title, _ in SECTIONS}
    folders = {f for _, all_ in SECTIONS for f in all_ if "/" not in f}
    for folder in sorted(folders):
        for file in sorted((root / folder).rglob("*.c")):
            path = file.relative_to(root).as_posix()
            # comments name the functions, too; their lines stay
            code = COMMENT.sub(lambda m: m[0] if m[0][0] == '"' else "\n" * m[0].count("\n"),
                               file.read_text())
            for call in CALL.finditer(code):
                text = format_of(code, call.end())
                if text is None:
                    number = code.count("\n", 0, call.start()) + 1
                    sys.exit(f"{path}:{number}: log_{call.group(1)}() without a literal text")
                found[section_of(path)].setdefault(readable(text), set()).add(call.group(1))
    return found


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ").strip()


def page(found, table):
    parts = [HEAD]
    for title, lines in found.items():
        if not lines:
            continue
        parts.append(f"\n## {title}\n| line | level | means | do |\n|---|---|---|---|\n")
        for text, levels in sorted(lines.items(), key=lambda item: item[0].strip(". ").lower()):
            means, remedy = table[text]
            parts.append(f"| `{cell(text)}` | {', '.join(sorted(levels))} | {cell(means)} | {cell(remedy)} |\n")
    return "".join(parts)


def main(check):
    found = lines_of_code()
    table = yaml.safe_load(TABLE.read_text()) or {}
    texts = {text for lines in found.values() for text in lines}
    wrong = [f"no entry for the line: {text}" for text in sorted(texts - set(table))]
    wrong += [f"no line has the text of the entry: {text}" for text in sorted(set(table) - texts)]
    wrong += [f"not two texts [meaning, what to do]: {text}" for text, entry in table.items()
              if not (isinstance(entry, list) and len(entry) == 2 and all(map(str, entry)))]
    if wrong:
        sys.exit("\n".join(wrong))
    made = page(found, table)
    if not check:
        PAGE.write_text(made)
    elif PAGE.read_text() != made:
        sys.exit(f"{PAGE.relative_to(ROOT)} is not up to date: run tools/log-messages.py")


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    main(sys.argv[1:] == ["--check"])

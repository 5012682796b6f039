#!/usr/bin/python3
"""Write a C header with a style sheet and its hash: stylesheet.py IN OUT.

The hash is that of a Content-Security-Policy (style-src 'sha256-...'), for a <style>
element that has exactly this text.
"""
import base64
import hashlib
import os
import sys


def main():
    source, out = sys.argv[1:]
    with open(source, encoding="utf-8") as f:
        text = f.read()
    name = os.path.basename(source).replace(".", "_")
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    with open(out, "w", encoding="utf-8") as f:
        f.write(f"#define {name.upper()}_SHA256 \"{digest}\"\n")
        f.write(f"static const char {name}[] =\n")
        for line in text.splitlines():
            quoted = line.replace("\\", "\\\\").replace('"', '\\"')
            f.write(f'\t"{quoted}\\n"\n')
        f.write("\t;\n")


main()

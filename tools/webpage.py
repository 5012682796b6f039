#!/usr/bin/python3
"""Write a page of the controller: webpage.py FRAME BODY OUT.

BODY begins with the line `<title>TITLE</title>`. The frame adds the rest of the head, the
header and the links. BODY.html has the address /BODY and the script BODY.js.
"""
import os
import sys


def main():
    frame, body, out = sys.argv[1:]
    with open(frame, encoding="utf-8") as f:
        page = f.read()
    with open(body, encoding="utf-8") as f:
        first, _, rest = f.read().partition("\n")
    title = first.removeprefix("<title>").removesuffix("</title>")
    if first != f"<title>{title}</title>":
        sys.exit(f"{body}: the first line must be <title>...</title>")
    name = os.path.basename(body).removesuffix(".html")
    page = page.replace("TITLE", title).replace("NAME", name).replace("BODY\n", rest)
    page = page.replace(f'<a href="/{name}">', f'<a href="/{name}" aria-current="page">')
    with open(out, "w", encoding="utf-8") as f:
        f.write(page)


main()

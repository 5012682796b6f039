"""The checks of tests/lint. Each is a function from a source tree to findings.

Pure Python without git: they work in an exported tree as well.
"""
import json
import re
import subprocess
from pathlib import Path

ARROWS = "docs/internals/architecture.md"
CODE_DIRS = ("base", "conf", "media", "capture", "sip", "control", "agent")
SKIPPED_DIRS = re.compile(r"^(\.git|build.*|var|__pycache__|\.[a-z_]+_cache|\.hypothesis)$")
FILE_LINES_MAX = 800
FUNCTION_LINES_MAX = 80
TEXT_BYTES_MAX = 1 << 20


def tree_files(root, *suffixes):
    """Files of the tree, except build directories and caches."""
    for path in sorted(Path(root).iterdir()):
        if path.is_symlink() or SKIPPED_DIRS.match(path.name):
            continue
        if path.is_dir():
            yield from tree_files(path, *suffixes)
        elif not suffixes or path.suffix in suffixes:
            yield path


def arrow_table(root):
    """Rows of docs/internals/architecture.md: {folder: [folders that it may include]}."""
    table = {}
    for line in (Path(root) / ARROWS).read_text().splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if len(cells) == 3 and cells[0].split("/")[0] in CODE_DIRS:
            table[cells[0]] = [c.strip() for c in cells[2].split(",") if c.strip()]
    return table


def row_of(table, path):
    """The row of the longest folder that contains the path, or None."""
    rows = [r for r in table if path == r or path.startswith(r + "/")]
    return max(rows, key=len, default=None)


def include_arrows(root):
    """Includes that the table does not allow."""
    root = Path(root)
    table = arrow_table(root)
    for folder in CODE_DIRS:
        if not (root / folder).is_dir():
            continue
        for path in tree_files(root / folder, ".c", ".h"):
            name = str(path.relative_to(root))
            row = row_of(table, name)
            if row is None:
                yield f"{name}: its folder has no row in docs/internals/architecture.md"
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                found = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
                if not found:
                    continue
                target = found.group(1)
                other = row_of(table, target)
                if other is None:
                    if "/" in target or (path.parent / target).exists():
                        yield f'{name}:{number}: "{target}" is no path from the root'
                elif other != row and other not in table[row] and \
                        target not in table[row]:
                    yield f"{name}:{number}: {row} must not include {target}"


def internal_headers(root):
    """Includes of a folder's *internal.h by another folder."""
    root = Path(root)
    for folder in CODE_DIRS:
        if not (root / folder).is_dir():
            continue
        for path in tree_files(root / folder, ".c", ".h"):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                found = re.match(r'\s*#\s*include\s+"([^"]+internal\.h)"', line)
                if found and (root / found.group(1)).parent != path.parent:
                    yield (f"{path.relative_to(root)}:{number}: "
                           f"{found.group(1)} is of another folder")


def long_files(root):
    for path in tree_files(root, ".c", ".h", ".py", ".sh", ".js"):
        lines = path.read_text().count("\n")
        if lines > FILE_LINES_MAX:
            yield f"{path.relative_to(root)}: {lines} lines, at most {FILE_LINES_MAX}"


def long_functions(root):
    """Functions of the C code that are too long, from the brace in column 1 to the end."""
    for folder in CODE_DIRS:
        if not (Path(root) / folder).is_dir():
            continue
        for path in tree_files(Path(root) / folder, ".c"):
            start = None
            previous = ""
            for number, line in enumerate(path.read_text().splitlines(), 1):
                if line == "{" and previous.rstrip().endswith(")"):
                    start = number
                elif line == "}" and start is not None:
                    if number - start - 1 > FUNCTION_LINES_MAX:
                        yield (f"{path.relative_to(root)}:{start}: a function of "
                               f"{number - start - 1} lines, at most {FUNCTION_LINES_MAX}")
                    start = None
                previous = line


def outside_references(root, words):
    """Files that mention a place outside the checkout."""
    for path in tree_files(root):
        if path.stat().st_size > TEXT_BYTES_MAX:
            continue
        data = path.read_bytes()
        if b"\0" in data:
            continue
        for number, line in enumerate(data.decode(errors="replace").splitlines(), 1):
            for word in words:
                if word in line:
                    yield f"{path.relative_to(root)}:{number}: mentions {word}"


def shell_scripts(root):
    """Scripts with a syntax error."""
    for path in tree_files(root):
        if path.stat().st_size > TEXT_BYTES_MAX:
            continue
        head = path.read_bytes()[:64].split(b"\n")[0]
        if path.suffix != ".sh" and not re.match(rb"#!.*\b(ba)?sh\b", head):
            continue
        done = subprocess.run(["bash", "-n", str(path)], capture_output=True, text=True)
        if done.returncode != 0:
            yield f"{path.relative_to(root)}: {done.stderr.strip()}"


def forgotten_tests(root):
    """Files of tests that no meson.build names, whole or by their end, so that they never run."""
    for path in tree_files(Path(root) / "tests", ".c", ".py"):
        name = re.fullmatch(r"(?:test|fuzz)[-_](.+)\.(?:c|py)", path.name)
        folder = path.parent
        while not (folder / "meson.build").exists() and folder != Path(root):
            folder = folder.parent
        if name and folder != Path(root):
            listed = re.findall(r"'([\w.-]+)'", (folder / "meson.build").read_text())
            if not any(path.name == word or path.stem.endswith(f"{mark}{word}")
                       for word in listed for mark in "-_"):
                yield f"{path.relative_to(root)}: no meson.build names it"


# Functions that replace a library's on purpose: control/server/http/library.c, and
# agent/supervisor/service_notify.c where libsystemd is missing.
REPLACED = {"MHD_queue_response", "sd_notify", "sd_notifyf", "sd_watchdog_enabled"}


def library_names(root, exported):
    """Functions, including static ones, with the name of a library's function: the next
    release of the library may declare it in a header.

    exported: {name: library}"""
    for folder in CODE_DIRS:
        if not (Path(root) / folder).is_dir():
            continue
        for path in tree_files(Path(root) / folder, ".c"):
            for name in re.findall(r"(?m)^[a-z][\w *]*?\b(\w+)\([^;{}]*\)\n\{", path.read_text()):
                if name in exported and name not in REPLACED | {"main"}:
                    yield (f"{path.relative_to(root)}: {name}() is one of {exported[name]}; "
                           "give it a prefix")


def exported_names(*programs):
    """{name: library} of the functions that the libraries of these programs export."""
    found = {}
    for program in programs:
        said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"=> (/\S+)", said):
            names = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", library],
                                   capture_output=True, text=True, check=True).stdout
            found |= {line.split("@")[0].split(" ")[0]: Path(library).name
                      for line in names.splitlines()}
    return found


def listed_names(path, library):
    """{name: library} of a list with one name per line."""
    return {line: library for line in path.read_text().splitlines() if not line.startswith("#")}


def clang_format_version():
    """The major version, or None."""
    try:
        said = subprocess.run(["clang-format", "--version"], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    found = re.search(r"version (\d+)", said.stdout)
    return int(found.group(1)) if found else None


def formatting(root):
    """C files that clang-format would change."""
    root = Path(root)
    files = [str(p) for folder in (*CODE_DIRS, "tests") if (root / folder).is_dir()
             for p in tree_files(root / folder, ".c", ".h")]
    if not files:
        return
    done = subprocess.run(["clang-format", "--dry-run", "-Werror",
                           "--ferror-limit=1", *files],
                          cwd=root, capture_output=True, text=True)
    for line in done.stderr.splitlines():
        if ": error:" in line:
            yield line
    if done.returncode != 0 and ": error:" not in done.stderr:
        yield f"clang-format: {done.stderr.strip()}"


def library_timers(root):
    """Uses of libre's timers, which are one sorted list on the wall clock. Use
    sip/mono_timer.h."""
    root = Path(root)
    for folder in ("sip", "agent"):
        for path in tree_files(root / folder, ".c", ".h"):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                found = re.search(r"\bstruct tmr\b|\btmr_(?:init|start|cancel|isrunning)\(", line)
                if found:
                    yield f"{path.relative_to(root)}:{number}: {found.group(0)}: use sip/mono_timer.h"


def pages(root):
    """README and similar pages, and all of docs."""
    return [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md"))]


def dead_links(root):
    """Links between pages whose target is missing."""
    root = Path(root)
    for path in pages(root):
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", path.read_text()):
            if not (path.parent / target).exists():
                yield f"{path.relative_to(root)}: there is no {target}"


def pages_without_entry(root):
    """Pages of docs that are not linked from its index, docs/README.md."""
    index = Path(root) / "docs/README.md"
    told = {(index.parent / target).resolve()
            for target in re.findall(r"\]\(([^)#:]+)", index.read_text())}
    for path in sorted(index.parent.rglob("*.md")):
        if path != index and path.resolve() not in told:
            yield f"docs/README.md: has no link to {path.relative_to(index.parent)}"


def unknown_files(root):
    """File paths in pages that do not exist."""
    root = Path(root)
    folders = "|".join((*CODE_DIRS, "tests", "docs", "packaging", "tools"))
    for path in pages(root):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for name in re.findall(rf"`((?:{folders})/[\w./-]+\.(?:[ch]|py|js|html|md|json|yaml))[`:]", line):
                if "NAME" not in name and not (root / name).exists():
                    yield f"{path.relative_to(root)}:{number}: there is no file {name}"


def without_links(cell):
    """The text of a cell as the API tells it: pages are left out, of other links the words stay."""
    cell = re.sub(r" \(\[[\w-]+\.md\]\([^)]+\)\)", "", cell)
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", cell)


C_TEXT = r'(?:"(?:[^"\\]|\\.)*"\s*)+'


def c_text(literals):
    """The value of C string literals that follow each other."""
    return json.loads('"' + "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literals)) + '"')


def code_parameters(root):
    """The members of each row of the table in control/server/run/step_params.c."""
    text = (Path(root) / "control/server/run/step_params.c").read_text()
    macros = {name: c_text(value) for name, value in re.findall(rf"#define (\w+)\s+({C_TEXT})", text)}
    for row in re.findall(r"\{(\.name = .*?)\},\n", text, re.S):
        yield {key: c_text(value) if value.startswith('"') else macros.get(value)
               for key, value in re.findall(rf"\.(\w+) = ({C_TEXT}|[A-Z]+)", row)}


def parameter_pages(root):
    """Parameters of actions whose row in docs/reference/parameters.md differs from the API."""
    taken = {(row["name"], row["actions"], row["type"], row["fallback"] or "-", row["help"], row["group"])
             for row in code_parameters(root)}
    page = Path(root) / "docs/reference/parameters.md"
    headings = {}
    for section in page.read_text().split("\n## ")[1:]:
        for line in section.splitlines():
            headings[line] = section.splitlines()[0]
    told = set()
    for line, heading in headings.items():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if len(cells) == 5 and re.fullmatch(r"`\w+`", cells[0]):
            told.add((cells[0].strip("`"), *cells[1:4], without_links(cells[4]), heading))
    for row in sorted(taken - told):
        yield f"docs/reference/parameters.md: has no row for {' | '.join(row)}"
    for row in sorted(told - taken):
        yield f"docs/reference/parameters.md: control/server/run/step_params.c has no {' | '.join(row)}"


def rows_of(section):
    """{name: [the other cells of its rows]} of a table; a row whose first cell is empty goes on with the one before."""
    found, names = {}, []
    for line in section.splitlines():
        cells = [without_links(cell.strip()) for cell in line.strip().strip("|").split(" | ")]
        if not line.startswith("| ") or len(cells) != 3:
            continue
        own = re.findall(r"[`\w-]*\w", cells[0])
        names = own or names
        for name in names:
            if own:
                found[name.strip("`")] = []
            found[name.strip("`")].append(cells[1:])
    return found


def differences(page, taken, told):
    for name in sorted(set(taken) - set(told)):
        yield f"{page}: does not tell {name}"
    for name in sorted(set(told) - set(taken)):
        yield f"{page}: there is no {name}"
    for name in sorted(set(taken) & set(told)):
        if taken[name] != told[name]:
            yield f"{page}: tells {name} as {told[name]}, the API as {taken[name]}"


def client_action_pages(root):
    """sipclient_actions whose row in docs/reference/script-actions.md differs from the API."""
    code = (Path(root) / "control/wire/client_actions.c").read_text()
    taken = {name: (c_text(takes), c_text(does)) for name, takes, does in re.findall(
        rf'\{{"(\w+)",\s+ARGUMENT_\w+, "[^"]+",\s*({C_TEXT}),\s*({C_TEXT})\}}', code)}
    page = "docs/reference/script-actions.md"
    section = (Path(root) / page).read_text().split("## sipclient_actions")[1].split("\n## ")[0]
    told = {}
    for name, rows in rows_of(section.split("|---|---|---|")[1]).items():
        told[name] = rows[0] if len(rows) == 1 else (
            ", ".join(r[0] for r in rows), "; ".join(f"{r[0]}: {r[1]}" for r in rows))
        told[name] = tuple(told[name])
    yield from differences(page, taken, told)


def action_pages(root):
    """Types of actions whose row in docs/reference/actions.md differs from the API."""
    code = (Path(root) / "control/server/run/step_describe.c").read_text()
    taken = {kind: (does, ends) for kind, does, ends in re.findall(
        r'\{"(\w+)", "[^"]+", "([^"]+)", "([^"]+)"\}', code)}
    page = "docs/reference/actions.md"
    section = (Path(root) / page).read_text().split("| action | does |")[1].split("\n## ")[0]
    told = {name: tuple(rows[0]) for name, rows in rows_of(section.split("|---|---|---|")[1]).items()}
    yield from differences(page, taken, told)


def condition_pages(root):
    """Condition types whose row in docs/reference/conditions.md differs from the API."""
    taken = {}
    for path in sorted((Path(root) / "control/server/judge").glob("type_*.c")):
        for suffix, text in re.findall(rf'\.suffix = "([\w-]+)",(?:(?!\n\}};).)*?\.help =\s*({C_TEXT}),',
                                       path.read_text(), re.S):
            taken[suffix] = c_text(text)
    page = "docs/reference/conditions.md"
    section = (Path(root) / page).read_text().split("## Types")[1].split("\n## ")[0]
    told = {name: "; ".join(row[1] for row in rows)
            for name, rows in rows_of(section.split("|---|---|---|")[1]).items()}
    yield from differences(page, taken, told)


def state_pages(root):
    """States that are only in base/state.h or only in the tables of docs/glossary.md."""
    root = Path(root)
    taken = set(re.findall(r"(?m)^\tX\((\w+)\)", (root / "base/state.h").read_text()))
    first = [row.split(" | ")[0] for row in
             (root / "docs/glossary.md").read_text().splitlines() if row.startswith("| `")]
    told = set(re.findall(r"`([A-Z][A-Z0-9_]+)`", " ".join(first)))
    for name in sorted(taken - told):
        yield f"docs/glossary.md: does not tell the state {name}"
    for name in sorted(told - taken):
        yield f"docs/glossary.md: there is no state {name}"


def configuration_page(root):
    """Keys and defaults that differ between conf/*.conf and docs/reference/configuration.md."""
    root = Path(root)
    page = "docs/reference/configuration.md"
    for name, parts in (("controller", "## Controller"), ("agent", "## Agent")):
        taken = dict(re.findall(r"(?m)^#(\w+) = (.*)$",
                                (root / f"conf/offhook-{name}.conf").read_text()))
        sections = re.split(r"(?m)^(?=## )", (root / page).read_text())
        told = dict(re.findall(r"(?m)^\| `(\w+)` \| `([^`]*)` \|",
                               "".join(s for s in sections if s.startswith(parts))))
        for key in sorted(taken.keys() | told.keys()):
            if taken.get(key) != told.get(key):
                yield (f"{page}: {key} of offhook-{name}.conf is {taken.get(key, 'unknown')}, "
                       f"not {told.get(key, 'absent')}")


def unknown_pages(root):
    """Comments that name a page which does not exist in the checkout."""
    root = Path(root)
    for folder in CODE_DIRS:
        if not (root / folder).is_dir():
            continue
        for path in tree_files(root / folder):
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                for page in re.findall(r"[\w/-]+\.md\b", line):
                    if not (root / page).exists():
                        yield f"{path.relative_to(root)}:{number}: there is no page {page}"


def options_of(*paths):
    """Long options in the tables that are passed to getopt_long()."""
    return {name for path in paths for name in re.findall(
        r'\{"([a-z-]+)", *(?:no|required|optional)_argument', path.read_text())}


def option_pages(root):
    """Options in pages that no program has, and options missing in a manual."""
    root = Path(root)
    manuals = {"man/offhook.1": [*(root / "control/cli").rglob("*.[ch]")],
               "man/offhook-agent.8": [root / "agent/options.c"],
               "man/offhook-controller.8": [root / "control/server/main.c"]}
    known = set()
    for name, sources in manuals.items():
        told = set(re.findall(r"--([a-z][a-z-]*)", (root / name).read_text().replace("\\", "")))
        taken = options_of(*sources)
        known |= taken
        for option in sorted(taken - told - {"help", "version"}):
            yield f"{name}: does not tell --{option}"
    for path in [*pages(root), *(root / "man").glob("*.[18]")]:
        for number, line in enumerate(path.read_text().replace("\\", "").splitlines(), 1):
            for command in re.findall(r"\boffhook(?:-agent|-controller)? [^`|#;]*", line):
                for option in re.findall(r"(?<!\S)--([a-z][a-z-]*)", command):
                    if option not in known:
                        yield f"{path.relative_to(root)}:{number}: there is no option --{option}"

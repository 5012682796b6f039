"""The structure of the C code: modules include each other in one direction, there are
no large circles, and few files read a shared struct."""
import collections
import re
from pathlib import Path

import lint

CIRCLE_MAX = 3
READERS_MAX = 10
# Parameters are passed whole: their fields are the interface.
PLAIN = re.compile(r"(_params|_options|_settings|_info|_conf)$")
# Headers whose structs may be read by more files, and why.
SHOWN = {
    "base/buf.h": "a text under construction: a value on its writer's stack, read by its fields",
    "media/analysis/summary.h": "the figures of a second and of a stream: a record that is passed whole",
    "media/params.h": "the parameters of a media session and their parts: addresses, codecs, keys",
    "sip/mono_timer.h": "a handle that its owner embeds; nobody but mono_timer.c reads its field",
}


def sources(root):
    """{path: text} of the C code"""
    root = Path(root)
    return {str(path.relative_to(root)): path.read_text()
            for folder in lint.CODE_DIRS if (root / folder).is_dir()
            for path in lint.tree_files(root / folder, ".c", ".h")}


def module(path):
    return path.rsplit(".", 1)[0]


def plain_code(text):
    """The code without comments and string literals."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.S)


def includes(files):
    """{path: the project's headers that it includes}"""
    return {path: [h for h in re.findall(r'(?m)^\s*#\s*include\s+"([^"]+)"', text) if h in files]
            for path, text in files.items()}


def arrows(files):
    """{module: modules that it includes or calls}

    A module is a .c with its .h. A call depends on the module that defines the
    function, whichever header declares it."""
    owners = collections.defaultdict(set)
    for path, text in files.items():
        if path.endswith(".c"):
            for name in re.findall(r"(?m)^(?!static)[a-z_][\w \*]*?\b(\w+)\([^;{}]*\)\n\{", text):
                owners[name].add(module(path))
    found = collections.defaultdict(set)
    for path, headers in includes(files).items():
        found[module(path)] |= {module(h) for h in headers}
        if path.endswith(".c"):
            code = plain_code(files[path])
            own = set(re.findall(r"(?m)^static [\w \*]*?\b(\w+)\(", code))
            for name in set(re.findall(r"\b([a-z]\w+)\(", code)) - own:
                if len(owners[name]) == 1:
                    found[module(path)] |= owners[name]
    return {name: targets - {name} for name, targets in found.items()}


def circles(graph):
    """Sets of two or more nodes that reach each other, the largest first (Tarjan,
    without recursion)."""
    index, low, stack, on, found = {}, {}, [], set(), []
    for start in graph:
        if start in index:
            continue
        work = [(start, iter(sorted(graph.get(start, ()))))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on.add(start)
        while work:
            node, rest = work[-1]
            for target in rest:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on.add(target)
                    work.append((target, iter(sorted(graph.get(target, ())))))
                    break
                if target in on:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    circle = set()
                    while not circle or node not in circle:
                        circle.add(stack.pop())
                    on -= circle
                    if len(circle) > 1:
                        found.append(circle)
    return sorted(found, key=lambda c: (-len(c), sorted(c)))


def table_circles(root):
    """Rows of the arrow table that may include each other."""
    table = lint.arrow_table(root)
    rows = {row: {lint.row_of(table, target) for target in targets} - {row} for row, targets in table.items()}
    for circle in circles(rows):
        yield f"the arrow table has a circle: {', '.join(sorted(circle))}"


def back_arrows(root):
    """Includes that the table does not allow, and of another folder's internal headers."""
    yield from sorted({*lint.include_arrows(root), *lint.internal_headers(root)})


def large_circles(root):
    """Circles of more than CIRCLE_MAX modules."""
    for circle in circles(arrows(sources(root))):
        if len(circle) > CIRCLE_MAX:
            yield f"a circle of {len(circle)} modules, at most {CIRCLE_MAX}: {' '.join(sorted(circle))}"


def shown_structs(text):
    """Structs whose fields a header shows, except those that are values."""
    return [name for name in re.findall(r"(?m)^struct (\w+)\s*\{", text) if not PLAIN.search(name)]


def read_structs(root, shown=()):
    """Headers that show a struct's fields to more than READERS_MAX files.

    @param shown  headers that are allowed to"""
    files = sources(root)
    readers = collections.Counter(h for headers in includes(files).values() for h in set(headers))
    wide = {header for header, count in readers.items() if count > READERS_MAX and shown_structs(files[header])}
    for header in sorted(wide - set(shown)):
        yield (f"{header}: shows the fields of {', '.join(shown_structs(files[header]))} to {readers[header]} files, "
               f"at most {READERS_MAX}")
    for header in sorted(set(shown) - wide):
        yield f"tests/lint/structure.py: {header} needs no exception"

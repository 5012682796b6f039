"""The structure of the C code: rooms whose arrows run one way, no large circles, few readers of a shared struct.

What does not hold yet stands in debt.txt beside this file, a line each; a line that is no longer needed is a finding,
so that the list only becomes shorter:
  include FILE HEADER   the file includes what its room must not
  circle N              modules that reach each other, the N of each such circle
  readers HEADER N      files that include a header that shows a struct
"""
import collections
import re
from pathlib import Path

import lint

CIRCLE_MAX = 3
READERS_MAX = 10
# Values that are passed around whole: their fields are the interface.
PLAIN = re.compile(r"(_params|_options|_settings|_info|_conf)$")


class Debt:
    """debt.txt of a tree, and which of its lines were needed."""

    def __init__(self, root):
        path = Path(root) / "tests" / "lint" / "debt.txt"
        lines = path.read_text().splitlines() if path.exists() else []
        self._lines = [line for line in lines if line and not line.startswith("#")]
        self._used = set()

    def covers(self, line):
        if line in self._lines:
            self._used.add(line)
            return True
        return False

    def numbers(self, kind):
        """@return [(line, words between, number)] of `kind words N`"""
        return [(line, line.split()[1:-1], int(line.split()[-1])) for line in self._lines if line.split()[0] == kind]

    def use(self, line):
        self._used.add(line)

    def stale(self, kind):
        return [line for line in self._lines if line.split()[0] == kind and line not in self._used]


def sources(root):
    """{path: text} of the C code."""
    root = Path(root)
    return {str(path.relative_to(root)): path.read_text()
            for folder in lint.CODE_DIRS if (root / folder).is_dir()
            for path in lint.tree_files(root / folder, ".c", ".h")}


def module(path):
    return path.rsplit(".", 1)[0]


def plain_code(text):
    """Without comments and texts."""
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.S)


def includes(files):
    """{path: the headers of ours that it includes}"""
    return {path: [h for h in re.findall(r'(?m)^\s*#\s*include\s+"([^"]+)"', text) if h in files]
            for path, text in files.items()}


def arrows(files):
    """{module: modules that it includes or calls}. A module is a .c with its .h; whoever calls a function depends on
    the module that has it, whichever header declares it."""
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
    """Sets of nodes that reach each other, of two and more; the largest first (Tarjan, without recursion)."""
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
    """Includes against the table, and of another folder's internal headers."""
    debt = Debt(root)
    pattern = re.compile(r"([^:]+):\d+: (?:.* must not include (\S+)|(\S+) is of another folder)$")
    for finding in sorted({*lint.include_arrows(root), *lint.internal_headers(root)}):
        found = pattern.match(finding)
        if not found or not debt.covers(f"include {found.group(1)} {found.group(2) or found.group(3)}"):
            yield finding
    for line in debt.stale("include"):
        yield f"tests/lint/debt.txt: is paid, strike it out: {line}"


def large_circles(root):
    """Circles of more than CIRCLE_MAX modules. The n-th largest may be as large as the n-th in the list of debts, and
    no smaller: then the list is too long."""
    debt = Debt(root)
    known = sorted((n for _, _, n in debt.numbers("circle")), reverse=True)
    found = [c for c in circles(arrows(sources(root))) if len(c) > CIRCLE_MAX]
    for place, circle in enumerate(found):
        if place >= len(known) or len(circle) > known[place]:
            yield f"a circle of {len(circle)} modules, at most {CIRCLE_MAX}: {' '.join(sorted(circle))}"
    for place, size in enumerate(known):
        if place >= len(found) or size > len(found[place]):
            yield f"tests/lint/debt.txt: no circle is as large, strike it out: circle {size}"


def shown_structs(text):
    """Structs whose fields a header shows, but for those that are values."""
    return [name for name in re.findall(r"(?m)^struct (\w+)\s*\{", text) if not PLAIN.search(name)]


def read_structs(root):
    """Headers that show a struct's fields to more than READERS_MAX files."""
    debt = Debt(root)
    known = {words[0]: (line, n) for line, words, n in debt.numbers("readers")}
    files = sources(root)
    readers = collections.Counter(h for headers in includes(files).values() for h in set(headers))
    for header, count in sorted(readers.items()):
        structs = shown_structs(files[header])
        if not structs or count <= READERS_MAX:
            continue
        line, allowed = known.get(header, (None, 0))
        debt.use(line)
        if count > allowed:
            yield f"{header}: shows the fields of {', '.join(structs)} to {count} files, at most {READERS_MAX}"
    for line in debt.stale("readers"):
        yield f"tests/lint/debt.txt: is paid, strike it out: {line}"

"""docs/reference/ceilings.md names each ceiling with its value in the code and its test."""
import ast
import operator
import re
from pathlib import Path

import pytest
from lint import tree_files

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/reference/ceilings.md"
KEYS = "docs/reference/configuration.md"
UNITS = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30,
         "ms": 0.001, "s": 1}
SECONDS = {"NS": 1e-9, "MS": 1e-3, "S": 1, "SECONDS": 1}
CODE = ("agent", "base", "capture", "control", "media", "sip")
LIBRE = {"SIP_T1": "500"}  # re_sip.h; RFC 3261 table 4
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
             ast.FloorDiv: operator.floordiv, ast.LShift: operator.lshift}


def rows(page):
    """The rows of tables with five columns: lists of cells."""
    for line in page.splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 5 and cells[2] != "constant or key" and cells[0] != "---":
            yield cells


def amount(text):
    """"64 KiB" as a number; None: it is none."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(?: (\w+))?", text)
    return float(found[1]) * UNITS[found[2] or ""] if found and (found[2] or "") in UNITS else None


def definition(root, path, name):
    """The text of a macro, of a text of the file that NAME has ("NAME", "5" and NAME = '5s'),
    or None."""
    text = (root / path).read_text()
    found = re.search(rf"^#define {name}[ \t]+((?:.*\\\n)*.*)$", text, re.M)
    if found:
        return re.sub(r"/\*.*", "", found[1], flags=re.S).replace("\\\n", " ").strip()
    found = re.search(rf'"{name}", "(\d+)"|\b{name} = \'(\d+)s\'', text)
    return (found[1] or found[2]) if found else None


def macro_of_headers(root, name):
    if name in LIBRE:
        return LIBRE[name]
    for folder in CODE:
        for path in tree_files(root / folder, ".h"):
            text = definition(root, path.relative_to(root), name)
            if text is not None:
                return text
    raise ValueError(f"{name} is not defined")


def value(root, path, text):
    """A constant expression of C, as a number."""
    text = re.sub(r"\((?:size_t|u?int\d+_t)\)", "", text)
    text = re.sub(r"\bU?INT64_C(\(\w+\))", r"\1", text)
    text = re.sub(r"\b(0[xX][0-9a-fA-F]+|\d+)(?:[uU]?[lL]{0,2}|[lL]{1,2}[uU]?)\b", r"\1", text)

    def number(node):
        if isinstance(node, ast.Expression):
            return number(node.body)
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](number(node.left), number(node.right))
        if isinstance(node, ast.Name):
            near = definition(root, path, node.id)
            return value(root, path, near if near is not None else macro_of_headers(root, node.id))
        raise ValueError(f"{text} is not understood")
    return number(ast.parse(text.replace("/", "//"), mode="eval"))


def keys(root):
    """Defaults of the configuration, {key: number}."""
    found = re.findall(r"^\| `(\w+)` \| `(\d+)([KMG]?)` \|", (root / KEYS).read_text(), re.M)
    return {key: int(n) * UNITS[unit and unit + "iB"] for key, n, unit in found}


def constant_faults(root, cells, defaults):
    what, limit, constant = cells[:3]
    said = amount(limit)
    if not constant:
        return
    if said is None:
        yield f"{what}: {limit} is no number with a known unit"
        return
    named = re.fullmatch(r"`(\w+)` in `([\w./-]+)`", constant)
    if not named:
        key = constant.strip("`")
        if defaults.get(key) != said:
            yield f"{what}: the default of {key} is {defaults.get(key)}, not {limit}"
        return
    name, path = named.groups()
    text = definition(root, path, name) if (root / path).is_file() else None
    if text is None:
        yield f"{what}: {path} does not define {name}"
        return
    unit = [SECONDS[word] for word in name.split("_") if word in SECONDS]
    real = value(root, path, text) * (unit[0] if unit else 1)
    if abs(real - said) > 1e-6:
        yield f"{what}: {name} is {real:g}, not {limit}"


def test_faults(root, cells, files):
    """Tests that do not exist. A case belongs to the file named before it."""
    text = ""
    for name in re.findall(r"`([^`]+)`", cells[4]):
        if "." in name:
            text = "".join(p.read_text() for p in files if p.name == name)
            if not text:
                yield f"{cells[0]}: there is no test {name}"
        elif not re.search(rf"\b{name}\(", text):
            yield f"{cells[0]}: there is no case {name}"
    if cells[4] and not re.fullmatch(r"(`[\w.-]+`[, ]*)+", cells[4]):
        yield f"{cells[0]}: {cells[4]} is no list of tests"


test_faults.__test__ = False


def faults(root):
    defaults = keys(root)
    files = list(tree_files(root / "tests", ".c", ".py"))
    for cells in rows((root / PAGE).read_text()):
        yield from constant_faults(root, cells, defaults)
        yield from test_faults(root, cells, files)


def test_the_page_is_as_the_code():
    page = (ROOT / PAGE).read_text()
    assert len(list(rows(page))) > 150
    assert list(faults(ROOT)) == []


@pytest.fixture
def tree(tmp_path):
    """A tree whose page has the row. @return a function of the row that gives what is wrong"""
    (tmp_path / "docs/reference").mkdir(parents=True)
    for folder in CODE:
        (tmp_path / folder).mkdir()
    (tmp_path / "tests").mkdir()
    (tmp_path / "docs/reference/configuration.md").write_text("| `body_limit` | `1M` | 512K to 1G | x |\n")
    (tmp_path / "base/clock.h").write_text("#define NS_PER_S  INT64_C(1000000000)\n")
    (tmp_path / "sip/a.c").write_text(
        "#define A_MAX (UINT64_C(64) << 10) /* bytes */\n#define B_NS  (3 * NS_PER_S)\n"
        "#define C_MAX \\\n\t((size_t)2 * A_MAX - 1u)\n#define D_MS 500L\n"
        '\t{"connect_timeout", "5"},\n"SET lock_timeout = \'7s\'; "\n')
    (tmp_path / "tests/test-a.c").write_text("static void test_full(void **state)\n")

    def wrong(row):
        (tmp_path / PAGE).write_text(f"| what | at most |\n|---|---|\n{row}\n")
        return list(faults(tmp_path))
    return wrong


@pytest.mark.parametrize("row", [
    "| x | 64 KiB | `A_MAX` in `sip/a.c` | refused | `test-a.c` `test_full` |",
    "| x | 3 s | `B_NS` in `sip/a.c` | refused | `test-a.c` |",
    "| x | 131071 | `C_MAX` in `sip/a.c` | refused | |",
    "| x | 500 ms | `D_MS` in `sip/a.c` | refused | |",
    "| x | 0.5 s | `D_MS` in `sip/a.c` | refused | |",
    "| x | 5 s | `connect_timeout` in `sip/a.c` | refused | |",
    "| x | 7 s | `lock_timeout` in `sip/a.c` | refused | |",
    "| x | 1 MiB | `body_limit` | 413 | |",
    "| x | | | as the system says | |"])
def test_a_right_row(tree, row):
    assert tree(row) == []


@pytest.mark.parametrize("row, said", [
    ("| x | 65 KiB | `A_MAX` in `sip/a.c` | refused | |", "x: A_MAX is 65536, not 65 KiB"),
    ("| x | 3 ms | `B_NS` in `sip/a.c` | refused | |", "x: B_NS is 3, not 3 ms"),
    ("| x | 8 s | `lock_timeout` in `sip/a.c` | refused | |", "x: lock_timeout is 7, not 8 s"),
    ("| x | 64 KiB | `E_MAX` in `sip/a.c` | refused | |", "x: sip/a.c does not define E_MAX"),
    ("| x | 64 KiB | `A_MAX` in `sip/b.c` | refused | |", "x: sip/b.c does not define A_MAX"),
    ("| x | many | `A_MAX` in `sip/a.c` | refused | |", "x: many is no number with a known unit"),
    ("| x | 2 MiB | `body_limit` | 413 | |", "x: the default of body_limit is 1048576, not 2 MiB"),
    ("| x | 2 MiB | `no_limit` | 413 | |", "x: the default of no_limit is None, not 2 MiB"),
    ("| x | 64 KiB | `A_MAX` in `sip/a.c` | refused | `test-b.c` |", "x: there is no test test-b.c"),
    ("| x | 64 KiB | `A_MAX` in `sip/a.c` | refused | `test-a.c` `test_fuller` |",
     "x: there is no case test_fuller"),
    ("| x | 64 KiB | `A_MAX` in `sip/a.c` | refused | later |", "x: later is no list of tests")])
def test_a_wrong_row_is_found(tree, row, said):
    assert tree(row) == [said]

"""The structure holds, and each check fails on a planted violation."""
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import lint  # noqa: E402
import structure  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
ROWS = sorted(lint.arrow_table(ROOT))


@pytest.fixture
def tree(tmp_path):
    """The table and every folder of it, without code."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    for row in ROWS:
        (tmp_path / row).mkdir(parents=True, exist_ok=True)
    return tmp_path


def test_the_table_has_a_row_for_every_folder_with_code():
    folders = {str(Path(path).parent) for path in structure.sources(ROOT)}
    assert folders <= set(ROWS)
    assert list(structure.table_circles(ROOT)) == []


def test_includes_follow_the_arrows():
    assert list(structure.back_arrows(ROOT)) == []


def test_no_circle_is_large():
    assert list(structure.large_circles(ROOT)) == []


def test_no_struct_is_shown_to_many():
    assert list(structure.read_structs(ROOT, structure.SHOWN)) == []


@pytest.mark.parametrize("folder", ROWS)
def test_a_planted_include_of_each_other_room_is_found(tree, folder):
    allowed = [*lint.arrow_table(tree)[folder], folder]
    (tree / folder / "planted.c").write_text(
        "".join(f'#include "{other}/planted.h"\n' for other in ROWS))
    assert list(structure.back_arrows(tree)) == sorted(
        f"{folder}/planted.c:{n}: {folder} must not include {other}/planted.h"
        for n, other in enumerate(ROWS, 1) if other not in allowed)


def test_a_circle_in_the_table_is_found(tree):
    page = next(tree.glob("docs/**/architecture.md"))
    page.write_text(page.read_text() + "\n| base/a | x | base/b |\n| base/b | x | base/a |\n")
    assert list(structure.table_circles(tree)) == ["the arrow table has a circle: base/a, base/b"]


def test_an_internal_header_of_another_room_is_found(tree):
    (tree / "sip" / "ua" / "x_internal.h").write_text("")
    (tree / "sip" / "ua" / "x.c").write_text('#include "sip/ua/x_internal.h"\n')
    (tree / "agent" / "x.c").write_text('#include "sip/ua/x_internal.h"\n')
    assert any("x_internal.h is of another folder" in f for f in structure.back_arrows(tree))


def plant_circle(tree, count):
    """Modules that call each other in a circle, through one header."""
    (tree / "base" / "all.h").write_text("".join(f"int f{n}x(void);\n" for n in range(count)))
    for n in range(count):
        (tree / "base" / f"m{n}.c").write_text(
            f'#include "base/all.h"\n\nint f{n}x(void)\n{{\n\treturn f{(n + 1) % count}x();\n}}\n')


def test_a_circle_of_calls_is_found(tree):
    plant_circle(tree, 3)
    assert list(structure.large_circles(tree)) == []
    plant_circle(tree, 4)
    assert list(structure.large_circles(tree)) == [
        "a circle of 4 modules, at most 3: base/m0 base/m1 base/m2 base/m3"]


def test_a_circle_of_includes_is_found(tree):
    for n in range(4):
        (tree / "base" / f"m{n}.h").write_text(f'#include "base/m{(n + 1) % 4}.h"\n')
    assert len(list(structure.large_circles(tree))) == 1


def test_a_struct_shown_to_many_is_found(tree):
    (tree / "base" / "wide.h").write_text("struct wide {\n\tint a;\n};\nstruct wide_params {\n\tint a;\n};\n")
    for n in range(11):
        assert list(structure.read_structs(tree)) == []
        (tree / "base" / f"r{n}.c").write_text('#include "base/wide.h"\n')
    assert list(structure.read_structs(tree)) == [
        "base/wide.h: shows the fields of wide to 11 files, at most 10"]


def test_an_exception_that_is_not_needed_is_found(tree):
    (tree / "base" / "wide.h").write_text("struct wide {\n\tint a;\n};\n")
    for n in range(10):
        (tree / "base" / f"r{n}.c").write_text('#include "base/wide.h"\n')
    assert list(structure.read_structs(tree, {"base/wide.h": "why"})) == [
        "tests/lint/structure.py: base/wide.h needs no exception"]
    (tree / "base" / "r10.c").write_text('#include "base/wide.h"\n')
    assert list(structure.read_structs(tree, {"base/wide.h": "why"})) == []

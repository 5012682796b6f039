"""docs/reference/log-messages.md explains every log line at warning or above."""
import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tool():
    spec = importlib.util.spec_from_file_location("log_messages", ROOT / "tools/log-messages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def code(tmp_path):
    """Write the one source file of a tree. @return its root"""
    def write(text):
        (tmp_path / "agent").mkdir()
        (tmp_path / "agent/a.c").write_text(text)
        return tmp_path
    return write


def test_the_page_is_up_to_date(tool):
    tool.main(check=True)


def test_lines_are_read_from_the_code(tool, code):
    root = code('''
/* log_error("of a comment") */
	log_error("run=%s role=%s cannot: %s"
		  "; go on", a, b, c);
	log_warning("%u of %" PRIu64 " \\"x\\" 100%%, %-*.*f left\\n", a, b);
	if (x) log_info("not this");
	log_error(  "lease=%s: %s/" FILE_NAME " is lost", a, b);
''')
    assert tool.lines_of_code(root)["Agent"] == {
        "cannot: ...; go on": {"error"},
        '... of ... "x" 100%, ... left\\n': {"warning"},
        ".../... is lost": {"error"}}


def test_a_text_that_is_not_literal_is_found(tool, code):
    root = code("\n\tlog_error(text, a);\n")
    with pytest.raises(SystemExit, match="agent/a.c:2: log_error.. without a literal"):
        tool.lines_of_code(root)


@pytest.mark.parametrize("entries, said", [
    ({}, "no entry for the line: new: ..."),
    ({"new: ...": ["means", "do"], "old": ["means", "do"]}, "no line has the text of the entry: old"),
    ({"new: ...": ["means"]}, "not two texts"),
    ({"new: ...": ["means", ""]}, "not two texts")])
def test_what_is_missing_is_said(tool, code, tmp_path, monkeypatch, entries, said):
    root = code('log_error("new: %s", a);')
    table = tmp_path / "table.yaml"
    table.write_text(tool.yaml.safe_dump(entries))
    monkeypatch.setattr(tool, "TABLE", table)
    found = tool.lines_of_code(root)
    monkeypatch.setattr(tool, "lines_of_code", lambda: found)
    with pytest.raises(SystemExit, match=said):
        tool.main(check=True)


def test_an_old_page_is_found(tool, tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    found = {"Agent": {"x": {"error"}}}
    table = tmp_path / "table.yaml"
    table.write_text("x: [means, do]\n")
    monkeypatch.setattr(tool, "TABLE", table)
    monkeypatch.setattr(tool, "lines_of_code", lambda: found)
    tool.main(check=False)
    tool.main(check=True)
    (tmp_path / "page.md").write_text("former")
    with pytest.raises(SystemExit, match="is not up to date"):
        tool.main(check=True)

"""A database of another schema is refused as it is."""
import sqlite3
import subprocess

import pytest

from controller import Controller


@pytest.mark.parametrize("change, shown", [
    ("UPDATE setting SET value='1' WHERE name='schema_version'", "version 1 ("),
    ("DELETE FROM setting WHERE name='schema_print'", "(unmarked)"),
    ("UPDATE setting SET value='0' WHERE name='schema_print'", "(0)"),
    ("DELETE FROM setting", "version unknown"),
])
def test_another_schema_is_refused(change, shown):
    c = Controller()
    try:
        c.start()
        c.stop()
        path = c.state_dir / "offhook.db"
        with sqlite3.connect(path) as db:
            now = dict(db.execute("SELECT name, value FROM setting WHERE name "
                                  "LIKE 'schema%'"))
            db.execute("DROP TABLE upload")
            db.execute(change)
            before = list(db.iterdump())
        db.close()
        found = subprocess.run([c.program, "--config", c.conf_file],
                               capture_output=True, text=True, timeout=30,
                               check=False)
        assert found.returncode == 1
        assert shown in found.stderr
        assert f"needs version {now['schema_version']} " \
            f"({now['schema_print']})" in found.stderr
        assert "move" in found.stderr
        with sqlite3.connect(path) as db:
            assert list(db.iterdump()) == before
        db.close()
    finally:
        c.close()


def test_a_file_that_is_not_ours_is_refused():
    c = Controller()
    try:
        with sqlite3.connect(c.state_dir / "offhook.db") as db:
            db.execute("CREATE TABLE x (y)")
        db.close()
        with pytest.raises(Exception) as e:
            c.start()
        assert isinstance(e.value, subprocess.CalledProcessError)
        assert "setting" in e.value.stderr
    finally:
        c.close()

"""States of earlier schemas, made by make_state.py: they are installed and compared."""
import json
import shutil
import sqlite3
from pathlib import Path

from fake_agent import FakeAgent

STATES = Path(__file__).parent / "state"

# Members whose value depends on the time of the request.
VOLATILE = {
    "state", "last_seen", "in_use",          # of an agent: all are offline
    "last_used_at",                          # of the key that is used
    "next_at", "next_times",                 # of schedules
}
# Lists that may be longer in newer versions.
GROWING = {"history"}


def dump(path):
    """(lines of the schema, {table: rows as dicts}) of a database that no process has
    open."""
    db = sqlite3.connect(path)
    db.row_factory = sqlite3.Row
    schema = sorted(" ".join(row["sql"].split()) for row in db.execute(
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'"))
    tables = [row["name"] for row in db.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table'")]
    rows = {t: [dict(row) for row in db.execute(f'SELECT * FROM "{t}"')] for t in tables}
    db.close()
    return schema, rows


def made_by(number, path):
    """The database of a state, as its program left it."""
    db = sqlite3.connect(path)
    db.executescript((STATES / str(number) / "offhook.sql").read_text())
    db.execute("PRAGMA journal_mode = WAL")
    db.close()


class State:
    """Use: state = State(10); state.put(controller), before the controller starts."""

    def __init__(self, number):
        self.number = number
        self.folder = STATES / str(number)
        kept = json.loads((self.folder / "answers.json").read_text())
        self.answers, self.files, self.live = kept["answers"], kept["files"], kept["live"]
        self.conf, self.secrets = kept["conf"], kept["secrets"]

    def put(self, c):
        made_by(self.number, c.state_dir / "offhook.db")
        key = shutil.copy(self.folder / "master.key", c.state_dir)
        Path(key).chmod(0o600)
        for name in ("artifacts", "appimages"):
            shutil.copytree(self.folder / name, c.state_dir / name)
        c.conf.update(self.conf)
        c.keys = {name: tuple(key) for name, key in self.secrets["keys"].items()}

    def expected(self, path):
        """The expected response of this version.

        The status of a run now follows its retries (docs/reference/api.md). It did not
        when the state was made."""
        later = {was["run"]["retry_of"]: sid for p, was in self.answers.items()
                 if (sid := p.removeprefix("/runs/")) != p and "/" not in sid}
        parts = path.split("/")
        if parts[1] == "runs" and parts[3:] == ["status"]:
            while parts[2] in later:
                parts[2] = later[parts[2]]
        return self.answers["/".join(parts)]

    def agent(self, c):
        """The enrolled agent with its secret."""
        return FakeAgent(c, auth=self.secrets["agent"])


def keyed(entries):
    return isinstance(entries, list) and entries != [] and all(
        isinstance(entry, dict) and "key" in entry for entry in entries)


def differences(old, new, at=""):
    """Differences between the old response and the new one. New members are allowed."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name, value in old.items():
            if name in VOLATILE:
                continue
            if name not in new:
                yield f"{at}/{name}: is missing"
            elif name in GROWING:
                if any(entry not in new[name] for entry in value):
                    yield f"{at}/{name}: {value} became {new[name]}"
            else:
                yield from differences(value, new[name], f"{at}/{name}")
    elif keyed(old) and keyed(new):
        # a test's parameters: a newer version has more of them, in the order of its
        # documentation, and those that are new have their default
        was, now = ({entry["key"]: entry for entry in entries} for entries in (old, new))
        yield from differences(was, now, at)
        for key in now.keys() - was.keys():
            if now[key]["value"] != now[key]["default"]:
                yield f"{at}/{key}: is not its default"
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (was, now) in enumerate(zip(old, new)):
            yield from differences(was, now, f"{at}/{i}")
    elif old != new:
        yield f"{at}: {old!r} became {new!r}"

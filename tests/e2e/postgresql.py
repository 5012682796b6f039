"""A PostgreSQL server of the tests: in a temporary folder, at a Unix socket only."""
import atexit
import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg2

DATABASES = itertools.count(1)
SETTINGS = {
    # nothing has to survive a crash of the machine
    "fsync": "off", "full_page_writes": "off",
    "listen_addresses": "''", "max_connections": "300", "shared_buffers": "'32MB'",
    "jit": "off", "log_min_messages": "warning",
}


def programs():
    """The newest version's folder; Debian does not put it in PATH."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"),
                   key=lambda path: int(path.parts[-3]))
    assert found, "no PostgreSQL server (packaging/packages-test.txt)"
    return found[-1].parent


class Server:
    """initdb, start, one database after another; close() leaves nothing.

    data: an empty folder for the data instead of a temporary one; initdb: more arguments; settings: more of
    postgresql.conf."""

    def __init__(self, data=None, initdb=(), settings=None):
        self.programs = programs()
        self._dir = tempfile.TemporaryDirectory(prefix="offhook-pg-")
        self.dir = Path(self._dir.name)
        self.data = data or self.dir / "data"
        self.log_file = self.dir / "log"
        self.process = None
        # the server refuses to run as root
        self.user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] \
            if os.geteuid() == 0 else []
        if self.user:
            shutil.chown(self.dir, "postgres", "postgres")
            self.dir.chmod(0o755)  # the tests' programs may run as others
        self.run("initdb", "--pgdata", self.data, "--username=offhook", "--encoding=UTF8",
                  "--locale=C.UTF-8", "--auth=trust", "--no-sync", "--no-instructions",
                  *initdb)
        with open(self.data / "postgresql.conf", "a", encoding="ascii") as conf:
            conf.writelines(f"{name} = {value}\n" for name, value in {**SETTINGS, **(settings or {})}.items())
            conf.write(f"unix_socket_directories = '{self.dir}'\n")

    def run(self, program, *args):
        """A program of PostgreSQL that must succeed. @return what it prints"""
        return subprocess.run([*self.user, self.programs / program, *map(str, args)],
                              check=True, capture_output=True, text=True, cwd=self.dir).stdout

    def start(self):
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(
                [*self.user, self.programs / "postgres", "-D", self.data], stdout=log,
                stderr=log, cwd=self.dir)
        until = time.monotonic() + 60
        while not self.is_ready():
            assert self.process.poll() is None, self.log_file.read_text()
            assert time.monotonic() < until, self.log_file.read_text()
            time.sleep(0.05)
        return self

    def is_ready(self):
        return subprocess.run([self.programs / "pg_isready", "-q", "-h", self.dir],
                              check=False).returncode == 0

    def sql(self, text, database="postgres"):
        """@return what psql prints: a line a row, columns separated by |"""
        return self.run("psql", "-h", self.dir, "-U", "offhook", "-d", database, "-qAtX",
                        "-v", "ON_ERROR_STOP=1", "-c", text).strip()

    def stop(self, how=signal.SIGINT):
        """SIGINT: it closes its connections and ends. SIGQUIT: as after a crash."""
        self.process.send_signal(how)
        self.process.wait(60)
        self.process = None

    def uri(self, database, **options):
        return f"postgresql://offhook@/{database}?" + "&".join(
            f"{name}={value}" for name, value in {"host": self.dir, **options}.items())

    def create(self):
        """@return the name of a new database"""
        name = f"offhook{next(DATABASES)}"
        self.sql(f"CREATE DATABASE {name}")
        return name

    def dump(self, name):
        """@return all rows, as SQL"""
        return self.run("pg_dump", "-h", self.dir, "-U", "offhook", name)

    def drop(self, name):
        self.sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def close(self):
        if self.process:
            self.stop(signal.SIGQUIT)
        self._dir.cleanup()


class Connection:
    """A connection with the methods of sqlite3's that tests use: "?" for values, and
    columns of bytes as bytes."""

    def __init__(self, uri):
        self._connection = psycopg2.connect(uri)
        self._inserted = False

    def execute(self, statement, values=()):
        cursor = self._connection.cursor()
        self._inserted |= statement.lstrip().upper().startswith("INSERT")
        # without values "%" is no mark
        cursor.execute(statement.replace("%", "%%").replace("?", "%s") if values else statement,
                       [bytes(v) if isinstance(v, bytearray) else v for v in values] or None)
        return Rows(cursor)

    def executemany(self, statement, rows):
        for row in rows:
            self.execute(statement, row)

    def commit(self):
        """Ids that a test chose are not given again. Ids that a controller took meanwhile are not
        either: a counter is never set back, and not touched by a test that only reads."""
        if self._inserted:
            for table, column in self.execute(
                    "SELECT table_name, column_name FROM information_schema.columns WHERE "
                    "table_schema = current_schema() AND is_identity = 'YES'").fetchall():
                counter = f"pg_get_serial_sequence('{table}', '{column}')"
                self.execute(f"SELECT setval({counter}, max({column})) FROM {table} "
                             f"HAVING max({column}) > coalesce(pg_sequence_last_value(CAST({counter} AS regclass)), 0)")
        self._inserted = False
        self._connection.commit()

    def close(self):
        self._connection.close()

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        if not failure:
            self.commit()


class Rows:
    def __init__(self, cursor):
        self._cursor = cursor

    def fetchall(self):
        return [tuple(bytes(v) if isinstance(v, memoryview) else v for v in row)
                for row in self._cursor.fetchall()]

    def fetchone(self):
        rows = self.fetchall()
        return rows[0] if rows else None

    @property
    def lastrowid(self):
        """The id that the last INSERT without one was given."""
        asked = self._cursor.connection.cursor()
        asked.execute("SELECT lastval()")
        return asked.fetchone()[0]

    def __iter__(self):
        return iter(self.fetchall())


_servers = []


def server():
    """The one of this test session; it ends with it."""
    if not _servers:
        _servers.append(Server())
        atexit.register(_servers[0].close)
        _servers[0].start()
    return _servers[0]

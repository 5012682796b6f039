"""offhook-controller rotate-key: another master key for all secrets, also through a power cut.

Boxes are opened here with libsodium itself, by the key file as the documents describe it."""
import contextlib
import ctypes
import hashlib
import shutil
import sqlite3
import subprocess
import time

import pytest

from controller import Controller
from test_api_server import make_test

SODIUM = ctypes.CDLL("libsodium.so.23")
NONCE, TAG = 24, 16
BOXES = {("credential", "password_box"): b"credential",
         ("test", "callback_secret_box"): b"callback secret",
         ("run", "retry_box"): b"run retry", ("run", "callback_box"): b"callback",
         ("project_run", "callback_box"): b"callback",
         ("callback", "request_box"): b"callback request",
         ("capacity_search", "test_box"): b"capacity test",
         ("lease", "secret_box"): b"lease spec"}
ACCOUNTS = 400


def box_key(key_file):
    """crypto_kdf_derive_from_key(): BLAKE2b with the number of the key and a context."""
    master = bytes.fromhex(key_file.read_text().splitlines()[0])
    return hashlib.blake2b(key=master, digest_size=32, salt=(2).to_bytes(16, "little"),
                           person=b"offhook1".ljust(16, b"\0")).digest()


def seal(key, purpose, plain, nonce):
    box = ctypes.create_string_buffer(len(plain) + TAG)
    assert SODIUM.crypto_aead_xchacha20poly1305_ietf_encrypt(
        box, None, plain, ctypes.c_ulonglong(len(plain)), purpose,
        ctypes.c_ulonglong(len(purpose)), None, nonce, key) == 0
    return nonce + box.raw


def opened(key, purpose, box):
    """@return the plain text; None: another key"""
    plain = ctypes.create_string_buffer(len(box))
    if SODIUM.crypto_aead_xchacha20poly1305_ietf_decrypt(
            plain, None, None, box[NONCE:], ctypes.c_ulonglong(len(box) - NONCE), purpose,
            ctypes.c_ulonglong(len(purpose)), box[:NONCE], key):
        return None
    return plain.raw[:len(box) - NONCE - TAG]


class Data:
    """The data of a stopped controller, and its program."""

    def __init__(self, folder, program):
        self.folder, self.program = folder, program
        self.conf = folder / "c.conf"
        self.conf.write_text(f'state_dir = "{folder}"\nport = 0\n')
        self.key_file = folder / "master.key"

    def copy(self, folder):
        shutil.copytree(self.folder, folder)
        return Data(folder, self.program)

    def command(self, *words):
        return subprocess.run([self.program, "--config", self.conf, *words], timeout=120,
                              capture_output=True, text=True, check=False)

    def rotate(self):
        done = self.command("rotate-key")
        assert done.returncode == 0, done.stderr
        return done

    def opens(self):
        """Let the program open its data, as a start does."""
        done = self.command("--create-key", str(time.monotonic_ns()))
        assert done.returncode == 0, done.stderr
        return done.stderr

    @contextlib.contextmanager
    def database(self):
        with contextlib.closing(sqlite3.connect(self.folder / "offhook.db")) as db, db:
            yield db

    def plain(self):
        """{(table, column, id): plain text, None: another key} of all boxes."""
        key = box_key(self.key_file)
        with self.database() as db:
            return {(table, column, row): opened(key, purpose, box)
                    for (table, column), purpose in BOXES.items()
                    for row, box in db.execute(
                        f"SELECT id, {column} FROM {table} WHERE {column} IS NOT NULL")}

    def former(self):
        return sorted(self.folder.glob("master.key.replaced-*"))

    def names(self):
        return {p.name for p in self.folder.glob("master.key*")}


def fill(db, table, column, box):
    """A row with a box in each column: the first row if there is one, else a new one."""
    row = db.execute(f"SELECT id FROM {table} ORDER BY id LIMIT 1").fetchone()
    if row:
        db.execute(f"UPDATE {table} SET {column} = ? WHERE id = ?", (box, row[0]))
        return
    needed = {name: 0 for _, name, _, not_null, default, key
              in db.execute(f"PRAGMA table_info({table})")
              if not_null and default is None and not key}
    needed[column] = box
    db.execute(f"INSERT INTO {table} ({', '.join(needed)}) VALUES "
               f"({', '.join('?' * len(needed))})", list(needed.values()))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Data with a box in every column that has them, and many accounts."""
    with Controller() as c:
        c.api("POST", "/credential-pools", {"name": "many", "credentials": [
            {"username": f"u{n}", "password": f"pass-{n}"} for n in range(ACCOUNTS)]})
        _, test = make_test(c)
        c.api("POST", f"/tests/{test['id']}/run", {})
        assert c.stop() == 0
        folder = tmp_path_factory.mktemp("keys") / "made"
        shutil.copytree(c.state_dir, folder)
        data = Data(folder, c.program)
        data.api_key = c.keys["admin"]
        key = box_key(data.key_file)
        with data.database() as db:
            db.execute("PRAGMA ignore_check_constraints = ON")
            for n, ((table, column), purpose) in enumerate(BOXES.items()):
                if (table, column) != ("credential", "password_box"):
                    fill(db, table, column,
                         seal(key, purpose, f"{table} {column}".encode(), bytes([n]) * NONCE))
        c.start()
        yield data


@pytest.fixture
def data(made, tmp_path):
    return made.copy(tmp_path / "data")


def expect_all(data, before):
    after = data.plain()
    assert None not in after.values()
    assert after == before


def test_the_list_of_boxes_is_complete(data):
    with data.database() as db:
        columns = {(table, name) for table, in db.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'")
            for _, name, *_ in db.execute(f"PRAGMA table_info({table})")
            if name.endswith("_box")}
    assert columns == set(BOXES)
    before = data.plain()
    assert {(t, c) for t, c, _ in before} == set(BOXES)
    assert None not in before.values()


def test_all_secrets_get_the_new_key(data):
    before, key = data.plain(), data.key_file.read_text()
    said = data.rotate().stdout
    assert f"{len(before)} secrets are encrypted" in said
    expect_all(data, before)
    former, = data.former()
    assert former.read_text() == key and str(former) in said
    assert data.key_file.read_text() != key
    assert data.names() == {"master.key", former.name}
    assert oct(data.key_file.stat().st_mode & 0o777) == "0o600"
    # no box is under the former key
    data.key_file.write_text(key)
    assert set(data.plain().values()) == {None}


def test_keys_and_tokens_stay_valid(made, tmp_path):
    data = made.copy(tmp_path / "data")
    data.rotate()
    data.rotate()
    with Controller() as c:
        assert c.stop() == 0
        for name in ("offhook.db", "master.key"):
            shutil.copy(data.folder / name, c.state_dir / name)
        for name in ("offhook.db-wal", "offhook.db-shm"):
            (c.state_dir / name).unlink(missing_ok=True)
        c.keys["admin"] = made.api_key
        c.start()
        assert c.api("GET", "/credential-pools")["total"] >= 1


def test_a_running_controller_keeps_its_key():
    with Controller() as c:
        key = (c.state_dir / "master.key").read_text()
        done = subprocess.run([c.program, "--config", c.conf_file, "rotate-key"], timeout=60,
                              capture_output=True, text=True, check=False)
        assert done.returncode == 1 and "in use by another process" in done.stderr
        assert (c.state_dir / "master.key").read_text() == key
        assert not list(c.state_dir.glob("master.key.*"))


def test_nothing_is_made_where_there_is_nothing(tmp_path, made):
    empty = tmp_path / "empty"
    empty.mkdir()
    data = Data(empty, made.program)
    done = data.command("rotate-key")
    assert done.returncode == 1 and "is this the configuration" in done.stderr
    assert [p.name for p in empty.iterdir()] == ["c.conf"]
    assert data.command("rotate-key", "file").returncode == 2


def test_secrets_of_another_key_stay_as_they_are(data):
    with data.database() as db:
        db.execute("UPDATE credential SET password_box = ? WHERE id = "
                   "(SELECT min(id) FROM credential)",
                   (seal(b"x" * 32, b"credential", b"foreign", b"n" * NONCE),))
    before = data.plain()
    assert list(before.values()).count(None) == 1
    assert "1 secrets were of another master key" in data.rotate().stderr
    assert data.plain() == before


# ---- power cuts ----

@pytest.fixture
def rotated(data, tmp_path):
    other = data.copy(tmp_path / "rotated")
    other.rotate()
    return other


def test_cut_before_the_transaction(data, rotated):
    before, key = data.plain(), data.key_file.read_text()
    shutil.copy(rotated.key_file, data.folder / "master.key.new")
    done = data.command("backup", data.folder / "backup")
    assert done.returncode == 1 and "start the controller" in done.stderr
    assert "it is as it was" in data.opens()
    assert data.key_file.read_text() == key and data.names() == {"master.key"}
    expect_all(data, before)


@pytest.mark.parametrize("linked", [False, True])
def test_cut_after_the_transaction(rotated, linked):
    before, key = rotated.plain(), rotated.key_file.read_text()
    former, = rotated.former()
    rotated.key_file.rename(rotated.folder / "master.key.new")
    shutil.copy(former, rotated.key_file)
    if not linked:
        former.unlink()
    assert "was interrupted after it" in rotated.opens()
    assert rotated.key_file.read_text() == key
    assert rotated.former() and "master.key.new" not in rotated.names()
    expect_all(rotated, before)


def test_cut_while_the_key_is_written(data):
    before, key = data.plain(), data.key_file.read_text()
    (data.folder / "master.key.part").write_text(key[:20])
    data.opens()
    assert data.key_file.read_text() == key
    data.rotate()
    expect_all(data, before)
    assert "master.key.part" not in data.names()


def test_next_rotation_completes_an_interrupted_one(data, rotated):
    before = rotated.plain()
    former, = rotated.former()
    rotated.key_file.rename(rotated.folder / "master.key.new")
    former.rename(rotated.key_file)
    rotated.rotate()
    expect_all(rotated, before)


def test_killed_at_any_moment(data, tmp_path):
    before = data.plain()
    whole = data.copy(tmp_path / "whole")
    began = time.monotonic()
    whole.rotate()
    took = time.monotonic() - began
    ends = set()
    for n in range(24):
        one = data.copy(tmp_path / f"cut{n}")
        key = one.key_file.read_text()
        process = subprocess.Popen([one.program, "--config", one.conf, "rotate-key"],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(took * n / 20)
        process.kill()
        process.wait()
        one.opens()
        expect_all(one, before)
        ends.add(one.key_file.read_text() == key)
        shutil.rmtree(one.folder)
    print(f"former key: {True in ends}, new key: {False in ends}")


def test_backups_need_the_key_of_their_time(data, tmp_path):
    backup = tmp_path / "backup"
    assert data.command("backup", backup).returncode == 0
    data.rotate()
    former, = data.former()
    done = data.command("restore", "--force", backup)
    assert done.returncode == 1 and "is not the master key" in done.stderr
    shutil.copy(former, data.key_file)
    done = data.command("restore", "--force", backup)
    assert done.returncode == 0, done.stderr
    assert None not in data.plain().values()

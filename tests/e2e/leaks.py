"""Secrets that a test gave to a controller or got from it: they must be neither in its log, its
database and its files, nor in an agent's."""
import json
import mmap

# members of bodies whose text is a secret
GIVEN = {"password", "callback_secret", "turn_password"}
ANSWERED = {"secret", "join_token"}


def _collect(found, value, names):
    if isinstance(value, dict):
        for name, inner in value.items():
            if name.rsplit(".", 1)[-1] in names and isinstance(inner, str) and tells(inner):
                found.add(inner)
            _collect(found, inner, names)
    elif isinstance(value, list):
        for inner in value:
            _collect(found, inner, names)


def tells(text):
    """Whether a text is found only where somebody put it: "secret" is in any database."""
    return len(text) >= 8 and not text.isalpha() and not text.isspace()


def of_exchange(response):
    """The secrets of a request that was carried out and of its answer."""
    found = set()
    for body, names in ((response.request.body, GIVEN), (response.content, ANSWERED)):
        try:
            _collect(found, json.loads(body or b"null"), names)
        except (ValueError, TypeError, RecursionError):
            pass  # not JSON, or nested as no record is
    return found if response.ok else set()


def search(secrets, paths):
    """[(path, secret)] of each file that has one; folders are searched whole."""
    found = []
    for path in paths:
        for file in path.rglob("*") if path.is_dir() else [path]:
            if not file.is_file() or file.stat().st_size == 0:
                continue
            with open(file, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as data:
                found += [(str(file), s) for s in secrets if data.find(s.encode()) >= 0]
    return found

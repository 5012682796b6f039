"""Uploads: forms with a file, base64, and names that look like paths."""
import base64
import concurrent.futures
import hashlib
import os
import socket
import time

import pytest
import requests

from controller import Controller
from test_api_basics import problem
from test_api_server import make_test


@pytest.fixture(scope="module")
def server():
    c = Controller(upload_limit="3M")
    c.create_key("reader", "read")
    with c:
        yield c


@pytest.fixture
def unique(request):
    return request.node.name


def upload(server, name, content, filename="a.wav", media_type="audio/wav", **fields):
    return server.request("POST", "/appimages", data={"name": name, **fields},
                          files={"file": (filename, content, media_type)})


def kept(server):
    return sorted(os.listdir(server.state_dir / "appimages"))


@pytest.mark.parametrize("size", [0, 1, 4096, 100001, 2 << 20])
def test_file_comes_back(server, unique, size):
    content = os.urandom(size)
    kind = "prompt" if size else "application"
    answer = upload(server, unique, content, kind=kind, version="2")
    assert answer.status_code == 201, answer.text
    image = answer.json()["appimage"]
    path = f"/appimages/{image['id']}"
    assert answer.headers["Location"] == "/api/v2" + path
    assert (image["size"], image["sha256"]) == (size, hashlib.sha256(content).hexdigest())
    assert (image["name"], image["version"], image["kind"], image["filename"],
            image["media_type"]) == (unique, "2", kind, "a.wav", "audio/wav")
    assert image["created_at"]
    assert server.api("GET", path)["appimage"] == image
    assert image in server.api("GET", "/appimages?count=1000")["appimages"]
    got = server.request("GET", path + "/content")
    assert got.content == content and got.headers["X-Request-Id"]
    assert got.headers["Content-Disposition"] == 'attachment; filename="a.wav"'
    head = server.request("HEAD", path + "/content")
    assert head.headers["Content-Length"] == str(size) and not head.content


@pytest.mark.parametrize("send", ["json", "data"])
def test_inline_content(server, unique, send):
    content = os.urandom(1000)
    answer = server.request("POST", "/appimages", **{send: {
        "name": unique, "content": base64.b64encode(content).decode(), "filename": "b.gsm"}})
    assert answer.status_code == 201, answer.text
    image = answer.json()["appimage"]
    assert image["media_type"] == "application/octet-stream"
    assert server.request("GET", f"/appimages/{image['id']}/content").content == content


@pytest.mark.parametrize("filename", [
    "../../x", "/etc/passwd", "..", "a\\..\\b", "new-1", "1", "a\";x=\"y", "é" * 100])
def test_file_name_is_no_path(server, unique, filename):
    before = set(os.listdir(server.state_dir))
    answer = upload(server, f"path {len(filename)} {filename[:20]}", b"x", filename)
    assert answer.status_code == 201, answer.text
    number = answer.json()["appimage"]["id"]
    assert set(os.listdir(server.state_dir)) == before
    assert str(number) in kept(server)
    assert all(name.isdigit() for name in kept(server))
    got = server.request("GET", f"/appimages/{number}/content")
    shown = got.headers["Content-Disposition"]
    assert got.content == b"x" and shown.count('"') == 2 and "/" not in shown


@pytest.mark.parametrize("fields, pointer", [
    ({}, "/name"), ({"name": "x"}, "/content"), ({"name": "x", "content": "!"}, "/content"),
    ({"name": "x", "content": "", "kind": "virus"}, "/kind"),
    ({"name": "x", "content": "", "media_type": "a\r\nb/c"}, "/media_type"),
    ({"name": "x", "content": "", "size": 1}, "/size")])
def test_wrong_fields(server, fields, pointer):
    before = kept(server)
    errors = problem(server.request("POST", "/appimages", fields), 422)["errors"]
    assert pointer in [e["pointer"] for e in errors]
    assert kept(server) == before


def test_limits(server, unique):
    before = kept(server)
    problem(upload(server, unique, b"x" * (4 << 20)), 413)
    problem(server.request("POST", "/appimages", data=(b"x" * 65536 for _ in range(64)),
                           headers={"Content-Type": "multipart/form-data; boundary=x"}), 413)
    # without a file the limit of other bodies applies
    problem(server.request("POST", "/appimages", {"name": unique, "content": "A" * (2 << 20)}),
            413)
    problem(server.request("POST", "/appimages", files=[
        ("file", ("a", b"1")), ("more", ("b", b"2")), ("name", (None, "x"))]), 422)
    problem(server.request("POST", "/appimages", key=None, data=b"x" * 100000), 401)
    assert kept(server) == before


def test_name_and_version_are_unique(server, unique):
    assert upload(server, unique, b"1", version="1").status_code == 201
    before = kept(server)
    problem(upload(server, unique, b"1", version="1"), 409)
    assert kept(server) == before
    assert upload(server, unique, b"1", version="2").status_code == 201


def test_put_changes_the_metadata_only(server, unique):
    made = upload(server, unique, b"1")
    image = made.json()["appimage"]
    path = f"/appimages/{image['id']}"
    changed = server.api("PUT", path, {"name": unique + "2", "version": "3", "kind": "prompt"},
                         headers={"If-Match": made.headers["ETag"]})["appimage"]
    assert changed["sha256"] == image["sha256"] and changed["filename"] == "a.wav"
    assert (changed["name"], changed["version"]) == (unique + "2", "3")
    problem(server.request("PUT", path, {"name": "x"},
                           headers={"If-Match": made.headers["ETag"]}), 412)
    problem(server.request("PUT", path, {"name": "x", "content": "AA=="}), 422)


def test_delete(server, unique):
    number = upload(server, unique, b"1").json()["appimage"]["id"]
    assert server.request("DELETE", f"/appimages/{number}").status_code == 204
    assert str(number) not in kept(server)
    for path in (f"/appimages/{number}", f"/appimages/{number}/content"):
        problem(server.request("GET", path), 404)


def test_prompt_in_use_is_not_deleted(server):
    image = upload(server, "moh", b"1", kind="prompt").json()["appimage"]
    path = f"/appimages/{image['id']}"
    _, test = make_test(server)
    for number, parameters in enumerate([
            {"prompt": "moh"}, {"expect_prompt": "moh"},
            {"sipclient_actions": [["assert_established", ""], ["play", "moh"]]},
            {"sipclient_actions": '[["play", "moh"]]'}]):
        answer = {"type": "answer", "role": "caller", **parameters}
        made = server.api("POST", "/tests", {
            "name": f"uses {number}", "project_id": test["project_id"],
            "agentpool_id": test["agentpool_id"],
            "steps": [test["steps"][0] + [answer]]})["test"]
        assert f"uses {number}" in problem(server.request("DELETE", path), 409)["detail"]
        server.api("DELETE", f"/tests/{made['id']}")
    assert server.request("DELETE", path).status_code == 204


def test_parallel_uploads(server, unique):
    def one(i):
        content = bytes([i]) * 500000
        answer = requests.post(f"{server.url}/api/v2/appimages", timeout=60,
                               auth=server.keys["admin"], data={"name": f"{unique} {i}"},
                               files={"file": ("x", content)})
        if answer.status_code == 503:
            return None
        assert answer.status_code == 201, answer.text
        return (answer.json()["appimage"]["sha256"] ==
                hashlib.sha256(content).hexdigest())
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        assert all(pool.map(one, range(24)))


class RawUpload:
    """POST /appimages by hand: it sends only the given bytes."""

    def __init__(self, server, key, length, extra=""):
        host, port = server.url.removeprefix("http://").split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=60)
        credentials = ""
        if key:
            text = base64.b64encode(":".join(server.keys[key]).encode()).decode()
            credentials = f"Authorization: Basic {text}\r\n"
        self.send(f"POST /api/v2/appimages HTTP/1.1\r\nHost: x\r\n{credentials}"
                  f"Content-Type: multipart/form-data; boundary=b\r\n"
                  f"Content-Length: {length}\r\n{extra}\r\n".encode())

    def send(self, data):
        self.socket.sendall(data)

    def answer(self):
        return self.socket.recv(65536).decode()


def waiting_files(server):
    """Incomplete uploads on disk: files without a name. One is closed some time after its response."""
    folder = f"/proc/{server.process.pid}/fd"
    found = 0
    for fd in os.listdir(folder):
        try:
            found += "/appimages/" in os.readlink(f"{folder}/{fd}")
        except OSError:
            pass
    return found


FORM = (b'--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nraw\r\n'
        b'--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n')


@pytest.mark.parametrize("key, status", [(None, 401), ("read", 403)])
def test_refused_upload_is_not_read(server, key, status):
    for length in (4096, 2 << 20):
        # the client waits: the response comes instead of "100 Continue"
        held = RawUpload(server, key, length, "Expect: 100-continue\r\n")
        assert held.answer().startswith(f"HTTP/1.1 {status} ")
    # a large body that is sent without waiting is answered before its end
    assert RawUpload(server, key, 2 << 20).answer().startswith(f"HTTP/1.1 {status} ")
    until = time.monotonic() + 60
    while waiting_files(server) and time.monotonic() < until:  # of the tests before
        time.sleep(0.02)
    # nothing of a small one is kept, and the connection continues
    small = RawUpload(server, key, len(FORM) + 1000)
    small.send(FORM)
    server.api("GET", "/")
    assert waiting_files(server) == 0
    small.send(b"x" * 1000)
    assert small.answer().startswith(f"HTTP/1.1 {status} ")
    small.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
    assert small.answer().startswith("HTTP/1.1 200 ")


def test_admitted_upload_is_read(server):
    held = RawUpload(server, "admin", len(FORM) + 1000 + 9, "Expect: 100-continue\r\n")
    assert held.answer().startswith("HTTP/1.1 100 ")
    held.send(FORM)
    until = time.monotonic() + 60
    while waiting_files(server) == 0 and time.monotonic() < until:
        time.sleep(0.02)
    assert waiting_files(server) == 1
    held.send(b"x" * 1000 + b"\r\n--b--\r\n")
    assert held.answer().startswith("HTTP/1.1 201 ")


def test_trailing_slash_takes_a_file_too(server, unique):
    content = os.urandom(2 << 20)
    answer = server.request("POST", "/appimages/", data={"name": unique},
                            files={"file": ("a", content, "audio/wav")})
    assert answer.status_code == 201 and answer.json()["appimage"]["size"] == len(content)

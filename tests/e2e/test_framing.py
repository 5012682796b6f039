"""Requests whose end two parsers see at different places.

Behind a proxy the rest of such a request would become another client's request (request
smuggling). The tests send raw bytes; every bad request is followed by a second one,
which must never be executed."""
import base64
import json
import re
import socket

import pytest

from controller import Controller

TIMEOUT_S = 20
PROJECTS = "/api/v2/projects"
ONE = '{"name":"first"}'
CHUNKED = f"10\r\n{ONE}\r\n0\r\n\r\n"
assert len(ONE) == 0x10


@pytest.fixture(scope="module")
def server():
    with Controller() as c:
        yield c


def head(server, path=PROJECTS, method="POST", version="1.1"):
    key = base64.b64encode(":".join(server.keys["admin"]).encode()).decode()
    return (f"{method} {path} HTTP/{version}\r\nHost: 127.0.0.1\r\nAuthorization: Basic {key}\r\n"
            "Content-Type: application/json\r\n")


def second(server, name="second"):
    body = json.dumps({"name": name})
    return f"{head(server)}Content-Length: {len(body)}\r\n\r\n{body}"


def exchange(server, data, pieces=False):
    """@return (status codes, all received bytes) until the controller closes the
    connection"""
    host, port = server.url[7:].rsplit(":", 1)
    data = data.encode("latin-1")
    answer = b""
    with socket.create_connection((host, int(port)), TIMEOUT_S) as s:
        try:
            for piece in [data[i:i + 1] for i in range(len(data))] if pieces else [data]:
                s.sendall(piece)
            while piece := s.recv(65536):
                answer += piece
        except ConnectionError:
            pass  # closed while we were sending, or with unread bytes
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3})", answer)], answer


def names(server):
    return {p["name"] for p in server.api("GET", "/projects?count=1000")["projects"]}


LENGTH = "Content-Length: 16\r\n"
TE = "Transfer-Encoding: chunked\r\n"
# name: (headers after those of head(), body)
BAD = {
    "two lengths, the first is the body's": (f"{LENGTH}Content-Length: 300\r\n", ONE),
    "two lengths, the second is the body's": (f"Content-Length: 300\r\n{LENGTH}", ONE),
    "two lengths, the same": (LENGTH * 2, ONE),
    "a list of lengths": ("Content-Length: 16, 16\r\n", ONE),
    "a length with a sign": ("Content-Length: +16\r\n", ONE),
    "a length in hexadecimal": ("Content-Length: 0x10\r\n", ONE),
    "an empty length": ("Content-Length:\r\n", ONE),
    "a length, then chunked": (LENGTH + TE, CHUNKED),
    "chunked, then a length": (TE + LENGTH, CHUNKED),
    "an unknown encoding": ("Transfer-Encoding: xchunked\r\n", CHUNKED),
    "an unknown encoding and a length": (f"Transfer-Encoding: gzip\r\n{LENGTH}", ONE),
    "identity": (f"Transfer-Encoding: identity\r\n{LENGTH}", ONE),
    "a list of encodings": ("Transfer-Encoding: chunked, identity\r\n", CHUNKED),
    "chunked twice": (TE * 2, CHUNKED),
    "chunked in a list": ("Transfer-Encoding: chunked, chunked\r\n", CHUNKED),
    "no encoding": (f"Transfer-Encoding:\r\n{LENGTH}", ONE),
    "a vertical tab before chunked": (f"Transfer-Encoding: \x0bchunked\r\n{LENGTH}", ONE),
    "a blank before the colon": ("Content-Length : 16\r\n", ONE),
    "a tab before the colon": ("Content-Length\t: 16\r\n", ONE),
    "a blank in a name": (f"Content Length: 5\r\n{LENGTH}", ONE),
    "a blank before a name": (f" Content-Length: 5\r\n{LENGTH}", ONE),
    "a name that is no token": (f"[X]: 5\r\n{LENGTH}", ONE),
    "an empty name": (f": 5\r\n{LENGTH}", ONE),
    "only a colon": (f"A: b\r\n:\r\n{LENGTH}", ONE),
    "a folded value": (f"X: a\r\n b\r\n{LENGTH}", ONE),
    # libmicrohttpd 0.9.75 appends the second line to the name
    "a length whose name is folded": ("Content: 16\r\n -Length\r\n", ONE),
    "an encoding that folding hides": (f"{TE} -X\r\n{LENGTH}", ONE),
    "a folded last header": (f"{LENGTH}X: a\r\n\tb\r\n", ONE),
    "LF alone": ("Content-Length: 16\n", ONE),
    "LF alone in a value": (f"X: y\nTransfer-Encoding: chunked\r\n{LENGTH}", CHUNKED),
    "CR alone in a value": (f"X: y\rContent-Length: 300\r\n{LENGTH}", ONE),
    "NUL in place of the last CR": (f"{LENGTH}X: a\0b\n\n", ONE),
    "NUL in a value": (f"X: a\0b\r\n{LENGTH}", ONE),
    "a control character in a value": (f"X: a\x01b\r\n{LENGTH}", ONE),
}


def test_refused_upload_takes_no_place_of_others(server):
    """It was not counted when it came, so it is not when it goes."""
    for _ in range(2):
        codes, _ = exchange(server, head(server, "/api/v2/appimages") + LENGTH * 2 + "\r\n" + ONE)
        assert codes == [400]
    made = server.request("POST", "/appimages", {"name": "after", "content": "AAAA", "kind": "prompt"})
    assert made.status_code == 201, made.text


def refused(answer, malformed_length=False):
    header, _, body = answer.partition(b"\r\n\r\n")
    assert b"\r\nConnection: close" in header, answer
    if malformed_length:  # library.c: no body, and the library's header section a second time
        assert b"\r\nContent-Length: 0" in header
    else:
        said = json.loads(body)
        assert said["status"] == 400 and said["detail"] and said["request_id"]


@pytest.mark.parametrize("pieces", [False, True], ids=["whole", "pieces"])
@pytest.mark.parametrize("case", BAD)
def test_ambiguous_request_is_refused(server, case, pieces):
    """The connection is closed: nothing after the request is parsed."""
    headers, body = BAD[case]
    codes, answer = exchange(server, f"{head(server)}{headers}\r\n{body}{second(server)}", pieces)
    if not answer and pieces:
        # the response is lost if the connection is closed with unread bytes of ours
        assert names(server) == set()
        return
    assert codes[0] == 400 and set(codes) == {400}, answer
    refused(answer, malformed_length=len(codes) > 1)
    assert len(codes) == 1 or case in ("a list of lengths", "a length with a sign", "an empty length",
                                       "a length in hexadecimal")
    assert names(server) == set()


@pytest.mark.parametrize("data", [
    "{method} {path} HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked"
    "\r\n\r\n", "{method} {path} HTTP/1.1\nHost: x\r\n\r\n",
    "{method} {path} b HTTP/1.1\r\nHost: x\r\n\r\n", "{method} {path}?a=b c HTTP/1.1\r\nHost: x\r\n\r\n",
    "{method} {path}?a\tb HTTP/1.1\r\nHost: x\r\n\r\n", "{method} {path}\x0b HTTP/1.1\r\nHost: x\r\n\r\n",
    "{method} {path}\r HTTP/1.1\r\nHost: x\r\n\r\n",
    "{method}( {path} HTTP/1.1\r\nHost: x\r\n\r\n", "{method}\0b {path} HTTP/1.1\r\nHost: x\r\n\r\n",
    "{method} {path}\0 HTTP/1.1\r\nHost: x\r\n\r\n", "{method} {path}?a\0b HTTP/1.1\r\nHost: x\r\n\r\n"],
    ids=["chunked in HTTP/1.0", "LF behind the request line", "a blank in the address", "a blank in the query",
         "a tab in the query", "a vertical tab in the address", "CR alone in the address", "a method that is no token",
         "NUL in the method", "NUL behind the address", "NUL in the query"])
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_request_line_and_version(server, data, method):
    data = data.format(method=method, path=PROJECTS)
    codes, answer = exchange(server, data + second(server))
    assert codes == [400], answer
    refused(answer)
    assert names(server) == set()


@pytest.mark.parametrize("method, path", [
    ("GET", "/healthz"), ("GET", "/static/report.js"), ("POST", "/login"), ("DELETE", "/nothing"),
    ("POST", "/api/v2/appimages"), ("POST", "/api/v2/agent/poll"), ("OPTIONS", PROJECTS)])
def test_every_address_refuses(server, method, path):
    headers = LENGTH + TE
    codes, answer = exchange(server, f"{head(server, path, method)}{headers}\r\n{CHUNKED}{second(server)}")
    assert codes == [400], answer
    refused(answer)
    assert names(server) == set()


@pytest.mark.parametrize("body, statuses", [
    (CHUNKED, {201}), (f"10;a=b\r\n{ONE}\r\n0\r\n\r\n", {201, 400}),
    (f"10\n{ONE}\r\n0\r\n\r\n", {201, 400}),
    (f"10\r\n{ONE}\r\n0\r\nContent-Length: 300\r\n\r\n", {201})],
    ids=["plain", "extension", "LF alone", "trailer"])
def test_nothing_follows_a_chunked_body(server, body, statuses):
    """The library accepts chunk lines that other parsers refuse or read differently:
    0.9.75 all of them, 1.0 all except extensions and a bare LF."""
    codes, answer = exchange(server, f"{head(server)}{TE}\r\n{body}{second(server)}")
    assert len(codes) == 1 and codes[0] in statuses, answer
    assert b"\r\nConnection: close" in answer, answer
    if codes == [400]:
        refused(answer)
        assert names(server) == set()
    for p in server.api("GET", "/projects")["projects"]:
        assert p["name"] == "first"
        server.api("DELETE", f"/projects/{p['id']}")


@pytest.mark.parametrize("pieces", [False, True], ids=["whole", "pieces"])
def test_requests_behind_each_other_are_served(server, pieces):
    """Unambiguous requests are served: any whitespace around values, many headers."""
    more = "".join(f"X-{i}:{' ' * (i % 5)}{'v' * (i % 50)}\r\n" for i in range(30 if pieces else 90))
    data = ""
    for i, length in enumerate(("Content-Length: 16", "content-length:16", "Content-Length: \t 16")):
        body = ONE.replace("first", f"numb{i}")
        data += f"{head(server)}X-Empty:\r\n{more}{length}\r\n\r\n{body}"
    data += f"{head(server, method='GET', path='/healthz')}Connection: close\r\n\r\n"
    codes, answer = exchange(server, "\r\n" + data, pieces)
    assert codes == [201, 201, 201, 200], answer
    for p in server.api("GET", "/projects")["projects"]:
        assert p["name"].startswith("numb")
        server.api("DELETE", f"/projects/{p['id']}")

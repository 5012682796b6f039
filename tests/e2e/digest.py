"""Digest authentication, RFC 7616 section 3.4 and RFC 8760, a second implementation."""
import hashlib
import re

HASHES = {"MD5": "md5", "SHA-256": "sha256", "SHA-512-256": "sha512_256"}


def parameters(value):
    """Parameters of a Digest header: {name: value}, without quotes."""
    assert value.startswith("Digest ")
    return {name: quoted or plain for name, quoted, plain in
            re.findall(r'(\w+)=(?:"([^"]*)"|([^,\s]*))', value[7:])}


def response(user, request, p, algorithm, qop):
    """user: (name, password); request: (method, URI, body); p: parameters of the credentials"""
    name = HASHES[algorithm.removesuffix("-sess")]

    def h(text):
        return hashlib.new(name, text.encode()).hexdigest()

    method, uri, body = request
    a1 = h(f"{user[0]}:{p['realm']}:{user[1]}")
    if algorithm.endswith("-sess"):
        a1 = h(f"{a1}:{p['nonce']}:{p['cnonce']}")
    a2 = f"{method}:{uri}"
    if qop == "auth-int":
        a2 += ":" + h(body)
    if not qop:
        return h(f"{a1}:{p['nonce']}:{h(a2)}")
    return h(f"{a1}:{p['nonce']}:{p['nc']}:{p['cnonce']}:{qop}:{h(a2)}")

"""Does a SIP message follow the grammar of RFC 3261 section 25.1 (and of the
extensions' RFCs)?

Written from the ABNF, independent of the code it checks. An unknown header is an error:
extend HEADERS."""
import re

# RFC 3261 25.1, basic rules
TOKEN = r"[A-Za-z0-9.!%*_+`'~-]+"
WORD = r"[A-Za-z0-9.!%*_+`'~()<>:\\\"/\[\]?{}-]+"
SWS = r"[ \t]*"
EQUAL, SEMI, COMMA, SLASH = (SWS + c + SWS for c in ("=", ";", ",", "/"))
QUOTED = r'"(?:[\x20\x21\x23-\x5b\x5d-\x7e\t\x80-\xff]|\\[\x00-\x09\x0b\x0c\x0e-\x7f])*"'
ESCAPED = r"%[0-9A-Fa-f]{2}"
UNRESERVED = r"A-Za-z0-9_.!~*'()\-"
DIGITS = r"\d+"

# URIs
LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
IPV4 = r"\d{1,3}(?:\.\d{1,3}){3}"
IPV6 = r"\[[0-9A-Fa-f:.]+\]"
HOST = rf"(?:{IPV6}|{IPV4}|(?:{LABEL}\.)*{LABEL}\.?)"
HOSTPORT = rf"{HOST}(?::{DIGITS})?"
USER = rf"(?:[{UNRESERVED}&=+$,;?/]|{ESCAPED})+"
PASSWORD = rf"(?:[{UNRESERVED}&=+$,]|{ESCAPED})*"
PARAM_CHARS = rf"(?:[\[\]/:&+${UNRESERVED}]|{ESCAPED})+"
URI_PARAMS = rf"(?:;{PARAM_CHARS}(?:={PARAM_CHARS})?)*"
HEADER_CHARS = rf"(?:[\[\]/?:+${UNRESERVED}]|{ESCAPED})"
URI_HEADERS = rf"(?:\?{HEADER_CHARS}+={HEADER_CHARS}*(?:&{HEADER_CHARS}+={HEADER_CHARS}*)*)?"
SIP_URI = rf"sips?:(?:{USER}(?::{PASSWORD})?@)?{HOSTPORT}{URI_PARAMS}{URI_HEADERS}"
TEL_URI = r"tel:[+0-9*#A-D().-]+(?:;[A-Za-z0-9=+.:-]+)*"
URI = rf"(?:{SIP_URI}|{TEL_URI})"

# parameters and addresses
VALUE = rf"(?:{TOKEN}|{HOST}|{QUOTED})"
GENERIC = rf"{TOKEN}(?:{EQUAL}{VALUE})?"
PARAMS = rf"(?:{SEMI}{GENERIC})*"
DISPLAY = rf"(?:{QUOTED}|{TOKEN}(?:[ \t]+{TOKEN})*)?"
NAME_ADDR = rf"{DISPLAY}{SWS}<{URI}>"
# Without brackets a URI has no comma, question mark or semicolon (20.10).
ADDR_SPEC = rf"(?!\S*[,?;]\S*@){URI.replace(URI_PARAMS, '').replace(URI_HEADERS, '')}"
ADDRESS = rf"(?:{NAME_ADDR}|{ADDR_SPEC})"
TAGGED = rf"{ADDRESS}{PARAMS}"
PRODUCT = rf"{TOKEN}(?:{SLASH}{TOKEN})?"
COMMENT = r"\([\x20-\x27\x2a-\x7e]*\)"
SERVER = rf"(?:{PRODUCT}|{COMMENT})(?:[ \t]+(?:{PRODUCT}|{COMMENT}))*"
MEDIA_TYPE = rf"{TOKEN}{SLASH}{TOKEN}(?:{SEMI}{TOKEN}{EQUAL}(?:{TOKEN}|{QUOTED}))*"
RANGE = rf"(?:\*/\*|{TOKEN}/(?:\*|{TOKEN})){PARAMS}"
CALLID = rf"{WORD}(?:@{WORD})?"
TEXT = r"[\x20-\x7e\x80-\xff\t]*"
HEX = "[0-9a-f]"


def many(item, least=1):
    """1#item or #item of the ABNF"""
    one = rf"{item}(?:{COMMA}{item})*"
    return one if least else rf"(?:{one})?"


TOKENS = many(TOKEN)
DIGEST = rf"""Digest[ \t]+{many(
    rf'(?:(?:username|realm|nonce|opaque|cnonce){EQUAL}{QUOTED}'
    rf'|uri{EQUAL}"{URI}"'
    rf'|response{EQUAL}"{HEX}{{32,128}}"|nc{EQUAL}{HEX}{{8}}'
    rf'|algorithm{EQUAL}{TOKEN}|qop{EQUAL}(?:auth|auth-int))')}"""
CHALLENGE = rf"Digest[ \t]+{many(rf'{TOKEN}{EQUAL}(?:{TOKEN}|{QUOTED})')}"
HEADERS = {name: re.compile(rule.encode("latin-1")) for name, rule in {
    # received: an IPv6 address without brackets
    "Via": many(rf"SIP/2\.0/(?:UDP|TCP|TLS|SCTP)[ \t]+{HOSTPORT}"
                rf"(?:{SEMI}(?:received{EQUAL}[0-9a-fA-F:.]+|{GENERIC}))*"),
    "From": TAGGED, "To": TAGGED,
    "Contact": rf"(?:\*|{many(TAGGED)})",
    "Call-ID": CALLID, "CSeq": rf"{DIGITS}[ \t]+{TOKEN}",
    "Max-Forwards": DIGITS, "Content-Length": DIGITS, "Expires": DIGITS,
    "Min-Expires": DIGITS, "RSeq": DIGITS, "SIP-ETag": TOKEN, "SIP-If-Match": TOKEN,
    "RAck": rf"{DIGITS}[ \t]+{DIGITS}[ \t]+{TOKEN}",
    "Min-SE": rf"{DIGITS}{PARAMS}",
    "Session-Expires": rf"{DIGITS}{PARAMS}",
    "Retry-After": rf"{DIGITS}(?:{SWS}{COMMENT})?{PARAMS}",
    "Allow": many(TOKEN, 0), "Supported": many(TOKEN, 0), "Require": TOKENS,
    "Proxy-Require": TOKENS, "Unsupported": TOKENS, "Allow-Events": TOKENS,
    "Accept": many(RANGE, 0), "Accept-Encoding": many(rf"(?:\*|{TOKEN}){PARAMS}", 0),
    "Content-Type": MEDIA_TYPE,
    "User-Agent": SERVER, "Server": SERVER,
    "Route": many(rf"{NAME_ADDR}{PARAMS}"), "Record-Route": many(rf"{NAME_ADDR}{PARAMS}"),
    "Path": many(rf"{NAME_ADDR}{PARAMS}"),
    "Refer-To": TAGGED, "Referred-By": TAGGED, "Refer-Sub": rf"(?:true|false){PARAMS}",
    "Replaces": rf"{CALLID}{PARAMS}",
    "Event": rf"{TOKEN}{PARAMS}", "Subscription-State": rf"{TOKEN}{PARAMS}",
    "Authorization": DIGEST, "Proxy-Authorization": DIGEST,
    "WWW-Authenticate": CHALLENGE, "Proxy-Authenticate": CHALLENGE,
    "Warning": many(rf"\d{{3}} (?:{HOSTPORT}|{TOKEN}) {QUOTED}"),
    "Reason": many(rf"{TOKEN}{PARAMS}"),
    "Subject": TEXT,
    "P-Asserted-Identity": many(ADDRESS), "P-Preferred-Identity": many(ADDRESS),
}.items()}
COMPACT = {"v": "Via", "f": "From", "t": "To", "i": "Call-ID", "m": "Contact",
           "l": "Content-Length", "c": "Content-Type", "k": "Supported", "s": "Subject",
           "e": "Content-Encoding", "o": "Event", "r": "Refer-To", "b": "Referred-By",
           "x": "Session-Expires", "u": "Allow-Events"}
LONG = {name.lower(): name for name in HEADERS} | COMPACT
# RFC 3261 7.3: header fields that may occur only once
SINGLE = {"From", "To", "Call-ID", "CSeq", "Max-Forwards", "Content-Length", "Content-Type",
          "Expires", "RSeq", "RAck", "Event", "Subscription-State", "Refer-To", "Replaces",
          "Session-Expires", "Min-SE", "User-Agent", "Server"}
REQUEST_LINE = re.compile(rf"({TOKEN}) {URI} SIP/2\.0".encode())
STATUS_LINE = re.compile(rb"SIP/2\.0 ([1-6]\d\d) [\x20-\x7e\x80-\xff\t]*")


def header_errors(lines, known):
    """Checks the header lines; fills known: {name: [value]}"""
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not re.fullmatch(TOKEN.encode() + rb"[ \t]*", name):
            yield f"no header: {line!r}"
            continue
        long = LONG.get(name.decode().strip().lower())
        value = value.strip(b" \t")
        if long is None:
            yield f"an unknown header: {line!r}"
            continue
        known.setdefault(long, []).append(value)
        if not HEADERS[long].fullmatch(value):
            yield f"{long} does not follow its grammar: {line!r}"
    for name, values in known.items():
        if name in SINGLE and len(values) > 1:
            yield f"{len(values)} headers {name}"


def needed_errors(method, code, known, body):
    """Missing headers of a message of this kind (8.1.1, 8.2.6, 20, table 2)."""
    needed = ["Via", "From", "To", "Call-ID", "CSeq"]
    cseq = known.get("CSeq", [b"0 ?"])[0].split()
    if method:
        needed.append("Max-Forwards")
        if cseq[-1].decode() != method:
            yield f"CSeq names {cseq[-1].decode()} in a {method}"
    if (method or 100 < code < 300) and cseq[-1] in (b"INVITE", b"SUBSCRIBE", b"REFER", b"UPDATE"):
        if method or code != 183 or b"tag=" in known.get("To", [b""])[0]:
            needed.append("Contact")
    if body:
        needed.append("Content-Type")
    if cseq[-1] == b"PRACK" and method:
        needed.append("RAck")
    for name in needed:
        if name not in known:
            yield f"no {name}"
    if not re.search(rb";\s*tag\s*=", known.get("From", [b""])[0]):
        yield "From has no tag"
    if not method and code > 100 and not re.search(rb";\s*tag\s*=", known.get("To", [b""])[0]):
        yield "To has no tag"
    if method and b"branch=z9hG4bK" not in known.get("Via", [b""])[0]:
        yield "Via has no branch"
    length = known.get("Content-Length", [None])[0]
    if length is not None and int(length) != len(body):
        yield f"Content-Length {int(length)} for a body of {len(body)} bytes"
    if length is None:
        yield "no Content-Length"


def errors(message, extra=()):
    """What is wrong with a message (bytes). extra: names of custom headers."""
    head, empty, body = message.partition(b"\r\n\r\n")
    if not empty:
        return ["no empty line behind the headers"]
    if b"\n" in head.replace(b"\r\n", b"") or b"\r" in head.replace(b"\r\n", b""):
        return ["a lone CR or LF in the headers"]
    # RFC 3261 7.3.1: a folded line
    start, *lines = re.sub(rb"[ \t]*\r\n[ \t]+", b" ", head).split(b"\r\n")
    request, status = REQUEST_LINE.fullmatch(start), STATUS_LINE.fullmatch(start)
    if not request and not status:
        return [f"neither a request nor a status line: {start!r}"]
    lines = [line for line in lines
             if line.split(b":")[0].decode("latin-1").strip().lower()
             not in {name.lower() for name in extra}]
    known = {}
    found = list(header_errors(lines, known))
    found += needed_errors(request and request[1].decode(), int(status[1]) if status else 0,
                           known, body)
    return found

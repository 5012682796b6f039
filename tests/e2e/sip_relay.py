"""A stateless SIP proxy (RFC 3261 16.11) over UDP, IPv4.

Every request is forwarded to its Request-URI; no Record-Route is added. As a program:
ADDRESS PORT; it prints "ready"."""
import hashlib
import re
import socket
import subprocess
import sys


class SipRelay:
    """In a network namespace."""

    def __init__(self, namespace, host, port):
        self._command = ["ip", "netns", "exec", namespace, "/usr/bin/python3", __file__, host,
                         str(port)]

    def __enter__(self):
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE)
        assert self._process.stdout.readline() == b"ready\n"
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


def forwarded(data, host, port):
    """(message, its destination)"""
    head, empty, body = data.partition(b"\r\n\r\n")
    start, *lines = head.split(b"\r\n")
    at = next(i for i, line in enumerate(lines) if line.lower().startswith(b"via:"))
    if start.startswith(b"SIP/2.0 "):
        del lines[at]
        via = next(line for line in lines if line.lower().startswith(b"via:"))
        to = re.search(rb"SIP/2.0/UDP ([0-9.]+):(\d+)", via)
    else:
        branch = hashlib.sha1(re.search(rb"branch=([^;\s]+)", lines[at])[1]).hexdigest()
        lines.insert(at, f"Via: SIP/2.0/UDP {host}:{port};branch=z9hG4bK{branch}".encode())
        to = re.search(rb"@([0-9.]+)(?::(\d+))?", start)
    return b"\r\n".join([start, *lines]) + empty + body, (to[1].decode(), int(to[2] or 5060))


def main(host, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind((host, port))
        print("ready", flush=True)
        while True:
            data = sock.recv(65536)
            try:
                message = forwarded(data, host, port)
            except (StopIteration, TypeError):
                continue   # a keep-alive, or a message without a destination
            sock.sendto(*message)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

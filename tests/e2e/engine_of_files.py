#!/usr/bin/python3
"""An engine that creates artifacts and makes no calls (docs/internals/wire.md,
"Supervisor and engine")."""
import json
import os
import socket
import sys

fd = int([a for a in sys.argv if a.startswith("--engine=")][0].split("=")[1])
sock = socket.socket(fileno=fd)
reader = sock.makefile("r")
FILES = {"small.txt": b"twelve bytes", "large.wav": bytes(range(256)) * (2 << 12), "empty": b"",
         "too-large.wav": b"x" * (4 << 20)}


def send(kind, **members):
    sock.sendall((json.dumps({"type": kind, **members}) + "\n").encode())


job = json.loads(reader.readline())
folder = job["engine"]["artifact_dir"]
steps = len(job["spec"]["steps"])
for line in reader:
    message = json.loads(line)
    if message["type"] == "cancel" or message["step"] == steps:
        break
    if message["step"] > 0:
        send("ready", step=message["step"])
        continue
    for name, data in FILES.items():
        with open(os.path.join(folder, name + ".part"), "wb") as f:
            f.write(data)
        send("artifact", name=name)
    send("artifact", name="missing.wav")
    send("artifact", name="../bad")
    with open(os.path.join(folder, "not-given.wav.part"), "wb") as f:
        f.write(b"of a recording that was cut off")
    send("ready", step=message["step"])
send("finish", outcome="completed", reason="")

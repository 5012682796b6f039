"""Network namespaces.

Two joined by a cable: 10.99.0.1 is ours and .2 the phone's. Or with a NAT router
between them: ours is 10.98.0.2 behind it."""
import ctypes
import os
import subprocess
from contextlib import contextmanager

import pytest

CLONE_NEWNET = 0x40000000
# A rule for translated(): do not track packets that the NAT refuses. If the peer's
# first packet came before ours, Linux would track it and map our address to another
# port than STUN reported.
NO_FLOW = "-A INPUT -i va -p udp -j DROP"


def ip(*words):
    run("ip", *words)


def run(*command):
    """Run a command; OSError contains its output."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")


def namespace_add(name):
    """Create a namespace, after removing an old one of this name.

    The old one was left by a process that has ended, as names contain the pid."""
    namespace_delete(name)
    ip("netns", "add", name)


def namespace_delete(name):
    subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@contextmanager
def own_network():
    """Put this process, and what it starts, into a namespace of its own with 10.99.0.1.
    Skip the test where that is not permitted."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        if libc.unshare(CLONE_NEWNET):
            pytest.skip(f"no network namespaces: {os.strerror(ctypes.get_errno())}")
        try:
            ip("link", "set", "lo", "up")
            ip("link", "add", "va", "type", "veth", "peer", "name", "vb")
            ip("addr", "add", "10.99.0.1/24", "dev", "va")
            for link in ("va", "vb"):
                ip("link", "set", link, "up")
            ip("route", "add", "default", "dev", "va")
        except OSError as error:
            pytest.skip(f"no network namespaces: {error}")
        yield "10.99.0.1"
    finally:
        libc.setns(before, CLONE_NEWNET)
        os.close(before)


@contextmanager
def cable(tag=""):
    """The names of the two namespaces. Skip the test where that is not permitted.

    Several cables at a time need different tags."""
    ours, theirs = (f"off{os.getpid()}{tag}{c}" for c in "ab")
    try:
        namespace_add(ours)
        namespace_add(theirs)
        ip("link", "add", "va", "netns", ours, "type", "veth",
           "peer", "name", "vb", "netns", theirs)
        for name, link, host in ((ours, "va", 1), (theirs, "vb", 2)):
            ip("-n", name, "addr", "add", f"10.99.0.{host}/24", "dev", link)
            ip("-n", name, "link", "set", link, "up")
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "route", "add", "default", "dev", link)
    except OSError as error:
        for name in (ours, theirs):
            namespace_delete(name)
        pytest.skip(f"no network namespaces: {error}")
    try:
        yield ours, theirs
    finally:
        for name in (ours, theirs):
            namespace_delete(name)


SIX = ("fd99::1", "fd99::2")


@contextmanager
def cable_of_both(tag):
    """As cable(), and with the addresses SIX."""
    with cable(tag) as names:
        for name, link, host in zip(names, ("va", "vb"), SIX):
            ip("-n", name, "addr", "add", f"{host}/64", "dev", link, "nodad")
        yield names


@contextmanager
def translated(*rules):
    """As cable(), with ours at 10.98.0.2 behind the kernel's NAT, whose outside is
    10.99.0.1.

    rules: further rules for the router's iptables."""
    inside = f"off{os.getpid()}nc"
    with cable("n") as (router, phone):
        try:
            namespace_add(inside)
            ip("link", "add", "vi", "netns", inside, "type", "veth",
               "peer", "name", "vj", "netns", router)
            for name, link, host in ((inside, "vi", 2), (router, "vj", 1)):
                ip("-n", name, "addr", "add", f"10.98.0.{host}/24", "dev", link)
                ip("-n", name, "link", "set", link, "up")
            ip("-n", inside, "link", "set", "lo", "up")
            ip("-n", inside, "route", "add", "default", "via", "10.98.0.1")
            for command in ("sysctl -q net.ipv4.ip_forward=1",
                            "iptables -w -t nat -A POSTROUTING -o va -j MASQUERADE",
                            *(f"iptables -w {rule}" for rule in rules)):
                run("ip", "netns", "exec", router, *command.split())
        except OSError as error:
            namespace_delete(inside)
            pytest.skip(f"no address translation: {error}")
        try:
            yield inside, phone
        finally:
            namespace_delete(inside)

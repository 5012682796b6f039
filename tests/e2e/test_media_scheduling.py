"""The scheduling class of the threads that send and receive: reported, with a warning
where it was refused."""
import os
import resource

import pytest
from engine import Engine

# removes every permission, and starts at nice 0
REFUSE = ["/usr/bin/nice", "-n", str(-os.getpriority(os.PRIO_PROCESS, 0)),
          "/usr/bin/prlimit", "--rtprio=0", "--nice=0",
          *(["/usr/bin/setpriv", "--bounding-set", "-sys_nice"] if os.getuid() == 0 else [])]


def engine(build, ports, scheduling=None, prefix=()):
    """@return (evidence, log) of an engine that waits for a moment"""
    settings = {"media_scheduling": scheduling} if scheduling else {}
    with Engine(build, "caller", [[{"type": "wait", "wait_ms": 100}]], ports, prefix=prefix,
                settings=settings) as it:
        it.run()
    evidence = next(e for e in it.events if e["kind"] == "evidence")
    return evidence, it.log


def test_normal_where_that_is_wanted(build, ports):
    evidence, log = engine(build, ports, "normal")
    assert evidence["send_scheduling"] == evidence["receive_scheduling"] == "normal"
    assert "media_scheduling" not in log


def test_refused_is_told_and_warned_of(build, ports):
    evidence, log = engine(build, ports, "realtime", REFUSE)
    assert evidence["send_scheduling"] == evidence["receive_scheduling"] == "normal"
    warnings = [line for line in log.splitlines() if "media_scheduling" in line]
    assert len(warnings) == 1 and "refused" in warnings[0] and "LimitRTPRIO" in warnings[0], log
    # not configured explicitly: only the evidence reports it
    evidence, log = engine(build, ports, None, REFUSE)
    assert evidence["send_scheduling"] == "normal"
    assert "media_scheduling" not in log


def test_realtime_where_it_is_allowed(build, ports):
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
        os.sched_setscheduler(0, *before)
    except PermissionError:
        pytest.skip(f"real-time priority is not allowed here: RLIMIT_RTPRIO {resource.getrlimit(resource.RLIMIT_RTPRIO)}")
    for scheduling in ("realtime", None):
        evidence, log = engine(build, ports, scheduling)
        assert evidence["send_scheduling"] == evidence["receive_scheduling"] == "realtime"
        assert "media_scheduling" not in log

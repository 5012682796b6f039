"""Measured times against bounds.

A measured time has two ends, often by different clocks. What we send is timed with
CLOCK_MONOTONIC in the program; what we receive has the kernel's timestamp of the
datagram, which is wall-clock time and is converted (base/stamp.h). A reading that the
scheduler interrupts, or a step of the wall clock by NTP, shifts one against the other.
A peer's timer, and poll(), may also end up to 1 ms early, because they count whole
milliseconds. So "at least 2 s" may read 1999.99 ms.
"""
CLOCKS_MS = 20
CLOCKS_NS = CLOCKS_MS * 1_000_000


def at_least(measured_ms, bound_ms):
    """Whether a time reached its lower bound, within the tolerance of two clocks.

    Bounds are much longer than the tolerance. Upper bounds are set by hand, for a busy
    machine."""
    assert bound_ms >= 10 * CLOCKS_MS, "a tolerance of this size proves nothing here"
    return measured_ms >= bound_ms - CLOCKS_MS

"""Wait for what other programs do."""
import time


def until(condition, what="it did not happen in time", seconds=120, every=0.02):
    """Ask until the condition holds.

    @param what     message where it never does, or a function that makes it then, like the log of a program
    @param seconds  many, as a busy machine may stand still
    @return what the condition gave
    """
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, what() if callable(what) else what
        time.sleep(every)
    return found

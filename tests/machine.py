"""Watch whether the machine stalls while tests run.

On each processor a thread sleeps for a tenth of a second again and again and measures on the
monotonic clock how much later it wakes. Another one reads steal (/proc/stat) and load once a second.
"""
import os
import threading
import time
from collections import namedtuple

TICK_S = 0.1
SAMPLE_S = 1.0
NOTED_S = 0.02  # shorter delays are normal scheduling
# A stall. At a load of 16 on two processors no thread was later than 150 ms in 90 s, so a busy
# machine alone is none.
LATE_S = 0.5
STEAL = 0.2  # of the time of all processors in a second

Late = namedtuple("Late", "due woke cpu")
Sample = namedtuple("Sample", "begin end steal load")


class Evidence(namedtuple("Evidence", "late_s cpu steal load")):
    """The worst values of an interval."""

    @property
    def stalled(self):
        # The load is printed but proves nothing, as the tests cause it.
        return self.late_s >= LATE_S or self.steal >= STEAL

    def __str__(self):
        late = f"{self.late_s * 1000:.0f} ms" + (f" (processor {self.cpu})" if self.late_s else "")
        return f"latest wake-up {late} late, steal {self.steal:.0%}, load {self.load:.1f}"


def processor_time():
    """(steal, all) of all processors since the start, in ticks of /proc/stat"""
    with open("/proc/stat", encoding="ascii") as stat:
        values = [int(v) for v in stat.readline().split()[1:9]]
    return values[7], sum(values)


class Machine:
    def __init__(self):
        self._offset = time.time() - time.monotonic()
        self._late = []
        self._samples = []
        for cpu in sorted(os.sched_getaffinity(0)):
            threading.Thread(target=self._wake, args=(cpu,), daemon=True).start()
        threading.Thread(target=self._sample, daemon=True).start()

    def _wake(self, cpu):
        os.sched_setaffinity(0, {cpu})  # of this thread
        while True:
            due = time.monotonic() + TICK_S
            time.sleep(TICK_S)
            woke = time.monotonic()
            if woke - due >= NOTED_S:
                self._late.append(Late(due, woke, cpu))

    def _sample(self):
        begin, (steal, whole) = time.monotonic(), processor_time()
        while True:
            time.sleep(SAMPLE_S)
            end, (steal_now, whole_now) = time.monotonic(), processor_time()
            share = (steal_now - steal) / max(whole_now - whole, 1)
            self._samples.append(Sample(begin, end, share, os.getloadavg()[0]))
            begin, steal, whole = end, steal_now, whole_now

    def during(self, begin, end):
        """Evidence between two times of the wall clock (time.time())"""
        begin, end = begin - self._offset, end - self._offset
        late = [x for x in list(self._late) if x.due < end and x.woke > begin]
        samples = [x for x in list(self._samples) if x.begin < end and x.end > begin]
        worst = max(late, key=lambda x: x.woke - x.due, default=Late(0, 0, None))
        return Evidence(worst.woke - worst.due, worst.cpu,
                        max((x.steal for x in samples), default=0),
                        max((x.load for x in samples), default=os.getloadavg()[0]))

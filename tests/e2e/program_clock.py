"""The clocks of programs under test, which a test sets or puts forward (clock_step.c)."""
import os
import struct
import subprocess
import time
from pathlib import Path


class Clock:
    """@param folder  where its library and its file go"""

    def __init__(self, folder):
        self._file = folder / "clock-step"
        self._file.write_bytes(bytes(16))
        self._set = self._passed = 0
        self._library = folder / "clock_step.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", self._library,
                        Path(__file__).with_name("clock_step.c")], check=True)

    def environment(self):
        """For programs that have these clocks."""
        # after a sanitizer's own library
        libraries = filter(None, [os.environ.get("LD_PRELOAD"), str(self._library)])
        return {"LD_PRELOAD": ":".join(libraries), "CLOCK_STEP": str(self._file),
                "ASAN_OPTIONS": ":".join(filter(None, [
                    os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"]))}

    def preload(self, monkeypatch):
        for name, value in self.environment().items():
            monkeypatch.setenv(name, value)

    def _write(self):
        with open(self._file, "r+b") as file:
            file.write(struct.pack("=qq", self._set, self._passed))

    def set_forward(self, seconds):
        """The wall clock is ahead by this; the monotonic one is not."""
        self._set = seconds
        self._write()

    def let_pass(self, seconds):
        """All clocks go on by this at once, and every wait with a time limit looks at them again."""
        self._passed += seconds
        self._write()

    def now(self):
        """Seconds, monotonic, of the programs."""
        return time.monotonic() + self._passed

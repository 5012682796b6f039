"""A small file system of its own, which a test can fill."""
import errno
import os
import subprocess

import pytest


class SmallDisk:
    """with SmallDisk(folder, "16m") as disk: disk.fill(); ...; disk.make_room()

    Mounting needs root: the test is skipped where it is refused."""

    def __init__(self, folder, size, mode="0700"):
        self.folder = folder
        self.ballast = folder / "ballast"
        folder.mkdir()
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode={mode}", "none", folder],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no tmpfs can be mounted: {done.stderr.strip()}")

    def fill(self):
        """Take all room, what was freed since the last time, too."""
        with open(self.ballast, "ab", buffering=0) as file:
            for size in (1 << 20, 1 << 12):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError as error:
                    assert error.errno == errno.ENOSPC, error

    def give(self, size):
        """After fill(): leave room for so many bytes."""
        os.truncate(self.ballast, self.ballast.stat().st_size - size)

    def free_bytes(self):
        room = os.statvfs(self.folder)
        return room.f_bavail * room.f_frsize

    def make_room(self):
        self.ballast.unlink()

    def close(self):
        if os.path.ismount(self.folder) and subprocess.run(["umount", self.folder], check=False).returncode:
            subprocess.run(["umount", "--lazy", self.folder], check=True)  # somebody still has a file of it

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

"""Programs on a terminal of 80 columns."""
import fcntl
import os
import pty
import struct
import termios


def on_terminal(command, cwd, environment, keys="", columns=80):
    """Run a program on a pseudo-terminal until it ends. keys are typed at once.

    @return its exit status and what it wrote
    """
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(cwd)
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execve(command[0], [str(word) for word in command], environment)
    text = b""
    try:
        os.write(fd, keys.encode())
        while part := os.read(fd, 65536):
            text += part
    except OSError:  # the end of the program
        pass
    os.close(fd)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return status, text.decode().replace("\r\n", "\n")

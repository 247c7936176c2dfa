"""Runs commands under a pseudo-terminal, and shows what its screen would show."""

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import tempfile
import termios
import threading
from dataclasses import dataclass

from quick_usp import usp_command

_TOKENS = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|(\r)|(\n)|([^\x1b\r\n]+)")


@dataclass(frozen=True)
class Ran:
    status: int
    out: bytes  # empty if the standard output was the terminal
    screen: bytes  # what the terminal was sent


def environment(**more: str) -> dict[str, str]:
    given = {**os.environ, "NO_PROXY": "*", "TERM": "xterm-256color", **more}
    for name in ("COLUMNS", "COV_CORE_SOURCE", "NO_COLOR", "USP_JSON"):
        given.pop(name, None)
    return given


def run_plain(*argv: str, cwd=None) -> subprocess.CompletedProcess:
    """Run a command without any terminal."""
    return subprocess.run(
        [*usp_command(), *argv],
        capture_output=True,
        env=environment(),
        cwd=cwd,
        check=False,
        timeout=120,
    )


def run_on_terminal(
    *argv: str, stdout: str, cwd=None, columns: int = 60, tail=None, env=None
) -> Ran:
    """Run a command whose standard error is a terminal.

    ``stdout`` is ``file``, ``pipe`` or ``terminal``: the same one. ``tail`` is a command that reads
    the pipe and writes to the terminal.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    screen = bytearray()
    reading = threading.Thread(target=_collect, args=(ours, screen))
    reading.start()
    env = environment(**(env or {}))
    out = b""
    with tempfile.TemporaryFile() as file:
        process = subprocess.Popen(
            [*usp_command(), *argv],
            stdin=theirs,
            stdout={"terminal": theirs, "file": file, "pipe": subprocess.PIPE}[stdout],
            stderr=theirs,
            env=env,
            cwd=cwd,
        )
        second = tail and subprocess.Popen(tail, stdin=process.stdout, stdout=theirs, env=env)
        os.close(theirs)
        if process.stdout is not None:
            with process.stdout as pipe:
                out = b"" if second else pipe.read()
        status = process.wait(120)
        if second:
            second.wait(120)
        if stdout == "file":
            file.seek(0)
            out = file.read()
    reading.join(60)
    os.close(ours)
    return Ran(status, out, bytes(screen))


def _collect(descriptor: int, screen: bytearray) -> None:
    with contextlib.suppress(OSError):  # the other end is closed
        while chunk := os.read(descriptor, 1 << 16):
            screen += chunk


def shown(screen: bytes) -> list[str]:
    """Give the lines that stand on the screen in the end, however wide they are.

    A line that is written over without having been cleared is marked.
    """
    lines, row, column = [""], 0, 0
    for code, letter, back, down, text in _TOKENS.findall(screen.decode()):
        if letter == "K":
            lines[row] = "" if code == "2" else lines[row][:column]
        elif letter == "A":
            row = max(0, row - int(code or 1))
        elif letter and letter in "mhl":
            pass
        elif letter:
            raise AssertionError(f"nobody knows \\x1b[{code}{letter}")
        elif back:
            column = 0
        elif down:
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        else:
            line = lines[row].ljust(column)
            new = f"«written over»{text}" if len(line) > column else text
            lines[row] = line[:column] + new + line[column + len(new) :]
            column += len(new)
    return lines if lines[-1] else lines[:-1]

"""Ends what a local Ray cluster leaves running when the driver that started it is killed.

Ray's own agents outlive a driver that ends by signal 9. Every process of a cluster that we start has a
mark in its environment; a small process beside the driver waits until the driver is gone, however that
happens, and ends whatever has the mark. It looks around while it waits, and remembers what it saw: a
process that gives itself a title writes it over its environment.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = "USP_FLEET_CLUSTER"

_GRACE = 3.0  # seconds in which Ray may clear up by itself
_EVERY = 1.0  # seconds from one look to the next
_STATE, _PARENT, _STARTED = 0, 1, 19  # fields of /proc/…/stat after the name

Process = tuple[int, str]
"""The number of a process and when it began: numbers are used again."""


@contextlib.contextmanager
def reaping() -> Iterator[None]:
    """Mark what is started inside the block, and end it when this process has ended."""
    if not Path("/proc/self/environ").exists():
        yield
        return
    token = secrets.token_hex(8)
    reaper = subprocess.Popen(  # noqa: S603 - ourselves
        # -P: not a module that lies in the folder where the command is run
        [sys.executable, "-P", "-m", __name__, token],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is for the driver
    )
    os.environ[MARK] = token
    try:
        yield
    finally:
        del os.environ[MARK]
        assert reaper.stdin is not None
        reaper.stdin.close()
        reaper.wait()


class Herd:
    """The processes of a cluster: what has the mark, and what descends from such a process."""

    def __init__(self, token: str) -> None:
        self._wanted = f"{MARK}={token}".encode()
        self._known: set[Process] = set()

    def look(self) -> set[Process]:
        """Return those that are running, and remember them."""
        running = {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                with contextlib.suppress(OSError):  # it has ended
                    fields = (folder / "stat").read_text().rpartition(")")[2].split()
                    if fields[_STATE] != "Z":  # ended, and its parent has not asked how
                        running[int(folder.name)] = (int(fields[_PARENT]), fields[_STARTED])
        processes = {(number, started) for number, (_, started) in running.items()}
        self._known &= processes
        self._known |= {one for one in processes - self._known if self._is_marked(one[0])}
        family = {number for number, _ in self._known}
        while (
            below := {number for number, (parent, _) in running.items() if parent in family}
            - family
        ):
            family |= below
        self._known |= {(number, running[number][1]) for number in family}
        return self._known

    def _is_marked(self, number: int) -> bool:
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            return self._wanted in Path(f"/proc/{number}/environ").read_bytes().split(b"\0")
        return False

    def end(self) -> None:
        """End them, unless they end by themselves."""
        deadline = time.monotonic() + _GRACE
        while self.look() and time.monotonic() < deadline:
            time.sleep(0.1)
        for number, _ in self.look():
            with contextlib.suppress(OSError):
                os.kill(number, signal.SIGKILL)


def main(token: str) -> None:
    """Wait until the driver is gone, and end what it leaves."""
    herd = Herd(token)
    while not select.select([sys.stdin], [], [], _EVERY)[0]:  # nothing is ever written to it
        herd.look()
    herd.end()


if __name__ == "__main__":
    main(sys.argv[1])

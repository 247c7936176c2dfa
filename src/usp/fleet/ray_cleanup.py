"""Ends what a local Ray cluster leaves running when the driver that started it is killed.

Ray's own agents outlive a driver that ends by signal 9. Every process of a cluster that we start has a
mark in its environment. A small process beside the driver waits until the driver is gone, however that
happens, and kills whatever has the mark. It looks for such processes while it waits, and remembers
them: a process that gives itself a title writes it over its environment.
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

GRACE = 3.0  # seconds in which Ray may clean up by itself
_EVERY = 1.0  # seconds from one look to the next
_STATE, _PARENT, _STARTED = 0, 1, 19  # fields of /proc/…/stat after the name

Process = tuple[int, str]
"""The id of a process and when it began: ids are used again."""


@contextlib.contextmanager
def cleanup_after_kill(grace: float = GRACE) -> Iterator[None]:
    """Mark the processes that are started inside the block; they end when this process has ended."""
    if not Path("/proc/self/environ").exists():
        yield
        return
    token = secrets.token_hex(8)
    watcher = subprocess.Popen(  # noqa: S603 - ourselves
        # By its path it loads nothing of usp. -I: nor modules from the folder where it is run.
        [sys.executable, "-I", __file__, token, str(grace)],
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
        assert watcher.stdin is not None
        watcher.stdin.close()
        watcher.wait()


class MarkedProcesses:
    """The processes of a cluster: those with the mark, and those that they have started."""

    def __init__(self, token: str) -> None:
        self._mark = f"{MARK}={token}".encode()
        self._known: set[Process] = set()

    def running(self) -> set[Process]:
        """Return those that are running, and remember them."""
        parents: dict[int, tuple[int, str]] = {}
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                with contextlib.suppress(OSError):  # it has ended
                    fields = (folder / "stat").read_text().rpartition(")")[2].split()
                    if fields[_STATE] != "Z":  # ended, and its parent has not asked how
                        parents[int(folder.name)] = (int(fields[_PARENT]), fields[_STARTED])
        processes = {(pid, started) for pid, (_, started) in parents.items()}
        self._known &= processes
        self._known |= {one for one in processes - self._known if self._is_marked(one[0])}
        family = {pid for pid, _ in self._known}
        while below := {p for p, (parent, _) in parents.items() if parent in family} - family:
            family |= below
        self._known |= {(pid, parents[pid][1]) for pid in family}
        return self._known

    def _is_marked(self, pid: int) -> bool:
        with contextlib.suppress(OSError):  # it has ended, or is somebody else's
            return self._mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        return False

    def end(self, grace: float) -> None:
        """Kill them, unless they end by themselves within so many seconds."""
        deadline = time.monotonic() + grace
        while self.running() and time.monotonic() < deadline:
            time.sleep(0.1)
        for pid, _ in self.running():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def main(token: str, grace: str) -> None:
    """Wait until the driver is gone, and end what it leaves."""
    processes = MarkedProcesses(token)
    while not select.select([sys.stdin], [], [], _EVERY)[0]:  # nothing is ever written to it
        processes.running()
    processes.end(float(grace))


if __name__ == "__main__":
    main(*sys.argv[1:])

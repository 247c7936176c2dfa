"""Ends what a local Ray cluster leaves running when the driver that started it is killed.

Ray's own agents outlive a driver that ends by signal 9. Every process of a cluster that we start has a
mark in its environment; a small process beside the driver waits until the driver is gone, however that
happens, and ends whatever still has the mark.
"""

from __future__ import annotations

import contextlib
import os
import secrets
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


@contextlib.contextmanager
def reaping() -> Iterator[None]:
    """Mark what is started inside the block, and end it when this process has ended."""
    if not Path("/proc/self/environ").exists():
        yield
        return
    token = secrets.token_hex(8)
    reaper = subprocess.Popen(  # noqa: S603 - ourselves
        [sys.executable, "-m", __name__, token],
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


def marked(token: str) -> list[int]:
    """Return the processes that have the mark."""
    wanted = f"{MARK}={token}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended, or is somebody else's
                if wanted in (folder / "environ").read_bytes().split(b"\0"):
                    found.append(int(folder.name))
    return found


def end(token: str) -> None:
    """End the processes that have the mark, unless they end by themselves."""
    deadline = time.monotonic() + _GRACE
    while marked(token) and time.monotonic() < deadline:
        time.sleep(0.1)
    for process in marked(token):
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGKILL)


if __name__ == "__main__":
    sys.stdin.buffer.read()  # until the driver is gone
    end(sys.argv[1])

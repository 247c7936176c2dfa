"""The processes of a run, found in /proc."""

from __future__ import annotations

import time
from pathlib import Path


def parents() -> dict[int, tuple[int, str]]:
    """Give the parent and the command line of every process."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            found[int(entry.name)] = (int(stat.rpartition(")")[2].split()[1]), line)
    return found


def below(pid: int) -> dict[int, str]:
    """Give the processes that a process has started, and those that they have, and so on."""
    known = parents()
    found = {pid: ""}
    while more := {p: line for p, (of, line) in known.items() if of in found and p not in found}:
        found |= more
    del found[pid]
    return found


def is_alive(pid: int, line: str) -> bool:
    """Tell whether a process is still the one that it was; one that has only ended counts as gone."""
    known = parents().get(pid)
    return known is not None and known[1] == line


def is_worker(engine: str, line: str) -> bool:
    if engine == "ray":
        return line.startswith("ray::") and "IDLE" not in line and "_crawl" in line
    return "spawn_main" in line


def wait_for(condition, seconds=180.0):
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)
    return value

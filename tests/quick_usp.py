"""The command ``usp`` as a process of its own that does not have to load everything first.

``usp_command()`` returns the beginning of a command line, to be used like ``[sys.executable, "-m",
"usp.cli"]``. The process that it starts hands its standard streams, folder and environment to a server
that has loaded the package, and ends as the copy ends that the server forks: with the same status or by
the same signal. Tests of loading, of closed streams and of signals start the real command instead, and
so do those that set variables of Python itself.
"""

import atexit
import contextlib
import gc
import importlib
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
from functools import cache

ASK = """
import _socket, os, sys  # next to nothing: socket takes longer than everything else here

address, *arguments = sys.argv[1:]
connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
connection.connect(address)
variables = [b"%s=%s" % item for item in os.environb.items()]
words = [os.fsencode(word) for word in (os.getcwd(), str(len(arguments)), *arguments)]
request = b"\\0".join([*words, *variables])
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
head = len(request).to_bytes(8, "big")
connection.sendmsg([head], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
connection.sendall(request)
for number in range(3):
    os.close(number)  # who reads a pipe to its end waits for the command alone
ended = int.from_bytes(connection.recv(4), "big", signed=True)
if ended < 0:
    os.kill(os.getpid(), -ended)
os._exit(ended)
"""
"""The process that a test starts: it has a command run by the server, and ends as that does."""


def load() -> None:
    """Import what commands need."""
    import pyarrow.parquet  # noqa: F401, PLC0415 - for the server only

    import usp  # noqa: PLC0415 - the same

    for found in pkgutil.walk_packages(usp.__path__, "usp."):
        if not found.name.endswith("__main__") and not found.name.startswith(
            ("usp.mcp", "usp.contrib")
        ):
            importlib.import_module(found.name)


def serve(address: str) -> None:
    """Fork a copy for each request, until the standard input ends."""
    load()
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who wait
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(address)
    listening.listen(64)
    os.write(1, b".")
    while 0 not in select.select([listening, 0], [], [])[0]:
        connection, _ = listening.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            listening.close()
            head, streams, _, _ = socket.recv_fds(connection, 8, 3)
            request = connection.makefile("rb").read(int.from_bytes(head, "big"))
            child = os.fork()
            if child == 0:
                connection.close()
                run(request, streams)  # and end like any program
                return
            for stream in streams:
                os.close(stream)
            watch(child, connection)
        connection.close()


def watch(child: int, connection: socket.socket) -> None:
    """Report how a command ends, and end it if nobody is interested any more."""
    running = os.pidfd_open(child)
    if running not in select.select([running, connection], [], [])[0]:
        signal.pidfd_send_signal(running, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(OSError):
        connection.sendall(status.to_bytes(4, "big", signed=True))
    os._exit(0)


def run(request: bytes, streams: list[int]) -> None:
    """Be the command."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder, count, *rest = request.split(b"\0")
    arguments = [os.fsdecode(word) for word in rest[: int(count)]]
    os.environ.clear()
    os.environb.update(item.split(b"=", 1) for item in rest[int(count) :])
    os.chdir(folder)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        again = open(  # noqa: SIM115 - open as long as the process runs
            number,
            "w" if number else "r",
            buffering=1 if number == 2 or os.isatty(number) else -1,
            encoding="utf-8",
            errors="backslashreplace" if number == 2 else "strict",
            closefd=False,
        )
        setattr(sys, name, again)
        setattr(sys, f"__{name}__", again)
    for place in os.environ.get("PYTHONPATH", "").split(os.pathsep):  # as Python does
        if os.path.isfile(f"{place}/sitecustomize.py"):  # noqa: PTH113
            sys.path.insert(0, place)
            runpy.run_path(f"{place}/sitecustomize.py")
    sys.argv = ["usp", *arguments]
    runpy.run_module("usp.cli", run_name="__main__", alter_sys=True)


@cache
def usp_command() -> list[str]:
    """Return the beginning of a command line of ``usp``; the server ends with this process."""
    if sys.platform != "linux":  # it needs pidfd
        return [sys.executable, "-m", "usp.cli"]
    folder = tempfile.TemporaryDirectory(prefix="usp-quick-")
    address = f"{folder.name}/socket"
    server = subprocess.Popen(
        [sys.executable, __file__, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    atexit.register(folder.cleanup)
    atexit.register(server.communicate)  # its input ends
    assert server.stdout.read(1) == b"."
    return [sys.executable, "-I", "-S", "-c", ASK, address]


if __name__ == "__main__":
    serve(sys.argv[1])

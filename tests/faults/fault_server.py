"""A web server that does on purpose what servers do by accident: real sockets, raw bytes.

A :class:`FaultServer` opens any number of websites, each at a port of its own. What a path answers is a
:class:`Reply`, or a list of them for successive requests, of which the last one stays. A reply is
sent as it stands, head and all.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

PATIENCE = 20.0
"""Seconds after which the server gives up on whatever it waits for."""

_RESET = struct.pack("ii", 1, 0)
_MAX_HEAD = 64 * 1024


@dataclass(frozen=True)
class Endless:
    """Sent again and again, with a pause between, for so many seconds at most."""

    piece: bytes
    pause: float = 0.0
    seconds: float = PATIENCE


@dataclass(frozen=True)
class Reply:
    """What is sent: bytes as they are, numbers as so many seconds of silence.

    ``end`` is what becomes of the connection: ``keep``, ``close``, or ``reset``.
    """

    parts: tuple[bytes | float | Endless, ...] = ()
    end: str = "keep"


Table = Mapping[str, "Reply | Sequence[Reply]"]

NOT_FOUND = Reply((b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno",))


@dataclass
class FaultSite:
    """A website at a port: ``answers`` by path, and how often each path was asked for."""

    base: str
    listener: socket.socket
    answers: Table = field(default_factory=dict)
    hits: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reply(self, path: str) -> Reply:
        with self.lock:
            turn = self.hits[path]
            self.hits[path] += 1
        answer = self.answers.get(path, NOT_FOUND)
        return answer if isinstance(answer, Reply) else answer[min(turn, len(answer) - 1)]


class FaultServer:
    """Serves websites from one thread that accepts and one for each connection."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._held: list[socket.socket] = []
        self._stopped = False
        self._bell, bell = socket.socketpair()
        self._selector.register(bell, selectors.EVENT_READ, None)
        self._ears = bell
        self._thread = threading.Thread(target=self._accept, name="fault-server", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, make: Callable[[str], Table]) -> FaultSite:
        """Open a website; ``make`` gives its answers, told its address without a slash."""
        listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        listener.setblocking(False)
        site = FaultSite(f"http://127.0.0.1:{listener.getsockname()[1]}", listener)
        site.answers = make(site.base)
        self._selector.register(listener, selectors.EVENT_READ, site)
        self._bell.send(b"!")
        return site

    def shut(self, site: FaultSite) -> None:
        """Close a website; connections that are open end by themselves."""
        self._selector.unregister(site.listener)
        self._bell.send(b"!")
        site.listener.close()

    def nobody(self) -> str:
        """Give the address of a port that refuses every connection."""
        taken = socket.socket()
        taken.bind(("127.0.0.1", 0))  # taken, so that nobody else listens there, but not listening
        self._held.append(taken)
        return f"http://127.0.0.1:{taken.getsockname()[1]}"

    def close(self) -> None:
        """Drop every connection and stop."""
        self._stopped = True
        self._bell.send(b"!")
        self._thread.join()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()
        for taken in (self._bell, *self._held):
            taken.close()
        self._selector.close()

    def _accept(self) -> None:
        while not self._stopped:
            for key, _ in self._selector.select(PATIENCE):
                if key.data is None:
                    self._ears.recv(4096)
                    continue
                with contextlib.suppress(OSError):  # it may be shut by now, or the client gone
                    connection, _ = key.fileobj.accept()
                    threading.Thread(
                        target=self._serve,
                        args=(connection, key.data),
                        name="fault-connection",
                        daemon=True,
                    ).start()

    def _serve(self, connection: socket.socket, site: FaultSite) -> None:
        with self._lock:
            self._connections.add(connection)
        try:
            connection.settimeout(PATIENCE)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while not self._stopped and (path := _request(connection)):
                reply = site.reply(path)
                _send(connection, reply.parts)
                if reply.end == "reset":
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                if reply.end != "keep":
                    return
        except OSError:
            pass  # the client has left
        finally:
            with self._lock:
                self._connections.discard(connection)
            connection.close()


def _request(connection: socket.socket) -> str | None:
    """Receive the head of a request; give its path, None if the client has left."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _MAX_HEAD:
        piece = connection.recv(_MAX_HEAD)
        if not piece:
            return None
        head += piece
    words = head.split(b" ", 2)
    return words[1].decode("latin-1") if len(words) > 1 else None


def _send(connection: socket.socket, parts: Sequence[bytes | float | Endless]) -> None:
    for part in parts:
        if isinstance(part, bytes):
            connection.sendall(part)
        elif isinstance(part, Endless):
            end = time.monotonic() + part.seconds
            while time.monotonic() < end:
                connection.sendall(part.piece)
                if part.pause:
                    _silence(connection, part.pause)
        else:
            _silence(connection, part)


def _silence(connection: socket.socket, seconds: float) -> None:
    """Send nothing for a while; a client that leaves ends it."""
    connection.settimeout(seconds)
    try:
        if not connection.recv(1, socket.MSG_PEEK):  # the next request is not ours to take
            raise ConnectionAbortedError
        time.sleep(min(seconds, 0.01))
    except TimeoutError:
        pass
    finally:
        connection.settimeout(PATIENCE)

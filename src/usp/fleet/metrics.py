"""The counts of a run as OpenMetrics: in a file for the node exporter, or on a port of its own."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from usp._base.files import replacing
from usp._base.progress_line import repeated

if TYPE_CHECKING:
    from usp.fleet.run import FleetProgress

__all__ = ["exporting", "openmetrics", "read_target"]

DELAYS = (60, 600, 3600, 6 * 3600, 86_400, 7 * 86_400)
"""The buckets of the delays with which changes were seen, in seconds."""

_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_EVERY = 15.0  # seconds between two versions of the file
_PORTS = range(1, 65_536)
_Current: TypeAlias = Callable[[], "FleetProgress | None"]


def openmetrics(progress: FleetProgress) -> str:
    """Return the counts of a run in the text format of OpenMetrics."""
    return "".join(f"{line}\n" for line in _lines(progress))


def _lines(progress: FleetProgress) -> Iterator[str]:
    outcomes = {f'_total{{outcome="{one}"}}': n for one, n in sorted(progress.outcomes.items())}
    statuses = {f'_total{{status="{one}"}}': n for one, n in sorted(progress.statuses.items())}
    limits = (f'_bucket{{le="{limit}"}}' for limit in (*DELAYS, "+Inf"))
    fresh: dict[str, float] = dict(zip(limits, accumulate(progress.delays), strict=True))
    fresh |= {"_sum": progress.delayed, "_count": sum(progress.delays)}
    changed = "How long ago a sitemap was the same that has now changed."
    for name, kind, text, values in (
        ("sites", "counter", "Sites that were visited.", outcomes),
        ("requests", "counter", "Requests that were sent.", statuses),
        ("bytes", "counter", "Received bytes.", {"_total": progress.bytes}),
        ("pages", "counter", "Read pages.", {"_total": progress.pages}),
        ("sitemaps", "counter", "Read sitemaps.", {"_total": progress.sitemaps}),
        ("due_sites", "gauge", "Sites of which something is due.", {"": len(progress.active)}),
        ("due_lag_seconds", "gauge", "How long the first has been due.", {"": progress.lag}),
        ("workers_lost", "gauge", "Workers that died.", {"": progress.workers_lost}),
        ("freshness_seconds", "histogram", changed, fresh),
    ):
        yield f"# TYPE usp_{name} {kind}"
        yield f"# HELP usp_{name} {text}"
        numbers: Mapping[str, float] = values
        yield from (f"usp_{name}{suffix} {value}" for suffix, value in numbers.items())
    yield "# EOF"


def read_target(text: str) -> Path | tuple[str, int]:
    """Return a file, or the host and the port of ``:9100`` or ``0.0.0.0:9100``.

    Without a host it is the loopback interface. Raises ``ValueError`` for a wrong port.
    """
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal():
        return Path(text)
    if int(port) not in _PORTS:
        raise ValueError(f"{port} is not a port; use :9100, for example")
    return host.strip("[]") or "127.0.0.1", int(port)


@contextmanager
def exporting(target: Path | tuple[str, int] | None, current: _Current) -> Iterator[int | None]:
    """Write the counts to a file during the block, or answer requests for them; yield the port."""
    if target is None:
        yield None
    elif isinstance(target, Path):

        def write() -> None:
            if (progress := current()) is not None:
                with replacing(target) as file:  # a reader never sees half of it
                    file.write(openmetrics(progress).encode())

        try:
            with repeated(write, _EVERY):
                yield None
        finally:
            write()
    else:
        try:
            server = _Server(target, current)
        except OSError as error:
            host, port = target
            text = f"cannot serve metrics at {host}:{port}: {error.strerror}; choose another port"
            raise OSError(error.errno, text) from error
        threading.Thread(target=server.serve_forever, name="usp-metrics", daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], current: _Current) -> None:
        self.current = current
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, _Handler)


class _Handler(BaseHTTPRequestHandler):
    timeout = 5.0  # seconds for a request
    server: _Server

    def do_GET(self) -> None:
        """Answer with the counts, at the usual path."""
        progress = self.server.current()
        found = self.path.partition("?")[0] == "/metrics" and progress is not None
        body = openmetrics(progress).encode() if found and progress else b"see /metrics\n"
        self.send_response(200 if found else 404)
        self.send_header("Content-Type", _TYPE if found else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing: a monitor asks every few seconds."""

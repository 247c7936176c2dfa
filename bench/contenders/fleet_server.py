"""Many websites in one process, one at each address of loopback: ``fleet_server.py ROOT LATENCY``.

All serve the files of one folder; robots.txt and indexes name the address that was asked. The port is
printed on the first line.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

_BASE = b"@BASE@"


class Fleet:
    """The files, read once."""

    def __init__(self, root: Path, latency: float) -> None:
        self._latency = latency
        self._files = {
            f"/{path.relative_to(root)}": path.read_bytes()
            for path in root.rglob("*")
            if path.is_file()
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer what one connection asks."""
        address, port = writer.get_extra_info("sockname")[:2]
        host = f"{address}:{port}".encode()
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                await asyncio.sleep(self._latency)
                body = self._files.get(path)
                status = b"404 Not Found" if body is None else b"200 OK"
                body = body or b"no"
                if not path.startswith("/pages/"):
                    body = body.replace(_BASE, host)
                writer.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n" % (status, len(body)))
                writer.write(body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def main() -> None:
    """Serve until killed."""
    fleet = Fleet(Path(sys.argv[1]), float(sys.argv[2]))
    server = await asyncio.start_server(fleet.serve, "0.0.0.0", 0, backlog=4096)  # noqa: S104
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())

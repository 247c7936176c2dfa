"""One process that is a thousand websites: whichever address of loopback is asked, that one answers.

``python fleet_server.py COUNT [LATENCY]`` prints its port.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter

from fleet_sites import Answer, site_of

_NOT_FOUND = Answer(b"no", "404 Not Found")


class Fleet:
    """The sites by address, made when they are first asked for."""

    def __init__(self, count: int, latency: float) -> None:
        self._count = count
        self._latency = latency
        self.port = 0
        self._answers: dict[str, dict[str, Answer]] = {}
        self._asked: Counter[tuple[str, str]] = Counter()

    def _of(self, address: str) -> dict[str, Answer]:
        if address not in self._answers:
            _, a, b, c = map(int, address.split("."))
            number = (a - 1) * 62500 + (b - 1) * 250 + c - 1
            known = 0 <= number < self._count
            self._answers[address] = site_of(number, self.port).answers if known else {}
        return self._answers[address]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = writer.get_extra_info("sockname")[0]
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                answer = self._of(address).get(path, _NOT_FOUND)
                self._asked[address, path] += 1
                if "X-Fail-First: 1" in answer.headers and self._asked[address, path] <= 1:
                    answer = Answer(b"later", "503 Service Unavailable", ("Retry-After: 0",))
                await self._send(writer, answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _send(self, writer: asyncio.StreamWriter, answer: Answer) -> None:
        if self._latency or answer.pause:
            await asyncio.sleep(self._latency + answer.pause)
        lines = [
            f"HTTP/1.1 {answer.status}",
            f"Content-Length: {len(answer.body)}",
            *answer.headers,
        ]
        writer.write("\r\n".join([*lines, "\r\n"]).encode())
        step = len(answer.body) // 8 + 1 if answer.drip else len(answer.body) or 1
        for at in range(0, len(answer.body), step):
            writer.write(answer.body[at : at + step])
            await writer.drain()
            await asyncio.sleep(answer.drip)


async def main() -> None:
    fleet = Fleet(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0.0)
    server = await asyncio.start_server(fleet.serve, "0.0.0.0", 0, backlog=4096)
    fleet.port = server.sockets[0].getsockname()[1]
    print(fleet.port, flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())

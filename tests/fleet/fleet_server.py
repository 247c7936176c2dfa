"""One process that is a thousand websites: whichever address of loopback is asked, that one answers.

``python fleet_server.py COUNT [LATENCY]`` prints its port.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter, defaultdict

from fleet_sites import Answer, site_of

_NOT_FOUND = Answer(b"no", "404 Not Found")


class Loopback:
    """Answers by address and path, each after some ``latency``; ``most`` were asked for at a time."""

    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.port = 0
        self.answers: dict[str, dict[str, Answer]] = defaultdict(dict)
        self.most: Counter[str] = Counter()
        self._active: Counter[str] = Counter()
        self._asked: Counter[tuple[str, str]] = Counter()

    def answers_of(self, address: str) -> dict[str, Answer]:
        return self.answers[address]

    async def start(self) -> asyncio.Server:
        server = await asyncio.start_server(self._serve, "0.0.0.0", 0, backlog=4096)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = writer.get_extra_info("sockname")[0]
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                answer = self.answers_of(address).get(path, _NOT_FOUND)
                self._asked[address, path] += 1
                if "X-Fail-First: 1" in answer.headers and self._asked[address, path] <= 1:
                    answer = Answer(b"later", "503 Service Unavailable", ("Retry-After: 0",))
                self._active[address] += 1
                self.most[address] = max(self.most[address], self._active[address])
                await asyncio.sleep(self.latency + answer.pause)
                self._active[address] -= 1
                await self._send(writer, answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _send(self, writer: asyncio.StreamWriter, answer: Answer) -> None:
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


class Fleet(Loopback):
    """The sites of numbers, made when they are first asked for."""

    def __init__(self, count: int, latency: float) -> None:
        super().__init__(latency)
        self._count = count

    def answers_of(self, address: str) -> dict[str, Answer]:
        if address not in self.answers:
            _, a, b, c = map(int, address.split("."))
            number = (a - 1) * 62500 + (b - 1) * 250 + c - 1
            known = 0 <= number < self._count
            self.answers[address] = site_of(number, self.port).answers if known else {}
        return self.answers[address]


async def main() -> None:
    fleet = Fleet(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0.0)
    server = await fleet.start()
    print(fleet.port, flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())

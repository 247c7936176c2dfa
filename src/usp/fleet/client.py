"""The HTTP client of a worker: all of its sites share the limit of requests to one host."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from usp._base.urls import host_of
from usp.web_client.abstract_client import WebClientErrorResponse
from usp.web_client.aiohttp_client import AiohttpWebClient, AiohttpWebClientSuccessResponse

if TYPE_CHECKING:
    from usp.fleet.options import FleetOptions
    from usp.web_client.abstract_client import AbstractWebClientResponse

_MOST_TIMES = 10_000  # hosts whose last request is remembered before the past is forgotten


class HostTurns:
    """Lets so many requests to one host be under way, whichever sites they are for.

    With ``wait`` seconds between them, it is one at a time.
    """

    def __init__(self, most: int, wait: float = 0.0) -> None:
        self._most = 1 if wait else most
        self._wait = wait
        self._free_at: dict[str, float] = {}
        self._rooms: dict[str, asyncio.Semaphore] = {}
        self._visitors: Counter[str] = Counter()

    async def enter(self, host: str) -> None:
        """Wait for a turn, and for the pause to be over."""
        self._visitors[host] += 1
        room = self._rooms.setdefault(host, asyncio.Semaphore(self._most))
        try:
            await room.acquire()
        except BaseException:
            self._forget(host)
            raise
        if self._wait:
            try:
                await self._pause(host)
            except BaseException:
                self.leave(host)
                raise

    async def _pause(self, host: str) -> None:
        now = asyncio.get_running_loop().time()
        if len(self._free_at) > _MOST_TIMES:
            self._free_at = {name: at for name, at in self._free_at.items() if at > now}
        begin = max(now, self._free_at.get(host, now))
        self._free_at[host] = begin + self._wait
        await asyncio.sleep(begin - now)

    def leave(self, host: str) -> None:
        """Give the turn to whoever has waited longest."""
        self._rooms[host].release()
        self._forget(host)

    def _forget(self, host: str) -> None:
        self._visitors[host] -= 1
        if not self._visitors[host]:
            del self._visitors[host], self._rooms[host]


class FleetClient(AiohttpWebClient):
    """The client of one site in a worker."""

    def __init__(self, options: FleetOptions, turns: HostTurns) -> None:
        super().__init__(
            verify=options.verify,
            user_agent=options.user_agent,
            timeout=options.timeout,
            max_concurrent_requests=options.per_host,
            zones=options.zones,
        )
        self._turns = turns

    async def get(self, url: str) -> AbstractWebClientResponse:
        """Fetch a URL once it is its turn at the host."""
        host = host_of(url) or ""
        await self._turns.enter(host)
        try:
            response = await super().get(url)
        except BaseException:
            self._turns.leave(host)
            raise
        if isinstance(response, WebClientErrorResponse):
            self._turns.leave(host)
        elif isinstance(response, AiohttpWebClientSuccessResponse):
            _leave_at_close(response, self._turns, host)
        return response


def _leave_at_close(response: AiohttpWebClientSuccessResponse, turns: HostTurns, host: str) -> None:
    close = response.close
    left = False

    async def closing() -> None:
        nonlocal left
        if not left:
            left = True
            turns.leave(host)
        await close()

    response.close = closing  # type: ignore[method-assign]

"""Turns at each host: how many requests it gets at a time, whoever sends them."""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

_MOST_TIMES = 10_000  # hosts whose last request is remembered before the past is forgotten


class HostTurns:
    """Limits the concurrent requests to one host, for all clients together.

    With ``wait`` seconds between them, requests are sent one at a time.
    """

    def __init__(self, most: int, wait: float = 0.0) -> None:
        self._most = 1 if wait else most
        self._wait = wait
        self._free_at: dict[str, float] = {}
        self._rooms: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def enter(self, host: str) -> asyncio.Semaphore:
        """Wait for a turn, and for the pause to be over; return what is released after the request."""
        room = self._rooms.get(host)
        if room is None:  # as long as somebody holds it, all others get the same
            room = self._rooms[host] = asyncio.Semaphore(self._most)
        await room.acquire()
        try:
            await self._pause(host)
        except BaseException:
            room.release()
            raise
        return room

    async def _pause(self, host: str) -> None:
        if not self._wait:
            return
        now = asyncio.get_running_loop().time()
        if len(self._free_at) > _MOST_TIMES:
            self._free_at = {name: at for name, at in self._free_at.items() if at > now}
        begin = max(now, self._free_at.get(host, now))
        self._free_at[host] = begin + self._wait
        await asyncio.sleep(begin - now)

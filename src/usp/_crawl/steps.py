"""Work in steps on asyncio: short ones in the loop, long ones in a thread, so that the loop is free."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONG = 0.005
"""Seconds: after a step that took longer, those that follow are made in a thread."""

END = object()
"""What :meth:`Stepper.next` returns after the last step."""

T = TypeVar("T")


class Stepper:
    """Makes the steps of one piece of work, one after another."""

    def __init__(self) -> None:
        self._long = False
        self._spent = 0.0  # seconds since the loop had its turn

    async def next(self, steps: Iterator[Any]) -> Any:
        """Make the next step and return what it gave, or :data:`END`."""
        return await self.call(next, steps, END)

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return what a function returns, called here if that will not take long."""
        if self._long:
            return await _in_thread(function, *arguments)
        began = time.perf_counter()
        result = function(*arguments)
        took = time.perf_counter() - began
        self._long = took > LONG
        self._spent += took
        if self._spent > LONG:  # many short steps are long, too
            self._spent = 0.0
            await asyncio.sleep(0)
        return result


async def _in_thread(function: Callable[..., T], *arguments: Any) -> T:
    work = asyncio.get_running_loop().run_in_executor(None, function, *arguments)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])  # nobody may go on with the same thing beside it
        if not work.cancelled():
            work.exception()  # has been seen
        raise

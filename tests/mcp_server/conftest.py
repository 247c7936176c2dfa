"""A server in this process, asked by the SDK's own client; and websites to ask it about."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from mcp import Client

from usp.mcp import SERVER_LIMITS, ServerOptions, create_server
from usp.options import CrawlOptions
from usp.web_client.zones import Zones

HERE = Zones(allow=("127.0.0.1",), trust_start=False)
"""Websites of the tests are on this machine, which nobody reaches unless it is allowed."""


class Talk:
    """A conversation with a server."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def result(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the structured result of a call that must succeed."""
        returned = await self.client.call_tool(tool, arguments)
        assert not returned.is_error, returned.content[0].text
        return returned.structured_content

    async def refusal(self, tool: str, **arguments: Any) -> str:
        """Return why a call was refused."""
        returned = await self.client.call_tool(tool, arguments)
        assert returned.is_error, returned.structured_content
        assert returned.structured_content is None
        (said,) = returned.content
        assert "Traceback" not in said.text
        return said.text

    async def all_pages(self, **arguments: Any) -> list[dict[str, Any]]:
        """Return the pages of all parts of a list."""
        part = await self.result("list_pages", **arguments)
        pages = part["pages"]
        while "next_cursor" in part:
            part = await self.result("list_pages", **arguments, cursor=part["next_cursor"])
            assert part["source"]["from_cache"]
            pages += part["pages"]
        assert len(pages) == part["total"]
        return pages


def options(*, limits: dict[str, Any] | None = None, **given: Any) -> ServerOptions:
    crawl = CrawlOptions(limits=dataclasses.replace(SERVER_LIMITS, **limits or {}))
    return ServerOptions(**{"zones": HERE, "crawl": crawl, **given})


@pytest.fixture
def talk() -> Callable[..., Any]:
    """Have a conversation with a new server; return what it comes to."""

    def run(
        conversation: Callable[[Talk], Awaitable[Any]], mode: str = "auto", **given: Any
    ) -> Any:
        async def whole() -> Any:
            async with Client(create_server(options(**given)), mode=mode) as client:
                return await conversation(Talk(client))

        return asyncio.run(whole())

    return run

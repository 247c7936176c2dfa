"""A server in this process, asked by the SDK's own client; and websites to ask it about."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable, Mapping
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

    async def all_of(self, what: str, **arguments: Any) -> list[dict[str, Any]]:
        """Return the pages or sitemaps of all parts of a list."""
        part = await self.result(f"list_{what}", **arguments)
        items = part[what]
        while "next_cursor" in part:
            part = await self.result(f"list_{what}", **arguments, cursor=part["next_cursor"])
            assert part["source"]["from_cache"]
            items += part[what]
        assert len(items) == part["total"]
        return items


def options(*, limits: dict[str, Any] | None = None, **given: Any) -> ServerOptions:
    crawl = CrawlOptions(limits=dataclasses.replace(SERVER_LIMITS, **limits or {}))
    return ServerOptions(**{"zones": HERE, "crawl": crawl, **given})


class NewServer:
    """Has a conversation with a new server, of one call or more; returns what it comes to."""

    def __call__(
        self, conversation: Callable[[Talk], Awaitable[Any]], mode: str = "auto", **given: Any
    ) -> Any:
        async def whole() -> Any:
            async with Client(create_server(options(**given)), mode=mode) as client:
                return await conversation(Talk(client))

        return asyncio.run(whole())

    def result(self, tool: str, server: Mapping[str, Any] | None = None, **given: Any) -> Any:
        return self(lambda talk: talk.result(tool, **given), **server or {})

    def refusal(self, tool: str, server: Mapping[str, Any] | None = None, **given: Any) -> str:
        return self(lambda talk: talk.refusal(tool, **given), **server or {})


@pytest.fixture
def talk() -> NewServer:
    return NewServer()

"""A server in this process, asked by the SDK's own client; and websites to ask it about."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client

from usp.mcp import SERVER_LIMITS, ServerOptions, create_server
from usp.options import CrawlOptions
from usp.web_client.zones import Zones

HERE = Zones(allow=("127.0.0.1",), trust_start=False)
"""Websites of the tests are on this machine, which nobody reaches unless it is allowed."""


class Talk:
    """A conversation with a server, whose event loop runs in another thread."""

    def __init__(self, client: Client, portal: BlockingPortal) -> None:
        self.client = client
        self.run: Callable[..., Any] = portal.call

    def call(self, tool: str, given: dict[str, Any], **more: Any) -> Any:
        async def called() -> Any:
            return await self.client.call_tool(tool, given, **more)

        return self.run(called)

    def tools(self) -> list[Any]:
        return self.run(self.client.list_tools).tools

    def result(self, tool: str, **given: Any) -> dict[str, Any]:
        """Return the structured result of a call that must succeed."""
        return self.of(self.call(tool, given))

    @staticmethod
    def of(returned: Any) -> dict[str, Any]:
        assert not returned.is_error, returned.content[0].text
        return returned.structured_content

    def refusal(self, tool: str, **given: Any) -> str:
        """Return why a call was refused."""
        returned = self.call(tool, given)
        assert returned.is_error, returned.structured_content
        assert returned.structured_content is None
        (said,) = returned.content
        assert "Traceback" not in said.text
        return said.text

    def all_of(self, what: str, **given: Any) -> list[dict[str, Any]]:
        """Return the pages or sitemaps of all parts of a list."""
        part = self.result(f"list_{what}", **given)
        items = part[what]
        while "next_cursor" in part:
            part = self.result(f"list_{what}", **given, cursor=part["next_cursor"])
            assert part["source"]["from_cache"]
            items += part[what]
        assert len(items) == part["total"]
        return items


@pytest.fixture
def talk() -> Iterator[Callable[..., Talk]]:
    """Begin a conversation with a new server that has these options."""
    with ExitStack() as stack:

        def begin(mode: str = "auto", *, limits: Any = (), **given: Any) -> Talk:
            crawl = CrawlOptions(limits=dataclasses.replace(SERVER_LIMITS, **dict(limits)))
            server = create_server(
                ServerOptions(**{"client": {"zones": HERE}, "crawl": crawl, **given})
            )
            portal = stack.enter_context(start_blocking_portal())
            connected = portal.wrap_async_context_manager(Client(server, mode=mode))
            return Talk(stack.enter_context(connected), portal)

        yield begin

"""A selection of an asynchronous stream is that of the pages one by one."""

import asyncio
from contextlib import aclosing

from cases import cases
from usp.objects.page import SitemapPage
from usp.selection import Selection

PAGES = [SitemapPage(f"https://x.org/{name}") for name in ("a", "b", "a", "c")]


class Stream:
    """Counts the pages that were asked for, and knows whether it was closed."""

    def __init__(self):
        self.asked, self.closed = 0, False

    async def pages(self):
        try:
            for page in PAGES:
                self.asked += 1
                yield page
        finally:
            self.closed = True


def selected(selection: Selection, stream: Stream) -> list[SitemapPage]:
    async def collect():
        return [page async for page in selection.of_async(stream.pages(), "https://x.org/")]

    return asyncio.run(collect())


def test_the_same_pages_are_selected():
    for selection in cases(
        [
            Selection(),
            Selection(unique=True),
            Selection(exclude=["/a"], limit=1),
            Selection(include=["/c"], same_host=True),
            Selection(limit=0),
            Selection(keep_undated=False),
        ]
    ):
        assert selected(selection, Stream()) == list(selection.of(iter(PAGES), "https://x.org/"))


def test_nothing_is_asked_for_after_the_limit():
    stream = Stream()
    assert len(selected(Selection(limit=2), stream)) == 2
    assert (stream.asked, stream.closed) == (2, True)


def test_closing_it_closes_the_stream():
    stream = Stream()

    async def first():
        async with aclosing(Selection(exclude=["/nothing"]).of_async(stream.pages())) as pages:
            return await anext(pages)

    assert asyncio.run(first()) == PAGES[0]
    assert (stream.asked, stream.closed) == (1, True)

"""Plays the world to a crawl: answers its orders without any I/O, in whatever order a test likes."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from usp._base.reason import Reason
from usp._crawl.crawl import Crawl
from usp._crawl.orders import Failed, FetchOrder, Probe, Received, TreeSlot, node_for
from usp._formats.abstract_parser import ChildEntry
from usp._store import DocumentWriter, Store
from usp.events import Event
from usp.objects.exchange import Exchange
from usp.objects.problem import FailureCode
from usp.objects.sitemap import (
    AbstractSitemap,
    IndexRobotsTxtSitemap,
    IndexXMLSitemap,
    PagesTextSitemap,
)
from usp.options import CrawlOptions
from usp.web_client.abstract_client import WebClientErrorResponse

H = "http://h"
_STORE = Store()


def url(name: str) -> str:
    """Give the address of a document; a name with ``//`` is one already."""
    return name if "//" in name else f"{H}/{name}"


def received(order_url: str, look: Probe, data: bytes = b"", final: str | None = None) -> Received:
    writer = DocumentWriter(_STORE)
    writer.write(data)
    exchange = Exchange(order_url, final or order_url, received=len(data))
    return Received(writer.finish(exchange), look)


def index(
    *names: str, kind: Any = IndexXMLSitemap, final: str | None = None, **look: Any
) -> Callable:
    """Answer with an index of sitemaps."""
    look = Probe(kind, children=tuple(ChildEntry(url(name)) for name in names), **look)
    return lambda order: received(order.url, look, final=final and url(final))


def robots(*names: str, delay: float | None = None) -> Callable:
    """Answer with a robots.txt."""
    return index(*names, kind=IndexRobotsTxtSitemap, crawl_delay=delay)


def pages(text: str = "http://h/page", final: str | None = None) -> Callable:
    """Answer with a list of pages."""
    return lambda order: received(
        order.url, Probe(PagesTextSitemap), text.encode(), final and url(final)
    )


def junk(refusal: str = "it is an HTML page") -> Callable:
    """Answer with something that is no sitemap."""
    return lambda order: received(order.url, Probe(None, Reason(FailureCode.HTML_PAGE, refusal)))


def error(message: str = "404 Not Found", *, retryable: bool = False, **how: Any) -> Callable:
    """Answer with an error, which may be ``silent``, ``unreachable``, or have a ``retry_after``."""
    response = WebClientErrorResponse(message, retryable)
    for name, value in how.items():
        setattr(response, name, value)
    return lambda _: Failed(response)


@dataclass
class World:
    """What every URL answers: one answer, or a list of answers to successive requests."""

    answers: Mapping[str, Any]
    asked: list[str] = field(default_factory=list)
    begun: list[tuple[float, str]] = field(default_factory=list)  # when which request was sent
    now: float = 0.0

    def answer(self, order: FetchOrder) -> Received | Failed:
        """Obey an order."""
        turn = self.asked.count(order.url)
        self.asked.append(order.url)
        answer = self.answers.get(order.url.removeprefix(H + "/"), error())
        if isinstance(answer, list):
            answer = answer[min(turn, len(answer) - 1)]
        return answer(order)


def want(*names: str, options: CrawlOptions | None = None, per_host: int = 8) -> Crawl:
    """Begin a crawl of some documents."""
    crawl = Crawl(options or CrawlOptions(), per_host=per_host)
    for name in names:
        crawl.want(url(name))
    return crawl


def tell(crawl: Crawl, order: FetchOrder, answer: Callable, now: float = 0.0) -> None:
    """Answer an order of a crawl."""
    crawl.finished(order, answer(order), now)


def play(
    crawl: Crawl,
    world: World,
    *,
    room: int = 1,
    choose: Callable[[int], int] = lambda _: 0,
    takes: float = 0.0,
    most: int = 10_000,
) -> list[Event]:
    """Drive a crawl to its end; ``choose`` says which of n orders under way is answered next.

    Every request ``takes`` so many seconds. Apart from that, time passes only when nothing else can be
    done: then it jumps to when the crawl wakes up.
    """
    under_way: list[tuple[float, FetchOrder]] = []
    events: list[Event] = []
    for _ in range(most):
        for order in crawl.next_fetches(room - len(under_way), world.now):
            under_way.append((world.now + takes, order))
            world.begun.append((world.now, order.url))
        assert len(under_way) <= room
        events += crawl.take_events()
        if crawl.complete:
            return events
        wake_at = crawl.wake_at(room=len(under_way) < room)
        if under_way and wake_at >= under_way[0][0]:
            answered, order = under_way.pop(choose(len(under_way)))
            world.now = max(world.now, answered)
            crawl.finished(order, world.answer(order), world.now)
            events += crawl.take_events()
        else:
            assert world.now < wake_at < math.inf, "the crawl waits for nothing"
            world.now = wake_at
    raise AssertionError("the crawl does not end")


def played(
    answers: Mapping[str, Any],
    *names: str,
    guess: bool = False,
    room: int = 1,
    options: CrawlOptions | None = None,
) -> tuple[World, list[Any]]:
    """Drive a crawl of some documents to its end; give the world and the nodes of the documents."""
    heard = replace(options or CrawlOptions(), on_event=id)
    crawl = Crawl(heard, per_host=room, chance=lambda: 0.5)
    places = [crawl.want(name if "://" in name else url(name), guess=guess) for name in names]
    world = World(answers)
    world.events = play(crawl, world, room=room)
    return world, [node_for(place) for place in places]


def outline(node: AbstractSitemap) -> Any:
    """Give a tree as nested names."""
    name = node.url.removeprefix(H + "/")
    if hasattr(node, "reason"):
        return f"!{name}"
    below = [outline(child) for child in node.sub_sitemaps]
    return {name: below} if below else name


def tree(place: TreeSlot) -> Any:
    """Give what stands at a place and below, as nested names."""
    return outline(node_for(place))

"""Hosts that fail: slowed down, given up, and never for what a single document did."""

from collections import Counter
from itertools import pairwise

import pytest
from player import World, error, index, pages, play, played, received, robots, tell, url, want

from cases import cases
from usp._base.reason import Reason
from usp._crawl.crawl import Crawl
from usp._crawl.orders import Failed, Probe, node_for
from usp._crawl.schedule import MAX_FAILING, MAX_FAILURES, MAX_SILENT, SLOW_AFTER, HostHealth
from usp._formats.document import Role
from usp.objects.problem import FailureCode
from usp.objects.sitemap import PagesTextSitemap
from usp.options import CrawlOptions

pytestmark = pytest.mark.usefixtures("real_pauses")

BROKEN = error("500 Internal Server Error", retryable=True)
FINE = received("http://h/", Probe(PagesTextSitemap))


def failed(message: str = "500 Internal Server Error", *, retryable=True, **how: bool) -> Failed:
    return error(message, retryable=retryable, **how)(None)


def silent(order):
    return failed("read timed out", silent=True)


def reason_of(place) -> str:
    return node_for(place).reason.partition(": ")[2]


# What is thought of a host ------------------------------------------------------------------------


FAILURES = [
    failed("500 Internal Server Error"),
    failed("503 Service Unavailable"),
    failed("429 Too Many Requests"),
    failed("501 Not Implemented", retryable=False),
    failed("connection reset"),
]
GONE = failed("404 Not Found", retryable=False)
REFUSED = failed("refused", retryable=False, unreachable=True)
SILENT = failed("timed out", silent=True)
STATUSES = [401, 403, 404, 405, 410, 451]


def over(seconds: float, count: int, start: float = 100.0) -> list:
    """Give so many failures, evenly over so many seconds."""
    return [(start + seconds * number / (count - 1), failed()) for number in range(count)]


def at_once(*results: Failed) -> list:
    return [(float(number), result) for number, result in enumerate(results)]


def test_answers_say_whether_a_host_is_slow_and_whether_it_is_given_up():
    assert (SLOW_AFTER, MAX_FAILURES, MAX_FAILING, MAX_SILENT) == (3, 10, 20.0, 2)
    nine_then_well = [(number * 5.0, failed()) for number in range(9)] + [(45.0, FINE)]
    for records, slow, given_up in cases(
        [
            *((at_once(one, one), False, None) for one in FAILURES),
            *((at_once(one, one, one), True, None) for one in FAILURES),
            *((at_once(one, one, one, FINE), False, None) for one in FAILURES),
            # what is about one document says nothing about its host, but that it is well
            (at_once(*(failed(f"{s} No", retryable=False) for s in STATUSES * 50)), False, None),
            (at_once(*[failed(), failed(), GONE] * 100), False, None),
            # ten failures over twenty seconds
            (over(MAX_FAILING, 10), True, "500"),
            (over(MAX_FAILING + 100, 9), True, None),
            (over(MAX_FAILING - 0.1, 110), True, None),
            ([*nine_then_well, *over(9.0, 10, 46.0)], True, None),
            ([*nine_then_well, *over(9.0, 10, 46.0), (66.0, failed())], True, "500"),
            # nobody is there, or nobody says anything
            (at_once(REFUSED), None, "refused"),
            (at_once(SILENT), None, None),
            (at_once(SILENT, SILENT), None, "timed out"),
            *((at_once(one, *[SILENT] * 5), None, None) for one in (FINE, GONE, failed())),
        ]
    ):
        host = HostHealth()
        for now, result in records:
            host.record(result, now)
        assert slow is None or host.is_slow == slow
        assert (host.given_up is None) if given_up is None else (given_up in host.given_up.text)


# What the crawl makes of it -----------------------------------------------------------------------


def test_a_failing_host_is_asked_for_one_thing_at_a_time_until_it_answers_again():
    crawl = want(*(f"a{number}" for number in range(20)), per_host=4)
    under_way = crawl.next_fetches(10, 0.0)
    assert len(under_way) == 4
    for left in (4, 4, 3, 2, 1, 1):  # from the third failure on those that were under way already
        tell(crawl, under_way.pop(0), BROKEN)
        under_way += crawl.next_fetches(10, 0.0)
        assert len(under_way) == left
    tell(crawl, under_way.pop(), pages())
    assert len(crawl.next_fetches(10, 0.0)) == 4


def test_another_host_is_asked_as_much_as_ever():
    names = (f"http://{host}/{number}" for number in range(10) for host in ("bad", "good"))
    crawl = want(*names, per_host=3)
    under_way = crawl.next_fetches(100, 0.0)
    for order in [order for order in under_way if "bad" in order.url]:
        tell(crawl, order, BROKEN)
        under_way.remove(order)
    good = next(order for order in under_way if "good" in order.url)
    tell(crawl, good, pages())
    under_way.remove(good)
    under_way += crawl.next_fetches(100, 0.0)
    assert sum("bad" in order.url for order in under_way) == 1
    assert sum("good" in order.url for order in under_way) == 3


def test_a_host_that_keeps_failing_is_given_up_with_one_reason_for_all_that_is_left():
    crawl = Crawl(chance=lambda: 0.5)
    names = [f"a{number}" for number in range(40)]
    places = [crawl.want(url(name)) for name in names]
    alive = crawl.want("http://alive/a")
    world = World(dict.fromkeys(names, BROKEN) | {"http://alive/a": pages()})
    play(crawl, world, takes=3.0)
    asked = [name for name in world.asked if "alive" not in name]
    assert len(asked) == 10  # over 27 seconds
    reasons = Counter(reason_of(place) for place in places)
    assert reasons == {
        "500 Internal Server Error": 1,  # the tenth failure, after which it is not repeated
        "this host keeps failing (last error: 500 Internal Server Error)": 39,
    }
    assert node_for(alive).page_count() == 1


def test_a_host_where_nobody_is_is_asked_once_and_its_reason_stands_at_every_sitemap():
    names = [f"http://dead/{number}" for number in range(6)]
    dead = error("connection refused", unreachable=True)
    world, (node,) = played({"i": index(*names)} | dict.fromkeys(names, dead), "i")
    assert world.asked == [url("i"), names[0]]
    first, *others = node.failures()
    assert (first.url, first.attempts) == (names[0], 1)
    assert {(failure.attempts, failure.status) for failure in others} == {(0, None)}
    assert [failure.url for failure in others] == names[1:]
    assert {failure.reason.partition(": ")[2] for failure in others} == {"connection refused"}


def test_a_refused_scheme_of_a_host_does_not_end_the_pauses_of_the_other():
    for options in cases([{"wait": 5.0}, {"crawl_delay": True}]):
        crawl = Crawl(CrawlOptions(**options), per_host=8)
        crawl.want("https://shop/robots.txt", role=Role.ROBOTS)
        names = [f"https://shop/{number}" for number in range(5)]
        plain = [f"http://shop/{number}" for number in range(3)]
        (order,) = crawl.next_fetches(20, 0.0)
        tell(crawl, order, robots(plain[0], *names, *plain[1:], delay=5.0))
        begun, now = {}, 5.0
        while not crawl.complete:
            for order in crawl.next_fetches(20, now):
                begun[order.url] = now
                result = failed("refused", unreachable=True) if order.url in plain else FINE
                crawl.finished(order, result, now)
            now += 1.0
        moments = sorted(begun.values())
        assert len(moments) == 6, "the plain origin is asked once"
        assert all(later - earlier >= 5.0 for earlier, later in pairwise(moments))


def test_a_silent_host_is_asked_twice():
    names = [f"http://mute/{number}" for number in range(6)]
    assert len(played(dict.fromkeys(names, silent), *names)[0].asked) == 2


def test_what_is_under_way_at_a_host_that_is_given_up_still_counts():
    crawl = Crawl(per_host=2)
    first, second = (crawl.want(f"http://h/{name}") for name in "ab")
    one, two = crawl.next_fetches(2, 0.0)
    tell(crawl, one, error("refused", unreachable=True))
    tell(crawl, two, pages())
    assert crawl.complete
    assert hasattr(node_for(first), "reason")
    assert node_for(second).page_count() == 1


RESET = Reason(FailureCode.BODY_CUT_OFF, "reset")


def test_what_came_in_part_before_its_host_was_given_up_is_kept():
    """A transfer broke off; before it can be tried again, nobody is there any more."""
    crawl = Crawl(per_host=12, chance=lambda: 0.5)
    part, other, *_ = [crawl.want(url(str(n))) for n in range(12)]
    one, *others = crawl.next_fetches(12, 0.0)
    look = Probe(PagesTextSitemap, broken=RESET, unfinished=RESET)
    crawl.finished(one, received(one.url, look, b"http://h/page\n"), 0.0)
    for at, order in enumerate(others):
        tell(crawl, order, error("500 Oh", retryable=True), at * 3.0)
    assert crawl.next_fetches(2, 100.0) == []
    assert crawl.complete
    assert node_for(part).page_count() == 1
    assert [failure.reason for failure in node_for(part).failures()] == ["reset"]
    assert not node_for(other).is_complete

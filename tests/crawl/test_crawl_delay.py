"""The pause that robots.txt asks for: kept if the caller wants it, and no longer than a minute."""

import time
from itertools import pairwise

from player import World, error, index, pages, play, robots, url, want

from cases import cases
from fronts import every_front
from memory_web import H, Web
from usp._crawl.crawl import Crawl
from usp._formats.document import Role
from usp._formats.robots import MAX_CRAWL_DELAY, RobotsParser
from usp.options import CrawlOptions
from website import pages_at
from website import robots as robots_of

NAMES = [f"a{number}" for number in range(6)]


def declaring(delay: float | None) -> World:
    """Give a website whose robots.txt declares six sitemaps."""
    return World({"robots.txt": robots(*NAMES, delay=delay)} | dict.fromkeys(NAMES, pages()))


def begin(*, crawl_delay: bool = True, per_host: int = 4, known: tuple[str, ...] = ()) -> Crawl:
    options = CrawlOptions(crawl_delay=crawl_delay)
    crawl = Crawl(options, per_host=per_host, chance=lambda: 0.5)
    crawl.want(url("robots.txt"), role=Role.ROBOTS)
    for name in known:
        crawl.want(url(name), guess=True)
    return crawl


def starts(crawl: Crawl, world: World, takes: float = 0.0) -> list[tuple[float, str]]:
    """Drive a crawl whose every request takes so long; give when which request began."""
    play(crawl, world, room=16, takes=takes)
    return world.begun


def gaps(begun: list, host: str = "http://h/") -> list[float]:
    times = [time for time, name in begun if name.startswith(host)]
    return [later - earlier for earlier, later in pairwise(times)]


def test_the_gap_between_the_beginnings_of_requests_is_kept():
    for takes in cases([0.0, 1.0, 7.0]):
        crawl = begin()
        world = declaring(5.0)
        begun = starts(crawl, world, takes)
        assert [name for _, name in begun] == [url("robots.txt"), *map(url, NAMES)]
        wanted = max(5.0, takes)
        assert gaps(begun)[1:] == [wanted] * (len(NAMES) - 1)


def test_nothing_else_of_that_host_is_asked_before_robots_txt_came():
    crawl = begin(known=("sitemap.xml", "sitemap_index.xml"))
    crawl.want("http://other/x")
    world = World({"robots.txt": robots(), "http://other/x": pages()})
    begun = starts(crawl, world, takes=3.0)
    assert begun[:2] == [(0.0, url("robots.txt")), (0.0, "http://other/x")]
    assert {time for time, name in begun[2:]} == {3.0}


def test_nothing_else_is_asked_before_a_robots_txt_that_stumbled_has_come():
    crawl = begin(known=("sitemap.xml", "sitemap_index.xml"))
    busy = error("503 Service Unavailable", retryable=True)
    world = World({"robots.txt": [busy, busy, robots(delay=5.0)]})
    begun = starts(crawl, world)
    asked = [name for _, name in begun]
    assert asked[:3] == [url("robots.txt")] * 3
    assert gaps(begun)[3:] == [5.0]


OTHERS = [f"http://other/{number}" for number in range(4)]
KNOWN = ("b1", "b2", "b3")


def test_a_gap_is_kept_where_robots_txt_asks_for_it_and_the_option_is_given():
    missing = ["404 Not Found", "403 Forbidden", "500 Broken"]
    for first, options, begun in cases(
        [
            *((robots(*NAMES, delay=delay), {}, [0, 1, 1, 1, 1, 2, 2]) for delay in (None, 0.0)),
            *((error(message), {"known": KNOWN}, [0, 1, 1, 1]) for message in missing),
            (robots(delay=9.0), {"crawl_delay": False, "known": KNOWN}, [0, 0, 0, 0]),
            (robots(*NAMES, delay=5.0), {}, [0, 5, 10, 15, 20, 25, 30]),
            (robots(*NAMES, *OTHERS, delay=5.0), {}, [0, 1, 1, 1, 1, 5, 10, 15, 20, 25, 30]),
            (robots("i", delay=2.0), {}, [0, 2, 4, 6, 8, 10, 12, 14]),
        ]
    ):
        answers = dict.fromkeys((*NAMES, *OTHERS, *KNOWN), pages())
        world = World({"robots.txt": first, "i": index(*NAMES)} | answers)
        assert [time for time, _ in starts(begin(**options), world, takes=1.0)] == begun


def test_a_failing_host_that_asked_for_a_pause_is_still_asked_one_thing_at_a_time():
    """Neither failures nor a success after them may end the pause."""
    crawl = begin()
    broken = error("500 Broken", retryable=True)
    answers = {"robots.txt": robots(*NAMES, delay=5.0)} | {
        name: [broken, pages()] for name in NAMES
    }
    begun = starts(crawl, World(answers))
    assert min(gaps(begun)[1:]) == 5.0


# What robots.txt says -----------------------------------------------------------------------------


def delay_of(text: str) -> float | None:
    parser = RobotsParser("http://h/robots.txt")
    parser.feed(text)
    parser.close()
    return parser.crawl_delay


def test_the_pause_is_read_and_bounded():
    for text, delay in cases(
        [
            ("User-agent: *\nCrawl-delay: 5\n", 5.0),
            ("user-agent:*\ncrawl-delay:0.5", 0.5),
            ("User-Agent: *\r\nDisallow: /x\r\nCrawl-Delay: 7 # seconds\r\n", 7.0),
            ("Crawl-delay: 3\n", 3.0),
            ("\ufeffUser-agent: *\nCrawl-delay: 4\n", 4.0),
            ("User-agent: *\nCrawl-delay: 60\n", 60.0),
            ("User-agent: *\nCrawl-delay: 61\n", 60.0),
            ("User-agent: *\nCrawl-delay: 999999999\n", 60.0),
            ("User-agent: *\nCrawl-delay: 0\n", 0.0),
            ("User-agent: *\nCrawl-delay: -1\n", None),
            ("User-agent: *\nCrawl-delay: soon\n", None),
            ("User-agent: *\nCrawl-delay: nan\n", None),
            ("User-agent: *\nCrawl-delay: 1e9\n", None),
            ("User-agent: *\nCrawl-delay:\n", None),
            ("User-agent: *\nDisallow:\n", None),
            # only the group of all robots counts
            ("User-agent: bing\nCrawl-delay: 9\n", None),
            ("User-agent: bing\nCrawl-delay: 9\n\nUser-agent: *\nCrawl-delay: 2\n", 2.0),
            ("User-agent: *\nCrawl-delay: 2\n\nUser-agent: bing\nCrawl-delay: 9\n", 2.0),
            ("User-agent: bing\nUser-agent: *\nCrawl-delay: 3\n", 3.0),
            ("User-agent: *\nUser-agent: bing\nCrawl-delay: 3\n", 3.0),
            ("User-agent: *\nDisallow: /\nUser-agent: bing\nCrawl-delay: 9\n", None),
            ("User-agent: *\nSitemap: http://h/a\nCrawl-delay: 3\n", 3.0),
        ]
    ):
        assert MAX_CRAWL_DELAY == 60.0
        assert delay_of(text) == delay


# Through the front doors --------------------------------------------------------------------------


@every_front
def test_the_front_doors_keep_a_pause(front):
    """The clock is real here."""
    site = {"/robots.txt": robots_of("/a.xml", "/b.xml", "/c.xml") + "Crawl-delay: 0.05\n"}
    site |= pages_at(*"abc")
    for door in cases([front.tree, front.pages]):
        web = Web(site)
        started = time.monotonic()
        result = door(H + "/", front.client(web), crawl_delay=True)
        assert time.monotonic() - started >= 2 * 0.05  # of the three, two follow another
        pages = result if door == front.pages else result.all_pages()
        assert [page.url for page in pages] == [H + "/a", H + "/b", H + "/c"]
        assert web.asked == ["/robots.txt", "/a.xml", "/b.xml", "/c.xml"]


def test_a_host_that_is_given_up_costs_no_more_pauses():
    crawl = want(*(f"http://dead/{n}" for n in range(5)), options=CrawlOptions(wait=60.0))
    orders = crawl.next_fetches(8, 60.0)
    assert [order.url for order in orders] == ["http://dead/0"]
    crawl.finished(orders[0], error("refused", unreachable=True)(orders[0]), 60.0)
    assert crawl.next_fetches(8, 60.0) == []
    assert crawl.complete

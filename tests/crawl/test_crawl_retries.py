"""When the crawl asks again, when it gives up, and on whom."""

import email.utils
import logging
import time

import pytest
from player import error, outline, pages, played, robots, tree, url

from cases import cases
from usp._crawl.crawl import Crawl
from usp._crawl.schedule import DECLARED, GUESSED, RetryPolicy
from usp._formats.document import Role
from usp._http.flow import retry_after
from usp.limits import DEFAULT
from usp.web_client.abstract_client import WebClientErrorResponse

pytestmark = pytest.mark.usefixtures("real_pauses")

BUSY = error("503 Service Unavailable", retryable=True)
DEAD = error("connection refused", unreachable=True)
BROKEN = error("500 Internal Server Error", retryable=True)
RESET = error("connection reset", retryable=True)


def failure(*, retryable: bool = True, **how: float | None) -> WebClientErrorResponse:
    return error("503 Service Unavailable", retryable=retryable, **how)(None).error


def test_a_policy_says_how_long_to_wait_if_at_all():
    """It grows from try to try, by chance a half longer or shorter; servers may name one up to 30 s."""
    policy = RetryPolicy(busy=4, first_delay=1, growth=3, longest_delay=100)
    pauses = [policy.delay(attempt, failure()) for attempt in range(1, 6)]
    assert pauses == [1, 3, 9, None, None]
    assert policy.delay(1, failure(retryable=False)) is None
    for attempt in cases([1, 2, 3, 4]):
        even = DECLARED.delay(attempt, failure(), 0.5)
        assert DECLARED.delay(attempt, failure(), 0.0) == even / 2
        assert DECLARED.delay(attempt, failure(), 1.0) == even * 1.5
    for asked, pause in cases([(0, 0.5), (0.1, 0.5), (7, 7), (30, 30), (30.1, None), (31, None)]):
        assert RetryPolicy().delay(1, failure(retry_after=asked)) == pause
        for chance in (0.0, 1.0) if asked >= 7 else ():
            assert DECLARED.delay(1, failure(retry_after=asked), chance) == pause


def test_the_policies_in_use_are_bounded():
    for policy in (DECLARED, GUESSED):
        pauses = [policy.delay(n, failure(retry_after=10)) for n in range(1, policy.busy)]
        assert all(pause is not None and pause <= 10 for pause in pauses)
        assert policy.delay(policy.busy, failure()) is None
    assert GUESSED.busy < DECLARED.busy


def test_a_busy_server_is_asked_again_later_and_only_then():
    """By chance a little sooner or later, or when it says."""
    named = error("429 Too Many Requests", retryable=True, retry_after=12)
    for chance, busy, due in cases(
        [(0.5, BUSY, 100.5), (0.0, BUSY, 100.25), (1.0, BUSY, 100.75), (0.5, named, 112.0)]
    ):
        crawl = Crawl(chance=lambda chance=chance: chance)
        place = crawl.want(url("a"))
        (order,) = crawl.next_fetches(1, 100.0)
        crawl.finished(order, busy(order), 100.0)
        assert crawl.wake_at() == due
        assert crawl.next_fetches(1, due - 0.1) == []
        (again,) = crawl.next_fetches(1, due)
        assert (again.url, again.attempt) == (url("a"), 2)
        assert crawl.wake_at() == 100.0 + DEFAULT.seconds
        crawl.finished(again, pages()(again), due)
        assert crawl.complete
        assert tree(place) == "a"


def test_each_kind_of_failure_has_its_budget():
    """A failure of one kind costs nothing of that of another."""
    long_pause = error("429 Too Many Requests", retryable=True, retry_after=3600)
    mixed = [RESET] * 2 + [BUSY] * 4 + [BROKEN] * 4
    for answers, declared, guess in cases(
        [
            *((RESET, 3, 2), (BUSY, 5, 2), (BROKEN, 5, 2), (long_pause, 1, 1)),
            (error("timed out", retryable=True, status=500), 5, 2),  # says more than its message
        ]
    ):
        assert len(played({"a": answers}, "a")[0].asked) == declared
        assert len(played({"a": answers}, "a", guess=True)[0].asked) == guess
    world, (node,) = played({"a": [*mixed, pages()]}, "a")
    assert len(world.asked) == len(mixed) + 1
    assert outline(node) == "a"
    assert len(played({"a": [*mixed, RESET, pages()]}, "a")[0].asked) == len(mixed) + 1


def test_others_are_fetched_while_one_waits_or_is_dead():
    world, _ = played({"a": [BUSY, pages()], "b": pages()}, "a", "b")
    assert world.asked == [url("a"), url("b"), url("a")]
    dead = [f"http://dead/{n}" for n in range(20)]
    alive = {"http://alive/a": pages()}
    world, nodes = played(dict.fromkeys(dead, DEAD) | alive, *dead, *alive)
    assert world.asked == ["http://dead/0", "http://alive/a"]
    assert all("connection refused" in node.reason for node in nodes[:-1])
    assert outline(nodes[-1]) == "http://alive/a"


def test_a_host_that_has_answered_is_not_given_up_for_one_refusal():
    world, _ = played({"a": BUSY, "b": [DEAD, pages()]}, "a", "b", room=2)
    assert world.asked.count(url("a")) == 5
    assert world.asked.count(url("b")) == 2


def test_when_robots_txt_answers_does_not_matter_for_a_known_path_that_it_declares():
    """The document answers at the fourth try: it is in the tree however late robots.txt came."""
    for late in cases([0, 1, 2]):
        crawl = Crawl(per_host=2, chance=lambda: 0.5)
        place = crawl.want(url("robots.txt"), role=Role.ROBOTS)
        crawl.want(url("a"), guess=True)
        slow, order = crawl.next_fetches(2, 0.0)
        now = 0.0
        for _ in range(late):
            crawl.finished(order, BUSY(order), now)
            now += 10
            order = next(iter(crawl.next_fetches(2, now)), None)
        crawl.finished(slow, robots("a")(slow), now)
        tries = 0
        while not crawl.complete and tries < 10:
            if order is not None:
                tries += 1
                answer = BUSY if late + tries < 4 else pages()
                crawl.finished(order, answer(order), now)
            now += 20
            order = next(iter(crawl.next_fetches(2, now)), None)
        assert tree(place) == {"robots.txt": ["a"]}


@pytest.mark.parametrize(
    ("message", "quiet", "level"),
    [
        ("404 Not Found", True, "DEBUG"),
        ("404 Not Found", False, "WARNING"),
        ("403 Forbidden", True, "WARNING"),
    ],
)
def test_expected_404s_are_quiet(caplog, message, quiet, level):
    with caplog.at_level(logging.DEBUG, "usp.helpers"):
        played({"a": error(message)}, "a", guess=quiet)
    told = [r for r in caplog.records if r.name == "usp.helpers"]
    assert [(r.levelname, message in r.getMessage()) for r in told] == [(level, True)]


def test_a_repeat_is_no_warning(caplog):
    with caplog.at_level(logging.WARNING, "usp"):
        played({"a": [BUSY, pages()]}, "a")
    assert not caplog.records


# Budgets, chance, and pauses that servers name ----------------------------------------------------


def test_a_pause_in_seconds_is_read_and_nonsense_is_none():
    for header, seconds in cases(
        [("0", 0.0), ("7", 7.0), (" 12 ", 12.0), ("999999999999999999", 999_999_999_999.0)]
        + [
            (text, None)
            for text in (None, "", "soon", "-5", "1.5", "Mon, 99 Foo 2024 00:00:00 GMT")
        ]
    ):
        assert retry_after(header) == seconds


def test_a_pause_as_a_date_is_read():
    for ahead, low, high in cases([(20, 18, 20), (-1000, 0, 0), (7200, 7190, 7200)]):
        header = email.utils.formatdate(time.time() + ahead, usegmt=True)
        assert low <= retry_after(header) <= high

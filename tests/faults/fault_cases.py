"""One case for each fault: what is served, and what must come of it.

In every case robots.txt declares ``/good-1.xml``, then what is bad, then ``/good-2.xml``. What is
bad would have the pages ``/b0`` to ``/b9``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from fault_replies import ok
from fault_server import FaultServer, Reply

from usp.limits import Limits
from website import index, robots, urlset

GOOD = [f"/g{n}" for n in range(6)]
BAD = [f"/b{n}" for n in range(10)]
ALL = len(BAD)


@dataclass(frozen=True)
class Case:
    """A fault. ``make`` gives the answers of a site; ``found`` is how many of the bad pages come, the first
    ones, None for any number of them; with ``and_perhaps`` other pages may come behind them.

    ``failure`` are words of the reason in ``failures()``, ``problem`` words in the problems of a node;
    None if there must be none. ``declares`` are the addresses in robots.txt instead of ``/bad.xml``.
    """

    name: str
    make: Callable[[str], dict[str, Reply | list[Reply]]]
    found: int | None = 0
    and_perhaps: bool = False
    failure: str | None = None
    problem: str | None = None
    limits: Limits = field(default_factory=Limits)
    declares: Callable[[str, FaultServer], Iterable[str]] = lambda base, _: [f"{base}/bad.xml"]
    seconds: float = 10.0
    at: str = "/bad.xml"


CASES: list[Case] = []


def case(name: str, answer: Callable[[str], object] | None = None, **options: object) -> Callable:
    """Add a case: a function that gives what ``/bad.xml`` answers, or a table of answers.

    Without the function it is a decorator for one.
    """

    def add(function: Callable[[str], object]) -> Callable:
        def make(base: str) -> dict:
            made = function(base)
            return made if isinstance(made, dict) else {"/bad.xml": made}

        CASES.append(Case(name, make, **options))
        return function

    return add if answer is None else add(answer)


def table(case: Case, base: str, server: FaultServer) -> dict[str, Reply | list[Reply]]:
    """Give everything that a site of a case answers."""
    declared = [f"{base}/good-1.xml", *case.declares(base, server), f"{base}/good-2.xml"]
    return {
        "/robots.txt": ok(robots(*declared).encode()),
        "/good-1.xml": ok(urlset(*(base + path for path in GOOD[:3])).encode()),
        "/good-2.xml": ok(urlset(*(base + path for path in GOOD[3:])).encode()),
        **case.make(base),
    }


def body(base: str, paths: Iterable[str] = BAD) -> bytes:
    return urlset(*(base + path for path in paths)).encode()


def at_page(base: str, number: int) -> int:
    """Give where in the body so many pages are complete, and the next one has begun."""
    return len(body(base, BAD[:number])) - len("</urlset>") + len("<url><loc>http://12")


def listing(*urls: str) -> bytes:
    return index(*urls).encode()

"""usp's page stream: how soon the first page comes, what it holds, what it asks for."""

from __future__ import annotations

import json
import time
import urllib.request
from typing import Any

from measure import measure

from usp import stream

_WAIT = 1.0
"""Seconds after the consumer has stopped, in which no further request may come."""


def stats(options: dict[str, Any]) -> dict[str, int]:
    """Ask the server what it was asked so far."""
    with urllib.request.urlopen(f"{options['homepage']}-/stats") as answer:
        return dict(json.load(answer))


def first(options: dict[str, Any]) -> dict[str, Any]:
    """Take the time to the first page, and see whether any sitemap was complete by then."""
    start = time.perf_counter()
    pages = iter(stream.pages(options["homepage"]))
    next(pages)
    seconds = time.perf_counter() - start
    completed = stats(options)["completed_sitemaps"]
    pages.close()
    return {"found": 1, "seconds": seconds, "completed_sitemaps": completed}


def stop(options: dict[str, Any]) -> dict[str, Any]:
    """Stop after ten pages; what is asked for after that is too much."""
    start = time.perf_counter()
    pages = iter(stream.pages(options["homepage"]))
    found = sum(1 for _ in zip(range(10), pages, strict=False))
    before = stats(options)
    pages.close()
    seconds = time.perf_counter() - start
    time.sleep(_WAIT)
    after = stats(options)
    return {
        "found": found,
        "seconds": seconds,
        "requests_when_stopped": before["requests"],
        "in_flight_when_stopped": before["active"],
        "requests_after": after["requests"] - before["requests"],
    }


def everything(options: dict[str, Any]) -> dict[str, Any]:
    """Read every page, for the memory."""
    return {"found": sum(1 for page in stream.pages(options["homepage"]) if page.url)}


JOBS = {"first": first, "stop": stop, "urls": everything}

measure(lambda options: JOBS[options["job"]](options))

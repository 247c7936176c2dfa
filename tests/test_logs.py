"""Records of the library are safe to show, whoever handles them."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import usp
from usp._base.display import get_logger
from usp.tree import sitemap_tree_for_homepage
from usp.web_client.abstract_client import AbstractWebClient, WebClientErrorResponse

HOSTILE = "\x1b[31m\x07\u202e\u2066\x9b\r\nERROR:root:forged \u200f"


def written(caplog) -> list[str]:
    """Return what was logged as the most careless handler formats it."""
    return [logging.Formatter("%(message)s").format(record) for record in caplog.records]


def test_arguments_messages_and_tracebacks_are_escaped(caplog):
    log = get_logger("usp.tests.logs")
    log.warning("about %s and %d, %.1f, %s", HOSTILE, 3, 0.5, ValueError(HOSTILE))
    log.warning(HOSTILE)
    log.warning("by name: %(name)s", {"name": HOSTILE})
    try:
        int(HOSTILE + "\nERROR:root:forged")
    except ValueError as error:
        try:
            error.__class__.fail(HOSTILE)
        except AttributeError:
            log.exception("it failed")
    collected = written(caplog)
    assert len(collected) == 4
    assert "and 3, 0.5, " in collected[0]
    assert collected[3].startswith("it failed\nTraceback")
    for line in "\n".join(collected).split("\n"):
        assert line.isprintable(), ascii(line)
        assert not line.startswith("ERROR")


def test_what_is_harmless_is_left_as_it_is(caplog):
    marker = object()
    with caplog.at_level(logging.INFO, "usp.tests.logs"):
        get_logger("usp.tests.logs").info("%s %s %d", "café 茶", marker, 5)
    assert caplog.records[0].args == ("café 茶", marker, 5)
    assert caplog.records[0].msg == "%s %s %d"


def test_a_logger_is_made_safe_once():
    for _ in range(3):
        logger = get_logger("usp.tests.once")
    assert len(logger.filters) == 1


def test_what_a_website_wrote_does_not_steer_whoever_reads_the_log(caplog):
    caplog.set_level(logging.DEBUG, "usp")

    class Client(AbstractWebClient):
        def set_max_response_data_length(self, max_response_data_length):
            pass

        def get(self, url):
            return WebClientErrorResponse(f"404 {HOSTILE}", retryable=False)

    sitemap_tree_for_homepage("http://h.example/", Client())
    assert caplog.records
    assert all(line.isprintable() for line in written(caplog))


def test_every_logger_of_the_package_is_made_safe():
    log_nothing_of_a_website = {"names.py", "output.py", "ray_engine.py", "crawler.py"}
    for path in Path(usp.__file__).parent.rglob("*.py"):
        if path.name not in {"display.py", *log_nothing_of_a_website}:
            assert not re.search(r"\.getLogger\b", path.read_text("utf-8")), path

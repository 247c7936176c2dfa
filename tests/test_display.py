"""What people are shown: one way to write sizes, counts and durations, and records that are safe."""

import logging
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import usp
from memory_web import Client, Web
from together import together
from usp._base.display import clock, counted, duration, get_logger, size
from usp.tree import sitemap_tree_for_homepage
from usp.web_client.abstract_client import WebClientErrorResponse

KIB, MIB, GIB = 1024, 1024**2, 1024**3


@together(
    "number, text",
    [
        *((0, "0 B"), (1, "1 B"), (1023, "1023 B"), (KIB, "1.0 KiB"), (1536, "1.5 KiB")),
        *((99 * KIB + 1000, "100 KiB"), (123_456, "121 KiB"), (MIB - 1, "1.0 MiB")),
        *((50 * MIB, "50.0 MiB"), (1023 * MIB, "1,023 MiB"), (20 * GIB, "20.0 GiB")),
        *((5 * 1024 * GIB, "5.0 TiB"), (5000 * 1024 * GIB, "5,000 TiB")),
    ],
)
def test_a_size_has_the_unit_that_suits_it(number, text):
    assert size(number) == text


@given(st.integers(0, 1 << 60))
def test_a_size_is_right_to_a_digit_and_never_long(number):
    text = size(number)
    value, unit = text.split(" ")
    factor = {"B": 1, "KiB": KIB, "MiB": MIB, "GiB": GIB, "TiB": 1024 * GIB}[unit]
    assert abs(float(value.replace(",", "")) * factor - number) <= 0.051 * number
    assert number > 1024**4 * 1000 or len(text) <= len("1,023 MiB")


@together(
    "number, noun, text",
    [
        *((0, "page", "0 pages"), (1, "page", "1 page"), (2, "page", "2 pages")),
        *((1, "site", "1 site"), (1, "story", "1 story"), (2, "story", "2 stories")),
        *((1200, "entry", "1,200 entries"), (2, "day", "2 days"), (2, "address", "2 addresses")),
        (16, "more sitemap", "16 more sitemaps"),
    ],
)
def test_a_count_agrees_with_its_noun(number, noun, text):
    assert counted(number, noun) == text


def test_a_noun_may_have_a_plural_of_its_own():
    assert counted(2, "sitemap is missing", "sitemaps are missing") == "2 sitemaps are missing"


@together(
    "seconds, text",
    [
        *((0, "0 ms"), (0.0123, "12 ms"), (0.9999, "1.0 s"), (5, "5.0 s"), (59.99, "1 min")),
        *((60, "1 min"), (125.2, "2 min 5 s"), (3599.7, "1 h"), (12_000, "3 h 20 min")),
    ],
)
def test_a_duration_has_the_units_that_suit_it(seconds, text):
    assert duration(seconds) == text


def test_a_clock_counts_minutes_and_hours():
    assert [clock(s) for s in (0, 7.9, 61, 3723)] == ["0:00", "0:07", "1:01", "1:02:03"]


def test_nobody_else_writes_units_of_size():
    """Sizes in another unit beside these would be the second way to write them."""
    allowed = {"display.py", "hreflang.py"}  # which has the code of Great Britain
    sources = [path for path in Path(usp.__file__).parent.rglob("*") if path.name not in allowed]
    for path in sources:
        if path.suffix in {".py", ".js"} and "echarts" not in path.name:
            found = re.findall(r"""["'{} ](?:kB|KB|MB|GB|KiB|GiB)["'`]""", path.read_text("utf-8"))
            assert found == [], path


def test_documents_use_one_family_of_units():
    root = Path(usp.__file__).parents[2]
    for path in [root / "README.md", *(root / "docs").glob("**/*.md")]:
        text = re.sub(r"`[^`\n]*`", "", path.read_text("utf-8"))  # what a user may type is theirs
        assert re.findall(r"\b[0-9.,]+ ?(?:kB|KB|MB|GB|TB)\b", text) == [], path


# Records, whoever handles them --------------------------------------------------------------------

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
    client = Client(Web({}))
    client.get = lambda url: WebClientErrorResponse(f"404 {HOSTILE}", retryable=False)
    sitemap_tree_for_homepage("http://h.example/", client)
    assert caplog.records
    assert all(line.isprintable() for line in written(caplog))


def test_every_logger_of_the_package_is_made_safe():
    log_nothing_of_a_website = {"names.py", "output.py", "ray_engine.py", "crawler.py"}
    for path in Path(usp.__file__).parent.rglob("*.py"):
        if path.name not in {"display.py", *log_nothing_of_a_website}:
            assert not re.search(r"\.getLogger\b", path.read_text("utf-8")), path

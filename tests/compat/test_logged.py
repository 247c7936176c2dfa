"""The log is an interface: loggers, levels and texts are those of ultimate-sitemap-parser 1.8.1.

``logged_by_1_8_1.json`` has what it logged about the websites of ``logged_sites.py``.
"""

import asyncio
import json
import logging
import re
from pathlib import Path

import logged_sites
import pytest
from logged_sites import SITES, logged

import usp.aio
from patience import run_python
from together import together
from usp.fetch_parse import SitemapFetcher, XMLSitemapParser
from usp.stream import pages
from usp.tree import sitemap_from_str, sitemap_tree_for_homepage
from usp.web_client.abstract_client import LocalWebClient
from website import SITEMAP_NS, Answer, index, robots

RECORDED = json.loads(Path(__file__).with_name("logged_by_1_8_1.json").read_text("utf-8"))
LOGGERS = {"usp.helpers", "usp.fetch_parse", "usp.tree", "usp.objects.sitemap"}

OWN_WORDS = {  # the same records, but the reason is told in our own words
    *("connection refused", "connection reset", "a redirect without end", "robots.txt is HTML"),
    *("HTML", "XHTML", "an unknown root", "broken XML"),
}

READ = {  # read, repaired or found only when the pages are read: told by ``problems`` of the node
    *("robots.txt with a relative sitemap", "a bare ampersand", "an undeclared prefix"),
    *("an empty loc", "a page without loc", "an unreadable priority"),
    *("a priority that is too high", "an unknown frequency"),
    *("a feed item without link", "a feed item without title"),
}

BETTER = {  # something else is told, because something else is done
    "a passing error": "only the last failure is a warning",
    "bad gzip by name": "what is no sitemap is invalid, not a list of its words",
    "bad gzip by type": "the same",
    "truncated gzip": "the same",
    "words": "the same",
    "an empty document": "it is invalid, not a sitemap without pages",
    "only white space": "the same",
    "a child that is no URL": "a problem of the index, with its line",
    "a child without loc": "a problem, where nothing was told",
    "bytes that are no UTF-8": "a problem, where nothing was told",
    "robots.txt with an empty sitemap": "the same",
    "a body cut off": "the pages that came are kept",
}


def loud(records):
    return {tuple(record) for record in records if record[1] in ("WARNING", "ERROR")}


def starting(words, records):
    return [record for record in records if record[2].startswith(words)]


def without_reason(records):
    return {(name, level, re.sub(r"(failed): .*", r"\1", text)) for name, level, text in records}


@together("name", SITES)
def test_what_is_logged_is_what_1_8_1_logs(name):
    ours, theirs = logged(name), RECORDED[name]
    check_warnings(name, loud(ours), loud(theirs))
    check_invalid(name, starting("Invalid sitemap: ", ours), starting("Invalid sitemap: ", theirs))
    assert starting("Response content: ", ours) == starting("Response content: ", theirs)


def check_warnings(name, ours, theirs):
    assert {logger for logger, *_ in ours} <= LOGGERS
    if name in READ:
        assert ours == set()
    elif name in OWN_WORDS:
        assert without_reason(ours) == without_reason(theirs)
    elif name in BETTER:
        assert ours != theirs, f"no difference any more: {BETTER[name]}"
        gunzip = "Unable to gunzip"
        assert set(starting(gunzip, ours)) == set(starting(gunzip, theirs))
    else:
        assert ours == theirs


def check_invalid(name, ours, theirs):
    """The reason may go on where that of 1.8.1 ends."""
    if name in BETTER:
        return
    assert [record[:2] for record in ours] == [record[:2] for record in theirs]
    for (*_, told), (*_, expected) in zip(ours, theirs, strict=True):
        known = re.sub(r" with parent URLs .*", "", expected)  # a set: in any order
        if name in OWN_WORDS:
            known = re.sub(r"(Unable to fetch sitemap from \S+:) .*", r"\1", known)
        assert told.startswith(known)


def test_the_content_of_an_error_is_not_read_unless_somebody_wants_it(serve):
    """It may have no end."""
    site = serve({"/robots.txt": Answer(status=404, endless=b"x" * 1000)})
    assert not sitemap_tree_for_homepage(site.base + "/", use_known_paths=False).sub_sitemaps
    logger = logging.getLogger("usp.web_client.requests_client")
    logger.setLevel(logging.DEBUG)
    try:
        assert not sitemap_tree_for_homepage(site.base + "/", use_known_paths=False).sub_sitemaps
    finally:
        logger.setLevel(logging.NOTSET)


SILENCED = """
import logging, sys
for name in ("usp.helpers", "usp.fetch_parse", "usp.tree"):
    logging.getLogger(name).setLevel(logging.CRITICAL)
sys.path.insert(0, {folder!r})
import logged_sites
from usp._crawl import schedule
from usp._crawl.schedule import RetryPolicy
from usp.stream import pages
from usp.tree import sitemap_tree_for_homepage
schedule.DECLARED = schedule.GUESSED = RetryPolicy(first_delay=0.001)
for name, answers in logged_sites.SITES.items():
    with logged_sites.Site(answers) as site:
        tree = sitemap_tree_for_homepage(site.base + "/a/b?c", extra_known_paths={{"x.xml"}})
        assert list(tree.all_pages()) == list(pages(site.base + "/"))
        [node.problems for node in tree.all_sitemaps()]
"""


@pytest.mark.long
def test_with_three_loggers_silenced_nothing_is_written():
    folder = str(Path(logged_sites.__file__).parent)
    done = run_python(SILENCED.format(folder=folder))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


NO_NAMESPACE = (
    'XML sitemap root tag urlset detected without expected xmlns (value is ""), '
    "assuming is an XML sitemap."
)


def test_every_front_door_has_the_same_loggers(serve, caplog):
    no_namespace = "<urlset><url><loc>{base}/p</loc></url></urlset>"
    site = serve({"/robots.txt": robots("/i.xml"), "/a.xml": no_namespace})
    site.answers["/i.xml"] = index("/gone.xml", "/a.xml")
    fronts = [
        lambda: list(pages(site.base + "/")),
        lambda: SitemapFetcher(site.url("/i.xml"), 0).sitemap(),
        lambda: asyncio.run(usp.aio.sitemap_tree_for_homepage(site.base + "/")),
    ]
    for front in fronts:
        caplog.clear()
        with caplog.at_level(logging.WARNING, "usp"):
            front()
        assert {(record.name, record.getMessage()) for record in caplog.records} == {
            ("usp.helpers", f"Request for URL {site.url('/gone.xml')} failed: 404 Not Found"),
            ("usp.fetch_parse", NO_NAMESPACE),
        }


def test_a_namespace_is_told_once_however_often_the_pages_are_read(caplog):
    with caplog.at_level(logging.WARNING, "usp"):
        node = sitemap_from_str('<urlset xmlns="urn:x"><url><loc>http://h/p</loc></url></urlset>')
        assert len(node.pages) == len(list(node.all_pages())) == 1
    (record,) = caplog.records
    assert '(value is "urn:x")' in record.getMessage()


@together(
    ("root", "names"),
    [
        ("urlset", ["url", "loc", "random_tag"]),
        ('urlset xmlns="urn:x"', ["url", "loc", "random_tag"]),
        (f'urlset xmlns="{SITEMAP_NS}"', []),
    ],
)
def test_elements_without_the_namespace_are_told_in_detail(caplog, root, names):
    """Also those that nobody knows, and each once."""
    content = f"<{root}><url><loc>http://h/p</loc><random_tag/></url><random_tag/></urlset>"
    with caplog.at_level(logging.DEBUG, "usp"):
        sitemap_from_str(content)
    told = [
        (record.name, record.levelname, record.getMessage())
        for record in caplog.records
        if "Assuming" in record.getMessage()
    ]
    assert told == [
        ("usp.fetch_parse", "DEBUG", f"Assuming {name} should be in sitemap namespace")
        for name in names
    ]


@together(("quiet", "level"), [(True, "INFO"), (False, "WARNING")])
def test_a_404_that_the_caller_wants_quiet_is_no_warning(serve, caplog, quiet, level):
    url = serve({}).url("/a.xml")
    with caplog.at_level(logging.DEBUG, "usp"):
        SitemapFetcher(url, 0, quiet_404=quiet).sitemap()
    told = [record for record in caplog.records if record.getMessage().startswith("Request")]
    assert [(record.name, record.levelname) for record in told] == [("usp.helpers", level)]


def test_children_that_a_client_without_network_does_not_fetch_are_no_warning(caplog):
    given = {"recursion_level": 0, "web_client": LocalWebClient(), "parent_urls": set()}
    with caplog.at_level(logging.INFO, "usp"):
        XMLSitemapParser(
            "http://h/i.xml", index("/a.xml").format(base="http://h"), **given
        ).sitemap()
    assert {record.levelname for record in caplog.records} == {"INFO"}

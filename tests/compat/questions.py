"""Questions about small things, answered by ultimate-sitemap-parser 1.8.1 and by us.

``python questions.py``, run with 1.8.1, prints ``answers_of_1_8_1.json``. A question is a function
without arguments; its answer is what it returns, or the class of the exception that it raises.
"""

import contextlib
import gzip
import io
import json
import sys
import time
from functools import partial
from pathlib import Path
from unittest import mock

import requests
import requests_mock

from usp import helpers
from usp.cli import main
from usp.exceptions import (
    GunzipException,
    SitemapException,
    SitemapXMLParsingException,
    StripURLToHomepageException,
)
from usp.fetch_parse import SitemapFetcher, SitemapStrParser
from usp.objects.page import SitemapPage, SitemapPageChangeFrequency
from usp.objects.sitemap import (
    IndexRobotsTxtSitemap,
    IndexWebsiteSitemap,
    IndexXMLSitemap,
    InvalidSitemap,
    PagesXMLSitemap,
)
from usp.tree import sitemap_from_str, sitemap_tree_for_homepage
from usp.web_client.abstract_client import (
    LocalWebClient,
    LocalWebClientSuccessResponse,
    RequestWaiter,
    WebClientErrorResponse,
)
from usp.web_client.requests_client import (
    RequestsWebClient,
    RequestsWebClientErrorResponse,
    RequestsWebClientSuccessResponse,
)

sys.path.insert(0, str(Path(__file__).parent.parent))
from programs import PROGRAMS
from programs_site import SITE

from website import Site, atom, index, rss, urlset

H = "http://test_site.example"
NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
NEWS = 'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
IMAGE = 'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
XHTML = 'xmlns:xhtml="http://www.w3.org/1999/xhtml"'

QUESTIONS = {}


def ask(*inputs):
    """Make a question of a function, or one for each input."""

    def add(function):
        for number, value in enumerate(inputs):
            name = f"{function.__name__} {number}"
            if isinstance(value, str):
                name += f": {value[:60]!r}"
            QUESTIONS[name] = lambda value=value: function(value)
        if not inputs:
            QUESTIONS[function.__name__] = function
        return function

    return add


# Helpers -----------------------------------------------------------------------------------------


@ask(
    "http://example.org/", "https://example.org", "HTTP://EXAMPLE.ORG/", "ftp://example.org/",
    "example.org", "", "http://", "http:///path", "mailto:a@example.org", "//example.org/",
    "http://localhost:8000/a?b#c", "http://127.0.0.1/", "http://user:pw@example.org/", "/path", None,
    "gopher://gopher.floodgap.com/0/v2/vstat", "http://example.org:99999999/", "javascript:void(0)",
)  # fmt: skip
def is_url(url):
    return helpers.is_http_url(url)


@ask(
    "  a &amp; b ", "", None, "&lt;b&gt;", "no", "&#39;x&#39;", "  \n\t ", "&nbsp;a",
    "\nhttps://example.org/?a=1&amp;b=2 \t",
)  # fmt: skip
def unescaped(text):
    return helpers.html_unescape_strip(text)


@ask(
    "http://example.org/a/b?c=d#e", "https://example.org", "http://example.org:8080/x", "http://h/",
    "https://user:pw@example.org/a", "HTTP://Example.org/A", "", None, "not_an_url", "ftp://h/x",
)  # fmt: skip
def homepage(url):
    return helpers.strip_url_to_homepage(url)


@ask(
    "2019-01-02", "2019-01-02T03:04:05Z", "2019-01-02T03:04:05+02:00", "2019-01-02T03:04:05.678-05:00",
    "2019-01-02T03:04", "2019-01-02 03:04:05", "2018-01-12T21:57:27Z", "2018-01-12T21:57:27+00:00",
    "2018-01-12T21:57:27.1234567Z", "someday", "2019-13-01", "20190102", "2019-W01-1", "",
    "2019-01-02T24:00:00Z", "0000-00-00", "9999-12-31T23:59:59Z", "2019-02-29",
)  # fmt: skip
def iso(text):
    return str(helpers.parse_iso8601_date(text))


@ask(
    "Wed, 02 Jan 2019 03:04:05 GMT", "Wed, 02 Jan 2019 03:04:05 +0200", "02 Jan 2019 03:04:05 -0500",
    "Wed, 2 Jan 2019 03:04 GMT", "Thu, 01 Jan 1970 00:00:00 +0000", "nonsense", "",
    "2019-01-02T03:04:05Z", "Wed, 02 Jan 2019 03:04:05 EST",
)  # fmt: skip
def rfc(text):
    return str(helpers.parse_rfc2822_date(text))


@ask()
def gunzip_good():
    return helpers.gunzip(gzip.compress(b"tea")).decode()


@ask(b"", b"not gzip", None, gzip.compress(b"tea" * 1000, mtime=0)[:20], "text", 3)
def gunzip_bad(data):
    return helpers.gunzip(data)


@ask()
def the_exceptions_are_related():
    return [
        issubclass(kind, SitemapException)
        for kind in (SitemapXMLParsingException, GunzipException, StripURLToHomepageException)
    ]


class Answer(LocalWebClientSuccessResponse):
    def __init__(self, data, content_type=None):
        super().__init__(url=H, data="")
        self.given, self.content_type = data, content_type

    def raw_data(self):
        return self.given

    def header(self, case_insensitive_name):
        return self.content_type if case_insensitive_name.lower() == "content-type" else None


@ask()
def content():
    read, packed = helpers.ungzipped_response_content, gzip.compress(b"tea")
    return [
        read(H + "/a.gz", Answer(packed)),
        read(H + "/a", Answer(packed, "application/gzip")),
        read(H + "/a.gz", Answer(b"plain")),
        read(H + "/a", Answer("é".encode())),
    ]


@ask()
def pages_are_equal_by_everything():
    a, b = SitemapPage("http://a/"), SitemapPage("http://a/")
    c = SitemapPage("http://a/", change_frequency=SitemapPageChangeFrequency.DAILY)
    return [a == b, hash(a) == hash(b), a == c, len({a, b, c}), a != c]


@ask("daily", "Daily", "fortnightly", "", "never")
def is_frequency(word):
    return SitemapPageChangeFrequency.has_value(word)


@ask()
def a_tree_by_hand():
    below = IndexXMLSitemap(H + "/i.xml", [PagesXMLSitemap(H + "/a.xml", [SitemapPage(H + "/1")])])
    top = IndexRobotsTxtSitemap(H + "/robots.txt", [below, InvalidSitemap(H + "/b.xml", "why")])
    tree = IndexWebsiteSitemap(H + "/", [top])
    return [
        tree.to_dict(),
        tree.to_dict(with_pages=False),
        [sitemap.url for sitemap in tree.all_sitemaps()],
        [page.url for page in tree.all_pages()],
        [tree.pages, len(tree.sub_sitemaps), tree.sub_sitemaps[0].sub_sitemaps[1].reason],
        tree == tree,  # noqa: PLR0124
    ]


# Documents ---------------------------------------------------------------------------------------


@ask(
    f"<urlset {NS}><url><loc>{H}/a</loc></url></urlset>",
    f"  \n<urlset {NS}><url><loc>{H}/a</loc></url></urlset>",
    f"<urlset {NS}><url><loc><![CDATA[{H}/a?x=1&y=2]]></loc></url></urlset>",
    f"<urlset {NS}><url><loc> {H}/a </loc><lastmod> 2020-01-01 </lastmod></url></urlset>",
    f"<urlset {NS}><url><loc>{H}/a?b=1&amp;amp;c=2</loc></url></urlset>",
    f"<urlset {NS}><url><loc>{H}/a</loc></url><url><loc>{H}/a</loc><priority>1</priority></url></urlset>",
    f"<urlset {NS}><url><loc>{H}/a</loc><priority>0.7</priority><changefreq>weekly</changefreq></url></urlset>",
    f"<urlset {NS}><url><loc>{H}/a</loc><priority>7</priority><changefreq>often</changefreq></url></urlset>",
    f"<urlset {NS}><url><loc>{H}/a</loc><changefreq>HOURLY</changefreq></url></urlset>",
    f"<s:urlset xmlns:s='http://www.sitemaps.org/schemas/sitemap/0.9'><s:url><s:loc>{H}/a</s:loc></s:url></s:urlset>",
    f"<urlset><url><loc>{H}/a</loc></url></urlset>",
    f"<urlset {NS}><url><loc>{H}/a</loc></url><url><loc>{H}/b</loc></url",
    f"<urlset {NS}></urlset>",
    f"<urlset {NS} {NEWS}><url><loc>{H}/a</loc><news:news><news:publication><news:name>N</news:name>"
    "<news:language>en</news:language></news:publication><news:publication_date>2020-01-01"
    "</news:publication_date><news:title>T &amp; U</news:title><news:keywords>a, b</news:keywords>"
    "<news:stock_tickers>X:Y</news:stock_tickers><news:access>Registration</news:access></news:news>"
    "</url></urlset>",
    f"<urlset {NS} {NEWS}><url><loc>{H}/a</loc><news:news><news:title>T</news:title></news:news></url></urlset>",
    f"<urlset {NS} {IMAGE}><url><loc>{H}/a</loc><image:image><image:loc>{H}/1.jpg</image:loc>"
    "<image:caption>C</image:caption><image:geo_location>G</image:geo_location><image:title>T"
    f"</image:title><image:license>L</image:license></image:image><image:image><image:loc>{H}/2.jpg"
    "</image:loc></image:image></url></urlset>",
    f"<urlset {NS} {XHTML}><url><loc>{H}/a</loc><xhtml:link rel='alternate' hreflang='de' href='{H}/de'/></url></urlset>",
    f"<sitemapindex {NS}><sitemap><loc>{H}/a.xml</loc><lastmod>2020-01-01</lastmod></sitemap>"
    f"<sitemap><loc>{H}/b.xml</loc></sitemap></sitemapindex>",
    f"{H}/a\n{H}/b\n",
    f"{H}/a\r\n\r\n  {H}/b  \r\n",
    f"{H}/a\nnot a url\n{H}/b\n",
    f"<rss version='2.0'><channel><item><title>T</title><link>{H}/a</link><pubDate>Wed, 02 Jan 2019 "
    "03:04:05 GMT</pubDate><description>D</description></item></channel></rss>",
    f"<rss version='2.0'><channel><title>C</title><link>{H}/</link><item><description>D &lt;b&gt;"
    f"</description><link>{H}/a</link></item><item><title>x</title><link>{H}/b</link></item></channel></rss>",
    "<rss version='2.0'><channel></channel></rss>",
    f"<rss version='2.0'><channel><item><title>T</title><link>{H}/a</link><pubDate>Wed, 02 Jan 2019 "
    f"03:04:05 GMT</pubDate></item><item><title>U</title><link>{H}/a</link></item></channel></rss>",
    f"<feed xmlns='http://www.w3.org/2005/Atom'><title>C</title><entry><title>T</title><link href='{H}/a'/>"
    "<published>2019-01-02T03:04:05Z</published><updated>2020-01-01T00:00:00Z</updated></entry></feed>",
    f"<feed xmlns='http://purl.org/atom/ns#' version='0.3'><entry><title>T</title><link rel='alternate' "
    f"href='{H}/a'/><issued>2019-01-02T03:04:05Z</issued></entry></feed>",
    f"<feed xmlns='http://www.w3.org/2005/Atom'><entry><summary>S</summary><link rel='self' href='{H}/s'/>"
    f"<link rel='alternate' href='{H}/a'/><updated>2020-01-01T00:00:00Z</updated></entry></feed>",
    f"<?xml version='1.0' encoding='UTF-16'?><urlset {NS}><url><loc>{H}/é</loc></url></urlset>",
    "<foo/>", "", "<!DOCTYPE html><html><body>x</body></html>", "just words",
)  # fmt: skip
def document(text):
    node = sitemap_from_str(text)
    alternates = [page.alternates for page in node.all_pages()]
    stories = [page.news_story and page.news_story.to_dict() for page in node.all_pages()]
    return [type(node).__name__, {**node.to_dict(), "reason": None}, alternates, stories]


@ask()
def the_parser_of_a_string():
    return SitemapStrParser(static_content=f"{H}/a\n").sitemap().to_dict()


# Websites ----------------------------------------------------------------------------------------


@contextlib.contextmanager
def website(pages, **more):
    with requests_mock.Mocker() as mocker:
        mocker.get(requests_mock.ANY, status_code=404, text="not here", reason="Not Found")
        for path, body in pages.items():
            data = body if isinstance(body, bytes) else body.replace("{base}", H).encode()
            mocker.get(H + path, content=data, **more)
        yield mocker


def outline(node):
    return [type(node).__name__, node.url, [outline(child) for child in node.sub_sitemaps]]


FULL = {
    "/robots.txt": f"User-agent: *\nDisallow: /x\n\nSitemap: {H}/i1.xml\nsitemap: {H}/list.txt\n"
    f"Sitemap: {H}/i1.xml\nCrawl-delay: 1\nSITEMAP:   {H}/rss.xml  \n",
    "/i1.xml": index("/a.xml", "/i2.xml", "/missing.xml"),
    "/i2.xml": index("/b.xml.gz", "/atom.xml"),
    "/a.xml": urlset("/a1", "/a2"),
    "/b.xml.gz": gzip.compress(urlset(H + "/b1").encode(), mtime=0),
    "/atom.xml": atom("/n"),
    "/rss.xml": rss("/r"),
    "/list.txt": f"{H}/t1\n{H}/t2\n",
    "/sitemap.xml": urlset("/k1"),
}


@ask(
    {},
    {"use_robots": False},
    {"use_known_paths": False},
    {"extra_known_paths": {"list.txt", "my/map.xml"}},
)
def a_website(options):
    with website({**FULL, "/my/map.xml": urlset("/m")}):
        tree = sitemap_tree_for_homepage(H + "/", **options)
    tops = sorted(outline(tree)[2], key=str)  # 1.8.1 tries known paths in any order
    return [tree.url, tops, sorted(page.url for page in tree.all_pages())]


@ask(
    "", "User-agent: *\nDisallow:", f"Sitemap:{H}/a.xml", f"# Sitemap: {H}/a.xml\nSitemap: {H}/list.txt",
    f"Sitemap: {H}/a.xml\r\nSitemap: {H}/list.txt\r\n", f"sItEmAp: {H}/a.xml", "Sitemap: \n",
    f"User-agent: a\nSitemap: {H}/a.xml\nUser-agent: b\nSitemap: {H}/rss.xml", "<html></html>",
)  # fmt: skip
def robots(text):
    with website({**FULL, "/robots.txt": text}):
        return outline(sitemap_tree_for_homepage(H + "/", use_known_paths=False))


@ask("", "/", "/a/b", "/a/b/?c=d")
def normalized(path):
    with website({**FULL, "/a/sitemap.xml": urlset("/deep")}):
        tree = sitemap_tree_for_homepage(H + path, use_robots=False)
        below = sitemap_tree_for_homepage(H + "/a", normalize_homepage_url=False, use_robots=False)
    return [tree.url, below.url, [page.url for page in below.all_pages()]]


@ask()
def callbacks():
    seen = []

    def each(url, level, parents):
        seen.append([url, level, sorted(parents)])
        return "i2" not in url

    def some(urls, level, parents):
        seen.append([urls, level, sorted(parents)])
        return [url for url in urls if "missing" not in url]

    with website(FULL):
        tree = sitemap_tree_for_homepage(
            H + "/", use_known_paths=False, recurse_callback=each, recurse_list_callback=some
        )
    return [outline(tree), sorted(map(json.dumps, seen))]


@ask("ftp://h/", "", "example.org", None)
def no_homepage(url):
    return sitemap_tree_for_homepage(url)


@ask(("ftp://h/s.xml", 0), (H + "/s.xml", 12), (H + "/s.xml", 0, None, {H + "/s.xml"}))
def no_fetcher(arguments):
    return SitemapFetcher(*arguments)


@ask()
def a_fetcher():
    with website(FULL):
        node = SitemapFetcher(url=H + "/i2.xml", recursion_level=0).sitemap()
        gone = SitemapFetcher(H + "/gone.xml", 0, quiet_404=True).sitemap()
    return [outline(node), gone.to_dict()]


@ask()
def a_sitemap_that_is_cut_off_in_its_gzip():
    """Of what came, nothing was read: see ``test_answers``."""
    data = gzip.compress(urlset(*(f"{H}/{n}" for n in range(1000))).encode(), mtime=0)
    with website({"/robots.txt": f"Sitemap: {H}/a.xml.gz", "/a.xml.gz": data[:1000]}):
        tree = sitemap_tree_for_homepage(H + "/", use_known_paths=False)
    return len(list(tree.all_pages())) == 0


# Clients -----------------------------------------------------------------------------------------


@ask()
def a_client():
    with website({"/a": "body"}, headers={"X-Test": "yes"}) as mocker:
        client = RequestsWebClient()
        response = client.get(H + "/a")
        error = client.get(H + "/b")
        sent = mocker.request_history[0]
        client.set_max_response_data_length(2)
        cut = client.get(H + "/a").raw_data().decode()
    return [
        isinstance(response, RequestsWebClientSuccessResponse),
        response.status_code(),
        response.status_message(),
        response.header("x-TEST"),
        response.header("nothing"),
        response.raw_data().decode(),
        response.url(),
        isinstance(error, RequestsWebClientErrorResponse),
        error.message(),
        error.retryable(),
        sent.headers["User-Agent"].partition("/")[0],
        sent.timeout,
        sent.verify,
        cut,
    ]


@ask(
    301, 400, 401, 403, 404, 408, 410, 418, 429, 499, 500, 501, 502, 503, 504, 509, 520, 527, 530, 598,
)  # fmt: skip
def retryable(status):
    with requests_mock.Mocker() as mocker:
        mocker.get(H + "/a", status_code=status, reason="Why")
        error = RequestsWebClient().get(H + "/a")
    return [error.message(), error.retryable()]


@ask(
    requests.exceptions.Timeout,
    requests.exceptions.ConnectionError,
    requests.exceptions.TooManyRedirects,
)
def raised(error):
    with requests_mock.Mocker() as mocker:
        mocker.get(H + "/a", exc=error("why"))
        return isinstance(RequestsWebClient().get(H + "/a"), WebClientErrorResponse)


@ask()
def options_of_a_client():
    session = mock.Mock(spec=["get"])
    session.get.return_value = mock.Mock(
        spec=["status_code", "headers", "content", "url", "reason"],
        status_code=200, headers={}, content=b"x", url=H, reason="OK",
    )  # fmt: skip
    client = RequestsWebClient(verify=False, session=session)
    client.set_timeout(3)
    client.set_proxies({"http": "http://user:pw@10.10.1.10:3128/"})
    client.get(H)
    sent = session.get.call_args.kwargs
    return [sent["timeout"], sent["proxies"], sent["verify"], sent["stream"]]


@ask()
def retries():
    with requests_mock.Mocker() as mocker, mock.patch("time.sleep") as sleep:
        mocker.get(H + "/a", [{"status_code": 500}] * 2 + [{"text": "ok"}])
        response = helpers.get_url_retry_on_client_errors(H + "/a", RequestsWebClient())
        slept = len(sleep.call_args_list)
        mocker.get(H + "/b", status_code=500, reason="Oops")
        failed = helpers.get_url_retry_on_client_errors(
            H + "/b", RequestsWebClient(), retry_count=3
        )
        asked = len([request for request in mocker.request_history if request.url.endswith("/b")])
    return [response.raw_data().decode(), slept, failed.message(), asked]


@ask()
def a_client_without_network():
    return LocalWebClient().get(H)


@ask()
def an_answer_without_network():
    answer = LocalWebClientSuccessResponse(url=H, data="tea")
    return [
        answer.status_code(), answer.status_message(), answer.header("x"), answer.url(),
        answer.raw_data().decode(),
    ]  # fmt: skip


@ask((None, True), (2, False), (0, True))
def waiting(options):
    with mock.patch("time.sleep") as sleep:
        waiter = RequestWaiter(*options)
        for _ in range(3):
            waiter.wait()
    return [call.args[0] for call in sleep.call_args_list if call.args[0]]


@ask()
def waiting_at_random():
    with mock.patch("time.sleep") as sleep:
        waiter = RequestWaiter(wait=4)
        for _ in range(100):
            waiter.wait()
    slept = [call.args[0] for call in sleep.call_args_list]
    return [len(slept), all(2 <= seconds <= 6 for seconds in slept), len(set(slept)) > 1]


@ask(
    ["ls", H], ["ls", H, "-f", "pages"], ["ls", H, "-f", "tabtree", "-u"], ["ls", H, "-f", "pages", "-u"],
    ["ls", H, "-r"], ["ls", H, "-k", "-f", "pages"], ["ls", H, "-r", "-k"],
)  # fmt: skip
def command(arguments):
    with website(FULL), contextlib.redirect_stdout(io.StringIO()) as out:
        status = _status(arguments)
    return [status, sorted(out.getvalue().splitlines())]


@ask(["ls"], ["ls", H, "-f", "nonsense"], ["nonsense"], ["ls", H, "--nonsense"])
def wrong_call(arguments):
    with contextlib.redirect_stderr(io.StringIO()):
        return _status(arguments)


def _status(arguments):
    try:
        main(arguments)
    except SystemExit as end:
        return end.code
    return None


def run(program):
    with Site(SITE) as site:
        printed = json.dumps(program(site.base + "/"), default=str)
    return json.loads(printed.replace(site.base, "{base}"))


QUESTIONS |= {f"program {one.__name__}": partial(run, one) for one in PROGRAMS}


def answer(name):
    """Give the answer to a question, as JSON has it."""
    try:
        given = QUESTIONS[name]()
    except Exception as error:  # noqa: BLE001 - it is the answer
        given = f"raises {type(error).__name__}"
    return json.loads(json.dumps(given, default=str))


if __name__ == "__main__":
    time.sleep = lambda _: None
    sys.stdout.write(json.dumps({name: answer(name) for name in QUESTIONS}, indent=1) + "\n")

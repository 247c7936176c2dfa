"""Long strings: a URL over the limit is named and left out, and what is kept of others is short."""

import gzip
import pickle
import random
import subprocess
import sys
from pathlib import Path

import pytest

from cases import cases
from fronts import THREADS
from memory_web import Client, Doc, H, Web
from usp._base.display import MAX_TEXT, excerpt
from usp.limits import Limits
from usp.objects.problem import Failure, Problem
from usp.objects.sitemap import InvalidSitemap
from usp.stream import pages
from usp.tree import sitemap_from_bytes, sitemap_tree_for_homepage
from usp.web_client.abstract_client import WebClientErrorResponse
from website import Answer, atom, index, pages_at, robots, rss, urlset

LIMITS = Limits(url_length=1000)


def url_of(length: int, name: str = "x") -> str:
    """Give a URL of that many characters."""
    return f"{H}/{name}".ljust(length, "x")


def text(*urls: str) -> str:
    return "".join(f"{url}\n" for url in urls)


WRITERS = {"urlset": urlset, "RSS": rss, "Atom": atom, "text": text}


def read(document: str | bytes, limits: Limits = LIMITS, path: str = "/a.xml"):
    """Crawl a website with one sitemap."""
    web = Web({"/robots.txt": robots(path), path: Doc(document)})
    return sitemap_tree_for_homepage(H + "/", Client(web), use_known_paths=False, limits=limits)


# URLs ---------------------------------------------------------------------------------------------


def test_a_page_with_a_url_over_the_limit_is_a_problem_and_nothing_else_is_lost():
    """The tree, the stream, the blocks and the count leave out the same."""
    for write in cases(WRITERS.values()):
        kept, too_long = [H + "/1", url_of(1000, "a"), H + "/2"], url_of(1001, "b")
        web = Web({"/robots.txt": robots("/a.xml"), "/a.xml": write(*kept[:2], too_long, kept[2])})
        options = {"web_client": Client(web), "use_known_paths": False}
        tree = sitemap_tree_for_homepage(H + "/", limits=LIMITS, **options)
        assert [page.url for page in tree.all_pages()] == kept
        assert [page.url for page in pages(H + "/", limits=LIMITS, **options)] == kept
        assert [url for _, block in tree.page_blocks() for url in block.urls] == kept
        assert tree.page_count() == 3
        (problem,) = tree.sub_sitemaps[0].sub_sitemaps[0].problems
        assert "the limit url_length=1,000" in problem.message
        assert problem.lost == 1
        assert problem.excerpt
        assert problem.excerpt.startswith(f"{H}/b")
        counted = read(web.docs["/a.xml"].body, Limits(url_length=1000, pages=3))
        assert counted.is_complete  # a page that is left out takes no room


def test_a_child_with_a_url_over_the_limit_is_a_problem_and_not_requested():
    for write in cases([index, robots]):
        web = Web({"/robots.txt": write("/a.xml", url_of(1001), "/c.xml")} | pages_at("a", "c"))
        if write is index:
            web.docs["/i.xml"] = web.docs["/robots.txt"]
            web.docs["/robots.txt"] = Doc(robots("/i.xml"))
        tree = sitemap_tree_for_homepage(H + "/", Client(web), use_known_paths=False, limits=LIMITS)
        assert [page.url for page in tree.all_pages()] == [H + "/a", H + "/c"]
        assert max(map(len, web.asked)) < 100
        (problem,) = [problem for node in tree.all_sitemaps() for problem in node.problems]
        assert "the limit url_length=1,000" in problem.message
        assert problem.lost == 1


def test_a_relative_child_counts_with_its_base():
    base = url_of(990, "dir/")
    found = sitemap_from_bytes(index("b1.xml", "x" * 700).encode(), base, limits=LIMITS)
    assert [child.url for child in found.sub_sitemaps] == [
        f"{H}/dir/b1.xml",
        f"{H}/dir/{'x' * 700}",
    ]
    found = sitemap_from_bytes(index("?k", "?" + "k" * 11).encode(), base, limits=LIMITS)
    assert [child.url for child in found.sub_sitemaps] == [base + "?k"]
    assert [problem.lost for problem in found.problems] == [1]


def test_a_base_over_the_limit_is_ignored_and_named():
    document = index("?1").replace("<sitemapindex", f'<sitemapindex xml:base="{url_of(1001)}"')
    found = sitemap_from_bytes(document.encode(), H + "/i.xml", limits=LIMITS)
    assert [child.url for child in found.sub_sitemaps] == [H + "/i.xml?1"]
    assert [problem.message for problem in found.problems] == ["an xml:base is too long"]


def test_bases_inside_of_bases_do_not_add_up_beyond_the_limit():
    opening = "".join(f'<a xml:base="{n}{"x" * 300}/">' for n in range(50))
    document = f"<urlset>{opening}<url><loc>p</loc></url></urlset>"
    (page,) = sitemap_from_bytes(document.encode(), H + "/u.xml", limits=LIMITS).pages
    assert len(page.url) <= 1000


def test_a_redirect_to_a_url_over_the_limit_is_a_failure():
    """Whatever the client is: what it followed is not kept."""
    for at_once in cases([1, 4]):
        web = Web({"/robots.txt": robots("/a.xml"), "/a.xml": Doc(moved_to="/" + "x" * 1001)})
        web.docs["/" + "x" * 1001] = Doc(index(*(f"#{n}" for n in range(100))))
        tree = THREADS.tree(H + "/", Client(web, at_once), limits=LIMITS)
        (failure,) = tree.failures()
        assert failure.url == H + "/a.xml"
        assert "the limit url_length=1,000" in failure.reason


def test_an_index_keeps_no_more_children_or_characters_of_their_urls_than_allowed():
    """4,096 URLs of the greatest length are kept, and the rest is counted."""
    children = [f"{H}/{n:011}" for n in range(5000)]
    for limits, kept in cases([({"url_length": 20}, 4096), ({"sitemaps": 10}, 10)]):
        found = sitemap_from_bytes(index(*children).encode(), limits=Limits(**limits))
        assert [child.url for child in found.sub_sitemaps] == children[:kept]
        assert [problem.lost for problem in found.problems] == [5000 - kept]
        assert not found.is_complete
        ((name, value),) = limits.items()
        assert f"the limit {name}={value}" in found.failures()[0].reason


def test_the_urls_of_a_tree_are_bounded_together():
    limits = Limits(url_length=40)
    web = Web({"/robots.txt": robots("/0.xml", "/1.xml", "/2.xml", "/3.xml")})
    for n in range(4):
        web.docs[f"/{n}.xml"] = Doc(index(*(url_of(40, f"{n}-{k}-") for k in range(4000))))
    tops = {"recurse_list_callback": lambda urls, level, _: [] if level else urls}
    tree = THREADS.tree(H + "/", Client(web), limits=limits, **tops)
    lost = [sum(problem.lost for problem in node.problems) for node in tree.all_sitemaps()]
    assert lost.count(4000) == 2
    assert not tree.is_complete


# What is kept of other texts ----------------------------------------------------------------------

LONG = "n" * 100_000


def test_an_excerpt_is_the_text_or_its_beginning():
    assert excerpt("x" * MAX_TEXT) == "x" * MAX_TEXT
    assert excerpt("x" * 501) == "x" * 499 + "…"
    assert excerpt("abcdef", 4) == "abc…"


def test_everything_that_is_kept_of_a_document_is_short():
    for document in cases(
        [
            f"<{LONG}>",
            f"<{LONG}:urlset xmlns:{LONG}='x'><loc>",
            f"<urlset></{LONG}>",
            f"<urlset><url></{LONG}></url><url><loc>{LONG}</loc><lastmod>{LONG}</lastmod></url>",
            f"<urlset><url><loc>http://h/</loc><changefreq>{LONG}</changefreq><{LONG}></url>",
            f"<sitemapindex><sitemap><loc>http://h/a</loc><lastmod>{LONG}</lastmod></sitemap>",
            f"<rss><item><link>{LONG}:{LONG}</link></item></rss>",
            f"{LONG}\nhttp://h/a\n",
        ]
    ):
        tree = read(document, Limits(), path="/a")
        nodes = [tree, *tree.all_sitemaps()]
        assert not tree.pages
        for node in nodes:
            for problem in node.problems:
                assert len(problem.message) <= MAX_TEXT
                assert len(problem.excerpt or "") <= MAX_TEXT
            for failure in node.failures():
                assert len(failure.reason) <= MAX_TEXT
            assert not isinstance(node, InvalidSitemap) or len(node.reason) <= MAX_TEXT
            assert len(repr(node)) < 2 * MAX_TEXT


def test_what_clients_and_callers_put_into_messages_is_short_too(serve):
    assert len(WebClientErrorResponse(LONG, retryable=False).message()) == MAX_TEXT
    assert len(Problem(LONG, excerpt=LONG).message) == MAX_TEXT
    assert len(Failure("u", LONG).reason) == MAX_TEXT
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": Answer("", 404, reason="r" * 5000)})
    tree = sitemap_tree_for_homepage(site.base + "/", use_known_paths=False)
    assert all(len(failure.reason) <= MAX_TEXT for failure in tree.failures())


# Memory -------------------------------------------------------------------------------------------

MOST = 100  # MiB

PROGRAM = """
import pickle, resource, sys
sys.path[:0] = sys.argv[1:]
from memory_web import Client, H, Web
from usp.tree import sitemap_tree_for_homepage
web = Web(pickle.load(sys.stdin.buffer))
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before = peak()
tree = sitemap_tree_for_homepage(H + "/", Client(web), use_known_paths=False)
for page in tree.all_pages():
    page.last_modified
for node in tree.all_sitemaps():
    node.problems
print(peak() - before)
"""


def filler(length: int, seed: int) -> str:
    """Give a long name that compresses well, but not so well that it looks like a bomb."""
    digits = length // 50
    return "x" * (length - digits) + f"{random.Random(seed).getrandbits(4 * digits):0{digits}x}"


def many(count: int, document: bytes) -> dict[str, Doc]:
    paths = [f"/{n}.xml" for n in range(count)]
    packed = gzip.compress(document)
    return {"/robots.txt": Doc(robots(*paths)), **{path: Doc(packed) for path in paths}}


def at_a_long_address(length: int = 60_000, mark: str = "#", count: int = 25_000) -> dict[str, Doc]:
    path = "/" + "x" * length
    return {
        "/robots.txt": Doc(robots("/i.xml")),
        "/i.xml": Doc(moved_to=path),
        path: Doc(index(*(f"{mark}{n}" for n in range(count)))),
    }


def with_a_long_base() -> dict[str, Doc]:
    document = index(*(f"?{n}" for n in range(12_000)))
    base = f'<sitemapindex xml:base="{H}/{filler(500_000, 1)}"'
    return many(1, document.replace("<sitemapindex", base).encode())


def with_long_prefixes() -> dict[str, Doc]:
    prefix = filler(100_000, 2)
    root = f"<{prefix}:urlset xmlns:{prefix}='http://www.sitemaps.org/schemas/sitemap/0.9'>"
    entry = f"<{prefix}:url><{prefix}:loc>{H}/p</{prefix}:loc></{prefix}:url>"
    return many(30, (root + entry).encode())


def with_long_dates() -> dict[str, Doc]:
    entries = (
        f"<url><loc>{H}/{n}</loc><lastmod>{filler(50_000, n)}</lastmod></url>" for n in range(2000)
    )
    return many(1, urlset(*entries).encode())


def with_long_names() -> dict[str, Doc]:
    tags = "".join(f"<a{n}{filler(200_000, n)}>" for n in range(500))
    return many(1, f"<urlset><url>{tags}".encode())


SMALL_ANSWERS = {
    "at a long address": at_a_long_address,
    "with a base that is just not too long": lambda: at_a_long_address(8000, "?", 12_000),
    "with a long base": with_a_long_base,
    "with long roots": lambda: many(200, f"<{'x' * 1_000_000}>".encode()),
    "with long prefixes": with_long_prefixes,
    "with long dates": with_long_dates,
    "with long locs": lambda: many(
        1, index(*(f"{H}/{filler(8000, n)}" for n in range(12_000))).encode()
    ),
    "with long names": with_long_names,
}


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is in KiB on Linux")
def test_a_small_answer_takes_little_memory():
    program = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent.parent)]
    for name in cases(SMALL_ANSWERS):
        site = pickle.dumps(SMALL_ANSWERS[name]())
        result = subprocess.run(program, input=site, capture_output=True, check=False)
        assert not result.returncode, result.stderr.decode()[-2000:]
        assert int(result.stdout) < MOST

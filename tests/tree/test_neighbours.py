"""Subdomains and languages on other hosts that a website names are websites of their own, if asked for."""

import asyncio

import pytest

import usp
from memory_web import AsyncClient, Client, Doc, Web
from usp import aio
from usp._crawl.website import KNOWN_SITEMAP_PATHS
from usp.export.sitemaps import sitemap_rows
from website import robots, urlset

MAIN, BLOG, MAPS, GERMAN = (
    f"https://{host}.org" for host in ("www.tea", "blog.tea", "maps.tea", "tee")
)
ALTERNATE = '<xhtml:link xmlns:xhtml="http://www.w3.org/1999/xhtml" rel="alternate" hreflang="{}" href="{}"/>'


def listing(*entries):
    """Return a sitemap of URLs, each with its alternates by language."""
    text = "".join(
        f"<url><loc>{url}</loc>{''.join(ALTERNATE.format(*one) for one in languages)}</url>"
        for url, *languages in entries
    )
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{text}</urlset>'


PAGES = listing(
    (f"{MAIN}/p", ("de", f"{GERMAN}/p"), ("en", f"{MAIN}/p")),
    (f"{BLOG}/x",),
    ("https://elsewhere.example/x",),
    ("https://tea.org/x",),
)
DOCUMENTS = {
    f"{MAIN}/robots.txt": robots(f"{MAIN}/a.xml", f"{MAPS}/b.xml", "https://cdn.example/c.xml"),
    f"{MAIN}/a.xml": PAGES,
    f"{MAPS}/b.xml": listing((f"{MAPS}/m",)),
    "https://cdn.example/c.xml": listing((f"{MAIN}/q",)),
    f"{BLOG}/robots.txt": robots(f"{MAIN}/a.xml", f"{BLOG}/blog.xml"),
    f"{BLOG}/blog.xml": listing((f"{BLOG}/x",), (f"https://deep.{BLOG[8:]}/x",)),
    f"{GERMAN}/sitemap.xml": listing((f"{GERMAN}/p",)),
}
SELF = [f"{MAIN}/robots.txt", [f"{MAIN}/a.xml", f"{MAPS}/b.xml", "https://cdn.example/c.xml"]]
OF_BLOG = [f"{BLOG}/", [f"{BLOG}/robots.txt", [f"{BLOG}/blog.xml"]]]
OF_GERMAN = [f"{GERMAN}/", [f"{GERMAN}/sitemap.xml"]]


def shape(node):
    """Return what is below a node: URLs, and lists of those below each."""
    found = []
    for child in node.sub_sitemaps:
        found += [child.url, *([below] if (below := shape(child)) else [])]
    return found


def crawled(documents=DOCUMENTS, **options):
    """Return the tree, the same on every front, and how often each host was asked."""
    options.setdefault("use_neighbours", True)
    web = Web(documents, base="")
    tree = usp.sitemap_tree_for_homepage(f"{MAIN}/", Client(web), **options)
    asked = sorted(web.asked)
    other = Web(documents, base="")
    again = asyncio.run(aio.sitemap_tree_for_homepage(f"{MAIN}/", AsyncClient(other), **options))
    assert again == tree
    assert sorted(other.asked) == asked
    streamed = usp.pages(f"{MAIN}/", Client(Web(documents, base="")), **options)
    assert [page.url for page in streamed] == [page.url for page in tree.all_pages()]
    return tree, asked


CASES = {
    "all that are named": ({}, {}, [*SELF, *OF_BLOG, *OF_GERMAN, f"{MAPS}/"]),
    "nobody asked": ({}, {"use_neighbours": False}, SELF),
    "robots.txt of a neighbour is that of the website": (
        {f"{BLOG}/robots.txt": Doc(moved_to=f"{MAIN}/robots.txt")},
        {"use_known_paths": False},
        [*SELF, f"{GERMAN}/", f"{MAPS}/"],
    ),
    "a neighbour redirects to the website": (
        {f"{GERMAN}/sitemap.xml": Doc(moved_to=f"{MAIN}/a.xml")},
        {},
        [*SELF, *OF_BLOG, f"{GERMAN}/", f"{MAPS}/"],
    ),
    "no more than the limit": ({}, {"limits": usp.Limits(neighbours=1)}, [*SELF, *OF_BLOG]),
    "limits count for all together": (
        {f"{GERMAN}/robots.txt": robots(f"{GERMAN}/sitemap.xml")},
        {"limits": usp.Limits(sitemaps=6), "use_known_paths": False},
        [
            *SELF,
            f"{BLOG}/",
            [f"{BLOG}/robots.txt"],
            f"{GERMAN}/",
            [f"{GERMAN}/robots.txt"],
            f"{MAPS}/",
        ],
    ),
    "a callback leaves a sitemap out, and what it would name": (
        {},
        {"recurse_callback": lambda url, *_: not url.endswith("a.xml")},
        [f"{MAIN}/robots.txt", [f"{MAPS}/b.xml", "https://cdn.example/c.xml"], f"{MAPS}/"],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_neighbours_of_a_website_stand_after_its_own_sitemaps(name):
    changed, options, expected = CASES[name]
    tree, asked = crawled(DOCUMENTS | changed, **options)
    assert shape(tree) == expected
    assert len(asked) == len(set(asked)), "nothing is requested twice"
    if not options.get("use_neighbours", True):
        assert not any(url.startswith((BLOG, GERMAN)) for url in asked)
    if name == "all that are named":
        assert tree.sitemap_count() == len(list(sitemap_rows(tree))) == 7
        assert len(asked) <= len(DOCUMENTS) + 4 * (len(KNOWN_SITEMAP_PATHS) + 1)


def test_what_is_left_out_or_missing_of_neighbours_is_a_failure():
    tree, _ = crawled(limits=usp.Limits(neighbours=1))
    (failure,) = tree.failures()
    assert failure.code is usp.FailureCode.LIMIT_NEIGHBOURS
    assert "2 neighbours left out" in failure.reason
    web = Web(DOCUMENTS | {f"{GERMAN}/robots.txt": Doc(unreachable=True)}, base="")
    tree = usp.sitemap_tree_for_homepage(f"{MAIN}/", Client(web), use_neighbours=True)
    assert {failure.url for failure in tree.failures()} == {f"{GERMAN}/robots.txt"}
    assert next(sitemap_rows(tree))["url"] == f"{GERMAN}/robots.txt"


def test_a_snapshot_has_the_neighbours_and_a_check_takes_each_as_a_website(tmp_path):
    file = tmp_path / "site.warc.gz"
    tree, _ = crawled()
    client = Client(Web(DOCUMENTS, base=""))
    usp.sitemap_tree_for_homepage(f"{MAIN}/", client, use_neighbours=True, record=file)
    assert usp.load(file) == tree
    missing = {one.sitemap for one in usp.check(file, select=["robots-missing"])}
    assert missing == {f"{GERMAN}/robots.txt", f"{MAPS}/robots.txt"}


def test_sites_that_name_thousands_of_hosts_are_asked_for_as_many_as_the_limit():
    many = listing(*((f"https://user{number}.tea.org/",) for number in range(3000)))
    documents = {f"{MAIN}/sitemap.xml": many, f"{MAIN}/robots.txt": urlset("/p")}
    tree, asked = crawled(documents, limits=usp.Limits(neighbours=3), use_robots=False)
    assert shape(tree) == [f"{MAIN}/sitemap.xml", *(f"https://user{n}.tea.org/" for n in range(3))]
    assert len(asked) == 4 * len(KNOWN_SITEMAP_PATHS)

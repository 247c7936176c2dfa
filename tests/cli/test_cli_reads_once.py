"""Documents are read once for everything that a command shows of them."""

import json
from collections import Counter

import pytest

import usp._store as store
from usp._crawl.receiver import parse_document
from usp._formats.document import DocumentParser
from usp.cli.treeview import TreeView, summary
from usp.limits import Limits
from usp.objects.sitemap import problems_until
from usp.tree import sitemap_from_bytes, sitemap_tree_for_homepage
from website import SITEMAP_NS, index, robots, urlset

BAD = urlset("/1", "<url><loc>{site}/2</loc><lastmod>some day</lastmod></url>", "<url/>")
LIMIT = Limits().reached("seconds")


@pytest.fixture
def parses(monkeypatch):
    """How often each document was parsed, the probe while it came in included."""
    counts: Counter[str] = Counter()
    make = DocumentParser.__init__

    def counted(self, url, *labels, **options):
        counts[url.rpartition("/")[2]] += 1
        make(self, url, *labels, **options)

    monkeypatch.setattr(DocumentParser, "__init__", counted)
    return counts


@pytest.fixture
def site(serve):
    many = [f"/m{at}.xml" for at in range(20)]
    children = ["/a.xml", "/b.xml", "/l.txt", *many]
    return serve(
        {
            "/robots.txt": robots("/i.xml", "/again.xml"),
            "/i.xml": index(*children),
            "/again.xml": index("/a.xml"),
            "/a.xml": BAD,
            "/b.xml": urlset("/3"),
            "/l.txt": "{site}/4\nnone\n",
            **dict.fromkeys(many, BAD),
        }
    )


def test_a_document_is_parsed_at_most_twice_while_it_comes_in_and_when_it_is_read(
    run, site, parses
):
    for name, *options in [
        *(["tree", "-p"], ["tree", "-p", "--all"], ["tree"], ["tree", "-p", "-f", "json"]),
        ["ls", "-f", "sitemaps"],
    ]:
        parses.clear()
        assert run(name, site, "--no-known", *options).status == 0
        assert parses["a.xml"] == 2
        assert {url: count for url, count in parses.items() if count > 2} == {}


def test_what_is_read_once_is_what_is_read_one_by_one(site):
    first = sitemap_tree_for_homepage(f"{site}/", use_known_paths=False)
    other = sitemap_tree_for_homepage(f"{site}/", use_known_paths=False)
    view = TreeView(first)
    assert [*view.drawn(), *summary(view.wrong)]
    for one, two in zip(first.all_sitemaps(), other.all_sitemaps(), strict=True):
        assert one.problems == two.problems
        assert one.problem_count() == sum(problem.times for problem in two.problems)
        assert one.page_count() == sum(1 for _ in two.all_pages())


def test_counting_and_iterating_give_the_same_whatever_came_first():
    entries = "".join(f"<url><loc>http://h/{at % 90}</loc></url>" for at in range(100))
    data = f"<urlset>{entries}<url><loc>mailto:x</loc></url></urlset>".encode()
    for first in ("page_count", "problem_count"):
        node = sitemap_from_bytes(data, "http://h/s.xml")
        getattr(node, first)()
        assert (node.page_count(), node.problem_count()) == (90, 1)
        assert len(list(node.all_pages())) == len(node.pages) == 90
        examined = [url for block in node._pages.examined() for url in block.urls]
        assert examined == [page.url for page in node.pages]


def test_a_reading_that_was_given_up_is_not_remembered():
    bad = b"<url><loc>x:</loc></url>" * 30_000
    node = sitemap_from_bytes(b"<urlset>" + bad + b"</urlset>", "http://h/s.xml")
    assert LIMIT.code in {problem.code for problem in problems_until(node, lambda: LIMIT)}
    assert node.problem_count() == 30_000


def test_problems_are_kept_in_bounded_memory(monkeypatch):
    monkeypatch.setattr(store.Store, "_room", 5)
    kept = store.Store()
    nodes = []
    for at in range(4):
        data = b"<urlset>" + b"<url><loc>x:</loc></url>" * 3 + b"</urlset>"
        nodes.append(parse_document([data], f"http://h/{at}.xml", store=kept))
    counts = [len(node.problems) for node in nodes]
    assert counts == [3, 3, 3, 3]
    remembered = [node for node in nodes if node._pages.document.known.problems is not None]
    assert remembered == [nodes[0], nodes[-1]]
    assert [node.problem_count() for node in nodes] == counts  # a number is always kept
    assert [len(node.problems) for node in nodes] == counts


@pytest.fixture
def damaged(put):
    """A sitemap with 600 problems of one kind, then 600 of another."""
    dates = [f"http://h/{at}</loc><lastmod>day {at}</lastmod></url>" for at in range(600)]
    locs = [f"mailto:{at}</loc></url>" for at in range(600)]
    entries = "".join(f"\n<url><loc>{one}" for one in dates + locs)
    put({"s.xml": f'<urlset xmlns="{SITEMAP_NS}">{entries}</urlset>'})
    return "s.xml"


def test_every_kind_is_one_line_or_object_with_its_count_its_first_place_and_an_example(
    run, damaged
):
    shown = run("tree", "-p", damaged).lines
    lines = [line for line in reversed(shown) if "── error " in line]
    assert len(lines) == 2
    assert any(line.endswith("; 1,200 findings (1,200 errors).") for line in shown)
    assert (
        "600 times, first in line 2: search engines ignore this lastmod, which is not a date: 'day 0'"
        in lines[0]
    )
    assert "600 times, first in line 602: a loc is not an HTTP URL: 'mailto:0'" in lines[1]
    assert "(600 entries lost)" in lines[1]
    problems = json.loads(run("tree", "-p", "-f", "json", damaged).out)["problems"]
    assert problems == [
        {"code": "bad-lastmod", "message": "search engines ignore this lastmod, which is not a date", "times": 600, "lost": 0,
         "line": 2, "excerpt": "day 0"},
        {"code": "bad-loc", "message": "a loc is not an HTTP URL", "times": 600, "lost": 600,
         "line": 602, "excerpt": "mailto:0"},
    ]  # fmt: skip

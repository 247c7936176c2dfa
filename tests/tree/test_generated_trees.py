"""A generated website, served over HTTP, comes back as the tree that was meant."""

import gzip
import itertools
import pickle
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from xml.sax.saxutils import escape

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import usp
from profiles import examples
from website import Answer, Site, atom, index, robots, rss, urlset

path_texts = st.text("abcxyz0189-_.~/?=&é日", min_size=1, max_size=12)
dates = st.integers(0, 2**31).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))
page_specs = st.tuples(
    path_texts,
    st.sampled_from(["0.0", "0.3", "1.0"]) | st.none(),
    st.none() | dates,
    st.none() | st.sampled_from(usp.SitemapPageChangeFrequency),
)


@dataclass
class Leaf:
    """A page sitemap to be served."""

    kind: str
    pages: list[tuple]
    packed: bool = False
    moved: bool = False


@dataclass
class Branch:
    """An index to be served; None stands for a child that is missing."""

    children: list[Any] = field(default_factory=list)
    moved: bool = False


leaves = st.builds(
    Leaf,
    st.sampled_from(["xml", "text", "rss", "atom"]),
    st.lists(page_specs, max_size=4),
    packed=st.booleans(),
    moved=st.booleans(),
)
sites = st.lists(
    st.recursive(
        leaves | st.none(),
        lambda below: st.builds(Branch, st.lists(below, max_size=4), moved=st.booleans()),
        max_leaves=12,
    ),
    max_size=4,
)


def urls_of(base: str, leaf: Leaf) -> dict[str, tuple]:
    """Give the pages of a sitemap by their URL: the first declaration counts."""
    pages: dict[str, tuple] = {}
    for page in leaf.pages:
        pages.setdefault(f"{base}/page/{page[0]}", page)
    return pages


def entry(url: str, page: tuple) -> str:
    _, priority, date, frequency = page
    return (
        f"<url><loc>{escape(url)}</loc>"
        + (f"<priority>{priority}</priority>" if priority else "")
        + (f"<lastmod>{date.isoformat()}</lastmod>" if date else "")
        + (f"<changefreq>{frequency.value}</changefreq>" if frequency else "")
        + "</url>"
    )


class Builder:
    """Writes a website and, beside it, the tree that it means."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._numbers = itertools.count()

    def add(self, spec: Leaf | Branch | None) -> tuple[str, usp.AbstractSitemap]:
        """Serve a sitemap; gives the URL to declare and the node to expect."""
        path = f"/{next(self._numbers)}.map"
        url = self.site.url(path)
        if spec is None:
            reason = f"Unable to fetch sitemap from {url}: 404 Not Found"
            return url, usp.InvalidSitemap(url, reason)
        final = path
        if spec.moved:
            final = path + ".moved"
            self.site.answers[path] = Answer(redirect=final)
        body, node = (
            self._index(spec, self.site.url(final))
            if isinstance(spec, Branch)
            else self._pages(spec, self.site.url(final))
        )
        data = body.encode()
        self.site.answers[final] = gzip.compress(data) if getattr(spec, "packed", False) else data
        return url, node

    def _index(self, spec: Branch, url: str) -> tuple[str, usp.AbstractSitemap]:
        below = [self.add(child) for child in spec.children]
        body = index(*(loc for loc, _ in below))
        return body, usp.IndexXMLSitemap(url, [node for _, node in below])

    def _pages(self, spec: Leaf, url: str) -> tuple[str, usp.AbstractSitemap]:
        pages = urls_of(self.site.base, spec)
        if spec.kind == "xml":
            body = urlset(*itertools.starmap(entry, pages.items()))
            return body, usp.PagesXMLSitemap(
                url,
                [
                    usp.SitemapPage(page, Decimal(priority or "0.5"), date, frequency)
                    for page, (_, priority, date, frequency) in pages.items()
                ],
            )
        if spec.kind == "text":
            # A text sitemap without a URL cannot be told from any other text.
            pages.setdefault(self.site.url("/page/one"), ())
            return "\n".join(pages), usp.PagesTextSitemap(
                url, [usp.SitemapPage(page) for page in pages]
            )
        write, kind = (
            (rss, usp.PagesRSSSitemap) if spec.kind == "rss" else (atom, usp.PagesAtomSitemap)
        )
        story = usp.SitemapNewsStory("t", None)
        return write(*map(escape, pages)), kind(
            url, [usp.SitemapPage(page, news_story=story) for page in pages]
        )


@given(sites)
@settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_a_generated_website_comes_back_as_the_tree_that_was_meant(specs):
    with Site() as site:
        builder = Builder(site)
        declared = [builder.add(spec) for spec in specs]
        site.answers["/robots.txt"] = robots(*(url for url, _ in declared))
        tree = usp.sitemap_tree_for_homepage(site.base + "/", use_known_paths=False)
        assert set(site.hits.values()) == {1}
    robots_txt = usp.IndexRobotsTxtSitemap(site.url("/robots.txt"), [node for _, node in declared])
    expected = usp.IndexWebsiteSitemap(site.url("/"), [robots_txt])
    assert tree == expected
    assert tree.to_dict() == expected.to_dict()
    assert list(tree.all_pages()) == list(expected.all_pages())
    assert tree.page_count() == expected.page_count()
    assert pickle.loads(pickle.dumps(tree)) == expected
    assert not [problem for node in tree.all_sitemaps() for problem in node.problems]

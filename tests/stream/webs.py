"""Generated websites in memory: any documents that declare, and redirect to, any others."""

import gzip
from typing import Any

from hypothesis import strategies as st
from page_sites import html

from memory_web import Doc
from website import atom, index, robots, rss, urlset

NAMES = [f"/{n}.xml" for n in range(7)]
names = st.sampled_from(NAMES)
page_urls = st.lists(st.integers(0, 9).map(lambda n: f"/p{n}"), min_size=1, max_size=4)
pieces = st.integers(1, 6)


def stray(n: int) -> str:
    return f"<url><loc>{{base}}/stray{n}</loc></url>"


def text(urls: list[str]) -> str:
    return "".join(f"http://h{url}\n" for url in urls)


def packed(document: str) -> bytes:
    return gzip.compress(document.replace("{base}", "http://h").encode(), mtime=0)


page_docs = st.builds(
    lambda write, urls, **rest: Doc(write(urls), **rest),
    st.sampled_from(
        [
            lambda urls: urlset(*urls),
            lambda urls: rss(*urls),
            lambda urls: atom(*urls),
            lambda urls: packed(urlset(*urls)),
            text,
        ]
    ),
    page_urls,
    pieces=pieces,
    broken=st.sampled_from([False] * 5 + [True]),
    stumbles=st.sampled_from([0, 0, 0, 1, 2, 9]),
)
plain_indexes = st.builds(
    lambda children, **rest: Doc(index(*children), **rest),
    st.lists(names, max_size=3),
    pieces=pieces,
    stumbles=st.sampled_from([0, 0, 0, 1]),
)
others = st.sampled_from(
    [Doc(status=404), Doc("<html><p>no</p></html>"), Doc(""), Doc("<urlset", broken=True)]
) | st.builds(Doc, moved_to=names)
stray_indexes = st.builds(
    lambda children, **rest: Doc(index(*children), **rest),
    st.lists(names | st.integers(0, 2).map(stray), max_size=4, unique=True),
    pieces=pieces,
)
docs = page_docs | page_docs | plain_indexes | plain_indexes | others


@st.composite
def webs(draw: st.DrawFn, *, with_stray: bool = False) -> tuple[dict[str, Any], dict[str, Any]]:
    """Give the documents of a website and the options to look at it with."""
    kinds = docs | stray_indexes if with_stray else docs
    web = dict(zip(NAMES, draw(st.lists(kinds, min_size=7, max_size=7)), strict=True))
    web["/robots.txt"] = Doc(robots(*draw(st.lists(names, max_size=3))), pieces=draw(pieces))
    web["/"] = Doc(html(*draw(st.lists(names, max_size=3))))
    known = draw(st.lists(names, max_size=3, unique=True))
    options = {
        "use_robots": draw(st.booleans()),
        "use_html_links": draw(st.booleans()),
        "use_html_sitemaps": draw(st.booleans()),
        "use_neighbours": draw(st.booleans()),
        "use_known_paths": False,
        "extra_known_paths": [name[1:] for name in known],
    }
    return web, options

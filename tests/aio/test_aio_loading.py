"""A program on asyncio loads what it needs, and not the client of the others."""

from pathlib import Path

from patience import run_python

CRAWL = f"""
import asyncio, sys
sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from usp import aio
from website import Site, robots, urlset
with Site({{"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/p")}}) as site:
    tree = asyncio.run(aio.sitemap_tree_for_homepage(site.base + "/"))
    assert [page.url for page in tree.all_pages()] == [site.base + "/p"]
print(*sorted({{"requests", "urllib3", "idna.uts46data"}} & sys.modules.keys()))
"""


def test_a_crawl_on_asyncio_loads_neither_requests_nor_urllib3():
    """Known paths that begin with a dot are requested as well, and need no other parser of URLs."""
    done = run_python(CRAWL)
    assert (done.stdout, done.stderr) == ("\n", "")

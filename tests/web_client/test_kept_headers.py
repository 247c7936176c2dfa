"""What is kept of requests and responses takes little memory: servers send most of it each time."""

from __future__ import annotations

from usp._http.redaction import safe_headers
from usp.tree import sitemap_tree_for_homepage
from website import index, robots, urlset


def test_headers_that_are_sent_again_are_kept_once():
    first, second = (safe_headers([("Server", "x" * 20), ("Date", day)]) for day in ("Mon", "Tue"))
    assert first[0] is second[0]
    assert first[1:] == (("Date", "Mon"),)
    assert first[1][0] is second[1][0]


def test_headers_that_may_hold_secrets_are_not_kept_for_others():
    link = "<http://user:secret@h/>"
    first, second = (safe_headers([("Link", link), ("Set-Cookie", "a=b")]) for _ in range(2))
    assert first == second == (("Link", "<http://h/>"),)
    assert first[0] is not second[0]


def test_the_documents_of_a_website_share_what_was_sent_for_them(serve):
    names = [f"/{number}.xml" for number in range(3)]
    site = serve(
        {
            "/robots.txt": robots("/i.xml"),
            "/i.xml": index(*names),
            **{name: urlset(f"{name}/p") for name in names},
        }
    )
    tree = sitemap_tree_for_homepage(site.base + "/", use_known_paths=False)
    sitemaps = [node for node in tree.all_sitemaps() if node.url.endswith(tuple(names))]
    hops = [node.exchange.hops[0] for node in sitemaps]
    assert len(hops) == len(names)
    assert len({id(hop.sent) for hop in hops}) == 1
    assert all(node.exchange.url is node.exchange.final_url for node in sitemaps)

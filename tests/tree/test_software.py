"""What the homepage says about the software of a website decides which further paths are tried."""

from itertools import pairwise

import pytest

from usp._crawl.hints import SOFTWARE
from usp._crawl.website import KNOWN_SITEMAP_PATHS
from usp.tree import sitemap_tree_for_homepage
from website import Answer, atom, robots, rss, urlset

LINKS = {"use_html_links": True}


def generator(name):
    return Answer(f"<!doctype html><html><head><meta name=Generator content='{name}'></head>")


def sent(**headers):
    return Answer("<html>", headers={name.replace("_", "-"): headers[name] for name in headers})


# As the software makes them: what the homepage is, where the sitemap is, what it is.
IMITATIONS = {
    "WordPress with plain links": (generator("WordPress 6.5.2"), "/?sitemap=index"),
    "WordPress without a generator": (
        sent(Link='<https://a.example/wp-json/>; rel="https://api.w.org/"'),
        "/?sitemap=1",
    ),
    "WordPress with pingbacks": (
        sent(X_Pingback="https://a.example/xmlrpc.php"),
        "/?sitemap=index",
    ),
    "Drupal without clean URLs": (sent(X_Generator="Drupal 10 (x)"), "/?q=sitemap.xml"),
    "Joomla, OSMap": (
        generator("Joomla! - Open Source Content Management"),
        "/index.php?option=com_osmap&view=xml&id=1",
    ),
    "TYPO3 without a route": (generator("TYPO3 CMS"), "/?type=1533906435"),
    "PrestaShop": (sent(Powered_By="PrestaShop"), "/1_index_sitemap.xml"),
    "Magento": (sent(X_Magento_Cache_Debug="HIT"), "/pub/sitemap.xml"),
    "BigCommerce": (
        Answer("<html><meta name='platform' content='bigcommerce.stencil' />"),
        "/xmlsitemap.php",
    ),
    "Shopify": (sent(X_ShopId="1"), "/collections/all.atom"),
    "Wix": (generator("Wix.com Website Builder"), "/pages-sitemap.xml"),
    "Squarespace": (
        Answer(raw=[b"HTTP/1.1 200 OK\r\nServer: Squarespace\r\nContent-Length: 6\r\n\r\n<html>"]),
        "/blog?format=rss",
    ),
    "Discourse": (sent(X_Discourse_Route="list/latest"), "/sitemap_1.xml"),
    "Ghost": (generator("Ghost 5.80"), "/sitemap-posts.xml"),
    "Ghost without a generator": (sent(X_Ghost_Cache_Status="HIT"), "/sitemap-posts.xml"),
    "Hugo": (generator("Hugo 0.123.7"), "/en/sitemap.xml"),
    "Next.js without its name": (sent(X_Nextjs_Cache="HIT"), "/sitemap-0.xml"),
    "Next.js": (sent(X_Powered_By="Next.js"), "/server-sitemap.xml"),
}


def document(path):
    return atom("/p") if path.endswith("atom") else rss("/p") if "rss" in path else urlset("/p")


@pytest.mark.parametrize("name", IMITATIONS)
def test_a_sitemap_at_the_path_of_its_software_is_found_for_a_few_requests(serve, name):
    homepage, path = IMITATIONS[name]
    site = serve({"/": homepage, path: document(path), "/robots.txt": "User-agent: *\n"})
    tree = sitemap_tree_for_homepage(site.base + "/", **LINKS)
    assert [node.url for node in tree.sub_sitemaps] == [f"{site.base}/robots.txt", site.base + path]
    assert tree.page_count() == 1
    assert len(site.requests) - len(KNOWN_SITEMAP_PATHS) - len(["/robots.txt", "/"]) <= 4
    assert not tree.failures()
    site.requests.clear()
    assert not sitemap_tree_for_homepage(site.base + "/").page_count()
    assert not site.hits[path]


KNOWN_SOFTWARE = generator("WordPress 6.5.2")
NOT_TRIED = {
    "its sitemap is declared": ({"/": KNOWN_SOFTWARE, "/robots.txt": robots("/a.xml")}, {}),
    "its sitemap is at a known path": ({"/": KNOWN_SOFTWARE, "/sitemap.xml": urlset("/p")}, {}),
    "known paths are off": ({"/": KNOWN_SOFTWARE}, {"use_known_paths": False}),
    "the homepage says nothing": ({"/": "<html><meta name=description content=WordPress>"}, {}),
    "the homepage is not asked": ({"/": KNOWN_SOFTWARE}, {"use_html_links": False}),
    "it is quoted": ({"/": "<html><title><meta name=generator content=WordPress></title>"}, {}),
    "there is no homepage": ({"/": Answer("", 404, headers={"X-Generator": "Drupal 10"})}, {}),
}


@pytest.mark.parametrize("name", NOT_TRIED)
def test_nothing_is_requested_for_nothing(serve, name):
    answers, options = NOT_TRIED[name]
    site = serve({"/a.xml": urlset("/a"), **answers})
    sitemap_tree_for_homepage(site.base + "/", **LINKS | options)
    paths = {f"/{path}" for path in KNOWN_SITEMAP_PATHS}
    assert not set(site.hits) - paths - {"/", "/robots.txt", "/a.xml"}


def test_a_feed_does_not_keep_from_looking_for_sitemaps(serve):
    link = "<link rel=alternate type='application/rss+xml' href='/feed/'>"
    site = serve(
        {
            "/": Answer(f"<html><meta name=generator content='WordPress 6'>{link}"),
            "/feed/": rss("/f"),
        }
        | {"/?sitemap=index": urlset("/p")}
    )
    tree = sitemap_tree_for_homepage(site.base + "/", **LINKS)
    assert [page.url for page in tree.all_pages()] == [f"{site.base}/f", f"{site.base}/p"]


def test_the_table_has_each_software_once_and_no_path_that_is_always_tried():
    assert all(ours.name != other.name for ours, other in pairwise(sorted(SOFTWARE)))
    for software in SOFTWARE:
        assert not set(software.paths) & set(KNOWN_SITEMAP_PATHS), software.name
        assert 1 <= len(software.paths) <= 4
        assert all(sign == sign.lower() for sign in software.signs)

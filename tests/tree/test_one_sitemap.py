"""One sitemap: by its address, or from text, bytes or a file at hand."""

import gzip
import socket

import pytest

import usp
from cases import cases
from usp.fetch_parse import SitemapFetcher, SitemapStrParser
from website import Answer, atom, index, outline, robots, rss, urlset

E = "https://www.example.org"
UNFETCHED = "Un-fetched child sitemap"
LOCAL = "http://usp-local-dummy.local/"


@pytest.fixture
def _no_network(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("something was fetched")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_the_sitemap_itself_is_the_root(serve):
    site = serve({"/maps/i.xml": index("/a.xml"), "/a.xml": urlset("/p")})
    site.answers["/robots.txt"] = robots("/a.xml")
    below = [("PagesXMLSitemap", "/a.xml")]
    for root, asked in cases(
        [
            (("IndexXMLSitemap", "/maps/i.xml", below), {"/maps/i.xml", "/a.xml"}),
            (("IndexRobotsTxtSitemap", "/robots.txt", below), {"/robots.txt", "/a.xml"}),
            (("InvalidSitemap", "/gone.xml"), {"/gone.xml"}),
        ]
    ):
        site.requests.clear()
        assert outline(usp.sitemap_tree_for_sitemap(site.url(root[1])), site.base) == root
        assert set(site.hits) == asked


def test_trees_that_were_built_by_hand_and_fetched_ones_mix(serve):
    site = serve({"/a.xml": urlset("/p")})
    fetched = SitemapFetcher(site.url("/a.xml"), 0).sitemap()
    built = usp.PagesXMLSitemap(site.url("/a.xml"), [usp.SitemapPage(site.url("/p"))])
    assert built == fetched
    assert fetched == built
    assert fetched != usp.PagesXMLSitemap(site.url("/a.xml"), [usp.SitemapPage(site.url("/q"))])
    assert len({fetched, built}) == 1


def test_a_fetcher_repeats_as_often_whether_or_not_404s_are_quiet(serve):
    """``quiet_404`` is about the log: it does not say how often to ask."""
    hits = []
    for quiet in (False, True):
        site = serve({"/a.xml": [Answer("", 503)] * 3 + [urlset("/p")]})
        node = SitemapFetcher(site.url("/a.xml"), 0, quiet_404=quiet).sitemap()
        hits.append((type(node), site.hits["/a.xml"]))
    assert hits == [(usp.PagesXMLSitemap, 4)] * 2


@pytest.mark.usefixtures("_no_network")
class TestAtHand:
    """Documents at hand: nothing is fetched."""

    @pytest.mark.parametrize(
        ("text", "kind"),
        [
            (urlset(E + "/p"), "PagesXMLSitemap"),
            (rss(E + "/p"), "PagesRSSSitemap"),
            (atom(E + "/p"), "PagesAtomSitemap"),
            (f"{E}/p\n", "PagesTextSitemap"),
        ],
    )
    def test_pages_come_back_from_text_bytes_and_file_alike(self, text, kind, tmp_path):
        file = tmp_path / "sitemap"
        file.write_bytes(gzip.compress(text.encode()))
        nodes = [
            usp.sitemap_from_str(text),
            SitemapStrParser(text).sitemap(),
            usp.sitemap_from_bytes(text.encode()),
            usp.sitemap_from_bytes(gzip.compress(text.encode())),
            usp.sitemap_from_file(file),
            usp.sitemap_from_file(str(file)),
        ]
        for node in nodes:
            assert type(node).__name__ == kind
            assert [page.url for page in node.all_pages()] == [E + "/p"]
            assert node.pages == nodes[0].pages
        assert {node.url for node in nodes[:4]} == {LOCAL}
        assert {node.url for node in nodes[4:]} == {file.as_uri()}

    def test_the_children_of_an_index_are_not_fetched(self):
        dated = f"<sitemap><loc>{E}/b.xml</loc><lastmod>2024-05-06</lastmod></sitemap>"
        tree, why = usp.sitemap_from_str(index(E + "/a.xml", dated, E + "/a.xml")), UNFETCHED
        urls = [E + "/a.xml", E + "/b.xml"]
        assert tree == usp.IndexXMLSitemap(LOCAL, [usp.InvalidSitemap(url, why) for url in urls])
        assert [str(child.last_modified)[:4] for child in tree.sub_sitemaps] == ["None", "2024"]
        assert not tree.is_complete
        assert [(f.url, f.reason, f.attempts, f.status) for f in tree.failures()] == [
            (url, why, 0, None) for url in urls
        ]

    def test_relative_addresses_are_resolved_against_the_url_of_the_document(self):
        data = urlset("<url><loc>../p</loc></url>").encode()
        node = usp.sitemap_from_bytes(data, E + "/maps/s.xml")
        assert node == usp.PagesXMLSitemap(E + "/maps/s.xml", [usp.SitemapPage(E + "/p")])

    def test_a_robots_txt_is_told_by_its_url(self):
        node = usp.sitemap_from_bytes(b"Sitemap: /a.xml\n", E + "/robots.txt")
        assert outline(node, E) == (
            "IndexRobotsTxtSitemap",
            "/robots.txt",
            [("InvalidSitemap", "/a.xml")],
        )

    @pytest.mark.parametrize("text", ["", "nothing", "<html></html>", "\ud800", "<?xml"])
    def test_what_is_no_sitemap_is_invalid(self, text):
        node = usp.sitemap_from_str(text)
        assert isinstance(node, usp.InvalidSitemap)
        assert f"No parsers support sitemap from {LOCAL}" in node.reason

    def test_a_large_file_is_not_held_in_memory(self, tmp_path):
        file = tmp_path / "large.xml"
        file.write_text(urlset(*(f"{E}/{n:06}/" + "x" * 700 for n in range(500))))
        node = usp.sitemap_from_file(file)
        file.unlink()
        assert node.page_count() == 500

    def test_a_missing_file_is_the_callers_mistake(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            usp.sitemap_from_file(tmp_path / "none.xml")

"""The parsers of ``usp.fetch_parse`` take a document, or its elements, and return its node."""

import pytest

import usp
from memory_web import Client, H, Web
from together import together
from usp.fetch_parse import (
    AbstractSitemapParser,
    AbstractXMLSitemapParser,
    IndexRobotsTxtSitemapParser,
    IndexXMLSitemapParser,
    PagesAtomSitemapParser,
    PagesRSSSitemapParser,
    PagesXMLSitemapParser,
    PlainTextSitemapParser,
    SitemapFetcher,
    XMLSitemapParser,
)
from usp.web_client.abstract_client import LocalWebClient
from website import atom, index, outline, paths, robots, rss, urlset


def text(document):
    return document.replace("{base}", H)


def client():
    """Return a client of a website with one sitemap."""
    return Client(Web({"/a.xml": urlset("/p")}), 1)


def parse(kind, url, content, **options):
    given = {"recursion_level": 0, "web_client": LocalWebClient(), "parent_urls": set(), **options}
    return kind(url=url, content=content, **given).sitemap()


@together(
    ("content", "kind", "found"),
    [
        (urlset("/p", "/q"), usp.PagesXMLSitemap, ["/p", "/q"]),
        (rss("/p"), usp.PagesRSSSitemap, ["/p"]),
        (atom("/p"), usp.PagesAtomSitemap, ["/p"]),
        (urlset("/p").replace("?>", " encoding='utf-16'?>"), usp.PagesXMLSitemap, ["/p"]),
    ],
)
def test_the_parser_of_xml_reads_what_it_is_given(content, kind, found):
    node = parse(XMLSitemapParser, f"{H}/s.xml", text(content))
    assert type(node) is kind
    assert node.url == f"{H}/s.xml"
    assert paths(node, H) == found
    assert paths(parse(XMLSitemapParser, f"{H}/s", text(urlset("/p")).encode()), H) == ["/p"]


@together("content", ["", "words", "<html/>", "http://h/p\n", "<foo/>"])
def test_the_parser_of_xml_refuses_everything_else(content):
    node = parse(XMLSitemapParser, f"{H}/s.xml", content)
    assert isinstance(node, usp.InvalidSitemap)
    assert node.reason.startswith(f"No parsers support sitemap from {H}/s.xml")


def test_the_children_of_an_index_are_fetched_by_the_client_that_it_is_given():
    web = Web({"/a.xml": urlset("/p")})
    content = text(index("/a.xml", "/gone.xml", "/s.xml", "/up.xml", "/up.xml#again"))
    given = {"web_client": Client(web, 1), "parent_urls": {f"{H}/up.xml"}}
    node = parse(XMLSitemapParser, f"{H}/s.xml", content, **given)
    assert web.asked == ["/a.xml", "/gone.xml"]
    first, *others = outline(node, H)[2]
    assert first == ("PagesXMLSitemap", "/a.xml")
    names = ("/gone.xml", "/s.xml", "/up.xml", "/up.xml#again")
    assert others == [("InvalidSitemap", name) for name in names]
    assert all("Recursion detected" in below.reason for below in node.sub_sitemaps[3:])


def test_without_a_network_children_are_named_and_no_crawl_is_started(monkeypatch):
    monkeypatch.delattr("usp.fetch_parse.crawl_with")
    node = parse(XMLSitemapParser, f"{H}/s.xml", text(index("/a.xml")))
    assert node == usp.IndexXMLSitemap(
        f"{H}/s.xml", [usp.InvalidSitemap(f"{H}/a.xml", "Un-fetched child sitemap")]
    )


class Offline(LocalWebClient):
    """A client that a crawl is started for, as it may respond after all."""


@together(
    ("kind", "name", "content"),
    [
        (IndexRobotsTxtSitemapParser, "robots.txt", robots("/a.xml", "/b.xml", "/robots.txt")),
        (IndexRobotsTxtSitemapParser, "robots.txt", "Sitemap: /a.xml\nNews Sitemap: /b.xml\n"),
        (XMLSitemapParser, "s.xml", index("/a.xml", "/b.xml", "/a.xml")),
        (XMLSitemapParser, "s.xml", index("/a.xml", "/s.xml", "/a.xml#again")),
        (XMLSitemapParser, "s.xml", index("no URL", "/a.xml")),
        (XMLSitemapParser, "s.xml", index("/a.xml", "http://h:99999/b.xml")),
        (XMLSitemapParser, "s.xml", index("http://me:secret@h/a.xml")),
        (XMLSitemapParser, "s.xml", urlset("/p", "no URL")),
        (XMLSitemapParser, "s.xml", "<html/>"),
        (PlainTextSitemapParser, "s.txt", "http://h/p\nno URL\n"),
        (PlainTextSitemapParser, "s.txt", ""),
    ],
)
def test_without_a_network_a_document_is_read_as_by_a_crawl(kind, name, content):
    def result(client):
        node = parse(kind, f"{H}/{name}", text(content), web_client=client)
        nodes = [node, *node.all_sitemaps()]
        whys = [one.why.brief if isinstance(one, usp.InvalidSitemap) else None for one in nodes]
        facts = [(one.problems, one.last_modified, one.size) for one in nodes]
        return node, whys, facts, list(node.all_pages())

    assert result(LocalWebClient()) == result(Offline())


def test_a_fetcher_with_a_client_without_network_raises_nothing_else_than_it_says():
    """1.8.1 lets NoWebClientException out; a tree names it instead: nothing raises out of a crawl."""
    node = SitemapFetcher(f"{H}/s.xml", 0, web_client=LocalWebClient()).sitemap()
    assert isinstance(node, usp.InvalidSitemap)


def test_levels_and_callbacks_are_handed_on():
    seen = []

    def each(url, level, parents):
        seen.append((url, level, parents))
        return url.endswith("/a.xml")

    content = text(index("/a.xml", "/b.xml"))
    options = {"recursion_level": 3, "web_client": client(), "parent_urls": {f"{H}/up.xml"}}
    node = parse(XMLSitemapParser, f"{H}/s.xml", content, recurse_callback=each, **options)
    assert paths(node, H) == ["/p"]
    parents = {f"{H}/s.xml", f"{H}/up.xml"}
    assert seen == [(f"{H}/a.xml", 3, parents), (f"{H}/b.xml", 3, parents)]
    deep = parse(XMLSitemapParser, f"{H}/s.xml", content, **{**options, "recursion_level": 11})
    assert "Recursion level exceeded 11" in deep.sub_sitemaps[0].reason


def test_a_robots_txt():
    content = text(robots("/a.xml", "/b.xml"))
    url = f"{H}/robots.txt"
    node = parse(IndexRobotsTxtSitemapParser, url, content, web_client=client())
    assert outline(node, H) == (
        "IndexRobotsTxtSitemap",
        "/robots.txt",
        [("PagesXMLSitemap", "/a.xml"), ("InvalidSitemap", "/b.xml")],
    )
    with pytest.raises(usp.SitemapException, match="does not look like robots"):
        parse(IndexRobotsTxtSitemapParser, f"{H}/s.xml", content)


def test_a_plain_text_whose_address_is_only_a_name():
    node = parse(PlainTextSitemapParser, "file:///s.txt", "http://h/p\nno\nhttp://h/q\n")
    assert isinstance(node, usp.PagesTextSitemap)
    assert (node.url, paths(node, H)) == ("file:///s.txt", ["/p", "/q"])


def test_arguments_have_their_places():
    node = XMLSitemapParser(f"{H}/s.xml", text(urlset("/p")), 0, LocalWebClient(), set()).sitemap()
    assert paths(node, H) == ["/p"]
    index_parser = IndexXMLSitemapParser(f"{H}/s.xml", LocalWebClient(), 0, set())
    assert index_parser.sitemap() == usp.IndexXMLSitemap(f"{H}/s.xml", [])


def test_a_parser_of_the_users_own():
    class Own(AbstractSitemapParser):
        def sitemap(self):
            return usp.PagesTextSitemap(self._url, [])

    assert parse(Own, f"{H}/x", "y").url == f"{H}/x"
    with pytest.raises(TypeError):
        AbstractXMLSitemapParser(url=f"{H}/x")


# Told of elements --------------------------------------------------------------------------------


def tell(parser, *events):
    for event in events:
        if event.startswith("</"):
            parser.xml_element_end(name=event[2:-1])
        elif event.startswith("<"):
            parser.xml_element_start(name=event[1:-1], attrs={})
        else:
            parser.xml_char_data(data=event)
    return parser.sitemap()


def test_a_urlset_told_of_its_elements():
    node = tell(
        PagesXMLSitemapParser(url=f"{H}/s.xml"),
        *("<sitemap:urlset>", "<sitemap:url>", "<sitemap:loc>", "http://h/p?a=1&b=2"),
        *("</sitemap:loc>", "<image:image>", "<image:loc>", "http://h/i.jpg", "</image:loc>"),
        *("</image:image>", "</sitemap:url>", "</sitemap:urlset>"),
    )
    (page,) = node.pages
    assert (type(node), page.url) == (usp.PagesXMLSitemap, f"{H}/p?a=1&b=2")
    assert page.images == [usp.SitemapImage(f"{H}/i.jpg")]


def test_an_index_told_of_its_elements():
    given = {"web_client": client(), "recursion_level": 0, "parent_urls": set()}
    node = tell(
        IndexXMLSitemapParser(url=f"{H}/s.xml", **given),
        *("<sitemap:sitemapindex>", "<sitemap:sitemap>", "<sitemap:loc>", f"{H}/a.xml"),
        *("</sitemap:loc>", "</sitemap:sitemap>", "</sitemap:sitemapindex>"),
    )
    assert paths(node, H) == ["/p"]
    assert given["web_client"].web.asked == ["/a.xml"]


@together(
    ("parser", "kind"),
    [
        (PagesXMLSitemapParser, usp.PagesXMLSitemap),
        (PagesRSSSitemapParser, usp.PagesRSSSitemap),
        (PagesAtomSitemapParser, usp.PagesAtomSitemap),
    ],
)
def test_who_was_told_nothing_has_no_pages(parser, kind):
    assert parser(url=f"{H}/s").sitemap() == kind(f"{H}/s", [])


# Entries -----------------------------------------------------------------------------------------


def test_a_page_of_a_urlset_is_made_of_its_fields():
    page = PagesXMLSitemapParser.Page()
    assert (page.url, page.priority, page.images, page.alternates) == (None, None, [], [])
    assert page.page() is None
    page.url = " http://h/p?a=1&amp;b=2 "
    page.priority, page.change_frequency, page.last_modified = "0.3", "Daily", "2020-01-01"
    page.news_title, page.news_publish_date, page.news_keywords = "N", "2020-01-02", "a, b"
    page.alternates.append(("de", f"{H}/de"))
    image = PagesXMLSitemapParser.Image()
    image.loc, image.license = f"{H}/i.jpg", "L"
    page.images.append(image)
    made = page.page()
    assert made.url == f"{H}/p?a=1&b=2"
    assert str(made.priority) == "0.3"
    assert made.change_frequency is usp.SitemapPageChangeFrequency.DAILY
    assert made.last_modified.year == 2020
    assert (made.news_story.title, made.news_story.keywords) == ("N", ["a", "b"])
    assert made.images == [usp.SitemapImage(f"{H}/i.jpg", license_="L")]
    assert made.alternates == [("de", f"{H}/de")]
    assert page == page and len({page, page}) == 1  # noqa: PLR0124, PT018


@together("parser", [PagesRSSSitemapParser, PagesAtomSitemapParser])
def test_a_page_of_a_feed_is_made_of_its_fields(parser):
    page = parser.Page()
    assert page.page() is None
    page.link, page.description = f"{H}/p", "D"
    assert page.page().news_story.title == "D"
    page.title, page.publication_date = "T", "Mon, 06 May 2024 07:08:09 GMT"
    story = page.page().news_story
    assert (story.title, str(story.publish_date)) == ("T", "2024-05-06 07:08:09+00:00")

"""Whatever ends a line is a line feed to every lane, wherever a comment or a chunk parts it."""

from __future__ import annotations

from formats_support import halves, read

from together import together

TITLES = {
    "a\r\nb": "a\nb",
    "a\rb": "a\nb",
    "a\n\rb": "a\n\nb",
    "a\r<!-- c -->\nb": "a\n\nb",
    "a\r<?x?>\nb": "a\n\nb",
    "a<![CDATA[\r]]>\nb": "a\n\nb",
    "a<![CDATA[\r\n]]>b": "a\nb",
    "a&#13;&#10;b": "a\r\nb",
}


def document(title):
    return (
        "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'"
        " xmlns:n='http://www.google.com/schemas/sitemap-news/0.9'>\r\n<url>\r\n"
        f"<loc>\rhttps://x.org/1\r\n</loc><n:news><n:title>{title}</n:title>"
        "<n:publication_date>2025-01-01</n:publication_date></n:news></url></urlset>"
    ).encode()


@together("lanes", [None, True, "fast"])
@together("title", TITLES)
def test_every_lane_reads_the_same_line_ends(title, lanes):
    data = document(title)
    for pieces in ([data], *(halves(data, at) for at in range(1, len(data)))):
        (page,) = read(pieces, lanes=lanes).pages
        assert page.url == "https://x.org/1"
        assert page.news_story.title == TITLES[title]

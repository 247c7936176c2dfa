"""Links to other languages are cut out of entries only where a reading tag by tag finds the same."""

from __future__ import annotations

from formats_support import SITEMAP, read

from together import together

XHTML = "http://www.w3.org/1999/xhtml"
IMAGES = "http://www.google.com/schemas/sitemap-image/1.1"
LINK = '<xhtml:link rel="alternate" hreflang="{}" href="https://e.org/{}"/>'
DE, FR = LINK.format("de", "de"), LINK.format("fr", "fr")
LOC = "<loc>https://e.org/1</loc>"
IMAGE = "<image:image><image:loc>https://e.org/i.png</image:loc></image:image>"

ENTRIES = {
    "usual": f"{LOC}\n  {DE}\n  {FR}\n",
    "after a date": f"{LOC}<lastmod>2024-05-06</lastmod>{DE}",
    "with an image after them": f"{LOC}{DE}{FR}{IMAGE}",
    "with an image before them": f"{LOC}{IMAGE}{DE}",
    "inside an image": f"{LOC}<image:image><image:loc>https://e.org/i.png</image:loc>{DE}</image:image>",
    "before the loc": f"{DE}{LOC}",
    "on both sides": f"{DE}{LOC}{FR}",
    "in a comment": f"{LOC}<!-- </loc>{DE} -->",
    "in CDATA": f"<loc><![CDATA[https://e.org/1]]></loc>{DE}<lastmod><![CDATA[</loc>{DE}]]></lastmod>",
    "inside a loc": f"<loc>https://e.org/1{DE}</loc>",
    "inside an unknown element": f"{LOC}<x:y>{LOC}{DE}</x:y>",
    "with text between them": f"{LOC}{DE} and {FR}",
    "without a language": f'{LOC}<xhtml:link rel="alternate" href="https://e.org/de"/>',
    "of other kinds": f'{LOC}{DE}<xhtml:link rel="canonical" href="https://e.org/c"/>',
    "relative": f"{LOC}{DE}{FR.replace('https://e.org', '')}",
    "with references": f"{LOC}{LINK.format('de', '?a=1&amp;b=2')}",
    "with references of references": f"{LOC}{LINK.format('de', '?a=1&amp;amp;b&amp;#61;2')}",
    "with other references": f"{LOC}{LINK.format('de', '?a&#61;1&amp;b&eacute;')}",
    "with bare ampersands": f"{LOC}{LINK.format('de', '?a=1&b=2')}",
    "with blanks": f"{LOC}{LINK.format('de', 'a b')}",
    "with a bad date": f"{LOC}<lastmod>soon</lastmod>{DE}",
    "with a bad loc": f"<loc>mailto:me</loc>{DE}",
    "not closed": f"{LOC}{DE.replace('/>', '>')}",
    "with two locs": f"{LOC}<loc>https://e.org/2</loc>{DE}",
}


def document(*entries: str, links: str = XHTML) -> bytes:
    """Return a sitemap, in which unusual entries are among usual ones."""
    usual = f"<url>{ENTRIES['usual']}</url>\n"
    body = "".join(f"{usual * 3}<url>{entry}</url>\n" for entry in entries)
    spaces = f'xmlns="{SITEMAP}" xmlns:xhtml="{links}" xmlns:image="{IMAGES}" xmlns:x="urn:x"'
    return f'<?xml version="1.0"?>\n<urlset {spaces}>\n{body}{usual}</urlset>\n'.encode()


@together("name", ENTRIES)
@together("lanes", [True, "fast"])
def test_links_are_read_as_tag_by_tag(name, lanes):
    data = document(ENTRIES[name])
    whole, quick = read([data]), read([data], lanes=lanes)
    assert quick.pages == whole.pages
    if lanes is True:
        assert quick.problems == whole.problems


def test_a_prefix_that_means_something_else_has_no_links():
    data = document(ENTRIES["usual"], links="urn:other")
    assert read([data], lanes=True) == read([data])
    assert all(page.alternates is None for page in read([data], lanes=True).pages)

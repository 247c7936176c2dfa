"""Entries with extensions are read alike, whatever their texts are and whatever was read before them."""

from formats_oracle import SPACES
from formats_support import URL, chunks, read

from together import together
from usp._formats.abstract_parser import PageBatch
from usp._formats.document import DocumentParser
from usp._formats.xml.tree_reader import TreeReader
from usp.objects.page import fields_of

SHORT = "".join(f' xmlns:{name[0]}="{uri}"' for name, uri in SPACES.items())
ROOT = f'<urlset xmlns="{SPACES["s"]}"{SHORT} xmlns:xhtml="{SPACES["xhtml"]}" xmlns:o="urn:o">'
LINK = '<xhtml:link rel="alternate" hreflang="%s" href="%s"/>'
DE, FR, OWN = LINK % ("de", "/1"), LINK % ("fr", "/2"), LINK % ("de", "/{n}")
PLAIN = LINK % ("de", "https://e.org/{n}")
LINKS = {
    "usual": LINK % ("de", "https://e.org/de/{n}") + "\n" + LINK % ("fr", "https://e.org/fr/{n}"),
    "references": LINK % ("de", "https://e.org/?a&amp;b&#38;{n}") + LINK % ("x", "/é&eacute;{n}"),
    "blanks": LINK % (" de ", " https://e.org/{n}\n ") + LINK % ("en", "https://e.org/a\tb/{n}"),
    "empty": LINK % ("", "https://e.org/{n}") + LINK % ("de", ""),
    "single quotes": "<x:link rel='alternate' hreflang='de' href='https://e.org/{n}' />",
    "address first": '<xhtml:link href="https://e.org/{n}" hreflang="de" rel="alternate"/>' * 2,
    "two tags": PLAIN.replace("/>", "></xhtml:link>") * 3,
    "of media": '<xhtml:link rel="alternate" media="handheld" href="https://m.e.org/{n}"/>',
    "of another kind": PLAIN.replace("alternate", "canonical"),
    "two ways": f"{PLAIN}<x:link rel='alternate' hreflang='fr' href='/f'/>",
    "a field between": f"{DE}<lastmod>2024-01-0{{d}}</lastmod>{FR}",
    "a comment between": f"{DE}<!-- {LINK % ('en', '/')}-->{FR}",
    "greater": LINK % ("de", "https://e.org/a>b") + LINK % ("fr", "https://e.org/{n}>"),
    "a quote": PLAIN.replace('"/>', "/>") + LINK % ("a", "/b"),
    "a control character": LINK % ("de", "https://e.org/\x01{n}"),
    "after an image": f"<i:image><i:loc>/{{n}}</i:loc></i:image>{OWN}",
    "before an image": f"{OWN}<i:image><i:loc>/{{n}}</i:loc></i:image>",
    "inside an image": f"<i:image><i:loc>/{{n}}</i:loc>{DE}</i:image>",
    "before the loc": f"{DE}<loc>/{{n}}</loc>",
    "on both sides of it": f"{DE}<loc>/{{n}}</loc>{FR}",
    "inside it": f"<loc>https://e.org/{{n}}{DE}</loc>",
    "in a comment": f"<!-- </loc>{DE} -->",
    "in CDATA": f"<lastmod><![CDATA[</loc>{DE}]]></lastmod>",
    "inside an element": f"<o:b><loc>/{{n}}/o</loc>{DE}</o:b>",
    "words between": f"{DE} and {FR}",
    "no language": '<xhtml:link rel="alternate" href="https://e.org/de"/>',
    "references of references": LINK % ("de", "/?a=1&amp;amp;b&amp;#61;2"),
    "bare ampersands": LINK % ("de", "/?a=1&b=2"),
    "after a bad date": f"<lastmod>soon</lastmod>{DE}",
    "after a bad loc": f"<loc>mailto:me</loc>{DE}",
    "not closed": OWN.replace("/>", ">"),
    "two locs": f"<loc>/{{n}}</loc><loc>/{{n}}/2</loc>{DE}",
    "in another namespace": PLAIN.replace("xhtml:", "o:"),
    "in a text": f"<i:image><i:loc>/{{n}}</i:loc><i:title>a{DE}b</i:title></i:image>",
}
FIELDS = {
    "lastmod": "<lastmod> 2024-01-0{d}T00:{d}0:00Z\n</lastmod><priority>0.{d}</priority>",
    "lastmod twice": "<lastmod>2024-01-0{d}</lastmod><lastmod>2023-01-0{d}</lastmod>",
    "lastmod with a reference": "<lastmod>2024&#45;01-0{d}</lastmod><changefreq>Daily</changefreq>",
    "unreadable": "<lastmod>never {n}</lastmod><changefreq>rarely</changefreq><priority>9</priority>",
    "inside": "<o:b><lastmod>2024-01-0{d}</lastmod></o:b>",
    "image": "<i:image>\n<i:loc>/{n}.png?a&amp;b</i:loc><i:title>A &lt; B {n}</i:title></i:image>",
    "images": "<i:image><i:loc>https://e.org/{n}/1</i:loc></i:image>"
    "<i:image><i:loc>  </i:loc></i:image><i:image><i:caption/><i:loc>/{n}/2</i:loc></i:image>",
    "image with attributes": '<i:image a="{d}"><i:loc>/{n}</i:loc><i:license b="">/l</i:license></i:image>',
    "news": "<n:news><n:publication><n:name>N &#8211; {d}</n:name><n:language>en</n:language>"
    "</n:publication><n:publication_date>2024-01-0{d}</n:publication_date><n:title>T&amp;amp;{n}</n:title>"
    "<n:keywords>a, b,, {d}</n:keywords></n:news>",
    "news without a date": "<n:news><n:title>T</n:title></n:news>",
    "video": "<v:video><v:title>T {n}</v:title><v:duration>{d}</v:duration><v:tag>a</v:tag><v:tag>{n}</v:tag>"
    '<v:player_loc allow_embed="yes">/p</v:player_loc><v:uploader info="/u">U</v:uploader></v:video>',
    "cdata": "<i:image><i:loc><![CDATA[/{n}?a&b]]></i:loc><i:title><![CDATA[<b>{n}</b>]]></i:title></i:image>",
    "markup": "<i:image><i:loc>/{n}</i:loc><i:title>a <b>c</b> {n}</i:title></i:image>",
    "controls": "<i:image><i:loc>/{n}</i:loc><i:title>a\x02b\tc{n}</i:title></i:image>",
    "text between": "<i:image>\n<i:loc>/{n}</i:loc></i:image> and {n}<priority>0.{d}</priority>",
    "empty elements": "<i:image><i:loc>/{n}</i:loc><i:title/> <i:caption></i:caption></i:image><lastmod/>",
    "empty and not": "<lastmod/><i:image><i:title>a</i:title><i:title/><i:loc>/{n}</i:loc></i:image>"
    "<lastmod>2024-01-0{d}</lastmod><changefreq/>",
    "twice in an image": "<i:image><i:loc>/{n}</i:loc><i:title>a{n}</i:title><i:title>b</i:title></i:image>",
    "two dates": "<n:news><n:publication_date>soon</n:publication_date><n:title>T</n:title>"
    "<n:publication_date>2024-01-0{d}</n:publication_date></n:news>",
    "plain video": "<v:video><v:title>T {n}</v:title><v:duration>{n}</v:duration><v:live>no</v:live>"
    "<v:platform>web tv</v:platform><v:thumbnail_loc>/t{n}</v:thumbnail_loc></v:video>",
    "bad video": "<v:video><v:title>T {n}</v:title><v:duration>long</v:duration></v:video>",
    "end of CDATA": "<i:image><i:loc>/{n}</i:loc><i:title>a ]]> b</i:title></i:image>",
    "mobile": "<m:mobile/><lastmod>2024-01-0{d}</lastmod>",
    "mobile, long": "<m:mobile > </m:mobile><priority>0.{d}</priority>",
    "mobile with more": "<m:mobile>{n}</m:mobile><m:mobile a='{d}'/><m:mobile/>",
    "tags that never repeat": "<o:b n='{n}'><o:c/></o:b><i:image><i:loc>/{n}</i:loc></i:image>",
    "price": '<v:video><v:title>T</v:title><v:price currency="EUR"> 1.{d}&amp;\n</v:price></v:video>',
    "prices": '<v:video><v:price currency="EUR">{n}</v:price><v:title>T</v:title>'
    '<v:price currency="USD">{d}</v:price></v:video>',
    "empty prices": "<v:video><v:title>T</v:title><v:price/></v:video>"
    '<v:video><v:price type="rent" /><v:title>T</v:title></v:video>',
    "empty show": "<v:video><v:title>T</v:title><v:tvshow><v:show_title/></v:tvshow></v:video>",
    "half a reference": "<i:image><i:loc>/{n}?a&b</i:loc><i:title>R&D; &</i:title></i:image>",
}
KINDS = {**LINKS, **FIELDS}

LOOKS = {
    "all fields": lambda page, _: fields_of(page),
    "lastmod": lambda page, _: page.last_modified,
    "images, then lastmod": lambda page, _: (page.images, page.last_modified),
    "lastmod, then links": lambda page, _: (page.last_modified, page.alternates),
    "some of them": lambda page, n: n % 20 < 8 and page.images,
    "the last ones": lambda page, n: n > 40 and page.to_dict(),
}


def document(kinds, count=60):
    """Give a document whose entries are of some kinds, in turn."""
    entries = []
    for n in range(count):
        inside = KINDS[kinds[n % len(kinds)]].replace("{n}", str(n)).replace("{d}", str(1 + n % 9))
        loc = "" if "<loc>" in inside else f"<loc>https://e.org/{n}</loc>"
        entries.append(f"<url>\n {loc}\n {inside}\n</url>\n")
    return f"{ROOT}{''.join(entries)}</urlset>".encode()


def looked_at(data, look):
    """Read a document piece by piece, and look at each page before the next piece is read."""
    parser = DocumentParser(URL, fast=True)
    pages = []

    def take(entries):
        for entry in entries:
            for page in entry.pages() if isinstance(entry, PageBatch) else (entry.page(),):
                look(page, len(pages))
                pages.append(page)

    for piece in chunks(data, 1500):
        take(parser.feed(piece))
    take(parser.close())
    return pages


@together("kind", KINDS)
def test_pages_that_were_looked_at_are_those_that_the_scanner_gives(kind):
    data = document([kind])
    whole = read([data]).pages
    expected = [page.to_dict() for page in whole]
    for look in LOOKS.values():
        assert [page.to_dict() for page in looked_at(data, look)] == expected
    assert kind != "in another namespace" or not any(page.alternates for page in whole)


@together("kind", KINDS)
def test_so_are_their_problems_among_others(kind):
    data = document([kind, "image", kind, "usual"], 40)
    whole = read([data])
    assert read([data], lanes=True) == whole
    found = looked_at(data, LOOKS["all fields"])
    assert [page.to_dict() for page in found] == [page.to_dict() for page in whole.pages]


@together("kind", ["usual", "image", "news", "plain video", "mobile", "empty elements"])
def test_entries_without_problems_are_not_read_one_by_one(kind, monkeypatch):
    parsed = []
    parse = TreeReader.parse
    monkeypatch.setattr(TreeReader, "parse", lambda *given: parsed.append(given) or parse(*given))
    parser = DocumentParser(URL)
    entries = [*parser.feed(document([kind], 400)), *parser.close()]
    assert not parser.problems.listed()
    assert sum(len(entry.urls) for entry in entries) == 400
    assert len(parsed) <= 20  # blocks of entries, not entries

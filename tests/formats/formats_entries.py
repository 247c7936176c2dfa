"""Generated documents by their entries: urlsets, indexes and feeds, written in all kinds of ways."""

from formats_oracle import PREFIXES, SPACES
from formats_strategies import E, one_of, rarely, repeated
from hypothesis import strategies as st

SITEMAP = SPACES["s"]

# What stands in entries, between them and around their texts --------------------------------------

ATTRIBUTES = rarely(
    *(" ", "\n", " a='1'", ' xml:lang="en" ', " a='1' b='2'", " xml:base='/b/'", " a=1", " a"),
    *(f" xmlns='{SITEMAP}'", " xmlns='urn:x'", " a='&amp;'", "/"),
)
ENTRY_ATTRIBUTES = one_of(
    *("", "", "", " xml:base='/b/'", " xml:lang='en'", " rdf:about='/a'", " xmlns='urn:x'", " a=1"),
)
ENDS = rarely(" ", "\n", " a")
GAPS = one_of(
    *("", "", "", "\n", "\n ", "\r\n  ", " \t", "\x0b", "\xa0", "word", "<!-- c -->", "<b/>"),
    *("&#1", "&#160;", "&#32;", "&#x9;", "\n&#10; &#x000A0;", "&#8195;", "&#65279;", "&nbsp;"),
    *("&#0;", "&#160;w", "<![CDATA[ ]]>"),
)
BETWEEN = rarely(
    *("\n", "<!-- c -->", "<!--c-d-->\n<!-- e -->", "<!-- a -- b -->", "<!--->", "<!-->"),
    *("<!-- <url><loc>https://e.org/no</loc></url> -->", "<!-- \x01 -->", "<?p i?>", "word"),
    *("<url/>", "<url></url>", "<url a='</url>'>", "<loc>", "</url>", "</urlset>", "<!--"),
    *("<url>/27</url>", "<url href='/28'/>", "<url><lastmod>2024</lastmod>/29</url>", "</url#>"),
    *("<url><loc>https://e.org/19</loc><lastmod>2024", "<url><loc>https://e.org/20</loc>"),
    *("<url><loc>https://e.org/32</loc></url#><url,>/33</url>", "<o xmlns:i='urn:o'>", "</o>"),
)
ADDRESSES = one_of(
    *("https://e.org/{n}", "https://e.org/{n}", "\n https://e.org/{n}\n", "https://e.org/{n} "),
    *("<![CDATA[https://e.org/{n}]]>", "<![CDATA[ https://e.org/{n}?a&b&amp;c\n]]>", "/{n}"),
    *("/a/{n}/", "<![CDATA[/{n}]]>", "<![CDATA[https://e.org/{n}", "https://e.org/{n}]]>"),
    *("//e.org/{n}", "{n}", "https://e.org/{n}?a&amp;b", "https://e.org/\u00e4/{n}"),
    *("/{n}?a&amp;b", "/{n}?a&#38;b", "/../{n}", "https://e.org/<b>{n}</b>", "HTTP://e.org/{n}"),
    *("<![CDATA[https://e.org/<{n}>]]>", "https://e.org/{n}<![CDATA[x]]>", "https://u:p@e.org/{n}"),
    *("https://e.org/{n}&#47;", "https://e.org/{n};&amp;amp;", "https:// e.org/{n}", "/{n} /"),
    *("https://e.org/é&#38;&eacute;{n}", "https://e.org/a b{n}", "https://[::1]/{n}"),
    *("https://\u043f.example/{n}", "https://e.org/{n}\x0b", "<![CDATA[https://e.org/{n}\x08]]>"),
)
VALUES = one_of(
    *("2024", "2024-01-0{n}", "2999", "daily", "Hourly", "0.3", "2", "&#48;.2", "x"),
    *(" 2024-01-02 ", "<![CDATA[2024]]>", "<![CDATA[0.3", "0.3]]>", "\n0.3\n", "", " \n"),
    *(" &#32;2024", "x" * 101),
)
OTHERS = one_of(
    *("<loc><loc>", "<image:image><image:loc>/{n}.jpg</image:loc>", "<image:image><image:image/>"),
    "<image:image><image:loc>/{n}.jpg</image:image>",
    *("<image:image><lastmod>2023</lastmod></image:image>", "<b><lastmod>2024</lastmod></b>"),
    *("<image:image><sm:lastmod>2023</sm:lastmod></image:image>", "<lastmod.x>2022</lastmod.x>"),
    *("<lastmod type='x'>2022</lastmod>", "<mobile:mobile/>", "<lastmod>2024", "<loc#>/31</loc>"),
    '<xhtml:link rel="alternate" hreflang="de" href="/de/{n}">',
    '<xhtml:link rel="alternate" hreflang="de>" href="/de/{n}/>"/>',
    *("<news:news><news:title>A &amp; B</news:title></news:news >", "<news:news a='1' b=\"2\" />"),
    *("<other>word</other>word", "</other>", "</urlset>", "<loc:a/><loc-b/><!-- --><url.c/>"),
    *("<!-- </url> --><lastmod>2023</lastmod>", "/{n}", "&#160;{n}", "<url>"),
)

# Tags in any order --------------------------------------------------------------------------------

ANY_ROOTS = (
    *("<urlset>", "<sitemapindex>", "<rss>", "<feed>", "<URLSET>", f"<urlset xmlns='{SITEMAP}'>"),
    *(f"<x:urlset xmlns:x='{SITEMAP}'>", f"<x:sitemapindex xmlns:x='{SITEMAP}'>"),
)
ANY_NAMES = (
    *("urlset", "sitemapindex", "url", "sitemap", "loc", "lastmod", "priority", "x:url", "x:loc"),
    *("image:image", "image:loc", "image:title", "news:news", "news:title", "video:video", "URL"),
    *("xhtml:link", "rss", "channel", "item", "link", "title", "guid", "dc:date", "pubDate"),
    *("feed", "entry", "updated", "b"),
)
ANY_ATTRIBUTES = (
    *("", "", "", "", " xml:base='/q/'", " xmlns='u:other'", f" xmlns:x='{SITEMAP}'"),
    *(" xml:lang='de'", " href='/7'", " rel='alternate' hreflang='de' href='/8'"),
    *(f" xmlns='{SITEMAP}'", " a='<'"),
)
ANY_TEXTS = (
    *(f"{E}/1", f"{E}/2?a&b", "/3", "2024-05-06", "words", " ", "\n", "<!-- c -->"),
    *("<!-- <url> -->", f"<![CDATA[{E}/4]]>", "<?p?>", "<", "&", "\0"),
    *(f"<url><loc>{E}/5</loc></url>", f"<sitemap><loc>{E}/6.xml</loc></sitemap>"),
    f"<loc>{E}/7</loc>",
)


def tags_in_any_order(chance):
    """Write a document of tags that begin, end and close themselves in no order at all."""
    names = chance.sample(ANY_NAMES, chance.randint(1, len(ANY_NAMES)))
    text = chance.choice(ANY_ROOTS)
    for _ in range(chance.randint(1, 25)):
        name = chance.choice(names)
        attributes = chance.choice(ANY_ATTRIBUTES)
        forms = (f"<{name}{attributes}>", f"</{name}>", f"<{name}{attributes}/>")
        inside = chance.choice(ANY_TEXTS)
        text += chance.choice((*forms, inside, f"<{name}{attributes}>{inside}</{name}>"))
    return text


TAGS_IN_ANY_ORDER = st.randoms().map(tags_in_any_order)


# Elements with prefixes declared anywhere ---------------------------------------------------------

PREFIX = {  # how it is written, and what it means
    "image": (("image", "IMAGE", "Image"), SPACES["image"]),
    "i": (("i", "I"), SPACES["image"]),
    "sm": (("sm", "SM", "Sm"), SITEMAP),
    "news": (("news", "NEWS"), SPACES["news"]),
    "xhtml": (("xhtml", "XHTML"), SPACES["xhtml"]),
    "o": (("o", "O"), "urn:other"),
    "": (("",), SITEMAP),
}
SELF = [*[""] * 25, "sm", "o"]


@st.composite
def declarations(draw, *, most=2):
    """Declare prefixes, some in capitals, and some as what they usually are not."""
    written = ""
    for prefix in draw(st.lists(st.sampled_from(list(PREFIX)), max_size=most, unique=True)):
        name = draw(st.sampled_from(PREFIX[prefix][0]))
        _, uri = PREFIX[draw(st.sampled_from([prefix, prefix, prefix, *PREFIX]))]
        written += f' xmlns{":" if name else ""}{name}="{uri}"'
    return written


@st.composite
def named(draw, prefixes, local, inside, attributes=ATTRIBUTES):
    """Write an element; its tags may declare prefixes, and write their own in another case."""
    prefix = draw(st.sampled_from([name for one in prefixes for name in PREFIX[one][0]]))
    name = f"{prefix}:{local}" if prefix else local
    declared = draw(declarations()) if draw(st.integers(0, 5)) == 0 else ""
    tag = f"{name}{declared}{draw(attributes)}"
    return f"<{tag}/>" if inside is None else f"<{tag}>{draw(inside)}</{name}{draw(ENDS)}>"


def own(names, texts):
    """Write elements of the protocol, or of a feed."""
    return st.sampled_from(names.split()).flatmap(lambda name: named(SELF, name, texts))


IMAGES = named(["image", "i"], "image", named(["image", "i"], "loc", one_of("/{n}.png", E)))
LINK = ' rel="alternate" hreflang="de" href="https://e.org/{n}"'
LINKS = named(["xhtml"], "link", None, one_of(LINK))
LOCS = own("loc", ADDRESSES)
FIELDS = own("lastmod changefreq priority other loc", VALUES)
FIELDS |= LOCS | IMAGES | LINKS | OTHERS

# Feeds --------------------------------------------------------------------------------------------

RSS = (
    '<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
    ' xmlns:media="http://search.yahoo.com/mrss/" xmlns:atom="http://www.w3.org/2005/Atom"'
    ' xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>C</title>%s'
    "</channel></rss>"
)
RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
    ' xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">%s</rdf:RDF>'
)
ATOM = '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:media="http://search.yahoo.com/mrss/">%s</feed>'
CHILDREN = [
    *("<title>T</title>", "<title> U &amp; &amp;lt; &#8217;\n</title>", "<title/>"),
    *("<title></title>", "<title><![CDATA[V & <w>]]></title>", "<title>a&am<![CDATA[p;]]></title>"),
    *("<title>&nbsp;</title>", "<title>W\0X</title>", "<title xmlns='urn:x'>no</title>"),
    *("<title>a<b>c</b></title>", f"<title>{'long ' * 200}</title>"),
    *(f"<title>t <![CDATA[{'long ' * 200}]]></title>", "<link>https://e.org/1</link>"),
    *("<link> https://e.org/2 </link>", "<link>/3</link>", "<link/>", "<link>mailto:x</link>"),
    *("<link>https://e.org/4?a&amp;b&amp;amp;c</link>", "<link>"),
    *(f"<link>https://e.org/5 <![CDATA[{'x' * 600}]]></link>", '<link href="https://e.org/6"/>'),
    *('<link rel="self" href="https://e.org/7"/>', '<link rel="ALTERNATE" href="/8"/>'),
    "<link rel='alternate' href='/9'></link>",
    '<link rel="http://www.iana.org/assignments/relation/alternate" href="/10"/>',
    *('<link rel="self" rel="alternate" href="/11"/>', '<link href="/12" xml:base="/b/"/>'),
    *('<link title="rel=" hreflang="en" href="/13&#x26;a&lt;"/>', '<link rel="" href="/14"/>'),
    *('<atom:link href="/15"/>', "<guid>https://e.org/16</guid>", "<id>https://e.org/17</id>"),
    *("<guid isPermaLink='false'>https://e.org/18</guid>", "/19", "words"),
    *("<pubDate>Tue, 02 Jan 2024 03:04:05 GMT</pubDate>", "<pubDate>never</pubDate>", "<pubDate/>"),
    *("<dc:date>2024-01-03</dc:date>", "<o><dc:date>2024-01-04</dc:date></o>", "<date>2024</date>"),
    "<x:date xmlns:x='http://purl.org/dc/elements/1.1/'>2024-01-05</x:date>",
    *("<x:date>no</x:date>", "<published>2024-01-06T07:08:09Z</published>"),
    *("<updated>2024-01-07</updated>", "<updated> 2024-01-08&#32;</updated>"),
    *(f"<updated>2024{' ' * 200}</updated>", "<description>d</description>"),
    *("<description><p>a</p></description>", "<summary>s</summary>"),
    *("<description><guid>x</description>", "<description><title>no</title></description>"),
    *("<description><o></description>", "<content><title>no</title></content>", "<content>"),
    *("<content><![CDATA[<title>no</title></item></entry>]]></content>", "</content>"),
    *("<![CDATA[x]]>", "<o><item></o>", "<o></item></o>", "<o></channel></o>", "<o></feed></o>"),
    *("<o><entry></o>", "<o a='>'>x</o>", '<o a="</o>">x</o>', "<o><!-- </o> --></o>"),
    *("<!-- c -->", "<?p i?>", "<o", "<o></o x>", "<oo><o></oo>", "<o><oo></o></oo></o>"),
    *("<media:title>no</media:title>", "< >"),
    "<o xmlns:media='http://www.w3.org/2005/Atom'><media:updated>2020</media:updated></o>",
    *("</o>", "<source><title>no</title><link href='/no'/><updated>2020</updated></source>"),
    *("<o/><o />", "<o xml:base='/b/'>x</o>", f"<content xml:base='/{'x' * 9000}'>c</content>"),
    *("<title\u00d7>no</title\u00d7>", "<o\u00a0p:title>no</o\u00a0p:title>"),
]
TEXTS = one_of(
    *("T {n}", "&#160;", "<b>T</b>", "https://e.org/{n}", "https://e.org/a{n}", "x", "2024"),
    *("Thu, 05 Jan 2017 12:34:51 GMT", "2024-01-02T03:04:05Z"),
)
NEWS = own("title link guid id pubDate date updated published", TEXTS) | IMAGES | one_of(*CHILDREN)
GOOD = {
    "item": "<title>T{n}</title><link>https://e.org/g{n}</link><pubDate>2024-01-02</pubDate>",
    "entry": '<title>T{n}</title><link href="https://e.org/g{n}"/><updated>2024-01-02</updated>',
}

# Documents ----------------------------------------------------------------------------------------


@st.composite
def runs(draw, name, good, children):
    """Draw an entry and how often it stands there; what makes it one may be anywhere in it."""
    inside = draw(st.lists(children, max_size=4))
    if draw(st.booleans()):
        inside.insert(draw(st.integers(0, len(inside))), draw(good))
    texts = st.just(draw(GAPS).join(["", *inside, ""]))
    entry = draw(named([*[""] * 25, "sm"], name, texts, ENTRY_ATTRIBUTES))
    return draw(BETWEEN) + entry + draw(GAPS), draw(st.integers(1, 8))


def _documents(roots, name, good, children):
    """Write documents with runs of entries, each of one shape: what is learned from one is tried."""
    entries = st.lists(runs(name, good, children), max_size=4).map(repeated)
    return st.builds(lambda root, text: root.replace("%s", text), roots, entries)


def _sitemap(root, name):
    spaces = f' xmlns="{SITEMAP}" xmlns:sm="{SITEMAP}" {PREFIXES}'
    declared = one_of("", spaces, spaces, ' xml:base="https://base.example/x/"')
    roots = (declared | declarations(most=5)).map(lambda given: f"<{root}{given}>%s</{root}>")
    return _documents(roots, name, LOCS, FIELDS)


def _feed(root, name):
    return _documents(st.just(root), name, st.just(GOOD[name]), NEWS)


ENTRIES = {  # and how many are tried
    "urlset": (_sitemap("urlset", "url"), 1600),
    "index": (_sitemap("sitemapindex", "sitemap"), 200),
    "RSS 2.0": (_feed(RSS, "item"), 300),
    "RSS 1.0": (_feed(RDF, "item"), 300),
    "Atom": (_feed(ATOM, "entry"), 300),
    "items in Atom": (_feed(ATOM, "item"), 200),
    "entries in RSS": (_feed(RSS, "entry"), 300),
    "tags in any order": (TAGS_IN_ANY_ORDER, 2000),
}

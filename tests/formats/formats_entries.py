"""Generated documents by their entries: urlsets, indexes and feeds, written in all kinds of ways."""

from __future__ import annotations

from formats_oracle import PREFIXES, SPACES
from formats_strategies import E, one_of, repeated
from hypothesis import strategies as st

# Entries of urlsets -------------------------------------------------------------------------------

REGULAR = [
    *("<url><loc>https://e.org/1</loc></url>", "<url>\n<loc> https://e.org/2 </loc>\n</url>\n"),
    *("<url><loc>https://e.org/3</loc><lastmod>2024-01-02</lastmod></url>", "\n"),
    "<url><loc>https://e.org/4</loc><priority>0.3</priority><priority>x</priority></url>",
    "<url><loc>https://e.org/5</loc><lastmod>2024</lastmod><changefreq>Daily</changefreq></url>",
    "<url><loc>https://e.org/?a&amp;b</loc></url>",
    "<url><loc>https://e.org/é&#38;&eacute;</loc></url>",
    *("<url><loc><![CDATA[https://e.org/6?a&b]]></loc></url>", "<!-- <url><loc>no</loc></url> -->"),
    *("<url><lastmod>2024</lastmod><loc>https://e.org/7</loc></url>", "<url><loc>/8</loc></url>"),
    *("<url><loc>https://e.org/9</loc><loc>https://e.org/10</loc></url>", "<url/>", "<url></url>"),
    '<url><loc>https://e.org/11</loc><xhtml:link rel="alternate" hreflang="de" href="/de"/></url>',
    "<url><loc>https://e.org/12</loc><image:image><image:loc>/i</image:loc></image:image></url>",
    *("<url><loc>https://e.org/13</loc><b><lastmod>2024</lastmod></b></url>", "<url a='</url>'>"),
    *("<url><loc>https://e.org/14</loc><!-- </url> --><lastmod>2023</lastmod></url>", "words"),
    *("<url><loc>https://u:p@e.org/15</loc></url>", "<url><loc>HTTP://e.org/16</loc></url>"),
    *("<url><loc>https://e.org/a b</loc></url>", "<url><loc>https://[::1]/</loc></url>", "<loc>"),
    "<url><loc>https://e.org/17</loc><news:news><news:title>T</news:title></news:news></url>",
    *("<url><loc>https://e.org/18</loc><lastmod><![CDATA[2024]]></lastmod></url>", "</urlset>"),
    *("<url><loc>https://e.org/19</loc><lastmod>2024", "<url><loc>https://e.org/20</loc>"),
    *("</url>", "<url><loc>https://\u043f.example/21</loc></url>"),
    "<url><loc>https://e.org/22\x0b</loc></url>",
    "<sm:url><sm:loc>https://e.org/23</sm:loc></sm:url>",
    "<url><sm:loc>https://e.org/24</sm:loc></url>",
    "<url><loc>https://e.org/25</loc><priority>&#48;.2</priority><lastmod> \n</lastmod></url>",
    *("<!--", "<url><loc><![CDATA[https://e.org/26\x08]]></loc></url>", "<url>/27</url>"),
    *("<url href='/28'/>", "<url><lastmod>2024</lastmod>/29</url>"),
    "<url><loc>https://e.org/30</loc><loc#>https://e.org/31</loc></url>",
    "<url><loc>https://e.org/32</loc></url#><url,>/33</url>",
    "<url><loc>https://e.org/34</loc><loc:a/><loc-b/><!-- --><url.c/></url>",
]
ROOTS = [
    "<urlset>",
    f'<urlset xmlns="{SPACES["s"]}" {PREFIXES}>',
    f'<urlset xmlns="{SPACES["s"]}" xmlns:sm="{SPACES["s"]}">',
    '<urlset xml:base="https://base.example/x/">',
]
ENTRIES = st.lists(st.sampled_from(REGULAR), max_size=12).map("".join)


TAGS = one_of(
    *("", "", " ", "\n", " a='1'", ' xml:lang="en" ', " a='1' b='2'", " xml:base='/b/'", " a=1"),
    *(" a", " xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'", " a='&amp;'", "/"),
)
GAPS = st.sampled_from(
    ["", "", "\n", "\r\n  ", " \t", "\x0b", "\xa0", "word", "<!-- c -->", "<b/>"]
)
BETWEEN = one_of(
    *("", "", "\n", "<!-- c -->", "<!--c-d-->\n<!-- e -->", "<!-- a -- b -->", "<!--->", "<!-->"),
    *("<!-- <url><loc>https://e.org/no</loc></url> -->", "<!-- \x01 -->", "<?p i?>", "word"),
)
ADDRESSES = one_of(
    *("https://e.org/{n}", "https://e.org/{n}", "\n https://e.org/{n}\n", "https://e.org/{n} "),
    *("<![CDATA[https://e.org/{n}]]>", "<![CDATA[ https://e.org/{n}?a&b&amp;c\n]]>", "/{n}"),
    *("/a/{n}/", "<![CDATA[/{n}]]>", "<![CDATA[https://e.org/{n}", "https://e.org/{n}]]>"),
    *("//e.org/{n}", "{n}", "https://e.org/{n}?a&amp;b", "https://e.org/\u00e4/{n}"),
    *("/{n}?a&amp;b", "/{n}?a&#38;b", "/../{n}", "https://e.org/<b>{n}</b>"),
    *("<![CDATA[https://e.org/<{n}>]]>", "https://e.org/{n}<![CDATA[x]]>"),
    *("https://e.org/{n}&#47;", "https://e.org/{n};&amp;amp;", "https:// e.org/{n}", "/{n} /"),
)
VALUES = one_of(
    *("2024", "daily", "Hourly", "2", "&#48;.2", "x", " 2024-01-02 ", "<![CDATA[2024]]>"),
    *("<![CDATA[0.3", "0.3]]>", "\n0.3\n", "", "x" * 101),
)
NAMES = ["lastmod", "changefreq", "priority", "other", "loc"]
FIELD = st.builds("<{0}>{1}</{0}>".format, st.sampled_from(NAMES), VALUES)
OTHERS = one_of(
    "<image:image><image:loc>/{n}.jpg</image:loc></image:image>",
    "<image:image><image:loc>/{n}.jpg</image:loc>",
    "<image:image><image:loc>/{n}.jpg</image:image>",
    "<image:image><image:image/></image:image>",
    "<image:image><lastmod>2023</lastmod></image:image>",
    *("<image:image><sm:lastmod>2023</sm:lastmod></image:image>", "<sm:lastmod>2022</sm:lastmod>"),
    *("<lastmod.x>2022</lastmod.x>", "<lastmod type='x'>2022</lastmod>", "<mobile:mobile/>"),
    '<xhtml:link rel="alternate" hreflang="de" href="/de/{n}"/>',
    '<xhtml:link rel="alternate" hreflang="de" href="/de/{n}">',
    '<xhtml:link rel="alternate" hreflang="de>" href="/de/{n}/>"/>',
    *("<news:news><news:title>A &amp; B</news:title></news:news >", "<news:news a='1' b=\"2\" />"),
    *("<other>word</other>word", "</other>", "</urlset>"),
)
FIELDS = st.lists(FIELD | OTHERS, max_size=4)


@st.composite
def styles(draw: st.DrawFn) -> str:
    """Draw how an entry is written."""
    url, loc, gap = draw(TAGS), draw(TAGS), draw(GAPS)
    before, after = ("".join(f"{field}{gap}" for field in draw(FIELDS)) for _ in range(2))
    end = draw(st.sampled_from(["", "", " ", "\n", " a"]))
    return (
        f"{draw(BETWEEN)}<url{url}>{gap}{before}<loc{loc}>{draw(ADDRESSES)}</loc{end}>{gap}{after}"
        f"</url{draw(st.sampled_from(['', end]))}>"
    )


RUNS_OF_ONE_STYLE = st.lists(st.tuples(styles(), st.integers(1, 8)), min_size=1, max_size=3).map(
    repeated
)


def _urlset(entries):
    return st.builds("{}{}</urlset>".format, st.sampled_from(ROOTS), entries)


TOKENS = [
    *("<url>", "</url>", "<loc>", "</loc>", "<lastmod>2024", "</lastmod>", "<![CDATA[", "]]>"),
    *("]]", "]>", f"{E}/1", f"{E}/2", "<b>", "</b>", "<!--", "-->", "\n", "<loc/>", "<x:y>"),
    "</x:y>",
]

URLSETS = {
    "entries of many shapes": _urlset(ENTRIES),
    "runs of one style": _urlset(RUNS_OF_ONE_STYLE),
    "sections": _urlset(st.lists(st.sampled_from(TOKENS), max_size=20).map("".join)),
}


# Tags in any order --------------------------------------------------------------------------------

SITEMAP = SPACES["s"]
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


# Entries with prefixes declared anywhere ----------------------------------------------------------

GAP = one_of(
    *("", "", "\n ", "&#160;", "&#32;", "&#x9;", "\n&#10; &#x000A0;", "&#8195;", "&#65279;"),
    *("&nbsp;", "&#0;", "\u00a0", "w", "&#160;w", "<![CDATA[ ]]>", "<!-- c -->", "&#1"),
)
PREFIX = {  # how it is written, and what it means
    "image": (("image", "IMAGE", "Image"), SPACES["image"]),
    "i": (("i", "I"), SPACES["image"]),
    "sm": (("sm", "SM", "Sm"), SPACES["s"]),
    "news": (("news", "NEWS"), SPACES["news"]),
    "xhtml": (("xhtml", "XHTML"), SPACES["xhtml"]),
    "o": (("o", "O"), "urn:other"),
    "": (("",), SPACES["s"]),
}


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
def named(draw, prefixes, local, inside, attributes=""):
    """Write an element; its tags may declare prefixes, and write their own in another case."""
    prefix = draw(st.sampled_from([name for one in prefixes for name in PREFIX[one][0]]))
    name = f"{prefix}:{local}" if prefix else local
    declared = draw(declarations()) if draw(st.integers(0, 3)) == 0 else ""
    if inside is None:
        return f"<{name}{declared}{attributes}/>"
    return f"<{name}{declared}{attributes}>{inside}</{name}>"


@st.composite
def shape(draw, entry, fields):
    """Write an entry with some of these fields, in any order, and with any blanks between them."""
    count = draw(st.integers(0, 5))
    chosen = draw(st.permutations(fields))[:count]
    inside = [draw(one) for one in chosen]
    gap, other = draw(GAP), draw(st.just("") | GAP)
    at = draw(st.integers(0, len(inside)))
    inside[at:at] = [other] if other else []
    return draw(named(["", "", "sm"], entry, gap.join(["", *inside, ""]))), draw(GAP)


def runs(root, entry, *fields):
    """Write documents with runs of entries, each of one shape: what is learned from one is tried."""
    run = st.tuples(shape(entry, fields), st.integers(1, 4))

    def write(declared, around, runs):
        texts = repeated((text + gap, count) for (text, gap), count in runs)
        return f"<{root}{declared}>{texts.join(around)}</{root}>"

    declared = st.sampled_from(["", f' xmlns="{SPACES["s"]}" {PREFIXES}']) | declarations(most=5)
    around = st.sampled_from([("", ""), ("", ""), ("\n", "\n"), ("<o xmlns:i='urn:o'>", "</o>")])
    return st.builds(write, declared, around, st.lists(run, min_size=1, max_size=4))


OWN = ["", "", "", "sm", "o"]


def own(name, *texts):
    """Write an element of the protocol, or of a feed, with each of these texts."""
    return [named(OWN, name, text) for text in texts]


IMAGES = named(["image", "i"], "loc", "https://e.org/{n}.png").flatmap(
    lambda inside: named(["image", "i"], "image", inside)
)
LINKS = named(["xhtml"], "link", None, ' rel="alternate" hreflang="de" href="https://e.org/{n}"')
TITLES = own("title", "T {n}", "&#160;", "<b>T</b>")
RUNS = {
    "urlset": runs(
        *("urlset", "url"),
        *own("loc", "https://e.org/{n}", "https://e.org/a{n}", "/{n}"),
        *own("lastmod", "2024-01-0{n}", "2999", "x", "", " &#32;2024"),
        *(*own("priority", "0.3", "2"), *own("changefreq", "daily", "x")),
        *(IMAGES, IMAGES, LINKS, named(["o"], "b", "<lastmod>2024</lastmod>")),
    ),
    "index": runs(
        *("sitemapindex", "sitemap"),
        *own("loc", "https://e.org/{n}.xml", "/{n}.xml"),
        *own("lastmod", "2024-01-0{n}", "x", ""),
        *(*own("changefreq", "daily"), IMAGES),
    ),
    "rss": runs(
        *("rss", "item", *TITLES),
        *own("link", "https://e.org/{n}", "https://e.org/a{n}"),
        *own("pubDate", "Thu, 05 Jan 2017 12:34:51 GMT", "x"),
        *(*own("guid", "https://e.org/g{n}"), named(["o"], "date", "2024"), IMAGES),
    ),
    "atom": runs(
        *("feed", "entry", *TITLES),
        named(OWN, "link", None, ' href="https://e.org/{n}"'),
        named(OWN, "link", None, " href=\"https://e.org/{n}\" rel='x'"),
        *own("updated", "2024-01-02T03:04:05Z", "x"),
        *(*own("id", "https://e.org/g{n}"), named(["o"], "published", "2024"), IMAGES),
    ),
}


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
ATOM_03 = '<feed version="0.3" xmlns="http://purl.org/atom/ns#">%s</feed>'
ATOM_PREFIX = '<a:feed xmlns:a="http://www.w3.org/2005/Atom">%s</a:feed>'
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
GOOD = {
    "item": "<title>T{n}</title><link>https://e.org/g{n}</link><pubDate>2024-01-02</pubDate>",
    "entry": '<title>T{n}</title><link href="https://e.org/g{n}"/><updated>2024-01-02</updated>',
}
ENTRY = st.tuples(
    st.sampled_from(
        ["", "", "", " xml:base='/b/'", " xml:lang='en'", " rdf:about='/a'", " xmlns='urn:x'"]
    ),
    st.lists(st.sampled_from(CHILDREN), max_size=5),
    st.integers(1, 3),
    st.booleans(),
)


@st.composite
def feed_entries(draw, name):
    """Draw an entry of a feed, and how often it stands there; its good fields are somewhere in it."""
    attributes, children, count, is_good = draw(ENTRY)
    if is_good:
        at = draw(st.integers(0, len(children)))
        children = [*children[:at], GOOD[name], *children[at:]]
    gap = draw(st.sampled_from(["", "\n"]))
    return f"<{name}{attributes}>{gap.join(children)}</{name}>{gap}", count


def _feed(root, name):
    return st.lists(feed_entries(name), max_size=5).map(lambda runs: root % repeated(runs))


FEEDS = {
    "RSS 2.0": _feed(RSS, "item"),
    "RSS 1.0": _feed(RDF, "item"),
    "Atom": _feed(ATOM, "entry"),
    "items in Atom": _feed(ATOM, "item"),
    "entries in RSS": _feed(RSS, "entry"),
}

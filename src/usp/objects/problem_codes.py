"""The codes of problems: what can be wrong inside a document that is read all the same.

Each is written as: its severity and number in ``usp check``, the code and its message, what it means,
an example, what to do.
"""

from __future__ import annotations

from usp.objects.failure_codes import Code

__all__ = ["ProblemCode"]


class ProblemCode(Code):
    """What is wrong at some place of a document; a code stays the same when its message changes."""

    # References and characters --------------------------------------------------------------------

    BARE_AMPERSAND = """error SM356 bare-ampersand: an ampersand is not escaped
        An & is not part of a reference. XML parsers stop here: what follows may be lost.
        <loc>https://example.org/?a=1&b=2</loc>
        Write &amp; for & in XML."""
    BAD_ENTITY = """error SM357 bad-entity: an entity is unknown in XML
        A named entity is one of HTML, or none. XML has five; parsers stop at any other.
        <news:title>Caf&eacute;</news:title>
        Write the character itself, or a numeric reference such as &#233;."""
    BAD_REFERENCE = """error SM358 bad-reference: a reference to a character that XML forbids
        A numeric reference denotes a character that XML does not allow. XML parsers stop here.
        <news:title>Tea&#0;time</news:title>
        Remove control characters before the text is written as XML."""
    CONTROL_CHARACTER = """error SM359 control-character: a control character that XML forbids
        The text contains a character that XML does not allow. XML parsers stop here.
        a U+000B (vertical tab) inside <loc>
        Remove control characters before the text is written as XML."""
    BAD_BYTES = """error SM360 bad-bytes:
        some bytes are not valid in the encoding of the document
        Bytes cannot be decoded with the encoding of the document. Each becomes U+FFFD.
        a Latin-1 é in a UTF-8 document
        Write the whole file in UTF-8."""
    GUESSED_ENCODING = """error SM386 guessed-encoding:
        the document is not in UTF-8, and names no other encoding
        Bytes are not valid UTF-8, and nothing names another encoding. They are likely windows-1252.
        a Latin-1 é in a document without an encoding
        Write the whole file in UTF-8, or name its encoding in the XML declaration."""
    NUL_BYTES = """error SM361 nul-bytes: a run of NUL bytes
        A part of the file is nothing but zeros, most often because it was never written to disk.
        …</url>\\0\\0\\0\\0<url>…
        Generate the file again; write it under another name, then rename it."""
    TRAILING_DATA = """warning SM272 trailing-data:
        data after the end of the compressed data
        Bytes that are not gzip follow the end of the gzip data. They are ignored.
        a .gz file with a line of text appended
        Compress the file again, and append nothing to it."""

    # Tags and nesting -----------------------------------------------------------------------------

    STRAY_LESS_THAN = """error SM362 stray-less-than: a '<' does not begin a tag
        A < that does not begin a tag is read as text.
        <news:title>1 < 2</news:title>
        Write &lt; for < in XML."""
    UNCLOSED_QUOTE = """error SM363 unclosed-quote: a quote in a tag is not closed
        An attribute lacks its closing quote. The tag ends at its first >.
        <xhtml:link hreflang="de href="https://example.org/de"/>
        Close the quote."""
    UNCLOSED_COMMENT = """error SM364 unclosed-comment: a comment is not closed
        A <!-- has no -->. What follows is read as if the comment had not begun.
        <!-- <url>…</url>
        Close the comment with -->."""
    UNCLOSED_CDATA = """error SM365 unclosed-cdata: a CDATA section is not closed
        A <![CDATA[ has no ]]>. What follows is read as if the section had not begun.
        <loc><![CDATA[https://example.org/</loc>
        Close the section with ]]>."""
    UNCLOSED_INSTRUCTION = """error SM366 unclosed-instruction: a processing instruction is not closed
        A <? has no ?>. It ends at its first >, or before the next tag.
        <?xml version="1.0" encoding="UTF-8">
        Close the instruction with ?>."""
    UNCLOSED_ELEMENT = """error SM367 unclosed-element: an element is not closed
        An end tag is missing. The element ends where the one around it does, or the next begins.
        <url><loc>https://example.org/</url>
        Write the missing end tag."""
    UNCLOSED_ENTRY = """error SM368 unclosed-entry: an entry is not closed
        An entry begins before the last one ends. The last one ends there.
        <url><loc>https://example.org/a</loc><url>…
        Write the missing </url> or </sitemap>."""
    STRAY_END_TAG = """error SM369 stray-end-tag: an end tag has no start tag
        An end tag does not match any open element. It is ignored.
        <url><loc>https://example.org/</loc></lastmod></url>
        Remove the end tag, or write the start tag that it belongs to."""
    BAD_END_TAG = """error SM370 bad-end-tag: an end tag has more than a name
        An end tag contains attributes or other text, which is ignored.
        </url class="x">
        Write nothing but the name in an end tag."""
    INNER_DECLARATION = """error SM371 inner-declaration: a declaration inside the document
        A DOCTYPE or ENTITY declaration inside the root element is ignored.
        <urlset><!DOCTYPE urlset>…
        Remove the declaration: sitemaps need none."""
    TEXT_IN_ENTRY = """warning SM372 text-in-entry: text inside an entry
        There is text in an entry, where only elements belong. It is ignored.
        <url>new! <loc>https://example.org/</loc></url>
        Remove the text."""
    TEXT_BETWEEN_ENTRIES = """warning SM373 text-between-entries: text between entries
        There is text in the root element, where only entries belong. It is ignored.
        <urlset> PHP Warning: … <url>…</url></urlset>
        Remove the text; it is often an error message of the program that generates the sitemap."""

    # The document ---------------------------------------------------------------------------------

    TEXT_BEFORE_DOCUMENT = """error SM374 text-before-document: text before the document
        Text or elements before the root element are ignored.
        Warning: mysql_connect() …<?xml version='1.0'?><urlset>…
        Begin the document with its XML declaration."""
    DOCTYPE_IGNORED = """warning SM375 doctype-ignored: a DOCTYPE before the document
        The document names a DTD. It is never loaded.
        <!DOCTYPE urlset SYSTEM "sitemap.dtd">
        Remove the DOCTYPE: sitemaps need none."""
    NO_ROOT = """error SM376 no-root: the document has no root element
        Entries that are not inside a <urlset> or <sitemapindex> are read all the same.
        <?xml version='1.0'?><url>…</url><url>…</url>
        Put the entries inside the root element."""
    MORE_AFTER_END = """error SM377 more-after-end: the document continues after its end
        More elements follow the end of the root element. They are read.
        </urlset><urlset>…</urlset>
        Write one document per file."""
    SITEMAPS_IN_URLSET = """error SM378 sitemaps-in-urlset: sitemaps in a urlset
        There is a <sitemap> among pages. It is followed, and the document becomes an index.
        <urlset><sitemap>…</sitemap></urlset>
        List sitemaps in a <sitemapindex>."""
    PAGES_IN_INDEX = """error SM379 pages-in-index: pages in a sitemap index
        There is a <url> in an index. Its page is kept, in a sitemap of its own below the index.
        <sitemapindex><url>…</url></sitemapindex>
        List pages in a <urlset>."""
    UNKNOWN_ELEMENTS = """error SM380 unknown-elements:
        the document has no entries, only unknown elements
        The root element is that of a sitemap, but nothing in it is an entry.
        <urlset><link>https://example.org/</link></urlset>
        Use the elements of the protocol: <url> and <loc>."""
    LONG_FIELD = """warning SM381 long-field: a field is too long
        The text of an element exceeds the maximum length. A <loc> that is too long is lost.
        <news:keywords>…</news:keywords> with a million characters
        Shorten the text."""
    TOO_MANY_FIELDS = """warning SM382 too-many-fields:
        an entry has too many elements
        An entry has more elements than are read.
        100,000 images in one <url>
        List fewer elements for one page."""
    LONG_BASE = """warning SM383 long-base: an xml:base is too long
        An xml:base would make URLs longer than the limit url_length allows.
        <urlset xml:base="https://example.org/…">
        Write absolute URLs."""
    LONG_LINE = """warning SM384 long-line: a line is too long
        A line of a robots.txt or of a list of URLs is longer than a URL may be.
        a line of 100,000 characters
        Write one URL per line."""

    # URLs -----------------------------------------------------------------------------------------

    NO_LOC = """error SM450 no-loc: an entry has no loc
        An entry without a URL is lost.
        <url><lastmod>2025-01-31</lastmod></url>
        Add a <loc> to every entry."""
    BAD_LOC = """error SM451 bad-loc: a loc is not an HTTP URL
        The URL of an entry cannot be requested over HTTP, so the entry is lost.
        <loc>mailto:me@example.org</loc>
        Write absolute URLs that begin with http:// or https://."""
    SEVERAL_LOCS = """error SM452 several-locs:
        an entry has several locs, of which search engines read one
        An entry has more than one URL. Search engines read one of them, or none.
        <url><loc>https://example.org/a</loc><loc>https://example.org/b</loc></url>
        Write one <url> for each page."""
    LOC_OUTSIDE_ENTRY = """error SM453 loc-outside-entry: a <loc> outside of an entry
        A <loc> has no <url> or <sitemap> around it. It is read as an entry.
        <urlset><loc>https://example.org/</loc></urlset>
        Put the <loc> inside a <url>."""
    ENTRY_IN_LOC = """error SM454 entry-in-loc: an entry inside a <loc>
        The two elements are nested the wrong way round. They are read as an entry with a <loc>.
        <loc><url>https://example.org/</url></loc>
        Put the <loc> inside the <url>."""
    MISPLACED_ADDRESS = """error SM455 misplaced-address: a URL outside of <loc> (in a feed: of <link>)
        The URL is the entry's own text or an attribute. It is taken from there.
        <url loc="https://example.org/"/>
        Write the URL as the text of <loc> (in a feed: of <link>)."""
    NO_SCHEME = """error SM456 no-scheme: a URL has no scheme
        A URL begins with a host. The scheme of the sitemap is added.
        <loc>www.example.org/tea</loc>
        Write absolute URLs that begin with http:// or https://."""
    NO_LINK = """warning SM457 no-link: an entry has no link
        A feed item without a URL is lost.
        <item><title>Tea</title></item>
        Add a <link> to every item."""
    BAD_LINK = """warning SM458 bad-link: a link is not an HTTP URL
        The link of an item cannot be requested over HTTP. Its next link is used, if any.
        <link>tag:example.org,2025:1</link>
        Write absolute URLs that begin with http:// or https://."""
    BAD_LINE = """error SM459 bad-line: a line is not an HTTP URL
        A line in a list of URLs is not a URL. It is lost.
        example page
        Write one absolute URL per line, and nothing else."""
    CUT_LINE = """error SM385 cut-line: the document breaks off in a line
        The transfer ended in the middle of the last line, which is lost.
        https://example.org/artic
        Find out why the transfer broke off."""
    BAD_SITEMAP_LINK = """warning SM154 bad-sitemap-link: a link to a sitemap has no HTTP URL
        A <link rel="sitemap"> on the homepage has no URL that can be requested.
        <link rel="sitemap" href="">
        Write the URL of the sitemap."""

    # robots.txt -----------------------------------------------------------------------------------

    SITEMAP_LINE_WITHOUT_URL = """error SM155 sitemap-line-without-url: a Sitemap line has no HTTP URL
        A Sitemap line of robots.txt has no URL that can be requested. It is lost.
        Sitemap: none
        Write the absolute URL of the sitemap after Sitemap:."""
    BAD_SITEMAP_LINE = """warning SM156 bad-sitemap-line:
        a sitemap is not declared as 'Sitemap: URL'
        It has another name, other text around its URL, a typo or several URLs. Robots may ignore it.
        Sitemap-index: see https:/example.org/sitemap.xml (updated daily)
        Write a line for each sitemap: Sitemap: and its whole URL, and nothing else."""

    # Fields ---------------------------------------------------------------------------------------

    BAD_LASTMOD = """error SM550 bad-lastmod:
        search engines ignore this lastmod, which is not a date
        A <lastmod> is not a date. Search engines ignore it.
        <lastmod>yesterday</lastmod>
        Write dates in W3C format, such as 2025-01-31 or 2025-01-31T09:30:00+01:00."""
    BAD_CHANGEFREQ = """warning SM551 bad-changefreq:
        search engines ignore this changefreq, which is none of the seven values
        A <changefreq> is not one of the seven values of the protocol. Search engines ignore it.
        <changefreq>often</changefreq>
        Use always, hourly, daily, weekly, monthly, yearly or never."""
    BAD_PRIORITY = """warning SM552 bad-priority:
        search engines ignore this priority, which is not from 0 to 1
        A <priority> cannot be used. Search engines ignore it, as if it were the default, 0.5.
        <priority>high</priority>
        Write a number from 0.0 to 1.0."""
    BAD_FEED_DATE = """warning SM553 bad-feed-date: the date of an entry cannot be read
        The date of a feed item cannot be read. Search engines ignore it.
        <pubDate>soon</pubDate>
        Write dates as in RFC 822 (RSS) or RFC 3339 (Atom)."""
    UNKNOWN_ZONE = """warning SM554 unknown-zone: the time zone of a date is unknown
        A date names its time zone, and the name is not known. The time is read without an offset.
        <pubDate>Fri, 31 Jan 2025 09:30:00 XYZ</pubDate>
        Write the offset, such as +0100 (RFC 822) or +01:00 (W3C format)."""
    BAD_EXTENSION_FIELD = """warning SM850 bad-extension-field:
        a field of an extension has an invalid value
        A field of an image, a video or a story has an invalid value. Search engines ignore it.
        <video:duration>ten minutes</video:duration>
        Write the value as the extension specifies."""
    MISSING_EXTENSION_FIELD = """error SM851 missing-extension-field:
        a required field of an extension is missing
        An image, a video or a story lacks a required field. Search engines ignore all of it.
        <image:image><image:title>Tea</image:title></image:image>
        Add the field, such as <image:loc>, <news:title> or <news:publication_date>."""
    MISPLACED_EXTENSION_FIELD = """warning SM852 misplaced-extension-field:
        a field of an extension outside of its element
        A field is not inside the element of its extension. Search engines ignore it.
        <PageMap><Attribute name="title">Tea</Attribute></PageMap>
        Put the field inside its element, such as <DataObject>."""
    BAD_ALTERNATE = """error SM650 bad-alternate: an alternate has no hreflang or no href
        A <xhtml:link rel="alternate"> lacks its language or its address. Search engines ignore it.
        <xhtml:link rel="alternate" href="https://example.org/de"/>
        Write both hreflang and href."""

    OTHER_PROBLEM = """warning SM061 other-problem: another problem
        A problem that was created directly, without a code.
        Problem("my own words")
        Read its message."""

"""The codes of problems: what can be wrong inside a document that is read all the same.

Each is written as: the code, the message, what it means, an example, what to do.
"""

from __future__ import annotations

from usp.objects.failure_codes import Code

__all__ = ["ProblemCode"]


class ProblemCode(Code):
    """What is wrong at some place of a document; a code stays the same when its message changes."""

    # References and characters ---------------------------------------------------------------------

    BARE_AMPERSAND = (
        "bare-ampersand",
        "an ampersand is not escaped",
        "An & does not begin a reference. It is read as the character itself.",
        "<loc>https://example.org/?a=1&b=2</loc>",
        "Write &amp; for & in XML.",
    )
    BAD_ENTITY = (
        "bad-entity",
        "unknown entity: decoded as HTML or left as it is",
        "A named entity is not one of the five of XML. It is decoded as HTML has it, or left alone.",
        "<news:title>Caf&eacute;</news:title>",
        "Write the character itself, or a numeric reference such as &#233;.",
    )
    BAD_REFERENCE = (
        "bad-reference",
        "a reference to a forbidden character was left out",
        "A numeric reference stands for a character that XML does not allow. It is left out.",
        "<news:title>Tea&#0;time</news:title>",
        "Remove control characters before the text is written as XML.",
    )
    CONTROL_CHARACTER = (
        "control-character",
        "a control character was left out",
        "The text holds a character that XML does not allow. It is left out.",
        "a U+000B (vertical tab) inside <loc>",
        "Remove control characters before the text is written as XML.",
    )
    BAD_BYTES = (
        "bad-bytes",
        "some bytes are not valid in the encoding of the document and were replaced",
        "Bytes cannot be decoded with the encoding of the document. Each becomes U+FFFD.",
        "a Latin-1 é in a document of UTF-8",
        "Write the file in UTF-8 from end to end.",
    )
    NUL_BYTES = (
        "nul-bytes",
        "a hole of NUL bytes",
        "A part of the file is nothing but zeros, most often because it was never written to disk.",
        "…</url>\\0\\0\\0\\0<url>…",
        "Generate the file again; write it under another name, then rename it.",
    )
    TRAILING_DATA = (
        "trailing-data",
        "what follows the compressed data was passed over",
        "Bytes that are not gzip follow the end of the gzip data. They are ignored.",
        "a .gz file with a line of text appended",
        "Compress the file anew, and append nothing to it.",
    )

    # Tags and nesting ------------------------------------------------------------------------------

    STRAY_LESS_THAN = (
        "stray-less-than",
        "a '<' begins no tag",
        "A < is not the beginning of a tag. It is read as text.",
        "<news:title>1 < 2</news:title>",
        "Write &lt; for < in XML.",
    )
    UNCLOSED_QUOTE = (
        "unclosed-quote",
        "a quote in a tag is not closed",
        "An attribute lacks its second quote. The tag ends at its first >.",
        '<xhtml:link hreflang="de href="https://example.org/de"/>',
        "Close the quote.",
    )
    UNCLOSED_COMMENT = (
        "unclosed-comment",
        "a comment is not closed",
        "A <!-- has no -->. What follows is read as if the comment had not begun.",
        "<!-- <url>…</url>",
        "Close the comment with -->.",
    )
    UNCLOSED_CDATA = (
        "unclosed-cdata",
        "a CDATA section is not closed",
        "A <![CDATA[ has no ]]>. What follows is read as if the section had not begun.",
        "<loc><![CDATA[https://example.org/</loc>",
        "Close the section with ]]>.",
    )
    UNCLOSED_INSTRUCTION = (
        "unclosed-instruction",
        "a processing instruction is not closed",
        "A <? has no ?>. It ends at its first >, or before the next tag.",
        '<?xml version="1.0" encoding="UTF-8">',
        "Close the instruction with ?>.",
    )
    UNCLOSED_ELEMENT = (
        "unclosed-element",
        "an element is not closed",
        "An end tag is missing. The element ends where the one around it does, or the next begins.",
        "<url><loc>https://example.org/</url>",
        "Write the missing end tag.",
    )
    UNCLOSED_ENTRY = (
        "unclosed-entry",
        "an entry is not closed",
        "An entry begins before the last one ends. The last one ends there.",
        "<url><loc>https://example.org/a</loc><url>…",
        "Write the missing </url> or </sitemap>.",
    )
    STRAY_END_TAG = (
        "stray-end-tag",
        "an end tag has no start tag",
        "An end tag closes nothing that is open. It is ignored.",
        "<url><loc>https://example.org/</loc></lastmod></url>",
        "Remove the end tag, or write the start tag that it belongs to.",
    )
    BAD_END_TAG = (
        "bad-end-tag",
        "an end tag has more than a name",
        "An end tag holds attributes or other text, which is ignored.",
        '</url class="x">',
        "Write nothing but the name in an end tag.",
    )
    INNER_DECLARATION = (
        "inner-declaration",
        "a declaration stands inside the document",
        "A DOCTYPE or ENTITY stands after the beginning of the root element. It is ignored.",
        "<urlset><!DOCTYPE urlset>…",
        "Remove the declaration: sitemaps need none.",
    )
    TEXT_IN_ENTRY = (
        "text-in-entry",
        "text stands inside an entry",
        "Text stands in an entry where only elements should. It is ignored.",
        "<url>new! <loc>https://example.org/</loc></url>",
        "Remove the text.",
    )
    TEXT_BETWEEN_ENTRIES = (
        "text-between-entries",
        "text stands between the entries",
        "Text stands in the root element where only entries should. It is ignored.",
        "<urlset> PHP Warning: … <url>…</url></urlset>",
        "Remove the text; it is often the error message of a program that makes the sitemap.",
    )

    # The document ----------------------------------------------------------------------------------

    TEXT_BEFORE_DOCUMENT = (
        "text-before-document",
        "something stands before the document",
        "Text or elements stand before the root element. They are ignored.",
        "Warning: mysql_connect() …<?xml version='1.0'?><urlset>…",
        "Let the document begin with its XML declaration.",
    )
    DOCTYPE_IGNORED = (
        "doctype-ignored",
        "a DOCTYPE stands before the document and was ignored",
        "The document names a DTD. It is never loaded.",
        '<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "…">',
        "Remove the DOCTYPE: sitemaps need none.",
    )
    NO_ROOT = (
        "no-root",
        "the document has no root element",
        "Entries stand in the document without <urlset> or <sitemapindex> around them. They are read.",
        "<?xml version='1.0'?><url>…</url><url>…</url>",
        "Put the entries into their root element.",
    )
    MORE_AFTER_END = (
        "more-after-end",
        "the document goes on after its end",
        "More elements follow the end of the root element. They are read.",
        "</urlset><urlset>…</urlset>",
        "Write one document into one file.",
    )
    SITEMAPS_IN_URLSET = (
        "sitemaps-in-urlset",
        "sitemaps stand in a urlset",
        "A <sitemap> stands among pages. It is followed, and the document becomes an index.",
        "<urlset><sitemap>…</sitemap></urlset>",
        "List sitemaps in a <sitemapindex>.",
    )
    PAGES_IN_INDEX = (
        "pages-in-index",
        "pages stand in an index of sitemaps",
        "A <url> stands in an index. Its page is kept, in a sitemap of its own below the index.",
        "<sitemapindex><url>…</url></sitemapindex>",
        "List pages in a <urlset>.",
    )
    UNKNOWN_ELEMENTS = (
        "unknown-elements",
        "the document has no entries, only unknown elements",
        "The root element is that of a sitemap, but nothing in it is an entry.",
        "<urlset><link>https://example.org/</link></urlset>",
        "Use the elements of the protocol: <url> and <loc>.",
    )
    LONG_FIELD = (
        "long-field",
        "a field is too long and was cut off",
        "The text of an element is longer than any that is kept. A <loc> that is too long is lost.",
        "<news:keywords>…</news:keywords> with a million characters",
        "Shorten the text.",
    )
    TOO_MANY_FIELDS = (
        "too-many-fields",
        "an entry has too many elements; the rest was passed over",
        "An entry holds more elements than are read of one.",
        "100,000 images in one <url>",
        "Split what belongs to one page, or leave the rest out.",
    )
    LONG_BASE = (
        "long-base",
        "an xml:base is too long and was ignored",
        "An xml:base would make addresses longer than the limit url_length allows.",
        '<urlset xml:base="https://example.org/…">',
        "Write absolute addresses.",
    )
    LONG_LINE = (
        "long-line",
        "a line is too long and was passed over",
        "A line of a robots.txt or of a list of URLs is longer than any address may be.",
        "a line of 100,000 characters",
        "Write one address a line.",
    )

    # Addresses -------------------------------------------------------------------------------------

    NO_LOC = (
        "no-loc",
        "an entry has no loc",
        "An entry has no address, so it is lost.",
        "<url><lastmod>2025-01-31</lastmod></url>",
        "Give every entry its <loc>.",
    )
    BAD_LOC = (
        "bad-loc",
        "a loc is not an HTTP URL",
        "The address of an entry cannot be requested by HTTP, so the entry is lost.",
        "<loc>mailto:me@example.org</loc>",
        "Write absolute URLs that begin with http:// or https://.",
    )
    SEVERAL_LOCS = (
        "several-locs",
        "an entry has several locs; the last one counts",
        "An entry names more than one address. The last one is its page.",
        "<url><loc>https://example.org/a</loc><loc>https://example.org/b</loc></url>",
        "Write one <url> for each address.",
    )
    LOC_OUTSIDE_ENTRY = (
        "loc-outside-entry",
        "a <loc> stands outside of an entry",
        "A <loc> has no <url> or <sitemap> around it. It is read as an entry.",
        "<urlset><loc>https://example.org/</loc></urlset>",
        "Put the <loc> into a <url>.",
    )
    ENTRY_IN_LOC = (
        "entry-in-loc",
        "an entry stands inside a <loc>",
        "The two elements stand the wrong way round. They are read as an entry with a <loc>.",
        "<loc><url>https://example.org/</url></loc>",
        "Put the <loc> into the <url>.",
    )
    MISPLACED_ADDRESS = (
        "misplaced-address",
        "an address stands outside of <loc> (in a feed: of <link>)",
        "The address of an entry is its own text or an attribute. It is taken from there.",
        '<url loc="https://example.org/"/>',
        "Write the address as the text of <loc> (in a feed: of <link>).",
    )
    NO_SCHEME = (
        "no-scheme",
        "an address has no scheme",
        "An address begins with a host. The scheme of the sitemap is put before it.",
        "<loc>www.example.org/tea</loc>",
        "Write absolute URLs that begin with http:// or https://.",
    )
    NO_LINK = (
        "no-link",
        "an entry has no link",
        "An item of a feed has no address, so it is lost.",
        "<item><title>Tea</title></item>",
        "Give every item its <link>.",
    )
    BAD_LINK = (
        "bad-link",
        "a link is not an HTTP URL",
        "The link of an item cannot be requested by HTTP. The next link of the item counts, if any.",
        "<link>tag:example.org,2025:1</link>",
        "Write absolute URLs that begin with http:// or https://.",
    )
    BAD_LINE = (
        "bad-line",
        "a line is not an HTTP URL",
        "A line of a list of URLs is not an address. It is lost.",
        "example page",
        "Write nothing but one absolute URL a line.",
    )
    CUT_LINE = (
        "cut-line",
        "the document breaks off in a line",
        "The transfer ended inside the last line, of which nobody knows the rest. It is lost.",
        "https://example.org/artic",
        "See why the transfer broke off.",
    )
    BAD_SITEMAP_LINK = (
        "bad-sitemap-link",
        "a link to a sitemap has no HTTP URL",
        'A <link rel="sitemap"> of the homepage has no address that can be requested.',
        '<link rel="sitemap" href="">',
        "Write the address of the sitemap.",
    )

    # robots.txt ------------------------------------------------------------------------------------

    SITEMAP_LINE_WITHOUT_URL = (
        "sitemap-line-without-url",
        "a Sitemap line has no HTTP URL",
        "A Sitemap line of robots.txt names no address that can be requested. It is lost.",
        "Sitemap: none",
        "Write the absolute URL of the sitemap after Sitemap:.",
    )
    SITEMAP_LINE_MISNAMED = (
        "sitemap-line-misnamed",
        "a Sitemap line has an unusual name",
        "A line of robots.txt names a sitemap under another word. It is read.",
        "Sitemap-index: https://example.org/sitemap.xml",
        "Write Sitemap: before the address.",
    )
    SITEMAP_LINE_INDENTED = (
        "sitemap-line-indented",
        "a Sitemap line does not begin its line",
        "Sitemap: stands after other text on its line. It is read.",
        "Disallow: /tmp Sitemap: https://example.org/sitemap.xml",
        "Let Sitemap: begin a line of its own.",
    )
    SITEMAP_LINE_WRAPPED = (
        "sitemap-line-wrapped",
        "the address of a Sitemap line stands on another line",
        "The address follows on the next line. It is read.",
        "Sitemap:\\nhttps://example.org/sitemap.xml",
        "Write the address on the same line.",
    )
    SITEMAP_LINE_UNNAMED = (
        "sitemap-line-unnamed",
        "the address of a sitemap stands without 'Sitemap:'",
        "A line of robots.txt is nothing but the address of a sitemap. It is read.",
        "https://example.org/sitemap.xml",
        "Write Sitemap: before the address.",
    )
    SITEMAP_LINE_WORDS = (
        "sitemap-line-words",
        "words around the address of a Sitemap line were ignored",
        "Other text stands around the address of a Sitemap line.",
        "Sitemap: see <https://example.org/sitemap.xml>",
        "Write nothing but the address after Sitemap:.",
    )
    SITEMAP_LINE_SEVERAL = (
        "sitemap-line-several",
        "a Sitemap line has several addresses",
        "A Sitemap line names more than one address. All of them are read.",
        "Sitemap: https://example.org/a.xml, https://example.org/b.xml",
        "Write one line for each sitemap.",
    )
    SITEMAP_LINE_TAIL = (
        "sitemap-line-tail",
        "what follows the address of a Sitemap line was ignored",
        "Other text follows the address of a Sitemap line.",
        "Sitemap: https://example.org/sitemap.xml (updated daily)",
        "Write nothing but the address after Sitemap:.",
    )
    SITEMAP_LINE_REPAIRED = (
        "sitemap-line-repaired",
        "the address of a Sitemap line was repaired",
        "The address of a Sitemap line has a typing error that has one reading only.",
        "Sitemap: https:/example.org/sitemap.xml",
        "Correct the address.",
    )

    # Fields ----------------------------------------------------------------------------------------

    BAD_LASTMOD = (
        "bad-lastmod",
        "lastmod cannot be read",
        "A <lastmod> is not a date. The page has none then.",
        "<lastmod>yesterday</lastmod>",
        "Write dates in W3C format, such as 2025-01-31 or 2025-01-31T09:30:00+01:00.",
    )
    BAD_CHANGEFREQ = (
        "bad-changefreq",
        "changefreq is unknown and was read as 'always'",
        "A <changefreq> is not one of the seven words of the protocol.",
        "<changefreq>often</changefreq>",
        "Use always, hourly, daily, weekly, monthly, yearly or never.",
    )
    BAD_PRIORITY = (
        "bad-priority",
        "priority is not a number from 0 to 1",
        "A <priority> cannot be used. The page has the default of 0.5 then.",
        "<priority>high</priority>",
        "Write a number from 0.0 to 1.0.",
    )
    BAD_FEED_DATE = (
        "bad-feed-date",
        "the date of an entry cannot be read",
        "The date of an item of a feed is not a date. The item has none then.",
        "<pubDate>soon</pubDate>",
        "Write dates as RFC 822 (RSS) or RFC 3339 (Atom) says.",
    )
    BAD_EXTENSION_FIELD = (
        "bad-extension-field",
        "a field of an extension cannot be read",
        "A field of an image, a video or a story is not of its kind, such as a date. It is left out.",
        "<video:duration>ten minutes</video:duration>",
        "Write the value as the extension wants it.",
    )
    MISSING_EXTENSION_FIELD = (
        "missing-extension-field",
        "a required field of an extension is missing",
        "An image, a video or a story lacks a field that it must have. It is left out.",
        "<image:image><image:title>Tea</image:title></image:image>",
        "Give it the field, such as <image:loc>, <news:title> or <news:publication_date>.",
    )
    MISPLACED_EXTENSION_FIELD = (
        "misplaced-extension-field",
        "a field of an extension stands outside of its element",
        "A field has no element of its extension around it. It is left out.",
        '<PageMap><Attribute name="title">Tea</Attribute></PageMap>',
        "Put the field into its element, such as <DataObject>.",
    )
    BAD_ALTERNATE = (
        "bad-alternate",
        "an alternate has no hreflang or no href",
        'A <xhtml:link rel="alternate"> lacks its language or its address. It is left out.',
        '<xhtml:link rel="alternate" href="https://example.org/de"/>',
        "Write both hreflang and href.",
    )

    OTHER_PROBLEM = (
        "other-problem",
        "another problem",
        "A problem that was made by hand, without a code.",
        'Problem("my own words")',
        "Read its message.",
    )

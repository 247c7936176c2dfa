"""Nothing that a website sends raises out of the parsers, nor out of what reads a text of it."""

from datetime import datetime
from decimal import Decimal
from encodings.aliases import aliases
from functools import partial

import pytest
from formats_strategies import CONTENT_TYPES, SOUPS, encoded, one_of, pieces
from formats_support import chunks, read
from hypothesis import example, given, settings
from hypothesis import strategies as st

from profiles import examples
from together import together
from usp._base.dates import read_date
from usp._base.urls import is_http_url
from usp._formats import values
from usp._formats.abstract_parser import ignore
from usp._formats.document import Role
from usp._formats.xml.references import attributes, decode_text, without_forbidden
from usp.limits import Limits
from usp.objects.page import SitemapPageChangeFrequency
from usp.objects.sitemap import AbstractIndexSitemap, AbstractPagesSitemap

LAW = settings(max_examples=examples(150))
PYTHONS_OWN = ("undefined", "idna", "punycode", "unicode_escape", "raw_unicode_escape", "palmos")
NODES = {c.__name__ for c in AbstractIndexSitemap.__subclasses__()}
NODES |= {c.__name__ for c in AbstractPagesSitemap.__subclasses__()}
OPTIONS = st.fixed_dictionaries(
    {
        "role": st.sampled_from(Role),
        "content_type": CONTENT_TYPES,
        "content_encoding": st.sampled_from([None, "gzip", "deflate", "br", "gzip, deflate"]),
        "limits": st.sampled_from([None, 0, 1, 200]).map(lambda n: Limits(unpacked_bytes=n)),
        "url": st.sampled_from([None, "https://www.example.org/s.xml", "http://h/robots.txt"]),
    }
)


def check(parts, options):
    """Read a document; it is either something or refused, and problems stay readable."""
    reading = read(parts, **options)
    assert (reading.refusal is None) == (reading.kind in NODES)
    for problem in reading.problems:
        assert len(str(problem)) < 1000
    for page in reading.pages:
        assert page.to_dict()["url"] == page.url


MARKUP = st.text(alphabet="<>/!?-[]&;#x=\"' \n:aCDATurlocs", max_size=300)
DOCUMENTS = {
    "bytes": st.binary(max_size=2000),
    "text": st.text(max_size=1000).map(lambda text: text.encode("utf-8", "surrogatepass")),
    "markup": MARKUP.map(lambda text: b"<urlset>" + text.encode()),
    "damage": st.sampled_from(list(SOUPS)).flatmap(lambda name: encoded(SOUPS[name])),
}


@pytest.mark.parametrize("kind", DOCUMENTS)
@LAW
@given(data=st.data(), options=OPTIONS)
def test_no_document_raises(kind, data, options):
    document = data.draw(DOCUMENTS[kind])
    check([document], options)
    check(data.draw(pieces(document)), options)


@together("label", sorted({*aliases.values(), *PYTHONS_OWN}))
def test_no_label_that_python_knows_raises(label):
    for data in (b"", b"\xe9\\d \\N{x} -x", b"\xff\xfe\xfd\x80" * 9):
        document = b"<urlset>" + data + b"</urlset>"
        for parts in ([document], chunks(document, 1)):
            check(parts, {"content_type": f"text/xml; charset={label}"})


READERS = {  # by what they give
    str | None: [values.text],
    Decimal | None: [values.number, values.priority],
    int | None: [values.whole_number],
    bool | None: [values.yes_no],
    bool: [is_http_url],
    SitemapPageChangeFrequency | None: [values.change_frequency],
    datetime | None: [values.date, read_date],
    tuple: [partial(values.listed, separator=separator) for separator in (",", None)],
    str: [partial(decode, note=ignore) for decode in (decode_text, without_forbidden)],
    dict: [partial(attributes, note=ignore)],
}


@pytest.mark.parametrize(("kind", "readers"), READERS.items())
@given(text=st.text() | st.from_regex(r"[0-9A-Za-z:/., +-]{1,30}", fullmatch=True))
def test_no_text_raises(kind, readers, text):
    for reader in readers:
        assert isinstance(reader(text), kind)
        assert isinstance(reader(f"http://{text}"), kind)


TAGS = one_of("<b>", "</b>", "<loc>", "</loc>", "<url>", "</url>", "<lastmod>", "</x>", "&")
ENTRY = b"<url><loc>https://www.example.org/kept</loc></url>"


@settings(LAW, max_examples=examples(250))
@given(text=SOUPS["urlset"])
def test_damage_never_costs_the_entries_in_front_of_it(text):
    reading = read([b"<urlset>" + ENTRY + text.encode()])
    # Sitemaps among the pages make it an index, which has its own pages all the same.
    assert reading.kind in {"PagesXMLSitemap", *(["IndexXMLSitemap"] * ("sitemap" in text))}
    assert reading.urls[0] == "https://www.example.org/kept"


@settings(LAW, max_examples=examples(250))
@example(tags=["<url>", "<loc>", "/a", "</loc>", "<b>", "<loc>"])
@given(tags=st.lists(TAGS, max_size=30))
def test_bad_nesting_never_costs_a_whole_entry_behind_it(tags):
    """An entry whose loc can be read is a page, whatever tags are open in front of it."""
    reading = read([b"<urlset>" + "".join(tags).encode() + ENTRY + b"</urlset>"])
    assert reading.urls[-1:] == ["https://www.example.org/kept"]

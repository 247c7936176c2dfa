"""What must hold for every input: one target for each parser."""

import random
import re
import time
from collections.abc import Callable
from datetime import datetime

from formats_support import Reading, decode, read, same
from fuzz_inputs import cut

from usp._formats.abstract_parser import ignore
from usp._formats.document import Role
from usp._formats.html import header_links
from usp._formats.values import date
from usp._formats.xml.references import attributes, decode_text, without_forbidden
from usp.helpers import is_http_url, parse_iso8601_date, parse_rfc2822_date
from usp.limits import Limits
from usp.objects.problem import MAX_PROBLEMS

_URL = "https://www.example.org/dir/sitemap.xml"
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_BLANK = re.compile(r"\s")
_SIMPLE = re.compile(r"""\s([\w.:-]++)="([^"]*+)\"""")
_UNPACKED = 300_000


def within(size: int, started: float) -> None:
    """Work must be about linear: of this thread, because what else the machine does takes time too."""
    seconds = time.thread_time() - started
    assert seconds < 3 + size / 20_000, f"{seconds:.1f} s for {size} bytes"


def document(data: bytes, options: dict, chance: random.Random) -> None:
    """Read a document whole, cut, and in all ways."""
    options = {"url": _URL, **options}
    started = time.thread_time()
    whole = read([data], **options)
    within(len(data), started)
    pieces = cut(chance, data)
    assert readable(read(pieces, **options)) == readable(whole), "cutting changes the reading"
    same(whole, pieces, **options)
    assert len(whole.problems) <= 3 * MAX_PROBLEMS  # of the document, of its fields, kinds counted
    for problem in whole.problems:
        assert len(str(problem)) < 2000
    if options.get("url") is None:
        return  # relative URLs are left as they are
    for url in (*whole.urls, *(child.loc for child in whole.children)):
        assert is_http_url(_BLANK.sub("%20", url)), url[:200]


def readable(reading: Reading) -> tuple:
    """Give what cutting must not change.

    Of very many problems some are only counted, and of a refused document the rest is not read.
    """
    all_kept = reading.refusal is None and len(reading.problems) < MAX_PROBLEMS
    problems = reading.problems if all_kept else ()
    return reading.kind, reading.refusal, reading.children, reading.pages, problems


def xml(data: bytes, options: dict, chance: random.Random) -> None:
    """Read a document; a probe knows what it is, and takes its children."""
    document(data, options, chance)
    options = {"url": _URL, **options}
    whole = read([data], **options)
    probe = read(cut(chance, data), skip_pages=True, **options)
    assert (probe.kind, probe.refusal) == (whole.kind, whole.refusal)
    assert probe.children == whole.children


def unpack(data: bytes, options: dict, chance: random.Random) -> None:
    """Unpack and decode, whole and cut."""
    kept = {k: v for k, v in options.items() if k in ("content_type", "content_encoding")}

    kept["limits"] = Limits(unpacked_bytes=_UNPACKED)
    started = time.thread_time()
    whole = text, _, problems = decode([data], **kept)
    within(len(data) + len(text), started)
    assert decode(cut(chance, data), **kept) == whole, "cutting changes the text"
    assert len(text) <= _UNPACKED + 1000
    assert len(problems) <= MAX_PROBLEMS + 1
    document(data, {k: v for k, v in options.items() if k != "role"}, chance)


def references(data: bytes, options: dict, chance: random.Random) -> None:
    """Decode references and attributes."""
    raw = data.decode("utf-8", "surrogateescape")
    started = time.thread_time()
    for reader in (decode_text, without_forbidden):
        assert not _FORBIDDEN.search(reader(raw, ignore))
    found = attributes(raw, ignore)
    within(len(data), started)
    for name, value in found.items():
        assert name == name.lower()
        assert not _FORBIDDEN.search(value)
    if "&" not in raw and raw.count("=") == len(_SIMPLE.findall(raw)):
        slowly = attributes(raw + ' usp-fuzz="&amp;"', ignore)
        del slowly["usp-fuzz"]
        assert found == slowly, "the short way gives other attributes"


def links(data: bytes, options: dict, chance: random.Random) -> None:
    """Read Link headers: as one, or one after another."""
    texts = [piece.decode("latin-1") for piece in cut(chance, data)]
    started = time.thread_time()
    found = list(header_links((("link", text) for text in texts), _URL))
    within(len(data), started)
    assert found == list(header_links([("Link", ", ".join(texts))], _URL))
    for child in found:
        assert is_http_url(_BLANK.sub("%20", child.loc)), child.loc[:200]


def dates(data: bytes, options: dict, chance: random.Random) -> None:
    """Read dates."""
    text = data.decode("utf-8", "replace") or "?"  # nothing at all is a mistake of the caller
    started = time.thread_time()
    for parse in (parse_iso8601_date, parse_rfc2822_date, date):
        found = parse(text)
        assert found is None or isinstance(found, datetime)
        if found is not None:
            assert found.isoformat()
            assert parse(text) == found
    within(len(data), started)


TARGETS: dict[str, Callable[[bytes, dict, random.Random], None]] = {
    "robots": lambda data, how, chance: document(data, {**how, "role": Role.ROBOTS}, chance),
    "homepage": lambda data, how, chance: document(data, {**how, "role": Role.HOMEPAGE}, chance),
    "text": document,
    "html": lambda data, how, chance: xml(data, {**how, "role": Role.HTML_SITEMAP}, chance),
    **dict.fromkeys(
        ["urlset", "index", "rss", "atom", "jsonfeed", "llms", "resourcesync", "opml"], xml
    ),
    "unpack": unpack,
    "references": references,
    "dates": dates,
    "links": links,
}

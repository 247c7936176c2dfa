"""The responses in the records of a WARC file, as a store of documents, also of other programs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, islice
from typing import TYPE_CHECKING

from usp._base.display import printable
from usp._base.reason import Reason
from usp._base.urls import BadUrl, read_url, url_parts, urljoin, without_login
from usp._formats.document import Role
from usp._http.encodings import BodyDecoder
from usp._http.flow import phrase
from usp._http.identity import safe_headers
from usp._http.redirects import REDIRECTS
from usp._snapshot.snapshot_entries import Entry
from usp._snapshot.warc import GZIP, DamagedRecord, WarcFile, WarcRecord, end_of_head, header_lines
from usp._store import DamagedDocument, Store
from usp.objects.exchange import Exchange
from usp.objects.failure_codes import FailureCode
from usp.web_client.abstract_client import BrokenBody, WebClientErrorResponse

if TYPE_CHECKING:
    from usp.limits import Limits

_HEAD_BYTES = 64 * 1024  # of a response that are read
_HEADERS = 500  # that are read; no server sends so many
_LINE = 1024  # bytes of the line before a chunk, extensions included
_CHUNK_LINE = re.compile(rb"[\r\n]{0,8}+[ \t]*+([0-9A-Fa-f]{1,16}+)[^\S\n]*+(?:;[^\n]{0,1000})?\n")
_ONCE_MORE, _LEAST = 10, 64 * 1024  # ratio of a compressed body in its record, beyond so many bytes
_OFFSET = 64  # bits
_LEAST_ROOM, _ROOM = 16 << 20, 6  # bytes of memory, and more of them for each byte of a file
_BESIDE = 64  # bytes that a value takes in memory, beside its text
_SITES = 50  # with a robots.txt or sitemaps, which are remembered
_SITEMAPS = 1000
_ROOTS = re.compile(rb"<(?:urlset|sitemapindex|rss|feed|rdf:RDF)")
_SNIFF = 1024  # bytes
_HOPS = 20
_VALUE = 200  # characters of a media type
_PORTS = {"http": ":80", "https": ":443"}
_OK = range(200, 300)
_NOT_MODIFIED = re.compile(rb"HTTP/[0-9.]+ +304\b")
_PLAIN = re.compile(r"(?:(?!/\.)[!#-$&-;=?-\[\]_a-z~])*")  # no escapes, no other scripts, no dots
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")


class RecordStore(Store):
    """The documents of a WARC file; a place is the offset of a record, and the bytes of its body.

    ``measured`` are the offsets of those that were read until they, or a limit, ended.
    """

    def __init__(self, file: WarcFile, ratio: float | None) -> None:
        super().__init__()
        self._warc = file
        self._ratio = ratio
        self.measured: set[int] = set()

    def read(self, places: Sequence[tuple[int, int]]) -> Iterator[bytes]:
        """Yield the bytes of a body; raises :class:`DamagedDocument` if they are not all there."""
        for offset, size in places:
            left, is_more = size, False
            try:
                for piece in recorded_body(WarcRecord(self._warc, offset), self._ratio):
                    yield piece[:left]
                    is_more, left = len(piece) > left, max(0, left - len(piece))
                    if is_more:
                        break
            except (DamagedRecord, BrokenBody) as error:
                raise DamagedDocument(damaged(error)) from error
            if left or (is_more and offset not in self.measured):
                raise DamagedDocument(damaged(f"it does not have {size:,} bytes"))


def damaged(why: object) -> Reason:
    """Return why a document cannot be read from its record, or not to its end."""
    code = FailureCode.DAMAGED_RECORD
    return Reason(code, f"{code.message}: {why}")


def opened(record: WarcRecord, ratio: float | None = None) -> tuple[RecordedHead, Iterator[bytes]]:
    """Return the head of the response in a record, if it has one, and its body as it was recorded."""
    begun = record.beginning(_HEAD_BYTES)
    kind = record.headers.get("content-type", "")
    bare = RecordedHead(200, "OK", (("Content-Type", kind),) if kind else (), 0)
    head = read_head(begun) or bare
    begun = begun[head.size :]
    if begun.startswith(GZIP):  # what is compressed already becomes hardly smaller
        rest = record.block(min(_ONCE_MORE, ratio or _ONCE_MORE), _LEAST)
    else:
        rest = record.block(ratio)
    return head, chain((begun,) if begun else (), rest)


def recorded_body(record: WarcRecord, ratio: float | None) -> Iterator[bytes]:
    """Yield the body of a response, decoded; raises :class:`DamagedRecord` at its end, or before."""
    head, pieces = opened(record, ratio)
    if "chunked" in (head.header("transfer-encoding") or "").lower():
        pieces = without_chunks(pieces)
    decoder = BodyDecoder(head.header("content-encoding"))
    for piece in pieces:
        yield from decoder.feed(piece)
    yield from decoder.close()
    record.check_end()


@dataclass(frozen=True, slots=True)
class RecordedHead:
    """The head of a response; ``size`` is how many bytes it takes."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    size: int

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name), None)


def read_head(data: bytes) -> RecordedHead | None:
    """Return the head of the response that begins a block, or None if it does not begin so."""
    if not data.startswith(b"HTTP/"):
        return None
    size = end_of_head(data) or len(data)
    head = data[:size].decode("latin-1")
    _, _, rest = head.partition("\n")[0].partition(" ")
    status, _, reason = rest.strip().partition(" ")
    if not (status.isascii() and status.isdigit()) or len(status) != 3:  # noqa: PLR2004
        return None
    headers = tuple(
        (printable(name), printable(value)) for name, value in islice(header_lines(head), _HEADERS)
    )
    return RecordedHead(int(status), printable(reason.strip()), headers, size)


def without_chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a body without its chunks; one that is not chunked after all is yielded as it is."""
    pieces = iter(pieces)
    held, left, is_first = b"", 0, True
    for piece in pieces:
        held += piece
        at, parts = 0, list[bytes]()  # what is small stays together, however small the chunks are
        while at < len(held):
            if left > 0:
                parts.append(held[at : at + left])
                at, left = at + len(parts[-1]), left - len(parts[-1])
                continue
            line = _CHUNK_LINE.match(held, at)
            if line is None and len(held) - at <= _LINE:
                break  # the rest of the line is in the next piece
            if line is None and is_first:
                yield held
                yield from pieces
                return
            left = 0 if line is None else int(line[1], 16)
            if not left or line is None:
                yield b"".join(parts)
                return
            is_first, at = False, line.end()
        held = held[at:]
        if parts:
            yield b"".join(parts)
    if is_first and held:
        yield held


# Files of other programs ----------------------------------------------------------------------------


class Room:
    """How much memory what a file says may take: a few bytes of it can become a lot."""

    def __init__(self, size: int) -> None:
        self._left = _LEAST_ROOM + _ROOM * size

    def take(self, text: int, values: int) -> None:
        """Take room for texts of so many characters; raises ``ValueError`` if there is none."""
        self._left -= text + _BESIDE * values
        if self._left < 0:
            raise ValueError("what the file says takes too much memory")


class ThirdPartyRecords:
    """Where the latest response of each URL of a file is; 16 bytes and a number for each."""

    def __init__(self, file: WarcFile, room: Room) -> None:
        self._file = file
        self._room = room
        self._places: dict[int, int] = {}
        self._revisits: dict[int, int] = {}  # of what may not be in the file itself
        self._unmodified: dict[int, int] = {}  # responses without a document: that is an older one
        self.sites: dict[str, None] = {}
        self.sitemaps: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._places)

    def take(self, record: WarcRecord, limits: Limits) -> None:
        """Take note of a record, if it is of an HTTP response."""
        url = record.url
        if record.kind not in ("response", "revisit", "resource") or limits.too_long(url):
            return
        if not url[:8].lower().startswith(("http://", "https://")):
            return
        date = _date(record)
        moment = 1 if date is None else max(1, int(date.timestamp() * 1_000_000))
        places = self._revisits
        if record.kind != "revisit":
            begun = record.beginning(_SNIFF)
            places = self._unmodified if _NOT_MODIFIED.match(begun) else self._places
            self._look(url, begun)
        key = _key(url)
        places[key] = max(places.get(key, 0), (moment << _OFFSET) | record.offset)

    def _look(self, url: str, begun: bytes) -> None:
        """Take note of websites and sitemaps, so that a homepage can be guessed."""
        path = url_parts(url).path
        is_robots, path = path == "/robots.txt", path.lower()
        found = is_robots or "sitemap" in path or _ROOTS.search(begun) is not None
        named = path.endswith((".xml", ".xml.gz"))  # perhaps compressed, or in chunks
        if (found or named) and not is_robots and len(self.sitemaps) < _SITEMAPS:
            self.sitemaps[url] = None
        if found and len(self.sites) < _SITES:
            self.sites[_site(url)] = None

    def find(self, url: str, limits: Limits) -> Entry | None:
        """Return what a URL answered, redirects followed inside the file; None if it is not there."""
        redirects: list[str] = []
        most = _HOPS if limits.redirects is None else limits.redirects
        target = url
        while (found := self._open(target)) is not None:
            record, head = found
            location = head.header("location") if head.status in REDIRECTS else None
            if location is not None and len(redirects) < most:
                redirects.append(target)
                with suppress(ValueError):  # or no record has it
                    location = urljoin(target, location)
                target = printable(without_login(location))
                continue
            exchange, error = self._exchange(url, target, redirects, record, head), None
            if location is not None or head.status not in _OK:
                said = f"{head.status} {phrase(head.status, head.reason)}".strip()
                why = said if location is None else limits.reached("redirects")
                error = WebClientErrorResponse(
                    why, retryable=False, status=head.status, exchange=exchange
                )
            return Entry(
                url, Role.SITEMAP, None, 1, exchange=exchange, error=error, offset=record.offset
            )
        return None

    def _exchange(
        self, url: str, final_url: str, redirects: list[str], record: WarcRecord, head: RecordedHead
    ) -> Exchange:
        """Return how a response was reached, without headers if all of them take too much memory."""
        headers = safe_headers(head.headers)
        texts = [*redirects, *(text for pair in headers for text in pair)]
        try:
            self._room.take(sum(map(len, texts)), 2 * len(texts))
        except ValueError:
            headers, redirects = (), []
        return Exchange(
            url=url,
            final_url=without_login(final_url),
            status=head.status,
            headers=headers,
            redirects=tuple(redirects),
            attempts=1,
            content_type=(head.header("content-type") or "")[:_VALUE] or None,
            content_encoding=(head.header("content-encoding") or "")[:_VALUE] or None,
            started=_date(record),
            broken=_broken(record),
        )

    def _open(self, url: str) -> tuple[WarcRecord, RecordedHead] | None:
        scheme, _, rest = url.partition("://")
        other = "http" if scheme.lower() == "https" else "https"
        for key in (_key(url), _key(f"{other}://{rest}")):
            place = self._places.get(key) or self._referred(key) or self._unmodified.get(key)
            with suppress(DamagedRecord):
                if place is not None:
                    record = self._record(place)
                    return record, opened(record)[0]
        return None

    def _referred(self, key: int) -> int | None:
        """Return where the response is that a revisit refers to."""
        with suppress(DamagedRecord, KeyError):
            target = self._record(self._revisits[key]).headers["warc-refers-to-target-uri"]
            return self._places.get(_key(target.strip("<> ")))
        return None

    def _record(self, place: int) -> WarcRecord:
        return WarcRecord(self._file, place & ((1 << _OFFSET) - 1))


def _broken(record: WarcRecord) -> Reason | None:
    code, why = FailureCode.BODY_CUT_OFF, record.headers.get("warc-truncated")
    if why is not None:
        return Reason(code, f"{code.message}: the record was truncated ({printable(why[:50])})")
    if "warc-segment-number" in record.headers:
        rest = "the rest is in continuation records, which are not joined"
        return Reason(code, f"{code.message}: {rest}")
    return None


def _date(record: WarcRecord) -> datetime | None:
    try:
        moment = datetime.fromisoformat(record.headers.get("warc-date", ""))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _key(url: str) -> int:
    """Return a number for a URL: the same for those that mean the same, escaped or not."""
    bare = url.partition("#")[0]
    if not _PLAIN.fullmatch(bare):
        with suppress(BadUrl):  # nobody can request it, but the record may have the same text
            bare = _ESCAPE.sub(lambda escape: escape[0].upper(), read_url(bare).text())
    scheme, _, rest = bare.partition("://")
    host, slash, path = rest.partition("/")
    host = host.lower().rpartition("@")[2]
    host = host.removesuffix(_PORTS.get(scheme.lower(), ""))
    return hash((scheme.lower(), host, slash + path if slash else "/"))


def _site(url: str) -> str:
    parts = url_parts(without_login(url))
    scheme = parts.scheme.lower()
    return f"{scheme}://{parts.netloc.lower().removesuffix(_PORTS.get(scheme, ''))}/"

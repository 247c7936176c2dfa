"""The records of a WARC file that another program wrote, found by their URLs."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from usp._base.reason import Reason
from usp._base.safe_text import printable
from usp._base.urls import BadUrl, read_url, url_parts, urljoin, without_login
from usp._http.identity import safe_headers
from usp._http.redirects import REDIRECTS
from usp._snapshot.recorded_bodies import RecordedHead, opened
from usp._snapshot.warc import DamagedRecord
from usp.objects.exchange import Exchange
from usp.objects.failure_codes import FailureCode

if TYPE_CHECKING:
    from usp._snapshot.warc import WarcFile, WarcRecord
    from usp.limits import Limits

_OFFSET = 64  # bits
_SITES = 50  # with a robots.txt or sitemaps, which are remembered
_SITEMAPS = 1000
_ROOTS = re.compile(rb"<(?:urlset|sitemapindex|rss|feed|rdf:RDF)")
_SNIFF = 1024  # bytes
_HOPS = 20
_LEADS = 1000  # redirects that are remembered
_VALUE = 200  # characters of a media type
_PORTS = {"http": ":80", "https": ":443"}
_OK = range(200, 300)
_JOIN = "which are not joined"
_NOT_MODIFIED = re.compile(rb"HTTP/[0-9.]+ +304\b")
_PLAIN = re.compile(r"(?:(?!/\.)[!#-$&-;=?-\[\]_a-z~])*")  # no escapes, no other scripts, no dots
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")


@dataclass(frozen=True, slots=True)
class Capture:
    """A response that was found: where its record is, and how it was reached."""

    record: WarcRecord
    head: RecordedHead
    exchange: Exchange

    @property
    def is_good(self) -> bool:
        """Whether the response has a document."""
        return self.head.status in _OK

    @property
    def is_redirect(self) -> bool:
        """Whether it leads on, and there were too many redirects before it."""
        return self.head.status in REDIRECTS and self.head.header("location") is not None

    @property
    def broken(self) -> Reason | None:
        """Why the program that wrote it did not keep the whole document, if it says so."""
        code, headers = FailureCode.BODY_CUT_OFF, self.record.headers
        why = headers.get("warc-truncated")
        if why is not None:
            return Reason(code, f"{code.message}: the record was truncated ({printable(why[:50])})")
        if "warc-segment-number" in headers:
            return Reason(code, f"{code.message}: the rest is in continuation records, {_JOIN}")
        return None


class ThirdPartyRecords:
    """Where the responses of a file are, the latest one of each URL; 16 bytes and a number for each.

    ``sites`` are the websites with a robots.txt or a sitemap in the file, in the order of the file,
    ``sitemaps`` the URLs of what looks like a sitemap.
    """

    def __init__(self, file: WarcFile) -> None:
        self._file = file
        self._places: dict[int, int] = {}
        self._unsure: dict[int, int] = {}  # revisits of what is not in the file itself
        self._unmodified: dict[int, int] = {}  # responses without a document: that is an older one
        self._leads: dict[str, str] = {}  # redirects, of which many may share a way
        self.sites: dict[str, None] = {}
        self.sitemaps: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._places)

    def take(self, record: WarcRecord, limits: Limits) -> None:
        """Take note of a record, if it is of an HTTP response."""
        url = record.url
        if record.kind not in ("response", "revisit", "resource") or limits.too_long(url):
            return
        scheme = url[:8].lower()
        if not scheme.startswith(("http://", "https://")):
            return
        key, place = _key(url), (_moment(record) << _OFFSET) | record.offset
        if record.kind == "revisit":
            self._unsure[key] = max(self._unsure.get(key, 0), place)
            return
        begun = record.beginning(_SNIFF)
        places = self._unmodified if _NOT_MODIFIED.match(begun) else self._places
        if place >= places.get(key, 0):
            places[key] = place
        self._look(url, begun)

    def _look(self, url: str, begun: bytes) -> None:
        """Take note of websites and sitemaps, so that a homepage can be guessed."""
        path = url_parts(url).path
        if path == "/robots.txt":
            found = True
        else:
            found = "sitemap" in path.lower() or _ROOTS.search(begun) is not None
            named = path.lower().endswith((".xml", ".xml.gz"))  # perhaps compressed, or in chunks
            if (found or named) and len(self.sitemaps) < _SITEMAPS:
                self.sitemaps[url] = None
        if found and len(self.sites) < _SITES:
            self.sites[_site(url)] = None

    def find(self, url: str, limits: Limits) -> Capture | None:
        """Return what a URL answered, redirects followed inside the file; None if it is not there."""
        redirects: list[str] = []
        most = _HOPS if limits.redirects is None else limits.redirects
        target = url
        while True:
            known = self._leads.get(target)
            if known is not None and len(redirects) < most:
                redirects.append(target)
                target = known
                continue
            found = self._open(target)
            if found is None:
                return None
            record, head = found
            location = head.header("location") if head.status in REDIRECTS else None
            if location is None or len(redirects) >= most:
                return Capture(record, head, _exchange(url, target, redirects, record, head))
            redirects.append(target)
            target = printable(without_login(_joined(target, location)))
            if len(self._leads) < _LEADS:
                self._leads[redirects[-1]] = target

    def _open(self, url: str) -> tuple[WarcRecord, RecordedHead] | None:
        for candidate in _variants(url):
            key = _key(candidate)
            place = self._places.get(key)
            if place is None and key in self._unsure:
                place = self._referred(self._unsure[key] & ((1 << _OFFSET) - 1))
            if place is None:
                place = self._unmodified.get(key)
            if place is None:
                continue
            try:
                record = self._file.record(place & ((1 << _OFFSET) - 1))
                head, _ = opened(record)
            except DamagedRecord:
                continue
            return record, head or _bare(record)
        return None

    def _referred(self, offset: int) -> int | None:
        """Return where the response is that a revisit refers to."""
        try:
            target = self._file.record(offset).headers.get("warc-refers-to-target-uri", "")
        except DamagedRecord:
            return None
        return self._places.get(_key(target.strip("<> ")))


def _bare(record: WarcRecord) -> RecordedHead:
    """Return a head for a record that is a document without one."""
    kind = record.headers.get("content-type", "")
    return RecordedHead(200, "OK", (("Content-Type", kind),) if kind else (), 0)


def _exchange(
    url: str, final_url: str, redirects: list[str], record: WarcRecord, head: RecordedHead
) -> Exchange:
    return Exchange(
        url=url,
        final_url=without_login(final_url),
        status=head.status,
        headers=safe_headers(head.headers),
        redirects=tuple(redirects),
        attempts=1,
        content_type=(head.header("content-type") or "")[:_VALUE] or None,
        content_encoding=(head.header("content-encoding") or "")[:_VALUE] or None,
        started=_date(record),
    )


def _joined(base: str, location: str) -> str:
    try:
        return urljoin(base, location)
    except ValueError:  # which no record has
        return location


def _date(record: WarcRecord) -> datetime | None:
    try:
        moment = datetime.fromisoformat(record.headers.get("warc-date", ""))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _moment(record: WarcRecord) -> int:
    date = _date(record)
    return 0 if date is None else max(0, int(date.timestamp() * 1_000_000))


def _key(url: str) -> int:
    """Return a number for a URL: the same for those that mean the same.

    Programs write what they request, and sitemaps what their authors read: other scripts are escaped
    in the one, and may not be in the other.
    """
    bare = url.partition("#")[0]
    if not _PLAIN.fullmatch(bare):
        with suppress(BadUrl):  # nobody can request it, but the record may have the same text
            bare = _ESCAPE.sub(lambda escape: escape[0].upper(), read_url(bare).text())
    scheme, _, rest = bare.partition("://")
    host, slash, path = rest.partition("/")
    host = host.lower().rpartition("@")[2]
    host = host.removesuffix(_PORTS.get(scheme.lower(), ""))
    return hash((scheme.lower(), host, slash + path if slash else "/"))


def _variants(url: str) -> tuple[str, str]:
    scheme, _, rest = url.partition("://")
    other = "http" if scheme.lower() == "https" else "https"
    return url, f"{other}://{rest}"


def _site(url: str) -> str:
    parts = url_parts(without_login(url))
    scheme = parts.scheme.lower()
    return f"{scheme}://{parts.netloc.lower().removesuffix(_PORTS.get(scheme, ''))}/"

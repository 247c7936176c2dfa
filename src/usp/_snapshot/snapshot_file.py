"""An open snapshot: what it is of, the options of its crawl, and where its documents are.

The options of a file describe the crawl that was. Those that are plain data are used again, within
bounds; limits, filters and pauses are not: they only explain why something is not in the file.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import InitVar, asdict, dataclass, field, fields, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from usp._base.display import printable
from usp._base.urls import is_http_url, without_fragment, without_login
from usp._formats.document import Role
from usp._snapshot.recorded_responses import RecordStore, Room, ThirdPartyRecords
from usp._snapshot.snapshot_entries import (
    Entry,
    flag,
    listed,
    mapping,
    read_entry,
    read_json,
    read_table,
    seconds,
    text,
    whole,
)
from usp._snapshot.warc import GZIP, LOSSES, DamagedRecord, WarcFile, WarcRecord
from usp._snapshot.warc_writing import ACCEPTED, END, END_FIELD, ENTRY_FIELD, INDEX
from usp.exceptions import SnapshotError
from usp.limits import DEFAULT, Limits
from usp.options import CrawlOptions

if TYPE_CHECKING:
    import os


_ENTRY_FIELD, _END_FIELD = ENTRY_FIELD.encode(), END_FIELD.encode()
_TAIL = 8 * 1024  # bytes in which the last record begins, and that it has at most
_TRIES = 16  # beginnings of it
_ENTRY = 512 * 1024  # bytes of one entry
_STARTS = ("website", "sitemap")
_MOST_TEXTS, _LONGEST = 1000, 2000  # known paths, and characters of one


# The options of the recorded crawl ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecordedOptions:
    """The options of a recorded crawl, as far as its file may choose them.

    ``values`` are used again. ``filters`` are not when the file is loaded: what they left out is what
    is not in it, and so it is with ``callbacks``. ``limits`` are only why something is not in the file.
    ``ignored`` are names of options that are ignored in a file.
    """

    values: dict[str, Any] = field(default_factory=dict)
    limits: Limits | None = None
    filters: dict[str, tuple[str, ...] | str] = field(default_factory=dict)
    callbacks: bool = False
    ignored: tuple[str, ...] = ()


def merged_limits(choose: Callable[..., Any], one: Limits, other: Limits) -> Limits:
    """Return the lower ones of two limits each, with ``min``, or the higher ones, with ``max``."""
    pairs = zip(asdict(one).items(), asdict(other).values(), strict=True)
    return Limits(**{name: choose(a, b, key=_height) for (name, a), b in pairs})


def _height(limit: float | None) -> float:
    return math.inf if limit is None else limit


def option_values(options: CrawlOptions) -> dict[str, Any]:
    """Return the options that decide what is in the tree; none of them is a secret."""
    usual = CrawlOptions()
    values = {
        name: value
        for name in (*_FLAGS, "extra_known_paths", *_FILTERS)
        if (value := getattr(options, name)) != getattr(usual, name)
    }
    if isinstance(since := options.sitemaps_since, date):
        values["sitemaps_since"] = since.isoformat()
    if options.limits is not None:
        values["limits"] = asdict(options.limits)
    if any(getattr(options, name) for name in _CALLBACKS):
        values["callbacks"] = True
    return values


def read_options(given: object) -> RecordedOptions:
    """Return the options that a file records; raises ``ValueError`` for what cannot be options."""
    values = read_table(_OPTIONS, given)
    ignored = tuple(sorted(mapping(given).keys() - _OPTIONS.keys()))[:_MOST_TEXTS]
    limits, callbacks = values.pop("limits", None), values.pop("callbacks", False)
    CrawlOptions(**values)  # which checks them
    filters = {name: values.pop(name) for name in _FILTERS if name in values}
    return RecordedOptions(values, limits, filters, callbacks, ignored)


def _texts(given: object) -> tuple[str, ...]:
    texts = tuple(map(text, listed(given)))
    if len(texts) > _MOST_TEXTS or any(len(one) > _LONGEST or not one for one in texts):
        raise ValueError("these are too many or too long")
    return texts


def _limits(given: object) -> Limits:
    """Return recorded limits; those that only another version knows are left out."""
    values = mapping(given)
    return Limits(**{one.name: values[one.name] for one in fields(Limits) if one.name in values})


_FLAGS = (
    *("use_robots", "use_known_paths", "use_html_links", "use_html_sitemaps"),
    "use_neighbours",
    "use_llms_txt",
    "normalize_homepage_url",
)
_PATTERNS = ("include_sitemaps", "exclude_sitemaps")
_FILTERS = (*_PATTERNS, "sitemaps_since")
_CALLBACKS = ("recurse_callback", "recurse_list_callback", "recurse_entry_callback")
_OPTIONS: dict[str, Callable[[object], Any]] = {
    **dict.fromkeys(_FLAGS, flag),
    **dict.fromkeys(("extra_known_paths", *_PATTERNS), _texts),
    "sitemaps_since": lambda given: _texts([given])[0],
    "limits": _limits,
    "callbacks": flag,
}


# The file -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class OpenSnapshot:
    """The documents of a WARC file, by what they were asked for as and their URLs.

    ``start`` is where the crawl began ("website" or "sitemap", and its URL), ``options`` what decided
    what is in the tree. A file that another program wrote has neither; its records are
    ``third_party``. ``unread`` is why the options cannot be read, if they cannot. ``is_complete`` is
    whether the end of the file is there, ``losses`` are what could not be read. ``seconds`` is how long
    the last full crawl took, if that is known; ``is_accepted`` whether somebody accepted that documents
    are missing that were there before. ``room`` is how much memory may be taken for what the file says.
    """

    file: WarcFile
    ratio: InitVar[float | None] = None
    store: RecordStore = field(init=False)
    start: tuple[str, str] | None = None
    options: RecordedOptions = field(default_factory=RecordedOptions)
    unread: str | None = None
    entries: dict[tuple[Role, str], Entry] = field(default_factory=dict)
    seconds: float | None = None
    is_accepted: bool = False
    third_party: ThirdPartyRecords | None = None
    is_complete: bool = True
    losses: list[str] = field(default_factory=list)
    room: Room = field(init=False, repr=False)
    _sound: dict[int, bool] = field(default_factory=dict, repr=False)

    def __post_init__(self, ratio: float | None) -> None:
        self.store = RecordStore(self.file, ratio)
        self.room = Room(self.file.size)

    @property
    def documents(self) -> int:
        return len(self.entries if self.third_party is None else self.third_party)

    def has(self, url: str, above: Container[str] = ()) -> bool:
        """Return whether the file says what became of a URL, which is not one of those above it."""
        url = without_fragment(url)
        bare = without_login(url)
        return url not in above and any((role, bare) in self.entries for role in Role)

    def is_sound(self, entry: Entry) -> bool:
        """Return whether the records of a document are as they were written, as far as that is known.

        Nothing is decompressed for it, so that it takes a small part of the time of reading them.
        """
        if entry.crc is None:
            return True
        if entry.start not in self._sound:
            found = self.file.checksum(entry.start, entry.end)
            self._sound[entry.start] = found == entry.crc
        return self._sound[entry.start]


def open_snapshot(path: str | os.PathLike[str], limits: Limits = DEFAULT) -> OpenSnapshot:
    """Open a snapshot, or a WARC file of another program, within the limits of the reader.

    Raises :class:`SnapshotError` for a file that is neither, and ``OSError`` for none at all.
    """
    file = WarcFile(path)
    try:
        snapshot = OpenSnapshot(file, limits.ratio)
        if not _read_index(snapshot):
            _Scan(snapshot, limits).read()
    except BaseException:
        file.close()
        raise
    return snapshot


def start_of(path: str | os.PathLike[str]) -> str | None:
    """Return the website or sitemap that a snapshot is of; None for another program's file.

    Nothing but its first record is read. Raises ``OSError`` if it cannot be opened.
    """
    with closing(WarcFile(path)) as file, suppress(DamagedRecord):
        start = _read_info(OpenSnapshot(file), WarcRecord(file, 0)).start
        return None if start is None else start[1]
    return None


def unfinished_snapshot(
    path: str | os.PathLike[str], entries: Mapping[tuple[Role, str], Entry]
) -> OpenSnapshot:
    file = WarcFile(path)
    return _read_info(OpenSnapshot(file, entries=dict(entries)), WarcRecord(file, 0))


def _read_index(snapshot: OpenSnapshot) -> bool:
    """Read the index at the end of a file, if there is one that is true of it."""
    file = snapshot.file
    try:
        last = _last_record(file)
        facts = mapping(read_json(last.beginning(_TAIL).removeprefix(_END_FIELD)))
        index = WarcRecord(file, whole(facts["index"]))
        if last.url != END or last.skip() != file.size or index.url != INDEX:
            return False
        entries = [_read_line(snapshot, line) for line in _lines(index.block())]
        # It may be that of another snapshot, in front of this one.
        is_true = index.skip() == last.offset and len(entries) == facts["documents"]
        if not is_true or not _are_apart(entries, 0, index.offset):
            return False
        _read_info(snapshot, WarcRecord(file, 0))
    except (DamagedRecord, ValueError, KeyError):
        snapshot.room = Room(file.size)
        return False
    snapshot.entries = {entry.key: entry for entry in entries}
    with suppress(ValueError, KeyError):
        snapshot.seconds = seconds(facts["seconds"])
        snapshot.is_accepted = facts.get(ACCEPTED) is True
    return snapshot.start is not None


def _last_record(file: WarcFile) -> WarcRecord:
    begin = max(0, file.size - _TAIL)
    tail = file.read(begin, _TAIL)
    at = len(tail)
    for _ in range(_TRIES):
        at = tail.rfind(GZIP, 0, at)
        if at < 0:
            break
        with suppress(DamagedRecord):
            return WarcRecord(file, begin + at)
    raise DamagedRecord(f"{file.path} does not end with a record")


def _read_line(snapshot: OpenSnapshot, line: bytes) -> Entry:
    """Return the entry in a line; raises ``ValueError`` if it is none, or there is no room for it."""
    snapshot.room.take(len(line), sum(map(line.count, (b",", b"[", b"{"))))
    return read_entry(line.removeprefix(_ENTRY_FIELD))


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    held = b""
    for piece in pieces:
        *lines, held = (held + piece).split(b"\n")
        yield from lines
        if len(held) > _ENTRY:
            raise ValueError("an entry of the snapshot is too large")
    if held:
        yield held


def _are_apart(entries: Iterable[Entry], start: int, end: int) -> bool:
    """Return whether each document has records of its own, in this part of the file."""
    places = [one for entry in entries for one in (entry, entry.last_good) if one is not None]
    for one in sorted(places, key=lambda one: (one.start, one.end)):
        if not start <= one.start <= one.end <= end:
            return False
        if one.offset is not None and not one.start <= one.offset < one.end:
            return False
        start = one.end
    return True


class _Scan:
    """Reads a file record by record: one without its end, or one of another program."""

    def __init__(self, snapshot: OpenSnapshot, limits: Limits) -> None:
        self._snapshot = snapshot
        self._limits = limits
        self._since = 0  # where the last entry is
        self._start = 0  # of the records of the next entry
        self._responses: list[int] = []  # of the next entry
        self._third_party = ThirdPartyRecords(snapshot.file, snapshot.room)
        self._has_end = False

    def read(self) -> None:
        snapshot, limits = self._snapshot, self._limits
        ends_at = None if limits.seconds is None else time.monotonic() + limits.seconds
        is_late = False
        spans = snapshot.file.spans()
        if not snapshot.file.size:
            raise SnapshotError(f"{snapshot.file.path} is empty")
        if not spans:
            raise SnapshotError(f"{snapshot.file.path} is a zip archive without WARC files")
        for span in spans:
            for record in snapshot.file.records(span, limits, snapshot.losses):
                with suppress(DamagedRecord):  # going on to the next record reports it
                    self._take(record)
                if is_late := ends_at is not None and time.monotonic() >= ends_at:
                    snapshot.losses.insert(0, limits.reached("seconds").text)
                    break
        snapshot.is_complete = not snapshot.losses
        if snapshot.start:
            snapshot.is_complete &= self._has_end
            return
        snapshot.third_party = self._third_party
        if not self._third_party and not is_late:
            raise SnapshotError(f"{snapshot.file.path} has no records of HTTP responses")

    def _take(self, record: WarcRecord) -> None:
        snapshot, offset = self._snapshot, record.offset
        if record.kind == "warcinfo" and not snapshot.start:
            _read_info(snapshot, record)
        elif not snapshot.start:
            self._third_party.take(record, self._limits)
        elif record.kind != "metadata":
            if not self._responses:
                self._start = offset
            if record.kind == "response":
                self._responses.append(offset)
        elif record.url in (END, INDEX):
            self._has_end |= record.url == END
        elif (line := record.beginning(_ENTRY)).startswith(_ENTRY_FIELD):
            try:
                self._take_entry(line, offset)
            except ValueError as error:
                if len(snapshot.losses) < LOSSES:
                    snapshot.losses.append(f"at byte {offset:,}: {error}")
            self._responses.clear()
            self._since = offset

    def _take_entry(self, line: bytes, end: int) -> None:
        """Take an entry that follows its records; raises ``ValueError`` if that is not so."""
        entry = _read_line(self._snapshot, line)
        entry = entry.moved(end - entry.entry_offset)
        is_here = entry.offset is None or (
            entry.offset in self._responses
            and self._snapshot.file.read(entry.offset, len(GZIP)) == GZIP
        )
        if not is_here or not _are_apart([entry], self._since, end):  # it was compressed anew
            entry = replace(entry, start=end, end=end, last_good=None, crc=None)
            if entry.offset is not None:
                at = self._responses[-1] if self._responses else -1
                entry = replace(entry, start=self._start, offset=at)
        if not _are_apart([entry], self._since, end):
            raise ValueError(f"the records of {entry.url} are elsewhere")
        self._snapshot.entries[entry.key] = entry


def _read_info(snapshot: OpenSnapshot, record: WarcRecord) -> OpenSnapshot:
    """Take over what the first record says about the crawl."""
    lines = record.beginning(_ENTRY).split(b"\n") if record.kind == "warcinfo" else ()
    values = dict(
        line.split(b": ", 1) for line in lines if line.startswith(b"usp-") and b": " in line
    )
    with suppress(KeyError, ValueError):
        options = values[b"usp-options"]
        ((kind, url),) = mapping(read_json(values[b"usp-start"])).items()
        if kind not in _STARTS or not is_http_url(text(url)):
            return snapshot
        snapshot.start = kind, printable(url)
        try:
            snapshot.options = read_options(read_json(options))
        except (ValueError, TypeError) as error:
            snapshot.unread = f"its recorded options cannot be read: {error}"
    return snapshot

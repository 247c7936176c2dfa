"""An open snapshot: what it is of, and where its documents are."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from usp._snapshot.bodies import RecordStore
from usp._snapshot.entries import Entry, read_entry
from usp._snapshot.foreign import ForeignRecords
from usp._snapshot.warc import GZIP, DamagedRecord, Span, WarcFile
from usp._snapshot.writing import END, END_FIELD, ENTRY_FIELD, INDEX
from usp.exceptions import SnapshotError
from usp.limits import DEFAULT, Limits

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator

    from usp._formats.document import Role
    from usp._snapshot.warc import Record

_ENTRY_FIELD, _END_FIELD = ENTRY_FIELD.encode(), END_FIELD.encode()
_TAIL = 8 * 1024  # bytes in which the last record begins
_ENTRY = 512 * 1024  # bytes of one entry
_LEAST_ROOM, _ROOM = (
    16 * 1024 * 1024,
    20,
)  # bytes of all entries: so many, and more for each byte of the file


@dataclass(slots=True)
class Snapshot:
    """The documents of a WARC file, by what they were asked for as and their URLs.

    ``start`` is where the crawl began, ``options`` what decided what is in the tree; both are empty for
    a file that another program wrote, whose records are ``foreign``. ``is_complete`` is whether the end
    of the file is there, ``losses`` are what could not be read. ``facts`` are those of the last record.
    """

    file: WarcFile
    store: RecordStore
    start: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    entries: dict[tuple[Role, str], Entry] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    foreign: ForeignRecords | None = None
    is_complete: bool = True
    losses: list[str] = field(default_factory=list)
    _sound: dict[int, bool] = field(default_factory=dict, repr=False)

    @property
    def limits(self) -> Limits | None:
        """The limits of the recorded crawl, if it had others than the usual ones.

        Raises ``TypeError`` or ``ValueError`` if what is written there cannot be limits.
        """
        values = self.options.get("limits")
        return None if values is None else Limits(**values)

    def is_sound(self, entry: Entry) -> bool:
        """Return whether the records of a document are as they were written, as far as that is known.

        Nothing is decompressed for it, so that it takes a small part of the time of reading them.
        """
        if entry.sum is None:
            return True
        known = self._sound.get(entry.start)
        if known is None:
            known = self.file.checksum(entry.start, entry.end) == entry.sum
            self._sound[entry.start] = known
        return known


def open_snapshot(path: str | os.PathLike[str], limits: Limits = DEFAULT) -> Snapshot:
    """Open a snapshot, or a WARC file of another program.

    Raises :class:`SnapshotError` for a file that is neither, and ``OSError`` for none at all.
    """
    file = WarcFile(path)
    if not file.size:
        file.close()
        raise SnapshotError(f"{file.path} is empty")
    try:
        snapshot = Snapshot(file, RecordStore(file))
        if not _read_index(snapshot):
            _read_records(snapshot, limits)
    except BaseException:
        file.close()
        raise
    return snapshot


def _read_index(snapshot: Snapshot) -> bool:
    """Read the index at the end of a file, if there is one that is true of it."""
    file = snapshot.file
    try:
        facts = _facts(file)
        if facts is None:
            return False
        at = int(facts["index"])
        index = file.record(at)
        if index.url != INDEX:
            return False
        room = _Room(file)
        entries = [
            read_entry(room.taken(line).removeprefix(_ENTRY_FIELD))
            for line in _lines(index.block())
        ]
        if len(entries) != facts["documents"] or not all(_is_inside(one, at) for one in entries):
            return False
        _read_info(snapshot, file.record(0))
    except (DamagedRecord, ValueError, KeyError, TypeError, RecursionError):
        return False
    snapshot.entries = {entry.key: entry for entry in entries}
    snapshot.facts = facts
    return bool(snapshot.start)


def _facts(file: WarcFile) -> dict[str, Any] | None:
    """Return what the last record says, if it is ours and ends the file."""
    begin = max(0, file.size - _TAIL)
    tail = file.read(begin, _TAIL)
    at = tail.rfind(GZIP)
    while at >= 0:
        try:
            record = file.record(begin + at)
            if record.url == END:
                data = b"".join(record.block())
                if record.skip() == file.size:
                    facts = json.loads(data.removeprefix(_END_FIELD))
                    return facts if isinstance(facts, dict) else None
                return None
        except DamagedRecord:
            pass
        at = tail.rfind(GZIP, 0, at)
    return None


class _Room:
    """How much the entries of a file may take: a few bytes of it can become a lot."""

    def __init__(self, file: WarcFile) -> None:
        self._left = _LEAST_ROOM + _ROOM * file.size

    def taken(self, line: bytes) -> bytes:
        """Return an entry; raises ``ValueError`` if there is no room for it."""
        self._left -= len(line)
        if self._left < 0:
            raise ValueError("the entries of the snapshot are too large")
        return line


def _lines(pieces: Iterable[bytes]) -> Iterator[bytes]:
    held = b""
    for piece in pieces:
        *lines, held = (held + piece).split(b"\n")
        yield from lines
        if len(held) > _ENTRY:
            raise ValueError("an entry of the snapshot is too large")
    if held:
        yield held


def _is_inside(entry: Entry, end: int) -> bool:
    if entry.before is not None and not _is_inside(entry.before, end):
        return False
    return 0 <= entry.start <= (entry.at or entry.start) <= entry.end <= end


def _read_records(snapshot: Snapshot, limits: Limits) -> None:
    """Read a file record by record: one without its end, or one of another program."""
    scan = _Scan(snapshot, limits)
    for span in _spans(snapshot.file):
        for record in snapshot.file.records(span, limits, snapshot.losses):
            with suppress(DamagedRecord):  # going on to the next record tells of it
                scan.take(record)
    if snapshot.start:
        snapshot.is_complete = scan.has_end and not snapshot.losses
    else:
        snapshot.foreign = scan.foreign
        snapshot.is_complete = not snapshot.losses
        if not scan.foreign:
            raise SnapshotError(f"{snapshot.file.path} has no records of HTTP responses")


class _Scan:
    """Takes over what the records of a file say, one by one."""

    def __init__(self, snapshot: Snapshot, limits: Limits) -> None:
        self._snapshot = snapshot
        self._limits = limits
        self._room = _Room(snapshot.file)
        self._start = 0  # of the records of the next entry
        self._responses: list[int] = []  # of the next entry
        self.foreign = ForeignRecords(snapshot.file)
        self.has_end = False

    def take(self, record: Record) -> None:
        """Take a record."""
        snapshot = self._snapshot
        if record.kind == "warcinfo" and not snapshot.start:
            _read_info(snapshot, record)
        elif record.kind == "metadata" and snapshot.start:
            self._take_metadata(record)
        elif not snapshot.start:
            self.foreign.take(record, self._limits)
        else:
            if not self._responses:
                self._start = record.offset
            if record.kind == "response":
                self._responses.append(record.offset)

    def _take_metadata(self, record: Record) -> None:
        if record.url in (END, INDEX):
            self.has_end |= record.url == END
            return
        text = record.beginning(_ENTRY)
        if text.startswith(_ENTRY_FIELD):
            self._take_entry(record, text)
            self._responses.clear()

    def _take_entry(self, record: Record, text: bytes) -> None:
        snapshot, where = self._snapshot, f"at byte {record.offset:,}"
        try:
            entry = read_entry(self._room.taken(text).removeprefix(_ENTRY_FIELD))
        except ValueError as error:
            snapshot.losses.append(f"{where}: {error}")
            return
        entry = self._placed(_moved(entry, record.offset - entry.here), record.offset)
        if _is_inside(entry, record.offset):
            snapshot.entries[entry.key] = entry
        else:
            snapshot.losses.append(f"{where}: the records of {entry.url} are elsewhere")

    def _placed(self, entry: Entry, end: int) -> Entry:
        """Return an entry with the places of its records, also if they were compressed anew."""
        if entry.at is None or entry.at in self._responses:
            return entry
        at = self._responses[-1] if self._responses else -1
        return replace(entry, start=self._start, end=end, at=at, before=None, sum=None)


def _spans(file: WarcFile) -> list[Span]:
    spans = file.spans()
    if not spans:
        raise SnapshotError(f"{file.path} is a zip archive without WARC files")
    return spans


def _read_info(snapshot: Snapshot, record: Record) -> None:
    """Take over what the first record says about the crawl."""
    if record.kind != "warcinfo":
        return
    text = record.beginning(_ENTRY).decode("utf-8", "replace")
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    try:
        start, options = json.loads(fields["usp-start"]), json.loads(fields["usp-options"])
    except (KeyError, ValueError, RecursionError):
        return
    if isinstance(start, dict) and isinstance(options, dict):
        snapshot.start, snapshot.options = start, options


def _moved(entry: Entry, by: int) -> Entry:
    if not by:
        return entry
    return replace(
        entry,
        start=entry.start + by,
        end=entry.end + by,
        at=None if entry.at is None else entry.at + by,
        before=None if entry.before is None else _moved(entry.before, by),
    )

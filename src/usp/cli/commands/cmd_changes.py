"""``usp changes``: what was added, changed and removed in a dataset, for people and for consumers."""

from __future__ import annotations

import signal
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

import rich_click as click

from usp._base.display import counted, printable
from usp._base.files import replacing
from usp.cli import options
from usp.cli.errors import messages, reading_dataset
from usp.cli.option_values import bad_value, new_path, value_of
from usp.cli.output import naming, write_text

if TYPE_CHECKING:
    from pathlib import Path

    from usp.fleet.current import ChangesFeed

_FORMATS = ("text", "jsonl", "csv", "parquet", "atom")
_ENDLESS = ("text", "jsonl")
_MOST_ENTRIES = 1000  # of an Atom feed
_FROM: Any = {"from": {"name": "after", "type": click.IntRange(0)}}  # a word of Python's
_PAUSE = 5.0  # seconds between two looks at a dataset


@options.command("changes")
@click.argument("dataset")
@options.table(
    {
        "--since DATE": "Only changes seen on this date or later: 2025-01-31, or 1h, 7d, 4w ago.",
        "--from POSITION": "Only changes that came after this position, which an earlier call has "
        "shown.",
        "--position FILE": "Read the position from this file, and write the new one to it: each "
        "change is given once.",
        "--follow": "Go on: show changes as they are committed, until Ctrl-C.",
        "--only KINDS": "Only these changes, comma-separated: added, changed, removed, moved.",
        "--site SITE": "Only changes of this site.",
    },
    **_FROM,
    position={"name": "position_file", "type": new_path},
)
@options.results(
    _FORMATS,
    "text: a line for each change (the default). jsonl: an object per line. csv, parquet: a table. "
    "atom: a feed of the latest 1,000.",
)
@options.common_options
def command(
    dataset: str,
    after: int | None,
    position_file: Path | None,
    follow: bool,
    form: str | None,
    output: Path | None,
    **wanted: str | None,
) -> None:
    """Show what was added, changed, removed and moved in a dataset.

    The oldest change is the first. DATASET is the folder, or the URL in an object store, that 'usp
    crawl' writes to; the crawl may still be running. At the end, the position is shown: the next call
    with --from gives exactly what came after it. Lines begin with the time, and + (added), ~ (changed),
    - (removed) or > (moved to another sitemap). Needs the extra fleet.

    Examples:
      usp changes dataset --since 1h              of the last hour
      usp changes dataset --from 57 -f jsonl      what came after position 57
      usp changes dataset --position state        what came since the last call
      usp changes dataset --follow --only added   new pages as they are found
    """
    from usp.cli.run_options import handling
    from usp.fleet.current import ChangesFeed

    form = options.format_for(output, form, _FORMATS, "text")
    if follow and (form not in _ENDLESS or output is not None):
        raise click.UsageError("--follow writes text or jsonl to the standard output")
    if form == "parquet" and output is None:
        raise click.UsageError("a Parquet file needs -o FILE")
    chosen = _chosen(**wanted)
    total, stop = 0, threading.Event()
    with reading_dataset() as aside:
        feed: ChangesFeed = aside(ChangesFeed, dataset)
        if chosen["site"] is not None and not aside(feed.has_site, chosen["site"]):
            messages.notice(f"{dataset} has no site {chosen['site']!r}")
    before = _read_position(position_file, feed)
    after = before if after is None else after
    with (
        handling(lambda *_: stop.set(), signal.SIGINT, signal.SIGTERM) if follow else nullcontext()
    ):
        while True:
            found, position = aside(partial(feed.read, after, **chosen))
            total += _write(found, form, output, dataset)
            if position_file is not None and position != before:
                with replacing(position_file) as file:
                    file.write(f"{position} {feed.id}\n".encode())
            after = before = position
            if not follow or stop.wait(_PAUSE):
                break
    messages.wrote(output, total, "change")
    messages.notice(
        f"{counted(total, 'change')}; position {after}: --from {after} gives what comes after it",
        changes=total,
        position=after,
    )


def _chosen(since: str | None, only: str | None, site: str | None) -> dict[str, Any]:
    """Return which changes are wanted."""
    from usp._base.filters import period
    from usp.fleet.tables import CHANGES

    kinds = CHANGES if only is None else tuple(word.strip() for word in only.split(","))
    if unknown := set(kinds) - set(CHANGES):
        reason = f"unknown kind {min(unknown)!r}; choose from {', '.join(CHANGES)}"
        raise bad_value("--only", reason)
    with value_of("--since"):
        return {
            "since": None if since is None else period("since", since)[0],
            "kinds": kinds,
            "site": site,
        }


def _read_position(file: Path | None, feed: ChangesFeed) -> int | None:
    """Return the position in a file; None if there is no file yet.

    Raises an error for that of another dataset. A file of an earlier version has only the number.
    """
    if file is None or not file.exists():
        return None
    text = file.read_text("utf-8", "replace").strip()
    number, _, of = text.partition(" ")
    if not number.isascii() or not number.isdigit():
        raise bad_value("--position", f"{str(file)!r} has no position, but {text[:40]!r}")
    if of not in ("", feed.id):
        reason = f"{str(file)!r} has the position of another dataset; remove it to begin anew"
        raise bad_value("--position", reason)
    return int(number)


def _write(found: Any, form: str, output: Path | None, dataset: str) -> int:
    """Write changes in a format; return how many they are."""
    from usp.export.schema import Kind
    from usp.export.text_formats import opened, write_rows

    count = 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal count
        for row in chain.from_iterable(batch.to_pylist() for batch in found):
            count += 1
            yield {name: _plain(value) for name, value in row.items()}

    if form == "parquet":
        assert output is not None
        with (
            naming(output),
            opened(output, form) as stream,
            _parquet(stream, found.schema) as table,
        ):
            for batch in found:
                count += batch.num_rows
                table.write_batch(batch)
    elif form == "atom":
        write_text(_atom(deque(rows(), _MOST_ENTRIES), dataset), output)
    elif form == "text":
        write_text(map(_line, rows()), output)
    else:
        kinds = dict.fromkeys(found.schema.names, Kind.TEXT)
        with naming(output), opened(output or sys.stdout, form) as stream:
            write_rows((tuple(row.values()) for row in rows()), stream, form, kinds)
    return count


def _parquet(stream: Any, schema: Any) -> Any:
    from usp.export.schema import pyarrow

    return pyarrow(".parquet").ParquetWriter(stream, schema)


def _plain(value: Any) -> Any:
    from usp._base.dates import utc_text

    return utc_text(value) if isinstance(value, datetime) else value


def _line(row: dict[str, Any]) -> str:
    from usp.changes.change_values import SIGNS, ChangeKind

    before, after, title = row["previous_lastmod"], row["lastmod"], row["title"]
    dates = f"{before or 'none'} -> {after or 'none'}" if before != after and before else after
    details = ": ".join(filter(None, (dates, title)))
    sign = SIGNS[ChangeKind(row["kind"])]
    return printable(f"{row['seen_at']} {sign} {row['url']}{details and f'  {details}'}")


def _atom(rows: deque[dict[str, Any]], dataset: str) -> Iterable[str]:
    from usp.cli.commands.cmd_watch import atom_entry, atom_feed

    entries = [
        atom_entry(row["kind"], row["url"], row["title"], row["seen_at"], _line(row))
        for row in reversed(rows)
    ]
    updated = rows[-1]["seen_at"] if rows else _plain(datetime.now(UTC).replace(microsecond=0))
    return atom_feed(dataset, entries, updated)

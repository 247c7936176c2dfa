"""``usp watch``: shows new and changed pages of a website, or hands them to a command."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import InitVar, dataclass, field, replace
from hashlib import blake2b
from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import rich_click as click
from click.exceptions import Exit

from usp._base.display import clock, counted, duration
from usp._base.urls import is_http_url
from usp.cli import options
from usp.cli.errors import FAILED, PARTIAL, messages, update_warning, why, words_of
from usp.cli.option_values import bad_value, new_path
from usp.cli.output import naming, write_text
from usp.cli.watch_outputs import ENTRIES, NewsFeed, post, run_command, webhook

if TYPE_CHECKING:
    from usp.changes import PageChange
    from usp.changes.watching import Round

_LOOK = 4096  # characters in which the root of an OPML file is looked for
_USUALLY = 900.0  # seconds from one round of all feeds to the next
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def _shell_command(text: str) -> str:
    """Refuse an empty command, which would take the changes and do nothing with them."""
    if not text.strip():
        raise click.BadParameter("the command is empty")
    return text


@options.command("watch")
@options.url_argument
@options.table(
    {
        "--snapshot FILE": "Snapshot that stores the last state, for example site.warc.gz; it is "
        "created if necessary. Without it, the state is lost when the command ends.",
        "--every TIME": "Request all sitemaps at this interval, for example 90s, 5m or 1h; varied by "
        "up to 10 %. Without it, each has its own rhythm, from 5 minutes to a day.",
        "--exec COMMAND": "Run this command for each batch of changes, which it gets as JSON lines "
        "on its standard input. Failed batches are retried.",
        "--post ADDRESS": "Send each batch of changes to this address, as JSON by POST, in place of "
        "writing it. Failed batches are retried.",
        "--feed FILE": "Keep the latest 100 changes in this file, an Atom feed.",
        "--removed": "Show pages that are gone, too.",
        "--existing": "Begin with the pages that exist when the snapshot is created.",
        "--trust-lastmod": "Do not request sitemaps whose index declares the same lastmod as before.",
    },
    snapshot={"type": lambda text: Path(text) if Path(text).is_dir() else new_path(text)},
    post={"type": webhook, "name": "post_to"},
    feed={"type": new_path, "name": "feed_path"},
    exec={"name": "shell_command", "type": _shell_command},
)
@options.results(
    ["text", "jsonl"],
    "text: a line for each change (the default). jsonl: an object per line.",
    "Append to this file; its suffix sets the format.",
)
@options.accept
@options.table({"--rounds N": "Stop after this many rounds."})
@options.run_options
def command(
    run: options.RunOptions,
    start: options.Input,
    snapshot: Path | None,
    every: float | None,
    form: str | None,
    output: Path | None,
    **given: Any,
) -> None:
    """Watch a website: show new and changed pages as they appear.

    URL is a website or a sitemap, or an OPML file, whose feeds are watched one after another; then
    --snapshot is a folder, with a snapshot for each feed. The first round records it in the snapshot;
    each later one fetches only what has changed. Lines begin with + (new) or ~ (changed: which fields,
    from what to what), on a terminal after the time. Errors are reported, and the next round tries
    again. Ctrl-C and SIGTERM end the command after the current batch, with exit status 0. When it is
    started again, it continues where it was: no page is lost, and after a crash the last batch may come
    twice. Needs the extra warc.

    If more of the pages would be gone than --max-removed, nothing is reported as removed, and the
    snapshot stays as it was until they are back, or the command is started with --accept.

    The exit status is 1 if that is so in the last round of --rounds, if more than half of the pages
    could not be read in it, or if its changes could not be delivered; with --strict, it is 3 if
    anything was missing in it.

    Examples:
      usp watch example.org --snapshot site.warc.gz
      usp watch example.org --snapshot s.warc.gz --every 1h -o new.jsonl
      usp watch feeds.opml --snapshot states/ --every 30m
      usp watch example.org --snapshot site.warc.gz --exec 'jq -r .url | notify'
    """
    from usp.changes.watching import watch
    from usp.cli.run_options import handling

    feeds = _feeds_in(start.path) if start.path is not None else {}
    if start.is_local and not feeds:
        raise click.UsageError(
            "only a website or a sitemap on the web can be watched, not a file, unless it is OPML with"
            " feeds"
        )
    _check_state(snapshot, is_folder=bool(feeds))
    form = options.format_for(output, form, ("text", "jsonl"), "text")
    own = {name: given.pop(name) for name in ("shell_command", "post_to", "feed_path", "removed")}
    if [output, own["shell_command"], own["post_to"]].count(None) < 2:  # noqa: PLR2004
        raise click.UsageError("choose one of -o, --exec and --post")
    messages.timed = sys.stderr.isatty()
    watcher = _Watcher(start.url, every, form == "jsonl", output, given["accept"], **own)
    with (
        TemporaryDirectory(prefix="usp-", ignore_cleanup_errors=True) as folder,
        run.running(watcher.line),
        handling(watcher.end, *_SIGNALS),
    ):
        how = {
            "web_client": run.client(),
            "every": every,
            "stop": watcher.stop,
            "options": replace(
                run.options, keep_partial=False
            ),  # a round that is stopped is repeated
            **given,
        }
        if start.path is not None:
            rounds = _rounds_of_feeds(start.path, snapshot or Path(folder), watcher, **how)
        else:
            path = snapshot or Path(folder, "site.warc.gz")
            rounds = watch(start.start, path, is_sitemap=start.is_sitemap, **how)
        with closing(rounds):
            try:
                for current in rounds:
                    watcher.report(current)
            except KeyboardInterrupt:
                watcher.stop.set()
    number, changes = watcher.rounds, watcher.changes
    found = f"{counted(changes, 'change')} in {counted(number, 'round')}"
    messages.notice(f"stopped: {found}", rounds=number, changes=changes)
    if watcher.stop.is_set():  # which is not a failure
        return
    if any(watcher.warnings.values()):
        raise Exit(FAILED)
    if run.strict and watcher.incomplete:
        raise Exit(PARTIAL)


def _feeds_in(path: Path) -> dict[str, bool]:
    """Return the feeds in an OPML file, and the websites without one: whether each is a feed."""
    from usp._formats.opml import outlines

    try:
        text = path.read_text("utf-8-sig", "replace") if path.is_file() else ""
    except OSError as error:
        raise click.UsageError(f"cannot read {path}: {words_of(error)}") from error
    if "<opml" not in text[:_LOOK].lower():
        return {}
    found = ((one.feed or one.site or "", one.feed is not None) for one in outlines([text]))
    return {url: is_feed for url, is_feed in found if is_http_url(url)}


def _check_state(snapshot: Path | None, *, is_folder: bool) -> None:
    """Refuse a file where a folder is needed, and a folder where a file is."""
    if snapshot is not None and snapshot.exists() and snapshot.is_dir() != is_folder:
        what = "is a file; name a folder" if is_folder else "is a folder; name a file in it"
        raise bad_value("--snapshot", f"{str(snapshot)!r} {what}")


def _rounds_of_feeds(
    path: Path,
    folder: Path,
    watcher: _Watcher,
    *,
    every: float | None,
    rounds: int | None,
    stop: threading.Event,
    **how: Any,
) -> Generator[Round, None, None]:
    """Yield a round of each feed of a list, again and again; the list may change meanwhile."""
    from usp.changes.watching import watch

    with naming(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for number in count(1):
        begun = time.monotonic()
        for url, is_feed in _feeds_in(path).items():
            watcher.url = url
            state = folder / f"{blake2b(url.encode(), digest_size=8).hexdigest()}.warc.gz"
            yield from watch(url, state, is_sitemap=is_feed or None, rounds=1, stop=stop, **how)
        pause = begun + (every or _USUALLY) - time.monotonic()
        if number == rounds or stop.wait(max(0.0, pause)):
            return


@dataclass(slots=True)
class _Watcher:
    """Reports the rounds of a watch until it is stopped."""

    url: str
    every: float | None
    jsonl: bool
    output: Path | None
    accepts: bool
    shell_command: str | None
    post_to: str | None
    feed_path: InitVar[Path | None]
    removed: bool
    stop: threading.Event = field(default_factory=threading.Event)
    rounds: int = 0
    changes: int = 0
    is_busy: bool = False
    # By the URL that is watched, of its last round: that most pages are gone, or could not be read, or
    # that its changes went nowhere; which sitemaps are missing; and which URLs are incomplete.
    warnings: dict[str, str] = field(default_factory=dict)
    failed: dict[str, frozenset[str]] = field(default_factory=dict)
    incomplete: set[str] = field(default_factory=set)
    ended: float | None = None  # when the last round did
    feed: NewsFeed | None = field(init=False)

    def __post_init__(self, feed_path: Path | None) -> None:
        self.feed = None if feed_path is None else NewsFeed(feed_path, self.url)

    def line(self) -> str:
        """Return a sign of life."""
        found = f"{counted(self.changes, 'change')} in {counted(self.rounds, 'round')}"
        if self.ended is None:
            return f"watching {self.url} · first round"
        ago = clock(time.monotonic() - self.ended)
        last = f"{ago} since the last{self._interval()}"
        return f"watching: {found} · {last} · {self.url}"  # which may be too long for the line

    def _interval(self) -> str:
        return f", every {duration(self.every)}" if self.every else ""

    def end(self, *_: object) -> None:
        """Stop at a signal: at once while waiting, and after the batch while it is written."""
        self.stop.set()
        if not self.is_busy:
            raise KeyboardInterrupt

    def report(self, current: Round) -> None:
        """Report what is missing in a round, and what has changed."""
        self.rounds, self.ended = self.rounds + 1, time.monotonic()
        is_complete = current.error is None and not current.failures
        (self.incomplete.discard if is_complete else self.incomplete.add)(self.url)
        self._report_failures(current)
        if current.error is not None:
            return
        if self.feed is not None and self.rounds == 1:  # so that it is there
            self.feed.write((), current.started)
        if current.first:
            messages.notice(f"watching {self.url}{self._interval()}", url=self.url)
        changes = current.changes() if self.removed else iter(current)
        first = next(changes, None)  # which compares: until then, it may be stopped
        if first is None:
            return
        self.is_busy = True
        try:
            self._give(current, chain((first,), changes))
        finally:
            self.is_busy = False

    def _report_failures(self, current: Round) -> None:
        """Report what is missing, when that changes."""
        error, update = current.error, current.update
        before, warning = self.warnings.get(self.url), ""
        if update is not None and not self.accepts:
            warning = update_warning(update.warning)
        elif update is not None and update.warning:
            messages.notice(update.warning, pages_lost=update.pages_lost)
        self.warnings[self.url] = warning
        if warning and warning != before:
            messages.error(warning, FAILED)
        if error is not None and update is None:
            reason = why(current.failures[0]) if current.failures else words_of(error)
            again = f"; next try in {duration(self.every)}" if self.every else ""
            messages.notice(f"failed: {reason}{again}", failed=reason)
            return
        failed = self.failed.get(self.url, ())
        messages.missing([one for one in current.failures if one.url not in failed])
        if failed and not current.failures:
            messages.notice("all sitemaps are complete again", missing=0)
        self.failed[self.url] = frozenset(failure.url for failure in current.failures)

    def _give(self, current: Round, changes: Iterator[PageChange]) -> None:
        """Write the changes of a round, or have them dealt with by a command or an address."""
        from usp.changes.change_values import json_of, text_of
        from usp.export.text_formats import to_json

        before, failed = self.changes, ""
        seen = f"{current.started:%Y-%m-%dT%H:%M:%SZ}"
        latest: deque[PageChange] = deque(maxlen=ENTRIES)
        found = self._counted(changes, latest)
        is_json = self.jsonl or self.shell_command is not None or self.post_to is not None
        is_shown = self.output is None and sys.stdout.isatty()
        now = f"{current.started.astimezone():%H:%M:%S} " if is_shown else ""
        objects = ({"seen": seen, **json_of(change)} for change in found)
        lines = map(to_json, objects) if is_json else (now + text_of(change) for change in found)
        if self.post_to is not None:
            failed = post(self.post_to, self.url, objects, self.stop)
        elif self.shell_command is not None:
            failed = run_command(self.shell_command, lines)
        elif self.output is not None:
            with naming(self.output), self.output.open("a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in lines)
            messages.wrote(self.output, self.changes - before, "change")
        else:
            write_text(lines)
        if failed:
            self.changes = before  # they are counted when they are dealt with
            self.warnings[self.url] = failed
            current.retry()
            messages.notice(f"{failed}; the batch will be retried")
        elif self.feed is not None:
            self.feed.write(latest, current.started)

    def _counted(
        self, changes: Iterator[PageChange], latest: deque[PageChange]
    ) -> Iterator[PageChange]:
        """Count changes; the ``latest`` are for the feed."""
        for change in changes:
            self.changes += 1
            latest.append(change)
            yield change
